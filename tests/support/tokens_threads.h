/* Eight threads share tokens, in a bucket of their own or in a budget: none is lost or made. Before
   it is included, who has the tokens defines withdraw(), deposit(), balance() and set_up(). */
#ifndef TOKENS_THREADS_H
#define TOKENS_THREADS_H

#include "workers.h"

#define ROUNDS 20000u

static void *take(void *context)
{
    struct worker *worker = (struct worker *)context;
    unsigned i;
    for (i = 0; i < ROUNDS; i++) {
        if (withdraw(7, 0))
            worker->withdrawn += 7;
        else
            worker->denied++;
    }
    return NULL;
}

/* All together get what is there, to the last one that can be paid. */
static void test_withdraw(void)
{
    set_up(700003, 0, 700003);
    run_threads(take);
    CHECK_EQUAL(700000, total.withdrawn);
    CHECK_EQUAL(THREADS * ROUNDS - 100000u, total.denied);
    CHECK_EQUAL(3, balance());
}

static uint32_t most; /* that there may be */

static void *take_and_give(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t state = worker->number + 1;
    unsigned i;
    for (i = 0; i < ROUNDS; i++) {
        uint32_t amount = threads_choose(&state) % 1000;
        if (threads_choose(&state) % 2 == 0) {
            deposit(amount);
            worker->deposited += amount;
        } else if (withdraw(amount, 0)) {
            worker->withdrawn += amount;
        }
        worker->wrong += balance() > most;
    }
    return NULL;
}

static void test_withdraw_and_deposit(void)
{
    most = UINT32_MAX;
    set_up(most, 0, 100000);
    run_threads(take_and_give);
    CHECK(total.withdrawn > 0 && total.deposited > 0);
    CHECK_EQUAL(100000 + total.deposited - total.withdrawn, balance());
}

static void test_never_above_capacity(void)
{
    most = 1500;
    set_up(most, 0, most);
    run_threads(take_and_give);
    CHECK_EQUAL(0, total.wrong);
    CHECK_RANGE(0, most, balance());
}

#define LAST 20000u

/* Each thread's clock goes on by itself, so that instants come out of order, by seconds even; all
   the time that passed on the latest of them is refilled once, and no more. */
static void *refill(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t state = worker->number + 1;
    retry_time now = 0;
    while (now < LAST) {
        uint32_t cost = threads_choose(&state) % 50;
        now += threads_choose(&state) % 5;
        if (withdraw(cost, now < LAST ? now : LAST))
            worker->withdrawn += cost;
    }
    return NULL;
}

static void test_refill(void)
{
    set_up(UINT32_MAX, 333333, 1000);
    run_threads(refill);
    CHECK(!withdraw(UINT32_MAX, LAST));
    CHECK_EQUAL(1000 + UINT64_C(333333) * LAST / 1000, total.withdrawn + balance());
}

#endif
