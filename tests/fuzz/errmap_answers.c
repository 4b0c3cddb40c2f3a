/* Fuzz target for the packets that begins where errmap_packets seldom comes: with a good response,
   whose lengths the fuzzer chooses. As it is the readers take it; a few bytes changed, or cut
   short, they say what a second opinion says. `make fuzz` builds it with clang's libFuzzer, and
   without clang as build/replay_errmap_answers FILE ... */
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "replay.h"
#include "packet.h"

#define SPACE 2048u

static void put(uint8_t *bytes, size_t count, size_t number)
{
    while (count-- > 0) {
        bytes[count] = (uint8_t)(number & 0xff);
        number >>= 8;
    }
}

/* Mostly a few bytes, now and then as many as a byte can say. */
static size_t part(void)
{
    return chance(4) ? byte() : below(8);
}

/* A response, and what stands where in it. */
static size_t build(uint8_t *packet, packet_view *view)
{
    const bool framed = chance(2), get = chance(2);
    const size_t framing = framed ? part() : 0, extras = part();
    const size_t key = part() + (framed ? 0 : 256 * below(3));
    const size_t before = framing + extras + key;
    const size_t value = get ? bytes_left % 512 : 2 * part();
    size_t i;
    memset(packet, 0, PACKET_HEADER);
    packet[0] = framed ? 0x18 : 0x81;
    packet[1] = get ? PACKET_GET : PACKET_HELLO;
    put(packet + 2, 2, framed ? framing << 8 | key : key);
    packet[4] = (uint8_t)extras;
    packet[5] = (uint8_t)below(2);
    put(packet + 8, 4, before + value);
    put(packet + 12, 4, word());
    for (i = 0; i < before + value; i++)
        packet[PACKET_HEADER + i] = !get && chance(4) ? (uint8_t)below(8) : byte();
    view->good = true;
    view->value = PACKET_HEADER + before;
    view->length = value;
    return PACKET_HEADER + before + value;
}

/* The packet lies in memory of its size, so that a sanitizer sees who reads behind it. */
static void check(const uint8_t *packet, size_t size, const packet_view *good)
{
    uint8_t *copy = (uint8_t *)malloc(size + (size == 0));
    packet_view seen;
    REQUIRE(copy != NULL);
    memcpy(copy, packet, size);
    if (good) {
        seen = packet_look(copy, size, packet[1]);
        REQUIRE(seen.good && seen.value == good->value && seen.length == good->length);
        REQUIRE(packet_check(copy, size));
    } else {
        packet_check(copy, size);
    }
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t packet[SPACE];
    packet_view view;
    size_t length, changes, at;
    bytes_start(data, size);
    changes = below(4);
    length = build(packet, &view);
    check(packet, length, &view);
    put(packet + length, 8, 0); /* what comes after it is another packet's */
    check(packet, length + below(9), &view);
    for (; changes > 0; changes--) {
        at = chance(8) ? word() % length : below(16);
        packet[at] = chance(2) ? byte() : (uint8_t)(packet[at] + 3 - below(7));
        check(packet, length, NULL);
    }
    check(packet, word() % (length + 1), NULL);
    return 0;
}
