/* A walk that bytes choose through what an event loop, right or wrong, does with operations: it
   starts, polls, ends, stops and answers them, late, twice, and those of others. Beside the library
   goes a ledger, and REQUIRE, which the includer defines, holds what is true of any order of calls:

   - Each SEND gets one end or one CANCEL, and no number is sent again before that. The copy has the
     lowest number that is free; no more are sent in a try than there are.
   - Nothing but CANCELs, the lowest first, and then the same END for ever comes after the end, and
     the observer hears the end once, as END tells it.
   - A WAIT is for 1 ms at least, and when nothing happens nothing is due before.
   - A retry comes before the deadline, and when it was said to. A further copy comes after its
     delay, if none has failed.
   - An operation is ambiguous after a failure that may have taken effect, and after a CANCEL.
   - When all operations wait or are over, each node's in_flight is the copies that are on its wire.
   - What the budget holds is its capacity without the charges that were not given back. A charge
     stays with its operation until an attempt was sent that it pays for. Where time brings tokens
     it is no more than a base that refills by itself could hold: up to itself, and by no step of
     the clock.
   - While a server holds all back none is sent to it.
   - Nothing is sent that a breaker refuses, over a limit, or sooner than a rate allows. What a gate
     gave to a copy that was not sent goes back: a probe's place, a rate's token. A breaker hears of
     failures.
   - Who failed at a node, or has a copy there, goes to another that is well and has no gates. The
     first retry goes elsewhere at once, and for nothing, if a node is surely well, and not if none
     can be.

   Include retry.h, and define REQUIRE, before. With WALK_THREADS each thread walks with operations
   of its own. What they share is `walk`; threads cannot see what it holds at one instant, so that
   is checked when all have walked. */
#ifndef OPERATION_WALK_H
#define OPERATION_WALK_H

#include <string.h>

#include "../support/by_hand.h"
#include "../support/decide.h"
#include "../support/reasons.h"
#include "bytes.h"
#include "clock.h"

#define WALK_LONGEST_TURN (UINT32_C(1) << 20) /* ms; a rate's `wait` at most */
enum { WALK_OPERATIONS = 4, WALK_FURTHER = 3, WALK_CLIENTS = 4 };
enum { WALK_NODES = 4, WALK_SERVERS = WALK_NODES + 1 }; /* the last is the service's */

/* Under way; the observer has heard the end; END was handed out. */
enum { WALK_OPEN, WALK_OVER, WALK_TOLD };

struct walk_copy {
    bool wire;
    uint32_t server;
    uint64_t since; /* ms; when it was sent */
};

/* What the ledger knows of a try: of an attempt and its further copies. */
struct walk_try {
    uint32_t sent;
    uint32_t paid;   /* further copies that were paid for */
    uint64_t copied; /* ms; when the last was sent */
    bool failed;     /* a copy has */
    bool reached;    /* one of them reached the server */
    bool stopped;    /* an order not to retry has come */
};

/* What the ledger knows of an operation. */
struct walk_operation {
    retry_operation op;
    retry_hedge hedge;
    retry_copy copies[WALK_FURTHER];
    uint32_t further; /* copies that it may have beside number 0 */
    uint8_t where;
    bool settled;    /* the last step was WAIT or END, and nothing has happened since */
    bool cancelling; /* the last step was CANCEL */
    bool jumped;     /* the clock has since the start: who knows how long it waits */
    bool began;      /* a copy was sent since the start */
    bool trying;     /* a copy was sent since the last decision */
    struct walk_copy copy[1 + WALK_FURTHER];
    struct walk_try attempt;
    uint32_t charge;      /* what its retry cost, and may give back */
    bool delayed;         /* a retry was granted that has not been tried yet */
    uint64_t granted;     /* ms; when it was granted */
    retry_ms delay;       /* of it */
    bool owes;            /* it may wait for tokens */
    uint32_t failed;      /* a bit for each server that failed it */
    uint32_t failed_last; /* the last of them */
    uint32_t ending;      /* 1 + the server whose copy retry_ended tells of as failed; 0: none */
    decided end;
    retry_step last;
    uint64_t due; /* ms; when the last WAIT is over */
};

/* The bucket of a rate whose limit never changes, in ms. Each operation may keep one token for its
   try: `most` counts it as there until the try is sent. */
struct walk_bucket {
    int64_t spacing; /* from send to send; 0: no such rate */
    int64_t full, most;
    uint64_t at; /* as of then */
};

/* What the last reports of a node make of its limit's hold, as far as they are known for sure. */
struct walk_hold {
    uint32_t row;   /* throttled ones in a row that said until when */
    uint64_t least; /* ms; until when the shortest lasts that came since a copy was sent; 0: none */
    uint64_t until; /* ms; nothing is sent before */
};

/* What threads share. */
static struct {
    retry_client clients[WALK_CLIENTS - 1];
    retry_service service; /* of the last client */
    retry_budget budget;
    retry_gates gates[WALK_NODES];
    retry_breaker breakers[WALK_NODES];
    retry_throttle throttles[WALK_NODES];
    retry_aimd limits[WALK_NODES];
    retry_rate rates[WALK_NODES];
    retry_latency latencies[WALK_NODES];
    bool limited[WALK_SERVERS]; /* by `limits`, or the service's */
    bool open[WALK_SERVERS];    /* no gate refuses anything */
    uint32_t copy_cost;         /* as a retry after a timeout */
    bool exact;                 /* the ledger knows what the budget holds */
    bool based;                 /* it knows the most that it can hold: time brings a base */
    uint32_t clock;             /* ms, of all threads */
} walk;

