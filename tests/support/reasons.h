/* Every reason of retry.h, and what the library takes it for when nothing but the reason is known.
   test_reasons.c and test_gate_reasons.c check each cell. Include it after retry.h.

   number   never changes, as programs have stored it
   another  a try more does no harm, whatever the operation
   decided  ASKED: the strategy is; ALWAYS retried; FINAL, UNKNOWN, THROTTLED: refused as such
   budget   PAID: a retry costs, or gRPC's way the failure; NOTHING; BACK: nothing, and the charge
            of the retry that ended so stays with its request, and goes back with its end;
            PAID_BACK: the same, and a retry that was not paid for costs
   gates    SICK: for a breaker; ANSWER: somebody is there; NOTHING: it was never sent, or says
            nothing: no gate counts it
   limit    the AIMD limit COUNTS it, and falls at the third in a row; ENDS such a row; NOTHING */
#ifndef REASONS_H
#define REASONS_H

#define REASON_ROWS(X)                                                          \
    X(0, NONE, false, FINAL, NOTHING, NOTHING, NOTHING)                         \
    X(1, UNKNOWN, false, UNKNOWN, NOTHING, ANSWER, ENDS)                        \
    X(2, SOCKET_NOT_AVAILABLE, true, ASKED, BACK, SICK, COUNTS)                 \
    X(3, SERVICE_NOT_AVAILABLE, true, ASKED, BACK, SICK, COUNTS)                \
    X(4, NODE_NOT_AVAILABLE, true, ASKED, BACK, SICK, COUNTS)                   \
    X(5, SOCKET_CLOSED_WHILE_IN_FLIGHT, false, ASKED, PAID, SICK, COUNTS)       \
    X(6, ATTEMPT_TIMED_OUT, false, ASKED, PAID, SICK, COUNTS)                   \
    X(7, SERVICE_RESPONSE_CODE_INDICATED, true, ASKED, PAID, ANSWER, ENDS)      \
    X(8, SERVER_ERROR, false, ASKED, PAID, SICK, NOTHING)                       \
    X(9, CIRCUIT_BREAKER_OPEN, true, ASKED, PAID_BACK, NOTHING, NOTHING)        \
    X(10, CLIENT_THROTTLED, true, THROTTLED, BACK, NOTHING, NOTHING)            \
    X(11, KV_NOT_MY_VBUCKET, true, ALWAYS, NOTHING, ANSWER, ENDS)               \
    X(12, KV_COLLECTION_OUTDATED, true, ALWAYS, NOTHING, ANSWER, ENDS)          \
    X(13, KV_ERROR_MAP_RETRY_INDICATED, true, ASKED, PAID, ANSWER, ENDS)        \
    X(14, KV_LOCKED, true, ASKED, PAID, ANSWER, ENDS)                           \
    X(15, KV_TEMPORARY_FAILURE, true, ASKED, PAID, ANSWER, ENDS)                \
    X(16, KV_SYNC_WRITE_IN_PROGRESS, true, ASKED, PAID, ANSWER, ENDS)           \
    X(17, KV_SYNC_WRITE_RE_COMMIT_IN_PROGRESS, true, ASKED, PAID, ANSWER, ENDS) \
    X(18, QUERY_PREPARED_STATEMENT_FAILURE, true, ASKED, PAID, ANSWER, ENDS)    \
    X(19, QUERY_INDEX_NOT_FOUND, true, ASKED, PAID, ANSWER, ENDS)               \
    X(20, QUERY_ERROR_RETRYABLE, true, ASKED, PAID, ANSWER, ENDS)               \
    X(21, ANALYTICS_TEMPORARY_FAILURE, true, ASKED, PAID, ANSWER, ENDS)         \
    X(22, SEARCH_TOO_MANY_REQUESTS, true, ASKED, PAID, ANSWER, ENDS)            \
    X(23, VIEWS_TEMPORARY_FAILURE, true, ASKED, PAID, ANSWER, ENDS)             \
    X(24, VIEWS_NO_ACTIVE_PARTITION, true, ALWAYS, NOTHING, ANSWER, ENDS)

enum { REASON_NOTHING, REASON_SICK, REASON_ANSWER };
enum { REASON_COUNTS = 1, REASON_ENDS };
enum { REASON_PAID = 1, REASON_BACK, REASON_PAID_BACK }; /* bits */
enum { REASON_ASKED, REASON_ALWAYS, REASON_FINAL, REASON_UNKNOWN, REASON_THROTTLED };

typedef struct reason_row {
    uint8_t number;
    retry_reason reason;
    const char *name;
    bool another;
    uint8_t decided, budget, gates, limit;
} reason_row;

enum {
#define REASON_INDEX(number, name, another, decided, budget, gates, limit) \
    row_of_##name##_in_tests_support_reasons_h,
    REASON_ROWS(REASON_INDEX) REASON_ROW_COUNT
};

/* The row of a reason of the header's table. A reason without one does not compile: its row is to
   be written above. */
static inline reason_row reason_row_of(retry_reason reason)
{
    static const uint8_t at[] = {
#define REASON_AT(name, allows, always) row_of_##name##_in_tests_support_reasons_h,
        RETRY_REASONS(REASON_AT)};
    static const reason_row rows[] = {
#define REASON_ROW(number, name, another, decided, budget, gates, limit) \
    {number,           RETRY_REASON_##name, #name,          another,     \
     REASON_##decided, REASON_##budget,     REASON_##gates, REASON_##limit},
        REASON_ROWS(REASON_ROW)};
    return rows[at[reason]];
}

/* The reason alone says that nothing was sent: a failure with it gives its charge back. */
static inline bool reason_unsent(retry_reason reason)
{
    return reason < RETRY_REASON_COUNT && (reason_row_of(reason).budget & REASON_BACK) != 0;
}

static inline bool failure_unsent(const retry_failure *failure)
{
    return failure->unsent || reason_unsent(failure->reason);
}

/* A gate of the client's refused. */
static inline bool reason_refused(retry_reason reason)
{
    return reason_unsent(reason) && reason_row_of(reason).gates == REASON_NOTHING;
}

#endif
