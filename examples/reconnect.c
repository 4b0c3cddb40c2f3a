/* reconnect.c: how a library waits before it connects again. It ships no retry.h, only a part of it
   under names of its own:
       make cut PARTS=delay PREFIX=mylib_ OUT=mylib_retry.h
       cc -o reconnect examples/reconnect.c -I. && ./reconnect */
#define MYLIB_RETRY_IMPLEMENTATION
#include "mylib_retry.h"
#include <stdio.h>

/* From 100 ms, doubled by each failure in a row, to 5 s; half of it is drawn at random, so that not
   all clients of a server that comes back come at once. */
static mylib_retry_ms reconnect_delay(uint32_t failures)
{
    mylib_retry_backoff backoff = MYLIB_RETRY_BACKOFF_DEFAULT;
    backoff.jitter = MYLIB_RETRY_JITTER_EQUAL;
    backoff.initial = 100;
    backoff.max = 5000;
    return mylib_retry_backoff_delay(&backoff, failures, 0, mylib_retry_draw());
}

int main(void)
{
    uint32_t failures;
    for (failures = 0; failures < 8; failures++) /* until yours is connected */
        printf("connect again in %u ms\n", (unsigned)reconnect_delay(failures));
    return 0;
}