/* What each thread has of its own. */
struct walker {
    struct walk_bucket buckets[WALK_NODES];
    struct walk_hold holds[WALK_SERVERS];
    bool ill[WALK_SERVERS];      /* the last copy there did not work */
    bool well[WALK_SERVERS];     /* of several nodes: surely its last attempt worked, or was none */
    bool sick[WALK_SERVERS];     /* it surely failed */
    uint64_t opened[WALK_NODES]; /* ms; when its breaker was seen last that was not closed */
    int64_t level; /* millionths; the most that a budget with a base can hold, less what is owed */
    retry_time seen;                    /* ms; until when time has been counted for that */
    bool refusing;                      /* the servers say 429 to all */
    bool nested;                        /* an observer or a strategy is at work */
    retry_breaker breakers[WALK_NODES]; /* as they were before this step */
    uint32_t spent;                     /* of the budget, by the ledger */
    bool jumped;                        /* the clock has stepped back, or went on for weeks */
    uint64_t steady;                    /* ms; since when it has not */
};

BYTES_OWN struct walk_operation walk_ops[WALK_OPERATIONS];
BYTES_OWN struct walker walker;
BYTES_OWN unsigned long walk_ends; /* operations that were over, of all walks */

/* A word that other threads change. */
#ifdef WALK_THREADS
#define WALK_LOAD(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
enum { WALK_ALONE = 0 };
#else
#define WALK_LOAD(word) (word)
enum { WALK_ALONE = 1 };
#endif

static retry_client *const walk_clients[] = {&walk.clients[0], &walk.clients[1], &walk.clients[2],
                                             &walk.service.client};

/* By server. */
static retry_gates *const walk_gates[] = {&walk.gates[0], &walk.gates[1], &walk.gates[2],
                                          &walk.gates[3], &walk.service.gates};
static retry_aimd *const walk_limits[] = {&walk.limits[0], &walk.limits[1], &walk.limits[2],
                                          &walk.limits[3], &walk.service.limit};

/* Smaller numbers more often. */
static uint32_t walk_ms(void)
{
    uint8_t first = byte();
    if (first < 0xc0)
        return first;
    return first < 0xf0 ? (first & 0x0fu) * 256 + 1 : hostile();
}

static struct walk_operation *walk_find(const retry_operation *op)
{
    uint32_t i = 0;
    while (i < WALK_OPERATIONS - 1 && op != &walk_ops[i].op)
        i++;
    REQUIRE(op == &walk_ops[i].op);
    return &walk_ops[i];
}

/* Something has happened to it: it is to be polled. */
static void walk_touch(struct walk_operation *w)
{
    w->settled = w->settled && w->where == WALK_TOLD;
}

/* ---- the budget ---------------------------------------------------------------------------- */

/* How many nodes its client has, if there are several. */
static uint32_t walk_nodes(const retry_operation *op)
{
    return op->client->nodes > 1 ? op->client->nodes : 0;
}

/* Strategies wait here for 1 ms at least: only who goes elsewhere does not. */
static bool walk_elsewhere(const retry_operation *op, const retry_failure *failure)
{
    return walk_nodes(op) != 0 && op->delay == 0 && !failure->pushback;
}

static bool walk_pays(const struct walk_operation *w)
{
    return (walk.exact || walk.based) && w->op.client->budget == &walk.budget;
}

static uint32_t walk_cost(const retry_failure *failure)
{
    const retry_budget_options *options = &walk.budget.options;
    uint32_t cost = 0;
    if ((failure_unsent(failure) && !reason_refused(failure->reason)) ||
        failure->reason == RETRY_REASON_USER(1, RETRY_REASON_FREE))
        return 0;
    if (failure->timeout)
        cost = options->timeout_cost;
    else if (failure->throttle)
        cost = options->throttle_cost;
    if (failure->retry_after != 0 && !failure->timeout && cost > options->retry_cost)
        return options->retry_cost; /* the server said when */
    return cost ? cost : options->retry_cost;
}

/* The most that a retry costs. */
static uint32_t walk_dearest(const retry_budget_options *options)
{
    uint32_t cost = options->retry_cost;
    cost = cost > options->timeout_cost ? cost : options->timeout_cost;
    return cost > options->throttle_cost ? cost : options->throttle_cost;
}

/* Millionths. */
static int64_t walk_base(void)
{
    const retry_budget_options *options = &walk.budget.options;
    const uint32_t base = walk_dearest(options);
    return (int64_t)1000 * (base < options->capacity ? base : options->capacity);
}

/* What a retry that waits for it costs, if that is less: never after a time-out. */
static uint32_t walk_owed_cost(const retry_failure *failure)
{
    const retry_budget_options *options = &walk.budget.options;
    uint32_t cost = walk_cost(failure);
    return walk.based && !failure->timeout && options->retry_cost != 0 && options->retry_cost < cost
               ? options->retry_cost
               : cost;
}

/* Whether it may wait for tokens: the decision has left less than its price. Then it looks each
   second whether they are there, and pays. */
static bool walk_may_owe(const retry_operation *op)
{
    const retry_budget *budget = op->client->budget;
    if (!budget || budget->options.base_per_second == 0)
        return false;
    return !WALK_ALONE || budget->options.floor != 0 ||
           retry_budget_balance(budget) < walk_dearest(&budget->options);
}

/* `least`: what that costs at least, if it is owed. A base may be. */
static void walk_spend(uint32_t cost, uint32_t least)
{
    walker.spent += cost;
    if (!walk.based || !WALK_ALONE)
        return;
    walker.level -= (int64_t)least * 1000;
    REQUIRE(walker.level >= -walk_base());
}

static void walk_earn(uint32_t cost)
{
    REQUIRE(walker.spent >= cost);
    walker.spent -= cost;
    walker.level += (int64_t)cost * 1000;
}

/* Time goes on where it has not been yet, by what 32 bits tell of it; a clock that was set back
   begins anew, and brings nothing. */
static void walk_earn_base(void)
{
    const retry_budget_options *options = &walk.budget.options;
    const uint64_t range = UINT64_C(1) << 32, passed = (range + instant() - walker.seen) % range;
    const int64_t held = retry_budget_balance(&walk.budget) * INT64_C(1000);
    const int64_t most = held > walk_base() ? held : walk_base(); /* what is owed is paid first */
    if (passed <= range / 2 && walker.level < most) {
        const uint64_t brought = passed * options->base_per_second;
        walker.level =
            brought < (uint64_t)(most - walker.level) ? walker.level + (int64_t)brought : most;
    }
    if (passed < range - 32768)
        walker.seen = instant();
}

