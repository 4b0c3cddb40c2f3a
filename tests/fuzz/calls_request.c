/* Fuzz target for one request: bytes become calls with hostile values and instants, and what comes
   back is what the manual says, by a model that knows nothing of the implementation: every verdict,
   cause, delay, counter and token. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <math.h>
#include <string.h>

#include "../support/reasons.h"
#include "bytes.h"
#include "replay.h"

#define NEVER UINT32_MAX

enum { NOT_BEGUN, OPEN, WAITING, FINISHED, CANCELLED };

static retry_budget budget;
static retry_client client;
static retry_policy policy;
static retry_operation request;
static retry_time now;
static unsigned told, expected_told;
static decided told_decision;
static bool told_of_a_failure;

/* The model: what the request and the bucket are to be. */
static struct {
    int state;
    uint32_t attempts, code, code_attempts, charge, last_delay;
    uint32_t since_order; /* retries since the server's last order; NEVER: there was none */
    retry_time started, code_since;
    retry_reason_set reasons;
    bool ambiguous, asked;
    uint64_t millionths; /* in the bucket */
    uint32_t refilled;
} model;

static struct {
    retry_ms low, high;
} granted; /* what the strategy may answer */

/* ---- the bucket ---------------------------------------------------------------------------- */

static uint32_t balance(void)
{
    return (uint32_t)(model.millionths / 1000);
}

static void put(uint64_t thousandths)
{
    uint64_t capacity = (uint64_t)budget.options.capacity * 1000;
    model.millionths += thousandths * 1000;
    if (model.millionths > capacity)
        model.millionths = capacity;
}

/* What `rate` brings in, up to `most`. */
static void earn(uint64_t most, uint32_t rate, uint32_t passed)
{
    uint64_t more = (uint64_t)rate * passed;
    if (model.millionths < most)
        model.millionths = more > most - model.millionths ? most : model.millionths + more;
}

/* The dearest retry. */
static uint32_t base_of(const retry_budget_options *options)
{
    uint32_t most = options->retry_cost;
    most = options->timeout_cost > most ? options->timeout_cost : most;
    most = options->throttle_cost > most ? options->throttle_cost : most;
    return most < options->capacity ? most : options->capacity;
}

/* Up to 32 s behind is another thread's clock; more, or over half the range ahead, begins anew. */
static void refill(void)
{
    uint32_t passed = now - model.refilled;
    const retry_budget_options *options = &budget.options;
    if ((options->refill_per_second | options->base_per_second) == 0 || passed > UINT32_MAX - 32768)
        return;
    model.refilled = now;
    if (passed > 0x80000000u)
        return;
    if (balance() < base_of(options))
        earn((uint64_t)base_of(options) * 1000, options->base_per_second, passed);
    earn((uint64_t)options->capacity * 1000, options->refill_per_second, passed);
}

static bool affords(uint32_t cost)
{
    if (budget.options.capacity == 0 || balance() < cost)
        return false;
    return budget.options.floor == 0 || balance() - cost > budget.options.floor;
}

static uint32_t cost_of(const retry_failure *failure)
{
    uint32_t cost = failure->timeout    ? budget.options.timeout_cost
                    : failure->throttle ? budget.options.throttle_cost
                                        : 0;
    return cost ? cost : budget.options.retry_cost;
}

static void refund(void)
{
    if (!client.budget)
        return;
    refill();
    put(model.charge);
    model.charge = 0;
}

/* ---- reasons ------------------------------------------------------------------------------- */

static bool is_user(retry_reason reason)
{
    return (reason & 0x40) != 0;
}

static bool is_valid(retry_reason reason)
{
    return reason < RETRY_REASON_COUNT || is_user(reason);
}

static bool is_free(retry_reason reason)
{
    return is_user(reason) && (reason & RETRY_REASON_FREE) != 0;
}

static bool is_always(retry_reason reason)
{
    if (is_user(reason))
        return (reason & RETRY_REASON_ALWAYS) != 0;
    return is_valid(reason) && reason_row_of(reason).decided == REASON_ALWAYS;
}

