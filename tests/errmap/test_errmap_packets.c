/* HELLO and GET_ERROR_MAP: what is written, what is read, and what is refused. */
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"

#include "../support/check.h"

#include <stdlib.h>

#define HEADER 24

static void test_write_hello(void)
{
    static const uint8_t expected[] = {0x80, 0x1f, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00,
                                       0x00, 0x00, 0x00, 0x07, 0xde, 0xad, 0xbe, 0xef,
                                       0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                       'a',  'g',  'e',  'n',  't',  0x00, 0x07};
    uint8_t packet[40], untouched[40];
    size_t capacity;
    memset(packet, 0x55, sizeof packet);
    memset(untouched, 0x55, sizeof untouched);
    CHECK_EQUAL(31, errmap_write_hello(packet, sizeof packet, "agent", 5, 0xdeadbeef));
    CHECK(memcmp(packet, expected, 31) == 0);
    CHECK_EQUAL(0x55, packet[31]);
    for (capacity = 0; capacity < 31; capacity++) {
        memset(packet, 0x55, sizeof packet);
        CHECK_EQUAL(31, errmap_write_hello(packet, capacity, "agent", 5, 1));
        CHECK(memcmp(packet, untouched, sizeof packet) == 0);
    }
    CHECK_EQUAL(31, errmap_write_hello(packet, 31, "agent", 5, 1));
    CHECK_EQUAL(31, errmap_write_hello(NULL, 0, "agent", 5, 1));
    CHECK_EQUAL(31, errmap_write_hello(NULL, 100, "agent", 5, 1));
    CHECK_EQUAL(26, errmap_write_hello(packet, sizeof packet, NULL, 0, 1));
    CHECK_EQUAL(0, packet[3]);
    CHECK_EQUAL(2, packet[11]);
    CHECK_EQUAL(7, packet[25]);
    CHECK_EQUAL(27, errmap_write_hello(packet, sizeof packet, "a", 1, 1));
    CHECK_EQUAL('a', packet[24]);
    CHECK_EQUAL(7, packet[26]);
    CHECK_EQUAL(0, errmap_write_hello(packet, sizeof packet, NULL, 5, 1));
}

/* A name whose length would make the packet's wrap, or has more than 16 bits. */
static void test_write_too_long_hello(void)
{
    const size_t most = SIZE_MAX - 26 < 0xffff ? SIZE_MAX - 26 : 0xffff;
    uint8_t packet[26] = {0};
    size_t i;
    for (i = 0; i < sizeof packet; i++) {
        CHECK_EQUAL(0, errmap_write_hello(packet, sizeof packet, "n", SIZE_MAX - i, 1));
        CHECK_EQUAL(0, errmap_write_hello(NULL, 0, NULL, SIZE_MAX - i, 1));
    }
    CHECK_EQUAL(most + 26, errmap_write_hello(NULL, 0, "n", most, 1));
    CHECK_EQUAL(0, errmap_write_hello(NULL, 0, "n", most + 1, 1));
    CHECK_EQUAL(0, packet[1]);
}

#if SIZE_MAX > 0xffff + 26
static void test_write_long_hello(void)
{
    const size_t room = 65535 + 26;
    char *const name = (char *)malloc(65536);
    uint8_t *const packet = (uint8_t *)malloc(room);
    if (!name || !packet)
        abort();
    memset(name, 'n', 65536);
    CHECK_EQUAL(0, errmap_write_hello(packet, room, name, 65536, 1));
    CHECK_EQUAL(room, errmap_write_hello(packet, room, name, 65535, 1));
    CHECK(packet[2] == 0xff && packet[3] == 0xff);
    CHECK(packet[8] == 0 && packet[9] == 1 && packet[10] == 0 && packet[11] == 1);
    free(name);
    free(packet);
}
#endif

