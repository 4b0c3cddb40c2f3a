#!/bin/sh
# tests/examples/test_peers.sh PROGRAM: the simulation of examples/storm/peers.c. Its world is right, what
# is promised holds, and its tables are those of its cells. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
peers=$1

run() { # FILE ARGUMENT...: its output in FILE, errors in FILE.err, exit status in FILE.status
    file=$1
    shift
    "$peers" "$@" > "$work/$file" 2> "$work/$file.err"
    echo $? > "$work/$file.status"
}
count() { [ "$(grep -c -e "$2" "$work/$1")" -eq "$3" ] || { grep -e "$2" "$work/$1"; false; }; }

run all -v --data "$work"
check "exit status" ended all 0
check "as promised" test "$(tail -n 1 "$work/all")" = "all as promised"
check "five known numbers" count all "^  .* [0-9.]*  kept$" 5
check "none is missed" lacks all "MISSED"
for setup in "no retries" "gRPC, 500 ms" "Gradient2, 3 tries" "retry\.h" "(an oracle)"; do
    check "$setup: two tables" count all "^$setup \{2,\}[0-9]" 2
done
check "five promises" count all "^kept  " 5
check "no cell without a reason" lacks all "without a reason"
check "cells in which others do better" shows all "^  frozen .* 1000 endless .* % more: "
check "six bars" test "$(wc -l < "$work/peers.tsv")" -eq 6
check "no errors" test ! -s "$work/all.err"

run cells --csv
check "csv: exit status" ended cells 0
check "csv: a row for each cell of each setup" test "$(wc -l < "$work/cells")" -eq $((1 + 23 * 468))
check "csv: eleven columns" test "$(awk -F , 'NR > 1 { sub(/"[^"]*"/, "a"); print NF }' "$work/cells" | sort -u)" = 11
# mean SETUP COLUMN: of all cells, as %
mean() { awk -F , -v name="\"$1\"" -v column="$2" 'index($0, name) == 1 { sub(/^"[^"]*"/, "a")
    n++; sum += $column } END { printf "%.1f", 100 * sum / n }' "$work/cells"; }
table() { sed -n "s/^$1 \{2,\}//p" "$work/all" | awk -v column="$2" 'NR == 1 { print $column }'; }
for setup in "no retries" "AWS standard" "gRPC" "Polly" "Google SRE" "retry.h"; do
    check "$setup: in the fault" test "$(mean "$setup" 6)" = "$(table "$setup" 1)"
    check "$setup: after it" test "$(mean "$setup" 7)" = "$(table "$setup" 2)"
    check "$setup: all" test "$(mean "$setup" 8)" = "$(table "$setup" 3)"
done
check "without retries an operation is sent once" test "$(table "no retries" 5)" = 1.00
check "an oracle does most" test "$(table "(an oracle)" 3 | tr -d .)" -gt "$(table retry.h 3 | tr -d .)"

run wrong --fast
check "unknown option: exit status" ended wrong 2
check "unknown option: usage" grep -q "^usage: peers" "$work/wrong.err"
run nowhere --data "$work/none"
check "no such folder: exit status" ended nowhere 2
finish
