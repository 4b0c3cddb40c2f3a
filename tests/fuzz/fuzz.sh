#!/bin/sh
# Fuzzes every target of this folder, by libFuzzer and by AFL++, each for so many seconds. Before that
# its seeds are replayed: whole, cut at every length, and with every byte changed. Usage: fuzz.sh BUILD
# SECONDS, from the top folder; BUILD holds the replays. An input that found a fault
# is shown. FUZZERS: "libfuzzer afl", or one of them. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
build=$1
seconds=$2
fuzzers=${FUZZERS:-libfuzzer afl}

# TARGET, and what it is seeded with; its dictionary is TARGET.dict, if there is one.
cat > "$work/targets" << 'END_OF_TARGETS'
errmap_map errmap_seed.json errmap_retry.json
errmap_packets errmap_hello*.bin errmap_get*.bin
errmap_answers errmap_seed.json errmap_get*.bin
errmap_nmv errmap_seed.json errmap_get.bin
from_text policy.txt budget.txt duration.txt
from_header retry_after_fixdate.txt retry_after_rfc850.txt retry_after_asctime.txt duration.txt
calls_decision errmap_seed.json errmap_get.bin
calls_operation errmap_seed.json errmap_get.bin
calls_any errmap_seed.json errmap_get.bin
calls_connection errmap_seed.json errmap_get.bin
calls_breaker errmap_seed.json errmap_get.bin
calls_pace errmap_seed.json errmap_get.bin
END_OF_TARGETS

# Something was run, and nothing was found: *count says how much.
by_libfuzzer() { # TARGET OPTION...
    count=
    clang -g -O1 -fsanitize=fuzzer,address,undefined -I. "tests/fuzz/$1.c" -o "$build/fuzz_$1" -lm &&
        mkdir -p "$build/corpus_$1" || return 1
    corpus=$build/corpus_$1 fuzzer=$build/fuzz_$1
    shift
    quiet "$fuzzer" -max_total_time="$seconds" -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="$fuzzer." "$@" "$corpus" || return 1
    count=$(sed -n 's/^stat::number_of_executed_units: //p' "$work/log")
    [ "${count:-0}" -gt 0 ]
}

# Its programs must neither look at the governor of the machine's cores nor bind themselves to one.
export AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_NO_UI=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1
statistic() { sed -n "s/^$1  *: //p" "$found/default/fuzzer_stats"; }
by_afl() { # TARGET OPTION...
    count=
    found=$build/afl_$1 fuzzer=$build/fuzz_afl_$1
    AFL_USE_ASAN=1 AFL_USE_UBSAN=1 AFL_QUIET=1 afl-clang-fast -g -O1 -fsanitize=fuzzer -I. \
        "tests/fuzz/$1.c" -o "$fuzzer" -lm || return 1
    shift
    rm -rf "$found"
    quiet afl-fuzz -V "$seconds" -m none -i "$work/seeds" -o "$found" "$@" "$fuzzer" || return 1
    count=$(statistic execs_done)
    for input in "$found"/default/crashes/id* "$found"/default/hangs/id*; do
        [ ! -f "$input" ] || { echo "$input:" && base64 "$input" && return 1; }
    done
    [ "${count:-0}" -gt 0 ]
}

one() { # TARGET SEED...
    target=$1 dictionary=
    [ ! -f "tests/fuzz/$1.dict" ] || dictionary=tests/fuzz/$1.dict
    shift
    rm -rf "$work/seeds"
    mkdir "$work/seeds"
    # shellcheck disable=SC2086 # a pattern
    for seed in "$@"; do cp tests/data/$seed "$work/seeds"; done
    check "$target: replay" quiet "$build/replay_$target" "$work"/seeds/*
    for by in $fuzzers; do
        case $by in
        libfuzzer) check "$target: libFuzzer" by_libfuzzer "$target" ${dictionary:+-dict="$dictionary"} \
            -seed_inputs="$(echo "$work"/seeds/* | tr ' ' ',')" ;;
        afl) check "$target: AFL++" by_afl "$target" ${dictionary:+-x "$dictionary"} ;;
        esac
        printf '%-17s %9s inputs by %s\n' "$target" "${count:-no}" "$by"
    done
}

# The loop's input is not for what is run in it.
exec 3< "$work/targets"
while read -r target seeds <&3; do
    # shellcheck disable=SC2086 # one word a seed
    one "$target" $seeds < /dev/null
done
for source in tests/fuzz/*.c; do
    check "$source is among the targets" sh -c "grep -q '^$(basename "$source" .c) ' '$work/targets'"
done
finish