static void test_write_get(void)
{
    static const uint8_t expected[] = {0x80, 0xfe, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                       0x00, 0x00, 0x02, 0x01, 0x02, 0x03, 0x04, 0x00, 0x00,
                                       0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02};
    uint8_t packet[40];
    memset(packet, 0x55, sizeof packet);
    CHECK_EQUAL(26, errmap_write_get(packet, 25, 0x0102, 0x01020304));
    CHECK_EQUAL(0x55, packet[0]);
    CHECK_EQUAL(26, errmap_write_get(packet, 26, 0x0102, 0x01020304));
    CHECK(memcmp(packet, expected, 26) == 0);
    CHECK_EQUAL(0x55, packet[26]);
    memset(packet, 0x55, sizeof packet);
    CHECK_EQUAL(26, errmap_write_get(packet, sizeof packet, 0x0102, 0x01020304));
    CHECK(memcmp(packet, expected, 26) == 0);
    CHECK_EQUAL(0x55, packet[26]);
    CHECK_EQUAL(26, errmap_write_get(NULL, 0, 2, 0));
    CHECK_EQUAL(26, errmap_write_get(NULL, 100, 2, 0));
}

/* A response: framing, extras and key bytes, then the value. */
typedef struct response {
    uint8_t magic, opcode, framing, extras, key;
    uint8_t datatype;
    uint16_t status;
    const char *value;
    uint8_t length;
} response;

static size_t build(uint8_t *packet, response r)
{
    const size_t before = (size_t)r.framing + r.extras + r.key;
    memset(packet, 0, HEADER + before);
    packet[0] = r.magic;
    packet[1] = r.opcode;
    packet[2] = r.framing;
    packet[3] = r.key;
    packet[4] = r.extras;
    packet[5] = r.datatype;
    packet[6] = (uint8_t)(r.status >> 8);
    packet[7] = (uint8_t)(r.status & 0xff);
    packet[10] = (uint8_t)((before + r.length) >> 8);
    packet[11] = (uint8_t)((before + r.length) & 0xff);
    memcpy(packet + HEADER + before, r.value, r.length);
    return HEADER + before + r.length;
}

/* Reads from a buffer of exactly that length; checks that false touches nothing. */
static bool read_hello(const uint8_t *packet, size_t length, bool *xerror)
{
    uint8_t *const exact = (uint8_t *)malloc(length ? length : 1);
    bool good, other = !*xerror;
    if (!exact)
        abort();
    memcpy(exact, packet, length);
    good = errmap_read_hello(exact, length, xerror);
    CHECK_EQUAL(good, errmap_read_hello(exact, length, &other));
    if (good)
        CHECK_EQUAL(*xerror, other);
    else
        CHECK_EQUAL(!*xerror, other);
    free(exact);
    return good;
}

static bool read_get(const uint8_t *packet, size_t length, size_t *offset, size_t *json_length)
{
    uint8_t *const exact = (uint8_t *)malloc(length ? length : 1);
    const char *json = "untouched";
    const char *const before = json;
    bool good;
    if (!exact)
        abort();
    memcpy(exact, packet, length);
    *json_length = 99;
    good = errmap_read_get(exact, length, &json, json_length);
    if (good)
        *offset = (size_t)(json - (const char *)exact);
    else
        CHECK(json == before && *json_length == 99);
    free(exact);
    return good;
}

