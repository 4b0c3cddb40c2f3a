/* What each protocol's answer means for a retry: every status and code against independent rules,
   texts cut at every byte, and which operations are idempotent. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static retry_failure plain(retry_reason reason, uint32_t code)
{
    retry_failure failure;
    memset(&failure, 0, sizeof failure);
    failure.reason = reason;
    failure.code = code;
    return failure;
}

static bool same(retry_failure a, retry_failure b)
{
    return a.reason == b.reason && a.safety == b.safety && a.fault == b.fault &&
           a.throttle == b.throttle && a.timeout == b.timeout && a.unknown == b.unknown &&
           a.pushback == b.pushback && a.unsent == b.unsent && a.retry_after == b.retry_after &&
           a.code == b.code;
}

static void check_failure(retry_failure expected, retry_failure got, const char *file, int line)
{
    if (same(expected, got) || !check_fault(file, line))
        return;
    printf(
        "expected %s, safety %u, fault %u, throttle %d, timeout %d, unknown %d, unsent %d, after "
        "%lu; got %s, %u, %u, %d, %d, %d, %d, %lu, code %lu\n",
        retry_reason_name(expected.reason), expected.safety, expected.fault, expected.throttle,
        expected.timeout, expected.unknown, expected.unsent, (unsigned long)expected.retry_after,
        retry_reason_name(got.reason), got.safety, got.fault, got.throttle, got.timeout,
        got.unknown, got.unsent, (unsigned long)got.retry_after, (unsigned long)got.code);
}

#define CHECK_FAILURE(expected, got) check_failure((expected), (got), __FILE__, __LINE__)

/* Which operations are tried again: all, those that are idempotent, none. */
enum { ALL, IDEMPOTENT, NONE };

/* What comes of an operation whose first attempt fails so: whether it is tried again, and whether
   it may have been done. */
static void check_decided(retry_failure failure, unsigned operations, bool ambiguous,
                          const char *file, int line)
{
    unsigned idempotent;
    for (idempotent = 0; idempotent < 2; idempotent++) {
        bool again = operations == ALL || (operations == IDEMPOTENT && idempotent);
        retry_operation op;
        memset(&op, 0, sizeof op);
        op.request.idempotent = idempotent;
        op.request.timeout = UINT32_MAX;
        retry_start(&op, NULL, 0);
        check_equal(RETRY_DO_SEND, retry_next(&op, 0).what, "the first attempt", file, line);
        retry_ended(&op, 0, &failure, 0);
        check_equal(again ? RETRY_DO_WAIT : RETRY_DO_END, retry_next(&op, 0).what,
                    idempotent ? "an idempotent operation" : "another operation", file, line);
        check_equal(ambiguous, op.request.ambiguous, "ambiguous", file, line);
        retry_stop(&op, 0);
    }
}

#define CHECK_DECIDED(failure, operations, ambiguous) \
    check_decided((failure), (operations), (ambiguous), __FILE__, __LINE__)

/* A copy on the heap of exactly `length` bytes, so that a sanitizer sees every byte read beyond. */
struct copy {
    char *memory;
    char *text;
};

static struct copy copy_of(const char *text, size_t length)
{
    struct copy copy;
    copy.memory = (char *)calloc(length ? length : 1, 1);
    copy.text = copy.memory;
    if (!copy.memory) {
        printf("out of memory\n");
        exit(1);
    }
    if (length > 0)
        memcpy(copy.memory, text, length);
    else
        copy.text++;
    return copy;
}

static const char *find(const char *text, size_t length, const char *part)
{
    size_t size = strlen(part), i;
    for (i = 0; i + size <= length; i++)
        if (memcmp(text + i, part, size) == 0)
            return text + i;
    return NULL;
}

/* ---- key-value ----------------------------------------------------------------------------- */

static bool kv_known(unsigned status)
{
    return status <= 0x06 || status == 0x08 || (status >= 0x20 && status <= 0x25) ||
           status == 0x80 || status == 0x81 || status == 0x83 || status == 0x84 || status == 0xa0 ||
           status == 0xa1 || status == 0xa3 || (status >= 0xc0 && status <= 0xd8);
}

