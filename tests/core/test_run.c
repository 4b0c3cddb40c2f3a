/* retry_run with a clock of its own: what is tried, what is slept, what comes back. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/clocks.h"
#include "../support/options.h"

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
    const retry_operation *op;
    retry_step step; /* the last */
};

static retry_ms linear(const retry_backoff *self, uint32_t attempt)
{
    return self->initial * (attempt + 1);
}

static bool is_zero(const retry_failure *failure)
{
    return failure->reason == 0 && failure->safety == 0 && failure->fault == 0 &&
           !failure->throttle && !failure->timeout && !failure->unknown && !failure->pushback &&
           !failure->unsent && failure->retry_after == 0 && failure->code == 0;
}

static bool try_server(void *context, const retry_operation *op, const retry_step *step,
                       retry_failure *failure)
{
    struct server *server = (struct server *)context;
    server->op = op;
    server->step = *step;
    CHECK(is_zero(failure));
    CHECK_EQUAL(RETRY_DO_SEND, step->what);
    CHECK_EQUAL(server->tries, op->retries);
    server->fake->now = check_after(server->fake->now, server->duration);
    if (server->tries++ == server->failures)
        return true;
    *failure = server->failure;
    return false;
}

static struct fake fake;
static retry_clock fake_clock;
static struct server server;
static retry_operation operation;
static retry_policy policy;
static retry_client client;

static void set_up(unsigned failures)
{
    retry_policy constant = RETRY_POLICY_BEST_EFFORT;
    memset(&fake, 0, sizeof fake);
    memset(&server, 0, sizeof server);
    memset(&operation, 0, sizeof operation);
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
    policy.backoff.curve = RETRY_CURVE_CUSTOM;
    policy.backoff.custom = linear;
    policy.backoff.jitter = RETRY_JITTER_NONE;
    policy.backoff.min = 0;
    policy.backoff.initial = 10;
    policy.backoff.max = 1000;
    client.strategy = &policy.base;
    operation.client = &client;
}

static retry_step run(void)
{
    return retry_run(&operation, NULL, &fake_clock, try_server, &server);
}

/* An END with this verdict and cause; what a step does not use is 0. */
static void check_end(unsigned verdict, unsigned cause, retry_step step, const char *file, int line)
{
    decided got = {step.verdict, step.cause, step.delay};
    check_decision(verdict, cause, got, file, line);
    check_equal(RETRY_DO_END, step.what, "what", file, line);
    check_equal(0, step.copy, "copy", file, line);
    check_equal(0, step.node, "node", file, line);
    check_equal(0, step.timeout, "timeout", file, line);
}

