/* nodes.c: three servers that can do the same, one of which is bad. What do callers see?

       make nodes

   A client with retry.h, as its manual's chapter SEVERAL NODES has it, beside three others: round
   robin with three tries, as gRPC has it; the same, and a node is left out for 30 s after five
   failures in a row, as Envoy does; the next node at once, two rounds. One to 1,000 processes, each
   with such a client, call 0.1 to 200 times a second. An answer takes 50 ms, an operation may take
   5 s. Counted are the operations that begin while the fault lasts. The exit status is 1 if
   something is not as promised. Time is simulated, in ms. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "random.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES = 3,
    COPIES = 2,
    QUEUE = 4096,
    TIMEOUT = 5000,
    ATTEMPT = 1000,
    MOST_EVENTS = 1 << 18,
    MOST_CALLS = 1 << 16
};
enum { AS_ADVISED, ROUND_ROBIN, EJECTION, NEXT_AT_ONCE, HEDGED };
enum {
    DARK,
    REFUSED,
    E500,
    E429,
    LATE_429,
    E503_1_H,
    SLOW,
    DISTANT, /* slow, but it does as much in a second; no operation is idempotent */
    CERTIFICATE,
    FLAPPING,
    READ_ONLY,
    LOSSY,
    ALL_FULL,
    ALL_503,
    ALL_FROZEN,
    ROLLING
};

static const struct {
    const char *name;
    uint8_t fault, bad; /* how many nodes are */
    bool hedged;
} worlds[] = {
    {"one is dark", DARK, 1, false},
    {"one refuses connections", REFUSED, 1, false},
    {"one says 500 after 1 ms", E500, 1, false},
    {"one says 429 after 1 ms", E429, 1, false},
    {"one says 429 after 50 ms", LATE_429, 1, false},
    {"one says 503, Retry-After 1 h", E503_1_H, 1, false},
    {"one is ten times slower", SLOW, 1, false},
    {"one takes 700 ms, none is repeated", DISTANT, 1, false},
    {"one has a bad certificate", CERTIFICATE, 1, false},
    {"one is gone for 2 of 4 s", FLAPPING, 1, false},
    {"one is read-only, half writes", READ_ONLY, 1, false},
    {"one loses 20 %", LOSSY, 1, false},
    {"all are 120 % busy", ALL_FULL, NODES, false},
    {"all say 503 for 10 s", ALL_503, NODES, false},
    {"all are frozen for 5 s", ALL_FROZEN, NODES, false},
    {"each restarts in turn, 5 s", ROLLING, 1, false},
    {"two are dark", DARK, 2, false},
    {"two say 500 after 1 ms", E500, 2, false},
    {"two say 429 after 1 ms", E429, 2, false},
    {"one is dark, with hedges", DARK, 1, true},
};
enum { WORLDS = sizeof worlds / sizeof worlds[0], ONE_BAD = 12, ALL_BAD = 15 };

/* While all nodes are in trouble those who take no node for ill get 84.5, 80.0 and 96.0 % done, in
   the order of worlds (1 x 200); 46.2, 80.7 and 85.1 (20 x 10); 0, 73.7 and 80.3 (1000 x 0.2). To
   take each node for a server of its own costs a point at most. */
static const struct {
    uint32_t processes;
    double calls;                    /* a second, of each */
    double least[ALL_BAD - ONE_BAD]; /* % that is promised while all nodes are in trouble */
} loads[] = {{1, 0.1, {0, 0, 0}},          {1, 1, {0, 0, 0}},
             {1, 10, {0, 0, 0}},           {1, 200, {83.5, 79, 95}},
             {20, 10, {45.2, 79.7, 84.1}}, {1000, 0.2, {0, 72.7, 79.3}}};
enum { LOADS = sizeof loads / sizeof loads[0] };

typedef struct process {
    retry_service service;
    retry_gates gates[NODES];
    retry_aimd limits[NODES];
    uint32_t turn, in_a_row[NODES]; /* of the others */
    double tokens, out_until[NODES];
} process;

