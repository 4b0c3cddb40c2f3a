/* Fuzz target for one hedged attempt after another of one request: bytes become calls with hostile
   values and instants, beside a model of gRPC's A6 as the manual has it. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <string.h>

#include "bytes.h"
#include "replay.h"

#define NONE UINT32_MAX /* no timer */

enum { CLOSED, OPEN, STOPPED };

static retry_budget budget;
static retry_client client;
static retry_latency latency;
static retry_hedge_policy policy;
static retry_hedge hedge;
static retry_request request;
static retry_time now;

static struct {
    int state;
    uint32_t copies, in_flight, paid; /* copies left */
    retry_ms timer;
    retry_time set;
    bool begun; /* the request */
    retry_time started;
    bool ambiguous;
    uint32_t balance;
} model;

static retry_ms left_of(retry_time from, retry_ms span)
{
    retry_time passed = now - from;
    if (passed > (retry_time)1 << (sizeof passed * 8 - 1))
        passed = 0;
    return passed < span ? span - (retry_ms)passed : 0;
}

/* ---- what the manual says of a failure ----------------------------------------------------- */

enum { UNSENT = 1, ALLOWS = 2, INVALID = 4 };

static const struct {
    retry_reason reason;
    int traits;
} rows[] = {
    {RETRY_REASON_KV_LOCKED, ALLOWS},
    {RETRY_REASON_KV_NOT_MY_VBUCKET, ALLOWS},
    {RETRY_REASON_SERVER_ERROR, 0},
    {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, 0},
    {RETRY_REASON_ATTEMPT_TIMED_OUT, 0},
    {RETRY_REASON_SOCKET_NOT_AVAILABLE, ALLOWS | UNSENT},
    {RETRY_REASON_SERVICE_NOT_AVAILABLE, ALLOWS | UNSENT},
    {RETRY_REASON_NODE_NOT_AVAILABLE, ALLOWS | UNSENT},
    {RETRY_REASON_CIRCUIT_BREAKER_OPEN, ALLOWS | UNSENT},
    {RETRY_REASON_CLIENT_THROTTLED, ALLOWS | UNSENT},
    {RETRY_REASON_USER(5, RETRY_REASON_FREE), 0},
    {RETRY_REASON_USER(6, RETRY_REASON_ALLOWS_NON_IDEMPOTENT), ALLOWS},
    {RETRY_REASON_NONE, 0},
    {RETRY_REASON_UNKNOWN, INVALID},
    {0x39, INVALID},
    {0xffff, INVALID},
};

static bool stops(const retry_failure *failure)
{
    return failure->pushback && failure->retry_after == UINT32_MAX;
}

static bool permitted(const retry_failure *failure, int traits)
{
    return request.idempotent || (traits & ALLOWS) != 0 || failure->safety == RETRY_SAFETY_YES;
}

static bool harmless(const retry_failure *failure)
{
    return failure->reason == RETRY_REASON_NONE && failure->fault != RETRY_FAULT_SERVER;
}

/* Final, whatever is in flight. */
static uint8_t fatal(const retry_failure *failure, int traits)
{
    if (failure->safety == RETRY_SAFETY_NO)
        return RETRY_CAUSE_UNSAFE;
    if (!stops(failure) && (traits & INVALID) != 0)
        return RETRY_CAUSE_UNKNOWN_REASON;
    if (!stops(failure) && harmless(failure) && failure->safety != RETRY_SAFETY_YES)
        return RETRY_CAUSE_NOT_RETRYABLE;
    return permitted(failure, traits) ? RETRY_CAUSE_NONE : RETRY_CAUSE_NOT_IDEMPOTENT;
}

/* ---- steps --------------------------------------------------------------------------------- */

static void require(retry_hedge_step got, uint8_t action, uint8_t cause)
{
    REQUIRE(got.action == action);
    REQUIRE(got.cause == cause);
}

static void follow_fail(retry_hedge_step got, uint8_t cause)
{
    require(got, RETRY_HEDGE_FAIL, cause);
    model.state = CLOSED;
}

/* HOLD while others are in flight, else FAIL. */
static void follow_rest(retry_hedge_step got, uint8_t cause)
{
    if (model.in_flight == 0) {
        follow_fail(got, cause);
        return;
    }
    require(got, RETRY_HEDGE_HOLD, cause);
    REQUIRE(got.delay == NONE);
    model.timer = NONE;
}

static void follow_wait(retry_hedge_step got, retry_ms delay)
{
    require(got, RETRY_HEDGE_WAIT, RETRY_CAUSE_NONE);
    REQUIRE(got.delay == delay);
}

static void follow_send(retry_hedge_step got, bool more)
{
    require(got, RETRY_HEDGE_SEND, RETRY_CAUSE_NONE);
    model.in_flight++;
    model.copies--;
    model.timer = NONE;
    if (model.copies != 0 && more)
        model.timer = policy.delay ? policy.delay : retry_latency_get(policy.latency);
    model.set = now;
    REQUIRE(got.delay == model.timer);
}

