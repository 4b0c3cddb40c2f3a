/* The circuit breaker: what opens it, what closes it, how its window rolls, its probes, permits
   that come too late, clocks that wrap, step back or stand still for weeks, and a plain model
   beside it. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/reasons.h"

#include <errno.h>

#define SECOND UINT32_C(1000)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)

/* Instants at which a breaker may be used first: 31 bits of them are kept, or all, and some of
   these are just before or behind where those wrap, or look like a clock that stepped back from 0.
 */
static const retry_time starts[] = {
    0,
    1,
    3999,
    4000,
    UINT32_C(0x00ffffff),
    UINT32_C(0x7ffffc17),
    UINT32_C(0x7fffffff),
    UINT32_C(0x80000000),
    UINT32_C(0x9abcdef0),
    UINT32_C(0xf8000000),
    UINT32_C(0xffffffff) - 100000,
    UINT32_C(0xffffffff) - 1999,
    UINT32_C(0xffffffff),
};

static retry_failure sick, answered, ignored;

static void set_up(void)
{
    sick = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    answered = check_failure_of(RETRY_REASON_KV_LOCKED);
    ignored = check_failure_of(RETRY_REASON_CLIENT_THROTTLED);
}

static retry_breaker breaker_of(uint32_t volume, uint32_t ratio, retry_ms window, retry_ms open)
{
    retry_breaker breaker;
    memset(&breaker, 0, sizeof breaker);
    breaker.volume = volume;
    breaker.ratio = ratio;
    breaker.window = window;
    breaker.open = open;
    return breaker;
}

/* `count` attempts that end this way at once; how many reports changed the state. */
static uint32_t attempts(retry_breaker *breaker, uint32_t count, const retry_failure *failure,
                         retry_time now)
{
    uint32_t changes = 0;
    for (; count != 0; count--) {
        retry_permit permit = retry_breaker_ask(breaker, true, now);
        changes += retry_breaker_report(breaker, permit, failure, now);
    }
    return changes;
}

/* A breaker of these numbers, opened by a single report at `now`. */
static retry_breaker opened(retry_ms open, retry_ms probe_timeout, retry_time now)
{
    retry_breaker breaker = breaker_of(1, 0, 0, open);
    breaker.probe_timeout = probe_timeout;
    CHECK_EQUAL(1, attempts(&breaker, 1, &sick, now));
    return breaker;
}

static bool granted(retry_breaker *breaker, retry_time now)
{
    return retry_breaker_ask(breaker, true, now).granted;
}

/* CHECK_STATE(OPEN, breaker, now) */
#define CHECK_STATE(state, breaker, now) \
    CHECK_EQUAL(RETRY_BREAKER_##state, retry_breaker_state((breaker), (now)))

static void check_counts(retry_breaker *breaker, uint32_t reports, uint32_t sick_ones,
                         retry_time now, int line)
{
    retry_breaker_counts counts = retry_breaker_get(breaker, now);
    check_equal(reports, counts.reports, "reports", __FILE__, line);
    check_equal(sick_ones, counts.sick, "sick", __FILE__, line);
}

#define CHECK_COUNTS(reports, sick_ones, breaker, now) \
    check_counts((breaker), (reports), (sick_ones), (now), __LINE__)

/* How many sick reports from here on open it; `most` if none does. */
static uint32_t sick_to_open(const retry_breaker *breaker, uint32_t most, retry_time now)
{
    retry_breaker copy = *breaker;
    uint32_t count = 0;
    while (count < most && retry_breaker_state(&copy, now) == RETRY_BREAKER_CLOSED) {
        attempts(&copy, 1, &sick, now);
        count++;
    }
    return count;
}

static uint32_t choose(uint32_t count)
{
    return (uint32_t)(((uint64_t)check_random() * count) >> 32);
}

/* ---- NULL, sizes, defaults ----------------------------------------------------------------- */

static void test_null(void)
{
    retry_breaker breaker = opened(100, 0, 0);
    retry_permit permit = retry_breaker_ask(NULL, false, 5);
    retry_permit zero;
    retry_breaker_counts counts = retry_breaker_get(NULL, 5);
    memset(&zero, 0, sizeof zero);
    CHECK(permit.granted);
    CHECK_EQUAL(0, permit.wait);
    CHECK(!retry_breaker_report(NULL, permit, NULL, 5));
    CHECK(!retry_breaker_report(NULL, permit, &sick, 5));
    retry_breaker_release(NULL, permit, 5);
    retry_breaker_reset(NULL, 5);
    retry_breaker_set(NULL, RETRY_BREAKER_OPEN, 5);
    CHECK_STATE(CLOSED, NULL, 5);
    CHECK_EQUAL(0, counts.reports + counts.sick + counts.in_a_row + counts.sick_probes);
    CHECK(!retry_breaker_report(&breaker, zero, NULL, 200)); /* a permit of nobody */
    retry_breaker_release(&breaker, zero, 200);
    CHECK_STATE(OPEN, &breaker, 0);
}

static void test_sizes(void)
{
    CHECK_RANGE(0, 64, sizeof(retry_breaker));
    CHECK_RANGE(0, 12, sizeof(retry_permit));
    CHECK_EQUAL(0, RETRY_BREAKER_CLOSED);
    CHECK_EQUAL(1, RETRY_BREAKER_OPEN);
    CHECK_EQUAL(2, RETRY_BREAKER_HALF_OPEN);
    CHECK_EQUAL(3, RETRY_BREAKER_ISOLATED);
}

/* Twenty reports, half of them sick; refuses for `open` ms; one probe, which has 5 s. */
static void check_defaults(retry_breaker breaker, retry_ms open, retry_time start)
{
    retry_time now = start;
    retry_permit permit;
    CHECK_STATE(CLOSED, &breaker, now);
    CHECK_EQUAL(0, attempts(&breaker, 19, &sick, now));
    CHECK_STATE(CLOSED, &breaker, now);
    now = check_after(now, 2000);
    CHECK_EQUAL(1, attempts(&breaker, 1, &sick, now));
    CHECK_STATE(OPEN, &breaker, now);
    permit = retry_breaker_ask(&breaker, true, now);
    CHECK(!permit.granted);
    CHECK_EQUAL(open, permit.wait);
    permit = retry_breaker_ask(&breaker, true, check_after(now, open - 1));
    CHECK(!permit.granted);
    CHECK_EQUAL(1, permit.wait);
    now = check_after(now, open);
    CHECK_STATE(HALF_OPEN, &breaker, now);
    permit = retry_breaker_ask(&breaker, true, now);
    CHECK(permit.granted);
    CHECK_EQUAL(0, permit.wait);
    CHECK(!granted(&breaker, check_after(now, 4999)));
    CHECK_STATE(HALF_OPEN, &breaker, check_after(now, 5000));
    CHECK(retry_breaker_report(&breaker, permit, NULL, now));
    CHECK_STATE(CLOSED, &breaker, now);
    CHECK_COUNTS(0, 0, &breaker, now);
    attempts(&breaker, 10, &answered, now);
    attempts(&breaker, 9, &sick, now);
    CHECK_EQUAL(1, sick_to_open(&breaker, 100, now));
    attempts(&breaker, 1, NULL, now);
    CHECK_EQUAL(2, sick_to_open(&breaker, 100, now));
}

static void test_defaults(void)
{
    static const retry_breaker couchbase = RETRY_BREAKER_COUCHBASE;
    retry_breaker breaker = breaker_of(0, 0, 0, 0);
    size_t i;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        check_row("start %" PRIu64, (uint64_t)starts[i]);
        check_defaults(breaker, 2000, starts[i]);
        check_defaults(couchbase, 5000, starts[i]);
    }
    CHECK_EQUAL(20, couchbase.volume);
    CHECK_EQUAL(32768, couchbase.ratio);
    CHECK_EQUAL(60000, couchbase.window);
    CHECK_EQUAL(5000, couchbase.open);
    CHECK_EQUAL(5000, couchbase.probe_timeout);
    memcpy(&breaker, &couchbase, sizeof breaker);
    breaker.volume = breaker.ratio = breaker.window = breaker.open = breaker.probe_timeout = 0;
    CHECK_EQUAL(0, breaker.open_max | breaker.slow | breaker.in_a_row | breaker.probes);
    CHECK_COUNTS(0, 0, &breaker, 0);
}

/* ---- what opens it ------------------------------------------------------------------------- */

static const struct {
    uint32_t volume, ratio;
    uint32_t answered, sick; /* reports; the last one opens it */
} trips[] = {
    {0, 0, 0, 20},
    {0, 0, 10, 10},
    {0, 0, 11, 11},
    {0, 0, 400, 400},
    {0, 0, 30000, 30000},
    {1, 0, 0, 1},
    {2, 0, 0, 2},
    {2, 0, 1, 1},
    {3, 0, 1, 2},
    {501, 0, 0, 501},
    {100000, 0, 0, 100000},
    {100000, 1, 99999, 1},
    {0, RETRY_RATIO(0.8), 100, 400}, /* 399 of 499 are not enough */
    {0, RETRY_RATIO(0.8), 4, 16},
    {0, RETRY_RATIO(1), 0, 20},
    {0, RETRY_RATIO(1) + 1, 0, 20},
    {0, UINT32_MAX, 0, 20},
    {0, 1, 19, 1}, /* a ratio of next to nothing: any sick one */
    {0, 1, 60000, 1},
    {1, RETRY_RATIO(0.25), 3, 1},
    {1, RETRY_RATIO(0.25), 6, 2},
    {1, RETRY_RATIO(1.0 / 3), 200, 100},
    {1, RETRY_RATIO(2.0 / 3), 100, 200},
};

static void test_trips(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(trips); i++) {
        retry_breaker breaker = breaker_of(trips[i].volume, trips[i].ratio, 0, 0);
        check_row("volume %lu, ratio %lu, %lu answered, %lu sick", (unsigned long)trips[i].volume,
                  (unsigned long)trips[i].ratio, (unsigned long)trips[i].answered,
                  (unsigned long)trips[i].sick);
        CHECK_EQUAL(0, attempts(&breaker, trips[i].answered, NULL, 1000));
        CHECK_EQUAL(trips[i].sick, sick_to_open(&breaker, 200000, 1000));
        CHECK_COUNTS(trips[i].answered, 0, &breaker, 1000);
        CHECK_EQUAL(1, attempts(&breaker, trips[i].sick, &sick, 1000));
        CHECK_COUNTS(trips[i].answered + trips[i].sick, trips[i].sick, &breaker, 1000);
    }
}

