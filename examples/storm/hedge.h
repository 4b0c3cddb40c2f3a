/* hedge.h: hedged requests. Most answers of a service come at once, a few hang for some hundred ms;
   a second copy, sent to another node, then often answers first. What does that cost, and what
   becomes of it when for ten seconds every answer takes 200 ms longer? */
#ifndef STORM_HEDGE_H
#define STORM_HEDGE_H

#include "ledger.h"
#include "report.h"

enum {
    HEDGE_CLIENTS = 50000,
    HEDGE_END = 50000, /* ms */
    HEDGE_SLOW_AT = 30000,
    HEDGE_SLOW_UNTIL = 40000,
    HEDGE_SLOWER = 200,
    HANG_SHARE = 2,  /* % of the answers */
    HANG_MEAN = 300, /* ms */
    TAIL = 4096
};

/* How attempts are hedged. */
typedef struct hedging {
    const char *name;
    bool hedged;
    retry_ms delay; /* before the second copy (0: the latency's 95 % quantile) */
    bool budget;    /* which pays for as many copies as a tenth of the requests */
} hedging;

static const hedging hedgings[] = {
    {"no hedges", false, 0, false},
    {"after the 95 % quantile, budget", true, 0, true},
    {"after the 95 % quantile", true, 0, false},
    {"after 100 ms", true, 100, false},
    {"after 1 ms", true, 1, false},
};

/* What was seen, normally and while all is slow. */
typedef struct hedge_tally {
    uint32_t operations, copies;
    uint32_t latencies[TAIL]; /* ms */
    uint32_t done;
} hedge_tally;

enum { HEDGE_COPIES = 2 };
enum { HEDGE_BEGIN, HEDGE_DUE, HEDGE_ANSWER };

typedef struct hedge_event {
    uint32_t next; /* in the same millisecond's list, or that of free ones */
    uint32_t client, serial;
    uint8_t what, copy, reply;
} hedge_event;

typedef struct hedge_client {
    retry_operation retry;
    retry_hedge hedge;
    retry_copy copies[HEDGE_COPIES - 1];
    uint32_t serial;             /* of its last event */
    uint32_t due;                /* that of its timer: all others are out of date */
    uint32_t sent[HEDGE_COPIES]; /* those of its copies' answers; 0: none is on the wire */
    uint32_t begun;              /* ms */
    uint8_t node;                /* of the last copy */
} hedge_client;

/* What clients of a group share. */
typedef struct hedge_group {
    retry_client client;
    retry_budget budget;
    retry_latency latency;
    retry_gates gates;
} hedge_group;

typedef struct hedge_world {
    const options *set;
    dice chance;
    uint32_t now; /* ms */
    service service;
    hedge_client *clients;
    hedge_group *groups;
    hedge_event *events; /* one for each client and each of its copies */
    uint32_t free;       /* the first one */
    uint32_t due[HEDGE_END];
    hedge_tally tallies[2]; /* normally, while all is slow */
} hedge_world;

/* Returns the event's serial number. */
static uint32_t hedge_schedule(hedge_world *w, uint32_t id, uint8_t what, uint8_t copy,
                               uint8_t answer, uint64_t at)
{
    uint32_t taken = w->free, serial = ++w->clients[id].serial;
    hedge_event *event = &w->events[taken];
    if (at >= HEDGE_END)
        return serial;
    w->free = event->next;
    event->client = id;
    event->serial = serial;
    event->what = what;
    event->copy = copy;
    event->reply = answer;
    event->next = w->due[at];
    w->due[at] = taken;
    return serial;
}

static hedge_group *hedge_group_of(hedge_world *w, uint32_t id)
{
    return &w->groups[id / w->set->sharing];
}

static bool hedge_is_slow(const hedge_world *w)
{
    return w->now >= HEDGE_SLOW_AT && w->now < HEDGE_SLOW_UNTIL;
}

/* The first ten seconds teach the latency and fill the buckets. */
static hedge_tally *hedge_tally_now(hedge_world *w)
{
    static hedge_tally warming;
    if (w->now < 10000 || w->now >= HEDGE_SLOW_UNTIL)
        return &warming;
    return &w->tallies[hedge_is_slow(w)];
}

static void hedge_think(hedge_world *w, uint32_t id)
{
    hedge_schedule(w, id, HEDGE_BEGIN, 0, 0,
                   w->now + (uint64_t)dice_exponential(&w->chance, w->set->think));
}

