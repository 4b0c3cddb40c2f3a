/* The rate: the half seconds' rule to the last thousandth, the bucket, clocks of every kind, the
   same in real numbers over random sequences, and what is done and rejected at a service that
   accepts half of what is offered. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/by_hand.h"
#include "../support/check.h"

#include <math.h>

#define HOUR ((retry_time)3600000)
#define BACK(ms) ((retry_time)-1 - (ms) + 1) /* for check_after: so many ms earlier */

static retry_rate rate_of(uint32_t min, uint32_t max)
{
    retry_rate rate;
    memset(&rate, 0, sizeof rate);
    rate.min = min;
    rate.max = max;
    rate.wait = 1; /* who would have to wait is refused, and takes nothing */
    return rate;
}

/* Of an attempt that was sent before there was a limit: it takes no token now. */
static void report(retry_rate *rate, const retry_failure *failure, retry_time now)
{
    retry_rate kept = *rate;
    struct by_hand hand;
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    memset(rate, 0, sizeof *rate);
    retry_gates_rate(&gates, rate);
    CHECK_EQUAL(RETRY_DO_SEND, by_hand_send(&hand, &gates, NULL, now).what);
    *rate = kept;
    by_hand_end(&hand, failure, now);
}

static void answer(retry_rate *rate, retry_time now)
{
    report(rate, NULL, now);
}

static void throttle(retry_rate *rate, retry_time now)
{
    retry_failure failure = retry_classify_http(429, 0);
    report(rate, &failure, now);
}

#define MANY 13000u /* more than any bucket of these tests holds */

/* How many of those who ask at this instant may send. */
static uint32_t burst(retry_rate *rate, retry_time now)
{
    uint32_t granted = 0;
    while (granted < MANY && by_hand_rate(rate, now) == 0)
        granted++;
    return granted;
}

/* What each ask of so many ms, one a ms, comes to. */
static uint32_t granted_in(retry_rate *rate, retry_time from, retry_ms length)
{
    uint32_t granted = 0;
    retry_ms ms;
    for (ms = 0; ms < length; ms++)
        granted += by_hand_rate(rate, check_after(from, ms)) == 0;
    return granted;
}

/* So many answers in a half second and so many throttled ones, the first of all as it begins and
   the last as it ends; an ask ends it. */
static void half_second(retry_rate *rate, retry_time start, uint32_t accepted, uint32_t throttled)
{
    retry_time now = start;
    for (; accepted != 0; accepted--, now = check_after(start, 250))
        answer(rate, now);
    for (; throttled != 0; throttled--, now = check_after(start, 499))
        throttle(rate, now);
    by_hand_rate(rate, check_after(start, 500));
}

/* Within two thousandths of what is expected, and one in the last place. */
static void check_limit(uint32_t expected, const retry_rate *rate)
{
    CHECK_RANGE(expected - expected / 500 - (expected > 1),
                (uint64_t)expected + expected / 500 + (expected < UINT32_MAX),
                retry_rate_get(rate));
}

/* ---- before there is a limit --------------------------------------------------------------- */

static void test_null(void)
{
    CHECK_EQUAL(UINT32_MAX, retry_rate_get(NULL));
}

static void test_size(void)
{
    CHECK_RANGE(1, 56, sizeof(retry_rate));
}

/* What an idle rate saves up, in whole and in parts of a token, and when the next is there. */
static void test_burst(void)
{
    static const struct {
        uint32_t max, burst, granted;
        retry_ms next;
    } rows[] = {
        {50000, 0, 6, 15},
        {50000, 1, 1, 20},
        {50000, 999, 1, 20},
        {50000, 1000, 1, 20},
        {50000, 1500, 1, 10},
        {50000, 1999, 1, 1},
        {50000, 2000, 2, 20},
        {50000, 10000, 10, 20},
        {50000, 100250, 100, 15},
        {1000, 0, 1, 1000},
        {1000, 1000, 1, 1000},
        {1000, 3250, 3, 750},
        {100000, 65536000, 13000, 0}, /* as many as are asked for */
        {500, 1000, 1, 2000},
        {1, 1000, 1, 1000000},
        {UINT32_MAX, 1000, 1, 1},
        {1000, UINT32_MAX, 1048, 425},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_rate rate = rate_of(0, rows[i].max);
        retry_ms wait = rows[i].next;
        rate.burst = rows[i].burst;
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].granted, burst(&rate, 1000));
        if (wait == 0)
            continue;
        if (wait > 1)
            CHECK(by_hand_rate(&rate, check_after(1000, wait - 1)) != 0);
        CHECK_EQUAL(0, by_hand_rate(&rate, check_after(1000, wait)));
        CHECK_EQUAL(rows[i].granted, burst(&rate, check_after(1000, 2 * HOUR))); /* no more */
    }
}

/* Behind a limiter that saves nothing up, such as 50 a second with 20 ms between any two. */
static void test_no_burst(void)
{
    retry_rate rate = rate_of(0, 50000);
    retry_time last = 0, now;
    uint32_t sent = 0;
    rate.burst = 1000;
    for (now = 1000; now < 11000; now++) {
        if (now % 7 == 0 || now > 5000) {
            if (by_hand_rate(&rate, now) == 0) {
                CHECK(sent == 0 || now - last >= 20);
                last = now;
                sent++;
            }
        }
    }
    CHECK_RANGE(480, 501, sent);
}

static void test_no_limit_yet(void)
{
    retry_rate rate = rate_of(0, 0);
    retry_failure failure = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    unsigned i;
    for (i = 0; i < 5000; i++) {
        CHECK_EQUAL(0, by_hand_rate(&rate, i));
        CHECK_EQUAL(UINT32_MAX, retry_rate_get(&rate));
        report(&rate, i % 3 == 0 ? &failure : NULL, i);
    }
    CHECK_EQUAL(MANY, burst(&rate, i)); /* as many as ask */
}

/* ---- half seconds -------------------------------------------------------------------------- */

