/* transaction.c: transactions on PostgreSQL with libpq. Reads them, ID STATEMENTS in a line, of
   which one inserts the ID into `transfers`, and prints how each ended: done, failed or perhaps.
       cc -o transaction examples/recipes/transaction.c -I/usr/include/postgresql -lpq
       ./transaction "dbname=bank host=127.0.0.1 connect_timeout=2" <transactions */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT = 30000 };     /* ms */
static retry_service service; /* one for each server */
static PGconn *connection;
static retry_time attempt_ends;
static bool found; /* the last value that was selected */

static retry_time now(void)
{
    return retry_system_clock().now(NULL);
}

/* Waits for a result. NULL: there is none, or the connection or the time is over. */
static PGresult *next_result(bool *timeout)
{
    struct pollfd socket = {PQsocket(connection), POLLIN, 0};
    while (PQisBusy(connection)) {
        retry_ms left = attempt_ends - now(); /* once it is past: huge */
        *timeout = left > TIMEOUT || poll(&socket, 1, (int)left) == 0;
        if (*timeout || !PQconsumeInput(connection))
            return NULL;
    }
    return PQgetResult(connection);
}

/* Runs some statements, or a COMMIT: only that may have been done if it is lost. */
static bool run(const char *statements, bool commit, retry_failure *failure)
{
    bool refused = !PQsendQuery(connection, statements), conflict = false, timeout = false, lost;
    for (PGresult *next; (next = next_result(&timeout)) != NULL; PQclear(next)) {
        const char *state = PQresultErrorField(next, PG_DIAG_SQLSTATE);
        refused = refused || state;
        conflict = conflict || (state && (!strcmp(state, "40001") || !strcmp(state, "40P01")));
        found = PQntuples(next) == 1 && *PQgetvalue(next, 0, 0) == 't';
    }
    lost = timeout || PQstatus(connection) != CONNECTION_OK;
    /* README: */
    /* in the callback, after each command: what is lost before COMMIT was rolled back */
    if (lost) {
        *failure = retry_classify_errno(timeout ? ETIMEDOUT : ECONNRESET, true);
        failure->safety = commit ? RETRY_SAFETY_MAYBE : RETRY_SAFETY_YES;
    } else if (conflict) { /* SQLSTATE 40001 or 40P01: rolled back, and the server is well */
        failure->reason =
            RETRY_REASON_USER(0, RETRY_REASON_FREE | RETRY_REASON_ALLOWS_NON_IDEMPOTENT);
    }
    /* end */
    return !lost && !refused;
}

static bool attempt(void *context, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    const char *statements = (const char *)context;
    (void)op;
    attempt_ends = now() + step->timeout;
    if (PQtransactionStatus(connection) == PQTRANS_INERROR)
        run("ROLLBACK", false, failure);
    if (PQtransactionStatus(connection) != PQTRANS_IDLE)
        PQreset(connection); /* it is lost, or a late result might come */
    *failure = retry_classify_errno(ECONNREFUSED, false);
    if (PQstatus(connection) == CONNECTION_OK) {
        memset(failure, 0, sizeof *failure); /* what the server refuses otherwise is final */
        if (run(statements, false, failure) &&
            (strncmp(statements, "BEGIN", 5) != 0 || run("COMMIT", true, failure)))
            return true;
    }
    printf("    %s\n", retry_reason_name(failure->reason));
    return false;
}

/* The transaction holds a lock until it is over. */
static const char *transact(long id, const char *statements)
{
    const retry_clock clock = retry_system_clock();
    char sql[600], look_up[200];
    retry_operation op;
    memset(&op, 0, sizeof op);
    op.timeout = TIMEOUT;
    snprintf(sql, sizeof sql,
             "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT pg_advisory_xact_lock(%ld); %s", id,
             statements);
    snprintf(look_up, sizeof look_up,
             "SELECT pg_advisory_xact_lock(%ld); SELECT count(*) > 0 FROM transfers WHERE id = %ld",
             id, id);
    /* README: */
    op.idempotent = false;
    if (retry_run(&op, &service, &clock, attempt, sql).verdict == RETRY_VERDICT_SUCCESS)
        return "done";
    if (!op.ambiguous)
        return "failed";
    /* the COMMIT was lost: once the server has let go of its lock, is the row there? */
    if (retry_run(&op, &service, &clock, attempt, look_up).verdict != RETRY_VERDICT_SUCCESS)
        return "perhaps";
    return found ? "done" : "failed";
    /* end */
}

int main(int argc, char **argv)
{
    retry_backoff soon = RETRY_BACKOFF_BEST_EFFORT;
    char *statements;
    service.client.cut_after = 1000;  /* ms */
    soon.initial = 1, soon.max = 500; /* ms: a conflict is soon over */
    service.policy.backoff = soon;
    retry_service_init(&service, now());
    connection = PQconnectdb(argc > 1 ? argv[1] : "");
    for (char line[512]; fgets(line, sizeof line, stdin);) {
        long id = strtol(line, &statements, 10);
        printf("%s %ld\n", transact(id, statements), id);
    }
}
