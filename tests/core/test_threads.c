/* Eight threads share buckets and the built-in generator: no token is lost or made. Needs POSIX
   threads. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/threads.h"

#define ROUNDS 20000u

static retry_budget budget;
static retry_client client;

/* What one thread did, read by the test once it has ended. */
struct worker {
    uint32_t number;
    uint64_t withdrawn, deposited, denied;
    uint64_t retries, refunds, wrong;
};

static struct worker workers[THREADS];

static void run_threads(void *(*work)(void *))
{
    uint32_t i;
    memset(workers, 0, sizeof workers);
    for (i = 0; i < THREADS; i++)
        workers[i].number = i;
    threads_run(work, workers, sizeof workers[0]);
}

static struct worker sum(void)
{
    struct worker total;
    uint32_t i;
    memset(&total, 0, sizeof total);
    for (i = 0; i < THREADS; i++) {
        total.withdrawn += workers[i].withdrawn;
        total.deposited += workers[i].deposited;
        total.denied += workers[i].denied;
        total.retries += workers[i].retries;
        total.refunds += workers[i].refunds;
        total.wrong += workers[i].wrong;
    }
    return total;
}

static void set_up(uint32_t capacity, uint32_t refill_per_second)
{
    retry_budget_options options;
    memset(&options, 0, sizeof options);
    options.capacity = capacity;
    options.retry_cost = 1000;
    options.refill_per_second = refill_per_second;
    retry_budget_init(&budget, &options, 0);
    memset(&client, 0, sizeof client);
    client.budget = &budget;
}

/* ---- withdraw and deposit ------------------------------------------------------------------ */

static void *take(void *context)
{
    struct worker *worker = (struct worker *)context;
    unsigned i;
    for (i = 0; i < ROUNDS; i++) {
        if (retry_budget_withdraw(&budget, 7, 0))
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
    set_up(700003, 0);
    run_threads(take);
    total = sum();
    CHECK_EQUAL(700000, total.withdrawn);
    CHECK_EQUAL(THREADS * ROUNDS - 100000u, total.denied);
    CHECK_EQUAL(3, retry_budget_balance(&budget));
}

static void *take_and_give(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t state = worker->number + 1;
    unsigned i;
    for (i = 0; i < ROUNDS; i++) {
        uint32_t amount = threads_choose(&state) % 1000;
        if (threads_choose(&state) % 2 == 0) {
            retry_budget_deposit(&budget, amount);
            worker->deposited += amount;
        } else if (retry_budget_withdraw(&budget, amount, 0)) {
            worker->withdrawn += amount;
        }
        worker->wrong += retry_budget_balance(&budget) > budget.options.capacity;
    }
    return NULL;
}

static void test_withdraw_and_deposit(void)
{
    struct worker total;
    set_up(UINT32_MAX, 0);
    CHECK(retry_budget_withdraw(&budget, UINT32_MAX - 100000, 0));
    run_threads(take_and_give);
    total = sum();
    CHECK(total.withdrawn > 0 && total.deposited > 0);
    CHECK_EQUAL(100000 + total.deposited - total.withdrawn, retry_budget_balance(&budget));
}

static void test_never_above_capacity(void)
{
    set_up(1500, 0);
    run_threads(take_and_give);
    CHECK_EQUAL(0, sum().wrong);
    CHECK_RANGE(0, 1500, retry_budget_balance(&budget));
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
        if (retry_budget_withdraw(&budget, cost, now < LAST ? now : LAST))
            worker->withdrawn += cost;
    }
    return NULL;
}

static void test_refill(void)
{
    uint64_t made;
    set_up(UINT32_MAX, 333333);
    CHECK(retry_budget_withdraw(&budget, UINT32_MAX - 1000, 0));
    run_threads(refill);
    CHECK(!retry_budget_withdraw(&budget, UINT32_MAX, LAST));
    made = sum().withdrawn + retry_budget_balance(&budget);
    CHECK_EQUAL(1000 + (uint64_t)333333 * LAST / 1000, made);
}

/* ---- whole requests ------------------------------------------------------------------------ */

/* One request to its end: fails up to three times, then works, is cancelled, fails or expires. */
static void one_request(struct worker *worker, uint32_t *state)
{
    retry_request request;
    retry_failure failure;
    uint32_t failures = threads_choose(state) % 4, granted = 0;
    memset(&request, 0, sizeof request);
    memset(&failure, 0, sizeof failure);
    failure.reason = RETRY_REASON_KV_LOCKED;
    request.client = &client;
    request.timeout = 100000;
    retry_begin(&request, 0);
    for (; granted < failures; granted++)
        if (retry_orchestrate(&request, &failure, 0).verdict != RETRY_VERDICT_RETRY)
            break;
    worker->retries += granted;
    if (granted < failures) {
        worker->denied++;
    } else if (threads_choose(state) % 2 == 0) {
        worker->refunds += granted > 0;
        retry_cancel(&request, 0);
    } else if (threads_choose(state) % 2 == 0) { /* too late: the retry's charge goes back */
        worker->wrong +=
            retry_orchestrate(&request, &failure, 200000).verdict == RETRY_VERDICT_RETRY;
    } else {
        worker->deposited += 100;
        worker->wrong += !retry_succeed(&request, 0);
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
    struct worker total;
    set_up(4000000000u, 0);
    budget.options.success_deposit = 100;
    CHECK(retry_budget_withdraw(&budget, 4000000000u - 1000 * tokens, 0));
    run_threads(make_requests);
    total = sum();
    check_row("%lu tokens", (unsigned long)tokens);
    CHECK_EQUAL(0, total.wrong);
    CHECK(total.retries > 0 && total.refunds > 0);
    CHECK_EQUAL(1000 * ((uint64_t)tokens + total.refunds) + total.deposited,
                1000 * total.retries + retry_budget_balance(&budget));
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
    struct worker total;
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
    total = sum();
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
    retry_request request;
    unsigned i;
    memset(&request, 0, sizeof request);
    retry_begin(&request, worker->number);
    for (i = 0; i < DRAWS; i++)
        drawn[worker->number * DRAWS + i] = retry_random(&request);
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
