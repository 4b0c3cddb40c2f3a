/* Error maps for the tests: the ones in tests/data, found from the top folder, and ones
   made to measure. */
#ifndef ERRMAP_FIXTURE_H
#define ERRMAP_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define FIXTURE_API static __attribute__((unused))
#else
#define FIXTURE_API static
#endif

typedef struct fixture {
    char *text; /* exactly length bytes, so that reading past them is seen */
    size_t length;
} fixture;

FIXTURE_API void *fixture_allocate(size_t size)
{
    void *memory = calloc(size ? size : 1, 1); /* gcc -flto warns of an empty text's byte */
    if (!memory) {
        fputs("out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

FIXTURE_API fixture fixture_copy(const char *text, size_t length)
{
    fixture copy;
    copy.text = (char *)fixture_allocate(length);
    copy.length = length;
    if (length != 0)
        memcpy(copy.text, text, length);
    return copy;
}

/* Reads a whole file; ends the program with a sentence if it cannot. */
FIXTURE_API fixture fixture_load(const char *path)
{
    FILE *const file = fopen(path, "rb");
    char *buffer = NULL;
    size_t length = 0, capacity = 0;
    fixture loaded;
    if (!file) {
        fprintf(stderr, "%s: cannot be read; run this from the repository's top folder\n", path);
        exit(2);
    }
    do {
        if (length == capacity) {
            capacity = capacity * 2 + 4096;
            buffer = (char *)realloc(buffer, capacity);
            if (!buffer)
                exit(2);
        }
        length += fread(buffer + length, 1, capacity - length, file);
    } while (length == capacity);
    fclose(file);
    loaded = fixture_copy(buffer, length);
    free(buffer);
    return loaded;
}

FIXTURE_API void fixture_free(fixture f)
{
    free(f.text);
}

/* The same text with so many blanks on both sides of what stands between strings and primitives. A
   caret outside of strings, by which tests mark a place, stays right before what it marks. */
FIXTURE_API fixture fixture_spread(const char *text, size_t length, size_t blanks)
{
    static const char white[] =
        "\n      \t    \r       "; /* runs of spaces of odd and even length */
    char *const buffer = (char *)fixture_allocate((length + 1) * (2 * blanks + 1));
    bool string = false, caret = false;
    size_t end = 0, i, j;
    fixture spread;
    for (i = 0; i < length; i++) {
        const bool sign = !string && memchr("{}[]:,", text[i], 6) != NULL;
        if (text[i] == '^' && !string && !caret) {
            caret = true;
            continue;
        }
        for (j = 0; sign && j < blanks; j++)
            buffer[end++] = white[j % (sizeof white - 1)];
        if (caret)
            buffer[end++] = '^';
        caret = false;
        buffer[end++] = text[i];
        for (j = 0; sign && j < blanks; j++)
            buffer[end++] = white[j % (sizeof white - 1)];
        if (string && text[i] == '\\' && i + 1 < length)
            buffer[end++] = text[++i];
        else if (text[i] == '"')
            string = !string;
    }
    if (caret)
        buffer[end++] = '^';
    spread = fixture_copy(buffer, end);
    free(buffer);
    return spread;
}

/* The order in which a made map lists its codes. */
enum { FIXTURE_ASCENDING, FIXTURE_DESCENDING, FIXTURE_SHUFFLED, FIXTURE_ORDERS };

/* The i-th of count codes, which are spread over the whole range. 40503 is odd and near 65536 times
   the golden ratio, so its multiples meet every code once, far from their neighbours. */
FIXTURE_API uint32_t fixture_code(uint32_t i, uint32_t count, int order)
{
    const uint32_t step = UINT32_C(65536) / count;
    if (order == FIXTURE_DESCENDING)
        return (count - 1 - i) * step;
    if (order == FIXTURE_SHUFFLED)
        return (i * UINT32_C(40503)) & 0xffff;
    return i * step;
}

/* A map of count entries, 1 to 65536, that look like a server's. */
FIXTURE_API fixture fixture_make(uint32_t count, int order)
{
    const size_t capacity = 64 + (size_t)count * 128;
    char *const buffer = (char *)fixture_allocate(capacity);
    size_t length;
    uint32_t i;
    fixture made;
    length = (size_t)snprintf(buffer, capacity, "{\"version\":2,\"revision\":1,\"errors\":{");
    for (i = 0; i < count; i++) {
        const uint32_t code = fixture_code(i, count, order);
        length +=
            (size_t)snprintf(buffer + length, capacity - length,
                             "%s\"%lx\":{\"name\":\"MADE_%04lX\",\"desc\":\"The %lu. made entry\","
                             "\"attrs\":[\"item-only\",\"%s\"]}",
                             i ? "," : "", (unsigned long)code, (unsigned long)code,
                             (unsigned long)i, code & 1 ? "retry-now" : "invalid-input");
    }
    length += (size_t)snprintf(buffer + length, capacity - length, "}}");
    made = fixture_copy(buffer, length);
    free(buffer);
    return made;
}

#endif
