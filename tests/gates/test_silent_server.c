/* A server that answers nothing, or holds all back: the pause that the limit makes, and who waits
   for its end. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/steps.h"
#include "../support/gated.h"

/* Failures that say nothing of load lower the limit from the third in a row on. */
static void test_third_in_a_row(void)
{
    static const struct {
        retry_reason reason;
        uint32_t code;
        bool throttle, timeout;
        uint32_t limits[4]; /* after each of three; after the third if an answer came before it */
    } rows[] = {
        {RETRY_REASON_SERVER_ERROR, 503, false, false, {8, 8, 4, 8}},
        {RETRY_REASON_SERVER_ERROR, 500, false, false, {8, 8, 8, 8}},
        {RETRY_REASON_SOCKET_NOT_AVAILABLE, 0, false, false, {8, 8, 4, 8}},
        {RETRY_REASON_NODE_NOT_AVAILABLE, 0, false, false, {8, 8, 4, 8}},
        {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, 0, false, false, {8, 8, 4, 8}},
        {RETRY_REASON_ATTEMPT_TIMED_OUT, 0, false, true, {8, 8, 4, 8}},
        {RETRY_REASON_SERVER_ERROR, 504, false, true, {4, 2, 1, 1}},
        {RETRY_REASON_KV_TEMPORARY_FAILURE, 0, true, false, {4, 2, 1, 1}},
        {RETRY_REASON_KV_TEMPORARY_FAILURE, 0, false, false, {8, 8, 8, 8}},
    };
    size_t i;
    uint32_t n;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = check_failure_of(rows[i].reason);
        failure.code = rows[i].code;
        failure.throttle = rows[i].throttle;
        failure.timeout = rows[i].timeout;
        check_row("row %u", (unsigned)i);
        set_up(100000, 100);
        aimd.max = 8;
        retry_gates_aimd(&gates, &aimd);
        for (n = 0; n < 3; n++) {
            other_ends(&failure, 1, START + 2000 * n);
            CHECK_EQUAL(rows[i].limits[n], retry_aimd_limit(&aimd));
        }
        set_up(100000, 100);
        aimd.max = 8;
        retry_gates_aimd(&gates, &aimd);
        other_ends(&failure, 1, START);
        other_ends(&failure, 1, START + 2000);
        other_ends(NULL, 1, START + 4000); /* the row ends; one of so many: no reason to rise */
        other_ends(&failure, 1, START + 6000);
        CHECK_EQUAL(rows[i].limits[3], retry_aimd_limit(&aimd));
    }
}

/* Who asks in a pause waits for its end, and for a turn. */
static void test_pause(void)
{
    static const retry_ms pauses[] = {100, 200, 400, 800, 1000, 1000};
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    retry_time now = START;
    uint32_t i, high;
    for (high = 0; high < 2; high++) {
        set_up(UINT32_MAX, 100);
        aimd.max = 1; /* at its least from the start */
        retry_gates_aimd(&gates, &aimd);
        for (i = 0; i < CHECK_COUNT(pauses); i++) {
            retry_ms pause = high ? pauses[i] : pauses[i] / 2, turn = high ? 100 : 1;
            check_row("failure %lu, high %lu", (unsigned long)i, (unsigned long)high);
            draw_next = high ? UINT32_MAX : 0;
            other_ends(&failure, 0, now);
            op = start(now);
            if (i < 2) { /* the third in a row is the first that counts */
                CHECK_SEND(retry_next(&op, now));
                retry_stop(&op, now);
            } else {
                drawn = 0;
                CHECK_EQUAL(pause + turn, CHECK_WAIT(PACED, retry_next(&op, now)).delay);
                CHECK_EQUAL(1, drawn);
                CHECK_EQUAL(1 + turn, CHECK_WAIT(PACED, retry_next(&op, now + pause - 1)).delay);
                CHECK_SEND(retry_next(&op, now + pause));
                retry_stop(&op, now + pause);
            }
            now += pause;
        }
    }
}

/* A pause ends with an answer, or when the limit is above its least; a failure does not end it. */
static void test_pause_ends(void)
{
    enum { ANSWERED, LOWERED, SICK, ENDS };
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    unsigned end;
    for (end = 0; end < ENDS; end++) {
        retry_operation early;
        uint32_t i;
        check_row("end %u", end);
        set_up(UINT32_MAX, 100);
        aimd.max = aimd.min = 2;
        retry_gates_aimd(&gates, &aimd);
        early = other(START);
        CHECK_SEND(retry_next(&early, START));
        for (i = 0; i < 3; i++)
            other_ends(&failure, 0, START + 500 * i);
        draw_next = 0;
        CHECK_WAIT(PACED, retry_next(&op, START + 1000));
        CHECK_EQUAL(1, gates.in_flight);
        if (end == ANSWERED)
            retry_ended(&early, 0, NULL, START + 1000);
        else if (end == SICK)
            retry_ended(&early, 0, &failure, START + 1000);
        else
            aimd.min = 1;
        if (end == SICK)
            CHECK_WAIT(PACED, retry_next(&op, START + 1000));
        else
            CHECK_SEND(retry_next(&op, START + 1000));
    }
}

