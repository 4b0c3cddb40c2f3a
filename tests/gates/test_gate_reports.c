/* What operations tell the gates of a server: how each attempt ended, or that it was stopped. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/steps.h"
#include "../support/gated.h"

/* A strategy of one's own that looks at the gates. */
static retry_action after_a_look(const retry_strategy *self, const retry_operation *of,
                                 const retry_failure *failure, retry_time now)
{
    (void)self;
    asked_sight = look();
    return retry_policy_after(&policy.base, of, failure, now);
}

static void check_sight(const struct sight *expected, const struct sight *got)
{
    CHECK_EQUAL(expected->in_flight, got->in_flight);
    CHECK_EQUAL(expected->limit, got->limit);
    CHECK_EQUAL(expected->sick, got->sick);
    CHECK_EQUAL(expected->state, got->state);
}

/* The way of an operation that works the third time. */
static void test_operation(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_KV_TEMPORARY_FAILURE);
    retry_step step;
    retry_time now = START;
    uint32_t tries = 0;
    set_up(1000, 300);
    aimd.max = 4;
    add_all();
    while ((step = retry_next(&op, now)).what != RETRY_DO_END && tries < 9) {
        if (step.what == RETRY_DO_SEND) {
            CHECK_EQUAL(300, step.timeout);
            CHECK_EQUAL(1, gates.in_flight);
            CHECK_EQUAL(300, CHECK_WAIT(NONE, retry_next(&op, now)).delay);
            now += 7;
            retry_ended(&op, 0, ++tries < 3 ? &failure : NULL, now);
            CHECK_EQUAL(0, gates.in_flight);
        } else {
            CHECK_WAIT(STRATEGY, step);
            now += step.delay;
        }
    }
    CHECK_END(SUCCESS, NONE, step);
    CHECK_EQUAL(3, tries);
    CHECK_EQUAL(2, op.retries);
    CHECK_EQUAL(3, retry_breaker_get(&breaker, now).reports);
    CHECK_EQUAL(0, retry_breaker_get(&breaker, now).sick);
}

/* The gates are told before the request decides, however a copy ends: the strategy and the observer
   see what it has changed. The copy that works is a probe. */
static void test_told_first(void)
{
    enum { WORKED, FAILED, TIMED_OUT, STOPPED, STARTED };
    static const struct {
        const char *name;
        struct sight sight; /* in flight, limit, sick, state */
        uint8_t verdict, cause;
        bool asked; /* the strategy was */
    } rows[] = {
        {"worked", {0, 4, 0, RETRY_BREAKER_CLOSED}, RETRY_VERDICT_SUCCESS, 0, false},
        {"failed", {0, 4, 1, RETRY_BREAKER_OPEN}, RETRY_VERDICT_RETRY, RETRY_CAUSE_STRATEGY, true},
        {"timed out",
         {0, 4, 1, RETRY_BREAKER_OPEN}, /* one time-out alone does not lower it */
         RETRY_VERDICT_RETRY,
         RETRY_CAUSE_STRATEGY,
         true},
        {"stopped",
         {0, 4, 0, RETRY_BREAKER_CLOSED},
         RETRY_VERDICT_FAIL,
         RETRY_CAUSE_CANCELLED,
         false},
        {"started anew",
         {0, 4, 0, RETRY_BREAKER_CLOSED},
         RETRY_VERDICT_FAIL,
         RETRY_CAUSE_CANCELLED,
         false},
    };
    static const retry_strategy looks = {after_a_look};
    const retry_failure failure = timed_out();
    unsigned i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_time now = START + 300;
        check_row("%s", rows[i].name);
        set_up(10000, 300);
        client.strategy = &looks;
        if (i == WORKED) {
            open_breaker();
            now = START + 500;
        }
        breaker.volume = 1;
        aimd.max = 4;
        add_all();
        op = start(now - 300);
        CHECK_SEND(retry_next(&op, i == WORKED ? now : now - 300));
        CHECK_EQUAL(1, gates.in_flight);
        told = 0;
        if (i == TIMED_OUT)
            CHECK_CANCEL(retry_next(&op, now));
        else if (i == STOPPED)
            retry_stop(&op, now);
        else if (i == STARTED)
            retry_start(&op, NULL, now);
        else
            retry_ended(&op, 0, i == WORKED ? NULL : &failure, now);
        CHECK_EQUAL(1, told);
        CHECK_EQUAL(rows[i].verdict, told_decision.verdict);
        CHECK_EQUAL(rows[i].cause, told_decision.cause);
        CHECK_EQUAL(rows[i].asked, told_failure);
        check_sight(&rows[i].sight, &told_sight);
        if (rows[i].asked)
            check_sight(&rows[i].sight, &asked_sight);
    }
}

