/* The adaptive rate: the published tables of the AWS SDKs' adaptive mode, the same in floating
   point over random sequences, the bucket to the last millionth, and clocks of every kind. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#include <math.h>

#define SECOND ((retry_time)1000)
#define DAY ((retry_time)86400000)

static retry_rate rate_of(uint32_t min)
{
    retry_rate rate;
    memset(&rate, 0, sizeof rate);
    rate.min = min;
    return rate;
}

static void answer(retry_rate *rate, retry_time now)
{
    retry_rate_report(rate, NULL, now);
}

static void throttle(retry_rate *rate, retry_time now)
{
    retry_failure failure = retry_classify_http(429, 0);
    retry_rate_report(rate, &failure, now);
}

/* How many of those who ask at this instant may send. */
static uint32_t burst(retry_rate *rate, retry_time now)
{
    uint32_t granted = 0;
    while (granted < 10000 && retry_rate_ask(rate, now) == 0)
        granted++;
    return granted;
}

/* Answers every `spacing` ms in (from, to]. */
static void answers(retry_rate *rate, retry_time start, retry_ms from, retry_ms to,
                    retry_ms spacing)
{
    retry_ms t;
    for (t = from + spacing; t <= to; t += spacing)
        answer(rate, check_after(start, t));
}

/* Ten answers a second for 5 s, the last one throttled: a limit of 7. */
static retry_rate ten_a_second(retry_time start)
{
    retry_rate rate = rate_of(0);
    answer(&rate, start);
    answers(&rate, start, 0, 4999, 100);
    throttle(&rate, check_after(start, 5 * SECOND));
    return rate;
}

/* Expected numbers are within 0.2 % and 0.01 a second. */
static void check_limit(double expected, const retry_rate *rate)
{
    double got = (double)retry_rate_get(rate) / 1000;
    double slack = fmax(fmin(expected * 0.002, 0.01), 0.0006); /* the unit is a thousandth */
    CHECK_RANGE((expected - slack) * 1e6, (expected + slack) * 1e6, got * 1e6);
}

/* ---- before there is a limit --------------------------------------------------------------- */

static void test_null(void)
{
    retry_failure failure = retry_classify_http(429, 0);
    CHECK_EQUAL(0, retry_rate_ask(NULL, 5));
    CHECK_EQUAL(UINT32_MAX, retry_rate_get(NULL));
    retry_rate_report(NULL, NULL, 5);
    retry_rate_report(NULL, &failure, 5);
}

static void test_size(void)
{
    CHECK_RANGE(1, 52, sizeof(retry_rate));
}

static void test_no_limit_yet(void)
{
    retry_rate rate = rate_of(0);
    retry_failure failure = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    unsigned i;
    for (i = 0; i < 5000; i++) {
        CHECK_EQUAL(0, retry_rate_ask(&rate, i));
        CHECK_EQUAL(UINT32_MAX, retry_rate_get(&rate));
        retry_rate_report(&rate, i % 3 == 0 ? &failure : NULL, i);
    }
}

/* ---- published tables ---------------------------------------------------------------------- */

/* An answer every 0.2 s: the measured rate shows in the limit that a throttled one would set. */
static void test_measured(void)
{
    static const struct {
        retry_ms at;
        double measured;
    } rows[] = {{200, 0},      {400, 0},       {600, 4.8},     {800, 4.8},
                {1000, 4.16},  {1200, 4.16},   {1400, 4.16},   {1600, 5.632},
                {1800, 5.632}, {2000, 4.3264}, {2200, 4.3264}, {2400, 4.3264}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_rate rate = rate_of(1);
        answers(&rate, 0, 0, rows[i].at - 200, 200);
        throttle(&rate, rows[i].at);
        check_row("at %lu ms", (unsigned long)rows[i].at);
        check_limit(fmax(rows[i].measured * 0.7, 0.001), &rate);
    }
}

static void test_measured_and_throttled(void)
{
    retry_rate rate = rate_of(0);
    answers(&rate, 0, 0, 1800, 200);
    CHECK_EQUAL(UINT32_MAX, retry_rate_get(&rate));
    throttle(&rate, 2000);
    check_limit(3.02848, &rate);
    answer(&rate, 2200);
    check_limit(3.48664, &rate);
    answer(&rate, 2400);
    check_limit(3.82187, &rate);
}

