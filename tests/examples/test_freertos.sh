#!/bin/sh
# examples/freertos on a stand-in of FreeRTOS: what it sends when, how it is configured, and that faults
# are noticed. Usage: test_freertos.sh
# Nothing here looks at the clock. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

example=examples/freertos
script=tests/examples/freertos.sh
own=tests/examples/freertos
. tests/examples/changed.sh

sections() { sed -n 's/^critical sections: //p' "$work/$1"; }
all="^30 readings: 30 done, 30 came once, [3-5][0-9] attempts"

for rate in 1 10 100 200 1000; do
    run at_$rate RATE=$rate
    check "$rate ticks a second: exit status" ended at_$rate 0
done
for rate in 100 1000; do
    check "$rate ticks a second: all done, none twice" shows at_$rate "$all"
done
[ "$failed" -eq 0 ] || cat "$work"/at_*
check "both senders are at work while the server is gone" shows at_100 "reading  8: 0"
check "the one that is answered at once waits" shows at_100 "reading  9: 503"

# Ticks of 300 or 1,024 Hz, or of 16 bits, do not become a clock of ms.
for rate in 300 1024 2000; do
    run at_$rate RATE=$rate
    check "$rate ticks a second: refused" ended at_$rate 2
    check "$rate ticks a second: says why" shows at_$rate "retry_freertos_needs_a_rate_that_divides"
done
run narrow DEFINES=-DTICKS_OF_16_BITS
check "ticks of 16 bits: refused" ended narrow 2
check "ticks of 16 bits: says why" shows narrow "retry_freertos_needs_ticks_of_32_bits"

# clock NAME HEADER_FOLDER RATE: a program that judges the header's clock; its exit status in NAME.status
clock() {
    # shellcheck disable=SC2086 # one word a flag
    ${CC:-cc} -std=c99 -O2 -Wall -Wextra -Wconversion -Wsign-conversion ${WERROR--Werror} -DTICK_RATE=$3 -I. "-I$2" \
        -I$own -I$own/stand_in $own/clock.c -o "$work/$1" && "$work/$1" > "$work/$1.out"
    echo $? > "$work/$1.status"
}
for rate in 100 1000; do
    clock clock_$rate examples/freertos $rate
    check "$rate ticks a second: waits and instants" ended clock_$rate 0
done
wrong_clock() { # NAME EXPRESSION
    mkdir "$work/$1.copy"
    sed "$2" examples/freertos/retry_freertos.h > "$work/$1.copy/retry_freertos.h"
    check "$1: is changed" differs examples/freertos/retry_freertos.h "$work/$1.copy/retry_freertos.h"
    clock "$1" "$work/$1.copy" 100
    check "$1: noticed" ended "$1" 1
}
wrong_clock rounds_down 's/ + (ms % tick != 0 ? 1 : 0)//'
wrong_clock not_in_ms 's/ \* (uint32_t)(1000 . configTICK_RATE_HZ)//'
wrong_clock ends_early 's/ms == UINT32_MAX ? portMAX_DELAY : //'

run masks DEFINES="$no_atomics"
check "no atomics: exit status" ended masks 0
check "no atomics: the same decisions" test \
    "$(grep -v critical "$work/masks")" = "$(grep -v critical "$work/at_100")"
check "no atomics: critical sections" test "$(sections masks)" -gt $(($(sections at_100) + 100))

changed open retry_freertos.h '/^    taskEXIT_CRITICAL/d' DEFINES="$no_atomics"
check "a critical section left open: noticed" differs "$work/open.status" "$work/masks.status"
changed careless readings.c 's/op->idempotent = true/op->idempotent = false/'
check "not repeated: readings are lost" ended careless 1
changed impatient readings.c 's/op->timeout = 120000/op->timeout = 2000/'
check "2 s are too few: readings are lost" ended impatient 1

# For other cores: what the header chooses there.
cross() { # NAME COMPILER FLAG...
    cross_name=$1
    shift
    # The folders after ours: a cross compiler's own headers come first.
    quiet "$@" -std=c99 -Os -Wall -Wextra ${WERROR--Werror} -I. -Iexamples/freertos -I$own -I$own/stand_in -c \
        examples/freertos/readings.c -o "$work/$cross_name.o"
}
uses() { arm-none-eabi-nm "$work/$1.o" | grep -q "U kernel_enter"; }
check "Cortex-M0: compiles" cross m0 arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb --specs=picolibc.specs
check "Cortex-M0: critical sections" uses m0
check "Cortex-M3: compiles" cross m3 arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb --specs=picolibc.specs
check "Cortex-M3: atomics" eval '! uses m3'
quiet ${CXX:-g++} -std=c++11 -Wall -Wextra -Wpedantic -Wconversion ${WERROR--Werror} -x c++ -I. -Iexamples/freertos -I$own \
    -I$own/stand_in -c examples/freertos/readings.c -o "$work/cxx.o"
check "C++: compiles" test -e "$work/cxx.o"

finish
