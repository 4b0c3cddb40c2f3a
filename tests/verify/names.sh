#!/bin/sh
# The public names of both headers (functions, types, constants, macros, options), beside names.txt: each
# with the version that brought it. None of the list may be gone. What is not listed is of the version
# that is being made; whoever makes it lists it. Usage: names.sh, from the top folder; names.sh --renew writes
# the list anew: what is gone goes, what is new has this version. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
list=tests/verify/names.txt
number() { sed -n "s/^#define RETRY_VERSION_$1 //p" retry.h; }
version=$(number MAJOR).$(number MINOR)

# What is declared, names that are pasted together included, but for parameters; the macros that are left
# behind; the options that are asked for. Two underscores mark what is private, and _H is a guard.
printf '#define RETRY_SYSTEM_CLOCK\n#include "errmap.h"\n' > "$work/declared.c"
printf '#define RETRY_IMPLEMENTATION\n#include "errmap.h"\n' > "$work/macros.c"
check "what is declared" makes "$work/declared" gcc -E -P -D_POSIX_C_SOURCE=200809L -I. "$work/declared.c"
check "the macros" makes "$work/macros" gcc -E -dM -I. "$work/macros.c"
{
    sed 's/[a-z0-9_]*[,)]//g' "$work/declared"
    sed 's/^#define \([A-Za-z0-9_]*\).*/\1/' "$work/macros"
    grep -h -E '^#(el)?if' retry.h errmap.h
} | grep -o -w -E '(retry|errmap)(_[a-z0-9]+)*|(RETRY|ERRMAP)(_[A-Z0-9]+)+' |
    grep -v -x -E 'retry|.*_H' | LC_ALL=C sort -u > "$work/names"
check "some hundred" test "$(wc -l < "$work/names")" -gt 300

sed 's/.* //' $list 2> /dev/null > "$work/listed"
if [ "${1:-}" = --renew ]; then
    [ "$failed" -eq 0 ] || finish
    while read -r name; do
        grep -h -e " $name\$" $list 2> /dev/null || echo "$version $name"
    done < "$work/names" > "$work/renewed"
    cp "$work/renewed" $list
    diff "$work/listed" "$work/names" | sed -n 's/^</gone:/p; s/^>/new: /p'
    finish
fi
diff "$work/listed" "$work/names" | sed -n "s/^> /new: /p"
no_other() { ! grep -v -x -F -f "$work/names" "$work/listed"; }
check "every name that is listed is there (gone for good: sh tests/verify/names.sh --renew)" no_other
check "none is of a later version" awk -v version="$version" '
    $1 !~ /^[0-9]+[.][0-9]+$/ || $1 + 0 > version + 0 { print; wrong = 1 } END { exit wrong }' $list
finish
