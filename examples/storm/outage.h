/* outage.h: many clients of one service that fails for ten seconds, as discrete events.

   A client thinks, then has an operation done, then thinks again. An operation is one attempt and
   as many retries as retry.h grants. Clients live in groups, as users do behind the processes of a
   web tier; the members of a group share a retry_client and its budget.

   The service works off one queue, first come first served, at a fixed rate. While it fails it
   answers everything with 503, no faster than otherwise. A full queue drops what comes. Clients do
   not wait as long as the queue is: work that nobody waits for any more is done all the same, and
   that is why a storm can outlast its cause. */
#ifndef STORM_OUTAGE_H
#define STORM_OUTAGE_H

#include "random.h"

#include "../../retry.h"

#include <stdbool.h>
#include <stdlib.h>

/* All in ms. */
enum {
    SIMULATED = 60000,
    FAILS_AT = 10000,
    WORKS_AT = 20000,
    THINKING = 20000,       /* mean, from the end of an operation to the next */
    NETWORK = 10,           /* one way */
    ATTEMPT_TIMEOUT = 1000, /* of a client, for one attempt */
    QUEUE_LONGEST = 2000,   /* the service's queue, as time to work it off */
    BIN = 250               /* of the record over time */
};

enum { BINS = SIMULATED / BIN, GROUP = 1000 };

/* How clients retry. */
typedef struct scheme {
    const char *name;
    const retry_policy *policy;
    const retry_budget_options *budget; /* of a group's bucket (NULL: none) */
    retry_ms timeout;                   /* ms for an operation (0: none) */
    uint32_t layers;                    /* that retry, each on top of the next */
} scheme;

/* What happened in one bin of time, or in all of them. */
typedef struct tally {
    uint32_t sent;   /* attempts that reached the service */
    uint32_t worked; /* attempts that it worked off */
    uint32_t wasted; /* of these, when nobody waited for the answer any more */
    uint32_t done;   /* operations that succeeded */
} tally;

/* What a client's next event is. */
enum { BEGIN, ARRIVE, SERVED, REFUSED, TIMED_OUT };

typedef struct storm_client {
    uint32_t next; /* client in the same millisecond's list */
    uint8_t event;
} storm_client;

typedef struct storm_group {
    retry_client client;
    retry_budget budget;
} storm_group;

#define NOBODY UINT32_MAX
#define NEVER UINT32_MAX

typedef struct outage {
    const scheme *scheme;
    dice chance;
    uint32_t count, layers;
    uint64_t work;       /* ns that the service needs for one attempt */
    uint64_t busy_until; /* ns; when the queue will be worked off */
    uint32_t now;        /* ms */
    storm_client *clients;
    retry_request *requests; /* `layers` for each client, the outermost first */
    storm_group *groups;
    uint32_t due[SIMULATED]; /* the first client of each millisecond's list */
    tally bins[BINS + 1];
} outage;

/* Enters a client's next event; what comes after the end is left out. */
static void schedule(outage *o, uint32_t id, uint8_t event, uint64_t at)
{
    o->clients[id].event = event;
    if (at >= SIMULATED)
        return;
    o->clients[id].next = o->due[at];
    o->due[at] = id;
}

/* The bin of an instant; one more takes all that comes after the end. */
static tally *bin_at(outage *o, uint64_t at)
{
    return &o->bins[at < SIMULATED ? at / BIN : BINS];
}

static retry_request *request_of(outage *o, uint32_t id, uint32_t layer)
{
    return &o->requests[(size_t)id * o->layers + layer];
}

/* The next operation's first attempt is sent after a pause. */
static void think(outage *o, uint32_t id, uint64_t from)
{
    double pause = dice_exponential(&o->chance, THINKING);
    schedule(o, id, BEGIN, from + (uint64_t)pause + NETWORK);
}

/* Queues an attempt. Returns when its answer is out, in ms, or 0 if the queue is full. */
static uint64_t queue(outage *o)
{
    uint64_t now = (uint64_t)o->now * 1000000;
    uint64_t begin = o->busy_until > now ? o->busy_until : now;
    if (begin - now > (uint64_t)QUEUE_LONGEST * 1000000)
        return 0;
    o->busy_until = begin + o->work;
    return o->busy_until / 1000000 + 1;
}

/* An attempt arrives. The queue is in order, so what becomes of it is known at once. */
static void arrive(outage *o, uint32_t id)
{
    uint64_t answered = queue(o);
    uint64_t given_up = o->now - NETWORK + ATTEMPT_TIMEOUT;
    bool in_time = answered != 0 && answered + NETWORK < given_up;
    bool failing = answered >= FAILS_AT && answered < WORKS_AT;
    bin_at(o, o->now)->sent++;
    if (answered != 0) {
        bin_at(o, answered)->worked++;
        bin_at(o, answered)->wasted += !in_time;
    }
    if (in_time)
        schedule(o, id, failing ? REFUSED : SERVED, answered + NETWORK);
    else
        schedule(o, id, TIMED_OUT, given_up);
}

static void begin(outage *o, uint32_t id)
{
    for (uint32_t layer = 0; layer < o->layers; layer++)
        retry_begin(request_of(o, id, layer), o->now - NETWORK);
    arrive(o, id);
}

static void succeed(outage *o, uint32_t id)
{
    for (uint32_t layer = 0; layer < o->layers; layer++)
        retry_succeed(request_of(o, id, layer), o->now);
    bin_at(o, o->now)->done++;
    think(o, id, o->now);
}

/* A failed attempt: the innermost layer is asked first, and each that gives up fails the one around
   it. A retry of an outer layer is a new request to all inner ones. */
