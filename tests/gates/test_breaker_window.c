/* The window of a circuit breaker: which reports still count, and how soon an outage opens it. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/breakers.h"

static const struct {
    retry_ms window, half; /* ms */
} windows[] = {
    {0, 4000},
    {1, 1},
    {2, 1},
    {3, 2},
    {8, 4},
    {999, 500},
    {1000, 500},
    {8000, 4000},
    {60000, 30000},
    {65537, 32769},
    {3600000, 1800000},
    {UINT32_C(0x7fffff), UINT32_C(0x400000)},
    {UINT32_C(0x800000), UINT32_C(0x400000)},
    {UINT32_C(0x800001), UINT32_C(0x400000)},
    {UINT32_MAX, UINT32_C(0x400000)},
};

/* The half under way counts, and the one before. */
static void check_window(retry_ms window, retry_time half, retry_time start)
{
    retry_breaker breaker = breaker_in_time(window, start);
    attempts(&breaker, 3, &sick, start);
    CHECK_COUNTS(3, 3, &breaker, check_after(start, half - 1));
    attempts(&breaker, 2, NULL, check_after(start, half - 1));
    CHECK_COUNTS(5, 3, &breaker, check_after(start, half));
    attempts(&breaker, 7, &sick, check_after(start, 2 * half - 1));
    CHECK_COUNTS(12, 10, &breaker, check_after(start, 2 * half - 1));
    CHECK_COUNTS(7, 7, &breaker, check_after(start, 2 * half));
    attempts(&breaker, 1, NULL, check_after(start, 3 * half - 1));
    CHECK_COUNTS(8, 7, &breaker, check_after(start, 3 * half - 1));
    CHECK_COUNTS(1, 0, &breaker, check_after(start, 3 * half));
    CHECK_COUNTS(1, 0, &breaker, check_after(start, 4 * half - 1));
    CHECK_COUNTS(0, 0, &breaker, check_after(start, 4 * half));
    attempts(&breaker, 4, &sick, check_after(start, 4 * half + 1));
    CHECK_COUNTS(0, 0, &breaker, check_after(start, 7 * half)); /* nothing for a whole window */
}

static void test_window(void)
{
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(windows); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            check_row("window %lu, start %" PRIu64, (unsigned long)windows[i].window,
                      (uint64_t)starts[j]);
            check_window(windows[i].window, windows[i].half, starts[j]);
        }
    }
}

/* From its very first report on, whatever the clock shows: it counts for half a window at least,
   and for a window at most. */
static void test_first_report(void)
{
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(windows); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_breaker breaker = breaker_of(UINT32_MAX, 0, windows[i].window, 0), copy;
            retry_time half = windows[i].half;
            check_row("window %lu, start %" PRIu64, (unsigned long)windows[i].window,
                      (uint64_t)starts[j]);
            attempts(&breaker, 1, &sick, starts[j]);
            copy = breaker;
            CHECK_COUNTS(1, 1, &copy, check_after(starts[j], half));
            copy = breaker;
            CHECK_COUNTS(0, 0, &copy, check_after(starts[j], 2 * half));
            attempts(&breaker, 1, NULL, check_after(starts[j], half)); /* also step by step */
            CHECK_COUNTS(1, 0, &breaker, check_after(starts[j], 2 * half));
        }
    }
}

/* It rolls, it does not tumble: nineteen just before and nineteen just after any instant open it.
 */
static void test_no_boundary(void)
{
    uint32_t at;
    for (at = 1; at < 30000; at += 61) {
        retry_breaker breaker = breaker_of(0, 0, 0, 0);
        check_row("at %lu", (unsigned long)at);
        attempts(&breaker, 19, &sick, at - 1);
        CHECK_STATE(CLOSED, &breaker, at - 1);
        CHECK_EQUAL(1, attempts(&breaker, 19, &sick, at));
        CHECK_STATE(OPEN, &breaker, at);
    }
}

/* Reports of `rate` a second from *now on for so many ms; one in `of` is sick (0: none). True: they
   opened it. */
