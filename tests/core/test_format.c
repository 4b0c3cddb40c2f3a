/* The log line: what it contains, and that it fits into any buffer. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#define START ((retry_time)-400)
#define CANARY '\x7e'

static retry_client client;
static retry_operation op;
static retry_failure failure;

static retry_action after_4567(const retry_strategy *self, const retry_operation *r,
                               const retry_failure *f, retry_time now)
{
    (void)self;
    (void)r;
    (void)f;
    (void)now;
    return retry_action_after(4567);
}

static const retry_strategy strategy = {after_4567};

/* Numbers that cannot be taken for one another. */
static void set_up(void)
{
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    memset(&failure, 0, sizeof failure);
    client.strategy = &strategy;
    op.client = &client;
    op.timeout = 98765;
    failure.reason = RETRY_REASON_KV_TEMPORARY_FAILURE;
    failure.code = 0xbeef;
    retry_start(&op, NULL, START);
    op.retries = 31;
    (void)decide(&op, &failure, check_after(START, 1234));
}

static bool has(const char *line, const char *part)
{
    return strstr(line, part) != NULL;
}

static void check_has(const char *line, const char *part)
{
    check_row("\"%s\" in \"%s\"", part, line);
    CHECK(has(line, part));
}

static void test_parts(void)
{
    char line[400];
    size_t length;
    set_up();
    length = retry_format(line, sizeof line, &op, &failure);
    CHECK_EQUAL(length, strlen(line));
    CHECK_RANGE(40, 300, length);
    check_has(line, "RETRY");
    check_has(line, "4567");
    check_has(line, "KV_TEMPORARY_FAILURE");
    check_has(line, "code=48879/0xbeef ");
    check_has(line, retry_cause_text(RETRY_CAUSE_STRATEGY));
    check_has(line, "32");
    check_has(line, "1234");
    check_has(line, "98765");
    CHECK(!has(line, "\n"));
}

/* As the server's people write it, and, behind a slash, as those of KV do. */
static void test_codes(void)
{
    static const struct {
        uint32_t code;
        const char *text;
    } rows[] = {{503, " code=503/0x1f7 "},     {0, " code=0/0x00 "},
                {9, " code=9/0x09 "},          {0x86, " code=134/0x86 "},
                {0x100, " code=256/0x100 "},   {UINT32_MAX, " code=4294967295/0xffffffff "},
                {23003, " code=23003/0x59db "}};
    size_t i;
    set_up();
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        char line[400];
        failure.code = rows[i].code;
        retry_format(line, sizeof line, &op, &failure);
        check_has(line, rows[i].text);
    }
}

/* The longest line there is; who has room for 240 bytes has room for any. */
static void test_longest_line(void)
{
    unsigned reason, cause;
    size_t longest = 0;
    set_up();
    failure.code = UINT32_MAX;
    op.timeout = UINT32_MAX;
    retry_start(&op, NULL, START);
    retry_stop(&op, check_after(START, 0x7fffffff));
    op.verdict = RETRY_VERDICT_EXPIRE;
    op.delay = op.retries = UINT32_MAX;
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        for (cause = 0; cause < RETRY_CAUSE_COUNT; cause++) {
            size_t length;
            failure.reason = (retry_reason)reason;
            op.cause = (uint8_t)cause;
            length = retry_format(NULL, 0, &op, &failure);
            longest = length > longest ? length : longest;
        }
    }
    CHECK_RANGE(200, 239, longest);
}

/* An end that no failure brought. */
static void test_ends(void)
{
    char line[400];
    set_up();
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, check_after(START, 1300)));
    retry_format(line, sizeof line, &op, NULL);
    CHECK_TEXT("retry: verdict=SUCCESS delay=0ms retries=32 elapsed=1300ms "
               "timeout=98765ms",
               line);
    set_up();
    retry_stop(&op, check_after(START, 1300));
    retry_format(line, sizeof line, &op, NULL);
    CHECK_TEXT("retry: verdict=FAIL delay=0ms cause=\"cancelled\" retries=32 elapsed=1300ms "
               "timeout=98765ms",
               line);
}

static void test_whole_line(void)
{
    char line[400];
    set_up();
    retry_format(line, sizeof line, &op, &failure);
    CHECK_TEXT("retry: verdict=RETRY delay=4567ms reason=KV_TEMPORARY_FAILURE code=48879/0xbeef "
               "cause=\"strategy grants\" retries=32 elapsed=1234ms "
               "timeout=98765ms",
               line);
}