#define CHECK_END(verdict, cause, step) \
    check_end(RETRY_VERDICT_##verdict, RETRY_CAUSE_##cause, (step), __FILE__, __LINE__)

static retry_time passed(void)
{
    return fake.now >= START ? fake.now - START : fake.now + 50;
}

static void test_success_at_once(void)
{
    retry_step step;
    set_up(0);
    step = run();
    CHECK_END(SUCCESS, NONE, step);
    CHECK_EQUAL(0, step.delay);
    CHECK_EQUAL(1, server.tries);
    CHECK_EQUAL(0, fake.sleeps);
    CHECK(server.op == &operation);
    CHECK_EQUAL(START, operation.started);
    CHECK_EQUAL(0, retry_left(&operation, START)); /* finished */
}

static void test_success_after_retries(void)
{
    unsigned i;
    set_up(5);
    CHECK_END(SUCCESS, NONE, run());
    CHECK_EQUAL(6, server.tries);
    CHECK_EQUAL(5, operation.retries);
    CHECK_EQUAL(5, fake.sleeps);
    for (i = 0; i < 5; i++)
        CHECK_EQUAL(10 * (i + 1), fake.slept[i]);
    CHECK_EQUAL(150, passed());
    CHECK_EQUAL(9, operation.code);
}

static void test_failure(void)
{
    set_up(3);
    server.failure.reason = RETRY_REASON_NONE;
    CHECK_END(FAIL, NOT_RETRYABLE, run());
    CHECK_EQUAL(1, server.tries);
    CHECK_EQUAL(0, fake.sleeps);
    set_up(9);
    policy.max_attempts = 3;
    CHECK_END(FAIL, ATTEMPTS_EXHAUSTED, run());
    CHECK_EQUAL(3, server.tries);
    CHECK_EQUAL(2, fake.sleeps);
}

/* An attempt that says nothing about its failure has none to retry. */
static void test_nothing_said(void)
{
    set_up(1);
    memset(&server.failure, 0, sizeof server.failure);
    CHECK_END(FAIL, NOT_RETRYABLE, run());
}

/* Nothing would happen at the deadline, so nobody sleeps until then (as 1.0 did). */
static void test_expire(void)
{
    retry_step step;
    set_up(99);
    operation.timeout = 100;
    server.duration = 5;
    step = run(); /* 5 10 5 20 5 30 5, and 20 are left of the 40 that it wants */
    CHECK_END(EXPIRE, DEADLINE, step);
    CHECK_EQUAL(20, step.delay);
    CHECK_EQUAL(4, server.tries);
    CHECK_EQUAL(3, fake.sleeps);
    CHECK_EQUAL(80, passed());
}

static void test_expire_with_nothing_left(void)
{
    retry_step step;
    set_up(99);
    operation.timeout = 100;
    server.duration = 100;
    step = run();
    CHECK_END(EXPIRE, DEADLINE, step);
    CHECK_EQUAL(0, step.delay);
    CHECK_EQUAL(1, server.tries);
    CHECK_EQUAL(0, fake.sleeps);
}

static retry_action at_once(const retry_strategy *self, const retry_operation *r,
                            const retry_failure *f, retry_time now)
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
    operation.strategy = &strategy;
    CHECK_END(SUCCESS, NONE, run());
    CHECK_EQUAL(8, server.tries);
    CHECK_EQUAL(0, fake.sleeps);
}

static retry_action later(const retry_strategy *self, const retry_operation *r,
                          const retry_failure *f, retry_time now)
{
    (void)self;
    (void)now;
    (void)f;
    return r->retries == 1 ? retry_action_pending() : retry_action_after(3);
}

/* The operation is left open: the caller goes on where retry_run left off. */
static void test_pending(void)
{
    static const retry_strategy strategy = {later};
    retry_step step;
    set_up(9);
    operation.strategy = &strategy;
    operation.timeout = 1000;
    step = run();
    CHECK_EQUAL(RETRY_DO_WAIT, step.what);
    CHECK_EQUAL(RETRY_CAUSE_PENDING, step.cause);
    CHECK_EQUAL(1000 - 3, step.delay);
    CHECK_EQUAL(2, server.tries);
    CHECK_EQUAL(1, fake.sleeps);
    retry_answer(&operation, retry_action_after(7), fake.now);
    step = retry_next(&operation, fake.now);
    CHECK_EQUAL(RETRY_DO_WAIT, step.what);
    CHECK_EQUAL(7, step.delay);
    step = retry_next(&operation, check_after(fake.now, 7));
    CHECK_EQUAL(RETRY_DO_SEND, step.what);
}

