/* A walk that bytes choose through what an event loop, right or wrong, does with operations: it
   starts, polls, ends, stops and answers them, late, twice, and those of others. Beside the library
   goes a ledger, and REQUIRE, which the includer defines, holds what is true of any order of calls:

   - Each SEND gets one end or one CANCEL, and no number is sent again before that. The copy has the
     lowest number that is free; no more are sent in a try than there are.
   - Nothing but CANCELs, the lowest first, and then the same END for ever comes after the end, and
   the observer hears the end once, as END tells it.
   - A WAIT is for 1 ms at least, and when nothing happens nothing is due before.
   - When all operations wait or are over, each node's in_flight is the copies that are on its wire.
   - What the budget holds is its capacity without the charges that were not given back. A charge
   stays with its request until an attempt was sent that it pays for. Where time brings tokens it is
   no more than a base that refills by itself could hold: up to itself, and by no step of the clock.
   - While a server holds all back none is sent to it; when it has answered none waits for that.
   - Nothing is sent that a breaker refuses, over a limit, or sooner than a rate allows. What a gate
   gave to a copy that was not sent goes back: a probe's place, a rate's token. A breaker hears of
   failures.
   - A retry ends before the deadline, and waits as long as was said; a further copy waits for its
   delay, if none has failed.
   - An operation is ambiguous after a failure that may have taken effect, and after a CANCEL.
   - Who failed at a node, or has a copy there, goes to another that is well and has no gates.

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
enum { WALK_LEAST_DEPTH = 50 };               /* ms; what a rate's bucket holds at least */
enum { WALK_OPERATIONS = 4, WALK_FURTHER = 3, WALK_CLIENTS = 4 };
enum { WALK_NODES = 4, WALK_SERVERS = WALK_NODES + 1 }; /* the last is the service's */

/* What the ledger knows of an operation. */
struct walk_operation {
    retry_operation op;
    retry_hedge hedge;
    retry_copy copies[WALK_FURTHER];
    uint32_t further; /* copies that it may have beside number 0 */
    bool started;     /* at least once */
    bool open;        /* nobody has heard of its end */
    bool told;        /* END was handed out since */
    bool quiet;       /* nothing has happened to it since the last step, a WAIT */
    uint32_t era;     /* of the clock, in which it started */
    bool settled;     /* the last step was WAIT or END, and nothing has happened since */
    bool cancelling;  /* the last step was CANCEL */
    bool trying;      /* a copy was sent since the last decision */
    bool wire[1 + WALK_FURTHER];
    uint32_t server[1 + WALK_FURTHER];
    uint64_t since[1 + WALK_FURTHER];   /* when it was sent */
    retry_ms timeout[1 + WALK_FURTHER]; /* what it was told then */
    bool stopped;                       /* an order not to retry has come in this try */
    uint32_t sent;                      /* in this try */
    uint32_t paid;                      /* further copies of this try that were paid for */
    uint32_t charge;                    /* what its retry cost, and may give back */
    decided end;
    bool end_of_gate; /* heard without a failure: a gate's, or the deadline's, or a stop's */
    retry_step last;
    bool reached;         /* a copy of this try has, that failed */
    bool failed_copy;     /* a copy of this try has failed, or who knows when one is due */
    uint64_t copied;      /* ms; when the last copy was sent */
    bool delayed;         /* a retry was granted that has not been tried yet */
    uint64_t granted;     /* ms; when it was granted */
    retry_ms delay;       /* of it */
    uint32_t failed;      /* a bit for each server that failed it */
    uint32_t failed_last; /* the last of them */
    uint64_t due;         /* ms; when the last WAIT is over */
    uint64_t paced;       /* ms; since when it may keep a turn */
};

/* The bucket of a rate whose limit never changes, in ms. An operation may keep one token for its
   try. `most` counts it as there until the try is sent, and so does `least`: the library's own
   bucket, from which it is gone, holds no more than `most`, and when nothing is kept no less than
   `least`: of those that were kept and not used none may have come back. */
struct walk_bucket {
    int64_t spacing; /* from send to send; 0: no such rate */
    int64_t full, most, least;
    uint64_t at; /* as of then */
    bool known;  /* `least` is: the clock has not jumped since the bucket was full */
};

/* What the last reports of a node make of its limit's hold, as far as they are known for sure. */
struct walk_hold {
    uint32_t row;   /* throttled ones in a row that said until when */
    uint64_t until; /* ms; nothing is sent before */
    bool answered;  /* the last was a good answer: nobody has to pause */
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
    bool counted[WALK_SERVERS]; /* in_flight is kept */
    bool limited[WALK_SERVERS]; /* by `limits`, or the service's */
    bool rated[WALK_SERVERS];   /* by `rates` */
    bool open[WALK_SERVERS];    /* no gate refuses anything */
    bool exact;                 /* the ledger knows what the budget holds */
    bool based;                 /* it knows the most that it can hold: time brings a base */
    uint32_t clock;             /* ms, of all threads */
} walk;

