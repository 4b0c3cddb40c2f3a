#!/bin/sh
# README.md's recipes show lines of examples/recipes: for NAME those of NAME.c, and of NAME.h if there is one,
# that stand between "/* README: */" and "/* end */". They stand in README.md between "<!-- recipe: NAME -->"
# and "<!-- end -->", with what was measured below them, which `make recipes` leaves in BUILD and
# test_recipes.sh compares. Usage: recipes.sh, from the top folder; recipes.sh --renew writes both anew;
# recipes.sh --measured NAME prints what was measured. BUILD: build. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
page=README.md
recipes=examples/recipes

# Each piece without the indentation of its first line.
marked() { # FILE...
    awk '/^ *\/\* end \*\/$/ { on = 0 }
         on == 1 { match($0, /^ */); indent = RLENGTH; on = 2 }
         on { print substr($0, match($0, /[^ ]/) - 1 < indent ? match($0, /[^ ]|$/) : indent + 1) }
         /^ *\/\* README: \*\/$/ { on = 1 }' "$@"
}
# What stands in README.md as measured: the second block of code.
measured() { # NAME
    awk -v start="<!-- recipe: $1 -->" '$0 == start { on = 1 }
         /^<!-- end -->$/ { on = 0 }
         on && /^```/ { fences++; next }
         on && fences == 3' $page
}

[ "${1:-}" != --measured ] || { measured "$2"; exit; }
for source in "$recipes"/*.c; do
    name=$(basename "$source" .c)
    header=$recipes/$name.h
    [ -e "$header" ] || header=
    marked "$source" $header > "$work/lines"
    check "$name: README.md has a place for it" grep -q -x -e "<!-- recipe: $name -->" $page
    check "$name: lines are marked" test -s "$work/lines"
    result=${BUILD:-build}/recipes/$name.run/measured
    [ "${1:-}" = --renew ] && [ -e "$result" ] && cp "$result" "$work/result" || measured "$name" > "$work/result"
    { echo '```c' && cat "$work/lines" && echo '```' && echo '```' && cat "$work/result" && echo '```'; } \
        > "$work/$name.block"
done
check "some recipes" test "$(find "$work" -name '*.block' | wc -l)" -gt 0
awk -v dir="$work/" '
    /^<!-- end -->$/ { skip = 0 }
    !skip
    /^<!-- recipe: / { while ((getline line < (dir $3 ".block")) > 0) print line; skip = 1 }' $page > "$work/page"
for name in $(sed -n 's/^<!-- recipe: \(.*\) -->$/\1/p' $page); do
    check "$name: is a program" test -e "$recipes/$name.c"
done
if [ "${1:-}" = --renew ]; then
    [ "$failed" -gt 0 ] || cp "$work/page" $page
    finish
fi
check "README.md has them (make recipes RENEW=1)" diff $page "$work/page"
finish
