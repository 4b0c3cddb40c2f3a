#!/bin/sh
# What the pages and the manuals name is there: files, folders, targets, functions, chapters. Usage:
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

# What the pages name is there: files, folders, places in them, targets; and in README.md functions.
pages="README.md examples/README.md examples/recipes/README.md tests/README.md"
places() { # FILE: its headings, as they are linked to
    sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -d ',.:\`'
}
for page in $pages; do
    for link in $(sed -n 's/](\([a-z.#][^):]*\))/\n@\1\n/gp' $page | sed -n 's/^@//p'); do
        path=$(dirname $page)/${link%%#*}
        check "$page: $link" test -e "$path"
        case $link in *\#*) check "$page: $link" eval "places $path | grep -q -x -e '${link#*\#}'" ;; esac
    done
done
for path in $(grep -o -h '`\(tests\|examples\)/[A-Za-z0-9_./]*' $pages | tr -d '`'); do
    check "$path" test -e "$path"
done
for target in $(grep -o -h '`make [a-z][a-z_-]*[` ]' $pages | tr -d '`' | sed 's/make //' | sort -u); do
    check "make $target" grep -q "^$target:" Makefile
done
for name in $(sed '/^## Changes/,$d' README.md examples/README.md | grep -o '`retry_[a-z_]*' | tr -d '`' | sort -u); do
    check "a page: $name" grep -q "^RETRY_API .*\<$name(" retry.h
done
licence() { sed -n '/^   MIT License$/,/^[*]\/$/ { /^[*]\/$/d; s/^   //; p }' retry.h; }
check "examples/LICENSE is the header's" test "$(licence)" = "$(cat examples/LICENSE)"
check "the recipes (recipes.sh)" quiet sh tests/verify/recipes.sh
finish
