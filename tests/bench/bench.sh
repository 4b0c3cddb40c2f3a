#!/bin/sh
# bench.sh BUILD: what a failed attempt costs, its retry included. Instructions are counted, by callgrind here and by QEMU's
# log of each one for a Cortex-M0, and do not vary between runs. Times do: they are printed as the
# range that several runs span. With STRICT=1 it fails if a count passes its limit.
build=$1
. "$(dirname "$0")/../support/limits.sh"

here() # KIND OPERATIONS FAILURES: the instructions that bench_decision executes on this machine
{
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$build/bench_decision" "$@" 2>&1 \
        > /dev/null | awk '/Collected/ { print $NF }'
}

elf=$build/bench_decision_m0.elf
arm-none-eabi-gcc --specs=picolibc.specs --oslib=semihost --crt0=semihost -mcpu=cortex-m0 -mthumb \
    -Os -ffunction-sections -fdata-sections -Wl,--gc-sections \
    -Wl,--defsym=__flash=0,--defsym=__flash_size=0x40000 \
    -Wl,--defsym=__ram=0x20000000,--defsym=__ram_size=0x4000,--defsym=__stack_size=0x1000 \
    tests/bench/decision.c tests/bench/retry.c -o "$elf" -lm || exit 1

cortex_m0() # KIND OPERATIONS FAILURES: the same on an emulated Cortex-M0, one line of log for each
{
    timeout 60 qemu-system-arm -M microbit -nographic -monitor none -serial none -kernel "$elf" \
        -semihosting-config enable=on,target=native,arg="$1",arg="$2",arg="$3" \
        -singlestep -d exec,nochain 2>&1 < /dev/null | grep -c '^Trace'
}

row() # TEXT LIMIT SHIFT LESS MORE FAILURES: instructions of the failures between two counts
{
    awk -v text="$1" -v limit="$2" -v shift="$3" -v less="$4" -v more="$5" -v failures="$6" \
        -v measured="$measured" '
        BEGIN { each = (more - less) / failures
            ratio = shift ? sprintf("%.1f", each / shift) : ""
            line = sprintf("  %-50s %8.1f %8s %8s", text, each, limit, ratio)
            sub(/ +$/, "", line)
            print line
            print text "|" each "|" limit >> measured }'
}

shift=$(echo "$(here shift 1000 12) $(here shift 2000 12)" | awk '{ print ($2 - $1) / 12000 }')
failure() # TEXT KIND LIMIT
{
    row "$1" "$3" "$shift" "$(here "$2" 1000 12)" "$(here "$2" 2000 12)" 12000
}

early_and_late() # TEXT KIND LIMIT: failures 5 to 16 of an operation, and 17 to 28
{
    middle=$(cortex_m0 "$2" 1 16)
    row "$1, 5 to 16" "$3" "" "$(cortex_m0 "$2" 1 4)" "$middle" 12
    row "$1, 17 to 28" "$3" "" "$middle" "$(cortex_m0 "$2" 1 28)" 12
}

echo "One failed attempt, 12 an operation (gcc -O2)    instructions  at most to shift"
failure "best effort, deadline" retry 408
failure "the same, paid for by a shared budget" budget 478
failure "the same, a retry_policy of one's own" policy 476
failure "by hand: min(cap, base << n), jitter by a multiply" shift ""
failure "by hand: pow() and rand()" pow ""
echo
echo "One failed attempt (Cortex-M0, -Os)              instructions  at most"
early_and_late "best effort" retry 785
early_and_late "shared budget" budget 915
early_and_late "by hand, shift" shift ""
echo
"$build/bench_budget" || echo "a shared budget||" >> "$measured"
limits_hold
