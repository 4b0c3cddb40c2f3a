/* Bare jsmn's part of bench_errmap_jsmn: the tokens and no more, neither checked nor read. Static,
   as compilers find better code for it then. */
#include "errmap_peer.h"

#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>

static jsmntok_t tokens[4096];

size_t bench_parse(const char *text, size_t length)
{
    jsmn_parser parser;
    jsmn_init(&parser);
    return jsmn_parse(&parser, text, length, tokens, 4096) > 0;
}
