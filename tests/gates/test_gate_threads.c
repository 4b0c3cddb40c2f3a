/* Eight threads share a breaker or a throttle: no report is lost unless the breaker changes, none
   counts that should not, there are no more probes than there may be, and one is told of a change.
   Needs POSIX threads. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "../support/contend.h"
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/by_hand.h"
#include "../support/workers.h"

#define HALF 512u /* ms; of the window. No two threads are further apart. */
#define DAY UINT32_C(86400000)

#ifdef CHECK_QUICK
#define ROUNDS 100u
#else
#define ROUNDS 300u
#endif

static retry_breaker breaker;
static retry_throttle throttle;
static retry_failure sick;
static uint32_t now_shared, probes, changes; /* changed by all threads, atomically */

/* Threads that lose the processor between steps. */
static void run_torn(void *(*work)(void *))
{
    contend.step = threads_may_wait;
    run_threads(work);
    contend.step = NULL;
}

static void set_up(uint32_t volume, uint32_t ratio)
{
    memset(&breaker, 0, sizeof breaker);
    breaker.volume = volume;
    breaker.ratio = ratio;
    breaker.window = 2 * HALF;
    breaker.open = 1;
    breaker.probe_timeout = UINT32_C(1) << 30;
}

/* Whether its report opened or closed the breaker. */
static bool attempt(const retry_failure *failure, retry_time now)
{
    return retry_breaker_report(&breaker, retry_breaker_ask(&breaker, true, now), failure, now);
}

static bool counts_are(uint32_t reports, uint32_t sick_ones, retry_time now)
{
    retry_breaker_counts counts = retry_breaker_get(&breaker, now);
    return counts.reports == reports && counts.sick == sick_ones;
}

/* ---- the breaker's window ------------------------------------------------------------------ */

/* Some reports lie in the two halves of the window. While all threads report, one half ends: the
   older reports leave, and their place is used anew. None of the others is lost. */
static void *roll_on(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t round, i;
    for (round = 0; round < ROUNDS; round++) {
        retry_time start = check_after(UINT32_C(0xfffff800), round * 16);
        retry_time next = check_after(start, 2 * HALF);
        if (threads_meet()) {
            set_up(UINT32_MAX, 0);
            for (i = 0; i < 2; i++)
                attempt(&sick, check_before(start, DAY));
            for (i = 0; i < round % 5; i++)
                attempt(round & 1 ? &sick : NULL, start);
            for (i = 0; i < 3; i++)
                attempt(NULL, check_after(start, HALF));
        }
        threads_meet();
        for (i = 0; i < 32; i++)
            attempt(i % 4 ? NULL : &sick, check_after(check_before(next, 8), i));
        if (threads_meet())
            worker->wrong +=
                !counts_are(3 + 32 * THREADS, 8 * THREADS, check_after(next, HALF - 1));
    }
    return NULL;
}

static void test_roll_on(void)
{
    run_torn(roll_on);
    CHECK_EQUAL(0, total.wrong);
}

/* All at once after a long time, when both halves are old. */
static void *wake_up(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t round, i;
    for (round = 0; round < ROUNDS; round++) {
        retry_time start = round * HALF / 16, end = 40 * DAY + round;
        if (threads_meet()) {
            set_up(UINT32_MAX, 0);
            for (i = 0; i < 8; i++)
                attempt(&sick, start + i * HALF / 4);
        }
        threads_meet();
        for (i = 0; i < 6; i++)
            attempt(i % 2 ? NULL : &sick, end + i % 3);
        if (threads_meet())
            worker->wrong += !counts_are(6 * THREADS, 3 * THREADS, end + HALF - 1);
    }
    return NULL;
}

static void test_wake_up(void)
{
    run_torn(wake_up);
    CHECK_EQUAL(0, total.wrong);
}

/* The report that completes the volume, or the row, opens it, whichever thread's it is, and none
   before; and it alone is told so. */
