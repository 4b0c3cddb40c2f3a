/* The AIMD limit: what makes it fall and rise, by how much, how often, and within what. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#define DAY ((retry_time)86400000)
#define ALL UINT32_MAX /* so many are in use that the limit may rise */

static retry_aimd aimd_of(uint32_t max)
{
    retry_aimd aimd;
    memset(&aimd, 0, sizeof aimd);
    aimd.max = max;
    return aimd;
}

static uint32_t sick(retry_aimd *aimd, retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
    return retry_aimd_report(aimd, &failure, ALL, now);
}

static uint32_t answered(retry_aimd *aimd, uint32_t in_use, retry_time now)
{
    return retry_aimd_report(aimd, NULL, in_use, now);
}

/* A limit of half of `max`, which it got from a fall at `now`. */
static retry_aimd fallen(uint32_t max, retry_time now)
{
    retry_aimd aimd = aimd_of(max);
    sick(&aimd, now);
    return aimd;
}

static void test_null(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    CHECK_EQUAL(UINT32_MAX, retry_aimd_limit(NULL));
    CHECK_EQUAL(UINT32_MAX, retry_aimd_report(NULL, NULL, 1, 0));
    CHECK_EQUAL(UINT32_MAX, retry_aimd_report(NULL, &failure, 1, 0));
    failure.reason = RETRY_REASON_CLIENT_THROTTLED;
    CHECK_EQUAL(UINT32_MAX, retry_aimd_report(NULL, &failure, 1, 0));
}

static void test_size(void)
{
    CHECK_RANGE(1, 32, sizeof(retry_aimd));
}

/* Zeroed: 2, 1, 1, a half, and by hand 1 s. */
static void test_defaults(void)
{
    retry_aimd aimd = aimd_of(0);
    CHECK_EQUAL(2, retry_aimd_limit(&aimd));
    CHECK_EQUAL(2, answered(&aimd, 2, 0));
    CHECK_EQUAL(1, sick(&aimd, 0));
    CHECK_EQUAL(1, retry_aimd_limit(&aimd));
    CHECK_EQUAL(1, answered(&aimd, 1, 1000));
    CHECK_EQUAL(2, answered(&aimd, 1, 1001));
    CHECK_EQUAL(2, answered(&aimd, 2, 2002));
    CHECK_EQUAL(1, sick(&aimd, 1001));
}

static void test_starts_at_max(void)
{
    static const uint32_t maxima[] = {1, 2, 10, 1000000, UINT32_MAX - 1, UINT32_MAX};
    size_t i;
    for (i = 0; i < CHECK_COUNT(maxima); i++) {
        retry_aimd aimd = aimd_of(maxima[i]);
        check_row("max %lu", (unsigned long)maxima[i]);
        CHECK_EQUAL(maxima[i], retry_aimd_limit(&aimd));
        CHECK_EQUAL(maxima[i], answered(&aimd, ALL, 0));
        CHECK_EQUAL(maxima[i] > 1 ? maxima[i] / 2 : 1, sick(&aimd, 0));
    }
}

/* ---- falls --------------------------------------------------------------------------------- */