typedef struct call {
    retry_operation op;
    retry_hedge hedge;
    retry_copy copies[COPIES - 1];
    process *by;
    bool used, writes;
    uint32_t tries, node, began, next; /* next: of those that are free */
    uint32_t sent[COPIES], wake;       /* which event is waited for; 0: none */
} call;

enum { ARRIVES, WAKES, ANSWERS, IS_DONE, THAWS };
enum {
    GOOD,
    SAYS_500,
    SAYS_503,
    SAYS_429,
    SAYS_503_1_H,
    IS_REFUSED,
    HAS_CERTIFICATE,
    SAYS_READ_ONLY
};

typedef struct event {
    double at;
    uint8_t what;
    uint32_t call, copy, id, node;
    uint8_t answer;
} event;

typedef struct server {
    event queue[QUEUE];
    uint32_t first, waiting, busy;
} server;

static struct {
    dice chance;
    event events[MOST_EVENTS];
    uint32_t pending, ids, calls, free, workers, room;
    server servers[NODES];
    call *all;
    process *processes;
    uint32_t way, world, load;
    double now, from, to, service; /* ms: the fault's, and what an answer takes */
    uint32_t begun, done, attempts;
    double waited;
} sim;

static void full(const char *what)
{
    fprintf(stderr, "nodes: too many %s\n", what);
    exit(2);
}

/* ---- Events -------------------------------------------------------------------------------- */

static void plan(event e)
{
    uint32_t i = sim.pending++;
    if (sim.pending == MOST_EVENTS)
        full("events");
    for (; i != 0 && sim.events[(i - 1) / 2].at > e.at; i = (i - 1) / 2)
        sim.events[i] = sim.events[(i - 1) / 2];
    sim.events[i] = e;
}

static event take(void)
{
    event first = sim.events[0], last = sim.events[--sim.pending];
    uint32_t i = 0, child;
    while ((child = 2 * i + 1) < sim.pending) {
        child += child + 1 < sim.pending && sim.events[child + 1].at < sim.events[child].at;
        if (sim.events[child].at >= last.at)
            break;
        sim.events[i] = sim.events[child];
        i = child;
    }
    sim.events[i] = last;
    return first;
}

/* ---- Servers ------------------------------------------------------------------------------- */

static bool is_bad(uint32_t node)
{
    double since = sim.now - sim.from;
    if (since < 0 || sim.now >= sim.to)
        return false;
    switch (worlds[sim.world].fault) {
    case ALL_FULL:
        return false; /* but they are too few */
    case ALL_503:
        return since < 10000;
    case ALL_FROZEN:
        return since < 5000;
    case ROLLING:
        return (uint32_t)(since / 5000) == node;
    case FLAPPING:
        return node == 0 && (uint32_t)(since / 2000) % 2 == 1;
    default:
        return node < worlds[sim.world].bad;
    }
}

static void work(uint32_t node)
{
    server *s = &sim.servers[node];
    uint8_t fault = worlds[sim.world].fault;
    bool distant = fault == DISTANT && is_bad(node);
    double slower = distant ? 14 : fault == SLOW && is_bad(node) ? 10 : 1;
    while (s->busy < (distant ? sim.workers * 14 : sim.workers) && s->waiting != 0 &&
           !(fault == ALL_FROZEN && is_bad(node))) {
        event e = s->queue[s->first];
        s->first = (s->first + 1) % QUEUE;
        s->waiting--;
        s->busy++;
        e.at = sim.now + sim.service * slower * (0.8 + 0.4 * dice_unit(&sim.chance));
        e.what = IS_DONE;
        plan(e);
    }
}

static void answer(event e, double after, uint8_t how)
{
    e.what = ANSWERS;
    e.at = sim.now + after;
    e.answer = how;
    plan(e);
}

