/* quickstart.c: the recommended client, as README.md shows it.
       cc -o quickstart examples/quickstart.c && ./quickstart */
#define _POSIX_C_SOURCE 200809L
#define RETRY_IMPLEMENTATION /* in one C or C++ file of your program */
#define RETRY_SYSTEM_CLOCK
#include "../retry.h"
#include <stdio.h>

static bool attempt(void *context, const retry_request *request, retry_ms timeout,
                    retry_failure *failure)
{
    int *calls = (int *)context;
    int status = ++*calls < 3 ? 503 : 200; /* your call, for at most `timeout` ms */
    printf("call %d: waited %u ms, has %u ms: %d\n", *calls, request->last_delay, timeout, status);
    if (status == 200)
        return true;
    *failure = retry_classify_http(status, 0); /* 0: there was no Retry-After header */
    return false;
}

int main(void)
{
    /* Once for each server; requests and threads share them. */
    static const retry_budget_options size = RETRY_BUDGET_BEST_EFFORT(20); /* operations at once */
    static retry_policy policy = RETRY_POLICY_BEST_EFFORT; /* retries until the timeout */
    static retry_budget budget;                            /* no retries while most attempts fail */
    static retry_aimd limit;  /* fewer attempts in flight while the server is ill */
    static retry_gates gates; /* asked before each attempt */
    static retry_client client;
    retry_clock clock = retry_system_clock();
    policy.backoff.initial = 100; /* ms: the first wait; each doubles, and is drawn at random */
    retry_budget_init(&budget, &size, clock.now(clock.context));
    limit.max = 20;
    retry_gates_aimd(&gates, &limit);
    client.strategy = &policy.base;
    client.budget = &budget;
    client.gates = &gates;
    client.attempt_timeout = 500; /* ms for one attempt */

    static retry_request request; /* one for each operation */
    int calls = 0;
    request.client = &client;
    request.timeout = 5000;    /* ms for the operation, with all attempts and waits */
    request.idempotent = true; /* doing it twice does no more than doing it once */
    retry_decision end = retry_run(&request, &clock, attempt, &calls);
    printf("%s after %u retries\n", retry_verdict_name(end.verdict), request.attempts);
    return end.verdict == RETRY_VERDICT_SUCCESS ? 0 : 1;
}
