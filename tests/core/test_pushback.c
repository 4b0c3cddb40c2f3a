/* Orders from the server: gRPC's header that carries them, where they stand among the steps of a
   decision, and the curve that begins anew behind them. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"

#include <stdlib.h>

#define START ((retry_time)-100) /* most tests run over the wrap */
#define AFTER(elapsed) check_after(START, elapsed)
#define FORBIDDEN UINT32_MAX

/* ---- the header ---------------------------------------------------------------------------- */

/* The order that a text is, by its rule: a decimal number that could have been printed. */
static retry_ms expected_order(const char *text, size_t length)
{
    char printed[16];
    uint64_t number = 0;
    size_t i;
    for (i = 0; i < length; i++) {
        if (i == 10 || text[i] < '0' || text[i] > '9')
            return FORBIDDEN;
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    if (number > 2147483647)
        return FORBIDDEN;
    snprintf(printed, sizeof printed, "%lu", (unsigned long)number);
    return strlen(printed) == length && memcmp(printed, text, length) == 0 ? (retry_ms)number
                                                                           : FORBIDDEN;
}

/* The order that is read from a copy of exactly this length, so that a sanitizer sees every byte
   that is read beyond. */
static retry_ms read_order(const char *text, size_t length)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    char *copy = (char *)malloc(length + 1);
    if (!copy) {
        CHECK(copy != NULL);
        return 0;
    }
    memcpy(copy + 1, text, length);
    CHECK(retry_parse_pushback(copy + 1, length, &failure));
    CHECK(failure.pushback);
    free(copy);
    return failure.retry_after;
}

static void check_order(const char *text, size_t length)
{
    check_row("\"%.*s\"", (int)length, text);
    CHECK_EQUAL(expected_order(text, length), read_order(text, length));
}

static void test_texts(void)
{
    static const struct {
        const char *text;
        retry_ms order;
    } rows[] = {
        {"0", 0},
        {"123", 123},
        {"2147483647", 2147483647},
        {"-1", FORBIDDEN},
        {"", FORBIDDEN},
        {"abc", FORBIDDEN},
        {"1.5", FORBIDDEN},
        {"2147483648", FORBIDDEN},
        {" 5", FORBIDDEN},
        {"007", FORBIDDEN},
        {"5 ", FORBIDDEN},
        {"+5", FORBIDDEN},
        {"-0", FORBIDDEN},
        {"00", FORBIDDEN},
        {"1e3", FORBIDDEN},
        {"0x1f", FORBIDDEN},
        {"5ms", FORBIDDEN},
        {"1,000", FORBIDDEN},
        {"9999999999", FORBIDDEN},
        {"4294967295", FORBIDDEN}, /* and what is small again modulo 2^32 or 2^64 */
        {"4294967296", FORBIDDEN},
        {"4294967301", FORBIDDEN},
        {"02147483647", FORBIDDEN},
        {"21474836470", FORBIDDEN},
        {"42949672960", FORBIDDEN},
        {"00000000000", FORBIDDEN},
        {"00000000005", FORBIDDEN},
        {"18446744073709551621", FORBIDDEN},
    };
    size_t i, length;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("\"%s\"", rows[i].text);
        CHECK_EQUAL(rows[i].order, read_order(rows[i].text, strlen(rows[i].text)));
        CHECK_EQUAL(rows[i].order, expected_order(rows[i].text, strlen(rows[i].text)));
        for (length = 0; length <= strlen(rows[i].text); length++)
            check_order(rows[i].text, length);
    }
    check_row("a zero byte");
    CHECK_EQUAL(FORBIDDEN, read_order("5\0", 2));
    CHECK_EQUAL(FORBIDDEN, read_order("\0", 1));
    CHECK_EQUAL(FORBIDDEN, read_order("\0005", 2));
}

static void test_short_texts(void)
{
    char text[2];
    unsigned first, second;
    for (first = 0; first < 256; first++) {
        text[0] = (char)(first < 128 ? (int)first : (int)first - 256);
        check_order(text, 1);
        for (second = 0; second < 256; second++) {
            text[1] = (char)(second < 128 ? (int)second : (int)second - 256);
            check_order(text, 2);
        }
    }
}

