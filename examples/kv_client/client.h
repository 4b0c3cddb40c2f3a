/* client.h: what kv_client.c knows of its operations, its nodes and itself. */
#ifndef KV_CLIENT_H
#define KV_CLIENT_H

#include "report.h"
#include "server.h"

enum {
    OPERATION_TIMEOUT = 2500, /* ms for an operation with all its attempts */
    ATTEMPT_TIMEOUT = 400,    /* ms that an attempt may be on the wire while all is well */
    BURST = 10,               /* operations begin in bursts, so that several are in flight */
    BURST_INTERVAL = 80,      /* ms */
    OPERATIONS = 64 * BURST,
    IN_FLIGHT = 3 * BURST, /* operations at once: what the budget is made for */
    COPIES = 2,            /* of an attempt, on the wire at once */
    HEDGE_EARLIEST = 20,   /* ms; no get is late before */
    HEDGE_SAMPLES = 30,    /* gets, until it is known when one is late */
    LOCK_HELD = 5,         /* operations from a get-and-lock to its unlock */
    MAP_VERSION = 2,       /* of the error map, the highest that errmap.h reads */
    MAP_ENTRIES = 128,     /* real servers' maps have 38 to 83 */
    TICK = 50,             /* ms between two looks at the progress and at `interrupted` */

    /* ms that an operation may end after its deadline. The client wakes at the deadline, give or
       take a millisecond; on a machine under load it then waits for its turn on a core, for some
       tens of milliseconds with Linux's default scheduler. */
    QUANTUM = 50
};

enum { GET, SET, INCREMENT, GET_AND_LOCK, ADD, UNLOCK, READ_BACK, KINDS };

static const struct {
    const char *name;
    uint8_t opcode;
} kinds[KINDS] = {
    {"get", KV_GET},
    {"set", KV_SET},
    {"increment", KV_INCREMENT},
    {"get-and-lock", KV_GET_AND_LOCK},
    {"add", KV_ADD},
    {"unlock", KV_UNLOCK},
    {"read back", KV_GET},
};

enum { IDLE, WAITING, ON_WIRE, FINISHED }; /* states of an operation */

/* Of an attempt: to one node, whose breaker granted it. */
typedef struct copy {
    retry_permit permit;
    retry_time timer; /* when its time is over */
    uint32_t opaque;
    uint8_t node;
    bool second; /* of its try */
    bool on_wire;
} copy;

typedef struct operation {
    retry_operation retry;
    retry_hedge hedge;
    retry_copy further[COPIES - 1];
    errmap_nmv nmv;
    copy copies[COPIES];
    uint32_t tries;   /* begun so far */
    uint32_t opaques; /* copies sent in all */
    retry_time timer; /* when to ask the library again */
    uint8_t kind, state, outcome;
    uint32_t partner;    /* get-and-lock and unlock, increment and read back: each other */
    uint64_t cas, value; /* of the response */
    char key[KV_KEY_SIZE];
} operation;

typedef struct stored_map {
    errmap map;
    errmap_entry entries[MAP_ENTRIES];
    char text[KV_BODY_MAX];
} stored_map;

enum { DOWN, CONNECTING, NEGOTIATING, READY, DRAINING }; /* a node's states */

typedef struct node {
    retry_connection connection;
    retry_breaker breaker;
    errmap_strategy strategy; /* for attempts on this node; its map is the one in use */
    stored_map maps[2];       /* the one in use, if any, and room for the next */
    bool xerror;              /* granted: the node may send codes that only its map explains */
    retry_time timer;         /* when to connect next, or to give up, unless READY */
    int fd;                   /* -1: none */
    int reserved;             /* the socket that keeps the port */
    uint8_t state;
    uint16_t port;
    pid_t process; /* 0: not running */
    char name[16];
    size_t input_length, output_length;
    uint8_t input[KV_HEADER + KV_BODY_MAX], output[8192];
} node;

enum { NO_EVENT, START, FREEZE, CUT, THAW, KILL };

/* What is done to a node's process or connection, and at the beginning of which operation. */
typedef struct event {
    uint32_t operation;
    uint8_t node, action;
} event;

typedef struct scenario {
    const char *server;
    uint8_t nodes;
    uint8_t pattern[BURST]; /* the kinds of a burst's operations */
    event events[8];        /* NO_EVENT ends them */
} scenario;

typedef struct kv_client {
    const scenario *scenario;
    bool careless;
    retry_client retry;
    retry_policy policy;
    retry_budget budget;
    retry_gates gates;     /* of both nodes: the latency alone */
    retry_latency latency; /* a get that is late by it is hedged */
    uint32_t balance;      /* of the budget, when it was counted last */
    operation operations[KV_OPERATIONS];
    uint32_t count, next, open; /* operations planned, the next to begin, begun and not finished */
    retry_time next_burst;
    node nodes[KV_NODES];
    uint64_t map_revision;
    uint8_t map[KV_VBUCKETS]; /* which node owns a vbucket */
    size_t next_event;
    kv_cluster *cluster; /* the server's memory; NULL: memcached */
    kv_report report;
    retry_time drawn; /* when the line of progress was drawn */
} kv_client;

#endif /* KV_CLIENT_H */
