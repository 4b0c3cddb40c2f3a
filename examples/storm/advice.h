/* advice.h: which gates to take for the operator's service, by the matrix of together.h. */
#ifndef STORM_ADVICE_H
#define STORM_ADVICE_H

#include "report.h"
#include "schemes.h"
#include "together.h"

enum {
    ADVICE_LENGTH = 30000, /* ms at most, as the next two */
    ADVICE_TIMEOUT = 10000,
    ADVICE_ATTEMPT = 10000,
    ADVICE_CLIENTS = 20 /* at most */
};

/* The operator's service, made smaller: as busy, with as much traffic behind one budget. */
static together_plan advice_plan(const options *set)
{
    together_plan plan;
    uint64_t all = (uint64_t)CROWD_WORKERS * set->utilisation * 10 / CROWD_WORK; /* a second */
    uint64_t group = (uint64_t)set->sharing * 1000 / set->think;
    uint64_t clients = all / (group ? group : 1);
    memset(&plan, 0, sizeof plan);
    plan.set.clients = (uint32_t)(clients < 1                ? 1
                                  : clients < ADVICE_CLIENTS ? clients
                                                             : ADVICE_CLIENTS);
    plan.set.utilisation = set->utilisation;
    plan.set.timeout =
        set->timeout && set->timeout < ADVICE_TIMEOUT ? set->timeout : ADVICE_TIMEOUT;
    plan.set.cut_after = set->cut_after < ADVICE_ATTEMPT ? set->cut_after : ADVICE_ATTEMPT;
    plan.set.length = set->length < ADVICE_LENGTH ? set->length : ADVICE_LENGTH;
    plan.set.slowness = set->slowness;
    plan.set.queue = CROWD_QUEUE;
    plan.set.limit = 100;
    if (set->own_count > 0) {
        const own_layer *inner = &set->own[set->own_count - 1];
        plan.set.strategy = &inner->policy.base;
        if (strcmp(inner->budget_text, "none") != 0)
            plan.set.budget = &inner->budget;
    }
    plan.seed = set->seed;
    plan.seeds = 1;
    plan.healths = 1;
    plan.within = TOGETHER_LATE;
    plan.subset = CROWD_SUBSETS;
    plan.fault = CROWD_FAULTS;
    return plan;
}

/* A row of the matrix, in short. */
typedef struct advice_row {
    uint32_t bad, slowest; /* cells that are not well in time; the fault that lasts longest */
    uint32_t gates;
    double share; /* of what is done without retries, in and after all faults */
} advice_row;

static advice_row advice_of(const together_matrix *matrix, uint32_t subset)
{
    const together_run *cell = matrix->cell[subset], *none = matrix->cell[CROWD_NO_RETRY];
    advice_row row = {0, 0, 0, 0};
    double done = 0, without = 0;
    for (uint32_t fault = 0; fault < CROWD_FAULTS; fault++) {
        row.bad += cell[fault].late;
        if (cell[fault].back > cell[row.slowest].back)
            row.slowest = fault;
        done += cell[fault].all;
        without += none[fault].all;
    }
    for (uint32_t gate = 0; gate < TOGETHER_GATES; gate++)
        row.gates += subset >> gate & 1;
    row.share = done / without;
    return row;
}

/* The fewest faults that last; then the most work done, to one in a hundred; then the fewest
   gates. */
static bool advice_better(advice_row a, advice_row b)
{
    double gain = a.share - b.share;
    if (a.bad != b.bad)
        return a.bad < b.bad;
    return a.gates <= b.gates ? gain > -0.01 && (gain > 0.01 || a.gates < b.gates) : gain > 0.01;
}

static void advice_print(const char *name, advice_row row, const together_run *cells)
{
    char back[16] = "never";
    if (cells[row.slowest].back != TOGETHER_NEVER)
        snprintf(back, sizeof back, "%.1f s", cells[row.slowest].back / 1000.0);
    printf("%-36s %6" PRIu32 " %10s  %-8s %8.1f %%\n", name, row.bad, back,
           together_faults[row.slowest], 100 * row.share);
}

/* In words: AIMD limit, budget. */
static void advice_recommend(uint32_t subset)
{
    static const char *const words[TOGETHER_GATES] = {"breaker", "throttle", "AIMD limit", "rate",
                                                      "budget"};
    const char *before = "With this service take: ";
    for (uint32_t gate = 0; gate < TOGETHER_GATES; gate++) {
        if (subset >> gate & 1) {
            printf("%s%s", before, words[gate]);
            before = ", ";
        }
    }
    printf("%s\n", subset ? "" : "With this service take: none of them");
}

static together_matrix advice_matrix;

static void advice_answer(const options *set)
{
    const together_plan plan = advice_plan(set);
    uint32_t best = 0;
    together_fill(&advice_matrix, &plan);
    for (uint32_t subset = 1; subset < CROWD_SUBSETS; subset++) {
        if (advice_better(advice_of(&advice_matrix, subset), advice_of(&advice_matrix, best)))
            best = subset;
    }
    advice_recommend(best);
}

static void advice_part(const options *set)
{
    char name[64];
    printf("\n7. Which gates, under nine faults, with %s\n\n"
           "%-36s faults    longest            done, of what\n"
           "%-36s > %d s    to be well         no retries do\n",
           set->own_count ? "your policy" : "best effort", "", "", TOGETHER_LATE / 1000);
    advice_print("(no retries at all)", advice_of(&advice_matrix, CROWD_NO_RETRY),
                 advice_matrix.cell[CROWD_NO_RETRY]);
    for (uint32_t subset = 0; subset < CROWD_SUBSETS; subset++) {
        advice_row row = advice_of(&advice_matrix, subset);
        advice_print(together_name(subset, name), row, advice_matrix.cell[subset]);
    }
}

#endif /* STORM_ADVICE_H */
