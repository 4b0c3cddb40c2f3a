/* A random walk over all of the library with hostile values, beside a simple model: tokens are
   conserved, what is finished stays as it is, and no answer is out of its range. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"
#include "../support/reasons.h"

#include <limits.h>

#define STEPS (UINT32_C(150000) / CHECK_ONE_IN)
#define BUDGETS 3u
#define CLIENTS 4u
#define REQUESTS 6u

/* ---- hostile values ------------------------------------------------------------------------ */

static uint32_t below(uint32_t limit)
{
    return (uint32_t)(((uint64_t)check_random() * limit) >> 32);
}

static bool chance(uint32_t one_in)
{
    return below(one_in) == 0;
}

/* Small, large, or at an edge. */
static uint32_t hostile(void)
{
    static const uint32_t edges[] = {0,       1,          2,           65535,       65536,
                                     65537,   0x7fffffff, 0x80000000u, 0x80000001u, UINT32_MAX - 1,
                                     1000000, UINT32_MAX};
    if (chance(3))
        return edges[below(CHECK_COUNT(edges))];
    return check_random() >> below(32);
}

static uint8_t hostile_byte(uint8_t usual)
{
    return (uint8_t)(chance(8) ? check_random() >> 24 : below(usual + 1u));
}

static const retry_ms table[] = {0, 5, UINT32_MAX, 1};

static retry_ms custom(const retry_backoff *self, uint32_t attempt)
{
    return (self->initial ^ attempt) & UINT32_MAX;
}

static retry_backoff hostile_backoff(void)
{
    retry_backoff backoff;
    backoff.curve = hostile_byte(RETRY_CURVE_CUSTOM);
    backoff.jitter = hostile_byte(RETRY_JITTER_DECORRELATED);
    backoff.min = chance(2) ? 0 : hostile();
    backoff.initial = hostile();
    backoff.max = chance(2) ? 0 : hostile();
    backoff.factor = hostile();
    backoff.spread = hostile();
    backoff.table = chance(4) ? NULL : table;
    backoff.table_length = backoff.table ? below(CHECK_COUNT(table) + 1) : 0;
    backoff.custom = chance(4) ? NULL : custom;
    return backoff;
}

static retry_failure hostile_failure(void)
{
    retry_failure failure;
    failure.reason = chance(10)  ? (retry_reason)(hostile() & UINT8_MAX)
                     : chance(4) ? RETRY_REASON_USER(below(16), hostile() & UINT8_MAX)
                                 : (retry_reason)below(RETRY_REASON_COUNT);
    failure.safety = chance(4) ? hostile_byte(RETRY_SAFETY_NO) : (uint8_t)RETRY_SAFETY_MAYBE;
    failure.fault = hostile_byte(RETRY_FAULT_SERVER);
    failure.throttle = chance(3);
    failure.timeout = chance(3);
    failure.unknown = chance(3);
    failure.pushback = chance(4);
    failure.unsent = chance(4);
    failure.retry_after = chance(2) ? 0 : hostile();
    failure.code = below(4) * (UINT32_MAX / 3);
    return failure;
}

static retry_action hostile_action(void)
{
    retry_action action;
    action.kind = hostile_byte(RETRY_ACTION_PENDING);
    action.cause = hostile_byte(RETRY_CAUSE_COUNT);
    action.delay = hostile();
    return action;
}

static retry_time hostile_time(retry_time now)
{
    if (chance(300))
        return check_after(now, (retry_time)-1 / 4 * below(4));
    if (chance(10))
        return check_after(now, (retry_time)-1 - below(2000));
    return check_after(now, below(chance(10) ? 20000 : 20));
}

/* ---- the world and its model --------------------------------------------------------------- */

enum { NOT_OPEN, OPEN, WAITING };

struct model {
    int state;
    uint32_t attempts;
    uint32_t charge;       /* paid for the retry under way */
    retry_failure failure; /* WAITING: that is being decided */
};

static retry_budget budgets[BUDGETS];
static uint64_t levels[BUDGETS];    /* what the model says is in them */
static uint64_t owed[BUDGETS];      /* and is paid of what comes in next */
static uint64_t fractions[BUDGETS]; /* millionths */
static retry_time refilled;
static retry_client clients[CLIENTS];
static retry_policy policies[CLIENTS];
static retry_operation requests[REQUESTS];
static struct model models[REQUESTS];
static retry_time now;
static unsigned told, expected_told;