static void test_misuse(void)
{
    static const struct {
        bool op, clock, now, sleep, attempt;
    } rows[] = {{false, true, true, true, true},
                {true, false, true, true, true},
                {true, true, false, true, true},
                {true, true, true, false, true},
                {true, true, true, true, false}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        set_up(1);
        fake_clock.now = rows[i].now ? fake_now : NULL;
        fake_clock.sleep = rows[i].sleep ? fake_sleep : NULL;
        CHECK_END(FAIL, MISUSE,
                  retry_run(rows[i].op ? &operation : NULL, NULL,
                            rows[i].clock ? &fake_clock : NULL, rows[i].attempt ? try_server : NULL,
                            &server));
        CHECK_EQUAL(0, server.tries);
        CHECK_EQUAL(0, fake.sleeps);
        CHECK_END(FAIL, MISUSE, retry_next(&operation, START)); /* it was not started */
    }
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

static bool bare_try(void *context, const retry_operation *op, const retry_step *step,
                     retry_failure *failure)
{
    (void)op;
    CHECK_EQUAL(75000, step->timeout);
    CHECK(context == NULL);
    failure->reason = RETRY_REASON_KV_LOCKED;
    return ++bare_tries == 3;
}

static void test_without_context(void)
{
    static const retry_strategy strategy = {at_once};
    static retry_client nothing; /* zeroed */
    const retry_clock bare = clock_of(bare_now, bare_sleep, NULL);
    retry_operation zeroed;
    memset(&zeroed, 0, sizeof zeroed);
    zeroed.client = &nothing;
    zeroed.strategy = &strategy;
    bare_tries = 0;
    CHECK_END(SUCCESS, NONE, retry_run(&zeroed, NULL, &bare, bare_try, NULL));
    CHECK_EQUAL(2, zeroed.retries);
}

/* ---- the step that an attempt gets --------------------------------------------------------- */

static void test_step_of_an_attempt(void)
{
    set_up(2);
    operation.timeout = 100;
    client.cut_after = 60;
    server.duration = 20;
    CHECK_END(SUCCESS, NONE, run()); /* 20 10 20 20, and 30 are left */
    CHECK_EQUAL(30, server.step.timeout);
    CHECK_EQUAL(0, server.step.copy);
    CHECK_EQUAL(0, server.step.node);
    set_up(1);
    operation.timeout = UINT32_MAX;
    CHECK_END(SUCCESS, NONE, run());
    CHECK_EQUAL(UINT32_MAX, server.step.timeout);
}

/* It is never interrupted: what it reports counts, however late. */
static void test_attempt_takes_too_long(void)
{
    set_up(0);
    client.cut_after = 60;
    server.duration = 500;
    CHECK_END(SUCCESS, NONE, run());
    set_up(1);
    client.cut_after = 60;
    server.duration = 500;
    CHECK_END(SUCCESS, NONE, run());
    CHECK_EQUAL(RETRY_REASON_KV_LOCKED, operation.failure.reason);
    CHECK_EQUAL(1, fake.sleeps);
    CHECK_EQUAL(10, fake.slept[0]);
    set_up(0);
    operation.timeout = 100;
    server.duration = 500;
    CHECK_END(SUCCESS, NONE, run());
}

static void test_budget(void)
{
    retry_budget_options options = options_of(3000, 1000);
    retry_budget budget;
    retry_step step;
    options.success_deposit = 100;
    retry_budget_init(&budget, &options, START);
    set_up(2);
    client.budget = &budget;
    CHECK_END(SUCCESS, NONE, run());
    CHECK_EQUAL(1100, retry_budget_balance(&budget));
    server.tries = 0;
    server.failures = 9;
    step = run();
    CHECK_END(FAIL, BUDGET_EXHAUSTED, step);
    CHECK_EQUAL(20, step.delay);
    CHECK_EQUAL(2, server.tries);
    CHECK_EQUAL(100, retry_budget_balance(&budget));
}

/* An operation that is run again starts anew; one that is under way is stopped. */
static void test_run_again(void)
{
    const retry_budget_options options = options_of(3000, 1000);
    retry_budget budget;
    retry_budget_init(&budget, &options, START);
    set_up(0);
    client.budget = &budget;
    retry_start(&operation, NULL, START);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&operation, START).what);
    retry_ended(&operation, 0, &server.failure, START);
    CHECK_EQUAL(2000, retry_budget_balance(&budget));
    CHECK_END(SUCCESS, NONE, run());
    CHECK_EQUAL(3000, retry_budget_balance(&budget));
    CHECK_EQUAL(0, operation.retries);
    CHECK(operation.failure.reason == RETRY_REASON_NONE);
    server.tries = 0;
    retry_start(&operation, NULL, START);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&operation, START).what);
    CHECK_END(SUCCESS, NONE, run()); /* the CANCEL of the copy that is out is nobody's business */
    CHECK_EQUAL(1, server.tries);
    server.tries = 0;
    CHECK_END(SUCCESS, NONE, run());
}

/* 1.0 slept for all of the 3 s that were left when a server asked for 30. */
static void test_expire_after_a_wish(void)
{
    retry_step step;
    set_up(99);
    operation.timeout = 3000;
    server.failure.retry_after = 30000;
    step = run();
    CHECK_END(EXPIRE, DEADLINE, step);
    CHECK_EQUAL(3000, step.delay);
    CHECK_EQUAL(0, fake.sleeps);
    CHECK_EQUAL(0, passed());
    CHECK_EQUAL(1, server.tries);
}

