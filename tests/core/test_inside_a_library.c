/* The manual's chapter INSIDE A LIBRARY: what a user's 0 means and what it means here, row by row;
   random numbers of too few bits; what a binding allocates. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#include <stdlib.h>

#define START ((retry_time)-3000)
#define DAYS_40 (UINT32_C(40) * 24 * 3600 * 1000)
#define SENDS 100u

static retry_client client;
static retry_policy policy;
static retry_operation request;

/* An idempotent request of a client with a policy whose delays have no jitter. */
static void set_up(void)
{
    retry_policy usual = RETRY_POLICY_SMITHY;
    memset(&client, 0, sizeof client);
    memset(&request, 0, sizeof request);
    policy = usual;
    policy.backoff.jitter = RETRY_JITTER_NONE;
    policy.max_attempts = 0;
    client.strategy = &policy.base;
    request.client = &client;
    request.idempotent = true;
}

static decided fails(retry_ms retry_after, retry_time now)
{
    retry_failure failure = retry_classify_http(503, retry_after);
    return decide(&request, &failure, now);
}

/* ---- what 0 means -------------------------------------------------------------------------- */

static void test_timeout(void)
{
    set_up();
    retry_start(&request, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, fails(0, check_after(START, 73999)));
    CHECK_DECISION(EXPIRE, DEADLINE, fails(0, check_after(START, 74000)));
    set_up();
    request.timeout = UINT32_MAX;
    retry_start(&request, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, fails(0, check_after(START, 75000)));
    CHECK_DECISION(RETRY, STRATEGY, fails(0, check_after(START, DAYS_40)));
}

static void test_attempt_timeout(void)
{
    retry_operation op;
    set_up();
    memset(&op, 0, sizeof op);
    op.client = &client;
    op.timeout = UINT32_MAX;
    retry_start(&op, NULL, START);
    CHECK_EQUAL(UINT32_MAX, retry_next(&op, START).timeout);
    CHECK_EQUAL(RETRY_DO_WAIT, retry_next(&op, check_after(START, DAYS_40)).what);
    retry_stop(&op, check_after(START, DAYS_40));
}

static void test_retries(void)
{
    unsigned n, i;
    for (n = 0; n < 4; n++) {
        check_row("%u retries", n);
        set_up();
        policy.max_attempts = n + 1;
        retry_start(&request, NULL, START);
        for (i = 0; i < n; i++)
            CHECK_DECISION(RETRY, STRATEGY, fails(0, START));
        CHECK_DECISION(FAIL, ATTEMPTS_EXHAUSTED, fails(0, START));
    }
    check_row("0");
    set_up();
    retry_start(&request, NULL, START);
    for (i = 0; i < 1000; i++)
        CHECK_DECISION(RETRY, STRATEGY, fails(0, START));
}

static void test_delay(void)
{
    static const retry_ms at_once[] = {0};
    uint8_t jitter;
    unsigned i;
    for (jitter = RETRY_JITTER_DEFAULT; jitter <= RETRY_JITTER_SPREAD; jitter++) {
        check_row("jitter %u", jitter);
        set_up();
        policy.backoff.jitter = jitter;
        policy.backoff.curve = RETRY_CURVE_TABLE;
        policy.backoff.table = at_once;
        policy.backoff.table_length = 1;
        retry_start(&request, NULL, START);
        for (i = 0; i < 100; i++)
            CHECK_EQUAL(0, fails(0, START).delay);
    }
    check_row("0");
    set_up();
    policy.backoff.initial = 0;
    retry_start(&request, NULL, START);
    CHECK_EQUAL(1, fails(0, START).delay);
}

static uint32_t lowest(void *context)
{
    (void)context;
    return 0;
}

static void test_jitter(void)
{
    set_up();
    client.random = lowest;
    retry_start(&request, NULL, START);
    CHECK_EQUAL(1000, fails(0, START).delay);
    check_row("0");
    policy.backoff.jitter = 0;
    retry_start(&request, NULL, START);
    CHECK_EQUAL(0, fails(0, START).delay);
    policy.backoff.jitter = RETRY_JITTER_SPREAD;
    policy.backoff.spread = 0;
    retry_start(&request, NULL, START);
    CHECK_EQUAL(800, fails(0, START).delay);
}

static void test_longest_delay(void)
{
    set_up();
    policy.backoff.max = 0;
    CHECK_EQUAL(UINT32_C(1000) << 20, retry_backoff_base(&policy.backoff, 20));
    CHECK_EQUAL(UINT32_MAX, retry_backoff_base(&policy.backoff, 40));
}

