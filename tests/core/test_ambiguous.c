/* Whether a failed operation may have happened all the same: op.ambiguous. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"

#define START ((retry_time)5000)

static retry_action answer; /* what the strategy below says */

static retry_action answering_after(const retry_strategy *self, const retry_operation *op,
                                    const retry_failure *failure, retry_time now)
{
    (void)self, (void)op, (void)failure, (void)now;
    return answer;
}

static const retry_strategy answering = {answering_after};

static retry_budget budget;
static retry_client client;
static retry_operation op;
static retry_failure failure;

static void set_up(void)
{
    const retry_budget_options options = options_of(10000, 1000);
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    retry_budget_init(&budget, &options, START);
    client.strategy = &answering;
    client.budget = &budget;
    op.client = &client;
    failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    answer = retry_action_after(20);
    retry_start(&op, NULL, START);
}

/* The rule as it is written: not safe, and a reason that neither allows it nor is a NONE without
   the server's fault. */
static bool may_have_happened(const retry_failure *f)
{
    if (f->safety == RETRY_SAFETY_YES)
        return false;
    if (retry_reason_allows_non_idempotent(f->reason))
        return false;
    return !(f->reason == RETRY_REASON_NONE && f->fault != RETRY_FAULT_SERVER);
}

static void test_rule(void)
{
    unsigned reason, safety, fault;
    set_up();
    for (reason = 0; reason < 0x200; reason++) {
        for (safety = 0; safety < 5; safety++) {
            for (fault = 0; fault < 5; fault++) {
                retry_start(&op, NULL, START);
                failure.reason = (retry_reason)reason;
                failure.safety = (uint8_t)safety;
                failure.fault = (uint8_t)fault;
                check_row("reason 0x%02x, safety %u, fault %u", reason, safety, fault);
                CHECK(!op.ambiguous);
                decide(&op, &failure, START);
                CHECK_EQUAL(may_have_happened(&failure), op.ambiguous);
            }
        }
    }
}

/* The reasons of the table that leave it open, by name; no other. */
static void test_reasons(void)
{
    static const retry_reason open[] = {RETRY_REASON_UNKNOWN,
                                        RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT,
                                        RETRY_REASON_ATTEMPT_TIMED_OUT, RETRY_REASON_SERVER_ERROR};
    unsigned reason, found = 0;
    size_t i;
    set_up();
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        bool expected = false;
        for (i = 0; i < CHECK_COUNT(open); i++)
            expected = expected || open[i] == reason;
        failure.reason = (retry_reason)reason;
        retry_start(&op, NULL, START);
        decide(&op, &failure, START);
        check_row("%s", retry_reason_name((retry_reason)reason));
        CHECK_EQUAL(expected, op.ambiguous);
        found += op.ambiguous;
    }
    CHECK_EQUAL(CHECK_COUNT(open), found);
}

/* Whatever else the failure says, and whatever is decided. */
static void test_whatever_is_decided(void)
{
    set_up();
    failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    CHECK(op.ambiguous);
    retry_start(&op, NULL, START);
    failure.pushback = true;
    failure.retry_after = UINT32_MAX;
    CHECK_DECISION(FAIL, PUSHBACK, decide(&op, &failure, START));
    CHECK(op.ambiguous);
    retry_start(&op, NULL, START);
    failure.pushback = false;
    failure.safety = RETRY_SAFETY_NO;
    CHECK_DECISION(FAIL, UNSAFE, decide(&op, &failure, START));
    CHECK(op.ambiguous);
    retry_start(&op, NULL, START);
    failure.safety = RETRY_SAFETY_MAYBE;
    op.strategy = retry_best_effort();
    CHECK_DECISION(FAIL, NOT_IDEMPOTENT, decide(&op, &failure, START));
    CHECK(op.ambiguous);
    retry_start(&op, NULL, START);
    op.idempotent = true;
    op.timeout = 10;
    CHECK_DECISION(EXPIRE, DEADLINE, decide(&op, &failure, START + 10));
    CHECK(op.ambiguous);
    retry_start(&op, NULL, START);
    op.timeout = UINT32_MAX;
    CHECK(retry_budget_withdraw(&budget, retry_budget_balance(&budget), START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide(&op, &failure, START));
    CHECK(op.ambiguous);
}

/* Some failed attempt, not the last: it stays until the operation succeeds or begins anew. */
static void test_stays(void)
{
    set_up();
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    CHECK(!op.ambiguous);
    failure.reason = RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT;
    answer = retry_action_pending();
    CHECK_LATER(decide(&op, &failure, START));
    CHECK(op.ambiguous);
    CHECK_DECISION(RETRY, STRATEGY, decide_later(&op, retry_action_after(1), START));
    CHECK(op.ambiguous);
    failure.reason = RETRY_REASON_NONE;
    CHECK_DECISION(FAIL, NOT_RETRYABLE, decide(&op, &failure, START));
    CHECK(op.ambiguous);
    retry_start(&op, NULL, START);
    CHECK(!op.ambiguous);
    failure.reason = RETRY_REASON_SERVER_ERROR;
    answer = retry_action_after(1);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    CHECK(op.ambiguous);
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    CHECK(!op.ambiguous); /* what was perhaps done is now done */
}

/* An operation that is stopped between two attempts is what its attempts made of it. */
static void test_stopped(void)
{
    set_up();
    retry_stop(&op, START);
    CHECK(!op.ambiguous);
    retry_start(&op, NULL, START);
    failure.reason = RETRY_REASON_KV_LOCKED;
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    retry_stop(&op, START);
    CHECK(!op.ambiguous);
    retry_start(&op, NULL, START);
    failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    retry_stop(&op, START);
    CHECK(op.ambiguous);
}

int main(void)
{
    RUN(test_rule);
    RUN(test_reasons);
    RUN(test_whatever_is_decided);
    RUN(test_stays);
    RUN(test_stopped);
    return check_done();
}