/* The try is over: what its retry cost stays paid if a copy reached the server. */
static void walk_settle(struct walk_operation *w, const retry_failure *failure)
{
    if (w->attempt.reached || !failure_unsent(failure))
        w->charge = 0;
    w->trying = false;
}

/* ---- copies in flight ---------------------------------------------------------------------- */

/* The lowest number that is on the wire, or is free; behind the last there is none. */
static uint32_t walk_lowest(const struct walk_operation *w, bool wire)
{
    uint32_t i = 0;
    while (i <= WALK_FURTHER && w->copy[i].wire != wire)
        i++;
    return i;
}

static bool walk_on_wire(const struct walk_operation *w)
{
    return walk_lowest(w, true) <= WALK_FURTHER;
}

/* With nothing on the wire no probe keeps a place from the next; unless the clock has jumped, to
   which a probe may have been silent for too long. */
static void walk_check_probe(retry_breaker breaker)
{
    if (!walker.jumped && breaker.probes < 2 &&
        retry_breaker_state(&breaker, instant()) == RETRY_BREAKER_HALF_OPEN)
        REQUIRE(retry_breaker_ask(&breaker, true, instant()).granted);
}

/* When all wait or are over, in_flight is what is on the wire, of all threads; at no time is it
   more, nor over what the limit may ever be. */
static void walk_check_flight(void)
{
    uint32_t wires[WALK_SERVERS] = {0}, i, n;
    bool settled = true;
    for (i = 0; i < WALK_OPERATIONS; i++) {
        const struct walk_operation *w = &walk_ops[i];
        settled = settled && w->settled;
        for (n = 0; w->op.client->gates && n <= WALK_FURTHER; n++)
            wires[w->copy[n].server] += w->copy[n].wire;
    }
    for (n = 0; n < WALK_SERVERS; n++) {
        uint32_t in_flight = WALK_LOAD(walk_gates[n]->in_flight);
        REQUIRE(!walk.limited[n] || in_flight <= walk_limits[n]->max);
        if (WALK_ALONE)
            REQUIRE(in_flight <= wires[n]);
        if (settled)
            REQUIRE(WALK_ALONE ? in_flight == wires[n] : in_flight >= wires[n]);
        if (settled && WALK_ALONE && n < WALK_NODES && wires[n] == 0)
            walk_check_probe(walk.breakers[n]);
    }
}

/* After each call. */
static void walk_check(void)
{
    uint32_t balance = retry_budget_balance(&walk.budget), n;
    REQUIRE(balance <= walk.budget.options.capacity);
    if (WALK_ALONE && walk.exact)
        REQUIRE(balance == walk.budget.options.capacity - walker.spent);
    if (WALK_ALONE && walk.based)
        REQUIRE(balance * INT64_C(1000) <= walker.level + walk_base() + 999);
    walk_check_flight();
    for (n = 0; n < WALK_NODES; n++) {
        if (retry_breaker_state(&walk.breakers[n], instant()) != RETRY_BREAKER_CLOSED)
            walker.opened[n] = now;
    }
}

/* ---- what the gates may let pass ----------------------------------------------------------- */

static void walk_count_send(struct walk_bucket *bucket)
{
    int64_t most = bucket->full + WALK_OPERATIONS * bucket->spacing;
    if (now > bucket->at)
        bucket->most += (int64_t)(now - bucket->at);
    bucket->at = now;
    bucket->most = (bucket->most < most ? bucket->most : most) - bucket->spacing;
    REQUIRE(bucket->most >= 0);
}

/* The breakers before a step; threads may not copy what others change. */
static void walk_look(void)
{
    if (WALK_ALONE)
        memcpy(walker.breakers, walk.breakers, sizeof walk.breakers);
}

/* ms until the rate of the first node lets another pass. */
static retry_ms walk_rate_wait(void)
{
    retry_rate rate = walk.rates[0];
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    rate.wait = WALK_LONGEST_TURN - 1;
    retry_gates_rate(&gates, &rate);
    return by_hand_ask(&gates, 0, instant()).delay;
}

/* Whether it waits for an instant that the rate of the first node keeps for it. */
static bool walk_keeps(const struct walk_operation *w)
{
    return WALK_ALONE && !walker.jumped && w->settled && w->where == WALK_OPEN &&
           w->last.what == RETRY_DO_WAIT && w->last.cause == RETRY_CAUSE_PACED &&
           w->due == now + w->last.delay && w->op.client->gates == walk.gates &&
           w->op.client->nodes == 0 && !walk.limited[0] && walker.buckets[0].spacing != 0;
}

/* It comes last of several nodes: a copy failed there, or is there now. */
static bool walk_comes_last(const struct walk_operation *w, uint32_t node, uint32_t copy)
{
    uint32_t n;
    for (n = 0; n <= WALK_FURTHER; n++) {
        if (n != copy && w->copy[n].wire && w->copy[n].server == node)
            return true;
    }
    return w->failed != 0 && w->failed_last == node;
}

static void walk_check_node(const struct walk_operation *w, const retry_step *step)
{
    uint32_t n;
    if (w->op.client->nodes == 0 || !walk_comes_last(w, step->node, step->copy))
        return;
    for (n = 0; n < w->op.client->nodes; n++)
        REQUIRE(!walk.open[n] || walker.ill[n] || (w->failed >> n & 1) != 0 ||
                walk_comes_last(w, n, step->copy));
}

