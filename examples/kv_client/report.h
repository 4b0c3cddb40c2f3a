/* report.h: what kv_client.c counts while it runs, and the table that it prints at the end. */
#ifndef KV_REPORT_H
#define KV_REPORT_H

#include "protocol.h"
#include "../plumbing.h"

#include "../../errmap.h"

#include <inttypes.h>

/* How an operation ended, as the application is told. */
enum { DONE, PERHAPS_DONE, EXPIRED, FAILED, CUT_OFF, OUTCOMES };

enum { REPORT_ROWS = 8, REPORT_FAILURES = 16, REPORT_CODES = 16 };

typedef struct report_row { /* one class of operations */
    const char *name;
    uint32_t begun, first_try, outcomes[OUTCOMES];
    retry_ms longest; /* ms from the beginning until the application was told */
    int64_t paid;     /* thousandths of a token, less what came back */
} report_row;

typedef struct report_failure { /* what operations failed with */
    retry_failure failure;
    uint8_t cause;
    uint32_t count;
} report_failure;

typedef struct report_code { /* a status that only an error map knows */
    uint32_t code, came, retried, refreshes, reconnects;
    retry_ms longest; /* ms; of the delays before the next try */
    char name[32];
} report_code;

typedef struct report_maps { /* the error maps that a node sent, or did not send */
    const char *node;
    const errmap *map; /* the one in use; NULL: none */
    uint32_t taken, known, broken, none;
} report_maps;

typedef struct report_breaker_row { /* a node's */
    uint32_t opened, refused;
} report_breaker_row;

typedef struct kv_report {
    bool verbose; /* tells what happens when it happens, and all that was counted */
    retry_time started;
    report_row rows[REPORT_ROWS]; /* of as many as have a name */
    uint32_t retries, reasons[RETRY_REASON_COUNT];
    report_failure failures[REPORT_FAILURES];
    size_t failure_count;
    report_code codes[REPORT_CODES];
    size_t code_count;
    report_maps maps[KV_NODES];
    retry_ms overrun;          /* ms; the most that an operation ended after its deadline */
    retry_ms late_wakeup;      /* ms; the most that poll returned later than asked */
    uint32_t budget_low;       /* thousandths of a token */
    uint32_t connections;      /* established */
    uint32_t drained;          /* of these, closed because an error map said so */
    uint32_t late_answers;     /* to copies that had been given up, or had lost */
    uint32_t hedges_sent;      /* second copies */
    uint32_t hedges_won;       /* of these, answered first */
    uint32_t hedges_cancelled; /* first and second ones, when the other had decided */
    report_breaker_row breakers[KV_NODES];
    uint32_t nothing_to_undo; /* unlocks that were not begun, since there was no lock */
} kv_report;

/* How often operations that are not idempotent were applied. */
typedef struct applications {
    uint32_t known, unknown;
    uint32_t twice;                   /* applied more than once */
    uint32_t perhaps, perhaps_really; /* reported as perhaps done; and had been applied */
    uint32_t failed, failed_really;   /* reported as failed or expired; and had been applied */
} applications;

static inline double seconds_since_start(const kv_report *report)
{
    return (double)(instant_now() - report->started) / 1000;
}

/* Prints what has just happened. */
PRINTF_2_LIKE static inline void tell(const kv_report *report, const char *format, ...)
{
    va_list arguments;
    if (!report->verbose)
        return;
    say("%6.2f s  ", seconds_since_start(report));
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    say("\n");
}

/* ---- Counting ------------------------------------------------------------------------------ */

/* The observer: told of every decision. */
static inline void report_decision(void *context, const retry_operation *op,
                                   const retry_failure *failure)
{
    kv_report *report = context;
    if (op->verdict != RETRY_VERDICT_RETRY)
        return;
    report->retries++;
    if (failure->reason < RETRY_REASON_COUNT)
        report->reasons[failure->reason]++;
}

/* What a decision about an operation of the row did to the budget. */
static inline void report_budget(kv_report *report, uint8_t row, uint32_t before, uint32_t after)
{
    report->rows[row].paid += (int64_t)before - after;
    if (after < report->budget_low)
        report->budget_low = after;
}

