/* Operations that wait for a gate: for a place under the limit, or for their turn at the rate. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/steps.h"
#include "../support/gated.h"

/* Who has least time left asks soonest. */
static void test_paced(void)
{
    static const struct {
        retry_ms timeout, elapsed, most;
    } rows[] = {
        {16000, 0, 100},   {16000, 1000, 88},    {16000, 4000, 57},
        {16000, 8000, 26}, {16000, 12000, 8},    {16000, 15000, 2},
        {16000, 15900, 2}, {UINT32_MAX, 0, 100}, {UINT32_MAX, 900000, 100},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_time now = START + rows[i].elapsed;
        retry_operation first;
        check_row("row %u", (unsigned)i);
        set_up(rows[i].timeout, 20);
        aimd.max = 1;
        retry_gates_aimd(&gates, &aimd);
        first = other(START);
        CHECK_SEND(retry_next(&first, START));
        CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&op, now)).delay);
        draw_next = UINT32_MAX;
        CHECK_EQUAL(rows[i].most, CHECK_WAIT(PACED, retry_next(&op, now)).delay);
        CHECK_EQUAL(2, drawn); /* one each time */
        CHECK_EQUAL(1, gates.in_flight);
        CHECK_EQUAL(0, told); /* no retry: not told, not counted, not paid */
        CHECK_EQUAL(0, op.retries);
        CHECK_EQUAL(10000, retry_budget_balance(&budget));
        retry_ended(&first, 0, NULL, now);
        CHECK_SEND(retry_next(&op, now)); /* sooner than it was told: it has its turn */
        CHECK_EQUAL(1, gates.in_flight);
    }
}

/* A wait that leaves an attempt less than the least of what is known is no wait: an eighth of the
   timeout, half of cut_after or attempt_timeout, twice what answers take. Nor is one that leaves
   less than answers take now: such attempts were sent, and never done, while those that had time
   waited. */
static void test_no_time_to_wait(void)
{
    static const struct {
        retry_ms timeout, cut_after, slow, elapsed;
        bool expires;
    } rows[] = {
        {1000, 0, 0, 874, false},
        {1000, 0, 0, 875, true},
        {1007, 0, 0, 881, false}, /* 125 */
        {1007, 0, 0, 882, true},
        {1000, 200, 0, 899, false},
        {1000, 200, 0, 900, true},
        {1000, 201, 0, 898, false}, /* 101 */
        {1000, 201, 0, 899, true},
        {300, 1000, 0, 262, false}, /* 37 */
        {300, 1000, 0, 263, true},
        {1000, 0, 20, 959, false},
        {1000, 0, 20, 960, true},
        {1000, 200, 20, 959, false},
        {1000, 200, 20, 960, true},
        {1000, 200, 90, 899, false},
        {1000, 200, 90, 900, true},
        {1000, 200, 100, 899, false},
        {1000, 200, 100, 900, true},
        {1000, 200, 101, 898, false},
        {1000, 200, 101, 899, true},
        {1000, 0, 300, 699, false},
        {1000, 0, 300, 700, true},
        {1000, 200, 500, 499, false}, /* half of the timeout at most */
        {1000, 200, 500, 500, true},
        {1000, 200, 5000, 499, false},
        {1000, 200, 5000, 500, true},
        {UINT32_MAX, 500, 5000, 100000, false},
        {1000, 200, 1, 997, false},
        {1000, 200, 1, 998, true},
        {UINT32_MAX, 0, 0, 100000, false},
        {UINT32_MAX, 500, 0, 100000, false},
    };
    static const char *const names[] = {"cut_after", "attempt_timeout", "both"};
    size_t j;
    for (j = 0; j < 3 * CHECK_COUNT(rows); j++) {
        size_t i = j / 3, which = j % 3;
        retry_time now = check_after(START, rows[i].elapsed);
        retry_operation first;
        retry_step step;
        check_row("row %u, %s", (unsigned)i, names[which]);
        set_up(rows[i].timeout, which == 0 ? rows[i].cut_after : which == 1 ? 0 : 30000);
        client.attempt_timeout = which == 0 ? 0 : rows[i].cut_after;
        aimd.max = 1;
        retry_gates_aimd(&gates, &aimd);
        if (rows[i].slow != 0)
            other_ends(NULL, rows[i].slow, START);
        first = other(START);
        CHECK_SEND(retry_next(&first, START));
        step = retry_next(&op, now);
        if (rows[i].expires) {
            CHECK_END(EXPIRE, DEADLINE, step);
            CHECK_EQUAL(rows[i].timeout - rows[i].elapsed, step.delay);
        } else {
            CHECK_WAIT(PACED, step);
        }
        CHECK_EQUAL(rows[i].expires, told == 1);
        CHECK_EQUAL(1, gates.in_flight);
    }
}

