/* What a retry costs and what comes back, by each option, and gRPC's throttling. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/budgets.h"

/* Until retry_budget_init has seen it a budget pays for nothing, whatever stands in it. */
static void test_never_set_up(void)
{
    retry_budget budget;
    retry_client client = client_of(&budget);
    retry_operation op;
    unsigned i;
    for (i = 0; i < 2; i++) {
        memset(&budget, 0, sizeof budget);
        if (i == 1)
            budget.options = options_of(10000, 0);
        check_row("options %u", i);
        op = begun(&client);
        retry_budget_deposit(&budget, 5000);
        CHECK_EQUAL(0, retry_budget_balance(&budget));
        CHECK(!retry_budget_withdraw(&budget, 0, START));
        CHECK(!retry_budget_withdraw(&budget, 1, START));
        CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_once(&client, RETRY_REASON_KV_LOCKED));
        CHECK_DECISION(
            RETRY, STRATEGY, /* it is not asked */
            fail_once(&client, RETRY_REASON_USER(1, RETRY_REASON_FREE |
                                                        RETRY_REASON_ALLOWS_NON_IDEMPOTENT)));
        CHECK_DECISION(RETRY, ALWAYS, fail_once(&client, RETRY_REASON_KV_NOT_MY_VBUCKET));
        CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    }
}

static void test_costs_default_to_the_retry_cost(void)
{
    static const struct {
        bool timeout, throttle;
        uint32_t timeout_cost, throttle_cost, cost;
    } rows[] = {
        {false, false, 0, 0, 1000},    {true, false, 0, 0, 1000},  {false, true, 0, 0, 1000},
        {true, true, 0, 0, 1000},      {true, true, 0, 300, 1000}, {false, true, 70, 0, 1000},
        {true, false, 70, 300, 70},    {true, true, 70, 300, 70},  {false, true, 70, 300, 300},
        {false, false, 70, 300, 1000},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options = options_of(9000, 1000);
        retry_budget budget;
        retry_client client = client_of(&budget);
        retry_operation op = begun(NULL);
        retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
        options.timeout_cost = rows[i].timeout_cost;
        options.throttle_cost = rows[i].throttle_cost;
        budget = budget_of(&options, 9000);
        op.client = &client;
        failure.timeout = rows[i].timeout;
        failure.throttle = rows[i].throttle;
        check_row("row %u", (unsigned)i);
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
        CHECK_EQUAL(9000 - rows[i].cost, retry_budget_balance(&budget));
    }
}

/* The operation's attempt is made, and fails. */
static void fails(retry_operation *op, const retry_failure *failure, retry_time now)
{
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(op, now).what);
    retry_ended(op, 0, failure, now);
}

/* Who comes back when the server said does as it is told: each retry costs what any other does, if
   that is less. Not after a time-out. */
static void test_cost_of_an_order(void)
{
    static const struct {
        bool timeout, throttle;
        retry_ms retry_after;
        uint32_t throttle_cost, cost;
    } rows[] = {
        {false, true, 0, 3000, 3000}, {false, true, 1, 3000, 1000},  {false, true, 9, 3000, 1000},
        {false, true, 9, 300, 300},   {false, true, 9, 0, 1000},     {false, true, 0, 0, 1000},
        {false, true, 0, 300, 300},   {false, false, 9, 3000, 1000}, {true, true, 9, 3000, 2000},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options = options_of(9000, 1000);
        retry_budget budget;
        retry_client client = client_of(&budget);
        retry_operation op;
        retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
        options.timeout_cost = 2000;
        options.throttle_cost = rows[i].throttle_cost;
        budget = budget_of(&options, 9000);
        failure.timeout = rows[i].timeout;
        failure.throttle = rows[i].throttle;
        failure.retry_after = rows[i].retry_after;
        check_row("row %u", (unsigned)i);
        memset(&op, 0, sizeof op);
        op.client = &client;
        retry_start(&op, NULL, START);
        fails(&op, &failure, START);
        CHECK_EQUAL(9000 - rows[i].cost, retry_budget_balance(&budget));
        fails(&op, &failure, check_after(START, 20000));
        CHECK_EQUAL(9000 - 2 * rows[i].cost, retry_budget_balance(&budget));
        /* What was paid for a retry that is not made goes back. */
        retry_stop(&op, check_after(START, 20000));
        CHECK_EQUAL(9000 - rows[i].cost, retry_budget_balance(&budget));
    }
}