static retry_ms remaining(void)
{
    if (!model.begun)
        return 0;
    return request.timeout != UINT32_MAX ? left_of(model.started, request.timeout) : UINT32_MAX;
}

static uint8_t spent(void)
{
    if (model.state == STOPPED)
        return RETRY_CAUSE_PUSHBACK;
    return model.copies ? RETRY_CAUSE_NONE : RETRY_CAUSE_ATTEMPTS_EXHAUSTED;
}

/* Why there is no copy `later` ms from now. */
static uint8_t barred(retry_ms later)
{
    if (spent() != RETRY_CAUSE_NONE)
        return spent();
    if (!request.idempotent)
        return RETRY_CAUSE_NOT_IDEMPOTENT;
    return later >= remaining() ? RETRY_CAUSE_DEADLINE : RETRY_CAUSE_NONE;
}

/* Whether the bucket pays for a copy; one that charges failures has to be above its floor. */
static bool pays(void)
{
    const retry_budget_options *options = &budget.options;
    if (!client.budget || request.client != &client)
        return true;
    if (options->charge_failures)
        return model.balance > options->floor;
    if (options->capacity == 0 || model.balance < options->retry_cost)
        return false;
    if (options->floor != 0 && model.balance - options->retry_cost <= options->floor)
        return false;
    model.balance -= options->retry_cost;
    return true;
}

/* The next copy at once, unless something is against it. */
static void follow_next(retry_hedge_step got)
{
    uint8_t cause = barred(0);
    if (cause == RETRY_CAUSE_NONE && !pays())
        cause = RETRY_CAUSE_BUDGET_EXHAUSTED;
    model.paid += cause == RETRY_CAUSE_NONE;
    if (cause == RETRY_CAUSE_NONE)
        follow_send(got, true);
    else
        follow_rest(got, cause);
}

/* A copy that was never sent is not paid for. */
static void refund(void)
{
    const retry_budget_options *options = &budget.options;
    if (model.paid == 0 || !client.budget || request.client != &client)
        return;
    model.paid--;
    if (options->charge_failures)
        return;
    model.balance = options->capacity - model.balance < options->retry_cost
                        ? options->capacity
                        : model.balance + options->retry_cost;
}

static void follow_order(retry_hedge_step got, retry_ms order)
{
    uint8_t cause = model.in_flight ? spent() : barred(order);
    if (cause != RETRY_CAUSE_NONE) {
        follow_rest(got, cause);
        return;
    }
    model.timer = order;
    model.set = now;
    follow_wait(got, order);
}

/* A bucket that charges failures is charged for a copy that a strategy would be asked about, before
   another is sent. */
static void charge(const retry_failure *failure, int traits)
{
    bool is_free = failure->reason >= 0xc0 && failure->reason <= 0xff;
    uint32_t cost = budget.options.retry_cost;
    if (client.budget && request.client == &client && budget.options.charge_failures && !is_free &&
        (traits & UNSENT) == 0)
        model.balance -= model.balance < cost ? model.balance : cost;
}

static void follow_failed(const retry_failure *failure, int traits, retry_hedge_step got)
{
    uint8_t cause = fatal(failure, traits);
    model.in_flight--;
    if (cause == RETRY_CAUSE_NONE || cause == RETRY_CAUSE_NOT_IDEMPOTENT)
        charge(failure, traits);
    if (failure->safety != RETRY_SAFETY_YES && (traits & ALLOWS) == 0 && !harmless(failure))
        model.ambiguous = true;
    if (cause != RETRY_CAUSE_NONE) {
        if (model.in_flight != 0)
            model.ambiguous = true;
        follow_fail(got, cause);
    } else if (stops(failure)) {
        model.state = STOPPED;
        follow_rest(got, RETRY_CAUSE_PUSHBACK);
    } else if ((traits & UNSENT) != 0) {
        refund();
        if (model.in_flight != 0 && model.timer != NONE)
            follow_wait(got, left_of(model.set, model.timer));
        else
            follow_rest(got, RETRY_CAUSE_NOT_RETRYABLE);
    } else if (spent() != RETRY_CAUSE_NONE) {
        follow_rest(got, spent());
    } else if (failure->pushback && failure->retry_after != 0) {
        follow_order(got, failure->retry_after);
    } else {
        follow_next(got);
    }
}

/* ---- calls --------------------------------------------------------------------------------- */

static void call_hedge_begin(void)
{
    bool alone = chance(16);
    retry_hedge_step got = retry_hedge_begin(&hedge, alone ? NULL : &request, now);
    model.copies = !hedge.policy || (policy.delay == 0 && !policy.latency) ? 1
                   : policy.max_attempts == 0                              ? 2
                   : policy.max_attempts > 255                             ? 255
                                                                           : policy.max_attempts;
    model.state = OPEN;
    model.in_flight = 0;
    model.paid = 0;
    follow_send(got, !alone && request.idempotent);
}

static void call_due(void)
{
    retry_hedge_step got = retry_hedge_due(&hedge, &request, now);
    retry_ms left = model.timer == NONE ? NONE : left_of(model.set, model.timer);
    if (model.state == CLOSED)
        require(got, RETRY_HEDGE_FAIL, RETRY_CAUSE_MISUSE);
    else if (barred(0) == RETRY_CAUSE_NONE && left != 0)
        follow_wait(got, left);
    else
        follow_next(got);
}