static bool allows(retry_reason reason)
{
    if (is_user(reason))
        return (reason & RETRY_REASON_ALLOWS_NON_IDEMPOTENT) != 0;
    return is_valid(reason) && reason_row_of(reason).another;
}

static bool forbids(const retry_failure *failure)
{
    return failure->pushback && failure->retry_after == UINT32_MAX;
}

static bool permitted(const retry_failure *failure)
{
    return request.idempotent || allows(failure->reason) || failure_unsent(failure) ||
           failure->safety == RETRY_SAFETY_YES;
}

/* Step 3. */
static uint8_t refusal(const retry_failure *failure)
{
    if (failure->safety == RETRY_SAFETY_NO)
        return RETRY_CAUSE_UNSAFE;
    if (forbids(failure))
        return RETRY_CAUSE_PUSHBACK;
    if (failure->reason == RETRY_REASON_CLIENT_THROTTLED)
        return RETRY_CAUSE_THROTTLED;
    if (failure->reason == RETRY_REASON_UNKNOWN || !is_valid(failure->reason))
        return RETRY_CAUSE_UNKNOWN_REASON;
    if (failure->reason == RETRY_REASON_NONE && failure->fault != RETRY_FAULT_SERVER &&
        failure->safety != RETRY_SAFETY_YES)
        return RETRY_CAUSE_NOT_RETRYABLE;
    return RETRY_CAUSE_NONE;
}

/* ---- the strategy -------------------------------------------------------------------------- */

static const retry_ms ladder[] = {1, 10, 50, 100, 500, 1000};
static const retry_ms table[] = {0, 5, UINT32_MAX, 1};

static retry_ms controlled(uint32_t n)
{
    return n < 6 ? ladder[n] : 1000;
}

static retry_ms custom(const retry_backoff *self, uint32_t attempt)
{
    return self->initial ^ attempt;
}

static retry_ms capped(const retry_backoff *backoff, long double ms)
{
    retry_ms max = backoff->max ? backoff->max : UINT32_MAX;
    return ms >= (long double)max ? max : (retry_ms)(ms + 0.5L);
}

/* The delay before jitter, as a real number. */
static retry_ms base(const retry_backoff *backoff, uint32_t n)
{
    long double initial = backoff->initial ? backoff->initial : 1;
    long double factor = backoff->factor ? (long double)backoff->factor / 65536 : 2;
    switch (backoff->curve) {
    case RETRY_CURVE_CONSTANT:
        return capped(backoff, initial);
    case RETRY_CURVE_TABLE:
        if (backoff->table && backoff->table_length)
            return capped(
                backoff, backoff->table[n < backoff->table_length ? n : backoff->table_length - 1]);
        break;
    case RETRY_CURVE_CUSTOM:
        if (backoff->custom)
            return capped(backoff, custom(backoff, n));
        break;
    default:
        break;
    }
    return capped(backoff, initial * powl(factor < 1 ? 1 : factor, n));
}

static retry_ms saturate(uint64_t ms)
{
    return ms > UINT32_MAX ? UINT32_MAX : (retry_ms)ms;
}

/* What the clock can measure. */
static retry_ms measured(retry_ms ms)
{
    return ms < 0x80000000u ? ms : 0x80000000u;
}

/* Where a delay lies, but for `slack`: within 1 ms or 0.01 % of the real number. */
static void span(const retry_backoff *backoff, uint32_t attempt, retry_ms previous)
{
    uint64_t low = base(backoff, attempt), high = low, slack = low / 10000 + 2;
    uint64_t initial = backoff->initial ? backoff->initial : 1;
    uint64_t spread = backoff->spread ? backoff->spread : RETRY_RATIO(0.2);
    switch (backoff->jitter) {
    case RETRY_JITTER_DEFAULT:
    case RETRY_JITTER_FULL:
        low = 0;
        break;
    case RETRY_JITTER_EQUAL:
        low = low / 2;
        break;
    case RETRY_JITTER_SPREAD:
        low = high * spread / 65536;
        slack += slack * (spread / 65536 + 1);
        high += low;
        low = high - low > low ? high - 2 * low : 0;
        break;
    case RETRY_JITTER_DECORRELATED:
        high = previous > initial ? previous : initial;
        high *= 3;
        low = initial;
        if (backoff->max && high > backoff->max)
            high = backoff->max;
        if (low > high)
            low = high;
        slack = 0;
        break;
    default:
        break;
    }
    low = low > slack ? low - slack : 0;
    high += slack;
    if (backoff->max && backoff->jitter != RETRY_JITTER_SPREAD && high > backoff->max)
        high = backoff->max;
    granted.low = saturate(low > backoff->min ? low : backoff->min);
    granted.high = saturate(high > backoff->min ? high : backoff->min);
}

