/* The circuit breaker: what opens it, how its window rolls, the probe, permits that are too late,
   clocks that wrap, step back or stand still for weeks, and a plain model beside it. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#define HOUR (3600 * UINT32_C(1000))
#define DAY (24 * HOUR)
#define SLICE UINT32_C(8192) /* ms; of the default window */

/* Instants at which a breaker may be used first: 32 bits of them are kept, and some of these are
   just before or behind where those wrap, or look like a clock that stepped back from 0. */
static const retry_time starts[] = {
    0,
    1,
    SLICE - 1,
    SLICE,
    UINT32_C(0x00ffffff),
    UINT32_C(0x07ffffff),
    UINT32_C(0x7fffffff),
    UINT32_C(0x80000000),
    UINT32_C(0xf7ffffff),
    UINT32_C(0xf8000000),
    UINT32_C(0xffffffff) - 100000,
    UINT32_C(0xffffffff) - 1,
    UINT32_C(0xffffffff),
#ifndef RETRY_TIME_32
    UINT64_C(0x100000000),
    UINT64_C(0x123456789abcdef0),
    UINT64_C(0x8000000000000000),
    UINT64_C(0xffffffffffffffff) - 3000,
    UINT64_C(0xffffffffffffffff),
#endif
};

static retry_failure sick, answered;

static void set_up(void)
{
    sick = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    answered = check_failure_of(RETRY_REASON_KV_LOCKED);
}

static retry_breaker breaker_of(uint32_t volume, uint32_t ratio, retry_ms window, retry_ms open,
                                retry_ms probe_timeout)
{
    retry_breaker breaker;
    memset(&breaker, 0, sizeof breaker);
    breaker.volume = volume;
    breaker.ratio = ratio;
    breaker.window = window;
    breaker.open = open;
    breaker.probe_timeout = probe_timeout;
    return breaker;
}

/* `count` attempts that end this way at once. */
static void attempts(retry_breaker *breaker, unsigned count, const retry_failure *failure,
                     retry_time now)
{
    for (; count != 0; count--)
        retry_breaker_report(breaker, retry_breaker_ask(breaker, now), failure, now);
}

/* A breaker of these numbers, opened by a single report at `now`. */
static retry_breaker opened(retry_ms open, retry_ms probe_timeout, retry_time now)
{
    retry_breaker breaker = breaker_of(1, 0, 0, open, probe_timeout);
    attempts(&breaker, 1, &sick, now);
    return breaker;
}

/* CHECK_STATE(OPEN, breaker, now) */
#define CHECK_STATE(state, breaker, now) \
    CHECK_EQUAL(RETRY_BREAKER_##state, retry_breaker_state((breaker), (now)))

/* How many sick reports from here on open it; `most` if none does. */
static unsigned sick_to_open(const retry_breaker *breaker, unsigned most, retry_time now)
{
    retry_breaker copy = *breaker;
    unsigned count = 0;
    while (count < most && retry_breaker_state(&copy, now) == RETRY_BREAKER_CLOSED) {
        attempts(&copy, 1, &sick, now);
        count++;
    }
    return count;
}

/* ---- NULL, sizes, defaults ----------------------------------------------------------------- */

static void test_null(void)
{
    retry_breaker breaker = opened(100, 0, 0);
    retry_permit permit = retry_breaker_ask(NULL, 5);
    retry_permit zero;
    memset(&zero, 0, sizeof zero);
    CHECK(permit.granted);
    CHECK_EQUAL(0, permit.wait);
    retry_breaker_report(NULL, permit, NULL, 5);
    retry_breaker_report(NULL, permit, &sick, 5);
    retry_breaker_release(NULL, permit, 5);
    retry_breaker_reset(NULL, 5);
    CHECK_STATE(CLOSED, NULL, 5);
    retry_breaker_report(&breaker, zero, NULL, 200); /* a permit of nobody */
    retry_breaker_release(&breaker, zero, 200);
    CHECK_STATE(OPEN, &breaker, 0);
}

static void test_sizes(void)
{
    CHECK_RANGE(0, 64, sizeof(retry_breaker));
    CHECK_RANGE(0, 8, sizeof(retry_permit));
}

/* 20 reports, half of them sick, 60 s, 5 s, 5 s. */
static void check_defaults(retry_breaker breaker, retry_time start)
{
    retry_time now = start;
    retry_permit permit;
    CHECK_STATE(CLOSED, &breaker, now);
    attempts(&breaker, 19, &sick, now);
    CHECK_STATE(CLOSED, &breaker, now);
    now = check_after(now, 3000);
    attempts(&breaker, 1, &sick, now);
    CHECK_STATE(OPEN, &breaker, now);
    permit = retry_breaker_ask(&breaker, now);
    CHECK(!permit.granted);
    CHECK_EQUAL(5000, permit.wait);
    permit = retry_breaker_ask(&breaker, check_after(now, 4999));
    CHECK(!permit.granted);
    CHECK_EQUAL(1, permit.wait);
    now = check_after(now, 5000);
    permit = retry_breaker_ask(&breaker, now);
    CHECK(permit.granted);
    CHECK_EQUAL(0, permit.wait);
    CHECK_STATE(HALF_OPEN, &breaker, check_after(now, 4999));
    CHECK_STATE(OPEN, &breaker, check_after(now, 5000));
    CHECK(!retry_breaker_ask(&breaker, check_after(now, 9999)).granted);
    retry_breaker_report(&breaker, permit, NULL, now);
    CHECK_STATE(CLOSED, &breaker, now);
    attempts(&breaker, 10, &answered, now);
    attempts(&breaker, 9, &sick, now);
    CHECK_EQUAL(1, sick_to_open(&breaker, 100, now));
    attempts(&breaker, 1, NULL, now);
    CHECK_EQUAL(2, sick_to_open(&breaker, 100, now));
}

static void test_defaults(void)
{
    static const retry_breaker couchbase = RETRY_BREAKER_COUCHBASE;
    size_t i;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        check_row("start %" PRIu64, (uint64_t)starts[i]);
        check_defaults(breaker_of(0, 0, 0, 0, 0), starts[i]);
        check_defaults(couchbase, starts[i]);
    }
    CHECK_EQUAL(20, couchbase.volume);
    CHECK_EQUAL(32768, couchbase.ratio);
    CHECK_EQUAL(60000, couchbase.window);
    CHECK_EQUAL(5000, couchbase.open);
    CHECK_EQUAL(5000, couchbase.probe_timeout);
}

