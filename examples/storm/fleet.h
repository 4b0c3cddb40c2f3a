/* fleet.h: a fleet of clients to which the same happened at the same instant: how many of their
   calls fall into the busiest 10 ms, with and without jitter. */
#ifndef STORM_FLEET_H
#define STORM_FLEET_H

#include "random.h"
#include "report.h"
#include "../../tests/support/decide.h"

enum { FLEET = 10000, FLEET_BIN = 10, FLEET_END = 40000, FLEET_SHOWN = 2000, FLEET_TOLERANCE = 3 };
enum { FLEET_RUNS = 20 };

typedef uint32_t fleet_bins[FLEET_END / FLEET_BIN];

static void fleet_call(fleet_bins bins, uint64_t at)
{
    if (at < FLEET_END)
        bins[at / FLEET_BIN]++;
}

/* Calls in the busiest bin. */
static uint32_t fleet_busiest(const fleet_bins bins)
{
    uint32_t most = 0;
    for (size_t i = 0; i < FLEET_END / FLEET_BIN; i++)
        most = bins[i] > most ? bins[i] : most;
    return most;
}

/* A service stays away; all of its clients fail at 0, and retry as long as they are watched. */
static void fleet_retries(fleet_bins bins, const retry_backoff *backoff, dice *chance)
{
    for (uint32_t id = 0; id < FLEET; id++) {
        uint64_t at = 0;
        retry_ms delay = 0;
        for (uint32_t retries = 0; at < FLEET_SHOWN; retries++) {
            delay = retry_backoff_delay(backoff, retries, delay, dice_bits(chance));
            at += delay;
            fleet_call(bins, at);
        }
    }
}

/* A server tells all of its clients to come back in 30 s. */
static void fleet_ordered(fleet_bins bins, uint32_t spread, dice *chance)
{
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    const retry_client client = {
        .strategy = &policy.base, .random = dice_bits, .random_context = chance};
    const retry_failure failure = retry_classify_http(503, 30000);
    policy.retry_after_spread = spread;
    for (uint32_t id = 0; id < FLEET; id++) {
        retry_operation request = {.client = &client};
        retry_start(&request, NULL, 0);
        fleet_call(bins, decide(&request, &failure, 0).delay);
    }
}

/* A server goes down that its clients had been connected to for long. Each connects again as gRPC
   does, after retry_phase() of its name in `period` ms (0: at once), and finds it still away until
   second 20. */
static void fleet_reconnects(fleet_bins bins, retry_ms period, dice *chance)
{
    for (uint32_t id = 0; id < FLEET; id++) {
        retry_connection connection = RETRY_CONNECTION_GRPC;
        uint32_t now = retry_phase(&id, sizeof id, period);
        connection.random = dice_bits;
        connection.random_context = chance;
        while (now < FLEET_END) {
            fleet_call(bins, now);
            retry_connection_begin(&connection, now);
            if (now >= 20000)
                break;
            now += retry_connection_failed(&connection, NULL, now);
        }
    }
}

/* ---- The table ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint8_t jitter;
    uint32_t expected; /* calls in the busiest bin */
} fleet_jitters[] = {
    {"none", RETRY_JITTER_NONE, FLEET},
    {"equal", RETRY_JITTER_EQUAL, 1998},
    {"full", RETRY_JITTER_FULL, 1526},
    {"decorrelated", RETRY_JITTER_DECORRELATED, 659},
};

static void fleet_row(const char *name, double busiest, uint32_t expected)
{
    printf("%-44s %7d %8.0f", name, FLEET, busiest);
    if (expected)
        printf(" %9" PRIu32 "  %s", expected, verdict(keeps(busiest, expected, FLEET_TOLERANCE)));
    printf("\n");
}

/* The mean of the busiest bin over many runs; one alone may be 5 % off. */
static double fleet_jittered(fleet_bins bins, const retry_backoff *backoff, dice *chance)
{
    double sum = 0;
    for (int run = 0; run < FLEET_RUNS; run++) {
        memset(bins, 0, sizeof(fleet_bins));
        fleet_retries(bins, backoff, chance);
        sum += fleet_busiest((const uint32_t *)bins);
    }
    return sum / FLEET_RUNS;
}

static void fleet_other_rows(dice *chance)
{
    static fleet_bins ordered, spread, reconnecting, phased;
    fleet_ordered(ordered, 1, chance); /* a number: none */
    fleet_ordered(spread, RETRY_RATIO(0.2), chance);
    fleet_reconnects(reconnecting, 0, chance);
    fleet_reconnects(phased, 5000, chance);
    fleet_row("Retry-After 30 s", fleet_busiest((const uint32_t *)ordered), 0);
    fleet_row("Retry-After 30 s, retry_after_spread 0.2", fleet_busiest((const uint32_t *)spread),
              0);
    fleet_row("reconnecting, 20 s away", fleet_busiest((const uint32_t *)reconnecting), 0);
    fleet_row("reconnecting, after retry_phase() in 5 s", fleet_busiest((const uint32_t *)phased),
              0);
}

/* The rows of the jitters, and that of the operator's; their bins stay. */
static size_t fleet_jitter_rows(const options *chosen, fleet_bins *bins, dice *chance)
{
    size_t count = COUNT(fleet_jitters);
    for (size_t i = 0; i < count; i++) {
        const retry_backoff backoff = {
            .jitter = fleet_jitters[i].jitter, .initial = 100, .max = 10000};
        char name[60];
        snprintf(name, sizeof name, "retries from 100 ms on, jitter %s", fleet_jitters[i].name);
        fleet_row(name, fleet_jittered(bins[i], &backoff, chance), fleet_jitters[i].expected);
    }
    if (chosen->own_count == 0)
        return count;
    fleet_row(
        "retries, yours",
        fleet_jittered(bins[count], &chosen->own[chosen->own_count - 1].policy.backoff, chance), 0);
    return count + 1;
}

static void fleet_part(const options *chosen)
{
    static fleet_bins bins[COUNT(fleet_jitters) + 1];
    dice chance = {chosen->seed};
    FILE *data = data_file(chosen, "spikes.tsv");
    size_t rows;
    printf("\n5. Calls in the busiest 10 ms after the same has befallen all clients at once\n\n"
           "%-44s clients  busiest  expected\n",
           "");
    rows = fleet_jitter_rows(chosen, bins, &chance);
    fleet_other_rows(&chance);
    printf("Tolerance: %d %%, of the mean over %d runs.\n", FLEET_TOLERANCE, FLEET_RUNS);
    fprintf(data, "seconds");
    for (size_t i = 0; i < rows; i++)
        fprintf(data, "\t%s", i < COUNT(fleet_jitters) ? fleet_jitters[i].name : "yours");
    for (size_t bin = 0; bin < FLEET_SHOWN / FLEET_BIN; bin++) {
        fprintf(data, "\n%.3f", (double)bin * FLEET_BIN / 1000);
        for (size_t i = 0; i < rows; i++)
            fprintf(data, "\t%" PRIu32, bins[i][bin]);
    }
    fprintf(data, "\n");
    data_done(data);
}

#endif /* STORM_FLEET_H */
