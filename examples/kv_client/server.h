/* server.h: the other side of kv_client.c, a server that fails on a script.

   A cluster is some memory that all its processes share: the data, who owns which vbucket, and what
   was counted. A node is a process that serves it on one port (kv_serve). A node may be killed at
   any time; what it had done stays done, and another process can take its place. Each node has an
   error map of its own, and sends codes that only the map explains to whoever asked for both. */
#ifndef KV_SERVER_H
#define KV_SERVER_H

#include "protocol.h"
#include "../plumbing.h"

#include <poll.h>
#include <sys/mman.h>

/* ---- The script ---------------------------------------------------------------------------- */

/* X(name, status, instead, text): what can go wrong with a request, the status that it is answered
   with, if any, and what happens instead where that status cannot be sent (kv_explained). The last
   two do not go wrong, but are counted as well. */
#define KV_FAULTS(X)                                                                   \
    X(NOTHING, 0, NOTHING, "nothing")                                                  \
    X(TEMPORARY, KV_TEMPORARY_FAILURE, NOTHING, "answered temporary failure")          \
    X(LOCKED, KV_LOCKED, NOTHING, "answered locked without a lock")                    \
    X(NEW_CODE, KV_NEW_CODE, NOTHING, "answered a code that nobody explains")          \
    X(MOVED, 0, NOTHING, "gave half its vbuckets to the other node")                   \
    X(LOST, KV_NOT_MY_VBUCKET, NOTHING, "answered not my vbucket, with an old map")    \
    X(HANG_UP, 0, NOTHING, "hung up, the request not applied")                         \
    X(APPLY_AND_HANG_UP, 0, NOTHING, "hung up, the request applied")                   \
    X(APPLY_AND_STALL, 0, NOTHING, "applied the request and never answered")           \
    X(FREEZE, 0, NOTHING, "froze with all its connections")                            \
    X(NEW_MAP, 0, NOTHING, "hung up, with a newer error map since")                    \
    X(THROTTLED, 0x0c, OLD_TEMPORARY, "answered 0x0c, retry later")                    \
    X(MOVED_QUIETLY, 0x0d, MOVED, "gave half its vbuckets away, answered 0x0d")        \
    X(STALE, 0x1f, OLD_INTERNAL, "answered 0x1f, the connection is void")              \
    X(SPECIAL, 0x26, OLD_INTERNAL, "answered 0x26, to be handled specially")           \
    X(OVERFLOW, 0x28, OLD_INTERNAL, "answered 0x28, no retry")                         \
    X(PATIENCE, 0xfff0, OLD_TEMPORARY, "answered 0xfff0, retry at intervals")          \
    X(SLOWER, 0xfff1, OLD_TEMPORARY, "answered 0xfff1, retry ever slower")             \
    X(OLD_TEMPORARY, KV_TEMPORARY_FAILURE, NOTHING, "answered 0x86 for want of a map") \
    X(OLD_INTERNAL, KV_INTERNAL, NOTHING, "answered 0x84 for want of a map")           \
    X(CONFIG, 0, NOTHING, "was asked for the config, and sent it")                     \
    X(NO_XERROR, 0, NOTHING, "was asked to take XERROR back")

enum {
#define KV_FAULT_NAME(name, status, instead, text) KV_FAULT_##name,
    KV_FAULTS(KV_FAULT_NAME)
#undef KV_FAULT_NAME
        KV_FAULT_COUNT
};

static const struct kv_fault {
    uint16_t status;
    uint8_t instead;
    const char *text;
} kv_faults[] = {
#define KV_FAULT_ROW(name, status, instead, text) {status, KV_FAULT_##instead, text},
    KV_FAULTS(KV_FAULT_ROW)
#undef KV_FAULT_ROW
};

enum { KV_ALWAYS = 255 };

/* Which requests meet which fault: the first `arrivals` arrivals of each operation from `first` to
   `last`. Operations come in bursts of ten: set, get, increment, get-and-lock, get, set of what is
   locked, add, get, unlock, get. The keys decide which node a row meets. It matters where only one
   node's map has the code: the first has 0xfff0 and 0xfff1, the second 0x26 and 0x28. */