static void test_read_hello(void)
{
    static const struct {
        response r;
        bool good, xerror;
    } rows[] = {
        {{0x81, 0x1f, 0, 0, 0, 0, 0, "\0\x07", 2}, true, true},
        {{0x81, 0x1f, 0, 0, 0, 0, 0, "", 0}, true, false},
        {{0x81, 0x1f, 0, 0, 0, 0, 0, "\0\x06\0\x08", 4}, true, false},
        {{0x81, 0x1f, 0, 0, 0, 0, 0, "\0\x06\0\x07\0\x08", 6}, true, true},
        {{0x81, 0x1f, 0, 0, 0, 0, 0, "\0\x06\0\x07\0", 5}, false, false},
        {{0x81, 0x1f, 0, 0, 0, 0, 0, "\x07", 1}, false, false},
        {{0x81, 0x1f, 0, 0, 0, 0, 0, "\x07\0\x07\0", 4}, true, false},
        {{0x81, 0x1f, 0, 3, 5, 0, 0, "\0\x07", 2}, true, true},
        {{0x81, 0x1f, 0, 2, 0, 0, 0, "", 0}, true, false},
        {{0x18, 0x1f, 0, 0, 0, 0, 0, "\0\x07", 2}, true, true},
        {{0x18, 0x1f, 3, 4, 5, 0, 0, "\0\x07", 2}, true, true},
        {{0x18, 0x1f, 255, 255, 255, 0, 0, "\0\x07", 2}, true, true},
        {{0x81, 0x1f, 0, 0, 0, 1, 0, "\0\x07", 2}, true, true},
        {{0x81, 0x1f, 0, 0, 0, 2, 0, "\0\x07", 2}, false, false},
        {{0x81, 0x1f, 0, 0, 0, 3, 0, "\0\x07", 2}, false, false},
        {{0x81, 0x1f, 0, 0, 0, 4, 0, "\0\x07", 2}, false, false},
        {{0x81, 0x1f, 0, 0, 0, 0x80, 0, "\0\x07", 2}, false, false},
        {{0x81, 0x1f, 0, 0, 0, 0, 1, "\0\x07", 2}, false, false},
        {{0x81, 0x1f, 0, 0, 0, 0, 0x100, "\0\x07", 2}, false, false},
        {{0x80, 0x1f, 0, 0, 0, 0, 0, "\0\x07", 2}, false, false},
        {{0x82, 0x1f, 0, 0, 0, 0, 0, "\0\x07", 2}, false, false},
        {{0x17, 0x1f, 0, 0, 0, 0, 0, "\0\x07", 2}, false, false},
        {{0x19, 0x1f, 0, 0, 0, 0, 0, "\0\x07", 2}, false, false},
        {{0x81, 0xfe, 0, 0, 0, 0, 0, "\0\x07", 2}, false, false},
        {{0x81, 0x1e, 0, 0, 0, 0, 0, "\0\x07", 2}, false, false},
    };
    size_t i, cut;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        uint8_t packet[1024];
        const size_t length = build(packet, rows[i].r);
        bool xerror = !rows[i].xerror;
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].good, read_hello(packet, length, &xerror));
        if (rows[i].good)
            CHECK_EQUAL(rows[i].xerror, xerror);
        packet[length] = 0; /* what follows in the stream is none of its business */
        packet[length + 1] = 7;
        CHECK_EQUAL(rows[i].good, read_hello(packet, length + 2, &xerror));
        if (rows[i].good)
            CHECK_EQUAL(rows[i].xerror, xerror);
        for (cut = 0; cut < length; cut++)
            CHECK(!read_hello(packet, cut, &xerror));
    }
}

static void test_read_get(void)
{
    static const struct {
        response r;
        bool good;
    } rows[] = {
        {{0x81, 0xfe, 0, 0, 0, 0, 0, "{}", 2}, true},
        {{0x81, 0xfe, 0, 0, 0, 1, 0, "{}", 2}, true},
        {{0x81, 0xfe, 0, 0, 0, 0, 0, "", 0}, true},
        {{0x81, 0xfe, 0, 0, 0, 0, 0, "{} ", 3}, true},
        {{0x81, 0xfe, 0, 7, 9, 0, 0, "{}", 2}, true},
        {{0x18, 0xfe, 4, 7, 9, 0, 0, "{}", 2}, true},
        {{0x18, 0xfe, 4, 7, 9, 0, 0, "", 0}, true},
        {{0x81, 0xfe, 0, 0, 0, 2, 0, "{}", 2}, false},
        {{0x81, 0xfe, 0, 0, 0, 4, 0, "{}", 2}, false},
        {{0x81, 0xfe, 0, 0, 0, 0, 0x83, "{}", 2}, false},
        {{0x80, 0xfe, 0, 0, 0, 0, 0, "{}", 2}, false},
        {{0x81, 0x1f, 0, 0, 0, 0, 0, "{}", 2}, false},
    };
    size_t i, cut;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        const response r = rows[i].r;
        uint8_t packet[1024];
        const size_t length = build(packet, r);
        size_t offset = 0, json_length;
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].good, read_get(packet, length, &offset, &json_length));
        if (rows[i].good) {
            CHECK_EQUAL(HEADER + r.framing + r.extras + r.key, offset);
            CHECK_EQUAL(r.length, json_length);
        }
        CHECK_EQUAL(rows[i].good, read_get(packet, length + 3, &offset, &json_length));
        for (cut = 0; cut < length; cut++)
            CHECK(!read_get(packet, cut, &offset, &json_length));
    }
}

