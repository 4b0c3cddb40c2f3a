/* together.c: which of retry.h's gates go together, and whether any fleet is stuck.

       make together ARGS='--utilisation 90 --fleet 2'
       make together ARGS='--processes 1000 --server endless'

   1. A service that is healthy is struck by one of nine faults for eight seconds: connections
   refused, requests lost, the server frozen, 503, 429, a 429 that costs as much as an answer, ten
   times slower, one server of four frozen, three times the load. Its clients retry by best effort
   behind each of the 32 subsets of breaker, throttle, AIMD limit, rate and budget. When is all well
   again? Each cell is the worst of several runs: two lengths of health before the fault, by as many
   seeds as are asked for.

   2. Fleets of 1, 20 and 1,000 processes, each with a retry_service of its own, before servers with
   different queues, are struck by thirteen faults. Are they back 30 s later, and how much was done
   beside the same fleet without retries?

   `--help` lists the options. With one cell in the options its run is shown second by second. The
   exit status is 1 if something is not as promised. The simulated world is in crowd.h, the first
   part in together.h, the second in stuck.h. */
#define _DEFAULT_SOURCE
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "course.h"
#include "stuck_report.h"
#include "together.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { FLEETS = 4, PART_GATES = 1, PART_FLEETS = 2 };

static const struct {
    uint32_t clients;
    retry_ms timeout;
    uint32_t utilisation; /* % (default) */
    bool four;            /* servers, of which the first has the faults */
} fleets[FLEETS] = {
    {4, 2500, 60, false}, {1, 5000, 60, false}, {20, 3000, 60, false}, {20, 3000, 75, true}};

typedef struct asked {
    uint32_t parts; /* PART_x (default: 0: those that the other options belong to, or both) */
    uint32_t utilisation, fault, seeds, seed, within; /* of both (0: the part's own) */
    uint32_t fleet, subset, limit, in_flight;         /* of the gates (fleet 0: all) */
    bool verbose;                                     /* every row (default: the chosen few) */
    stuck_plan plan;                                  /* of the fleets */
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
           "1. Which of retry.h's gates, in which company, let a service come back from what.\n"
           "2. Whether any fleet of recommended clients is stuck.\n\n"
           "  --part both        gates: 1, fleets: 2; an option of one part leaves out the other\n"
           "  --utilisation N    %% of the workers that are busy without retries, 1 to 95\n"
           "                     (gates: 60, four servers: 75; fleets: 40, 60, 75 and 90)\n"
           "  --fault all        refused lost frozen 503 429 costly slow 1-of-4 spike; fleets\n"
           "                     also: overload tail rated half\n"
           "  --seeds N          runs of each, 1 to 100 (gates: 3, the worst counts; fleets: 1)\n"
           "  --seed 1           the first of them\n"
           "  --within N         seconds after the fault by which all is to be well, 1 to 30\n"
           "                     (gates: 10; fleets: 30)\n\n"
           "  Gates:\n"
           "  --fleet all        1: 4 clients, operations of 2.5 s; 2: 1 client, 5 s\n"
           "                     3: 20 clients, 3 s; 4: the same, and four servers\n"
           "  --subset all       of breaker,throttle,aimd,rate,budget; or none\n"
           "  --limit 100        an AIMD limit's max; 0: what begins in one timeout\n"
           "  --in-flight 0      operations that a client's budget is for; 0: those that\n"
           "                     are in flight at once while all is well\n\n"
           "  Fleets:\n"
           "  --processes all    1, 20 or 1000\n"
           "  --nodes all        1 or 4\n"
           "  --server all       second, endless or 503\n"
           "  --timeout 5000     ms that an operation may take, 100 to 60000\n\n"
           "  -v                 every subset and every load, and all that is counted\n"
           "  --help             this\n\n"
           "One subset and one fault, or one fleet and one fault: a run, second by second. The\n"
           "exit status is 1 if something is not as promised, 2 if an option is no good.\n");
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

