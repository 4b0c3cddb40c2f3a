/* What a percentile costs: bench_latency WHAT N. The difference between two runs is the work alone;
   count it with callgrind.

   add      what it adds to an operation of one attempt, which is answered after 5 to 40 ms: of
            10,000 the last N have a latency, the others gates without one
   get      the estimate, N times */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERATIONS 10000

static volatile uint32_t sink; /* keeps the results from being optimised away */
static retry_latency latency;
static retry_gates gates;

static void operate(retry_ms took)
{
    static retry_client client;
    static retry_operation op;
    client.gates = &gates;
    op.request.client = &client;
    retry_start(&op, 0);
    sink = retry_next(&op, 0).what;
    retry_ended(&op, 0, NULL, took);
    sink = retry_next(&op, took).what;
}

static void run_add(unsigned long samples)
{
    static const uint8_t took[16] = {10, 7, 15, 5, 9, 12, 22, 8, 11, 6, 40, 10, 13, 7, 18, 9};
    unsigned long i;
    retry_gates_latency(&gates, NULL);
    for (i = samples; i < OPERATIONS; i++)
        operate(took[i & 15]);
    retry_gates_latency(&gates, &latency);
    for (i = 0; i < samples; i++)
        operate(took[i & 15]);
    sink = retry_latency_get(&latency);
}

static void run_get(unsigned long times)
{
    unsigned long i;
    retry_gates_latency(&gates, &latency);
    for (i = 0; i < 768; i++)
        operate(10);
    for (i = 0; i < times; i++)
        sink = retry_latency_get(&latency);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(unsigned long count);
    } kinds[] = {{"add", run_add}, {"get", run_get}};
    unsigned long count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    size_t i;
    for (i = 0; count - 1 < OPERATIONS && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        kinds[i].run(count);
        return 0;
    }
    fprintf(stderr, "usage: bench_latency add|get N (1 to 10000)\n");
    return 2;
}