/* What a bad node does at once; false: what any other does. */
static bool fails(event e)
{
    static const struct {
        uint8_t fault, answer;
        double after;
    } answers[] = {
        {REFUSED, IS_REFUSED, 1}, {FLAPPING, IS_REFUSED, 1},   {ROLLING, IS_REFUSED, 1},
        {E500, SAYS_500, 1},      {ALL_503, SAYS_503, 1},      {E429, SAYS_429, 1},
        {LATE_429, SAYS_429, 50}, {E503_1_H, SAYS_503_1_H, 1}, {CERTIFICATE, HAS_CERTIFICATE, 1},
    };
    uint8_t fault = worlds[sim.world].fault;
    if (fault == DARK || (fault == LOSSY && dice_bits(&sim.chance) % 5 == 0))
        return true;
    for (uint32_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (answers[i].fault == fault) {
            answer(e, answers[i].after, answers[i].answer);
            return true;
        }
    }
    if (fault != READ_ONLY || !sim.all[e.call].writes)
        return false;
    answer(e, 1, SAYS_READ_ONLY);
    return true;
}

static void send_to(uint32_t number, uint32_t copy, uint32_t node)
{
    server *s = &sim.servers[node];
    call *of = &sim.all[number];
    event e = {sim.now, ANSWERS, number, copy, ++sim.ids, node, GOOD};
    of->sent[copy] = e.id;
    of->node = node;
    sim.attempts += of->began >= sim.from && of->began < sim.to;
    if (is_bad(node) && fails(e))
        return;
    if (s->waiting >= sim.room) {
        answer(e, 1, SAYS_503);
        return;
    }
    s->queue[(s->first + s->waiting++) % QUEUE] = e;
    work(node);
}

/* ---- Clients ------------------------------------------------------------------------------- */

static void over(uint32_t number, bool done)
{
    call *of = &sim.all[number];
    if (of->began >= sim.from && of->began < sim.to) {
        sim.begun++;
        sim.done += done;
        sim.waited += sim.now - of->began;
    }
    memset(of->sent, 0, sizeof of->sent);
    of->wake = 0;
    of->used = false;
    of->next = sim.free;
    sim.free = number;
}

static void wake_in(uint32_t number, double ms)
{
    event e = {sim.now + ms, WAKES, number, 0, ++sim.ids, 0, GOOD};
    sim.all[number].wake = e.id;
    plan(e);
}

static void drive(uint32_t number)
{
    call *of = &sim.all[number];
    for (;;) {
        retry_step step = retry_next(&of->op, (retry_time)sim.now);
        if (step.what == RETRY_DO_END) {
            over(number, step.verdict == RETRY_VERDICT_SUCCESS);
            return;
        }
        if (step.what == RETRY_DO_WAIT) {
            if (step.delay != UINT32_MAX)
                wake_in(number, step.delay);
            return;
        }
        if (step.what == RETRY_DO_SEND)
            send_to(number, step.copy, step.node);
        else
            of->sent[step.copy] = 0;
    }
}

/* What HTTP says of it; a node whose certificate is bad, or which is read-only, is the wrong one.
 */
static retry_failure failure_of(uint8_t how)
{
    retry_failure wrong =
        retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_NODE_NOT_AVAILABLE);
    switch (how) {
    case SAYS_500:
        return retry_classify_http(500, 0);
    case SAYS_503:
        return retry_classify_http(503, 0);
    case SAYS_429:
        return retry_classify_http(429, 0);
    case SAYS_503_1_H:
        return retry_classify_http(503, 3600000);
    case IS_REFUSED:
        return retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE);
    default:
        return wrong;
    }
}

/* The others: each attempt may take a second. */
static void other_tries(uint32_t number)
{
    call *of = &sim.all[number];
    process *by = of->by;
    uint32_t node = by->turn++ % NODES;
    double left = of->began + TIMEOUT - sim.now;
    for (uint32_t i = 0; i < NODES && sim.way == EJECTION && by->out_until[node] > sim.now; i++)
        node = by->turn++ % NODES;
    of->tries++;
    wake_in(number, left < ATTEMPT ? left : ATTEMPT);
    send_to(number, 0, node);
}

