/* The old verbs on an operation, for tests of decisions that need no loop. Each attempt counts as
   sent when the operation began, and the clock says `now` when it ends. Include it after retry.h.
 */
#ifndef DOOR_H
#define DOOR_H

#include "decided.h"

#define RETRY_VERDICT_PENDING 254 /* no decision yet: a strategy answers later */

static inline decided door_decision(unsigned verdict, unsigned cause, retry_ms delay)
{
    decided decision;
    decision.verdict = (uint8_t)verdict;
    decision.cause = (uint8_t)cause;
    decision.delay = delay;
    return decision;
}

/* Whether an attempt is on the wire; a delay is not waited for, the server's neither. */
static inline bool door_send(retry_operation *op)
{
    op->failure.retry_after = 0;
    retry_skip_wait(op, op->started);
    return retry_next(op, op->started).what == RETRY_DO_SEND;
}

/* By op->client, or by one that has all defaults. */
static inline void retry_begin(retry_operation *op, retry_time now)
{
    static retry_client defaults; /* zeroed */
    if (op && !op->client)
        op->client = &defaults;
    retry_start(op, NULL, now);
}

static inline decided door_decided(retry_operation *op)
{
    if (op->verdict != RETRY_VERDICT_PENDING)
        return decided_of(op);
    return door_decision(RETRY_VERDICT_PENDING, RETRY_CAUSE_PENDING, 0);
}

static inline decided door_misuse(const retry_operation *op)
{
    bool cancelled = op && op->cause == RETRY_CAUSE_CANCELLED;
    return door_decision(RETRY_VERDICT_FAIL, cancelled ? RETRY_CAUSE_CANCELLED : RETRY_CAUSE_MISUSE,
                         0);
}

static inline decided retry_orchestrate(retry_operation *op, const retry_failure *failure,
                                        retry_time now)
{
    if (!op || !failure || op->verdict == RETRY_VERDICT_PENDING || !door_send(op))
        return door_misuse(op);
    op->verdict = RETRY_VERDICT_PENDING;
    retry_ended(op, 0, failure, now);
    return door_decided(op);
}

static inline decided retry_resume(retry_operation *op, const retry_failure *failure,
                                   retry_action action, retry_time now)
{
    if (!op || !failure || op->verdict != RETRY_VERDICT_PENDING)
        return door_misuse(op);
    retry_answer(op, action, now);
    return door_decided(op);
}

static inline bool retry_succeed(retry_operation *op, retry_time now)
{
    if (!op || op->verdict == RETRY_VERDICT_PENDING || !door_send(op))
        return false;
    retry_ended(op, 0, NULL, now);
    return true;
}

static inline void retry_cancel(retry_operation *op, retry_time now)
{
    retry_stop(op, now);
}

#endif
