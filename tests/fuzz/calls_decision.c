/* Fuzz target for decisions: bytes become calls on one operation without gates or hedge, with
   hostile values and instants, and what comes back is what the manual says, by a model that knows
   nothing of the implementation: every step, verdict, cause, delay, counter and token. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <string.h>

#include "../support/reasons.h"
#include "bytes.h"
#include "replay.h"

#define NEVER UINT32_MAX
#define LONGEST 0x80000000u /* ms; what the clock can measure */

enum { NEW, READY, DELAYED, ASKED, TRYING, OVER };

static retry_budget budget;
static retry_client client;
static retry_policy policy;
static retry_operation operation;
static retry_time now;
static unsigned told, expected_told;
static bool told_of_a_failure;
static uint32_t drawn; /* by all that is drawn in a call */

/* The model: what the operation and the bucket are to be. */
static struct {
    int state;
    bool cancel; /* CANCEL is due */
    uint32_t retries, code, code_retries, paid;
    uint32_t since_order; /* retries since the server's last order; NEVER: there was none */
    retry_time started, code_since, decided, sent;
    retry_ms wait, timeout; /* from `decided`, and of the attempt from `sent` */
    retry_ms owes;          /* of the delay, ms that wait for tokens */
    retry_reason_set reasons;
    bool ambiguous, asked;
    uint8_t verdict, cause;
    retry_ms delay;
    retry_failure failure;
    uint64_t millionths; /* in the bucket */
    uint32_t refilled;
    uint32_t owed; /* thousandths of what comes in next */
} model;

/* ---- the bucket ---------------------------------------------------------------------------- */

static uint32_t balance(void)
{
    return (uint32_t)(model.millionths / 1000);
}

static void put(uint64_t thousandths)
{
    uint64_t capacity = (uint64_t)budget.options.capacity * 1000, part = model.millionths % 1000;
    model.millionths += thousandths * 1000;
    if (model.millionths >= capacity)
        model.millionths = capacity + (model.owed != 0 ? part : 0);
}

/* What `rate` brings in, up to `most`, when what is owed is paid. */
static void earn(uint64_t most, uint32_t rate, uint32_t passed)
{
    uint64_t more = (uint64_t)rate * passed + model.millionths % 1000;
    uint64_t owed = more / 1000 < model.owed ? more / 1000 : model.owed;
    model.owed -= (uint32_t)owed;
    more -= more / 1000 < UINT32_MAX ? owed * 1000 : 0; /* else it has saturated, and fills all */
    model.millionths -= model.millionths % 1000;
    if (model.millionths < most) /* a full one has no part of a thousandth, unless it owes */
        model.millionths = more > most - model.millionths ? most : model.millionths + more;
    if (model.millionths >= most && model.owed != 0)
        model.millionths += more % 1000;
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
    if (balance() < base_of(options) || model.owed != 0)
        earn((uint64_t)base_of(options) * 1000, options->base_per_second, passed);
    earn((uint64_t)options->capacity * 1000, options->refill_per_second, passed);
}

/* Whether one that holds so much does. */
static bool affords(uint32_t held, uint64_t cost)
{
    if (budget.options.capacity == 0 || held < cost)
        return false;
    return budget.options.floor == 0 || held - cost > budget.options.floor;
}

static uint32_t cost_of(const retry_failure *failure)
{
    uint32_t cost = failure->timeout    ? budget.options.timeout_cost
                    : failure->throttle ? budget.options.throttle_cost
                                        : 0;
    if (failure->retry_after != 0 && !failure->timeout && cost > budget.options.retry_cost)
        return budget.options.retry_cost; /* the server said when */
    return cost ? cost : budget.options.retry_cost;
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
    return operation.idempotent || allows(failure->reason) || failure_unsent(failure) ||
           failure->safety == RETRY_SAFETY_YES;
}