static inline void report_failed(kv_report *report, const retry_failure *failure, uint8_t cause)
{
    size_t i = 0;
    while (i < report->failure_count && (report->failures[i].failure.code != failure->code ||
                                         report->failures[i].failure.reason != failure->reason ||
                                         report->failures[i].cause != cause))
        i++;
    if (i == REPORT_FAILURES)
        return;
    if (i == report->failure_count)
        report->failure_count++;
    report->failures[i].failure = *failure;
    report->failures[i].cause = cause;
    report->failures[i].count++;
}

/* A node's map was sound; `in_use` is the one that is used from now on. Told if it is another. */
static inline void report_map(kv_report *report, size_t node, const errmap *in_use)
{
    report_maps *maps = &report->maps[node];
    if (maps->map == in_use) {
        maps->known++;
        return;
    }
    maps->map = in_use;
    maps->taken++;
    tell(report, "%s: error map version %" PRIu32 ", revision %" PRIu32 ", %" PRIu32 " entries",
         maps->node, in_use->version, in_use->revision, in_use->count);
}

/* A node's map was not sound. Told the first time. */
static inline void report_broken_map(kv_report *report, size_t node, const char *json,
                                     errmap_status status, size_t offset)
{
    report_maps *maps = &report->maps[node];
    int line = 1;
    if (maps->broken++ > 0)
        return;
    for (size_t i = 0; i < offset; i++)
        line += json[i] == '\n';
    tell(report,
         "%s: error map refused, %s\n"
         "%10s(line %d, offset %zu); going on without XERROR",
         maps->node, errmap_status_text(status), "", line, offset);
}

/* A node has no map. Told the first time. */
static inline void report_no_map(kv_report *report, size_t node, unsigned status)
{
    report_maps *maps = &report->maps[node];
    if (maps->none++ == 0)
        tell(report, "%s: no error map (status 0x%02x); going on without XERROR", maps->node,
             status);
}

/* The entry's name, as the server wrote it but for characters that could steer a terminal. */
static inline void copy_name(char *name, size_t capacity, const errmap *map,
                             const errmap_entry *entry)
{
    errmap_copy_text(map, entry->name, name, capacity);
    for (; *name != '\0'; name++) {
        if ((unsigned char)*name < ' ' || *name == 0x7f)
            *name = '?';
    }
}

static inline report_code *report_code_of(kv_report *report, const errmap *map,
                                          const errmap_entry *entry)
{
    size_t i = 0;
    while (i < report->code_count && report->codes[i].code != entry->code)
        i++;
    if (i == REPORT_CODES)
        return NULL;
    if (i == report->code_count)
        report->code_count++;
    report->codes[i].code = entry->code;
    copy_name(report->codes[i].name, sizeof report->codes[i].name, map, entry);
    return &report->codes[i];
}

/* An attempt has failed and been decided: retried after `delay`, or not. A code
   that is known without a map is not counted. */
static inline void report_advice(kv_report *report, const errmap *map, const errmap_advice *advice,
                                 bool retried, retry_ms delay)
{
    bool only_map =
        advice->entry && errmap_classify_kv(NULL, advice->entry->code, 0).failure.unknown;
    report_code *row = only_map ? report_code_of(report, map, advice->entry) : NULL;
    if (!row)
        return;
    row->came++;
    row->retried += retried;
    row->refreshes += advice->refresh_config;
    row->reconnects += advice->reconnect;
    if (delay > row->longest)
        row->longest = delay;
}

/* A node's breaker has opened. */
static inline void report_breaker(kv_report *report, size_t node)
{
    report->breakers[node].opened++;
    tell(report, "%s's breaker opens", report->maps[node].node);
}