static void call_failed(void)
{
    uint8_t flags = byte();
    retry_failure failure;
    retry_hedge_step got;
    memset(&failure, 0, sizeof failure);
    failure.reason = rows[flags & 15].reason;
    if ((flags & 0x30) == 0x30) {
        failure.safety = (uint8_t)below(3);
        failure.fault = (uint8_t)below(3);
    }
    failure.pushback = (flags & 0xc0) == 0xc0;
    failure.retry_after = (flags & 0x40) != 0 ? hostile() : 0;
    failure.throttle = failure.timeout = (flags & 0x80) != 0;
    got = retry_hedge_failed(&hedge, &request, &failure, now);
    if (model.state == CLOSED || model.in_flight == 0)
        require(got, RETRY_HEDGE_FAIL, RETRY_CAUSE_MISUSE);
    else
        follow_failed(&failure, rows[flags & 15].traits, got);
}

static void call_won(void)
{
    uint32_t got = retry_hedge_won(&hedge);
    if (model.state == CLOSED || model.in_flight == 0) {
        REQUIRE(got == 0);
        return;
    }
    model.state = CLOSED;
    model.in_flight--;
    REQUIRE(got == model.in_flight);
}

static void call_request(void)
{
    if (byte() < 0x40) {
        retry_cancel(&request, now);
        model.begun = false;
        return;
    }
    request.timeout = chance(2) ? UINT32_MAX : hostile();
    request.idempotent = !chance(8);
    retry_begin(&request, now);
    model.begun = true;
    model.started = now;
    model.ambiguous = false;
}

static void call_deposit(void)
{
    uint32_t amount = hostile();
    retry_budget_deposit(&budget, amount);
    model.balance = budget.options.capacity - model.balance < amount ? budget.options.capacity
                                                                     : model.balance + amount;
}

static void call_misuse(void)
{
    retry_failure failure;
    memset(&failure, 0, sizeof failure);
    require(retry_hedge_due(NULL, &request, now), RETRY_HEDGE_FAIL, RETRY_CAUSE_MISUSE);
    require(retry_hedge_due(&hedge, NULL, now), RETRY_HEDGE_FAIL, RETRY_CAUSE_MISUSE);
    require(retry_hedge_failed(&hedge, NULL, &failure, now), RETRY_HEDGE_FAIL, RETRY_CAUSE_MISUSE);
    require(retry_hedge_failed(&hedge, &request, NULL, now), RETRY_HEDGE_FAIL, RETRY_CAUSE_MISUSE);
    REQUIRE(retry_hedge_won(NULL) == 0);
}

static void pass_time(void)
{
    uint8_t how = byte();
    if (how < 0x80 && model.timer != NONE) /* to the timer, or one ms before or behind it */
        now = model.set + model.timer + how % 3 - 1;
    else if (how < 0xf0)
        now += hostile();
    else
        now -= hostile();
}

static void call(uint8_t which)
{
    switch (which % 16) {
    case 0:
    case 1:
        call_hedge_begin();
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        call_due();
        break;
    case 6:
        call_won();
        break;
    case 7:
        call_request();
        break;
    case 8:
        call_deposit();
        break;
    case 9:
        call_misuse();
        break;
    case 10:
        retry_latency_add(&latency, hostile(), true);
        break;
    case 11:
    case 12:
    case 13:
        call_failed();
        break;
    default:
        pass_time();
    }
}

static void check(void)
{
    REQUIRE(hedge.in_flight == model.in_flight);
    REQUIRE(request.ambiguous == model.ambiguous);
    REQUIRE(retry_budget_balance(&budget) == model.balance);
    REQUIRE(request.attempts == 0);
}

static void set_up(void)
{
    retry_budget_options options = RETRY_BUDGET_GRPC;
    uint8_t flags = byte();
    memset(&model, 0, sizeof model);
    memset(&client, 0, sizeof client);
    memset(&latency, 0, sizeof latency);
    memset(&hedge, 0, sizeof hedge);
    memset(&request, 0, sizeof request);
    memset(&policy, 0, sizeof policy);
    now = chance(2) ? (retry_time)word() : (retry_time)-1 - word();
    options.charge_failures = (flags & 1) != 0;
    options.floor = flags & 2 ? hostile() : 0;
    options.capacity = hostile();
    retry_budget_init(&budget, &options, now);
    model.balance = options.capacity;
    client.budget = flags & 4 ? &budget : NULL;
    request.client = flags & 8 ? &client : NULL;
    latency.min_samples = 2;
    policy.max_attempts = flags & 16 ? hostile() : 4;
    policy.delay = flags & 32 ? 0 : hostile();
    policy.latency = flags & 64 ? NULL : &latency;
    hedge.policy = flags == 0xff ? NULL : &policy;
    call_request();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes_start(data, size);
    set_up();
    while (bytes_left != 0) {
        call(byte());
        check();
    }
    return 0;
}
