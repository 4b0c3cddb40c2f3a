/* The built-in policy: the order of its answers, presets, throttling, what the server wants waited,
   and the conformance tables of the AWS and Smithy standard strategies, jitter at its top. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#define START ((retry_time)-1000)
#define LONGEST 0x80000000u /* ms that a retry waits at most */

static uint32_t top(void *context)
{
    (void)context;
    return UINT32_MAX;
}

static uint32_t bottom(void *context)
{
    (void)context;
    return 0;
}

static retry_client client_of(const retry_strategy *strategy, retry_random_fn *random)
{
    retry_client client;
    memset(&client, 0, sizeof client);
    client.strategy = strategy;
    client.random = random;
    return client;
}

static retry_operation begun(const retry_client *client)
{
    retry_operation op;
    memset(&op, 0, sizeof op);
    op.client = client ? client : default_client();
    op.idempotent = true;
    retry_start(&op, NULL, START);
    return op;
}

/* 10 ms doubling to 1 s, no jitter, throttled or not */
static retry_policy plain_policy(void)
{
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_backoff backoff = RETRY_BACKOFF_RFC0049;
    policy.backoff = backoff;
    policy.backoff.initial = 10;
    policy.backoff.max = 1000;
    policy.throttle_backoff.initial = 0;
    return policy;
}

static retry_action ask(const retry_policy *policy, retry_operation *op,
                        const retry_failure *failure)
{
    return retry_policy_after(&policy->base, op, failure, START);
}

/* ---- order of answers ---------------------------------------------------------------------- */

static void test_null(void)
{
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op = begun(NULL);
    retry_action actions[3];
    unsigned i;
    actions[0] = retry_policy_after(NULL, &op, &failure, START);
    actions[1] = retry_policy_after(&policy.base, NULL, &failure, START);
    actions[2] = retry_policy_after(&policy.base, &op, NULL, START);
    for (i = 0; i < 3; i++) {
        check_row("argument %u", i);
        CHECK_EQUAL(RETRY_ACTION_NONE, actions[i].kind);
        CHECK_EQUAL(RETRY_CAUSE_MISUSE, actions[i].cause);
    }
}

static void test_not_permitted_comes_first(void)
{
    retry_policy policy = plain_policy();
    retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
    retry_operation op = begun(NULL);
    policy.max_attempts = 1;
    op.idempotent = false;
    CHECK_EQUAL(RETRY_ACTION_NONE, ask(&policy, &op, &failure).kind);
    CHECK_EQUAL(RETRY_CAUSE_NOT_IDEMPOTENT, ask(&policy, &op, &failure).cause);
    op.idempotent = true;
    CHECK_EQUAL(RETRY_CAUSE_ATTEMPTS_EXHAUSTED, ask(&policy, &op, &failure).cause);
    policy.max_attempts = 2;
    CHECK_EQUAL(RETRY_ACTION_AFTER, ask(&policy, &op, &failure).kind);
    op.idempotent = false;
    failure.safety = RETRY_SAFETY_YES;
    CHECK_EQUAL(RETRY_ACTION_AFTER, ask(&policy, &op, &failure).kind);
    failure.safety = RETRY_SAFETY_MAYBE;
    failure.reason = RETRY_REASON_KV_LOCKED;
    CHECK_EQUAL(RETRY_ACTION_AFTER, ask(&policy, &op, &failure).kind);
}

static void test_attempts(void)
{
    static const struct {
        uint32_t max, retries;
        bool granted;
    } rows[] = {
        {0, 0, true},
        {0, 1000000, true},
        {0, UINT32_MAX, true},
        {1, 0, false},
        {2, 0, true},
        {2, 1, false},
        {3, 1, true},
        {3, 2, false},
        {3, 3, false},
        {3, UINT32_MAX, false},
        {UINT32_MAX, 0, true},
        {UINT32_MAX, UINT32_MAX - 2, true},
        {UINT32_MAX, UINT32_MAX - 1, false},
        {UINT32_MAX, UINT32_MAX, false},
    };
    retry_policy policy = plain_policy();
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_operation op = begun(NULL);
        policy.max_attempts = rows[i].max;
        op.retries = rows[i].retries;
        check_row("%lu of %lu", (unsigned long)rows[i].retries, (unsigned long)rows[i].max);
        CHECK_EQUAL(rows[i].granted ? RETRY_ACTION_AFTER : RETRY_ACTION_NONE,
                    ask(&policy, &op, &failure).kind);
        if (!rows[i].granted)
            CHECK_EQUAL(RETRY_CAUSE_ATTEMPTS_EXHAUSTED, ask(&policy, &op, &failure).cause);
    }
}

