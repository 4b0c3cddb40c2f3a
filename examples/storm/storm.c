/* storm.c: what retrying does to a service, simulated with the real retry.h.

   1. Contention: clients that write one row under optimistic locking, with the backoffs of AWS's
      article on jitter (and its numbers beside), and with retry.h's presets.
   2. A retry storm: a million clients of a service that fails for ten seconds. Which ways of
      retrying let it come back?
   3. A retry budget at a steady failure rate, and layers that each retry.

       cc -O2 -o storm examples/storm/storm.c -lm && ./storm
       gnuplot examples/storm.gnuplot

   Options: --seed N, --clients N (10000 to 1000000), --quick (fewer clients and points), --data DIR
   (default: build/storm). The tables go to standard output, the plots' data to DIR; the same seed
   gives the same bytes of both. Measured time and memory go to standard error. The exit status is 1
   if a number that is known misses its tolerance, and 2 if the options or DIR are no good. */
#define _DEFAULT_SOURCE
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "bucket.h"
#include "contention.h"
#include "outage.h"
#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { CLIENTS_MIN = 10000, CLIENTS_MAX = 1000000, CLIENTS_QUICK = 20000 };

typedef struct options {
    uint64_t seed;
    uint32_t clients;
    bool quick;
    const char *data;
} options;

static const char *program = "storm"; /* its name, as it was started */
static uint32_t missed;               /* numbers out of their tolerance */

/* Whether a number is within `percent` of what is expected; counts it if not. */
static bool keeps(double number, double expected, double percent)
{
    bool kept = fabs(number - expected) <= expected * percent / 100;
    missed += !kept;
    return kept;
}

static double difference(double number, double expected)
{
    return (number / expected - 1) * 100;
}

/* A file in the data folder, or the program ends. */
static FILE *data_file(const options *chosen, const char *name)
{
    char path[1000];
    FILE *file = NULL;
    errno = ENAMETOOLONG;
    if (snprintf(path, sizeof path, "%s/%s", chosen->data, name) < (int)sizeof path)
        file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "%s: cannot write %s/%s: %s\n", program, chosen->data, name,
                strerror(errno));
        exit(2);
    }
    return file;
}

/* A file that is complete, or the program ends. */
static void data_done(FILE *file)
{
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        perror("storm: cannot write the data");
        exit(2);
    }
}

/* ---- Contention ---------------------------------------------------------------------------- */

enum { RUNS = 400, TIME_TOLERANCE = 5, WRITES_TOLERANCE = 3, ARTICLE = 5 };

static const retry_ms at_once[] = {0};

/* The first ARTICLE are of AWS's article, base 5 ms and cap 2 s; the rest is retry.h's. */
static const contender contenders[] = {
    {"none", {.curve = RETRY_CURVE_TABLE, .table = at_once, .table_length = 1}, 1},
    {"exponential", {.initial = 5, .max = 2000}, 1},
    {"equal", {.jitter = RETRY_JITTER_EQUAL, .initial = 5, .max = 2000}, 1},
    {"full", {.jitter = RETRY_JITTER_FULL, .initial = 5, .max = 2000}, 1},
    {"decorrelated (AWS)",
     {.curve = RETRY_CURVE_CUSTOM, .initial = 5, .max = 2000, .custom = aws_decorrelated},
     1},
    {"DECORRELATED", {.jitter = RETRY_JITTER_DECORRELATED, .initial = 5, .max = 2000}, 1},
    {"BEST_EFFORT", RETRY_BACKOFF_BEST_EFFORT, 0},
    {"RFC0049", RETRY_BACKOFF_RFC0049, 0},
    {"CONTROLLED", RETRY_BACKOFF_CONTROLLED, 0},
    {"AWS", RETRY_BACKOFF_AWS, 0},
    {"AWS_2026", RETRY_BACKOFF_AWS_2026, 0},
    {"GRPC", RETRY_BACKOFF_GRPC, 0},
};

/* What the article's simulator gives: ms and writes. The last one is to be reproduced. */
static const struct {
    uint32_t count;
    contention_cost costs[ARTICLE];
} article[] = {
    {10, {{382, 50}, {3590, 51}, {732, 42}, {465, 38}, {434, 37}}},
    {50, {{1132, 687}, {36237, 624}, {4303, 347}, {2922, 332}, {2164, 376}}},
    {100, {{2027, 2421}, {62862, 1853}, {6658, 812}, {4879, 797}, {4530, 1002}}},
};

