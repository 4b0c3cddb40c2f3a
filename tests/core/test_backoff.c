/* Delays before and after jitter: the curves against their tables and against the real numbers, the
   ends of every range that is drawn from, and what the draws look like. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/backoffs.h"
#include "../support/check.h"

#include <float.h>

#define SMALLEST_FACTOR 65537u /* 1 + 1/65536 */
#define LARGEST_FACTOR UINT32_MAX

static retry_backoff exponential(retry_ms initial, retry_ms max, uint32_t factor)
{
    return backoff_of(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_NONE, 0, initial, max, factor, 0);
}

static retry_backoff constant(retry_ms initial, retry_ms max)
{
    return backoff_of(RETRY_CURVE_CONSTANT, RETRY_JITTER_NONE, 0, initial, max, 0, 0);
}

static retry_backoff jittered(uint8_t jitter, retry_ms min, retry_ms initial, retry_ms max,
                              uint32_t spread)
{
    return backoff_of(RETRY_CURVE_EXPONENTIAL, jitter, min, initial, max, 0, spread);
}

/* ---- curves -------------------------------------------------------------------------------- */

static const retry_ms table_values[] = {7, 3, 900};

static retry_ms custom_curve(const retry_backoff *self, uint32_t attempt)
{
    return self->initial + 10 * attempt;
}

static retry_backoff own_curve(uint8_t curve, retry_ms initial, retry_ms max, const retry_ms *table,
                               uint32_t length,
                               retry_ms (*custom)(const retry_backoff *self, uint32_t retries))
{
    retry_backoff backoff = backoff_of(curve, 0, 0, initial, max, 0, 0);
    backoff.table = table;
    backoff.table_length = length;
    backoff.custom = custom;
    return backoff;
}

