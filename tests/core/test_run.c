/* retry_run with a clock of its own: what is tried, what is slept, what comes back. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#define START ((retry_time)-50)
#define SLEEPS 32u

/* A clock that only sleeping and trying move on. */
struct fake {
    retry_time now;
    unsigned sleeps;
    retry_ms slept[SLEEPS];
};

static retry_time fake_now(void *context)
{
    return ((struct fake *)context)->now;
}

static void fake_sleep(void *context, retry_ms delay)
{
    struct fake *fake = (struct fake *)context;
    if (fake->sleeps < SLEEPS)
        fake->slept[fake->sleeps] = delay;
    fake->sleeps++;
    fake->now = check_after(fake->now, delay);
}

/* Fails `failures` times, each in `duration` ms. */
struct server {
    struct fake *fake;
    unsigned failures, tries;
    retry_failure failure;
    retry_ms duration;
    const retry_request *request;
};

static bool is_zero(const retry_failure *failure)
{
    return failure->reason == 0 && failure->safety == 0 && failure->fault == 0 &&
           !failure->throttle && !failure->timeout && !failure->unknown && !failure->pushback &&
           failure->retry_after == 0 && failure->code == 0;
}

static bool try_server(void *context, const retry_request *request, retry_ms timeout,
                       retry_failure *failure)
{
    (void)timeout;
    struct server *server = (struct server *)context;
    server->request = request;
    CHECK(is_zero(failure));
    CHECK_EQUAL(server->tries, request->attempts);
    server->fake->now = check_after(server->fake->now, server->duration);
    if (server->tries++ == server->failures)
        return true;
    *failure = server->failure;
    return false;
}

static struct fake fake;
static retry_clock fake_clock;
static struct server server;
static retry_request request;
static retry_policy policy;
static retry_client client;

static void set_up(unsigned failures)
{
    retry_policy constant = RETRY_POLICY_BEST_EFFORT;
    memset(&fake, 0, sizeof fake);
    memset(&server, 0, sizeof server);
    memset(&request, 0, sizeof request);
    memset(&client, 0, sizeof client);
    fake.now = START;
    fake_clock.now = fake_now;
    fake_clock.sleep = fake_sleep;
    fake_clock.context = &fake;
    server.fake = &fake;
    server.failures = failures;
    server.failure.reason = RETRY_REASON_KV_LOCKED;
    server.failure.code = 9;
    policy = constant;
    policy.backoff.curve = RETRY_CURVE_LINEAR;
    policy.backoff.jitter = RETRY_JITTER_NONE;
    policy.backoff.min = 0;
    policy.backoff.initial = 10;
    policy.backoff.max = 1000;
    client.strategy = &policy.base;
    request.client = &client;
}

static retry_decision run(void)
{
    return retry_run(&request, &fake_clock, try_server, &server);
}

static retry_time passed(void)
{
    return fake.now >= START ? fake.now - START : fake.now + 50;
}

static void test_success_at_once(void)
{
    retry_decision decision;
    set_up(0);
    decision = run();
    CHECK_DECISION(SUCCESS, NONE, decision);
    CHECK_EQUAL(0, decision.delay);
    CHECK_EQUAL(1, server.tries);
    CHECK_EQUAL(0, fake.sleeps);
    CHECK(server.request == &request);
    CHECK_EQUAL(START, request.started);
    CHECK(!retry_succeed(&request, START)); /* finished */
}

static void test_success_after_retries(void)
{
    unsigned i;
    set_up(5);
    CHECK_EQUAL(RETRY_VERDICT_SUCCESS, run().verdict);
    CHECK_EQUAL(6, server.tries);
    CHECK_EQUAL(5, request.attempts);
    CHECK_EQUAL(5, fake.sleeps);
    for (i = 0; i < 5; i++)
        CHECK_EQUAL(10 * (i + 1), fake.slept[i]);
    CHECK_EQUAL(150, passed());
    CHECK_EQUAL(9, request.code);
}

