/* Attempts: what the gates of a server answer to each, what they are told, and what a request and
   its budget make of it. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/refill.h"

#define START ((retry_time)1000000)

static retry_policy policy;
static retry_budget budget;
static retry_client client;
static retry_request request;
static retry_gates gates;
static retry_breaker breaker;
static retry_throttle throttle;
static retry_aimd aimd;
static retry_rate rate;
static retry_latency latency;

static uint32_t drawn, draw_next; /* how many numbers were drawn, and what each is */
static uint32_t told;             /* calls of the observer, and the last one's arguments */
static retry_decision told_decision;
static bool told_failure;

static uint32_t draw(void *context)
{
    (void)context;
    drawn++;
    return draw_next;
}

static void tell(void *context, const retry_request *of, const retry_failure *failure,
                 const retry_decision *decision)
{
    (void)context;
    (void)of;
    told++;
    told_decision = *decision;
    told_failure = failure != NULL;
}

/* A request that is open since START, of a client whose retries wait 10 ms and cost a token of ten,
   with the gates of a server, none of which is added. */
static void set_up(retry_ms timeout, retry_ms attempt_timeout)
{
    static const retry_policy plain = RETRY_POLICY_BEST_EFFORT;
    retry_budget_options options;
    memset(&options, 0, sizeof options);
    options.capacity = 10000;
    options.retry_cost = 1000;
    retry_budget_init(&budget, &options, START);
    policy = plain;
    policy.backoff.jitter = RETRY_JITTER_NONE;
    policy.backoff.initial = 10;
    memset(&client, 0, sizeof client);
    memset(&gates, 0, sizeof gates);
    memset(&breaker, 0, sizeof breaker);
    memset(&throttle, 0, sizeof throttle);
    memset(&aimd, 0, sizeof aimd);
    memset(&rate, 0, sizeof rate);
    memset(&latency, 0, sizeof latency);
    client.strategy = &policy.base;
    client.budget = &budget;
    client.observe = tell;
    client.random = draw;
    client.gates = &gates;
    client.attempt_timeout = attempt_timeout;
    memset(&request, 0, sizeof request);
    request.client = &client;
    request.timeout = timeout;
    request.idempotent = true;
    retry_begin(&request, START);
    drawn = draw_next = told = 0;
}

static retry_attempt new_attempt(void)
{
    retry_attempt attempt;
    memset(&attempt, 0, sizeof attempt);
    return attempt;
}

static retry_failure timed_out(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    failure.timeout = true;
    return failure;
}

/* An attempt that SEND was said of, at START. */
static retry_attempt sent(void)
{
    retry_attempt attempt = new_attempt();
    CHECK_DECISION(SEND, NONE, retry_attempt_begin(&attempt, &request, START));
    return attempt;
}

/* ---- shape --------------------------------------------------------------------------------- */

static void test_size(void)
{
    CHECK_RANGE(1, sizeof(void *) == 8 || sizeof(retry_time) == 8 ? 56 : 40, sizeof(retry_attempt));
}

static void test_misuse(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_attempt attempt = new_attempt(), untouched = new_attempt();
    retry_request fresh;
    memset(&fresh, 0, sizeof fresh);
    set_up(1000, 0);
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_begin(NULL, &request, START));
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_begin(&attempt, NULL, START));
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_begin(&attempt, &fresh, START));
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_ask(NULL, &request, START));
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_ask(&attempt, NULL, START));
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_end(&attempt, &request, NULL, START));
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_end(&attempt, &request, &failure, START));
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_end(NULL, &request, NULL, START));
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_end(&attempt, NULL, NULL, START));
    retry_attempt_report(NULL, NULL, START);
    retry_attempt_report(&attempt, NULL, START);
    retry_attempt_cancel(NULL, &request, START);
    retry_attempt_cancel(&attempt, &request, START);
    CHECK(memcmp(&attempt, &untouched, sizeof attempt) == 0);
    CHECK(!request.ambiguous);
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(0, told);
    CHECK_EQUAL(1000, retry_remaining(&request, 0, START)); /* still open */

    CHECK_DECISION(SEND, NONE, retry_attempt_begin(&attempt, &request, START));
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_begin(&attempt, &request, START)); /* sent already */
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_ask(&attempt, &request, START));
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_end(&attempt, NULL, NULL, START));
    CHECK_EQUAL(1, gates.in_flight);
    CHECK_EQUAL(1000, retry_remaining(&request, 0, START));
    retry_cancel(&request, START);
    CHECK_DECISION(FAIL, CANCELLED, retry_attempt_end(&attempt, &request, NULL, START));
    CHECK_EQUAL(0, gates.in_flight); /* its end is its end */
    CHECK_DECISION(FAIL, CANCELLED, retry_attempt_begin(&attempt, &request, START));
    CHECK_EQUAL(0, gates.in_flight);
}

static void test_gates_null(void)
{
    retry_gates_breaker(NULL, &breaker);
    retry_gates_throttle(NULL, &throttle);
    retry_gates_aimd(NULL, &aimd);
    retry_gates_rate(NULL, &rate);
    retry_gates_latency(NULL, &latency);
    set_up(1000, 0);
    aimd.max = 1;
    retry_gates_aimd(&gates, &aimd);
    retry_gates_aimd(&gates, NULL); /* taken out */
    sent();
    sent();
    CHECK_EQUAL(2, gates.in_flight);
}

/* ---- an attempt's time --------------------------------------------------------------------- */