/* A copy whose time is over is sick, and told once, even if it ends by itself before its CANCEL. */
static void test_timed_out(void)
{
    unsigned late;
    for (late = 0; late < 2; late++) {
        check_row("late %u", late);
        set_up(1000, 300);
        breaker.volume = 100;
        add_all();
        CHECK_SEND(retry_next(&op, START));
        CHECK_EQUAL(1, CHECK_WAIT(NONE, retry_next(&op, START + 299)).delay);
        CHECK_EQUAL(1, gates.in_flight);
        CHECK_CANCEL(retry_next(&op, START + 300));
        CHECK_EQUAL(0, gates.in_flight);
        CHECK_EQUAL(RETRY_REASON_ATTEMPT_TIMED_OUT, op.failure.reason);
        CHECK(op.failure.timeout);
        if (late)
            retry_ended(&op, 0, NULL, START + 300);
        CHECK_WAIT(STRATEGY, retry_next(&op, START + 300));
        CHECK_EQUAL(1, retry_breaker_get(&breaker, START).reports);
        CHECK_EQUAL(1, retry_breaker_get(&breaker, START).sick);
    }
}

/* What comes while the copy is on the wire counts, however late. */
static void test_late_answer(void)
{
    set_up(1000, 300);
    breaker.volume = 1;
    add_all();
    CHECK_SEND(retry_next(&op, START));
    retry_ended(&op, 0, NULL, START + 5000);
    CHECK_END(SUCCESS, NONE, retry_next(&op, START + 5000));
    CHECK_EQUAL(1, retry_breaker_get(&breaker, START + 5000).reports);
    CHECK_EQUAL(0, retry_breaker_get(&breaker, START + 5000).sick);
    CHECK_EQUAL(0, gates.in_flight);
}

/* Thirty operations that are stopped: no gate has seen an outcome. */
static void test_stop(void)
{
    uint32_t i;
    set_up(10000, 500);
    breaker.volume = 1;
    aimd.max = 8;
    draw_next = 0; /* the throttle would refuse */
    add_all();
    for (i = 0; i < 30; i++) {
        op = start(START);
        CHECK_SEND(retry_next(&op, START));
        CHECK_EQUAL(1, gates.in_flight);
        retry_stop(&op, START + 100);
        CHECK_EQUAL(0, gates.in_flight); /* before the CANCEL is handed out */
        CHECK(op.ambiguous);
        CHECK_CANCEL(retry_next(&op, START + 100));
        CHECK_END(FAIL, CANCELLED, retry_next(&op, START + 100));
    }
    CHECK_EQUAL(0, retry_breaker_get(&breaker, START).reports);
    CHECK_EQUAL(8, retry_aimd_limit(&aimd));
    CHECK_EQUAL(UINT32_MAX, retry_rate_get(&rate));
    CHECK_EQUAL(500, time_given(START + 100));
}

/* A probe that is stopped leaves its place to another. */
static void test_stop_probe(void)
{
    retry_operation next;
    set_up(10000, 500);
    open_breaker();
    CHECK_SEND(retry_next(&op, START + 500));
    next = start(START + 500);
    CHECK_END(FAIL, CIRCUIT_OPEN, retry_next(&next, START + 500));
    retry_stop(&op, START + 500);
    next = start(START + 500);
    CHECK_SEND(retry_next(&next, START + 500));
    retry_ended(&next, 0, NULL, START + 501);
    CHECK_EQUAL(RETRY_BREAKER_CLOSED, retry_breaker_state(&breaker, START + 501));
}

