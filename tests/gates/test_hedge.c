/* Hedged attempts: gRPC's published timelines, each rule in its order, the budget that pays, and an
   independent model in step with the library over random sequences. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/refill.h"

#define NO_TIMER UINT32_MAX
#define NO_RETRY UINT32_MAX /* as an order from the server */

/* Every test runs from here, over the wrap of the clock. */
#define AT(elapsed) check_after((retry_time)-700, (retry_time)(elapsed))

static retry_client client;
static retry_budget budget;
static retry_latency latency;
static retry_hedge_policy policy;
static retry_request request;
static retry_hedge hedge;

/* An idempotent request, begun at 0, whose attempts have four copies, 500 ms after one another. */
static void set_up(void)
{
    memset(&client, 0, sizeof client);
    memset(&budget, 0, sizeof budget);
    memset(&latency, 0, sizeof latency);
    memset(&policy, 0, sizeof policy);
    memset(&request, 0, sizeof request);
    memset(&hedge, 0, sizeof hedge);
    policy.max_attempts = 4;
    policy.delay = 500;
    hedge.policy = &policy;
    request.client = &client;
    request.idempotent = true;
    request.timeout = UINT32_MAX;
    retry_begin(&request, AT(0));
}

static void set_up_budget(uint32_t capacity, uint32_t retry_cost, uint32_t balance)
{
    retry_budget_options options;
    memset(&options, 0, sizeof options);
    options.capacity = capacity;
    options.retry_cost = retry_cost;
    retry_budget_init(&budget, &options, AT(0));
    retry_budget_withdraw(&budget, capacity - balance, AT(0));
    client.budget = &budget;
}

static retry_failure pushback(retry_reason reason, retry_ms order)
{
    retry_failure failure = check_failure_of(reason);
    failure.pushback = true;
    failure.retry_after = order;
    return failure;
}

static retry_hedge_step fail(retry_reason reason, retry_ms elapsed)
{
    retry_failure failure = check_failure_of(reason);
    return retry_hedge_failed(&hedge, &request, &failure, AT(elapsed));
}

static retry_hedge_step fail_order(retry_reason reason, retry_ms order, retry_ms elapsed)
{
    retry_failure failure = pushback(reason, order);
    return retry_hedge_failed(&hedge, &request, &failure, AT(elapsed));
}

static const char *action_name(unsigned action)
{
    static const char *const names[] = {"FAIL", "SEND", "WAIT", "HOLD"};
    return action < CHECK_COUNT(names) ? names[action] : "INVALID";
}

/* After FAIL and HOLD there is no timer. */
static void check_step(unsigned action, unsigned cause, retry_ms delay, retry_hedge_step got,
                       const char *file, int line)
{
    if (action == RETRY_HEDGE_FAIL || action == RETRY_HEDGE_HOLD)
        delay = NO_TIMER;
    if ((action != got.action || cause != got.cause || delay != got.delay) &&
        check_fault(file, line))
        printf("expected %s, %s, %lu; got %s, %s, %lu\n", action_name(action),
               retry_cause_text((uint8_t)cause), (unsigned long)delay, action_name(got.action),
               retry_cause_text(got.cause), (unsigned long)got.delay);
}