static void test_numbers(void)
{
    unsigned i;
    for (i = 0; i < 20000; i++) {
        uint32_t number = check_random() >> (check_random() & 31);
        char text[24];
        snprintf(text, sizeof text, "%lu", (unsigned long)number);
        check_order(text, strlen(text));
        snprintf(text, sizeof text, "%lu%lu", (unsigned long)number,
                 (unsigned long)(check_random() % 100));
        check_order(text, strlen(text));
        snprintf(text, sizeof text, "0%lu", (unsigned long)number);
        check_order(text, strlen(text));
    }
}

/* No header's text is an order not to retry; nowhere to write to is a mistake. */
static void test_null(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    CHECK(retry_parse_pushback(NULL, 0, &failure));
    CHECK(failure.pushback);
    CHECK_EQUAL(FORBIDDEN, failure.retry_after);
    CHECK(retry_parse_pushback("7", 1, &failure));
    CHECK_EQUAL(7, failure.retry_after);
    CHECK(retry_parse_pushback(NULL, 1, &failure));
    CHECK_EQUAL(FORBIDDEN, failure.retry_after);
    CHECK(!retry_parse_pushback("7", 1, NULL));
    CHECK(!retry_parse_pushback("x", 1, NULL));
    CHECK(!retry_parse_pushback(NULL, 0, NULL));
}

/* What an earlier classification found stays in the failure, but for its retry_after. */
static void test_other_fields(void)
{
    retry_failure failure = retry_classify_http(503, 30000);
    retry_failure expected = failure;
    expected.pushback = true;
    expected.retry_after = 12;
    CHECK(retry_parse_pushback("12", 2, &failure));
    CHECK(memcmp(&expected, &failure, sizeof failure) == 0);
}

/* ---- an order in a decision ---------------------------------------------------------------- */

static retry_action answer; /* what the strategy below says */
static unsigned asked;

static retry_action answering_after(const retry_strategy *self, const retry_operation *op,
                                    const retry_failure *failure, retry_time now)
{
    (void)self;
    (void)op;
    (void)failure;
    (void)now;
    asked++;
    return answer;
}

static const retry_strategy answering = {answering_after};

static unsigned told;
static decided told_decision;
static bool told_finished;

static void tell(void *context, const retry_operation *op, const retry_failure *failure)
{
    (void)context;
    (void)failure;
    told++;
    told_decision = decided_of(op);
    told_finished = retry_left(op, START) == 0;
}

static uint32_t top(void *context)
{
    (void)context;
    return UINT32_MAX;
}

/* One client with a bucket of ten tokens, a retry for one, and one request of it. */
static retry_budget budget;
static retry_client client;
static retry_operation op;
static retry_failure failure;

static void set_up(const retry_strategy *strategy)
{
    retry_budget_options options = options_of(10000, 1000);
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    retry_budget_init(&budget, &options, START);
    client.strategy = strategy;
    client.budget = &budget;
    client.observe = tell;
    client.random = top;
    op.client = &client;
    failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    answer = retry_action_after(20);
    asked = told = 0;
    retry_start(&op, NULL, START);
}

static decided orchestrate(retry_time elapsed)
{
    return decide(&op, &failure, AFTER(elapsed));
}

static decided resume(retry_action action, retry_time elapsed)
{
    return decide_later(&op, action, AFTER(elapsed));
}

/* The next failure comes with an order, */
static decided ordered(retry_ms order)
{
    failure.pushback = true;
    failure.retry_after = order;
    return orchestrate(0);
}

/* or without one. */
static decided plain(void)
{
    failure.pushback = false;
    failure.retry_after = 0;
    return orchestrate(0);
}

static const retry_ms orders[] = {0, 1, 5, 99, 100, 501, 20001, 2147483647, UINT32_MAX - 1};

/* What the clock can measure of an order. */
static retry_ms measured(retry_ms order)
{
    return order < 0x80000000u ? order : 0x80000000u;
}

/* After UNSAFE, before all else, whatever the reason. */
static void test_forbidden_for_every_reason(void)
{
    uint32_t reason;
    unsigned safety;
    set_up(&answering);
    client.observe = NULL;
    for (reason = 0; reason <= UINT8_MAX; reason++) {
        for (safety = RETRY_SAFETY_MAYBE; safety <= RETRY_SAFETY_NO; safety++) {
            decided decision;
            retry_start(&op, NULL, START);
            failure.reason = (retry_reason)reason;
            failure.safety = (uint8_t)safety;
            decision = ordered(FORBIDDEN);
            check_row("reason 0x%02x, safety %u", (unsigned)reason, safety);
            CHECK_EQUAL(RETRY_VERDICT_FAIL, decision.verdict);
            CHECK_EQUAL(safety == RETRY_SAFETY_NO ? RETRY_CAUSE_UNSAFE : RETRY_CAUSE_PUSHBACK,
                        decision.cause);
            CHECK_EQUAL(0, decision.delay);
            CHECK_EQUAL(0, retry_left(&op, START));
        }
    }
    CHECK_EQUAL(0, asked);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
}

