/* A handful of checks. A test is a function that RUN calls: it passes when all its checks do. A
   failed check prints its place, the row of the table that it was in, the expected and the got.
   The last line of a test program is "N passed, N failed", and its exit status tells the same.
   Random tests draw the same numbers in every run, or others if the environment has a CHECK_SEED.
 */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define CHECK_API static __attribute__((unused))
#define CHECK_PRINTF __attribute__((format(printf, 1, 2)))
#else
#define CHECK_API static
#define CHECK_PRINTF
#endif

static unsigned check_passed, check_failed; /* tests */
static unsigned long check_faults;          /* failed checks of the running test */
static char check_row_text[160];

#ifndef PRIu64 /* avr-libc: a row's text ends where such a number would stand */
#define PRIu64 "llu"
#endif

#define CHECK_FAULTS_SHOWN 10 /* a broken table would fill the screen */

/* Names the row of the table under test in what a failed check prints. */
CHECK_PRINTF CHECK_API void check_row(const char *format, ...)
{
#ifdef CHECK_NO_ROWS /* they would take a simulator most of its time */
    (void)format;
#else
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check_row_text, sizeof check_row_text, format, arguments);
    va_end(arguments);
#endif
}

/* Counts a failed check; true while it is to be shown. With CHECK_STOP the first is the last. */
CHECK_API bool check_fault(const char *file, int line)
{
#ifdef CHECK_STOP
    exit(1);
#endif
    if (++check_faults > CHECK_FAULTS_SHOWN)
        return false;
    printf("%s:%d: ", file, line);
    if (check_row_text[0])
        printf("[%s] ", check_row_text);
    return true;
}

CHECK_API void check_true(bool ok, const char *text, const char *file, int line)
{
    if (!ok && check_fault(file, line))
        printf("expected %s\n", text);
}

/* In decimal, as not every printf can. */
CHECK_API const char *check_decimal(uint64_t number, char text[21])
{
    char *at = text + 20;
    *at = '\0';
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    return at;
}

CHECK_API void check_equal(uint64_t expected, uint64_t got, const char *text, const char *file,
                           int line)
{
    char a[21], b[21];
    if (expected != got && check_fault(file, line))
        printf("%s: expected %s, got %s\n", text, check_decimal(expected, a),
               check_decimal(got, b));
}

CHECK_API void check_range(uint64_t low, uint64_t high, uint64_t got, const char *text,
                           const char *file, int line)
{
    char a[21], b[21], c[21];
    if ((got < low || got > high) && check_fault(file, line))
        printf("%s: expected %s to %s, got %s\n", text, check_decimal(low, a),
               check_decimal(high, b), check_decimal(got, c));
}

CHECK_API void check_text(const char *expected, const char *got, const char *text, const char *file,
                          int line)
{
    if ((!got || strcmp(expected, got) != 0) && check_fault(file, line))
        printf("%s: expected \"%s\", got \"%s\"\n", text, expected, got ? got : "(null)");
}

