/* The system's clock: it does not step back, and sleeping takes it on. Needs an operating system.
 */
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700 /* POSIX, and its interval timer */
#endif
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../retry.h"
#include "check.h"

static void test_monotonic(void)
{
    retry_clock clock = retry_system_clock();
    retry_time last = clock.now(clock.context);
    unsigned i;
    for (i = 0; i < 10000; i++) {
        retry_time now = clock.now(clock.context);
        CHECK(now >= last || last - now > (retry_time)-1 / 2); /* 32 bits may wrap */
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

static bool second_time(void *context, const retry_request *request, retry_failure *failure)
{
    (void)request;
    failure->reason = RETRY_REASON_KV_LOCKED;
    return ++*(unsigned *)context == 2;
}

static void test_run(void)
{
    retry_clock clock = retry_system_clock();
    retry_request request;
    unsigned tries = 0;
    memset(&request, 0, sizeof request);
    request.timeout = 60000;
    CHECK_EQUAL(RETRY_VERDICT_SUCCESS, retry_run(&request, &clock, second_time, &tries).verdict);
    CHECK_EQUAL(2, tries);
}

int main(void)
{
    RUN(test_monotonic);
    RUN(test_sleep);
#ifndef _WIN32
    RUN(test_interrupted_sleep);
#endif
    RUN(test_run);
    return check_done();
}