static void test_retry_after(void)
{
    set_up();
    policy.retry_after_spread = 1; /* nothing */
    request.timeout = UINT32_MAX;
    retry_start(&request, NULL, START);
    CHECK_EQUAL(DAYS_40 / 2, fails(DAYS_40 / 2, START).delay);
    CHECK_EQUAL(0x80000000u, fails(DAYS_40, START).delay); /* the clock measures no more */
}

/* How many of SENDS operations are sent at once; all are stopped then. */
static unsigned sent(void)
{
    static retry_operation ops[SENDS];
    unsigned i, count = 0;
    memset(ops, 0, sizeof ops);
    for (i = 0; i < SENDS; i++) {
        ops[i].client = &client;
        retry_start(&ops[i], NULL, START);
        count += retry_next(&ops[i], START).what == RETRY_DO_SEND;
    }
    for (i = 0; i < SENDS; i++)
        retry_stop(&ops[i], START);
    return count;
}

static void test_at_once_and_a_second(void)
{
    static retry_gates gates; /* zero, as all of these */
    static retry_aimd limit;
    static retry_rate rate;
    static retry_service service;
    set_up();
    client.gates = &gates;
    CHECK_EQUAL(SENDS, sent());
    retry_gates_rate(&gates, &rate);
    CHECK_EQUAL(SENDS, sent());
    CHECK_EQUAL(UINT32_MAX, retry_rate_get(&rate));
    retry_gates_aimd(&gates, &limit);
    CHECK_EQUAL(20, sent());
    retry_service_init(&service, START);
    client = service.client;
    CHECK_EQUAL(20, sent());
}

static void test_budget(void)
{
    static retry_budget budget; /* zero */
    retry_budget_options options;
    unsigned i;
    memset(&options, 0, sizeof options);
    retry_budget_init(&budget, &options, START);
    set_up();
    client.budget = &budget;
    retry_start(&request, NULL, START);
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fails(0, START));
    set_up();
    retry_start(&request, NULL, START);
    for (i = 0; i < 1000; i++)
        CHECK_DECISION(RETRY, STRATEGY, fails(0, START));
}

/* ---- a generator of one's own --------------------------------------------------------------- */

static uint32_t drawn; /* what the client's generator gives */

static uint32_t draw_it(void *context)
{
    (void)context;
    return drawn;
}

/* Numbers of 15 bits, all of them: every delay up to 131 s is 0. */
static void test_15_bits(void)
{
    retry_ms longest = 0;
    set_up();
    client.random = draw_it;
    policy.backoff.jitter = RETRY_JITTER_FULL;
    policy.backoff.initial = 131000;
    policy.backoff.max = 0;
    request.timeout = UINT32_MAX;
    for (drawn = 0; drawn < 1u << 15; drawn++) {
        retry_ms delay;
        retry_start(&request, NULL, START);
        delay = fails(0, START).delay;
        longest = delay > longest ? delay : longest;
    }
    CHECK_EQUAL(0, longest);
    drawn = UINT32_MAX;
    retry_start(&request, NULL, START);
    CHECK_EQUAL(131000, fails(0, START).delay);
}

/* ---- a binding ------------------------------------------------------------------------------ */

/* A language that knows no struct of retry.h's allocates by retry_sizes, and runs an operation. */
static void test_sizes(void)
{
    size_t of_operation = 0, of_service = 0, of_failure = 0;
    void *op, *service, *failure;
    retry_sizes(NULL, NULL, NULL);
    retry_sizes(&of_operation, &of_service, &of_failure);
    CHECK_EQUAL(sizeof(retry_operation), of_operation);
    CHECK_EQUAL(sizeof(retry_service), of_service);
    CHECK_EQUAL(sizeof(retry_failure), of_failure);
    op = calloc(1, of_operation);
    service = calloc(1, of_service);
    failure = calloc(1, of_failure);
    retry_service_init((retry_service *)service, START);
    retry_start((retry_operation *)op, (retry_service *)service, START);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next((retry_operation *)op, START).what);
    retry_ended((retry_operation *)op, 0, (retry_failure *)failure, START);
    CHECK_EQUAL(RETRY_VERDICT_FAIL, retry_next((retry_operation *)op, START).verdict);
    free(failure);
    free(service);
    free(op);
}

int main(void)
{
    RUN(test_timeout);
    RUN(test_attempt_timeout);
    RUN(test_retries);
    RUN(test_delay);
    RUN(test_jitter);
    RUN(test_longest_delay);
    RUN(test_retry_after);
    RUN(test_at_once_and_a_second);
    RUN(test_budget);
    RUN(test_15_bits);
    RUN(test_sizes);
    return check_done();
}
