/* Policies, budgets and durations from text: every preset, key and form of number, where a wrong
   text is said to be wrong, and all of it, cut and changed at every byte, against a slow reader of
   the same language. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/from_text_naive.h"

#include <stdlib.h>

#define UNTOUCHED 7777u

/* A copy on the heap of exactly `length` bytes: a sanitizer sees every byte read beyond. */
static char *copy_of(const char *text, size_t length)
{
    char *memory = (char *)malloc(length ? length : 1);
    if (!memory) {
        printf("out of memory\n");
        exit(1);
    }
    if (length != 0)
        memcpy(memory, text, length);
    return memory;
}

/* What a parser said of a text. */
struct outcome {
    bool ok;
    size_t offset;
    union {
        retry_policy policy;
        retry_budget_options budget;
    } value;
};

static struct outcome outcome_before(void)
{
    struct outcome outcome;
    memset(&outcome, 0x55, sizeof outcome);
    outcome.ok = false;
    outcome.offset = UNTOUCHED;
    return outcome;
}

/* A text that is right leaves the offset alone, one that is wrong all else. */
static void check_untouched(const struct outcome *outcome)
{
    const unsigned char *bytes = (const unsigned char *)&outcome->value;
    size_t i;
    if (outcome->ok)
        CHECK_EQUAL(UNTOUCHED, outcome->offset);
    for (i = 0; !outcome->ok && i < sizeof outcome->value; i++)
        CHECK_EQUAL(0x55, bytes[i]);
}

static struct outcome parse_policy(const char *text, size_t length)
{
    struct outcome outcome = outcome_before();
    char *copy = copy_of(text, length);
    outcome.ok = retry_parse_policy(&outcome.value.policy, copy, length, &outcome.offset);
    free(copy);
    check_untouched(&outcome);
    return outcome;
}

static struct outcome parse_budget(const char *text, size_t length)
{
    struct outcome outcome = outcome_before();
    char *copy = copy_of(text, length);
    outcome.ok = retry_parse_budget(&outcome.value.budget, copy, length, &outcome.offset);
    free(copy);
    check_untouched(&outcome);
    return outcome;
}

static bool parse_duration(const char *text, size_t length, retry_ms *duration)
{
    char *copy = copy_of(text, length);
    bool ok = retry_parse_duration(copy, length, duration);
    free(copy);
    return ok;
}

static void check_policy(const retry_policy *expected, const char *text)
{
    struct outcome outcome = parse_policy(text, strlen(text));
    check_row("policy \"%s\"", text);
    CHECK(outcome.ok);
    if (outcome.ok)
        CHECK(naive_same_policy(expected, &outcome.value.policy));
}

static void check_budget(const retry_budget_options *expected, const char *text)
{
    struct outcome outcome = parse_budget(text, strlen(text));
    check_row("budget \"%s\"", text);
    CHECK(outcome.ok);
    if (outcome.ok)
        CHECK(naive_same_budget(expected, &outcome.value.budget));
}

static retry_policy policy_of(const char *text)
{
    struct outcome outcome = parse_policy(text, strlen(text));
    check_row("policy \"%s\"", text);
    CHECK(outcome.ok);
    return outcome.value.policy;
}

/* ---- presets ------------------------------------------------------------------------------- */

static retry_policy plain_policy(const retry_backoff *backoff)
{
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    policy.backoff = *backoff;
    return policy;
}

static void test_policy_presets(void)
{
    static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
    static const retry_policy smithy = RETRY_POLICY_SMITHY;
    static const retry_policy aws = RETRY_POLICY_AWS;
    static const retry_policy aws_2026 = RETRY_POLICY_AWS_2026;
    static const retry_backoff grpc = RETRY_BACKOFF_GRPC;
    static const retry_backoff rfc0049 = RETRY_BACKOFF_RFC0049;
    static const retry_backoff controlled = RETRY_BACKOFF_CONTROLLED;
    retry_policy plain;
    check_policy(&best_effort, "best-effort");
    check_policy(&smithy, "smithy");
    check_policy(&aws, "aws");
    check_policy(&aws_2026, "aws-2026");
    plain = plain_policy(&grpc);
    check_policy(&plain, "grpc");
    plain = plain_policy(&rfc0049);
    check_policy(&plain, "rfc0049");
    plain = plain_policy(&controlled);
    check_policy(&plain, "controlled");
    check_policy(&best_effort, "");
    check_policy(&best_effort, " \t\r\n,,");
    check_policy(&aws, ", aws\n");
    check_policy(&aws, "\r\n\taws,,");
}

