/* Policies, budgets and durations from text: every preset, key and form of number, where a wrong
   text is said to be wrong, all of it cut and changed at every byte, and any policy or budget
   written and read. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"
#include "../support/texts.h"

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
    const char *said;
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
    outcome.said = NULL;
    return outcome;
}

/* A text that is right leaves the error alone, one that is wrong all else, and it is wrong within
   its length. */
static void check_untouched(const struct outcome *outcome, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)&outcome->value;
    size_t i;
    if (outcome->ok)
        CHECK(outcome->offset == UNTOUCHED && !outcome->said);
    else
        CHECK(outcome->said && outcome->said[0] != '\0' && outcome->offset <= length);
    for (i = 0; !outcome->ok && i < sizeof outcome->value; i++)
        CHECK_EQUAL(0x55, bytes[i]);
}

static struct outcome parse_policy(const char *text, size_t length)
{
    struct outcome outcome = outcome_before();
    char *copy = copy_of(text, length);
    retry_text_error error = untouched_error(UNTOUCHED);
    outcome.ok = retry_parse_policy(&outcome.value.policy, copy, length, &error);
    outcome.offset = error.offset;
    outcome.said = error.text;
    free(copy);
    check_untouched(&outcome, length);
    return outcome;
}

static struct outcome parse_budget(const char *text, size_t length)
{
    struct outcome outcome = outcome_before();
    char *copy = copy_of(text, length);
    retry_text_error error = untouched_error(UNTOUCHED);
    outcome.ok = retry_parse_budget(&outcome.value.budget, copy, length, &error);
    outcome.offset = error.offset;
    outcome.said = error.text;
    free(copy);
    check_untouched(&outcome, length);
    return outcome;
}

static bool parse_duration(const char *text, size_t length, retry_ms *duration)
{
    char *copy = copy_of(text, length);
    retry_text_error error = untouched_error(UNTOUCHED);
    bool ok = retry_parse_duration(copy, length, duration, &error);
    free(copy);
    CHECK_EQUAL(ok ? UNTOUCHED : 0, error.offset);
    CHECK(ok == !error.text);
    return ok;
}

static void check_policy(const retry_policy *expected, const char *text)
{
    struct outcome outcome = parse_policy(text, strlen(text));
    check_row("policy \"%s\"", text);
    CHECK(outcome.ok);
    if (outcome.ok)
        CHECK(same_policy(expected, &outcome.value.policy));
}

static void check_budget(const retry_budget_options *expected, const char *text)
{
    struct outcome outcome = parse_budget(text, strlen(text));
    check_row("budget \"%s\"", text);
    CHECK(outcome.ok);
    if (outcome.ok)
        CHECK(same_options(expected, &outcome.value.budget));
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
    retry_policy policy = RETRY_POLICY_SMITHY;
    policy.max_attempts = 0;
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
    const retry_budget_options none = options_of(UINT32_MAX, 0);
    retry_budget_options best_effort = options_of(20000, 250);
    static const retry_budget_options smithy = RETRY_BUDGET_SMITHY;
    static const retry_budget_options aws = RETRY_BUDGET_AWS;
    static const retry_budget_options aws_2026 = RETRY_BUDGET_AWS_2026;
    static const retry_budget_options grpc = RETRY_BUDGET_GRPC;
    best_effort.timeout_cost = best_effort.throttle_cost = 1000;
    best_effort.success_deposit = 100;
    best_effort.expire = 10000;
    best_effort.base_per_second = 50;
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
    retry_budget_options plain = options_of(20000, 1000);
    policy.max_attempts = 5;
    policy.backoff.initial = 100;
    policy.backoff.max = 10000;
    policy.backoff.jitter = RETRY_JITTER_EQUAL;
    check_policy(&policy, "aws attempts=5 initial=100ms max=10s jitter=equal");
    check_policy(&policy, "aws,attempts=5,initial=100ms,max=10s,jitter=equal");
    check_policy(&policy, "aws jitter=equal max=10s\r\n\tinitial=0.1s, attempts=05\n");
    options.capacity = 20000;
    options.floor = 10000;
    options.retry_cost = 1000;
    options.success_deposit = 250;
    check_budget(&options, "grpc capacity=20 cost=1 success=0.25");
    check_budget(&options, "grpc success=0.250\ncost=1.0\ncapacity=0020");
    check_budget(&plain, "capacity=20");
}

/* What best effort holds follows from the operations at once. */
static void test_in_flight(void)
{
    static const retry_budget_options one = RETRY_BUDGET_BEST_EFFORT(1);
    static const retry_budget_options fifty = RETRY_BUDGET_BEST_EFFORT(50);
    static const retry_budget_options most = RETRY_BUDGET_BEST_EFFORT(UINT32_MAX);
    retry_budget_options slower = fifty;
    slower.success_deposit = 50;
    check_budget(&one, "best-effort");
    check_budget(&one, "best-effort in-flight=1");
    check_budget(&fifty, "best-effort in-flight=50");
    check_budget(&most, "best-effort in-flight=4294967295");
    check_budget(&most, "best-effort in-flight=214749");
    check_budget(&slower, "best-effort success=0.05 in-flight=50");
}

/* ---- keys ---------------------------------------------------------------------------------- */

/* What attempts that were throttled have from the others, whose delays are never longer. The
   longest of best effort is their own, as long as nobody says another. */
static void throttle_too(retry_policy *policy)
{
    retry_ms initial = policy->throttle_backoff.initial;
    bool own = policy->backoff.max == 5000;
    policy->throttle_backoff = policy->backoff;
    if (initial > policy->backoff.initial)
        policy->throttle_backoff.initial = initial;
    if (own)
        policy->throttle_backoff.max = 10000;
}

/* Every key alone: it sets its field, and nothing else but what follows from it. */
static void test_policy_keys(void)
{
    static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
    static const retry_backoff controlled = RETRY_BACKOFF_CONTROLLED;
    retry_policy p;
#define KEY(text, field, expected) \
    p = best_effort;               \
    p.field = expected;            \
    throttle_too(&p);              \
    check_policy(&p, text)
    KEY("attempts=7", max_attempts, 7);
    KEY("attempts=0", max_attempts, 0);
    KEY("attempts=1", max_attempts, 1);
    KEY("attempts=4294967295", max_attempts, UINT32_MAX);
    KEY("attempts=00000000000000000004294967295", max_attempts, UINT32_MAX);
    KEY("curve=exponential", backoff.curve, RETRY_CURVE_EXPONENTIAL);
    KEY("curve=constant", backoff.curve, RETRY_CURVE_CONSTANT);
    p = best_effort;
    p.backoff.curve = controlled.curve;
    p.backoff.table = controlled.table;
    p.backoff.table_length = controlled.table_length;
    throttle_too(&p);
    check_policy(&p, "curve=controlled");
    KEY("jitter=none", backoff.jitter, RETRY_JITTER_NONE);
    KEY("jitter=full", backoff.jitter, RETRY_JITTER_FULL);
    KEY("jitter=equal", backoff.jitter, RETRY_JITTER_EQUAL);
    KEY("jitter=decorrelated", backoff.jitter, RETRY_JITTER_DECORRELATED);
    KEY("min=300ms", backoff.min, 300);
    KEY("min=500ms", backoff.min, 500);
    KEY("min=0", backoff.min, 0);
    KEY("initial=0.3s", backoff.initial, 300);
    KEY("initial=500", backoff.initial, 500);
    KEY("initial=0", backoff.initial, 0);
    KEY("max=3s", backoff.max, 3000);
    KEY("max=500ms", backoff.max, 500);
    KEY("max=0", backoff.max, 0);
    KEY("factor=1.6", backoff.factor, RETRY_RATIO(1.6));
    KEY("factor=0", backoff.factor, 0);
    KEY("factor=1", backoff.factor, RETRY_RATIO(1));
    KEY("throttled=3s", throttle_backoff.initial, 3000);
    KEY("throttled=10s", throttle_backoff.initial, 10000); /* its longest */
    KEY("retry-after-max=3s", retry_after_max, 3000);
    KEY("retry-after-slack=3s", retry_after_slack, 3000);
    KEY("retry-after-spread=0.25", retry_after_spread, RETRY_RATIO(0.25));
#undef KEY
}

