/* lwip.c: lwIP's raw interface, polled, without threads: a connection that is made again when it is
   lost, and one operation after another on it.

   Reads operations from standard input, "get ..." or "add ...", one in a line. Prints how each
   ended: done, failed, or perhaps done, if its answer was lost and it must not be sent twice.
   The server is 10.0.0.1, port 7, behind the interface in wire.h.

       make lwip               with a server that freezes, dies and comes back
       .../lwip 10000 careless calls every operation idempotent, to show what that does */
#define _DEFAULT_SOURCE
#include "wire.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RETRY_IMPLEMENTATION
#include "../../retry.h"

enum { CONNECT_MS = 2000, SPACING_MS = 200, SPACING_MAX_MS = 2000 };

/* One device, which would rather wait than fail, needs no budget. */
static const retry_client client = {.cut_after = 1000};
static retry_connection pace = {.backoff = {.initial = SPACING_MS, .max = SPACING_MAX_MS},
                                .min_connect_timeout = CONNECT_MS};
static retry_operation op;
static char line[80], answer[80];
static bool sent; /* the operation is on the wire */

static void show(retry_reason reason)
{
    printf("    %s\n", retry_reason_name(reason));
}

/* ---- The connection ------------------------------------------------------------------------ */

static struct tcp_pcb *connection;
static bool connected;
static retry_time since; /* when the connection was begun, or lost */
static retry_ms lasts;   /* how long it may take to connect, or is waited */

/* What was on the wire may have been done. */
static void lost(void)
{
    const retry_failure failure = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    since = sys_now();
    lasts = retry_connection_failed(&pace, NULL, since);
    connection = NULL;
    connected = false;
    if (sent) {
        show(failure.reason);
        retry_ended(&op, 0, &failure, since);
    }
    sent = false;
}

/* The connection is gone already; the peer reset it, or lwIP gave up. */
static void on_error(void *unused, err_t error)
{
    (void)unused, (void)error;
    lost();
}

/* Not from a callback. */
static void hang_up(void)
{
    tcp_err(connection, NULL);
    tcp_abort(connection);
    lost();
}

static err_t on_connected(void *unused, struct tcp_pcb *pcb, err_t error)
{
    (void)unused, (void)pcb, (void)error;
    connected = true;
    retry_connection_established(&pace, sys_now());
    return ERR_OK;
}

/* An answer is one line. */
static void heard(void)
{
    if (!sent || !strchr(answer, '\n'))
        return;
    sent = false;
    retry_ended(&op, 0, NULL, sys_now());
}

static err_t on_received(void *unused, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
    const size_t length = strlen(answer);
    (void)unused, (void)error;
    if (!data) { /* the peer has closed it */
        tcp_err(pcb, NULL);
        tcp_abort(pcb);
        lost();
        return ERR_ABRT;
    }
    answer[length +
           pbuf_copy_partial(data, answer + length, (u16_t)(sizeof answer - 1 - length), 0)] = '\0';
    tcp_recved(pcb, data->tot_len);
    pbuf_free(data);
    heard();
    return ERR_OK;
}

static void connect_anew(void)
{
    ip_addr_t server;
    IP_ADDR4(&server, 10, 0, 0, 1);
    since = sys_now();
    lasts = retry_connection_begin(&pace, since);
    connection = tcp_new();
    if (!connection) { /* no memory: as if the server had refused */
        lost();
        return;
    }
    tcp_err(connection, on_error);
    tcp_recv(connection, on_received);
    if (tcp_connect(connection, &server, 7, on_connected) != ERR_OK)
        hang_up();
}

/* Whether the connection's time is over, and what follows. */
static uint32_t keep_connected(void)
{
    const uint32_t passed = sys_now() - since;
    if (connected)
        return UINT32_MAX;
    if (passed < lasts)
        return lasts - passed;
    if (connection)
        hang_up();
    else
        connect_anew();
    return lasts;
}

/* ---- The operation ------------------------------------------------------------------------- */

/* Without a connection nothing is sent, and anything may be tried again. It says nothing of the
   server: the connection's own attempts do. */
static void send_line(void)
{
    const retry_failure failure =
        retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED);
    sent = connected &&
           tcp_write(connection, line, (u16_t)strlen(line), TCP_WRITE_FLAG_COPY) == ERR_OK;
    answer[0] = '\0';
    if (sent) {
        tcp_output(connection);
    } else {
        show(failure.reason);
        retry_ended(&op, 0, &failure, sys_now());
    }
}

/* Does what the library says. Returns the ms to wait for, or 0 when the operation is over. */
static uint32_t operate(void)
{
    for (;;) {
        const retry_step step = retry_next(&op, sys_now());
        switch (step.what) {
        case RETRY_DO_SEND:
            send_line();
            break;
        case RETRY_DO_CANCEL: /* its answer may still come: not on the next connection */
            show(op.failure.reason);
            sent = false;
            hang_up();
            break;
        case RETRY_DO_WAIT:
            return step.delay;
        default:
            printf("%s %s",
                   step.verdict == RETRY_VERDICT_SUCCESS ? "done"
                   : op.ambiguous                        ? "perhaps"
                                                         : "failed",
                   line);
            return 0;
        }
    }
}

static void begin_operation(bool careless)
{
    memset(&op, 0, sizeof op);
    op.client = &client;
    op.timeout = 30000;
    op.idempotent = careless || strncmp(line, "get ", 4) == 0;
    retry_start(&op, NULL, sys_now());
}

int main(int count, char **arguments)
{
    const int port = atoi(count > 1 ? arguments[1] : "10000");
    bool busy = false, more = true;
    srand((unsigned)getpid()); /* lwIP draws its port and its sequence numbers by rand() */
    setvbuf(stdin, NULL, _IONBF, 0);
    if (!wire_begin(2, port + 1, port))
        return 2;
    while (busy || more) {
        uint32_t wait = keep_connected(), due = busy ? operate() : UINT32_MAX;
        struct pollfd input = {STDIN_FILENO, POLLIN, 0};
        busy = busy && due != 0;
        if (!busy && more && poll(&input, 1, 0) > 0) {
            more = fgets(line, sizeof line, stdin) != NULL;
            busy = more;
            if (busy)
                begin_operation(count > 2);
            continue;
        }
        wire_poll(busy ? -1 : STDIN_FILENO, due < wait ? due : wait);
    }
    return 0;
}