static void test_fall(void)
{
    static const struct {
        uint32_t limit, min, decrease, expected;
    } rows[] = {
        {4, 0, 0, 2},
        {1, 0, 0, 1},
        {2, 0, 0, 1},
        {3, 0, 0, 1},
        {10, 0, RETRY_RATIO(0.9), 9},
        {9, 0, RETRY_RATIO(0.9), 8},
        {5, 0, RETRY_RATIO(0.1), 1},
        {5, 0, RETRY_RATIO(0.00001), 1},
        {5, 0, 1, 1},
        {1000, 0, RETRY_RATIO(0.999), 999},
        {1000, 0, RETRY_RATIO(1), 999},
        {100000, 0, RETRY_RATIO(7), 99899},
        {100000, 0, UINT32_MAX, 99899},
        {10, 0, RETRY_RATIO(0.999), 9}, /* at least one less */
        {2, 0, RETRY_RATIO(0.999), 1},
        {1, 0, RETRY_RATIO(0.999), 1},
        {10, 5, 0, 5},
        {10, 6, 0, 6},
        {10, 9, RETRY_RATIO(0.999), 9},
        {10, 10, 0, 10},
        {10, 11, 0, 10}, /* min above max counts as max */
        {10, UINT32_MAX, 0, 10},
        {65535, 0, RETRY_RATIO(0.5), 32767},
        {40001, 0, RETRY_RATIO(0.75), 30000},
        {1000001, 0, RETRY_RATIO(0.75), 750000},
        {UINT32_MAX, 0, 0, 2147483647},
        {UINT32_MAX, UINT32_MAX - 1, 0, UINT32_MAX - 1},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(rows[i].limit);
        aimd.min = rows[i].min;
        aimd.decrease = rows[i].decrease;
        check_row("%lu, at least %lu, row %u", (unsigned long)rows[i].limit,
                  (unsigned long)rows[i].min, (unsigned)i);
        CHECK_EQUAL(rows[i].expected, sick(&aimd, 77));
        CHECK_EQUAL(rows[i].expected, retry_aimd_limit(&aimd));
    }
}

/* n per cent of a limit, where RETRY_RATIO(n / 100.0) may be half a unit short. */
static void test_ratio_may_be_short(void)
{
    static const uint32_t limits[] = {10, 20, 50, 100, 200, 300, 1000, 1700};
    uint32_t percent;
    size_t i;
    for (percent = 1; percent < 100; percent++) {
        for (i = 0; i < CHECK_COUNT(limits); i++) {
            retry_aimd aimd = aimd_of(limits[i]);
            uint32_t kept = limits[i] * percent / 100;
            aimd.decrease = RETRY_RATIO((double)percent / 100);
            check_row("%lu %% of %lu", (unsigned long)percent, (unsigned long)limits[i]);
            CHECK_EQUAL(kept ? kept : 1, sick(&aimd, 0));
        }
    }
}

/* What falls, rises or changes nothing. */
static void test_outcomes(void)
{
    enum { SAME, FALLS, RISES };
    static const struct {
        retry_reason reason;
        bool throttle, timeout;
        uint8_t expected;
    } rows[] = {
        {RETRY_REASON_ATTEMPT_TIMED_OUT, false, false, FALLS},
        {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, false, false, FALLS},
        {RETRY_REASON_SOCKET_NOT_AVAILABLE, false, false, FALLS},
        {RETRY_REASON_SERVICE_NOT_AVAILABLE, false, false, FALLS},
        {RETRY_REASON_NODE_NOT_AVAILABLE, false, false, FALLS},
        {RETRY_REASON_NONE, false, true, FALLS},
        {RETRY_REASON_NONE, true, false, FALLS},
        {RETRY_REASON_KV_LOCKED, true, false, FALLS},
        {RETRY_REASON_SEARCH_TOO_MANY_REQUESTS, true, false, FALLS},
        {RETRY_REASON_SERVER_ERROR, false, false, SAME},
        {RETRY_REASON_SERVER_ERROR, true, false, FALLS},
        {RETRY_REASON_SERVER_ERROR, false, true, FALLS},
        {RETRY_REASON_SERVER_ERROR, true, true, FALLS},
        {RETRY_REASON_CIRCUIT_BREAKER_OPEN, false, false, SAME},
        {RETRY_REASON_CIRCUIT_BREAKER_OPEN, true, true, SAME},
        {RETRY_REASON_CLIENT_THROTTLED, false, false, SAME},
        {RETRY_REASON_CLIENT_THROTTLED, true, true, SAME},
        {RETRY_REASON_NONE, false, false, RISES},
        {RETRY_REASON_UNKNOWN, false, false, RISES},
        {RETRY_REASON_KV_LOCKED, false, false, RISES},
        {RETRY_REASON_KV_NOT_MY_VBUCKET, false, false, RISES},
        {RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED, false, false, RISES},
        {RETRY_REASON_USER(3, 0), false, false, RISES},
    };
    static const uint32_t limits[] = {8, 4, 9};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = fallen(16, 0);
        retry_failure failure = check_failure_of(rows[i].reason);
        failure.throttle = rows[i].throttle;
        failure.timeout = rows[i].timeout;
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(limits[rows[i].expected], retry_aimd_report(&aimd, &failure, 8, 6000));
        CHECK_EQUAL(limits[rows[i].expected], retry_aimd_limit(&aimd));
        if (rows[i].expected == SAME) { /* no cooldown either */
            CHECK_EQUAL(9, answered(&aimd, 8, 6000));
            CHECK_EQUAL(4, sick(&aimd, 6000));
        }
    }
}