static const struct {
    retry_ms at;
    double limit;
} cubic[] = {{5000, 7.0},      {6000, 9.64894},   {7000, 10.00003}, {8000, 10.45328},
             {9000, 13.40870}, {10000, 21.26627}, {11000, 36.42600}};

/* Answers come a hundred a second, so that twice that is no bound. */
static void test_cubic_at(retry_time start)
{
    retry_rate rate = ten_a_second(start);
    retry_ms now = 5000;
    size_t i;
    for (i = 0; i < CHECK_COUNT(cubic); i++) {
        answers(&rate, start, now, cubic[i].at, 10);
        now = cubic[i].at;
        check_row("%lu ms after %" PRIu64, (unsigned long)now, (uint64_t)start);
        check_limit(cubic[i].limit, &rate);
    }
}

/* From instants at which a half second begins and which do not wrap meanwhile. */
static void test_cubic(void)
{
    static const uint32_t starts[] = {0, 500, 4321000, 2147483500u, 4294950000u};
    size_t i;
    for (i = 0; i < CHECK_COUNT(starts); i++)
        test_cubic_at(starts[i]);
#ifndef RETRY_TIME_32
    test_cubic_at(((retry_time)7 << 32) + 500);
#endif
}

/* The curve is at w after K: 1.957434 s for 10 a second, 1.817121 s for 8. */
static void test_plateau(void)
{
    static const struct {
        uint32_t peak;
        retry_ms before, after;
    } rows[] = {{10, 1957, 1958}, {8, 1817, 1818}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_ms spacing = 500 / (rows[i].peak / 2), around, step;
        for (around = 0; around < 2; around++) {
            retry_rate rate = rate_of(0);
            answer(&rate, 0);
            answers(&rate, 0, 0, 5999, spacing);
            throttle(&rate, 6000);
            for (step = 0; step < 40; step++) /* 80 a second are measured, without a limit to it */
                answer(&rate, 6000 + step * 12);
            answer(&rate, 6000 + 1200);
            answer(&rate, 6000 + (around == 0 ? rows[i].before - 200 : rows[i].after + 200));
            check_row("%lu a second", (unsigned long)rows[i].peak);
            /* 0.4 * 0.2^3 = 0.0032 on either side of it */
            if (around == 0)
                CHECK_RANGE(rows[i].peak * 1000 - 5, rows[i].peak * 1000 - 2,
                            retry_rate_get(&rate));
            else
                CHECK_RANGE(rows[i].peak * 1000 + 2, rows[i].peak * 1000 + 5,
                            retry_rate_get(&rate));
        }
    }
}

static void test_bucket(void)
{
    retry_rate rate = rate_of(0);
    unsigned i;
    throttle(&rate, 0);
    CHECK_EQUAL(500, retry_rate_get(&rate));
    CHECK_EQUAL(2000, retry_rate_ask(&rate, 0));
    for (i = 0; i < 10; i++)
        CHECK_EQUAL(1900, retry_rate_ask(&rate, 100));
    CHECK_EQUAL(1, retry_rate_ask(&rate, 1999));
    CHECK_EQUAL(0, retry_rate_ask(&rate, 2100));
    CHECK_EQUAL(2000, retry_rate_ask(&rate, 2100)); /* no more than one fits in */
}

/* ---- limits -------------------------------------------------------------------------------- */

/* With nothing measured the limit is the lowest there is, whatever is reported. */
static void test_min(void)
{
    static const struct {
        uint32_t min, limit;
        retry_ms wait;
    } rows[] = {{0, 500, 2000},        {1, 1, 1000000},       {3, 3, 333334},
                {499, 499, 2005},      {500, 500, 2000},      {999999, 999999, 2},
                {1000000, 1000000, 1}, {1000001, 1000001, 1}, {UINT32_MAX - 1, UINT32_MAX - 1, 1}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_rate rate = rate_of(rows[i].min);
        throttle(&rate, 7);
        check_row("min %lu", (unsigned long)rows[i].min);
        CHECK_EQUAL(rows[i].limit, retry_rate_get(&rate));
        answer(&rate, 7);
        CHECK_EQUAL(rows[i].limit, retry_rate_get(&rate));
        CHECK_EQUAL(rows[i].wait, retry_rate_ask(&rate, 7));
        CHECK_EQUAL(rows[i].wait, retry_rate_ask(&rate, 7));
        CHECK_EQUAL(1, retry_rate_ask(&rate, 7 + rows[i].wait - 1));
        CHECK_EQUAL(0, retry_rate_ask(&rate, 7 + rows[i].wait));
    }
}

