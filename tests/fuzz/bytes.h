/* Bytes as decisions: what the targets of sequences of calls make of the fuzzer's input. Behind its
   end all is zero. */
#ifndef FUZZ_BYTES_H
#define FUZZ_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define BYTES_API static __attribute__((unused))
#else
#define BYTES_API static
#endif

#ifndef BYTES_OWN /* where each thread has bytes of its own: static __thread */
#define BYTES_OWN static
#endif

BYTES_OWN const uint8_t *bytes_next;
BYTES_OWN size_t bytes_left;

BYTES_API void bytes_start(const uint8_t *data, size_t size)
{
    bytes_next = data;
    bytes_left = size;
}

BYTES_API uint8_t byte(void)
{
    if (bytes_left == 0)
        return 0;
    bytes_left--;
    return *bytes_next++;
}

BYTES_API uint32_t below(uint32_t limit)
{
    return byte() % limit;
}

BYTES_API bool chance(uint32_t one_in)
{
    return below(one_in) == one_in - 1;
}

BYTES_API uint32_t word(void)
{
    uint32_t high = byte(), middle = byte(), low = byte();
    return high << 24 | middle << 16 | low << 8 | byte();
}

/* Small, large, or at an edge. */
BYTES_API uint32_t hostile(void)
{
    static const uint32_t edges[] = {
        0,      1,      2,      3,          7,           8,           9,
        100,    499,    500,    501,        1000,        5000,        65535,
        65536,  65537,  120000, 0x7fffffff, 0x80000000u, 0x80000001u, UINT32_MAX - 1,
        131072, 1000000};
    uint8_t first = byte();
    if (first < sizeof edges / sizeof edges[0])
        return edges[first];
    if (first < 0x80)
        return first;
    if (first < 0xf0)
        return (first & 0x7fu) << 8 | byte();
    return first == UINT8_MAX ? UINT32_MAX : word();
}

#endif
