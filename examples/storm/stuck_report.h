/* stuck_report.h: the table of stuck.h, and whether it is as promised. */
#ifndef STORM_STUCK_REPORT_H
#define STORM_STUCK_REPORT_H

#include "course.h"
#include "stuck.h"

enum {
    /* What is promised holds for README.md's operations. */
    STUCK_TIMEOUT = 5000,
    STUCK_LATER_MAX = 10,       /* % that the median may be later, without a fault */
    STUCK_HEDGED_FEWER_MAX = 20 /* of 1,000 operations; without a fault, with a hedge */
};

/* Cells that are not as they should be. */
typedef struct stuck_verdict {
    uint32_t not_back, fewer, rows; /* rows: not more done than without retries */
    uint32_t costly;                /* rows: fewer without a fault */
    /* Without a fault, the worst row: the median, in % of the one without retries; with a hedge the
       same (apart: of STUCK_APART behind the endless queue), and how many fewer of 1,000. */
    double later, hedged_later, apart_later, hedged_fewer;
    bool overrun;
} stuck_verdict;

static void stuck_legend(const stuck_plan *plan)
{
    printf(
        "Take a retry_service for each process and server. With several nodes add\n"
        "retry_client_nodes, and a limit for each node. Is any fleet stuck?\n"
        "Operations of %g s, attempts of %g s; %d s of 13 faults, one after the other.%s\n\n"
        "  server     second: drops what would wait for over a second; endless: drops nothing;\n"
        "             503: says so at once when 50 ms of work wait. \"x 4\": and four nodes\n"
        "  busy       %% of the workers, while all is well and nothing is retried\n"
        "  done       %% of the operations begun in the fault and the %d s after it: the service,\n"
        "             and without retries, attempts of that time (cut) or for all of it (uncut)\n"
        "  stuck      faults after which fewer than 95 %% are done even %d s later\n"
        "  back       s after the worst fault until 95 %% are done again\n\n",
        plan->timeout / 1000.0, CROWD_CUT_AFTER / 1000.0, STUCK_LENGTH / 1000,
        plan->verbose ? "" : " Every load: -v.", STUCK_COUNTED / 1000, (int)(plan->within / 1000));
    printf("                              done, %%             stuck                back, s\n"
           "processes server  busy  service   cut uncut  service cut uncut  service   cut uncut\n");
}

static void stuck_print_back(uint32_t back, int width)
{
    if (back == TOGETHER_NEVER)
        printf("%*s", width, "never");
    else
        printf("%*.1f", width, back / 1000.0);
}

static void stuck_print_row(const stuck_plan *plan, const stuck_row *row, const stuck_cells *cells)
{
    const stuck_sum cut = stuck_sum_up(plan, cells->of[STUCK_CUT]);
    const stuck_sum uncut = stuck_sum_up(plan, cells->of[STUCK_UNCUT]);
    const stuck_sum with = stuck_sum_up(plan, cells->of[STUCK_SERVICE]);
    printf("%5" PRIu32 "%s %-7s %4" PRIu32, row->processes, row->nodes > 1 ? " x 4" : "    ",
           stuck_servers[row->server], row->utilisation);
    printf(" %8.1f %5.1f %5.1f", with.done, cut.done, uncut.done);
    printf(" %8" PRIu32 " %3" PRIu32 " %5" PRIu32, with.stuck, cut.stuck, uncut.stuck);
    stuck_print_back(with.back, 9);
    stuck_print_back(cut.back, 6);
    stuck_print_back(uncut.back, 6);
    printf("\n");
}

/* ---- What is promised ---------------------------------------------------------------------- */

static bool stuck_is_apart(const stuck_row *row)
{
    return row->processes == STUCK_APART && row->server == STUCK_ENDLESS;
}

static void stuck_name(const char *what, const stuck_row *row, const char *fault)
{
    printf("  %s: %" PRIu32 "%s %s %" PRIu32 " %s", what, row->processes,
           row->nodes > 1 ? " x 4" : "", stuck_servers[row->server], row->utilisation, fault);
}