/* A copy was sent: its gates let it pass. */
static void walk_passed(const struct walk_operation *w, const retry_step *step)
{
    const retry_client *client = w->op.client;
    uint32_t server = w->copy[step->copy].server;
    bool may_probe = w->op.retries == 0 ||
                     (client->cut_after != 0 && retry_left(&w->op, instant()) >= client->cut_after);
    if (!client->gates)
        return;
    walk_check_node(w, step);
    REQUIRE(walker.holds[server].until <= now);
    walker.holds[server].least = 0;
    if (walk.limited[server])
        REQUIRE(walk_gates[server]->in_flight <= retry_aimd_limit(walk_limits[server]));
    if (server == WALK_NODES)
        return;
    walk_count_send(&walker.buckets[server]);
    REQUIRE(retry_breaker_ask(&walker.breakers[server], may_probe, instant()).granted);
}

/* ---- those who are told, and may call back ------------------------------------------------- */

/* What a rate keeps for it goes back, if that is the last instant that was taken. */
static void walk_stop(struct walk_operation *w)
{
    bool keeps = walk_keeps(w);
    retry_ms wait = keeps ? walk_rate_wait() : 0;
    walk_touch(w);
    retry_stop(&w->op, instant());
    if (keeps && wait <= w->last.delay + walker.buckets[0].spacing)
        REQUIRE(walk_rate_wait() < wait);
}

static void walk_call_back(struct walk_operation *w)
{
    uint8_t what = byte();
    if (walker.nested || what < 0xf0)
        return;
    walker.nested = true;
    walk_stop(what < 0xfb ? w : &walk_ops[below(WALK_OPERATIONS)]);
    walk_look();
    walker.nested = false;
}

/* The first retry, as the only copy has failed: does it go elsewhere if it should? */
static void walk_check_elsewhere(const struct walk_operation *w, const retry_failure *failure)
{
    bool elsewhere = walk_elsewhere(&w->op, failure), sure = false, possible = false;
    uint32_t n;
    REQUIRE(!elsewhere || w->op.retries == 1);
    if (!WALK_ALONE || w->further != 0 || w->ending == 0 || w->op.retries != 1 || failure->pushback)
        return;
    for (n = 0; n < walk_nodes(&w->op); n++) {
        sure = sure || (n != w->ending - 1 && walker.well[n]);
        possible = possible || (n != w->ending - 1 && !walker.sick[n]);
    }
    REQUIRE(!sure || elsewhere);
    REQUIRE(possible || !elsewhere);
}

static void walk_observe(void *context, const retry_operation *op, const retry_failure *failure)
{
    struct walk_operation *w = walk_find(op);
    REQUIRE(context == &walk);
    REQUIRE(w->where == WALK_OPEN); /* nothing is heard after the end */
    walk_touch(w);
    if (op->cause == RETRY_CAUSE_PUSHBACK && walk_on_wire(w))
        w->attempt.reached = true; /* the last has timed out: its CANCEL is to come */
    if (failure)
        walk_settle(w, failure);
    if (op->verdict == RETRY_VERDICT_RETRY) {
        REQUIRE(failure != NULL);
        REQUIRE(op->delay < retry_left(op, instant()));
        w->delayed = true;
        w->granted = now;
        w->delay = op->delay;
        w->owes = op->cause == RETRY_CAUSE_STRATEGY && walk_may_owe(op);
        walk_check_elsewhere(w, failure);
        if (op->cause == RETRY_CAUSE_STRATEGY && walk_pays(w) && w->charge == 0) {
            w->charge = walk_elsewhere(op, failure) ? 0 : walk_cost(failure);
            walk_spend(w->charge, w->charge == 0 ? 0 : walk_owed_cost(failure));
        }
    } else {
        REQUIRE(op->verdict != RETRY_VERDICT_SUCCESS || !op->ambiguous);
        if (op->verdict != RETRY_VERDICT_SUCCESS && walk_pays(w))
            walk_earn(w->charge);
        w->charge = 0;
        w->where = WALK_OVER;
        w->end = decided_of(op);
        walk_ends++;
    }
    walk_call_back(w);
}

/* A strategy of one's own. The charge of the retry that failed does not go back, if it answers
   later. */
static retry_action walk_after(const retry_strategy *self, const retry_operation *op,
                               const retry_failure *failure, retry_time time)
{
    uint8_t what = byte() % 8;
    (void)self;
    (void)time;
    walk_settle(walk_find(op), failure);
    if (what == 0)
        return retry_action_none((uint8_t)below(RETRY_CAUSE_COUNT));
    return what < 3 ? retry_action_pending()
                    : retry_action_after(walk_ms() | (walk_nodes(op) != 0));
}

static const retry_strategy walk_own = {walk_after};

/* ---- setting up ---------------------------------------------------------------------------- */

static void walk_set_up_budget(void)
{
    uint8_t kind = byte();
    retry_budget_options options;
    memset(&options, 0, sizeof options);
    walk.exact = kind % 4 < 2;
    walk.based = kind % 8 == 3;
    options.capacity = kind & 4 ? 4000000000u : below(20) * 500;
    options.retry_cost = kind & 8 ? 1000 : below(4) * 250;
    options.timeout_cost = kind & 16 ? 1700 : 0;
    options.throttle_cost = kind & 32 ? 300 : 0;
    options.floor = kind & 64 ? 700 : 0;
    if (!walk.exact) { /* else nothing comes in but what was charged */
        options.base_per_second = walk_ms();
        options.expire = kind & 128 ? walk_ms() % 64 : 0; /* in steps of 1 ms */
    }
    if (!walk.exact && !walk.based) {
        options.success_deposit = hostile();
        options.request_deposit = chance(2) ? hostile() : 0;
        options.refill_per_second = chance(2) ? hostile() : 0;
        options.refund_last = chance(2);
        options.charge_failures = chance(2);
    }
    walk.copy_cost = options.timeout_cost ? options.timeout_cost : options.retry_cost;
    retry_budget_init(&walk.budget, &options, instant());
}

