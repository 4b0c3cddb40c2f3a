/* Each misuse stops at RETRY_ASSERT, once, with a text that says which call is missing or wrong. No
   other call stops there. */
static void stop(const char *what);
#undef RETRY_ASSERT /* and what a whole build may have chosen */
#define RETRY_ASSERT(x) ((x) ? (void)0 : stop(#x))
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/clocks.h"
#include "../support/steps.h"

#define START ((retry_time)-10)

static retry_operation op;
static retry_failure failure;
static const retry_strategy no_function = {NULL};
static retry_client defaults; /* zeroed */

static unsigned stops;
static const char *stopped; /* by which assertion it was last */

static void stop(const char *what)
{
    stops++;
    stopped = what;
}

static void set_up(void)
{
    stops = 0;
    memset(&op, 0, sizeof op);
    op.client = &defaults;
    failure = check_failure_of(RETRY_REASON_KV_LOCKED);
}

/* So often since it was asked last, by an assertion with this text. */
static void check_stops(unsigned times, const char *text, int line)
{
    check_equal(times, stops, "stops", __FILE__, line);
    if (stops != 0 && !strstr(stopped, text) && check_fault(__FILE__, line))
        printf("expected \"%s\", got %s\n", text, stopped);
    stops = 0;
}

#define CHECK_STOPS(text) check_stops(1, (text), __LINE__)
#define CHECK_NO_STOP() check_stops(0, "", __LINE__)

static void test_no_function(void)
{
    set_up();
    retry_start(&op, NULL, START);
    op.strategy = &no_function;
    CHECK_DECISION(FAIL, MISUSE, decide(&op, &failure, START));
    CHECK_STOPS("retry_after is not set");
}

/* ---- decisions ------------------------------------------------------------------------------- */

/* Nobody can know that an operation was stopped meanwhile. */
static void test_stopped(void)
{
    set_up();
    retry_start(&op, NULL, START);
    retry_stop(&op, START);
    CHECK_DECISION(FAIL, CANCELLED, decide(&op, &failure, START));
    CHECK_DECISION(FAIL, CANCELLED, decide_later(&op, retry_action_after(1), START));
    CHECK_NO_STOP();
}

static void check_policy(const retry_strategy *strategy)
{
    CHECK_EQUAL(RETRY_CAUSE_MISUSE, strategy->retry_after(strategy, NULL, &failure, START).cause);
    CHECK_STOPS("retry_after: a NULL argument");
    CHECK_EQUAL(RETRY_CAUSE_MISUSE, strategy->retry_after(strategy, &op, NULL, START).cause);
    CHECK_STOPS("retry_after: a NULL argument");
    CHECK_EQUAL(RETRY_ACTION_AFTER, strategy->retry_after(strategy, &op, &failure, START).kind);
    CHECK_NO_STOP();
}

static void test_policies(void)
{
    retry_policy policy = RETRY_POLICY_AWS;
    set_up();
    op.idempotent = true;
    retry_start(&op, NULL, START);
    check_policy(&policy.base);
    check_policy(retry_best_effort());
    CHECK_EQUAL(RETRY_CAUSE_MISUSE, retry_policy_after(NULL, &op, &failure, START).cause);
    CHECK_STOPS("retry_after: a NULL argument");
}

/* Not MISUSE, as the operation may go on: but a budget without retry_budget_init pays for nothing.
 */
static void test_budget(void)
{
    static retry_budget zeroed;
    retry_client client;
    set_up();
    memset(&client, 0, sizeof client);
    client.budget = &zeroed;
    op.client = &client;
    retry_start(&op, NULL, START);
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide(&op, &failure, START));
    check_stops(3, "retry_budget_init comes first", __LINE__); /* is it there, to come, back */
    CHECK(!retry_budget_withdraw(&zeroed, 1, START));
    CHECK_STOPS("retry_budget_init comes first");
    CHECK(!retry_budget_withdraw(NULL, 1, START));
    CHECK_NO_STOP();
}

/* ---- operations ------------------------------------------------------------------------------ */

static void test_next(void)
{
    set_up();
    CHECK_END(FAIL, MISUSE, retry_next(NULL, START));
    CHECK_STOPS("retry_next: a NULL operation");
    CHECK_END(FAIL, MISUSE, retry_next(&op, START)); /* never started */
    CHECK_STOPS("retry_start comes first");
    retry_ended(&op, 0, &failure, START); /* nothing to tell */
    retry_stop(&op, START);
    retry_answer(&op, retry_action_after(1), START);
    retry_skip_wait(&op, START);
    retry_start(NULL, NULL, START);
    CHECK_NO_STOP();
    retry_start(&op, NULL, START);
    CHECK_SEND(retry_next(&op, START));
    retry_ended(&op, 0, NULL, START);
    CHECK_END(SUCCESS, NONE, retry_next(&op, START));
    CHECK_END(SUCCESS, NONE, retry_next(&op, START));
    CHECK_NO_STOP();
}

