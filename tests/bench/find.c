/* What one lookup in an error map costs. errmap.sh counts instructions with it.

     bench_find count HOW FILE   10,000 lookups, for callgrind's --toggle-collect=bench_find
     bench_find time HOW FILE    nanoseconds for one

   HOW is find, loop or branch. */
#define _POSIX_C_SOURCE 200809L
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"

#include "../support/errmap_fixture.h"

#include <time.h>

typedef const errmap_entry *find_fn(const errmap *map, uint32_t status);

static const errmap_entry *plain_loop(const errmap *map, uint32_t status)
{
    uint32_t i;
    for (i = 0; i < map->count; i++) {
        if (map->entries[i].code == status)
            return &map->entries[i];
    }
    return NULL;
}

/* The same halving, with a branch where errmap_find has none. */
static const errmap_entry *branching_search(const errmap *map, uint32_t status)
{
    uint32_t low = 0, high = map->count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (map->entries[middle].code == status)
            return &map->entries[middle];
        if (map->entries[middle].code < status)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

#define LOOKUPS 10000

static uint32_t statuses[LOOKUPS];

/* Through a pointer, so that none is compiled into the loop. */
__attribute__((noinline)) unsigned bench_find(find_fn *find, const errmap *map)
{
    unsigned found = 0, i;
    for (i = 0; i < LOOKUPS; i++)
        found += find(map, statuses[i]) != NULL;
    return found;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The best of many short runs, in which other programs had little part. */
static double nanoseconds(find_fn *find, const errmap *map)
{
    double best = 1e18;
    int run;
    for (run = 0; run < 50; run++) {
        const double start = now();
        bench_find(find, map);
        if (now() - start < best)
            best = now() - start;
    }
    return best / LOOKUPS;
}

int main(int argc, char **argv)
{
    static errmap_entry entries[100];
    find_fn *find = errmap_find;
    uint32_t random = 1;
    errmap map;
    fixture f;
    size_t i;
    if (argc != 4) {
        fprintf(stderr, "usage: bench_find count|time find|loop|branch FILE\n");
        return 2;
    }
    f = fixture_load(argv[3]);
    if (errmap_parse(&map, f.text, f.length, entries, 100, NULL) != ERRMAP_OK)
        return 1;
    for (i = 0; i < LOOKUPS; i++) {
        random = (uint32_t)(((uint64_t)random * 69069 + 1) & 0xffffffff);
        statuses[i] = entries[(random >> 16) % map.count].code;
    }
    if (strcmp(argv[2], "loop") == 0)
        find = plain_loop;
    if (strcmp(argv[2], "branch") == 0)
        find = branching_search;
    if (strcmp(argv[1], "count") == 0)
        return bench_find(find, &map) != LOOKUPS;
    printf("%.2f\n", nanoseconds(find, &map));
    return 0;
}
