/* The bucket that retries are paid from: withdrawals, refill to the last fraction, every option,
   and how it holds the load down when a server fails. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/door.h"
#include "../support/reasons.h"

#include <float.h>

#define START ((retry_time)-5000)
#define TOO_MUCH UINT32_MAX /* a withdrawal that is denied refills and takes nothing */

#define DAY UINT32_C(86400000)

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

/* Tokens in millionths and in 64 bits. */
struct model {
    uint64_t level, capacity;
    uint32_t rate;
};

static struct model model_of(uint32_t capacity, uint32_t rate, uint32_t balance)
{
    struct model model;
    model.level = (uint64_t)balance * 1000;
    model.capacity = (uint64_t)capacity * 1000;
    model.rate = rate;
    return model;
}

static void model_add(struct model *model, uint64_t millionths)
{
    uint64_t room = model->capacity - model->level;
    model->level += millionths < room ? millionths : room;
}

static void model_pass(struct model *model, retry_ms elapsed)
{
    model_add(model, (uint64_t)model->rate * elapsed);
}

static bool model_withdraw(struct model *model, uint32_t cost, uint32_t floor)
{
    uint64_t held = model->level / 1000;
    if (cost > held || (floor != 0 && held - cost <= floor))
        return false;
    model->level -= (uint64_t)cost * 1000;
    return true;
}

static retry_budget_options options_of(uint32_t capacity, uint32_t retry_cost)
{
    retry_budget_options options;
    memset(&options, 0, sizeof options);
    options.capacity = capacity;
    options.retry_cost = retry_cost;
    return options;
}

/* A bucket that holds `balance`, whatever its floor says. */
static retry_budget budget_of(const retry_budget_options *options, uint32_t balance)
{
    retry_budget_options without = *options;
    retry_budget budget;
    without.floor = 0;
    retry_budget_init(&budget, &without, START);
    retry_budget_withdraw(&budget, options->capacity - balance, START);
    budget.options = *options;
    return budget;
}

static retry_client client_of(retry_budget *budget)
{
    retry_client client;
    memset(&client, 0, sizeof client);
    client.budget = budget;
    return client;
}

static retry_operation begun(const retry_client *client)
{
    retry_operation request;
    memset(&request, 0, sizeof request);
    request.client = client;
    retry_begin(&request, START);
    return request;
}

static decided fail_once(const retry_client *client, retry_reason reason)
{
    retry_operation request = begun(client);
    retry_failure failure = check_failure_of(reason);
    return retry_orchestrate(&request, &failure, START);
}

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
    static const uint32_t expected[] = {0,    1000,       1500,  1,   1,        0,
                                        3000, UINT32_MAX, 50000, 500, 100000000};
    static const retry_budget_options smithy = RETRY_BUDGET_SMITHY, aws = RETRY_BUDGET_AWS;
    static const retry_budget_options newer = RETRY_BUDGET_AWS_2026, grpc = RETRY_BUDGET_GRPC;
    static const retry_budget_options best = RETRY_BUDGET_BEST_EFFORT(3);
    size_t i;
    for (i = 0; i < CHECK_COUNT(amounts); i++) {
        check_row("amount %u", (unsigned)i);
        CHECK_EQUAL(expected[i], amounts[i]);
    }
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

/* Until retry_budget_init has seen it a budget pays for nothing, whatever stands in it. */
static void test_never_set_up(void)
{
    retry_budget budget;
    retry_client client = client_of(&budget);
    retry_operation request;
    unsigned i;
    for (i = 0; i < 2; i++) {
        memset(&budget, 0, sizeof budget);
        if (i == 1)
            budget.options = options_of(10000, 0);
        check_row("options %u", i);
        request = begun(&client);
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
        CHECK(retry_succeed(&request, START));
    }
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

/* ---- refill -------------------------------------------------------------------------------- */

static void test_refill_in_steps(void)
{
    static const struct {
        uint32_t rate;
        retry_ms step;
        unsigned count;
    } rows[] = {
        {1, 1, 3000},    {1, 7, 2000},      {1, 999, 2000}, {1, 1000, 100},    {1, 0, 10},
        {3, 1, 3000},    {7, 13, 2000},     {999, 1, 3000}, {999, 999, 300},   {1000, 1, 2000},
        {1001, 1, 3000}, {333, 17, 2000},   {0, 1000, 10},  {500000, 1, 3000}, {123457, 3, 900},
        {1, DAY, 100},   {7, 20 * DAY, 20},
    };
    size_t i;
    unsigned step;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options = options_of(UINT32_MAX - 1, 0);
        retry_budget budget;
        struct model model;
        retry_time now = START;
        options.refill_per_second = rows[i].rate;
        budget = budget_of(&options, 0);
        model = model_of(options.capacity, options.refill_per_second, 0);
        for (step = 0; step < rows[i].count; step++) {
            now = check_after(now, rows[i].step);
            model_pass(&model, rows[i].step);
            check_row("%lu a second, %lu ms, step %u", (unsigned long)rows[i].rate,
                      (unsigned long)rows[i].step, step);
            CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, now));
            CHECK_EQUAL(model.level / 1000, retry_budget_balance(&budget));
        }
    }
}

/* Many small steps, one large step: the same. */
static void test_refill_does_not_depend_on_the_steps(void)
{
    retry_budget_options options = options_of(1000000, 0);
    retry_budget often, seldom;
    unsigned i;
    retry_time now = START;
    options.refill_per_second = 77;
    often = budget_of(&options, 0);
    seldom = budget_of(&options, 0);
    for (i = 0; i < 10007; i++) {
        now = check_after(now, 1);
        retry_budget_withdraw(&often, TOO_MUCH, now);
    }
    retry_budget_withdraw(&seldom, TOO_MUCH, now);
    CHECK_EQUAL(UINT32_C(77) * 10007 / 1000, retry_budget_balance(&often));
    CHECK_EQUAL(UINT32_C(77) * 10007 / 1000, retry_budget_balance(&seldom));
}

/* Withdrawals, deposits and time in any order; fills up and runs dry. */
static void test_random_walk(void)
{
    static const uint32_t rates[] = {0, 1, 13, 999, 5000, 100000};
    size_t i;
    unsigned step;
    for (i = 0; i < 2 * CHECK_COUNT(rates); i++) {
        retry_budget_options options = options_of(20000, 0);
        retry_budget budget;
        struct model model;
        retry_time now = START;
        options.refill_per_second = rates[i / 2];
        options.floor = i % 2 == 0 ? 0 : 1700;
        budget = budget_of(&options, 20000);
        model = model_of(options.capacity, options.refill_per_second, 20000);
        for (step = 0; step < 5000; step++) {
            retry_ms elapsed = check_random() % (step % 100 == 0 ? 20000 : 200);
            uint32_t cost = check_random() % 3000;
            uint32_t amount = check_random() % 1500;
            now = check_after(now, elapsed);
            model_pass(&model, elapsed);
            check_row("%lu a second, floor %lu, step %u", (unsigned long)options.refill_per_second,
                      (unsigned long)options.floor, step);
            CHECK_EQUAL(model_withdraw(&model, cost, options.floor),
                        retry_budget_withdraw(&budget, cost, now));
            CHECK_EQUAL(model.level / 1000, retry_budget_balance(&budget));
            if (amount < 500) {
                model_add(&model, (uint64_t)amount * 1000);
                retry_budget_deposit(&budget, amount);
                CHECK_EQUAL(model.level / 1000, retry_budget_balance(&budget));
            }
        }
    }
}

/* What a full bucket is given is gone: it does not wait as a fraction. */
static void test_refill_of_a_full_bucket(void)
{
    retry_budget_options options = options_of(9000, 0);
    retry_budget budget;
    options.refill_per_second = 1;
    budget = budget_of(&options, 9000);
    CHECK(retry_budget_withdraw(&budget, 1000, check_after(START, 999)));
    CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 1998)));
    CHECK_EQUAL(8000, retry_budget_balance(&budget));
    CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 1999)));
    CHECK_EQUAL(8001, retry_budget_balance(&budget));
}

