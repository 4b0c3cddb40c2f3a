/* locked.c: transactions on MariaDB or MySQL that wait for each other's locks. Reads them, ID
   STATEMENTS in a line, and prints how each ended: done, failed or perhaps done. How to look for a
   COMMIT whose answer was lost is in transaction.c.
       cc -o locked examples/recipes/locked.c -I/usr/include/mariadb -lmariadb
       ./locked 3306 bank <transactions    on 127.0.0.1 */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <errno.h>
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOCK_WAIT_TIMEOUT = 1205, DEADLOCK = 1213, LOST = 2000 }; /* what MariaDB says; or more */
static retry_service service;                                    /* one for each server */
static MYSQL *connection;
static unsigned port;
static const char *database;

static void hang_up(void)
{
    if (connection)
        mysql_close(connection);
    connection = NULL;
}

/* Some statements, until one fails. */
static bool run(const char *statements)
{
    int more = mysql_query(connection, statements) != 0;
    while (more == 0) {
        mysql_free_result(mysql_store_result(connection));
        more = mysql_next_result(connection);
    }
    return more < 0;
}

/* A lock is waited for half as long as an answer is. */
static bool connects(retry_ms timeout)
{
    unsigned s = timeout < 4000 ? timeout / 1000 + 1 : 4;
    if (connection)
        return true;
    connection = mysql_init(NULL);
    mysql_optionsv(connection, MYSQL_OPT_CONNECT_TIMEOUT, &s);
    mysql_optionsv(connection, MYSQL_OPT_READ_TIMEOUT, &s);
    return mysql_real_connect(connection, "127.0.0.1", "root", NULL, database, port, NULL,
                              CLIENT_MULTI_STATEMENTS) &&
           run("SET innodb_lock_wait_timeout = 2");
}

static bool attempt(void *context, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    const char *statements = (const char *)context;
    bool commit = false;
    (void)op;
    if (!connects(step->timeout)) {
        *failure = retry_classify_errno(ECONNREFUSED, false);
        printf("    %u\n", mysql_errno(connection));
        hang_up();
        return false;
    }
    if (run("START TRANSACTION") && run(statements)) {
        commit = true;
        if (run("COMMIT"))
            return true;
    }
    unsigned error = mysql_errno(connection);
    printf("    %u\n", error);
    /* README: */
    /* in the callback: 1205 has undone one statement, and left the transaction open */
    bool conflict = error == LOCK_WAIT_TIMEOUT || error == DEADLOCK;
    if (!run("ROLLBACK")) /* else START TRANSACTION commits the other half */
        hang_up();        /* then the server rolls back */
    if (conflict) {
        failure->reason =
            RETRY_REASON_USER(0, RETRY_REASON_FREE | RETRY_REASON_ALLOWS_NON_IDEMPOTENT);
    } else if (error >= LOST) {
        *failure = retry_classify_errno(ECONNRESET, true);
        failure->safety = commit ? RETRY_SAFETY_MAYBE : RETRY_SAFETY_YES;
    }
    /* end */
    return false;
}

int main(int argc, char **argv)
{
    const retry_clock clock = retry_system_clock();
    char line[512], *statements;
    if (argc != 3)
        return 2;
    port = (unsigned)atoi(argv[1]);
    database = argv[2];
    service.client.cut_after = 5000; /* ms */
    retry_service_init(&service, clock.now(clock.context));
    while (fgets(line, sizeof line, stdin)) {
        long id = strtol(line, &statements, 10);
        retry_operation op;
        memset(&op, 0, sizeof op);
        op.timeout = 30000; /* ms */
        op.idempotent = false;
        bool done =
            retry_run(&op, &service, &clock, attempt, statements).verdict == RETRY_VERDICT_SUCCESS;
        printf("%s %ld\n", done ? "done" : op.ambiguous ? "perhaps" : "failed", id);
    }
    hang_up();
}
