/* What each reason is taken for by a budget, by the AIMD limit, by the rate, and by the time of an
   attempt, as tests/support/reasons.h has it. (Breaker, throttle and latency: in their own tests.)
 */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/by_hand.h"
#include "../support/check.h"

/* One request after another of a client with a budget of ten tokens. */
struct payer {
    retry_client client;
    retry_budget budget;
    retry_policy policy;
    retry_operation request;
};

static void begin(struct payer *payer, bool charge_failures, uint32_t max_attempts)
{
    static const retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_budget_options options;
    memset(payer, 0, sizeof *payer);
    memset(&options, 0, sizeof options);
    options.capacity = RETRY_TOKENS(10);
    options.retry_cost = RETRY_TOKENS(1);
    options.charge_failures = charge_failures;
    retry_budget_init(&payer->budget, &options, 0);
    payer->policy = policy;
    payer->policy.max_attempts = max_attempts;
    payer->client.budget = &payer->budget;
    payer->client.strategy = &payer->policy.base;
    payer->request.client = &payer->client;
    payer->request.idempotent = true;
    retry_start(&payer->request, NULL, 0);
}

/* The tokens that are left, in thousandths. */
static uint32_t fail(struct payer *payer, retry_reason reason)
{
    retry_failure failure = check_failure_of(reason);
    decide(&payer->request, &failure, 0);
    return retry_budget_balance(&payer->budget);
}

static void test_budget(void)
{
    retry_reason reason;
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        reason_row row = reason_row_of(reason);
        bool load = row.budget == REASON_PAID;
        struct payer payer;
        check_row("%s", row.name);
        begin(&payer, false, 0);
        CHECK_EQUAL((row.budget & REASON_PAID) != 0 ? 9000 : 10000, fail(&payer, reason));
        begin(&payer, false, 2);
        CHECK_EQUAL(9000, fail(&payer, RETRY_REASON_KV_TEMPORARY_FAILURE));
        CHECK_EQUAL((row.budget & REASON_BACK) != 0 ? 10000 : 9000, fail(&payer, reason));
        begin(&payer, true, 0);
        CHECK_EQUAL(load ? 9000 : 10000, fail(&payer, reason));
    }
}

/* A limit of 10 hears of an attempt that failed at once. */
static uint32_t tell_limit(retry_aimd *aimd, retry_reason reason)
{
    retry_failure failure = check_failure_of(reason);
    return by_hand_aimd(aimd, &failure, UINT32_MAX, 1000, 1000);
}

/* The third of a row that counts lowers the limit. */
static void test_limit(void)
{
    const retry_reason counts = RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT;
    retry_reason reason;
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        reason_row row = reason_row_of(reason);
        retry_aimd aimd;
        check_row("%s", row.name);
        memset(&aimd, 0, sizeof aimd);
        aimd.max = 10;
        tell_limit(&aimd, counts);
        CHECK_EQUAL(10, tell_limit(&aimd, counts));
        CHECK_EQUAL(row.limit == REASON_COUNTS ? 5 : 10, tell_limit(&aimd, reason));
        CHECK_EQUAL(row.limit == REASON_ENDS ? 10 : 5, tell_limit(&aimd, counts));
    }
}

/* Half a second with an answer that throttles, and this one: an answer if it is not throttled. */
static void test_rate(void)
{
    retry_reason reason;
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        reason_row row = reason_row_of(reason);
        retry_failure throttled = check_failure_of(RETRY_REASON_NONE);
        retry_failure failure = check_failure_of(reason);
        retry_rate rate;
        retry_gates gates;
        check_row("%s", row.name);
        throttled.throttle = true;
        memset(&rate, 0, sizeof rate);
        memset(&gates, 0, sizeof gates);
        retry_gates_rate(&gates, &rate);
        by_hand_attempt(&gates, 0, 1000, &throttled, 1000);
        by_hand_attempt(&gates, 0, 1000, &failure, 1000);
        by_hand_ask(&gates, 0, 1500);
        CHECK_EQUAL(row.gates == REASON_NOTHING || (row.budget & REASON_BACK) != 0 ? 1000 : 2000,
                    retry_rate_get(&rate));
    }
}

/* The time of the next attempt, after an answer that took a second where 10 ms are usual. */
static void test_attempt_timeout(void)
{
    retry_reason reason;
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        reason_row row = reason_row_of(reason);
        retry_failure failure = check_failure_of(reason);
        retry_aimd aimd;
        retry_gates gates;
        struct by_hand hand;
        check_row("%s", row.name);
        memset(&aimd, 0, sizeof aimd);
        memset(&gates, 0, sizeof gates);
        retry_gates_aimd(&gates, &aimd);
        CHECK_EQUAL(RETRY_DO_SEND, by_hand_send(&hand, &gates, NULL, 0).what);
        by_hand_end(&hand, &failure, 1000);
        hand.op = by_hand_start(&hand.client, &gates, NULL, 1000);
        hand.client.cut_after = 10;
        CHECK_EQUAL(row.gates == REASON_ANSWER ? 2000 : 10, retry_next(&hand.op, 1000).timeout);
    }
}

int main(void)
{
    RUN(test_budget);
    RUN(test_limit);
    RUN(test_rate);
    RUN(test_attempt_timeout);
    return check_done();
}