static void fail(outage *o, uint32_t id, const retry_failure *failure)
{
    retry_decision decision = {RETRY_VERDICT_FAIL, RETRY_CAUSE_NONE, 0};
    uint32_t layer = o->layers;
    while (layer-- > 0) {
        decision = retry_orchestrate(request_of(o, id, layer), failure, o->now);
        if (decision.verdict != RETRY_VERDICT_FAIL)
            break;
    }
    if (decision.verdict == RETRY_VERDICT_RETRY) {
        while (++layer < o->layers)
            retry_begin(request_of(o, id, layer), o->now + decision.delay);
        schedule(o, id, ARRIVE, (uint64_t)o->now + decision.delay + NETWORK);
        return;
    }
    if (decision.verdict == RETRY_VERDICT_EXPIRE)
        think(o, id, (uint64_t)o->now + decision.delay);
    else
        think(o, id, o->now);
}

static void happen(outage *o, uint32_t id)
{
    static const retry_failure late = {.reason = RETRY_REASON_ATTEMPT_TIMED_OUT, .timeout = true};
    retry_failure refusal;
    switch (o->clients[id].event) {
    case BEGIN:
        begin(o, id);
        return;
    case ARRIVE:
        arrive(o, id);
        return;
    case SERVED:
        succeed(o, id);
        return;
    case REFUSED:
        refusal = retry_classify_http(503, 0);
        fail(o, id, &refusal);
        return;
    default:
        fail(o, id, &late);
    }
}

/* Groups, clients and requests; false if there is not enough memory. */
static bool outage_allocate(outage *o)
{
    uint32_t groups = (o->count + GROUP - 1) / GROUP;
    o->clients = calloc(o->count, sizeof *o->clients);
    o->requests = calloc((size_t)o->count * o->layers, sizeof *o->requests);
    o->groups = calloc(groups, sizeof *o->groups);
    if (!o->clients || !o->requests || !o->groups)
        return false;
    for (uint32_t i = 0; i < groups; i++) {
        storm_group *group = &o->groups[i];
        group->client.strategy = &o->scheme->policy->base;
        group->client.random = dice_bits;
        group->client.random_context = &o->chance;
        if (o->scheme->budget) {
            retry_budget_init(&group->budget, o->scheme->budget, 0);
            group->client.budget = &group->budget;
        }
    }
    return true;
}

static void outage_free(outage *o)
{
    free(o->clients);
    free(o->requests);
    free(o->groups);
    free(o);
}

/* A client comes in, and thinks first. */
static void outage_join(outage *o, uint32_t id)
{
    for (uint32_t layer = 0; layer < o->layers; layer++) {
        retry_request *request = request_of(o, id, layer);
        request->client = &o->groups[id / GROUP].client;
        request->timeout = o->scheme->timeout;
        request->idempotent = true;
    }
    think(o, id, 0);
}

/* All clients think, and so much that attempts without any retries would take `busy` percent of the
   service's capacity. NULL: not enough memory. */
static outage *outage_new(const scheme *how, uint32_t count, uint32_t busy, uint64_t seed)
{
    outage *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->scheme = how;
    o->chance.state = seed;
    o->layers = how->layers;
    o->count = count;
    o->work = (uint64_t)THINKING * 10000 * busy / count;
    if (!outage_allocate(o)) {
        outage_free(o);
        return NULL;
    }
    for (uint32_t at = 0; at < SIMULATED; at++)
        o->due[at] = NOBODY;
    for (uint32_t id = 0; id < count; id++)
        outage_join(o, id);
    return o;
}

/* Whatever happens within one simulated second. */
static void outage_second(outage *o, uint32_t second)
{
    for (o->now = second * 1000; o->now < (second + 1) * 1000; o->now++) {
        uint32_t id = o->due[o->now];
        while (id != NOBODY) {
            uint32_t next = o->clients[id].next;
            happen(o, id);
            id = next;
        }
    }
}

/* ---- What the record says ------------------------------------------------------------------ */

/* The sum over the bins from `from` to before `to`, in ms. */
static tally tally_sum(const tally *bins, uint32_t from, uint32_t to)
{
    tally sum = {0, 0, 0, 0};
    for (uint32_t i = from / BIN; i < to / BIN; i++) {
        sum.sent += bins[i].sent;
        sum.worked += bins[i].worked;
        sum.wasted += bins[i].wasted;
        sum.done += bins[i].done;
    }
    return sum;
}

/* Operations done per ms before the failure. */
static double tally_normal(const tally *bins)
{
    return (double)tally_sum(bins, 1000, FAILS_AT).done / (FAILS_AT - 1000);
}

/* Attempts per ms, and operations done per ms, from `from` to before `to`, in ms: 1 is normal. */
static double tally_load(const tally *bins, uint32_t from, uint32_t to)
{
    return tally_sum(bins, from, to).sent / tally_normal(bins) / (to - from);
}

static double tally_goodput(const tally *bins, uint32_t from, uint32_t to)
{
    return tally_sum(bins, from, to).done / tally_normal(bins) / (to - from);
}

static double tally_peak(const tally *bins)
{
    double peak = 0;
    for (uint32_t from = 0; from < SIMULATED; from += BIN)
        peak = fmax(peak, tally_load(bins, from, from + BIN));
    return peak;
}

/* ms from the end of the failure until four fifths of the normal goodput are there in every second
   from then on; NEVER if they are not there in the last one. */
static uint32_t tally_recovery(const tally *bins)
{
    uint32_t recovery = NEVER;
    for (uint32_t from = SIMULATED - 1000; from >= WORKS_AT; from -= BIN) {
        if (tally_goodput(bins, from, from + 1000) < 0.8)
            break;
        recovery = from - WORKS_AT;
    }
    return recovery;
}

#endif /* STORM_OUTAGE_H */
