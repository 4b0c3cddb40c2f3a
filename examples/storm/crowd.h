/* crowd.h: a few clients of one service, simulated to the millisecond, each operation by way of
   retry.h's attempts.

   Operations come at random, at a steady rate. Each is begun at one of the clients, which has a
   retry_client and, for each server, gates of its own. The service is one server of ten workers
   or, to see what failing over does, four servers of three. A worker takes 50 ms for a request,
   and works on those whose client has long gone, too, as it cannot know. Then a fault comes for
   some seconds. Everything is in one struct, so that a copy of it is a saved game: each fault
   strikes the same healthy crowd. */
#ifndef STORM_CROWD_H
#define STORM_CROWD_H

#include "../../retry.h"
#include "random.h"

#include <stddef.h>
#include <string.h>

/* What protects the service: any of these together. */
enum {
    CROWD_BREAKER = 1,
    CROWD_THROTTLE = 2,
    CROWD_AIMD = 4,
    CROWD_RATE = 8,
    CROWD_BUDGET = 16,
    CROWD_SUBSETS = 32,
    CROWD_NO_RETRY = 32 /* the measure of all others: no gate, and nothing is tried again */
};

/* What befalls the service. */
enum {
    CROWD_REFUSED,     /* connections are refused at once */
    CROWD_LOST,        /* requests get lost */
    CROWD_FROZEN,      /* requests queue up; nothing is done before it thaws */
    CROWD_503,         /* said at once */
    CROWD_429,         /* said at once */
    CROWD_COSTLY_429,  /* said by a worker, after its 50 ms */
    CROWD_SLOW,        /* a worker takes ten times as long */
    CROWD_ONE_OF_FOUR, /* one of four servers is frozen */
    CROWD_SPIKE,       /* three times as many operations begin */
    CROWD_FAULTS
};

enum {
    CROWD_CLIENTS = 20,
    CROWD_NODES = 4,
    CROWD_WORK = 50,           /* ms */
    CROWD_WORKERS = 10,        /* of the one server */
    CROWD_WORKERS_OF_FOUR = 3, /* of each of the four */
    CROWD_QUEUE = 20,          /* requests that a server keeps for each worker; more are dropped */
    CROWD_QUEUE_MAX = CROWD_QUEUE * CROWD_WORKERS,
    CROWD_BIN = 200, /* ms; what is counted together */
    CROWD_BINS = 1000,
    CROWD_OPERATIONS = 8192, /* under way at once */
    CROWD_EVENTS = 32768,
    CROWD_RING = 4096 /* ms; events that are further ahead go round */
};

#define CROWD_NONE UINT32_MAX

typedef struct crowd_set {
    uint32_t clients;                   /* at most CROWD_CLIENTS */
    retry_ms timeout;                   /* ms; of an operation */
    retry_ms attempt_timeout;           /* ms */
    uint32_t utilisation;               /* % of the one server's workers, without retries */
    uint32_t length;                    /* ms of the fault */
    uint32_t slowness;                  /* times as long as usual, in CROWD_SLOW */
    uint32_t limit;                     /* the AIMD limits' max (0: what begins in one timeout) */
    uint32_t in_flight;                 /* operations of a client that a budget is for (0: those
                                           in flight at once while all is well) */
    const retry_strategy *strategy;     /* (NULL: best effort) */
    const retry_budget_options *budget; /* of a client (NULL: RETRY_BUDGET_BEST_EFFORT) */
} crowd_set;

/* Of the operations that began in a bin, or what happened in it. */
typedef struct crowd_bin {
    uint16_t begun, done;
    uint16_t sent, waiting; /* attempts; the longest queue */
    uint16_t open, throttled, paced, unpaid, expired;
} crowd_bin;

typedef struct crowd_to {
    retry_gates gates;
    retry_breaker breaker;
    retry_throttle throttle;
    retry_aimd aimd;
    retry_rate rate;
} crowd_to;

typedef struct crowd_client {
    retry_client client;
    retry_budget budget;
    crowd_to to[CROWD_NODES];
} crowd_client;

typedef struct crowd_operation {
    retry_request request;
    retry_attempt attempt;
    uint32_t serial; /* of its events: those with another one are out of date */
    uint32_t bin, next_free;
    uint8_t client, node;
} crowd_operation;

