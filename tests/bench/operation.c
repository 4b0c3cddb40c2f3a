/* What an operation costs that succeeds at once (start, next, ended, next): bench_operation KIND
   TIMES runs that many. The difference between two runs is the work alone, the loop around it
   included.

   alone     nothing is shared
   budget    a client with a strategy and a budget
   service   budget and limit: the recommended client
   all       a service with breaker, throttle, rate and latency, too
   nodes     a budget, and four nodes with a limit each */
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

static void alone(void)
{
}

static void with_budget(void)
{
    retry_service_init(&service, 0);
    service.client.gates = NULL;
}

static void with_service(void)
{
    retry_service_init(&service, 0);
}

static void with_all(void)
{
    retry_service_init(&service, 0);
    retry_gates_breaker(&service.gates, &breaker);
    retry_gates_throttle(&service.gates, &throttle);
    retry_gates_rate(&service.gates, &rate);
    retry_gates_latency(&service.gates, &latency);
}

static void with_nodes(void)
{
    size_t i;
    retry_client_nodes(&service.client, nodes, 4);
    retry_service_init(&service, 0);
    for (i = 0; i < 4; i++) {
        limits[i].max = 20;
        retry_gates_aimd(&nodes[i], &limits[i]);
    }
}

static void run(unsigned long times)
{
    static retry_operation op;
    retry_time now = 0;
    service.client.attempt_timeout = 500;
    op.request.client = &service.client;
    op.request.timeout = 2500;
    op.request.idempotent = true;
    for (; times != 0; times--) {
        retry_start(&op, now);
        retry_next(&op, now);
        now += 20; /* ms that the answer takes */
        retry_ended(&op, 0, NULL, now);
        if (retry_next(&op, now).verdict != RETRY_VERDICT_SUCCESS)
            exit(1);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*set_up)(void);
    } kinds[] = {{"alone", alone},
                 {"budget", with_budget},
                 {"service", with_service},
                 {"all", with_all},
                 {"nodes", with_nodes}};
    size_t i;
    for (i = 0; argc == 3 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        kinds[i].set_up();
        run(strtoul(argv[2], NULL, 10));
        return 0;
    }
    fprintf(stderr, "usage: bench_operation KIND TIMES\n");
    return 2;
}