static void test_failure(void)
{
    set_up(3);
    server.failure.reason = RETRY_REASON_NONE;
    CHECK_DECISION(FAIL, NOT_RETRYABLE, run());
    CHECK_EQUAL(1, server.tries);
    CHECK_EQUAL(0, fake.sleeps);
    set_up(9);
    policy.max_attempts = 3;
    CHECK_DECISION(FAIL, ATTEMPTS_EXHAUSTED, run());
    CHECK_EQUAL(3, server.tries);
    CHECK_EQUAL(2, fake.sleeps);
}

/* An attempt that says nothing about its failure has none to retry. */
static void test_nothing_said(void)
{
    set_up(1);
    memset(&server.failure, 0, sizeof server.failure);
    CHECK_DECISION(FAIL, NOT_RETRYABLE, run());
}

/* Nothing would happen at the deadline, so nobody sleeps until then (as 1.0 did). */
static void test_expire(void)
{
    retry_decision decision;
    set_up(99);
    request.timeout = 100;
    server.duration = 5;
    decision = run(); /* 5 10 5 20 5 30 5, and 20 are left of the 40 that it wants */
    CHECK_DECISION(EXPIRE, DEADLINE, decision);
    CHECK_EQUAL(20, decision.delay);
    CHECK_EQUAL(4, server.tries);
    CHECK_EQUAL(3, fake.sleeps);
    CHECK_EQUAL(80, passed());
}

static void test_expire_with_nothing_left(void)
{
    retry_decision decision;
    set_up(99);
    request.timeout = 100;
    server.duration = 100;
    decision = run();
    CHECK_DECISION(EXPIRE, DEADLINE, decision);
    CHECK_EQUAL(0, decision.delay);
    CHECK_EQUAL(1, server.tries);
    CHECK_EQUAL(0, fake.sleeps);
}

static retry_action at_once(const retry_strategy *self, retry_request *r, const retry_failure *f,
                            retry_time now)
{
    (void)self;
    (void)r;
    (void)f;
    (void)now;
    return retry_action_after(0);
}

static void test_no_delay_is_no_sleep(void)
{
    static const retry_strategy strategy = {at_once};
    set_up(7);
    request.strategy = &strategy;
    CHECK_EQUAL(RETRY_VERDICT_SUCCESS, run().verdict);
    CHECK_EQUAL(8, server.tries);
    CHECK_EQUAL(0, fake.sleeps);
}

static retry_action later(const retry_strategy *self, retry_request *r, const retry_failure *f,
                          retry_time now)
{
    (void)self;
    (void)now;
    (void)f;
    return r->attempts == 1 ? retry_action_pending() : retry_action_after(3);
}

static void test_pending(void)
{
    static const retry_strategy strategy = {later};
    retry_failure failure;
    set_up(9);
    request.strategy = &strategy;
    CHECK_DECISION(PENDING, PENDING, run());
    CHECK_EQUAL(2, server.tries);
    CHECK_EQUAL(1, fake.sleeps);
    failure = server.failure;
    CHECK_DECISION(RETRY, STRATEGY,
                   retry_resume(&request, &failure, retry_action_after(1), fake.now));
}

static void check_misuse(retry_decision decision)
{
    CHECK_DECISION(FAIL, MISUSE, decision);
    CHECK_EQUAL(0, server.tries);
    CHECK_EQUAL(0, fake.sleeps);
}

static void test_misuse(void)
{
    set_up(1);
    check_misuse(retry_run(NULL, &fake_clock, try_server, &server));
    check_misuse(retry_run(&request, NULL, try_server, &server));
    check_misuse(retry_run(&request, &fake_clock, NULL, &server));
    fake_clock.now = NULL;
    check_misuse(run());
    fake_clock.now = fake_now;
    fake_clock.sleep = NULL;
    check_misuse(run());
    fake_clock.sleep = fake_sleep;
    CHECK_EQUAL(RETRY_VERDICT_SUCCESS, run().verdict);
}

/* Neither clock nor attempt need a context. */
static unsigned bare_tries;

