#!/bin/sh
# qemu.sh BUILD TEST...: the test programs on an emulated Cortex-M3 with 32-bit instants.
build=$1/cortex-m3
shift
mkdir -p "$build/include"
ln -sf /usr/include/jsmn.h "$build/include/jsmn.h"
passed=0
failed=0
for test in "$@"; do
    elf=$build/$test.elf
    if arm-none-eabi-gcc --specs=picolibc.specs --oslib=semihost --crt0=hosted -mcpu=cortex-m3 \
        -mthumb -O2 -ffunction-sections -Wl,--gc-sections -DRETRY_TIME_32 -DCHECK_QUICK -I. \
        -isystem "$build/include" -Wl,--defsym=__flash=0,--defsym=__flash_size=0x400000 \
        -Wl,--defsym=__ram=0x20000000,--defsym=__ram_size=0x400000,--defsym=__stack_size=0x10000 \
        "tests/$test.c" -o "$elf" -lm &&
        output=$(timeout 300 qemu-system-arm -M mps2-an385 -nographic -monitor none -serial none \
            -semihosting-config enable=on,target=native -kernel "$elf" 2>&1 < /dev/null); then
        line=$(printf '%s\n' "$output" | tail -n 1)
        passed=$((passed + ${line%% *}))
        printf '%-44s %s\n' "$test" "$line"
    else
        failed=$((failed + 1))
        printf '%s\n%-44s failed\n' "$output" "$test"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
