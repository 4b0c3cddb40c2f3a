#!/bin/sh
# Lines, branches and conditions (MC/DC) of both headers that the project's own tests reach. All of
# them are linked with one instrumented object of the implementation, so that the counts of one add to
# another's. Usage: coverage.sh BUILD TEST..., from the top folder. Prints what is not covered; what is
# listed below cannot be, and why. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
build=$1/coverage
shift
rm -rf "$build"
mkdir -p "$build"
cc="clang-19 -std=c99"

# What no test can reach, at most five lines: a piece of each, and why it stays.
cat > "$work/unreachable" << 'END'
errno == EINTR	nanosleep() fails for nothing else with the times that it gets; if so, no endless loop
END

cat > "$build/implementation.c" << 'END'
#define RETRY_IMPLEMENTATION
#define RETRY_SYSTEM_CLOCK
#define _POSIX_C_SOURCE 200809L
#define ERRMAP_JSMN_HEADER "tests/support/jsmn_lies.h"
#include "tests/support/contend.h"
#include "errmap.h"
END
implement() {
    $cc -O1 -g -I. -fprofile-instr-generate -fprofile-update=atomic -fcoverage-mapping \
        -fcoverage-mcdc -c "$build/implementation.c" -o "$build/implementation.o" 2> "$work/log" ||
        { cat "$work/log" && exit 1; }
    check "clang can follow every condition" test ! -s "$work/log"
}

# The guard that a second inclusion meets keeps the implementation out of the tests themselves.
one() { # TEST
    $cc -O1 -DRETRY_IMPLEMENTED -DERRMAP_IMPLEMENTED -DERRMAP_TOKENS=64 \
        -DERRMAP_MAX_DEPTH=32 -c tests/*/"$1.c" -o "$build/$1.o" &&
        $cc -fprofile-instr-generate "$build/$1.o" "$build/implementation.o" -o "$build/$1" -lm \
            -lpthread &&
        LLVM_PROFILE_FILE="$build/$1.profraw" "$build/$1" > "$work/log" 2>&1 || {
        cat "$work/log"
        return 1
    }
}

# FILE:LINE, what it lacks, its text. In the text of llvm-cov the lines of a file come first, each
# with what it says of the branches and conditions in them behind it.
lacking() {
    awk '
    /^\/.*:$/ { n = split($0, path, "/"); file = substr(path[n], 1, length(path[n]) - 1) }
    /^ *[0-9]+\| *[0-9.kMG]*\|/ {
        split($0, part, "|")
        line = part[1] + 0
        source[file, line] = substr($0, length(part[1]) + length(part[2]) + 3)
        if (part[2] ~ /^ *0$/)
            lacks(line, "never run")
    }
    /Branch \([0-9:]+\): \[/ {
        match($0, /\([0-9]+:/)
        at = substr($0, RSTART + 1, RLENGTH - 2)
        if ($0 ~ /True: 0[],]/)
            lacks(at, "never true")
        if ($0 ~ /False: 0[],]/)
            lacks(at, "never false")
    }
    /Condition C[0-9]+ --> \(/ {
        match($0, /\([0-9]+:/)
        place[$3] = substr($0, RSTART + 1, RLENGTH - 2)
    }
    /C[0-9]+-Pair: not covered/ {
        match($0, /C[0-9]+/)
        lacks(place[substr($0, RSTART, RLENGTH)], "decides nothing")
    }
    function lacks(line, what) { lack[++count] = line; of[count] = file; why[count] = what }
    END {
        for (i = 1; i <= count; i++)
            if (of[i] ~ /^(retry|errmap)\.h$/ && !seen[of[i], lack[i], why[i]]++)
                printf "%s:%d: %s:%s\n", of[i], lack[i], why[i], source[of[i], lack[i]]
    }' "$build/text"
}

covered() { ! grep -v -F -f "$work/patterns" "$work/lacking"; }
implement
for test in "$@"; do check "$test" one "$test"; done
llvm-profdata-19 merge "$build"/*.profraw -o "$build/profile" || exit 1
llvm-cov-19 show -instr-profile="$build/profile" "$build/implementation.o" -show-mcdc \
    -show-branches=count > "$build/text" || exit 1
llvm-cov-19 report -instr-profile="$build/profile" "$build/implementation.o" -show-mcdc-summary \
    -show-region-summary=0 2> /dev/null | awk 'NF > 8 && /\.h/ && !/tests/ {
        printf "%-9s lines %d of %d, branches %d of %d, conditions (MC/DC) %d of %d\n", $1,
            $5 - $6, $5, $8 - $9, $8, $11 - $12, $11 }'
lacking > "$work/lacking"
cut -f 1 "$work/unreachable" > "$work/patterns"
check "all else is covered" covered
while IFS='	' read -r pattern reason; do
    check "still not covered: $pattern" grep -q -F "$pattern" "$work/lacking"
done < "$work/unreachable"
check "at most five lines are not" test "$(wc -l < "$work/unreachable")" -le 5
while IFS='	' read -r pattern reason; do
    echo "not covered: $pattern ($reason)"
done < "$work/unreachable"
finish
