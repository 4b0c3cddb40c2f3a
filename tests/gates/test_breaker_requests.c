/* The circuit breaker beside the rest of retry.h: what a response counts for, and what a refusal
   does to a request. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

/* A breaker that a single sick report opens for 900 ms. */
static retry_breaker hasty(void)
{
    retry_breaker breaker;
    memset(&breaker, 0, sizeof breaker);
    breaker.volume = 1;
    breaker.open = 900;
    return breaker;
}

static void test_responses(void)
{
    static const struct {
        int status;
        bool opens;
    } rows[] = {{408, true}, {429, false}, {500, true}, {404, false}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_breaker breaker = hasty();
        retry_failure failure = retry_classify_http(rows[i].status, 0);
        check_row("%d", rows[i].status);
        CHECK_EQUAL(
            rows[i].opens,
            retry_breaker_report(&breaker, retry_breaker_ask(&breaker, true, 0), &failure, 0));
    }
}

/* Flags of an application's own reason say nothing of the node. That the server is at fault does.
 */
static void test_own_reason(void)
{
    uint8_t fault;
    for (fault = RETRY_FAULT_OTHER; fault <= RETRY_FAULT_SERVER; fault++) {
        retry_breaker breaker = hasty();
        retry_failure failure =
            check_failure_of(RETRY_REASON_USER(3, RETRY_REASON_ALLOWS_NON_IDEMPOTENT));
        bool opens = fault == RETRY_FAULT_SERVER;
        check_row("fault %u", (unsigned)fault);
        failure.fault = fault;
        CHECK_EQUAL(opens, retry_breaker_report(&breaker, retry_breaker_ask(&breaker, true, 0),
                                                &failure, 0));
        CHECK_EQUAL(1, retry_breaker_get(&breaker, 0).reports);
        CHECK_EQUAL(opens ? 1 : 0, retry_breaker_get(&breaker, 0).sick);
    }
}

/* The retry waits for the probe; if that is past the deadline the operation expires. */
static void test_orchestrate(void)
{
    retry_breaker breaker = hasty();
    retry_failure failure = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    retry_operation op;
    decided decision;
    CHECK(retry_breaker_report(&breaker, retry_breaker_ask(&breaker, true, 0), &failure, 0));
    failure = retry_classify_permit(retry_breaker_ask(&breaker, true, 100));
    memset(&op, 0, sizeof op);
    op.client = default_client();
    op.timeout = 901;
    retry_start(&op, NULL, 100);
    decision = decide(&op, &failure, 100);
    CHECK_DECISION(RETRY, STRATEGY, decision);
    CHECK_EQUAL(900, decision.delay);
    op.timeout = 900;
    retry_start(&op, NULL, 100);
    decision = decide(&op, &failure, 100);
    CHECK_DECISION(EXPIRE, DEADLINE, decision);
}

int main(void)
{
    RUN(test_responses);
    RUN(test_own_reason);
    RUN(test_orchestrate);
    return check_done();
}