/* An operation has ended: `now` is when the application was told. */
static inline void report_operation(kv_report *report, uint8_t row, uint8_t outcome,
                                    const retry_operation *op, retry_time now)
{
    report_row *in = &report->rows[row];
    retry_ms elapsed = now - op->started;
    in->begun++;
    in->outcomes[outcome]++;
    in->first_try += outcome == DONE && op->retries == 0;
    if (elapsed > in->longest)
        in->longest = elapsed;
    if (elapsed > op->timeout && elapsed - op->timeout > report->overrun)
        report->overrun = elapsed - op->timeout;
}

/* ---- Printing ------------------------------------------------------------------------------ */

static inline void print_row(const char *name, const report_row *row)
{
    printf("%-14s %6" PRIu32 " %6" PRIu32 " %7" PRIu32 " %8" PRIu32 " %8" PRIu32 " %7" PRIu32, name,
           row->begun, row->first_try, row->outcomes[DONE] - row->first_try,
           row->outcomes[PERHAPS_DONE], row->outcomes[EXPIRED], row->outcomes[FAILED]);
    printf(" %5" PRIu32 " ms %7.1f\n", row->longest, (double)row->paid / 1000);
}

static inline void add_row(report_row *sum, const report_row *row)
{
    sum->begun += row->begun;
    sum->first_try += row->first_try;
    for (size_t i = 0; i < OUTCOMES; i++)
        sum->outcomes[i] += row->outcomes[i];
    if (row->longest > sum->longest)
        sum->longest = row->longest;
    sum->paid += row->paid;
}

static inline void print_classes(const kv_report *report)
{
    report_row all;
    memset(&all, 0, sizeof all);
    printf("\n%-14s %6s %6s %7s %8s %8s %7s %8s %7s\n", "", "", "first", "after", "perhaps", "", "",
           "longest", "budget");
    printf("%-14s %6s %6s %7s %8s %8s %7s %8s %7s\n", "operations", "begun", "try", "retries",
           "done", "expired", "failed", "time", "paid");
    for (size_t i = 0; i < REPORT_ROWS; i++) {
        if (report->rows[i].begun > 0)
            print_row(report->rows[i].name, &report->rows[i]);
        add_row(&all, &report->rows[i]);
    }
    print_row("all", &all);
    if (report->verbose && report->nothing_to_undo > 0)
        printf("%" PRIu32 " unlocks were left out: their locks had not been taken.\n",
               report->nothing_to_undo);
    if (all.outcomes[CUT_OFF] > 0)
        printf("%" PRIu32 " were cut off by the interruption.\n", all.outcomes[CUT_OFF]);
}

static inline void print_reasons(const kv_report *report)
{
    printf("\nretries by reason\n");
    for (size_t i = 0; i < RETRY_REASON_COUNT; i++) {
        if (report->reasons[i] > 0)
            printf("  %-42s %6" PRIu32 "\n", retry_reason_name((retry_reason)i),
                   report->reasons[i]);
    }
    printf("  %-42s %6" PRIu32 "\n", "all", report->retries);
}

static inline void print_gates(const kv_report *report)
{
    printf("hedges: %" PRIu32 " sent, %" PRIu32 " won; copies cancelled: %" PRIu32
           ", late answers: %" PRIu32 "\n",
           report->hedges_sent, report->hedges_won, report->hedges_cancelled, report->late_answers);
    printf("breakers, opened and refused:");
    for (size_t i = 0; i < KV_NODES; i++) {
        if (report->maps[i].node)
            printf("%s %s %" PRIu32 ", %" PRIu32, i > 0 ? ";" : "", report->maps[i].node,
                   report->breakers[i].opened, report->breakers[i].refused);
    }
    printf("\n");
}

/* What the client was told by an error map, or else knows itself. */
static inline const char *code_text(const kv_report *report, uint32_t code)
{
    for (size_t i = 0; i < report->code_count; i++) {
        if (report->codes[i].code == code)
            return report->codes[i].name;
    }
    return kv_status_text(code);
}