static void test_refill_saturates(void)
{
    static const uint32_t rates[] = {1, 1000, 2000000, 2000001, UINT32_MAX};
    static const uint32_t capacities[] = {1, 9000, UINT32_MAX - 1};
    static const retry_ms idle[] = {1, 1000, 2147483, 0x7fffffff, 0x80000000u};
    size_t i, j, k;
    for (i = 0; i < CHECK_COUNT(rates); i++) {
        for (j = 0; j < CHECK_COUNT(capacities); j++) {
            for (k = 0; k < CHECK_COUNT(idle); k++) {
                retry_budget_options options = options_of(capacities[j], 0);
                retry_budget budget;
                struct model model;
                options.refill_per_second = rates[i];
                budget = budget_of(&options, 0);
                model = model_of(options.capacity, options.refill_per_second, 0);
                model_pass(&model, idle[k]);
                retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, idle[k]));
                check_row("%lu a second, capacity %lu, %lu ms", (unsigned long)rates[i],
                          (unsigned long)capacities[j], (unsigned long)idle[k]);
                CHECK_EQUAL(model.level / 1000, retry_budget_balance(&budget));
            }
        }
    }
}

/* One refill of any size, in whole thousandths. */
static void test_refill_of_any_size(void)
{
    unsigned i;
    for (i = 0; i < 20000 / CHECK_ONE_IN; i++) {
        retry_budget_options options = options_of(UINT32_MAX - 1, 0);
        retry_ms elapsed = check_random() >> (1 + check_random() % 30);
        retry_budget budget;
        struct model model;
        options.refill_per_second = check_random() >> (check_random() % 31);
        budget = budget_of(&options, 0);
        model = model_of(options.capacity, options.refill_per_second, 0);
        model_pass(&model, elapsed);
        CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, elapsed)));
        check_row("%lu a second, %lu ms", (unsigned long)options.refill_per_second,
                  (unsigned long)elapsed);
        CHECK_EQUAL(model.level / 1000, retry_budget_balance(&budget));
    }
}

/* What makes it fit exactly, and a fraction that lets it overflow by one. */
static void test_refill_fills_to_the_last(void)
{
    static const struct {
        uint32_t capacity, balance, rate;
        retry_ms elapsed;
        uint32_t expected;
    } rows[] = {
        {9000, 8000, 999, 1000, 8999},
        {9000, 8000, 1000, 1000, 9000},
        {9000, 8000, 1001, 1000, 9000},
        {UINT32_MAX, 0, UINT32_MAX, 999, 4290672327u},
        {UINT32_MAX, 0, UINT32_MAX, 1000, UINT32_MAX},
        {UINT32_MAX, 0, UINT32_MAX, 1001, UINT32_MAX},
        {UINT32_MAX, 0, 4294967, 1000000, 4294967000u},
        {UINT32_MAX, 0, 4294968, 1000000, UINT32_MAX},
        {UINT32_MAX, 0, 0x80000000u, 2000, UINT32_MAX},
        {UINT32_MAX, 1, 0xfffffffe, 1000, UINT32_MAX},
        {UINT32_MAX - 1, 0, 0xfffffffd, 1000, UINT32_MAX - 2},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options = options_of(rows[i].capacity, 0);
        retry_budget budget;
        options.refill_per_second = rows[i].rate;
        budget = budget_of(&options, rows[i].balance);
        retry_budget_withdraw(&budget, 0, check_after(START, rows[i].elapsed));
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].expected, retry_budget_balance(&budget));
    }
}

/* What comes in counts from the last init on, and what was less than a thousandth is gone. */
static void test_init_again(void)
{
    retry_budget_options options = options_of(9000, 0);
    retry_budget budget;
    retry_time later = check_after(START, 5999);
    options.refill_per_second = 1;
    budget = budget_of(&options, 0);
    CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, later));
    CHECK_EQUAL(5, retry_budget_balance(&budget)); /* and 999 millionths */
    later = check_after(later, 10000);
    retry_budget_init(&budget, &options, later);
    CHECK(retry_budget_withdraw(&budget, 9000, later));
    CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(later, 999)));
    CHECK_EQUAL(0, retry_budget_balance(&budget));
    CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(later, 1000)));
    CHECK_EQUAL(1, retry_budget_balance(&budget));
}

static void test_refill_serves_the_withdrawal(void)
{
    retry_budget_options options = options_of(9000, 0);
    retry_budget budget;
    options.refill_per_second = 1000;
    budget = budget_of(&options, 0);
    CHECK(!retry_budget_withdraw(&budget, 500, check_after(START, 499)));
    CHECK(retry_budget_withdraw(&budget, 500, check_after(START, 500)));
    CHECK_EQUAL(0, retry_budget_balance(&budget));
}

/* Threads hand in their instants slightly out of order: nothing is refilled twice. */
static void test_clock_backward(void)
{
    retry_budget_options options = options_of(9000, 0);
    retry_budget budget;
    unsigned i;
    options.refill_per_second = 1000;
    budget = budget_of(&options, 0);
    retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 2000));
    CHECK_EQUAL(2000, retry_budget_balance(&budget));
    for (i = 0; i < 10; i++) {
        retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 1990));
        retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 2000));
    }
    CHECK_EQUAL(2000, retry_budget_balance(&budget));
    retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 2010));
    CHECK_EQUAL(2010, retry_budget_balance(&budget));
}

/* After weeks without a call one call may give less, never more; then it goes on. */
static void test_long_idle(void)
{
    static const uint32_t idle[] = {0x7fffffff,  0x80000000u, 0x80000001u,
                                    0xc0000000u, 0xff800000u, 0xffff0000u};
    size_t i;
    for (i = 0; i < CHECK_COUNT(idle); i++) {
        retry_budget_options options = options_of(2000000000u, 0);
        retry_budget budget;
        retry_time now = check_after(START, idle[i]);
        uint32_t balance;
        options.refill_per_second = 100;
        budget = budget_of(&options, 0);
        retry_budget_withdraw(&budget, TOO_MUCH, now);
        balance = retry_budget_balance(&budget);
        check_row("%lu ms", (unsigned long)idle[i]);
        CHECK_RANGE(idle[i] <= 0x80000000u ? (uint64_t)idle[i] / 10 : 0, (uint64_t)idle[i] / 10,
                    balance);
        retry_budget_withdraw(&budget, TOO_MUCH, check_after(now, 10000));
        CHECK_RANGE(balance + 1000, balance + 1001, retry_budget_balance(&budget));
    }
}

/* ---- options, by way of requests ----------------------------------------------------------- */

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
        retry_operation request = begun(NULL);
        retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
        options.timeout_cost = rows[i].timeout_cost;
        options.throttle_cost = rows[i].throttle_cost;
        budget = budget_of(&options, 9000);
        request.client = &client;
        failure.timeout = rows[i].timeout;
        failure.throttle = rows[i].throttle;
        check_row("row %u", (unsigned)i);
        CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
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
    retry_operation request = begun(&client);
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, retry_orchestrate(&request, &failure, START));
    options.capacity = 1;
    budget = budget_of(&options, 1);
    retry_begin(&request, START);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
    CHECK_EQUAL(1, retry_budget_balance(&budget));
}

/* The request's clock refills the bucket too. */
static void test_refill_by_orchestrate(void)
{
    retry_budget_options options = options_of(9000, 1000);
    retry_budget budget;
    retry_client client = client_of(&budget);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation request = begun(NULL);
    options.refill_per_second = 100;
    budget = budget_of(&options, 0);
    request.client = &client;
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED,
                   retry_orchestrate(&request, &failure, check_after(START, 9999)));
    retry_begin(&request, START);
    CHECK_DECISION(RETRY, STRATEGY,
                   retry_orchestrate(&request, &failure, check_after(START, 10000)));
    CHECK_EQUAL(0, retry_budget_balance(&budget));
}

static void test_request_deposit(void)
{
    retry_budget_options options = options_of(2000, 1000);
    retry_budget budget;
    retry_client client = client_of(&budget);
    retry_operation request = begun(NULL);
    unsigned i;
    options.request_deposit = 200;
    budget = budget_of(&options, 0);
    request.client = &client;
    for (i = 1; i <= 15; i++) {
        retry_begin(&request, START);
        check_row("request %u", i);
        CHECK_EQUAL(i < 10 ? 200 * i : 2000, retry_budget_balance(&budget));
        CHECK(retry_succeed(&request, START));
    }
    options.request_deposit = 1;
    budget = budget_of(&options, 0);
    retry_begin(&request, START);
    CHECK_EQUAL(1, retry_budget_balance(&budget));
}

