#!/bin/sh
# How the texts read: no sentence has more than 30 words, no line more than 100 columns (but in tables),
# and a comment explains every public name of the headers. Usage: test_words.sh FILE..., from the top
# folder: Markdown, or headers, of which the manual counts. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
here=$(dirname "$0")

says_nothing() { # COMMAND...
    "$@" > "$work/said"
    [ ! -s "$work/said" ] || { cat "$work/said"; false; }
}
wide() { awk 'length > 100 && !/^\|/ { print FILENAME ":" FNR ": " length " columns" }' "$1"; }

for file in "$@"; do
    check "$file: sentences" says_nothing awk -f "$here/sentences.awk" "$file"
    check "$file: columns" says_nothing wide "$file"
done
for header in retry.h errmap.h; do awk -f "$here/../tools/public.awk" $header; done > "$work/public"
check "some hundred names" test "$(wc -l < "$work/public")" -gt 400
check "every public name is explained" says_nothing awk -f "$here/explained.awk" \
    "$work/public" retry.h errmap.h

# What is long is found, and only that.
cat > "$work/long.md" << 'END'
# A heading of one two three four five six seven eight nine ten words and twenty more of them, one two three
| a table | one two three four five six seven eight nine ten eleven, for as long as the table is wide | ten |

One two three four five six seven eight nine ten, one two three four five `code is one word`
six seven eight nine ten: one two three four five six seven, eight nine (e.g. ten). Short. This one
[six](https://example.com/one/two/three)
- seven eight nine ten one two three four five six seven eight nine ten one two three four five six seven
END
awk -f "$here/sentences.awk" "$work/long.md" > "$work/found"
check "one long sentence, and only that" grep -q "long.md:4: 31 words: One two three" "$work/found"
check "one alone" test "$(wc -l < "$work/found")" -eq 1
printf '#define RETRY_A 1\n\n/* RETRY_B: this. */\n#define RETRY_B 1\n' > "$work/new.h"
printf 'new.h\tB\tRETRY_A\n\tB\tRETRY_B\n' > "$work/names"
check "a name without a word" test "$(awk -f "$here/explained.awk" "$work/names" "$work/new.h")" = RETRY_A
finish