/* By what the limit has grown after so many half seconds in a row without a throttled answer. */
static double risen(uint32_t calm)
{
    static const double rises[] = {1.125, 1.15, 1.2, 1.4, 1.8};
    double factor = 1;
    uint32_t i;
    for (i = 0; i < calm; i++)
        factor *= i < CHECK_COUNT(rises) ? rises[i] : 2;
    return factor;
}

/* A hundred answers a second, each other one throttled; then none, until the limit is gone. */
static void test_known_numbers(void)
{
    static const retry_time starts[] = {0, 500, 12345, 0x7fffff00, 0xffffff00, (retry_time)-300};
    size_t i;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        retry_rate rate = rate_of(0, 0);
        uint32_t half;
        retry_ms now;
        for (now = 0; now < 500; now += 10) {
            CHECK_EQUAL(UINT32_MAX, retry_rate_get(&rate));
            if (now % 20 == 0)
                answer(&rate, check_after(starts[i], now));
            else
                throttle(&rate, check_after(starts[i], now));
        }
        for (half = 1; half < 24; half++) {
            double limit = fmin(50000 * risen(half - 1), UINT32_MAX);
            for (; now < (half + 1) * 500; now += 10) {
                check_row("start %" PRIu64 ", at %lu", (uint64_t)starts[i], (unsigned long)now);
                answer(&rate, check_after(starts[i], now));
                if (half == 1)
                    CHECK_EQUAL(50000, retry_rate_get(&rate));
                else if (half == 2)
                    CHECK_EQUAL(56250, retry_rate_get(&rate));
                else if (half == 3)
                    CHECK_RANGE(64687, 64688, retry_rate_get(&rate)); /* 64.7 */
            }
            CHECK_RANGE(limit * 0.9999 - 1, fmin(limit * 1.0001 + 1, UINT32_MAX),
                        retry_rate_get(&rate));
        }
        answer(&rate, check_after(starts[i], now)); /* 11.51 s after the last throttled one */
        CHECK_EQUAL(UINT32_MAX, retry_rate_get(&rate));
        CHECK_EQUAL(1000, granted_in(&rate, check_after(starts[i], now), 1000));
    }
}

/* One half second after the other. */
static void test_half_seconds(void)
{
    static const struct {
        uint32_t min, max; /* of a new rate; UINT32_MAX: the one of the row before goes on */
        uint32_t accepted, throttled, limit;
    } rows[] = {
        {0, 0, 50, 0, UINT32_MAX},
        {UINT32_MAX, 0, 0, 0, UINT32_MAX},
        {UINT32_MAX, 0, 49, 1, 98000},
        {UINT32_MAX, 0, 48, 1, 96000},
        {UINT32_MAX, 0, 60, 1, 120000}, /* more than the limit: answers of earlier sends */
        {UINT32_MAX, 0, 30, 1, 60000},
        {UINT32_MAX, 0, 29, 99, 58000},
        {UINT32_MAX, 0, 14, 15, 29000}, /* at least half of it */
        {UINT32_MAX, 0, 0, 1, 14500},   /* all was throttled */
        {UINT32_MAX, 0, 9, 0, 32625},   /* as before that, and an eighth more */
        {UINT32_MAX, 0, 9, 1, 18000},   /* and from here on once more */
        {UINT32_MAX, 0, 0, 0, 20250},
        {UINT32_MAX, 0, 9999, 0, 23287}, /* whatever was answered */
        {UINT32_MAX, 0, 0, 0, 27945},
        {UINT32_MAX, 0, 0, 0, 39123},
        {UINT32_MAX, 0, 7, 0, 70421},
        {UINT32_MAX, 0, 0, 0, 140842},
        {UINT32_MAX, 0, 0, 0, 281684},
        {UINT32_MAX, 0, 100, 1, 200000},
        {UINT32_MAX, 0, 0, 0, 225000}, /* gently again */
        {UINT32_MAX, 0, 0, 0, 258750},
        {UINT32_MAX, 0, 0, 0, 310500},
        /* nothing was accepted: half of what was sent, down to the lowest */
        {0, 0, 0, 50, 50000},
        {UINT32_MAX, 0, 0, 50, 25000},
        {UINT32_MAX, 0, 0, 1, 12500},
        {0, 0, 0, 1, 1000},
        {UINT32_MAX, 0, 0, 1, 500},
        {UINT32_MAX, 0, 0, 1, 500},
        {0, 0, 1, 2, 3000},
        {40000, 0, 10, 10, 40000},
        {UINT32_MAX, 0, 0, 10, 40000},
        {UINT32_MAX, 0, 25, 10, 50000},
        {UINT32_MAX, 0, 0, 10, 40000},
        {1, 0, 0, 1, 1000},
        {UINT32_MAX, 0, 0, 1, 500},
        {UINT32_MAX, 0, 0, 1, 250},
        /* a highest one is there from the start */
        {0, 100000, 50, 0, 100000},
        {UINT32_MAX, 100000, 10, 1, 50000}, /* half of it */
        {UINT32_MAX, 100000, 60, 1, 100000},
        {UINT32_MAX, 100000, 0, 1, 50000},
        {UINT32_MAX, 100000, 0, 0, 56250},
        {UINT32_MAX, 100000, 0, 0, 64688},
        {UINT32_MAX, 100000, 0, 0, 77625},
        {UINT32_MAX, 100000, 0, 0, 100000},
        {UINT32_MAX, 100000, 0, 0, 100000},
        /* and wins over the lowest */
        {90000, 30000, 0, 1, 30000},
        {0, 200, 0, 1, 200},
        {0, 1, 0, 9, 1},
        {0, UINT32_MAX, 0, 1, 2147483647},
        {0, UINT32_MAX, 1, 0, UINT32_MAX},
        {UINT32_MAX - 1, 0, 0, 1, UINT32_MAX - 1},
        {UINT32_MAX, 0, 0, 0, UINT32_MAX},
        {0, 0, 20000, 1, 40000000},
    };
    retry_rate rate = rate_of(0, 0);
    retry_time now = 0;
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        if (rows[i].min != UINT32_MAX) {
            rate = rate_of(rows[i].min, rows[i].max);
            now = (retry_time)i * 1000000;
        }
        half_second(&rate, now, rows[i].accepted, rows[i].throttled);
        now += 500;
        check_row("row %u", (unsigned)i);
        check_limit(rows[i].limit, &rate);
    }
}

