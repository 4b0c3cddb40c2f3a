/* Fuzz target for what operations use: bytes become settings of every kind for a service, several
   nodes, all gates, hedges and scopes, and calls on them in any order, also by hand and by
   retry_run. calls_operation keeps a ledger of fewer settings; here it is only what holds for
   any: no number is sent twice, no WAIT is for 0 ms, END comes when nothing is on the wire, each
   node counts its copies, no bucket holds more than its capacity. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <string.h>

#include "bytes.h"
#include "clock.h"
#include "replay.h"
#include "../support/clocks.h"

enum { OPERATIONS = 3, FURTHER = 2, NODES = 3, SLOTS = 3, PERMITS = 4 };

static struct one {
    retry_operation op;
    retry_hedge hedge;
    retry_copy copies[FURTHER];
    bool wire[1 + FURTHER];
} ones[OPERATIONS];

static retry_service service;
static retry_gates nodes[NODES];
static retry_breaker breakers[NODES];
static retry_throttle throttles[NODES];
static retry_aimd limits[NODES];
static retry_rate rates[NODES];
static retry_latency latencies[NODES];
static retry_scope slots[SLOTS];
static retry_scopes scopes;
static retry_permit permits[PERMITS];
static uint32_t drawn;

static uint32_t draw(void *context)
{
    (void)context;
    drawn = (uint32_t)(((uint64_t)drawn * 48271u + 11u) % 2147483647u);
    return drawn << 1 | (drawn & 1);
}

/* As often as not what a zeroed struct has. */
static uint32_t setting(void)
{
    return chance(2) ? hostile() : 0;
}

/* ---- operations ---------------------------------------------------------------------------- */

static uint32_t on_wire(void)
{
    uint32_t i, n, count = 0;
    for (i = 0; i < OPERATIONS; i++)
        for (n = 0; n <= FURTHER; n++)
            count += ones[i].wire[n] && ones[i].op.client;
    return count;
}

static uint32_t in_flight(void)
{
    uint32_t n, count = service.gates.in_flight;
    for (n = 0; n < NODES; n++)
        count += nodes[n].in_flight;
    return count;
}

/* Until it waits or is over. */
static void poll(struct one *one)
{
    retry_step step;
    uint32_t steps = 0, n;
    while ((step = retry_next(&one->op, instant())).what < RETRY_DO_WAIT) {
        REQUIRE(++steps < 64);
        REQUIRE(step.copy <= FURTHER);
        REQUIRE(one->wire[step.copy] == (step.what == RETRY_DO_CANCEL));
        REQUIRE(step.what == RETRY_DO_CANCEL || step.timeout != 0);
        one->wire[step.copy] = step.what == RETRY_DO_SEND;
    }
    REQUIRE(step.what == RETRY_DO_END || step.delay != 0);
    for (n = 0; n <= FURTHER; n++)
        REQUIRE(step.what == RETRY_DO_WAIT || !one->wire[n]);
}

static void poll_all(bool stop)
{
    uint32_t i;
    for (i = 0; i < OPERATIONS; i++) {
        if (stop)
            retry_stop(&ones[i].op, instant());
        poll(&ones[i]);
    }
    REQUIRE(in_flight() == on_wire());
    REQUIRE(!stop || in_flight() == 0);
}

static const retry_client *any_client(void)
{
    uint8_t how = byte();
    if (how < 0x80)
        return &service.client;
    return retry_scope_client(how < 0xc0 ? &scopes : NULL, &how, below(2), instant());
}

/* A new operation; one that is under way is stopped before. */
static void begin(struct one *one)
{
    uint8_t how = byte();
    retry_stop(&one->op, instant());
    poll(one);
    one->op.client = any_client();
    one->op.strategy = how & 1 ? retry_fail_fast() : NULL;
    one->op.idempotent = (how & 6) != 0;
    one->op.timeout = setting();
    one->hedge.latency = how & 8 ? &latencies[how % NODES] : NULL;
    one->hedge.delay = setting();
    one->hedge.count = FURTHER;
    one->hedge.copies = one->copies;
    retry_hedge_copies(&one->op, how & 16 ? &one->hedge : NULL);
    retry_start(&one->op, NULL, instant());
}

static retry_failure any_failure(void)
{
    retry_failure failure;
    uint8_t how = byte();
    memset(&failure, 0, sizeof failure);
    failure.reason = (retry_reason)(how % RETRY_REASON_COUNT);
    if (how >= 0xf0)
        failure.reason = (retry_reason)hostile();
    failure.code = setting();
    failure.retry_after = setting();
    how = byte();
    failure.timeout = (how & 3) == 3;
    failure.throttle = (how & 12) == 12;
    failure.pushback = (how & 48) == 48;
    failure.safety = how & 64 ? byte() : 0;
    failure.fault = how & 128 ? byte() : 0;
    return failure;
}

