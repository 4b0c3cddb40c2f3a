/* What is decided of a failed attempt, step by step: recording, the reasons, always-retry,
   the strategy, the budget, counting and telling. The deadline has test_deadline.c. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"

#define START ((retry_time)5000)

static retry_operation begun(const retry_client *client)
{
    retry_operation op;
    memset(&op, 0, sizeof op);
    op.client = client ? client : default_client();
    retry_start(&op, NULL, START);
    return op;
}

static retry_client client_of(const retry_strategy *strategy)
{
    retry_client client;
    memset(&client, 0, sizeof client);
    client.strategy = strategy;
    return client;
}

/* A strategy that gives one answer and counts how often it was asked. */
struct scripted {
    retry_strategy base;
    retry_action action;
};

static unsigned asked;

static retry_action scripted_after(const retry_strategy *self, const retry_operation *op,
                                   const retry_failure *failure, retry_time now)
{
    (void)op;
    (void)failure;
    (void)now;
    asked++;
    return ((const struct scripted *)(const void *)self)->action;
}

static struct scripted answering(uint8_t kind, uint8_t cause, retry_ms delay)
{
    struct scripted strategy;
    strategy.base.retry_after = scripted_after;
    strategy.action.kind = kind;
    strategy.action.cause = cause;
    strategy.action.delay = delay;
    asked = 0;
    return strategy;
}

static struct scripted granting(retry_ms delay)
{
    return answering(RETRY_ACTION_AFTER, RETRY_CAUSE_NONE, delay);
}

/* ---- actions ------------------------------------------------------------------------------- */

static void test_actions(void)
{
    CHECK_EQUAL(RETRY_ACTION_AFTER, retry_action_after(77).kind);
    CHECK_EQUAL(77, retry_action_after(77).delay);
    CHECK_EQUAL(UINT32_MAX, retry_action_after(UINT32_MAX).delay);
    CHECK_EQUAL(RETRY_ACTION_NONE, retry_action_none(RETRY_CAUSE_REFUSED).kind);
    CHECK_EQUAL(RETRY_CAUSE_REFUSED, retry_action_none(RETRY_CAUSE_REFUSED).cause);
    CHECK_EQUAL(RETRY_ACTION_PENDING, retry_action_pending().kind);
}

/* ---- step 1: recording --------------------------------------------------------------------- */

static void test_recording(void)
{
    static const struct {
        uint32_t code;
        uint32_t after; /* ms since the last */
        uint32_t code_attempts;
        uint32_t code_since; /* ms since the start */
    } rows[] = {
        {0, 3, 1, 3},     /* a first failure without a code */
        {0, 10, 2, 3},    /* the same */
        {134, 10, 1, 23}, /* another */
        {134, 10, 2, 23},       {134, 0, 3, 23},        {9, 1, 1, 34}, {134, 1, 1, 35},
        {UINT32_MAX, 1, 1, 36}, {UINT32_MAX, 1, 2, 36}, {0, 1, 1, 38},
    };
    retry_operation op = begun(NULL);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_time now = START;
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("failure %u, code %lu", (unsigned)i, (unsigned long)rows[i].code);
        failure.code = rows[i].code;
        now += rows[i].after;
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, now));
        CHECK_EQUAL(rows[i].code, op.code);
        CHECK_EQUAL(rows[i].code_attempts, op.code_retries);
        CHECK_EQUAL(START + rows[i].code_since, op.code_since);
        CHECK_EQUAL(i + 1, op.retries);
        CHECK_EQUAL(START, op.started);
    }
}

static void test_reasons_add_up(void)
{
    static const retry_reason reasons[] = {RETRY_REASON_KV_LOCKED,
                                           RETRY_REASON_KV_NOT_MY_VBUCKET,
                                           RETRY_REASON_USER(9, RETRY_REASON_ALLOWS_NON_IDEMPOTENT),
                                           RETRY_REASON_KV_LOCKED,
                                           RETRY_REASON_CIRCUIT_BREAKER_OPEN,
                                           RETRY_REASON_UNKNOWN};
    retry_operation op = begun(NULL);
    retry_reason_set before = 0;
    size_t i;
    for (i = 0; i < CHECK_COUNT(reasons); i++) {
        retry_failure failure = check_failure_of(reasons[i]);
        CHECK(i == 3 || !retry_reason_set_has(op.reasons, reasons[i]));
        decide(&op, &failure, START);
        check_row("%s", retry_reason_name(reasons[i]));
        CHECK(retry_reason_set_has(op.reasons, reasons[i]));
        CHECK((op.reasons & before) == before);
        before = op.reasons;
    }
}

