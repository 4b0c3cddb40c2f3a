/* peers.c: is a client of retry.h better than what others recommend?

       make peers
       make peers ARGS=-v            every cell in which some peer does better
       make peers ARGS='--seed 2'    another run of the same; all cells are in build/peers.csv
       make peers ARGS='--all -v'    each world of harm.h; they are in build/harm.csv, too

   21 setups, each by its project's defaults, README.md's client, the same with nothing that limits
   its retries, and an oracle, in the same 468 cells: 13 faults of 10 s, four loads, fleets of 1, 20
   and 1,000 processes, three servers. Then as a process with few calls (few.h), and before a server
   that says when to come back (hold.h), and in some 300 other worlds, in which a client may do harm
   to its own callers (harm.h). The world is crowd.h's, and is first held against what
   queueing theory, Brooker's article on token buckets (2022) and Google's Site Reliability
   Engineering say. The exit status is 1 if something is not as promised. The setups are in
   peers.h. */
#define _DEFAULT_SOURCE
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "few.h"
#include "harm.h"
#include "hold.h"

#include <inttypes.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LENGTH = 10000, HEALTH = 30000, AFTER = 30000, WATCHED = 30000 + TOGETHER_WINDOW };
enum { FAULTS = 13, LOADS = 4, FLEETS = 3, SERVERS = 3, CELLS = FAULTS * LOADS * FLEETS * SERVERS };

static const struct {
    const char *name;
    uint32_t fault;
} faults[FAULTS] = {
    {"refused", CROWD_REFUSED}, {"errors", CROWD_503},  {"lost", CROWD_LOST},
    {"frozen", CROWD_FROZEN},   {"half", CROWD_HALF},   {"pulses", CROWD_PULSES},
    {"tenth", CROWD_TENTH},     {"rated", CROWD_RATED}, {"1-of-4", CROWD_ONE_OF_FOUR},
    {"cold", CROWD_COLD},       {"flaps", CROWD_FLAPS}, {"rolling", CROWD_ROLLING},
    {"spike", CROWD_SPIKE}};
static const uint32_t loads[LOADS] = {40, 60, 75, 90}, fleets[FLEETS] = {1, 20, PEER_FLEET};
static const struct {
    const char *name;
    uint32_t queue;
    bool says_full;
} servers[SERVERS] = {{"second", CROWD_QUEUE, false},
                      {"endless", CROWD_QUEUE_ENDLESS, false},
                      {"503", CROWD_QUEUE_SHORT, true}};

static bool kept = true;
static uint32_t first_seed = 1;

/* What became of a cell. */
typedef struct cell {
    double in, after, all; /* shares of the operations begun that were done */
    double attempts;       /* for an operation */
    uint32_t back, p99;    /* ms */
} cell;

typedef struct result {
    cell cells[CELLS];
    crowd_met few[FEW_RATES][FEW_SEEDS];
    hold hold[HOLD_KINDS];
} result;

static struct {
    result of[PEER_SETUPS];
    hold held[HOLD_WORLDS][HOLD_KINDS], free[HOLD_WORLDS][HOLD_KINDS]; /* retry.h's */
    harm harm[WORLDS_MAX];
} * results; /* all processes write to it */

static uint32_t cell_of(uint32_t fault, uint32_t load, uint32_t fleet, uint32_t server)
{
    return ((fault * LOADS + load) * FLEETS + fleet) * SERVERS + server;
}

static double sum_sent(const crowd *c, uint32_t from, uint32_t to)
{
    double sum = 0;
    for (uint32_t bin = from / CROWD_BIN; bin < to / CROWD_BIN && bin < CROWD_BINS; bin++)
        sum += c->bins[bin].sent;
    return sum;
}

static uint32_t percentile(const crowd *c, double share)
{
    double all = 0, seen = c->took[0];
    uint32_t ms = 0;
    for (uint32_t i = 0; i < CROWD_TOOK; i++)
        all += c->took[i];
    while (seen < share * all && ms + 1 < CROWD_TOOK)
        seen += c->took[++ms];
    return ms;
}