/* `retries` granted and then a success: what is in the bucket of 100 tokens, 50 of them used? */
static uint32_t balance_after(const retry_budget_options *options, unsigned retries)
{
    retry_budget budget = budget_of(options, 50000);
    retry_client client = client_of(&budget);
    retry_operation request = begun(NULL);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    request.client = &client;
    for (; retries > 0; retries--) {
        CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
        failure.timeout = true; /* the first for 5 tokens, the others for 10 */
    }
    CHECK(retry_succeed(&request, START));
    CHECK(!retry_succeed(&request, START));
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
    retry_operation request = begun(NULL);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    options.refund_last = true;
    budget = budget_of(&options, 9000);
    request.client = &client;
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
    retry_budget_deposit(&budget, 600);
    CHECK(retry_succeed(&request, START));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_begin(&request, START);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
    retry_budget_deposit(&budget, 600);
    retry_cancel(&request, START);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
}

static void test_final_failure_gives_nothing(void)
{
    retry_budget_options options = RETRY_BUDGET_AWS;
    retry_budget budget = budget_of(&options, 500000);
    retry_client client = client_of(&budget);
    retry_operation request = begun(&client);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
    failure.reason = RETRY_REASON_NONE;
    CHECK_DECISION(FAIL, NOT_RETRYABLE, retry_orchestrate(&request, &failure, START));
    retry_cancel(&request, START);
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
            retry_operation request = begun(&client);
            CHECK(retry_succeed(&request, START));
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
            retry_operation request = begun(&client);
            check_row("charge_failures %u, order %u", charges, i);
            CHECK_DECISION(FAIL, PUSHBACK, retry_orchestrate(&request, &order, START));
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
    retry_operation request = begun(&client);
    order.pushback = true;
    order.retry_after = UINT32_MAX;
    CHECK_DECISION(FAIL, PUSHBACK, retry_orchestrate(&request, &order, START));
    retry_begin(&request, START);
    order.reason = RETRY_REASON_USER(1, RETRY_REASON_FREE);
    CHECK_DECISION(FAIL, PUSHBACK, retry_orchestrate(&request, &order, START));
    retry_begin(&request, START);
    order.reason = RETRY_REASON_SERVER_ERROR;
    order.safety = RETRY_SAFETY_NO;
    CHECK_DECISION(FAIL, UNSAFE, retry_orchestrate(&request, &order, START));
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
}

static void test_grpc_gives_nothing_back(void)
{
    retry_budget_options options = RETRY_BUDGET_GRPC;
    retry_budget budget = budget_of(&options, 10000);
    retry_client client = client_of(&budget);
    retry_operation request = begun(&client);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_policy slow = RETRY_POLICY_BEST_EFFORT;
    retry_backoff constant = RETRY_BACKOFF_DEFAULT;
    constant.jitter = RETRY_JITTER_NONE;
    constant.initial = 100;
    slow.backoff = constant;
    request.strategy = &slow.base;
    request.timeout = 50;
    CHECK_DECISION(EXPIRE, DEADLINE, retry_orchestrate(&request, &failure, START));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    request.timeout = 1000;
    retry_begin(&request, START);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
    retry_cancel(&request, START);
    CHECK_EQUAL(8000, retry_budget_balance(&budget));
    budget.options.refund_last = true;
    retry_begin(&request, START);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
    CHECK(retry_succeed(&request, START));
    CHECK_RANGE(7000, 7100, retry_budget_balance(&budget));
}

/* ---- the refill's clock --------------------------------------------------------------------- */

/* An empty bucket that a thousandth of a token comes into each ms, from 100,000 on. */
static retry_budget empty_bucket(void)
{
    retry_budget_options options = options_of(1000000, 1000);
    retry_budget budget;
    options.refill_per_second = 1000;
    retry_budget_init(&budget, &options, 100000);
    CHECK(retry_budget_withdraw(&budget, 1000000, 100000));
    return budget;
}

/* A clock that is 32,768 ms behind is waited for; one that is further behind was set back: no token
   comes of that, by itself or of the base. */
static void test_refill_set_back(void)
{
    static const struct {
        retry_time back;
        uint32_t balance; /* once the clock is where it was */
    } rows[] = {{1, 0},         {32767, 0},     {32768, 0},
                {32769, 32769}, {32770, 32770}, {0x7ffffffe, 1000000}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget budget = empty_bucket();
        check_row("%lu ms", (unsigned long)rows[i].back);
        CHECK(retry_budget_withdraw(&budget, 0, check_before(100000, rows[i].back)));
        CHECK_EQUAL(0, retry_budget_balance(&budget));
        CHECK(retry_budget_withdraw(&budget, 0, 100000));
        CHECK_EQUAL(rows[i].balance, retry_budget_balance(&budget));
        budget = empty_bucket();
        budget.options.base_per_second = budget.options.refill_per_second;
        budget.options.refill_per_second = 0;
        CHECK(retry_budget_withdraw(&budget, 0, check_before(100000, rows[i].back)));
        CHECK_EQUAL(0, retry_budget_balance(&budget));
        CHECK(retry_budget_withdraw(&budget, 0, 100000));
        CHECK_EQUAL(rows[i].balance < 1000 ? rows[i].balance : 1000, retry_budget_balance(&budget));
    }
}

/* What is too little for a thousandth is lost on a full bucket. */
static void test_full_holds_no_fraction(void)
{
    retry_budget_options options = options_of(10, 1);
    retry_budget budget;
    options.refill_per_second = 1;
    retry_budget_init(&budget, &options, 0);
    CHECK(retry_budget_withdraw(&budget, 0, 1));
    CHECK(retry_budget_withdraw(&budget, 5, 1));
    CHECK(retry_budget_withdraw(&budget, 0, 1000));
    CHECK_EQUAL(5, retry_budget_balance(&budget));
    CHECK(retry_budget_withdraw(&budget, 0, 1001));
    CHECK_EQUAL(6, retry_budget_balance(&budget));
}

/* ---- what reached nobody ------------------------------------------------------------------- */

/* Beside CLIENT_THROTTLED, which is final: an attempt that a gate of the application's refused, one
   of which the reason says that no server was there, and one that failed before it was sent, for
   whatever reason. */
static const struct unsent {
    retry_reason reason;
    bool unsent;
    bool is_free; /* a retry of it costs nothing of its own */
} unsent[] = {
    {RETRY_REASON_SOCKET_NOT_AVAILABLE, false, true},
    {RETRY_REASON_SERVICE_NOT_AVAILABLE, false, true},
    {RETRY_REASON_NODE_NOT_AVAILABLE, false, true},
    {RETRY_REASON_CIRCUIT_BREAKER_OPEN, false, false},
    {RETRY_REASON_SOCKET_NOT_AVAILABLE, true, true},
    {RETRY_REASON_SERVER_ERROR, true, true},
    {RETRY_REASON_KV_LOCKED, true, true},
    {RETRY_REASON_USER(3, RETRY_REASON_ALLOWS_NON_IDEMPOTENT), true, true}, /* an empty pool */
};

static retry_failure unsent_failure(size_t row)
{
    retry_failure failure = check_failure_of(unsent[row].reason);
    failure.unsent = unsent[row].unsent;
    check_row("%s, unsent %d", retry_reason_name(unsent[row].reason), unsent[row].unsent);
    return failure;
}

/* No load came of the attempt: a retry of it is free. */
static bool is_unreached(retry_reason reason)
{
    return reason_unsent(reason) && !reason_refused(reason);
}

static retry_action answer; /* what the strategy below says */

static retry_action answering_after(const retry_strategy *self, const retry_operation *request,
                                    const retry_failure *failure, retry_time now)
{
    (void)self;
    (void)request;
    (void)failure;
    (void)now;
    return answer;
}

static const retry_strategy answering = {answering_after};

/* A bucket of one token and a request that holds it: its first retry is under way. */
static retry_budget one;
static retry_client one_client;

static retry_operation holding(bool charge_failures)
{
    retry_budget_options options = options_of(1000, 1000);
    retry_failure locked = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation request;
    options.charge_failures = charge_failures;
    retry_budget_init(&one, &options, START);
    one_client = client_of(&one);
    one_client.strategy = &answering;
    answer = retry_action_after(20);
    request = begun(&one_client);
    if (!charge_failures) {
        CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &locked, START));
        CHECK_EQUAL(0, retry_budget_balance(&one));
    }
    return request;
}

/* The charge stays with its request, for any number of attempts that reach nobody, and pays for one
   that is sent: it comes back only if the request ends before that. */