static retry_action strange_after(const retry_strategy *self, const retry_operation *op,
                                  const retry_failure *failure, retry_time at)
{
    return chance(3) ? retry_policy_after(self, op, failure, at) : hostile_action();
}

static void tell(void *context, const retry_operation *op, const retry_failure *failure)
{
    char line[64];
    (void)context;
    told++;
    CHECK(retry_format(line, (size_t)below(sizeof line + 1), op, failure) > 0);
}

static void set_up_policy(unsigned i)
{
    policies[i].base.retry_after = i % 2 ? strange_after : retry_policy_after;
    policies[i].backoff = hostile_backoff();
    policies[i].throttle_backoff = hostile_backoff();
    policies[i].max_attempts = chance(2) ? 0 : hostile();
    policies[i].retry_after_max = hostile();
    policies[i].retry_after_slack = hostile();
    policies[i].retry_after_spread = hostile();
}

/* One has a base of 3 tokens: all that time brings. */
static void set_up(void)
{
    static const struct {
        uint32_t timeout_cost, throttle_cost, success, op, floor;
        bool refund, charge;
        uint32_t base;
    } rows[BUDGETS] = {
        {2500, 700, 300, 100, 0, false, false, 0},
        {1500, 3000, 20, 5, 1000, true, false, 20},
        {2500, 700, 900, 100, 8000, false, true, 0},
    };
    unsigned i;
    for (i = 0; i < BUDGETS; i++) {
        retry_budget_options options = options_of(20000, 1000);
        options.timeout_cost = rows[i].timeout_cost;
        options.throttle_cost = rows[i].throttle_cost;
        options.success_deposit = rows[i].success;
        options.request_deposit = rows[i].op;
        options.floor = rows[i].floor;
        options.refund_last = rows[i].refund;
        options.charge_failures = rows[i].charge;
        options.base_per_second = rows[i].base;
        retry_budget_init(&budgets[i], &options, now);
        levels[i] = options.capacity;
        fractions[i] = owed[i] = 0;
    }
    refilled = now;
    memset(clients, 0, sizeof clients);
    memset(requests, 0, sizeof requests);
    memset(models, 0, sizeof models);
    for (i = 0; i < CLIENTS; i++) {
        set_up_policy(i);
        clients[i].strategy = &policies[i].base;
        clients[i].budget = i < BUDGETS ? &budgets[i] : NULL;
        clients[i].observe = tell;
        clients[i].always_interval = i == 1 ? 70 : 0;
    }
    for (i = 0; i < REQUESTS; i++)
        requests[i].client = i < CLIENTS ? &clients[i] : default_client();
}

/* Time brings tokens up to the base, if it passes: a clock that is set back brings none. All
   budgets are told the time. */
static void pass(void)
{
    retry_ms passed = check_before(now, refilled);
    unsigned i;
    for (i = 0; i < BUDGETS; i++) {
        (void)retry_budget_withdraw(&budgets[i], 0, now);
        if (passed <= UINT32_C(1) << 31 && (levels[i] < 3000 || owed[i] != 0)) {
            uint64_t more = fractions[i] + (uint64_t)budgets[i].options.base_per_second * passed;
            uint64_t paid = more / 1000 < owed[i] ? more / 1000 : owed[i];
            owed[i] -= paid;
            if (levels[i] < 3000) {
                levels[i] += more / 1000 - paid;
                levels[i] = levels[i] < 3000 ? levels[i] : 3000;
            }
            fractions[i] = levels[i] < 3000 || owed[i] != 0 ? more % 1000 : 0;
        }
    }
    if (passed <= UINT32_MAX - 32768)
        refilled = now;
}

static void add(unsigned i, uint64_t amount)
{
    levels[i] += amount;
    if (levels[i] >= budgets[i].options.capacity) {
        levels[i] = budgets[i].options.capacity;
        fractions[i] = owed[i] != 0 ? fractions[i] : 0;
    }
}

static uint32_t cost_of(unsigned i, const retry_failure *failure)
{
    const retry_budget_options *options = &budgets[i].options;
    uint32_t cost = failure->timeout    ? options->timeout_cost
                    : failure->throttle ? options->throttle_cost
                                        : 0;
    if (failure->retry_after != 0 && !failure->timeout && cost > options->retry_cost)
        return options->retry_cost; /* the server said when */
    return cost ? cost : options->retry_cost;
}

