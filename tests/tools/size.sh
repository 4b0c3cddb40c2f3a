#!/bin/sh
# What the headers cost on Cortex-M0: bytes of flash at gcc -Os, unused sections dropped, the compiler's
# helpers included; bytes of RAM for each struct. A limit leaves a hundredth: it catches what grows, and
# lets a fix pass. With STRICT=1 it fails if a limit is passed.
. "$(dirname "$0")/../support/limits.sh"
mkdir "$dir/include"
ln -s /usr/include/jsmn.h "$dir/include/jsmn.h"
cc="arm-none-eabi-gcc --specs=picolibc.specs -mcpu=cortex-m0 -mthumb -Os
    -ffunction-sections -fdata-sections -I. -isystem $dir/include"

echo 'SECTIONS { .text : { *(.text*) *(.rodata*) } .data : { *(.data*) }
    .bss : { *(.bss*) *(COMMON) } }' > "$dir/flash.ld"
printf '#define RETRY_IMPLEMENTATION\n#include "retry.h"\n' > "$dir/retry.c"
printf "#define RETRY_API extern\n#define ERRMAP_IMPLEMENTATION\n#include \"errmap.h\"\n" > "$dir/errmap.c" # what it calls of retry.h is not there
$cc -c "$dir/retry.c" -o "$dir/retry.o" && $cc -c "$dir/errmap.c" -o "$dir/errmap.o" || exit 1

functions() # OBJECT: all that it exports
{
    arm-none-eabi-nm -g --defined-only "$1" | awk '{ print $3 }'
}

size_of() # FILE: sets flash and ram
{
    arm-none-eabi-size "$1" | awk 'NR == 2 { print $1, $2 + $3 }' > "$dir/size"
    read -r flash ram < "$dir/size" || exit 1
}

base=none # the text of what stands above, to which those that follow add
flash() # LIMIT TEXT FUNCTION...: links what these functions of $object need, and nothing else
{
    limit=$1
    text=$2
    shift 2
    roots=
    for function in "$@"; do roots="$roots -Wl,-u,$function"; done
    # shellcheck disable=SC2086 # one word a flag
    $cc -nostartfiles -T "$dir/flash.ld" -Wl,--gc-sections,--unresolved-symbols=ignore-all \
        -Wl,-e,"$1" $roots "$dir/$object.o" -o "$dir/x.elf" || exit 1
    size_of "$dir/x.elf"
    than=$(awk -F '|' -v base="$base" '$1 == base { print $2 }' "$measured")
    adds=${than:+$((flash - than))}
    printf "  %-52s %6d %7d %4d%s\n" "$text" "$flash" "$limit" "$ram" "${adds:+$(printf '%6d' "$adds")}"
    echo "$text|$flash|$limit" >> "$measured"
    arm-none-eabi-nm "$dir/x.elf" > "$dir/symbols" || exit 1
    for function in $(grep -o -E '[^ ]*(_(u|s)?(i|l)?div(mod)?|aeabi_(f|d)).*' "$dir/symbols"); do
        echo "$text, calls of $function, which divides or uses floating point|1|0" >> "$measured"
    done
}

: > "$measured"
echo "Cortex-M0, bytes                                        flash at most  RAM  adds"
object=retry
operation="retry_start retry_next retry_ended retry_stop retry_best_effort"
recommended="$operation retry_budget_init retry_gates_aimd"
service="$operation retry_service_init"
breaker="retry_breaker_ask retry_breaker_report retry_breaker_release
    retry_breaker_reset retry_breaker_state retry_classify_permit"
