/* The recommended client: what retry_service_init fills in, what stays as it was set, and that it
   all works together. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"

#define START ((retry_time)-3000)
#define SENDS 40u

static retry_service service;

static void set_up(void)
{
    memset(&service, 0, sizeof service);
}

static void init(void)
{
    retry_service_init(&service, START);
}

static bool same_backoff(const retry_backoff *a, const retry_backoff *b)
{
    return a->curve == b->curve && a->jitter == b->jitter && a->min == b->min &&
           a->initial == b->initial && a->max == b->max && a->factor == b->factor &&
           a->spread == b->spread && a->table == b->table && a->table_length == b->table_length &&
           a->custom == b->custom;
}

/* Best effort's, but for 100 ms to 5 s. */
static retry_backoff usual(void)
{
    retry_backoff backoff = RETRY_BACKOFF_BEST_EFFORT;
    backoff.initial = 100;
    backoff.max = 5000;
    return backoff;
}

static retry_backoff throttled(void)
{
    retry_backoff backoff = RETRY_BACKOFF_THROTTLED;
    return backoff;
}

/* How many of SENDS operations are sent at once; all are stopped then. */
static unsigned sent(const retry_client *client)
{
    static retry_operation ops[SENDS];
    unsigned i, count = 0;
    memset(ops, 0, sizeof ops);
    for (i = 0; i < SENDS; i++) {
        ops[i].request.client = client;
        retry_start(&ops[i], NULL, START);
        count += retry_next(&ops[i], START).what == RETRY_DO_SEND;
    }
    for (i = 0; i < SENDS; i++)
        retry_stop(&ops[i], START);
    return count;
}

static void test_null(void)
{
    retry_service_init(NULL, START);
}

/* ---- all is filled in ---------------------------------------------------------------------- */

static void test_defaults(void)
{
    retry_budget_options best_effort = RETRY_BUDGET_BEST_EFFORT(20);
    retry_backoff want = usual(), want_throttled = throttled();
    set_up();
    init();
    CHECK(service.policy.base.retry_after == retry_policy_after);
    CHECK(same_backoff(&want, &service.policy.backoff));
    CHECK(same_backoff(&want_throttled, &service.policy.throttle_backoff));
    CHECK_EQUAL(0, service.policy.max_attempts);
    CHECK_EQUAL(0, service.policy.retry_after_max);
    CHECK_EQUAL(0, service.policy.retry_after_slack);
    CHECK_EQUAL(0, service.policy.retry_after_spread);
    CHECK(same_options(&best_effort, &service.budget.options));
    CHECK_EQUAL(1000, retry_budget_balance(&service.budget));
    CHECK_EQUAL(20, service.limit.max);
    CHECK_EQUAL(20, retry_aimd_limit(&service.limit));
    CHECK(service.client.strategy == &service.policy.base);
    CHECK(service.client.budget == &service.budget);
    CHECK(service.client.gates == &service.gates);
    CHECK_EQUAL(0, service.client.cut_after);
    CHECK_EQUAL(0, service.client.attempt_timeout);
    CHECK_EQUAL(0, service.client.always_interval);
    CHECK_EQUAL(0, service.client.nodes);
    CHECK_EQUAL(0, service.gates.in_flight);
    CHECK_EQUAL(20, sent(&service.client));
}

/* ---- the policy ---------------------------------------------------------------------------- */

static retry_ms custom(const retry_backoff *self, uint32_t attempt)
{
    (void)self;
    return attempt;
}

static void set_field(retry_backoff *backoff, unsigned field)
{
    static const retry_ms table[] = {3};
    switch (field) {
    case 0:
        backoff->curve = RETRY_CURVE_CONSTANT;
        break;
    case 1:
        backoff->jitter = RETRY_JITTER_EQUAL;
        break;
    case 2:
        backoff->min = 1;
        break;
    case 3:
        backoff->initial = 1;
        break;
    case 4:
        backoff->max = 1;
        break;
    case 5:
        backoff->factor = 1;
        break;
    case 6:
        backoff->spread = 1;
        break;
    case 7:
        backoff->table = table;
        break;
    case 8:
        backoff->table_length = 1;
        break;
    default:
        backoff->custom = custom;
        break;
    }
}