/* ---- The world is right -------------------------------------------------------------------- */

/* Whether a number is within so many percent of what is expected. */
static void known(const char *what, double number, double expected, double percent)
{
    bool holds = fabs(number - expected) <= expected * percent / 100;
    printf("  %-58s %7.3f %7.3f  %s\n", what, number, expected, holds ? "kept" : "MISSED");
    kept = kept && holds;
}

/* ms that a request waits for one of `workers`, of which `busy` are, on average. */
static double erlang_c(double workers, double busy)
{
    double b = 1, c;
    for (double n = 1; n <= workers; n++)
        b = busy * b / (n + busy * b);
    c = b / (1 - busy / workers * (1 - b));
    return c * CROWD_WORK / (workers - busy);
}

static crowd *run_for(crowd_set *set, uint32_t setup, uint32_t fault, uint32_t ms)
{
    crowd *c = &together_now;
    peer_set(set, setup);
    set->length = ms;
    crowd_begin_anew(c, set, CROWD_SERVICE, false, 1);
    crowd_run(c, 10000);
    crowd_strike(c, fault);
    crowd_run(c, c->to + set->timeout);
    return c;
}

static void validate(void)
{
    static const uint32_t busy[] = {75, 90};
    const uint32_t ms = 250000, long_enough = 8000000; /* for chance to be small */
    crowd_set set = {.clients = 1, .queue = CROWD_QUEUE_ENDLESS, .works = CROWD_EXPONENTIAL};
    char what[64];
    printf("%-60s %7s %7s\n", "The world, beside what is known", "is", "known");
    for (uint32_t i = 0; i < 2; i++) {
        double all = 0, took = 0;
        crowd *c;
        set.utilisation = busy[i];
        c = run_for(&set, 0, CROWD_NOTHING, long_enough);
        for (uint32_t at = 0; at < CROWD_TOOK; at++)
            all += c->took[at], took += (double)c->took[at] * at;
        snprintf(what, sizeof what,
                 "Erlang C: ms that a request waits and is worked on, %" PRIu32 " %%", busy[i]);
        known(what, took / all - 1, CROWD_WORK + erlang_c(CROWD_WORKERS, busy[i] / 10.0), 3);
    }
    set.works = CROWD_ALWAYS;
    set.utilisation = 60;
    for (uint32_t i = 0; i < 2; i++) {
        crowd *c = run_for(&set, PEER_BUCKET, i == 0 ? CROWD_TENTH : CROWD_503, ms);
        double begun = together_begun(c, c->from, c->to);
        double tokens = i == 0 ? 0 : 100; /* those that were there are spent, or not needed */
        double expected = i == 0 ? 1 + 0.1 * (1 - pow(0.1, 3)) : 1 + tokens / begun;
        known(i == 0 ? "Brooker: attempts a call, a tenth fails: the bucket pays"
                     : "Brooker: attempts a call, all fail: the bucket is empty",
              sum_sent(c, c->from, c->to) / begun, expected, 1);
    }
    set.utilisation = 300;
    {
        crowd *c = run_for(&set, PEER_K2, CROWD_RATED, ms);
        known("SRE, K = 2: attempts for one that is accepted",
              sum_sent(c, c->from + 20000, c->to) / together_done(c, c->from + 20000, c->to), 2, 5);
    }
}

/* ---- The cells ----------------------------------------------------------------------------- */