/* Elapsed is as of the last decision, so that a line written later says the same. */
static void test_each_verdict(void)
{
    unsigned verdict, cause;
    set_up();
    for (verdict = 0; verdict < RETRY_VERDICT_COUNT; verdict++) {
        for (cause = 0; cause < RETRY_CAUSE_COUNT; cause++) {
            char line[400];
            op.verdict = (uint8_t)verdict;
            op.cause = (uint8_t)cause;
            retry_format(line, sizeof line, &op, &failure);
            check_has(line, retry_verdict_name((uint8_t)verdict));
            if (verdict != RETRY_VERDICT_SUCCESS)
                check_has(line, retry_cause_text((uint8_t)cause));
            CHECK_EQUAL(verdict != RETRY_VERDICT_SUCCESS, has(line, " cause="));
        }
    }
}

static void test_each_reason(void)
{
    unsigned reason;
    set_up();
    for (reason = 0; reason < 0x100; reason++) {
        char line[400];
        failure.reason = (retry_reason)reason;
        retry_format(line, sizeof line, &op, &failure);
        check_has(line, retry_reason_name((retry_reason)reason));
    }
}

static void test_each_size_of_number(void)
{
    static const uint32_t numbers[] = {0,           1,           9,          10,         99,
                                       100,         65535,       999999999,  1000000000, 2147483647,
                                       2147483648u, 4000000000u, 4294967295u};
    size_t i;
    set_up();
    for (i = 0; i < CHECK_COUNT(numbers); i++) {
        char line[400], decimal[16], hexadecimal[16], capitals[16];
        op.delay = failure.code = numbers[i];
        snprintf(decimal, sizeof decimal, "%lu", (unsigned long)numbers[i]);
        snprintf(hexadecimal, sizeof hexadecimal, "%lx", (unsigned long)numbers[i]);
        snprintf(capitals, sizeof capitals, "%lX", (unsigned long)numbers[i]);
        retry_format(line, sizeof line, &op, &failure);
        check_has(line, decimal);
        check_has(line, "0x");
        CHECK(has(line, hexadecimal) || has(line, capitals));
    }
}

/* Every capacity: cut where it ends, terminated, nothing behind it, the whole length returned. */
static void check_capacities(const retry_operation *r, const retry_failure *f)
{
    char whole[400], part[400];
    size_t length = retry_format(whole, sizeof whole, r, f);
    size_t capacity, i;
    CHECK(length < sizeof whole && strlen(whole) == length);
    CHECK_EQUAL(length, retry_format(NULL, 0, r, f));
    for (capacity = 0; capacity <= length + 2; capacity++) {
        size_t cut = capacity > length ? length : capacity > 0 ? capacity - 1 : 0;
        memset(part, CANARY, sizeof part);
        check_row("capacity %u of %u", (unsigned)capacity, (unsigned)length + 1);
        CHECK_EQUAL(length, retry_format(part, capacity, r, f));
        CHECK(memcmp(part, whole, cut) == 0);
        CHECK(capacity == 0 || part[cut] == '\0');
        for (i = capacity; i < sizeof part; i++)
            if (part[i] != CANARY)
                break;
        CHECK_EQUAL(sizeof part, i);
    }
}

/* Of a request that is over, the time that it took; of one begun again, none. */
static void test_elapsed(void)
{
    retry_operation timed;
    char text[100];
    memset(&timed, 0, sizeof timed);
    timed.client = default_client();
    retry_start(&timed, NULL, 1000);
    decide(&timed, NULL, 1250);
    retry_format(text, sizeof text, &timed, NULL);
    CHECK_TEXT("retry: verdict=SUCCESS delay=0ms retries=0 elapsed=250ms timeout=75000ms", text);
    retry_start(&timed, NULL, 5000);
    retry_format(text, sizeof text, &timed, NULL);
    CHECK_TEXT("retry: verdict=FAIL delay=0ms cause=\"done\" retries=0 elapsed=0ms timeout=75000ms",
               text);
    timed.retries = UINT32_C(4294967289); /* the first of which a rougher tenth would be wrong */
    retry_stop(&timed, 5070);
    retry_format(text, sizeof text, &timed, NULL);
    CHECK_TEXT("retry: verdict=FAIL delay=0ms cause=\"cancelled\" retries=4294967289 elapsed=70ms "
               "timeout=75000ms",
               text);
    CHECK_EQUAL(strlen(text), retry_format(NULL, sizeof text, &timed, NULL));
}

