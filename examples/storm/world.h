/* world.h: many clients of one service, as discrete events, with the decisions of retry.h.

   A client thinks, then has an operation done, then thinks again. An operation is one attempt and
   as many retries as retry.h grants; each attempt goes to a node picked at random. Clients live in
   groups, as users do behind the processes of a web tier; the members of a group share a
   retry_client and its budget. */
#ifndef STORM_WORLD_H
#define STORM_WORLD_H

#include "gates.h"
#include "ledger.h"
#include "report.h"
#include "schemes.h"
#include "../../tests/support/decide.h"

/* Bytes: simulated are as many clients as fit into MEMORY; the rest is for times and groups. */
enum { MEMORY = 86 * 1000 * 1000, MEMORY_REST = 3 * 1000 * 1000 };

/* What a client's next event is: an operation begins, an attempt is due, a reply (see service.h)
   has come, or the user leaves. */
enum { BEGIN = REPLY_LOST + 1, ATTEMPT, LEAVE };

typedef struct client {
    uint32_t next; /* client in the same millisecond's list */
    uint8_t event;
    bool sent; /* an attempt is on the wire */
} client;

/* What a group shares of one layer. */
typedef struct shared {
    retry_client client;
    retry_budget budget;
} shared;

#define NOBODY UINT32_MAX

typedef struct world {
    const options *set;
    const scheme *how;
    dice chance;
    uint32_t count, sharing, depth;
    uint32_t now; /* ms */
    service service;
    ledger *ledger;
    client *clients;
    retry_operation *requests; /* `depth` for each client, the outermost first */
    shared *shared;            /* `depth` for each group */
    gates *gates;              /* of each group (NULL: none) */
    retry_operation *asked;    /* of each client's attempt, what asked them */
    uint32_t *due;             /* the first client of each millisecond's list */
} world;

/* Enters a client's next event; what comes after the end is left out. */
static void schedule(world *w, uint32_t id, uint8_t event, uint64_t at)
{
    if (at >= w->ledger->end)
        return;
    w->clients[id].event = event;
    w->clients[id].next = w->due[at];
    w->due[at] = id;
}

static retry_operation *request_of(const world *w, uint32_t id, uint32_t layer)
{
    return &w->requests[(size_t)id * w->depth + layer];
}

static uint32_t started(const world *w, uint32_t id)
{
    return (uint32_t)request_of(w, id, 0)->started;
}

/* The user of an operation does not wait for ever. */
static void schedule_within_patience(world *w, uint32_t id, uint8_t event, uint64_t at)
{
    uint64_t leaves = (uint64_t)started(w, id) + w->set->patience;
    if (w->set->patience != 0 && at > leaves)
        schedule(w, id, LEAVE, leaves);
    else
        schedule(w, id, event, at);
}

/* The next operation begins after a pause. */
static void think(world *w, uint32_t id, uint64_t from)
{
    schedule(w, id, BEGIN, from + (uint64_t)dice_exponential(&w->chance, w->set->think));
}

/* ---- Retrying ------------------------------------------------------------------------------ */

/* Opens the requests from a layer on inwards, each with the time that the one around it has. */
static void open_layers(world *w, uint32_t id, uint32_t layer, uint32_t now)
{
    for (; layer < w->depth; layer++) {
        retry_operation *request = request_of(w, id, layer);
        request->timeout =
            layer == 0 ? w->set->timeout : retry_left(request_of(w, id, layer - 1), now);
        retry_start(request, NULL, now);
    }
}

/* An attempt goes out, to the node that was picked. */
static void send(world *w, uint32_t id, uint32_t node)
{
    retry_operation *innermost = request_of(w, id, w->depth - 1);
    retry_ms cut = w->set->cut_after, limit = retry_left(innermost, w->now);
    reply answer = service_take(&w->service, node, w->now + w->set->network, &w->chance);
    uint64_t back = (uint64_t)answer.at + w->set->network;
    uint64_t given_up = (uint64_t)w->now + (cut != 0 && cut < limit ? cut : limit);
    uint64_t leaves = (uint64_t)started(w, id) + (w->set->patience ? w->set->patience : NEVER);
    w->clients[id].sent = true;
    ledger_attempt(w->ledger, w->now, &answer, back < given_up && back <= leaves);
    if (back < given_up)
        schedule_within_patience(w, id, answer.what, back);
    else
        schedule_within_patience(w, id, REPLY_LOST, given_up);
}

