/* report.h: what async_uv.c counts while it runs, a second account of the budget, the table
   that is printed at the end, and the verdicts. */
#ifndef ASYNC_REPORT_H
#define ASYNC_REPORT_H

#include "../../retry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { SUCCEEDED, FAILED, EXPIRED, CANCELLED, OUTCOMES }; /* how an operation ended */

enum { REPORT_RETRIES = 8, REPORT_STATES = 8 };

/* What an operation has paid for its retry under way, and how often it ended. */
typedef struct report_account {
    uint32_t charge; /* thousandths of a token */
    uint32_t ends;   /* 1, if all is well */
} report_account;

typedef struct async_report {
    uint32_t operations;
    report_account *accounts; /* one for each operation */
    uint32_t open, open_most;
    uint32_t outcomes[OUTCOMES], succeeded_after[REPORT_RETRIES];
    uint32_t failed_by[RETRY_CAUSE_COUNT], cancelled_in[REPORT_STATES];
    uint32_t perhaps_done; /* of the failed and the expired */
    uint32_t free_retries; /* after a conflict */
    uint32_t policy_answers, policy_silences, late_answers;
    retry_ms longest; /* ms that an operation took */
    const retry_budget *budget;
    uint32_t balance;       /* thousandths: what the budget's should be */
    uint32_t events, wrong; /* how often the two were compared, and did not agree */
    long memory_before;     /* KB */
} async_report;

/* ---- The budget's second account, by the rules of RETRY_BUDGET_AWS_2026 --------------------- */

static inline void report_compare(async_report *report)
{
    report->events++;
    report->wrong += report->balance != retry_budget_balance(report->budget);
}

static inline void report_deposit(async_report *report, uint32_t amount)
{
    uint32_t room = report->budget->options.capacity - report->balance;
    report->balance += amount < room ? amount : room;
    report_compare(report);
}

/* A decision: a retry costs 14 tokens, 5 if the service throttles, and nothing after a conflict;
   all else costs nothing. */
static inline void report_decision(async_report *report, uint32_t operation,
                                   const retry_operation *op, const retry_failure *failure)
{
    bool conflict = (failure->reason & RETRY_REASON_FREE) != 0;
    uint32_t cost = conflict ? 0 : failure->throttle ? RETRY_TOKENS(5) : RETRY_TOKENS(14);
    bool affordable = report->balance >= cost;
    report->accounts[operation].charge = 0; /* the retry that it was for has been made */
    if (op->verdict == RETRY_VERDICT_RETRY) {
        report->wrong += !affordable;
        report->balance -= cost;
        report->accounts[operation].charge = cost;
        report->free_retries += conflict;
    }
    report->wrong += affordable && op->cause == RETRY_CAUSE_BUDGET_EXHAUSTED;
    report_compare(report);
}

/* ---- Counting ------------------------------------------------------------------------------ */

static inline void report_begun(async_report *report)
{
    report->open++;
    if (report->open > report->open_most)
        report->open_most = report->open;
}

static inline void report_ended(async_report *report, uint32_t operation, uint8_t outcome,
                                const retry_operation *op, retry_time now)
{
    retry_ms took = now - op->started;
    report->outcomes[outcome]++;
    report->accounts[operation].ends++;
    report->open--;
    if ((outcome == FAILED || outcome == EXPIRED) && op->ambiguous && !op->idempotent)
        report->perhaps_done++;
    if (took > report->longest)
        report->longest = took;
    if (outcome == EXPIRED) /* what was paid for a retry that was not sent any more goes back */
        report_deposit(report, report->accounts[operation].charge);
}

/* The last charge goes back, or a success without a retry is rewarded with a token. */
static inline void report_succeeded(async_report *report, uint32_t operation, uint32_t retries)
{
    report->succeeded_after[retries < REPORT_RETRIES ? retries : REPORT_RETRIES - 1]++;
    report_deposit(report, retries > 0 ? report->accounts[operation].charge : RETRY_TOKENS(1));
}

