/* What an operation costs: bench_operation PART... TIMES runs that many. The
   difference between two runs is the work alone, the loop around it included; count it with
   callgrind. Without a part nothing is shared. The client's parts:

   budget      the policy and the budget of a service
   service     these, and an AIMD limit: the recommended client
   breaker     this and the next four: a gate added to a service
   throttle
   rate        nothing was ever throttled, so there is no limit
   paced       a rate with a limit, above what is sent
   latency
   nodes       the policy and the budget of a service, and four nodes with a limit each

   An operation of one attempt, which is answered after 20 ms, in a program that blocks; or of
   these:

   retry       a first attempt is answered by 503 after 20 ms, and a second one works
   loop        in an event loop, which calls retry_next until it says WAIT
   hedge       the same, and a copy may be sent after 40 ms: none is
   copy        the same, and a copy is sent, and answered after 20 ms: the first is cancelled */
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static retry_service service;
static retry_gates nodes[4];
static retry_aimd limits[4];
static retry_breaker breaker;
static retry_throttle throttle;
static retry_rate rate;
static retry_latency latency;
static retry_operation op;
static retry_copy copies[1];
static retry_hedge hedge;
static bool copied;

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench_operation: %s\n", what);
    exit(1);
}

/* In a program that blocks, as retry_run calls these. */
static void run_at_once(unsigned long times)
{
    retry_time now = 0;
    for (; times != 0; times--) {
        retry_start(&op, NULL, now);
        must(retry_next(&op, now).what == RETRY_DO_SEND, "no attempt");
        now += 20;
        retry_ended(&op, 0, NULL, now);
        must(retry_next(&op, now).verdict == RETRY_VERDICT_SUCCESS, "no success");
    }
}

static void run_retry(unsigned long times)
{
    static volatile int status = 503; /* the compiler must not know it */
    retry_time now = 0;
    for (; times != 0; times--) {
        retry_failure failure;
        retry_step step;
        retry_start(&op, NULL, now);
        must(retry_next(&op, now).what == RETRY_DO_SEND, "no attempt");
        now += 20;
        failure = retry_classify_http(status, 0);
        retry_ended(&op, 0, &failure, now);
        step = retry_next(&op, now);
        must(step.cause == RETRY_CAUSE_STRATEGY, "no retry");
        now += step.delay;
        must(retry_next(&op, now).what == RETRY_DO_SEND, "no second attempt");
        now += 20;
        retry_ended(&op, 0, NULL, now);
        must(retry_next(&op, now).verdict == RETRY_VERDICT_SUCCESS, "no success");
    }
}

/* In an event loop, whose timer fires before the answer if another copy is to be sent. */
static void run_loop(unsigned long times)
{
    retry_time now = 0;
    for (; times != 0; times--) {
        retry_step step;
        retry_start(&op, NULL, now);
        must(retry_next(&op, now).what == RETRY_DO_SEND, "no attempt");
        step = retry_next(&op, now);
        must(step.what == RETRY_DO_WAIT, "no WAIT");
        if (copied) {
            now += step.delay;
            must(retry_next(&op, now).copy == 1, "no copy");
            must(retry_next(&op, now).what == RETRY_DO_WAIT, "no WAIT behind the copy");
        }
        now += 20;
        retry_ended(&op, copied, NULL, now);
        if (copied)
            must(retry_next(&op, now).what == RETRY_DO_CANCEL, "no CANCEL");
        must(retry_next(&op, now).verdict == RETRY_VERDICT_SUCCESS, "no success");
    }
}

static void (*run)(unsigned long times) = run_at_once;

static void add_service(void)
{
    static const retry_budget_options earned = RETRY_BUDGET_BEST_EFFORT(20);
    retry_budget_options options = earned;
    options.retry_cost = options.timeout_cost = 10; /* thousandths: a success pays for ten */
    retry_budget_init(&service.budget, &options, 0);
    retry_service_init(&service, 0);
}

static void add_budget(void)
{
    add_service();
    service.client.gates = NULL;
}

static void add_breaker(void)
{
    retry_gates_breaker(&service.gates, &breaker);
}

static void add_throttle(void)
{
    retry_gates_throttle(&service.gates, &throttle);
}

static void add_rate(void)
{
    retry_gates_rate(&service.gates, &rate);
}

static void add_paced(void)
{
    rate.max = RETRY_PER_SECOND(100);
    add_rate();
}

static void add_latency(void)
{
    retry_gates_latency(&service.gates, &latency);
}

static void add_nodes(void)
{
    size_t i;
    retry_client_nodes(&service.client, nodes, 4);
    add_service();
    for (i = 0; i < 4; i++) {
        limits[i].max = 20;
        retry_gates_aimd(&nodes[i], &limits[i]);
    }
}

static void add_retry(void)
{
    run = run_retry;
}

static void add_loop(void)
{
    run = run_loop;
}

static void add_hedge(void)
{
    run = run_loop;
    hedge.delay = 40;
    hedge.copies = copies;
    hedge.count = 1;
    retry_hedge_copies(&op, &hedge);
}

static void add_copy(void)
{
    add_hedge();
    copied = true;
}

static const struct part {
    const char *name;
    void (*add)(void);
} parts[] = {{"budget", add_budget},     {"service", add_service}, {"breaker", add_breaker},
             {"throttle", add_throttle}, {"rate", add_rate},       {"paced", add_paced},
             {"latency", add_latency},   {"nodes", add_nodes},     {"retry", add_retry},
             {"loop", add_loop},         {"hedge", add_hedge},     {"copy", add_copy}};

int main(int argc, char **argv)
{
    const size_t count = sizeof parts / sizeof parts[0];
    const unsigned long times = argc > 1 ? strtoul(argv[argc - 1], NULL, 10) : 0;
    int i;
    for (i = 1; times != 0 && i < argc - 1; i++) {
        size_t n = 0;
        while (n < count && strcmp(argv[i], parts[n].name) != 0)
            n++;
        must(n < count, argv[i]);
        parts[n].add();
    }
    if (times == 0) {
        fprintf(stderr, "usage: bench_operation PART... TIMES\n");
        return 2;
    }
    retry_seed(1); /* the same delays in every run */
    service.client.cut_after = 500;
    op.client = &service.client;
    op.timeout = 2500;
    op.idempotent = true;
    run(times);
    return 0;
}
