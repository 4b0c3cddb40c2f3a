/* The recommended client: what retry_service_init fills in, what stays as it was set, and that it
   all works together. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"

#include <errno.h>

#define START ((retry_time)-3000)
#define SENDS 40u

static retry_service service;

static void set_up(void)
{
    memset(&service, 0, sizeof service);
    retry_seed(check_random()); /* else each run draws others */
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

/* From 100 ms to 5 s, and to 10 s when throttled. */
static retry_backoff usual(void)
{
    retry_backoff backoff = RETRY_BACKOFF_DEFAULT;
    backoff.min = 1;
    backoff.initial = 100;
    backoff.max = 5000;
    return backoff;
}

static retry_backoff throttled(void)
{
    retry_backoff backoff = usual();
    backoff.max = 10000;
    return backoff;
}

/* How many of SENDS operations are sent at once; all are stopped then. */
static unsigned sent(const retry_client *client)
{
    static retry_operation ops[SENDS];
    unsigned i, count = 0;
    memset(ops, 0, sizeof ops);
    for (i = 0; i < SENDS; i++) {
        ops[i].client = client;
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
    CHECK_EQUAL(0, service.limit.max); /* 1,000 */
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

/* True: the rest of the backoff is filled in all the same. */
static bool set_field(retry_backoff *backoff, unsigned field)
{
    static const retry_ms table[] = {3};
    switch (field) {
    case 0:
        backoff->curve = RETRY_CURVE_CONSTANT;
        return false;
    case 1:
        backoff->initial = 1;
        return false;
    case 2:
        backoff->jitter = RETRY_JITTER_EQUAL;
        break;
    case 3:
        backoff->min = 7;
        break;
    case 4:
        backoff->max = 3000;
        break;
    case 5:
        backoff->factor = RETRY_RATIO(3);
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
    return true;
}

/* A backoff that has a curve or a first delay stays as it is. Else what is zero of it is filled in.
   What is throttled waits as all else does, but up to 10 s. */
static void test_backoffs(void)
{
    unsigned field;
    for (field = 0; field < 10; field++) {
        retry_backoff mine = RETRY_BACKOFF_DEFAULT, want, other;
        bool filled = set_field(&mine, field);
        check_row("field %u", field);
        set_up();
        service.policy.backoff = mine;
        init();
        want = usual();
        set_field(&want, field);
        CHECK(same_backoff(filled ? &want : &mine, &service.policy.backoff));
        other = service.policy.backoff;
        if (other.max != 0)
            other.max = 10000;
        CHECK(same_backoff(&other, &service.policy.throttle_backoff));
        set_up();
        service.policy.throttle_backoff = mine;
        init();
        want = usual();
        other = throttled();
        CHECK(same_backoff(&want, &service.policy.backoff));
        CHECK(same_backoff(filled ? &other : &mine, &service.policy.throttle_backoff));
        CHECK(service.policy.base.retry_after == retry_policy_after);
    }
}

/* What is throttled never waits less than what fails. */
static void test_throttled_is_no_shorter(void)
{
    set_up();
    service.policy.backoff.initial = 5000;
    service.policy.backoff.max = 60000;
    init();
    CHECK_EQUAL(5000, service.policy.throttle_backoff.initial);
    CHECK_EQUAL(60000, service.policy.throttle_backoff.max);
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
    CHECK(same_backoff(&smithy.throttle_backoff, &service.policy.throttle_backoff));
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
        uint32_t initial, max, capacity;
    } rows[] = {{0, 0, 400000},
                {0, 1, 20000},
                {0, 7, 140000},
                {0, 100, 400000}, /* who may have more has them from what works */
                {7, 0, 140000},
                {7, 5, 100000},
                {214748, UINT32_MAX, 4294960000},
                {214749, UINT32_MAX, UINT32_MAX},
                {UINT32_MAX, UINT32_MAX, UINT32_MAX}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        set_up();
        service.limit.max = rows[i].max;
        service.limit.initial = rows[i].initial;
        init();
        CHECK_EQUAL(rows[i].capacity, service.budget.options.capacity);
        CHECK_EQUAL(rows[i].max, service.limit.max);
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
    CHECK_EQUAL(3000, retry_budget_balance(&service.budget)); /* its base */
    set_up();
    want.retry_cost = 250;
    want.timeout_cost = want.throttle_cost = 1000;
    service.budget.options.base_per_second = want.base_per_second = 20;
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
    const retry_budget_options presets[] = {RETRY_BUDGET_SMITHY, RETRY_BUDGET_AWS,
                                            RETRY_BUDGET_GRPC, options_of(5, 0)};
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

static void observe(void *context, const retry_operation *request, const retry_failure *failure)
{
    (void)context;
    (void)request;
    (void)failure;
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
    op.client = &service.client;
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
    op.client = &service.client;
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
    CHECK(retry_budget_withdraw(&service.budget, 0, now)); /* what has expired is gone */
    CHECK(retry_budget_withdraw(&service.budget, retry_budget_balance(&service.budget), now));
    failure.pushback = true; /* else it would wait for what comes in */
    retry_ended(&op, 0, &failure, now);
    CHECK_EQUAL(RETRY_CAUSE_BUDGET_EXHAUSTED, retry_next(&op, now).cause);
    retry_start(&op, NULL, now);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&op, now).what);
    retry_ended(&op, 0, NULL, now);
    CHECK_EQUAL(RETRY_VERDICT_SUCCESS, retry_next(&op, now).verdict);
    CHECK_EQUAL(100, retry_budget_balance(&service.budget));
}

/* One that retry_service_init has not seen runs nothing, and says so. */
static void test_not_initialised(void)
{
    retry_operation op;
    retry_step step;
    memset(&op, 0, sizeof op);
    set_up();
    service.client.strategy = retry_fail_fast();
    retry_start(&op, &service, START);
    step = retry_next(&op, START);
    CHECK_EQUAL(RETRY_DO_END, step.what);
    CHECK_EQUAL(RETRY_VERDICT_FAIL, step.verdict);
    CHECK_EQUAL(RETRY_CAUSE_MISUSE, step.cause);
    init();
    retry_start(&op, &service, START);
    CHECK(op.client == &service.client);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&op, START).what);
    retry_stop(&op, START);
}