static void strike(crowd *c, uint32_t fault, cell *into)
{
    double before = together_share(c, c->now - 20000, c->now - c->set->timeout);
    crowd_strike(c, fault);
    crowd_run(c, c->to + WATCHED + c->set->timeout);
    into->in = together_share(c, c->from, c->to);
    into->after = together_share(c, c->to, c->to + AFTER);
    into->all = together_share(c, c->from, c->to + AFTER);
    into->attempts =
        sum_sent(c, c->from, c->to + AFTER) / together_begun(c, c->from, c->to + AFTER);
    into->back = together_back(c, before, WATCHED);
    into->p99 = percentile(c, 0.99);
    if (c->overrun) {
        fprintf(stderr, "peers: the simulation ran out of memory\n");
        _exit(2);
    }
}

/* All faults of one fleet before one server at one load. */
static void simulate(uint32_t setup, uint32_t load, uint32_t fleet, uint32_t server)
{
    crowd *c = &together_now;
    crowd_set set;
    for (int four = 0; four < 2; four++) {
        memset(&set, 0, sizeof set);
        set.clients = fleets[fleet];
        set.utilisation = loads[load];
        set.length = LENGTH;
        set.slowness = 10;
        set.queue = servers[server].queue;
        set.says_full = servers[server].says_full;
        peer_set(&set, setup);
        crowd_begin_anew(c, &set, CROWD_SERVICE, four, first_seed);
        crowd_run(c, HEALTH);
        crowd_copy(&together_saved, c);
        for (uint32_t fault = 0; fault < FAULTS; fault++) {
            bool of_four =
                faults[fault].fault == CROWD_ONE_OF_FOUR || faults[fault].fault == CROWD_ROLLING;
            if (of_four != (four != 0))
                continue;
            strike(c, faults[fault].fault,
                   &results->of[setup].cells[cell_of(fault, load, fleet, server)]);
            crowd_copy(c, &together_saved);
        }
    }
}

static void simulate_rare(uint32_t setup)
{
    for (uint32_t i = 0; i < FEW_RATES * FEW_SEEDS; i++)
        results->of[setup].few[i / FEW_SEEDS][i % FEW_SEEDS] =
            few_run(setup, i / FEW_SEEDS, first_seed + i % FEW_SEEDS);
    for (uint32_t kind = 0; kind < HOLD_KINDS; kind++)
        results->of[setup].hold[kind] = hold_run(setup, 0, kind, true, first_seed);
}

static void simulate_hold(uint32_t world)
{
    for (uint32_t kind = 0; kind < HOLD_KINDS; kind++) {
        results->held[world][kind] = hold_run(PEER_SERVICE, world, kind, true, first_seed);
        results->free[world][kind] = hold_run(PEER_SERVICE, world, kind, false, first_seed);
    }
}

static void work(uint32_t worker, uint32_t workers)
{
    uint32_t job = 0;
    for (uint32_t world = 0; world < HOLD_WORLDS; world++) {
        if (job++ % workers == worker)
            simulate_hold(world);
    }
    for (uint32_t i = 0; i < worlds_count; i++) {
        if (job++ % workers == worker)
            harm_simulate(&worlds[i], first_seed, &results->harm[i]);
    }
    for (uint32_t setup = 0; setup < PEER_SETUPS; setup++) {
        if (job++ % workers == worker)
            simulate_rare(setup);
        for (uint32_t row = 0; row < LOADS * FLEETS * SERVERS; row++) {
            if (job++ % workers == worker)
                simulate(setup, row / (FLEETS * SERVERS), row / SERVERS % FLEETS, row % SERVERS);
        }
    }
}

/* On all cores. */
static void simulate_all(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t workers = cores > 1 ? (uint32_t)cores : 1;
    fflush(stdout);
    for (uint32_t i = 0; i < workers; i++) {
        if (fork() == 0) {
            work(i, workers);
            _exit(0);
        }
    }
    for (int status; wait(&status) > 0;)
        kept = kept && status == 0;
}

typedef struct sums {
    double in, after, all, fleet[FLEETS]; /* % */
    double attempts, p99;
    uint32_t stuck, best;
} sums;