static void test_budget_presets(void)
{
    static const retry_budget_options none = {0, 1000, 0, 0, 0, 0, 0, 0, false, false};
    static const retry_budget_options best_effort = RETRY_BUDGET_BEST_EFFORT(1);
    static const retry_budget_options smithy = RETRY_BUDGET_SMITHY;
    static const retry_budget_options aws = RETRY_BUDGET_AWS;
    static const retry_budget_options aws_2026 = RETRY_BUDGET_AWS_2026;
    static const retry_budget_options grpc = RETRY_BUDGET_GRPC;
    check_budget(&none, "none");
    check_budget(&best_effort, "best-effort");
    check_budget(&smithy, "smithy");
    check_budget(&aws, "aws");
    check_budget(&aws_2026, "aws-2026");
    check_budget(&grpc, "grpc");
    check_budget(&none, "");
    check_budget(&none, " \t\r\n,,");
    check_budget(&grpc, ", grpc\n");
}

static void test_examples(void)
{
    retry_policy policy = RETRY_POLICY_AWS;
    retry_budget_options options = RETRY_BUDGET_GRPC;
    retry_budget_options plain = {20000, 1000, 0, 0, 0, 0, 0, 0, false, false};
    policy.max_attempts = 5;
    policy.backoff.initial = 100;
    policy.backoff.max = 10000;
    policy.backoff.jitter = RETRY_JITTER_EQUAL;
    check_policy(&policy, "aws attempts=5 initial=100ms max=10s jitter=equal");
    check_policy(&policy, "aws,attempts=5,initial=100ms,max=10s,jitter=equal");
    check_policy(&policy, "aws jitter=equal max=10s\r\n\tinitial=0.1s, attempts=05\n");
    options.capacity = 20000;
    options.retry_cost = 1000;
    options.success_deposit = 250;
    check_budget(&options, "grpc capacity=20 cost=1 success=0.25");
    check_budget(&options, "grpc success=0.250\ncost=1.0\ncapacity=0020");
    check_budget(&plain, "capacity=20");
}

/* ---- keys ---------------------------------------------------------------------------------- */

/* Every key alone: it sets its field, and nothing else. */
static void test_policy_keys(void)
{
    static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
    retry_policy p;
#define KEY(text, field, expected) \
    p = best_effort;               \
    p.field = expected;            \
    check_policy(&p, text)
    KEY("attempts=7", max_attempts, 7);
    KEY("attempts=0", max_attempts, 0);
    KEY("attempts=1", max_attempts, 1);
    KEY("attempts=4294967295", max_attempts, UINT32_MAX);
    KEY("attempts=00000000000000000004294967295", max_attempts, UINT32_MAX);
    KEY("curve=exponential", backoff.curve, RETRY_CURVE_EXPONENTIAL);
    KEY("curve=constant", backoff.curve, RETRY_CURVE_CONSTANT);
    KEY("curve=linear", backoff.curve, RETRY_CURVE_LINEAR);
    KEY("curve=power", backoff.curve, RETRY_CURVE_POWER);
    KEY("curve=controlled", backoff.curve, RETRY_CURVE_CONTROLLED);
    KEY("jitter=none", backoff.jitter, RETRY_JITTER_NONE);
    KEY("jitter=full", backoff.jitter, RETRY_JITTER_FULL);
    KEY("jitter=equal", backoff.jitter, RETRY_JITTER_EQUAL);
    KEY("jitter=spread", backoff.jitter, RETRY_JITTER_SPREAD);
    KEY("jitter=decorrelated", backoff.jitter, RETRY_JITTER_DECORRELATED);
    KEY("min=3s", backoff.min, 3000);
    KEY("initial=3s", backoff.initial, 3000);
    KEY("initial=0", backoff.initial, 0);
    KEY("max=3s", backoff.max, 3000);
    KEY("factor=1.6", backoff.factor, RETRY_RATIO(1.6));
    KEY("factor=0", backoff.factor, 0);
    KEY("spread=0.2", backoff.spread, RETRY_RATIO(0.2));
    KEY("retry-after-max=3s", retry_after_max, 3000);
    KEY("retry-after-slack=3s", retry_after_slack, 3000);
    KEY("retry-after-spread=0.25", retry_after_spread, RETRY_RATIO(0.25));
#undef KEY
}

static void test_budget_keys(void)
{
    static const retry_budget_options none = {0, 1000, 0, 0, 0, 0, 0, 0, false, false};
    retry_budget_options options;
#define KEY(text, field, expected) \
    options = none;                \
    options.field = expected;      \
    check_budget(&options, text)
    KEY("capacity=12.5", capacity, 12500);
    KEY("cost=12.5", retry_cost, 12500);
    KEY("cost=0", retry_cost, 0);
    KEY("timeout-cost=12.5", timeout_cost, 12500);
    KEY("throttle-cost=12.5", throttle_cost, 12500);
    KEY("success=12.5", success_deposit, 12500);
    KEY("request=12.5", request_deposit, 12500);
    KEY("per-second=12.5", refill_per_second, 12500);
    KEY("floor=12.5", floor, 12500);
    KEY("refund-last=yes", refund_last, true);
    KEY("refund-last=no", refund_last, false);
    KEY("charge-failures=yes", charge_failures, true);
    KEY("charge-failures=no", charge_failures, false);
#undef KEY
    options = none;
    check_budget(&options, "none refund-last=no");
}

