/* A retry that a bucket cannot pay for waits for what refills its base. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/budgets.h"

static retry_budget budget;
static retry_client client;
static retry_policy policy; /* no jitter: 100 ms */

static void set_up(const retry_budget_options *options)
{
    static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
    policy = best_effort;
    policy.backoff.initial = policy.backoff.max = 100;
    policy.backoff.jitter = RETRY_JITTER_NONE;
    policy.throttle_backoff = policy.backoff;
    budget = budget_of(options, 0);
    client = client_of(&budget);
    client.strategy = &policy.base;
}

static retry_budget_options preset(void)
{
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(1);
    options.expire = 0; /* no retry is late: its delay is the policy's */
    return options;
}

/* What becomes of an operation that has `left` ms, when it fails at `now`. */
static decided fails(retry_ms left, const retry_failure *failure, retry_time now)
{
    retry_operation op;
    memset(&op, 0, sizeof op);
    op.client = &client;
    op.timeout = left;
    op.idempotent = true;
    retry_start(&op, NULL, now);
    return decide(&op, failure, now);
}

#define CHECK_WAITS(ms, decision)                  \
    do {                                           \
        const decided check_it = (decision);       \
        CHECK_DECISION(RETRY, STRATEGY, check_it); \
        CHECK_EQUAL(ms, check_it.delay);           \
    } while (0)

/* A quarter of a token comes in within 5 s. Who comes later waits behind who came before; one base
   is four retries. What came in is paid back first, and a success goes in at once. */
static void test_wait_in_line(void)
{
    retry_budget_options options = preset();
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_time now = START;
    unsigned i;
    set_up(&options);
    for (i = 1; i <= 4; i++)
        CHECK_WAITS(5000 * i + 100, fails(60000, &failure, now));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fails(60000, &failure, now));
    now = check_after(now, 5000);
    CHECK_WAITS(20100, fails(60000, &failure, now));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fails(60000, &failure, now));
    retry_budget_deposit(&budget, 250);
    CHECK_WAITS(100, fails(60000, &failure, now));
    now = check_after(now, 20000);
    CHECK(!retry_budget_withdraw(&budget, 1, now));
    now = check_after(now, 5000);
    CHECK(!retry_budget_withdraw(&budget, 251, now));
    CHECK(retry_budget_withdraw(&budget, 250, now));
}

/* Throttled, it pays what any other retry does; after a time-out, a whole token. */
static void test_of_what_failures(void)
{
    retry_budget_options options = preset();
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    set_up(&options);
    failure.timeout = true;
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fails(20000, &failure, START));
    CHECK_WAITS(20100, fails(60000, &failure, START));
    set_up(&options);
    failure.timeout = false;
    failure.pushback = true; /* an exact order */
    failure.retry_after = 100;
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fails(60000, &failure, START));
    failure.pushback = false;
    failure.retry_after = 0;
    failure.throttle = true;
    CHECK_WAITS(5100, fails(60000, &failure, START));
    failure.retry_after = 7000; /* first the tokens, then what the server asks for */
    policy.retry_after_spread = 1;
    CHECK_WAITS(17000, fails(60000, &failure, START));
}

/* A wait that passes half of what is left is the last: it ends in its last eighth, if the tokens
   are there by then. */
static void test_last(void)
{
    static const struct {
        retry_ms left, from, to; /* 0: it fails */
    } rows[] = {
        {60000, 5100, 5100}, {10200, 5100, 5100},    {10100, 7700, 9000},
        {7000, 5100, 6300},  {5500, 0, 0},           {5000, 0, 0},
        {201, 0, 0},         {86400000, 5100, 5100}, {UINT32_MAX, 0, 0}}; /* it would never end */
    retry_budget_options options = preset();
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        decided decision;
        set_up(&options);
        decision = fails(rows[i].left, &failure, START);
        check_row("%lu ms left", (unsigned long)rows[i].left);
        if (rows[i].from == 0) {
            CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decision);
            CHECK_EQUAL(100, decision.delay);                 /* what it would have been */
            CHECK_WAITS(5100, fails(60000, &failure, START)); /* and nothing is owed */
        } else {
            CHECK_DECISION(RETRY, STRATEGY, decision);
            CHECK_RANGE(rows[i].from, rows[i].to, decision.delay);
        }
    }
}

