/* together.c: which of retry.h's gates go together.

       make together ARGS='--utilisation 90 --fleet 2'

   A service that is healthy is struck by one of nine faults for eight seconds: connections refused,
   requests lost, the server frozen, 503, 429, a 429 that costs as much as an answer, ten times
   slower, one server of four frozen, three times the load. Its clients retry by best effort behind
   each of the 32 subsets of breaker, throttle, AIMD limit, rate and budget. When is all well again?

   Each cell is the worst of several runs: two lengths of health before the fault, by as many seeds
   as are asked for. `--help` lists the options. With a subset and a fault in the options the worst
   run is shown second by second. The exit status is 1 if something is not as retry.h's manual
   promises. The simulated world is in crowd.h, the matrix in together.h. */
#define _DEFAULT_SOURCE
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "together.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { FLEETS = 3 };

static const struct {
    uint32_t clients;
    retry_ms timeout, attempt_timeout;
} fleets[FLEETS] = {{4, 2000, 500}, {1, 2500, 300}, {20, 2000, 500}};

typedef struct asked {
    uint32_t utilisation, subset, fault, seeds, seed, limit, in_flight, within;
    uint32_t fleet; /* 0: all */
} asked;

/* ---- Options ------------------------------------------------------------------------------- */

static void refuse(const char *what, const char *text)
{
    fprintf(stderr, "together: %s, not '%s'\ntogether --help lists the options.\n", what, text);
    exit(2);
}

static void help(void)
{
    printf("usage: together [OPTION VALUE]...\n"
           "Which of retry.h's gates, in which company, let a service come back from what.\n\n"
           "  --utilisation 60   %% of the workers that are busy without retries, 1 to 95\n"
           "  --fleet all        1: 4 clients, operations of 2 s, attempts of 500 ms\n"
           "                     2: 1 client, 2.5 s, 300 ms\n"
           "                     3: 20 clients, 2 s, 500 ms\n"
           "  --subset all       of breaker,throttle,aimd,rate,budget; or none\n"
           "  --fault all        refused lost frozen 503 429 costly slow 1-of-4 spike\n"
           "  --seeds 3          runs of each, 1 to 100; the worst counts\n"
           "  --seed 1           the first of them\n"
           "  --limit 100        an AIMD limit's max; 0: what begins in one timeout\n"
           "  --in-flight 0      operations that a client's budget is for; 0: those that\n"
           "                     are in flight at once while all is well\n"
           "  --within 10        seconds after the fault by which all is to be well, 1 to 30\n"
           "  --help             this\n\n"
           "One subset and one fault: the worst run, second by second. The exit status is 1\n"
           "if something is not as promised, 2 if an option is no good.\n");
    exit(0);
}

static uint32_t read_number(const char *text, uint32_t low, uint32_t high, const char *what)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || value < low || value > high)
        refuse(what, text);
    return (uint32_t)value;
}

static uint32_t read_gate(const char *word, size_t length)
{
    for (uint32_t gate = 0; gate < TOGETHER_GATES; gate++) {
        if (strlen(together_gates[gate]) == length &&
            memcmp(together_gates[gate], word, length) == 0)
            return 1u << gate;
    }
    refuse("--subset is of breaker,throttle,aimd,rate,budget, or none", word);
    return 0;
}

static uint32_t read_subset(const char *text)
{
    uint32_t subset = 0;
    if (strcmp(text, "all") == 0)
        return CROWD_SUBSETS;
    if (strcmp(text, "none") == 0)
        return 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        subset |= read_gate(text, length);
        if (text[length] == '\0')
            return subset;
        text += length + 1;
    }
}

static uint32_t read_fault(const char *text)
{
    if (strcmp(text, "all") == 0)
        return CROWD_FAULTS;
    if (strcmp(text, "1-of-4") == 0)
        return CROWD_ONE_OF_FOUR;
    for (uint32_t fault = 0; fault < CROWD_FAULTS; fault++) {
        if (strcmp(text, together_faults[fault]) == 0)
            return fault;
    }
    refuse("--fault is refused, lost, frozen, 503, 429, costly, slow, 1-of-4 or spike", text);
    return 0;
}

