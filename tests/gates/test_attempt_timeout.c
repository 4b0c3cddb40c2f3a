/* How much time an attempt of an operation gets, and how that time follows the server. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/steps.h"
#include "../support/gated.h"

/* ---- an attempt's time --------------------------------------------------------------------- */

static void test_timeout(void)
{
    static const struct {
        retry_ms timeout, cut_after, elapsed, expected;
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
            retry_step step;
            set_up(rows[i].timeout, rows[i].cut_after);
            add_all();
            if (!gated)
                client.gates = NULL;
            check_row("row %u, gated %u", (unsigned)i, (unsigned)gated);
            step = CHECK_SEND(retry_next(&op, check_after(START, rows[i].elapsed)));
            CHECK_EQUAL(rows[i].expected, step.timeout);
            CHECK_EQUAL(0, step.delay);
            CHECK_EQUAL(gated, gates.in_flight);
        }
    }
}

static void test_deadline_reached(void)
{
    static const retry_ms late[] = {1000, 1001, 0x70000000};
    size_t i;
    for (i = 0; i < CHECK_COUNT(late); i++) {
        retry_step step;
        check_row("%lu ms", (unsigned long)late[i]);
        set_up(1000, 0);
        add_all();
        step = CHECK_END(EXPIRE, DEADLINE, retry_next(&op, check_after(START, late[i])));
        CHECK_EQUAL(0, step.delay);
        CHECK_EQUAL(0, gates.in_flight);
        CHECK_EQUAL(0, drawn); /* no gate was asked */
        CHECK_EQUAL(1, told);
        CHECK_DECISION(EXPIRE, DEADLINE, told_decision);
        CHECK_EQUAL(0, retry_left(&op, START)); /* finished */
    }
}

/* ---- the time of an attempt follows the server --------------------------------------------- */

/* What attempts teach one after the other, and the time that the next one has. */
static void test_slow(void)
{
    static const struct {
        retry_ms age, given; /* of the attempt; to the next one */
    } rows[] = {
        {40, 100},    {50, 100},     {51, 102},       {300, 600}, {100, 500},
        {249, 498},   {249, 498},    {248, 496},      {0, 372},   {186, 372},
        {0, 278},     {0, 208},      {0, 156},        {0, 116},   {0, 100},
        {2000, 4000}, {9999, 19998}, {99999, 100000}, /* at most what is left */
    };
    size_t i;
    set_up(100000, 100);
    add_all();
    CHECK_EQUAL(100, time_given(START));
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        other_ends(NULL, rows[i].age, START);
        CHECK_EQUAL(rows[i].given, time_given(START));
    }
}

/* A copy's answer after the clock was behind has taken no time. After one that was set back it has
   taken all of the copy's, and no more. */
static void test_slow_and_the_clock(void)
{
    static const retry_ms steps[] = {1, 1000, 32768, 32769, 60000, 86400000, UINT32_C(1) << 30};
    size_t i;
    for (i = 0; i < CHECK_COUNT(steps); i++) {
        bool set_back = steps[i] > 32768;
        retry_operation one;
        check_row("%lu ms back", (unsigned long)steps[i]);
        set_up(UINT32_MAX, 100);
        add_all();
        latency.min_samples = 1;
        other_ends(NULL, 100, START);
        one = start(START);
        CHECK_EQUAL(200, CHECK_SEND(retry_next(&one, START)).timeout);
        retry_ended(&one, 0, NULL, check_before(START, steps[i]));
        CHECK_EQUAL(set_back ? 400 : 150, time_given(START));
        CHECK_RANGE(1, 100 + set_back, retry_latency_get(&latency));
    }
}

/* An answer that comes late, or is told late, teaches at most the time that its copy had: not that
   its program was suspended for eight hours. */
static void test_slow_of_late_answers(void)
{
    static const struct {
        retry_ms cut_after, attempt_timeout, age, given;
    } rows[] = {{100, 0, 100, 200},        {100, 0, 101, 200},      {100, 0, 28800000, 200},
                {100, 0, 0x80000000, 200}, {0, 300, 28800000, 600}, {0, 0, 28800000, 5000},
                {0, 0, 700, 1400},         {100, 60, 28800000, 120}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        set_up(2500, rows[i].cut_after);
        client.attempt_timeout = rows[i].attempt_timeout;
        retry_gates_latency(&gates, &latency);
        CHECK_SEND(retry_next(&op, START));
        retry_ended(&op, 0, NULL, START + rows[i].age);
        client.cut_after = 100;
        client.attempt_timeout = 0;
        op_timeout = 100000;
        CHECK_EQUAL(rows[i].given, time_given(START + rows[i].age));
    }
}