static void test_throttled_again_and_again(void)
{
    static const double limits[] = {7, 4.9, 3.43, 2.401, 1.6807, 1.17649, 0.823543, 0.57648, 0.5};
    retry_rate rate = ten_a_second(0);
    size_t i;
    for (i = 0; i < CHECK_COUNT(limits); i++) {
        check_row("cut %u", (unsigned)i);
        check_limit(limits[i], &rate);
        throttle(&rate, 5000);
    }
    check_limit(0.5, &rate);
}

/* A limit above the measured rate is cut to 0.7 of the latter. */
static void test_throttled_far_above(void)
{
    retry_rate rate = ten_a_second(0);
    answers(&rate, 0, 5000, 10900, 100); /* still 10 a second */
    CHECK_RANGE(19900, 20010, retry_rate_get(&rate));
    throttle(&rate, 10950);
    check_limit(7, &rate);
}

static void test_never_above_twice_the_measured(void)
{
    retry_rate rate = ten_a_second(0);
    retry_ms now;
    answers(&rate, 0, 5000, 60000, 100);
    check_limit(20, &rate);
    for (now = 60000; now < 120000; now += 1000) /* 1 a second */
        answer(&rate, now);
    check_limit(2, &rate);
    for (now = 120000; now < 900000; now += 10000) /* 0.1 a second, and `min` */
        answer(&rate, now);
    check_limit(0.5, &rate);
}

/* The curve climbs for minutes: 0.4 * 80^3 is 204,800 a second. */
static void test_fast(void)
{
    retry_rate rate = rate_of(0);
    uint32_t i;
    throttle(&rate, 0);
    answer(&rate, 79500);
    for (i = 0; i < 70000; i++)
        answer(&rate, 79600);
    answer(&rate, 80000);
    CHECK_RANGE(204800000 - 204800000 / 500, 204800000 + 204800000 / 500, retry_rate_get(&rate));
    throttle(&rate, 80000);
    CHECK_RANGE(78300000, 78500000, retry_rate_get(&rate)); /* 0.7 * 0.8 * 140,000, measured */
}

/* What counts as a response, and what as throttled. */
static void test_reports(void)
{
    static const struct {
        retry_reason reason;
        bool throttle, timeout;
        bool counts, cuts;
    } rows[] = {
        {RETRY_REASON_NONE, false, false, true, false},
        {RETRY_REASON_KV_LOCKED, false, false, true, false},
        {RETRY_REASON_SERVER_ERROR, false, false, true, false},
        {RETRY_REASON_ATTEMPT_TIMED_OUT, false, true, true, false},
        {RETRY_REASON_SOCKET_NOT_AVAILABLE, false, false, true, false},
        {RETRY_REASON_SEARCH_TOO_MANY_REQUESTS, true, false, true, true},
        {RETRY_REASON_SERVER_ERROR, true, true, true, true},
        {RETRY_REASON_NONE, true, false, true, true},
        {RETRY_REASON_CIRCUIT_BREAKER_OPEN, false, false, false, false},
        {RETRY_REASON_CIRCUIT_BREAKER_OPEN, true, true, false, false},
        {RETRY_REASON_CLIENT_THROTTLED, false, false, false, false},
        {RETRY_REASON_CLIENT_THROTTLED, true, false, false, false},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = check_failure_of(rows[i].reason);
        retry_rate rate = rate_of(1);
        failure.throttle = rows[i].throttle;
        failure.timeout = rows[i].timeout;
        answer(&rate, 0);
        retry_rate_report(&rate, &failure, 100);
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].cuts, retry_rate_get(&rate) != UINT32_MAX);
        throttle(&rate, 500); /* 3 of them in half a second, or 2 */
        CHECK_EQUAL(rows[i].cuts ? 1 : rows[i].counts ? 3360 : 2240, retry_rate_get(&rate));
    }
}