static void test_unsent_pays_once(void)
{
    size_t i;
    unsigned tries;
    for (i = 0; i < CHECK_COUNT(unsent); i++) {
        retry_failure failure = unsent_failure(i),
                      locked = check_failure_of(RETRY_REASON_KV_LOCKED);
        retry_operation request = holding(false);
        for (tries = 0; tries < 100; tries++) {
            failure.timeout = tries & 1; /* costs nothing of its own here */
            CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
            CHECK_EQUAL(0, retry_budget_balance(&one));
        }
        CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, retry_orchestrate(&request, &locked, START));
        CHECK_EQUAL(0, retry_budget_balance(&one)); /* sent at last: it was paid for */
        request = holding(false);
        CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
        CHECK(retry_succeed(&request, START));
        CHECK_EQUAL(0, retry_budget_balance(&one));
        request = holding(false);
        CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
        retry_cancel(&request, START);
        CHECK_EQUAL(1000, retry_budget_balance(&one));
    }
}

/* Never sent is free, whatever the failure says besides, in a bucket of any kind; all else costs.
 */
static void test_unreached_is_free(void)
{
    unsigned reason, flags;
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        for (flags = 0; flags < 4; flags++) {
            retry_budget_options options = options_of(9000, 1000);
            retry_failure failure = check_failure_of((retry_reason)reason);
            retry_budget budget;
            retry_client client = client_of(&budget);
            retry_operation request = begun(NULL);
            uint32_t cost = (flags & 1) != 0 ? 4000 : (flags & 2) != 0 ? 3000 : 1000;
            options.timeout_cost = 4000;
            options.throttle_cost = 3000;
            budget = budget_of(&options, 9000);
            client.strategy = &answering;
            request.client = &client;
            failure.timeout = flags & 1;
            failure.throttle = (flags & 2) != 0;
            answer = retry_action_after(20);
            check_row("%s, %u", retry_reason_name((retry_reason)reason), flags);
            if (retry_orchestrate(&request, &failure, START).cause != RETRY_CAUSE_STRATEGY)
                continue;
            CHECK_EQUAL(is_unreached((retry_reason)reason) ? 9000 : 9000 - cost,
                        retry_budget_balance(&budget));
        }
    }
}

/* So that it is granted by what could pay for nothing. */
static void test_unreached_needs_no_token(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(unsent); i++) {
        retry_budget_options options = options_of(9000, 1000);
        retry_budget budgets[3];
        size_t b;
        budgets[0] = budget_of(&options, 0);
        options.floor = 5000;
        budgets[1] = budget_of(&options, 5000);
        options = options_of(0, 0);
        budgets[2] = budget_of(&options, 0);
        for (b = 0; b < CHECK_COUNT(budgets); b++) {
            retry_client client = client_of(&budgets[b]);
            uint32_t held = retry_budget_balance(&budgets[b]);
            retry_operation request = begun(&client);
            retry_failure failure = unsent_failure(i);
            if (unsent[i].is_free)
                CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
            else
                CHECK_DECISION(FAIL, BUDGET_EXHAUSTED,
                               retry_orchestrate(&request, &failure, START));
            CHECK_EQUAL(held, retry_budget_balance(&budgets[b]));
        }
    }
}

/* What was free leaves nothing to give back, and the next failure that was sent pays as ever. */
static void test_unreached_leaves_no_charge(void)
{
    retry_failure refused = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    retry_failure locked = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation request = holding(false); /* of the one token */
    retry_cancel(&request, START);
    CHECK(retry_budget_withdraw(&one, 600, START));
    retry_begin(&request, START);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &refused, START));
    retry_cancel(&request, START);
    CHECK_EQUAL(400, retry_budget_balance(&one));
    one.options.refund_last = true;
    retry_begin(&request, START);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &refused, START));
    CHECK(retry_succeed(&request, START));
    CHECK_EQUAL(400, retry_budget_balance(&one));
    retry_begin(&request, START);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &refused, START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, retry_orchestrate(&request, &locked, START));
    CHECK_EQUAL(400, retry_budget_balance(&one));
}

/* Whatever is decided: refused, unsafe, forbidden, expired. */
static void test_unsent_and_refused(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(unsent); i++) {
        retry_failure failure = unsent_failure(i);
        retry_operation request = holding(false);
        answer = retry_action_none(RETRY_CAUSE_REFUSED);
        CHECK_DECISION(FAIL, REFUSED, retry_orchestrate(&request, &failure, START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        request = holding(false);
        request.timeout = 50;
        CHECK_DECISION(EXPIRE, DEADLINE,
                       retry_orchestrate(&request, &failure, check_after(START, 40)));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        request = holding(false);
        failure.safety = RETRY_SAFETY_NO;
        CHECK_DECISION(FAIL, UNSAFE, retry_orchestrate(&request, &failure, START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        retry_cancel(&request, START); /* only once */
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        request = holding(false);
        failure.safety = RETRY_SAFETY_MAYBE;
        failure.pushback = true;
        failure.retry_after = UINT32_MAX;
        CHECK_DECISION(FAIL, PUSHBACK, retry_orchestrate(&request, &failure, START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
    }
}

/* The charge stays with a request that waits for the strategy's answer, too. */
static void test_unsent_and_pending(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(unsent); i++) {
        retry_failure failure = unsent_failure(i);
        retry_operation request = holding(false);
        unsigned tries;
        answer = retry_action_pending();
        for (tries = 0; tries < 3; tries++) {
            CHECK_DECISION(PENDING, PENDING, retry_orchestrate(&request, &failure, START));
            CHECK_DECISION(PENDING, PENDING,
                           retry_resume(&request, &failure, retry_action_pending(), START));
            CHECK_DECISION(RETRY, STRATEGY,
                           retry_resume(&request, &failure, retry_action_after(1), START));
            CHECK_EQUAL(0, retry_budget_balance(&one));
        }
        CHECK_DECISION(PENDING, PENDING, retry_orchestrate(&request, &failure, START));
        retry_cancel(&request, START);
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        request = holding(false);
        answer = retry_action_pending();
        CHECK_DECISION(PENDING, PENDING, retry_orchestrate(&request, &failure, START));
        CHECK_DECISION(
            FAIL, REFUSED,
            retry_resume(&request, &failure, retry_action_none(RETRY_CAUSE_REFUSED), START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        retry_cancel(&request, START); /* only once */
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        request = holding(false);
        request.timeout = 50;
        answer = retry_action_pending();
        CHECK_DECISION(PENDING, PENDING, retry_orchestrate(&request, &failure, START));
        CHECK_DECISION(EXPIRE, DEADLINE,
                       retry_resume(&request, &failure, retry_action_after(50), START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
    }
}

/* What was sent was paid for, however late the answer comes, and whatever it is. */
static void test_sent_and_pending(void)
{
    retry_failure locked = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation request = holding(false);
    answer = retry_action_pending();
    CHECK_DECISION(PENDING, PENDING, retry_orchestrate(&request, &locked, START));
    CHECK_DECISION(FAIL, REFUSED,
                   retry_resume(&request, &locked, retry_action_none(RETRY_CAUSE_REFUSED), START));
    CHECK_EQUAL(0, retry_budget_balance(&one));
    request = holding(false);
    answer = retry_action_pending();
    CHECK_DECISION(PENDING, PENDING, retry_orchestrate(&request, &locked, START));
    retry_cancel(&request, START);
    CHECK_EQUAL(0, retry_budget_balance(&one));
    request = holding(false);
    answer = retry_action_pending();
    CHECK_DECISION(PENDING, PENDING, retry_orchestrate(&request, &locked, START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED,
                   retry_resume(&request, &locked, retry_action_after(1), START));
    CHECK_EQUAL(0, retry_budget_balance(&one));
}

/* Neither reached a server, for the second the request's charge came back: always retried, or not.
 */
static void test_unsent_and_always(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    retry_operation request = holding(false);
    failure.unsent = true;
    CHECK_DECISION(RETRY, ALWAYS, retry_orchestrate(&request, &failure, START));
    CHECK_EQUAL(0, retry_budget_balance(&one));
    retry_cancel(&request, START);
    CHECK_EQUAL(1000, retry_budget_balance(&one));
    request = holding(false);
    failure.unsent = false;
    CHECK_DECISION(RETRY, ALWAYS, retry_orchestrate(&request, &failure, START));
    retry_cancel(&request, START);
    CHECK_EQUAL(0, retry_budget_balance(&one));
}

/* All other failures were sent, and keep the charge. */
static void test_unsent_are_five(void)
{
    unsigned reason;
    for (reason = 0; reason < 0x100; reason++) {
        retry_failure failure = check_failure_of((retry_reason)reason);
        retry_operation request = holding(false);
        answer = retry_action_none(RETRY_CAUSE_REFUSED);
        check_row("%s, 0x%02x", retry_reason_name((retry_reason)reason), reason);
        retry_orchestrate(&request, &failure, START);
        CHECK_EQUAL(reason_unsent((retry_reason)reason) ? 1000 : 0, retry_budget_balance(&one));
    }
}

/* What stays is what the last retry cost, if anything, and it pays for any other; what comes back
   is never more than fits. */
static void test_unsent_keeps_the_charge(void)
{
    retry_budget_options options = options_of(9000, 1000);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_failure refused = check_failure_of(RETRY_REASON_CIRCUIT_BREAKER_OPEN);
    retry_failure always = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    retry_budget budget;
    retry_client client = client_of(&budget);
    retry_operation request = begun(NULL);
    options.timeout_cost = 4000;
    budget = budget_of(&options, 9000);
    request.client = &client;
    failure.timeout = true;
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &refused, START));
    CHECK_EQUAL(8000, retry_budget_balance(&budget)); /* nothing was paid before */
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
    CHECK_EQUAL(4000, retry_budget_balance(&budget));
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &refused, START));
    CHECK_EQUAL(4000, retry_budget_balance(&budget));
    CHECK_DECISION(RETRY, ALWAYS, retry_orchestrate(&request, &always, START));
    CHECK_EQUAL(4000, retry_budget_balance(&budget));
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &refused, START));
    CHECK_EQUAL(3000, retry_budget_balance(&budget)); /* the retry before this was not paid for */
    retry_budget_deposit(&budget, 5500);
    retry_cancel(&request, START);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
}

/* A success after a retry that was refused at first gets the last charge, once. */
static void test_unsent_and_refund(void)
{
    retry_budget_options options = RETRY_BUDGET_AWS;
    retry_failure locked = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_failure refused = check_failure_of(RETRY_REASON_CIRCUIT_BREAKER_OPEN);
    retry_budget budget = budget_of(&options, 500000);
    retry_client client = client_of(&budget);
    retry_operation request = begun(&client);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &refused, START));
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &refused, START));
    CHECK_EQUAL(495000, retry_budget_balance(&budget));
    CHECK(retry_succeed(&request, START));
    CHECK_EQUAL(500000, retry_budget_balance(&budget));
    retry_begin(&request, START);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &locked, START));
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &locked, START));
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &refused, START));
    CHECK_EQUAL(490000, retry_budget_balance(&budget));
    CHECK(retry_succeed(&request, START));
    CHECK_EQUAL(495000, retry_budget_balance(&budget));
}

