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

# README.md's first program is examples/quickstart.c, but for its opening comment.
awk '/^```c$/ { on = 1; next } /^```$/ && on { exit } on' README.md > "$work/first.c"
sed '1,/\*\/$/d; s|"../retry.h"|"retry.h"|' examples/quickstart.c > "$work/quickstart.c"
check "README.md: examples/quickstart.c" diff "$work/first.c" "$work/quickstart.c"

# The recipe and the manual name the same of libcurl's errors.
for code in $(sed -n '/may_pass\[\]/,/};/p' examples/recipes/http.h | grep -o 'CURLE_[A-Z0-9_]*'); do
    check "retry.h: $code" grep -q "^  .*[ _]${code#CURLE_}\>" retry.h
done

# What README.md and tests/README.md name is there: files, folders, targets.
for path in $(sed -n 's/](\([a-z][^):]*\))/\n@\1\n/gp' README.md | sed -n 's/^@//p') \
    $(grep -o -h '`\(tests\|examples\)/[A-Za-z0-9_./]*' README.md tests/README.md | tr -d '`'); do
    check "README.md: $path" test -e "$path"
done
for target in $(grep -o -h '`make [a-z][a-z_-]*[` ]' README.md tests/README.md | tr -d '`' |
    sed 's/make //' | sort -u); do
    check "README.md: make $target" grep -q "^$target:" Makefile
done
check "README.md: its recipes (recipes.sh)" quiet sh tests/verify/recipes.sh
finish
