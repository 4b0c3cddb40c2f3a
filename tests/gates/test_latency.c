/* The percentile of what attempts take: where it comes to rest, how fast it follows, its bounds,
   and what it learns from attempts that were given up. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#include <math.h>

#define UNKNOWN UINT32_MAX
#define LONGEST ((retry_ms)1 << 24) /* what is over it counts as it */

/* Told from the first sample on. */
static retry_latency latency_of(uint32_t quantile)
{
    retry_latency latency;
    memset(&latency, 0, sizeof latency);
    latency.quantile = quantile;
    latency.min_samples = 1;
    return latency;
}

static void add(retry_latency *latency, retry_ms elapsed, uint32_t count)
{
    for (; count != 0; count--)
        retry_latency_add(latency, elapsed, true);
}

static void give_up(retry_latency *latency, retry_ms elapsed, uint32_t count)
{
    for (; count != 0; count--)
        retry_latency_add(latency, elapsed, false);
}

static void test_size(void)
{
    CHECK_EQUAL(24, sizeof(retry_latency));
}

static void test_null(void)
{
    retry_latency_add(NULL, 10, true);
    retry_latency_add(NULL, 10, false);
    CHECK_EQUAL(UNKNOWN, retry_latency_get(NULL));
}

/* ---- when there is an estimate ------------------------------------------------------------- */

static void test_min_samples(void)
{
    static const struct {
        uint32_t min_samples, needed;
    } rows[] = {{0, 100}, {1, 1}, {2, 2}, {99, 99}, {100, 100}, {101, 101}, {70000, 70000}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_latency latency = latency_of(0);
        latency.min_samples = rows[i].min_samples;
        check_row("min_samples %lu", (unsigned long)rows[i].min_samples);
        CHECK_EQUAL(UNKNOWN, retry_latency_get(&latency));
        add(&latency, 7, rows[i].needed - 1);
        CHECK_EQUAL(UNKNOWN, retry_latency_get(&latency));
        add(&latency, 7, 1);
        CHECK_EQUAL(7, retry_latency_get(&latency));
        add(&latency, 7, 1000);
        CHECK_EQUAL(7, retry_latency_get(&latency));
    }
}

/* More samples than are asked for by now are enough. */
static void test_fewer_min_samples(void)
{
    retry_latency latency;
    unsigned i;
    memset(&latency, 0, sizeof latency);
    for (i = 0; i < 200; i++) /* a hundred of which are counted */
        retry_latency_add(&latency, 10, true);
    CHECK_EQUAL(10, retry_latency_get(&latency));
    latency.min_samples = 50;
    CHECK_EQUAL(10, retry_latency_get(&latency));
    latency.min_samples = 101;
    CHECK_EQUAL(UINT32_MAX, retry_latency_get(&latency));
}

/* What is told is rounded up, however little is over a whole ms. */
static void test_rounded_up(void)
{
    retry_latency latency;
    memset(&latency, 0, sizeof latency);
    latency.min_samples = 1;
    latency.quantile = 1; /* steps of 1/256 ms */
    retry_latency_add(&latency, 10, true);
    CHECK_EQUAL(10, retry_latency_get(&latency));
    retry_latency_add(&latency, 1000, true);
    CHECK_EQUAL(11, retry_latency_get(&latency));
}

/* What nothing is learnt from is no sample; what counts as longer is one. */
static void test_samples_given_up(void)
{
    retry_latency latency = latency_of(0);
    latency.min_samples = 3;
    give_up(&latency, 10, 5);
    add(&latency, 10, 1);
    give_up(&latency, 9, 5);
    CHECK_EQUAL(UNKNOWN, retry_latency_get(&latency));
    give_up(&latency, 10, 1);
    CHECK_EQUAL(UNKNOWN, retry_latency_get(&latency));
    give_up(&latency, 1000, 1);
    CHECK(retry_latency_get(&latency) != UNKNOWN);
}

