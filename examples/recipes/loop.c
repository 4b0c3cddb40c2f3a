/* loop.c: an event loop of poll. Adds 1 to memcached's counter `n`, COUNT times, four at once, each
   on a connection of its own, and prints how each ended: done, failed or perhaps done.
       cc -o loop examples/recipes/loop.c
       ./loop 11211 1000    on 127.0.0.1 */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 4 };
static retry_operation operations[AT_ONCE];
static struct pollfd sockets[AT_ONCE]; /* of each */
static retry_time since[AT_ONCE];      /* when its timer was set */
static retry_ms delays[AT_ONCE];       /* after which it fires */
static bool busy[AT_ONCE];
static int begun, ended;
static retry_time now; /* in this turn of the loop */
static struct sockaddr_in server;
static retry_service service; /* one for each server */

static void hang_up(int i)
{
    close(sockets[i].fd);
    sockets[i].fd = -1;
}

static void lost(int i, int error, bool sent)
{
    retry_failure failure = retry_classify_errno(error, sent);
    printf("    %s\n", retry_reason_name(failure.reason));
    hang_up(i);
    retry_ended(&operations[i], 0, &failure, now);
}

/* The command is written as soon as the connection lets it. */
static void send_command(int i)
{
    sockets[i].fd = socket(AF_INET, SOCK_STREAM, 0);
    sockets[i].events = POLLOUT;
    fcntl(sockets[i].fd, F_SETFL, O_NONBLOCK);
    if (connect(sockets[i].fd, (struct sockaddr *)&server, sizeof server) != 0 &&
        errno != EINPROGRESS)
        lost(i, errno, false);
}

/* The socket is ready: for the command at first, and then with the answer, which is a line. */
static void go_on(int i)
{
    static const char command[] = "ma n N0 J1\r\n";
    char answer[64];
    bool sent = sockets[i].events == POLLIN;
    ssize_t n = sent ? recv(sockets[i].fd, answer, sizeof answer, 0)
                     : send(sockets[i].fd, command, sizeof command - 1, MSG_NOSIGNAL);
    sockets[i].events = POLLIN;
    if (n <= 0)
        lost(i, n == 0 ? 0 : errno, sent);
    else if (sent && answer[n - 1] == '\n')
        retry_ended(&operations[i], 0, NULL, now);
}

static retry_ms finished(int i, const retry_step *end)
{
    const char *failed = operations[i].ambiguous ? "perhaps" : "failed";
    printf("%s %s\n", end->verdict == RETRY_VERDICT_SUCCESS ? "done" : failed,
           retry_cause_text(end->cause));
    if (sockets[i].fd >= 0)
        hang_up(i);
    busy[i] = false;
    ended++;
    return 0;
}

static void begin(int i)
{
    memset(&operations[i], 0, sizeof operations[i]);
    operations[i].timeout = 10000; /* ms */
    operations[i].idempotent = false;
    retry_start(&operations[i], &service, now);
    busy[i] = true;
    begun++;
}

static bool connects(int i)
{
    return sockets[i].fd >= 0 && sockets[i].events == POLLOUT;
}

/* README: */
/* Call it when something has happened, or the timer fires. Returns ms to the next call. */
static retry_ms advance(int i)
{
    if (connects(i) && now - since[i] >= delays[i]) /* the timer fires before anything is sent: */
        lost(i, ETIMEDOUT, false);                  /* say so, or it is taken for sent */
    for (;;) {
        retry_step step = retry_next(&operations[i], now);
        since[i] = now;
        delays[i] = step.delay;
        if (step.what == RETRY_DO_WAIT)
            return step.delay;
        if (step.what == RETRY_DO_SEND)
            send_command(i); /* retry_ended says how it went: here, or later in the loop */
        else if (step.what == RETRY_DO_CANCEL)
            hang_up(i); /* its time is over */
        else
            return finished(i, &step);
    }
}
/* end */

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[2]) : 1000;
    server.sin_family = AF_INET;
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server.sin_port = htons((uint16_t)atoi(argc > 1 ? argv[1] : "11211"));
    for (int i = 0; i < AT_ONCE; i++)
        sockets[i].fd = -1;
    service.client.cut_after = 1000; /* ms */
    now = retry_system_clock().now(NULL);
    retry_service_init(&service, now);
    while (ended < count) {
        retry_ms wait = UINT32_MAX;
        for (int i = 0; i < AT_ONCE; i++) {
            if (!busy[i] && begun < count)
                begin(i);
            retry_ms delay = busy[i] ? advance(i) : UINT32_MAX;
            wait = delay < wait ? delay : wait;
        }
        poll(sockets, AT_ONCE, wait > INT32_MAX ? -1 : (int)wait);
        now = retry_system_clock().now(NULL);
        for (int i = 0; i < AT_ONCE; i++)
            if (sockets[i].fd >= 0 && sockets[i].revents)
                go_on(i);
    }
}