/* After an outage in which all was throttled the first half second with answers alone brings the
   limit back to what it was when some were accepted. One without answers does not, nor one in which
   some are throttled again. */
static void test_outage(void)
{
    retry_rate rate = rate_of(0, 0);
    retry_time now = 500;
    half_second(&rate, 0, 50, 50); /* 100 a second */
    for (; now < 8500; now += 500)
        half_second(&rate, now, 0, 5);
    check_limit(500, &rate);
    half_second(&rate, 8500, 0, 0);
    check_limit(563, &rate);
    half_second(&rate, 9000, 1, 0);
    check_limit(115000, &rate);
    half_second(&rate, 9500, 50, 0);
    check_limit(138000, &rate);
    half_second(&rate, 10000, 0, 5);
    half_second(&rate, 10500, 0, 5);
    half_second(&rate, 11000, 2, 5);
    check_limit(17250, &rate);
    half_second(&rate, 11500, 2, 0);
    check_limit(19406, &rate);
}

/* Once the limit is gone, answers alone bring none back. */
static void test_stays_without(void)
{
    retry_rate rate = rate_of(0, 0);
    retry_time now = 500;
    half_second(&rate, 0, 50, 50);
    for (; now < 12500; now += 500)
        half_second(&rate, now, 10, 0);
    for (; now < 16000; now += 500) {
        check_row("at %lu", (unsigned long)now);
        check_limit(UINT32_MAX, &rate);
        half_second(&rate, now, 10, 0);
    }
}

/* What counts, and as what: one answer, one report of the row, one throttled one. */
static void test_reports(void)
{
    static const struct {
        retry_reason reason;
        bool throttle, timeout;
        uint32_t limit;
    } rows[] = {
        {RETRY_REASON_NONE, false, false, 2000}, /* it says nothing */
        {RETRY_REASON_KV_LOCKED, false, false, 4000},
        {RETRY_REASON_SERVER_ERROR, false, false, 4000},
        {RETRY_REASON_ATTEMPT_TIMED_OUT, false, true, 4000},
        {RETRY_REASON_SOCKET_NOT_AVAILABLE, false, false, 2000}, /* it reached nobody */
        {RETRY_REASON_NODE_NOT_AVAILABLE, true, true, 2000},
        {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, false, false, 4000},
        {RETRY_REASON_SEARCH_TOO_MANY_REQUESTS, true, false, 3000},
        {RETRY_REASON_SERVER_ERROR, true, true, 3000},
        {RETRY_REASON_NONE, true, false, 3000},
        {RETRY_REASON_CIRCUIT_BREAKER_OPEN, false, false, 2000},
        {RETRY_REASON_CIRCUIT_BREAKER_OPEN, true, true, 2000},
        {RETRY_REASON_CLIENT_THROTTLED, false, false, 2000},
        {RETRY_REASON_CLIENT_THROTTLED, true, false, 2000},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = check_failure_of(rows[i].reason);
        retry_rate rate = rate_of(0, 0);
        failure.throttle = rows[i].throttle;
        failure.timeout = rows[i].timeout;
        check_row("row %u", (unsigned)i);
        report(&rate, &failure, 100);
        by_hand_rate(&rate, 700);
        CHECK_EQUAL(rows[i].throttle && rows[i].limit == 3000 ? 1000 : UINT32_MAX,
                    retry_rate_get(&rate));
        rate = rate_of(0, 0);
        report(&rate, &failure, 100);
        answer(&rate, 101);
        throttle(&rate, 102);
        by_hand_rate(&rate, 700);
        CHECK_EQUAL(rows[i].limit, retry_rate_get(&rate));
    }
}

/* The first answer begins a half second; under a limit they follow each other without a gap, and
   those in which nothing happened count. An ask ends them, and a report does. */
static void test_when_they_end(void)
{
    static const struct {
        retry_ms from, to; /* from the answer to what ends it */
        uint32_t limit;
    } rows[] = {
        {0, 499, UINT32_MAX},
        {0, 500, 2000},
        {0, 999, 2000},
        {0, 1000, 2250},
        {0, 1499, 2250},
        {0, 1500, 2588},
        {499, 499, UINT32_MAX},
        {499, 500, 2000},
        {499, 1000, 2250},
        {777, 500, 2000},
        {777, 1499, 2250},
        {777, 11499, 512819200},
        {0, 11499, 512819200},
        {0, 11999, 1025638400},
        {0, 12000, UINT32_MAX},
        {0, 12500, UINT32_MAX},
        {0, 86400000, UINT32_MAX},
    };
    size_t i;
    unsigned by;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (by = 0; by < 3; by++) {
            retry_rate rate = rate_of(0, 0);
            retry_time start = 5000 + rows[i].from;
            by_hand_rate(&rate, 4000); /* without a limit an ask begins nothing */
            answer(&rate, start);
            throttle(&rate, start);
            if (by == 0)
                by_hand_rate(&rate, start + rows[i].to);
            else if (by == 1)
                answer(&rate, start + rows[i].to);
            else
                throttle(&rate, start + rows[i].to);
            check_row("row %u, by %u", (unsigned)i, by);
            check_limit(rows[i].limit, &rate);
        }
    }
}

/* What was counted before a gap does not join what comes after it. */
static void test_gap(void)
{
    retry_rate rate = rate_of(0, 0);
    unsigned i;
    for (i = 0; i < 100; i++)
        answer(&rate, 1000);
    throttle(&rate, 1700); /* begins the next */
    answer(&rate, 2199);
    by_hand_rate(&rate, 2200);
    CHECK_EQUAL(2000, retry_rate_get(&rate));
    for (i = 0; i < 100; i++)
        answer(&rate, 2200 + i);
    CHECK_EQUAL(2000, retry_rate_get(&rate));
    throttle(&rate, 3200); /* another has passed since */
    CHECK_EQUAL(2587, retry_rate_get(&rate));
}

/* ---- the bucket ---------------------------------------------------------------------------- */

