/* An operation without gates and without further copies: what retry_next says after each thing that
   may happen, in any order, and what the operation, the budget and the observer see of it. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"

#include <limits.h>

#define START ((retry_time)-50) /* most tests run over the wrap */
#define LEFT 1000               /* ms; the operation's timeout */

static retry_operation op;
static retry_client client;
static retry_budget budget;
static retry_time start = START;

/* ---- what is expected ---------------------------------------------------------------------- */

static void check_step(retry_step want, retry_step got, const char *file, int line)
{
    bool same = want.what == got.what && want.copy == got.copy && want.verdict == got.verdict &&
                want.cause == got.cause && want.node == got.node && want.delay == got.delay &&
                want.timeout == got.timeout;
    static const char *const names[] = {"SEND", "CANCEL", "WAIT", "END"};
    if (!same && check_fault(file, line))
        printf("expected %s %u, %s, %s, delay %lu, timeout %lu; got %s %u, %s, %s, delay %lu, "
               "timeout %lu, node %u\n",
               names[want.what], want.copy, retry_verdict_name(want.verdict),
               retry_cause_text(want.cause), (unsigned long)want.delay, (unsigned long)want.timeout,
               got.what < 4 ? names[got.what] : "?", got.copy, retry_verdict_name(got.verdict),
               retry_cause_text(got.cause), (unsigned long)got.delay, (unsigned long)got.timeout,
               got.node);
}