static retry_reason kv_reason(unsigned status)
{
    switch (status) {
    case 0x07:
        return RETRY_REASON_KV_NOT_MY_VBUCKET;
    case 0x09:
        return RETRY_REASON_KV_LOCKED;
    case 0x86:
        return RETRY_REASON_KV_TEMPORARY_FAILURE;
    case 0x88:
        return RETRY_REASON_KV_COLLECTION_OUTDATED;
    case 0xa2:
        return RETRY_REASON_KV_SYNC_WRITE_IN_PROGRESS;
    case 0xa4:
        return RETRY_REASON_KV_SYNC_WRITE_RE_COMMIT_IN_PROGRESS;
    default:
        return RETRY_REASON_NONE;
    }
}

static retry_failure kv_expected(unsigned status, unsigned opcode)
{
    retry_reason reason = kv_reason(status);
    bool retried = reason != RETRY_REASON_NONE;
    bool excepted = (opcode >= 0x50 && opcode <= 0x67) || (status == 0x09 && opcode == 0x95) ||
                    (status == 0x88 && opcode == 0xbb);
    retry_failure failure = plain(RETRY_REASON_NONE, status);
    if (retried && !excepted)
        failure.reason = reason;
    failure.unknown = !retried && !kv_known(status);
    return failure;
}

static void check_kv(unsigned status, unsigned opcode)
{
    check_row("status 0x%04x, opcode 0x%02x", status, opcode);
    CHECK_FAILURE(kv_expected(status, opcode),
                  retry_classify_kv((uint16_t)status, (uint8_t)opcode));
}

static void test_kv_statuses(void)
{
    static const uint8_t opcodes[] = {0x00, 0x01, 0x4f, 0x50, 0x51, 0x66, 0x67,
                                      0x68, 0x94, 0x95, 0x96, 0xba, 0xbb, 0xbc};
    uint32_t status;
    size_t i;
    for (status = 0; status <= UINT16_MAX; status = check_next(status))
        for (i = 0; i < CHECK_COUNT(opcodes); i++)
            check_kv((unsigned)status, opcodes[i]);
}

static void test_kv_opcodes(void)
{
    unsigned status, opcode;
    for (status = 0; status <= 0x1ff; status++)
        for (opcode = 0; opcode <= UINT8_MAX; opcode++)
            check_kv(status, opcode);
}

/* ---- query and analytics ------------------------------------------------------------------- */

static const char index_not_found[] = "queryport.indexNotFound";

static retry_failure query_expected(uint32_t code, const char *message, size_t length, bool flag)
{
    retry_failure failure = plain(RETRY_REASON_NONE, code);
    if (code == 4040 || code == 4050 || code == 4070)
        failure.reason = RETRY_REASON_QUERY_PREPARED_STATEMENT_FAILURE;
    else if (code == 5000 && find(message, length, index_not_found))
        failure.reason = RETRY_REASON_QUERY_INDEX_NOT_FOUND;
    else if (flag && code != 12016)
        failure.reason = RETRY_REASON_QUERY_ERROR_RETRYABLE;
    return failure;
}

static void check_query(uint32_t code, const char *message, size_t length)
{
    struct copy copy = copy_of(message, length);
    int flag;
    for (flag = 0; flag <= 1; flag++) {
        check_row("code %lu, retry %d, \"%.*s\"", (unsigned long)code, flag, (int)length, message);
        CHECK_FAILURE(query_expected(code, message, length, flag),
                      retry_classify_query(code, copy.text, length, flag));
    }
    free(copy.memory);
}

static void test_query_codes(void)
{
    static const uint32_t codes[] = {65536, UINT32_C(4040) << 16, UINT32_C(5000) << 16,
                                     12016 + 65536, UINT32_MAX};
    uint32_t code;
    size_t i;
    for (code = 0; code < 25000; code++) {
        check_query(code, "x", 1);
        if (code % 10 == 0)
            check_query(code, index_not_found, sizeof index_not_found - 1);
    }
    for (i = 0; i < CHECK_COUNT(codes); i++)
        check_query(codes[i], index_not_found, sizeof index_not_found - 1);
}

