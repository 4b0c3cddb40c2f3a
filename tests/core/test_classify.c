/* What each protocol's answer means for a retry: every status and code against independent rules,
   texts cut at every byte, and which operations are idempotent. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/failures.h"

#include <errno.h>
#include <stdlib.h>

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

static retry_failure http_expected(int status, retry_ms retry_after)
{
    retry_failure failure = plain(RETRY_REASON_NONE, (uint32_t)(int64_t)status & UINT32_MAX);
    failure.retry_after = retry_after;
    if (status >= 400 && status <= 499)
        failure.fault = RETRY_FAULT_CLIENT;
    if (status >= 500 && status <= 599)
        failure.fault = RETRY_FAULT_SERVER;
    failure.throttle =
        status == 429 || status == 529 || ((status == 413 || status == 503) && retry_after > 0);
    if (status == 408 || status == 425 || failure.throttle)
        failure.reason = RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED;
    else if (status == 501 || status == 505)
        failure.safety = RETRY_SAFETY_NO;
    else if (failure.fault == RETRY_FAULT_SERVER)
        failure.reason = RETRY_REASON_SERVER_ERROR;
    failure.timeout = status == 408 || status == 504;
    return failure;
}

static void check_http(int status)
{
    static const retry_ms waits[] = {0, 1, 30000, UINT32_MAX};
    size_t i;
    for (i = 0; i < CHECK_COUNT(waits); i++) {
        retry_failure expected = http_expected(status, waits[i]);
        retry_failure got = retry_classify_http(status, waits[i]);
        if (expected.reason == RETRY_REASON_NONE) /* nothing is retried, so nothing waits */
            got.retry_after = expected.retry_after;
        check_row("status %d, retry after %lu", status, (unsigned long)waits[i]);
        CHECK_FAILURE(expected, got);
    }
}

static void test_http(void)
{
    each_status(check_http);
}

/* The numbers themselves. The operations: those that are safe to repeat, idempotent ones, none. */
static void test_http_by_number(void)
{
    enum { ALL = 1, IDEMPOTENT, NO };
    static const struct {
        int status;
        retry_ms retry_after;
        uint8_t operations;
        bool throttle;
    } rows[] = {
        {408, 0, ALL, false},        {425, 0, ALL, false},        {429, 0, ALL, true},
        {429, 1, ALL, true},         {529, 0, ALL, true},         {529, 9, ALL, true},
        {413, 0, NO, false},         {413, 1, ALL, true},         {503, 0, IDEMPOTENT, false},
        {503, 1, ALL, true},         {500, 0, IDEMPOTENT, false}, {502, 5, IDEMPOTENT, false},
        {504, 0, IDEMPOTENT, false}, {506, 0, IDEMPOTENT, false}, {507, 0, IDEMPOTENT, false},
        {508, 0, IDEMPOTENT, false}, {511, 0, IDEMPOTENT, false}, {520, 0, IDEMPOTENT, false},
        {530, 0, IDEMPOTENT, false}, {599, 0, IDEMPOTENT, false}, {501, 0, NO, false},
        {501, 9, NO, false},         {505, 0, NO, false},         {505, 9, NO, false},
        {400, 9, NO, false},         {404, 0, NO, false},         {409, 0, NO, false},
        {499, 0, NO, false},         {600, 0, NO, false},         {200, 0, NO, false}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = retry_classify_http(rows[i].status, rows[i].retry_after);
        retry_request request;
        unsigned idempotent;
        for (idempotent = 0; idempotent < 2; idempotent++) {
            memset(&request, 0, sizeof request);
            request.idempotent = idempotent;
            retry_begin(&request, 0);
            check_row("status %d, retry after %lu, idempotent %u", rows[i].status,
                      (unsigned long)rows[i].retry_after, idempotent);
            CHECK_EQUAL(rows[i].operations == ALL ||
                                (rows[i].operations == IDEMPOTENT && idempotent)
                            ? RETRY_VERDICT_RETRY
                            : RETRY_VERDICT_FAIL,
                        retry_orchestrate(&request, &failure, 0).verdict);
        }
        CHECK_EQUAL(rows[i].throttle, failure.throttle);
    }
}