static void walk_set_up_node(uint32_t n)
{
    uint8_t which = n != 0 && chance(2) ? 0 : byte(), how = byte();
    walk.open[n] = (which & 15) == 0;
    if (which & 1) {
        walk.breakers[n].in_a_row = (uint16_t)(1 + (how & 7));
        walk.breakers[n].open = how & 8 ? 100 : walk_ms();
        walk.breakers[n].probes = how & 16 ? 2 : 0;
        walk.breakers[n].probe_timeout = how & 32 ? 1 : 0;
        retry_gates_breaker(&walk.gates[n], &walk.breakers[n]);
    }
    if (which & 2) {
        walk.throttles[n].k = how & 8 ? RETRY_RATIO(1.1) : 0;
        retry_gates_throttle(&walk.gates[n], &walk.throttles[n]);
    }
    if (which & 4) {
        walk.limits[n].max = 1u + (how & 3u);
        walk.limits[n].cooldown = how & 64 ? walk_ms() : 0;
        walk.limits[n].hold_max = how & 128 ? walk_ms() % (WALK_LONGEST_TURN / 2) : 0;
        walk.limited[n] = true;
        retry_gates_aimd(&walk.gates[n], &walk.limits[n]);
    }
    if (which & 8) {
        walk.rates[n].max = how & 4 ? 1000 : how & 8 ? hostile() : 20000;
        walk.rates[n].min = how & 16 ? walk.rates[n].max : 0;
        walk.rates[n].wait = how & 128 ? walk_ms() % WALK_LONGEST_TURN : 2000;
        walk.rates[n].burst = how & 32 ? UINT32_C(1000) * (1u + (how & 3u)) : 0;
        retry_gates_rate(&walk.gates[n], &walk.rates[n]);
    }
    walk.latencies[n].min_samples = 1;
    retry_gates_latency(&walk.gates[n], &walk.latencies[n]);
}

/* One client with several nodes, one with the first of them, one without gates, and a service. */
static void walk_set_up_clients(void)
{
    uint32_t i;
    for (i = 0; i < WALK_CLIENTS; i++) {
        retry_client *client = walk_clients[i];
        uint8_t how = byte();
        client->budget = how & 1 ? &walk.budget : NULL;
        client->observe = walk_observe;
        client->observe_context = &walk;
        client->always_interval = how & 2 ? walk_ms() : 0;
        client->cut_after = how & 4 ? 1 + walk_ms() % 1000 : 0;
        client->attempt_timeout = how & 8 ? 1 + walk_ms() % 1000 : 0;
        client->gates = i < 2 ? walk.gates : NULL;
    }
    retry_client_nodes(&walk.clients[0], walk.gates, (uint16_t)below(WALK_NODES + 1));
    walk.service.limit.max = 1 + below(4);
    walk.limited[WALK_NODES] = true;
    retry_service_init(&walk.service, instant());
}

/* What threads share; before they walk. */
static void walk_set_up(void)
{
    uint32_t n;
    memset(&walk, 0, sizeof walk);
    clock_start();
    walk.clock = instant();
    retry_seed(word());
    walk_set_up_budget();
    for (n = 0; n < WALK_NODES; n++)
        walk_set_up_node(n);
    walk_set_up_clients();
}

/* What a thread has of its own. */
static void walk_begin(void)
{
    uint32_t n;
    memset(walk_ops, 0, sizeof walk_ops);
    memset(&walker, 0, sizeof walker);
    now = UINT64_C(0x500000000) + WALK_LOAD(walk.clock);
    walker.steady = now;
    walker.seen = instant();
    walker.level = retry_budget_balance(&walk.budget) * INT64_C(1000);
    for (n = 0; n < WALK_NODES; n++) {
        struct walk_bucket *bucket = &walker.buckets[n];
        const retry_rate *rate = &walk.rates[n];
        walker.well[n] = walk.breakers[n].in_a_row == 0;
        if ((rate->max == 1000 || rate->max == 20000) && rate->max == rate->min)
            bucket->spacing = (int64_t)(1000000 / rate->max);
        bucket->full = bucket->spacing > 125 ? bucket->spacing : 125;
        if (rate->burst != 0)
            bucket->full = bucket->spacing * rate->burst / 1000;
        bucket->most = bucket->full;
        bucket->at = now;
    }
}

/* ---- calls --------------------------------------------------------------------------------- */

/* Ignored while it is under way, or CANCELs are due. */
static void walk_hedge(struct walk_operation *w)
{
    uint8_t how = byte();
    bool none = how % 8 == 0;
    if (w->where == WALK_TOLD) {
        w->hedge.count = (uint8_t)(1 + below(WALK_FURTHER));
        w->hedge.copies = how % 8 > 1 ? w->copies : NULL;
        w->hedge.delay = how & 8 ? walk_ms() | 1 : 0;
        w->hedge.latency = how & 16 ? &walk.latencies[0] : NULL;
        w->further = none || !w->hedge.copies ? 0 : w->hedge.count;
    } else if (w->where == WALK_OVER) {
        return; /* who knows whether CANCELs are due */
    }
    retry_hedge_copies(&w->op, none ? NULL : &w->hedge);
}

/* One that is over gets other settings; one that is under way is abandoned. */
static void walk_start(struct walk_operation *w)
{
    static const retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    const retry_strategy *const strategies[] = {&walk_own, &walk_own,    &walk_own,
                                                NULL,      &policy.base, retry_fail_fast()};
    if (w->where == WALK_TOLD) {
        uint8_t how = byte();
        w->op.client = walk_clients[how % WALK_CLIENTS];
        w->op.idempotent = (how & 0x30) != 0;
        w->op.timeout = how & 0x40 ? walk_ms() : how & 0x80 ? UINT32_MAX : 1000;
        w->op.strategy = strategies[below(6)];
        if (chance(2))
            walk_hedge(w);
    }
    retry_start(&w->op, w->op.client == &walk.service.client && chance(2) ? &walk.service : NULL,
                instant());
    REQUIRE(w->where != WALK_OPEN); /* the end of the one before was heard */
    w->where = WALK_OPEN;
    w->settled = w->trying = w->cancelling = w->began = w->delayed = w->jumped = false;
    w->charge = w->failed = 0;
}

