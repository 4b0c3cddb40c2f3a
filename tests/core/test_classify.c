/* What each protocol's answer means for a retry: every status and code against independent rules,
   texts cut at every byte, and which operations are idempotent. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/failures.h"

#include <errno.h>
#include <stdlib.h>

/* Which operations are tried again: all, those that are idempotent, none. */
enum { ALL, IDEMPOTENT, NONE };

/* What comes of an operation whose first attempt fails so: whether it is tried again, and whether
   it may have been done. */
static void check_decided(retry_failure failure, unsigned operations, bool ambiguous,
                          const char *file, int line)
{
    unsigned idempotent;
    for (idempotent = 0; idempotent < 2; idempotent++) {
        static retry_client client; /* zeroed */
        bool again = operations == ALL || (operations == IDEMPOTENT && idempotent);
        retry_operation op;
        memset(&op, 0, sizeof op);
        op.client = &client;
        op.idempotent = idempotent;
        op.timeout = UINT32_MAX;
        retry_start(&op, NULL, 0);
        check_equal(RETRY_DO_SEND, retry_next(&op, 0).what, "the first attempt", file, line);
        retry_ended(&op, 0, &failure, 0);
        check_equal(again ? RETRY_DO_WAIT : RETRY_DO_END, retry_next(&op, 0).what,
                    idempotent ? "an idempotent operation" : "another operation", file, line);
        check_equal(ambiguous, op.ambiguous, "ambiguous", file, line);
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

/* ---- HTTP statuses ------------------------------------------------------------------------- */

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
#ifdef EINPROGRESS
    if (error == EINPROGRESS) /* Linux: a blocking connect that SO_SNDTIMEO ended */
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
    case 121:   /* ERROR_SEM_TIMEOUT, of an overlapped call */
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
    case 64:    /* ERROR_NETNAME_DELETED, of an overlapped call, as those that follow */
    case 1225:  /* ERROR_CONNECTION_REFUSED */
    case 1231:  /* ERROR_NETWORK_UNREACHABLE */
    case 1232:  /* ERROR_HOST_UNREACHABLE */
    case 1234:  /* ERROR_PORT_UNREACHABLE */
    case 1236:  /* ERROR_CONNECTION_ABORTED */
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

int main(void)
{
    RUN(test_http);
    RUN(test_http_known_server);
    if (ECONNREFUSED != EMFILE) /* of avr-libc all errors are one number */
        RUN(test_errno);
    RUN(test_grpc);
    RUN(test_stages);
    RUN(test_idempotent_http);
    return check_done();
}