/* The rate gives each who waits an instant of its own, one after the other. */
static void test_rate_keeps_an_instant(void)
{
    static const struct {
        uint8_t what, cause;
        retry_ms delay;
    } rows[] = {
        {RETRY_DO_SEND, RETRY_CAUSE_NONE, 0},       {RETRY_DO_SEND, RETRY_CAUSE_NONE, 0},
        {RETRY_DO_WAIT, RETRY_CAUSE_PACED, 25},     {RETRY_DO_WAIT, RETRY_CAUSE_PACED, 75},
        {RETRY_DO_WAIT, RETRY_CAUSE_PACED, 125},    {RETRY_DO_WAIT, RETRY_CAUSE_PACED, 175},
        {RETRY_DO_WAIT, RETRY_CAUSE_PACED, 225},    {RETRY_DO_END, RETRY_CAUSE_THROTTLED, 275},
        {RETRY_DO_END, RETRY_CAUSE_THROTTLED, 275},
    };
    static retry_operation ops[CHECK_COUNT(rows)];
    size_t i;
    set_up(10000, 0);
    rate.max = 20000; /* one each 50 ms, and two and a half at once */
    retry_gates_rate(&gates, &rate);
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_step step;
        check_row("operation %u", (unsigned)i);
        ops[i] = start(START);
        step = retry_next(&ops[i], START);
        CHECK_EQUAL(rows[i].what, step.what);
        CHECK_EQUAL(rows[i].cause, step.cause);
        CHECK_EQUAL(rows[i].delay, step.delay);
    }
    CHECK_EQUAL(2, gates.in_flight);
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("operation %u", (unsigned)i);
        if (rows[i].what == RETRY_DO_WAIT) { /* whoever it is, its instant has come */
            CHECK_WAIT(PACED, retry_next(&ops[i], START + rows[i].delay - 1));
            CHECK_SEND(retry_next(&ops[i], START + rows[i].delay));
        }
    }
    CHECK_EQUAL(7, gates.in_flight);
}

/* Who does not come leaves its instant to the next. */
static void test_rate_takes_back(void)
{
    enum { STOPPED, CANCELLED, STARTED, REFUSED, KEPT, WAYS };
    unsigned way;
    for (way = 0; way < WAYS; way++) {
        retry_operation next;
        retry_step step;
        check_row("way %u", way);
        set_up(10000, 0);
        spend_rate(5000);
        CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
        if (way == STOPPED) {
            retry_stop(&op, START);
        } else if (way == CANCELLED) {
            retry_stop(&op, START);
            CHECK_END(FAIL, CANCELLED, retry_next(&op, START));
        } else if (way == STARTED) {
            retry_start(&op, NULL, START);
        } else if (way == REFUSED) {
            retry_breaker_set(&breaker, RETRY_BREAKER_ISOLATED, START);
            retry_gates_breaker(&gates, &breaker);
            CHECK_END(FAIL, CIRCUIT_OPEN, retry_next(&op, START));
            retry_gates_breaker(&gates, NULL);
        }
        CHECK(!op.ambiguous);
        next = start(START);
        step = CHECK_WAIT(PACED, retry_next(&next, START));
        CHECK_EQUAL(way == KEPT ? 2000 : 1000, step.delay);
    }
}

/* An instant that is kept comes nearer; who asks too early waits for what is left. */
static void test_rate_instant_comes_nearer(void)
{
    set_up(10000, 0);
    spend_rate(5000);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
    CHECK_EQUAL(600, CHECK_WAIT(PACED, retry_next(&op, START + 400)).delay);
    CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&op, START + 999)).delay);
    CHECK_SEND(retry_next(&op, START + 1000));
}

/* A retry whose delay is over waits for its instant alone. */
static void test_rate_keeps_a_retrys_instant(void)
{
    set_up(10000, 0);
    fail_once();
    spend_rate(5000);
    CHECK_EQUAL(990, CHECK_WAIT(PACED, retry_next(&op, START + 10)).delay);
    CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&op, START + 999)).delay);
    CHECK_SEND(retry_next(&op, START + 1000));
}

