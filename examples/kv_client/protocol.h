/* protocol.h: the part of the memcached binary protocol that kv_client.c and server.h speak,
   and the numbers that they agree on. */
#ifndef KV_PROTOCOL_H
#define KV_PROTOCOL_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { KV_REQUEST = 0x80, KV_RESPONSE = 0x81, KV_HEADER = 24, KV_BODY_MAX = 30000 };

enum {
    KV_GET = 0x00,
    KV_SET = 0x01,
    KV_ADD = 0x02,
    KV_INCREMENT = 0x05,
    KV_HELLO = 0x1f,
    KV_GET_REPLICA = 0x83,
    KV_GET_AND_LOCK = 0x94,
    KV_UNLOCK = 0x95,
    KV_GET_CONFIG = 0xb5,
    KV_GET_ERROR_MAP = 0xfe
};

enum { KV_XERROR = 0x0007 }; /* the feature of HELLO: codes that only the error map explains */

/* X(name, code, text) */
#define KV_STATUSES(X)                              \
    X(SUCCESS, 0x00, "success")                     \
    X(KEY_NOT_FOUND, 0x01, "key not found")         \
    X(KEY_EXISTS, 0x02, "key exists")               \
    X(INVALID, 0x04, "invalid arguments")           \
    X(NOT_MY_VBUCKET, 0x07, "not my vbucket")       \
    X(LOCKED, 0x09, "locked")                       \
    X(NOT_LOCKED, 0x0e, "not locked")               \
    X(UNKNOWN_COMMAND, 0x81, "unknown command")     \
    X(NO_MEMORY, 0x82, "no memory")                 \
    X(INTERNAL, 0x84, "internal error")             \
    X(TEMPORARY_FAILURE, 0x86, "temporary failure") \
    X(NEW_CODE, 0x7ff0, "in no client's tables")

enum {
#define KV_STATUS_CODE(name, code, text) KV_##name = code,
    KV_STATUSES(KV_STATUS_CODE)
#undef KV_STATUS_CODE
};

static inline const char *kv_status_text(uint32_t status)
{
    switch (status) {
#define KV_STATUS_TEXT(name, code, text) \
    case code:                           \
        return text;
        KV_STATUSES(KV_STATUS_TEXT)
#undef KV_STATUS_TEXT
    }
    return "unknown";
}

enum { KV_KEY_SIZE = 24, KV_VALUE_SIZE = 24, KV_VBUCKETS = 16, KV_NODES = 2 };

/* The responses to GET_CONFIG and not-my-vbucket carry the map of the vbuckets: its revision, 8
   bytes, and a byte for each vbucket that says which node owns it. */
enum { KV_MAP_SIZE = 8 + KV_VBUCKETS };

enum { KV_REQUEST_MAX = KV_HEADER + 20 + KV_KEY_SIZE + KV_VALUE_SIZE };

/* The client's opaque: which operation, and which of the copies sent of it; or that it belongs to
   none. */
enum { KV_COPY_BITS = 12, KV_OPERATIONS = 1024, KV_NO_OPERATION = KV_OPERATIONS << KV_COPY_BITS };

typedef struct kv_packet {
    uint8_t magic, opcode, extras_length;
    uint16_t key_length;
    uint16_t status; /* of a response; of a request the vbucket */
    uint32_t value_length;
    uint32_t opaque;
    uint64_t cas;
    const uint8_t *extras, *key, *value;
} kv_packet;

static inline void kv_put(uint8_t *bytes, size_t width, uint64_t number)
{
    for (size_t i = width; i > 0; i--, number >>= 8)
        bytes[i - 1] = (uint8_t)(number & 0xff);
}

