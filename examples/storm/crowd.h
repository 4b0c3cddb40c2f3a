/* crowd.h: a few clients of one service, simulated to the millisecond, each operation by way of
   retry.h's operations.

   Operations come at random, at a steady rate. Each is begun at one of the clients, which has a
   retry_client and, for each server, gates of its own. The service is one server of ten workers
   or, to see what failing over does, four servers of three. A worker takes 50 ms for a request,
   and works on those whose client has long gone, too, as it cannot know. Then a fault comes for
   some seconds. crowd_copy saves a game: each fault strikes the same healthy crowd. What else a
   service may be (servers behind a balancer, other queues, quotas, a gateway ...) and how else it
   may be called (bursts, pools, a process a call) is in crowd_set; its zeros are what is above. */
#ifndef STORM_CROWD_H
#define STORM_CROWD_H

#include "../../retry.h"
#include "random.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What protects the service: any of these together. */
enum {
    CROWD_BREAKER = 1,
    CROWD_THROTTLE = 2,
    CROWD_AIMD = 4,
    CROWD_RATE = 8,
    CROWD_BUDGET = 16,
    CROWD_SUBSETS = 32,
    CROWD_NO_RETRY = 32, /* the measure of all others: no gate, and nothing is tried again */
    CROWD_SERVICE = 64   /* the recommended client: each is a retry_service */
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
    CROWD_FAULTS,
    CROWD_OVERLOAD = CROWD_FAULTS, /* as many begin as 120 % of the workers can do */
    CROWD_TAIL,                    /* 5 % of the answers come 100 times as late */
    CROWD_RATED,                   /* 429 for what is above half of what the workers can do */
    CROWD_HALF,                    /* half of the workers are gone */
    CROWD_ALL_FAULTS,
    CROWD_WELL = CROWD_ALL_FAULTS, /* none of them */
    CROWD_PULSES,                  /* every other second twice as many begin */
    CROWD_TENTH,                   /* 503 for a tenth of the requests */
    CROWD_COLD,       /* it starts with a tenth of its workers, and has all at the end */
    CROWD_FLAPS,      /* every other second connections are refused */
    CROWD_ROLLING,    /* one server after the other is gone for a quarter of the time */
    CROWD_RESET,      /* connections are reset when the request has come */
    CROWD_COSTLY_503, /* said by a worker, after its 50 ms */
    CROWD_WARMS,      /* a worker takes ten times as long at first, and as usual at the end */
    CROWD_NOTHING
};

/* How long a worker takes. */
enum {
    CROWD_ALWAYS, /* the same */
    CROWD_EXPONENTIAL,
    CROWD_HEAVY_ATTEMPTS,  /* 2 s for one attempt in a hundred */
    CROWD_HEAVY_OPERATIONS /* the same for all attempts of one operation in a hundred */
};

/* Whom a server takes from its queue. */
enum {
    CROWD_FIFO,
    CROWD_LIFO,  /* the last, if the queue has not been empty for 100 ms */
    CROWD_CODEL, /* the first; 503 for who has waited for over 100 ms, or over 20 in that case */
    CROWD_LIFO_CODEL, /* both */
    CROWD_SHARED      /* all: each is worked on, by more than there are workers the slower */
};

enum {
    CROWD_NODES = 4,
    CROWD_SERVERS = 10,        /* behind a balancer, at most */
    CROWD_WORK = 50,           /* ms */
    CROWD_CUT_AFTER = 1000,    /* ms; the client of README.md has it, in fleets of any size */
    CROWD_WORKERS = 10,        /* of the one server */
    CROWD_WORKERS_OF_FOUR = 3, /* of each of the four */
    CROWD_QUEUE = 20,          /* requests that a server keeps for each worker: one second */
    CROWD_QUEUE_SHORT = 1,
    CROWD_HEAVY_WORK = 2000,      /* ms */
    CROWD_STANDS = 100,           /* ms after which a queue stands */
    CROWD_CODEL_STANDING = 20,    /* ms */
    CROWD_PAUSE = 1000,           /* ms of a pool's thread whose operation has failed */
    CROWD_GATEWAY_TIMEOUT = 2000, /* ms */
    CROWD_QUEUE_ENDLESS = 5000,
    CROWD_TAIL_LATE = 100 * CROWD_WORK, /* ms */
    CROWD_RATED_FOR = 100,              /* ms in which requests are counted */
    CROWD_BIN = 200,                    /* ms; what is counted together */
    CROWD_BINS = 1500,
    CROWD_OPERATIONS = 8192, /* under way at once, if the set does not say */
    CROWD_COPIES = 2,        /* of an attempt, with a hedge */
    CROWD_TOOK = 16384,      /* ms that operations may take */
    CROWD_EVENTS = 49152,
    CROWD_RING = 4096 /* ms; events that are further ahead go round */
};

#define CROWD_NONE UINT32_MAX

struct crowd;
struct crowd_client;

/* What stands before a client's attempts that retry.h does not have. */
typedef struct crowd_guard {
    bool (*ask)(struct crowd *c, struct crowd_client *client, bool retry); /* false: refused */
    void (*told)(struct crowd *c, struct crowd_client *client, bool retry, bool done,
                 uint32_t took); /* ms */
} crowd_guard;