/* Percentages, which RETRY_RATIO rounds up or down: n of 100 reach n %, and n - 1 of 100 do not. */
static void test_ratio_is_not_rounded(void)
{
    unsigned n;
    for (n = 1; n <= 100; n++) {
        retry_breaker breaker = breaker_of(100, RETRY_RATIO(n / 100.0), 0, 0);
        check_row("%u %%", n);
        attempts(&breaker, 100 - n, NULL, 0);
        CHECK_EQUAL(n, sick_to_open(&breaker, 200, 0));
        breaker = breaker_of(100, RETRY_RATIO(n / 100.0), 0, 0);
        attempts(&breaker, 101 - n, NULL, 0);
        attempts(&breaker, n - 1, &sick, 0);
        CHECK_STATE(CLOSED, &breaker, 0);
    }
}

/* Half a unit of the ratio is all that it may be short: a third is that of 21845, but not of 21846
   65536ths. */
static void test_ratio_by_half_a_unit(void)
{
    retry_breaker breaker = breaker_of(3, 21845, 0, 0);
    attempts(&breaker, 2, NULL, 0);
    attempts(&breaker, 1, &sick, 0);
    CHECK_STATE(OPEN, &breaker, 0);
    breaker = breaker_of(3, 21846, 0, 0);
    attempts(&breaker, 2, NULL, 0);
    attempts(&breaker, 1, &sick, 0);
    CHECK_STATE(CLOSED, &breaker, 0);
}

/* Only a sick report opens it, even if the answer before completed the volume. */
static void test_answers_do_not_open(void)
{
    retry_breaker breaker = breaker_of(20, RETRY_RATIO(0.1), 0, 0);
    attempts(&breaker, 19, &sick, 0);
    CHECK_EQUAL(0, attempts(&breaker, 30, NULL, 0));
    CHECK_STATE(CLOSED, &breaker, 0);
    CHECK_EQUAL(1, sick_to_open(&breaker, 100, 0));
}

static const struct {
    uint16_t in_a_row;
    unsigned sick_before; /* then an answer, then as many sick ones as it takes */
    unsigned takes;
} rows[] = {{1, 0, 1},         {2, 1, 2},     {5, 4, 5},       {100, 99, 100},
            {1000, 999, 1000}, {0, 99, 9999}, {65535, 0, 9999}};

/* Sick ones in a row open it whatever the ratio, the volume and the time between them. */
static void test_in_a_row(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_breaker breaker = breaker_of(UINT32_MAX, RETRY_RATIO(1), 1000, 0);
        unsigned n;
        check_row("%u in a row", (unsigned)rows[i].in_a_row);
        breaker.in_a_row = rows[i].in_a_row;
        attempts(&breaker, rows[i].sick_before, &sick, 0);
        CHECK_EQUAL(rows[i].sick_before, retry_breaker_get(&breaker, 0).in_a_row);
        attempts(&breaker, 1, &ignored, 0);
        CHECK_EQUAL(rows[i].sick_before, retry_breaker_get(&breaker, 0).in_a_row);
        attempts(&breaker, 1, i % 2 ? NULL : &answered, 0);
        CHECK_EQUAL(0, retry_breaker_get(&breaker, 0).in_a_row);
        CHECK_EQUAL(rows[i].takes, sick_to_open(&breaker, 9999, 0));
        for (n = 1; n < rows[i].takes; n++) /* one a minute: never two in the window */
            CHECK_EQUAL(0, attempts(&breaker, 1, &sick, n * 60 * (retry_time)SECOND));
        CHECK_EQUAL(n - 1, retry_breaker_get(&breaker, n * 60 * (retry_time)SECOND).in_a_row);
        CHECK_EQUAL(rows[i].takes < 9999,
                    attempts(&breaker, 1, &sick, n * 60 * (retry_time)SECOND));
    }
}

static void test_in_a_row_stays(void)
{
    retry_breaker breaker = breaker_of(UINT32_MAX, 0, 0, 0);
    attempts(&breaker, 65534, &sick, 0);
    CHECK_EQUAL(65534, retry_breaker_get(&breaker, 0).in_a_row);
    attempts(&breaker, 9, &sick, 0);
    CHECK_EQUAL(65535, retry_breaker_get(&breaker, 0).in_a_row);
    CHECK_EQUAL(65543, retry_breaker_get(&breaker, 0).sick);
    breaker.in_a_row = 65535;
    CHECK_EQUAL(1, attempts(&breaker, 1, &sick, 0));
}

enum { IGNORED, SICK, ANSWERED };

static const retry_failure *failure_of(uint32_t outcome)
{
    return outcome == IGNORED ? &ignored : outcome == SICK ? &sick : NULL;
}

static const struct {
    retry_ms slow, took;
    uint32_t outcome, counts_as;
} slow_ones[] = {
    {0, UINT32_C(100000000), ANSWERED, ANSWERED},
    {200, 0, ANSWERED, ANSWERED},
    {200, 199, ANSWERED, ANSWERED},
    {200, 200, ANSWERED, SICK},
    {200, 5000, ANSWERED, SICK},
    {200, 5000, IGNORED, IGNORED},
    {200, 5000, SICK, SICK},
    {200, 1, SICK, SICK},
    {1, 0, ANSWERED, ANSWERED},
    {1, 1, ANSWERED, SICK},
    {UINT32_MAX, UINT32_C(1000000000), ANSWERED, ANSWERED},
    {UINT32_C(1000000000), UINT32_C(1000000000), ANSWERED, SICK},
};

/* An answer that took as long is sick, of a probe too. */
static void test_slow(void)
{
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(slow_ones); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_breaker breaker = breaker_of(1, 0, 0, 100);
            retry_time now = starts[j], end = check_after(now, slow_ones[i].took);
            retry_permit permit = retry_breaker_ask(&breaker, true, now), probe;
            const retry_failure *failure = failure_of(slow_ones[i].outcome);
            check_row("slow %lu, took %lu", (unsigned long)slow_ones[i].slow,
                      (unsigned long)slow_ones[i].took);
            breaker.slow = slow_ones[i].slow;
            CHECK_EQUAL(slow_ones[i].counts_as == SICK,
                        retry_breaker_report(&breaker, permit, failure, end));
            if (slow_ones[i].counts_as != SICK) {
                CHECK_COUNTS(slow_ones[i].counts_as == ANSWERED, 0, &breaker, end);
                continue;
            }
            CHECK_COUNTS(1, 1, &breaker, end);
            now = check_after(end, 100);
            probe = retry_breaker_ask(&breaker, true, now);
            CHECK(retry_breaker_report(&breaker, probe, failure,
                                       check_after(now, slow_ones[i].took)));
            CHECK_STATE(OPEN, &breaker, check_after(now, slow_ones[i].took));
        }
    }
}

static uint32_t outcome_of(retry_reason reason, bool timeout)
{
    uint32_t gates = reason_row_of(reason).gates;
    if (gates == REASON_NOTHING)
        return timeout && reason == RETRY_REASON_NONE ? SICK : IGNORED;
    return gates == REASON_SICK || timeout ? SICK : ANSWERED;
}

static void check_outcome(const retry_failure *failure, uint32_t outcome)
{
    retry_breaker probed = opened(100, 0, 0), counting = breaker_of(2, RETRY_RATIO(1), 0, 0);
    retry_permit permit = retry_breaker_ask(&probed, true, 100);
    CHECK_EQUAL(outcome != IGNORED, retry_breaker_report(&probed, permit, failure, 150));
    CHECK_EQUAL(outcome == ANSWERED  ? RETRY_BREAKER_CLOSED
                : outcome == IGNORED ? RETRY_BREAKER_HALF_OPEN
                                     : RETRY_BREAKER_OPEN,
                retry_breaker_state(&probed, 150));
    CHECK_EQUAL(outcome == SICK ? 100 : 0, retry_breaker_ask(&probed, true, 150).wait);
    attempts(&counting, 1, failure, 0);
    CHECK_COUNTS(outcome != IGNORED, outcome == SICK, &counting, 0);
    CHECK_EQUAL(outcome == SICK ? 1 : outcome == IGNORED ? 2 : 9, sick_to_open(&counting, 9, 0));
}

static void test_outcomes(void)
{
    retry_failure failure;
    unsigned reason;
    check_row("it worked");
    check_outcome(NULL, ANSWERED);
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        check_row("reason %u", reason);
        failure = check_failure_of((retry_reason)reason);
        check_outcome(&failure, outcome_of((retry_reason)reason, false));
        failure.throttle = true; /* somebody asked for less */
        failure.fault = RETRY_FAULT_SERVER;
        check_outcome(&failure, reason == RETRY_REASON_NONE
                                    ? (uint32_t)ANSWERED
                                    : outcome_of((retry_reason)reason, false));
        failure.timeout = true;
        check_outcome(&failure, outcome_of((retry_reason)reason, true));
    }
    failure = check_failure_of(0x53); /* an application's own */
    check_outcome(&failure, ANSWERED);
    failure = check_failure_of(0x3f); /* no reason */
    check_outcome(&failure, ANSWERED);
}

/* What never left this machine, and what says nothing, tells nothing of the node: it neither opens
   a breaker nor closes one. */
