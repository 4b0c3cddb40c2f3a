/* What a failed attempt costs: bench_decision KIND OPERATIONS FAILURES runs that many operations of
   so many failures each, which are retried at once. The difference between two runs is the work
   alone, the loop around it included; count it with callgrind, or with QEMU's log of what it
   executes.

   retry    best effort, full jitter, a deadline, the built-in generator
   budget   the same, paid for by a shared budget
   policy   the same as retry, by a retry_policy of one's own
   shift    by hand: min(cap, base << n), jitter by multiply and shift
   pow      by hand: pow() and rand(), as in most loops that one finds */
#include "../../retry.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint32_t sink; /* keeps the results from being optimised away */

static void operate(const retry_client *client, unsigned long operations, uint32_t failures)
{
    static volatile retry_reason hidden = RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED;
    retry_operation op;
    unsigned long i;
    uint32_t n;
    memset(&op, 0, sizeof op);
    op.client = client;
    op.timeout = 60000;
    op.idempotent = true;
    for (i = 0; i < operations; i++) {
        retry_time now = (retry_time)i;
        retry_start(&op, NULL, now);
        for (n = failures; n != 0; n--) {
            retry_failure failure;
            memset(&failure, 0, sizeof failure);
            failure.reason = hidden;
            sink = retry_next(&op, now).delay;
            retry_ended(&op, 0, &failure, now);
            now += op.delay;
            sink = op.delay;
        }
        sink = retry_next(&op, now).delay;
        retry_ended(&op, 0, NULL, now);
    }
}

static void run_retry(unsigned long operations, uint32_t failures)
{
    retry_client client;
    memset(&client, 0, sizeof client);
    operate(&client, operations, failures);
}

static void run_budget(unsigned long operations, uint32_t failures)
{
    static const retry_budget_options options = {
        .capacity = 500000, .retry_cost = 1000, .success_deposit = 12000};
    retry_client client;
    retry_budget budget;
    memset(&client, 0, sizeof client);
    retry_budget_init(&budget, &options, 0);
    client.budget = &budget;
    operate(&client, operations, failures);
}

static void run_policy(unsigned long operations, uint32_t failures)
{
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_client client;
    memset(&client, 0, sizeof client);
    client.strategy = &policy.base;
    operate(&client, operations, failures);
}

static uint32_t state = 1;

static void run_shift(unsigned long operations, uint32_t failures)
{
    unsigned long i;
    uint32_t n;
    for (i = 0; i < operations; i++) {
        uint64_t now = i;
        for (n = 0; n < failures; n++) {
            uint32_t delay = n < 9 ? 1u << n : 500;
            delay = delay < 500 ? delay : 500;
            state = state * 1664525u + 1013904223u;
            delay = (uint32_t)(((uint64_t)state * (delay + 1)) >> 32);
            if (now + delay >= i + 60000)
                break;
            now += delay;
            sink = delay;
        }
    }
}

static void run_pow(unsigned long operations, uint32_t failures)
{
    unsigned long i;
    uint32_t n;
    for (i = 0; i < operations; i++) {
        double now = (double)i;
        for (n = 0; n < failures; n++) {
            double delay = fmin(500.0, pow(2.0, n));
            delay *= rand() / (RAND_MAX + 1.0);
            if (now + delay >= (double)i + 60000)
                break;
            now += delay;
            sink = (uint32_t)delay;
        }
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(unsigned long operations, uint32_t failures);
    } kinds[] = {{"retry", run_retry},
                 {"budget", run_budget},
                 {"policy", run_policy},
                 {"shift", run_shift},
                 {"pow", run_pow}};
    size_t i;
    for (i = 0; argc == 4 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        retry_seed(1); /* the same delays in every run */
        kinds[i].run(strtoul(argv[2], NULL, 10), (uint32_t)strtoul(argv[3], NULL, 10));
        return 0;
    }
    fprintf(stderr, "usage: bench_decision KIND OPERATIONS FAILURES\n");
    return 2;
}
