/* wire.h: messages of eight bytes on a kept TCP connection. Many may be on their way at once, as
   each names its operation and attempt; the answer to a message is the message. */
#ifndef FROZEN_WIRE_H
#define FROZEN_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <uv.h>

typedef struct wire_message {
    uint32_t operation, attempt;
} wire_message;

typedef struct wire wire;
struct wire {
    uv_tcp_t tcp;
    void (*heard)(wire *from, wire_message message);
    void (*closed)(wire *from); /* by the other end */
    uint32_t owner;             /* for the user */
    char part[sizeof(wire_message)];
    size_t have; /* bytes in part */
};

static inline void wire_room(uv_handle_t *handle, size_t wanted, uv_buf_t *room)
{
    static char bytes[4096];
    (void)handle;
    (void)wanted;
    *room = uv_buf_init(bytes, sizeof bytes);
}

static inline void wire_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *bytes)
{
    wire *w = stream->data;
    wire_message message;
    if (got < 0) {
        uv_read_stop(stream);
        w->closed(w);
    }
    for (ssize_t i = 0; i < got; i++) {
        w->part[w->have++] = bytes->base[i];
        if (w->have < sizeof message)
            continue;
        memcpy(&message, w->part, sizeof message);
        w->have = 0;
        w->heard(w, message);
    }
}

/* 0, or libuv's error: nothing was sent. Eight bytes find room, or the other end has gone. */
static inline int wire_send(wire *w, wire_message message)
{
    char bytes[sizeof message];
    uv_buf_t buffer = uv_buf_init(bytes, sizeof bytes);
    int sent;
    memcpy(bytes, &message, sizeof message);
    sent = uv_try_write((uv_stream_t *)&w->tcp, &buffer, 1);
    if (sent < 0)
        return sent;
    return sent == (int)sizeof bytes ? 0 : UV_EPIPE;
}

static inline void wire_init(uv_loop_t *loop, wire *w)
{
    uv_tcp_init(loop, &w->tcp);
    w->tcp.data = w;
}

/* It is connected: from now on `heard` is called. */
static inline void wire_open(wire *w)
{
    uv_tcp_nodelay(&w->tcp, 1);
    uv_read_start((uv_stream_t *)&w->tcp, wire_room, wire_read);
}

#endif /* FROZEN_WIRE_H */