/* What the server wants, within both caps. */
static uint64_t wanted(const retry_failure *failure, uint64_t delay)
{
    uint64_t ms = failure->retry_after;
    if (policy.retry_after_max && ms > policy.retry_after_max)
        ms = policy.retry_after_max;
    if (policy.retry_after_slack && ms > delay + policy.retry_after_slack)
        ms = delay + policy.retry_after_slack;
    return ms;
}

/* Where the delay lies that is raised to it, and by its spread. */
static void raise_span(const retry_failure *failure)
{
    uint64_t low = wanted(failure, granted.low), high = wanted(failure, granted.high);
    if (high > granted.low) {
        high += high * policy.retry_after_spread / 65536 + 1;
        granted.high = saturate(high > granted.high ? high : granted.high);
    }
    granted.low = saturate(low > granted.low ? low : granted.low);
}

/* Whether the built-in policy grants, and where its delay lies; else *cause says why not. */
static bool policy_grants(const retry_failure *failure, uint8_t *cause)
{
    const retry_backoff *backoff = failure->throttle && policy.throttle_backoff.initial
                                       ? &policy.throttle_backoff
                                       : &policy.backoff;
    bool anew = model.since_order != NEVER;
    if (!permitted(failure)) {
        *cause = RETRY_CAUSE_NOT_IDEMPOTENT;
        return false;
    }
    if (policy.max_attempts != 0 && (uint64_t)model.attempts + 1 >= policy.max_attempts) {
        *cause = RETRY_CAUSE_ATTEMPTS_EXHAUSTED;
        return false;
    }
    span(backoff, anew ? model.since_order : model.attempts,
         anew && model.since_order == 0 ? 0 : model.delay);
    raise_span(failure);
    return true;
}

/* What a strategy of one's own is to answer: decided before the call. */
static retry_action scripted;

static retry_action own_answer(const retry_strategy *self, const retry_operation *asked,
                               const retry_failure *failure, retry_time at)
{
    (void)self;
    (void)failure;
    REQUIRE(asked == &request && at == now);
    model.asked = true;
    if (scripted.kind == 0x40)
        retry_cancel(asked, at);
    return scripted;
}

static const retry_strategy own = {own_answer};

static void observe(void *context, const retry_operation *seen, const retry_failure *failure)
{
    char line[200];
    (void)context;
    told++;
    told_decision = *decision;
    told_of_a_failure = failure != NULL;
    REQUIRE(retry_format(line, sizeof line, seen, failure, decision) < sizeof line);
}

static uint32_t draw(void *context)
{
    (void)context;
    return hostile();
}

/* ---- the decision -------------------------------------------------------------------------- */

/* A step back of up to 32 s is no time. */
static retry_ms elapsed(void)
{
    retry_ms passed = now - model.started;
    return passed > UINT32_MAX - 32768 ? 0 : passed;
}

static void record(const retry_failure *failure)
{
    if (is_valid(failure->reason))
        model.reasons |= (retry_reason_set)1
                         << (is_user(failure->reason) ? 48 + (failure->reason & 15)
                                                      : failure->reason);
    if (failure->safety != RETRY_SAFETY_YES && !allows(failure->reason) &&
        !failure_unsent(failure) &&
        !(failure->reason == RETRY_REASON_NONE && failure->fault != RETRY_FAULT_SERVER))
        model.ambiguous = true;
    if (!failure_unsent(failure)) /* what was paid stays with what was never sent */
        model.charge = 0;
    if (model.attempts == 0 || model.code != failure->code) {
        model.code = failure->code;
        model.code_attempts = 0;
        model.code_since = now;
    }
}