static void read_option(asked *options, const char *name, const char *text)
{
    if (strcmp(name, "--utilisation") == 0)
        options->utilisation = read_number(text, 1, 95, "--utilisation is from 1 to 95");
    else if (strcmp(name, "--fleet") == 0)
        options->fleet =
            strcmp(text, "all") == 0 ? 0 : read_number(text, 1, FLEETS, "--fleet is 1, 2 or 3");
    else if (strcmp(name, "--subset") == 0)
        options->subset = read_subset(text);
    else if (strcmp(name, "--fault") == 0)
        options->fault = read_fault(text);
    else if (strcmp(name, "--seeds") == 0)
        options->seeds = read_number(text, 1, TOGETHER_SEEDS, "--seeds is from 1 to 100");
    else if (strcmp(name, "--seed") == 0)
        options->seed = read_number(text, 1, 1000000, "--seed is from 1 to 1000000");
    else if (strcmp(name, "--limit") == 0)
        options->limit = read_number(text, 0, 10000, "--limit is from 0 to 10000");
    else if (strcmp(name, "--in-flight") == 0)
        options->in_flight = read_number(text, 0, 10000, "--in-flight is from 0 to 10000");
    else if (strcmp(name, "--within") == 0)
        options->within = read_number(text, 1, 30, "--within is from 1 to 30");
    else
        refuse("options are --utilisation, --fleet, --subset, --fault, --seeds, --seed, --limit, "
               "--in-flight and --within",
               name);
}

static asked read_options(char *const *argument)
{
    asked options = {60, CROWD_SUBSETS, CROWD_FAULTS, 3, 1, 100, 0, 10, 0};
    for (; *argument; argument += 2) {
        if (strcmp(*argument, "--help") == 0)
            help();
        read_option(&options, argument[0], argument[1] ? argument[1] : "");
        if (!argument[1])
            break;
    }
    return options;
}

/* ---- The table ----------------------------------------------------------------------------- */

/* Seconds until all is well, in red if that is never, in yellow if it is late. */
static void print_cell(const together_run *cell)
{
    bool colours = isatty(STDOUT_FILENO) != 0;
    char text[16] = "never";
    if (cell->back != TOGETHER_NEVER)
        snprintf(text, sizeof text, "%.1f", cell->back / 1000.0);
    if (colours && cell->late)
        printf("\033[%sm%8s\033[0m", cell->back == TOGETHER_NEVER ? "31" : "33", text);
    else
        printf("%8s", text);
}

static void print_row(const together_run row[CROWD_FAULTS], uint32_t subset, uint32_t only)
{
    if (subset == CROWD_NO_RETRY)
        printf("%-33s", "(no retries at all)");
    for (uint32_t gate = 0; gate < TOGETHER_GATES && subset != CROWD_NO_RETRY; gate++)
        printf("%s%-*s", gate ? " " : "", (int)strlen(together_gates[gate]),
               subset >> gate & 1 ? together_gates[gate] : "");
    for (uint32_t fault = 0; fault < CROWD_FAULTS; fault++) {
        if (only == CROWD_FAULTS || only == fault)
            print_cell(&row[fault]);
    }
    printf("\n");
}

static void print_table(const together_matrix *matrix, const together_plan *plan)
{
    printf("%-33s", "");
    for (uint32_t fault = 0; fault < CROWD_FAULTS; fault++) {
        if (plan->fault == CROWD_FAULTS || plan->fault == fault)
            printf("%8s", together_faults[fault]);
    }
    printf("\n");
    print_row(matrix->cell[CROWD_NO_RETRY], CROWD_NO_RETRY, plan->fault);
    for (uint32_t subset = 0; subset < CROWD_SUBSETS; subset++) {
        if (plan->subset == CROWD_SUBSETS || plan->subset == subset)
            print_row(matrix->cell[subset], subset, plan->fault);
    }
}

/* ---- One cell, second by second ------------------------------------------------------------ */

static void show_head(const char *subset, const char *fault, const together_run *worst)
{
    printf("%s, %s: after %" PRIu32 " s of health, seed %" PRIu32 "\n\n", subset, fault,
           together_health[worst->health] / 1000, worst->seed);
    printf("              of those  longest               circuit  throt-         budget\n"
           "second begun   done, %%    queue   sent  limit     open   tled   paced   empty  "
           "expired\n");
}

