/* course.h: what happens in one run of crowd.h, second by second. */
#ifndef STORM_COURSE_H
#define STORM_COURSE_H

#include "together.h"

#include <inttypes.h>

typedef struct course {
    const char *who, *fault_name; /* for the heading */
    crowd_set set;
    uint32_t subset, fault, seed;
    uint32_t health; /* ms */
    bool four;
} course;

static void course_head(const course *of)
{
    printf("%s, %s: after %" PRIu32 " s of health, seed %" PRIu32 "\n\n", of->who, of->fault_name,
           of->health / 1000, of->seed);
    printf("              of those  longest               circuit  throt-         budget\n"
           "second begun   done, %%    queue   sent  limit     open   tled   paced   empty  "
           "expired\n");
}

static void course_add(crowd_bin *sum, const crowd_bin *bin)
{
    sum->begun = (uint16_t)(sum->begun + bin->begun);
    sum->done = (uint16_t)(sum->done + bin->done);
    sum->sent = (uint16_t)(sum->sent + bin->sent);
    sum->waiting = bin->waiting > sum->waiting ? bin->waiting : sum->waiting;
    sum->open = (uint16_t)(sum->open + bin->open);
    sum->throttled = (uint16_t)(sum->throttled + bin->throttled);
    sum->paced = (uint16_t)(sum->paced + bin->paced);
    sum->unpaid = (uint16_t)(sum->unpaid + bin->unpaid);
    sum->expired = (uint16_t)(sum->expired + bin->expired);
}

/* The limits of all clients together, for the first server. */
static uint32_t course_limits(const crowd *c, const course *of)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < of->set.clients; i++) {
        const crowd_client *client = &c->clients[i];
        bool own = of->subset == CROWD_SERVICE && !of->four;
        sum += retry_aimd_limit(own ? &client->service.limit : &client->to[0].aimd);
    }
    return sum;
}

static void course_line(const crowd *c, const course *of, uint32_t at, uint32_t limit)
{
    crowd_bin sum = {0};
    bool limited = of->subset == CROWD_SERVICE || (of->subset & CROWD_AIMD);
    for (uint32_t bin = at / CROWD_BIN; bin < (at + 1000) / CROWD_BIN; bin++)
        course_add(&sum, &c->bins[bin]);
    printf("%6d %5u %8.1f %8u %6u ", ((int)at - (int)c->to) / 1000, sum.begun,
           sum.begun ? 100.0 * sum.done / sum.begun : 0, sum.waiting, sum.sent);
    if (at >= c->from && limited)
        printf("%6" PRIu32, limit);
    else
        printf("%6s", "-");
    printf(" %8u %6u %7u %7u %8u%s\n", sum.open, sum.throttled, sum.paced, sum.unpaid, sum.expired,
           at >= c->from && at < c->to ? "  <- fault" : "");
}

/* From two seconds before the fault on; second 0 is its end. */
static void course_show(const course *of)
{
    crowd *c = &together_now;
    uint32_t until, limit[64] = {0};
    crowd_begin_anew(c, &of->set, of->subset, of->four, of->seed);
    crowd_run(c, of->health);
    crowd_strike(c, of->fault);
    until = c->to + TOGETHER_WATCHED;
    for (uint32_t at = c->from; at < until; at += 1000) {
        crowd_run(c, at + 1000);
        limit[(at - c->from) / 1000 % 64] = course_limits(c, of);
    }
    crowd_run(c, until + of->set.timeout);
    course_head(of);
    for (uint32_t at = c->from - 2000; at < until; at += 1000)
        course_line(c, of, at, limit[(at - c->from) / 1000 % 64]);
}

#endif /* STORM_COURSE_H */
