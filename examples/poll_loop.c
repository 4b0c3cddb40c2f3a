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

static struct sockaddr_in server = {.sin_family = AF_INET};
static struct pollfd connection = {.fd = -1};        /* kept from command to command */
static retry_service service = {.limit = {.max = 1}, /* one at a time */
                                .budget = {.options = RETRY_BUDGET_BEST_EFFORT(1)},
                                .client = {.attempt_timeout = 1000}}; /* ms */
static char answer[256];
static size_t length; /* of the answer so far */

static retry_time now(void)
{
    return retry_system_clock().now(NULL);
}

/* Of a connection, too, whose answer is late: it would be taken for that of the next command. */
static void hang_up(void)
{
    close(connection.fd);
    connection.fd = -1;
}

static void lost(retry_operation *op, bool sent)
{
    retry_failure failure = retry_classify_errno(errno, sent);
    printf("    %s\n", retry_reason_name(failure.reason));
    hang_up();
    retry_ended(op, 0, &failure, now());
}

/* The command is written as soon as the connection lets it. */
static void begin(retry_operation *op)
{
    length = 0;
    connection.events = POLLOUT;
    if (connection.fd >= 0 && poll(&(struct pollfd){connection.fd, POLLIN, 0}, 1, 0) != 0)
        hang_up(); /* it can be read though nothing was asked: it has died */
    if (connection.fd >= 0)
        return;
    connection.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (connect(connection.fd, (struct sockaddr *)&server, sizeof server) != 0 &&
        errno != EINPROGRESS)
        lost(op, false);
}

/* An answer is one line; VA, a value, has a second one. */
static bool complete(void)
{
    const char *end = strchr(answer, '\n');
    return end && (strncmp(answer, "VA ", 3) != 0 || strchr(end + 1, '\n'));
}

/* The socket is ready: for the command at first, and then with the answer. */
static void go_on(retry_operation *op, const char *command)
{
    static const retry_failure no_memory = {.reason = RETRY_REASON_KV_TEMPORARY_FAILURE};
    bool sent = connection.events == POLLIN;
    ssize_t n = sent ? recv(connection.fd, answer + length, sizeof answer - length - 1, 0)
                     : send(connection.fd, command, strlen(command), MSG_NOSIGNAL);
    connection.events = POLLIN;
    answer[length += sent && n > 0 ? (size_t)n : 0] = '\0';
    if (n == 0)
        errno = ECONNRESET;
    if (n <= 0)
        lost(op, sent);
    else if (sent && complete())
        retry_ended(op, 0, strncmp(answer, "SERVER_ERROR", 12) == 0 ? &no_memory : NULL, now());
}

/* Whatever happens, the library is asked what to do. */
static bool operate(retry_operation *op, const char *command)
{
    retry_start(op, now());
    for (;;) {
        retry_step step = retry_next(op, now());
        switch (step.what) {
        case RETRY_DO_SEND:
            begin(op);
            break;
        case RETRY_DO_CANCEL:
            printf("    %s\n", retry_reason_name(op->failure.reason));
            hang_up();
            break;
        case RETRY_DO_WAIT: /* for the socket, too, if the command is on its way */
            if (poll(&connection, step.cause == RETRY_CAUSE_NONE, (int)step.delay) > 0)
                go_on(op, command);
            break;
        default:
            return step.verdict == RETRY_VERDICT_SUCCESS;
        }
    }
}

int main(int argc, char **argv)
{
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server.sin_port = htons((uint16_t)atoi(argc > 1 ? argv[1] : "11211"));
    service.budget.options.expire = 0; /* never: a single process may save its tokens */
    retry_service_init(&service, now());
    for (char line[256]; fgets(line, sizeof line, stdin);) {
        retry_operation op = {.request = {.client = &service.client, .timeout = 10000}};
        op.request.idempotent = argc > 2 || strncmp(line, "mg ", 3) == 0; /* a get */
        bool done = operate(&op, line);
        printf("%s %s", done ? "done" : (op.request.ambiguous ? "perhaps" : "failed"), line);
    }
}
