#!/bin/sh
# Deviations from MISRA C:2012 in both headers, by cppcheck's addon, beside misra.txt: how many of each
# rule in each header, and why. By the rules' numbers: their texts may not be handed on. Usage: misra.sh,
# from the top folder; misra.sh --renew writes the counts anew. The last line is "N passed, N failed".
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

# The list as it should be: number, rule, how many in retry.h and in errmap.h, why.
sed 's/^[^#]*\/\(retry\|errmap\)/\1/' "$work/fired" | LC_ALL=C sort -u | awk '
    FNR == NR { sub(/:.*/, "", $1); sub(/.*-/, "", $2); count[$1, $2]++; fired[$2] = 1; next }
    /^#/ { print; next }
    fired[$2] {
        why = $0
        sub(/^[0-9]+ [0-9.]+ [0-9]+ [0-9]+ /, "", why)
        printf "%d %s %d %d %s\n", ++n, $2, count["retry.h", $2], count["errmap.h", $2], why
        delete fired[$2]
    }
    END { for (rule in fired) print rule > "/dev/stderr" }' - $list > "$work/list" 2> "$work/unlisted"

sed 's/.*/-&$/' "$work/unlisted" > "$work/patterns"
none() { ! sort -u "$work/fired" | grep -f "$work/patterns"; } # no pattern fits nothing
reasons() { awk '!/^#/ && NF < 7 { print; wrong = 1 } END { exit wrong }' "$work/list"; }
check "no rule fires but those that the list has" none
check "each has a reason" reasons
if [ "${1:-}" = --renew ]; then
    [ "$failed" -gt 0 ] || cp "$work/list" $list
    finish
fi
check "as many as the list says (make renew WHAT=misra)" diff $list "$work/list"
finish