/* ---- what opens it ------------------------------------------------------------------------- */

static const struct {
    uint32_t volume, ratio;
    unsigned answered, sick; /* reports; the last one opens it */
} trips[] = {
    {0, 0, 0, 20},
    {0, 0, 10, 10},
    {0, 0, 11, 11},
    {0, 0, 400, 400},
    {1, 0, 0, 1},
    {2, 0, 0, 2},
    {2, 0, 1, 1},
    {3, 0, 1, 2},
    {499, 0, 0, 499},
    {500, 0, 0, 500},
    {501, 0, 0, 500},
    {UINT32_MAX, 0, 0, 500},
    {UINT32_MAX, 1, 499, 1},
    {0, RETRY_RATIO(0.8), 100, 400}, /* 399 of 499 are not enough */
    {0, RETRY_RATIO(0.8), 4, 16},
    {0, RETRY_RATIO(1), 0, 20},
    {0, RETRY_RATIO(1) + 1, 0, 20},
    {0, UINT32_MAX, 0, 20},
    {0, 1, 19, 1}, /* a ratio of next to nothing: any sick one */
    {0, 1, 900, 1},
    {1, RETRY_RATIO(0.25), 3, 1},
    {1, RETRY_RATIO(0.25), 6, 2},
    {1, RETRY_RATIO(1.0 / 3), 200, 100},
    {1, RETRY_RATIO(2.0 / 3), 100, 200},
};

static void test_trips(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(trips); i++) {
        retry_breaker breaker = breaker_of(trips[i].volume, trips[i].ratio, 0, 0, 0);
        check_row("volume %lu, ratio %lu, %u answered, %u sick", (unsigned long)trips[i].volume,
                  (unsigned long)trips[i].ratio, trips[i].answered, trips[i].sick);
        attempts(&breaker, trips[i].answered, NULL, 1000);
        CHECK_EQUAL(trips[i].sick, sick_to_open(&breaker, 2000, 1000));
    }
}

/* Percentages, which RETRY_RATIO rounds up or down: n of 100 reach n %, and n - 1 of 100 do not. */
static void test_ratio_is_not_rounded(void)
{
    unsigned n;
    for (n = 1; n <= 100; n++) {
        retry_breaker breaker = breaker_of(100, RETRY_RATIO(n / 100.0), 0, 0, 0);
        check_row("%u %%", n);
        attempts(&breaker, 100 - n, NULL, 0);
        CHECK_EQUAL(n, sick_to_open(&breaker, 200, 0));
        breaker = breaker_of(100, RETRY_RATIO(n / 100.0), 0, 0, 0);
        attempts(&breaker, 101 - n, NULL, 0);
        attempts(&breaker, n - 1, &sick, 0);
        CHECK_STATE(CLOSED, &breaker, 0);
    }
}

/* Half a unit of the ratio is all that it may be short: a third is that of 21845, but not of 21846
   65536ths. */
static void test_ratio_by_half_a_unit(void)
{
    retry_breaker breaker = breaker_of(3, 21845, 0, 0, 0);
    attempts(&breaker, 2, NULL, 0);
    attempts(&breaker, 1, &sick, 0);
    CHECK_STATE(OPEN, &breaker, 0);
    breaker = breaker_of(3, 21846, 0, 0, 0);
    attempts(&breaker, 2, NULL, 0);
    attempts(&breaker, 1, &sick, 0);
    CHECK_STATE(CLOSED, &breaker, 0);
}

/* A reset begins with empty slices: none of the next 63 generations counts what the first did. */
static void test_resets_empty_the_window(void)
{
    unsigned resets, i;
    for (resets = 1; resets < 64; resets++) {
        retry_breaker breaker = breaker_of(2, 0, HOUR, 0, 0);
        check_row("%u resets", resets);
        attempts(&breaker, 1, &sick, 0);
        for (i = 0; i < resets; i++)
            retry_breaker_reset(&breaker, 0);
        attempts(&breaker, 1, &sick, 0);
        CHECK_STATE(CLOSED, &breaker, 0);
    }
}

/* Only a sick report opens it, even if the answer before completed the volume. */
static void test_answers_do_not_open(void)
{
    retry_breaker breaker = breaker_of(20, RETRY_RATIO(0.1), 0, 0, 0);
    attempts(&breaker, 19, &sick, 0);
    attempts(&breaker, 30, NULL, 0);
    CHECK_STATE(CLOSED, &breaker, 0);
    CHECK_EQUAL(1, sick_to_open(&breaker, 100, 0));
}

enum { IGNORED, SICK, ANSWERED };

#define NEVER_SENT(reason) \
    ((reason) == RETRY_REASON_CIRCUIT_BREAKER_OPEN || (reason) == RETRY_REASON_CLIENT_THROTTLED)

static unsigned outcome_of(retry_reason reason, bool timeout)
{
    static const retry_reason unanswered[] = {
        RETRY_REASON_ATTEMPT_TIMED_OUT,    RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT,
        RETRY_REASON_SOCKET_NOT_AVAILABLE, RETRY_REASON_SERVICE_NOT_AVAILABLE,
        RETRY_REASON_NODE_NOT_AVAILABLE,   RETRY_REASON_SERVER_ERROR,
    };
    size_t i;
    if (NEVER_SENT(reason))
        return IGNORED;
    for (i = 0; i < CHECK_COUNT(unanswered); i++)
        if (reason == unanswered[i])
            return SICK;
    return timeout ? SICK : ANSWERED;
}

static void check_outcome(const retry_failure *failure, unsigned outcome)
{
    retry_breaker probed = opened(100, 0, 0), counting = breaker_of(2, RETRY_RATIO(1), 0, 0, 0);
    retry_permit permit = retry_breaker_ask(&probed, 100);
    retry_breaker_report(&probed, permit, failure, 150);
    CHECK_EQUAL(outcome == ANSWERED ? RETRY_BREAKER_CLOSED : RETRY_BREAKER_OPEN,
                retry_breaker_state(&probed, 150));
    CHECK_EQUAL(outcome == SICK ? 100 : 0, retry_breaker_ask(&probed, 150).wait);
    attempts(&counting, 1, failure, 0);
    CHECK_EQUAL(outcome == SICK ? 1 : outcome == IGNORED ? 2 : 9, sick_to_open(&counting, 9, 0));
}