/* It is a decision like any other: recorded, told, final; nothing was asked. */
static void test_forbidden(void)
{
    set_up(&answering);
    client.budget->options.charge_failures = true;
    op.idempotent = true;
    failure.code = 9;
    failure.fault = RETRY_FAULT_SERVER;
    failure.reason = RETRY_REASON_SERVER_ERROR;
    CHECK_DECISION(FAIL, PUSHBACK, ordered(FORBIDDEN));
    CHECK(retry_reason_set_has(op.reasons, RETRY_REASON_SERVER_ERROR));
    CHECK_EQUAL(9, op.code);
    CHECK_EQUAL(0, op.retries);
    CHECK_EQUAL(0, op.delay);
    CHECK_EQUAL(0, asked);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_EQUAL(1, told);
    CHECK_EQUAL(RETRY_CAUSE_PUSHBACK, told_decision.cause);
    CHECK(told_finished);
    CHECK_DECISION(FAIL, PUSHBACK, ordered(FORBIDDEN)); /* it is over */
    CHECK_EQUAL(1, told);
    CHECK_TEXT("server forbids", retry_cause_text(RETRY_CAUSE_PUSHBACK));
}

/* The retry that was paid for has been made; the deadline is not asked. */
static void test_forbidden_after_a_retry(void)
{
    set_up(&answering);
    op.timeout = 50;
    CHECK_DECISION(RETRY, STRATEGY, plain());
    failure.pushback = true;
    failure.retry_after = FORBIDDEN;
    CHECK_DECISION(FAIL, PUSHBACK, orchestrate(70));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_stop(&op, START);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
}

static void test_forbidden_and_pending(void)
{
    static const retry_strategy empty = {NULL};
    set_up(&empty);
    CHECK_DECISION(FAIL, PUSHBACK, ordered(FORBIDDEN)); /* it is not asked */
    set_up(&answering);
    answer = retry_action_pending();
    CHECK_LATER(plain());
    CHECK_LATER(ordered(FORBIDDEN)); /* no attempt is under way */
    retry_stop(&op, START);
    CHECK_DECISION(FAIL, CANCELLED, ordered(FORBIDDEN));
}

/* Without `pushback` the same number is a wish, which a policy may cap. */
static void test_a_wish_is_no_order(void)
{
    retry_policy aws = RETRY_POLICY_AWS;
    set_up(&aws.base);
    failure.retry_after = FORBIDDEN;
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    CHECK_EQUAL(20000, op.delay);
    failure.retry_after = 7;
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    CHECK_EQUAL(2000, op.delay);
    set_up(&answering);
    failure.retry_after = FORBIDDEN;
    CHECK_EQUAL(20, orchestrate(0).delay);
}

/* What takes an order's number as it is, however it comes to its own. */
static void check_obeyed(const char *name, unsigned cause)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(orders); i++) {
        decided decision;
        op.timeout = UINT32_MAX;
        retry_start(&op, NULL, START);
        decision = ordered(orders[i]);
        check_row("%s, order %lu", name, (unsigned long)orders[i]);
        check_decision(RETRY_VERDICT_RETRY, cause, decision, __FILE__, __LINE__);
        CHECK_EQUAL(measured(orders[i]), decision.delay);
        CHECK_EQUAL(measured(orders[i]), op.delay);
        CHECK_EQUAL(1, op.retries);
        CHECK_EQUAL(1, op.code_retries);
        CHECK_EQUAL(measured(orders[i]), told_decision.delay);
        decision = ordered(orders[i]); /* and the second time */
        CHECK_EQUAL(measured(orders[i]), decision.delay);
        CHECK_EQUAL(2, op.retries);
    }
}

