#!/bin/sh
# The headers under every compiler, standard, optimisation and option that they promise: each way
# compiles without a warning (tcc's about its atomics excepted) and makes the same digest of some
# thousand decisions. (What they refuse is test_switches.sh's and test_beside_jsmn.sh's.)
# Usage: matrix.sh, from the top folder. COMPILERS: those that get every standard and optimisation. The last line is
# "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
digest=tests/verify/digest.c
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef -Werror"
wide="-m32 -idirafter /usr/include/x86_64-linux-gnu"
posix=-D_POSIX_C_SOURCE=200809L
masks="-DRETRY_MASK()=0 -DRETRY_UNMASK(state)=(void)(state)"

# digest_is WANTED COMMAND...: compiles silently into $work/x, which prints that
digest_is() {
    wanted=$1
    shift
    rm -f "$work/x"
    "$@" -o "$work/x" > "$work/log" 2>&1 || { cat "$work/log"; return 1; }
    got=$("$work/x" 2>&1) || got="$got, status $?"
    [ "$got" = "$wanted" ] &&
        ! grep -v -e 'no atomics here' -e 'In file included' "$work/log" && return
    echo "$*: expected $wanted, got $got"
    return 1
}

same() { check "$*" digest_is "$whole" "$@" $warnings; }     # all of the digest
agrees() { check "$*" digest_is "$part" "$@" -DDIGEST_ROUNDS=4; } # the first rounds

whole=$(gcc -std=c99 -O1 $digest -o "$work/x" && "$work/x")
part=$(gcc -std=c99 -O1 -DDIGEST_ROUNDS=4 $digest -o "$work/x" && "$work/x")
echo "$whole"
check "there are digests to compare with" test -n "$whole" -a -n "$part"

standards() { # COMPILER: all of them, not optimised; all optimisations, as the oldest and the newest
    for std in c99 c11 c17; do same "$1" -std=$std $digest; done
    for std in c++11 c++14 c++17 c++20; do same "$1" -std=$std -x c++ $digest; done
    for level in -O1 -O2 -O3 -Os "-O3 -flto=auto"; do
        same "$1" -std=c99 $level $digest
        same "$1" -std=c++20 $level -x c++ $digest
    done
    same "$1" -std=c99 -O2 -fshort-enums -funsigned-char -ftrapv $digest
    same "$1" -std=c++20 -O2 -fshort-enums -funsigned-char -ftrapv -x c++ $digest
}

for compiler in ${COMPILERS:-gcc gcc-11 clang-13 clang-14 clang-19}; do
    command -v $compiler > /dev/null || { echo "missing: $compiler"; failed=$((failed + 1)); continue; }
    standards $compiler
    [ $compiler = gcc-11 ] || same $compiler -std=c99 -O2 $wide $digest
done
check "warnings of the oldest and the newest (test_switches.sh)" quiet \
    env COMPILERS="gcc-11 clang-13 clang-19" sh tests/compile/test_switches.sh
check "tcc" digest_is "$whole" tcc $digest

# tcc 0.9.27 takes the wrong bytes for a member of a struct that a call has returned. What the manuals
# show may do so.
member_of_call() {
    for header in retry.h errmap.h; do sed '1,/^#ifndef/d' $header; done | tr '\n' ' ' |
        grep -o '[a-z0-9_]([^()]*) *\.[a-z_][a-z_]*'
}
none_of_call() { ! member_of_call; }
check "no member is taken of what a call returned" none_of_call

# A compiler without a C library: the headers that every one has, and two functions.
mkdir "$work/bare"
cp tests/verify/msvc/string.h "$work/bare"
echo '#define INT_MAX __INT_MAX__' > "$work/bare/limits.h" # gcc's own asks for the system's
ln -s /usr/include/jsmn.h "$work/bare/jsmn.h"
freestanding() { # COMPILER FLAG...
    "$@" $warnings -ffreestanding -nostdinc -isystem "$work/bare" \
        -isystem "$($1 -print-file-name=include)" -DDIGEST_BARE -c $digest -o "$work/bare.o" &&
        digest_is "$whole" gcc tests/verify/digest_main.c "$work/bare.o"
}
for compiler in gcc clang-14 clang-19; do
    check "$compiler, freestanding" freestanding $compiler -std=c99 -O2
    check "$compiler, freestanding C++" freestanding $compiler -std=c++11 -fno-exceptions \
        -fno-rtti -O2 -x c++
done

