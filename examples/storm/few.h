/* few.h: one process that calls a server once a minute, once a second, ten times a second. Now and
   then the server says 503 for two seconds, and nothing of when to come back. How many of the
   operations that met it are done? They may take 10 s, so they overlap. */
#ifndef STORM_FEW_H
#define STORM_FEW_H

#include "peers.h"

enum {
    FEW_RATES = 3,
    FEW_SEEDS = 3,
    FEW_LENGTH = 2000,
    FEW_HEALTH = 60000, /* ms before each, at least */
    FEW_TIMEOUT = 10000
};
static const uint32_t few_gaps[FEW_RATES] = {60000, 1000, 100}; /* ms */
static const uint32_t few_faults[FEW_RATES] = {600, 300, 60};   /* of each seed */

static crowd_met few_run(uint32_t setup, uint32_t rate, uint32_t seed)
{
    crowd *c = &together_now;
    crowd_set set = {.clients = 1, .gap = few_gaps[rate], .length = FEW_LENGTH};
    crowd_met all = {.begun = 0};
    set.queue = CROWD_QUEUE;
    peer_set(&set, setup);
    set.timeout = FEW_TIMEOUT;
    crowd_begin_anew(c, &set, CROWD_SERVICE, false, seed);
    for (uint32_t fault = 0; fault < few_faults[rate]; fault++) {
        crowd_run(c, c->now + FEW_HEALTH);
        crowd_run(c, (uint32_t)c->next - dice_bits(&c->arrivals) % FEW_LENGTH); /* one meets it */
        crowd_strike(c, CROWD_503);
        crowd_run(c, c->to + FEW_TIMEOUT);
        all.begun += c->met.begun;
        all.done += c->met.done;
    }
    return all;
}

#endif /* STORM_FEW_H */
