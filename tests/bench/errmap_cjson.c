/* cJSON's part of bench_errmap_cjson. */
#include "errmap_peer.h"

#include <cjson/cJSON.h>

static bench_entry table[BENCH_ENTRIES];

static uint32_t attributes_of(const cJSON *array)
{
    const cJSON *attribute;
    uint32_t bits = 0;
    cJSON_ArrayForEach(attribute, array)
    {
        bits |= bench_attribute(attribute->valuestring);
    }
    return bits;
}

size_t bench_parse(const char *text, size_t length)
{
    cJSON *const root = cJSON_ParseWithLength(text, length);
    const cJSON *error;
    size_t count = 0;
    cJSON_ArrayForEach(error, cJSON_GetObjectItemCaseSensitive(root, "errors"))
    {
        bench_entry *const entry = &table[count++];
        entry->code = bench_code(error->string);
        entry->name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "name"));
        entry->attributes = attributes_of(cJSON_GetObjectItemCaseSensitive(error, "attrs"));
    }
    bench_sort(table, count);
    cJSON_Delete(root);
    return count;
}