/* ---- delays -------------------------------------------------------------------------------- */

static void test_delay_follows_the_backoff(void)
{
    static const retry_ms expected[] = {10, 20, 40, 80, 160, 320, 640, 1000, 1000};
    retry_policy policy = plain_policy();
    retry_client client = client_of(&policy.base, top);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op = begun(&client);
    size_t i;
    for (i = 0; i < CHECK_COUNT(expected); i++) {
        check_row("retry %u", (unsigned)i);
        CHECK_EQUAL(expected[i], decide(&op, &failure, START).delay);
    }
}

/* DECORRELATED grows out of the request's own last delay. */
static void test_decorrelated(void)
{
    retry_policy policy = plain_policy();
    retry_client client = client_of(&policy.base, top);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op = begun(&client);
    policy.backoff.jitter = RETRY_JITTER_DECORRELATED;
    CHECK_EQUAL(30, decide(&op, &failure, START).delay);
    CHECK_EQUAL(90, decide(&op, &failure, START).delay);
    CHECK_EQUAL(270, decide(&op, &failure, START).delay);
    CHECK_EQUAL(810, decide(&op, &failure, START).delay);
    CHECK_EQUAL(1000, decide(&op, &failure, START).delay);
    client.random = bottom;
    CHECK_EQUAL(10, decide(&op, &failure, START).delay);
}

static void test_throttle_backoff(void)
{
    retry_policy policy = plain_policy();
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op = begun(NULL);
    failure.throttle = true;
    CHECK_EQUAL(10, ask(&policy, &op, &failure).delay);
    policy.throttle_backoff = policy.backoff;
    policy.throttle_backoff.initial = 700;
    policy.throttle_backoff.max = 5000;
    CHECK_EQUAL(700, ask(&policy, &op, &failure).delay);
    op.retries = 2;
    CHECK_EQUAL(2800, ask(&policy, &op, &failure).delay);
    failure.throttle = false;
    CHECK_EQUAL(40, ask(&policy, &op, &failure).delay);
    failure.throttle = true;
    policy.throttle_backoff.initial = 0; /* the rest of it does not count */
    CHECK_EQUAL(40, ask(&policy, &op, &failure).delay);
}

/* Best effort holds back from a server that asks for less load, though it says not for how long. A
   policy that was started from it may clear that. */