/* A copy of one is of no use, and leaves the first one as it was. */
static void test_copied(void)
{
    static retry_service copy;
    retry_operation op;
    retry_failure failure = retry_classify_http(429, 0);
    memset(&op, 0, sizeof op);
    set_up();
    init();
    memcpy(&copy, &service, sizeof copy);
    retry_service_init(&copy, START);
    retry_start(&op, &copy, START);
    CHECK_EQUAL(RETRY_CAUSE_MISUSE, retry_next(&op, START).cause);
    retry_start(&op, &service, START);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&op, START).what);
    retry_ended(&op, 0, &failure, START);
    CHECK_EQUAL(10, retry_aimd_limit(&service.limit));
    CHECK_EQUAL(20, retry_aimd_limit(&copy.limit));
    init();
    retry_start(&op, &service, START);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&op, START).what);
    retry_stop(&op, START);
}

/* ---- a small world ------------------------------------------------------------------------- */

/* Operations of one process, which overlap, and a server that answers each attempt 20 ms after it
   was sent, as `answer` says. */
enum { CALLS = 1800 };

static struct call {
    retry_operation op;
    retry_time begins, due; /* what is to be done next */
    bool out, over;
    retry_failure failure; /* the answer that is to come */
    bool works, met;       /* one attempt failed */
    retry_step end;
} calls[CALLS];

static unsigned sends;

/* What the server says to an attempt that is sent at `at`, ms since START; NULL: it works. */
typedef const retry_failure *server(retry_ms at);

static void step_call(struct call *call, server *answer, retry_ms timeout, retry_ms at)
{
    retry_time now = check_after(START, at);
    retry_step step;
    if (call->begins == at) {
        memset(&call->op, 0, sizeof call->op);
        call->op.timeout = timeout;
        call->op.idempotent = true;
        retry_start(&call->op, &service, now);
    } else if (call->out) {
        call->out = false;
        retry_ended(&call->op, 0, call->works ? NULL : &call->failure, now);
    }
    step = retry_next(&call->op, now);
    if (step.what == RETRY_DO_SEND) {
        const retry_failure *failure = answer(at);
        sends++;
        call->works = !failure;
        call->met = call->met || failure;
        if (failure)
            call->failure = *failure;
        call->out = true;
        call->due = at + 20;
    } else if (step.what == RETRY_DO_WAIT) {
        call->due = at + step.delay;
    } else {
        call->over = true;
        call->end = step;
    }
}