#define CHECK_STEP(want, got) check_step((want), (got), __FILE__, __LINE__)
#define WAIT(cause, delay) step_of(RETRY_DO_WAIT, 0, RETRY_CAUSE_##cause, delay, 0)
#define END(verdict, cause, delay) \
    step_of(RETRY_DO_END, RETRY_VERDICT_##verdict, RETRY_CAUSE_##cause, delay, 0)
#define SEND(timeout) step_of(RETRY_DO_SEND, 0, 0, 0, timeout)
#define CANCEL step_of(RETRY_DO_CANCEL, 0, 0, 0, 0)

static retry_step step_of(unsigned what, unsigned verdict, unsigned cause, retry_ms delay,
                          retry_ms timeout)
{
    retry_step step;
    memset(&step, 0, sizeof step);
    step.what = (uint8_t)what;
    step.verdict = (uint8_t)verdict;
    step.cause = (uint8_t)cause;
    step.delay = delay;
    step.timeout = timeout;
    return step;
}

/* ---- one operation ------------------------------------------------------------------------- */

static retry_action answer; /* what the strategy says */
static bool observer_stops;
static unsigned asked;

static retry_action answering_after(const retry_strategy *self, const retry_operation *of,
                                    const retry_failure *failure, retry_time now)
{
    (void)self;
    (void)of;
    (void)now;
    CHECK(failure == &op.failure || failure->reason == op.failure.reason);
    asked++;
    return answer;
}

static const retry_strategy answering = {answering_after};

static unsigned told;
static decided told_decision;
static bool told_failure;
static retry_time clock_now; /* the observer's */

static void tell(void *context, const retry_operation *of, const retry_failure *failure)
{
    (void)context;
    CHECK(of == &op);
    told++;
    told_decision = decided_of(of);
    told_failure = failure != NULL;
    if (observer_stops)
        retry_stop(&op, clock_now);
}

static retry_time at(retry_time elapsed)
{
    return clock_now = check_after(start, elapsed);
}

static retry_step next(retry_time elapsed)
{
    return retry_next(&op, at(elapsed));
}

static void failed(retry_reason reason, retry_time elapsed)
{
    retry_failure failure = check_failure_of(reason);
    retry_ended(&op, 0, &failure, at(elapsed));
}

#define FAILED(reason, elapsed) failed(RETRY_REASON_##reason, elapsed)

static void worked(retry_time elapsed)
{
    retry_ended(&op, 0, NULL, at(elapsed));
}

/* Ten tokens, a retry for one; the strategy says 20 ms. Not started. */
static void set_up(void)
{
    const retry_budget_options options = options_of(10000, 1000);
    memset(&op, 0, sizeof op);
    memset(&client, 0, sizeof client);
    retry_budget_init(&budget, &options, start);
    client.strategy = &answering;
    client.budget = &budget;
    client.observe = tell;
    op.client = &client;
    op.timeout = LEFT;
    op.idempotent = true;
    answer = retry_action_after(20);
    observer_stops = false;
    asked = told = 0;
    told_failure = false;
}

static void begin(void)
{
    set_up();
    retry_start(&op, NULL, at(0));
}

/* Copy 0 is on the wire. */
static void send(void)
{
    begin();
    CHECK_STEP(SEND(LEFT), next(0));
}

/* A retry was granted at 10 ms, which comes at 30 ms. */
static void fail_once(void)
{
    send();
    FAILED(KV_LOCKED, 10);
    CHECK_STEP(WAIT(STRATEGY, 20), next(10));
}

/* The retry's copy is on the wire. */
static void send_again(void)
{
    fail_once();
    CHECK_STEP(SEND(LEFT - 30), next(30));
}

/* The strategy answers later. */
static void wait_for_answer(void)
{
    send();
    answer = retry_action_pending();
    FAILED(KV_LOCKED, 10);
    CHECK_STEP(WAIT(PENDING, LEFT - 10), next(10));
}

static bool is_zero(const retry_failure *failure)
{
    return failure->reason == 0 && failure->safety == 0 && failure->fault == 0 &&
           !failure->throttle && !failure->timeout && !failure->unknown && !failure->pushback &&
           !failure->unsent && failure->retry_after == 0 && failure->code == 0;
}

/* Of what may be read. */
static bool same(const retry_operation *a, const retry_operation *b)
{
    return a->client == b->client && a->timeout == b->timeout && a->ambiguous == b->ambiguous &&
           a->verdict == b->verdict && a->cause == b->cause && a->delay == b->delay &&
           a->reasons == b->reasons && a->retries == b->retries && a->started == b->started &&
           a->code == b->code && a->code_retries == b->code_retries &&
           a->code_since == b->code_since &&
           memcmp(&a->failure, &b->failure, sizeof a->failure) == 0;
}

/* Nothing is due, and it is over: the same again, however often, whenever, whatever is called. */
static void check_over(retry_step end, const char *file, int line)
{
    retry_operation before;
    unsigned heard = told;
    uint32_t held = retry_budget_balance(&budget);
    check_step(end, next(40), file, line);
    memcpy(&before, &op, sizeof before);
    check_step(end, next(40), file, line);
    check_step(end, next(LEFT + 7), file, line);
    worked(41);
    check_step(end, next(0x80000000), file, line);
    FAILED(KV_LOCKED, 42);
    retry_stop(&op, at(43));
    retry_answer(&op, retry_action_after(1), at(44));
    retry_skip_wait(&op, at(45));
    check_step(end, next(45), file, line);
    check_true(same(&before, &op), "what may be read stays", file, line);
    check_equal(heard, told, "told", file, line);
    check_equal(held, retry_budget_balance(&budget), "balance", file, line);
}

#define CHECK_OVER(end) check_over((end), __FILE__, __LINE__)

/* The observer heard of so many things, last of this. */
#define CHECK_TOLD(count, verdict, cause, wait)        \
    do {                                               \
        CHECK_EQUAL(count, told);                      \
        CHECK_DECISION(verdict, cause, told_decision); \
        CHECK_EQUAL(wait, told_decision.delay);        \
    } while (0)

/* ---- sizes --------------------------------------------------------------------------------- */

static void test_sizes(void)
{
    bool wide = sizeof(void *) > 4;
    CHECK_EQUAL(16, sizeof(retry_failure));
    CHECK_EQUAL(sizeof(int) == 2 ? 14 : 16, sizeof(retry_step)); /* AVR pads nothing */
    CHECK(sizeof(retry_operation) <= (wide ? 152u : 120u));
    CHECK(sizeof(retry_copy) <= (wide ? 32u : 24u));
    CHECK(sizeof(retry_hedge) <= (wide ? 48u : 36u));
    CHECK_EQUAL(0, RETRY_DO_SEND);
    CHECK_EQUAL(1, RETRY_DO_CANCEL);
    CHECK_EQUAL(2, RETRY_DO_WAIT);
    CHECK_EQUAL(3, RETRY_DO_END);
}

/* ---- NULL, and never started --------------------------------------------------------------- */

static void test_null(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_start(NULL, NULL, START);
    retry_ended(NULL, 0, NULL, START);
    retry_ended(NULL, 0, &failure, START);
    retry_stop(NULL, START);
    retry_answer(NULL, retry_action_after(1), START);
    CHECK_STEP(END(FAIL, MISUSE, 0), retry_next(NULL, START));
}

static void test_never_started(void)
{
    retry_operation before;
    set_up();
    memcpy(&before, &op, sizeof before);
    CHECK_STEP(END(FAIL, MISUSE, 0), next(0));
    worked(1);
    FAILED(KV_LOCKED, 2);
    retry_stop(&op, at(3));
    retry_answer(&op, retry_action_after(1), at(4));
    CHECK_STEP(END(FAIL, MISUSE, 0), next(5));
    CHECK(memcmp(&before, &op, sizeof before) == 0);
    CHECK_EQUAL(0, told);
    retry_start(&op, NULL, at(6));
    CHECK_STEP(SEND(LEFT), next(6));
}

/* ---- the way that most go ------------------------------------------------------------------ */

static void test_success_at_once(void)
{
    begin();
    CHECK_EQUAL(start, op.started);
    CHECK_STEP(SEND(LEFT - 3), next(3));
    CHECK_STEP(WAIT(NONE, LEFT - 3), next(3));
    CHECK_STEP(WAIT(NONE, 1), next(LEFT - 1));
    CHECK_EQUAL(0, told);
    worked(LEFT - 1);
    CHECK_TOLD(1, SUCCESS, NONE, 0);
    CHECK(!told_failure);
    CHECK(is_zero(&op.failure));
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_OVER(END(SUCCESS, NONE, 0));
}

static void test_success_after_retries(void)
{
    fail_once();
    CHECK_TOLD(1, RETRY, STRATEGY, 20);
    CHECK(told_failure);
    CHECK_EQUAL(1, op.retries);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_STEP(WAIT(STRATEGY, 15), next(15));
    CHECK_STEP(WAIT(STRATEGY, 1), next(29));
    CHECK_STEP(SEND(LEFT - 30), next(30));
    CHECK_EQUAL(RETRY_REASON_KV_LOCKED, op.failure.reason); /* until the next */
    FAILED(KV_TEMPORARY_FAILURE, 31);
    CHECK_EQUAL(RETRY_REASON_KV_TEMPORARY_FAILURE, op.failure.reason);
    CHECK_STEP(WAIT(STRATEGY, 20), next(31));
    CHECK_STEP(SEND(LEFT - 60), next(60)); /* late */
    worked(61);
    CHECK_EQUAL(RETRY_REASON_KV_TEMPORARY_FAILURE, op.failure.reason);
    CHECK_EQUAL(2, op.retries);
    CHECK_EQUAL(2, asked);
    CHECK_TOLD(3, SUCCESS, NONE, 0);
    CHECK_OVER(END(SUCCESS, NONE, 0));
}

/* The delay runs from the end of the copy, not from the question. */
static void test_delay_runs_from_the_end(void)
{
    send();
    FAILED(KV_LOCKED, 10);
    CHECK_STEP(WAIT(STRATEGY, 5), next(25));
    send();
    FAILED(KV_LOCKED, 10);
    CHECK_STEP(SEND(LEFT - 31), next(31));
    send();
    answer = retry_action_after(0);
    FAILED(KV_LOCKED, 10);
    CHECK_STEP(SEND(LEFT - 10), next(10)); /* no WAIT for 0 ms */
}

static void test_always_retried(void)
{
    begin();
    client.always_interval = 7;
    CHECK_STEP(SEND(LEFT), next(0));
    FAILED(KV_NOT_MY_VBUCKET, 10);
    CHECK_STEP(WAIT(ALWAYS, 7), next(10));
    CHECK_STEP(WAIT(ALWAYS, 3), next(14));
    CHECK_STEP(SEND(LEFT - 17), next(17));
    CHECK_EQUAL(0, asked);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    FAILED(KV_LOCKED, 20); /* the cause is the last retry's */
    CHECK_STEP(WAIT(STRATEGY, 20), next(20));
}

static void test_order_to_wait(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    failure.pushback = true;
    failure.retry_after = 77;
    send();
    retry_ended(&op, 0, &failure, at(1));
    CHECK_STEP(WAIT(STRATEGY, 77), next(1));
    failure.retry_after = UINT32_MAX;
    send();
    retry_ended(&op, 0, &failure, at(1));
    CHECK_OVER(END(FAIL, PUSHBACK, 0));
}

/* ---- how it ends --------------------------------------------------------------------------- */

/* What was decided is what END says. */
static void test_final_failures(void)
{
    static const struct {
        retry_reason reason;
        uint8_t safety, kind, refusal; /* of the failure; of the strategy's answer */
        bool idempotent;
        uint8_t cause;
        bool ambiguous;
    } rows[] = {
        {RETRY_REASON_NONE, 0, RETRY_ACTION_AFTER, 0, true, RETRY_CAUSE_NOT_RETRYABLE, false},
        {RETRY_REASON_UNKNOWN, 0, RETRY_ACTION_AFTER, 0, true, RETRY_CAUSE_UNKNOWN_REASON, true},
        {RETRY_REASON_KV_LOCKED, RETRY_SAFETY_NO, RETRY_ACTION_AFTER, 0, true, RETRY_CAUSE_UNSAFE,
         false},
        {RETRY_REASON_CLIENT_THROTTLED, 0, RETRY_ACTION_AFTER, 0, true, RETRY_CAUSE_THROTTLED,
         false},
        {RETRY_REASON_KV_LOCKED, 0, RETRY_ACTION_NONE, RETRY_CAUSE_REFUSED, true,
         RETRY_CAUSE_REFUSED, false},
        {RETRY_REASON_KV_LOCKED, 0, RETRY_ACTION_NONE, RETRY_CAUSE_ATTEMPTS_EXHAUSTED, true,
         RETRY_CAUSE_ATTEMPTS_EXHAUSTED, false},
        {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, 0, RETRY_ACTION_NONE,
         RETRY_CAUSE_NOT_IDEMPOTENT, false, RETRY_CAUSE_NOT_IDEMPOTENT, true},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = check_failure_of(rows[i].reason);
        check_row("%s, cause %u", retry_reason_name(rows[i].reason), rows[i].cause);
        failure.safety = rows[i].safety;
        send();
        op.idempotent = rows[i].idempotent;
        answer = retry_action_after(5);
        answer.kind = rows[i].kind;
        answer.cause = rows[i].refusal;
        retry_ended(&op, 0, &failure, at(10));
        CHECK_EQUAL(1, told);
        CHECK(told_failure);
        CHECK_EQUAL(rows[i].ambiguous, op.ambiguous);
        CHECK_EQUAL(rows[i].reason, op.failure.reason);
        CHECK_OVER(step_of(RETRY_DO_END, RETRY_VERDICT_FAIL, rows[i].cause, 0, 0));
    }
}

/* The delay of a retry that the budget does not pay, and what was left of one that came too late.
 */
static void test_delay_of_the_end(void)
{
    begin();
    CHECK(retry_budget_withdraw(&budget, 9500, START));
    CHECK_STEP(SEND(LEFT), next(0));
    FAILED(KV_LOCKED, 10);
    CHECK_TOLD(1, FAIL, BUDGET_EXHAUSTED, 20);
    CHECK_OVER(END(FAIL, BUDGET_EXHAUSTED, 20));
    send();
    answer = retry_action_after(LEFT - 10);
    FAILED(KV_LOCKED, 10);
    CHECK_TOLD(1, EXPIRE, DEADLINE, LEFT - 10);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_OVER(END(EXPIRE, DEADLINE, LEFT - 10));
    send();
    answer = retry_action_after(LEFT - 11);
    FAILED(KV_LOCKED, 10);
    CHECK_STEP(WAIT(STRATEGY, LEFT - 11), next(10));
    CHECK_STEP(SEND(1), next(LEFT - 1));
}

/* The deadline before the first try, and before a retry whose timer was late: the charge goes back,
   and the failure stays that of the try before. */
static void test_deadline_before_a_try(void)
{
    begin();
    CHECK_STEP(SEND(1), next(LEFT - 1));
    begin();
    CHECK_STEP(END(EXPIRE, DEADLINE, 0), next(LEFT));
    CHECK_TOLD(1, EXPIRE, DEADLINE, 0);
    CHECK(!told_failure);
    CHECK(is_zero(&op.failure));
    CHECK_OVER(END(EXPIRE, DEADLINE, 0));
    fail_once();
    CHECK_STEP(END(EXPIRE, DEADLINE, 0), next(LEFT + 5));
    CHECK_TOLD(2, EXPIRE, DEADLINE, 0);
    CHECK(!told_failure);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_EQUAL(RETRY_REASON_KV_LOCKED, op.failure.reason);
    CHECK(!op.ambiguous);
    CHECK_OVER(END(EXPIRE, DEADLINE, 0));
}

/* A strategy without a function, found when a copy has failed: the operation was open still. */
static void test_misuse_of_a_strategy(void)
{
    static const retry_strategy none = {NULL};
    begin();
    op.strategy = &none;
    CHECK_STEP(SEND(LEFT), next(0));
    FAILED(KV_LOCKED, 10);
    CHECK_OVER(END(FAIL, MISUSE, 0));
    CHECK_EQUAL(0, retry_left(&op, at(11)));
}

/* ---- a copy's time ------------------------------------------------------------------------- */

static void test_timed_out(void)
{
    begin();
    client.cut_after = 100;
    CHECK_STEP(SEND(100), next(5));
    CHECK_STEP(WAIT(NONE, 100), next(5));
    CHECK_STEP(WAIT(NONE, 1), next(104));
    CHECK_EQUAL(0, told);
    CHECK_STEP(CANCEL, next(105));
    CHECK_TOLD(1, RETRY, STRATEGY, 20);
    CHECK_EQUAL(RETRY_REASON_ATTEMPT_TIMED_OUT, op.failure.reason);
    CHECK(op.failure.timeout);
    CHECK(!op.failure.throttle && !op.failure.pushback && op.failure.code == 0);
    CHECK(op.ambiguous);
    CHECK_STEP(WAIT(STRATEGY, 20), next(105));
    CHECK_STEP(SEND(100), next(125));
    CHECK_STEP(CANCEL, next(300)); /* late: the delay runs from now */
    CHECK_STEP(WAIT(STRATEGY, 20), next(300));
    CHECK_STEP(SEND(100), next(320));
    worked(400);
    CHECK_OVER(END(SUCCESS, NONE, 0));
}

/* What comes after the copy's time, but before retry_next has seen it, counts; afterwards not. */
static void test_late_ends(void)
{
    begin();
    client.cut_after = 100;
    CHECK_STEP(SEND(100), next(0));
    worked(700);
    CHECK_OVER(END(SUCCESS, NONE, 0));
    begin();
    client.cut_after = 100;
    CHECK_STEP(SEND(100), next(0));
    FAILED(KV_LOCKED, 700);
    CHECK_EQUAL(RETRY_REASON_KV_LOCKED, op.failure.reason);
    CHECK_STEP(WAIT(STRATEGY, 20), next(700)); /* no CANCEL: it has ended */
    begin();
    client.cut_after = 100;
    CHECK_STEP(SEND(100), next(0));
    CHECK_STEP(CANCEL, next(700));
    worked(701);
    CHECK_STEP(WAIT(STRATEGY, 19), next(701));
    CHECK_EQUAL(RETRY_REASON_ATTEMPT_TIMED_OUT, op.failure.reason);
    send();
    worked(LEFT + 9000); /* even after the deadline */
    CHECK_OVER(END(SUCCESS, NONE, 0));
}

/* At the deadline: EXPIRE where a retry would have been possible, else FAIL with its cause. */
static void test_timed_out_at_the_deadline(void)
{
    send();
    CHECK_STEP(CANCEL, next(LEFT));
    CHECK_TOLD(1, EXPIRE, DEADLINE, 0);
    CHECK(op.ambiguous);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_OVER(END(EXPIRE, DEADLINE, 0));
    send();
    answer = retry_action_none(RETRY_CAUSE_NOT_IDEMPOTENT);
    CHECK_STEP(CANCEL, next(LEFT + 3));
    CHECK_OVER(END(FAIL, NOT_IDEMPOTENT, 0));
    send();
    FAILED(KV_LOCKED, LEFT + 3);
    CHECK_OVER(END(EXPIRE, DEADLINE, 0));
    send();
    FAILED(NONE, LEFT + 3);
    CHECK_OVER(END(FAIL, NOT_RETRYABLE, 0));
}

/* Rule R without gates, where nothing is known of the server. */
static void test_time_of_a_copy(void)
{
    static const struct {
        retry_ms attempt, most, timeout, age, wanted;
    } rows[] = {
        {0, 0, 1000, 0, 1000},
        {0, 0, 1000, 999, 1},
        {0, 0, 0, 5, 74995},
        {0, 0, UINT32_MAX, 5, UINT32_MAX},
        {0, 300, 1000, 0, 300},
        {0, 300, 1000, 700, 300},
        {0, 300, 1000, 701, 299},
        {0, 300, UINT32_MAX, 0, 300},
        {500, 0, 1000, 0, 500},
        {500, 0, 1000, 500, 500},
        {500, 0, 1000, 501, 499},
        {500, 0, 499, 0, 499},
        {500, 0, UINT32_MAX, 0, 500},
        {500, 500, 1000, 0, 500},
        {500, 200, 1000, 0, 200}, /* it wins where it is less */
        {500, 200, 1000, 900, 100},
        {500, 900, 1000, 0, 500},
        {1, 0, 1000, 0, 1},
        {UINT32_MAX, 0, 1000, 0, 1000},
        {UINT32_MAX, 0, UINT32_MAX, 0, UINT32_MAX},
        {UINT32_MAX - 1, 0, UINT32_MAX, 0, UINT32_MAX - 1},
        {UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, UINT32_MAX},
        {0, UINT32_MAX, UINT32_MAX, 0, UINT32_MAX},
        {0, 0, UINT32_MAX - 0xffff, 0, UINT32_MAX - 0xffff},
        {0, 0, UINT32_MAX - 0xfffe, 0, UINT32_MAX}, /* no clock could measure it */
        {0, 0, UINT32_MAX - 1, 0, UINT32_MAX},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_ms left = rows[i].wanted;
        check_row("%lu, at most %lu, of %lu, at %lu", (unsigned long)rows[i].attempt,
                  (unsigned long)rows[i].most, (unsigned long)rows[i].timeout,
                  (unsigned long)rows[i].age);
        set_up();
        client.cut_after = rows[i].attempt;
        client.attempt_timeout = rows[i].most;
        op.timeout = rows[i].timeout;
        retry_start(&op, NULL, at(0));
        CHECK_STEP(SEND(rows[i].wanted), next(rows[i].age));
        CHECK_STEP(WAIT(NONE, left), next(rows[i].age));
        if (rows[i].wanted == 1)
            CHECK_STEP(CANCEL, next(rows[i].age + 1));
        else
            CHECK_STEP(WAIT(NONE, left == UINT32_MAX ? left : left - 1), next(rows[i].age + 1));
    }
}

/* Without gates no round is counted: each try has the same time. */
static void test_no_rounds_without_gates(void)
{
    unsigned i;
    begin();
    client.cut_after = 100;
    for (i = 0; i < 5; i++) {
        check_row("try %u", i);
        CHECK_STEP(SEND(100), next(i * 120));
        CHECK_STEP(CANCEL, next(i * 120 + 100));
        CHECK_STEP(WAIT(STRATEGY, 20), next(i * 120 + 100));
    }
}

/* Of an operation whose budget has these options, after so much was taken. */
static void check_time_of_a_copy(retry_budget_options options, uint32_t taken, retry_ms most,
                                 retry_ms wanted)
{
    const uint32_t floor = options.floor;
    set_up();
    options.floor = 0;
    retry_budget_init(&budget, &options, START);
    if (taken != 0)
        CHECK(retry_budget_withdraw(&budget, taken, START));
    budget.options.floor = floor;
    client.cut_after = 100;
    client.attempt_timeout = most;
    retry_start(&op, NULL, at(0));
    CHECK_STEP(SEND(wanted), next(0));
}

/* A copy is cut while the budget holds two retries after timeouts. Else few others can follow, and
   it has all that is left. */
static void test_time_of_the_last_copy(void)
{
    static const struct {
        uint32_t capacity, cost, timeout_cost, throttle_cost, success, request, refill, floor;
        bool refund, charge;
        retry_ms expire;
        uint32_t taken; /* thousandths */
        retry_ms most, wanted;
    } rows[] = {
        {10000, 1000, 0, 0, 0, 0, 0, 0, false, false, 0, 0, 0, 100},
        {10000, 1000, 0, 0, 0, 0, 0, 0, false, false, 0, 8000, 0, 100},
        {10000, 1000, 0, 0, 0, 0, 0, 0, false, false, 0, 8001, 0, LEFT},
        {10000, 1000, 0, 0, 0, 0, 0, 0, false, false, 0, 10000, 0, LEFT},
        {10000, 1000, 0, 0, 0, 0, 0, 0, false, false, 0, 10000, 100, 100},
        {10000, 1000, 0, 0, 0, 0, 0, 0, false, false, 0, 10000, 700, 700},
        {10000, 1000, 0, 0, 0, 0, 1, 0, false, false, 0, 8000, 0, 100}, /* it refills */
        {10000, 1000, 0, 0, 0, 0, 1, 0, false, false, 0, 8001, 0, LEFT},
        {10000, 1000, 0, 0, 0, 0, 0, 2000, false, false, 0, 6000, 0, 100},
        {10000, 1000, 0, 0, 0, 0, 0, 2000, false, false, 0, 6001, 0, LEFT},
        {1500, 1000, 0, 0, 0, 0, 0, 2000, false, false, 0, 0, 0, LEFT}, /* below the floor */
        {10000, 0, 0, 0, 0, 0, 0, 0, false, false, 0, 10000, 0, 100},   /* free */
        {10000, 2000, 1, 1, 0, 0, 0, 0, false, false, 0, 9998, 0, 100},
        {10000, 2000, 1, 1, 0, 0, 0, 0, false, false, 0, 9999, 0, LEFT},
        {10000, 1, 2000, 1, 0, 0, 0, 0, false, false, 0, 6000, 0, 100},
        {10000, 1, 2000, 1, 0, 0, 0, 0, false, false, 0, 6001, 0, LEFT},
        {10000, 1000, 0, 0, 500, 2000, 0, 0, false, false, 0, 10000, 0, 100}, /* of its own */
        {10000, 1000, 0, 0, 500, 1999, 0, 0, false, false, 0, 10000, 0, LEFT},
        {1999, 1000, 0, 0, 0, 0, 0, 0, false, false, 0, 0, 0, LEFT},
        {10000, 1000, 0, 0, 0, 0, 0, 0, false, false, 10000, 0, 0, LEFT}, /* its base alone */
        {10000, 1000, 0, 0, 0, 0, 0, 0, true, false, 0, 8001, 0, LEFT},
        {10000, 1000, 0, 0, 0, 0, 0, 5000, false, true, 0, 3000, 0, 100},
        {10000, 1000, 0, 0, 0, 0, 0, 5000, false, true, 0, 3001, 0, LEFT},
        {UINT32_MAX, 1, 0x7fffffff, 0, 0, 0, 0, 0, false, false, 0, 0, 0, 100},
        {UINT32_MAX, 1, 0x80000000, 0, 0, 0, 0, 0, false, false, 0, 0, 0, LEFT},
    };
    const retry_budget_options best_effort = RETRY_BUDGET_BEST_EFFORT(5);
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options = options_of(rows[i].capacity, rows[i].cost);
        options.timeout_cost = rows[i].timeout_cost;
        options.throttle_cost = rows[i].throttle_cost;
        options.success_deposit = rows[i].success;
        options.request_deposit = rows[i].request;
        options.refill_per_second = rows[i].refill;
        options.floor = rows[i].floor;
        options.refund_last = rows[i].refund;
        options.charge_failures = rows[i].charge;
        options.expire = rows[i].expire;
        check_row("row %u", (unsigned)i);
        check_time_of_a_copy(options, rows[i].taken, rows[i].most, rows[i].wanted);
    }
    check_row("best effort");
    check_time_of_a_copy(best_effort, 0, 0, LEFT);
}