static void test_first_sample(void)
{
    static const struct {
        retry_ms sample, told;
    } rows[] = {{0, 1},
                {1, 1},
                {2, 2},
                {255, 255},
                {65536, 65536},
                {LONGEST - 1, LONGEST - 1},
                {LONGEST, LONGEST},
                {LONGEST + 1, LONGEST},
                {UINT32_MAX - 1, LONGEST},
                {UINT32_MAX, LONGEST}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_latency latency = latency_of(0);
        add(&latency, rows[i].sample, 1);
        check_row("sample %lu", (unsigned long)rows[i].sample);
        CHECK_EQUAL(rows[i].told, retry_latency_get(&latency));
    }
}

/* ---- one step ------------------------------------------------------------------------------ */

/* Up by quantile / 32 of the estimate, down by (1 - quantile) / 32, never past the sample; told
   rounded up. */
static const struct {
    uint32_t quantile;
    retry_ms from, sample, told;
} steps[] = {
    {0, 320000, 1000000, 329500}, /* 0.95 */
    {0, 320000, 0, 319500},
    {RETRY_RATIO(0.5), 320000, 1000000, 325000},
    {RETRY_RATIO(0.5), 320000, 0, 315000},
    {RETRY_RATIO(0.25), 320000, 1000000, 322500},
    {RETRY_RATIO(0.25), 320000, 0, 312500},
    {RETRY_RATIO(0.75), 320000, 1000000, 327500},
    {RETRY_RATIO(0.75), 320000, 0, 317500},
    {RETRY_RATIO(0.5), 320000, 325001, 325000},
    {RETRY_RATIO(0.5), 320000, 324999, 324999}, /* not past the sample */
    {RETRY_RATIO(0.5), 320000, 320001, 320001},
    {RETRY_RATIO(0.5), 320000, 320000, 320000},
    {RETRY_RATIO(0.5), 320000, 319999, 319999},
    {RETRY_RATIO(0.5), 320000, 315001, 315001},
    {RETRY_RATIO(0.5), 320000, 314999, 315000},
    {RETRY_RATIO(0.5), 10, 11, 11}, /* 10.16: rounded up */
    {RETRY_RATIO(0.5), 10, 9, 10},  /* 9.84 */
    {RETRY_RATIO(0.5), 1000000, 999999, 999999},
    {RETRY_RATIO(0.5), LONGEST - 1, UINT32_MAX, LONGEST},
    {RETRY_RATIO(0.5), LONGEST, UINT32_MAX, LONGEST},
    {RETRY_RATIO(0.5), LONGEST, 0, LONGEST - LONGEST / 64},
    {1, 320000, 0, 310001},       /* 1 / 65536: 310000.15 */
    {1, 320000, 1000000, 320001}, /* 0.15 ms */
    {65535, 320000, 0, 320000},   /* 0.15 ms */
    {65535, 320000, 1000000, 330000},
};

static void test_steps(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(steps); i++) {
        retry_latency latency = latency_of(steps[i].quantile);
        add(&latency, steps[i].from, 1);
        add(&latency, steps[i].sample, 1);
        check_row("row %u: %lu", (unsigned)i, (unsigned long)steps[i].sample);
        /* RETRY_RATIO(0.95) is not quite that, and a step is rounded up */
        if (steps[i].quantile == 0)
            CHECK_RANGE(steps[i].told - 1, steps[i].told + 1, retry_latency_get(&latency));
        else
            CHECK_EQUAL(steps[i].told, retry_latency_get(&latency));
    }
}

/* Even the smallest estimate is moved, by the rarest quantile: none stands still. */
static void test_smallest_steps(void)
{
    static const uint32_t quantiles[] = {1, RETRY_RATIO(0.5), 65535};
    size_t i;
    for (i = 0; i < CHECK_COUNT(quantiles); i++) {
        retry_latency latency = latency_of(quantiles[i]);
        check_row("quantile %lu", (unsigned long)quantiles[i]);
        add(&latency, 1, 1);
        add(&latency, 2, 256);
        CHECK_EQUAL(2, retry_latency_get(&latency));
        add(&latency, 1, 256);
        CHECK_EQUAL(1, retry_latency_get(&latency));
    }
}

/* ---- given up ------------------------------------------------------------------------------ */