typedef struct crowd_set {
    uint32_t clients;
    retry_ms timeout;                   /* ms; of an operation */
    retry_ms cut_after;                 /* ms */
    uint32_t utilisation;               /* % of the one server's workers, without retries */
    double gap;                         /* ms between operations (0: by the utilisation) */
    uint32_t far;                       /* ms that an answer takes besides (0: 1) */
    retry_ms retry_after;               /* ms that a 429 says (UINT32_MAX: until it is over) */
    bool prolongs;                      /* who is told 429 is so for the fault's length from now */
    bool deaf;                          /* clients do not hear what a 429 says */
    retry_ms hold_max;                  /* ms; of the service's limit */
    uint32_t tenants;                   /* 429 is for the operations of one of so many (0: all) */
    uint32_t length;                    /* ms of the fault */
    uint32_t slowness;                  /* times as long as usual, in CROWD_SLOW */
    uint32_t queue;                     /* requests that a server keeps for each worker */
    bool says_full;                     /* 503 at once if the queue is full; else: dropped */
    uint32_t initial;                   /* of the service's limit */
    uint32_t limit;                     /* the AIMD limits' max (0: what begins in one timeout) */
    uint32_t in_flight;                 /* operations of a client that a budget is for (0: those
                                           in flight at once while all is well) */
    retry_ms hedge;                     /* ms after which a second copy follows (0: none does) */
    const retry_strategy *strategy;     /* (NULL: best effort) */
    const retry_budget_options *budget; /* of a client (NULL: RETRY_BUDGET_BEST_EFFORT) */
    /* Sets up a client (NULL: the subset does). */
    void (*add)(struct crowd *c, struct crowd_client *client);
    const crowd_guard *guard; /* (NULL: none) */
    bool oracle;              /* an operation waits until a worker is free that will answer */
    /* The service. */
    uint32_t work;         /* ms that a worker takes, on average (0: CROWD_WORK) */
    uint8_t works, order;  /* how long it takes, whom it takes next */
    uint32_t workers;      /* of each server (0: ten, or three of each of four) */
    uint32_t servers;      /* behind a balancer: clients take them for one (0: none is) */
    bool least;            /* it takes who has the fewest requests (default: each in turn) */
    bool flaps, resets;    /* the fault comes every other second; who is gone resets what it had */
    uint32_t quota;        /* operations a second; 429 for others (0: any) */
    uint32_t quota_burst;  /* of them that it saves up */
    uint32_t quota_window; /* ms; `quota` is for each such time (0: a second, saved up) */
    uint32_t gateways;     /* processes that pass calls on (0: none) */
    bool gateway_retries;  /* they are README.md's client */
    /* Who calls it. */
    uint32_t spike;      /* times as many operations in CROWD_SPIKE (0: 3) */
    uint32_t burst;      /* operations that begin together (0: one) */
    uint32_t begins_for; /* ms; none begins later (0: for ever) */
    uint32_t pool;       /* threads, each with one operation after the other (0: by the gap) */
    bool fresh;          /* each operation is a process of its own */
    void (*add_other)(struct crowd *c, struct crowd_client *client); /* sets up every other client,
                                                     which is not counted (NULL: all are alike) */
    uint32_t operations; /* under way at once (0: CROWD_OPERATIONS) */
    uint32_t bin;        /* ms (0: CROWD_BIN) */
} crowd_set;

/* Of the operations that began in a bin, or what happened in it. */
typedef struct crowd_bin {
    uint16_t begun, done;
    uint16_t sent, waiting; /* attempts; the longest queue */
    uint16_t open, throttled, paced, unpaid, expired;
} crowd_bin;

/* Of the operations that began while the fault lasted. */
typedef struct crowd_met {
    uint32_t begun, done, expired;
    uint32_t possible;      /* those whose time suffices for an attempt after it */
    uint32_t longest;       /* ms until one was over */
    uint32_t sent, refused; /* attempts of whomever: while it lasted, and told 429 since it began */
} crowd_met;

typedef struct crowd_to {
    retry_breaker breaker;
    retry_throttle throttle;
    retry_aimd aimd;
    retry_rate rate;
} crowd_to;

typedef struct crowd_client {
    retry_service service; /* a subset of gates uses its client and budget only */
    retry_gates gates[CROWD_NODES];
    crowd_to to[CROWD_NODES];
    uint32_t refused_until; /* ms; for CROWD_429 that is prolonged */
    double guarded[9];      /* the guard's */
} crowd_client;

typedef struct crowd_job {
    uint32_t operation, serial;
    uint32_t since; /* ms; when it came */
    double work;    /* ms; of a shared server: what its clock shows when it is done */
} crowd_job;

typedef struct crowd_operation {
    retry_operation retry;
    retry_hedge hedge;
    retry_copy copies[CROWD_COPIES - 1];
    uint32_t serial;                  /* of its last event */
    uint32_t due, sent[CROWD_COPIES]; /* those of its timer and its copies: all others are out of
                                         date */
    uint32_t begun, next_free;
    uint32_t client, sent_at;
    uint32_t node;     /* the oracle's */
    uint32_t tenant;   /* 0: a 429 is for it */
    bool waits, asked; /* for the oracle; the guard has let its attempt pass */
    uint32_t number;   /* which of all that began */
    uint32_t server;   /* which got its last attempt */
    crowd_job caller;  /* for which a gateway began it; serial 0: it is no gateway's */
} crowd_operation;

typedef struct crowd_node {
    uint32_t busy, first, waiting;
    uint32_t counted_at, counted; /* in CROWD_RATED */
    uint32_t empty_at;            /* ms; when its queue was empty last */
    uint8_t lives;                /* times that it began anew */
    double clock, share;          /* ms that it has worked on each, if it is shared; in a ms */
    uint32_t clock_at, next;      /* ms; and the serial of its next event */
} crowd_node;

enum {
    CROWD_ARRIVES,
    CROWD_AGAIN,
    CROWD_DUE,
    CROWD_WORKED,
    CROWD_SHARED_WORKED,
    CROWD_ANSWERED,
    CROWD_CHANGES
};
enum {
    CROWD_SAYS_DONE,
    CROWD_SAYS_REFUSED,
    CROWD_SAYS_RESET,
    CROWD_SAYS_503,
    CROWD_SAYS_429,
    CROWD_SAYS_504
};

typedef struct crowd_event {
    uint32_t next, operation, serial;
    uint8_t kind, node, says, life;
    uint32_t at; /* ms; it may be further than the ring is long */
} crowd_event;

