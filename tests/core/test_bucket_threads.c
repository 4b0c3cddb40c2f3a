/* Eight threads share a bucket: no token is lost or made. Needs POSIX threads. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "../support/threads.h"
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#define ROUNDS 20000u

static retry_bucket bucket;

/* What one thread did, read by the test once it has ended. */
struct worker {
    uint32_t number;
    uint64_t withdrawn, deposited, denied, wrong;
};

static struct worker run_threads(void *(*work)(void *))
{
    static struct worker workers[THREADS];
    struct worker total;
    uint32_t i;
    memset(workers, 0, sizeof workers);
    memset(&total, 0, sizeof total);
    for (i = 0; i < THREADS; i++)
        workers[i].number = i;
    threads_run(work, workers, sizeof workers[0]);
    for (i = 0; i < THREADS; i++) {
        total.withdrawn += workers[i].withdrawn;
        total.deposited += workers[i].deposited;
        total.denied += workers[i].denied;
        total.wrong += workers[i].wrong;
    }
    return total;
}

static void set_up(uint32_t capacity, uint32_t refill_per_second, uint32_t balance)
{
    memset(&bucket, 0, sizeof bucket);
    bucket.capacity = capacity;
    bucket.refill_per_second = refill_per_second;
    retry_bucket_fill(&bucket, 0);
    CHECK(retry_bucket_withdraw(&bucket, capacity - balance, 0));
}

static void *take(void *context)
{
    struct worker *worker = (struct worker *)context;
    unsigned i;
    for (i = 0; i < ROUNDS; i++) {
        if (retry_bucket_withdraw(&bucket, 7, 0))
            worker->withdrawn += 7;
        else
            worker->denied++;
    }
    return NULL;
}

/* All together get what is there, to the last one that can be paid. */
static void test_withdraw(void)
{
    struct worker total;
    set_up(700003, 0, 700003);
    total = run_threads(take);
    CHECK_EQUAL(700000, total.withdrawn);
    CHECK_EQUAL(THREADS * ROUNDS - 100000u, total.denied);
    CHECK_EQUAL(3, retry_bucket_balance(&bucket));
}

static void *take_and_give(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t state = worker->number + 1;
    unsigned i;
    for (i = 0; i < ROUNDS; i++) {
        uint32_t amount = threads_choose(&state) % 1000;
        if (threads_choose(&state) % 2 == 0) {
            retry_bucket_deposit(&bucket, amount);
            worker->deposited += amount;
        } else if (retry_bucket_withdraw(&bucket, amount, 0)) {
            worker->withdrawn += amount;
        }
        worker->wrong += retry_bucket_balance(&bucket) > bucket.capacity;
    }
    return NULL;
}

static void test_withdraw_and_deposit(void)
{
    struct worker total;
    set_up(UINT32_MAX, 0, 100000);
    total = run_threads(take_and_give);
    CHECK(total.withdrawn > 0 && total.deposited > 0);
    CHECK_EQUAL(100000 + total.deposited - total.withdrawn, retry_bucket_balance(&bucket));
}

static void test_never_above_capacity(void)
{
    set_up(1500, 0, 1500);
    CHECK_EQUAL(0, run_threads(take_and_give).wrong);
    CHECK_RANGE(0, 1500, retry_bucket_balance(&bucket));
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
        if (retry_bucket_withdraw(&bucket, cost, now < LAST ? now : LAST))
            worker->withdrawn += cost;
    }
    return NULL;
}

static void test_refill(void)
{
    uint64_t made;
    set_up(UINT32_MAX, 333333, 1000);
    made = run_threads(refill).withdrawn;
    CHECK(!retry_bucket_withdraw(&bucket, UINT32_MAX, LAST));
    made += retry_bucket_balance(&bucket);
    CHECK_EQUAL(1000 + UINT64_C(333333) * LAST / 1000, made);
}

#define FILLS 200u

/* One fills it now and then while the others withdraw. */
static void *fill_or_take(void *context)
{
    struct worker *worker = (struct worker *)context;
    unsigned i;
    for (i = 0; i < ROUNDS; i++) {
        if (worker->number == 0 && i % (ROUNDS / FILLS) == 0)
            retry_bucket_fill(&bucket, i);
        if (retry_bucket_withdraw(&bucket, 1, i))
            worker->withdrawn++;
        worker->wrong += retry_bucket_balance(&bucket) > bucket.capacity;
    }
    return NULL;
}

/* Each fill makes it full at most. */
static void test_fill(void)
{
    struct worker total;
    set_up(500, 0, 500);
    total = run_threads(fill_or_take);
    CHECK_EQUAL(0, total.wrong);
    CHECK_RANGE(500, UINT32_C(500) * (FILLS + 1), total.withdrawn);
}

int main(void)
{
    RUN(test_withdraw);
    RUN(test_withdraw_and_deposit);
    RUN(test_never_above_capacity);
    RUN(test_refill);
    RUN(test_fill);
    return check_done();
}