static void test_query_without_message(void)
{
    CHECK_FAILURE(plain(RETRY_REASON_NONE, 5000), retry_classify_query(5000, NULL, 0, false));
    CHECK_FAILURE(plain(RETRY_REASON_NONE, 5000), retry_classify_query(5000, NULL, 5, false));
    CHECK_FAILURE(plain(RETRY_REASON_QUERY_ERROR_RETRYABLE, 5000),
                  retry_classify_query(5000, NULL, 0, true));
    CHECK_FAILURE(plain(RETRY_REASON_QUERY_PREPARED_STATEMENT_FAILURE, 4050),
                  retry_classify_query(4050, NULL, 0, false));
}

static void test_query_messages(void)
{
    static const char *const messages[] = {
        "queryport.indexNotFound",
        "GSI index: queryport.indexNotFound - cause: no such index",
        "queryport.indexNotqueryport.indexNotFound",
        "qqueryport.indexNotFound",
        "queryport.queryport.indexNotFoun",
        "queryport.indexnotfound",
        "queryport,indexNotFound",
        "queryport. indexNotFound",
        "",
    };
    size_t i, length;
    for (i = 0; i < CHECK_COUNT(messages); i++)
        for (length = 0; length <= strlen(messages[i]); length++)
            check_query(5000, messages[i], length);
    check_query(5000, "a\0queryport.indexNotFound", 25);
    check_query(5000, "a\0queryport.index\0otFound", 25);
}

static void test_analytics(void)
{
    static const uint32_t wide[] = {23000 + 65536, UINT32_C(23003) << 16, UINT32_MAX};
    uint32_t code;
    size_t i;
    for (code = 0; code < 30000; code++) {
        bool retried = code == 23000 || code == 23003 || code == 23007;
        check_row("code %lu", (unsigned long)code);
        CHECK_FAILURE(plain(retried ? (retry_reason)RETRY_REASON_ANALYTICS_TEMPORARY_FAILURE
                                    : (retry_reason)RETRY_REASON_NONE,
                            code),
                      retry_classify_analytics(code));
    }
    for (i = 0; i < CHECK_COUNT(wide); i++)
        CHECK_FAILURE(plain(RETRY_REASON_NONE, wide[i]), retry_classify_analytics(wide[i]));
}

/* ---- HTTP statuses ------------------------------------------------------------------------- */

/* Calls `check` with every status of three digits, and with what no server should send. */
static void each_status(void (*check)(int status))
{
    static const int strange[] = {
        INT_MIN,
        -503,
        -1,
        INT_MAX,
#if INT_MAX > 0x7fff
        65536 + 503,
        65536 + 429,
        (1 << 24) + 4,
        0x7fff0000 + 500
#endif
    };
    int status;
    size_t i;
    for (status = 0; status < 1100; status++)
        check(status);
    for (i = 0; i < CHECK_COUNT(strange); i++)
        check(strange[i]);
}

/* The first row that fits a status, with its source. A word that a proxy may say, too, proves
   nothing: a proxy's built-in page is a 503 with "Retry-After: 5" for any fault of its server, also
   of one that had the request. */
enum { WITHOUT, WITH, EITHER }; /* a Retry-After */

