/* The bucket that retries are paid from: withdrawals, deposits and the presets. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/budgets.h"

#include <float.h>

static const struct {
    uint32_t capacity, floor, balance, cost;
    bool granted;
} withdrawals[] = {
    {9000, 0, 9000, 1000, true},
    {9000, 0, 1000, 1000, true},
    {9000, 0, 999, 1000, false},
    {9000, 0, 0, 1, false},
    {9000, 0, 0, 0, true},
    {9000, 0, 9000, 9001, false},
    {9000, 0, 9000, 0, true},
    {9000, 0, 9000, UINT32_MAX, false},
    {9000, 5000, 9000, 3999, true},
    {9000, 5000, 9000, 4000, false},
    {9000, 5000, 9000, 4001, false},
    {9000, 5000, 9000, UINT32_MAX, false},
    {9000, 5000, 5001, 0, true},
    {9000, 5000, 5000, 0, false},
    {9000, 5000, 100, 100, false},
    {9000, 5000, 0, 0, false},
    {9000, 9000, 9000, 0, false},
    {9000, UINT32_MAX, 9000, 0, false},
    {1, 0, 1, 1, true},
    {1, 0, 1, 2, false},
    {1, 1, 1, 0, false},
    {UINT32_MAX, 0, UINT32_MAX, UINT32_MAX, true},
    {UINT32_MAX, 0, UINT32_MAX - 1, UINT32_MAX, false},
    {UINT32_MAX, UINT32_MAX - 1, UINT32_MAX, 0, true},
    {UINT32_MAX, UINT32_MAX - 1, UINT32_MAX, 1, false},
    {UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, false},
    {9000, 5000, 100, 0, false},
    {9000, UINT32_MAX, 9000, 1, false},
    {0, 0, 0, 0, false},
};

static const struct {
    uint32_t capacity, balance, amount, expected;
} deposits[] = {
    {9000, 0, 0, 0},
    {9000, 0, 1, 1},
    {9000, 8000, 999, 8999},
    {9000, 8000, 1000, 9000},
    {9000, 8000, 1001, 9000},
    {9000, 8000, UINT32_MAX, 9000},
    {9000, 9000, 0, 9000},
    {9000, 9000, UINT32_MAX, 9000},
    {1, 0, 1, 1},
    {1, 0, UINT32_MAX, 1},
    {UINT32_MAX, 5, UINT32_MAX, UINT32_MAX},
    {UINT32_MAX, 5, UINT32_MAX - 5, UINT32_MAX},
    {UINT32_MAX, 5, UINT32_MAX - 6, UINT32_MAX - 1},
};

/* ---- withdraw and deposit ------------------------------------------------------------------ */

/* Amounts are thousandths, which nobody writes. */
static void test_amounts(void)
{
    static const uint32_t amounts[] = {
        RETRY_TOKENS(0),
        RETRY_TOKENS(1),
        RETRY_TOKENS(1.5),
        RETRY_TOKENS(0.001),
        RETRY_TOKENS(0.0005),
        RETRY_TOKENS(0.0004),
        RETRY_TOKENS(2 + 1),
#if DBL_DIG > 9
        RETRY_TOKENS(4294967.295),
#else /* a double of 32 bits cannot say it */
        UINT32_MAX,
#endif
        RETRY_PER_SECOND(50),
        RETRY_PER_SECOND(0.5),
        RETRY_PER_SECOND(UINT32_C(100000))
    };
    static const uint32_t expected[] = {0,    1000,       1500,  1,   1,        1,
                                        3000, UINT32_MAX, 50000, 500, 100000000};
    static const retry_budget_options smithy = RETRY_BUDGET_SMITHY, aws = RETRY_BUDGET_AWS;
    static const retry_budget_options newer = RETRY_BUDGET_AWS_2026, grpc = RETRY_BUDGET_GRPC;
    static const retry_budget_options best = RETRY_BUDGET_BEST_EFFORT(3);
    size_t i;
    for (i = 0; i < CHECK_COUNT(amounts); i++) {
        check_row("amount %u", (unsigned)i);
        CHECK_EQUAL(expected[i], amounts[i]);
    }
    CHECK_EQUAL(1, RETRY_PER_SECOND(1.0 / 36000)); /* 0 would be no limit */
    CHECK_EQUAL(1, RETRY_RATIO(1e-9));
    CHECK_EQUAL(1, RETRY_RATIO(0.0000079));
    CHECK_EQUAL(0, RETRY_RATIO(0));
    CHECK(smithy.capacity == 500000 && smithy.retry_cost == 5000 && smithy.timeout_cost == 10000);
    CHECK(smithy.throttle_cost == 5000 && smithy.success_deposit == 1000 && !smithy.refund_last);
    CHECK(aws.capacity == 500000 && aws.timeout_cost == 10000 && aws.refund_last);
    CHECK(newer.retry_cost == 14000 && newer.timeout_cost == 14000 && newer.throttle_cost == 5000);
    CHECK(grpc.capacity == 10000 && grpc.retry_cost == 1000 && grpc.success_deposit == 100);
    CHECK(grpc.floor == 5000 && grpc.charge_failures && grpc.timeout_cost == 0);
    CHECK(best.capacity == 60000 && best.retry_cost == 250 && best.success_deposit == 100);
    CHECK(best.expire == 10000 && best.floor == 0 && best.base_per_second == 50);
}