typedef struct crowd {
    const crowd_set *set;
    dice arrivals, chance; /* the former has nothing to do with what clients do */
    uint32_t now;          /* ms */
    double next;           /* ms; when the next operation begins */
    uint32_t subset, nodes, servers, workers, bin;
    uint32_t seed;
    uint32_t number, turn; /* operations begun, requests that a balancer passed on */
    double quota;          /* what is left of it */
    uint32_t quota_at;     /* ms; when that was counted */
    uint32_t fault;        /* CROWD_WELL: none yet */
    uint32_t from, to;
    crowd_met met;
    uint32_t free_operation, free_event;
    uint32_t first[CROWD_RING], last[CROWD_RING]; /* the events of a millisecond */
    crowd_bin bins[CROWD_BINS];
    uint32_t took[CROWD_TOOK]; /* operations done that took so many ms, since the fault began */
    crowd_node node[CROWD_SERVERS];
    bool overrun;                          /* a table was full: the numbers are no good */
    uint32_t game;                         /* which was begun */
    uint32_t operations_used, events_used; /* of the tables: what is behind was never touched */
    crowd_event events[CROWD_EVENTS];
    /* What is allocated stays where it is: pointers into it hold. */
    crowd_client *clients;
    crowd_operation *operations;
    crowd_job *jobs; /* the queues of all servers */
    uint32_t clients_max, operations_max, jobs_max;
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
    c->events_used = id >= c->events_used ? id + 1 : c->events_used;
    event.next = CROWD_NONE;
    event.at = c->now + delay;
    c->events[id] = event;
    if (c->first[slot] == CROWD_NONE)
        c->first[slot] = id;
    else
        c->events[c->last[slot]].next = id;
    c->last[slot] = id;
}

static crowd_bin *crowd_bin_at(crowd *c, uint32_t at)
{
    return &c->bins[at / c->bin < CROWD_BINS ? at / c->bin : CROWD_BINS - 1];
}

static crowd_bin *crowd_bin_now(crowd *c)
{
    return crowd_bin_at(c, c->now);
}

static bool crowd_is_odd_second(const crowd *c)
{
    return (c->now - c->from) / 1000 % 2 != 0;
}

static bool crowd_suffers(const crowd *c, uint32_t node, uint32_t fault)
{
    return c->fault == fault && c->now >= c->from && c->now < c->to && node == 0 &&
           (!c->set->flaps || !crowd_is_odd_second(c));
}

/* ms for which each server is gone, in CROWD_ROLLING. */
static uint32_t crowd_turn(const crowd *c)
{
    return (c->to - c->from) / c->servers;
}

/* Whether connections are refused. */
static bool crowd_is_gone(const crowd *c, uint32_t node)
{
    return crowd_suffers(c, node, CROWD_REFUSED) ||
           (crowd_suffers(c, node, CROWD_FLAPS) && !crowd_is_odd_second(c)) ||
           (crowd_suffers(c, 0, CROWD_ROLLING) && (c->now - c->from) / crowd_turn(c) == node);
}

static bool crowd_is_frozen(const crowd *c, uint32_t node)
{
    return crowd_suffers(c, node, CROWD_FROZEN) || crowd_suffers(c, node, CROWD_ONE_OF_FOUR);
}

/* ---- A server ------------------------------------------------------------------------------ */

static void crowd_answer(crowd *c, crowd_job job, uint8_t says)
{
    const crowd_event answer = {
        .kind = CROWD_ANSWERED, .operation = job.operation, .serial = job.serial, .says = says};
    bool late = crowd_suffers(c, 0, CROWD_TAIL) && dice_unit(&c->chance) < 0.05;
    crowd_schedule(c, answer, late ? CROWD_TAIL_LATE : 1 + c->set->far);
}

static uint32_t crowd_workers(const crowd *c, uint32_t node)
{
    if (crowd_suffers(c, node, CROWD_COLD))
        return 1 + (c->workers - 1) * (c->now - c->from) / (c->to - c->from);
    return crowd_suffers(c, node, CROWD_HALF) ? c->workers / 2 : c->workers;
}

/* Times as long as usual that a worker takes. */
static double crowd_slowness(const crowd *c, uint32_t node)
{
    if (crowd_suffers(c, node, CROWD_WARMS))
        return 1 + (c->set->slowness - 1.0) * (c->to - c->now) / (c->to - c->from);
    return crowd_suffers(c, node, CROWD_SLOW) ? c->set->slowness : 1;
}

/* ms of work that an attempt is: the same for whatever client sends it. */
static double crowd_work_of(const crowd *c, const crowd_operation *o)
{
    uint32_t work = c->set->work ? c->set->work : CROWD_WORK;
    uint32_t attempt = c->set->works == CROWD_HEAVY_OPERATIONS ? 0 : o->retry.retries;
    dice draw = {~c->seed + ((uint64_t)o->number << 8) + attempt};
    if (c->set->works == CROWD_ALWAYS)
        return work;
    if (c->set->works == CROWD_EXPONENTIAL)
        return floor(dice_exponential(&draw, work) + 0.5);
    return dice_unit(&draw) < 0.01 ? CROWD_HEAVY_WORK : work;
}

static uint32_t crowd_queue_size(const crowd *c)
{
    return c->set->queue * c->workers;
}

static crowd_job *crowd_queued(crowd *c, uint32_t node, uint32_t place)
{
    uint32_t size = crowd_queue_size(c);
    return &c->jobs[node * size + (c->node[node].first + place) % size];
}

/* Whether a request is above the rate: the server would be half busy. */
static bool crowd_is_above(crowd *c, uint32_t node)
{
    crowd_node *n = &c->node[node];
    if (c->now - n->counted_at >= CROWD_RATED_FOR) {
        n->counted_at = c->now;
        n->counted = 0;
    }
    return ++n->counted > c->workers * CROWD_RATED_FOR / CROWD_WORK / 2;
}

/* Whether a queue has not been empty for a while. */
static bool crowd_stands(const crowd *c, uint32_t node)
{
    return c->now - c->node[node].empty_at > CROWD_STANDS;
}

/* Takes the next from the queue. */
static crowd_job crowd_pick(crowd *c, uint32_t node)
{
    crowd_node *n = &c->node[node];
    bool lifo = c->set->order == CROWD_LIFO || c->set->order == CROWD_LIFO_CODEL;
    crowd_job job;
    if (lifo && crowd_stands(c, node)) {
        job = *crowd_queued(c, node, n->waiting - 1);
    } else {
        job = *crowd_queued(c, node, 0);
        n->first = (n->first + 1) % crowd_queue_size(c);
    }
    n->waiting--;
    return job;
}

static bool crowd_came_too_early(const crowd *c, uint32_t node, const crowd_job *job)
{
    bool codel = c->set->order == CROWD_CODEL || c->set->order == CROWD_LIFO_CODEL;
    return codel &&
           c->now - job->since > (crowd_stands(c, node) ? CROWD_CODEL_STANDING : CROWD_STANDS);
}