/* Which reports are answers, and which are rounds. Before each: 300 ms, and one round, which no
   answer ends that was not sent again. */
static void test_slow_of_failures(void)
{
    static const struct {
        retry_reason reason;
        bool throttle, timeout;
        retry_ms given;
    } rows[] = {
        {RETRY_REASON_CLIENT_THROTTLED, false, true, 1200},
        {RETRY_REASON_CIRCUIT_BREAKER_OPEN, true, true, 1200},
        {RETRY_REASON_KV_TEMPORARY_FAILURE, false, false, 1000},
        {RETRY_REASON_KV_LOCKED, false, false, 1000},
        {RETRY_REASON_NONE, false, false, 1200}, /* it says nothing */
        {RETRY_REASON_UNKNOWN, false, false, 1000},
        {RETRY_REASON_KV_TEMPORARY_FAILURE, true, false, 1200},
        {RETRY_REASON_SERVER_ERROR, false, false, 1200},
        {RETRY_REASON_SOCKET_NOT_AVAILABLE, false, false, 1200},
        {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, false, false, 1200},
        {RETRY_REASON_CLIENT_THROTTLED, false, false, 1200},
        {RETRY_REASON_ATTEMPT_TIMED_OUT, false, false, 1200},
        {RETRY_REASON_ATTEMPT_TIMED_OUT, false, true, 2400},
        {RETRY_REASON_SERVER_ERROR, false, true, 2400},
        {RETRY_REASON_KV_LOCKED, true, true, 2400},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        const retry_failure late = timed_out();
        retry_failure failure = check_failure_of(rows[i].reason);
        check_row("row %u", (unsigned)i);
        set_up(100000, 100);
        retry_gates_latency(&gates, &latency);
        other_ends(NULL, 300, START);
        other_ends(&late, 100, START);
        CHECK_EQUAL(1200, time_given(START + 100));
        failure.throttle = rows[i].throttle;
        failure.timeout = rows[i].timeout;
        other_ends(&failure, 100, START + 200);
        CHECK_EQUAL(rows[i].given, time_given(START + 300));
    }
}

/* An attempt times out at `now`; what is sent again 10 ms later is answered after `age` ms. */
static void answer_again(retry_ms age, retry_time now)
{
    const retry_failure failure = timed_out();
    retry_operation one = start(now);
    CHECK_SEND(retry_next(&one, now));
    retry_ended(&one, 0, &failure, now);
    CHECK_WAIT(STRATEGY, retry_next(&one, now));
    CHECK_SEND(retry_next(&one, now + 10));
    retry_ended(&one, 0, NULL, now + 10 + age);
}

/* At most ten rounds; a cut that has paid ends them all. */
static void test_rounds(void)
{
    const retry_failure failure = timed_out();
    retry_time now = START;
    uint32_t i;
    set_up(100000, 10);
    retry_gates_latency(&gates, &latency);
    for (i = 0; i < 13; i++) {
        check_row("%lu rounds", (unsigned long)i);
        CHECK_EQUAL(10u << (i < 10 ? i : 10), time_given(now));
        other_ends(&failure, 5, now);
        now += 10;
    }
    answer_again(4, now);
    CHECK_EQUAL(10, time_given(now + 14));
    other_ends(&failure, 5, now + 20);
    CHECK_EQUAL(20, time_given(now + 25)); /* and they begin anew */
}

/* A round is counted once for all that were sent before it was. */
static void test_rounds_once(void)
{
    static const struct {
        retry_ms sent; /* ms after START; the round is counted at 100 */
        retry_ms given;
    } rows[] = {{0, 200}, {99, 200}, {100, 200}, {101, 400}};
    const retry_failure failure = timed_out();
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        static retry_operation ops[5];
        size_t n;
        check_row("sent at %lu", (unsigned long)rows[i].sent);
        set_up(100000, 100);
        retry_gates_latency(&gates, &latency);
        CHECK_SEND(retry_next(&op, START));
        if (rows[i].sent > 100)
            CHECK_CANCEL(retry_next(&op, START + 100));
        for (n = 0; n < CHECK_COUNT(ops); n++) {
            ops[n] = start(START + rows[i].sent);
            CHECK_SEND(retry_next(&ops[n], START + rows[i].sent));
        }
        if (rows[i].sent <= 100)
            CHECK_CANCEL(retry_next(&op, START + 100));
        CHECK_EQUAL(200, time_given(START + 100));
        for (n = 0; n < CHECK_COUNT(ops); n++)
            retry_ended(&ops[n], 0, &failure, START + 300 + (retry_ms)n);
        CHECK_EQUAL(rows[i].given, time_given(START + 310));
    }
}