/* A failure is recorded before it is refused. */
static void test_refused_is_recorded(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op = begun(NULL);
    failure.safety = RETRY_SAFETY_NO;
    failure.code = 9;
    CHECK_DECISION(FAIL, UNSAFE, decide(&op, &failure, START + 40));
    CHECK(retry_reason_set_has(op.reasons, RETRY_REASON_KV_LOCKED));
    CHECK_EQUAL(9, op.code);
    CHECK_EQUAL(0, op.code_retries);
    CHECK_EQUAL(START + 40, op.code_since);
    CHECK_EQUAL(0, op.retries);
}

/* ---- step 2: reasons and safety ------------------------------------------------------------ */

#define FAIL(cause) RETRY_VERDICT_FAIL, RETRY_CAUSE_##cause
#define RETRY(cause) RETRY_VERDICT_RETRY, RETRY_CAUSE_##cause
#define SAFETY(x) RETRY_SAFETY_##x
#define FAULT(x) RETRY_FAULT_##x
#define REASON(x) RETRY_REASON_##x
#define USER(flags) RETRY_REASON_USER(3, flags)

static const struct {
    const char *name;
    retry_reason reason;
    uint8_t safety, fault;
    bool idempotent;
    uint8_t verdict, cause;
} verdicts[] = {
    {"none", REASON(NONE), SAFETY(MAYBE), FAULT(OTHER), false, FAIL(NOT_RETRYABLE)},
    {"none, idempotent", REASON(NONE), SAFETY(MAYBE), FAULT(OTHER), true, FAIL(NOT_RETRYABLE)},
    /* 1.0 refused these two; Smithy calls such an error safe to retry */
    {"none, safe", REASON(NONE), SAFETY(YES), FAULT(OTHER), false, RETRY(STRATEGY)},
    {"none, client, safe", REASON(NONE), SAFETY(YES), FAULT(CLIENT), false, RETRY(STRATEGY)},
    {"none, client", REASON(NONE), SAFETY(MAYBE), FAULT(CLIENT), true, FAIL(NOT_RETRYABLE)},
    {"none, server", REASON(NONE), SAFETY(MAYBE), FAULT(SERVER), true, RETRY(STRATEGY)},
    {"none, server, safe", REASON(NONE), SAFETY(YES), FAULT(SERVER), false, RETRY(STRATEGY)},
    {"none, server, not idempotent", REASON(NONE), SAFETY(MAYBE), FAULT(SERVER), false,
     FAIL(NOT_IDEMPOTENT)},
    {"none, server, unsafe", REASON(NONE), SAFETY(NO), FAULT(SERVER), true, FAIL(UNSAFE)},
    {"none, unsafe", REASON(NONE), SAFETY(NO), FAULT(OTHER), true, FAIL(UNSAFE)},
    {"unknown", REASON(UNKNOWN), SAFETY(MAYBE), FAULT(OTHER), false, FAIL(UNKNOWN_REASON)},
    {"unknown, all for it", REASON(UNKNOWN), SAFETY(YES), FAULT(SERVER), true,
     FAIL(UNKNOWN_REASON)},
    {"unknown, unsafe", REASON(UNKNOWN), SAFETY(NO), FAULT(OTHER), true, FAIL(UNSAFE)},
    {"behind the table", REASON(COUNT), SAFETY(YES), FAULT(SERVER), true, FAIL(UNKNOWN_REASON)},
    {"before user", 0x3f, SAFETY(YES), FAULT(SERVER), true, FAIL(UNKNOWN_REASON)},
    {"free alone", 0x80, SAFETY(YES), FAULT(SERVER), true, FAIL(UNKNOWN_REASON)},
    {"flags alone", 0x30, SAFETY(YES), FAULT(SERVER), true, FAIL(UNKNOWN_REASON)},
    {"all but user", 0xbf, SAFETY(YES), FAULT(SERVER), true, FAIL(UNKNOWN_REASON)},
    {"all but user, unsafe", 0xbf, SAFETY(NO), FAULT(OTHER), false, FAIL(UNSAFE)},
    {"locked", REASON(KV_LOCKED), SAFETY(MAYBE), FAULT(OTHER), false, RETRY(STRATEGY)},
    {"locked, client", REASON(KV_LOCKED), SAFETY(MAYBE), FAULT(CLIENT), false, RETRY(STRATEGY)},
    {"locked, unsafe", REASON(KV_LOCKED), SAFETY(NO), FAULT(OTHER), true, FAIL(UNSAFE)},
    {"in flight", REASON(SOCKET_CLOSED_WHILE_IN_FLIGHT), SAFETY(MAYBE), FAULT(OTHER), false,
     FAIL(NOT_IDEMPOTENT)},
    {"in flight, idempotent", REASON(SOCKET_CLOSED_WHILE_IN_FLIGHT), SAFETY(MAYBE), FAULT(OTHER),
     true, RETRY(STRATEGY)},
    {"in flight, safe", REASON(SOCKET_CLOSED_WHILE_IN_FLIGHT), SAFETY(YES), FAULT(OTHER), false,
     RETRY(STRATEGY)},
    {"timed out", REASON(ATTEMPT_TIMED_OUT), SAFETY(MAYBE), FAULT(OTHER), false,
     FAIL(NOT_IDEMPOTENT)},
    {"server error", REASON(SERVER_ERROR), SAFETY(MAYBE), FAULT(SERVER), false,
     FAIL(NOT_IDEMPOTENT)},
    {"vbucket", REASON(KV_NOT_MY_VBUCKET), SAFETY(MAYBE), FAULT(OTHER), false, RETRY(ALWAYS)},
    {"vbucket, unsafe", REASON(KV_NOT_MY_VBUCKET), SAFETY(NO), FAULT(OTHER), true, FAIL(UNSAFE)},
    {"collection", REASON(KV_COLLECTION_OUTDATED), SAFETY(MAYBE), FAULT(OTHER), false,
     RETRY(ALWAYS)},
    {"partition", REASON(VIEWS_NO_ACTIVE_PARTITION), SAFETY(MAYBE), FAULT(OTHER), false,
     RETRY(ALWAYS)},
    {"user", USER(0), SAFETY(MAYBE), FAULT(OTHER), false, FAIL(NOT_IDEMPOTENT)},
    {"user, idempotent", USER(0), SAFETY(MAYBE), FAULT(OTHER), true, RETRY(STRATEGY)},
    {"user, allows", USER(RETRY_REASON_ALLOWS_NON_IDEMPOTENT), SAFETY(MAYBE), FAULT(OTHER), false,
     RETRY(STRATEGY)},
    {"user, always", USER(RETRY_REASON_ALWAYS), SAFETY(MAYBE), FAULT(OTHER), false, RETRY(ALWAYS)},
    {"user, always, unsafe", USER(RETRY_REASON_ALWAYS), SAFETY(NO), FAULT(OTHER), true,
     FAIL(UNSAFE)},
};

