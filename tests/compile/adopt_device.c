/* A device that stays connected. What it takes is cut by PARTS=connection PREFIX=dev_; what it
   writes itself stands between the two marks. */
#define DEV_RETRY_IMPLEMENTATION
#include "dev_retry.h"

enum event { CONNECT, CONNECTED, LOST };

/* What has happened at `now`; returns how many ms the connecting, or the wait, may take. */
/* own: */
static dev_retry_connection connection;
static uint32_t on_event(enum event event, uint32_t now)
{
    if (event == CONNECT)
        return dev_retry_connection_begin(&connection, now);
    if (event == LOST)
        return dev_retry_connection_failed(&connection, NULL, now);
    dev_retry_connection_established(&connection, now);
    return 0;
}
/* end */

int main(void)
{
    uint32_t now = 0, wait = 0, i;
    dev_retry_seed(1);         /* the device's number */
    for (i = 0; i < 20; i++) { /* refused at once, each time */
        if (on_event(CONNECT, now) < 20000)
            return 1;
        wait = on_event(LOST, now);
        now += wait;
    }
    if (wait < 96000 || wait > 144000) /* two minutes, a fifth more or less */
        return 1;
    on_event(CONNECT, now);
    on_event(CONNECTED, now);
    return on_event(LOST, now + 60000) > 1000; /* begins anew */
}
