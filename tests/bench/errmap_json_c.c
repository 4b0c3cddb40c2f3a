/* json-c's part of bench_errmap_json_c, with its strict flag and its check of UTF-8. */
#include "errmap_peer.h"

#include <json-c/json.h>

static bench_entry table[BENCH_ENTRIES];

static uint32_t attributes_of(struct json_object *array)
{
    uint32_t bits = 0;
    size_t i;
    for (i = 0; i < json_object_array_length(array); i++)
        bits |= bench_attribute(json_object_get_string(json_object_array_get_idx(array, i)));
    return bits;
}

size_t bench_parse(const char *text, size_t length)
{
    struct json_tokener *const tokener = json_tokener_new();
    struct json_object *root, *errors = NULL;
    struct json_object_iterator at, end;
    size_t count = 0;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    root = json_tokener_parse_ex(tokener, text, (int)length);
    json_object_object_get_ex(root, "errors", &errors);
    at = json_object_iter_begin(errors);
    end = json_object_iter_end(errors);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        struct json_object *const error = json_object_iter_peek_value(&at);
        bench_entry *const entry = &table[count++];
        struct json_object *member = NULL;
        entry->code = bench_code(json_object_iter_peek_name(&at));
        json_object_object_get_ex(error, "name", &member);
        entry->name = json_object_get_string(member);
        json_object_object_get_ex(error, "attrs", &member);
        entry->attributes = attributes_of(member);
    }
    bench_sort(table, count);
    json_object_put(root);
    json_tokener_free(tokener);
    return count;
}