static void show_add(crowd_bin *sum, const crowd_bin *bin)
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
static uint32_t limits(const crowd *c)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < c->set->clients; i++)
        sum += retry_aimd_limit(&c->clients[i].to[0].aimd);
    return sum;
}

/* From two seconds before the fault on; second 0 is its end. */
static void show_cell(const together_plan *plan, const together_run *worst)
{
    crowd *c = &together_now;
    uint32_t from = together_health[worst->health], until, limit[64] = {0};
    crowd_begin_anew(c, &plan->set, plan->subset, plan->fault == CROWD_ONE_OF_FOUR, worst->seed);
    crowd_run(c, from);
    crowd_strike(c, plan->fault);
    until = c->to + TOGETHER_WATCHED;
    for (uint32_t second = 0; second * 1000 < until - from; second++) {
        crowd_run(c, from + (second + 1) * 1000);
        limit[second % 64] = limits(c);
    }
    crowd_run(c, until + plan->set.timeout);
    for (uint32_t at = from - 2000; at < until; at += 1000) {
        crowd_bin sum = {0};
        for (uint32_t bin = at / CROWD_BIN; bin < (at + 1000) / CROWD_BIN; bin++)
            show_add(&sum, &c->bins[bin]);
        printf("%6d %5u %8.1f %8u %6u ", ((int)at - (int)c->to) / 1000, sum.begun,
               sum.begun ? 100.0 * sum.done / sum.begun : 0, sum.waiting, sum.sent);
        if (at >= from && (plan->subset & CROWD_AIMD))
            printf("%6" PRIu32, limit[(at - from) / 1000 % 64]);
        else
            printf("%6s", "-");
        printf(" %8u %6u %7u %7u %8u%s\n", sum.open, sum.throttled, sum.paced, sum.unpaid,
               sum.expired, at >= c->from && at < c->to ? "  <- fault" : "");
    }
}

/* ---- What is promised ---------------------------------------------------------------------- */

/* Cells that need not be well: where nothing limits retries; and a 429 is an answer to a breaker.
 */
static bool excused(uint32_t subset, uint32_t fault)
{
    return subset == 0 || subset == CROWD_RATE ||
           (subset == CROWD_BREAKER && fault == CROWD_COSTLY_429);
}

/* Of the others: how many need not at over 60 %, in each fleet. */
static const uint32_t excused_at_90[FLEETS] = {6, 16, 18};

typedef struct summary {
    uint32_t cells, bad, slow;
    const together_run *least, *least_early; /* of the subsets that come back */
    uint32_t least_subset, least_fault, early_subset, early_fault;
} summary;

static void sum_up_cell(summary *s, const together_run *cell, uint32_t subset, uint32_t fault,
                        uint32_t within)
{
    s->cells++;
    s->slow += cell->back > within;
    if (cell->late) {
        s->bad++;
        return;
    }
    if (cell->back > TOGETHER_LATE) /* a full queue: nobody could be well by now */
        return;
    if (!s->least || cell->least < s->least->least) {
        s->least = cell;
        s->least_subset = subset;
        s->least_fault = fault;
    }
    if (!s->least_early || cell->least_early < s->least_early->least_early) {
        s->least_early = cell;
        s->early_subset = subset;
        s->early_fault = fault;
    }
}

static summary sum_up(const together_matrix *matrix, const together_plan *plan)
{
    summary s = {0};
    for (uint32_t subset = 0; subset < CROWD_SUBSETS; subset++) {
        for (uint32_t fault = 0; fault < CROWD_FAULTS; fault++) {
            if (together_wants(plan, subset, fault))
                sum_up_cell(&s, &matrix->cell[subset][fault], subset, fault, plan->within);
        }
    }
    return s;
}

static void print_summary(const summary *s, uint32_t within)
{
    char name[64];
    printf("\n%" PRIu32 " of %" PRIu32 " cells are not well %d s after the fault", s->bad, s->cells,
           (int)(within / 1000));
    if (s->slow > s->bad)
        printf(";\n%" PRIu32 " more take no longer than a full queue takes without retries",
               s->slow - s->bad);
    printf(".\n");
    if (!s->least)
        return;
    printf("Goodput of the others, beside no retries at all, at worst:\n"
           "  from %d s after the fault on   %5.1f %%  %s, %s\n",
           TOGETHER_LATE / 1000, 100 * s->least->least, together_name(s->least_subset, name),
           together_faults[s->least_fault]);
    printf("  in the first %d s after it     %5.1f %%  %s, %s\n", TOGETHER_EARLY / 1000,
           100 * s->least_early->least_early, together_name(s->early_subset, name),
           together_faults[s->early_fault]);
}

