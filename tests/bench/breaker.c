/* What a circuit breaker costs an attempt: bench_breaker WHAT ATTEMPTS asks before each and reports
   after it, one attempt a millisecond. The difference between two runs is the work alone; count it
   with callgrind.

   answered   every report is an answer
   sick       every other report is sick, at a ratio that does not open the breaker
   open       the breaker is open: every ask is refused */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint32_t sink; /* keeps the results from being optimised away */

static void attempt(retry_breaker *breaker, const retry_failure *failure, unsigned long attempts)
{
    retry_time now;
    for (now = 0; now < attempts; now++) {
        retry_permit permit = retry_breaker_ask(breaker, true, now);
        sink = permit.wait;
        retry_breaker_report(breaker, permit, now & 1 ? failure : NULL, now);
    }
}

static void run_answered(retry_breaker *breaker, unsigned long attempts)
{
    attempt(breaker, NULL, attempts);
}

static void run_sick(retry_breaker *breaker, unsigned long attempts)
{
    retry_failure failure;
    memset(&failure, 0, sizeof failure);
    failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
    breaker->ratio = RETRY_RATIO(0.6);
    attempt(breaker, &failure, attempts);
}

static void run_open(retry_breaker *breaker, unsigned long attempts)
{
    retry_failure failure;
    memset(&failure, 0, sizeof failure);
    failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
    breaker->volume = 1;
    breaker->open = UINT32_C(1) << 30;
    retry_breaker_report(breaker, retry_breaker_ask(breaker, true, 0), &failure, 0);
    attempt(breaker, &failure, attempts);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(retry_breaker *breaker, unsigned long attempts);
    } kinds[] = {{"answered", run_answered}, {"sick", run_sick}, {"open", run_open}};
    unsigned long attempts = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    retry_breaker breaker;
    size_t i;
    memset(&breaker, 0, sizeof breaker);
    for (i = 0; attempts != 0 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        kinds[i].run(&breaker, attempts);
        return 0;
    }
    fprintf(stderr, "usage: bench_breaker answered|sick|open ATTEMPTS\n");
    return 2;
}