/* A request that somebody cancels is as one that is stopped. */
static void test_cancelled(void)
{
    set_up(10000, 500);
    breaker.volume = 1;
    add_all();
    CHECK_SEND(retry_next(&op, START));
    retry_stop(&op, START);
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_CANCEL(retry_next(&op, START + 100));
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_END(FAIL, CANCELLED, retry_next(&op, START + 100));
    CHECK_EQUAL(0, retry_breaker_get(&breaker, START).reports);
}

/* An answer that took too long is sick: from when the attempt was sent. */
static void test_slow_answers(void)
{
    static const struct {
        retry_ms took;
        uint8_t state;
    } rows[] = {{99, RETRY_BREAKER_CLOSED}, {100, RETRY_BREAKER_OPEN}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("%u ms", (unsigned)rows[i].took);
        set_up(1000, 0);
        breaker.volume = 1;
        breaker.slow = 100;
        retry_gates_breaker(&gates, &breaker);
        other_ends(NULL, rows[i].took, START);
        CHECK_EQUAL(rows[i].state, retry_breaker_state(&breaker, START + rows[i].took));
    }
}

/* And not from when it began to wait. */
static void test_slow_after_a_wait(void)
{
    set_up(10000, 0);
    breaker.volume = 1;
    breaker.slow = 100;
    retry_gates_breaker(&gates, &breaker);
    spend_rate(5000);
    CHECK_WAIT(PACED, retry_next(&op, START));
    CHECK_SEND(retry_next(&op, START + 1000));
    retry_ended(&op, 0, NULL, START + 1099);
    CHECK_EQUAL(2, retry_breaker_get(&breaker, START + 1099).reports);
    CHECK_EQUAL(RETRY_BREAKER_CLOSED, retry_breaker_state(&breaker, START + 1099));
}

/* Ten attempts in flight that all time out: one fall. */
static void test_one_fall(void)
{
    const retry_failure failure = timed_out();
    static retry_operation ops[10];
    uint32_t i;
    set_up(10000, 500);
    aimd.max = 10;
    retry_gates_aimd(&gates, &aimd);
    for (i = 0; i < 10; i++) {
        ops[i] = start(START);
        CHECK_SEND(retry_next(&ops[i], START));
    }
    CHECK_EQUAL(10, gates.in_flight);
    for (i = 0; i < 10; i++)
        retry_ended(&ops[i], 0, &failure, START + 500 + i * 700);
    CHECK_EQUAL(5, retry_aimd_limit(&aimd));
    CHECK_EQUAL(0, gates.in_flight);
    other_ends(&failure, 1, START + 7000); /* it began after the fall */
    CHECK_EQUAL(2, retry_aimd_limit(&aimd));
}

/* A change a round trip. */
static void test_one_rise(void)
{
    const retry_failure failure = retry_classify_http(429, 0);
    static retry_operation ops[5];
    uint32_t i, round;
    retry_time now = START;
    set_up(UINT32_MAX, 500);
    aimd.max = 10;
    retry_gates_aimd(&gates, &aimd);
    other_ends(&failure, 0, START);
    CHECK_EQUAL(5, retry_aimd_limit(&aimd));
    for (round = 0; round < 5; round++) {
        check_row("round %lu", (unsigned long)round);
        now += 10;
        for (i = 0; i < 5; i++) {
            ops[i] = start(now);
            CHECK_SEND(retry_next(&ops[i], now));
        }
        for (i = 0; i < 5; i++)
            retry_ended(&ops[i], 0, NULL, ++now);
        CHECK_EQUAL(round < 3 ? 6 + round : 10, retry_aimd_limit(&aimd)); /* 8 and a quarter */
    }
}

/* An attempt that ran out of less time than its node's answers take, and than half of cut_after, is
   no evidence for any gate; where no answer is known, of less than an eighth of cut_after. If
   attempt_timeout is less than that, it counts. */