/* The limit that `count` answers in half a second, the last of them throttled, set. */
static uint32_t limit_after(uint32_t count)
{
    retry_rate rate = rate_of(0);
    for (; count > 1; count--)
        answer(&rate, 0);
    throttle(&rate, 500);
    return retry_rate_get(&rate);
}

/* More than a million answers a second count as a million: 0.7 * 0.8 of that. */
static void test_measured_saturates(void)
{
    uint32_t most = limit_after(500000);
    CHECK_RANGE(559900000, 560100000, most);
    CHECK_RANGE(most - 2000, most - 1, limit_after(499999));
    CHECK_EQUAL(most, limit_after(500001));
    CHECK_EQUAL(most, limit_after(600000));
}

/* One ms after the first cut, to the last thousandth. Of 45 answers in 8 s the curve's cube root is
   a whole number, of 1,072 just above one, of 1,055 and 1,385 just below. */
static void test_just_after_a_cut(void)
{
    static const struct {
        uint32_t answers, halves, limit;
    } rows[] = {{45, 16, 3153},     {1055, 3, 393953},  {1072, 1, 1200787},
                {1385, 1, 1551417}, {1000, 1, 1120154}, {400000, 1, 448010621}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_rate rate = rate_of(0);
        uint32_t count;
        for (count = 1; count < rows[i].answers; count++)
            answer(&rate, 0);
        throttle(&rate, 500 * (retry_time)rows[i].halves);
        answer(&rate, 500 * (retry_time)rows[i].halves + 1);
        check_row("%lu answers", (unsigned long)rows[i].answers);
        CHECK_EQUAL(rows[i].limit, retry_rate_get(&rate));
    }
}

/* ---- the bucket ---------------------------------------------------------------------------- */

/* It begins empty, however long there was no limit. */
static void test_begins_empty(void)
{
    retry_rate rate = rate_of(10000);
    answer(&rate, 0);
    CHECK_EQUAL(0, retry_rate_ask(&rate, 100000));
    throttle(&rate, 100000);
    CHECK_EQUAL(100, retry_rate_ask(&rate, 100000));
}

static void test_capacity(void)
{
    static const struct {
        uint32_t min, capacity;
    } rows[] = {{1, 1},          {500, 1},         {1000, 1},          {1999, 1},
                {2000, 2},       {10500, 10},      {4294000, 4294},    {4294967, 4294},
                {4295000, 4294}, {50000000, 4294}, {4294967294u, 4294}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_rate rate = rate_of(rows[i].min);
        throttle(&rate, 0);
        check_row("min %lu", (unsigned long)rows[i].min);
        CHECK_EQUAL(rows[i].capacity, burst(&rate, 2000000));
        CHECK_EQUAL(rows[i].capacity, burst(&rate, 2000000 + DAY));
    }
}

/* 5 are there when the limit of 10 a second is cut to 7: they stay. Of 9 or 10, 7 stay. */
static void test_refilled_at_the_old_limit(void)
{
    static const struct {
        retry_ms after;
        uint32_t min, granted;
    } rows[] = {{500, 1, 5}, {900, 1, 7}, {1000, 1, 7}, {900, 8000, 8}, {500, 90000, 5}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_rate rate = rate_of(10000);
        answer(&rate, 0);
        answers(&rate, 0, 0, 4900, 100);
        throttle(&rate, 5000); /* 7, but for `min` */
        answers(&rate, 5000, 0, rows[i].after - 100, 100);
        CHECK_EQUAL(10000, retry_rate_get(&rate));
        rate.min = rows[i].min;
        throttle(&rate, 5000 + rows[i].after);
        check_row("after %lu ms, at least %lu", (unsigned long)rows[i].after,
                  (unsigned long)rows[i].min);
        CHECK_EQUAL(rows[i].granted, burst(&rate, 5000 + rows[i].after));
    }
}

/* The bucket in 64 bits, filled by the limits that the rate tells. */
struct bucket {
    uint64_t millionths;
    uint32_t limit;
    retry_time filled;
};

