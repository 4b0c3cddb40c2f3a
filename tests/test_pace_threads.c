/* Eight threads share an adaptive rate and an AIMD limit: no token and no report is lost or made,
   and a cooldown sees one change of a kind. Needs POSIX threads, and a timer's signals, whose
   handler comes between any two instructions: it meets what threads meet once in a while. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700 /* for setitimer */
#endif
#define RETRY_IMPLEMENTATION
#include "../retry.h"
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#define THREADS 8u

#ifdef CHECK_QUICK
#define ROUNDS 200u
#else
#define ROUNDS 2000u
#endif

static retry_rate rate;
static retry_aimd aimd;
static retry_failure throttled, sick;

/* What one thread did, read by the test once it has ended. */
struct worker {
    pthread_t thread;
    uint32_t number;
    uint64_t granted, refused, wrong;
};

static struct worker workers[THREADS];
static struct worker total;

/* A generator of each thread's own, for what it does next. */
static uint32_t choose(uint32_t *state)
{
    *state = (uint32_t)(((uint64_t)*state * 48271u) % 2147483647u);
    return *state;
}

static void run_threads(void *(*work)(void *))
{
    uint32_t i;
    memset(workers, 0, sizeof workers);
    memset(&total, 0, sizeof total);
    for (i = 0; i < THREADS; i++) {
        workers[i].number = i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            printf("no thread\n");
            exit(1);
        }
    }
    for (i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        total.granted += workers[i].granted;
        total.refused += workers[i].refused;
        total.wrong += workers[i].wrong;
    }
}

/* Threads meet here, so that each round begins in all of them at once. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t everybody = PTHREAD_COND_INITIALIZER;
static uint32_t arrived, meetings;

static void meet(void)
{
    uint32_t meeting;
    pthread_mutex_lock(&mutex);
    meeting = meetings;
    if (++arrived == THREADS) {
        arrived = 0;
        meetings++;
        pthread_cond_broadcast(&everybody);
    }
    while (meeting == meetings)
        pthread_cond_wait(&everybody, &mutex);
    pthread_mutex_unlock(&mutex);
}

/* ---- the rate's tokens --------------------------------------------------------------------- */

static void limit_to(uint32_t thousandths)
{
    memset(&rate, 0, sizeof rate);
    rate.min = thousandths;
    retry_rate_report(&rate, &throttled, 0);
}

static void *ask_at_once(void *context)
{
    struct worker *worker = (struct worker *)context;
    unsigned i;
    for (i = 0; i < ROUNDS; i++) {
        if (retry_rate_ask(&rate, 1000) == 0)
            worker->granted++;
        else
            worker->refused++;
    }
    return NULL;
}

/* All together get what a second has made. */
static void test_ask_at_once(void)
{
    limit_to(777000);
    run_threads(ask_at_once);
    CHECK_EQUAL(777, total.granted);
    CHECK_EQUAL(THREADS * ROUNDS - 777, total.refused);
    CHECK_EQUAL(2, retry_rate_ask(&rate, 1000)); /* 1.3, rounded up */
}

#define LAST (ROUNDS * 10)

/* Each thread's clock goes on by itself, so that instants come out of order, by seconds even. */
static void *ask_for_long(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t state = worker->number + 1, now = 0;
    while (now < LAST) {
        now += choose(&state) % 5;
        worker->granted += retry_rate_ask(&rate, now < LAST ? now : LAST) == 0;
    }
    return NULL;
}

/* What the time on the latest clock makes is there to be taken, all of it and no more. */
static void test_ask_for_long(void)
{
    retry_ms wait;
    limit_to(333333);
    run_threads(ask_for_long);
    while ((wait = retry_rate_ask(&rate, LAST)) == 0)
        total.granted++;
    CHECK_EQUAL((uint64_t)333333 * LAST / 1000000, total.granted);
    CHECK_RANGE(1, 4, wait);
}

/* ---- the rate's reports -------------------------------------------------------------------- */

#define REPORTS (10 * ROUNDS)

static void *report_answers(void *context)
{
    unsigned i;
    (void)context;
    meet();
    for (i = 0; i < REPORTS; i++)
        retry_rate_report(&rate, NULL, 100);
    return NULL;
}

/* The limit that so many answers in half a second and a throttled one after it set. */
static uint32_t limit_after(uint32_t answers)
{
    retry_rate alone;
    memset(&alone, 0, sizeof alone);
    for (; answers != 0; answers--)
        retry_rate_report(&alone, NULL, 100);
    retry_rate_report(&alone, &throttled, 500);
    return retry_rate_get(&alone);
}

static void test_no_report_is_lost(void)
{
    memset(&rate, 0, sizeof rate);
    run_threads(report_answers);
    CHECK_EQUAL(UINT32_MAX, retry_rate_get(&rate));
    retry_rate_report(&rate, &throttled, 500);
    CHECK_EQUAL(limit_after(THREADS * REPORTS), retry_rate_get(&rate));
    CHECK(limit_after(THREADS * REPORTS) != limit_after(THREADS * REPORTS - 1));
}

#define CUTS 6u