static void test_impatient(void)
{
    static const struct {
        retry_ms cut_after, attempt_timeout, slow, had;
        bool evidence;
    } rows[] = {
        {800, 0, 0, 99, false},      {800, 0, 0, 100, true},     {807, 0, 0, 99, false},
        {807, 0, 0, 100, true},      {800, 400, 0, 49, false},   {800, 400, 0, 50, true},
        {400, 800, 0, 49, false},    {400, 800, 0, 50, true},    {0, 400, 0, 49, false},
        {0, 400, 0, 50, true},       {0, 0, 0, 1, true},         {7, 0, 0, 1, true},
        {800, 0, 300, 99, false},    {800, 0, 300, 299, false},  {800, 0, 300, 300, true},
        {800, 0, 10, 9, false},      {800, 0, 10, 10, true},     {800, 0, 500, 399, false},
        {800, 0, 500, 400, true},    {801, 0, 500, 400, false},  {801, 0, 500, 401, true},
        {800, 400, 500, 199, false}, {800, 400, 500, 200, true}, {0, 400, 500, 199, false},
        {0, 400, 500, 200, true},    {0, 0, 300, 299, false},    {0, 0, 300, 300, true},
    };
    static const struct {
        retry_reason reason;
        bool timeout, out_of_time;
    } kinds[] = {{RETRY_REASON_ATTEMPT_TIMED_OUT, true, true},
                 {RETRY_REASON_ATTEMPT_TIMED_OUT, false, true},
                 {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, false, false},
                 {RETRY_REASON_SOCKET_NOT_AVAILABLE, false, false},
                 {RETRY_REASON_SERVER_ERROR, false, false},
                 {RETRY_REASON_SERVER_ERROR, true, false}, /* 504: somebody else's time */
                 {RETRY_REASON_SERVER_ERROR, true, true}}; /* as its own was over */
    size_t i, k;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (k = 0; k < CHECK_COUNT(kinds); k++) {
            retry_failure failure = check_failure_of(kinds[k].reason);
            bool told_gates = rows[i].evidence || !kinds[k].out_of_time;
            uint32_t before = rows[i].slow != 0;
            retry_time now = START;
            check_row("row %u, kind %u", (unsigned)i, (unsigned)k);
            set_up(rows[i].had, rows[i].cut_after);
            client.attempt_timeout = rows[i].attempt_timeout;
            failure.timeout = kinds[k].timeout;
            aimd.max = 8;
            breaker.in_a_row = 1;
            retry_gates_aimd(&gates, &aimd);
            retry_gates_breaker(&gates, &breaker);
            if (rows[i].slow != 0)
                other_ends(NULL, rows[i].slow, START);
            CHECK_EQUAL(rows[i].had, CHECK_SEND(retry_next(&op, START)).timeout);
            if (kinds[k].reason == RETRY_REASON_SERVER_ERROR && kinds[k].out_of_time)
                now += rows[i].had;
            retry_ended(&op, 0, &failure, now); /* else its time is not over */
            CHECK_EQUAL(
                told_gates && kinds[k].timeout && kinds[k].reason == RETRY_REASON_SERVER_ERROR ? 4
                                                                                               : 8,
                retry_aimd_limit(&aimd)); /* a time-out alone does not lower it */
            CHECK_EQUAL(told_gates ? RETRY_BREAKER_OPEN : RETRY_BREAKER_CLOSED,
                        retry_breaker_state(&breaker, now));
            CHECK_EQUAL(before + told_gates, retry_breaker_get(&breaker, now).reports);
            CHECK_EQUAL(0, gates.in_flight);
        }
    }
}

/* The same when retry_next finds that its time is over; and no round is counted. */
static void test_impatient_times_out(void)
{
    static const struct {
        retry_ms elapsed;
        uint32_t reports;
        retry_ms given;
    } rows[] = {{938, 1, 1000}, {939, 0, 500}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        set_up(1000, 500);
        breaker.volume = 100;
        retry_gates_breaker(&gates, &breaker);
        CHECK_SEND(retry_next(&op, START + rows[i].elapsed));
        CHECK_CANCEL(retry_next(&op, START + 1000));
        CHECK_END(EXPIRE, DEADLINE, retry_next(&op, START + 1000));
        CHECK_EQUAL(rows[i].reports, retry_breaker_get(&breaker, START + 1000).reports);
        CHECK_EQUAL(0, gates.in_flight);
        op_timeout = 100000;
        CHECK_EQUAL(rows[i].given, time_given(START + 1000));
    }
}