static void test_best_effort_throttled(void)
{
    static const retry_ms most[] = {100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000};
    static const retry_ms plain[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_client highest = client_of(retry_best_effort(), top);
    retry_client lowest = client_of(&policy.base, bottom);
    retry_failure failure = retry_classify_http(429, 0);
    retry_operation high = begun(&highest), low = begun(&lowest), cleared;
    size_t i;
    for (i = 0; i < CHECK_COUNT(most); i++) {
        check_row("retry %u", (unsigned)i);
        CHECK_EQUAL(most[i], decide(&high, &failure, START).delay);
        CHECK_EQUAL(1, decide(&low, &failure, START).delay);
    }
    failure.throttle = false;
    CHECK_EQUAL(5000, decide(&high, &failure, START).delay);
    failure.throttle = true;
    policy.throttle_backoff.initial = 0;
    lowest.random = top;
    cleared = begun(&lowest);
    for (i = 0; i < CHECK_COUNT(plain); i++) {
        check_row("cleared, retry %u", (unsigned)i);
        CHECK_EQUAL(plain[i], decide(&cleared, &failure, START).delay);
    }
}

/* ---- what the server wants waited ---------------------------------------------------------- */

static const struct {
    const char *name;
    retry_ms wanted, max, slack; /* the computed delay is 10 */
    uint32_t spread;
    retry_ms low, high;
} waits[] = {
    {"nothing", 0, 0, 0, 1, 10, 10},
    {"less", 9, 0, 0, 1, 10, 10},
    {"the same", 10, 0, 0, 1, 10, 10},
    {"more", 11, 0, 0, 1, 11, 11},
    {"much more", 30000, 0, 0, 1, 30000, 30000},
    {"all there is", UINT32_MAX, 0, 0, 1, UINT32_MAX, UINT32_MAX},
    {"max", 30000, 20000, 0, 1, 20000, 20000},
    {"max, not reached", 30000, 30001, 0, 1, 30000, 30000},
    {"max below the computed", 30000, 5, 0, 1, 10, 10},
    {"slack", 30000, 0, 5000, 1, 5010, 5010},
    {"slack, not reached", 5009, 0, 5000, 1, 5009, 5009},
    {"slack, largest", UINT32_MAX, 0, UINT32_MAX, 1, UINT32_MAX, UINT32_MAX},
    {"max below slack", 30000, 400, 5000, 1, 400, 400},
    {"slack below max", 30000, 20000, 50, 1, 60, 60},
    {"spread", 1000, 0, 0, RETRY_RATIO(0.5), 1000, 1500},
    {"spread of the capped", 30000, 1000, 0, RETRY_RATIO(0.5), 1000, 1500},
    {"spread of the slackened", 30000, 0, 990, RETRY_RATIO(0.5), 1000, 1500},
    {"spread of nothing", 0, 0, 0, RETRY_RATIO(0.5), 10, 10},
    {"spread of less", 10, 0, 0, RETRY_RATIO(0.5), 10, 10},
    {"spread of the capped away", 30000, 10, 0, RETRY_RATIO(0.5), 10, 10},
    {"spread above 1", 1000, 0, 0, RETRY_RATIO(3), 1000, 4000},
    {"spread, past the deadline", UINT32_MAX - 5, 0, 0, RETRY_RATIO(1), UINT32_MAX - 5,
     UINT32_MAX - 5},
    {"spread, largest", UINT32_MAX, 0, 0, UINT32_MAX, UINT32_MAX, UINT32_MAX},
    {"a quarter", 30000, 0, 0, 0, 30000, 37500},
    {"a quarter of the capped", 30000, 1000, 0, 0, 1000, 1250},
    {"a quarter of less", 9, 0, 0, 0, 10, 10},
    {"half of the time behind it", 70000, 0, 0, 0, 70000, 72500},
    {"another share, half of the time behind it", 70000, 0, 0, RETRY_RATIO(1), 70000, 72500},
};

static void test_retry_after(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(waits); i++) {
        retry_policy policy = plain_policy();
        retry_client low = client_of(NULL, bottom), high = client_of(NULL, top);
        retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
        retry_operation op = begun(&low);
        failure.retry_after = waits[i].wanted;
        policy.retry_after_max = waits[i].max;
        policy.retry_after_slack = waits[i].slack;
        policy.retry_after_spread = waits[i].spread;
        check_row("%s", waits[i].name);
        CHECK_EQUAL(waits[i].low, ask(&policy, &op, &failure).delay);
        op.client = &high;
        CHECK_RANGE(waits[i].high - (waits[i].high > waits[i].low), waits[i].high,
                    ask(&policy, &op, &failure).delay);
    }
}

/* Of 5,000 clients that are told 30 s, 667 come in a second on an average, and none before. */
static void test_told_fleet(void)
{
    static const retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    unsigned seconds[8] = {0}, i;
    for (i = 0; i < 5000; i++) {
        retry_client client = client_of(&policy.base, NULL);
        retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
        retry_operation op = begun(&client);
        retry_ms delay;
        failure.retry_after = 30000;
        delay = decide(&op, &failure, 0).delay;
        CHECK_RANGE(30000, 37500, delay);
        seconds[(delay - 30000) / 1000]++;
    }
    for (i = 0; i < CHECK_COUNT(seconds); i++) {
        check_row("second %u", i);
        CHECK_RANGE(i < 7 ? 530 : 230, i < 7 ? 800 : 440, seconds[i]);
    }
}