static void test_timeout(void)
{
    static const struct {
        retry_ms timeout, attempt_timeout, elapsed, expected;
    } rows[] = {
        {1000, 0, 0, 1000},
        {1000, 0, 999, 1},
        {1000, 400, 0, 400},
        {1000, 400, 599, 400},
        {1000, 400, 601, 399},
        {1000, 1000, 0, 1000},
        {1000, 1001, 0, 1000},
        {1000, UINT32_MAX, 1, 999},
        {1, 1, 0, 1},
        {UINT32_MAX, 300, 5000, 300},
        {UINT32_MAX, 0, 0, UINT32_MAX},
    };
    size_t i, gated;
    for (gated = 0; gated < 2; gated++) {
        for (i = 0; i < CHECK_COUNT(rows); i++) {
            retry_attempt attempt = new_attempt();
            set_up(rows[i].timeout, rows[i].attempt_timeout);
            if (!gated)
                client.gates = NULL;
            check_row("row %u, gated %u", (unsigned)i, (unsigned)gated);
            CHECK_DECISION(
                SEND, NONE,
                retry_attempt_begin(&attempt, &request, check_after(START, rows[i].elapsed)));
            CHECK_EQUAL(rows[i].expected, attempt.timeout);
            CHECK(!attempt.waiting);
        }
    }
}

static void test_deadline_reached(void)
{
    static const retry_ms late[] = {1000, 1001, 0x70000000};
    size_t i;
    for (i = 0; i < CHECK_COUNT(late); i++) {
        retry_attempt attempt = new_attempt();
        retry_decision answer;
        set_up(1000, 0);
        answer = retry_attempt_ask(&attempt, &request, check_after(START, late[i]));
        CHECK_DECISION(EXPIRE, DEADLINE, answer);
        CHECK_EQUAL(0, told); /* nor does the request know */
        answer = retry_attempt_begin(&attempt, &request, check_after(START, late[i]));
        CHECK_DECISION(EXPIRE, DEADLINE, answer);
        CHECK_EQUAL(0, answer.delay);
        CHECK_EQUAL(0, gates.in_flight);
        CHECK_EQUAL(1, told);
        CHECK_DECISION(EXPIRE, DEADLINE, told_decision);
        CHECK(!retry_succeed(&request, START)); /* finished */
    }
}

/* Without a client nothing bounds an attempt but the request's own timeout. */
static void test_no_client(void)
{
    retry_attempt attempt = new_attempt();
    retry_decision answer;
    set_up(1000, 300);
    request.client = NULL;
    answer = retry_attempt_ask(&attempt, &request, START + 100);
    CHECK_DECISION(SEND, NONE, answer);
    CHECK_EQUAL(0, answer.delay);
    CHECK_EQUAL(900, attempt.timeout);
}

/* A request that waits for its strategy's answer has no attempt. */
static void test_pending(void)
{
    static const retry_strategy later = {check_pending_after};
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_attempt attempt;
    set_up(1000, 300);
    request.strategy = &later;
    attempt = sent();
    CHECK_DECISION(PENDING, PENDING, retry_attempt_end(&attempt, &request, &failure, START));
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_ask(&attempt, &request, START));
    CHECK_DECISION(FAIL, MISUSE, retry_attempt_begin(&attempt, &request, START));
    CHECK_DECISION(RETRY, STRATEGY, retry_resume(&request, &failure, retry_action_after(1), START));
    CHECK_DECISION(SEND, NONE, retry_attempt_begin(&attempt, &request, START + 1));
}

/* ---- the end ------------------------------------------------------------------------------- */

static void test_end(void)
{
    static const retry_reason reasons[] = {
        RETRY_REASON_NONE,         RETRY_REASON_UNKNOWN,           RETRY_REASON_KV_LOCKED,
        RETRY_REASON_SERVER_ERROR, RETRY_REASON_KV_NOT_MY_VBUCKET, RETRY_REASON_CLIENT_THROTTLED};
    size_t i;
    for (i = 0; i < CHECK_COUNT(reasons); i++) {
        retry_failure failure = check_failure_of(reasons[i]);
        retry_attempt attempt;
        retry_decision expected, got;
        check_row("reason %s", retry_reason_name(reasons[i]));
        set_up(1000, 0);
        expected = retry_orchestrate(&request, &failure, START + 5);
        set_up(1000, 0);
        attempt = sent();
        CHECK_EQUAL(1, gates.in_flight);
        got = retry_attempt_end(&attempt, &request, &failure, START + 5);
        CHECK_EQUAL(expected.verdict, got.verdict);
        CHECK_EQUAL(expected.cause, got.cause);
        CHECK_EQUAL(expected.delay, got.delay);
        CHECK_EQUAL(0, gates.in_flight);
        CHECK_EQUAL(1, told);
        CHECK_DECISION(FAIL, MISUSE, retry_attempt_end(&attempt, &request, &failure, START + 5));
        CHECK_EQUAL(0, gates.in_flight);
    }
    set_up(1000, 0);
    {
        retry_attempt attempt = sent();
        retry_decision done = retry_attempt_end(&attempt, &request, NULL, START + 5);
        CHECK_DECISION(SUCCESS, NONE, done);
        CHECK_EQUAL(0, done.delay);
        CHECK_EQUAL(0, gates.in_flight);
        CHECK(!retry_succeed(&request, START + 5));
    }
}

/* The way of an operation that works the third time. */
static void test_operation(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_TEMPORARY_FAILURE);
    retry_attempt attempt = new_attempt();
    retry_decision decision;
    retry_time now = START;
    uint32_t tries = 0;
    set_up(1000, 300);
    aimd.max = 4;
    retry_gates_breaker(&gates, &breaker);
    retry_gates_throttle(&gates, &throttle);
    retry_gates_aimd(&gates, &aimd);
    retry_gates_rate(&gates, &rate);
    retry_gates_latency(&gates, &latency);
    do {
        decision = retry_attempt_begin(&attempt, &request, now);
        CHECK_DECISION(SEND, NONE, decision);
        CHECK_EQUAL(300, attempt.timeout);
        CHECK_EQUAL(1, gates.in_flight);
        now += 7;
        decision = retry_attempt_end(&attempt, &request, ++tries < 3 ? &failure : NULL, now);
        now += decision.delay;
    } while (decision.verdict == RETRY_VERDICT_RETRY);
    CHECK_DECISION(SUCCESS, NONE, decision);
    CHECK_EQUAL(3, tries);
    CHECK_EQUAL(2, request.attempts);
    CHECK_EQUAL(0, gates.in_flight);
}

