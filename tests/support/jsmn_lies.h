/* jsmn with a count that may be wrong, as that of another version might be: for ERRMAP_JSMN_HEADER.
 */
#ifndef JSMN_LIES_H
#define JSMN_LIES_H

#include <jsmn.h>

/* Added to the number of tokens. Weak, as the implementation may be in another file. */
__attribute__((weak)) int jsmn_lie;

static int jsmn_parse_and_lie(jsmn_parser *parser, const char *text, size_t length,
                              jsmntok_t *tokens, unsigned count)
{
    const int told = jsmn_parse(parser, text, length, tokens, count);
    return told < 0 ? told : told + jsmn_lie;
}

/* What follows calls jsmn_parse by the name that errmap.h gave it. */
#define errmap__jsmn_parse jsmn_parse_and_lie

#endif