/* A line of the table. `expected` NULL: none is known; `binding`: it has tolerances. */
static void contention_line(const char *name, const contention_cost *cost,
                            const contention_cost *expected, bool binding)
{
    const char *verdict = "";
    printf("%-19s %8.0f", name, cost->time);
    if (!expected) {
        printf("%27.0f\n", cost->writes);
        return;
    }
    if (binding) {
        bool time = keeps(cost->time, expected->time, TIME_TOLERANCE);
        bool writes = keeps(cost->writes, expected->writes, WRITES_TOLERANCE);
        verdict = time && writes ? "  kept" : "  MISSED";
    }
    printf(" %8.0f %+6.1f %% %8.0f %8.0f %+6.1f %%%s\n", expected->time,
           difference(cost->time, expected->time), cost->writes, expected->writes,
           difference(cost->writes, expected->writes), verdict);
}

/* All contenders among so many clients: a row of the data, and a table if numbers are known. */
static void contention_compare(FILE *data, uint32_t count, const contention_cost *expected,
                               dice *chance)
{
    bool binding = count == article[COUNT(article) - 1].count;
    fprintf(data, "%" PRIu32, count);
    if (expected)
        printf("\n%3" PRIu32 " clients %16s  article   diff. %10s  article   diff.\n", count,
               "time, ms", "writes");
    for (size_t i = 0; i < COUNT(contenders); i++) {
        progress("contention: %" PRIu32 " clients, %s", count, contenders[i].name);
        contention_cost cost = contention_measure(&contenders[i], count, RUNS, chance);
        fprintf(data, "\t%.1f\t%.1f", cost.time, cost.writes);
        progress_clear();
        if (expected)
            contention_line(contenders[i].name, &cost, i < ARTICLE ? &expected[i] : NULL, binding);
    }
    fprintf(data, "\n");
}

/* The article's numbers, for the plot. */
static void article_data(const options *chosen)
{
    FILE *data = data_file(chosen, "article.tsv");
    fprintf(data, "clients");
    for (size_t i = 0; i < ARTICLE; i++)
        fprintf(data, "\t%s time\t%s writes", contenders[i].name, contenders[i].name);
    for (size_t n = 0; n < COUNT(article); n++) {
        fprintf(data, "\n%" PRIu32, article[n].count);
        for (size_t i = 0; i < ARTICLE; i++)
            fprintf(data, "\t%.0f\t%.0f", article[n].costs[i].time, article[n].costs[i].writes);
    }
    fprintf(data, "\n");
    data_done(data);
}

static void contention_part(const options *chosen)
{
    FILE *data = data_file(chosen, "contention.tsv");
    dice chance = {chosen->seed};
    printf("1. Contention: N clients write one row, optimistic locking, means over %d runs\n",
           RUNS);
    fprintf(data, "clients");
    for (size_t i = 0; i < COUNT(contenders); i++)
        fprintf(data, "\t%s time\t%s writes", contenders[i].name, contenders[i].name);
    fprintf(data, "\n");
    for (uint32_t count = 10; count <= WRITERS_MAX; count += 10) {
        const contention_cost *expected = NULL;
        for (size_t i = 0; i < COUNT(article); i++) {
            if (article[i].count == count)
                expected = article[i].costs;
        }
        if (expected || !chosen->quick)
            contention_compare(data, count, expected, &chance);
    }
    data_done(data);
    printf("Tolerances at N = 100: time %d %%, writes %d %%.\n", TIME_TOLERANCE, WRITES_TOLERANCE);
}

/* ---- A retry storm ------------------------------------------------------------------------- */

enum {
    BUSY = 40,                /* % of the service's capacity, in normal times */
    BUSY_MAX = 95,            /* the most that is tried */
    OPERATION_TIMEOUT = 10000 /* ms */
};

static const retry_policy no_retry = {.base = {retry_policy_after}, .max_attempts = 1};
static const retry_policy naive = {
    .base = {retry_policy_after},
    .backoff = {.curve = RETRY_CURVE_TABLE, .table = at_once, .table_length = 1}};