/* SPREAD without a number has gRPC's, which 0 stands for; a number is taken. */
static void test_spread(void)
{
    static const struct {
        const char *text;
        uint32_t spread;
    } rows[] = {{"jitter=spread", 0},
                {"aws jitter=spread", 0},
                {"grpc", 0},
                {"grpc max=5s", 0},
                {"jitter=spread spread=0.5", RETRY_RATIO(0.5)},
                {"spread=0.5 jitter=spread", RETRY_RATIO(0.5)},
                {"grpc spread=0.5", RETRY_RATIO(0.5)},
                {"grpc spread=.2", RETRY_RATIO(0.2)}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_policy policy = policy_of(rows[i].text);
        CHECK_EQUAL(RETRY_JITTER_SPREAD, policy.backoff.jitter);
        CHECK_EQUAL(rows[i].spread, policy.backoff.spread);
    }
    CHECK_EQUAL(0, policy_of("grpc jitter=none").backoff.spread);
}

static void test_budget_keys(void)
{
    const retry_budget_options none = options_of(UINT32_MAX, 0);
    const retry_budget_options own = options_of(50000, 1000);
    retry_budget_options options;
#define KEY(text, field, expected) \
    options = own;                 \
    options.field = expected;      \
    check_budget(&options, "capacity=50 " text)
    KEY("", capacity, 50000);
    KEY("cost=12.5", retry_cost, 12500);
    KEY("cost=50", retry_cost, 50000);
    KEY("timeout-cost=12.5", timeout_cost, 12500);
    KEY("throttle-cost=12.5", throttle_cost, 12500);
    KEY("success=12.5", success_deposit, 12500);
    KEY("request=12.5", request_deposit, 12500);
    KEY("per-second=12.5", refill_per_second, 12500);
    KEY("floor=12.5", floor, 12500);
    KEY("expire=12.5s", expire, 12500);
    KEY("expire=250", expire, 250);
    KEY("expire=4294967295", expire, UINT32_MAX);
    KEY("expire=0", expire, 0);
    KEY("expire=1m30s", expire, 90000);
    KEY("base-per-second=0.05", base_per_second, 50);
    KEY("base-per-second=12.5", base_per_second, 12500);
    KEY("refund-last=yes", refund_last, true);
    KEY("refund-last=no", refund_last, false);
    KEY("charge-failures=yes", charge_failures, true);
    KEY("charge-failures=no", charge_failures, false);
#undef KEY
    options = own;
    options.retry_cost = 0;
    options.throttle_cost = 1000;
    check_budget(&options, "capacity=50 cost=0 throttle-cost=1");
    options = none;
    check_budget(&options, "none refund-last=no");
    options.retry_cost = 2000;
    check_budget(&options, "none cost=2");
    options.capacity = 3000;
    check_budget(&options, "none cost=2 capacity=3");
    options.expire = 60000;
    check_budget(&options, "none cost=2 expire=1m capacity=3");
}

/* No limit: every retry is paid, and nothing is taken. */
static void test_no_budget(void)
{
    static const char *const texts[] = {"", " ,", "none"};
    size_t i;
    for (i = 0; i < CHECK_COUNT(texts); i++) {
        retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
        retry_budget_options options;
        retry_budget budget;
        retry_client client;
        retry_operation op;
        unsigned tries;
        CHECK(retry_parse_budget(&options, texts[i], strlen(texts[i]), NULL));
        retry_budget_init(&budget, &options, 0);
        memset(&client, 0, sizeof client);
        memset(&op, 0, sizeof op);
        client.budget = &budget;
        op.client = &client;
        retry_start(&op, NULL, 0);
        check_row("\"%s\"", texts[i]);
        for (tries = 0; tries < 1000; tries++) {
            failure.timeout = tries & 1;
            CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, 0));
        }
        CHECK_EQUAL(UINT32_MAX, retry_budget_balance(&budget));
    }
}

/* gRPC's bucket stops retries when it is half empty, whatever its size. */
static void test_grpc_of_any_size(void)
{
    static const struct {
        const char *text;
        uint32_t floor;
        unsigned retries; /* from full */
    } rows[] = {{"grpc", 5000, 4},
                {"grpc capacity=4 success=0.8", 2000, 1},
                {"grpc capacity=20 cost=1 success=0.25", 10000, 9},
                {"grpc capacity=100", 50000, 49},
                {"grpc capacity=5", 2500, 2},
                {"capacity=100 floor=50 charge-failures=yes", 50000, 49},
                {"grpc capacity=100 floor=90", 90000, 9},
                {"grpc floor=90 capacity=100", 90000, 9},
                {"grpc capacity=100 floor=0", 0, 99}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
        retry_budget_options options;
        retry_budget budget;
        retry_client client;
        retry_operation op;
        unsigned retries = 0;
        check_row("\"%s\"", rows[i].text);
        CHECK(retry_parse_budget(&options, rows[i].text, strlen(rows[i].text), NULL));
        CHECK_EQUAL(rows[i].floor, options.floor);
        retry_budget_init(&budget, &options, 0);
        memset(&client, 0, sizeof client);
        memset(&op, 0, sizeof op);
        client.budget = &budget;
        op.client = &client;
        retry_start(&op, NULL, 0);
        while (decide(&op, &failure, 0).verdict == RETRY_VERDICT_RETRY)
            retries++;
        CHECK_EQUAL(rows[i].retries, retries);
    }
}

/* `no` turns off what a preset has, and 0 that its tokens expire. */
static void test_answers_of_presets(void)
{
    retry_budget_options aws = RETRY_BUDGET_AWS, grpc = RETRY_BUDGET_GRPC;
    retry_budget_options best_effort = RETRY_BUDGET_BEST_EFFORT(1);
    aws.refund_last = false;
    check_budget(&aws, "aws refund-last=no");
    grpc.charge_failures = false;
    check_budget(&grpc, "grpc charge-failures=no");
    best_effort.expire = 0;
    check_budget(&best_effort, "best-effort expire=0");
    best_effort.expire = 30000;
    check_budget(&best_effort, "best-effort expire=30s");
}