typedef struct crowd_job {
    uint32_t operation, serial;
} crowd_job;

typedef struct crowd_node {
    uint32_t busy, first, waiting;
    crowd_job queue[CROWD_QUEUE_MAX];
} crowd_node;

enum { CROWD_ARRIVES, CROWD_DUE, CROWD_WORKED, CROWD_ANSWERED, CROWD_TIMED_OUT, CROWD_THAWS };
enum { CROWD_SAYS_DONE, CROWD_SAYS_REFUSED, CROWD_SAYS_503, CROWD_SAYS_429, CROWD_SAYS_NOTHING };

typedef struct crowd_event {
    uint32_t next, operation, serial;
    uint8_t kind, node, says;
    uint32_t at; /* ms; it may be further than the ring is long */
} crowd_event;

typedef struct crowd {
    const crowd_set *set;
    dice arrivals, chance; /* the former has nothing to do with what clients do */
    uint32_t now;          /* ms */
    double next;           /* ms; when the next operation begins */
    uint32_t nodes, workers;
    uint32_t fault; /* CROWD_FAULTS: none yet */
    uint32_t from, to;
    uint32_t free_operation, free_event;
    uint32_t first[CROWD_RING], last[CROWD_RING]; /* the events of a millisecond */
    crowd_bin bins[CROWD_BINS];
    crowd_node node[CROWD_NODES];
    crowd_client clients[CROWD_CLIENTS];
    crowd_operation operations[CROWD_OPERATIONS];
    crowd_event events[CROWD_EVENTS];
    bool overrun; /* a table was full: the numbers are no good */
} crowd;

/* ---- Events -------------------------------------------------------------------------------- */

static void crowd_schedule(crowd *c, crowd_event event, uint32_t delay)
{
    uint32_t id = c->free_event;
    uint32_t slot = (c->now + (delay < CROWD_RING ? delay : CROWD_RING - 1)) % CROWD_RING;
    if (id == CROWD_NONE) {
        c->overrun = true;
        return;
    }
    c->free_event = c->events[id].next;
    event.next = CROWD_NONE;
    event.at = c->now + delay;
    c->events[id] = event;
    if (c->first[slot] == CROWD_NONE)
        c->first[slot] = id;
    else
        c->events[c->last[slot]].next = id;
    c->last[slot] = id;
}

static crowd_bin *crowd_bin_now(crowd *c)
{
    return &c->bins[c->now / CROWD_BIN < CROWD_BINS ? c->now / CROWD_BIN : CROWD_BINS - 1];
}

static bool crowd_suffers(const crowd *c, uint32_t node, uint32_t fault)
{
    return c->fault == fault && c->now >= c->from && c->now < c->to && node == 0;
}

static bool crowd_is_frozen(const crowd *c, uint32_t node)
{
    return crowd_suffers(c, node, CROWD_FROZEN) || crowd_suffers(c, node, CROWD_ONE_OF_FOUR);
}

/* ---- A server ------------------------------------------------------------------------------ */

static void crowd_answer(crowd *c, crowd_job job, uint8_t says)
{
    const crowd_event answer = {0, job.operation, job.serial, CROWD_ANSWERED, 0, says, 0};
    crowd_schedule(c, answer, 1);
}

/* A worker takes the first of the queue. */
static void crowd_work(crowd *c, uint32_t node)
{
    crowd_node *n = &c->node[node];
    crowd_job job = n->queue[n->first];
    bool slow = crowd_suffers(c, node, CROWD_SLOW);
    crowd_event worked = {0, job.operation, job.serial, CROWD_WORKED, (uint8_t)node, 0, 0};
    if (crowd_suffers(c, node, CROWD_COSTLY_429))
        worked.says = CROWD_SAYS_429;
    n->first = (n->first + 1) % CROWD_QUEUE_MAX;
    n->waiting--;
    n->busy++;
    crowd_schedule(c, worked, slow ? CROWD_WORK * c->set->slowness : CROWD_WORK);
}

static void crowd_work_on(crowd *c, uint32_t node)
{
    while (c->node[node].busy < c->workers && c->node[node].waiting > 0 &&
           !crowd_is_frozen(c, node))
        crowd_work(c, node);
}