static void *cut_now_and_then(void *context)
{
    const struct worker *worker = (const struct worker *)context;
    unsigned i;
    meet();
    for (i = 0; i < CUTS; i++)
        retry_rate_report(&rate, i % THREADS == worker->number ? &throttled : NULL, 500);
    return NULL;
}

/* As many throttled reports as threads report, all in one ms: each cuts. */
static void test_each_throttled_report_cuts(void)
{
    unsigned round, i;
    for (round = 0; round < ROUNDS / 20; round++) {
        retry_rate alone;
        memset(&rate, 0, sizeof rate);
        rate.min = 1;
        for (i = 0; i < 1000; i++)
            retry_rate_report(&rate, NULL, 0);
        alone = rate;
        run_threads(cut_now_and_then);
        for (i = 0; i < CUTS; i++)
            retry_rate_report(&alone, &throttled, 500);
        check_row("round %u", round);
        CHECK_RANGE(retry_rate_get(&alone) - retry_rate_get(&alone) / 500,
                    retry_rate_get(&alone) + retry_rate_get(&alone) / 500, retry_rate_get(&rate));
    }
}

/* Everything at once, for the thread sanitizer, too. */
static void *mix(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t state = worker->number + 1;
    retry_time now = (retry_time)-1000;
    unsigned i;
    for (i = 0; i < 10 * ROUNDS; i++) {
        uint32_t what = choose(&state), limit = retry_rate_get(&rate);
        retry_ms wait = retry_rate_ask(&rate, now);
        if (wait == 0)
            retry_rate_report(&rate, what % 50 == 0 ? &throttled : NULL, now);
        worker->wrong += wait > 2000 || limit < 500;
        now = check_after(now, what % 7);
    }
    return NULL;
}

static void test_mix(void)
{
    memset(&rate, 0, sizeof rate);
    run_threads(mix);
    CHECK_EQUAL(0, total.wrong);
    CHECK_RANGE(500, 100000000, retry_rate_get(&rate));
}

/* ---- the AIMD limit ------------------------------------------------------------------------ */

#define SPACING 5001u

static void aimd_of(uint32_t max, uint32_t decrease)
{
    memset(&aimd, 0, sizeof aimd);
    aimd.max = max;
    aimd.decrease = decrease;
}

static uint32_t less(uint32_t limit)
{
    return limit - (limit + 9) / 10; /* 0.9 of it */
}

/* One fall a round, and one rise: in the even rounds all have failed, in the odd ones they were
   answered. Thread 0 looks at what came out. */
static void *by_turns(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t expected = aimd.max, round;
    for (round = 0; round < ROUNDS; round++) {
        meet();
        retry_aimd_report(&aimd, round % 2 == 0 ? &sick : NULL, UINT32_MAX, round * SPACING);
        expected = round % 2 == 0 ? less(expected) : expected + 1;
        meet();
        worker->wrong += retry_aimd_limit(&aimd) != expected;
    }
    return NULL;
}

static void test_one_change_a_cooldown(void)
{
    aimd_of(30000, RETRY_RATIO(0.9));
    run_threads(by_turns);
    CHECK_EQUAL(0, total.wrong);
}

/* From a zeroed limit, where no instant means anything yet. */
static void *fall_once(void *context)
{
    (void)context;
    meet();
    retry_aimd_report(&aimd, &sick, 1, 0);
    retry_aimd_report(&aimd, NULL, UINT32_MAX, 0);
    return NULL;
}

static void test_first_fall(void)
{
    unsigned round;
    for (round = 0; round < ROUNDS / 20; round++) {
        aimd_of(100, 0);
        run_threads(fall_once);
        check_row("round %u", round);
        CHECK_EQUAL(50, retry_aimd_limit(&aimd));
    }
}

/* Half of them have failed, half were answered: the limit falls, with or without a rise before. */
static void *both(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t before = aimd.max, round;
    for (round = 0; round < ROUNDS; round++) {
        uint32_t after;
        bool fails = (worker->number + round) % 2 == 0;
        meet();
        retry_aimd_report(&aimd, fails ? &sick : NULL, UINT32_MAX, round * SPACING);
        meet();
        after = retry_aimd_limit(&aimd);
        worker->wrong += after != less(before) && after != less(before + 1);
        before = after;
        if (before < 30)
            break;
    }
    return NULL;
}

static void test_fall_beats_rise(void)
{
    unsigned i;
    for (i = 0; i < 20; i++) {
        aimd_of(30000, RETRY_RATIO(0.9));
        run_threads(both);
        CHECK_EQUAL(0, total.wrong);
        CHECK_RANGE(20, 30, retry_aimd_limit(&aimd));
    }
}

/* ---- interrupted --------------------------------------------------------------------------- */

#define INTERRUPTS 30u

static void (*volatile handled)(void); /* what the handler does; NULL: nothing */
static volatile sig_atomic_t interrupts;

static void handler(int number)
{
    (void)number;
    if (!handled)
        return;
    handled();
    interrupts = interrupts + 1;
}

