/* errmap.h - judges what a Couchbase server answers: statuses, the error map, not-my-vbucket.
   SPDX-License-Identifier: MIT

   Version 5.0.0. C99 and later, C++11 and later. Needs retry.h, and jsmn.h of jsmn 1.1.0. No heap,
   no globals. The licence's text is at the end of this file.

   errmap.h turns what a Couchbase server answers into a retry_failure, and retry.h decides. It
   knows the status codes that existed when it was written. For newer ones a server can send an
   error map: a JSON text that names all of its codes and says which are worth a retry. errmap.h
   asks for that text, checks it, and makes a table of it. When a node no longer has an operation's
   vbucket, errmap.h says where to send the operation next.

   CONTENTS
      Quick start | Options | Statuses and services | Asking a server | Parsing |
      What is an error map | What a map adds | The server's own intervals | Not my vbucket |
      Threads, nodes, firmware | Caveats and trouble | Sources, stability

   QUICK START
   Define RETRY_IMPLEMENTATION in ONE C or C++ file before you include this one; it compiles retry.h
   there too. This program parses a map with one code. The first answer to its operation has that
   code, and the operation is tried again.

      #define _POSIX_C_SOURCE 200809L
      #define RETRY_IMPLEMENTATION
      #define RETRY_SYSTEM_CLOCK
      #include "errmap.h"
      #include <stdio.h>

      static const char json[] = "{\"version\":2,\"revision\":1,\"errors\":{\"7f\":{"
                                 "\"name\":\"BUSY\",\"attrs\":[\"temp\",\"retry-later\"]}}}";
      static errmap map; // of a node

      static bool attempt(void *context, const retry_operation *op, const retry_step *step,
                          retry_failure *failure)
      {
          uint16_t status = op->retries == 0 ? 0x7f : 0; // your call: a SET, 0x01
          errmap_advice advice = errmap_classify_kv(&map, status, 0x01);
          (void)context, (void)step;
          *failure = advice.failure;
          return status == 0 || advice.success;
      }

      int main(void)
      {
          static errmap_entry entries[128];
          static retry_service service;
          static retry_operation op;
          retry_clock clock = retry_system_clock();
          errmap_error error; // error.offset is where a text is wrong
          errmap_status status = errmap_parse(&map, json, sizeof json - 1, entries, 128, &error);
          service.client.cut_after = 1000; // ms; see retry.h for clients and budgets
          retry_service_init(&service, clock.now(clock.context));
          op.timeout = 2500; // ms
          op.idempotent = errmap_idempotent_kv(0x01);
          retry_step end = retry_run(&op, &service, &clock, attempt, NULL);
          printf("%s: %s, retries: %u\n", errmap_status_text(status),
                 retry_verdict_name(end.verdict), (unsigned)op.retries);
          return 0;
      }

   It prints:

      the map is valid: SUCCESS, retries: 1

   OPTIONS
      macro                  default      set it        what it does
      ---------------------  -----------  ------------  ------------------------------------------
      RETRY_IMPLEMENTATION   not defined  in one file   compiles retry.h and errmap.h
      ERRMAP_IMPLEMENTATION  not defined  in one file   compiles errmap.h; another has retry.h's
      ERRMAP_TOKENS          64           in that file  jsmn tokens for an entry, 8 to 4096
      ERRMAP_MAX_DEPTH       32           in that file  brackets open at once, 4 to 255
      ERRMAP_JSMN_HEADER     <jsmn.h>     in that file  the jsmn header, in quotes or brackets

   A token takes 20 bytes of stack, a bracket one. RETRY_STATIC and RETRY_API hold here too. Set
   options before you first include this file. Your own use of jsmn.h is not affected, in whatever
   order and with whatever JSMN_ macros you include it.

   STATUSES AND SERVICES
   These judge a response as RFC 0049 says, and tell which operations may be repeated:

      advice = errmap_classify_kv(NULL, 0x86, opcode); // advice.failure; NULL: there is no map
      failure = errmap_classify_query(code, message, length, retry_flag);
      failure = errmap_classify_analytics(code);
      failure = errmap_classify_search(http_status);
      failure = errmap_classify_views(http_status, body, length);
      op->retry.idempotent = errmap_idempotent_kv(opcode);
      op->retry.idempotent = errmap_idempotent_service(ERRMAP_SERVICE_QUERY, read_only);

   If no response came, use retry.h's retry_classify_stage or retry_classify_errno.

   ASKING A SERVER
   Right after connecting, send what errmap_write_hello writes: it asks for XERROR, the feature that
   allows a server to send codes of its map. If errmap_read_hello says that XERROR is granted, send
   what errmap_write_get writes. Then errmap_read_get finds the map's text in the response, and
   errmap_parse reads it. If the map is not valid, connect again without XERROR.

   PARSING
   errmap_parse accepts what RFC 8259 allows, in correct UTF-8, and nothing else. It nests no deeper
   than ERRMAP_MAX_DEPTH. Memory does not grow with the map, and time grows with its length alone.

   The entries and the text are yours, and must live as long as the map. Names and descriptions stay
   in the text as they are; errmap_copy_text unescapes them. After an error *map is unchanged, but
   entries may have been written: never parse into the entries of a map that is in use. With entries
   NULL and capacity 0, error.needed tells how many there are. Today's servers send 38 to 83.

   WHAT IS AN ERROR MAP
   - An object with "version" and "revision" (0 to 4294967295) and an object "errors", in any order.
     A key of "errors" is a code in 1 to 4 hexadecimal digits. No code comes twice.
   - In an entry "name" and "desc" are strings, and "attrs" is an array of strings. Each may be
     absent. An attribute that this file does not know is ignored.
   - A specification says how long to wait: "strategy", a string, and the numbers "after",
     "interval", "ceil" and "max-duration". These members are in an object "retry" or in the entry
     itself. A specification counts only if its strategy is constant, linear or exponential, and its
     interval above 0.
   - Numbers are digits only. In a specification a number that is too large counts as UINT32_MAX.
   - A specification with a value of another kind ("ceil": null, 2.5, -1) makes no sense. Its entry
     then has none, and the rest of the map stays.
   - Each other member named here must have the type given. No member named here may come twice. All
     names may be spelt with escapes. Members that are not named here are skipped.

   WHAT A MAP ADDS
   errmap_classify_kv judges a status that it knows by RFC 0049, and all others by the map. The
   attributes retry-now, retry-later and auto-retry permit a retry of every operation, unless
   no-retry is there too. The attribute temp alone does not. Hand advice.failure to retry.h, and do
   what the flags of errmap_advice say, whatever the status: refresh_config, reconnect,
   authentication, special. If `success` is true, the operation has worked: report no failure.

   errmap_newer chooses one of two maps of a node: the one of the higher version, and the one of the
   higher revision if both have the same version. Each version counts its revisions anew:
   kv_engine's map of version 2 began at revision 1. Only the higher version has the newer
   attributes, such as rate-limit. So version 2, revision 1 is chosen over version 1, revision 5.
   kv_engine's own page (docs/ErrorMap.md) says otherwise: there the higher revision is better,
   whatever the version.

   THE SERVER'S OWN INTERVALS
   Normally your policy says how long to wait. To wait as the server's specification says instead:

      static errmap_strategy strategy = ERRMAP_STRATEGY(NULL, NULL); // its map, its fallback
      strategy.map = &map;
      service.client.strategy = &strategy.base; // before retry_service_init

   Codes without a specification go to the fallback, which is retry_best_effort() if it is NULL. An
   exponential delay is interval ^ retries. `ceil` limits it and the linear one, but not `after`.

   NOT MY VBUCKET
   A vbucket is the part of a bucket that a key is in. A node that no longer has it answers with
   status 0x07. errmap_nmv says in which of the bucket's maps to look for the node next, the current
   or the fast-forward map, and when:

      errmap_nmv_begin(&nmv, revision);                             // with the operation
      step = errmap_nmv_rejected(&nmv, revision, has_fast_forward); // 0x07: step.map, step.delay
      step = errmap_nmv_config(&nmv, revision);                     // a map came during the wait

   To let retry.h wait for step.delay, set failure.pushback to true, and failure.retry_after to
   step.delay.

   THREADS, NODES, FIRMWARE
   Each node has a map of its own: keep one errmap and one errmap_strategy for each node. A parsed
   map is constant and needs no lock. To replace it, parse the new one into other entries, let
   errmap_newer choose, and set strategy.map while no thread decides.

   Parsing and finding take 4.2 KiB of Cortex-M0 flash (`make size`), all of this file 6.7 KiB, jsmn
   included. An entry takes 44 bytes of RAM. Parsing takes at most 2 KB of stack with the default
   options. Nothing divides, recurses or uses floating point. A map that never changes can live in
   flash: examples/errmap_dump.c writes one as C.

   CAVEATS AND TROUBLE
   - errmap_write_hello asks for XERROR alone. Write your own HELLO if you need other features.
   - Macros of your own that are named as something of jsmn's is (jsmn_init, JSMN_OBJECT) are lost.
   - A map made by hand must have its entries in ascending order, each code once.
   - "jsmn.h: No such file": install libjsmn-dev, or copy jsmn.h beside this file and define
     ERRMAP_JSMN_HEADER as "jsmn.h".
   - "undefined reference to errmap_parse": one file includes errmap.h with RETRY_IMPLEMENTATION. If
     retry.h's is in another file already, define ERRMAP_IMPLEMENTATION instead.
   - ERRMAP_E_CAPACITY: hand in error.needed entries. ERRMAP_E_TOKENS: raise ERRMAP_TOKENS. For
     others examples/errmap_dump.c shows the line and column at which the map is wrong.

   SOURCES, STABILITY
   Couchbase SDK RFC 0049 (retry handling), RFC 0013 (the error map), RFC 0069 (its version 2) and
   RFC 0005 (not-my-vbucket); memcached's binary protocol; RFC 8259 (JSON); RFC 3629 (UTF-8). Where
   RFC 0013's text and its code disagree, the text holds. By RFC 0049 and 0069 only a client without
   a strategy of its own uses the server's intervals. What retry.h promises until 6.0 holds here,
   too. */

#include "retry.h" /* before the guard: it may hold retry.h's implementation */

#ifndef ERRMAP_H
#define ERRMAP_H

#define ERRMAP_VERSION_MAJOR 5
#define ERRMAP_VERSION_MINOR 0
#define ERRMAP_VERSION_PATCH 0
#define ERRMAP_VERSION \
    (ERRMAP_VERSION_MAJOR * UINT32_C(10000) + ERRMAP_VERSION_MINOR * 100 + ERRMAP_VERSION_PATCH)

#if RETRY_VERSION_MAJOR != ERRMAP_VERSION_MAJOR
#error "errmap.h and retry.h must come from the same major version."
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Negotiation --------------------------------------------------------------------------- */

/* Writes a HELLO packet that asks for XERROR: the permission for the server to send codes that only
   its error map explains. `name` (`length` bytes) tells the server who asks. `opaque` comes back in
   the response. Returns the bytes needed, 26 + length. Writes nothing if these are more than
   `capacity`, or packet is NULL. Returns 0 if the name is too long (over 65535 bytes; 65509 where
   size_t has 16 bits), or NULL with a length. */
RETRY_API size_t errmap_write_hello(uint8_t *packet, size_t capacity, const char *name,
                                    size_t length, uint32_t opaque);

/* Reads the response to HELLO, and sets *xerror to whether the server granted XERROR. Returns false
   and leaves *xerror alone if the packet is cut off, malformed, unsuccessful or not a response to
   HELLO. */
RETRY_API bool errmap_read_hello(const uint8_t *packet, size_t length, bool *xerror);

/* Writes a GET_ERROR_MAP packet, which asks for a map of at most `version` (1 or 2). Returns the
   bytes needed, 26. Writes nothing if these are more than `capacity`, or packet is NULL. */
RETRY_API size_t errmap_write_get(uint8_t *packet, size_t capacity, uint16_t version,
                                  uint32_t opaque);

/* Reads the response to GET_ERROR_MAP, and sets *json and *json_length to the text inside the
   packet. Returns false and leaves both alone if the packet is cut off, malformed, unsuccessful
   (the server has no map) or not a response to GET_ERROR_MAP. */
