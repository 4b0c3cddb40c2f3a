/* page.h: the world of page.html. Operations begin at random, each at one of some processes. A
   process has one client of retry.h. The service is some nodes, each with workers and one queue:
   first come, first served. Work that nobody waits for any more is done all the same. From `from`
   on a fault befalls the first `hit` nodes for `length` ms.

   Only integers are used, so every machine comes to the same result. */
#ifndef STORM_PAGE_H
#define STORM_PAGE_H

#include "../../retry.h"
#include "random.h"

/* X(name, default, lowest, highest, kind, what it is). The page builds its controls from this; the
   kind is a unit, nothing, or the words for 0, 1 ... The last four are the client's. */
#define SETTINGS(X)                                                                        \
    X(busy, 70, 1, 150, "%", "how busy the service is while all is well")                  \
    X(fault, 4, 0, 5,                                                                      \
      "refuses connections|answers 503|loses requests|hangs, then breaks all connections|" \
      "freezes|is ten times as slow",                                                      \
      "what befalls the service")                                                          \
    X(from, 10000, 3000, 100000, "ms", "after which the fault begins")                     \
    X(length, 10000, 0, 100000, "ms", "that the fault lasts")                              \
    X(end, 60000, 10000, 240000, "ms", "that are shown")                                   \
    X(nodes, 1, 1, 8, "", "nodes of the service")                                          \
    X(hit, 8, 1, 8, "", "nodes that the fault befalls, at most")                           \
    X(workers, 10, 1, 50, "", "workers of each node")                                      \
    X(work, 50, 10, 1000, "ms", "of a worker for each attempt")                            \
    X(queue, 1000, 0, 60000, "ms", "that an attempt may wait in the queue of a node")      \
    X(full, 0, 0, 1, "drops what comes|answers 503", "what a node with a full queue does") \
    X(network, 1, 1, 1000, "ms", "that a message takes, one way")                          \
    X(burst, 0, 0, 10000, "ms", "between bursts of operations; 0: each begins at random")  \
    X(processes, 20, 1, 1000, "", "processes; each has a client of its own")               \
    X(timeout, 10000, 100, 120000, "ms", "for an operation, with all attempts and waits")  \
    X(seed, 1, 0, 1000000, "", "seed of all that is random")                               \
    X(attempt, 1000, 0, 120000, "ms", "for an attempt, to begin with; 0: what is left")    \
    X(fixed, 0, 0, 1, "follows the server|is fixed", "how long an attempt may take")       \
    X(limit, 20, 0, 1000, "", "attempts at once at first, for each node; 0: no limit")     \
    X(choose, 1, 0, 1, "any|the less busy of two", "which node an attempt goes to")

/* X(name): what a run counts, of the operations that began before `end`. */
#define COUNTS(X)                                                                       \
    X(begun)    /* operations */                                                        \
    X(done)     /* of these, that succeeded */                                          \
    X(sent)     /* attempts */                                                          \
    X(in_fault) /* attempts to the nodes in trouble during the fault */                 \
    X(peak)     /* attempts in the busiest BIN after the fault has begun */             \
    X(p50)      /* ms in which half of those that succeeded did */                      \
    X(p99)                                                                              \
    X(back) /* ms after the fault from when on all is as well as before; UINT32_MAX: */ \
            /* not within what is shown */                                              \
    X(last) /* ms after the fault at which the last one that began in it succeeded */   \
    X(bin)  /* BIN, and how many of them there are */                                   \
    X(bins)                                                                             \
    X(digest) /* of all decisions, the time of each included */                         \
    X(digest_high)                                                                      \
    X(overrun) /* there was no room for all events: the numbers are no good */

#define SETTING(name, ...) SETTING_##name,
#define COUNT(name) COUNT_##name,
enum { SETTINGS(SETTING) SETTING_COUNT };
enum { COUNTS(COUNT) COUNT_COUNT };