static void test_given_up(void)
{
    static const struct {
        retry_ms age, told;
    } rows[] = {{0, 320000},      {319999, 320000},     {320000, 325000},
                {320001, 325000}, {UINT32_MAX, 325000}, {LONGEST - 1, 325000}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_latency latency = latency_of(RETRY_RATIO(0.5));
        check_row("given up after %lu", (unsigned long)rows[i].age);
        give_up(&latency, rows[i].age, 3); /* before the first answer */
        CHECK_EQUAL(UNKNOWN, retry_latency_get(&latency));
        add(&latency, 320000, 1);
        give_up(&latency, rows[i].age, 1);
        CHECK_EQUAL(rows[i].told, retry_latency_get(&latency));
    }
}

/* The estimate that counts is the one kept, not the one told: 315000.0 after a step down, 324843.75
   after one up. */
static void test_given_up_at_the_estimate(void)
{
    retry_latency latency = latency_of(RETRY_RATIO(0.5));
    add(&latency, 320000, 1);
    add(&latency, 0, 1);
    give_up(&latency, 314999, 1);
    CHECK_EQUAL(315000, retry_latency_get(&latency));
    give_up(&latency, 315000, 1);
    CHECK_EQUAL(319922, retry_latency_get(&latency)); /* 319921.875 */
    give_up(&latency, 319921, 1);
    CHECK_EQUAL(319922, retry_latency_get(&latency));
    give_up(&latency, 319922, 1);
    CHECK_EQUAL(324921, retry_latency_get(&latency)); /* 324920.65 */
}

/* Whatever runs longer than 2^24 ms is given up there at last. */
static void test_given_up_at_the_longest(void)
{
    retry_latency latency = latency_of(RETRY_RATIO(0.5));
    add(&latency, LONGEST, 1);
    give_up(&latency, LONGEST - 1, 1);
    CHECK_EQUAL(LONGEST, retry_latency_get(&latency));
    give_up(&latency, LONGEST, 1);
    CHECK_EQUAL(LONGEST, retry_latency_get(&latency));
    add(&latency, 0, 1);
    CHECK_EQUAL(LONGEST - LONGEST / 64, retry_latency_get(&latency));
}

/* ---- where it comes to rest ---------------------------------------------------------------- */

#define RATIO_95 1.644854 /* the normal distribution's quantiles */
#define RATIO_99 2.326348

#define POINTS 1000

/* A lognormal distribution of sigma 0.5, as its value at evenly spaced points. */
static double lognormal[POINTS];

/* The normal distribution's value that a part p of it, up to a half, is below: Abramowitz and
   Stegun, 26.2.23, within 0.00045. */
static double normal(double p)
{
    double t = sqrt(-2 * log(p));
    double above = 2.515517 + t * (0.802853 + t * 0.010328);
    return above / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
}

static void set_up_lognormal(void)
{
    int i;
    for (i = 0; i < POINTS / 2; i++) {
        double low = normal((i + 0.5) / POINTS);
        lognormal[i] = exp(0.5 * low);
        lognormal[POINTS - 1 - i] = exp(-0.5 * low);
    }
}

/* A draw around this median, in whole ms. */
static retry_ms draw(retry_ms median)
{
    uint32_t point = (uint32_t)(((uint64_t)check_random() * POINTS) >> 32);
    return (retry_ms)(lognormal[point] * (double)median + 0.5);
}

static const struct {
    uint32_t quantile;
    double true_one; /* of median 1 */
} percentiles[] = {{RETRY_RATIO(0.5), 1}, {RETRY_RATIO(0.95), 2.276}, {RETRY_RATIO(0.99), 3.200}};

/* Within 25 %, told in whole ms. */
static void check_near(double expected, const retry_latency *latency)
{
    CHECK_RANGE(expected * 0.75, expected * 1.25, retry_latency_get(latency));
}

static void test_lognormal(void)
{
    static const retry_ms medians[] = {10, 1000, 500000};
    uint32_t seed;
    size_t i, m, n;
    set_up_lognormal();
    for (seed = 0; seed < 5 * CHECK_COUNT(percentiles) * CHECK_COUNT(medians); seed++) {
        retry_latency latency;
        i = (size_t)(seed % CHECK_COUNT(percentiles));
        m = (size_t)(seed / CHECK_COUNT(percentiles) % CHECK_COUNT(medians));
        latency = latency_of(percentiles[i].quantile);
        for (n = 0; n < 10000; n++)
            retry_latency_add(&latency, draw(medians[m]), true);
        check_row("median %lu, row %u, seed %u", (unsigned long)medians[m], (unsigned)i,
                  (unsigned)seed);
        check_near(percentiles[i].true_one * (double)medians[m], &latency);
    }
}