/* While the limit makes its attempt wait an instant is kept for as long as the bucket could have
   held it, here 125 ms. Then the attempt takes another. */
static void test_rate_keeps_an_instant_for(void)
{
    static const struct {
        retry_ms late, next;
    } rows[] = {{0, 125}, {124, 1}, {125, 0}, {126, 125}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_operation next;
        retry_time now = START + 125 + rows[i].late;
        check_row("%lu ms late", (unsigned long)rows[i].late);
        set_up(10000, 0);
        rate.max = 8000;
        rate.wait = 5000;
        retry_gates_rate(&gates, &rate);
        other_ends(NULL, 0, START);
        CHECK_EQUAL(125, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
        aimd.max = gates.in_flight = 1; /* somebody else's */
        retry_gates_aimd(&gates, &aimd);
        CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&op, now)).delay);
        gates.in_flight = 0;
        aimd.max = 2;
        CHECK_SEND(retry_next(&op, now));
        next = start(now);
        CHECK_EQUAL(rows[i].next, retry_next(&next, now).delay);
    }
}

/* A limit before the rate takes the place back while the rate makes wait; the rate keeps its
   instant while the limit does. */
static void test_limit_and_rate(void)
{
    retry_operation holder, next;
    set_up(10000, 0);
    spend_rate(5000);
    aimd.max = 1;
    retry_gates_aimd(&gates, &aimd);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(600, CHECK_WAIT(PACED, retry_next(&op, START + 400)).delay);
    retry_gates_rate(&gates, NULL);
    holder = other(START + 400);
    CHECK_SEND(retry_next(&holder, START + 400));
    retry_gates_rate(&gates, &rate);
    CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&op, START + 1000)).delay);
    retry_ended(&holder, 0, NULL, START + 1100);
    CHECK_SEND(retry_next(&op, START + 1100));
    CHECK_EQUAL(1, gates.in_flight);
    retry_ended(&op, 0, NULL, START + 1100);
    next = start(START + 1100);
    CHECK_EQUAL(900, CHECK_WAIT(PACED, retry_next(&next, START + 1100)).delay); /* charged once */
}

/* Turns that pass while the limit makes their attempts wait are not saved up: all have one at
   START, when answers come at once. Then they take a second; for three seconds the limit is 5. No
   second has more than the rate and a bucket. */
static void test_turns_do_not_pile_up(void)
{
    enum { MOST = 1000 / CHECK_ONE_IN }; /* more has no room in 64 KB */
    static retry_operation ops[MOST];
    static retry_time due[MOST], sent[MOST];
    uint32_t begun = 0, in_all = 0, first = 0, waiting = 0, i;
    retry_time now;
    set_up(60000, 0);
    client.strategy = retry_fail_fast();
    aimd.max = 5;
    rate.max = 50000;
    rate.wait = 60000;
    retry_gates_aimd(&gates, &aimd);
    retry_gates_rate(&gates, &rate);
    for (now = START; now < START + 8000; now++) {
        if (now == START + 3000)
            aimd.max = 1000;
        for (; begun < MOST; begun++) {
            due[begun] = now;
            ops[begun] = start(now);
        }
        for (i = 0; i < begun; i++) {
            retry_step step;
            if (due[i] != now)
                continue;
            step = retry_next(&ops[i], now);
            due[i] = step.what == RETRY_DO_WAIT ? now + step.delay : now - 1;
            if (step.what == RETRY_DO_SEND) {
                retry_ended(&ops[i], 0, NULL, now); /* as far as it knows */
                if (now == START)
                    continue;
                gates.in_flight++;
                sent[in_all++] = now;
            }
        }
        while (in_all != 0 && first < in_all && sent[first] + 1000 <= now) {
            gates.in_flight--;
            first++;
        }
        waiting = in_all - first; /* sent within a second */
        check_row("at %u ms", (unsigned)(now - START));
        CHECK_RANGE(0, 50 + 7, waiting);
    }
    CHECK_RANGE(MOST < 250 ? 150 : 250, 280, in_all);
    CHECK_EQUAL(in_all - first, gates.in_flight);
}

/* A turn that is given back is what was taken, at whatever limit. It frees its own instant only,
   and that if it is the last, and to come. */