/* An eighth of a second's worth, or one; then the wait for the next, to the ms. */
static void test_bucket(void)
{
    static const struct {
        uint32_t max, capacity;
        retry_ms wait;
    } rows[] = {
        {1, 1, 1000000},   {3, 1, 333334},      {500, 1, 2000},      {7999, 1, 126},
        {8000, 1, 125},    {8001, 1, 125},      {12000, 1, 42},      {16000, 2, 63},
        {100000, 12, 5},   {100001, 12, 5},     {999999, 125, 1},    {1000000, 125, 1},
        {2000000, 250, 1}, {16000000, 2000, 1}, {64503937, 8000, 1}, {100000000, 12487, 1},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_rate rate = rate_of(0, rows[i].max);
        check_row("max %lu", (unsigned long)rows[i].max);
        CHECK_EQUAL(rows[i].max, retry_rate_get(&rate));
        CHECK_EQUAL(rows[i].capacity, burst(&rate, 7));
        CHECK_EQUAL(rows[i].wait, by_hand_rate(&rate, 7));
        CHECK_EQUAL(rows[i].wait, by_hand_rate(&rate, 7)); /* nothing was taken */
        rate.wait = rows[i].wait + 1;
        CHECK_EQUAL(rows[i].max > 1 ? rows[i].wait : rows[i].wait + 1, by_hand_rate(&rate, 7));
        rate.wait = 1;
        CHECK_EQUAL(rows[i].wait, by_hand_rate(&rate, 7)); /* its turn was given back */
        CHECK_EQUAL(1, by_hand_rate(&rate, 7 + rows[i].wait - 1));
        CHECK_EQUAL(0, by_hand_rate(&rate, 7 + rows[i].wait));
        CHECK_EQUAL(rows[i].capacity, burst(&rate, 7 + 2000000000));
    }
}

/* A plain limiter: as many as it says, over any time, whoever asks how often. */
static void test_plain_limiter(void)
{
    static const struct {
        uint32_t max;
        retry_ms step, length;
        uint32_t low, high; /* sends */
    } rows[] = {
        {100000, 1, 10000, 980, 1020},    {100000, 7, 10000, 980, 1020},
        {100000, 100, 10000, 980, 1020},  {100000, 126, 12600, 1200, 1200},
        {1000000, 1, 10000, 9800, 10200}, {777777, 1, 10000, 7700, 7900},
        {1500, 1, 10000, 15, 16},         {500, 1, 60000, 30, 30},
        {10000000, 1, 1000, 9990, 11300}, {97, 100, 1000000, 96, 98},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_rate rate = rate_of(0, rows[i].max);
        uint32_t sends = 0, most = 0;
        retry_ms ms;
        for (ms = 0; ms < rows[i].length; ms += rows[i].step) {
            uint32_t now = burst(&rate, 1000 + ms);
            sends += now;
            most = now > most ? now : most;
        }
        check_row("max %lu, every %lu ms", (unsigned long)rows[i].max, (unsigned long)rows[i].step);
        CHECK_RANGE(rows[i].low, rows[i].high, sends);
        CHECK_RANGE(1, rows[i].max / 8000 + 1, most);
    }
}

/* One that asks every ms, as it is in vectors: no burst is over 13 in any ms. */
static void test_asked_every_ms(void)
{
    retry_rate rate = rate_of(0, 100000);
    CHECK_RANGE(980, 1020, granted_in(&rate, 0, 10000));
    rate = rate_of(0, 100000);
    CHECK_EQUAL(12 + 10, granted_in(&rate, 0, 96)); /* 12.5, and 9.6 more */
}

/* A limit does not find the bucket empty; it paces from there, and the bucket changes with it. */
static void test_first_limit(void)
{
    retry_rate rate = rate_of(0, 0);
    unsigned i;
    for (i = 0; i < 50; i++)
        answer(&rate, 1000);
    throttle(&rate, 1000);
    CHECK_EQUAL(MANY, burst(&rate, 1499));
    CHECK_EQUAL(12, burst(&rate, 1500));
    CHECK_EQUAL(100000, retry_rate_get(&rate));
    CHECK_EQUAL(5, by_hand_rate(&rate, 1500));
    CHECK_EQUAL(40, granted_in(&rate, 1500, 400));
}

/* From a throttled answer to the end of its half second it goes on as before the limit rose. */
static void test_held(void)
{
    retry_rate rate = rate_of(0, 0);
    half_second(&rate, 0, 100, 1); /* 200 a second */
    CHECK_EQUAL(200000, retry_rate_get(&rate));
    half_second(&rate, 500, 100, 0);
    CHECK_EQUAL(225000, retry_rate_get(&rate));
    burst(&rate, 1000);
    CHECK_RANGE(44, 45, granted_in(&rate, 1001, 200));
    throttle(&rate, 1200);
    CHECK_EQUAL(225000, retry_rate_get(&rate));
    CHECK_RANGE(39, 40, granted_in(&rate, 1201, 200));
    answer(&rate, 1400);
    CHECK_RANGE(15, 16, granted_in(&rate, 1401, 80));
    by_hand_rate(&rate, 1500);
    CHECK_EQUAL(112500, retry_rate_get(&rate));
    throttle(&rate, 1500); /* it has not risen since */
    burst(&rate, 1500);
    CHECK_RANGE(22, 23, granted_in(&rate, 1501, 200));
}

/* ---- turns --------------------------------------------------------------------------------- */

static retry_gates gates;

static void gate(retry_rate *rate)
{
    memset(&gates, 0, sizeof gates);
    retry_gates_rate(&gates, rate);
}

static retry_step begin(struct by_hand *hand, retry_time now)
{
    return by_hand_send(hand, &gates, NULL, now);
}

static void check_wait(retry_ms delay, retry_step step, int line)
{
    check_equal(RETRY_DO_WAIT, step.what, "what", __FILE__, line);
    check_equal(RETRY_CAUSE_PACED, step.cause, "cause", __FILE__, line);
    check_equal(delay, step.delay, "delay", __FILE__, line);
}

#define CHECK_WAIT(delay, step) check_wait((delay), (step), __LINE__)

