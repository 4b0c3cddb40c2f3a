/* The system's clock: it does not step back, and sleeping takes it on. Needs an operating system.
 */
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700 /* POSIX, and its interval timer */
#endif

/* The clock and the sleep that POSIX has, unless a test takes their place; that needs the
   implementation in this file. */
#if !defined(_WIN32) && !defined(RETRY_IMPLEMENTED)
#define FAKED
#include <errno.h>
#include <stdbool.h>
#include <time.h>

static bool faked;
static struct timespec fake_time; /* what the clock shows */
static clockid_t fake_id;         /* which clock was asked */
static struct timespec asked[3];  /* what was asked for */
static unsigned sleeps;
static int fake_errno; /* why the first sleep fails, or 0; 5 ns are left then */

static int fake_gettime(clockid_t id, struct timespec *now)
{
    if (!faked)
        return clock_gettime(id, now);
    fake_id = id;
    *now = fake_time;
    return 0;
}

static int fake_sleep(const struct timespec *wanted, struct timespec *left)
{
    if (!faked)
        return nanosleep(wanted, left);
    if (sleeps == 3)
        return 0;
    asked[sleeps++] = *wanted;
    if (fake_errno == 0 || sleeps == 2)
        return 0;
    left->tv_sec = 0;
    left->tv_nsec = 5;
    errno = fake_errno;
    return -1;
}

#define clock_gettime fake_gettime
#define nanosleep fake_sleep
#endif

#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

static void test_monotonic(void)
{
    retry_clock clock = retry_system_clock();
    retry_time last = clock.now(clock.context);
    unsigned i;
    for (i = 0; i < 10000; i++) {
        retry_time now = clock.now(clock.context);
        CHECK(now >= last || last - now > (retry_time)-1 / 2); /* it may wrap */
        last = now;
    }
}

static void test_sleep(void)
{
    static const retry_ms delays[] = {0, 1, 2};
    retry_clock clock = retry_system_clock();
    size_t i;
    for (i = 0; i < CHECK_COUNT(delays); i++) {
        retry_time before = clock.now(clock.context), slept;
        clock.sleep(clock.context, delays[i]);
        slept = clock.now(clock.context);
        check_row("%lu ms", (unsigned long)delays[i]);
        CHECK(slept == check_after(before, delays[i]) ||
              slept - before > delays[i]); /* no upper bound: the machine may be busy */
    }
}

#ifndef _WIN32
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
    (void)number;
    alarms = alarms + 1;
}

/* Signals interrupt a sleep; it ends no earlier for that. */
static void test_interrupted_sleep(void)
{
    struct itimerval every = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action;
    retry_clock clock = retry_system_clock();
    retry_time before = clock.now(clock.context), slept;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    clock.sleep(clock.context, 60);
    setitimer(ITIMER_REAL, &never, NULL);
    slept = clock.now(clock.context);
    CHECK(alarms > 1);
    CHECK(slept == check_after(before, 60) || slept - before > 60);
}
#endif

static bool second_time(void *context, const retry_operation *op, const retry_step *step,
                        retry_failure *failure)
{
    (void)op;
    (void)step;
    failure->reason = RETRY_REASON_KV_LOCKED;
    return ++*(unsigned *)context == 2;
}

static void test_run(void)
{
    static retry_client client; /* zeroed */
    retry_clock clock = retry_system_clock();
    retry_operation op;
    unsigned tries = 0;
    memset(&op, 0, sizeof op);
    op.client = &client;
    op.timeout = 60000;
    CHECK_EQUAL(RETRY_VERDICT_SUCCESS, retry_run(&op, NULL, &clock, second_time, &tries).verdict);
    CHECK_EQUAL(2, tries);
}

#ifdef FAKED
static void test_arithmetic(void)
{
    static const struct {
        long seconds, nanoseconds;
        uint64_t ms;
    } times[] = {{0, 0, 0},
                 {0, 999999, 0},
                 {0, 1000000, 1},
                 {1, 999999999, 1999},
                 {12, 345678901, 12345},
                 {2000000000, 1, 2000000000000}};
    static const struct {
        retry_ms ms;
        long seconds, nanoseconds;
    } spans[] = {{1, 0, 1000000},    {999, 0, 999000000},  {1000, 1, 0},
                 {1001, 1, 1000000}, {1999, 1, 999000000}, {UINT32_MAX, 4294967, 295000000}};
    retry_clock clock = retry_system_clock();
    size_t i;
    faked = true;
    for (i = 0; i < CHECK_COUNT(times); i++) {
        fake_time.tv_sec = times[i].seconds;
        fake_time.tv_nsec = times[i].nanoseconds;
        CHECK_EQUAL((retry_time)times[i].ms, clock.now(clock.context));
    }
#ifdef CLOCK_BOOTTIME /* it goes on while the machine sleeps: an hour later a minute is over */
    CHECK_EQUAL(CLOCK_BOOTTIME, fake_id);
#else
    CHECK_EQUAL(CLOCK_MONOTONIC, fake_id);
#endif
    for (i = 0; i < CHECK_COUNT(spans); i++) {
        check_row("%lu ms", (unsigned long)spans[i].ms);
        sleeps = 0;
        clock.sleep(clock.context, spans[i].ms);
        CHECK_EQUAL(1, sleeps);
        CHECK_EQUAL(spans[i].seconds, asked[0].tv_sec);
        CHECK_EQUAL(spans[i].nanoseconds, asked[0].tv_nsec);
    }
    faked = false;
}

/* A signal leaves a rest, which is slept; another fault ends it. */
static void test_faults(void)
{
    static const int others[] = {EINTR - 1, EINTR + 1, EINVAL};
    retry_clock clock = retry_system_clock();
    size_t i;
    faked = true;
    sleeps = 0;
    fake_errno = EINTR;
    clock.sleep(clock.context, 1500);
    CHECK_EQUAL(2, sleeps);
    CHECK_EQUAL(0, asked[1].tv_sec);
    CHECK_EQUAL(5, asked[1].tv_nsec);
    for (i = 0; i < CHECK_COUNT(others); i++) {
        check_row("errno %d", others[i]);
        sleeps = 0;
        fake_errno = others[i];
        clock.sleep(clock.context, 1500);
        CHECK_EQUAL(1, sleeps);
    }
    fake_errno = 0;
    faked = false;
}
#endif

int main(void)
{
#ifdef FAKED
    RUN(test_arithmetic);
    RUN(test_faults);
#endif
    RUN(test_monotonic);
    RUN(test_sleep);
#ifndef _WIN32
    RUN(test_interrupted_sleep);
#endif
    RUN(test_run);
    return check_done();
}