/* A bucket of no capacity pays for nothing, not even for what is free. */
static void test_free_retries(void)
{
    retry_budget_options options = options_of(0, 0);
    retry_budget budget = budget_of(&options, 0);
    retry_client client = client_of(&budget);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op = begun(&client);
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide(&op, &failure, START));
    options.capacity = 1;
    budget = budget_of(&options, 1);
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    CHECK_EQUAL(1, retry_budget_balance(&budget));
}

/* The request's clock refills the bucket too. */
static void test_refill_by_orchestrate(void)
{
    retry_budget_options options = options_of(9000, 1000);
    retry_budget budget;
    retry_client client = client_of(&budget);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op = begun(NULL);
    options.refill_per_second = 100;
    budget = budget_of(&options, 0);
    op.client = &client;
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide(&op, &failure, check_after(START, 9999)));
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, check_after(START, 10000)));
    CHECK_EQUAL(0, retry_budget_balance(&budget));
}

static void test_request_deposit(void)
{
    retry_budget_options options = options_of(2000, 1000);
    retry_budget budget;
    retry_client client = client_of(&budget);
    retry_operation op = begun(NULL);
    unsigned i;
    options.request_deposit = 200;
    budget = budget_of(&options, 0);
    op.client = &client;
    for (i = 1; i <= 15; i++) {
        retry_start(&op, NULL, START);
        check_row("request %u", i);
        CHECK_EQUAL(i < 10 ? 200 * i : 2000, retry_budget_balance(&budget));
        CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    }
    options.request_deposit = 1;
    budget = budget_of(&options, 0);
    retry_start(&op, NULL, START);
    CHECK_EQUAL(1, retry_budget_balance(&budget));
}

/* `retries` granted and then a success: what is in the bucket of 100 tokens, 50 of them used? */
static uint32_t balance_after(const retry_budget_options *options, unsigned retries)
{
    retry_budget budget = budget_of(options, 50000);
    retry_client client = client_of(&budget);
    retry_operation op = begun(NULL);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    op.client = &client;
    for (; retries > 0; retries--) {
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
        failure.timeout = true; /* the first for 5 tokens, the others for 10 */
    }
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    CHECK_EQUAL(0, retry_left(&op, START));
    return retry_budget_balance(&budget);
}

static void test_success(void)
{
    static const struct {
        uint32_t deposit;
        bool refund_last, charge_failures;
        unsigned retries;
        uint32_t expected;
    } rows[] = {
        {0, false, false, 0, 50000},     {0, false, false, 2, 35000},
        {700, false, false, 0, 50700},   {700, false, false, 1, 45700},
        {700, false, false, 3, 25700},   {700, true, false, 0, 50700},
        {700, true, false, 1, 50000},    {700, true, false, 2, 45000},
        {700, true, false, 3, 35000},    {0, true, false, 0, 50000},
        {0, true, false, 2, 45000},      {700, false, true, 0, 50700},
        {700, false, true, 2, 35700},    {99000, false, false, 1, 100000},
        {99000, true, false, 0, 100000},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options = options_of(100000, 5000);
        options.timeout_cost = 10000;
        options.success_deposit = rows[i].deposit;
        options.refund_last = rows[i].refund_last;
        options.charge_failures = rows[i].charge_failures;
        check_row("deposit %lu, refund %d, charge failures %d, %u retries",
                  (unsigned long)rows[i].deposit, rows[i].refund_last, rows[i].charge_failures,
                  rows[i].retries);
        CHECK_EQUAL(rows[i].expected, balance_after(&options, rows[i].retries));
    }
}

