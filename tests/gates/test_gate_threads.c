/* Eight threads share a breaker or a throttle: no report is lost unless the breaker changes, none
   counts that should not, and there is one probe at a time. Needs POSIX threads. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "../support/contend.h"
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/threads.h"

#define SLICE 16u /* ms */
#define WINDOW (8 * SLICE)

#ifdef CHECK_QUICK
#define ROUNDS 100u
#else
#define ROUNDS 300u
#endif

static retry_breaker breaker;
static retry_throttle throttle;
static retry_failure sick;
static uint32_t now_shared, probes; /* changed by all threads, atomically */

/* What one thread did, read by the test once it has ended. */
struct worker {
    uint32_t number;
    uint32_t granted, wrong;
};

static struct worker workers[THREADS];

static void run_threads(void *(*work)(void *))
{
    uint32_t i;
    memset(workers, 0, sizeof workers);
    for (i = 0; i < THREADS; i++)
        workers[i].number = i;
    contend.step = threads_may_wait;
    threads_run(work, workers, sizeof workers[0]);
    contend.step = NULL;
}

static uint32_t granted_in_all(void)
{
    uint32_t i, sum = 0;
    for (i = 0; i < THREADS; i++)
        sum += workers[i].granted;
    return sum;
}

static uint32_t wrong_in_all(void)
{
    uint32_t i, sum = 0;
    for (i = 0; i < THREADS; i++)
        sum += workers[i].wrong;
    return sum;
}

static void set_up(uint32_t volume, uint32_t ratio)
{
    memset(&breaker, 0, sizeof breaker);
    breaker.volume = volume;
    breaker.ratio = ratio;
    breaker.window = WINDOW;
    breaker.open = 1;
}

static void attempt(const retry_failure *failure, retry_time now)
{
    retry_breaker_report(&breaker, retry_breaker_ask(&breaker, true, now), failure, now);
}

/* How many sick reports open it. */
static unsigned sick_to_open(retry_time now)
{
    unsigned count = 0;
    for (; retry_breaker_state(&breaker, now) == RETRY_BREAKER_CLOSED && count < 1000; count++)
        attempt(&sick, now);
    return count;
}

/* ---- the breaker's window ------------------------------------------------------------------ */

/* There are up to four reports in each slice. While they leave, slice by slice, each thread reports
   seven sick ones in every slice: at the end those are all that is there, 448 of them. No two
   threads need to be in the same slice. */
static void *roll_on(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t round, slice, i;
    for (round = 0; round < ROUNDS; round++) {
        retry_time start = check_after(UINT32_C(0xffffff00), round % 64 * SLICE);
        if (threads_meet()) {
            set_up(500, RETRY_RATIO(1));
            for (i = 0; i < round % 3; i++)
                retry_breaker_reset(&breaker, start);
            for (slice = 0; slice < 8; slice++)
                for (i = 0; i < 2 * round % 5; i++)
                    attempt(round & 1 ? &sick : NULL, check_after(start, slice * SLICE));
        }
        threads_meet();
        for (slice = 8; slice < 16; slice++)
            for (i = 0; i < 7; i++)
                attempt(&sick, check_after(start, slice * SLICE + i));
        if (threads_meet()) {
            retry_time end = check_after(start, 16 * SLICE - 1);
            worker->wrong += retry_breaker_state(&breaker, end) != RETRY_BREAKER_CLOSED;
            worker->wrong += sick_to_open(end) != 500 - 7 * 8 * THREADS;
        }
    }
    return NULL;
}

static void test_roll_on(void)
{
    run_threads(roll_on);
    CHECK_EQUAL(0, wrong_in_all());
}

/* All at once after a long time, when every slice is old. */
static void *wake_up(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t round, i;
    for (round = 0; round < ROUNDS; round++) {
        retry_time start = round * SLICE, end = 40 * UINT32_C(86400000) + round;
        if (threads_meet()) {
            set_up(500, RETRY_RATIO(1));
            for (i = 0; i < 8; i++)
                attempt(NULL, start + i * SLICE);
        }
        threads_meet();
        for (i = 0; i < 3; i++)
            attempt(&sick, end);
        if (threads_meet())
            worker->wrong += sick_to_open(end) != 500 - 3 * THREADS;
    }
    return NULL;
}

static void test_wake_up(void)
{
    run_threads(wake_up);
    CHECK_EQUAL(0, wrong_in_all());
}

/* The report that completes the volume opens it, whichever thread's it is, and none before. */
static void *open_it(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t round, i;
    for (round = 0; round < ROUNDS; round++) {
        uint32_t missing = round % 2;
        if (threads_meet())
            set_up(THREADS * 5 + missing, RETRY_RATIO(1));
        threads_meet();
        for (i = 0; i < 5; i++)
            attempt(&sick, (worker->number & 1) * SLICE);
        if (threads_meet())
            worker->wrong += retry_breaker_state(&breaker, SLICE) !=
                             (missing ? RETRY_BREAKER_CLOSED : RETRY_BREAKER_OPEN);
    }
    return NULL;
}

static void test_open(void)
{
    run_threads(open_it);
    CHECK_EQUAL(0, wrong_in_all());
}

/* ---- changes ------------------------------------------------------------------------------- */

#define CHANGES 58u /* after 60 a permit may be taken for a new one */

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
            for (i = 1; i <= (CHANGES - 1) / 4; i++) { /* opened, probed, closed and reset */
                attempt(&sick, i);
                worker->wrong += retry_breaker_state(&breaker, i) != RETRY_BREAKER_OPEN;
                attempt(NULL, i + 1);
                worker->wrong += retry_breaker_state(&breaker, i + 1) != RETRY_BREAKER_CLOSED;
                attempt(NULL, i + 1);
                attempt(NULL, i + 1); /* so that there is a count to be spoilt */
                worker->wrong += retry_breaker_state(&breaker, i + 1) != RETRY_BREAKER_CLOSED;
                retry_breaker_reset(&breaker, i + 1);
            }
        } else {
            threads_meet();
            for (i = 0; i < CHANGES; i++)
                retry_breaker_report(&breaker, permit, &sick, i / 2);
        }
    }
    return NULL;
}