static const retry_policy no_jitter = {.base = {retry_policy_after},
                                       .backoff = RETRY_BACKOFF_RFC0049};
static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
static const retry_policy aws = RETRY_POLICY_AWS;
static const retry_policy aws_2026 = RETRY_POLICY_AWS_2026;
static const retry_policy grpc = {.base = {retry_policy_after}, /* as of gRPC's own examples */
                                  .backoff = {.jitter = RETRY_JITTER_SPREAD,
                                              .initial = 100,
                                              .max = 1000,
                                              .spread = RETRY_RATIO(0.2)},
                                  .max_attempts = 4};

static const retry_budget_options aws_bucket = RETRY_BUDGET_AWS;
static const retry_budget_options aws_2026_bucket = RETRY_BUDGET_AWS_2026;
static const retry_budget_options grpc_bucket = RETRY_BUDGET_GRPC;

static const scheme schemes[] = {
    {"no retry", &no_retry, NULL, OPERATION_TIMEOUT, 1},
    {"naive loop", &naive, NULL, 0, 1},
    {"backoff, no jitter", &no_jitter, NULL, OPERATION_TIMEOUT, 1},
    {"best effort", &best_effort, NULL, OPERATION_TIMEOUT, 1},
    {"five layers, 3 tries", &aws_2026, NULL, 0, 5},
    {"one layer, 3 tries", &aws_2026, NULL, OPERATION_TIMEOUT, 1},
    {"best effort + budget", &best_effort, &aws_bucket, OPERATION_TIMEOUT, 1},
    {"AWS standard", &aws, &aws_bucket, OPERATION_TIMEOUT, 1},
    {"AWS 2026", &aws_2026, &aws_2026_bucket, OPERATION_TIMEOUT, 1},
    {"gRPC throttling", &grpc, &grpc_bucket, OPERATION_TIMEOUT, 1},
};

typedef tally record[BINS + 1];

/* One minute. Layers share the memory of one: where they are five, a fifth of the clients meet a
   service of a fifth of the capacity. */
static void storm_simulate(const scheme *how, uint32_t clients, uint32_t busy, uint64_t seed,
                           tally *bins)
{
    uint32_t count = clients / how->layers;
    outage *o = outage_new(how, count, busy, seed);
    if (!o) {
        fprintf(stderr, "%s: not enough memory for %" PRIu32 " clients\n", program, count);
        exit(2);
    }
    for (uint32_t second = 0; second < SIMULATED / 1000; second++) {
        progress("storm: %s, %" PRIu32 " clients, %" PRIu32 " %% busy, second %" PRIu32, how->name,
                 count, busy, second);
        outage_second(o, second);
    }
    memcpy(bins, o->bins, sizeof o->bins);
    outage_free(o);
    progress_clear();
}

/* The busiest service, in %, that comes back within the minute; 0 if none does. Found by halving,
   as one that is less busy comes back sooner, and with fewer clients. */
static uint32_t storm_bearable(const scheme *how, const options *chosen)
{
    uint32_t clients = chosen->clients < CLIENTS_QUICK ? chosen->clients : CLIENTS_QUICK;
    uint32_t bearable = 0, unbearable = BUSY_MAX + 1;
    record bins;
    while (unbearable - bearable > 1) {
        uint32_t busy = (bearable + unbearable) / 2;
        storm_simulate(how, clients, busy, chosen->seed, bins);
        if (tally_recovery(bins) == NEVER)
            unbearable = busy;
        else
            bearable = busy;
    }
    return bearable;
}

static void storm_line(const scheme *how, const tally *bins, uint32_t bearable)
{
    uint32_t recovery = tally_recovery(bins);
    tally after = tally_sum(bins, WORKS_AT, SIMULATED);
    printf("%-20s %5.1f %6.1f %7.0f %6.0f %6.0f", how->name, tally_peak(bins),
           tally_load(bins, SIMULATED - 10000, SIMULATED),
           100 * tally_goodput(bins, FAILS_AT, WORKS_AT),
           100 * tally_goodput(bins, WORKS_AT, WORKS_AT + 10000),
           100 * tally_goodput(bins, SIMULATED - 10000, SIMULATED));
    printf(" %6.0f %%", 100.0 * after.wasted / after.worked);
    if (recovery == NEVER)
        printf("   never");
    else
        printf(" %5.2f s", recovery / 1000.0);
    printf(" %5" PRIu32 " %%\n", bearable);
}

