#!/bin/sh
# What the headers bring into a program: functions that are declared (none with RETRY_STATIC), macros
# of theirs, and calls to memcpy and memset alone. On Cortex-M0 they need
# neither division nor floating point. Usage: symbols.sh, from the top folder.
. "$(dirname "$0")/../support/check.sh"

cat > "$work/all.c" << 'END'
#define RETRY_IMPLEMENTATION
#include "errmap.h"
END
only() { ! grep -v -x -E "$1"; } # each line that comes in fits the pattern; prints the others
# symbols NM-OPTION...: those of the object that was made last, "VALUE TYPE NAME", in $work/symbols
symbols() { nm "$@" "$work/all.o" > "$work/symbols"; }
exports() {
    symbols -g --defined-only && awk '{ print $3 }' "$work/symbols" | sort > "$work/exported" &&
        only '(retry|errmap)(_[a-z0-9]+)+' < "$work/exported"
}
some() { [ "$(wc -l < "$work/exported")" -gt 80 ]; }
none() { symbols -g --defined-only && ! grep . "$work/symbols"; }
functions() { symbols -g --defined-only && ! grep -v ' T ' "$work/symbols"; }
# One word of data in all (what is const lies with the code, unless that moves about: -fno-pic): the generator's state.
one_word() { symbols && [ "$(grep -c -i ' [bdcs] ' "$work/symbols")" -le 1 ]; }
# exported FILE: what a shared library lets others call
exported() { nm -D --defined-only "$1" | awk '$3 ~ /^(retry|errmap)_/ { print $3 }' | sort; }
hides() { exported "$work/all.so" > "$work/seen" && only "" < "$work/seen"; }
shows_all() { exported "$work/all.so" | cmp - "$work/exported"; }
visible='-DRETRY_API=extern __attribute__((visibility("default")))'
libc='memcpy|memset|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail'
calls() { symbols -u && awk '{ print $2 }' "$work/symbols" | only "$1"; }

for compiler in gcc clang-19 "g++ -x c++"; do
    for level in -O2 -Os; do
        name="$compiler $level"
        check "$name" makes "$work/all.o" $compiler $level -fno-pic -I. -c "$work/all.c"
        check "$name: exports nothing private" exports
        check "$name: all of it is there" some
        check "$name: no data is exported" functions
        check "$name: one word of data" one_word
        check "$name: calls memcpy and memset alone" calls "$libc"
        shared="$compiler $level -fPIC -shared -I. $work/all.c"
        check "$name, shared" makes "$work/all.so" $shared
        check "$name, shared: all is hidden" hides
        check "$name, RETRY_API" makes "$work/all.so" $shared "$visible"
        check "$name, RETRY_API: all is exported" shows_all
        name="$compiler $level RETRY_STATIC"
        check "$name" makes "$work/all.o" $compiler $level -DRETRY_STATIC -I. -c "$work/all.c"
        check "$name: exports nothing" none
    done
done
check "the clock" makes "$work/all.o" gcc -O2 -D_POSIX_C_SOURCE=200809L -DRETRY_SYSTEM_CLOCK -I. \
    -c "$work/all.c"
check "the clock: calls three more" calls "$libc|clock_gettime|nanosleep|__errno_location"

# Macros that are there afterwards and were not before: documented ones, and what these are made of.
macros() { # COMPILER: those of the headers alone, without those of what they include
    echo '#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <errno.h>' > "$work/none.c"
    for text in none all; do
        makes "$work/$text.macros" $1 -I. -dM -E "$work/$text.c" || return 1
        awk '{ sub(/\(.*/, "", $2); print $2 }' "$work/$text.macros" | sort > "$work/$text.names"
    done
    comm -13 "$work/none.names" "$work/all.names" > "$work/after"
    [ -s "$work/after" ] && only '((RETRY|ERRMAP)_[A-Z0-9_]+|retry_system_clock)' < "$work/after"
}
for compiler in gcc clang-19; do
    check "$compiler: no macro but theirs" macros $compiler
done

# A Cortex-M0 has neither divider nor floating point; what helps out would be called.
cross="arm-none-eabi-gcc --specs=picolibc.specs -mcpu=cortex-m0 -mthumb"
helpers='memcpy|memset|__aeabi_(lmul|llsl|llsr|lasr)|__gnu_thumb1_case_(u|s)(q|h)i|__gnu_thumb1_case_si'
mkdir "$work/arm"
ln -s /usr/include/jsmn.h "$work/arm/jsmn.h"
for level in -O0 -O2 -O3 -Os; do
    name="Cortex-M0 $level"
    check "$name" makes "$work/all.o" $cross $level -I. -isystem "$work/arm" -c "$work/all.c"
    check "$name: no division, no floating point" calls "$helpers"
done
check "Cortex-M4, which could" makes "$work/all.o" $(echo "$cross" | sed s/m0/m4/) -mfloat-abi=hard \
    -mfpu=fpv4-sp-d16 -O2 -I. -isystem "$work/arm" -c "$work/all.c"
needless() { arm-none-eabi-objdump -d "$work/all.o" > "$work/code" && grep -q 'retry_start' "$work/code" &&
    ! awk '$3 ~ /^([us]div|v[a-z]+[.])/' "$work/code" | grep .; }
check "Cortex-M4: neither divides nor uses floating point" needless

finish
