/* What a rate adds to an operation: bench_rate WHAT N makes 10,000 operations of one attempt. The
   last N ask and tell a rate, the others have gates without one. So the difference between two runs
   is the work of the rate alone; count it with callgrind.

   free       nothing was ever throttled: there is no limit
   paced      a send every 10 ms, answered, under a limit
   throttled  a send every 10 ms, and each answer asks for less load
   seldom     a send every 600 ms, throttled: each call ends a half second
   refused    the bucket is empty: N operations that are not sent, and no others */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERATIONS 10000

static volatile uint32_t sink; /* keeps the results from being optimised away */

static void run(unsigned long paced, uint32_t max, retry_ms spacing, const retry_failure *answer)
{
    retry_client client;
    retry_gates gates;
    retry_operation op;
    retry_rate rate;
    retry_time now = 0;
    unsigned long i = spacing != 0 ? 0 : OPERATIONS - paced;
    memset(&client, 0, sizeof client);
    memset(&gates, 0, sizeof gates);
    memset(&op, 0, sizeof op);
    memset(&rate, 0, sizeof rate);
    rate.min = rate.max = max; /* thousandths of a send a second */
    client.strategy = retry_fail_fast();
    client.gates = &gates;
    op.request.client = &client;
    retry_gates_rate(&gates, NULL);
    for (; i < OPERATIONS; i++) {
        if (i == OPERATIONS - paced)
            retry_gates_rate(&gates, &rate);
        now += spacing;
        retry_start(&op, now);
        if (retry_next(&op, now).what == RETRY_DO_SEND)
            retry_ended(&op, 0, answer, now);
        sink = retry_next(&op, now).cause;
    }
}

int main(int argc, char **argv)
{
    retry_failure throttled = retry_classify_http(429, 0);
    unsigned long paced = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    const char *what = paced - 1 < OPERATIONS ? argv[1] : "";
    if (strcmp(what, "free") == 0) {
        run(paced, 0, 10, NULL);
    } else if (strcmp(what, "paced") == 0) {
        run(paced, 1000000, 10, NULL);
    } else if (strcmp(what, "throttled") == 0) {
        run(paced, 1000000, 10, &throttled);
    } else if (strcmp(what, "seldom") == 0) {
        run(paced, 1000000, 600, &throttled);
    } else if (strcmp(what, "refused") == 0) {
        run(paced, 1000, 0, NULL);
    } else {
        fprintf(stderr, "usage: bench_rate free|paced|throttled|seldom|refused N (1 to 10000)\n");
        return 2;
    }
    return 0;
}