static void test_null(void)
{
    retry_budget budget;
    retry_budget_options options = options_of(1000, 0);
    memset(&budget, 0, sizeof budget);
    retry_budget_init(NULL, &options, START);
    retry_budget_init(NULL, NULL, START);
    retry_budget_deposit(NULL, 5);
    CHECK(!retry_budget_withdraw(NULL, 0, START));
    CHECK_EQUAL(0, retry_budget_balance(NULL));
    CHECK(!retry_budget_withdraw(&budget, 0, START));
    retry_budget_init(&budget, NULL, START);
    CHECK_EQUAL(0, retry_budget_balance(&budget));
    CHECK(!retry_budget_withdraw(&budget, 0, START));
    CHECK(!retry_budget_withdraw(&budget, 1, START));
    retry_budget_deposit(&budget, UINT32_MAX);
    CHECK_EQUAL(0, retry_budget_balance(&budget));
}

static void test_starts_full(void)
{
    static const uint32_t capacities[] = {1, 999, 1000, 500000, UINT32_MAX - 1, UINT32_MAX};
    size_t i;
    for (i = 0; i < CHECK_COUNT(capacities); i++) {
        retry_budget_options options = options_of(capacities[i], 0);
        retry_budget budget;
        retry_budget_init(&budget, &options, START);
        check_row("capacity %lu", (unsigned long)capacities[i]);
        CHECK_EQUAL(capacities[i], retry_budget_balance(&budget));
        CHECK(retry_budget_withdraw(&budget, capacities[i], START));
        CHECK_EQUAL(0, retry_budget_balance(&budget));
        CHECK(!retry_budget_withdraw(&budget, 1, START));
        retry_budget_init(&budget, &options, START);
        CHECK_EQUAL(capacities[i], retry_budget_balance(&budget));
    }
}

static void test_withdraw(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(withdrawals); i++) {
        retry_budget_options options = options_of(withdrawals[i].capacity, 0);
        retry_budget budget;
        options.floor = withdrawals[i].floor;
        budget = budget_of(&options, withdrawals[i].balance);
        check_row("floor %lu, balance %lu, cost %lu", (unsigned long)withdrawals[i].floor,
                  (unsigned long)withdrawals[i].balance, (unsigned long)withdrawals[i].cost);
        CHECK_EQUAL(withdrawals[i].balance, retry_budget_balance(&budget));
        CHECK_EQUAL(withdrawals[i].granted,
                    retry_budget_withdraw(&budget, withdrawals[i].cost, START));
        CHECK_EQUAL(withdrawals[i].balance - (withdrawals[i].granted ? withdrawals[i].cost : 0),
                    retry_budget_balance(&budget));
    }
}

static void test_deposit(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(deposits); i++) {
        retry_budget_options options = options_of(deposits[i].capacity, 0);
        retry_budget budget = budget_of(&options, deposits[i].balance);
        retry_budget_deposit(&budget, deposits[i].amount);
        check_row("balance %lu, amount %lu", (unsigned long)deposits[i].balance,
                  (unsigned long)deposits[i].amount);
        CHECK_EQUAL(deposits[i].expected, retry_budget_balance(&budget));
    }
}

/* ---- a budget for best effort -------------------------------------------------------------- */

/* As initialisers of static objects, in C and C++. */
static const struct {
    retry_budget_options options;
    uint32_t capacity;
} best_effort[] = {
    {RETRY_BUDGET_BEST_EFFORT(0), 0},
    {RETRY_BUDGET_BEST_EFFORT(1), 20000},
    {RETRY_BUDGET_BEST_EFFORT(20), 400000},
    {RETRY_BUDGET_BEST_EFFORT(2 + 3), 100000},
    {RETRY_BUDGET_BEST_EFFORT(214748), 4294960000u},
    {RETRY_BUDGET_BEST_EFFORT(214748u), 4294960000u},
    {RETRY_BUDGET_BEST_EFFORT(214749), UINT32_MAX},
    {RETRY_BUDGET_BEST_EFFORT(214749u), UINT32_MAX},
    {RETRY_BUDGET_BEST_EFFORT(UINT32_MAX), UINT32_MAX},
    {RETRY_BUDGET_BEST_EFFORT(UINT64_C(1) << 60), UINT32_MAX},
    {RETRY_BUDGET_BEST_EFFORT(UINT64_MAX), UINT32_MAX},
};

static void test_best_effort(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(best_effort); i++) {
        const retry_budget_options *options = &best_effort[i].options;
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(best_effort[i].capacity, options->capacity);
        CHECK_EQUAL(250, options->retry_cost);
        CHECK_EQUAL(100, options->success_deposit);
        CHECK_EQUAL(1000, options->timeout_cost);
        CHECK_EQUAL(1000, options->throttle_cost);
        CHECK_EQUAL(0, options->request_deposit);
        CHECK_EQUAL(0, options->refill_per_second);
        CHECK_EQUAL(0, options->floor);
        CHECK(!options->refund_last);
        CHECK(!options->charge_failures);
        CHECK_EQUAL(10000, options->expire);
        CHECK_EQUAL(50, options->base_per_second);
    }
}

/* The others last. */
static void test_presets_do_not_expire(void)
{
    static const retry_budget_options presets[] = {RETRY_BUDGET_SMITHY, RETRY_BUDGET_AWS,
                                                   RETRY_BUDGET_AWS_2026, RETRY_BUDGET_GRPC};
    size_t i;
    for (i = 0; i < CHECK_COUNT(presets); i++)
        CHECK_EQUAL(0, presets[i].expire);
}

int main(void)
{
    RUN(test_amounts);
    RUN(test_null);
    RUN(test_starts_full);
    RUN(test_withdraw);
    RUN(test_deposit);
    RUN(test_best_effort);
    RUN(test_presets_do_not_expire);
    return check_done();
}