static const struct http_rule {
    int first, last;
    uint8_t header;
    retry_reason reason;
    uint8_t fault, operations;
    bool throttle, timeout;
} http_rules[] = {
#define REFUSED RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED
#define ERROR RETRY_REASON_SERVER_ERROR
#define CLIENT RETRY_FAULT_CLIENT
#define SERVER RETRY_FAULT_SERVER
    /* RFC 9110, 15.5.20: "MAY retry the request (whether or not the request method is idempotent)
       over a different connection" */
    {421, 421, EITHER, REFUSED, CLIENT, ALL, false, false},
    {425, 425, EITHER, REFUSED, CLIENT, ALL, false, false}, /* RFC 8470, 5.2: not processed */
    {429, 429, EITHER, REFUSED, CLIENT, ALL, true, false},  /* RFC 6585, 4 */
    {529, 529, EITHER, REFUSED, SERVER, ALL, true, false},  /* "overloaded", as 429 */
    /* RFC 9110, 15.5.9; of a proxy whose timer ran out after the whole request, too */
    {408, 408, EITHER, ERROR, RETRY_FAULT_OTHER, IDEMPOTENT, false, true},
    /* RFC 9110, 10.2.3: when to make "a follow-up request". 403: GitHub; 413: 15.5.14; 420, 430:
       others' 429; 423: RFC 4918; 449: Microsoft's */
    {400, 499, WITH, REFUSED, CLIENT, ALL, true, false},
    {400, 499, WITHOUT, RETRY_REASON_NONE, CLIENT, NONE, false, false}, /* 15.5: the client erred */
    {503, 503, WITH, ERROR, SERVER, IDEMPOTENT, true, false},           /* a proxy's, too */
    {504, 504, EITHER, ERROR, SERVER, IDEMPOTENT, false, true},         /* 15.6.5: a proxy waited */
    {501, 501, EITHER, RETRY_REASON_NONE, CLIENT, NONE, false, false},  /* 15.6.2: not supported */
    {505, 505, EITHER, RETRY_REASON_NONE, CLIENT, NONE, false, false},  /* 15.6.6: HTTP's version */
    {506, 506, EITHER, RETRY_REASON_NONE, CLIENT, NONE, false, false},  /* RFC 2295, 8.1 */
    {507, 507, EITHER, RETRY_REASON_NONE, CLIENT, NONE, false, false},  /* RFC 4918, 11.5 */
    {508, 508, EITHER, RETRY_REASON_NONE, CLIENT, NONE, false, false},  /* RFC 5842, 7.2 */
    {510, 510, EITHER, RETRY_REASON_NONE, CLIENT, NONE, false, false},  /* RFC 2774, 7 */
    {511, 511, EITHER, RETRY_REASON_NONE, CLIENT, NONE, false, false},  /* RFC 6585, 6: log in */
    {500, 599, EITHER, ERROR, SERVER, IDEMPOTENT, false, false},        /* RFC 9110, 15.6 */
    {INT_MIN, INT_MAX, EITHER, RETRY_REASON_NONE, RETRY_FAULT_OTHER, NONE, false, false},
#undef REFUSED
#undef ERROR
#undef CLIENT
#undef SERVER
};

static void check_http(int status)
{
    static const retry_ms waits[] = {0, 1, 30000, UINT32_MAX};
    size_t i;
    for (i = 0; i < CHECK_COUNT(waits); i++) {
        const struct http_rule *rule = http_rules;
        uint8_t header = waits[i] != 0 ? WITH : WITHOUT;
        retry_failure expected, got = retry_classify_http(status, waits[i]);
        while (status < rule->first || status > rule->last ||
               (rule->header != EITHER && rule->header != header))
            rule++;
        expected = plain(rule->reason, (uint32_t)(int64_t)status & UINT32_MAX);
        expected.fault = rule->fault;
        expected.throttle = rule->throttle;
        expected.timeout = rule->timeout;
        expected.retry_after = waits[i];
        check_row("status %d, retry after %lu", status, (unsigned long)waits[i]);
        CHECK_FAILURE(expected, got);
        CHECK_DECIDED(got, rule->operations, rule->operations == IDEMPOTENT);
    }
}

static void test_http(void)
{
    each_status(check_http);
}

/* Who knows that his server says it before it works says so. */
static void test_http_known_server(void)
{
    retry_failure failure = retry_classify_http(503, 5000);
    failure.safety = RETRY_SAFETY_YES;
    CHECK_DECIDED(failure, ALL, false);
}

static void check_search(int status)
{
    retry_failure expected = plain(RETRY_REASON_NONE, (uint32_t)(int64_t)status & UINT32_MAX);
    if (status == 429)
        expected.reason = RETRY_REASON_SEARCH_TOO_MANY_REQUESTS;
    expected.throttle = status == 429;
    check_row("status %d", status);
    CHECK_FAILURE(expected, retry_classify_search(status));
}

static void test_search(void)
{
    each_status(check_search);
}