flash 184 "a delay (retry_delay)" retry_delay
flash 615 "a delay of any curve (retry_backoff_delay)" retry_backoff_delay
flash 3600 "retry_run" retry_run
# shellcheck disable=SC2086 # one word a function
{
    flash 3500 "an operation" $operation
    flash 4700 "an operation, budget" $operation retry_budget_init
    base="an operation, budget"
    flash 6850 "an operation, budget and AIMD limit" $recommended
    base="an operation, budget and AIMD limit"
    flash 7910 "the same with several nodes" $recommended retry_client_nodes
    flash 8450 "the same with a hedge and latency" $recommended retry_hedge_copies retry_gates_latency
    flash 8000 "a service and an operation" $service
    base="a service and an operation"
    flash 9530 "a service, circuit breaker" $service retry_gates_breaker
    flash 8520 "a service, client-side throttle" $service retry_gates_throttle
    flash 9200 "a service, rate" $service retry_gates_rate
    flash 8540 "a service, latency" $service retry_gates_latency
    flash 9120 "a service, hedge" $service retry_hedge_copies
    base=none
    flash 1980 "circuit breaker by hand" $breaker
    flash 1935 "scope, with its budget" retry_scope_client
    flash 4670 "policy from a text, with the strategy" retry_parse_policy
    flash 5850 "policy and budget from a text" retry_parse_policy retry_parse_budget
}
# shellcheck disable=SC2046 # one word a function
flash 23800 "all of retry.h" $(functions "$dir/retry.o")
object=errmap # what it calls in retry.h is counted there
flash 4400 "parse an error map and find in it" errmap_parse errmap_find
# shellcheck disable=SC2046
flash 6960 "all of errmap.h" $(functions "$dir/errmap.o")

cut() # LIMIT PART [CALLER]: what `make cut` writes of it, all of it, without the compiler's helpers
{
    awk -v parts="$2" -v prefix=retry_ -v out="$dir/cut.h" -f tests/tools/cut.awk retry.h || exit 1
    printf '#define RETRY_IMPLEMENTATION\n#include "cut.h"\n%s\n' "${3:-}" > "$dir/cut.c"
    $cc -c "$dir/cut.c" -o "$dir/masks.o" && $cc -DRETRY_NO_ATOMICS -c "$dir/cut.c" -o "$dir/cut.o" || exit 1
    size_of "$dir/masks.o"
    text="$2, $flash with interrupts masked"
    size_of "$dir/cut.o"
    printf "  %-52s %6d %8d %5d\n" "$text" "$flash" "$1" "$ram"
    echo "$2 alone|$flash|$1" >> "$measured"
}
echo
echo "A part alone (make cut), for one thread, no helpers     flash  at most   RAM"
cut 184 delay "uint32_t call(uint32_t i, uint32_t m, uint32_t n, uint32_t l, uint32_t h, uint32_t r)
    { return retry_delay(i, m, n, l, h, r); }"
cut 600 backoff
cut 1380 retry-after
cut 1570 connection
cut 1720 breaker

structs="retry_failure retry_operation retry_copy retry_service retry_gates retry_client retry_policy retry_budget retry_connection errmap_nmv
    retry_rate retry_breaker retry_throttle retry_latency retry_hedge retry_aimd retry_scope
    errmap_entry errmap"
{
    echo '#include "errmap.h"'
    for struct in $structs; do echo "char size_of_${struct}[sizeof($struct)];"; done
} > "$dir/structs.c"
$cc -c "$dir/structs.c" -o "$dir/m0.o" && ${CC:-cc} -I. -c "$dir/structs.c" -o "$dir/host.o" || exit 1
sizeof() # OBJECT STRUCT
{
    printf '%d' "0x$(nm -S "$dir/$1.o" | awk -v name="size_of_$2" '$4 == name { print $2 }')"
}
echo
echo "sizeof, bytes                                       Cortex-M0     host"
for struct in $structs; do
    printf "  %-52s %7d %8d\n" "$struct" "$(sizeof m0 "$struct")" "$(sizeof host "$struct")"
done
{
    echo "sizeof(retry_operation), Cortex-M0|$(sizeof m0 retry_operation)|120"
    echo "sizeof(retry_operation), host|$(sizeof host retry_operation)|152"
} >> "$measured"
limits_hold
