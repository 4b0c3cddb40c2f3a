/* redis.c: hiredis under retry_run, one command after another.

   Reads commands from standard input, one in a line, and prints how each ended: done, failed, or
   perhaps done, if its answer was lost and it must not be sent twice.

       cc -o redis examples/redis.c -lhiredis
       echo INCR visits | ./redis 6379       on 127.0.0.1
       ./redis 6379 careless                 calls every command idempotent, to show what that does
       make redis                            on a real server that is busy, frozen, killed ... */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATION_TIMEOUT = 15000, ATTEMPT_TIMEOUT = 1000 }; /* ms */

static uint16_t port;
static redisContext *connection; /* or NULL */

/* Between two commands Redis says nothing: a connection that can be read has died. */
static bool connected(retry_ms timeout)
{
    bool idle = connection && poll(&(struct pollfd){connection->fd, POLLIN, 0}, 1, 0) == 0;
    retry_ms ms = idle ? timeout : timeout / 2;               /* the command has the other half */
    struct timeval limit = {ms / 1000, ms % 1000 * 1000 + 1}; /* 0 would be none */
    if (!idle) {
        redisFree(connection);
        connection = redisConnectWithTimeout("127.0.0.1", port, limit);
    }
    return connection && !connection->err && redisSetTimeout(connection, limit) == REDIS_OK;
}

/* An answer that is an error: the server did nothing. Not yet, not here, or (left zeroed) final. */
static retry_failure classify(const char *error)
{
    static const char *const not_yet[] = {"LOADING ",     "BUSY ",       "TRYAGAIN ",
                                          "CLUSTERDOWN ", "MASTERDOWN ", "NOREPLICAS "};
    retry_failure failure = {0};
    if (strncmp(error, "READONLY ", 9) == 0)
        return retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_NODE_NOT_AVAILABLE);
    for (size_t i = 0; i < sizeof not_yet / sizeof not_yet[0]; i++) {
        if (strncmp(error, not_yet[i], strlen(not_yet[i])) == 0)
            return retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SERVICE_NOT_AVAILABLE);
    }
    return failure;
}

static void disconnect(void)
{
    redisFree(connection);
    connection = NULL;
}

static bool attempt(void *context, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    const char **words = context;
    (void)op;
    int count = 0;
    redisReply *reply = NULL;
    while (words[count])
        count++;
    failure->reason = RETRY_REASON_SOCKET_NOT_AVAILABLE; /* as long as nothing was sent */
    if (connected(step->timeout)) {
        reply = redisCommandArgv(connection, count, words, NULL);
        failure->timeout = connection->err == REDIS_ERR_IO && errno == EAGAIN;
        failure->reason = failure->timeout ? RETRY_REASON_ATTEMPT_TIMED_OUT
                                           : RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT;
    }
    if (!reply) { /* a late one would be taken for that of the next command */
        disconnect();
        return false;
    }
    bool done = reply->type != REDIS_REPLY_ERROR;
    if (!done) {
        printf("    %s\n", reply->str);
        *failure = classify(reply->str);
    }
    if (failure->reason == RETRY_REASON_NODE_NOT_AVAILABLE)
        disconnect();       /* it leads to the wrong server */
    freeReplyObject(reply); /* yours to use before that */
    return done;
}

static void show(void *context, const retry_operation *op, const retry_failure *failure)
{
    char line[240];
    (void)context;
    if (failure && retry_format(line, sizeof line, op, failure) > 0)
        printf("    %s\n", line);
}

static retry_service service = {.limit = {.max = 1}, /* one at a time */
                                .client = {.observe = show, .cut_after = ATTEMPT_TIMEOUT}};

static void operate(const char *line, bool careless)
{
    char text[256];
    const char *words[5] = {NULL};
    int count = 0;
    retry_clock clock = retry_system_clock();
    retry_operation op = {.timeout = OPERATION_TIMEOUT};
    strcpy(text, line);
    for (char *word = strtok(text, " \n"); word && count < 4; word = strtok(NULL, " \n"))
        words[count++] = word;
    op.idempotent = careless || strncmp(line, "GET ", 4) == 0 || strncmp(line, "SET ", 4) == 0;
    bool done = retry_run(&op, &service, &clock, attempt, words).verdict == RETRY_VERDICT_SUCCESS;
    printf("%s %s", done ? "done" : (op.ambiguous ? "perhaps" : "failed"), line);
}

int main(int argc, char **argv)
{
    char line[256];
    port = (uint16_t)atoi(argc > 1 ? argv[1] : "6379");
    retry_service_init(&service, retry_system_clock().now(NULL));
    while (fgets(line, sizeof line, stdin) && line[0] != '\n')
        operate(line, argc > 2);
}