/* ---- views --------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_space(const char *text, size_t length, size_t at)
{
    while (at < length && is_space(text[at]))
        at++;
    return at;
}

static bool says_missing(const char *text, size_t length)
{
    static const char key[] = "\"reason\"", value[] = "\"missing\"";
    size_t at, start;
    for (start = 0; start + sizeof key - 1 <= length; start++) {
        if (memcmp(text + start, key, sizeof key - 1) != 0)
            continue;
        at = skip_space(text, length, start + sizeof key - 1);
        if (at == length || text[at] != ':')
            continue;
        at = skip_space(text, length, at + 1);
        if (length - at >= sizeof value - 1 && memcmp(text + at, value, sizeof value - 1) == 0)
            return true;
    }
    return false;
}

static bool says_gone(const char *text, size_t length)
{
    return find(text, length, "error") && (find(text, length, "{not_found, missing_named_view}") ||
                                           find(text, length, "\"badarg\""));
}

static bool views_retried(int status, const char *body, size_t length)
{
    static const int always[] = {300, 301, 303, 307, 401, 408, 409,
                                 412, 416, 417, 501, 502, 503, 504};
    size_t i;
    for (i = 0; i < CHECK_COUNT(always); i++)
        if (status == always[i])
            return true;
    return (status == 404 && says_missing(body, length)) ||
           (status == 500 && !says_gone(body, length));
}

static void check_views(int status, const char *body, size_t length)
{
    struct copy copy = copy_of(body, length);
    retry_failure expected = plain(RETRY_REASON_NONE, (uint32_t)(int64_t)status & UINT32_MAX);
    retry_failure got = retry_classify_views(status, copy.text, length);
    if (status == 302)
        expected.reason = RETRY_REASON_VIEWS_NO_ACTIVE_PARTITION;
    else if (views_retried(status, body, length))
        expected.reason = RETRY_REASON_VIEWS_TEMPORARY_FAILURE;
    got.timeout = false; /* not the RFC's business */
    check_row("status %d, \"%.*s\"", status, (int)length, body);
    CHECK_FAILURE(expected, got);
    free(copy.memory);
}

static const char *const bodies[] = {
    "",
    "{\"error\":\"not_found\",\"reason\":\"missing\"}",
    "{\"reason\" : \"missing\"}",
    "{\"reason\"\t\r\n :\n\t\r \"missing\"}",
    "{\"reason\":\"deleted\",\"reason\":\"missing\"}",
    "{\"reason\" \"reason\":\"missing\"}",
    "{\"reason\":\"reason\":\"missing\"}",
    "{\"reason\"\"missing\"}",
    "{\"reason\"::\"missing\"}",
    "{\"reason\":\"missing_named_view\"}",
    "{\"reason\":missing}",
    "{reason:\"missing\"}",
    "{\"reason\":\"Missing\"}",
    "{\"reason\":\v\"missing\"}",
    "{\"error\":\"case_clause\",\"reason\":\"{not_found, missing_named_view}\"}",
    "{\"error\":\"case_clause\",\"reason\":\"{not_found,missing_named_view}\"}",
    "{\"error\":\"error\",\"reason\":\"badarg\"}",
    "{\"reason\":\"badarg\",\"error\":1}",
    "{\"reason\":\"badarg\"}",
    "{\"error\":badarg}",
    "{\"reason\":\"{not_found, missing_named_view}\"}",
    "errorerr{not_found, {not_found, missing_named_view}",
    "eerror\"bad\"badarg\"",
    "error\"badar\"",
};

static void check_views_status(int status)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(bodies); i++)
        check_views(status, bodies[i], strlen(bodies[i]));
}

static void test_views_statuses(void)
{
    each_status(check_views_status);
}

static void test_views_cut(void)
{
    size_t i, length;
    for (i = 0; i < CHECK_COUNT(bodies); i++) {
        for (length = 0; length <= strlen(bodies[i]); length++) {
            check_views(404, bodies[i], length);
            check_views(500, bodies[i], length);
        }
    }
}

static void test_views_with_zero_bytes(void)
{
    check_views(404, "\0\"reason\":\"missing\"", 19);
    check_views(404, "\"reason\"\0:\"missing\"", 19);
    check_views(500, "error\0\"badarg\"", 14);
    check_views(500, "error\0\"badarg\0", 14);
}

static void test_views_without_body(void)
{
    CHECK_FAILURE(plain(RETRY_REASON_NONE, 404), retry_classify_views(404, NULL, 0));
    CHECK_FAILURE(plain(RETRY_REASON_VIEWS_TEMPORARY_FAILURE, 500),
                  retry_classify_views(500, NULL, 0));
    CHECK_FAILURE(plain(RETRY_REASON_VIEWS_NO_ACTIVE_PARTITION, 302),
                  retry_classify_views(302, NULL, 0));
}