RETRY_API bool errmap_read_get(const uint8_t *packet, size_t length, const char **json,
                               size_t *json_length);

/* ---- Attributes ---------------------------------------------------------------------------- */

/* What a map may say of a code: X(name, text as in the map). errmap_advise obeys some of them; the
   others are for your program. */
#define ERRMAP_ATTRIBUTES(X)                            \
    X(ITEM_ONLY, "item-only")                           \
    X(INVALID_INPUT, "invalid-input")                   \
    X(FETCH_CONFIG, "fetch-config")                     \
    X(CONN_STATE_INVALIDATED, "conn-state-invalidated") \
    X(AUTH, "auth")                                     \
    X(SPECIAL_HANDLING, "special-handling")             \
    X(SUPPORT, "support")                               \
    X(TEMP, "temp")                                     \
    X(INTERNAL, "internal")                             \
    X(RETRY_NOW, "retry-now")                           \
    X(RETRY_LATER, "retry-later")                       \
    X(SUBDOC, "subdoc")                                 \
    X(DCP, "dcp")                                       \
    X(AUTO_RETRY, "auto-retry")                         \
    X(ITEM_LOCKED, "item-locked")                       \
    X(ITEM_DELETED, "item-deleted")                     \
    X(RATE_LIMIT, "rate-limit")                         \
    X(NO_RETRY, "no-retry")                             \
    X(SYSTEM_CONSTRAINT, "system-constraint")           \
    X(SUCCESS, "success")

enum {
#define ERRMAP__X(name, text) ERRMAP__BIT_##name,
    ERRMAP_ATTRIBUTES(ERRMAP__X) ERRMAP_ATTRIBUTE_COUNT
#undef ERRMAP__X
};

/* One bit for each. Not all fit an int of 16 bits; gcc takes them, and would warn. */
#ifdef __GNUC__
__extension__ enum {
#else
enum {
#endif
#define ERRMAP__X(name, text) ERRMAP_ATTR_##name = 1L << ERRMAP__BIT_##name,
    ERRMAP_ATTRIBUTES(ERRMAP__X) ERRMAP_ATTR_ALL = (1L << ERRMAP_ATTRIBUTE_COUNT) - 1
#undef ERRMAP__X
};

/* Returns the attribute's text as in the map; "" unless `bit` is exactly one ERRMAP_ATTR_x. */
RETRY_API const char *errmap_attribute_name(uint32_t bit);

/* ---- The map ------------------------------------------------------------------------------- */

/* A string in the map's text, as it stands between its quotes. Both are 0 if it is absent. */
typedef struct errmap_text {
    uint32_t offset; /* bytes from the start of the JSON */
    uint32_t length; /* bytes */
} errmap_text;

/* How the delays of a specification grow: X(name, text as in the map). ERRMAP_SPEC_NONE means that
   there is no specification, or one with an unknown strategy or an interval of 0. */
#define ERRMAP_SPECS(X)                                                \
    X(CONSTANT, "constant")       /* interval */                       \
    X(LINEAR, "linear")           /* interval * retries, up to ceil */ \
    X(EXPONENTIAL, "exponential") /* interval ^ retries, up to ceil */

enum {
    ERRMAP_SPEC_NONE,
#define ERRMAP__X(name, text) ERRMAP_SPEC_##name,
    ERRMAP_SPECS(ERRMAP__X) ERRMAP_SPEC_COUNT
#undef ERRMAP__X
};

/* What the map says of one code. */
typedef struct errmap_entry {
    uint16_t code;         /* the status that the entry is about */
    uint8_t strategy;      /* ERRMAP_SPEC_x (default: NONE: the four times are 0) */
    uint32_t attributes;   /* ERRMAP_ATTR_x bits; unknown attributes have none (default: 0) */
    errmap_text name;      /* (default: absent) */
    errmap_text desc;      /* (default: absent) */
    retry_ms after;        /* ms before the first retry (default: 0) */
    retry_ms interval;     /* ms between retries, as the strategy says (default: 0: no strategy) */
    retry_ms ceil;         /* ms; the longest growing delay (default: 0: no cap) */
    retry_ms max_duration; /* ms of retrying in all (default: 0: the client's own limit) */
    uint32_t key;          /* offset of the entry's key in the JSON, at its opening quote */
} errmap_entry;

/* A parsed map. Nothing changes it afterwards, so threads may read it without a lock. */
typedef struct errmap {
    const char *json;            /* the text, which the map's texts point into */
    uint32_t length;             /* bytes of json */
    const errmap_entry *entries; /* ascending by code */
    uint32_t count;              /* entries */
    uint32_t version;            /* of the format, as the server wrote it */
    uint32_t revision;           /* of the contents; the higher is the newer */
} errmap;

/* ---- Parsing ------------------------------------------------------------------------------- */

/* How parsing ended: X(name, text). errmap_parse has the details. */
#define ERRMAP_STATUSES(X)                        \
    X(OK, "the map is valid")                     \
    X(E_ARGUMENT, "a pointer must not be NULL")   \
    X(E_SIZE, "the text is over INT_MAX bytes")   \
    X(E_CORRUPT, "the text is not JSON in UTF-8") \
    X(E_DEPTH, "the text is nested too deep")     \
    X(E_SCHEMA, "the text is no error map")       \
    X(E_TOKENS, "an entry holds too many values") \
    X(E_CAPACITY, "the map has too many entries")

typedef uint8_t errmap_status;

enum {
#define ERRMAP__X(name, text) ERRMAP_##name,
    ERRMAP_STATUSES(ERRMAP__X) ERRMAP_STATUS_COUNT
#undef ERRMAP__X
};

/* Where a text is wrong, and how many entries it needs. */
typedef struct errmap_error {
    size_t offset;   /* bytes from the start of the text to what errmap_parse names */
    uint32_t needed; /* entries in the map after OK and E_CAPACITY, else 0 */
} errmap_error;

/* Parses `length` bytes of JSON (no terminator needed) into entries[0 .. capacity - 1], sorted by
   code, and sets *map. The text and the entries must live as long as the map. Returns ERRMAP_OK, or
   the first of these. Then *map is unchanged, but entries may have been overwritten.

     status      when                                           error->offset
     ----------  ---------------------------------------------  -----------------------------------
     E_ARGUMENT  map is NULL, json is NULL with a length, or    0
                 entries is NULL with a capacity
     E_SIZE      length is over INT_MAX                         0
     E_CORRUPT   not RFC 8259, ill-formed UTF-8, half a         the first byte that no valid text
                 surrogate pair, a byte-order mark, anything    could have there; length if the
                 after the value                                text is cut off
     E_DEPTH     deeper than ERRMAP_MAX_DEPTH; the outermost    the bracket
                 bracket is 1
     E_SCHEMA    JSON, but no error map: the opening comment    the value, or the bad or repeated
                 has the rules                                  key, at its opening quote; for a
                                                                missing key the closing brace
     E_TOKENS    an entry needs more than ERRMAP_TOKENS jsmn    the entry's brace
                 tokens, its own and unknown values included
     E_CAPACITY  more than `capacity` entries; error->needed    0
                 says how many
     E_SCHEMA    the same code twice                            the second one's key

   If a text has both E_CORRUPT and E_DEPTH, the one that comes first in the text is returned; so it
   is with the first E_SCHEMA and E_TOKENS. `error` may be NULL. With entries NULL and capacity 0,
   error->needed tells how many entries there are. The time grows with the length alone. Source: RFC
   0013. */
RETRY_API errmap_status errmap_parse(errmap *map, const char *json, size_t length,
                                     errmap_entry *entries, uint32_t capacity, errmap_error *error);

/* Returns the status as a short sentence; "invalid status" for a number that is none. */
RETRY_API const char *errmap_status_text(errmap_status status);

/* Returns which of two maps to keep: the one of the higher version; if these are equal, of the
   higher revision; if these are equal too, `a`. NULL loses. */
RETRY_API const errmap *errmap_newer(const errmap *a, const errmap *b);

/* ---- Looking up ---------------------------------------------------------------------------- */

/* Returns the entry of a status; NULL if the map is NULL or has no such entry. */
RETRY_API const errmap_entry *errmap_find(const errmap *map, uint32_t status);

/* Copies a text into buffer, unescaped, as UTF-8. If it does not fit, it is cut after a whole
   character. It is always terminated, unless capacity is 0. Returns the length of the whole text
   without the terminator. A text that is not inside the map counts as empty, as does any of a NULL
   map. */
RETRY_API size_t errmap_copy_text(const errmap *map, errmap_text text, char *buffer,
                                  size_t capacity);

/* ---- Advice -------------------------------------------------------------------------------- */

/* What a client should do about a status. */
typedef struct errmap_advice {
    retry_failure failure;     /* for retry_ended */
    const errmap_entry *entry; /* what the map has (default: NULL: nothing) */
    bool refresh_config;       /* fetch the cluster's configuration (default: false) */
    bool reconnect;            /* drop this connection and open another (default: false) */
    bool authentication;       /* the credentials are at fault (default: false) */
    bool special;              /* needs code written for it; without, reconnect (default: false) */
    bool success;              /* it has worked: there is no failure to decide (default: false) */
} errmap_advice;

/* Returns what the map alone says about a status. With the attribute retry-now, retry-later or
   auto-retry, and without no-retry, the reason is RETRY_REASON_KV_ERROR_MAP_RETRY_INDICATED: every
   operation may be retried. Else it is RETRY_REASON_NONE: none may be. These attributes set fields:

     rate-limit              failure.throttle
     fetch-config            refresh_config
     conn-state-invalidated  reconnect
     auth                    authentication
     special-handling        special and reconnect
     success                 success

   If the map is NULL or does not have the status, failure.unknown is true, and all else but the
   code is zero. Source: RFC 0013. */
RETRY_API errmap_advice errmap_advise(const errmap *map, uint32_t status);

/* Judges the response to a memcached operation. `map` may be NULL. These statuses are retried:

     0x07  KV_NOT_MY_VBUCKET                   0x88  KV_COLLECTION_OUTDATED (but CollectionsGetID)
     0x09  KV_LOCKED (but UnlockKey)           0xa2  KV_SYNC_WRITE_IN_PROGRESS
     0x86  KV_TEMPORARY_FAILURE                0xa4  KV_SYNC_WRITE_RE_COMMIT_IN_PROGRESS

   They are not retried if the operation is one of DCP's. These never are: 0x00 to 0x06, 0x08, 0x20
   to 0x25, 0x80, 0x81, 0x83, 0x84, 0xa0, 0xa1, 0xa3 and 0xc0 to 0xd8. To all of these the map adds
   its entry and the flags, as by errmap_advise. But `special` alone is no reason to reconnect here:
   a client knows these statuses (0xcc is a lookup of which a part failed). The map judges all other
   statuses. Sources: RFC 0049, RFC 0013. */
RETRY_API errmap_advice errmap_classify_kv(const errmap *map, uint16_t status, uint8_t opcode);

/* Whether a memcached opcode is idempotent. Source: RFC 0049. */
RETRY_API bool errmap_idempotent_kv(uint8_t opcode);

/* ---- The other services -------------------------------------------------------------------- */

/* A query error: its code, message (`length` bytes) and the server's own `retry` flag. Source, for
   this and the next four: RFC 0049. */
RETRY_API retry_failure errmap_classify_query(uint32_t code, const char *message, size_t length,
                                              bool retry_flag);

/* An analytics error code. */
RETRY_API retry_failure errmap_classify_analytics(uint32_t code);

/* A search response. Only RFC 0049's list is retried. */
RETRY_API retry_failure errmap_classify_search(int http_status);

/* A views response with its body (`length` bytes). Only RFC 0049's list is retried. */
RETRY_API retry_failure errmap_classify_views(int http_status, const char *body, size_t length);

enum {
    ERRMAP_SERVICE_KV,
    ERRMAP_SERVICE_QUERY,
    ERRMAP_SERVICE_ANALYTICS,
    ERRMAP_SERVICE_SEARCH,
    ERRMAP_SERVICE_VIEWS,
    ERRMAP_SERVICE_MANAGEMENT
};

/* Whether an operation of a service (ERRMAP_SERVICE_x) is idempotent. Those of search and views
   always are; those of query, analytics and management if they are read-only. Those of KV never are
   here: ask errmap_idempotent_kv. Other services' never are. */
RETRY_API bool errmap_idempotent_service(uint8_t service, bool read_only);

/* ---- The server's own intervals ------------------------------------------------------------ */

/* Returns the delay in ms that an entry's specification wants after `retries` retries. For 0 that
   is `after`. For n from 1 on it is interval, interval * n or interval ^ n, by its strategy; `ceil`
   limits the last two, and it is at least 1 ms. Saturates. 0 for NULL and for an entry without a
   specification. Source: RFC 0013's prose. */
RETRY_API retry_ms errmap_spec_delay(const errmap_entry *entry, uint32_t retries);

/* A strategy that waits as the server's specifications say; one for each node, as maps are. Set it
   up with ERRMAP_STRATEGY. */
typedef struct errmap_strategy {
    retry_strategy base;            /* { errmap_strategy_after } (no default) */
    const errmap *map;              /* (default: NULL: no specification, ask the fallback) */
    const retry_strategy *fallback; /* (default: NULL: retry_best_effort()) */
} errmap_strategy;

/* The function of an errmap_strategy. Answers the first of these that fits:
   - The operation may not be repeated: no retry, RETRY_CAUSE_NOT_IDEMPOTENT.
   - The map permits the retry, and the entry has a specification: its delay, counted since the code
     last changed. If the retry would begin max_duration or more after that: no retry,
     RETRY_CAUSE_MAX_DURATION.
   - Else what the fallback answers. NULL, and a fallback without a function: RETRY_CAUSE_MISUSE. */
RETRY_API retry_action errmap_strategy_after(const retry_strategy *self, const retry_operation *op,
                                             const retry_failure *failure, retry_time now);

/* Initialiser. Both may be NULL. The map may be replaced while no operation is being decided. */
#define ERRMAP_STRATEGY(map, fallback)         \
    {                                          \
        {errmap_strategy_after}, map, fallback \
    }

/* ---- Not-my-vbucket ------------------------------------------------------------------------ */

enum { ERRMAP_MAP_CURRENT, ERRMAP_MAP_FAST_FORWARD };

typedef struct errmap_nmv_step {
    uint8_t map;    /* ERRMAP_MAP_x to look the vbucket up in (default: CURRENT) */
    retry_ms delay; /* ms to wait before that (default: 0) */
} errmap_nmv_step;

/* One operation's way through the bucket's maps. To let retry.h wait for a step's delay, set the
   failure's `pushback` to true, and its `retry_after` to that delay. Otherwise retry.h waits as it
   does after any reason that is always retried. Source: RFC 0005. */
typedef struct errmap_nmv {
    retry_ms interval;            /* ms between attempts on the same map (default: 0: 100 ms) */
    errmap_nmv_step errmap__step; /* private: the step under way */
    uint64_t errmap__revision;    /* private: of the current map, as last told */
    bool errmap__waiting;         /* private: the step under way is a wait */
    uint8_t errmap__newer;        /* private: newer maps in a row; stays at 255 */
} errmap_nmv;

/* Starts with the current map at `revision`. NULL: nothing happens. */
RETRY_API void errmap_nmv_begin(errmap_nmv *nmv, uint64_t revision);

/* Call this when the node that the last step's map names answers not-my-vbucket. `revision` is the
   newest that is known. Returns the first step of these that fits:
   - The revision is newer than before: the current map at once. But a server may show a newer one
   each time: after five in a row, without an `interval` between them, they are looked up after 1,
   10, 50, 100, 500, 1000, 1000 ... ms.
   - The bucket has a fast-forward map: that at once if the last step was the current map, else
     after `interval`.
   - The current map after `interval`.
   NULL: the current map at once. */
RETRY_API errmap_nmv_step errmap_nmv_rejected(errmap_nmv *nmv, uint64_t revision,
                                              bool has_fast_forward);

/* Call this when a map comes during a step's delay; once the operation is sent again it is too
   late. If the revision is newer, returns the current map, as after a rejection. Otherwise, or when
   nothing waits, nothing changes, and the step under way is returned. NULL: the current map at
   once. */
RETRY_API errmap_nmv_step errmap_nmv_config(errmap_nmv *nmv, uint64_t revision);

#ifdef __cplusplus
}
#endif