static void test_verdicts(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(verdicts); i++) {
        retry_failure failure = check_failure_of(verdicts[i].reason);
        retry_operation op = begun(NULL);
        bool retried = verdicts[i].verdict == RETRY_VERDICT_RETRY;
        failure.safety = verdicts[i].safety;
        failure.fault = verdicts[i].fault;
        op.idempotent = verdicts[i].idempotent;
        check_row("%s", verdicts[i].name);
        check_decision(verdicts[i].verdict, verdicts[i].cause, decide(&op, &failure, START),
                       __FILE__, __LINE__);
        CHECK_EQUAL(retried, op.retries);
        CHECK_EQUAL(retried, retry_left(&op, START) != 0);
    }
}

static void test_permitted(void)
{
    uint32_t i;
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op = begun(NULL);
    for (i = 0; i <= UINT8_MAX; i++) {
        bool allows = retry_reason_allows_non_idempotent((retry_reason)i);
        failure.reason = (retry_reason)i;
        check_row("reason 0x%02x", (unsigned)i);
        failure.safety = RETRY_SAFETY_MAYBE;
        op.idempotent = false;
        CHECK_EQUAL(allows, retry_permitted(&op, &failure));
        op.idempotent = true;
        CHECK(retry_permitted(&op, &failure));
        op.idempotent = false;
        failure.safety = RETRY_SAFETY_YES;
        CHECK(retry_permitted(&op, &failure));
        failure.safety = RETRY_SAFETY_MAYBE;
        failure.unsent = true; /* it reached nobody */
        CHECK(retry_permitted(&op, &failure));
        failure.unsent = false;
    }
    CHECK(!retry_permitted(NULL, &failure));
    CHECK(!retry_permitted(&op, NULL));
    CHECK(!retry_permitted(NULL, NULL));
}

/* ---- step 3: always retried ---------------------------------------------------------------- */

static const retry_ms ladder[] = {1, 10, 50, 100, 500, 1000, 1000, 1000, 1000};

static void test_always_ladder(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    retry_operation op = begun(NULL);
    size_t i;
    for (i = 0; i < CHECK_COUNT(ladder); i++) {
        decided decision = decide(&op, &failure, START);
        check_row("attempt %u", (unsigned)i);
        CHECK_DECISION(RETRY, ALWAYS, decision);
        CHECK_EQUAL(ladder[i], decision.delay);
        CHECK_EQUAL(ladder[i], op.delay);
        CHECK_EQUAL(i + 1, op.retries);
    }
}

