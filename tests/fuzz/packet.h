/* A second opinion on packets for the fuzz targets: the layout of a memcached response, field by
   field. Include errmap.h and replay.h before. */
#ifndef FUZZ_PACKET_H
#define FUZZ_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_HEADER 24u
#define PACKET_HELLO 0x1fu
#define PACKET_GET 0xfeu

/* What a successful response of an opcode holds: `length` bytes from `value`. */
typedef struct packet_view {
    bool good;
    uint64_t value, length;
} packet_view;

static uint64_t packet_number(const uint8_t *bytes, size_t count)
{
    uint64_t number = 0;
    while (count-- > 0)
        number = number * 256 + *bytes++;
    return number;
}

static packet_view packet_look(const uint8_t *data, size_t size, uint8_t opcode)
{
    packet_view view = {false, 0, 0};
    uint64_t framing, key, body, before;
    if (size < PACKET_HEADER || (data[0] != 0x81 && data[0] != 0x18) || data[1] != opcode)
        return view;
    framing = data[0] == 0x18 ? data[2] : 0;
    key = data[0] == 0x18 ? data[3] : packet_number(data + 2, 2);
    before = framing + data[4] + key;
    body = packet_number(data + 8, 4);
    view.good = packet_number(data + 6, 2) == 0 && data[5] <= 1 && before <= body &&
                PACKET_HEADER + body <= size;
    view.value = PACKET_HEADER + before;
    view.length = body - before;
    return view;
}

/* Both readers say what the layout says, and nothing of a packet that is not theirs. Returns
   whether one of them took it. */
static bool packet_check(const uint8_t *data, size_t size)
{
    const packet_view hello = packet_look(data, size, PACKET_HELLO);
    const packet_view get = packet_look(data, size, PACKET_GET);
    const char *json = "untouched", *const untouched = json;
    size_t length = 77;
    bool offered = false, first = false, second = true;
    uint64_t i;
    REQUIRE(errmap_read_get(data, size, &json, &length) == get.good);
    REQUIRE(get.good ? json == (const char *)data + get.value && length == get.length
                     : json == untouched && length == 77);
    REQUIRE(errmap_read_hello(data, size, &first) == (hello.good && hello.length % 2 == 0));
    REQUIRE(errmap_read_hello(data, size, &second) == (hello.good && hello.length % 2 == 0));
    if (!hello.good || hello.length % 2 != 0) {
        REQUIRE(!first && second);
        return get.good;
    }
    for (i = 0; i < hello.length; i += 2)
        offered |= packet_number(data + hello.value + i, 2) == 7;
    REQUIRE(first == offered && second == offered);
    return true;
}

#endif