/* After a throttled attempt all is as for others but the first delay, in whatever order it was
   said; what a preset has of its own counts as if it had been said. */
static void test_throttled(void)
{
    static const retry_backoff none = RETRY_BACKOFF_DEFAULT;
    static const char *const same[] = {
        "throttled=2s jitter=spread min=5 max=7s factor=3 spread=0.5",
        "jitter=spread min=5 max=7s factor=3 spread=0.5 throttled=2s",
        "best-effort max=7s,spread=0.5,jitter=spread,throttled=2000,factor=3,min=5",
    };
    retry_policy policy;
    retry_backoff expected;
    size_t i;
    for (i = 0; i < CHECK_COUNT(same); i++) {
        policy = policy_of(same[i]);
        expected = policy.backoff;
        CHECK_EQUAL(100, expected.initial);
        CHECK_EQUAL(7000, expected.max);
        expected.initial = 2000;
        CHECK(same_backoff(&expected, &policy.throttle_backoff));
    }
    policy = policy_of("aws-2026 jitter=equal max=5s initial=70");
    expected = policy.backoff;
    CHECK_EQUAL(70, expected.initial);
    expected.initial = 1000;
    CHECK(same_backoff(&expected, &policy.throttle_backoff));
    policy = policy_of("aws-2026 throttled=3s curve=controlled");
    expected = policy.backoff;
    expected.initial = 3000;
    CHECK_EQUAL(RETRY_CURVE_TABLE, expected.curve);
    CHECK_EQUAL(6, expected.table_length);
    CHECK(same_backoff(&expected, &policy.throttle_backoff));
    policy = policy_of("aws-2026 throttled=0");
    CHECK_EQUAL(0, policy.throttle_backoff.initial);
    policy = policy_of("aws initial=5s max=50s");
    CHECK(same_backoff(&none, &policy.throttle_backoff));
    policy = policy_of("throttled=0");
    CHECK(same_backoff(&none, &policy.throttle_backoff));
    policy = policy_of("aws throttled=2s");
    CHECK_EQUAL(20000, policy.throttle_backoff.max);
}

static uint32_t top(void *context)
{
    (void)context;
    return UINT32_MAX;
}

/* What is written of delays, and the longest first and second delay after another failure, and
   after a throttled one, which is never shorter. */
static void test_throttled_is_never_shorter(void)
{
    static const struct {
        const char *text;
        retry_ms first, second, throttled, throttled_second;
    } rows[] = {
        {"best-effort", 100, 200, 100, 200},
        {"initial=5s max=60s factor=1.5", 5000, 7500, 5000, 7500}, /* was 100 and 150 */
        {"initial=5s max=1m", 5000, 10000, 5000, 10000},
        {"curve=constant initial=2s max=2s", 2000, 2000, 2000, 2000}, /* was 100 */
        {"initial=200ms", 200, 400, 200, 400},
        {"initial=99ms", 99, 198, 100, 200},
        {"initial=500ms", 500, 1000, 500, 1000},
        {"initial=5s", 5000, 5000, 5000, 10000},
        {"curve=constant initial=2s", 2000, 2000, 2000, 2000},
        {"initial=500ms max=500ms", 500, 500, 500, 500},
        {"initial=5s max=5s", 5000, 5000, 5000, 10000}, /* its own cap, said again */
        {"min=3s max=5s", 3000, 3000, 3000, 3000},
        {"max=7s throttled=2s", 100, 200, 2000, 4000},
        {"max=150ms", 100, 150, 100, 150},
        {"max=0", 100, 200, 100, 200},
        {"throttled=1s", 100, 200, 1000, 2000},
        {"throttled=0", 100, 200, 100, 200},
        {"throttled=0 initial=200ms", 200, 400, 200, 400},
        {"aws", 1000, 2000, 1000, 2000},
        {"aws initial=5s", 5000, 10000, 5000, 10000},
        {"aws-2026 attempts=0", 50, 100, 1000, 2000},
        {"aws-2026 initial=5s", 5000, 10000, 5000, 10000},
        {"grpc initial=5s jitter=none", 5000, 8000, 5000, 8000},
        {"curve=controlled", 1, 10, 1, 10},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_policy policy = policy_of(rows[i].text);
        retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
        retry_client client;
        retry_operation op;
        uint32_t n;
        check_row("\"%s\"", rows[i].text);
        memset(&client, 0, sizeof client);
        memset(&op, 0, sizeof op);
        client.strategy = &policy.base;
        client.random = top;
        op.client = &client;
        op.timeout = UINT32_MAX;
        retry_start(&op, NULL, 0);
        CHECK_EQUAL(rows[i].first, decide(&op, &failure, 0).delay);
        CHECK_EQUAL(rows[i].second, decide(&op, &failure, 0).delay);
        failure.throttle = true;
        retry_start(&op, NULL, 0);
        CHECK_EQUAL(rows[i].throttled, decide(&op, &failure, 0).delay);
        CHECK_EQUAL(rows[i].throttled_second, decide(&op, &failure, 0).delay);
        for (n = 0; n < 40 && policy.throttle_backoff.initial != 0; n++)
            CHECK(retry_backoff_delay(&policy.throttle_backoff, n, 0, UINT32_MAX) >=
                  retry_backoff_delay(&policy.backoff, n, 0, UINT32_MAX));
    }
}

/* What was read is a strategy: the delays of an attempt that was throttled and of one that was
   not. */
static void test_a_policy_at_work(void)
{
    retry_policy policy = policy_of("aws-2026 attempts=4 initial=10ms factor=3 max=1500ms");
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op;
    retry_client client;
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    client.strategy = &policy.base;
    client.random = top;
    op.client = &client;
    retry_start(&op, NULL, 0);
    CHECK_EQUAL(10, decide(&op, &failure, 0).delay);
    CHECK_EQUAL(30, decide(&op, &failure, 0).delay);
    failure.throttle = true;
    CHECK_EQUAL(1500, decide(&op, &failure, 0).delay);
    CHECK_DECISION(FAIL, ATTEMPTS_EXHAUSTED, decide(&op, &failure, 0));
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
    snprintf(pair, sizeof pair, "retry-after-max=%s", text);
    outcome = parse_policy(pair, strlen(pair));
    CHECK_EQUAL(ok, outcome.ok);
    if (ok)
        CHECK_EQUAL(expected, outcome.value.policy.retry_after_max);
    else
        CHECK_EQUAL(16, outcome.offset);
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
        {".5s", 500},
        {".5", 1},
        {".000000001h", 1},
        {"1d", 86400000},
        {"1.5d", 129600000},
        {"49d", 4233600000u},
        {"0.000000011d", 1}, /* 0.9504 ms */
        {"0.000000012d", 2},
        {"49.710269618d", UINT32_MAX}, /* 4294967294.9952 ms */
        {"500us", 1},
        {"1us", 1},
        {"0us", 0},
        {"0.000000001us", 1},
        {"1000us", 1},
        {"1000.000000001us", 2},
        {"1001us", 2},
        {"4294967295us", 4294968},
        {"4294967295.999999999us", 4294968},
        {"500ns", 1}, /* Go */
        {"0ns", 0},
        {"1000000ns", 1},
        {"1000000.000000001ns", 2},
        {"4294967295ns", 4295},
        {"880.092\302\265s", 1}, /* Go: U+00B5 */
        {"880.092\316\274s", 1}, /* U+03BC */
        {"1001\302\265s", 2},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++)
        check_duration(true, rows[i].expected, rows[i].text);
}

