/* Tokens that expire. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/budgets.h"

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

int main(void)
{
    RUN(test_expire_at_first);
    RUN(test_expire_is_exponential);
    RUN(test_expire_in_steps);
    RUN(test_expire_to_the_last);
    RUN(test_expire_leaves_one_retry);
    RUN(test_expire_before_a_withdrawal);
    RUN(test_expire_and_the_clock);
    RUN(test_expire_and_refill);
    return check_done();
}