static void test_report_and_cancel(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    retry_attempt attempt = new_attempt();
    set_up(1000, 0);
    CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempt, &request, START));
    CHECK_EQUAL(1, gates.in_flight);
    retry_attempt_report(&attempt, &failure, START + 1);
    CHECK_EQUAL(0, gates.in_flight);
    retry_attempt_report(&attempt, &failure, START + 1);
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(0, request.reasons); /* not a word to the request */
    CHECK_EQUAL(0, told);

    CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempt, &request, START));
    retry_attempt_cancel(&attempt, &request, START + 1);
    CHECK(request.ambiguous);
    CHECK_EQUAL(0, gates.in_flight);
    retry_attempt_cancel(&attempt, &request, START + 1);
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(1000, retry_remaining(&request, 0, START)); /* open */

    CHECK_DECISION(SEND, NONE, retry_attempt_begin(&attempt, &request, START));
    retry_attempt_cancel(&attempt, NULL, START + 1);
    CHECK_EQUAL(0, gates.in_flight);
}

/* An attempt's own gates come before the client's, and it keeps those that it was sent by. */
static void test_whose_gates(void)
{
    retry_gates other;
    retry_attempt attempt = new_attempt();
    memset(&other, 0, sizeof other);
    set_up(1000, 0);
    attempt.gates = &other;
    CHECK_DECISION(SEND, NONE, retry_attempt_begin(&attempt, &request, START));
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(1, other.in_flight);
    attempt.gates = &gates;
    CHECK_DECISION(SUCCESS, NONE, retry_attempt_end(&attempt, &request, NULL, START));
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(0, other.in_flight);
}

/* ---- refusals ------------------------------------------------------------------------------ */

/* Opens the breaker, of which one sick report is enough, at START. */
static void open_breaker(void)
{
    retry_failure failure = timed_out();
    retry_attempt attempt = new_attempt();
    retry_request other;
    memset(&other, 0, sizeof other);
    other.client = &client;
    breaker.volume = 1;
    breaker.open = 500;
    retry_gates_breaker(&gates, &breaker);
    retry_begin(&other, START);
    retry_attempt_begin(&attempt, &other, START);
    retry_attempt_report(&attempt, &failure, START);
    retry_cancel(&other, START);
    told = 0;
}

static void test_circuit_open(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED), refusal;
    retry_attempt attempt, second = new_attempt();
    retry_decision answer;
    set_up(1000, 0);
    attempt = sent();
    CHECK_DECISION(RETRY, STRATEGY, retry_attempt_end(&attempt, &request, &failure, START));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    open_breaker();
    answer = retry_attempt_ask(&second, &request, START + 100);
    CHECK_DECISION(FAIL, CIRCUIT_OPEN, answer);
    CHECK_EQUAL(400, answer.delay);
    refusal = retry_classify_refusal(answer);
    CHECK_EQUAL(RETRY_REASON_CIRCUIT_BREAKER_OPEN, refusal.reason);
    CHECK_EQUAL(450, refusal.retry_after);
    CHECK_EQUAL(0, told);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));

    answer = retry_attempt_begin(&attempt, &request, START + 100);
    CHECK_DECISION(FAIL, CIRCUIT_OPEN, answer);
    CHECK_EQUAL(400, answer.delay);
    CHECK_EQUAL(10000, retry_budget_balance(&budget)); /* that retry was never made */
    CHECK_EQUAL(1, told);
    CHECK_DECISION(FAIL, CIRCUIT_OPEN, told_decision);
    CHECK(!told_failure);
    CHECK_EQUAL(0, gates.in_flight);
    CHECK(!retry_succeed(&request, START + 100));
}

static void test_classify_refusal(void)
{
    static const struct {
        uint8_t verdict, cause;
        retry_ms delay;
        retry_reason reason;
        retry_ms retry_after;
    } rows[] = {
        {RETRY_VERDICT_FAIL, RETRY_CAUSE_CIRCUIT_OPEN, 0, RETRY_REASON_CIRCUIT_BREAKER_OPEN, 0},
        {RETRY_VERDICT_FAIL, RETRY_CAUSE_CIRCUIT_OPEN, 7, RETRY_REASON_CIRCUIT_BREAKER_OPEN, 7},
        {RETRY_VERDICT_FAIL, RETRY_CAUSE_CIRCUIT_OPEN, 8, RETRY_REASON_CIRCUIT_BREAKER_OPEN, 9},
        {RETRY_VERDICT_FAIL, RETRY_CAUSE_CIRCUIT_OPEN, UINT32_MAX,
         RETRY_REASON_CIRCUIT_BREAKER_OPEN, UINT32_MAX},
        {RETRY_VERDICT_FAIL, RETRY_CAUSE_THROTTLED, 0, RETRY_REASON_CLIENT_THROTTLED, 0},
        {RETRY_VERDICT_SEND, RETRY_CAUSE_NONE, 0, RETRY_REASON_NONE, 0},
        {RETRY_VERDICT_RETRY, RETRY_CAUSE_PACED, 9, RETRY_REASON_CLIENT_THROTTLED, 0},
        {RETRY_VERDICT_EXPIRE, RETRY_CAUSE_DEADLINE, 9, RETRY_REASON_CLIENT_THROTTLED, 0},
        {RETRY_VERDICT_FAIL, RETRY_CAUSE_MISUSE, 0, RETRY_REASON_NONE, 0},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_decision answer = {0, 0, 0};
        retry_failure failure;
        answer.verdict = rows[i].verdict;
        answer.cause = rows[i].cause;
        answer.delay = rows[i].delay;
        failure = retry_classify_refusal(answer);
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].reason, failure.reason);
        CHECK_EQUAL(rows[i].retry_after, failure.retry_after);
        CHECK_EQUAL(0, failure.code);
    }
}