/* Copies that are cancelled as soon as they are as late as a hedge are added as given up: no
   survivor bias. Without them the estimate would sink to half of what it should be. */
static void test_no_survivor_bias(void)
{
    retry_latency all = latency_of(0), survivors = latency_of(0);
    uint32_t n;
    set_up_lognormal();
    for (n = 0; n < 20000; n++) {
        retry_ms took = draw(1000);
        retry_ms late = retry_latency_get(&all);
        if (took <= late)
            retry_latency_add(&all, took, true);
        else
            retry_latency_add(&all, late, false);
        if (took <= retry_latency_get(&survivors))
            retry_latency_add(&survivors, took, true);
    }
    check_near(2276, &all);
    CHECK_RANGE(0, 1200, retry_latency_get(&survivors)); /* the test would find it */
}

/* Exact to 1 ms on a constant after 2,000 samples, from any start below it or up to ten times
   above. */
static void test_constants(void)
{
    static const retry_ms constants[] = {1,    2,     3,       7,       10,          64,     100,
                                         1000, 12345, 1677721, 9999999, LONGEST - 1, LONGEST};
    static const retry_ms starts[] = {0,   1,   2,    5,     9,       10,     30,
                                      100, 500, 1000, 10000, 1000000, LONGEST};
    size_t c, s;
    for (c = 0; c < CHECK_COUNT(constants); c++) {
        retry_ms constant = constants[c];
        for (s = 0; s < CHECK_COUNT(starts) + 3; s++) {
            retry_ms around[3];
            retry_latency latency = latency_of(RETRY_RATIO(0.95));
            retry_ms start;
            around[0] = constant - 1;
            around[1] = constant + 1;
            around[2] = constant < LONGEST / 10 ? constant * 10 : LONGEST;
            start = s < 3 ? around[s] : starts[s - 3];
            if (start > constant && start / 10 > constant)
                continue;
            add(&latency, start, 1);
            add(&latency, constant, 1999);
            check_row("%lu from %lu", (unsigned long)constant, (unsigned long)start);
            CHECK_RANGE(constant - 1, constant + 1, retry_latency_get(&latency));
            add(&latency, constant, 1);
            CHECK_RANGE(constant - 1, constant + 1, retry_latency_get(&latency));
        }
    }
}

/* Where it is at rest it stays, to the last fraction. */
static void test_at_rest(void)
{
    static const retry_ms constants[] = {1, 2, 10, 255, 256, 257, 65535, LONGEST - 1, LONGEST};
    size_t i;
    for (i = 0; i < CHECK_COUNT(constants); i++) {
        retry_latency latency = latency_of(0);
        check_row("%lu", (unsigned long)constants[i]);
        add(&latency, constants[i], 3000);
        CHECK_EQUAL(constants[i], retry_latency_get(&latency));
        give_up(&latency, constants[i] - 1, 3000);
        CHECK_EQUAL(constants[i], retry_latency_get(&latency));
    }
}

/* ---- how fast it follows ------------------------------------------------------------------- */

static void test_tenfold_constants(void)
{
    static const retry_ms constants[] = {1, 2, 5, 10, 37, 100, 1000, 20000, 1677721};
    size_t i;
    for (i = 0; i < CHECK_COUNT(constants); i++) {
        retry_latency latency = latency_of(RETRY_RATIO(0.95));
        retry_ms low = constants[i], high = constants[i] * 10;
        check_row("%lu and tenfold", (unsigned long)low);
        add(&latency, low, 2000);
        add(&latency, high, 400);
        CHECK_RANGE(high - 1, high + 1, retry_latency_get(&latency));
        add(&latency, low, 2500);
        CHECK_RANGE(low - 1, low + 1, retry_latency_get(&latency));
    }
}

