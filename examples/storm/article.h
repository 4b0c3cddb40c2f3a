/* article.h: the tables of contention, beside the numbers of AWS's article. */
#ifndef STORM_ARTICLE_H
#define STORM_ARTICLE_H

#include "contention.h"
#include "report.h"
#include "schemes.h"

enum { RUNS = 400, TIME_TOLERANCE = 5, WRITES_TOLERANCE = 3, ARTICLE = 5 };
enum {
    WRITER_WORK = 450
}; /* units for each of `count` writers, squared: all read and write anew */

/* The first ARTICLE are of AWS's article, base 5 ms and cap 2 s; the rest is retry.h's. */
static const contender contenders[] = {
    {"none", {.curve = RETRY_CURVE_TABLE, .table = at_once, .table_length = 1}, 1},
    {"exponential", {.jitter = RETRY_JITTER_NONE, .initial = 5, .max = 2000}, 1},
    {"equal", {.jitter = RETRY_JITTER_EQUAL, .initial = 5, .max = 2000}, 1},
    {"full", {.jitter = RETRY_JITTER_FULL, .initial = 5, .max = 2000}, 1},
    {"decorrelated (AWS)",
     {.curve = RETRY_CURVE_CUSTOM,
      .jitter = RETRY_JITTER_NONE,
      .initial = 5,
      .max = 2000,
      .custom = aws_decorrelated},
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

#endif /* STORM_ARTICLE_H */