/* Fills the throttle with answers of which none was accepted. */
static void overload_throttle(void)
{
    retry_failure failure = timed_out();
    uint32_t i;
    retry_gates_throttle(&gates, &throttle);
    for (i = 0; i < 10; i++) {
        retry_attempt attempt = new_attempt();
        draw_next = UINT32_MAX;
        retry_attempt_ask(&attempt, &request, START);
        retry_attempt_report(&attempt, &failure, START);
    }
    drawn = 0;
}

static void test_throttled(void)
{
    retry_attempt attempt = new_attempt();
    retry_decision answer;
    set_up(1000, 0);
    overload_throttle();
    draw_next = 0;
    answer = retry_attempt_begin(&attempt, &request, START);
    CHECK_DECISION(FAIL, THROTTLED, answer);
    CHECK_EQUAL(0, answer.delay);
    CHECK_EQUAL(1, drawn);
    CHECK_EQUAL(1, told);
    CHECK_EQUAL(0, gates.in_flight);
    CHECK(!retry_succeed(&request, START));
}

/* However long a try waits, it was drawn once whether it may be made. */
static void test_throttle_draws_once(void)
{
    retry_attempt first, attempt = new_attempt();
    retry_time now = START;
    uint32_t i;
    set_up(1000, 0);
    overload_throttle();
    aimd.max = 1;
    draw_next = UINT32_MAX;
    first = sent();
    retry_gates_aimd(&gates, &aimd);
    CHECK_DECISION(RETRY, PACED, retry_attempt_begin(&attempt, &request, now));
    draw_next = 0; /* would be refused now */
    for (i = 0; i < 10; i++) {
        CHECK_DECISION(RETRY, PACED, retry_attempt_begin(&attempt, &request, ++now));
        CHECK(attempt.waiting);
    }
    retry_attempt_report(&first, NULL, now);
    CHECK_DECISION(SEND, NONE, retry_attempt_begin(&attempt, &request, now));
    CHECK(!attempt.waiting);
    retry_attempt_cancel(&attempt, &request, now);
    CHECK_DECISION(FAIL, THROTTLED, retry_attempt_begin(&attempt, &request, now)); /* another try */
}

/* ---- waits --------------------------------------------------------------------------------- */

static void test_paced(void)
{
    retry_attempt first, attempt = new_attempt();
    retry_decision answer;
    retry_ms waited;
    set_up(10000, 0);
    aimd.max = 1;
    retry_gates_aimd(&gates, &aimd);
    first = sent();
    for (waited = 0; waited < 300; waited += 10) {
        retry_ms most = waited + 1 < 100 ? waited + 1 : 100;
        check_row("after %lu ms", (unsigned long)waited);
        draw_next = 0;
        answer = retry_attempt_begin(&attempt, &request, START + waited);
        CHECK_DECISION(RETRY, PACED, answer);
        CHECK_EQUAL(1, answer.delay);
        draw_next = UINT32_MAX;
        answer = retry_attempt_begin(&attempt, &request, START + waited);
        CHECK_EQUAL(most, answer.delay);
        CHECK(attempt.waiting);
        CHECK_EQUAL(1, gates.in_flight);
    }
    CHECK_EQUAL(0, told); /* no retry: not told, not counted, not paid */
    CHECK_EQUAL(0, request.attempts);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    retry_attempt_report(&first, NULL, START + 300);
    CHECK_DECISION(SEND, NONE, retry_attempt_begin(&attempt, &request, START + 300));
    CHECK_EQUAL(9700, attempt.timeout);
    CHECK_EQUAL(1, gates.in_flight);
}

/* A wait that leaves an attempt less than half of its time is no wait. */
static void test_no_time_to_wait(void)
{
    static const struct {
        retry_ms timeout, attempt_timeout, elapsed;
        bool expires;
    } rows[] = {
        {1000, 0, 499, false},          {1000, 0, 500, true},
        {1000, 200, 899, false},        {1000, 200, 900, true},
        {1001, 0, 499, false},          {1001, 0, 500, true},
        {300, 1000, 149, false},        {300, 1000, 150, true},
        {UINT32_MAX, 0, 100000, false}, {UINT32_MAX, 500, 100000, false},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_attempt attempt = new_attempt();
        retry_time now = check_after(START, rows[i].elapsed);
        retry_decision answer;
        set_up(rows[i].timeout, rows[i].attempt_timeout);
        aimd.max = 1;
        retry_gates_aimd(&gates, &aimd);
        sent();
        answer = retry_attempt_begin(&attempt, &request, now);
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].expires ? RETRY_VERDICT_EXPIRE : RETRY_VERDICT_RETRY, answer.verdict);
        CHECK_EQUAL(rows[i].expires ? RETRY_CAUSE_DEADLINE : RETRY_CAUSE_PACED, answer.cause);
        CHECK_EQUAL(rows[i].expires, told == 1);
        CHECK_EQUAL(!rows[i].expires, attempt.waiting);
        if (rows[i].expires)
            CHECK_EQUAL(rows[i].timeout - rows[i].elapsed, answer.delay);
        CHECK_EQUAL(1, gates.in_flight);
    }
}

/* The rate gives each who waits an instant of its own, one after the other, and takes back those of
   who does not come. */
static void test_rate_keeps_an_instant(void)
{
    retry_attempt attempts[40];
    uint32_t i, paced = 0, sends = 0;
    retry_ms last = 0;
    set_up(10000, 0);
    rate.max = 100000; /* one each 10 ms */
    retry_gates_rate(&gates, &rate);
    for (i = 0; i < CHECK_COUNT(attempts); i++) {
        retry_decision answer;
        attempts[i] = new_attempt();
        answer = retry_attempt_ask(&attempts[i], &request, START);
        check_row("attempt %u", (unsigned)i);
        if (answer.verdict == RETRY_VERDICT_SEND) {
            CHECK_EQUAL(0, paced);
            sends++;
        } else if (answer.cause == RETRY_CAUSE_PACED) {
            CHECK_RANGE(last + 1, 249, answer.delay);
            last = answer.delay;
            paced++;
        } else {
            CHECK_DECISION(FAIL, THROTTLED, answer);
        }
    }
    CHECK_RANGE(1, 13, sends);
    CHECK_RANGE(23, 25, paced);
    for (i = 0; i < CHECK_COUNT(attempts); i++) {
        retry_decision answer;
        if (!attempts[i].waiting)
            continue;
        answer = retry_attempt_ask(&attempts[i], &request, START + last);
        CHECK_DECISION(SEND, NONE, answer); /* whoever it is, its instant has come */
    }
    CHECK_EQUAL(sends + paced, gates.in_flight);
}