/* The ladder goes by all retries, not by those of always-retry reasons. */
static void test_always_ladder_counts_all(void)
{
    retry_failure always = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    retry_failure locked = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op = begun(NULL);
    CHECK_EQUAL(1, decide(&op, &always, START).delay);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &locked, START));
    CHECK_EQUAL(50, decide(&op, &always, START).delay);
}

static void test_always_interval(void)
{
    retry_client client = client_of(NULL);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    retry_operation op;
    unsigned i;
    client.always_interval = 7;
    op = begun(&client);
    for (i = 0; i < 10; i++) {
        decided decision = decide(&op, &failure, START);
        CHECK_DECISION(RETRY, ALWAYS, decision);
        CHECK_EQUAL(7, decision.delay);
    }
}

static void test_always_asks_nobody(void)
{
    struct scripted refusing = answering(RETRY_ACTION_NONE, RETRY_CAUSE_REFUSED, 0);
    retry_client client = client_of(&refusing.base);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_COLLECTION_OUTDATED);
    retry_budget empty;
    retry_operation op;
    retry_budget_init(&empty, NULL, START);
    client.budget = &empty;
    op = begun(&client);
    CHECK_DECISION(RETRY, ALWAYS, decide(&op, &failure, START));
    CHECK_EQUAL(0, asked);
    client.strategy = retry_fail_fast();
    CHECK_DECISION(RETRY, ALWAYS, decide(&op, &failure, START));
}

static void test_fail_fast(void)
{
    static const retry_reason reasons[] = {
        RETRY_REASON_KV_LOCKED, RETRY_REASON_CIRCUIT_BREAKER_OPEN, RETRY_REASON_USER(0, 0)};
    retry_client client = client_of(retry_fail_fast());
    size_t i;
    for (i = 0; i < CHECK_COUNT(reasons); i++) {
        retry_failure failure = check_failure_of(reasons[i]);
        retry_operation op = begun(&client);
        op.idempotent = true;
        CHECK_DECISION(FAIL, REFUSED, decide(&op, &failure, START));
    }
}

/* ---- step 4: the strategy ------------------------------------------------------------------ */

static void test_strategy_refuses(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    unsigned cause;
    for (cause = 0; cause < RETRY_CAUSE_COUNT; cause++) {
        struct scripted strategy = answering(RETRY_ACTION_NONE, (uint8_t)cause, 1234);
        retry_client client = client_of(&strategy.base);
        retry_operation op = begun(&client);
        decided decision = decide(&op, &failure, START);
        check_row("cause %u", cause);
        CHECK_EQUAL(RETRY_VERDICT_FAIL, decision.verdict);
        CHECK_EQUAL(cause, decision.cause);
        CHECK_EQUAL(1, asked);
        CHECK_EQUAL(0, op.retries);
        CHECK_EQUAL(0, retry_left(&op, START));
    }
}

/* A kind that is none must neither grant nor leave the operation open. */
static void test_garbage_action(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    unsigned kind;
    for (kind = RETRY_ACTION_PENDING + 1; kind < 256; kind++) {
        struct scripted strategy = answering((uint8_t)kind, (uint8_t)kind, UINT32_MAX);
        retry_client client = client_of(&strategy.base);
        retry_operation op = begun(&client);
        check_row("kind %u", kind);
        CHECK_EQUAL(RETRY_VERDICT_FAIL, decide(&op, &failure, START).verdict);
        CHECK_EQUAL(0, op.retries);
        CHECK_EQUAL(0, retry_left(&op, START));
    }
}

/* What the clock cannot measure is 2^31 ms. */
static void test_strategy_grants(void)
{
    static const struct {
        retry_ms asked, granted;
    } delays[] = {{0, 0},
                  {1, 1},
                  {123456, 123456},
                  {0x7fffffff, 0x7fffffff},
                  {0x80000000u, 0x80000000u},
                  {0x80000001u, 0x80000000u},
                  {UINT32_MAX, 0x80000000u}};
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    size_t i;
    for (i = 0; i < CHECK_COUNT(delays); i++) {
        struct scripted strategy = granting(delays[i].asked);
        retry_client client = client_of(&strategy.base);
        retry_operation op = begun(&client);
        decided decision;
        op.timeout = UINT32_MAX;
        decision = decide(&op, &failure, START);
        CHECK_DECISION(RETRY, STRATEGY, decision);
        check_row("%lu ms", (unsigned long)delays[i].asked);
        CHECK_EQUAL(delays[i].granted, decision.delay);
        CHECK_EQUAL(delays[i].granted, op.delay);
    }
}

/* A strategy decides alone: what the reason allows is its own question. */
static void test_strategy_may_grant_anything(void)
{
    struct scripted strategy = granting(5);
    retry_client client = client_of(&strategy.base);
    retry_operation op = begun(&client);
    retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
}

