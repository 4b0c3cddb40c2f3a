#!/bin/sh
# A change of behaviour has a test. Each function of the headers that has changed since BASE, a commit, is put
# back as it was there. If verify/digest.c then sees other decisions, a test of the function's subject has
# to fail. Nothing is asked of what decides the same, nor outside of a git repository. BASE (default): the
# last commit, or the one before it if the headers are as they were in the last. Usage: test_changed.sh,
# from the top folder. CC names the compiler (default: cc). The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
cc="${CC:-cc} -std=c99 -w"
headers="retry.h errmap.h"
base=${BASE:-HEAD}
# shellcheck disable=SC2086 # two files
[ -n "${BASE:-}" ] || ! git diff --quiet HEAD -- $headers 2> /dev/null || base=HEAD~1

# In each line: the header, the function, its title, its first and last line now, and then.
mkdir "$work/then"
: > "$work/changed"
for header in $headers; do
    git show "$base:$header" > "$work/then/$header" 2> /dev/null || continue
    for dir in . "$work/then"; do awk -f tests/tools/functions.awk $dir/$header; done > "$work/functions"
    awk -F '\t' -v header=$header '
        $1 == "outside" { then = 1; next }
        !then { now[$1] = $5; at[$1] = $2 "\t" $3 "\t" $4; next }
        $1 in now && now[$1] != $5 { print header "\t" $1 "\t" at[$1] "\t" $3 "\t" $4 }' \
        "$work/functions" >> "$work/changed"
done

digest() { # of the headers in $work
    rm -f "$work/digest"
    # shellcheck disable=SC2086 # its words
    $cc -O0 -DDIGEST_ROUNDS=300 "$work/tests/verify/digest.c" -o "$work/digest" 2> /dev/null &&
        "$work/digest" 2> /dev/null
}
notices() { # TEST...: one of them does not compile, or fails
    for test in "$@"; do
        case $test in *.c) ;; *) continue ;; esac
        rm -f "$work/test"
        # shellcheck disable=SC2086 # its words
        (cd "$work" && $cc -O1 -DCHECK_QUICK -DCHECK_STOP "tests/$test" -o test -lm -lpthread &&
            ./test) > /dev/null 2>&1 || return 0
    done
    return 1
}
tab=$(printf '\t')
[ ! -s "$work/changed" ] || { cp -r tests $headers "$work" && now=$(digest); }
while IFS=$tab read -r header name title first last from to; do
    { head -n $((first - 1)) $header && sed -n "$from,${to}p" "$work/then/$header" &&
        tail -n +$((last + 1)) $header; } > "$work/$header"
    if then=$(digest) && [ "$then" != "$now" ]; then
        tests=$(sed -n "s|^$title: ||p" tests/tools/subjects.txt)
        # shellcheck disable=SC2086 # one word a test
        check "$header: $name decides otherwise than in $base, and no test of \"$title\" tells: $tests" \
            notices $tests
    fi
    cp $header "$work/$header"
done < "$work/changed"
check "changes since $base: looked at" true
finish