/* ---- errno --------------------------------------------------------------------------------- */

enum { FINAL, LOST, TIMED_OUT };

/* The table of retry_classify_errno's comment, by name. */
static int kind_of(int error)
{
    (void)error; /* where there are no names */
    if (error == 0)
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
        return LOST;
#endif
#ifdef EMFILE
    if (error == EMFILE)
        return LOST;
#endif
#ifdef ENFILE
    if (error == ENFILE)
        return LOST;
#endif
#ifdef ENOBUFS
    if (error == ENOBUFS)
        return LOST;
#endif
#ifdef ENOMEM
    if (error == ENOMEM)
        return LOST;
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
    case 10050: /* WSAENETDOWN */
    case 10051: /* WSAENETUNREACH */
    case 10052: /* WSAENETRESET */
    case 10053: /* WSAECONNABORTED */
    case 10054: /* WSAECONNRESET */
    case 10055: /* WSAENOBUFS */
    case 10061: /* WSAECONNREFUSED */
    case 10064: /* WSAEHOSTDOWN */
    case 10065: /* WSAEHOSTUNREACH */
        return LOST;
    }
#endif
    return FINAL;
}

static void check_errno(int error)
{
    retry_failure unsent = plain(RETRY_REASON_NONE, (uint32_t)(int64_t)error & UINT32_MAX);
    retry_failure sent = unsent;
    switch (kind_of(error)) {
    case LOST:
        unsent.reason = RETRY_REASON_SOCKET_NOT_AVAILABLE;
        sent.reason = RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT;
        break;
    case TIMED_OUT:
        unsent.reason = RETRY_REASON_SOCKET_NOT_AVAILABLE;
        sent.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
        sent.timeout = true;
        break;
    default:
        unsent.fault = RETRY_FAULT_CLIENT;
        sent.reason = RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT;
    }
    check_row("error %d", error);
    CHECK_FAILURE(unsent, retry_classify_errno(error, false));
    CHECK_FAILURE(sent, retry_classify_errno(error, true));
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

/* What comes of them: nothing was sent, so any operation is tried again; or it was, so only an
   idempotent one is; or the program is wrong, which no retry cures. */
static void test_errno_decided(void)
{
#if defined(ECONNREFUSED) && defined(ECONNRESET) && defined(EINVAL) && defined(EACCES)
    static const struct {
        int error;
        bool sent, idempotent;
        uint8_t verdict;
    } rows[] = {{ECONNREFUSED, false, false, RETRY_VERDICT_RETRY},
                {ECONNRESET, false, false, RETRY_VERDICT_RETRY},
                {ECONNRESET, true, false, RETRY_VERDICT_FAIL},
                {ECONNRESET, true, true, RETRY_VERDICT_RETRY},
                {EINVAL, false, true, RETRY_VERDICT_FAIL},
                {EACCES, false, true, RETRY_VERDICT_FAIL},
                {EACCES, true, true, RETRY_VERDICT_RETRY},
                {EACCES, true, false, RETRY_VERDICT_FAIL},
                {0, false, false, RETRY_VERDICT_RETRY},
                {0, true, false, RETRY_VERDICT_FAIL},
                {0, true, true, RETRY_VERDICT_RETRY}};
    size_t i;
    if (ECONNREFUSED == EINVAL) /* avr-libc has one number for all that it never sets */
        return;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = retry_classify_errno(rows[i].error, rows[i].sent);
        retry_request request;
        memset(&request, 0, sizeof request);
        request.idempotent = rows[i].idempotent;
        retry_begin(&request, 0);
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].verdict, retry_orchestrate(&request, &failure, 0).verdict);
        CHECK_EQUAL(rows[i].sent, request.ambiguous);
    }
