#!/bin/sh
# The storm simulator. Usage: test_storm.sh PATH_OF_STORM
# Nothing here looks at the clock. What is known is compared here again, not taken from the program.
# The last line is "N passed, N failed", and the exit status tells the same.
. "$(dirname "$0")/../support/check.sh"

storm=$1

# run FILE ARGUMENT...: its output in FILE, errors in FILE.err, exit status in FILE.status
run() {
    file=$1
    shift
    "$storm" "$@" >"$work/$file" 2>"$work/$file.err"
    echo $? >"$work/$file.status"
}

says() { grep -q -e "$2" "$work/$1.err"; }
silent() { [ ! -s "$work/$1" ]; }
same() { cmp -s "$work/$1" "$work/$2"; }
differs() { ! same "$1" "$2"; }
plain() { ! LC_ALL=C grep -q '[[:cntrl:]]' "$work/$1"; }
trimmed() { ! grep -q ' $' "$work/$1"; }
narrow() { awk 'length > 80 { wide = 1 } END { exit wide }' "$work/$1"; }

# value FILE ROW COLUMN: of a data file with a header
value() {
    awk -F '\t' -v row="$2" -v column="$3" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
        NR > 1 && $1 == row { print $at }' "$work/$1"
}

# near NUMBER EXPECTED PERCENT
near() {
    awk -v got="$1" -v expected="$2" -v percent="$3" 'BEGIN {
        off = got - expected; if (off < 0) off = -off
        if (got != "" && off <= expected * percent / 100) exit 0
        printf "got %s, expected %s within %s %%\n", got, expected, percent; exit 1 }'
}

# section FILE TITLE: the rows below a title, up to the next empty line
section() { awk -v title="$2" 'index($0, title) { on = 1 } on && /^$/ { exit } on' "$work/$1"; }

# cell FILE TITLE SCHEME COLUMN: of an outage's table; the columns count from the end: latency at
# 99.9, 99 and 50 %, expired, failed, bears, back, load after, peak, clients
cell() {
    section "$1" "$2" | awk -v name="$3 " -v column="$4" \
        'index($0, name " ") == 1 { print $(NF - column + 1); exit }'
}
bears() { cell first "The outage of the options" "$1" 6; }
bears_more() { [ "$(bears "$1")" -gt "$(bears "$2")" ]; }
returns() { [ "$(cell first "The outage of the options" "$1" 7)" != never ]; }
is() { [ "$1" = "$2" ] || { echo "got $1, expected $2"; return 1; }; }

run first -v --quick --data "$work/data"
if [ ! -s "$work/data/hedging.tsv" ]; then
    cat "$work/first.err"
    echo "0 passed, 1 failed"
    exit 1
fi
run other -v --quick --seed 2 --utilisation 40 --outage silence --patience 3s --data "$work/other_data" \
    --policy "aws attempts=4 initial=200ms" --budget aws --policy "grpc attempts=2"

run few --quick --data "$work/data/few"
check "without -v: at most 60 lines" test "$(wc -l < "$work/few")" -le 60
check "without -v: the answer first" test "$(sed -n '1s/take: .*/take/p' "$work/few")" = "With this service take"
check "without -v: two tables" test "$(grep -c '^no retry ' "$work/few")" -eq 2
check "exit status" ended first 0
check "another seed, other tables" differs first other
check "another seed keeps the tolerances" ended other 0
for part in contention article recovery bears failed outage bucket spikes hedging; do
    check "the same seed, the same $part.tsv" same "data/$part.tsv" "data/few/$part.tsv"
done
for output in first other; do
    check "no control characters" plain $output
    check "80 columns" narrow $output
    check "no spaces at the end" trimmed $output
done
check "it tells time" says first "the longest simulation [0-9.]* s;"
check "it tells memory" says first "; [0-9]* MB"
check "progress where there is no terminal: lines" says first "^[0-9]* %, about [0-9]* s left: "
check "in 80 columns, without control characters" sh -c "! grep -q '.\{81\}' '$work/first.err' &&
    ! LC_ALL=C grep -q '[[:cntrl:]]' '$work/first.err'"
