/* What an AIMD limit costs: bench_aimd WHAT N reports N attempts. The difference between two runs
   is the work alone; count it with callgrind.

   rise       answers, each of which raises the limit
   fall       failures, each of which lowers it or, at the lowest, counts as if it did
   cooldown   an answer and a failure by turns, within a cooldown: nothing changes
   highest    answers at the highest limit: nothing to raise */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint32_t sink; /* keeps the results from being optimised away */

/* Reports `one` and `other` by turns, to a limit that has fallen before. */
static void run(unsigned long times, retry_ms spacing, uint32_t max, const retry_failure *one,
                const retry_failure *other)
{
    retry_failure closed = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    retry_time now = 0;
    retry_aimd aimd;
    memset(&aimd, 0, sizeof aimd);
    aimd.max = max;
    retry_aimd_report(&aimd, &closed, 1, now);
    for (; times != 0; times--) {
        const retry_failure *this_one = one;
        one = other;
        other = this_one;
        now += spacing;
        sink = retry_aimd_report(&aimd, this_one, UINT32_MAX, now);
    }
}

int main(int argc, char **argv)
{
    retry_failure closed = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    unsigned long times = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    const char *what = times != 0 ? argv[1] : "";
    if (strcmp(what, "rise") == 0)
        run(times, 6000, 1000000000, NULL, NULL);
    else if (strcmp(what, "fall") == 0)
        run(times, 6000, 1000000000, &closed, &closed);
    else if (strcmp(what, "cooldown") == 0)
        run(times, 0, 1000000000, NULL, &closed);
    else if (strcmp(what, "highest") == 0)
        run(times, 6000, 1, NULL, NULL);
    else
        fprintf(stderr, "usage: bench_aimd rise|fall|cooldown|highest N\n");
    return sink == 0;
}
