/* The parser lets through exactly JSON: it is held against a naive checker on every short string of
   two alphabets, alone and inside a map, and on escapes, UTF-8 and strings of every length. Built
   with ERRMAP_MAX_DEPTH 4 it is put to the test on depth too. With CHECK_QUICK the longest strings
   are left out. */
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"

#include "../support/check.h"
#include "../support/errmap_naive.h"

#include <stdlib.h>

#ifdef CHECK_QUICK
#define SHORTER 2
#else
#define SHORTER 0
#endif

static unsigned long judged, accepted;

/* Both opinions on one text, whatever it means as a map. */
static void judge(const char *text, size_t length)
{
    errmap_entry entries[2];
    errmap map;
    errmap_error error;
    size_t offset;
    const naive_verdict verdict = naive_judge(text, length, ERRMAP_MAX_DEPTH, &offset);
    const errmap_status status = errmap_parse(&map, text, length, entries, 2, &error);
    bool same = status != ERRMAP_E_CORRUPT && status != ERRMAP_E_DEPTH;
    if (verdict == NAIVE_CORRUPT)
        same = status == ERRMAP_E_CORRUPT && error.offset == offset;
    if (verdict == NAIVE_TOO_DEEP)
        same = status == ERRMAP_E_DEPTH && error.offset == offset;
    judged++;
    accepted += verdict == NAIVE_JSON;
    if (same)
        return;
    check_row("%.*s", (int)length, text);
    CHECK_EQUAL(verdict, status);
    CHECK_EQUAL(offset, error.offset);
}

/* A text between two others, in a buffer of exactly its length. */
static void judge_between(const char *before, const char *text, size_t length, const char *after)
{
    const size_t first = strlen(before), last = strlen(after);
    char *const whole = (char *)malloc(first + length + last);
    if (!whole)
        abort();
    memcpy(whole, before, first);
    memcpy(whole + first, text, length);
    memcpy(whole + first + length, after, last);
    judge(whole, first + length + last);
    free(whole);
}

/* Every string over the alphabet up to `longest`, the empty one included. */
static void judge_every(const char *before, const char *alphabet, size_t longest, const char *after)
{
    const size_t letters = strlen(alphabet);
    size_t digits[8] = {0};
    char text[8];
    size_t length, i;
    for (length = 0; length <= longest; length++) {
        memset(digits, 0, sizeof digits);
        memset(text, alphabet[0], sizeof text);
        do {
            if (before[0] || after[0])
                judge_between(before, text, length, after);
            else
                judge(text, length);
            for (i = 0; i < length; i++) {
                digits[i] = digits[i] + 1 < letters ? digits[i] + 1 : 0;
                text[i] = alphabet[digits[i]];
                if (digits[i] != 0)
                    break;
            }
        } while (i < length);
    }
}

#define BEFORE "{\"version\":1,\"revision\":1,\"errors\":{\"0\":{\"x\":"
#define AFTER "}}}"

static void test_structure(void)
{
    judge_every("", "[]{}:,\"1", 7 - SHORTER, "");
#if SHORTER == 0
    CHECK_EQUAL(2396745, judged);
#endif
    CHECK_RANGE(100, judged / 10, accepted);
}

static void test_syntax(void)
{
    judge_every("", "{}[]:,\"\\u01-.etn", 5 - SHORTER, "");
}

static void test_inside_a_map(void)
{
    judge_every(BEFORE, "[]{}:,\"1", 5 - SHORTER, AFTER);
    judge_every(BEFORE, "{}[]:,\"\\u01-.etn", 4 - SHORTER, AFTER);
    judge_every("{\"version\":1,", "[]{}:,\"1", 5 - SHORTER, ",\"errors\":{}}");
    judge_every("{\"errors\":", "[]{}:,\"1", 5 - SHORTER, "}");
}

static void test_space(void)
{
    judge_every("", " \n\r\t\v\f[],1", 5 - SHORTER, "");
    judge_every("{", " \t{}\":,1", 5 - SHORTER, "}");
}

static void test_numbers(void)
{
    judge_every("", "019-+.eE ", 6 - SHORTER, "");
    judge_every("[", "019-+.eE,", 5 - SHORTER, "]");
}

static void test_words(void)
{
    static const char *const words[] = {"true", "false", "null"};
    char text[8];
    size_t word, i, length;
    int c;
    for (word = 0; word < CHECK_COUNT(words); word++) {
        length = strlen(words[word]);
        for (i = 0; i < length; i++) {
            judge(words[word], i);
            for (c = 0; c < 256; c++) {
                memcpy(text, words[word], length);
                text[i] = (char)c;
                judge(text, length);
                judge_between("[", text, length, "]");
            }
        }
    }
}

static void test_escapes(void)
{
    char text[4] = "\\?";
    uint32_t unit;
    int c;
    for (c = 0; c < 256; c++) {
        text[1] = (char)c;
        judge_between("\"", text, 2, "\"");
    }
    for (unit = 0; unit <= 0xffff; unit = check_next(unit)) {
        char escape[16];
        snprintf(escape, sizeof escape, "\\u%04x", (unsigned)unit);
        judge_between("\"", escape, 6, "\"");
        judge_between("\"\\uDaF9", escape, 6, "\"");
    }
    judge_every("\"\\ud8", "0dcfF\\u\"", 7 - SHORTER, "");
    judge_every("\"\\", "u0dDbBceg", 5 - SHORTER, "\"");
}

