/* A jsmn.h that counts other tokens than the gate does: no entry that it has read is trusted. */
#define ERRMAP_JSMN_HEADER "tests/support/jsmn_lies.h"
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"
#ifndef JSMN_LIES_H /* the implementation is in another file */
extern int jsmn_lie;
#endif
#include "../support/check.h"

static const char text[] = "{\"version\":2,\"revision\":7,\"errors\":{"
                           "\"1\":{\"name\":\"A\"},\"2\":{\"name\":\"B\",\"attrs\":[\"temp\"]}}}";

static void check_lie(int lie, errmap_status expected, size_t offset)
{
    errmap_entry entries[2];
    errmap_error error;
    errmap map, before;
    memset(&error, 0, sizeof error);
    memset(&map, 0x55, sizeof map);
    before = map;
    jsmn_lie = lie;
    check_row("%d tokens more", lie);
    CHECK_EQUAL(expected, errmap_parse(&map, text, sizeof text - 1, entries, 2, &error));
    CHECK_EQUAL(offset, error.offset);
    if (expected != ERRMAP_OK)
        CHECK(memcmp(&before, &map, sizeof map) == 0);
    jsmn_lie = 0;
}

static void test_count(void)
{
    const size_t brace = (size_t)(strstr(text, "{\"name\":\"A\"") - text);
    check_lie(0, ERRMAP_OK, sizeof text - 1);
    check_lie(1, ERRMAP_E_CORRUPT, brace);
    check_lie(-1, ERRMAP_E_CORRUPT, brace);
    check_lie(-3, ERRMAP_E_CORRUPT, brace);
}

int main(void)
{
    RUN(test_count);
    return check_done();
}
