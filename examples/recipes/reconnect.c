/* reconnect.c: a device that keeps a connection and delivers readings over it, one after another,
   as HTTP requests by hand. It prints each reading that was answered.
       cc -o reconnect examples/recipes/reconnect.c
       ./reconnect 80 1000    on 127.0.0.1, so many readings */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static retry_connection connection; /* one for each connection */
static struct sockaddr_in server;

static retry_time now(void)
{
    return retry_system_clock().now(NULL);
}

static void sleep_ms(retry_ms delay)
{
    retry_system_clock().sleep(NULL, delay);
}

/* The time that connecting, sending and receiving may each take. */
static void set_timeout(int fd, retry_ms timeout)
{
    struct timeval time = {(time_t)(timeout / 1000), (suseconds_t)(timeout % 1000) * 1000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

static bool connects(int fd, retry_ms timeout)
{
    set_timeout(fd, timeout);
    return connect(fd, (struct sockaddr *)&server, sizeof server) == 0;
}

/* Whether the server has answered, with 204. */
static bool delivers(int fd, int reading)
{
    char text[256];
    int length =
        snprintf(text, sizeof text, "GET /reading?%d HTTP/1.1\r\nHost: d\r\n\r\n", reading);
    set_timeout(fd, 1000);
    return send(fd, text, (size_t)length, MSG_NOSIGNAL) == length &&
           recv(fd, text, sizeof text, 0) > 12 && strncmp(text, "HTTP/1.1 204", 12) == 0;
}

int main(int argc, char **argv)
{
    int reading = 0, count = argc > 2 ? atoi(argv[2]) : 1000;
    server.sin_family = AF_INET;
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server.sin_port = htons((uint16_t)atoi(argc > 1 ? argv[1] : "80"));
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    while (reading < count) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        /* README: */
        retry_ms timeout = retry_connection_begin(&connection, now()); /* to connect */
        /* end */
        if (connects(fd, timeout))
            while (reading < count && delivers(fd, reading)) {
                /* README: */
                retry_connection_established(&connection, now()); /* it works: the server answers */
                /* end */
                printf("done %d\n", reading++);
                sleep_ms(20);
            }
        close(fd);
        /* README: */
        retry_ms wait = retry_connection_failed(&connection, NULL, now()); /* sleep so long */
        /* end */
        printf("    again in %u ms\n", (unsigned)wait);
        if (reading < count)
            sleep_ms(wait);
    }
}
