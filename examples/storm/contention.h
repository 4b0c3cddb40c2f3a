/* contention.h: clients that contend for one row under optimistic locking. Each reads the
   row's version, then writes; the write succeeds if nobody else has written since. Else the client
   backs off and reads again. This is the model of AWS's article on exponential backoff and jitter,
   whose numbers it reproduces with retry.h's delays. */
#ifndef STORM_CONTENTION_H
#define STORM_CONTENTION_H

#include "random.h"
#include "report.h"
#include "schemes.h"

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
    const retry_request *request;
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
    retry_request request;
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
    retry_ms last = own->request->last_delay ? own->request->last_delay : self->initial;
    uint64_t range = 3 * (uint64_t)last - self->initial + 1;
    (void)attempt;
    return self->initial + (retry_ms)((range * retry_random(own->request)) >> 32);
}

static retry_action writer_after(const retry_strategy *self, retry_request *request,
                                 const retry_failure *failure, retry_time now)
{
    const writer_strategy *strategy = (const writer_strategy *)(const void *)self;
    uint32_t attempt = request->attempts + strategy->first;
    (void)failure;
    (void)now;
    return retry_action_after(retry_backoff_delay(&strategy->own.backoff, attempt,
                                                  request->last_delay, retry_random(request)));
}

/* ms that a message is under way. */
static double message(contention *c)
{
    return fabs(dice_normal(c->chance, 10, 2));
}

