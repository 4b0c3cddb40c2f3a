#!/bin/sh
# gates.sh BUILD: instructions of what a program asks beside a decision, counted by callgrind as the
# difference of two runs, so they do not vary. With STRICT=1 it fails if a count passes its limit.
build=$1
bad=0

count() # PROGRAM WHAT TIMES: the instructions that it executes
{
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$build/bench_$1" "$2" "$3" 2>&1 \
        > /dev/null | awk '/Collected/ { print $NF }'
}

row() # TEXT PROGRAM WHAT LIMIT
{
    awk -v text="$1" -v limit="$4" -v less="$(count "$2" "$3" 1000)" \
        -v more="$(count "$2" "$3" 2000)" '
        BEGIN { each = (more - less) / 1000
            printf "  %-50s %8.1f %8s\n", text, each, limit
            exit !(each > 0) || each > limit + 0 }' || bad=1
}

echo
echo "An operation that succeeds at once (gcc -O2)     instructions  at most"
row "nothing is shared" operation alone 340
row "a budget" operation budget 480
row "a service: budget and limit" operation service 840
row "a service with all gates" operation all 1400
row "a budget, and four nodes with a limit each" operation nodes 1060
echo
echo "Gates and texts, one each (gcc -O2)              instructions  at most"
row "rate, without a limit" rate free 110
row "rate" rate paced 310
row "rate, throttled" rate throttled 310
row "breaker: ask and report" breaker answered 160
row "breaker: the same, half of the reports sick" breaker sick 200
row "throttle" throttle accepted 170
row "latency" latency add 132
row "hedge: an operation, no further copy" hedge won 850
row "hedge: an operation of two copies" hedge due 1800
row "AIMD limit" aimd rise 160
row "scope: look up a name of 18 bytes" scopes first 190
row "policy from a text of 49 bytes" from_text policy 2700
echo
[ -z "${STRICT:-}" ] || exit $bad
