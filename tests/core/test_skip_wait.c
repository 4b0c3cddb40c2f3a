/* The network is back: an operation that waits to try again does so at once, and one that waits for
   anything else goes on waiting. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"
#include "../support/steps.h"

#define START ((retry_time)-300) /* over the wrap */
#define AT(elapsed) check_after(START, (elapsed))

static retry_budget budget;
static retry_gates gates;
static retry_client client;
static retry_operation op;
static retry_failure failure;
static unsigned told;

static void tell(void *context, const retry_operation *request, const retry_failure *f)
{
    (void)context;
    (void)request;
    (void)f;
    told++;
}

static retry_action answer; /* what the strategy below says */

static retry_action answering_after(const retry_strategy *self, const retry_operation *request,
                                    const retry_failure *f, retry_time now)
{
    (void)self;
    (void)request;
    (void)f;
    (void)now;
    return answer;
}

/* An operation of a minute that has not begun its first attempt; a retry waits 1 s and costs 1 of
   10 tokens. */
static void set_up(void)
{
    static const retry_strategy answering = {answering_after};
    const retry_budget_options options = options_of(10000, 1000);
    memset(&client, 0, sizeof client);
    memset(&gates, 0, sizeof gates);
    memset(&op, 0, sizeof op);
    memset(&failure, 0, sizeof failure);
    retry_budget_init(&budget, &options, START);
    answer = retry_action_after(1000);
    client.strategy = &answering;
    client.budget = &budget;
    client.observe = tell;
    op.client = &client;
    op.timeout = 60000;
    failure.reason = RETRY_REASON_KV_LOCKED;
    retry_start(&op, NULL, START);
}

/* Sends an attempt, which fails. */
static void fail_at(retry_time now)
{
    CHECK_SEND(retry_next(&op, now));
    retry_ended(&op, 0, &failure, now);
}

static void test_delays_of_a_retry(void)
{
    static const struct {
        const char *name;
        retry_reason reason;
        bool pushback;
        retry_ms retry_after, delay, left;
    } rows[] = {
        {"a strategy's", RETRY_REASON_KV_LOCKED, false, 0, 1000, 0},
        {"always", RETRY_REASON_KV_NOT_MY_VBUCKET, false, 0, 1, 0},
        {"the server's order", RETRY_REASON_KV_LOCKED, true, 30000, 30000, 30000},
        {"an order to wait always", RETRY_REASON_KV_NOT_MY_VBUCKET, true, 30000, 30000, 30000},
        {"less than the strategy's", RETRY_REASON_KV_LOCKED, false, 300, 1000, 300},
        {"1 ms", RETRY_REASON_KV_LOCKED, false, 1, 1000, 1},
        {"as much", RETRY_REASON_KV_LOCKED, false, 1000, 1000, 1000},
        {"more than the strategy obeys", RETRY_REASON_KV_LOCKED, false, 30000, 1000, 1000},
        {"more than any", RETRY_REASON_KV_LOCKED, false, UINT32_MAX, 1000, 1000},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_step step;
        set_up();
        op.timeout = UINT32_MAX;
        failure.reason = rows[i].reason;
        failure.pushback = rows[i].pushback;
        failure.retry_after = rows[i].retry_after;
        fail_at(START);
        step = retry_next(&op, START);
        check_row("%s", rows[i].name);
        CHECK_EQUAL(RETRY_DO_WAIT, step.what);
        CHECK_EQUAL(rows[i].delay, step.delay);
        told = 0;
        retry_skip_wait(&op, AT(100));
        retry_skip_wait(&op, START);
        CHECK_EQUAL(rows[i].delay, op.delay); /* what was decided */
        if (rows[i].left != 0) {
            step = retry_next(&op, AT(rows[i].left - 1));
            CHECK_EQUAL(RETRY_DO_WAIT, step.what);
            CHECK_EQUAL(1, step.delay);
        }
        CHECK_SEND(retry_next(&op, AT(rows[i].left)));
        CHECK_EQUAL(0, told);
        CHECK_EQUAL(1, op.retries);
        retry_ended(&op, 0, &failure, AT(rows[i].left)); /* the next delay is waited for */
        step = retry_next(&op, AT(rows[i].left));
        CHECK_EQUAL(RETRY_DO_WAIT, step.what);
        CHECK(step.delay >= rows[i].delay);
    }
}

