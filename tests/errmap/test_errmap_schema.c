/* What is an error map and what is not, down to the byte at fault. */
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"

#include "../support/check.h"
#include "../support/errmap_fixture.h"

#include <limits.h>
#include <stdlib.h>

#define SPACE 4 /* entries */

/* A map's text around an entry with code 1, or around its fields. */
#define MAP(errors) "{\"version\":2,\"revision\":7,\"errors\":{" errors "}}"
#define ENTRY(fields) MAP("\"1\":{" fields "}")

typedef struct verdict {
    const char *text; /* a caret stands before the byte at fault and is not part of it */
    errmap_status status;
} verdict;

/* Takes the caret out of a text; where it was, or the length. */
static size_t strip(fixture *marked)
{
    char *const caret = (char *)memchr(marked->text, '^', marked->length);
    const size_t offset = caret ? (size_t)(caret - marked->text) : marked->length;
    if (caret)
        memmove(caret, caret + 1, --marked->length - offset);
    return offset;
}

static void check_verdict(const verdict *expected, size_t blanks)
{
    const fixture marked = fixture_spread(expected->text, strlen(expected->text), blanks);
    fixture f = marked;
    const size_t offset = strip(&f);
    errmap_entry entries[SPACE];
    errmap map, before;
    errmap_error error;
    errmap_status status;
    memset(&map, 0x55, sizeof map);
    before = map;
    error.offset = 12345;
    error.needed = 12345;
    status = errmap_parse(&map, f.text, f.length, entries, SPACE, &error);
    check_row("%u blanks in %s", (unsigned)blanks, expected->text);
    CHECK_EQUAL(expected->status, status);
    CHECK_EQUAL(offset, error.offset);
    if (status != ERRMAP_OK)
        CHECK(memcmp(&map, &before, sizeof map) == 0);
    if (status != ERRMAP_OK && status != ERRMAP_E_CAPACITY)
        CHECK_EQUAL(0, error.needed);
    fixture_free(marked);
}

/* As it stands and indented: what is long enough is skipped in another way. */
static void check_verdicts(const verdict *verdicts, size_t count)
{
    static const size_t blanks[] = {0, 1, 4, 5, 12};
    size_t i, j;
    for (i = 0; i < count; i++) {
        for (j = 0; j < CHECK_COUNT(blanks); j++)
            check_verdict(&verdicts[i], blanks[j]);
    }
    check_row("%s", "");
}

#define CHECK_VERDICTS(verdicts) check_verdicts((verdicts), CHECK_COUNT(verdicts))

static void test_arguments(void)
{
    static const char text[] = MAP("");
    errmap_entry entries[1];
    errmap map;
    errmap_error error;
    memset(&error, 0x55, sizeof error);
    CHECK_EQUAL(ERRMAP_E_ARGUMENT, errmap_parse(NULL, text, 1, entries, 1, &error));
    CHECK_EQUAL(0, error.offset);
    CHECK_EQUAL(0, error.needed);
    CHECK_EQUAL(ERRMAP_E_ARGUMENT, errmap_parse(&map, NULL, 1, entries, 1, &error));
    CHECK_EQUAL(ERRMAP_E_ARGUMENT, errmap_parse(&map, text, 1, NULL, 1, &error));
    CHECK_EQUAL(ERRMAP_E_ARGUMENT, errmap_parse(NULL, NULL, 0, NULL, 0, NULL));
    CHECK_EQUAL(ERRMAP_E_CORRUPT, errmap_parse(&map, NULL, 0, NULL, 0, &error));
    CHECK_EQUAL(0, error.offset);
    CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, text, sizeof text - 1, NULL, 0, NULL));
    CHECK(map.entries == NULL && map.count == 0);
    /* the longest text, of which nothing behind the first byte is looked at */
    CHECK_EQUAL(ERRMAP_E_CORRUPT, errmap_parse(&map, "x", INT_MAX, NULL, 0, &error));
    CHECK_EQUAL(0, error.offset);
#if SIZE_MAX > INT_MAX
    memset(&error, 0x55, sizeof error);
    CHECK_EQUAL(ERRMAP_E_SIZE, errmap_parse(&map, text, (size_t)INT_MAX + 1, entries, 1, &error));
    CHECK_EQUAL(0, error.offset);
    CHECK_EQUAL(0, error.needed);
    CHECK_EQUAL(ERRMAP_E_SIZE, errmap_parse(&map, text, SIZE_MAX, entries, 1, NULL));
    CHECK_EQUAL(ERRMAP_E_ARGUMENT, errmap_parse(NULL, text, SIZE_MAX, entries, 1, NULL));
    CHECK_EQUAL(ERRMAP_E_ARGUMENT, errmap_parse(&map, NULL, SIZE_MAX, entries, 1, NULL));
    CHECK_EQUAL(ERRMAP_E_ARGUMENT, errmap_parse(&map, text, SIZE_MAX, NULL, 1, NULL));
#endif
}

