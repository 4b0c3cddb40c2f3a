#!/bin/sh
# tests/examples/test_peers.sh BUILD: the simulation of examples/storm/peers.c, and what it has printed there. Its
# world is right, what is promised holds, and its tables are those of its cells. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
peers=$1/peers

run() { # FILE ARGUMENT...: its output in FILE, errors in FILE.err, exit status in FILE.status
    file=$1
    shift
    "$peers" "$@" > "$work/$file" 2> "$work/$file.err"
    echo $? > "$work/$file.status"
}
count() { [ "$(grep -c -e "$2" "$work/$1")" -eq "$3" ] || { grep -e "$2" "$work/$1"; false; }; }

for end in "" .err .status; do cp "$1/peers.kept/printed$end" "$work/all$end"; done
cp "$1/peers.kept/peers.csv" "$1/peers.kept/harm.csv" "$1/peers.kept/peers.tsv" "$work"
check "exit status" ended all 0
check "as promised" test "$(tail -n 1 "$work/all")" = "all as promised"
check "five known numbers" count all "^  .* [0-9.]*  kept$" 5
check "none is missed" lacks all "MISSED"
for setup in "no retries" "gRPC, 500 ms" "Gradient2, 3 tries" "retry\.h" "(an oracle)"; do
    check "$setup: three tables" count all "^$setup \{2,\}[0-9]" 3
done
check "fifteen promises" count all "^kept  " 15
check "no cell without a reason" lacks all "without a reason"
check "cells in which others do better" shows all "^  lost .* 1000 endless .* points more: "
check "seven groups of bars" test "$(wc -l < "$work/peers.tsv")" -eq 7
check "no errors" test ! -s "$work/all.err"

# harm CONDITION: prints the worlds for which it holds; own, none: % done; kind, name, processes
harm() {
    awk -F '"' "NR > 1 { kind = \$2; name = \$4; split(\$5, of, \",\"); processes = of[2]; own = of[3]
        none = of[4]; best = none; for (i = 5; i <= 8; i++) if (of[i] > best) best = of[i]
        if ($1) { print; n++ } } END { exit n == 0 }" "$work/harm.csv"
}
none_harmed() { ! harm "$1"; }
check "harm: a row for each world" test "$(wc -l < "$work/harm.csv")" -eq \
    $((1 + $(sed -n 's/^Harm: \([0-9]*\) .*/\1/p' "$work/all")))
check "harm: kinds of worlds" test "$(awk -f tests/compile/harm_rows.awk "$work/all" | wc -l)" -eq 15
check "harm: where a server is well none of up to 50 calls in flight is lost" none_harmed \
    'kind ~ /^well/ && name !~ /00 in flight/ && own < 100'
check "harm: none of 500, if initial is" none_harmed 'name == "500 in flight, initial 500" && own < 100'
check "harm: heavy calls are done" none_harmed 'kind ~ /heavy/ && own < none - 3'
check "harm: bursts of 200" none_harmed 'name ~ /^bursts/ && own < 100'
check "harm: a quota is worth waiting for" none_harmed 'name ~ /an hour/ && own < none'
check "harm: a slow server" none_harmed 'kind ~ /never full/ && processes > 1 && own < none - 2'
check "harm: a server that is too slow: more are done" none_harmed 'kind ~ /and full/ && own < none'
check "harm: 10,000 at once: more are done" none_harmed 'name ~ /^10,000/ && own < none'
check "harm: who passes calls on" none_harmed 'name ~ /^gateway retries/ && own < none - 1'
check "harm: the worst ten have a cause" test "$(sed -n '/^The worst ten/,/^$/p' "$work/all" | awk -F '  ' '
    NR > 1 && NF && $NF ~ /[a-z]/ { n++ } END { print n }')" -eq 10

check "a row for each cell of each setup" test "$(wc -l < "$work/peers.csv")" -eq $((1 + 24 * 468))
check "eleven columns" test "$(awk -F , 'NR > 1 { sub(/"[^"]*"/, "a"); print NF }' "$work/peers.csv" | sort -u)" = 11
# mean SETUP COLUMN: of all cells, as %
mean() { awk -F , -v name="\"$1\"" -v column="$2" 'index($0, name) == 1 { sub(/^"[^"]*"/, "a")
    n++; sum += $column } END { printf "%.1f", 100 * sum / n }' "$work/peers.csv"; }
table() { sed -n "s/^$1 \{2,\}//p" "$work/all" | awk -v column="$2" 'NR == 1 { print $column }'; }
for setup in "no retries" "AWS standard" "gRPC" "Polly" "Google SRE" "retry.h"; do
    check "$setup: in the fault" test "$(mean "$setup" 6)" = "$(table "$setup" 1)"
    check "$setup: after it" test "$(mean "$setup" 7)" = "$(table "$setup" 2)"
    check "$setup: all" test "$(mean "$setup" 8)" = "$(table "$setup" 3)"
done
check "without retries an operation is sent once" test "$(table "no retries" 5)" = 1.00
check "an oracle does most" test "$(table "(an oracle)" 3 | tr -d .)" -gt "$(table retry.h 3 | tr -d .)"

# rare SETUP COLUMN: few calls a minute, a second, in 100 ms; sent and done in blocks of 5 s, 30 s ...
rare() { sed -n "s/^$1 \{2,\}//p" "$work/all" | awk -v column="$2" 'NR == 3 { print $column }'; }
check "without retries nobody who met it is done" test "$(rare "no retries" 2)" = 0.0
check "without a budget nearly all are" test "$(rare "retry\.h, no limits" 2 | tr -d .)" -ge 980
check "who is not held back is refused a hundred times" test "$(rare "urllib3" 6)" -gt 1000
check "who is, is done when it is over" test "$(rare "retry\.h" 7 | tr -d .)" -ge 990
check "a block that calls prolong ends with hold_max" shows all "^  hold_max of 30 s .* [0-9] 100\.0  100\.0  100\.0$"

run wrong --fast
check "unknown option: exit status" ended wrong 2
check "unknown option: usage" grep -q "^usage: peers" "$work/wrong.err"
run nowhere --data "$work/none"
check "no such folder: exit status" ended nowhere 2
finish
