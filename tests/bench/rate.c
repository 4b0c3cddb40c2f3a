/* What an adaptive rate costs: bench_rate WHAT N asks N times and, when granted, reports an answer.
   The difference between two runs is the work alone; count it with callgrind.

   paced      a send every 10 ms, answered: the limit follows its curve
   seldom     a send every 3 s, answered: each answer ends half seconds
   throttled  a send every 10 ms, and each answer asks for less load
   refused    the bucket is empty: nothing is sent */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint32_t sink; /* keeps the results from being optimised away */

static void run(unsigned long times, retry_ms spacing, const retry_failure *answer)
{
    retry_failure throttled = retry_classify_http(429, 0);
    retry_time now = 0;
    retry_rate rate;
    memset(&rate, 0, sizeof rate);
    rate.min = 1000000; /* thousandths: a thousand sends a second are granted */
    retry_rate_report(&rate, &throttled, now);
    for (; times != 0; times--) {
        now += spacing;
        sink = retry_rate_ask(&rate, now);
        if (sink == 0)
            retry_rate_report(&rate, answer, now);
    }
}

int main(int argc, char **argv)
{
    retry_failure throttled = retry_classify_http(429, 0);
    unsigned long times = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    const char *what = times != 0 ? argv[1] : "";
    if (strcmp(what, "paced") == 0)
        run(times, 10, NULL);
    else if (strcmp(what, "seldom") == 0)
        run(times, 3000, NULL);
    else if (strcmp(what, "throttled") == 0)
        run(times, 10, &throttled);
    else if (strcmp(what, "refused") == 0)
        run(times, 0, NULL);
    else
        fprintf(stderr, "usage: bench_rate paced|seldom|throttled|refused N\n");
    return sink != (strcmp(what, "refused") == 0);
}