static sums sum_up(uint32_t setup)
{
    sums s;
    memset(&s, 0, sizeof s);
    for (uint32_t i = 0; i < CELLS; i++) {
        const cell *one = &results->of[setup].cells[i];
        double best = 0;
        for (uint32_t other = 0; other <= PEER_SERVICE; other++)
            best = fmax(best, results->of[other].cells[i].all);
        s.in += one->in * 100 / CELLS;
        s.after += one->after * 100 / CELLS;
        s.all += one->all * 100 / CELLS;
        s.attempts += one->attempts / CELLS;
        s.p99 += (double)one->p99 / CELLS;
        s.stuck += one->back == TOGETHER_NEVER;
        s.best += one->all >= best * 0.98;
        s.fleet[i / SERVERS % FLEETS] += one->all * 100 * FLEETS / CELLS;
    }
    return s;
}

/* ---- What is printed ----------------------------------------------------------------------- */

static void print_setups(void)
{
    printf("\nOf the operations begun in a fault of 10 s, and in the 30 s after it, %% that were "
           "done\n\n"
           "%-23s %6s %6s %6s %6s %6s %6s %6s  %s\n",
           "", "in it", "after", "all", "stuck", "sends", "p99", "best", "  all, of 1 / 20 / 1000");
    for (uint32_t setup = 0; setup < PEER_SETUPS; setup++) {
        const sums s = sum_up(setup);
        printf("%-23s %6.1f %6.1f %6.1f %6" PRIu32 " %6.2f %6.0f %6" PRIu32 " ", peer_name(setup),
               s.in, s.after, s.all, s.stuck, s.attempts, s.p99, s.best);
        for (uint32_t fleet = 0; fleet < FLEETS; fleet++)
            printf(" %6.1f", s.fleet[fleet]);
        printf("\n");
    }
    printf(
        "\nstuck: cells of %d that are not back 30 s after the fault; sends: attempts an "
        "operation;\n"
        "p99: ms; best: cells with the most done, or within 2 %% of it; 1, 20, 1000: processes\n\n",
        CELLS);
}

/* % of the operations that met it, of all seeds. */
static double few_done(uint32_t setup, uint32_t rate)
{
    double begun = 0, done = 0;
    for (uint32_t seed = 0; seed < FEW_SEEDS; seed++) {
        begun += results->of[setup].few[rate][seed].begun;
        done += results->of[setup].few[rate][seed].done;
    }
    return 100 * done / begun;
}

static void print_hold(const hold of[HOLD_KINDS])
{
    for (uint32_t kind = 0; kind < HOLD_KINDS; kind++) {
        if (kind < HOLD_BLOCKS)
            printf(" %6.0f %5.1f", of[kind].refused, 100 * of[kind].done);
        else
            printf(" %6.1f", 100 * of[kind].done);
    }
    printf("\n");
}

static void print_rare(void)
{
    printf(
        "Of the operations that met it, %% that were done; sent: attempts of each process that "
        "were refused\n\n"
        "%-23s  503 for 2 s, a call in   429 for 5 s   429 for 30 s    prolonged  excess tenant\n"
        "%-23s minute second 100 ms   sent  done   sent  done   sent  done   done   done\n",
        "", "");
    for (uint32_t setup = 0; setup < PEER_SETUPS; setup++) {
        printf("%-23s", peer_name(setup));
        for (uint32_t rate = 0; rate < FEW_RATES; rate++)
            printf(" %6.1f", few_done(setup, rate));
        print_hold(results->of[setup].hold);
    }
    printf("retry.h, but\n");
    for (uint32_t world = 1; world < HOLD_WORLDS; world++) {
        printf("%-44s", hold_worlds[world].name);
        print_hold(results->held[world]);
    }
    printf(
        "\n429: with a Retry-After, to a process with 40 calls a second, of 60 s each; prolonged: "
        "for 5 s\n"
        "after each call; excess: for what is above half of what the server can do; tenant: for "
        "one of\n"
        "20 that a process calls for, of which the others are counted\n\n");
}

