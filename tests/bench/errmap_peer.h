/* What the parsers share that bench_errmap_PEER measures: the table that they fill and what it
   takes to fill it. Each is a file and a program of its own, so that all are compiled in the same
   way, and as jansson and json-c have functions of the same name. */
#ifndef ERRMAP_PEER_H
#define ERRMAP_PEER_H

#include "../../errmap.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BENCH_ENTRIES 65536

typedef struct bench_entry {
    int code;
    const char *name;
    uint32_t attributes;
} bench_entry;

static inline int bench_code(const char *key)
{
    return (int)strtoul(key, NULL, 16);
}

static inline uint32_t bench_attribute(const char *text)
{
    static const char *const names[] = {
#define NAME(name, text) text,
        ERRMAP_ATTRIBUTES(NAME)
#undef NAME
    };
    uint32_t i;
    for (i = 0; i < ERRMAP_ATTRIBUTE_COUNT; i++) {
        if (strcmp(text, names[i]) == 0)
            return (uint32_t)1 << i;
    }
    return 0;
}

static inline int bench_compare(const void *a, const void *b)
{
    return ((const bench_entry *)a)->code - ((const bench_entry *)b)->code;
}

static inline size_t bench_sort(bench_entry *entries, size_t count)
{
    qsort(entries, count, sizeof *entries, bench_compare);
    return count;
}

#ifdef __cplusplus
extern "C" {
#endif
/* Parses a map into a table of its own, sorted by code; the number of entries, 0 if it cannot. */
size_t bench_parse(const char *text, size_t length);
#ifdef __cplusplus
}
#endif

#endif