static void test_outline(void)
{
    static const verdict verdicts[] = {
        {MAP(""), ERRMAP_OK},
        {" \n\t\r{ \"errors\" : { } , \"revision\" : 0 , \"version\" : 4294967295 } \n", ERRMAP_OK},
        {"^", ERRMAP_E_CORRUPT},
        {" ^", ERRMAP_E_CORRUPT},
        {"^x", ERRMAP_E_CORRUPT},
        {"{\"version\":2^", ERRMAP_E_CORRUPT},
        {MAP("") "^x", ERRMAP_E_CORRUPT},
        {MAP("") " ^{}", ERRMAP_E_CORRUPT},
        {"^\xef\xbb\xbf" MAP(""), ERRMAP_E_CORRUPT},
        {"^1", ERRMAP_E_SCHEMA},
        {" ^null", ERRMAP_E_SCHEMA},
        {"^\"{}\"", ERRMAP_E_SCHEMA},
        {"^[]", ERRMAP_E_SCHEMA},
        {"{^}", ERRMAP_E_SCHEMA},
        {"{\"version\":2,\"revision\":7 ^} ", ERRMAP_E_SCHEMA},
        {"{\"version\":2,\"errors\":{}^}", ERRMAP_E_SCHEMA},
        {"{\"revision\":2,\"errors\":{}^}", ERRMAP_E_SCHEMA},
        {"{\"version\":2,\"revision\":7,\"errors\":^[]}", ERRMAP_E_SCHEMA},
        {"{\"version\":2,\"revision\":7,\"errors\": ^null}", ERRMAP_E_SCHEMA},
        {"{\"version\":2,\"version\" :2,\"revision\":7,\"errors\":{}^", ERRMAP_E_CORRUPT},
        {"{\"version\":2, ^\"version\" :2,\"revision\":7,\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":2,\"revision\":7,^\"\\u0076ersion\":2,\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":2,\"revision\":7,\"errors\":{},^\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":2,\"revision\":7,^\"revision\":[],\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":2,\"revision\":7,\"errors\":{},\"x\":1,\"x\":[{\"errors\":2}]}", ERRMAP_OK},
        {"{\"\\u0076ersion\":2,\"revisio\\u006e\":7,\"\\u0065\\u0072\\u0072\\u006f\\u0072\\u0073\":"
         "{}}",
         ERRMAP_OK},
        {"{\"Version\":2,\"revision\":7,\"errors\":{}^}", ERRMAP_E_SCHEMA},
        {"{\"versio\":2,\"revision\":7,\"errors\":{}^}", ERRMAP_E_SCHEMA},
        {"{\"version\\u0000\":2,\"revision\":7,\"errors\":{}^}", ERRMAP_E_SCHEMA},
        {"{\"version\":2,\"revision\":7,\"errors\":{},\"\":0,\"\\n\":0}", ERRMAP_OK},
    };
    CHECK_VERDICTS(verdicts);
}

static void test_counts(void)
{
    static const verdict verdicts[] = {
        {"{\"version\":^1.0,\"revision\":1,\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":^1e0,\"revision\":1,\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":^-0,\"revision\":1,\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":^-1,\"revision\":1,\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":^4294967296,\"revision\":1,\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":1,\"revision\":^42949672950,\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":1,\"revision\":^5000000000,\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":1,\"revision\":^100000000000000000000000000,\"errors\":{}}",
         ERRMAP_E_SCHEMA},
        {"{\"version\":0^1,\"revision\":1,\"errors\":{}}", ERRMAP_E_CORRUPT},
        {"{\"version\":^\"1\",\"revision\":1,\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":^null,\"revision\":1,\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":^true,\"revision\":1,\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":1,\"revision\": ^[1],\"errors\":{}}", ERRMAP_E_SCHEMA},
        {"{\"version\":1,\"revision\":1,\"errors\":{}}", ERRMAP_OK},
    };
    static const char text[] = "{\"errors\":{},\"version\":0,\"revision\":4294967295}";
    errmap map;
    CHECK_VERDICTS(verdicts);
    CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, text, sizeof text - 1, NULL, 0, NULL));
    CHECK_EQUAL(0, map.version);
    CHECK_EQUAL(UINT32_MAX, map.revision);
    CHECK(map.json == text && map.length == sizeof text - 1);
}

static void test_codes(void)
{
    static const verdict verdicts[] = {
        {MAP("\"0\":{},\"0a\":{},\"FfF\":{},\"FFFF\":{}"), ERRMAP_OK},
        {MAP("\"\\u0031f\":{}"), ERRMAP_OK},
        {MAP("\"\\u0030\\u0030\\u0030\\u0031\":{}"), ERRMAP_OK},
        {MAP("^\"\":{}"), ERRMAP_E_SCHEMA},
        {MAP("^\"0x1\":{}"), ERRMAP_E_SCHEMA},
        {MAP("^\"00001\":{}"), ERRMAP_E_SCHEMA},
        {MAP("^\"10000\":{}"), ERRMAP_E_SCHEMA},
        {MAP("^\"g\":{}"), ERRMAP_E_SCHEMA},
        {MAP("\"1\":{}, ^\"1 \":{}"), ERRMAP_E_SCHEMA},
        {MAP("^\"-1\":{}"), ERRMAP_E_SCHEMA},
        {MAP("^\"\\u0031\\u0031\\u0031\\u0031\\u0031\":{}"), ERRMAP_E_SCHEMA},
        {MAP("^\"\\u0031\\u0000\":{}"), ERRMAP_E_SCHEMA},
        {MAP("^\"\\u00e4\":{}"), ERRMAP_E_SCHEMA},
        {MAP("^\"\xc3\xa4\":{}"), ERRMAP_E_SCHEMA},
        {MAP("^\"x\":1"), ERRMAP_E_SCHEMA},
        {MAP("\"1\":^1"), ERRMAP_E_SCHEMA},
        {MAP("\"1\": ^[]"), ERRMAP_E_SCHEMA},
        {MAP("\"1\":^null"), ERRMAP_E_SCHEMA},
        {MAP("\"1f\":{},^\"001F\":{}"), ERRMAP_E_SCHEMA},
        {MAP("\"1f\":{},^\"\\u0031f\":{}"), ERRMAP_E_SCHEMA},
        {MAP("\"2\":{},\"1\":{},^\"02\":{},\"01\":{}"), ERRMAP_E_SCHEMA},
        {MAP("\"1\":{},\"2\":{},^\"02\":{},\"01\":{}"), ERRMAP_E_SCHEMA},
        {MAP("\"1\":{},^\"01\":{},\"001\":{},\"0001\":{}"), ERRMAP_E_SCHEMA},
        {MAP("\"2\":{},\"1\":{},^\"01\":{},\"001\":{}"), ERRMAP_E_SCHEMA},
        {MAP("\"1\":{},\"01\":{},\"2\":{\"name\":^1}"), ERRMAP_E_SCHEMA},
    };
    CHECK_VERDICTS(verdicts);
}