/* A backoff with anything in it stays as it is, the other is filled in. */
static void test_backoffs(void)
{
    retry_backoff want = usual(), want_throttled = throttled();
    unsigned field;
    for (field = 0; field < 10; field++) {
        retry_backoff mine = RETRY_BACKOFF_DEFAULT;
        set_field(&mine, field);
        check_row("field %u", field);
        set_up();
        service.policy.backoff = mine;
        init();
        CHECK(same_backoff(&mine, &service.policy.backoff));
        CHECK(same_backoff(&want_throttled, &service.policy.throttle_backoff));
        set_up();
        service.policy.throttle_backoff = mine;
        init();
        CHECK(same_backoff(&want, &service.policy.backoff));
        CHECK(same_backoff(&mine, &service.policy.throttle_backoff));
        CHECK(service.policy.base.retry_after == retry_policy_after);
    }
}

static void test_attempts_and_caps(void)
{
    retry_backoff want = usual();
    set_up();
    service.policy.max_attempts = 3;
    service.policy.retry_after_max = 20000;
    service.policy.retry_after_slack = 5000;
    service.policy.retry_after_spread = RETRY_RATIO(0.1);
    init();
    CHECK_EQUAL(3, service.policy.max_attempts);
    CHECK_EQUAL(20000, service.policy.retry_after_max);
    CHECK_EQUAL(5000, service.policy.retry_after_slack);
    CHECK_EQUAL(RETRY_RATIO(0.1), service.policy.retry_after_spread);
    CHECK(same_backoff(&want, &service.policy.backoff));
}

/* A policy that has its base is whole, though a backoff may be zero. */
static void test_policy_with_a_base(void)
{
    retry_policy smithy = RETRY_POLICY_SMITHY;
    retry_backoff zero = RETRY_BACKOFF_DEFAULT;
    set_up();
    service.policy = smithy;
    init();
    CHECK(service.policy.base.retry_after == retry_policy_after);
    CHECK(same_backoff(&smithy.backoff, &service.policy.backoff));
    CHECK(same_backoff(&zero, &service.policy.throttle_backoff));
    CHECK_EQUAL(5, service.policy.max_attempts);
    CHECK(service.client.strategy == &service.policy.base);
    set_up();
    service.policy.base.retry_after = check_pending_after;
    init();
    CHECK(service.policy.base.retry_after == check_pending_after);
    CHECK(same_backoff(&zero, &service.policy.backoff));
    CHECK(service.client.strategy == &service.policy.base);
}

/* ---- the budget ---------------------------------------------------------------------------- */

static void test_budget_follows_the_limit(void)
{
    static const struct {
        uint32_t max, capacity;
    } rows[] = {{0, 400000},          {1, 20000},           {7, 140000},
                {214748, 4294960000}, {214749, UINT32_MAX}, {UINT32_MAX, UINT32_MAX}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("max %lu", (unsigned long)rows[i].max);
        set_up();
        service.limit.max = rows[i].max;
        init();
        CHECK_EQUAL(rows[i].capacity, service.budget.options.capacity);
        CHECK_EQUAL(rows[i].max ? rows[i].max : 20, service.limit.max);
        CHECK_EQUAL(10000, service.budget.options.expire);
        CHECK_EQUAL(1000, retry_budget_balance(&service.budget));
    }
}

/* Without a capacity each of the preset's that is zero is filled in, and the others stay. */
static void test_budget_without_a_capacity(void)
{
    retry_budget_options want = RETRY_BUDGET_BEST_EFFORT(20);
    set_up();
    service.budget.options.retry_cost = want.retry_cost = 1500;
    service.budget.options.timeout_cost = want.timeout_cost = 2000;
    service.budget.options.throttle_cost = want.throttle_cost = 3000;
    init();
    CHECK(same_options(&want, &service.budget.options));
    CHECK_EQUAL(1500, retry_budget_balance(&service.budget));
    set_up();
    want.retry_cost = 1000;
    want.timeout_cost = want.throttle_cost = 0;
    service.budget.options.success_deposit = want.success_deposit = 200;
    service.budget.options.request_deposit = want.request_deposit = 10;
    service.budget.options.refill_per_second = want.refill_per_second = 300;
    service.budget.options.floor = want.floor = 50;
    service.budget.options.refund_last = want.refund_last = true;
    service.budget.options.charge_failures = want.charge_failures = true;
    service.budget.options.expire = want.expire = 3000;
    init();
    CHECK(same_options(&want, &service.budget.options));
}

