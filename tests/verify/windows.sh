#!/bin/sh
# The test programs as Windows programs of 64 bits (mingw-w64), run by wine; MSVC's branches, compiled
# by clang as if for it, in one of these. Usage: windows.sh BUILD TEST..., from the top folder. The
# last line is "N passed, N failed". (Debian's wine for amd64 runs none of 32 bits.)
build=$(mkdir -p "$1" && cd "$1" && pwd)/windows
shift
mkdir -p "$build/include" "$build/wine"
ln -sf /usr/include/jsmn.h "$build/include/jsmn.h"
export WINEPREFIX="$build/wine" WINEDEBUG=-all
wine wineboot > /dev/null 2>&1
passed=0
failed=0

cc="x86_64-w64-mingw32-gcc -std=c99 -O2 -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wundef
    -Werror -static -D__USE_MINGW_ANSI_STDIO=1 -DCHECK_QUICK -I. -isystem $build/include"
run() { timeout 120 wine "$1" 2>&1 | tr -d '\r'; }

for test in "$@"; do
    # shellcheck disable=SC2086 # one word a flag
    $cc "tests/$test.c" -o "$build/$test.exe" -lm -lpthread && output=$(run "$build/$test.exe")
    line=$(printf '%s\n' "$output" | tail -n 1 | grep '^[1-9][0-9]* passed, 0 failed$')
    if [ -n "$line" ]; then
        passed=$((passed + ${line%% *}))
        printf '%-44s %s\n' "$test" "$line"
    else
        failed=$((failed + 1))
        printf '%s\n%-44s failed\n' "$output" "$test"
    fi
    output=
done

same() # NAME PROGRAM: its digest is this machine's own
{
    got=$(run "$2")
    if [ -n "$wanted" ] && [ "$got" = "$wanted" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1: expected $wanted, got $got"
    fi
}
cc -std=c99 -O2 tests/verify/digest.c -o "$build/digest" && wanted=$("$build/digest")
# shellcheck disable=SC2086
$cc tests/verify/digest.c -o "$build/digest.exe"
same "mingw-w64's digest" "$build/digest.exe"

# What MSVC's branches need of its headers; clang knows the intrinsics.
cat > "$build/include/intrin.h" << 'END'
long _InterlockedCompareExchange(long volatile *, long, long);
long _InterlockedExchangeAdd(long volatile *, long);
END
cat > "$build/include/string.h" << 'END'
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
mkdir -p "$build/msvc"
mv "$build/include/intrin.h" "$build/include/string.h" "$build/msvc"
ln -sf /usr/include/jsmn.h "$build/msvc/jsmn.h"
for options in -O0 -O2 "-O2 -DRETRY_TIME_32" "-O2 -DRETRY_NO_ATOMICS"; do
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
