/* jansson's part of bench_errmap_jansson. */
#include "errmap_peer.h"

#include <jansson.h>

static bench_entry table[BENCH_ENTRIES];

static uint32_t attributes_of(json_t *array)
{
    json_t *attribute;
    uint32_t bits = 0;
    size_t i;
    json_array_foreach(array, i, attribute)
    {
        bits |= bench_attribute(json_string_value(attribute));
    }
    return bits;
}

size_t bench_parse(const char *text, size_t length)
{
    json_t *const root = json_loadb(text, length, 0, NULL);
    json_t *const errors = json_object_get(root, "errors");
    const char *key;
    json_t *error;
    size_t count = 0;
    json_object_foreach(errors, key, error)
    {
        bench_entry *const entry = &table[count++];
        entry->code = bench_code(key);
        entry->name = json_string_value(json_object_get(error, "name"));
        entry->attributes = attributes_of(json_object_get(error, "attrs"));
    }
    bench_sort(table, count);
    json_decref(root);
    return count;
}
