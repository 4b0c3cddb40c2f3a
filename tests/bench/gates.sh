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
echo "Gates and texts, one each (gcc -O2)              instructions  at most"
row "rate: ask and report, without a limit" rate free 75
row "rate: ask and report" rate paced 260
row "rate: ask and report, throttled" rate throttled 270
row "breaker: ask and report" breaker answered 160
row "breaker: the same, half of the reports sick" breaker sick 200
row "throttle: ask and report" throttle accepted 145
row "latency: add" latency add 130
row "hedge: begin and won" hedge won 105
row "hedge: begin, one due, won" hedge due 315
row "AIMD limit: report" aimd rise 110
row "scope: look up a name of 18 bytes" scopes first 190
row "policy from a text of 49 bytes" from_text policy 2700
echo
[ -z "${STRICT:-}" ] || exit $bad