static void crowd_work(crowd *c, uint32_t node, crowd_job job)
{
    crowd_event worked = {.kind = CROWD_WORKED,
                          .operation = job.operation,
                          .serial = job.serial,
                          .node = (uint8_t)node};
    if (crowd_suffers(c, node, CROWD_COSTLY_429))
        worked.says = CROWD_SAYS_429;
    if (crowd_suffers(c, node, CROWD_COSTLY_503))
        worked.says = CROWD_SAYS_503;
    worked.life = c->node[node].lives;
    c->node[node].busy++;
    crowd_schedule(c, worked, (uint32_t)(job.work * crowd_slowness(c, node)));
}

static void crowd_work_on(crowd *c, uint32_t node)
{
    crowd_node *n = &c->node[node];
    while (n->busy < crowd_workers(c, node) && n->waiting > 0 && !crowd_is_frozen(c, node)) {
        crowd_job job = crowd_pick(c, node);
        if (crowd_came_too_early(c, node, &job))
            crowd_answer(c, job, CROWD_SAYS_503);
        else
            crowd_work(c, node, job);
        if (n->waiting == 0)
            n->empty_at = c->now;
    }
}

/* ---- A server that works on all at once ------------------------------------------------------ */

/* ms of work that it does for each in a ms. */
static double crowd_share(const crowd *c, uint32_t node)
{
    double busy = c->node[node].waiting, workers = crowd_workers(c, node);
    if (crowd_is_frozen(c, node))
        return 0;
    return (busy > workers ? workers / busy : 1) / crowd_slowness(c, node);
}

/* Its requests are a heap: who is done first is the first. Puts `job` into the place that is free.
 */
static void crowd_sift_up(crowd *c, uint32_t node, uint32_t place, crowd_job job)
{
    while (place > 0 && crowd_queued(c, node, (place - 1) / 2)->work > job.work) {
        *crowd_queued(c, node, place) = *crowd_queued(c, node, (place - 1) / 2);
        place = (place - 1) / 2;
    }
    *crowd_queued(c, node, place) = job;
}

/* Takes the first. */
static crowd_job crowd_take_first(crowd *c, uint32_t node)
{
    const crowd_job first = *crowd_queued(c, node, 0);
    const uint32_t left = --c->node[node].waiting;
    uint32_t place = 0;
    for (uint32_t next = 1; next < left; next = 2 * place + 1) {
        if (next + 1 < left &&
            crowd_queued(c, node, next + 1)->work < crowd_queued(c, node, next)->work)
            next++;
        *crowd_queued(c, node, place) = *crowd_queued(c, node, next);
        place = next;
    }
    crowd_sift_up(c, node, place, *crowd_queued(c, node, left));
    return first;
}

/* Those that are done are answered; when is the next one? */
static void crowd_share_on(crowd *c, uint32_t node)
{
    crowd_node *n = &c->node[node];
    crowd_event worked = {.kind = CROWD_SHARED_WORKED, .node = (uint8_t)node};
    while (n->waiting > 0 && crowd_queued(c, node, 0)->work <= n->clock)
        crowd_answer(c, crowd_take_first(c, node), CROWD_SAYS_DONE);
    n->share = crowd_share(c, node);
    worked.serial = ++n->next;
    if (n->waiting > 0 && n->share > 0)
        crowd_schedule(c, worked,
                       (uint32_t)ceil((crowd_queued(c, node, 0)->work - n->clock) / n->share));
}

/* Time has passed since the last change. */
static void crowd_share_clock(crowd *c, uint32_t node)
{
    crowd_node *n = &c->node[node];
    n->clock += (c->now - n->clock_at) * n->share;
    n->clock_at = c->now;
}

/* ---- What stands before a server ------------------------------------------------------------- */

static bool crowd_lasts(const crowd *c, uint32_t at)
{
    return c->fault != CROWD_WELL && at >= c->from && at < c->to;
}

/* ms; until when a client is told 429. */
static uint32_t crowd_refused_until(const crowd *c, uint32_t client)
{
    uint32_t until = c->clients[client].refused_until;
    return until > c->to ? until : c->to;
}

/* What is left of a quota now. */
static double crowd_quota_left(const crowd *c)
{
    uint32_t window = c->set->quota_window;
    double left = c->quota + (c->now - c->quota_at) / 1000.0 * c->set->quota;
    if (window)
        return c->now / window != c->quota_at / window ? c->set->quota : c->quota;
    return left < c->set->quota_burst ? left : c->set->quota_burst;
}

/* ms until a call is in the quota again, in whole seconds. */
static uint32_t crowd_quota_wait(const crowd *c)
{
    uint32_t window = c->set->quota_window;
    double wait =
        window ? window - c->now % window : (1 - crowd_quota_left(c)) * 1000 / c->set->quota;
    return wait > 0 ? (uint32_t)(wait / 1000 + 1) * 1000 : 0;
}

/* Whether a request is above a quota; if not, it takes its part. */
static bool crowd_is_over_quota(crowd *c)
{
    bool over;
    if (c->set->quota == 0)
        return false;
    c->quota = crowd_quota_left(c);
    c->quota_at = c->now;
    over = c->quota < 1;
    c->quota -= !over;
    return over;
}

/* Whether a request is answered 429. */
static bool crowd_refuses(crowd *c, uint32_t node, const crowd_operation *o)
{
    bool refuses = c->fault == CROWD_429 && node == 0 && o->tenant == 0 &&
                   c->now < crowd_refused_until(c, o->client);
    if (refuses && c->set->prolongs)
        c->clients[o->client].refused_until = c->now + c->set->length;
    refuses = refuses || (crowd_suffers(c, node, CROWD_RATED) && crowd_is_above(c, node)) ||
              crowd_is_over_quota(c);
    c->met.refused += refuses;
    return refuses;
}

/* Which server a balancer takes. */
static uint32_t crowd_balance(crowd *c)
{
    uint32_t first = c->turn++ % c->servers, taken = first;
    for (uint32_t i = 1; c->set->least && i < c->servers; i++) {
        const crowd_node *n = &c->node[(first + i) % c->servers], *least = &c->node[taken];
        if (n->busy + n->waiting < least->busy + least->waiting)
            taken = (first + i) % c->servers;
    }
    return taken;
}

