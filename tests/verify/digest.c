/* Some thousand decisions and steps of operations, gates, nodes and hedges included, in one number.
   It must be the same whatever compiles this, with whatever options, for whatever machine: `make
   matrix` and others compare. Nothing here is left to the platform: no addresses, no clock, no
   order of evaluation; and the instants wrap on their way.

   DIGEST_SPLIT: the implementation is in another file. DIGEST_BARE: main and printf are, too.
   DIGEST_ASSERT: it fails unless assertions do: some operations are misused. */
#ifndef DIGEST_SPLIT
#ifndef RETRY_IMPLEMENTATION
#define RETRY_IMPLEMENTATION
#endif
#endif
#ifdef DIGEST_ASSERT
static unsigned long misuses;
#define RETRY_ASSERT(x) ((x) ? (void)0 : (void)misuses++)
#endif
#include "../../errmap.h"
#include "../support/clocks.h"
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
uint32_t digest(uint32_t *decisions);
#ifdef __cplusplus
}
#endif

#ifndef DIGEST_ROUNDS
#define DIGEST_ROUNDS 60 /* of every part */
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t hash, counted, state;
static retry_time now;

/* One more number goes in. Products of 64 bits, so that nothing wraps. */
static void add(uint32_t x)
{
    unsigned i;
    for (i = 0; i < 4; i++, x >>= 8)
        hash = (uint32_t)(((hash ^ (x & 0xff)) * (uint64_t)16777619) & UINT32_MAX);
    counted++;
}

static void add_text(const char *text)
{
    while (*text)
        add((uint8_t)*text++);
}

static uint32_t random_bits(void *context)
{
    (void)context;
    state ^= (state & UINT32_C(0x0007ffff)) << 13;
    state ^= state >> 17;
    state ^= (state & UINT32_C(0x07ffffff)) << 5;
    return (uint32_t)(((uint64_t)state * UINT32_C(2654435769)) & UINT32_MAX);
}

static uint32_t below(uint32_t limit)
{
    return (uint32_t)(((uint64_t)random_bits(NULL) * limit) >> 32);
}

/* Mostly small, sometimes nothing, sometimes as large as can be. */
static uint32_t any(void)
{
    switch (below(8)) {
    case 0:
        return 0;
    case 1:
        return UINT32_MAX - below(3);
    case 2:
        return random_bits(NULL);
    default:
        return below((uint32_t)2 << below(16));
    }
}

/* Time goes on, and may wrap. */
static void pass(uint32_t ms)
{
    retry_time left = (retry_time)-1 - now;
    now = ms <= left ? now + ms : (retry_time)(ms - left - 1);
}

static void add_action(retry_action action)
{
    add(action.kind);
    add(action.cause);
    add(action.delay);
}

/* The last decision. */
static void add_decision(const retry_operation *op)
{
    add(op->verdict);
    add(op->cause);
    add(op->delay);
}

static void add_step(retry_step step)
{
    add((uint32_t)step.what << 24 | (uint32_t)step.copy << 16 | (uint32_t)step.verdict << 8 |
        step.cause);
    add(step.node);
    add(step.delay);
    add(step.timeout);
}

static void add_failure(retry_failure failure)
{
    add(failure.reason);
    add((uint32_t)failure.safety << 16 | (uint32_t)failure.fault << 8 | failure.unknown);
    add((uint32_t)failure.unsent << 3 | (uint32_t)failure.throttle << 2 |
        (uint32_t)failure.timeout << 1 | failure.pushback);
    add(failure.retry_after);
    add(failure.code);
}

static retry_failure any_failure(void)
{
    retry_failure failure =
        retry_classify_stage((uint8_t)(below(4) != 0), RETRY_REASON_NONE); /* mostly sent */
    failure.reason = (retry_reason)below(RETRY_REASON_COUNT);
    if (below(6) == 0)
        failure.reason = RETRY_REASON_USER(3, RETRY_REASON_ALLOWS_NON_IDEMPOTENT);
    failure.safety = (uint8_t)(below(4) == 0 ? below(3) : 0);
    failure.fault = (uint8_t)below(3);
    failure.throttle = below(4) == 0;
    failure.timeout = below(4) == 0;
    failure.pushback = below(16) == 0;
    failure.retry_after = below(4) == 0 ? any() : 0;
    failure.code = below(4);
    return failure;
}

static retry_ms custom(const retry_backoff *self, uint32_t attempt)
{
    return self->initial ^ (attempt & 7);
}