/* Why no strategy is asked. */
static uint8_t screened(const retry_failure *failure)
{
    if (failure->safety == RETRY_SAFETY_NO)
        return RETRY_CAUSE_UNSAFE;
    if (forbids(failure))
        return RETRY_CAUSE_PUSHBACK;
    if (failure->reason == RETRY_REASON_CLIENT_THROTTLED)
        return RETRY_CAUSE_THROTTLED;
    if (failure->reason == RETRY_REASON_UNKNOWN || !is_valid(failure->reason))
        return RETRY_CAUSE_UNKNOWN_REASON;
    if (is_always(failure->reason))
        return RETRY_CAUSE_ALWAYS;
    if (failure->reason == RETRY_REASON_NONE && failure->fault != RETRY_FAULT_SERVER &&
        failure->safety != RETRY_SAFETY_YES)
        return RETRY_CAUSE_NOT_RETRYABLE;
    return RETRY_CAUSE_NONE;
}

/* ---- the strategy -------------------------------------------------------------------------- */

static retry_ms saturate(uint64_t ms)
{
    return ms > UINT32_MAX ? UINT32_MAX : (retry_ms)ms;
}

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

static retry_ms left(void);

/* A wait with up to `most` more, half of the time behind it at most; a gate's own is exact. */
static retry_ms spread_wait(const retry_failure *failure, retry_ms wait, uint64_t most)
{
    uint64_t behind = left() > wait ? (left() - wait) / 2 : 0;
    if (failure->reason == RETRY_REASON_CIRCUIT_BREAKER_OPEN ||
        failure->reason == RETRY_REASON_CLIENT_THROTTLED)
        return wait;
    most = most < behind ? most : behind;
    return wait + (retry_ms)((most * drawn + drawn) >> 32);
}

/* What the server asks for, as far as the policy lets it, and spread; if it is more than the delay.
 */
static retry_ms raised(const retry_failure *failure, retry_ms delay)
{
    uint64_t most = (uint64_t)delay + policy.retry_after_slack;
    uint64_t asked = failure->retry_after, spread;
    if (policy.retry_after_max && asked > policy.retry_after_max)
        asked = policy.retry_after_max;
    if (policy.retry_after_slack && asked > most)
        asked = most;
    if (asked <= delay)
        return delay;
    spread = policy.retry_after_spread ? policy.retry_after_spread : 0x4000; /* a quarter */
    if (!client.strategy) /* best effort by default */
        return spread_wait(failure, (retry_ms)asked, asked / 4);
    return spread_wait(failure, (retry_ms)asked,
                       spread == 1 ? 0 : saturate((asked * spread + 0x8000) >> 16));
}

/* What an attempt needs, and what can be spared beside it. */
static retry_ms needed(void)
{
    const retry_ms eighth = operation.timeout / 8 > 0 ? operation.timeout / 8 : 1;
    const retry_ms half = client.attempt_timeout - client.attempt_timeout / 2;
    return half != 0 && half < eighth ? half : eighth;
}

static retry_ms spared(void)
{
    return left() > needed() ? left() - needed() : 0;
}

/* The last delay of a retry: in the last eighth of what can be spared. All that is left, if there
   is no such delay. */
static retry_ms latest(void)
{
    retry_ms spare = spared();
    if (spare < needed())
        return left();
    return spare - spare / 8 + (retry_ms)(((uint64_t)(spare / 8) * drawn + drawn) >> 32);
}

/* A delay that leaves less than an eighth of the timeout ends in the last eighth of what can be
   spared, if that is as much. Best effort by default has no such last retry. */
static retry_ms last(retry_ms delay)
{
    return !client.strategy || delay <= spared() || spared() < needed() ? delay : latest();
}