static void stuck_judge_cell(stuck_verdict *verdict, const stuck_plan *plan, const stuck_row *row,
                             const stuck_cells *cells, uint32_t fault)
{
    const stuck_cell *with = &cells->of[STUCK_SERVICE][fault];
    const stuck_cell *none = &cells->of[stuck_none(row)][fault];
    if (with->back > stuck_limit(plan, row, none)) {
        verdict->not_back++;
        stuck_name("not back", row, stuck_faults[fault]);
        printf(", %.1f s without retries\n", none->back / 1000.0);
    }
    if (with->done < 0.95 * none->done) {
        verdict->fewer++;
        stuck_name("fewer done", row, stuck_faults[fault]);
        printf(", %.1f %%, without retries %.1f %%\n", 100 * stuck_share(with),
               100 * stuck_share(none));
    }
}

static double stuck_worse(double *worst, double number)
{
    if (number > *worst)
        *worst = number;
    return number;
}

/* Nothing is wrong: what the service costs then, and what a hedge does. */
static void stuck_judge_well(stuck_verdict *verdict, const stuck_plan *plan, const stuck_row *row,
                             const stuck_cells *cells)
{
    bool apart = stuck_is_apart(row);
    const stuck_cell *with = &cells->of[STUCK_SERVICE][CROWD_WELL];
    const stuck_cell *none = &cells->of[stuck_none(row)][CROWD_WELL];
    const stuck_cell *hedged = &cells->of[STUCK_HEDGED][CROWD_WELL];
    if (with->done < none->done) {
        verdict->costly++;
        stuck_name("fewer done without a fault", row, "\n");
    }
    if (stuck_worse(&verdict->later, 100.0 * with->median / none->median) > 100 + STUCK_LATER_MAX) {
        stuck_name("later without a fault", row, "\n");
    }
    if (stuck_worse(apart ? &verdict->apart_later : &verdict->hedged_later,
                    100.0 * hedged->median / none->median) > 100 + STUCK_LATER_MAX &&
        (plan->verbose || !apart)) {
        stuck_name("later without a fault, with a hedge", row, "\n");
    }
    if (stuck_worse(&verdict->hedged_fewer, 1000 - 1000 * hedged->done / none->done) >
        STUCK_HEDGED_FEWER_MAX) {
        stuck_name("fewer done without a fault, with a hedge", row, "\n");
    }
}

static void stuck_judge_row(stuck_verdict *verdict, const stuck_plan *plan, const stuck_row *row,
                            const stuck_cells *cells)
{
    const stuck_sum none = stuck_sum_up(plan, cells->of[STUCK_UNCUT]); /* the better ones */
    const stuck_sum with = stuck_sum_up(plan, cells->of[STUCK_SERVICE]);
    for (uint32_t fault = 0; fault < CROWD_ALL_FAULTS; fault++) {
        if (stuck_wants(plan, fault))
            stuck_judge_cell(verdict, plan, row, cells, fault);
    }
    if (plan->fault == CROWD_ALL_FAULTS && with.done <= none.done) {
        verdict->rows++;
        stuck_name("not more done", row, "all faults\n");
    }
    if (stuck_wants(plan, CROWD_WELL))
        stuck_judge_well(verdict, plan, row, cells);
    verdict->overrun |= cells->overrun;
}

/* Whether nothing is lost while nothing is wrong; says what it costs at worst. */
static bool stuck_judge_all_well(const stuck_verdict *v)
{
    double worst = v->later > v->hedged_later ? v->later : v->hedged_later;
    bool later = worst > 100 + STUCK_LATER_MAX;
    bool hedged = v->hedged_fewer > STUCK_HEDGED_FEWER_MAX;
    if (v->later > 0)
        printf("Without a fault, at worst: the median takes %.0f %% of what it takes without "
               "retries;\nwith a hedge of %d ms %.0f %%, and %.1f %% fewer are done.\n",
               v->later, STUCK_HEDGE, v->hedged_later, v->hedged_fewer / 10);
    if (v->apart_later > 100 + STUCK_LATER_MAX)
        printf("With it, %d behind an endless queue take %.0f %%.\n", STUCK_APART, v->apart_later);
    if (v->costly)
        printf("NOT AS PROMISED: without a fault as many are done as without retries\n");
    if (later)
        printf("NOT AS PROMISED: without a fault the median is at most %d %% later\n",
               STUCK_LATER_MAX);
    if (hedged)
        printf("NOT AS PROMISED: with a hedge, too, nearly all are done without a fault\n");
    return v->costly == 0 && !later && !hedged;
}