if command -v script >/dev/null; then
    script -qec "$storm --quick --data $work/terminal" /dev/null >"$work/terminal.out" </dev/null
    check "progress tells what is left" grep -q "%, about [0-9]* s left: " "$work/terminal.out"
fi

# The article's numbers for a hundred clients: ms, writes
while read -r time writes name; do
    check "contention: $name, time" near "$(value data/contention.tsv 100 "$name time")" "$time" 5
    check "contention: $name, writes" \
        near "$(value data/contention.tsv 100 "$name writes")" "$writes" 3
done <<ARTICLE
2027 2421 none
62862 1853 exponential
6658 812 equal
4879 797 full
4530 1002 decorrelated (AWS)
ARTICLE
for name in DECORRELATED BEST_EFFORT RFC0049 CONTROLLED AWS AWS_2026 GRPC; do
    check "contention: $name is there" grep -q "^$name  *[1-9]" "$work/first"
done

# Brooker's bucket: attempts per call
while read -r rate with without; do
    row=$(awk -v rate="$rate" \
        '/Brooker/ { on = 1 } on && $1 == rate && $2 == "%" { print $3, $5 }' "$work/first")
    check "bucket: $rate %" near "${row% *}" "$with" 2
    check "no bucket: $rate %" near "${row#* }" "$without" 2
done <<LOADS
5 1.053 1.053
10 1.099 1.112
20 1.088 1.247
50 1.053 1.874
100 1.0005 4
LOADS

# The bucket's arithmetic against what is simulated, for each size of traffic
awk '/^calls to a bucket/ { on = 1; next } on && /^$/ { exit }
     on && $2 == "%" { gsub(/[()]/, ""); print $1, $3, $4, $5, $6, $7, $8, $9, $10 }' \
    "$work/first" >"$work/sizes"
check "bucket: five rates" test "$(wc -l <"$work/sizes")" -eq 5
while read -r rate a b c d e f g h; do
    check "10 calls to a bucket, $rate %" near "$a" "$b" 1
    check "100 calls to a bucket, $rate %" near "$c" "$d" 1
    check "1,000 calls to a bucket, $rate %" near "$e" "$f" 1
    check "100,000 calls to a bucket, $rate %" near "$g" "$h" 1
done <"$work/sizes"
check "gRPC: 5 failures, 61 successes" \
    grep -q "throttling: 5 failures from full forbid retries, 61 successes" "$work/first"
check "five layers make 243 calls" grep -q "3, 9, 27, 81, 243  kept" "$work/first"
passes=$(sed -n 's/.*half of the attempts pass \([0-9]*\) s after an outage of 200 s.*/\1/p' \
    "$work/first")
check "the throttle lets half pass within 30 s" test "$passes" -le 30

# Calls in the busiest 10 ms of ten thousand clients
while read -r busiest name; do
    got=$(awk -v name="jitter $name " 'index($0, name) { print $(NF - 2) }' "$work/first")
    check "the busiest 10 ms, jitter $name" near "$got" "$busiest" 3
done <<SPIKES
10000 none
1998 equal
1526 full
659 decorrelated
SPIKES
check "an order without spread: all at once" grep -q "^Retry-After 30 s  *10000  *10000$" "$work/first"

for name in "naive loop" "no jitter" "best effort" "5 layers of 3" "3 attempts"; do
    check "60 % busy: $name never comes back" is "$(cell first "The outage of" "$name" 7)" never
done
for name in "no retry" "a budget each" "a shared budget" "AWS" "AWS 2026" "gRPC"; do
    check "60 % busy: $name comes back" returns "$name"
    check "60 % busy: $name says so" near "$(cell first "The outage of" "$name" 8)" 1 10