/* What a bucket has to be for a retry to wait, and its delay; 0: it fails. */
static void test_of_what_buckets(void)
{
    static const struct {
        uint32_t capacity, retry_cost, throttle_cost, floor, base_per_second;
        retry_ms delay;
    } rows[] = {
        {1000, 250, 0, 0, 50, 5100},
        {1000, 250, 0, 0, 0, 0},
        {0, 250, 0, 0, 50, 0},
        {0, 0, 0, 0, 50, 0},
        {250, 250, 0, 0, 50, 5100},
        {249, 250, 0, 0, 50, 0},
        {1000, 0, 1000, 0, 50, 20100},
        {1000, 250, 0, 250, 50, 0},
        {1000, 250, 1000, 750, 50, 0},
        {1000, 250, 1000, 749, 50, 5100},
        {1000, 250, 0, 0, 250, 1100},
        {UINT32_MAX, UINT32_MAX, 0, 0, UINT32_MAX, 1100},
        {UINT32_MAX, 1, 0, 0, UINT32_MAX, 101}, /* it comes in within a millisecond */
        {UINT32_MAX, UINT32_MAX, 0, 0, 1, 0},
    };
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    size_t i;
    failure.throttle = true;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options = preset();
        decided decision;
        options.capacity = rows[i].capacity;
        options.retry_cost = rows[i].retry_cost;
        options.timeout_cost = 0;
        options.throttle_cost = rows[i].throttle_cost;
        options.floor = rows[i].floor;
        options.base_per_second = rows[i].base_per_second;
        set_up(&options);
        decision = fails(60000, &failure, START);
        check_row("row %u", (unsigned)i);
        if (rows[i].delay == 0)
            CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decision);
        else
            CHECK_WAITS(rows[i].delay, decision);
    }
}

/* Who gives up while he waits gives back what he was promised, which is there at once. */
static void test_gives_up(void)
{
    retry_budget_options options = preset();
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op;
    set_up(&options);
    op = begun(&client);
    CHECK_WAITS(5100, decide(&op, &failure, START));
    retry_stop(&op, START);
    CHECK_EQUAL(250, retry_budget_balance(&budget));
    CHECK_WAITS(100, fails(60000, &failure, START));
    CHECK_WAITS(10100, fails(60000, &failure, START));
}

/* Time pays what is owed also of a full bucket, and in steps that bring less than a thousandth. */
static void test_paid_in_small_steps(void)
{
    retry_budget_options options = preset();
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation ops[4];
    retry_ms passed;
    size_t i;
    options.capacity = 1000;
    set_up(&options);
    for (i = 0; i < CHECK_COUNT(ops); i++) {
        ops[i] = begun(&client);
        CHECK_DECISION(RETRY, STRATEGY, decide(&ops[i], &failure, START));
    }
    for (i = 0; i < CHECK_COUNT(ops); i++)
        retry_stop(&ops[i], START);
    CHECK_EQUAL(1000, retry_budget_balance(&budget));
    for (passed = 0; passed <= 20000; passed += 10)
        CHECK(retry_budget_withdraw(&budget, 0, check_after(START, passed)));
    CHECK(retry_budget_withdraw(&budget, 1000, check_after(START, 20000)));
    CHECK_WAITS(5100, fails(60000, &failure, check_after(START, 20000)));
}

/* A slot's next name does not pay what the one before owes. */
static void test_owed_by_another_name(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_budget_options options = preset();
    retry_scope slot;
    retry_scopes scopes;
    unsigned n, i;
    set_up(&options);
    memset(&slot, 0, sizeof slot);
    memset(&scopes, 0, sizeof scopes);
    scopes.slots = &slot;
    scopes.count = 1;
    scopes.forget = 1;
    scopes.options = options;
    scopes.options.capacity = 1000;
    scopes.client.strategy = &policy.base;
    for (n = 0; n < 2; n++) {
        client = *retry_scope_client(&scopes, n == 0 ? "a" : "b", 1, check_after(START, n));
        check_row("name %u", n);
        for (i = 0; i < 4; i++)
            CHECK_WAITS(100, fails(60000, &failure, check_after(START, n)));
        for (i = 1; i <= 4; i++)
            CHECK_WAITS(5000 * i + 100, fails(60000, &failure, check_after(START, n)));
    }
}

int main(void)
{
    RUN(test_wait_in_line);
    RUN(test_of_what_failures);
    RUN(test_last);
    RUN(test_of_what_buckets);
    RUN(test_gives_up);
    RUN(test_paid_in_small_steps);
    RUN(test_owed_by_another_name);
    return check_done();
}