static uint32_t read_word(const char *text, const char *const words[], uint32_t count,
                          const char *what)
{
    if (strcmp(text, "all") == 0)
        return count;
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0)
            return i;
    }
    refuse(what, text);
    return 0;
}

static uint32_t read_processes(const char *text)
{
    static const char *const words[STUCK_SIZES] = {"1", "20", "1000"};
    uint32_t size = read_word(text, words, STUCK_SIZES, "--processes is 1, 20, 1000 or all");
    return size < STUCK_SIZES ? stuck_sizes[size] : 0;
}

static uint32_t read_nodes(const char *text)
{
    static const char *const words[] = {"1", "4"};
    static const uint32_t nodes[] = {1, CROWD_NODES, 0};
    return nodes[read_word(text, words, 2, "--nodes is 1, 4 or all")];
}

static uint32_t read_part(const char *text)
{
    static const char *const words[] = {"gates", "fleets", "both"};
    static const uint32_t parts[] = {PART_GATES, PART_FLEETS, PART_GATES | PART_FLEETS};
    uint32_t word = read_word(text, words, 3, "--part is gates, fleets or both");
    return parts[word < 3 ? word : 2];
}

static uint32_t read_fleet(const char *text)
{
    return strcmp(text, "all") == 0 ? 0 : read_number(text, 1, FLEETS, "--fleet is 1, 2, 3 or 4");
}

/* False: it is none of both parts. */
static bool read_common(asked *options, const char *name, const char *text)
{
    if (strcmp(name, "--part") == 0)
        options->parts = read_part(text);
    else if (strcmp(name, "--utilisation") == 0)
        options->utilisation = read_number(text, 1, 95, "--utilisation is from 1 to 95");
    else if (strcmp(name, "--fault") == 0)
        options->fault =
            read_word(text, stuck_faults, CROWD_ALL_FAULTS, "--fault is one of those in --help");
    else if (strcmp(name, "--seeds") == 0)
        options->seeds = read_number(text, 1, TOGETHER_SEEDS, "--seeds is from 1 to 100");
    else if (strcmp(name, "--seed") == 0)
        options->seed = read_number(text, 1, 1000000, "--seed is from 1 to 1000000");
    else if (strcmp(name, "--within") == 0)
        options->within = read_number(text, 1, 30, "--within is from 1 to 30");
    else
        return false;
    return true;
}

static bool read_gates(asked *options, const char *name, const char *text)
{
    if (strcmp(name, "--fleet") == 0)
        options->fleet = read_fleet(text);
    else if (strcmp(name, "--subset") == 0)
        options->subset = read_subset(text);
    else if (strcmp(name, "--limit") == 0)
        options->limit = read_number(text, 0, 10000, "--limit is from 0 to 10000");
    else if (strcmp(name, "--in-flight") == 0)
        options->in_flight = read_number(text, 0, 10000, "--in-flight is from 0 to 10000");
    else
        return false;
    return true;
}

static bool read_fleets(stuck_plan *plan, const char *name, const char *text)
{
    if (strcmp(name, "--processes") == 0)
        plan->processes = read_processes(text);
    else if (strcmp(name, "--nodes") == 0)
        plan->nodes = read_nodes(text);
    else if (strcmp(name, "--server") == 0)
        plan->server = read_word(text, stuck_servers, STUCK_SERVERS,
                                 "--server is second, endless, 503 or all");
    else if (strcmp(name, "--timeout") == 0)
        plan->timeout = read_number(text, 100, 60000, "--timeout is from 100 to 60000");
    else
        return false;
    return true;
}

