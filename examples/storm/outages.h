/* outages.h: the tables of both sides of the ledger: what each way of retrying does to a service in
   four outages, how much it bears, and what its users see. */
#ifndef STORM_OUTAGES_H
#define STORM_OUTAGES_H

#include "world.h"

enum { BEARS_CLIENTS = 10000, BEARS_MAX = 95 };

typedef struct outage {
    const char *name;
    options set;
} outage;

enum { OUTAGE_COUNT = 4 };

/* The first is what the options say; the others change what makes them what they are. */
static void list_outages(const options *set, outage outages[OUTAGE_COUNT])
{
    for (int i = 0; i < OUTAGE_COUNT; i++)
        outages[i].set = *set;
    outages[0].name = "The outage of the options";
    outages[1].name = "A blip: out of order for half a second";
    outages[1].set.length = 500;
    outages[2].name = "For a minute a fifth of the requests fails";
    outages[2].set.length = 60000;
    outages[2].set.failing = 20;
    outages[2].set.outage = OUTAGE_503;
    outages[3].name = "One node of ten is slow for ten seconds";
    outages[3].set.length = 10000;
    outages[3].set.failing = 100;
    outages[3].set.outage = OUTAGE_SLOW;
    outages[3].set.nodes = 10;
    outages[3].set.hit = 10;
}

/* The highest utilisation, in %, at which the service comes back; 0 if there is none. Found by
   halving, as one that is less busy comes back sooner, and with fewer clients. */
static uint32_t bears(const options *set, const scheme *how)
{
    uint32_t bearable = 0, unbearable = BEARS_MAX + 1;
    options tried = *set;
    tried.clients = BEARS_CLIENTS;
    while (unbearable - bearable > 1) {
        ledger *record;
        tried.utilisation = (bearable + unbearable) / 2;
        record = simulate(&tried, how);
        if (ledger_back(record) == NEVER)
            unbearable = tried.utilisation;
        else
            bearable = tried.utilisation;
        ledger_free(record);
    }
    return bearable;
}

static void print_ledger(const char *name, const ledger *l, uint32_t bearable)
{
    uint32_t back = ledger_back(l);
    char a[16], b[16], c[16], d[16], e[16], f[16] = "never";
    if (back != NEVER)
        snprintf(f, sizeof f, "%.2f", back / 1000.0);
    printf("%-17s %7" PRIu32 " %5.1f %5.1f %5s %4" PRIu32 " %5s %6s %5s %6s %5s\n", name,
           l->clients, ledger_peak(l), ledger_load(l, l->end - 10000, l->end), f, bearable,
           percent(ledger_share(l, l->failed), a), percent(ledger_share(l, l->expired), b),
           whole(ledger_quantile(l, 0.5), c), whole(ledger_quantile(l, 0.99), d),
           whole(ledger_quantile(l, 0.999), e));
    fflush(stdout);
}

static void print_head(void)
{
    printf("%-17s clients     load    back bears  users, %%       latency, ms\n"
           "%-17s          peak after   (s)  (%%)  fail expire   p50    p99 p99.9\n",
           "", "");
}

static void print_legend(const options *set)
{
    printf("Load: attempts, in multiples of the normal, at its peak and in the last 10 s.\n"
           "Back: seconds after the outage until goodput stays above 80 %%. Bears: the\n"
           "highest utilisation that comes back within %d s, up to %d %%, found with %d\n"
           "clients. Users: operations that fail or expire, of those begun in the outage\n"
           "or the %d s after it; latency of those done. A budget is shared by %" PRIu32
           " clients,\nunless each has its own. 3 attempts: of AWS 2026, without a budget.\n",
           LATER / 1000, BEARS_MAX, BEARS_CLIENTS, LATER / 1000, set->sharing);
}

/* Load and goodput over time, a column of each for every scheme. */
static void write_recovery(const options *set, const scheme_list *all, ledger *const *records)
{
    FILE *data = data_file(set, "recovery.tsv");
    fprintf(data, "seconds");
    for (uint32_t i = 0; i < all->count; i++)
        fprintf(data, "\t%s load\t%s goodput", all->list[i].name, all->list[i].name);
    for (uint32_t from = 0; from < ledger_length(set); from += BIN) {
        fprintf(data, "\n%.3f", (from + BIN / 2) / 1000.0);
        for (uint32_t i = 0; i < all->count; i++)
            fprintf(data, "\t%.4f\t%.4f", ledger_load(records[i], from, from + BIN),
                    ledger_goodput(records[i], from, from + BIN));
    }
    fprintf(data, "\n");
    data_done(data);
    data = data_file(set, "outage.tsv");
    fprintf(data, "%.3f\t%.3f\t%" PRIu32 "\t%" PRIu32 "\n", FAILS_AT / 1000.0,
            (FAILS_AT + set->length) / 1000.0, set->utilisation, set->sharing);
    data_done(data);
}