static void failed(world *w, uint32_t id, const retry_failure *failure);

/* The gates are asked; what they refuse is a failed attempt that was never sent. */
static void attempt(world *w, uint32_t id)
{
    uint32_t node = (uint32_t)(((uint64_t)dice_bits(&w->chance) * w->set->nodes) >> 32);
    retry_failure refused;
    if (!w->gates ||
        gates_ask(&w->asked[id], &w->gates[id / w->sharing].clients[node], w->now, &refused))
        send(w, id, node);
    else
        failed(w, id, &refused);
}

/* An attempt has ended; `failure` NULL: it worked. */
static void report(world *w, uint32_t id, const retry_failure *failure)
{
    w->clients[id].sent = false;
    if (w->gates)
        retry_ended(&w->asked[id], 0, failure, w->now);
}

/* A failed attempt: the innermost layer is asked first, and each that gives up fails the one around
   it. A retry of an outer layer is a new request to all inner ones. */
static void failed(world *w, uint32_t id, const retry_failure *failure)
{
    decided decision = {RETRY_VERDICT_FAIL, RETRY_CAUSE_NONE, 0};
    uint32_t layer = w->depth;
    while (layer > 0 && decision.verdict == RETRY_VERDICT_FAIL)
        decision = decide(request_of(w, id, --layer), failure, w->now);
    if (decision.verdict == RETRY_VERDICT_RETRY) {
        open_layers(w, id, layer + 1, w->now + decision.delay);
        schedule_within_patience(w, id, ATTEMPT, (uint64_t)w->now + decision.delay);
        return;
    }
    ledger_failed(w->ledger, started(w, id), decision.verdict == RETRY_VERDICT_EXPIRE);
    think(w, id, (uint64_t)w->now + decision.delay);
}

static void succeeded(world *w, uint32_t id)
{
    for (uint32_t layer = 0; layer < w->depth; layer++)
        decide(request_of(w, id, layer), NULL, w->now);
    ledger_done(w->ledger, started(w, id), w->now);
    think(w, id, w->now);
}

static void left(world *w, uint32_t id)
{
    static const retry_failure never_sent = {.reason = RETRY_REASON_CLIENT_THROTTLED};
    if (w->clients[id].sent)
        report(w, id, &never_sent); /* nobody will know what became of it */
    for (uint32_t layer = 0; layer < w->depth; layer++)
        retry_stop(request_of(w, id, layer), w->now);
    ledger_failed(w->ledger, started(w, id), true);
    think(w, id, w->now);
}

static void happen(world *w, uint32_t id)
{
    uint8_t event = w->clients[id].event;
    retry_failure failure;
    if (event == BEGIN)
        open_layers(w, id, 0, w->now);
    if (event == BEGIN || event == ATTEMPT) {
        attempt(w, id);
    } else if (event == REPLY_DONE) {
        report(w, id, NULL);
        succeeded(w, id);
    } else if (event == LEAVE) {
        left(w, id);
    } else {
        failure = service_failure(&w->service, event);
        report(w, id, &failure);
        failed(w, id, &failure);
    }
}

/* ---- The world ----------------------------------------------------------------------------- */

/* Zeroed memory for a world. There is one at a time, and it begins where the last one began, so
   that the most that is ever used is what one needs. NULL: that is more than there is. */
static void *world_memory(size_t size, bool begin)
{
    static unsigned char *all;
    static size_t used;
    void *taken;
    if (!all && !(all = (unsigned char *)malloc(MEMORY + MEMORY_REST)))
        return NULL;
    used = begin ? 0 : (used + 63) / 64 * 64;
    if (size > MEMORY + MEMORY_REST - used)
        return NULL;
    taken = all + used;
    used += size;
    return memset(taken, 0, size);
}

static void share(world *w, shared *s, const scheme_layer *of)
{
    s->client.strategy = of->strategy;
    s->client.random = dice_bits;
    s->client.random_context = &w->chance;
    if (of->budget.capacity != 0) {
        retry_budget_init(&s->budget, &of->budget, 0);
        s->client.budget = &s->budget;
    }
}