/* The first in the text to repeat an earlier code, wherever the sort puts it. */
static void test_repeated_code(void)
{
    static const char *const spelt[] = {"0", "00", "000", "0000", "1", "01", "001", "2", "3"};
    static const unsigned code_of[] = {0, 0, 0, 0, 1, 1, 1, 2, 3};
    uint32_t pick[6], i, j, round;
    for (round = 0; round < 20000 / CHECK_ONE_IN; round++) {
        char text[200] = "{\"version\":2,\"revision\":7,\"errors\":{";
        errmap_entry entries[6];
        errmap map;
        errmap_error error;
        size_t expected = 0;
        errmap_status status;
        for (i = 0; i < 6; i++) {
            pick[i] = check_random() % 9;
            for (j = 0; j < i && expected == 0; j++) {
                if (code_of[pick[j]] == code_of[pick[i]])
                    expected = strlen(text) + 1;
            }
            sprintf(text + strlen(text), "%s\"%s\":{}", i ? "," : "", spelt[pick[i]]);
        }
        strcat(text, "}}");
        status = errmap_parse(&map, text, strlen(text), entries, 6, &error);
        check_row("%s", text);
        CHECK_EQUAL(expected ? ERRMAP_E_SCHEMA : ERRMAP_OK, status);
        CHECK_EQUAL(expected ? expected : strlen(text), error.offset);
    }
}

static void test_fields(void)
{
    static const verdict verdicts[] = {
        {ENTRY(""), ERRMAP_OK},
        {ENTRY("\"name\":\"\",\"desc\":\"\",\"attrs\":[]"), ERRMAP_OK},
        {ENTRY("\"name\":^1"), ERRMAP_E_SCHEMA},
        {ENTRY("\"name\":^null"), ERRMAP_E_SCHEMA},
        {ENTRY("\"name\" : ^{\"a\":\"b\"}"), ERRMAP_E_SCHEMA},
        {ENTRY("\"name\":^[\"a\"]"), ERRMAP_E_SCHEMA},
        {ENTRY("\"desc\":^false"), ERRMAP_E_SCHEMA},
        {ENTRY("\"attrs\":^\"temp\""), ERRMAP_E_SCHEMA},
        {ENTRY("\"attrs\":^null"), ERRMAP_E_SCHEMA},
        {ENTRY("\"attrs\":^{\"temp\":\"temp\"}"), ERRMAP_E_SCHEMA},
        {ENTRY("\"attrs\":[\"temp\",^1]"), ERRMAP_E_SCHEMA},
        {ENTRY("\"attrs\":[\"temp\",\"x\", ^[\"auth\"],1]"), ERRMAP_E_SCHEMA},
        {ENTRY("\"attrs\":[^{}]"), ERRMAP_E_SCHEMA},
        {ENTRY("\"attrs\":[^null]"), ERRMAP_E_SCHEMA},
        {ENTRY("\"attrs\":[\"temp\",\"temp\",\"unknown\",\"\"]"), ERRMAP_OK},
        {ENTRY("\"name\":\"a\",^\"name\":\"a\""), ERRMAP_E_SCHEMA},
        {ENTRY("\"name\":\"a\",^\"n\\u0061me\":1"), ERRMAP_E_SCHEMA},
        {ENTRY("\"desc\":\"a\",\"x\":[],^\"desc\":\"a\""), ERRMAP_E_SCHEMA},
        {ENTRY("\"attrs\":[],^\"attrs\":[]"), ERRMAP_E_SCHEMA},
        {ENTRY("\"retry\":{},^\"retry\":{}"), ERRMAP_E_SCHEMA},
        {ENTRY("\"x\":1,\"x\":{\"name\":1,\"attrs\":0,\"retry\":{\"after\":[]}},\"y\":[[[]]]"),
         ERRMAP_OK},
        {ENTRY("\"Name\":1,\"nam\":1,\"name \":1,\"\":1,\"nom\\u00e9\":1,\"\\\"\":1"), ERRMAP_OK},
        {ENTRY("\"name\":^1,\"desc\":2"), ERRMAP_E_SCHEMA},
        {MAP("\"1\":{\"name\":^1},\"x\":1"), ERRMAP_E_SCHEMA},
        {MAP("\"1\":{\"name\":1},\"x\":1") "^]", ERRMAP_E_CORRUPT},
#if ERRMAP_MAX_DEPTH == 32
        {MAP("\"1\":{\"name\":1,\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[^[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
             "]]}"),
         ERRMAP_E_DEPTH},
#endif
    };
    CHECK_VERDICTS(verdicts);
}