static double longest; /* s of processor time that a simulation took, of those with all clients */

static ledger *simulate_timed(const options *set, const scheme *how)
{
    clock_t start = clock();
    ledger *record = simulate(set, how);
    longest = fmax(longest, (double)(clock() - start) / CLOCKS_PER_SEC);
    return record;
}

static void outage_table(const outage *which, const scheme_list *all, FILE *borne, FILE *failed)
{
    ledger *records[SCHEMES_MAX];
    printf("\n%s\n", which->name);
    print_head();
    for (uint32_t i = 0; i < all->count; i++) {
        uint32_t bearable = bears(&which->set, &all->list[i]);
        records[i] = simulate_timed(&which->set, &all->list[i]);
        progress_clear();
        print_ledger(all->list[i].name, records[i], bearable);
        if (borne)
            fprintf(borne, "%s\t%" PRIu32 "\n", all->list[i].name, bearable);
        if (failed)
            fprintf(failed, "%s\t%s\t%.1f\n", which->name, all->list[i].name,
                    ledger_share(records[i], records[i]->failed) +
                        ledger_share(records[i], records[i]->expired));
    }
    if (borne)
        write_recovery(&which->set, all, records);
    for (uint32_t i = 0; i < all->count; i++)
        ledger_free(records[i]);
}

/* Units of work that a list of outages is. */
static double outages_work(const outage *outages, int count, uint32_t schemes)
{
    double units = 0;
    for (int i = 0; i < count; i++)
        units += ledger_length(&outages[i].set) / 1000.0 * schemes *
                 (outages[i].set.clients + 7.0 * BEARS_CLIENTS);
    return units;
}

static void outages_part(const options *set)
{
    scheme_list all = all_schemes(set);
    outage outages[OUTAGE_COUNT];
    FILE *borne = data_file(set, "bears.tsv");
    FILE *failed = data_file(set, "failed.tsv");
    list_outages(set, outages);
    printf("\n2. Retry storms: clients of a service that is out of order\n");
    show(set, true);
    print_parameters(set);
    print_legend(set);
    for (int i = 0; i < OUTAGE_COUNT; i++, show(set, false))
        outage_table(&outages[i], &all, i == 0 ? borne : NULL, failed);
    data_done(borne);
    data_done(failed);
}

/* ---- Gates --------------------------------------------------------------------------------- */

enum { GATED_COUNT = 3 };

static void list_gated(const options *set, outage outages[GATED_COUNT])
{
    outage all[OUTAGE_COUNT];
    list_outages(set, all);
    outages[0] = all[0];
    outages[1] = all[0];
    outages[1].name = "The same, but the service asks for less: 503 with a Retry-After";
    outages[1].set.outage = OUTAGE_RETRY_AFTER;
    outages[2] = all[3];
}

static void gates_part(const options *set)
{
    scheme_list all = gated_schemes(set);
    outage outages[GATED_COUNT];
    dice chance = {set->seed};
    uint32_t recovery = throttle_recovery(&chance);
    list_gated(set, outages);
    show(set, true);
    printf("\n4. The gates: best effort, without a budget, behind one of them\n");
    for (int i = 0; i < GATED_COUNT; i++, show(set, false))
        outage_table(&outages[i], &all, NULL, NULL);
    printf("Gates are shared by %" PRIu32 " clients, breakers by those of one node.\n",
           set->sharing);
    printf("\n   The throttle lets half of the attempts pass %" PRIu32
           " s after an outage of 200 s;\n   at most %d are expected  %s\n",
           recovery, THROTTLE_PASSES, verdict(known(recovery <= THROTTLE_PASSES)));
}

/* Units of work that both parts are. */
static double storms_work(const options *set)
{
    outage outages[OUTAGE_COUNT], gated[GATED_COUNT];
    list_outages(set, outages);
    list_gated(set, gated);
    return outages_work(outages, OUTAGE_COUNT, all_schemes(set).count) +
           outages_work(gated, GATED_COUNT, gated_schemes(set).count);
}

#endif /* STORM_OUTAGES_H */