static void test_tenfold_lognormal(void)
{
    static const retry_ms medians[] = {10, 1000};
    size_t i;
    uint32_t n, seed;
    set_up_lognormal();
    for (seed = 0; seed < 6; seed++) {
        i = seed % CHECK_COUNT(medians);
        {
            retry_latency latency = latency_of(RETRY_RATIO(0.95));
            check_row("median %lu, seed %u", (unsigned long)medians[i], (unsigned)seed);
            for (n = 0; n < 2000; n++)
                retry_latency_add(&latency, draw(medians[i]), true);
            for (n = 0; n < 400; n++)
                retry_latency_add(&latency, draw(10 * medians[i]), true);
            check_near(22.76 * (double)medians[i], &latency);
            for (n = 0; n < 2500; n++)
                retry_latency_add(&latency, draw(medians[i]), true);
            check_near(2.276 * (double)medians[i], &latency);
        }
    }
}

/* A server that does not answer any more raises it too, and all is given up. */
static void test_rise_by_giving_up(void)
{
    retry_latency latency = latency_of(0);
    uint32_t n;
    add(&latency, 100, 200);
    for (n = 0; n < 400; n++)
        give_up(&latency, 1000, 1);
    CHECK_RANGE(1000, 1030, retry_latency_get(&latency)); /* what is longer is not known */
}

/* ---- settings ------------------------------------------------------------------------------ */

static void test_bounds(void)
{
    static const struct {
        retry_ms min, max, sample, told;
    } rows[] = {
        {0, 0, 0, 1},
        {0, 0, 1, 1},
        {5, 0, 4, 5},
        {5, 0, 5, 5},
        {5, 0, 6, 6},
        {0, 5, 4, 4},
        {0, 5, 5, 5},
        {0, 5, 6, 5},
        {0, 5, 0, 1},
        {5, 5, 0, 5},
        {5, 5, 9, 5},
        {9, 5, 0, 9}, /* min wins */
        {9, 5, 7, 9},
        {9, 5, 100, 9},
        {2, 1, 0, 2},
        {0, 1, UINT32_MAX, 1},
        {0, LONGEST, UINT32_MAX, LONGEST},
        {0, UINT32_MAX, UINT32_MAX, LONGEST},
        {LONGEST + 7, 0, 3, LONGEST + 7},
        {LONGEST, 3, 5, LONGEST},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_latency latency = latency_of(0);
        latency.min = rows[i].min;
        latency.max = rows[i].max;
        check_row("%lu in %lu to %lu", (unsigned long)rows[i].sample, (unsigned long)rows[i].min,
                  (unsigned long)rows[i].max);
        add(&latency, rows[i].sample, 1);
        CHECK_EQUAL(rows[i].told, retry_latency_get(&latency));
        add(&latency, rows[i].sample, 2000);
        CHECK_EQUAL(rows[i].told, retry_latency_get(&latency));
        give_up(&latency, rows[i].sample, rows[i].sample == rows[i].told); /* counts as longer */
        CHECK(rows[i].max == 0 || retry_latency_get(&latency) <= rows[i].max ||
              rows[i].min > rows[i].max);
    }
}

/* The number kept is within the bounds as well: after any time beyond them it comes back as from
   the bound itself. */
static void test_bounds_of_the_number_kept(void)
{
    retry_latency latency = latency_of(0);
    latency.max = 50;
    add(&latency, 1000, 5000);
    give_up(&latency, 1000, 5000);
    CHECK_EQUAL(50, retry_latency_get(&latency));
    add(&latency, 10, 1100); /* (1 - 0.05 / 32)^1030 is a fifth */
    CHECK_RANGE(9, 11, retry_latency_get(&latency));

    latency = latency_of(0);
    latency.min = 20;
    add(&latency, 1, 5000);
    CHECK_EQUAL(20, retry_latency_get(&latency));
    add(&latency, 100, 56); /* (1 + 0.95 / 32)^55 is 5 */
    CHECK_EQUAL(100, retry_latency_get(&latency));
}

/* The estimate is not pulled up to `min` by attempts that were given up before. */
static void test_given_up_below_min(void)
{
    retry_latency latency = latency_of(0);
    latency.min = 100;
    add(&latency, 5, 1);
    give_up(&latency, 99, 1000);
    CHECK_EQUAL(100, retry_latency_get(&latency));
    give_up(&latency, 100, 1);
    CHECK_EQUAL(103, retry_latency_get(&latency)); /* 102.97 */
}

