/* together.h: which gates, in which company, let a service come back from what, and how soon:
   every subset of breaker, throttle, AIMD limit, rate and budget, under every fault of crowd.h. */
#ifndef STORM_TOGETHER_H
#define STORM_TOGETHER_H

#include "crowd.h"

#include <stdio.h>

static const char *const together_faults[CROWD_FAULTS] = {
    "refused", "lost", "frozen", "503", "429", "costly", "slow", "1 of 4", "spike"};
static const char *const together_gates[] = {"breaker", "throttle", "aimd", "rate", "budget"};

enum { TOGETHER_GATES = 5, TOGETHER_HEALTHS = 2, TOGETHER_SEEDS = 100 };

/* ms of health before the fault: gates that are young, and gates that have seen their windows. */
static const uint32_t together_health[TOGETHER_HEALTHS] = {30000, 130000};

enum {
    TOGETHER_WATCHED = 40000, /* ms after the fault */
    TOGETHER_LATE = 10000,    /* ms after it from when on nothing is to be lost any more */
    TOGETHER_GRACE = 1000,    /* ms more than a full queue takes, if that is later */
    TOGETHER_EARLY = 30000,   /* ms after it that are the first */
    TOGETHER_WINDOW = 2000    /* ms of which 95 % have to be done */
};
#define TOGETHER_NEVER UINT32_MAX

/* One run of one cell. */
typedef struct together_run {
    bool late;                 /* see together_limit */
    uint32_t back;             /* ms after the fault; TOGETHER_NEVER */
    double before;             /* share of the operations begun before the fault that are done */
    double done, early, all;   /* operations: from TOGETHER_LATE on, until TOGETHER_EARLY, and those
                                  with the fault's own */
    double least, least_early; /* the first two, of what is done without any retry */
    uint32_t health, seed;
} together_run;

/* A fleet's whole matrix: the worst run of each cell. */
typedef struct together_matrix {
    together_run cell[CROWD_SUBSETS + 1][CROWD_FAULTS]; /* the last: CROWD_NO_RETRY */
    bool overrun;
} together_matrix;

/* ---- A run --------------------------------------------------------------------------------- */

static double together_begun(const crowd *c, uint32_t from, uint32_t to)
{
    double sum = 0;
    for (uint32_t bin = from / c->bin; bin < to / c->bin; bin++)
        sum += c->bins[bin].begun;
    return sum;
}

static double together_done(const crowd *c, uint32_t from, uint32_t to)
{
    double sum = 0;
    for (uint32_t bin = from / c->bin; bin < to / c->bin; bin++)
        sum += c->bins[bin].done;
    return sum;
}

static double together_share(const crowd *c, uint32_t from, uint32_t to)
{
    double begun = together_begun(c, from, to);
    return begun > 0 ? together_done(c, from, to) / begun : 1;
}

/* From when on each window is as good as 95 % of before. Counted is when operations began, so that
   chance in how many begin does not matter. `watched`: ms after the fault. */
static uint32_t together_back(const crowd *c, double before, uint32_t watched)
{
    uint32_t after = watched - TOGETHER_WINDOW;
    if (together_share(c, c->to + after, c->to + watched) < 0.95 * before)
        return TOGETHER_NEVER;
    while (after >= CROWD_BIN &&
           together_share(c, c->to + after - CROWD_BIN,
                          c->to + after - CROWD_BIN + TOGETHER_WINDOW) >= 0.95 * before)
        after -= CROWD_BIN;
    return after;
}

/* A fault strikes a healthy crowd. */
static together_run together_strike(crowd *c, uint32_t fault)
{
    together_run run = {0};
    crowd_strike(c, fault);
    crowd_run(c, c->to + TOGETHER_WATCHED + c->set->timeout);
    run.before = together_share(c, c->from - 20000, c->from - c->set->timeout);
    run.back = run.before < 0.95 ? TOGETHER_NEVER : together_back(c, run.before, TOGETHER_WATCHED);
    run.done = together_done(c, c->to + TOGETHER_LATE, c->to + TOGETHER_WATCHED);
    run.early = together_done(c, c->to, c->to + TOGETHER_EARLY);
    run.all = together_done(c, c->from, c->to + TOGETHER_EARLY);
    return run;
}

/* ---- The matrix ---------------------------------------------------------------------------- */

typedef struct together_plan {
    crowd_set set;
    uint32_t seed, seeds, healths; /* runs of each cell */
    uint32_t within;               /* ms after the fault by which all is to be well */
    uint32_t subset, fault;        /* one only (CROWD_SUBSETS, CROWD_FAULTS: all) */
    bool four;                     /* all faults are those of one of four servers */
} together_plan;