/* ---- rises --------------------------------------------------------------------------------- */

static void test_rise(void)
{
    static const struct {
        uint32_t max, limit, increase, expected;
    } rows[] = {
        {10, 2, 0, 3},
        {10, 2, 1, 3},
        {10, 2, 5, 7},
        {10, 2, 8, 10},
        {10, 2, 9, 10},
        {10, 2, UINT32_MAX, 10},
        {10, 9, 0, 10},
        {5, 5, 0, 5},
        {5, 5, 3, 5},
        {UINT32_MAX, UINT32_MAX - 1, 0, UINT32_MAX},
        {UINT32_MAX, UINT32_MAX - 1, UINT32_MAX, UINT32_MAX},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(rows[i].limit);
        aimd.min = rows[i].limit;
        CHECK_EQUAL(rows[i].limit, sick(&aimd, 0));
        aimd.max = rows[i].max;
        aimd.increase = rows[i].increase;
        check_row("%lu of at most %lu", (unsigned long)rows[i].limit, (unsigned long)rows[i].max);
        CHECK_EQUAL(rows[i].expected, answered(&aimd, rows[i].limit, 1001));
        CHECK_EQUAL(rows[i].expected, retry_aimd_limit(&aimd));
    }
}

/* Half of the limit at least has to be in use, the attempt itself included. */
static void test_in_use(void)
{
    static const struct {
        uint32_t limit, in_use;
        bool rises;
    } rows[] = {
        {1, 0, false},
        {1, 1, true},
        {2, 0, false},
        {2, 1, true},
        {3, 1, false},
        {3, 2, true},
        {8, 3, false},
        {8, 4, true},
        {8, 5, true},
        {8, 8, true},
        {8, 100, true},
        {8, 0x80000004u, true},
        {8, UINT32_MAX, true},
        {9, 4, false},
        {9, 5, true},
        {0xfffffffeu, 0x7ffffffeu, false},
        {0xfffffffeu, 0x7fffffffu, true},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(rows[i].limit);
        aimd.min = rows[i].limit;
        sick(&aimd, 0);
        aimd.max = UINT32_MAX;
        check_row("%lu of %lu in use", (unsigned long)rows[i].in_use, (unsigned long)rows[i].limit);
        CHECK_EQUAL(rows[i].limit + rows[i].rises, answered(&aimd, rows[i].in_use, 1001));
    }
}

/* ---- cooldowns ----------------------------------------------------------------------------- */