static void test_outcomes(void)
{
    retry_failure failure;
    unsigned reason;
    check_row("it worked");
    check_outcome(NULL, ANSWERED);
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        check_row("%s", retry_reason_name((retry_reason)reason));
        failure = check_failure_of((retry_reason)reason);
        check_outcome(&failure, outcome_of((retry_reason)reason, false));
        failure.throttle = true; /* somebody asked for less */
        failure.fault = RETRY_FAULT_SERVER;
        check_outcome(&failure, outcome_of((retry_reason)reason, false));
        failure.timeout = true;
        check_outcome(&failure, outcome_of((retry_reason)reason, true));
    }
    failure = check_failure_of(RETRY_REASON_USER(3, RETRY_REASON_ALLOWS_NON_IDEMPOTENT));
    check_outcome(&failure, ANSWERED);
    failure = check_failure_of(0xffff); /* no reason */
    check_outcome(&failure, ANSWERED);
    failure = retry_classify_http(408, 0);
    check_outcome(&failure, SICK);
    failure = retry_classify_http(429, 0);
    check_outcome(&failure, ANSWERED);
    failure = retry_classify_http(500, 0);
    check_outcome(&failure, SICK);
}

/* ---- the window ---------------------------------------------------------------------------- */

static const struct {
    retry_ms window, slice; /* ms */
} windows[] = {
    {1, 1},
    {7, 1},
    {8, 1},
    {9, 2},
    {16, 2},
    {17, 4},
    {128, 16},
    {129, 32},
    {1000, 128},
    {1024, 128},
    {1025, 256},
    {32768, 4096},
    {32769, 8192},
    {0, 8192}, /* 60,000 */
    {60000, 8192},
    {65536, 8192},
    {65537, 16384},
    {3600000, 524288},
    {UINT32_C(0x400000), UINT32_C(0x80000)},
    {UINT32_C(0x400001), UINT32_C(0x100000)},
    {UINT32_C(0x7fffff), UINT32_C(0x100000)},
    {UINT32_C(0x800000), UINT32_C(0x100000)},
    {UINT32_C(0x800001), UINT32_C(0x100000)},
    {UINT32_C(0x80000000), UINT32_C(0x100000)},
    {UINT32_MAX, UINT32_C(0x100000)},
};

/* A report counts until the eighth slice after its own begins, wherever in its own it came. Slices
   begin at the multiples of their length, which 2^32 is too. */
static void check_leaves(retry_ms window, retry_ms slice, retry_time begin, retry_ms offset)
{
    retry_breaker breaker = breaker_of(3, 0, window, 0, 0);
    retry_time end = check_after(begin, 8 * (retry_time)slice);
    attempts(&breaker, 1, &sick, check_after(begin, offset));
    CHECK_EQUAL(2, sick_to_open(&breaker, 9, check_after(begin, 8 * (retry_time)slice - 1)));
    CHECK_EQUAL(3, sick_to_open(&breaker, 9, end));
    attempts(&breaker, 1, NULL, check_after(begin, 4 * (retry_time)slice)); /* on the way */
    CHECK_EQUAL(1, sick_to_open(&breaker, 9, check_after(begin, 8 * (retry_time)slice - 1)));
    CHECK_EQUAL(2, sick_to_open(&breaker, 9, end));
}

static void test_window(void)
{
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(windows); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_ms slice = windows[i].slice;
            retry_time begin = starts[j] & ~(retry_time)(slice - 1);
            check_row("window %lu, start %" PRIu64, (unsigned long)windows[i].window,
                      (uint64_t)starts[j]);
            check_leaves(windows[i].window, slice, begin, 0);
            check_leaves(windows[i].window, slice, begin, slice / 2);
            check_leaves(windows[i].window, slice, begin, slice - 1);
        }
    }
}

/* It rolls, it does not tumble: nineteen just before and nineteen just after any instant open it.
 */
static void test_no_boundary(void)
{
    uint32_t at;
    for (at = 1; at < 80000; at += 613) {
        retry_breaker breaker = breaker_of(0, 0, 0, 0, 0);
        check_row("at %lu", (unsigned long)at);
        attempts(&breaker, 19, &sick, at - 1);
        CHECK_STATE(CLOSED, &breaker, at - 1);
        attempts(&breaker, 19, &sick, at);
        CHECK_STATE(OPEN, &breaker, at);
    }
}

/* Every slice's reports go when it is their turn, and only those. */
static void test_slices_one_by_one(void)
{
    retry_breaker breaker = breaker_of(400, 0, 0, 0, 0);
    unsigned slice, counted = 0;
    for (slice = 0; slice < 8; slice++) {
        attempts(&breaker, slice + 1, &sick, slice * SLICE);
        counted += slice + 1;
    }
    for (slice = 0; slice < 9; slice++) {
        check_row("slice %u", slice + 7);
        CHECK_EQUAL(400 - counted, sick_to_open(&breaker, 500, (slice + 7) * SLICE));
        counted -= slice < 8 ? slice + 1 : 0;
    }
}

/* Idle for any time: the old reports are gone, also where slices would fall on the same places. */
static void test_idle(void)
{
    static const retry_time idle[] = {
        8 * SLICE, 9 * SLICE, 15 * SLICE,   16 * SLICE, 64 * SLICE,       65 * SLICE,
        HOUR,      DAY,       DAY * 12 + 5, HOUR * 596, DAY * 25,         DAY * 40,
        DAY * 48,  1ul << 24, 1ul << 26,    1ul << 29,  UINT32_C(1) << 31};
    size_t i, j;
    unsigned gap;
    for (i = 0; i < CHECK_COUNT(idle); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_breaker breaker = breaker_of(0, 0, 0, 0, 0);
            retry_time now = check_after(starts[j], idle[i]);
            check_row("idle %lu, start %" PRIu64, (unsigned long)idle[i], (uint64_t)starts[j]);
            for (gap = 0; gap < 8; gap++)
                attempts(&breaker, 2, &sick, check_after(starts[j], gap * SLICE));
            if (idle[i] < 16 * SLICE)
                continue;
            CHECK_EQUAL(20, sick_to_open(&breaker, 30, now));
            attempts(&breaker, 4, &sick, now); /* old ones do not come back slice by slice */
            for (gap = 1; gap < 8; gap++)
                CHECK_EQUAL(16, sick_to_open(&breaker, 30, check_after(now, gap * SLICE)));
            CHECK_EQUAL(20, sick_to_open(&breaker, 30, check_after(now, 8 * SLICE)));
        }
    }
}