static void test_rate_takes_back(void)
{
    retry_attempt attempt = new_attempt(), next = new_attempt();
    retry_decision first, second;
    set_up(10000, 0);
    rate.max = 100000;
    retry_gates_rate(&gates, &rate);
    do {
        retry_attempt_report(&attempt, NULL, START);
        first = retry_attempt_ask(&attempt, &request, START);
    } while (first.verdict == RETRY_VERDICT_SEND);
    CHECK_DECISION(RETRY, PACED, first);
    retry_attempt_cancel(&attempt, &request, START);
    CHECK(!attempt.waiting);
    CHECK(!request.ambiguous);
    second = retry_attempt_ask(&next, &request, START);
    CHECK_DECISION(RETRY, PACED, second);
    CHECK_EQUAL(first.delay, second.delay);
    retry_cancel(&request, START); /* and when the request is gone, too */
    CHECK_DECISION(FAIL, CANCELLED, retry_attempt_begin(&next, &request, START));
    retry_begin(&request, START);
    second = retry_attempt_ask(&attempt, &request, START);
    CHECK_EQUAL(first.delay, second.delay);
}

/* An instant that is kept comes nearer; who asks too early waits for what is left. */
static void test_rate_instant_comes_nearer(void)
{
    retry_attempt attempt;
    set_up(10000, 0);
    rate.max = 1000;
    rate.wait = 5000;
    retry_gates_rate(&gates, &rate);
    attempt = sent();
    retry_attempt_report(&attempt, NULL, START);
    CHECK_EQUAL(1000, retry_attempt_ask(&attempt, &request, START).delay);
    CHECK_EQUAL(600, retry_attempt_ask(&attempt, &request, START + 400).delay);
    CHECK_EQUAL(1, retry_attempt_ask(&attempt, &request, START + 999).delay);
    CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempt, &request, START + 1000));
}

/* The same with a limit before it, which takes the attempt's place back while it waits. */
static void test_limit_and_rate(void)
{
    retry_attempt attempt;
    set_up(10000, 0);
    aimd.max = 2;
    rate.max = 1000;
    rate.wait = 5000;
    retry_gates_aimd(&gates, &aimd);
    retry_gates_rate(&gates, &rate);
    attempt = sent();
    retry_attempt_report(&attempt, NULL, START);
    CHECK_EQUAL(1000, retry_attempt_ask(&attempt, &request, START).delay);
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(600, retry_attempt_ask(&attempt, &request, START + 400).delay);
    CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempt, &request, START + 1000));
    CHECK_EQUAL(1, gates.in_flight);
}

/* What was sent has used its token, whatever becomes of it; who waits no more has lost its instant.
 */
static void test_rate_after_cancel(void)
{
    retry_attempt attempt, other = new_attempt();
    set_up(10000, 0);
    rate.max = 1000;
    rate.wait = 5000;
    retry_gates_rate(&gates, &rate);
    attempt = sent();
    retry_attempt_cancel(&attempt, &request, START);
    CHECK_EQUAL(1000, retry_attempt_ask(&attempt, &request, START).delay);
    CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempt, &request, START + 1000));
    retry_attempt_cancel(&attempt, &request, START + 1000);
    CHECK_EQUAL(1000, retry_attempt_ask(&attempt, &request, START + 1000).delay);
    retry_attempt_cancel(&attempt, &request, START + 1000);
    CHECK_EQUAL(1000, retry_attempt_ask(&other, &request, START + 1000).delay);
    CHECK_EQUAL(2000, retry_attempt_ask(&attempt, &request, START + 1000).delay);
}

/* A probe that a later gate refuses, or lets wait, leaves its place to another. */
static void test_probe_given_back(void)
{
    static const struct {
        retry_ms wait;
        uint8_t verdict, cause;
    } rows[] = {{250, RETRY_VERDICT_FAIL, RETRY_CAUSE_THROTTLED},
                {5000, RETRY_VERDICT_RETRY, RETRY_CAUSE_PACED}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_attempt attempt = new_attempt(), other = new_attempt();
        retry_decision answer;
        check_row("wait %u", (unsigned)rows[i].wait);
        set_up(10000, 0);
        open_breaker();
        rate.max = 1000;
        rate.wait = rows[i].wait;
        retry_gates_rate(&gates, &rate);
        CHECK_EQUAL(0, retry_rate_ask(&rate, START + 500)); /* the one token */
        answer = retry_attempt_ask(&attempt, &request, START + 500);
        CHECK_EQUAL(rows[i].verdict, answer.verdict);
        CHECK_EQUAL(rows[i].cause, answer.cause);
        CHECK_EQUAL(1000, answer.delay); /* to the next token */
        retry_gates_rate(&gates, NULL);
        CHECK_DECISION(SEND, NONE, retry_attempt_ask(&other, &request, START + 500));
        CHECK_EQUAL(1, gates.in_flight);
    }
}

/* ---- what the gates are told --------------------------------------------------------------- */

/* An answer that took too long is sick: from when the attempt was sent. */
static void test_slow_answers(void)
{
    static const struct {
        retry_ms took;
        uint8_t state;
    } rows[] = {{99, RETRY_BREAKER_CLOSED}, {100, RETRY_BREAKER_OPEN}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_attempt attempt;
        check_row("%u ms", (unsigned)rows[i].took);
        set_up(1000, 0);
        breaker.volume = 1;
        breaker.slow = 100;
        retry_gates_breaker(&gates, &breaker);
        attempt = sent();
        retry_attempt_report(&attempt, NULL, START + rows[i].took);
        CHECK_EQUAL(rows[i].state, retry_breaker_state(&breaker, START + rows[i].took));
    }
}