/* So many calls, `spacing` ms from one to the next, to their ends. */
static void play(unsigned count, retry_ms spacing, retry_ms timeout, server *answer)
{
    unsigned i, over = 0;
    memset(calls, 0, sizeof calls);
    for (i = 0; i < count; i++)
        calls[i].begins = calls[i].due = i * spacing;
    sends = 0;
    while (over < count) {
        retry_ms at = UINT32_MAX;
        for (i = over = 0; i < count; i++) {
            over += calls[i].over;
            if (!calls[i].over && calls[i].due < at)
                at = calls[i].due;
        }
        for (i = 0; i < count; i++)
            if (!calls[i].over && calls[i].due == at)
                step_call(&calls[i], answer, timeout, at);
    }
}

static retry_ms fault_from, fault_to; /* ms */
static retry_failure fault;

static const retry_failure *while_it_lasts(retry_ms at)
{
    return at >= fault_from && at < fault_to ? &fault : NULL;
}

/* A process that has few calls meets a bare 503 for 2 s: an operation a minute (a new one, too), a
   second, and ten a second, of 10 s. At least 98 of 100 of those that meet it are done. */
static void test_few_calls(void)
{
    static const struct {
        retry_ms spacing;
        unsigned before, after; /* calls */
    } rows[] = {{60000, 0, 2}, {60000, 5, 2}, {1000, 30, 6}, {1000, 120, 6}, {100, 300, 40}};
    unsigned met_in_all = 0, done_in_all = 0;
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        unsigned round, n, met = 0, done = 0;
        for (round = 0; round < 30; round++) {
            unsigned count = rows[i].before + rows[i].after;
            set_up();
            service.client.cut_after = 1000;
            init();
            fault = retry_classify_http(503, 0);
            fault_from = rows[i].before * rows[i].spacing;
            fault_from -= fault_from != 0 ? check_random() % 1000 : 0;
            fault_to = fault_from + 2000;
            play(count, rows[i].spacing, 10000, while_it_lasts);
            for (n = 0; n < count; n++) {
                met += calls[n].met;
                done += calls[n].met && calls[n].end.verdict == RETRY_VERDICT_SUCCESS;
            }
        }
        check_row("every %lu ms, after %u", (unsigned long)rows[i].spacing, rows[i].before);
        CHECK_RANGE(30, 30 * 40, met);
        CHECK_RANGE(met * 90 / 100, met, done); /* of few a few more may fail */
        met_in_all += met;
        done_in_all += done;
    }
    check_row("all");
    CHECK_RANGE((met_in_all * 98 + 99) / 100, met_in_all, done_in_all);
}

/* The quick start, whose server fails twice: done within a second, six times of six. */
static void test_fails_twice(void)
{
    unsigned round;
    for (round = 0; round < 6; round++) {
        unsigned long most = 0;
        check_row("round %u", round);
        set_up();
        service.client.cut_after = 1000;
        init();
        fault = retry_classify_http(503, 0);
        fault_from = 0;
        fault_to = UINT32_MAX;
        memset(calls, 0, sizeof calls);
        sends = 0;
        while (!calls[0].over) {
            if (sends >= 2)
                fault_to = 0;
            most = calls[0].due;
            step_call(&calls[0], while_it_lasts, 5000, calls[0].due);
        }
        CHECK_EQUAL(RETRY_VERDICT_SUCCESS, calls[0].end.verdict);
        CHECK_RANGE(60, 1000, most);
    }
}

static unsigned failures_to_come;

static const retry_failure *so_often(retry_ms at)
{
    (void)at;
    return failures_to_come == 0 ? NULL : (failures_to_come--, &fault);
}

/* Thirteen calls of a command, each a new process, which fail once or twice: all done. */
static void test_command(void)
{
    unsigned round;
    for (round = 0; round < 13 * 20; round++) {
        set_up();
        service.client.cut_after = 1000;
        init();
        fault = retry_classify_http(503, 0);
        failures_to_come = 1 + round % 2;
        play(1, 0, 10000, so_often);
        check_row("round %u", round);
        CHECK_EQUAL(RETRY_VERDICT_SUCCESS, calls[0].end.verdict);
        CHECK_EQUAL(2 + round % 2, sends);
    }
}

/* ---- a server that says when to come back --------------------------------------------------- */

static retry_ms block; /* ms that a refusal lasts; 0: until fault_to */
static unsigned refused;

