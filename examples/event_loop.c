/* event_loop.c: three operations at once in an event loop, each with one timer. A server that is
   busy, hangs up and comes back is simulated; so is the clock, which jumps from timer to timer.

       cc -o event_loop examples/event_loop.c && ./event_loop */
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <stdio.h>

enum { ON_WIRE, WAITING, EXPIRING, ENDED };

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
    retry_time deadline = op->request.started + op->request.timeout;
    op->state = ON_WIRE;
    op->timer = now + ANSWERS < deadline ? now + ANSWERS : deadline;
}

static void end(operation *op, const char *how)
{
    op->state = ENDED;
    printf("%5u ms  %-9s %s\n", (unsigned)now, op->name, how);
}

/* What went wrong with an attempt, in the library's terms. Until 900 ms the server says that it is
   busy; until 1500 ms it hangs up on requests that it may have carried out. */
static retry_failure simulated_failure(void)
{
    if (now < 900)
        return retry_classify_kv(0x86, 0x00);
    return retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
}

/* The library decides, the loop obeys. */
static void attempt_failed(operation *op)
{
    retry_failure failure = simulated_failure();
    retry_decision decision = retry_orchestrate(&op->request, &failure, now);
    op->timer = now + decision.delay;
    if (decision.verdict == RETRY_VERDICT_RETRY)
        op->state = WAITING;
    else if (decision.verdict == RETRY_VERDICT_EXPIRE)
        op->state = EXPIRING;
    else
        end(op, retry_cause_text(decision.cause));
    if (op->state == WAITING)
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
    else if (op->state == WAITING)
        begin_attempt(op);
    else
        end(op, "timed out");
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
    static retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_client client = {.strategy = &policy.base};
    policy.backoff.initial = 100; /* ms */
    retry_seed(7);                /* the same delays each time; else the program's addresses seed */
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
