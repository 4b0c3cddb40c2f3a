#!/bin/sh
# What small programs cost on a Cortex-M3 at gcc -Os: flash, RAM, and the stack at most, by gcc's own
# figures for each function added up along the calls. A call by a pointer counts as the deepest function
# that nobody calls by name, and so does one that this function makes in turn. Usage: size_firmware.sh,
# from the top folder. BACKOFF_ALGORITHM= is a folder with the sources of that library (120 bytes of
# flash in 1.4.1), for the same loop. With STRICT=1 it fails if a limit is passed.
. "$(dirname "$0")/../support/limits.sh"
cc="arm-none-eabi-gcc --specs=picolibc.specs -mcpu=cortex-m3 -mthumb -Os -std=c99
    -ffunction-sections -fdata-sections -fcallgraph-info=su -I."
echo 'SECTIONS { .text : { *(.text*) *(.rodata*) } .data : { *(.data*) }
    .bss : { *(.bss*) *(COMMON) } }' > "$dir/flash.ld"

# stack FILE: the deepest way from `work`, in bytes, through the functions that were linked
stack()
{
    arm-none-eabi-nm "$dir/x.elf" | awk '$2 ~ /[tT]/ { print $3 }' | sort -u > "$dir/linked"
    awk -F '"' '
        FILENAME ~ /linked$/ { linked[$1] = 1; next }
        # gcc names what is static by its file: "x.c:name"
        function plain(name) { sub(/^.*:/, "", name); return name }
        /^node:/ { name = plain($2)
            if (match($4, /[0-9]+ bytes/)) own[name] = substr($4, RSTART) + 0 }
        /^edge:/ { from = plain($2); to = plain($4); calls[from] = calls[from] " " to
            if (to != "__indirect_call") named[to] = 1 }
        function deepest(name,  i, n, all, most, depth) {
            if (name in way)
                return 0
            way[name] = 1
            n = split(calls[name], all, " ")
            for (i = 1; i <= n; i++) {
                depth = all[i] == "__indirect_call" ? by_pointer() : deepest(all[i])
                most = depth > most ? depth : most
            }
            delete way[name]
            return own[name] + most
        }
        function by_pointer(  name, most, depth) {
            if (pointer == 2)
                return 0
            pointer++
            for (name in own)
                if ((name in linked) && !(name in named) && name != "work") {
                    depth = deepest(name)
                    most = depth > most ? depth : most
                }
            pointer--
            return most
        }
        END { if ("work" in own) print deepest("work") }' "$dir/linked" "$@"
}

row() # LIMIT TEXT FILE...: a program whose function work() does it all
{
    limit=$1
    text=$2
    shift 2
    rm -f "$dir"/*.ci
    # shellcheck disable=SC2086 # one word a flag
    (cd "$dir" && for file in "$@"; do $cc "-I$OLDPWD" ${flags:-} -c "$file" || exit; done) || exit 1
    # shellcheck disable=SC2086
    $cc -nostartfiles -T "$dir/flash.ld" -Wl,--gc-sections,-e,work,-u,work,--unresolved-symbols=ignore-all \
        "$dir"/*.o -o "$dir/x.elf" || exit 1
    deep=$(stack "$dir"/*.ci)
    arm-none-eabi-size "$dir/x.elf" | awk -v limit="$limit" -v text="$text" -v deep="$deep" \
        -v measured="$measured" '
        NR == 2 { printf "  %-46s %6d %8d %6d %6d\n", text, $1, limit, $2 + $3, deep
            print text "|" (deep != "" ? $1 : "") "|" limit >> measured }'
    rm -f "$dir"/*.o
}

head='#define RETRY_IMPLEMENTATION
#include "retry.h"
uint32_t work(uint32_t n, uint32_t x);'
static="#define RETRY_STATIC
$head" # the compiler leaves out what a constant backoff does not use
echo "Cortex-M3, whole programs, bytes                  flash  at most    RAM  stack"
{
    echo "$head"
    echo 'uint32_t work(uint32_t n, uint32_t x) { (void)n; (void)x; return retry_draw(); }'
} > "$dir/draw.c"
row 190 "its random bits (retry_draw)" draw.c
full_jitter='static const retry_backoff backoff = {.jitter = RETRY_JITTER_FULL, .initial = 100, .max = 5000};
    uint32_t work(uint32_t n, uint32_t x) { return retry_backoff_delay(&backoff, n, 0, x); }'
printf '%s\n' "$head" "$full_jitter" > "$dir/delay.c"
printf '%s\n' "$static" "$full_jitter" > "$dir/static.c"
row 545 "a delay, full jitter, random bits of your own" delay.c
row 62 "the same of a constant backoff (RETRY_STATIC)" static.c
cat > "$dir/hand.c" << 'END'
#include <stdint.h>
uint32_t work(uint32_t n, uint32_t x);
uint32_t work(uint32_t n, uint32_t x)
{
    uint32_t most = n < 6 ? 100u << n : 5000;
    return (uint32_t)((uint64_t)x * ((most < 5000 ? most : 5000) + 1) >> 32);
}
END
row 30 "the same by hand" hand.c
if [ -n "${BACKOFF_ALGORITHM:-}" ]; then
    cat > "$dir/other.c" << 'END'
#include "backoff_algorithm.h"
uint32_t work(uint32_t n, uint32_t x);
uint32_t work(uint32_t n, uint32_t x)
{
    static BackoffAlgorithmContext_t context;
    uint16_t wait = 0;
    if (n == 0)
        BackoffAlgorithm_InitializeParams(&context, 100, 5000, BACKOFF_ALGORITHM_RETRY_FOREVER);
    BackoffAlgorithm_GetNextBackoff(&context, x, &wait);
    return wait;
}
END
    flags="-DNDEBUG -I$BACKOFF_ALGORITHM/include"
    row 130 "the same with backoffAlgorithm" other.c "$BACKOFF_ALGORITHM/backoff_algorithm.c"
    flags=
fi
cat > "$dir/reconnect.c" << END
$head
static retry_connection connection;
uint32_t work(uint32_t n, uint32_t now)
{
    if (n == 0)
        return retry_connection_begin(&connection, now);
    if (n == 1)
        retry_connection_established(&connection, now);
    return retry_connection_failed(&connection, NULL, now);
}
END
row 1450 "a reconnect" reconnect.c
cat > "$dir/operation.c" << END
$head
static retry_service service;
static retry_operation op;
static retry_step step;
uint32_t work(uint32_t n, uint32_t now)
{
    const retry_failure failure = retry_classify_http((int)n, 0);
    if (n == 0) {
        service.client.cut_after = 1000;
        retry_service_init(&service, now);
        op.client = &service.client;
        op.timeout = 5000;
        retry_start(&op, NULL, now);
    }
    if (step.what == RETRY_DO_SEND)
        retry_ended(&op, 0, n == 200 ? NULL : &failure, now);
    step = retry_next(&op, now);
    return step.delay;
}
END
row 8480 "an operation of the recommended client" operation.c
limits_hold
