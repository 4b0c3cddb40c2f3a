#!/bin/sh
# The recipes in README.md and examples/recipes/README.md show lines of examples/recipes: for NAME those of NAME.c,
# and of NAME.h if there is one, that stand between "/* README: */" and "/* end */". Below the paragraph that links
# to NAME.c they are a block of code, and right below it a quotation (or a block, for a table) says what was measured:
# what `make recipes` leaves in BUILD, and test_recipes.sh compares. README.md's table of the other recipes has the
# first line of that. Usage: recipes.sh, from the top folder; recipes.sh --renew writes all of it anew; recipes.sh
# --measured NAME prints what was measured. BUILD: build. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
first=README.md
other=examples/recipes/README.md

# Each piece without the indentation of its first line.
marked() { # FILE...
    awk '/^ *\/\* end \*\/$/ { on = 0 }
         on == 1 { match($0, /^ */); indent = RLENGTH; on = 2 }
         on { print substr($0, match($0, /[^ ]/) - 1 < indent ? match($0, /[^ ]|$/) : indent + 1) }
         /^ *\/\* README: \*\/$/ { on = 1 }' "$@"
}
# Goes through pages: `name` is the recipe's of the block that begins here.
blocks='match($0, /[(/][a-z]+[.]c[)]/) { name = substr($0, RSTART + 1, RLENGTH - 4) }
    /^$/ { inside = 0 }
    /^```c$/ && name { inside = 1 }'
measured() { # NAME
    awk "$blocks"' !inside { fences = 0 }
         /^```/ { fences++; next }
         inside && name == "'"$1"'" && (fences == 3 || sub(/^> /, ""))' $first $other
}
quoted() { # FILE
    grep -q '   ' "$1" && echo '```' && cat "$1" && echo '```' || sed 's/^/> /' "$1"
}

[ "${1:-}" != --measured ] || { measured "$2"; exit; }
for source in examples/recipes/*.c; do
    name=$(basename "$source" .c)
    header=${source%.c}.h
    [ -e "$header" ] || header=
    marked "$source" $header > "$work/lines"
    check "$name: lines are marked" test -s "$work/lines"
    result=${BUILD:-build}/recipes/$name.run/measured
    [ "${1:-}" = --renew ] && [ -e "$result" ] && cp "$result" "$work/$name.result" || measured "$name" > "$work/$name.result"
    { echo '```c' && cat "$work/lines" && echo '```' && quoted "$work/$name.result"; } > "$work/$name.block"
done
# A row of README.md's table is | [NAME](other page) | ... | first line |
for page in $first $other; do
    awk -v dir="$work/" -v row="^[|] [[][a-z]*[]][(]$other" "$blocks"'
        /^```c$/ && inside {
            print name > (dir "shown")
            while ((getline line < (dir name ".block")) > 0)
                print line
        }
        inside { next }
        $0 ~ row {
            split($0, part, /[][]/)
            getline line < (dir part[2] ".result")
            sub(/[^|]*[|]$/, " " line " |")
            print part[2] > (dir "listed")
        }
        { print }' $page > "$work/$(echo $page | tr / _)"
    mv "$work/shown" "$work/shown.$(echo $page | tr / _)"
done
ls examples/recipes/*.c | sed 's|.*/||; s|[.]c||' > "$work/all"
check "each recipe is on one page" eval 'sort "$work"/shown.* | diff - "$work/all"'
check "README.md's table has the others" eval 'sort "$work/listed" > "$work/rows"; sort "$work/shown.$(echo $other | tr / _)" | diff "$work/rows" -'
if [ "${1:-}" = --renew ]; then
    [ "$failed" -gt 0 ] || { cp "$work/README.md" $first && cp "$work/$(echo $other | tr / _)" $other; }
    finish
fi
for page in $first $other; do
    check "$page (make recipes RENEW=1)" diff $page "$work/$(echo $page | tr / _)"
done
finish