/* ---- errno --------------------------------------------------------------------------------- */

enum { FINAL, LOST, HERE, TIMED_OUT };

/* The table of retry_classify_errno's comment, by name. */
static int kind_of(int error)
{
    (void)error;                   /* where there are no names */
    if (error == 0 || error == -3) /* EAI_AGAIN: glibc's <netdb.h> */
        return LOST;
#ifdef ETIMEDOUT
    if (error == ETIMEDOUT)
        return TIMED_OUT;
#endif
#ifdef EAGAIN
    if (error == EAGAIN)
        return TIMED_OUT;
#endif
#ifdef EWOULDBLOCK
    if (error == EWOULDBLOCK)
        return TIMED_OUT;
#endif
#ifdef ECONNREFUSED
    if (error == ECONNREFUSED)
        return LOST;
#endif
#ifdef ENETDOWN
    if (error == ENETDOWN)
        return LOST;
#endif
#ifdef ENETUNREACH
    if (error == ENETUNREACH)
        return LOST;
#endif
#ifdef EHOSTDOWN
    if (error == EHOSTDOWN)
        return LOST;
#endif
#ifdef EHOSTUNREACH
    if (error == EHOSTUNREACH)
        return LOST;
#endif
#ifdef EADDRNOTAVAIL
    if (error == EADDRNOTAVAIL)
        return HERE;
#endif
#ifdef EMFILE
    if (error == EMFILE)
        return HERE;
#endif
#ifdef ENFILE
    if (error == ENFILE)
        return HERE;
#endif
#ifdef ENOBUFS
    if (error == ENOBUFS)
        return HERE;
#endif
#ifdef ENOMEM
    if (error == ENOMEM)
        return HERE;
#endif
#ifdef ENETRESET
    if (error == ENETRESET)
        return LOST;
#endif
#ifdef ECONNRESET
    if (error == ECONNRESET)
        return LOST;
#endif
#ifdef ECONNABORTED
    if (error == ECONNABORTED)
        return LOST;
#endif
#ifdef EPIPE
    if (error == EPIPE)
        return LOST;
#endif
#ifdef _WIN32 /* test_switches.sh defines it on any machine */
    switch (error) {
    case 10060: /* WSAETIMEDOUT */
    case 10035: /* WSAEWOULDBLOCK */
        return TIMED_OUT;
    case 10024: /* WSAEMFILE */
    case 10049: /* WSAEADDRNOTAVAIL */
    case 10055: /* WSAENOBUFS */
        return HERE;
    case 10050: /* WSAENETDOWN */
    case 10051: /* WSAENETUNREACH */
    case 10052: /* WSAENETRESET */
    case 10053: /* WSAECONNABORTED */
    case 10054: /* WSAECONNRESET */
    case 10061: /* WSAECONNREFUSED */
    case 10064: /* WSAEHOSTDOWN */
    case 10065: /* WSAEHOSTUNREACH */
    case 11002: /* WSATRY_AGAIN */
        return LOST;
    }
#endif
    return FINAL;
}

static void check_errno(int error)
{
    retry_failure unsent = plain(RETRY_REASON_NONE, (uint32_t)(int64_t)error & UINT32_MAX);
    retry_failure sent = unsent;
    bool timeout = kind_of(error) == TIMED_OUT;
    unsent.unsent = true;
    if (kind_of(error) != FINAL)
        unsent.reason = RETRY_REASON_SOCKET_NOT_AVAILABLE;
    if (kind_of(error) == FINAL || kind_of(error) == HERE)
        unsent.fault = RETRY_FAULT_CLIENT;
    sent.reason = timeout ? (retry_reason)RETRY_REASON_ATTEMPT_TIMED_OUT
                          : (retry_reason)RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT;
    sent.timeout = timeout;
    check_row("error %d", error);
    CHECK_FAILURE(unsent, retry_classify_errno(error, false));
    CHECK_FAILURE(sent, retry_classify_errno(error, true));
    CHECK_DECIDED(unsent, kind_of(error) == FINAL ? NONE : ALL, false);
    CHECK_DECIDED(sent, IDEMPOTENT, true);
}