#define CHECK_STEP(action, cause, delay, step) \
    check_step(RETRY_HEDGE_##action, RETRY_CAUSE_##cause, (delay), (step), __FILE__, __LINE__)

#define BEGIN(elapsed) retry_hedge_begin(&hedge, &request, AT(elapsed))
#define DUE(elapsed) retry_hedge_due(&hedge, &request, AT(elapsed))

/* Begun at 0, with so many copies on the wire at `elapsed`, when the last of them is sent. */
static void send_copies(uint32_t copies, retry_ms elapsed)
{
    uint32_t n;
    if (copies > 1)
        policy.delay = elapsed / (copies - 1);
    BEGIN(0);
    for (n = 2; n < copies; n++)
        CHECK_STEP(SEND, NONE, policy.delay, DUE((n - 1) * policy.delay));
    policy.delay = 500;
    if (copies > 1)
        CHECK_EQUAL(RETRY_HEDGE_SEND, DUE(elapsed).action);
    CHECK_EQUAL(copies, hedge.in_flight);
}

static void test_size(void)
{
    size_t size = sizeof(void *) == 8 ? 24 : sizeof(retry_time) == 4 ? 16 : 24;
    CHECK(sizeof(retry_hedge) <= size);
    CHECK(sizeof(retry_hedge_step) <= 8);
}

/* ---- begin --------------------------------------------------------------------------------- */

static void test_begin(void)
{
    static const struct {
        uint32_t max_attempts;
        retry_ms delay;
        bool has_latency, knows; /* a latency that tells 71 ms */
        retry_ms expected;
    } rows[] = {
        {0, 500, false, false, 500},
        {2, 500, false, false, 500},
        {1, 500, false, false, NO_TIMER},
        {255, 500, false, false, 500},
        {256, 500, false, false, 500},
        {UINT32_MAX, 500, false, false, 500},
        {0, 1, false, false, 1},
        {0, NO_TIMER - 1, false, false, NO_TIMER - 1},
        {0, NO_TIMER, false, false, NO_TIMER},
        {0, 0, false, false, NO_TIMER},
        {4, 0, false, false, NO_TIMER},
        {4, 0, true, false, NO_TIMER},
        {4, 0, true, true, 71},
        {0, 0, true, true, 71},
        {1, 0, true, true, NO_TIMER},
        {4, 500, true, true, 500},
        {4, 500, true, false, 500},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        int n;
        set_up();
        for (n = 0; rows[i].knows && n < 768; n++)
            retry_latency_add(&latency, 70, true);
        policy.max_attempts = rows[i].max_attempts;
        policy.delay = rows[i].delay;
        policy.latency = rows[i].has_latency ? &latency : NULL;
        check_row("row %u", (unsigned)i);
        CHECK_STEP(SEND, NONE, rows[i].expected, BEGIN(0));
        CHECK_EQUAL(1, hedge.in_flight);
        CHECK_STEP(SEND, NONE, NO_TIMER, retry_hedge_begin(&hedge, NULL, AT(0)));
        request.idempotent = false;
        CHECK_STEP(SEND, NONE, NO_TIMER, BEGIN(0));
        CHECK_STEP(SEND, NONE, NO_TIMER, retry_hedge_begin(NULL, &request, AT(0)));
        CHECK_STEP(SEND, NONE, NO_TIMER, retry_hedge_begin(NULL, NULL, AT(0)));
        hedge.policy = NULL;
        request.idempotent = true;
        CHECK_STEP(SEND, NONE, NO_TIMER, BEGIN(0));
        CHECK_EQUAL(1, hedge.in_flight);
    }
}

/* The first copy is sent whatever the budget and the deadline say. */
static void test_begin_always_sends(void)
{
    set_up();
    set_up_budget(1000, 1000, 0);
    request.timeout = 100;
    CHECK_STEP(SEND, NONE, 500, BEGIN(200));
    CHECK_EQUAL(0, retry_budget_balance(&budget));
    set_up_budget(1000, 1000, 1000);
    CHECK_STEP(SEND, NONE, 500, BEGIN(200));
    CHECK_EQUAL(1000, retry_budget_balance(&budget));
    retry_succeed(&request, AT(200));
    CHECK_STEP(SEND, NONE, 500, BEGIN(200)); /* a request that is closed */
}

/* Whatever was before: copies in flight, an order not to retry, no copies left, a win, a failure.
 */
static void test_begin_anew(void)
{
    int before;
    for (before = 0; before < 6; before++) {
        set_up();
        check_row("before: %d", before);
        BEGIN(0);
        DUE(500);
        switch (before) {
        case 0:
            break;
        case 1:
            CHECK_STEP(HOLD, PUSHBACK, 0, fail_order(RETRY_REASON_KV_LOCKED, NO_RETRY, 600));
            break;
        case 2:
            DUE(1000);
            CHECK_STEP(SEND, NONE, NO_TIMER, DUE(1500));
            break;
        case 3:
            CHECK_EQUAL(1, retry_hedge_won(&hedge));
            break;
        case 4:
            CHECK_STEP(FAIL, NOT_RETRYABLE, 0, fail(RETRY_REASON_NONE, 600));
            break;
        default:
            memset(&hedge, 0xa5, sizeof hedge);
            hedge.policy = &policy;
            break;
        }
        CHECK_STEP(SEND, NONE, 500, BEGIN(2000));
        CHECK_EQUAL(1, hedge.in_flight);
        CHECK_STEP(SEND, NONE, 500, DUE(2500));
        CHECK_STEP(SEND, NONE, 500, DUE(3000));
        CHECK_STEP(SEND, NONE, NO_TIMER, DUE(3500));
        CHECK_STEP(HOLD, ATTEMPTS_EXHAUSTED, 0, DUE(4000));
        CHECK_EQUAL(3, retry_hedge_won(&hedge));
    }
}

static void test_null_policy(void)
{
    set_up();
    hedge.policy = NULL;
    CHECK_STEP(SEND, NONE, NO_TIMER, BEGIN(0));
    CHECK_STEP(HOLD, ATTEMPTS_EXHAUSTED, 0, DUE(0));
    CHECK_STEP(FAIL, ATTEMPTS_EXHAUSTED, 0, fail(RETRY_REASON_KV_LOCKED, 10));
    CHECK_STEP(SEND, NONE, NO_TIMER, BEGIN(20));
    CHECK_EQUAL(0, retry_hedge_won(&hedge));
}

/* ---- the published timelines --------------------------------------------------------------- */

/* What happens at an instant, the timer's own firing apart. */
struct event {
    retry_ms at;
    retry_reason reason;
    bool pushback;
    retry_ms order;
};

#define FOREVER UINT32_MAX

/* Copies start where the steps say; the starts are written down, FOREVER after the last. Returns
   the last step. */
static retry_hedge_step run(const struct event *event, retry_ms *starts)
{
    retry_hedge_step step = BEGIN(0);
    retry_ms now = 0, timer;
    for (;;) {
        if (step.action == RETRY_HEDGE_SEND)
            *starts++ = now;
        timer = FOREVER;
        if (step.action == RETRY_HEDGE_SEND || step.action == RETRY_HEDGE_WAIT)
            timer = step.delay == NO_TIMER ? FOREVER : now + step.delay;
        if (step.action == RETRY_HEDGE_FAIL || (event->at == FOREVER && timer == FOREVER))
            break;
        if (event->at <= timer) {
            retry_failure failure = check_failure_of(event->reason);
            now = event->at;
            failure.pushback = event->pushback;
            failure.retry_after = event->order;
            step = retry_hedge_failed(&hedge, &request, &failure, AT(now));
            event++;
        } else {
            now = timer;
            step = DUE(now);
        }
    }
    *starts = FOREVER;
    return step;
}

#define LOCKED RETRY_REASON_KV_LOCKED
#define UNSENT RETRY_REASON_NODE_NOT_AVAILABLE
#define END              \
    {                    \
        FOREVER, 0, 0, 0 \
    }

/* gRPC's A6: a delay of 500 ms, four copies. */
static const struct {
    const char *text;
    retry_ms timeout;
    struct event events[6];
    retry_ms starts[6];
    uint8_t action, cause, in_flight;
} timelines[] = {
    {"nobody answers",
     0,
     {END},
     {0, 500, 1000, 1500, FOREVER},
     RETRY_HEDGE_SEND,
     RETRY_CAUSE_NONE,
     4},
    {"a copy fails at 200",
     0,
     {{200, LOCKED, false, 0}, END},
     {0, 200, 700, 1200, FOREVER},
     RETRY_HEDGE_SEND,
     RETRY_CAUSE_NONE,
     3},
    {"told to wait 300 at 200",
     0,
     {{200, LOCKED, true, 300}, END},
     {0, 500, 1000, 1500, FOREVER},
     RETRY_HEDGE_SEND,
     RETRY_CAUSE_NONE,
     3},
    {"told to wait 1000 at 700, with one in flight",
     0,
     {{700, LOCKED, true, 1000}, END},
     {0, 500, 1700, 2200, FOREVER},
     RETRY_HEDGE_SEND,
     RETRY_CAUSE_NONE,
     3},
    {"told to go on at once at 700",
     0,
     {{700, LOCKED, true, 0}, END},
     {0, 500, 700, 1200, FOREVER},
     RETRY_HEDGE_SEND,
     RETRY_CAUSE_NONE,
     3},
    {"a lower bound is no order",
     0,
     {{200, LOCKED, false, 300}, END},
     {0, 200, 700, 1200, FOREVER},
     RETRY_HEDGE_SEND,
     RETRY_CAUSE_NONE,
     3},
    {"told not to retry at 700, with one more in flight",
     0,
     {{700, LOCKED, true, NO_RETRY}, END},
     {0, 500, FOREVER},
     RETRY_HEDGE_HOLD,
     RETRY_CAUSE_PUSHBACK,
     1},
    {"the other fails then",
     0,
     {{700, LOCKED, true, NO_RETRY}, {900, LOCKED, false, 0}, END},
     {0, 500, FOREVER},
     RETRY_HEDGE_FAIL,
     RETRY_CAUSE_PUSHBACK,
     0},
    {"fatal at 700",
     0,
     {{700, RETRY_REASON_NONE, false, 0}, END},
     {0, 500, FOREVER},
     RETRY_HEDGE_FAIL,
     RETRY_CAUSE_NOT_RETRYABLE,
     1},
    {"deadline 1200",
     1200,
     {END},
     {0, 500, 1000, FOREVER},
     RETRY_HEDGE_HOLD,
     RETRY_CAUSE_DEADLINE,
     3},
    {"deadline 1500",
     1500,
     {END},
     {0, 500, 1000, FOREVER},
     RETRY_HEDGE_HOLD,
     RETRY_CAUSE_DEADLINE,
     3},
    {"deadline 1501",
     1501,
     {END},
     {0, 500, 1000, 1500, FOREVER},
     RETRY_HEDGE_SEND,
     RETRY_CAUSE_NONE,
     4},
    {"all fail at once",
     0,
     {{0, LOCKED, false, 0},
      {0, LOCKED, false, 0},
      {0, LOCKED, false, 0},
      {0, LOCKED, false, 0},
      END},
     {0, 0, 0, 0, FOREVER},
     RETRY_HEDGE_FAIL,
     RETRY_CAUSE_ATTEMPTS_EXHAUSTED,
     0},
    {"the last of four fails last",
     0,
     {{1600, LOCKED, false, 0}, {1700, LOCKED, false, 0}, {1800, LOCKED, false, 0}, END},
     {0, 500, 1000, 1500, FOREVER},
     RETRY_HEDGE_HOLD,
     RETRY_CAUSE_ATTEMPTS_EXHAUSTED,
     1},
    {"never sent, with one in flight: the timer goes on",
     0,
     {{700, UNSENT, false, 0}, END},
     {0, 500, 1000, 1500, FOREVER},
     RETRY_HEDGE_SEND,
     RETRY_CAUSE_NONE,
     3},
    {"never sent, alone",
     0,
     {{200, UNSENT, false, 0}, END},
     {0, FOREVER},
     RETRY_HEDGE_FAIL,
     RETRY_CAUSE_NOT_RETRYABLE,
     0},
    {"told to wait beyond the deadline, alone",
     1000,
     {{200, LOCKED, true, 800}, END},
     {0, FOREVER},
     RETRY_HEDGE_FAIL,
     RETRY_CAUSE_DEADLINE,
     0},
    {"told to wait up to the deadline, alone",
     1000,
     {{200, LOCKED, true, 799}, END},
     {0, 999, FOREVER},
     RETRY_HEDGE_HOLD,
     RETRY_CAUSE_DEADLINE,
     1},
    {"told to wait beyond the deadline, with one in flight",
     1000,
     {{700, LOCKED, true, 5000}, END},
     {0, 500, FOREVER},
     RETRY_HEDGE_HOLD,
     RETRY_CAUSE_DEADLINE,
     1},
};

static void test_timelines(void)
{
    size_t i, n;
    for (i = 0; i < CHECK_COUNT(timelines); i++) {
        retry_ms starts[8];
        retry_hedge_step step;
        set_up();
        if (timelines[i].timeout != 0)
            request.timeout = timelines[i].timeout;
        step = run(timelines[i].events, starts);
        check_row("%s", timelines[i].text);
        check_step(timelines[i].action, timelines[i].cause, NO_TIMER, step, __FILE__, __LINE__);
        CHECK_EQUAL(timelines[i].in_flight, hedge.in_flight);
        for (n = 0; timelines[i].starts[n] != FOREVER && starts[n] != FOREVER; n++)
            CHECK_EQUAL(timelines[i].starts[n], starts[n]);
        CHECK_EQUAL(timelines[i].starts[n], starts[n]);
    }
}

/* The texts that carry the orders. */
static void test_pushback_texts(void)
{
    static const struct {
        const char *text;
        uint8_t action;
        retry_ms delay;
    } rows[] = {
        {"0", RETRY_HEDGE_SEND, 500},
        {"123", RETRY_HEDGE_WAIT, 123},
        {"2147483647", RETRY_HEDGE_WAIT, 2147483647},
        {"-1", RETRY_HEDGE_HOLD, 0},
        {"", RETRY_HEDGE_HOLD, 0},
        {"abc", RETRY_HEDGE_HOLD, 0},
        {"1.5", RETRY_HEDGE_HOLD, 0},
        {"2147483648", RETRY_HEDGE_HOLD, 0},
        {" 5", RETRY_HEDGE_HOLD, 0},
        {"007", RETRY_HEDGE_HOLD, 0},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
        set_up();
        BEGIN(0);
        DUE(500);
        check_row("\"%s\"", rows[i].text);
        CHECK(retry_parse_pushback(rows[i].text, strlen(rows[i].text), &failure));
        check_step(rows[i].action,
                   rows[i].action == RETRY_HEDGE_HOLD ? RETRY_CAUSE_PUSHBACK : RETRY_CAUSE_NONE,
                   rows[i].delay, retry_hedge_failed(&hedge, &request, &failure, AT(600)), __FILE__,
                   __LINE__);
    }
}

/* ---- due ----------------------------------------------------------------------------------- */

/* A copy must meet all conditions; the first that it does not is the cause. */
static void test_due_in_order(void)
{
    unsigned met;
    for (met = 0; met < 32; met++) {
        bool copies = (met & 1) != 0, idempotent = (met & 2) != 0, in_time = (met & 4) != 0;
        bool paid = (met & 8) != 0, in_flight = (met & 16) != 0;
        uint8_t refused = in_flight ? RETRY_HEDGE_HOLD : RETRY_HEDGE_FAIL;
        uint8_t cause = !copies       ? RETRY_CAUSE_ATTEMPTS_EXHAUSTED
                        : !idempotent ? RETRY_CAUSE_NOT_IDEMPOTENT
                        : !in_time    ? RETRY_CAUSE_DEADLINE
                        : !paid       ? RETRY_CAUSE_BUDGET_EXHAUSTED
                                      : RETRY_CAUSE_NONE;
        bool sent = cause == RETRY_CAUSE_NONE;
        if (!copies && !in_flight)
            continue; /* no copy is waited for then */
        set_up();
        set_up_budget(1000, 1000, paid ? 1000 : 999);
        policy.max_attempts = copies ? 2 : 1;
        request.timeout = 1000;
        check_row("copies %d, idempotent %d, in time %d, paid %d, in flight %d", copies, idempotent,
                  in_time, paid, in_flight);
        BEGIN(0);
        if (!in_flight)
            CHECK_STEP(WAIT, NONE, 500, fail_order(RETRY_REASON_KV_LOCKED, 500, 0));
        request.idempotent = idempotent;
        check_step(sent ? (unsigned)RETRY_HEDGE_SEND : refused, cause, NO_TIMER,
                   DUE(in_time ? 999 : 1000), __FILE__, __LINE__);
        CHECK_EQUAL(in_flight + sent, hedge.in_flight);
        CHECK_EQUAL(sent ? 0 : paid ? 1000 : 999, retry_budget_balance(&budget));
        if (!sent && !in_flight) /* it is closed */
            CHECK_STEP(FAIL, MISUSE, 0, DUE(999));
    }
}

/* An order not to retry counts as no copies left, before all else. */
static void test_due_after_an_order(void)
{
    set_up();
    send_copies(2, 500);
    CHECK_STEP(HOLD, PUSHBACK, 0, fail_order(RETRY_REASON_KV_LOCKED, NO_RETRY, 600));
    CHECK_STEP(HOLD, PUSHBACK, 0, DUE(1000));
    request.idempotent = false;
    CHECK_STEP(HOLD, PUSHBACK, 0, DUE(1000));
    CHECK_EQUAL(1, hedge.in_flight);
    CHECK_EQUAL(0, retry_hedge_won(&hedge));

    set_up(); /* when there are none left anyway */
    policy.max_attempts = 2;
    send_copies(2, 500);
    CHECK_STEP(HOLD, ATTEMPTS_EXHAUSTED, 0, DUE(600));
    CHECK_STEP(HOLD, PUSHBACK, 0, fail_order(RETRY_REASON_KV_LOCKED, NO_RETRY, 600));
    CHECK_STEP(HOLD, PUSHBACK, 0, DUE(600));
}

/* Early it is WAIT with the rest, if the first three conditions hold; the budget is not asked. */
static void test_due_early(void)
{
    set_up();
    set_up_budget(1000, 1000, 0);
    request.timeout = 700;
    BEGIN(0);
    CHECK_STEP(WAIT, NONE, 500, DUE(0));
    CHECK_STEP(WAIT, NONE, 499, DUE(1));
    CHECK_STEP(WAIT, NONE, 1, DUE(499));
    CHECK_STEP(HOLD, BUDGET_EXHAUSTED, 0, DUE(500));
    CHECK_STEP(WAIT, NONE, NO_TIMER, DUE(600)); /* no timer is set any more */
    CHECK_STEP(HOLD, DEADLINE, 0, DUE(700));

    set_up();
    request.timeout = 300;
    BEGIN(0);
    CHECK_STEP(WAIT, NONE, 201, DUE(299)); /* it may be past the deadline then */
    CHECK_STEP(HOLD, DEADLINE, 0, DUE(300));

    set_up();
    BEGIN(0);
    request.idempotent = false;
    CHECK_STEP(HOLD, NOT_IDEMPOTENT, 0, DUE(1));
    CHECK_EQUAL(1, hedge.in_flight);
}

/* What is early does not begin the wait anew, and late is counted from when a copy is sent. */
static void test_due_late(void)
{
    set_up();
    BEGIN(0);
    CHECK_STEP(WAIT, NONE, 300, DUE(200));
    CHECK_STEP(WAIT, NONE, 100, DUE(400));
    CHECK_STEP(SEND, NONE, 500, DUE(900));
    CHECK_STEP(WAIT, NONE, 1, DUE(1399));
    CHECK_STEP(SEND, NONE, 500, DUE(1400));
    CHECK_STEP(SEND, NONE, NO_TIMER, DUE(2000000000));
    CHECK_STEP(HOLD, ATTEMPTS_EXHAUSTED, 0, DUE(2000000000));
}

/* A clock that steps back counts as no time passed, from when the copy was sent. */
static void test_clock_steps_back(void)
{
    set_up();
    BEGIN(1000);
    CHECK_STEP(WAIT, NONE, 500, DUE(400));
    CHECK_STEP(WAIT, NONE, 400, DUE(1100));
    CHECK_STEP(SEND, NONE, 500, DUE(1500));
}

static void test_request_not_open(void)
{
    set_up();
    BEGIN(0);
    retry_succeed(&request, AT(1));
    CHECK_STEP(HOLD, DEADLINE, 0, DUE(500)); /* there is nothing left of it */
    CHECK_STEP(FAIL, DEADLINE, 0, fail(RETRY_REASON_KV_LOCKED, 500));
    set_up();
    memset(&request, 0, sizeof request);
    request.idempotent = true;
    BEGIN(0);
    CHECK_STEP(HOLD, DEADLINE, 0, DUE(500)); /* never begun */
}

/* ---- the delay ----------------------------------------------------------------------------- */

/* The latency is asked anew after each copy. */
static void test_latency_delay(void)
{
    int n;
    set_up();
    policy.delay = 0;
    policy.latency = &latency;
    policy.max_attempts = 6;
    latency.min_samples = 1;
    CHECK_STEP(SEND, NONE, NO_TIMER, BEGIN(0)); /* it knows nothing yet */
    CHECK_STEP(WAIT, NONE, NO_TIMER, DUE(100));
    CHECK_STEP(SEND, NONE, NO_TIMER, fail(RETRY_REASON_KV_LOCKED, 100)); /* at once all the same */
    for (n = 0; n < 12; n++)
        retry_latency_add(&latency, 40, true);
    CHECK_STEP(WAIT, NONE, NO_TIMER, DUE(200));
    CHECK_STEP(SEND, NONE, 40, fail(RETRY_REASON_KV_LOCKED, 200));
    retry_latency_add(&latency, 1000, true);
    CHECK_STEP(WAIT, NONE, 1, DUE(239)); /* a timer that is set stays */
    CHECK_STEP(SEND, NONE, 55, DUE(240));
    CHECK_STEP(SEND, NONE, 55, DUE(295));
    CHECK_STEP(SEND, NONE, NO_TIMER, DUE(350));
    CHECK_EQUAL(4, hedge.in_flight);
}

/* Without a delay and a latency there are no hedges, a failed copy's successor included. */
static void test_no_delay(void)
{
    set_up();
    policy.delay = 0;
    CHECK_STEP(SEND, NONE, NO_TIMER, BEGIN(0));
    CHECK_STEP(HOLD, ATTEMPTS_EXHAUSTED, 0, DUE(100));
    CHECK_STEP(FAIL, ATTEMPTS_EXHAUSTED, 0, fail(RETRY_REASON_KV_LOCKED, 100));
}

/* With a delay of UINT32_MAX none is sent by a timer. */
static void test_longest_delay(void)
{
    set_up();
    policy.delay = NO_TIMER - 1;
    CHECK_STEP(SEND, NONE, NO_TIMER - 1, BEGIN(0));
    CHECK_STEP(WAIT, NONE, NO_TIMER - 1 - 2000000000u, DUE(2000000000u));
    policy.delay = NO_TIMER;
    CHECK_STEP(SEND, NONE, NO_TIMER, BEGIN(0));
    CHECK_STEP(WAIT, NONE, NO_TIMER, DUE(2000000000u));
    CHECK_STEP(SEND, NONE, NO_TIMER, fail(RETRY_REASON_KV_LOCKED, 2000000000u));
}

static void test_max_attempts(void)
{
    static const struct {
        uint32_t max_attempts, copies;
    } rows[] = {{0, 2},     {1, 1},     {2, 2},     {3, 3},     {254, 254},
                {255, 255}, {256, 255}, {257, 255}, {512, 255}, {UINT32_MAX, 255}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        uint32_t n, sent = 1;
        set_up();
        policy.max_attempts = rows[i].max_attempts;
        policy.delay = 1;
        check_row("max_attempts %lu", (unsigned long)rows[i].max_attempts);
        BEGIN(0);
        for (n = 1; n < 300; n++)
            sent += DUE(n).action == RETRY_HEDGE_SEND;
        CHECK_EQUAL(rows[i].copies, sent);
        CHECK_EQUAL(rows[i].copies, hedge.in_flight);
        CHECK_STEP(HOLD, ATTEMPTS_EXHAUSTED, 0, DUE(300));
        for (n = 1; n < rows[i].copies; n++)
            CHECK_STEP(HOLD, ATTEMPTS_EXHAUSTED, 0, fail(RETRY_REASON_KV_LOCKED, 300));
        CHECK_STEP(FAIL, ATTEMPTS_EXHAUSTED, 0, fail(RETRY_REASON_KV_LOCKED, 300));

        BEGIN(0); /* the same by failures */
        for (sent = 1; sent < 300 && fail(RETRY_REASON_KV_LOCKED, 0).action == RETRY_HEDGE_SEND;)
            sent++;
        CHECK_EQUAL(rows[i].copies, sent);
    }
}

/* ---- failed: what is fatal ----------------------------------------------------------------- */

#define USER RETRY_REASON_USER
#define ALLOWS RETRY_REASON_ALLOWS_NON_IDEMPOTENT

/* What a failure is to an idempotent operation and to one that is not, and to both. */
struct kind {
    retry_reason reason;
    uint8_t safety, fault;
    uint8_t fatal, fatal_not_idempotent; /* RETRY_CAUSE_NONE: it is not */
    bool unsent, ambiguous;
};

#define MAYBE RETRY_SAFETY_MAYBE
#define YES RETRY_SAFETY_YES
#define NO RETRY_SAFETY_NO
#define OTHER RETRY_FAULT_OTHER
#define SERVER RETRY_FAULT_SERVER
#define FINE RETRY_CAUSE_NONE

static const struct kind kinds[] = {
    {RETRY_REASON_KV_LOCKED, MAYBE, OTHER, FINE, FINE, false, false},
    {RETRY_REASON_KV_LOCKED, YES, SERVER, FINE, FINE, false, false},
    {RETRY_REASON_KV_LOCKED, NO, OTHER, RETRY_CAUSE_UNSAFE, RETRY_CAUSE_UNSAFE, false, false},
    {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, MAYBE, OTHER, FINE, RETRY_CAUSE_NOT_IDEMPOTENT,
     false, true},
    {RETRY_REASON_ATTEMPT_TIMED_OUT, MAYBE, SERVER, FINE, RETRY_CAUSE_NOT_IDEMPOTENT, false, true},
    {RETRY_REASON_ATTEMPT_TIMED_OUT, YES, OTHER, FINE, FINE, false, false},
    {RETRY_REASON_SERVER_ERROR, MAYBE, SERVER, FINE, RETRY_CAUSE_NOT_IDEMPOTENT, false, true},
    {RETRY_REASON_SERVER_ERROR, NO, SERVER, RETRY_CAUSE_UNSAFE, RETRY_CAUSE_UNSAFE, false, true},
    {RETRY_REASON_NONE, MAYBE, OTHER, RETRY_CAUSE_NOT_RETRYABLE, RETRY_CAUSE_NOT_RETRYABLE, false,
     false},
    {RETRY_REASON_NONE, MAYBE, RETRY_FAULT_CLIENT, RETRY_CAUSE_NOT_RETRYABLE,
     RETRY_CAUSE_NOT_RETRYABLE, false, false},
    {RETRY_REASON_NONE, MAYBE, SERVER, FINE, RETRY_CAUSE_NOT_IDEMPOTENT, false, true},
    {RETRY_REASON_NONE, YES, OTHER, FINE, FINE, false, false},
    {RETRY_REASON_NONE, YES, SERVER, FINE, FINE, false, false},
    {RETRY_REASON_NONE, NO, OTHER, RETRY_CAUSE_UNSAFE, RETRY_CAUSE_UNSAFE, false, false},
    {RETRY_REASON_NONE, NO, SERVER, RETRY_CAUSE_UNSAFE, RETRY_CAUSE_UNSAFE, false, true},
    {RETRY_REASON_UNKNOWN, MAYBE, OTHER, RETRY_CAUSE_UNKNOWN_REASON, RETRY_CAUSE_UNKNOWN_REASON,
     false, true},
    {RETRY_REASON_UNKNOWN, YES, SERVER, RETRY_CAUSE_UNKNOWN_REASON, RETRY_CAUSE_UNKNOWN_REASON,
     false, false},
    {RETRY_REASON_COUNT, MAYBE, OTHER, RETRY_CAUSE_UNKNOWN_REASON, RETRY_CAUSE_UNKNOWN_REASON,
     false, true},
    {0x1240, MAYBE, OTHER, RETRY_CAUSE_UNKNOWN_REASON, RETRY_CAUSE_UNKNOWN_REASON, false, true},
    {RETRY_REASON_KV_NOT_MY_VBUCKET, MAYBE, OTHER, FINE, FINE, false, false},
    {RETRY_REASON_KV_NOT_MY_VBUCKET, NO, OTHER, RETRY_CAUSE_UNSAFE, RETRY_CAUSE_UNSAFE, false,
     false},
    {USER(0, 0), MAYBE, OTHER, FINE, RETRY_CAUSE_NOT_IDEMPOTENT, false, true},
    {USER(3, RETRY_REASON_ALWAYS), MAYBE, OTHER, FINE, RETRY_CAUSE_NOT_IDEMPOTENT, false, true},
    {USER(15, RETRY_REASON_FREE | ALLOWS), MAYBE, OTHER, FINE, FINE, false, false},
    {RETRY_REASON_SOCKET_NOT_AVAILABLE, MAYBE, OTHER, FINE, FINE, true, false},
    {RETRY_REASON_SERVICE_NOT_AVAILABLE, MAYBE, OTHER, FINE, FINE, true, false},
    {RETRY_REASON_NODE_NOT_AVAILABLE, MAYBE, SERVER, FINE, FINE, true, false},
    {RETRY_REASON_CIRCUIT_BREAKER_OPEN, YES, OTHER, FINE, FINE, true, false},
    {RETRY_REASON_CLIENT_THROTTLED, MAYBE, OTHER, FINE, FINE, true, false},
    {RETRY_REASON_CLIENT_THROTTLED, NO, OTHER, RETRY_CAUSE_UNSAFE, RETRY_CAUSE_UNSAFE, true, false},
};

static retry_failure failure_of(const struct kind *kind)
{
    retry_failure failure = check_failure_of(kind->reason);
    failure.safety = kind->safety;
    failure.fault = kind->fault;
    return failure;
}

/* What the request learns of a copy that failed, and of those that are cancelled with it. */
static void check_learnt(const struct kind *kind, bool ambiguous)
{
    CHECK_EQUAL(ambiguous, request.ambiguous);
    CHECK_EQUAL(kind->reason < RETRY_REASON_COUNT || (kind->reason & 0xff40) == 0x40,
                retry_reason_set_has(request.reasons, kind->reason));
    CHECK_EQUAL(0, request.attempts); /* and nothing else */
    CHECK_EQUAL(0, request.code_attempts);
    CHECK_EQUAL(0, request.code);
    CHECK_EQUAL(0, request.last_delay);
}

static void test_fatal(void)
{
    size_t i;
    unsigned more;
    for (i = 0; i < CHECK_COUNT(kinds); i++) {
        retry_failure failure = failure_of(&kinds[i]);
        failure.code = 42;
        if (kinds[i].fatal == RETRY_CAUSE_NONE)
            continue;
        for (more = 0; more < 3; more++) { /* others in flight */
            set_up();
            send_copies(1 + more, 500 * more);
            check_row("kind %u, %u in flight", (unsigned)i, more);
            check_step(RETRY_HEDGE_FAIL, kinds[i].fatal, 0,
                       retry_hedge_failed(&hedge, &request, &failure, AT(1100)), __FILE__,
                       __LINE__);
            CHECK_EQUAL(more, hedge.in_flight); /* to be cancelled */
            check_learnt(&kinds[i], kinds[i].ambiguous || more > 0);
            CHECK_STEP(FAIL, MISUSE, 0, DUE(1100));
            CHECK_EQUAL(0, retry_hedge_won(&hedge));
        }
    }
}

/* What only an idempotent operation may repeat ends one that is not. */
static void test_not_permitted(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(kinds); i++) {
        retry_failure failure = failure_of(&kinds[i]);
        set_up();
        request.idempotent = false;
        BEGIN(0);
        check_row("kind %u", (unsigned)i);
        if (kinds[i].fatal_not_idempotent != RETRY_CAUSE_NONE)
            check_step(RETRY_HEDGE_FAIL, kinds[i].fatal_not_idempotent, 0,
                       retry_hedge_failed(&hedge, &request, &failure, AT(100)), __FILE__, __LINE__);
        else /* nor is it followed when it is permitted */
            check_step(RETRY_HEDGE_FAIL,
                       kinds[i].unsent ? RETRY_CAUSE_NOT_RETRYABLE : RETRY_CAUSE_NOT_IDEMPOTENT, 0,
                       retry_hedge_failed(&hedge, &request, &failure, AT(100)), __FILE__, __LINE__);
        check_learnt(&kinds[i], kinds[i].ambiguous);
    }
}