static void test_specifications(void)
{
    static const verdict verdicts[] = {
        {ENTRY("\"retry\":null,\"name\":^2"), ERRMAP_E_SCHEMA},
        {ENTRY("\"retry\":null,^\"retry\":{}"), ERRMAP_E_SCHEMA},
        {ENTRY("\"retry\":[],\"attrs\":[^{}]"), ERRMAP_E_SCHEMA},
        {ENTRY("\"retry\":{\"after\":null,^\"after\":1}"), ERRMAP_E_SCHEMA},
        {ENTRY("\"retry\":{\"after\":1,^\"after\":1}"), ERRMAP_E_SCHEMA},
        {ENTRY("\"after\":1,\"retry\":{^\"after\":1}"), ERRMAP_E_SCHEMA},
        {ENTRY("\"retry\":{\"strategy\":\"linear\"},^\"strategy\":\"linear\""), ERRMAP_E_SCHEMA},
        {ENTRY("\"strategy\":\"x\",\"retry\":{\"ceil\":1},\"interval\":2,^\"ceil\":1"),
         ERRMAP_E_SCHEMA},
        {ENTRY("\"retry\":{\"name\":1,\"desc\":[],\"attrs\":{},\"retry\":{\"after\":{}},\"x\":0}"),
         ERRMAP_OK},
        {ENTRY("\"retry\":{\"name\":1},\"name\":\"a\",\"attrs\":[]"), ERRMAP_OK},
        {ENTRY("\"retry\":{\"name\":1},\"name\":^2"), ERRMAP_E_SCHEMA},
        {ENTRY("\"floor\":null,\"retry\":{\"floor\":-1}"), ERRMAP_OK},
        {ENTRY("\"interval\":0,\"retry\":{\"strategy\":\"linear\",^\"interval\":1}"),
         ERRMAP_E_SCHEMA},
    };
    CHECK_VERDICTS(verdicts);
}

typedef struct spec {
    const char *text;
    uint8_t strategy;
    retry_ms after, interval, ceil, max_duration;
} spec;

static void check_specs(const spec *specs, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++) {
        errmap_entry entry;
        errmap map;
        memset(&entry, 0x55, sizeof entry);
        check_row("%s", specs[i].text);
        CHECK_EQUAL(ERRMAP_OK,
                    errmap_parse(&map, specs[i].text, strlen(specs[i].text), &entry, 1, NULL));
        CHECK_EQUAL(specs[i].strategy, entry.strategy);
        CHECK_EQUAL(specs[i].after, entry.after);
        CHECK_EQUAL(specs[i].interval, entry.interval);
        CHECK_EQUAL(specs[i].ceil, entry.ceil);
        CHECK_EQUAL(specs[i].max_duration, entry.max_duration);
    }
}