/* A request is put into a server's queue. */
static void crowd_queue(crowd *c, uint32_t node, crowd_job job)
{
    crowd_node *n = &c->node[node];
    bool shared = c->set->order == CROWD_SHARED;
    if (shared)
        crowd_share_clock(c, node);
    if (n->waiting == 0)
        n->empty_at = c->now;
    job.since = c->now;
    job.work += n->clock; /* 0, if it is not shared */
    if (shared) {
        crowd_sift_up(c, node, n->waiting++, job);
        crowd_share_on(c, node);
    } else {
        *crowd_queued(c, node, n->waiting++) = job;
        crowd_work_on(c, node);
    }
}

/* A request reaches a server. */
static void crowd_take(crowd *c, uint32_t node, crowd_job job)
{
    crowd_node *n = &c->node[node];
    crowd_bin *bin = crowd_bin_now(c);
    c->operations[job.operation].server = node;
    c->met.sent += crowd_lasts(c, c->now);
    if (crowd_is_gone(c, node)) {
        crowd_answer(c, job, CROWD_SAYS_REFUSED);
    } else if (crowd_suffers(c, node, CROWD_503) ||
               (crowd_suffers(c, node, CROWD_TENTH) && dice_unit(&c->chance) < 0.1)) {
        crowd_answer(c, job, CROWD_SAYS_503);
    } else if (crowd_suffers(c, node, CROWD_RESET)) {
        crowd_answer(c, job, CROWD_SAYS_RESET);
    } else if (crowd_refuses(c, node, &c->operations[job.operation])) {
        crowd_answer(c, job, CROWD_SAYS_429);
    } else if (crowd_suffers(c, node, CROWD_LOST)) {
        return;
    } else if (n->waiting < crowd_queue_size(c)) {
        crowd_queue(c, node, job);
    } else if (c->set->says_full) {
        crowd_answer(c, job, CROWD_SAYS_503);
    } else if (c->set->queue == CROWD_QUEUE_ENDLESS) {
        c->overrun = true;
    }
    if (n->waiting > bin->waiting)
        bin->waiting = (uint16_t)n->waiting;
}

static void crowd_worked(crowd *c, const crowd_event *event)
{
    const crowd_job job = {.operation = event->operation, .serial = event->serial};
    if (event->life != c->node[event->node].lives)
        return;
    if (crowd_is_frozen(c, event->node)) {
        crowd_schedule(c, *event, c->to - c->now);
        return;
    }
    crowd_answer(c, job, event->says);
    c->node[event->node].busy--;
    crowd_work_on(c, event->node);
}

/* A server begins anew: what it had is reset. */
static void crowd_begin_server(crowd *c, uint32_t node)
{
    for (uint32_t id = 0; id < c->operations_used; id++) {
        const crowd_operation *o = &c->operations[id];
        const crowd_job job = {.operation = id, .serial = o->sent[0]};
        if (o->sent[0] != 0 && o->server == node)
            crowd_answer(c, job, CROWD_SAYS_RESET);
    }
    c->node[node].busy = c->node[node].waiting = 0;
    c->node[node].lives++;
}

/* Something is otherwise from now on. */
static void crowd_change(crowd *c)
{
    const crowd_event changes = {.kind = CROWD_CHANGES};
    uint32_t next = c->set->flaps ? 1000 : c->set->resets ? crowd_turn(c) : c->to - c->from;
    for (uint32_t node = 0; node < c->servers; node++) {
        if (c->set->resets && (crowd_is_gone(c, node) || crowd_suffers(c, node, CROWD_RESET)))
            crowd_begin_server(c, node);
        if (c->set->order == CROWD_SHARED) {
            crowd_share_clock(c, node);
            crowd_share_on(c, node);
        } else {
            crowd_work_on(c, node);
        }
    }
    if (c->now < c->to)
        crowd_schedule(c, changes, next);
}

/* ---- A client ------------------------------------------------------------------------------ */

/* Whether an operation is counted at all. */
static bool crowd_counts(const crowd *c, const crowd_operation *o)
{
    return o->caller.serial == 0 && (!c->set->add_other || o->client % 2 == 0);
}

/* Whether c->met counts an operation. */
static bool crowd_meets(const crowd *c, const crowd_operation *o)
{
    return crowd_counts(c, o) && crowd_lasts(c, o->begun) &&
           (c->set->tenants == 0 || o->tenant != 0);
}

static void crowd_close(crowd *c, uint32_t id, uint8_t verdict)
{
    crowd_operation *o = &c->operations[id];
    crowd_bin *bin = crowd_bin_at(c, o->begun);
    uint32_t took = c->now - o->begun;
    bool done = verdict == RETRY_VERDICT_SUCCESS;
    const crowd_event again = {.kind = CROWD_AGAIN, .operation = o->client};
    if (crowd_meets(c, o)) {
        c->met.done += done;
        c->met.expired += verdict == RETRY_VERDICT_EXPIRE;
        c->met.longest = took > c->met.longest ? took : c->met.longest;
    }
    bin->done = (uint16_t)(bin->done + (done && crowd_counts(c, o)));
    if (done && c->to != 0 && o->begun >= c->from)
        c->took[took < CROWD_TOOK ? took : CROWD_TOOK - 1]++;
    if (o->caller.serial != 0)
        crowd_answer(c, o->caller,
                     done                            ? CROWD_SAYS_DONE
                     : took >= CROWD_GATEWAY_TIMEOUT ? CROWD_SAYS_504
                                                     : CROWD_SAYS_503);
    else if (c->set->pool)
        crowd_schedule(c, again, done ? 1 : CROWD_PAUSE);
    memset(o->sent, 0, sizeof o->sent);
    o->due = 0;
    o->next_free = c->free_operation;
    c->free_operation = id;
}

static void crowd_count(crowd_bin *bin, const retry_step *step)
{
    bin->sent = (uint16_t)(bin->sent + (step->what == RETRY_DO_SEND));
    bin->paced = (uint16_t)(bin->paced + (step->cause == RETRY_CAUSE_PACED));
    bin->open = (uint16_t)(bin->open + (step->cause == RETRY_CAUSE_CIRCUIT_OPEN));
    bin->throttled = (uint16_t)(bin->throttled + (step->cause == RETRY_CAUSE_THROTTLED));
    bin->unpaid = (uint16_t)(bin->unpaid + (step->cause == RETRY_CAUSE_BUDGET_EXHAUSTED));
    bin->expired = (uint16_t)(bin->expired + (step->verdict == RETRY_VERDICT_EXPIRE));
}

