#!/bin/sh
# The firmware in QEMU and on the host. Usage: test_firmware.sh
# Builds examples/firmware into a folder of its own and compares, byte by byte, what the two decide.
# Nothing here looks at the clock. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
unset MAKE MAKEFLAGS MFLAGS MAKELEVEL

root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
firmware=$root/examples/firmware

same() { cmp -s "$work/$1" "$work/$2"; }
decisions() { sed '/^memory:/d' "$work/$1/firmware.log" | cmp -s - "$work/$2/host.log"; }

# run NAME COMMAND...: output in NAME.out and NAME.err, exit status in NAME.status
run() {
    name=$1
    shift
    "$@" > "$work/$name.out" 2> "$work/$name.err"
    echo $? > "$work/$name.status"
}

# build NAME FOLDER ARGUMENT...: the firmware in a folder with make's arguments, into NAME/
build() {
    name=$1
    folder=$2
    shift 2
    run "$name" make -C "$folder" OUT="$work/$name" CC="${CC:-cc}" "$@"
}

# changed NAME FILE EXPRESSION: the example with one file changed by sed, built into NAME/, run on
# the board as NAME_board and on the host as NAME_host
changed() {
    copy=$work/$1.copy/examples
    mkdir -p "$copy"
    cp "$root/retry.h" "$root/errmap.h" "$work/$1.copy"
    cp "$root/examples/errmap_dump.c" "$copy"
    cp -r "$firmware" "$copy/firmware"
    sed "$3" "$firmware/$2" > "$copy/firmware/$2"
    check "$1: is changed" differs "$firmware/$2" "$copy/firmware/$2"
    build "$1" "$copy/firmware" all
    check "$1: builds" ended "$1" 0
    run "$1_board" timeout 60 qemu-system-arm -M mps2-an385 -icount shift=6,sleep=off -nographic \
        -monitor none -serial none -semihosting-config enable=on,target=native \
        -kernel "$work/$1/firmware.elf"
    run "$1_host" "$work/$1/host" "$firmware/scenario.txt"
}

# scenario NAME: runs standard input as a scenario on the host
scenario() {
    cat > "$work/$1.txt"
    run "$1" "$work/m3/host" "$work/$1.txt"
}

# ---- The board and the host -----------------------------------------------------------------

for tool in arm-none-eabi-gcc qemu-system-arm; do
    check "$tool is there" command -v "$tool" > "$work/tool"
done

build m3 "$firmware" run
check "Cortex-M3: runs, and the host agrees" ended m3 0
[ "$(cat "$work/m3.status")" -eq 0 ] || cat "$work/m3.out" "$work/m3.err"
check "Cortex-M3: compared, to the byte" decisions m3 m3
check "Cortex-M3: many decisions" test "$(grep -c ' ms$' "$work/m3/host.log")" -gt 30
check "Cortex-M3: before the wrap" shows m3/firmware.log "^ffffe0"
check "Cortex-M3: after the wrap" shows m3/firmware.log "^000012"
check "Cortex-M3: the counter wrapped in a wait" sh -c \
    'grep -A 1 "^fffff.* RETRY in [0-9]* ms" "$1" | grep -q "^0000"' - "$work/m3/firmware.log"

narrow() { [ "$(awk 'length > 80' "$work/$1" | wc -l)" -eq 0 ]; }
check "80 columns: board" narrow m3/firmware.log

build m0 "$firmware" CPU=cortex-m0 run
check "Cortex-M0: the same decisions" decisions m0 m3
build slow "$firmware" SHIFT=10 run
check "a processor 16 times slower: the same" decisions slow m3

decided() { check "decides: $1" shows m3/firmware.log "$2"; }
decided "no link, nothing sent: retried" "increment 1  SERVICE_RESPONSE_CODE_INDICATED  *RETRY"
decided "lost on the air: not done twice" "increment 1  SOCKET_CLOSED_WHILE_IN_FLIGHT  *FAIL, not id"
decided "silence: not done twice" "increment 1  ATTEMPT_TIMED_OUT  *FAIL, not idempotent"
decided "silence: a repeatable one is" "set  *2  ATTEMPT_TIMED_OUT  *RETRY"
decided "locked" "lock  *2  KV_LOCKED 0x0009  *RETRY"
decided "unlocked already" "unlock  *1  NONE 0x0009  *FAIL"
decided "always retried" "get  *3  KV_NOT_MY_VBUCKET 0x0007  *RETRY in 50 ms$"
for step in "1 50" "2 100" "3 200" "4 300" "5 400"; do
    decided "the map's linear delays: $step" \
        "set  *${step% *}  KV_ERROR_MAP_RETRY_INDICATED 0x0082  *RETRY in ${step#* } ms"
