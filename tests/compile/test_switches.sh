#!/bin/sh
# What the header must refuse while compiling: switches with a value that means nothing, reasons past
# the last; and what it must take from users whose warnings are stricter than its own. CC names the
# compiler (default: cc).
cc=${CC:-cc}
. "$(dirname "$0")/../support/check.sh"

# gives NAME WANTED COMMAND...: WANTED is what the command must print, or ok for success
gives()
{
    name=$1
    wanted=$2
    shift 2
    if output=$("$@" 2>&1); then result=ok; else result=$output; fi
    case $result in
    *"$wanted"*)
        passed=$((passed + 1)) ;;
    *)
        failed=$((failed + 1))
        printf '%s: expected %s, got:\n%s\n' "$name" "$wanted" "$result" ;;
    esac
}

compile() # OUTPUT SOURCE FLAGS...
{
    output=$1
    source=$2
    shift 2
    $cc -std=c99 -I. "$@" -c "$work/$source" -o "$work/$output"
}

cat > "$work/implementation.c" << 'END'
#define RETRY_IMPLEMENTATION
#include "retry.h"
END
cat > "$work/main.c" << 'END'
#include "retry.h"
int main(void)
{
    retry_request request = {0};
    return retry_succeed(&request, 0);
}
END

gives "an implementation of 0" "RETRY_IMPLEMENTATION is a switch" \
    compile x.o main.c -DRETRY_IMPLEMENTATION=0
for switch in RETRY_STATIC RETRY_NO_ATOMICS RETRY_SYSTEM_CLOCK; do
    posix=-D_POSIX_C_SOURCE=200809L
    gives "$switch as 1" ok compile x.o implementation.c $posix -D$switch=1
    gives "$switch as nothing" ok compile x.o implementation.c $posix -D$switch=
    for value in 0 2 -2 yes; do
        gives "$switch as $value" "$switch is a switch" \
            compile x.o implementation.c $posix -D$switch=$value
    done
done
masks="-DRETRY_MASK()=1 -DRETRY_UNMASK(state)=(void)(state)"
gives "masks" ok compile x.o implementation.c $masks -Werror
for mask in $masks; do
    gives "$mask alone" "Define both RETRY_MASK() and RETRY_UNMASK(state)" \
        compile x.o implementation.c "$mask"
done
gives "masks for one thread" "RETRY_NO_ATOMICS is for one thread" \
    compile x.o implementation.c $masks -DRETRY_NO_ATOMICS
# A compiler that knows neither atomics nor how this core masks interrupts.
unknown="-U__GCC_ATOMIC_INT_LOCK_FREE -D__GCC_ATOMIC_INT_LOCK_FREE=1 -Wno-builtin-macro-redefined"
warns() { compile x.o "$@" 2>&1 | grep -q 'retry.h has no atomics'; }
silent() { [ -z "$(compile x.o "$@" 2>&1)" ]; }
check "no atomics: a warning" warns implementation.c $unknown
check "no atomics: a message" warns implementation.c -U__GNUC__ -fsyntax-only
check "no atomics: no warning for one thread" silent implementation.c $unknown -DRETRY_NO_ATOMICS
check "no atomics: no warning with masks" silent implementation.c $unknown $masks
check "no atomics: no warning for the declarations" silent main.c $unknown
gives "no POSIX" "RETRY_SYSTEM_CLOCK needs POSIX" \
    compile x.o implementation.c -DRETRY_SYSTEM_CLOCK

cat > "$work/late.c" << 'END'
#include "retry.h"
#define RETRY_SYSTEM_CLOCK
#include "retry.h"
retry_clock a_clock(void)
{
    return retry_system_clock();
}
#ifdef LATE
#define RETRY_IMPLEMENTATION
#define RETRY_STATIC
#include "retry.h"
#endif
END
gives "a late RETRY_SYSTEM_CLOCK" ok compile x.o late.c -Werror
gives "a late RETRY_STATIC" "before the first inclusion" \
    compile x.o late.c -D_POSIX_C_SOURCE=200809L -DLATE

# The macros in a user's own file, with gcc and with clang, as C and as C++.
strict() # SOURCE FLAGS...
{
    source=$1
    shift
    $compiler $language -I. -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow \
        -Wundef -Wvla -Werror "$@" -c "$work/$source" -o "$work/x.o"
}

cat > "$work/reason.c" << 'END'
#include "retry.h"
#define REASON RETRY_REASON_USER(N, RETRY_REASON_ALLOWS_NON_IDEMPOTENT | RETRY_REASON_FREE)
#if PLACE == 1
static const retry_reason reason = REASON;
#elif PLACE == 2
enum { reason = REASON };
#else
#define reason REASON
#endif
bool is_own(retry_reason other);
bool is_own(retry_reason other)
{
#if PLACE == 3
    switch (other) {
    case REASON:
        return true;
    default:
        return false;
    }
#else
    return other == reason;
#endif
}
END
cat > "$work/run_time.c" << 'END'
#include "retry.h"
retry_reason a_reason(TYPE n, unsigned flags, int more);
retry_reason a_reason(TYPE n, unsigned flags, int more)
{
    retry_reason reason = RETRY_REASON_USER(n, flags);
    switch (reason) {
    case RETRY_REASON_USER(3, RETRY_REASON_ALWAYS):
        return RETRY_REASON_USER(n, more);
    default:
        return RETRY_REASON_USER(n, RETRY_REASON_FREE);
    }
}
uint32_t a_capacity(TYPE n);
uint32_t a_capacity(TYPE n)
{
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(n);
    return options.capacity;
}
END
# Every initialiser that the header defines, and the ratios.
{
    echo '#include "retry.h"'
    awk '/^#define RETRY_(BACKOFF|POLICY|BUDGET|CONNECTION|BREAKER)_[A-Z0-9_]+(\(| |$)/ {
        name = $2
        type = tolower(substr(name, 7))
        sub(/_.*/, "", type)
        argument = sub(/\(.*/, "", name) ? "(20)" : ""
        if (type == "budget")
            type = "budget_options"
        printf "extern const retry_%s a_%d;\nconst retry_%s a_%d = %s%s;\n", type, NR, type, NR, \
            name, argument
    }' retry.h
    echo 'extern const uint32_t ratios[];'
    echo 'const uint32_t ratios[] = {RETRY_RATIO(0), RETRY_RATIO(1), RETRY_RATIO(1.6 / 2)};'
} > "$work/initialisers.c"
check "all initialisers are there" [ "$(grep -c '^const' "$work/initialisers.c")" -ge 18 ]

echo > "$work/nothing.c"
for compiler in gcc clang; do
    for language in "-std=c99" "-x c++ -std=c++11 -Wold-style-cast" \
        "-x c++ -std=c++20 -Wold-style-cast"; do
        strict nothing.c -Wno-pedantic 2> "$work/nothing.log" || continue # not installed
        with="$compiler $language"
        for place in 1 2 3 4; do
            gives "$with, USER(15), $place" ok strict reason.c -DN=15 -DPLACE=$place
            for n in 16 20 255; do
                gives "$with, USER($n), $place" error: strict reason.c -DN=$n -DPLACE=$place
            done
        done
        for type in int unsigned uint8_t uint16_t size_t; do
            gives "$with, a run-time $type" ok strict run_time.c -DTYPE=$type
            gives "$with, an optimised $type" ok strict run_time.c -DTYPE=$type -O2
        done
        gives "$with, initialisers" ok strict initialisers.c
    done
done

finish