/* And not from when it began to wait. */
static void test_slow_after_a_wait(void)
{
    retry_attempt attempt = new_attempt();
    set_up(10000, 0);
    breaker.volume = 1;
    breaker.slow = 100;
    rate.max = 1000;
    rate.wait = 5000;
    retry_gates_breaker(&gates, &breaker);
    retry_gates_rate(&gates, &rate);
    CHECK_EQUAL(0, retry_rate_ask(&rate, START));
    CHECK_DECISION(RETRY, PACED, retry_attempt_ask(&attempt, &request, START));
    CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempt, &request, START + 1000));
    retry_attempt_report(&attempt, NULL, START + 1099);
    CHECK_EQUAL(RETRY_BREAKER_CLOSED, retry_breaker_state(&breaker, START + 1099));
}

/* One that was short of time, and broke for another reason, is evidence. */
static void test_short_attempt_breaks(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    retry_attempt attempt = new_attempt();
    set_up(1000, 500);
    breaker.volume = 1;
    retry_gates_breaker(&gates, &breaker);
    CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempt, &request, START + 900));
    retry_attempt_report(&attempt, &failure, START + 910);
    CHECK_EQUAL(RETRY_BREAKER_OPEN, retry_breaker_state(&breaker, START + 910));
}

/* Ten attempts in flight that all time out: one fall. */
static void test_one_fall(void)
{
    retry_failure failure = timed_out();
    retry_attempt attempts[10], later = new_attempt();
    uint32_t i;
    set_up(10000, 500);
    aimd.max = 10;
    retry_gates_aimd(&gates, &aimd);
    for (i = 0; i < 10; i++)
        attempts[i] = sent();
    CHECK_EQUAL(10, gates.in_flight);
    for (i = 0; i < 10; i++)
        retry_attempt_report(&attempts[i], &failure, START + 500 + i * 700);
    CHECK_EQUAL(5, retry_aimd_limit(&aimd));
    CHECK_EQUAL(0, gates.in_flight);
    retry_attempt_ask(&later, &request, START + 7000); /* it began after the fall */
    retry_attempt_report(&later, &failure, START + 7001);
    CHECK_EQUAL(2, retry_aimd_limit(&aimd));
}

/* A change a round trip. */
static void test_one_rise(void)
{
    retry_failure failure = timed_out();
    retry_attempt attempts[5];
    uint32_t i, round;
    retry_time now = START;
    set_up(UINT32_MAX, 500);
    aimd.max = 10;
    retry_gates_aimd(&gates, &aimd);
    attempts[0] = sent();
    retry_attempt_report(&attempts[0], &failure, START);
    CHECK_EQUAL(5, retry_aimd_limit(&aimd));
    for (round = 0; round < 5; round++) {
        now += 10;
        for (i = 0; i < 5; i++) {
            attempts[i] = new_attempt();
            CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempts[i], &request, now));
        }
        for (i = 0; i < 5; i++)
            retry_attempt_report(&attempts[i], NULL, ++now);
        check_row("round %lu", (unsigned long)round);
        CHECK_EQUAL(6 + round < 10 ? 6 + round : 10, retry_aimd_limit(&aimd));
    }
}

/* An attempt that had less than half of its time, and timed out, is no evidence against anybody;
   one that was answered is, whatever time it had. */
static void test_short_attempts(void)
{
    static const struct {
        retry_ms elapsed;
        retry_reason reason;
        bool timeout, falls;
    } rows[] = {
        {0, RETRY_REASON_ATTEMPT_TIMED_OUT, true, true},
        {750, RETRY_REASON_ATTEMPT_TIMED_OUT, true, true},
        {751, RETRY_REASON_ATTEMPT_TIMED_OUT, true, false},
        {751, RETRY_REASON_ATTEMPT_TIMED_OUT, false, false},
        {751, RETRY_REASON_SERVER_ERROR, true, false},
        {999, RETRY_REASON_ATTEMPT_TIMED_OUT, true, false},
        {999, RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, false, true},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = check_failure_of(rows[i].reason);
        retry_attempt attempt = new_attempt();
        retry_time now = START + rows[i].elapsed;
        set_up(1000, 500);
        failure.timeout = rows[i].timeout;
        aimd.max = 8;
        breaker.volume = 1;
        retry_gates_aimd(&gates, &aimd);
        retry_gates_breaker(&gates, &breaker);
        check_row("row %u", (unsigned)i);
        CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempt, &request, now));
        retry_attempt_report(&attempt, &failure, now + attempt.timeout);
        CHECK_EQUAL(rows[i].falls ? 4 : 8, retry_aimd_limit(&aimd));
        CHECK_EQUAL(rows[i].falls ? RETRY_BREAKER_OPEN : RETRY_BREAKER_CLOSED,
                    retry_breaker_state(&breaker, now + attempt.timeout));
        CHECK_EQUAL(0, gates.in_flight);
    }
}

/* One that works is an answer, however little time it had. */
static void test_short_attempt_works(void)
{
    retry_failure failure = timed_out();
    retry_attempt attempt = new_attempt();
    set_up(1000, 500);
    aimd.max = 8;
    retry_gates_aimd(&gates, &aimd);
    retry_aimd_report(&aimd, &failure, 1, START);
    CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempt, &request, START + 900));
    retry_attempt_report(&attempt, NULL, START + 950);
    CHECK_EQUAL(4, retry_aimd_limit(&aimd)); /* one of four in use: no reason to rise */
    aimd.max = 2;
    CHECK_EQUAL(2, retry_aimd_limit(&aimd));
    aimd.max = 8;
    attempt = new_attempt();
    gates.in_flight = 1; /* another one */
    CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempt, &request, START + 960));
    retry_attempt_report(&attempt, NULL, START + 970);
    CHECK_EQUAL(5, retry_aimd_limit(&aimd));
    CHECK_EQUAL(1, gates.in_flight);
}