static void test_read_specifications(void)
{
    static const spec specs[] = {
        {ENTRY(""), ERRMAP_SPEC_NONE, 0, 0, 0, 0},
        {ENTRY("\"retry\":{}"), ERRMAP_SPEC_NONE, 0, 0, 0, 0},
        {ENTRY("\"retry\":{\"strategy\":\"constant\",\"after\":1,\"interval\":2,\"ceil\":3,"
               "\"max-duration\":4}"),
         ERRMAP_SPEC_CONSTANT, 1, 2, 3, 4},
        {ENTRY("\"max-duration\":4,\"ceil\":3,\"interval\":2,\"after\":1,\"strategy\":\"linear\""),
         ERRMAP_SPEC_LINEAR, 1, 2, 3, 4},
        {ENTRY("\"ceil\":3,\"retry\":{\"interval\":2,\"strategy\":\"exponential\"},\"after\":1"),
         ERRMAP_SPEC_EXPONENTIAL, 1, 2, 3, 0},
        {ENTRY("\"retry\":{\"strategy\":\"linear\",\"interval\":2},\"attrs\":[\"temp\"]"),
         ERRMAP_SPEC_LINEAR, 0, 2, 0, 0},
        {ENTRY("\"strategy\":\"\\u006cinear\",\"afte\\u0072\":5,\"interva\\u006c\":6"),
         ERRMAP_SPEC_LINEAR, 5, 6, 0, 0},
        /* RFC 0013 requires an interval; 1.0 read the rest without one */
        {ENTRY("\"strategy\":\"linear\",\"after\":5,\"ceil\":6,\"max-duration\":7"),
         ERRMAP_SPEC_NONE, 0, 0, 0, 0},
        {ENTRY("\"interval\":0,\"retry\":{\"strategy\":\"constant\",\"after\":5}"),
         ERRMAP_SPEC_NONE, 0, 0, 0, 0},
        {ENTRY("\"retry\":{\"interval\":1,\"strategy\":\"exponential\"}"), ERRMAP_SPEC_EXPONENTIAL,
         0, 1, 0, 0},
        {ENTRY("\"retry\":{\"strategy\":\"Linear\",\"after\":1,\"interval\":2,\"ceil\":3,"
               "\"max-duration\":4}"),
         ERRMAP_SPEC_NONE, 0, 0, 0, 0},
        {ENTRY("\"strategy\":\"\",\"after\":1"), ERRMAP_SPEC_NONE, 0, 0, 0, 0},
        {ENTRY("\"after\":1,\"interval\":2,\"ceil\":3,\"max-duration\":4"), ERRMAP_SPEC_NONE, 0, 0,
         0, 0},
        {ENTRY("\"strategy\":\"constant\",\"after\":4294967295,\"interval\":4294967296,"
               "\"ceil\":429496729499,\"max-duration\":99999999999999999999999999"),
         ERRMAP_SPEC_CONSTANT, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
        {ENTRY("\"strategy\":\"constant\",\"after\":4294967294,\"interval\":429496729,\"ceil\":0"),
         ERRMAP_SPEC_CONSTANT, 4294967294u, 429496729, 0, 0},
    };
    check_specs(specs, CHECK_COUNT(specs));
}

/* Values that make no sense of a specification that makes some without them. 3.0 refused the whole
   map; a real one of 79 codes had a "ceil" of null. */
static void test_odd_specifications(void)
{
    static const char *const values[] = {
        "\"ceil\":null",
        "\"ceil\":2.5",
        "\"ceil\":500.0",
        "\"ceil\":5e2",
        "\"ceil\":-1",
        "\"ceil\":-0",
        "\"ceil\":\"500\"",
        "\"ceil\":[500]",
        "\"ceil\":{\"ceil\":500}",
        "\"ceil\":true",
        "\"after\":null",
        "\"after\":\"1\"",
        "\"after\":0.5",
        "\"max-duration\":null",
        "\"max-duration\":-1",
        "\"max-duration\":false",
        "\"x\":[],\"ceil\":null,\"after\":1",
        "\"retry\":null",
        "\"retry\":[]",
        "\"retry\":[{\"after\":1}]",
        "\"retry\":[\"after\",1,\"name\"]",
        "\"retry\":\"linear\"",
        "\"retry\":1",
        "\"retry\":{\"ceil\":null}",
        "\"retry\":{\"after\":1,\"ceil\":[null]},\"max-duration\":4",
        "\"\\u0063eil\":null",
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(values); i++) {
        errmap_entry entries[3];
        errmap_error error;
        errmap map;
        char text[400];
        memset(entries, 0x55, sizeof entries);
        snprintf(text, sizeof text,
                 MAP("\"1\":{\"strategy\":\"linear\",\"interval\":3},"
                     "\"2\":{\"strategy\":\"linear\",\"interval\":2,%s,\"attrs\":[\"temp\"]},"
                     "\"3\":{\"strategy\":\"constant\",\"interval\":5}"),
                 values[i]);
        check_row("%s", values[i]);
        CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, text, strlen(text), entries, 3, &error));
        CHECK_EQUAL(3, map.count);
        CHECK_EQUAL(ERRMAP_SPEC_LINEAR, entries[0].strategy);
        CHECK_EQUAL(ERRMAP_SPEC_NONE, entries[1].strategy);
        CHECK(!entries[1].after && !entries[1].interval && !entries[1].ceil);
        CHECK_EQUAL(0, entries[1].max_duration);
        CHECK_EQUAL(ERRMAP_ATTR_TEMP, entries[1].attributes);
        CHECK_EQUAL(ERRMAP_SPEC_CONSTANT, entries[2].strategy);
        CHECK_EQUAL(5, entries[2].interval);
    }
}

/* The same of the two that a specification cannot do without. */
static void test_odd_strategies_and_intervals(void)
{
    static const spec specs[] = {
        {ENTRY("\"strategy\":null,\"interval\":2"), ERRMAP_SPEC_NONE, 0, 0, 0, 0},
        {ENTRY("\"retry\":{\"strategy\":1,\"interval\":2}"), ERRMAP_SPEC_NONE, 0, 0, 0, 0},
        {ENTRY("\"retry\":{\"strategy\":[\"linear\"],\"interval\":2}"), ERRMAP_SPEC_NONE, 0, 0, 0,
         0},
        {ENTRY("\"strategy\":\"linear\",\"interval\":null"), ERRMAP_SPEC_NONE, 0, 0, 0, 0},
        {ENTRY("\"strategy\":\"linear\",\"interval\":1e0"), ERRMAP_SPEC_NONE, 0, 0, 0, 0},
        {ENTRY("\"strategy\":\"linear\",\"interval\":\"2\""), ERRMAP_SPEC_NONE, 0, 0, 0, 0},
        /* none at all, and nothing of it is read */
        {ENTRY("\"after\":1,\"ceil\":null,\"max-duration\":4"), ERRMAP_SPEC_NONE, 0, 0, 0, 0},
    };
    check_specs(specs, CHECK_COUNT(specs));
}

