/* What further copies cost an operation: bench_hedge WHAT OPERATIONS. The difference between two
   runs is the work alone; count it with callgrind. Copies follow one another at a latency's
   estimate, in a request with a deadline, and are paid for by a shared budget.

   won      the first copy answers
   due      a second copy is sent when the timer fires, one of both answers, the other is cancelled
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
static retry_operation operation;
static retry_copy copies[2];
static retry_hedge hedge;

/* The latency learns from operations of 10 ms. */
static void set_up(void)
{
    static const retry_budget_options options = {4000000000u, 10, 0,     0,     0, 0,
                                                 0,           0,  false, false, 0};
    retry_gates gates;
    int i;
    memset(&gates, 0, sizeof gates);
    retry_gates_latency(&gates, &latency);
    operation.request.client = &client;
    operation.request.timeout = 2500;
    operation.request.idempotent = true;
    client.gates = &gates;
    for (i = 0; i < 768; i++) {
        retry_start(&operation, 0);
        sink = retry_next(&operation, 0).copy;
        retry_ended(&operation, 0, NULL, 10);
    }
    client.gates = NULL;
    retry_budget_init(&budget, &options, 0);
    client.budget = &budget;
    hedge.latency = &latency;
    hedge.count = 2;
    hedge.copies = copies;
    retry_hedge_copies(&operation, &hedge);
}

/* What there is to do: the ms to wait, or 0 at the end. */
static retry_ms poll(retry_time now)
{
    retry_step step = retry_next(&operation, now);
    while (step.what < RETRY_DO_WAIT) {
        sink = step.timeout;
        step = retry_next(&operation, now);
    }
    return step.what == RETRY_DO_WAIT ? step.delay : 0;
}

static void run_won(unsigned long operations)
{
    unsigned long i;
    for (i = 0; i < operations; i++) {
        retry_start(&operation, 0);
        sink = poll(0);
        retry_ended(&operation, 0, NULL, 5);
        sink = poll(5);
    }
}

static void run_due(unsigned long operations)
{
    unsigned long i;
    for (i = 0; i < operations; i++) {
        retry_ms delay;
        retry_start(&operation, 0);
        delay = poll(0);
        sink = poll(delay);
        retry_ended(&operation, 0, NULL, delay + 1);
        sink = poll(delay + 1);
    }
}

static void run_failed(unsigned long operations)
{
    retry_failure failure = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    unsigned long i;
    for (i = 0; i < operations; i++) {
        retry_start(&operation, 0);
        sink = poll(0);
        retry_ended(&operation, 0, &failure, 5);
        sink = poll(5);
        retry_ended(&operation, 0, NULL, 6);
        sink = poll(6);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(unsigned long operations);
    } kinds[] = {{"won", run_won}, {"due", run_due}, {"failed", run_failed}};
    unsigned long operations = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    size_t i;
    set_up();
    for (i = 0; operations != 0 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        kinds[i].run(operations);
        return 0;
    }
    fprintf(stderr, "usage: bench_hedge won|due|failed OPERATIONS\n");
    return 2;
}