static void *open_it(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t round, i;
    for (round = 0; round < ROUNDS; round++) {
        uint32_t missing = round % 2;
        if (threads_meet()) {
            set_up(THREADS * 5 + missing, RETRY_RATIO(1));
            if (round % 4 > 1) {
                breaker.volume = UINT32_MAX;
                breaker.in_a_row = (uint16_t)(THREADS * 5 + missing);
            }
            changes = 0;
        }
        threads_meet();
        for (i = 0; i < 5; i++)
            if (attempt(&sick, (worker->number & 1) * HALF))
                __atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
        if (threads_meet()) {
            worker->wrong += changes != !missing;
            worker->wrong +=
                (retry_breaker_state(&breaker, HALF) == RETRY_BREAKER_CLOSED) != missing;
        }
    }
    return NULL;
}

static void test_open(void)
{
    run_torn(open_it);
    CHECK_EQUAL(0, total.wrong);
}

/* ---- changes ------------------------------------------------------------------------------- */

#define CHANGES 60u

/* One thread opens the breaker, probes and closes it. The others report sick ones on permits from
   before: one that counted would open it, as volume is 1. */
static void *report_late(void *context)
{
    struct worker *worker = (struct worker *)context;
    retry_permit permit;
    uint32_t round, i;
    for (round = 0; round < ROUNDS / 4; round++) {
        if (threads_meet())
            set_up(1, RETRY_RATIO(1));
        threads_meet();
        permit = retry_breaker_ask(&breaker, true, 0);
        threads_meet();
        if (worker->number == 0) {
            retry_breaker_reset(&breaker, 0);
            threads_meet();
            for (i = 1; i <= CHANGES / 4; i++) { /* opened, probed, closed and reset */
                worker->wrong += !attempt(&sick, i);
                worker->wrong += retry_breaker_state(&breaker, i) != RETRY_BREAKER_OPEN;
                worker->wrong += !attempt(NULL, i + 1);
                worker->wrong += retry_breaker_state(&breaker, i + 1) != RETRY_BREAKER_CLOSED;
                attempt(NULL, i + 1);
                attempt(NULL, i + 1); /* so that there is a count to be spoilt */
                worker->wrong += !counts_are(2, 0, i + 1);
                retry_breaker_reset(&breaker, i + 1);
                worker->wrong += !counts_are(0, 0, i + 1);
            }
        } else {
            threads_meet();
            for (i = 0; i < CHANGES; i++)
                worker->wrong += retry_breaker_report(&breaker, permit, &sick, i / 2);
        }
    }
    return NULL;
}

static void test_late_reports(void)
{
    run_torn(report_late);
    CHECK_EQUAL(0, total.wrong);
}

/* Reports that are under way when it is reset count nothing afterwards, and spoil nothing. */
static void *reset_it(void *context)
{
    struct worker *worker = (struct worker *)context;
    retry_permit permit;
    uint32_t round, i;
    for (round = 0; round < ROUNDS * 2; round++) {
        if (threads_meet())
            set_up(UINT32_MAX, RETRY_RATIO(1));
        threads_meet();
        permit = retry_breaker_ask(&breaker, true, 0);
        threads_meet();
        if (worker->number == 0)
            retry_breaker_reset(&breaker, 0);
        for (i = 0; i < 3; i++) {
            if (worker->number == 0)
                attempt(&sick, 0);
            else
                retry_breaker_report(&breaker, permit, &sick, 0);
        }
        if (threads_meet()) {
            worker->wrong += !counts_are(3, 3, 0);
            worker->wrong += retry_breaker_get(&breaker, 0).in_a_row != 3;
        }
    }
    return NULL;
}

static void test_reset(void)
{
    run_torn(reset_it);
    CHECK_EQUAL(0, total.wrong);
}

/* All that is granted while it never closes is a probe: there are as many at a time as there may
   be, and when one has been released, or all of them are void by a sick one, the next follow. */