static void test_own_strategy_wins(void)
{
    struct scripted clients = granting(11), own = granting(22);
    retry_client client = client_of(&clients.base);
    retry_operation op = begun(&client);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    CHECK_EQUAL(11, decide(&op, &failure, START).delay);
    op.strategy = &own.base;
    CHECK_EQUAL(22, decide(&op, &failure, START).delay);
}

/* What a strategy sees: itself, the failure, the time, and an operation that has it recorded. */
struct curious {
    retry_strategy base;
    int mark;
};

static unsigned curious_calls;

static retry_action curious_after(const retry_strategy *self, const retry_operation *op,
                                  const retry_failure *failure, retry_time now)
{
    curious_calls++;
    CHECK_EQUAL(4711, ((const struct curious *)(const void *)self)->mark);
    CHECK_EQUAL(RETRY_REASON_KV_LOCKED, failure->reason);
    CHECK_EQUAL(START + 30, now);
    CHECK(retry_reason_set_has(op->reasons, RETRY_REASON_KV_LOCKED));
    CHECK_EQUAL(9, op->code);
    CHECK_EQUAL(0, op->code_retries);
    CHECK_EQUAL(START + 30, op->code_since);
    CHECK_EQUAL(1, op->retries);
    CHECK_EQUAL(1, op->delay);
    CHECK_EQUAL('c', *(const char *)op->context);
    return retry_action_after(3);
}

static void test_what_a_strategy_sees(void)
{
    struct curious strategy = {{curious_after}, 4711};
    char context = 'c';
    retry_client client = client_of(&strategy.base);
    retry_operation op = begun(&client);
    retry_failure always = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    op.context = &context;
    failure.code = 9;
    curious_calls = 0;
    CHECK_DECISION(RETRY, ALWAYS, decide(&op, &always, START + 10));
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START + 30));
    CHECK_EQUAL(1, curious_calls);
}

/* Decides some cases itself and hands the rest to the built-in policy. */
static retry_action robot_after(const retry_strategy *self, const retry_operation *op,
                                const retry_failure *failure, retry_time now)
{
    if (op->context)
        return retry_action_none(RETRY_CAUSE_REFUSED);
    return retry_policy_after(self, op, failure, now);
}

static void test_strategy_hands_on(void)
{
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_client client = client_of(&policy.base);
    retry_operation op = begun(&client);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    policy.base.retry_after = robot_after;
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    op.context = &policy;
    CHECK_DECISION(FAIL, REFUSED, decide(&op, &failure, START));
}

static void test_strategy_without_function(void)
{
    retry_strategy empty = {NULL};
    struct scripted good = granting(5);
    retry_client client = client_of(&empty);
    retry_operation op = begun(&client);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_failure always = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    CHECK_DECISION(RETRY, ALWAYS, decide(&op, &always, START)); /* not asked */
    CHECK_DECISION(FAIL, MISUSE, decide(&op, &failure, START));
    op = begun(&client);
    op.strategy = &good.base;
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    client.strategy = &good.base;
    op.strategy = &empty;
    CHECK_DECISION(FAIL, MISUSE, decide(&op, &failure, START));
    op = begun(&client);
    op.strategy = NULL;
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
}

/* ---- step 6: the budget -------------------------------------------------------------------- */

static void test_budget_by_kind(void)
{
    static const struct {
        bool timeout, throttle;
        uint32_t cost;
    } rows[] = {{false, false, 5}, {true, false, 20}, {false, true, 300}, {true, true, 20}};
    retry_budget_options options;
    size_t i;
    memset(&options, 0, sizeof options);
    options.capacity = 10000;
    options.retry_cost = 5;
    options.timeout_cost = 20;
    options.throttle_cost = 300;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        struct scripted strategy = granting(5);
        retry_client client = client_of(&strategy.base);
        retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
        retry_budget budget;
        retry_operation op;
        retry_budget_init(&budget, &options, START);
        client.budget = &budget;
        op = begun(&client);
        failure.timeout = rows[i].timeout;
        failure.throttle = rows[i].throttle;
        check_row("timeout %d, throttle %d", rows[i].timeout, rows[i].throttle);
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
        CHECK_EQUAL(10000 - rows[i].cost, retry_budget_balance(&budget));
    }
}

static void test_budget_exhausted(void)
{
    struct scripted strategy = granting(5000);
    retry_client client = client_of(&strategy.base);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_budget budget;
    retry_operation op;
    decided decision;
    retry_budget_init(&budget, NULL, START);
    client.budget = &budget;
    op = begun(&client);
    decision = decide(&op, &failure, START + 10);
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decision);
    CHECK_EQUAL(5000, decision.delay);
    CHECK_EQUAL(0, op.retries);
    CHECK_EQUAL(0, retry_left(&op, START));
    op = begun(&client);
    op.timeout = 100; /* comes first */
    CHECK_DECISION(EXPIRE, DEADLINE, decide(&op, &failure, START + 10));
}