static void test_order(void)
{
    static const char text[] = MAP("\"1\":{},\"8000\":{},\"2\":{},\"ffff\":{},\"0\":{}");
    static const char three[] = MAP("\"1\":{},\"8000\":{},\"2\":{}");
    static const uint16_t codes[] = {0, 1, 2, 0x8000, 0xffff};
    errmap_entry entries[6];
    errmap map;
    size_t i;
    memset(entries, 0, sizeof entries);
    entries[5].code = 0xffff; /* of another map: it repeats nothing */
    CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, text, sizeof text - 1, entries, 6, NULL));
    CHECK_EQUAL(5, map.count);
    for (i = 0; i < CHECK_COUNT(codes); i++)
        CHECK_EQUAL(codes[i], entries[i].code);
    CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, three, sizeof three - 1, entries, 6, NULL));
    CHECK(entries[0].code == 1 && entries[1].code == 2 && entries[2].code == 0x8000);
}

static void test_read_fields(void)
{
    static const char text[] =
        MAP("\"Ff0\" : { \"desc\" : \"a\\nb\", \"attrs\" : [\"\\u0074emp\", \"x\", \"success\"], "
            "\"name\" : \"N\" }, \"2\":{\"desc\":\"\"}");
    errmap_entry entries[2];
    errmap map;
    CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, text, sizeof text - 1, entries, 2, NULL));
    CHECK_EQUAL(2, map.count);
    CHECK(map.entries == entries);
    CHECK_EQUAL(2, entries[0].code);
    CHECK_EQUAL(0xff0, entries[1].code);
    CHECK_EQUAL(ERRMAP_ATTR_TEMP | ERRMAP_ATTR_SUCCESS, entries[1].attributes);
    CHECK_EQUAL(4, entries[1].desc.length);
    CHECK(memcmp(text + entries[1].desc.offset, "a\\nb", 4) == 0);
    CHECK_EQUAL(1, entries[1].name.length);
    CHECK(memcmp(text + entries[1].name.offset, "N", 1) == 0);
    CHECK(memcmp(text + entries[1].key, "\"Ff0\"", 5) == 0);
    CHECK_EQUAL(0, entries[0].name.offset);
    CHECK_EQUAL(0, entries[0].name.length);
    CHECK(entries[0].desc.offset != 0);
    CHECK_EQUAL(0, entries[0].desc.length);
    CHECK_EQUAL(0, entries[0].attributes);
}

/* RFC 0013's names and their bits, which programs compiled with an older header keep. */
static const struct {
    const char *name;
    uint32_t bit;
} attributes[] = {
    {"item-only", ERRMAP_ATTR_ITEM_ONLY},
    {"invalid-input", ERRMAP_ATTR_INVALID_INPUT},
    {"fetch-config", ERRMAP_ATTR_FETCH_CONFIG},
    {"conn-state-invalidated", ERRMAP_ATTR_CONN_STATE_INVALIDATED},
    {"auth", ERRMAP_ATTR_AUTH},
    {"special-handling", ERRMAP_ATTR_SPECIAL_HANDLING},
    {"support", ERRMAP_ATTR_SUPPORT},
    {"temp", ERRMAP_ATTR_TEMP},
    {"internal", ERRMAP_ATTR_INTERNAL},
    {"retry-now", ERRMAP_ATTR_RETRY_NOW},
    {"retry-later", ERRMAP_ATTR_RETRY_LATER},
    {"subdoc", ERRMAP_ATTR_SUBDOC},
    {"dcp", ERRMAP_ATTR_DCP},
    {"auto-retry", ERRMAP_ATTR_AUTO_RETRY},
    {"item-locked", ERRMAP_ATTR_ITEM_LOCKED},
    {"item-deleted", ERRMAP_ATTR_ITEM_DELETED},
    {"rate-limit", ERRMAP_ATTR_RATE_LIMIT},
    {"no-retry", ERRMAP_ATTR_NO_RETRY},
    {"system-constraint", ERRMAP_ATTR_SYSTEM_CONSTRAINT},
    {"success", ERRMAP_ATTR_SUCCESS},
};

