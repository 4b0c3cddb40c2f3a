/* batch.c: many commands to Redis, sent without waiting for each answer. Reads commands, one in a
   line, that are answered by a line, as INCR and SET are; an empty line ends a batch. The commands
   of a batch must not depend on each other. Prints how each ended: done, failed or perhaps done.
       cc -o batch examples/recipes/batch.c
       seq -f 'INCR visits%g' 1000 | ./batch 6379    on 127.0.0.1 */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum {
    MOST = 1000,
    PIECE = 100,
    LENGTH = 64
}; /* commands of a batch, on the way; of each, bytes */

typedef struct command {
    char text[LENGTH];
    const char *how; /* NULL: it is left to be sent */
} command;

static command batch[MOST];
static int count;
static struct sockaddr_in server;
static FILE *answers;         /* the connection, or NULL */
static retry_service service; /* one for each server */

static retry_time now(void)
{
    return retry_system_clock().now(NULL);
}

static void set_timeout(int fd, retry_ms timeout)
{
    struct timeval time = {(time_t)(timeout / 1000), (suseconds_t)(timeout % 1000) * 1000 + 1};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

static void hang_up(void)
{
    if (answers)
        fclose(answers);
    answers = NULL;
}

/* Between two batches Redis says nothing: a connection that can be read has died. */
static bool connects(retry_ms timeout)
{
    struct pollfd idle = {answers ? fileno(answers) : -1, POLLIN, 0};
    if (answers && poll(&idle, 1, 0) == 0)
        return true;
    hang_up();
    answers = fdopen(socket(AF_INET, SOCK_STREAM, 0), "r");
    if (!answers)
        abort();
    set_timeout(fileno(answers), timeout);
    return connect(fileno(answers), (struct sockaddr *)&server, sizeof server) == 0;
}

/* The commands from *next on that are left, and what is sent for them. Returns how many. */
static int take_piece(int *next, command **piece, char *text)
{
    int n = 0;
    for (; *next < count && n < PIECE; ++*next)
        if (!batch[*next].how) {
            piece[n++] = &batch[*next];
            text += sprintf(text, "%s\r\n", batch[*next].text);
        }
    return n;
}

static bool is_left(void)
{
    for (int i = 0; i < count; i++)
        if (!batch[i].how)
            return true;
    return false;
}

/* Sends a piece, and reads its answers. Returns how many came; *sent: whether any byte was sent. */
static int exchange(command **piece, int n, const char *text, retry_ms timeout, bool *sent)
{
    char answer[256];
    int answered = 0;
    set_timeout(fileno(answers), timeout);
    errno = 0; /* it stays so if Redis closes the connection */
    *sent = send(fileno(answers), text, strlen(text), MSG_NOSIGNAL) > 0;
    for (; *sent && answered < n && fgets(answer, sizeof answer, answers); answered++)
        if (strncmp(answer, "-LOADING", 8) != 0) /* Redis has done nothing yet: it is left */
            piece[answered]->how = answer[0] == '-' ? "failed" : "done";
    return answered;
}

/* The connection is lost, and `n` commands have no answer. */
static void lost(command **piece, int n, bool sent, const retry_operation *op,
                 retry_failure *failure)
{
    /* README: */
    /* in the callback, when the connection is lost, and `n` commands of a piece have no answer */
    *failure = retry_classify_errno(errno, sent);
    for (int i = 0; i < n && sent && !op->idempotent; i++)
        piece[i]->how = "perhaps"; /* the server may have done it: it is not sent again */
    if (!op->idempotent && is_left())
        failure->safety = RETRY_SAFETY_YES; /* what is left was never sent */
    /* end */
    hang_up();
}

static bool attempt(void *context, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    const retry_time ends = now() + step->timeout;
    char text[PIECE * (LENGTH + 2)];
    command *piece[PIECE];
    bool sent = false, connected = connects(step->timeout);
    int next = 0, n = 0, answered = 0;
    (void)context;
    while (connected && answered == n && (n = take_piece(&next, piece, text)) > 0) {
        retry_ms rest = ends - now(); /* once it is past: huge */
        answered = exchange(piece, n, text, rest <= step->timeout ? rest : 0, &sent);
    }
    if (!connected || answered < n)
        lost(piece + answered, n - answered, sent, op, failure);
    else if (is_left())
        *failure = retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SERVICE_NOT_AVAILABLE);
    else
        return true;
    printf("    %s\n", retry_reason_name(failure->reason));
    return false;
}

static void do_batch(void)
{
    const retry_clock clock = retry_system_clock();
    retry_operation op;
    memset(&op, 0, sizeof op);
    op.timeout = 20000; /* ms */
    /* README: */
    op.idempotent = false; /* true: what was not answered is sent again */
    retry_run(&op, &service, &clock, attempt, NULL);
    const char *rest = op.ambiguous ? "perhaps" : "failed"; /* of what was left */
    for (int i = 0; i < count; i++)
        printf("%s %s\n", batch[i].how ? batch[i].how : rest, batch[i].text);
    /* end */
    count = 0;
}

int main(int argc, char **argv)
{
    char line[LENGTH];
    server.sin_family = AF_INET;
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server.sin_port = htons((uint16_t)atoi(argc > 1 ? argv[1] : "6379"));
    service.client.attempt_timeout = 2000; /* ms for a batch */
    retry_service_init(&service, now());
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0') {
            batch[count].how = NULL;
            strcpy(batch[count++].text, line);
        }
        if (line[0] == '\0' || count == MOST)
            do_batch();
    }
    do_batch();
}
