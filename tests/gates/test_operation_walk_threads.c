/* Eight threads, each with operations of its own, under random calls, right and wrong, share a
   service, a budget, and nodes with all gates. Each keeps its own ledger, as
   tests/fuzz/operation_walk.h has it; at the end of each round nothing is in flight anywhere, and
   the budget holds what all ledgers together say. Needs POSIX threads. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "../support/contend.h"
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/threads.h"

#define REQUIRE(condition) CHECK(condition)
#define BYTES_OWN static __thread
#define WALK_THREADS
#include "../fuzz/operation_walk.h"

#ifdef CHECK_QUICK
#define ROUNDS 200u
#else
#define ROUNDS 500u
#endif

struct worker {
    uint32_t state;     /* of its generator */
    uint32_t spent;     /* in a round, by its ledger */
    unsigned long ends; /* in all rounds */
    uint8_t bytes[512];
};

static struct worker workers[THREADS];
static unsigned long exact_rounds, spent_in_all;

static void choose_bytes(struct worker *worker)
{
    size_t i;
    for (i = 0; i < sizeof worker->bytes; i++)
        worker->bytes[i] = (uint8_t)(threads_choose(&worker->state) >> 12);
}

static void set_up(struct worker *worker)
{
    choose_bytes(worker);
    bytes_start(worker->bytes, sizeof worker->bytes);
    walk_set_up();
}

static void check_round(uint32_t round)
{
    uint32_t i, spent = 0;
    check_row("round %lu", (unsigned long)round);
    for (i = 0; i < THREADS; i++)
        spent += workers[i].spent;
    walk_check_end(spent);
    exact_rounds += walk.exact;
    spent_in_all += spent;
}

static void *work(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t round;
    threads_luck = worker->state;
    walk_ends = 0;
    for (round = 0; round < ROUNDS; round++) {
        if (threads_meet())
            set_up(worker);
        threads_meet();
        choose_bytes(worker);
        walk_on(worker->bytes, sizeof worker->bytes);
        worker->spent = walker.spent;
        if (threads_meet())
            check_round(round);
    }
    worker->ends = walk_ends;
    return NULL;
}

static void test_walk(void)
{
    unsigned long ends = 0;
    uint32_t i;
    contend.step = threads_may_wait;
    for (i = 0; i < THREADS; i++)
        workers[i].state = threads_seed();
    threads_run(work, workers, sizeof workers[0]);
    contend.step = NULL;
    for (i = 0; i < THREADS; i++)
        ends += workers[i].ends;
    CHECK_RANGE(20 * ROUNDS, UINT32_MAX, ends); /* it was not too quiet to tell */
    CHECK_RANGE(ROUNDS / 4, ROUNDS, exact_rounds);
    CHECK_RANGE(1, UINT32_MAX, spent_in_all);
}

int main(void)
{
    retry_seed(1);
    RUN(test_walk);
    return check_done();
}