/* A copy goes to a node at random, but never to that of the copy before it. */
static void hedge_send(hedge_world *w, uint32_t id, uint8_t copy)
{
    hedge_client *c = &w->clients[id];
    uint32_t others = copy && w->set->nodes > 1 ? w->set->nodes - 1 : w->set->nodes;
    uint32_t node = (uint32_t)(((uint64_t)dice_bits(&w->chance) * others) >> 32);
    uint64_t back;
    reply answer;
    if (copy && node >= c->node && w->set->nodes > 1)
        node++;
    answer = service_take(&w->service, node, w->now + w->set->network, &w->chance);
    back = (uint64_t)answer.at + w->set->network + (hedge_is_slow(w) ? HEDGE_SLOWER : 0);
    if (dice_unit(&w->chance) * 100 < HANG_SHARE)
        back += (uint64_t)dice_exponential(&w->chance, HANG_MEAN);
    c->node = (uint8_t)node;
    hedge_tally_now(w)->copies++;
    c->sent[copy] = hedge_schedule(w, id, HEDGE_ANSWER, copy, answer.what, back);
}

static void hedge_finished(hedge_world *w, uint32_t id, bool done)
{
    uint32_t all = w->now - w->clients[id].begun;
    hedge_tally *seen = hedge_tally_now(w);
    w->clients[id].due = 0;
    if (done) {
        seen->latencies[all < TAIL ? all : TAIL - 1]++;
        seen->done++;
    }
    hedge_think(w, id);
}

/* Does what there is to do now. */
static void hedge_advance(hedge_world *w, uint32_t id)
{
    hedge_client *c = &w->clients[id];
    for (;;) {
        retry_step step = retry_next(&c->retry, w->now);
        switch (step.what) {
        case RETRY_DO_SEND:
            hedge_send(w, id, step.copy);
            break;
        case RETRY_DO_CANCEL:
            c->sent[step.copy] = 0;
            break;
        case RETRY_DO_WAIT:
            c->due = hedge_schedule(w, id, HEDGE_DUE, 0, 0, (uint64_t)w->now + step.delay);
            return;
        default:
            hedge_finished(w, id, step.verdict == RETRY_VERDICT_SUCCESS);
            return;
        }
    }
}

static void hedge_answer(hedge_world *w, const hedge_event *event)
{
    hedge_client *c = &w->clients[event->client];
    retry_failure failure = service_failure(&w->service, event->reply);
    c->sent[event->copy] = 0;
    retry_ended(&c->retry, event->copy, event->reply == REPLY_DONE ? NULL : &failure, w->now);
    hedge_advance(w, event->client);
}

static void hedge_happen(hedge_world *w, const hedge_event *event)
{
    hedge_client *c = &w->clients[event->client];
    if (event->what == HEDGE_BEGIN) {
        hedge_tally_now(w)->operations++;
        c->begun = w->now;
        retry_start(&c->retry, NULL, w->now);
        hedge_advance(w, event->client);
    } else if (event->what == HEDGE_DUE && event->serial == c->due) {
        hedge_advance(w, event->client);
    } else if (event->what == HEDGE_ANSWER && event->serial == c->sent[event->copy]) {
        hedge_answer(w, event);
    }
}

/* ---- The simulation ------------------------------------------------------------------------ */

static void hedge_join(hedge_world *w, uint32_t id, const hedging *how)
{
    static const retry_budget_options a_tenth = {.capacity = RETRY_TOKENS(10),
                                                 .retry_cost = RETRY_TOKENS(1),
                                                 .request_deposit = RETRY_TOKENS(0.1)};
    hedge_group *group = hedge_group_of(w, id);
    hedge_client *c = &w->clients[id];
    if (id % w->set->sharing == 0) {
        group->client.strategy = retry_fail_fast();
        group->client.gates = &group->gates;
        group->client.cut_after = w->set->cut_after;
        group->client.attempt_timeout = w->set->cut_after;
        retry_gates_latency(&group->gates, &group->latency);
        retry_budget_init(&group->budget, &a_tenth, 0);
        group->client.budget = how->budget ? &group->budget : NULL;
    }
    c->retry.client = &group->client;
    c->retry.idempotent = true;
    c->hedge.delay = how->delay;
    c->hedge.latency = &group->latency;
    c->hedge.copies = c->copies;
    c->hedge.count = HEDGE_COPIES - 1;
    retry_hedge_copies(&c->retry, how->hedged ? &c->hedge : NULL);
    hedge_think(w, id);
}

static uint32_t hedge_clients(const options *set)
{
    return set->clients < HEDGE_CLIENTS ? set->clients : HEDGE_CLIENTS;
}

static void hedge_free(hedge_world *w)
{
    free(w->clients);
    free(w->groups);
    free(w->events);
    free(w);
}