static void test_curves(void)
{
    const struct {
        const char *name;
        retry_backoff backoff;
        unsigned count;
        retry_ms expected[13];
    } curves[] = {
        {"best effort", RETRY_BACKOFF_BEST_EFFORT, 7, {100, 200, 400, 800, 1600, 3200, 5000}},
        {"throttled", RETRY_BACKOFF_THROTTLED, 8, {100, 200, 400, 800, 1600, 3200, 6400, 10000}},
        {"RFC 0049", RETRY_BACKOFF_RFC0049, 11, {1, 2, 4, 8, 16, 32, 64, 128, 256, 500, 500}},
        {"controlled", RETRY_BACKOFF_CONTROLLED, 8, {1, 10, 50, 100, 500, 1000, 1000, 1000}},
        {"times 3", exponential(10, 1000, RETRY_RATIO(3)), 7, {10, 30, 90, 270, 810, 1000, 1000}},
        {"gRPC",
         RETRY_BACKOFF_GRPC,
         12,
         {1000, 1600, 2560, 4096, 6554, 10486, 16777, 26844, 42950, 68719, 109951, 120000}},
        {"AWS", RETRY_BACKOFF_AWS, 9, {1000, 2000, 4000, 8000, 16000, 20000, 20000, 20000, 20000}},
        {"AWS 2026",
         RETRY_BACKOFF_AWS_2026,
         10,
         {50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 20000}},
        {"default", RETRY_BACKOFF_DEFAULT, 5, {1, 2, 4, 8, 16}},
        {"first above the cap", exponential(5000, 1000, 0), 3, {1000, 1000, 1000}},
        {"factor 1", exponential(70, 0, RETRY_RATIO(1)), 3, {70, 70, 70}},
        {"factor next to none", exponential(70, 0, 1), 3, {70, 70, 70}},
        {"a half is rounded up", exponential(1, 0, RETRY_RATIO(1.5)), 3, {1, 2, 2}},
        {"less than a half is not",
         exponential(41037279, 0, 65649),
         3,
         {41037279, 41108037, 41178917}},
        {"factor below 1", exponential(70, 0, RETRY_RATIO(0.5)), 3, {70, 70, 70}},
        {"constant", constant(250, 0), 3, {250, 250, 250}},
        {"constant of 0", constant(0, 0), 2, {1, 1}},
        {"constant above the cap", constant(250, 90), 2, {90, 90}},
        {"table",
         own_curve(RETRY_CURVE_TABLE, 0, 0, table_values, 3, NULL),
         5,
         {7, 3, 900, 900, 900}},
        {"table with a cap",
         own_curve(RETRY_CURVE_TABLE, 0, 5, table_values, 3, NULL),
         4,
         {5, 3, 5, 5}},
        {"table has no initial",
         own_curve(RETRY_CURVE_TABLE, 9, 0, table_values, 3, NULL),
         2,
         {7, 3}},
        {"table of one", own_curve(RETRY_CURVE_TABLE, 0, 0, table_values, 1, NULL), 2, {7, 7}},
        {"table of none",
         own_curve(RETRY_CURVE_TABLE, 5, 0, table_values, 0, NULL),
         3,
         {5, 10, 20}},
        {"no table", own_curve(RETRY_CURVE_TABLE, 5, 0, NULL, 3, custom_curve), 3, {5, 10, 20}},
        {"custom", own_curve(RETRY_CURVE_CUSTOM, 5, 0, NULL, 0, custom_curve), 3, {5, 15, 25}},
        {"custom with a cap",
         own_curve(RETRY_CURVE_CUSTOM, 5, 12, NULL, 0, custom_curve),
         3,
         {5, 12, 12}},
        {"custom of none", own_curve(RETRY_CURVE_CUSTOM, 5, 0, NULL, 0, NULL), 3, {5, 10, 20}},
        {"min is not applied",
         backoff_of(RETRY_CURVE_EXPONENTIAL, 0, 50, 4, 0, 0, 0),
         3,
         {4, 8, 16}},
    };
    size_t i;
    unsigned attempt;
    for (i = 0; i < CHECK_COUNT(curves); i++) {
        for (attempt = 0; attempt < curves[i].count; attempt++) {
            retry_ms expected = curves[i].expected[attempt];
            retry_ms slack =
                curves[i].backoff.factor == RETRY_RATIO(1.6) ? 1 + expected / 10000 : 0;
            check_row("%s, attempt %u", curves[i].name, attempt);
            CHECK_RANGE(expected - slack, expected + slack,
                        retry_backoff_base(&curves[i].backoff, attempt));
        }
    }
}

static void test_last_attempt(void)
{
    const struct {
        const char *name;
        retry_backoff backoff;
        retry_ms expected;
    } rows[] = {
        {"doubling without end", RETRY_BACKOFF_DEFAULT, UINT32_MAX},
        {"best effort", RETRY_BACKOFF_BEST_EFFORT, 5000},
        {"smallest factor", exponential(1, 0, SMALLEST_FACTOR), UINT32_MAX},
        {"largest factor", exponential(UINT32_MAX, 0, LARGEST_FACTOR), UINT32_MAX},
        {"factor 1", exponential(UINT32_MAX - 1, 0, RETRY_RATIO(1)), UINT32_MAX - 1},
        {"constant", constant(250, 0), 250},
        {"controlled", RETRY_BACKOFF_CONTROLLED, 1000},
        {"table", own_curve(RETRY_CURVE_TABLE, 0, 0, table_values, 3, NULL), 900},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("%s", rows[i].name);
        CHECK_EQUAL(rows[i].expected, retry_backoff_base(&rows[i].backoff, UINT32_MAX));
    }
}

/* The doubling must not overflow to nothing, as a shift in an int does at 20 to 30. */
static void test_doubling(void)
{
    retry_backoff backoff = RETRY_BACKOFF_DEFAULT;
    uint32_t attempt;
    for (attempt = 0; attempt < 100; attempt++) {
        uint64_t expected = attempt < 32 ? (uint64_t)1 << attempt : UINT32_MAX;
        check_row("attempt %u", (unsigned)attempt);
        CHECK_EQUAL(expected, retry_backoff_base(&backoff, attempt));
    }
}