done
for step in "1 20" "2 4" "3 16" "4 64" "5 256" "6 600"; do
    decided "the map's exponential delays: $step" \
        "set  *${step% *}  KV_ERROR_MAP_RETRY_INDICATED 0x0091  *RETRY in ${step#* } ms"
done
decided "the map's time limit" "0x0091  *FAIL, map's time limit"
decided "the map says no" "NONE 0x0092  *FAIL, not retryable"
decided "not in the map" "NONE 0x7ff0  *FAIL, not retryable"
decided "throttled: half a second, half of it at random" "0x0085  *RETRY in \(2[5-9]\|[34]\)[0-9]"
decided "deadline" "set  *2  KV_ERROR_MAP_RETRY_INDICATED 0x0082  *EXPIRE in 40 ms"
decided "attempts" "set  *8  KV_TEMPORARY_FAILURE 0x0086  *FAIL, attempts used up"
decided "budget" "FAIL, budget used up"
decided "every operation ended" "operations: 10 done, 10 failed, 3 expired"
decided "perhaps done" "^2 failed or expired, and perhaps done"
decided "reconnect" "^1 times told to join anew; 0 not idempotent"

# ---- Memory ---------------------------------------------------------------------------------

symbols() { arm-none-eabi-nm "$work/m3/firmware.elf"; }
symbol() { printf '%d' "0x$(symbols | awk -v name="$1" '$3 == name { print $1 }')"; }
figure() { sed -n "s/^memory:.*[ ,;]$1 \([0-9]*\).*/\1/p" "$work/m3/firmware.log"; }

symbols > "$work/symbols"
check "RAM as the linker laid it out" \
    test "$(figure RAM)" -eq $(($(symbol __bss_end) - $(symbol __data_start)))
check "flash as the linker laid it out" test "$(figure flash)" -eq "$(symbol __data_source_end)"
check "RAM: at most 2.5 KB" test "$(figure RAM)" -le 2560
check "flash: at most 13 KB" test "$(figure flash)" -le 13312
check "stack: at most 1 KB" test "$(figure stack)" -le 1024
check "stack: some" test "$(figure stack)" -ge 200
check "no heap, no printf" lacks symbols " \(malloc\|free\|sbrk\|_sbrk\|printf\|vfprintf\|puts\)$"
check "no parser: the map in flash is parsed already" lacks symbols " \(errmap_parse\|.*jsmn.*\)$"
check "no floating point, no atomics library" \
    lacks symbols " __\(aeabi_[fd][a-z]*\|atomic_[a-z0-9_]*\|sync_[a-z0-9_]*\)$"

# ---- The exit status, and what it tells -----------------------------------------------------

changed short_log firmware.c 's/LOG_RECORDS = [0-9]*/LOG_RECORDS = 8/'
check "a log that is too short: board" ended short_log_board 1
check "a log that is too short: host" ended short_log_host 1

changed careless firmware.c 's/current.idempotent = operation->idempotent/current.idempotent = true/'
check "all taken for idempotent: board" ended careless_board 1
check "all taken for idempotent: host" ended careless_host 1
check "all taken for idempotent: it says so" shows careless_host.out \
    "; [1-9] not idempotent and perhaps"

changed other firmware.c 's/DEVICE_ID = 0x00c0ffee/DEVICE_ID = 0x00c0ffef/'
check "another device: board" ended other_board 0
check "another device: other delays" differs "$work/m3/host.log" "$work/other_host.out"

changed late host.c 's/app_tick(++now)/app_tick(now += 100)/'
printf 'get idempotent 150 nolink ok\n' > "$work/late.txt"
run late "$work/late/host" "$work/late.txt"
check "late ticks: no attempt after the deadline" \
    shows late.out "get  *2  *EXPIRE in 0 ms"

changed crash board.c 's/^    start_ticking();/& __asm__ volatile("udf #0");/'
check "a fault ends the run" ended crash_board 3

# ---- Scenarios with errors ------------------------------------------------------------------

# refuses NAME LINE TEXT: a line number, and what is wrong there
refuses() { check "$1: line $2" shows "$1.err" "^$work/$1.txt:$2: $3"; }