static retry_backoff any_backoff(void)
{
    static const retry_ms table[] = {5, 40, 3, 7000, 1};
    retry_backoff backoff = RETRY_BACKOFF_DEFAULT;
    backoff.curve = (uint8_t)below(8);
    backoff.jitter = (uint8_t)below(6);
    backoff.min = below(3) == 0 ? any() : 0;
    backoff.initial = any();
    backoff.max = any();
    backoff.factor = below(2) == 0 ? 0 : any();
    backoff.spread = below(RETRY_RATIO(1) + 1);
    backoff.table = table;
    backoff.table_length = below(COUNT(table) + 1);
    backoff.custom = below(2) == 0 ? custom : NULL;
    return backoff;
}

static void delays(void)
{
    retry_backoff backoff = any_backoff();
    retry_ms last = 0;
    uint32_t attempt;
    for (attempt = 0; attempt < 40; attempt += 1 + below(6)) {
        add(retry_backoff_base(&backoff, attempt));
        last = retry_backoff_delay(&backoff, attempt, last, random_bits(NULL));
        add(last);
    }
    last = any();
    add(retry_phase("a client's name", (size_t)below(16), last));
}

static void observe(void *context, const retry_operation *op, const retry_failure *failure)
{
    char line[160];
    (void)context;
    add((uint32_t)retry_format(line, sizeof line, op, failure));
    add_text(line);
}

static retry_policy any_policy(void)
{
    static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
    static const retry_policy smithy = RETRY_POLICY_SMITHY, aws = RETRY_POLICY_AWS;
    static const retry_policy aws_2026 = RETRY_POLICY_AWS_2026;
    retry_policy policy;
    switch (below(5)) {
    case 0:
        return smithy;
    case 1:
        return aws;
    case 2:
        return aws_2026;
    case 3:
        policy = best_effort;
        policy.backoff = any_backoff();
        policy.throttle_backoff = any_backoff();
        policy.retry_after_max = any();
        policy.retry_after_slack = any();
        policy.retry_after_spread = below(RETRY_RATIO(1));
        return policy;
    default:
        return best_effort;
    }
}

static retry_budget_options any_budget(void)
{
    static const retry_budget_options smithy = RETRY_BUDGET_SMITHY, grpc = RETRY_BUDGET_GRPC;
    static const retry_budget_options aws_2026 = RETRY_BUDGET_AWS_2026;
    static const retry_budget_options few = RETRY_BUDGET_BEST_EFFORT(1);
    retry_budget_options options;
    switch (below(4)) {
    case 0:
        options = smithy;
        break;
    case 1:
        options = grpc;
        break;
    case 2:
        options = aws_2026;
        break;
    default:
        options = few;
    }
    options.refill_per_second = below(2) == 0 ? any() : 0;
    if (below(4) == 0)
        options.expire = any();
    return options;
}

/* The attempt that is due, and how it ends. */
static void decide(retry_operation *op, bool done)
{
    retry_failure failure = any_failure();
    retry_step step = retry_next(op, now);
    add_step(step);
    if (step.what == RETRY_DO_WAIT) {
        pass(step.delay & 0xffff);
        step = retry_next(op, now);
    }
    add_step(step);
    pass(below(2) == 0 ? below(100) : any() & 0xffffff);
    retry_ended(op, 0, done ? NULL : &failure, now);
    add_decision(op);
    add(retry_left(op, now));
    add(op->retries + op->code_retries);
    add((uint32_t)(op->reasons & UINT32_MAX) ^ op->ambiguous);
}

/* A few operations of one client, one after the other. */
static void one_by_one(void)
{
    retry_policy policy = any_policy();
    retry_budget_options options = any_budget();
    retry_budget budget;
    retry_client client;
    retry_operation op;
    uint32_t i;
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    retry_budget_init(&budget, &options, now);
    client.strategy = &policy.base;
    client.budget = below(4) == 0 ? NULL : &budget;
    client.random = random_bits;
    client.observe = observe;
    client.always_interval = below(3) == 0 ? any() : 0;
    op.client = &client;
    add_step(retry_next(&op, now)); /* never started */
    for (i = 0; i < 24; i++) {
        if (retry_left(&op, now) == 0) {
            op.idempotent = below(2) == 0;
            op.timeout = below(3) == 0 ? UINT32_MAX : any();
            retry_start(&op, NULL, now);
        }
        decide(&op, below(8) == 0);
        add(retry_budget_balance(&budget));
        if (below(3) == 0)
            retry_skip_wait(&op, now);
    }
    retry_stop(&op, now);
    add_decision(&op);
}