static void walk_failure(const struct walk_operation *w, retry_failure *failure)
{
    uint8_t how = byte() % 32;
    memset(failure, 0, sizeof *failure);
    failure->reason = how;
    if (how >= RETRY_REASON_COUNT)
        failure->reason = RETRY_REASON_SERVER_ERROR;
    if (how == 31)
        failure->reason = RETRY_REASON_USER(1, chance(2) ? RETRY_REASON_FREE : 0);
    how = byte();
    failure->timeout = (how & 0xc0) == 0xc0;
    failure->throttle = (how & 0x70) == 0x70;
    failure->unsent = (how & 0xe0) == 0x20;
    failure->fault = how & 0x10 ? RETRY_FAULT_CLIENT : RETRY_FAULT_OTHER;
    how = byte();
    failure->safety = (uint8_t)(how < 0xe0 ? 0 : how & 3);
    failure->code = how & 7;
    failure->pushback = how % 8 == 7;
    if (failure->pushback || how % 8 == 6)
        failure->retry_after = chance(2) ? UINT32_MAX : walk_ms();
    if (walker.refusing)
        *failure = retry_classify_http(429, 1 + walk_ms() % 4000);
    if (w->cancelling && failure_unsent(failure)) { /* the ledger cannot know if it counts */
        failure->reason = RETRY_REASON_KV_LOCKED;
        failure->unsent = false;
    }
}

/* A failed copy of a try: what it cost goes back if it was never sent. */
static void walk_copy_failed(struct walk_operation *w, const retry_failure *failure)
{
    w->attempt.failed = true;
    w->attempt.stopped |= failure->pushback && failure->retry_after == UINT32_MAX;
    if (!failure_unsent(failure)) {
        w->attempt.reached = true;
    } else if (w->where == WALK_OPEN && w->trying && !w->cancelling && w->attempt.paid != 0) {
        w->attempt.paid--;
        walk_earn(walk.copy_cost);
    }
}

/* A node's limit hears of a copy. What blames the node without a word of when is not known here. */
static void walk_report(uint32_t server, const retry_failure *failure)
{
    const retry_aimd *limit = walk_limits[server];
    struct walk_hold *hold = &walker.holds[server];
    retry_ms most = limit->hold_max ? limit->hold_max : 2000;
    if (!walk.limited[server])
        return;
    if (!failure || !failure->throttle || failure->timeout || failure_unsent(failure) ||
        failure->reason == RETRY_REASON_ATTEMPT_TIMED_OUT || /* it may be the caller's impatience */
        failure->retry_after <= 1 || failure->retry_after == UINT32_MAX) {
        hold->row = 0;
        hold->until = 0;
    } else if (most > 1) {
        uint64_t until = now + (failure->retry_after < most ? failure->retry_after : most);
        hold->least = hold->least != 0 && hold->least < until ? hold->least : until;
        if (++hold->row >= (limit->hold_max ? 5u : 12u)) /* then most have failed for sure */
            hold->until = hold->least;
    }
}

/* What several nodes know now of one. Others that lost, or timed out, may be ill or not; and so one
   that is isolated, once it is asked. */
