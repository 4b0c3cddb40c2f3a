/* quickstart.c: a flaky operation that fails three times, under retry_run and the system's clock.
       cc -o quickstart examples/quickstart.c && ./quickstart */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <stdio.h>

static bool ask(void *context, const retry_request *request, retry_ms timeout,
                retry_failure *failure)
{
    (void)timeout;
    unsigned *calls = context;
    bool done = ++*calls > 3;
    printf("attempt %u after %u ms: %s\n", *calls, request->last_delay, done ? "done" : "busy");
    if (!done)
        *failure = retry_classify_http(503, 0); /* what went wrong, in the library's terms */
    return done;
}

int main(void)
{
    unsigned calls = 0;
    retry_clock clock = retry_system_clock();
    retry_policy policy = RETRY_POLICY_BEST_EFFORT; /* from 1 ms on: */
    policy.backoff.initial = 200;                   /* ms, so that the waits can be seen */
    retry_request request = {0};
    request.strategy = &policy.base;
    request.timeout = 2500; /* ms for all attempts and the waits between them */
    request.idempotent = true;
    retry_decision decision = retry_run(&request, &clock, ask, &calls);
    printf("%s after %u retries\n", retry_verdict_name(decision.verdict), request.attempts);
    return decision.verdict == RETRY_VERDICT_SUCCESS ? 0 : 1;
}