/* What was paid for a retry that nobody waits for any more goes back. */
static inline void report_cancelled(async_report *report, uint32_t operation, uint8_t state)
{
    report->cancelled_in[state]++;
    report_deposit(report, report->accounts[operation].charge);
}

/* KB of memory that the process has had at most. */
static inline long memory_most(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* False if there is no memory. */
static inline bool report_start(async_report *report, uint32_t operations,
                                const retry_budget *budget)
{
    report->memory_before = memory_most();
    report->operations = operations;
    report->budget = budget;
    report->balance = budget->options.capacity;
    report->accounts = calloc(operations, sizeof *report->accounts);
    return report->accounts != NULL;
}

/* ---- Printing ------------------------------------------------------------------------------ */

static inline void print_part(const char *text, uint32_t count)
{
    if (count > 0)
        printf("  %-34s %6" PRIu32 "\n", text, count);
}

static inline void print_outcomes(const async_report *report, const char *const *states)
{
    char text[40];
    printf("\n%-36s %6" PRIu32 "\n", "succeeded", report->outcomes[SUCCEEDED]);
    print_part("at first", report->succeeded_after[0]);
    for (unsigned n = 1; n < REPORT_RETRIES; n++) {
        snprintf(text, sizeof text, "after %u %s", n, n == 1 ? "retry" : "retries");
        print_part(text, report->succeeded_after[n]);
    }
    printf("%-36s %6" PRIu32 "\n", "failed", report->outcomes[FAILED]);
    for (uint8_t cause = 0; cause < RETRY_CAUSE_COUNT; cause++)
        print_part(retry_cause_text(cause), report->failed_by[cause]);
    printf("%-36s %6" PRIu32 "\n", "expired", report->outcomes[EXPIRED]);
    printf("%-36s %6" PRIu32 "\n", "cancelled half-way", report->outcomes[CANCELLED]);
    for (size_t state = 0; state < REPORT_STATES && states[state]; state++)
        print_part(states[state], report->cancelled_in[state]);
    printf("%-36s %6" PRIu32 "\n", "all",
           report->outcomes[SUCCEEDED] + report->outcomes[FAILED] + report->outcomes[EXPIRED] +
               report->outcomes[CANCELLED]);
}

/* `own`: bytes of an operation with its timer; `simulated`: bytes that only the simulation needs.
 */
static inline void print_memory(const async_report *report, size_t own, size_t timer,
                                size_t simulated)
{
    long grown = memory_most() - report->memory_before;
    printf("\nmemory of an operation: %zu bytes\n"
           "  (retry_operation %zu, uv_timer_t %zu, the rest %zu)\n"
           "measured: maximum RSS grew by %ld KB, which is %ld bytes an operation;\n"
           "  of these %zu are the simulated service's and %zu this report's\n",
           own, sizeof(retry_operation), timer, own - sizeof(retry_operation) - timer, grown,
           grown * 1024 / (long)report->operations, simulated, sizeof(report_account));
}

static inline bool verdict(bool kept, const char *text)
{
    printf("%s  %s\n", kept ? "kept  " : "BROKEN", text);
    return kept;
}

static inline bool judge(const async_report *report)
{
    uint32_t once = 0;
    bool kept;
    for (uint32_t i = 0; i < report->operations; i++)
        once += report->accounts[i].ends == 1;
    printf("\n");
    kept = verdict(report->open_most == report->operations,
                   "All operations were in flight at the same time.");
    kept &= verdict(once == report->operations && report->open == 0,
                    "Every operation ended, and only once.");
    kept &= verdict(report->wrong == 0 && report->events >= report->operations / 2,
                    "The budget's balance was what its rules say, after each event.");
    printf("        At most %" PRIu32 " open; %" PRIu32 " of %" PRIu32 " ended once;\n"
           "        %" PRIu32 " events, %.1f tokens left.\n",
           report->open_most, once, report->operations, report->events,
           retry_budget_balance(report->budget) / 1000.0);
    return kept;
}

#endif /* ASYNC_REPORT_H */