#endif /* ERRMAP_H */

/* ============================================================================================ */
#if (defined(RETRY_IMPLEMENTATION) || defined(ERRMAP_IMPLEMENTATION)) && \
    !defined(ERRMAP_IMPLEMENTED)
#define ERRMAP_IMPLEMENTED

#if defined(ERRMAP_IMPLEMENTATION) && (ERRMAP_IMPLEMENTATION + 0) != 1 && \
    ((ERRMAP_IMPLEMENTATION + 0) != 0 || (1 - ERRMAP_IMPLEMENTATION - 1) != 2)
#error "ERRMAP_IMPLEMENTATION is a switch: define it as nothing or as 1, or leave it undefined."
#endif
#if defined(RETRY_STATIC) && !defined(RETRY_IMPLEMENTED)
#error "Define RETRY_STATIC and RETRY_IMPLEMENTATION before the first inclusion of errmap.h."
#endif

#ifndef ERRMAP_TOKENS
#define ERRMAP_TOKENS 64
#endif
#if (ERRMAP_TOKENS + 0) < 8 || (ERRMAP_TOKENS + 0) > 4096
#error "ERRMAP_TOKENS must be a number from 8 to 4096: the jsmn tokens that one entry may need."
#undef ERRMAP_TOKENS /* no further errors */
#define ERRMAP_TOKENS 64
#endif

#ifndef ERRMAP_MAX_DEPTH
#define ERRMAP_MAX_DEPTH 32
#endif
#if (ERRMAP_MAX_DEPTH + 0) < 4 || (ERRMAP_MAX_DEPTH + 0) > 255
#error "ERRMAP_MAX_DEPTH must be a number from 4 to 255: a map alone is nested 4 deep."
#undef ERRMAP_MAX_DEPTH
#define ERRMAP_MAX_DEPTH 32
#endif

#include <limits.h>
#include <string.h>

/* Unsigned arithmetic that wraps on purpose; clang's integer sanitizer stops at any other. */
#if defined(__clang__)
#define ERRMAP__WRAPS __attribute__((no_sanitize("integer")))
#else
#define ERRMAP__WRAPS
#endif

/* What compilers would put in line. APART keeps the registers of the code around it free, RARE
   seldom runs. */
#if defined(__GNUC__)
#define ERRMAP__APART __attribute__((noinline))
#define ERRMAP__RARE __attribute__((noinline, cold))
#else
#define ERRMAP__APART
#define ERRMAP__RARE
#endif

/* ---- jsmn ---------------------------------------------------------------------------------- */

/* The first include of jsmn.h decides its token's layout and its linkage for all that follow. So
   this copy has names and switches of its own, and a user's macros are restored below. It is not
   JSMN_STRICT: the reader below is strict, and a strict jsmn takes no primitive before it sees what
   follows. */
#ifndef ERRMAP_JSMN_HEADER
#define ERRMAP_JSMN_HEADER <jsmn.h>
#endif

#pragma push_macro("JSMN_H")
#pragma push_macro("JSMN_API")
#pragma push_macro("JSMN_HEADER")
#pragma push_macro("JSMN_STATIC")
#pragma push_macro("JSMN_STRICT")
#pragma push_macro("JSMN_PARENT_LINKS")
#undef JSMN_H
#undef JSMN_API
#undef JSMN_HEADER
#undef JSMN_STATIC
#undef JSMN_STRICT
#undef JSMN_PARENT_LINKS
#define JSMN_STATIC
#define JSMN_PARENT_LINKS
#define JSMN_UNDEFINED ERRMAP__JSMN_UNDEFINED
#define JSMN_OBJECT ERRMAP__JSMN_OBJECT
#define JSMN_ARRAY ERRMAP__JSMN_ARRAY
#define JSMN_STRING ERRMAP__JSMN_STRING
#define JSMN_PRIMITIVE ERRMAP__JSMN_PRIMITIVE
#define JSMN_ERROR_NOMEM ERRMAP__JSMN_ERROR_NOMEM
#define JSMN_ERROR_INVAL ERRMAP__JSMN_ERROR_INVAL
#define JSMN_ERROR_PART ERRMAP__JSMN_ERROR_PART
#define jsmntype_t errmap__jsmntype
#define jsmnerr errmap__jsmnerr
#define jsmntok_t errmap__token
#define jsmn_parser errmap__jsmn
#define jsmn_init errmap__jsmn_init
#define jsmn_parse errmap__jsmn_parse
#define jsmn_alloc_token errmap__jsmn_alloc_token
#define jsmn_fill_token errmap__jsmn_fill_token
#define jsmn_parse_primitive errmap__jsmn_parse_primitive
#define jsmn_parse_string errmap__jsmn_parse_string
#if defined(__GNUC__) /* a jsmn.h outside of the system's folders may meet any warning */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#endif
#include ERRMAP_JSMN_HEADER
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
#ifdef JSMN_H
#define ERRMAP__JSMN /* without it the rest would be further errors */
#else
#error "ERRMAP_JSMN_HEADER must name the jsmn.h of jsmn 1.1.0."
#endif
#undef JSMN_UNDEFINED
#undef JSMN_OBJECT
#undef JSMN_ARRAY
#undef JSMN_STRING
#undef JSMN_PRIMITIVE
#undef JSMN_ERROR_NOMEM
#undef JSMN_ERROR_INVAL
#undef JSMN_ERROR_PART
#undef jsmntype_t
#undef jsmnerr
#undef jsmntok_t
#undef jsmn_parser
#undef jsmn_init
#undef jsmn_parse
#undef jsmn_alloc_token
#undef jsmn_fill_token
#undef jsmn_parse_primitive
#undef jsmn_parse_string
#pragma pop_macro("JSMN_PARENT_LINKS")
#pragma pop_macro("JSMN_STRICT")
#pragma pop_macro("JSMN_STATIC")
#pragma pop_macro("JSMN_HEADER")
#pragma pop_macro("JSMN_API")
#pragma pop_macro("JSMN_H")

