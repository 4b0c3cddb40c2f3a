#!/bin/sh
# Deviations from MISRA C:2012 in both headers, by cppcheck's addon, beside misra.txt, which says why of
# each rule. By the rules' numbers: their texts may not be handed on. Usage: misra.sh, from the top folder.
# The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
list=tests/verify/misra.txt

# A place that the addon names under several switches is one. 20.13 is what it says of every directive.
cat > "$work/all.c" << 'END'
#define RETRY_IMPLEMENTATION
#define RETRY_SYSTEM_CLOCK
#include "errmap.h"
END
fires() { # FLAG...
    makes "$work/marked.c" gcc -std=c99 -D_POSIX_C_SOURCE=200809L -E -I. "$@" "$work/all.c" &&
        # its marks of lines as directives that there are
        sed 's/^# \([0-9][0-9]*\) \("[^"]*"\).*/#line \1 \2/' "$work/marked.c" > "$work/text.c" &&
        cppcheck --addon=misra --std=c99 --quiet --template='{file}:{line}:{column}: {id}' \
            "$work/text.c" > "$work/said" 2>&1 &&
        grep -E '^([^:]*/)?(retry|errmap)[.]h:[0-9:]+ misra' "$work/said" |
        grep -v 'misra-c2012-20[.]13$' >> "$work/fired"
}
: > "$work/fired"
for flags in "" "-DRETRY_STATIC -DRETRY_NO_ATOMICS"; do
    check "cppcheck $flags" fires $flags
done

sed 's/.*misra-c2012-//' "$work/fired" | LC_ALL=C sort -u > "$work/rules"
sed -n 's/^\([0-9.]*\) .*/\1/p' $list | LC_ALL=C sort -u > "$work/listed"
check "some rules" test "$(wc -l < "$work/rules")" -gt 20
unlisted() { ! grep -v -x -F -f "$work/listed" "$work/rules" | sed 's/.*/-&$/' | grep . > "$work/patterns" ||
    { sort -u "$work/fired" | grep -f "$work/patterns"; false; }; }
kept() { ! grep -v -x -F -f "$work/rules" "$work/listed"; }
reasons() { awk '!/^#/ && NF < 4 { print; wrong = 1 } END { exit wrong }' $list; }
check "no rule fires but those that misra.txt lists" unlisted
check "each that it lists fires (else take its line out)" kept
check "each has a reason" reasons
finish
