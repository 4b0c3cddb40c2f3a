/* The deadline of an operation, on clocks that wrap, stand still or step back. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"

#define HALF_RANGE ((retry_time)(((retry_time)-1 >> 1) + 1))
#define LONGEST_DELAY 0x80000000u   /* 2^31 ms */
#define LONGEST_TIMEOUT 0xffff0000u /* 2^32 - 65,536 ms; above it there is no end */
#define BEHIND 32768u               /* ms that another thread's clock may be behind */

static retry_ms wish; /* what the strategy below asks for */

static retry_action wishing_after(const retry_strategy *self, const retry_operation *op,
                                  const retry_failure *failure, retry_time now)
{
    (void)self;
    (void)op;
    (void)failure;
    (void)now;
    return retry_action_after(wish);
}

static const retry_strategy wishing = {wishing_after};

/* One failure `elapsed` after `start`, with a strategy that asks for `delay`. */
static decided fail_after(retry_time start, retry_time elapsed, retry_ms timeout, retry_ms delay,
                          retry_operation *op)
{
    retry_failure failure;
    memset(&failure, 0, sizeof failure);
    memset(op, 0, sizeof *op);
    op->client = default_client();
    failure.reason = RETRY_REASON_KV_LOCKED;
    op->strategy = &wishing;
    op->timeout = timeout;
    wish = delay;
    retry_start(op, NULL, start);
    return decide(op, &failure, check_after(start, elapsed));
}

static const struct {
    const char *name;
    retry_ms timeout, delay, elapsed;
    uint8_t verdict;
    retry_ms expected;
} rows[] = {
    {"no end", UINT32_MAX, 1, 2000000000u, RETRY_VERDICT_RETRY, 1},
    {"no end, longest delay", UINT32_MAX, UINT32_MAX, 1000000, RETRY_VERDICT_RETRY, LONGEST_DELAY},
    {"the default", 0, 74999, 0, RETRY_VERDICT_RETRY, 74999},
    {"the default, reached", 0, 1, 74999, RETRY_VERDICT_EXPIRE, 1},
    {"the default, passed", 0, 0, 75001, RETRY_VERDICT_EXPIRE, 0},
    {"fits", 2500, 499, 2000, RETRY_VERDICT_RETRY, 499},
    {"reaches", 2500, 500, 2000, RETRY_VERDICT_EXPIRE, 500},
    {"passes", 2500, 1000, 2000, RETRY_VERDICT_EXPIRE, 500},
    {"passes by far", 2500, UINT32_MAX, 2000, RETRY_VERDICT_EXPIRE, 500},
    {"passes by one", 2500, 501, 2000, RETRY_VERDICT_EXPIRE, 500},
    {"no time passed", 2500, 2499, 0, RETRY_VERDICT_RETRY, 2499},
    {"no time passed, reaches", 2500, 2500, 0, RETRY_VERDICT_EXPIRE, 2500},
    {"one ms left", 2500, 0, 2499, RETRY_VERDICT_RETRY, 0},
    {"one ms left, one asked", 2500, 1, 2499, RETRY_VERDICT_EXPIRE, 1},
    {"nothing left", 2500, 0, 2500, RETRY_VERDICT_EXPIRE, 0},
    {"overdue", 2500, 1, 2501, RETRY_VERDICT_EXPIRE, 0},
    {"long overdue", 2500, 1, 2000000000u, RETRY_VERDICT_EXPIRE, 0},
    {"shortest timeout", 1, 0, 0, RETRY_VERDICT_RETRY, 0},
    {"shortest timeout, reached", 1, 1, 0, RETRY_VERDICT_EXPIRE, 1},
    {"longest timeout", LONGEST_TIMEOUT, UINT32_MAX, LONGEST_TIMEOUT - LONGEST_DELAY - 1,
     RETRY_VERDICT_RETRY, LONGEST_DELAY},
    {"longest timeout, reached", LONGEST_TIMEOUT, UINT32_MAX, LONGEST_TIMEOUT - LONGEST_DELAY,
     RETRY_VERDICT_EXPIRE, LONGEST_DELAY},
    {"longest timeout, one ms left", LONGEST_TIMEOUT, 0, LONGEST_TIMEOUT - 1, RETRY_VERDICT_RETRY,
     0},
    {"longest timeout, passed", LONGEST_TIMEOUT, 0, LONGEST_TIMEOUT, RETRY_VERDICT_EXPIRE, 0},
    {"a longer one is no end", LONGEST_TIMEOUT + 1, 7, LONGEST_TIMEOUT + 1, RETRY_VERDICT_RETRY, 7},
    {"nor is the longest but one", UINT32_MAX - 1, 7, UINT32_MAX - BEHIND, RETRY_VERDICT_RETRY, 7},
};

static void check_row_from(retry_time start, size_t i, const char *where)
{
    retry_operation op;
    decided decision = fail_after(start, rows[i].elapsed, rows[i].timeout, rows[i].delay, &op);
    bool retried = rows[i].verdict == RETRY_VERDICT_RETRY;
    check_row("%s, %s", rows[i].name, where);
    CHECK_EQUAL(rows[i].verdict, decision.verdict);
    CHECK_EQUAL(retried ? RETRY_CAUSE_STRATEGY : RETRY_CAUSE_DEADLINE, decision.cause);
    CHECK_EQUAL(rows[i].expected, decision.delay);
    CHECK_EQUAL(retried, op.retries);
    CHECK_EQUAL(retried, op.code_retries);
    CHECK_EQUAL(rows[i].expected, op.delay);
    CHECK_EQUAL(retried, retry_left(&op, start) != 0);
}