/* A gate's own wait is exact; the AWS SDKs spread nothing; retry_best_effort as a policy. */
static void test_spread_of(void)
{
    static const retry_policy aws = RETRY_POLICY_AWS, aws_2026 = RETRY_POLICY_AWS_2026;
    static const retry_policy smithy = RETRY_POLICY_SMITHY;
    static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
    static const struct {
        const char *name;
        const retry_strategy *strategy;
        retry_reason reason;
        bool pushback;
        retry_ms high;
    } rows[] = {
        {"AWS", &aws.base, RETRY_REASON_KV_LOCKED, false, 20000},
        {"AWS_2026", &aws_2026.base, RETRY_REASON_KV_LOCKED, false, 5050},
        {"SMITHY", &smithy.base, RETRY_REASON_KV_LOCKED, false, 37500},
        {"BEST_EFFORT", &best_effort.base, RETRY_REASON_KV_LOCKED, false, 37500},
        {"BEST_EFFORT, a breaker", &best_effort.base, RETRY_REASON_CIRCUIT_BREAKER_OPEN, false,
         30000},
        {"BEST_EFFORT, a pushback", &best_effort.base, RETRY_REASON_KV_LOCKED, true, 30000},
        {"retry_best_effort", NULL, RETRY_REASON_KV_LOCKED, false, 37500},
        {"retry_best_effort, a breaker", NULL, RETRY_REASON_CIRCUIT_BREAKER_OPEN, false, 30000},
        {"retry_best_effort, a pushback", NULL, RETRY_REASON_KV_LOCKED, true, 30000},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_client high = client_of(rows[i].strategy, top);
        retry_failure failure = check_failure_of(rows[i].reason);
        retry_operation op = begun(&high);
        check_row("%s", rows[i].name);
        failure.retry_after = 30000;
        failure.pushback = rows[i].pushback;
        CHECK_EQUAL(rows[i].high, decide(&op, &failure, 0).delay);
    }
}

/* ---- presets ------------------------------------------------------------------------------- */

static void check_preset(const char *name, const retry_policy *policy, const retry_ms *expected,
                         size_t count)
{
    retry_client high = client_of(&policy->base, top), low = client_of(&policy->base, bottom);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    size_t i;
    for (i = 0; i < count; i++) {
        retry_operation op = begun(&high);
        op.retries = (uint32_t)i;
        check_row("%s, retry %u", name, (unsigned)i);
        CHECK_EQUAL(expected[i], decide(&op, &failure, START).delay);
        op = begun(&low);
        op.retries = (uint32_t)i;
        CHECK_EQUAL(policy->backoff.min, decide(&op, &failure, START).delay);
    }
}

static void test_preset_delays(void)
{
    static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
    static const retry_policy smithy = RETRY_POLICY_SMITHY;
    static const retry_policy aws = RETRY_POLICY_AWS;
    static const retry_policy aws_2026 = RETRY_POLICY_AWS_2026;
    static const retry_ms doubling[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};
    static const retry_ms seconds[] = {1000, 2000, 4000, 8000};
    static const retry_ms fifties[] = {50, 100};
    check_preset("best effort", &best_effort, doubling, CHECK_COUNT(doubling));
    check_preset("smithy", &smithy, seconds, 4);
    check_preset("aws", &aws, seconds, 2);
    check_preset("aws 2026", &aws_2026, fifties, 2);
    CHECK_EQUAL(1, best_effort.backoff.min);
}

static void test_preset_attempts(void)
{
    static const retry_policy policies[] = {RETRY_POLICY_SMITHY, RETRY_POLICY_AWS,
                                            RETRY_POLICY_AWS_2026};
    static const unsigned attempts[] = {5, 3, 3};
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    size_t i;
    for (i = 0; i < CHECK_COUNT(policies); i++) {
        retry_client client = client_of(&policies[i].base, top);
        retry_operation op = begun(&client);
        unsigned tries = 1;
        while (decide(&op, &failure, START).verdict == RETRY_VERDICT_RETRY)
            tries++;
        check_row("policy %u", (unsigned)i);
        CHECK_EQUAL(attempts[i], tries);
    }
}