/* After the rounds' end a copy that was sent before it may count: there is no round. */
static void test_rounds_after_an_answer(void)
{
    const retry_failure failure = timed_out();
    retry_operation old;
    set_up(100000, 100);
    retry_gates_latency(&gates, &latency);
    old = other(START);
    CHECK_SEND(retry_next(&old, START));
    other_ends(&failure, 20, START);
    CHECK_EQUAL(200, time_given(START + 20));
    answer_again(5, START + 20);
    CHECK_EQUAL(100, time_given(START + 35));
    retry_ended(&old, 0, &failure, START + 40);
    CHECK_EQUAL(200, time_given(START + 40));
}

/* What ends a round: an answer to what was sent again after a time-out, if it took no longer than
   cut_after, or any answer more than 30 s later. Not a quick answer to another: the next slow one
   would be cut again, and the one after it. */
static void test_rounds_end(void)
{
    static const struct {
        bool again, after_a_timeout;
        retry_ms age, later; /* of the answer; when, ms after the round */
        bool ends;
    } rows[] = {
        {true, true, 0, 100, true},      {true, true, 10, 100, true},
        {true, true, 11, 100, false},    {true, false, 4, 100, false},
        {false, false, 0, 100, false},   {false, false, 4, 100, false},
        {false, false, 10, 100, false},  {false, false, 11, 100, false},
        {false, false, 4, 29996, false}, {false, false, 4, 29997, true},
        {false, false, 4, 50000, true},  {false, false, 30000, 1, true},
    };
    const retry_failure late = timed_out(), refused = check_failure_of(RETRY_REASON_KV_LOCKED);
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_time now = START + 5 + rows[i].later;
        retry_ms given = rows[i].age > 5 ? 2 * rows[i].age : 10;
        retry_operation one;
        check_row("row %u", (unsigned)i);
        set_up(100000, 10);
        retry_gates_latency(&gates, &latency);
        one = start(START);
        CHECK_SEND(retry_next(&one, START));
        other_ends(&late, 5, START);
        CHECK_EQUAL(20, time_given(START + 5));
        if (rows[i].again) {
            if (rows[i].after_a_timeout)
                other_ends(&late, 1, START); /* counts no round: it was sent before */
            retry_ended(&one, 0, rows[i].after_a_timeout ? &late : &refused, START + 5);
            CHECK_WAIT(STRATEGY, retry_next(&one, START + 5));
            CHECK_SEND(retry_next(&one, now));
            retry_ended(&one, 0, NULL, now + rows[i].age);
        } else {
            retry_stop(&one, START + 5);
            other_ends(NULL, rows[i].age, now);
        }
        CHECK_EQUAL(rows[i].ends ? given : 2 * given, time_given(now + rows[i].age));
    }
}

/* Answers of a few ms. */
static void test_slow_of_few_ms(void)
{
    static const struct {
        retry_ms first, second, given;
    } rows[] = {{1, 2, 4}, {2, 1, 2}, {2, 0, 2}, {1, 0, 2}, {4, 2, 6}, {1, 1, 2}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        set_up(1000, 1);
        retry_gates_latency(&gates, &latency);
        other_ends(NULL, rows[i].first, START);
        other_ends(NULL, rows[i].second, START);
        CHECK_EQUAL(rows[i].given, time_given(START));
    }
}

/* Three days are the slowest that is kept. */
static void test_slow_of_days(void)
{
    static const struct {
        retry_ms age, given;
    } rows[] = {{0x0ffffffe, 0x1ffffffc},
                {0x0fffffff, 0x1ffffffe},
                {0x10000000, 0x1ffffffe},
                {0x10000001, 0x1ffffffe},
                {0x20000000, 0x1ffffffe}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        set_up(UINT32_MAX, 100);
        retry_gates_latency(&gates, &latency);
        other_ends(NULL, rows[i].age, START);
        CHECK_EQUAL(rows[i].given, time_given(START + rows[i].age));
    }
}

/* The next round is counted however long after the last, but for the 32,768 ms that the clock may
   be behind: what was sent then looks as if it had been before. */