enum {
    BIN = 100, /* ms of which operations and attempts are counted together */
    BINS = 2400,
    NODES = 8,
    WORKERS = 50,
    PROCESSES = 1000,
    OPERATIONS = 30000, /* under way at once */
    EVENTS = 120000,
    TIMES = 240000 + 120000, /* ms that can be simulated */
    WINDOW = 20,             /* bins of which 95 % have to be done for a service that is well */
    TOOK = 12001,            /* bins of 10 ms, for the time that operations take */
    SLOW = 10
};

/* What a client hears, and the events of an operation. */
enum { SAYS_DONE, SAYS_REFUSED, SAYS_503, SAYS_NOTHING, IS_BROKEN, IS_DUE };
enum { REFUSES, ANSWERS_503, LOSES, BREAKS, FREEZES, IS_SLOW };
typedef struct process {
    retry_service service;
    retry_gates gates[NODES];
    retry_aimd limits[NODES];
} process;

typedef struct operation {
    retry_operation retry;
    uint32_t begun, next_free;
    uint32_t serial;    /* of its last event */
    uint32_t due, wire; /* those of its timer and its attempt; all others are out of date */
} operation;

typedef struct event {
    uint32_t next, operation, serial;
    uint8_t what;
} event;

typedef struct bin {
    uint32_t begun, done; /* operations that began in it, and those of them that succeeded */
    uint32_t sent;        /* attempts in it */
    uint32_t ready;       /* operations that succeeded in it */
} bin;

/* Operations and events are known by a number from 1 on; 0 is none. */
typedef struct world {
    uint32_t counts[COUNT_COUNT];
    bin bins[BINS];
    uint32_t now, to; /* ms; `to` is the end of the fault */
    dice arrivals, chance;
    uint64_t digest;
    uint64_t free_at[NODES][WORKERS]; /* by the node's own clock */
    uint32_t took[TOOK];
    process processes[PROCESSES];
    operation operations[OPERATIONS];
    event events[EVENTS];
    uint32_t operations_used, free_operation, events_used, free_event;
    uint32_t first[TIMES]; /* the events of each ms */
} world;

static world w;
static uint32_t set[SETTING_COUNT];
static retry_policy policy;
static retry_budget_options budget;

