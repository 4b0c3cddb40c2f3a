/* A retry that a bucket cannot pay for waits for what refills its base. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/budgets.h"
#include "../support/steps.h"

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

/* An operation that has `left` ms, when it has failed at `now`. */
static retry_operation failed(retry_ms left, const retry_failure *failure, retry_time now)
{
    retry_operation op;
    memset(&op, 0, sizeof op);
    op.client = &client;
    op.timeout = left;
    op.idempotent = true;
    retry_start(&op, NULL, now);
    decide(&op, failure, now);
    return op;
}

static decided fails(retry_ms left, const retry_failure *failure, retry_time now)
{
    const retry_operation op = failed(left, failure, now);
    return decided_of(&op);
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

/* Throttled, it pays what any other retry does; after a time-out, a whole token. At most one token
   is owed: one waits after a time-out, and no other. */
static void test_of_what_failures(void)
{
    retry_budget_options options = preset();
    const retry_failure other = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_failure failure = other;
    set_up(&options);
    failure.timeout = true;
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fails(20000, &failure, START));
    CHECK_WAITS(20100, fails(60000, &failure, START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fails(60000, &failure, START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fails(60000, &other, START));
    set_up(&options);
    CHECK_WAITS(5100, fails(60000, &other, START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fails(60000, &failure, START));
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

enum { OTHER, THROTTLED, TIMED_OUT };

/* A retry that waits for tokens looks each second. When successes have brought its price, it pays,
   and waits for its own delay alone: 100 ms, or what the server asked for. What the base brings
   meanwhile pays for no haste. */
static void test_goes_when_earned(void)
{
    static const struct {
        uint8_t kind;
        uint32_t floor;
        retry_ms retry_after;
        uint32_t earned;
        retry_ms at, wait, next; /* waits from there, and then; 0: it goes */
        uint32_t left;           /* in the bucket */
    } rows[] = {{OTHER, 0, 0, 0, 0, 1000, 1000, 0},
                {OTHER, 0, 0, 249, 0, 1000, 1000, 249},
                {OTHER, 0, 0, 250, 0, 1, 99, 0},
                {OTHER, 0, 0, 250, 99, 1, 0, 0},
                {OTHER, 0, 0, 251, 500, 1, 0, 1},
                {OTHER, 0, 0, 249, 4100, 1000, 0, 249},
                {OTHER, 0, 0, 249, 4101, 999, 0, 249},
                {OTHER, 0, 0, 249, 5099, 1, 0, 249},
                {OTHER, 0, 0, 249, 5100, 0, 0, 249},
                {OTHER, 0, 3000, 250, 0, 1, 2999, 0},
                {OTHER, 0, 3000, 250, 2999, 1, 0, 0},
                {OTHER, 0, 3000, 250, 3000, 1, 0, 0},
                {OTHER, 0, 3000, 249, 3000, 1000, 1000, 249},
                {OTHER, 0, 3000, 249, 7999, 1, 0, 249},
                {OTHER, 0, 3000, 249, 8000, 0, 0, 249},
                {OTHER, 100, 0, 350, 0, 1000, 1000, 350},
                {OTHER, 100, 0, 351, 0, 1, 99, 101},
                {THROTTLED, 0, 0, 999, 0, 1000, 1000, 999},
                {THROTTLED, 0, 0, 1000, 0, 1, 99, 0},
                {THROTTLED, 0, 3000, 250, 0, 1, 2999, 0},
                {TIMED_OUT, 0, 0, 999, 0, 1000, 1000, 999},
                {TIMED_OUT, 0, 0, 999, 20099, 1, 0, 999},
                {TIMED_OUT, 0, 0, 1000, 0, 1, 99, 0}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options = preset();
        retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
        retry_time now = check_after(START, rows[i].at);
        retry_operation op;
        retry_step step;
        check_row("row %u", (unsigned)i);
        options.floor = rows[i].floor;
        set_up(&options);
        policy.retry_after_spread = 1;
        failure.throttle = rows[i].kind == THROTTLED;
        failure.timeout = rows[i].kind == TIMED_OUT;
        failure.retry_after = rows[i].retry_after;
        op = failed(60000, &failure, START);
        CHECK_EQUAL(1000, CHECK_WAIT(STRATEGY, retry_next(&op, START)).delay);
        retry_budget_deposit(&budget, rows[i].earned);
        step = retry_next(&op, now);
        CHECK_EQUAL(rows[i].wait, step.delay);
        if (rows[i].wait != 0)
            step = retry_next(&op, check_after(now, step.delay));
        CHECK_EQUAL(rows[i].next, step.delay);
        CHECK_EQUAL(step.delay == 0, step.what == RETRY_DO_SEND);
        CHECK_EQUAL(rows[i].left, retry_budget_balance(&budget));
    }
}

/* Tokens for one let one go. Who stops gives back what it has paid. */
static void test_one_goes(void)
{
    retry_budget_options options = preset();
    const retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation first, second;
    set_up(&options);
    first = failed(60000, &failure, START);
    second = failed(60000, &failure, START);
    retry_budget_deposit(&budget, 499);
    CHECK_EQUAL(1, CHECK_WAIT(STRATEGY, retry_next(&second, START)).delay);
    CHECK_EQUAL(1000, CHECK_WAIT(STRATEGY, retry_next(&first, START)).delay);
    CHECK_EQUAL(99, CHECK_WAIT(STRATEGY, retry_next(&second, check_after(START, 1))).delay);
    CHECK_SEND(retry_next(&second, check_after(START, 100)));
    CHECK_EQUAL(249, retry_budget_balance(&budget));
    retry_budget_deposit(&budget, 1);
    CHECK_EQUAL(1, CHECK_WAIT(STRATEGY, retry_next(&first, check_after(START, 1000))).delay);
    retry_stop(&first, check_after(START, 1000));
    CHECK_EQUAL(250, retry_budget_balance(&budget));
}

static uint32_t most(void *context)
{
    (void)context;
    return UINT32_MAX;
}

static retry_action after_30_s(const retry_strategy *self, const retry_operation *op,
                               const retry_failure *failure, retry_time now)
{
    (void)self, (void)op, (void)failure, (void)now;
    return retry_action_after(30000);
}

/* Its own delay stays whole: a strategy's, and with what a told delay is spread by. */
static void test_own_delay_stays(void)
{
    static const retry_strategy own = {after_30_s};
    retry_budget_options options = preset();
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op;
    int told;
    for (told = 0; told < 2; told++) {
        set_up(&options);
        client.random = most;
        client.strategy = told ? &policy.base : &own;
        failure.retry_after = told ? 24000 : 0; /* and a quarter more */
        op = failed(600000, &failure, START);
        retry_budget_deposit(&budget, 250);
        CHECK_EQUAL(35000, op.delay);
        CHECK_EQUAL(1, CHECK_WAIT(STRATEGY, retry_next(&op, START)).delay);
        CHECK_EQUAL(30000, op.delay);
        CHECK_EQUAL(29999, CHECK_WAIT(STRATEGY, retry_next(&op, check_after(START, 1))).delay);
    }
}

/* Who owes nothing waits as long as its policy says: also what failed anew, for a reason that is
   always retried, when it has paid. */
static void test_goes_when_its_delay_is_over(void)
{
    retry_budget_options options = preset();
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op;
    set_up(&options);
    client.always_interval = 4000;
    op = failed(60000, &failure, START);
    retry_budget_deposit(&budget, 1000);
    CHECK_EQUAL(1, CHECK_WAIT(STRATEGY, retry_next(&op, START)).delay);
    CHECK_SEND(retry_next(&op, check_after(START, 100)));
    failure = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    retry_ended(&op, 0, &failure, START);
    CHECK_EQUAL(4000, CHECK_WAIT(ALWAYS, retry_next(&op, START)).delay);
    retry_stop(&op, START);
    policy.backoff.initial = policy.backoff.max = 3000;
    failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    op = failed(60000, &failure, START);
    CHECK_EQUAL(3000, CHECK_WAIT(STRATEGY, retry_next(&op, START)).delay);
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
    RUN(test_goes_when_earned);
    RUN(test_one_goes);
    RUN(test_own_delay_stays);
    RUN(test_goes_when_its_delay_is_over);
    return check_done();
}