/* Fatal comes before an order of any kind, but where step 3 itself has the order first. */
static void test_fatal_and_order(void)
{
    static const retry_ms orders[] = {0, 1, 300, NO_RETRY - 1, NO_RETRY};
    size_t i, n;
    for (i = 0; i < CHECK_COUNT(kinds); i++) {
        for (n = 0; n < CHECK_COUNT(orders); n++) {
            retry_failure failure = failure_of(&kinds[i]);
            bool stop = orders[n] == NO_RETRY;
            failure.pushback = true;
            failure.retry_after = orders[n];
            if (kinds[i].fatal == RETRY_CAUSE_NONE)
                continue;
            set_up();
            send_copies(2, 500);
            check_row("kind %u, order %lu", (unsigned)i, (unsigned long)orders[n]);
            if (stop && kinds[i].fatal != RETRY_CAUSE_UNSAFE)
                CHECK_STEP(HOLD, PUSHBACK, 0,
                           retry_hedge_failed(&hedge, &request, &failure, AT(600)));
            else
                check_step(RETRY_HEDGE_FAIL, kinds[i].fatal, 0,
                           retry_hedge_failed(&hedge, &request, &failure, AT(600)), __FILE__,
                           __LINE__);
        }
    }
    set_up();
    request.idempotent = false;
    BEGIN(0);
    CHECK_STEP(FAIL, NOT_IDEMPOTENT, 0, fail_order(RETRY_REASON_SERVER_ERROR, NO_RETRY, 1));
}