printf 'get idempotent 2500 nolink ok\nset once 2500 0x86 ok\n' | scenario sound
check "sound: exit status" ended sound 0
check "sound: says nothing else" test ! -s "$work/sound.err"
check "sound: runs" shows sound.out "set  *2  *SUCCESS"

{
    printf 'get idempotent 2500 nolink ok\n# a comment\n\n'
    printf 'fetch once 2500 ok\nget twice 2500 ok\nget\nget once\nget once 0 ok\nget once -5 ok\n'
    printf 'get once 60001 ok\nget once 5s ok\nget once 99999999999999999999 ok\nget once 2500\n'
    printf 'get once 2500 dorp\nget once 2500 ok 0x\nget once 2500 0x10000\nget once 2500 0x-1\n'
    printf 'get once 2500 ok ok ok ok ok ok ok ok ok ok ok ok ok\nget once 25 00 ok\n'
    printf '%0300d\nget once 2500 o\0k\nset once 2500 0x86 ok' 0
} | scenario faulty
check "faulty: exit status" ended faulty 1
check "faulty: the rest is done" same faulty.out sound.out
check "faulty: each line once" test "$(wc -l < "$work/faulty.err")" -eq 18
refuses faulty 4 '"fetch" is no operation'
refuses faulty 5 '"twice" is neither idempotent nor once'
refuses faulty 6 '"" is neither'
for line in 7 8 9 10 11 12; do
    refuses faulty $line '".*" is no timeout: 1 to 60000 ms'
done
refuses faulty 13 'no events'
refuses faulty 14 '"dorp" is no event'
refuses faulty 15 '"0x" is no event'
refuses faulty 16 '"0x10000" is no event'
refuses faulty 17 '"0x-1" is no event'
refuses faulty 18 'more than 12 events'
refuses faulty 19 '"00" is no event'
refuses faulty 20 'over 255 bytes, or with a NUL'
refuses faulty 21 'over 255 bytes, or with a NUL'

# The longest words in each column, in one row.
printf 'increment once 60000 0x91\nincrement once 60000 0x86\n' | scenario wide
check "80 columns: the longest words" narrow wide.out
check "80 columns: the widest row" shows wide.out \
    "increment 7  KV_ERROR_MAP_RETRY_INDICATED 0x0091 FAIL, map's time limit$"

run table "$work/m3/host" --c "$work/faulty.txt"
run sound_table "$work/m3/host" --c "$work/sound.txt"
check "as a table: exit status" ended table 1
check "as a table: sound exit status" ended sound_table 0
check "as a table: the rest" same table.out sound_table.out
build refused "$firmware" SCENARIO="$work/faulty.txt" all
check "no firmware from a faulty scenario" ended refused 2
check "no firmware: the line is named" shows refused.err "faulty.txt:14: "
check "no firmware: none left behind" test ! -e "$work/refused/firmware.elf"

printf 'get\tidempotent 2500\tnolink  ok\r\nset once 2500 0x0086 ok # as ever\r\n' | scenario dos
check "tabs, comments and CR LF: the same" same dos.out sound.out
check "tabs, comments and CR LF: exit status" ended dos 0
printf '# nothing\n' | scenario empty
check "no operation: exit status" ended empty 1
refuses empty 1 'no operation'
yes 'get once 100 ok' | head -n 25 | scenario long
check "too many operations: exit status" ended long 1
refuses long 25 'more than 24 operations'
check "too many operations: the rest" shows long.out "operations: 24 done"
scenario binary < "$work/m3/firmware.elf"
check "a binary: exit status" ended binary 1
run missing "$work/m3/host" "$work/no-such-file"
check "no file: exit status" ended missing 2
check "no file: it says so" shows missing.err "no-such-file: No such file"
run folder "$work/m3/host" "$work"
check "a folder: exit status" ended folder 1
run usage "$work/m3/host"
check "usage: exit status" ended usage 2
check "usage: it says so" shows usage.err "^usage:"

# ---- An error map with errors ---------------------------------------------------------------

cp -r "$work/crash.copy" "$work/unsound.copy"
sed 's/"ceil": 400/"ceil" 400/' "$firmware/errmap.json" \
    > "$work/unsound.copy/examples/firmware/errmap.json"
build unsound "$work/unsound.copy/examples/firmware" all
check "no firmware with an unsound map" ended unsound 2
check "an unsound map: the line is named" shows unsound.err "errmap.json:9:"
check "an unsound map: none left behind" test ! -e "$work/unsound/firmware.elf"

finish