static void test_what_says_nothing(void)
{
    static const retry_reason own = RETRY_REASON_USER(3, RETRY_REASON_ALLOWS_NON_IDEMPOTENT);
    struct {
        const char *what;
        retry_failure failure;
        uint32_t outcome;
    } told[] = {
        {"a wrong URL", retry_classify_errno(EINVAL, false), IGNORED},
        {"EACCES", retry_classify_errno(EACCES, false), IGNORED},
        {"EMFILE", retry_classify_errno(EMFILE, false), IGNORED},
        {"ENFILE", retry_classify_errno(ENFILE, false), IGNORED},
        {"ENOMEM", retry_classify_errno(ENOMEM, false), IGNORED},
        {"ENOBUFS", retry_classify_errno(ENOBUFS, false), IGNORED},
        {"EADDRNOTAVAIL", retry_classify_errno(EADDRNOTAVAIL, false), IGNORED},
        {"EMFILE, sent", retry_classify_errno(EMFILE, true), SICK},
        {"ECONNREFUSED", retry_classify_errno(ECONNREFUSED, false), SICK},
        {"EHOSTUNREACH", retry_classify_errno(EHOSTUNREACH, false), SICK},
        {"ETIMEDOUT", retry_classify_errno(ETIMEDOUT, false), SICK},
        {"EAI_AGAIN", retry_classify_errno(-3, false), SICK},
        {"a server's connection",
         retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE), SICK},
        {"an empty pool", retry_classify_stage(RETRY_STAGE_DISPATCH, own), IGNORED},
        {"KV_LOCKED, unsent", retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_KV_LOCKED),
         IGNORED},
        {"an answer", check_failure_of(own), ANSWERED},
        {"zeroed", check_failure_of(RETRY_REASON_NONE), IGNORED},
        {"zeroed, throttle", check_failure_of(RETRY_REASON_NONE), ANSWERED},
        {"zeroed, code", check_failure_of(RETRY_REASON_NONE), ANSWERED},
        {"zeroed, the client's fault", check_failure_of(RETRY_REASON_NONE), ANSWERED},
        {"zeroed, the server's fault", check_failure_of(RETRY_REASON_NONE), ANSWERED},
        {"zeroed, timeout", check_failure_of(RETRY_REASON_NONE), SICK},
        {"zeroed, safe to repeat", check_failure_of(RETRY_REASON_NONE), IGNORED},
        {"timeout while connecting", check_failure_of(own), SICK},
        {"a gate's, timeout", check_failure_of(RETRY_REASON_CLIENT_THROTTLED), IGNORED},
        {"its breaker's, timeout", check_failure_of(RETRY_REASON_CIRCUIT_BREAKER_OPEN), IGNORED},
        {"unsent, throttled", check_failure_of(own), IGNORED}, /* a quota of the application's */
        {"not reached, throttled", check_failure_of(RETRY_REASON_NODE_NOT_AVAILABLE), SICK},
        {"gRPC's RESOURCE_EXHAUSTED", retry_classify_grpc(8), ANSWERED}, /* a quota */
        {"a server's, throttled", check_failure_of(RETRY_REASON_SERVER_ERROR), SICK},
    };
    size_t i, first = 17;
    told[first].failure.throttle = true;
    told[first + 1].failure.code = 404;
    told[first + 2].failure.fault = RETRY_FAULT_CLIENT;
    told[first + 3].failure.fault = RETRY_FAULT_SERVER;
    told[first + 4].failure.timeout = true;
    told[first + 5].failure.safety = RETRY_SAFETY_YES;
    told[first + 6].failure.unsent = told[first + 6].failure.timeout = true;
    told[first + 7].failure.timeout = told[first + 8].failure.timeout = true;
    told[first + 9].failure.unsent = told[first + 9].failure.throttle = true;
    told[first + 10].failure.throttle = told[first + 12].failure.throttle = true;
    told[first + 12].failure.fault = RETRY_FAULT_SERVER;
    for (i = 0; i < CHECK_COUNT(told); i++) {
        check_row("%s", told[i].what);
        check_outcome(&told[i].failure, told[i].outcome);
    }
}

/* ---- the window ---------------------------------------------------------------------------- */

static const struct {
    retry_ms window, half; /* ms */
} windows[] = {
    {0, 4000},
    {1, 1},
    {2, 1},
    {3, 2},
    {8, 4},
    {999, 500},
    {1000, 500},
    {8000, 4000},
    {60000, 30000},
    {65537, 32769},
    {3600000, 1800000},
    {UINT32_C(0x7fffff), UINT32_C(0x400000)},
    {UINT32_C(0x800000), UINT32_C(0x400000)},
    {UINT32_C(0x800001), UINT32_C(0x400000)},
    {UINT32_MAX, UINT32_C(0x400000)},
};

/* In the middle of what a half began with; so it does not matter where the first one began. */
static retry_breaker breaker_in_time(retry_ms window, retry_time start)
{
    retry_breaker breaker = breaker_of(UINT32_MAX, 0, window, 0);
    attempts(&breaker, 1, NULL, check_before(start, 4 * UINT32_C(0x800000)));
    return breaker;
}

/* The half under way counts, and the one before. */
static void check_window(retry_ms window, retry_time half, retry_time start)
{
    retry_breaker breaker = breaker_in_time(window, start);
    attempts(&breaker, 3, &sick, start);
    CHECK_COUNTS(3, 3, &breaker, check_after(start, half - 1));
    attempts(&breaker, 2, NULL, check_after(start, half - 1));
    CHECK_COUNTS(5, 3, &breaker, check_after(start, half));
    attempts(&breaker, 7, &sick, check_after(start, 2 * half - 1));
    CHECK_COUNTS(12, 10, &breaker, check_after(start, 2 * half - 1));
    CHECK_COUNTS(7, 7, &breaker, check_after(start, 2 * half));
    attempts(&breaker, 1, NULL, check_after(start, 3 * half - 1));
    CHECK_COUNTS(8, 7, &breaker, check_after(start, 3 * half - 1));
    CHECK_COUNTS(1, 0, &breaker, check_after(start, 3 * half));
    CHECK_COUNTS(1, 0, &breaker, check_after(start, 4 * half - 1));
    CHECK_COUNTS(0, 0, &breaker, check_after(start, 4 * half));
    attempts(&breaker, 4, &sick, check_after(start, 4 * half + 1));
    CHECK_COUNTS(0, 0, &breaker, check_after(start, 7 * half)); /* nothing for a whole window */
}

static void test_window(void)
{
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(windows); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            check_row("window %lu, start %" PRIu64, (unsigned long)windows[i].window,
                      (uint64_t)starts[j]);
            check_window(windows[i].window, windows[i].half, starts[j]);
        }
    }
}

/* From its very first report on, whatever the clock shows: it counts for half a window at least,
   and for a window at most. */
static void test_first_report(void)
{
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(windows); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_breaker breaker = breaker_of(UINT32_MAX, 0, windows[i].window, 0), copy;
            retry_time half = windows[i].half;
            check_row("window %lu, start %" PRIu64, (unsigned long)windows[i].window,
                      (uint64_t)starts[j]);
            attempts(&breaker, 1, &sick, starts[j]);
            copy = breaker;
            CHECK_COUNTS(1, 1, &copy, check_after(starts[j], half));
            copy = breaker;
            CHECK_COUNTS(0, 0, &copy, check_after(starts[j], 2 * half));
            attempts(&breaker, 1, NULL, check_after(starts[j], half)); /* also step by step */
            CHECK_COUNTS(1, 0, &breaker, check_after(starts[j], 2 * half));
        }
    }
}

/* It rolls, it does not tumble: nineteen just before and nineteen just after any instant open it.
 */
static void test_no_boundary(void)
{
    uint32_t at;
    for (at = 1; at < 30000; at += 61) {
        retry_breaker breaker = breaker_of(0, 0, 0, 0);
        check_row("at %lu", (unsigned long)at);
        attempts(&breaker, 19, &sick, at - 1);
        CHECK_STATE(CLOSED, &breaker, at - 1);
        CHECK_EQUAL(1, attempts(&breaker, 19, &sick, at));
        CHECK_STATE(OPEN, &breaker, at);
    }
}

/* Reports of `rate` a second from *now on for so many ms; one in `of` is sick (0: none). True: they
   opened it. */
static bool traffic(retry_breaker *breaker, uint32_t rate, unsigned of, uint32_t ms, uint32_t *now)
{
    uint64_t end = (uint64_t)*now + ms, next = (uint64_t)*now * 1000;
    unsigned n = 0;
    bool open = false;
    while (next < end * 1000 && !open) {
        *now = (uint32_t)(next / 1000);
        n++;
        open = attempts(breaker, 1, of != 0 && n % of == 0 ? &sick : NULL, *now) != 0;
        next += 1000000 / rate;
    }
    *now = open ? *now : (uint32_t)end;
    return open;
}

static const uint32_t rates[] = {1, 3, 10, 100, 1000, 10000, 100000};
#define RATES (CHECK_COUNT(rates) - (CHECK_ONE_IN > 1 ? 2 : 0))

/* A total outage after any time of health opens it within half a window and `volume` reports. */
static void test_outage(void)
{
    static const uint32_t health[] = {0, 1, 1999, 2000, 3999, 4000, 6500, 8000, 90000, 91234};
    size_t i, j;
    for (i = 0; i < RATES; i++) {
        for (j = 0; j < CHECK_COUNT(health); j++) {
            retry_breaker breaker = breaker_of(rates[i] < 10 ? 4 : 20, 0, 0, 0);
            uint32_t now = 12345, outage;
            check_row("%lu a second, healthy for %lu ms", (unsigned long)rates[i],
                      (unsigned long)health[j]);
            CHECK(!traffic(&breaker, rates[i], 0, health[j], &now));
            outage = now;
            CHECK(traffic(&breaker, rates[i], 1, 100000, &now));
            CHECK_RANGE(0, 4000 + 1000 * (uint64_t)breaker.volume / rates[i], now - outage);
        }
    }
}

/* It never opens below the ratio: a third sick at any traffic, in windows young and old; nor 1.3 %
   at 2 %. */
static void test_below_the_ratio(void)
{
    static const uint32_t young[] = {0, 1, 5, 500, 20000};
    size_t i, j;
    for (i = 0; i < RATES; i++) {
        for (j = 0; j < CHECK_COUNT(young); j++) {
            retry_breaker breaker = breaker_of(0, 0, 0, 0);
            uint32_t now = 777;
            check_row("%lu a second, healthy for %lu ms", (unsigned long)rates[i],
                      (unsigned long)young[j]);
            CHECK(!traffic(&breaker, rates[i], 0, young[j], &now));
            CHECK(!traffic(&breaker, rates[i], 3, 10000, &now));
            breaker.ratio = RETRY_RATIO(0.02);
            breaker.volume = 1000;
            now += 20000;
            CHECK(!traffic(&breaker, rates[i], 77, 10000, &now));
        }
    }
}

/* 80,000 answers in 8 s, then sick ones at 10,000 a second: not before half of the window is sick.
 */
