/* errmap.h's part of bench_errmap_errmap. */
#define RETRY_IMPLEMENTATION
#include "errmap_peer.h"

static errmap_entry table[BENCH_ENTRIES];

size_t bench_parse(const char *text, size_t length)
{
    errmap map;
    if (errmap_parse(&map, text, length, table, BENCH_ENTRIES, NULL) != ERRMAP_OK)
        return 0;
    return map.count;
}