/* Nothing is charged for what is not granted. */
static void test_budget_pays_for_grants_only(void)
{
    const retry_budget_options options = options_of(9000, 1000);
    struct scripted strategy = answering(RETRY_ACTION_NONE, RETRY_CAUSE_REFUSED, 0);
    retry_client client = client_of(&strategy.base);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_budget budget;
    retry_operation op;
    retry_budget_init(&budget, &options, START);
    client.budget = &budget;
    op = begun(&client);
    CHECK_DECISION(FAIL, REFUSED, decide(&op, &failure, START));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_start(&op, NULL, START);
    failure.safety = RETRY_SAFETY_NO;
    CHECK_DECISION(FAIL, UNSAFE, decide(&op, &failure, START));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
}

/* What a gate of the client's own holds back is final, unless the server has forbidden it already.
 */
static void test_held_back(void)
{
    static const struct {
        bool pushback;
        retry_ms retry_after;
        uint8_t cause;
    } rows[] = {{false, 0, RETRY_CAUSE_THROTTLED},
                {false, UINT32_MAX, RETRY_CAUSE_THROTTLED},
                {true, 5, RETRY_CAUSE_THROTTLED},
                {true, UINT32_MAX, RETRY_CAUSE_PUSHBACK}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_client client = client_of(NULL);
        retry_operation op = begun(&client);
        retry_failure failure = check_failure_of(RETRY_REASON_CLIENT_THROTTLED);
        decided decision;
        failure.pushback = rows[i].pushback;
        failure.retry_after = rows[i].retry_after;
        decision = decide(&op, &failure, START);
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(RETRY_VERDICT_FAIL, decision.verdict);
        CHECK_EQUAL(rows[i].cause, decision.cause);
    }
}

/* ---- answers of databases ------------------------------------------------------------------ */

/* As the manual says: after so many retries for one code only the code is set. */
static retry_failure answer_of(const retry_operation *op, const retry_failure *as, uint32_t most)
{
    retry_failure stopped;
    memset(&stopped, 0, sizeof stopped);
    stopped.code = as->code;
    return op->code == as->code && op->code_retries >= most ? stopped : *as;
}

/* An operation that is not idempotent, to its end; `paid`: thousandths for its first retry. */
static retry_step answered(retry_operation *op, const retry_failure *as, uint32_t most,
                           uint32_t *paid)
{
    retry_service service;
    retry_time now = START;
    retry_step step;
    memset(&service, 0, sizeof service);
    memset(op, 0, sizeof *op);
    retry_service_init(&service, now);
    retry_start(op, &service, now);
    while ((step = retry_next(op, now)).what != RETRY_DO_END) {
        if (step.what == RETRY_DO_WAIT) {
            now += step.delay;
        } else if (step.what == RETRY_DO_SEND) {
            retry_failure said = answer_of(op, as, most);
            retry_ended(op, 0, &said, now);
            if (op->retries == 1)
                *paid = 1000 - retry_budget_balance(&service.budget);
        }
    }
    return step;
}

/* The manual's rows: the server did nothing, so any operation is repeated; what the first retry
   costs, and after how many the operation fails. */
static void test_answers_of_databases(void)
{
    const retry_reason go = RETRY_REASON_USER(1, RETRY_REASON_ALWAYS);
    const retry_reason conflict =
        RETRY_REASON_USER(0, RETRY_REASON_FREE | RETRY_REASON_ALLOWS_NON_IDEMPOTENT);
    const retry_reason indicated = RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED;
    const uint8_t dispatch = RETRY_STAGE_DISPATCH;
    const struct {
        const char *name;
        retry_failure failure;
        bool safe, throttle;
        uint32_t cost, stop; /* thousandths; 99: nothing stops it */
    } rows[] = {
        {"not yet", retry_classify_stage(dispatch, RETRY_REASON_SERVICE_NOT_AVAILABLE), false,
         false, 0, 99},
        {"wrong node", retry_classify_stage(dispatch, RETRY_REASON_NODE_NOT_AVAILABLE), false,
         false, 0, 99},
        {"go there", check_failure_of(go), true, false, 0, 5},
        {"conflict", check_failure_of(conflict), false, false, 0, 5},
        {"too much", check_failure_of(indicated), false, true, 1000, 99},
        {"a quota", check_failure_of(indicated), false, false, 250, 99},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = rows[i].failure;
        retry_operation op;
        retry_step end;
        uint32_t paid = 1001;
        check_row("%s", rows[i].name);
        if (rows[i].safe)
            failure.safety = RETRY_SAFETY_YES;
        failure.throttle = rows[i].throttle;
        failure.code = 77;
        end = answered(&op, &failure, rows[i].stop, &paid);
        CHECK_EQUAL(rows[i].cost, paid);
        CHECK(!op.ambiguous);
        CHECK_EQUAL(rows[i].stop != 99, end.cause == RETRY_CAUSE_NOT_RETRYABLE);
        CHECK(rows[i].stop != 99 ? op.retries == rows[i].stop : op.retries > 2);
    }
}

