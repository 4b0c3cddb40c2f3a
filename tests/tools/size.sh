#!/bin/sh
# What the headers cost on Cortex-M0: bytes of flash at gcc -Os with 32-bit instants, unused
# sections dropped, the compiler's helpers included; bytes of RAM for each struct; lines of source. With
# STRICT=1 it fails if a limit is passed.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0
mkdir "$dir/include"
ln -s /usr/include/jsmn.h "$dir/include/jsmn.h"
cc="arm-none-eabi-gcc --specs=picolibc.specs -mcpu=cortex-m0 -mthumb -Os -DRETRY_TIME_32
    -ffunction-sections -fdata-sections -I. -isystem $dir/include"

echo 'SECTIONS { .text : { *(.text*) *(.rodata*) } .data : { *(.data*) }
    .bss : { *(.bss*) *(COMMON) } }' > "$dir/flash.ld"
printf '#define RETRY_IMPLEMENTATION\n#include "retry.h"\n' > "$dir/retry.c"
printf '#define ERRMAP_IMPLEMENTATION\n#include "errmap.h"\n' > "$dir/errmap.c"
$cc -c "$dir/retry.c" -o "$dir/retry.o" && $cc -c "$dir/errmap.c" -o "$dir/errmap.o" || exit 1

functions() # OBJECT: all that it exports
{
    arm-none-eabi-nm -g --defined-only "$1" | awk '{ print $3 }'
}

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
    arm-none-eabi-size "$dir/x.elf" | awk -v limit="$limit" -v text="$text" \
        'NR == 2 { printf "  %-52s %6d %8d %5d\n", text, $1, limit, $2 + $3; within = $1 && $1 <= limit }
         END { exit !within }' || bad=1
    arm-none-eabi-nm "$dir/x.elf" > "$dir/symbols" || exit 1
    if grep -E '_(u|s)?(i|l)?div(mod)?|aeabi_(f|d)' "$dir/symbols"; then
        echo "  (divides, or uses floating point)"
        bad=1
    fi
}

echo "Cortex-M0, bytes                                        flash  at most   RAM"
object=retry
flash 790 "a delay (retry_backoff_delay)" retry_backoff_delay
decision="retry_begin_time_32 retry_orchestrate_time_32 retry_succeed_time_32
    retry_best_effort_time_32"
# shellcheck disable=SC2086 # one word a function
{
    flash 1600 "a decision (begin, orchestrate, succeed, best effort)" $decision
    flash 2420 "the same by attempts, without gates" $decision retry_attempt_begin_time_32 \
        retry_attempt_end_time_32
    flash 2620 "retry_run" retry_run_time_32
}
breaker="retry_breaker_ask_time_32 retry_breaker_report_time_32 retry_breaker_release_time_32
    retry_breaker_reset_time_32 retry_breaker_state_time_32 retry_classify_permit"
throttle="retry_throttle_ask_time_32 retry_throttle_report_time_32"
# shellcheck disable=SC2086 # one word a function
{
    flash 980 "rate" retry_rate_ask_time_32 retry_rate_report_time_32 retry_rate_get
    flash 1550 "circuit breaker" $breaker
    flash 700 "client-side throttle" $throttle
    flash 1800 "both of these" $breaker $throttle
    flash 620 "latency" retry_latency_add retry_latency_get
    flash 2700 "hedge, with a decision" retry_hedge_begin_time_32 retry_hedge_due_time_32 \
        retry_hedge_failed_time_32 retry_hedge_won_time_32 $decision
    flash 600 "AIMD limit" retry_aimd_limit retry_aimd_report_time_32
    flash 980 "scope, with its budget" retry_scope_client_time_32
    flash 3500 "policy from a text, with the strategy" retry_parse_policy
    flash 4450 "policy and budget from a text" retry_parse_policy retry_parse_budget
}
# shellcheck disable=SC2046 # one word a function
flash 18000 "all of retry.h" $(functions "$dir/retry.o")
object=errmap # what it calls in retry.h is counted there
flash 4600 "parse an error map and find in it" errmap_parse errmap_find
# shellcheck disable=SC2046
flash 6144 "all of errmap.h" $(functions "$dir/errmap.o")

structs="retry_failure retry_request retry_client retry_policy retry_budget retry_connection retry_nmv
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
lines retry.h 5000
lines errmap.h 1850
[ -z "${STRICT:-}" ] || exit $bad