/* A budget that charges failures does not charge it, whatever is decided; it still grants nothing
   at its floor. */
static void test_unsent_is_no_charged_failure(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(unsent); i++) {
        retry_failure failure = unsent_failure(i);
        retry_operation request = holding(true);
        CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
        CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
        answer = retry_action_pending();
        CHECK_DECISION(PENDING, PENDING, retry_orchestrate(&request, &failure, START));
        CHECK_DECISION(RETRY, STRATEGY,
                       retry_resume(&request, &failure, retry_action_after(1), START));
        answer = retry_action_none(RETRY_CAUSE_REFUSED);
        CHECK_DECISION(FAIL, REFUSED, retry_orchestrate(&request, &failure, START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        one.options.floor = 1000;
        answer = retry_action_after(1);
        retry_begin(&request, START);
        CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, retry_orchestrate(&request, &failure, START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
    }
}

/* ---- contention, which no budget is asked about -------------------------------------------- */

#define CONFLICT RETRY_REASON_USER(7, RETRY_REASON_ALLOWS_NON_IDEMPOTENT | RETRY_REASON_FREE)

static void test_free_needs_no_budget(void)
{
    retry_budget_options grpc = RETRY_BUDGET_GRPC;
    retry_budget budgets[4];
    retry_failure conflict = check_failure_of(CONFLICT);
    retry_failure always = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    retry_failure locked = check_failure_of(RETRY_REASON_KV_LOCKED);
    size_t i;
    retry_budget_options options = options_of(9000, 1000);
    budgets[0] = budget_of(&options, 0);
    options.capacity = 0;
    budgets[1] = budget_of(&options, 0);
    budgets[2] = budget_of(&grpc, 5000); /* at its floor */
    budgets[3] = budget_of(&grpc, 0);
    for (i = 0; i < CHECK_COUNT(budgets); i++) {
        retry_client client = client_of(&budgets[i]);
        retry_operation request = begun(&client);
        uint32_t balance = retry_budget_balance(&budgets[i]);
        client.strategy = &answering;
        check_row("budget %u", (unsigned)i);
        answer = retry_action_after(3);
        CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &conflict, START));
        CHECK_DECISION(RETRY, ALWAYS, retry_orchestrate(&request, &always, START));
        CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &conflict, START));
        answer = retry_action_pending();
        CHECK_DECISION(PENDING, PENDING, retry_orchestrate(&request, &conflict, START));
        CHECK_DECISION(RETRY, STRATEGY,
                       retry_resume(&request, &conflict, retry_action_after(1), START));
        CHECK_EQUAL(balance, retry_budget_balance(&budgets[i]));
        answer = retry_action_after(3);
        CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, retry_orchestrate(&request, &locked, START));
    }
}

/* Nor does a budget that charges failures charge it, whatever is decided. */
static void test_free_is_no_charged_failure(void)
{
    retry_failure conflict = check_failure_of(CONFLICT);
    retry_operation request = holding(true);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &conflict, START));
    answer = retry_action_pending();
    CHECK_DECISION(PENDING, PENDING, retry_orchestrate(&request, &conflict, START));
    CHECK_DECISION(PENDING, PENDING,
                   retry_resume(&request, &conflict, retry_action_pending(), START));
    CHECK_DECISION(
        FAIL, REFUSED,
        retry_resume(&request, &conflict, retry_action_none(RETRY_CAUSE_REFUSED), START));
    retry_begin(&request, START);
    answer = retry_action_none(RETRY_CAUSE_REFUSED);
    CHECK_DECISION(FAIL, REFUSED, retry_orchestrate(&request, &conflict, START));
    retry_begin(&request, START);
    request.timeout = 10;
    answer = retry_action_after(20);
    CHECK_DECISION(EXPIRE, DEADLINE, retry_orchestrate(&request, &conflict, START));
    CHECK_EQUAL(1000, retry_budget_balance(&one));
}

/* It was sent: the charge of the retry that it ended is spent, and nothing else is to come back. */
static void test_free_gives_nothing_back(void)
{
    retry_failure conflict = check_failure_of(CONFLICT);
    retry_operation request = holding(false);
    one.options.refund_last = true;
    one.options.success_deposit = 300;
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &conflict, START));
    CHECK_EQUAL(0, retry_budget_balance(&one));
    retry_cancel(&request, START);
    CHECK_EQUAL(0, retry_budget_balance(&one));
    retry_begin(&request, START);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &conflict, START));
    CHECK(retry_succeed(&request, START)); /* its last retry cost nothing */
    CHECK_EQUAL(0, retry_budget_balance(&one));
    one.options.refund_last = false;
    retry_begin(&request, START);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &conflict, START));
    CHECK(retry_succeed(&request, START));
    CHECK_EQUAL(300, retry_budget_balance(&one));
}

/* The flag buys a retry from the budget and nothing else. */
static void test_free_grants_nothing(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_USER(7, RETRY_REASON_FREE));
    retry_operation request = begun(NULL);
    CHECK_DECISION(FAIL, NOT_IDEMPOTENT, retry_orchestrate(&request, &failure, START));
    retry_begin(&request, START);
    request.idempotent = true;
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
    request.strategy = retry_fail_fast();
    CHECK_DECISION(FAIL, REFUSED, retry_orchestrate(&request, &failure, START));
    retry_begin(&request, START);
    failure.reason = RETRY_REASON_USER(7, RETRY_REASON_FREE | RETRY_REASON_ALWAYS);
    CHECK_DECISION(RETRY, ALWAYS, retry_orchestrate(&request, &failure, START));
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

/* Four retries at first, or one after a timeout or a throttled answer; then eighty for one that is
   in flight, nothing for what fails, and two for five that succeed. */
