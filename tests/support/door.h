/* The old verbs on an operation, for tests of decisions that need no loop. Each attempt counts as
   sent when the operation began, and the clock says `now` when it ends. Include it after retry.h.
 */
#ifndef DOOR_H
#define DOOR_H

#define RETRY_VERDICT_PENDING 254 /* no decision yet: a strategy answers later */

static inline retry_decision door_decision(unsigned verdict, unsigned cause, retry_ms delay)
{
    retry_decision decision;
    decision.verdict = (uint8_t)verdict;
    decision.cause = (uint8_t)cause;
    decision.delay = delay;
    return decision;
}

/* Whether an attempt is on the wire; a delay is not waited for. */
static inline bool door_send(retry_operation *op)
{
    retry_skip_wait(op, op->started);
    return retry_next(op, op->started).what == RETRY_DO_SEND;
}

static inline void retry_begin(retry_operation *op, retry_time now)
{
    retry_start(op, NULL, now);
}

static inline retry_decision door_decided(retry_operation *op)
{
    if (op->verdict != RETRY_VERDICT_PENDING)
        return door_decision(op->verdict, op->cause, op->delay);
    return door_decision(RETRY_VERDICT_PENDING, RETRY_CAUSE_PENDING, 0);
}

static inline retry_decision door_misuse(const retry_operation *op)
{
    bool cancelled = op && op->cause == RETRY_CAUSE_CANCELLED;
    return door_decision(RETRY_VERDICT_FAIL, cancelled ? RETRY_CAUSE_CANCELLED : RETRY_CAUSE_MISUSE,
                         0);
}

static inline retry_decision retry_orchestrate(retry_operation *op, const retry_failure *failure,
                                               retry_time now)
{
    if (!op || !failure || op->verdict == RETRY_VERDICT_PENDING || !door_send(op))
        return door_misuse(op);
    op->verdict = RETRY_VERDICT_PENDING;
    retry_ended(op, 0, failure, now);
    return door_decided(op);
}

static inline retry_decision retry_resume(retry_operation *op, const retry_failure *failure,
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

static inline bool door_under_way(const retry_operation *op)
{
    return op && op->timeout != 0 &&
           (op->verdict == RETRY_VERDICT_PENDING || op->verdict == RETRY_VERDICT_RETRY ||
            (op->verdict == RETRY_VERDICT_FAIL && op->cause == RETRY_CAUSE_NONE));
}

static inline retry_ms retry_remaining(const retry_operation *op, retry_ms limit, retry_time now)
{
    retry_ms passed, left;
    if (!door_under_way(op))
        return 0;
    passed = (retry_ms)(((uint64_t)now + (UINT64_C(1) << 32) - op->started) & UINT32_MAX);
    if (passed > UINT32_MAX - 32768)
        passed = 0; /* another thread has read the clock */
    left = op->timeout > passed ? op->timeout - passed : 0;
    if (op->timeout == UINT32_MAX)
        left = UINT32_MAX;
    return limit != 0 && limit < left ? limit : left;
}

#endif