/* Repeats a work until it was interrupted so many times; the handler does the other work in it. */
static void interrupt(void (*begin)(void), void (*work)(void), void (*other)(void),
                      void (*verify)(unsigned times))
{
    struct sigaction action;
    struct itimerval timer;
    unsigned times = 0;
    memset(&action, 0, sizeof action);
    memset(&timer, 0, sizeof timer);
    action.sa_handler = handler;
    sigaction(SIGALRM, &action, NULL);
    timer.it_interval.tv_usec = timer.it_value.tv_usec = 100;
    setitimer(ITIMER_REAL, &timer, NULL);
    while (times < INTERRUPTS) {
        begin();
        interrupts = 0;
        handled = other;
        work();
        handled = NULL;
        if (interrupts != 0)
            verify((unsigned)interrupts);
        times += (unsigned)interrupts;
    }
    timer.it_value.tv_usec = 0;
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void begin_answers(void)
{
    unsigned i;
    memset(&rate, 0, sizeof rate);
    rate.min = 1;
    for (i = 0; i < 100; i++)
        retry_rate_report(&rate, NULL, 0);
}

static void one_answer(void)
{
    retry_rate_report(&rate, NULL, 0);
}

static void some_answers(void)
{
    unsigned i;
    for (i = 0; i < 20; i++)
        one_answer();
}

static void verify_answers(unsigned times)
{
    check_row("%u times", times);
    retry_rate_report(&rate, &throttled, 500);
    CHECK_EQUAL(limit_after(120 + times), retry_rate_get(&rate));
}

static void begin_cuts(void)
{
    begin_answers();
    retry_rate_report(&rate, &throttled, 500);
}

static void one_cut(void)
{
    retry_rate_report(&rate, &throttled, 500);
}

static void some_late_answers(void)
{
    unsigned i;
    for (i = 0; i < 20; i++)
        retry_rate_report(&rate, NULL, 500);
}

static void verify_cuts(unsigned times)
{
    double expected = 0.7 * 0.8 * 202000;
    check_row("%u times", times);
    for (; times != 0; times--)
        expected *= 0.7;
    CHECK_RANGE(expected * 0.998 - 1, expected * 1.002 + 1, retry_rate_get(&rate));
}

static void verify_one_cut_more(unsigned times)
{
    verify_cuts(times + 1);
}

static void test_interrupted_reports(void)
{
    interrupt(begin_answers, some_answers, one_answer, verify_answers);
    interrupt(begin_cuts, some_late_answers, one_cut, verify_cuts);
    interrupt(begin_cuts, one_cut, one_cut, verify_one_cut_more);
}

static volatile uint32_t granted, granted_in_handler;

static void begin_tokens(void)
{
    memset(&rate, 0, sizeof rate);
    rate.min = 10000;
    retry_rate_report(&rate, &throttled, 0);
    granted = 0;
    granted_in_handler = 0;
}

/* 5 tokens are there, and 4 more for the handler, whose clock is ahead. */
static void some_tokens(void)
{
    unsigned i;
    for (i = 0; i < 4; i++)
        granted = granted + (retry_rate_ask(&rate, 500) == 0);
}

static void last_tokens(void)
{
    granted_in_handler = granted_in_handler + (retry_rate_ask(&rate, 900) == 0);
}

static void verify_tokens(unsigned times)
{
    check_row("%u times", times);
    while (retry_rate_ask(&rate, 900) == 0)
        granted = granted + 1;
    CHECK_EQUAL(9, granted + granted_in_handler);
}

static void test_interrupted_asks(void)
{
    interrupt(begin_tokens, some_tokens, last_tokens, verify_tokens);
}

static void begin_fall(void)
{
    aimd_of(1000, 0);
    retry_aimd_report(&aimd, &sick, 1, 0);
}

static void begin_first_fall(void)
{
    aimd_of(1000, 0);
}

static void fall(void)
{
    retry_aimd_report(&aimd, &sick, 1, SPACING);
}

static void rise(void)
{
    retry_aimd_report(&aimd, NULL, UINT32_MAX, SPACING);
}

static void verify_second_fall(unsigned times)
{
    check_row("%u times", times);
    CHECK_EQUAL(250, retry_aimd_limit(&aimd)); /* of 500 and of 501 */
}

static void verify_first_fall(unsigned times)
{
    check_row("%u times", times);
    CHECK_EQUAL(500, retry_aimd_limit(&aimd));
}

static void test_interrupted_limit(void)
{
    interrupt(begin_fall, fall, rise, verify_second_fall);
    interrupt(begin_fall, rise, fall, verify_second_fall);
    interrupt(begin_fall, fall, fall, verify_second_fall);
    interrupt(begin_first_fall, fall, fall, verify_first_fall);
}

int main(void)
{
    throttled = retry_classify_http(429, 0);
    sick = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    RUN(test_ask_at_once);
    RUN(test_ask_for_long);
    RUN(test_no_report_is_lost);
    RUN(test_each_throttled_report_cuts);
    RUN(test_mix);
    RUN(test_one_change_a_cooldown);
    RUN(test_first_fall);
    RUN(test_fall_beats_rise);
    RUN(test_interrupted_asks);
    RUN(test_interrupted_reports);
    RUN(test_interrupted_limit);
    return check_done();
}