static void test_best_effort_pays(void)
{
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(1);
    retry_budget budget;
    retry_client client = client_of(&budget);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation request;
    unsigned i, retries = 0;
    for (i = 0; i < 2; i++) {
        retry_budget_init(&budget, &options, START);
        failure.timeout = i == 0;
        failure.throttle = i != 0;
        request = begun(&client);
        CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
        CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, retry_orchestrate(&request, &failure, START));
    }
    failure.throttle = false;
    retry_budget_init(&budget, &options, START);
    request = begun(&client);
    for (i = 0; i < 4; i++)
        CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, retry_orchestrate(&request, &failure, START));
    for (i = 0; i < 300; i++) {
        retry_begin(&request, START);
        CHECK(retry_succeed(&request, START));
    }
    retry_begin(&request, START);
    for (i = 0; i < 80; i++)
        CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, retry_orchestrate(&request, &failure, START));
    for (i = 0; i < 1000; i++) {
        CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_once(&client, RETRY_REASON_KV_LOCKED));
        retry_begin(&request, START);
        CHECK(retry_succeed(&request, START));
        if (retry_budget_balance(&budget) >= 250)
            retries += fail_once(&client, RETRY_REASON_KV_LOCKED).verdict == RETRY_VERDICT_RETRY;
    }
    CHECK_EQUAL(400, retries);
}

/* ---- the base ------------------------------------------------------------------------------ */

/* The dearest of three costs: it is there at first, and does not expire; without `expire` the
   bucket starts full. */
static void test_base_is_the_dearest_cost(void)
{
    static const struct {
        uint32_t capacity, cost, timeout_cost, throttle_cost, base;
    } rows[] = {{20000, 250, 1000, 1000, 1000}, {20000, 250, 1000, 0, 1000},
                {20000, 250, 0, 700, 700},      {20000, 3000, 1000, 2000, 3000},
                {20000, 250, 1000, 4000, 4000}, {20000, 0, 0, 0, 0},
                {800, 250, 1000, 1000, 800},    {0, 250, 1000, 1000, 0}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options = options_of(rows[i].capacity, rows[i].cost);
        retry_budget budget;
        check_row("row %u", (unsigned)i);
        options.timeout_cost = rows[i].timeout_cost;
        options.throttle_cost = rows[i].throttle_cost;
        retry_budget_init(&budget, &options, START);
        CHECK_EQUAL(rows[i].capacity, retry_budget_balance(&budget));
        options.expire = 10000;
        retry_budget_init(&budget, &options, START);
        CHECK_EQUAL(rows[i].base, retry_budget_balance(&budget));
        retry_budget_deposit(&budget, 50);
        retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 86400000));
        CHECK_EQUAL(rows[i].base, retry_budget_balance(&budget));
        if (rows[i].base != 0) {
            CHECK(retry_budget_withdraw(&budget, rows[i].base, check_after(START, 86400000)));
            retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 2 * 86400000));
            CHECK_EQUAL(0, retry_budget_balance(&budget)); /* it does not refill by itself */
        }
    }
}

/* 0.05 tokens a second: the first retry is paid again after 5 s, all four after 20 s, and no fifth.
 */
static void test_base_refills(void)
{
    static const struct {
        retry_ms idle;
        uint32_t balance;
    } rows[] = {{0, 0},       {155, 0},      {156, 7},      {4999, 249},     {5000, 250},
                {19999, 999}, {20000, 1000}, {20001, 1000}, {86400000, 1000}};
    static const uint32_t above[] = {0, 1, 500, 19000};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(1);
        retry_budget budget;
        retry_budget_init(&budget, &options, START);
        CHECK(retry_budget_withdraw(&budget, 1000, START));
        retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, rows[i].idle));
        check_row("%lu ms", (unsigned long)rows[i].idle);
        CHECK_EQUAL(rows[i].balance, retry_budget_balance(&budget));
        options.expire = 1000000000; /* hardly */
        for (j = 0; j < CHECK_COUNT(above); j++) {
            retry_budget_init(&budget, &options, START);
            retry_budget_deposit(&budget, above[j]);
            retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, rows[i].idle));
            CHECK_RANGE(1000, 1000 + above[j], retry_budget_balance(&budget));
        }
    }
}

/* Time, withdrawals and deposits in any order: below the base it refills as a bucket of that
   capacity does, above it nothing comes in, and no fraction waits there. */
static void test_base_in_any_order(void)
{
    static const uint32_t rates[] = {1, 50, 999, 1000, 5000};
    size_t i;
    unsigned step;
    for (i = 0; i < CHECK_COUNT(rates); i++) {
        retry_budget_options options = options_of(20000, 1000);
        retry_budget budget = budget_of(&options, 0);
        retry_time now = START;
        uint64_t level = 0; /* millionths */
        options.base_per_second = rates[i];
        budget.options = options;
        for (step = 0; step < 5000; step++) {
            retry_ms elapsed = check_random() % (step % 100 == 0 ? 30000 : 200);
            uint32_t cost = check_random() % 1500, amount = check_random() % 3000;
            now = check_after(now, elapsed);
            check_row("%lu a second, step %u", (unsigned long)rates[i], step);
            if (level < 1000000) {
                level += (uint64_t)rates[i] * elapsed;
                level = level < 1000000 ? level : 1000000;
            }
            CHECK_EQUAL(level / 1000 >= cost, retry_budget_withdraw(&budget, cost, now));
            if (level / 1000 >= cost)
                level -= (uint64_t)cost * 1000;
            CHECK_EQUAL(level / 1000, retry_budget_balance(&budget));
            if (amount < 500) {
                level += (uint64_t)amount * 1000;
                level = level < 20000000 ? level : 20000000;
                retry_budget_deposit(&budget, amount);
                CHECK_EQUAL(level / 1000, retry_budget_balance(&budget));
            }
        }
    }
}

/* Beside a refill without a bound the base adds nothing above itself, not even fractions. */
static void test_base_beside_a_refill(void)
{
    retry_budget_options options = options_of(100000, 1000);
    retry_budget budget;
    retry_time elapsed;
    options.refill_per_second = 950;
    options.base_per_second = 50;
    retry_budget_init(&budget, &options, START);
    CHECK(retry_budget_withdraw(&budget, 98000, START));
    for (elapsed = 1; elapsed <= 10000; elapsed++)
        CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, elapsed)));
    CHECK_EQUAL(2000 + 9500, retry_budget_balance(&budget));
    budget = budget_of(&options, 0);
    CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 900)));
    CHECK_EQUAL(900, retry_budget_balance(&budget)); /* both, up to there */
}

/* Retries of two processes that share a budget, or of two clients: one base. */
static void test_base_is_shared(void)
{
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(20);
    retry_budget budget;
    retry_client clients[2];
    unsigned i;
    retry_budget_init(&budget, &options, START);
    clients[0] = clients[1] = client_of(&budget);
    for (i = 0; i < 4; i++)
        CHECK_DECISION(RETRY, STRATEGY, fail_once(&clients[i & 1], RETRY_REASON_KV_LOCKED));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_once(&clients[0], RETRY_REASON_KV_LOCKED));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_once(&clients[1], RETRY_REASON_KV_LOCKED));
}

/* ---- the last retries come late ------------------------------------------------------------ */

static uint32_t drawn;

static uint32_t draw(void *context)
{
    (void)context;
    return drawn;
}

/* The delay that the recommended policy gives a retry, of a request with so many ms left, at an
   instant, to whose budget so much was left at START. */
static retry_ms delay_at(const retry_policy *policy, const retry_budget_options *options,
                         uint32_t balance, retry_ms left, const retry_failure *failure,
                         retry_time now)
{
    retry_budget budget;
    retry_client client = client_of(&budget);
    retry_operation request;
    decided decision;
    retry_budget_init(&budget, options, START);
    CHECK(retry_budget_withdraw(&budget, retry_budget_balance(&budget), START));
    retry_budget_deposit(&budget, balance);
    client.strategy = &policy->base;
    client.random = draw;
    memset(&request, 0, sizeof request);
    request.client = &client;
    request.timeout = 10000;
    request.idempotent = true;
    retry_begin(&request, check_before(now, 10000 - left));
    decision = retry_orchestrate(&request, failure, now);
    CHECK_DECISION(RETRY, STRATEGY, decision);
    return decision.delay;
}

/* 100 ms to 5 s, and to 10 s when throttled. */
static retry_policy recommended(void)
{
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    policy.backoff.initial = 100;
    policy.backoff.max = 5000;
    return policy;
}