/* Whether all is as promised; if not, says why. */
static bool stuck_judge(const stuck_verdict *v, const stuck_plan *plan)
{
    bool well;
    if (v->overrun)
        printf("NOT AS PROMISED: the simulation ran out of memory\n");
    if (plan->timeout != STUCK_TIMEOUT) {
        printf("Promised is only what holds for operations of 5 s.\n");
        return !v->overrun;
    }
    well = stuck_judge_all_well(v);
    if (v->not_back)
        printf("NOT AS PROMISED: every fleet is back\n");
    if (v->fewer)
        printf("NOT AS PROMISED: not fewer done than 95 %% of what is done without retries\n");
    if (v->rows)
        printf("NOT AS PROMISED: more is done than without retries, cut or uncut\n");
    return well && !v->overrun && v->not_back == 0 && v->fewer == 0 && v->rows == 0;
}

/* ---- The part ------------------------------------------------------------------------------ */

static void stuck_show_course(const stuck_plan *plan, const stuck_row *row)
{
    course of;
    memset(&of, 0, sizeof of);
    of.who = "a retry_service in each process";
    of.fault_name = stuck_faults[plan->fault];
    of.set = stuck_set(plan, row, STUCK_SERVICE);
    of.subset = CROWD_SERVICE;
    of.fault = plan->fault;
    of.seed = plan->seed;
    of.health = STUCK_HEALTH;
    of.four = row->nodes > 1 || plan->fault == CROWD_ONE_OF_FOUR;
    printf("\n");
    course_show(&of);
}

/* % done by the fleet in which four retries in hand cost most: each error is as much work for the
   server as an answer, and the queue has no end. */
static double stuck_price(const stuck_plan *plan, uint32_t client, uint32_t retry_cost)
{
    static const stuck_row row = {STUCK_APART, STUCK_ENDLESS, 90, 1};
    crowd *c = &together_now;
    const retry_budget_options budget = {.retry_cost = retry_cost}; /* all else by default */
    crowd_set set = stuck_set(plan, &row, client);
    set.budget = &budget;
    crowd_begin_anew(c, &set, stuck_has_service(client) ? CROWD_SERVICE : CROWD_NO_RETRY, false,
                     plan->seed);
    crowd_run(c, STUCK_HEALTH);
    crowd_strike(c, CROWD_COSTLY_503);
    crowd_run(c, c->to + STUCK_COUNTED + set.timeout);
    return 100 * together_share(c, c->from, c->to + STUCK_COUNTED);
}

static void stuck_print_price(const stuck_plan *plan)
{
    printf("The price, which is not judged: where an error is as much work as an answer (503 after "
           "50 ms),\n%d processes, endless, 90 %% busy, do %.0f %%; with a retry_cost of 1 token "
           "%.0f, without retries %.0f.\n",
           STUCK_APART, stuck_price(plan, STUCK_SERVICE, 0),
           stuck_price(plan, STUCK_SERVICE, RETRY_TOKENS(1)), stuck_price(plan, STUCK_UNCUT, 0));
}

/* Whether all is as promised. */
static bool stuck_part(const stuck_plan *plan)
{
    static stuck_cells cells[STUCK_ROWS_MAX];
    stuck_row rows[STUCK_ROWS_MAX];
    stuck_verdict verdict;
    uint32_t count = stuck_rows(plan, rows);
    bool kept;
    memset(&verdict, 0, sizeof verdict);
    stuck_legend(plan);
    for (uint32_t i = 0; i < count; i++) {
        stuck_fill(&cells[i], plan, &rows[i]);
        if (plan->verbose || plan->utilisation || rows[i].utilisation == STUCK_FOUR_UTILISATION)
            stuck_print_row(plan, &rows[i], &cells[i]);
        fflush(stdout);
    }
    printf("\n");
    if (plan->fault == CROWD_ALL_FAULTS)
        stuck_print_price(plan);
    for (uint32_t i = 0; i < count; i++)
        stuck_judge_row(&verdict, plan, &rows[i], &cells[i]);
    kept = stuck_judge(&verdict, plan);
    if (count == 1 && plan->fault != CROWD_ALL_FAULTS)
        stuck_show_course(plan, rows);
    return kept;
}

#endif /* STORM_STUCK_REPORT_H */
