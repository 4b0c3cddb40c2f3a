/* A bucket of tokens by itself: fill, withdraw, deposit, balance, and what comes in by time, to the
   last fraction. */
#include "../support/check.h"
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/tokens.h"

#define START ((retry_time)-5000)
#define TOO_MUCH UINT32_MAX /* a withdrawal that is denied refills and takes nothing */
#define DAY UINT32_C(86400000)

/* A bucket that holds `balance`, whatever its floor says. */
static retry_bucket bucket_of(uint32_t capacity, uint32_t refill_per_second, uint32_t balance)
{
    retry_bucket bucket;
    memset(&bucket, 0, sizeof bucket);
    bucket.capacity = capacity;
    bucket.refill_per_second = refill_per_second;
    retry_bucket_fill(&bucket, START);
    retry_bucket_withdraw(&bucket, capacity - balance, START);
    return bucket;
}

/* ---- fill, withdraw, deposit --------------------------------------------------------------- */

static void test_null(void)
{
    retry_bucket_fill(NULL, START);
    retry_bucket_deposit(NULL, 5);
    CHECK(!retry_bucket_withdraw(NULL, 0, START));
    CHECK(!retry_bucket_withdraw(NULL, 1, START));
    CHECK_EQUAL(0, retry_bucket_balance(NULL));
}

/* Without a capacity it pays for nothing, filled or not. */
static void test_zeroed(void)
{
    retry_bucket bucket;
    unsigned i;
    memset(&bucket, 0, sizeof bucket);
    for (i = 0; i < 2; i++) {
        check_row("filled %u times", i);
        CHECK_EQUAL(0, retry_bucket_balance(&bucket));
        CHECK(!retry_bucket_withdraw(&bucket, 0, START));
        CHECK(!retry_bucket_withdraw(&bucket, 1, START));
        retry_bucket_deposit(&bucket, UINT32_MAX);
        CHECK_EQUAL(0, retry_bucket_balance(&bucket));
        retry_bucket_fill(&bucket, START);
    }
}

static void test_fill(void)
{
    static const uint32_t capacities[] = {
        0, 1, 2, 999, 1000, 500000, 0x7fffffff, 0x80000000u, UINT32_MAX - 1, UINT32_MAX};
    size_t i;
    for (i = 0; i < CHECK_COUNT(capacities); i++) {
        retry_bucket bucket;
        uint32_t half = capacities[i] / 2;
        memset(&bucket, 0, sizeof bucket);
        bucket.capacity = capacities[i];
        check_row("capacity %lu", (unsigned long)capacities[i]);
        CHECK_EQUAL(0, retry_bucket_balance(&bucket));
        retry_bucket_fill(&bucket, START);
        CHECK_EQUAL(capacities[i], retry_bucket_balance(&bucket));
        CHECK_EQUAL(capacities[i] != 0, retry_bucket_withdraw(&bucket, half, START));
        CHECK_EQUAL(capacities[i] - half, retry_bucket_balance(&bucket));
        retry_bucket_fill(&bucket, START);
        CHECK_EQUAL(capacities[i], retry_bucket_balance(&bucket));
        CHECK_EQUAL(capacities[i] != 0, retry_bucket_withdraw(&bucket, capacities[i], START));
        CHECK_EQUAL(0, retry_bucket_balance(&bucket));
        CHECK(!retry_bucket_withdraw(&bucket, 1, START));
    }
}

/* What comes in counts from the last fill on, and what was less than a thousandth is gone. */
static void test_fill_again(void)
{
    retry_bucket bucket = bucket_of(9000, 1, 0);
    retry_time later = check_after(START, 5999);
    CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, later));
    CHECK_EQUAL(5, retry_bucket_balance(&bucket)); /* and 999 millionths */
    retry_bucket_fill(&bucket, check_after(later, 10000));
    CHECK_EQUAL(9000, retry_bucket_balance(&bucket));
    CHECK(retry_bucket_withdraw(&bucket, 9000, check_after(later, 10000)));
    CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, check_after(later, 10999)));
    CHECK_EQUAL(0, retry_bucket_balance(&bucket));
    CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, check_after(later, 11000)));
    CHECK_EQUAL(1, retry_bucket_balance(&bucket));
}

static void test_withdraw(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(withdrawals); i++) {
        retry_bucket bucket = bucket_of(withdrawals[i].capacity, 0, withdrawals[i].balance);
        bucket.floor = withdrawals[i].floor;
        check_row("floor %lu, balance %lu, cost %lu", (unsigned long)withdrawals[i].floor,
                  (unsigned long)withdrawals[i].balance, (unsigned long)withdrawals[i].cost);
        CHECK_EQUAL(withdrawals[i].balance, retry_bucket_balance(&bucket));
        CHECK_EQUAL(withdrawals[i].granted,
                    retry_bucket_withdraw(&bucket, withdrawals[i].cost, START));
        CHECK_EQUAL(withdrawals[i].balance - (withdrawals[i].granted ? withdrawals[i].cost : 0),
                    retry_bucket_balance(&bucket));
    }
}