/* Two settings that mean the same tell the same at every step. */
static void check_same(retry_latency a, retry_latency b)
{
    uint32_t n;
    for (n = 0; n < 3000; n++) {
        retry_ms elapsed = check_random() >> (check_random() & 31);
        bool finished = (check_random() & 3) != 0;
        retry_latency_add(&a, elapsed, finished);
        retry_latency_add(&b, elapsed < LONGEST ? elapsed : LONGEST, finished);
        CHECK_EQUAL(retry_latency_get(&a), retry_latency_get(&b));
    }
}

static void test_defaults(void)
{
    static const struct {
        retry_latency a, b;
    } rows[] = {
        {{0, 0, 0, 0, 0, 0}, {RETRY_RATIO(0.95), 100, 1, LONGEST, 0, 0}},
        {{RETRY_RATIO(1), 1, 0, 0, 0, 0}, {RETRY_RATIO(0.999), 1, 0, 0, 0, 0}},
        {{RETRY_RATIO(1) + 1, 1, 0, 0, 0, 0}, {RETRY_RATIO(0.999), 1, 0, 0, 0, 0}},
        {{UINT32_MAX, 1, 0, 0, 0, 0}, {RETRY_RATIO(0.999), 1, 0, 0, 0, 0}},
        {{0, 7, 9, 5, 0, 0}, {RETRY_RATIO(0.95), 7, 9, 9, 0, 0}},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        check_same(rows[i].a, rows[i].b);
    }
}

/* From what is told before a sample follows what can be told after it, whatever the sample is. */
static void check_step(retry_latency *latency, double quantile, retry_ms elapsed, bool finished)
{
    double from = (double)retry_latency_get(latency), to;
    double sample = (double)(finished && elapsed < LONGEST ? elapsed : LONGEST);
    double low = from - 1, high = from;
    if (finished || (double)elapsed >= from) {
        low = low < sample ? fmin(sample, low * (1 + quantile / 32))
                           : fmax(sample, low * (1 - (1 - quantile) / 32) - 1 / 256.0);
        high = high < sample ? fmin(sample, high * (1 + quantile / 32) + 1 / 256.0)
                             : fmax(sample, high * (1 - (1 - quantile) / 32));
    }
    retry_latency_add(latency, elapsed, finished);
    to = (double)retry_latency_get(latency);
    CHECK(to >= floor(low * (1 - 1e-6)) && to <= ceil(high * (1 + 1e-6)) && to >= 1);
}

static void test_random_walk(void)
{
    static const double quantiles[] = {0.05, 0.5, 0.9, 0.95, 0.99, 0.999};
    size_t i;
    uint32_t n;
    for (i = 0; i < CHECK_COUNT(quantiles); i++) {
        retry_latency latency = latency_of((uint32_t)(quantiles[i] * 65536 + 0.5));
        add(&latency, check_random() >> 8, 1);
        for (n = 0; n < 2000; n++) {
            retry_ms elapsed = check_random() >> (check_random() & 31);
            bool finished = (check_random() & 1) != 0;
            check_row("quantile %u, sample %u: %lu", (unsigned)i, (unsigned)n,
                      (unsigned long)elapsed);
            check_step(&latency, quantiles[i], elapsed, finished);
        }
    }
}

int main(void)
{
    RUN(test_size);
    RUN(test_null);
    RUN(test_min_samples);
    RUN(test_fewer_min_samples);
    RUN(test_rounded_up);
    RUN(test_samples_given_up);
    RUN(test_first_sample);
    RUN(test_steps);
    RUN(test_smallest_steps);
    RUN(test_given_up);
    RUN(test_given_up_at_the_estimate);
    RUN(test_given_up_at_the_longest);
    RUN(test_lognormal);
    RUN(test_no_survivor_bias);
    RUN(test_constants);
    RUN(test_at_rest);
    RUN(test_tenfold_constants);
    RUN(test_tenfold_lognormal);
    RUN(test_rise_by_giving_up);
    RUN(test_bounds);
    RUN(test_bounds_of_the_number_kept);
    RUN(test_given_up_below_min);
    RUN(test_defaults);
    RUN(test_random_walk);
    return check_done();
}