static bool traffic(retry_breaker *breaker, uint32_t rate, unsigned of, uint32_t ms, uint32_t *now)
{
    uint64_t end = (uint64_t)*now + ms, next = (uint64_t)*now * 1000;
    unsigned n = 0;
    bool open = false;
    while (next < end * 1000 && !open) {
        *now = (uint32_t)(next / 1000);
        n++;
        open = attempts(breaker, 1, of != 0 && n % of == 0 ? &sick : NULL, *now) != 0;
        next += 1000000 / rate;
    }
    *now = open ? *now : (uint32_t)end;
    return open;
}

static const uint32_t rates[] = {1, 3, 10, 100, 1000, 10000, 100000};
#define RATES (CHECK_COUNT(rates) - (CHECK_ONE_IN > 1 ? 2 : 0))

/* A total outage after any time of health opens it within half a window and `volume` reports. */
static void test_outage(void)
{
    static const uint32_t health[] = {0, 1, 1999, 2000, 3999, 4000, 6500, 8000, 90000, 91234};
    size_t i, j;
    for (i = 0; i < RATES; i++) {
        for (j = 0; j < CHECK_COUNT(health); j++) {
            retry_breaker breaker = breaker_of(rates[i] < 10 ? 4 : 20, 0, 0, 0);
            uint32_t now = 12345, outage;
            check_row("%lu a second, healthy for %lu ms", (unsigned long)rates[i],
                      (unsigned long)health[j]);
            CHECK(!traffic(&breaker, rates[i], 0, health[j], &now));
            outage = now;
            CHECK(traffic(&breaker, rates[i], 1, 100000, &now));
            CHECK_RANGE(0, 4000 + 1000 * (uint64_t)breaker.volume / rates[i], now - outage);
        }
    }
}

/* It never opens below the ratio: a third sick at any traffic, in windows young and old; nor 1.3 %
   at 2 %. */
static void test_below_the_ratio(void)
{
    static const uint32_t young[] = {0, 1, 5, 500, 20000};
    size_t i, j;
    for (i = 0; i < RATES; i++) {
        for (j = 0; j < CHECK_COUNT(young); j++) {
            retry_breaker breaker = breaker_of(0, 0, 0, 0);
            uint32_t now = 777;
            check_row("%lu a second, healthy for %lu ms", (unsigned long)rates[i],
                      (unsigned long)young[j]);
            CHECK(!traffic(&breaker, rates[i], 0, young[j], &now));
            CHECK(!traffic(&breaker, rates[i], 3, 10000, &now));
            breaker.ratio = RETRY_RATIO(0.02);
            breaker.volume = 1000;
            now += 20000;
            CHECK(!traffic(&breaker, rates[i], 77, 10000, &now));
        }
    }
}

/* 80,000 answers in 8 s, then sick ones at 10,000 a second: not before half of the window is sick.
 */
static void test_half_of_the_window(void)
{
    retry_breaker breaker = breaker_of(0, 0, 0, 0);
    uint32_t now = 0;
    retry_breaker_counts counts;
    CHECK(!traffic(&breaker, 10000, 0, 8000, &now));
    CHECK(traffic(&breaker, 10000, 1, 100000, &now));
    counts = retry_breaker_get(&breaker, now);
    CHECK(counts.sick * 2 >= counts.reports);
    CHECK_RANGE(40000, 80000, counts.reports);
    CHECK_RANGE(8000, 12001, now);
}

/* More reports than eight or sixteen bits hold are counted one by one. */
static void test_exact(void)
{
    retry_breaker breaker = breaker_of(400000, RETRY_RATIO(0.45), 0, 0);
    uint32_t i;
    for (i = 0; i < 200000; i++)
        attempts(&breaker, 1, i % 5 < 3 ? NULL : &sick, 1000);
    CHECK_COUNTS(200000, 80000, &breaker, 1000);
    CHECK_COUNTS(200000, 80000, &breaker, 5000);
    for (i = 0; i < 200000; i++)
        attempts(&breaker, 1, i % 5 < 3 ? NULL : &sick, 5000);
    CHECK_COUNTS(400000, 160000, &breaker, 5000);
    breaker.ratio = RETRY_RATIO(0.4);
    CHECK_EQUAL(1, attempts(&breaker, 1, &sick, 5000));
}

int main(void)
{
    set_up();
    RUN(test_window);
    RUN(test_first_report);
    RUN(test_no_boundary);
    RUN(test_outage);
    RUN(test_below_the_ratio);
    RUN(test_half_of_the_window);
    RUN(test_exact);
    return check_done();
}
