/* harm.h: is who uses retry.h anywhere worse off than who does not retry? The worlds are those of
   worlds.h. In each, of the operations that began in the fault, or in the 30 s after it, it counts
   those that were done: of a pool of threads how many, as a share of the most. */
#ifndef STORM_HARM_H
#define STORM_HARM_H

#include "worlds.h"

#include <inttypes.h>
#include <unistd.h>

enum { HARM_SETUPS = 6, HARM_NONE = 1, HARM_AFTER = 30000, HARM_SHOWN = 10 };

static const uint32_t harm_setups[HARM_SETUPS] = {PEER_SERVICE, PEER_NONE, PEER_THREE,
                                                  PEER_AWS,     PEER_GRPC, PEER_POLLY};

/* What became of a world, by setup. */
typedef struct harm {
    double done[HARM_SETUPS]; /* % */
    bool stuck[HARM_SETUPS];  /* it does less than 90 % in the end */
} harm;

/* ---- A run ----------------------------------------------------------------------------------- */

static void harm_run(const world_plan *w, uint32_t setup, uint32_t seed, double *done, bool *stuck)
{
    crowd *c = &together_now;
    crowd_set set = w->set;
    uint32_t end, watched = w->after < HARM_AFTER ? w->after : HARM_AFTER;
    peer_set(&set, setup);
    set.timeout = w->set.timeout;
    set.cut_after = setup == PEER_SERVICE ? w->set.cut_after : 0;
    set.add_other = w->other == PEER_SERVICE ? NULL : peer_add_other;
    peer_other = w->other;
    crowd_begin_anew(c, &set, CROWD_SERVICE, false, seed);
    crowd_run(c, w->health);
    crowd_strike(c, w->fault);
    end = c->to + w->after;
    crowd_run(c, end + set.timeout);
    *done = set.pool ? together_done(c, c->from, c->to + watched)
                     : 100 * together_share(c, c->from, c->to + watched);
    *stuck = together_share(c, end - (end - c->from) / 5, end) < 0.9;
    if (c->overrun) {
        fprintf(stderr, "peers: %s: the simulation ran out of memory\n", w->name);
        _exit(2);
    }
}

/* Beside somebody else's clients there are retry.h and no retries, and no third. */
static void harm_simulate(const world_plan *w, uint32_t seed, harm *into)
{
    double most = 0;
    for (uint32_t i = 0; i < HARM_SETUPS; i++) {
        if (i <= HARM_NONE || w->other == PEER_SERVICE)
            harm_run(w, harm_setups[i], seed, &into->done[i], &into->stuck[i]);
        most = fmax(most, into->done[i]);
    }
    for (uint32_t i = 0; i < HARM_SETUPS && w->set.pool; i++)
        into->done[i] *= 100 / most;
}

/* ---- Why ------------------------------------------------------------------------------------- */

enum {
    HARM_BIGGER,
    HARM_MIXED,
    HARM_FREEZE,
    HARM_FRESH,
    HARM_MANY,
    HARM_GATEWAY,
    HARM_HEAVY,
    HARM_POOL,
    HARM_FULL,
    HARM_RESETS,
    HARM_UNKNOWN,
    HARM_CAUSES
};
static const char *const harm_causes[HARM_CAUSES] = {
    [HARM_BIGGER] = "needs many at once, and a limit that fell rises by one a round trip",
    [HARM_MIXED] = "this half gives way",
    [HARM_FREEZE] = "a freeze as long as a timeout: the limit falls, what waits for it is late",
    [HARM_FRESH] = "each call is a new process, which has four retries in hand",
    [HARM_MANY] = "each of 1000 processes has four retries in hand",
    [HARM_GATEWAY] = "1000 processes send again what a gateway gave up, and the server works on",
    [HARM_HEAVY] = "what outlasts cut_after is cut, and done again",
    [HARM_POOL] = "a thread that waits for a retry begins no other call",
    [HARM_FULL] = "a full queue: what is cut is sent again, what waits is late",
    [HARM_RESETS] = "one process: failures lower its limit, and what waits for it is late",
    [HARM_UNKNOWN] = "without a reason that is known"};

/* Attempts of a process that are under way at once, if all are answered. */
static double harm_at_once(const world_plan *w)
{
    double slow = w->fault == CROWD_SLOW ? w->set.slowness : 1;
    double work = w->set.work ? w->set.work : CROWD_WORK;
    return w->set.pool ? w->set.pool : work * slow / w->set.gap / w->set.clients;
}

static bool harm_needs_more(const world_plan *w)
{
    return w->set.pool == 0 && w->set.initial == 0 && harm_at_once(w) > 20 &&
           (w->set.workers == WORLD_FREE || w->set.work > HARM_AFTER / 2);
}

/* Whether answers take as long as cut_after. */
static bool harm_outlasts(const world_plan *w)
{
    double work = w->set.work ? w->set.work : CROWD_WORK;
    return w->fault == CROWD_SLOW && w->set.cut_after != 0 &&
           work * w->set.slowness >= w->set.cut_after;
}

static uint32_t harm_cause(const world_plan *w)
{
    bool full = w->fault == CROWD_SPIKE || w->fault == CROWD_SLOW || w->fault == CROWD_WARMS;
    if (w->other != PEER_SERVICE)
        return HARM_MIXED;
    if (harm_needs_more(w))
        return HARM_BIGGER;
    if (w->set.works > CROWD_EXPONENTIAL || harm_outlasts(w))
        return HARM_HEAVY;
    if (w->set.fresh)
        return HARM_FRESH;
    if (w->set.clients == PEER_FLEET && w->fault == CROWD_COSTLY_503)
        return HARM_MANY;
    if (w->set.clients == PEER_FLEET && w->set.gateways)
        return HARM_GATEWAY;
    if (w->set.pool)
        return HARM_POOL;
    if (w->fault == CROWD_FROZEN)
        return HARM_FREEZE;
    if (full && !w->healthy)
        return HARM_FULL;
    return (w->set.resets || w->set.flaps) && w->set.clients == 1 ? HARM_RESETS : HARM_UNKNOWN;
}