/* ---- failed: what is not ------------------------------------------------------------------- */

static void test_followed_at_once(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(kinds); i++) {
        retry_failure failure = failure_of(&kinds[i]);
        if (kinds[i].fatal != RETRY_CAUSE_NONE || kinds[i].unsent)
            continue;
        set_up();
        BEGIN(0);
        check_row("kind %u", (unsigned)i);
        CHECK_STEP(SEND, NONE, 500, retry_hedge_failed(&hedge, &request, &failure, AT(200)));
        CHECK_EQUAL(1, hedge.in_flight);
        check_learnt(&kinds[i], kinds[i].ambiguous);
        CHECK_STEP(WAIT, NONE, 1, DUE(699)); /* the timer counts from this copy on */
        CHECK_STEP(SEND, NONE, 500, DUE(700));
        CHECK_STEP(SEND, NONE, NO_TIMER, retry_hedge_failed(&hedge, &request, &failure, AT(800)));
        CHECK_EQUAL(2, hedge.in_flight);
        CHECK_STEP(HOLD, ATTEMPTS_EXHAUSTED, 0,
                   retry_hedge_failed(&hedge, &request, &failure, AT(900)));
        CHECK_STEP(FAIL, ATTEMPTS_EXHAUSTED, 0,
                   retry_hedge_failed(&hedge, &request, &failure, AT(900)));
        CHECK_EQUAL(0, hedge.in_flight);
    }
}

/* Under due's conditions, in their order. */
static void test_followed_in_order(void)
{
    unsigned met;
    for (met = 0; met < 16; met++) {
        bool idempotent = (met & 1) != 0, in_time = (met & 2) != 0, paid = (met & 4) != 0;
        bool other = (met & 8) != 0;
        uint8_t cause = !idempotent ? RETRY_CAUSE_NOT_IDEMPOTENT
                        : !in_time  ? RETRY_CAUSE_DEADLINE
                        : !paid     ? RETRY_CAUSE_BUDGET_EXHAUSTED
                                    : RETRY_CAUSE_NONE;
        uint8_t refused = other ? RETRY_HEDGE_HOLD : RETRY_HEDGE_FAIL;
        set_up();
        request.timeout = 1000;
        send_copies(1u + other, 500u * other);
        set_up_budget(1000, 1000, paid ? 1000 : 0);
        request.idempotent = idempotent;
        check_row("idempotent %d, in time %d, paid %d, other in flight %d", idempotent, in_time,
                  paid, other);
        check_step(cause == RETRY_CAUSE_NONE ? (unsigned)RETRY_HEDGE_SEND : refused, cause, 500,
                   fail(RETRY_REASON_KV_LOCKED, in_time ? 999 : 1000), __FILE__, __LINE__);
        request.idempotent = true;
        if (cause != RETRY_CAUSE_NONE && other) /* the timer is off */
            CHECK_STEP(WAIT, NONE, NO_TIMER, DUE(999));
        else if (cause != RETRY_CAUSE_NONE)
            CHECK_STEP(FAIL, MISUSE, 0, DUE(999));
    }
}

