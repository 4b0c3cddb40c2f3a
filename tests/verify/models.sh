#!/bin/sh
# Each model of spin/ mirrors the functions that it names. models.txt has what these do to words that threads
# share, in order, of the day when somebody last compared the two: what lies between may change. Usage:
# models.sh, from the top folder; models.sh --renew writes the list anew: compare first. The last line is
# "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
list=tests/verify/models.txt

# In each line a function of retry.h, a colon, and its calls of those of the section Atomics: which, and on
# what, without the way there.
awk -f tests/tools/functions.awk retry.h > "$work/functions"
awk -F '\t' '
    FNR == NR { if ($2 == "Atomics") atomic[$1]; next }
    $1 == "outside" { next }
    {
        line = $1 ":"
        for (rest = substr($5, index($5, "{")); match(rest, /[a-z_0-9]+\([^,()]*/);) {
            split(substr(rest, RSTART, RLENGTH), part, "(")
            rest = substr(rest, RSTART + length(part[1]))
            if (part[1] in atomic) {
                sub(/.*(->|[.&])/, "", part[2])
                sub(/.*_/, "", part[1])
                line = line " " part[1] " " part[2] ","
            }
        }
        sub(/,$/, "", line)
        print line
    }' "$work/functions" "$work/functions" > "$work/steps"
check "some hundred functions" test "$(wc -l < "$work/steps")" -gt 200
check "some that touch what threads share" test "$(grep -c ': ' "$work/steps")" -gt 50

: > "$work/list"
for path in tests/verify/spin/*.pml; do
    for function in $(grep -o -w 'retry_[a-z_]*[a-z]' "$path" | sort -u); do
        check "$(basename "$path"): retry.h has $function" grep -q "^$function:" "$work/steps"
        echo "$(basename "$path") $(grep "^$function:" "$work/steps")" >> "$work/list"
    done
done
if [ "${1:-}" = --renew ]; then
    [ "$failed" -gt 0 ] || cp "$work/list" $list
    finish
fi
check "models.txt (compare what differs with its model, then make renew WHAT=models)" \
    diff $list "$work/list"
finish
