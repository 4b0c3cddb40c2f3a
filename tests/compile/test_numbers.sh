#!/bin/sh
# The numbers of the pages and of retry.h's manual that are defaults, presets or arithmetic are those that
# numbers.c finds. Usage: test_numbers.sh, from the top folder; CC names the compiler. The last line is
# "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
tab=$(printf '\t')

# A text in one line, each space a single one; of retry.h what stands above the implementation.
for file in README.md examples/README.md examples/recipes/README.md retry.h; do
    sed '/^#if defined(RETRY_IMPLEMENTATION)/,$d' $file | tr -s '[:space:]' ' ' > "$work/$(echo $file | tr / _)"
done
says() { grep -q -F -e "$2" "$work/$(echo "$1" | tr / _)"; }

check "numbers.c" makes "$work/numbers" ${CC:-cc} -std=c99 "$(dirname "$0")/numbers.c"
found() { "$work/numbers" > "$work/found" && [ "$(wc -l < "$work/found")" -gt 60 ]; }
check "some numbers" found
while IFS=$tab read -r file words; do
    check "$file has to say: $words" says "$file" "$words"
done < "$work/found"

# The bytes in the manual's table of what gates take.
awk -F '  +' '/^ *gate  *bytes/ { on = 1; next } on && !NF { exit } on && !/---/ { print $2, $3, "" }' retry.h > "$work/sizes"
check "sizes" test -s "$work/sizes"
while read -r words; do
    check "numbers.c has to measure: $words" grep -q -F -e "$words" "$work/found"
done < "$work/sizes"
finish