static void test_capacities(void)
{
    set_up();
    check_capacities(&op, &failure);
    failure.code = UINT32_MAX;
    failure.reason = RETRY_REASON_KV_SYNC_WRITE_RE_COMMIT_IN_PROGRESS;
    op.delay = op.timeout = op.retries = UINT32_MAX;
    check_capacities(&op, &failure);
}

static void test_without_parts(void)
{
    unsigned given;
    set_up();
    for (given = 0; given < 4; given++) {
        const retry_operation *r = given & 1 ? &op : NULL;
        const retry_failure *f = given & 2 ? &failure : NULL;
        char line[400];
        retry_format(line, sizeof line, r, f);
        check_row("parts %u: \"%s\"", given, line);
        CHECK_EQUAL(r != NULL, has(line, "98765"));
        CHECK_EQUAL(r != NULL, has(line, "1234"));
        CHECK_EQUAL(f != NULL, has(line, "KV_TEMPORARY_FAILURE"));
        CHECK_EQUAL(f != NULL, has(line, "beef") || has(line, "BEEF"));
        CHECK_EQUAL(r != NULL, has(line, "4567"));
        CHECK_EQUAL(r != NULL, has(line, "RETRY"));
        check_capacities(r, f);
    }
}

static void test_zeroed_and_garbage(void)
{
    memset(&op, 0, sizeof op);
    memset(&failure, 0, sizeof failure);
    check_capacities(&op, &failure);
    failure.reason = 0xbf;
    failure.safety = failure.fault = 0xff;
    op.verdict = op.cause = 0xff;
    check_capacities(&op, &failure);
}

/* The reason's word in the line of a request of this client. */
static void check_reason(const retry_operation *r, retry_reason reason, const char *expected)
{
    char line[400], part[100];
    failure.reason = reason;
    retry_format(line, sizeof line, r, &failure);
    snprintf(part, sizeof part, " reason=%s code=", expected);
    check_has(line, part);
}

#define LAST 15

static void test_user_reasons(void)
{
    static const char *const names[16] = {"SERIALIZATION",
                                          NULL,
                                          "",
                                          "D",
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          "LAST OF ALL"};
    static const char *const none[16] = {NULL};
    unsigned flags;
    set_up();
    for (flags = 0; flags <= 0xff; flags++) {
        client.user_reasons = names;
        check_reason(&op, RETRY_REASON_USER(0, flags), "SERIALIZATION");
        check_reason(&op, RETRY_REASON_USER(1, flags), "USER_1");
        check_reason(&op, RETRY_REASON_USER(2, flags), "");
        check_reason(&op, RETRY_REASON_USER(3, flags), "D");
        check_reason(&op, RETRY_REASON_USER(LAST, flags), "LAST OF ALL");
        client.user_reasons = none;
        check_reason(&op, RETRY_REASON_USER(LAST, flags), "USER_15");
        client.user_reasons = NULL;
        check_reason(&op, RETRY_REASON_USER(0, flags), "USER_0");
        check_reason(&op, RETRY_REASON_USER(LAST, flags), "USER_15");
    }
}

/* Only the application's reasons have names of the application's; nobody's client, no names. */
static void test_user_reasons_of_nobody(void)
{
    static const char *const names[16] = {"A", "B", "C", "D", "E", "F", "G", "H",
                                          "I", "J", "K", "L", "M", "N", "O", "P"};
    unsigned reason;
    set_up();
    client.user_reasons = names;
    for (reason = 0; reason <= 0xff; reason++) {
        bool user = (reason >= 0x40 && reason <= 0x7f) || (reason >= 0xc0 && reason <= 0xff);
        const char *other = retry_reason_name((retry_reason)reason);
        check_reason(&op, (retry_reason)reason, user ? names[reason & 15] : other);
        check_reason(NULL, (retry_reason)reason, other);
    }
    op.client = NULL;
    check_reason(&op, RETRY_REASON_USER(7, 0), "USER_7");
    op.client = &client;
    failure.reason = RETRY_REASON_USER(7, RETRY_REASON_FREE);
    check_capacities(&op, &failure);
}

int main(void)
{
    RUN(test_parts);
    RUN(test_codes);
    RUN(test_longest_line);
    RUN(test_ends);
    RUN(test_whole_line);
    RUN(test_each_verdict);
    RUN(test_each_reason);
    RUN(test_each_size_of_number);
    RUN(test_elapsed);
    RUN(test_capacities);
    RUN(test_without_parts);
    RUN(test_zeroed_and_garbage);
    RUN(test_user_reasons);
    RUN(test_user_reasons_of_nobody);
    return check_done();
}