/* ---- What is printed ------------------------------------------------------------------------- */

static double harm_points(const harm *of)
{
    return of->done[HARM_NONE] - of->done[0];
}

/* The setup beside retry.h that does most. */
static uint32_t harm_best(const harm *of)
{
    uint32_t best = HARM_NONE;
    for (uint32_t i = HARM_NONE; i < HARM_SETUPS; i++)
        best = of->done[i] > of->done[best] ? i : best;
    return best;
}

static void harm_print_world(const world_plan *w, const harm *of)
{
    char processes[12] = "a call";
    uint32_t best = harm_best(of);
    if (!w->set.fresh)
        snprintf(processes, sizeof processes, "%" PRIu32, w->set.clients);
    printf("  %-43s %6s %7.1f %9.1f %10.1f%s", w->name, processes, of->done[0], of->done[best],
           of->done[HARM_NONE], of->stuck[0] && !of->stuck[HARM_NONE] ? " stuck" : "");
    if (harm_points(of) > 1)
        printf("  %s", harm_causes[harm_cause(w)]);
    printf("\n");
}

static void harm_print_kind(uint32_t kind, const harm *of)
{
    double own = 0, best = 0, none = 0, points = 0;
    uint32_t count = 0, worse = 0;
    for (uint32_t i = 0; i < worlds_count; i++) {
        if (worlds[i].kind != kind)
            continue;
        count++;
        own += of[i].done[0];
        best += of[i].done[harm_best(&of[i])];
        none += of[i].done[HARM_NONE];
        worse += harm_points(&of[i]) > 1;
        points += harm_points(&of[i]) > 1 ? harm_points(&of[i]) : 0;
    }
    printf("%-45s %6" PRIu32 " %7.1f %9.1f %10.1f %6" PRIu32 " %6.0f\n", world_kinds[kind].name,
           count, own / count, best / count, none / count, worse, points);
}

/* The ten worlds in which retry.h does worst, beside no retries. */
static void harm_print_worst(const harm *of)
{
    bool shown[WORLDS_MAX] = {false};
    printf("\nThe worst ten %37s retry.h best peer no retries\n", "processes");
    for (uint32_t n = 0; n < HARM_SHOWN; n++) {
        uint32_t worst = WORLDS_MAX;
        for (uint32_t i = 0; i < worlds_count; i++) {
            if (!shown[i] && worlds[i].other == PEER_SERVICE &&
                (worst == WORLDS_MAX || harm_points(&of[i]) > harm_points(&of[worst])))
                worst = i;
        }
        shown[worst] = true;
        harm_print_world(&worlds[worst], &of[worst]);
    }
}

static void harm_print(const harm *of, bool verbose)
{
    printf("Harm: %" PRIu32 " other worlds; of the operations begun in the fault, or in the 30 s "
           "after it, %% done\n\n%-45s worlds retry.h best peer no retries  worse points\n",
           worlds_count, "");
    for (uint32_t kind = 0; kind < WORLD_KINDS; kind++) {
        harm_print_kind(kind, of);
        for (uint32_t i = 0; i < worlds_count && verbose; i++) {
            if (worlds[i].kind == kind)
                harm_print_world(&worlds[i], &of[i]);
        }
    }
    printf("\nworse: worlds in which retry.h does over a point less than no retries; points: of "
           "those, in all;\nbest peer: of three tries, AWS standard, gRPC and Polly, for each "
           "world\n");
    harm_print_worst(of);
}

static void harm_write(FILE *file, const harm *of)
{
    fprintf(file, "kind,world,processes,retry.h,none,three,aws,grpc,polly,stuck\n");
    for (uint32_t i = 0; i < worlds_count; i++) {
        fprintf(file, "\"%s\",\"%s\",%" PRIu32, world_kinds[worlds[i].kind].name, worlds[i].name,
                worlds[i].set.fresh ? 0 : worlds[i].set.clients);
        for (uint32_t n = 0; n < HARM_SETUPS; n++)
            fprintf(file, ",%.2f", of[i].done[n]);
        fprintf(file, ",%d\n", of[i].stuck[0]);
    }
}

/* ---- What is promised ------------------------------------------------------------------------ */

typedef struct harm_sum {
    double points;           /* by which worlds are worse, each by over one */
    double well;             /* points that are lost at most where the server is well */
    uint32_t stuck, unknown; /* where no retries is not; without a reason */
} harm_sum;

static harm_sum harm_sum_up(const harm *of)
{
    harm_sum s = {.points = 0};
    for (uint32_t i = 0; i < worlds_count; i++) {
        uint32_t cause = harm_cause(&worlds[i]);
        double points = harm_points(&of[i]);
        if (cause == HARM_MIXED)
            continue;
        s.points += points > 1 ? points : 0;
        s.unknown += cause == HARM_UNKNOWN && points > 1;
        s.well = worlds[i].healthy ? fmax(s.well, points) : s.well;
        s.stuck += of[i].stuck[0] && !of[i].stuck[HARM_NONE];
    }
    return s;
}

#endif /* STORM_HARM_H */