/* Who only asks is not idle: 60 days of attempts without a report are 60 days. */
static void test_asked_but_never_told(void)
{
    retry_breaker breaker = breaker_of(0, 0, 0, 0, 0);
    retry_time now = 0;
    unsigned i;
    attempts(&breaker, 19, &sick, now);
    for (i = 0; i < 497; i++) { /* up to a minute after 32 bits have come round */
        now = check_after(now, 8641752);
        CHECK(retry_breaker_ask(&breaker, now).granted);
    }
    CHECK_EQUAL(20, sick_to_open(&breaker, 30, now));
}

/* A busy slice may be halved: it counts for no less than 500 reports, and in the end for no more
   than others that are as busy. */
static void test_busy_slices(void)
{
    static const unsigned counts[] = {1000, 1001, 2047, 2048, 2049, 4095, 4096, 5000, 20000};
    size_t i;
    unsigned slice;
    for (i = 0; i < CHECK_COUNT(counts); i++) {
        retry_breaker breaker = breaker_of(500, 0, 0, 0, 0);
        unsigned needed;
        check_row("%u answers", counts[i]);
        attempts(&breaker, counts[i], NULL, 0);
        needed = sick_to_open(&breaker, 30000, SLICE);
        CHECK_RANGE(counts[i] > 1000 ? 500 : counts[i], counts[i], needed);
        for (slice = 1; slice < 6; slice++)
            attempts(&breaker, counts[i], &sick, slice * SLICE);
        CHECK_STATE(OPEN, &breaker, slice * SLICE);
    }
}

/* A slice's share of sick ones survives halving: 40 % stay below 45 % and reach 35 %. */
static void test_busy_ratio(void)
{
    retry_breaker breaker = breaker_of(20, RETRY_RATIO(0.45), 0, 0, 0);
    unsigned i;
    for (i = 0; i < 30000; i++)
        attempts(&breaker, 1, i % 5 < 3 ? NULL : &sick, i / 20000 * SLICE);
    CHECK_STATE(CLOSED, &breaker, SLICE);
    breaker.ratio = RETRY_RATIO(0.35);
    CHECK_EQUAL(1, sick_to_open(&breaker, 10, SLICE));
}

/* ---- the three states ---------------------------------------------------------------------- */

enum { ASK, REPORT_SICK, REPORT_ANSWER, RELEASE, RESET, LOOK };

/* What is done in each row, on breakers of volume 1, open 1000 and probe_timeout 300; `permit`
   names the one that an ask is given, and that reports and releases hand back. */
static const struct {
    retry_ms at;
    uint8_t action, permit;
    bool granted;  /* of an ask */
    retry_ms wait; /* of an ask */
    uint8_t state; /* afterwards */
} steps[] = {
    {0, ASK, 0, true, 0, RETRY_BREAKER_CLOSED},
    {0, ASK, 1, true, 0, RETRY_BREAKER_CLOSED},
    {0, ASK, 2, true, 0, RETRY_BREAKER_CLOSED},
    {5, RELEASE, 0, false, 0, RETRY_BREAKER_CLOSED},
    {10, REPORT_ANSWER, 0, false, 0, RETRY_BREAKER_CLOSED},
    {10, REPORT_SICK, 1, false, 0, RETRY_BREAKER_CLOSED}, /* half of two, see below */
    /* late answers from before the trip neither close it nor prolong it */
    {11, REPORT_SICK, 2, false, 0, RETRY_BREAKER_OPEN},
    {12, REPORT_ANSWER, 0, false, 0, RETRY_BREAKER_OPEN},
    {900, REPORT_SICK, 0, false, 0, RETRY_BREAKER_OPEN},
    {900, RELEASE, 0, false, 0, RETRY_BREAKER_OPEN},
    {900, ASK, 3, false, 111, RETRY_BREAKER_OPEN},
    {1010, ASK, 3, false, 1, RETRY_BREAKER_OPEN},
    /* permits that were not granted do nothing */
    {1010, REPORT_ANSWER, 3, false, 0, RETRY_BREAKER_OPEN},
    {1010, RELEASE, 3, false, 0, RETRY_BREAKER_OPEN},
    {1011, LOOK, 0, false, 0, RETRY_BREAKER_OPEN},
    /* one probe; nothing else counts meanwhile */
    {1011, ASK, 4, true, 0, RETRY_BREAKER_HALF_OPEN},
    {1011, ASK, 3, false, 0, RETRY_BREAKER_HALF_OPEN},
    {1100, REPORT_SICK, 0, false, 0, RETRY_BREAKER_HALF_OPEN},
    {1100, REPORT_ANSWER, 1, false, 0, RETRY_BREAKER_HALF_OPEN},
    {1100, REPORT_ANSWER, 3, false, 0, RETRY_BREAKER_HALF_OPEN},
    {1100, RELEASE, 3, false, 0, RETRY_BREAKER_HALF_OPEN},
    {1100, RELEASE, 0, false, 0, RETRY_BREAKER_HALF_OPEN},
    {1310, ASK, 3, false, 0, RETRY_BREAKER_HALF_OPEN},
    /* it is sick: open for another second */
    {1310, REPORT_SICK, 4, false, 0, RETRY_BREAKER_OPEN},
    {1310, ASK, 3, false, 1000, RETRY_BREAKER_OPEN},
    {1310, REPORT_ANSWER, 4, false, 0, RETRY_BREAKER_OPEN}, /* twice */
    {2309, ASK, 3, false, 1, RETRY_BREAKER_OPEN},
    /* a silent probe has failed after 300 ms, and comes too late from then on */
    {2310, ASK, 5, true, 0, RETRY_BREAKER_HALF_OPEN},
    {2609, LOOK, 0, false, 0, RETRY_BREAKER_HALF_OPEN},
    {2610, LOOK, 0, false, 0, RETRY_BREAKER_OPEN},
    {2610, REPORT_ANSWER, 5, false, 0, RETRY_BREAKER_OPEN},
    {2610, REPORT_SICK, 5, false, 0, RETRY_BREAKER_OPEN},
    {2610, RELEASE, 5, false, 0, RETRY_BREAKER_OPEN},
    {2700, ASK, 3, false, 910, RETRY_BREAKER_OPEN},
    {3609, ASK, 3, false, 1, RETRY_BREAKER_OPEN},
    {3610, ASK, 6, true, 0, RETRY_BREAKER_HALF_OPEN},
    {3610, REPORT_ANSWER, 5, false, 0, RETRY_BREAKER_HALF_OPEN},
    /* a probe that is released makes place for the next, at once */
    {3650, RELEASE, 6, false, 0, RETRY_BREAKER_OPEN},
    {3650, REPORT_ANSWER, 6, false, 0, RETRY_BREAKER_OPEN},
    {3650, ASK, 7, true, 0, RETRY_BREAKER_HALF_OPEN},
    {3650, ASK, 3, false, 0, RETRY_BREAKER_HALF_OPEN},
    {3660, RELEASE, 6, false, 0, RETRY_BREAKER_HALF_OPEN},
    {3949, RELEASE, 7, false, 0, RETRY_BREAKER_OPEN},
    {9000, LOOK, 0, false, 0, RETRY_BREAKER_OPEN},
    {9000, ASK, 4, true, 0, RETRY_BREAKER_HALF_OPEN},
    /* answered in time: closed, with an empty window */
    {9299, REPORT_ANSWER, 4, false, 0, RETRY_BREAKER_CLOSED},
    {9299, REPORT_SICK, 4, false, 0, RETRY_BREAKER_CLOSED},
    {9299, REPORT_SICK, 0, false, 0, RETRY_BREAKER_CLOSED},
    {9299, RELEASE, 4, false, 0, RETRY_BREAKER_CLOSED},
    {9300, ASK, 0, true, 0, RETRY_BREAKER_CLOSED},
    {9300, ASK, 1, true, 0, RETRY_BREAKER_CLOSED},
    {9300, REPORT_SICK, 0, false, 0, RETRY_BREAKER_OPEN},
    /* a reset closes it from any state, and voids all permits */
    {9400, RESET, 0, false, 0, RETRY_BREAKER_CLOSED},
    {9400, REPORT_SICK, 1, false, 0, RETRY_BREAKER_CLOSED},
    {9400, ASK, 2, true, 0, RETRY_BREAKER_CLOSED},
    {9400, RESET, 0, false, 0, RETRY_BREAKER_CLOSED},
    {9400, REPORT_SICK, 2, false, 0, RETRY_BREAKER_CLOSED},
    {9400, ASK, 2, true, 0, RETRY_BREAKER_CLOSED},
    {9401, REPORT_SICK, 2, false, 0, RETRY_BREAKER_OPEN},
    {10401, ASK, 5, true, 0, RETRY_BREAKER_HALF_OPEN},
    {10401, RESET, 0, false, 0, RETRY_BREAKER_CLOSED},
    {10402, REPORT_SICK, 5, false, 0, RETRY_BREAKER_CLOSED},
    {10402, RELEASE, 5, false, 0, RETRY_BREAKER_CLOSED},
    {10402, ASK, 6, true, 0, RETRY_BREAKER_CLOSED},
    {10402, REPORT_SICK, 6, false, 0, RETRY_BREAKER_OPEN},
    {11402, ASK, 7, true, 0, RETRY_BREAKER_HALF_OPEN},
    {11402, RELEASE, 7, false, 0, RETRY_BREAKER_OPEN},
    {11402, RESET, 0, false, 0, RETRY_BREAKER_CLOSED},
    {11402, ASK, 7, true, 0, RETRY_BREAKER_CLOSED},
};