/* From less than half of the base on, to the thousandth: the upper half of the longest delay. */
static void test_last_retries_come_late(void)
{
    static const struct {
        uint32_t balance;
        bool late;
    } rows[] = {{250, true}, {499, true}, {500, false}, {501, false}, {1000, false}, {9000, false}};
    static const uint32_t draws[] = {0, 0x80000000, UINT32_MAX};
    static const retry_ms quick[] = {1, 51, 100}, late[] = {2500, 3750, 5000};
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(20);
    const retry_policy policy = recommended();
    const retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (j = 0; j < CHECK_COUNT(draws); j++) {
            retry_ms want = rows[i].late ? late[j] : quick[j];
            check_row("balance %lu, draw %u", (unsigned long)rows[i].balance, (unsigned)j);
            drawn = draws[j];
            CHECK_RANGE(want - 1, want + 1,
                        delay_at(&policy, &options, rows[i].balance, 10000, &failure, START));
        }
    }
}

/* At most 15/16 of what is left; of a throttled attempt its own backoff counts. */
static void test_late_leaves_time(void)
{
    static const struct {
        retry_ms left, delay;
    } rows[] = {{10000, 5000}, {5334, 5000}, {5333, 5000}, {5332, 4999},
                {1600, 1500},  {16, 15},     {15, 15},     {2, 2}};
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(20);
    const retry_policy policy = recommended();
    retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    size_t i;
    drawn = UINT32_MAX;
    for (i = 0; i < CHECK_COUNT(rows) - 2; i++) {
        check_row("%lu ms left", (unsigned long)rows[i].left);
        CHECK_EQUAL(rows[i].delay, delay_at(&policy, &options, 499, rows[i].left, &failure, START));
    }
    options.retry_cost = options.throttle_cost = 250;
    failure.throttle = true;
    check_row("throttled");
    CHECK_EQUAL(9375, delay_at(&policy, &options, 499, 10000, &failure, START));
    drawn = 0;
    CHECK_EQUAL(5000, delay_at(&policy, &options, 499, 10000, &failure, START));
    failure.retry_after = 7000; /* the server knows better */
    CHECK_EQUAL(7000, delay_at(&policy, &options, 499, 10000, &failure, START));
}

/* Exempt: what reached nobody, a bucket that does not expire, and a backoff without a cap, which
   has no longest delay. */
static void test_late_is_not(void)
{
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(20);
    retry_policy policy = recommended();
    retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    size_t i;
    drawn = UINT32_MAX;
    for (i = 0; i < CHECK_COUNT(unsent); i++) {
        failure = unsent_failure(i);
        CHECK_EQUAL(100, delay_at(&policy, &options, 300, 10000, &failure, START));
    }
    check_row("others");
    failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    options.expire = 0;
    CHECK_EQUAL(100, delay_at(&policy, &options, 300, 10000, &failure, START));
    options.expire = 10000;
    policy.backoff.max = 0;
    CHECK_EQUAL(100, delay_at(&policy, &options, 300, 10000, &failure, START));
}

/* What has come in since the budget was asked last counts: after a pause it is not poor any more.
 */
static void test_late_after_a_pause(void)
{
    static const struct {
        retry_ms idle;
        bool late;
    } rows[] = {{0, true}, {3999, true}, {4000, false}, {20000, false}, {86400000, false}};
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(20);
    const retry_policy policy = recommended();
    const retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    size_t i;
    drawn = UINT32_MAX;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_time now = check_after(START, rows[i].idle);
        check_row("after %lu ms", (unsigned long)rows[i].idle);
        CHECK_EQUAL(rows[i].late ? 5000 : 100,
                    delay_at(&policy, &options, 300, 10000, &failure, now));
    }
}

/* ---- tokens that expire -------------------------------------------------------------------- */

/* e^-x, by a series for a 64th of x, as not every target has a libm. */
static double falling(double x)
{
    double y = 1;
    unsigned i;
    for (i = 8; i > 0; i--)
        y = 1 + x / 64 / i * y;
    for (i = 0; i < 6; i++)
        y *= y;
    return 1 / y;
}

static retry_budget expiring(retry_ms expire, uint32_t capacity, uint32_t retry_cost)
{
    retry_budget_options options = options_of(capacity, retry_cost);
    retry_budget budget;
    options.expire = expire;
    retry_budget_init(&budget, &options, START);
    return budget;
}

/* It starts with what one retry costs, and never with more than fits. */
static void test_expire_at_first(void)
{
    static const struct {
        uint32_t capacity, retry_cost, expire, balance;
    } rows[] = {{20000, 1000, 10000, 1000}, {20000, 5000, 1, 5000},
                {20000, 0, 10000, 0},       {700, 1000, 10000, 700},
                {20000, 1000, 0, 20000},    {20000, 1000, UINT32_MAX, 1000},
                {0, 1000, 10000, 0},        {1000, 1000, 5, 1000}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget budget = expiring(rows[i].expire, rows[i].capacity, rows[i].retry_cost);
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].balance, retry_budget_balance(&budget));
        retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, DAY));
        CHECK_EQUAL(rows[i].balance, retry_budget_balance(&budget));
    }
}

/* What it holds beyond one retry's cost falls off exponentially, in steps of any length: within 2
   %, and 60 thousandths that rounding takes. */
static void test_expire_is_exponential(void)
{
    static const retry_ms expires[] = {100,   350,    1000,     10000,
                                       60000, 600000, 10 * DAY, UINT32_C(1814400000)};
    static const retry_ms steps[] = {1, 2, 7, 40, 100, 1000, 9999, 60000, 3600000, DAY, 10 * DAY};
    static const uint32_t amounts[] = {1000, 20000, 400000, 4000000000u};
    size_t e, s, a;
    for (e = 0; e < CHECK_COUNT(expires); e++)
        for (s = 0; s < CHECK_COUNT(steps); s++)
            for (a = 0; a < CHECK_COUNT(amounts); a++) {
                retry_budget budget = expiring(expires[e], UINT32_MAX, 1000);
                double whole = (double)expires[e], end = 3 * whole, passed = 0;
                retry_time now = START;
                uint32_t round;
                check_row("expire %lu, steps %lu, amount %lu", (unsigned long)expires[e],
                          (unsigned long)steps[s], (unsigned long)amounts[a]);
                retry_budget_deposit(&budget, amounts[a]);
                for (round = 0; passed < end && round < 3000 / CHECK_ONE_IN; round++) {
                    double held, wanted, off;
                    now = check_after(now, steps[s]);
                    passed += (double)steps[s];
                    CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, now));
                    held = (double)retry_budget_balance(&budget) - 1000;
                    wanted = passed < 40 * whole ? (double)amounts[a] * falling(passed / whole) : 0;
                    off = held > wanted ? held - wanted : wanted - held;
                    CHECK(held >= 0 && off <= wanted / 50 + 60 +
                                                  (passed > end ? (double)amounts[a] / 100000 : 0));
                }
            }
}

/* In steps of a 64th of it, and of 1 ms at least. */
static void test_expire_in_steps(void)
{
    static const retry_ms expires[] = {1, 63, 64, 127, 128, 6400, 10000};
    size_t i;
    for (i = 0; i < CHECK_COUNT(expires); i++) {
        retry_budget budget = expiring(expires[i], 100000, 1000);
        retry_ms step = expires[i] < 64 ? 1 : expires[i] / 64;
        check_row("expire %lu", (unsigned long)expires[i]);
        retry_budget_deposit(&budget, 50000);
        CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, step - 1)));
        CHECK_EQUAL(51000, retry_budget_balance(&budget));
        CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, step)));
        CHECK_RANGE(1000, 50999, retry_budget_balance(&budget));
    }
}

/* The last thousandths go, too, however often it is asked. */
static void test_expire_to_the_last(void)
{
    retry_budget budget = expiring(6400, 20000, 1000);
    retry_ms step;
    retry_budget_deposit(&budget, 64);
    for (step = 1; step <= 300; step++)
        CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, step * 100)));
    CHECK_EQUAL(1000, retry_budget_balance(&budget));
}