/* The default strategy of a client is the shared best effort. */
static void test_best_effort(void)
{
    static const retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_client standard = client_of(NULL, top), shared = client_of(retry_best_effort(), top);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation a = begun(&standard), b = begun(&shared);
    unsigned i;
    CHECK(retry_best_effort() != NULL);
    CHECK(retry_best_effort() == retry_best_effort());
    {
        const retry_strategy *best = retry_best_effort();
        const retry_failure none = check_failure_of(RETRY_REASON_KV_LOCKED);
        retry_operation zeroed;
        memset(&zeroed, 0, sizeof zeroed);
        CHECK_EQUAL(RETRY_CAUSE_MISUSE, best->retry_after(best, NULL, &none, 0).cause);
        CHECK_EQUAL(RETRY_CAUSE_MISUSE, best->retry_after(best, &zeroed, NULL, 0).cause);
        CHECK_EQUAL(RETRY_ACTION_AFTER, best->retry_after(best, &zeroed, &none, 0).kind);
    }
    for (i = 0; i < 12; i++) {
        retry_ms expected = retry_backoff_delay(&policy.backoff, i, 0, UINT32_MAX);
        check_row("retry %u", i);
        CHECK_EQUAL(expected, retry_policy_after(retry_best_effort(), &a, &failure, START).delay);
        CHECK_EQUAL(expected, decide(&a, &failure, START).delay);
        CHECK_EQUAL(expected, decide(&b, &failure, START).delay);
    }
    failure.throttle = true;
    a = begun(&standard);
    for (i = 0; i < 12; i++) {
        retry_ms expected = retry_backoff_delay(&policy.throttle_backoff, i, 0, UINT32_MAX);
        check_row("throttled, retry %u", i);
        CHECK_EQUAL(expected, retry_policy_after(retry_best_effort(), &a, &failure, START).delay);
        CHECK_EQUAL(expected, decide(&a, &failure, START).delay);
    }
}

static void test_best_effort_never_waits_for_nothing(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    unsigned i, j;
    retry_seed(99);
    for (i = 0; i < 1000; i++) {
        retry_operation op = begun(NULL);
        for (j = 0; j < 12; j++)
            CHECK_RANGE(1, 5000, decide(&op, &failure, START).delay);
    }
}

/* The built-in generator jitters as retry_backoff_delay does with the same number, however short
   the library's way to it is. */
static void check_built_in(retry_backoff backoff, uint32_t attempts, uint32_t seed)
{
    retry_policy policy = plain_policy();
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_client client = client_of(&policy.base, NULL);
    retry_operation op = begun(&client);
    uint32_t random;
    retry_ms delay;
    policy.backoff = backoff;
    op.timeout = UINT32_MAX;
    op.retries = attempts;
    retry_seed(seed);
    random = retry_random(&op);
    retry_seed(seed);
    check_row("jitter %u, min %lu, initial %lu, max %lu, factor %lu/65536, attempt %lu",
              backoff.jitter, (unsigned long)backoff.min, (unsigned long)backoff.initial,
              (unsigned long)backoff.max, (unsigned long)backoff.factor, (unsigned long)attempts);
    delay = retry_backoff_delay(&backoff, attempts, 0, random);
    CHECK_EQUAL(delay < LONGEST ? delay : LONGEST, decide(&op, &failure, START).delay);
}

static void test_built_in_generator(void)
{
    static const retry_ms limits[] = {0, 1, 500, 1000, 77777, 0x80000000u, UINT32_MAX};
    static const uint32_t factors[] = {0, RETRY_RATIO(2), RETRY_RATIO(1.6)};
    unsigned i;
    for (i = 0; i < 20000; i++) {
        retry_backoff backoff = RETRY_BACKOFF_BEST_EFFORT;
        backoff.jitter = (uint8_t)(check_random() % (RETRY_JITTER_NONE + 1));
        backoff.min = limits[check_random() % CHECK_COUNT(limits)];
        backoff.initial = limits[check_random() % CHECK_COUNT(limits)];
        backoff.max = limits[check_random() % CHECK_COUNT(limits)];
        backoff.factor = factors[check_random() % CHECK_COUNT(factors)];
        check_built_in(backoff, check_random() % 40, i);
    }
}

/* ---- conformance tables -------------------------------------------------------------------- */

enum { END, FAILURE, SUCCESS };

struct step {
    int kind;
    uint8_t verdict, cause;
    retry_ms delay;
    uint32_t balance; /* tokens after it */
};

#define GRANTED(balance, delay)                                            \
    {                                                                      \
        FAILURE, RETRY_VERDICT_RETRY, RETRY_CAUSE_STRATEGY, delay, balance \
    }