static void test_orders(void)
{
    set_up(3);
    server.failure.pushback = true;
    server.failure.retry_after = 40;
    CHECK_END(SUCCESS, NONE, run());
    CHECK_EQUAL(3, fake.sleeps);
    CHECK_EQUAL(40, fake.slept[0]);
    CHECK_EQUAL(120, passed());
    set_up(3);
    server.failure.pushback = true; /* to come back at once */
    CHECK_END(SUCCESS, NONE, run());
    CHECK_EQUAL(0, fake.sleeps);
    set_up(3);
    server.failure.pushback = true;
    server.failure.retry_after = UINT32_MAX;
    CHECK_END(FAIL, PUSHBACK, run());
    CHECK_EQUAL(1, server.tries);
    CHECK_EQUAL(0, fake.sleeps);
}

/* ---- stopped ------------------------------------------------------------------------------- */

/* Both ways to stop it. */
static void by_request(void)
{
    retry_stop(&operation, fake.now);
}

static void by_operation(void)
{
    retry_stop(&operation, fake.now);
}

static void (*const stops[])(void) = {by_request, by_operation};
static void (*stop)(void);

/* An observer that stops it, after so many decisions. */
static unsigned decisions_left, told;

static void observe(void *context, const retry_operation *r, const retry_failure *f)
{
    (void)context;
    (void)r;
    (void)f;
    told++;
    if (decisions_left != 0 && --decisions_left == 0)
        stop();
}

static void set_up_observer(unsigned failures, unsigned after)
{
    set_up(failures);
    client.observe = observe;
    decisions_left = after;
    told = 0;
}

/* Nobody waits any more: no sleep, no further attempt, and the charge is back. */
static void test_stopped_by_the_observer(void)
{
    const retry_budget_options options = options_of(9000, 1000);
    unsigned after;
    for (after = 1; after <= 4; after++) {
        retry_budget budget;
        retry_budget_init(&budget, &options, START);
        set_up_observer(99, after);
        client.budget = &budget;
        check_row("after %u", after);
        CHECK_END(FAIL, CANCELLED, run());
        CHECK_EQUAL(after, server.tries);
        CHECK_EQUAL(after - 1, fake.sleeps);
        CHECK_EQUAL(after + 1, told);
        CHECK(!operation.ambiguous);
        CHECK_EQUAL(9000 - 1000 * (after - 1), retry_budget_balance(&budget));
    }
}

/* While its attempt is under way: if that has worked, it has. */
static bool try_and_stop(void *context, const retry_operation *op, const retry_step *step,
                         retry_failure *failure)
{
    bool worked = try_server(context, op, step, failure);
    stop();
    return worked;
}

static void test_stopped_by_the_attempt(void)
{
    set_up_observer(0, 0);
    CHECK_END(SUCCESS, NONE, retry_run(&operation, NULL, &fake_clock, try_and_stop, &server));
    CHECK_EQUAL(1, server.tries);
    CHECK(!operation.ambiguous);
    CHECK_EQUAL(RETRY_VERDICT_SUCCESS, operation.verdict);
    CHECK_EQUAL(RETRY_CAUSE_NONE, operation.cause);
    CHECK_EQUAL(1, told); /* CANCELLED */
    set_up_observer(9, 0);
    CHECK_END(FAIL, CANCELLED, retry_run(&operation, NULL, &fake_clock, try_and_stop, &server));
    CHECK_EQUAL(1, server.tries);
    CHECK_EQUAL(0, fake.sleeps);
    CHECK_EQUAL(1, told);
}

/* Too late: what is decided is decided. */
static void test_observer_stops_what_is_over(void)
{
    set_up_observer(99, 1);
    server.failure.reason = RETRY_REASON_NONE;
    CHECK_END(FAIL, NOT_RETRYABLE, run());
    set_up_observer(99, 1);
    operation.timeout = 1;
    CHECK_END(EXPIRE, DEADLINE, run());
    set_up_observer(0, 1);
    CHECK_END(SUCCESS, NONE, run());
    CHECK_EQUAL(1, told);
}

/* A clock whose sleep a signal ends, 3 ms from its start: it stops the operation, and nothing
   follows. */