static void other_ended(uint32_t number, uint8_t how, bool timed_out)
{
    call *of = &sim.all[number];
    process *by = of->by;
    uint32_t most = worlds[sim.world].fault == DISTANT ? 1
                    : sim.way == NEXT_AT_ONCE          ? 2 * NODES
                                                       : 3;
    double random = dice_unit(&sim.chance), wait = 0;
    of->sent[0] = of->wake = 0;
    if (!timed_out && how == GOOD) {
        by->in_a_row[of->node] = 0;
        by->tokens += by->tokens < 10 ? 0.1 : 0;
        over(number, true);
        return;
    }
    if (++by->in_a_row[of->node] == 5 && sim.way == EJECTION) {
        by->out_until[of->node] = sim.now + 30000;
        by->in_a_row[of->node] = 0;
    }
    by->tokens -= by->tokens >= 1 ? 1 : 0;
    if (sim.way == ROUND_ROBIN)
        wait = (50 << of->tries) * (0.8 + 0.4 * random);
    else if (sim.way == EJECTION)
        wait = 25 * random * ((1 << of->tries) - 1);
    if (of->tries >= most || (sim.way == ROUND_ROBIN && by->tokens <= 5) ||
        sim.now + wait >= of->began + TIMEOUT)
        over(number, false);
    else
        wake_in(number, wait);
}

static void woken(uint32_t number)
{
    if (sim.way == AS_ADVISED || sim.way == HEDGED)
        drive(number);
    else if (sim.all[number].sent[0] != 0)
        other_ended(number, GOOD, true);
    else
        other_tries(number);
}

static void answered(const event *e)
{
    call *of = &sim.all[e->call];
    retry_failure failure = failure_of(e->answer);
    if (of->sent[e->copy] != e->id)
        return; /* nobody waits for it */
    if (sim.way != AS_ADVISED && sim.way != HEDGED) {
        other_ended(e->call, e->answer, false);
        return;
    }
    of->sent[e->copy] = 0;
    retry_ended(&of->op, e->copy, e->answer == GOOD ? NULL : &failure, (retry_time)sim.now);
    drive(e->call);
}

static void begin_call(void)
{
    uint32_t number = sim.free;
    call *of;
    if (number == UINT32_MAX) {
        number = sim.calls++;
        if (number == MOST_CALLS)
            full("operations");
        sim.all[number].next = UINT32_MAX;
    }
    of = &sim.all[number];
    sim.free = of->next;
    memset(of, 0, sizeof *of);
    of->used = true;
    of->by = &sim.processes[dice_bits(&sim.chance) % loads[sim.load].processes];
    of->writes = dice_bits(&sim.chance) % 2;
    of->began = (uint32_t)sim.now;
    if (sim.way != AS_ADVISED && sim.way != HEDGED) {
        other_tries(number);
        return;
    }
    of->op.timeout = TIMEOUT;
    of->op.idempotent = worlds[sim.world].fault != DISTANT;
    if (sim.way == HEDGED) {
        of->hedge.delay = 150;
        of->hedge.copies = of->copies;
        of->hedge.count = COPIES - 1;
        retry_hedge_copies(&of->op, &of->hedge);
    }
    retry_start(&of->op, &of->by->service, (retry_time)sim.now);
    drive(number);
}

/* ---- A run --------------------------------------------------------------------------------- */

static void set_up_process(process *by)
{
    retry_client *client = &by->service.client;
    memset(by, 0, sizeof *by);
    by->turn = dice_bits(&sim.chance) % NODES;
    by->tokens = 10;
    client->random = dice_bits;
    client->random_context = &sim.chance;
    client->cut_after = 500;
    client->attempt_timeout = ATTEMPT;
    retry_client_nodes(client, by->gates, NODES);
    retry_service_init(&by->service, 0);
    for (uint32_t i = 0; i < NODES; i++)
        retry_gates_aimd(&by->gates[i], &by->limits[i]);
}

