/* Every reason of retry.h, and what the library takes it for when nothing but the reason is known.
   test_reasons.c and test_gate_reasons.c check each cell. Include it after retry.h.

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

#define REASON_ROWS(X)                                                      \
    X(NONE, false, FINAL, NOTHING, NOTHING, NOTHING)                        \
    X(UNKNOWN, false, UNKNOWN, NOTHING, ANSWER, ENDS)                       \
    X(SOCKET_NOT_AVAILABLE, true, ASKED, BACK, SICK, COUNTS)                \
    X(SERVICE_NOT_AVAILABLE, true, ASKED, BACK, SICK, COUNTS)               \
    X(NODE_NOT_AVAILABLE, true, ASKED, BACK, SICK, COUNTS)                  \
    X(KV_NOT_MY_VBUCKET, true, ALWAYS, NOTHING, ANSWER, ENDS)               \
    X(KV_COLLECTION_OUTDATED, true, ALWAYS, NOTHING, ANSWER, ENDS)          \
    X(KV_ERROR_MAP_RETRY_INDICATED, true, ASKED, PAID, ANSWER, ENDS)        \
    X(KV_LOCKED, true, ASKED, PAID, ANSWER, ENDS)                           \
    X(KV_TEMPORARY_FAILURE, true, ASKED, PAID, ANSWER, ENDS)                \
    X(KV_SYNC_WRITE_IN_PROGRESS, true, ASKED, PAID, ANSWER, ENDS)           \
    X(KV_SYNC_WRITE_RE_COMMIT_IN_PROGRESS, true, ASKED, PAID, ANSWER, ENDS) \
    X(SERVICE_RESPONSE_CODE_INDICATED, true, ASKED, PAID, ANSWER, ENDS)     \
    X(SOCKET_CLOSED_WHILE_IN_FLIGHT, false, ASKED, PAID, SICK, COUNTS)      \
    X(CIRCUIT_BREAKER_OPEN, true, ASKED, PAID_BACK, NOTHING, NOTHING)       \
    X(QUERY_PREPARED_STATEMENT_FAILURE, true, ASKED, PAID, ANSWER, ENDS)    \
    X(QUERY_INDEX_NOT_FOUND, true, ASKED, PAID, ANSWER, ENDS)               \
    X(ANALYTICS_TEMPORARY_FAILURE, true, ASKED, PAID, ANSWER, ENDS)         \
    X(SEARCH_TOO_MANY_REQUESTS, true, ASKED, PAID, ANSWER, ENDS)            \
    X(VIEWS_TEMPORARY_FAILURE, true, ASKED, PAID, ANSWER, ENDS)             \
    X(VIEWS_NO_ACTIVE_PARTITION, true, ALWAYS, NOTHING, ANSWER, ENDS)       \
    /* not RFC 0049's: */                                                   \
    X(QUERY_ERROR_RETRYABLE, true, ASKED, PAID, ANSWER, ENDS)               \
    X(ATTEMPT_TIMED_OUT, false, ASKED, PAID, SICK, COUNTS)                  \
    X(SERVER_ERROR, false, ASKED, PAID, SICK, NOTHING)                      \
    X(CLIENT_THROTTLED, true, THROTTLED, BACK, NOTHING, NOTHING)

enum { REASON_NOTHING, REASON_SICK, REASON_ANSWER };
enum { REASON_COUNTS = 1, REASON_ENDS };
enum { REASON_PAID = 1, REASON_BACK, REASON_PAID_BACK }; /* bits */
enum { REASON_ASKED, REASON_ALWAYS, REASON_FINAL, REASON_UNKNOWN, REASON_THROTTLED };

typedef struct reason_row {
    retry_reason reason;
    const char *name;
    bool another;
    uint8_t decided, budget, gates, limit;
} reason_row;

enum {
#define REASON_NUMBER(name, another, decided, budget, gates, limit) \
    row_of_##name##_in_tests_support_reasons_h,
    REASON_ROWS(REASON_NUMBER) REASON_ROW_COUNT
};

/* The row of a reason of the header's table. A reason without one does not compile: its row is to
   be written above. */
static inline reason_row reason_row_of(retry_reason reason)
{
    static const uint8_t at[] = {
#define REASON_AT(name, allows, always) row_of_##name##_in_tests_support_reasons_h,
        RETRY_REASONS(REASON_AT)};
    static const reason_row rows[] = {
#define REASON_ROW(name, another, decided, budget, gates, limit)           \
    {RETRY_REASON_##name, #name,          another,       REASON_##decided, \
     REASON_##budget,     REASON_##gates, REASON_##limit},
        REASON_ROWS(REASON_ROW)};
    return rows[at[reason]];
}

#endif