/* `no` turns off what a preset has. */
static void test_answers_of_presets(void)
{
    retry_budget_options aws = RETRY_BUDGET_AWS, grpc = RETRY_BUDGET_GRPC;
    aws.refund_last = false;
    check_budget(&aws, "aws refund-last=no");
    grpc.charge_failures = false;
    check_budget(&grpc, "grpc charge-failures=no");
}

/* After a throttled attempt all is as for others but the first delay, in whatever order it was
   said; what a preset has of its own counts as if it had been said. */
static void test_throttled(void)
{
    static const retry_backoff none = RETRY_BACKOFF_DEFAULT;
    static const char *const same[] = {
        "throttled=2s jitter=equal min=5 max=7s factor=3 spread=0.5",
        "jitter=equal min=5 max=7s factor=3 spread=0.5 throttled=2s",
        "best-effort max=7s,spread=0.5,jitter=equal,throttled=2000,factor=3,min=5",
    };
    retry_policy policy;
    retry_backoff expected;
    size_t i;
    for (i = 0; i < CHECK_COUNT(same); i++) {
        policy = policy_of(same[i]);
        expected = policy.backoff;
        CHECK_EQUAL(1, expected.initial);
        CHECK_EQUAL(7000, expected.max);
        expected.initial = 2000;
        CHECK(naive_same_backoff(&expected, &policy.throttle_backoff));
    }
    policy = policy_of("aws-2026 jitter=equal max=5s initial=70");
    expected = policy.backoff;
    CHECK_EQUAL(70, expected.initial);
    expected.initial = 1000;
    CHECK(naive_same_backoff(&expected, &policy.throttle_backoff));
    policy = policy_of("aws-2026 throttled=3s curve=linear");
    expected = policy.backoff;
    expected.initial = 3000;
    CHECK_EQUAL(RETRY_CURVE_LINEAR, expected.curve);
    CHECK(naive_same_backoff(&expected, &policy.throttle_backoff));
    policy = policy_of("aws-2026 throttled=0");
    CHECK_EQUAL(0, policy.throttle_backoff.initial);
    policy = policy_of("aws initial=5s max=50s");
    CHECK(naive_same_backoff(&none, &policy.throttle_backoff));
    policy = policy_of("throttled=0");
    CHECK(naive_same_backoff(&none, &policy.throttle_backoff));
}

static uint32_t top(void *context)
{
    (void)context;
    return UINT32_MAX;
}

/* What was read is a strategy: the delays of an attempt that was throttled and of one that was
   not. */