/* The oracle: whether this server would answer at once. */
static bool crowd_serves(const crowd *c, uint32_t node)
{
    return !crowd_is_gone(c, node) && !crowd_is_frozen(c, node) &&
           !crowd_suffers(c, node, CROWD_503) && !crowd_suffers(c, node, CROWD_429) &&
           !crowd_suffers(c, node, CROWD_COSTLY_429) && !crowd_suffers(c, node, CROWD_LOST) &&
           (!crowd_suffers(c, node, CROWD_RATED) ||
            c->node[node].counted < c->workers * CROWD_RATED_FOR / CROWD_WORK / 2 ||
            c->now - c->node[node].counted_at >= CROWD_RATED_FOR) &&
           c->node[node].busy < crowd_workers(c, node);
}

/* Whether the oracle lets an operation begin; else it asks again, or the operation has failed. */
static bool crowd_oracle(crowd *c, uint32_t id)
{
    crowd_operation *o = &c->operations[id];
    const crowd_event event = {.kind = CROWD_DUE, .operation = id, .serial = ++o->serial};
    for (o->node = 0; o->node < c->nodes && !crowd_serves(c, o->node); o->node++) {
    }
    if (o->node < c->nodes) {
        o->waits = false;
        return true;
    }
    if (c->now - o->begun + CROWD_WORK >= c->set->timeout) {
        crowd_close(c, id, RETRY_VERDICT_EXPIRE);
        return false;
    }
    o->due = o->serial;
    crowd_schedule(c, event, 1 + dice_bits(&c->chance) % 10);
    return false;
}

/* Tells the guard what became of an attempt. */
static void crowd_tell(crowd *c, crowd_operation *o, bool done)
{
    if (o->asked)
        c->set->guard->told(c, &c->clients[o->client], o->retry.retries > 0, done,
                            c->now - o->sent_at);
    o->asked = false;
}

/* Whether the guard lets an attempt pass; else it has failed. */
static bool crowd_ask(crowd *c, crowd_operation *o)
{
    static const retry_failure held = {.reason = RETRY_REASON_CLIENT_THROTTLED};
    o->sent_at = c->now;
    if (!c->set->guard || o->caller.serial != 0)
        return true;
    o->asked = c->set->guard->ask(c, &c->clients[o->client], o->retry.retries > 0);
    if (o->asked)
        return true;
    crowd_bin_now(c)->sent--;
    retry_ended(&o->retry, 0, &held, c->now);
    return false;
}

static void crowd_pass_on(crowd *c, crowd_job job);

/* An attempt is sent. */
static void crowd_send(crowd *c, uint32_t id, uint32_t node)
{
    const crowd_operation *o = &c->operations[id];
    const crowd_job job = {id, o->serial, c->now, crowd_work_of(c, o)};
    if (c->set->gateways && o->caller.serial == 0)
        crowd_pass_on(c, job);
    else if (c->set->servers)
        crowd_take(c, crowd_balance(c), job);
    else
        crowd_take(c, c->set->oracle ? o->node : node, job);
}

/* Does what there is to do now. */
static void crowd_advance(crowd *c, uint32_t id)
{
    crowd_operation *o = &c->operations[id];
    if (o->waits && !crowd_oracle(c, id))
        return;
    for (;;) {
        const retry_step step = retry_next(&o->retry, c->now);
        const crowd_event event = {.kind = CROWD_DUE, .operation = id, .serial = ++o->serial};
        crowd_count(crowd_bin_now(c), &step);
        switch (step.what) {
        case RETRY_DO_SEND:
            if (!crowd_ask(c, o))
                break;
            o->sent[step.copy] = o->serial;
            crowd_send(c, id, step.node);
            break;
        case RETRY_DO_CANCEL:
            crowd_tell(c, o, false);
            o->sent[step.copy] = 0;
            break;
        case RETRY_DO_WAIT:
            o->due = o->serial;
            if (step.delay != UINT32_MAX)
                crowd_schedule(c, event, step.delay);
            return;
        default:
            crowd_close(c, id, step.verdict);
            return;
        }
    }
}

/* What a client hears. */
static retry_failure crowd_heard(const crowd *c, uint32_t client, uint8_t says)
{
    uint32_t until = crowd_refused_until(c, client);
    retry_ms after = c->set->deaf ? 0 : c->set->retry_after;
    if (after == UINT32_MAX) /* in whole seconds */
        after = c->set->quota    ? crowd_quota_wait(c)
                : c->now < until ? (until - c->now + 999) / 1000 * 1000
                                 : 0;
    if (says == CROWD_SAYS_REFUSED)
        return retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_NODE_NOT_AVAILABLE);
    if (says == CROWD_SAYS_RESET)
        return retry_classify_errno(ECONNRESET, true);
    if (says == CROWD_SAYS_504)
        return retry_classify_http(504, 0);
    return says == CROWD_SAYS_503 ? retry_classify_http(503, 0) : retry_classify_http(429, after);
}

/* A copy has been answered. */
static void crowd_answered(crowd *c, uint32_t id, uint32_t serial, uint8_t says)
{
    crowd_operation *o = &c->operations[id];
    unsigned copy = o->sent[0] != serial;
    const retry_failure failure = crowd_heard(c, o->client, says);
    o->sent[copy] = 0;
    crowd_tell(c, o, says == CROWD_SAYS_DONE);
    retry_ended(&o->retry, copy, says == CROWD_SAYS_DONE ? NULL : &failure, c->now);
    crowd_advance(c, id);
}

/* ms between two operations, on average. */
static double crowd_gap(const crowd *c)
{
    double gap =
        c->set->gap > 0 ? c->set->gap : CROWD_WORK * 100.0 / (CROWD_WORKERS * c->set->utilisation);
    if (crowd_suffers(c, 0, CROWD_OVERLOAD))
        return gap * c->set->utilisation / 120;
    if (crowd_suffers(c, 0, CROWD_PULSES) && !crowd_is_odd_second(c))
        return gap / 2;
    if (crowd_suffers(c, 0, CROWD_SPIKE))
        return gap / (c->set->spike ? c->set->spike : 3);
    return gap;
}

static void crowd_add_client(crowd *c, crowd_client *client);