/* What a retry costs: tokens that are there, or that come in to the base of 3. Returns the price.
 */
static uint32_t charge(unsigned i, const retry_failure *failure)
{
    const retry_budget_options *options = &budgets[i].options;
    uint32_t cost = cost_of(i, failure);
    if (levels[i] >= cost && (options->floor == 0 || levels[i] - cost > options->floor)) {
        levels[i] -= cost;
        return cost;
    }
    if (!failure->timeout && options->retry_cost < cost)
        cost = options->retry_cost;
    owed[i] += cost;
    CHECK(options->base_per_second != 0);
    CHECK_RANGE(0, 3000 - options->floor - 1, owed[i]);
    return cost;
}

/* The request i has the client and the budget i, if there is one. */
static void model_cancel(unsigned i)
{
    if (i < BUDGETS)
        add(i, models[i].charge);
    models[i].state = NOT_OPEN;
    models[i].charge = 0;
    expected_told += i < CLIENTS;
}

static void model_begin(unsigned i)
{
    if (models[i].state != NOT_OPEN)
        model_cancel(i);
    if (i < BUDGETS)
        add(i, budgets[i].options.request_deposit);
    models[i].state = OPEN;
    models[i].attempts = models[i].charge = 0;
}

static void model_succeed(unsigned i)
{
    const retry_budget_options *options = &budgets[i % BUDGETS].options;
    if (i < BUDGETS)
        add(i, options->refund_last && models[i].attempts > 0 ? models[i].charge
                                                              : options->success_deposit);
    models[i].state = NOT_OPEN;
    models[i].charge = 0;
    expected_told += i < CLIENTS;
}

/* A strategy was asked, or the server forbade. */
static bool is_charged(const retry_failure *failure, const decided *decision)
{
    if (failure->pushback && failure->retry_after == UINT32_MAX)
        return failure->safety != RETRY_SAFETY_NO;
    return decision->cause != RETRY_CAUSE_ALWAYS && !retry_reason_always(failure->reason) &&
           failure->safety != RETRY_SAFETY_NO && failure->reason != RETRY_REASON_UNKNOWN &&
           strcmp(retry_reason_name(failure->reason), "INVALID") != 0 &&
           (failure->reason != RETRY_REASON_NONE || failure->fault == RETRY_FAULT_SERVER ||
            failure->safety == RETRY_SAFETY_YES);
}

/* Contention, and what never reached the server. */
static bool is_free(const retry_failure *failure)
{
    return failure->reason >= 0xc0 || (failure_unsent(failure) && !reason_refused(failure->reason));
}

/* A charge stays with its request until an attempt was sent that it pays for. */
static void model_pay(unsigned i, const retry_failure *failure, const decided *decision)
{
    struct model *model = &models[i];
    bool open = decision->verdict == RETRY_VERDICT_RETRY;
    if (!failure_unsent(failure))
        model->charge = 0;
    if (open && decision->cause == RETRY_CAUSE_STRATEGY && model->charge == 0 &&
        !is_free(failure)) {
        model->charge = charge(i, failure);
    }
    if (!open && decision->verdict != DECIDE_LATER) {
        add(i, model->charge);
        model->charge = 0;
    }
}

/* Follows a decision on request i; `fresh`: of a new failure, not of an answer to an old one. */
static void model_decide(unsigned i, const retry_failure *failure, const decided *decision,
                         bool fresh)
{
    struct model *model = &models[i];
    bool granted = decision->verdict == RETRY_VERDICT_RETRY;
    if (i < BUDGETS && !budgets[i].options.charge_failures)
        model_pay(i, failure, decision);
    else if (i < BUDGETS && fresh && is_charged(failure, decision) && !failure_unsent(failure) &&
             !is_free(failure))
        levels[i] -= levels[i] < cost_of(i, failure) ? levels[i] : cost_of(i, failure);
    if (granted && model->attempts < UINT32_MAX)
        model->attempts++;
    model->state = granted ? OPEN : decision->verdict == DECIDE_LATER ? WAITING : NOT_OPEN;
    model->failure = *failure;
    expected_told += i < CLIENTS && decision->verdict != DECIDE_LATER;
}

/* ---- moves --------------------------------------------------------------------------------- */