static bool attempt(void *context, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    (void)context;
    add_step(*step);
    add(op->retries);
    pass(below(50));
    *failure = any_failure();
    return below(8) == 0;
}

static retry_time clock_now(void *context)
{
    (void)context;
    return now;
}

static void clock_sleep(void *context, retry_ms delay)
{
    (void)context;
    pass(delay & 0xffff);
}

/* The recommended client, in a loop. */
static void loops(void)
{
    const retry_clock clock = clock_of(clock_now, clock_sleep, NULL);
    retry_service service;
    retry_operation op;
    uint32_t i;
    memset(&service, 0, sizeof service);
    memset(&op, 0, sizeof op);
    service.limit.max = below(3);
    service.client.random = random_bits;
    service.client.cut_after = below(2) == 0 ? 0 : below(1000);
    retry_service_init(&service, now);
    op.client = &service.client;
    op.timeout = 1 + below(30000);
    for (i = 0; i < 5; i++) {
        op.idempotent = below(4) != 0;
        add_step(retry_run(&op, NULL, &clock, attempt, NULL));
        add(retry_budget_balance(&service.budget));
        add(service.gates.in_flight);
    }
}

#define NODES 3u
#define OPERATIONS 4u
#define COPIES 3u

/* Some gates of a node; they are few, so that they refuse. */
struct node {
    retry_breaker breaker;
    retry_throttle throttle;
    retry_aimd aimd;
    retry_rate rate;
    retry_latency latency;
};

static struct node nodes[NODES];
static retry_gates gates[NODES];
static retry_operation ops[OPERATIONS];
static retry_hedge hedge[OPERATIONS];
static retry_copy copies[OPERATIONS][COPIES];

static void set_up_gates(void)
{
    uint32_t i;
    memset(nodes, 0, sizeof nodes);
    memset(gates, 0, sizeof gates);
    for (i = 0; i < NODES; i++) {
        uint32_t chosen = below(32);
        nodes[i].breaker.volume = 1 + below(10);
        nodes[i].throttle.k = RETRY_RATIO(1.1);
        nodes[i].aimd.max = below(5);
        nodes[i].rate.max = below(3) == 0 ? below(20000) : 0;
        if (chosen & 1)
            retry_gates_breaker(&gates[i], &nodes[i].breaker);
        if (chosen & 2)
            retry_gates_throttle(&gates[i], &nodes[i].throttle);
        if (chosen & 4)
            retry_gates_aimd(&gates[i], &nodes[i].aimd);
        if (chosen & 8)
            retry_gates_rate(&gates[i], &nodes[i].rate);
        if (chosen & 16)
            retry_gates_latency(&gates[i], &nodes[i].latency);
    }
}

/* Retries whatever may be, and sometimes answers later. */
static retry_action willing_after(const retry_strategy *self, const retry_operation *op,
                                  const retry_failure *failure, retry_time at)
{
    (void)self;
    (void)op;
    (void)failure;
    (void)at;
    return below(8) == 0 ? retry_action_pending() : retry_action_after(below(100));
}

static const retry_strategy willing = {willing_after};

/* Its hedge may learn what is late from the first node. */
static void set_up_operation(uint32_t i, const retry_client *client)
{
    ops[i].client = client;
    ops[i].strategy = below(3) != 0 ? &willing : NULL;
    ops[i].idempotent = below(4) != 0;
    ops[i].timeout = below(4) == 0 ? any() : 1 + below(5000);
    if (below(2) != 0)
        return;
    hedge[i].delay = below(2) == 0 ? 1 + below(100) : 0;
    hedge[i].latency = &nodes[0].latency;
    hedge[i].count = (uint8_t)below(COPIES + 1);
    hedge[i].copies = copies[i];
    retry_hedge_copies(&ops[i], &hedge[i]);
}

/* One thing that may happen to an operation, in or out of order. */
static void happen(uint32_t i)
{
    retry_failure failure = any_failure();
    uint32_t event = below(24);
    unsigned copy = (unsigned)below(COPIES + 1);
    if (event < 5)
        retry_ended(&ops[i], copy, NULL, now);
    else if (event < 12)
        retry_ended(&ops[i], copy, &failure, now);
    else if (event == 12)
        retry_stop(&ops[i], now);
    else if (event == 13)
        retry_start(&ops[i], NULL, now);
    else if (event < 16)
        retry_answer(&ops[i], retry_action_after(below(100)), now);
    else if (event == 16)
        retry_skip_wait(&ops[i], now);
}

