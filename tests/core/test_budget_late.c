/* The last retries that a bucket pays for come late. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/budgets.h"

static uint32_t drawn;

static uint32_t draw(void *context)
{
    (void)context;
    return drawn;
}

/* The delay that the recommended policy gives a retry, of a request with so many ms left, at an
   instant, to whose budget so much was left at START. */
static retry_ms delay_at(const retry_policy *policy, const retry_budget_options *options,
                         uint32_t balance, retry_ms left, const retry_failure *failure,
                         retry_time now)
{
    retry_budget budget;
    retry_client client = client_of(&budget);
    retry_operation op;
    decided decision;
    retry_budget_init(&budget, options, START);
    CHECK(retry_budget_withdraw(&budget, retry_budget_balance(&budget), START));
    retry_budget_deposit(&budget, balance);
    client.strategy = &policy->base;
    client.random = draw;
    memset(&op, 0, sizeof op);
    op.client = &client;
    op.timeout = 10000;
    op.idempotent = true;
    retry_start(&op, NULL, check_before(now, 10000 - left));
    decision = decide(&op, failure, now);
    CHECK_DECISION(RETRY, STRATEGY, decision);
    return decision.delay;
}

/* 100 ms to 5 s, and to 10 s when throttled. */
static retry_policy recommended(void)
{
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    policy.backoff.initial = 100;
    policy.backoff.max = 5000;
    return policy;
}

/* From less than half of the base on, to the thousandth: the longest delay to half more. */
static void test_last_retries_come_late(void)
{
    static const struct {
        uint32_t balance;
        bool late;
    } rows[] = {{250, true}, {499, true}, {500, false}, {501, false}, {1000, false}, {9000, false}};
    static const uint32_t draws[] = {0, 0x80000000, UINT32_MAX};
    static const retry_ms quick[] = {1, 51, 100}, late[] = {5000, 6250, 7500};
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(20);
    const retry_policy policy = recommended();
    const retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (j = 0; j < CHECK_COUNT(draws); j++) {
            retry_ms want = rows[i].late ? late[j] : quick[j];
            check_row("balance %lu, draw %u", (unsigned long)rows[i].balance, (unsigned)j);
            drawn = draws[j];
            CHECK_RANGE(want - 1, want + 1,
                        delay_at(&policy, &options, rows[i].balance, 10000, &failure, START));
        }
    }
}

/* An attempt has an eighth of the timeout left; of a throttled one its own backoff counts. */
static void test_late_leaves_time(void)
{
    static const struct {
        retry_ms left, delay;
    } rows[] = {{10000, 7500}, {8750, 7500}, {8749, 7499}, {5334, 4084}, {2500, 1250}};
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(20);
    const retry_policy policy = recommended();
    retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    size_t i;
    drawn = UINT32_MAX;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("%lu ms left", (unsigned long)rows[i].left);
        CHECK_EQUAL(rows[i].delay, delay_at(&policy, &options, 499, rows[i].left, &failure, START));
    }
    options.retry_cost = options.throttle_cost = 250;
    failure.throttle = true;
    check_row("throttled");
    CHECK_EQUAL(8750, delay_at(&policy, &options, 499, 10000, &failure, START));
    drawn = 0;
    CHECK_EQUAL(7657, delay_at(&policy, &options, 499, 10000, &failure, START));
    failure.retry_after = 8000; /* the server knows better */
    CHECK_EQUAL(8000, delay_at(&policy, &options, 499, 10000, &failure, START));
}

/* Exempt: what reached nobody, a bucket that does not expire, and a backoff without a cap, which
   has no longest delay. */
static void test_late_is_not(void)
{
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(20);
    retry_policy policy = recommended();
    retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    size_t i;
    drawn = UINT32_MAX;
    for (i = 0; i < CHECK_COUNT(unsent); i++) {
        failure = unsent_failure(i);
        CHECK_EQUAL(100, delay_at(&policy, &options, 300, 10000, &failure, START));
    }
    check_row("others");
    failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    options.expire = 0;
    CHECK_EQUAL(100, delay_at(&policy, &options, 300, 10000, &failure, START));
    options.expire = 10000;
    policy.backoff.max = 0;
    CHECK_EQUAL(100, delay_at(&policy, &options, 300, 10000, &failure, START));
}

/* What has come in since the budget was asked last counts: after a pause it is not poor any more.
 */
static void test_late_after_a_pause(void)
{
    static const struct {
        retry_ms idle;
        bool late;
    } rows[] = {{0, true}, {3999, true}, {4000, false}, {20000, false}, {86400000, false}};
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(20);
    const retry_policy policy = recommended();
    const retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    size_t i;
    drawn = UINT32_MAX;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_time now = check_after(START, rows[i].idle);
        check_row("after %lu ms", (unsigned long)rows[i].idle);
        CHECK_EQUAL(rows[i].late ? 7500 : 100,
                    delay_at(&policy, &options, 300, 10000, &failure, now));
    }
}

/* A curve that grows slowly has the same longest delay. */
static void test_late_of_a_flat_curve(void)
{
    static const double factors[] = {1.05, 1.1, 1.6, 4};
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(20);
    retry_policy policy = recommended();
    const retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    size_t i;
    drawn = 0;
    for (i = 0; i < CHECK_COUNT(factors); i++) {
        policy.backoff.factor = RETRY_RATIO(factors[i]);
        check_row("factor %g", factors[i]);
        CHECK_EQUAL(5000, delay_at(&policy, &options, 300, 10000, &failure, START));
    }
}

int main(void)
{
    RUN(test_last_retries_come_late);
    RUN(test_late_leaves_time);
    RUN(test_late_is_not);
    RUN(test_late_after_a_pause);
    RUN(test_late_of_a_flat_curve);
    return check_done();
}