/* A refund into a bucket that filled up meanwhile does not make it fuller. */
static void test_refund_into_a_full_bucket(void)
{
    retry_budget_options options = options_of(9000, 1000);
    retry_budget budget;
    retry_client client = client_of(&budget);
    retry_operation op = begun(NULL);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    options.refund_last = true;
    budget = budget_of(&options, 9000);
    op.client = &client;
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    retry_budget_deposit(&budget, 600);
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    retry_budget_deposit(&budget, 600);
    retry_stop(&op, START);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
}

static void test_final_failure_gives_nothing(void)
{
    retry_budget_options options = RETRY_BUDGET_AWS;
    retry_budget budget = budget_of(&options, 500000);
    retry_client client = client_of(&budget);
    retry_operation op = begun(&client);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    failure.reason = RETRY_REASON_NONE;
    CHECK_DECISION(FAIL, NOT_RETRYABLE, decide(&op, &failure, START));
    retry_stop(&op, START);
    CHECK_EQUAL(495000, retry_budget_balance(&budget));
}

/* ---- gRPC's throttling --------------------------------------------------------------------- */

static void test_grpc(void)
{
    retry_budget_options options = RETRY_BUDGET_GRPC;
    retry_budget budget = budget_of(&options, 10000);
    retry_client client = client_of(&budget);
    unsigned i;
    for (i = 1; i <= 4; i++) {
        check_row("failure %u", i);
        CHECK_DECISION(RETRY, STRATEGY, fail_once(&client, RETRY_REASON_KV_LOCKED));
        CHECK_EQUAL(10000 - 1000 * i, retry_budget_balance(&budget));
    }
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_once(&client, RETRY_REASON_KV_LOCKED));
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
    for (i = 0; i < 9; i++)
        CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_once(&client, RETRY_REASON_KV_LOCKED));
    CHECK_EQUAL(0, retry_budget_balance(&budget));
    retry_budget_deposit(&budget, 400);
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_once(&client, RETRY_REASON_KV_LOCKED));
    CHECK_EQUAL(0, retry_budget_balance(&budget)); /* what is there is taken, down to 0 */
}

static void test_grpc_recovers(void)
{
    unsigned successes;
    for (successes = 59; successes <= 62; successes++) {
        retry_budget_options options = RETRY_BUDGET_GRPC;
        retry_budget budget = budget_of(&options, 0);
        retry_client client = client_of(&budget);
        unsigned i;
        for (i = 0; i < successes; i++) {
            retry_operation op = begun(&client);
            CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
        }
        check_row("%u successes", successes);
        CHECK_EQUAL(100 * successes, retry_budget_balance(&budget));
        CHECK_EQUAL(successes >= 61 ? RETRY_VERDICT_RETRY : RETRY_VERDICT_FAIL,
                    fail_once(&client, RETRY_REASON_KV_LOCKED).verdict);
    }
}

/* Charged whatever is decided, but only for what a strategy is asked about. */
static void test_grpc_charges_failures(void)
{
    static const struct {
        retry_reason reason;
        uint32_t charge;
    } rows[] = {
        {RETRY_REASON_KV_LOCKED, 1000},
        {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, 1000}, /* refused: not idempotent */
        {RETRY_REASON_KV_NOT_MY_VBUCKET, 0},
        {RETRY_REASON_NONE, 0},
        {RETRY_REASON_UNKNOWN, 0},
        {0x3f, 0},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options = RETRY_BUDGET_GRPC;
        retry_budget budget = budget_of(&options, 10000);
        retry_client client = client_of(&budget);
        check_row("%s", retry_reason_name(rows[i].reason));
        fail_once(&client, rows[i].reason);
        CHECK_EQUAL(10000 - rows[i].charge, retry_budget_balance(&budget));
    }
}

/* Twenty orders not to retry empty the bucket (A6); in a bucket that retries are paid from they
   change nothing. */
