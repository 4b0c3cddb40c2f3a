/* The gates of a server, asked by operations: which gates, in which order, in a loop of the
   library's, and in a random walk of all of them. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/clocks.h"
#include "../support/refill.h"
#include "../support/steps.h"
#include "../support/gated.h"

/* ---- which gates --------------------------------------------------------------------------- */

static void test_gates_null(void)
{
    retry_operation second;
    set_up(1000, 0);
    retry_gates_breaker(NULL, &breaker);
    retry_gates_throttle(NULL, &throttle);
    retry_gates_aimd(NULL, &aimd);
    retry_gates_rate(NULL, &rate);
    retry_gates_latency(NULL, &latency);
    aimd.max = 1;
    retry_gates_aimd(&gates, &aimd);
    CHECK_SEND(retry_next(&op, START));
    second = start(START);
    CHECK_WAIT(PACED, retry_next(&second, START));
    retry_gates_aimd(&gates, NULL); /* taken out */
    CHECK_SEND(retry_next(&second, START));
    CHECK_EQUAL(2, gates.in_flight);
    retry_stop(&op, START);
    retry_stop(&second, START);
    CHECK_EQUAL(0, gates.in_flight);
}

/* Each gate, taken out while it refuses everything. */
static void test_taken_out(void)
{
    const retry_failure failure = broken();
    set_up(10000, 0);
    rate.max = 1000;
    breaker.volume = 1;
    retry_breaker_set(&breaker, RETRY_BREAKER_ISOLATED, START);
    retry_gates_breaker(&gates, &breaker);
    CHECK_END(FAIL, CIRCUIT_OPEN, retry_next(&op, START));
    retry_gates_breaker(&gates, NULL);
    other_ends(&failure, 0, START);
    retry_gates_rate(&gates, &rate);
    other_ends(&failure, 0, START);
    op = start(START);
    CHECK_END(FAIL, THROTTLED, retry_next(&op, START));
    retry_gates_rate(&gates, NULL);
    other_ends(&failure, 0, START);
    CHECK_EQUAL(0, retry_breaker_get(&breaker, START).reports); /* was not told either */
}

/* Gates to which none was added are neither asked nor told. */
static void test_none_was_added(void)
{
    const retry_failure failure = timed_out();
    retry_gates untouched;
    memset(&untouched, 0, sizeof untouched);
    set_up(100000, 100);
    CHECK_SEND(retry_next(&op, START));
    CHECK_EQUAL(0, gates.in_flight);
    retry_ended(&op, 0, &failure, START);
    CHECK_EQUAL(100, time_given(START + 1));
    CHECK(memcmp(&gates, &untouched, sizeof gates) == 0);
    add_all();
    remove_all();
    op = start(START);
    CHECK_SEND(retry_next(&op, START));
    CHECK_EQUAL(1, gates.in_flight); /* from now on it is counted, and remembered */
    retry_ended(&op, 0, &failure, START);
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(200, time_given(START + 1));
}

/* A copy keeps the gates that it was sent by. */
static void test_whose_gates(void)
{
    retry_gates elsewhere;
    retry_aimd limit;
    set_up(1000, 0);
    memset(&elsewhere, 0, sizeof elsewhere);
    memset(&limit, 0, sizeof limit);
    limit.max = 5;
    aimd.max = 5;
    retry_gates_aimd(&gates, &aimd);
    retry_gates_aimd(&elsewhere, &limit);
    client.gates = &elsewhere;
    CHECK_SEND(retry_next(&op, START));
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(1, elsewhere.in_flight);
    client.gates = &gates;
    retry_ended(&op, 0, NULL, START);
    CHECK_END(SUCCESS, NONE, retry_next(&op, START));
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(0, elsewhere.in_flight);
}

/* ---- their order --------------------------------------------------------------------------- */

struct all_gates {
    retry_breaker breaker;
    retry_throttle throttle;
    retry_aimd aimd;
    retry_rate rate;
};

static struct all_gates as_they_are(void)
{
    struct all_gates all;
    all.breaker = breaker;
    all.throttle = throttle;
    all.aimd = aimd;
    all.rate = rate;
    return all;
}

/* Those behind the one that refused gave nothing, so that nothing is lost. */
static void check_unasked(unsigned refused, const struct all_gates *before)
{
    CHECK(refused >= THROTTLE || memcmp(&throttle, &before->throttle, sizeof throttle) == 0);
    CHECK(refused >= AIMD || memcmp(&aimd, &before->aimd, sizeof aimd) == 0);
    CHECK(refused >= RATE || memcmp(&rate, &before->rate, sizeof rate) == 0);
}

