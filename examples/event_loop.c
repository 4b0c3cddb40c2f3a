/* event_loop.c: three operations at once in an event loop, each with one timer; a gate lets two of
   them send at a time. A server that is busy, hangs up and comes back is simulated; so is the
   clock, which jumps from timer to timer.

       cc -o event_loop examples/event_loop.c && ./event_loop */
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <stdio.h>

enum { WAITING, ON_WIRE, ENDED };

typedef struct operation {
    const char *name;
    retry_request request;
    retry_attempt attempt;
    retry_time timer; /* when the state is over */
    int state;
} operation;

static retry_time now;

enum { ANSWERS = 60 }; /* ms until the server has answered, or hung up */

static void say(const operation *op, const char *what, const char *more)
{
    printf("%5u ms  %-9s %s%s\n", (unsigned)now, op->name, what, more);
}

/* The library decides, the loop obeys. */
static void obey(operation *op, retry_decision decision)
{
    char again[32];
    switch (decision.verdict) {
    case RETRY_VERDICT_SEND: /* your loop: send, and set a timer */
        op->state = ON_WIRE;
        op->timer = now + (op->attempt.timeout < ANSWERS ? op->attempt.timeout : ANSWERS);
        break;
    case RETRY_VERDICT_RETRY: /* your loop: set a timer */
        op->state = WAITING;
        op->timer = now + decision.delay;
        snprintf(again, sizeof again, ", again in %u ms", (unsigned)decision.delay);
        say(op, retry_cause_text(decision.cause), again);
        break;
    case RETRY_VERDICT_SUCCESS:
        op->state = ENDED;
        say(op, "done", "");
        break;
    default: /* FAIL, EXPIRE. A read that failed has changed nothing; an increment perhaps has. */
        op->state = ENDED;
        say(op, retry_cause_text(decision.cause),
            op->request.ambiguous && !op->request.idempotent ? ", perhaps done" : "");
    }
}

/* What went wrong with an attempt, in the library's terms. Until 900 ms the server says that it is
   busy; until 1500 ms it hangs up on requests that it may have carried out. */
static retry_failure simulated_failure(const operation *op)
{
    retry_failure failure = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    if (op->attempt.timeout < ANSWERS) {
        failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
        failure.timeout = true;
    } else if (now < 900) {
        failure = retry_classify_kv(0x86, 0x00);
    }
    say(op, retry_reason_name(failure.reason), "");
    return failure;
}

/* The timer of an operation: a wait is over, or an answer is there. */
static void fire(operation *op)
{
    if (op->state == WAITING) {
        obey(op, retry_attempt_begin(&op->attempt, &op->request, now));
    } else if (now < 1500) {
        retry_failure failure = simulated_failure(op);
        obey(op, retry_attempt_end(&op->attempt, &op->request, &failure, now));
    } else {
        obey(op, retry_attempt_end(&op->attempt, &op->request, NULL, now));
    }
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
    static retry_budget budget;             /* so that a server that is down gets few retries */
    static retry_aimd at_once = {.max = 2}; /* less while the server is sick */
    static retry_gates gates;
    static retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_client client = {.strategy = &policy.base, .budget = &budget, .gates = &gates};
    client.attempt_timeout = 500; /* ms */
    policy.backoff.initial = 100; /* ms */
    retry_budget_init(&budget, &in_flight, now);
    retry_gates_aimd(&gates, &at_once);
    retry_seed(7); /* the same delays each time; else the program's addresses seed */
    for (size_t i = 0; i < 3; i++) {
        operations[i].request.client = &client;
        operations[i].request.timeout = i == 2 ? 500 : 2500; /* ms for all attempts */
        operations[i].request.idempotent = i != 1;
        retry_begin(&operations[i].request, now);
    }
    for (operation *next; (next = earliest(operations, 3)) != NULL;) {
        now = next->timer;
        fire(next);
    }
}