/* gRPC's charge, for a failure that a strategy was asked about, and for an order not to retry. */
static void charge_failure(const retry_failure *failure)
{
    uint64_t cost = (uint64_t)cost_of(failure) * 1000;
    if (!client.budget)
        return;
    refill();
    if (is_free(failure->reason))
        return;
    if (budget.options.charge_failures && !failure_unsent(failure))
        model.millionths =
            balance() < cost_of(failure) ? model.millionths % 1000 : model.millionths - cost;
}

static bool pays(const retry_failure *failure)
{
    uint32_t cost = cost_of(failure);
    if (!client.budget)
        return true;
    refill();
    if (!budget.options.charge_failures && failure_unsent(failure) &&
        (model.charge != 0 || !reason_refused(failure->reason)))
        return true;
    if (is_free(failure->reason))
        return true;
    if (budget.options.charge_failures)
        return balance() > budget.options.floor;
    if (!affords(cost))
        return false;
    model.millionths -= (uint64_t)cost * 1000;
    model.charge = cost;
    return true;
}

/* The end of the request that no failure brings. */
static void require_told_end(uint8_t verdict, uint8_t cause)
{
    expected_told += client.observe != NULL;
    if (client.observe)
        REQUIRE(told_decision.verdict == verdict && told_decision.cause == cause &&
                told_decision.delay == 0 && !told_of_a_failure);
}

static void require(decided got, uint8_t verdict, uint8_t cause)
{
    REQUIRE(got.verdict == verdict);
    REQUIRE(got.cause == cause);
    if (verdict == RETRY_VERDICT_FAIL && cause != RETRY_CAUSE_BUDGET_EXHAUSTED)
        REQUIRE(got.delay == 0);
    model.state = verdict == RETRY_VERDICT_RETRY     ? OPEN
                  : verdict == RETRY_VERDICT_PENDING ? WAITING
                                                     : FINISHED;
    expected_told += client.observe != NULL;
    if (client.observe)
        REQUIRE(told_decision.verdict == verdict && told_decision.cause == cause &&
                told_decision.delay == got.delay && told_of_a_failure);
}

/* A wish for a retry after granted.low to granted.high ms: the order, the budget, the deadline. */
static void grant(const retry_failure *failure, decided got, uint8_t cause)
{
    if (failure->pushback) {
        granted.low = granted.high = failure->retry_after;
        model.since_order = 0;
    } else if (model.since_order < 254) {
        model.since_order++;
    }
    granted.low = measured(granted.low);
    granted.high = measured(granted.high);
    if (cause == RETRY_CAUSE_STRATEGY && !pays(failure)) {
        require(got, RETRY_VERDICT_FAIL, RETRY_CAUSE_BUDGET_EXHAUSTED);
        REQUIRE(got.delay >= granted.low && got.delay <= granted.high);
    } else if (got.verdict == RETRY_VERDICT_EXPIRE) {
        require(got, RETRY_VERDICT_EXPIRE, RETRY_CAUSE_DEADLINE);
        REQUIRE(request.timeout != UINT32_MAX);
        REQUIRE((uint64_t)elapsed() + granted.high >= request.timeout);
        REQUIRE(got.delay == (elapsed() < request.timeout ? request.timeout - elapsed() : 0));
        refund();
    } else {
        require(got, RETRY_VERDICT_RETRY, cause);
        REQUIRE(got.delay >= granted.low && got.delay <= granted.high);
        REQUIRE(request.timeout == UINT32_MAX || (uint64_t)elapsed() + got.delay < request.timeout);
        model.attempts += model.attempts != UINT32_MAX;
        model.code_attempts += model.code_attempts != UINT32_MAX;
        model.delay = got.delay;
    }
}

/* What an answer of a strategy of one's own comes to. */
static void follow(const retry_failure *failure, retry_action action, decided got)
{
    granted.low = granted.high = action.delay;
    if (action.kind == RETRY_ACTION_AFTER) {
        grant(failure, got, RETRY_CAUSE_STRATEGY);
    } else if (action.kind == RETRY_ACTION_PENDING) {
        require(got, RETRY_VERDICT_PENDING, RETRY_CAUSE_PENDING);
    } else {
        refund();
        require(got, RETRY_VERDICT_FAIL, action.cause);
    }
}

