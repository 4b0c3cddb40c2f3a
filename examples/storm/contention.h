/* contention.h: clients that contend for one row under optimistic locking. Each reads the
   row's version, then writes; the write succeeds if nobody else has written since. Else the client
   backs off and reads again. This is the model of AWS's article on exponential backoff and jitter,
   whose numbers it reproduces with retry.h's delays. */
#ifndef STORM_CONTENTION_H
#define STORM_CONTENTION_H

#include "random.h"

#include "../../retry.h"
#include "../../tests/support/decide.h"

enum { WRITERS_MAX = 100 };

/* A backoff under test. */
typedef struct contender {
    const char *name;
    retry_backoff backoff;
    uint32_t first; /* `attempt` of the first delay: AWS's simulator counts from 1 */
} contender;

/* What a contention costs: means over many runs. */
typedef struct contention_cost {
    double time;   /* ms until the last client has written */
    double writes; /* tried, by all clients together */
} contention_cost;

/* A backoff that knows its request, so that a custom curve can go by the last delay. */
typedef struct writer_backoff {
    retry_backoff backoff; /* first, so that a pointer to it is a pointer to the whole */
    const retry_operation *request;
} writer_backoff;

typedef struct writer_strategy {
    retry_strategy base;
    writer_backoff own;
    uint32_t first;
} writer_strategy;

typedef struct writer {
    double next;      /* ms; when its message reaches the row; INFINITY once it has written */
    bool writing;     /* that message is a write */
    uint32_t version; /* that it has read */
    retry_operation request;
    writer_strategy strategy;
} writer;

typedef struct contention {
    dice *chance;
    retry_client client;
    uint32_t version, writes;
    double end; /* ms; when the last client so far heard of its success */
    uint32_t count;
    writer writers[WRITERS_MAX];
} contention;

/* AWS's decorrelated jitter: uniform from the base to three times the last delay, then capped (by
   the backoff's max). retry.h's own DECORRELATED caps the range first. */
static retry_ms aws_decorrelated(const retry_backoff *self, uint32_t attempt)
{
    const writer_backoff *own = (const writer_backoff *)(const void *)self;
    retry_ms last = own->request->delay ? own->request->delay : self->initial;
    uint64_t range = 3 * (uint64_t)last - self->initial + 1;
    (void)attempt;
    return self->initial + (retry_ms)((range * retry_random(own->request)) >> 32);
}

static retry_action writer_after(const retry_strategy *self, const retry_operation *request,
                                 const retry_failure *failure, retry_time now)
{
    const writer_strategy *strategy = (const writer_strategy *)(const void *)self;
    uint32_t attempt = request->retries + strategy->first;
    (void)failure;
    (void)now;
    return retry_action_after(retry_backoff_delay(&strategy->own.backoff, attempt, request->delay,
                                                  retry_random(request)));
}

static double dice_normal(dice *d, double mean, double deviation)
{
    double radius = sqrt(-2 * log(dice_unit(d)));
    return mean + deviation * radius * cos(6.283185307179586 * dice_unit(d));
}

/* ms that a message is under way. */
static double message(contention *c)
{
    return fabs(dice_normal(c->chance, 10, 2));
}

static void writer_start(contention *c, writer *w, const contender *which)
{
    static const retry_operation zero;
    w->request = zero;
    w->request.client = &c->client;
    w->request.strategy = &w->strategy.base;
    w->strategy.base.retry_after = writer_after;
    w->strategy.own.backoff = which->backoff;
    w->strategy.own.request = &w->request;
    w->strategy.first = which->first;
    w->writing = false;
    w->next = message(c);
    retry_start(&w->request, NULL, 0);
}

/* A read reaches the row: the reply goes back, and the write comes. */
static void row_read(contention *c, writer *w)
{
    w->version = c->version;
    w->writing = true;
    w->next += message(c) + message(c);
}

/* A write reaches the row: the reply goes back, and after a failure the next read comes. */
static void row_write(contention *c, writer *w)
{
    static const retry_failure conflict = {.reason = RETRY_REASON_KV_LOCKED};
    double told = w->next + message(c);
    c->writes++;
    w->writing = false;
    if (w->version == c->version) {
        c->version++;
        c->end = fmax(c->end, told);
        w->next = INFINITY;
        decide(&w->request, NULL, (retry_time)told);
    } else {
        decided decision = decide(&w->request, &conflict, (retry_time)told);
        w->next = told + decision.delay + message(c);
    }
}

/* The writer whose message comes first; so few are soon looked through. NULL: all have written. */
static writer *first_writer(contention *c)
{
    writer *first = &c->writers[0];
    for (uint32_t i = 1; i < c->count; i++) {
        if (c->writers[i].next < first->next)
            first = &c->writers[i];
    }
    return first->next < INFINITY ? first : NULL;
}

static void contention_run(contention *c, const contender *which)
{
    writer *w;
    c->version = 0;
    c->end = 0;
    for (uint32_t i = 0; i < c->count; i++)
        writer_start(c, &c->writers[i], which);
    while ((w = first_writer(c)) != NULL) {
        if (w->writing)
            row_write(c, w);
        else
            row_read(c, w);
    }
}

/* The mean cost of `runs` contentions among `count` clients. */
static contention_cost contention_measure(const contender *which, uint32_t count, uint32_t runs,
                                          dice *chance)
{
    static contention c;
    contention_cost cost = {0, 0};
    c.chance = chance;
    c.client.random = dice_bits;
    c.client.random_context = chance;
    c.count = count;
    c.writes = 0;
    for (uint32_t run = 0; run < runs; run++) {
        contention_run(&c, which);
        cost.time += c.end / runs;
    }
    cost.writes = (double)c.writes / runs;
    return cost;
}

#endif /* STORM_CONTENTION_H */