static inline void print_failures(const kv_report *report)
{
    if (report->failure_count > 0)
        printf("\nfailed with\n");
    for (size_t i = 0; i < report->failure_count; i++) {
        const report_failure *row = &report->failures[i];
        char line[64];
        if (row->failure.reason == RETRY_REASON_NONE)
            snprintf(line, sizeof line, "code 0x%02" PRIx32 ", %s", row->failure.code,
                     code_text(report, row->failure.code));
        else
            snprintf(line, sizeof line, "%s", retry_reason_name(row->failure.reason));
        printf("  %-39s %4" PRIu32 "  %s\n", line, row->count, retry_cause_text(row->cause));
    }
}

static inline void print_maps(const kv_report *report)
{
    printf("\n%-30s %7s %8s %7s %5s %5s %6s %5s\n", "error maps", "version", "revision", "entries",
           "taken", "known", "broken", "none");
    for (size_t i = 0; i < KV_NODES; i++) {
        const report_maps *maps = &report->maps[i];
        if (!maps->node)
            continue;
        if (maps->map)
            printf("  %-28s %7" PRIu32 " %8" PRIu32 " %7" PRIu32, maps->node, maps->map->version,
                   maps->map->revision, maps->map->count);
        else
            printf("  %-28s %7s %8s %7s", maps->node, "-", "-", "-");
        printf(" %5" PRIu32 " %5" PRIu32 " %6" PRIu32 " %5" PRIu32 "\n", maps->taken, maps->known,
               maps->broken, maps->none);
    }
}

static inline void print_codes(const kv_report *report)
{
    if (report->code_count == 0)
        return;
    printf("\n%-37s %4s %7s %6s %7s %6s %7s\n", "codes that only", "", "", "", "longest", "config",
           "re-");
    printf("%-37s %4s %7s %6s %7s %6s %7s\n", "the error maps know", "came", "retried", "failed",
           "wait", "asked", "connect");
    for (size_t i = 0; i < report->code_count; i++) {
        const report_code *row = &report->codes[i];
        printf("  0x%04" PRIx32 " %-28s %4" PRIu32 " %7" PRIu32 " %6" PRIu32 " %4" PRIu32
               " ms %6" PRIu32 " %7" PRIu32 "\n",
               row->code, row->name, row->came, row->retried, row->came - row->retried,
               row->longest, row->refreshes, row->reconnects);
    }
}

/* True if no operation ended later after its deadline than `quantum` ms and what poll overslept. */
static inline bool judge_overrun(const kv_report *report, retry_ms quantum)
{
    bool kept = report->overrun <= quantum + report->late_wakeup;
    printf("%s  No operation ran past its deadline by more than %" PRIu32 " ms.\n",
           kept ? "kept  " : "BROKEN", quantum);
    if (report->verbose || !kept)
        printf("        Largest overrun: %" PRIu32 " ms. Allowed: %" PRIu32 ", and %" PRIu32
               " that poll() overslept.\n",
               report->overrun, quantum, report->late_wakeup);
    return kept;
}

/* True if no operation was applied twice, and none that the application was told has failed was
   applied at all. `source` says how that is known. */
static inline bool judge_applications(const applications *sum, const char *source)
{
    printf("%s  No operation that is not idempotent was applied twice.\n",
           sum->twice == 0 ? "kept  " : "BROKEN");
    printf("        %s: %" PRIu32 " at most once, %" PRIu32 " more often", source,
           sum->known - sum->twice, sum->twice);
    if (sum->unknown > 0)
        printf(", %" PRIu32 " not applied or lost", sum->unknown);
    printf(".\n");
    printf("%s  Of %" PRIu32 " reported as perhaps done %" PRIu32 " were; of %" PRIu32
           " as failed %" PRIu32 " were\n        (gets, which change nothing, aside).\n",
           sum->failed_really == 0 ? "      " : "BROKEN", sum->perhaps, sum->perhaps_really,
           sum->failed, sum->failed_really);
    return sum->twice == 0 && sum->failed_really == 0;
}

/* How many operations worked only because they were tried again. */
static inline uint32_t saved(const kv_report *report)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < REPORT_ROWS; i++)
        sum += report->rows[i].outcomes[DONE] - report->rows[i].first_try;
    return sum;
}

#endif /* KV_REPORT_H */