static void test_null(void)
{
    CHECK_EQUAL(0, retry_backoff_base(NULL, 0));
    CHECK_EQUAL(0, retry_backoff_base(NULL, UINT32_MAX));
    CHECK_EQUAL(0, retry_backoff_delay(NULL, 3, 1000, UINT32_MAX));
}

static void test_unknown_curve_and_jitter(void)
{
    retry_backoff expected = exponential(10, 5000, RETRY_RATIO(3));
    unsigned value, attempt;
    for (value = RETRY_CURVE_CUSTOM + 1; value < 256; value++) {
        for (attempt = 0; attempt < 8; attempt++) {
            retry_backoff curve = expected, jitter = expected;
            retry_ms base = retry_backoff_base(&expected, attempt);
            curve.curve = (uint8_t)value;
            if (value > RETRY_JITTER_DECORRELATED)
                jitter.jitter = (uint8_t)value;
            check_row("%u, attempt %u", value, attempt);
            CHECK_EQUAL(base, retry_backoff_base(&curve, attempt));
            CHECK_EQUAL(base, retry_backoff_delay(&curve, attempt, 7, 12345));
            CHECK_EQUAL(base, retry_backoff_delay(&jitter, attempt, 7, 12345));
        }
    }
}

/* ---- accuracy ------------------------------------------------------------------------------ */

static const uint32_t factors[] = {0,
                                   RETRY_RATIO(1),
                                   SMALLEST_FACTOR,
                                   SMALLEST_FACTOR + 1,
                                   RETRY_RATIO(1.001),
                                   RETRY_RATIO(1.01),
                                   RETRY_RATIO(1.1),
                                   RETRY_RATIO(1.5),
                                   RETRY_RATIO(1.6),
                                   RETRY_RATIO(1.999),
                                   RETRY_RATIO(2),
                                   RETRY_RATIO(2.001),
                                   RETRY_RATIO(3),
                                   RETRY_RATIO(10),
                                   RETRY_RATIO(1000.5),
                                   LARGEST_FACTOR};
static const retry_ms initials[] = {0, 1, 2, 7, 1000, 123457, 1000000000, UINT32_MAX};
static const retry_ms caps[] = {0, 1, 500, 120000, UINT32_MAX - 1};

static double real_power(double base, uint32_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result *= base;
        base *= base;
    }
    return result;
}

/* What an exponential backoff stands for, in real numbers. */
static double real_exponential(const retry_backoff *backoff, uint32_t attempt)
{
    double initial = backoff->initial ? (double)backoff->initial : 1;
    double factor = backoff->factor ? (double)backoff->factor / 65536 : 2;
    double cap = (double)(backoff->max ? backoff->max : UINT32_MAX);
    double real = initial * real_power(factor, attempt);
    return real < cap ? real : cap;
}

static void check_accuracy(const retry_backoff *backoff, uint32_t attempt)
{
    double real = real_exponential(backoff, attempt);
    double slack = real > 10000 ? real / 10000 : 1;
    retry_ms got = retry_backoff_base(backoff, attempt);
    check_row("factor %lu/65536, initial %lu, max %lu, attempt %lu: %.3f, got %lu",
              (unsigned long)backoff->factor, (unsigned long)backoff->initial,
              (unsigned long)backoff->max, (unsigned long)attempt, real, (unsigned long)got);
    CHECK(got >= real - slack && got <= real + slack);
    CHECK(backoff->max == 0 || got <= backoff->max);
}

/* 0 after the last. */
static uint32_t next_power(uint32_t power)
{
    return power < 0x80000000u ? power << 1 : 0;
}

static void check_accuracy_everywhere(const retry_backoff *backoff)
{
    uint32_t attempt, power;
    for (attempt = 0; attempt < 70; attempt++)
        check_accuracy(backoff, attempt);
    for (power = 128; power != 0; power = next_power(power)) {
        check_accuracy(backoff, power - 1);
        check_accuracy(backoff, power);
        check_accuracy(backoff, power + (check_random() & (power - 1)));
    }
    check_accuracy(backoff, UINT32_MAX);
}

