/* worlds.h: services and faults beside the cells of peers.c: those in which a client may do harm to
   its own callers, as none of them is what the client was made for. Each begins as `usual` says,
   and names what is otherwise. A server with as many workers as there are calls has no queue: it
   can only be slow. */
#ifndef STORM_WORLDS_H
#define STORM_WORLDS_H

#include "peers.h"

#include <stdarg.h>

enum {
    WORLDS_MAX = 320,
    WORLD_NAME = 48,
    WORLD_FREE = 4000 /* workers */,
    WORLD_OPERATIONS = 12000
};

typedef struct world_plan {
    char name[WORLD_NAME];
    crowd_set set;
    uint32_t fault, health, after; /* ms before and after it */
    uint32_t other;                /* every other process is this setup (PEER_SERVICE: none is) */
    bool healthy;                  /* the service is well all the time, or merely slow */
    uint32_t kind;
} world_plan;

static world_plan worlds[WORLDS_MAX];
static uint32_t worlds_count;
static uint32_t worlds_kind; /* of those that are listed now */
static bool worlds_all;      /* also those that are much like others */

enum { WORLD_FLEETS = 3 };
static const uint32_t world_fleets[WORLD_FLEETS] = {1, 20, PEER_FLEET};

/* Of 1,000 processes each retries so rarely that most worlds are as without retries. */
static uint32_t world_sizes(void)
{
    return worlds_all ? WORLD_FLEETS : 2;
}

static double per_second(double operations)
{
    return 1000 / operations;
}

/* One more, of so many processes: 20 workers of 50 ms on average, of which 60 % are busy. */
static world_plan *usual(uint32_t processes, const char *format, ...)
{
    world_plan *w = &worlds[worlds_count++];
    va_list rest;
    if (worlds_count > WORLDS_MAX)
        abort();
    va_start(rest, format);
    vsnprintf(w->name, sizeof w->name, format, rest);
    va_end(rest);
    w->set.clients = processes;
    w->set.gap = per_second(240);
    w->set.timeout = PEER_TIMEOUT;
    w->set.cut_after = CROWD_CUT_AFTER;
    w->set.workers = 20;
    w->set.works = CROWD_EXPONENTIAL;
    w->set.queue = CROWD_QUEUE_ENDLESS;
    w->set.length = 10000;
    w->set.slowness = 10;
    w->set.retry_after = UINT32_MAX;
    w->fault = CROWD_NOTHING;
    w->health = 20000;
    w->after = 40000;
    w->other = PEER_SERVICE;
    w->kind = worlds_kind;
    return w;
}

/* ---- Usual faults ---------------------------------------------------------------------------- */

typedef struct world_fault {
    const char *name;
    uint32_t fault, length; /* ms */
} world_fault;

static void world_strikes(world_plan *w, const world_fault *fault)
{
    w->fault = fault->fault;
    w->set.length = fault->length;
    w->set.spike = 2;
}

static void worlds_usual(void)
{
    static const world_fault of[] = {
        {"503", CROWD_503, 10000},          {"costly 503", CROWD_COSTLY_503, 10000},
        {"refused", CROWD_REFUSED, 10000},  {"silent", CROWD_LOST, 10000},
        {"frozen 5 s", CROWD_FROZEN, 5000}, {"twice as many", CROWD_SPIKE, 10000}};
    for (uint32_t fleet = 0; fleet < world_sizes(); fleet++) {
        for (uint32_t i = 0; i < 12; i++) {
            uint32_t busy = i % 2 ? 85 : 60;
            world_plan *w = usual(world_fleets[fleet], "%s, %u %%", of[i / 2].name, (unsigned)busy);
            w->set.gap = per_second(4.0 * busy);
            world_strikes(w, &of[i / 2]);
        }
    }
}