static void test_strategy_without_a_function(void)
{
    set_up();
    op.strategy = &no_function;
    retry_start(&op, NULL, START);
    CHECK_SEND(retry_next(&op, START));
    CHECK_NO_STOP();
    retry_ended(&op, 0, &failure, START);
    CHECK_STOPS("retry_after is not set");
    CHECK_END(FAIL, MISUSE, retry_next(&op, START));
    CHECK_NO_STOP();
}

/* What retry_service_init has not seen has no budget and no limit: nothing is sent. */
static void check_uninitialised(retry_service *service)
{
    retry_start(&op, service, START);
    CHECK_STOPS("retry_service_init comes first");
    CHECK_END(FAIL, MISUSE, retry_next(&op, START));
    CHECK_END(FAIL, MISUSE, retry_next(&op, START));
    CHECK_NO_STOP();
    retry_service_init(service, START);
    retry_start(&op, service, START);
    CHECK_SEND(retry_next(&op, START));
    CHECK_EQUAL(1, service->gates.in_flight);
    retry_ended(&op, 0, NULL, START);
    CHECK_END(SUCCESS, NONE, retry_next(&op, START));
    CHECK_NO_STOP();
}

static void test_uninitialised_service(void)
{
    static retry_service zeroed, with_a_policy, with_a_strategy, with_options;
    retry_policy policy = RETRY_POLICY_AWS;
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(5);
    set_up();
    check_row("zeroed");
    check_uninitialised(&zeroed);
    check_row("policy");
    with_a_policy.policy = policy;
    check_uninitialised(&with_a_policy);
    check_row("strategy");
    with_a_strategy.client.strategy = &policy.base;
    check_uninitialised(&with_a_strategy);
    check_row("options");
    with_options.budget.options = options;
    check_uninitialised(&with_options);
}

/* What is under way is stopped first; its copy is to be cancelled. */
static void test_uninitialised_service_after_a_good_one(void)
{
    static retry_service good, zeroed;
    set_up();
    retry_service_init(&good, START);
    retry_start(&op, &good, START);
    CHECK_SEND(retry_next(&op, START));
    retry_start(&op, &zeroed, START);
    CHECK_STOPS("retry_service_init comes first");
    CHECK_EQUAL(0, good.gates.in_flight);
    CHECK_CANCEL(retry_next(&op, START));
    CHECK_END(FAIL, MISUSE, retry_next(&op, START));
    CHECK_NO_STOP();
}

/* It is of use only where it was set up, as its client points into it. */
static void test_moved_service(void)
{
    static retry_service service, moved;
    set_up();
    retry_service_init(&service, START);
    memcpy(&moved, &service, sizeof moved);
    retry_start(&op, &moved, START);
    CHECK_STOPS("the service has moved");
    CHECK_END(FAIL, MISUSE, retry_next(&op, START));
    retry_service_init(&moved, START); /* it still points into the other, which stays as it is */
    retry_start(&op, &moved, START);
    CHECK_STOPS("the service has moved");
    CHECK_END(FAIL, MISUSE, retry_next(&op, START));
    retry_start(&op, &service, START);
    CHECK_SEND(retry_next(&op, START));
    failure = retry_classify_http(429, 0);
    retry_ended(&op, 0, &failure, START);
    CHECK_EQUAL(10, retry_aimd_limit(&service.limit));
    CHECK_EQUAL(20, retry_aimd_limit(&moved.limit));
    retry_service_init(&service, START); /* where it is, it may be set up again */
    retry_start(&op, &service, START);
    CHECK_SEND(retry_next(&op, START));
    CHECK_NO_STOP();
}

/* op.client is NULL, and no service is handed over. */
static void test_no_client(void)
{
    set_up();
    op.client = NULL;
    retry_start(&op, NULL, START);
    CHECK_STOPS("neither service nor op.client");
    CHECK_END(FAIL, MISUSE, retry_next(&op, START));
    CHECK_NO_STOP();
}

/* ---- in flight ------------------------------------------------------------------------------- */

static void end_by_success(retry_operation *of)
{
    retry_ended(of, 0, NULL, START);
}

static void end_by_failure(retry_operation *of)
{
    retry_ended(of, 0, &failure, START);
}

static void end_by_stop(retry_operation *of)
{
    retry_stop(of, START);
}

static void end_by_timeout(retry_operation *of)
{
    CHECK_CANCEL(retry_next(of, check_after(START, 75000)));
}