static void test_accuracy(void)
{
    size_t i, j, k;
    for (i = 0; i < CHECK_COUNT(factors); i++) {
        for (j = 0; j < CHECK_COUNT(initials); j++) {
            for (k = 0; k < CHECK_COUNT(caps); k++) {
                retry_backoff backoff = exponential(initials[j], caps[k], factors[i]);
                check_accuracy_everywhere(&backoff);
            }
        }
    }
}

static void test_accuracy_of_random_backoffs(void)
{
    unsigned i;
    for (i = 0; i < 5000; i++) {
        unsigned shift = check_random() & 31;
        retry_backoff backoff = exponential(check_random() >> shift, 0, 0);
        backoff.factor = 65536 + (check_random() >> (check_random() & 31)) / 2;
        check_accuracy(&backoff, check_random() >> (check_random() & 31));
    }
}

/* The longest way: a factor barely above 1, up to where the delay saturates. */
static void test_accuracy_of_small_factors(void)
{
    unsigned i;
    for (i = 0; i < 5000; i++) {
        uint32_t above = 1 + check_random() % 64;
        retry_backoff backoff = exponential(1, 0, 0);
        backoff.factor = RETRY_RATIO(1) + above;
        check_accuracy(&backoff, (check_random() % 1500000) / above);
        check_accuracy(&backoff, 1450000 / above + check_random() % 4000);
    }
}

/* ---- monotony ------------------------------------------------------------------------------ */

static void check_never_falls(const retry_backoff *backoff, uint32_t from, uint32_t steps)
{
    retry_ms last = retry_backoff_base(backoff, from);
    for (; steps > 0 && from < UINT32_MAX; steps--) {
        retry_ms next = retry_backoff_base(backoff, ++from);
        check_row("curve %u, factor %lu/65536, initial %lu, attempt %lu: %lu after %lu",
                  backoff->curve, (unsigned long)backoff->factor, (unsigned long)backoff->initial,
                  (unsigned long)from, (unsigned long)next, (unsigned long)last);
        CHECK(next >= last);
        last = next;
    }
}

/* Around powers of two an algorithm that squares changes its way. */
static void check_never_falls_anywhere(const retry_backoff *backoff)
{
    uint32_t power;
    check_never_falls(backoff, 0, 60);
    for (power = 64; power != 0; power = next_power(power)) {
        check_never_falls(backoff, power - 4, 6);
        check_never_falls(backoff, power + power / 2 - 4, 6);
        check_never_falls(backoff, power + (check_random() & (power - 1)), 6);
    }
    check_never_falls(backoff, UINT32_MAX - 4, 5);
}

static void test_never_falls(void)
{
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(initials); i++) {
        for (j = 0; j < CHECK_COUNT(factors); j++) {
            retry_backoff backoff = exponential(initials[i], 0, factors[j]);
            check_never_falls_anywhere(&backoff);
        }
    }
}

/* Rounding shows most where the delay is large and the factor is small. */
static void test_never_falls_with_small_factors(void)
{
    uint32_t factor;
    for (factor = SMALLEST_FACTOR; factor < SMALLEST_FACTOR + 40; factor += 3) {
        retry_backoff backoff = exponential(3000000000u, 0, 0);
        backoff.factor = factor;
        check_never_falls(&backoff, 0, 1000 / CHECK_ONE_IN);
        backoff.initial = 100001;
        check_never_falls(&backoff, 100000, 1000 / CHECK_ONE_IN);
    }
}

/* ---- jitter -------------------------------------------------------------------------------- */