static uint32_t lower(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t one_of(dice *with, uint32_t count)
{
    return (uint32_t)((uint64_t)dice_bits(with) * count >> 32);
}

/* ---- The service --------------------------------------------------------------------------- */

static bool suffers(uint32_t node, uint32_t at)
{
    return node < set[SETTING_hit] && at >= set[SETTING_from] && at < w.to;
}

/* ms of work that a worker does while the fault lasts. */
static uint32_t worked_in_fault(uint32_t node)
{
    uint32_t length = w.to - set[SETTING_from];
    if (node >= set[SETTING_hit] || set[SETTING_fault] < FREEZES)
        return length;
    return set[SETTING_fault] == FREEZES ? 0 : length / SLOW;
}

/* A node has a clock by which each attempt takes as long as ever: in the fault the clock stands
   still, or goes more slowly. This is what it shows. */
static uint32_t node_time(uint32_t node, uint32_t at)
{
    uint32_t from = set[SETTING_from], worked = worked_in_fault(node), length = w.to - from;
    if (at <= from)
        return at;
    return at >= w.to ? at - length + worked
                      : from + (uint32_t)((uint64_t)(at - from) * worked / length);
}

/* And when it shows that. */
static uint64_t real_time(uint32_t node, uint64_t shown)
{
    uint32_t from = set[SETTING_from], worked = worked_in_fault(node), length = w.to - from;
    if (shown <= from)
        return shown;
    return shown - from >= worked ? shown + length - worked
                                  : from + (shown - from) * length / worked;
}

/* The ms at which a node answers an attempt that reaches it at `at`, and what it says. This is
   known at once, as the queue is in order. */
static uint64_t serve(uint32_t node, uint32_t at, uint8_t *says)
{
    uint64_t *free_at = w.free_at[node], here = node_time(node, at);
    bool suffering = suffers(node, at);
    *says = SAYS_DONE;
    if (suffering && set[SETTING_fault] <= BREAKS) {
        *says = (uint8_t)(SAYS_REFUSED + set[SETTING_fault] - REFUSES);
        return set[SETTING_fault] == BREAKS ? w.to : at;
    }
    for (uint32_t i = 1; i < set[SETTING_workers]; i++) { /* to the first, who is free first */
        if (w.free_at[node][i] < *free_at)
            free_at = &w.free_at[node][i];
    }
    if (*free_at > here + set[SETTING_queue]) {
        *says = set[SETTING_full] ? SAYS_503 : SAYS_NOTHING;
        return at;
    }
    *free_at = (*free_at > here ? *free_at : here) + set[SETTING_work];
    return real_time(node, *free_at);
}

/* ---- The clients --------------------------------------------------------------------------- */

/* Enters an operation's next event, and returns its serial number. */
static uint32_t schedule(uint32_t id, uint8_t what, uint64_t at)
{
    uint32_t serial = ++w.operations[id].serial, entered = w.free_event;
    if (at >= set[SETTING_end] + set[SETTING_timeout])
        return serial; /* nobody looks any more */
    if (entered != 0) {
        w.free_event = w.events[entered].next;
    } else if ((entered = ++w.events_used) >= EVENTS) {
        w.counts[COUNT_overrun] = w.events_used = EVENTS - 1;
        return serial;
    }
    w.events[entered] = (event){w.first[at], id, serial, what};
    w.first[at] = entered;
    return serial;
}

static void send(uint32_t id, const retry_step *step)
{
    uint8_t says;
    bool chosen = set[SETTING_choose] || set[SETTING_nodes] == 1;
    uint32_t node = chosen ? step->node : one_of(&w.chance, set[SETTING_nodes]);
    uint32_t network = set[SETTING_network];
    uint64_t answered = serve(node, w.now + network, &says);
    w.counts[COUNT_in_fault] += suffers(node, w.now + network);
    if (w.now < set[SETTING_end]) {
        w.counts[COUNT_sent]++;
        w.bins[w.now / BIN].sent++;
    }
    w.operations[id].wire =
        schedule(id, says, says == SAYS_NOTHING ? (uint64_t)TIMES : answered + network);
}

static void finish(uint32_t id, bool done)
{
    operation *o = &w.operations[id];
    if (done && w.now < set[SETTING_end])
        w.bins[w.now / BIN].ready++;
    if (done && o->begun < set[SETTING_end]) {
        w.bins[o->begun / BIN].done++;
        w.took[lower((w.now - o->begun) / 10, TOOK - 1)]++;
        w.counts[COUNT_done]++;
        if (o->begun >= set[SETTING_from] && o->begun < w.to && w.now > w.to)
            w.counts[COUNT_last] = w.now - w.to;
    }
    o->due = 0;
    o->wire = 0;
    o->next_free = w.free_operation;
    w.free_operation = id;
}

/* FNV-1a, a word at a time. */
static void digest(uint32_t word)
{
    w.digest = (w.digest ^ word) * 0x100000001b3u;
}

static void digest_step(uint32_t id, const retry_step *step)
{
    digest(w.now);
    digest(id);
    digest(step->what | (uint32_t)step->copy << 8 | (uint32_t)step->verdict << 16 |
           (uint32_t)step->cause << 24);
    digest(step->node);
    digest(step->delay);
    digest(step->timeout);
}

/* Does what there is to do now. */
static void advance(uint32_t id)
{
    operation *o = &w.operations[id];
    for (;;) {
        const retry_step step = retry_next(&o->retry, w.now);
        digest_step(id, &step);
        switch (step.what) {
        case RETRY_DO_SEND:
            send(id, &step);
            break;
        case RETRY_DO_CANCEL:
            o->wire = 0;
            break;
        case RETRY_DO_WAIT:
            o->due = schedule(id, IS_DUE, (uint64_t)w.now + step.delay);
            return;
        default:
            finish(id, step.verdict == RETRY_VERDICT_SUCCESS);
            return;
        }
    }
}

static void begin(void)
{
    static const operation none;
    uint32_t who = one_of(&w.arrivals, set[SETTING_processes]), id = w.free_operation, serial;
    operation *o;
    if (id != 0) {
        w.free_operation = w.operations[id].next_free;
    } else if ((id = ++w.operations_used) >= OPERATIONS) {
        w.counts[COUNT_overrun] = w.operations_used = OPERATIONS - 1;
        return;
    }
    o = &w.operations[id];
    serial = o->serial;
    *o = none;
    o->serial = serial;
    o->begun = w.now;
    o->retry.client = &w.processes[who].service.client;
    o->retry.timeout = set[SETTING_timeout];
    o->retry.idempotent = true;
    if (w.now < set[SETTING_end]) {
        w.counts[COUNT_begun]++;
        w.bins[w.now / BIN].begun++;
    }
    retry_start(&o->retry, NULL, w.now);
    advance(id);
}

static void answered(uint32_t id, uint8_t says)
{
    operation *o = &w.operations[id];
    retry_failure failure = retry_classify_http(503, 0);
    if (says == SAYS_REFUSED)
        failure = retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE);
    if (says == IS_BROKEN)
        failure = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    o->wire = 0;
    retry_ended(&o->retry, 0, says == SAYS_DONE ? NULL : &failure, w.now);
    advance(id);
}