static void test_errno(void)
{
    static const int strange[] = {INT_MIN, INT_MIN + 1, -10061, INT_MAX - 1, INT_MAX};
    int error;
    size_t i;
    for (error = -200; error <= 12000; error++)
        check_errno(error);
    for (i = 0; i < CHECK_COUNT(strange); i++)
        check_errno(strange[i]);
}

/* ---- gRPC ---------------------------------------------------------------------------------- */

static const struct grpc_rule {
    int status;
    retry_reason reason;
    uint8_t fault, operations;
    bool throttle, timeout, ambiguous;
} grpc_rules[] = {
    /* said by whoever runs the call, the handler's own exceptions among them: nobody knows */
    {1, RETRY_REASON_UNKNOWN, 0, NONE, false, false, true},  /* CANCELLED */
    {2, RETRY_REASON_UNKNOWN, 0, NONE, false, false, true},  /* UNKNOWN */
    {13, RETRY_REASON_UNKNOWN, 0, NONE, false, false, true}, /* INTERNAL */
    {15, RETRY_REASON_UNKNOWN, 0, NONE, false, false, true}, /* DATA_LOSS */
    /* "may be returned even if the operation has completed successfully" */
    {4, RETRY_REASON_ATTEMPT_TIMED_OUT, 0, IDEMPOTENT, false, true, true}, /* DEADLINE_EXCEEDED */
    /* also of the client's own library, for an answer that was too large */
    {8, RETRY_REASON_SERVER_ERROR, 0, IDEMPOTENT, true, false, true}, /* RESOURCE_EXHAUSTED */
    /* of a proxy whose server had it; "not always safe to retry non-idempotent operations" */
    {14, RETRY_REASON_SERVER_ERROR, RETRY_FAULT_SERVER, IDEMPOTENT, false, false, true},
};

static void check_grpc(int status)
{
    retry_failure got = retry_classify_grpc(status);
    struct grpc_rule rule = {0, RETRY_REASON_NONE, 0, NONE, false, false, false};
    retry_failure expected;
    size_t i;
    if (status < 0 || status > 16) /* no code of gRPC's: taken for UNKNOWN */
        rule = grpc_rules[1];
    for (i = 0; i < CHECK_COUNT(grpc_rules); i++)
        if (grpc_rules[i].status == status)
            rule = grpc_rules[i];
    expected = plain(rule.reason, (uint32_t)(int64_t)status & UINT32_MAX);
    expected.fault = rule.fault;
    expected.throttle = rule.throttle;
    expected.timeout = rule.timeout;
    check_row("status %d", status);
    CHECK_FAILURE(expected, got);
    CHECK_DECIDED(got, rule.operations, rule.ambiguous);
}

static void test_grpc(void)
{
    int status;
    for (status = -20; status <= 600; status++)
        check_grpc(status);
    check_grpc(INT_MIN);
    check_grpc(INT_MAX);
}

/* ---- stages -------------------------------------------------------------------------------- */

/* What reached nobody was not done, whatever the reason: an application's own, for an empty pool.
 */
static void test_stages(void)
{
    unsigned stage, reason;
    for (reason = 0; reason <= UINT8_MAX; reason++) {
        retry_failure expected = plain((retry_reason)reason, 0);
        retry_failure got = retry_classify_stage(RETRY_STAGE_DISPATCH, (retry_reason)reason);
        expected.unsent = true;
        check_row("reason %s, 0x%02x", retry_reason_name((retry_reason)reason), reason);
        CHECK_FAILURE(expected, got);
        if (reason == RETRY_REASON_NONE || reason == RETRY_REASON_UNKNOWN ||
            reason == RETRY_REASON_CLIENT_THROTTLED ||
            strcmp(retry_reason_name((retry_reason)reason), "INVALID") == 0)
            CHECK_DECIDED(got, NONE, false);
        else
            CHECK_DECIDED(got, ALL, false);
    }
    for (stage = 1; stage <= UINT8_MAX; stage++) {
        check_row("stage %u", stage);
        CHECK_FAILURE(plain(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, 0),
                      retry_classify_stage((uint8_t)stage, RETRY_REASON_SERVICE_NOT_AVAILABLE));
    }
    CHECK_EQUAL(0, RETRY_STAGE_DISPATCH);
    CHECK_EQUAL(1, RETRY_STAGE_IN_FLIGHT);
}

