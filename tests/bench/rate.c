/* What a rate costs: bench_rate WHAT N asks N times and, when granted, reports an answer. The
   difference between two runs is the work alone; count it with callgrind.

   free       nothing was ever throttled: there is no limit
   paced      a send every 10 ms, answered, under a limit
   throttled  a send every 10 ms, and each answer asks for less load
   seldom     a send every 600 ms, answered: each call ends a half second
   refused    the bucket is empty: nothing is sent */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint32_t sink; /* keeps the results from being optimised away */

static void run(unsigned long times, uint32_t max, retry_ms spacing, const retry_failure *answer)
{
    retry_time now = 0;
    retry_rate rate;
    memset(&rate, 0, sizeof rate);
    rate.min = rate.max = max; /* thousandths of a send a second */
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
    if (strcmp(what, "free") == 0)
        run(times, 0, 10, NULL);
    else if (strcmp(what, "paced") == 0)
        run(times, 1000000, 10, NULL);
    else if (strcmp(what, "throttled") == 0)
        run(times, 1000000, 10, &throttled);
    else if (strcmp(what, "seldom") == 0)
        run(times, 1000000, 600, &throttled);
    else if (strcmp(what, "refused") == 0)
        run(times, 1000, 0, NULL);
    else
        fprintf(stderr, "usage: bench_rate free|paced|throttled|seldom|refused N\n");
    return sink != (strcmp(what, "refused") == 0);
}