static void *probe(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t round;
    for (round = 0; round < ROUNDS * 10; round++) {
        uint32_t now = __atomic_fetch_add(&now_shared, 1, __ATOMIC_RELAXED) >> 2;
        retry_permit permit = retry_breaker_ask(&breaker, true, now);
        if (!permit.granted) {
            worker->wrong += retry_breaker_state(&breaker, now) == RETRY_BREAKER_CLOSED;
            continue;
        }
        worker->granted++;
        worker->wrong += __atomic_fetch_add(&probes, 1, __ATOMIC_RELAXED) >= breaker.probes;
        if (breaker.probes == 1) {
            worker->wrong += retry_breaker_ask(&breaker, true, now).granted;
            worker->wrong += retry_breaker_state(&breaker, now) != RETRY_BREAKER_HALF_OPEN;
        }
        __atomic_fetch_sub(&probes, 1, __ATOMIC_RELAXED);
        if (round % 3 == 0 || breaker.probes > 1)
            retry_breaker_release(&breaker, permit, now);
        else if (!retry_breaker_report(&breaker, permit, &sick, now))
            worker->wrong++;
    }
    return NULL;
}

static void test_probes(void)
{
    uint8_t most;
    for (most = 1; most <= 4; most++) {
        check_row("%u probes", (unsigned)most);
        set_up(1, 0);
        attempt(&sick, 0);
        breaker.probes = most;
        now_shared = 4;
        run_torn(probe);
        CHECK_EQUAL(0, total.wrong);
        CHECK_RANGE(ROUNDS / 10, THREADS * ROUNDS * 10, total.granted);
        CHECK(retry_breaker_state(&breaker, now_shared) == RETRY_BREAKER_HALF_OPEN);
        CHECK(retry_breaker_ask(&breaker, true, now_shared).granted);
    }
}

static retry_permit left_over[4]; /* of those that nobody took in time, and how many */
static uint32_t left_over_count;

static void take_left_over(retry_time now)
{
    left_over_count = 0;
    while (left_over_count < 4) {
        retry_permit permit = retry_breaker_ask(&breaker, true, now);
        if (!permit.granted)
            break;
        left_over[left_over_count++] = permit;
    }
}

/* One answer of a probe. */
static void answer(retry_permit permit)
{
    if (retry_breaker_report(&breaker, permit, NULL, 302))
        __atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
}

/* All ask at once when it is due, and again when all probes have been silent for too long: at least
   one is granted, and with those who ask after that as many as there may be. Their answers close
   it, and one is told so. */
static void *ask_at_once(void *context)
{
    struct worker *worker = (struct worker *)context;
    retry_permit permit;
    uint32_t round, turn;
    memset(&permit, 0, sizeof permit);
    for (round = 0; round < ROUNDS; round++) {
        uint8_t most = (uint8_t)(1 + round % 3);
        if (threads_meet()) {
            set_up(1, 0);
            attempt(&sick, 0);
            breaker.probes = most;
            breaker.probe_timeout = 100;
        }
        for (turn = 0; turn < 4; turn++) {
            if (threads_meet())
                probes = changes = 0;
            threads_meet();
            permit = retry_breaker_ask(&breaker, true, 1 + 100 * turn);
            if (permit.granted)
                __atomic_fetch_add(&probes, 1, __ATOMIC_RELAXED);
            if (threads_meet()) {
                take_left_over(1 + 100 * turn);
                worker->wrong += probes == 0 || probes + left_over_count != most;
            }
        }
        if (threads_meet())
            for (turn = 0; turn < left_over_count; turn++)
                answer(left_over[turn]);
        if (permit.granted)
            answer(permit);
        if (threads_meet()) {
            worker->wrong += changes != 1;
            worker->wrong += retry_breaker_state(&breaker, 302) != RETRY_BREAKER_CLOSED;
            worker->wrong += !counts_are(0, 0, 302);
        }
        threads_meet();
    }
    return NULL;
}

static void test_ask_at_once(void)
{
    run_torn(ask_at_once);
    CHECK_EQUAL(0, total.wrong);
}