static void print_faults(void)
{
    printf("All of it, %%, by fault\n\n%-23s", "");
    for (uint32_t fault = 0; fault < FAULTS; fault++)
        printf(" %7s", faults[fault].name);
    for (uint32_t setup = 0; setup < PEER_SETUPS; setup++) {
        printf("\n%-23s", peer_name(setup));
        for (uint32_t fault = 0; fault < FAULTS; fault++) {
            double sum = 0;
            for (uint32_t i = 0; i < CELLS / FAULTS; i++)
                sum += results->of[setup].cells[fault * (CELLS / FAULTS) + i].all;
            printf(" %7.1f", 100 * sum / (CELLS / FAULTS));
        }
    }
    printf("\n\n");
}

static void write_cells(FILE *file)
{
    fprintf(file, "setup,fault,busy,processes,server,in,after,all,attempts,back,p99\n");
    for (uint32_t i = 0; i < PEER_SETUPS * CELLS; i++) {
        const cell *of = &results->of[i / CELLS].cells[i % CELLS];
        fprintf(file,
                "\"%s\",%s,%" PRIu32 ",%" PRIu32 ",%s,%.4f,%.4f,%.4f,%.4f,%" PRId32 ",%" PRIu32
                "\n",
                peer_name(i / CELLS), faults[i % CELLS / SERVERS / FLEETS / LOADS].name,
                loads[i / SERVERS / FLEETS % LOADS], fleets[i / SERVERS % FLEETS],
                servers[i % SERVERS].name, of->in, of->after, of->all, of->attempts,
                of->back == TOGETHER_NEVER ? -1 : (int32_t)of->back, of->p99);
    }
    kept = kept && fclose(file) == 0;
}

/* ---- Where a peer does better -------------------------------------------------------------- */

enum { POINTS = 5, SECONDS = 2 }; /* that a peer must be better by */

enum { LATER, SILENT, DOUBLED, SLOW, FLAPPING, RATED, NO_REASON, REASONS };
static const char *const reasons[REASONS] = {
    [LATER] = "nobody does over 5 points more, but some are back sooner: what waited through the "
              "fault is\n"
              "    done after it, and limits that fell rise by one a round trip.",
    [SILENT] = "1000 processes, a silent server: each earns too little for its attempts to be "
               "cut; who cuts\n    them pays for it wherever the server is only slow.",
    [DOUBLED] = "one process, a silent server: a cut has to pay, so the time of an attempt "
                "doubles with each\n    round of time-outs.",
    [SLOW] = "a queue without an end: what is cut is sent again, and what the limits hold back "
             "waits out of\n    turn; left alone, the queue would be done in time.",
    [FLAPPING] = "one process, a server that is gone every other second: the limit fell to one, "
                 "and rises by\n"
                 "    one a round trip.",
    [RATED] = "429 for the excess, and 503 when a short queue is full: who comes back when the "
              "server said\n    pays a quarter of a token, so more come back than there is room "
              "for.",
    [NO_REASON] = "without a reason that is known"};

/* `more`: points that a peer does more. */
static uint32_t reason_of(uint32_t i, double more)
{
    uint32_t fleet = fleets[i / SERVERS % FLEETS];
    uint32_t fault = faults[i / SERVERS / FLEETS / LOADS].fault;
    if (more <= POINTS)
        return LATER;
    if (fleet == PEER_FLEET &&
        (fault == CROWD_LOST || fault == CROWD_FROZEN || fault == CROWD_ONE_OF_FOUR))
        return SILENT;
    if (fleet == 1 && fault == CROWD_LOST)
        return DOUBLED;
    if (fault == CROWD_RATED && servers[i % SERVERS].says_full)
        return RATED;
    if (fleet == 1 && fault == CROWD_FLAPS)
        return FLAPPING;
    return servers[i % SERVERS].queue == CROWD_QUEUE_ENDLESS && fleet < PEER_FLEET ? SLOW
                                                                                   : NO_REASON;
}