static const struct kv_script_row {
    uint16_t first, last;
    uint8_t arrivals, fault;
} kv_script[] = {
    {60, 79, 2, KV_FAULT_TEMPORARY},
    {84, 89, 1, KV_FAULT_THROTTLED},
    {92, 92, 1, KV_FAULT_NEW_CODE},
    {94, 94, 1, KV_FAULT_NEW_CODE},
    {105, 105, 1, KV_FAULT_LOST},
    {110, 112, 1, KV_FAULT_LOST},
    {113, 113, 1, KV_FAULT_MOVED},
    {132, 132, 1, KV_FAULT_NEW_MAP},
    {141, 141, 1, KV_FAULT_HANG_UP},
    {152, 152, 1, KV_FAULT_APPLY_AND_HANG_UP},
    {160, 160, 1, KV_FAULT_HANG_UP},
    {174, 174, 2, KV_FAULT_APPLY_AND_HANG_UP},
    {183, 183, 1, KV_FAULT_APPLY_AND_HANG_UP},
    {197, 197, KV_ALWAYS, KV_FAULT_APPLY_AND_STALL},
    {206, 206, KV_ALWAYS, KV_FAULT_APPLY_AND_STALL},
    {211, 212, 1, KV_FAULT_APPLY_AND_STALL},
    {221, 224, KV_ALWAYS, KV_FAULT_TEMPORARY},
    {230, 249, 1, KV_FAULT_THROTTLED},
    {256, 256, KV_ALWAYS, KV_FAULT_PATIENCE},
    {420, 420, 1, KV_FAULT_FREEZE},
    {480, 480, 1, KV_FAULT_MOVED},
    {503, 503, 3, KV_FAULT_LOCKED},
    {518, 518, 2, KV_FAULT_TEMPORARY},
    {536, 536, 1, KV_FAULT_APPLY_AND_HANG_UP},
    {540, 559, 1, KV_FAULT_TEMPORARY},
    {560, 569, 2, KV_FAULT_THROTTLED},
    {571, 571, 1, KV_FAULT_MOVED_QUIETLY},
    {580, 581, 1, KV_FAULT_STALE},
    {585, 585, 1, KV_FAULT_STALE},
    {590, 592, 1, KV_FAULT_SPECIAL},
    {600, 600, 1, KV_FAULT_OVERFLOW},
    {605, 605, 1, KV_FAULT_OVERFLOW},
    {610, 613, 4, KV_FAULT_SLOWER},
};

enum {
    KV_WORK = 1,     /* ms that every request takes */
    KV_FREEZE = 800, /* ms */
    KV_LOCK = 2000   /* ms after which a forgotten lock is released */
};

/* ---- Error maps ---------------------------------------------------------------------------- */

#define KV_ERRORS                                                                            \
    "\"0\":{\"name\":\"SUCCESS\",\"attrs\":[\"success\"]},\n"                                \
    "\"1\":{\"name\":\"KEY_ENOENT\",\"attrs\":[\"item-only\"]},\n"                           \
    "\"2\":{\"name\":\"KEY_EEXISTS\",\"attrs\":[\"item-only\"]},\n"                          \
    "\"9\":{\"name\":\"LOCKED\",\"attrs\":[\"item-locked\",\"item-only\",\"retry-now\"]},\n" \
    "\"c\":{\"name\":\"EWOULD_THROTTLE\","                                                   \
    "\"attrs\":[\"temp\",\"retry-later\",\"rate-limit\"]},\n"                                \
    "\"d\":{\"name\":\"ECONFIG_ONLY\",\"attrs\":[\"fetch-config\",\"retry-now\"]},\n"        \
    "\"1f\":{\"name\":\"AUTH_STALE\",\"attrs\":[\"conn-state-invalidated\",\"auth\"]},\n"    \
    "\"86\":{\"name\":\"ETMPFAIL\",\"attrs\":[\"temp\",\"retry-now\"]}"

