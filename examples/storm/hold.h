/* hold.h: a server that answers 429, and says when to come back (Retry-After). Refused are all
   calls of a process for 5 or 30 s; or for 5 s after each call (a block that calls prolong); or
   what is above half of what the server can do; or the calls for one of the 20 tenants of a
   process. How many attempts are refused, and how many operations of the others are done? */
#ifndef STORM_HOLD_H
#define STORM_HOLD_H

#include "peers.h"

enum { HOLD_BLOCKS = 3, HOLD_KINDS = 5, HOLD_WORLDS = 6, HOLD_WATCHED = 60000, HOLD_EACH = 2000 };

static const struct {
    const char *name;
    uint32_t fault, length; /* ms */
    retry_ms retry_after;
    bool prolongs;
    uint32_t tenants, utilisation; /* of one process */
} hold_kinds[HOLD_KINDS] = {{"5 s", CROWD_429, 5000, UINT32_MAX, false, 0, 20},
                            {"30 s", CROWD_429, 30000, UINT32_MAX, false, 0, 20},
                            {"prolonged", CROWD_429, 5000, UINT32_MAX, true, 0, 20},
                            {"excess", CROWD_RATED, 10000, 1000, false, 0, 75},
                            {"a tenant", CROWD_429, 30000, UINT32_MAX, false, 20, 20}};

/* The peers live in the first. */
static const struct {
    const char *name;
    uint32_t processes, far; /* ms that an answer takes besides */
    retry_ms timeout, hold_max;
} hold_worlds[HOLD_WORLDS] = {{"", 1, 0, 60000, 0},
                              {"  hold_max of 30 s", 1, 0, 60000, 30000},
                              {"  50 ms away", 1, 50, 60000, 0},
                              {"  5 s for an operation", 1, 0, 5000, 0},
                              {"  20 processes, 100 ms", 20, 100, 5000, 0},
                              {"  1000 processes", 1000, 0, 5000, 0}};

typedef struct hold {
    double refused; /* attempts of each process, on average */
    double allowed; /* five, those in flight, and one in two seconds */
    double done;    /* share of those that began meanwhile, but for the refused tenant's */
} hold;

/* `holds`: the client's limit obeys a Retry-After. */
static hold hold_run(uint32_t setup, uint32_t world, uint32_t kind, bool holds, uint32_t seed)
{
    crowd *c = &together_now;
    crowd_set set = {.clients = hold_worlds[world].processes, .hold_max = 1};
    hold of;
    const uint32_t lasts = hold_kinds[kind].prolongs ? HOLD_WATCHED : hold_kinds[kind].length;
    if (holds)
        set.hold_max = hold_worlds[world].hold_max;
    set.utilisation = set.clients > 1 ? 80 : hold_kinds[kind].utilisation;
    set.length = hold_kinds[kind].length;
    set.far = hold_worlds[world].far;
    set.retry_after = hold_kinds[kind].retry_after;
    set.prolongs = hold_kinds[kind].prolongs;
    set.tenants = hold_kinds[kind].tenants;
    set.queue = CROWD_QUEUE;
    peer_set(&set, setup);
    set.timeout = hold_worlds[world].timeout;
    crowd_begin_anew(c, &set, CROWD_SERVICE, false, seed + world);
    crowd_run(c, 30000);
    crowd_strike(c, hold_kinds[kind].fault);
    crowd_run(c, c->from + HOLD_WATCHED);
    of.refused = (double)c->met.refused / set.clients;
    of.allowed = 5 + crowd_begin_in(&set, set.far + CROWD_WORK + 1) + 1 + lasts / HOLD_EACH;
    crowd_run(c, c->now + set.timeout);
    of.done = (double)c->met.done / c->met.begun;
    return of;
}

#endif /* STORM_HOLD_H */