static double seconds_later(const cell *a, const cell *b)
{
    if (a->back == TOGETHER_NEVER || b->back == TOGETHER_NEVER)
        return b->back == TOGETHER_NEVER ? 0 : WATCHED / 1000;
    return ((double)a->back - (double)b->back) / 1000;
}

/* The cells in which some peer does over POINTS more, or is back over SECONDS sooner. */
static void print_better(bool verbose)
{
    uint32_t count[REASONS] = {0};
    for (uint32_t i = 0; i < CELLS; i++) {
        const cell *own = &results->of[PEER_SERVICE].cells[i];
        uint32_t most = 0, soonest = 0;
        double more, later;
        for (uint32_t n = 0; n < PEERS; n++) {
            most = results->of[n].cells[i].all > results->of[most].cells[i].all ? n : most;
            soonest =
                results->of[n].cells[i].back < results->of[soonest].cells[i].back ? n : soonest;
        }
        more = 100 * (results->of[most].cells[i].all - own->all);
        later = seconds_later(own, &results->of[soonest].cells[i]);
        if (more <= POINTS && later <= SECONDS)
            continue;
        count[reason_of(i, more)]++;
        if (verbose)
            printf("  %-8s %2" PRIu32 " %% %4" PRIu32
                   " %-7s %6.1f points more: %-22s %5.1f s sooner: %s\n",
                   faults[i / SERVERS / FLEETS / LOADS].name, loads[i / SERVERS / FLEETS % LOADS],
                   fleets[i / SERVERS % FLEETS], servers[i % SERVERS].name, more, peer_name(most),
                   later, peer_name(soonest));
    }
    printf("Cells in which some peer does over %d points more than retry.h, or is back over %d s "
           "sooner\n",
           POINTS, SECONDS);
    for (uint32_t reason = 0; reason < REASONS; reason++) {
        if (count[reason] > 0)
            printf("%3" PRIu32 " %s\n", count[reason], reasons[reason]);
    }
    kept = kept && count[NO_REASON] == 0;
}

/* ---- What is promised ---------------------------------------------------------------------- */

static void promise(const char *what, double number, double least)
{
    printf("%s  %s: %.1f, at least %.1f\n", number >= least ? "kept  " : "BROKEN", what, number,
           least);
    kept = kept && number >= least;
}

static void promise_at_most(const char *what, double number, double most)
{
    printf("%s  %s: %.1f, at most %.1f\n", number <= most ? "kept  " : "BROKEN", what, number,
           most);
    kept = kept && number <= most;
}

static void judge_harm(void)
{
    const harm_sum s = harm_sum_up(results->harm);
    promise_at_most("harm: worlds worse than no retries, and why is not known", s.unknown, 0);
    promise_at_most("harm: points, in all", s.points, 200);
    promise_at_most("harm: points in a world that is well, at worst", s.well, 3);
    promise_at_most("harm: worlds stuck where no retries is not", s.stuck, 0);
}

static void judge_rare(void)
{
    double few = 100, below = 1000, more = 100;
    for (uint32_t i = 0; i < FEW_RATES * FEW_SEEDS; i++) {
        const crowd_met *met = &results->of[PEER_SERVICE].few[i / FEW_SEEDS][i % FEW_SEEDS];
        few = fmin(few, 100.0 * met->done / met->begun);
    }
    for (uint32_t i = 0; i < HOLD_WORLDS * HOLD_KINDS; i++) {
        const hold *held = &results->held[i / HOLD_KINDS][i % HOLD_KINDS];
        const hold *free = &results->free[i / HOLD_KINDS][i % HOLD_KINDS];
        if (i % HOLD_KINDS < HOLD_BLOCKS)
            below = fmin(below, held->allowed - held->refused);
        else
            more = fmin(more, 100 * (held->done - free->done));
    }
    promise("few calls, 503 for 2 s: % done, worst seed", few, 98);
    promise("429: attempts below five, those in flight, and one in 2 s; at worst", below, 0);
    promise("429 for the excess, or a tenant: points above a limit without hold; at worst", more,
            -0.5);
}