static void test_cooldown(void)
{
    static const struct {
        retry_ms cooldown, applied;
    } rows[] = {{0, 1000},
                {1, 1},
                {1000, 1000},
                {86400000, 86400000},
                {1073741824, 1073741824},
                {1073741825, 1073741824},
                {UINT32_MAX, 1073741824}};
    static const retry_time starts[] = {
        0, 1, 0x80000000, 0xffffffff, (retry_time)-1, (retry_time)-1000};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time now = starts[j], over = check_after(now, rows[i].applied);
            retry_aimd aimd = aimd_of(80);
            aimd.cooldown = rows[i].cooldown;
            check_row("cooldown %lu from %" PRIu64, (unsigned long)rows[i].cooldown, (uint64_t)now);
            CHECK_EQUAL(40, sick(&aimd, now));
            CHECK_EQUAL(40, sick(&aimd, now));
            CHECK_EQUAL(40, answered(&aimd, ALL, now));
            CHECK_EQUAL(40, sick(&aimd, over));
            CHECK_EQUAL(40, answered(&aimd, ALL, over));
            now = check_after(over, 1);
            CHECK_EQUAL(41, answered(&aimd, ALL, now)); /* since the fall */
            CHECK_EQUAL(41, answered(&aimd, ALL, now));
            CHECK_EQUAL(20, sick(&aimd, now)); /* no rise keeps it from falling */
            over = check_after(now, rows[i].applied);
            CHECK_EQUAL(20, answered(&aimd, ALL, over));
            now = check_after(over, 1);
            CHECK_EQUAL(21, answered(&aimd, ALL, now));
            over = check_after(now, rows[i].applied);
            CHECK_EQUAL(21, answered(&aimd, ALL, over)); /* since the rise */
            CHECK_EQUAL(22, answered(&aimd, ALL, check_after(over, 1)));
        }
    }
}

/* The published sequence: 8 to 9 on an answer, then a failure at once: 4. */
/* An instant over half the range of 32 bits is not taken for one long past before there is any. */
static void test_first_fall_late(void)
{
    const retry_time late = (retry_time)3000000000u;
    retry_aimd aimd = aimd_of(100);
    CHECK_EQUAL(100, answered(&aimd, ALL, late));
    CHECK_EQUAL(50, sick(&aimd, late));
    CHECK_EQUAL(50, sick(&aimd, late + 1000));
    CHECK_EQUAL(25, sick(&aimd, late + 1001));
}

static void test_fall_after_rise(void)
{
    retry_aimd aimd = fallen(16, 0);
    aimd.max = 10;
    CHECK_EQUAL(8, retry_aimd_limit(&aimd));
    CHECK_EQUAL(9, answered(&aimd, 9, 1001));
    CHECK_EQUAL(4, sick(&aimd, 1001));
    CHECK_EQUAL(4, answered(&aimd, 4, 2001));
    CHECK_EQUAL(5, answered(&aimd, 4, 2002));
}

/* At the lowest it counts as a fall all the same; at the highest nothing counts as a rise. */
static void test_at_the_bounds(void)
{
    retry_aimd aimd = fallen(2, 0);
    CHECK_EQUAL(1, sick(&aimd, 1001));
    CHECK_EQUAL(1, answered(&aimd, 1, 1002));
    CHECK_EQUAL(1, answered(&aimd, 1, 2001));
    CHECK_EQUAL(2, answered(&aimd, 1, 2002));
    CHECK_EQUAL(2, answered(&aimd, 2, 3003));
    aimd.max = 3;
    CHECK_EQUAL(3, answered(&aimd, 2, 3003));

    aimd = aimd_of(1); /* the first fall of all at the lowest */
    CHECK_EQUAL(1, sick(&aimd, 0));
    aimd.max = 9;
    CHECK_EQUAL(1, answered(&aimd, 1, 1000));
    CHECK_EQUAL(2, answered(&aimd, 1, 1001));
}

/* ---- bounds that change -------------------------------------------------------------------- */

