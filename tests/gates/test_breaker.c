/* The circuit breaker: its defaults, what opens it, and what a refusal is as a failure. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/breakers.h"
#include "../support/reasons.h"

#include <errno.h>

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
        {"refused unread, or no connection now", retry_classify_stage(RETRY_STAGE_DISPATCH, own),
         IGNORED},
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

/* Ten attempts at once, which all fail when their connection breaks, count once. So does each round
   that begins later. What tells of no connection counts each time. */
static void test_one_connection(void)
{
    static const struct {
        const char *what;
        retry_reason reason;
        bool timeout;
        uint32_t counted; /* of each ten */
    } events[] = {
        {"refused", RETRY_REASON_SOCKET_NOT_AVAILABLE, false, 1},
        {"broken", RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, false, 1},
        {"a connect that timed out", RETRY_REASON_SOCKET_NOT_AVAILABLE, true, 10},
        {"a time-out", RETRY_REASON_ATTEMPT_TIMED_OUT, false, 10},
        {"no node", RETRY_REASON_NODE_NOT_AVAILABLE, false, 10},
        {"an error", RETRY_REASON_SERVER_ERROR, false, 10},
    };
    size_t i, from;
    for (i = 0; i < CHECK_COUNT(events); i++) {
        for (from = 0; from < CHECK_COUNT(starts); from++) {
            retry_breaker breaker = breaker_of(1000, 0, 0, 0);
            retry_failure failure = check_failure_of(events[i].reason);
            uint32_t round, n;
            check_row("%s, from %lu", events[i].what, (unsigned long)starts[from]);
            failure.timeout = events[i].timeout;
            breaker.in_a_row = (uint16_t)(2 * events[i].counted);
            for (round = 0; round < 2; round++) {
                retry_time began = check_after(starts[from], 100 * round);
                retry_time end = check_after(began, 50);
                retry_permit permits[10];
                for (n = 0; n < 10; n++)
                    permits[n] = retry_breaker_ask(&breaker, true, began);
                for (n = 0; n < 10; n++)
                    retry_breaker_report(&breaker, permits[n], &failure, end);
                CHECK_EQUAL(round == 0 ? CLOSED : OPEN, retry_breaker_state(&breaker, end));
                CHECK_COUNTS((round + 1) * events[i].counted, (round + 1) * events[i].counted,
                             &breaker, end);
            }
        }
    }
}

/* An attempt that began in the ms in which a broken connection was counted is of the same event. */
static void test_began_with_it(void)
{
    static const struct {
        retry_time began;
        uint32_t counted;
    } events[] = {{1000, 1}, {1009, 1}, {1010, 1}, {1011, 2}, {1050, 2}};
    retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
    size_t i;
    for (i = 0; i < CHECK_COUNT(events); i++) {
        retry_breaker breaker = breaker_of(1000, 0, 0, 0);
        retry_permit first = retry_breaker_ask(&breaker, true, 1000);
        retry_permit second = retry_breaker_ask(&breaker, true, events[i].began);
        check_row("began at %lu", (unsigned long)events[i].began);
        retry_breaker_report(&breaker, first, &failure, 1010);
        retry_breaker_report(&breaker, second, &failure, 1060);
        CHECK_COUNTS(events[i].counted, events[i].counted, &breaker, 1060);
    }
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
    RUN(test_classify);
    RUN(test_one_connection);
    RUN(test_began_with_it);
    return check_done();
}