/* ---- A run --------------------------------------------------------------------------------- */

/* The operations of this ms: in each of its parts one begins by chance; or a burst begins. */
static void arrive(void)
{
    uint64_t each = 100ull * set[SETTING_work]; /* in so many ms begin as many as `all` */
    uint64_t all = (uint64_t)set[SETTING_nodes] * set[SETTING_workers] * set[SETTING_busy];
    uint32_t burst = set[SETTING_burst];
    if (burst == 0) {
        uint32_t parts = 16 + 4 * (uint32_t)(all / each);
        uint64_t likely = (all << 32) / each / parts; /* of 2^32 */
        for (uint32_t part = 0; part < parts; part++) {
            if (dice_bits(&w.arrivals) < likely)
                begin();
        }
    } else if (w.now % burst == 0) {
        for (uint64_t i = all * w.now / each; i < all * (w.now + burst) / each; i++)
            begin();
    }
}

/* As README.md has it; without a limit or a budget the client goes on without. */
static void add_process(process *p)
{
    static const process none;
    retry_client *client = &p->service.client;
    bool chooses = set[SETTING_choose] && set[SETTING_nodes] > 1, limits = set[SETTING_limit];
    *p = none;
    p->service.policy = policy;
    p->service.budget.options = budget;
    p->service.limit.initial = set[SETTING_limit];
    client->random = dice_bits;
    client->random_context = &w.chance;
    client->cut_after = set[SETTING_attempt];
    client->attempt_timeout = set[SETTING_fixed] ? set[SETTING_attempt] : 0;
    if (chooses)
        retry_client_nodes(client, p->gates, (uint16_t)set[SETTING_nodes]);
    retry_service_init(&p->service, 0);
    for (uint32_t i = 0; chooses && limits && i < set[SETTING_nodes]; i++) {
        p->limits[i].initial = set[SETTING_limit];
        retry_gates_aimd(&p->gates[i], &p->limits[i]);
    }
    if (budget.capacity == 0)
        client->budget = NULL;
    if (!chooses && !limits)
        client->gates = NULL;
}

