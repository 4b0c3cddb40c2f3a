#!/bin/sh
# The test programs as Windows programs of 64 bits, run by wine; MSVC's branches, compiled by clang as
# if for it, in one of these. Usage: windows.sh BUILD TEST..., as cross.sh has it. The last line is
# "N passed, N failed".
build=$(mkdir -p "$1/windows/msvc" && cd "$1/windows" && pwd) || exit 1
export WINEPREFIX="$build/../cross/wine" WINEDEBUG=-all

folder=$1
shift
failed=0
sh tests/verify/cross.sh "$folder" windows-64 "$@" > "$build/tests.log" || failed=1
cat "$build/tests.log"
passed=$(sed -n '$s/^\([0-9][0-9]*\) passed, [0-9]* failed$/\1/p' "$build/tests.log")
passed=${passed:-0}

same() # NAME PROGRAM: its digest is this machine's own
{
    got=$(timeout 120 wine "$2" 2>&1 | tr -d '\r')
    if [ -n "$wanted" ] && [ "$got" = "$wanted" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1: expected $wanted, got $got"
    fi
}
cc -std=c99 -O2 tests/verify/digest.c -o "$build/digest" && wanted=$("$build/digest")

# What MSVC's branches need of its headers; clang knows the intrinsics.
cat > "$build/msvc/intrin.h" << 'END'
long _InterlockedCompareExchange(long volatile *, long, long);
long _InterlockedExchange(long volatile *, long);
long _InterlockedExchangeAdd(long volatile *, long);
END
cat > "$build/msvc/string.h" << 'END'
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
END
cat > "$build/main.c" << 'END'
#include <stdint.h>
#include <stdio.h>
uint32_t digest(uint32_t *decisions);
int main(void)
{
    uint32_t decisions, sum = digest(&decisions);
    printf("digest %08lx of %lu numbers\n", (unsigned long)sum, (unsigned long)decisions);
    return 0;
}
END
ln -sf /usr/include/jsmn.h "$build/msvc/jsmn.h"
for options in -O0 -O2 "-O2 -DRETRY_NO_ATOMICS"; do
    rm -f "$build/msvc.exe"
    # shellcheck disable=SC2086
    clang-19 --target=x86_64-pc-windows-msvc -std=c99 $options -mno-stack-arg-probe -nostdlibinc \
        -isystem "$build/msvc" -DDIGEST_BARE -c tests/verify/digest.c -o "$build/msvc.o" &&
        x86_64-w64-mingw32-gcc -static "$build/main.c" "$build/msvc.o" -o "$build/msvc.exe"
    same "the digest of MSVC's branches, $options" "$build/msvc.exe"
done
wineserver -k 2> /dev/null
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