static retry_time bare_now(void *context)
{
    CHECK(context == NULL);
    return 0;
}

static void bare_sleep(void *context, retry_ms delay)
{
    (void)delay;
    CHECK(context == NULL);
}

static bool bare_try(void *context, const retry_request *r, retry_ms timeout,
                     retry_failure *failure)
{
    (void)timeout;
    (void)r;
    CHECK(context == NULL);
    failure->reason = RETRY_REASON_KV_LOCKED;
    return ++bare_tries == 3;
}

static void test_without_context(void)
{
    retry_clock bare = {bare_now, bare_sleep, NULL};
    retry_request zeroed;
    memset(&zeroed, 0, sizeof zeroed);
    bare_tries = 0;
    CHECK_EQUAL(RETRY_VERDICT_SUCCESS, retry_run(&zeroed, &bare, bare_try, NULL).verdict);
    CHECK_EQUAL(2, zeroed.attempts);
}

static void test_budget(void)
{
    static const retry_budget_options options = {3000, 1000, 0, 0, 100, 0, 0, 0, false, false};
    retry_budget budget;
    retry_budget_init(&budget, &options, START);
    set_up(2);
    client.budget = &budget;
    CHECK_EQUAL(RETRY_VERDICT_SUCCESS, run().verdict);
    CHECK_EQUAL(1100, retry_budget_balance(&budget));
    server.tries = 0;
    server.failures = 9;
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, run());
    CHECK_EQUAL(2, server.tries);
    CHECK_EQUAL(100, retry_budget_balance(&budget));
}

/* A request that is run again starts anew; an open one is cancelled. */
static void test_run_again(void)
{
    static const retry_budget_options options = {3000, 1000, 0, 0, 0, 0, 0, 0, false, false};
    retry_budget budget;
    retry_budget_init(&budget, &options, START);
    set_up(0);
    client.budget = &budget;
    retry_begin(&request, START);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &server.failure, START));
    CHECK_EQUAL(2000, retry_budget_balance(&budget));
    CHECK_EQUAL(RETRY_VERDICT_SUCCESS, run().verdict);
    CHECK_EQUAL(3000, retry_budget_balance(&budget));
    CHECK_EQUAL(0, request.attempts);
    server.tries = 0;
    CHECK_EQUAL(RETRY_VERDICT_SUCCESS, run().verdict);
}

/* 1.0 slept for all of the 3 s that were left when a server asked for 30. */
static void test_expire_after_a_wish(void)
{
    retry_decision decision;
    set_up(99);
    request.timeout = 3000;
    server.failure.retry_after = 30000;
    decision = run();
    CHECK_DECISION(EXPIRE, DEADLINE, decision);
    CHECK_EQUAL(3000, decision.delay);
    CHECK_EQUAL(0, fake.sleeps);
    CHECK_EQUAL(0, passed());
    CHECK_EQUAL(1, server.tries);
}

static void test_orders(void)
{
    set_up(3);
    server.failure.pushback = true;
    server.failure.retry_after = 40;
    CHECK_DECISION(SUCCESS, NONE, run());
    CHECK_EQUAL(3, fake.sleeps);
    CHECK_EQUAL(40, fake.slept[0]);
    CHECK_EQUAL(120, passed());
    set_up(3);
    server.failure.pushback = true; /* to come back at once */
    CHECK_DECISION(SUCCESS, NONE, run());
    CHECK_EQUAL(0, fake.sleeps);
    set_up(3);
    server.failure.pushback = true;
    server.failure.retry_after = UINT32_MAX;
    CHECK_DECISION(FAIL, PUSHBACK, run());
    CHECK_EQUAL(1, server.tries);
    CHECK_EQUAL(0, fake.sleeps);
}

/* An observer that cancels, after so many decisions. */
static unsigned decisions_left;

static void cancel(void *context, const retry_request *r, const retry_failure *f,
                   const retry_decision *d)
{
    (void)r;
    (void)f;
    (void)d;
    if (decisions_left != 0 && --decisions_left == 0)
        retry_cancel((retry_request *)context, fake.now);
}