static void test_obeyed(void)
{
    retry_policy policies[] = {RETRY_POLICY_BEST_EFFORT, RETRY_POLICY_SMITHY, RETRY_POLICY_AWS,
                               RETRY_POLICY_AWS_2026};
    size_t i;
    unsigned jitter;
    for (i = 0; i < CHECK_COUNT(policies); i++) {
        policies[i].retry_after_max = 50;
        policies[i].retry_after_slack = 3;
        policies[i].retry_after_spread = RETRY_RATIO(1);
        for (jitter = 0; jitter <= RETRY_JITTER_NONE; jitter++) {
            policies[i].backoff.jitter = (uint8_t)jitter;
            policies[i].backoff.spread = RETRY_RATIO(0.5);
            policies[i].backoff.min = 100;
            policies[i].backoff.max = 500;
            set_up(&policies[i].base);
            client.budget = NULL;
            check_obeyed("policy", RETRY_CAUSE_STRATEGY);
            failure.throttle = true;
            check_obeyed("throttled", RETRY_CAUSE_STRATEGY);
        }
    }
    set_up(&answering);
    client.budget = NULL;
    check_obeyed("custom", RETRY_CAUSE_STRATEGY);
}

static void test_obeyed_by_always(void)
{
    static const retry_reason reasons[] = {
        RETRY_REASON_KV_NOT_MY_VBUCKET, RETRY_REASON_KV_COLLECTION_OUTDATED,
        RETRY_REASON_VIEWS_NO_ACTIVE_PARTITION, RETRY_REASON_USER(3, RETRY_REASON_ALWAYS)};
    size_t i;
    for (i = 0; i < CHECK_COUNT(reasons); i++) {
        set_up(retry_fail_fast());
        failure.reason = reasons[i];
        check_obeyed("ladder", RETRY_CAUSE_ALWAYS);
        client.always_interval = 7;
        check_obeyed("interval", RETRY_CAUSE_ALWAYS);
        CHECK_EQUAL(10000, retry_budget_balance(&budget));
    }
}

/* An order to wait grants nothing: what is refused without it stays refused, for the same cause. */
static void check_refused(const char *name, unsigned cause)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(orders); i++) {
        decided decision;
        retry_start(&op, NULL, START);
        decision = ordered(orders[i]);
        check_row("%s, order %lu", name, (unsigned long)orders[i]);
        check_decision(RETRY_VERDICT_FAIL, cause, decision, __FILE__, __LINE__);
        CHECK_EQUAL(0, decision.delay);
        CHECK_EQUAL(0, op.retries);
        CHECK_EQUAL(0, retry_left(&op, START));
    }
}

static void test_refused(void)
{
    retry_policy once = RETRY_POLICY_BEST_EFFORT;
    once.max_attempts = 1;
    set_up(NULL);
    failure.reason = RETRY_REASON_NONE;
    check_refused("no reason", RETRY_CAUSE_NOT_RETRYABLE);
    failure.reason = RETRY_REASON_UNKNOWN;
    check_refused("unknown", RETRY_CAUSE_UNKNOWN_REASON);
    failure.reason = 0xbf;
    check_refused("invalid", RETRY_CAUSE_UNKNOWN_REASON);
    failure.reason = RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT;
    check_refused("not idempotent", RETRY_CAUSE_NOT_IDEMPOTENT);
    failure.reason = RETRY_REASON_KV_NOT_MY_VBUCKET;
    failure.safety = RETRY_SAFETY_NO;
    check_refused("unsafe", RETRY_CAUSE_UNSAFE);
    set_up(&once.base);
    check_refused("once", RETRY_CAUSE_ATTEMPTS_EXHAUSTED);
    set_up(retry_fail_fast());
    check_refused("fail fast", RETRY_CAUSE_REFUSED);
    set_up(&answering);
    answer = retry_action_none(RETRY_CAUSE_MAX_DURATION);
    check_refused("custom", RETRY_CAUSE_MAX_DURATION);
}

/* Where the budget cannot pay, the order is what those wait who wait before they fail. */
static void test_budget_exhausted(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(orders); i++) {
        decided decision;
        set_up(i & 1 ? &answering : NULL);
        retry_budget_init(&budget, NULL, START);
        op.timeout = UINT32_MAX;
        decision = ordered(orders[i]);
        check_row("order %lu", (unsigned long)orders[i]);
        CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decision);
        CHECK_EQUAL(measured(orders[i]), decision.delay);
        CHECK_EQUAL(measured(orders[i]), told_decision.delay);
        CHECK_EQUAL(0, op.retries);
    }
}