/* What a budget holds that nobody asked for as long as its tokens last was not earned of late; the
   next success, or a retry, says how much is left of it. A clock that is behind says nothing. */
static void test_time_of_a_copy_after_a_rest(void)
{
    static const struct {
        retry_ms expire, rest, wanted, then;
    } rows[] = {
        {10000, 9999, 100, 100},
        {10000, 10000, LEFT, 100},
        {10000, 86400000, LEFT, LEFT},
        {10000, UINT32_MAX - 4, 100, 100},
        {10000, UINT32_MAX - 32767, 100, 100},
        {1, 0, 100, 100},
        {1, 1, LEFT, 100},
        {0, 86400000, 100, 100},
        {3600000, 3599999, 100, 100},
        {3600000, 3600000, LEFT, 100},
    };
    static const retry_budget_options best_effort = RETRY_BUDGET_BEST_EFFORT(5);
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_time now = check_after(at(0), rows[i].rest);
        check_row("row %u", (unsigned)i);
        set_up();
        retry_budget_init(&budget, &best_effort, at(0));
        budget.options.expire = rows[i].expire;
        retry_budget_deposit(&budget, RETRY_TOKENS(99));
        client.cut_after = 100;
        retry_start(&op, NULL, now);
        CHECK_EQUAL(rows[i].wanted, retry_next(&op, now).timeout);
        retry_ended(&op, 0, NULL, now);
        CHECK_EQUAL(RETRY_VERDICT_SUCCESS, retry_next(&op, now).verdict);
        retry_start(&op, NULL, now);
        CHECK_EQUAL(rows[i].then, retry_next(&op, now).timeout);
    }
}