static void add_gates(void)
{
    uint32_t i;
    for (i = 0; i < NODES; i++) {
        add(gates[i].in_flight);
        add(retry_breaker_state(&nodes[i].breaker, now));
        add(retry_aimd_limit(&nodes[i].aimd));
        add(retry_rate_get(&nodes[i].rate));
        add(retry_latency_get(&nodes[i].latency));
    }
}

/* What an operation is told to do until it has to wait, or has ended. */
static bool drive(uint32_t i)
{
    retry_step step;
    do {
        step = retry_next(&ops[i], now);
        add_step(step);
    } while (step.what < RETRY_DO_WAIT);
    add_failure(ops[i].failure);
    add((uint32_t)ops[i].ambiguous << 16 ^ ops[i].retries);
    if (step.what == RETRY_DO_WAIT && below(4) == 0)
        pass(step.delay & 0x3fff);
    return step.what == RETRY_DO_END;
}

/* Several at once, of one client with up to three nodes. */
static void operations(void)
{
    retry_policy policy = any_policy();
    retry_budget_options options = any_budget();
    retry_budget budget;
    retry_client client;
    uint32_t i, round;
    memset(&client, 0, sizeof client);
    memset(ops, 0, sizeof ops);
    memset(hedge, 0, sizeof hedge);
    memset(copies, 0, sizeof copies);
    set_up_gates();
    retry_budget_init(&budget, &options, now);
    client.strategy = &policy.base;
    client.budget = below(4) == 0 ? NULL : &budget;
    client.random = random_bits;
    client.cut_after = below(3) == 0 ? 0 : 1 + below(1000);
    client.attempt_timeout = below(3) == 0 ? any() : 0;
    retry_client_nodes(&client, gates, (uint16_t)below(NODES + 1));
    for (i = 0; i < OPERATIONS; i++)
        set_up_operation(i, &client);
    for (round = 0; round < 60; round++) {
        i = below(OPERATIONS);
        happen(i);
        pass(below(8) == 0 ? below(3000) : below(30));
        if (drive(i))
            retry_start(&ops[i], NULL, now);
        add(retry_budget_balance(&budget));
        if (round % 10 == 9)
            add_gates();
    }
    for (i = 0; i < OPERATIONS; i++) {
        retry_stop(&ops[i], now);
        add(drive(i));
    }
    add_gates();
}

static void connections(void)
{
    retry_connection connection = RETRY_CONNECTION_GRPC;
    errmap_nmv nmv;
    uint64_t revision = 1;
    uint32_t i;
    memset(&nmv, 0, sizeof nmv);
    connection.stable_after = below(2) == 0 ? 0 : below(20000);
    connection.random = random_bits;
    nmv.interval = below(2) == 0 ? 0 : any();
    errmap_nmv_begin(&nmv, revision);
    for (i = 0; i < 12; i++) {
        errmap_nmv_step step;
        add(retry_connection_begin(&connection, now));
        pass(below(30000));
        if (below(3) == 0)
            retry_connection_established(&connection, now);
        pass(below(30000));
        {
            const retry_failure told = retry_classify_http(503, below(4) == 0 ? any() : 0);
            add(retry_connection_failed(&connection, &told, now));
        }
        if (below(6) == 0)
            retry_connection_skip_wait(&connection, now);
        add(retry_connection_wait(&connection, now));
        revision += below(3) == 0;
        step = below(2) == 0 ? errmap_nmv_rejected(&nmv, revision, below(2) == 0)
                             : errmap_nmv_config(&nmv, revision);
        add(step.map);
        add(step.delay);
    }
}