/* Who waits has an instant of its own, one after the other, until that is `wait` ms away. */
static void test_instants(void)
{
    static const struct {
        uint32_t max;
        retry_ms wait;
        uint32_t sent, waits;
        retry_ms first, last, next; /* next: would have been the turn of the first to be refused */
    } rows[] = {
        {100000, 0, 12, 25, 5, 245, 255},
        {100000, 250, 12, 25, 5, 245, 255},
        {100000, 245, 12, 24, 5, 235, 245},
        {100000, 246, 12, 25, 5, 245, 255},
        {100000, 5, 12, 0, 0, 0, 5},
        {100000, 6, 12, 1, 5, 5, 15},
        {100000, 1, 12, 0, 0, 0, 5},
        {8000, 126, 1, 1, 125, 125, 250},
        {8000, 125, 1, 0, 0, 0, 125},
        {500, 0, 1, 0, 0, 0, 2000},
        {4000, 0, 1, 0, 0, 0, 250},
        {4016, 0, 1, 0, 0, 0, 250},
        {4017, 0, 1, 1, 249, 249, 498},
        {1, 1, 1, 0, 0, 0, 1000000},
        {1, UINT32_MAX, 1, 0, 0, 0, UINT32_MAX}, /* longer than what is counted */
        {500, 2001, 1, 1, 2000, 2000, 4000},
        {1000, 4000, 1, 3, 1000, 3000, 4000},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_rate rate = rate_of(0, rows[i].max), before;
        uint32_t sent = 0, waits = 0;
        retry_ms first = 0, last = 0;
        retry_step step;
        rate.wait = rows[i].wait;
        gate(&rate);
        check_row("max %lu, wait %lu", (unsigned long)rows[i].max, (unsigned long)rows[i].wait);
        for (;;) {
            struct by_hand hand;
            before = rate;
            step = begin(&hand, 5000);
            if (step.what == RETRY_DO_END)
                break;
            sent += step.what == RETRY_DO_SEND;
            if (step.what == RETRY_DO_SEND)
                continue;
            CHECK_WAIT(step.delay, step);
            CHECK(waits == 0 || step.delay > last);
            first = waits++ == 0 ? step.delay : first;
            last = step.delay;
        }
        CHECK_EQUAL(RETRY_VERDICT_FAIL, step.verdict);
        CHECK_EQUAL(RETRY_CAUSE_THROTTLED, step.cause);
        CHECK_EQUAL(rows[i].next, step.delay);
        CHECK(memcmp(&before, &rate, sizeof rate) == 0); /* nothing was taken */
        CHECK_EQUAL(rows[i].sent, sent);
        CHECK_EQUAL(rows[i].waits, waits);
        CHECK_EQUAL(rows[i].first, first);
        CHECK_EQUAL(rows[i].last, last);
        CHECK_EQUAL(rows[i].sent, gates.in_flight);
    }
}

/* Who asks too soon has the same instant still, and who asks late has it at once. */
static void test_instant_is_kept(void)
{
    static const retry_time starts[] = {0, 5000, 0x7fffffff, 0xffffffff, (retry_time)-10};
    size_t i;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        retry_time start = starts[i];
        retry_rate rate = rate_of(0, 100000);
        struct by_hand first, second, third;
        check_row("from %lu", (unsigned long)start);
        gate(&rate);
        burst(&rate, start);
        rate.wait = 0;
        CHECK_WAIT(5, begin(&first, start));
        CHECK_WAIT(15, begin(&second, start));
        CHECK_WAIT(25, begin(&third, start));
        CHECK_WAIT(15, retry_next(&second.op, start));
        CHECK_WAIT(1, retry_next(&first.op, check_after(start, 4)));
        CHECK_EQUAL(RETRY_DO_SEND, retry_next(&first.op, check_after(start, 5)).what);
        CHECK_WAIT(10, retry_next(&second.op, check_after(start, 5)));
        CHECK_EQUAL(RETRY_DO_SEND, retry_next(&third.op, check_after(start, 30)).what);
        CHECK_EQUAL(RETRY_DO_SEND, retry_next(&second.op, check_after(start, 31)).what);
        by_hand_end(&first, NULL, check_after(start, 31));
        by_hand_end(&second, NULL, check_after(start, 31));
        by_hand_end(&third, NULL, check_after(start, 31));
        CHECK_EQUAL(RETRY_CAUSE_NONE, retry_next(&third.op, check_after(start, 31)).cause);
        CHECK_EQUAL(0, gates.in_flight);
    }
}

/* Who had the last instant, and gives up, leaves it to the next; any other is gone. */
static void test_instant_given_back(void)
{
    retry_rate rate = rate_of(0, 100000);
    struct by_hand hand, next;
    gate(&rate);
    burst(&rate, 5000);
    rate.wait = 0;
    CHECK_WAIT(5, begin(&hand, 5000));
    CHECK_WAIT(15, begin(&next, 5000));
    retry_stop(&next.op, 5001);
    CHECK_WAIT(14, begin(&next, 5001)); /* 24 otherwise */
    retry_stop(&hand.op, 5002);
    CHECK_WAIT(23, begin(&hand, 5002));
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&next.op, 5015).what);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&hand.op, 5025).what);
}

/* A limit that falls moves no instant that was given, and what is given next comes later. */
static void test_instants_when_it_falls(void)
{
    retry_rate rate = rate_of(0, 100000);
    struct by_hand hand;
    retry_ms last = 0;
    unsigned i;
    gate(&rate);
    burst(&rate, 5000);
    rate.wait = 0;
    for (i = 0; i < 20; i++)
        last = begin(&hand, 5000).delay;
    CHECK_EQUAL(195, last);
    throttle(&rate, 4500);
    CHECK_WAIT(215, begin(&hand, 5000)); /* by 20 from here on */
    CHECK_EQUAL(50000, retry_rate_get(&rate));
}

/* ---- a service that accepts half of what is offered ---------------------------------------- */

enum { FREELY, ASK_AGAIN, KEEP_TURNS, WAYS }; /* ASK_AGAIN: new operations, by a rate's `delay` */
#define OPERATIONS 60
#define THIRD ((retry_time)3000)
#ifdef CHECK_QUICK
#define LAST ((retry_time)13000)
#else
#define LAST ((retry_time)23000)
#endif

