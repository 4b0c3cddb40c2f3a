/* Eight threads share buckets and the built-in generator: no token is lost or made. Needs POSIX
   threads. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/workers.h"

static retry_budget budget;
static retry_client client;

/* ---- withdraw and deposit ------------------------------------------------------------------ */

static bool withdraw(uint32_t cost, retry_time now)
{
    return retry_budget_withdraw(&budget, cost, now);
}

static void deposit(uint32_t amount)
{
    retry_budget_deposit(&budget, amount);
}

static uint32_t balance(void)
{
    return retry_budget_balance(&budget);
}

static void set_up(uint32_t capacity, uint32_t refill_per_second, uint32_t held)
{
    retry_budget_options options;
    memset(&options, 0, sizeof options);
    options.capacity = capacity;
    options.retry_cost = 1000;
    options.refill_per_second = refill_per_second;
    retry_budget_init(&budget, &options, 0);
    CHECK(withdraw(capacity - held, 0));
    memset(&client, 0, sizeof client);
    client.budget = &budget;
}

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

/* ---- whole requests ------------------------------------------------------------------------ */

/* One request to its end: fails up to three times, then works, is cancelled, fails or expires. */
static void one_request(struct worker *worker, uint32_t *state)
{
    retry_operation op;
    retry_failure failure;
    uint32_t failures = threads_choose(state) % 4, granted = 0;
    memset(&op, 0, sizeof op);
    memset(&failure, 0, sizeof failure);
    failure.reason = RETRY_REASON_KV_LOCKED;
    op.client = &client;
    op.timeout = 100000;
    retry_start(&op, NULL, 0);
    for (; granted < failures; granted++)
        if (decide(&op, &failure, 0).verdict != RETRY_VERDICT_RETRY)
            break;
    worker->granted += granted;
    if (granted < failures) {
        worker->denied++;
    } else if (threads_choose(state) % 2 == 0) {
        worker->refunds += granted > 0;
        retry_stop(&op, 0);
    } else if (threads_choose(state) % 2 == 0) { /* too late: the retry's charge goes back */
        worker->wrong += decide(&op, &failure, 200000).verdict == RETRY_VERDICT_RETRY;
    } else {
        worker->deposited += 100;
        worker->wrong += decide(&op, NULL, 0).verdict != RETRY_VERDICT_SUCCESS;
    }
}

static void *make_requests(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t state = worker->number + 1;
    unsigned i;
    for (i = 0; i < ROUNDS / 4; i++)
        one_request(worker, &state);
    return NULL;
}

static void check_requests(uint32_t tokens)
{
    set_up(4000000000u, 0, 1000 * tokens);
    budget.options.success_deposit = 100;
    run_threads(make_requests);
    check_row("%lu tokens", (unsigned long)tokens);
    CHECK_EQUAL(0, total.wrong);
    CHECK(total.granted > 0 && total.refunds > 0);
    CHECK_EQUAL(1000 * ((uint64_t)tokens + total.refunds) + total.deposited,
                1000 * total.granted + balance());
}

static void test_requests(void)
{
    check_requests(1000000);
    check_requests(200); /* runs dry */
}

/* ---- scopes -------------------------------------------------------------------------------- */

#define SLOTS 4u

static retry_scope slots[SLOTS];
static retry_scopes scopes;

/* One thread looks names up, which hands on every slot that is full just then; the others' requests
   go on paying from the clients and into them. */
static void *use_scopes(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t state = worker->number + 1;
    uint32_t i;
    for (i = 0; i < ROUNDS; i++) {
        uint32_t name = threads_choose(&state) % 40;
        retry_budget *bucket = slots[name % SLOTS].client.budget;
        if (worker->number == 0) {
            const retry_client *found = retry_scope_client(&scopes, &name, sizeof name, i);
            worker->deposited += found != &scopes.client;
        } else if (retry_budget_withdraw(bucket, 1000, i)) {
            worker->withdrawn++;
            retry_budget_deposit(bucket, 1000);
        }
    }
    return NULL;
}

static void test_scopes(void)
{
    uint32_t i;
    memset(slots, 0, sizeof slots);
    memset(&scopes, 0, sizeof scopes);
    scopes.options.capacity = 3000;
    scopes.options.refill_per_second = 1;
    scopes.slots = slots;
    scopes.count = SLOTS;
    for (i = 0; i < SLOTS; i++)
        CHECK(retry_scope_client(&scopes, &i, sizeof i, 0) == &slots[i].client);
    run_threads(use_scopes);
    CHECK(total.withdrawn > 0 && total.deposited > 0);
    for (i = 0; i < SLOTS; i++)
        CHECK_EQUAL(3000, retry_budget_balance(&slots[i].budget));
}

/* ---- the built-in generator ---------------------------------------------------------------- */

#define DRAWS 4000u

static uint32_t drawn[THREADS * DRAWS];

static void *draw(void *context)
{
    const struct worker *worker = (const struct worker *)context;
    retry_operation op;
    unsigned i;
    memset(&op, 0, sizeof op);
    op.client = default_client();
    retry_start(&op, NULL, worker->number);
    for (i = 0; i < DRAWS; i++)
        drawn[worker->number * DRAWS + i] = retry_random(&op);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* No thread repeats what another drew: of 32,000 numbers 0.12 pairs would be equal by chance. */
static void test_generator(void)
{
    unsigned i, equal = 0;
    run_threads(draw);
    qsort(drawn, CHECK_COUNT(drawn), sizeof drawn[0], compare);
    for (i = 1; i < CHECK_COUNT(drawn); i++)
        equal += drawn[i] == drawn[i - 1];
    CHECK_RANGE(0, 5, equal);
}

int main(void)
{
    RUN(test_generator); /* first: all threads find it without a seed */
    RUN(test_withdraw);
    RUN(test_withdraw_and_deposit);
    RUN(test_never_above_capacity);
    RUN(test_refill);
    RUN(test_requests);
    RUN(test_scopes);
    return check_done();
}
