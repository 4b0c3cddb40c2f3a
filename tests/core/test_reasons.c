/* RFC 0049's table of reasons to the letter, the added ones, the application's, and all others. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/reasons.h"

#define ALLOWS RETRY_REASON_ALLOWS_NON_IDEMPOTENT
#define ALWAYS RETRY_REASON_ALWAYS
#define FREE RETRY_REASON_FREE

static bool is_user(uint32_t reason)
{
    return (reason >= 0x40 && reason <= 0x7f) || (reason >= 0xc0 && reason <= 0xff);
}

static bool is_valid(uint32_t reason)
{
    return reason < RETRY_REASON_COUNT || is_user(reason);
}

/* What is decided of the reason for an operation that is idempotent, or not. */
static void check_decided(retry_reason reason, const reason_row *row, bool idempotent)
{
    static const uint8_t causes[] = {RETRY_CAUSE_STRATEGY, RETRY_CAUSE_ALWAYS,
                                     RETRY_CAUSE_NOT_RETRYABLE, RETRY_CAUSE_UNKNOWN_REASON,
                                     RETRY_CAUSE_THROTTLED};
    unsigned cause = causes[row->decided];
    retry_operation op;
    retry_failure failure = check_failure_of(reason);
    decided decision;
    memset(&op, 0, sizeof op);
    op.client = default_client();
    op.idempotent = idempotent;
    retry_start(&op, NULL, 0);
    decision = decide(&op, &failure, 0);
    if (row->decided == REASON_ASKED && !row->another && !idempotent)
        cause = RETRY_CAUSE_NOT_IDEMPOTENT;
    CHECK_EQUAL(cause, decision.cause);
    CHECK_EQUAL(!row->another && row->decided != REASON_FINAL, op.ambiguous);
}

static void test_table(void)
{
    retry_reason reason;
    CHECK_EQUAL(REASON_ROW_COUNT, RETRY_REASON_COUNT);
    CHECK_EQUAL(0, RETRY_REASON_NONE);
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        reason_row row = reason_row_of(reason);
        check_row("%s", row.name);
        CHECK_EQUAL(reason, row.reason);
        CHECK_EQUAL(row.number, reason); /* it keeps its number: a new reason comes last */
        CHECK_EQUAL(row.another, retry_reason_allows_non_idempotent(reason));
        CHECK_EQUAL(row.decided == REASON_ALWAYS, retry_reason_always(reason));
        CHECK_TEXT(row.name, retry_reason_name(reason));
        check_decided(reason, &row, true);
        check_decided(reason, &row, false);
    }
}

/* The names of the enumerators and those that the library gives are the same. */
static void test_enumerators(void)
{
    static const struct {
        retry_reason reason;
        const char *name;
        bool allows;
        bool always;
    } listed[] = {
#define ROW(name, allows, always) {RETRY_REASON_##name, #name, allows, always},
        RETRY_REASONS(ROW)
#undef ROW
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(listed); i++) {
        check_row("%s", listed[i].name);
        CHECK_EQUAL(i, listed[i].reason);
        CHECK_TEXT(listed[i].name, retry_reason_name(listed[i].reason));
        CHECK_EQUAL(listed[i].allows, retry_reason_allows_non_idempotent(listed[i].reason));
        CHECK_EQUAL(listed[i].always, retry_reason_always(listed[i].reason));
    }
}

/* Numbers of the run time, and signed: no compiler warns of them. */
static void check_user(int n, int flags)
{
    retry_reason reason = RETRY_REASON_USER(n, flags);
    char name[16];
    snprintf(name, sizeof name, "USER_%d", n);
    check_row("user %d, flags 0x%x", n, (unsigned)flags);
    CHECK_TEXT(name, retry_reason_name(reason));
    CHECK_EQUAL((flags & ALLOWS) != 0, retry_reason_allows_non_idempotent(reason));
    CHECK_EQUAL((flags & ALWAYS) != 0, retry_reason_always(reason));
}

static void test_user(void)
{
    int n;
    for (n = 0; n < 16; n++) {
        check_user(n, 0);
        check_user(n, ALLOWS);
        check_user(n, ALWAYS);
        check_user(n, ALLOWS | ALWAYS);
        check_user(n, ALLOWS | ALWAYS | FREE);
    }
}

/* Arguments out of range stay inside an application's reasons. (A constant that is too large does
   not compile: tests/compile/test_switches.sh.) */
static void test_user_out_of_range(void)
{
    volatile unsigned too_large = 16;
    unsigned n = too_large;
    CHECK_EQUAL(RETRY_REASON_USER(0, 0), RETRY_REASON_USER(n, 0));
    CHECK_EQUAL(RETRY_REASON_USER(1, 0), RETRY_REASON_USER(1, 0x4f));
    CHECK_EQUAL(RETRY_REASON_USER(15, ALLOWS | ALWAYS | FREE), RETRY_REASON_USER(15, 0xffff));
}