static void test_grpc_charges_orders(void)
{
    retry_failure order = check_failure_of(RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED);
    unsigned charges, i;
    order.pushback = true;
    order.retry_after = UINT32_MAX;
    for (charges = 0; charges < 2; charges++) {
        retry_budget_options options = RETRY_BUDGET_GRPC;
        retry_budget budget;
        retry_client client = client_of(&budget);
        options.charge_failures = charges;
        budget = budget_of(&options, 10000);
        for (i = 1; i <= 20; i++) {
            retry_operation op = begun(&client);
            check_row("charge_failures %u, order %u", charges, i);
            CHECK_DECISION(FAIL, PUSHBACK, decide(&op, &order, START));
            CHECK_EQUAL(!charges ? 10000
                        : i < 10 ? 10000 - i * 1000
                                 : 0,
                        retry_budget_balance(&budget));
        }
    }
}

/* One that was never sent is no load; one that is unsafe is final for that. */
static void test_grpc_orders_that_are_not_charged(void)
{
    retry_failure order = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    retry_budget_options options = RETRY_BUDGET_GRPC;
    retry_budget budget = budget_of(&options, 10000);
    retry_client client = client_of(&budget);
    retry_operation op = begun(&client);
    order.pushback = true;
    order.retry_after = UINT32_MAX;
    CHECK_DECISION(FAIL, PUSHBACK, decide(&op, &order, START));
    retry_start(&op, NULL, START);
    order.reason = RETRY_REASON_USER(1, RETRY_REASON_FREE);
    CHECK_DECISION(FAIL, PUSHBACK, decide(&op, &order, START));
    retry_start(&op, NULL, START);
    order.reason = RETRY_REASON_SERVER_ERROR;
    order.safety = RETRY_SAFETY_NO;
    CHECK_DECISION(FAIL, UNSAFE, decide(&op, &order, START));
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
}

static void test_grpc_gives_nothing_back(void)
{
    retry_budget_options options = RETRY_BUDGET_GRPC;
    retry_budget budget = budget_of(&options, 10000);
    retry_client client = client_of(&budget);
    retry_operation op = begun(&client);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_policy slow = RETRY_POLICY_BEST_EFFORT;
    retry_backoff constant = RETRY_BACKOFF_DEFAULT;
    constant.jitter = RETRY_JITTER_NONE;
    constant.initial = 100;
    slow.backoff = constant;
    op.strategy = &slow.base;
    op.timeout = 50;
    failure.retry_after = 100;
    CHECK_DECISION(EXPIRE, DEADLINE, decide(&op, &failure, START));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    op.timeout = 1000;
    failure.retry_after = 0;
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    retry_stop(&op, START);
    CHECK_EQUAL(8000, retry_budget_balance(&budget));
    budget.options.refund_last = true;
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    CHECK_RANGE(7000, 7100, retry_budget_balance(&budget));
}

/* Retries of two processes that share a budget, or of two clients: one base. */
static void test_base_is_shared(void)
{
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(20);
    retry_budget budget;
    retry_client clients[2];
    unsigned i;
    options.base_per_second = 0; /* nobody waits for more */
    retry_budget_init(&budget, &options, START);
    clients[0] = clients[1] = client_of(&budget);
    for (i = 0; i < 4; i++)
        CHECK_DECISION(RETRY, STRATEGY, fail_once(&clients[i & 1], RETRY_REASON_KV_LOCKED));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_once(&clients[0], RETRY_REASON_KV_LOCKED));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_once(&clients[1], RETRY_REASON_KV_LOCKED));
}

int main(void)
{
    RUN(test_never_set_up);
    RUN(test_costs_default_to_the_retry_cost);
    RUN(test_cost_of_an_order);
    RUN(test_free_retries);
    RUN(test_refill_by_orchestrate);
    RUN(test_request_deposit);
    RUN(test_success);
    RUN(test_refund_into_a_full_bucket);
    RUN(test_final_failure_gives_nothing);
    RUN(test_grpc);
    RUN(test_grpc_recovers);
    RUN(test_grpc_charges_failures);
    RUN(test_grpc_charges_orders);
    RUN(test_grpc_orders_that_are_not_charged);
    RUN(test_grpc_gives_nothing_back);
    RUN(test_base_is_shared);
    return check_done();
}
