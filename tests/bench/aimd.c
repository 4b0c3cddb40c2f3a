/* What an AIMD limit adds to an operation: bench_aimd WHAT N makes 10,000 operations of one
   attempt. The last N ask and tell a limit, the others have gates without one. So the difference
   between two runs is the work of the limit alone; count it with callgrind.

   rise       answers, each of which raises the limit
   fall       throttled answers, each of which lowers it or, at the lowest, counts as if it did
   cooldown   an answer and a throttled one by turns, within a cooldown: nothing changes
   highest    answers at the highest limit: nothing to raise */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERATIONS 10000

static volatile uint32_t sink; /* keeps the results from being optimised away */

static retry_client client;
static retry_gates gates;
static retry_operation op;

static void operate(const retry_failure *failure, retry_time now)
{
    retry_start(&op, now);
    sink = retry_next(&op, now).what;
    retry_ended(&op, 0, failure, now);
    sink = retry_next(&op, now).cause;
}

/* Ends with `one` and `other` by turns. The limit has fallen before, and so many others are out. */
static void run(unsigned long limited, retry_ms spacing, uint32_t max, uint32_t others,
                const retry_failure *one, const retry_failure *other)
{
    retry_failure throttled = retry_classify_http(429, 0);
    retry_time now = 0;
    unsigned long i;
    retry_aimd aimd;
    memset(&aimd, 0, sizeof aimd);
    aimd.max = max;
    aimd.cooldown = 1000;
    client.strategy = retry_fail_fast();
    client.gates = &gates;
    op.request.client = &client;
    retry_gates_aimd(&gates, &aimd);
    operate(&throttled, now);
    retry_gates_aimd(&gates, NULL);
    gates.in_flight = others;
    for (i = 0; i < OPERATIONS; i++) {
        const retry_failure *this_one = one;
        if (i == OPERATIONS - limited)
            retry_gates_aimd(&gates, &aimd);
        one = other;
        other = this_one;
        now += spacing;
        operate(this_one, now);
    }
}

int main(int argc, char **argv)
{
    retry_failure throttled = retry_classify_http(429, 0);
    unsigned long limited = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    const char *what = limited - 1 < OPERATIONS ? argv[1] : "";
    if (strcmp(what, "rise") == 0) {
        run(limited, 6000, 2000000, 800000, NULL, NULL);
    } else if (strcmp(what, "fall") == 0) {
        run(limited, 6000, 1000000000, 0, &throttled, &throttled);
    } else if (strcmp(what, "cooldown") == 0) {
        run(limited, 0, 2000000, 800000, NULL, &throttled);
    } else if (strcmp(what, "highest") == 0) {
        run(limited, 6000, 1, 0, NULL, NULL);
    } else {
        fprintf(stderr, "usage: bench_aimd rise|fall|cooldown|highest N (1 to 10000)\n");
        return 2;
    }
    return 0;
}
