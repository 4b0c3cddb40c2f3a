/* What a percentile costs: bench_latency WHAT SAMPLES. The difference between two runs is the work
   alone; count it with callgrind.

   add      a sample of an attempt that was answered, from 5 to 40 ms
   get      the estimate */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint32_t sink; /* keeps the results from being optimised away */
static retry_latency latency;

static void run_add(unsigned long samples)
{
    static const uint8_t took[16] = {10, 7, 15, 5, 9, 12, 22, 8, 11, 6, 40, 10, 13, 7, 18, 9};
    unsigned long i;
    for (i = 0; i < samples; i++)
        retry_latency_add(&latency, took[i & 15], true);
    sink = retry_latency_get(&latency);
}

static void run_get(unsigned long samples)
{
    unsigned long i;
    for (i = 0; i < 768; i++)
        retry_latency_add(&latency, 10, true);
    for (i = 0; i < samples; i++)
        sink = retry_latency_get(&latency);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(unsigned long samples);
    } kinds[] = {{"add", run_add}, {"get", run_get}};
    unsigned long samples = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    size_t i;
    for (i = 0; samples != 0 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        kinds[i].run(samples);
        return 0;
    }
    fprintf(stderr, "usage: bench_latency add|get SAMPLES\n");
    return 2;
}