static void test_order(void)
{
    static const struct {
        uint8_t what, cause;
        retry_ms delay;
        uint32_t drawn;
    } answers[GATES] = {
        {RETRY_DO_END, RETRY_CAUSE_CIRCUIT_OPEN, 490, 0},
        {RETRY_DO_END, RETRY_CAUSE_THROTTLED, 0, 1},
        {RETRY_DO_WAIT, RETRY_CAUSE_PACED, 1, 1},
        {RETRY_DO_END, RETRY_CAUSE_THROTTLED, 990, 0},
    };
    unsigned a, b, first;
    for (a = 0; a < GATES; a++) {
        for (b = 0; b < GATES; b++) { /* a == b: alone */
            struct all_gates before;
            retry_step step;
            check_row("gates %u and %u", a, b);
            first = a < b ? a : b;
            set_up(1000, 0);
            refuse_all();
            add(a);
            add(b);
            told = 0;
            before = as_they_are();
            step = retry_next(&op, START + 10);
            CHECK_EQUAL(answers[first].what, step.what);
            CHECK_EQUAL(answers[first].cause, step.cause);
            CHECK_EQUAL(answers[first].delay, step.delay);
            CHECK_EQUAL(answers[first].drawn, drawn);
            CHECK_EQUAL(1, gates.in_flight);
            CHECK_EQUAL(step.what == RETRY_DO_END, told); /* a wait is not told */
            if (step.what == RETRY_DO_END) {
                CHECK_EQUAL(RETRY_VERDICT_FAIL, told_decision.verdict);
                CHECK_EQUAL(answers[first].cause, told_decision.cause);
                CHECK_EQUAL(answers[first].delay, told_decision.delay);
                CHECK_EQUAL(1, told_sight.in_flight);
            }
            check_unasked(first, &before);
        }
    }
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
    run_now = check_after(run_now, delay);
}

static retry_ms handed[4];
static uint32_t hands;

static bool third_time(void *context, const retry_operation *one, const retry_step *step,
                       retry_failure *failure)
{
    (void)context;
    CHECK(one == &op);
    CHECK_EQUAL(1, gates.in_flight);
    handed[hands++ & 3] = step->timeout;
    failure->reason = RETRY_REASON_KV_LOCKED;
    return hands == 3;
}

