/* event_loop.c: three operations at once in an event loop, each with one timer. A server that is
   busy, hangs up and comes back is simulated; so is the clock, which jumps from timer to timer.

       cc -o event_loop examples/event_loop.c && ./event_loop */
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <stdio.h>

enum { ON_WIRE, WAITING, ENDED };

typedef struct operation {
    const char *name;
    retry_request request;
    retry_time timer; /* when the state is over */
    int state;
} operation;

static retry_time now;

enum { ANSWERS = 60 }; /* ms until the server has answered, or hung up */

/* An attempt lasts no longer than the operation may. */
static void begin_attempt(operation *op)
{
    op->state = ON_WIRE;
    op->timer = now + retry_remaining(&op->request, ANSWERS, now);
}

static void end(operation *op, const char *how)
{
    op->state = ENDED;
    printf("%5u ms  %-9s %s\n", (unsigned)now, op->name, how);
}

/* A read that failed has changed nothing; an increment perhaps has. */
static void give_up(operation *op, const char *why)
{
    char how[64];
    bool perhaps = op->request.ambiguous && !op->request.idempotent;
    snprintf(how, sizeof how, "%s%s", why, perhaps ? ", perhaps done" : "");
    end(op, how);
}

/* What went wrong with an attempt, in the library's terms. Until 900 ms the server says that it is
   busy; until 1500 ms it hangs up on requests that it may have carried out. */
static retry_failure simulated_failure(void)
{
    if (now < 900)
        return retry_classify_kv(0x86, 0x00);
    return retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
}

/* The library decides, the loop obeys. What expires could wait until its deadline, but nothing
   would come of that. */
static void attempt_failed(operation *op)
{
    retry_failure failure = simulated_failure();
    retry_decision decision = retry_orchestrate(&op->request, &failure, now);
    if (decision.verdict != RETRY_VERDICT_RETRY) {
        give_up(op, retry_cause_text(decision.cause));
        return;
    }
    op->state = WAITING;
    op->timer = now + decision.delay;
    printf("%5u ms  %-9s %s, again in %u ms\n", (unsigned)now, op->name,
           retry_reason_name(failure.reason), (unsigned)decision.delay);
}

static void attempt_ended(operation *op)
{
    if (now < 1500) {
        attempt_failed(op);
    } else {
        retry_succeed(&op->request, now);
        end(op, "done");
    }
}

static void fire(operation *op)
{
    if (op->state == ON_WIRE)
        attempt_ended(op);
    else
        begin_attempt(op);
}

static operation *earliest(operation *operations, size_t count)
{
    operation *next = NULL;
    for (size_t i = 0; i < count; i++) {
        if (operations[i].state != ENDED && (!next || operations[i].timer < next->timer))
            next = &operations[i];
    }
    return next;
}

int main(void)
{
    static operation operations[] = {{.name = "read"}, {.name = "increment"}, {.name = "hasty"}};
    static const retry_budget_options in_flight = RETRY_BUDGET_BEST_EFFORT(3);
    static retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    static retry_budget budget; /* so that a server that is down gets few retries */
    retry_client client = {.strategy = &policy.base, .budget = &budget};
    policy.backoff.initial = 100; /* ms */
    retry_budget_init(&budget, &in_flight, now);
    retry_seed(7); /* the same delays each time; else the program's addresses seed */
    for (size_t i = 0; i < 3; i++) {
        operations[i].request.client = &client;
        operations[i].request.timeout = i == 2 ? 500 : 2500; /* ms for all attempts */
        operations[i].request.idempotent = i != 1;
        retry_begin(&operations[i].request, now);
        begin_attempt(&operations[i]);
    }
    for (operation *next; (next = earliest(operations, 3)) != NULL;) {
        now = next->timer;
        fire(next);
    }
}