/* Every other process is somebody else's. */
static void worlds_mixed(void)
{
    static const world_fault of[] = {{"503", CROWD_503, 10000},
                                     {"frozen 5 s", CROWD_FROZEN, 5000},
                                     {"twice as many", CROWD_SPIKE, 10000}};
    static const uint32_t others[] = {PEER_THREE, PEER_AWS, PEER_POLLY};
    for (uint32_t i = 0; i < 36; i++) {
        uint32_t busy = i % 2 ? 85 : 60, other = others[i / 12];
        world_plan *w = usual(i / 6 % 2 ? PEER_FLEET : 20, "half %s: %s, %u %%", peers[other].name,
                              of[i / 2 % 3].name, (unsigned)busy);
        w->set.gap = per_second(4.0 * busy);
        w->other = other;
        world_strikes(w, &of[i / 2 % 3]);
    }
}

/* A gateway passes calls on, and gives each 2 s. */
static void worlds_gateway(void)
{
    static const world_fault of[] = {{"503", CROWD_503, 10000},
                                     {"costly 503", CROWD_COSTLY_503, 10000},
                                     {"frozen 5 s", CROWD_FROZEN, 5000},
                                     {"twice as many", CROWD_SPIKE, 10000},
                                     {"silent 5 s", CROWD_LOST, 5000}};
    for (uint32_t i = 0; i < 20; i++) {
        world_plan *w;
        if (!worlds_all && i >= 10 && i % 2 == 0)
            continue;
        w = usual(i < 10 ? 20 : PEER_FLEET, "gateway %s: %s", i % 2 ? "tries once" : "retries",
                  of[i / 2 % 5].name);
        w->set.gap = per_second(300);
        w->set.gateways = 4;
        w->set.gateway_retries = i % 2 == 0;
        world_strikes(w, &of[i / 2 % 5]);
    }
}

static world_plan *serverless(const world_fault *fault, uint32_t busy, const char *name)
{
    world_plan *w =
        usual(WORLD_OPERATIONS, "serverless: %s, %u %%%s", fault->name, (unsigned)busy, name);
    w->set.workers = 50;
    w->set.gap = per_second(10.0 * busy);
    w->set.fresh = true;
    w->set.operations = WORLD_OPERATIONS;
    world_strikes(w, fault);
    return w;
}

/* Each call is a process. */
static void worlds_serverless(void)
{
    static retry_budget_options dearer = RETRY_BUDGET_BEST_EFFORT(20);
    static const world_fault of[] = {
        {"503", CROWD_503, 10000},          {"costly 503", CROWD_COSTLY_503, 10000},
        {"refused", CROWD_REFUSED, 10000},  {"silent", CROWD_LOST, 10000},
        {"frozen 5 s", CROWD_FROZEN, 5000}, {"twice as many", CROWD_SPIKE, 10000}};
    for (uint32_t i = worlds_all ? 0 : 12; i < 24; i++) {
        uint32_t busy = i < 12 ? 60 : 90;
        world_plan *w;
        if (!worlds_all && (i % 2 || of[i / 2 % 6].fault == CROWD_SPIKE))
            continue;
        w = serverless(&of[i / 2 % 6], busy, i % 2 ? ", queue of 1 s" : "");
        if (i % 2) {
            w->set.queue = CROWD_QUEUE;
            w->set.says_full = true;
        }
    }
    dearer.retry_cost = RETRY_TOKENS(1);
    serverless(&of[1], 90, ", retry_cost 1")->set.budget = &dearer;
    for (uint32_t i = 0; i < 4; i++) {
        world_plan *w = usual(WORLD_OPERATIONS, "10,000 in a second, %u s%s", i % 2 ? 60u : 30u,
                              i / 2 ? ", queue of 0.5 s" : "");
        w->set.operations = WORLD_OPERATIONS;
        w->set.fresh = true;
        w->set.gap = 0.1;
        w->set.begins_for = 1000;
        w->set.timeout = i % 2 ? 60000 : 30000;
        if (i / 2) {
            w->set.queue = 10;
            w->set.says_full = true;
        }
        w->health = 0;
        w->after = 0;
        w->set.length = 70000;
    }
}