/* The built-in policy's. */
static retry_action policy_action(const retry_failure *failure)
{
    const retry_backoff *backoff = failure->throttle && policy.throttle_backoff.initial
                                       ? &policy.throttle_backoff
                                       : &policy.backoff;
    uint32_t position = model.since_order != NEVER ? model.since_order : model.retries;
    retry_ms previous = model.since_order != 0 ? model.delay : 0;
    if (!permitted(failure))
        return retry_action_none(RETRY_CAUSE_NOT_IDEMPOTENT);
    if (policy.max_attempts != 0 && (uint64_t)model.retries + 1 >= policy.max_attempts)
        return retry_action_none(RETRY_CAUSE_ATTEMPTS_EXHAUSTED);
    return retry_action_after(
        raised(failure, last(retry_backoff_delay(backoff, position, previous, drawn))));
}

/* What a strategy of one's own is to answer: decided before the call. */
static retry_action scripted;

static retry_action own_answer(const retry_strategy *self, const retry_operation *asked,
                               const retry_failure *failure, retry_time at)
{
    (void)self;
    REQUIRE(asked == &operation && failure == &operation.failure && at == now);
    model.asked = true;
    if (scripted.kind == 0x40)
        retry_stop(&operation, at); /* does nothing */
    return scripted;
}

static const retry_strategy own = {own_answer};

static void observe(void *context, const retry_operation *seen, const retry_failure *failure)
{
    char line[200];
    (void)context;
    REQUIRE(seen == &operation);
    told++;
    told_of_a_failure = failure != NULL;
    REQUIRE(retry_format(line, sizeof line, seen, failure) < sizeof line);
}

static uint32_t draw(void *context)
{
    (void)context;
    return drawn;
}

/* ---- the decision -------------------------------------------------------------------------- */

/* A step back of up to 32 s is no time. */
static retry_ms left_of(retry_time from, retry_ms span_ms)
{
    retry_ms passed = now - from;
    if (passed > UINT32_MAX - 32768)
        passed = 0;
    return passed < span_ms ? span_ms - passed : 0;
}

static retry_ms left(void)
{
    return operation.timeout == UINT32_MAX ? UINT32_MAX : left_of(model.started, operation.timeout);
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
        model.paid = 0;
    if (model.retries == 0 || model.code != failure->code) {
        model.code = failure->code;
        model.code_retries = 0;
        model.code_since = now;
    }
    model.failure = *failure;
    model.decided = now;
}

/* gRPC's way. */
static void charge(const retry_failure *failure)
{
    uint64_t cost = (uint64_t)cost_of(failure) * 1000;
    if (!client.budget || !budget.options.charge_failures || failure_unsent(failure) ||
        is_free(failure->reason))
        return;
    refill();
    model.millionths =
        balance() < cost_of(failure) ? model.millionths % 1000 : model.millionths - cost;
}

/* A retry that waits for what comes in, behind those that do already. */
static bool owes(const retry_failure *failure, uint32_t cost, retry_ms *delay)
{
    const retry_budget_options *options = &budget.options;
    retry_ms last_one = *delay > latest() ? *delay : latest();
    uint64_t wait;
    uint32_t sum;
    if (!failure->timeout && options->retry_cost != 0 && options->retry_cost < cost)
        cost = options->retry_cost;
    sum = saturate((uint64_t)model.owed + cost);
    if (options->base_per_second == 0 || failure->pushback || cost == 0 || last_one >= left() ||
        operation.timeout == UINT32_MAX)
        return false;
    wait = saturate((uint64_t)sum * 1000 / options->base_per_second);
    wait = wait > 0 ? wait : 1;
    if (wait > last_one || !affords(base_of(options), sum))
        return false;
    model.owed = sum;
    model.paid = cost;
    *delay = *delay + wait > left() / 2 ? last_one : (retry_ms)(*delay + wait);
    *delay = *delay < LONGEST ? *delay : LONGEST;
    return true;
}

static bool pays(const retry_failure *failure, retry_ms *delay)
{
    uint32_t cost = cost_of(failure);
    bool charges = budget.options.charge_failures;
    if (!client.budget || is_free(failure->reason))
        return true;
    if (!charges && failure_unsent(failure) &&
        (model.paid != 0 || !reason_refused(failure->reason)))
        return true;
    refill();
    if (charges)
        return balance() > budget.options.floor;
    if (!affords(balance(), cost))
        return owes(failure, cost, delay);
    model.millionths -= (uint64_t)cost * 1000;
    model.paid = cost;
    return true;
}