static inline uint64_t kv_number(const uint8_t *bytes, size_t width)
{
    uint64_t number = 0;
    for (size_t i = 0; i < width; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* Writes the packet and returns its size; 0 if it does not fit. */
static inline size_t kv_write(uint8_t *out, size_t capacity, const kv_packet *packet)
{
    uint32_t head = (uint32_t)packet->extras_length + packet->key_length;
    uint32_t body = head + packet->value_length;
    if (capacity < KV_HEADER + (size_t)body)
        return 0;
    memset(out, 0, KV_HEADER);
    out[0] = packet->magic;
    out[1] = packet->opcode;
    kv_put(out + 2, 2, packet->key_length);
    out[4] = packet->extras_length;
    kv_put(out + 6, 2, packet->status);
    kv_put(out + 8, 4, body);
    kv_put(out + 12, 4, packet->opaque);
    kv_put(out + 16, 8, packet->cas);
    if (packet->extras_length > 0)
        memcpy(out + KV_HEADER, packet->extras, packet->extras_length);
    if (packet->key_length > 0)
        memcpy(out + KV_HEADER + packet->extras_length, packet->key, packet->key_length);
    if (packet->value_length > 0)
        memcpy(out + KV_HEADER + head, packet->value, packet->value_length);
    return KV_HEADER + (size_t)body;
}

/* FNV-1a, and more mixing: else keys that differ in a letter often have the same vbucket. */
static inline uint16_t kv_vbucket(const char *key)
{
    uint32_t hash = 2166136261u;
    for (; *key != '\0'; key++)
        hash = (uint32_t)((uint64_t)(hash ^ (uint8_t)*key) * 16777619u & UINT32_MAX);
    return (uint16_t)((uint64_t)(hash ^ hash >> 15) * 2654435769u >> 28 & (KV_VBUCKETS - 1));
}

/* Writes a request and returns its size; 0 if it does not fit. The key may be empty. A set and an
   add store a value that names the operation; an increment adds 1, or begins with 1. */
static inline size_t kv_write_request(uint8_t *out, size_t capacity, uint8_t opcode,
                                      const char *key, uint32_t opaque, uint64_t cas)
{
    uint8_t extras[20] = {0}; /* set and add: flags and expiry, both 0 */
    char value[KV_VALUE_SIZE];
    int length = snprintf(value, sizeof value, "value of %" PRIu32, opaque >> KV_COPY_BITS);
    bool stores = opcode == KV_SET || opcode == KV_ADD;
    kv_packet packet;
    memset(&packet, 0, sizeof packet);
    packet.magic = KV_REQUEST;
    packet.opcode = opcode;
    packet.status = kv_vbucket(key);
    packet.opaque = opaque;
    packet.cas = cas;
    packet.extras = extras;
    packet.key = (const uint8_t *)key;
    packet.key_length = (uint16_t)strlen(key);
    packet.value = (const uint8_t *)value;
    packet.value_length = stores ? (uint32_t)length : 0;
    packet.extras_length = stores ? 8 : opcode == KV_GET_AND_LOCK ? 4 : 0; /* lock: default time */
    if (opcode == KV_INCREMENT) {
        packet.extras_length = 20;
        kv_put(extras, 8, 1);
        kv_put(extras + 8, 8, 1);
    }
    return kv_write(out, capacity, &packet);
}

enum { KV_INCOMPLETE, KV_COMPLETE, KV_BROKEN };

/* Reads the packet at the start of what has arrived. The packet points into it; *size is how much
   of it the packet takes. */
static inline int kv_read(const uint8_t *in, size_t length, uint8_t magic, kv_packet *packet,
                          size_t *size)
{
    if (length < KV_HEADER)
        return KV_INCOMPLETE;
    packet->magic = in[0];
    packet->opcode = in[1];
    packet->key_length = (uint16_t)kv_number(in + 2, 2);
    packet->extras_length = in[4];
    packet->status = (uint16_t)kv_number(in + 6, 2);
    packet->opaque = (uint32_t)kv_number(in + 12, 4);
    packet->cas = kv_number(in + 16, 8);
    uint32_t body = (uint32_t)kv_number(in + 8, 4);
    uint32_t head = (uint32_t)packet->extras_length + packet->key_length;
    if (packet->magic != magic || body > KV_BODY_MAX || head > body)
        return KV_BROKEN;
    packet->extras = in + KV_HEADER;
    packet->key = packet->extras + packet->extras_length;
    packet->value = packet->key + packet->key_length;
    packet->value_length = body - head;
    *size = KV_HEADER + (size_t)body;
    return length < *size ? KV_INCOMPLETE : KV_COMPLETE;
}

/* A number in decimal digits, as counters are kept. */
static inline uint64_t kv_decimal(const uint8_t *text, size_t length)
{
    uint64_t number = 0;
    for (size_t i = 0; i < length && i < 18; i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    return number;
}

#endif /* KV_PROTOCOL_H */