/* ---- step 7: counting and telling ---------------------------------------------------------- */

static void test_counters_saturate(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    retry_operation op = begun(NULL);
    unsigned i;
    CHECK_EQUAL(1, decide(&op, &failure, START).delay);
    op.retries = UINT32_MAX - 2;
    op.code_retries = UINT32_MAX - 2;
    for (i = 0; i < 4; i++) {
        decided decision = decide(&op, &failure, START);
        CHECK_DECISION(RETRY, ALWAYS, decision);
        CHECK_EQUAL(1000, decision.delay);
    }
    CHECK_EQUAL(UINT32_MAX, op.retries);
    CHECK_EQUAL(UINT32_MAX, op.code_retries);
    failure.code = 1; /* which counts no more, rather than from 0 */
    CHECK_DECISION(RETRY, ALWAYS, decide(&op, &failure, START));
    CHECK_EQUAL(UINT32_MAX, op.retries);
    CHECK_EQUAL(0, op.code_retries);
}

struct telling {
    unsigned count;
    unsigned verdict, cause;
    retry_ms delay;
    uint32_t attempts, code_attempts;
    const retry_operation *op;
    bool failed;
    retry_failure failure;
};

static void tell(void *context, const retry_operation *op, const retry_failure *failure)
{
    struct telling *telling = (struct telling *)context;
    telling->count++;
    telling->verdict = op->verdict;
    telling->cause = op->cause;
    telling->delay = op->delay;
    telling->attempts = op->retries;
    telling->code_attempts = op->code_retries;
    telling->op = op;
    telling->failed = failure != NULL;
    if (failure)
        telling->failure = *failure;
}

/* The last thing that was told: an end without a failure. */
static void check_told(const struct telling *told, unsigned count, unsigned verdict, unsigned cause)
{
    CHECK_EQUAL(count, told->count);
    CHECK_EQUAL(verdict, told->verdict);
    CHECK_EQUAL(cause, told->cause);
    CHECK_EQUAL(0, told->delay);
    CHECK(!told->failed);
}

static void test_observer(void)
{
    struct scripted strategy = granting(40);
    struct telling told;
    retry_client client = client_of(&strategy.base);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op;
    client.observe = tell;
    client.observe_context = &told;
    memset(&told, 0, sizeof told);
    op = begun(&client);
    CHECK_EQUAL(0, told.count);
    failure.code = 9;
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    CHECK_EQUAL(1, told.count);
    CHECK(told.op == &op);
    CHECK_EQUAL(RETRY_VERDICT_RETRY, told.verdict);
    CHECK_EQUAL(RETRY_CAUSE_STRATEGY, told.cause);
    CHECK_EQUAL(40, told.delay);
    CHECK_EQUAL(1, told.attempts);
    CHECK_EQUAL(1, told.code_attempts);
    CHECK_EQUAL(40, told.delay);
    CHECK(told.failed);
    CHECK_EQUAL(9, told.failure.code);
    CHECK_EQUAL(RETRY_REASON_KV_LOCKED, told.failure.reason);
}

/* Told of every verdict and of every end once, and of no beginning. */
static void test_observer_is_told_once(void)
{
    struct telling told;
    retry_client client = client_of(NULL);
    retry_failure locked = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_failure none = check_failure_of(RETRY_REASON_NONE);
    retry_operation op;
    client.observe = tell;
    client.observe_context = &told;
    memset(&told, 0, sizeof told);
    op = begun(&client);
    retry_answer(&op, retry_action_after(1), START); /* nobody waits for it */
    CHECK_EQUAL(0, told.count);
    CHECK_DECISION(FAIL, NOT_RETRYABLE, decide(&op, &none, START));
    CHECK_EQUAL(1, told.count);
    CHECK_EQUAL(RETRY_CAUSE_NOT_RETRYABLE, told.cause);
    CHECK_DECISION(FAIL, NOT_RETRYABLE, decide(&op, &locked, START)); /* it is over */
    CHECK_EQUAL(1, told.count);
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &locked, START));
    CHECK_EQUAL(2, told.count);
    CHECK(told.failed);
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    check_told(&told, 3, RETRY_VERDICT_SUCCESS, RETRY_CAUSE_NONE);
    CHECK_EQUAL(0, retry_left(&op, START));
    retry_stop(&op, START);
    CHECK_EQUAL(3, told.count);
    retry_start(&op, NULL, START);
    CHECK_EQUAL(3, told.count);
    retry_start(&op, NULL, START);
    check_told(&told, 4, RETRY_VERDICT_FAIL, RETRY_CAUSE_CANCELLED);
    retry_stop(&op, START);
    check_told(&told, 5, RETRY_VERDICT_FAIL, RETRY_CAUSE_CANCELLED);
    retry_stop(&op, START);
    CHECK_DECISION(FAIL, CANCELLED, decide(&op, &locked, START));
    CHECK_EQUAL(5, told.count);
}

