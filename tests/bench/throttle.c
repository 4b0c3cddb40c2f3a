/* What a throttle adds to an operation: bench_throttle WHAT N makes 10,000 operations of one
   attempt, one each millisecond. The last N ask a throttle, the others have gates without one. So
   the difference between two runs is the work of the throttle alone; count it with callgrind.

   accepted   every attempt is accepted
   third      every third one is, so that some are refused */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERATIONS 10000

static volatile uint32_t sink; /* keeps the results from being optimised away */

static uint32_t next_random(void *state)
{
    uint32_t *random = (uint32_t *)state;
    *random = *random * 1664525u + 1013904223u;
    return *random;
}

/* One of `period` is accepted. */
static void run(unsigned period, unsigned long throttled)
{
    retry_failure failure = retry_classify_http(429, 0);
    retry_throttle throttle;
    retry_gates gates;
    retry_client client;
    retry_operation op;
    uint32_t random = 1;
    unsigned turn = 0;
    retry_time now;
    memset(&throttle, 0, sizeof throttle);
    memset(&gates, 0, sizeof gates);
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    client.strategy = retry_fail_fast();
    client.random = next_random;
    client.random_context = &random;
    client.gates = &gates;
    op.request.client = &client;
    retry_gates_throttle(&gates, NULL);
    for (now = 0; now < OPERATIONS; now++) {
        if (now == OPERATIONS - throttled)
            retry_gates_throttle(&gates, &throttle);
        retry_start(&op, now);
        if (retry_next(&op, now).what == RETRY_DO_SEND) {
            turn = turn == 0 ? period - 1 : turn - 1;
            retry_ended(&op, 0, turn == 0 ? NULL : &failure, now);
        }
        sink = retry_next(&op, now).cause;
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        unsigned period;
    } kinds[] = {{"accepted", 1}, {"third", 3}};
    unsigned long throttled = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    size_t i;
    for (i = 0; throttled - 1 < OPERATIONS && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        run(kinds[i].period, throttled);
        return 0;
    }
    fprintf(stderr, "usage: bench_throttle accepted|third N (1 to 10000)\n");
    return 2;
}
