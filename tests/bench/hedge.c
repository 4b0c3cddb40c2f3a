/* What hedging costs an attempt: bench_hedge WHAT ATTEMPTS. The difference between two runs is the
   work alone; count it with callgrind. Copies follow one another at a latency's estimate, in a
   request with a deadline, and are paid for by a shared budget.

   won      the first copy answers
   due      a second copy is sent when the timer fires, and one of both answers
   failed   the first copy fails, a second is sent at once and answers */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint32_t sink; /* keeps the results from being optimised away */

static retry_latency latency;
static retry_budget budget;
static retry_client client;
static retry_request request;
static retry_hedge hedge;

static void set_up(void)
{
    static const retry_budget_options options = {4000000000u, 10, 0, 0, 0, 0, 0, 0, false, false};
    static const retry_hedge_policy policy = {3, 0, &latency};
    int i;
    for (i = 0; i < 768; i++)
        retry_latency_add(&latency, 10, true);
    retry_budget_init(&budget, &options, 0);
    client.budget = &budget;
    request.client = &client;
    request.timeout = 2500;
    request.idempotent = true;
    retry_begin(&request, 0);
    hedge.policy = &policy;
}

static void run_won(unsigned long attempts)
{
    unsigned long i;
    for (i = 0; i < attempts; i++) {
        sink = retry_hedge_begin(&hedge, &request, 0).delay;
        sink = retry_hedge_won(&hedge);
    }
}

static void run_due(unsigned long attempts)
{
    unsigned long i;
    for (i = 0; i < attempts; i++) {
        retry_ms delay = retry_hedge_begin(&hedge, &request, 0).delay;
        sink = retry_hedge_due(&hedge, &request, delay).delay;
        sink = retry_hedge_won(&hedge);
    }
}

static void run_failed(unsigned long attempts)
{
    retry_failure failure = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    unsigned long i;
    for (i = 0; i < attempts; i++) {
        sink = retry_hedge_begin(&hedge, &request, 0).delay;
        sink = retry_hedge_failed(&hedge, &request, &failure, 5).delay;
        sink = retry_hedge_won(&hedge);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(unsigned long attempts);
    } kinds[] = {{"won", run_won}, {"due", run_due}, {"failed", run_failed}};
    unsigned long attempts = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    size_t i;
    set_up();
    for (i = 0; attempts != 0 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        kinds[i].run(attempts);
        return 0;
    }
    fprintf(stderr, "usage: bench_hedge won|due|failed ATTEMPTS\n");
    return 2;
}