static void tell(uint8_t verdict, uint8_t cause, retry_ms delay, bool failed)
{
    model.verdict = verdict;
    model.cause = cause;
    model.delay = delay;
    expected_told += client.observe != NULL;
    REQUIRE(!client.observe || told_of_a_failure == failed);
}

static void end(uint8_t verdict, uint8_t cause, retry_ms delay, bool failed)
{
    uint32_t back = model.paid;
    model.state = OVER;
    model.paid = 0;
    if (verdict == RETRY_VERDICT_SUCCESS) {
        model.ambiguous = false;
        if (!budget.options.refund_last || model.retries == 0)
            back = budget.options.success_deposit;
    }
    if (client.budget) {
        refill();
        put(back);
    }
    tell(verdict, cause, delay, failed);
}

/* A retry after so many ms: the server's order, the deadline, the budget. */
static void grant(const retry_failure *failure, uint8_t cause, retry_ms delay)
{
    if (failure->pushback) {
        delay = failure->retry_after;
        model.since_order = 0;
    } else if (model.since_order < 254) {
        model.since_order++;
    }
    delay = delay < LONGEST ? delay : LONGEST;
    if (delay >= left()) {
        end(RETRY_VERDICT_EXPIRE, RETRY_CAUSE_DEADLINE, left(), true);
        return;
    }
    model.owes = delay;
    if (cause != RETRY_CAUSE_ALWAYS && !pays(failure, &delay)) {
        end(RETRY_VERDICT_FAIL, RETRY_CAUSE_BUDGET_EXHAUSTED, delay, true);
        return;
    }
    model.state = DELAYED;
    model.retries++;
    model.code_retries++;
    model.wait = delay;
    model.owes = delay - model.owes;
    tell(RETRY_VERDICT_RETRY, cause, delay, true);
}

/* What a strategy's answer comes to. */
static void follow(const retry_failure *failure, retry_action action)
{
    if (action.kind == RETRY_ACTION_PENDING)
        model.state = ASKED;
    else if (action.kind == RETRY_ACTION_AFTER)
        grant(failure, RETRY_CAUSE_STRATEGY, action.delay);
    else
        end(RETRY_VERDICT_FAIL, action.cause, 0, true);
}

static retry_action strategy_action(const retry_failure *failure)
{
    if (operation.strategy == retry_fail_fast())
        return retry_action_none(RETRY_CAUSE_REFUSED);
    return operation.strategy == &own ? scripted : policy_action(failure);
}