static void test_half_of_the_window(void)
{
    retry_breaker breaker = breaker_of(0, 0, 0, 0);
    uint32_t now = 0;
    retry_breaker_counts counts;
    CHECK(!traffic(&breaker, 10000, 0, 8000, &now));
    CHECK(traffic(&breaker, 10000, 1, 100000, &now));
    counts = retry_breaker_get(&breaker, now);
    CHECK(counts.sick * 2 >= counts.reports);
    CHECK_RANGE(40000, 80000, counts.reports);
    CHECK_RANGE(8000, 12001, now);
}

/* More reports than eight or sixteen bits hold are counted one by one. */
static void test_exact(void)
{
    retry_breaker breaker = breaker_of(400000, RETRY_RATIO(0.45), 0, 0);
    uint32_t i;
    for (i = 0; i < 200000; i++)
        attempts(&breaker, 1, i % 5 < 3 ? NULL : &sick, 1000);
    CHECK_COUNTS(200000, 80000, &breaker, 1000);
    CHECK_COUNTS(200000, 80000, &breaker, 5000);
    for (i = 0; i < 200000; i++)
        attempts(&breaker, 1, i % 5 < 3 ? NULL : &sick, 5000);
    CHECK_COUNTS(400000, 160000, &breaker, 5000);
    breaker.ratio = RETRY_RATIO(0.4);
    CHECK_EQUAL(1, attempts(&breaker, 1, &sick, 5000));
}

/* ---- the three states ---------------------------------------------------------------------- */

enum { ASK, REPORT_SICK, REPORT_ANSWER, RELEASE, RESET, LOOK, SET, ASK_LATE };

/* What is done in each row; `permit` names the one that an ask is given, and that reports and
   releases hand back. */
typedef struct move {
    retry_ms at;
    uint8_t action, permit;
    bool yes;      /* an ask is granted; a report opens or closes it */
    retry_ms wait; /* of an ask */
    uint8_t state; /* afterwards; of SET the one that is set */
} move;

#define CLOSED RETRY_BREAKER_CLOSED
#define OPEN RETRY_BREAKER_OPEN
#define HALF_OPEN RETRY_BREAKER_HALF_OPEN
#define ISOLATED RETRY_BREAKER_ISOLATED

static void check_steps(const char *name, retry_breaker breaker, const move *steps, size_t count,
                        retry_time start)
{
    retry_permit permits[8];
    size_t i;
    memset(permits, 0, sizeof permits);
    for (i = 0; i < count; i++) {
        retry_time now = check_after(start, steps[i].at);
        retry_permit *permit = &permits[steps[i].permit];
        check_row("%s, start %" PRIu64 ", step %u", name, (uint64_t)start, (unsigned)i);
        switch (steps[i].action) {
        case ASK:
        case ASK_LATE: /* too late to be a probe */
            *permit = retry_breaker_ask(&breaker, steps[i].action == ASK, now);
            CHECK_EQUAL(steps[i].yes, permit->granted);
            CHECK_EQUAL(steps[i].wait, permit->wait);
            break;
        case REPORT_SICK:
            CHECK_EQUAL(steps[i].yes, retry_breaker_report(&breaker, *permit, &sick, now));
            break;
        case REPORT_ANSWER:
            CHECK_EQUAL(steps[i].yes,
                        retry_breaker_report(&breaker, *permit, i % 2 ? NULL : &answered, now));
            break;
        case RELEASE:
            retry_breaker_release(&breaker, *permit, now);
            break;
        case RESET:
            retry_breaker_reset(&breaker, now);
            break;
        case SET:
            retry_breaker_set(&breaker, steps[i].state, now);
            break;
        default:
            break;
        }
        CHECK_EQUAL(steps[i].state, retry_breaker_state(&breaker, now));
    }
}

