#!/bin/sh
# What the headers cost on Cortex-M0: bytes of flash at gcc -Os, unused sections
# dropped, the compiler's helpers included; bytes of RAM for each struct; lines of source. A limit leaves a hundredth:
# it catches what grows, and lets a fix pass. With STRICT=1
# it fails if a limit is passed.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0
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
    than=$(sed -n "s/^  $base  *\([0-9]*\) .*/\1/p" "$dir/flash")
    arm-none-eabi-size "$dir/x.elf" | awk -v limit="$limit" -v text="$text" -v than="$than" '
        NR == 2 { printf "  %-52s %6d %7d %4d", text, $1, limit, $2 + $3
            print than == "" ? "" : sprintf("%6d", $1 - than)
            within = $1 && $1 <= limit }
        END { exit !within }' > "$dir/row" || bad=1
    cat "$dir/row" && cat "$dir/row" >> "$dir/flash"
    arm-none-eabi-nm "$dir/x.elf" > "$dir/symbols" || exit 1
    if grep -E '_(u|s)?(i|l)?div(mod)?|aeabi_(f|d)' "$dir/symbols"; then
        echo "  (divides, or uses floating point)"
        bad=1
    fi
}

: > "$dir/flash"
echo "Cortex-M0, bytes                                        flash at most  RAM  adds"
object=retry
flash 170 "a delay (retry_delay)" retry_delay
flash 692 "a delay of any curve (retry_backoff_delay)" retry_backoff_delay
decision="retry_start retry_next retry_ended
    retry_best_effort"
# shellcheck disable=SC2086 # one word a function
{
    flash 1790 "a decision (begin, orchestrate, succeed, best effort)" $decision
    flash 3650 "retry_run" retry_run
}
operation="retry_start retry_next retry_ended retry_stop retry_best_effort"
recommended="$operation retry_budget_init retry_gates_aimd"
service="$operation retry_service_init"
breaker="retry_breaker_ask retry_breaker_report retry_breaker_release
    retry_breaker_reset retry_breaker_state retry_classify_permit"
# shellcheck disable=SC2086 # one word a function
{
    flash 3630 "an operation" $operation
    flash 4760 "an operation, budget" $operation retry_budget_init
    base="an operation, budget"
    flash 6500 "an operation, budget and AIMD limit" $recommended
    base="an operation, budget and AIMD limit"
    flash 7190 "the same with several nodes" $recommended retry_client_nodes
    flash 8150 "the same with a hedge and latency" $recommended retry_hedge_copies retry_gates_latency
    flash 7600 "a service and an operation" $service
    base="a service and an operation"
    flash 9090 "a service, circuit breaker" $service retry_gates_breaker
    flash 8170 "a service, client-side throttle" $service retry_gates_throttle
    flash 8840 "a service, rate" $service retry_gates_rate
    flash 8190 "a service, latency" $service retry_gates_latency
    flash 8730 "a service, hedge" $service retry_hedge_copies
    base=none
    flash 1890 "circuit breaker by hand" $breaker
    flash 1540 "scope, with its budget" retry_scope_client
    flash 4340 "policy from a text, with the strategy" retry_parse_policy
    flash 5510 "policy and budget from a text" retry_parse_policy retry_parse_budget
}
# shellcheck disable=SC2046 # one word a function
flash 22400 "all of retry.h" $(functions "$dir/retry.o")
object=errmap # what it calls in retry.h is counted there
flash 4400 "parse an error map and find in it" errmap_parse errmap_find
# shellcheck disable=SC2046
flash 6850 "all of errmap.h" $(functions "$dir/errmap.o")

cut() # LIMIT PART [CALLER]: what `make cut` writes of it, all of it, without the compiler's helpers
{
    awk -v parts="$2" -v prefix=retry_ -v out="$dir/cut.h" -f tests/tools/cut.awk retry.h || exit 1
    printf '#define RETRY_IMPLEMENTATION\n#include "cut.h"\n%s\n' "${3:-}" > "$dir/cut.c"
    $cc -c "$dir/cut.c" -o "$dir/masks.o" && $cc -DRETRY_NO_ATOMICS -c "$dir/cut.c" -o "$dir/cut.o" || exit 1
    arm-none-eabi-size "$dir/masks.o" "$dir/cut.o" | awk -v limit="$1" -v text="$2" '
        NR == 2 { masks = $1 }
        NR == 3 { printf "  %-52s %6d %8d %5d\n", text ", " masks " with interrupts masked", $1, limit, $2 + $3
            within = $1 && $1 <= limit }
        END { exit !within }' || bad=1
}
echo
echo "A part alone (make cut), for one thread, no helpers     flash  at most   RAM"
cut 170 delay "uint32_t call(uint32_t i, uint32_t m, uint32_t n, uint32_t l, uint32_t h, uint32_t r)
    { return retry_delay(i, m, n, l, h, r); }"
cut 600 backoff
cut 1380 retry-after
cut 1480 connection
cut 1640 breaker

structs="retry_failure retry_operation retry_copy retry_service retry_gates retry_client retry_policy retry_budget retry_connection errmap_nmv
    retry_rate retry_breaker retry_throttle retry_latency retry_hedge retry_aimd retry_scope
    errmap_entry errmap"
{
    echo '#include "errmap.h"'
    for struct in $structs; do echo "char size_of_${struct}[sizeof($struct)];"; done
} > "$dir/structs.c"
$cc -c "$dir/structs.c" -o "$dir/m0.o" && ${CC:-cc} -I. -c "$dir/structs.c" -o "$dir/host.o" || exit 1
echo
echo "sizeof, bytes                                       Cortex-M0     host"
for struct in $structs; do
    for object in m0 host; do
        arm-none-eabi-nm -S "$dir/$object.o" 2> /dev/null || nm -S "$dir/$object.o"
    done | awk -v name="$struct" '$4 == "size_of_" name { size[++n] = $2 }
        END { printf "  %-52s %7d %8d\n", name, hex(size[1]), hex(size[2]) }
        function hex(s,  i, x) { for (i = 1; i <= length(s); i++)
            x = 16 * x + index("0123456789abcdef", substr(s, i, 1)) - 1; return x }'
done

lines() # HEADER LIMIT: all that follow its opening comment
{
    awk -v limit="$2" -v text="$1, without the manual" '
        /^#ifndef [A-Z]*_H$/ { behind = 1 }
        { lines += behind }
        END { printf "  %-52s %6d %8d\n", text, lines, limit; exit !(lines && lines <= limit) }' "$1" || bad=1
}
echo
echo "Lines of source                                         lines  at most"
lines retry.h 5850
lines errmap.h 2150
[ -z "${STRICT:-}" ] || exit $bad