done
check "one layer bears more than five" bears_more "3 attempts" "5 layers of 3"
check "a shared budget bears more than one each" bears_more "a shared budget" "a budget each"
for title in "The outage of" "A blip" "For a minute" "One node of ten"; do
    for name in "no retry" "AWS"; do
        check "$title: $name: clients" is "$(cell first "$title" "$name" 10)" 10000
    done
done
for name in breakers throttle "adaptive rate" "AIMD limit"; do
    check "gates: $name" grep -q "^$name  *10000  *[0-9]" "$work/first"
done

# Hedging: the extra load of each, and what it is when all is late
extra() { awk -F '\t' -v name="$1" -v column="$2" '$1 == name { print $column }' "$work/data/hedging.tsv"; }
below() { awk -v got="$1" -v limit="$2" 'BEGIN { exit !(got != "" && got + 0 < limit + 0) }'; }
quantile="after the 95 % quantile"
check "no hedges, no extra load" is "$(extra "no hedges" 2)" 0.00
# A twentieth, but for the first 15 s, in which there is no estimate; 5 of them count.
check "hedging costs about a twentieth" near "$(extra "$quantile" 2)" 3.75 25
check "hedging cuts the tail" below "$(extra "$quantile" 3)" "$(extra "no hedges" 3)"
check "a budget bounds it when all is late" below "$(extra "$quantile, budget" 4)" 12
check "a fixed delay follows the server then" below "$(extra "after 100 ms" 4)" 6

# Which gates to take: all rows, and one is recommended
check "gates: every subset" test "$(grep -c "^{[a-z,]*}  *[0-9] " "$work/first")" -eq 32
check "gates: with the AIMD limit all is soon well" grep -q "^{aimd}  *0 " "$work/first"
check "gates: not without anything" grep -q "^{}  *[5-9]  *never" "$work/first"
check "gates: a recommendation" grep -q "^With this service take: .*AIMD limit" "$work/first"
check "gates: with the operator's policy" grep -q "nine faults, with your policy$" "$work/other"

# The operator's own row and line, and an outage of the operator's
check "yours: no row without a policy" test "$(grep -c "^yours" "$work/first")" -eq 0
for title in "The outage of" "A blip" "For a minute" "One node of ten"; do
    check "yours: $title" is "$(cell other "$title" yours 10)" 10000
done
check "yours: contention, outages and gates" test "$(grep -c "^yours" "$work/other")" -eq 10
check "yours: spikes" grep -q "^retries, yours  *10000" "$work/other"
for part in contention:yours recovery:yours bucket:yours spikes:yours; do
    check "yours: a column of ${part%:*}.tsv" \
        grep -q "${part#*:}" "$work/other_data/${part%:*}.tsv"
done
check "yours: a bar" grep -q "^yours	[0-9]" "$work/other_data/bears.tsv"
check "what differs from its default says so" grep -q "utilisation 40% (default 60%)" "$work/other"
check "an outage does, too" grep -q "outage silence (default 503)" "$work/other"

# --help, and the tables' head, have each default
run help --help
check "help: exit status" ended help 0
check "help: 80 columns" narrow help
check "help: presets" shows help "^A policy: presets are .* grpc"
check "help: keys of a policy" shows help "keys are attempts= curve="
check "help: keys of a budget" shows help "capacity= cost="
while read -r name value; do
    check "help: --$name $value" grep -q -e "--$name $value " "$work/help"
    case $name in
    clients) check "head: $name" grep -q "clients 10000 (default 100000)" "$work/first" ;;
    data) ;;
    *) check "head: $name $value" grep -q "\<$name $value\(,\|\$\)" "$work/first" ;;
    esac
done <<DEFAULTS
clients 100000
utilisation 60%
outage 503
length 10s
failing 100%
nodes 10
hit 100%
slowness 10
retry-after 5s
queue 2s
network 10ms
attempt-timeout 1s
timeout 10s
patience 0ms
think 20s
sharing 1000
seed 1
data build/plots
DEFAULTS

