/* What each service's answer means for a retry without an error map: every status and code against
   independent rules, texts cut at every byte, and which operations are idempotent (RFC 0049). */
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"
#include "../support/check.h"
#include "../support/errmap_fixture.h"
#include "../support/failures.h"

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
    const errmap_advice advice = errmap_classify_kv(NULL, (uint16_t)status, (uint8_t)opcode);
    check_row("status 0x%04x, opcode 0x%02x", status, opcode);
    CHECK_FAILURE(kv_expected(status, opcode), advice.failure);
    CHECK(!advice.entry && !advice.refresh_config && !advice.reconnect);
    CHECK(!advice.authentication && !advice.special);
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
    fixture copy = fixture_copy(message, length);
    int flag;
    for (flag = 0; flag <= 1; flag++) {
        check_row("code %lu, retry %d, \"%.*s\"", (unsigned long)code, flag, (int)length, message);
        CHECK_FAILURE(query_expected(code, message, length, flag),
                      errmap_classify_query(code, copy.text, length, flag));
    }
    fixture_free(copy);
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
    CHECK_FAILURE(plain(RETRY_REASON_NONE, 5000), errmap_classify_query(5000, NULL, 0, false));
    CHECK_FAILURE(plain(RETRY_REASON_NONE, 5000), errmap_classify_query(5000, NULL, 5, false));
    CHECK_FAILURE(plain(RETRY_REASON_QUERY_ERROR_RETRYABLE, 5000),
                  errmap_classify_query(5000, NULL, 0, true));
    CHECK_FAILURE(plain(RETRY_REASON_QUERY_PREPARED_STATEMENT_FAILURE, 4050),
                  errmap_classify_query(4050, NULL, 0, false));
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
                      errmap_classify_analytics(code));
    }
    for (i = 0; i < CHECK_COUNT(wide); i++)
        CHECK_FAILURE(plain(RETRY_REASON_NONE, wide[i]), errmap_classify_analytics(wide[i]));
}

/* ---- search and views ---------------------------------------------------------------------- */

static void check_search(int status)
{
    retry_failure expected = plain(RETRY_REASON_NONE, (uint32_t)(int64_t)status & UINT32_MAX);
    if (status == 429)
        expected.reason = RETRY_REASON_SEARCH_TOO_MANY_REQUESTS;
    expected.throttle = status == 429;
    check_row("status %d", status);
    CHECK_FAILURE(expected, errmap_classify_search(status));
}

static void test_search(void)
{
    each_status(check_search);
}

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
    fixture copy = fixture_copy(body, length);
    retry_failure expected = plain(RETRY_REASON_NONE, (uint32_t)(int64_t)status & UINT32_MAX);
    retry_failure got = errmap_classify_views(status, copy.text, length);
    if (status == 302)
        expected.reason = RETRY_REASON_VIEWS_NO_ACTIVE_PARTITION;
    else if (views_retried(status, body, length))
        expected.reason = RETRY_REASON_VIEWS_TEMPORARY_FAILURE;
    got.timeout = false; /* not the RFC's business */
    check_row("status %d, \"%.*s\"", status, (int)length, body);
    CHECK_FAILURE(expected, got);
    fixture_free(copy);
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
    CHECK_FAILURE(plain(RETRY_REASON_NONE, 404), errmap_classify_views(404, NULL, 0));
    CHECK_FAILURE(plain(RETRY_REASON_VIEWS_TEMPORARY_FAILURE, 500),
                  errmap_classify_views(500, NULL, 0));
    CHECK_FAILURE(plain(RETRY_REASON_VIEWS_NO_ACTIVE_PARTITION, 302),
                  errmap_classify_views(302, NULL, 0));
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
        CHECK_EQUAL(expected, errmap_idempotent_kv((uint8_t)opcode));
    }
}

/* RFC 0049's list, for every number that a service may have. */
static void test_idempotent_service(void)
{
    static const struct {
        uint8_t service;
        bool written, read;
    } rows[] = {{ERRMAP_SERVICE_KV, false, false},       {ERRMAP_SERVICE_QUERY, false, true},
                {ERRMAP_SERVICE_ANALYTICS, false, true}, {ERRMAP_SERVICE_SEARCH, true, true},
                {ERRMAP_SERVICE_VIEWS, true, true},      {ERRMAP_SERVICE_MANAGEMENT, false, true}};
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
            CHECK_EQUAL(rows[i].written, errmap_idempotent_service((uint8_t)service, false));
            CHECK_EQUAL(rows[i].read, errmap_idempotent_service((uint8_t)service, true));
        }
        if (!named) {
            CHECK(!errmap_idempotent_service((uint8_t)service, false));
            CHECK(!errmap_idempotent_service((uint8_t)service, true));
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
    RUN(test_search);
    RUN(test_views_statuses);
    RUN(test_views_cut);
    RUN(test_views_with_zero_bytes);
    RUN(test_views_without_body);
    RUN(test_idempotent_kv);
    RUN(test_idempotent_service);
    return check_done();
}