static void test_run_is_gated(void)
{
    const retry_clock clock = clock_of(now_of_run, sleep_in_run, NULL);
    retry_operation holder;
    set_up(1000, 400);
    retry_gates_latency(&gates, &latency);
    run_now = START;
    hands = 0;
    CHECK_END(SUCCESS, NONE, retry_run(&op, NULL, &clock, third_time, NULL));
    CHECK_EQUAL(3, hands);
    CHECK_EQUAL(400, handed[0]);
    CHECK_EQUAL(400, handed[2]);
    CHECK_EQUAL(0, gates.in_flight);
    open_breaker();
    run_now = START;
    CHECK_EQUAL(
        500, CHECK_END(FAIL, CIRCUIT_OPEN, retry_run(&op, NULL, &clock, third_time, NULL)).delay);
    CHECK_EQUAL(3, hands);
    retry_gates_breaker(&gates, NULL);
    overload_throttle();
    CHECK_END(FAIL, THROTTLED, retry_run(&op, NULL, &clock, third_time, NULL));
    CHECK_EQUAL(3, hands);
    retry_gates_throttle(&gates, NULL);
    aimd.max = 1;
    retry_gates_aimd(&gates, &aimd);
    holder = other(START); /* of somebody who never comes back */
    CHECK_SEND(retry_next(&holder, START));
    run_now = START;
    CHECK_END(EXPIRE, DEADLINE, retry_run(&op, NULL, &clock, third_time, NULL));
    CHECK_EQUAL(3, hands);
    CHECK_EQUAL(1, gates.in_flight);
    CHECK_RANGE(START + 898, START + 999, run_now); /* less than two answers of 1 ms are left */
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* What ends an operation tells its budget when that was. */
static void test_budget_told_when(void)
{
    set_up(60000, 0);
    refill_from(&budget, START);
    CHECK_SEND(retry_next(&op, START));
    retry_ended(&op, 0, NULL, START + 5000);
    CHECK_END(SUCCESS, NONE, retry_next(&op, START + 5000));
    refill_check(&budget, START, 5000);

    set_up(60000, 0);
    open_breaker();
    refill_from(&budget, START);
    CHECK_END(FAIL, CIRCUIT_OPEN, retry_next(&op, START + 300));
    refill_check(&budget, START, 300);
}

/* Does what retry_next says until it says WAIT or END; whether a copy is on the wire then. */
static bool poll(retry_operation *one, bool sending, retry_time now)
{
    retry_step step;
    while ((step = retry_next(one, now)).what < RETRY_DO_WAIT) {
        CHECK_EQUAL(sending, step.what == RETRY_DO_CANCEL);
        CHECK_EQUAL(0, step.copy);
        sending = step.what == RETRY_DO_SEND;
        if (sending)
            CHECK_RANGE(1, 2000, step.timeout);
    }
    CHECK(step.what == RETRY_DO_END || step.delay != 0);
    CHECK(!sending || step.what == RETRY_DO_WAIT);
    return sending;
}

/* Whatever is called in whatever order: in_flight is what is in flight, and nothing leaks. */
static void test_random_walk(void)
{
    enum { SLOTS = 12, STEPS = 30000 };
    static const retry_reason reasons[] = {
        RETRY_REASON_ATTEMPT_TIMED_OUT, RETRY_REASON_KV_LOCKED, RETRY_REASON_SOCKET_NOT_AVAILABLE,
        RETRY_REASON_SERVER_ERROR, RETRY_REASON_CLIENT_THROTTLED};
    static retry_operation ops[SLOTS];
    bool sending[SLOTS];
    retry_time now = START;
    uint32_t step, i, in_flight = 0, subset = 0, most = 0;
    set_up(2000, 500);
    client.random = NULL;
    client.observe = NULL;
    aimd.max = 6;
    breaker.volume = 5;
    breaker.open = 200;
    retry_gates_latency(&gates, &latency);
    memset(sending, 0, sizeof sending);
    for (i = 0; i < SLOTS; i++)
        ops[i] = start(now);
    for (step = 0; step < STEPS; step++) {
        retry_failure failure = check_failure_of(reasons[check_random() % CHECK_COUNT(reasons)]);
        bool well = check_random() % 3 != 0;
        i = check_random() % SLOTS;
        failure.throttle = check_random() % 8 == 0;
        failure.timeout = failure.reason == RETRY_REASON_ATTEMPT_TIMED_OUT;
        now = check_after(now, check_random() % 30);
        check_row("step %lu, gates %lu", (unsigned long)step, (unsigned long)subset);
        if (step % 1000 == 0) { /* at rest, so that the gates may change */
            for (i = 0; i < SLOTS; i++) {
                retry_stop(&ops[i], now);
                sending[i] = poll(&ops[i], sending[i], now);
                CHECK(!sending[i]);
            }
            CHECK_EQUAL(0, gates.in_flight);
            in_flight = 0;
            i = 0;
            subset = check_random() % 32;
            retry_gates_breaker(&gates, subset & 1 ? &breaker : NULL);
            retry_gates_throttle(&gates, subset & 2 ? &throttle : NULL);
            retry_gates_aimd(&gates, subset & 4 ? &aimd : NULL);
            retry_gates_rate(&gates, subset & 8 ? &rate : NULL);
            retry_gates_latency(&gates, subset & 16 ? &latency : NULL);
        }
        in_flight -= sending[i];
        switch (check_random() % 12) {
        case 0:
            retry_stop(&ops[i], now);
            break;
        case 1:
            retry_stop(&ops[i], now);
            break;
        case 2:
            retry_start(&ops[i], NULL, now);
            break;
        case 3:
        case 4:
        case 5:
            retry_ended(&ops[i], 0, well ? NULL : &failure, now);
            sending[i] = false;
            break;
        default:
            if (retry_left(&ops[i], now) == 0 && !sending[i])
                retry_start(&ops[i], NULL, now);
            break;
        }
        sending[i] = poll(&ops[i], sending[i], now);
        in_flight += sending[i];
        most = in_flight > most ? in_flight : most;
        CHECK_EQUAL(in_flight, gates.in_flight);
        if (subset & 4)
            CHECK_RANGE(0, 6, gates.in_flight);
    }
    CHECK_RANGE(7, SLOTS, most); /* it was not too quiet to tell */
    for (i = 0; i < SLOTS; i++)
        retry_stop(&ops[i], now);
    CHECK_EQUAL(0, gates.in_flight);
}

int main(void)
{
    RUN(test_gates_null);
    RUN(test_taken_out);
    RUN(test_none_was_added);
    RUN(test_whose_gates);
    RUN(test_order);
    RUN(test_run_is_gated);
    RUN(test_budget_told_when);
    RUN(test_random_walk);
    return check_done();
}
