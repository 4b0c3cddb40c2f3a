/* Finding entries and reading their texts. */
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"

#include "../support/check.h"
#include "../support/errmap_fixture.h"

#include <stdlib.h>

static void test_find(void)
{
    errmap_entry entries[70];
    errmap map;
    uint32_t count, i, status;
    memset(&map, 0, sizeof map);
    memset(entries, 0, sizeof entries);
    for (i = 0; i < CHECK_COUNT(entries); i++)
        entries[i].code = (uint16_t)(3 * i + 1);
    map.entries = entries;
    for (count = 0; count <= CHECK_COUNT(entries); count++) {
        map.count = count;
        for (status = 0; status < 3 * CHECK_COUNT(entries) + 5; status++) {
            const bool there = status % 3 == 1 && status / 3 < count;
            check_row("%lu of %lu", (unsigned long)status, (unsigned long)count);
            CHECK(errmap_find(&map, status) == (there ? &entries[status / 3] : NULL));
        }
        CHECK(errmap_find(&map, 65536 + 1) == NULL);
        CHECK(errmap_find(&map, UINT32_MAX) == NULL);
    }
    CHECK(errmap_find(NULL, 1) == NULL);
    map.entries = NULL;
    CHECK(errmap_find(&map, 1) == NULL);
}

static void test_find_the_ends(void)
{
    errmap_entry entries[2];
    errmap map;
    memset(&map, 0, sizeof map);
    memset(entries, 0, sizeof entries);
    entries[1].code = 0xffff;
    map.entries = entries;
    map.count = 2;
    CHECK(errmap_find(&map, 0) == &entries[0]);
    CHECK(errmap_find(&map, 0xffff) == &entries[1]);
    CHECK(errmap_find(&map, 0x10000) == NULL);
    CHECK(errmap_find(&map, 0x1ffff) == NULL);
}

/* The version counts first (1.0 went by the revision alone): a node that was upgraded sends another
   format, whose revisions count on their own. */
static void test_newer(void)
{
    static const struct {
        uint32_t version, revision;
    } rows[] = {{0, 0}, {0, UINT32_MAX}, {1, 0}, {1, 5}, {2, 1}, {2, 9}, {UINT32_MAX, 0}};
    size_t i, j;
    errmap a, b;
    memset(&a, 0, sizeof a);
    b = a;
    CHECK(errmap_newer(NULL, NULL) == NULL);
    CHECK(errmap_newer(&a, NULL) == &a);
    CHECK(errmap_newer(NULL, &b) == &b);
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (j = 0; j < CHECK_COUNT(rows); j++) {
            a.version = rows[i].version;
            a.revision = rows[i].revision;
            b.version = rows[j].version;
            b.revision = rows[j].revision;
            check_row("%lu.%lu, %lu.%lu", (unsigned long)a.version, (unsigned long)a.revision,
                      (unsigned long)b.version, (unsigned long)b.revision);
            CHECK(errmap_newer(&a, &b) == (i >= j ? &a : &b));
        }
    }
}

typedef struct text_row {
    const char *raw, *plain;
} text_row;