/* The same wherever the clock starts: in the middle of a request it may wrap. */
static void test_rows(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row_from(0, i, "from 0");
        check_row_from(1000, i, "from 1000");
        check_row_from((retry_time)-1, i, "from the last instant");
        check_row_from((retry_time)-1000, i, "over the wrap");
        check_row_from((retry_time)-2500, i, "up to the wrap");
        check_row_from(HALF_RANGE - 1000, i, "over the half");
        check_row_from(HALF_RANGE, i, "from the half");
    }
}

/* A clock a little before the start is another thread's: no time has passed. One further before it
   was set back, or is weeks later: the time is over. */
static void test_backward(void)
{
    static const retry_time starts[] = {0, 5000, (retry_time)-1, HALF_RANGE};
    static const retry_time steps[] = {1, 4999, 5001, BEHIND};
    static const retry_time greater[] = {BEHIND + 1, 100000, HALF_RANGE - 1, HALF_RANGE};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        for (j = 0; j < CHECK_COUNT(steps); j++) {
            retry_time elapsed = (retry_time)-1 - steps[j] + 1;
            retry_operation op;
            decided decision = fail_after(starts[i], elapsed, 2500, 2499, &op);
            check_row("start %u, step %u", (unsigned)i, (unsigned)j);
            CHECK_DECISION(RETRY, STRATEGY, decision);
            decision = fail_after(starts[i], elapsed, 2500, 9999, &op);
            CHECK_DECISION(EXPIRE, DEADLINE, decision);
            CHECK_EQUAL(2500, decision.delay);
        }
        for (j = 0; j < CHECK_COUNT(greater); j++) {
            retry_time elapsed = (retry_time)-1 - greater[j] + 1;
            retry_operation op;
            decided decision = fail_after(starts[i], elapsed, 2500, 1, &op);
            check_row("start %u, greater step %u", (unsigned)i, (unsigned)j);
            CHECK_DECISION(EXPIRE, DEADLINE, decision);
            CHECK_EQUAL(0, decision.delay);
        }
    }
}

/* Always-retry reasons do not outlive the deadline either. */
static void test_always_reasons_expire(void)
{
    static const struct {
        retry_ms elapsed;
        uint8_t verdict;
        retry_ms delay;
    } steps[] = {
        {0, RETRY_VERDICT_RETRY, 1},     {1, RETRY_VERDICT_RETRY, 10},
        {11, RETRY_VERDICT_RETRY, 50},   {61, RETRY_VERDICT_RETRY, 100},
        {161, RETRY_VERDICT_EXPIRE, 39},
    };
    retry_operation op;
    retry_failure failure;
    size_t i;
    memset(&failure, 0, sizeof failure);
    memset(&op, 0, sizeof op);
    op.client = default_client();
    failure.reason = RETRY_REASON_KV_NOT_MY_VBUCKET;
    op.timeout = 200;
    retry_start(&op, NULL, (retry_time)-100);
    for (i = 0; i < CHECK_COUNT(steps); i++) {
        decided decision = decide(&op, &failure, check_after((retry_time)-100, steps[i].elapsed));
        check_row("step %u", (unsigned)i);
        CHECK_EQUAL(steps[i].verdict, decision.verdict);
        CHECK_EQUAL(steps[i].delay, decision.delay);
    }
    CHECK_EQUAL(4, op.retries);
}

/* The deadline counts from the start, not from the last try. */
static void test_whole_operation(void)
{
    retry_operation op;
    retry_failure failure;
    retry_time now = (retry_time)-700;
    unsigned retries = 0;
    memset(&failure, 0, sizeof failure);
    memset(&op, 0, sizeof op);
    op.client = default_client();
    failure.reason = RETRY_REASON_KV_LOCKED;
    op.strategy = &wishing;
    op.timeout = 2500;
    wish = 300;
    retry_start(&op, NULL, now);
    for (;;) {
        decided decision = decide(&op, &failure, now);
        now = check_after(now, decision.delay);
        if (decision.verdict != RETRY_VERDICT_RETRY)
            break;
        retries++;
    }
    CHECK_EQUAL(8, retries);
    CHECK_EQUAL(check_after(op.started, 2500), now);
}

static void test_charge_goes_back(void)
{
    retry_budget_options options = options_of(9000, 1000);
    retry_client client;
    retry_budget budget;
    retry_operation op;
    retry_failure failure;
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    memset(&failure, 0, sizeof failure);
    options.timeout_cost = 2000;
    options.throttle_cost = 3000;
    retry_budget_init(&budget, &options, 0);
    client.strategy = &wishing;
    client.budget = &budget;
    op.client = &client;
    op.timeout = 1000;
    failure.reason = RETRY_REASON_KV_LOCKED;
    wish = 400;
    retry_start(&op, NULL, 0);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, 0));
    failure.throttle = true;
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, 400));
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
    failure.timeout = true;
    CHECK_DECISION(EXPIRE, DEADLINE, decide(&op, &failure, 800));
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
    retry_stop(&op, 800);
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
}

int main(void)
{
    RUN(test_rows);
    RUN(test_backward);
    RUN(test_always_reasons_expire);
    RUN(test_whole_operation);
    RUN(test_charge_goes_back);
    return check_done();
}