static void writer_start(contention *c, writer *w, const contender *which)
{
    static const retry_request zero;
    w->request = zero;
    w->request.client = &c->client;
    w->request.strategy = &w->strategy.base;
    w->strategy.base.retry_after = writer_after;
    w->strategy.own.backoff = which->backoff;
    w->strategy.own.request = &w->request;
    w->strategy.first = which->first;
    w->writing = false;
    w->next = message(c);
    retry_begin(&w->request, 0);
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
        retry_succeed(&w->request, (retry_time)told);
    } else {
        retry_decision decision = retry_orchestrate(&w->request, &conflict, (retry_time)told);
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

/* ---- The tables ---------------------------------------------------------------------------- */

enum { RUNS = 400, TIME_TOLERANCE = 5, WRITES_TOLERANCE = 3, ARTICLE = 5 };
enum {
    WRITER_WORK = 450
}; /* units for each of `count` writers, squared: all read and write anew */

/* The first ARTICLE are of AWS's article, base 5 ms and cap 2 s; the rest is retry.h's. */
static const contender contenders[] = {
    {"none", {.curve = RETRY_CURVE_TABLE, .table = at_once, .table_length = 1}, 1},
    {"exponential", {.initial = 5, .max = 2000}, 1},
    {"equal", {.jitter = RETRY_JITTER_EQUAL, .initial = 5, .max = 2000}, 1},
    {"full", {.jitter = RETRY_JITTER_FULL, .initial = 5, .max = 2000}, 1},
    {"decorrelated (AWS)",
     {.curve = RETRY_CURVE_CUSTOM, .initial = 5, .max = 2000, .custom = aws_decorrelated},
     1},
    {"DECORRELATED", {.jitter = RETRY_JITTER_DECORRELATED, .initial = 5, .max = 2000}, 1},
    {"BEST_EFFORT", RETRY_BACKOFF_BEST_EFFORT, 0},
    {"RFC0049", RETRY_BACKOFF_RFC0049, 0},
    {"CONTROLLED", RETRY_BACKOFF_CONTROLLED, 0},
    {"AWS", RETRY_BACKOFF_AWS, 0},
    {"AWS_2026", RETRY_BACKOFF_AWS_2026, 0},
    {"GRPC", RETRY_BACKOFF_GRPC, 0},
};

enum { CONTENDERS_MAX = COUNT(contenders) + 1 };

/* Those of the table, and the operator's behind them. Returns how many there are. */
static size_t list_contenders(const options *chosen, contender list[CONTENDERS_MAX])
{
    contender *own = &list[COUNT(contenders)];
    memcpy(list, contenders, sizeof contenders);
    if (chosen->own_count == 0)
        return COUNT(contenders);
    own->name = "yours";
    own->backoff = chosen->own[chosen->own_count - 1].policy.backoff;
    own->first = 0;
    return CONTENDERS_MAX;
}

/* What the article's simulator gives: ms and writes. The last one is to be reproduced. */
static const struct {
    uint32_t count;
    contention_cost costs[ARTICLE];
} article[] = {
    {10, {{382, 50}, {3590, 51}, {732, 42}, {465, 38}, {434, 37}}},
    {50, {{1132, 687}, {36237, 624}, {4303, 347}, {2922, 332}, {2164, 376}}},
    {100, {{2027, 2421}, {62862, 1853}, {6658, 812}, {4879, 797}, {4530, 1002}}},
};

static double difference(double number, double expected)
{
    return (number / expected - 1) * 100;
}

/* A line of the table. `expected` NULL: none is known; `binding`: it has tolerances. */
static void contention_line(const char *name, const contention_cost *cost,
                            const contention_cost *expected, bool binding)
{
    const char *judgement = "";
    printf("%-19s %8.0f", name, cost->time);
    if (!expected) {
        printf("%27.0f\n", cost->writes);
        return;
    }
    if (binding) {
        bool time = keeps(cost->time, expected->time, TIME_TOLERANCE);
        bool writes = keeps(cost->writes, expected->writes, WRITES_TOLERANCE);
        judgement = time && writes ? "  kept" : "  MISSED";
    }
    printf(" %8.0f %+6.1f %% %8.0f %8.0f %+6.1f %%%s\n", expected->time,
           difference(cost->time, expected->time), cost->writes, expected->writes,
           difference(cost->writes, expected->writes), judgement);
}

/* All contenders among so many clients: a row of the data, and a table if numbers are known. */
static void contention_compare(const options *chosen, FILE *data, uint32_t count,
                               const contention_cost *expected, dice *chance)
{
    contender list[CONTENDERS_MAX];
    size_t listed = list_contenders(chosen, list);
    bool binding = count == article[COUNT(article) - 1].count;
    fprintf(data, "%" PRIu32, count);
    if (expected)
        printf("\n%3" PRIu32 " clients %16s  article   diff. %10s  article   diff.\n", count,
               "time, ms", "writes");
    for (size_t i = 0; i < listed; i++) {
        contention_cost cost = contention_measure(&list[i], count, RUNS, chance);
        progress((double)count * count * WRITER_WORK, "contention: %" PRIu32 " clients, %s", count,
                 list[i].name);
        fprintf(data, "\t%.1f\t%.1f", cost.time, cost.writes);
        progress_clear();
        if (expected)
            contention_line(list[i].name, &cost, i < ARTICLE ? &expected[i] : NULL, binding);
    }
    fprintf(data, "\n");
}

/* The article's numbers, for the plot. */
static void article_data(const options *chosen)
{
    FILE *data = data_file(chosen, "article.tsv");
    fprintf(data, "clients");
    for (size_t i = 0; i < ARTICLE; i++)
        fprintf(data, "\t%s time\t%s writes", contenders[i].name, contenders[i].name);
    for (size_t n = 0; n < COUNT(article); n++) {
        fprintf(data, "\n%" PRIu32, article[n].count);
        for (size_t i = 0; i < ARTICLE; i++)
            fprintf(data, "\t%.0f\t%.0f", article[n].costs[i].time, article[n].costs[i].writes);
    }
    fprintf(data, "\n");
    data_done(data);
}

/* Whether so many clients are simulated: those of the article, and between them for the plot. */
static bool contention_wanted(const options *chosen, uint32_t count)
{
    return !chosen->quick || count == 10 || count == 50 || count == 100;
}

/* Units of work that the part is. */
static double contention_work(const options *chosen)
{
    double units = 0;
    for (uint32_t count = 10; count <= WRITERS_MAX; count += 10)
        units += contention_wanted(chosen, count) * (double)count * count * WRITER_WORK;
    return units * COUNT(contenders);
}

static void contention_part(const options *chosen)
{
    contender list[CONTENDERS_MAX];
    size_t listed = list_contenders(chosen, list);
    FILE *data = data_file(chosen, "contention.tsv");
    dice chance = {chosen->seed};
    printf("1. Contention: N clients write one row, optimistic locking, means over %d runs\n",
           RUNS);
    article_data(chosen);
    fprintf(data, "clients");
    for (size_t i = 0; i < listed; i++)
        fprintf(data, "\t%s time\t%s writes", list[i].name, list[i].name);
    fprintf(data, "\n");
    for (uint32_t count = 10; count <= WRITERS_MAX; count += 10) {
        const contention_cost *expected = NULL;
        for (size_t i = 0; i < COUNT(article); i++) {
            if (article[i].count == count)
                expected = article[i].costs;
        }
        if (contention_wanted(chosen, count))
            contention_compare(chosen, data, count, expected, &chance);
    }
    data_done(data);
    printf("Tolerances at N = 100: time %d %%, writes %d %%.\n", TIME_TOLERANCE, WRITES_TOLERANCE);
}

#endif /* STORM_CONTENTION_H */
