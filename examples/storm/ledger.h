/* ledger.h: what is written down of a simulation, over time and for the users, and what it says. */
#ifndef STORM_LEDGER_H
#define STORM_LEDGER_H

#include "service.h"

enum { BIN = 250, LATENCIES = 1 << 16 }; /* ms */
enum { LATER = 40000 };                  /* ms that are simulated after an outage */

/* What happened in one bin of time. */
typedef struct tally {
    uint32_t sent;   /* attempts that reached the service */
    uint32_t worked; /* attempts that it worked off */
    uint32_t wasted; /* of these, when nobody waited for the answer any more */
    uint32_t done;   /* operations that succeeded */
} tally;

typedef struct ledger {
    uint32_t clients;
    uint32_t works_at, end; /* ms */
    tally *bins;            /* one more takes what comes after the end */
    /* Operations that began when the service began to fail, or later: */
    uint32_t done, failed, expired;
    uint32_t latencies[LATENCIES]; /* how many were done in so many ms */
} ledger;

/* How long the simulation of an outage is, in ms. */
static uint32_t ledger_length(const options *set)
{
    return FAILS_AT + (set->length + BIN - 1) / BIN * BIN + LATER;
}

/* NULL: not enough memory. */
static ledger *ledger_new(const options *set, uint32_t clients)
{
    ledger *l = (ledger *)calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->clients = clients;
    l->works_at = FAILS_AT + set->length;
    l->end = ledger_length(set);
    l->bins = (tally *)calloc(l->end / BIN + 1, sizeof *l->bins);
    if (l->bins)
        return l;
    free(l);
    return NULL;
}

static void ledger_free(ledger *l)
{
    if (l)
        free(l->bins);
    free(l);
}

/* The bin of an instant. */
static tally *ledger_at(ledger *l, uint32_t at)
{
    return &l->bins[(at < l->end ? at : l->end) / BIN];
}

/* An attempt, and whether anybody still waits when its answer comes. */
static void ledger_attempt(ledger *l, uint32_t now, const reply *answer, bool in_time)
{
    ledger_at(l, now)->sent++;
    if (answer->worked) {
        ledger_at(l, answer->at)->worked++;
        ledger_at(l, answer->at)->wasted += !in_time;
    }
}

static void ledger_done(ledger *l, uint32_t started, uint32_t now)
{
    uint32_t took = now - started;
    ledger_at(l, now)->done++;
    if (started < FAILS_AT)
        return;
    l->done++;
    l->latencies[took < LATENCIES ? took : LATENCIES - 1]++;
}

/* An operation has failed, or nobody waited any longer. */
static void ledger_failed(ledger *l, uint32_t started, bool expired)
{
    if (started < FAILS_AT)
        return;
    l->failed += !expired;
    l->expired += expired;
}

/* ---- What it says -------------------------------------------------------------------------- */

/* The sum over the bins from `from` to before `to`, in ms. */
static tally ledger_sum(const ledger *l, uint32_t from, uint32_t to)
{
    tally sum = {0, 0, 0, 0};
    for (uint32_t i = from / BIN; i < to / BIN; i++) {
        sum.sent += l->bins[i].sent;
        sum.worked += l->bins[i].worked;
        sum.wasted += l->bins[i].wasted;
        sum.done += l->bins[i].done;
    }
    return sum;
}

/* Operations done per ms before the outage. */
static double ledger_normal(const ledger *l)
{
    return (double)ledger_sum(l, 1000, FAILS_AT).done / (FAILS_AT - 1000);
}

/* Attempts, and operations done, from `from` to before `to`, in ms: 1 is normal. */
static double ledger_load(const ledger *l, uint32_t from, uint32_t to)
{
    return ledger_sum(l, from, to).sent / ledger_normal(l) / (to - from);
}

static double ledger_goodput(const ledger *l, uint32_t from, uint32_t to)
{
    return ledger_sum(l, from, to).done / ledger_normal(l) / (to - from);
}

static double ledger_peak(const ledger *l)
{
    double peak = 0;
    for (uint32_t from = 0; from < l->end; from += BIN)
        peak = fmax(peak, ledger_load(l, from, from + BIN));
    return peak;
}

/* ms from the outage's end until four fifths of the normal goodput are there in every second from
   then on; NEVER if they are not there in the last one. */
static uint32_t ledger_back(const ledger *l)
{
    uint32_t first = (l->works_at + BIN - 1) / BIN * BIN, back = NEVER;
    for (uint32_t from = l->end - 1000; from >= first; from -= BIN) {
        if (ledger_goodput(l, from, from + 1000) < 0.8)
            break;
        back = from - first;
    }
    return back;
}

/* Failed, or expired, in % of the operations that have ended. */
static double ledger_share(const ledger *l, uint32_t part)
{
    double all = (double)l->done + l->failed + l->expired;
    return all > 0 ? 100 * part / all : 0;
}

/* ms within which `share` of the operations done were done; NEVER if there are none. */
static uint32_t ledger_quantile(const ledger *l, double share)
{
    double left = share * l->done;
    if (l->done == 0)
        return NEVER;
    for (uint32_t ms = 0; ms < LATENCIES; ms++) {
        left -= l->latencies[ms];
        if (left <= 0)
            return ms;
    }
    return LATENCIES;
}

#endif /* STORM_LEDGER_H */