/* An order not to retry: the others' answers count, and no copy is sent from then on. */
static void test_order_not_to_retry(void)
{
    set_up();
    send_copies(3, 1000);
    CHECK_STEP(HOLD, PUSHBACK, 0, fail_order(RETRY_REASON_KV_LOCKED, NO_RETRY, 1100));
    CHECK_STEP(HOLD, PUSHBACK, 0, fail(RETRY_REASON_KV_LOCKED, 1200));
    CHECK_STEP(FAIL, PUSHBACK, 0, fail(RETRY_REASON_KV_LOCKED, 1300));

    set_up(); /* an order to wait does not take it back */
    send_copies(3, 1000);
    fail_order(RETRY_REASON_KV_LOCKED, NO_RETRY, 1100);
    CHECK_STEP(HOLD, PUSHBACK, 0, fail_order(RETRY_REASON_KV_LOCKED, 10, 1200));
    CHECK_STEP(FAIL, PUSHBACK, 0, fail_order(RETRY_REASON_KV_LOCKED, 10, 1200));

    set_up(); /* never sent, or fatal, is the cause of its own */
    send_copies(3, 1000);
    fail_order(RETRY_REASON_KV_LOCKED, NO_RETRY, 1100);
    CHECK_STEP(HOLD, NOT_RETRYABLE, 0, fail(UNSENT, 1200));
    CHECK_STEP(FAIL, UNKNOWN_REASON, 0, fail(RETRY_REASON_UNKNOWN, 1300));

    set_up(); /* alone; for what is always retried, and what was never sent, as well */
    BEGIN(0);
    CHECK_STEP(FAIL, PUSHBACK, 0, fail_order(RETRY_REASON_KV_NOT_MY_VBUCKET, NO_RETRY, 1));
    BEGIN(0);
    CHECK_STEP(FAIL, PUSHBACK, 0, fail_order(UNSENT, NO_RETRY, 1));
    BEGIN(0);
    DUE(500);
    CHECK_STEP(HOLD, PUSHBACK, 0, fail_order(UNSENT, NO_RETRY, 501));
}

/* Without the flag a wait of UINT32_MAX is a lower bound like any other, which hedges ignore. */
static void test_no_order(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    failure.retry_after = NO_RETRY;
    set_up();
    BEGIN(0);
    CHECK_STEP(SEND, NONE, 500, retry_hedge_failed(&hedge, &request, &failure, AT(1)));
}

static void test_never_sent(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(kinds); i++) {
        retry_failure failure = failure_of(&kinds[i]);
        if (!kinds[i].unsent || kinds[i].fatal != RETRY_CAUSE_NONE)
            continue;
        set_up();
        set_up_budget(1000, 1000, 1000);
        send_copies(1, 0);
        check_row("kind %u", (unsigned)i);
        CHECK_STEP(FAIL, NOT_RETRYABLE, 0, retry_hedge_failed(&hedge, &request, &failure, AT(1)));
        check_learnt(&kinds[i], false);
        CHECK_EQUAL(1000, retry_budget_balance(&budget));

        send_copies(2, 500); /* the other's timer goes on, to the ms */
        CHECK_STEP(WAIT, NONE, 499, retry_hedge_failed(&hedge, &request, &failure, AT(501)));
        CHECK_STEP(WAIT, NONE, 1, DUE(999));
        set_up_budget(1000, 1000, 1000);
        CHECK_STEP(SEND, NONE, 500, DUE(1000));

        set_up();
        send_copies(2, 500); /* it has fired, but nobody looked */
        CHECK_STEP(WAIT, NONE, 0, retry_hedge_failed(&hedge, &request, &failure, AT(1000)));
        CHECK_EQUAL(1, hedge.in_flight);
        CHECK_STEP(SEND, NONE, 500, DUE(1000));

        set_up();
        send_copies(4, 1500); /* there is none after the last copy */
        CHECK_STEP(HOLD, NOT_RETRYABLE, 0, retry_hedge_failed(&hedge, &request, &failure, AT(1)));

        set_up();
        request.timeout = 600; /* the deadline is not asked */
        send_copies(2, 500);
        CHECK_STEP(WAIT, NONE, 400, retry_hedge_failed(&hedge, &request, &failure, AT(600)));

        set_up(); /* nor is an order to wait heard */
        send_copies(2, 500);
        failure.pushback = true;
        failure.retry_after = 7;
        CHECK_STEP(WAIT, NONE, 300, retry_hedge_failed(&hedge, &request, &failure, AT(700)));
        CHECK_STEP(FAIL, NOT_RETRYABLE, 0, retry_hedge_failed(&hedge, &request, &failure, AT(700)));
    }
}

/* No copies left comes before an order to wait. */
static void test_no_copies_left(void)
{
    set_up();
    policy.max_attempts = 2;
    request.timeout = 1000;
    send_copies(2, 500);
    request.idempotent = false;
    CHECK_STEP(HOLD, ATTEMPTS_EXHAUSTED, 0, fail_order(RETRY_REASON_KV_LOCKED, 10, 1200));
    CHECK_STEP(FAIL, ATTEMPTS_EXHAUSTED, 0, fail_order(RETRY_REASON_KV_LOCKED, 10, 1200));
}

static void test_order_to_wait(void)
{
    set_up(); /* alone */
    set_up_budget(1000, 1000, 1000);
    BEGIN(0);
    CHECK_STEP(WAIT, NONE, 300, fail_order(RETRY_REASON_KV_LOCKED, 300, 100));
    CHECK_EQUAL(0, hedge.in_flight);
    CHECK_EQUAL(1000, retry_budget_balance(&budget)); /* paid when it is sent */
    CHECK_EQUAL(0, retry_hedge_won(&hedge));          /* by nothing */
    CHECK_STEP(FAIL, MISUSE, 0, fail(RETRY_REASON_KV_LOCKED, 100));
    CHECK_STEP(WAIT, NONE, 1, DUE(399));
    CHECK_STEP(SEND, NONE, 500, DUE(400));
    CHECK_EQUAL(0, retry_budget_balance(&budget));
    CHECK_STEP(HOLD, BUDGET_EXHAUSTED, 0, DUE(900));
    CHECK_STEP(WAIT, NONE, 5, fail_order(RETRY_REASON_KV_LOCKED, 5, 900));
    CHECK_STEP(FAIL, BUDGET_EXHAUSTED, 0, DUE(905));

    set_up(); /* shorter or longer than the timer that was set, with others in flight */
    send_copies(3, 1000);
    CHECK_STEP(WAIT, NONE, 100, fail_order(RETRY_REASON_KV_LOCKED, 100, 1200));
    CHECK_STEP(WAIT, NONE, 5000, fail_order(RETRY_REASON_KV_LOCKED, 5000, 1250));
    CHECK_STEP(WAIT, NONE, 1, DUE(6249));
    CHECK_STEP(SEND, NONE, NO_TIMER, DUE(6250));

    set_up(); /* the longest */
    BEGIN(0);
    CHECK_STEP(WAIT, NONE, NO_RETRY - 1, fail_order(RETRY_REASON_KV_LOCKED, NO_RETRY - 1, 1));
    CHECK_STEP(WAIT, NONE, NO_RETRY - 1 - 2000000000u, DUE(2000000001));

    set_up(); /* a timer where none was */
    policy.delay = 0;
    policy.latency = &latency;
    CHECK_STEP(SEND, NONE, NO_TIMER, BEGIN(0));
    CHECK_STEP(WAIT, NONE, 40, fail_order(RETRY_REASON_KV_LOCKED, 40, 1));
    CHECK_STEP(SEND, NONE, NO_TIMER, DUE(41));
}

/* Idempotency and the deadline matter at once only when nothing is in flight. */
static void test_order_to_wait_in_order(void)
{
    static const struct {
        bool idempotent;
        retry_ms order;
        bool other;
        uint8_t action, cause;
    } rows[] = {
        {true, 799, false, RETRY_HEDGE_WAIT, RETRY_CAUSE_NONE},
        {true, 800, false, RETRY_HEDGE_FAIL, RETRY_CAUSE_DEADLINE},
        {true, 801, false, RETRY_HEDGE_FAIL, RETRY_CAUSE_DEADLINE},
        {true, NO_RETRY - 1, false, RETRY_HEDGE_FAIL, RETRY_CAUSE_DEADLINE},
        {false, 1, false, RETRY_HEDGE_FAIL, RETRY_CAUSE_NOT_IDEMPOTENT},
        {false, 800, false, RETRY_HEDGE_FAIL, RETRY_CAUSE_NOT_IDEMPOTENT},
        {true, 799, true, RETRY_HEDGE_WAIT, RETRY_CAUSE_NONE},
        {true, 800, true, RETRY_HEDGE_WAIT, RETRY_CAUSE_NONE},
        {true, NO_RETRY - 1, true, RETRY_HEDGE_WAIT, RETRY_CAUSE_NONE},
        {false, 800, true, RETRY_HEDGE_WAIT, RETRY_CAUSE_NONE},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        set_up();
        request.timeout = 1000;
        send_copies(1u + rows[i].other, 100);
        request.idempotent = rows[i].idempotent;
        check_row("row %u", (unsigned)i);
        check_step(rows[i].action, rows[i].cause, rows[i].order,
                   fail_order(RETRY_REASON_KV_LOCKED, rows[i].order, 200), __FILE__, __LINE__);
    }
}

/* ---- the budget ---------------------------------------------------------------------------- */

