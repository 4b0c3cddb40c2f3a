/* A bucket that time fills: to the last fraction, on a clock that steps back or wraps, and the base
   that no outage takes. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/budgets.h"

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
    RUN(test_refill_set_back);
    RUN(test_full_holds_no_fraction);
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
    RUN(test_base_is_the_dearest_cost);
    RUN(test_base_refills);
    RUN(test_base_in_any_order);
    RUN(test_base_beside_a_refill);
    RUN(test_deposit_ends_the_fraction);
    return check_done();
}