static void test_invalid(void)
{
    uint32_t value;
    unsigned named = 0;
    for (value = 0; value <= UINT8_MAX; value++) {
        retry_reason reason = (retry_reason)value;
        const char *name = retry_reason_name(reason);
        check_row("0x%02x", (unsigned)value);
        CHECK(name != NULL);
        CHECK_EQUAL(is_valid(value), name && strcmp(name, "INVALID") != 0);
        named += name && strcmp(name, "INVALID") != 0;
        if (is_valid(value))
            continue;
        CHECK(!retry_reason_allows_non_idempotent(reason));
        CHECK(!retry_reason_always(reason));
    }
    CHECK_EQUAL(RETRY_REASON_COUNT + 128, named);
}

static void test_sets_full_and_empty(void)
{
    uint32_t value;
    for (value = 0; value <= UINT8_MAX; value++) {
        check_row("0x%02x", (unsigned)value);
        CHECK_EQUAL(is_valid(value), retry_reason_set_has(UINT64_MAX, (retry_reason)value));
        CHECK(!retry_reason_set_has(0, (retry_reason)value));
    }
}

/* The set that a request gets out of one failure with this reason. */
static retry_reason_set set_of(retry_reason reason)
{
    retry_operation op;
    retry_failure failure;
    memset(&op, 0, sizeof op);
    op.client = default_client();
    memset(&failure, 0, sizeof failure);
    failure.reason = reason;
    retry_start(&op, NULL, 0);
    decide(&op, &failure, 0);
    return op.reasons;
}

static retry_reason numbered(unsigned i)
{
    if (i < RETRY_REASON_COUNT)
        return (retry_reason)i;
    return RETRY_REASON_USER(i - RETRY_REASON_COUNT, 0);
}

static void test_sets_of_one(void)
{
    unsigned i, j;
    for (i = 0; i < RETRY_REASON_COUNT + 16u; i++) {
        retry_reason_set set = set_of(numbered(i));
        for (j = 0; j < RETRY_REASON_COUNT + 16u; j++) {
            check_row("%s in the set of %s", retry_reason_name(numbered(j)),
                      retry_reason_name(numbered(i)));
            CHECK_EQUAL(i == j, retry_reason_set_has(set, numbered(j)));
        }
    }
}

static void test_sets_ignore_flags(void)
{
    retry_reason_set set = set_of(RETRY_REASON_USER(3, ALWAYS));
    CHECK(retry_reason_set_has(set, RETRY_REASON_USER(3, 0)));
    CHECK(retry_reason_set_has(set, RETRY_REASON_USER(3, ALLOWS)));
    CHECK(retry_reason_set_has(set, RETRY_REASON_USER(3, ALLOWS | ALWAYS)));
    CHECK(!retry_reason_set_has(set, RETRY_REASON_USER(4, ALWAYS)));
}

static void test_sets_without_invalid(void)
{
    CHECK_EQUAL(0, set_of(RETRY_REASON_COUNT));
    CHECK_EQUAL(0, set_of(0x3f));
    CHECK_EQUAL(0, set_of(0x80));
    CHECK_EQUAL(0, set_of(0xbf));
}

static void test_verdict_names(void)
{
    static const char *const names[] = {"FAIL", "RETRY", "EXPIRE", "SUCCESS"};
    unsigned i, rows = 0;
#define ROW(name) CHECK_TEXT(#name, retry_verdict_name((uint8_t)rows++));
    RETRY_VERDICTS(ROW)
#undef ROW
    CHECK_EQUAL(CHECK_COUNT(names), rows);
    CHECK_EQUAL(CHECK_COUNT(names), RETRY_VERDICT_COUNT);
    CHECK_EQUAL(0, RETRY_VERDICT_FAIL);
    for (i = 0; i < 256; i++) {
        check_row("verdict %u", i);
        CHECK_TEXT(i < CHECK_COUNT(names) ? names[i] : "INVALID", retry_verdict_name((uint8_t)i));
    }
}

static void test_cause_texts(void)
{
    static const char *const texts[] = {
#define ROW(name, text) text,
        RETRY_CAUSES(ROW)
#undef ROW
    };
    unsigned i;
    CHECK_EQUAL(CHECK_COUNT(texts), RETRY_CAUSE_COUNT);
    for (i = 0; i < 256; i++) {
        check_row("cause %u", i);
        CHECK_TEXT(i < CHECK_COUNT(texts) ? texts[i] : "invalid cause",
                   retry_cause_text((uint8_t)i));
    }
}

static void test_version(void)
{
    CHECK_EQUAL(RETRY_VERSION, retry_version());
    CHECK_EQUAL(RETRY_VERSION_MAJOR, retry_version() / 10000);
    CHECK_EQUAL(RETRY_VERSION_MINOR, retry_version() / 100 % 100);
    CHECK_EQUAL(RETRY_VERSION_PATCH, retry_version() % 100);
}

int main(void)
{
    RUN(test_table);
    RUN(test_enumerators);
    RUN(test_user);
    RUN(test_user_out_of_range);
    RUN(test_invalid);
    RUN(test_sets_full_and_empty);
    RUN(test_sets_of_one);
    RUN(test_sets_ignore_flags);
    RUN(test_sets_without_invalid);
    RUN(test_verdict_names);
    RUN(test_cause_texts);
    RUN(test_version);
    return check_done();
}
