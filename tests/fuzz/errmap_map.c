/* Fuzz target for the parser: any bytes get the verdict of the naive checker, and what is parsed is
   sound. `make fuzz` builds it with clang's libFuzzer and AFL++, and without them as
   build/replay_errmap_map FILE ... */
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"

#include "../support/errmap_naive.h"

#include <stdio.h>
#include <stdlib.h>

#define SPACE 64 /* entries */

#include "replay.h"

/* The text comes out as UTF-8 of the length that was told. */
static void check_text(const errmap *map, errmap_text text)
{
    char buffer[64];
    size_t offset;
    const size_t needed = errmap_copy_text(map, text, buffer, sizeof buffer);
    REQUIRE(text.length <= map->length && text.offset <= map->length - text.length);
    REQUIRE(needed <= text.length);
    REQUIRE(needed == errmap_copy_text(map, text, NULL, 0));
    if (needed < sizeof buffer - 2) {
        char quoted[70] = "\"";
        size_t i;
        for (i = 0; i < needed; i++)
            quoted[i + 1] = (unsigned char)buffer[i] < 0x20 || buffer[i] == '"' || buffer[i] == '\\'
                                ? 'x'
                                : buffer[i];
        quoted[needed + 1] = '"';
        REQUIRE(naive_judge(quoted, needed + 2, 1, &offset) == NAIVE_JSON);
    }
}

static void check_map(const errmap *map)
{
    uint32_t i, retries;
    for (i = 0; i < map->count; i++) {
        const errmap_entry *const entry = &map->entries[i];
        REQUIRE(i == 0 || map->entries[i - 1].code < entry->code);
        REQUIRE(errmap_find(map, entry->code) == entry);
        REQUIRE(errmap_advise(map, entry->code).entry == entry);
        REQUIRE((entry->attributes & ~(uint32_t)ERRMAP_ATTR_ALL) == 0);
        REQUIRE(entry->key < map->length && map->json[entry->key] == '"');
        check_text(map, entry->name);
        check_text(map, entry->desc);
        for (retries = 1; retries < 4; retries++)
            REQUIRE((errmap_spec_delay(entry, retries) == 0) ==
                    (entry->strategy == ERRMAP_SPEC_NONE));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static errmap_entry entries[SPACE];
    const char *const text = (const char *)data;
    errmap map, before;
    errmap_error error, counted;
    size_t offset;
    const naive_verdict verdict = naive_judge(text, size, ERRMAP_MAX_DEPTH, &offset);
    errmap_status status;
    memset(&map, 0x55, sizeof map);
    before = map;
    status = errmap_parse(&map, text, size, entries, SPACE, &error);
    REQUIRE((verdict == NAIVE_CORRUPT) == (status == ERRMAP_E_CORRUPT));
    REQUIRE((verdict == NAIVE_TOO_DEEP) == (status == ERRMAP_E_DEPTH));
    REQUIRE(verdict == NAIVE_JSON || error.offset == offset);
    REQUIRE(status < ERRMAP_STATUS_COUNT && error.offset <= size);
    if (status == ERRMAP_OK) {
        check_map(&map);
        REQUIRE(map.count == error.needed && error.offset == size);
        status = errmap_parse(&before, text, size, NULL, 0, &counted);
        REQUIRE(status == (error.needed ? ERRMAP_E_CAPACITY : ERRMAP_OK));
        REQUIRE(counted.needed == error.needed);
    } else {
        REQUIRE(memcmp(&map, &before, sizeof map) == 0);
        REQUIRE((error.needed > SPACE) == (status == ERRMAP_E_CAPACITY));
    }
    return 0;
}