/* A copy that few could follow has the time of any other from the moment that they can: it is
   looked after that often. */
static void test_time_of_a_lone_copy(void)
{
    begin();
    client.cut_after = 100;
    CHECK(retry_budget_withdraw(&budget, 10000, at(0)));
    CHECK_STEP(SEND(LEFT), next(0));
    CHECK_STEP(WAIT(NONE, 100), next(0));
    CHECK_STEP(WAIT(NONE, 100), next(300));
    retry_budget_deposit(&budget, 1999);
    CHECK_STEP(WAIT(NONE, 100), next(350));
    retry_budget_deposit(&budget, 1);
    CHECK_STEP(WAIT(NONE, 100), next(400));
    CHECK(retry_budget_withdraw(&budget, 2000, at(401))); /* too late: it is cut */
    CHECK_STEP(WAIT(NONE, 1), next(499));
    CHECK_STEP(CANCEL, next(500));
    begin();
    client.cut_after = 100;
    client.attempt_timeout = 300;
    CHECK(retry_budget_withdraw(&budget, 10000, at(0)));
    CHECK_STEP(SEND(300), next(0));
    retry_budget_deposit(&budget, 2000);
    CHECK_STEP(WAIT(NONE, 50), next(250)); /* it has no more than before */
    CHECK_STEP(CANCEL, next(300));
}

/* ---- calls out of order -------------------------------------------------------------------- */

static void test_ends_of_no_copy(void)
{
    static const unsigned others[] = {1, 2, 254, 255, 256, UINT_MAX / 2 + 1, UINT_MAX};
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation before;
    size_t i;
    begin();
    memcpy(&before, &op, sizeof before);
    worked(0); /* not sent yet */
    FAILED(KV_LOCKED, 0);
    CHECK(memcmp(&before, &op, sizeof before) == 0);
    CHECK_STEP(SEND(LEFT), next(0));
    memcpy(&before, &op, sizeof before);
    for (i = 0; i < CHECK_COUNT(others); i++) {
        check_row("copy %u", others[i]);
        retry_ended(&op, others[i], NULL, at(1));
        retry_ended(&op, others[i], &failure, at(1));
        CHECK(memcmp(&before, &op, sizeof before) == 0);
    }
    CHECK_STEP(WAIT(NONE, LEFT - 1), next(1));
}

/* The first end of a copy counts, whatever the second says. */
static void test_double_ends(void)
{
    send();
    FAILED(KV_LOCKED, 10);
    worked(10);
    FAILED(NONE, 12);
    CHECK_EQUAL(RETRY_REASON_KV_LOCKED, op.failure.reason);
    CHECK_STEP(WAIT(STRATEGY, 18), next(12));
    worked(13); /* in the delay */
    CHECK_STEP(SEND(LEFT - 30), next(30));
    worked(31);
    FAILED(KV_LOCKED, 32);
    CHECK(is_zero(&op.failure) == false);
    CHECK_EQUAL(2, told);
    CHECK_OVER(END(SUCCESS, NONE, 0));
}

