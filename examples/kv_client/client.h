/* client.h: what kv_client.c knows of its operations, its nodes and itself. */
#ifndef KV_CLIENT_H
#define KV_CLIENT_H

#include "report.h"
#include "server.h"

enum {
    OPERATION_TIMEOUT = 2500, /* ms for an operation with all its attempts */
    ATTEMPT_TIMEOUT = 400,    /* ms that an attempt may be on the wire */
    MAP_INTERVAL = 100,       /* ms between tries while nobody has a newer map of the vbuckets */
    BURST = 10,               /* operations begin in bursts, so that several are in flight */
    BURST_INTERVAL = 80,      /* ms */
    OPERATIONS = 64 * BURST,
    BUDGET_TOKENS = 500, /* that all operations' retries are paid from */
    LOCK_HELD = 5,       /* operations from a get-and-lock to its unlock */
    MAP_VERSION = 2,     /* of the error map, the highest that errmap.h reads */
    MAP_ENTRIES = 128,   /* real servers' maps have 38 to 83 */
    TICK = 50,           /* ms between two looks at the progress and at `interrupted` */

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

enum { IDLE, WAITING, ON_WIRE, EXPIRING, FINISHED }; /* states of an operation */

typedef struct operation {
    retry_request request;
    retry_nmv nmv;
    retry_failure failure; /* the last one */
    retry_time timer;      /* when it is to be sent, or times out, or expires, by its state */
    uint8_t kind, state, outcome;
    uint8_t node;        /* that the attempt on the wire went to */
    uint32_t opaque;     /* of the last attempt */
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
