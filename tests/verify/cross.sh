#!/bin/sh
# The test programs and the digest of some thousand decisions, on other machines: compiled without a
# warning, run by an emulator, and the digest is this machine's own. On Windows of 64 bits the digest of
# MSVC's branches is, too.
# Usage: cross.sh BUILD "TARGET..." TEST..., from the top folder; HOSTED and THREADED name the tests
# that need an operating system, threads; SHARING those that may share one object of retry.h. The last
# line is "N passed, N failed".
build=$(mkdir -p "$1/cross" && cd "$1/cross" && pwd) || exit 1
targets=$2
shift 2
passed=0
failed=0
mkdir -p "$build/include"
ln -sf /usr/include/jsmn.h "$build/include/jsmn.h" # all that is wanted of /usr/include
flags="-std=c99 -O2 -DCHECK_QUICK -DCHECK_ONE_IN=5 -I. -isystem $build/include" # emulators are slow

# prepare TARGET: sets cc, libraries, run, and without, the tests that it cannot run
prepare() {
    warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef ${WERROR--Werror}"
    libraries=-lm
    without=$HOSTED
    case $1 in
    cortex-m0) # no compiler's atomics, for test_lost_swaps to come between
        cc="arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb $(picolibc 0 0x20000000)"
        run=$mps2
        without="$without test_lost_swaps"
        ;;
    cortex-m3)
        cc="arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb $(picolibc 0 0x20000000)"
        run=$mps2
        ;;
    rv32)
        cc="riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 $(picolibc 0x80000000 0x80400000)"
        run="qemu-system-riscv32 -M virt -bios none $semihosting"
        ;;
    avr)
        cc -O2 tests/verify/avr_simulator.c -o "$build/avr_simulator" -lsimavr || return 1
        cc="avr-gcc $avr"
        libraries="tests/verify/avr_board.c -Wl,--wrap=main -lprintf_flt -lm"
        run="$build/avr_simulator"
        # with a double of 32 bits two tests cannot count; one needs more than 64 KB
        without="$without test_lost_swaps test_rate test_hedged_latency test_service"
        ;;
    s390x)
        cc="s390x-linux-gnu-gcc -static -pthread"
        run=qemu-s390x
        without=
        ;;
    powerpc)
        cc="powerpc-linux-gnu-gcc -static -pthread"
        run=qemu-ppc
        without=
        ;;
    windows-64)
        cc="x86_64-w64-mingw32-gcc $mingw"
        run=wine
        without=test_processes # no fork()
        start_wine
        ;;
    windows-32)
        cc="i686-w64-mingw32-gcc $mingw"
        run=wine
        without=test_processes # no fork()
        start_wine && find_wine32
        ;;
    tcc) # no atomics, of which retry.h warns
        cc=tcc
        warnings=-Wall
        run="env"
        without="$THREADED test_lost_swaps"
        ;;
    *)
        echo "no such target"
        return 1
        ;;
    esac
}

# picolibc FLASH RAM [FLASH-SIZE RAM-SIZE STACK-SIZE]: a board with its code and data at these
# addresses, and this machine's terminal
picolibc() {
    echo "--specs=picolibc.specs --oslib=semihost --crt0=hosted -ffunction-sections -Wl,--gc-sections
        -Wl,--defsym=__flash=$1,--defsym=__flash_size=${3:-0x400000}
        -Wl,--defsym=__ram=$2,--defsym=__ram_size=${4:-0x400000},--defsym=__stack_size=${5:-0x10000}"
}
semihosting="-nographic -monitor none -serial none -semihosting-config enable=on,target=native -kernel"
mps2="qemu-system-arm -M mps2-an385 $semihosting"
microbit="qemu-system-arm -M microbit -icount shift=6 $semihosting" # an instruction lasts 64 ns

# With jump tables gcc 5.4 stops at a switch over what was shifted out of 64 bits.
avr="-mmcu=atmega2560 -fno-jump-tables -ffunction-sections -DCHECK_NO_ROWS -Wl,--gc-sections
    -Wl,--defsym=__stack=0xffff,--defsym=__DATA_REGION_LENGTH__=0xfe00 -Wl,-u,vfprintf"

mingw="-static -pthread -D__USE_MINGW_ANSI_STDIO=1"
export WINEPREFIX="$build/wine" WINEDEBUG=-all
start_wine() {
    unset WINEDLLPATH
    [ -e "$WINEPREFIX/system.reg" ] || { mkdir -p "$WINEPREFIX" && wine wineboot > /dev/null 2>&1; }
}