static void test_attributes(void)
{
    char text[200];
    uint32_t all = 0, bit;
    unsigned count = 0;
    errmap_entry entry;
    errmap map;
#define ATTRIBUTE(name, spelt)                                                       \
    sprintf(text, ENTRY("\"attrs\":[\"%s\"]"), spelt);                               \
    check_row("%s", spelt);                                                          \
    CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, text, strlen(text), &entry, 1, NULL)); \
    CHECK_EQUAL(ERRMAP_ATTR_##name, entry.attributes);                               \
    CHECK_TEXT(spelt, errmap_attribute_name(ERRMAP_ATTR_##name));                    \
    CHECK_EQUAL(0, all &(uint32_t)ERRMAP_ATTR_##name);                               \
    all |= (uint32_t)ERRMAP_ATTR_##name;                                             \
    count++;
    ERRMAP_ATTRIBUTES(ATTRIBUTE)
#undef ATTRIBUTE
    CHECK_EQUAL(CHECK_COUNT(attributes), count);
    CHECK_EQUAL(CHECK_COUNT(attributes), ERRMAP_ATTRIBUTE_COUNT);
    for (count = 0; count < CHECK_COUNT(attributes); count++) {
        check_row("%s", attributes[count].name);
        CHECK_EQUAL((uint32_t)1 << count, attributes[count].bit);
        CHECK_TEXT(attributes[count].name, errmap_attribute_name(attributes[count].bit));
    }
    for (bit = 1; bit != 0; bit <<= 1) {
        check_row("%lx", (unsigned long)bit);
        if ((bit & all) == 0)
            CHECK_TEXT("", errmap_attribute_name(bit));
        CHECK_TEXT("", errmap_attribute_name(bit | (bit == 1 ? 2 : 1)));
        if (bit > UINT32_MAX / 2)
            break;
    }
    CHECK_TEXT("", errmap_attribute_name(0));
    CHECK_TEXT("", errmap_attribute_name(UINT32_MAX));
}

/* No byte of an attribute's name is taken for another, but for its own escape. */
static void test_attributes_misspelt(void)
{
    static const char *const names[] = {
#define NAME(name, spelt) spelt,
        ERRMAP_ATTRIBUTES(NAME)
#undef NAME
    };
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(names); i++) {
        for (j = 0; j < strlen(names[i]); j++) {
            char text[200], spelt[32];
            errmap_entry entry;
            errmap map;
            strcpy(spelt, names[i]);
            spelt[j] = (char)(spelt[j] ^ 1);
            sprintf(text, ENTRY("\"attrs\":[\"%s\"]"), spelt);
            check_row("%s", spelt);
            CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, text, strlen(text), &entry, 1, NULL));
            CHECK_EQUAL(0, entry.attributes);
            strcpy(spelt, names[i]); /* right, with an escape; avr-libc knows no %.*s */
            sprintf(spelt + j, "\\u%04x%s", (unsigned)names[i][j], names[i] + j + 1);
            sprintf(text, ENTRY("\"attrs\":[\"%s\"]"), spelt);
            check_row("%s", spelt);
            CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, text, strlen(text), &entry, 1, NULL));
            CHECK_EQUAL((uint32_t)1 << i, entry.attributes);
        }
    }
}

/* Nor is one that begins with a name, and is too long for any once its escape is read. */
static void test_attributes_too_long(void)
{
    static const char text[] =
        ENTRY("\"attrs\":[\"\\u0063onn-state-invalidated-and-more\",\"conn-state-invalidated\"]");
    errmap_entry entry;
    errmap map;
    CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, text, sizeof text - 1, &entry, 1, NULL));
    CHECK_EQUAL(ERRMAP_ATTR_CONN_STATE_INVALIDATED, entry.attributes);
}

/* An entry of ERRMAP_TOKENS tokens fits, one more does not. */
static void test_tokens(void)
{
    static const char *const forms[] = {"\"name\":\"\",\"x\":[", "\"x\":{\"y\":["};
    static const unsigned before[] = {5,
                                      5}; /* tokens up to the bracket, the entry's own included */
    static const char *const closing[] = {"]}}}", "]}}}}"};
    const size_t room = 100 + 2 * ERRMAP_TOKENS;
    char *const text = (char *)malloc(room);
    size_t form, i;
    unsigned tokens;
    if (!text)
        abort();
    for (form = 0; form < CHECK_COUNT(forms); form++) {
        for (tokens = ERRMAP_TOKENS; tokens <= ERRMAP_TOKENS + 1; tokens++) {
            errmap_entry entry;
            errmap map;
            errmap_error error;
            const size_t brace = strlen("{\"version\":2,\"revision\":7,\"errors\":{\"1\":");
            sprintf(text, "{\"version\":2,\"revision\":7,\"errors\":{\"1\":{%s", forms[form]);
            for (i = before[form]; i < tokens; i++)
                strcat(text, i == before[form] ? "1" : ",1");
            strcat(text, closing[form]);
            check_row("%s", text);
            if (tokens == ERRMAP_TOKENS) {
                CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, text, strlen(text), &entry, 1, &error));
            } else {
                CHECK_EQUAL(ERRMAP_E_TOKENS,
                            errmap_parse(&map, text, strlen(text), &entry, 1, &error));
                CHECK_EQUAL(brace, error.offset);
                CHECK_EQUAL(0, error.needed);
            }
        }
    }
    free(text);
}

/* Of two faults of the schema or in the number of tokens the first in the text counts; outside of
   an entry there may be any number of tokens. */
static void test_tokens_order(void)
{
    const size_t room = 400 + 2 * ERRMAP_TOKENS;
    char *const text = (char *)malloc(room);
    char *const many = (char *)malloc(room);
    errmap_entry entry;
    errmap map;
    errmap_error error;
    unsigned i;
    if (!text || !many)
        abort();
    strcpy(many, "[0");
    for (i = 1; i < ERRMAP_TOKENS; i++)
        strcat(many, ",0");
    strcat(many, "]");
    sprintf(text, MAP("\"x\":{},\"1\":{\"y\":%s}"), many);
    CHECK_EQUAL(ERRMAP_E_SCHEMA, errmap_parse(&map, text, strlen(text), &entry, 1, &error));
    sprintf(text, MAP("\"1\":{\"y\":%s,\"name\":0},\"x\":{}"), many);
    CHECK_EQUAL(ERRMAP_E_TOKENS, errmap_parse(&map, text, strlen(text), &entry, 1, &error));
    sprintf(text, MAP("\"1\":{\"y\":%s},\"2\":{}"), many);
    CHECK_EQUAL(ERRMAP_E_TOKENS, errmap_parse(&map, text, strlen(text), &entry, 1, &error));
    sprintf(text, MAP("\"1\":{\"y\":%s}") "]", many);
    CHECK_EQUAL(ERRMAP_E_CORRUPT, errmap_parse(&map, text, strlen(text), &entry, 1, &error));
    sprintf(text, MAP("\"1\":%s"), many);
    CHECK_EQUAL(ERRMAP_E_SCHEMA, errmap_parse(&map, text, strlen(text), &entry, 1, &error));
    sprintf(text, "{\"z\":%s,\"version\":1,\"revision\":1,\"errors\":{\"1\":{}}}", many);
    CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, text, strlen(text), &entry, 1, &error));
    free(text);
    free(many);
}

