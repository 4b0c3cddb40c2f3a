/* Eight threads share a bucket: no token is lost or made. Needs POSIX threads. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

static retry_bucket bucket;

static bool withdraw(uint32_t cost, retry_time now)
{
    return retry_bucket_withdraw(&bucket, cost, now);
}

static void deposit(uint32_t amount)
{
    retry_bucket_deposit(&bucket, amount);
}

static uint32_t balance(void)
{
    return retry_bucket_balance(&bucket);
}

static void set_up(uint32_t capacity, uint32_t refill_per_second, uint32_t held)
{
    memset(&bucket, 0, sizeof bucket);
    bucket.capacity = capacity;
    bucket.refill_per_second = refill_per_second;
    retry_bucket_fill(&bucket, 0);
    CHECK(withdraw(capacity - held, 0));
}

#include "../support/tokens_threads.h"

#define FILLS 200u

/* One fills it now and then while the others withdraw. */
static void *fill_or_take(void *context)
{
    struct worker *worker = (struct worker *)context;
    unsigned i;
    for (i = 0; i < ROUNDS; i++) {
        if (worker->number == 0 && i % (ROUNDS / FILLS) == 0)
            retry_bucket_fill(&bucket, i);
        if (withdraw(1, i))
            worker->withdrawn++;
        worker->wrong += balance() > bucket.capacity;
    }
    return NULL;
}

/* Each fill makes it full at most. */
static void test_fill(void)
{
    set_up(500, 0, 500);
    run_threads(fill_or_take);
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