/* Of what may be read. */
static bool same(const retry_operation *a, const retry_operation *b)
{
    return a->verdict == b->verdict && a->cause == b->cause && a->delay == b->delay &&
           a->retries == b->retries && a->reasons == b->reasons && a->ambiguous == b->ambiguous &&
           a->code == b->code && a->code_since == b->code_since && a->started == b->started;
}

static void check_bounds(const retry_operation *op, const retry_failure *failure,
                         const decided *decision)
{
    CHECK(decision->verdict != RETRY_VERDICT_SUCCESS);
    if (decision->verdict == RETRY_VERDICT_EXPIRE) {
        CHECK_EQUAL(RETRY_CAUSE_DEADLINE, decision->cause);
        CHECK_RANGE(0, op->timeout, decision->delay);
    }
    if (decision->verdict == RETRY_VERDICT_RETRY) {
        CHECK(op->timeout == UINT32_MAX || decision->delay < op->timeout);
        CHECK_EQUAL(decision->delay, op->delay);
        CHECK(decision->delay <= UINT32_C(1) << 31);
        CHECK(!failure->pushback || decision->delay == failure->retry_after ||
              decision->delay == UINT32_C(1) << 31);
    }
}

/* A call in a state that does not take it: it says so, and changes nothing. */
static void check_decision_of(unsigned i, const retry_failure *failure,
                              const retry_operation *before, decided decision, bool fresh)
{
    if (models[i].state != (fresh ? OPEN : WAITING)) {
        CHECK(same(before, &requests[i]));
        return;
    }
    check_bounds(&requests[i], failure, &decision);
    model_decide(i, failure, &decision, fresh);
}

static void move_begin(unsigned i)
{
    if (models[i].state == NOT_OPEN || chance(20)) {
        requests[i].timeout = chance(2) ? UINT32_MAX : chance(2) ? hostile() : 100000;
        requests[i].idempotent = !chance(3);
        retry_start(&requests[i], NULL, now);
        model_begin(i);
    }
}

static void move_decide(unsigned i)
{
    retry_failure failure = hostile_failure();
    retry_operation before;
    decided decision;
    memcpy(&before, &requests[i], sizeof before);
    if (models[i].state == OPEN && chance(200)) {
        requests[i].retries = models[i].attempts = UINT32_MAX - below(2);
        requests[i].code_retries = requests[i].retries - below(2); /* never more */
    }
    decision = decide(&requests[i], &failure, now);
    check_decision_of(i, &failure, &before, decision, true);
}

/* A request that waits for its answer, if there is one; else i. */
static unsigned waiting(unsigned i)
{
    unsigned j;
    for (j = 0; j < REQUESTS; j++)
        if (models[j].state == WAITING)
            return j;
    return i;
}

static void move_answer(unsigned any)
{
    unsigned i = waiting(any);
    retry_failure failure = models[i].state == WAITING ? models[i].failure : hostile_failure();
    retry_operation before;
    memcpy(&before, &requests[i], sizeof before);
    check_decision_of(i, &failure, &before, decide_later(&requests[i], hostile_action(), now),
                      false);
}

static void move_finish(unsigned i)
{
    retry_operation before;
    bool open = models[i].state != NOT_OPEN;
    memcpy(&before, &requests[i], sizeof before);
    if (models[i].state != WAITING && chance(2)) { /* what waits has no attempt */
        decided end = decide(&requests[i], NULL, now);
        if (open) {
            CHECK_DECISION(SUCCESS, NONE, end);
            model_succeed(i);
        }
    } else {
        retry_stop(&requests[i], now);
        if (open)
            model_cancel(i);
    }
    CHECK(open || same(&before, &requests[i]));
}

static void move_null(unsigned i)
{
    retry_failure failure = hostile_failure();
    retry_operation before;
    memcpy(&before, &requests[i], sizeof before);
    retry_start(NULL, NULL, now);
    CHECK_EQUAL(RETRY_CAUSE_MISUSE, retry_next(NULL, now).cause);
    retry_ended(NULL, 0, &failure, now);
    retry_answer(NULL, hostile_action(), now);
    retry_stop(NULL, now);
    CHECK_EQUAL(0, retry_left(NULL, now));
    CHECK(same(&before, &requests[i]));
}

/* Forgotten, not cancelled: its charge is gone. */
static void move_forget(unsigned i)
{
    const retry_client *client = requests[i].client;
    if (!chance(20))
        return;
    memset(&requests[i], 0, sizeof requests[i]);
    memset(&models[i], 0, sizeof models[i]);
    requests[i].client = client;
}