static void test_bounds_change(void)
{
    retry_aimd aimd = fallen(16, 0);
    aimd.max = 5;
    CHECK_EQUAL(5, retry_aimd_limit(&aimd));
    CHECK_EQUAL(5, answered(&aimd, 5, 100));
    aimd.max = 20;
    CHECK_EQUAL(8, retry_aimd_limit(&aimd));
    aimd.min = 12;
    CHECK_EQUAL(12, retry_aimd_limit(&aimd));
    aimd.min = 30;
    CHECK_EQUAL(20, retry_aimd_limit(&aimd));
    aimd.min = 0;
    aimd.max = 0;
    CHECK_EQUAL(2, retry_aimd_limit(&aimd));
    aimd.max = 6; /* a fall counts from what the limit reads */
    CHECK_EQUAL(3, sick(&aimd, 6000));
    aimd.min = 5; /* and so does a rise */
    CHECK_EQUAL(6, answered(&aimd, 5, 12000));
    aimd.min = 0;
    CHECK_EQUAL(6, retry_aimd_limit(&aimd));

    aimd = fallen(16, 0); /* half of what the limit reads is in use, or it does not rise */
    aimd.min = 12;
    CHECK_EQUAL(12, answered(&aimd, 5, 2000));
    CHECK_EQUAL(13, answered(&aimd, 6, 4000));
    aimd.min = aimd.max = 15; /* and what cannot rise leaves it as it was */
    CHECK_EQUAL(15, answered(&aimd, ALL, 6000));
    aimd.min = 0;
    CHECK_EQUAL(13, retry_aimd_limit(&aimd));
    aimd.increase = 10; /* a rise is cut at what max is then */
    CHECK_EQUAL(15, answered(&aimd, ALL, 8000));
    aimd.max = 100;
    CHECK_EQUAL(15, retry_aimd_limit(&aimd));

    aimd = aimd_of(4); /* before the first fall the limit is max, whatever that is */
    aimd.max = 7;
    CHECK_EQUAL(7, retry_aimd_limit(&aimd));
    CHECK_EQUAL(3, sick(&aimd, 0));
}

/* ---- clocks -------------------------------------------------------------------------------- */

/* Up to 32 s behind the last change no time has passed until the clock has caught up. */
static void test_step_back(void)
{
    static const retry_ms behind[] = {1, 1001, 20000, 31767};
    static const retry_time starts[] = {300000000, 0, 5000, (retry_time)-5000};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(behind); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time start = starts[j];
            retry_time back = check_after(start, (retry_time)-1 - behind[i] + 1);
            retry_aimd aimd = fallen(16, start);
            check_row("%lu ms behind %" PRIu64, (unsigned long)behind[i], (uint64_t)start);
            CHECK_EQUAL(8, sick(&aimd, back));
            CHECK_EQUAL(8, answered(&aimd, ALL, back));
            CHECK_EQUAL(8, sick(&aimd, check_after(start, 1000)));
            CHECK_EQUAL(9, answered(&aimd, ALL, check_after(start, 1001)));
            CHECK_EQUAL(9, answered(&aimd, ALL, back));
            CHECK_EQUAL(4, sick(&aimd, check_after(start, 1001)));
        }
    }
}

/* Further behind it was set back: time has passed. */
static void test_set_back(void)
{
    static const retry_ms behind[] = {32769, 40000, 134217728, 2147483648u};
    size_t i;
    for (i = 0; i < CHECK_COUNT(behind); i++) {
        retry_time start = (retry_time)3000000000u, back = start - behind[i];
        retry_aimd aimd = fallen(16, start);
        check_row("%lu ms behind", (unsigned long)behind[i]);
        CHECK_EQUAL(9, answered(&aimd, ALL, back));
        CHECK_EQUAL(4, sick(&aimd, back));
        CHECK_EQUAL(4, answered(&aimd, ALL, check_after(back, 1000)));
        CHECK_EQUAL(5, answered(&aimd, ALL, check_after(back, 1001)));
    }
}

