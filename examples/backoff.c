/* backoff.c: only the delays, in a loop of one's own. Nothing is classified, nobody pays.
       cc -o backoff examples/backoff.c && ./backoff */
#define RETRY_IMPLEMENTATION
#include "../retry.h"
#include <stdio.h>

int main(void)
{
    const retry_backoff backoff = {.initial = 100, .max = 2000, .jitter = RETRY_JITTER_FULL};
    retry_ms delay = 0;
    for (uint32_t retries = 0; retries < 6; retries++) { /* until yours has worked */
        delay = retry_backoff_delay(&backoff, retries, delay, retry_draw());
        printf("wait %u ms\n", (unsigned)delay); /* your sleep, or your timer */
    }
}
