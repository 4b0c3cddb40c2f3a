#!/bin/sh
# The storm simulator. Usage: test_storm.sh PATH_OF_STORM
# Nothing here looks at the clock. What is known is compared here again, not taken from the program.
# The last line is "N passed, N failed", and the exit status tells the same.
. "$(dirname "$0")/../check.sh"

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
narrow() { awk 'length > 80 { wide = 1 } END { exit wide }' "$work/$1"; }

# follows FILE TEXT NEXT: the line after TEXT's shows NEXT
follows() { grep -A 1 -e "$2" "$work/$1" | tail -n 1 | grep -q -e "$3"; }

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

# goodput SCHEME FROM TO: its mean over these seconds, in % of the normal
goodput() {
    awk -F '\t' -v column="$1 goodput" -v from="$2" -v to="$3" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
        NR > 1 && at && $1 >= from && $1 < to { sum += $at; count++ }
        END { if (count) printf "%d\n", 100 * sum / count; else print "none" }' \
        "$work/data/recovery.tsv"
}

recovers() { near "$(goodput "$1" 21 60)" 100 10; }
collapses() { [ "$(goodput "$1" 21 60)" -le 5 ]; }

# bears SCHEME: how busy its service may be, from the table
bears() {
    awk -v name="$1" 'index($0, name "  ") == 1 { print $(NF - 1) }' "$work/first"
}
bears_more() { [ "$(bears "$1")" -gt "$(bears "$2")" ]; }

run first --quick --data "$work/data"
if [ ! -s "$work/data/bucket.tsv" ]; then
    cat "$work/first.err"
    echo "0 passed, 1 failed"
    exit 1
fi
"$storm" --quick --data "$work/data/again" >"$work/piped" 2>&1
grep -v "^${storm##*/}: " "$work/piped" >"$work/again"
run other --quick --seed 2 --data "$work/other_data"

check "exit status" ended first 0
check "the same seed, the same tables" same first again
check "one pipe for both: time is told after the legend, not in the table" \
    follows piped "share a budget" "simulated minutes took"
check "another seed, other tables" differs first other
check "another seed keeps the tolerances" ended other 0
for part in contention article recovery bucket; do
    check "the same seed, the same $part.tsv" same "data/$part.tsv" "data/again/$part.tsv"
done
check "no control characters" plain first
check "80 columns" narrow first
check "it tells time" says first "simulated minutes took [0-9.]* s"
check "it tells memory" says first "MB of memory"

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

while read -r rate with without; do
    row=$(awk -v rate="$rate" '$1 == rate && $2 == "%" { print $3, $5 }' "$work/first")
    check "bucket: $rate %" near "${row% *}" "$with" 2
    check "no bucket: $rate %" near "${row#* }" "$without" 2
done <<LOADS
5 1.053 1.053
10 1.099 1.112
20 1.088 1.247
50 1.053 1.874
100 1.0005 4
LOADS
check "five layers make 243 calls" grep -q "3, 9, 27, 81, 243  kept" "$work/first"

for name in "naive loop" "backoff, no jitter" "best effort" "five layers, 3 tries"; do
    check "storm: $name never recovers" collapses "$name"
done
for name in "no retry" "one layer, 3 tries" "best effort + budget" "AWS standard" "AWS 2026" \
    "gRPC throttling"; do
    check "storm: $name recovers" recovers "$name"
done
check "storm: nothing is done while it fails" test "$(goodput "no retry" 11 20)" -eq 0
check "storm: one layer bears more than five" bears_more "one layer, 3 tries" "five layers, 3 tries"
check "storm: a budget bears more than none" bears_more "best effort + budget" "best effort"

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
check "the usage names the program" says bad "^usage: ${storm##*/} \["
refused "no number" "seed wants a number.*'1x'" --seed 1x
refused "negative" "seed wants a number.*'-1'" --seed -1
refused "too large" "seed wants a number" --seed 18446744073709551616
refused "no value" "clients wants a number.*''" --clients
refused "too few clients" "from 10000 to 1000000, not '9999'" --clients 9999
refused "too many clients" "from 10000 to 1000000, not '1000001'" --clients 1000001
refused "no folder" "data wants a folder" --data
refused "a folder that cannot be" "cannot write /dev/null/x" --quick --data /dev/null/x

finish