/* With one it is whole. */
static void test_budget_with_a_capacity(void)
{
    static const retry_budget_options presets[] = {RETRY_BUDGET_SMITHY,
                                                   RETRY_BUDGET_AWS,
                                                   RETRY_BUDGET_GRPC,
                                                   {5, 0, 0, 0, 0, 0, 0, 0, false, false, 0, 0}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(presets); i++) {
        check_row("row %u", (unsigned)i);
        set_up();
        service.budget.options = presets[i];
        init();
        CHECK(same_options(&presets[i], &service.budget.options));
        CHECK_EQUAL(presets[i].capacity, retry_budget_balance(&service.budget));
    }
}

/* It is filled as of the instant that was told. */
static void test_budget_begins_now(void)
{
    set_up();
    service.budget.options.capacity = 10000;
    service.budget.options.retry_cost = 1000;
    service.budget.options.refill_per_second = 1000;
    init();
    CHECK(retry_budget_withdraw(&service.budget, 10000, START));
    CHECK(!retry_budget_withdraw(&service.budget, 4001, check_after(START, 4000)));
    CHECK_EQUAL(4000, retry_budget_balance(&service.budget));
}

/* ---- the limit, and the client ------------------------------------------------------------- */

static void test_limit(void)
{
    set_up();
    service.limit.max = 8;
    service.limit.min = 3;
    service.limit.increase = 2;
    service.limit.decrease = RETRY_RATIO(0.7);
    service.limit.cooldown = 400;
    init();
    CHECK_EQUAL(8, service.limit.max);
    CHECK_EQUAL(3, service.limit.min);
    CHECK_EQUAL(2, service.limit.increase);
    CHECK_EQUAL(RETRY_RATIO(0.7), service.limit.decrease);
    CHECK_EQUAL(400, service.limit.cooldown);
    CHECK_EQUAL(8, sent(&service.client));
}

static void observe(void *context, const retry_request *request, const retry_failure *failure,
                    const retry_decision *decision)
{
    (void)context;
    (void)request;
    (void)failure;
    (void)decision;
}

/* What the client has already stays, and what is beside it is set up all the same. */
static void test_client_as_set(void)
{
    static const retry_budget_options options = RETRY_BUDGET_SMITHY;
    retry_budget budget;
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    retry_budget_init(&budget, &options, START);
    set_up();
    service.client.strategy = retry_fail_fast();
    service.client.budget = &budget;
    service.client.gates = &gates;
    service.client.observe = observe;
    service.client.observe_context = &gates;
    service.client.cut_after = 1000;
    service.client.attempt_timeout = 4000;
    service.client.always_interval = 7;
    init();
    CHECK(service.client.strategy == retry_fail_fast());
    CHECK(service.client.budget == &budget);
    CHECK(service.client.gates == &gates);
    CHECK(service.client.observe == observe);
    CHECK(service.client.observe_context == &gates);
    CHECK_EQUAL(1000, service.client.cut_after);
    CHECK_EQUAL(4000, service.client.attempt_timeout);
    CHECK_EQUAL(7, service.client.always_interval);
    CHECK_EQUAL(500000, retry_budget_balance(&budget));
    CHECK_EQUAL(1000, retry_budget_balance(&service.budget));
    CHECK(service.policy.base.retry_after == retry_policy_after);
    CHECK_EQUAL(20, sent(&service.client)); /* the limit is in those gates */
}

/* A gate that was added before is asked, too. */
static void test_gates_of_its_own(void)
{
    retry_breaker breaker;
    retry_operation op;
    memset(&breaker, 0, sizeof breaker);
    memset(&op, 0, sizeof op);
    set_up();
    retry_gates_breaker(&service.gates, &breaker);
    init();
    retry_breaker_set(&breaker, RETRY_BREAKER_OPEN, START);
    op.request.client = &service.client;
    retry_start(&op, NULL, START);
    CHECK_EQUAL(RETRY_CAUSE_CIRCUIT_OPEN, retry_next(&op, START).cause);
    retry_breaker_reset(&breaker, START);
    CHECK_EQUAL(20, sent(&service.client));
}