static void test_a_policy_at_work(void)
{
    retry_policy policy = policy_of("aws-2026 attempts=4 initial=10ms factor=3 max=1500ms");
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_request request;
    retry_client client;
    memset(&client, 0, sizeof client);
    memset(&request, 0, sizeof request);
    client.strategy = &policy.base;
    client.random = top;
    request.client = &client;
    retry_begin(&request, 0);
    CHECK_EQUAL(10, retry_orchestrate(&request, &failure, 0).delay);
    CHECK_EQUAL(30, retry_orchestrate(&request, &failure, 0).delay);
    failure.throttle = true;
    CHECK_EQUAL(1500, retry_orchestrate(&request, &failure, 0).delay);
    CHECK_DECISION(FAIL, ATTEMPTS_EXHAUSTED, retry_orchestrate(&request, &failure, 0));
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* The same text as a duration and as a key's value. */
static void check_duration(bool ok, retry_ms expected, const char *text)
{
    char pair[80];
    retry_ms duration = UNTOUCHED;
    struct outcome outcome;
    check_row("duration \"%s\"", text);
    CHECK_EQUAL(ok, parse_duration(text, strlen(text), &duration));
    CHECK_EQUAL(ok ? expected : UNTOUCHED, duration);
    if (strpbrk(text, " \t\r\n,")) /* ends a value */
        return;
    snprintf(pair, sizeof pair, "max=%s", text);
    outcome = parse_policy(pair, strlen(pair));
    CHECK_EQUAL(ok, outcome.ok);
    if (ok)
        CHECK_EQUAL(expected, outcome.value.policy.backoff.max);
    else
        CHECK_EQUAL(4, outcome.offset);
}

static void test_durations(void)
{
    static const struct {
        const char *text;
        retry_ms expected;
    } rows[] = {
        {"100", 100},
        {"100ms", 100},
        {"1.5s", 1500},
        {"2m", 120000},
        {"1h", 3600000},
        {"0.0001s", 1},
        {"4294967295", UINT32_MAX},
        {"0", 0},
        {"0ms", 0},
        {"0s", 0},
        {"0h", 0},
        {"0.000000000h", 0},
        {"000", 0},
        {"0100", 100},
        {"00000000000000000000000000000000000000000000000000007s", 7000},
        {"1.0", 1},
        {"1.000000000", 1},
        {"1.000000001", 2},
        {"0.000000001", 1},
        {"0.000000001ms", 1},
        {"0.000000001s", 1},
        {"0.000000001m", 1},
        {"0.000000001h", 1},
        {"0.999999999", 1},
        {"0.999999999s", 1000},
        {"0.999999999m", 60000},
        {"0.999999999h", 3600000},
        {"0.001s", 1},
        {"0.0010s", 1},
        {"0.001000000s", 1},
        {"0.001000001s", 2},
        {"0.251s", 251},
        {"1.001s", 1001},
        {"1.1s", 1100},
        {"0.1h", 360000},
        {"0.01m", 600},
        {"0.000016666m", 1},
        {"0.000016667m", 2},
        {"0.333333333h", 1200000},
        {"0.333333334h", 1200001},
        {"0.000000277h", 1},
        {"0.000000278h", 2},
        {"4294967295ms", UINT32_MAX},
        {"4294967295.0", UINT32_MAX},
        {"4294967294.000000001", UINT32_MAX},
        {"4294967.295s", UINT32_MAX},
        {"4294967.294000001s", UINT32_MAX},
        {"71582m", 4294920000u},
        {"71582.788250000m", UINT32_MAX},
        {"1193h", 4294800000u},
        {"1193.046470833h", UINT32_MAX},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++)
        check_duration(true, rows[i].expected, rows[i].text);
}

static void test_not_durations(void)
{
    static const char *const texts[] = {
        "/",
        "0/",
        "1/",
        "",
        "1.",
        ".5",
        "-1",
        "+1",
        "1 s",
        "1e3",
        "5x",
        "4294967296",
        "-0.5s",
        "-0",
        "+0",
        " 1",
        "1 ",
        "1\n",
        "1,5",
        "1,",
        "1.5.5",
        "1..5",
        ".",
        "..",
        "s",
        "ms",
        "1S",
        "1MS",
        "1Ms",
        "1mS",
        "1H",
        "1sec",
        "1min",
        "1us",
        "1ns",
        "1d",
        "1mss",
        "1sm",
        "1m30s",
        "1h30",
        "1s1",
        "1ms1",
        "1.s",
        "1.ms",
        ".5s",
        "0x10",
        "1_000",
        "1'000",
        "inf",
        "nan",
        "1.5e1",
        "1.5E1",
        "1/2",
        "1:00",
        "s1",
        "1.000000000000s",
        "1.0000000001s",
        "1.0000000000s",
        "0.0000000000",
        "4294967295.000000001",
        "4294967295.1",
        "4294967295.999999999",
        "4294967.296s",
        "4294967.295000001s",
        "4294968s",
        "71583m",
        "71582.788250001m",
        "1194h",
        "1193.046470834h",
        "4294967296s",
        "4294967295s",
        "4294967295m",
        "4294967295h",
        "42949672950",
        "18446744073709551616",
        "18446744073709551717",
        "99999999999999999999999999999999999999h",
        "\xff",
        "1\xff",
        "1\x80",
        "\xb2",
    };
    size_t i;
    retry_ms duration = UNTOUCHED;
    for (i = 0; i < CHECK_COUNT(texts); i++)
        check_duration(false, 0, texts[i]);
    check_row("with a zero byte");
    CHECK(!parse_duration("1\0s", 3, &duration));
    CHECK(!parse_duration("1s", 3, &duration));
    CHECK(!parse_duration("1", 2, &duration));
    CHECK(!parse_duration("\0", 1, &duration));
    CHECK_EQUAL(UNTOUCHED, duration);
}

/* Not a byte beyond the length, though the text goes on. */
static void test_the_length_counts(void)
{
    static const retry_policy aws = RETRY_POLICY_AWS;
    retry_policy policy;
    retry_ms duration = UNTOUCHED;
    size_t offset = UNTOUCHED;
    CHECK(retry_parse_duration("15ms", 1, &duration));
    CHECK_EQUAL(1, duration);
    CHECK(retry_parse_duration("15ms", 2, &duration));
    CHECK_EQUAL(15, duration);
    CHECK(retry_parse_duration("15ms", 3, &duration));
    CHECK_EQUAL(900000, duration);
    CHECK(!retry_parse_duration("15ms", 0, &duration));
    CHECK_EQUAL(900000, duration);
    CHECK(retry_parse_policy(&policy, "aws-2026", 3, &offset));
    CHECK(naive_same_policy(&aws, &policy));
    CHECK(retry_parse_policy(&policy, "aws attempts=55", 14, &offset));
    CHECK_EQUAL(5, policy.max_attempts);
    CHECK_EQUAL(UNTOUCHED, offset);
}

static void check_ratio(bool ok, uint32_t expected, const char *value)
{
    static const char *const keys[] = {"factor=", "spread=", "retry-after-spread="};
    size_t i;
    for (i = 0; i < CHECK_COUNT(keys); i++) {
        char text[80];
        struct outcome outcome;
        retry_policy *policy = &outcome.value.policy;
        snprintf(text, sizeof text, "%s%s", keys[i], value);
        outcome = parse_policy(text, strlen(text));
        check_row("\"%s\"", text);
        CHECK_EQUAL(ok, outcome.ok);
        if (!ok)
            CHECK_EQUAL(strlen(keys[i]), outcome.offset);
        else
            CHECK_EQUAL(expected, i == 0   ? policy->backoff.factor
                                  : i == 1 ? policy->backoff.spread
                                           : policy->retry_after_spread);
    }
}

static void test_ratios(void)
{
    static const struct {
        const char *value;
        uint32_t expected;
    } rows[] = {
        {"0", 0},
        {"1", 65536}, /* others read one thousandth */
        {"2", 131072},
        {"0.5", 32768},
        {"1.6", RETRY_RATIO(1.6)},
        {"0.2", RETRY_RATIO(0.2)},
        {"0.0001", 7}, /* others read 0 */
        {"0.251", RETRY_RATIO(0.251)},
        {"0.25", 16384},
        {"0.250000000", 16384},
        {"0.000000001", 0},
        {"0.000007629", 0}, /* half of 1/65536 is 0.00000762939... */
        {"0.000007630", 1},
        {"0.000015259", 1},
        {"0.000831604", 54}, /* just below a half */
        {"0.001121521", 74}, /* just above */
        {"0.999992370", 65535},
        {"0.999992371", 65536},
        {"0.999999999", 65536},
        {"65535", 0xffff0000u},
        {"00065535.5", 0xffff8000u},
        {"65535.999992370", UINT32_MAX},
    };
    static const char *const refused[] = {
        "",
        "65536",
        "65535.999992371",
        "65535.999999999",
        "4294967295",
        "4294967296",
        "1.",
        ".5",
        "-1",
        "+1",
        "1e3",
        "1.0000000001",
        "1.0x",
        "0.2s",
        "20%",
        "1ms",
        "1/2",
        "0.0000000000",
        "-0.5",
        "yes",
        "1:5",
        "281474976710656.5",
    };
    size_t i;
    unsigned n;
    for (i = 0; i < CHECK_COUNT(rows); i++)
        check_ratio(true, rows[i].expected, rows[i].value);
    for (i = 0; i < CHECK_COUNT(refused); i++)
        check_ratio(false, 0, refused[i]);
    for (n = 0; n <= 2000; n++) { /* as an initialiser has it */
        char value[16];
        snprintf(value, sizeof value, "%u.%03u", n / 1000, n % 1000);
        check_ratio(true, RETRY_RATIO(n / 1000.0), value);
    }
}

static void check_tokens(bool ok, uint32_t expected, const char *value)
{
    char text[80];
    struct outcome outcome;
    snprintf(text, sizeof text, "capacity=%s", value);
    outcome = parse_budget(text, strlen(text));
    check_row("\"%s\"", text);
    CHECK_EQUAL(ok, outcome.ok);
    if (ok)
        CHECK_EQUAL(expected, outcome.value.budget.capacity);
    else
        CHECK_EQUAL(9, outcome.offset);
}

static void test_tokens(void)
{
    static const struct {
        const char *value;
        uint32_t expected;
    } rows[] = {
        {"0", 0},
        {"1", 1000},
        {"0.251", 251},
        {"0.001", 1},
        {"0.1", 100},
        {"0.10", 100},
        {"0.100", 100},
        {"0.999", 999},
        {"12.5", 12500},
        {"007.5", 7500},
        {"4294967.295", UINT32_MAX},
        {"4294967", 4294967000u},
        {"0.000", 0},
        {"500", 500000},
    };
    static const char *const refused[] = {"",
                                          "1.0000",
                                          "0.0001",
                                          "0.2500",
                                          "4294967.296",
                                          "4294968",
                                          "4294967295",
                                          "1.",
                                          ".5",
                                          "-1",
                                          "+1",
                                          "1e3",
                                          "1s",
                                          "1k",
                                          "0.25s",
                                          "yes",
                                          "4294967.2950",
                                          "1.2.3",
                                          "9999999999999999999999"};
    size_t i;
    unsigned n;
    for (i = 0; i < CHECK_COUNT(rows); i++)
        check_tokens(true, rows[i].expected, rows[i].value);
    for (i = 0; i < CHECK_COUNT(refused); i++)
        check_tokens(false, 0, refused[i]);
    for (n = 0; n < 1000; n++) {
        char value[16];
        snprintf(value, sizeof value, "3.%03u", n);
        check_tokens(true, 3000 + n, value);
    }
}

/* ---- wrong texts --------------------------------------------------------------------------- */

static const struct {
    const char *text;
    size_t offset;
} wrong_policies[] = {
    {"foo", 0},
    {"  foo", 2},
    {"none", 0},
    {"Aws", 0},
    {"AWS", 0},
    {"aw", 0},
    {"awss", 0},
    {"aws-", 0},
    {"aws-202", 0},
    {"aws-20266", 0},
    {"aws=5", 0},
    {"aws=", 0},
    {"=", 0},
    {"=5", 0},
    {"attempts", 0},
    {"attempts =5", 0},
    {"attempts= 5", 9},
    {"attempts=", 9},
    {"attempts=,max=1", 9},
    {"aws attempts=", 13},
    {"aws attempts=x max=y", 13},
    {"aws aws", 4},
    {"aws smithy", 4},
    {"aws,,smithy", 5},
    {"attempts=5 aws", 11},
    {"attempts=5 aws foo", 11},
    {"Attempts=5", 0},
    {"attempt=5", 0},
    {"attemptss=5", 0},
    {"xattempts=5", 0},
    {"max=5 attempts", 6},
    {"capacity=5", 0},
    {"max=5 retry-after=5", 6},
    {"attempts=5.0", 9},
    {"attempts=5.", 9},
    {"attempts=-5", 9},
    {"attempts=+5", 9},
    {"attempts=5x", 9},
    {"attempts=5=6", 9},
    {"attempts==5", 9},
    {"attempts=5s", 9},
    {"attempts=4294967296", 9},
    {"attempts=18446744073709551617", 9},
    {"curve=", 6},
    {"curve=Linear", 6},
    {"curve=lin", 6},
    {"curve=linear1", 6},
    {"curve=table", 6},
    {"curve=custom", 6},
    {"curve=1", 6},
    {"curve=full", 6},
    {"jitter=linear", 7},
    {"jitter=half", 7},
    {"jitter=", 7},
    {"factor=1.6s", 7},
    {"throttled=1x", 10},
    {"throttled=yes", 10},
    {"attempts=5 attempts=5", 11},
    {"attempts=5 attempts=x", 11},
    {"attempts=5 attempts=", 11},
    {"attempts=x attempts=5", 9},
    {"attempts=5 foo attempts=6", 11},
    {"aws attempts=5\tmax=1s\r\nattempts=6 max=2", 23},
    {"min=1 initial=1 max=1 min=1", 22},
    {"aws;attempts=5", 0},
    {"aws\vattempts=5", 0},
    {"aws\fattempts=5", 0},
    {"aws attempts=5;max=1", 13},
    {"aws \"attempts=5\"", 4},
    {"aws # a comment", 4},
    {"\xef\xbb\xbf"
     "aws",
     0},
    {"aws attempts=\xb2", 13},
};

static void test_wrong_policies(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(wrong_policies); i++) {
        const char *text = wrong_policies[i].text;
        struct outcome outcome = parse_policy(text, strlen(text));
        retry_policy policy;
        check_row("\"%s\"", text);
        CHECK(!outcome.ok);
        CHECK_EQUAL(wrong_policies[i].offset, outcome.offset);
        CHECK(!retry_parse_policy(&policy, text, strlen(text), NULL));
    }
}