#define RUN_STEPS(breaker, steps, start) \
    check_steps(#steps, (breaker), (steps), CHECK_COUNT(steps), (start))

/* Volume 1, ratio 0.6, open 1000, probe_timeout 300. */
static const move one_probe[] = {
    {0, ASK, 0, true, 0, CLOSED},
    {0, ASK, 1, true, 0, CLOSED},
    {0, ASK_LATE, 2, true, 0, CLOSED},
    {5, RELEASE, 0, false, 0, CLOSED},
    {10, REPORT_ANSWER, 0, false, 0, CLOSED},
    {10, REPORT_SICK, 1, false, 0, CLOSED}, /* half of two */
    /* late answers from before the trip neither close it nor prolong it */
    {11, REPORT_SICK, 2, true, 0, OPEN},
    {12, REPORT_ANSWER, 0, false, 0, OPEN},
    {900, REPORT_SICK, 0, false, 0, OPEN},
    {900, RELEASE, 0, false, 0, OPEN},
    {900, ASK, 3, false, 111, OPEN},
    {900, ASK_LATE, 3, false, 111, OPEN},
    {1010, ASK, 3, false, 1, OPEN},
    /* permits that were not granted do nothing */
    {1010, REPORT_ANSWER, 3, false, 0, OPEN},
    {1010, RELEASE, 3, false, 0, OPEN},
    {1011, LOOK, 0, false, 0, HALF_OPEN},
    /* who has too little time is no probe; one probe; nothing else counts meanwhile */
    {1011, ASK_LATE, 3, false, 0, HALF_OPEN},
    {1011, ASK, 4, true, 0, HALF_OPEN},
    {1011, ASK, 3, false, 0, HALF_OPEN},
    {1011, ASK_LATE, 3, false, 0, HALF_OPEN},
    {1100, REPORT_SICK, 0, false, 0, HALF_OPEN},
    {1100, REPORT_ANSWER, 1, false, 0, HALF_OPEN},
    {1100, REPORT_ANSWER, 3, false, 0, HALF_OPEN},
    {1100, RELEASE, 3, false, 0, HALF_OPEN},
    {1100, RELEASE, 0, false, 0, HALF_OPEN},
    {1310, ASK, 3, false, 0, HALF_OPEN},
    /* it is sick: open for another second */
    {1310, REPORT_SICK, 4, true, 0, OPEN},
    {1310, ASK, 3, false, 1000, OPEN},
    {1310, REPORT_ANSWER, 4, false, 0, OPEN}, /* twice */
    {2309, ASK, 3, false, 1, OPEN},
    /* a silent probe gives its place to another after 300 ms; the answer of either closes */
    {2310, ASK, 5, true, 0, HALF_OPEN},
    {2609, ASK, 3, false, 0, HALF_OPEN},
    {2610, ASK_LATE, 3, false, 0, HALF_OPEN},
    {2610, ASK, 6, true, 0, HALF_OPEN},
    {2610, ASK, 3, false, 0, HALF_OPEN},
    {2909, ASK, 3, false, 0, HALF_OPEN},
    {3600, REPORT_ANSWER, 5, true, 0, CLOSED},
    {3600, REPORT_SICK, 6, false, 0, CLOSED},
    {3600, REPORT_SICK, 4, false, 0, CLOSED},
    {3600, RELEASE, 6, false, 0, CLOSED},
    {3600, ASK, 0, true, 0, CLOSED},
    {3600, ASK, 1, true, 0, CLOSED},
    {3601, REPORT_SICK, 0, true, 0, OPEN}, /* with nothing counted before */
    /* a probe that is released makes place for the next, at once; a silent one has no place any
     * more
     */
    {4601, ASK, 2, true, 0, HALF_OPEN},
    {4650, RELEASE, 2, false, 0, HALF_OPEN},
    {4650, ASK, 3, true, 0, HALF_OPEN},
    {4650, ASK, 4, false, 0, HALF_OPEN},
    {4950, ASK, 4, true, 0, HALF_OPEN},
    {4960, RELEASE, 3, false, 0, HALF_OPEN},
    {4960, ASK, 5, false, 0, HALF_OPEN},
    {4961, RELEASE, 4, false, 0, HALF_OPEN},
    {4961, ASK, 5, true, 0, HALF_OPEN},
    {4961, ASK, 6, false, 0, HALF_OPEN},
    /* an hour later it still counts */
    {3600000, REPORT_ANSWER, 5, true, 0, CLOSED},
    /* a reset voids all permits */
    {3600000, ASK, 1, true, 0, CLOSED},
    {3600000, RESET, 0, false, 0, CLOSED},
    {3600000, REPORT_SICK, 1, false, 0, CLOSED},
    {3600000, ASK, 2, true, 0, CLOSED},
    {3600000, RESET, 0, false, 0, CLOSED},
    {3600000, REPORT_SICK, 2, false, 0, CLOSED},
    {3600000, ASK, 2, true, 0, CLOSED},
    {3600001, REPORT_SICK, 2, true, 0, OPEN},
    {3601001, ASK, 5, true, 0, HALF_OPEN},
    {3601001, RESET, 0, false, 0, CLOSED},
    {3601002, REPORT_SICK, 5, false, 0, CLOSED},
    {3601002, RELEASE, 5, false, 0, CLOSED},
    {3601002, ASK, 6, true, 0, CLOSED},
    {3601002, REPORT_SICK, 6, true, 0, OPEN},
    {3602002, ASK, 7, true, 0, HALF_OPEN},
    {3602002, RELEASE, 7, false, 0, HALF_OPEN},
    {3602002, RESET, 0, false, 0, CLOSED},
    {3602002, ASK, 7, true, 0, CLOSED},
};

/* The published sequence: volume 1, open 50 ms, open_max 400. */
static const move doubled[] = {
    {0, ASK, 0, true, 0, CLOSED},
    {0, REPORT_SICK, 0, true, 0, OPEN},
    {0, ASK, 1, false, 50, OPEN},
    {49, ASK, 1, false, 1, OPEN},
    {50, ASK, 1, true, 0, HALF_OPEN},
    {50, ASK, 2, false, 0, HALF_OPEN},
    {50, REPORT_SICK, 1, true, 0, OPEN},
    {50, ASK, 1, false, 100, OPEN},
    {150, ASK, 1, true, 0, HALF_OPEN},
    {200, REPORT_SICK, 1, true, 0, OPEN},
    {200, ASK, 1, false, 200, OPEN},
    {400, ASK, 1, true, 0, HALF_OPEN},
    {400, REPORT_SICK, 1, true, 0, OPEN},
    {400, ASK, 1, false, 400, OPEN},
    {800, ASK, 1, true, 0, HALF_OPEN},
    {800, REPORT_SICK, 1, true, 0, OPEN},
    {800, ASK, 1, false, 400, OPEN},
    {1200, ASK, 1, true, 0, HALF_OPEN},
    {1200, REPORT_ANSWER, 1, true, 0, CLOSED},
    {1200, ASK, 1, true, 0, CLOSED},
    {1200, REPORT_SICK, 1, true, 0, OPEN},
    {1200, ASK, 1, false, 50, OPEN},
    {1250, ASK, 1, true, 0, HALF_OPEN},
    {1250, REPORT_SICK, 1, true, 0, OPEN},
    {1250, ASK, 1, false, 100, OPEN},
    {1250, SET, 0, false, 0, OPEN},
    {1250, ASK, 1, false, 50, OPEN},
    {1300, ASK, 1, true, 0, HALF_OPEN},
    {1300, REPORT_SICK, 1, true, 0, OPEN},
    {1300, ASK, 1, false, 100, OPEN},
    {1300, RESET, 0, false, 0, CLOSED},
    {1300, ASK, 1, true, 0, CLOSED},
    {1300, REPORT_SICK, 1, true, 0, OPEN},
    {1300, ASK, 1, false, 50, OPEN},
};

/* Volume 1, open 100, probe_timeout 1000, probes 3. */
static const move three_probes[] = {
    {0, ASK, 0, true, 0, CLOSED},
    {0, REPORT_SICK, 0, true, 0, OPEN},
    {100, ASK, 1, true, 0, HALF_OPEN},
    {100, ASK, 2, true, 0, HALF_OPEN},
    {100, ASK, 3, true, 0, HALF_OPEN},
    {100, ASK, 0, false, 0, HALF_OPEN},
    {110, REPORT_ANSWER, 1, false, 0, HALF_OPEN},
    {110, ASK, 0, false, 0, HALF_OPEN}, /* three in all, not one after the other */
    {120, REPORT_ANSWER, 3, false, 0, HALF_OPEN},
    {120, REPORT_ANSWER, 2, true, 0, CLOSED},
    {120, REPORT_ANSWER, 2, false, 0, CLOSED},
    /* the second of three is sick; the others come too late */
    {120, ASK, 0, true, 0, CLOSED},
    {120, REPORT_SICK, 0, true, 0, OPEN},
    {220, ASK, 1, true, 0, HALF_OPEN},
    {220, ASK, 2, true, 0, HALF_OPEN},
    {230, REPORT_ANSWER, 1, false, 0, HALF_OPEN},
    {230, ASK, 3, true, 0, HALF_OPEN},
    {240, REPORT_SICK, 2, true, 0, OPEN},
    {240, REPORT_ANSWER, 3, false, 0, OPEN},
    {240, ASK, 3, false, 100, OPEN},
    /* a place that is released goes to the next; those of the silent ones go to others, and the
       answers of all count */
    {340, ASK, 1, true, 0, HALF_OPEN},
    {340, ASK, 2, true, 0, HALF_OPEN},
    {350, ASK, 3, true, 0, HALF_OPEN},
    {360, RELEASE, 2, false, 0, HALF_OPEN},
    {360, ASK, 2, true, 0, HALF_OPEN},
    {360, ASK, 4, false, 0, HALF_OPEN},
    {1359, ASK, 4, false, 0, HALF_OPEN},
    {1360, ASK, 4, true, 0, HALF_OPEN},
    {1360, ASK, 5, true, 0, HALF_OPEN},
    {1360, ASK, 6, true, 0, HALF_OPEN},
    {1360, ASK, 7, false, 0, HALF_OPEN},
    {5000, REPORT_ANSWER, 1, false, 0, HALF_OPEN},
    {5000, REPORT_ANSWER, 4, false, 0, HALF_OPEN},
    {9000, REPORT_ANSWER, 2, true, 0, CLOSED},
    {9000, REPORT_SICK, 3, false, 0, CLOSED},
    /* after a late answer two are needed, and two are out: one that is released leaves a place */
    {9000, ASK, 0, true, 0, CLOSED},
    {9000, REPORT_SICK, 0, true, 0, OPEN},
    {9100, ASK, 1, true, 0, HALF_OPEN},
    {9600, ASK, 2, true, 0, HALF_OPEN},
    {9600, ASK, 3, true, 0, HALF_OPEN},
    {10100, REPORT_ANSWER, 1, false, 0, HALF_OPEN},
    {10100, ASK, 4, false, 0, HALF_OPEN},
    {10150, RELEASE, 2, false, 0, HALF_OPEN},
    {10150, ASK, 4, true, 0, HALF_OPEN},
    {10150, ASK, 5, false, 0, HALF_OPEN},
    {10200, REPORT_ANSWER, 3, false, 0, HALF_OPEN},
    {10200, REPORT_ANSWER, 4, true, 0, CLOSED},
};

/* Volume 1, open 100: what is set by hand. */
static const move by_hand[] = {
    {0, ASK, 0, true, 0, CLOSED},
    {0, SET, 0, false, 0, ISOLATED},
    {0, REPORT_SICK, 0, false, 0, ISOLATED},
    {0, ASK, 1, false, 0, ISOLATED},
    {1000000000, ASK, 1, false, 0, ISOLATED},
    {1000000000, SET, 0, false, 0, HALF_OPEN},
    {1000000000, REPORT_ANSWER, 0, false, 0, HALF_OPEN},
    {1000000000, ASK, 1, true, 0, HALF_OPEN},
    {1000000000, ASK, 2, false, 0, HALF_OPEN},
    {1000000000, SET, 0, false, 0, HALF_OPEN},
    {1000000000, REPORT_ANSWER, 1, false, 0, HALF_OPEN},
    {1000000000, ASK, 1, true, 0, HALF_OPEN},
    {1000000000, REPORT_ANSWER, 1, true, 0, CLOSED},
    {1000000000, SET, 0, false, 0, OPEN},
    {1000000000, ASK, 1, false, 100, OPEN},
    {1000000050, SET, 0, false, 0, OPEN},
    {1000000050, ASK, 1, false, 100, OPEN},
    {1000000150, ASK, 1, true, 0, HALF_OPEN},
    {1000000150, SET, 0, false, 0, ISOLATED},
    {1000000150, REPORT_ANSWER, 1, false, 0, ISOLATED},
    {1000000150, RESET, 0, false, 0, CLOSED},
    {1000000150, ASK, 1, true, 0, CLOSED},
    {1000000150, REPORT_SICK, 1, true, 0, OPEN},
    {1000000150, SET, 0, false, 0, CLOSED},
    {1000000150, ASK, 1, true, 0, CLOSED},
};

static void test_steps(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        retry_breaker breaker = breaker_of(1, RETRY_RATIO(0.6), 0, 1000);
        breaker.probe_timeout = 300;
        RUN_STEPS(breaker, one_probe, starts[i]);
        breaker = breaker_of(1, 0, 0, 50);
        breaker.open_max = 400;
        RUN_STEPS(breaker, doubled, starts[i]);
        breaker = breaker_of(1, 0, 0, 100);
        breaker.probe_timeout = 1000;
        breaker.probes = 3;
        RUN_STEPS(breaker, three_probes, starts[i]);
        breaker = breaker_of(1, 0, 0, 100);
        RUN_STEPS(breaker, by_hand, starts[i]);
    }
}

/* As many probes as are asked for, up to 255: one more is refused, and it takes all their answers.
 */
static void test_many_probes(void)
{
    static const uint8_t probes[] = {0, 1, 2, 10, 15, 16, 127, 128, 254, 255};
    retry_permit permits[255];
    size_t i;
    for (i = 0; i < CHECK_COUNT(probes); i++) {
        retry_breaker breaker = opened(100, 0, 0);
        uint32_t count = probes[i] ? probes[i] : 1, n;
        check_row("%u probes", (unsigned)probes[i]);
        breaker.probes = probes[i];
        for (n = 0; n < count; n++) {
            permits[n] = retry_breaker_ask(&breaker, true, 100);
            CHECK(permits[n].granted);
        }
        CHECK(!granted(&breaker, 100));
        CHECK(!granted(&breaker, 5099));
        for (n = 0; n < count; n++) {
            CHECK_STATE(HALF_OPEN, &breaker, 200);
            CHECK_EQUAL(n + 1 == count, retry_breaker_report(&breaker, permits[n], NULL, 200));
            CHECK_EQUAL(n + 1 == count, granted(&breaker, 200));
        }
        CHECK_STATE(CLOSED, &breaker, 200);
        CHECK_COUNTS(0, 0, &breaker, 200);
    }
}

/* All are silent, again and again: `probes` of them every probe_timeout ms, never more. */
static void test_silent_probes(void)
{
    retry_breaker breaker = opened(100, 1000, 0);
    retry_permit first = {false, 0, 0, 0};
    uint32_t now;
    uint32_t count = 0;
    breaker.probes = 4;
    for (now = 100; now < 100 + 10 * SECOND; now++) {
        retry_permit permit = retry_breaker_ask(&breaker, true, now);
        count += permit.granted;
        first = count == 1 ? permit : first;
        CHECK_RANGE(0, 4 * ((now - 100) / 1000 + 1), count);
    }
    CHECK_RANGE(36, 40, count);
    retry_breaker_release(&breaker, first, now); /* it has no place to give back */
    CHECK(!granted(&breaker, now - 1));
    CHECK(retry_breaker_report(&breaker, first, &sick, now));
    CHECK_STATE(OPEN, &breaker, now);
    CHECK_EQUAL(1, retry_breaker_get(&breaker, now).sick_probes);
}

/* Without a probe_timeout an answer after 5 s gives no place back: others may have it. */
static void test_default_probe_timeout(void)
{
    static const struct {
        retry_time elapsed;
        bool granted;
    } steps[] = {{4999, true}, {5000, false}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(steps); i++) {
        retry_breaker breaker = opened(100, 0, 0);
        retry_permit first, second;
        breaker.probes = 3;
        first = retry_breaker_ask(&breaker, true, 100);
        second = retry_breaker_ask(&breaker, true, 1100);
        check_row("after %lu ms", (unsigned long)steps[i].elapsed);
        CHECK(first.granted && second.granted);
        CHECK(!retry_breaker_report(&breaker, first, NULL, 100 + steps[i].elapsed));
        CHECK_EQUAL(steps[i].granted, granted(&breaker, 100 + steps[i].elapsed));
    }
}