/* The mean of the cells beside the best peer's, in all and in each fleet; and beside the oracle's.
 */
static void judge(void)
{
    const sums own = sum_up(PEER_SERVICE), oracle = sum_up(PEER_ORACLE);
    double best = 0, fleet[FLEETS] = {0};
    for (uint32_t n = 0; n < PEERS; n++) {
        const sums s = sum_up(n);
        best = fmax(best, s.all);
        for (uint32_t i = 0; i < FLEETS; i++)
            fleet[i] = fmax(fleet[i], s.fleet[i]);
    }
    printf("\n");
    promise("all cells: points above the best peer", own.all - best, 2);
    promise("1 process: points above the best peer", own.fleet[0] - fleet[0], 3);
    promise("20 processes: points above the best peer", own.fleet[1] - fleet[1], 2);
    promise("1000 processes: points above the best peer", own.fleet[2] - fleet[2], -0.5);
    promise("1 process: % done", own.fleet[0], 92);
    promise("20 processes: % done", own.fleet[1], 90.9);
    promise("1000 processes: % done", own.fleet[2], 88.5);
    promise("all cells: points above an oracle that knows the server", own.all - oracle.all, -3);
    judge_rare();
    judge_harm();
}

static FILE *data_file(const char *folder, const char *name)
{
    char path[1000];
    FILE *file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "peers: cannot write %s\n", path);
        exit(2);
    }
    return file;
}

/* % done of the first calls of a process that needs 50 at once, by a server that is well. */
static double well_done(uint32_t setup)
{
    double done;
    bool stuck;
    uint32_t i = 0;
    while (i < worlds_count && strcmp(worlds[i].name, "50 in flight") != 0)
        i++;
    if (i == worlds_count)
        abort();
    harm_run(&worlds[i], setup, first_seed, &done, &stuck);
    return done;
}

/* For peers.gnuplot: seven setups. */
static void write_data(FILE *file)
{
    static const uint32_t shown[] = {0, 1, 2, 5, 12, 14, PEER_SERVICE};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const sums s = sum_up(shown[i]);
        fprintf(file, "%s\t%.1f\t%.1f\t%.1f\t%.1f\n", peer_name(shown[i]), s.in, s.after,
                few_done(shown[i], 1), well_done(shown[i]));
    }
    kept = kept && fclose(file) == 0;
}

int main(int count, char **arguments)
{
    bool verbose = false, every = false;
    FILE *data = NULL, *all = NULL, *worst = NULL;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "-v") == 0) {
            verbose = true;
        } else if (strcmp(arguments[i], "--all") == 0) {
            every = true;
        } else if (strcmp(arguments[i], "--seed") == 0 && i + 1 < count) {
            first_seed = (uint32_t)strtoul(arguments[++i], NULL, 10);
        } else if (strcmp(arguments[i], "--data") == 0 && i + 1 < count) {
            data = data_file(arguments[++i], "peers.tsv");
            all = data_file(arguments[i], "peers.csv");
            worst = data_file(arguments[i], "harm.csv");
        } else {
            fprintf(stderr, "usage: peers [-v] [--all] [--seed NUMBER] [--data FOLDER]\n");
            return 2;
        }
    }
    results =
        mmap(NULL, sizeof *results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED)
        return 2;
    list_worlds(every);
    validate();
    simulate_all();
    if (data) {
        write_data(data);
        write_cells(all);
        harm_write(worst, results->harm);
        kept = kept && fclose(worst) == 0;
    }
    print_setups();
    print_faults();
    print_rare();
    print_better(verbose);
    harm_print(results->harm, verbose);
    judge();
    printf(kept ? "all as promised\n" : "not as promised\n");
    return kept ? 0 : 1;
}
