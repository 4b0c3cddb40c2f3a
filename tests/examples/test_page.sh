#!/bin/sh
# examples/storm/page.html, in headless Chromium. Usage: test_page.sh PATH_OF_PAGE, from the top folder,
# with page.c as it runs natively: what a browser decides is compared with it. CC names the compiler of
# the page's C code (default: cc). The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

native=$1
page=examples/storm/page.html
tab=$(printf '\t')

warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef ${WERROR--Werror}"
check "page.sh writes it, without a warning" \
    quiet env WARNINGS="$warnings" sh examples/storm/page.sh "$work/page.html"
check "page.html is what make page writes" cmp "$work/page.html" "$page"
check "under 100 KB" test "$(wc -c <"$page")" -lt 100000
check "it names nothing to load" sh -c "! grep -nE '(src|href)=|url\\(|@import|https?:|fetch\\(' '$page'"

check "no error on the console" quiet sh -c \
    "python3 tests/examples/browser.py '$page' tests/examples/page_seen.js >'$work/seen'"
while IFS="$tab" read -r verdict name; do
    check "$name" test "$verdict" = yes
done <<SEEN
$(sed -n "s/^check$tab//p" "$work/seen")
SEEN
check "all of the page was looked at" test "$(grep -c "^check$tab" "$work/seen")" -ge 90

# Each run of the browser again, natively: everything counted, and the digest of all decisions.
again() { # SETTINGS COUNTS
    printf '%s\n' "$1" | tr ';' '\n' | xargs -d '\n' "$native" >"$work/again"
    printf '%s\n' "$2" | diff - "$work/again"
}
sed -n "s/^run$tab//p" "$work/seen" >"$work/runs"
while IFS="$tab" read -r name settings counts; do
    check "the same natively: $name" again "$settings" "$counts"
done <"$work/runs"
check "eleven settings, with three clients each" test "$(wc -l <"$work/runs")" -eq 33
check "with a digest each" test "$(sed 's/.*digest=//' "$work/runs" | sort -u | wc -l)" -ge 20
other() { ! again "$(sed -n '3{s/^[^'"$tab"']*'"$tab"'//;s/'"$tab"'.*//;s/seed=1/seed=2/;p;}' "$work/runs")" \
    "$(sed -n '3s/.*'"$tab"'//p' "$work/runs")" >/dev/null; }
check "another seed, another digest" other

# The C code for each of these settings
codes=$(sed -n "s/^code$tab\([^$tab]*\)$tab.*/\1/p" "$work/seen" | sort -u)
check "code for each of them" test "$(echo "$codes" | wc -l)" -eq 11
for name in $codes; do
    sed -n "s/^code$tab$name$tab//p" "$work/seen" >"$work/$name.c"
    # shellcheck disable=SC2086 # one word a warning
    check "$name: its code compiles" \
        makes "$work/$name" ${CC:-cc} -std=c99 $warnings -I. "$work/$name.c"
    check "$name: its settings can be read, and it ends well" quiet "$work/$name"
done

finish