struct range {
    uint64_t low, high;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The range for a base delay, before min; in halves of a millisecond d/2 would be exact. */
static struct range jitter_range(const retry_backoff *backoff, retry_ms base, retry_ms previous)
{
    uint64_t cap = backoff->max ? backoff->max : UINT32_MAX;
    uint64_t initial = backoff->initial ? backoff->initial : 1;
    uint64_t ratio = backoff->spread ? backoff->spread : 13107; /* 0.2 */
    uint64_t spread = (base * ratio) >> 16;
    struct range range;
    range.low = range.high = base;
    if (backoff->jitter == RETRY_JITTER_DEFAULT || backoff->jitter == RETRY_JITTER_FULL)
        range.low = 0;
    if (backoff->jitter == RETRY_JITTER_EQUAL)
        range.low = base / 2;
    if (backoff->jitter == RETRY_JITTER_SPREAD) {
        range.low = spread > base ? 0 : base - spread;
        range.high = smaller(base + spread, UINT32_MAX);
    }
    if (backoff->jitter == RETRY_JITTER_DECORRELATED) {
        range.low = smaller(initial, cap);
        range.high = smaller(3 * larger(initial, previous), cap);
    }
    return range;
}

static struct range delay_range(const retry_backoff *backoff, uint32_t attempt, retry_ms previous)
{
    struct range range = jitter_range(backoff, retry_backoff_base(backoff, attempt), previous);
    range.low = larger(range.low, backoff->min);
    range.high = larger(range.high, range.low);
    return range;
}

/* Ends, middle and order of one range. Halves and products may be rounded either way: slack 1. */
static void check_delay_range(const retry_backoff *backoff, uint32_t attempt, retry_ms previous,
                              struct range range)
{
    bool rounded = backoff->jitter == RETRY_JITTER_EQUAL || backoff->jitter == RETRY_JITTER_SPREAD;
    uint64_t slack = rounded && range.low > backoff->min ? 1 : 0;
    uint64_t slack_high = rounded && range.high > range.low && range.high < UINT32_MAX ? 1 : 0;
    uint64_t middle = (range.low + range.high) / 2;
    uint32_t step;
    retry_ms last = 0;
    check_row("curve %u, jitter %u, attempt %lu, previous %lu, min %lu, initial %lu, max %lu",
              backoff->curve, backoff->jitter, (unsigned long)attempt, (unsigned long)previous,
              (unsigned long)backoff->min, (unsigned long)backoff->initial,
              (unsigned long)backoff->max);
    CHECK_RANGE(range.low - slack, range.low + slack,
                retry_backoff_delay(backoff, attempt, previous, 0));
    CHECK_RANGE(range.high - slack_high, range.high + slack_high,
                retry_backoff_delay(backoff, attempt, previous, UINT32_MAX));
    CHECK_RANGE(middle > 1 ? middle - 2 : 0, middle + 2,
                retry_backoff_delay(backoff, attempt, previous, 0x80000000u));
    for (step = 0; step < 16; step++) {
        retry_ms delay = retry_backoff_delay(backoff, attempt, previous, step * 0x11111111u);
        CHECK(delay >= last);
        last = delay;
    }
}

/* Rows that the reference above could get wrong in the same way as the library. */
static void test_ranges(void)
{
    const struct {
        const char *name;
        retry_backoff backoff;
        uint32_t attempt;
        retry_ms previous;
        struct range range;
    } ranges[] = {
        {"none", jittered(RETRY_JITTER_NONE, 0, 100, 0, 0), 3, 0, {800, 800}},
        {"none, min", jittered(RETRY_JITTER_NONE, 900, 100, 0, 0), 3, 0, {900, 900}},
        {"none, min above max", jittered(RETRY_JITTER_NONE, 900, 100, 500, 0), 3, 0, {900, 900}},
        {"default", jittered(0, 0, 100, 0, 0), 3, 0, {0, 800}},
        {"default, min", jittered(0, 100, 100, 0, 0), 3, 0, {100, 800}},
        {"default, all of it", RETRY_BACKOFF_DEFAULT, 9, 0, {0, 512}},
        {"zeroed", backoff_of(0, 0, 0, 0, 0, 0, 0), 9, 0, {0, 512}},
        {"full", jittered(RETRY_JITTER_FULL, 0, 100, 0, 0), 3, 0, {0, 800}},
        {"full, capped", jittered(RETRY_JITTER_FULL, 0, 100, 500, 0), 3, 0, {0, 500}},
        {"full, min", jittered(RETRY_JITTER_FULL, 100, 100, 0, 0), 3, 0, {100, 800}},
        {"full, min above", jittered(RETRY_JITTER_FULL, 900, 100, 0, 0), 3, 0, {900, 900}},
        {"full, min above max", jittered(RETRY_JITTER_FULL, 700, 100, 500, 0), 3, 0, {700, 700}},
        {"full, whole width", jittered(RETRY_JITTER_FULL, 0, 1, 0, 0), 99, 0, {0, UINT32_MAX}},
        {"equal", jittered(RETRY_JITTER_EQUAL, 0, 100, 0, 0), 3, 0, {400, 800}},
        {"equal, min below", jittered(RETRY_JITTER_EQUAL, 300, 100, 0, 0), 3, 0, {400, 800}},
        {"equal, min inside", jittered(RETRY_JITTER_EQUAL, 600, 100, 0, 0), 3, 0, {600, 800}},
        {"equal, min above max", jittered(RETRY_JITTER_EQUAL, 600, 100, 500, 0), 3, 0, {600, 600}},
        {"spread", jittered(RETRY_JITTER_SPREAD, 0, 1000, 0, RETRY_RATIO(0.25)), 0, 0, {750, 1250}},
        {"spread, gRPC", RETRY_BACKOFF_GRPC, 0, 0, {800, 1200}},
        {"spread, gRPC at the cap", RETRY_BACKOFF_GRPC, 50, 0, {96000, 144000}},
        {"spread of 0: 0.2", jittered(RETRY_JITTER_SPREAD, 0, 1000, 0, 0), 0, 0, {800, 1200}},
        {"least spread", jittered(RETRY_JITTER_SPREAD, 0, 1000, 0, 1), 0, 0, {1000, 1000}},
        {"spread above 1",
         jittered(RETRY_JITTER_SPREAD, 0, 10, 0, RETRY_RATIO(1.5)),
         0,
         0,
         {0, 25}},
        {"spread of a half",
         jittered(RETRY_JITTER_SPREAD, 0, 1, 0, RETRY_RATIO(0.5)),
         0,
         0,
         {0, 2}},
        {"spread below a half", jittered(RETRY_JITTER_SPREAD, 0, 1, 0, 0x7fff), 0, 0, {1, 1}},
        {"spread, min", jittered(RETRY_JITTER_SPREAD, 9, 10, 0, RETRY_RATIO(0.5)), 0, 0, {9, 15}},
        {"spread, min above",
         jittered(RETRY_JITTER_SPREAD, 16, 10, 0, RETRY_RATIO(0.5)),
         0,
         0,
         {16, 16}},
        {"spread, saturated",
         jittered(RETRY_JITTER_SPREAD, 0, 4000000000u, 0, RETRY_RATIO(0.25)),
         0,
         0,
         {3000000000u, UINT32_MAX}},
        {"decorrelated, first",
         jittered(RETRY_JITTER_DECORRELATED, 0, 100, 0, 0),
         0,
         0,
         {100, 300}},
        {"decorrelated, small",
         jittered(RETRY_JITTER_DECORRELATED, 0, 100, 0, 0),
         9,
         99,
         {100, 300}},
        {"decorrelated", jittered(RETRY_JITTER_DECORRELATED, 0, 100, 0, 0), 1, 400, {100, 1200}},
        {"decorrelated, cap",
         jittered(RETRY_JITTER_DECORRELATED, 0, 100, 900, 0),
         1,
         400,
         {100, 900}},
        {"decorrelated, low cap",
         jittered(RETRY_JITTER_DECORRELATED, 0, 100, 60, 0),
         1,
         400,
         {60, 60}},
        {"decorrelated, min",
         jittered(RETRY_JITTER_DECORRELATED, 150, 100, 0, 0),
         1,
         100,
         {150, 300}},
        {"decorrelated, min above max",
         jittered(RETRY_JITTER_DECORRELATED, 700, 100, 500, 0),
         1,
         400,
         {700, 700}},
        {"decorrelated, initial 0", jittered(RETRY_JITTER_DECORRELATED, 0, 0, 0, 0), 1, 0, {1, 3}},
        {"decorrelated, tripled over the end",
         jittered(RETRY_JITTER_DECORRELATED, 0, 1, 0, 0),
         1,
         UINT32_MAX / 3 + 1,
         {1, UINT32_MAX}},
        {"decorrelated, previous at the end",
         jittered(RETRY_JITTER_DECORRELATED, 0, 1, 0, 0),
         1,
         UINT32_MAX,
         {1, UINT32_MAX}},
        {"decorrelated, initial at the end",
         jittered(RETRY_JITTER_DECORRELATED, 0, UINT32_MAX, 0, 0),
         1,
         0,
         {UINT32_MAX, UINT32_MAX}},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(ranges); i++) {
        const retry_backoff *backoff = &ranges[i].backoff;
        uint64_t slack = backoff->jitter == RETRY_JITTER_SPREAD && backoff->spread == 0
                             ? ranges[i].range.high / 100000 + 1
                             : 0;
        check_row("%s", ranges[i].name);
        CHECK_RANGE(ranges[i].range.low, ranges[i].range.low + slack,
                    retry_backoff_delay(backoff, ranges[i].attempt, ranges[i].previous, 0));
        CHECK_RANGE(
            ranges[i].range.high - slack, ranges[i].range.high,
            retry_backoff_delay(backoff, ranges[i].attempt, ranges[i].previous, UINT32_MAX));
    }
}

static void check_jitters(retry_backoff backoff)
{
    static const retry_ms previous[] = {0, 1, 700, UINT32_MAX};
    uint32_t attempt;
    size_t i;
    for (backoff.jitter = 0; backoff.jitter <= RETRY_JITTER_NONE; backoff.jitter++)
        for (attempt = 0; attempt < 40; attempt += 3 * CHECK_ONE_IN)
            for (i = 0; i < CHECK_COUNT(previous); i++)
                check_delay_range(&backoff, attempt, previous[i],
                                  delay_range(&backoff, attempt, previous[i]));
}

/* Every curve with every jitter, with and without min and max, in either order. */
static void test_all_ranges(void)
{
    static const retry_ms limits[] = {0, 1, 99, 1000, UINT32_MAX};
    retry_backoff backoff = backoff_of(0, 0, 0, 25, 0, RETRY_RATIO(1.7), RETRY_RATIO(0.3));
    size_t i, j;
    backoff.table = table_values;
    backoff.table_length = CHECK_COUNT(table_values);
    backoff.custom = custom_curve;
    for (backoff.curve = 0; backoff.curve <= RETRY_CURVE_CUSTOM; backoff.curve++) {
        for (i = 0; i < CHECK_COUNT(limits); i++) {
            for (j = 0; j < CHECK_COUNT(limits); j++) {
                backoff.min = limits[i];
                backoff.max = limits[j];
                check_jitters(backoff);
            }
        }
    }
}

static unsigned custom_calls;

static retry_ms counting_curve(const retry_backoff *self, uint32_t attempt)
{
    custom_calls++;
    return self->initial + attempt;
}

static void test_decorrelated_asks_no_curve(void)
{
    retry_backoff backoff =
        backoff_of(RETRY_CURVE_CUSTOM, RETRY_JITTER_DECORRELATED, 0, 10, 0, 0, 0);
    backoff.custom = counting_curve;
    custom_calls = 0;
    CHECK_EQUAL(10, retry_backoff_delay(&backoff, 5, 100, 0));
    CHECK_EQUAL(300, retry_backoff_delay(&backoff, 5, 100, UINT32_MAX));
    CHECK_EQUAL(0, custom_calls);
    backoff.jitter = RETRY_JITTER_NONE;
    CHECK_EQUAL(15, retry_backoff_delay(&backoff, 5, 100, 0));
    CHECK_EQUAL(1, custom_calls);
}

/* Linear: the delays between the ends follow the random number. */
static void test_linear(void)
{
    retry_backoff backoff = jittered(RETRY_JITTER_FULL, 0, 100000, 0, 0);
    unsigned i;
    for (i = 0; i < 2000; i++) {
        uint32_t random = check_random();
        uint64_t expected = (uint64_t)random * 100000 / UINT32_MAX;
        check_row("random %lu", (unsigned long)random);
        CHECK_RANGE(expected > 0 ? expected - 1 : 0, expected + 1,
                    retry_backoff_delay(&backoff, 0, 0, random));
    }
}

/* ---- distribution -------------------------------------------------------------------------- */

#define DRAWS (UINT32_C(100000) / CHECK_ONE_IN)
#define WIDTH 1000u

static uint16_t draws[WIDTH + 1];

/* Draws at the cap, far up the curve, from a range of WIDTH: all inside, none taken too often. */
static void check_spread_of_draws(const retry_backoff *backoff, retry_ms low)
{
    unsigned largest = 0, empty = 0;
    uint32_t i;
    retry_ms previous = backoff->max;
    memset(draws, 0, sizeof draws);
    for (i = 0; i < DRAWS; i++) {
        retry_ms delay = retry_backoff_delay(backoff, 1000 + i, previous, check_random());
        if (delay < low || delay > low + WIDTH) {
            CHECK_RANGE(low, low + WIDTH, delay);
            return;
        }
        draws[delay - low]++;
    }
    for (i = 0; i <= WIDTH; i++) {
        largest = draws[i] > largest ? draws[i] : largest;
        empty += draws[i] == 0;
    }
    CHECK_RANGE(0, DRAWS / 200, largest);
    CHECK_EQUAL(0, empty);
}

static void test_draws_at_the_cap(void)
{
    const struct {
        const char *name;
        retry_backoff backoff;
        retry_ms low;
    } rows[] = {
        {"full", jittered(RETRY_JITTER_FULL, 0, 10, 1000, 0), 0},
        {"full, min", jittered(RETRY_JITTER_FULL, 500, 10, 1500, 0), 500},
        {"equal", jittered(RETRY_JITTER_EQUAL, 0, 10, 2000, 0), 1000},
        {"spread", jittered(RETRY_JITTER_SPREAD, 0, 10, 2000, RETRY_RATIO(0.25)), 1500},
        {"decorrelated", jittered(RETRY_JITTER_DECORRELATED, 0, 10, 1010, 0), 10},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("%s", rows[i].name);
        check_spread_of_draws(&rows[i].backoff, rows[i].low);
    }
}

/* Fed with its own delays DECORRELATED must neither stick to the cap nor to the start. */
static void test_decorrelated_walk(void)
{
    retry_backoff backoff = jittered(RETRY_JITTER_DECORRELATED, 0, 10, 1010, 0);
    unsigned i, at_cap = 0, at_start = 0;
    retry_ms delay = 0;
    for (i = 0; i < 10000; i++) {
        delay = retry_backoff_delay(&backoff, i, delay, check_random());
        CHECK_RANGE(10, 1010, delay);
        at_cap += delay == 1010;
        at_start += delay == 10;
    }
    CHECK_RANGE(0, 100, at_cap);
    CHECK_RANGE(0, 400, at_start);
}

int main(void)
{
    RUN(test_curves);
    RUN(test_last_attempt);
    RUN(test_doubling);
    RUN(test_null);
    RUN(test_unknown_curve_and_jitter);
    if (DBL_DIG > 6) { /* AVR's has 32 bits */
        RUN(test_accuracy);
        RUN(test_accuracy_of_random_backoffs);
        RUN(test_accuracy_of_small_factors);
    }
    RUN(test_never_falls);
    RUN(test_never_falls_with_small_factors);
    RUN(test_ranges);
    RUN(test_all_ranges);
    RUN(test_decorrelated_asks_no_curve);
    RUN(test_linear);
    RUN(test_draws_at_the_cap);
    RUN(test_decorrelated_walk);
    return check_done();
}
