/* retry_delay: each edge of its arguments, beside the same in 64 bits, and beside
   retry_backoff_delay. It names nothing that `make cut PARTS=delay` leaves out, but where
   retry_backoff is there. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#define HALF RETRY_RATIO(0.5)
#define ONE RETRY_RATIO(1)

static const uint32_t numbers[] = {
    0, 1, 2, 3, 60, 65535, 65536, 1000003, 0x7fffffff, 0x80000000, UINT32_MAX - 1, UINT32_MAX};
static const uint32_t retries[] = {0, 1, 2, 15, 16, 30, 31, 32, 33, 63, 64, 0x80000000, UINT32_MAX};
static const uint32_t shares[] = {0,
                                  1,
                                  RETRY_RATIO(0.3),
                                  HALF,
                                  RETRY_RATIO(0.8),
                                  ONE - 1,
                                  ONE,
                                  ONE + 1,
                                  RETRY_RATIO(1.2),
                                  RETRY_RATIO(1.99),
                                  RETRY_RATIO(2),
                                  UINT32_MAX};
static const uint32_t draws[] = {0,          1,          0xffff,     0x10000,        0x12345678,
                                 0x7fffffff, 0x80000000, 0xffff0000, UINT32_MAX - 1, UINT32_MAX};

static void test_rows(void)
{
    static const struct {
        const char *name;
        uint32_t initial, max, low, high, random;
        unsigned count;
        uint32_t expected[8];
    } rows[] = {
        {"doubles up to max",
         100,
         5000,
         ONE,
         ONE,
         0,
         8,
         {100, 200, 400, 800, 1600, 3200, 5000, 5000}},
        {"no cap", 3, 0, ONE, ONE, 0, 8, {3, 6, 12, 24, 48, 96, 192, 384}},
        {"first above max", 10, 7, ONE, ONE, 0, 3, {7, 7, 7}},
        {"max of 1", 1, 1, ONE, ONE, UINT32_MAX, 3, {1, 1, 1}},
        {"saturates",
         0x40000000,
         0,
         ONE,
         ONE,
         5,
         4,
         {0x40000000, 0x80000000, UINT32_MAX, UINT32_MAX}},
        {"nothing doubled", 0, 0, ONE, ONE, 5, 3, {0, 0, 0}},
        {"full, least", 100, 300, 0, ONE, 0, 3, {0, 0, 0}},
        {"full, middle", 100, 300, 0, ONE, 0x80000000, 4, {50, 100, 150, 150}},
        {"full, most", 100, 300, 0, ONE, UINT32_MAX, 4, {100, 200, 300, 300}},
        {"equal, least", 101, 300, HALF, ONE, 0, 3, {50, 101, 150}},
        {"equal, most", 101, 300, HALF, ONE, UINT32_MAX, 3, {101, 202, 300}},
        {"a fifth less",
         1000,
         3000,
         RETRY_RATIO(0.8),
         RETRY_RATIO(1.2),
         0,
         4,
         {800, 1600, 2400, 2400}},
        {"a fifth more",
         1000,
         3000,
         RETRY_RATIO(0.8),
         RETRY_RATIO(1.2),
         UINT32_MAX,
         4,
         {1199, 2399, 3599, 3599}},
        {"high below low", 1000, 3000, ONE, HALF, UINT32_MAX, 3, {1000, 2000, 3000}},
        {"never 0", 1, 2, 1, 1, 0, 3, {1, 1, 1}},
        {"nearly twice as much",
         100,
         0,
         RETRY_RATIO(1.99),
         RETRY_RATIO(1.99),
         0,
         3,
         {199, 398, 796}},
        {"2 and more", 1000, 0, RETRY_RATIO(2), RETRY_RATIO(3), 0, 2, {1999, 3999}},
        {"from 1 to 2", 1000, 0, ONE, RETRY_RATIO(2), UINT32_MAX, 2, {1999, 3999}},
        {"more than there is", UINT32_MAX, 0, ONE, RETRY_RATIO(1.99), UINT32_MAX, 1, {UINT32_MAX}},
    };
    size_t i;
    uint32_t n;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (n = 0; n < rows[i].count; n++) {
            check_row("%s, retry %u", rows[i].name, (unsigned)n);
            CHECK_EQUAL(rows[i].expected[n],
                        retry_delay(rows[i].initial, rows[i].max, n, rows[i].low, rows[i].high,
                                    rows[i].random));
        }
    }
}

/* The same, written down in 64 bits. */
static uint32_t exact_delay(uint32_t initial, uint32_t max, uint32_t n, uint32_t low, uint32_t high,
                            uint32_t random)
{
    uint64_t cap = max ? max : UINT32_MAX, base = initial, least, most;
    for (; n != 0 && base != 0 && base < cap; n--)
        base *= 2;
    base = base < cap ? base : cap;
    low = low < 2 * ONE ? low : 2 * ONE - 1;
    high = high < 2 * ONE ? high : 2 * ONE - 1;
    least = base * low >> 16;
    most = base * (high > low ? high : low) >> 16;
    least = least < UINT32_MAX ? least : UINT32_MAX;
    most = most < UINT32_MAX ? most : UINT32_MAX;
    most -= least;
    most += most < UINT32_MAX;
    least += most * random >> 32;
    return least == 0 && low != 0 && initial != 0 ? 1 : (uint32_t)least;
}