/* However long nobody asked: the first call decides as after a cooldown. */
static void test_idle(void)
{
    static const retry_time starts[] = {0, 12345678, 0x80000000, 0xfffffff0, (retry_time)-5000};
    unsigned hours;
    size_t j;
    for (hours = 1; hours <= 2400; hours++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time later = check_after(starts[j], hours * (retry_time)3600000);
            retry_aimd aimd = fallen(16, starts[j]);
            check_row("%u hours from %" PRIu64, hours, (uint64_t)starts[j]);
            CHECK_EQUAL(9, answered(&aimd, ALL, later));
            CHECK_EQUAL(4, sick(&aimd, later));
            aimd = fallen(16, starts[j]);
            CHECK_EQUAL(4, sick(&aimd, later));
            CHECK_EQUAL(4, answered(&aimd, ALL, later));
        }
    }
}

/* A rise comes soon after all has failed for months. */
static void test_fails_for_long(void)
{
    uint64_t passed;
    retry_aimd aimd = fallen(16, 0), copy;
    retry_time now = 0;
    CHECK_EQUAL(9, answered(&aimd, ALL, check_after(now, 1001)));
    for (passed = 0; passed < 130 * (uint64_t)DAY; passed += DAY / 2) {
        now = check_after(now, DAY / 2);
        check_row("%" PRIu64 " ms", passed);
        sick(&aimd, now);
        copy = aimd;
        CHECK_EQUAL(retry_aimd_limit(&aimd) + 1, answered(&copy, ALL, check_after(now, 1001)));
    }
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* The rules in 64 bits; -1: never. */
struct model {
    int64_t fell, changed;
    uint32_t limit;
};

static void model_report(struct model *model, const retry_aimd *aimd, bool well, uint32_t in_use,
                         int64_t now)
{
    uint32_t limit = model->limit;
    bool may_fall = model->fell < 0 || now - model->fell > aimd->cooldown;
    bool may_rise = model->changed >= 0 && now - model->changed > aimd->cooldown;
    if (!well && may_fall) {
        limit = (uint32_t)((uint64_t)limit * aimd->decrease / 65536);
        limit = limit < model->limit ? limit : model->limit - 1;
        model->limit = limit > aimd->min ? limit : aimd->min;
        model->fell = model->changed = now;
    } else if (well && may_rise && 2 * (uint64_t)in_use >= limit && limit < aimd->max) {
        model->limit = aimd->max - limit < aimd->increase ? aimd->max : limit + aimd->increase;
        model->changed = now;
    }
}

static void test_random_walk(void)
{
    static const uint32_t sick_ones[] = {2, 10, 100};
    static const retry_time starts[] = {0, (retry_time)-1000000};
    size_t i, j;
    unsigned step;
    for (i = 0; i < CHECK_COUNT(sick_ones); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_aimd aimd = aimd_of(60);
            struct model model = {-1, -1, 60};
            int64_t passed = 0;
            aimd.min = 3;
            aimd.increase = 4;
            aimd.decrease = RETRY_RATIO(0.75);
            aimd.cooldown = 300;
            for (step = 0; step < 20000; step++) {
                bool well = check_random() % sick_ones[i] != 0;
                uint32_t in_use = check_random() % 61;
                retry_time now;
                passed += check_random() % 200;
                now = check_after(starts[j], (retry_time)passed);
                model_report(&model, &aimd, well, in_use, passed);
                check_row("one of %lu sick, step %u", (unsigned long)sick_ones[i], step);
                CHECK_EQUAL(model.limit, well ? answered(&aimd, in_use, now) : sick(&aimd, now));
            }
        }
    }
}

int main(void)
{
    RUN(test_null);
    RUN(test_size);
    RUN(test_defaults);
    RUN(test_starts_at_max);
    RUN(test_fall);
    RUN(test_ratio_may_be_short);
    RUN(test_outcomes);
    RUN(test_rise);
    RUN(test_in_use);
    RUN(test_cooldown);
    RUN(test_first_fall_late);
    RUN(test_fall_after_rise);
    RUN(test_at_the_bounds);
    RUN(test_bounds_change);
    RUN(test_step_back);
    RUN(test_set_back);
    RUN(test_idle);
    RUN(test_fails_for_long);
    RUN(test_random_walk);
    return check_done();
}
