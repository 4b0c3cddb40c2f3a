#!/bin/sh
# The examples in README.md, the quick starts in the headers' opening comments and the two small
# examples compile as they stand, with warnings as errors, and run. CC names the compiler (default: cc).
# What includes errmap.h is left out if LACKS names libjsmn-dev.
cc=${CC:-cc}
. "$(dirname "$0")/../support/check.sh"

builds() # NAME SOURCE
{
    case ${LACKS:-} in *libjsmn-dev*) ! grep -q '"errmap.h"' "$2" || return 0 ;; esac
    if output=$($cc -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow \
        -Wcast-qual -Wundef -Werror -I. "$2" -o "$work/x" 2>&1 && "$work/x" < /dev/null 2>&1); then
        printf '%s\n' "$output" > "$work/out"
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s:\n%s\n' "$1" "$output"
    fi
}

# The code of a header's quick start: lines indented by six, until the text goes on.
for header in retry errmap; do
    awk '/^   QUICK START$/ { on = 1; next }
         on && code && /^   [^ ]/ { exit }
         on && /^      #/ { code = 1 }
         on && code { sub(/^      /, ""); print }' "$header.h" > "$work/$header.c"
    builds "the quick start of $header.h" "$work/$header.c"
done

# The contents that a header's opening comment lists are its chapters, in their order.
for header in retry errmap; do
    awk '/^#ifndef/ { exit }
         /^   CONTENTS$/ { on = 1; next }
         on && /^   [^ ]/ { on = 0 }
         on && NF { sub(/^ */, ""); print toupper($0) }' "$header.h" > "$work/contents"
    awk '/^#ifndef/ { exit }
         empty && /^   [A-Z]/ && toupper($0) == $0 { title = substr($0, 4); next }
         title != "" && !NF && title != "CONTENTS" { print title }
         { title = ""; empty = !NF }' "$header.h" > "$work/chapters"
    check "$header.h: contents" test -s "$work/contents"
    check "$header.h: contents and chapters" diff "$work/contents" "$work/chapters"
done

# README.md: every block of C that has a main.
awk -v dir="$work" '/^```c$/ { on = 1; n++; next }
     /^```$/ { on = 0 }
     on { print > (dir "/readme" n ".c") }' README.md
for source in "$work"/readme*.c; do
    grep -q 'int main' "$source" && builds "README.md: $(basename "$source")" "$source"
done

builds "examples/backoff.c" examples/backoff.c
check "six delays" test "$(grep -c "^wait [0-9]* ms" "$work/out")" -eq 6
builds "examples/event_loop.c" examples/event_loop.c
check "an operation is done" grep -q "ms  read .* done" "$work/out"
check "one that may have been applied fails" grep -q "increment not idempotent, perhaps done" "$work/out"
check "one is late" grep -q "hasty .*deadline" "$work/out"
builds "examples/quickstart.c" examples/quickstart.c
narrow() { ! grep -q '.\{81\}' "$work/out"; }
check "80 columns" narrow
check "it works at the third attempt" grep -q "call 3.*200" "$work/out"
builds "examples/custom_strategy.c" examples/custom_strategy.c
check "80 columns" narrow
check "a robot is refused" grep -q 'cause="strategy refuses"' "$work/out"
check "an answer comes later" grep -q 'cause="strategy answers later"' "$work/out"

# What README.md and tests/README.md name is there: files, folders, targets.
for path in $(sed -n 's/](\([a-z][^):]*\))/\n@\1\n/gp' README.md | sed -n 's/^@//p') \
    $(grep -o -h '`\(tests\|examples\)/[A-Za-z0-9_./]*' README.md tests/README.md | tr -d '`'); do
    check "README.md: $path" test -e "$path"
done
for target in $(grep -o -h '`make [a-z][a-z_-]*[` ]' README.md tests/README.md | tr -d '`' |
    sed 's/make //' | sort -u); do
    check "README.md: make $target" grep -q "^$target:.*##" Makefile
done
check "README.md: at most 250 lines" test "$(wc -l < README.md)" -le 250

check "tests/README.md: its tables (tables.sh)" quiet sh tests/verify/tables.sh
check "all were there" test "$((passed + failed))" -ge 4
finish