/* The operation's own failure, read and completed where it is. */
static void test_failure_in_place(void)
{
    send();
    op.failure.reason = RETRY_REASON_KV_LOCKED;
    op.failure.code = 9;
    retry_ended(&op, 0, &op.failure, at(10));
    CHECK_EQUAL(RETRY_REASON_KV_LOCKED, op.failure.reason);
    CHECK_EQUAL(9, op.code);
    CHECK_STEP(WAIT(STRATEGY, 20), next(10));
}

/* retry_next asked at each ms: always the rest, never 0, and the same steps. */
static void test_asked_too_often(void)
{
    retry_time t;
    begin();
    client.cut_after = 100;
    for (t = 0; t < LEFT; t++) {
        retry_time phase = t % 120;
        check_row("at %lu", (unsigned long)t);
        if (phase == 0)
            CHECK_STEP(SEND(LEFT - t < 100 ? LEFT - t : 100), next(t));
        if (phase == 100)
            CHECK_STEP(CANCEL, next(t));
        if (phase < 100)
            CHECK_STEP(WAIT(NONE, (LEFT - t + phase < 100 ? LEFT - t + phase : 100) - phase),
                       next(t));
        else
            CHECK_STEP(WAIT(STRATEGY, 120 - phase), next(t));
    }
    CHECK_STEP(CANCEL, next(LEFT));
    CHECK_OVER(END(EXPIRE, DEADLINE, 0));
}

static void test_clock_steps_back(void)
{
    fail_once();
    CHECK_STEP(WAIT(STRATEGY, 20), retry_next(&op, check_before(START, 5000)));
    CHECK_STEP(WAIT(STRATEGY, 10), next(20));
    send();
    CHECK_STEP(WAIT(NONE, LEFT), retry_next(&op, check_before(START, 5000)));
}

/* ---- retry_start anew ---------------------------------------------------------------------- */

/* A copy is out: the old operation is stopped, and its copy cancelled before the new one is sent.
 */
static void test_start_with_a_copy_out(void)
{
    send_again();
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_start(&op, NULL, at(40));
    CHECK_TOLD(2, FAIL, CANCELLED, 0);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK(is_zero(&op.failure));
    CHECK(!op.ambiguous);
    CHECK_EQUAL(0, op.retries);
    CHECK_EQUAL(at(40), op.started);
    CHECK_STEP(CANCEL, next(41));
    CHECK_STEP(SEND(LEFT - 2), next(42));
    worked(43);
    CHECK_OVER(END(SUCCESS, NONE, 0));
}

/* The old copy ends by itself before its CANCEL: nothing of it counts, and there is none. */
static void test_start_and_an_old_end(void)
{
    unsigned works;
    for (works = 0; works < 2; works++) {
        check_row("works %u", works);
        send();
        retry_start(&op, NULL, at(40));
        if (works)
            worked(41);
        else
            FAILED(KV_LOCKED, 41);
        CHECK(is_zero(&op.failure));
        CHECK_EQUAL(1, told);
        CHECK_STEP(SEND(LEFT - 2), next(42));
        CHECK_STEP(WAIT(NONE, LEFT - 2), next(42));
    }
}

static void test_start_again_and_again(void)
{
    send();
    retry_start(&op, NULL, at(10));
    retry_start(&op, NULL, at(11));
    retry_stop(&op, at(12));
    CHECK(!op.ambiguous); /* nothing of this one was sent */
    retry_start(&op, NULL, at(13));
    CHECK_STEP(CANCEL, next(13)); /* one */
    CHECK_STEP(SEND(LEFT - 1), next(14));
    CHECK_EQUAL(3, told); /* each that was stopped */
}

static void test_start_in_a_delay(void)
{
    fail_once();
    retry_start(&op, NULL, at(20));
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_TOLD(2, FAIL, CANCELLED, 0);
    CHECK(is_zero(&op.failure));
    CHECK_STEP(SEND(LEFT), next(20));
    wait_for_answer();
    retry_start(&op, NULL, at(20));
    CHECK_TOLD(1, FAIL, CANCELLED, 0);
    retry_answer(&op, retry_action_after(5), at(21)); /* to the old one */
    CHECK_STEP(SEND(LEFT - 1), next(21));
}

/* An attempt that failed with a code. */
static void failed_with(uint32_t code, retry_time elapsed)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    failure.code = code;
    retry_ended(&op, 0, &failure, at(elapsed));
}

/* What the program has set stays; all else is as it was before the first attempt. */
static void test_start_clears(void)
{
    int context = 0;
    send();
    failed_with(5, 10);
    CHECK_EQUAL(5, op.code);
    op.context = &context;
    op.strategy = &answering;
    retry_start(&op, NULL, at(500));
    CHECK_EQUAL(at(500), op.started);
    CHECK_EQUAL(0, op.retries);
    CHECK_EQUAL(0, op.reasons);
    CHECK_EQUAL(0, op.code);
    CHECK_EQUAL(0, op.code_retries);
    CHECK_EQUAL(0, op.delay);
    CHECK(op.client == &client && op.strategy == &answering && op.context == &context);
    CHECK(op.timeout == LEFT && op.idempotent);
}

/* The first failure after that is a first failure, even with the code of before. */
static void test_start_forgets_the_code(void)
{
    static const uint32_t codes[] = {0, 5};
    size_t i;
    for (i = 0; i < CHECK_COUNT(codes); i++) {
        check_row("code %lu", (unsigned long)codes[i]);
        send();
        failed_with(codes[i], 10);
        CHECK_STEP(SEND(LEFT - 30), next(30));
        failed_with(codes[i], 31);
        CHECK_EQUAL(2, op.code_retries);
        retry_start(&op, NULL, at(500));
        CHECK_STEP(SEND(LEFT), next(500));
        failed_with(codes[i], 510);
        CHECK_EQUAL(at(510), op.code_since);
        CHECK_EQUAL(1, op.code_retries);
    }
}

/* After its end an operation may be used again. */
static void test_start_after_the_end(void)
{
    send();
    FAILED(NONE, 10);
    CHECK_STEP(END(FAIL, NOT_RETRYABLE, 0), next(10));
    retry_start(&op, NULL, at(20));
    CHECK_EQUAL(1, told);
    CHECK(is_zero(&op.failure));
    CHECK_STEP(SEND(LEFT), next(20));
    worked(30);
    retry_start(&op, NULL, at(30)); /* its END was never asked for */
    CHECK_STEP(SEND(LEFT), next(30));
    CHECK(retry_budget_withdraw(&budget, 10000, at(30)));
    FAILED(KV_LOCKED, 40);
    CHECK_STEP(END(FAIL, BUDGET_EXHAUSTED, 20), next(40));
    retry_start(&op, NULL, at(50));
    CHECK_EQUAL(RETRY_CAUSE_NONE, op.cause); /* nothing is decided yet */
    CHECK_EQUAL(0, op.delay);
}

/* ---- retry_stop ---------------------------------------------------------------------------- */

static void test_stop_before_a_copy(void)
{
    begin();
    retry_stop(&op, at(5));
    CHECK_TOLD(1, FAIL, CANCELLED, 0);
    CHECK(!op.ambiguous);
    CHECK_OVER(END(FAIL, CANCELLED, 0));
}

static void test_stop_with_a_copy_out(void)
{
    send_again();
    CHECK(!op.ambiguous);
    retry_stop(&op, at(40));
    CHECK(op.ambiguous);
    CHECK_TOLD(2, FAIL, CANCELLED, 0);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    retry_stop(&op, at(41));
    CHECK_EQUAL(2, told);
    CHECK_STEP(CANCEL, next(41));
    CHECK_OVER(END(FAIL, CANCELLED, 0));
}

/* Nothing of a copy that is due to be cancelled counts; if it has ended, it is not cancelled. */
static void test_stop_and_a_late_end(void)
{
    unsigned works;
    for (works = 0; works < 2; works++) {
        check_row("works %u", works);
        send();
        retry_stop(&op, at(40));
        if (works)
            worked(41);
        else
            FAILED(KV_LOCKED, 41);
        CHECK(is_zero(&op.failure));
        CHECK_TOLD(1, FAIL, CANCELLED, 0);
        CHECK_OVER(END(FAIL, CANCELLED, 0));
    }
}