enum { IDLE, WAITS, IN_FLIGHT };

struct operation {
    int state;
    bool accepted;
    retry_time begun, due; /* when it asks again, or is answered */
    struct by_hand hand;
};

static struct operation operations[OPERATIONS];

static struct {
    uint32_t way, burst, tokens; /* tokens: thousandths */
    retry_ms late;               /* an answer takes up to so long */
    retry_rate rate;
    uint32_t sent, done, rejected;
} world;

static void send(struct operation *operation, retry_time now)
{
    operation->accepted = world.tokens >= 1000;
    world.tokens -= operation->accepted ? 1000 : 0;
    operation->state = IN_FLIGHT;
    operation->due = now + (world.late != 0 ? check_random() % (world.late + 1) : 0);
    world.sent += now >= THIRD;
}

/* One that has waited for a quarter of a second gives up. */
static void ask(struct operation *operation, retry_time now)
{
    retry_step step;
    memset(&step, 0, sizeof step);
    if (world.way == KEEP_TURNS && operation->state == WAITS)
        step = retry_next(&operation->hand.op, now);
    else if (world.way != FREELY)
        step = begin(&operation->hand, now);
    operation->state = IDLE;
    if (step.what == RETRY_DO_SEND) {
        send(operation, now);
    } else if (step.what == RETRY_DO_WAIT ||
               (world.way == ASK_AGAIN && now + step.delay - operation->begun < 250)) {
        operation->state = WAITS;
        operation->due = now + step.delay;
    }
}

static void hear(struct operation *operation, retry_time now)
{
    retry_failure failure = retry_classify_http(429, 0);
    const retry_failure *told = operation->accepted ? NULL : &failure;
    if (world.way != FREELY)
        by_hand_end(&operation->hand, told, now);
    operation->state = IDLE;
    world.done += now >= THIRD && !told;
    world.rejected += now >= THIRD && told;
}

/* The first that is idle; at most fifty wait, and ten are in flight, or few more. */
static void arrive(retry_time now)
{
    unsigned i;
    for (i = 0; i < OPERATIONS && operations[i].state != IDLE; i++)
        continue;
    if (i == OPERATIONS)
        return;
    operations[i].begun = now;
    ask(&operations[i], now);
}

/* 100 a second accepted, 200 offered: each ms one in five on an average, or every fifth. */
static void live(bool regular)
{
    retry_time now;
    unsigned i;
    for (now = 0; now < LAST; now++) {
        world.tokens += 100;
        if (world.tokens > world.burst * 1000)
            world.tokens = world.burst * 1000;
        for (i = 0; i < OPERATIONS; i++) {
            struct operation *operation = &operations[i];
            if (operation->state == WAITS && operation->due <= now)
                ask(operation, now);
            if (operation->state == IN_FLIGHT && operation->due <= now)
                hear(operation, now);
        }
        if (regular ? now % 5 == 0 : check_random() % 5 == 0)
            arrive(now);
    }
}

static uint32_t done_by(uint32_t way, uint32_t burst_of, retry_ms late, bool regular)
{
    memset(operations, 0, sizeof operations);
    memset(&world, 0, sizeof world);
    world.way = way;
    world.burst = burst_of;
    world.tokens = burst_of * 1000;
    world.late = late;
    world.rate.wait = way == ASK_AGAIN;
    gate(&world.rate);
    live(regular);
    return world.done;
}

static void test_service(void)
{
    static const uint32_t bursts[] = {10, 20, 100};
    static const retry_ms late[] = {0, 1, 20, 50};
    uint32_t way;
    size_t i, j, k;
    for (i = 0; i < CHECK_COUNT(bursts); i++) {
        for (j = 0; j < CHECK_COUNT(late); j++) {
            for (k = 0; k < 2; k++) {
                uint32_t freely = done_by(FREELY, bursts[i], late[j], k != 0);
                for (way = ASK_AGAIN; way < WAYS; way++) {
                    uint32_t done = done_by(way, bursts[i], late[j], k != 0);
                    check_row("bursts of %u, answers within %u ms, way %u %u", (unsigned)bursts[i],
                              (unsigned)late[j], (unsigned)way, (unsigned)k);
                    CHECK_RANGE(freely - freely / 20, UINT32_MAX, done);
                    CHECK_RANGE(0, world.sent / 15, world.rejected);
                }
            }
        }
    }
}

/* When the service accepts ten times as many, or a tenth, the limit follows. */
static void test_service_changes(void)
{
    retry_rate rate = rate_of(0, 0);
    retry_time now;
    uint32_t tokens = 0, per_ms = 100, done = 0;
    for (now = 0; now < 60000; now++) {
        if (now % 20000 == 0) { /* in 1,000ths: 100 a second, then 1,000, then 100 */
            per_ms = now == 20000 ? 1000 : 100;
            done = 0;
        }
        tokens = tokens + per_ms > 20000 ? 20000 : tokens + per_ms;
        while (by_hand_rate(&rate, now) == 0 && tokens >= 1000) {
            answer(&rate, now);
            tokens -= 1000;
            done += now % 20000 >= 5000;
        }
        if (tokens < 1000)
            throttle(&rate, now);
        if (now % 20000 == 19999) {
            check_row("at %lu s", (unsigned long)(now / 1000));
            CHECK_RANGE(per_ms * 15 * 9 / 10, per_ms * 15 + 20, done);
        }
    }
}

/* ---- the same in real numbers -------------------------------------------------------------- */

/* Limits are whole numbers of thousandths of a send a second, as the rate has them. */
struct model {
    double limit, held, good, min, max; /* limit 0: none but max; held: before it rose */
    uint64_t half;
    uint32_t accepted, throttled, calm;
    double lacks; /* ms */
    uint64_t filled;
};

static struct model model_of(const retry_rate *rate)
{
    struct model model;
    memset(&model, 0, sizeof model);
    model.min = rate->min ? rate->min : 500;
    model.max = rate->max ? rate->max : UINT32_MAX;
    return model;
}

