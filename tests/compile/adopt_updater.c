/* An updater polls every `interval` seconds, and less often while its server fails. What it takes
   is cut by PARTS=delay PREFIX=upd_; what it writes itself stands between the two marks. */
#include "upd_retry.h"
#include <stdbool.h>

struct schedule {
    uint16_t interval, max, wait; /* seconds */
    uint16_t failures;
};

/* When a poll has ended; the wait is drawn once, and kept until it is over. */
/* own: */
static void plan(struct schedule *s, bool failed, uint32_t random)
{
    s->failures = (uint16_t)(failed ? s->failures + (s->failures < UINT16_MAX) : 0);
    s->wait = (uint16_t)upd_retry_delay(s->interval, s->max, s->failures, UPD_RETRY_RATIO(0.5),
                                        UPD_RETRY_RATIO(1), random);
}
/* end */

int main(void)
{
    static const uint16_t most[] = {120, 240, 480, 960, 1800, 1800};
    struct schedule s = {60, 1800, 0, 0};
    unsigned i;
    bool ok;
    plan(&s, false, UINT32_MAX);
    ok = s.wait == 60;
    for (i = 0; i < 6; i++) {
        plan(&s, true, UINT32_MAX);
        ok = ok && s.wait == most[i];
    }
    plan(&s, true, 0);
    ok = ok && s.wait == 900;
    for (i = 0; i < 70000; i++)
        plan(&s, true, UINT32_MAX);
    ok = ok && s.wait == 1800;
    s.interval = s.max = UINT16_MAX; /* the most that there is */
    plan(&s, true, UINT32_MAX);
    return !(ok && s.wait == UINT16_MAX);
}
