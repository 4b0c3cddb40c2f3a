/* A circuit breaker on a clock that steps back, wraps or has been idle. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/breakers.h"

/* Behind by no more than a half of the window, or than `open`: another thread's clock. What it
   reports counts with the rest, and what it asks is answered as at the last change. */
static void test_steps_back(void)
{
    static const retry_ms steps_back[] = {1, 10, 999, 2000};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(steps_back); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time now = check_after(starts[j], UINT32_C(0x800000));
            retry_time before = check_before(now, steps_back[i]);
            retry_breaker breaker = breaker_in_time(0, now), open = opened(0, 0, now);
            retry_permit permit;
            check_row("%lu back, start %" PRIu64, (unsigned long)steps_back[i],
                      (uint64_t)starts[j]);
            attempts(&breaker, 10, &sick, now);
            attempts(&breaker, 9, NULL, before);
            CHECK_COUNTS(19, 10, &breaker, before);
            CHECK_COUNTS(19, 10, &breaker, check_after(now, 7999));
            CHECK_COUNTS(0, 0, &breaker, check_after(now, 8000));
            CHECK_EQUAL(2000, retry_breaker_ask(&open, true, before).wait);
            CHECK_STATE(OPEN, &open, before);
            CHECK_EQUAL(2000, retry_breaker_ask(&open, true, now).wait);
            permit = retry_breaker_ask(&open, true, check_after(now, 2000));
            CHECK(permit.granted);
            CHECK(!granted(&open, check_after(before, 2000)));
            CHECK(retry_breaker_report(&open, permit, NULL, check_after(before, 2000)));
            CHECK_STATE(CLOSED, &open, before);
        }
    }
}

/* Behind by a half of the window: counts with the rest. By a ms more: the clock stepped back. */
static void test_half_a_window_back(void)
{
    static const struct {
        retry_ms window, half;
    } halves[] = {{0, 4000}, {1000, 500}, {60000, 30000}};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(halves); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_breaker breaker = breaker_in_time(halves[i].window, starts[j]);
            retry_time before = check_before(starts[j], halves[i].half);
            check_row("window of %lu ms, start %" PRIu64, (unsigned long)halves[i].window,
                      (uint64_t)starts[j]);
            attempts(&breaker, 10, &sick, starts[j]);
            attempts(&breaker, 9, NULL, before);
            attempts(&breaker, 1, &sick, starts[j]);
            CHECK_COUNTS(20, 11, &breaker, starts[j]);
            attempts(&breaker, 9, NULL, check_before(before, 1));
            CHECK_COUNTS(9, 0, &breaker, check_before(before, 1));
        }
    }
}

/* A clock steps back while the breaker is open. Nobody is told to wait for longer than `open`, or
   refused for longer than twice that; and at once no more if it is behind by more than `open`. */
static void test_refuses_after_a_step_back(void)
{
    static const retry_ms opens[] = {1, 100, 2000, 30000, 1000000};
    static const retry_ms steps_back[] = {1,     50,    101,   1999,  2001,  4000,    6000,
                                          29999, 32768, 32769, 60000, 65537, 1000001, 86400000};
    size_t i, j, k, n;
    for (i = 0; i < CHECK_COUNT(opens); i++) {
        const retry_ms after[] = {0, 1, opens[i] / 2, opens[i] - 1}; /* when it steps back */
        for (j = 0; j < CHECK_COUNT(after) * CHECK_COUNT(steps_back); j++) {
            retry_ms elapsed = after[j % CHECK_COUNT(after)];
            retry_ms back = steps_back[j / CHECK_COUNT(after)];
            for (k = 0; k < CHECK_COUNT(starts); k++) {
                retry_breaker breaker = opened(opens[i], 0, starts[k]);
                retry_time now = check_before(check_after(starts[k], elapsed), back);
                check_row("open %lu, %lu back after %lu ms, start %" PRIu64,
                          (unsigned long)opens[i], (unsigned long)back, (unsigned long)elapsed,
                          (uint64_t)starts[k]);
                for (n = 0; n <= 8; n++) { /* up to twice `open` */
                    retry_time at = check_after(now, (retry_ms)(opens[i] * n / 4));
                    CHECK_RANGE(0, opens[i], retry_breaker_ask(&breaker, false, at).wait);
                }
                if (back > elapsed && (back - elapsed > opens[i] || back - elapsed > 32768))
                    CHECK(granted(&breaker, now));
                else
                    CHECK(granted(&breaker, check_after(now, 2 * opens[i])));
            }
        }
    }
}

/* A clock that is 32,768 ms behind is another thread's, however long the window and `open` are.
   Further behind it was set back: nobody waits until it has caught up. */