static void test_budget_pays(void)
{
    set_up(&answering);
    CHECK_DECISION(RETRY, STRATEGY, ordered(0));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_stop(&op, START);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
}

static void test_deadline(void)
{
    static const struct {
        retry_ms elapsed, order;
        bool expires;
    } rows[] = {{0, 0, false},     {0, 999, false},           {0, 1000, true},
                {0, 1001, true},   {0, UINT32_MAX - 1, true}, {999, 0, false},
                {999, 1, true},    {1000, 0, true},           {5000, 0, true},
                {400, 599, false}, {400, 600, true}};
    static const retry_reason reasons[] = {RETRY_REASON_KV_LOCKED, RETRY_REASON_KV_NOT_MY_VBUCKET};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (j = 0; j < CHECK_COUNT(reasons); j++) {
            retry_ms left = rows[i].elapsed < 1000 ? 1000 - rows[i].elapsed : 0;
            decided decision;
            set_up(&answering);
            op.timeout = 1000;
            failure.reason = reasons[j];
            failure.pushback = true;
            failure.retry_after = rows[i].order;
            decision = orchestrate(rows[i].elapsed);
            check_row("%s after %lu, order %lu", retry_reason_name(reasons[j]),
                      (unsigned long)rows[i].elapsed, (unsigned long)rows[i].order);
            CHECK_EQUAL(rows[i].expires ? RETRY_VERDICT_EXPIRE : RETRY_VERDICT_RETRY,
                        decision.verdict);
            CHECK_EQUAL(rows[i].expires ? left : rows[i].order, decision.delay);
            CHECK_EQUAL(rows[i].expires ? 10000 : 10000 - 1000 * (j == 0),
                        retry_budget_balance(&budget));
        }
    }
}

/* A strategy that answers later is followed by the same order. */
static void test_pending(void)
{
    decided decision;
    set_up(&answering);
    op.timeout = 1000;
    answer = retry_action_pending();
    CHECK_LATER(ordered(7));
    CHECK_EQUAL(0, op.delay);
    CHECK_LATER(resume(retry_action_pending(), 5));
    decision = resume(retry_action_after(100), 10);
    CHECK_DECISION(RETRY, STRATEGY, decision);
    CHECK_EQUAL(7, decision.delay);
    CHECK_LATER(ordered(7));
    CHECK_DECISION(FAIL, REFUSED, resume(retry_action_none(RETRY_CAUSE_REFUSED), 10));
    retry_start(&op, NULL, START);
    CHECK_LATER(ordered(600));
    decision = resume(retry_action_after(1), 500);
    CHECK_DECISION(EXPIRE, DEADLINE, decision);
    CHECK_EQUAL(500, decision.delay);
    retry_start(&op, NULL, START);
    CHECK_LATER(ordered(600));
    retry_budget_init(&budget, NULL, START);
    decision = resume(retry_action_after(1), 0);
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decision);
    CHECK_EQUAL(600, decision.delay);
}

/* An order that cannot be asked about is not asked about. */
static void test_pending_forbidden(void)
{
    set_up(&answering);
    answer = retry_action_pending();
    CHECK_DECISION(FAIL, PUSHBACK, ordered(FORBIDDEN));
    CHECK_EQUAL(0, asked);
}

/* ---- the curve behind an order ------------------------------------------------------------- */

static retry_ms linear(const retry_backoff *self, uint32_t attempt)
{
    return self->initial * (attempt + 1);
}

static const retry_ms values[] = {4, 40, 7, 70, 1, 10};

static retry_policy policy_of(uint8_t curve, uint8_t jitter)
{
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    policy.backoff.curve = curve;
    policy.backoff.jitter = jitter;
    policy.backoff.min = 0;
    policy.backoff.initial = 3;
    policy.backoff.max = 100000;
    policy.backoff.spread = RETRY_RATIO(0.25);
    policy.backoff.table = values;
    policy.backoff.table_length = CHECK_COUNT(values);
    policy.backoff.custom = linear;
    return policy;
}

/* The next delay is that of attempt n. */
static void check_attempt(const retry_policy *policy, uint32_t n, int line)
{
    retry_ms previous = n == 0 ? 0 : op.delay;
    retry_ms expected = retry_backoff_delay(&policy->backoff, n, previous, UINT32_MAX);
    check_equal(expected, plain().delay, "delay", __FILE__, line);
}

