/* What an operation is told whose retry a gate refuses, and what goes back. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/steps.h"
#include "../support/gated.h"

/* What lies between the members of a step may differ. */
static void check_same_step(retry_step a, retry_step b)
{
    CHECK(a.what == b.what && a.copy == b.copy && a.verdict == b.verdict && a.cause == b.cause);
    CHECK(a.node == b.node && a.delay == b.delay && a.timeout == b.timeout);
}

/* What is so after each refusal of a retry. */
static void check_refused(uint8_t verdict, uint8_t cause, retry_ms delay, retry_step step,
                          retry_time now)
{
    retry_step again = retry_next(&op, check_after(now, 50));
    CHECK_EQUAL(RETRY_DO_END, step.what);
    CHECK_EQUAL(verdict, step.verdict);
    CHECK_EQUAL(cause, step.cause);
    CHECK_EQUAL(delay, step.delay);
    check_same_step(step, again);                      /* as often as it is asked */
    CHECK_EQUAL(10000, retry_budget_balance(&budget)); /* that retry was never made */
    CHECK_EQUAL(1, told);
    CHECK_EQUAL(verdict, told_decision.verdict);
    CHECK_EQUAL(cause, told_decision.cause);
    CHECK_EQUAL(delay, told_decision.delay);
    CHECK(!told_failure);
    CHECK_EQUAL(RETRY_REASON_KV_LOCKED, op.failure.reason); /* of the try before */
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(0, retry_left(&op, now));
}

static void test_circuit_open(void)
{
    set_up(1000, 0);
    fail_once();
    open_breaker();
    told = 0;
    check_refused(RETRY_VERDICT_FAIL, RETRY_CAUSE_CIRCUIT_OPEN, 400, retry_next(&op, START + 100),
                  START + 100);
}

/* Nobody knows when a probe is possible. */
static void test_isolated(void)
{
    set_up(1000, 0);
    fail_once();
    retry_gates_breaker(&gates, &breaker);
    retry_breaker_set(&breaker, RETRY_BREAKER_ISOLATED, START);
    told = 0;
    check_refused(RETRY_VERDICT_FAIL, RETRY_CAUSE_CIRCUIT_OPEN, 0, retry_next(&op, START + 100),
                  START + 100);
}

static void test_throttled(void)
{
    set_up(1000, 0);
    fail_once();
    overload_throttle();
    told = 0;
    check_refused(RETRY_VERDICT_FAIL, RETRY_CAUSE_THROTTLED, 0, retry_next(&op, START + 100),
                  START + 100);
    CHECK_EQUAL(1, drawn);
}

static void test_rate_refuses(void)
{
    set_up(10000, 0);
    fail_once();
    spend_rate(250);
    told = 0;
    check_refused(RETRY_VERDICT_FAIL, RETRY_CAUSE_THROTTLED, 900, retry_next(&op, START + 100),
                  START + 100);
}

/* A wait of `wait` ms is too long. */
static void test_rate_waits(void)
{
    set_up(10000, 0);
    spend_rate(900);
    CHECK_EQUAL(900, CHECK_END(FAIL, THROTTLED, retry_next(&op, START + 100)).delay);
    set_up(10000, 0);
    spend_rate(901);
    CHECK_EQUAL(900, CHECK_WAIT(PACED, retry_next(&op, START + 100)).delay);
}

/* A wait that leaves an attempt less than half of its time is an end at once. */
static void test_rate_leaves_no_time(void)
{
    set_up(1000, 0);
    fail_once();
    spend_rate(5000);
    told = 0;
    check_refused(RETRY_VERDICT_EXPIRE, RETRY_CAUSE_DEADLINE, 900, retry_next(&op, START + 100),
                  START + 100);
}

/* However long a try waits, it is drawn once whether it may be made. */
static void test_throttle_draws_once(void)
{
    retry_operation first;
    retry_time now = START;
    uint32_t i;
    set_up(1000, 0);
    overload_throttle();
    aimd.max = 1;
    draw_next = UINT32_MAX;
    first = other(START);
    CHECK_SEND(retry_next(&first, START));
    retry_gates_aimd(&gates, &aimd);
    CHECK_WAIT(PACED, retry_next(&op, now));
    draw_next = 0; /* would be refused now */
    for (i = 0; i < 10; i++)
        CHECK_WAIT(PACED, retry_next(&op, ++now));
    retry_ended(&first, 0, NULL, now);
    CHECK_SEND(retry_next(&op, now));
    retry_start(&op, NULL, now); /* another try */
    CHECK_CANCEL(retry_next(&op, now));
    CHECK_END(FAIL, THROTTLED, retry_next(&op, now));
}

/* The retry of an operation is drawn anew. */
static void test_throttle_draws_each_try(void)
{
    set_up(1000, 0);
    overload_throttle();
    draw_next = UINT32_MAX;
    fail_once();
    draw_next = 0;
    CHECK_END(FAIL, THROTTLED, retry_next(&op, START + 10));
}

int main(void)
{
    RUN(test_circuit_open);
    RUN(test_isolated);
    RUN(test_throttled);
    RUN(test_rate_refuses);
    RUN(test_rate_waits);
    RUN(test_rate_leaves_no_time);
    RUN(test_throttle_draws_once);
    RUN(test_throttle_draws_each_try);
    return check_done();
}