/* Memory for everything; false if there is not enough. */
static bool world_allocate(world *w)
{
    uint32_t groups = (w->count + w->sharing - 1) / w->sharing;
    w->clients = (client *)world_memory(w->count * sizeof *w->clients, true);
    w->requests =
        (retry_operation *)world_memory((size_t)w->count * w->depth * sizeof *w->requests, false);
    w->shared = (shared *)world_memory((size_t)groups * w->depth * sizeof *w->shared, false);
    w->due = (uint32_t *)world_memory(w->ledger->end * sizeof *w->due, false);
    if (!w->clients || !w->requests || !w->shared || !w->due)
        return false;
    if (w->how->gates != 0) {
        w->gates = (gates *)world_memory(groups * sizeof *w->gates, false);
        w->asked = (retry_operation *)world_memory(w->count * sizeof *w->asked, false);
        if (!w->gates || !w->asked)
            return false;
    }
    for (uint32_t i = 0; w->gates && i < groups; i++)
        gates_begin(&w->gates[i], w->how->gates, &w->chance);
    for (uint32_t i = 0; i < groups * w->depth; i++)
        share(w, &w->shared[i], &w->how->layers[i % w->depth]);
    for (uint32_t at = 0; at < w->ledger->end; at++)
        w->due[at] = NOBODY;
    return true;
}

/* A client comes in, and thinks first. */
static void join(world *w, uint32_t id)
{
    for (uint32_t layer = 0; layer < w->depth; layer++) {
        retry_operation *request = request_of(w, id, layer);
        request->client = &w->shared[id / w->sharing * w->depth + layer].client;
        request->idempotent = true;
    }
    think(w, id, 0);
}

/* How many of the clients are simulated with a scheme. */
static uint32_t world_count(const scheme *how, uint32_t sharing, uint32_t clients)
{
    size_t each = sizeof(client) +
                  how->depth * (sizeof(retry_operation) + (sizeof(shared) + sharing - 1) / sharing);
    if (how->gates != 0)
        each += sizeof(retry_operation) + (sizeof(gates) + sharing - 1) / sharing;
    return clients < MEMORY / each ? clients : (uint32_t)(MEMORY / each);
}

/* False: not enough memory. */
static bool world_begin(world *w, const options *set, const scheme *how, ledger *record)
{
    memset(w, 0, sizeof *w);
    w->set = set;
    w->how = how;
    w->chance.state = set->seed;
    w->depth = how->depth;
    w->sharing = how->sharing ? how->sharing : set->sharing;
    w->count = record->clients;
    w->ledger = record;
    service_begin(&w->service, set, w->count);
    if (!world_allocate(w))
        return false;
    for (uint32_t id = 0; id < w->count; id++)
        join(w, id);
    return true;
}

/* Clients lie all over the memory: the next one is fetched while this one's event happens. */
static void fetch(const world *w, uint32_t id)
{
#if defined(__GNUC__)
    if (id == NOBODY)
        return;
    __builtin_prefetch(&w->clients[id]);
    __builtin_prefetch(request_of(w, id, w->depth - 1));
    __builtin_prefetch((const char *)request_of(w, id, w->depth - 1) + 64);
#else
    (void)w;
    (void)id;
#endif
}

/* Whatever happens within one simulated second. */
static void world_second(world *w, uint32_t second)
{
    for (w->now = second * 1000; w->now < (second + 1) * 1000 && w->now < w->ledger->end;
         w->now++) {
        uint32_t id;
        while ((id = w->due[w->now]) != NOBODY) { /* which grows while it is worked off */
            w->due[w->now] = w->clients[id].next;
            fetch(w, w->due[w->now]);
            happen(w, id);
        }
    }
}

/* Simulates one scheme under one set of options. */
static ledger *simulate(const options *set, const scheme *how)
{
    static world w;
    uint32_t sharing = how->sharing ? how->sharing : set->sharing;
    ledger *record = ledger_new(set, world_count(how, sharing, set->clients));
    if (!record || !world_begin(&w, set, how, record))
        refuse("not enough memory for %" PRIu32 " clients", set->clients);
    for (uint32_t second = 0; second * 1000 < record->end; second++) {
        world_second(&w, second);
        progress(w.count, "%s, second %" PRIu32, how->name, second + 1);
    }
    return record;
}

#endif /* STORM_WORLD_H */
