#!/bin/sh
# What the header must refuse while compiling: switches with a value that means nothing, reasons past
# the last, calls of what is static elsewhere; what it must take from users whose warnings are stricter
# than its own; and what a shared library exports. CC names the compiler (default: cc), COMPILERS those
# that look for warnings (default: this one).
cc=${CC:-cc}
werror=${WERROR--Werror}
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

compile() # SOURCE FLAGS...
{
    source=$1
    shift
    $cc -std=c99 -I. "$@" -fsyntax-only "$work/$source"
}

cat > "$work/implementation.c" << 'END'
#define RETRY_IMPLEMENTATION
#include "retry.h"
END
cat > "$work/main.c" << 'END'
#include "retry.h"
int main(void)
{
    retry_operation request = {0};
    return retry_next(&request, 0).what;
}
END

gives "an implementation of 0" "RETRY_IMPLEMENTATION is a switch" \
    compile main.c -DRETRY_IMPLEMENTATION=0
for switch in RETRY_STATIC RETRY_NO_ATOMICS RETRY_SYSTEM_CLOCK; do
    posix=-D_POSIX_C_SOURCE=200809L
    gives "$switch as 1" ok compile implementation.c $posix -D$switch=1
    gives "$switch as nothing" ok compile implementation.c $posix -D$switch=
    for value in 0 2 -2 yes; do
        gives "$switch as $value" "$switch is a switch" \
            compile implementation.c $posix -D$switch=$value
    done
done

# RETRY_ASSERT sees misuse, and only that.
cat > "$work/asserts.c" << 'END'
static unsigned misuses;
#define RETRY_ASSERT(x) ((x) ? (void)0 : (void)misuses++)
#define RETRY_IMPLEMENTATION
#include "retry.h"
int main(void)
{
    static retry_client client;
    retry_operation request = {0};
    retry_failure failure = {0};
    request.client = &client;
    retry_start(&request, NULL, 0);
    if (retry_next(&request, 0).what != RETRY_DO_SEND)
        return 2;
    retry_ended(&request, 0, &failure, 0);
    if (misuses != 0)
        return 1;
    return retry_next(NULL, 0).what != RETRY_DO_END || misuses != 1;
}
END
gives "RETRY_ASSERT" ok $cc -std=c99 -I. "$work/asserts.c" -o "$work/asserts"
gives "RETRY_ASSERT: misuse, once" ok "$work/asserts"
masks="-DRETRY_MASK()=1 -DRETRY_UNMASK(state)=(void)(state)"
gives "masks" ok compile implementation.c $masks $werror
for mask in $masks; do
    gives "$mask alone" "Define both RETRY_MASK() and RETRY_UNMASK(state)" \
        compile implementation.c "$mask"
done
gives "masks for one thread" "RETRY_NO_ATOMICS is for one thread" \
    compile implementation.c $masks -DRETRY_NO_ATOMICS
# A compiler that knows neither atomics nor how this core masks interrupts.
unknown="-U__GCC_ATOMIC_INT_LOCK_FREE -D__GCC_ATOMIC_INT_LOCK_FREE=1 -Wno-builtin-macro-redefined"
warns() { compile "$@" 2>&1 | grep -q 'no atomics here'; }
silent() { [ -z "$(compile "$@" 2>&1)" ]; }
check "no atomics: a warning" warns implementation.c $unknown
check "no atomics: a message" warns implementation.c -U__GNUC__
check "no atomics: no warning for one thread" silent implementation.c $unknown -DRETRY_NO_ATOMICS
check "no atomics: no warning with masks" silent implementation.c $unknown $masks
check "no atomics: no warning for the declarations" silent main.c $unknown
as_on_windows() { makes "$work/classify" $cc -std=c99 -D_WIN32 tests/core/test_classify.c -lm && quiet "$work/classify"; }
check "on Windows the numbers of Winsock are known" as_on_windows
sed 's/#define RETRY_SYSTEM_CLOCK//' tests/core/test_clock.c > "$work/no_clock.c"
gives "no RETRY_SYSTEM_CLOCK" "define_RETRY_SYSTEM_CLOCK_before_the_include_of_retry_h" \
    makes "$work/no_clock" $cc -std=c99 -I tests/core "$work/no_clock.c" -lm