static const text_row texts[] = {
    {"", ""},
    {"a", "a"},
    {"abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"},
    {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"},
    {"x\\u0041y", "xAy"},
    {"\\u007f\\u0080\\u07ff\\u0800\\uffff", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"},
    {"\\ud800\\udc00", "\xf0\x90\x80\x80"},
    {"\\uDBFF\\uDFFF", "\xf4\x8f\xbf\xbf"},
    {"\\ud83d\\ude00!", "\xf0\x9f\x98\x80!"},
    {"\\u00e4\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"\\uFEFF", "\xef\xbb\xbf"},
    {"\\ud7ff\\ue000", "\xed\x9f\xbf\xee\x80\x80"},
};

/* How many bytes of a text of UTF-8 fit into `room` without cutting a character. */
static size_t whole_characters(const char *text, size_t room)
{
    size_t length = strlen(text);
    if (length <= room)
        return length;
    while (room > 0 && ((unsigned char)text[room] & 0xc0) == 0x80)
        room--;
    return room;
}

/* A map whose only text is `raw`, in a buffer of exactly that length. */
static errmap map_of(const char *raw, char *json)
{
    errmap map;
    memset(&map, 0, sizeof map);
    memcpy(json, raw, strlen(raw));
    map.json = json;
    map.length = (uint32_t)strlen(raw);
    return map;
}

static void test_copy(void)
{
    size_t row, capacity;
    for (row = 0; row < CHECK_COUNT(texts); row++) {
        const size_t length = strlen(texts[row].plain);
        char *const json = (char *)malloc(strlen(texts[row].raw) + 1);
        errmap map;
        errmap_text text;
        if (!json)
            abort();
        map = map_of(texts[row].raw, json);
        text.offset = 0;
        text.length = map.length;
        for (capacity = 0; capacity < length + 3; capacity++) {
            char buffer[80];
            memset(buffer, 0x55, sizeof buffer);
            check_row("%s into %lu", texts[row].raw, (unsigned long)capacity);
            CHECK_EQUAL(length, errmap_copy_text(&map, text, buffer, capacity));
            if (capacity > 0) {
                const size_t kept = whole_characters(texts[row].plain, capacity - 1);
                CHECK(memcmp(buffer, texts[row].plain, kept) == 0);
                CHECK_EQUAL(0, buffer[kept]);
                CHECK_EQUAL(0x55, buffer[kept + 1 > capacity ? kept + 1 : capacity]);
            } else {
                CHECK_EQUAL(0x55, buffer[0]);
            }
        }
        CHECK_EQUAL(length, errmap_copy_text(&map, text, NULL, 0));
        CHECK_EQUAL(length, errmap_copy_text(&map, text, NULL, 10));
        free(json);
    }
}

static errmap_text text_at(uint32_t offset, uint32_t length)
{
    errmap_text text;
    memset(&text, 0, sizeof text);
    text.offset = offset;
    text.length = length;
    return text;
}

static void test_copy_nul(void)
{
    char json[8], buffer[8] = "xxxxxxx";
    const errmap map = map_of("a\\u0000b", json);
    const errmap_text text = text_at(0, 8);
    CHECK_EQUAL(3, errmap_copy_text(&map, text, buffer, sizeof buffer));
    CHECK(memcmp(buffer, "a\0b", 4) == 0);
}

static void test_copy_from_outside(void)
{
    const errmap_text outside[] = {text_at(5, 1),
                                   text_at(6, 0),
                                   text_at(0, 6),
                                   text_at(4, 2),
                                   text_at(UINT32_MAX, 1),
                                   text_at(1, UINT32_MAX),
                                   text_at(2, UINT32_MAX - 1)};
    char json[5], buffer[8];
    errmap map = map_of("abcde", json);
    const errmap_text all = text_at(0, 5), end = text_at(5, 0);
    size_t i;
    for (i = 0; i < CHECK_COUNT(outside); i++) {
        strcpy(buffer, "x");
        check_row("%lu, %lu", (unsigned long)outside[i].offset, (unsigned long)outside[i].length);
        CHECK_EQUAL(0, errmap_copy_text(&map, outside[i], buffer, sizeof buffer));
        CHECK_TEXT("", buffer);
    }
    CHECK_EQUAL(0, errmap_copy_text(&map, end, buffer, sizeof buffer));
    CHECK_EQUAL(5, errmap_copy_text(&map, all, buffer, sizeof buffer));
    CHECK_TEXT("abcde", buffer);
    CHECK_EQUAL(0, errmap_copy_text(NULL, all, buffer, sizeof buffer));
    CHECK_TEXT("", buffer);
    map.json = NULL;
    CHECK_EQUAL(0, errmap_copy_text(&map, all, buffer, 1));
    CHECK_EQUAL(0, errmap_copy_text(NULL, all, NULL, 0));
}

/* Texts that no parser passed: whatever they hold, nothing outside of them is read. */
static void test_copy_of_garbage(void)
{
    static const char letters[] = "\\udD8c0\"n\xc3\xa4\xe2\xf0\xff\x80";
    const size_t count = sizeof letters - 1;
    unsigned long round;
    for (round = 0; round < 100000 / CHECK_ONE_IN; round++) {
        const size_t length = (size_t)(round % 13);
        char *const json = (char *)malloc(length ? length : 1);
        char buffer[64];
        errmap map;
        errmap_text text;
        size_t i, needed;
        if (!json)
            abort();
        for (i = 0; i < length; i++)
            json[i] = letters[check_random() % count];
        memset(&map, 0, sizeof map);
        map.json = json;
        map.length = (uint32_t)length;
        text.offset = 0;
        text.length = (uint32_t)length;
        needed = errmap_copy_text(&map, text, buffer, sizeof buffer);
        CHECK(needed <= length && buffer[needed] == '\0');
        free(json);
    }
}

int main(void)
{
    RUN(test_find);
    RUN(test_find_the_ends);
    RUN(test_newer);
    RUN(test_copy);
    RUN(test_copy_nul);
    RUN(test_copy_from_outside);
    RUN(test_copy_of_garbage);
    return check_done();
}