/* `set` without an outage. */
static hedge_world *hedge_world_new(const options *set, const hedging *how)
{
    uint32_t count = hedge_clients(set), events = count * 16;
    hedge_world *w = (hedge_world *)calloc(1, sizeof *w);
    if (!w || !(w->clients = (hedge_client *)calloc(count, sizeof *w->clients)) ||
        !(w->groups = (hedge_group *)calloc(count / set->sharing + 1, sizeof *w->groups)) ||
        !(w->events = (hedge_event *)calloc(events, sizeof *w->events)))
        refuse("not enough memory for %" PRIu32 " clients", count);
    w->set = set;
    w->chance.state = set->seed;
    service_begin(&w->service, set, count);
    w->service.hit = 0;
    for (uint32_t i = 0; i < events; i++)
        w->events[i].next = i + 1;
    for (uint32_t at = 0; at < HEDGE_END; at++)
        w->due[at] = NEVER;
    for (uint32_t id = 0; id < count; id++)
        hedge_join(w, id, how);
    return w;
}

static hedge_world *hedge_simulate(const options *set, const hedging *how)
{
    hedge_world *w = hedge_world_new(set, how);
    for (w->now = 0; w->now < HEDGE_END; w->now++) {
        uint32_t first;
        while ((first = w->due[w->now]) != NEVER) {
            hedge_event event = w->events[first];
            w->due[w->now] = event.next;
            w->events[first].next = w->free;
            w->free = first;
            hedge_happen(w, &event);
        }
        if (w->now % 1000 == 999)
            progress(hedge_clients(set), "hedging %s, second %" PRIu32, how->name,
                     w->now / 1000 + 1);
    }
    return w;
}

/* ---- The table ----------------------------------------------------------------------------- */

/* Copies beyond the first, in % of the operations. */
static double hedge_extra(const hedge_tally *seen)
{
    return 100.0 * (seen->copies - (double)seen->operations) / seen->operations;
}

/* ms within which `share` of the operations done were done; NEVER if there are none. */
static uint32_t hedge_quantile(const hedge_tally *seen, double share)
{
    double left = share * seen->done;
    uint32_t ms = 0;
    if (seen->done == 0)
        return NEVER;
    while (ms < TAIL - 1 && (left -= seen->latencies[ms]) > 0)
        ms++;
    return ms;
}

static double hedge_work(const options *set)
{
    return (double)hedge_clients(set) * HEDGE_END / 1000 * COUNT(hedgings);
}

/* A row of the table and one of the data, which has "-" for what there is not. */
static void hedge_row(const options *set, const hedging *how, const hedge_world *w, FILE *data)
{
    const hedge_tally *normal = &w->tallies[0], *slow = &w->tallies[1];
    char a[16], b[16], c[16], d[16], e[16];
    const char *p50 = whole(hedge_quantile(normal, 0.5), a);
    const char *p99 = whole(hedge_quantile(normal, 0.99), b);
    const char *p999 = whole(hedge_quantile(normal, 0.999), c);
    const char *slow99 = whole(hedge_quantile(slow, 0.99), d);
    printf("%-31s %7" PRIu32 " %5s %% %5s %5s %5s ", how->name, hedge_clients(set),
           percent(hedge_extra(normal), e), p50, p99, p999);
    printf("%5s %% %5s\n", percent(hedge_extra(slow), e), slow99);
    fprintf(data, "%s\t%.2f\t%s\t%.2f\t%s\n", how->name, hedge_extra(normal), p99,
            hedge_extra(slow), slow99);
}

static void hedge_part(const options *set)
{
    FILE *data = data_file(set, "hedging.tsv");
    printf("\n6. Hedging at a utilisation of %" PRIu32 " %%: %d %% of the answers hang for %d ms,\n"
           "   on average; then all are %d ms late for %d s\n\n"
           "%-31s           extra       latency, ms    late   p99\n"
           "%-31s clients    load   p50   p99 p99.9   extra    ms\n",
           set->utilisation, HANG_SHARE, HANG_MEAN, HEDGE_SLOWER,
           (HEDGE_SLOW_UNTIL - HEDGE_SLOW_AT) / 1000, "", "");
    fprintf(data, "how\textra load\tp99\tlate extra load\tlate p99\n");
    for (size_t i = 0; i < COUNT(hedgings); i++) {
        hedge_world *w = hedge_simulate(set, &hedgings[i]);
        progress_clear();
        hedge_row(set, &hedgings[i], w, data);
        hedge_free(w);
    }
    data_done(data);
    printf("The budget has 10 tokens and pays for a tenth of the requests.\n");
}

#endif /* STORM_HEDGE_H */