/* The attempt has failed, and the library has decided. */
static void decide(const retry_failure *failure)
{
    uint8_t cause = screened(failure);
    REQUIRE(model.asked == (cause == RETRY_CAUSE_NONE && operation.strategy == &own));
    record(failure);
    if (cause == RETRY_CAUSE_NONE || cause == RETRY_CAUSE_PUSHBACK)
        charge(failure);
    if (cause == RETRY_CAUSE_NONE)
        follow(failure, strategy_action(failure));
    else if (cause == RETRY_CAUSE_ALWAYS)
        grant(failure, cause,
              client.always_interval ? client.always_interval : controlled(model.retries));
    else
        end(RETRY_VERDICT_FAIL, cause, 0, true);
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

static void call_stop(void)
{
    retry_stop(&operation, now);
    if (model.state == NEW || model.state == OVER)
        return;
    if (model.state == TRYING)
        model.ambiguous = model.cancel = true;
    end(RETRY_VERDICT_FAIL, RETRY_CAUSE_CANCELLED, 0, false);
}

static void call_start(void)
{
    retry_ms timeout;
    call_stop();
    operation.timeout = chance(3) ? UINT32_MAX : chance(16) ? 0 : hostile();
    operation.idempotent = !chance(4);
    timeout = operation.timeout ? operation.timeout : 75000;
    timeout = timeout > UINT32_MAX - 0xffff ? UINT32_MAX : timeout;
    retry_start(&operation, NULL, now);
    REQUIRE(operation.timeout == timeout);
    model.state = READY;
    model.retries = model.code = model.code_retries = model.paid = 0;
    model.since_order = NEVER;
    model.started = model.code_since = now;
    model.reasons = 0;
    model.ambiguous = false;
    model.verdict = RETRY_VERDICT_FAIL;
    model.cause = RETRY_CAUSE_NONE;
    model.delay = 0;
    if (client.budget && budget.options.request_deposit != 0) {
        refill();
        put(budget.options.request_deposit);
    }
}

/* A WAIT is never for 0 ms. */
static void require_wait(retry_step step, retry_ms delay, uint8_t cause)
{
    REQUIRE(step.what == RETRY_DO_WAIT && step.delay == delay && step.cause == cause);
    REQUIRE(delay != 0 && step.verdict == 0 && step.timeout == 0);
}

static void require_end(retry_step step)
{
    REQUIRE(step.what == RETRY_DO_END && step.verdict == model.verdict);
    REQUIRE(step.cause == model.cause && step.delay == model.delay && step.timeout == 0);
}

/* An attempt begins, if there is time for it. */
static void begin(retry_step step)
{
    if (left() == 0) {
        end(RETRY_VERDICT_EXPIRE, RETRY_CAUSE_DEADLINE, 0, model.state == ASKED);
        require_end(step);
        return;
    }
    model.state = TRYING;
    model.sent = now;
    model.timeout = left();
    if (client.attempt_timeout != 0 && client.attempt_timeout < model.timeout)
        model.timeout = client.attempt_timeout;
    REQUIRE(step.what == RETRY_DO_SEND && step.timeout == model.timeout);
    REQUIRE(step.delay == 0 && step.cause == 0 && step.verdict == 0);
}

/* An attempt is on the wire. */
static void watch(retry_step step)
{
    static retry_failure timed_out; /* zeroed */
    retry_ms rest = UINT32_MAX;
    if (model.timeout != UINT32_MAX)
        rest = left_of(model.sent, model.timeout);
    if (rest != 0) {
        require_wait(step, rest, RETRY_CAUSE_NONE);
        return;
    }
    timed_out.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
    timed_out.timeout = true;
    decide(&timed_out);
    REQUIRE(step.what == RETRY_DO_CANCEL);
}

/* While it waits for tokens it looks each second. When they are there, only its own delay is left.
 */
static retry_ms look_for_tokens(retry_ms rest)
{
    const uint32_t price = cost_of(&model.failure);
    refill();
    if (!affords(balance(), price))
        return rest < 1000 ? rest : 1000;
    model.millionths -= (uint64_t)price * 1000;
    model.paid = price;
    model.delay -= model.owes;
    model.wait = model.wait < model.delay ? model.wait : model.delay;
    model.owes = 0;
    return 1;
}

static void call_next(void)
{
    retry_step step;
    scripted = hostile_action();
    model.asked = false;
    step = retry_next(&operation, now);
    REQUIRE(step.copy == 0 && step.node == 0);
    if (model.cancel) {
        model.cancel = false;
        REQUIRE(step.what == RETRY_DO_CANCEL);
    } else if (model.state == NEW) {
        REQUIRE(step.what == RETRY_DO_END && step.verdict == RETRY_VERDICT_FAIL);
        REQUIRE(step.cause == RETRY_CAUSE_MISUSE);
    } else if (model.state == OVER) {
        require_end(step);
    } else if (model.state == TRYING) {
        watch(step);
    } else if (model.state == ASKED && left() != 0) {
        require_wait(step, left(), RETRY_CAUSE_PENDING);
    } else if (model.state == DELAYED && left_of(model.decided, model.wait) != 0) {
        retry_ms rest = left_of(model.decided, model.wait);
        require_wait(step, rest > model.delay - model.owes ? look_for_tokens(rest) : rest,
                     model.cause);
    } else {
        begin(step);
    }
}

/* Copy 0 is the only one: that another has ended means nothing. */
static void call_ended(void)
{
    const unsigned copy = chance(8) ? 1 + byte() : 0;
    const bool done = chance(4);
    const retry_failure failure = hostile_failure();
    scripted = hostile_action();
    model.asked = false;
    retry_ended(&operation, copy, done ? NULL : &failure, now);
    if (copy != 0)
        return;
    model.cancel = false;
    if (model.state != TRYING)
        return;
    if (done)
        end(RETRY_VERDICT_SUCCESS, RETRY_CAUSE_NONE, 0, false);
    else
        decide(&failure);
}

static void call_answer(void)
{
    const retry_action action = hostile_action();
    retry_answer(&operation, action, now);
    if (model.state != ASKED || action.kind == RETRY_ACTION_PENDING)
        return;
    model.decided = now;
    follow(&model.failure, action);
}

/* What the server asked for stays. */
static void call_skip_wait(void)
{
    retry_skip_wait(&operation, now);
    if (model.state == DELAYED && model.wait > model.failure.retry_after)
        model.wait = model.failure.retry_after;
}

static void call_left(void)
{
    bool under_way = model.state != NEW && model.state != OVER;
    REQUIRE(retry_left(&operation, now) == (under_way ? left() : 0));
}

static void call_withdraw(void)
{
    uint32_t cost = hostile();
    bool paid;
    refill();
    paid = affords(balance(), cost);
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

/* To when a delay is over, or anywhere. */
static void pass_time(void)
{
    static const retry_time far = (retry_time)-1;
    uint8_t how = byte();
    if (how < 0x80 && model.state == DELAYED)
        now += left_of(model.decided, model.wait);
    else if (how < 0xe0)
        now += hostile();
    else if (how < 0xfa)
        now -= hostile();
    else
        now += far / 4 * below(4);
}

/* The next attempt, when its delay is over, and its end. */
static void attempt(void)
{
    if (model.state == NEW || model.state == OVER)
        call_start();
    if (model.state == DELAYED)
        now += left_of(model.decided, model.wait);
    call_next();
    call_ended();
}

static void call(uint8_t which)
{
    static void (*const calls[16])(void) = {
        call_start, call_stop,      call_next,   call_next, call_next,     call_ended,
        call_ended, call_answer,    call_answer, call_left, call_withdraw, call_deposit,
        pass_time,  call_skip_wait, attempt,     attempt};
    drawn = hostile();
    if (which >= 0x80)
        attempt();
    else
        calls[which % 16]();
}

static void check(void)
{
    REQUIRE(told == expected_told);
    REQUIRE(retry_budget_balance(&budget) == balance());
    REQUIRE(balance() <= budget.options.capacity);
    if (model.state == NEW)
        return;
    REQUIRE(operation.verdict == model.verdict && operation.cause == model.cause);
    REQUIRE(operation.delay == model.delay);
    REQUIRE(operation.retries == model.retries);
    REQUIRE(operation.code == model.code && operation.code_retries == model.code_retries);
    REQUIRE(operation.code_since == model.code_since && operation.started == model.started);
    REQUIRE(operation.reasons == model.reasons);
    REQUIRE(operation.ambiguous == model.ambiguous);
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
    client.attempt_timeout = flags & 8 ? hostile() : 0;
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
    static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
    retry_budget_options options;
    uint8_t which = byte();
    memset(&model, 0, sizeof model);
    memset(&operation, 0, sizeof operation);
    told = expected_told = 0;
    now = chance(2) ? (retry_time)word() : (retry_time)-1 - word();
    options = hostile_options();
    set_up_client(byte(), &options);
    set_up_policy(byte());
    operation.client = &client;
    if (which % 4 == 0)
        operation.strategy = &own;
    else if (which == 1)
        operation.strategy = retry_fail_fast();
    else if (which != 2)
        client.strategy = &policy.base;
    else
        policy = best_effort; /* by default */
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
