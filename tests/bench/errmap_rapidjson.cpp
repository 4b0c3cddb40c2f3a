/* RapidJSON's part of bench_errmap_rapidjson, with its check of UTF-8. */
#include "errmap_peer.h"

#include <rapidjson/document.h>

static bench_entry table[BENCH_ENTRIES];

static uint32_t attributes_of(const rapidjson::Value &array)
{
    uint32_t bits = 0;
    for (const auto &attribute : array.GetArray())
        bits |= bench_attribute(attribute.GetString());
    return bits;
}

size_t bench_parse(const char *text, size_t length)
{
    rapidjson::Document root;
    size_t count = 0;
    root.Parse<rapidjson::kParseValidateEncodingFlag>(text, length);
    if (root.HasParseError())
        return 0;
    for (const auto &error : root["errors"].GetObject()) {
        bench_entry &entry = table[count++];
        entry.code = bench_code(error.name.GetString());
        entry.name = error.value["name"].GetString();
        entry.attributes = attributes_of(error.value["attrs"]);
    }
    return bench_sort(table, count);
}