static void stopping_sleep(void *context, retry_ms delay)
{
    fake_sleep(context, fake.sleeps == 2 ? 3 : delay);
    if (fake.sleeps == 3)
        stop();
}

static void test_stopped_in_the_sleep(void)
{
    set_up(99);
    fake_clock.sleep = stopping_sleep;
    CHECK_END(FAIL, CANCELLED, run());
    CHECK_EQUAL(3, server.tries);
    CHECK_EQUAL(3, fake.sleeps);
    CHECK_EQUAL(10 + 20 + 3, passed());
    CHECK(!operation.ambiguous);
}

/* One that is told that the network is back ends early, too: the next attempt is made at once. */
static void waking_sleep(void *context, retry_ms delay)
{
    (void)delay;
    fake_sleep(context, 3);
    retry_skip_wait(&operation, fake.now);
}

static void test_woken_in_the_sleep(void)
{
    set_up(4);
    fake_clock.sleep = waking_sleep;
    CHECK_END(SUCCESS, NONE, run());
    CHECK_EQUAL(5, server.tries);
    CHECK_EQUAL(4, fake.sleeps);
    CHECK_EQUAL(4 * 3, passed());
}

static void test_stopped(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(stops); i++) {
        stop = stops[i];
        test_stopped_by_the_observer();
        check_row("stop %u", (unsigned)i);
        test_stopped_by_the_attempt();
        test_observer_stops_what_is_over();
        test_stopped_in_the_sleep();
    }
}

/* ---- gates --------------------------------------------------------------------------------- */

static unsigned places_held;

/* Sleeps for a turn; another operation ends after its third sleep. */
static retry_gates gates;

static void freeing_sleep(void *context, retry_ms delay)
{
    fake_sleep(context, delay);
    CHECK(delay > 0);
    if (fake.sleeps == 3)
        gates.in_flight -= places_held;
}

static void test_waits_for_its_turn(void)
{
    retry_aimd limit;
    memset(&limit, 0, sizeof limit);
    memset(&gates, 0, sizeof gates);
    limit.max = places_held = 1;
    retry_gates_aimd(&gates, &limit);
    set_up(0);
    gates.in_flight = places_held;
    client.gates = &gates;
    fake_clock.sleep = freeing_sleep;
    CHECK_END(SUCCESS, NONE, run());
    CHECK_EQUAL(3, fake.sleeps);
    CHECK_EQUAL(0, operation.retries);
    CHECK_EQUAL(0, gates.in_flight);
}

/* The END names no node. */
static void test_nodes(void)
{
    static retry_gates nodes[2];
    retry_breaker breaker;
    memset(nodes, 0, sizeof nodes);
    memset(&breaker, 0, sizeof breaker);
    set_up(0);
    retry_client_nodes(&client, nodes, 2);
    retry_gates_breaker(&nodes[0], &breaker);
    retry_breaker_set(&breaker, RETRY_BREAKER_ISOLATED, START);
    CHECK_END(SUCCESS, NONE, run());
    CHECK_EQUAL(1, server.step.node);
}

static void test_refused_by_a_gate(void)
{
    retry_breaker breaker;
    retry_step step;
    memset(&breaker, 0, sizeof breaker);
    memset(&gates, 0, sizeof gates);
    retry_gates_breaker(&gates, &breaker);
    set_up(0);
    retry_breaker_set(&breaker, RETRY_BREAKER_OPEN, START);
    client.gates = &gates;
    step = run();
    CHECK_END(FAIL, CIRCUIT_OPEN, step);
    CHECK_EQUAL(retry_breaker_ask(&breaker, false, START).wait, step.delay);
    CHECK_EQUAL(0, server.tries);
    CHECK_EQUAL(0, gates.in_flight);
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
    RUN(test_step_of_an_attempt);
    RUN(test_attempt_takes_too_long);
    RUN(test_budget);
    RUN(test_run_again);
    RUN(test_expire_after_a_wish);
    RUN(test_orders);
    RUN(test_stopped);
    RUN(test_woken_in_the_sleep);
    RUN(test_waits_for_its_turn);
    RUN(test_nodes);
    RUN(test_refused_by_a_gate);
    return check_done();
}