static void test_deposit(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(deposits); i++) {
        retry_bucket bucket = bucket_of(deposits[i].capacity, 0, deposits[i].balance);
        retry_bucket_deposit(&bucket, deposits[i].amount);
        check_row("balance %lu, amount %lu", (unsigned long)deposits[i].balance,
                  (unsigned long)deposits[i].amount);
        CHECK_EQUAL(deposits[i].expected, retry_bucket_balance(&bucket));
    }
}

/* ---- what comes in by time ----------------------------------------------------------------- */

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
        retry_bucket bucket = bucket_of(UINT32_MAX - 1, rows[i].rate, 0);
        struct model model =
            model_of(bucket.capacity, bucket.refill_per_second, retry_bucket_balance(&bucket));
        retry_time now = START;
        for (step = 0; step < rows[i].count; step++) {
            now = check_after(now, rows[i].step);
            model_pass(&model, rows[i].step);
            check_row("%lu a second, %lu ms, step %u", (unsigned long)rows[i].rate,
                      (unsigned long)rows[i].step, step);
            CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, now));
            CHECK_EQUAL(model.level / 1000, retry_bucket_balance(&bucket));
        }
    }
}

/* One refill of any size, in whole thousandths. */
static void test_refill_of_any_size(void)
{
    unsigned i;
    for (i = 0; i < 20000 / CHECK_ONE_IN; i++) {
        uint32_t rate = check_random() >> (check_random() % 31);
        retry_ms elapsed = check_random() >> (1 + check_random() % 30);
        retry_bucket bucket = bucket_of(UINT32_MAX - 1, rate, 0);
        struct model model =
            model_of(bucket.capacity, bucket.refill_per_second, retry_bucket_balance(&bucket));
        model_pass(&model, elapsed);
        CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, check_after(START, elapsed)));
        check_row("%lu a second, %lu ms", (unsigned long)rate, (unsigned long)elapsed);
        CHECK_EQUAL(model.level / 1000, retry_bucket_balance(&bucket));
    }
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
                retry_bucket bucket = bucket_of(capacities[j], rates[i], 0);
                struct model model = model_of(bucket.capacity, bucket.refill_per_second,
                                              retry_bucket_balance(&bucket));
                model_pass(&model, idle[k]);
                CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, check_after(START, idle[k])));
                check_row("%lu a second, capacity %lu, %lu ms", (unsigned long)rates[i],
                          (unsigned long)capacities[j], (unsigned long)idle[k]);
                CHECK_EQUAL(model.level / 1000, retry_bucket_balance(&bucket));
            }
        }
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
        retry_bucket bucket = bucket_of(rows[i].capacity, rows[i].rate, rows[i].balance);
        retry_bucket_withdraw(&bucket, 0, check_after(START, rows[i].elapsed));
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].expected, retry_bucket_balance(&bucket));
    }
}

/* What a full bucket is given is gone: it does not wait as a fraction. */
static void test_full_holds_no_fraction(void)
{
    unsigned i;
    for (i = 0; i < 6; i++) { /* filled by time, by a deposit that is too large, by one that fits */
        retry_bucket bucket = bucket_of(9000, 1, i % 3 == 0 ? 9000 : 8000);
        retry_time now = check_after(START, i < 3 ? 999 : 1);
        check_row("row %u", i);
        CHECK(retry_bucket_withdraw(&bucket, 0, now));
        if (i % 3 != 0)
            retry_bucket_deposit(&bucket, i % 3 == 1 ? 5000 : 1000);
        CHECK_EQUAL(9000, retry_bucket_balance(&bucket));
        CHECK(retry_bucket_withdraw(&bucket, 1000, now));
        CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, check_after(now, 999)));
        CHECK_EQUAL(8000, retry_bucket_balance(&bucket));
        CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, check_after(now, 1000)));
        CHECK_EQUAL(8001, retry_bucket_balance(&bucket));
    }
}

static void test_refill_serves_the_withdrawal(void)
{
    retry_bucket bucket = bucket_of(9000, 1000, 0);
    CHECK(!retry_bucket_withdraw(&bucket, 500, check_after(START, 499)));
    CHECK(retry_bucket_withdraw(&bucket, 500, check_after(START, 500)));
    CHECK_EQUAL(0, retry_bucket_balance(&bucket));
    bucket.floor = 250;
    CHECK(!retry_bucket_withdraw(&bucket, 500, check_after(START, 1250)));
    CHECK(retry_bucket_withdraw(&bucket, 500, check_after(START, 1251)));
    CHECK_EQUAL(251, retry_bucket_balance(&bucket));
}