static void test_capacity(void)
{
    static const char text[] = MAP("\"3\":{},\"1\":{},\"2\":{}");
    static const char repeated[] = MAP("\"3\":{},\"1\":{},\"3\":{}");
    static const char faulty[] = MAP("\"3\":{},\"1\":{},\"2\":{\"name\":0}");
    errmap_entry entries[3];
    errmap map, before;
    errmap_error error;
    uint32_t capacity;
    memset(&map, 0x55, sizeof map);
    before = map;
    for (capacity = 0; capacity < 3; capacity++) {
        errmap_entry *const room = capacity ? entries : NULL;
        check_row("capacity %lu", (unsigned long)capacity);
        memset(&error, 0x55, sizeof error);
        CHECK_EQUAL(ERRMAP_E_CAPACITY,
                    errmap_parse(&map, text, sizeof text - 1, room, capacity, &error));
        CHECK_EQUAL(0, error.offset);
        CHECK_EQUAL(3, error.needed);
        CHECK_EQUAL(ERRMAP_E_CAPACITY,
                    errmap_parse(&map, repeated, sizeof repeated - 1, room, capacity, &error));
        CHECK_EQUAL(3, error.needed);
        CHECK_EQUAL(ERRMAP_E_SCHEMA,
                    errmap_parse(&map, faulty, sizeof faulty - 1, room, capacity, &error));
        CHECK_EQUAL(0, error.needed);
    }
    CHECK(memcmp(&map, &before, sizeof map) == 0);
    CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, text, sizeof text - 1, entries, 3, &error));
    CHECK_EQUAL(3, error.needed);
    CHECK_EQUAL(sizeof text - 1, error.offset);
    CHECK_EQUAL(1, entries[0].code);
    CHECK_EQUAL(2, entries[1].code);
    CHECK_EQUAL(3, entries[2].code);
}

static void test_sizes(void)
{
    CHECK_RANGE(1, 48, sizeof(errmap_entry));
    CHECK_EQUAL(0, ERRMAP_OK);
    CHECK_EQUAL(0, ERRMAP_SPEC_NONE);
    CHECK_EQUAL(ERRMAP_VERSION_MAJOR * UINT32_C(10000) + ERRMAP_VERSION_MINOR * 100 +
                    ERRMAP_VERSION_PATCH,
                ERRMAP_VERSION);
}

/* Each spelling of a strategy is its own number. */
static void test_strategies(void)
{
    char text[200];
    unsigned count = 0;
    errmap_entry entry;
    errmap map;
#define STRATEGY(name, spelt)                                                        \
    sprintf(text, ENTRY("\"retry\":{\"strategy\":\"%s\",\"interval\":2}"), spelt);   \
    check_row("%s", spelt);                                                          \
    CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, text, strlen(text), &entry, 1, NULL)); \
    CHECK_EQUAL(ERRMAP_SPEC_##name, entry.strategy);                                 \
    CHECK_EQUAL(++count, entry.strategy);
    ERRMAP_SPECS(STRATEGY)
#undef STRATEGY
    CHECK_EQUAL(ERRMAP_SPEC_COUNT, count + 1);
}

static void test_status_text(void)
{
    unsigned status, rows = 0;
#define STATUS(name, text) CHECK_TEXT(text, errmap_status_text((errmap_status)rows++));
    ERRMAP_STATUSES(STATUS)
#undef STATUS
    CHECK_EQUAL(ERRMAP_STATUS_COUNT, rows);
    CHECK_TEXT("the map is valid", errmap_status_text(ERRMAP_OK));
    for (status = 0; status < ERRMAP_STATUS_COUNT; status++)
        CHECK_RANGE(10, 60, strlen(errmap_status_text((errmap_status)status)));
    CHECK_TEXT("invalid status", errmap_status_text(ERRMAP_STATUS_COUNT));
    CHECK_TEXT("invalid status", errmap_status_text(255));
}

int main(void)
{
    RUN(test_arguments);
    RUN(test_outline);
    RUN(test_counts);
    RUN(test_codes);
    RUN(test_repeated_code);
    RUN(test_fields);
    RUN(test_specifications);
    RUN(test_read_specifications);
    RUN(test_odd_specifications);
    RUN(test_odd_strategies_and_intervals);
    RUN(test_order);
    RUN(test_read_fields);
    RUN(test_attributes);
    RUN(test_attributes_misspelt);
    RUN(test_attributes_too_long);
    RUN(test_tokens);
    RUN(test_tokens_order);
    RUN(test_capacity);
    RUN(test_sizes);
    RUN(test_strategies);
    RUN(test_status_text);
    return check_done();
}
