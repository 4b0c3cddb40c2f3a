/* server.h: a server with few hands. WORKERS requests are worked on at once, each for WORK ms. All
   others wait in one queue that never ends, first come, first served. The server works on for
   those who have given up, as it cannot know. It is a process of its own, so that it can be
   frozen, and ends when all its clients have gone. */
#ifndef FROZEN_SERVER_H
#define FROZEN_SERVER_H

#include "wire.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SERVER_WORKERS = 10,
    SERVER_WORK = 50, /* ms */
    SERVER_RATE = SERVER_WORKERS * 1000 / SERVER_WORK,
    SERVER_LATE = 25 /* ms that a worker may lag behind and make good */
};

typedef struct server_job {
    wire *from;
    wire_message message;
} server_job;

typedef struct server_worker {
    uv_timer_t timer;
    server_job job;
    uint64_t due; /* ms; when its work is done (0: it is idle) */
    bool busy;
} server_worker;

typedef struct server {
    uv_loop_t loop;
    uv_tcp_t listener;
    wire *wires;
    uint32_t wires_max, connected, gone;
    server_worker workers[SERVER_WORKERS];
    server_job *jobs; /* those from `first` on wait */
    size_t first, last, room;
} server;

static void server_answer(uv_timer_t *timer);

/* The next job of the queue. A timer that is late does not make the worker slower, unless it is
   very late: then the server was frozen. */
static void server_work(server *s, server_worker *worker)
{
    uint64_t now = uv_now(&s->loop);
    worker->busy = s->first < s->last;
    if (!worker->busy) {
        worker->due = 0;
        return;
    }
    worker->job = s->jobs[s->first++];
    if (worker->due + SERVER_LATE < now)
        worker->due = now;
    worker->due += SERVER_WORK;
    uv_timer_start(&worker->timer, server_answer, worker->due > now ? worker->due - now : 0, 0);
}

static void server_answer(uv_timer_t *timer)
{
    server_worker *worker = timer->data;
    wire_send(worker->job.from, worker->job.message); /* to whoever is still there */
    server_work(timer->loop->data, worker);
}

static void server_take(wire *from, wire_message message)
{
    server *s = from->tcp.loop->data;
    const server_job job = {from, message};
    if (s->last == s->room) {
        s->room = s->room * 2 + 1024;
        s->jobs = realloc(s->jobs, s->room * sizeof *s->jobs);
        if (!s->jobs)
            abort();
    }
    s->jobs[s->last++] = job;
    for (int i = 0; i < SERVER_WORKERS && s->first < s->last; i++) {
        if (!s->workers[i].busy)
            server_work(s, &s->workers[i]);
    }
}

static void server_left(wire *from)
{
    server *s = from->tcp.loop->data;
    if (++s->gone == s->wires_max)
        uv_stop(&s->loop);
}

static void server_accept(uv_stream_t *listener, int status)
{
    server *s = listener->loop->data;
    wire *w = &s->wires[s->connected];
    if (status < 0 || s->connected == s->wires_max)
        return;
    wire_init(&s->loop, w);
    w->heard = server_take;
    w->closed = server_left;
    if (uv_accept(listener, (uv_stream_t *)&w->tcp) != 0)
        return;
    s->connected++;
    wire_open(w);
}

/* Serves so many clients, who come to a socket that is bound; ends the process. */
static void server_run(int fd, uint32_t clients)
{
    static server s;
    s.wires_max = clients;
    s.wires = calloc(clients, sizeof *s.wires);
    if (!s.wires || uv_loop_init(&s.loop) != 0)
        abort();
    s.loop.data = &s;
    for (int i = 0; i < SERVER_WORKERS; i++) {
        uv_timer_init(&s.loop, &s.workers[i].timer);
        s.workers[i].timer.data = &s.workers[i];
    }
    uv_tcp_init(&s.loop, &s.listener);
    if (uv_tcp_open(&s.listener, fd) != 0 ||
        uv_listen((uv_stream_t *)&s.listener, 1024, server_accept) != 0)
        abort();
    uv_run(&s.loop, UV_RUN_DEFAULT);
    _exit(0);
}

#endif /* FROZEN_SERVER_H */