/* Last: when the observer is told of a failure, the operation is over and the charge is back. */
static retry_budget *watched;
static uint32_t balance_when_told;

static void watch(void *context, const retry_operation *op, const retry_failure *failure)
{
    bool finished = op->verdict != RETRY_VERDICT_RETRY;
    (void)context;
    (void)failure;
    balance_when_told = retry_budget_balance(watched);
    CHECK_EQUAL(finished, retry_left(op, START) == 0);
}

static void test_observer_is_told_last(void)
{
    const retry_budget_options options = options_of(9000, 1000);
    struct scripted strategy = granting(40);
    retry_client client = client_of(&strategy.base);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_budget budget;
    retry_operation op;
    retry_budget_init(&budget, &options, START);
    watched = &budget;
    client.budget = &budget;
    client.observe = watch;
    op = begun(&client);
    op.timeout = 50;
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    CHECK_EQUAL(8000, balance_when_told);
    CHECK_DECISION(EXPIRE, DEADLINE, decide(&op, &failure, START + 20));
    CHECK_EQUAL(8000, balance_when_told);
    retry_start(&op, NULL, START);
    failure.reason = RETRY_REASON_NONE;
    CHECK_DECISION(FAIL, NOT_RETRYABLE, decide(&op, &failure, START + 20));
    failure.reason = RETRY_REASON_KV_LOCKED;
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    CHECK_EQUAL(7000, balance_when_told);
    retry_stop(&op, START);
    CHECK_EQUAL(8000, balance_when_told);
    budget.options.success_deposit = 100;
    retry_start(&op, NULL, START);
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    CHECK_EQUAL(8100, balance_when_told);
}

static retry_action given; /* what the strategy below answers */

static retry_action give(const retry_strategy *self, const retry_operation *r,
                         const retry_failure *failure, retry_time now)
{
    (void)self;
    (void)r;
    (void)failure;
    (void)now;
    return given;
}

/* What a strategy says of the cause counts when it refuses. */
static void test_causes_of_answers(void)
{
    static const retry_strategy giving = {give};
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation asking;
    memset(&asking, 0, sizeof asking);
    asking.client = default_client();
    asking.strategy = &giving;
    retry_start(&asking, NULL, 0);
    given = retry_action_none(RETRY_CAUSE_REFUSED);
    CHECK_EQUAL(0, given.delay);
    given.kind = RETRY_ACTION_AFTER;
    CHECK_DECISION(RETRY, STRATEGY, decide(&asking, &failure, 0));
    given = retry_action_pending();
    CHECK_EQUAL(RETRY_CAUSE_PENDING, given.cause);
    CHECK_EQUAL(0, given.delay);
    given.cause = RETRY_CAUSE_REFUSED;
    CHECK_LATER(decide(&asking, &failure, 0));
    given.kind = RETRY_ACTION_NONE;
    CHECK_DECISION(FAIL, REFUSED, decide_later(&asking, given, 0));
}

int main(void)
{
    RUN(test_actions);
    RUN(test_strategy_without_function);
    RUN(test_recording);
    RUN(test_reasons_add_up);
    RUN(test_refused_is_recorded);
    RUN(test_verdicts);
    RUN(test_permitted);
    RUN(test_always_ladder);
    RUN(test_always_ladder_counts_all);
    RUN(test_always_interval);
    RUN(test_always_asks_nobody);
    RUN(test_fail_fast);
    RUN(test_strategy_refuses);
    RUN(test_garbage_action);
    RUN(test_strategy_grants);
    RUN(test_strategy_may_grant_anything);
    RUN(test_own_strategy_wins);
    RUN(test_what_a_strategy_sees);
    RUN(test_strategy_hands_on);
    RUN(test_budget_by_kind);
    RUN(test_budget_exhausted);
    RUN(test_budget_pays_for_grants_only);
    RUN(test_answers_of_databases);
    RUN(test_counters_saturate);
    RUN(test_observer);
    RUN(test_observer_is_told_once);
    RUN(test_observer_is_told_last);
    RUN(test_causes_of_answers);
    RUN(test_held_back);
    return check_done();
}