/* Each change is told once and counts begin anew, also where the number of changes wraps. */
static void test_every_change(void)
{
    retry_breaker breaker = breaker_of(1, 0, 0, 1);
    uint32_t i;
    retry_breaker_reset(&breaker, 0); /* three changes a round: the 65,536th is one that closes */
    for (i = 0; i < 22000; i++) {
        CHECK_EQUAL(1, attempts(&breaker, 1, &sick, i));
        CHECK_EQUAL(1, attempts(&breaker, 1, NULL, i + 1));
        CHECK_COUNTS(0, 0, &breaker, i + 1);
    }
}

/* What is counted, and what a sick round of probes leaves. */
static void test_get(void)
{
    retry_breaker breaker = breaker_of(4, 0, 0, 100);
    retry_breaker_counts counts;
    unsigned i;
    attempts(&breaker, 2, NULL, 0);
    attempts(&breaker, 2, &sick, 0);
    counts = retry_breaker_get(&breaker, 10); /* it stays to be read while it is open */
    CHECK_EQUAL(4, counts.reports);
    CHECK_EQUAL(2, counts.sick);
    CHECK_EQUAL(2, counts.in_a_row);
    CHECK_EQUAL(0, counts.sick_probes);
    for (i = 1; i < 300; i++) {
        CHECK_EQUAL(1, attempts(&breaker, 1, &sick, i * 100));
        CHECK_EQUAL(i < 255 ? i : 255, retry_breaker_get(&breaker, i * 100).sick_probes);
    }
    CHECK_EQUAL(1, attempts(&breaker, 1, NULL, i * 100));
    counts = retry_breaker_get(&breaker, i * 100);
    CHECK_EQUAL(0, counts.reports + counts.sick + counts.in_a_row + counts.sick_probes);
    attempts(&breaker, 3, &sick, i * 100);
    CHECK_EQUAL(3, retry_breaker_get(&breaker, i * 100).in_a_row);
    retry_breaker_reset(&breaker, i * 100);
    counts = retry_breaker_get(&breaker, i * 100);
    CHECK_EQUAL(0, counts.reports + counts.sick + counts.in_a_row + counts.sick_probes);
}

/* No state: nothing happens. */
static void test_set_misuse(void)
{
    retry_breaker breaker = breaker_of(1, 0, 0, 100);
    retry_permit permit = retry_breaker_ask(&breaker, true, 0);
    unsigned state;
    for (state = RETRY_BREAKER_ISOLATED + 1; state < 256; state++)
        retry_breaker_set(&breaker, (uint8_t)state, 0);
    CHECK_STATE(CLOSED, &breaker, 0);
    CHECK(retry_breaker_report(&breaker, permit, &sick, 0));
}

/* After a trip the window is empty again only once it has closed: what was sick before the trip is
   not held against the node a second time. */
static void test_closes_empty(void)
{
    retry_breaker breaker = breaker_of(0, 0, 0, 10);
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
    retry_time probed = check_after(start, opens), again = check_after(probed, waits);
    CHECK_EQUAL(opens, retry_breaker_ask(&breaker, true, start).wait);
    CHECK_EQUAL(opens - opens / 2,
                retry_breaker_ask(&breaker, true, check_after(start, opens / 2)).wait);
    CHECK_EQUAL(1, retry_breaker_ask(&breaker, true, check_after(start, opens - 1)).wait);
    CHECK_STATE(OPEN, &breaker, check_after(start, opens - 1));
    CHECK_STATE(HALF_OPEN, &breaker, probed);
    CHECK(granted(&breaker, probed));
    CHECK(!granted(&breaker, check_after(probed, waits - 1)));
    CHECK(granted(&breaker, again));
    CHECK(!granted(&breaker, again));
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

static const struct {
    retry_ms open, open_max;
    retry_ms last; /* what the sick rounds of probes come to, doubling */
} doublings[] = {
    {0, 0, 2000},
    {50, 0, 50},
    {50, 49, 50},
    {50, 50, 50},
    {50, 51, 51},
    {50, 99, 99},
    {50, 400, 400},
    {0, 300000, 300000},
    {1, UINT32_MAX, UINT32_C(0x40000000)},
    {3, UINT32_C(0x40000000), UINT32_C(0x40000000)},
    {UINT32_C(0x3fffffff), UINT32_MAX, UINT32_C(0x40000000)},
    {UINT32_MAX, 1, UINT32_C(0x40000000)},
    {UINT32_MAX, UINT32_MAX, UINT32_C(0x40000000)},
};

static void test_doubling(void)
{
    size_t i;
    unsigned round;
    for (i = 0; i < CHECK_COUNT(doublings); i++) {
        retry_breaker breaker = opened(doublings[i].open, 0, 0);
        retry_time now = 0;
        retry_ms opens = doublings[i].open ? doublings[i].open : 2000;
        breaker.open_max = doublings[i].open_max;
        opens = opens < UINT32_C(0x40000000) ? opens : UINT32_C(0x40000000);
        for (round = 0; round < 300; round++) {
            check_row("open %lu, open_max %lu, round %u", (unsigned long)doublings[i].open,
                      (unsigned long)doublings[i].open_max, round);
            CHECK_EQUAL(opens, retry_breaker_ask(&breaker, true, now).wait);
            now = check_after(now, opens);
            CHECK_EQUAL(1, attempts(&breaker, 1, &sick, now));
            opens = opens * 2 < doublings[i].last ? opens * 2 : doublings[i].last;
        }
        now = check_after(now, opens);
        CHECK_EQUAL(1, attempts(&breaker, 1, NULL, now));
        CHECK_EQUAL(1, attempts(&breaker, 1, &sick, now));
        CHECK_RANGE(1, doublings[i].open ? doublings[i].open : 2000,
                    retry_breaker_ask(&breaker, true, now).wait);
    }
}

/* ---- permits ------------------------------------------------------------------------------- */

/* A permit of another state is void: nothing that is done with it has an effect. */
static void check_void(const retry_breaker *breaker, retry_permit permit, retry_time now)
{
    retry_breaker copy = *breaker;
    CHECK(!retry_breaker_report(&copy, permit, NULL, now));
    CHECK(!retry_breaker_report(&copy, permit, &sick, now));
    retry_breaker_release(&copy, permit, now);
    CHECK(memcmp(breaker, &copy, sizeof copy) == 0);
}

#define CHANGES (65535 / CHECK_ONE_IN)

static void test_void_permits(void)
{
    retry_breaker breaker = breaker_of(1, 0, 0, 1);
    retry_permit first = retry_breaker_ask(&breaker, true, 0), probe;
    uint32_t i;
    for (i = 1; i <= CHANGES; i++) {
        check_row("reset %lu", (unsigned long)i);
        retry_breaker_reset(&breaker, 0); /* all at the same instant */
        check_void(&breaker, first, 0);
    }
    breaker = breaker_of(1, 0, 0, 1);
    first = retry_breaker_ask(&breaker, true, 0);
    for (i = 1; i <= CHANGES / 3; i++) { /* opens, is probed, closes */
        check_row("opened and closed %lu", (unsigned long)i);
        attempts(&breaker, 1, &sick, i);
        check_void(&breaker, first, i);
        check_void(&breaker, first, i + 1);
        probe = retry_breaker_ask(&breaker, true, i + 1);
        check_void(&breaker, first, i + 1);
        retry_breaker_report(&breaker, probe, NULL, i + 1);
        check_void(&breaker, first, i + 1);
        check_void(&breaker, probe, i + 1);
    }
    breaker = opened(1, 0, 0);
    probe = retry_breaker_ask(&breaker, true, 1);
    retry_breaker_report(&breaker, probe, &sick, 1);
    for (i = 1; i <= CHANGES / 2; i++) { /* the probe is sick: opens anew */
        retry_permit next = retry_breaker_ask(&breaker, true, i + 1);
        check_row("opened anew %lu", (unsigned long)i);
        CHECK(next.granted);
        check_void(&breaker, probe, i + 1);
        CHECK(retry_breaker_report(&breaker, next, &sick, i + 1));
        check_void(&breaker, probe, i + 1);
        check_void(&breaker, next, i + 1);
    }
    breaker = breaker_of(1, 0, 0, 1);
    first = retry_breaker_ask(&breaker, true, 0);
    for (i = 1; i <= 65535; i++)
        retry_breaker_reset(&breaker, 0);
    retry_breaker_set(&breaker, RETRY_BREAKER_OPEN, 0);
    check_row("its number has come round");
    check_void(&breaker, first, 1);
}

/* ---- clocks -------------------------------------------------------------------------------- */

/* Behind by no more than a half of the window, or than `open`: another thread's clock. What it
   reports counts with the rest, and what it asks is answered as at the last change. */
static void test_steps_back(void)
{
    static const retry_ms steps_back[] = {1, 10, 999, 2000};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(steps_back); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time now = check_after(starts[j], UINT32_C(0x800000));
            retry_time before = check_before(now, steps_back[i]);
            retry_breaker breaker = breaker_in_time(0, now), open = opened(0, 0, now);
            retry_permit permit;
            check_row("%lu back, start %" PRIu64, (unsigned long)steps_back[i],
                      (uint64_t)starts[j]);
            attempts(&breaker, 10, &sick, now);
            attempts(&breaker, 9, NULL, before);
            CHECK_COUNTS(19, 10, &breaker, before);
            CHECK_COUNTS(19, 10, &breaker, check_after(now, 7999));
            CHECK_COUNTS(0, 0, &breaker, check_after(now, 8000));
            CHECK_EQUAL(2000, retry_breaker_ask(&open, true, before).wait);
            CHECK_STATE(OPEN, &open, before);
            CHECK_EQUAL(2000, retry_breaker_ask(&open, true, now).wait);
            permit = retry_breaker_ask(&open, true, check_after(now, 2000));
            CHECK(permit.granted);
            CHECK(!granted(&open, check_after(before, 2000)));
            CHECK(retry_breaker_report(&open, permit, NULL, check_after(before, 2000)));
            CHECK_STATE(CLOSED, &open, before);
        }
    }
}

