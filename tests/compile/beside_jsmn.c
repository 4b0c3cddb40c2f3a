/* A user with a jsmn.h of his own, included BEFORE or AFTER errmap.h, with his own JSMN_ macros:
   whatever they are, they mean to his jsmn what they always did, and errmap.h parses as always.
   Built by test_beside_jsmn.sh, many times over; UNIT names the function that the program calls.
 */
#ifdef BEFORE
#include <jsmn.h>
#endif

#define RETRY_STATIC
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"

#if defined(BEFORE) != defined(JSMN_H)
#error "errmap.h changed JSMN_H."
#endif
#if defined(BEFORE) != defined(JSMN_API)
#error "errmap.h changed JSMN_API."
#endif
#if defined(WITH_STATIC) != defined(JSMN_STATIC)
#error "errmap.h changed JSMN_STATIC."
#endif
#if defined(WITH_STRICT) != defined(JSMN_STRICT)
#error "errmap.h changed JSMN_STRICT."
#endif
#if defined(WITH_PARENT_LINKS) != defined(JSMN_PARENT_LINKS)
#error "errmap.h changed JSMN_PARENT_LINKS."
#endif
#if defined(WITH_HEADER) != defined(JSMN_HEADER)
#error "errmap.h changed JSMN_HEADER."
#endif

#ifdef AFTER
#include <jsmn.h>
#endif

#ifdef __cplusplus
extern "C"
#endif
    int
    UNIT(void);

/* A map that needs jsmn strict and with parent links to be read right. */
static int parses(void)
{
    static const char text[] =
        "{\"version\":2,\"revision\":3,\"errors\":{\"1f\":{\"x\":[{\"a\":[1]}],"
        "\"name\":\"N\",\"attrs\":[\"auth\"],\"desc\":\"D\"}}}";
    errmap_entry entry;
    errmap map;
    if (errmap_parse(&map, text, sizeof text - 1, &entry, 1, NULL) != ERRMAP_OK)
        return 0;
    return entry.code == 0x1f && entry.attributes == ERRMAP_ATTR_AUTH && entry.desc.length == 1;
}

/* The user's jsmn has the layout and the strictness that his macros ask for. */
static int user_is_unharmed(void)
{
    jsmntok_t tokens[8];
    jsmn_parser parser;
#ifdef WITH_PARENT_LINKS
    const size_t words = 5;
#else
    const size_t words = 4;
#endif
    (void)tokens;
    (void)parser;
#if !defined(WITH_STATIC) || !defined(WITH_HEADER)
    jsmn_init(&parser);
    if (jsmn_parse(&parser, "{\"a\":[1]}", 9, tokens, 8) != 4)
        return 0;
    if (tokens[3].type != JSMN_PRIMITIVE || tokens[3].start != 6)
        return 0;
#ifdef WITH_PARENT_LINKS
    if (tokens[3].parent != 2)
        return 0;
#endif
    jsmn_init(&parser);
#ifdef WITH_STRICT
    if (jsmn_parse(&parser, "{a:1}", 5, tokens, 8) >= 0)
        return 0;
#else
    if (jsmn_parse(&parser, "{a:1}", 5, tokens, 8) < 0)
        return 0;
#endif
#endif
    return sizeof(jsmntok_t) == words * sizeof(int) && JSMN_ERROR_PART == -3;
}

int UNIT(void)
{
    return parses() && user_is_unharmed();
}

#ifdef WITH_MAIN
#ifdef __cplusplus
extern "C"
#endif
    int
    other_unit(void);

int main(void)
{
    return UNIT() && other_unit() ? 0 : 1;
}
#endif