/* It begins when the limit is at its least, which the failure itself may have lowered. */
static void test_pause_begins(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    uint32_t i;
    set_up(UINT32_MAX, 100);
    aimd.max = 2;
    retry_gates_aimd(&gates, &aimd);
    draw_next = UINT32_MAX;
    for (i = 0; i < 3; i++) {
        CHECK_EQUAL(2, retry_aimd_limit(&aimd));
        other_ends(&failure, 1, START + 10 * i);
    }
    CHECK_EQUAL(1, retry_aimd_limit(&aimd));
    CHECK_RANGE(499, 500, CHECK_WAIT(PACED, retry_next(&op, START + 21)).delay);
}

/* Who is throttled is answered: nobody has to pause. */
static void test_no_pause(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_TEMPORARY_FAILURE);
    uint32_t i;
    failure.throttle = true;
    set_up(UINT32_MAX, 100);
    aimd.max = 1;
    retry_gates_aimd(&gates, &aimd);
    draw_next = UINT32_MAX;
    for (i = 0; i < 5; i++)
        other_ends(&failure, 1, START + 10 * i);
    CHECK_SEND(retry_next(&op, START + 50));
}

/* A pause that runs is not lengthened by who was sent before it. */
static void test_pause_runs(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    retry_operation early;
    uint32_t i;
    set_up(UINT32_MAX, 100);
    aimd.max = aimd.min = 2;
    retry_gates_aimd(&gates, &aimd);
    draw_next = UINT32_MAX;
    early = other(START);
    CHECK_SEND(retry_next(&early, START));
    for (i = 0; i < 3; i++)
        other_ends(&failure, 0, START + 500 * i); /* until START + 1400 */
    retry_ended(&early, 0, &failure, START + 1300);
    CHECK_EQUAL(150, CHECK_WAIT(PACED, retry_next(&op, START + 1350)).delay);
    CHECK_SEND(retry_next(&op, START + 1400));
}

/* A wait for the end of a pause that leaves too little time is an end at once; `delay` is what was
   left, or the wait, if that is longer. */
static void test_pause_and_deadline(void)
{
    static const struct {
        retry_ms timeout, delay; /* 0: it waits */
    } rows[] = {{700, 0},   {572, 0},   {571, 0}, {570, 570}, {501, 501},
                {500, 500}, {499, 500}, {8, 500}, {7, 500},   {1, 500}};
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    size_t i;
    uint32_t n;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("%lu ms", (unsigned long)rows[i].timeout);
        set_up(rows[i].timeout, 0);
        aimd.max = 1;
        retry_gates_aimd(&gates, &aimd);
        draw_next = UINT32_MAX;
        for (n = 0; n < 3; n++)
            other_ends(&failure, 0, START + 500 * n);
        op = start(START + 1000);
        if (rows[i].delay == 0)
            CHECK_EQUAL(500, CHECK_WAIT(PACED, retry_next(&op, START + 1000)).delay);
        else
            CHECK_EQUAL(rows[i].delay,
                        CHECK_END(EXPIRE, DEADLINE, retry_next(&op, START + 1000)).delay);
    }
}

/* The same while a server holds all back: who has time waits, who has not hears at once how long it
   would have been. Others of its attempts that are out go on. */
static void test_hold_and_deadline(void)
{
    static const struct {
        retry_ms hold_max, timeout, wait, delay; /* delay 0: it waits */
    } rows[] = {
        {0, 5000, 2001, 0},       {0, 2300, 2001, 0},
        {0, 2200, 0, 2200},       {0, 1900, 0, 2001},
        {30000, 60000, 30001, 0}, {30000, 5000, 0, 30001},
        {30000, 31000, 0, 31000}, {90000, 5000, 0, 57601},
        {1, 5000, 0, 0},          {90000, UINT32_MAX, 57601, 0},
    };
    const retry_failure refused = retry_classify_http(429, 57600);
    size_t i;
    uint32_t n;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_step step;
        check_row("hold_max %lu, %lu ms", (unsigned long)rows[i].hold_max,
                  (unsigned long)rows[i].timeout);
        set_up(rows[i].timeout, 0);
        aimd.max = 8;
        aimd.hold_max = rows[i].hold_max;
        retry_gates_aimd(&gates, &aimd);
        draw_next = 0;
        for (n = 0; n < 5; n++)
            other_ends(&refused, 0, START);
        op = start(START);
        step = retry_next(&op, START);
        if (rows[i].delay != 0) {
            CHECK_END(EXPIRE, DEADLINE, step);
            CHECK_RANGE(rows[i].delay, rows[i].delay + 1, step.delay);
            CHECK_EQUAL(1, told);
        } else if (rows[i].wait != 0) {
            CHECK_WAIT(PACED, step);
            CHECK_RANGE(rows[i].wait, rows[i].wait + 1, step.delay);
            retry_skip_wait(&op, START + 1); /* the network is not what it waits for */
            CHECK_RANGE(step.delay - 1, step.delay,
                        CHECK_WAIT(PACED, retry_next(&op, START + 1)).delay);
            CHECK_SEND(retry_next(&op, START + step.delay + 1));
        } else {
            CHECK_SEND(step);
        }
    }
}

int main(void)
{
    RUN(test_third_in_a_row);
    RUN(test_pause);
    RUN(test_pause_ends);
    RUN(test_pause_begins);
    RUN(test_no_pause);
    RUN(test_pause_runs);
    RUN(test_pause_and_deadline);
    RUN(test_hold_and_deadline);
    return check_done();
}