/* Anything at any time: it ends in a state that it can be brought back from. */
static void *anything(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t state = worker->number + 1, i;
    retry_permit permits[4];
    memset(permits, 0, sizeof permits);
    for (i = 0; i < ROUNDS * 10; i++) {
        uint32_t now = __atomic_fetch_add(&now_shared, 1, __ATOMIC_RELAXED) >> 3;
        retry_permit *permit = &permits[i % 4];
        retry_breaker_counts counts;
        threads_choose(&state);
        if (state % 5 < 2)
            *permit = retry_breaker_ask(&breaker, state % 7 != 0, now);
        else if (state % 50 == 49)
            retry_breaker_set(&breaker, (uint8_t)(state % 3), now);
        else if (state % 5 == 4)
            retry_breaker_release(&breaker, *permit, now);
        else
            retry_breaker_report(&breaker, *permit, state % 3 ? &sick : NULL, now);
        worker->wrong += retry_breaker_state(&breaker, now) > RETRY_BREAKER_HALF_OPEN;
        counts = retry_breaker_get(&breaker, now);
        worker->wrong += counts.reports > THREADS * ROUNDS * 10;
    }
    return NULL;
}

static void test_anything(void)
{
    uint32_t later;
    set_up(5, 0);
    breaker.probes = 2;
    breaker.in_a_row = 4;
    breaker.probe_timeout = 3;
    run_torn(anything);
    CHECK_EQUAL(0, total.wrong);
    later = now_shared + 100000;
    attempt(NULL, later);
    later += breaker.probe_timeout; /* a probe that nobody reported may still have a place */
    attempt(NULL, later);
    CHECK_EQUAL(RETRY_BREAKER_CLOSED, retry_breaker_state(&breaker, later));
    retry_breaker_reset(&breaker, later);
    CHECK(counts_are(0, 0, later));
    breaker.in_a_row = 0;
    CHECK(!attempt(&sick, later) && !attempt(&sick, later) && !attempt(&sick, later));
    CHECK(!attempt(&sick, later) && attempt(&sick, later));
}

/* ---- the throttle -------------------------------------------------------------------------- */

static retry_gates throttle_gates; /* the throttle's */

static bool refuses(uint32_t random, retry_time now)
{
    return by_hand_ask(&throttle_gates, random, now).cause == RETRY_CAUSE_THROTTLED;
}

/* An attempt that the throttle lets pass. */
static bool attempt_passes(const retry_failure *failure, retry_time now)
{
    return by_hand_attempt(&throttle_gates, UINT32_MAX, now, failure, now).what == RETRY_DO_SEND;
}

/* Requests and accepts of all threads, while those of an earlier window leave: 448 and 192 of them
   refuse with a probability of (448 - 2 * 192) / 449. */
static void *send(void *context)
{
    struct worker *worker = (struct worker *)context;
    const uint32_t lowest = (uint32_t)(((UINT64_C(64) << 32) + 448) / 449);
    uint32_t round, i;
    for (round = 0; round < ROUNDS; round++) {
        retry_time start = check_after(UINT32_C(0xfffff800), round * 16);
        retry_time next = check_after(start, 2 * HALF);
        if (threads_meet()) {
            memset(&throttle, 0, sizeof throttle);
            throttle.window = 2 * HALF;
            attempt_passes(NULL, check_before(start, DAY));
            for (i = 0; i < round % 5; i++)
                attempt_passes(&sick, start);
            refuses(UINT32_MAX, check_after(start, HALF));
        }
        threads_meet();
        for (i = 0; i < 56; i++)
            worker->wrong +=
                !attempt_passes(i % 7 < 3 ? NULL : &sick, check_after(check_before(next, 8), i));
        if (threads_meet()) {
            retry_time end = check_after(next, HALF - 1);
            worker->wrong += !refuses(lowest - 1, end);
            worker->wrong += refuses(lowest, end);
        }
    }
    return NULL;
}

static void test_throttle(void)
{
    memset(&throttle_gates, 0, sizeof throttle_gates);
    retry_gates_throttle(&throttle_gates, &throttle);
    run_torn(send);
    CHECK_EQUAL(0, total.wrong);
    CHECK_EQUAL(0, throttle_gates.in_flight);
}

int main(void)
{
    sick = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    RUN(test_roll_on);
    RUN(test_wake_up);
    RUN(test_open);
    RUN(test_late_reports);
    RUN(test_reset);
    RUN(test_probes);
    RUN(test_ask_at_once);
    RUN(test_anything);
    RUN(test_throttle);
    return check_done();
}