/* Days without a call leave one retry's cost; what was less stays. */
static void test_expire_leaves_one_retry(void)
{
    static const uint32_t amounts[] = {0, 1, 300, 999, 1000, 1001, 1500, 20000};
    static const retry_ms spans[] = {200, 5000, 10000, DAY, 20 * DAY};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(amounts); i++)
        for (j = 0; j < CHECK_COUNT(spans); j++) {
            retry_budget budget = expiring(10000, 20000, 1000);
            uint32_t held;
            check_row("%lu, %lu ms", (unsigned long)amounts[i], (unsigned long)spans[j]);
            CHECK(retry_budget_withdraw(&budget, 1000, START));
            retry_budget_deposit(&budget, amounts[i]);
            CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, spans[j])));
            held = retry_budget_balance(&budget);
            if (amounts[i] <= 1000)
                CHECK_EQUAL(amounts[i], held);
            else
                CHECK_RANGE(1000, spans[j] >= DAY ? 1000 : amounts[i], held);
        }
}

/* It pays before it has expired, and not afterwards: a withdrawal sees what is left now. */
static void test_expire_before_a_withdrawal(void)
{
    retry_budget budget = expiring(10000, 20000, 1000);
    retry_budget_deposit(&budget, 10000);
    CHECK(retry_budget_withdraw(&budget, 4000, START));
    CHECK_EQUAL(7000, retry_budget_balance(&budget));
    CHECK(!retry_budget_withdraw(&budget, 4000, check_after(START, 10000))); /* of 3,207 */
    CHECK(retry_budget_withdraw(&budget, 3000, check_after(START, 10000)));
    budget = expiring(10000, 20000, 1000);
    CHECK(retry_budget_withdraw(&budget, 1000, check_after(START, DAY)));
    CHECK(!retry_budget_withdraw(&budget, 1000, check_after(START, DAY + 1)));
}

/* A clock that steps back a little takes nothing, and gives nothing. */
static void test_expire_and_the_clock(void)
{
    retry_budget budget = expiring(10000, 20000, 1000);
    uint32_t held;
    retry_budget_deposit(&budget, 10000);
    CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 1000)));
    held = retry_budget_balance(&budget);
    CHECK_RANGE(10000, 10100, held);
    CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, START));
    CHECK_EQUAL(held, retry_budget_balance(&budget));
    CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 1000)));
    CHECK_EQUAL(held, retry_budget_balance(&budget));
}

/* A tenth of `rate` successes a second, of which the last ten seconds count, is a second's worth.
 */
static void test_expire_holds_a_second(void)
{
    static const uint32_t rates[] = {20, 50, 100, 500};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rates); i++) {
        retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(100);
        retry_budget budget;
        retry_client client = client_of(&budget);
        retry_operation request = begun(NULL);
        uint32_t step = 1000 / rates[i], now;
        retry_budget_init(&budget, &options, START);
        request.client = &client;
        for (now = 0; now < 60000; now += step) {
            retry_begin(&request, check_after(START, now));
            CHECK(retry_succeed(&request, check_after(START, now)));
        }
        check_row("%lu a second", (unsigned long)rates[i]);
        CHECK_RANGE(rates[i] * 970 + 900, rates[i] * 1010 + 1100, retry_budget_balance(&budget));
    }
}

/* It refills by time, too: both hold. 2 tokens a second, of which five seconds count. */
static void test_expire_and_refill(void)
{
    retry_budget_options options = options_of(100000, 1000);
    retry_budget budget;
    retry_time elapsed;
    options.expire = 5000;
    options.refill_per_second = 2000;
    retry_budget_init(&budget, &options, START);
    for (elapsed = 0; elapsed < 60000; elapsed += 10)
        CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, elapsed)));
    CHECK_RANGE(10700, 11200, retry_budget_balance(&budget));
}

/* ---- against a failure rate ---------------------------------------------------------------- */

#define CALLS (UINT32_C(100000) / CHECK_ONE_IN)

/* Attempts made for CALLS calls of up to three retries each. */
static unsigned long load(retry_budget *budget, unsigned percent)
{
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_backoff plain = RETRY_BACKOFF_RFC0049;
    retry_client client = client_of(budget);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation request = begun(NULL);
    unsigned long attempts = 0;
    uint32_t i;
    policy.backoff = plain;
    policy.max_attempts = 4;
    client.strategy = &policy.base;
    request.client = &client;
    for (i = 0; i < CALLS; i++) {
        bool done = false;
        retry_begin(&request, START);
        while (!done) {
            attempts++;
            if (check_random() % 100 >= percent)
                done = retry_succeed(&request, START);
            else
                done = retry_orchestrate(&request, &failure, START).verdict != RETRY_VERDICT_RETRY;
        }
    }
    return attempts;
}

static void test_load(void)
{
    static const struct {
        unsigned percent;
        double with, without;
    } rows[] = {{5, 1.053, 1.053},
                {10, 1.099, 1.112},
                {20, 1.088, 1.247},
                {50, 1.053, 1.874},
                {100, 1.0005, 4.0}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options = options_of(50000, 1000);
        retry_budget budget;
        double with, without;
        options.success_deposit = 100;
        retry_budget_init(&budget, &options, START);
        with = (double)load(&budget, rows[i].percent) / CALLS;
        without = (double)load(NULL, rows[i].percent) / CALLS;
        check_row("%u %%: %.4f with a bucket, %.4f without", rows[i].percent, with, without);
        CHECK(with > rows[i].with * 0.98 && with < rows[i].with * 1.02);
        CHECK(without > rows[i].without * 0.98 && without < rows[i].without * 1.02);
    }
}

/* A bucket that is filled to the brim holds no fraction any more, though it is emptied at once. */
static void test_deposit_ends_the_fraction(void)
{
    retry_budget_options options = options_of(10, 0);
    retry_budget budget;
    options.refill_per_second = 1; /* a millionth each ms */
    retry_budget_init(&budget, &options, START);
    CHECK(retry_budget_withdraw(&budget, 10, START));
    CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 600)));
    retry_budget_deposit(&budget, 10);
    CHECK(retry_budget_withdraw(&budget, 10, check_after(START, 600)));
    CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 1100)));
    CHECK_EQUAL(0, retry_budget_balance(&budget));
    CHECK(!retry_budget_withdraw(&budget, TOO_MUCH, check_after(START, 1600)));
    CHECK_EQUAL(1, retry_budget_balance(&budget));
}

int main(void)
{
    RUN(test_amounts);
    RUN(test_refill_set_back);
    RUN(test_full_holds_no_fraction);
    RUN(test_null);
    RUN(test_never_set_up);
    RUN(test_starts_full);
    RUN(test_withdraw);
    RUN(test_deposit);
    RUN(test_refill_in_steps);
    RUN(test_refill_does_not_depend_on_the_steps);
    RUN(test_random_walk);
    RUN(test_refill_of_a_full_bucket);
    RUN(test_refill_saturates);
    RUN(test_refill_of_any_size);
    RUN(test_refill_fills_to_the_last);
    RUN(test_init_again);
    RUN(test_refill_serves_the_withdrawal);
    RUN(test_clock_backward);
    RUN(test_long_idle);
    RUN(test_costs_default_to_the_retry_cost);
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
    RUN(test_unsent_pays_once);
    RUN(test_unreached_is_free);
    RUN(test_unreached_needs_no_token);
    RUN(test_unreached_leaves_no_charge);
    RUN(test_unsent_and_refused);
    RUN(test_unsent_and_pending);
    RUN(test_sent_and_pending);
    RUN(test_unsent_and_always);
    RUN(test_unsent_are_five);
    RUN(test_unsent_keeps_the_charge);
    RUN(test_unsent_and_refund);
    RUN(test_unsent_is_no_charged_failure);
    RUN(test_free_needs_no_budget);
    RUN(test_free_is_no_charged_failure);
    RUN(test_free_gives_nothing_back);
    RUN(test_free_grants_nothing);
    RUN(test_best_effort);
    RUN(test_presets_do_not_expire);
    RUN(test_best_effort_pays);
    RUN(test_base_is_the_dearest_cost);
    RUN(test_base_refills);
    RUN(test_base_in_any_order);
    RUN(test_base_beside_a_refill);
    RUN(test_base_is_shared);
    RUN(test_last_retries_come_late);
    RUN(test_late_leaves_time);
    RUN(test_late_is_not);
    RUN(test_late_after_a_pause);
    RUN(test_expire_at_first);
    RUN(test_expire_is_exponential);
    RUN(test_expire_in_steps);
    RUN(test_expire_to_the_last);
    RUN(test_expire_leaves_one_retry);
    RUN(test_expire_before_a_withdrawal);
    RUN(test_expire_and_the_clock);
    RUN(test_expire_holds_a_second);
    RUN(test_expire_and_refill);
    RUN(test_load);
    RUN(test_deposit_ends_the_fraction);
    return check_done();
}