/* ---- idempotency --------------------------------------------------------------------------- */

static void test_idempotent_kv(void)
{
    static const uint8_t idempotent[] = {0x00, 0x09, 0x0a, 0x0c, 0x0d, 0x83, 0x91, 0x92,
                                         0xb5, 0xba, 0xbb, 0xc5, 0xc6, 0xd0, 0xd2};
    unsigned opcode;
    for (opcode = 0; opcode <= UINT8_MAX; opcode++) {
        bool expected = memchr(idempotent, (int)opcode, sizeof idempotent) != NULL;
        check_row("opcode 0x%02x", opcode);
        CHECK_EQUAL(expected, retry_idempotent_kv((uint8_t)opcode));
    }
}

static bool idempotent_http(const char *method, size_t length)
{
    struct copy copy = copy_of(method, length);
    bool idempotent = retry_idempotent_http(copy.text, length);
    free(copy.memory);
    return idempotent;
}

static void test_idempotent_http(void)
{
    static const char *const idempotent[] = {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"};
    static const char *const others[] = {"POST",   "PATCH", "CONNECT",       "get",    "Get",
                                         "GET ",   " GET",  "GETS",          "PUTT",   "delete",
                                         "HEADER", "",      "PROPFIND",      "TRACEX", "OPTION",
                                         "GEt",    "PU",    "OPTIONSOPTIONS"};
    size_t i, length;
    for (i = 0; i < CHECK_COUNT(idempotent); i++) {
        size_t whole = strlen(idempotent[i]);
        for (length = 0; length <= whole; length++) {
            check_row("%.*s", (int)length, idempotent[i]);
            CHECK_EQUAL(length == whole, idempotent_http(idempotent[i], length));
        }
        CHECK(!idempotent_http(idempotent[i], whole + 1)); /* with its zero byte */
    }
    for (i = 0; i < CHECK_COUNT(others); i++) {
        check_row("%s", others[i]);
        CHECK(!idempotent_http(others[i], strlen(others[i])));
    }
    check_row("NULL");
    CHECK(!retry_idempotent_http(NULL, 0));
    CHECK(!retry_idempotent_http(NULL, 3));
}

/* RFC 0049's list, for every number that a service may have. */
static void test_idempotent_service(void)
{
    static const struct {
        uint8_t service;
        bool written, read;
    } rows[] = {{RETRY_SERVICE_KV, false, false},       {RETRY_SERVICE_QUERY, false, true},
                {RETRY_SERVICE_ANALYTICS, false, true}, {RETRY_SERVICE_SEARCH, true, true},
                {RETRY_SERVICE_VIEWS, true, true},      {RETRY_SERVICE_MANAGEMENT, false, true}};
    unsigned service;
    for (service = 0; service <= UINT8_MAX; service++) {
        bool named = false;
        size_t i;
        check_row("service %u", service);
        for (i = 0; i < CHECK_COUNT(rows); i++) {
            if (rows[i].service != service)
                continue;
            CHECK(!named); /* a number of its own */
            named = true;
            CHECK_EQUAL(rows[i].written, retry_idempotent_service((uint8_t)service, false));
            CHECK_EQUAL(rows[i].read, retry_idempotent_service((uint8_t)service, true));
        }
        if (!named) {
            CHECK(!retry_idempotent_service((uint8_t)service, false));
            CHECK(!retry_idempotent_service((uint8_t)service, true));
        }
    }
}

int main(void)
{
    RUN(test_kv_statuses);
    RUN(test_kv_opcodes);
    RUN(test_query_codes);
    RUN(test_query_without_message);
    RUN(test_query_messages);
    RUN(test_analytics);
    RUN(test_http);
    RUN(test_http_known_server);
    RUN(test_search);
    RUN(test_views_statuses);
    RUN(test_views_cut);
    RUN(test_views_with_zero_bytes);
    RUN(test_views_without_body);
    RUN(test_errno);
    RUN(test_grpc);
    RUN(test_stages);
    RUN(test_idempotent_kv);
    RUN(test_idempotent_http);
    RUN(test_idempotent_service);
    return check_done();
}