/* Says 429 to all from fault_from on, and until when. */
static const retry_failure *blocking(retry_ms at)
{
    if (at < fault_from || at >= fault_to)
        return NULL;
    refused++;
    if (block != 0)
        fault_to = at + block; /* each request that it refuses makes it longer */
    fault = retry_classify_http(429, fault_to - at);
    return &fault;
}

static unsigned done_of(unsigned count)
{
    unsigned i, done = 0;
    for (i = 0; i < count; i++)
        done += calls[i].end.verdict == RETRY_VERDICT_SUCCESS;
    return done;
}

static void play_held(retry_ms hold_max, unsigned count, server *answer)
{
    set_up();
    service.client.cut_after = 1000;
    service.limit.hold_max = hold_max;
    init();
    refused = 0;
    play(count, 25, 5000, answer);
}

/* Forty a second meet a block of 5 s, and one of 30 s. Into it go the first five, those in flight,
   and one in 2 s; as many are done as if each found out by itself. */
static void test_held(void)
{
    static const retry_ms spans[] = {5000, 30000};
    size_t i;
    block = 0;
    fault_from = 4000;
    for (i = 0; i < CHECK_COUNT(spans); i++) {
        unsigned count = 320 + spans[i] / 25, alone;
        fault_to = fault_from + spans[i];
        check_row("%lu ms", (unsigned long)spans[i]);
        play_held(1, count, blocking);
        alone = done_of(count);
        CHECK_RANGE(spans[i] / 60, 40 * spans[i] / 1000, refused);
        play_held(0, count, blocking);
        CHECK_RANGE(5, 6 + spans[i] / 2000, refused);
        CHECK_RANGE(alone, count, done_of(count));
        play_held(60000, count, blocking);
        CHECK_RANGE(5, 6, refused);
    }
}

/* A block that each request makes longer ends if hold_max is its longest. */
static void test_held_by_a_long_block(void)
{
    fault_from = 4000;
    fault_to = fault_from + 5000;
    block = 5000;
    play_held(5000, 1600, blocking);
    CHECK_RANGE(5, 6, refused);
    CHECK_RANGE(1600 - 420, 1600, done_of(1600));
}

/* Bears 30 a second, a tenth of a second's at once, and tells the others to come in a second. */
static const retry_failure *shedding(retry_ms at)
{
    static retry_ms last, owed; /* 1 / 30 s is one */
    if (at < last) {
        owed = 0;
        last = at;
    }
    owed -= owed < at - last ? owed : at - last;
    last = at;
    if (owed > 100) {
        refused++;
        fault = retry_classify_http(429, 1000);
        return &fault;
    }
    owed += 33;
    return NULL;
}

/* One of twenty tenants is refused; its neighbours are not. */
static const retry_failure *of_a_tenant(retry_ms at)
{
    fault = retry_classify_http(429, 30000);
    return at % 500 == 0 ? &fault : NULL;
}

/* Who sheds only the excess, and who refuses one of many, is asked as much as without. */
static void test_not_held(void)
{
    unsigned alone;
    play_held(1, 1600, shedding);
    alone = done_of(1600);
    CHECK(refused > 300);
    play_held(0, 1600, shedding);
    CHECK_RANGE(alone - 16, 1600, done_of(1600));
    play_held(1, 1600, of_a_tenant);
    alone = done_of(1600);
    CHECK_RANGE(1500, 1600, alone);
    play_held(0, 1600, of_a_tenant);
    CHECK_RANGE(alone, 1600, done_of(1600));
}

/* ---- a timeout means what it says ---------------------------------------------------------- */

static uint32_t draw_this(void *drawn)
{
    return *(const uint32_t *)drawn;
}

static retry_operation begin_of(retry_ms timeout, retry_time now)
{
    retry_operation op;
    memset(&op, 0, sizeof op);
    op.timeout = timeout;
    op.idempotent = true;
    retry_start(&op, &service, now);
    return op;
}

/* What is decided of an operation of 5 s whose first attempt fails after so many ms, at a service
   whose delay is 4 s; each random number is `draws`. An answer took `slow` ms before (0: none). */