static asked read_options(char *const *argument)
{
    asked options;
    uint32_t parts = 0;
    memset(&options, 0, sizeof options);
    options.fault = CROWD_ALL_FAULTS;
    options.seed = 1;
    options.subset = CROWD_SUBSETS;
    options.limit = 100;
    options.plan.timeout = STUCK_TIMEOUT;
    options.plan.server = STUCK_SERVERS;
    for (; *argument; argument += 2) {
        const char *name = argument[0], *text = argument[1] ? argument[1] : "";
        if (strcmp(name, "--help") == 0)
            help();
        if (strcmp(name, "-v") == 0) {
            options.verbose = true;
            argument--;
            continue;
        }
        if (read_gates(&options, name, text))
            parts |= PART_GATES;
        else if (read_fleets(&options.plan, name, text))
            parts |= PART_FLEETS;
        else if (!read_common(&options, name, text))
            refuse("options are those in --help", name);
        if (!argument[1])
            break;
    }
    if (options.parts == 0)
        options.parts = parts ? parts : PART_GATES | PART_FLEETS;
    if (options.fault >= CROWD_FAULTS && options.fault != CROWD_ALL_FAULTS)
        options.parts &= PART_FLEETS;
    if (options.parts == 0)
        refuse("gates meet the first nine faults", stuck_faults[options.fault]);
    options.plan.verbose = options.verbose;
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
    if (subset == CROWD_NO_RETRY || subset == 0)
        printf("%-33s", subset == 0 ? "(retries, no gate)" : "(no retries at all)");
    for (uint32_t gate = 0; gate < TOGETHER_GATES && subset != CROWD_NO_RETRY && subset; gate++)
        printf("%s%-*s", gate ? " " : "", (int)strlen(together_gates[gate]),
               subset >> gate & 1 ? together_gates[gate] : "");
    for (uint32_t fault = 0; fault < CROWD_FAULTS; fault++) {
        if (only == CROWD_FAULTS || only == fault)
            print_cell(&row[fault]);
    }
    printf("\n");
}

/* The few rows that everybody wants: nothing, and what is recommended. */
static bool chosen(uint32_t subset)
{
    return subset == 0 || subset == (CROWD_AIMD | CROWD_BUDGET);
}

static void print_faults(uint32_t only)
{
    printf("%-33s", "");
    for (uint32_t fault = 0; fault < CROWD_FAULTS; fault++) {
        if (only == CROWD_FAULTS || only == fault)
            printf("%8s", together_faults[fault]);
    }
    printf("\n");
}

static void print_table(const together_matrix *matrix, const together_plan *plan, bool verbose)
{
    if (verbose)
        print_faults(plan->fault);
    print_row(matrix->cell[CROWD_NO_RETRY], CROWD_NO_RETRY, plan->fault);
    for (uint32_t subset = 0; subset < CROWD_SUBSETS; subset++) {
        if (plan->subset == subset ||
            (plan->subset == CROWD_SUBSETS && (verbose || chosen(subset))))
            print_row(matrix->cell[subset], subset, plan->fault);
    }
}

/* ---- One cell, second by second ------------------------------------------------------------ */

static void show_cell(const together_plan *plan, const together_run *worst)
{
    char name[64];
    course of;
    of.who = together_name(plan->subset, name);
    of.fault_name = together_faults[plan->fault];
    of.set = plan->set;
    of.subset = plan->subset;
    of.fault = plan->fault;
    of.seed = worst->seed;
    of.health = together_health[worst->health];
    of.four = plan->four || plan->fault == CROWD_ONE_OF_FOUR;
    printf("\n");
    course_show(&of);
}

/* ---- What is promised ---------------------------------------------------------------------- */

/* Subsets whose cells need not be well: nothing limits retries. */
static bool excused(uint32_t subset)
{
    return subset == 0 || subset == CROWD_RATE;
}

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
            excused(subset))
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
static bool judge(const together_matrix *matrix, const together_plan *plan, const summary *s)
{
    uint32_t bad = 0;
    bool less = s->least && s->least->least < 0.98;
    for (uint32_t subset = 0; subset < CROWD_SUBSETS; subset++)
        bad += name_bad(matrix, plan, subset);
    if (bad > 0)
        printf("NOT AS PROMISED: no cells but those of {} and {rate}\n");
    if (less)
        printf("NOT AS PROMISED: over 2 %% less goodput than without retries\n");
    if (matrix->overrun)
        printf("NOT AS PROMISED: the simulation ran out of memory\n");
    return bad == 0 && !less && !matrix->overrun;
}

/* ---- The program --------------------------------------------------------------------------- */