static void end_copy(struct one *one, uint32_t copy)
{
    const retry_failure failure = any_failure();
    retry_ended(&one->op, copy, chance(2) ? NULL : &failure, instant());
    if (copy <= FURTHER)
        one->wire[copy] = false;
    poll(one);
}

/* ---- retry_run ----------------------------------------------------------------------------- */

static retry_time run_now(void *context)
{
    (void)context;
    return instant();
}

static void run_sleep(void *context, retry_ms delay)
{
    REQUIRE(delay != 0);
    if (bytes_left == 0)
        retry_stop((retry_operation *)context, instant());
    (void)byte(); /* so that it ends */
    clock_pass(delay, false);
}

static bool run_attempt(void *context, const retry_operation *op, const retry_step *step,
                        retry_failure *failure)
{
    (void)context;
    (void)op;
    REQUIRE(step->what == RETRY_DO_SEND);
    clock_pass(below(64), false);
    *failure = any_failure();
    return bytes_left == 0 || chance(4);
}

static void run(void)
{
    retry_operation op;
    const retry_clock clock = clock_of(run_now, run_sleep, &op);
    retry_step step;
    memset(&op, 0, sizeof op);
    op.client = any_client();
    op.timeout = setting();
    op.idempotent = chance(2);
    step = retry_run(&op, NULL, &clock, run_attempt, NULL);
    REQUIRE(step.what == RETRY_DO_END || step.cause == RETRY_CAUSE_PENDING);
}

/* ---- settings, while nothing is in flight -------------------------------------------------- */

static void set_up_gates(uint32_t n)
{
    retry_gates *gates = &nodes[n];
    uint8_t which = byte();
    breakers[n].window = setting(), breakers[n].volume = setting(), breakers[n].ratio = setting();
    breakers[n].in_a_row = (uint16_t)(setting() & 15), breakers[n].slow = setting();
    breakers[n].open = setting(), breakers[n].open_max = setting();
    breakers[n].probes = (uint8_t)(setting() & 3), breakers[n].probe_timeout = setting();
    throttles[n].k = setting(), throttles[n].window = setting();
    throttles[n].max_rejection = setting();
    limits[n].max = setting(), limits[n].min = setting(), limits[n].increase = setting();
    limits[n].decrease = setting(), limits[n].cooldown = setting();
    rates[n].max = setting(), rates[n].min = setting(), rates[n].wait = setting();
    rates[n].burst = setting();
    latencies[n].quantile = setting(), latencies[n].min_samples = setting();
    latencies[n].min = setting(), latencies[n].max = setting();
    retry_gates_latency(gates, which & 1 ? &latencies[n] : NULL); /* in the order of no list */
    retry_gates_aimd(gates, which & 2 ? &limits[n] : NULL);
    retry_gates_breaker(gates, which & 4 ? &breakers[n] : NULL);
    retry_gates_rate(gates, which & 8 ? &rates[n] : NULL);
    retry_gates_throttle(gates, which & 16 ? &throttles[n] : NULL);
}

static retry_budget_options any_budget(void)
{
    retry_budget_options options;
    uint8_t how = byte();
    memset(&options, 0, sizeof options);
    options.capacity = setting(), options.floor = setting(), options.expire = setting();
    options.retry_cost = setting(), options.timeout_cost = setting();
    options.throttle_cost = setting(), options.success_deposit = setting();
    options.request_deposit = setting(), options.refill_per_second = setting();
    options.refund_last = (how & 1) != 0;
    options.charge_failures = (how & 2) != 0;
    return options;
}

static void set_up_service(void)
{
    uint8_t how = byte();
    memset(&service, 0, sizeof service);
    service.budget.options = any_budget();
    service.policy.max_attempts = below(8);
    service.policy.backoff.curve = (uint8_t)below(3);
    service.policy.backoff.jitter = (uint8_t)below(6);
    service.policy.backoff.initial = setting(), service.policy.backoff.max = setting();
    service.policy.retry_after_max = setting();
    service.limit.max = setting();
    service.client.random = draw;
    service.client.always_interval = setting();
    service.client.cut_after = setting();
    service.client.attempt_timeout = setting();
    if (how & 1)
        retry_client_nodes(&service.client, how & 2 ? nodes : NULL, (uint16_t)(how % (NODES + 1)));
    retry_service_init(&service, instant());
}