static void check_steps(retry_time start)
{
    retry_breaker breaker = breaker_of(1, RETRY_RATIO(0.6), 0, 1000, 300);
    retry_permit permits[8];
    size_t i;
    memset(permits, 0, sizeof permits);
    for (i = 0; i < CHECK_COUNT(steps); i++) {
        retry_time now = check_after(start, steps[i].at);
        retry_permit *permit = &permits[steps[i].permit];
        check_row("start %" PRIu64 ", step %u", (uint64_t)start, (unsigned)i);
        switch (steps[i].action) {
        case ASK:
            *permit = retry_breaker_ask(&breaker, now);
            CHECK_EQUAL(steps[i].granted, permit->granted);
            CHECK_EQUAL(steps[i].wait, permit->wait);
            break;
        case REPORT_SICK:
            retry_breaker_report(&breaker, *permit, &sick, now);
            break;
        case REPORT_ANSWER:
            retry_breaker_report(&breaker, *permit, i % 2 ? NULL : &answered, now);
            break;
        case RELEASE:
            retry_breaker_release(&breaker, *permit, now);
            break;
        case RESET:
            retry_breaker_reset(&breaker, now);
            break;
        default:
            break;
        }
        CHECK_EQUAL(steps[i].state, retry_breaker_state(&breaker, now));
    }
}

static void test_steps(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(starts); i++)
        check_steps(starts[i]);
}

/* The published sequence: volume 1, open 50 ms. */
static void test_fifty_ms(void)
{
    retry_breaker breaker = opened(50, 0, 1000);
    CHECK(!retry_breaker_ask(&breaker, 1049).granted);
    attempts(&breaker, 1, &sick, 1050); /* the probe */
    CHECK_EQUAL(50, retry_breaker_ask(&breaker, 1050).wait);
    CHECK(!retry_breaker_ask(&breaker, 1099).granted);
    attempts(&breaker, 1, NULL, 1100);
    CHECK_STATE(CLOSED, &breaker, 1100);
}

/* After a trip the window is empty again only once it has closed: what was sick before the trip is
   not held against the node a second time. */
static void test_closes_empty(void)
{
    retry_breaker breaker = breaker_of(0, 0, 0, 10, 0);
    attempts(&breaker, 20, &sick, 0);
    CHECK_STATE(OPEN, &breaker, 0);
    attempts(&breaker, 1, NULL, 10);
    CHECK_EQUAL(20, sick_to_open(&breaker, 30, 10)); /* the probe's answer does not count either */
    attempts(&breaker, 19, &sick, 10);
    retry_breaker_reset(&breaker, 11);
    CHECK_EQUAL(20, sick_to_open(&breaker, 30, 11));
}

static const retry_ms spans[] = {1,
                                 2,
                                 255,
                                 256,
                                 5000,
                                 65536,
                                 HOUR,
                                 UINT32_C(0xffffff),
                                 UINT32_C(0x1000000),
                                 UINT32_C(0x1000001),
                                 UINT32_C(0x8000000),
                                 UINT32_C(0x3fffffff),
                                 UINT32_C(0x40000000),
                                 UINT32_C(0x40000001),
                                 UINT32_C(0x80000000),
                                 UINT32_MAX};