gives "no POSIX" "RETRY_SYSTEM_CLOCK needs POSIX" \
    compile implementation.c -DRETRY_SYSTEM_CLOCK

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
#ifndef RETRY_STATIC
#define RETRY_STATIC
#endif
#include "retry.h"
#endif
END
late="Define RETRY_STATIC and RETRY_IMPLEMENTATION before the first inclusion"
gives "a late RETRY_SYSTEM_CLOCK" ok compile late.c $werror
gives "a late RETRY_STATIC" "$late" compile late.c -D_POSIX_C_SOURCE=200809L -DLATE
gives "RETRY_STATIC and a late RETRY_IMPLEMENTATION" "$late" \
    compile late.c -D_POSIX_C_SOURCE=200809L -DRETRY_STATIC=1 -DLATE
gives "RETRY_STATIC and RETRY_API" "Define RETRY_STATIC or RETRY_API, not both" \
    compile implementation.c -DRETRY_STATIC -DRETRY_API=extern

# The macros in a user's own file, with gcc and with clang, as C and as C++.
strict() # SOURCE FLAGS...
{
    source=$1
    shift
    $compiler $language -I. -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow \
        -Wcast-qual -Wundef -Wvla -Wmissing-declarations -Wredundant-decls $werror "$@" \
        -c "$work/$source" -o "$work/x.o"
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

# A file that needs only the types of what is static in another.
cat > "$work/types.c" << 'END'
#include "retry.h"
retry_ms a_delay(const retry_operation *op);
retry_ms a_delay(const retry_operation *op)
{
    return op->delay;
}
#ifdef CALL
void a_call(retry_operation *request);
void a_call(retry_operation *request)
{
    retry_start(request, NULL, 0);
}
#endif
END
cat > "$work/words.c" << 'END'
#if !__has_attribute(error)
#error "no words of one's own"
#endif
END

echo > "$work/nothing.c"
for compiler in ${COMPILERS:-$cc}; do
    for language in "-std=c99" "-x c++ -std=c++11 -Wold-style-cast" \
        "-x c++ -std=c++20 -Wold-style-cast"; do
        with="$compiler $language"
        strict nothing.c -Wno-pedantic 2> "$work/nothing.log" || {
            skip "there is no ${with% -Wold-style-cast}" "the macros in a user's own file"
            continue
        }
        for place in 1 2 3 4; do
            gives "$with, USER(15), $place" ok strict reason.c -DN=15 -DPLACE=$place
            for n in 16 255; do
                gives "$with, USER($n), $place" error: \
                    strict reason.c -DN=$n -DPLACE=$place -Werror
            done
        done
        for type in int unsigned uint8_t uint16_t size_t; do
            gives "$with, a run-time $type" ok strict run_time.c -DTYPE=$type
        done
        gives "$with, optimised" ok strict run_time.c -DTYPE=int -O2
        gives "$with, initialisers" ok strict initialisers.c
        case $language in
        *c++*)
            set --
            code=-Wno-old-style-cast ;; # the implementation is C
        *)
            set -- -Wmissing-prototypes -Wstrict-prototypes
            code= ;;
        esac
        gives "$with, types alone" ok strict types.c -DRETRY_STATIC "$@"
        words="RETRY_STATIC: define RETRY_IMPLEMENTATION in this file, too"
        strict words.c -Wno-pedantic 2> "$work/nothing.log" || words=ok
        gives "$with, a call beside types alone" "$words" strict types.c -DRETRY_STATIC -DCALL
        gives "$with, all static" ok \
            strict types.c $code -DRETRY_STATIC -DRETRY_IMPLEMENTATION -DCALL "$@"
        gives "$with, hidden" ok strict implementation.c $code "$@"
        for api in "" 'extern __attribute__((visibility("default")))'; do
            gives "$with, RETRY_API as $api" ok \
                strict implementation.c $code -fsyntax-only "-DRETRY_API=$api" "$@"
            gives "$with, a user of RETRY_API as $api" ok \
                strict types.c "-DRETRY_API=$api" -DCALL "$@"
        done
    done
done

functions() # NM-OPTION... FILE: how many of retry.h's
{
    nm -g --defined-only "$@" | grep -c ' T retry_'
}

