/* What a throttle costs an attempt: bench_throttle WHAT ATTEMPTS asks before each and reports after
   it, one attempt a millisecond. The difference between two runs is the work alone; count it with
   callgrind.

   accepted   every attempt is accepted
   third      every third one is, so that some are refused */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint32_t sink; /* keeps the results from being optimised away */

static void run(unsigned period, unsigned long attempts)
{
    retry_failure failure;
    retry_throttle throttle;
    retry_time now;
    uint32_t random = 1;
    unsigned turn = 0;
    memset(&failure, 0, sizeof failure);
    memset(&throttle, 0, sizeof throttle);
    failure.reason = RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED;
    failure.throttle = true;
    for (now = 0; now < attempts; now++) {
        bool sent;
        random = random * 1664525u + 1013904223u;
        sent = retry_throttle_ask(&throttle, random, now);
        sink = sent;
        if (!sent)
            continue;
        turn = turn == 0 ? period - 1 : turn - 1;
        retry_throttle_report(&throttle, turn == 0 ? NULL : &failure, now);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        unsigned period;
    } kinds[] = {{"accepted", 1}, {"third", 3}};
    unsigned long attempts = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    size_t i;
    for (i = 0; attempts != 0 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        run(kinds[i].period, attempts);
        return 0;
    }
    fprintf(stderr, "usage: bench_throttle accepted|third ATTEMPTS\n");
    return 2;
}