static void classifications(void)
{
    static const char dates[][32] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                     "120",
                                     "4294967",
                                     "Sunday, 06-Nov-94 08:49:37 GMT",
                                     "Sun Nov  6 08:49:37 1994",
                                     "Thu, 31 Dec 2099 23:59:60 GMT",
                                     "-1",
                                     "299.9971",
                                     "30, 50"};
    uint32_t i, delay = 0;
    int64_t date = 0;
    size_t length;
    for (i = 0; i < 256; i++) {
        errmap_advice advice = errmap_classify_kv(NULL, (uint16_t)i, (uint8_t)below(256));
        add_failure(advice.failure);
        add(errmap_idempotent_kv((uint8_t)i));
        add_failure(retry_classify_http((int)(i + 300), below(2) * 4000));
        add_failure(retry_classify_grpc((int)i));
        add_failure(errmap_classify_search((int)(i + 300)));
        add_failure(errmap_classify_analytics(i * 100 + 20000));
        add_text(retry_reason_name((retry_reason)i));
    }
    add_failure(errmap_classify_query(5000, "queryport.indexNotFound", 23, false));
    add_failure(errmap_classify_views(404, "{\"error\":\"not_found\"}", 21));
    for (i = 0; i < COUNT(dates); i++) {
        for (length = 0; dates[i][length];)
            length++;
        add(retry_parse_retry_after(dates[i], length, INT64_C(784111700), &delay));
        add(delay);
        add(retry_parse_http_date(dates[i], length, INT64_C(784111700), &date));
        add((uint32_t)(date & UINT32_MAX));
    }
}

/* By hand. */
static void breakers(void)
{
    retry_breaker breaker = RETRY_BREAKER_COUCHBASE;
    bool ill = below(2) == 0; /* mostly: it opens again and again */
    uint32_t i;
    breaker.volume = 1 + below(10);
    if (ill) {
        breaker.open = below(200);
        breaker.open_max = below(20000);
        breaker.slow = below(400);
        breaker.in_a_row = (uint16_t)below(4);
        breaker.probes = (uint8_t)below(4);
        breaker.probe_timeout = below(200);
    }
    for (i = 0; i < 80; i++) {
        retry_failure failure = any_failure();
        const retry_failure *end = below(ill ? 16 : 4) == 0 ? NULL : &failure;
        retry_permit permit = retry_breaker_ask(&breaker, below(8) != 0, now);
        retry_breaker_counts counts = retry_breaker_get(&breaker, now);
        add(permit.granted);
        add(permit.wait);
        add(counts.reports);
        add(counts.sick);
        add(counts.in_a_row);
        add(counts.sick_probes);
        add_failure(retry_classify_permit(permit));
        if (ill && below(4) != 0)
            failure.reason = RETRY_REASON_SERVER_ERROR;
        if (ill && below(2) == 0)
            pass(permit.wait);
        else
            pass(below(2) == 0 ? below(3000) : 0);
        if (below(8) == 0)
            retry_breaker_release(&breaker, permit, now);
        else
            add(retry_breaker_report(&breaker, permit, end, now));
        add(retry_breaker_state(&breaker, now));
    }
    retry_breaker_reset(&breaker, now);
}

/* One attempt after the other, behind one gate: enough for it to tell. */
static void latencies(void)
{
    retry_latency latency;
    retry_gates one;
    retry_client client;
    retry_operation op;
    uint32_t i;
    memset(&latency, 0, sizeof latency);
    memset(&one, 0, sizeof one);
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    retry_gates_latency(&one, &latency);
    client.gates = &one;
    op.client = &client;
    for (i = 0; i < 900; i++) {
        retry_start(&op, NULL, now);
        add(retry_next(&op, now).what);
        pass(below(5) == 0 ? below(2000) : 20 + below(30));
        if (below(8) != 0)
            retry_ended(&op, 0, NULL, now);
        else
            retry_stop(&op, now);
        add(retry_latency_get(&latency));
    }
}

static void scopes(void)
{
    static const retry_budget_options options = RETRY_BUDGET_AWS;
    static retry_scope slots[5];
    static retry_scopes table; /* zero, as are the slots at first */
    uint32_t i;
    table.options = options;
    table.slots = slots;
    table.count = COUNT(slots);
    table.key = 1;
    for (i = 0; i < 20; i++) {
        char name[2] = {'a', 'a'};
        const retry_client *client;
        name[1] = (char)(name[1] + (char)below(12));
        client = retry_scope_client(&table, name, 2, now);
        add(client->budget ? retry_budget_withdraw(client->budget, 5000, now) : 2);
        add(client->budget ? retry_budget_balance(client->budget) : 0);
        if (client->budget && below(2) == 0)
            retry_budget_deposit(client->budget, 7000);
    }
}