/* An attempt may be the probe if it is the operation's first, or has all of its time. */
static void test_who_may_probe(void)
{
    static const struct {
        retry_ms timeout, attempt_timeout, elapsed;
        uint32_t attempts;
        bool client, probes;
    } rows[] = {
        {9000, 500, 700, 0, true, true},   {9000, 500, 8900, 0, true, true},
        {9000, 500, 700, 1, true, true},   {9000, 500, 8500, 1, true, true},
        {9000, 500, 8501, 1, true, false}, {9000, 0, 700, 1, true, false},
        {9000, 0, 700, 0, true, true},     {9000, 0, 700, 1, false, false},
        {9000, 0, 700, 0, false, true},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_attempt attempt = new_attempt();
        retry_decision answer;
        set_up(rows[i].timeout, rows[i].attempt_timeout);
        open_breaker();
        attempt.gates = &gates;
        if (!rows[i].client)
            request.client = NULL;
        request.attempts = rows[i].attempts;
        check_row("row %u", (unsigned)i);
        answer = retry_attempt_ask(&attempt, &request, START + rows[i].elapsed);
        CHECK_EQUAL(rows[i].probes ? RETRY_VERDICT_SEND : RETRY_VERDICT_FAIL, answer.verdict);
        CHECK_EQUAL(rows[i].probes ? RETRY_CAUSE_NONE : RETRY_CAUSE_CIRCUIT_OPEN, answer.cause);
        CHECK_EQUAL(0, answer.delay);
    }
}

/* Only answers tell how long one takes: connections refused within 1 ms do not. */
static void test_latency_of_answers(void)
{
    retry_failure refused = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    retry_failure busy = check_failure_of(RETRY_REASON_KV_TEMPORARY_FAILURE);
    retry_time now = START;
    uint32_t i;
    set_up(UINT32_MAX, 0);
    latency.min_samples = 1;
    latency.quantile = RETRY_RATIO(0.5); /* most are refused */
    retry_gates_latency(&gates, &latency);
    for (i = 0; i < 4000; i++) {
        retry_attempt attempt = new_attempt();
        CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempt, &request, now));
        if (i % 4 != 0)
            retry_attempt_report(&attempt, &refused, now + 1);
        else
            retry_attempt_report(&attempt, i % 8 ? &busy : NULL, now + 100);
        now += 100;
    }
    CHECK_RANGE(80, 125, retry_latency_get(&latency));
}

/* One given up early, one that was never sent, and one that waits for its turn, teach nothing. */
static void test_latency_of_no_answers(void)
{
    retry_failure unsent = check_failure_of(RETRY_REASON_CLIENT_THROTTLED);
    retry_attempt attempt = new_attempt();
    retry_latency before;
    uint32_t i;
    set_up(UINT32_MAX, 0);
    for (i = 0; i < 1000; i++)
        retry_latency_add(&latency, 100, true);
    before = latency;
    rate.max = 1000;
    rate.wait = 5000;
    retry_gates_latency(&gates, &latency);
    retry_gates_rate(&gates, &rate);
    attempt = sent();
    retry_attempt_cancel(&attempt, &request, START + 10);
    CHECK(memcmp(&before, &latency, sizeof before) == 0);
    CHECK_DECISION(RETRY, PACED, retry_attempt_ask(&attempt, &request, START + 10));
    CHECK_DECISION(RETRY, PACED, retry_attempt_ask(&attempt, &request, START + 900));
    CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempt, &request, START + 1000));
    CHECK(memcmp(&before, &latency, sizeof before) == 0);
    retry_attempt_report(&attempt, &unsent, START + 1900);
    CHECK(memcmp(&before, &latency, sizeof before) == 0);
    CHECK_DECISION(SEND, NONE, retry_attempt_ask(&attempt, &request, START + 2000));
    retry_attempt_cancel(&attempt, &request, START + 2900); /* late: so much it does tell */
    CHECK(memcmp(&before, &latency, sizeof before) != 0);
}

/* ---- the loop ------------------------------------------------------------------------------ */

static retry_time run_now;

static retry_time now_of_run(void *context)
{
    (void)context;
    return run_now;
}

static void sleep_in_run(void *context, retry_ms delay)
{
    (void)context;
    run_now += delay;
}

static retry_ms handed[4];
static uint32_t hands;

static bool third_time(void *context, const retry_request *r, retry_ms timeout,
                       retry_failure *failure)
{
    (void)context;
    (void)r;
    CHECK_EQUAL(1, gates.in_flight);
    handed[hands++ & 3] = timeout;
    failure->reason = RETRY_REASON_KV_LOCKED;
    return hands == 3;
}