/* What people write, whose programs print it so: Go's and gRPC's (6m0s, 2m59.56s of a rate limit's
   header), Prometheus' and systemd's sums. */
static void test_sums(void)
{
    static const struct {
        const char *text;
        retry_ms expected;
    } rows[] = {
        {"1h30m", 5400000},        /* Go, Prometheus, systemd */
        {"6m0s", 360000},          /* Go's Duration.String */
        {"1m0s", 60000},           /* Go */
        {"1h0m0s", 3600000},       /* Go */
        {"0h0m0s", 0},             /* Go */
        {"2m59.56s", 179560},      /* x-ratelimit-reset-requests */
        {"1h2m3.5s", 3723500},     /* Go */
        {"1m.5s", 60500},          /* Go takes it */
        {"1.5h1.5m", 5490000},     /* Go takes it */
        {"1d12h", 129600000},      /* Prometheus */
        {"1h30m5s500ms", 5405500}, /* Prometheus */
        {"55s500ms", 55500},       /* systemd */
        {"1d2h3m4s5ms6us", 93784006},
        {"1d2h3m4.5s6ms7us", 93784507},
        {"1s1us", 1001},
        {"1m 30s", 90000}, /* systemd */
        {"1d 2h  3m 4s 5ms 6us 7ns", 93784007},
        {"1us1ns", 2},
        {"0.0001s0.0001ms", 2}, /* each is rounded up */
        {"1h1ms", 3600001},
        {"0s0ms", 0},
        {" 1h30m ", 5400000}, /* of a header */
        {"\t6m0s\r\n", 360000},
        {" 5 ", 5},
        {"49d17h2m47s295ms", UINT32_MAX},
        {"49d17h2m47s294ms999us", UINT32_MAX},
        {"1193h2m47.295s", UINT32_MAX},
        {"71582m47.295s", UINT32_MAX},
        {"4294967s295ms", UINT32_MAX},
        {"4294967294ms1000us", UINT32_MAX},
    };
    static const char *const refused[] = {
        "30m1h",
        "1s1m",
        "500ms1s",
        "1us1ms",
        "1h1d", /* in another order */
        "1h1h",
        "1m30m",
        "1ms1ms",
        "1us1us",
        "1us1\302\265s",
        "1\302\265s1\316\274s",
        "1ns1us",
        "1\302\265",
        "1\316s",
        "1 m",
        "1m 30",
        "1m, 30s",
        "1h30m1h",
        "1s1s", /* twice */
        "1h30",
        "30 1h",
        "1m30s5", /* the last without a unit */
        "1h, 30m",
        "1h+30m",
        "1h-30m",
        "1h:30m",
        "h1m", /* between */
        "5min",
        "5min20s",
        "1sec",
        "1hr",
        "1w",
        "1y",
        "1M",
        "1m30",
        "1h.",
        "1h.m",
        "1hm",
        "1..5s1ms",
        "1.5.5h1m",
        "-1h30m",
        "1h-30m",
        "1d1.0000000001s",
        "",
        /* too long, in each unit */
        "50d",
        "49.710269619d",
        "49d18h",
        "49d17h3m",
        "49d17h2m48s",
        "49d17h2m47s296ms",
        "49d17h2m47s295ms1us",
        "1193h3m",
        "71582m48s",
        "4294967s296ms",
        "4294967295ms1us",
        "4294967296us",
        "4294967295d",
        "4294967295d4294967295h",
        "1d4294967295ms",
        "4294967295h4294967295m4294967295s",
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++)
        check_duration(true, rows[i].expected, rows[i].text);
    for (i = 0; i < CHECK_COUNT(refused); i++)
        check_duration(false, 0, refused[i]);
}