/* Whenever it comes, and to whichever of two threads' clocks. */
static void test_any_time(void)
{
    static const retry_ms delays[] = {1, 1000, 0x7fffffff, 0x80000000u, UINT32_MAX};
    static const retry_ms passed[] = {0, 1, 500, 999};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(delays); i++) {
        for (j = 0; j < CHECK_COUNT(passed); j++) {
            set_up();
            op.timeout = UINT32_MAX;
            answer = retry_action_after(delays[i]);
            fail_at(START);
            retry_skip_wait(&op, AT(passed[j]));
            check_row("delay %lu, after %lu", (unsigned long)delays[i], (unsigned long)passed[j]);
            CHECK_SEND(retry_next(&op, AT(passed[j])));
        }
    }
    set_up();
    fail_at(START);
    retry_skip_wait(&op, START - 20); /* of a clock that is behind */
    CHECK_SEND(retry_next(&op, START));
    set_up();
    fail_at(START);
    retry_skip_wait(&op, START);
    CHECK_SEND(retry_next(&op, START - 20)); /* it is over for both */
}

static void test_charge_and_deadline(void)
{
    set_up();
    fail_at(START);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_skip_wait(&op, START);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_stop(&op, START);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    set_up();
    fail_at(AT(58000));
    retry_skip_wait(&op, AT(60000));
    CHECK_END(EXPIRE, DEADLINE, retry_next(&op, AT(60000)));
}

/* ---- what goes on ---------------------------------------------------------------------------- */

static void test_first_attempt(void)
{
    set_up();
    retry_skip_wait(&op, START);
    CHECK_SEND(retry_next(&op, START));
}

static void test_copy_on_the_wire(void)
{
    set_up();
    CHECK_SEND(retry_next(&op, START));
    retry_skip_wait(&op, AT(10));
    CHECK_EQUAL(60000 - 10, CHECK_WAIT(NONE, retry_next(&op, AT(10))).delay);
    retry_ended(&op, 0, &failure, AT(20));
    CHECK_EQUAL(1000, CHECK_WAIT(STRATEGY, retry_next(&op, AT(20))).delay);
}

static void test_pending(void)
{
    set_up();
    answer = retry_action_pending();
    fail_at(START);
    retry_skip_wait(&op, AT(10));
    CHECK_EQUAL(60000 - 10, CHECK_WAIT(PENDING, retry_next(&op, AT(10))).delay);
    retry_answer(&op, retry_action_after(500), AT(20));
    CHECK_EQUAL(500, CHECK_WAIT(STRATEGY, retry_next(&op, AT(20))).delay);
}

/* No place at the server: a turn is a turn. */
static void test_paced(void)
{
    static retry_aimd limit;
    memset(&limit, 0, sizeof limit);
    set_up();
    limit.max = 1;
    retry_gates_aimd(&gates, &limit);
    client.gates = &gates;
    gates.in_flight = 1; /* somebody else's */
    CHECK_WAIT(PACED, retry_next(&op, START));
    retry_skip_wait(&op, START);
    CHECK_WAIT(PACED, retry_next(&op, START));
    gates.in_flight = 0;
    fail_at(AT(200));
    gates.in_flight = 1;
    CHECK_WAIT(STRATEGY, retry_next(&op, AT(200)));
    retry_skip_wait(&op, AT(200)); /* and then it waits for its place */
    CHECK_WAIT(PACED, retry_next(&op, AT(200)));
}

static void test_over(void)
{
    set_up();
    CHECK_SEND(retry_next(&op, START));
    retry_ended(&op, 0, NULL, START);
    retry_skip_wait(&op, START);
    CHECK_END(SUCCESS, NONE, retry_next(&op, START));
    set_up();
    answer = retry_action_after(90000);
    fail_at(AT(10000)); /* too far away: END tells what was left */
    retry_skip_wait(&op, AT(10000));
    CHECK_EQUAL(50000, CHECK_END(EXPIRE, DEADLINE, retry_next(&op, AT(10000))).delay);
    set_up();
    fail_at(START);
    retry_stop(&op, START);
    retry_skip_wait(&op, START);
    CHECK_END(FAIL, CANCELLED, retry_next(&op, START));
}

static void test_not_started(void)
{
    retry_operation zeroed, before;
    memset(&zeroed, 0, sizeof zeroed);
    memset(&before, 0, sizeof before);
    retry_skip_wait(NULL, START);
    retry_skip_wait(&zeroed, START);
    CHECK(memcmp(&before, &zeroed, sizeof zeroed) == 0);
}

int main(void)
{
    RUN(test_delays_of_a_retry);
    RUN(test_any_time);
    RUN(test_charge_and_deadline);
    RUN(test_first_attempt);
    RUN(test_copy_on_the_wire);
    RUN(test_pending);
    RUN(test_paced);
    RUN(test_over);
    RUN(test_not_started);
    return check_done();
}
