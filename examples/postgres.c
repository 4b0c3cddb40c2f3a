/* postgres.c: transactions on PostgreSQL with libpq. Reads them, ID STATEMENTS in a line, of which
   one inserts the ID into `transfers`, and prints how each ended: done, failed or perhaps done.

       cc -o postgres -I/usr/include/postgresql examples/postgres.c -lpq
       ./postgres "dbname=bank host=127.0.0.1 connect_timeout=2" <transactions
       ./postgres "..." careless    repeats what was lost during its COMMIT: what that does
       make postgres                on a server that has conflicts, is frozen and is stopped */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT = 30000, ATTEMPT_TIMEOUT = 1000 }; /* ms */

/* The server is well and has rolled back: again, and no budget pays for it. */
enum { CONTENTION = RETRY_REASON_FREE | RETRY_REASON_ALLOWS_NON_IDEMPOTENT };
static const char *const conflicts[16] = {"SERIALIZATION_FAILURE", "DEADLOCK_DETECTED"};
static const char *const sqlstates[] = {"40001", "40P01"};

static PGconn *connection;
static retry_time attempt_ends;
static bool found; /* the last value that was selected */

/* Waits for a result. NULL: there is none, or the connection or the time is over. */
static PGresult *next_result(retry_failure *failure)
{
    struct pollfd socket = {PQsocket(connection), POLLIN, 0};
    while (PQisBusy(connection)) {
        retry_ms left = attempt_ends - retry_system_clock().now(NULL); /* once it is past: huge */
        failure->timeout = left > TIMEOUT || poll(&socket, 1, (int)left) == 0;
        if (failure->timeout || !PQconsumeInput(connection))
            return NULL;
    }
    return PQgetResult(connection);
}

/* `safety`: of another attempt if the answer is lost. */
static bool run(const char *statements, uint8_t safety, retry_failure *failure)
{
    bool refused = !PQsendQuery(connection, statements);
    *failure = (retry_failure){0}; /* the server's word, after which it rolls back, is final */
    for (PGresult *next; (next = next_result(failure)) != NULL; PQclear(next)) {
        const char *state = PQresultErrorField(next, PG_DIAG_SQLSTATE);
        refused = refused || state;
        for (int i = 0; state && i < 2; i++)
            if (strcmp(state, sqlstates[i]) == 0) /* but for these */
                failure->reason = RETRY_REASON_USER(i, CONTENTION);
        found = PQntuples(next) == 1 && *PQgetvalue(next, 0, 0) == 't';
    }
    if (!failure->timeout && PQstatus(connection) == CONNECTION_OK)
        return !refused;
    failure->reason = failure->timeout ? RETRY_REASON_ATTEMPT_TIMED_OUT
                                       : RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT;
    failure->safety = safety;
    return false;
}

/* Until its COMMIT is sent a transaction that is lost has done nothing. */
static bool attempt(void *statements, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    (void)op;
    attempt_ends = retry_system_clock().now(NULL) + step->timeout;
    if (PQtransactionStatus(connection) == PQTRANS_INERROR)
        run("ROLLBACK", RETRY_SAFETY_YES, failure);
    if (PQtransactionStatus(connection) != PQTRANS_IDLE)
        PQreset(connection); /* it is lost, or a late result might come */
    failure->reason = RETRY_REASON_SOCKET_NOT_AVAILABLE;
    return PQstatus(connection) == CONNECTION_OK && run(statements, RETRY_SAFETY_YES, failure) &&
           (strncmp(statements, "BEGIN", 5) != 0 || run("COMMIT", RETRY_SAFETY_MAYBE, failure));
}

static void show(void *context, const retry_request *request, const retry_failure *failure,
                 const retry_decision *decision)
{
    char line[240];
    (void)context;
    if (failure && retry_format(line, sizeof line, request, failure, decision) > 0)
        printf("    %s\n", line);
}

static retry_service service = {
    .policy = {.backoff = RETRY_BACKOFF_BEST_EFFORT}, /* from 1 ms: a conflict is soon over */
    .limit = {.max = 1},                              /* one at a time */
    .budget = {.options = RETRY_BUDGET_BEST_EFFORT(1)},
    .client = {.observe = show, .attempt_timeout = ATTEMPT_TIMEOUT, .user_reasons = conflicts}};

/* A transaction that was lost during its COMMIT is over when its lock is free. */
static const char *operate(char *line, bool careless)
{
    retry_operation op = {.request = {.client = &service.client, .timeout = TIMEOUT}};
    char sql[600], *rest;
    retry_clock clock = retry_system_clock();
    long id = strtol(line, &rest, 10);
    op.request.idempotent = careless;
    snprintf(sql, sizeof sql,
             "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT pg_advisory_xact_lock(%ld); %s", id, rest);
    if (retry_run(&op, &clock, attempt, sql).verdict == RETRY_VERDICT_SUCCESS)
        return "done";
    if (!op.request.ambiguous)
        return "failed";
    printf("    looking for %ld, lost during its COMMIT\n", id);
    snprintf(sql, sizeof sql,
             "SELECT pg_advisory_xact_lock(%ld); SELECT count(*) > 0 FROM transfers WHERE id = %ld",
             id, id);
    if (retry_run(&op, &clock, attempt, sql).verdict != RETRY_VERDICT_SUCCESS)
        return "perhaps";
    return found ? "done" : "failed";
}

int main(int argc, char **argv)
{
    service.budget.options.expire = 0; /* never: a single process may save its tokens */
    retry_service_init(&service, retry_system_clock().now(NULL));
    connection = PQconnectdb(argc > 1 ? argv[1] : "");
    for (char line[512]; fgets(line, sizeof line, stdin);)
        printf("%s %ld\n", operate(line, argc > 2), atol(line));
}