/* Load and goodput over time, a column of each for every scheme. */
static void storm_data(const options *chosen, const record *records)
{
    FILE *data = data_file(chosen, "recovery.tsv");
    fprintf(data, "seconds");
    for (size_t i = 0; i < COUNT(schemes); i++)
        fprintf(data, "\t%s load\t%s goodput", schemes[i].name, schemes[i].name);
    for (uint32_t from = 0; from < SIMULATED; from += BIN) {
        fprintf(data, "\n%.3f", (from + BIN / 2) / 1000.0);
        for (size_t i = 0; i < COUNT(schemes); i++)
            fprintf(data, "\t%.4f\t%.4f", tally_load(records[i], from, from + BIN),
                    tally_goodput(records[i], from, from + BIN));
    }
    fprintf(data, "\n");
    data_done(data);
}

static void storm_part(const options *chosen)
{
    static record records[COUNT(schemes)];
    double longest = 0;
    printf("\n2. A retry storm: %" PRIu32 " clients; a service, %d %% busy, fails for 10 s\n\n"
           "                         load           goodput, %%       wasted\n"
           "seconds:              peak  50-60   10-20  20-30  50-60     work    back  bears\n",
           chosen->clients, BUSY);
    for (size_t i = 0; i < COUNT(schemes); i++) {
        clock_t start = clock();
        storm_simulate(&schemes[i], chosen->clients, BUSY, chosen->seed, records[i]);
        longest = fmax(longest, (double)(clock() - start) / CLOCKS_PER_SEC);
        storm_line(&schemes[i], records[i], storm_bearable(&schemes[i], chosen));
        fflush(stdout);
    }
    storm_data(chosen, (const record *)records);
    printf("Load: attempts, in multiples of the normal. Goodput: operations done, in %% of\n"
           "the normal; the service fails from second 10 to 20. Wasted: the share of its\n"
           "work after second 20 that nobody waited for. Back: seconds after the failure\n"
           "from which on goodput stays above 80 %%. Bears: how busy the service could be\n"
           "and yet come back, up to %d %%. A client waits %d s for an answer, the queue\n"
           "holds %d s of work, and operations but those of the naive loop and the five\n"
           "layers end after %d s. In the last four rows %d clients each share a budget.\n",
           BUSY_MAX, ATTEMPT_TIMEOUT / 1000, QUEUE_LONGEST / 1000, OPERATION_TIMEOUT / 1000, GROUP);
    fflush(stdout); /* so that in one pipe the next line comes after these */
    fprintf(stderr, "%s: the longest of these simulated minutes took %.1f s\n", program, longest);
}

/* ---- Budget and layers --------------------------------------------------------------------- */

enum { BUCKET_TOLERANCE = 2, LAYERS = 5, LAYERS_CALLS = 243 };

static const retry_budget_options bucket = {
    .capacity = 50000, .retry_cost = 1000, .success_deposit = 100};

static const struct {
    uint32_t rate;        /* % of attempts that fail */
    double with, without; /* attempts per call that are to be reproduced */
} known_loads[] = {
    {5, 1.053, 1.053}, {10, 1.099, 1.112}, {20, 1.088, 1.247}, {50, 1.053, 1.874}, {100, 1.0005, 4},
};

static void bucket_table(dice *chance)
{
    printf("\n3. A bucket of 50 tokens, 1 a retry, 0.1 back for a success: attempts per call\n\n"
           "failure rate     with bucket  expected     without  expected\n");
    for (size_t i = 0; i < COUNT(known_loads); i++) {
        double with = bucket_load(&bucket, known_loads[i].rate, chance);
        double without = bucket_load(NULL, known_loads[i].rate, chance);
        bool kept = keeps(with, known_loads[i].with, BUCKET_TOLERANCE);
        kept = keeps(without, known_loads[i].without, BUCKET_TOLERANCE) && kept;
        printf("%10" PRIu32 " %% %15.4f %9.4f %11.4f %9.4f  %s\n", known_loads[i].rate, with,
               known_loads[i].with, without, known_loads[i].without, kept ? "kept" : "MISSED");
    }
    printf("Tolerance: %d %%, over %d calls of up to 3 retries each.\n", BUCKET_TOLERANCE,
           BUCKET_CALLS);
}