static void test_stop_in_a_delay(void)
{
    char line[256];
    fail_once();
    retry_stop(&op, at(15));
    retry_format(line, sizeof line, &op, NULL);
    CHECK(strstr(line, "elapsed=15ms") != NULL);
    CHECK(!op.ambiguous);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_EQUAL(RETRY_REASON_KV_LOCKED, op.failure.reason);
    CHECK_OVER(END(FAIL, CANCELLED, 0));
    wait_for_answer();
    retry_stop(&op, at(15));
    CHECK_TOLD(1, FAIL, CANCELLED, 0);
    CHECK_OVER(END(FAIL, CANCELLED, 0));
}

/* What was paid for a retry goes back if its attempt was not sent, or its end is not known; nothing
   else does. */
static void test_stop_gives_back(void)
{
    send_again(); /* the first retry is paid for, and fails */
    FAILED(KV_LOCKED, 31);
    CHECK_EQUAL(8000, retry_budget_balance(&budget));
    retry_stop(&op, at(40));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    send_again();
    FAILED(KV_NOT_MY_VBUCKET, 31); /* nobody pays for the next */
    retry_stop(&op, at(40));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    send_again();
    answer = retry_action_pending();
    FAILED(KV_LOCKED, 31);
    retry_stop(&op, at(40));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    send();
    budget.options.charge_failures = true; /* the failure was charged, and not the retry */
    FAILED(KV_LOCKED, 10);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_stop(&op, at(15));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
}

/* An observer stops what it hears of; what is over stays as it is. */
static void test_stop_from_an_observer(void)
{
    begin();
    observer_stops = true;
    CHECK_STEP(SEND(LEFT), next(0));
    FAILED(KV_LOCKED, 10);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_TOLD(2, FAIL, CANCELLED, 0);
    CHECK_OVER(END(FAIL, CANCELLED, 0));
    begin();
    observer_stops = true;
    CHECK_STEP(SEND(LEFT), next(0));
    FAILED(NONE, 10);
    CHECK_EQUAL(1, told);
    CHECK_OVER(END(FAIL, NOT_RETRYABLE, 0));
    begin();
    observer_stops = true;
    CHECK_STEP(SEND(LEFT), next(0));
    worked(10);
    CHECK_EQUAL(1, told);
    CHECK(!op.ambiguous);
    CHECK_OVER(END(SUCCESS, NONE, 0));
    begin();
    observer_stops = true;
    CHECK_STEP(END(EXPIRE, DEADLINE, 0), next(LEFT));
    CHECK_EQUAL(1, told);
    CHECK_OVER(END(EXPIRE, DEADLINE, 0));
    begin();
    observer_stops = true;
    retry_stop(&op, at(1)); /* it hears of that, and stops it again */
    CHECK_EQUAL(1, told);
    CHECK_OVER(END(FAIL, CANCELLED, 0));
}

/* The observer of a copy that timed out: its CANCEL comes all the same. */
static void test_stop_from_an_observer_of_a_timeout(void)
{
    begin();
    client.cut_after = 100;
    observer_stops = true;
    CHECK_STEP(SEND(100), next(0));
    CHECK_STEP(CANCEL, next(100));
    CHECK_OVER(END(FAIL, CANCELLED, 0));
}

/* A strategy cannot: what it says counts. */
static retry_action stopping_after(const retry_strategy *self, const retry_operation *of,
                                   const retry_failure *failure, retry_time now)
{
    (void)self, (void)of, (void)failure;
    retry_stop(&op, now);
    return retry_action_after(20);
}

static void test_stop_from_a_strategy(void)
{
    static const retry_strategy stopping = {stopping_after};
    begin();
    op.strategy = &stopping;
    CHECK_STEP(SEND(LEFT), next(0));
    FAILED(KV_LOCKED, 10);
    CHECK_TOLD(1, RETRY, STRATEGY, 20);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_STEP(WAIT(STRATEGY, 20), next(10));
}

/* ---- the delay of a retry ------------------------------------------------------------------- */

/* The network is back: the next attempt begins at once, and only the delay of a retry ends. */
static void test_skip_wait(void)
{
    static const retry_ms delays[] = {1, 20, 900, 0x7fffffff, 0x80000000, UINT32_MAX};
    size_t i;
    for (i = 0; i < CHECK_COUNT(delays); i++) {
        check_row("delay %lu", (unsigned long)delays[i]);
        begin();
        op.timeout = UINT32_MAX;
        answer = retry_action_after(delays[i]);
        CHECK_STEP(SEND(UINT32_MAX), next(0));
        FAILED(KV_LOCKED, 10);
        retry_skip_wait(&op, at(10));
        CHECK_STEP(SEND(UINT32_MAX), next(10));
        FAILED(KV_NOT_MY_VBUCKET, 11); /* the second step of the ladder */
        CHECK_STEP(WAIT(ALWAYS, 10), next(11));
        retry_skip_wait(&op, at(12));
        CHECK_STEP(SEND(UINT32_MAX), next(12));
        CHECK_EQUAL(2, op.retries); /* it is a retry as any other */
        CHECK_EQUAL(10, op.delay);
    }
    retry_skip_wait(NULL, at(0));
}

static void test_skip_no_wait(void)
{
    begin();
    retry_skip_wait(&op, at(0)); /* nothing has failed yet */
    CHECK_STEP(SEND(LEFT), next(0));
    retry_skip_wait(&op, at(1)); /* a copy is out */
    CHECK_STEP(WAIT(NONE, LEFT - 1), next(1));
    wait_for_answer();
    retry_skip_wait(&op, at(11));
    CHECK_STEP(WAIT(PENDING, LEFT - 11), next(11));
    retry_answer(&op, retry_action_after(7), at(12));
    CHECK_STEP(WAIT(STRATEGY, 7), next(12));
    set_up();
    retry_skip_wait(&op, at(0)); /* never started */
    retry_start(&op, NULL, at(5));
    CHECK_STEP(SEND(LEFT), next(5));
}

/* EXPIRE says what is left of the operation; how long the server is away stands in the failure. */
static void test_too_far_away(void)
{
    static const retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    static const retry_ms asked_for[] = {LEFT - 10, 57600000, 0x80000001, UINT32_MAX};
    size_t i;
    for (i = 0; i < CHECK_COUNT(asked_for); i++) {
        retry_failure failure = retry_classify_http(429, asked_for[i]);
        check_row("%lu ms", (unsigned long)asked_for[i]);
        set_up();
        client.strategy = i % 2 == 0 ? NULL : &policy.base;
        retry_start(&op, NULL, at(0));
        CHECK_STEP(SEND(LEFT), next(0));
        retry_ended(&op, 0, &failure, at(10));
        CHECK_STEP(END(EXPIRE, DEADLINE, LEFT - 10), next(10));
        CHECK_EQUAL(asked_for[i], op.failure.retry_after);
    }
}

/* ---- PENDING ------------------------------------------------------------------------------- */

static void test_pending(void)
{
    wait_for_answer();
    CHECK_EQUAL(0, told);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_STEP(WAIT(PENDING, LEFT - 200), next(200));
    worked(201); /* there is no copy */
    CHECK_STEP(WAIT(PENDING, LEFT - 201), next(201));
    retry_answer(&op, retry_action_after(30), at(300));
    CHECK_TOLD(1, RETRY, STRATEGY, 30);
    CHECK(told_failure);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_STEP(WAIT(STRATEGY, 29), next(301));
    retry_answer(&op, retry_action_none(RETRY_CAUSE_REFUSED), at(302)); /* it waits no more */
    CHECK_STEP(SEND(LEFT - 330), next(330));
    worked(331);
    CHECK_OVER(END(SUCCESS, NONE, 0));
}

static void test_pending_answers(void)
{
    wait_for_answer();
    retry_answer(&op, retry_action_after(0), at(300));
    CHECK_STEP(SEND(LEFT - 300), next(300));
    wait_for_answer();
    retry_answer(&op, retry_action_none(RETRY_CAUSE_REFUSED), at(300));
    CHECK_EQUAL(1, told);
    CHECK_OVER(END(FAIL, REFUSED, 0));
    wait_for_answer();
    retry_answer(&op, retry_action_pending(), at(300));
    CHECK_STEP(WAIT(PENDING, LEFT - 300), next(300));
    retry_answer(&op, retry_action_after(LEFT), at(310));
    CHECK_OVER(END(EXPIRE, DEADLINE, LEFT - 310));
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    wait_for_answer();
    CHECK(retry_budget_withdraw(&budget, 10000, at(10)));
    retry_answer(&op, retry_action_after(33), at(300));
    CHECK_OVER(END(FAIL, BUDGET_EXHAUSTED, 33));
}