/* A healthy time, the fault, and the end of what began in it. */
static void set_up(uint32_t way, uint32_t world, uint32_t load, uint64_t seed)
{
    double total = loads[load].processes * loads[load].calls; /* a second */
    sim.chance.state = seed * 0x9e3779b9u + 1;
    sim.way = way;
    sim.world = world;
    sim.load = load;
    sim.pending = sim.calls = sim.begun = sim.done = sim.attempts = 0;
    sim.free = UINT32_MAX;
    sim.waited = 0;
    memset(sim.servers, 0, sizeof sim.servers);
    sim.from = total < 10 ? 100000 / total : 10000;
    sim.to = sim.from + (total < 10 ? 300000 / total : 30000);
    if (worlds[world].fault == ROLLING)
        sim.to = sim.from + 5000 * NODES;
    sim.service = 50;
    sim.workers = 2 + (uint32_t)(total * 0.05 / (NODES - 1) * 1.6);
    if (worlds[world].fault == ALL_FULL) {
        sim.workers = 4;
        sim.service = NODES * sim.workers * 1.2 * 1000 / total;
    }
    sim.room = (uint32_t)(2000 / sim.service * sim.workers);
    sim.room = sim.room < 20 ? 20 : sim.room < QUEUE ? sim.room : QUEUE - 1;
    for (uint32_t i = 0; i < loads[load].processes; i++)
        set_up_process(&sim.processes[i]);
}

static void run(void)
{
    double gap = 1000 / (loads[sim.load].processes * loads[sim.load].calls);
    plan((event){1, ARRIVES, 0, 0, 0, 0, GOOD});
    for (uint32_t node = 0; node < NODES; node++)
        plan((event){sim.from + 5000, THAWS, 0, 0, 0, node, GOOD});
    for (;;) {
        event e = take();
        if (e.at > sim.to + TIMEOUT + ATTEMPT)
            return;
        sim.now = e.at;
        if (e.what == ARRIVES) {
            plan((event){sim.now + gap * (0.2 + 1.6 * dice_unit(&sim.chance)), ARRIVES, 0, 0, 0, 0,
                         GOOD});
            begin_call();
        } else if (e.what == WAKES && sim.all[e.call].wake == e.id) {
            sim.all[e.call].wake = 0;
            woken(e.call);
        } else if (e.what == ANSWERS) {
            answered(&e);
        } else if (e.what == IS_DONE) {
            sim.servers[e.node].busy--;
            answered(&e);
            work(e.node);
        } else if (e.what == THAWS) {
            work(e.node);
        }
    }
}

/* ---- The table ----------------------------------------------------------------------------- */

static double percent(void)
{
    return sim.begun ? 100.0 * sim.done / sim.begun : 0;
}

/* One row; how many of its promises were missed. */
static uint32_t row(uint32_t world, uint32_t load)
{
    uint32_t way = worlds[world].hedged ? HEDGED : AS_ADVISED;
    double done, attempts, least = 0;
    bool missed;
    set_up(way, world, load, 1);
    run();
    done = percent();
    attempts = (double)sim.attempts / sim.begun;
    printf("  %4u x %-5g %6.1f %8.2f %6.0f |", (unsigned)loads[load].processes, loads[load].calls,
           done, attempts, sim.waited / sim.begun);
    for (way = ROUND_ROBIN; way <= NEXT_AT_ONCE; way++) {
        set_up(way, world, load, 1);
        run();
        printf(" %6.1f", percent());
    }
    if (world < ONE_BAD)
        least = 99;
    else if (world < ALL_BAD)
        least = loads[load].least[world - ONE_BAD];
    missed = done < least || (world < ONE_BAD && attempts > 1.35);
    printf("%s\n", missed ? "  MISSED" : "");
    return missed;
}

int main(void)
{
    uint32_t missed = 0;
    sim.all = calloc(MOST_CALLS, sizeof *sim.all);
    sim.processes = calloc(1000, sizeof *sim.processes);
    if (!sim.all || !sim.processes)
        return 2;
    printf("Three nodes. What retry.h does: %% done, attempts an operation, ms on average.\n"
           "What others have done: round robin, three tries; the same, and out for 30 s\n"
           "after five failures in a row; the next node at once.\n");
    for (uint32_t world = 0; world < WORLDS; world++) {
        printf("\n%s\n  processes    done attempts     ms |  robin    out   next\n",
               worlds[world].name);
        for (uint32_t load = 0; load < LOADS; load++) {
            if (world < ONE_BAD || world >= ALL_BAD || loads[load].least[1] != 0)
                missed += row(world, load);
        }
    }
    printf("\nOne bad node: 99 %% done at least, 1.35 attempts at most. %s\n",
           missed ? "MISSED" : "All as promised.");
    return missed != 0;
}