/* Behind by a half of the window: counts with the rest. By a ms more: the clock stepped back. */
static void test_half_a_window_back(void)
{
    static const struct {
        retry_ms window, half;
    } halves[] = {{0, 4000}, {1000, 500}, {60000, 30000}};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(halves); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_breaker breaker = breaker_in_time(halves[i].window, starts[j]);
            retry_time before = check_before(starts[j], halves[i].half);
            check_row("window of %lu ms, start %" PRIu64, (unsigned long)halves[i].window,
                      (uint64_t)starts[j]);
            attempts(&breaker, 10, &sick, starts[j]);
            attempts(&breaker, 9, NULL, before);
            attempts(&breaker, 1, &sick, starts[j]);
            CHECK_COUNTS(20, 11, &breaker, starts[j]);
            attempts(&breaker, 9, NULL, check_before(before, 1));
            CHECK_COUNTS(9, 0, &breaker, check_before(before, 1));
        }
    }
}

/* A clock steps back while the breaker is open. Nobody is told to wait for longer than `open`, or
   refused for longer than twice that; and at once no more if it is behind by more than `open`. */
static void test_refuses_after_a_step_back(void)
{
    static const retry_ms opens[] = {1, 100, 2000, 30000, 1000000};
    static const retry_ms steps_back[] = {1,     50,    101,   1999,  2001,  4000,    6000,
                                          29999, 32768, 32769, 60000, 65537, 1000001, 86400000};
    size_t i, j, k, n;
    for (i = 0; i < CHECK_COUNT(opens); i++) {
        const retry_ms after[] = {0, 1, opens[i] / 2, opens[i] - 1}; /* when it steps back */
        for (j = 0; j < CHECK_COUNT(after) * CHECK_COUNT(steps_back); j++) {
            retry_ms elapsed = after[j % CHECK_COUNT(after)];
            retry_ms back = steps_back[j / CHECK_COUNT(after)];
            for (k = 0; k < CHECK_COUNT(starts); k++) {
                retry_breaker breaker = opened(opens[i], 0, starts[k]);
                retry_time now = check_before(check_after(starts[k], elapsed), back);
                check_row("open %lu, %lu back after %lu ms, start %" PRIu64,
                          (unsigned long)opens[i], (unsigned long)back, (unsigned long)elapsed,
                          (uint64_t)starts[k]);
                for (n = 0; n <= 8; n++) { /* up to twice `open` */
                    retry_time at = check_after(now, (retry_ms)(opens[i] * n / 4));
                    CHECK_RANGE(0, opens[i], retry_breaker_ask(&breaker, false, at).wait);
                }
                if (back > elapsed && (back - elapsed > opens[i] || back - elapsed > 32768))
                    CHECK(granted(&breaker, now));
                else
                    CHECK(granted(&breaker, check_after(now, 2 * opens[i])));
            }
        }
    }
}

/* A clock that is 32,768 ms behind is another thread's, however long the window and `open` are.
   Further behind it was set back: nobody waits until it has caught up. */
static void test_set_back(void)
{
    static const struct {
        retry_ms back;
        bool set_back;
    } steps[] = {{32767, false}, {32768, false}, {32769, true},
                 {HOUR, true},   {DAY, true},    {20 * DAY, true}};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(steps); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time now = check_after(starts[j], steps[i].set_back ? 0 : UINT32_C(0x800000));
            retry_time before = check_before(now, steps[i].back);
            retry_breaker breaker = breaker_of(0, 0, 1000000, 0), open = opened(1000000, 0, now);
            check_row("%lu back, start %" PRIu64, (unsigned long)steps[i].back,
                      (uint64_t)starts[j]);
            attempts(&breaker, 10, &sick, now);
            attempts(&breaker, 9, NULL, before);
            CHECK_COUNTS(steps[i].set_back ? 9 : 19, steps[i].set_back ? 0 : 10, &breaker, before);
            CHECK_COUNTS(0, 0, &breaker, check_after(now, 1000000));
            CHECK_EQUAL(steps[i].set_back, granted(&open, before));
        }
    }
}

/* After any idle time, up to 100 days in steps of an hour, the first calls decide as after the
   longest time that the breaker itself knows. */
static void check_idle(retry_time start, retry_time idle)
{
    retry_breaker closed = breaker_of(0, 0, 0, 0), open = opened(0, 0, start);
    retry_breaker probing = opened(0, 0, start), row = breaker_of(0, 0, 0, 0);
    retry_time probed = check_after(start, 2000), now = check_after(probed, idle);
    retry_permit permit = retry_breaker_ask(&probing, true, probed), kept;
    attempts(&closed, 19, &sick, probed);
    CHECK_COUNTS(0, 0, &closed, now);
    CHECK_EQUAL(20, sick_to_open(&closed, 30, now));
    CHECK_EQUAL(0, attempts(&closed, 19, NULL, now));
    CHECK_STATE(HALF_OPEN, &open, now);
    CHECK_EQUAL(1, attempts(&open, 1, &sick, now));
    CHECK_EQUAL(2000, retry_breaker_ask(&open, true, now).wait);
    CHECK(granted(&open, check_after(now, 2000)));
    CHECK(permit.granted);
    CHECK_STATE(HALF_OPEN, &probing, now);
    CHECK(granted(&probing, now));
    CHECK(!granted(&probing, now));
    CHECK(retry_breaker_report(&probing, permit, NULL, now)); /* as the state is the same */
    kept = retry_breaker_ask(&row, true, probed);
    attempts(&row, 19, &sick, probed);
    CHECK(!retry_breaker_report(&row, kept, &sick, now));
    retry_breaker_set(&row, RETRY_BREAKER_ISOLATED, probed);
    CHECK(!granted(&row, now));
    retry_breaker_reset(&row, now);
    CHECK_EQUAL(20, sick_to_open(&row, 30, now));
}

static void test_idle(void)
{
    size_t i;
    uint32_t hours;
    for (hours = 1; hours <= 2400; hours += hours < 24 ? 1 : 1 + 9 * (CHECK_ONE_IN > 1)) {
        for (i = 0; i < CHECK_COUNT(starts); i++) {
            check_row("idle for %lu h, start %" PRIu64, (unsigned long)hours, (uint64_t)starts[i]);
            check_idle(starts[i], (retry_time)((uint64_t)hours * HOUR));
        }
    }
}

/* Around the 24.86 days that 31 bits of ms last, and their multiples: old counts may come back for
   the length of one window, a refusal for as long as `open`, and a clock that is a little behind
   may be taken for another thread's. No longer. */
static void test_idle_around_the_wrap(void)
{
    uint32_t wrap;
    int32_t offset;
    for (wrap = 1; wrap <= 4; wrap++) {
        for (offset = -20000; offset <= 20000; offset += 500) {
            retry_time at = (retry_time)(int64_t)(((int64_t)wrap * 0x80000000) + offset);
            retry_breaker closed = breaker_in_time(0, 0), open = opened(0, 0, 0);
            retry_breaker_counts counts;
            check_row("wrap %lu, %ld ms", (unsigned long)wrap, (long)offset);
            attempts(&closed, 19, &sick, 0);
            counts = retry_breaker_get(&closed, at);
            CHECK_EQUAL(offset >= -4000 && offset < 8000 ? 19 : 0, counts.reports);
            CHECK_COUNTS(0, 0, &closed, check_after(at, 12000));
            CHECK_EQUAL(wrap % 2 == 1 || offset < -2000 || offset >= 2000, granted(&open, at));
            CHECK_RANGE(0, 2000, retry_breaker_ask(&open, true, at).wait);
        }
    }
}

/* Who only asks is not idle; but only reports move the window on. */
static void test_asked_but_never_told(void)
{
    retry_breaker breaker = breaker_of(0, 0, 0, 0);
    retry_time now = 0;
    unsigned i;
    attempts(&breaker, 19, &sick, now);
    for (i = 0; i < 2400; i++) {
        now = check_after(now, HOUR);
        CHECK(granted(&breaker, now));
        CHECK_EQUAL(20, sick_to_open(&breaker, 30, now));
    }
}

/* ---- a refusal as a failure ---------------------------------------------------------------- */

static const struct {
    retry_ms wait, after;
} eighths[] = {{0, 0},       {1, 1},       {7, 7},
               {8, 9},       {50, 56},     {600, 675},
               {2000, 2250}, {5000, 5625}, {UINT32_C(0x40000000), UINT32_C(0x48000000)}};

/* Who is refused comes back an eighth later than the next probe. */
static void test_classify(void)
{
    size_t i;
    retry_failure failure;
    for (i = 0; i < CHECK_COUNT(eighths); i++) {
        retry_breaker breaker = opened(UINT32_C(0x40000000), 0, 0);
        retry_permit permit =
            retry_breaker_ask(&breaker, true, UINT32_C(0x40000000) - eighths[i].wait);
        check_row("wait %lu", (unsigned long)eighths[i].wait);
        if (eighths[i].wait == 0)
            permit = retry_breaker_ask(&breaker, true, UINT32_C(0x40000000));
        CHECK_EQUAL(eighths[i].wait, permit.wait);
        failure = retry_classify_permit(permit);
        CHECK_EQUAL(RETRY_REASON_CIRCUIT_BREAKER_OPEN, failure.reason);
        CHECK_EQUAL(eighths[i].after, failure.retry_after);
        CHECK(!failure.throttle && !failure.timeout && !failure.unknown && !failure.pushback);
        CHECK_EQUAL(RETRY_SAFETY_MAYBE, failure.safety);
        CHECK_EQUAL(RETRY_FAULT_OTHER, failure.fault);
        CHECK_EQUAL(0, failure.code);
    }
    failure = retry_classify_permit(retry_breaker_ask(NULL, true, 0));
    CHECK_EQUAL(RETRY_REASON_NONE, failure.reason);
    CHECK_EQUAL(0, failure.retry_after);
}

/* ---- a plain model ------------------------------------------------------------------------- */

/* The same, written down without any regard to memory: all reports with their instants, on a clock
   that does not wrap. */
#define REPORTS 1024 /* more than a round has steps */
#define PERMITS 8
#define BEHIND 32768

static struct {
    retry_ms half, open, open_max, probe_timeout, slow;
    uint32_t volume, percent, in_a_row, probes;
    struct {
        uint64_t half; /* when the half began that it was counted in */
        bool sick;
    } reports[REPORTS];
    uint32_t count, row, rounds, generation, state;
    uint64_t half_began, half_before, since; /* half_before: 1 if there is none */
    uint32_t flight, answers;
} model;