#define REFUSED(cause, balance, delay)                                   \
    {                                                                    \
        FAILURE, RETRY_VERDICT_FAIL, RETRY_CAUSE_##cause, delay, balance \
    }
#define SUCCEEDED(balance)        \
    {                             \
        SUCCESS, 0, 0, 0, balance \
    }
#define NO_MORE         \
    {                   \
        END, 0, 0, 0, 0 \
    }

#define SAME UINT32_MAX /* as the preset has it */

struct scenario {
    const char *name;
    retry_policy policy;
    retry_budget_options budget;
    uint32_t max_attempts, capacity; /* tokens */
    retry_ms wanted;
    bool timeout, throttle;
    struct step steps[6];
};

#define AWS RETRY_POLICY_AWS, RETRY_BUDGET_AWS
#define AWS_2026 RETRY_POLICY_AWS_2026, RETRY_BUDGET_AWS_2026
#define SMITHY RETRY_POLICY_SMITHY, RETRY_BUDGET_SMITHY

static const struct scenario scenarios[] = {
    {"AWS",
     AWS,
     SAME,
     SAME,
     0,
     false,
     false,
     {GRANTED(495, 1000), GRANTED(490, 2000), SUCCEEDED(495), NO_MORE, NO_MORE, NO_MORE}},
    {"AWS, limit",
     AWS,
     SAME,
     SAME,
     0,
     false,
     false,
     {GRANTED(495, 1000), GRANTED(490, 2000), REFUSED(ATTEMPTS_EXHAUSTED, 490, 0), NO_MORE, NO_MORE,
      NO_MORE}},
    {"AWS, capacity 5",
     AWS,
     SAME,
     5,
     0,
     false,
     false,
     {GRANTED(0, 1000), REFUSED(BUDGET_EXHAUSTED, 0, 2000), NO_MORE, NO_MORE, NO_MORE, NO_MORE}},
    {"AWS, limit 5",
     AWS,
     5,
     SAME,
     0,
     false,
     false,
     {GRANTED(495, 1000), GRANTED(490, 2000), GRANTED(485, 4000), GRANTED(480, 8000),
      REFUSED(ATTEMPTS_EXHAUSTED, 480, 0), NO_MORE}},
    {"AWS, timeouts",
     AWS,
     SAME,
     100,
     0,
     true,
     false,
     {GRANTED(90, 1000), GRANTED(80, 2000), SUCCEEDED(90), NO_MORE, NO_MORE, NO_MORE}},
    {"AWS, retry-after",
     AWS,
     SAME,
     SAME,
     30000,
     false,
     false,
     {GRANTED(495, 20000), SUCCEEDED(500), NO_MORE, NO_MORE, NO_MORE, NO_MORE}},
    {"AWS, success at once",
     AWS,
     SAME,
     SAME,
     0,
     false,
     false,
     {SUCCEEDED(500), NO_MORE, NO_MORE, NO_MORE, NO_MORE, NO_MORE}},
    {"AWS 2026",
     AWS_2026,
     SAME,
     SAME,
     0,
     false,
     false,
     {GRANTED(486, 50), GRANTED(472, 100), SUCCEEDED(486), NO_MORE, NO_MORE, NO_MORE}},
    {"AWS 2026, limit",
     AWS_2026,
     SAME,
     SAME,
     0,
     false,
     false,
     {GRANTED(486, 50), GRANTED(472, 100), REFUSED(ATTEMPTS_EXHAUSTED, 472, 0), NO_MORE, NO_MORE,
      NO_MORE}},
    {"AWS 2026, capacity 14",
     AWS_2026,
     5,
     14,
     0,
     false,
     false,
     {GRANTED(0, 50), REFUSED(BUDGET_EXHAUSTED, 0, 100), NO_MORE, NO_MORE, NO_MORE, NO_MORE}},
    {"AWS 2026, capacity 0",
     AWS_2026,
     SAME,
     0,
     0,
     false,
     false,
     {REFUSED(BUDGET_EXHAUSTED, 0, 50), NO_MORE, NO_MORE, NO_MORE, NO_MORE, NO_MORE}},
    {"AWS 2026, throttled",
     AWS_2026,
     SAME,
     SAME,
     0,
     false,
     true,
     {GRANTED(495, 1000), SUCCEEDED(500), NO_MORE, NO_MORE, NO_MORE, NO_MORE}},
    {"AWS 2026, 1500 wanted",
     AWS_2026,
     SAME,
     SAME,
     1500,
     false,
     false,
     {GRANTED(486, 1500), NO_MORE, NO_MORE, NO_MORE, NO_MORE, NO_MORE}},
    {"AWS 2026, 0 wanted",
     AWS_2026,
     SAME,
     SAME,
     0,
     false,
     false,
     {GRANTED(486, 50), NO_MORE, NO_MORE, NO_MORE, NO_MORE, NO_MORE}},
    {"AWS 2026, 10 wanted",
     AWS_2026,
     SAME,
     SAME,
     10,
     false,
     false,
     {GRANTED(486, 50), NO_MORE, NO_MORE, NO_MORE, NO_MORE, NO_MORE}},
    {"AWS 2026, 10000 wanted",
     AWS_2026,
     SAME,
     SAME,
     10000,
     false,
     false,
     {GRANTED(486, 5050), NO_MORE, NO_MORE, NO_MORE, NO_MORE, NO_MORE}},
    {"Smithy",
     SMITHY,
     SAME,
     SAME,
     0,
     false,
     false,
     {GRANTED(495, 1000), GRANTED(490, 2000), SUCCEEDED(491), NO_MORE, NO_MORE, NO_MORE}},
    {"Smithy, limit",
     SMITHY,
     SAME,
     SAME,
     0,
     false,
     false,
     {GRANTED(495, 1000), GRANTED(490, 2000), GRANTED(485, 4000), GRANTED(480, 8000),
      REFUSED(ATTEMPTS_EXHAUSTED, 480, 0), NO_MORE}},
    {"Smithy, timeouts",
     SMITHY,
     SAME,
     SAME,
     0,
     true,
     false,
     {GRANTED(490, 1000), GRANTED(480, 2000), SUCCEEDED(481), NO_MORE, NO_MORE, NO_MORE}},
    {"Smithy, throttled",
     SMITHY,
     SAME,
     SAME,
     0,
     false,
     true,
     {GRANTED(495, 1000), NO_MORE, NO_MORE, NO_MORE, NO_MORE, NO_MORE}},
};