/* Each node's first map and its later one. A bit of the second node's first one has been lost, in
   the name of 0x26. */
static const char *const kv_error_maps[KV_NODES][2] = {
    {"{\"version\":2,\"revision\":4,\"errors\":{\n" KV_ERRORS "}}\n",
     "{\"version\":2,\"revision\":5,\"errors\":{\n" KV_ERRORS ",\n"
     "\"fff0\":{\"name\":\"EVERY_20_MS\",\"attrs\":[\"auto-retry\",\"temp\"],\"retry\":"
     "{\"strategy\":\"constant\",\"after\":5,\"interval\":20,\"max-duration\":150}},\n"
     "\"fff1\":{\"name\":\"EVER_SLOWER\",\"attrs\":[\"auto-retry\",\"temp\"],\"retry\":"
     "{\"strategy\":\"linear\",\"after\":5,\"interval\":10,\"ceil\":25}}}}\n"},
    {"{\"version\":2,\"revision\":6,\"errors\":{\n" KV_ERRORS ",\n"
     "\"26\":{\"name\":\"ENCRYPTION_KEY\037NOT_AVAILABLE\",\"attrs\":[\"special-handling\"]}}}\n",
     "{\"version\":2,\"revision\":7,\"errors\":{\n" KV_ERRORS ",\n"
     "\"26\":{\"name\":\"ENCRYPTION_KEY_NOT_AVAILABLE\",\"attrs\":[\"special-handling\"]},\n"
     "\"28\":{\"name\":\"EXPIRY_OVERFLOW\","
     "\"attrs\":[\"item-only\",\"system-constraint\",\"no-retry\"]}}}\n"}};

/* ---- The cluster --------------------------------------------------------------------------- */

enum { KV_ITEMS = 64 }; /* in a vbucket; the demo puts some 15 there */

typedef struct kv_item {
    uint16_t key_length, value_length; /* key_length 0: free */
    uint8_t key[KV_KEY_SIZE], value[KV_VALUE_SIZE];
    uint64_t cas;
    uint64_t locked_until; /* ms on the monotonic clock */
} kv_item;

/* Of a vbucket's items, and of an operation's counts, only its owner writes. */
typedef struct kv_cluster {
    uint64_t revision; /* of the map that follows */
    uint8_t owner[KV_VBUCKETS];
    uint8_t editions[KV_NODES]; /* of its error map that a node has had: each start makes one */
    kv_item items[KV_VBUCKETS][KV_ITEMS];
    uint8_t arrived[KV_OPERATIONS]; /* attempts that a node has read */
    uint8_t applied[KV_OPERATIONS]; /* times that the operation has changed the data */
    uint32_t faults[KV_NODES][KV_FAULT_COUNT];
} kv_cluster;

typedef struct kv_peer {
    int fd;          /* -1: free */
    bool xerror;     /* asked for in HELLO */
    const char *map; /* the error map that was sent; NULL: none */
    size_t length;
    uint8_t input[4096];
} kv_peer;

enum { KV_PEERS = 8 };

typedef struct kv_server {
    kv_cluster *cluster;
    uint8_t node;
    int listener;
    kv_peer peers[KV_PEERS];
} kv_server;

/* The item with the request's key; with none, a free one, or NULL if the vbucket is full. */
static inline kv_item *kv_find(kv_cluster *cluster, const kv_packet *request)
{
    kv_item *items = cluster->items[request->status];
    for (size_t i = 0; i < KV_ITEMS; i++) {
        bool same = items[i].key_length == request->key_length &&
                    memcmp(items[i].key, request->key, request->key_length) == 0;
        if (same || items[i].key_length == 0)
            return &items[i];
    }
    return NULL;
}

static inline void kv_store(kv_item *item, const kv_packet *request, const void *value,
                            size_t length)
{
    item->key_length = request->key_length;
    memcpy(item->key, request->key, request->key_length);
    item->value_length = (uint16_t)length;
    memcpy(item->value, value, length);
    item->locked_until = 0;
    item->cas++;
}

