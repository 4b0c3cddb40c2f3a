/* What was decided, as an operation's three fields say it. Include it after retry.h. */
#ifndef DECIDED_H
#define DECIDED_H

typedef struct decided {
    uint8_t verdict, cause;
    retry_ms delay;
} decided;

static inline decided decided_of(const retry_operation *op)
{
    decided last;
    last.verdict = op->verdict;
    last.cause = op->cause;
    last.delay = op->delay;
    return last;
}

#endif
