/* How a budget holds the load down while a server fails: the preset of best effort, and a failure
   rate. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/budgets.h"

/* Four retries at first, or one after a timeout or a throttled answer; then eighty for one that is
   in flight, nothing for what fails, and two for five that succeed. */
static void test_best_effort_pays(void)
{
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(1);
    retry_budget budget;
    retry_client client = client_of(&budget);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op;
    unsigned i, retries = 0;
    options.base_per_second = 0; /* nobody waits for more */
    for (i = 0; i < 2; i++) {
        retry_budget_init(&budget, &options, START);
        failure.timeout = i == 0;
        failure.throttle = i != 0;
        op = begun(&client);
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
        CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide(&op, &failure, START));
    }
    failure.throttle = false;
    retry_budget_init(&budget, &options, START);
    op = begun(&client);
    for (i = 0; i < 4; i++)
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide(&op, &failure, START));
    for (i = 0; i < 300; i++) {
        retry_start(&op, NULL, START);
        CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    }
    retry_start(&op, NULL, START);
    for (i = 0; i < 80; i++)
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide(&op, &failure, START));
    for (i = 0; i < 1000; i++) {
        CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_once(&client, RETRY_REASON_KV_LOCKED));
        retry_start(&op, NULL, START);
        CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
        if (retry_budget_balance(&budget) >= 250)
            retries += fail_once(&client, RETRY_REASON_KV_LOCKED).verdict == RETRY_VERDICT_RETRY;
    }
    CHECK_EQUAL(400, retries);
}

/* A tenth of `rate` successes a second, of which the last ten seconds count, is a second's worth.
 */
static void test_expire_holds_a_second(void)
{
    static const uint32_t rates[] = {20, 50, 100, 500};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rates); i++) {
        retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(100);
        retry_budget budget;
        retry_client client = client_of(&budget);
        retry_operation op = begun(NULL);
        uint32_t step = 1000 / rates[i], now;
        retry_budget_init(&budget, &options, START);
        op.client = &client;
        for (now = 0; now < 60000; now += step) {
            retry_start(&op, NULL, check_after(START, now));
            CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, check_after(START, now)));
        }
        check_row("%lu a second", (unsigned long)rates[i]);
        CHECK_RANGE(rates[i] * 970 + 900, rates[i] * 1010 + 1100, retry_budget_balance(&budget));
    }
}

#define CALLS (UINT32_C(100000) / CHECK_ONE_IN)

/* Attempts made for CALLS calls of up to three retries each. */
static unsigned long load(retry_budget *budget, unsigned percent)
{
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_backoff plain = RETRY_BACKOFF_RFC0049;
    retry_client client = client_of(budget);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op = begun(NULL);
    unsigned long attempts = 0;
    uint32_t i;
    policy.backoff = plain;
    policy.max_attempts = 4;
    client.strategy = &policy.base;
    op.client = &client;
    for (i = 0; i < CALLS; i++) {
        bool done = false;
        retry_start(&op, NULL, START);
        while (!done) {
            attempts++;
            if (check_random() % 100 >= percent)
                done = decide(&op, NULL, START).verdict == RETRY_VERDICT_SUCCESS;
            else
                done = decide(&op, &failure, START).verdict != RETRY_VERDICT_RETRY;
        }
    }
    return attempts;
}

static void test_load(void)
{
    static const struct {
        unsigned percent;
        double with, without;
    } rows[] = {{5, 1.053, 1.053},
                {10, 1.099, 1.112},
                {20, 1.088, 1.247},
                {50, 1.053, 1.874},
                {100, 1.0005, 4.0}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options = options_of(50000, 1000);
        retry_budget budget;
        double with, without;
        options.success_deposit = 100;
        retry_budget_init(&budget, &options, START);
        with = (double)load(&budget, rows[i].percent) / CALLS;
        without = (double)load(NULL, rows[i].percent) / CALLS;
        check_row("%u %%: %.4f with a bucket, %.4f without", rows[i].percent, with, without);
        CHECK(with > rows[i].with * 0.98 && with < rows[i].with * 1.02);
        CHECK(without > rows[i].without * 0.98 && without < rows[i].without * 1.02);
    }
}

int main(void)
{
    RUN(test_best_effort_pays);
    RUN(test_expire_holds_a_second);
    RUN(test_load);
    return check_done();
}
