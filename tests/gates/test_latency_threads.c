/* Eight threads share a latency: no sample is lost, and none is learnt from twice. Needs POSIX
   threads. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/by_hand.h"
#include "../support/threads.h"

#define ROUNDS 20000u
#define OLDEST (UINT32_MAX - 32768) /* what is over it counts as 0 */

static retry_latency latency;
static retry_gates its_gates; /* with nothing else */

/* What each thread adds, and how often; `wrong` counts what it was told out of place. */
struct worker {
    retry_ms elapsed;
    bool finished;
    uint32_t rounds;
    retry_ms low, high;
    uint64_t wrong;
};

static struct worker workers[THREADS];

/* An attempt that took so long; finished false: it was given up then. */
static void sample(retry_gates *gates, retry_ms elapsed, bool finished)
{
    if (finished)
        by_hand_attempt(gates, 0, 0, NULL, elapsed);
    else
        by_hand_give_up(gates, 0, elapsed);
}

static void *add(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t i;
    for (i = 0; i < worker->rounds; i++) {
        retry_ms told;
        sample(&its_gates, worker->elapsed, worker->finished);
        told = retry_latency_get(&latency);
        worker->wrong += told != UINT32_MAX && (told < worker->low || told > worker->high);
    }
    return NULL;
}

static void set_up(uint32_t min_samples)
{
    uint32_t i;
    memset(&latency, 0, sizeof latency);
    memset(&its_gates, 0, sizeof its_gates);
    retry_gates_latency(&its_gates, &latency);
    latency.min_samples = min_samples;
    memset(workers, 0, sizeof workers);
    for (i = 0; i < THREADS; i++) {
        workers[i].finished = true;
        workers[i].rounds = ROUNDS;
        workers[i].high = UINT32_MAX;
    }
}

static void run_threads(void)
{
    uint32_t i;
    threads_run(add, workers, sizeof workers[0]);
    for (i = 0; i < THREADS; i++)
        CHECK_EQUAL(0, workers[i].wrong);
    CHECK_EQUAL(0, its_gates.in_flight);
}

/* Told from exactly the last sample on. */
static void test_every_sample_counts(void)
{
    uint32_t i;
    set_up(THREADS * ROUNDS + 1);
    for (i = 0; i < THREADS; i++) {
        workers[i].elapsed = 12;
        workers[i].low = UINT32_MAX; /* nothing is told meanwhile */
    }
    run_threads();
    CHECK_EQUAL(UINT32_MAX, retry_latency_get(&latency));
    sample(&its_gates, 12, true);
    CHECK_EQUAL(12, retry_latency_get(&latency));
}

/* Steps of the same length come to the same in any order: as many as one thread would take. After
   this many samples of a kind they do not grow any more. */
static void check_steps(retry_ms from, retry_ms elapsed, bool finished, uint32_t grown,
                        uint32_t rounds)
{
    retry_latency alone;
    retry_gates gates_alone;
    uint32_t i;
    set_up(0);
    for (i = 0; i < 768; i++)
        sample(&its_gates, from, true);
    for (i = 0; i < grown; i++)
        sample(&its_gates, elapsed, finished);
    alone = latency;
    memset(&gates_alone, 0, sizeof gates_alone);
    retry_gates_latency(&gates_alone, &alone);
    for (i = 0; i < THREADS; i++) {
        workers[i].elapsed = elapsed;
        workers[i].finished = finished;
        workers[i].rounds = rounds;
    }
    run_threads();
    for (i = 0; i < THREADS * rounds; i++)
        sample(&gates_alone, elapsed, finished);
    check_row("from %lu by %lu", (unsigned long)from, (unsigned long)elapsed);
    CHECK_EQUAL(retry_latency_get(&alone), retry_latency_get(&latency));
}

static void test_every_step_is_taken(void)
{
    unsigned i;
    for (i = 0; i < 100; i++) {
        check_steps(1, OLDEST, true, 12, 15);
        check_steps(1, OLDEST, false, 12, 15);
        check_steps(16000000, 0, true, 165, 20);
        check_steps(500, 800000, true, 12, 9);
    }
}

/* Some are fast, one of them always slow, and all are told numbers in between. */
static void test_mixed(void)
{
    uint32_t i;
    set_up(0);
    for (i = 0; i < 768; i++)
        sample(&its_gates, 100, true);
    for (i = 0; i < THREADS; i++) {
        workers[i].elapsed = 10;
        workers[i].low = 9; /* a step past the one or the other */
        workers[i].high = 1150;
    }
    workers[0].elapsed = 1000;
    workers[1].elapsed = 5;
    workers[1].finished = false; /* never late enough to tell anything */
    run_threads();
    CHECK_RANGE(9, 1150, retry_latency_get(&latency));
}

int main(void)
{
    RUN(test_every_sample_counts);
    RUN(test_every_step_is_taken);
    RUN(test_mixed);
    return check_done();
}