#ifdef ERRMAP__JSMN
#ifdef __cplusplus
extern "C" {
#endif

/* ---- Negotiation --------------------------------------------------------------------------- */

#define ERRMAP__HEADER_SIZE 24 /* bytes of a memcached packet's header */

/* A name's length has 16 bits; where a size_t has no more, it must count the packet as well. */
#if SIZE_MAX - ERRMAP__HEADER_SIZE - 2 < 0xffff
#define ERRMAP__NAME_MAX (SIZE_MAX - ERRMAP__HEADER_SIZE - 2)
#else
#define ERRMAP__NAME_MAX 0xffff
#endif

enum {
    ERRMAP__MAGIC_REQUEST = 0x80,
    ERRMAP__MAGIC_RESPONSE = 0x81,
    ERRMAP__MAGIC_FRAMED_RESPONSE = 0x18, /* with framing extras, whose length is in byte 2 */
    ERRMAP__OPCODE_HELLO = 0x1f,
    ERRMAP__OPCODE_GET_ERROR_MAP = 0xfe,
    ERRMAP__FEATURE_XERROR = 0x0007,
    ERRMAP__DATATYPE_JSON = 0x01 /* any other bit: compressed, or led by extended attributes */
};

static void errmap__write_16(uint8_t *bytes, uint32_t x)
{
    bytes[0] = (uint8_t)(x >> 8 & 0xff);
    bytes[1] = (uint8_t)(x & 0xff);
}

static void errmap__write_32(uint8_t *bytes, uint32_t x)
{
    errmap__write_16(bytes, x >> 16);
    errmap__write_16(bytes + 2, x & 0xffff);
}

/* Writes a request whose value is one 16-bit number. Its key, of key_length bytes before that, is
   left to the caller. */
static void errmap__write_request(uint8_t *packet, uint32_t opcode, uint32_t key_length,
                                  uint32_t value, uint32_t opaque)
{
    memset(packet, 0, ERRMAP__HEADER_SIZE);
    packet[0] = ERRMAP__MAGIC_REQUEST;
    packet[1] = (uint8_t)opcode;
    errmap__write_16(packet + 2, key_length);
    errmap__write_32(packet + 8, key_length + 2);
    errmap__write_32(packet + 12, opaque);
    errmap__write_16(packet + ERRMAP__HEADER_SIZE + key_length, value);
}

RETRY_API size_t errmap_write_hello(uint8_t *packet, size_t capacity, const char *name,
                                    size_t length, uint32_t opaque)
{
    size_t needed;
    if (length > ERRMAP__NAME_MAX || (!name && length != 0))
        return 0;
    needed = ERRMAP__HEADER_SIZE + length + 2;
    if (!packet || needed > capacity)
        return needed;
    errmap__write_request(packet, ERRMAP__OPCODE_HELLO, (uint32_t)length, ERRMAP__FEATURE_XERROR,
                          opaque);
    if (length != 0)
        memcpy(packet + ERRMAP__HEADER_SIZE, name, length);
    return needed;
}

static uint32_t errmap__read_16(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

static uint32_t errmap__read_32(const uint8_t *bytes)
{
    return errmap__read_16(bytes) << 16 | errmap__read_16(bytes + 2);
}

/* Returns the value of a successful response to `opcode`, and sets its length; NULL for anything
   else. */
static const uint8_t *errmap__response_value(const uint8_t *packet, size_t length, uint32_t opcode,
                                             uint32_t *value_length)
{
    uint32_t body, before_value;
    if (!packet || length < ERRMAP__HEADER_SIZE || packet[1] != opcode)
        return NULL;
    if (packet[0] == ERRMAP__MAGIC_RESPONSE)
        before_value = errmap__read_16(packet + 2) + packet[4]; /* key, extras */
    else if (packet[0] == ERRMAP__MAGIC_FRAMED_RESPONSE)
        before_value = (uint32_t)packet[2] + packet[3] + packet[4]; /* framing before them */
    else
        return NULL;
    if (errmap__read_16(packet + 6) != 0 || (packet[5] & ~ERRMAP__DATATYPE_JSON) != 0)
        return NULL;
    body = errmap__read_32(packet + 8);
    if (body > length - ERRMAP__HEADER_SIZE || before_value > body)
        return NULL;
    *value_length = body - before_value;
    return packet + ERRMAP__HEADER_SIZE + before_value;
}

RETRY_API bool errmap_read_hello(const uint8_t *packet, size_t length, bool *xerror)
{
    uint32_t i, size = 0;
    const uint8_t *value = errmap__response_value(packet, length, ERRMAP__OPCODE_HELLO, &size);
    bool found = false;
    if (!xerror || !value || size % 2 != 0)
        return false;
    for (i = 0; i < size; i += 2)
        found = found || errmap__read_16(value + i) == ERRMAP__FEATURE_XERROR;
    *xerror = found;
    return true;
}

RETRY_API size_t errmap_write_get(uint8_t *packet, size_t capacity, uint16_t version,
                                  uint32_t opaque)
{
    size_t needed = ERRMAP__HEADER_SIZE + 2;
    if (packet && needed <= capacity)
        errmap__write_request(packet, ERRMAP__OPCODE_GET_ERROR_MAP, 0, version, opaque);
    return needed;
}

RETRY_API bool errmap_read_get(const uint8_t *packet, size_t length, const char **json,
                               size_t *json_length)
{
    uint32_t size = 0;
    const uint8_t *value =
        errmap__response_value(packet, length, ERRMAP__OPCODE_GET_ERROR_MAP, &size);
    if (!json || !json_length || !value)
        return false;
    *json = (const char *)value;
    *json_length = (size_t)size;
    return true;
}

/* ---- Attributes ---------------------------------------------------------------------------- */

/* A table of names is packed: each name behind its length, a 0 behind the last. Pointers take more
   flash. ERRMAP__PLACE makes a name's members of the struct, ERRMAP__ENTRY their values. */
#define ERRMAP__PLACE(name, text) \
    uint8_t length_of_##name;     \
    char text_of_##name[sizeof(text)];
#define ERRMAP__ENTRY(name, text) sizeof(text) - 1, text,

static const uint8_t *errmap__attribute_names(void)
{
    static const struct {
        ERRMAP_ATTRIBUTES(ERRMAP__PLACE)
        uint8_t end;
    } names = {ERRMAP_ATTRIBUTES(ERRMAP__ENTRY) 0};
    return (const uint8_t *)&names;
}

RETRY_API const char *errmap_attribute_name(uint32_t bit)
{
    const uint8_t *name = errmap__attribute_names();
    uint32_t i;
    for (i = 0; *name != 0; i++) {
        if (bit == (uint32_t)1 << i)
            return (const char *)name + 1;
        name += *name + 2;
    }
    return "";
}

/* ---- Runs of plain bytes ------------------------------------------------------------------- */

/* Strings and indentation are read a machine word at a time where words have 64 bits and their
   first byte is the lowest: there one instruction finds the byte at which the run ends. On a small
   core the bytes one by one are as fast, and less code. */
#if defined(__GNUC__) && SIZE_MAX > 0xffffffff && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ERRMAP__WORDS
#endif

static bool errmap__is_plain(unsigned c)
{
    return c != '"' && c != '\\' && c >= 0x20 && c < 0x80;
}

#ifdef ERRMAP__WORDS
#define ERRMAP__EACH(byte) (UINT64_MAX / 255 * (byte))

static uint64_t errmap__load(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Sets the high bit of bytes that are not plain. With bit 1 inverted, a quote is 0x20, and control
   characters stay below it: to subtract 0x21 sets their high bit. A backslash becomes 0, and to
   subtract 1 sets its high bit. One of the two leaves that of a byte above ASCII set. A borrow may
   mark a plain byte, but only above one that is marked: the first mark is right. */
ERRMAP__WRAPS static uint64_t errmap__mark_special(uint64_t word)
{
    uint64_t quote_or_control = (word ^ ERRMAP__EACH(0x02)) - ERRMAP__EACH(0x21);
    uint64_t backslash = (word ^ ERRMAP__EACH('\\')) - ERRMAP__EACH(1);
    return (quote_or_control | backslash) & ERRMAP__EACH(0x80);
}

/* The index of the first byte that is not 0, in a word that has one. */
static size_t errmap__first(uint64_t word)
{
    return (unsigned)__builtin_ctzll(word) >> 3;
}
#endif

/* Where the run of plain bytes from `at` ends. */
static size_t errmap__plain_end(const char *text, size_t at, size_t length)
{
#ifdef ERRMAP__WORDS
    for (; at + sizeof(uint64_t) <= length; at += sizeof(uint64_t)) {
        uint64_t marks = errmap__mark_special(errmap__load(text + at));
        if (marks != 0)
            return at + errmap__first(marks);
    }
#endif
    while (at < length && errmap__is_plain((unsigned char)text[at]))
        at++;
    return at;
}

/* Where the run of spaces from `at` ends. */
static size_t errmap__spaces_end(const char *text, size_t at, size_t length)
{
#ifdef ERRMAP__WORDS
    for (; at + sizeof(uint64_t) <= length; at += sizeof(uint64_t)) {
        uint64_t others = errmap__load(text + at) ^ ERRMAP__EACH(' ');
        if (others != 0)
            return at + errmap__first(others);
    }
#endif
    while (at < length && text[at] == ' ')
        at++;
    return at;
}

/* ---- Characters ---------------------------------------------------------------------------- */

static bool errmap__is_digit(unsigned c)
{
    return c >= '0' && c <= '9';
}

static bool errmap__is_space(unsigned c)
{
    return c == '\n' || c == ' ' || c == '\r' || c == '\t';
}

/* The digit's value; 16 if it is no hexadecimal digit. */
static unsigned errmap__hex_digit(unsigned c)
{
    if (errmap__is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* What the letter behind a backslash stands for; 0 if it is none of the eight. */
static unsigned errmap__escaped(unsigned letter)
{
    static const char pairs[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    unsigned i;
    for (i = 0; pairs[i] != '\0'; i += 2) {
        if ((unsigned char)pairs[i] == letter)
            return (unsigned char)pairs[i + 1];
    }
    return 0;
}

/* ---- Scanning text ------------------------------------------------------------------------- */

/* Strings and primitives of RFC 8259. Each errmap__scan_x scans its part of the grammar from `at`
   on, and returns whether it is there. If not, `at` is the first byte at fault. The end of the text
   reads as a NUL, which is at fault wherever it stands. */
typedef struct errmap__scan {
    const char *text;
    size_t length;
    size_t at;
} errmap__scan;

static unsigned errmap__peek(const errmap__scan *scan)
{
    return scan->at < scan->length ? (unsigned char)scan->text[scan->at] : 0;
}

static bool errmap__scan_word(errmap__scan *scan, const char *word)
{
    for (; *word != '\0'; word++, scan->at++) {
        if (errmap__peek(scan) != (unsigned char)*word)
            return false;
    }
    return true;
}

/* The four digits of a UTF-16 unit from `least` to `most`. At fault is the first digit with which
   no such unit can go on. */
static bool errmap__scan_unit(errmap__scan *scan, uint32_t least, uint32_t most, uint32_t *unit)
{
    uint32_t rest = 0xffff; /* what the digits to come can add */
    *unit = 0;
    while (rest != 0) {
        unsigned digit = errmap__hex_digit(errmap__peek(scan));
        rest /= 16;
        *unit += digit * (rest + 1);
        if (digit > 15 || *unit + rest < least || *unit > most)
            return false;
        scan->at++;
    }
    return true;
}

/* The digits of a \u escape. A low surrogate's escape comes after a high one, and only there. */
static bool errmap__scan_unicode(errmap__scan *scan)
{
    bool above = errmap__hex_digit(errmap__peek(scan)) > 0xd;
    uint32_t unit;
    if (!errmap__scan_unit(scan, above ? 0xe000 : 0, above ? 0xffff : 0xdbff, &unit))
        return false;
    if ((unit & 0xfc00) != 0xd800)
        return true;
    return errmap__scan_word(scan, "\\u") && errmap__scan_unit(scan, 0xdc00, 0xdfff, &unit);
}

static bool errmap__scan_escape(errmap__scan *scan)
{
    unsigned letter;
    scan->at++;
    letter = errmap__peek(scan);
    if (letter != 'u' && errmap__escaped(letter) == 0)
        return false;
    scan->at++;
    return letter != 'u' || errmap__scan_unicode(scan);
}

/* A character of two to four bytes. The lead byte narrows the second's range: so there are no
   overlong forms, no surrogates, and nothing above U+10FFFF. Source: RFC 3629. */
static bool errmap__scan_utf8(errmap__scan *scan)
{
    unsigned lead = errmap__peek(scan);
    unsigned least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    unsigned left = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if (lead < 0xc2 || lead > 0xf4)
        return false;
    for (; left > 0; left--) {
        unsigned c;
        scan->at++;
        c = errmap__peek(scan);
        if (c < least || c > most)
            return false;
        least = 0x80;
        most = 0xbf;
    }
    scan->at++;
    return true;
}

/* A character of a string that is not plain, other than the quote that ends it. */
static bool errmap__scan_special(errmap__scan *scan)
{
    unsigned c = errmap__peek(scan);
    if (c == '\\')
        return errmap__scan_escape(scan);
    return c >= 0x80 && errmap__scan_utf8(scan);
}

static bool errmap__scan_string(errmap__scan *scan)
{
    scan->at++;
    for (;;) {
        scan->at = errmap__plain_end(scan->text, scan->at, scan->length);
        if (errmap__peek(scan) == '"')
            break;
        if (!errmap__scan_special(scan))
            return false;
    }
    scan->at++;
    return true;
}

static bool errmap__scan_digits(errmap__scan *scan)
{
    size_t start = scan->at;
    while (errmap__is_digit(errmap__peek(scan)))
        scan->at++;
    return scan->at > start;
}

static bool errmap__scan_number(errmap__scan *scan)
{
    if (errmap__peek(scan) == '-')
        scan->at++;
    if (errmap__peek(scan) == '0')
        scan->at++;
    else if (!errmap__scan_digits(scan))
        return false;
    if (errmap__peek(scan) == '.') {
        scan->at++;
        if (!errmap__scan_digits(scan))
            return false;
    }
    if ((errmap__peek(scan) | 0x20) != 'e')
        return true;
    scan->at++;
    if (errmap__peek(scan) == '+' || errmap__peek(scan) == '-')
        scan->at++;
    return errmap__scan_digits(scan);
}

static bool errmap__scan_primitive(errmap__scan *scan, unsigned first)
{
    if (first == 't')
        return errmap__scan_word(scan, "true");
    if (first == 'f')
        return errmap__scan_word(scan, "false");
    if (first == 'n')
        return errmap__scan_word(scan, "null");
    return errmap__scan_number(scan);
}

/* ---- Reading JSON -------------------------------------------------------------------------- */

/* Reads JSON token by token, and accepts nothing else. It nests no deeper than ERRMAP_MAX_DEPTH. */
typedef struct errmap__reader {
    errmap__scan scan;
    size_t key, key_length;                /* the last key: its opening quote, bytes behind that */
    uint32_t token_count;                  /* read so far, counted as jsmn counts */
    unsigned depth;                        /* containers open */
    bool too_deep;                         /* the fault is one bracket too many */
    uint8_t closing[ERRMAP_MAX_DEPTH + 1]; /* the bracket that ends the container, by depth */
    errmap__jsmn jsmn;                     /* reads an entry behind the reader */
    errmap__token *window;                 /* jsmn's tokens; NULL: there is no entry to read */
} errmap__reader;

/* Lets jsmn read on to `end`. Returns the number of its tokens, if no container is open there.
   Compilers make better code of jsmn's loops out of line, with its state in a local variable. */
ERRMAP__APART static int errmap__reader_tokenise(errmap__reader *reader, size_t end)
{
    errmap__jsmn jsmn = reader->jsmn;
    int count;
    if (!reader->window)
        return 0;
    count = errmap__jsmn_parse(&jsmn, reader->scan.text, end, reader->window, ERRMAP_TOKENS);
    reader->jsmn = jsmn;
    return count;
}

/* Skips white space; jsmn reads up to it, and goes on behind it if that is faster: for fewer than
   five bytes it is not. */
ERRMAP__APART static unsigned errmap__reader_skip_space(errmap__reader *reader)
{
    errmap__scan *scan = &reader->scan;
    size_t start = scan->at;
    unsigned c = errmap__peek(scan);
    while (errmap__is_space(c)) {
        scan->at = errmap__spaces_end(scan->text, scan->at + 1, scan->length);
        c = errmap__peek(scan);
    }
    if (scan->at - start >= 5) {
        errmap__reader_tokenise(reader, start);
        reader->jsmn.pos = (unsigned)scan->at;
    }
    return c;
}

/* Skips white space, and returns the byte behind it. */
static unsigned errmap__reader_space(errmap__reader *reader)
{
    unsigned c = errmap__peek(&reader->scan);
    return c > ' ' ? c : errmap__reader_skip_space(reader);
}

/* Where a step leads: nowhere, to a key, to a value, behind a value. */
enum { ERRMAP__STEP_FAULT, ERRMAP__STEP_KEY, ERRMAP__STEP_VALUE, ERRMAP__STEP_ENDED };

/* What comes next in the container that is open. */
static int errmap__reader_next(const errmap__reader *reader)
{
    return reader->closing[reader->depth] == '}' ? ERRMAP__STEP_KEY : ERRMAP__STEP_VALUE;
}

static int errmap__reader_close(errmap__reader *reader)
{
    reader->depth--;
    reader->scan.at++;
    return ERRMAP__STEP_ENDED;
}

/* From a bracket to what comes first in its container; behind the container if that is empty. */
static int errmap__reader_open(errmap__reader *reader, unsigned bracket)
{
    unsigned closing = bracket == '{' ? '}' : ']';
    if (reader->depth == ERRMAP_MAX_DEPTH) {
        reader->too_deep = true;
        return ERRMAP__STEP_FAULT;
    }
    reader->depth++;
    reader->closing[reader->depth] = (uint8_t)closing;
    reader->scan.at++;
    return errmap__reader_space(reader) == closing ? errmap__reader_close(reader)
                                                   : errmap__reader_next(reader);
}

/* From behind a key to its value. */
static int errmap__reader_colon(errmap__reader *reader, size_t key)
{
    reader->key = key;
    reader->key_length = reader->scan.at - key - 2;
    if (errmap__reader_space(reader) != ':')
        return ERRMAP__STEP_FAULT;
    reader->scan.at++;
    return ERRMAP__STEP_VALUE;
}

/* Reads a key, a string or a primitive as a whole, of a container the bracket. `first` is its first
   byte. */
static int errmap__reader_token(errmap__reader *reader, int step, unsigned first)
{
    size_t start = reader->scan.at;
    reader->token_count++;
    if (first == '"') {
        if (!errmap__scan_string(&reader->scan))
            return ERRMAP__STEP_FAULT;
        return step == ERRMAP__STEP_KEY ? errmap__reader_colon(reader, start) : ERRMAP__STEP_ENDED;
    }
    if (step == ERRMAP__STEP_KEY)
        return ERRMAP__STEP_FAULT;
    if (first == '{' || first == '[')
        return errmap__reader_open(reader, first);
    if (!errmap__scan_primitive(&reader->scan, first))
        return ERRMAP__STEP_FAULT;
    return ERRMAP__STEP_ENDED;
}

/* From behind a value to what comes next in its container; behind the container if that ends. */
static int errmap__reader_go_on(errmap__reader *reader)
{
    unsigned c = errmap__reader_space(reader);
    if (c == reader->closing[reader->depth])
        return errmap__reader_close(reader);
    if (c != ',')
        return ERRMAP__STEP_FAULT;
    reader->scan.at++;
    return errmap__reader_next(reader);
}

/* ---- Unescaping ---------------------------------------------------------------------------- */

/* The number of 1 to 4 hexadecimal digits; UINT32_MAX for anything else. */
static uint32_t errmap__hex_number(const char *text, size_t length)
{
    uint32_t number = 0;
    size_t i;
    if (length == 0 || length > 4)
        return UINT32_MAX;
    for (i = 0; i < length; i++) {
        unsigned digit = errmap__hex_digit((unsigned char)text[i]);
        if (digit > 15)
            return UINT32_MAX;
        number = number * 16 + digit;
    }
    return number;
}

/* Writes a code point as UTF-8, and returns its length. */
static unsigned errmap__encode(uint32_t point, char bytes[4])
{
    unsigned count = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    unsigned i;
    for (i = count - 1; i > 0; i--) {
        bytes[i] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    bytes[0] = (char)(leads[count] | point);
    return count;
}

/* Writes a character of `size` raw bytes as UTF-8, and returns its length. With a backslash first,
   2 bytes are an escape, 6 a \u escape, 12 a pair of them. Anything else stands for itself. */
static unsigned errmap__decode(const char *raw, size_t size, char utf8[4])
{
    uint32_t point;
    if (raw[0] != '\\' || size == 1) {
        memcpy(utf8, raw, size);
        return (unsigned)size;
    }
    if (size == 2) {
        utf8[0] = (char)errmap__escaped((unsigned char)raw[1]);
        return 1;
    }
    point = errmap__hex_number(raw + 2, 4);
    if (size == 12)
        point = 0x10000 + ((point & 0x3ff) << 10 | (errmap__hex_number(raw + 8, 4) & 0x3ff));
    return errmap__encode(point, utf8);
}

/* As errmap_copy_text. A map made by hand may have a text that the parser would refuse: what is no
   character there is copied byte by byte. */
static size_t errmap__unescape(const char *raw, size_t length, char *buffer, size_t capacity)
{
    errmap__scan scan = {raw, length, 0};
    size_t needed = 0, written = 0;
    while (scan.at < length) {
        size_t start = scan.at;
        unsigned count;
        char utf8[4];
        if (!errmap__scan_special(&scan))
            scan.at = start + 1;
        count = errmap__decode(raw + start, scan.at - start, utf8);
        if (needed + count < capacity) {
            memcpy(buffer + needed, utf8, count);
            written = needed + count;
        }
        needed += count;
    }
    if (capacity != 0)
        buffer[written] = '\0';
    return needed;
}

/* ---- Names --------------------------------------------------------------------------------- */

#define ERRMAP__NAME_SIZE 24 /* holds the longest name, which has 22 letters, and its end */
#define ERRMAP__X(name, text) \
    typedef char errmap__fits_##name[sizeof(text) < ERRMAP__NAME_SIZE ? 1 : -1];
ERRMAP_ATTRIBUTES(ERRMAP__X)
#undef ERRMAP__X

#ifdef ERRMAP__WORDS
static uint32_t errmap__load_four(const char *bytes)
{
    uint32_t four;
    memcpy(&four, bytes, sizeof four);
    return four;
}
#endif

static bool errmap__equal(const char *a, const char *b, size_t length)
{
    size_t i = 0;
#ifdef ERRMAP__WORDS
    if (length >= 4) { /* the last four may overlap those before */
        for (; i + 4 < length; i += 4) {
            if (errmap__load_four(a + i) != errmap__load_four(b + i))
                return false;
        }
        return errmap__load_four(a + length - 4) == errmap__load_four(b + length - 4);
    }
#endif
    while (i < length && a[i] == b[i])
        i++;
    return i == length;
}

/* Unescapes what may turn out to be a name, and returns its length; 0 if there is nothing to
   unescape. A name that is too long for `name` is cut, but its length fits no name of a table. */
static size_t errmap__unescape_name(const char *raw, size_t length, char name[ERRMAP__NAME_SIZE])
{
    size_t i = 0;
    while (i < length && raw[i] != '\\')
        i++;
    return i == length ? 0 : errmap__unescape(raw, length, name, ERRMAP__NAME_SIZE);
}

/* The index of the name in the table; the number of names if it has no such name. */
static uint32_t errmap__search(const uint8_t *names, const char *text, size_t length)
{
    uint32_t i;
    size_t size;
    for (i = 0; (size = *names) != 0; i++) {
        if (size == length && errmap__equal((const char *)names + 1, text, length))
            break;
        names += size + 2;
    }
    return i;
}

ERRMAP__RARE static uint32_t errmap__search_unescaped(const uint8_t *names, const char *raw,
                                                      size_t length)
{
    char name[ERRMAP__NAME_SIZE];
    length = errmap__unescape_name(raw, length, name);
    return errmap__search(names, name, length); /* no name has a length of 0 */
}

/* As errmap__search, for a raw text. Backslashes are rare, so they are looked for only in what
   matches nothing as it stands. */
static uint32_t errmap__lookup(const uint8_t *names, uint32_t count, const char *raw, size_t length)
{
    uint32_t index = errmap__search(names, raw, length);
    return index < count ? index : errmap__search_unescaped(names, raw, length);
}

/* ---- The parser ---------------------------------------------------------------------------- */

/* Parses in one pass: the reader leads, and what it has read is parsed at once. After a fault of
   the schema the reader goes on, for the text may still turn out to be no JSON. */
typedef struct errmap__parser {
    errmap__reader reader;
    errmap_status status;       /* the first fault */
    size_t offset;              /* its place */
    size_t start;               /* where the member or entry under way begins, behind its key */
    uint32_t member;            /* of the map: the one under way */
    uint32_t seen_members;      /* those that have been seen, by bit */
    uint32_t version, revision; /* their values */
    errmap_entry *entries;
    uint32_t capacity;
    uint32_t count;        /* entries seen, those beyond capacity too */
    errmap_entry *entry;   /* the one under way */
    uint32_t seen_fields;  /* of it, that have been seen, by bit */
    bool bad_spec;         /* of it: its specification makes no sense */
    errmap__token *tokens; /* of it, once jsmn has read it */
    errmap_entry spare;    /* for entries beyond capacity */
} errmap__parser;

static const char *errmap__text_at(const errmap__parser *parser, size_t offset)
{
    return parser->reader.scan.text + offset;
}

/* Keeps the first fault. Behind it no entry is parsed. */
ERRMAP__RARE static void errmap__refuse(errmap__parser *parser, errmap_status status, size_t offset)
{
    if (parser->status != ERRMAP_OK)
        return;
    parser->status = status;
    parser->offset = offset;
    parser->reader.window = NULL;
}

/* ---- An entry ------------------------------------------------------------------------------ */

/* What is read of an entry: X(name, text, type). From STRATEGY on it may stand in "retry", too. */
#define ERRMAP__FIELDS(X)              \
    X(NAME, "name", STRING)            \
    X(DESC, "desc", STRING)            \
    X(ATTRS, "attrs", ARRAY)           \
    X(RETRY, "retry", OBJECT)          \
    X(STRATEGY, "strategy", STRING)    \
    X(AFTER, "after", PRIMITIVE)       \
    X(INTERVAL, "interval", PRIMITIVE) \
    X(CEIL, "ceil", PRIMITIVE)         \
    X(MAX_DURATION, "max-duration", PRIMITIVE)

enum {
#define ERRMAP__X(name, text, type) ERRMAP__FIELD_##name,
    ERRMAP__FIELDS(ERRMAP__X) ERRMAP__FIELD_COUNT
#undef ERRMAP__X
};

static const char *errmap__token_text(const errmap__parser *parser, const errmap__token *token)
{
    return errmap__text_at(parser, (size_t)token->start);
}

static size_t errmap__token_length(const errmap__token *token)
{
    return (size_t)(token->end - token->start);
}

/* Refuses a token at its first byte; jsmn's strings begin behind the quote. */
static void errmap__refuse_token(errmap__parser *parser, const errmap__token *token)
{
    size_t quote = token->type == ERRMAP__JSMN_STRING ? 1 : 0;
    errmap__refuse(parser, ERRMAP_E_SCHEMA, (size_t)token->start - quote);
}

/* Behind the entry's last token. */
static const errmap__token *errmap__tokens_end(const errmap__parser *parser)
{
    return parser->tokens + parser->reader.token_count;
}

static uint32_t errmap__lookup_token(const errmap__parser *parser, const errmap__token *token,
                                     const uint8_t *names, uint32_t count)
{
    return errmap__lookup(names, count, errmap__token_text(parser, token),
                          errmap__token_length(token));
}

static errmap_text errmap__read_text(const errmap__token *value)
{
    errmap_text text;
    text.offset = (uint32_t)value->start;
    text.length = (uint32_t)errmap__token_length(value);
    return text;
}

static void errmap__read_attributes(errmap__parser *parser, const errmap__token *array)
{
    const errmap__token *token = array + 1;
    for (; token < errmap__tokens_end(parser) && token->start < array->end; token++) {
        uint32_t index;
        if (token->type != ERRMAP__JSMN_STRING)
            errmap__refuse_token(parser, token);
        index =
            errmap__lookup_token(parser, token, errmap__attribute_names(), ERRMAP_ATTRIBUTE_COUNT);
        if (index < ERRMAP_ATTRIBUTE_COUNT)
            parser->entry->attributes |= (uint32_t)1 << index;
    }
}

static uint8_t errmap__read_strategy(const errmap__parser *parser, const errmap__token *value)
{
    static const struct {
        ERRMAP_SPECS(ERRMAP__PLACE)
        uint8_t end;
    } names = {ERRMAP_SPECS(ERRMAP__ENTRY) 0};
    uint32_t count = ERRMAP_SPEC_COUNT - 1; /* but NONE */
    uint32_t index = errmap__lookup_token(parser, value, (const uint8_t *)&names, count);
    return (uint8_t)(index + 1); /* unknown ones are behind the last, which is no specification */
}

enum { ERRMAP__NO_NUMBER, ERRMAP__TOO_LARGE, ERRMAP__NUMBER };

/* Parses a whole number, which has only digits. One that is too large becomes UINT32_MAX. No zero
   comes before other digits: the reader does not accept that. */
static int errmap__whole_number(const char *text, size_t length, uint32_t *number)
{
    uint32_t most = 429496729; /* UINT32_MAX / 10; the rest is 5 */
    int result = ERRMAP__NUMBER;
    size_t i;
    *number = 0;
    for (i = 0; i < length; i++) {
        unsigned c = (unsigned char)text[i];
        if (!errmap__is_digit(c))
            return ERRMAP__NO_NUMBER;
        if (*number < most || (*number == most && c <= '5')) {
            *number = *number * 10 + (c - '0');
        } else {
            *number = UINT32_MAX;
            result = ERRMAP__TOO_LARGE;
        }
    }
    return result;
}

static retry_ms errmap__read_time(errmap__parser *parser, const errmap__token *value)
{
    retry_ms time;
    if (errmap__whole_number(errmap__token_text(parser, value), errmap__token_length(value),
                             &time) == ERRMAP__NO_NUMBER)
        parser->bad_spec = true;
    return time;
}

static void errmap__read_field(errmap__parser *parser, uint32_t field, const errmap__token *value)
{
    errmap_entry *entry = parser->entry;
    switch (field) {
    case ERRMAP__FIELD_NAME:
        entry->name = errmap__read_text(value);
        break;
    case ERRMAP__FIELD_DESC:
        entry->desc = errmap__read_text(value);
        break;
    case ERRMAP__FIELD_ATTRS:
        errmap__read_attributes(parser, value);
        break;
    case ERRMAP__FIELD_STRATEGY:
        entry->strategy = errmap__read_strategy(parser, value);
        break;
    case ERRMAP__FIELD_AFTER:
        entry->after = errmap__read_time(parser, value);
        break;
    case ERRMAP__FIELD_INTERVAL:
        entry->interval = errmap__read_time(parser, value);
        break;
    case ERRMAP__FIELD_CEIL:
        entry->ceil = errmap__read_time(parser, value);
        break;
    case ERRMAP__FIELD_MAX_DURATION:
        entry->max_duration = errmap__read_time(parser, value);
        break;
    default:
        break;
    }
}

static uint32_t errmap__lookup_field(const errmap__parser *parser, const errmap__token *key)
{
    static const struct {
#define ERRMAP__X(name, text, type) ERRMAP__PLACE(name, text)
        ERRMAP__FIELDS(ERRMAP__X)
#undef ERRMAP__X
        uint8_t end;
    } names = {
#define ERRMAP__X(name, text, type) ERRMAP__ENTRY(name, text)
        ERRMAP__FIELDS(ERRMAP__X)
#undef ERRMAP__X
            0};
    return errmap__lookup_token(parser, key, (const uint8_t *)&names, ERRMAP__FIELD_COUNT);
}

/* Which field a key and its value are; FIELD_COUNT if there is nothing to read. A field that comes
   twice or has another type is refused. In a specification another type only makes no sense. */
static uint32_t errmap__recognise(errmap__parser *parser, const errmap__token *key, int retry_end)
{
    static const uint8_t types[] = {
#define ERRMAP__X(name, text, type) ERRMAP__JSMN_##type,
        ERRMAP__FIELDS(ERRMAP__X)
#undef ERRMAP__X
    };
    uint32_t field = errmap__lookup_field(parser, key);
    uint32_t bit = (uint32_t)1 << field;
    if (field == ERRMAP__FIELD_COUNT || (key->start < retry_end && field < ERRMAP__FIELD_STRATEGY))
        return ERRMAP__FIELD_COUNT;
    if ((parser->seen_fields & bit) != 0)
        errmap__refuse_token(parser, key);
    parser->seen_fields |= bit;
    if (key[1].type == types[field])
        return field;
    if (field < ERRMAP__FIELD_RETRY)
        errmap__refuse_token(parser, &key[1]);
    parser->bad_spec = true;
    return ERRMAP__FIELD_COUNT;
}

/* RFC 0013 requires an interval. */
static bool errmap__has_specification(const errmap_entry *entry)
{
    return entry->strategy != ERRMAP_SPEC_NONE && entry->strategy < ERRMAP_SPEC_COUNT &&
           entry->interval != 0;
}

/* The token behind a value and everything in it. */
static const errmap__token *errmap__skip_token(const errmap__parser *parser,
                                               const errmap__token *value)
{
    int end = value->end;
    do {
        value++;
    } while (value < errmap__tokens_end(parser) && value->start < end);
    return value;
}

/* Reads the members of an entry, and those of its "retry" as if they were the entry's own. */
static void errmap__read_entry(errmap__parser *parser)
{
    errmap_entry *entry = parser->entry;
    const errmap__token *key = parser->tokens + 1;
    int retry_end = 0;
    parser->seen_fields = 0;
    parser->bad_spec = false;
    while (key + 1 < errmap__tokens_end(parser) && parser->status == ERRMAP_OK) {
        const errmap__token *value = key + 1;
        uint32_t field = errmap__recognise(parser, key, retry_end);
        if (field == ERRMAP__FIELD_RETRY) {
            retry_end = value->end;
            key = value + 1;
        } else {
            errmap__read_field(parser, field, value);
            key = errmap__skip_token(parser, value);
        }
    }
    if (parser->bad_spec || !errmap__has_specification(entry)) {
        entry->strategy = ERRMAP_SPEC_NONE;
        entry->after = entry->interval = entry->ceil = entry->max_duration = 0;
    }
}

/* The code that a raw key spells in 1 to 4 hexadecimal digits; UINT32_MAX if it spells none. */
static uint32_t errmap__read_code(const char *raw, size_t length)
{
    char name[ERRMAP__NAME_SIZE];
    uint32_t code = errmap__hex_number(raw, length);
    if (code != UINT32_MAX)
        return code;
    length = errmap__unescape_name(raw, length, name);
    return errmap__hex_number(name, length);
}

/* Begins an entry, behind its key. */
static void errmap__begin_entry(errmap__parser *parser)
{
    errmap__reader *reader = &parser->reader;
    uint32_t code = errmap__read_code(errmap__text_at(parser, reader->key + 1), reader->key_length);
    errmap_entry *entry =
        parser->count < parser->capacity ? &parser->entries[parser->count] : &parser->spare;
    memset(entry, 0, sizeof *entry);
    entry->code = (uint16_t)(code & 0xffff);
    entry->key = (uint32_t)reader->key;
    parser->entry = entry;
    parser->count++;
    parser->start = reader->scan.at;
    reader->token_count = 0;
    reader->window = parser->tokens;
    errmap__jsmn_init(&reader->jsmn);
    reader->jsmn.pos = (unsigned)reader->scan.at;
    if (code == UINT32_MAX)
        errmap__refuse(parser, ERRMAP_E_SCHEMA, reader->key);
}

/* Ends an entry that the reader has accepted. If jsmn sees other tokens in it than the reader,
   neither can be trusted. */
static void errmap__end_entry(errmap__parser *parser)
{
    errmap__reader *reader = &parser->reader;
    int count = errmap__reader_tokenise(reader, reader->scan.at);
    reader->window = NULL;
    if (reader->token_count > ERRMAP_TOKENS)
        errmap__refuse(parser, ERRMAP_E_TOKENS, parser->start);
    else if (count != (int)reader->token_count)
        errmap__refuse(parser, ERRMAP_E_CORRUPT, parser->start);
    else
        errmap__read_entry(parser);
}

/* ---- The map's members --------------------------------------------------------------------- */

/* What is read of the map itself: X(name, text). */
#define ERRMAP__MEMBERS(X)  \
    X(VERSION, "version")   \
    X(REVISION, "revision") \
    X(ERRORS, "errors")

enum {
#define ERRMAP__X(name, text) ERRMAP__MEMBER_##name,
    ERRMAP__MEMBERS(ERRMAP__X) ERRMAP__MEMBER_COUNT
#undef ERRMAP__X
};

/* Begins a member of the map, behind its key. */
static void errmap__begin_member(errmap__parser *parser)
{
    static const struct {
        ERRMAP__MEMBERS(ERRMAP__PLACE)
        uint8_t end;
    } names = {ERRMAP__MEMBERS(ERRMAP__ENTRY) 0};
    const errmap__reader *reader = &parser->reader;
    uint32_t bit;
    parser->start = reader->scan.at;
    parser->member = errmap__lookup((const uint8_t *)&names, ERRMAP__MEMBER_COUNT,
                                    errmap__text_at(parser, reader->key + 1), reader->key_length);
    if (parser->member == ERRMAP__MEMBER_COUNT)
        return;
    bit = (uint32_t)1 << parser->member;
    if ((parser->seen_members & bit) != 0)
        errmap__refuse(parser, ERRMAP_E_SCHEMA, reader->key);
    parser->seen_members |= bit;
}

/* Ends a member of the map. A version or a revision is 0 to UINT32_MAX. */
static void errmap__end_member(errmap__parser *parser)
{
    const char *text = errmap__text_at(parser, parser->start);
    size_t length = parser->reader.scan.at - parser->start;
    uint32_t *number = &parser->version;
    if (parser->member == ERRMAP__MEMBER_REVISION)
        number = &parser->revision;
    else if (parser->member != ERRMAP__MEMBER_VERSION)
        return;
    if (errmap__whole_number(text, length, number) != ERRMAP__NUMBER)
        errmap__refuse(parser, ERRMAP_E_SCHEMA, parser->start);
}

/* Called before each value. The map, its members and the entries in "errors" are parsed. */
static void errmap__begin_value(errmap__parser *parser, unsigned first)
{
    unsigned depth = parser->reader.depth;
    if (depth > 2 || parser->status != ERRMAP_OK)
        return;
    if (depth == 1)
        errmap__begin_member(parser);
    if (depth > 0 && parser->member != ERRMAP__MEMBER_ERRORS)
        return;
    if (depth == 2)
        errmap__begin_entry(parser);
    if (first != '{') /* the map, "errors" and entries are objects */
        errmap__refuse(parser, ERRMAP_E_SCHEMA, parser->reader.scan.at);
}

/* Called behind each value. */
static void errmap__end_value(errmap__parser *parser)
{
    unsigned depth = parser->reader.depth;
    if (depth > 2 || parser->status != ERRMAP_OK)
        return;
    if (depth == 0 && parser->seen_members != (1u << ERRMAP__MEMBER_COUNT) - 1)
        errmap__refuse(parser, ERRMAP_E_SCHEMA, parser->reader.scan.at - 1);
    if (depth == 1)
        errmap__end_member(parser);
    if (depth == 2 && parser->member == ERRMAP__MEMBER_ERRORS)
        errmap__end_entry(parser);
}

/* Parses the map, with everything in it. Returns whether it is JSON. */
static bool errmap__parse_map(errmap__parser *parser)
{
    errmap__reader *reader = &parser->reader;
    int step = ERRMAP__STEP_VALUE;
    do {
        unsigned first = errmap__reader_space(reader);
        if (step == ERRMAP__STEP_VALUE)
            errmap__begin_value(parser, first);
        step = errmap__reader_token(reader, step, first);
        while (step == ERRMAP__STEP_ENDED) {
            errmap__end_value(parser);
            if (reader->depth == 0)
                return true;
            step = errmap__reader_go_on(reader);
        }
    } while (step != ERRMAP__STEP_FAULT);
    return false;
}

/* Parses the whole text. That it is no JSON counts more than any fault of the schema before. */
static void errmap__parse_text(errmap__parser *parser)
{
    errmap__reader *reader = &parser->reader;
    bool passed = errmap__parse_map(parser);
    if (passed) {
        errmap__reader_space(reader);
        passed = reader->scan.at == reader->scan.length;
    }
    if (!passed) {
        parser->status = reader->too_deep ? ERRMAP_E_DEPTH : ERRMAP_E_CORRUPT;
        parser->offset = reader->scan.at;
    }
}

/* ---- Sorting ------------------------------------------------------------------------------- */

static void errmap__swap(errmap_entry *a, errmap_entry *b)
{
    errmap_entry entry = *a;
    *a = *b;
    *b = entry;
}

/* Sorts by one bit: within each group of entries whose codes have the same bits above it. */
static void errmap__split(errmap_entry *entry, const errmap_entry *end, uint32_t bit)
{
    errmap_entry *next = entry;  /* where the group's next one without the bit goes */
    uint32_t group = UINT32_MAX; /* a code of the group, with the bit */
    for (; entry < end; entry++) {
        if ((entry->code ^ group) >= 2 * bit) {
            next = entry;
            group = entry->code | bit;
        }
        if ((entry->code ^ group) >= bit) {
            if (next != entry)
                errmap__swap(next, entry);
            next++;
        }
    }
}

/* Sorts by one bit after the other, from the highest on. So the codes' bits limit the passes, to 8
   for those of today's servers, whatever the order of the codes. */
static void errmap__sort_by_code(errmap_entry *entries, uint32_t count)
{
    uint32_t bits = 0, bit, i;
    for (i = 0; i < count; i++)
        bits |= entries[i].code;
    for (bit = 0x8000; bit != 0; bit >>= 1) {
        if ((bits & bit) != 0)
            errmap__split(entries, entries + count, bit);
    }
}

/* Refuses the first key in the text that repeats a code. Entries of one code are neighbours now,
   but not in the order of the text. So swaps carry the earliest of their keys along, which is no
   repetition. */
static void errmap__refuse_repeated(errmap__parser *parser)
{
    uint32_t repeated = UINT32_MAX;
    uint32_t i;
    for (i = 1; i < parser->count; i++) {
        errmap_entry *entry = &parser->entries[i];
        if (entry->code != entry[-1].code)
            continue;
        if (entry->key > entry[-1].key)
            errmap__swap(entry, entry - 1);
        if (entry[-1].key < repeated)
            repeated = entry[-1].key;
    }
    if (repeated != UINT32_MAX)
        errmap__refuse(parser, ERRMAP_E_SCHEMA, (size_t)repeated);
}

static void errmap__sort_entries(errmap__parser *parser)
{
    if (parser->count > parser->capacity) {
        errmap__refuse(parser, ERRMAP_E_CAPACITY, 0);
    } else {
        errmap__sort_by_code(parser->entries, parser->count);
        errmap__refuse_repeated(parser);
    }
}

/* ---- Parsing ------------------------------------------------------------------------------- */

static void errmap__fill_map(const errmap__parser *parser, errmap *map)
{
    map->json = parser->reader.scan.text;
    map->length = (uint32_t)parser->reader.scan.length;
    map->entries = parser->entries;
    map->count = parser->count;
    map->version = parser->version;
    map->revision = parser->revision;
}

RETRY_API errmap_status errmap_parse(errmap *map, const char *json, size_t length,
                                     errmap_entry *entries, uint32_t capacity, errmap_error *error)
{
    errmap__parser parser;
    errmap__token tokens[ERRMAP_TOKENS];
    errmap_error ignored;
    if (!error)
        error = &ignored;
    error->offset = 0;
    error->needed = 0;
    if (!map || (!json && length != 0) || (!entries && capacity != 0))
        return ERRMAP_E_ARGUMENT;
    if (length > INT_MAX)
        return ERRMAP_E_SIZE;
    memset(&parser, 0, sizeof parser);
    parser.reader.scan.text = json;
    parser.reader.scan.length = length;
    parser.entries = entries;
    parser.capacity = capacity;
    parser.tokens = tokens;
    errmap__parse_text(&parser);
    if (parser.status == ERRMAP_OK)
        errmap__sort_entries(&parser);
    if (parser.status == ERRMAP_OK)
        errmap__fill_map(&parser, map);
    if (parser.status == ERRMAP_OK || parser.status == ERRMAP_E_CAPACITY)
        error->needed = parser.count;
    error->offset = parser.status == ERRMAP_OK ? length : parser.offset;
    return parser.status;
}

RETRY_API const char *errmap_status_text(errmap_status status)
{
    static const char texts[][32] = {
#define ERRMAP__X(name, text) text,
        ERRMAP_STATUSES(ERRMAP__X)
#undef ERRMAP__X
    };
    return status < ERRMAP_STATUS_COUNT ? texts[status] : "invalid status";
}

RETRY_API const errmap *errmap_newer(const errmap *a, const errmap *b)
{
    if (!a || !b)
        return a ? a : b;
    if (b->version != a->version)
        return b->version > a->version ? b : a;
    return b->revision > a->revision ? b : a;
}

/* ---- Looking up ---------------------------------------------------------------------------- */

/* Halves without a branch: a processor would predict every second one wrongly. */
RETRY_API const errmap_entry *errmap_find(const errmap *map, uint32_t status)
{
    const errmap_entry *entry;
    uint32_t count;
    if (!map || !map->entries || map->count == 0)
        return NULL;
    entry = map->entries;
    for (count = map->count; count > 1;) {
        uint32_t half = count >> 1;
        entry += half * (uint32_t)(entry[half].code <= status);
        count -= half;
    }
    return entry->code == status ? entry : NULL;
}

RETRY_API size_t errmap_copy_text(const errmap *map, errmap_text text, char *buffer,
                                  size_t capacity)
{
    if (!buffer)
        capacity = 0;
    if (!map || !map->json || text.offset > map->length || text.length > map->length - text.offset)
        text.offset = text.length = 0;
    if (text.length == 0)
        return errmap__unescape("", 0, buffer, capacity);
    return errmap__unescape(map->json + text.offset, (size_t)text.length, buffer, capacity);
}

/* ---- Advice -------------------------------------------------------------------------------- */

RETRY_API errmap_advice errmap_advise(const errmap *map, uint32_t status)
{
    uint32_t retried = ERRMAP_ATTR_RETRY_NOW | ERRMAP_ATTR_RETRY_LATER | ERRMAP_ATTR_AUTO_RETRY;
    errmap_advice advice;
    uint32_t attributes;
    memset(&advice, 0, sizeof advice);
    advice.failure.code = status;
    advice.entry = errmap_find(map, status);
    if (!advice.entry) {
        advice.failure.unknown = true;
        return advice;
    }
    attributes = advice.entry->attributes;
    if ((attributes & retried) != 0 && (attributes & ERRMAP_ATTR_NO_RETRY) == 0)
        advice.failure.reason = RETRY_REASON_KV_ERROR_MAP_RETRY_INDICATED;
    advice.failure.throttle = (attributes & ERRMAP_ATTR_RATE_LIMIT) != 0;
    advice.refresh_config = (attributes & ERRMAP_ATTR_FETCH_CONFIG) != 0;
    advice.authentication = (attributes & ERRMAP_ATTR_AUTH) != 0;
    advice.special = (attributes & ERRMAP_ATTR_SPECIAL_HANDLING) != 0;
    advice.success = (attributes & ERRMAP_ATTR_SUCCESS) != 0;
    advice.reconnect = advice.special || (attributes & ERRMAP_ATTR_CONN_STATE_INVALIDATED) != 0;
    return advice;
}

/* NONE for a status after which a retry does not help. */
static retry_reason errmap__kv_reason(uint16_t status, uint8_t opcode)
{
    if (opcode >= 0x50 && opcode <= 0x67) /* DCP's */
        return RETRY_REASON_NONE;
    switch (status) {
    case 0x07:
        return RETRY_REASON_KV_NOT_MY_VBUCKET;
    case 0x09: /* not for UnlockKey */
        return opcode == 0x95 ? RETRY_REASON_NONE : RETRY_REASON_KV_LOCKED;
    case 0x86:
        return RETRY_REASON_KV_TEMPORARY_FAILURE;
    case 0x88: /* not for CollectionsGetID */
        return opcode == 0xbb ? RETRY_REASON_NONE : RETRY_REASON_KV_COLLECTION_OUTDATED;
    case 0xa2:
        return RETRY_REASON_KV_SYNC_WRITE_IN_PROGRESS;
    case 0xa4:
        return RETRY_REASON_KV_SYNC_WRITE_RE_COMMIT_IN_PROGRESS;
    default:
        return RETRY_REASON_NONE;
    }
}

/* Whether a client knows the status without a map. */
static bool errmap__kv_known(uint16_t status)
{
    /* the first and the last status of each range */
    static const uint8_t known[] = {0x00, 0x09, 0x20, 0x25, 0x80, 0x81, 0x83, 0x84,
                                    0x86, 0x86, 0x88, 0x88, 0xa0, 0xa4, 0xc0, 0xd8};
    size_t i;
    for (i = 0; i < sizeof known; i += 2) {
        if (status >= known[i] && status <= known[i + 1])
            return true;
    }
    return false;
}

static retry_failure errmap__failure(retry_reason reason, uint32_t code)
{
    retry_failure failure;
    memset(&failure, 0, sizeof failure);
    failure.reason = reason;
    failure.code = code;
    return failure;
}

RETRY_API errmap_advice errmap_classify_kv(const errmap *map, uint16_t status, uint8_t opcode)
{
    errmap_advice advice = errmap_advise(map, status);
    if (errmap__kv_known(status)) {
        advice.failure = errmap__failure(errmap__kv_reason(status, opcode), status);
        if (advice.special)
            advice.reconnect = (advice.entry->attributes & ERRMAP_ATTR_CONN_STATE_INVALIDATED) != 0;
    }
    return advice;
}

RETRY_API bool errmap_idempotent_kv(uint8_t opcode)
{
    static const uint8_t idempotent[] = {
        0x00, 0x09, 0x0c, 0x0d, /* Get, GetQ, GetK, GetKQ */
        0x0a, 0x83,             /* Noop, GetReplica */
        0x91, 0x92,             /* ObserveSeqno, Observe */
        0xb5, 0xba, 0xbb,       /* GetClusterConfig, CollectionsGetManifest, CollectionsGetID */
        0xc5, 0xc6, 0xd0, 0xd2, /* SubdocGet, SubdocExists, SubdocMultiLookup, SubdocGetCount */
    };
    size_t i;
    for (i = 0; i < sizeof idempotent; i++) {
        if (idempotent[i] == opcode)
            return true;
    }
    return false;
}

/* ---- The other services -------------------------------------------------------------------- */

/* Whether the text begins with the pattern. A tab in the pattern stands for any white space, or
   none. */
static bool errmap__begins(const char *text, size_t length, const char *pattern)
{
    errmap__scan scan = {text, length, 0};
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '\t') {
            while (errmap__is_space(errmap__peek(&scan)))
                scan.at++;
        } else if (errmap__peek(&scan) != (unsigned char)*pattern) {
            return false;
        } else {
            scan.at++;
        }
    }
    return true;
}

static bool errmap__contains(const char *text, size_t length, const char *pattern)
{
    size_t i;
    for (i = 0; text && i < length; i++) {
        if (errmap__begins(text + i, length - i, pattern))
            return true;
    }
    return false;
}

RETRY_API retry_failure errmap_classify_query(uint32_t code, const char *message, size_t length,
                                              bool retry_flag)
{
    retry_reason reason = RETRY_REASON_NONE;
    if (code == 4040 || code == 4050 || code == 4070)
        reason = RETRY_REASON_QUERY_PREPARED_STATEMENT_FAILURE;
    else if (code == 5000 && errmap__contains(message, length, "queryport.indexNotFound"))
        reason = RETRY_REASON_QUERY_INDEX_NOT_FOUND;
    else if (retry_flag && code != 12016) /* an index that the query names is not there */
        reason = RETRY_REASON_QUERY_ERROR_RETRYABLE;
    return errmap__failure(reason, code);
}

RETRY_API retry_failure errmap_classify_analytics(uint32_t code)
{
    bool temporary = code == 23000 || code == 23003 || code == 23007;
    return errmap__failure(temporary ? RETRY_REASON_ANALYTICS_TEMPORARY_FAILURE : RETRY_REASON_NONE,
                           code);
}

RETRY_API retry_failure errmap_classify_search(int http_status)
{
    retry_failure failure = errmap__failure(RETRY_REASON_NONE, (uint32_t)http_status);
    if (http_status == 429) {
        failure.reason = RETRY_REASON_SEARCH_TOO_MANY_REQUESTS;
        failure.throttle = true;
    }
    return failure;
}

static bool errmap__views_temporary(int http_status, const char *body, size_t length)
{
    static const uint16_t temporary[] = {300, 301, 303, 307, 401, 408, 409,
                                         412, 416, 417, 501, 502, 503, 504};
    size_t i;
    if (http_status == 404)
        return errmap__contains(body, length, "\"reason\"\t:\t\"missing\"");
    if (http_status == 500) /* a view or an argument that is wrong stays wrong */
        return !errmap__contains(body, length, "error") ||
               (!errmap__contains(body, length, "{not_found, missing_named_view}") &&
                !errmap__contains(body, length, "\"badarg\""));
    for (i = 0; i < sizeof temporary / sizeof temporary[0]; i++) {
        if ((int)temporary[i] == http_status)
            return true;
    }
    return false;
}

RETRY_API retry_failure errmap_classify_views(int http_status, const char *body, size_t length)
{
    retry_reason reason = RETRY_REASON_NONE;
    if (http_status == 302)
        reason = RETRY_REASON_VIEWS_NO_ACTIVE_PARTITION;
    else if (errmap__views_temporary(http_status, body, length))
        reason = RETRY_REASON_VIEWS_TEMPORARY_FAILURE;
    return errmap__failure(reason, (uint32_t)http_status);
}

RETRY_API bool errmap_idempotent_service(uint8_t service, bool read_only)
{
    if (service == ERRMAP_SERVICE_SEARCH || service == ERRMAP_SERVICE_VIEWS)
        return true;
    return read_only && (service == ERRMAP_SERVICE_QUERY || service == ERRMAP_SERVICE_ANALYTICS ||
                         service == ERRMAP_SERVICE_MANAGEMENT);
}

/* ---- The server's own intervals ------------------------------------------------------------ */

static retry_ms errmap__multiply(retry_ms a, uint32_t b)
{
    uint64_t product = (uint64_t)a * b;
    return product > UINT32_MAX ? UINT32_MAX : (retry_ms)product;
}

/* At most 32 steps: by then any base above 1 has saturated. */
static retry_ms errmap__power(retry_ms base, uint32_t exponent)
{
    retry_ms power = 1;
    for (; exponent != 0 && base > 1 && power != UINT32_MAX; exponent--)
        power = errmap__multiply(power, base);
    return power;
}

RETRY_API retry_ms errmap_spec_delay(const errmap_entry *entry, uint32_t retries)
{
    retry_ms delay;
    if (!entry || !errmap__has_specification(entry))
        return 0;
    if (retries == 0)
        return entry->after;
    if (entry->strategy == ERRMAP_SPEC_CONSTANT)
        return entry->interval;
    if (entry->strategy == ERRMAP_SPEC_LINEAR)
        delay = errmap__multiply(entry->interval, retries);
    else
        delay = errmap__power(entry->interval, retries);
    return entry->ceil != 0 && delay > entry->ceil ? entry->ceil : delay;
}

/* ms that have passed. A clock up to 32,768 ms behind is another thread's: then none have. It is as
   in retry.h, whose private functions may be in another file. */
ERRMAP__WRAPS static retry_ms errmap__passed(retry_time from, retry_time to)
{
    retry_ms passed = to - from;
    return passed > UINT32_MAX - 32768 ? 0 : passed;
}

/* The entry whose specification says how long to wait; NULL if none does. */
static const errmap_entry *errmap__specified_entry(const errmap *map, const retry_failure *failure)
{
    const errmap_entry *entry;
    if (failure->reason != RETRY_REASON_KV_ERROR_MAP_RETRY_INDICATED)
        return NULL;
    entry = errmap_find(map, failure->code);
    return entry && errmap__has_specification(entry) ? entry : NULL;
}

/* Asks the strategy for codes that the map has no specification of. */
static retry_action errmap__fall_back(const errmap_strategy *strategy, const retry_operation *op,
                                      const retry_failure *failure, retry_time now)
{
    const retry_strategy *fallback = strategy->fallback ? strategy->fallback : retry_best_effort();
    if (!fallback->retry_after)
        return retry_policy_after(NULL, op, failure, now); /* MISUSE: RETRY_ASSERT stops */
    return fallback->retry_after(fallback, op, failure, now);
}

/* Whether a retry after `delay` would begin max_duration or more after the code last changed. */
static bool errmap__too_late(const errmap_entry *entry, const retry_operation *op, retry_ms delay,
                             retry_time now)
{
    retry_ms longest = UINT32_C(1) << 31; /* what instants can measure, with room to spare */
    retry_ms most = entry->max_duration < longest ? entry->max_duration : longest;
    retry_ms passed = errmap__passed(op->code_since, now);
    return most != 0 && (passed >= most || delay >= most - passed);
}

RETRY_API retry_action errmap_strategy_after(const retry_strategy *self, const retry_operation *op,
                                             const retry_failure *failure, retry_time now)
{
    const errmap_strategy *strategy = (const errmap_strategy *)(const void *)self;
    const errmap_entry *entry;
    retry_ms delay;
    if (!self || !op || !failure)
        return retry_policy_after(NULL, op, failure, now); /* MISUSE: RETRY_ASSERT stops */
    if (!retry_permitted(op, failure))
        return retry_action_none(RETRY_CAUSE_NOT_IDEMPOTENT);
    entry = errmap__specified_entry(strategy->map, failure);
    if (!entry)
        return errmap__fall_back(strategy, op, failure, now);
    delay = errmap_spec_delay(entry, op->code_retries);
    if (errmap__too_late(entry, op, delay, now))
        return retry_action_none(RETRY_CAUSE_MAX_DURATION);
    return retry_action_after(delay);
}

/* ---- Not-my-vbucket ------------------------------------------------------------------------ */

RETRY_API void errmap_nmv_begin(errmap_nmv *nmv, uint64_t revision)
{
    if (!nmv)
        return;
    nmv->errmap__step.map = ERRMAP_MAP_CURRENT;
    nmv->errmap__step.delay = 0;
    nmv->errmap__revision = revision;
    nmv->errmap__waiting = false;
    nmv->errmap__newer = 0;
}

/* RFC 0049's ladder, from the sixth newer map in a row on. */
static void errmap__nmv_newer(errmap_nmv *nmv, uint64_t revision)
{
    static const retry_backoff ladder = RETRY_BACKOFF_CONTROLLED;
    uint8_t newer = nmv->errmap__newer;
    errmap_nmv_begin(nmv, revision);
    nmv->errmap__newer = (uint8_t)(newer + (newer != UINT8_MAX));
    if (newer >= 5) {
        nmv->errmap__step.delay = retry_backoff_base(&ladder, newer - 5u);
        nmv->errmap__waiting = true;
    }
}

RETRY_API errmap_nmv_step errmap_nmv_rejected(errmap_nmv *nmv, uint64_t revision,
                                              bool has_fast_forward)
{
    errmap_nmv_step at_once = {ERRMAP_MAP_CURRENT, 0};
    if (!nmv)
        return at_once;
    if (revision > nmv->errmap__revision) {
        errmap__nmv_newer(nmv, revision);
    } else if (nmv->errmap__step.map == ERRMAP_MAP_CURRENT && has_fast_forward) {
        nmv->errmap__step.map = ERRMAP_MAP_FAST_FORWARD;
        nmv->errmap__step.delay = 0;
        nmv->errmap__waiting = false;
    } else {
        if (!has_fast_forward) /* any more */
            nmv->errmap__step.map = ERRMAP_MAP_CURRENT;
        nmv->errmap__step.delay = nmv->interval ? nmv->interval : 100;
        if (nmv->errmap__waiting) /* it waited to the end */
            nmv->errmap__newer = 0;
        nmv->errmap__waiting = true;
    }
    return nmv->errmap__step;
}

RETRY_API errmap_nmv_step errmap_nmv_config(errmap_nmv *nmv, uint64_t revision)
{
    if (!nmv || (nmv->errmap__waiting && revision > nmv->errmap__revision))
        return errmap_nmv_rejected(nmv, revision, false); /* the current map */
    return nmv->errmap__step;
}

#ifdef __cplusplus
}
#endif
#endif /* ERRMAP__JSMN */

#undef ERRMAP__JSMN
#undef ERRMAP__HEADER_SIZE
#undef ERRMAP__NAME_MAX
#undef ERRMAP__APART
#undef ERRMAP__RARE
#undef ERRMAP__WRAPS
#undef ERRMAP__WORDS
#undef ERRMAP__EACH
#undef ERRMAP__PLACE
#undef ERRMAP__ENTRY
#undef ERRMAP__MEMBERS
#undef ERRMAP__NAME_SIZE
#undef ERRMAP__FIELDS

#endif /* RETRY_IMPLEMENTATION || ERRMAP_IMPLEMENTATION */

/*
   MIT License

   Copyright (c) 2026 The retry.h authors

   Permission is hereby granted, free of charge, to any person obtaining a copy of this software
   and associated documentation files (the "Software"), to deal in the Software without
   restriction, including without limitation the rights to use, copy, modify, merge, publish,
   distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
   Software is furnished to do so, subject to the following conditions:

   The above copyright notice and this permission notice shall be included in all copies or
   substantial portions of the Software.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING
   BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
   NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
   DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
   OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/