static void test_wrong_budgets(void)
{
    static const struct {
        const char *text;
        size_t offset;
    } rows[] = {
        {"foo", 0},
        {"rfc0049", 0},
        {"controlled", 0},
        {"None", 0},
        {"non", 0},
        {"nones", 0},
        {"best-effort=5", 0},
        {"grpc none", 5},
        {"capacity=20 grpc", 12},
        {"attempts=5", 0},
        {"Cost=1", 0},
        {"cost", 0},
        {"cost=", 5},
        {"cost=1s", 5},
        {"cost=1 cost=1", 7},
        {"cost=1 cost=x", 7},
        {"cost=1 timeout-cost=1 throttle-cost=1 cost=2", 38},
        {"refund-last=", 12},
        {"refund-last=true", 12},
        {"refund-last=Yes", 12},
        {"refund-last=yess", 12},
        {"refund-last=ye", 12},
        {"refund-last=n", 12},
        {"refund-last=1", 12},
        {"refund-last", 0},
        {"charge-failures=nope", 16},
        {"charge-failures=yes charge-failures=no", 20},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        const char *text = rows[i].text;
        struct outcome outcome = parse_budget(text, strlen(text));
        retry_budget_options options;
        check_row("\"%s\"", text);
        CHECK(!outcome.ok);
        CHECK_EQUAL(rows[i].offset, outcome.offset);
        CHECK(!retry_parse_budget(&options, text, strlen(text), NULL));
    }
}