static void move_budget(unsigned i)
{
    unsigned b = i % BUDGETS;
    uint32_t amount = chance(30) ? hostile() : below(3000);
    if (chance(4)) {
        retry_budget_deposit(&budgets[b], amount);
        add(b, amount);
    } else if (retry_budget_withdraw(&budgets[b], amount, now)) {
        CHECK_RANGE(amount, UINT32_MAX, levels[b]);
        levels[b] -= levels[b] > amount ? amount : levels[b];
    }
}

static void move_policy(unsigned i)
{
    if (chance(4))
        set_up_policy(i % CLIENTS);
}

static void move_backoff(unsigned i)
{
    retry_backoff backoff = hostile_backoff();
    retry_ms base = retry_backoff_base(&backoff, hostile());
    retry_ms delay = retry_backoff_delay(&backoff, hostile(), hostile(), hostile());
    retry_ms period = hostile();
    CHECK(backoff.max == 0 || base <= backoff.max);
    CHECK(delay >= backoff.min);
    CHECK(backoff.max == 0 || delay <= backoff.max || delay == backoff.min ||
          backoff.jitter == RETRY_JITTER_SPREAD);
    CHECK(retry_phase(&i, sizeof i, period) < period || period == 0);
}

static void move_connection(unsigned i)
{
    static retry_connection connections[REQUESTS]; /* zeroed */
    retry_connection *connection = &connections[i];
    if (chance(30)) {
        memset(connection, 0, sizeof *connection);
        connection->backoff = hostile_backoff();
        connection->min_connect_timeout = hostile();
        connection->stable_after = hostile();
    }
    if (chance(3))
        retry_connection_established(connection, now);
    else if (chance(2))
        retry_connection_failed(connection, NULL, now);
    else
        CHECK(retry_connection_begin(connection, now) >= connection->min_connect_timeout);
}

static void fill_text(char *text, size_t length)
{
    static const char letters[] = "0123456789 ,:-GMTFriDec{}\"reason:missing";
    size_t i;
    for (i = 0; i < length; i++)
        text[i] = letters[below(sizeof letters - 1)];
}

static void move_classify(unsigned i)
{
    char text[40];
    size_t length = (size_t)below(sizeof text + 1);
    retry_ms delay = 12345;
    int status = (int)(hostile() & (uint32_t)INT_MAX);
    (void)i;
    fill_text(text, length);
    CHECK_EQUAL(status, retry_classify_http(status, hostile()).code);
    CHECK_EQUAL(0, retry_classify_stage((uint8_t)hostile(), (retry_reason)hostile()).code);
    CHECK(!retry_idempotent_http(text, length)); /* no method of these letters */
    if (!retry_parse_retry_after(text, length, (int64_t)hostile() << below(32), &delay))
        CHECK_EQUAL(12345, delay);
}

static void (*const moves[])(unsigned) = {
    move_begin,  move_begin,  move_decide,  move_decide,     move_decide,
    move_decide, move_answer, move_finish,  move_null,       move_forget,
    move_budget, move_policy, move_backoff, move_connection, move_classify,
};

static void check_world(uint32_t step, unsigned move)
{
    unsigned i;
    check_row("step %lu, move %u", (unsigned long)step, move);
    for (i = 0; i < BUDGETS; i++) {
        CHECK_EQUAL(levels[i], retry_budget_balance(&budgets[i]));
        CHECK_RANGE(0, budgets[i].options.capacity, retry_budget_balance(&budgets[i]));
    }
    for (i = 0; i < REQUESTS; i++)
        CHECK(models[i].state == NOT_OPEN || models[i].attempts == requests[i].retries);
    CHECK_EQUAL(expected_told, told);
}

static void test_random_walk(void)
{
    uint32_t step;
    now = (retry_time)-100000;
    retry_seed(check_random());
    set_up();
    for (step = 0; step < STEPS && check_faults == 0; step++) {
        unsigned move = (unsigned)below(CHECK_COUNT(moves));
        now = hostile_time(now);
        check_row("step %lu, move %u", (unsigned long)step, move);
        pass();
        moves[move]((unsigned)below(REQUESTS));
        check_world(step, move);
    }
}

int main(void)
{
    RUN(test_random_walk);
    return check_done();
}
