/* quickstart.c: the recommended client, as README.md shows it.
       cc -o quickstart examples/quickstart.c && ./quickstart */
#define _POSIX_C_SOURCE 200809L
#define RETRY_IMPLEMENTATION /* in one C or C++ file of your program */
#define RETRY_SYSTEM_CLOCK
#include "../retry.h"
#include <stdio.h>

static bool attempt(void *context, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    int status = op->retries < 2 ? 503 : 200; /* your call; it may take step->timeout ms */
    (void)context;                            /* what you hand to retry_run */
    printf("waited %u ms, has %u ms: %d\n", (unsigned)op->delay, (unsigned)step->timeout, status);
    *failure = retry_classify_http(status, 0); /* 0: there was no Retry-After header */
    return status == 200;
}

int main(void)
{
    static retry_service service; /* one for each server: policy, budget, limit, client */
    retry_operation op = {0};     /* one for each operation */
    retry_clock clock = retry_system_clock();
    service.client.cut_after = 1000; /* ms: ten times what an answer usually takes */
    retry_service_init(&service, clock.now(clock.context));
    op.timeout = 5000;    /* ms for the operation, with all attempts and waits */
    op.idempotent = true; /* doing it twice does no more than doing it once */
    retry_step end = retry_run(&op, &service, &clock, attempt, NULL);
    printf("%s (%s), retries: %u%s\n", retry_verdict_name(end.verdict), retry_cause_text(end.cause),
           (unsigned)op.retries, op.ambiguous ? ", perhaps done" : "");
    return end.verdict == RETRY_VERDICT_SUCCESS ? 0 : 1;
}