/* The retry follows the failure that the strategy was asked about, not the answer. */
static void test_answer_counts_the_failure(void)
{
    send();
    answer = retry_action_pending();
    failed_with(9, 10);
    CHECK_EQUAL(0, op.retries);
    CHECK_EQUAL(0, op.delay);
    CHECK_EQUAL(0, told);
    retry_answer(&op, retry_action_after(33), at(60));
    CHECK_TOLD(1, RETRY, STRATEGY, 33);
    CHECK_EQUAL(1, asked);
    CHECK_EQUAL(1, op.retries);
    CHECK_EQUAL(9, op.code);
    CHECK_EQUAL(1, op.code_retries);
    CHECK_EQUAL(at(10), op.code_since);
}

/* A kind that is none must neither grant nor leave the operation open. */
static void test_answer_of_no_kind(void)
{
    retry_action garbage = retry_action_after(5);
    garbage.kind = 99;
    wait_for_answer();
    retry_answer(&op, garbage, at(20));
    CHECK_EQUAL(RETRY_DO_END, next(20).what);
    CHECK_EQUAL(RETRY_VERDICT_FAIL, op.verdict);
    CHECK_EQUAL(0, op.retries);
    CHECK_EQUAL(1, told);
}

/* Still no answer: nobody hears of that, and nobody is asked again. */
static void test_pending_again(void)
{
    retry_time t;
    wait_for_answer();
    for (t = 11; t < 16; t++) {
        retry_answer(&op, retry_action_pending(), at(t));
        CHECK_STEP(WAIT(PENDING, LEFT - t), next(t));
    }
    CHECK_EQUAL(0, told);
    CHECK_EQUAL(1, asked);
    CHECK_EQUAL(0, op.retries);
    retry_answer(&op, retry_action_after(1), at(16));
    CHECK_TOLD(1, RETRY, STRATEGY, 1);
}

/* A retry costs what the failure says; a failure that is charged for itself is charged when it is
   recorded, and not again with the answer. */
static void test_pending_is_charged_once(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    failure.timeout = true;
    send();
    budget.options.timeout_cost = 3000;
    answer = retry_action_pending();
    retry_ended(&op, 0, &failure, at(10));
    retry_answer(&op, retry_action_after(1), at(20));
    CHECK_EQUAL(7000, retry_budget_balance(&budget));
    send();
    budget.options.charge_failures = true;
    answer = retry_action_pending();
    FAILED(KV_LOCKED, 10);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_answer(&op, retry_action_pending(), at(20));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_answer(&op, retry_action_after(1), at(20));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_STEP(SEND(LEFT - 21), next(21));
    FAILED(KV_LOCKED, 22);
    retry_answer(&op, retry_action_none(RETRY_CAUSE_REFUSED), at(23));
    CHECK_EQUAL(8000, retry_budget_balance(&budget));
}

static void test_pending_until_the_deadline(void)
{
    wait_for_answer();
    CHECK_STEP(WAIT(PENDING, 1), next(LEFT - 1));
    CHECK_STEP(END(EXPIRE, DEADLINE, 0), next(LEFT));
    CHECK_TOLD(1, EXPIRE, DEADLINE, 0);
    CHECK_OVER(END(EXPIRE, DEADLINE, 0));
    wait_for_answer();
    CHECK_STEP(END(EXPIRE, DEADLINE, 0), next(LEFT + 500));
    retry_answer(&op, retry_action_after(1), at(LEFT + 501));
    CHECK_OVER(END(EXPIRE, DEADLINE, 0));
    wait_for_answer();
    retry_answer(&op, retry_action_after(1), at(LEFT + 5)); /* too late, and nobody had asked */
    CHECK_OVER(END(EXPIRE, DEADLINE, 0));
}

static void test_pending_without_an_end(void)
{
    begin();
    op.timeout = UINT32_MAX;
    answer = retry_action_pending();
    CHECK_STEP(SEND(UINT32_MAX), next(0));
    FAILED(KV_LOCKED, 10);
    CHECK_STEP(WAIT(PENDING, UINT32_MAX), next(10));
    CHECK_STEP(WAIT(PENDING, UINT32_MAX), next(0x7fffffff));
    CHECK_STEP(WAIT(PENDING, UINT32_MAX), next(0xfffffff0));
    retry_answer(&op, retry_action_after(10), at(5));
    CHECK_STEP(WAIT(STRATEGY, 10), next(5));
}

/* An answer that nobody waits for. */
static void test_answers_to_nothing(void)
{
    begin();
    retry_answer(&op, retry_action_none(RETRY_CAUSE_REFUSED), at(0));
    CHECK_STEP(SEND(LEFT), next(0));
    retry_answer(&op, retry_action_none(RETRY_CAUSE_REFUSED), at(1));
    CHECK_STEP(WAIT(NONE, LEFT - 1), next(1));
    FAILED(KV_LOCKED, 10);
    retry_answer(&op, retry_action_none(RETRY_CAUSE_REFUSED), at(11));
    CHECK_STEP(WAIT(STRATEGY, 19), next(11));
    CHECK_EQUAL(1, told);
}

/* ---- as long as can be --------------------------------------------------------------------- */

/* An operation without an end outlives the clock; so does its copy. */
static void test_without_an_end(void)
{
    unsigned i;
    begin();
    op.timeout = UINT32_MAX;
    CHECK_STEP(SEND(UINT32_MAX), next(0));
    for (i = 1; i < 40; i++) {
        check_row("round %u", i);
        CHECK_STEP(WAIT(NONE, UINT32_MAX), next((i & UINT32_C(15)) << 28 | 0x0fffffff));
    }
    FAILED(KV_LOCKED, 10);
    CHECK_STEP(WAIT(STRATEGY, 20), next(10));
    CHECK_STEP(SEND(UINT32_MAX), next(30));
    worked(29);
    CHECK_OVER(END(SUCCESS, NONE, 0));
}

/* A delay that the clock cannot measure is 2^31 ms. */
static void test_longest_delays(void)
{
    static const struct {
        retry_ms delay, wait;
    } rows[] = {{UINT32_MAX, 0x80000000},
                {UINT32_MAX - 1, 0x80000000},
                {0x80000001, 0x80000000},
                {0x80000000, 0x80000000},
                {0x7fffffff, 0x7fffffff}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_ms left = rows[i].wait;
        check_row("delay %lu", (unsigned long)rows[i].delay);
        begin();
        op.timeout = UINT32_MAX;
        answer = retry_action_after(rows[i].delay);
        CHECK_STEP(SEND(UINT32_MAX), next(0));
        FAILED(KV_LOCKED, 10);
        CHECK_STEP(WAIT(STRATEGY, left), next(10));
        CHECK_STEP(WAIT(STRATEGY, left - 1000), next(1010));
        CHECK_STEP(WAIT(STRATEGY, 0x7fffffff < left ? left - 0x7fffffff : 1),
                   next(0x7fffffff < left ? 10 + UINT32_C(0x7fffffff) : 9 + left));
    }
}

/* Up to half of the clock's range. */
static void test_long_delay_is_over(void)
{
    static const retry_ms delays[] = {0x7fffffff, 0x80000000};
    size_t i;
    for (i = 0; i < CHECK_COUNT(delays); i++) {
        retry_ms passed = 0;
        check_row("delay %lu", (unsigned long)delays[i]);
        begin();
        op.timeout = UINT32_MAX;
        answer = retry_action_after(delays[i]);
        CHECK_STEP(SEND(UINT32_MAX), next(0));
        FAILED(KV_LOCKED, 0);
        for (; delays[i] - passed > 0x30000000; passed += 0x30000000)
            CHECK_STEP(WAIT(STRATEGY, delays[i] - passed), next(passed));
        CHECK_STEP(WAIT(STRATEGY, 1), next(delays[i] - 1));
        CHECK_STEP(SEND(UINT32_MAX), next(delays[i]));
    }
}