static void check_exact(uint32_t initial, uint32_t max, uint32_t n, uint32_t low, uint32_t high)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(draws); i++) {
        uint32_t random = draws[i], got = retry_delay(initial, max, n, low, high, random);
        check_row("%lu, %lu, %lu, %lu, %lu, %lu", (unsigned long)initial, (unsigned long)max,
                  (unsigned long)n, (unsigned long)low, (unsigned long)high, (unsigned long)random);
        CHECK_EQUAL(exact_delay(initial, max, n, low, high, random), got);
        CHECK((got != 0) >= (initial != 0 && low != 0));
    }
}

static void test_exact(void)
{
    size_t i, j, k, l, m;
    for (i = 0; i < CHECK_COUNT(numbers); i++)
        for (j = 0; j < CHECK_COUNT(numbers); j++)
            for (k = 0; k < CHECK_COUNT(retries); k++)
                for (l = 0; l < CHECK_COUNT(shares); l++)
                    for (m = 0; m < CHECK_COUNT(shares); m++)
                        if (check_random() % CHECK_ONE_IN == 0)
                            check_exact(numbers[i], numbers[j], retries[k], shares[l], shares[m]);
}

static void test_exact_at_random(void)
{
    unsigned i;
    for (i = 0; i < 50000 / CHECK_ONE_IN; i++) {
        uint32_t initial = check_random() >> (check_random() & 31),
                 max = check_random() >> (check_random() & 31);
        check_exact(initial, max, check_random() & 63, check_random() >> 15, check_random() >> 15);
    }
}

/* It never falls: neither as retries grow, nor as the random number does. */
static void test_never_falls(void)
{
    unsigned i;
    for (i = 0; i < 50000 / CHECK_ONE_IN; i++) {
        uint32_t initial = check_random() >> (check_random() & 31), n = check_random() & 31;
        uint32_t low = check_random() >> 15, high = check_random() >> 15, random = check_random();
        uint32_t delay = retry_delay(initial, 0, n, low, high, random);
        check_row("%lu, %lu, %lu, %lu, %lu", (unsigned long)initial, (unsigned long)n,
                  (unsigned long)low, (unsigned long)high, (unsigned long)random);
        CHECK(delay <= retry_delay(initial, 0, n + 1, low, high, random));
        CHECK(delay <= retry_delay(initial, 0, n, low, high, random | check_random()));
    }
}