static void start(void)
{
    static const uint32_t lowest[] = {
#define LOWEST(name, fallback, low, high, ...) low,
        SETTINGS(LOWEST)};
    static const uint32_t highest[] = {
#define HIGHEST(name, fallback, low, high, ...) high,
        SETTINGS(HIGHEST)};
    for (uint32_t i = 0; i < SETTING_COUNT; i++) {
        set[i] = lower(set[i], highest[i]);
        set[i] = set[i] < lowest[i] ? lowest[i] : set[i];
    }
    memset(&w, 0, sizeof w);
    w.to = lower(set[SETTING_from] + set[SETTING_length], set[SETTING_end]);
    w.to = w.to > set[SETTING_from] ? w.to : set[SETTING_from];
    w.arrivals.state = set[SETTING_seed];
    w.chance.state = ~(uint64_t)set[SETTING_seed];
    w.digest = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < set[SETTING_processes]; i++)
        add_process(&w.processes[i]);
}

/* Begun and done in WINDOW bins from `first` on. */
static bin window(uint32_t first)
{
    bin sum = {0, 0, 0, 0};
    for (uint32_t i = first; i < first + WINDOW; i++) {
        sum.begun += w.bins[i].begun;
        sum.done += w.bins[i].done;
    }
    return sum;
}

/* Whether those that began from `first` on did as well as 95 % of those before the fault. */
static bool is_well(uint32_t first)
{
    uint32_t from = set[SETTING_from] / BIN, before = lower(from, set[SETTING_end] / BIN);
    uint64_t begun = 0, done = 0;
    bin here = window(first);
    for (uint32_t i = 0; i < before; i++) {
        begun += w.bins[i].begun;
        done += w.bins[i].done;
    }
    return here.done * begun * 100 >= here.begun * done * 95;
}

static uint32_t back(void)
{
    uint32_t end = set[SETTING_end] / BIN, to = (w.to + BIN - 1) / BIN, first = end - WINDOW;
    if (to > first || !is_well(first))
        return UINT32_MAX;
    while (first > to && is_well(first - 1))
        first--;
    return (first - to) * BIN;
}

/* ms in which so many of a hundred of those that succeeded did. */
static uint32_t percentile(uint32_t percent)
{
    uint32_t i = 0, seen = w.took[0];
    while (i < TOOK - 1 && (uint64_t)seen * 100 < (uint64_t)w.counts[COUNT_done] * percent)
        seen += w.took[++i];
    return i * 10 + 10;
}

static void run(void)
{
    start();
    for (; w.now < set[SETTING_end] + set[SETTING_timeout] && !w.counts[COUNT_overrun]; w.now++) {
        arrive();
        while (w.first[w.now] != 0) { /* the list may grow meanwhile */
            uint32_t id = w.first[w.now];
            const event happens = w.events[id];
            operation *o = &w.operations[happens.operation];
            w.first[w.now] = happens.next;
            w.events[id].next = w.free_event;
            w.free_event = id;
            if (happens.what == IS_DUE && happens.serial == o->due)
                advance(happens.operation);
            else if (happens.what != IS_DUE && happens.serial == o->wire)
                answered(happens.operation, happens.what);
        }
    }
    for (uint32_t i = set[SETTING_from] / BIN; i < set[SETTING_end] / BIN; i++) {
        if (w.bins[i].sent > w.counts[COUNT_peak])
            w.counts[COUNT_peak] = w.bins[i].sent;
    }
    w.counts[COUNT_p50] = percentile(50);
    w.counts[COUNT_p99] = percentile(99);
    w.counts[COUNT_back] = back();
    w.counts[COUNT_bin] = BIN;
    w.counts[COUNT_bins] = set[SETTING_end] / BIN;
    w.counts[COUNT_digest] = (uint32_t)w.digest;
    w.counts[COUNT_digest_high] = (uint32_t)(w.digest >> 32);
}

#endif /* STORM_PAGE_H */