static together_plan plan_of(const asked *options, uint32_t fleet)
{
    together_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.set.clients = fleets[fleet].clients;
    plan.set.timeout = fleets[fleet].timeout;
    plan.set.cut_after = CROWD_CUT_AFTER;
    plan.set.utilisation = options->utilisation ? options->utilisation : fleets[fleet].utilisation;
    plan.set.length = 8000;
    plan.set.slowness = 10;
    plan.set.queue = CROWD_QUEUE;
    plan.set.limit = options->limit;
    plan.set.in_flight = options->in_flight;
    plan.seed = options->seed;
    plan.seeds = options->seeds ? options->seeds : 3;
    plan.healths = TOGETHER_HEALTHS;
    plan.within = (options->within ? options->within : 10) * 1000;
    plan.subset = options->subset;
    plan.fault = options->fault < CROWD_FAULTS ? options->fault : CROWD_FAULTS;
    plan.four = fleets[fleet].four;
    return plan;
}

static bool do_fleet(const asked *options, uint32_t fleet)
{
    static together_matrix matrix;
    const together_plan plan = plan_of(options, fleet);
    bool one = plan.subset != CROWD_SUBSETS && plan.fault != CROWD_FAULTS;
    summary s;
    together_fill(&matrix, &plan);
    printf("Fleet %" PRIu32 ": %" PRIu32 " client%s, operations of %g s%s; %" PRIu32
           " %% utilisation\n",
           fleet + 1, plan.set.clients, plan.set.clients == 1 ? "" : "s", plan.set.timeout / 1000.0,
           plan.four ? ", four servers" : "", plan.set.utilisation);
    print_table(&matrix, &plan, options->verbose);
    s = sum_up(&matrix, &plan);
    if (options->verbose)
        print_summary(&s, plan.within);
    if (one)
        show_cell(&plan, &matrix.cell[plan.subset][plan.fault]);
    if (options->verbose)
        printf("\n");
    return judge(&matrix, &plan, &s);
}

static void legend(bool verbose)
{
    printf(
        "Take aimd and budget together, as a retry_service has them.\n"
        "A fault of 8 s strikes a healthy service. Seconds after it until 95 %% are done again,\n"
        "at worst; never: not in %d s.%s\n\n"
        "  rows     what the clients have: these gates, a budget; the second: nothing of it\n"
        "  columns  the fault: refused connections, lost requests, a frozen server, 503 or 429\n"
        "           at once, a 429 that costs as much work as an answer (costly), answers ten\n"
        "           times slower, one of four servers frozen, three times the load (spike)\n\n",
        TOGETHER_WATCHED / 1000, verbose ? "" : " All 32 combinations: -v.");
}

static bool gates_part(const asked *options)
{
    bool kept = true;
    legend(options->verbose);
    if (!options->verbose)
        print_faults(options->fault < CROWD_FAULTS ? options->fault : CROWD_FAULTS);
    for (uint32_t fleet = 0; fleet < FLEETS; fleet++) {
        if (options->fleet == 0 || options->fleet == fleet + 1)
            kept = do_fleet(options, fleet) && kept;
        fflush(stdout);
    }
    return kept;
}

static bool fleets_part(const asked *options)
{
    stuck_plan plan = options->plan;
    plan.utilisation = options->utilisation;
    plan.fault = options->fault;
    plan.seed = options->seed;
    plan.seeds = options->seeds ? options->seeds : 1;
    plan.within = (options->within ? options->within : 30) * 1000;
    return stuck_part(&plan);
}

int main(int count, char **arguments)
{
    const asked options = read_options(arguments + (count > 0));
    bool kept = true;
    if (options.parts & PART_GATES)
        kept = gates_part(&options);
    if (options.parts == (PART_GATES | PART_FLEETS) && !options.verbose)
        printf("\n");
    if (options.parts & PART_FLEETS)
        kept = fleets_part(&options) && kept;
    printf(kept ? "every cell as promised\n" : "not as promised\n");
    return kept ? 0 : 1;
}