/* The same for a copy. */
static void test_long_copy_is_over(void)
{
    static const retry_ms timeouts[] = {0x7fffffff, 0x80000000};
    size_t i;
    for (i = 0; i < CHECK_COUNT(timeouts); i++) {
        retry_ms passed = 0;
        check_row("timeout %lu", (unsigned long)timeouts[i]);
        begin();
        op.timeout = timeouts[i];
        CHECK_STEP(SEND(timeouts[i]), next(0));
        for (; timeouts[i] - passed > 0x30000000; passed += 0x30000000)
            CHECK_STEP(WAIT(NONE, timeouts[i] - passed), next(passed));
        CHECK_STEP(WAIT(NONE, 1), next(timeouts[i] - 1));
        CHECK_STEP(CANCEL, next(timeouts[i]));
        CHECK_OVER(END(EXPIRE, DEADLINE, 0));
    }
}

/* ---- any order ----------------------------------------------------------------------------- */

/* What is known of the operation from its steps and the calls alone. */
enum { IDLE, OUT, DUE }; /* copy 0 */

struct model {
    bool started, over;
    unsigned copy;
    retry_step end;
};

static void check_model(struct model *model, retry_step step)
{
    CHECK(step.what <= RETRY_DO_END);
    CHECK_EQUAL(0, step.copy);
    CHECK_EQUAL(0, step.node);
    switch (step.what) {
    case RETRY_DO_SEND:
        CHECK(model->started && !model->over && model->copy == IDLE);
        CHECK(step.timeout > 0);
        CHECK(step.verdict == 0 && step.cause == 0 && step.delay == 0);
        model->copy = OUT;
        break;
    case RETRY_DO_CANCEL:
        CHECK(model->copy != IDLE);
        CHECK(step.verdict == 0 && step.cause == 0 && step.delay == 0 && step.timeout == 0);
        model->copy = IDLE;
        break;
    case RETRY_DO_WAIT:
        CHECK(model->started && !model->over && model->copy != DUE);
        CHECK(step.delay > 0 && step.verdict == 0 && step.timeout == 0);
        CHECK_EQUAL(model->copy == OUT, step.cause == RETRY_CAUSE_NONE);
        CHECK(step.delay < UINT32_MAX || op.timeout == UINT32_MAX);
        break;
    default:
        CHECK(model->copy == IDLE);
        CHECK_EQUAL(0, step.timeout);
        if (model->over)
            check_step(model->end, step, __FILE__, __LINE__);
        model->over = model->started;
        model->end = step;
        break;
    }
}

/* Any call, right or wrong. What was sent ends once or is cancelled once, nothing is sent twice,
   and an END stays. */
static void test_any_order(void)
{
    static const retry_reason reasons[] = {
        RETRY_REASON_NONE,      RETRY_REASON_KV_LOCKED,         RETRY_REASON_KV_LOCKED,
        RETRY_REASON_KV_LOCKED, RETRY_REASON_KV_NOT_MY_VBUCKET, RETRY_REASON_SOCKET_NOT_AVAILABLE};
    uint32_t round, sends = 0, ends = 0, cancels = 0;
    retry_time elapsed = 0;
    struct model model;
    set_up();
    memset(&model, 0, sizeof model);
    client.cut_after = 100;
    for (round = 0; round < 200000 / CHECK_ONE_IN; round++) {
        uint32_t choice = check_random() >> 26;
        retry_step step;
        check_row("round %lu", (unsigned long)round);
        elapsed += check_random() >> 28;
        if (choice == 0)
            elapsed += 200;
        if (choice < 40) {
            step = next(elapsed);
            sends += step.what == RETRY_DO_SEND;
            cancels += step.what == RETRY_DO_CANCEL;
            ends += step.what == RETRY_DO_END;
            check_model(&model, step);
        } else if (choice < 50) {
            unsigned copy = choice == 40;
            if (choice < 44)
                retry_ended(&op, copy, NULL, at(elapsed));
            else
                FAILED(KV_LOCKED, elapsed);
            if (copy == 0)
                model.copy = IDLE;
        } else if (choice < 54) {
            failed(reasons[check_random() % CHECK_COUNT(reasons)], elapsed);
            model.copy = IDLE;
        } else if (choice == 54) {
            retry_stop(&op, at(elapsed));
            model.copy = model.copy == IDLE ? IDLE : DUE;
        } else if (choice >= 57 && choice < 59) {
            op.timeout = choice == 57 ? UINT32_MAX : 300 + choice;
            op.timeout = op.timeout == UINT32_MAX && round % 2 ? 700 : UINT32_MAX;
            retry_start(&op, NULL, at(elapsed));
            model.started = true;
            model.over = false;
            model.copy = model.copy == IDLE ? IDLE : DUE;
            retry_budget_deposit(&budget, 1000);
        } else if (choice >= 59 && choice < 61) {
            retry_answer(&op, retry_action_after(check_random() >> 26), at(elapsed));
        } else {
            answer = choice == 61   ? retry_action_pending()
                     : choice == 62 ? retry_action_none(RETRY_CAUSE_REFUSED)
                                    : retry_action_after(check_random() >> 26);
        }
    }
    CHECK(sends > 2000 / CHECK_ONE_IN && ends > 2000 / CHECK_ONE_IN);
    CHECK(cancels > 300 / CHECK_ONE_IN);
}

/* ---- any instant --------------------------------------------------------------------------- */

static void run_all(void)
{
    test_never_started();
    test_success_at_once();
    test_success_after_retries();
    test_delay_runs_from_the_end();
    test_always_retried();
    test_delay_of_the_end();
    test_deadline_before_a_try();
    test_timed_out();
    test_late_ends();
    test_timed_out_at_the_deadline();
    test_double_ends();
    test_start_with_a_copy_out();
    test_start_in_a_delay();
    test_stop_with_a_copy_out();
    test_stop_in_a_delay();
    test_pending();
    test_pending_answers();
    test_pending_until_the_deadline();
}

static void test_any_instant(void)
{
    static const retry_time starts[] = {0,          1,          0x7fffff00, 0x7fffffff,
                                        0x80000000, 0xfffffc00, 0xffffffff, 0xffffff9c};
    size_t i;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        start = starts[i];
        run_all();
    }
    start = START;
}

int main(void)
{
    RUN(test_sizes);
    RUN(test_null);
    RUN(test_never_started);
    RUN(test_success_at_once);
    RUN(test_success_after_retries);
    RUN(test_delay_runs_from_the_end);
    RUN(test_always_retried);
    RUN(test_order_to_wait);
    RUN(test_final_failures);
    RUN(test_delay_of_the_end);
    RUN(test_deadline_before_a_try);
    RUN(test_misuse_of_a_strategy);
    RUN(test_timed_out);
    RUN(test_late_ends);
    RUN(test_timed_out_at_the_deadline);
    RUN(test_time_of_a_copy);
    RUN(test_no_rounds_without_gates);
    RUN(test_time_of_the_last_copy);
    RUN(test_time_of_a_copy_after_a_rest);
    RUN(test_time_of_a_lone_copy);
    RUN(test_ends_of_no_copy);
    RUN(test_double_ends);
    RUN(test_failure_in_place);
    RUN(test_asked_too_often);
    RUN(test_clock_steps_back);
    RUN(test_start_with_a_copy_out);
    RUN(test_start_and_an_old_end);
    RUN(test_start_again_and_again);
    RUN(test_start_in_a_delay);
    RUN(test_start_clears);
    RUN(test_start_forgets_the_code);
    RUN(test_start_after_the_end);
    RUN(test_stop_before_a_copy);
    RUN(test_stop_with_a_copy_out);
    RUN(test_stop_and_a_late_end);
    RUN(test_stop_in_a_delay);
    RUN(test_stop_gives_back);
    RUN(test_stop_from_an_observer);
    RUN(test_stop_from_a_strategy);
    RUN(test_stop_from_an_observer_of_a_timeout);
    RUN(test_skip_wait);
    RUN(test_skip_no_wait);
    RUN(test_too_far_away);
    RUN(test_pending);
    RUN(test_pending_answers);
    RUN(test_answer_counts_the_failure);
    RUN(test_answer_of_no_kind);
    RUN(test_pending_again);
    RUN(test_pending_is_charged_once);
    RUN(test_pending_until_the_deadline);
    RUN(test_pending_without_an_end);
    RUN(test_answers_to_nothing);
    RUN(test_without_an_end);
    RUN(test_longest_delays);
    RUN(test_long_delay_is_over);
    RUN(test_long_copy_is_over);
    RUN(test_any_order);
    RUN(test_any_instant);
    return check_done();
}