static void follow_policy(const retry_failure *failure, decided got)
{
    uint8_t cause = RETRY_CAUSE_NONE;
    charge_failure(failure);
    if (policy_grants(failure, &cause)) {
        grant(failure, got, RETRY_CAUSE_STRATEGY);
        return;
    }
    refund();
    require(got, RETRY_VERDICT_FAIL, cause);
}

static void follow_own(const retry_failure *failure, decided got)
{
    REQUIRE(model.asked);
    if (scripted.kind == 0x40) { /* it cancelled the request, which has nothing to go back */
        REQUIRE(got.verdict == RETRY_VERDICT_FAIL && got.cause == RETRY_CAUSE_CANCELLED);
        model.state = CANCELLED;
        require_told_end(RETRY_VERDICT_FAIL, RETRY_CAUSE_CANCELLED);
        charge_failure(failure);
        refund();
        return;
    }
    if (scripted.kind != RETRY_ACTION_PENDING || !failure_unsent(failure))
        charge_failure(failure);
    follow(failure, scripted, got);
}

static void follow_failure(const retry_failure *failure, decided got)
{
    uint8_t cause;
    record(failure);
    cause = refusal(failure);
    if (cause != RETRY_CAUSE_NONE) {
        if (cause == RETRY_CAUSE_PUSHBACK)
            charge_failure(failure);
        if (failure_unsent(failure))
            refund();
        require(got, RETRY_VERDICT_FAIL, cause);
    } else if (is_always(failure->reason)) {
        granted.low = client.always_interval ? client.always_interval : controlled(model.attempts);
        granted.high = granted.low;
        grant(failure, got, RETRY_CAUSE_ALWAYS);
    } else if (request.strategy == &own) {
        follow_own(failure, got);
    } else if (request.strategy == retry_fail_fast()) {
        charge_failure(failure);
        refund();
        require(got, RETRY_VERDICT_FAIL, RETRY_CAUSE_REFUSED);
    } else {
        follow_policy(failure, got);
    }
}

/* ---- calls --------------------------------------------------------------------------------- */

static retry_failure hostile_failure(void)
{
    retry_failure failure;
    uint8_t flags = byte(), reason = byte();
    memset(&failure, 0, sizeof failure);
    failure.reason = reason;
    failure.unsent = chance(6);
    if (reason >= RETRY_REASON_COUNT && reason < 0x30)
        failure.reason = RETRY_REASON_KV_LOCKED;
    if ((flags & 3) == 3) {
        failure.safety = (uint8_t)below(4);
        failure.fault = (uint8_t)below(4);
    }
    failure.throttle = (flags & 4) != 0;
    failure.timeout = (flags & 8) != 0;
    failure.unknown = (flags & 16) != 0;
    failure.pushback = (flags & 0x60) == 0x60;
    failure.retry_after = (flags & 0x20) != 0 ? hostile() : 0;
    failure.code = (flags & 0x80) != 0 ? below(3) : 0;
    return failure;
}

static retry_action hostile_action(void)
{
    static const uint8_t kinds[] = {RETRY_ACTION_AFTER,
                                    RETRY_ACTION_AFTER,
                                    RETRY_ACTION_PENDING,
                                    RETRY_ACTION_NONE,
                                    RETRY_ACTION_AFTER,
                                    0x40,
                                    0xff};
    retry_action action;
    action.kind = kinds[below(sizeof kinds)];
    action.cause = (uint8_t)below(RETRY_CAUSE_COUNT + 2);
    action.delay = action.kind == RETRY_ACTION_AFTER ? hostile() : 0;
    return action;
}

static void require_unchanged(const retry_operation *before, decided got)
{
    REQUIRE(got.verdict == RETRY_VERDICT_FAIL && got.delay == 0);
    REQUIRE(got.cause == (model.state == CANCELLED ? RETRY_CAUSE_CANCELLED : RETRY_CAUSE_MISUSE));
    REQUIRE(memcmp(before, &request, sizeof request) == 0);
}