static void layers_table(void)
{
    printf("\n   Calls of a service that is down, for one operation through one layer, two\n"
           "   layers ... that try three times each:");
    for (uint32_t layers = 1; layers < LAYERS; layers++)
        printf(" %" PRIu32 ",", layer_calls(layers));
    printf(" %" PRIu32 "  %s\n", layer_calls(LAYERS),
           keeps(layer_calls(LAYERS), LAYERS_CALLS, 0) ? "kept" : "MISSED");
}

static void bucket_part(const options *chosen)
{
    FILE *data = data_file(chosen, "bucket.tsv");
    dice chance = {chosen->seed};
    bucket_table(&chance);
    fprintf(data, "rate\twith a bucket\twithout\n");
    for (uint32_t rate = 0; rate <= 100; rate += chosen->quick ? 25 : 2) {
        progress("bucket: failure rate %" PRIu32 " %%", rate);
        double with = bucket_load(&bucket, rate, &chance);
        fprintf(data, "%" PRIu32 "\t%.4f\t%.4f\n", rate, with, bucket_load(NULL, rate, &chance));
    }
    progress_clear();
    data_done(data);
    layers_table();
}

/* ---- Options ------------------------------------------------------------------------------- */

/* Says what is wrong with the options, and ends the program. */
PRINTF_LIKE static void refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nusage: %s [--seed N] [--clients N] [--quick] [--data DIR]\n", program);
    exit(2);
}

/* The option's value: digits, from `low` to `high`. */
static uint64_t number(const char *option, const char *value, uint64_t low, uint64_t high)
{
    uint64_t result = 0;
    bool good = value != NULL && *value != '\0';
    for (const char *digit = value; good && *digit; digit++) {
        unsigned next = (unsigned)*digit - '0';
        good = next <= 9 && result <= (UINT64_MAX - next) / 10;
        result = good ? result * 10 + next : 0;
    }
    if (!good || result < low || result > high)
        refuse("%s wants a number from %" PRIu64 " to %" PRIu64 ", not '%s'", option, low, high,
               value ? value : "");
    return result;
}

static options read_options(char *const *argument)
{
    options chosen = {1, 0, false, "build/storm"};
    for (; *argument; argument++) {
        if (strcmp(*argument, "--quick") == 0) {
            chosen.quick = true;
            continue;
        }
        const char *option = *argument, *value = argument[1];
        if (strcmp(option, "--seed") == 0)
            chosen.seed = number(option, value, 0, UINT64_MAX);
        else if (strcmp(option, "--clients") == 0)
            chosen.clients = (uint32_t)number(option, value, CLIENTS_MIN, CLIENTS_MAX);
        else if (strcmp(option, "--data") != 0)
            refuse("unknown option '%s'", option);
        else if (!value || *value == '\0')
            refuse("--data wants a folder");
        else
            chosen.data = value;
        argument++;
    }
    if (chosen.clients == 0)
        chosen.clients = chosen.quick ? CLIENTS_QUICK : CLIENTS_MAX;
    return chosen;
}

/* Makes a folder and those that it is in. What fails shows when a file is to be written. */
static void make_folder(const char *path)
{
    char part[1000];
    for (size_t i = 1; i < sizeof part && path[i - 1]; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        mkdir(part, 0777);
    }
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int main(int count, char **arguments)
{
    options chosen;
    struct rusage used;
    if (count > 0)
        program = base_name(arguments[0]);
    chosen = read_options(arguments + (count > 0));
    make_folder(chosen.data);
    article_data(&chosen);
    contention_part(&chosen);
    storm_part(&chosen);
    bucket_part(&chosen);
    if (missed)
        printf("\n%" PRIu32 " numbers MISSED their tolerance.\n", missed);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "%s: cannot write the tables: %s\n", program, strerror(errno));
        return 2;
    }
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr, "%s: %.1f s of processor time, %.0f MB of memory at most\n", program,
            (double)clock() / CLOCKS_PER_SEC, (double)used.ru_maxrss / 1024);
    return missed ? 1 : 0;
}