static void test_late_reports(void)
{
    run_threads(report_late);
    CHECK_EQUAL(0, wrong_in_all());
}

/* Reports that are under way when it is reset count nothing afterwards, and spoil nothing. */
static void *reset_it(void *context)
{
    struct worker *worker = (struct worker *)context;
    retry_permit permit;
    uint32_t round, i;
    for (round = 0; round < ROUNDS * 2; round++) {
        if (threads_meet())
            set_up(500, RETRY_RATIO(1));
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
        if (threads_meet())
            worker->wrong += sick_to_open(0) != 500 - 3;
    }
    return NULL;
}

static void test_reset(void)
{
    run_threads(reset_it);
    CHECK_EQUAL(0, wrong_in_all());
}

/* All that is granted while it never closes is a probe: there is one at a time, and when it has
   been reported or released the next follows. */
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
        worker->wrong += __atomic_fetch_add(&probes, 1, __ATOMIC_RELAXED) != 0;
        worker->wrong += retry_breaker_ask(&breaker, true, now).granted;
        worker->wrong += retry_breaker_state(&breaker, now) != RETRY_BREAKER_HALF_OPEN;
        worker->wrong += __atomic_fetch_sub(&probes, 1, __ATOMIC_RELAXED) != 1;
        if (round % 3 == 0)
            retry_breaker_release(&breaker, permit, now);
        else
            retry_breaker_report(&breaker, permit, &sick, now);
    }
    return NULL;
}

static void test_one_probe(void)
{
    set_up(1, 0);
    breaker.probe_timeout = UINT32_C(1) << 30;
    attempt(&sick, 0);
    now_shared = 4;
    run_threads(probe);
    CHECK_EQUAL(0, wrong_in_all());
    CHECK_RANGE(ROUNDS / 10, THREADS * ROUNDS * 10, granted_in_all());
    CHECK(retry_breaker_state(&breaker, now_shared) == RETRY_BREAKER_OPEN);
    CHECK(retry_breaker_ask(&breaker, true, now_shared).granted);
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
        threads_choose(&state);
        if (state % 5 < 2)
            *permit = retry_breaker_ask(&breaker, true, now);
        else if (state % 50 == 49)
            retry_breaker_reset(&breaker, now);
        else if (state % 5 == 4)
            retry_breaker_release(&breaker, *permit, now);
        else
            retry_breaker_report(&breaker, *permit, state % 3 ? &sick : NULL, now);
        worker->wrong += retry_breaker_state(&breaker, now) > RETRY_BREAKER_HALF_OPEN;
    }
    return NULL;
}

static void test_anything(void)
{
    uint32_t later;
    set_up(5, 0);
    run_threads(anything);
    CHECK_EQUAL(0, wrong_in_all());
    later = now_shared + 100000;
    attempt(NULL, later);
    if (retry_breaker_state(&breaker, later) != RETRY_BREAKER_CLOSED)
        attempt(NULL, later);
    CHECK_EQUAL(RETRY_BREAKER_CLOSED, retry_breaker_state(&breaker, later));
    retry_breaker_reset(&breaker, later);
    CHECK_EQUAL(5, sick_to_open(later));
}

/* ---- the throttle -------------------------------------------------------------------------- */

static bool refuses(uint32_t random, retry_time now)
{
    retry_throttle copy = throttle;
    return !retry_throttle_ask(&copy, random, now);
}

/* Requests and accepts of all threads, while those of an earlier window leave: 448 and 192 of them
   refuse with a probability of (448 - 2 * 192) / 449. */
static void *send(void *context)
{
    struct worker *worker = (struct worker *)context;
    const uint32_t lowest = (uint32_t)(((UINT64_C(64) << 32) + 448) / 449);
    uint32_t round, slice, i;
    for (round = 0; round < ROUNDS; round++) {
        retry_time start = check_after(UINT32_C(0xffffff00), round % 64 * SLICE);
        if (threads_meet()) {
            memset(&throttle, 0, sizeof throttle);
            throttle.window = WINDOW;
            for (slice = 0; slice < 8; slice++)
                for (i = 0; i < 2 * round % 5; i++)
                    retry_throttle_ask(&throttle, UINT32_MAX, check_after(start, slice * SLICE));
        }
        threads_meet();
        for (slice = 8; slice < 16; slice++) {
            for (i = 0; i < 7; i++) {
                retry_time now = check_after(start, slice * SLICE + i);
                worker->wrong += !retry_throttle_ask(&throttle, UINT32_MAX, now);
                if (i < 3)
                    retry_throttle_report(&throttle, NULL, now);
            }
        }
        if (threads_meet()) {
            retry_time end = check_after(start, 16 * SLICE - 1);
            worker->wrong += !refuses(lowest - 1, end);
            worker->wrong += refuses(lowest, end);
        }
    }
    return NULL;
}

static void test_throttle(void)
{
    run_threads(send);
    CHECK_EQUAL(0, wrong_in_all());
}

int main(void)
{
    sick = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    RUN(test_roll_on);
    RUN(test_wake_up);
    RUN(test_open);
    RUN(test_late_reports);
    RUN(test_reset);
    RUN(test_one_probe);
    RUN(test_anything);
    RUN(test_throttle);
    return check_done();
}