/* retry_cost, whatever failed before. */
static void test_budget_pays_each_copy(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    failure.timeout = true;
    failure.throttle = true;
    set_up();
    set_up_budget(10000, 700, 1500);
    budget.options.timeout_cost = 5000;
    budget.options.throttle_cost = 5000;
    BEGIN(0);
    CHECK_STEP(SEND, NONE, 500, retry_hedge_failed(&hedge, &request, &failure, AT(1)));
    CHECK_EQUAL(800, retry_budget_balance(&budget));
    CHECK_STEP(SEND, NONE, 500, fail(USER(1, RETRY_REASON_FREE), 2)); /* what is free to retry */
    CHECK_EQUAL(100, retry_budget_balance(&budget));
    CHECK_STEP(FAIL, BUDGET_EXHAUSTED, 0, fail(RETRY_REASON_SERVER_ERROR, 3));
    CHECK_EQUAL(100, retry_budget_balance(&budget));
}

/* A copy's charge is not the request's: it stays paid, unless the copy was never sent. */
static void test_budget_keeps_it(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    set_up();
    set_up_budget(10000, 1000, 10000);
    budget.options.refund_last = true;
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, AT(0)));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    budget.options.retry_cost = 1500; /* so that charges can be told apart */
    BEGIN(0);
    DUE(500);
    DUE(1000);
    CHECK_EQUAL(6000, retry_budget_balance(&budget));
    CHECK_STEP(WAIT, NONE, 400, fail(UNSENT, 1100)); /* that was the copy's */
    CHECK_EQUAL(7500, retry_budget_balance(&budget));
    CHECK_EQUAL(1, retry_hedge_won(&hedge));
    retry_cancel(&request, AT(1100)); /* gives back what the retry cost */
    CHECK_EQUAL(8500, retry_budget_balance(&budget));
}

/* A copy that is due because another failed: a budget that charges failures was charged for that
   one first. */
static void test_budget_kinds(void)
{
    static const struct {
        uint32_t capacity, retry_cost, floor, balance;
        bool charge_failures;
        bool sent[2];
        uint32_t left[2];
    } rows[] = {
        {9000, 0, 0, 0, false, {true, true}, {0, 0}}, /* free */
        {9000, 1000, 0, 1000, false, {true, true}, {0, 0}},
        {9000, 1000, 0, 999, false, {false, false}, {999, 999}},
        {9000, 1000, 500, 1501, false, {true, true}, {501, 501}},
        {9000, 1000, 500, 1500, false, {false, false}, {1500, 1500}},
        {0, 0, 0, 0, false, {false, false}, {0, 0}}, /* pays for nothing */
        {9000, 1000, 4500, 4501, true, {true, false}, {4501, 3501}},
        {9000, 1000, 4500, 5501, true, {true, true}, {5501, 4501}},
        {9000, 1000, 4500, 5500, true, {true, false}, {5500, 4500}},
        {9000, 1000, 4500, 4500, true, {false, false}, {4500, 3500}},
        {9000, 1000, 0, 1001, true, {true, true}, {1001, 1}},
        {9000, 1000, 0, 1, true, {true, false}, {1, 0}},
        {9000, 1000, 0, 0, true, {false, false}, {0, 0}},
        {0, 0, 0, 0, true, {false, false}, {0, 0}},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        unsigned failed;
        for (failed = 0; failed < 2; failed++) {
            set_up();
            set_up_budget(rows[i].capacity, rows[i].retry_cost, rows[i].balance);
            budget.options.floor = rows[i].floor;
            budget.options.charge_failures = rows[i].charge_failures;
            BEGIN(0);
            check_row("row %u, %s", (unsigned)i, failed ? "failed" : "due");
            if (rows[i].sent[failed])
                CHECK_STEP(SEND, NONE, 500, failed ? fail(RETRY_REASON_KV_LOCKED, 500) : DUE(500));
            else if (failed)
                CHECK_STEP(FAIL, BUDGET_EXHAUSTED, 0, fail(RETRY_REASON_KV_LOCKED, 500));
            else
                CHECK_STEP(HOLD, BUDGET_EXHAUSTED, 0, DUE(500));
            CHECK_EQUAL(rows[i].left[failed], retry_budget_balance(&budget));
        }
    }
}

/* gRPC's: five failed copies take ten tokens to five, and no sixth is sent. The failure that is
   handed over is one of them. */
static void test_budget_grpc(void)
{
    static const retry_budget_options grpc = RETRY_BUDGET_GRPC;
    retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    unsigned n;
    set_up();
    policy.max_attempts = 9;
    retry_budget_init(&budget, &grpc, AT(0));
    client.budget = &budget;
    BEGIN(0);
    for (n = 1; n < 5; n++) {
        CHECK_STEP(SEND, NONE, 500, retry_hedge_failed(&hedge, &request, &failure, AT(n)));
        CHECK_EQUAL(10000 - n * 1000, retry_budget_balance(&budget));
    }
    CHECK_STEP(FAIL, BUDGET_EXHAUSTED, 0, retry_hedge_failed(&hedge, &request, &failure, AT(5)));
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, retry_orchestrate(&request, &failure, AT(5)));
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
    retry_begin(&request, AT(6)); /* one that no hedge heard of */
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, retry_orchestrate(&request, &failure, AT(6)));
    CHECK_EQUAL(4000, retry_budget_balance(&budget));
}

/* Charged when it is heard of, by its kind, and not again: whichever strategy is asked, with an
   order, and when the deadline comes before the copy that was to follow. */
static void test_budget_charges_once(void)
{
    static const retry_strategy pending = {check_pending_after};
    retry_failure late = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    retry_failure order = pushback(RETRY_REASON_SERVER_ERROR, NO_RETRY);
    late.timeout = true;
    set_up();
    set_up_budget(10000, 1000, 10000);
    budget.options.charge_failures = true;
    budget.options.timeout_cost = 3000;
    request.strategy = &pending;
    policy.max_attempts = 1;
    BEGIN(0);
    CHECK_STEP(FAIL, ATTEMPTS_EXHAUSTED, 0, retry_hedge_failed(&hedge, &request, &late, AT(1)));
    CHECK_EQUAL(7000, retry_budget_balance(&budget));
    CHECK_DECISION(PENDING, PENDING, retry_orchestrate(&request, &late, AT(1)));
    CHECK_DECISION(RETRY, STRATEGY, retry_resume(&request, &late, retry_action_after(5), AT(2)));
    CHECK_EQUAL(7000, retry_budget_balance(&budget));
    request.strategy = NULL;
    BEGIN(7);
    CHECK_STEP(FAIL, PUSHBACK, 0, retry_hedge_failed(&hedge, &request, &order, AT(8)));
    CHECK_EQUAL(6000, retry_budget_balance(&budget));
    CHECK_DECISION(FAIL, PUSHBACK, retry_orchestrate(&request, &order, AT(8)));
    CHECK_EQUAL(6000, retry_budget_balance(&budget));
    retry_begin(&request, AT(10));
    request.timeout = 100;
    policy.max_attempts = 3;
    BEGIN(10);
    CHECK_STEP(WAIT, NONE, 50, fail_order(RETRY_REASON_KV_LOCKED, 50, 20));
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
    CHECK_STEP(FAIL, DEADLINE, 0, DUE(110));
    late.timeout = false;
    CHECK_DECISION(EXPIRE, DEADLINE, retry_orchestrate(&request, &late, AT(110)));
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
    retry_begin(&request, AT(200));
    BEGIN(200); /* a copy that failed beside one that worked: nothing but the deposit comes in */
    CHECK_STEP(SEND, NONE, 500, fail(RETRY_REASON_SERVER_ERROR, 201));
    budget.options.success_deposit = 7;
    CHECK_EQUAL(0, retry_hedge_won(&hedge));
    CHECK(retry_succeed(&request, AT(202)));
    CHECK_EQUAL(4007, retry_budget_balance(&budget));
    retry_begin(&request, AT(300));
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &late, AT(300)));
    CHECK_EQUAL(3007, retry_budget_balance(&budget));
    BEGIN(301);
    CHECK_STEP(SEND, NONE, 500, fail(RETRY_REASON_SERVER_ERROR, 302));
    retry_cancel(&request, AT(303)); /* nor at a cancel */
    CHECK_EQUAL(2007, retry_budget_balance(&budget));
}

/* What is not charged: a fatal failure, one that was never sent, and contention. */
static void test_budget_charges_no_other(void)
{
    static const struct {
        retry_reason reason;
        uint8_t action, cause;
    } rows[] = {{RETRY_REASON_NONE, RETRY_HEDGE_FAIL, RETRY_CAUSE_NOT_RETRYABLE},
                {RETRY_REASON_UNKNOWN, RETRY_HEDGE_FAIL, RETRY_CAUSE_UNKNOWN_REASON},
                {UNSENT, RETRY_HEDGE_FAIL, RETRY_CAUSE_NOT_RETRYABLE},
                {USER(1, RETRY_REASON_FREE), RETRY_HEDGE_SEND, RETRY_CAUSE_NONE}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        set_up();
        set_up_budget(10000, 1000, 10000);
        budget.options.charge_failures = true;
        BEGIN(0);
        check_row("row %u", (unsigned)i);
        check_step(rows[i].action, rows[i].cause, 500, fail(rows[i].reason, 1), __FILE__, __LINE__);
        CHECK_EQUAL(10000, retry_budget_balance(&budget));
    }
}

/* A copy that was never sent puts no load on the server: its charge goes back, once; the first copy
   has none, and what another cost stays paid. */
static void test_budget_of_what_was_never_sent(void)
{
    set_up();
    set_up_budget(10000, 1000, 10000);
    policy.max_attempts = 4;
    BEGIN(0);
    CHECK_STEP(SEND, NONE, 500, DUE(500));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_STEP(WAIT, NONE, 500, fail(UNSENT, 500));
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_STEP(SEND, NONE, 500, DUE(1000));
    CHECK_STEP(SEND, NONE, NO_TIMER, DUE(1500));
    CHECK_EQUAL(8000, retry_budget_balance(&budget));
    CHECK_STEP(HOLD, NOT_RETRYABLE, 0, fail(UNSENT, 1500));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_STEP(HOLD, NOT_RETRYABLE, 0, fail(UNSENT, 1500));
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    retry_budget_withdraw(&budget, 5000, AT(1500));
    CHECK_STEP(FAIL, NOT_RETRYABLE, 0, fail(UNSENT, 1500)); /* the first */
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
    BEGIN(2000);
    CHECK_STEP(SEND, NONE, 500, DUE(2500));
    BEGIN(3000); /* what another attempt's copies cost is not this one's */
    CHECK_STEP(FAIL, NOT_RETRYABLE, 0, fail(UNSENT, 3000));
    CHECK_EQUAL(4000, retry_budget_balance(&budget));
}

