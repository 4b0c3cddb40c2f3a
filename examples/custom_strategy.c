/* custom_strategy.c: a strategy and a reason of one's own. Requests of robots are not retried;
   whether those of guests may be is answered later, by somebody else; all others are left to best
   effort. An observer prints every decision. The clock is a variable, so nothing waits.

       cc -o custom_strategy examples/custom_strategy.c && ./custom_strategy */
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <stdio.h>
#include <string.h>

enum visitor { MEMBER, ROBOT, GUEST };

/* Somebody else was faster, and nothing was done. That is no overload: no budget pays for it. */
#define SEAT_TAKEN RETRY_REASON_USER(0, RETRY_REASON_FREE | RETRY_REASON_ALLOWS_NON_IDEMPOTENT)
static const char *const reason_names[16] = {"SEAT_TAKEN"};

typedef struct door {
    retry_strategy base; /* first, so that a pointer to it is a pointer to the door */
    const retry_strategy *others;
} door;

/* A strategy says whether and when to retry, and nothing else: deadline, budget and counting come
   after it, so that it cannot forget them. */
static retry_action door_after(const retry_strategy *self, const retry_operation *op,
                               const retry_failure *failure, retry_time now)
{
    const door *this_door = (const door *)(const void *)self;
    const enum visitor *visitor = op->context;
    if (*visitor == ROBOT)
        return retry_action_none(RETRY_CAUSE_REFUSED);
    if (*visitor == GUEST && retry_permitted(op, failure))
        return retry_action_pending();
    return this_door->others->retry_after(this_door->others, op, failure, now);
}

/* retry_format writes a whole line, for a log; here it is broken in two, without "retry: ". */
static void print_decision(void *context, const retry_operation *op, const retry_failure *failure)
{
    char line[240];
    (void)context;
    retry_format(line, sizeof line, op, failure);
    const char *begin = strstr(line, "verdict="), *rest = strstr(line, " cause=");
    printf("%.*s\n   %s\n", (int)(rest - begin), begin, rest);
}

/* An operation of 2.5 s that begins at 0. */
static void begin(retry_operation *op, const retry_client *client, enum visitor *visitor)
{
    static const char *const names[] = {"member", "robot", "guest"};
    printf("\n%s\n", names[*visitor]);
    *op = (retry_operation){.client = client, .context = visitor, .timeout = 2500};
    retry_start(op, NULL, 0);
}

static void attempt_fails(retry_operation *op, const retry_failure *failure, retry_time now)
{
    if (retry_next(op, now).what == RETRY_DO_SEND)
        retry_ended(op, 0, failure, now);
}

int main(void)
{
    door strategy = {{door_after}, retry_best_effort()};
    retry_client client = {.strategy = &strategy.base, .observe = print_decision};
    static retry_operation member, robot, guest;
    enum visitor visitors[] = {MEMBER, ROBOT, GUEST};
    retry_failure busy = retry_classify_http(429, 0); /* too many requests */
    retry_failure taken = {.reason = SEAT_TAKEN};
    client.user_reasons = reason_names;
    retry_seed(1);
    begin(&member, &client, &visitors[MEMBER]);
    attempt_fails(&member, &busy, 10);
    attempt_fails(&member, &taken, 200);
    begin(&robot, &client, &visitors[ROBOT]);
    attempt_fails(&robot, &busy, 10);
    begin(&guest, &client, &visitors[GUEST]);
    attempt_fails(&guest, &busy, 10);                  /* PENDING */
    retry_answer(&guest, retry_action_after(250), 60); /* yes, in a quarter second */
    attempt_fails(&guest, &busy, 320);                 /* PENDING again */
    retry_answer(&guest, retry_action_after(250), 2400);
    return retry_next(&guest, 2400).delay == 100 ? 0 : 1; /* END: what was left */
}
