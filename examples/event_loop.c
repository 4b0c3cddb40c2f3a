/* event_loop.c: three operations at once in an event loop, each with one timer; a limit lets two of
   them send at a time. A server that is not there yet, hangs up and then works is simulated; so is
   the clock, which jumps from one event to the next.

       cc -o event_loop examples/event_loop.c && ./event_loop */
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <stdio.h>

typedef struct operation {
    const char *name;
    retry_operation retry;
    retry_time timer;  /* your loop: the one timer of an operation */
    retry_time answer; /* your loop: its socket; here when the server answers */
    bool on_wire, over;
} operation;

static retry_time now;

enum { ANSWERS = 60 }; /* ms until the server has answered, or hung up */

static void say(const operation *op, const char *what, const char *more)
{
    printf("%5u ms  %-9s %s%s\n", (unsigned)now, op->name, what, more);
}

/* A read that failed has changed nothing; an increment perhaps has. */
static void finished(operation *op, const retry_step *end)
{
    const retry_request *request = &op->retry.request;
    op->over = true;
    say(op, end->verdict == RETRY_VERDICT_SUCCESS ? "done" : retry_cause_text(end->cause),
        request->ambiguous && !request->idempotent ? ", perhaps done" : "");
}

static void set_timer(operation *op, const retry_step *wait)
{
    char again[32];
    op->timer = now + wait->delay;
    snprintf(again, sizeof again, ", again in %u ms", (unsigned)wait->delay);
    if (wait->cause != RETRY_CAUSE_NONE) /* else it waits for its answer */
        say(op, retry_cause_text(wait->cause), again);
}

/* Whatever has happened to an operation: the library decides, the loop obeys. */
static void drive(operation *op)
{
    for (;;) {
        retry_step step = retry_next(&op->retry, now);
        switch (step.what) {
        case RETRY_DO_SEND: /* your loop: send; retry_next watches the time */
            op->on_wire = true;
            op->answer = now + ANSWERS;
            break;
        case RETRY_DO_CANCEL: /* your loop: close the connection */
            op->on_wire = false;
            break;
        case RETRY_DO_WAIT:
            set_timer(op, &step);
            return;
        default:
            finished(op, &step);
            return;
        }
    }
}

/* What the server says, in the library's terms. Until 400 ms nobody listens; until 1500 ms it hangs
   up on requests that it may have carried out. */
static void receive(operation *op)
{
    retry_failure failure = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    op->on_wire = false;
    if (now < 400)
        failure = retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE);
    if (now < 1500)
        say(op, retry_reason_name(failure.reason), "");
    retry_ended(&op->retry, 0, now < 1500 ? &failure : NULL, now);
}

/* ms until something happens to an operation. */
static retry_ms due(const operation *op)
{
    retry_ms timer = op->timer - now, answer = op->answer - now; /* instants wrap */
    return op->on_wire && answer < timer ? answer : timer;
}

static operation *earliest(operation *operations, size_t count)
{
    operation *next = NULL;
    for (operation *op = operations; op < operations + count; op++)
        if (!op->over && (!next || due(op) < due(next)))
            next = op;
    return next;
}

int main(void)
{
    static operation operations[] = {{.name = "read"}, {.name = "increment"}, {.name = "hasty"}};
    static retry_service service = {.limit = {.max = 2}}; /* one for each server */
    service.client.attempt_timeout = 1000;                /* ms */
    retry_service_init(&service, now);
    retry_seed(16); /* the same delays each time; else the program's addresses seed */
    for (int i = 0; i < 3; i++) {
        retry_request *request = &operations[i].retry.request;
        request->client = &service.client;
        request->timeout = i == 2 ? 500 : 5000; /* ms for all attempts and waits */
        request->idempotent = i != 1;
        retry_start(&operations[i].retry, now);
        drive(&operations[i]);
    }
    for (operation *next; (next = earliest(operations, 3)) != NULL; drive(next)) {
        now += due(next);
        if (next->on_wire && next->answer == now)
            receive(next);
    }
}