# README.md's picture shows what the table shows.
grep -o '[0-9]* % failed' examples/storm/recovery.svg | sed 's/ .*//' >"$work/pictured"
while read -r column name; do
    share=$(awk -F '\t' -v name="$name" '$2 == name { print $3; exit }' "$work/data/failed.tsv")
    check "README: the picture at the top: $name" \
        below "$(sed -n "${column}p" "$work/pictured" | awk -v share="$share" '
            { off = $1 - share; print off < 0 ? -off : off }')" 4
done <<COLUMNS
1 no retry
2 best effort
3 3 attempts
4 a budget each
5 a shared budget
COLUMNS
check "examples/README.md: the command" grep -q "make storm ARGS='--policy \"aws attempts=4\" --budget" examples/README.md

# refused WHAT TEXT ARGUMENT...
refused() {
    what=$1
    text=$2
    shift 2
    run bad "$@"
    check "$what: exit status" ended bad 2
    check "$what: it says so" says bad "$text"
    check "$what: no table" silent bad
}

refused "unknown option" "unknown option '--fast'" --fast
check "it names the program and --help" says bad "^${storm##*/} --help lists"
refused "no option" "unknown option 'clients'" clients 10000
refused "no number" "seed is from 0 to 4294967295, not '1x'" --seed 1x
refused "negative" "seed is from .*'-1'" --seed -1
refused "too large" "seed is from .*'4294967296'" --seed 4294967296
refused "far too large" "seed is from" --seed 18446744073709551617
refused "no value" "clients is from .*not ''" --clients
refused "too few clients" "clients is from 10000 to 1000000, not '9999'" --clients 9999
refused "too many clients" "from 10000 to 1000000, not '1000001'" --clients 1000001
refused "no utilisation" "utilisation is from 1% to 95%, not '0'" --utilisation 0
refused "all of it" "utilisation is from 1% to 95%, not '96%'" --utilisation 96%
refused "two signs" "utilisation is from .*'50%%'" --utilisation 50%%
refused "a percentage that is none" "clients is from .*'50%'" --clients 50%
refused "no such outage" "outage is refused, 503, .* or slow, not '500'" --outage 500
refused "no time" "length is from 1ms to 300s, with its unit, not 'soon'" --length soon
refused "too short" "length is from 1ms to 300s, with its unit, not '0'" --length 0
refused "no unit" "length is from 1ms to 300s, with its unit, not '5'" --length 5
refused "nothing fails" "failing is from 1% to 100%" --failing 0
refused "no nodes" "nodes is from 1 to 100" --nodes 0
refused "nothing hit" "hit is from 1% to 100%" --hit 0
refused "not slow" "slowness is from 2 to 1000" --slowness 1
refused "no wait" "retry-after is from 1ms to 300s" --retry-after 0
refused "no queue" "queue is from 1ms to 60s" --queue 61s
refused "no network" "network is from 1ms to 1s" --network 0
refused "no attempt" "attempt-timeout is from 1ms to 60s" --attempt-timeout 0
refused "too patient" "patience is from 0ms to 300s" --patience 6m
refused "too long" "timeout is from 0ms to 300s" --timeout 6m
refused "no pause" "think is from 100ms to 300s" --think 99ms
refused "nobody" "sharing is from 1 to 1000000" --sharing 0
refused "a policy" "policy: cannot read 'aws tries=3', from 'tries=3' on: unknown word" --policy "aws tries=3"
refused "a budget" "budget: cannot read 'capacity=x', from 'x' on: not a number" --budget capacity=x
refused "no policy" "policy wants a text" --policy
refused "nine layers" "at most 8 layers" --policy aws --policy aws --policy aws --policy aws \
    --policy aws --policy aws --policy aws --policy aws --policy aws
refused "no folder" "data wants a folder" --data
refused "an empty folder" "data wants a folder" --data ""
refused "a folder that cannot be" "cannot write /dev/null/x" --quick --data /dev/null/x

finish