/* Bodies of 65,536 bytes and more, where a size_t can say that; the text is not looked at. */
static void test_read_long_get(void)
{
#if SIZE_MAX > 0xffff
    const response get = {0x81, 0xfe, 0, 0, 0, 0, 0, "", 0};
    uint8_t packet[64];
    const char *json = NULL;
    size_t json_length = 0;
    build(packet, get);
    packet[9] = 1;
    packet[11] = 2;
    CHECK(!errmap_read_get(packet, HEADER + 65537, &json, &json_length));
    CHECK(errmap_read_get(packet, HEADER + 65538, &json, &json_length));
    CHECK(json == (const char *)packet + HEADER);
    CHECK_EQUAL(65538, json_length);
    packet[8] = 1;
    CHECK(errmap_read_get(packet, HEADER + 16842754, &json, &json_length));
    CHECK_EQUAL(16842754, json_length);
#endif
}

/* Lengths that do not go together. */
static void test_bad_lengths(void)
{
    static const struct {
        uint8_t place, byte;
    } changes[] = {{2, 1}, {2, 255}, {3, 3}, {3, 255}, {4, 3}, {4, 255},
                   {8, 1}, {8, 255}, {9, 1}, {10, 1},  {11, 3}};
    size_t i, offset, json_length;
    for (i = 0; i < CHECK_COUNT(changes); i++) {
        const response hello = {0x81, 0x1f, 0, 0, 0, 0, 0, "\0\x07", 2};
        const response get = {0x18, 0xfe, 0, 0, 0, 0, 0, "{}", 2};
        uint8_t packet[64];
        bool xerror = false;
        size_t length = build(packet, hello);
        check_row("byte %u is %u", changes[i].place, changes[i].byte);
        packet[changes[i].place] = changes[i].byte;
        CHECK(!read_hello(packet, length, &xerror));
        length = build(packet, get);
        packet[changes[i].place] = changes[i].place == 2 ? 3 : changes[i].byte;
        CHECK(!read_get(packet, length, &offset, &json_length));
    }
}

static void test_nothing(void)
{
    const response hello = {0x81, 0x1f, 0, 0, 0, 0, 0, "\0\x07", 2};
    const response get = {0x81, 0xfe, 0, 0, 0, 0, 0, "{}", 2};
    uint8_t packet[64];
    const char *json = NULL;
    size_t json_length = 7, length = build(packet, hello);
    bool xerror = true;
    CHECK(!errmap_read_hello(NULL, length, &xerror) && xerror);
    CHECK(!errmap_read_hello(packet, length, NULL));
    length = build(packet, get);
    CHECK(!errmap_read_get(NULL, length, &json, &json_length) && json == NULL && json_length == 7);
    CHECK(!errmap_read_get(packet, length, NULL, &json_length) && json_length == 7);
    CHECK(!errmap_read_get(packet, length, &json, NULL) && json == NULL);
    CHECK(errmap_read_get(packet, length, &json, &json_length) && json_length == 2);
}

int main(void)
{
    RUN(test_write_hello);
    RUN(test_write_too_long_hello);
#if SIZE_MAX > 0xffff + 26
    RUN(test_write_long_hello);
#endif
    RUN(test_write_get);
    RUN(test_read_hello);
    RUN(test_read_get);
    RUN(test_read_long_get);
    RUN(test_bad_lengths);
    RUN(test_nothing);
    return check_done();
}