static void check_spans(retry_ms open, retry_ms probe_timeout, retry_time start)
{
    retry_ms most = UINT32_C(0x40000000);
    retry_ms opens = open < most ? open : most;
    retry_ms waits = probe_timeout < most ? probe_timeout : most;
    retry_breaker breaker = opened(open, probe_timeout, start);
    retry_time probed = check_after(start, opens), failed = check_after(probed, waits);
    retry_time again = check_after(failed, opens);
    CHECK_EQUAL(opens, retry_breaker_ask(&breaker, start).wait);
    CHECK_EQUAL(opens - opens / 2, retry_breaker_ask(&breaker, check_after(start, opens / 2)).wait);
    CHECK_EQUAL(1, retry_breaker_ask(&breaker, check_after(start, opens - 1)).wait);
    CHECK(retry_breaker_ask(&breaker, probed).granted);
    CHECK_STATE(HALF_OPEN, &breaker, check_after(probed, waits - 1));
    CHECK(!retry_breaker_ask(&breaker, check_after(probed, waits - 1)).granted);
    CHECK_EQUAL(opens, retry_breaker_ask(&breaker, failed).wait);
    CHECK_EQUAL(1, retry_breaker_ask(&breaker, check_after(failed, opens - 1)).wait);
    CHECK_STATE(OPEN, &breaker, again);
    CHECK(retry_breaker_ask(&breaker, again).granted);
    CHECK_STATE(HALF_OPEN, &breaker, again);
}

/* `open` and `probe_timeout` to the millisecond, up to their limit. */
static void test_spans(void)
{
    size_t i, j, k;
    for (i = 0; i < CHECK_COUNT(spans); i++) {
        for (j = 0; j < CHECK_COUNT(spans); j++) {
            for (k = 0; k < CHECK_COUNT(starts); k++) {
                check_row("open %lu, probe_timeout %lu, start %" PRIu64, (unsigned long)spans[i],
                          (unsigned long)spans[j], (uint64_t)starts[k]);
                check_spans(spans[i], spans[j], starts[k]);
            }
        }
    }
}

/* A permit is void for 60 changes, whatever changes: none of what is done with it has an effect. */
static void check_void(const retry_breaker *breaker, retry_permit permit, retry_time now)
{
    retry_breaker copy = *breaker;
    uint8_t state = retry_breaker_state(&copy, now);
    retry_ms wait = retry_breaker_ask(&copy, now).wait;
    copy = *breaker;
    retry_breaker_report(&copy, permit, NULL, now);
    CHECK_EQUAL(state, retry_breaker_state(&copy, now));
    retry_breaker_report(&copy, permit, &sick, now);
    retry_breaker_release(&copy, permit, now);
    CHECK_EQUAL(state, retry_breaker_state(&copy, now));
    CHECK_EQUAL(wait, retry_breaker_ask(&copy, now).wait);
}

static void test_void_permits(void)
{
    retry_breaker breaker = breaker_of(1, 0, 0, 1, 1);
    retry_permit first = retry_breaker_ask(&breaker, 0), probe;
    unsigned i;
    for (i = 1; i <= 60; i++) {
        check_row("reset %u", i);
        retry_breaker_reset(&breaker, 0); /* all at the same instant */
        check_void(&breaker, first, 0);
    }
    breaker = breaker_of(1, 0, 0, 1, 1);
    first = retry_breaker_ask(&breaker, 0);
    for (i = 1; i <= 30; i++) { /* opens, is probed, closes */
        check_row("opened and closed %u", i);
        attempts(&breaker, 1, &sick, i);
        check_void(&breaker, first, i);
        check_void(&breaker, first, i + 1);
        probe = retry_breaker_ask(&breaker, i + 1);
        check_void(&breaker, first, i + 1);
        retry_breaker_report(&breaker, probe, NULL, i + 1);
        check_void(&breaker, first, i + 1);
        check_void(&breaker, probe, i + 1);
    }
    breaker = opened(1, 1, 0);
    probe = retry_breaker_ask(&breaker, 1);
    for (i = 1; i <= 60; i++) { /* the probe is silent, or sick: opens anew */
        retry_permit next;
        check_row("opened anew %u", i);
        next = retry_breaker_ask(&breaker, 1 + 2 * i);
        CHECK(next.granted);
        check_void(&breaker, probe, 1 + 2 * i);
        if (i % 2 == 0) {
            retry_breaker_report(&breaker, next, &sick, 1 + 2 * i);
            check_void(&breaker, probe, 1 + 2 * i);
        }
    }
    breaker = opened(1, 1000, 0);
    probe = retry_breaker_ask(&breaker, 1);
    for (i = 1; i <= 60; i++) { /* one probe after the other is released, in the same millisecond */
        check_row("released %u", i);
        retry_breaker_release(&breaker, i == 1 ? probe : retry_breaker_ask(&breaker, 1), 1);
        check_void(&breaker, probe, 1);
    }
}

/* ---- clocks -------------------------------------------------------------------------------- */

#define STEP (UINT32_C(1) << 27)

/* Up to 2^27 ms behind: no time has passed, until the clock has caught up. */
static void test_steps_back(void)
{
    static const retry_ms steps_back[] = {1, 10, 5000, SLICE, 8 * SLICE, HOUR, DAY, STEP - 1, STEP};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(steps_back); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time before = starts[j], now = check_after(before, steps_back[i]);
            retry_breaker breaker = breaker_of(0, 0, 0, 0, 0), open = opened(0, 0, now);
            retry_permit permit;
            check_row("%lu back, start %" PRIu64, (unsigned long)steps_back[i],
                      (uint64_t)starts[j]);
            attempts(&breaker, 10, &sick, now);
            attempts(&breaker, 9, &sick, before);
            CHECK_EQUAL(1, sick_to_open(&breaker, 30, before));
            CHECK_EQUAL(1, sick_to_open(&breaker, 30, now)); /* it has caught up */
            CHECK_EQUAL(20, sick_to_open(&breaker, 30, check_after(now, 8 * SLICE)));
            attempts(&breaker, 1, &sick, before);
            permit = retry_breaker_ask(&breaker, before);
            CHECK(!permit.granted);
            CHECK_EQUAL(5000, permit.wait);
            if (steps_back[i] <= 10) /* opened by a thread whose clock is a little behind */
                CHECK(retry_breaker_ask(&breaker, check_after(now, 5000)).granted);
            CHECK_EQUAL(5000, retry_breaker_ask(&open, before).wait);
            CHECK_EQUAL(5000, retry_breaker_ask(&open, now).wait);
            permit = retry_breaker_ask(&open, check_after(now, 5000));
            CHECK(permit.granted);
            CHECK_STATE(HALF_OPEN, &open, check_after(before, 5000));
            retry_breaker_report(&open, permit, NULL, check_after(before, 5000));
            CHECK_STATE(CLOSED, &open, before);
        }
    }
}