/* It is refilled up to the instant at which the copy is to be sent. */
static void test_budget_refills(void)
{
    set_up();
    set_up_budget(9000, 1000, 0);
    budget.options.refill_per_second = 2000;
    BEGIN(0);
    CHECK_STEP(SEND, NONE, 500, DUE(500));
    CHECK_STEP(HOLD, BUDGET_EXHAUSTED, 0, fail(RETRY_REASON_KV_LOCKED, 999));
    CHECK_STEP(SEND, NONE, 500, fail(RETRY_REASON_KV_LOCKED, 1000));
    CHECK_EQUAL(0, retry_budget_balance(&budget));
}

/* No client, a client without a budget: free. A budget that was never set up pays for nothing. */
static void test_no_budget(void)
{
    set_up();
    request.client = NULL;
    BEGIN(0);
    CHECK_STEP(SEND, NONE, 500, DUE(500));
    request.client = &client;
    CHECK_STEP(SEND, NONE, 500, DUE(1000));
    client.budget = &budget;
    CHECK_STEP(HOLD, BUDGET_EXHAUSTED, 0, DUE(1500));
    client.budget = NULL; /* nobody gets back what nobody paid */
    CHECK_STEP(HOLD, NOT_RETRYABLE, 0, fail(UNSENT, 1600));
    request.client = NULL;
    CHECK_STEP(HOLD, NOT_RETRYABLE, 0, fail(UNSENT, 1600));
}

/* ---- with the request ---------------------------------------------------------------------- */

/* One attempt to the request, however many copies: `code` is that of the failure that is handed
   over. A budget that charges failures is charged for each of them, once. */
static void test_one_attempt(void)
{
    retry_failure first = check_failure_of(RETRY_REASON_SERVER_ERROR), last = first;
    set_up();
    set_up_budget(10000, 1000, 10000);
    budget.options.charge_failures = true;
    first.code = 500;
    last.code = 502;
    BEGIN(0);
    DUE(500);
    DUE(1000);
    DUE(1500);
    CHECK_STEP(HOLD, ATTEMPTS_EXHAUSTED, 0, retry_hedge_failed(&hedge, &request, &first, AT(1600)));
    CHECK_STEP(HOLD, ATTEMPTS_EXHAUSTED, 0, retry_hedge_failed(&hedge, &request, &first, AT(1600)));
    CHECK_STEP(HOLD, ATTEMPTS_EXHAUSTED, 0, retry_hedge_failed(&hedge, &request, &first, AT(1600)));
    CHECK_STEP(FAIL, ATTEMPTS_EXHAUSTED, 0, retry_hedge_failed(&hedge, &request, &last, AT(1700)));
    CHECK_EQUAL(6000, retry_budget_balance(&budget));
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &last, AT(1700)));
    CHECK_EQUAL(6000, retry_budget_balance(&budget));
    CHECK_EQUAL(1, request.attempts);
    CHECK_EQUAL(502, request.code);
    CHECK(request.ambiguous);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &last, AT(1750)));
    CHECK_EQUAL(5000, retry_budget_balance(&budget)); /* the next attempt, which had no hedge */

    request.strategy = retry_fail_fast(); /* as gRPC has it: nothing is retried after that */
    BEGIN(1800);
    CHECK_STEP(SEND, NONE, 500, retry_hedge_failed(&hedge, &request, &last, AT(1900)));
    CHECK_STEP(FAIL, PUSHBACK, 0, fail_order(RETRY_REASON_SERVER_ERROR, NO_RETRY, 2000));
    last.pushback = true;
    last.retry_after = NO_RETRY;
    CHECK_DECISION(FAIL, PUSHBACK, retry_orchestrate(&request, &last, AT(2000)));
}

/* The first of the copies that are cancelled may have taken effect, if not the one that failed. */
static void test_ambiguous(void)
{
    set_up();
    send_copies(2, 500);
    CHECK_STEP(FAIL, NOT_RETRYABLE, 0, fail(RETRY_REASON_NONE, 600));
    CHECK(request.ambiguous);
    retry_begin(&request, AT(1000));
    BEGIN(1000);
    CHECK_STEP(FAIL, NOT_RETRYABLE, 0, fail(RETRY_REASON_NONE, 1100));
    CHECK(!request.ambiguous);
    retry_begin(&request, AT(2000));
    BEGIN(2000);
    DUE(2500);
    CHECK_STEP(HOLD, PUSHBACK, 0, fail_order(RETRY_REASON_KV_LOCKED, NO_RETRY, 2600));
    CHECK(!request.ambiguous); /* the other's answer will tell */
    CHECK_STEP(FAIL, PUSHBACK, 0, fail(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, 2700));
    CHECK(request.ambiguous);
}

/* ---- won, and misuse ----------------------------------------------------------------------- */

static void test_won(void)
{
    uint32_t copies;
    CHECK_EQUAL(0, retry_hedge_won(NULL));
    set_up();
    CHECK_EQUAL(0, retry_hedge_won(&hedge)); /* zeroed */
    for (copies = 1; copies <= 4; copies++) {
        set_up();
        send_copies(copies, 500 * (copies - 1));
        check_row("%u copies", (unsigned)copies);
        CHECK_EQUAL(copies - 1, retry_hedge_won(&hedge));
        CHECK_EQUAL(0, retry_hedge_won(&hedge));
        CHECK_STEP(FAIL, MISUSE, 0, DUE(2000));
        CHECK_STEP(FAIL, MISUSE, 0, fail(RETRY_REASON_KV_LOCKED, 2000));
        CHECK(retry_succeed(&request, AT(2000)));
    }
}

/* FAIL, MISUSE, and nothing changes. */
static void check_misuse(retry_hedge *a, retry_request *b, const retry_failure *c, bool due)
{
    retry_hedge hedge_before;
    retry_request request_before;
    uint32_t balance = retry_budget_balance(&budget);
    memcpy(&hedge_before, &hedge, sizeof hedge);
    memcpy(&request_before, &request, sizeof request);
    CHECK_STEP(FAIL, MISUSE, 0,
               due ? retry_hedge_due(a, b, AT(5000)) : retry_hedge_failed(a, b, c, AT(5000)));
    CHECK(memcmp(&hedge_before, &hedge, sizeof hedge) == 0);
    CHECK(memcmp(&request_before, &request, sizeof request) == 0);
    CHECK_EQUAL(balance, retry_budget_balance(&budget));
}

static void test_misuse(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    int state;
    for (state = 0; state < 5; state++) { /* never begun, won, failed, alone, in flight */
        set_up();
        set_up_budget(9000, 1000, 9000);
        if (state > 0)
            send_copies(2, 500);
        if (state == 1)
            retry_hedge_won(&hedge);
        if (state == 2)
            fail(RETRY_REASON_NONE, 600);
        if (state == 3) {
            fail_order(RETRY_REASON_KV_LOCKED, 10, 600);
            fail_order(RETRY_REASON_KV_LOCKED, 10, 600);
        }
        check_row("state %d", state);
        check_misuse(NULL, &request, &failure, true);
        check_misuse(NULL, NULL, &failure, true);
        check_misuse(&hedge, NULL, &failure, true);
        check_misuse(NULL, &request, &failure, false);
        check_misuse(&hedge, NULL, &failure, false);
        check_misuse(&hedge, &request, NULL, false);
        check_misuse(NULL, NULL, NULL, false);
        if (state < 3)
            check_misuse(&hedge, &request, &failure, true);
        if (state < 4) /* nothing is in flight to fail */
            check_misuse(&hedge, &request, &failure, false);
        else
            CHECK_STEP(SEND, NONE, 500, retry_hedge_failed(&hedge, &request, &failure, AT(5000)));
    }
}

/* ---- against a model ----------------------------------------------------------------------- */

/* The contract once more, by absolute instants that do not wrap and in a shape of its own. */
static struct model {
    bool open, forbidden, ambiguous;
    uint32_t sent, paid, in_flight, most, tokens;
    bool has_timer;
    uint64_t fires;
} model;

static struct plan {
    uint32_t most, delay, cost, timeout;
    bool idempotent, has_budget, charge_failures;
} plan;

static retry_hedge_step model_answer(uint8_t action, uint8_t cause, retry_ms delay)
{
    retry_hedge_step step;
    step.action = action;
    step.cause = cause;
    step.delay = delay;
    return step;
}

static retry_hedge_step model_refuse(uint8_t cause)
{
    model.has_timer = false;
    model.open = model.in_flight > 0;
    return model_answer(model.open ? RETRY_HEDGE_HOLD : RETRY_HEDGE_FAIL, cause, 0);
}

static retry_hedge_step model_timer(uint8_t action, uint64_t now)
{
    if (!model.has_timer)
        return model_answer(action, RETRY_CAUSE_NONE, NO_TIMER);
    return model_answer(action, RETRY_CAUSE_NONE,
                        model.fires > now ? (retry_ms)(model.fires - now) : 0);
}

static retry_hedge_step model_send(uint64_t now)
{
    model.sent++;
    model.in_flight++;
    model.has_timer = plan.idempotent && model.sent < model.most;
    model.fires = now + plan.delay;
    return model_timer(RETRY_HEDGE_SEND, now);
}

static bool model_pays(void)
{
    if (!plan.has_budget)
        return true;
    if (plan.charge_failures)
        return model.tokens > 0;
    if (model.tokens < plan.cost)
        return false;
    model.tokens -= plan.cost;
    return true;
}

/* A copy that failed, and for which a strategy would be asked. */
static void model_charge(const struct kind *kind)
{
    bool is_free = kind->reason >= 0xc0 && kind->reason <= 0xff;
    if (plan.has_budget && plan.charge_failures && !kind->unsent && !is_free)
        model.tokens -= model.tokens < plan.cost ? model.tokens : plan.cost;
}