/* Every key twice, the second time with a value that is wrong: the key is what is told. */
static void test_repeated_keys(void)
{
    size_t i;
    for (i = 0; naive_policy_keys[i]; i++) {
        const char *key = naive_policy_keys[i];
        const char *value = i == 1 ? "power" : i == 2 ? "full" : "1";
        char text[80];
        struct outcome outcome;
        snprintf(text, sizeof text, "%s=%s %s=?", key, value, key);
        outcome = parse_policy(text, strlen(text));
        check_row("\"%s\"", text);
        CHECK(!outcome.ok);
        CHECK_EQUAL(strlen(key) + strlen(value) + 2, outcome.offset);
    }
    for (i = 0; naive_budget_keys[i]; i++) {
        const char *key = naive_budget_keys[i];
        const char *value = i < 8 ? "1" : "no";
        char text[80];
        struct outcome outcome;
        snprintf(text, sizeof text, "%s=%s %s=?", key, value, key);
        outcome = parse_budget(text, strlen(text));
        check_row("\"%s\"", text);
        CHECK(!outcome.ok);
        CHECK_EQUAL(strlen(key) + strlen(value) + 2, outcome.offset);
    }
}

static void test_null(void)
{
    static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
    static const retry_budget_options none = {0, 1000, 0, 0, 0, 0, 0, 0, false, false};
    struct outcome outcome = outcome_before();
    retry_policy *policy = &outcome.value.policy;
    retry_budget_options *options = &outcome.value.budget;
    retry_ms duration = UNTOUCHED;
    size_t offset = UNTOUCHED;
    CHECK(!retry_parse_policy(policy, NULL, 1, &offset));
    CHECK_EQUAL(0, offset);
    offset = UNTOUCHED;
    CHECK(!retry_parse_policy(NULL, "aws foo", 7, &offset));
    CHECK_EQUAL(0, offset);
    CHECK(!retry_parse_policy(NULL, NULL, 0, NULL));
    offset = UNTOUCHED;
    CHECK(!retry_parse_budget(options, NULL, 1, &offset));
    CHECK_EQUAL(0, offset);
    offset = UNTOUCHED;
    CHECK(!retry_parse_budget(NULL, "grpc foo", 8, &offset));
    CHECK_EQUAL(0, offset);
    CHECK(!retry_parse_budget(NULL, NULL, 0, NULL));
    check_untouched(&outcome);
    offset = UNTOUCHED;
    CHECK(retry_parse_policy(policy, NULL, 0, &offset));
    CHECK(naive_same_policy(&best_effort, policy));
    CHECK(retry_parse_budget(options, NULL, 0, &offset));
    CHECK(naive_same_budget(&none, options));
    CHECK(retry_parse_budget(options, NULL, 0, NULL));
    CHECK_EQUAL(UNTOUCHED, offset);
    CHECK(!retry_parse_duration(NULL, 0, &duration));
    CHECK(!retry_parse_duration(NULL, 1, &duration));
    CHECK(!retry_parse_duration("1", 1, NULL));
    CHECK_EQUAL(UNTOUCHED, duration);
}

