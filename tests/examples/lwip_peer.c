/* lwip_peer PORT: the server of examples/lwip, on an lwIP of its own at the other end of the wire.
   Carries out each line that it gets, prints it, and answers "ok". */
#define _DEFAULT_SOURCE
#include "../../examples/lwip/wire.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void carry_out(struct tcp_pcb *pcb, const char *line)
{
    printf("%s\n", line);
    fflush(stdout);
    tcp_write(pcb, "ok\n", 3, TCP_WRITE_FLAG_COPY);
    tcp_output(pcb);
}

static err_t on_received(void *text, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
    char *lines = text, *end;
    const size_t length = strlen(lines);
    (void)error;
    if (!data) {
        tcp_arg(pcb, NULL);
        tcp_recv(pcb, NULL);
        free(text);
        return tcp_close(pcb);
    }
    lines[length + pbuf_copy_partial(data, lines + length, (u16_t)(255 - length), 0)] = '\0';
    tcp_recved(pcb, data->tot_len);
    pbuf_free(data);
    while ((end = strchr(lines, '\n')) != NULL) {
        *end = '\0';
        carry_out(pcb, lines);
        memmove(lines, end + 1, strlen(end + 1) + 1);
    }
    return ERR_OK;
}

static err_t on_accepted(void *unused, struct tcp_pcb *pcb, err_t error)
{
    (void)unused;
    if (error != ERR_OK || !pcb)
        return ERR_VAL;
    tcp_arg(pcb, calloc(1, 256));
    tcp_recv(pcb, on_received);
    return ERR_OK;
}

int main(int count, char **arguments)
{
    const int port = atoi(count > 1 ? arguments[1] : "10000");
    struct tcp_pcb *pcb;
    srand((unsigned)getpid());
    if (!wire_begin(1, port, port + 1))
        return 2;
    pcb = tcp_new();
    tcp_bind(pcb, IP_ADDR_ANY, 7);
    pcb = tcp_listen(pcb);
    tcp_accept(pcb, on_accepted);
    for (;;)
        wire_poll(-1, 1000);
}
