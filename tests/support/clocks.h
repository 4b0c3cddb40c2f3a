/* A clock of a test's own for retry_run. Include it after retry.h. */
#ifndef CLOCKS_H
#define CLOCKS_H

#include <string.h>

static inline retry_clock clock_of(retry_time (*tells)(void *context),
                                   void (*sleeps)(void *context, retry_ms delay), void *context)
{
    retry_clock clock;
    memset(&clock, 0, sizeof clock);
    clock.now = tells;
    clock.sleep = sleeps;
    clock.context = context;
    return clock;
}

#endif
