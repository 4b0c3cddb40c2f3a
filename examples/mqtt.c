/* mqtt.c: a fleet of MQTT clients with libmosquitto, whose broker dies and comes back. Retried here
   are only the connections; what was not acknowledged libmosquitto sends again itself (QoS 1).
   The clients publish the words of standard input by turns. Prints each that the broker has, and
   when clients came back.

       cc -o mqtt examples/mqtt.c -lmosquitto
       seq 1000 | ./mqtt 1883     200 clients of the broker on 127.0.0.1
       ./mqtt 1883 careless       comes back after 1 s, all at once, and publishes anew
       make mqtt                  on a real broker that freezes and dies */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <mosquitto.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLEET = 200, SPREAD = 4000, IMPATIENCE = 500, DAY = 86400000, KEEPALIVE = 60 }; /* ms; s */

typedef struct client {
    struct mosquitto *mosquitto;
    char name[16], topic[80]; /* of the message under way, or empty */
    retry_connection pace;    /* it counts anew after a connection of 10 s, not before */
    retry_time due, sent;     /* when to connect, when the message was published */
    int id;                   /* of the message */
    bool open;                /* has a socket */
    bool published;           /* the message, once at least */
} client;

static int port;
static bool careless;
static retry_time now;
static unsigned unacknowledged; /* messages */

static void on_connect(struct mosquitto *mosquitto, void *context, int code)
{
    client *c = context;
    if (!mosquitto || code != 0)
        return; /* refused: the broker hangs up */
    printf("    %s connected, due at %u ms\n", c->name, (unsigned)c->due);
    retry_connection_established(&c->pace, now);
}

static void on_acknowledged(struct mosquitto *mosquitto, void *context, int id)
{
    client *c = context;
    if (!mosquitto || id != c->id || !c->topic[0])
        return;
    printf("done %s\n", c->topic + strlen("fleet/"));
    c->topic[0] = '\0';
    unacknowledged--;
}

/* The broker that all had stood on is gone: each comes back at a time of its own. */
static void lost(client *c)
{
    c->open = false;
    c->due = now + (careless ? 1000
                             : retry_connection_failed(&c->pace, NULL, now) +
                                   retry_phase(c->name, strlen(c->name), SPREAD));
    printf("    %s lost, again in %u ms\n", c->name, (unsigned)(c->due - now));
}

static void look_after(client *c)
{
    if (!c->open && c->due - now - 1 >= DAY) { /* else it lies ahead */
        retry_connection_begin(&c->pace, now);
        c->open = mosquitto_connect(c->mosquitto, "127.0.0.1", port, KEEPALIVE) == MOSQ_ERR_SUCCESS;
        if (!c->open)
            c->due = now + (careless ? 1000 : retry_connection_failed(&c->pace, NULL, now));
    }
    if (c->open && mosquitto_loop(c->mosquitto, 0, 1) != MOSQ_ERR_SUCCESS)
        lost(c);
    if (!c->topic[0] || (c->published && (!careless || now - c->sent <= IMPATIENCE)))
        return;
    if (c->published)
        printf("    %s publishes %s anew\n", c->name, c->topic);
    mosquitto_publish(c->mosquitto, &c->id, c->topic, 0, NULL, 1, false); /* or waits in it */
    c->sent = now;
    c->published = true;
}

int main(int argc, char **argv)
{
    static client fleet[FLEET];
    unsigned next = 0;
    struct pollfd input = {0, POLLIN, 0};
    char message[64] = "";
    port = atoi(argc > 1 ? argv[1] : "1883");
    careless = argc > 2;
    setvbuf(stdin, NULL, _IONBF, 0);
    mosquitto_lib_init();
    for (client *c = fleet; c < fleet + FLEET; c++) {
        snprintf(c->name, sizeof c->name, "client%d", (int)(c - fleet));
        c->due = retry_system_clock().now(NULL);
        c->mosquitto = mosquitto_new(c->name, false, c);
        mosquitto_connect_callback_set(c->mosquitto, on_connect);
        mosquitto_publish_callback_set(c->mosquitto, on_acknowledged);
    }
    for (bool more = true; more || unacknowledged > 0;) {
        client *c = &fleet[next++ % FLEET];
        now = retry_system_clock().now(NULL);
        for (unsigned i = 0; i < FLEET; i++)
            look_after(&fleet[i]);
        if (poll(&input, more, 5) == 0 || c->topic[0])
            continue;
        more = scanf("%63s", message) == 1;
        snprintf(c->topic, more ? sizeof c->topic : 1, "fleet/%s", message);
        unacknowledged += more;
        c->published = false;
    }
}