static void worlds_queues(void)
{
    static const world_fault of[] = {{"frozen 5 s", CROWD_FROZEN, 5000},
                                     {"twice as many", CROWD_SPIKE, 10000},
                                     {"503", CROWD_503, 10000}};
    static const char *const orders[] = {"FIFO", "LIFO", "CoDel", "LIFO and CoDel", "shared"};
    for (uint32_t fleet = 0; fleet < world_sizes(); fleet++) {
        for (uint32_t i = 0; i < 15; i++) {
            world_plan *w =
                usual(world_fleets[fleet], "%s: %s, 75 %%", orders[i / 3], of[i % 3].name);
            w->set.gap = per_second(300);
            w->set.order = (uint8_t)(CROWD_FIFO + i / 3);
            world_strikes(w, &of[i % 3]);
        }
    }
}

/* ---- Several servers behind a balancer, which clients take for one ------------------------------
 */

static void worlds_balanced(void)
{
    for (uint32_t fleet = 0; fleet < world_sizes(); fleet++) {
        for (uint32_t i = 0; i < 6; i++) {
            static const char *const ills[] = {"slow", "a black hole"};
            const char *by = i % 2 ? "fewest" : "in turn";
            world_plan *w = i < 4 ? usual(world_fleets[fleet], "1 of 4 is %s, %s", ills[i / 2], by)
                                  : usual(world_fleets[fleet], "10 restart, %s", by);
            w->set.servers = i < 4 ? 4 : 10;
            w->set.workers = i < 4 ? 5 : 2;
            w->set.least = i % 2;
            w->set.resets = i >= 4;
            w->set.length = i < 4 ? 30000 : 50000;
            w->after = 80000; /* a queue without an end takes that long */
            w->fault = i < 2 ? CROWD_SLOW : i < 4 ? CROWD_503 : CROWD_ROLLING;
        }
    }
}

/* Operations of 30 s. */
static void worlds_long(void)
{
    static const retry_ms cuts[] = {1000, 30000, 0, 30000};
    for (uint32_t fleet = 0; fleet < world_sizes(); fleet++) {
        for (uint32_t i = 0; i < 4; i++) {
            world_plan *w =
                i < 3 ? usual(world_fleets[fleet], "30 s of work, 1 of 4 restarts, cut %u s",
                              (unsigned)(cuts[i] / 1000))
                      : usual(world_fleets[fleet], "30 s of work, twice as many");
            w->set.gap = per_second(2);
            w->set.timeout = 120000;
            w->set.work = 30000;
            w->set.servers = 4;
            w->set.workers = 25;
            w->set.cut_after = cuts[i];
            w->set.bin = 1000;
            w->set.resets = true;
            w->set.length = i < 3 ? 10000 : 60000;
            w->set.spike = 2;
            w->fault = i < 3 ? CROWD_RESET : CROWD_SPIKE;
            w->health = 200000;
            w->after = 400000;
        }
    }
}

/* ---- Quotas: 429, with and without a Retry-After ------------------------------------------------
 */

static void worlds_quotas(void)
{
    for (uint32_t fleet = 0; fleet < world_sizes(); fleet++) {
        for (uint32_t i = 0; i < 6; i++) {
            static const char *const names[] = {"100/s, saves 100; 50/s, x3 for 20 s",
                                                "100/s, saves 20; 95/s",
                                                "1000 in 10 s; 90/s, x2 for 30 s"};
            static const double rates[] = {50, 95, 90};
            static const uint32_t bursts[] = {100, 20, 0};
            world_plan *w =
                usual(world_fleets[fleet], "429: %s%s", names[i / 2], i % 2 ? ", told" : "");
            w->set.gap = per_second(rates[i / 2]);
            w->set.workers = 1000;
            w->set.queue = 1;
            w->set.quota = i < 4 ? 100 : 1000;
            w->set.quota_burst = bursts[i / 2];
            w->set.quota_window = i < 4 ? 0 : 10000;
            w->set.retry_after = i % 2 ? UINT32_MAX : 0;
            w->set.spike = i < 2 ? 3 : 2;
            w->set.length = i < 2 ? 20000 : 30000;
            w->fault = i / 2 == 1 ? CROWD_NOTHING : CROWD_SPIKE;
        }
    }
    for (uint32_t i = 0; i < 4; i++) {
        world_plan *w =
            usual(i < 2 ? 1 : 20, "429: 3000 an hour; 1/s of 60 s%s", i % 2 ? ", told" : "");
        w->set.gap = per_second(1);
        w->set.timeout = 60000;
        w->set.quota = 3000;
        w->set.quota_window = 3600000;
        w->set.retry_after = i % 2 ? UINT32_MAX : 0;
        w->set.bin = 5000;
        w->health = 2800000;
        w->set.length = 810000;
        w->after = 200000;
    }
}