static void test_rounds_far_apart(void)
{
    static const struct {
        uint32_t sent; /* ms after the last round */
        retry_ms given;
    } rows[] = {{1, 400},
                {0x40000000, 400},
                {0x40000001, 400},
                {0x80000001, 400},
                {UINT32_MAX - 32768 - 50, 400},
                {UINT32_MAX - 32767 - 50, 200}};
    const retry_failure failure = timed_out();
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_time sent = check_after(START + 50, rows[i].sent);
        check_row("row %u", (unsigned)i);
        set_up(100000, 100);
        retry_gates_latency(&gates, &latency);
        other_ends(&failure, 50, START);
        CHECK_EQUAL(200, time_given(START + 50));
        other_ends(&failure, 50, sent);
        CHECK_EQUAL(rows[i].given, time_given(check_after(sent, 50)));
    }
}

/* What bounds it: what is left, the request's own timeout, attempt_timeout, and a budget that
   pays for nothing that could follow. Each after an answer of 150 ms and two rounds. */
static void test_bounds(void)
{
    static const struct {
        retry_ms timeout, cut_after, max;
        uint32_t balance, floor, refill;
        retry_ms expected;
    } rows[] = {
        {9000, 100, 0, 10000, 0, 0, 1200},       {9000, 200, 0, 10000, 0, 0, 1200},
        {9000, 400, 0, 10000, 0, 0, 1600},       {1000, 100, 0, 10000, 0, 0, 1000},
        {9000, 100, 1199, 10000, 0, 0, 1199},    {9000, 100, 1201, 10000, 0, 0, 1200},
        {9000, 100, 100, 10000, 0, 0, 100}, /* fixed */
        {9000, 100, 50, 10000, 0, 0, 50},        {9000, 0, 0, 10000, 0, 0, 9000},
        {9000, 0, 700, 10000, 0, 0, 700},        {600, 0, 700, 10000, 0, 0, 600},
        {9000, 100, 0, 2000, 0, 0, 1200}, /* two retries */
        {9000, 100, 0, 1999, 0, 0, 9000}, /* one */
        {9000, 100, 700, 1999, 0, 0, 700},       {9000, 100, 0, 1999, 0, 1, 9000},
        {9000, 100, 0, 1999, 0, 1000, 1200}, /* 0.03 have come in */
        {9000, 100, 0, 7000, 5000, 0, 1200},     {9000, 100, 0, 6999, 5000, 0, 9000},
        {9000, 100, 0, 10, 5000, 0, 9000},       {UINT32_MAX, 100, 0, 1999, 0, 0, UINT32_MAX},
        {UINT32_MAX, 100, 0, 10000, 0, 0, 1200},
    };
    const retry_failure failure = timed_out();
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options;
        check_row("row %u", (unsigned)i);
        set_up(rows[i].timeout, rows[i].cut_after);
        retry_gates_latency(&gates, &latency);
        memset(&options, 0, sizeof options);
        options.capacity = 10000;
        options.retry_cost = 1000;
        retry_budget_init(&budget, &options, START);
        CHECK(retry_budget_withdraw(&budget, 10000 - rows[i].balance, START));
        budget.options.floor = rows[i].floor;
        budget.options.refill_per_second = rows[i].refill;
        other_ends(NULL, 150, START);
        other_ends(&failure, 10, START);
        other_ends(&failure, 10, START + 20);
        client.attempt_timeout = rows[i].max;
        CHECK_EQUAL(rows[i].expected, time_given(START + 30));
    }
}

/* A request that has less than cut_after starts from what it has. */
static void test_short_request(void)
{
    const retry_failure failure = timed_out();
    set_up(80, 100);
    retry_gates_latency(&gates, &latency);
    other_ends(&failure, 10, START);
    CHECK_EQUAL(80, time_given(START));
    op_timeout = 160;
    CHECK_EQUAL(160, time_given(START));
    op_timeout = 300;
    CHECK_EQUAL(200, time_given(START));
}

int main(void)
{
    RUN(test_timeout);
    RUN(test_deadline_reached);
    RUN(test_slow);
    RUN(test_slow_and_the_clock);
    RUN(test_slow_of_late_answers);
    RUN(test_slow_of_failures);
    RUN(test_slow_of_few_ms);
    RUN(test_slow_of_days);
    RUN(test_rounds);
    RUN(test_rounds_once);
    RUN(test_rounds_after_an_answer);
    RUN(test_rounds_end);
    RUN(test_rounds_far_apart);
    RUN(test_bounds);
    RUN(test_short_request);
    return check_done();
}