static retry_operation fail_late(retry_ms slow, retry_ms cut_after, retry_ms at,
                                 const retry_failure *failure, uint32_t draws)
{
    static uint32_t drawn;
    retry_operation op;
    set_up();
    drawn = draws;
    service.policy.base.retry_after = retry_policy_after;
    service.policy.backoff.curve = RETRY_CURVE_CONSTANT;
    service.policy.backoff.jitter = RETRY_JITTER_NONE;
    service.policy.backoff.initial = 4000;
    service.client.cut_after = cut_after;
    service.client.always_interval = 4000;
    service.client.random = draw_this;
    service.client.random_context = &drawn;
    init();
    if (slow != 0) {
        op = begin_of(60000, START);
        CHECK_EQUAL(RETRY_DO_SEND, retry_next(&op, START).what);
        retry_ended(&op, 0, NULL, check_after(START, slow));
    }
    op = begin_of(5000, check_after(START, slow));
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&op, check_after(START, slow)).what);
    retry_ended(&op, 0, failure, check_after(START, slow + at));
    return op;
}

/* A delay that would leave less than an attempt needs ends at random in the last eighth of what can
   be spared, from `low` to `high` ms. An attempt needs an eighth of the timeout, half of cut_after
   or twice what answers take, whichever is known and least, but no less than answers take. If what
   can be spared is less than that, too, the delay stays, and ends the operation if it is too long.
 */
static void test_last_retry(void)
{
    static const struct {
        retry_ms slow, cut_after, at, low, high; /* high 0: it ends */
    } rows[] = {
        {0, 0, 0, 4000, 4000},        {0, 0, 375, 4000, 4000},    {0, 0, 376, 3500, 3999},
        {0, 0, 2000, 2079, 2375},     {0, 0, 3750, 547, 625},     {0, 0, 3751, 0, 0},
        {0, 400, 800, 4000, 4000},    {0, 400, 801, 3500, 3999},  {0, 400, 4600, 175, 200},
        {0, 400, 4601, 0, 0},         {50, 400, 900, 4000, 4000}, {50, 400, 901, 3500, 3999},
        {50, 400, 4800, 88, 100},     {50, 400, 4801, 0, 0},      {1000, 400, 1, 3500, 3999},
        {1000, 400, 3000, 875, 1000}, {1000, 400, 3001, 0, 0},    {9000, 0, 0, 2188, 2500},
        {9000, 0, 1, 4000, 4000},
    };
    const retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        const uint8_t verdict =
            rows[i].high != 0 ? (uint8_t)RETRY_VERDICT_RETRY : (uint8_t)RETRY_VERDICT_EXPIRE;
        retry_operation op;
        check_row("row %u", (unsigned)i);
        op = fail_late(rows[i].slow, rows[i].cut_after, rows[i].at, &failure, 0);
        CHECK_EQUAL(verdict, op.verdict);
        if (verdict == RETRY_VERDICT_RETRY)
            CHECK_EQUAL(rows[i].low, op.delay);
        op = fail_late(rows[i].slow, rows[i].cut_after, rows[i].at, &failure, UINT32_MAX);
        CHECK_EQUAL(verdict, op.verdict);
        if (verdict == RETRY_VERDICT_RETRY)
            CHECK_EQUAL(rows[i].high, op.delay);
    }
}

/* A Retry-After is obeyed after that: it is a lower bound, spread as far as time is left, and one
   that is longer than the rest ends the operation. A pushback, and what is always retried, wait as
   they always do. All fail after 2 s, when the last retry would wait 2,375 ms at most. */
static void test_last_retry_of_an_order(void)
{
    static const struct {
        retry_reason reason;
        bool pushback;
        retry_ms retry_after, delay; /* 0: it ends */
    } rows[] = {
        {RETRY_REASON_SERVER_ERROR, false, 0, 2375},
        {RETRY_REASON_SERVER_ERROR, false, 2375, 2375},
        {RETRY_REASON_SERVER_ERROR, false, 2376, 2688}, /* half of the 624 ms behind it more */
        {RETRY_REASON_SERVER_ERROR, false, 2999, 2999},
        {RETRY_REASON_SERVER_ERROR, false, 3000, 0},
        {RETRY_REASON_SERVER_ERROR, true, 2999, 2999},
        {RETRY_REASON_SERVER_ERROR, true, 1, 1},
        {RETRY_REASON_SERVER_ERROR, true, 3000, 0},
        {RETRY_REASON_KV_NOT_MY_VBUCKET, false, 0, 0}, /* 4 s */
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = check_failure_of(rows[i].reason);
        retry_operation op;
        failure.pushback = rows[i].pushback;
        failure.retry_after = rows[i].retry_after;
        check_row("row %u", (unsigned)i);
        op = fail_late(0, 0, 2000, &failure, UINT32_MAX);
        CHECK_EQUAL(rows[i].delay != 0, op.verdict == RETRY_VERDICT_RETRY);
        if (rows[i].delay != 0)
            CHECK_EQUAL(rows[i].delay, op.delay);
        else
            CHECK_EQUAL(RETRY_CAUSE_DEADLINE, op.cause);
    }
}