static void call_orchestrate(void)
{
    retry_failure failure = hostile_failure();
    retry_operation before;
    decided got;
    if (request.strategy == &own)
        scripted = hostile_action();
    model.asked = false;
    memcpy(&before, &request, sizeof before);
    got = retry_orchestrate(&request, &failure, now);
    if (model.state != OPEN)
        require_unchanged(&before, got);
    else
        follow_failure(&failure, got);
}

static void call_resume(void)
{
    retry_failure failure = hostile_failure();
    retry_action action = hostile_action();
    retry_operation before;
    decided got;
    memcpy(&before, &request, sizeof before);
    got = retry_resume(&request, &failure, action, now);
    if (model.state != WAITING)
        require_unchanged(&before, got);
    else
        follow(&failure, action, got);
}

static void finish(int state)
{
    retry_operation before;
    bool open = model.state == OPEN || model.state == WAITING;
    memcpy(&before, &request, sizeof before);
    if (state == CANCELLED)
        retry_cancel(&request, now);
    else
        REQUIRE(retry_succeed(&request, now) == open);
    if (!open) {
        REQUIRE(memcmp(&before, &request, sizeof before) == 0);
        return;
    }
    model.state = state;
    model.ambiguous = model.ambiguous && state == CANCELLED;
    if (state == CANCELLED)
        require_told_end(RETRY_VERDICT_FAIL, RETRY_CAUSE_CANCELLED);
    else
        require_told_end(RETRY_VERDICT_SUCCESS, RETRY_CAUSE_NONE);
    if (!client.budget)
        return;
    refill();
    if (state == CANCELLED || (budget.options.refund_last && model.attempts > 0)) {
        put(model.charge);
        model.charge = 0;
    } else {
        put(budget.options.success_deposit);
    }
}

static void call_begin(void)
{
    retry_ms timeout;
    finish(CANCELLED);
    request.timeout = chance(3) ? UINT32_MAX : chance(16) ? 0 : hostile();
    request.idempotent = !chance(4);
    timeout = request.timeout ? request.timeout : 75000;
    timeout = timeout > UINT32_MAX - 0xffff ? UINT32_MAX : timeout;
    retry_begin(&request, now);
    REQUIRE(request.timeout == timeout);
    model.state = OPEN;
    model.attempts = model.code = model.code_attempts = model.charge = model.delay = 0;
    model.since_order = NEVER;
    model.started = model.code_since = now;
    model.reasons = 0;
    model.ambiguous = false;
    if (client.budget && budget.options.request_deposit != 0) {
        refill();
        put(budget.options.request_deposit);
    }
}

static void call_remaining(void)
{
    retry_ms left = 0;
    if (model.state == OPEN || model.state == WAITING) {
        left = UINT32_MAX;
        if (request.timeout != UINT32_MAX)
            left = elapsed() < request.timeout ? request.timeout - elapsed() : 0;
    }
    REQUIRE(retry_left(&request, now) == left);
}

static void call_withdraw(void)
{
    uint32_t cost = hostile();
    bool paid;
    refill();
    paid = affords(cost);
    REQUIRE(retry_budget_withdraw(&budget, cost, now) == paid);
    if (paid)
        model.millionths -= (uint64_t)cost * 1000;
}

static void call_deposit(void)
{
    uint32_t amount = hostile();
    retry_budget_deposit(&budget, amount);
    put(amount);
}

static void pass_time(void)
{
    static const retry_time far = (retry_time)-1;
    uint8_t how = byte();
    if (how < 0xe0)
        now += hostile();
    else if (how < 0xfa)
        now -= hostile();
    else
        now += far / 4 * below(4);
}

static void call(uint8_t which)
{
    switch (which % 16) {
    case 0:
        call_begin();
        break;
    case 1:
        finish(byte() & 1 ? CANCELLED : FINISHED);
        break;
    case 2:
        call_resume();
        break;
    case 3:
        call_remaining();
        break;
    case 4:
        call_withdraw();
        break;
    case 5:
        call_deposit();
        break;
    case 6:
    case 7:
    case 8:
        pass_time();
        break;
    default:
        call_orchestrate();
    }
}

