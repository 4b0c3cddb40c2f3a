/* A second opinion on JSON for the tests of errmap.h: RFC 8259 read aloud, one function a rule, one
   byte at a time, recursive, and sharing nothing with what it judges. */
#ifndef ERRMAP_NAIVE_H
#define ERRMAP_NAIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct naive {
    const unsigned char *text;
    size_t length;
    size_t at;      /* where it stands, and where it stopped if the text is bad */
    unsigned depth; /* brackets open */
    unsigned deepest;
    bool too_deep;
} naive;

static bool naive_value(naive *n);

/* The next byte, or -1 at the end. */
static int naive_next(const naive *n)
{
    return n->at == n->length ? -1 : n->text[n->at];
}

static bool naive_take(naive *n, int low, int high)
{
    const int c = naive_next(n);
    if (c < low || c > high)
        return false;
    n->at++;
    return true;
}

static void naive_space(naive *n)
{
    while (naive_take(n, ' ', ' ') || naive_take(n, '\t', '\t') || naive_take(n, '\n', '\n') ||
           naive_take(n, '\r', '\r'))
        continue;
}

static bool naive_word(naive *n, const char *word)
{
    for (; *word; word++) {
        if (!naive_take(n, *word, *word))
            return false;
    }
    return true;
}

static bool naive_hex(naive *n)
{
    return naive_take(n, '0', '9') || naive_take(n, 'a', 'f') || naive_take(n, 'A', 'F');
}

/* Behind \u: the units of UTF-16 spelt out as the three kinds of beginnings that they have. */
static bool naive_unit(naive *n)
{
    if (naive_take(n, 'd', 'd') || naive_take(n, 'D', 'D')) {
        if (naive_take(n, '0', '7'))
            return naive_hex(n) && naive_hex(n);
        if (naive_take(n, '8', '9') || naive_take(n, 'a', 'b') || naive_take(n, 'A', 'B'))
            return naive_hex(n) && naive_hex(n) && naive_word(n, "\\u") &&
                   (naive_take(n, 'd', 'd') || naive_take(n, 'D', 'D')) &&
                   (naive_take(n, 'c', 'f') || naive_take(n, 'C', 'F')) && naive_hex(n) &&
                   naive_hex(n);
        return false;
    }
    return naive_hex(n) && naive_hex(n) && naive_hex(n) && naive_hex(n);
}

static bool naive_escape(naive *n)
{
    const char *letter;
    for (letter = "\"\\/bfnrt"; *letter; letter++) {
        if (naive_take(n, *letter, *letter))
            return true;
    }
    return naive_take(n, 'u', 'u') && naive_unit(n);
}

/* The rows of the syntax of UTF-8 in RFC 3629. */
static bool naive_utf8(naive *n)
{
    static const struct {
        int lead_low, lead_high, second_low, second_high, more;
    } rows[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 0}, {0xe0, 0xe0, 0xa0, 0xbf, 1}, {0xe1, 0xec, 0x80, 0xbf, 1},
        {0xed, 0xed, 0x80, 0x9f, 1}, {0xee, 0xef, 0x80, 0xbf, 1}, {0xf0, 0xf0, 0x90, 0xbf, 2},
        {0xf1, 0xf3, 0x80, 0xbf, 2}, {0xf4, 0xf4, 0x80, 0x8f, 2},
    };
    size_t row;
    for (row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        int more = rows[row].more;
        if (!naive_take(n, rows[row].lead_low, rows[row].lead_high))
            continue;
        if (!naive_take(n, rows[row].second_low, rows[row].second_high))
            return false;
        while (more > 0 && naive_take(n, 0x80, 0xbf))
            more--;
        return more == 0;
    }
    return false;
}

static bool naive_string(naive *n)
{
    if (!naive_take(n, '"', '"'))
        return false;
    while (!naive_take(n, '"', '"')) {
        if (naive_take(n, '\\', '\\')) {
            if (!naive_escape(n))
                return false;
        } else if (!naive_take(n, 0x20, 0x7f) && !naive_utf8(n)) {
            return false;
        }
    }
    return true;
}

static bool naive_digits(naive *n)
{
    if (!naive_take(n, '0', '9'))
        return false;
    while (naive_take(n, '0', '9'))
        continue;
    return true;
}

static bool naive_number(naive *n)
{
    naive_take(n, '-', '-');
    if (!naive_take(n, '0', '0') && !naive_digits(n))
        return false;
    if (naive_take(n, '.', '.') && !naive_digits(n))
        return false;
    if (!naive_take(n, 'e', 'e') && !naive_take(n, 'E', 'E'))
        return true;
    if (!naive_take(n, '+', '+'))
        naive_take(n, '-', '-');
    return naive_digits(n);
}

static bool naive_member(naive *n, bool keyed)
{
    if (keyed) {
        naive_space(n);
        if (!naive_string(n))
            return false;
        naive_space(n);
        if (!naive_take(n, ':', ':'))
            return false;
    }
    return naive_value(n);
}

static bool naive_members(naive *n, int closing)
{
    naive_space(n);
    if (naive_take(n, closing, closing))
        return true;
    for (;;) {
        if (!naive_member(n, closing == '}'))
            return false;
        naive_space(n);
        if (naive_take(n, closing, closing))
            return true;
        if (!naive_take(n, ',', ','))
            return false;
    }
}

static bool naive_container(naive *n, int closing)
{
    bool good;
    if (n->depth == n->deepest) {
        n->too_deep = true;
        return false;
    }
    n->depth++;
    n->at++;
    good = naive_members(n, closing);
    n->depth--;
    return good;
}

static bool naive_value(naive *n)
{
    naive_space(n);
    switch (naive_next(n)) {
    case '{':
        return naive_container(n, '}');
    case '[':
        return naive_container(n, ']');
    case '"':
        return naive_string(n);
    case 't':
        return naive_word(n, "true");
    case 'f':
        return naive_word(n, "false");
    case 'n':
        return naive_word(n, "null");
    default:
        return naive_number(n);
    }
}

typedef enum naive_verdict { NAIVE_JSON, NAIVE_CORRUPT, NAIVE_TOO_DEEP } naive_verdict;

/* Judges a text; *offset is the byte at fault, or the length. */
static naive_verdict naive_judge(const char *text, size_t length, unsigned deepest, size_t *offset)
{
    naive n;
    bool good;
    memset(&n, 0, sizeof n);
    n.text = (const unsigned char *)text;
    n.length = length;
    n.deepest = deepest;
    good = naive_value(&n);
    if (good)
        naive_space(&n);
    *offset = n.at;
    if (good && n.at == length)
        return NAIVE_JSON;
    return n.too_deep ? NAIVE_TOO_DEEP : NAIVE_CORRUPT;
}

#endif