static void test_run_is_gated(void)
{
    static const retry_clock clock = {now_of_run, sleep_in_run, NULL};
    set_up(1000, 400);
    run_now = START;
    hands = 0;
    CHECK_DECISION(SUCCESS, NONE, retry_run(&request, &clock, third_time, NULL));
    CHECK_EQUAL(3, hands);
    CHECK_EQUAL(400, handed[0]);
    CHECK_EQUAL(400, handed[2]);
    CHECK_EQUAL(0, gates.in_flight);
    open_breaker();
    run_now = START;
    CHECK_DECISION(FAIL, CIRCUIT_OPEN, retry_run(&request, &clock, third_time, NULL));
    CHECK_EQUAL(3, hands);
    retry_gates_breaker(&gates, NULL);
    retry_begin(&request, START);
    overload_throttle();
    draw_next = 0;
    CHECK_DECISION(FAIL, THROTTLED, retry_run(&request, &clock, third_time, NULL));
    CHECK_EQUAL(3, hands);
    retry_gates_throttle(&gates, NULL);
    aimd.max = 1;
    retry_gates_aimd(&gates, &aimd);
    gates.in_flight = 1; /* of somebody who never comes back */
    CHECK_DECISION(EXPIRE, DEADLINE, retry_run(&request, &clock, third_time, NULL));
    CHECK_EQUAL(3, hands);
    CHECK_EQUAL(1, gates.in_flight);
    CHECK_RANGE(START + 700, START + 801, run_now);
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* Whatever is called in whatever order: in_flight is what is in flight, and nothing leaks. */
static void test_random_walk(void)
{
    enum { SLOTS = 12, STEPS = 30000 };
    static const retry_reason reasons[] = {
        RETRY_REASON_ATTEMPT_TIMED_OUT, RETRY_REASON_KV_LOCKED, RETRY_REASON_SOCKET_NOT_AVAILABLE,
        RETRY_REASON_SERVER_ERROR, RETRY_REASON_CLIENT_THROTTLED};
    retry_request requests[SLOTS];
    retry_attempt attempts[SLOTS];
    bool sending[SLOTS];
    retry_time now = START;
    uint32_t step, i, in_flight = 0, subset = 0;
    set_up(2000, 500);
    client.random = NULL;
    client.observe = NULL;
    aimd.max = 6;
    breaker.volume = 5;
    breaker.open = 200;
    memset(requests, 0, sizeof requests);
    memset(attempts, 0, sizeof attempts);
    memset(sending, 0, sizeof sending);
    for (i = 0; i < SLOTS; i++)
        requests[i].client = &client;
    for (step = 0; step < STEPS; step++) {
        retry_failure failure = check_failure_of(reasons[check_random() % CHECK_COUNT(reasons)]);
        bool well = check_random() % 3 != 0;
        retry_attempt *attempt;
        i = check_random() % SLOTS;
        attempt = &attempts[i];
        failure.throttle = check_random() % 8 == 0;
        now += check_random() % 30;
        if (step % 1000 == 0 && in_flight == 0) {
            subset = check_random() % 32;
            retry_gates_breaker(&gates, subset & 1 ? &breaker : NULL);
            retry_gates_throttle(&gates, subset & 2 ? &throttle : NULL);
            retry_gates_aimd(&gates, subset & 4 ? &aimd : NULL);
            retry_gates_rate(&gates, subset & 8 ? &rate : NULL);
            retry_gates_latency(&gates, subset & 16 ? &latency : NULL);
        }
        check_row("step %lu, gates %lu", (unsigned long)step, (unsigned long)subset);
        if (retry_remaining(&requests[i], 0, now) == 0 && !sending[i])
            retry_begin(&requests[i], now);
        switch (check_random() % 8) {
        case 0:
            in_flight -= sending[i];
            retry_attempt_cancel(attempt, &requests[i], now);
            sending[i] = false;
            break;
        case 1:
            in_flight -= sending[i];
            retry_attempt_report(attempt, well ? NULL : &failure, now);
            sending[i] = false;
            break;
        case 2:
        case 3:
        case 4:
            in_flight -= sending[i];
            retry_attempt_end(attempt, &requests[i], well ? NULL : &failure, now);
            sending[i] = false;
            break;
        default:
            if (retry_attempt_begin(attempt, &requests[i], now).verdict == RETRY_VERDICT_SEND) {
                CHECK(!sending[i]);
                CHECK(!attempt->waiting);
                CHECK_RANGE(1, 500, attempt->timeout);
                sending[i] = true;
                in_flight++;
            }
            break;
        }
        CHECK_EQUAL(in_flight, gates.in_flight);
        if (subset & 4)
            CHECK_RANGE(0, 6, gates.in_flight);
        if (step % 1000 > 900) { /* come to rest, so that the gates may change */
            in_flight -= sending[i];
            retry_attempt_cancel(attempt, NULL, now);
            sending[i] = false;
        }
    }
    for (i = 0; i < SLOTS; i++)
        retry_attempt_cancel(&attempts[i], NULL, now);
    CHECK_EQUAL(0, gates.in_flight);
}

/* What ends a request tells its budget when that was. */
static void test_budget_told_when(void)
{
    retry_attempt attempt;
    set_up(60000, 0);
    refill_from(&budget, START);
    attempt = sent();
    CHECK_DECISION(SUCCESS, NONE, retry_attempt_end(&attempt, &request, NULL, START + 5000));
    refill_check(&budget, START, 5000);

    set_up(60000, 0);
    open_breaker();
    refill_from(&budget, START);
    CHECK_DECISION(FAIL, CIRCUIT_OPEN, retry_attempt_begin(&attempt, &request, START + 300));
    refill_check(&budget, START, 300);
}

int main(void)
{
    RUN(test_size);
    RUN(test_misuse);
    RUN(test_gates_null);
    RUN(test_timeout);
    RUN(test_deadline_reached);
    RUN(test_no_client);
    RUN(test_pending);
    RUN(test_end);
    RUN(test_operation);
    RUN(test_report_and_cancel);
    RUN(test_whose_gates);
    RUN(test_circuit_open);
    RUN(test_classify_refusal);
    RUN(test_throttled);
    RUN(test_throttle_draws_once);
    RUN(test_paced);
    RUN(test_no_time_to_wait);
    RUN(test_rate_keeps_an_instant);
    RUN(test_rate_takes_back);
    RUN(test_rate_instant_comes_nearer);
    RUN(test_limit_and_rate);
    RUN(test_rate_after_cancel);
    RUN(test_probe_given_back);
    RUN(test_slow_answers);
    RUN(test_slow_after_a_wait);
    RUN(test_short_attempt_breaks);
    RUN(test_one_fall);
    RUN(test_one_rise);
    RUN(test_short_attempts);
    RUN(test_short_attempt_works);
    RUN(test_who_may_probe);
    RUN(test_latency_of_answers);
    RUN(test_latency_of_no_answers);
    RUN(test_run_is_gated);
    RUN(test_budget_told_when);
    RUN(test_random_walk);
    return check_done();
}