/* expected comes first; numbers are compared as uint64_t */
#define CHECK(condition) check_true((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(expected, got) \
    check_equal((uint64_t)(expected), (uint64_t)(got), #got, __FILE__, __LINE__)
#define CHECK_RANGE(low, high, got) \
    check_range((uint64_t)(low), (uint64_t)(high), (uint64_t)(got), #got, __FILE__, __LINE__)
#define CHECK_TEXT(expected, got) check_text((expected), (got), #got, __FILE__, __LINE__)

/* start + elapsed on a clock that may wrap, in a way that no sanitizer takes for an overflow */
CHECK_API uint32_t check_after(uint32_t start, uint32_t elapsed)
{
    uint32_t left = (uint32_t)-1 - start;
    return elapsed <= left ? start + elapsed : elapsed - left - 1;
}

/* start - ago, likewise */
CHECK_API uint32_t check_before(uint32_t start, uint32_t ago)
{
    return start >= ago ? start - ago : (uint32_t)-1 - (ago - start) + 1;
}

#ifdef RETRY_REASONS /* retry.h, or a cut of it that has failures */
/* A failed attempt of which nothing but the reason is known. */
CHECK_API retry_failure check_failure_of(retry_reason reason)
{
    retry_failure failure;
    memset(&failure, 0, sizeof failure);
    failure.reason = reason;
    return failure;
}
#endif

#ifdef RETRY_CAUSES /* one that has operations */
#include "decide.h"

/* What a strategy does that answers later. */
CHECK_API retry_action check_pending_after(const retry_strategy *self,
                                           const retry_operation *request,
                                           const retry_failure *failure, retry_time now)
{
    (void)self;
    (void)request;
    (void)failure;
    (void)now;
    return retry_action_pending();
}

CHECK_API void check_decision(unsigned verdict, unsigned cause, decided got, const char *file,
                              int line)
{
    if ((verdict != got.verdict || cause != got.cause) && check_fault(file, line))
        printf("expected %s, %s; got %s, %s, delay %lu\n", retry_verdict_name((uint8_t)verdict),
               retry_cause_text((uint8_t)cause), retry_verdict_name(got.verdict),
               retry_cause_text(got.cause), (unsigned long)got.delay);
}

/* CHECK_DECISION(RETRY, STRATEGY, decide(...)), and of one whose strategy answers later; for those
   who include retry.h before */
#define CHECK_DECISION(verdict, cause, decision) \
    check_decision(RETRY_VERDICT_##verdict, RETRY_CAUSE_##cause, (decision), __FILE__, __LINE__)
#define CHECK_LATER(decision) \
    check_decision(DECIDE_LATER, RETRY_CAUSE_PENDING, (decision), __FILE__, __LINE__)
#endif

#define CHECK_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* In a simulator, of the longest loops only one round in so many. */
#ifndef CHECK_ONE_IN
#define CHECK_ONE_IN 1
#endif

/* For a loop over the numbers of 16 bits, of which the lowest are the most telling. */
CHECK_API uint32_t check_next(uint32_t number)
{
    return number + (number < 4096 ? 1 : CHECK_ONE_IN);
}

CHECK_API uint32_t check_seed(void)
{
#ifdef __AVR__ /* has no environment */
    return 0;
#else
    const char *seed = getenv("CHECK_SEED");
    return seed ? (uint32_t)strtoul(seed, NULL, 10) : 0;
#endif
}

static uint32_t check_random_state; /* never 0 */

/* Multiplied, as the first numbers of small seeds would resemble each other. */
CHECK_API void check_seed_random(uint32_t seed)
{
    uint32_t state = (uint32_t)(((uint64_t)seed * 2654435769u) & UINT32_MAX);
    check_random_state = state != 0 ? state : 2463534242u;
}

/* 32 bits (xorshift; nothing wraps, for the sanitizers' sake). */
CHECK_API uint32_t check_random(void)
{
    uint32_t x = check_random_state;
    x ^= (x & 0x0007ffffu) << 13;
    x ^= x >> 17;
    x ^= (x & 0x07ffffffu) << 5;
    check_random_state = x;
    return (uint32_t)(((uint64_t)x * 2654435769u) & UINT32_MAX);
}

CHECK_API void check_run(void (*test)(void), const char *name)
{
    check_faults = 0;
    check_seed_random(check_seed());
    check_row_text[0] = '\0';
    test();
    if (check_faults == 0) {
        check_passed++;
        return;
    }
    check_failed++;
    printf("FAILED %s: %lu checks, CHECK_SEED=%lu\n", name, check_faults,
           (unsigned long)check_seed());
}

#define RUN(test) check_run(test, #test)

/* The last call of main: return check_done(); */
CHECK_API int check_done(void)
{
    printf("%u passed, %u failed\n", check_passed, check_failed);
    return check_failed > 0 || check_passed == 0;
}

#endif