/* What each thread has of its own. */
struct walker {
    struct walk_bucket buckets[WALK_NODES];
    struct walk_hold holds[WALK_SERVERS];
    bool ill[WALK_SERVERS];      /* the last copy there did not work */
    uint64_t opened[WALK_NODES]; /* ms; when its breaker was seen last that was not closed */
    uint64_t level;              /* millionths; the most that a budget with a base can hold */
    retry_time seen;             /* ms; until when time has been counted for that */
    bool refusing;               /* the servers say 429 to all */
    bool nested;                 /* an observer or a strategy is at work */
    uint32_t stops;              /* that they made */
    uint32_t spent;              /* of the budget, by the ledger */
    uint32_t era;                /* counts how often the clock stepped back, or weeks went by */
    uint64_t era_since;
    uint32_t random;
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

static retry_client *walk_client(uint32_t number)
{
    return number < WALK_CLIENTS - 1 ? &walk.clients[number] : &walk.service.client;
}

static retry_gates *walk_gates(uint32_t server)
{
    return server < WALK_NODES ? &walk.gates[server] : &walk.service.gates;
}

static retry_aimd *walk_limit(uint32_t server)
{
    return server < WALK_NODES ? &walk.limits[server] : &walk.service.limit;
}

/* Smaller numbers more often. */
static uint32_t walk_ms(void)
{
    uint8_t first = byte();
    if (first < 0xc0)
        return first;
    return first < 0xf0 ? (first & 0x0fu) * 256 + 1 : hostile();
}

static uint32_t walk_random(void *context)
{
    (void)context;
    walker.random =
        (uint32_t)(((uint64_t)walker.random * 2862933555u + 3037000493u) % UINT64_C(4294967291));
    return walker.random;
}

static struct walk_operation *walk_find(const retry_operation *request)
{
    uint32_t i;
    for (i = 0; i < WALK_OPERATIONS; i++) {
        if (request == &walk_ops[i].op)
            return &walk_ops[i];
    }
    return NULL;
}

static struct walk_operation *walk_any(void)
{
    return &walk_ops[below(WALK_OPERATIONS)];
}

static bool walk_observed(const struct walk_operation *w)
{
    return w->op.client && w->op.client->observe;
}

/* ---- the ledger ---------------------------------------------------------------------------- */

static bool walk_pays(const struct walk_operation *w)
{
    return (walk.exact || walk.based) && w->op.client && w->op.client->budget == &walk.budget;
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

/* A copy beside the first costs what a retry after a timeout does. */
static uint32_t walk_copy_cost(void)
{
    const retry_budget_options *options = &walk.budget.options;
    return options->timeout_cost ? options->timeout_cost : options->retry_cost;
}

static void walk_spend(uint32_t cost)
{
    walker.spent += cost;
    REQUIRE(!walk.based || !WALK_ALONE || walker.level >= (uint64_t)cost * 1000);
    walker.level -= walker.level >= (uint64_t)cost * 1000 ? (uint64_t)cost * 1000 : walker.level;
}

static void walk_earn(uint32_t cost)
{
    REQUIRE(walker.spent >= cost);
    walker.spent -= walker.spent >= cost ? cost : walker.spent;
    walker.level += (uint64_t)cost * 1000;
}

/* Time goes on where it has not been yet, by what 32 bits tell of it; a clock that was set back
   begins anew, and brings nothing. */
static void walk_earn_base(void)
{
    const retry_budget_options *options = &walk.budget.options;
    const uint64_t range = UINT64_C(1) << 32, passed = (range + instant() - walker.seen) % range;
    uint64_t base =
        options->retry_cost > options->timeout_cost ? options->retry_cost : options->timeout_cost;
    base = 1000 * (base > options->throttle_cost ? base : options->throttle_cost);
    if (passed <= range / 2 && walker.level < base) {
        walker.level += passed * options->base_per_second;
        walker.level = walker.level < base ? walker.level : base;
    }
    if (passed < range - 32768)
        walker.seen = instant();
}

/* The try is over: what its retry cost stays paid if a copy reached the server. */
static void walk_settle(struct walk_operation *w, const retry_failure *failure)
{
    if (w->reached || !failure_unsent(failure))
        w->charge = 0;
    w->trying = false;
}

static void walk_check_budget(void)
{
    uint32_t balance = retry_budget_balance(&walk.budget), n;
    REQUIRE(balance <= walk.budget.options.capacity);
    for (n = 0; n < WALK_NODES; n++) {
        if (retry_breaker_state(&walk.breakers[n], instant()) != RETRY_BREAKER_CLOSED)
            walker.opened[n] = now;
    }
    REQUIRE(retry_budget_balance(&walk.service.budget) <= walk.service.budget.options.capacity);
    if (WALK_ALONE && walk.exact && !walker.nested)
        REQUIRE(balance == walk.budget.options.capacity - walker.spent);
    if (WALK_ALONE && walk.based && !walker.nested)
        REQUIRE(balance <= (walker.level + 999) / 1000);
}

static uint32_t walk_wire(const struct walk_operation *w)
{
    uint32_t i, count = 0;
    for (i = 0; i <= WALK_FURTHER; i++)
        count += w->wire[i];
    return count;
}

static uint32_t walk_lowest(const struct walk_operation *w, bool wire)
{
    uint32_t i = 0;
    while (i <= WALK_FURTHER && w->wire[i] != wire)
        i++;
    return i;
}

/* When all wait or are over, in_flight is what is on the wire, of all threads; at no time is it
   more, nor over what the limit may ever be. */
static void walk_check_flight(void)
{
    uint32_t wires[WALK_SERVERS] = {0}, i, n;
    bool settled = true;
    for (i = 0; i < WALK_OPERATIONS; i++) {
        const retry_client *client = walk_ops[i].op.client;
        settled = settled && walk_ops[i].settled;
        for (n = 0; client && client->gates && n <= WALK_FURTHER; n++) {
            if (walk_ops[i].wire[n])
                wires[walk_ops[i].server[n]]++;
        }
    }
    for (n = 0; n < WALK_SERVERS; n++) {
        uint32_t in_flight = WALK_LOAD(walk_gates(n)->in_flight);
        REQUIRE(!walk.limited[n] || in_flight <= walk_limit(n)->max);
        if (WALK_ALONE)
            REQUIRE(in_flight <= wires[n]);
        if (settled && walk.counted[n])
            REQUIRE(WALK_ALONE ? in_flight == wires[n] : in_flight >= wires[n]);
    }
}

/* ---- what the gates may let pass ----------------------------------------------------------- */

static int64_t walk_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Each operation may keep one token. */
static void walk_fill(struct walk_bucket *bucket)
{
    int64_t passed = now > bucket->at ? (int64_t)(now - bucket->at) : 0;
    bucket->at = now;
    bucket->least = walk_smaller(bucket->least + passed, bucket->full);
    bucket->most =
        walk_smaller(bucket->most + passed, bucket->full + WALK_OPERATIONS * bucket->spacing);
}

/* The clock stepped back, or it is weeks later: who knows what that made of the buckets. */
static void walk_forget_buckets(void)
{
    uint32_t n;
    for (n = 0; n < WALK_NODES; n++) {
        struct walk_bucket *bucket = &walker.buckets[n];
        bucket->most = bucket->full + WALK_OPERATIONS * bucket->spacing;
        bucket->known = false;
        bucket->at = now;
    }
}

static void walk_count_send(uint32_t server)
{
    struct walk_bucket *bucket = &walker.buckets[server % WALK_NODES];
    if (!WALK_ALONE || server >= WALK_NODES || bucket->spacing == 0)
        return;
    walk_fill(bucket);
    bucket->least -= bucket->spacing;
    bucket->most -= bucket->spacing;
    REQUIRE(bucket->most >= 0);
}

/* An operation that was PACED has not used its turn, or may have kept it for too long. */
static void walk_lose_turn(struct walk_operation *w)
{
    uint32_t n;
    for (n = 0; n < WALK_NODES; n++)
        walker.buckets[n].least -= walker.buckets[n].spacing;
    w->paced = now;
}

/* ms to the deadline of one that is under way. */
static retry_ms walk_remaining(const retry_operation *op)
{
    const uint64_t range = UINT64_C(1) << 32;
    uint64_t passed = (range + instant() - op->started) % range;
    if (passed > UINT32_MAX - 32768)
        passed = 0; /* another thread has read the clock */
    if (op->timeout == UINT32_MAX)
        return UINT32_MAX;
    return passed < op->timeout ? (retry_ms)(op->timeout - passed) : 0;
}

/* The gates as they were before a step, and whether nothing but one copy that asks can have changed
   them in it: no copy's time was over, and nobody was stopped. */
struct walk_before {
    retry_breaker breakers[WALK_NODES];
    uint32_t in_flight[WALK_SERVERS], limit[WALK_SERVERS];
    retry_ms left;
    uint32_t stops;
    bool alone;
};

static void walk_look(struct walk_before *before, const struct walk_operation *w)
{
    uint32_t n;
    memcpy(before->breakers, walk.breakers, sizeof before->breakers);
    for (n = 0; n < WALK_SERVERS; n++) {
        before->in_flight[n] = walk_gates(n)->in_flight;
        before->limit[n] = retry_aimd_limit(walk_limit(n));
    }
    before->left = walk_remaining(&w->op);
    before->stops = walker.stops;
    before->alone = true;
    for (n = 0; n <= WALK_FURTHER; n++) {
        if (w->wire[n] && (now < w->since[n] || now - w->since[n] >= w->timeout[n]))
            before->alone = false;
    }
}

/* What a breaker says, as it was; which attempts may probe is the operation's rule. */
static retry_permit walk_permit(struct walk_before *before, const struct walk_operation *w,
                                uint32_t server)
{
    retry_ms whole = w->op.client->cut_after;
    bool may_probe = w->op.retries == 0 || (whole != 0 && before->left >= whole);
    return retry_breaker_ask(&before->breakers[server], may_probe, instant());
}

/* It comes last of several nodes: a copy failed there, or is there now. */
static bool walk_comes_last(const struct walk_operation *w, uint32_t node, uint32_t copy)
{
    uint32_t n;
    for (n = 0; n <= WALK_FURTHER; n++) {
        if (n != copy && w->wire[n] && w->server[n] == node)
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
static void walk_passed(struct walk_before *before, const struct walk_operation *w,
                        const retry_step *step)
{
    uint32_t server = w->server[step->copy % (1 + WALK_FURTHER)];
    if (!w->op.client || !w->op.client->gates)
        return;
    walk_count_send(server);
    walk_check_node(w, step);
    REQUIRE(!WALK_ALONE || walker.holds[server].until <= now);
    if (before->stops != walker.stops || !before->alone)
        return;
    REQUIRE(!walk.limited[server] || before->in_flight[server] < before->limit[server]);
    REQUIRE(server >= WALK_NODES || walk_permit(before, w, server).granted);
}

/* The end in this step, where there is but one node: by its breaker only if it refuses. */
static void walk_refused(struct walk_before *before, const struct walk_operation *w,
                         const retry_step *step)
{
    retry_permit permit;
    if (!w->end_of_gate || step->cause != RETRY_CAUSE_CIRCUIT_OPEN ||
        before->stops != walker.stops || !before->alone || w->op.client->nodes != 0)
        return;
    permit = walk_permit(before, w, 0);
    REQUIRE(!permit.granted && permit.wait == step->delay);
}

/* It waits for its turn, where there is but one node: a limit that was answered last makes nobody
   wait who has a place. */
static void walk_paced(const struct walk_before *before, const struct walk_operation *w)
{
    uint32_t server = w->op.client == &walk.service.client ? WALK_NODES : 0;
    if (w->op.client->nodes == 0 && walk.limited[server] && !walk.rated[server] &&
        walker.holds[server].answered && before->stops == walker.stops && before->alone)
        REQUIRE(before->in_flight[server] >= before->limit[server]);
}

/* Something has happened to it: it is to be polled. */
static void walk_touch(struct walk_operation *w)
{
    w->quiet = false;
    if (w->started && !w->told)
        w->settled = false;
}

/* ---- those who are told, and may call back ------------------------------------------------- */

/* The end of an operation that nobody waits for: before the call, as the observer hears it in it.
 */
static void walk_stop(struct walk_operation *w)
{
    walk_touch(w);
    retry_stop(&w->op, instant());
    if (w->started && !w->told && !walk_observed(w))
        w->open = false;
}

static void walk_call_back(struct walk_operation *w)
{
    uint8_t what = byte();
    bool outer = !walker.nested;
    if (!outer || what < 0xf0)
        return;
    walker.nested = true;
    walker.stops++;
    if (what < 0xf6)
        walk_stop(w);
    else if (what < 0xfa)
        walk_stop(walk_any());
    else
        walk_stop(w);
    walker.nested = false;
}

static void walk_observe(void *context, const retry_operation *request,
                         const retry_failure *failure)
{
    struct walk_operation *w = walk_find(request);
    REQUIRE(context == &walk);
    REQUIRE(w != NULL);
    if (!w)
        return;
    REQUIRE(w->open); /* nothing is heard after the end */
    walk_touch(w);
    if (request->cause == RETRY_CAUSE_PUSHBACK && walk_wire(w) != 0)
        w->reached = true; /* the last has timed out: its CANCEL is to come */
    if (failure)
        walk_settle(w, failure);
    if (request->verdict == RETRY_VERDICT_RETRY) {
        REQUIRE(failure != NULL);
        REQUIRE(request->delay < walk_remaining(request));
        w->delayed = true;
        w->granted = now;
        w->delay = request->delay;
        if (failure && request->cause == RETRY_CAUSE_STRATEGY && walk_pays(w) && w->charge == 0) {
            w->charge = walk_cost(failure);
            walk_spend(w->charge);
        }
    } else {
        REQUIRE(request->verdict != RETRY_VERDICT_SUCCESS || !request->ambiguous);
        if (request->verdict != RETRY_VERDICT_SUCCESS && walk_pays(w))
            walk_earn(w->charge);
        w->charge = 0;
        w->open = false;
        w->end = decided_of(request);
        w->end_of_gate = failure == NULL;
        walk_ends++;
    }
    walk_call_back(w);
}

/* A strategy of one's own. */
static retry_action walk_after(const retry_strategy *self, const retry_operation *request,
                               const retry_failure *failure, retry_time time)
{
    struct walk_operation *w = walk_find(request);
    uint8_t what = byte();
    (void)self;
    (void)time;
    REQUIRE(w != NULL);
    if (w) /* the charge of the retry that failed does not go back, if it answers later */
        walk_settle(w, failure);
    switch (what % 8) {
    case 0:
        return retry_action_none((uint8_t)below(RETRY_CAUSE_COUNT));
    case 1:
    case 2:
        return retry_action_pending();
    default:
        return retry_action_after(walk_ms());
    }
}

static const retry_strategy walk_own = {walk_after};
static const retry_strategy walk_nothing = {NULL};

/* ---- setting up ---------------------------------------------------------------------------- */

static void walk_set_up_budget(void)
{
    static const retry_budget_options presets[] = {
        RETRY_BUDGET_GRPC, RETRY_BUDGET_AWS, RETRY_BUDGET_SMITHY, RETRY_BUDGET_BEST_EFFORT(1)};
    uint8_t kind = byte();
    retry_budget_options options;
    memset(&options, 0, sizeof options);
    walk.exact = kind % 4 < 2;
    walk.based = kind % 8 == 3;
    if (walk.exact || walk.based) { /* nothing comes in but what was charged, or a base */
        options.capacity = kind & 4 ? 4000000000u : below(20) * 500;
        options.retry_cost = kind & 8 ? 1000 : below(4) * 250;
        options.timeout_cost = kind & 16 ? 1700 : 0;
        options.throttle_cost = kind & 32 ? 300 : 0;
        options.floor = kind & 64 ? 700 : 0;
        if (walk.based) {
            options.base_per_second = walk_ms();
            options.expire = kind & 128 ? walk_ms() % 64 : 0; /* no steps of more than 1 ms */
        }
    } else if (kind % 4 == 2) {
        options = presets[(kind >> 2) % 4];
    } else {
        options.capacity = hostile();
        options.retry_cost = hostile();
        options.success_deposit = hostile();
        options.request_deposit = kind & 4 ? hostile() : 0;
        options.refill_per_second = kind & 8 ? hostile() : 0;
        options.floor = kind & 16 ? hostile() : 0;
        options.refund_last = (kind & 32) != 0;
        options.charge_failures = (kind & 64) != 0;
        options.expire = kind & 128 ? hostile() : 0;
        options.base_per_second = kind & 128 ? hostile() : 0;
    }
    retry_budget_init(&walk.budget, &options, instant());
}

static void walk_set_up_node(uint32_t n)
{
    uint8_t which = byte(), how = byte();
    walk.counted[n] = (which & 31) != 0;
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
        walk.rated[n] = true;
        walk.rates[n].max = how & 4 ? 1000 : how & 8 ? hostile() : 20000;
        walk.rates[n].min = how & 16 ? walk.rates[n].max : 0;
        walk.rates[n].wait = how & 128 ? walk_ms() % WALK_LONGEST_TURN : 0;
        walk.rates[n].burst = how & 32 ? UINT32_C(1000) * (1u + (how & 3u)) : 0;
        retry_gates_rate(&walk.gates[n], &walk.rates[n]);
    }
    if (which & 16) {
        walk.latencies[n].min_samples = 1;
        retry_gates_latency(&walk.gates[n], &walk.latencies[n]);
    }
}

static void walk_set_up_service(uint8_t how)
{
    retry_service *service = &walk.service;
    service->limit.max = 1u + (uint8_t)(how >> 6);
    service->client.budget = how & 32 ? &walk.budget : NULL;
    retry_service_init(service, instant());
    walk.counted[WALK_NODES] = walk.limited[WALK_NODES] = true;
}

/* One client with several nodes, one with the first of them, one without gates, and a service. */
static void walk_set_up_clients(void)
{
    uint32_t i, n;
    for (i = 0; i < WALK_CLIENTS; i++) {
        retry_client *client = walk_client(i);
        uint8_t how = byte();
        client->budget = how & 1 ? &walk.budget : NULL;
        client->observe = walk_observe;
        client->observe_context = &walk;
        client->random = walk_random;
        client->always_interval = how & 2 ? walk_ms() : 0;
        client->cut_after = how & 4 ? 1 + walk_ms() % 1000 : 0;
        client->attempt_timeout = how & 8 ? 1 + walk_ms() % 1000 : 0;
        client->gates = i < 2 ? walk.gates : NULL;
        if (i == WALK_CLIENTS - 1)
            walk_set_up_service(how);
    }
    n = byte() % (WALK_NODES + 2);
    if (n > WALK_NODES) /* one node that nobody but its gates has heard of */
        return;
    retry_client_nodes(&walk.clients[0], walk.gates, (uint16_t)n);
    for (i = 0; i < (n ? n : 1); i++)
        walk.counted[i] = true;
}

/* What threads share; before they walk. */
static void walk_set_up(void)
{
    uint32_t n;
    memset(&walk, 0, sizeof walk);
    clock_start();
    walk.clock = instant();
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
    walker.era_since = now;
    walker.seen = instant();
    walker.level = (uint64_t)retry_budget_balance(&walk.budget) * 1000;
    walker.random = 1u + byte();
    for (n = 0; n < WALK_OPERATIONS; n++)
        walk_ops[n].settled = true;
    for (n = 0; n < WALK_NODES; n++) {
        struct walk_bucket *bucket = &walker.buckets[n];
        const retry_rate *rate = &walk.rates[n];
        if (rate->max == 1000 || rate->max == 20000)
            bucket->spacing = rate->max == rate->min ? (int64_t)(1000000 / rate->max) : 0;
        bucket->full = bucket->spacing > 125 ? bucket->spacing : 125;
        if (rate->burst != 0)
            bucket->full = bucket->spacing * rate->burst / 1000;
        bucket->most = bucket->least = bucket->full;
        bucket->at = now;
        bucket->known = true;
    }
}

/* ---- calls --------------------------------------------------------------------------------- */

/* Ignored while it is under way, or CANCELs are due. */
static void walk_hedge(struct walk_operation *w)
{
    uint8_t how = byte();
    bool none = how % 4 == 0;
    bool heard = !w->started || (w->told && walk_wire(w) == 0);
    if (w->started && !w->told && (!w->open || !walk_observed(w)))
        return; /* who knows whether CANCELs are due */
    if (heard) {
        w->hedge.count = (uint8_t)(1 + below(WALK_FURTHER));
        w->hedge.copies = how & 4 ? w->copies : NULL;
        w->hedge.delay = how & 8 ? walk_ms() | 1 : 0;
        w->hedge.latency = how & 16 ? &walk.latencies[0] : NULL;
        w->further = none || !w->hedge.copies ? 0 : w->hedge.count;
    }
    retry_hedge_copies(&w->op, none ? NULL : &w->hedge);
}

static void walk_configure(struct walk_operation *w)
{
    static const retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_operation *request = &w->op;
    uint8_t how = byte();
    request->client = how % 8 == 7 ? NULL : walk_client(how % WALK_CLIENTS);
    request->idempotent = (how & 0x30) != 0;
    request->timeout = how & 0x40 ? walk_ms() : how & 0x80 ? UINT32_MAX : 1000;
    switch (byte() % 8) {
    case 0:
        request->strategy = NULL;
        break;
    case 1:
        request->strategy = retry_fail_fast();
        break;
    case 2:
        request->strategy = &policy.base;
        break;
    case 3:
        request->strategy = chance(8) ? &walk_nothing : NULL;
        break;
    default:
        request->strategy = &walk_own;
    }
}

static void walk_start(struct walk_operation *w)
{
    bool observed = walk_observed(w), under_way = w->open;
    if (!w->open && (!w->started || w->told)) {
        walk_configure(w);
        if (chance(2))
            walk_hedge(w);
    }
    if (w->last.cause == RETRY_CAUSE_PACED)
        walk_lose_turn(w);
    retry_start(&w->op, w->op.client == &walk.service.client && chance(2) ? &walk.service : NULL,
                instant());
    w->last.cause = RETRY_CAUSE_NONE;
    REQUIRE(!under_way || !observed || !w->open); /* the end of the one before was heard */
    w->started = w->open = true;
    w->told = w->trying = w->cancelling = false;
    w->charge = w->sent = w->failed = 0;
    w->delayed = false;
    w->era = walker.era;
    walk_touch(w);
}

static void walk_failure(const struct walk_operation *w, retry_failure *failure)
{
    static const retry_reason reasons[] = {RETRY_REASON_KV_LOCKED,
                                           RETRY_REASON_KV_LOCKED,
                                           RETRY_REASON_SERVER_ERROR,
                                           RETRY_REASON_SERVER_ERROR,
                                           RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT,
                                           RETRY_REASON_ATTEMPT_TIMED_OUT,
                                           RETRY_REASON_KV_NOT_MY_VBUCKET,
                                           RETRY_REASON_USER(1, RETRY_REASON_FREE),
                                           RETRY_REASON_USER(2, 0),
                                           RETRY_REASON_NONE,
                                           RETRY_REASON_UNKNOWN,
                                           RETRY_REASON_SOCKET_NOT_AVAILABLE,
                                           RETRY_REASON_SERVICE_NOT_AVAILABLE,
                                           RETRY_REASON_NODE_NOT_AVAILABLE,
                                           RETRY_REASON_CIRCUIT_BREAKER_OPEN,
                                           RETRY_REASON_CLIENT_THROTTLED};
    uint8_t how = byte();
    memset(failure, 0, sizeof *failure);
    failure->reason = reasons[how % 16];
    failure->timeout = (how & 0xc0) == 0xc0;
    failure->throttle = (how & 0x70) == 0x70;
    failure->unsent = (how & 0xe0) == 0x20;
    failure->fault = how & 0x10 ? RETRY_FAULT_CLIENT : RETRY_FAULT_OTHER;
    how = byte();
    failure->safety = (uint8_t)(how < 0xe0 ? 0 : how & 3);
    failure->code = how & 7;
    failure->pushback = how % 16 == 15;
    if (failure->pushback || how % 16 == 14)
        failure->retry_after = chance(3) ? UINT32_MAX : walk_ms();
    if (walker.refusing)
        *failure = retry_classify_http(429, 1 + walk_ms() % 4000);
    if (w->cancelling && failure_unsent(failure)) { /* the ledger cannot know if it counts */
        failure->reason = RETRY_REASON_KV_LOCKED;
        failure->unsent = false;
    }
}

/* A copy that was never sent gives back what a copy of the try cost. */
static void walk_refund(struct walk_operation *w, const retry_failure *failure)
{
    if (!w->open || !w->trying || w->cancelling || w->paid == 0 || !failure_unsent(failure))
        return;
    w->paid--;
    walk_earn(walk_copy_cost());
}

/* A node's limit hears of a copy. What blames the node without a word of when is not known here. */
static void walk_report(uint32_t server, const retry_failure *failure)
{
    const retry_aimd *limit = walk_limit(server);
    struct walk_hold *hold = &walker.holds[server];
    retry_ms most = limit->hold_max ? limit->hold_max : 2000;
    if (!walk.limited[server])
        return;
    hold->answered = !failure;
    if (!failure || !failure->throttle || failure->timeout || failure_unsent(failure) ||
        failure->reason == RETRY_REASON_ATTEMPT_TIMED_OUT || /* it may be the caller's impatience */
        failure->retry_after <= 1 || failure->retry_after == UINT32_MAX) {
        hold->row = 0;
        hold->until = 0;
    } else if (++hold->row >= 5 && hold->until <= now && most > 1) {
        hold->until = now + (failure->retry_after < most ? failure->retry_after : most);
    }
}

static bool walk_may_have_worked(const retry_failure *failure)
{
    retry_operation plain;
    memset(&plain, 0, sizeof plain);
    return failure->reason != RETRY_REASON_NONE && !retry_permitted(&plain, failure);
}

/* A copy at a server has ended, as all that hear of it know. */
static void walk_heard(struct walk_operation *w, unsigned copy, const retry_failure *failure)
{
    uint32_t server = w->server[copy];
    walk_report(server, failure);
    walker.ill[server] = failure != NULL;
    if (failure) {
        w->failed |= 1u << server;
        w->failed_last = server;
    }
    if (!WALK_ALONE || server >= WALK_NODES || w->since[copy] <= walker.opened[server] ||
        !failure || failure->reason != RETRY_REASON_SERVER_ERROR || failure->timeout ||
        failure->throttle || failure->unsent)
        return;
    REQUIRE(walk.breakers[server].in_a_row == 0 ||
            retry_breaker_state(&walk.breakers[server], instant()) != RETRY_BREAKER_CLOSED ||
            retry_breaker_get(&walk.breakers[server], instant()).in_a_row != 0);
}

/* `copy` need not be on the wire, nor be a number that there is. */
static void walk_end_copy(struct walk_operation *w, unsigned copy)
{
    bool wire = copy <= w->further && w->wire[copy], done = chance(walker.refusing ? 64 : 3);
    bool gated = wire && w->op.client && w->op.client->gates, counts = wire && w->trying;
    uint32_t flight = gated ? WALK_LOAD(walk_gates(w->server[copy])->in_flight) : 0;
    retry_failure failure;
    walk_failure(w, &failure);
    if (wire) {
        w->wire[copy] = false;
        walk_touch(w);
        w->failed_copy = true;
        if (!done)
            walk_refund(w, &failure);
        w->reached = w->reached || !failure_unsent(&failure);
        if (!done && failure.pushback && failure.retry_after == UINT32_MAX)
            w->stopped = true;
    }
    retry_ended(&w->op, copy, done ? NULL : &failure, instant());
    if (counts && !done && walk_may_have_worked(&failure))
        REQUIRE(w->op.ambiguous || w->op.verdict == RETRY_VERDICT_SUCCESS);
    if (gated &&
        WALK_LOAD(walk_gates(w->server[copy])->in_flight) < flight) /* else it came before */
        walk_heard(w, copy, done ? NULL : &failure);
}

static void walk_sent(struct walk_operation *w, const retry_step *step)
{
    const retry_client *client = w->op.client;
    retry_ms left = walk_remaining(&w->op);
    bool first = walk_observed(w) ? !w->trying : step->copy == 0 && walk_wire(w) == 0;
    REQUIRE(w->open);
    REQUIRE(step->copy == (first ? 0 : walk_lowest(w, false)));
    REQUIRE(step->copy <= w->further && !w->wire[step->copy]);
    REQUIRE(!first || walk_wire(w) == 0);
    REQUIRE(step->timeout != 0 && step->timeout <= left);
    REQUIRE(!client || client->attempt_timeout == 0 || step->timeout <= client->attempt_timeout);
    REQUIRE(step->node < (client && client->nodes ? client->nodes : 1));
    REQUIRE(step->delay == 0 && step->cause == 0 && step->verdict == 0);
    if (step->copy > WALK_FURTHER || step->node >= WALK_NODES)
        return;
    w->stopped = w->stopped && !first;
    REQUIRE(!w->stopped);
    w->sent = first ? 1 : w->sent + 1;
    REQUIRE(w->sent <= 1 + w->further);
    REQUIRE(first || w->op.idempotent);
    REQUIRE(first || w->failed_copy || now >= w->copied + w->hedge.delay);
    w->failed_copy = w->failed_copy && !first;
    w->reached = w->reached && !first;
    w->copied = now;
    w->paid = first ? 0 : w->paid;
    if (!first && walk_pays(w)) {
        w->paid++;
        walk_spend(walk_copy_cost());
    }
    w->trying = true;
    w->wire[step->copy] = true;
    w->server[step->copy] = step->node;
    if (client == &walk.service.client)
        w->server[step->copy] = WALK_NODES;
    w->since[step->copy] = now;
    w->timeout[step->copy] = step->timeout;
}

static void walk_cancelled(struct walk_operation *w, const retry_step *step)
{
    REQUIRE(step->copy <= w->further && w->wire[step->copy]);
    REQUIRE(w->open || step->copy == walk_lowest(w, true));
    REQUIRE(step->timeout == 0 && step->delay == 0 && step->cause == 0);
    if (step->copy > WALK_FURTHER)
        return;
    REQUIRE(w->sent == 0 || w->op.ambiguous || w->op.verdict == RETRY_VERDICT_SUCCESS);
    w->wire[step->copy] = false;
    w->failed_copy = w->reached = true;
    if (w->sent != 0) { /* else it is of the operation before */
        w->failed |= 1u << w->server[step->copy];
        w->failed_last = w->server[step->copy];
    }
    walker.ill[w->server[step->copy]] = true;
    walker.holds[w->server[step->copy]].answered = false; /* its time may have been over */
}

/* Whether it may be a copy that few could follow: it is looked after while the budget may fill. */
static bool walk_lone(const struct walk_operation *w, const retry_step *step)
{
    const retry_client *client = w->op.client;
    return step->cause == RETRY_CAUSE_NONE && client && client->cut_after != 0 && client->budget;
}

static void walk_waits(struct walk_operation *w, const retry_step *step, bool early)
{
    REQUIRE(w->open);
    REQUIRE(step->delay != 0);
    REQUIRE(step->timeout == 0 && step->copy == 0 && step->node == 0 && step->verdict == 0);
    REQUIRE(step->cause == RETRY_CAUSE_STRATEGY || step->cause == RETRY_CAUSE_ALWAYS ||
            step->cause == RETRY_CAUSE_PACED || step->cause == RETRY_CAUSE_PENDING ||
            step->cause == RETRY_CAUSE_NONE);
    REQUIRE(step->cause != RETRY_CAUSE_NONE || walk_wire(w) != 0 || w->further != 0);
    REQUIRE(step->cause == RETRY_CAUSE_NONE || walk_wire(w) == 0);
    REQUIRE(step->cause != RETRY_CAUSE_PACED || step->delay < WALK_LONGEST_TURN);
    REQUIRE(!early || step->cause == w->last.cause);
    if (early && !walk_lone(w, step))
        REQUIRE(step->delay ==
                (w->last.delay == UINT32_MAX ? UINT32_MAX : (retry_ms)(w->due - now)));
    w->quiet = w->era == walker.era;
    w->due = now + step->delay;
}

static void walk_over(struct walk_operation *w, const retry_step *step)
{
    if (!w->started) {
        REQUIRE(step->verdict == RETRY_VERDICT_FAIL && step->cause == RETRY_CAUSE_MISUSE);
        return;
    }
    REQUIRE(walk_wire(w) == 0);
    REQUIRE(!walk_observed(w) || !w->open);
    REQUIRE(step->copy == 0 && step->node == 0 && step->timeout == 0);
    if (w->told) {
        REQUIRE(step->verdict == w->last.verdict && step->cause == w->last.cause &&
                step->delay == w->last.delay);
    } else if (walk_observed(w)) {
        REQUIRE(step->verdict == w->end.verdict && step->cause == w->end.cause &&
                step->delay == w->end.delay);
    }
    REQUIRE(step->verdict == RETRY_VERDICT_SUCCESS || step->verdict == RETRY_VERDICT_FAIL ||
            step->verdict == RETRY_VERDICT_EXPIRE);
    w->open = false;
    w->told = true;
}

/* A retry's delay is over when it was said to be. */
static void walk_check_delay(struct walk_operation *w, const retry_step *step)
{
    bool waits = step->what == RETRY_DO_WAIT && step->cause != RETRY_CAUSE_PACED;
    if (!w->delayed || step->what == RETRY_DO_CANCEL || step->what == RETRY_DO_END)
        return;
    if (waits)
        REQUIRE(now + step->delay == w->granted + w->delay);
    else
        REQUIRE(now >= w->granted + w->delay);
    w->delayed = waits;
}

/* What the ledger makes of a step; true: it goes on at once. */
static bool walk_step(struct walk_operation *w)
{
    bool early = w->quiet && w->last.cause != RETRY_CAUSE_PACED &&
                 (now < w->due || w->last.delay == UINT32_MAX);
    bool open = w->open;
    struct walk_before before;
    retry_step step;
    if (WALK_ALONE)
        walk_look(&before, w);
    step = retry_next(&w->op, instant());
    REQUIRE(!early || step.what == RETRY_DO_WAIT);
    REQUIRE(!w->told || step.what == RETRY_DO_END);
    w->quiet = false;
    walk_check_delay(w, &step);
    w->cancelling = step.what == RETRY_DO_CANCEL;
    w->settled = step.what >= RETRY_DO_WAIT;
    if (step.what == RETRY_DO_SEND)
        walk_sent(w, &step);
    else if (step.what == RETRY_DO_CANCEL)
        walk_cancelled(w, &step);
    else if (step.what == RETRY_DO_WAIT)
        walk_waits(w, &step, early);
    else
        walk_over(w, &step);
    if (WALK_ALONE && step.what == RETRY_DO_SEND)
        walk_passed(&before, w, &step);
    else if (WALK_ALONE && step.what == RETRY_DO_END && open && walk_observed(w))
        walk_refused(&before, w, &step);
    else if (WALK_ALONE && step.what == RETRY_DO_WAIT && step.cause == RETRY_CAUSE_PACED)
        walk_paced(&before, w);
    if (w->last.cause != RETRY_CAUSE_PACED)
        w->paced = now;
    else if (step.what == RETRY_DO_END || now > w->paced + WALK_LEAST_DEPTH)
        walk_lose_turn(w);
    w->last = step;
    walk_check_budget();
    walk_check_flight();
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
    retry_action action = retry_action_after(walk_ms());
    uint8_t how = byte();
    action.kind = (uint8_t)(how % 4);
    if (w->started && w->open)
        walk_touch(w);
    retry_answer(&w->op, action, instant());
}

/* The network is back: who waits for a retry waits no longer than the server asked, and nobody
   else's wait changes. */
static void walk_skip(struct walk_operation *w)
{
    bool waits = w->open && w->settled && w->last.what == RETRY_DO_WAIT &&
                 (w->last.cause == RETRY_CAUSE_STRATEGY || w->last.cause == RETRY_CAUSE_ALWAYS);
    retry_skip_wait(&w->op, instant());
    if (w->delayed && w->op.failure.retry_after < w->delay)
        w->delay = w->op.failure.retry_after;
    if (!waits)
        return;
    walk_touch(w);
    walk_step(w);
    REQUIRE(w->last.what != RETRY_DO_WAIT || w->last.cause == RETRY_CAUSE_PACED ||
            w->last.delay <= w->op.failure.retry_after);
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

/* To when one is due, a ms before, or somewhere. How long those wait who have seen the clock step
   back, or go on by weeks, is not known. */
static void walk_pass_time(void)
{
    uint8_t how = byte();
    uint64_t ms = how;
    uint32_t i;
    bool back;
    if (how < 0x70) {
        const struct walk_operation *w = &walk_ops[how % WALK_OPERATIONS];
        ms = w->quiet && w->due > now ? w->due - now : 1;
        ms = ms > 0x7fffffff ? 1 : ms;
        ms -= how & 0x40 && ms > 1;
    } else if (how >= 0xe0) {
        ms = how < 0xfa ? hostile() & 0xffff : word();
    }
    back = how >= 0xfd && ms < now;
    back = walk_tick(ms, back);
    walk_earn_base();
    if (WALK_ALONE && walk.based) /* it is told the time as often */
        (void)retry_budget_withdraw(&walk.budget, 0, instant());
    if (!back && now - walker.era_since <= 0x7fffffff)
        return;
    walker.era++;
    walker.era_since = now;
    walk_forget_buckets();
    for (i = 0; i < WALK_OPERATIONS; i++) {
        walk_ops[i].quiet = walk_ops[i].delayed = false;
        walk_ops[i].failed_copy = true;
    }
    memset(walker.holds, 0, sizeof walker.holds);
}

static void walk_call(uint8_t which)
{
    struct walk_operation *w = &walk_ops[which % WALK_OPERATIONS];
    switch (which / WALK_OPERATIONS % 16) {
    case 0:
    case 1:
        if (!w->open && w->settled)
            walk_start(w);
        break;
    case 2:
        if (chance(8))
            walk_start(w);
        else if (chance(6))
            walker.refusing = !walker.refusing;
        break;
    case 3:
    case 4:
    case 5:
        if (walk_lowest(w, true) <= WALK_FURTHER) {
            walk_end_copy(w, (unsigned)walk_lowest(w, true));
            if (!chance(4))
                walk_poll(w);
        }
        break;
    case 6:
        walk_end_copy(w, (unsigned)below(WALK_FURTHER + 1));
        break;
    case 7:
        walk_end_copy(w, (unsigned)hostile());
        break;
    case 8:
        walk_stop(w);
        break;
    case 9:
        if (chance(2))
            walk_answer(w);
        else
            walk_skip(w);
        break;
    case 10:
        if (chance(8))
            walk_stop(w);
        else
            walk_hedge(w);
        break;
    case 11:
        walk_step(w);
        break;
    case 12:
    case 13:
        walk_pass_time();
        break;
    default:
        walk_pass_time();
        walk_poll(w);
    }
    walk_check_budget();
}

/* Polls all; with `stop` it stops them before. */
static void walk_poll_all(bool stop)
{
    uint32_t i;
    for (i = 0; i < WALK_OPERATIONS; i++) {
        if (stop)
            walk_stop(&walk_ops[i]);
        walk_poll(&walk_ops[i]);
    }
}

/* As many calls as the bytes last for; then all is stopped. */
static void walk_on(const uint8_t *data, size_t size)
{
    bytes_start(data, size);
    walk_begin();
    while (bytes_left != 0) {
        uint8_t which = byte();
        walk_call(which);
        if (which >= 0xe0)
            walk_poll_all(false);
    }
    walk_poll_all(true);
    walk_poll_all(false); /* END again */
}

/* Nothing is left, of any thread; `spent` is what the ledgers of all come to. */
static void walk_check_end(uint32_t spent)
{
    uint32_t n;
    for (n = 0; n < WALK_SERVERS; n++)
        REQUIRE(walk_gates(n)->in_flight == 0);
    if (walk.exact)
        REQUIRE(retry_budget_balance(&walk.budget) == walk.budget.options.capacity - spent);
}

#ifndef WALK_THREADS

/* When nothing is kept, a rate lets pass what its bucket holds, and no more. */
static void walk_check_rate(uint32_t n)
{
    struct walk_bucket *bucket = &walker.buckets[n];
    retry_rate rate = walk.rates[n];
    retry_gates gates;
    retry_step step;
    if (bucket->spacing == 0)
        return;
    memset(&gates, 0, sizeof gates);
    rate.wait = WALK_LONGEST_TURN - 1;
    retry_gates_rate(&gates, &rate);
    step = by_hand_ask(&gates, 0, instant());
    walk_fill(bucket);
    REQUIRE(step.what == RETRY_DO_SEND || step.what == RETRY_DO_WAIT);
    bucket->most = walk_smaller(bucket->most, bucket->full);
    if (step.what == RETRY_DO_SEND)
        REQUIRE(bucket->most >= bucket->spacing);
    else if (bucket->known)
        REQUIRE(step.delay <= bucket->spacing - bucket->least);
}

/* With nothing on the wire no probe keeps a place from the next; unless the clock has jumped, to
   which a probe may have been silent for too long. */
static void walk_check_probes(void)
{
    uint32_t n;
    for (n = 0; n < WALK_NODES; n++) {
        retry_breaker breaker = walk.breakers[n];
        if (breaker.probes < 2 &&
            retry_breaker_state(&breaker, instant()) == RETRY_BREAKER_HALF_OPEN)
            REQUIRE(retry_breaker_ask(&breaker, true, instant()).granted);
    }
}

static void walk_through(const uint8_t *data, size_t size)
{
    uint32_t n;
    bytes_start(data, size);
    walk_set_up();
    walk_on(bytes_next, bytes_left);
    walk_check_end(walker.spent);
    if (walker.era == 0)
        walk_check_probes();
    for (n = 0; n < WALK_NODES; n++)
        walk_check_rate(n);
}

#endif /* WALK_THREADS */

#endif