/* A released probe leaves the way free for a thread whose clock is behind, too. */
static void test_release_and_step_back(void)
{
    retry_breaker breaker = opened(5000, 0, 100000);
    retry_breaker_release(&breaker, retry_breaker_ask(&breaker, 105000), 105000);
    CHECK_STATE(OPEN, &breaker, 104000);
    CHECK(retry_breaker_ask(&breaker, 104000).granted);
}

/* In every state, weeks without a call are weeks. */
static void test_idle_states(void)
{
    static const retry_time idle[] = {HOUR, 6 * HOUR, DAY, 30 * DAY, 40 * DAY, 48 * DAY};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(idle); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time now = check_after(starts[j], 5000);
            retry_time later = check_after(now, idle[i]);
            retry_breaker open = opened(0, 0, now), half_open = opened(0, 0, starts[j]), reset;
            retry_permit probe = retry_breaker_ask(&half_open, now);
            check_row("idle %lu, start %" PRIu64, (unsigned long)idle[i], (uint64_t)starts[j]);
            CHECK_EQUAL(0, retry_breaker_ask(&open, later).wait);
            CHECK_STATE(HALF_OPEN, &open, later);
            CHECK(!retry_breaker_ask(&open, later).granted);
            CHECK(!retry_breaker_ask(&open, check_after(later, 4999)).granted);
            CHECK_EQUAL(5000, retry_breaker_ask(&open, check_after(later, 5000)).wait);
            CHECK(probe.granted);
            CHECK_STATE(OPEN, &half_open, later);
            retry_breaker_report(&half_open, probe, NULL, later);
            CHECK_STATE(OPEN, &half_open, later);
            CHECK(retry_breaker_ask(&half_open, later).granted);
            reset = opened(0, 0, now);
            retry_breaker_reset(&reset, later);
            CHECK_EQUAL(1, sick_to_open(&reset, 9, later));
        }
    }
}

/* ---- a refusal as a failure ---------------------------------------------------------------- */

static void test_classify(void)
{
    retry_breaker breaker = opened(700, 0, 0);
    retry_failure failure = retry_classify_permit(retry_breaker_ask(&breaker, 100));
    retry_permit probe;
    CHECK_EQUAL(RETRY_REASON_CIRCUIT_BREAKER_OPEN, failure.reason);
    CHECK_EQUAL(600, failure.retry_after);
    CHECK(!failure.throttle && !failure.timeout && !failure.unknown && !failure.pushback);
    CHECK_EQUAL(RETRY_SAFETY_MAYBE, failure.safety);
    CHECK_EQUAL(RETRY_FAULT_OTHER, failure.fault);
    CHECK_EQUAL(0, failure.code);
    probe = retry_breaker_ask(&breaker, 700);
    failure = retry_classify_permit(probe);
    CHECK_EQUAL(RETRY_REASON_NONE, failure.reason);
    CHECK_EQUAL(0, failure.retry_after);
    failure = retry_classify_permit(retry_breaker_ask(&breaker, 700));
    CHECK_EQUAL(RETRY_REASON_CIRCUIT_BREAKER_OPEN, failure.reason);
    CHECK_EQUAL(0, failure.retry_after);
}

/* The retry waits for the probe; if that is past the deadline the operation expires. */
static void test_orchestrate(void)
{
    retry_breaker breaker = opened(700, 0, 0);
    retry_failure failure = retry_classify_permit(retry_breaker_ask(&breaker, 100));
    retry_request request;
    retry_decision decision;
    memset(&request, 0, sizeof request);
    request.timeout = 601;
    retry_begin(&request, 100);
    decision = retry_orchestrate(&request, &failure, 100);
    CHECK_DECISION(RETRY, STRATEGY, decision);
    CHECK_EQUAL(600, decision.delay);
    request.timeout = 600;
    retry_begin(&request, 100);
    decision = retry_orchestrate(&request, &failure, 100);
    CHECK_DECISION(EXPIRE, DEADLINE, decision);
}

/* ---- a plain model ------------------------------------------------------------------------- */

/* The same, written down without any regard to memory: all reports with their instants, on a clock
   that does not wrap. */
#define REPORTS 1024 /* more than a round has steps */
#define PERMITS 8

struct model {
    retry_ms slice, open, probe_timeout;
    uint32_t volume, percent;
    struct {
        uint64_t slice;
        bool sick;
    } reports[REPORTS];
    unsigned count;
    uint64_t latest; /* slice */
    uint64_t since;
    unsigned state, generation;
    bool due;
};

struct model_permit {
    bool granted;
    unsigned generation;
    retry_ms wait;
};

static struct model model;

/* The state at `now`; *wait: ms to the next probe. */
static unsigned model_state(uint64_t now, retry_ms *wait)
{
    uint64_t passed = now > model.since ? now - model.since : 0;
    uint64_t span = model.open;
    *wait = 0;
    if (model.state == RETRY_BREAKER_CLOSED)
        return RETRY_BREAKER_CLOSED;
    if (model.state == RETRY_BREAKER_HALF_OPEN && passed < model.probe_timeout)
        return RETRY_BREAKER_HALF_OPEN;
    if (model.state == RETRY_BREAKER_HALF_OPEN)
        span += model.probe_timeout;
    if (!model.due && passed < span)
        *wait = (retry_ms)(span - passed);
    return RETRY_BREAKER_OPEN;
}

/* The slice under way: the clock may be behind the latest call that was granted or counted. */
static void model_move(uint64_t now)
{
    if (now / model.slice > model.latest)
        model.latest = now / model.slice;
}

static void model_change(unsigned state, uint64_t now)
{
    model_move(now);
    model.state = state;
    model.since = now;
    model.generation++;
    model.due = false;
    if (state == RETRY_BREAKER_CLOSED)
        model.count = 0;
}