static void walk_know(struct walk_operation *w, uint32_t server, const retry_failure *failure)
{
    uint32_t n;
    for (n = 0; n <= WALK_FURTHER; n++) {
        if (w->copy[n].wire)
            walker.well[w->copy[n].server] = walker.sick[w->copy[n].server] = false;
    }
    walker.well[server] = !failure && walk.breakers[server % WALK_NODES].in_a_row == 0;
    walker.sick[server] = failure && !failure->timeout &&
                          (failure->reason == RETRY_REASON_SERVER_ERROR ||
                           failure->reason == RETRY_REASON_NODE_NOT_AVAILABLE ||
                           failure->reason == RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
}

/* A copy at a server has ended, as all that hear of it know. */
static void walk_heard(struct walk_operation *w, const struct walk_copy *copy,
                       const retry_failure *failure)
{
    uint32_t server = copy->server;
    retry_breaker *breaker = &walk.breakers[server % WALK_NODES];
    walk_report(server, failure);
    if (failure || w->op.client->nodes > 1) /* who knows one node cures none */
        walker.ill[server] = failure != NULL;
    if (walk_nodes(&w->op) != 0)
        walk_know(w, server, failure);
    if (failure) {
        w->failed |= 1u << server;
        w->failed_last = server;
    }
    if (!failure || failure->reason != RETRY_REASON_SERVER_ERROR || failure->timeout ||
        failure->throttle || failure->unsent || !WALK_ALONE || server >= WALK_NODES ||
        breaker->in_a_row == 0 || copy->since <= walker.opened[server] || walker.jumped)
        return;
    REQUIRE(retry_breaker_state(breaker, instant()) != RETRY_BREAKER_CLOSED ||
            retry_breaker_get(breaker, instant()).in_a_row != 0);
}

/* `number` need not be on the wire, nor be one that there is. */
static void walk_end_copy(struct walk_operation *w, uint32_t number)
{
    struct walk_copy *copy = &w->copy[number % (1 + WALK_FURTHER)];
    bool wire = number <= w->further && copy->wire, done = chance(walker.refusing ? 64 : 3);
    bool tried = wire && w->trying;
    uint32_t flight = WALK_LOAD(walk_gates[copy->server]->in_flight);
    retry_operation before = w->op, plain;
    retry_failure failure;
    memset(&plain, 0, sizeof plain);
    walk_failure(w, &failure);
    if (wire) {
        copy->wire = false;
        walk_touch(w);
        if (!done)
            walk_copy_failed(w, &failure);
    }
    w->ending = wire && !done ? 1 + copy->server : 0;
    retry_ended(&w->op, number, done ? NULL : &failure, instant());
    w->ending = 0;
    if (!wire)
        REQUIRE(memcmp(&before, &w->op, sizeof before) == 0);
    if (tried && !done && failure.reason != RETRY_REASON_NONE && !retry_permitted(&plain, &failure))
        REQUIRE(w->op.ambiguous || w->op.verdict == RETRY_VERDICT_SUCCESS);
    wire = wire && w->op.client->gates;
    if (wire && WALK_LOAD(walk_gates[copy->server]->in_flight) < flight) /* else it was too late */
        walk_heard(w, copy, done ? NULL : &failure);
}

/* ---- steps --------------------------------------------------------------------------------- */

static void walk_sent(struct walk_operation *w, const retry_step *step)
{
    const retry_client *client = w->op.client;
    struct walk_copy *copy = &w->copy[step->copy % (1 + WALK_FURTHER)];
    struct walk_try *attempt = &w->attempt;
    bool first = !w->trying;
    REQUIRE(w->where == WALK_OPEN);
    REQUIRE(step->copy <= w->further && step->copy == walk_lowest(w, false));
    REQUIRE(!first || step->copy == 0);
    REQUIRE(step->timeout != 0 && step->timeout <= retry_left(&w->op, instant()));
    REQUIRE(client->attempt_timeout == 0 || step->timeout <= client->attempt_timeout);
    REQUIRE(step->node < (client->nodes ? client->nodes : 1));
    if (first) {
        REQUIRE(!walk_on_wire(w));
        memset(attempt, 0, sizeof *attempt);
    } else {
        REQUIRE(w->op.idempotent && !attempt->stopped);
        REQUIRE(attempt->failed || w->jumped || now >= attempt->copied + w->hedge.delay);
        if (walk_pays(w)) {
            attempt->paid++;
            walk_spend(walk.copy_cost, walk.copy_cost);
        }
    }
    attempt->sent++;
    attempt->copied = now;
    REQUIRE(attempt->sent <= 1 + w->further);
    w->trying = w->began = true;
    copy->wire = true;
    copy->server = client == &walk.service.client ? (uint32_t)WALK_NODES : step->node % WALK_NODES;
    copy->since = now;
}

static void walk_cancelled(struct walk_operation *w, const retry_step *step)
{
    struct walk_copy *copy = &w->copy[step->copy % (1 + WALK_FURTHER)];
    REQUIRE(step->copy <= w->further && copy->wire);
    REQUIRE(w->where == WALK_OPEN || step->copy == walk_lowest(w, true));
    if (w->began) { /* else it is of the operation before */
        REQUIRE(w->op.ambiguous || w->op.verdict == RETRY_VERDICT_SUCCESS);
        w->attempt.failed = w->attempt.reached = true;
        w->failed |= 1u << copy->server; /* it may have timed out, or been given up */
        w->failed_last = UINT32_MAX;
    }
    copy->wire = false;
    walker.ill[copy->server] = true;
    walker.well[copy->server] = walker.sick[copy->server] = false;
    walker.holds[copy->server].row = 0; /* it may have timed out */
}

static void walk_waits(struct walk_operation *w, const retry_step *step)
{
    bool wire = walk_on_wire(w);
    REQUIRE(w->where == WALK_OPEN);
    REQUIRE(step->delay != 0);
    if (step->cause == RETRY_CAUSE_NONE)
        REQUIRE(wire || w->further != 0);
    else
        REQUIRE(!wire);
    if (step->cause == RETRY_CAUSE_PACED)
        REQUIRE(step->delay < WALK_LONGEST_TURN);
    w->due = now + step->delay;
}

static void walk_over(struct walk_operation *w, const retry_step *step)
{
    REQUIRE(!walk_on_wire(w));
    REQUIRE(w->where != WALK_OPEN);
    REQUIRE(step->verdict == w->end.verdict && step->cause == w->end.cause &&
            step->delay == w->end.delay);
    w->where = WALK_TOLD;
}

/* A retry's delay is over when it was said to be, or what it lacked is there. */
static void walk_check_delay(struct walk_operation *w, const retry_step *step)
{
    bool waits = step->what == RETRY_DO_WAIT && step->cause != RETRY_CAUSE_PACED;
    uint64_t end;
    if (w->owes && w->op.delay < w->delay)
        w->delay = w->op.delay; /* the tokens are there: its own delay */
    end = w->granted + w->delay;
    if (!w->delayed || step->what == RETRY_DO_CANCEL || step->what == RETRY_DO_END)
        return;
    if (waits)
        REQUIRE(step->cause == w->op.cause &&
                (now + step->delay == end || (w->owes && step->delay <= 1000)));
    else
        REQUIRE(now >= end);
    w->delayed = waits;
}

/* What a step does not need is 0. */
static void walk_check_fields(const retry_step *step)
{
    bool copy = step->what < RETRY_DO_WAIT;
    REQUIRE(copy ? step->delay == 0 && step->cause == 0 : step->copy == 0 && step->node == 0);
    REQUIRE(step->what == RETRY_DO_END || step->verdict == 0);
    REQUIRE(step->what == RETRY_DO_SEND || step->timeout == 0);
}

/* What the ledger makes of a step; true: it goes on at once. */
static bool walk_step(struct walk_operation *w)
{
    bool early = w->settled && !w->jumped && w->where == WALK_OPEN &&
                 w->last.cause != RETRY_CAUSE_PACED && !(w->delayed && w->owes) &&
                 (now < w->due || w->last.delay == UINT32_MAX);
    bool told = w->where == WALK_TOLD;
    retry_step step;
    walk_look();
    step = retry_next(&w->op, instant());
    REQUIRE(!early || (step.what == RETRY_DO_WAIT && step.cause == w->last.cause));
    REQUIRE(!told || step.what == RETRY_DO_END);
    walk_check_fields(&step);
    walk_check_delay(w, &step);
    w->cancelling = step.what == RETRY_DO_CANCEL;
    w->settled = step.what >= RETRY_DO_WAIT;
    if (step.what == RETRY_DO_SEND)
        walk_sent(w, &step);
    else if (step.what == RETRY_DO_CANCEL)
        walk_cancelled(w, &step);
    else if (step.what == RETRY_DO_WAIT)
        walk_waits(w, &step);
    else
        walk_over(w, &step);
    if (WALK_ALONE && step.what == RETRY_DO_SEND)
        walk_passed(w, &step);
    w->last = step;
    walk_check();
    return !w->settled;
}

/* Polls until it waits or is over; that takes no more steps than it has copies, but that each may
   fail at once. */
static void walk_poll(struct walk_operation *w)
{
    uint32_t steps = 0;
    while (walk_step(w) && steps < 64)
        steps++;
    REQUIRE(steps < 64);
}

static void walk_answer(struct walk_operation *w)
{
    retry_action action = retry_action_after(walk_ms() | (w->op.client && walk_nodes(&w->op) != 0));
    action.kind = (uint8_t)below(4);
    walk_touch(w);
    retry_answer(&w->op, action, instant());
}

/* The network is back: who waits for a retry waits no longer than the server asked. */
static void walk_skip(struct walk_operation *w)
{
    if (w->delayed && w->op.failure.retry_after < w->delay)
        w->delay = w->op.failure.retry_after;
    walk_touch(w);
    retry_skip_wait(&w->op, instant());
}

/* Threads have one clock, and each knows what it was when it looked last. True: to this one it
   stepped back, or went on for over half of its range. */
static bool walk_tick(uint64_t ms, bool back)
{
#ifdef WALK_THREADS
    const uint64_t range = UINT64_C(1) << 32;
    uint32_t step = (uint32_t)(back ? range - ms % range : ms);
    uint32_t at = __atomic_add_fetch(&walk.clock, step, __ATOMIC_RELAXED);
    uint64_t passed = (range + at - instant()) % range;
    back = passed > 0x7fffffff;
    now += passed;
#else
    clock_pass(ms, back);
#endif
    return back;
}

/* How long those wait who have seen the clock step back, or go on by weeks, is not known, nor what
   that made of rates. */
static void walk_jumped(void)
{
    uint32_t n;
    walker.jumped = true;
    walker.steady = now;
    memset(walker.holds, 0, sizeof walker.holds);
    for (n = 0; n < WALK_OPERATIONS; n++) {
        walk_ops[n].jumped = true;
        walk_ops[n].delayed = false;
    }
    for (n = 0; n < WALK_NODES; n++) {
        struct walk_bucket *bucket = &walker.buckets[n];
        bucket->most = bucket->full + WALK_OPERATIONS * bucket->spacing;
        bucket->at = now;
    }
}

/* To when one is due, a ms before, or somewhere. */
static void walk_pass_time(void)
{
    uint8_t how = byte();
    uint64_t ms = how;
    bool back;
    if (how < 0x70) {
        const struct walk_operation *w = &walk_ops[how % WALK_OPERATIONS];
        ms = w->settled && w->where == WALK_OPEN && w->due > now ? w->due - now : 1;
        ms = ms > 0x7fffffff ? 1 : ms;
        ms -= how & 0x40 && ms > 1;
    } else if (how >= 0xe0) {
        ms = how < 0xfa ? hostile() & 0xffff : word();
    }
    back = walk_tick(ms, how >= 0xfd && ms < now);
    walk_earn_base();
    if (WALK_ALONE && walk.based) /* it is told the time as often */
        (void)retry_budget_withdraw(&walk.budget, 0, instant());
    if (back || now - walker.steady > 0x7fffffff)
        walk_jumped();
}

/* The first are what a right program does, the last what it does seldom, or wrongly. */
static void walk_call(uint8_t which)
{
    struct walk_operation *w = &walk_ops[which % WALK_OPERATIONS];
    uint32_t what = which / WALK_OPERATIONS % 16;
    if (what < 2 && w->where == WALK_TOLD) {
        walk_start(w);
    } else if (what < 5 && walk_on_wire(w)) {
        walk_end_copy(w, walk_lowest(w, true));
        if (!chance(4))
            walk_poll(w);
    } else if (what < 7) {
        walk_pass_time();
        walk_poll(w);
    } else if (what == 7) {
        walk_end_copy(w, chance(2) ? below(WALK_FURTHER + 1) : hostile());
    } else if (what == 8) {
        walk_stop(w);
    } else if (what == 9) {
        walk_answer(w);
    } else if (what == 10) {
        walk_skip(w);
    } else if (what == 11) {
        walk_hedge(w);
    } else if (what == 12) {
        walk_step(w);
    } else if (what == 13 && chance(8)) {
        walk_start(w);
    } else if (what == 13 && chance(6)) {
        walker.refusing = !walker.refusing;
    } else {
        walk_pass_time();
    }
    walk_check();
}

/* Polls all; with `stop` it stops them, too. */
static void walk_poll_all(bool stop)
{
    uint32_t i;
    for (i = 0; i < WALK_OPERATIONS; i++) {
        walk_poll(&walk_ops[i]);
        if (stop)
            walk_stop(&walk_ops[i]);
        walk_poll(&walk_ops[i]);
    }
}

/* As many calls as the bytes last for; then all is stopped. */
static void walk_on(const uint8_t *data, size_t size)
{
    uint32_t i;
    bytes_start(data, size);
    walk_begin();
    for (i = 0; i < WALK_OPERATIONS; i++) {
        walk_ops[i].where = WALK_TOLD;
        walk_start(&walk_ops[i]);
    }
    while (bytes_left != 0) {
        uint8_t which = byte();
        walk_call(which);
        if (which >= 0xe0)
            walk_poll_all(false);
    }
    walk_poll_all(true);
}

/* Nothing is left, of any thread; `spent` is what the ledgers of all come to. */
static void walk_check_end(uint32_t spent)
{
    uint32_t n;
    for (n = 0; n < WALK_SERVERS; n++)
        REQUIRE(walk_gates[n]->in_flight == 0);
    if (walk.exact)
        REQUIRE(retry_budget_balance(&walk.budget) == walk.budget.options.capacity - spent);
}

#ifndef WALK_THREADS

static void walk_through(const uint8_t *data, size_t size)
{
    bytes_start(data, size);
    walk_set_up();
    walk_on(bytes_next, bytes_left);
    walk_check_end(walker.spent);
}

#endif /* WALK_THREADS */

#endif