# A library's wrapper file, and a file that has only the types.
cat > "$work/wrapper.c" << 'END'
#define RETRY_STATIC
#define RETRY_IMPLEMENTATION
#include "retry.h"
retry_ms own_wait(uint32_t retries);
retry_ms own_wait(uint32_t retries)
{
    static const retry_backoff backoff = RETRY_BACKOFF_AWS;
    return retry_backoff_delay(&backoff, retries, 0, retry_draw());
}
END
cat > "$work/user.c" << 'END'
#define RETRY_STATIC
#include "retry.h"
retry_ms own_wait(uint32_t retries);
int main(void)
{
    return own_wait(0) <= 1000 ? 0 : 1;
}
END
check "a wrapper" $cc -std=c99 -I. "$work/wrapper.c" "$work/user.c" -o "$work/program"
check "it works" "$work/program"
check "nobody else sees its functions" test "$(functions "$work/program")" -eq 0

# Two shared libraries in one program, with a copy of the header each; the other's is of another version,
# and its requests have a field in front. Each calls its own, unless both are exported.
cat > "$work/library.c" << 'END'
#include "retry.h"
#include <string.h>
int NAME(void); /* the delay of 200 ms, from this library's own copy */
int NAME(void)
{
    static retry_policy policy = RETRY_POLICY_AWS;
    static retry_client client; /* zero */
    retry_operation request;
    retry_failure failure = retry_classify_http(429, 0);
    policy.backoff.jitter = RETRY_JITTER_NONE;
    policy.backoff.initial = 200;
    client.strategy = &policy.base;
    memset(&request, 0, sizeof request);
    request.client = &client;
    retry_start(&request, NULL, 0);
    if (retry_next(&request, 0).what != RETRY_DO_SEND)
        return 0;
    retry_ended(&request, 0, &failure, 0);
    return request.delay == 200 && retry_version() == RETRY_VERSION;
}
END
cat > "$work/program.c" << 'END'
int one(void);
int other(void);
int main(void)
{
    return one() && other() ? 0 : 1;
}
END
mkdir "$work/other"
sed 's/^struct retry_operation {/& uint32_t added[4];/
    s/^\(#define RETRY_VERSION_PATCH\) .*/\1 99/' retry.h > "$work/other/retry.h"
libraries() # FLAGS...: both, and the program that runs with them
{
    for name in one other; do
        include=.
        [ $name = one ] || include=$work/other
        $cc -std=c99 -fPIC -shared -I"$include" -DNAME=$name "$@" "$work/library.c" \
            "$work/implementation.c" -o "$work/lib$name.so" || return
    done
    $cc "$work/program.c" "$work/libone.so" "$work/libother.so" -o "$work/program"
}
printf '#if !defined(__GNUC__) || !defined(__ELF__)\n#error "all is exported"\n#endif\n' > "$work/elf.c"
if compile elf.c 2> "$work/nothing.log"; then
    check "the other copy has a field more" test "$(grep -c 'added\[4\]' "$work/other/retry.h")" -eq 1
    check "two shared libraries" libraries
    check "they export nothing" test "$(functions -D "$work/libone.so")" -eq 0
    check "each calls its own" "$work/program"
    visible='__attribute__((visibility("default")))'
    check "two that export" libraries "-DRETRY_API=$visible"
    $cc -std=c99 -I. -c "$work/implementation.c" -o "$work/x.o"
    check "they export all" test "$(functions -D "$work/libone.so")" -eq "$(functions "$work/x.o")"
    check "all are some" test "$(functions "$work/x.o")" -gt 60
    check "one calls the other's" sh -c '! "$1"' - "$work/program"
fi

# Macros of the program's that have the names of rows take the place of none.
{
    for name in $(sed -n '/X(RETRY_/d; s/^ *X(\([A-Z_0-9]*\)[,)].*/\1/p' retry.h | sort -u) EXPONENTIAL TABLE FULL SPREAD DEFAULT; do
        echo "#define $name 0"
    done
    printf '#define RETRY_IMPLEMENTATION\n#include "retry.h"\nretry_policy policy = RETRY_POLICY_AWS;\n'
} > "$work/macros.c"
check "macros that have the names of rows: some" [ "$(wc -l < "$work/macros.c")" -gt 60 ]
check "macros that have the names of rows" quiet $cc -std=c99 -I. -fsyntax-only "$work/macros.c"
finish