static struct model_permit model_ask(uint64_t now)
{
    struct model_permit permit;
    unsigned state = model_state(now, &permit.wait);
    permit.granted = state == RETRY_BREAKER_CLOSED || (state == RETRY_BREAKER_OPEN && !permit.wait);
    if (permit.granted && state == RETRY_BREAKER_OPEN)
        model_change(RETRY_BREAKER_HALF_OPEN, now);
    if (permit.granted)
        model_move(now);
    permit.generation = model.generation;
    return permit;
}

static void model_count(bool is_sick, uint64_t now)
{
    unsigned i, all = 0, bad = 0;
    model_move(now);
    model.reports[model.count].slice = model.latest;
    model.reports[model.count].sick = is_sick;
    model.count = model.count + 1 < REPORTS ? model.count + 1 : model.count;
    for (i = 0; i < model.count; i++) {
        if (model.reports[i].slice + 8 <= model.latest)
            continue;
        all++;
        bad += model.reports[i].sick;
    }
    if (is_sick && all >= model.volume && bad * 100 >= model.percent * all)
        model_change(RETRY_BREAKER_OPEN, now);
}

static void model_end(struct model_permit permit, unsigned outcome, uint64_t now)
{
    retry_ms wait;
    unsigned state = model_state(now, &wait);
    if (!permit.granted || permit.generation != model.generation || state == RETRY_BREAKER_OPEN)
        return;
    if (state == RETRY_BREAKER_CLOSED) {
        if (outcome != IGNORED)
            model_count(outcome == SICK, now);
        return;
    }
    model_change(outcome == ANSWERED ? RETRY_BREAKER_CLOSED : RETRY_BREAKER_OPEN, now);
    model.due = outcome == IGNORED;
}

static uint32_t choose(uint32_t count)
{
    return (uint32_t)(((uint64_t)check_random() * count) >> 32);
}

/* Mostly a little later, or a little back. */
static uint64_t step_time(uint64_t now)
{
    switch (choose(40)) {
    case 0:
    case 1:
        return now + choose(HOUR);
    case 2:
        return now - choose(2000);
    case 3:
    case 4:
    case 5:
        return now + choose(2 * model.slice);
    case 6:
    case 7:
    case 8:
        return now + model.open / 2 + choose(3);
    default:
        return now + choose(model.slice / 8 + 2);
    }
}

static void check_against_model(unsigned round)
{
    static const retry_ms lengths[] = {8, 100, 1000, 60000, UINT32_C(0x800000)};
    static const retry_ms slices[] = {1, 16, 128, 8192, UINT32_C(0x100000)};
    static const retry_ms opens[] = {1, 50, 5000, HOUR, DAY};
    uint32_t window = choose(CHECK_COUNT(lengths));
    unsigned step;
    struct model_permit expected[PERMITS];
    retry_permit permits[PERMITS];
    retry_breaker breaker;
    uint64_t now = (UINT64_C(1) << 32) * 7 - choose(100000) - choose(2) * UINT64_C(0x90000000);
    memset(&model, 0, sizeof model);
    memset(expected, 0, sizeof expected);
    memset(permits, 0, sizeof permits);
    model.slice = slices[window];
    model.volume = 1 + choose(12);
    model.percent = 1 + choose(100);
    model.open = opens[choose(CHECK_COUNT(opens))];
    model.probe_timeout = opens[choose(CHECK_COUNT(opens))];
    breaker = breaker_of(model.volume, RETRY_RATIO((double)model.percent / 100), lengths[window],
                         model.open, model.probe_timeout);
    for (step = 0; step < 1000; step++) {
        uint32_t slot = choose(PERMITS), outcome = choose(6);
        retry_ms wait;
        retry_failure ignored = check_failure_of(RETRY_REASON_CLIENT_THROTTLED);
        bool idle = choose(50) == 0;
        now = idle ? now + choose(40 * DAY) : step_time(now);
        now += model.slice == 1 && (uint32_t)now == 0; /* from there no step back */
        check_row("round %u, step %u, now %" PRIu64, round, step, now);
        if (idle || choose(2) == 0) {
            permits[slot] = retry_breaker_ask(&breaker, (retry_time)now);
            expected[slot] = model_ask(now);
            CHECK_EQUAL(expected[slot].granted, permits[slot].granted);
            CHECK_EQUAL(expected[slot].wait, permits[slot].wait);
        } else if (choose(100) == 0) {
            retry_breaker_reset(&breaker, (retry_time)now);
            model_change(RETRY_BREAKER_CLOSED, now);
        } else if (outcome == 0) {
            retry_breaker_release(&breaker, permits[slot], (retry_time)now);
            model_end(expected[slot], IGNORED, now);
        } else {
            outcome = outcome == 1 ? IGNORED : outcome < 4 ? SICK : ANSWERED;
            retry_breaker_report(&breaker, permits[slot],
                                 outcome == IGNORED ? &ignored
                                 : outcome == SICK  ? &sick
                                                    : NULL,
                                 (retry_time)now);
            model_end(expected[slot], (unsigned)outcome, now);
        }
        if (permits[slot].granted && model.generation - expected[slot].generation > 50)
            permits[slot].granted = expected[slot].granted = false; /* it may come round again */
        CHECK_EQUAL(model_state(now, &wait), retry_breaker_state(&breaker, (retry_time)now));
        if (check_faults != 0)
            return;
    }
}

static void test_model(void)
{
    unsigned round;
#ifdef CHECK_QUICK
    unsigned rounds = 60;
#else
    unsigned rounds = 600;
#endif
    for (round = 0; round < rounds && check_faults == 0; round++)
        check_against_model(round);
}

int main(void)
{
    set_up();
    RUN(test_null);
    RUN(test_sizes);
    RUN(test_defaults);
    RUN(test_trips);
    RUN(test_ratio_is_not_rounded);
    RUN(test_ratio_by_half_a_unit);
    RUN(test_resets_empty_the_window);
    RUN(test_answers_do_not_open);
    RUN(test_outcomes);
    RUN(test_window);
    RUN(test_no_boundary);
    RUN(test_slices_one_by_one);
    RUN(test_idle);
    RUN(test_asked_but_never_told);
    RUN(test_busy_slices);
    RUN(test_busy_ratio);
    RUN(test_steps);
    RUN(test_fifty_ms);
    RUN(test_closes_empty);
    RUN(test_spans);
    RUN(test_void_permits);
    RUN(test_steps_back);
    RUN(test_release_and_step_back);
    RUN(test_idle_states);
    RUN(test_classify);
    RUN(test_orchestrate);
    RUN(test_model);
    return check_done();
}