/* A cluster whose two nodes own every other vbucket. NULL if there is no memory to share. */
static inline kv_cluster *kv_cluster_new(void)
{
    void *memory =
        mmap(NULL, sizeof(kv_cluster), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    kv_cluster *cluster = memory;
    if (memory == MAP_FAILED)
        return NULL;
    cluster->revision = 1;
    for (size_t i = 0; i < KV_VBUCKETS; i++)
        cluster->owner[i] = i % KV_NODES;
    return cluster;
}

/* Puts a first value under a key, before any node runs. */
static inline void kv_cluster_put(kv_cluster *cluster, const char *key, const char *value)
{
    kv_packet request;
    memset(&request, 0, sizeof request);
    request.key = (const uint8_t *)key;
    request.key_length = (uint16_t)strlen(key);
    request.status = kv_vbucket(key);
    kv_item *item = kv_find(cluster, &request);
    if (item)
        kv_store(item, &request, value, strlen(value));
}

static inline void kv_print_faults(const kv_cluster *cluster)
{
    printf("\nwhat the server did%24s %6s %6s\n", "", "node 1", "node 2");
    for (size_t i = 1; i < KV_FAULT_COUNT; i++)
        printf("  %-42s %5u %6u\n", kv_faults[i].text, (unsigned)cluster->faults[0][i],
               (unsigned)cluster->faults[1][i]);
}

/* ---- Requests ------------------------------------------------------------------------------ */

typedef struct kv_answer {
    uint16_t status;
    uint8_t extras_length; /* as many zeros come before the value */
    uint32_t length;       /* of the value */
    uint64_t cas;
    const uint8_t *value; /* the text below, or what outlives the answer */
    uint8_t text[64];
} kv_answer;

typedef uint16_t kv_handler(kv_item *item, const kv_packet *request, kv_answer *answer);

static inline bool kv_is_locked(const kv_item *item)
{
    return item->key_length > 0 && clock_ms() < item->locked_until;
}

static inline uint16_t kv_on_get(kv_item *item, const kv_packet *request, kv_answer *answer)
{
    (void)request;
    if (item->key_length == 0)
        return KV_KEY_NOT_FOUND;
    answer->extras_length = 4; /* flags */
    answer->length = item->value_length;
    memcpy(answer->text, item->value, item->value_length);
    return KV_SUCCESS;
}

static inline uint16_t kv_on_set(kv_item *item, const kv_packet *request, kv_answer *answer)
{
    (void)answer;
    if (kv_is_locked(item))
        return KV_LOCKED;
    kv_store(item, request, request->value, request->value_length);
    return KV_SUCCESS;
}

static inline uint16_t kv_on_add(kv_item *item, const kv_packet *request, kv_answer *answer)
{
    return item->key_length > 0 ? KV_KEY_EXISTS : kv_on_set(item, request, answer);
}

/* A counter is kept as text, as memcached does. Without one, the initial value is stored. */
static inline uint16_t kv_on_increment(kv_item *item, const kv_packet *request, kv_answer *answer)
{
    char text[KV_VALUE_SIZE];
    if (request->extras_length != 20)
        return KV_INVALID;
    if (kv_is_locked(item))
        return KV_LOCKED;
    uint64_t number = kv_number(request->extras + 8, 8);
    if (item->key_length > 0)
        number = kv_decimal(item->value, item->value_length) + kv_number(request->extras, 8);
    int length = snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    kv_store(item, request, text, (size_t)length);
    kv_put(answer->text, 8, number);
    answer->length = 8;
    return KV_SUCCESS;
}

static inline uint16_t kv_on_get_and_lock(kv_item *item, const kv_packet *request,
                                          kv_answer *answer)
{
    if (kv_is_locked(item))
        return KV_LOCKED;
    item->locked_until = clock_ms() + KV_LOCK;
    item->cas++;
    return kv_on_get(item, request, answer);
}

static inline uint16_t kv_on_unlock(kv_item *item, const kv_packet *request, kv_answer *answer)
{
    (void)answer;
    if (!kv_is_locked(item))
        return item->key_length > 0 ? KV_NOT_LOCKED : KV_KEY_NOT_FOUND;
    if (item->cas != request->cas)
        return KV_LOCKED;
    item->locked_until = 0;
    return KV_SUCCESS;
}

static const struct kv_command {
    uint8_t opcode;
    bool changes; /* the data */
    kv_handler *handler;
} kv_commands[] = {
    {KV_GET, false, kv_on_get},
    {KV_GET_REPLICA, false, kv_on_get},
    {KV_SET, true, kv_on_set},
    {KV_ADD, true, kv_on_add},
    {KV_INCREMENT, true, kv_on_increment},
    {KV_GET_AND_LOCK, true, kv_on_get_and_lock},
    {KV_UNLOCK, true, kv_on_unlock},
};

static inline const struct kv_command *kv_command_of(uint8_t opcode)
{
    for (size_t i = 0; i < sizeof kv_commands / sizeof kv_commands[0]; i++) {
        if (kv_commands[i].opcode == opcode)
            return &kv_commands[i];
    }
    return NULL;
}

/* Changes a copy, counts, and puts the copy in place: a node that is killed between two of these
   has never done more than it counted. */
static inline uint16_t kv_apply(kv_cluster *cluster, const kv_packet *request, kv_answer *answer)
{
    const struct kv_command *command = kv_command_of(request->opcode);
    uint32_t operation = request->opaque >> KV_COPY_BITS;
    if (!command)
        return KV_UNKNOWN_COMMAND;
    if (request->key_length == 0 || request->key_length > KV_KEY_SIZE ||
        request->value_length > KV_VALUE_SIZE)
        return KV_INVALID;
    kv_item *item = kv_find(cluster, request);
    if (!item)
        return KV_NO_MEMORY;
    kv_item changed = *item;
    uint16_t status = command->handler(&changed, request, answer);
    answer->cas = changed.cas;
    if (status != KV_SUCCESS || !command->changes)
        return status;
    if (operation < KV_OPERATIONS && cluster->applied[operation] < UINT8_MAX)
        cluster->applied[operation]++;
    *item = changed;
    return status;
}

static inline uint16_t kv_answer_map(const kv_cluster *cluster, kv_answer *answer)
{
    kv_put(answer->text, 8, cluster->revision);
    memcpy(answer->text + 8, cluster->owner, KV_VBUCKETS);
    answer->length = KV_MAP_SIZE;
    return KV_NOT_MY_VBUCKET;
}

static inline uint16_t kv_decide_answer(const kv_server *server, uint8_t fault,
                                        const kv_packet *request, kv_answer *answer)
{
    const kv_cluster *cluster = server->cluster;
    uint16_t status = kv_faults[fault].status;
    if (status == KV_NOT_MY_VBUCKET)
        return kv_answer_map(cluster, answer);
    if (status != KV_SUCCESS)
        return status;
    if (request->status >= KV_VBUCKETS ||
        (cluster->owner[request->status] != server->node && request->opcode != KV_GET_REPLICA))
        return kv_answer_map(cluster, answer);
    return kv_apply(server->cluster, request, answer);
}

static inline void kv_count(const kv_server *server, uint8_t fault)
{
    server->cluster->faults[server->node][fault]++;
}

static inline uint16_t kv_on_hello(const kv_server *server, kv_peer *peer, const kv_packet *request,
                                   kv_answer *answer)
{
    if (peer->xerror)
        kv_count(server, KV_FAULT_NO_XERROR);
    peer->xerror = false;
    for (uint32_t i = 0; i + 1 < request->value_length; i += 2)
        peer->xerror = peer->xerror || kv_number(request->value + i, 2) == KV_XERROR;
    kv_put(answer->text, 2, KV_XERROR);
    answer->length = peer->xerror ? 2 : 0;
    return KV_SUCCESS;
}

/* What is about the connection or the cluster, not about an item. False if the request is not. */
static inline bool kv_control(const kv_server *server, kv_peer *peer, const kv_packet *request,
                              kv_answer *answer)
{
    switch (request->opcode) {
    case KV_HELLO:
        answer->status = kv_on_hello(server, peer, request, answer);
        return true;
    case KV_GET_ERROR_MAP:
        peer->map = kv_error_maps[server->node][server->cluster->editions[server->node] > 1];
        answer->value = (const uint8_t *)peer->map;
        answer->length = (uint32_t)strlen(peer->map);
        return true;
    case KV_GET_CONFIG:
        kv_count(server, KV_FAULT_CONFIG);
        kv_answer_map(server->cluster, answer);
        return true;
    default:
        return false;
    }
}

/* ---- A node -------------------------------------------------------------------------------- */

/* Whether a status may be sent: the client asked for such, and has a map in which it is. */
static inline bool kv_explained(const kv_peer *peer, uint16_t status)
{
    char key[16];
    snprintf(key, sizeof key, "\"%x\":", (unsigned)status);
    return peer->xerror && peer->map && strstr(peer->map, key);
}

static inline uint8_t kv_scripted_fault(uint32_t operation, uint8_t arrival)
{
    for (size_t i = 0; i < sizeof kv_script / sizeof kv_script[0]; i++) {
        const struct kv_script_row *row = &kv_script[i];
        if (operation >= row->first && operation <= row->last && arrival <= row->arrivals)
            return row->fault;
    }
    return KV_FAULT_NOTHING;
}

static inline uint8_t kv_fault_of(kv_server *server, const kv_peer *peer, uint32_t opaque)
{
    uint32_t operation = opaque >> KV_COPY_BITS;
    if (operation >= KV_OPERATIONS)
        return KV_FAULT_NOTHING;
    uint8_t fault = kv_scripted_fault(operation, ++server->cluster->arrived[operation]);
    const struct kv_fault *row = &kv_faults[fault];
    if (row->instead != KV_FAULT_NOTHING && !kv_explained(peer, row->status))
        fault = row->instead;
    kv_count(server, fault);
    return fault;
}

/* Gives every other vbucket that the node owns to the other node. */
static inline void kv_move(kv_server *server)
{
    bool odd = false;
    for (size_t i = 0; i < KV_VBUCKETS; i++) {
        if (server->cluster->owner[i] != server->node)
            continue;
        if (odd)
            server->cluster->owner[i] = (uint8_t)(1 - server->node);
        odd = !odd;
    }
    server->cluster->revision++;
}

static inline void kv_hang_up(kv_peer *peer)
{
    close(peer->fd);
    memset(peer, 0, sizeof *peer);
    peer->fd = -1;
}

static inline void kv_reply(kv_peer *peer, const kv_packet *request, const kv_answer *answer)
{
    static const uint8_t zeros[4];
    static uint8_t out[KV_HEADER + KV_BODY_MAX];
    kv_packet packet;
    memset(&packet, 0, sizeof packet);
    packet.magic = KV_RESPONSE;
    packet.opcode = request->opcode;
    packet.status = answer->status;
    packet.opaque = request->opaque;
    packet.cas = answer->cas;
    packet.extras = zeros;
    packet.extras_length = answer->extras_length;
    packet.value = answer->value;
    packet.value_length = answer->length;
    size_t size = kv_write(out, sizeof out, &packet);
    if (send(peer->fd, out, size, 0) != (ssize_t)size)
        kv_hang_up(peer);
}

static inline bool kv_hangs_up(uint8_t fault)
{
    return fault == KV_FAULT_HANG_UP || fault == KV_FAULT_APPLY_AND_HANG_UP ||
           fault == KV_FAULT_NEW_MAP;
}

/* A request about an item: something may go wrong with it. */
static inline void kv_serve_item(kv_server *server, kv_peer *peer, const kv_packet *request,
                                 kv_answer *answer)
{
    uint8_t fault = kv_fault_of(server, peer, request->opaque);
    pause_ms(fault == KV_FAULT_FREEZE ? KV_FREEZE : KV_WORK);
    if (fault == KV_FAULT_MOVED || fault == KV_FAULT_MOVED_QUIETLY)
        kv_move(server);
    if (fault == KV_FAULT_NEW_MAP)
        server->cluster->editions[server->node]++;
    else if (fault != KV_FAULT_HANG_UP)
        answer->status = kv_decide_answer(server, fault, request, answer);
    if (kv_hangs_up(fault))
        kv_hang_up(peer);
    else if (fault != KV_FAULT_APPLY_AND_STALL)
        kv_reply(peer, request, answer);
}

static inline void kv_handle(kv_server *server, kv_peer *peer, const kv_packet *request)
{
    kv_answer answer;
    memset(&answer, 0, sizeof answer);
    answer.value = answer.text;
    if (kv_control(server, peer, request, &answer))
        kv_reply(peer, request, &answer);
    else
        kv_serve_item(server, peer, request, &answer);
}

/* Reads what has come and handles every whole request in it. */
static inline void kv_receive(kv_server *server, kv_peer *peer)
{
    kv_packet request;
    size_t size, used = 0;
    ssize_t got = recv(peer->fd, peer->input + peer->length, sizeof peer->input - peer->length, 0);
    if (got <= 0) {
        kv_hang_up(peer);
        return;
    }
    peer->length += (size_t)got;
    int state = KV_INCOMPLETE;
    while (peer->fd >= 0 && (state = kv_read(peer->input + used, peer->length - used, KV_REQUEST,
                                             &request, &size)) == KV_COMPLETE) {
        kv_handle(server, peer, &request);
        used += size;
    }
    if (peer->fd < 0)
        return;
    memmove(peer->input, peer->input + used, peer->length - used);
    peer->length -= used;
    if (state == KV_BROKEN || peer->length == sizeof peer->input)
        kv_hang_up(peer);
}

static inline void kv_accept(kv_server *server)
{
    int fd = accept(server->listener, NULL, NULL);
    int on = 1;
    for (size_t i = 0; fd >= 0 && i < KV_PEERS; i++) {
        if (server->peers[i].fd >= 0)
            continue;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        server->peers[i].fd = fd;
        return;
    }
    if (fd >= 0)
        close(fd);
}

/* One turn of the node: waits for something to read, and handles it. */
static inline void kv_turn(kv_server *server)
{
    struct pollfd waits[KV_PEERS + 1];
    for (size_t i = 0; i < KV_PEERS; i++) {
        waits[i].fd = server->peers[i].fd;
        waits[i].events = POLLIN;
    }
    waits[KV_PEERS].fd = server->listener;
    waits[KV_PEERS].events = POLLIN;
    if (poll(waits, KV_PEERS + 1, 200) <= 0)
        return;
    for (size_t i = 0; i < KV_PEERS; i++) {
        if (waits[i].fd >= 0 && waits[i].revents != 0)
            kv_receive(server, &server->peers[i]);
    }
    if (waits[KV_PEERS].revents != 0)
        kv_accept(server);
}

/* Serves the cluster as one of its nodes, in a new process, until that is killed or its parent is
   gone. Returns its pid, or -1. */
static inline pid_t kv_serve(kv_cluster *cluster, uint8_t node, uint16_t port)
{
    static kv_server server;
    pid_t parent = getpid(), pid;
    cluster->editions[node]++;
    fflush(stdout);
    if ((pid = fork()) != 0)
        return pid;
    child_begin(parent);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    server.cluster = cluster;
    server.node = node;
    for (size_t i = 0; i < KV_PEERS; i++)
        server.peers[i].fd = -1;
    server.listener = tcp_bind(port);
    if (server.listener < 0 || listen(server.listener, KV_PEERS) != 0)
        _exit(1);
    while (getppid() == parent)
        kv_turn(&server);
    _exit(0);
}

#endif /* KV_SERVER_H */