static double model_bound(const struct model *model, double limit)
{
    return fmin(fmax(limit, model->min), model->max);
}

static void model_half(struct model *model)
{
    double last = (model->accepted + model->throttled) * 2000.0;
    static const double rises[] = {RETRY_RATIO(0.125), RETRY_RATIO(0.15), RETRY_RATIO(0.2),
                                   RETRY_RATIO(0.4),   RETRY_RATIO(0.8),  RETRY_RATIO(1)};
    double more = rises[model->calm < 5 ? model->calm : 5];
    if (model->max < UINT32_MAX)
        last = model->max;
    if (model->limit > 0)
        last = model->limit;
    if (model->throttled != 0) {
        bool some = model->accepted != 0 || model->limit <= 0;
        model->limit = model_bound(model, fmax(model->accepted * 2000.0, floor(last / 2)));
        model->good = some ? model->limit : model->good;
        model->calm = 0;
    } else if (model->limit > 0) {
        if (model->accepted != 0)
            model->limit = fmax(model->limit, model->good);
        more = floor(model->limit * more / 65536 + 0.5);
        model->limit = model_bound(model, model->limit + more);
        if (++model->calm == 23)
            model->limit = 0;
    }
    model->accepted = model->throttled = 0;
    model->half += 500;
}

static bool model_under_way(const struct model *model)
{
    return model->limit > 0 || model->accepted + model->throttled != 0;
}

static double model_limit(const struct model *model)
{
    return model->limit > 0 ? model->limit : model->max;
}

/* Before each call. */
static void model_turn(struct model *model, uint64_t now)
{
    double before = model->limit;
    bool ended = false;
    for (; model_under_way(model) && now - model->half >= 500; ended = true)
        model_half(model);
    if (ended)
        model->held = before > 0 ? fmin(before, model->limit) : model->limit;
}

static void model_report(struct model *model, bool throttled, uint64_t now)
{
    if (!model_under_way(model))
        model->half = now;
    if (throttled)
        model->throttled++;
    else
        model->accepted++;
}

/* Once an answer was throttled the limit does not rise until the half second is over. */
static double model_applied(const struct model *model)
{
    return model->limit > 0 && model->throttled != 0 ? model->held : model_limit(model);
}

/* Rounded as the rate rounds, to 4096ths of a ms. */
static double model_spacing(const struct model *model)
{
    return floor(4096e6 / model_applied(model) + 0.5) / 4096;
}

static void model_ask(struct model *model, retry_ms got, uint64_t now)
{
    double spacing = model_spacing(model), full = fmax(125, spacing), missing;
    if (model_applied(model) >= UINT32_MAX) {
        CHECK_EQUAL(0, got);
        return;
    }
    model->lacks = fmax(model->lacks - (double)(now - model->filled), 0);
    model->filled = now;
    missing = model->lacks + spacing - full;
    if (missing <= 0)
        model->lacks += spacing;
    CHECK_EQUAL((uint64_t)fmax(ceil(missing), 0), got);
}

#ifdef CHECK_QUICK
#define STEPS 1500u
#else
#define STEPS 20000u
#endif

static retry_ms model_step(unsigned pace)
{
    uint32_t luck = check_random();
    if (luck % 997 == 0)
        return (luck >> 8) % 30000; /* a gap */
    return (luck >> 8) % (pace + 1);
}

/* Answers at rates from one a second to many in a ms, few or many of them throttled. */
static void test_against_real_numbers(void)
{
    static const struct {
        uint32_t min, max, pace, share;
    } rows[] = {
        {0, 0, 0, 3},         {0, 0, 1, 10},          {0, 0, 3, 100},      {0, 0, 20, 2},
        {0, 0, 300, 50},      {0, 0, 1000, 3},        {700000, 0, 2, 2},   {1, 0, 3000, 2},
        {50, 0, 40, 3},       {0, 100000, 3, 20},     {0, 2000000, 0, 50}, {0, 3000, 100, 5},
        {20000, 50000, 5, 4}, {0, 4000000000u, 1, 9}, {0, 0, 2, 10000},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_rate rate = rate_of(rows[i].min, rows[i].max);
        struct model model = model_of(&rate);
        uint64_t now = check_random() % 100000;
        unsigned step;
        for (step = 0; step < STEPS / CHECK_ONE_IN; step++) {
            bool throttled = check_random() % rows[i].share == 0;
            check_row("row %u, step %u", (unsigned)i, step);
            now += model_step(rows[i].pace);
            model_turn(&model, now);
            if (check_random() % 2 == 0) {
                retry_ms wait = by_hand_rate(&rate, (retry_time)now);
                CHECK_EQUAL(model_limit(&model), retry_rate_get(&rate));
                model_ask(&model, wait, now);
                continue;
            }
            if (throttled)
                throttle(&rate, (retry_time)now);
            else
                answer(&rate, (retry_time)now);
            CHECK_EQUAL(model_limit(&model), retry_rate_get(&rate));
            model_report(&model, throttled, now);
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
                                        0x80000000,
                                        0xf8000000,
                                        0xffff8000,
                                        0xffffffff,
                                        (retry_time)-1,
                                        (retry_time)-100,
                                        (retry_time)-32767,
                                        (retry_time)-32768};
    size_t i;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        retry_time start = starts[i];
        retry_rate rate = rate_of(0, 100000);
        check_row("start %" PRIu64, (uint64_t)start);
        CHECK_EQUAL(12, burst(&rate, start));
        CHECK_EQUAL(5, by_hand_rate(&rate, start));
        CHECK_EQUAL(1, by_hand_rate(&rate, check_after(start, 4)));
        CHECK_EQUAL(0, by_hand_rate(&rate, check_after(start, 5)));
        CHECK_EQUAL(100, granted_in(&rate, check_after(start, 6), 1000));
        rate = rate_of(0, 0);
        CHECK_EQUAL(0, by_hand_rate(&rate, start));
        half_second(&rate, start, 25, 25);
        CHECK_EQUAL(50000, retry_rate_get(&rate));
        by_hand_rate(&rate, check_after(start, 999));
        CHECK_EQUAL(50000, retry_rate_get(&rate));
        by_hand_rate(&rate, check_after(start, 1000));
        CHECK_EQUAL(56250, retry_rate_get(&rate));
        by_hand_rate(&rate, check_after(start, 12000));
        CHECK_EQUAL(UINT32_MAX, retry_rate_get(&rate));
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
            retry_time start = starts[j], back = check_after(start, BACK(behind[i]));
            retry_rate rate = rate_of(0, 2000);
            check_row("%lu ms behind %" PRIu64, (unsigned long)behind[i], (uint64_t)start);
            CHECK_EQUAL(1, burst(&rate, start));
            CHECK_EQUAL(500, by_hand_rate(&rate, back));
            CHECK_EQUAL(400, by_hand_rate(&rate, check_after(start, 100)));
            CHECK_EQUAL(400, by_hand_rate(&rate, check_after(back, 100)));
            CHECK_EQUAL(0, by_hand_rate(&rate, check_after(start, 500)));
            rate = rate_of(0, 0);
            answer(&rate, start);
            throttle(&rate, back); /* counts in the half second under way */
            by_hand_rate(&rate, back);
            by_hand_rate(&rate, check_after(start, 499));
            CHECK_EQUAL(UINT32_MAX, retry_rate_get(&rate));
            by_hand_rate(&rate, check_after(start, 500));
            CHECK_EQUAL(2000, retry_rate_get(&rate));
            answer(&rate, check_after(back, 500));
            CHECK_EQUAL(2000, retry_rate_get(&rate));
        }
    }
}