static bool together_wants(const together_plan *plan, uint32_t subset, uint32_t fault)
{
    return subset == CROWD_NO_RETRY || ((plan->subset == CROWD_SUBSETS || plan->subset == subset) &&
                                        (plan->fault == CROWD_FAULTS || plan->fault == fault));
}

/* A saved game: the faults of one crowd begin at the same point. */
static crowd together_now, together_saved;

typedef struct together_measure { /* without retries, for each health and fault */
    together_run run[TOGETHER_HEALTHS][CROWD_FAULTS];
} together_measure;

/* The worst counts, of each number. */
static void together_worse(together_run *worst, const together_run *run, const together_run *none)
{
    double least = run->done / (none->done > 0 ? none->done : 1);
    double least_early = run->early / (none->early > 0 ? none->early : 1);
    if (worst->seed == 0 || run->back > worst->back) {
        worst->back = run->back;
        worst->before = run->before;
        worst->health = run->health;
        worst->seed = run->seed;
        worst->all = run->all;
    }
    if (worst->least == 0 || least < worst->least)
        worst->least = least;
    if (worst->least_early == 0 || least_early < worst->least_early)
        worst->least_early = least_early;
}

/* All faults that one healthy crowd can meet. */
static void together_crowd(together_matrix *matrix, const together_plan *plan, uint32_t subset,
                           bool four, uint32_t seed, together_measure *none)
{
    crowd *c = &together_now;
    crowd_begin_anew(c, &plan->set, subset, four, seed);
    for (uint32_t health = 0; health < plan->healths; health++) {
        crowd_run(c, together_health[health]);
        crowd_copy(&together_saved, c);
        for (uint32_t fault = 0; fault < CROWD_FAULTS; fault++) {
            together_run run;
            if (!together_wants(plan, subset, fault) ||
                (!plan->four && (fault == CROWD_ONE_OF_FOUR) != four))
                continue;
            run = together_strike(c, fault);
            run.health = health;
            run.seed = seed;
            if (subset == CROWD_NO_RETRY)
                none->run[health][fault] = run;
            together_worse(&matrix->cell[subset][fault], &run, &none->run[health][fault]);
            matrix->overrun |= c->overrun;
            crowd_copy(c, &together_saved);
        }
    }
}

static void together_seed(together_matrix *matrix, const together_plan *plan, uint32_t seed)
{
    together_measure none;
    memset(&none, 0, sizeof none);
    for (uint32_t i = 0; i <= CROWD_SUBSETS; i++) {
        uint32_t subset = i == 0 ? CROWD_NO_RETRY : i - 1;
        bool all = i == 0 || plan->four || plan->fault == CROWD_FAULTS;
        if (!together_wants(plan, subset, plan->fault))
            continue;
        if (!plan->four && (all || plan->fault != CROWD_ONE_OF_FOUR))
            together_crowd(matrix, plan, subset, false, seed, &none);
        if (all || plan->fault == CROWD_ONE_OF_FOUR)
            together_crowd(matrix, plan, subset, true, seed, &none);
    }
}

/* ms by which all is to be well: what is asked for, or what this service needs to work off a full
   queue whatever its clients do (the slowest fault without retries), and TOGETHER_GRACE more. */
static uint32_t together_limit(const together_matrix *matrix, const together_plan *plan)
{
    uint32_t slowest = 0;
    for (uint32_t fault = 0; fault < CROWD_FAULTS; fault++) {
        uint32_t back = matrix->cell[CROWD_NO_RETRY][fault].back;
        if (back != TOGETHER_NEVER && back > slowest)
            slowest = back;
    }
    slowest += TOGETHER_GRACE;
    return slowest > plan->within ? slowest : plan->within;
}

static inline void together_fill(together_matrix *matrix, const together_plan *plan)
{
    uint32_t limit;
    memset(matrix, 0, sizeof *matrix);
    for (uint32_t i = 0; i < plan->seeds; i++)
        together_seed(matrix, plan, plan->seed + i);
    limit = together_limit(matrix, plan);
    for (uint32_t subset = 0; subset <= CROWD_SUBSETS; subset++) {
        for (uint32_t fault = 0; fault < CROWD_FAULTS; fault++)
            matrix->cell[subset][fault].late = matrix->cell[subset][fault].back > limit;
    }
}

/* ---- For reports --------------------------------------------------------------------------- */

/* {breaker,aimd} */
static inline const char *together_name(uint32_t subset, char text[64])
{
    size_t length = 0;
    text[length++] = '{';
    for (uint32_t gate = 0; gate < TOGETHER_GATES; gate++) {
        if (subset >> gate & 1)
            length += (size_t)snprintf(text + length, 64 - length, "%s%s", length > 1 ? "," : "",
                                       together_gates[gate]);
    }
    text[length++] = '}';
    text[length] = '\0';
    return text;
}

#endif /* STORM_TOGETHER_H */