static void test_set_back(void)
{
    static const struct {
        retry_ms back;
        bool set_back;
    } steps[] = {{32767, false}, {32768, false}, {32769, true},
                 {HOUR, true},   {DAY, true},    {20 * DAY, true}};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(steps); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time now = check_after(starts[j], steps[i].set_back ? 0 : UINT32_C(0x800000));
            retry_time before = check_before(now, steps[i].back);
            retry_breaker breaker = breaker_of(0, 0, 1000000, 0), open = opened(1000000, 0, now);
            check_row("%lu back, start %" PRIu64, (unsigned long)steps[i].back,
                      (uint64_t)starts[j]);
            attempts(&breaker, 10, &sick, now);
            attempts(&breaker, 9, NULL, before);
            CHECK_COUNTS(steps[i].set_back ? 9 : 19, steps[i].set_back ? 0 : 10, &breaker, before);
            CHECK_COUNTS(0, 0, &breaker, check_after(now, 1000000));
            CHECK_EQUAL(steps[i].set_back, granted(&open, before));
        }
    }
}

/* After any idle time, up to 100 days in steps of an hour, the first calls decide as after the
   longest time that the breaker itself knows. */
static void check_idle(retry_time start, retry_time idle)
{
    retry_breaker closed = breaker_of(0, 0, 0, 0), open = opened(0, 0, start);
    retry_breaker probing = opened(0, 0, start), row = breaker_of(0, 0, 0, 0);
    retry_time probed = check_after(start, 2000), now = check_after(probed, idle);
    retry_permit permit = retry_breaker_ask(&probing, true, probed), kept;
    attempts(&closed, 19, &sick, probed);
    CHECK_COUNTS(0, 0, &closed, now);
    CHECK_EQUAL(20, sick_to_open(&closed, 30, now));
    CHECK_EQUAL(0, attempts(&closed, 19, NULL, now));
    CHECK_STATE(HALF_OPEN, &open, now);
    CHECK_EQUAL(1, attempts(&open, 1, &sick, now));
    CHECK_EQUAL(2000, retry_breaker_ask(&open, true, now).wait);
    CHECK(granted(&open, check_after(now, 2000)));
    CHECK(permit.granted);
    CHECK_STATE(HALF_OPEN, &probing, now);
    CHECK(granted(&probing, now));
    CHECK(!granted(&probing, now));
    CHECK(retry_breaker_report(&probing, permit, NULL, now)); /* as the state is the same */
    kept = retry_breaker_ask(&row, true, probed);
    attempts(&row, 19, &sick, probed);
    CHECK(!retry_breaker_report(&row, kept, &sick, now));
    retry_breaker_set(&row, RETRY_BREAKER_ISOLATED, probed);
    CHECK(!granted(&row, now));
    retry_breaker_reset(&row, now);
    CHECK_EQUAL(20, sick_to_open(&row, 30, now));
}

static void test_idle(void)
{
    size_t i;
    uint32_t hours;
    for (hours = 1; hours <= 2400; hours += hours < 24 ? 1 : 1 + 9 * (CHECK_ONE_IN > 1)) {
        for (i = 0; i < CHECK_COUNT(starts); i++) {
            check_row("idle for %lu h, start %" PRIu64, (unsigned long)hours, (uint64_t)starts[i]);
            check_idle(starts[i], (retry_time)((uint64_t)hours * HOUR));
        }
    }
}

/* Around the 24.86 days that 31 bits of ms last, and their multiples: old counts may come back for
   the length of one window, a refusal for as long as `open`, and a clock that is a little behind
   may be taken for another thread's. No longer. */
static void test_idle_around_the_wrap(void)
{
    uint32_t wrap;
    int32_t offset;
    for (wrap = 1; wrap <= 4; wrap++) {
        for (offset = -20000; offset <= 20000; offset += 500) {
            retry_time at = (retry_time)(int64_t)(((int64_t)wrap * 0x80000000) + offset);
            retry_breaker closed = breaker_in_time(0, 0), open = opened(0, 0, 0);
            retry_breaker_counts counts;
            check_row("wrap %lu, %ld ms", (unsigned long)wrap, (long)offset);
            attempts(&closed, 19, &sick, 0);
            counts = retry_breaker_get(&closed, at);
            CHECK_EQUAL(offset >= -4000 && offset < 8000 ? 19 : 0, counts.reports);
            CHECK_COUNTS(0, 0, &closed, check_after(at, 12000));
            CHECK_EQUAL(wrap % 2 == 1 || offset < -2000 || offset >= 2000, granted(&open, at));
            CHECK_RANGE(0, 2000, retry_breaker_ask(&open, true, at).wait);
        }
    }
}

/* Who only asks is not idle; but only reports move the window on. */
static void test_asked_but_never_told(void)
{
    retry_breaker breaker = breaker_of(0, 0, 0, 0);
    retry_time now = 0;
    unsigned i;
    attempts(&breaker, 19, &sick, now);
    for (i = 0; i < 2400; i++) {
        now = check_after(now, HOUR);
        CHECK(granted(&breaker, now));
        CHECK_EQUAL(20, sick_to_open(&breaker, 30, now));
    }
}

int main(void)
{
    set_up();
    RUN(test_steps_back);
    RUN(test_half_a_window_back);
    RUN(test_refuses_after_a_step_back);
    RUN(test_set_back);
    RUN(test_idle);
    RUN(test_idle_around_the_wrap);
    RUN(test_asked_but_never_told);
    return check_done();
}