/* Names the cells of a subset that are not well and should be; returns how many. */
static uint32_t name_bad(const together_matrix *matrix, const together_plan *plan, uint32_t subset)
{
    uint32_t bad = 0;
    char name[64];
    for (uint32_t fault = 0; fault < CROWD_FAULTS; fault++) {
        if (!together_wants(plan, subset, fault) || !matrix->cell[subset][fault].late ||
            excused(subset, fault))
            continue;
        if (bad++ == 0)
            printf("not well: %s: %s", together_name(subset, name), together_faults[fault]);
        else
            printf(", %s", together_faults[fault]);
    }
    printf("%s", bad ? "\n" : "");
    return bad;
}

/* Whether a fleet is as promised; if not, says why. */
static bool judge(const together_matrix *matrix, const together_plan *plan, uint32_t fleet,
                  const summary *s)
{
    uint32_t bad = 0, may = plan->set.utilisation > 60 ? excused_at_90[fleet] : 0;
    bool less = s->least && s->least->least < 0.98;
    for (uint32_t subset = 0; subset < CROWD_SUBSETS; subset++)
        bad += name_bad(matrix, plan, subset);
    if (bad > may)
        printf("NOT AS PROMISED: at most %" PRIu32 " cells but those of {} and {rate}\n", may);
    if (less)
        printf("NOT AS PROMISED: over 2 %% less goodput than without retries\n");
    if (matrix->overrun)
        printf("NOT AS PROMISED: the simulation ran out of memory\n");
    return bad <= may && !less && !matrix->overrun;
}

/* ---- The program --------------------------------------------------------------------------- */

static together_plan plan_of(const asked *options, uint32_t fleet)
{
    together_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.set.clients = fleets[fleet].clients;
    plan.set.timeout = fleets[fleet].timeout;
    plan.set.attempt_timeout = fleets[fleet].attempt_timeout;
    plan.set.utilisation = options->utilisation;
    plan.set.length = 8000;
    plan.set.slowness = 10;
    plan.set.limit = options->limit;
    plan.set.in_flight = options->in_flight;
    plan.seed = options->seed;
    plan.seeds = options->seeds;
    plan.healths = TOGETHER_HEALTHS;
    plan.within = options->within * 1000;
    plan.subset = options->subset;
    plan.fault = options->fault;
    return plan;
}

static bool do_fleet(const asked *options, uint32_t fleet)
{
    static together_matrix matrix;
    const together_plan plan = plan_of(options, fleet);
    bool one = plan.subset != CROWD_SUBSETS && plan.fault != CROWD_FAULTS;
    summary s;
    together_fill(&matrix, &plan);
    printf("Fleet %" PRIu32 ": %" PRIu32 " client%s, operations of %g s, attempts of %" PRIu32
           " ms; %" PRIu32 " %% utilisation\nSeconds until all is well:\n\n",
           fleet + 1, plan.set.clients, plan.set.clients == 1 ? "" : "s", plan.set.timeout / 1000.0,
           plan.set.attempt_timeout, plan.set.utilisation);
    print_table(&matrix, &plan);
    s = sum_up(&matrix, &plan);
    print_summary(&s, plan.within);
    if (one) {
        char name[64];
        printf("\n");
        show_head(together_name(plan.subset, name), together_faults[plan.fault],
                  &matrix.cell[plan.subset][plan.fault]);
        show_cell(&plan, &matrix.cell[plan.subset][plan.fault]);
    }
    printf("\n");
    return judge(&matrix, &plan, fleet, &s);
}

int main(int count, char **arguments)
{
    asked options = read_options(arguments + (count > 0));
    bool kept = true;
    for (uint32_t fleet = 0; fleet < FLEETS; fleet++) {
        if (options.fleet == 0 || options.fleet == fleet + 1)
            kept = do_fleet(&options, fleet) && kept;
        fflush(stdout);
    }
    printf(kept ? "every cell as promised\n" : "not as promised\n");
    return kept ? 0 : 1;
}