static const struct {
    const char *name;
    void (*end)(retry_operation *of);
} ends[] = {{"success", end_by_success},
            {"failure", end_by_failure},
            {"stop", end_by_stop},
            {"timeout", end_by_timeout}};

/* A place that nobody holds was given back: nothing wraps, and the next attempt is let through. */
static void check_no_place_lost(retry_service *service)
{
    retry_operation next;
    CHECK_STOPS("retry_stop comes before you copy an operation, or zero its gates");
    CHECK_EQUAL(0, service->gates.in_flight);
    memset(&next, 0, sizeof next);
    retry_start(&next, service, START);
    CHECK_SEND(retry_next(&next, START));
    CHECK_EQUAL(1, service->gates.in_flight);
    retry_ended(&next, 0, NULL, START);
    CHECK_EQUAL(0, service->gates.in_flight);
    CHECK_NO_STOP();
}

static void send_by(retry_service *service)
{
    set_up();
    memset(service, 0, sizeof *service);
    service->limit.max = 1;
    retry_service_init(service, START);
    retry_start(&op, service, START);
    CHECK_SEND(retry_next(&op, START));
}

static void test_copied_in_flight(void)
{
    static retry_service service;
    size_t i;
    for (i = 0; i < CHECK_COUNT(ends); i++) {
        retry_operation copied;
        check_row("%s", ends[i].name);
        send_by(&service);
        copied = op;
        retry_ended(&op, 0, NULL, START);
        CHECK_NO_STOP();
        ends[i].end(&copied);
        check_no_place_lost(&service);
    }
}

static void test_zeroed_in_flight(void)
{
    static retry_service service;
    size_t i;
    for (i = 0; i < CHECK_COUNT(ends); i++) {
        check_row("%s", ends[i].name);
        send_by(&service);
        memset(&service, 0, sizeof service);
        retry_service_init(&service, START);
        ends[i].end(&op);
        check_no_place_lost(&service);
    }
}

/* ---- a loop ---------------------------------------------------------------------------------- */

static retry_time now_is(void *context)
{
    (void)context;
    return START;
}

static void no_sleep(void *context, retry_ms delay)
{
    (void)context;
    (void)delay;
}

static bool works(void *context, const retry_operation *operation, const retry_step *step,
                  retry_failure *f)
{
    (void)operation;
    (void)step;
    (void)f;
    ++*(unsigned *)context;
    return true;
}

static void test_run(void)
{
    const retry_clock good = clock_of(now_is, no_sleep, NULL);
    const retry_clock no_now = clock_of(NULL, no_sleep, NULL);
    const retry_clock sleepless = clock_of(now_is, NULL, NULL);
    static retry_service service;
    unsigned sent = 0;
    set_up();
    CHECK_END(FAIL, MISUSE, retry_run(NULL, NULL, &good, works, &sent));
    CHECK_STOPS("retry_run: a NULL argument");
    CHECK_END(FAIL, MISUSE, retry_run(&op, NULL, NULL, works, &sent));
    CHECK_STOPS("retry_run: a NULL argument");
    CHECK_END(FAIL, MISUSE, retry_run(&op, NULL, &no_now, works, &sent));
    CHECK_STOPS("retry_clock: now, sleep are not set");
    CHECK_END(FAIL, MISUSE, retry_run(&op, NULL, &sleepless, works, &sent));
    CHECK_STOPS("retry_clock: now, sleep are not set");
    CHECK_END(FAIL, MISUSE, retry_run(&op, NULL, &good, NULL, &sent));
    CHECK_STOPS("retry_run: a NULL argument");
    CHECK_END(FAIL, MISUSE, retry_run(&op, &service, &good, works, &sent)); /* not initialised */
    CHECK_STOPS("retry_service_init comes first");
    CHECK_EQUAL(0, sent);
    retry_service_init(&service, START);
    CHECK_END(SUCCESS, NONE, retry_run(&op, &service, &good, works, &sent));
    CHECK_END(SUCCESS, NONE, retry_run(&op, NULL, &good, works, &sent));
    CHECK_NO_STOP();
    CHECK_EQUAL(2, sent);
}

int main(void)
{
    RUN(test_no_function);
    RUN(test_stopped);
    RUN(test_policies);
    RUN(test_budget);
    RUN(test_next);
    RUN(test_strategy_without_a_function);
    RUN(test_uninitialised_service);
    RUN(test_uninitialised_service_after_a_good_one);
    RUN(test_moved_service);
    RUN(test_no_client);
    RUN(test_copied_in_flight);
    RUN(test_zeroed_in_flight);
    RUN(test_run);
    return check_done();
}