/* An operation begins at a client. */
static void crowd_begin(crowd *c, uint32_t client, uint32_t tenant, const crowd_job *caller)
{
    static const crowd_operation none;
    uint32_t id = c->free_operation;
    uint32_t serial;
    crowd_operation *o;
    if (id == CROWD_NONE) {
        c->overrun = true;
        return;
    }
    o = &c->operations[id];
    c->free_operation = o->next_free;
    c->operations_used = id >= c->operations_used ? id + 1 : c->operations_used;
    serial = o->serial;
    *o = none;
    o->serial = serial;
    o->number = ++c->number;
    o->begun = c->now;
    o->client = c->set->fresh && !caller ? id : client;
    o->tenant = tenant;
    o->waits = c->set->oracle;
    if (caller)
        o->caller = *caller;
    if (c->set->fresh && !caller)
        crowd_add_client(c, &c->clients[id]);
    o->retry.client = &c->clients[o->client].service.client;
    o->retry.timeout = caller ? CROWD_GATEWAY_TIMEOUT : c->set->timeout;
    o->retry.idempotent = true;
    o->hedge.delay = c->set->hedge;
    o->hedge.copies = o->copies;
    o->hedge.count = CROWD_COPIES - 1;
    retry_hedge_copies(&o->retry, c->set->hedge ? &o->hedge : NULL);
    crowd_bin_now(c)->begun = (uint16_t)(crowd_bin_now(c)->begun + crowd_counts(c, o));
    c->met.begun += crowd_meets(c, o);
    c->met.possible += crowd_meets(c, o) && c->now + c->set->timeout > c->to + CROWD_WORK;
    retry_start(&o->retry, NULL, c->now);
    crowd_advance(c, id);
}

/* An operation begins at some client. */
static void crowd_arrive(crowd *c)
{
    uint32_t who = dice_bits(&c->arrivals);
    crowd_begin(c, (who >> 8) % c->set->clients,
                c->set->tenants ? (who & 255) % c->set->tenants : 0, NULL);
}

/* A gateway has got a call, and makes it. */
static void crowd_pass_on(crowd *c, crowd_job job)
{
    crowd_begin(c, c->set->clients + job.operation % c->set->gateways, 0, &job);
}

/* ---- The course of events ------------------------------------------------------------------ */

/* All operations that begin within this millisecond. */
static void crowd_arrivals(crowd *c)
{
    const crowd_event next = {.kind = CROWD_ARRIVES};
    const uint32_t burst = c->set->burst ? c->set->burst : 1;
    if (c->set->begins_for && c->now >= c->set->begins_for)
        return;
    while (c->next < c->now + 1.0) {
        for (uint32_t i = 0; i < burst; i++)
            crowd_arrive(c);
        c->next += burst * dice_exponential(&c->arrivals, crowd_gap(c));
    }
    crowd_schedule(c, next, (uint32_t)c->next - c->now);
}

/* Whether anybody waits for an event. */
static bool crowd_holds(const crowd *c, const crowd_event *event)
{
    const crowd_operation *o = &c->operations[event->operation];
    if (event->kind == CROWD_DUE)
        return o->due == event->serial;
    return event->kind != CROWD_ANSWERED || o->sent[0] == event->serial ||
           o->sent[1] == event->serial;
}