static void bucket_fill(struct bucket *bucket, uint32_t next, retry_time now)
{
    uint64_t capacity = (uint64_t)(bucket->limit < 1000 ? 1000 : bucket->limit) * 1000;
    uint64_t next_capacity = (uint64_t)(next < 1000 ? 1000 : next) * 1000;
    bucket->millionths += (uint64_t)bucket->limit * (now - bucket->filled);
    if (bucket->millionths > capacity)
        bucket->millionths = capacity;
    if (bucket->millionths > next_capacity)
        bucket->millionths = next_capacity;
    bucket->limit = next;
    bucket->filled = now;
}

static retry_ms bucket_ask(struct bucket *bucket, retry_time now)
{
    uint64_t missing;
    bucket_fill(bucket, bucket->limit, now);
    if (bucket->millionths >= 1000000) {
        bucket->millionths -= 1000000;
        return 0;
    }
    missing = 1000000 - bucket->millionths;
    return (retry_ms)((missing + bucket->limit - 1) / bucket->limit);
}

static void test_bucket_walk(void)
{
    static const uint32_t mins[] = {0, 1, 777, 30000, 1000000};
    static const uint32_t pauses[] = {3, 40, 1500};
    size_t i, j;
    unsigned step;
    for (i = 0; i < CHECK_COUNT(mins); i++) {
        for (j = 0; j < CHECK_COUNT(pauses); j++) {
            retry_rate rate = rate_of(mins[i]);
            struct bucket bucket = {0, 0, 0};
            retry_time now = 0;
            throttle(&rate, now);
            bucket.limit = retry_rate_get(&rate);
            for (step = 0; step < 2000; step++) {
                now += check_random() % pauses[j];
                check_row("min %lu, pauses %lu, step %u", (unsigned long)mins[i],
                          (unsigned long)pauses[j], step);
                CHECK_EQUAL(bucket_ask(&bucket, now), retry_rate_ask(&rate, now));
                if (check_random() % 3 == 0) {
                    if (check_random() % 20 == 0)
                        throttle(&rate, now);
                    else
                        answer(&rate, now);
                    bucket_fill(&bucket, retry_rate_get(&rate), now);
                }
            }
        }
    }
}

/* ---- the SDKs' algorithm in floating point ------------------------------------------------- */

struct model {
    double measured, limit, peak, throttled_at, min; /* limit 0: none yet */
    int64_t half;                                    /* -1: no response yet */
    uint32_t count;
};

static struct model model_of(uint32_t min)
{
    struct model model = {0, 0, 0, 0, 0, -1, 0};
    model.min = min ? (double)min / 1000 : 0.5;
    return model;
}

static void model_measure(struct model *model, double t)
{
    int64_t half = (int64_t)floor(t * 2);
    if (model->half < 0)
        model->half = half;
    model->count++;
    if (half > model->half) {
        double fresh = (double)model->count / ((double)(half - model->half) / 2);
        model->measured = fresh * 0.8 + model->measured * 0.2;
        model->half = half;
        model->count = 0;
    }
}

static void model_report(struct model *model, bool throttled, double t)
{
    double limit, dt;
    model_measure(model, t);
    if (throttled) {
        model->peak = model->limit > 0 ? fmin(model->measured, model->limit) : model->measured;
        model->throttled_at = t;
        limit = model->peak * 0.7;
    } else if (model->limit > 0) {
        dt = t - model->throttled_at - cbrt(model->peak * 0.3 / 0.4);
        limit = fmin(0.4 * dt * dt * dt + model->peak, 2 * model->measured);
    } else {
        return;
    }
    model->limit = fmax(limit, model->min);
}

static void check_model(const struct model *model, const retry_rate *rate)
{
    uint32_t got = retry_rate_get(rate);
    double slack = fmax(model->limit * 0.002, 0.01);
    if (model->limit > 0)
        CHECK_RANGE(fmax(model->limit - slack, 0) * 1000, (model->limit + slack) * 1000, got);
    else
        CHECK_EQUAL(UINT32_MAX, got);
}

#ifdef CHECK_QUICK
#define STEPS 600
#else
#define STEPS 6000
#endif

/* Answers at rates from once in minutes to ten a ms, few or many of them throttled, rates and
   shares changing on the way. */