/* Who has 20 ms of a second is not impatient with a node that answers in less than 1 ms. */
static void test_fast_node(void)
{
    unsigned i;
    set_up(20, 1000);
    aimd.max = 20;
    breaker.in_a_row = 5;
    retry_gates_aimd(&gates, &aimd);
    retry_gates_breaker(&gates, &breaker);
    other_ends(NULL, 0, START);
    for (i = 0; i < 5; i++) {
        op = start(START + 20 * i);
        CHECK_SEND(retry_next(&op, START + 20 * i));
        CHECK_CANCEL(retry_next(&op, START + 20 * i + 20));
    }
    CHECK_EQUAL(RETRY_BREAKER_OPEN, retry_breaker_state(&breaker, START + 100));
    CHECK(retry_aimd_limit(&aimd) < 20);
}

/* Five operations of 20 ms in a row against a node that answers in 100: the breaker stays closed,
   the limit stays at 20, and nobody's time or wait grows. */
static void test_five_impatient_callers(void)
{
    unsigned known, i;
    for (known = 0; known < 2; known++) {
        retry_time now = START;
        check_row("known %u", known);
        set_up(20, 1000);
        aimd.max = 20;
        breaker.in_a_row = 5;
        add_all();
        if (known)
            other_ends(NULL, 100, now);
        for (i = 0; i < 5; i++, now += 20) {
            op = start(now);
            CHECK_SEND(retry_next(&op, now));
            CHECK_CANCEL(retry_next(&op, now + 20));
            CHECK_END(EXPIRE, DEADLINE, retry_next(&op, now + 20));
        }
        CHECK_EQUAL(RETRY_BREAKER_CLOSED, retry_breaker_state(&breaker, now));
        CHECK_EQUAL(known, retry_breaker_get(&breaker, now).reports);
        CHECK_EQUAL(20, retry_aimd_limit(&aimd));
        op_timeout = 5000;
        CHECK_EQUAL(1000, time_given(now));
    }
}

/* One answer of 6 s, and then a dark node, asked by operations of a second: they are impatient with
   it, but what is known of it comes down to what they have, and then they count. */
static void test_one_slow_answer(void)
{
    retry_time now = START;
    unsigned i;
    set_up(1000, 0);
    aimd.max = 20;
    breaker.in_a_row = 5;
    retry_gates_aimd(&gates, &aimd);
    retry_gates_breaker(&gates, &breaker);
    other_ends(NULL, 6000, START);
    for (i = 0; i < 60 && retry_breaker_state(&breaker, now) == RETRY_BREAKER_CLOSED; i++) {
        op = start(now);
        CHECK_SEND(retry_next(&op, now));
        now += 1000;
        CHECK_CANCEL(retry_next(&op, now));
    }
    CHECK_EQUAL(RETRY_BREAKER_OPEN, retry_breaker_state(&breaker, now));
    CHECK_RANGE(5, 40, i); /* the 5 s that are too many come down by a quarter each time */
    CHECK(retry_aimd_limit(&aimd) <= 10);
}

/* One that works is an answer, however little time it had. */
static void test_short_attempt_works(void)
{
    const retry_failure failure = retry_classify_http(429, 0);
    retry_operation beside;
    set_up(1000, 500);
    aimd.max = 8;
    retry_gates_aimd(&gates, &aimd);
    other_ends(&failure, 1, START);
    CHECK_EQUAL(4, retry_aimd_limit(&aimd));
    CHECK_SEND(retry_next(&op, START + 900));
    retry_ended(&op, 0, NULL, START + 950);
    CHECK_EQUAL(4, retry_aimd_limit(&aimd)); /* one of four in use: no reason to rise */
    beside = other(START + 960);
    CHECK_SEND(retry_next(&beside, START + 960));
    op = start(START + 60);
    CHECK_SEND(retry_next(&op, START + 960));
    retry_ended(&op, 0, NULL, START + 970);
    CHECK_EQUAL(5, retry_aimd_limit(&aimd));
    CHECK_EQUAL(1, gates.in_flight);
}