/* An attempt is cut only while the budget holds two retries after time-outs, also where time fills
   it: 2 tokens are back after 2,000 s. */
static void test_filled_by_time(void)
{
    static const struct {
        uint32_t seconds; /* since the bucket was emptied */
        retry_ms timeout; /* that an attempt has */
    } rows[] = {{0, 60000}, {1, 60000}, {1999, 60000}, {2000, 300}, {5000, 300}};
    size_t i;
    set_up();
    service.budget.options.capacity = RETRY_TOKENS(5);
    service.budget.options.retry_cost = RETRY_TOKENS(1);
    service.budget.options.refill_per_second = RETRY_PER_SECOND(0.001);
    service.client.cut_after = 300;
    init();
    CHECK(retry_budget_withdraw(&service.budget, RETRY_TOKENS(5), START));
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        const retry_time now = check_after(START, rows[i].seconds * 1000);
        retry_operation op = begin_of(60000, now);
        check_row("after %lu s", (unsigned long)rows[i].seconds);
        CHECK_EQUAL(rows[i].timeout, retry_next(&op, now).timeout);
        retry_stop(&op, now);
    }
}

/* One operation of a process that has just begun; the server fails until `back` ms, and then works.
   True: it is done. */
static bool lone(const retry_failure *failure, retry_ms timeout, retry_ms back)
{
    retry_ms passed = 0; /* since START */
    retry_operation op;
    set_up();
    service.client.cut_after = 1000;
    init();
    op = begin_of(timeout, START);
    for (;;) {
        const retry_step step = retry_next(&op, check_after(START, passed));
        if (step.what == RETRY_DO_END)
            return step.verdict == RETRY_VERDICT_SUCCESS;
        if (step.what == RETRY_DO_WAIT) {
            passed += step.delay;
        } else {
            passed += 5;
            retry_ended(&op, 0, passed >= back ? NULL : failure, check_after(START, passed));
        }
    }
}

/* An operation outlasts a failure that is shorter than its timeout, if its process does nothing
   else. */
static void test_lone_operation(void)
{
    static const struct {
        retry_ms timeout, back;
        unsigned refused, others; /* of 100, at least */
    } rows[] = {{1000, 500, 85, 90},
                {5000, 4000, 80, 90},
                {10000, 8000, 95, 95},
                {60000, 30000, 97, 97},
                {60000, 55000, 95, 95}};
    const retry_failure kinds[] = {retry_classify_errno(ECONNREFUSED, false),
                                   retry_classify_http(503, 0), retry_classify_http(429, 1000),
                                   retry_classify_errno(ECONNRESET, true)};
    size_t i, k;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (k = 0; k < CHECK_COUNT(kinds); k++) {
            unsigned n, done = 0;
            if (rows[i].timeout < 2 * kinds[k].retry_after)
                continue;
            for (n = 0; n < 400; n++)
                done += lone(&kinds[k], rows[i].timeout, rows[i].back);
            check_row("kind %u, %lu of %lu ms", (unsigned)k, (unsigned long)rows[i].back,
                      (unsigned long)rows[i].timeout);
            CHECK_RANGE(4 * (k == 0 ? rows[i].refused : rows[i].others), 400, done);
        }
    }
}

int main(void)
{
    RUN(test_null);
    RUN(test_defaults);
    RUN(test_backoffs);
    RUN(test_throttled_is_no_shorter);
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
    RUN(test_not_initialised);
    RUN(test_copied);
    RUN(test_few_calls);
    RUN(test_fails_twice);
    RUN(test_command);
    RUN(test_held);
    RUN(test_held_by_a_long_block);
    RUN(test_not_held);
    RUN(test_last_retry);
    RUN(test_last_retry_of_an_order);
    RUN(test_filled_by_time);
    RUN(test_lone_operation);
    return check_done();
}