static void test_against_floating_point(void)
{
    static const uint32_t mins[] = {0, 50, 5000};
    static const uint32_t shares[] = {2, 10, 100, 1000};
    uint32_t spacing = 1;
    size_t i, j;
    unsigned step;
    for (i = 0; i < CHECK_COUNT(mins); i++) {
        for (j = 0; j < CHECK_COUNT(shares); j++) {
            retry_rate rate = rate_of(mins[i]);
            struct model model = model_of(mins[i]);
            retry_time now = 0;
            for (step = 0; step < STEPS; step++) {
                bool throttled = check_random() % shares[j] == 0;
                if (step % 300 == 0)
                    spacing = 1 + (check_random() >> (12 + check_random() % 20)) % 100000;
                now += check_random() % (spacing + (check_random() % 3 == 0));
                if (throttled)
                    throttle(&rate, now);
                else
                    answer(&rate, now);
                model_report(&model, throttled, (double)now / 1000);
                check_row("min %lu, one of %lu throttled, step %u", (unsigned long)mins[i],
                          (unsigned long)shares[j], step);
                check_model(&model, &rate);
            }
        }
    }
}

/* A client that sends what it may, five a ms at most, to a server that throttles what is above a
   rate of its own. */
static void test_against_a_server(void)
{
    static const uint32_t served[] = {2, 90, 3000};
    size_t i;
    for (i = 0; i < CHECK_COUNT(served); i++) {
        retry_rate rate = rate_of(0);
        struct model model = model_of(0);
        double tokens = 0;
        retry_time now = 0;
        unsigned sent = 0;
        while (sent < STEPS) {
            retry_ms wait = retry_rate_ask(&rate, now);
            bool throttled = tokens < 1;
            if (wait == 0) {
                if (throttled)
                    throttle(&rate, now);
                else
                    answer(&rate, now);
                tokens -= throttled ? 0 : 1;
                model_report(&model, throttled, (double)now / 1000);
                check_row("%lu a second served, send %u", (unsigned long)served[i], sent);
                check_model(&model, &rate);
                wait = ++sent % 5 == 0;
            }
            now += wait;
            tokens = fmin(tokens + (double)served[i] * ((double)wait / 1000), (double)served[i]);
        }
    }
}

/* ---- clocks -------------------------------------------------------------------------------- */

/* A zeroed rate works at any instant, and across the wrap of either width. */
static void test_any_start(void)
{
    static const retry_time starts[] = {0,
                                        1,
                                        2,
                                        499,
                                        32768,
                                        0x7ffffff,
                                        0x8000000,
                                        0x7fffffff,
                                        0x80000000,
                                        0xf8000000,
                                        0xffff8000,
                                        0xffffffff,
                                        (retry_time)-1,
                                        (retry_time)-100,
                                        (retry_time)-32768};
    size_t i;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        retry_rate rate = rate_of(0);
        retry_time start = starts[i];
        check_row("start %" PRIu64, (uint64_t)start);
        CHECK_EQUAL(0, retry_rate_ask(&rate, start));
        throttle(&rate, start);
        CHECK_EQUAL(500, retry_rate_get(&rate));
        CHECK_EQUAL(1900, retry_rate_ask(&rate, check_after(start, 100)));
        CHECK_EQUAL(1, retry_rate_ask(&rate, check_after(start, 1999)));
        CHECK_EQUAL(0, retry_rate_ask(&rate, check_after(start, 2000)));
        CHECK_EQUAL(1, burst(&rate, check_after(start, 40 * DAY)));
        rate = rate_of(1);
        answer(&rate, start);
        throttle(&rate, check_after(start, 500)); /* at most one half second later, at least one */
        CHECK_RANGE(1120, 2240, retry_rate_get(&rate)); /* 0.7 * 0.8 * 4, or half of it */
        rate = rate_of(1);
        throttle(&rate, start); /* the first of all, and nothing measured */
        CHECK_EQUAL(1, retry_rate_get(&rate));
    }
}