/* Nobody waits any more: no sleep, no further attempt, and the charge is back. */
static void test_cancelled_by_the_observer(void)
{
    static const retry_budget_options options = {9000, 1000, 0, 0, 0, 0, 0, 0, false, false};
    unsigned after;
    for (after = 1; after <= 4; after++) {
        retry_budget budget;
        retry_budget_init(&budget, &options, START);
        set_up(99);
        client.budget = &budget;
        client.observe = cancel;
        client.observe_context = &request;
        decisions_left = after;
        check_row("after %u", after);
        CHECK_DECISION(FAIL, CANCELLED, run());
        CHECK_EQUAL(after, server.tries);
        CHECK_EQUAL(after - 1, fake.sleeps);
        CHECK_EQUAL(9000 - 1000 * (after - 1), retry_budget_balance(&budget));
    }
}

/* Cancelled while its attempt is under way: if that has worked, it has. */
static bool try_and_cancel(void *context, const retry_request *r, retry_ms timeout,
                           retry_failure *failure)
{
    bool worked = try_server(context, r, timeout, failure);
    retry_cancel(&request, fake.now);
    return worked;
}

static void test_cancelled_by_the_attempt(void)
{
    set_up(0);
    CHECK_DECISION(SUCCESS, NONE, retry_run(&request, &fake_clock, try_and_cancel, &server));
    CHECK_EQUAL(1, server.tries);
    set_up(9);
    CHECK_DECISION(FAIL, CANCELLED, retry_run(&request, &fake_clock, try_and_cancel, &server));
    CHECK_EQUAL(1, server.tries);
    CHECK_EQUAL(0, fake.sleeps);
}

static void test_pending_cancelled_by_the_observer(void)
{
    static const retry_strategy strategy = {later};
    set_up(9);
    request.strategy = &strategy;
    client.observe = cancel;
    client.observe_context = &request;
    decisions_left = 2;
    CHECK_DECISION(FAIL, CANCELLED, run());
    CHECK_EQUAL(2, server.tries);
    CHECK_EQUAL(1, fake.sleeps);
}

/* Too late: what is decided is decided. */
static void test_observer_cancels_what_is_over(void)
{
    set_up(99);
    server.failure.reason = RETRY_REASON_NONE;
    client.observe = cancel;
    client.observe_context = &request;
    decisions_left = 1;
    CHECK_DECISION(FAIL, NOT_RETRYABLE, run());
    set_up(99);
    client.observe = cancel;
    client.observe_context = &request;
    request.timeout = 1;
    decisions_left = 1;
    CHECK_DECISION(EXPIRE, DEADLINE, run());
}

/* A clock whose sleep cancels: no further attempt. */
static void cancelling_sleep(void *context, retry_ms delay)
{
    fake_sleep(context, delay);
    if (fake.sleeps == 3)
        retry_cancel(&request, fake.now);
}

static void test_cancelled_in_the_sleep(void)
{
    set_up(99);
    fake_clock.sleep = cancelling_sleep;
    CHECK_DECISION(FAIL, CANCELLED, run());
    CHECK_EQUAL(3, server.tries);
    CHECK_EQUAL(3, fake.sleeps);
}

int main(void)
{
    RUN(test_success_at_once);
    RUN(test_success_after_retries);
    RUN(test_failure);
    RUN(test_nothing_said);
    RUN(test_expire);
    RUN(test_expire_with_nothing_left);
    RUN(test_no_delay_is_no_sleep);
    RUN(test_pending);
    RUN(test_misuse);
    RUN(test_without_context);
    RUN(test_budget);
    RUN(test_run_again);
    RUN(test_expire_after_a_wish);
    RUN(test_orders);
    RUN(test_cancelled_by_the_observer);
    RUN(test_pending_cancelled_by_the_observer);
    RUN(test_observer_cancels_what_is_over);
    RUN(test_cancelled_by_the_attempt);
    RUN(test_cancelled_in_the_sleep);
    return check_done();
}