# Wine for amd64 runs programs of 32 bits as well, but Debian has the libraries that these need in
# the package for i386 only. Installing that would mean another architecture, so it is taken apart.
find_wine32() {
    windows=$WINEPREFIX/drive_c/windows
    [ ! -x /usr/lib/wine/wine ] || return 0
    [ -d "$build/wine32/i386-windows" ] || unpack_wine32 > "$build/wine32.log" 2>&1 ||
        { cat "$build/wine32.log" && return 1; }
    mkdir -p "$windows/syswow64" && cp "$build/wine32/i386-windows"/* "$windows/syswow64"
    export WINEDLLPATH="$build/wine32"
}

unpack_wine32() {
    rm -rf "$build/apt"
    mkdir -p "$build/apt/lists/partial" "$build/apt/archives/partial" "$build/wine32/new"
    cat > "$build/apt/apt.conf" << END_CONF
APT::Architectures { "amd64"; "i386"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::State::lists "$build/apt/lists";
Dir::Cache "$build/apt";
END_CONF
    (cd "$build/apt" && export APT_CONFIG="$build/apt/apt.conf" && apt-get update
        apt-get download "libwine:i386=$(dpkg-query -W -f '${Version}' libwine)") || return 1
    for library in ntdll kernel32 kernelbase msvcrt ucrtbase advapi32 sechost; do
        echo "./usr/lib/i386-linux-gnu/wine/i386-windows/$library.dll"
    done > "$build/apt/libraries"
    dpkg-deb --fsys-tarfile "$build"/apt/libwine_*_i386.deb |
        tar -x -C "$build/wine32/new" --strip-components=6 -T "$build/apt/libraries" &&
        mv "$build/wine32/new" "$build/wine32/i386-windows" && rm -r "$build/apt"
}

# ---- what is run on each --------------------------------------------------------------------------

# program PATH NAME FLAG...: compiles and runs it; its last line
program() {
    path=$1
    case $2 in
    digest) sources=tests/verify/digest.c ;;
    msvc) sources="tests/verify/digest_main.c $build/msvc.o" ;;
    test_link) sources="tests/compile/link_a.c tests/compile/link_b.c" ;;
    *) sources=tests/*/$2.c ;;
    esac
    case " $SHARING " in
    *" $2 "*) sources="$sources -DRETRY_IMPLEMENTED $build/$target/retry.o" ;;
    esac
    shift 2
    # shellcheck disable=SC2086 # one word a flag
    $cc $flags $warnings "$@" $sources -o "$path" $libraries > "$path.log" 2>&1 &&
        timeout 600 $run "$path" > "$path.log" 2>&1 < /dev/null &&
        tail -n 1 "$path.log" | tr -d '\r'
}

# result NAME GOOD: counts it; shows all that it wrote if it is not good
result() {
    if [ -n "$2" ]; then
        target_passed=$((target_passed + $2))
    else
        target_failed=$((target_failed + 1))
        cat "$build/$target/$1.exe.log"
        echo "FAILED $target: $1"
    fi
}

on_target() { # TEST...
    # shellcheck disable=SC2086 # one word a flag
    rm -f "$build/$target/retry.o" && $cc $flags $warnings -c tests/bench/retry.c -o "$build/$target/retry.o"
    for test in "$@"; do
        case " $without " in
        *" $test "*) continue ;;
        esac
        result "$test" "$(program "$build/$target/$test.exe" "$test" |
            sed -n 's/^\([1-9][0-9]*\) passed, 0 failed$/\1/p')"
    done
    got=$(program "$build/$target/digest.exe" digest)
    [ "$got" = "$wanted" ] && good=1 || good=
    result digest "$good"
}

# What two tasks share on a core without atomics; and without its masks, which has to be noticed.
preempted() {
    case $target in
    cortex-m0)
        cc="arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb $(picolibc 0 0x20000000 0x40000 0x4000 0x1000)"
        run=$microbit
        ;;
    avr) ;;
    *) return ;;
    esac
    result preempted "$(program "$build/$target/preempted.exe" preempted |
        sed -n 's/^\([1-9][0-9]*\) passed, 0 failed$/\1/p')"
    program "$build/$target/unmasked.exe" preempted -DRETRY_NO_ATOMICS
    tail -n 1 "$build/$target/unmasked.exe.log" | grep -q 'passed, [1-9][0-9]* failed' && good=1 || good=
    result unmasked "$good"
}

# MSVC's branches, compiled by clang as if for it.
msvc() {
    [ "$target" = windows-64 ] || return
    mkdir -p "$build/msvc"
    cp tests/verify/msvc/*.h /usr/include/jsmn.h "$build/msvc"
    for options in -O0 -O2 "-O2 -DRETRY_NO_ATOMICS"; do
        rm -f "$build/$target/msvc.exe"
        # shellcheck disable=SC2086 # one word a flag
        got=$(clang-19 --target=x86_64-pc-windows-msvc -std=c99 $options -mno-stack-arg-probe -nostdlibinc \
            -isystem "$build/msvc" -DDIGEST_BARE -c tests/verify/digest.c \
            -o "$build/msvc.o" 2> "$build/$target/msvc.exe.log" &&
            program "$build/$target/msvc.exe" msvc)
        [ "$got" = "$wanted" ] && good=1 || good=
        result msvc "$good"
    done
}

wanted=$(cc -std=c99 -O2 tests/verify/digest.c -o "$build/digest" && "$build/digest")
echo "here $wanted"
[ -n "$wanted" ] || exit 1
for target in $targets; do
    target_passed=0
    target_failed=0
    started=$(date +%s)
    mkdir -p "$build/$target"
    if prepare "$target" > "$build/$target/prepare.exe.log" 2>&1; then
        on_target "$@"
        preempted
        msvc
    else
        result prepare ""
    fi
    echo "$target: $target_passed passed, $target_failed failed, $(($(date +%s) - started)) s"
    passed=$((passed + target_passed))
    failed=$((failed + target_failed))
done
case " $targets" in *" windows"*) wineserver -k 2> /dev/null ;; esac
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