/* Half seconds are those of the instant modulo 2^32, which ends with one of 296 ms. */
static void test_half_seconds(void)
{
    static const struct {
        uint32_t from;
        retry_ms passed;
        uint32_t halves;
    } rows[] = {
        {0, 499, 0},
        {0, 500, 1},
        {0, 999, 1},
        {0, 1000, 2},
        {499, 1, 1},
        {499, 500, 1},
        {499, 501, 2},
        {250, 249, 0},
        {250, 250, 1},
        {4294966500u, 499, 0},
        {4294966500u, 500, 1},
        {4294967000u, 295, 0},
        {4294967000u, 296, 1},
        {4294967295u, 1, 1},
        {4294967295u, 500, 1},
        {4294967295u, 501, 2},
        {4294966999u, 1, 1},
        {4294966999u, 296, 1},
        {4294966999u, 297, 2},
        {4294966999u, 797, 3},
        {2147483500u, 499, 0},
        {2147483500u, 500, 1},
        {1, 3456000000u, 6912000},
    };
    static const retry_time eras[] = {0,
#ifndef RETRY_TIME_32
                                      (retry_time)5 << 32
#endif
    };
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (j = 0; j < CHECK_COUNT(eras); j++) {
            retry_rate rate = rate_of(1);
            retry_time start = eras[j] + rows[i].from;
            uint32_t k, expected = 1;
            for (k = 1; k < 20000; k++) /* the throttled one is the 20,000th */
                answer(&rate, start);
            throttle(&rate, check_after(start, rows[i].passed));
            if (rows[i].halves != 0)
                expected = 22400000u / rows[i].halves; /* 0.7 * 0.8 * 20,000 * 2 */
            check_row("from %lu, %lu ms", (unsigned long)rows[i].from,
                      (unsigned long)rows[i].passed);
            CHECK_RANGE(expected - expected / 1000, expected + expected / 1000 + 1,
                        retry_rate_get(&rate));
        }
    }
}

/* A clock up to 32 s behind is another thread's: no time passes until it has caught up. */
static void test_slightly_behind(void)
{
    static const retry_ms behind[] = {1, 999, 32000, 32768};
    static const retry_time starts[] = {100000, 0, 5000, (retry_time)-5000};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(behind); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_rate rate = rate_of(0);
            retry_time start = starts[j];
            retry_time back = check_after(start, (retry_time)-1 - behind[i] + 1);
            throttle(&rate, start);
            check_row("%lu ms behind %" PRIu64, (unsigned long)behind[i], (uint64_t)start);
            CHECK_EQUAL(2000, retry_rate_ask(&rate, back));
            CHECK_EQUAL(2000, retry_rate_ask(&rate, start));
            CHECK_EQUAL(1500, retry_rate_ask(&rate, check_after(start, 500)));
            CHECK_EQUAL(1500, retry_rate_ask(&rate, check_after(back, 500)));
            answer(&rate, check_after(back, 500));
            CHECK_EQUAL(1500, retry_rate_ask(&rate, check_after(start, 500)));
            CHECK_EQUAL(0, retry_rate_ask(&rate, check_after(start, 2000)));
        }
    }
}

/* One further behind was set back: nothing is earned for it, and the rate goes on from there. */
static void test_set_back(void)
{
    static const retry_ms behind[] = {32769, 60000, 3600000, 134217727, 134217728};
    static const retry_time starts[] = {200000000, 0, 5000, (retry_time)-5000};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(behind); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_rate rate = rate_of(0);
            retry_time start = starts[j], last = check_after(start, 100);
            retry_time back = check_after(last, (retry_time)-1 - behind[i] + 1);
            throttle(&rate, start);
            check_row("%lu ms behind %" PRIu64, (unsigned long)behind[i], (uint64_t)last);
            CHECK_EQUAL(1900, retry_rate_ask(&rate, last));
            CHECK_EQUAL(1900, retry_rate_ask(&rate, back));
            CHECK_EQUAL(1800, retry_rate_ask(&rate, check_after(back, 100)));
            CHECK_EQUAL(0, retry_rate_ask(&rate, check_after(back, 1900)));
        }
    }
}

/* The curve and the half seconds go on at once, too, and no time has passed for them. */
static void test_set_back_between_reports(void)
{
    static const retry_ms behind[] = {32769, 60000, 3600000, 134217727, 134217728};
    static const retry_time starts[] = {200000000, 0, (retry_time)-5296};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(behind); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_rate rate = ten_a_second(starts[j]);
            retry_time back = check_after(starts[j], (retry_time)-1 - behind[i] + 1 + 5000);
            check_row("%lu ms behind %" PRIu64, (unsigned long)behind[i], (uint64_t)starts[j]);
            answer(&rate, back);
            check_limit(7, &rate);
            answers(&rate, back, 0, 1000, 10);
            check_limit(9.64894, &rate);
            answers(&rate, back, 1000, 4000, 10);
            check_limit(13.40870, &rate);
        }
    }
}

