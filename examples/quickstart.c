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
    unsigned *calls = context;
    bool done = ++*calls > 3;
    printf("attempt %u, for %u ms: %s\n", request->attempts + 1, timeout, done ? "done" : "busy");
    if (!done)
        *failure = retry_classify_http(503, 0); /* what went wrong, in the library's terms */
    return done;
}

int main(void)
{
    static const retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(1); /* at once */
    unsigned calls = 0;
    retry_clock clock = retry_system_clock();
    retry_budget budget; /* so that a server that is down gets few retries */
    retry_client client = {.budget = &budget, .attempt_timeout = 500};                /* ms */
    retry_request request = {.client = &client, .timeout = 2500, .idempotent = true}; /* ms */
    retry_budget_init(&budget, &options, clock.now(NULL));
    retry_decision decision = retry_run(&request, &clock, ask, &calls);
    printf("%s after %u retries\n", retry_verdict_name(decision.verdict), request.attempts);
    return decision.verdict == RETRY_VERDICT_SUCCESS ? 0 : 1;
}
