/* sleep.c: a device on a battery. Each minute it wakes, takes a reading, sends what it has and
   hangs up. A deep sleep loses all RAM but 64 bytes. These keep the connection, so that the waits
   grow while the broker is down. Broker and time are simulated: each run prints the same.
       cc -o sleep examples/sleep.c && ./sleep */
#define RETRY_NO_ATOMICS /* one loop: no other task and no interrupt's handler calls retry.h */
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <stdio.h>
#include <string.h>

static const uint32_t id = 7;          /* the device's */
enum { MINUTE = 60000, ANSWER = 300 }; /* ms */
enum { DOWN = 5 * MINUTE, SILENT = 10 * MINUTE, WELL = 15 * MINUTE, END = 20 * MINUTE };

/* The radio is on for 5 s at most. A connection that brought an answer was good, however short. */
static const retry_connection options = {
    .backoff = {.max = MINUTE}, .max_connect_timeout = 5000, .stable_after = 1};

static struct kept {
    uint32_t sum;            /* of all below */
    uint32_t seed;           /* of the draws after the sleep */
    retry_time now, reading; /* the device's clock, and when it takes its next reading */
    uint32_t unsent;         /* readings */
    retry_connection_state connection;
} kept;
static retry_connection connection;
static unsigned char rtc[64]; /* the memory that survives */
typedef char kept_fits[sizeof kept <= sizeof rtc ? 1 : -1];

/* FNV-1a. What another version of retry.h has kept is wrong, too. */
static uint32_t sum_of_kept(void)
{
    const unsigned char *bytes = (const unsigned char *)&kept;
    uint32_t sum = UINT32_C(2166136261) ^ RETRY_VERSION;
    for (size_t i = sizeof kept.sum; i < sizeof kept; i++)
        sum = (sum ^ bytes[i]) * UINT32_C(16777619);
    return sum;
}

static void keep(void)
{
    kept.seed = retry_draw();
    kept.connection = connection.state;
    kept.sum = sum_of_kept();
    memcpy(rtc, &kept, sizeof kept);
}

static void wake_up(retry_ms slept)
{
    connection = options;
    retry_seed(id); /* after each boot the draws would be the same ... */
    memcpy(&kept, rtc, sizeof kept);
    if (kept.sum == sum_of_kept()) {
        retry_seed(kept.seed); /* ... so these follow the last one before the sleep */
        kept.now += slept;
        connection.state = kept.connection;
    } else { /* a new battery; devices that got one together do not come together */
        kept = (struct kept){.now = UINT32_MAX - 8 * MINUTE}; /* 8 minutes before it wraps */
        kept.reading = kept.now + retry_phase(&id, sizeof id, 30000);
    }
}

static retry_ms world, back; /* ms since the start; from WELL to the first success */

/* While the broker is down connections are closed at first, and then nothing answers. */
static void connect_and_send(void)
{
    bool down = world >= DOWN && world < WELL, silent = down && world >= SILENT;
    retry_ms timeout = retry_connection_begin(&connection, kept.now), wait;
    retry_ms took = silent ? timeout : ANSWER;
    keep(); /* a reset during the attempt does not undo it */
    printf("%2u:%04.1f  ", (unsigned)world / MINUTE, world % MINUTE / 1000.0);
    world += took;
    kept.now += took;
    if (!down) { /* it has answered; that it accepts says little */
        retry_connection_established(&connection, kept.now);
        printf("sent %u\n", (unsigned)kept.unsent);
        kept.unsent = 0;
        if (world > WELL && back == 0)
            back = world - WELL;
    }
    wait = retry_connection_failed(&connection, NULL, kept.now); /* or the device hung up */
    if (down)
        printf("%s %.1f s, next try in %.1f s\n", silent ? "silence for" : "closed after",
               took / 1000.0, wait / 1000.0);
}

/* Returns the ms to sleep. A reading alone does not switch the radio on. */
static retry_ms work(void)
{
    retry_ms wait, reading;
    if ((int32_t)(kept.now - kept.reading) >= 0) {
        kept.reading += MINUTE;
        kept.unsent++;
    }
    if (kept.unsent > 0 && retry_connection_wait(&connection, kept.now) == 0)
        connect_and_send();
    wait = retry_connection_wait(&connection, kept.now);
    reading = kept.reading - kept.now;
    reading = reading <= MINUTE ? reading : 0; /* it came due during the attempt */
    return kept.unsent > 0 && wait < reading ? wait : reading;
}

int main(void)
{
    retry_ms slept = 0;
    printf("The broker is down from 5:00 to 15:00. The clock wraps at 8:00.\n");
    for (; world < END; world += slept) {
        wake_up(slept);
        slept = work();
        keep();
        memset(&kept, 0xa5, sizeof kept); /* deep sleep: the RAM is lost */
        memset(&connection, 0xa5, sizeof connection);
    }
    printf("back after %.1f s\n", back / 1000.0);
}
