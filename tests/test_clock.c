/* The system's clock: it does not step back, and sleeping takes it on. Needs an operating system.
 */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
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
    RUN(test_run);
    return check_done();
}
