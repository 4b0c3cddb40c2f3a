#!/bin/sh
# Each model of spin/ mirrors the functions that it names. models.txt has a checksum of their code, without
# comments and space, of the day when somebody last compared the two. Usage: models.sh, from the top
# folder; models.sh --renew writes the list anew: compare first. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
list=tests/verify/models.txt

# In each line a function of retry.h and its code; one line for all of its variants.
check "retry.h without comments" makes "$work/text" gcc -fpreprocessed -dD -E retry.h
awk '
    /^#/ { next }
    /^[A-Za-z]/ && !inside { head = "" }
    /^\{$/ {
        inside = 1
        match(head, /[a-z_0-9]+\(/)
        name = substr(head, RSTART, RLENGTH - 1)
        code[name] = code[name] head
    }
    { inside ? code[name] = code[name] $0 : head = head $0 }
    /^\}/ { inside = 0 }
    END { for (name in code) { gsub(/[ \t]/, "", code[name]); print name, code[name] } }' \
    "$work/text" > "$work/code"
check "some hundred functions" test "$(wc -l < "$work/code")" -gt 200

: > "$work/list"
for path in tests/verify/spin/*.pml; do
    for function in $(grep -o -w 'retry_[a-z_]*[a-z]' "$path" | sort -u); do
        sum=$(grep "^$function " "$work/code" | cksum)
        check "$(basename "$path"): retry.h has $function" grep -q "^$function " "$work/code"
        echo "$(basename "$path") $function ${sum%% *}" >> "$work/list"
    done
done
if [ "${1:-}" = --renew ]; then
    [ "$failed" -gt 0 ] || cp "$work/list" $list
    finish
fi
while read -r model function sum; do
    check "$model: $function has changed (compare, then make renew WHAT=models)" \
        grep -q -x "$model $function $sum" $list
done < "$work/list"
check "models.txt: no other function" test "$(wc -l < $list)" -eq "$(wc -l < "$work/list")"
finish