/* A request reaches a server. */
static void crowd_take(crowd *c, uint32_t node, crowd_job job)
{
    crowd_node *n = &c->node[node];
    crowd_bin *bin = crowd_bin_now(c);
    if (crowd_suffers(c, node, CROWD_REFUSED)) {
        crowd_answer(c, job, CROWD_SAYS_REFUSED);
    } else if (crowd_suffers(c, node, CROWD_503)) {
        crowd_answer(c, job, CROWD_SAYS_503);
    } else if (crowd_suffers(c, node, CROWD_429)) {
        crowd_answer(c, job, CROWD_SAYS_429);
    } else if (!crowd_suffers(c, node, CROWD_LOST) && n->waiting < CROWD_QUEUE * c->workers) {
        n->queue[(n->first + n->waiting++) % CROWD_QUEUE_MAX] = job;
        crowd_work_on(c, node);
    }
    if (n->waiting > bin->waiting)
        bin->waiting = (uint16_t)n->waiting;
}

static void crowd_worked(crowd *c, const crowd_event *event)
{
    const crowd_job job = {event->operation, event->serial};
    if (crowd_is_frozen(c, event->node)) {
        crowd_schedule(c, *event, c->to - c->now);
        return;
    }
    crowd_answer(c, job, event->says);
    c->node[event->node].busy--;
    crowd_work_on(c, event->node);
}

/* ---- A client ------------------------------------------------------------------------------ */

static crowd_client *crowd_client_of(crowd *c, const crowd_operation *o)
{
    return &c->clients[o->client];
}

static void crowd_close(crowd *c, uint32_t id)
{
    c->operations[id].serial++;
    c->operations[id].next_free = c->free_operation;
    c->free_operation = id;
}

static void crowd_count(crowd_bin *bin, retry_decision answer)
{
    bin->paced = (uint16_t)(bin->paced + (answer.cause == RETRY_CAUSE_PACED));
    bin->open = (uint16_t)(bin->open + (answer.cause == RETRY_CAUSE_CIRCUIT_OPEN));
    bin->throttled = (uint16_t)(bin->throttled + (answer.cause == RETRY_CAUSE_THROTTLED));
    bin->unpaid = (uint16_t)(bin->unpaid + (answer.cause == RETRY_CAUSE_BUDGET_EXHAUSTED));
    bin->expired = (uint16_t)(bin->expired + (answer.verdict == RETRY_VERDICT_EXPIRE));
}

/* Another server than `node`: the others in turn, from any on. */
static uint8_t crowd_other(const crowd *c, uint32_t node, uint32_t turn)
{
    return (uint8_t)(c->nodes > 1 ? (node + 1 + turn % (c->nodes - 1)) % c->nodes : node);
}

/* Asks one server after the other. Another server than the one that was meant is paid for like a
   retry, as it gets load that is not its own. */
static retry_decision crowd_ask_nodes(crowd *c, crowd_operation *o)
{
    crowd_client *client = crowd_client_of(c, o);
    uint32_t meant = o->node, random = dice_bits(&c->chance) >> 8;
    retry_decision answer;
    for (uint32_t i = 0;; i++) {
        o->attempt.gates = &client->to[o->node].gates;
        answer = retry_attempt_ask(&o->attempt, &o->request, c->now);
        if (answer.verdict != RETRY_VERDICT_FAIL || i == c->nodes - 1 ||
            (client->client.budget && !retry_budget_withdraw(&client->budget, 1000, c->now)))
            break;
        o->node = crowd_other(c, meant, random + i);
    }
    if (answer.verdict == RETRY_VERDICT_FAIL || answer.verdict == RETRY_VERDICT_EXPIRE)
        retry_cancel(&o->request, c->now);
    return answer;
}

/* Begins a try, at the server that is meant or at another. */
static retry_decision crowd_begin(crowd *c, crowd_operation *o)
{
    if (c->nodes > 1)
        return crowd_ask_nodes(c, o);
    return retry_attempt_begin(&o->attempt, &o->request, c->now);
}

