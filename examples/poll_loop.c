/* poll_loop.c: one non-blocking socket, one poll, one operation after another; here memcached's.

   Reads memcached's meta commands from standard input, one in a line, and prints how each ended:
   done, failed, or perhaps done, if its answer was lost and it must not be sent twice.

       cc -o poll_loop examples/poll_loop.c
       echo ma visits N0 J1 v | ./poll_loop 11211    adds 1 to `visits`, on 127.0.0.1
       .../poll_loop 11211 careless  calls every command idempotent, to show what that does
       make poll_loop                on a real memcached that freezes, dies and comes back */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPERATION_TIMEOUT = 10000, ATTEMPT_TIMEOUT = 500 }; /* ms */

static struct sockaddr_in server = {.sin_family = AF_INET};
static int fd = -1;     /* the connection, or none */
static retry_time ends; /* when the attempt's time is over */

static retry_time now(void)
{
    return retry_system_clock().now(NULL);
}

/* Waits until the socket is ready. False if the attempt's time is over before. */
static bool ready(short events)
{
    retry_time t = now();
    return t < ends && poll(&(struct pollfd){fd, events, 0}, 1, (int)(ends - t)) == 1;
}

static bool connected(void)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (fd >= 0 && poll(&(struct pollfd){fd, POLLIN, 0}, 1, 0) == 0)
        return true; /* one that can be read though nothing was asked has died */
    close(fd);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (connect(fd, (struct sockaddr *)&server, sizeof server) != 0 && errno != EINPROGRESS)
        return false;
    return ready(POLLOUT) && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

/* An answer is one line; VA, a value, has a second one. */
static bool receive(char *answer, size_t size)
{
    for (size_t length = 0; length + 1 < size && ready(POLLIN);) {
        ssize_t n = recv(fd, answer + length, size - length - 1, 0);
        if (n <= 0)
            break;
        answer[length += (size_t)n] = '\0';
        const char *end = strchr(answer, '\n');
        if (end && (strncmp(answer, "VA ", 3) != 0 || strchr(end + 1, '\n')))
            return true;
    }
    return false;
}

static bool try_once(const char *command, retry_ms timeout, retry_failure *failure)
{
    char answer[256];
    ends = now() + timeout;
    failure->reason = RETRY_REASON_SOCKET_NOT_AVAILABLE; /* as long as nothing was sent */
    if (connected()) {
        failure->reason = RETRY_REASON_KV_TEMPORARY_FAILURE; /* out of memory: nothing was done */
        if (send(fd, command, strlen(command), MSG_NOSIGNAL) == (ssize_t)strlen(command) &&
            receive(answer, sizeof answer))
            return strncmp(answer, "SERVER_ERROR", 12) != 0;
        failure->timeout = now() >= ends;
        failure->reason = failure->timeout ? RETRY_REASON_ATTEMPT_TIMED_OUT
                                           : RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT;
    }
    close(fd); /* a late answer would be taken for that of the next command */
    fd = -1;
    return false;
}

static bool operate(retry_request *request, const char *command)
{
    retry_attempt attempt = {0};
    retry_decision decision = {.verdict = RETRY_VERDICT_RETRY};
    for (retry_begin(request, now()); decision.verdict == RETRY_VERDICT_RETRY;) {
        retry_failure why = {0};
        poll(NULL, 0, (int)decision.delay); /* your loop: a timer */
        decision = retry_attempt_begin(&attempt, request, now());
        if (decision.verdict != RETRY_VERDICT_SEND)
            continue;
        bool done = try_once(command, attempt.timeout, &why);
        decision = retry_attempt_end(&attempt, request, done ? NULL : &why, now());
        if (!done)
            printf("    %s: %s\n", retry_reason_name(why.reason), retry_cause_text(decision.cause));
    }
    return decision.verdict == RETRY_VERDICT_SUCCESS;
}

int main(int argc, char **argv)
{
    static const retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(1); /* in flight at once */
    retry_budget budget;
    retry_client client = {.budget = &budget, .attempt_timeout = ATTEMPT_TIMEOUT};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server.sin_port = htons((uint16_t)atoi(argc > 1 ? argv[1] : "11211"));
    retry_budget_init(&budget, &options, now());
    for (char line[256]; fgets(line, sizeof line, stdin);) {
        retry_request request = {.client = &client, .timeout = OPERATION_TIMEOUT};
        request.idempotent = argc > 2 || strncmp(line, "mg ", 3) == 0; /* a get */
        printf("%s %s",
               operate(&request, line) ? "done" : (request.ambiguous ? "perhaps" : "failed"), line);
    }
}
