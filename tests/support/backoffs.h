/* Backoffs. For those who include retry.h, or a cut that has them, before. */
#ifndef BACKOFFS_H
#define BACKOFFS_H

#include <string.h>

/* Of these numbers, and all else by default. */
static inline retry_backoff backoff_of(uint8_t curve, uint8_t jitter, retry_ms min,
                                       retry_ms initial, retry_ms max, uint32_t factor,
                                       uint32_t spread)
{
    retry_backoff backoff;
    memset(&backoff, 0, sizeof backoff);
    backoff.curve = curve;
    backoff.jitter = jitter;
    backoff.min = min;
    backoff.initial = initial;
    backoff.max = max;
    backoff.factor = factor;
    backoff.spread = spread;
    return backoff;
}

#endif
