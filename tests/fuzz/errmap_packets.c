/* Fuzz target for the packets: readers take any bytes, what they hand out lies inside the packet,
   and what writers write has the lengths that it says. `make fuzz` builds it with clang's
   libFuzzer, and without clang as build/replay_errmap_packets FILE ... */
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

static void check_readers(const uint8_t *data, size_t size)
{
    const char *json = NULL;
    size_t length = 0;
    bool xerror = false, other = true;
    const bool hello = errmap_read_hello(data, size, &xerror);
    const bool get = errmap_read_get(data, size, &json, &length);
    REQUIRE(hello == errmap_read_hello(data, size, &other));
    REQUIRE(hello ? xerror == other : !xerror && other);
    REQUIRE(!(hello && get));
    if (!get) {
        REQUIRE(json == NULL && length == 0);
        return;
    }
    REQUIRE(size >= 24 && json >= (const char *)data + 24);
    REQUIRE(json + length <= (const char *)data + size);
}

static void check_writers(const uint8_t *data, size_t size)
{
    uint8_t packet[300];
    const size_t name = size < 200 ? size : 200;
    const size_t capacity = size % sizeof packet;
    size_t needed, i;
    memset(packet, 0x55, sizeof packet);
    needed = errmap_write_hello(packet, capacity, (const char *)data, name, 1);
    REQUIRE(needed == name + 26);
    for (i = needed <= capacity ? needed : 0; i < sizeof packet; i++)
        REQUIRE(packet[i] == 0x55);
    if (needed <= capacity)
        REQUIRE(memcmp(packet + 24, data, name) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_readers(data, size);
    if (size > 0)
        check_writers(data, size);
    return 0;
}