static void test_turns_given_back(void)
{
    static const struct {
        uint32_t burst;
        unsigned stopped;
        retry_ms at, next;
    } rows[] = {
        /* turns at 15, 35 and 55 ms */
        {0, 2, 0, 55},
        {0, 1, 0, 75},
        {0, 0, 0, 75},
        {0, 3, 0, 75},
        {0, 0, 40, 35},
        {0, 2, 40, 15},
        {0, 2, 55, 20},
        {0, 2, 56, 19},
        /* turns at 20, 40 and 60 ms */
        {1000, 2, 0, 60},
        {1000, 1, 0, 80},
        {1000, 0, 0, 80},
        {1000, 3, 0, 80},
        {1000, 2, 50, 10},
        {1000, 0, 50, 30},
        {2000, 2, 0, 60},
        {2000, 1, 0, 80},
        {2000, 0, 0, 80},
    };
    size_t i;
    retry_operation next;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_operation turns[3];
        retry_time now = check_after(START, rows[i].at);
        unsigned n;
        check_row("row %u", (unsigned)i);
        set_up(60000, 0);
        rate.max = 50000;
        rate.wait = 1000;
        rate.burst = rows[i].burst;
        retry_gates_rate(&gates, &rate);
        for (next = start(START); retry_next(&next, START).what == RETRY_DO_SEND;)
            next = start(START);
        turns[0] = next;
        for (n = 1; n < 3; n++) {
            turns[n] = start(START);
            CHECK_WAIT(PACED, retry_next(&turns[n], START));
        }
        if (rows[i].stopped < 3)
            retry_stop(&turns[rows[i].stopped], now);
        next = start(now);
        CHECK_EQUAL(rows[i].next, CHECK_WAIT(PACED, retry_next(&next, now)).delay);
    }
    set_up(60000, 0);
    rate.max = 1000;
    rate.wait = 5000;
    retry_gates_rate(&gates, &rate);
    CHECK_SEND(retry_next(&op, START));
    next = start(START);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&next, START)).delay);
    rate.max = 100000;
    retry_stop(&next, START);
    next = start(START);
    CHECK_EQUAL(1000 + 10 - 125, CHECK_WAIT(PACED, retry_next(&next, START)).delay);
}

/* However many are stopped, and whenever, those who are left do not bunch. Their turns are gone:
   here, where few live to theirs, nearly all. */
static void test_stops_do_not_bunch(void)
{
    enum { WAITING = 64 };
    static retry_operation ops[WAITING];
    static retry_time due[WAITING], sent[8000 / CHECK_ONE_IN];
    uint32_t burst, in_all, first, i;
    retry_time now;
    for (burst = 0; burst < 3000; burst += 1000) {
        set_up(60000, 0);
        client.strategy = retry_fail_fast();
        rate.max = 50000;
        rate.wait = 250;
        rate.burst = burst;
        retry_gates_rate(&gates, &rate);
        memset(ops, 0, sizeof ops);
        memset(due, 0, sizeof due);
        in_all = first = 0;
        for (now = START; now < START + 8000; now++) {
            uint32_t stops = check_random() % 3;
            for (; stops != 0; stops--) {
                i = check_random() % WAITING;
                retry_stop(&ops[i], now);
                due[i] = 0;
            }
            for (i = 0; i < WAITING; i++) {
                retry_step step;
                if (due[i] == 0 && check_random() % 8 == 0) {
                    ops[i] = start(now);
                    due[i] = now;
                }
                if (due[i] != now)
                    continue;
                step = retry_next(&ops[i], now);
                due[i] = step.what == RETRY_DO_WAIT ? now + step.delay : 0;
                if (step.what == RETRY_DO_SEND) {
                    retry_ended(&ops[i], 0, NULL, now);
                    sent[in_all++] = now;
                }
            }
            while (first < in_all && now - sent[first] >= 100)
                first++;
            check_row("burst %u, at %u ms", (unsigned)burst, (unsigned)(now - START));
            CHECK_RANGE(0, 5 + (burst ? burst / 1000 : 7), in_all - first);
        }
        CHECK_RANGE(1, 410, in_all);
    }
}

/* What was sent has used its token, whatever becomes of it. */
static void test_rate_after_stop(void)
{
    retry_operation next;
    set_up(10000, 0);
    rate.max = 1000;
    rate.wait = 5000;
    retry_gates_rate(&gates, &rate);
    CHECK_SEND(retry_next(&op, START));
    retry_stop(&op, START);
    next = start(START);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&next, START)).delay);
    CHECK_SEND(retry_next(&next, START + 1000));
    retry_stop(&next, START + 1000);
    next = start(START + 1000);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&next, START + 1000)).delay);
}

