#!/bin/sh
# Each public function is described and tested. A comment stands directly above its declaration, or the manual
# names it, as it must each of several that share a comment; and a unit test calls it. Usage: test_functions.sh,
# from the top folder. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

declared() { # HEADER: a line for each public function, its name and 1 if it is described
    awk '
        /^#if [(]?defined[(]RETRY_IMPLEMENTATION[)]/ { exit }
        manual !~ /\*\/ $/ { manual = manual $0 " "; next }
        /^(RETRY__NO_IGNORE )?RETRY_API / {
            match($0, /(retry|errmap)_[a-z0-9_]+[(]/)
            name = substr($0, RSTART, RLENGTH - 1)
            print name, above ~ /\*\/$/ || manual ~ "[^a-z_]" name "[^a-z_]"
        }
        { above = $0 }' "$1"
}
grep -o -h -E '\<(retry|errmap)_[a-z0-9_]+[(]' tests/core/*.c tests/gates/*.c tests/errmap/*.c tests/support/*.h |
    tr -d '(' | sort -u > "$work/called"

for header in retry.h errmap.h; do
    declared $header > "$work/declared"
    check "$header: functions" test "$(wc -l < "$work/declared")" -gt 20
    while read -r name described; do
        check "$header: $name has no comment above it, and the manual does not name it" test "$described" = 1
        check "$header: no test of tests/core, gates or errmap calls $name" grep -q -x -e "$name" "$work/called"
    done < "$work/declared"
done
finish