struct model_permit {
    bool granted;
    uint32_t generation;
    uint64_t asked;
    retry_ms wait;
};

static uint64_t model_left(uint64_t span, uint64_t now)
{
    uint64_t most = span < BEHIND ? span : BEHIND;
    if (now >= model.since)
        return now - model.since < span ? model.since + span - now : 0;
    return model.since - now <= most ? span : 0;
}

static uint64_t model_open(void)
{
    uint64_t open = model.open;
    unsigned i;
    for (i = 0; i < model.rounds && open < model.open_max; i++)
        open = open * 2 < model.open_max ? open * 2 : model.open_max;
    return open;
}

static uint32_t model_state(uint64_t now)
{
    if (model.state == OPEN && model_left(model_open(), now) == 0)
        return HALF_OPEN;
    return model.state;
}

static void model_change(uint32_t state)
{
    model.state = state;
    model.generation++;
    model.flight = model.answers = 0;
    if (state == CLOSED)
        model.count = model.row = model.rounds = 0;
}

static struct model_permit model_ask(bool may_probe, uint64_t now)
{
    struct model_permit permit = {true, 0, 0, 0};
    permit.asked = now;
    if (model_state(now) == HALF_OPEN) {
        uint32_t flight = model.state == OPEN ? 0 : model.flight;
        bool place = flight + model.answers < model.probes;
        if (!place && model_left(model.probe_timeout, now) == 0) {
            place = true;
            flight = 0;
        }
        permit.granted = may_probe && place;
        if (permit.granted) {
            if (model.state == OPEN)
                model_change(HALF_OPEN);
            model.flight = flight + 1;
            model.since = now;
        }
    } else if (model.state != CLOSED) {
        permit.granted = false;
        permit.wait = model.state == OPEN ? (retry_ms)model_left(model_open(), now) : 0;
    }
    permit.generation = model.generation;
    return permit;
}

static void model_move(uint64_t now)
{
    uint64_t most = model.half < BEHIND ? model.half : BEHIND;
    if (now >= model.half_began && now - model.half_began < model.half)
        return;
    if (now < model.half_began && model.half_began - now <= most)
        return;
    if (now >= model.half_began && now - model.half_began < 2 * (uint64_t)model.half) {
        model.half_before = model.half_began;
        model.half_began += model.half;
        return;
    }
    model.count = 0;
    model.half_before = 1;
    model.half_began = now;
}

static void model_sum(uint32_t *all, uint32_t *bad)
{
    uint32_t i;
    *all = *bad = 0;
    for (i = 0; i < model.count; i++) {
        if (model.reports[i].half != model.half_began && model.reports[i].half != model.half_before)
            continue;
        ++*all;
        *bad += model.reports[i].sick;
    }
}

static bool model_count(bool is_sick, uint64_t now)
{
    uint32_t all, bad;
    model_move(now);
    model.reports[model.count].half = model.half_began;
    model.reports[model.count].sick = is_sick;
    model.count = model.count + 1 < REPORTS ? model.count + 1 : model.count;
    model.row = is_sick ? model.row + 1 : 0;
    model_sum(&all, &bad);
    if (!is_sick || ((all < model.volume || bad * 100 < model.percent * all) &&
                     (model.in_a_row == 0 || model.row < model.in_a_row)))
        return false;
    model_change(OPEN);
    model.since = now;
    return true;
}

static bool model_end(struct model_permit permit, uint32_t outcome, uint64_t now)
{
    uint64_t elapsed = now > permit.asked ? now - permit.asked : 0;
    if (!permit.granted || permit.generation != model.generation)
        return false;
    if (outcome == ANSWERED && model.slow != 0 && elapsed >= model.slow)
        outcome = SICK;
    if (model.state == CLOSED)
        return outcome != IGNORED && model_count(outcome == SICK, now);
    if (outcome == SICK) {
        model_change(OPEN);
        model.rounds = model.rounds < 255 ? model.rounds + 1 : 255;
        model.since = now;
        return true;
    }
    if (model.flight != 0 && elapsed < model.probe_timeout)
        model.flight--;
    model.answers += outcome == ANSWERED;
    if (model.flight + model.answers > model.probes)
        model.flight = model.probes - model.answers;
    if (model.answers < model.probes)
        return false;
    model_change(CLOSED);
    return true;
}

static void model_set(uint32_t state, uint64_t now)
{
    model_change(state);
    model.count = model.row = model.rounds = 0;
    model.since = now;
}

/* Mostly a little later, or a little back. */
static uint64_t step_time(uint64_t now)
{
    switch (choose(40)) {
    case 0:
        return now + choose(3 * DAY);
    case 1:
        return now + choose(HOUR);
    case 2:
        return now - choose(2000);
    case 3:
    case 4:
    case 5:
        return now + choose(3 * model.half);
    case 6:
    case 7:
    case 8:
        return now + model.open / 2 + choose(3);
    case 9:
        return now + model.probe_timeout - choose(3);
    default:
        return now + choose(model.half / 8 + 2);
    }
}

static retry_breaker start_model(uint64_t *now)
{
    static const retry_ms lengths[] = {7, 8, 100, 1000, 60000, UINT32_C(0x800000)};
    static const retry_ms opens[] = {1, 50, 2000, HOUR, DAY};
    retry_ms window = lengths[choose(CHECK_COUNT(lengths))];
    retry_breaker breaker;
    *now = (UINT64_C(1) << 32) * 7 - choose(100000) - choose(2) * UINT64_C(0x90000000);
    memset(&model, 0, sizeof model);
    model.half = (window + 1) / 2;
    model.half_began = *now;
    model.half_before = 1;
    model.volume = 1 + choose(12);
    model.percent = 1 + choose(100);
    model.open = opens[choose(CHECK_COUNT(opens))];
    model.open_max = choose(2) ? opens[choose(CHECK_COUNT(opens))] : 0;
    model.probe_timeout = opens[choose(CHECK_COUNT(opens))];
    model.in_a_row = choose(3) == 0 ? 1 + choose(5) : 0;
    model.slow = choose(3) == 0 ? 1 + choose(2000) : 0;
    model.probes = choose(2) ? 1 : 1 + choose(5);
    breaker =
        breaker_of(model.volume, RETRY_RATIO((double)model.percent / 100), window, model.open);
    breaker.open_max = model.open_max;
    breaker.probe_timeout = model.probe_timeout;
    breaker.in_a_row = (uint16_t)model.in_a_row;
    breaker.slow = model.slow;
    breaker.probes = (uint8_t)(model.probes == 1 ? choose(2) : model.probes);
    retry_breaker_get(&breaker, (retry_time)*now); /* so that the first half begins now */
    return breaker;
}

static void check_model(retry_breaker *breaker, uint64_t now)
{
    uint32_t all, bad;
    retry_breaker_counts counts = retry_breaker_get(breaker, (retry_time)now);
    model_move(now);
    model_sum(&all, &bad);
    CHECK_EQUAL(all, counts.reports);
    CHECK_EQUAL(bad, counts.sick);
    CHECK_EQUAL(model.row, counts.in_a_row);
    CHECK_EQUAL(model.rounds, counts.sick_probes);
}

static void check_against_model(uint32_t round)
{
    uint32_t step;
    struct model_permit expected[PERMITS];
    retry_permit permits[PERMITS];
    uint64_t now;
    retry_breaker breaker = start_model(&now);
    memset(expected, 0, sizeof expected);
    memset(permits, 0, sizeof permits);
    for (step = 0; step < 1000 && check_faults == 0; step++) {
        uint32_t slot = choose(PERMITS), outcome = choose(6), set = choose(400);
        bool may_probe = choose(6) != 0;
        now = step_time(now);
        check_row("round %" PRIu32 ", step %" PRIu32 ", now %" PRIu64, round, step, now);
        if (set < 5) {
            retry_breaker_set(&breaker, (uint8_t)(set & 3), (retry_time)now);
            model_set(set & 3, now);
        } else if (choose(2) == 0) {
            permits[slot] = retry_breaker_ask(&breaker, may_probe, (retry_time)now);
            expected[slot] = model_ask(may_probe, now);
            CHECK_EQUAL(expected[slot].granted, permits[slot].granted);
            CHECK_EQUAL(expected[slot].wait, permits[slot].wait);
        } else if (outcome == 0) {
            retry_breaker_release(&breaker, permits[slot], (retry_time)now);
            model_end(expected[slot], IGNORED, now);
        } else {
            bool changed;
            outcome = outcome == 1 ? IGNORED : outcome < 4 ? SICK : ANSWERED;
            changed =
                retry_breaker_report(&breaker, permits[slot], failure_of(outcome), (retry_time)now);
            CHECK_EQUAL(model_end(expected[slot], outcome, now), changed);
        }
        CHECK_EQUAL(model_state(now), retry_breaker_state(&breaker, (retry_time)now));
        if (choose(4) == 0)
            check_model(&breaker, now);
    }
}

static void test_model(void)
{
    uint32_t round;
#if defined(CHECK_QUICK) || CHECK_ONE_IN > 1
    uint32_t rounds = 60;
#else
    uint32_t rounds = 1000;
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
    RUN(test_answers_do_not_open);
    RUN(test_in_a_row);
    RUN(test_in_a_row_stays);
    RUN(test_slow);
    RUN(test_outcomes);
    if (ECONNREFUSED != EMFILE) /* of avr-libc all errors are one number */
        RUN(test_what_says_nothing);
    RUN(test_window);
    RUN(test_first_report);
    RUN(test_no_boundary);
    RUN(test_outage);
    RUN(test_below_the_ratio);
    RUN(test_half_of_the_window);
    RUN(test_exact);
    RUN(test_steps);
    RUN(test_many_probes);
    RUN(test_silent_probes);
    RUN(test_default_probe_timeout);
    RUN(test_every_change);
    RUN(test_get);
    RUN(test_set_misuse);
    RUN(test_closes_empty);
    RUN(test_spans);
    RUN(test_doubling);
    RUN(test_void_permits);
    RUN(test_steps_back);
    RUN(test_half_a_window_back);
    RUN(test_refuses_after_a_step_back);
    RUN(test_set_back);
    RUN(test_idle);
    RUN(test_idle_around_the_wrap);
    RUN(test_asked_but_never_told);
    RUN(test_classify);
    RUN(test_model);
    return check_done();
}