#define CHECK_ATTEMPT(policy, n) check_attempt((policy), (n), __LINE__)

static void test_curve_begins_anew(void)
{
    unsigned curve, jitter, before, n;
    for (curve = 0; curve <= RETRY_CURVE_CUSTOM; curve++) {
        for (jitter = 0; jitter <= RETRY_JITTER_NONE; jitter++) {
            retry_policy policy = policy_of((uint8_t)curve, (uint8_t)jitter);
            for (before = 0; before < 5; before++) {
                set_up(&policy.base);
                client.budget = NULL;
                check_row("curve %u, jitter %u, order after %u", curve, jitter, before);
                for (n = 0; n < before; n++)
                    CHECK_ATTEMPT(&policy, n);
                CHECK_EQUAL(5000, ordered(5000).delay);
                for (n = 0; n < 6; n++)
                    CHECK_ATTEMPT(&policy, n);
                CHECK_EQUAL(before + 7, op.retries);
            }
        }
    }
}

/* Orders one after the other, and in between. */
static void test_orders_in_between(void)
{
    retry_policy policy = policy_of(RETRY_CURVE_CUSTOM, RETRY_JITTER_NONE);
    unsigned n;
    set_up(&policy.base);
    client.budget = NULL;
    CHECK_EQUAL(0, ordered(0).delay);
    CHECK_EQUAL(8, ordered(8).delay);
    CHECK_ATTEMPT(&policy, 0);
    CHECK_EQUAL(0, ordered(0).delay); /* to wait for nothing is an order too */
    for (n = 0; n < 3; n++)
        CHECK_ATTEMPT(&policy, n);
    CHECK_EQUAL(9, ordered(9).delay);
    for (n = 0; n < 3; n++)
        CHECK_ATTEMPT(&policy, n);
}

/* Counted on for 254 at least; from there it may stand still, but not fall. */
static void test_counted_on(void)
{
    retry_policy policy = policy_of(RETRY_CURVE_CUSTOM, RETRY_JITTER_NONE);
    unsigned n;
    set_up(&policy.base);
    client.budget = NULL;
    for (n = 0; n < 10; n++)
        CHECK_ATTEMPT(&policy, n);
    CHECK_EQUAL(5000, ordered(5000).delay);
    for (n = 0; n <= 1000; n++) {
        check_row("%u after the order", n);
        if (n <= 254)
            CHECK_ATTEMPT(&policy, n);
        else
            CHECK_RANGE(3 * 255, 3 * (n + 1), plain().delay);
    }
    CHECK_EQUAL(10 + 1 + 1001, op.retries);
}

/* The last delay was 5000; DECORRELATED draws as for the first. */
static void test_decorrelated(void)
{
    retry_policy policy = policy_of(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_DECORRELATED);
    set_up(&policy.base);
    CHECK_EQUAL(9, plain().delay);
    CHECK_EQUAL(27, plain().delay);
    CHECK_EQUAL(5000, ordered(5000).delay);
    CHECK_EQUAL(9, plain().delay);
    CHECK_EQUAL(27, plain().delay);
    CHECK_EQUAL(81, plain().delay);
}

static void test_throttle_backoff(void)
{
    retry_policy policy = RETRY_POLICY_AWS_2026;
    policy.max_attempts = 0;
    set_up(&policy.base);
    CHECK_EQUAL(50, plain().delay);
    CHECK_EQUAL(100, plain().delay);
    failure.throttle = true;
    CHECK_EQUAL(4000, plain().delay);
    CHECK_EQUAL(30000, ordered(30000).delay);
    CHECK_EQUAL(1000, plain().delay);
    failure.throttle = false;
    CHECK_EQUAL(100, plain().delay);
}

/* A server's wish stays what it is, on the curve that began anew. */
static void test_wish_behind_an_order(void)
{
    retry_policy policy = policy_of(RETRY_CURVE_CUSTOM, RETRY_JITTER_NONE);
    policy.retry_after_slack = 10;
    policy.retry_after_spread = 1; /* nothing */
    set_up(&policy.base);
    plain();
    plain();
    ordered(5000);
    failure.pushback = false;
    failure.retry_after = 9000;
    CHECK_EQUAL(3 + 10, orchestrate(0).delay);
    CHECK_EQUAL(6 + 10, orchestrate(0).delay);
}

