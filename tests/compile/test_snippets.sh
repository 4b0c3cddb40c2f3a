#!/bin/sh
# The code in the pages (but for recipes) and in the two manuals. Each piece compiles, with warnings as errors; a whole
# program runs, too, and prints what stands below it, give or take its times in ms.
# Usage: test_snippets.sh [LANGUAGE...], which is c (the default), c++ or both. CC and CXX name the
# compilers. Without a jsmn.h what includes errmap.h is skipped.
. "$(dirname "$0")/../support/check.sh"
[ $# -gt 0 ] || set -- c
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wcast-qual -Wundef ${WERROR--Werror}"

for file in README.md examples/README.md examples/recipes/README.md retry.h errmap.h; do
    awk -v dir="$work" -f "$(dirname "$0")/snippets.awk" "$file"
done
count() { find "$work" -name "$1" | wc -l; }
check "pieces of code are found" test "$(count '*.part.*')" -ge 10
check "whole programs are found" test "$(count '*.program.c')" -ge 3

# compile LANGUAGE OPTION...
compile() {
    language=$1
    shift
    case $language in
    c) ${CC:-cc} -x c -std=c99 $warnings -I. "$@" ;;
    c++) ${CXX:-c++} -x c++ -std=c++11 $warnings -Wno-missing-field-initializers -I. "$@" ;; # = {0}
    esac
}
same() { # EXPECTED GOT: but for times
    sed 's/[0-9][0-9]* ms/N ms/g' "$1" > "$work/expected"
    sed 's/[0-9][0-9]* ms/N ms/g' "$2" | diff "$work/expected" -
}
program() { # LANGUAGE SOURCE
    compile "$1" -Wshadow "$2" -o "$work/program" && "$work/program" > "$work/printed" < /dev/null
}

has_jsmn() { echo '#include <jsmn.h>' | ${CC:-cc} -E -x c - > /dev/null 2>&1; }
left_out() { # SOURCE
    grep -q '"errmap.h"' "$1" && ! has_jsmn && skip "there is no jsmn.h" "$(basename "$1")"
}
for language in "$@"; do
    for source in "$work"/*.part.c*; do
        case $language:$source in c:*.cpp) continue ;; esac
        left_out "$source" || check "$(basename "$source"), $language" compile "$language" -Wno-unused -fsyntax-only "$source"
    done
    for source in "$work"/*.program.c; do
        left_out "$source" && continue
        name=$(basename "$source" .program.c)
        check "$name, $language" program "$language" "$source"
        [ ! -e "$work/$name.out" ] ||
            check "$name prints what stands below it, $language" same "$work/$name.out" "$work/printed"
    done
done
check "README.md's first program prints what stands below it" test "$(count 'README*.out')" -eq 1
finish