/* Each of a few delays is as likely as the others: a device that waits whole seconds gets some. */
static void test_draws_are_uniform(void)
{
    unsigned seen[5] = {0}, i;
    for (i = 0; i < 50000; i++)
        seen[retry_delay(4, 0, 0, 0, ONE, i * (UINT32_MAX / 50000))]++;
    for (i = 0; i < 5; i++) {
        check_row("a delay of %u", i);
        CHECK_RANGE(9990, 10010, seen[i]);
    }
}

#ifdef RETRY_BACKOFF_DEFAULT

static void check_beside(uint8_t jitter, uint32_t spread, uint32_t initial, uint32_t max,
                         uint32_t n, uint32_t random)
{
    retry_backoff backoff = RETRY_BACKOFF_DEFAULT;
    uint32_t low = ONE, high = ONE, delay;
    backoff.initial = initial;
    backoff.max = max;
    backoff.jitter = jitter;
    backoff.spread = spread;
    if (jitter == RETRY_JITTER_SPREAD) {
        low = ONE - spread;
        high = ONE + spread;
    } else if (jitter != RETRY_JITTER_NONE) {
        low = jitter == RETRY_JITTER_FULL ? 0 : HALF;
    }
    delay = retry_backoff_delay(&backoff, n, 0, random);
    check_row("jitter %u, spread %lu, %lu, %lu, %lu, %lu", jitter, (unsigned long)spread,
              (unsigned long)initial, (unsigned long)max, (unsigned long)n, (unsigned long)random);
    CHECK_RANGE(delay ? delay - 1 : 0, (uint64_t)delay + 1,
                retry_delay(initial, max, n, low, high, random));
}

static void check_beside_each(uint32_t initial, uint32_t max, uint32_t n, uint32_t random)
{
    check_beside(RETRY_JITTER_NONE, 0, initial, max, n, random);
    check_beside(RETRY_JITTER_FULL, 0, initial, max, n, random);
    check_beside(RETRY_JITTER_EQUAL, 0, initial, max, n, random);
    check_beside(RETRY_JITTER_SPREAD, RETRY_RATIO(0.2), initial, max, n, random);
    check_beside(RETRY_JITTER_SPREAD, HALF, initial, max, n, random);
    check_beside(RETRY_JITTER_SPREAD, 1 + check_random() % (ONE - 1), initial, max, n, random);
}

static void test_beside_backoff(void)
{
    size_t i, j, k, l;
    unsigned count;
    for (i = 1; i < CHECK_COUNT(numbers); i++) /* an `initial` of 0 is 1 there */
        for (j = 0; j < CHECK_COUNT(numbers); j++)
            for (k = 0; k < CHECK_COUNT(retries); k++)
                for (l = 0; l < CHECK_COUNT(draws); l += CHECK_ONE_IN)
                    check_beside_each(numbers[i], numbers[j], retries[k], draws[l]);
    for (count = 0; count < 50000 / CHECK_ONE_IN; count++)
        check_beside_each(1 + (check_random() >> (1 + (check_random() & 30))),
                          check_random() >> (check_random() & 31), check_random() & 63,
                          check_random());
}

#endif

/* The formula of retry_delay's comment, for a percentage that is known when the program runs. */
static void test_percent(void)
{
    uint32_t p;
    for (p = 0; p < 200; p++) {
        const uint32_t ratio = (p * 65536 + 99) / 100, exact = RETRY_RATIO(p / 100.0);
        check_row("%lu %%", (unsigned long)p);
        CHECK(ratio == exact || ratio == exact + 1);
        CHECK_EQUAL(p, retry_delay(100, 0, 0, ratio, ratio, 0));
        CHECK_EQUAL(10 * p, retry_delay(1000, 0, 0, 0, ratio, UINT32_MAX));
    }
    CHECK_EQUAL(ONE, (100 * 65536 + 99) / 100);
}

int main(void)
{
    RUN(test_rows);
    RUN(test_percent);
    RUN(test_exact);
    RUN(test_exact_at_random);
    RUN(test_never_falls);
    RUN(test_draws_are_uniform);
#ifdef RETRY_BACKOFF_DEFAULT
    RUN(test_beside_backoff);
#endif
    return check_done();
}