static void crowd_happen(crowd *c, crowd_event event)
{
    if (!crowd_holds(c, &event))
        return;
    if (event.at > c->now) {
        crowd_schedule(c, event, event.at - c->now);
        return;
    }
    switch (event.kind) {
    case CROWD_ARRIVES:
        crowd_arrivals(c);
        break;
    case CROWD_AGAIN:
        crowd_begin(c, event.operation, 0, NULL);
        break;
    case CROWD_DUE:
        crowd_advance(c, event.operation);
        break;
    case CROWD_WORKED:
        crowd_worked(c, &event);
        break;
    case CROWD_SHARED_WORKED:
        if (event.serial == c->node[event.node].next) {
            crowd_share_clock(c, event.node);
            crowd_share_on(c, event.node);
        }
        break;
    case CROWD_CHANGES:
        crowd_change(c);
        break;
    default:
        crowd_answered(c, event.operation, event.serial, event.says);
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
    c->fault = fault;
    c->from = c->now;
    c->to = c->now + c->set->length;
    memset(c->took, 0, sizeof c->took);
    memset(&c->met, 0, sizeof c->met);
    crowd_change(c);
}

/* ---- Setting up ---------------------------------------------------------------------------- */

/* Operations of one client that begin in so many ms, on average, rounded up. */
static uint32_t crowd_begin_in(const crowd_set *set, uint32_t ms)
{
    uint32_t all = ms * CROWD_WORKERS * set->utilisation;
    uint32_t each = CROWD_WORK * set->clients * 100;
    return (all + each - 1) / each;
}

static void crowd_add_gates(retry_gates *of, crowd_to *to, uint32_t subset, uint32_t limit)
{
    to->aimd.max = to->aimd.initial = limit;
    if (subset & CROWD_BREAKER)
        retry_gates_breaker(of, &to->breaker);
    if (subset & CROWD_THROTTLE)
        retry_gates_throttle(of, &to->throttle);
    if (subset & CROWD_AIMD)
        retry_gates_aimd(of, &to->aimd);
    if (subset & CROWD_RATE)
        retry_gates_rate(of, &to->rate);
}

static void crowd_add_subset(crowd *c, crowd_client *client, uint32_t subset)
{
    retry_client *with = &client->service.client;
    uint32_t limit = c->set->limit, in_flight = c->set->in_flight;
    if (limit == 0)
        limit = crowd_begin_in(c->set, c->set->cut_after);
    if (in_flight == 0)
        in_flight = crowd_begin_in(c->set, CROWD_WORK);
    const retry_budget_options fitting = RETRY_BUDGET_BEST_EFFORT(in_flight);
    with->strategy = subset == CROWD_NO_RETRY ? retry_fail_fast() : c->set->strategy;
    with->gates = client->gates;
    if (c->nodes > 1)
        retry_client_nodes(with, client->gates, (uint16_t)c->nodes);
    for (uint32_t node = 0; node < c->nodes; node++)
        crowd_add_gates(&client->gates[node], &client->to[node], subset, limit);
    if (subset & CROWD_BUDGET) {
        retry_budget_init(&client->service.budget, c->set->budget ? c->set->budget : &fitting,
                          c->now);
        with->budget = &client->service.budget;
    }
}

/* As README.md has it: with several nodes a limit for each. */
static void crowd_add_service(crowd *c, crowd_client *client)
{
    if (c->nodes > 1)
        retry_client_nodes(&client->service.client, client->gates, (uint16_t)c->nodes);
    client->service.limit.hold_max = c->set->hold_max;
    client->service.limit.initial = c->set->initial;
    if (c->set->budget)
        client->service.budget.options = *c->set->budget;
    retry_service_init(&client->service, c->now);
    for (uint32_t node = 0; node < c->nodes && c->nodes > 1; node++)
        crowd_add_gates(&client->gates[node], &client->to[node], CROWD_AIMD,
                        client->service.limit.max);
}

static void crowd_add_gateway(crowd *c, crowd_client *client)
{
    client->service.client.cut_after = c->set->gateway_retries ? CROWD_CUT_AFTER : 0;
    if (c->set->gateway_retries)
        crowd_add_service(c, client);
    else
        crowd_add_subset(c, client, CROWD_NO_RETRY);
}

static void crowd_add_client(crowd *c, crowd_client *client)
{
    uint32_t which = (uint32_t)(client - c->clients);
    memset(client, 0, sizeof *client);
    client->service.client.random = dice_bits;
    client->service.client.random_context = &c->chance;
    client->service.client.cut_after = c->set->cut_after;
    if (which >= c->set->clients)
        crowd_add_gateway(c, client);
    else if (c->set->add_other && which % 2 == 1)
        c->set->add_other(c, client);
    else if (c->set->add)
        c->set->add(c, client);
    else if (c->subset == CROWD_SERVICE)
        crowd_add_service(c, client);
    else
        crowd_add_subset(c, client, c->subset);
}

/* `count` of what has room for `*max`; what was there is not kept. */
static void *crowd_room(void *old, uint32_t *max, uint32_t count, size_t each)
{
    void *room = old;
    if (count <= *max)
        return old;
    free(old);
    room = calloc(count, each);
    if (!room) {
        fprintf(stderr, "not enough memory\n");
        exit(2);
    }
    *max = count;
    return room;
}

static uint32_t crowd_operations(const crowd_set *set)
{
    return set->operations ? set->operations : CROWD_OPERATIONS;
}

static void crowd_allocate(crowd *c, const crowd_set *set, uint32_t servers, uint32_t workers)
{
    c->clients = (crowd_client *)crowd_room(c->clients, &c->clients_max,
                                            set->clients + set->gateways, sizeof *c->clients);
    c->operations = (crowd_operation *)crowd_room(c->operations, &c->operations_max,
                                                  crowd_operations(set), sizeof *c->operations);
    c->jobs = (crowd_job *)crowd_room(c->jobs, &c->jobs_max, servers * workers * set->queue,
                                      sizeof *c->jobs);
}

/* The jobs that wait; where there is no job nothing is read. */
static void crowd_copy_jobs(crowd *to, crowd *from)
{
    for (uint32_t node = 0; node < from->servers; node++) {
        for (uint32_t i = 0; i < from->node[node].waiting; i++)
            *crowd_queued(to, node, i) = *crowd_queued(from, node, i);
    }
}

/* How many of a table's `all` are not equal in two states of one game, at most. */
static uint32_t crowd_touched(const crowd *to, const crowd *from, uint32_t a, uint32_t b,
                              uint32_t all)
{
    if (to->game != from->game)
        return all;
    return a > b ? a : b;
}

/* Saves a game, or takes it up again where it was saved from. */
static void crowd_copy(crowd *to, crowd *from)
{
    uint32_t operations, events;
    crowd_allocate(to, from->set, from->servers, from->workers);
    operations = crowd_touched(to, from, to->operations_used, from->operations_used,
                               crowd_operations(from->set));
    events = crowd_touched(to, from, to->events_used, from->events_used, CROWD_EVENTS);
    memcpy(to, from, offsetof(crowd, events));
    memcpy(to->events, from->events, events * sizeof *to->events);
    memcpy(to->clients, from->clients, from->set->clients * sizeof *to->clients);
    memcpy(to->operations, from->operations, operations * sizeof *to->operations);
    crowd_copy_jobs(to, from);
}

/* A healthy crowd, at time 0. `four`: of four servers. `c` was zeroed, or begun, before. */
static void crowd_begin_anew(crowd *c, const crowd_set *set, uint32_t subset, bool four,
                             uint32_t seed)
{
    static uint32_t games;
    const crowd_event first = {.kind = CROWD_ARRIVES};
    memset(c, 0, offsetof(crowd, clients));
    c->game = ++games;
    c->set = set;
    c->subset = subset;
    c->seed = seed;
    c->arrivals.state = seed;
    c->chance.state = ~(uint64_t)seed;
    c->nodes = four ? CROWD_NODES : 1;
    c->servers = set->servers ? set->servers : c->nodes;
    c->workers = set->workers ? set->workers : four ? CROWD_WORKERS_OF_FOUR : CROWD_WORKERS;
    c->bin = set->bin ? set->bin : CROWD_BIN;
    c->quota = set->quota_window ? set->quota : set->quota_burst;
    c->fault = CROWD_WELL;
    crowd_allocate(c, set, c->servers, c->workers);
    memset(c->operations, 0, c->operations_max * sizeof *c->operations);
    for (uint32_t i = 0; i < crowd_operations(set); i++)
        c->operations[i].next_free = i + 1 < crowd_operations(set) ? i + 1 : CROWD_NONE;
    for (uint32_t i = 0; i < CROWD_EVENTS; i++)
        c->events[i].next = i + 1 < CROWD_EVENTS ? i + 1 : CROWD_NONE;
    memset(c->first, 0xff, sizeof c->first);
    for (uint32_t i = 0; i < set->clients + set->gateways; i++)
        crowd_add_client(c, &c->clients[i]);
    if (set->pool == 0)
        crowd_schedule(c, first, 0);
    for (uint32_t i = 0; i < set->pool; i++) {
        const crowd_event thread = {.kind = CROWD_AGAIN, .operation = i % set->clients};
        crowd_schedule(c, thread, i);
    }
}

#endif /* STORM_CROWD_H */