static bool model_past(uint64_t instant)
{
    return plan.timeout != UINT32_MAX && instant >= plan.timeout;
}

static retry_hedge_step model_next(uint64_t now, bool early)
{
    if (model.forbidden)
        return model_refuse(RETRY_CAUSE_PUSHBACK);
    if (model.sent == model.most)
        return model_refuse(RETRY_CAUSE_ATTEMPTS_EXHAUSTED);
    if (!plan.idempotent)
        return model_refuse(RETRY_CAUSE_NOT_IDEMPOTENT);
    if (model_past(now))
        return model_refuse(RETRY_CAUSE_DEADLINE);
    if (early)
        return model_timer(RETRY_HEDGE_WAIT, now);
    if (!model_pays())
        return model_refuse(RETRY_CAUSE_BUDGET_EXHAUSTED);
    model.paid++;
    return model_send(now);
}

static retry_hedge_step model_due(uint64_t now)
{
    if (!model.open)
        return model_answer(RETRY_HEDGE_FAIL, RETRY_CAUSE_MISUSE, 0);
    return model_next(now, !model.has_timer || model.fires > now);
}

static retry_hedge_step model_failed(const struct kind *kind, bool ordered, retry_ms order,
                                     uint64_t now)
{
    uint8_t fatal = plan.idempotent ? kind->fatal : kind->fatal_not_idempotent;
    bool stop = ordered && order == NO_RETRY;
    if (!model.open || model.in_flight == 0)
        return model_answer(RETRY_HEDGE_FAIL, RETRY_CAUSE_MISUSE, 0);
    model.in_flight--;
    model.ambiguous |= kind->ambiguous;
    if (stop && (fatal == RETRY_CAUSE_UNKNOWN_REASON || fatal == RETRY_CAUSE_NOT_RETRYABLE)) {
        bool permitted = plan.idempotent || kind->safety == YES ||
                         retry_reason_allows_non_idempotent(kind->reason);
        fatal = permitted ? RETRY_CAUSE_NONE : RETRY_CAUSE_NOT_IDEMPOTENT; /* the order is first */
    }
    if (fatal == RETRY_CAUSE_NONE || fatal == RETRY_CAUSE_NOT_IDEMPOTENT)
        model_charge(kind);
    if (fatal != RETRY_CAUSE_NONE) {
        model.ambiguous |= model.in_flight > 0;
        model.open = false;
        return model_answer(RETRY_HEDGE_FAIL, fatal, 0);
    }
    if (stop) {
        model.forbidden = true;
        return model_refuse(RETRY_CAUSE_PUSHBACK);
    }
    if (kind->unsent && model.paid > 0) {
        model.paid--;
        model.tokens += plan.has_budget && !plan.charge_failures ? plan.cost : 0;
    }
    if (kind->unsent)
        return model.in_flight > 0 && model.has_timer ? model_timer(RETRY_HEDGE_WAIT, now)
                                                      : model_refuse(RETRY_CAUSE_NOT_RETRYABLE);
    if (model.forbidden)
        return model_refuse(RETRY_CAUSE_PUSHBACK);
    if (model.sent == model.most)
        return model_refuse(RETRY_CAUSE_ATTEMPTS_EXHAUSTED);
    if (ordered && order > 0) {
        if (model.in_flight == 0 && !plan.idempotent)
            return model_refuse(RETRY_CAUSE_NOT_IDEMPOTENT);
        if (model.in_flight == 0 && model_past(now + order))
            return model_refuse(RETRY_CAUSE_DEADLINE);
        model.has_timer = true;
        model.fires = now + order;
        return model_timer(RETRY_HEDGE_WAIT, now);
    }
    return model_next(now, false);
}

/* A request, a policy and a budget of all kinds. */
static void make_plan(void)
{
    set_up();
    plan.most = check_random() % 5;
    plan.delay = 1 + check_random() % 60;
    plan.cost = check_random() % 3 * 1000;
    plan.timeout = check_random() % 3 == 0 ? UINT32_MAX : 1 + check_random() % 600;
    plan.idempotent = check_random() % 8 != 0;
    plan.has_budget = check_random() % 3 != 0;
    plan.charge_failures = check_random() % 2 == 0;
    memset(&model, 0, sizeof model);
    model.most = plan.most == 0 ? 2 : plan.most;
    model.tokens = check_random() % 8 * 1000;
    policy.max_attempts = plan.most;
    policy.delay = plan.delay;
    request.timeout = plan.timeout;
    request.idempotent = plan.idempotent;
    set_up_budget(100000, plan.cost, model.tokens);
    budget.options.charge_failures = plan.charge_failures;
    client.budget = plan.has_budget ? &budget : NULL;
}

/* One call on both; `now` goes on to the timer mostly, and to just about it. */
static void step_both(uint64_t now)
{
    static const retry_ms orders[] = {0, 1, 30, 300, NO_RETRY};
    retry_hedge_step expected, got;
    uint32_t choice = check_random() % 16;
    if (choice == 0 || !model.open) {
        if (check_random() % 4 == 0) {
            CHECK_EQUAL(model.open && model.in_flight > 0 ? model.in_flight - 1 : 0,
                        retry_hedge_won(&hedge));
        }
        model.open = true;
        model.forbidden = false;
        model.sent = 0;
        model.paid = 0;
        model.in_flight = 0;
        expected = model_send(now);
        got = BEGIN(now);
    } else if (choice < 8) {
        expected = model_due(now);
        got = DUE(now);
    } else {
        /* those that are not fatal are more than a half */
        const struct kind *kind = &kinds[check_random() % CHECK_COUNT(kinds)];
        retry_failure failure = failure_of(kind);
        failure.pushback = check_random() % 3 == 0;
        failure.retry_after = orders[check_random() % CHECK_COUNT(orders)];
        expected = model_failed(kind, failure.pushback, failure.retry_after, now);
        got = retry_hedge_failed(&hedge, &request, &failure, AT(now));
    }
    check_step(expected.action, expected.cause, expected.delay, got, __FILE__, __LINE__);
    CHECK_EQUAL(model.in_flight, hedge.in_flight);
    CHECK_EQUAL(model.ambiguous, request.ambiguous);
    CHECK_EQUAL(model.tokens, retry_budget_balance(&budget));
}

#ifdef CHECK_QUICK
#define WALKS 500
#else
#define WALKS 20000
#endif

static void test_model(void)
{
    int walk, n;
    for (walk = 0; walk < WALKS; walk++) {
        uint64_t now = 0;
        make_plan();
        for (n = 0; n < 24; n++) {
            if (check_random() % 2 == 0 && model.has_timer && model.fires > now)
                now = model.fires - check_random() % 2;
            else
                now += check_random() % 40;
            check_row("walk %d, step %d, at %lu", walk, n, (unsigned long)now);
            step_both(now);
        }
    }
}

/* ---- instants ------------------------------------------------------------------------------- */

#define FROM ((retry_time)1000000) /* far from 0, which would be some instant between */

/* Two copies in flight, the second paid from a budget that was empty at FROM. */
static void set_up_refill(void)
{
    set_up();
    refill_from(&budget, FROM);
    retry_begin(&request, FROM);
    client.budget = &budget;
    retry_hedge_begin(&hedge, &request, FROM);
    CHECK_EQUAL(RETRY_HEDGE_SEND, retry_hedge_due(&hedge, &request, FROM + 500).action);
    CHECK_EQUAL(500, retry_budget_balance(&budget));
}

/* What is paid, goes back or is charged tells the budget when that is. */
static void test_budget_told_when(void)
{
    static const struct {
        retry_failure failure;
        uint8_t action;
    } rows[] = {
        {{RETRY_REASON_KV_LOCKED, 0, 0, false, false, false, false, 0, 0}, RETRY_HEDGE_SEND},
        {{RETRY_REASON_SOCKET_NOT_AVAILABLE, 0, 0, false, false, false, false, 0, 0},
         RETRY_HEDGE_WAIT},
        {{RETRY_REASON_KV_LOCKED, 0, 0, false, false, false, true, NO_RETRY, 0}, RETRY_HEDGE_HOLD},
    };
    size_t i;
    set_up_refill();
    CHECK_EQUAL(RETRY_HEDGE_SEND, retry_hedge_due(&hedge, &request, FROM + 5000).action);
    refill_check(&budget, FROM, 5000);
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        set_up_refill();
        CHECK_EQUAL(rows[i].action,
                    retry_hedge_failed(&hedge, &request, &rows[i].failure, FROM + 600).action);
        refill_check(&budget, FROM, 600);
    }
}

int main(void)
{
    RUN(test_size);
    RUN(test_begin);
    RUN(test_begin_always_sends);
    RUN(test_begin_anew);
    RUN(test_null_policy);
    RUN(test_timelines);
    RUN(test_pushback_texts);
    RUN(test_due_in_order);
    RUN(test_due_after_an_order);
    RUN(test_due_early);
    RUN(test_due_late);
    RUN(test_clock_steps_back);
    RUN(test_request_not_open);
    RUN(test_latency_delay);
    RUN(test_no_delay);
    RUN(test_longest_delay);
    RUN(test_max_attempts);
    RUN(test_fatal);
    RUN(test_not_permitted);
    RUN(test_fatal_and_order);
    RUN(test_followed_at_once);
    RUN(test_followed_in_order);
    RUN(test_order_not_to_retry);
    RUN(test_no_order);
    RUN(test_never_sent);
    RUN(test_no_copies_left);
    RUN(test_order_to_wait);
    RUN(test_order_to_wait_in_order);
    RUN(test_budget_pays_each_copy);
    RUN(test_budget_keeps_it);
    RUN(test_budget_kinds);
    RUN(test_budget_grpc);
    RUN(test_budget_charges_once);
    RUN(test_budget_charges_no_other);
    RUN(test_budget_of_what_was_never_sent);
    RUN(test_budget_refills);
    RUN(test_no_budget);
    RUN(test_one_attempt);
    RUN(test_ambiguous);
    RUN(test_won);
    RUN(test_misuse);
    RUN(test_budget_told_when);
    RUN(test_model);
    return check_done();
}