/* What an attempt's begin or end has answered. */
static void crowd_obey(crowd *c, uint32_t id, retry_decision answer)
{
    crowd_operation *o = &c->operations[id];
    crowd_bin *bin = crowd_bin_now(c);
    crowd_event event = {0, id, ++o->serial, CROWD_TIMED_OUT, 0, CROWD_SAYS_NOTHING, 0};
    const crowd_job job = {id, o->serial};
    crowd_count(bin, answer);
    switch (answer.verdict) {
    case RETRY_VERDICT_SEND:
        bin->sent++;
        crowd_schedule(c, event, o->attempt.timeout);
        crowd_take(c, o->node, job);
        break;
    case RETRY_VERDICT_RETRY:
        event.kind = CROWD_DUE;
        crowd_schedule(c, event, answer.delay);
        break;
    case RETRY_VERDICT_SUCCESS:
        c->bins[o->bin].done++;
        crowd_close(c, id);
        break;
    default: /* FAIL, EXPIRE */
        crowd_close(c, id);
    }
}

static void crowd_due(crowd *c, uint32_t id)
{
    crowd_obey(c, id, crowd_begin(c, &c->operations[id]));
}

/* An attempt has been answered, or its timer has fired. A retry goes to another server. */
static void crowd_answered(crowd *c, uint32_t id, uint8_t says)
{
    static const retry_failure late = {.reason = RETRY_REASON_ATTEMPT_TIMED_OUT, .timeout = true};
    crowd_operation *o = &c->operations[id];
    retry_failure failure = late;
    if (says == CROWD_SAYS_REFUSED)
        failure = retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_NODE_NOT_AVAILABLE);
    else if (says == CROWD_SAYS_503)
        failure = retry_classify_http(503, 0);
    else if (says == CROWD_SAYS_429)
        failure = retry_classify_http(429, 0);
    crowd_obey(c, id,
               retry_attempt_end(&o->attempt, &o->request,
                                 says == CROWD_SAYS_DONE ? NULL : &failure, c->now));
    o->node = crowd_other(c, o->node, dice_bits(&c->chance) >> 8);
}

/* ms between two operations, on average. */
static double crowd_gap(const crowd *c)
{
    double gap = CROWD_WORK * 100.0 / (CROWD_WORKERS * c->set->utilisation);
    return crowd_suffers(c, 0, CROWD_SPIKE) ? gap / 3 : gap;
}

/* An operation begins at some client. */
static void crowd_arrive(crowd *c)
{
    static const crowd_operation none;
    uint32_t id = c->free_operation, who = dice_bits(&c->arrivals);
    uint32_t serial;
    crowd_operation *o;
    if (id == CROWD_NONE) {
        c->overrun = true;
        return;
    }
    o = &c->operations[id];
    c->free_operation = o->next_free;
    serial = o->serial;
    *o = none;
    o->serial = serial;
    o->client = (uint8_t)((who >> 8) % c->set->clients);
    o->node = (uint8_t)(who % c->nodes);
    o->bin = c->now / CROWD_BIN;
    o->request.client = &crowd_client_of(c, o)->client;
    o->request.timeout = c->set->timeout;
    o->request.idempotent = true;
    crowd_bin_now(c)->begun++;
    retry_begin(&o->request, c->now);
    crowd_due(c, id);
}

/* ---- The course of events ------------------------------------------------------------------ */

/* All operations that begin within this millisecond. */
static void crowd_arrivals(crowd *c)
{
    const crowd_event next = {0, 0, 0, CROWD_ARRIVES, 0, 0, 0};
    while (c->next < c->now + 1.0) {
        crowd_arrive(c);
        c->next += dice_exponential(&c->arrivals, crowd_gap(c));
    }
    crowd_schedule(c, next, (uint32_t)c->next - c->now);
}

static void crowd_happen(crowd *c, crowd_event event)
{
    bool holds = event.kind == CROWD_ARRIVES || event.kind == CROWD_WORKED ||
                 event.kind == CROWD_THAWS || c->operations[event.operation].serial == event.serial;
    if (!holds)
        return;
    if (event.at > c->now) {
        crowd_schedule(c, event, event.at - c->now);
        return;
    }
    switch (event.kind) {
    case CROWD_ARRIVES:
        crowd_arrivals(c);
        break;
    case CROWD_DUE:
        crowd_due(c, event.operation);
        break;
    case CROWD_WORKED:
        crowd_worked(c, &event);
        break;
    case CROWD_THAWS:
        crowd_work_on(c, 0);
        break;
    default:
        crowd_answered(c, event.operation, event.says);
    }
}