/* ---- Slow, and not full
 * -------------------------------------------------------------------------- */

static world_plan *brown(uint32_t processes, const char *name, uint32_t work, uint32_t slowness)
{
    world_plan *w =
        usual(processes, "%u ms, x%u for 30 s%s", (unsigned)work, (unsigned)slowness, name);
    w->set.workers = WORLD_FREE;
    w->set.queue = 1;
    w->set.work = work;
    w->set.slowness = slowness;
    w->set.length = 30000;
    w->fault = CROWD_SLOW;
    w->healthy = true;
    return w;
}

static void worlds_brown(void)
{
    static const uint32_t works[] = {20, 100, 200};
    for (uint32_t fleet = 0; fleet < world_sizes(); fleet++) {
        for (uint32_t i = 0; i < 6; i++)
            brown(world_fleets[fleet], "", works[i / 2], i % 2 ? 10 : 5);
    }
    brown(1, ", initial 500", 200, 10)->set.initial = 500;
}

static void worlds_slow(void)
{
    for (uint32_t fleet = 0; fleet < world_sizes(); fleet++) {
        for (uint32_t i = 0; i < 4; i++) {
            world_plan *w =
                i < 2 ? usual(world_fleets[fleet], "20 workers, x%u for 30 s", i % 2 ? 10u : 2u)
                      : usual(world_fleets[fleet], "slow start, %u %%", i % 2 ? 60u : 20u);
            w->set.slowness = i == 0 ? 2 : 10;
            w->set.gap = per_second(i == 2 ? 80 : 240);
            w->set.length = 30000;
            w->fault = i < 2 ? CROWD_SLOW : CROWD_WARMS;
        }
    }
}

static void worlds_heavy(void)
{
    for (uint32_t fleet = 0; fleet < world_sizes(); fleet++) {
        for (uint32_t i = 0; i < 4; i++) {
            world_plan *w = usual(world_fleets[fleet], "1 %% %s take 2 s, %s",
                                  i % 2 ? "of calls" : "of attempts", i < 2 ? "free" : "75 % busy");
            w->set.work = 10;
            w->set.works = i % 2 ? CROWD_HEAVY_OPERATIONS : CROWD_HEAVY_ATTEMPTS;
            w->set.cut_after = 100;
            w->set.length = 30000;
            w->healthy = true;
            if (i < 2) {
                w->set.workers = WORLD_FREE;
                w->set.queue = 1;
            } else {
                w->set.gap = per_second(500);
            }
        }
    }
}

/* Every other second. */
static void worlds_flapping(void)
{
    static const world_fault of[] = {{"refuses", CROWD_REFUSED, 30000},
                                     {"resets", CROWD_RESET, 30000},
                                     {"is silent", CROWD_LOST, 30000},
                                     {"is frozen", CROWD_FROZEN, 30000}};
    for (uint32_t fleet = 0; fleet < world_sizes(); fleet++) {
        for (uint32_t i = 0; i < 4; i++) {
            world_plan *w = usual(world_fleets[fleet], "each other second it %s", of[i].name);
            w->set.gap = per_second(180);
            w->set.flaps = true;
            w->set.resets = i == 1;
            world_strikes(w, &of[i]);
        }
    }
}

/* ---- Well, all the time
 * -------------------------------------------------------------------------- */

/* From the first call of a new process on. */
static world_plan *well(const char *name, double rate, uint32_t work, uint32_t processes)
{
    world_plan *w = usual(processes, "%s", name);
    w->set.gap = per_second(rate);
    w->set.work = work;
    w->set.cut_after = 10 * work;
    w->set.works = CROWD_ALWAYS;
    w->set.workers = WORLD_FREE;
    w->set.queue = 1;
    w->set.length = 30000;
    w->health = 0;
    w->after = 0;
    w->healthy = true;
    return w;
}