#endif
}

/* ---- gRPC ---------------------------------------------------------------------------------- */

static void check_grpc(int status)
{
    retry_failure expected = plain(RETRY_REASON_NONE, (uint32_t)(int64_t)status & UINT32_MAX);
    if (status == 4) {
        expected.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
        expected.timeout = true;
    } else if (status == 8) {
        expected.reason = RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED;
        expected.safety = RETRY_SAFETY_YES;
        expected.throttle = true;
    } else if (status == 14) {
        expected.reason = RETRY_REASON_SERVER_ERROR;
        expected.fault = RETRY_FAULT_SERVER;
    }
    check_row("status %d", status);
    CHECK_FAILURE(expected, retry_classify_grpc(status));
}

static void test_grpc(void)
{
    int status;
    for (status = -20; status <= 600; status++)
        check_grpc(status);
    check_grpc(INT_MIN);
    check_grpc(INT_MAX);
}

/* Those that an idempotent operation is tried again for, and those that any is. */
static void test_grpc_decided(void)
{
    int status;
    for (status = 0; status <= 16; status++) {
        retry_failure failure = retry_classify_grpc(status);
        unsigned idempotent;
        for (idempotent = 0; idempotent < 2; idempotent++) {
            bool again = status == 8 || (idempotent && (status == 4 || status == 14));
            retry_request request;
            memset(&request, 0, sizeof request);
            request.idempotent = idempotent;
            retry_begin(&request, 0);
            check_row("status %d, idempotent %u", status, idempotent);
            CHECK_EQUAL(again ? RETRY_VERDICT_RETRY : RETRY_VERDICT_FAIL,
                        retry_orchestrate(&request, &failure, 0).verdict);
        }
    }
}

/* ---- stages -------------------------------------------------------------------------------- */

static void test_stages(void)
{
    unsigned stage;
    uint32_t reason;
    for (reason = 0; reason <= UINT16_MAX; reason += 3) {
        check_row("reason 0x%04x", (unsigned)reason);
        CHECK_FAILURE(plain((retry_reason)reason, 0),
                      retry_classify_stage(RETRY_STAGE_DISPATCH, (retry_reason)reason));
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

/* A 503 alone: a proxy says it too when it lost a server that had the request. 1.0 sent a POST
   again. With a Retry-After the server itself refused. */
static void test_http_503(void)
{
    static const struct {
        retry_ms retry_after;
        bool idempotent;
        uint8_t verdict, cause;
        bool ambiguous;
    } rows[] = {
        {0, false, RETRY_VERDICT_FAIL, RETRY_CAUSE_NOT_IDEMPOTENT, true},
        {0, true, RETRY_VERDICT_RETRY, RETRY_CAUSE_STRATEGY, true},
        {1, false, RETRY_VERDICT_RETRY, RETRY_CAUSE_STRATEGY, false},
        {30000, true, RETRY_VERDICT_RETRY, RETRY_CAUSE_STRATEGY, false},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = retry_classify_http(503, rows[i].retry_after);
        retry_request request;
        memset(&request, 0, sizeof request);
        request.idempotent = rows[i].idempotent;
        retry_begin(&request, 0);
        check_row("row %u", (unsigned)i);
        check_decision(rows[i].verdict, rows[i].cause, retry_orchestrate(&request, &failure, 0),
                       __FILE__, __LINE__);
        CHECK_EQUAL(rows[i].ambiguous, request.ambiguous);
    }
}

int main(void)
{
    RUN(test_http);
    RUN(test_http_by_number);
    RUN(test_errno);
    RUN(test_errno_decided);
    RUN(test_grpc);
    RUN(test_grpc_decided);
    RUN(test_stages);
    RUN(test_idempotent_http);
    RUN(test_http_503);
    return check_done();
}