/* One that is further behind was set back, or weeks have passed: it goes on from there. */
static void test_set_back(void)
{
    static const retry_ms behind[] = {32769, 60000, 3600000, 134217728, 2147483648u, 4294000000u};
    static const retry_time starts[] = {200000000, 0, 5000, (retry_time)-5000};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(behind); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time start = starts[j], back = check_after(start, BACK(behind[i]));
            retry_rate rate = rate_of(0, 2000);
            check_row("%lu ms behind %" PRIu64, (unsigned long)behind[i], (uint64_t)start);
            CHECK_EQUAL(1, burst(&rate, start));
            CHECK_EQUAL(1, burst(&rate, back));
            CHECK_EQUAL(500, by_hand_rate(&rate, back));
            CHECK_EQUAL(0, by_hand_rate(&rate, check_after(back, 500)));
            rate = rate_of(0, 0);
            half_second(&rate, start, 1, 1);
            CHECK_EQUAL(2000, retry_rate_get(&rate));
            back = check_after(back, 500);
            half_second(&rate, back, 5, 5);
            CHECK_EQUAL(10000, retry_rate_get(&rate));
        }
    }
}

/* However long nobody asks, the first calls find what 12 s of silence would have left: a full
   bucket, and no limit of the rate's own. */
static void test_idle(void)
{
    static const retry_time starts[] = {0, 12345678, 0x80000000, (retry_time)-5296};
    static const uint32_t maxs[] = {0, 100000};
    uint32_t hours;
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        for (j = 0; j < CHECK_COUNT(maxs); j++) {
            for (hours = 1; hours <= 2400; hours += CHECK_ONE_IN) {
                retry_rate rate = rate_of(0, maxs[j]);
                retry_time later = check_after(starts[i], (retry_time)((uint64_t)hours * HOUR));
                half_second(&rate, starts[i], 10, 10);
                burst(&rate, check_after(starts[i], 500));
                throttle(&rate, check_after(starts[i], 501));
                check_row("%lu hours from %" PRIu64, (unsigned long)hours, (uint64_t)starts[i]);
                CHECK_EQUAL(0, by_hand_rate(&rate, check_after(later, 501)));
                if (maxs[j] != 0)
                    CHECK_EQUAL(11, burst(&rate, check_after(later, 501)));
                CHECK_EQUAL(maxs[j] ? maxs[j] : UINT32_MAX, retry_rate_get(&rate));
                half_second(&rate, check_after(later, 502), 5, 5);
                CHECK_EQUAL(maxs[j] ? 50000 : 10000, retry_rate_get(&rate));
            }
        }
    }
}

/* The slower of `max` and `every` counts; five an hour are exact. */
static void test_every(void)
{
    static const struct {
        uint32_t max;
        retry_ms every, next;
    } rows[] = {{0, 720000, 720000}, {1000, 720000, 720000}, {1000, 3, 1000},
                {0, 1, 1},           {0, 1048576, 1048576},  {0, UINT32_MAX, 1048576}};
    uint32_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_rate rate = rate_of(0, rows[i].max);
        check_row("max %lu, every %lu", (unsigned long)rows[i].max, (unsigned long)rows[i].every);
        rate.every = rows[i].every;
        rate.burst = RETRY_TOKENS(1);
        CHECK_EQUAL(1, burst(&rate, 1000));
        if (rows[i].next > 1)
            CHECK(by_hand_rate(&rate, check_after(1000, rows[i].next - 1)) != 0);
        CHECK_EQUAL(0, by_hand_rate(&rate, check_after(1000, rows[i].next)));
    }
}

int main(void)
{
    RUN(test_null);
    RUN(test_every);
    RUN(test_size);
    RUN(test_burst);
    RUN(test_no_burst);
    RUN(test_no_limit_yet);
    RUN(test_known_numbers);
    RUN(test_half_seconds);
    RUN(test_outage);
    RUN(test_stays_without);
    RUN(test_reports);
    RUN(test_when_they_end);
    RUN(test_gap);
    RUN(test_bucket);
    RUN(test_plain_limiter);
    RUN(test_asked_every_ms);
    RUN(test_first_limit);
    RUN(test_held);
    RUN(test_instants);
    RUN(test_instant_is_kept);
    RUN(test_instant_given_back);
    RUN(test_instants_when_it_falls);
    RUN(test_service);
    RUN(test_service_changes);
    RUN(test_against_real_numbers);
    RUN(test_any_start);
    RUN(test_slightly_behind);
    RUN(test_set_back);
    RUN(test_idle);
    return check_done();
}