/* ---- against the slow reader --------------------------------------------------------------- */

static void check_as_policy(const char *text, size_t length)
{
    struct outcome got = parse_policy(text, length), expected = outcome_before();
    expected.ok = naive_policy(&expected.value.policy, text, length, &expected.offset);
    CHECK_EQUAL(expected.ok, got.ok);
    if (!expected.ok)
        CHECK_EQUAL(expected.offset, got.offset);
    else if (got.ok)
        CHECK(naive_same_policy(&expected.value.policy, &got.value.policy));
}

static void check_as_budget(const char *text, size_t length)
{
    struct outcome got = parse_budget(text, length), expected = outcome_before();
    expected.ok = naive_budget(&expected.value.budget, text, length, &expected.offset);
    CHECK_EQUAL(expected.ok, got.ok);
    if (!expected.ok)
        CHECK_EQUAL(expected.offset, got.offset);
    else if (got.ok)
        CHECK(naive_same_budget(&expected.value.budget, &got.value.budget));
}

static void check_as_duration(const char *text, size_t length)
{
    retry_ms got = UNTOUCHED, expected = UNTOUCHED;
    naive_part part;
    part.text = text;
    part.length = length;
    CHECK_EQUAL(naive_duration(part, &expected), parse_duration(text, length, &got));
    CHECK_EQUAL(expected, got);
}

/* All three, whatever the text was made for. */
static void check_text_as_all(const char *text, size_t length)
{
    check_row("\"%.*s\"", (int)length, text);
    check_as_policy(text, length);
    check_as_budget(text, length);
    check_as_duration(text, length);
}

static const char *const samples[] = {
    "aws attempts=5 initial=100ms max=10s jitter=equal",
    "grpc capacity=20 cost=1 success=0.25",
    "min=1,initial=0.5s\tfactor=1.6\r\nspread=0.2 throttled=1m",
    "aws-2026 curve=power retry-after-max=1h retry-after-slack=0 retry-after-spread=65535.9",
    "best-effort timeout-cost=4294967.295 throttle-cost=0.001 request=0",
    " none per-second=1 floor=2 refund-last=yes charge-failures=no",
    "1193.046470833h",
    "4294967295.0",
};

static void test_cut_at_every_byte(void)
{
    size_t i, length;
    for (i = 0; i < CHECK_COUNT(samples); i++) {
        for (length = 0; length <= strlen(samples[i]); length++) {
            check_text_as_all(samples[i], length);
            check_text_as_all(samples[i] + length, strlen(samples[i]) - length);
        }
    }
}

