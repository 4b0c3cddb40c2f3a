/* slow_server.c: an HTTP server with few hands, for guarded.sh. THREADS requests are served at
   once, each takes MS ms, SLOW of 1000 take a hundred times as long. All others wait in the
   kernel's queue, and are served even if their clients have gone, as a server does that looks no
   sooner.
       ./slow_server PORT THREADS MS SLOW */
#define _DEFAULT_SOURCE
#include "../../examples/plumbing.h"

#include <pthread.h>

static int listener;
static unsigned ms, slow;

static void *serve(void *seed)
{
    static const char answer[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";
    unsigned random = (unsigned)(uintptr_t)seed * 2654435761u;
    for (;;) {
        char request[2048];
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            continue;
        random = random * 1664525u + 1013904223u;
        if (recv(fd, request, sizeof request, 0) > 0) {
            pause_ms((random >> 16) % 1000 < slow ? ms * 100 : ms);
            send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL);
        }
        close(fd);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    ms = (unsigned)atoi(argv[3]);
    slow = (unsigned)atoi(argv[4]);
    listener = tcp_bind((uint16_t)atoi(argv[1]));
    if (listener < 0 || listen(listener, 4096) != 0) {
        perror(argv[1]);
        return 1;
    }
    for (int i = 1; i < atoi(argv[2]); i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, (void *)(uintptr_t)i) != 0)
            return 1;
    }
    serve(NULL);
}
