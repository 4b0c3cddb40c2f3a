/* Fuzz target for the packets: readers take any bytes, what they hand out lies inside the packet,
   and what writers write has the lengths that it says.

     clang -g -O1 -fsanitize=fuzzer,address,undefined tests/fuzz_errmap_packets.c -o
   build/fuzz_packets build/fuzz_packets -seed_inputs=tests/errmap_hello.bin,tests/errmap_get.bin

   Or without clang: cc -DFUZZ_REPLAY tests/fuzz_errmap_packets.c -o build/replay_packets, then
   build/replay_packets tests/errmap_hello.bin tests/errmap_hello_framed.bin tests/errmap_get.bin.
 */
#define RETRY_IMPLEMENTATION
#include "../errmap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                      \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                            \
        }                                                                       \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

#ifdef FUZZ_REPLAY
#include "errmap_replay.h"
#endif