/* ---- nodes --------------------------------------------------------------------------------- */

/* With several nodes none gets the limit, which counts for the budget alone. */
static void test_nodes(void)
{
    static const uint16_t counts[] = {0, 1, 2, 3};
    size_t i;
    for (i = 0; i < CHECK_COUNT(counts); i++) {
        retry_gates nodes[3];
        bool several = counts[i] > 1;
        memset(nodes, 0, sizeof nodes);
        check_row("%u nodes", counts[i]);
        set_up();
        service.limit.max = 5;
        retry_client_nodes(&service.client, nodes, counts[i]);
        init();
        CHECK(service.client.gates == nodes);
        CHECK_EQUAL(several ? counts[i] : 0, service.client.nodes);
        CHECK_EQUAL(100000, service.budget.options.capacity);
        CHECK_EQUAL(several ? SENDS : 5, sent(&service.client));
    }
}

/* Each has its own limit then. */
static void test_limits_of_nodes(void)
{
    retry_gates nodes[3];
    retry_aimd limits[3];
    unsigned i;
    memset(nodes, 0, sizeof nodes);
    memset(limits, 0, sizeof limits);
    set_up();
    for (i = 0; i < 3; i++) {
        limits[i].max = 4;
        retry_gates_aimd(&nodes[i], &limits[i]);
    }
    retry_client_nodes(&service.client, nodes, 3);
    init();
    CHECK_EQUAL(12, sent(&service.client));
}

/* ---- at work ------------------------------------------------------------------------------- */

static uint32_t highest(void *context)
{
    (void)context;
    return UINT32_MAX;
}

/* Delays of 100, 200 ... 5000 ms at most, and a tenth of a token for a success. */
static void test_at_work(void)
{
    static const retry_ms delays[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op;
    retry_time now = START;
    retry_step step;
    size_t i;
    memset(&op, 0, sizeof op);
    set_up();
    service.client.random = highest;
    init();
    op.request.client = &service.client;
    retry_start(&op, NULL, now);
    for (i = 0; i < CHECK_COUNT(delays); i++) {
        check_row("retry %u", (unsigned)i);
        CHECK_EQUAL(RETRY_DO_SEND, retry_next(&op, now).what);
        CHECK_EQUAL(1, service.gates.in_flight);
        retry_ended(&op, 0, &failure, now);
        CHECK_EQUAL(0, service.gates.in_flight);
        step = retry_next(&op, now);
        CHECK_EQUAL(RETRY_DO_WAIT, step.what);
        CHECK_EQUAL(delays[i], step.delay);
        retry_budget_deposit(&service.budget, 1000); /* others succeed */
        now = check_after(now, step.delay);
    }
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&op, now).what);
    CHECK(retry_budget_withdraw(&service.budget, retry_budget_balance(&service.budget), now));
    retry_ended(&op, 0, &failure, now);
    CHECK_EQUAL(RETRY_CAUSE_BUDGET_EXHAUSTED, retry_next(&op, now).cause);
    retry_start(&op, NULL, now);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&op, now).what);
    retry_ended(&op, 0, NULL, now);
    CHECK_EQUAL(RETRY_VERDICT_SUCCESS, retry_next(&op, now).verdict);
    CHECK_EQUAL(100, retry_budget_balance(&service.budget));
}

int main(void)
{
    RUN(test_null);
    RUN(test_defaults);
    RUN(test_backoffs);
    RUN(test_attempts_and_caps);
    RUN(test_policy_with_a_base);
    RUN(test_budget_follows_the_limit);
    RUN(test_budget_without_a_capacity);
    RUN(test_budget_with_a_capacity);
    RUN(test_budget_begins_now);
    RUN(test_limit);
    RUN(test_client_as_set);
    RUN(test_gates_of_its_own);
    RUN(test_nodes);
    RUN(test_limits_of_nodes);
    RUN(test_at_work);
    return check_done();
}
