#!/bin/sh
# bench.sh BUILD: one page of measurements. Instructions are counted by callgrind and repeat; times
# are ratios within one run. With STRICT=1 it fails if a count passes its limit.
build=$1

count() # PROGRAM ARGUMENT...: the instructions that it executes
{
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 > /dev/null |
        awk '/Collected/ { print $NF }'
}

decision() # KIND: instructions for one decision, of 12,000 more
{
    less=$(count "$build/bench_decision" "$1" 1000)
    more=$(count "$build/bench_decision" "$1" 2000)
    echo "$less $more" | awk '{ printf "%.1f", ($2 - $1) / 12000 }'
}

bad=0
shift=$(decision shift)
row() # TEXT KIND LIMIT
{
    decision "$2" | awk -v text="$1" -v limit="$3" -v shift="$shift" \
        '{ printf "  %-46s %7.1f %9s %8.1f\n", text, $1, limit, $1 / shift
           exit limit != "" && $1 > limit + 0 }' || bad=1
}

echo "One decision (gcc -O2)                     instructions   at most to shift"
row "best effort, full jitter, deadline" retry 200
row "the same, paid for by a shared budget" budget 280
row "by hand: min(cap, base << n), a shift's jitter" shift ""
row "by hand: pow() and rand()" pow ""
echo
"$build/bench_budget" || bad=1
[ -z "${STRICT:-}" ] || exit $bad