static void set_up_scopes(void)
{
    memset(slots, 0, sizeof slots);
    memset(&scopes, 0, sizeof scopes);
    scopes.client = service.client;
    scopes.options = any_budget();
    scopes.slots = chance(4) ? NULL : slots;
    scopes.count = 1 + below(SLOTS);
    scopes.forget = setting();
}

/* Nobody uses any of it; operations that have ended keep no word of it. */
static void set_up(void)
{
    uint32_t n;
    poll_all(true);
    memset(ones, 0, sizeof ones);
    if (chance(2)) {
        memset(nodes, 0, sizeof nodes);
        memset(breakers, 0, sizeof breakers);
        memset(throttles, 0, sizeof throttles);
        memset(limits, 0, sizeof limits);
        memset(rates, 0, sizeof rates);
        memset(latencies, 0, sizeof latencies);
    }
    for (n = 0; n < NODES; n++)
        set_up_gates(n);
    set_up_service();
    set_up_scopes();
    memset(permits, 0, sizeof permits);
}

/* ---- calls --------------------------------------------------------------------------------- */

static void call_breaker(void)
{
    const retry_failure failure = any_failure();
    retry_breaker *breaker = &breakers[below(NODES)];
    retry_permit *permit = &permits[below(PERMITS)];
    switch (below(6)) {
    case 0:
        retry_breaker_set(breaker, byte(), instant());
        break;
    case 1:
        retry_breaker_reset(breaker, instant());
        break;
    case 2:
        retry_breaker_report(breaker, *permit, chance(2) ? NULL : &failure, instant());
        break;
    case 3:
        retry_breaker_release(breaker, *permit, instant());
        break;
    default:
        *permit = retry_breaker_ask(breaker, chance(2), instant());
        REQUIRE(retry_breaker_state(breaker, instant()) <= RETRY_BREAKER_ISOLATED);
        REQUIRE(retry_classify_permit(*permit).reason ==
                (permit->granted ? RETRY_REASON_NONE : RETRY_REASON_CIRCUIT_BREAKER_OPEN));
    }
    (void)retry_breaker_get(breaker, instant());
}

static void call_tokens(void)
{
    uint32_t amount = hostile();
    if (chance(2))
        (void)retry_budget_withdraw(&service.budget, amount, instant());
    else
        retry_budget_deposit(&service.budget, amount);
}

static void call_looks(const struct one *one)
{
    uint32_t n = below(NODES);
    char line[200];
    size_t room = below(sizeof line + 1);
    (void)retry_format(line, room, &one->op, &one->op.failure);
    REQUIRE(room == 0 || memchr(line, '\0', room));
    (void)retry_left(&one->op, instant());
    REQUIRE(retry_aimd_limit(&limits[n]) != 0 && retry_rate_get(&rates[n]) != 0);
    REQUIRE(retry_latency_get(&latencies[n]) != 0);
}

static void check_buckets(void)
{
    uint32_t n;
    REQUIRE(retry_budget_balance(&service.budget) <= service.budget.options.capacity);
    for (n = 0; n < SLOTS; n++)
        REQUIRE(retry_budget_balance(&slots[n].budget) <= slots[n].budget.options.capacity);
}

static void pass_time(void)
{
    uint8_t how = byte();
    clock_pass(how < 0xc0 ? how : hostile(), how >= 0xf8);
}

static void call(uint8_t which)
{
    struct one *one = &ones[which % OPERATIONS];
    switch (which / OPERATIONS % 16) {
    case 0:
    case 1:
        begin(one);
        break;
    case 2:
    case 3:
    case 4:
        end_copy(one, below(FURTHER + 2));
        break;
    case 5:
        retry_stop(&one->op, instant());
        break;
    case 6:
        retry_answer(&one->op, retry_action_after(hostile()), instant());
        break;
    case 7:
        retry_skip_wait(&one->op, instant());
        break;
    case 8:
        call_breaker();
        break;
    case 9:
        call_tokens();
        break;
    case 10:
        call_looks(one);
        break;
    case 11:
        run();
        break;
    case 12:
        if (chance(4))
            set_up();
        break;
    default:
        pass_time();
    }
    poll_all(false);
    check_buckets();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes_start(data, size);
    memset(ones, 0, sizeof ones);
    memset(nodes, 0, sizeof nodes);
    memset(&service, 0, sizeof service);
    clock_start();
    drawn = 1 + byte();
    set_up();
    while (bytes_left != 0)
        call(byte());
    poll_all(true);
    return 0;
}