# Every combination of the options. RETRY_ASSERT's counts; the numbers are the default, the least and
# the greatest.
cp /usr/include/jsmn.h "$work/own_jsmn.h"
combinations() { # NUMBERS COMMAND
    for static in "" -DRETRY_STATIC; do
    for atomics in "" -DRETRY_NO_ATOMICS; do
    for clock in "" "-DRETRY_SYSTEM_CLOCK $posix"; do
    for assert in "" -DDIGEST_ASSERT; do
    for numbers in $1; do
    for jsmn in "" "-DERRMAP_JSMN_HEADER=\"$work/own_jsmn.h\""; do
        agrees $2 $static $atomics $clock $assert $jsmn \
            -DERRMAP_MAX_DEPTH=${numbers%,*} -DERRMAP_TOKENS=${numbers#*,} $digest
    done; done; done; done; done; done
}
combinations "32,64 32,8 32,4096 4,64 4,8 4,4096 255,64 255,8 255,4096" tcc
combinations "4,8" "clang-14 -O0 $warnings"
for static in "" -DRETRY_STATIC; do
    for atomics in "" -DRETRY_NO_ATOMICS "$masks"; do
        agrees gcc -O1 $warnings $static $atomics -DDIGEST_ASSERT $digest
        agrees gcc -O1 $warnings $wide $static $atomics $digest
    done
done

# Each header twice, and the implementation asked for, once or twice, anywhere among them.
orders() { # what is left to place, what is placed
    if [ -z "$1" ]; then
        echo "$2"
        return
    fi
    for piece in r e I J; do
        case $1 in
        *$piece*) (orders "$(echo "$1" | sed "s/$piece//")" "$2$piece") ;;
        esac
    done
}
order() { # ORDER COMMAND...: the program that includes in that order
    {
        for piece in $(echo "$1" | sed 's/./& /g'); do
            case $piece in
            r) echo '#include "retry.h"' ;;
            e) echo '#include "errmap.h"' ;;
            I) echo '#define RETRY_IMPLEMENTATION' ;;
            J) echo '#define ERRMAP_IMPLEMENTATION' ;;
            esac
        done
        printf '#include "errmap.h"\n#define DIGEST_SPLIT\n#include "%s"\n' $digest
    } > "$work/order.c"
    name="the order $1"
    shift
    check "$name: $*" digest_is "$part" "$@" -DDIGEST_ROUNDS=4 -I. "$work/order.c"
}
orders rreeI "" > "$work/orders"
orders rreeIJ "" > "$work/more"
check "30 and 180 orders" test "$(cat "$work/orders" "$work/more" | wc -l)" -eq 210
says() { # TEXT COMMAND...: an error
    text=$1
    shift
    "$@" 2>&1 | grep -q "error: .*$text"
}
while read -r order; do
    for compiler in "clang-14 -O0 $warnings" tcc; do
        order "$order" $compiler
        case $order in
        I*) order "$order" $compiler -DRETRY_STATIC ;;
        *) check "the order $order, static: $compiler" says "before the first inclusion of" \
            $compiler -DRETRY_STATIC -I. -c "$work/order.c" -o "$work/x.o" ;;
        esac
    done
done < "$work/orders"
while read -r order; do order "$order" tcc; done < "$work/more"
printf '#define RETRY_IMPLEMENTATION\n#include "retry.h"\n' > "$work/retry.c"
for order in $(orders rreeJ ""); do # errmap.h's alone: retry.h's is in a file of its own
    order "$order" tcc "$work/retry.c"
done

# MSVC's branches, by clang as if for it, with what they take from its headers. (Its intrinsics have
# no reading one: a word is read by swapping it, so -Wcast-qual is in vain.)
mkdir "$work/msvc"
cp tests/verify/msvc/*.h /usr/include/jsmn.h "$work/msvc"
for target in x86_64 i686 aarch64; do
    for language in -std=c99 -std=c17 "-std=c++14 -x c++" "-std=c++20 -x c++"; do
        for static in "" -DRETRY_STATIC "-DRETRY_API=__declspec(dllexport)"; do
            for option in "" -DRETRY_NO_ATOMICS "$masks"; do
                check "MSVC's branches, $target $language $static $option" clang-19 \
                    --target=$target-pc-windows-msvc $language -nostdlibinc \
                    -isystem "$work/msvc" $warnings -Wno-cast-qual -fsyntax-only -DDIGEST_BARE \
                    -DRETRY_SYSTEM_CLOCK $static $option $digest
            done
        done
    done
done

# All warnings that clang has, but for:
except="-Wno-unsafe-buffer-usage" # pointers into buffers are what a C interface is made of
except="$except -Wno-padded"      # structs are laid out for their size on three machines
except="$except -Wno-conditional-uninitialized" # a parser that says true has set its result
except_cxx="-Wno-old-style-cast"                # the same text is C
except_cxx="$except_cxx -Wno-reserved-identifier -Wno-reserved-macro-identifier" # two underscores: private
cat > "$work/everything.c" << 'END'
#define RETRY_IMPLEMENTATION
#define RETRY_SYSTEM_CLOCK
#include "errmap.h"
END
for option in "" -DRETRY_STATIC -DRETRY_NO_ATOMICS "$masks" -m32; do
    case $option in
    -m32) option=$wide ;;
    *STATIC) option="$option -Wno-used-but-marked-unused" ;; # few programs use all functions
    esac
    for std in c99 c11 c17; do
        check "-Weverything $std $option" clang-19 -std=$std $posix -I. -fsyntax-only -Werror \
            -Weverything $except $option "$work/everything.c"
    done
    for std in c++11 c++14 c++17 c++20; do
        check "-Weverything $std $option" clang-19 -std=$std -x c++ $posix -I. -fsyntax-only \
            -Werror -Weverything $except $except_cxx -Wno-c++98-compat-pedantic $option \
            "$work/everything.c"
    done
done

finish