static void test_changed_at_every_byte(void)
{
#ifdef CHECK_QUICK
    static const char changes[] = " ,=.-09aswmh\n\xff";
#else
    static const char changes[] = " ,=.-+_0123456789acefhilmnopqrstuwxyzASM\t\n\r\v;#\x7f\x80\xff";
#endif
    size_t i, at, change;
    for (i = 0; i < CHECK_COUNT(samples); i++) {
        char text[100];
        size_t length = strlen(samples[i]);
        memcpy(text, samples[i], length);
        for (at = 0; at < length; at++) {
            for (change = 0; change < sizeof changes; change++) { /* the zero byte too */
                text[at] = changes[change];
                check_text_as_all(text, length);
            }
            text[at] = samples[i][at];
        }
    }
}

/* Words, halves of words and what stands between them, in any order. */
static void test_random_texts(void)
{
    static const char *const pieces[] = {
        " ",          " ",
        ",",          "\n",
        "=",          "aws",
        "aws-2026",   "grpc",
        "none",       "cost=",
        "capacity=",  "attempts=",
        "attempts",   "min=",
        "max=",       "initial=",
        "1",          "0",
        "25",         ".",
        ".5",         "s",
        "ms",         "h",
        "factor=",    "spread=",
        "throttled=", "curve=",
        "jitter=",    "power",
        "full",       "refund-last=",
        "yes",        "no",
        "4294967295", "success=",
        "floor=",     "retry-after-",
        "slack=",     "999999999",
        "00",         "smithy",
    };
    unsigned round, i;
    for (round = 0; round < 10000 / CHECK_ONE_IN; round++) {
        char text[200] = "";
        size_t length = 0;
        unsigned count = (unsigned)(check_random() % 12);
        for (i = 0; i < count; i++) {
            const char *piece = pieces[check_random() % CHECK_COUNT(pieces)];
            memcpy(text + length, piece, strlen(piece));
            length += strlen(piece);
            if (check_random() % 3 == 0)
                text[length++] = ' ';
        }
        check_text_as_all(text, length);
    }
}

/* Texts that are right, all keys of them in any order with random values. */
static void test_random_right_texts(void)
{
    static const char *const units[] = {"", "ms", "s"};
    unsigned round, i;
    for (round = 0; round < 5000 / CHECK_ONE_IN; round++) {
        char text[400];
        int length = snprintf(text, sizeof text, "%s", round % 2 ? "aws-2026" : "grpc");
        bool used[12] = {false};
        for (i = 0; i < 12; i++) {
            unsigned key = (unsigned)(check_random() % 12);
            if (used[key] || key == 1 || key == 2)
                continue;
            used[key] = true;
            length += snprintf(text + length, sizeof text - (size_t)length, " %s=%u",
                               naive_policy_keys[key], (unsigned)(check_random() % 60000));
            if (key == 0)
                continue;
            length += snprintf(text + length, sizeof text - (size_t)length, ".%s%u",
                               &"00000000"[check_random() % 9], (unsigned)(check_random() % 10));
            if (key != 6 && key != 7 && key != 11)
                length += snprintf(text + length, sizeof text - (size_t)length, "%s",
                                   units[check_random() % CHECK_COUNT(units)]);
        }
        check_row("\"%s\"", text);
        CHECK(parse_policy(text, (size_t)length).ok);
        check_as_policy(text, (size_t)length);
    }
}

/* Numbers of every size with fractions of every length, in every unit. */
static void test_random_numbers(void)
{
    static const char *const units[] = {"", "ms", "s", "m", "h"};
    static const char *const keys[] = {"factor=", "capacity=", "attempts="};
    unsigned round, i, digits;
    for (round = 0; round < 20000 / CHECK_ONE_IN; round++) {
        char text[80];
        uint32_t whole = check_random() >> (check_random() % 32);
        int length =
            snprintf(text, sizeof text, "%s%" PRIu32, round % 2 ? "" : keys[round % 3], whole);
        digits = (unsigned)(check_random() % 11);
        if (digits != 0)
            text[length++] = '.';
        for (i = 0; i < digits; i++)
            text[length++] = (char)('0' + (check_random() % 3 ? check_random() % 10 : 9));
        if (round % 2)
            length += snprintf(text + length, sizeof text - (size_t)length, "%s",
                               units[check_random() % CHECK_COUNT(units)]);
        check_text_as_all(text, (size_t)length);
    }
}

int main(void)
{
    RUN(test_policy_presets);
    RUN(test_budget_presets);
    RUN(test_examples);
    RUN(test_policy_keys);
    RUN(test_budget_keys);
    RUN(test_answers_of_presets);
    RUN(test_throttled);
    RUN(test_a_policy_at_work);
    RUN(test_durations);
    RUN(test_not_durations);
    RUN(test_the_length_counts);
    RUN(test_ratios);
    RUN(test_tokens);
    RUN(test_wrong_policies);
    RUN(test_wrong_budgets);
    RUN(test_repeated_keys);
    RUN(test_null);
    RUN(test_cut_at_every_byte);
    RUN(test_changed_at_every_byte);
    RUN(test_random_texts);
    RUN(test_random_right_texts);
    RUN(test_random_numbers);
    return check_done();
}