/* An attempt may be the probe if it is the operation's first, or has all of its time. */
static void test_who_may_probe(void)
{
    static const struct {
        retry_ms timeout, cut_after, elapsed;
        bool retried, probes;
    } rows[] = {
        {9000, 500, 700, false, true},      {9000, 500, 8900, false, true},
        {9000, 500, 700, true, true},       {9000, 500, 8500, true, true},
        {9000, 500, 8501, true, false},     {9000, 0, 700, true, false},
        {9000, 0, 8999, false, true},       {9000, 9000, 700, true, false},
        {UINT32_MAX, 500, 700, true, true},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        const retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
        retry_time now = START + rows[i].elapsed;
        retry_step step;
        check_row("row %u", (unsigned)i);
        set_up(rows[i].timeout, rows[i].cut_after);
        if (rows[i].retried) {
            CHECK_SEND(retry_next(&op, START));
            retry_ended(&op, 0, &failure, START);
        }
        open_breaker();
        step = retry_next(&op, now);
        if (rows[i].probes) {
            CHECK_SEND(step);
        } else {
            CHECK_END(FAIL, CIRCUIT_OPEN, step);
            CHECK_EQUAL(0, step.delay);
        }
    }
}

/* Only answers tell how long one takes: connections refused within 1 ms do not. */
static void test_latency_of_answers(void)
{
    const retry_failure refused = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    const retry_failure busy = check_failure_of(RETRY_REASON_KV_TEMPORARY_FAILURE);
    retry_time now = START;
    uint32_t i;
    set_up(UINT32_MAX, 0);
    latency.min_samples = 1;
    latency.quantile = RETRY_RATIO(0.5); /* most are refused */
    retry_gates_latency(&gates, &latency);
    for (i = 0; i < 4000; i++) {
        if (i % 4 != 0)
            other_ends(&refused, 1, now);
        else
            other_ends(i % 8 ? &busy : NULL, 100, now);
        now += 100;
    }
    CHECK_RANGE(80, 125, retry_latency_get(&latency));
}

/* One given up early, one that was never sent, and one that waits for its turn, teach nothing. */
static void test_latency_of_no_answers(void)
{
    const retry_failure unsent = check_failure_of(RETRY_REASON_CLIENT_THROTTLED);
    retry_latency before;
    uint32_t i;
    set_up(UINT32_MAX, 0);
    retry_gates_latency(&gates, &latency);
    for (i = 0; i < 1000; i++)
        other_ends(NULL, 100, START);
    CHECK_RANGE(90, 110, retry_latency_get(&latency));
    before = latency;
    rate.max = 1000;
    rate.wait = 5000;
    retry_gates_rate(&gates, &rate);
    CHECK_SEND(retry_next(&op, START));
    retry_stop(&op, START + 10);
    CHECK(memcmp(&before, &latency, sizeof before) == 0);
    op = start(START + 10);
    CHECK_WAIT(PACED, retry_next(&op, START + 10));
    CHECK_WAIT(PACED, retry_next(&op, START + 900));
    CHECK_SEND(retry_next(&op, START + 1000));
    CHECK(memcmp(&before, &latency, sizeof before) == 0);
    retry_ended(&op, 0, &unsent, START + 1900);
    CHECK(memcmp(&before, &latency, sizeof before) == 0);
    op = start(START + 2000);
    CHECK_SEND(retry_next(&op, START + 2000));
    retry_stop(&op, START + 2900); /* late: so much it does tell */
    CHECK(memcmp(&before, &latency, sizeof before) != 0);
    before = latency;
    op_timeout = 1000;
    client.cut_after = 500;
    op = start(START + 3000);
    CHECK_SEND(retry_next(&op, START + 3800)); /* with 200 ms of 500; so does one that timed out */
    CHECK_CANCEL(retry_next(&op, START + 4000));
    CHECK(memcmp(&before, &latency, sizeof before) != 0);
}

int main(void)
{
    RUN(test_operation);
    RUN(test_told_first);
    RUN(test_timed_out);
    RUN(test_late_answer);
    RUN(test_stop);
    RUN(test_stop_probe);
    RUN(test_cancelled);
    RUN(test_slow_answers);
    RUN(test_slow_after_a_wait);
    RUN(test_one_fall);
    RUN(test_one_rise);
    RUN(test_impatient);
    RUN(test_impatient_times_out);
    RUN(test_five_impatient_callers);
    RUN(test_one_slow_answer);
    RUN(test_fast_node);
    RUN(test_short_attempt_works);
    RUN(test_who_may_probe);
    RUN(test_latency_of_answers);
    RUN(test_latency_of_no_answers);
    return check_done();
}
