/* gates.h: the gates that a group of clients asks before each attempt, in the order in which
   retry.h's manual has them. */
#ifndef STORM_GATES_H
#define STORM_GATES_H

#include "random.h"
#include "service.h"

/* Which gates a scheme has. */
enum { GATE_BREAKER = 1, GATE_THROTTLE = 2, GATE_RATE = 4, GATE_AIMD = 8 };

/* As long as a failure in this simulation, not the minute or two of the defaults. */
enum { GATE_WINDOW = 8000, AT_ONCE = 20 };

typedef struct gates {
    retry_throttle throttle;
    retry_rate rate;
    retry_breaker breakers[NODES_MAX]; /* one for each node, as the next three */
    retry_aimd limits[NODES_MAX];
    retry_gates nodes[NODES_MAX];
    retry_client clients[NODES_MAX];
} gates;

static void gates_begin(gates *g, uint32_t which, dice *chance)
{
    g->throttle.window = GATE_WINDOW;
    for (uint32_t node = 0; node < NODES_MAX; node++) {
        g->breakers[node].window = GATE_WINDOW;
        g->limits[node].max = AT_ONCE;
        g->clients[node].strategy = retry_fail_fast();
        g->clients[node].random = dice_bits;
        g->clients[node].random_context = chance;
        g->clients[node].gates = &g->nodes[node];
        if (which & GATE_BREAKER)
            retry_gates_breaker(&g->nodes[node], &g->breakers[node]);
        if (which & GATE_THROTTLE)
            retry_gates_throttle(&g->nodes[node], &g->throttle);
        if (which & GATE_AIMD)
            retry_gates_aimd(&g->nodes[node], &g->limits[node]);
        if (which & GATE_RATE)
            retry_gates_rate(&g->nodes[node], &g->rate);
    }
}

/* Whether an attempt may be sent: an operation for which nothing is tried again asks, and hears of
   its end. If not, `failure` is what the operation failed with, and nothing is to be reported. */
static bool gates_ask(retry_operation *op, const retry_client *client, uint32_t now,
                      retry_failure *failure)
{
    static const retry_failure refused = {.reason = RETRY_REASON_CLIENT_THROTTLED};
    retry_step step;
    op->client = client;
    op->timeout = UINT32_MAX;
    retry_start(op, NULL, now);
    step = retry_next(op, now);
    *failure = refused;
    failure->retry_after = step.delay;
    if (step.cause == RETRY_CAUSE_CIRCUIT_OPEN)
        failure->reason = RETRY_REASON_CIRCUIT_BREAKER_OPEN;
    retry_stop(step.what == RETRY_DO_SEND ? NULL : op, now);
    return step.what == RETRY_DO_SEND;
}

/* ---- A known number ------------------------------------------------------------------------ */

enum { THROTTLE_PASSES = 30 }; /* s within which half of the attempts must pass again */

/* 100 attempts a second, of which none is accepted for 200 s, then all: s until half of those of a
   second pass. */
static uint32_t throttle_recovery(dice *chance)
{
    static const retry_failure late = {.reason = RETRY_REASON_ATTEMPT_TIMED_OUT, .timeout = true};
    static retry_throttle throttle = {.max_rejection = RETRY_RATIO(0.999)};
    retry_gates asked = {.in_flight = 0};
    retry_client client = {.strategy = retry_fail_fast(),
                           .random = dice_bits,
                           .random_context = chance,
                           .gates = &asked};
    retry_operation op = {.client = &client};
    retry_failure failure;
    retry_gates_throttle(&asked, &throttle);
    for (uint32_t second = 0; second < 1000; second++) {
        uint32_t passed = 0;
        for (uint32_t now = second * 1000; now < (second + 1) * 1000; now += 10) {
            if (!gates_ask(&op, &client, now, &failure))
                continue;
            passed++;
            retry_ended(&op, 0, second < 200 ? &late : NULL, now);
        }
        if (second >= 200 && passed >= 50)
            return second - 200;
    }
    return NEVER;
}

#endif /* STORM_GATES_H */