static void check(void)
{
    REQUIRE(told == expected_told);
    REQUIRE(retry_budget_balance(&budget) == balance());
    REQUIRE(balance() <= budget.options.capacity);
    if (model.state == NOT_BEGUN)
        return;
    REQUIRE(request.retries == model.attempts);
    REQUIRE(request.code == model.code && request.code_retries == model.code_attempts);
    REQUIRE(request.code_since == model.code_since && request.started == model.started);
    REQUIRE(request.reasons == model.reasons);
    REQUIRE(request.ambiguous == model.ambiguous);
    REQUIRE(request.delay == model.delay);
}

/* ---- the world ----------------------------------------------------------------------------- */

static retry_backoff hostile_backoff(void)
{
    retry_backoff backoff;
    uint8_t shape = byte();
    backoff.curve = shape & 7;
    backoff.jitter = shape >> 3 & 7;
    backoff.min = shape & 0x40 ? hostile() : 0;
    backoff.initial = hostile();
    backoff.max = shape & 0x80 ? hostile() : 0;
    backoff.factor = hostile();
    backoff.spread = backoff.jitter == RETRY_JITTER_SPREAD ? hostile() : 0;
    backoff.table = chance(4) ? NULL : table;
    backoff.table_length = backoff.table ? below(5) : 0;
    backoff.custom = chance(4) ? NULL : custom;
    return backoff;
}

/* Without tokens that expire: how many are left is told within 2 %, and a model cannot follow. */
static retry_budget_options hostile_options(void)
{
    static const retry_budget_options presets[] = {RETRY_BUDGET_SMITHY, RETRY_BUDGET_AWS,
                                                   RETRY_BUDGET_AWS_2026, RETRY_BUDGET_GRPC,
                                                   RETRY_BUDGET_BEST_EFFORT(1)};
    retry_budget_options options;
    uint8_t which = byte(), flags;
    if (which < 5) {
        options = presets[which];
        options.expire = 0;
        return options;
    }
    flags = byte();
    memset(&options, 0, sizeof options);
    options.capacity = hostile();
    options.retry_cost = hostile();
    options.timeout_cost = flags & 1 ? hostile() : 0;
    options.throttle_cost = flags & 2 ? hostile() : 0;
    options.success_deposit = flags & 4 ? hostile() : 0;
    options.request_deposit = flags & 8 ? hostile() : 0;
    options.refill_per_second = flags & 16 ? hostile() : 0;
    options.base_per_second = chance(3) ? hostile() : 0;
    options.floor = flags & 32 ? hostile() : 0;
    options.refund_last = (flags & 64) != 0;
    options.charge_failures = (flags & 128) != 0;
    return options;
}

static void set_up_client(uint8_t flags, const retry_budget_options *options)
{
    memset(&client, 0, sizeof client);
    retry_budget_init(&budget, options, now);
    model.millionths = (uint64_t)options->capacity * 1000;
    model.refilled = now;
    if (flags & 1)
        client.budget = &budget;
    if (flags & 2)
        client.observe = observe;
    client.random = draw;
    client.always_interval = flags & 4 ? hostile() : 0;
}

static void set_up_policy(uint8_t flags)
{
    static const retry_policy presets[] = {RETRY_POLICY_BEST_EFFORT, RETRY_POLICY_SMITHY,
                                           RETRY_POLICY_AWS, RETRY_POLICY_AWS_2026};
    policy = presets[flags & 3];
    if (flags & 4) {
        policy.backoff = hostile_backoff();
        policy.max_attempts = below(8);
    }
    if (flags & 8)
        policy.throttle_backoff = hostile_backoff();
    if (flags & 16) {
        policy.retry_after_max = hostile();
        policy.retry_after_slack = hostile();
        policy.retry_after_spread = hostile();
    }
}

static void set_up(void)
{
    retry_budget_options options;
    uint8_t which = byte();
    memset(&model, 0, sizeof model);
    memset(&request, 0, sizeof request);
    told = expected_told = 0;
    now = chance(2) ? (retry_time)word() : (retry_time)-1 - word();
    options = hostile_options();
    set_up_client(byte(), &options);
    set_up_policy(byte());
    request.client = &client;
    if (which % 4 == 0)
        request.strategy = &own;
    else if (which == 1)
        request.strategy = retry_fail_fast();
    else
        client.strategy = &policy.base;
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
