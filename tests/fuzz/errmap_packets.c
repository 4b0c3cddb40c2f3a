/* Fuzz target for the packets: readers take any bytes and say what a second opinion says, and what
   writers write has each byte in its place. `make fuzz` builds it with clang's libFuzzer, and
   without clang as build/replay_errmap_packets FILE ... */
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"
#include "packet.h"

#define SPACE 300u

/* A request of these many bytes is there if it fits, and nothing else has been touched. */
static void check_request(const uint8_t *packet, size_t needed, size_t capacity, uint8_t opcode,
                          size_t key, uint32_t opaque)
{
    size_t i;
    for (i = needed <= capacity ? needed : 0; i < SPACE; i++)
        REQUIRE(packet[i] == 0x55);
    if (needed > capacity)
        return;
    REQUIRE(packet[0] == 0x80 && packet[1] == opcode);
    REQUIRE(packet_number(packet + 2, 2) == key);
    REQUIRE(packet_number(packet + 4, 4) == 0);
    REQUIRE(packet_number(packet + 8, 4) == key + 2);
    REQUIRE(packet_number(packet + 12, 4) == opaque);
    REQUIRE(packet_number(packet + 16, 8) == 0);
}

static void check_writers(const uint8_t *data, size_t size)
{
    uint8_t packet[SPACE];
    const size_t name = size < 200 ? size : 200;
    const size_t capacity = data[0] + data[size - 1] % 40u;
    const uint32_t opaque = (uint32_t)packet_number(data, size < 4 ? size : 4);
    size_t needed;
    memset(packet, 0x55, sizeof packet);
    needed = errmap_write_hello(packet, capacity, (const char *)data, name, opaque);
    REQUIRE(needed == name + PACKET_HEADER + 2);
    check_request(packet, needed, capacity, PACKET_HELLO, name, opaque);
    if (needed <= capacity) {
        REQUIRE(memcmp(packet + PACKET_HEADER, data, name) == 0);
        REQUIRE(packet_number(packet + PACKET_HEADER + name, 2) == 7);
    }
    memset(packet, 0x55, sizeof packet);
    needed = errmap_write_get(packet, capacity, (uint16_t)opaque, opaque);
    REQUIRE(needed == PACKET_HEADER + 2);
    check_request(packet, needed, capacity, PACKET_GET, 0, opaque);
    if (needed <= capacity)
        REQUIRE(packet_number(packet + PACKET_HEADER, 2) == (uint16_t)opaque);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    packet_check(data, size);
    if (size > 0)
        check_writers(data, size);
    return 0;
}