/* Lets time pass until `end`. */
static void crowd_run(crowd *c, uint32_t end)
{
    for (; c->now < end; c->now++) {
        uint32_t *first = &c->first[c->now % CROWD_RING];
        while (*first != CROWD_NONE) { /* the list may grow meanwhile */
            uint32_t id = *first;
            crowd_event event = c->events[id];
            *first = event.next;
            c->events[id].next = c->free_event;
            c->free_event = id;
            crowd_happen(c, event);
        }
    }
}

/* The fault begins now. */
static void crowd_strike(crowd *c, uint32_t fault)
{
    const crowd_event thaws = {0, 0, 0, CROWD_THAWS, 0, 0, 0};
    c->fault = fault;
    c->from = c->now;
    c->to = c->now + c->set->length;
    crowd_schedule(c, thaws, c->set->length);
}

/* ---- Setting up ---------------------------------------------------------------------------- */

/* Operations of one client that begin in so many ms, on average, rounded up. */
static uint32_t crowd_begin_in(const crowd_set *set, uint32_t ms)
{
    uint32_t all = ms * CROWD_WORKERS * set->utilisation;
    uint32_t each = CROWD_WORK * set->clients * 100;
    return (all + each - 1) / each;
}

static void crowd_add_gates(crowd_to *to, uint32_t subset, uint32_t limit)
{
    to->aimd.max = limit;
    if (subset & CROWD_BREAKER)
        retry_gates_breaker(&to->gates, &to->breaker);
    if (subset & CROWD_THROTTLE)
        retry_gates_throttle(&to->gates, &to->throttle);
    if (subset & CROWD_AIMD)
        retry_gates_aimd(&to->gates, &to->aimd);
    if (subset & CROWD_RATE)
        retry_gates_rate(&to->gates, &to->rate);
}

static void crowd_add_client(crowd *c, crowd_client *client, uint32_t subset)
{
    uint32_t limit = c->set->limit, in_flight = c->set->in_flight;
    if (limit == 0)
        limit = crowd_begin_in(c->set, c->set->attempt_timeout);
    if (in_flight == 0)
        in_flight = crowd_begin_in(c->set, CROWD_WORK);
    const retry_budget_options fitting = RETRY_BUDGET_BEST_EFFORT(in_flight);
    client->client.strategy = c->set->strategy;
    client->client.random = dice_bits;
    client->client.random_context = &c->chance;
    client->client.attempt_timeout = c->set->attempt_timeout;
    client->client.gates = &client->to[0].gates;
    for (uint32_t node = 0; node < c->nodes && subset < CROWD_SUBSETS; node++)
        crowd_add_gates(&client->to[node], subset, limit);
    if (subset == CROWD_NO_RETRY)
        client->client.strategy = retry_fail_fast();
    if (subset & CROWD_BUDGET) {
        retry_budget_init(&client->budget, c->set->budget ? c->set->budget : &fitting, c->now);
        client->client.budget = &client->budget;
    }
}

/* A healthy crowd, at time 0. `four`: of four servers. */
static void crowd_begin_anew(crowd *c, const crowd_set *set, uint32_t subset, bool four,
                             uint32_t seed)
{
    const crowd_event first = {0, 0, 0, CROWD_ARRIVES, 0, 0, 0};
    memset(c, 0, sizeof *c);
    c->set = set;
    c->arrivals.state = seed;
    c->chance.state = ~(uint64_t)seed;
    c->nodes = four ? CROWD_NODES : 1;
    c->workers = four ? CROWD_WORKERS_OF_FOUR : CROWD_WORKERS;
    c->fault = CROWD_FAULTS;
    for (uint32_t i = 0; i < CROWD_OPERATIONS; i++)
        c->operations[i].next_free = i + 1 < CROWD_OPERATIONS ? i + 1 : CROWD_NONE;
    for (uint32_t i = 0; i < CROWD_EVENTS; i++)
        c->events[i].next = i + 1 < CROWD_EVENTS ? i + 1 : CROWD_NONE;
    memset(c->first, 0xff, sizeof c->first);
    for (uint32_t i = 0; i < set->clients; i++)
        crowd_add_client(c, &c->clients[i], subset);
    crowd_schedule(c, first, 0);
}

#endif /* STORM_CROWD_H */