static void worlds_well(void)
{
    world_plan *w;
    well("12 in flight", 240, 50, 1);
    well("50 in flight", 250, 200, 1);
    well("30 in flight", 100, 300, 1);
    well("100 in flight", 1000, 100, 1);
    well("500 in flight", 1000, 500, 1);
    well("50 in flight, random", 250, 200, 1)->set.works = CROWD_EXPONENTIAL;
    well("500 in flight, random", 1000, 500, 1)->set.works = CROWD_EXPONENTIAL;
    well("500 in flight, initial 500", 1000, 500, 1)->set.initial = 500;
    well("bursts of 200, free", 200, 50, 1)->set.burst = 200;
    well("bursts of 200, free", 200, 50, 20)->set.burst = 200;
    for (uint32_t processes = 1; processes <= 20; processes += 19) {
        w = well("bursts of 200, 20 workers", 100, 50, processes);
        w->set.burst = 200;
        w->set.cut_after = CROWD_CUT_AFTER;
        w->set.workers = 20;
        w->set.queue = CROWD_QUEUE_ENDLESS;
    }
    w = well("shared, 80 % busy", 320, 50, 20);
    w->set.workers = 20;
    w->set.queue = CROWD_QUEUE_ENDLESS;
    w->set.works = CROWD_EXPONENTIAL;
    w->set.order = CROWD_SHARED;
}

/* One process that needs many at once, and a server that would bear more. */
static void worlds_many(void)
{
    static const world_fault of[] = {{"503", CROWD_503, 5000},
                                     {"refused", CROWD_REFUSED, 5000},
                                     {"silent", CROWD_LOST, 5000},
                                     {"frozen", CROWD_FROZEN, 5000}};
    for (uint32_t i = 0; i < 8; i++) {
        world_plan *w = usual(1, "%u in flight, %s for 5 s", i < 4 ? 50u : 500u, of[i % 4].name);
        w->set.gap = per_second(i < 4 ? 250 : 1000);
        w->set.work = i < 4 ? 200 : 500;
        w->set.cut_after = 10 * w->set.work;
        w->set.workers = WORLD_FREE;
        w->health = 10000;
        w->after = 20000;
        world_strikes(w, &of[i % 4]);
    }
}

/* 64 threads, each of which makes one call after the other; done counts, not its share. */
static void worlds_pools(void)
{
    static const world_fault of[] = {{"well", CROWD_NOTHING, 30000},
                                     {"x10 for 30 s", CROWD_SLOW, 30000},
                                     {"frozen 5 s", CROWD_FROZEN, 5000},
                                     {"503", CROWD_503, 10000},
                                     {"refused", CROWD_REFUSED, 10000}};
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t workers = i % 2 ? 20 : 64;
        world_plan *w = usual(1, "64 threads, %u workers: %s", (unsigned)workers, of[i / 2].name);
        w->set.pool = 64;
        w->set.workers = workers;
        w->healthy = i < 2 || i == 2;
        world_strikes(w, &of[i / 2]);
    }
}

enum { WORLD_KINDS = 15 };
static const struct {
    const char *name;
    void (*list)(void);
} world_kinds[WORLD_KINDS] = {{"well, from the first call on", worlds_well},
                              {"1 % heavy calls", worlds_heavy},
                              {"slow for 30 s, and never full", worlds_brown},
                              {"slow for 30 s, and full; a slow start", worlds_slow},
                              {"many at once, and a fault", worlds_many},
                              {"pools of 64 threads", worlds_pools},
                              {"quotas", worlds_quotas},
                              {"flapping", worlds_flapping},
                              {"replicas behind a balancer", worlds_balanced},
                              {"operations of 30 s", worlds_long},
                              {"LIFO, CoDel, shared", worlds_queues},
                              {"gateways", worlds_gateway},
                              {"serverless; 10,000 in a second", worlds_serverless},
                              {"usual faults", worlds_usual},
                              {"half of the fleet is somebody else's", worlds_mixed}};

static void list_worlds(bool all)
{
    worlds_all = all;
    for (worlds_kind = 0; worlds_kind < WORLD_KINDS; worlds_kind++)
        world_kinds[worlds_kind].list();
}

#endif /* STORM_WORLDS_H */