static void play(const struct scenario *scenario)
{
    retry_policy policy = scenario->policy;
    retry_budget_options options = scenario->budget;
    retry_client client = client_of(&policy.base, top);
    retry_failure failure = retry_classify_http(500, scenario->wanted);
    retry_operation op = begun(NULL);
    retry_budget budget;
    const struct step *step;
    if (scenario->max_attempts != SAME)
        policy.max_attempts = scenario->max_attempts;
    if (scenario->capacity != SAME)
        options.capacity = 1000 * scenario->capacity;
    retry_budget_init(&budget, &options, START);
    client.budget = &budget;
    op.client = &client;
    failure.timeout = scenario->timeout;
    failure.throttle = scenario->throttle;
    for (step = scenario->steps; step->kind != END; step++) {
        check_row("%s, step %u", scenario->name, (unsigned)(step - scenario->steps));
        if (step->kind == SUCCESS) {
            CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
        } else {
            decided decision = decide(&op, &failure, START);
            CHECK_EQUAL(step->verdict, decision.verdict);
            CHECK_EQUAL(step->cause, decision.cause);
            CHECK_EQUAL(step->delay, decision.delay);
        }
        CHECK_EQUAL(1000 * step->balance, retry_budget_balance(&budget));
    }
}

static void test_conformance(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(scenarios); i++)
        play(&scenarios[i]);
}

int main(void)
{
    RUN(test_null);
    RUN(test_not_permitted_comes_first);
    RUN(test_attempts);
    RUN(test_delay_follows_the_backoff);
    RUN(test_decorrelated);
    RUN(test_throttle_backoff);
    RUN(test_best_effort_throttled);
    RUN(test_retry_after);
    RUN(test_told_fleet);
    RUN(test_spread_of);
    RUN(test_preset_delays);
    RUN(test_preset_attempts);
    RUN(test_best_effort);
    RUN(test_best_effort_never_waits_for_nothing);
    RUN(test_built_in_generator);
    RUN(test_conformance);
    return check_done();
}