/* Attempts are counted from the first, orders included. */
static void test_max_attempts(void)
{
    retry_policy policy = policy_of(RETRY_CURVE_CUSTOM, RETRY_JITTER_NONE);
    policy.max_attempts = 5;
    set_up(&policy.base);
    CHECK_DECISION(RETRY, STRATEGY, plain());
    CHECK_DECISION(RETRY, STRATEGY, ordered(1));
    CHECK_DECISION(RETRY, STRATEGY, ordered(1));
    CHECK_DECISION(RETRY, STRATEGY, plain());
    CHECK_DECISION(FAIL, ATTEMPTS_EXHAUSTED, plain());
}

/* The ladder of always-retry reasons goes on; the policies' curve begins anew for an order to them
   as well. */
static void test_always(void)
{
    retry_policy policy = policy_of(RETRY_CURVE_CUSTOM, RETRY_JITTER_NONE);
    set_up(&policy.base);
    failure.reason = RETRY_REASON_KV_NOT_MY_VBUCKET;
    CHECK_EQUAL(1, plain().delay);
    CHECK_EQUAL(77, ordered(77).delay);
    CHECK_EQUAL(50, plain().delay);
    CHECK_EQUAL(100, plain().delay);
    CHECK_EQUAL(77, ordered(77).delay);
    failure.reason = RETRY_REASON_KV_LOCKED;
    CHECK_EQUAL(3, plain().delay);
    failure.reason = RETRY_REASON_KV_NOT_MY_VBUCKET;
    CHECK_EQUAL(1000, plain().delay);
}

/* The order that was granted on a later answer, and a strategy that hands on. */
static retry_action handing_on_after(const retry_strategy *self, const retry_operation *r,
                                     const retry_failure *f, retry_time now)
{
    retry_policy policy = policy_of(RETRY_CURVE_CUSTOM, RETRY_JITTER_NONE);
    (void)self;
    if (f->code == 1)
        return retry_action_pending();
    return retry_policy_after(&policy.base, r, f, now);
}

static void test_strategies_of_ones_own(void)
{
    static const retry_strategy handing_on = {handing_on_after};
    set_up(&handing_on);
    CHECK_EQUAL(3, plain().delay);
    CHECK_EQUAL(6, plain().delay);
    CHECK_EQUAL(9, plain().delay);
    failure.code = 1;
    CHECK_LATER(ordered(55));
    CHECK_EQUAL(55, resume(retry_action_after(1), 0).delay);
    failure.code = 0;
    CHECK_EQUAL(3, plain().delay);
    CHECK_EQUAL(6, plain().delay);
}

static void test_begin_forgets_the_order(void)
{
    retry_policy policy = policy_of(RETRY_CURVE_CUSTOM, RETRY_JITTER_NONE);
    unsigned i;
    set_up(&policy.base);
    ordered(55);
    for (i = 0; i < 4; i++)
        plain();
    retry_start(&op, NULL, START);
    CHECK_EQUAL(3, plain().delay);
    retry_start(&op, NULL, START);
    ordered(55);
    retry_start(&op, NULL, START);
    CHECK_EQUAL(3, plain().delay);
    CHECK_EQUAL(6, plain().delay);
}

int main(void)
{
    RUN(test_texts);
    RUN(test_short_texts);
    RUN(test_numbers);
    RUN(test_null);
    RUN(test_other_fields);
    RUN(test_forbidden_for_every_reason);
    RUN(test_forbidden);
    RUN(test_forbidden_after_a_retry);
    RUN(test_forbidden_and_pending);
    RUN(test_a_wish_is_no_order);
    RUN(test_obeyed);
    RUN(test_obeyed_by_always);
    RUN(test_refused);
    RUN(test_budget_exhausted);
    RUN(test_budget_pays);
    RUN(test_deadline);
    RUN(test_pending);
    RUN(test_pending_forbidden);
    RUN(test_curve_begins_anew);
    RUN(test_orders_in_between);
    RUN(test_counted_on);
    RUN(test_decorrelated);
    RUN(test_throttle_backoff);
    RUN(test_wish_behind_an_order);
    RUN(test_max_attempts);
    RUN(test_always);
    RUN(test_strategies_of_ones_own);
    RUN(test_begin_forgets_the_order);
    return check_done();
}