static void test_utf8(void)
{
    static const char bytes[] = "\x1f\x20\x22\x41\x5c\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf"
                                "\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff";
    char text[2];
    int a, b;
    judge_every("\"", bytes, 4 - (SHORTER > 0), "\"");
    for (a = 0; a < 256; a++) {
        for (b = 0; b < 256; b++) {
            text[0] = (char)a;
            text[1] = (char)b;
            judge_between("\"", text, 2, "\"");
            judge_between("", text, 2, "");
        }
    }
    judge_between("\xef\xbb\xbf", "{}", 2, "");
}

/* Every byte in the place of every byte, and before it, of a text with a bit of everything. */
static void test_every_byte(void)
{
    static const char sample[] =
        "{\"a\" : [ 1 , -0.5e+1 ,\"b\\n\\u00Df\\uD83d\\uDe00\"],\n\"c\":{},"
        "\"\":[true,false,null,{\"\xc3\xa4\":\"\"}]}\t";
    char text[sizeof sample];
    const size_t length = sizeof sample - 1;
    size_t i;
    int c;
    for (i = 0; i < length; i++) {
        judge(sample, i);
        for (c = 0; c < 256; c++) {
            memcpy(text, sample, length);
            text[i] = (char)c;
            judge(text, length);
            memcpy(text + i + 1, sample + i, length - i);
            judge(text, length + 1);
        }
    }
}

/* Every byte at every place of strings of every length around several words. */
static void test_string_lengths(void)
{
    char text[40];
    size_t length, i;
    int c;
    for (length = 0; length < sizeof text; length++) {
        memset(text, 'a', sizeof text);
        judge_between("\"", text, length, "\"");
        for (i = 0; i < length; i++) {
            for (c = 0; c < 256; c++) {
                text[i] = (char)c;
                judge_between("\"", text, length, "\"");
            }
            text[i] = 'a';
        }
    }
}

static void test_space_lengths(void)
{
    char text[40];
    size_t length, i;
    int c;
    for (length = 0; length < sizeof text; length++) {
        memset(text, ' ', sizeof text);
        judge_between("", text, length, "[]");
        for (i = 0; i < length; i++) {
            for (c = 0; c < 256; c++) {
                text[i] = (char)c;
                judge_between("[", text, length, "]");
            }
            text[i] = ' ';
        }
    }
}

/* From one bracket to two more than there may be, of both kinds in turn. */
static void test_depth(void)
{
    char text[5 * (ERRMAP_MAX_DEPTH + 3)];
    unsigned depth, i, kind;
    for (kind = 0; kind < 3; kind++) {
        for (depth = 1; depth <= ERRMAP_MAX_DEPTH + 2; depth++) {
            size_t length = 0;
            for (i = 0; i < depth; i++) {
                const bool object = kind == 1 || (kind == 2 && i % 3 == 0);
                memcpy(text + length, object ? "{\"\":" : "[", object ? 4 : 1);
                length += object ? 4 : 1;
            }
            judge(text, length);
            text[length++] = '1';
            judge(text, length);
            for (i = depth; i > 0; i--)
                text[length++] = kind == 1 || (kind == 2 && (i - 1) % 3 == 0) ? '}' : ']';
            judge(text, length);
        }
    }
}

/* What passes the gate must be what jsmn sees, whatever an unknown value holds: such a map is good,
   unless it is nested too deep. */
static void agree(const char *text, size_t length)
{
    static const char before[] = BEFORE, after[] = AFTER;
    char whole[128];
    size_t offset;
    errmap_entry entry;
    errmap map;
    const size_t first = sizeof before - 1, last = sizeof after - 1;
    if (naive_judge(text, length, ERRMAP_MAX_DEPTH, &offset) != NAIVE_JSON)
        return;
    memcpy(whole, before, first);
    memcpy(whole + first, text, length);
    memcpy(whole + first + length, after, last);
    check_row("%.*s", (int)length, text);
    if (naive_judge(whole, first + length + last, ERRMAP_MAX_DEPTH, &offset) == NAIVE_JSON)
        CHECK_EQUAL(ERRMAP_OK, errmap_parse(&map, whole, first + length + last, &entry, 1, NULL));
}

static void test_agreement(void)
{
    static const char *const pieces[] = {
        "[",       "]",  "{",   "}", ",", "\"a\":", "\"\"", "1", " ", "true", "\"\\u00e4\\\"\"",
        "-1.5e+3", "{}", "null"};
    const size_t count = CHECK_COUNT(pieces);
    size_t index[6] = {0};
    size_t i;
    do {
        char text[80] = "";
        for (i = 0; i < 6 - SHORTER; i++)
            strcat(text, pieces[index[i]]);
        agree(text, strlen(text));
        for (i = 0; i < 6 - SHORTER; i++) {
            index[i] = index[i] + 1 < count ? index[i] + 1 : 0;
            if (index[i] != 0)
                break;
        }
    } while (i < 6 - SHORTER);
}

int main(void)
{
    RUN(test_structure);
    RUN(test_syntax);
    RUN(test_inside_a_map);
    RUN(test_space);
    RUN(test_numbers);
    RUN(test_words);
    RUN(test_escapes);
    RUN(test_utf8);
    RUN(test_every_byte);
    RUN(test_string_lengths);
    RUN(test_space_lengths);
    RUN(test_depth);
    RUN(test_agreement);
    return check_done();
}