/* A turn is forgotten with the gates that kept it. */
static void test_gates_gone_with_a_turn(void)
{
    retry_operation next;
    set_up(10000, 0);
    rate.max = 1000;
    rate.wait = 5000;
    retry_gates_rate(&gates, &rate);
    CHECK_SEND(retry_next(&op, START));
    retry_ended(&op, 0, NULL, START);
    next = start(START);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&next, START)).delay);
    retry_client_nodes(&client, NULL, 0);
    retry_stop(&next, START);
    CHECK_END(FAIL, CANCELLED, retry_next(&next, START));
    CHECK_EQUAL(0, gates.in_flight);
}

/* Who has passed a throttle is sent when the gates behind it have gone. */
static void test_gates_gone_with_a_draw(void)
{
    set_up(10000, 0);
    retry_gates_throttle(&gates, &throttle);
    aimd.max = gates.in_flight = 1;
    retry_gates_aimd(&gates, &aimd);
    CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
    CHECK_EQUAL(2, drawn); /* the throttle's, and the turn's */
    retry_client_nodes(&client, NULL, 0);
    CHECK_SEND(retry_next(&op, START + 1));
    CHECK_WAIT(NONE, retry_next(&op, START + 1));
    retry_ended(&op, 0, NULL, START + 2);
    CHECK_END(SUCCESS, NONE, retry_next(&op, START + 2));
}

/* A probe that a later gate refuses, or lets wait, leaves its place to another. */
static void test_probe_given_back(void)
{
    static const struct {
        unsigned gate;
        retry_ms wait; /* the rate's */
        uint8_t what, cause;
        retry_ms delay;
    } rows[] = {
        {THROTTLE, 0, RETRY_DO_END, RETRY_CAUSE_THROTTLED, 0},
        {AIMD, 0, RETRY_DO_WAIT, RETRY_CAUSE_PACED, 1},
        {RATE, 250, RETRY_DO_END, RETRY_CAUSE_THROTTLED, 500},
        {RATE, 5000, RETRY_DO_WAIT, RETRY_CAUSE_PACED, 500},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_operation next;
        retry_step step;
        unsigned n;
        check_row("row %u", (unsigned)i);
        set_up(10000, 0);
        refuse_all();
        rate.wait = rows[i].wait;
        retry_gates_breaker(&gates, &breaker);
        add(rows[i].gate);
        step = retry_next(&op, START + 500);
        CHECK_EQUAL(rows[i].what, step.what);
        CHECK_EQUAL(rows[i].cause, step.cause);
        CHECK_EQUAL(rows[i].delay, step.delay);
        CHECK_EQUAL(1, gates.in_flight); /* who held its place before */
        remove_all();
        retry_gates_breaker(&gates, &breaker);
        next = start(START + 500);
        CHECK_SEND(retry_next(&next, START + 500));
        CHECK_EQUAL(2, gates.in_flight);
        for (n = 0; n < 3; n++) { /* one probe at a time: who was refused has no place to leave */
            op = start(START + 500);
            CHECK_END(FAIL, CIRCUIT_OPEN, retry_next(&op, START + 500));
            retry_stop(&op, START + 500);
        }
        CHECK_EQUAL(2, gates.in_flight);
    }
}

/* Who waits for its turn at a rate has it then, and no sooner. */
static void test_skip_wait_of_a_turn(void)
{
    set_up(60000, 0);
    spend_rate(5000);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
    retry_skip_wait(&op, START + 10);
    CHECK_EQUAL(990, CHECK_WAIT(PACED, retry_next(&op, START + 10)).delay);
    CHECK_SEND(retry_next(&op, START + 1000));
}

int main(void)
{
    RUN(test_paced);
    RUN(test_no_time_to_wait);
    RUN(test_rate_keeps_an_instant);
    RUN(test_rate_takes_back);
    RUN(test_turns_do_not_pile_up);
    RUN(test_turns_given_back);
    RUN(test_stops_do_not_bunch);
    RUN(test_rate_instant_comes_nearer);
    RUN(test_rate_keeps_a_retrys_instant);
    RUN(test_rate_keeps_an_instant_for);
    RUN(test_limit_and_rate);
    RUN(test_rate_after_stop);
    RUN(test_gates_gone_with_a_turn);
    RUN(test_gates_gone_with_a_draw);
    RUN(test_probe_given_back);
    RUN(test_skip_wait_of_a_turn);
    return check_done();
}