/* Withdrawals, deposits and time in any order; fills up and runs dry. */
static void test_random_walk(void)
{
    static const uint32_t rates[] = {0, 1, 13, 999, 5000, 100000};
    size_t i;
    unsigned step;
    for (i = 0; i < 2 * CHECK_COUNT(rates); i++) {
        retry_bucket bucket = bucket_of(20000, rates[i / 2], 20000);
        struct model model =
            model_of(bucket.capacity, bucket.refill_per_second, retry_bucket_balance(&bucket));
        retry_time now = START;
        bucket.floor = i % 2 == 0 ? 0 : 1700;
        for (step = 0; step < 5000; step++) {
            retry_ms elapsed = check_random() % (step % 100 == 0 ? 20000 : 200);
            uint32_t cost = check_random() % 3000;
            uint32_t amount = check_random() % 1500;
            now = check_after(now, elapsed);
            model_pass(&model, elapsed);
            check_row("%lu a second, floor %lu, step %u", (unsigned long)bucket.refill_per_second,
                      (unsigned long)bucket.floor, step);
            CHECK_EQUAL(model_withdraw(&model, cost, bucket.floor),
                        retry_bucket_withdraw(&bucket, cost, now));
            CHECK_EQUAL(model.level / 1000, retry_bucket_balance(&bucket));
            if (amount < 500) {
                model_add(&model, (uint64_t)amount * 1000);
                retry_bucket_deposit(&bucket, amount);
                CHECK_EQUAL(model.level / 1000, retry_bucket_balance(&bucket));
            }
        }
    }
}

/* ---- clocks -------------------------------------------------------------------------------- */

/* Threads hand in their instants slightly out of order: nothing is refilled twice. */
static void test_clock_backward(void)
{
    static const retry_ms back[] = {1, 2, 1000, 32767, 32768};
    size_t i;
    for (i = 0; i < CHECK_COUNT(back); i++) {
        retry_bucket bucket = bucket_of(90000, 1000, 0);
        retry_time later = check_after(START, 40000);
        check_row("%lu ms", (unsigned long)back[i]);
        CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, later));
        CHECK_EQUAL(40000, retry_bucket_balance(&bucket));
        CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, check_before(later, back[i])));
        CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, later));
        CHECK_EQUAL(40000, retry_bucket_balance(&bucket));
        CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, check_after(later, 10)));
        CHECK_EQUAL(40010, retry_bucket_balance(&bucket));
    }
}

/* A clock that was set back by more adds nothing, and goes on from there. */
static void test_clock_set_back(void)
{
    static const retry_ms back[] = {32769, 100000, DAY, 20 * DAY, 0x7fffffff};
    size_t i;
    for (i = 0; i < CHECK_COUNT(back); i++) {
        retry_bucket bucket = bucket_of(90000, 1000, 0);
        retry_time now = check_before(START, back[i]);
        check_row("%lu ms", (unsigned long)back[i]);
        CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, now));
        CHECK_EQUAL(0, retry_bucket_balance(&bucket));
        CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, check_after(now, 10)));
        CHECK_EQUAL(10, retry_bucket_balance(&bucket));
    }
}

/* After weeks without a call one call may give less, never more; then it goes on. */
static void test_long_idle(void)
{
    static const uint32_t idle[] = {0x7fffffff,  0x80000000u, 0x80000001u,
                                    0xc0000000u, 0xff800000u, 0xffff0000u};
    size_t i;
    for (i = 0; i < CHECK_COUNT(idle); i++) {
        retry_bucket bucket = bucket_of(2000000000u, 100, 0);
        retry_time now = check_after(START, idle[i]);
        uint32_t whole = idle[i] <= 0x80000000u ? idle[i] / 10 : 0;
        check_row("%lu ms", (unsigned long)idle[i]);
        CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, now));
        CHECK_EQUAL(whole, retry_bucket_balance(&bucket));
        CHECK(!retry_bucket_withdraw(&bucket, TOO_MUCH, check_after(now, 10000)));
        CHECK_RANGE(whole + 1000, whole + 1001, retry_bucket_balance(&bucket));
    }
}

/* Amounts by the macros: half a token a second makes one in two. */
static void test_amounts(void)
{
    retry_bucket bucket = bucket_of(RETRY_TOKENS(1.5), RETRY_PER_SECOND(0.5), RETRY_TOKENS(1.5));
    CHECK_EQUAL(1500, retry_bucket_balance(&bucket));
    CHECK(retry_bucket_withdraw(&bucket, RETRY_TOKENS(1), START));
    CHECK(!retry_bucket_withdraw(&bucket, RETRY_TOKENS(1), check_after(START, 999)));
    CHECK(retry_bucket_withdraw(&bucket, RETRY_TOKENS(1), check_after(START, 1000)));
    CHECK(!retry_bucket_withdraw(&bucket, RETRY_TOKENS(1), check_after(START, 2999)));
    CHECK(retry_bucket_withdraw(&bucket, RETRY_TOKENS(1), check_after(START, 3000)));
}

int main(void)
{
    RUN(test_null);
    RUN(test_zeroed);
    RUN(test_amounts);
    RUN(test_fill);
    RUN(test_fill_again);
    RUN(test_withdraw);
    RUN(test_deposit);
    RUN(test_refill_in_steps);
    RUN(test_refill_of_any_size);
    RUN(test_refill_saturates);
    RUN(test_refill_fills_to_the_last);
    RUN(test_full_holds_no_fraction);
    RUN(test_refill_serves_the_withdrawal);
    RUN(test_random_walk);
    RUN(test_clock_backward);
    RUN(test_clock_set_back);
    RUN(test_long_idle);
    return check_done();
}
