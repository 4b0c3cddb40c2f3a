/* What is decided of an attempt, for tests of decisions alone: no time passes from one attempt to
   the next. Include it after retry.h. */
#ifndef DECIDE_H
#define DECIDE_H

#define DECIDE_LATER 254 /* instead of a verdict: the strategy's answer comes later */

typedef struct decided {
    uint8_t verdict, cause;
    retry_ms delay;
} decided;

/* A client with all defaults. */
static inline const retry_client *default_client(void)
{
    static retry_client zeroed;
    return &zeroed;
}

static inline decided decided_as(unsigned verdict, unsigned cause, retry_ms delay)
{
    decided made;
    made.verdict = (uint8_t)verdict;
    made.cause = (uint8_t)cause;
    made.delay = delay;
    return made;
}

/* The last decision, or the end. */
static inline decided decided_of(const retry_operation *op)
{
    if (op->verdict == DECIDE_LATER)
        return decided_as(DECIDE_LATER, RETRY_CAUSE_PENDING, 0);
    return decided_as(op->verdict, op->cause, op->delay);
}

/* An attempt is sent when the operation began, whatever a retry waits for, and ends so at `now`;
   NULL: it worked. If none can be sent: what was decided before, or what retry_next says. */
static inline decided decide(retry_operation *op, const retry_failure *failure, retry_time now)
{
    retry_step step;
    if (op->verdict == DECIDE_LATER)
        return decided_of(op);
    if (op->verdict == RETRY_VERDICT_RETRY) {
        op->failure.retry_after = 0; /* what the server asked for would not be skipped */
        retry_skip_wait(op, op->started);
    }
    step = retry_next(op, op->started);
    if (step.what != RETRY_DO_SEND)
        return decided_as(step.verdict, step.cause, step.delay);
    op->verdict = DECIDE_LATER;
    retry_ended(op, 0, failure, now);
    return decided_of(op);
}

/* The strategy answers what `decide` left open. */
static inline decided decide_later(retry_operation *op, retry_action action, retry_time now)
{
    retry_answer(op, action, now);
    return decided_of(op);
}

#endif
