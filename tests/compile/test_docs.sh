#!/bin/sh
# What README.md, tests/README.md and the manuals name is there: files, folders, targets, chapters. Usage:
# test_docs.sh, from the top folder. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

# The contents that a header's opening comment lists are its chapters, in their order.
for header in retry errmap; do
    awk '/^#ifndef/ { exit }
         /^   CONTENTS$/ { on = 1; next }
         on && !NF { exit }
         on { sub(/^ */, ""); printf "%s ", toupper($0) }' "$header.h" | sed 's/ $//; s/ | /\n/g' > "$work/contents"
    awk '/^#ifndef/ { exit }
         empty && /^   [A-Z]/ && toupper($0) == $0 && !/CONTENTS$/ { print substr($0, 4) }
         { empty = !NF }' "$header.h" > "$work/chapters"
    echo >> "$work/contents"
    check "$header.h: contents" test "$(wc -l < "$work/contents")" -gt 3
    check "$header.h: contents and chapters" diff "$work/contents" "$work/chapters"
done
check "retry.h: a manual of at most 480 lines" test "$(awk '/\*\/$/ { print NR; exit }' retry.h)" -le 480
awk -f tests/tools/public.awk retry.h | awk -F '\t' '$3 ~ /^retry_[a-z_0-9]*$/ && $3 !~ /_fn$/ { print $3 }' > "$work/names"
check "some names" test "$(wc -l < "$work/names")" -gt 90
while read -r name; do
    check "retry.h's manual names $name" sh -c "sed '/^#ifndef/,\$d' retry.h | grep -q -w -e '$name'"
done < "$work/names"

# README.md's first program is examples/quickstart.c, but for its opening comment.
awk '/^```c$/ { on = 1; next } /^```$/ && on { exit } on' README.md > "$work/first.c"
sed '1,/\*\/$/d; s|"../retry.h"|"retry.h"|' examples/quickstart.c > "$work/quickstart.c"
check "README.md: examples/quickstart.c" diff "$work/first.c" "$work/quickstart.c"

# What README.md and tests/README.md name is there: files, folders, targets.
for path in $(sed -n 's/](\([a-z][^):]*\))/\n@\1\n/gp' README.md | sed -n 's/^@//p') \
    $(grep -o -h '`\(tests\|examples\)/[A-Za-z0-9_./]*' README.md tests/README.md | tr -d '`'); do
    check "README.md: $path" test -e "$path"
done
for target in $(grep -o -h '`make [a-z][a-z_-]*[` ]' README.md tests/README.md | tr -d '`' |
    sed 's/make //' | sort -u); do
    check "README.md: make $target" grep -q "^$target:" Makefile
done
check "README.md: at most 490 lines" test "$(wc -l < README.md)" -le 490

# INSIDE A LIBRARY: the flags are tried.
sed -n '/^   INSIDE A LIBRARY/,/^   FIRMWARE/p' retry.h > "$work/inside"
grep -o -e '-W[a-z-]*' "$work/inside" > "$work/flags"
check "flags are found" test "$(wc -l < "$work/flags")" -gt 9
while read -r flag; do
    check "$flag is tried" grep -q -w -e "$flag" tests/compile/test_switches.sh
done < "$work/flags"
oldest=$(sed -n 's/.*`make matrix` tries are gcc \([0-9]*\) and clang \([0-9]*\).*/gcc-\1 .*clang-\2/p' README.md)
check "README.md: the oldest compilers" grep -q "^MATRIX = .* ${oldest:-none}" Makefile
tried=$(tr -s '[:space:]' ' ' < "$work/inside" |
    sed -n 's/.* Tried with gcc \([0-9]*\) and \([0-9]*\), and clang \([0-9]*\), \([0-9]*\) and \([0-9]*\),.*/gcc-\1 gcc-\2 clang-\3 clang-\4 clang-\5/p')
check "the manual names compilers" test -n "$tried"
for compiler in $tried; do
    check "tried: $compiler" grep -q "^MATRIX = .* $compiler\>" Makefile
done
check "README.md: CMake that fetches" grep -q "VERSION $(sed -n 's/^| CMake \([0-9.]*\), fetched .*/\1/p' \
    README.md))" examples/cmake_fetch/CMakeLists.txt

check "README.md: its recipes (recipes.sh)" quiet sh tests/verify/recipes.sh
check "tests/README.md: its tables (tables.sh)" quiet sh tests/verify/tables.sh
finish
