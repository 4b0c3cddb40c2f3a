#!/bin/sh
# A thousand clients and a server that freezes, from end to end, in 65 s. Usage: test_frozen.sh
# PATH_OF_FROZEN. What the table says is judged here again, with bounds that a busy machine keeps: most
# compare runs that went on side by side. The last line is "N passed, N failed", and the exit status
# tells the same.
. "$(dirname "$0")/../support/check.sh"

program=$1
service="retry_service"
cut="no retries, cut"
whole="no retries, uncut"
careless="retries, no limits"

# value LOAD CLIENT COLUMN: columns count from the end: calm, in vain, sent, in fault, back, %, done,
# begun
value() {
    awk -v load="$1" -v name="$2 " -v column="$3" \
        '$1 == load && index($0, "  " name) { print $(NF - column + 1) }' "$work/out"
}
# holds EXPRESSION: of numbers and names of awk's
holds() { awk "BEGIN { exit !($1) }" || { echo "not so: $1"; false; }; }

"$program" >"$work/out" 2>"$work/errors"
status=$?

check "exit status" test "$status" -eq 0
check "nothing on standard error" test ! -s "$work/errors"
check "twelve verdicts, all kept" test "$(grep -c '^kept ' "$work/out")" -eq 12
check "nothing broken" test "$(grep -c '^BROKEN' "$work/out")" -eq 0
check "eight rows" test "$(grep -c '^ [68]0 ' "$work/out")" -eq 8
check "80 columns" test "$(awk 'length > 80' "$work/out" | wc -l)" -eq 0
for column in busy begun done back "in fault" sent "in vain" calm; do
    check "$column is explained" grep -q "^  $column  *[a-z%]" "$work/out"
done

for load in 60 80; do
    begun=$((load * 120))
    for name in "$cut" "$whole" "$careless" "$service"; do
        check "$load %: $name: all began" holds "$(value $load "$name" 8) == $begun"
        check "$load %: $name: each was sent" holds "$(value $load "$name" 3) >= $begun"
        check "$load %: $name: all is well before" holds \
            "$(value $load "$name" 1) >= 50 && $(value $load "$name" 1) < 500"
    done
    for name in "$cut" "$whole"; do
        check "$load %: $name: none was sent twice" holds "$(value $load "$name" 3) == $begun"
    done
    served=$(value $load "$service" 7)
    check "$load %: what is cut fails in the fault" holds "$(value $load "$cut" 7) < 0.9 * $begun"
    check "$load %: retries without limits: a storm" holds "$(value $load "$careless" 7) < $served / 2"
    check "$load %: and it stays" test "$(value $load "$careless" 5)" = never
    check "$load %: the service is back" holds "$(value $load "$service" 5) + 0 <= 50 &&
        \"$(value $load "$service" 5)\" != \"never\""
    for name in "$cut" "$whole"; do
        check "$load %: it does as many as $name, nearly" holds "$served >= 0.98 * $(value $load "$name" 7)"
    done
    check "$load %: sent in the fault" holds "$(value $load "$service" 4) <= 2"
    check "$load %: a retry each, and one for ten" holds \
        "$(value $load "$service" 3) <= $begun + 1000 + $served / 10"
    check "$load %: limits are worth it" holds \
        "$(value $load "$service" 3) < $(value $load "$careless" 3) / 2"
done

"$program" --help >"$work/out" 2>"$work/errors"
check "an argument: exit status" test $? -eq 2
check "an argument: usage" grep -q "^usage: .*frozen" "$work/errors"
check "an argument: nothing is run" test ! -s "$work/out"

finish
