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
enum { HEDGE_BEGIN, HEDGE_TIMER, HEDGE_ANSWER };

typedef struct hedge_event {
    uint32_t next; /* in the same millisecond's list, or that of free ones */
    uint32_t client, operation;
    uint8_t what, copy, reply;
} hedge_event;

typedef struct hedge_client {
    retry_request request;
    retry_hedge hedge;
    uint32_t operation; /* which one it is: what comes for an earlier one is late */
    uint32_t sent[HEDGE_COPIES];
    uint8_t copies, node; /* sent of this operation; the last one's node */
    bool waits[HEDGE_COPIES];
} hedge_client;

/* What clients of a group share. */
typedef struct hedge_group {
    retry_client client;
    retry_budget budget;
    retry_latency latency;
    retry_hedge_policy policy;
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

static void hedge_schedule(hedge_world *w, uint32_t id, uint8_t what, uint8_t copy, uint8_t answer,
                           uint64_t at)
{
    uint32_t taken = w->free;
    hedge_event *event = &w->events[taken];
    if (at >= HEDGE_END)
        return;
    w->free = event->next;
    event->client = id;
    event->operation = w->clients[id].operation;
    event->what = what;
    event->copy = copy;
    event->reply = answer;
    event->next = w->due[at];
    w->due[at] = taken;
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
    w->clients[id].operation++;
    hedge_schedule(w, id, HEDGE_BEGIN, 0, 0,
                   w->now + (uint64_t)dice_exponential(&w->chance, w->set->think));
}

/* A copy goes to a node at random, but never to that of the copy before it. */
static void hedge_send(hedge_world *w, uint32_t id)
{
    hedge_client *c = &w->clients[id];
    uint32_t others = c->copies && w->set->nodes > 1 ? w->set->nodes - 1 : w->set->nodes;
    uint32_t node = (uint32_t)(((uint64_t)dice_bits(&w->chance) * others) >> 32);
    uint64_t back, given_up = (uint64_t)w->now + w->set->attempt_timeout;
    reply answer;
    if (c->copies && node >= c->node && w->set->nodes > 1)
        node++;
    answer = service_take(&w->service, node, w->now + w->set->network, &w->chance);
    back = (uint64_t)answer.at + w->set->network + (hedge_is_slow(w) ? HEDGE_SLOWER : 0);
    if (dice_unit(&w->chance) * 100 < HANG_SHARE)
        back += (uint64_t)dice_exponential(&w->chance, HANG_MEAN);
    c->node = (uint8_t)node;
    c->sent[c->copies] = w->now;
    c->waits[c->copies] = true;
    hedge_tally_now(w)->copies++;
    hedge_schedule(w, id, HEDGE_ANSWER, c->copies++, back < given_up ? answer.what : REPLY_LOST,
                   back < given_up ? back : given_up);
}

/* The operation is over: copies that nobody waits for any more have taken at least so long. */
static void hedge_close(hedge_world *w, uint32_t id)
{
    hedge_client *c = &w->clients[id];
    for (uint32_t copy = 0; copy < c->copies; copy++) {
        if (c->waits[copy])
            retry_latency_add(&hedge_group_of(w, id)->latency, w->now - c->sent[copy], false);
    }
    hedge_think(w, id);
}

/* Does what the hedge says. */
static void hedge_follow(hedge_world *w, uint32_t id, retry_hedge_step step,
                         const retry_failure *failure)
{
    if (step.action == RETRY_HEDGE_SEND)
        hedge_send(w, id);
    if ((step.action == RETRY_HEDGE_SEND || step.action == RETRY_HEDGE_WAIT) &&
        step.delay != UINT32_MAX)
        hedge_schedule(w, id, HEDGE_TIMER, 0, 0, (uint64_t)w->now + step.delay);
    if (step.action == RETRY_HEDGE_FAIL) { /* and fail-fast retries nothing */
        retry_orchestrate(&w->clients[id].request, failure, w->now);
        hedge_close(w, id);
    }
}

static void hedge_answer(hedge_world *w, uint32_t id, const hedge_event *event)
{
    hedge_client *c = &w->clients[id];
    uint32_t took = w->now - c->sent[event->copy], all = w->now - c->sent[0];
    hedge_tally *seen = hedge_tally_now(w);
    retry_failure failure;
    c->waits[event->copy] = false;
    retry_latency_add(&hedge_group_of(w, id)->latency, took, event->reply == REPLY_DONE);
    if (event->reply != REPLY_DONE) {
        failure = service_failure(&w->service, event->reply);
        hedge_follow(w, id, retry_hedge_failed(&c->hedge, &c->request, &failure, w->now), &failure);
        return;
    }
    retry_hedge_won(&c->hedge);
    retry_succeed(&c->request, w->now);
    seen->latencies[all < TAIL ? all : TAIL - 1]++;
    seen->done++;
    hedge_close(w, id);
}

static void hedge_happen(hedge_world *w, const hedge_event *event)
{
    hedge_client *c = &w->clients[event->client];
    if (event->operation != c->operation)
        return; /* it was cancelled */
    if (event->what == HEDGE_BEGIN) {
        hedge_tally_now(w)->operations++;
        c->copies = 0;
        retry_begin(&c->request, w->now);
        hedge_follow(w, event->client, retry_hedge_begin(&c->hedge, &c->request, w->now), NULL);
    } else if (event->what == HEDGE_TIMER) {
        hedge_follow(w, event->client, retry_hedge_due(&c->hedge, &c->request, w->now), NULL);
    } else {
        hedge_answer(w, event->client, event);
    }
}

/* ---- The simulation ------------------------------------------------------------------------ */

static void hedge_join(hedge_world *w, uint32_t id, const hedging *how)
{
    static const retry_budget_options a_tenth = {
        .capacity = 10000, .retry_cost = 1000, .request_deposit = 100};
    hedge_group *group = hedge_group_of(w, id);
    hedge_client *c = &w->clients[id];
    if (id % w->set->sharing == 0) {
        group->client.strategy = retry_fail_fast();
        group->policy.delay = how->delay;
        group->policy.latency = &group->latency;
        retry_budget_init(&group->budget, &a_tenth, 0);
        group->client.budget = how->budget ? &group->budget : NULL;
    }
    c->request.client = &group->client;
    c->request.idempotent = true;
    c->hedge.policy = how->hedged ? &group->policy : NULL;
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
    uint32_t count = hedge_clients(set), events = count * (HEDGE_COPIES + 3);
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
