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

enum { TIMEOUT = 30000, CONFLICTS = 20 }; /* ms; at most, in a row */
static retry_service service;             /* one for each server */
static PGconn *connection;
static retry_time attempt_ends;
static bool late;     /* the attempt's time is over */
static char state[6]; /* the last SQLSTATE */
static bool found;    /* the last value that was selected */

static retry_time now(void)
{
    return retry_system_clock().now(NULL);
}

/* Waits for the connection. false: the attempt's time is over. */
static bool ready(short events)
{
    struct pollfd socket = {PQsocket(connection), events, 0};
    retry_ms left = attempt_ends - now(); /* once it is past: huge */
    late = left > TIMEOUT || poll(&socket, 1, (int)left) == 0;
    return !late;
}

/* As PQreset, which may wait longer than the attempt has. */
static void reconnect(void)
{
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    if (!PQresetStart(connection))
        return;
    while (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING) {
        if (!ready(next == PGRES_POLLING_READING ? POLLIN : POLLOUT))
            return;
        next = PQresetPoll(connection);
    }
}

/* Waits for a result. NULL: there is none, or the connection or the time is over. */
static PGresult *next_result(void)
{
    while (PQisBusy(connection))
        if (!ready(POLLIN) || !PQconsumeInput(connection))
            return NULL;
    return PQgetResult(connection);
}

/* Runs some statements, or a COMMIT: only that may have been done if it is lost. */
static bool run(const retry_operation *op, const char *statements, bool commit,
                retry_failure *failure)
{
    bool sent = PQsendQuery(connection, statements), lost, conflict;
    uint32_t code; /* SQLSTATE, such as 40001 */
    *state = '\0';
    for (PGresult *next; (next = next_result()) != NULL; PQclear(next)) {
        const char *error = PQresultErrorField(next, PG_DIAG_SQLSTATE);
        if (error)
            snprintf(state, sizeof state, "%s", error);
        if (PQntuples(next) == 1)
            found = *PQgetvalue(next, 0, 0) == 't';
    }
    lost = late || PQstatus(connection) != CONNECTION_OK;
    conflict = !strcmp(state, "40001") || !strcmp(state, "40P01");
    code = (uint32_t)strtoul(state, NULL, 36);
    /* README: */
    /* in the callback, after each command: what is lost before COMMIT was rolled back */
    if (lost) {
        *failure = retry_classify_errno(late ? ETIMEDOUT : ECONNRESET, true);
        failure->safety = commit ? RETRY_SAFETY_MAYBE : RETRY_SAFETY_YES;
    } else if (conflict && (op->code != code || op->code_retries < CONFLICTS)) { /* rolled back */
        failure->reason =
            RETRY_REASON_USER(0, RETRY_REASON_FREE | RETRY_REASON_ALLOWS_NON_IDEMPOTENT);
    }
    failure->code = code;
    /* end */
    return sent && !lost && !*state;
}

static bool attempt(void *context, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    const char *statements = (const char *)context;
    attempt_ends = now() + step->timeout;
    late = false;
    *state = '\0';
    if (PQtransactionStatus(connection) == PQTRANS_INERROR)
        run(op, "ROLLBACK", false, failure);
    if (PQtransactionStatus(connection) != PQTRANS_IDLE)
        reconnect(); /* it is lost, or a late result might come */
    *failure = retry_classify_errno(late ? ETIMEDOUT : ECONNREFUSED, false);
    if (PQstatus(connection) == CONNECTION_OK) {
        memset(failure, 0, sizeof *failure); /* what the server refuses otherwise is final */
        if (run(op, statements, false, failure) && run(op, "COMMIT", true, failure))
            return true;
    }
    printf("    %s %s\n", retry_reason_name(failure->reason), state);
    return false;
}

/* The transaction holds a lock until it is over. */
static const char *transact(long id, const char *statements)
{
    const retry_clock clock = retry_system_clock();
    char sql[600], question[200];
    retry_operation op, look_up;
    memset(&op, 0, sizeof op);
    memset(&look_up, 0, sizeof look_up);
    op.timeout = look_up.timeout = TIMEOUT;
    snprintf(sql, sizeof sql,
             "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT pg_advisory_xact_lock(%ld); %s", id,
             statements);
    snprintf(question, sizeof question,
             "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(%ld); "
             "SELECT count(*) > 0 FROM transfers WHERE id = %ld",
             id, id);
    /* README: */
    op.idempotent = false;
    if (retry_run(&op, &service, &clock, attempt, sql).verdict == RETRY_VERDICT_SUCCESS)
        return "done";
    if (!op.ambiguous)
        return "failed";
    /* end */
    printf("    looks it up\n");
    /* README: */
    /* the COMMIT was lost: once the server has let go of its lock, is the row there? */
    look_up.idempotent = true;
    if (retry_run(&look_up, &service, &clock, attempt, question).verdict != RETRY_VERDICT_SUCCESS)
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
    if (PQstatus(connection) != CONNECTION_OK) { /* such as a wrong name or password */
        fprintf(stderr, "%s", PQerrorMessage(connection));
        return 2;
    }
    for (char line[512]; fgets(line, sizeof line, stdin);) {
        long id = strtol(line, &statements, 10);
        printf("%s %ld\n", transact(id, statements), id);
    }
}