static void test_not_durations(void)
{
    static const char *const texts[] = {
        "/",
        "0/",
        "1/",
        "",
        "1.",
        "-1",
        "+1",
        "1 s",
        "1e3",
        "5x",
        "4294967296",
        "-0.5s",
        "-0",
        "+0",
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
        "1mss",
        "1sm",
        "1h30",
        "1s1",
        "1ms1",
        "1.s",
        "1.ms",
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
        "4500000000", /* whose lower 32 bits are a number, too */
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
    retry_text_error error = untouched_error(UNTOUCHED);
    CHECK(retry_parse_duration("15ms", 1, &duration, NULL));
    CHECK_EQUAL(1, duration);
    CHECK(retry_parse_duration("15ms", 2, &duration, NULL));
    CHECK_EQUAL(15, duration);
    CHECK(retry_parse_duration("15ms", 3, &duration, NULL));
    CHECK_EQUAL(900000, duration);
    CHECK(!retry_parse_duration("15ms", 0, &duration, NULL));
    CHECK_EQUAL(900000, duration);
    CHECK(retry_parse_policy(&policy, "aws-2026", 3, &error));
    CHECK(same_policy(&aws, &policy));
    CHECK(retry_parse_policy(&policy, "aws attempts=55", 14, &error));
    CHECK_EQUAL(5, policy.max_attempts);
    CHECK_EQUAL(UNTOUCHED, error.offset);
}

static void check_ratio(bool ok, uint32_t expected, const char *value)
{
    static const char *const keys[] = {"factor=", "jitter=spread spread=", "retry-after-spread="};
    size_t i;
    bool below_1 =
        ok && strspn(value, "0") == strcspn(value, ".") && strspn(value, "0.") != strlen(value);
    for (i = below_1; i < CHECK_COUNT(keys); i++) {
        char text[80];
        struct outcome outcome;
        retry_policy *policy = &outcome.value.policy;
        snprintf(text, sizeof text, "%s%s", keys[i], value);
        outcome = parse_policy(text, strlen(text));
        check_row("\"%s\"", text);
        CHECK_EQUAL(ok && (i != 1 || expected != 0), outcome.ok); /* a spread of 0 is refused */
        if (!outcome.ok)
            CHECK_EQUAL(strlen(keys[i]), outcome.offset);
        else
            CHECK_EQUAL(expected, i == 0   ? policy->backoff.factor
                                  : i == 1 ? policy->backoff.spread
                                           : policy->retry_after_spread - (expected == 0));
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
        {".25", 16384},
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
        ".",
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
    snprintf(text, sizeof text, "none request=%s", value);
    outcome = parse_budget(text, strlen(text));
    check_row("\"%s\"", text);
    CHECK_EQUAL(ok, outcome.ok);
    if (ok)
        CHECK_EQUAL(expected, outcome.value.budget.request_deposit);
    else
        CHECK_EQUAL(13, outcome.offset);
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
        {".25", 250},
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
                                          ".",
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

#define UNKNOWN "unknown word; presets are "
#define TWICE "key given twice"
#define FIRST "a preset must come first"
#define NO_NUMBER "not a number"
#define NOT_WHOLE "not a whole number"
#define DECIMALS "too many decimals"
#define RANGE "out of range"
#define UNITS "units: d h m s ms us ns, each smaller than the last"
#define CURVES "not one of these: exponential constant controlled"
#define JITTERS "not one of these: full equal spread decorrelated none"
#define ANSWERS "not one of these: no yes"
#define MIN_ABOVE "min above max"
#define INITIAL_ABOVE "initial above max"
#define THROTTLED_ABOVE "throttled above max"
#define FACTOR "factor below 1"
#define SPREAD "spread without jitter=spread"
#define NO_SPREAD "a spread of 0: use jitter=none"
#define THROTTLED_BELOW "throttled below initial"
#define NO_CAPACITY "no preset and no capacity="
#define NEVER "never pays for a retry"
#define NO_COST "a capacity and no cost"
#define IN_FLIGHT "in-flight is for best-effort without capacity="

/* The text that is wrong, where, and what the library says of it. */
static void check_wrong(const struct outcome *outcome, const char *text, size_t offset,
                        const char *said)
{
    check_row("\"%s\"", text);
    CHECK(!outcome->ok);
    CHECK_EQUAL(offset, outcome->offset);
    if (strcmp(said, UNKNOWN) == 0)
        CHECK(outcome->said && strncmp(outcome->said, said, strlen(said)) == 0);
    else
        CHECK_TEXT(said, outcome->said ? outcome->said : "");
}

static const struct {
    const char *text;
    size_t offset;
    const char *said;
} wrong_policies[] = {
    {"foo", 0, UNKNOWN},
    {"  foo", 2, UNKNOWN},
    {"none", 0, UNKNOWN},
    {"Aws", 0, UNKNOWN},
    {"AWS", 0, UNKNOWN},
    {"aw", 0, UNKNOWN},
    {"awss", 0, UNKNOWN},
    {"aws-", 0, UNKNOWN},
    {"aws-202", 0, UNKNOWN},
    {"aws-20266", 0, UNKNOWN},
    {"aws=5", 0, UNKNOWN},
    {"aws=", 0, UNKNOWN},
    {"=", 0, UNKNOWN},
    {"=5", 0, UNKNOWN},
    {"attempts", 0, UNKNOWN},
    {"attempts =5", 0, UNKNOWN},
    {"attempts= 5", 9, NO_NUMBER},
    {"attempts=", 9, NO_NUMBER},
    {"attempts=,max=1", 9, NO_NUMBER},
    {"aws attempts=", 13, NO_NUMBER},
    {"aws attempts=x max=y", 13, NO_NUMBER},
    {"aws aws", 4, FIRST},
    {"aws smithy", 4, FIRST},
    {"aws,,smithy", 5, FIRST},
    {"attempts=5 aws", 11, FIRST},
    {"attempts=5 aws foo", 11, FIRST},
    {"attempts=5 aws-2026", 11, FIRST},
    {"attempts=5 aws-2027", 11, UNKNOWN},
    {"attempts=5 aws=", 11, UNKNOWN},
    {"Attempts=5", 0, UNKNOWN},
    {"attempt=5", 0, UNKNOWN},
    {"attemptss=5", 0, UNKNOWN},
    {"xattempts=5", 0, UNKNOWN},
    {"max=5 attempts", 6, UNKNOWN},
    {"capacity=5", 0, UNKNOWN},
    {"max=5 retry-after=5", 6, UNKNOWN},
    {"attempts=5.0", 9, NOT_WHOLE},
    {"attempts=5.", 9, NOT_WHOLE},
    {"attempts=3.5", 9, NOT_WHOLE},
    {"attempts=-5", 9, NO_NUMBER},
    {"attempts=+5", 9, NO_NUMBER},
    {"attempts=5x", 9, NO_NUMBER},
    {"attempts=5=6", 9, NO_NUMBER},
    {"attempts==5", 9, NO_NUMBER},
    {"attempts=5s", 9, NO_NUMBER},
    {"attempts=4294967296", 9, RANGE},
    {"attempts=18446744073709551617", 9, RANGE},
    {"curve=", 6, CURVES},
    {"curve=Constant", 6, CURVES},
    {"curve=const", 6, CURVES},
    {"curve=constant1", 6, CURVES},
    {"curve=linear", 6, CURVES},
    {"curve=power", 6, CURVES},
    {"curve=table", 6, CURVES},
    {"curve=custom", 6, CURVES},
    {"curve=1", 6, CURVES},
    {"curve=full", 6, CURVES},
    {"jitter=constant", 7, JITTERS},
    {"jitter=half", 7, JITTERS},
    {"jitter=", 7, JITTERS},
    {"factor=1.6s", 7, NO_NUMBER},
    {"throttled=1x", 10, UNITS},
    {"throttled=yes", 10, NO_NUMBER},
    {"attempts=5 attempts=5", 11, TWICE},
    {"attempts=5 attempts=x", 11, TWICE},
    {"attempts=5 attempts=", 11, TWICE},
    {"attempts=x attempts=5", 9, NO_NUMBER},
    {"attempts=5 foo attempts=6", 11, UNKNOWN},
    {"aws attempts=5\tmax=1s\r\nattempts=6 max=2", 23, TWICE},
    {"min=1 initial=1 max=1 min=1", 22, TWICE},
    {"aws;attempts=5", 0, UNKNOWN},
    {"aws\vattempts=5", 0, UNKNOWN},
    {"aws\fattempts=5", 0, UNKNOWN},
    {"aws attempts=5;max=1", 13, NO_NUMBER},
    {"aws \"attempts=5\"", 4, UNKNOWN},
    {"aws # a comment", 4, UNKNOWN},
    {"\xef\xbb\xbf"
     "aws",
     0, UNKNOWN},
    {"aws attempts=\xb2", 13, NO_NUMBER},
    /* each word alone is right */
    {"min=5001", 4, MIN_ABOVE},
    {"min=2s max=1s", 11, MIN_ABOVE},
    {"max=1s min=2s", 11, MIN_ABOVE},
    {"max=1s attempts=5 min=2s jitter=full", 22, MIN_ABOVE},
    {"aws min=1m", 8, MIN_ABOVE},
    {"throttled=10001", 10, THROTTLED_ABOVE ": set max=, too"},
    {"aws throttled=20001", 14, THROTTLED_ABOVE ": set max=, too"},
    {"throttled=1s max=600", 17, THROTTLED_ABOVE},
    {"max=499 throttled=500", 18, THROTTLED_ABOVE},
    {"max=500 throttled=10001", 18, THROTTLED_ABOVE},
    {"initial=200 throttled=199", 22, THROTTLED_BELOW},
    {"throttled=199 initial=200", 22, THROTTLED_BELOW},
    {"aws throttled=999ms", 14, THROTTLED_BELOW},
    {"aws-2026 throttled=49", 19, THROTTLED_BELOW},
    {"grpc throttled=1", 15, THROTTLED_BELOW},
    {"smithy throttled=2s max=1500", 24, THROTTLED_ABOVE},
    {"aws max=999ms", 8, INITIAL_ABOVE},
    {"aws initial=30s max=20s", 20, INITIAL_ABOVE},
    {"min=3s initial=2s max=1s", 22, MIN_ABOVE}, /* the first of two */
    {"factor=0.999", 7, FACTOR},
    {"grpc factor=0.00001", 12, FACTOR},
    {"factor=0.000000001", 7, FACTOR},
    {"factor=0.999995", 7, FACTOR},
    {"factor=00.999999999", 7, FACTOR},
    {"spread=0.2", 7, SPREAD},
    {"spread=0", 7, SPREAD},
    {"grpc jitter=full spread=0.3", 24, SPREAD},
    {"spread=0.3 jitter=equal", 7, SPREAD},
    {"spread=0.3 factor=0.5", 18, FACTOR},
    {"jitter=spread spread=0", 21, NO_SPREAD},
    {"grpc spread=0", 12, NO_SPREAD},
    {"grpc spread=0.000000001", 12, NO_SPREAD},
    {"min=2s max=1s foo", 14, UNKNOWN}, /* the form comes first */
};

static void test_wrong_policies(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(wrong_policies); i++) {
        const char *text = wrong_policies[i].text;
        struct outcome outcome = parse_policy(text, strlen(text));
        retry_policy policy;
        check_wrong(&outcome, text, wrong_policies[i].offset, wrong_policies[i].said);
        CHECK(!retry_parse_policy(&policy, text, strlen(text), NULL));
    }
}

static void test_wrong_budgets(void)
{
    static const struct {
        const char *text;
        size_t offset;
        const char *said;
    } rows[] = {
        {"foo", 0, UNKNOWN},
        {"rfc0049", 0, UNKNOWN},
        {"controlled", 0, UNKNOWN},
        {"None", 0, UNKNOWN},
        {"non", 0, UNKNOWN},
        {"nones", 0, UNKNOWN},
        {"best-effort=5", 0, UNKNOWN},
        {"grpc none", 5, FIRST},
        {"capacity=20 grpc", 12, FIRST},
        {"attempts=5", 0, UNKNOWN},
        {"Cost=1", 0, UNKNOWN},
        {"cost", 0, UNKNOWN},
        {"cost=", 5, NO_NUMBER},
        {"cost=1s", 5, NO_NUMBER},
        {"cost=1 cost=1", 7, TWICE},
        {"cost=1 cost=x", 7, TWICE},
        {"cost=1 timeout-cost=1 throttle-cost=1 cost=2", 38, TWICE},
        {"expire", 0, UNKNOWN},
        {"expires=1s", 0, UNKNOWN},
        {"expire=", 7, NO_NUMBER},
        {"expire=-1", 7, NO_NUMBER},
        {"expire=never", 7, NO_NUMBER},
        {"expire=1x", 7, UNITS},
        {"expire=1194h", 7, RANGE},
        {"best-effort expire=1.0000000001s", 19, DECIMALS},
        {"expire=1s expire=2s", 10, TWICE},
        {"refund-last=", 12, ANSWERS},
        {"refund-last=true", 12, ANSWERS},
        {"refund-last=Yes", 12, ANSWERS},
        {"refund-last=yess", 12, ANSWERS},
        {"refund-last=ye", 12, ANSWERS},
        {"refund-last=n", 12, ANSWERS},
        {"refund-last=1", 12, ANSWERS},
        {"refund-last", 0, UNKNOWN},
        {"charge-failures=nope", 16, ANSWERS},
        {"charge-failures=yes charge-failures=no", 20, TWICE},
        {"cost=1", 6, NO_CAPACITY},
        {" success=0.1\tcost=1 ", 20, NO_CAPACITY},
        {"expire=10s", 10, NO_CAPACITY},
        {"capacity=0", 9, NEVER},
        {"smithy capacity=0", 16, NEVER},
        {"none capacity=0", 14, NEVER},
        {"capacity=5 cost=6", 16, NEVER},
        {"capacity=5 cost=6 expire=1s", 16, NEVER},
        {"capacity=3 cost=1 floor=2 expire=1s base-per-second=1", 24, NEVER},
        {"base-per-second=", 16, NO_NUMBER},
        {"base-per-second=1 base-per-second=2", 18, TWICE},
        {"base-per-second=0.0001", 16, DECIMALS},
        {"capacity=3 floor=1 expire=1s", 17, NEVER},
        {"cost=6 capacity=5", 16, NEVER},
        {"aws capacity=4.999", 13, NEVER},
        {"aws cost=501 timeout-cost=501 throttle-cost=500.001", 9, NEVER},
        {"capacity=10 cost=1 floor=9", 25, NEVER},
        {"grpc floor=9", 11, NEVER},
        {"grpc capacity=2", 14, NEVER},
        {"capacity=1 charge-failures=yes", 9, NEVER},
        {"capacity=5 charge-failures=yes floor=9", 37, NEVER},
        {"best-effort in-flight=0", 22, NEVER},
        {"best-effort in-flight=", 22, NO_NUMBER},
        {"best-effort in-flight=1.5", 22, NOT_WHOLE},
        {"best-effort in-flight=-1", 22, NO_NUMBER},
        {"best-effort in-flight=4294967296", 22, RANGE},
        {"best-effort in-flight=1 in-flight=1", 24, TWICE},
        {"best-effort in-flight=5 capacity=5", 22, IN_FLIGHT},
        {"smithy in-flight=5", 17, IN_FLIGHT},
        {"capacity=5 in-flight=5", 21, IN_FLIGHT},
        {"none in-flight=5", 15, IN_FLIGHT},
        {"in-flight=5", 11, NO_CAPACITY},
        {"capacity=5 cost=0", 16, NO_COST},
        {"cost=0 capacity=5", 16, NO_COST},
        {"none capacity=5", 14, NO_COST},
        {"best-effort cost=0 timeout-cost=0 throttle-cost=0", 17, NO_COST},
        {"grpc cost=0", 10, NO_COST},
        {"aws cost=0 timeout-cost=0 throttle-cost=0", 9, NO_COST},
        {"none capacity=5 success=1", 14, NO_COST},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        const char *text = rows[i].text;
        struct outcome outcome = parse_budget(text, strlen(text));
        retry_budget_options options;
        check_wrong(&outcome, text, rows[i].offset, rows[i].said);
        CHECK(!retry_parse_budget(&options, text, strlen(text), NULL));
    }
}

/* Just enough to pay once, for one kind of retry. */
static void test_budgets_that_pay(void)
{
    static const char *const texts[] = {"capacity=6 cost=6",
                                        "aws capacity=5",
                                        "capacity=10 cost=1 floor=8.999",
                                        "grpc floor=8.999",
                                        "grpc capacity=2.001",
                                        "capacity=1 charge-failures=no",
                                        "capacity=1.001 charge-failures=yes",
                                        "capacity=3 cost=5 timeout-cost=3",
                                        "capacity=3 cost=5 throttle-cost=3",
                                        "capacity=0.001 cost=0 timeout-cost=0.001",
                                        "none capacity=1 throttle-cost=1",
                                        "none success=1",
                                        "capacity=1 expire=1ms",
                                        "capacity=3 floor=1 expire=1s success=0.001",
                                        "capacity=3 floor=1 expire=1s request=0.001",
                                        "capacity=3 floor=1 expire=1s per-second=0.001",
                                        "capacity=4294967.295 cost=4294967.295"};
    size_t i;
    for (i = 0; i < CHECK_COUNT(texts); i++) {
        check_row("\"%s\"", texts[i]);
        CHECK(parse_budget(texts[i], strlen(texts[i])).ok);
    }
}

/* Each key, with a value that is right. */
static const char *const policy_words[] = {
    "attempts=1",
    "curve=constant",
    "jitter=full",
    "min=1",
    "initial=1",
    "max=1",
    "factor=1",
    "spread=1",
    "throttled=1",
    "retry-after-max=1",
    "retry-after-slack=1",
    "retry-after-spread=1",
};
static const char *const budget_words[] = {
    "capacity=1",        "cost=1",         "timeout-cost=1",
    "throttle-cost=1",   "success=1",      "request=1",
    "per-second=1",      "floor=1",        "expire=1",
    "base-per-second=1", "refund-last=no", "charge-failures=no",
    "in-flight=1",
};

static int key_length(const char *word)
{
    return (int)strcspn(word, "=");
}

/* What is said of an unknown word names all that is known. */
static void test_what_is_known(void)
{
    static const char *const presets[] = {"best-effort", "smithy", "aws", "aws-2026", "grpc"};
    struct outcome policy = parse_policy("?", 1), budget = parse_budget("?", 1);
    char text[40];
    size_t i;
    for (i = 0; i < CHECK_COUNT(presets); i++) {
        check_row("%s", presets[i]);
        snprintf(text, sizeof text, " %s ", presets[i]);
        CHECK(strstr(policy.said, text));
        CHECK(strstr(budget.said, text) || strstr(budget.said, " grpc;"));
    }
    for (i = 0; i < CHECK_COUNT(policy_words); i++) {
        snprintf(text, sizeof text, " %.*s=", key_length(policy_words[i]), policy_words[i]);
        CHECK(strstr(policy.said, text));
    }
    for (i = 0; i < CHECK_COUNT(budget_words); i++) {
        snprintf(text, sizeof text, " %.*s=", key_length(budget_words[i]), budget_words[i]);
        CHECK(strstr(budget.said, text));
    }
    CHECK(strstr(policy.said, " rfc0049 controlled; keys are "));
    CHECK(strstr(budget.said, "presets are none "));
}

/* What is said of a duration. */
static void test_wrong_durations(void)
{
    static const struct {
        const char *text, *said;
    } rows[] = {{"", NO_NUMBER},
                {"-1", NO_NUMBER},
                {"abc", NO_NUMBER},
                {"1.", NO_NUMBER},
                {"5x", UNITS},
                {"5 s", UNITS},
                {"1e3", UNITS},
                {"1sec", UNITS},
                {"5min", UNITS},
                {"1m1m", UNITS},
                {"1s1m", UNITS},
                {"1h-5m", UNITS},
                {"1h1.5.5m", DECIMALS},
                {"50d", RANGE},
                {"49d18h", RANGE},
                {"1h30", UNITS},
                {"1.0000000001s", DECIMALS},
                {"1.5.5", DECIMALS},
                {"4294967296", RANGE},
                {"1194h", RANGE},
                {"99999999999", RANGE}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_ms duration = UNTOUCHED;
        retry_text_error error = untouched_error(UNTOUCHED);
        check_row("\"%s\"", rows[i].text);
        CHECK(!retry_parse_duration(rows[i].text, strlen(rows[i].text), &duration, &error));
        CHECK_EQUAL(0, error.offset);
        CHECK_TEXT(rows[i].said, error.text ? error.text : "");
        CHECK(!retry_parse_duration(rows[i].text, strlen(rows[i].text), &duration, NULL));
        CHECK_EQUAL(UNTOUCHED, duration);
    }
}

/* Every key twice, the second time with a value that is wrong: the key is what is told. */
static void test_repeated_keys(void)
{
    char text[80];
    size_t i;
    for (i = 0; i < CHECK_COUNT(policy_words); i++) {
        const char *word = policy_words[i];
        struct outcome outcome;
        snprintf(text, sizeof text, "%s %.*s=?", word, key_length(word), word);
        outcome = parse_policy(text, strlen(text));
        check_row("\"%s\"", text);
        CHECK(!outcome.ok);
        CHECK_EQUAL(strlen(word) + 1, outcome.offset);
    }
    for (i = 0; i < CHECK_COUNT(budget_words); i++) {
        const char *word = budget_words[i];
        struct outcome outcome;
        snprintf(text, sizeof text, "%s %.*s=?", word, key_length(word), word);
        outcome = parse_budget(text, strlen(text));
        check_row("\"%s\"", text);
        CHECK(!outcome.ok);
        CHECK_EQUAL(strlen(word) + 1, outcome.offset);
    }
}

static void test_null(void)
{
    static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
    const retry_budget_options none = options_of(UINT32_MAX, 0);
    struct outcome outcome = outcome_before();
    retry_policy *policy = &outcome.value.policy;
    retry_budget_options *options = &outcome.value.budget;
    retry_ms duration = UNTOUCHED;
    retry_text_error error = untouched_error(UNTOUCHED), untouched = error;
    CHECK(!retry_parse_policy(policy, NULL, 1, &error));
    CHECK_EQUAL(0, error.offset);
    CHECK_TEXT("a NULL argument", error.text);
    error = untouched;
    CHECK(!retry_parse_policy(NULL, "aws foo", 7, &error));
    CHECK_EQUAL(0, error.offset);
    CHECK(!retry_parse_policy(NULL, NULL, 0, NULL));
    error = untouched;
    CHECK(!retry_parse_budget(options, NULL, 1, &error));
    CHECK_EQUAL(0, error.offset);
    CHECK_TEXT("a NULL argument", error.text);
    error = untouched;
    CHECK(!retry_parse_budget(NULL, "grpc foo", 8, &error));
    CHECK_EQUAL(0, error.offset);
    CHECK(!retry_parse_budget(NULL, NULL, 0, NULL));
    error = untouched;
    CHECK(!retry_parse_duration(NULL, 1, &duration, &error));
    CHECK_EQUAL(0, error.offset);
    CHECK_TEXT("a NULL argument", error.text);
    outcome.said = error.text;
    outcome.offset = error.offset;
    check_untouched(&outcome, 1);
    error = untouched;
    CHECK(retry_parse_policy(policy, NULL, 0, &error));
    CHECK(same_policy(&best_effort, policy));
    CHECK(retry_parse_budget(options, NULL, 0, &error));
    CHECK(same_options(&none, options));
    CHECK(retry_parse_budget(options, NULL, 0, NULL));
    CHECK(error.offset == UNTOUCHED && !error.text);
    CHECK(!retry_parse_duration(NULL, 0, &duration, NULL));
    CHECK(!retry_parse_duration("1", 1, NULL, NULL));
    CHECK_EQUAL(UNTOUCHED, duration);
}

/* ---- any text ------------------------------------------------------------------------------- */

/* As all three, whatever the text was made for: what is accepted makes sense and reads back. */
static void check_text_as_all(const char *text, size_t length)
{
    struct outcome outcome;
    retry_ms duration = UNTOUCHED;
    check_row("\"%.*s\"", (int)length, text);
    outcome = parse_policy(text, length);
    if (outcome.ok)
        CHECK(policy_makes_sense(&outcome.value.policy) &&
              policy_reads_back(&outcome.value.policy));
    outcome = parse_budget(text, length);
    if (outcome.ok)
        CHECK(budget_ever_pays(&outcome.value.budget) && budget_reads_back(&outcome.value.budget));
    if (parse_duration(text, length, &duration))
        CHECK(duration_reads_back(duration));
    else
        CHECK_EQUAL(UNTOUCHED, duration);
}

static const char *const samples[] = {
    "aws attempts=5 initial=100ms max=10s jitter=equal",
    "grpc capacity=20 cost=1 success=0.25",
    "min=1,initial=0.5s\tfactor=1.6\r\nspread=0.2 throttled=1m jitter=spread max=1m",
    "aws-2026 jitter=spread curve=constant retry-after-max=1h retry-after-slack=0",
    "retry-after-spread=65535.9",
    "best-effort timeout-cost=4294967.295 throttle-cost=0.001 request=0",
    " none per-second=1 floor=2 refund-last=yes charge-failures=no",
    "capacity=20 success=0.1 expire=10s,cost=1 floor=0.5",
    "1193.046470833h",
    "4294967295.0",
    " 49d17h2m47.295s ",
    "1d2h3m4.5s6ms7us",
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
    static const char changes[] = " ,=.-+_0123456789acdefhilmnopqrstuwxyzASM\t\n\r\v;#\x7f\x80\xff";
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

/* Any two words behind any preset. */
static void check_pairs(const char *const *words, size_t count)
{
    static const char *const presets[] = {"",         "none", "best-effort", "smithy",
                                          "aws-2026", "grpc", "controlled"};
    size_t preset, a, b;
    for (preset = 0; preset < CHECK_COUNT(presets); preset++) {
        for (a = 0; a < count; a++) {
            for (b = 0; b < count; b++) {
                char text[80];
                snprintf(text, sizeof text, "%s %s %s", presets[preset], words[a], words[b]);
                check_text_as_all(text, strlen(text));
            }
        }
    }
}

static void test_any_two_words(void)
{
    static const char *const of_budgets[] = {
        "capacity=0",   "capacity=2",  "cost=0",   "cost=9",        "timeout-cost=0",
        "success=0",    "request=0",   "floor=0",  "floor=50",      "charge-failures=yes",
        "per-second=0", "expire=0",    "expire=1", "refund-last=1", "throttle-cost=0",
        "in-flight=0",  "in-flight=5", "what"};
    static const char *const of_policies[] = {
        "min=0",        "min=1m",         "initial=0",       "initial=1m", "max=0",
        "max=1",        "max=5s",         "factor=0.5",      "factor=3",   "throttled=0",
        "throttled=2s", "throttled=1h",   "spread=0",        "spread=0.5", "jitter=spread",
        "jitter=none",  "curve=constant", "curve=controlled"};
    check_pairs(of_budgets, CHECK_COUNT(of_budgets));
    check_pairs(of_policies, CHECK_COUNT(of_policies));
}

/* ---- written and read ----------------------------------------------------------------------- */

/* Of every size, 0 among them. */
static uint32_t any_number(void)
{
    return (uint32_t)((uint64_t)check_random() >> check_random() % 33);
}

static void test_any_policy(void)
{
    static const retry_policy smithy = RETRY_POLICY_SMITHY;
    static const retry_backoff controlled = RETRY_BACKOFF_CONTROLLED;
    unsigned round;
    for (round = 0; round < 5000 / CHECK_ONE_IN; round++) {
        retry_policy policy = smithy;
        retry_backoff *backoff = &policy.backoff;
        char text[TEXTS_SIZE];
        policy.max_attempts = any_number();
        policy.retry_after_max = any_number();
        policy.retry_after_slack = any_number();
        policy.retry_after_spread = any_number();
        backoff->jitter = (uint8_t)(1 + check_random() % 5);
        backoff->curve = round % 3 == 0 ? RETRY_CURVE_CONSTANT : RETRY_CURVE_EXPONENTIAL;
        backoff->min = any_number();
        backoff->initial = any_number();
        backoff->factor = round % 2 ? any_number() | RETRY_RATIO(1) : 0;
        if (backoff->jitter == RETRY_JITTER_SPREAD)
            backoff->spread = any_number();
        backoff->max = backoff->min | backoff->initial; /* as long as either, or none */
        if (round % 3 == 1)
            backoff->max = 0;
        if (round % 5 == 0) {
            backoff->curve = controlled.curve;
            backoff->table = controlled.table;
            backoff->table_length = controlled.table_length;
        }
        write_policy(text, &policy);
        check_policy(&policy, text);
    }
}

static void test_any_budget(void)
{
    unsigned round;
    for (round = 0; round < 5000 / CHECK_ONE_IN; round++) {
        retry_budget_options options;
        char text[TEXTS_SIZE];
        memset(&options, 0, sizeof options);
        options.floor = any_number() / 4;
        options.retry_cost = 1 + any_number() / 4;
        options.timeout_cost = any_number();
        options.throttle_cost = any_number();
        options.capacity = any_number() / 4 + options.floor + options.retry_cost + 1;
        options.success_deposit = 1 + any_number() / 2;
        options.request_deposit = any_number();
        options.refill_per_second = any_number();
        options.expire = any_number();
        options.base_per_second = any_number();
        options.refund_last = round % 2 == 0;
        options.charge_failures = round % 3 == 0;
        write_budget(text, &options);
        check_budget(&options, text);
    }
}

int main(void)
{
    RUN(test_policy_presets);
    RUN(test_budget_presets);
    RUN(test_examples);
    RUN(test_in_flight);
    RUN(test_policy_keys);
    RUN(test_spread);
    RUN(test_budget_keys);
    RUN(test_no_budget);
    RUN(test_grpc_of_any_size);
    RUN(test_answers_of_presets);
    RUN(test_throttled);
    RUN(test_throttled_is_never_shorter);
    RUN(test_a_policy_at_work);
    RUN(test_durations);
    RUN(test_sums);
    RUN(test_not_durations);
    RUN(test_the_length_counts);
    RUN(test_ratios);
    RUN(test_tokens);
    RUN(test_wrong_policies);
    RUN(test_wrong_budgets);
    RUN(test_budgets_that_pay);
    RUN(test_what_is_known);
    RUN(test_wrong_durations);
    RUN(test_repeated_keys);
    RUN(test_null);
    RUN(test_cut_at_every_byte);
    RUN(test_changed_at_every_byte);
    RUN(test_any_two_words);
    RUN(test_any_policy);
    RUN(test_any_budget);
    return check_done();
}