static void texts(void)
{
    static const char texts[][80] = {"aws attempts=5 initial=100ms max=10s jitter=equal",
                                     "rfc0049, curve=controlled factor=1.5",
                                     "grpc min=5 throttled=1m59.5s retry-after-spread=0.333333333",
                                     "aws aws",
                                     "attempts=",
                                     "grpc capacity=20 cost=1 success=0.25",
                                     "none per-second=0.001 refund-last=yes base-per-second=.05"};
    uint32_t i;
    size_t length;
    for (i = 0; i < COUNT(texts); i++) {
        retry_policy policy = any_policy();
        retry_budget_options options = any_budget();
        retry_text_error error;
        error.text = "-";
        error.offset = 0;
        for (length = (size_t)below(8); texts[i][length]; length += (size_t)(1 + below(8))) {
            add(retry_parse_policy(&policy, texts[i], length, &error));
            add((uint32_t)error.offset);
            add((uint32_t)error.text[0]);
            add(retry_parse_budget(&options, texts[i], length, &error));
            add((uint32_t)error.offset);
            add((uint32_t)error.text[0]);
        }
        add(policy.max_attempts ^ policy.backoff.initial ^ policy.backoff.factor);
        add(options.capacity ^ options.retry_cost ^ options.success_deposit);
    }
}

static const char json[] =
    "{\"version\":2,\"revision\":7,\"errors\":{"
    "\"f0\":{\"name\":\"A\",\"attrs\":[\"retry-now\",\"temp\",\"item-only\"]},"
    "\"0e\":{\"strategy\":\"linear\",\"interval\":12,\"ceil\":500},"
    "\"1f2\":{\"strategy\":\"exponential\",\"interval\":3,\"after\":9},"
    "\"5\":{\"desc\":\"\\u00e9\\ud83d\\ude00 \\\"x\\\"\",\"attrs\":[\"auth\"]},"
    "\"F1\":{\"attrs\":[\"retry-later\",\"no-retry\",\"rate-limit\",\"x\"]}}}";

/* Shallow, and with 8 values an entry at most, so that every option of errmap.h takes it. */
static void maps(void)
{
    static const uint16_t statuses[] = {0xf0, 0x0e, 0x1f2, 5, 0xf1, 0x86, 0x99, 0};
    static errmap_entry entries[5];
    static errmap map;
    errmap_error error;
    errmap_strategy strategy = ERRMAP_STRATEGY(&map, NULL);
    retry_client client;
    retry_operation op;
    uint8_t packet[40];
    char text[16];
    size_t length;
    uint32_t i;
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    for (length = 0; length < sizeof json; length++) {
        add(errmap_parse(&map, json, length, entries, 5, &error));
        add((uint32_t)error.offset);
        add(error.needed);
    }
    client.random = random_bits;
    op.client = &client;
    for (i = 0; i < COUNT(statuses); i++) {
        errmap_advice advice = errmap_classify_kv(&map, statuses[i], 0);
        add_failure(advice.failure);
        add((uint32_t)advice.reconnect << 2 | (uint32_t)advice.special << 1 |
            advice.authentication);
        add(errmap_spec_delay(advice.entry, below(20)));
        retry_start(&op, NULL, now);
        add_action(errmap_strategy_after(&strategy.base, &op, &advice.failure, now));
        if (advice.entry) {
            add((uint32_t)errmap_copy_text(&map, advice.entry->desc, text,
                                           (size_t)(1 + below(16))));
            add_text(text);
        }
    }
    add((uint32_t)errmap_write_hello(packet, sizeof packet, "digest", 6, random_bits(NULL)));
    for (i = 0; i < 32; i++)
        add(packet[i]);
}

uint32_t digest(uint32_t *decisions)
{
    uint32_t i;
    hash = UINT32_C(2166136261);
    counted = 0;
    state = UINT32_C(2463534242);
    classifications();
    maps();
    for (i = 0; i < DIGEST_ROUNDS; i++) {
        now = UINT32_MAX - (retry_time)below(40000); /* soon past 2^32 */
        delays();
        one_by_one();
        loops();
        operations();
        connections();
        breakers();
        latencies();
        scopes();
        texts();
    }
    *decisions = counted;
    return hash;
}

#ifndef DIGEST_BARE
#include <stdio.h>

int main(void)
{
    uint32_t decisions, sum = digest(&decisions);
    printf("digest %04x%04x of %lu numbers\n", (unsigned)(sum >> 16), (unsigned)(sum & 0xffff),
           (unsigned long)decisions);
#ifdef DIGEST_ASSERT
    if (misuses == 0)
        return 1;
#endif
    return retry_version() != RETRY_VERSION;
}
#endif
