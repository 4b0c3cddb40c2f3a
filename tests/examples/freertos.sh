#!/bin/sh
# Runs examples/freertos on a stand-in of FreeRTOS, which counts its ticks itself; with KERNEL, the
# folder of a FreeRTOS-Kernel, on that kernel too, on a Cortex-M3 in QEMU, with and without the
# atomics of that core. Usage: freertos.sh FOLDER [KERNEL], from the top folder. RATE= ticks a second.
# The files are kept in FOLDER. Exits with 0 if each run ends as it should.
set -u
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
kernel=${2:-}
from=${FROM:-examples/freertos}
own=tests/examples/freertos
set -- -std=c99 -DTICK_RATE="${RATE:-100}" -I. -I"$from" -I$own
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef ${WERROR--Werror}"

# shellcheck disable=SC2086 # one word a flag
${CC:-cc} "$@" -O1 $warnings -DSTAND_IN -D_GNU_SOURCE ${DEFINES:-} -I$own/stand_in "$from/readings.c" \
    $own/main.c $own/stand_in/kernel.c -o "$out/readings" || exit 2
"$out/readings" || exit
[ -n "$kernel" ] || exit 0

# on_board NAME CPU PORT
on_board()
{
    echo "$1, $(sed -n 's/.*tskKERNEL_VERSION_NUMBER *"\(.*\)".*/FreeRTOS \1/p' "$kernel/include/task.h"), in QEMU:"
    arm-none-eabi-gcc "-mcpu=$2" -mthumb -Os --specs=picolibc.specs --oslib=semihost --crt0=hosted \
        -Wl,--defsym=__flash=0,--defsym=__flash_size=0x40000 \
        -Wl,--defsym=__ram=0x20000000,--defsym=__ram_size=0x10000,--defsym=__stack_size=0x1000 \
        "-I$kernel/include" "-I$kernel/portable/GCC/$3" "$from/readings.c" $own/main.c \
        "$kernel/tasks.c" "$kernel/queue.c" "$kernel/list.c" "$kernel"/portable/GCC/"$3"/port*.c \
        "$kernel/portable/MemMang/heap_4.c" "$4" "$5" "$6" "$7" "$8" -o "$out/$2.elf" || exit 2
    timeout 60 qemu-system-arm -M mps2-an385 -icount shift=6,sleep=off -nographic -monitor none \
        -serial none -semihosting-config enable=on,target=native -kernel "$out/$2.elf" 2>&1 || exit
}
on_board "With atomics" cortex-m3 ARM_CM3 "$@"
on_board "With critical sections" cortex-m0 ARM_CM0 "$@"
