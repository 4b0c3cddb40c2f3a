/* A telemetry exporter waits 1.5 times as long after each failure, by a share of 0.8 to 1.2. What
   it takes is cut by PARTS=backoff PREFIX=exp_; what it writes itself stands between the two marks.
 */
#define EXP_RETRY_IMPLEMENTATION
#include "exp_retry.h"
#include <stdbool.h>

/* own: */
static uint32_t wait_ms(uint32_t retries, uint32_t random)
{
    exp_retry_backoff backoff = EXP_RETRY_BACKOFF_DEFAULT;
    backoff.initial = 1000;
    backoff.max = 5000;
    backoff.factor = EXP_RETRY_RATIO(1.5);
    backoff.jitter = EXP_RETRY_JITTER_SPREAD;
    backoff.spread = EXP_RETRY_RATIO(0.2);
    return exp_retry_backoff_delay(&backoff, retries, 0, random);
}
/* end */

int main(void)
{
    static const uint32_t base[] = {1000, 1500, 2250, 3375, 5000, 5000};
    uint32_t i;
    bool ok = true;
    for (i = 0; i < 6; i++) {
        uint32_t least = wait_ms(i, 0), most = wait_ms(i, UINT32_MAX);
        ok = ok && least + 1 >= base[i] * 4 / 5 && least <= base[i] * 4 / 5 + 1;
        ok = ok && most + 1 >= base[i] * 6 / 5 && most <= base[i] * 6 / 5 + 1;
    }
    return !(ok && wait_ms(UINT32_MAX, 0) == 4000);
}