/* Anything else is time that has passed. */
static void test_idle(void)
{
    static const unsigned days[] = {1, 24, 25, 40, 48};
    static const retry_time starts[] = {0, 12345678, 0x80000000, 0xfffffff0, (retry_time)-5296};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(days); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time start = starts[j], later = check_after(start, days[i] * DAY);
            retry_rate rate = rate_of(7000);
            throttle(&rate, start);
            CHECK_EQUAL(143, retry_rate_ask(&rate, start));
            check_row("%u days from %" PRIu64, days[i], (uint64_t)start);
            CHECK_EQUAL(7, burst(&rate, later));
            CHECK_EQUAL(143, retry_rate_ask(&rate, later));
            rate = rate_of(0);
            answers(&rate, start, 0, 5000, 100);
            throttle(&rate, check_after(start, 5000));
            CHECK_RANGE(6500, 7500, retry_rate_get(&rate));
            answer(&rate, later); /* one in so many days, and a fifth of ten a second */
            CHECK_RANGE(3950, 4060, retry_rate_get(&rate));
        }
    }
}

/* After 49 days it may be taken for a step back: then it goes on from there. */
static void test_idle_for_long(void)
{
    static const uint64_t idle[] = {4233600000u, UINT32_MAX, 4294967296u, 4294967297u, 8640000000u};
    size_t i;
    for (i = 0; i < CHECK_COUNT(idle); i++) {
        retry_rate rate = rate_of(7000);
        retry_time later = (retry_time)idle[i];
        throttle(&rate, 0);
        check_row("%" PRIu64 " ms", idle[i]);
        CHECK_RANGE(0, 7, burst(&rate, later));
        CHECK_RANGE(1, 143, retry_rate_ask(&rate, later));
        CHECK_RANGE(6, 7, burst(&rate, check_after(later, 33000 + 1000)));
    }
}

/* Bursts for months after a throttled answer, the last one exactly a multiple of 2^30 ms later: the
   curve does not start over. */
static void test_runs_for_long(void)
{
    static const struct {
        retry_ms pause;
        unsigned count;
    } rows[] = {
        {43200000, 200}, {1073741824, 1}, {1073741824, 8}, {2147483648u, 3}, {3456000000u, 4}};
    size_t i;
    unsigned j;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_rate rate = ten_a_second(0);
        retry_time now = 5000;
        for (j = 0; j < rows[i].count; j++) {
            now = check_after(now, rows[i].pause);
            answers(&rate, check_after(now, (retry_time)-1 - 4000 + 1), 0, 4000, 10);
            check_row("pause %lu, burst %u", (unsigned long)rows[i].pause, j);
            CHECK_RANGE(195000, 205000, retry_rate_get(&rate)); /* twice a hundred */
        }
    }
}

int main(void)
{
    RUN(test_null);
    RUN(test_size);
    RUN(test_no_limit_yet);
    RUN(test_measured);
    RUN(test_measured_and_throttled);
    RUN(test_cubic);
    RUN(test_plateau);
    RUN(test_bucket);
    RUN(test_min);
    RUN(test_throttled_again_and_again);
    RUN(test_throttled_far_above);
    RUN(test_never_above_twice_the_measured);
    RUN(test_fast);
    RUN(test_reports);
    RUN(test_measured_saturates);
    RUN(test_just_after_a_cut);
    RUN(test_begins_empty);
    RUN(test_capacity);
    RUN(test_refilled_at_the_old_limit);
    RUN(test_bucket_walk);
    RUN(test_against_floating_point);
    RUN(test_against_a_server);
    RUN(test_any_start);
    RUN(test_half_seconds);
    RUN(test_slightly_behind);
    RUN(test_set_back);
    RUN(test_set_back_between_reports);
    RUN(test_idle);
    RUN(test_idle_for_long);
    RUN(test_runs_for_long);
    return check_done();
}
