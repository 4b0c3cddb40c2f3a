#!/bin/sh
# What README.md, tests/README.md and the manuals name is there: files, folders, targets, chapters. Usage:
# test_docs.sh, from the top folder. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

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
check "README.md: at most 440 lines" test "$(wc -l < README.md)" -le 440

# INSIDE A LIBRARY: a test runs the lines that draw a wait, and the flags are tried.
sed -n '/^   INSIDE A LIBRARY/,/^   FIRMWARE/p' retry.h > "$work/inside"
sed 's|//.*||; s/  *$//; s/^ *//' tests/core/test_inside_a_library.c > "$work/tested"
sed -n 's|//.*||; s/  *$//; s/^      \(retry_ms d =.*\|wait = .*\)/\1/p' "$work/inside" > "$work/lines"
check "the lines that draw a wait are found" test "$(wc -l < "$work/lines")" -eq 5
while read -r line; do
    check "a test runs: $line" grep -q -F -e "$line" "$work/tested"
done < "$work/lines"
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
