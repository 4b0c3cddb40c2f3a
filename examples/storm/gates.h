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
    uint32_t which;
    retry_breaker breakers[NODES_MAX]; /* one for each node */
    retry_throttle throttle;
    retry_rate rate;
    retry_aimd aimd;
    uint32_t in_use; /* attempts on the wire */
} gates;

static void gates_begin(gates *g, uint32_t which)
{
    g->which = which;
    for (uint32_t node = 0; node < NODES_MAX; node++)
        g->breakers[node].window = GATE_WINDOW;
    g->throttle.window = GATE_WINDOW;
    g->aimd.max = AT_ONCE;
}

/* Whether an attempt may be sent; if not, `failure` is what to tell retry_orchestrate, and nothing
   is to be reported. */
static bool gates_ask(gates *g, uint32_t node, uint32_t random, uint32_t now, retry_permit *permit,
                      retry_failure *failure)
{
    static const retry_failure refused = {.reason = RETRY_REASON_CLIENT_THROTTLED};
    *failure = refused;
    if (g->which & GATE_RATE)
        failure->retry_after = retry_rate_ask(&g->rate, now);
    if (failure->retry_after != 0)
        return false;
    if (g->which & GATE_BREAKER) {
        *permit = retry_breaker_ask(&g->breakers[node], true, now);
        *failure = permit->granted ? refused : retry_classify_permit(*permit);
        if (!permit->granted)
            return false;
    }
    if (((g->which & GATE_AIMD) && g->in_use >= retry_aimd_limit(&g->aimd)) ||
        ((g->which & GATE_THROTTLE) && !retry_throttle_ask(&g->throttle, random, now))) {
        retry_breaker_release(&g->breakers[node], *permit, now);
        return false;
    }
    g->in_use++;
    return true;
}

/* An attempt has ended; `failure` NULL: it worked. */
static void gates_report(gates *g, uint32_t node, retry_permit permit, const retry_failure *failure,
                         uint32_t now)
{
    if (g->which & GATE_RATE)
        retry_rate_report(&g->rate, failure, now);
    if (g->which & GATE_BREAKER)
        retry_breaker_report(&g->breakers[node], permit, failure, now);
    if (g->which & GATE_AIMD)
        retry_aimd_report(&g->aimd, failure, g->in_use, now);
    if (g->which & GATE_THROTTLE)
        retry_throttle_report(&g->throttle, failure, now);
    g->in_use--;
}

/* ---- A known number ------------------------------------------------------------------------ */

enum { THROTTLE_PASSES = 30 }; /* s within which half of the attempts must pass again */

/* 100 attempts a second, of which none is accepted for 200 s, then all: s until half of those of a
   second pass. */
static uint32_t throttle_recovery(dice *chance)
{
    static const retry_failure late = {.reason = RETRY_REASON_ATTEMPT_TIMED_OUT, .timeout = true};
    retry_throttle throttle = {.max_rejection = RETRY_RATIO(0.999)};
    for (uint32_t second = 0; second < 1000; second++) {
        uint32_t passed = 0;
        for (uint32_t now = second * 1000; now < (second + 1) * 1000; now += 10) {
            if (!retry_throttle_ask(&throttle, dice_bits(chance), now))
                continue;
            passed++;
            retry_throttle_report(&throttle, second < 200 ? &late : NULL, now);
        }
        if (second >= 200 && passed >= 50)
            return second - 200;
    }
    return NEVER;
}

#endif /* STORM_GATES_H */
