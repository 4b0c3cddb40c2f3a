/* Further copies of an operation: gRPC's published timelines, each rule in its order, the budget
   that pays, and gates that refuse. What holds of any order of calls is in test_operation_walk.c.
 */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <limits.h>

#include "../support/check.h"
#include "../support/refill.h"

#define NO_TIMER UINT32_MAX
#define NO_RETRY UINT32_MAX /* as an order from the server */
#define LOCKED RETRY_REASON_KV_LOCKED
#define UNSENT RETRY_REASON_NODE_NOT_AVAILABLE

/* Every test runs from here, over the wrap of the clock. */
#define AT(elapsed) check_after((retry_time)-700, (retry_time)(elapsed))

static retry_client client;
static retry_budget budget;
static retry_gates gates;
static retry_latency latency;
static retry_operation op;
static retry_hedge hedge;
static retry_copy copies[254];
static decided heard; /* the last, and how many ends there were */
static unsigned ends;
static uint32_t heard_in_flight;

static void observe(void *context, const retry_operation *request, const retry_failure *failure)
{
    (void)context;
    (void)failure;
    heard = decided_of(request);
    heard_in_flight = gates.in_flight;
    ends += heard.verdict != RETRY_VERDICT_RETRY && heard.verdict != DECIDE_LATER;
}

/* An idempotent operation without an end, with four copies in a try, 500 ms after one another.
   Nothing is retried, so that a try that has failed is the end. */
static void set_up(void)
{
    memset(&client, 0, sizeof client);
    memset(&budget, 0, sizeof budget);
    memset(&gates, 0, sizeof gates);
    memset(&latency, 0, sizeof latency);
    memset(&op, 0, sizeof op);
    memset(&hedge, 0, sizeof hedge);
    memset(copies, 0, sizeof copies);
    ends = 0;
    hedge.count = 3;
    hedge.delay = 500;
    hedge.copies = copies;
    client.strategy = retry_fail_fast();
    client.observe = observe;
    op.client = &client;
    op.idempotent = true;
    op.timeout = UINT32_MAX;
    retry_hedge_copies(&op, &hedge);
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

/* ---- a step as text ------------------------------------------------------------------------ */

static char steps[2048];

CHECK_PRINTF static void add(const char *format, ...)
{
    size_t length = strlen(steps);
    va_list arguments;
    va_start(arguments, format);
    if (length < sizeof steps)
        vsnprintf(steps + length, sizeof steps - length, format, arguments);
    va_end(arguments);
}

/* What there is to do up to a WAIT or END: "send 1, cancel 0, wait 500"; "wait" has no timer. */
static const char *poll_at(retry_time now)
{
    retry_step step;
    unsigned n = 0;
    steps[0] = '\0';
    do {
        step = retry_next(&op, now);
        if (step.what == RETRY_DO_SEND)
            add("send %u, ", step.copy);
        else if (step.what == RETRY_DO_CANCEL)
            add("cancel %u, ", step.copy);
    } while (step.what < RETRY_DO_WAIT && ++n < 1000);
    if (step.what == RETRY_DO_END)
        add("%s: %s", retry_verdict_name(step.verdict), retry_cause_text(step.cause));
    else if (step.delay == NO_TIMER)
        add("wait");
    else
        add("wait %lu", (unsigned long)step.delay);
    if (step.what == RETRY_DO_WAIT && step.cause != RETRY_CAUSE_NONE)
        add(": %s", retry_cause_text(step.cause));
    CHECK(step.what != RETRY_DO_WAIT || step.delay != 0);
    CHECK_EQUAL(step.what == RETRY_DO_END, ends);
    return steps;
}

static const char *start(retry_ms elapsed)
{
    retry_start(&op, NULL, AT(elapsed));
    ends = 0;
    return poll_at(AT(elapsed));
}

static void end(unsigned copy, retry_reason reason, retry_ms elapsed)
{
    retry_failure failure = check_failure_of(reason);
    retry_ended(&op, copy, &failure, AT(elapsed));
}

static const char *fail(unsigned copy, retry_reason reason, retry_ms elapsed)
{
    end(copy, reason, elapsed);
    return poll_at(AT(elapsed));
}

static const char *failed(unsigned copy, const retry_failure *failure, retry_ms elapsed)
{
    retry_ended(&op, copy, failure, AT(elapsed));
    return poll_at(AT(elapsed));
}

static retry_failure pushback(retry_reason reason, retry_ms order)
{
    retry_failure failure = check_failure_of(reason);
    failure.pushback = true;
    failure.retry_after = order;
    return failure;
}

static const char *fail_order(unsigned copy, retry_reason reason, retry_ms order, retry_ms elapsed)
{
    retry_failure failure = pushback(reason, order);
    return failed(copy, &failure, elapsed);
}

static const char *done(unsigned copy, retry_ms elapsed)
{
    retry_ended(&op, copy, NULL, AT(elapsed));
    return poll_at(AT(elapsed));
}

#define POLL(elapsed) poll_at(AT(elapsed))
#define REFUSED "FAIL: strategy refuses"
#define FORBIDDEN "FAIL: server forbids"
#define UNSAFE "FAIL: unsafe to repeat"

/* Started at 0, with so many copies on the wire at `elapsed`, when the last of them is sent. */
static void send_copies(unsigned count, retry_ms elapsed)
{
    unsigned n;
    hedge.delay = count > 1 ? elapsed / (count - 1) : 500;
    start(0);
    for (n = 2; n <= count; n++) {
        if (n == count)
            hedge.delay = 500;
        POLL(elapsed / (count - 1) * (n - 1));
    }
    hedge.delay = 500;
}

/* The latency learns from operations that take so long. */
static void teach(unsigned samples, retry_ms ms)
{
    retry_client pupil;
    retry_gates school;
    retry_operation lesson;
    memset(&pupil, 0, sizeof pupil);
    memset(&school, 0, sizeof school);
    memset(&lesson, 0, sizeof lesson);
    retry_gates_latency(&school, &latency);
    pupil.gates = &school;
    lesson.client = &pupil;
    for (; samples != 0; samples--) {
        retry_start(&lesson, NULL, 0);
        CHECK_EQUAL(RETRY_DO_SEND, retry_next(&lesson, 0).what);
        retry_ended(&lesson, 0, NULL, ms);
    }
}

/* ---- timers -------------------------------------------------------------------------------- */

static void test_first_timer(void)
{
    static const struct {
        uint8_t count;
        retry_ms delay;
        bool has_latency, knows; /* a latency that tells 71 ms */
        retry_ms expected;
    } rows[] = {
        {1, 500, false, false, 500},
        {0, 500, false, false, NO_TIMER},
        {254, 500, false, false, 500},
        {255, 500, false, false, 500},
        {1, 1, false, false, 1},
        {1, NO_TIMER - 1, false, false, UINT32_C(1) << 31}, /* longer no clock can measure */
        {1, NO_TIMER, false, false, NO_TIMER},
        {3, 0, false, false, NO_TIMER},
        {3, 0, true, false, NO_TIMER},
        {3, 0, true, true, 71},
        {0, 0, true, true, NO_TIMER},
        {3, 500, true, true, 500},
        {3, 500, true, false, 500},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        char expected[32] = "send 0, wait";
        set_up();
        if (rows[i].knows)
            teach(768, 70);
        hedge.count = rows[i].count;
        hedge.delay = rows[i].delay;
        hedge.latency = rows[i].has_latency ? &latency : NULL;
        check_row("row %u", (unsigned)i);
        if (rows[i].expected != NO_TIMER)
            snprintf(expected, sizeof expected, "send 0, wait %lu",
                     (unsigned long)rows[i].expected);
        CHECK_TEXT(expected, start(0));
        CHECK_TEXT("SUCCESS: done", done(0, 1));
        op.idempotent = false;
        CHECK_TEXT("send 0, wait", start(0));
    }
}

/* Without a hedge, or with one that has no copies, there are none; nor with neither delay nor
   latency, a failed copy's successor included. */
static void test_none(void)
{
    int kind;
    for (kind = 0; kind < 4; kind++) {
        set_up();
        if (kind == 1) {
            hedge.copies = NULL;
            retry_hedge_copies(&op, &hedge);
        } else if (kind == 2) {
            hedge.delay = 0;
        } else if (kind == 3) {
            hedge.count = 0;
        } else {
            retry_hedge_copies(&op, NULL);
        }
        check_row("kind %d", kind);
        CHECK_TEXT("send 0, wait", start(0));
        CHECK_TEXT("wait", POLL(2000));
        CHECK_TEXT(REFUSED, fail(0, LOCKED, 2000));
    }
}

/* What may not be sent again is decided as it fails, and not when somebody asks next. */
static void test_none_of_what_is_not_permitted(void)
{
    set_up();
    client.strategy = retry_best_effort();
    op.idempotent = false;
    op.timeout = 1000;
    CHECK_TEXT("send 0, wait 1000", start(0));
    end(0, RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, 10);
    CHECK_EQUAL(1, ends);
    CHECK_EQUAL(RETRY_VERDICT_FAIL, heard.verdict);
    CHECK_EQUAL(RETRY_CAUSE_NOT_IDEMPOTENT, heard.cause);
}

/* The latency is asked anew for each copy. */
static void test_latency(void)
{
    set_up();
    hedge.delay = 0;
    hedge.latency = &latency;
    hedge.count = 5;
    latency.min_samples = 1;
    CHECK_TEXT("send 0, wait", start(0)); /* it knows nothing yet */
    CHECK_TEXT("wait", POLL(100));
    CHECK_TEXT("send 0, wait", fail(0, LOCKED, 100)); /* at once all the same */
    teach(12, 40);
    CHECK_TEXT("wait", POLL(200));
    CHECK_TEXT("send 0, wait 40", fail(0, LOCKED, 200));
    teach(1, 1000);
    CHECK_TEXT("wait 1", POLL(239)); /* a timer that is set stays */
    CHECK_TEXT("send 1, wait 55", POLL(240));
    CHECK_TEXT("send 2, wait 55", POLL(295));
    CHECK_TEXT("send 3, wait", POLL(350));
}

static void test_early_and_late(void)
{
    set_up();
    start(0);
    CHECK_TEXT("wait 500", POLL(0));
    CHECK_TEXT("wait 300", POLL(200)); /* it does not begin anew */
    CHECK_TEXT("wait 1", POLL(499));
    CHECK_TEXT("send 1, wait 500", POLL(900)); /* it counts from when a copy is sent */
    CHECK_TEXT("wait 1", POLL(1399));
    CHECK_TEXT("send 2, wait 500", POLL(1400));
    CHECK_TEXT("send 3, wait", POLL(2000000000));
    CHECK_TEXT("wait", POLL(2000000000));

    set_up(); /* a clock that steps back: no time has passed */
    start(1000);
    CHECK_TEXT("wait 500", POLL(400));
    CHECK_TEXT("wait 400", POLL(1100));
    CHECK_TEXT("send 1, wait 500", POLL(1500));

    set_up();
    hedge.delay = NO_TIMER - 1;
    CHECK_TEXT("send 0, wait 2147483648", start(0)); /* longer no clock can measure */
    CHECK_TEXT("wait 147483648", POLL(2000000000u));
}

/* A copy that follows one that timed out was sent again, too: answered within cut_after it ends the
   rounds, and the next attempt has its usual time. */
static void test_copy_that_pays(void)
{
    static const struct {
        retry_ms answered; /* ms after the copy was sent */
        const char *next;
    } rows[] = {{1, "send 0, wait 100"},
                {100, "send 0, wait 200"}, /* twice what answers take */
                {101, "send 0, wait 404"}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("answered after %lu ms", (unsigned long)rows[i].answered);
        set_up();
        hedge.delay = 1000;
        client.gates = &gates;
        client.cut_after = 100;
        retry_gates_latency(&gates, &latency);
        CHECK_TEXT("send 0, wait 100", start(0));
        CHECK_TEXT("cancel 0, send 0, wait 200", POLL(100));
        CHECK_TEXT("SUCCESS: done", done(0, 100 + rows[i].answered));
        CHECK_TEXT(rows[i].next, start(300));
    }
}

/* Copies have the numbers from 0 to the count. */
static void test_count(void)
{
    static const struct {
        uint8_t count;
        unsigned copies;
    } rows[] = {{0, 1}, {1, 2}, {2, 3}, {253, 254}, {254, 255}, {255, 255}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        unsigned n, sent = 0;
        set_up();
        hedge.count = rows[i].count;
        hedge.delay = 1;
        check_row("count %u", rows[i].count);
        retry_start(&op, NULL, AT(0));
        for (n = 0; n < 300; n++) {
            retry_step step = retry_next(&op, AT(n));
            if (step.what == RETRY_DO_SEND)
                CHECK_EQUAL(sent++, step.copy);
        }
        CHECK_EQUAL(rows[i].copies, sent);
        retry_stop(&op, AT(300));
        for (n = 0; n < sent; n++) {
            retry_step step = retry_next(&op, AT(300));
            CHECK_EQUAL(RETRY_DO_CANCEL, step.what);
            CHECK_EQUAL(n, step.copy);
        }
        CHECK_TEXT("FAIL: cancelled", POLL(300));

        start(0); /* the same by failures */
        for (n = 1; strncmp(fail(0, LOCKED, 0), "send 0, ", 8) == 0; n++)
            continue;
        CHECK_EQUAL(rows[i].copies, n);
        CHECK_TEXT(REFUSED, steps);
    }
}

/* The lowest that is free, 0 included. */
static void test_numbers(void)
{
    set_up();
    hedge.count = 6;
    send_copies(4, 1500);
    CHECK_TEXT("send 1, wait 500", fail(1, LOCKED, 1600));
    CHECK_TEXT("send 0, wait 500", fail(0, LOCKED, 1700));
    CHECK_TEXT("wait 400", fail(2, UNSENT, 1800)); /* it is not followed */
    CHECK_TEXT("send 2, wait", POLL(2200));
    CHECK_TEXT("cancel 0, cancel 1, cancel 2, SUCCESS: done", done(3, 2300));
}

/* Several ends before the next call. */
static void test_several_ends(void)
{
    retry_failure stop = pushback(LOCKED, NO_RETRY);
    set_up();
    hedge.count = 5;
    send_copies(3, 1000);
    end(0, LOCKED, 1100);
    end(2, LOCKED, 1100);
    CHECK_TEXT("send 0, send 2, wait 500", POLL(1100));

    set_up(); /* one copy is left for three */
    send_copies(3, 1000);
    end(0, LOCKED, 1100);
    end(1, LOCKED, 1100);
    end(2, LOCKED, 1100);
    CHECK_TEXT("send 0, wait", POLL(1100));
    CHECK_TEXT(REFUSED, fail(0, LOCKED, 1200));

    set_up(); /* one that is to be followed keeps the try open */
    send_copies(2, 500);
    end(0, LOCKED, 600);
    end(1, UNSENT, 600);
    CHECK_TEXT("send 0, wait 500", POLL(600));

    set_up(); /* until no more may be sent */
    send_copies(2, 500);
    end(0, LOCKED, 600);
    retry_ended(&op, 1, &stop, AT(600));
    CHECK_TEXT(FORBIDDEN, POLL(600));

    set_up(); /* what works ends it all */
    send_copies(3, 1000);
    end(0, LOCKED, 1100);
    retry_ended(&op, 2, NULL, AT(1100));
    end(1, LOCKED, 1100); /* before its CANCEL, which is not handed out then */
    end(1, LOCKED, 1100);
    CHECK_TEXT("SUCCESS: done", POLL(1100));

    set_up(); /* one that is due ends before it is looked at */
    start(0);
    end(0, LOCKED, 500);
    CHECK_TEXT("send 0, wait 500", POLL(500));
}

/* ---- the published timelines --------------------------------------------------------------- */

/* What happens at an instant, the timer's own firing apart. */
struct event {
    retry_ms at;
    unsigned copy;
    retry_reason reason;
    bool pushback;
    retry_ms order;
};

#define FOREVER UINT32_MAX

/* Polls when the timer fires, or an event comes. Copies start where the steps say; the starts are
   written down, FOREVER after the last. Returns the last steps. */
static const char *run(const struct event *event, retry_ms *starts)
{
    retry_ms now = 0, timer;
    retry_step step;
    retry_start(&op, NULL, AT(0));
    do {
        steps[0] = '\0';
        while ((step = retry_next(&op, AT(now))).what < RETRY_DO_WAIT) {
            if (step.what == RETRY_DO_SEND)
                *starts++ = now;
            else
                add("cancel %u, ", step.copy);
        }
        if (step.what == RETRY_DO_END)
            break;
        timer = step.delay == NO_TIMER ? FOREVER : now + step.delay;
        now = event->at <= timer ? event->at : timer;
        if (event->at == now && now != FOREVER) {
            retry_failure failure = check_failure_of(event->reason);
            failure.pushback = event->pushback;
            failure.retry_after = event->order;
            retry_ended(&op, event->copy, &failure, AT(now));
            event++;
        }
    } while (now != FOREVER);
    *starts = FOREVER;
    add("%s", step.what == RETRY_DO_END ? retry_cause_text(step.cause) : "wait");
    return steps;
}

#define END_OF_EVENTS       \
    {                       \
        FOREVER, 0, 0, 0, 0 \
    }

/* gRPC's A6: a delay of 500 ms, four copies. */
static const struct {
    const char *text;
    retry_ms timeout;
    struct event events[6];
    retry_ms starts[6];
    const char *last;
} timelines[] = {
    {"nobody answers", 0, {END_OF_EVENTS}, {0, 500, 1000, 1500, FOREVER}, "wait"},
    {"a copy fails at 200",
     0,
     {{200, 0, LOCKED, false, 0}, END_OF_EVENTS},
     {0, 200, 700, 1200, FOREVER},
     "wait"},
    {"told to wait 300 at 200",
     0,
     {{200, 0, LOCKED, true, 300}, END_OF_EVENTS},
     {0, 500, 1000, 1500, FOREVER},
     "wait"},
    {"told to wait 1000 at 700, with one on the wire",
     0,
     {{700, 0, LOCKED, true, 1000}, END_OF_EVENTS},
     {0, 500, 1700, 2200, FOREVER},
     "wait"},
    {"told to go on at once at 700",
     0,
     {{700, 1, LOCKED, true, 0}, END_OF_EVENTS},
     {0, 500, 700, 1200, FOREVER},
     "wait"},
    {"a lower bound is no order",
     0,
     {{200, 0, LOCKED, false, 300}, END_OF_EVENTS},
     {0, 200, 700, 1200, FOREVER},
     "wait"},
    {"the longest lower bound is none either",
     0,
     {{200, 0, LOCKED, false, NO_RETRY}, END_OF_EVENTS},
     {0, 200, 700, 1200, FOREVER},
     "wait"},
    {"told not to retry at 700, with one more on the wire",
     0,
     {{700, 0, LOCKED, true, NO_RETRY}, END_OF_EVENTS},
     {0, 500, FOREVER},
     "wait"},
    {"the other fails then",
     0,
     {{700, 0, LOCKED, true, NO_RETRY}, {900, 1, LOCKED, false, 0}, END_OF_EVENTS},
     {0, 500, FOREVER},
     "server forbids"},
    {"fatal at 700",
     0,
     {{700, 1, RETRY_REASON_NONE, false, 0}, END_OF_EVENTS},
     {0, 500, FOREVER},
     "cancel 0, no reason to retry"},
    {"deadline 1200",
     1200,
     {END_OF_EVENTS},
     {0, 500, 1000, FOREVER},
     "cancel 0, cancel 1, cancel 2, strategy refuses"},
    {"deadline 1500",
     1500,
     {END_OF_EVENTS},
     {0, 500, 1000, FOREVER},
     "cancel 0, cancel 1, cancel 2, strategy refuses"},
    {"deadline 1501",
     1501,
     {END_OF_EVENTS},
     {0, 500, 1000, 1500, FOREVER},
     "cancel 0, cancel 1, cancel 2, cancel 3, strategy refuses"},
    {"all fail at once",
     0,
     {{0, 0, LOCKED, false, 0},
      {0, 0, LOCKED, false, 0},
      {0, 0, LOCKED, false, 0},
      {0, 0, LOCKED, false, 0},
      END_OF_EVENTS},
     {0, 0, 0, 0, FOREVER},
     "strategy refuses"},
    {"one of four is left",
     0,
     {{1600, 0, LOCKED, false, 0},
      {1700, 3, LOCKED, false, 0},
      {1800, 2, LOCKED, false, 0},
      END_OF_EVENTS},
     {0, 500, 1000, 1500, FOREVER},
     "wait"},
    {"never sent, with one on the wire: the timer goes on",
     0,
     {{700, 0, UNSENT, false, 0}, END_OF_EVENTS},
     {0, 500, 1000, 1500, FOREVER},
     "wait"},
    {"never sent, alone",
     0,
     {{200, 0, UNSENT, false, 0}, END_OF_EVENTS},
     {0, FOREVER},
     "strategy refuses"},
    {"told to wait beyond the deadline, alone",
     1000,
     {{200, 0, LOCKED, true, 800}, END_OF_EVENTS},
     {0, FOREVER},
     "strategy refuses"},
    {"told to wait up to the deadline, alone",
     1000,
     {{200, 0, LOCKED, true, 799}, END_OF_EVENTS},
     {0, 999, FOREVER},
     "cancel 0, strategy refuses"},
    {"told to wait beyond the deadline, with one on the wire",
     1000,
     {{700, 0, LOCKED, true, 5000}, END_OF_EVENTS},
     {0, 500, FOREVER},
     "cancel 1, strategy refuses"},
};

static void test_timelines(void)
{
    size_t i, n;
    for (i = 0; i < CHECK_COUNT(timelines); i++) {
        retry_ms starts[8];
        set_up();
        if (timelines[i].timeout != 0)
            op.timeout = timelines[i].timeout;
        check_row("%s", timelines[i].text);
        CHECK_TEXT(timelines[i].last, run(timelines[i].events, starts));
        for (n = 0; timelines[i].starts[n] != FOREVER && starts[n] != FOREVER; n++)
            CHECK_EQUAL(timelines[i].starts[n], starts[n]);
        CHECK_EQUAL(timelines[i].starts[n], starts[n]);
    }
}

/* The texts that carry the orders. */
static void test_pushback_texts(void)
{
    static const struct {
        const char *text, *expected, *later;
    } rows[] = {
        {"0", "send 0, wait 500", "wait 100"},
        {"123", "wait 123", "send 0, wait 500"},
        {"2147483647", "wait 2147483647", "wait 2147483247"},
        {"-1", "wait 400", "wait"},
        {"", "wait 400", "wait"},
        {"abc", "wait 400", "wait"},
        {"1.5", "wait 400", "wait"},
        {"2147483648", "wait 400", "wait"},
        {" 5", "wait 400", "wait"},
        {"007", "wait 400", "wait"},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = check_failure_of(LOCKED);
        set_up();
        send_copies(2, 500);
        check_row("\"%s\"", rows[i].text);
        CHECK(retry_parse_pushback(rows[i].text, strlen(rows[i].text), &failure));
        CHECK_TEXT(rows[i].expected, failed(0, &failure, 600));
        CHECK_TEXT(rows[i].later, POLL(1000));
    }
}

/* ---- a copy that is due -------------------------------------------------------------------- */

/* It must meet all conditions; what it does not cost is not taken. With nothing on the wire the try
   has failed. */
static void test_due(void)
{
    unsigned met;
    for (met = 0; met < 32; met++) {
        bool left = (met & 1) != 0, idempotent = (met & 2) != 0, in_time = (met & 4) != 0;
        bool paid = (met & 8) != 0, wire = (met & 16) != 0;
        bool sent = left && idempotent && in_time && paid;
        uint32_t balance = paid ? 1000 : 999;
        set_up();
        set_up_budget(1000, 1000, balance);
        op.timeout = 1000;
        check_row("left %d, idempotent %d, in time %d, paid %d, wire %d", left, idempotent, in_time,
                  paid, wire);
        hedge.count = (uint8_t)(left || !wire);
        start(0);
        if (!wire)
            CHECK_TEXT("wait 500", fail_order(0, LOCKED, 500, 0));
        if (!wire && !left)
            continue; /* no copy is waited for then */
        op.idempotent = idempotent;
        POLL(in_time ? 999 : 1000);
        CHECK_EQUAL(sent, strstr(steps, "send") != NULL);
        CHECK_EQUAL(in_time && (sent || wire), strstr(steps, "wait") != NULL);
        CHECK_EQUAL(sent ? 0 : balance, retry_budget_balance(&budget));
    }
}

/* The same of one that is to follow another, at once. */
static void test_followed(void)
{
    unsigned met;
    for (met = 0; met < 16; met++) {
        bool idempotent = (met & 1) != 0, in_time = (met & 2) != 0, paid = (met & 4) != 0;
        bool other = (met & 8) != 0;
        bool sent = idempotent && in_time && paid;
        set_up();
        op.timeout = 1000;
        send_copies(1u + other, 500u * other);
        set_up_budget(1000, 1000, paid ? 1000 : 0);
        op.idempotent = idempotent;
        check_row("idempotent %d, in time %d, paid %d, other %d", idempotent, in_time, paid, other);
        fail(0, LOCKED, in_time ? 999 : 1000);
        CHECK_EQUAL(sent, strstr(steps, "send 0") != NULL);
        CHECK_EQUAL(in_time && (sent || other), strstr(steps, "wait 1") != NULL);
        CHECK_EQUAL(in_time && (sent || other), ends == 0);
    }
}

/* A refused copy's timer is off. */
static void test_no_second_ask(void)
{
    set_up();
    set_up_budget(1000, 1000, 0);
    start(0);
    CHECK_TEXT("wait", POLL(500));
    set_up_budget(1000, 1000, 1000);
    CHECK_TEXT("wait", POLL(600));
    CHECK_TEXT("send 0, wait 500", fail(0, LOCKED, 700)); /* but a failure is followed */
}

/* ---- what is final ------------------------------------------------------------------------- */

#define USER RETRY_REASON_USER
#define ALLOWS RETRY_REASON_ALLOWS_NON_IDEMPOTENT

struct kind {
    retry_reason reason;
    uint8_t safety, fault;
    uint8_t fatal; /* to an idempotent operation; RETRY_CAUSE_NONE: it is not */
    bool unsent, ambiguous;
};

#define MAYBE RETRY_SAFETY_MAYBE
#define YES RETRY_SAFETY_YES
#define NO RETRY_SAFETY_NO
#define OTHER RETRY_FAULT_OTHER
#define SERVER RETRY_FAULT_SERVER
#define FINE RETRY_CAUSE_NONE

static const struct kind kinds[] = {
    {RETRY_REASON_KV_LOCKED, MAYBE, OTHER, FINE, false, false},
    {RETRY_REASON_KV_LOCKED, YES, SERVER, FINE, false, false},
    {RETRY_REASON_KV_LOCKED, NO, OTHER, RETRY_CAUSE_UNSAFE, false, false},
    {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, MAYBE, OTHER, FINE, false, true},
    {RETRY_REASON_ATTEMPT_TIMED_OUT, MAYBE, SERVER, FINE, false, true},
    {RETRY_REASON_ATTEMPT_TIMED_OUT, YES, OTHER, FINE, false, false},
    {RETRY_REASON_SERVER_ERROR, MAYBE, SERVER, FINE, false, true},
    {RETRY_REASON_SERVER_ERROR, NO, SERVER, RETRY_CAUSE_UNSAFE, false, true},
    {RETRY_REASON_NONE, MAYBE, OTHER, RETRY_CAUSE_NOT_RETRYABLE, false, false},
    {RETRY_REASON_NONE, MAYBE, RETRY_FAULT_CLIENT, RETRY_CAUSE_NOT_RETRYABLE, false, false},
    {RETRY_REASON_NONE, MAYBE, SERVER, FINE, false, true},
    {RETRY_REASON_NONE, YES, OTHER, FINE, false, false},
    {RETRY_REASON_NONE, YES, SERVER, FINE, false, false},
    {RETRY_REASON_NONE, NO, OTHER, RETRY_CAUSE_UNSAFE, false, false},
    {RETRY_REASON_NONE, NO, SERVER, RETRY_CAUSE_UNSAFE, false, true},
    {RETRY_REASON_UNKNOWN, MAYBE, OTHER, RETRY_CAUSE_UNKNOWN_REASON, false, true},
    {RETRY_REASON_UNKNOWN, YES, SERVER, RETRY_CAUSE_UNKNOWN_REASON, false, false},
    {RETRY_REASON_COUNT, MAYBE, OTHER, RETRY_CAUSE_UNKNOWN_REASON, false, true},
    {0x8f, MAYBE, OTHER, RETRY_CAUSE_UNKNOWN_REASON, false, true},
    {RETRY_REASON_KV_NOT_MY_VBUCKET, MAYBE, OTHER, FINE, false, false},
    {RETRY_REASON_KV_NOT_MY_VBUCKET, NO, OTHER, RETRY_CAUSE_UNSAFE, false, false},
    {USER(0, 0), MAYBE, OTHER, FINE, false, true},
    {USER(3, RETRY_REASON_ALWAYS), MAYBE, OTHER, FINE, false, true},
    {USER(15, RETRY_REASON_FREE | ALLOWS), MAYBE, OTHER, FINE, false, false},
    {RETRY_REASON_SOCKET_NOT_AVAILABLE, MAYBE, OTHER, FINE, true, false},
    {RETRY_REASON_SERVICE_NOT_AVAILABLE, MAYBE, OTHER, FINE, true, false},
    {RETRY_REASON_NODE_NOT_AVAILABLE, MAYBE, SERVER, FINE, true, false},
    {RETRY_REASON_CIRCUIT_BREAKER_OPEN, YES, OTHER, FINE, true, false},
    {RETRY_REASON_CLIENT_THROTTLED, MAYBE, OTHER, FINE, true, false},
    {RETRY_REASON_CLIENT_THROTTLED, NO, OTHER, RETRY_CAUSE_UNSAFE, true, false},
};

static retry_failure failure_of(const struct kind *kind)
{
    retry_failure failure = check_failure_of(kind->reason);
    failure.safety = kind->safety;
    failure.fault = kind->fault;
    failure.code = 42;
    return failure;
}

static void check_learnt(const struct kind *kind, bool ambiguous)
{
    CHECK_EQUAL(ambiguous, op.ambiguous);
    CHECK_EQUAL(kind->reason < RETRY_REASON_COUNT || (kind->reason & 0x40) != 0,
                retry_reason_set_has(op.reasons, kind->reason));
}

/* Whatever is on the wire, and may take effect. */
static void test_fatal(void)
{
    static const char *const cancels[] = {"", "cancel 1, ", "cancel 1, cancel 2, "};
    size_t i;
    unsigned more;
    for (i = 0; i < CHECK_COUNT(kinds); i++) {
        retry_failure failure = failure_of(&kinds[i]);
        for (more = 0; kinds[i].fatal != FINE && more < 3; more++) {
            char expected[80];
            set_up();
            send_copies(1 + more, 500 * more);
            check_row("kind %u, %u more on the wire", (unsigned)i, more);
            snprintf(expected, sizeof expected, "%sFAIL: %s", cancels[more],
                     retry_cause_text(kinds[i].fatal));
            CHECK_TEXT(expected, failed(0, &failure, 1100));
            check_learnt(&kinds[i], kinds[i].ambiguous || more > 0);
            CHECK_EQUAL(42, op.failure.code);
        }
    }
}

/* What is final decides, also if it was never sent, and a copy before it was answered. */
static void test_fatal_after_a_failure(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(kinds); i++) {
        retry_failure failure = failure_of(&kinds[i]);
        char expected[80];
        if (kinds[i].fatal == FINE)
            continue;
        set_up();
        send_copies(1, 0);
        check_row("kind %u", (unsigned)i);
        CHECK_TEXT("send 0, wait 500", fail(0, RETRY_REASON_SERVER_ERROR, 100));
        snprintf(expected, sizeof expected, "FAIL: %s", retry_cause_text(kinds[i].fatal));
        CHECK_TEXT(expected, failed(0, &failure, 101));
        CHECK_EQUAL(42, op.failure.code);
        CHECK_EQUAL(kinds[i].reason, op.failure.reason);
    }
}

/* The same operation without further copies: the texts and what is known are equal. */
static void check_as_alone(const retry_failure *failure)
{
    char hedged[sizeof steps];
    retry_operation before;
    start(0);
    memcpy(hedged, failed(0, failure, 100), sizeof steps);
    before = op;
    memset(&op, 0, sizeof op);
    op.client = &client;
    op.idempotent = before.idempotent;
    op.timeout = UINT32_MAX;
    start(0);
    CHECK_TEXT(hedged, failed(0, failure, 100));
    CHECK_EQUAL(op.ambiguous, before.ambiguous);
    CHECK_EQUAL(op.reasons, before.reasons);
    CHECK_EQUAL(op.retries, before.retries);
    CHECK_EQUAL(op.code, before.code);
    CHECK_EQUAL(op.failure.reason, before.failure.reason);
}

/* One that is not idempotent has no further copies, nor has one without a copy left: a failure is
   as without a hedge. So is one that was never sent, with nothing else on the wire. */
static void test_as_alone(void)
{
    retry_policy policy;
    size_t i;
    memset(&policy, 0, sizeof policy);
    policy.base.retry_after = retry_policy_after;
    policy.backoff.jitter = RETRY_JITTER_NONE;
    policy.backoff.initial = policy.backoff.max = 7;
    for (i = 0; i < CHECK_COUNT(kinds) * 3; i++) {
        const struct kind *kind = &kinds[i / 3];
        retry_failure failure = failure_of(kind);
        set_up();
        client.strategy = &policy.base;
        if (i % 3 == 0)
            op.idempotent = false;
        else if (i % 3 == 1)
            hedge.count = 0;
        else if (!kind->unsent)
            continue;
        check_row("kind %u, %u", (unsigned)(i / 3), (unsigned)(i % 3));
        check_as_alone(&failure);
        check_learnt(kind, kind->ambiguous);
    }
}

/* Final comes before an order of any kind, but that not to retry is what the decision knows first
   of what is not unsafe. */
static void test_fatal_and_order(void)
{
    static const retry_ms orders[] = {0, 1, 300, NO_RETRY - 1, NO_RETRY};
    size_t i, n;
    for (i = 0; i < CHECK_COUNT(kinds); i++) {
        for (n = 0; n < CHECK_COUNT(orders) && kinds[i].fatal != FINE; n++) {
            retry_failure failure = failure_of(&kinds[i]);
            char expected[80];
            failure.pushback = true;
            failure.retry_after = orders[n];
            set_up();
            send_copies(2, 500);
            check_row("kind %u, order %lu", (unsigned)i, (unsigned long)orders[n]);
            snprintf(expected, sizeof expected, "cancel 1, FAIL: %s",
                     retry_cause_text(kinds[i].fatal));
            CHECK_TEXT(orders[n] == NO_RETRY && kinds[i].fatal != RETRY_CAUSE_UNSAFE ? "wait 400"
                                                                                     : expected,
                       failed(0, &failure, 600));
        }
    }
}

/* ---- what is not --------------------------------------------------------------------------- */

static void test_followed_at_once(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(kinds); i++) {
        retry_failure failure = failure_of(&kinds[i]);
        if (kinds[i].fatal != FINE || kinds[i].unsent)
            continue;
        set_up();
        start(0);
        check_row("kind %u", (unsigned)i);
        CHECK_TEXT("send 0, wait 500", failed(0, &failure, 200));
        check_learnt(&kinds[i], kinds[i].ambiguous);
        CHECK_EQUAL(0, op.retries);
        CHECK_EQUAL(42, op.failure.code);
        CHECK_TEXT("wait 1", POLL(699)); /* the timer counts from this copy on */
        CHECK_TEXT("send 1, wait 500", POLL(700));
        CHECK_TEXT("send 0, wait", failed(0, &failure, 800));
        CHECK_TEXT("wait", failed(0, &failure, 900));
        failed(1, &failure, 900);
        CHECK(strstr(steps, "send") == NULL && strcmp(steps, "wait") != 0);
    }
}

static retry_action grant(const retry_strategy *self, const retry_operation *of,
                          const retry_failure *failure, retry_time now)
{
    (void)self, (void)of, (void)failure, (void)now;
    return retry_action_after(1);
}

/* The others' answers count, and no copy is sent from then on. */
static void test_order_not_to_retry(void)
{
    static const retry_strategy granting = {grant};
    retry_failure order = pushback(LOCKED, NO_RETRY), late = check_failure_of(LOCKED);
    order.code = 7;
    late.code = 8;
    set_up();
    send_copies(3, 1000);
    CHECK_TEXT("wait 400", failed(0, &order, 1100));
    CHECK_TEXT("wait", POLL(1500));
    CHECK_TEXT("wait", failed(1, &late, 1600));
    CHECK_EQUAL(7, op.failure.code); /* it is what the try has failed by */
    CHECK_TEXT(FORBIDDEN, failed(2, &late, 1700));
    CHECK_EQUAL(7, op.failure.code);
    CHECK_EQUAL(7, op.code);

    start(2000); /* it was that try's alone */
    CHECK_EQUAL(0, op.failure.code);
    CHECK_TEXT("send 0, wait 500", failed(0, &late, 2100));

    set_up(); /* what works is success */
    send_copies(3, 1000);
    failed(0, &order, 1100);
    CHECK_TEXT("cancel 2, SUCCESS: done", done(1, 1600));

    set_up(); /* an order to wait does not take it back */
    send_copies(3, 1000);
    failed(0, &order, 1100);
    CHECK_TEXT("wait 10", fail_order(1, LOCKED, 10, 1200));
    CHECK_TEXT("wait", POLL(1210));
    CHECK_TEXT(FORBIDDEN, fail_order(2, LOCKED, 10, 1300));

    set_up(); /* it holds against what is never sent; but what is final decides */
    send_copies(3, 1000);
    failed(0, &order, 1100);
    CHECK_TEXT("wait 300", fail(1, UNSENT, 1200));
    CHECK_TEXT("FAIL: unknown reason", fail(2, RETRY_REASON_UNKNOWN, 1300));
    CHECK_EQUAL(RETRY_REASON_UNKNOWN, op.failure.reason);

    set_up(); /* nor does a strategy repeat what is not idempotent any more */
    client.strategy = &granting;
    send_copies(2, 500);
    op.idempotent = false;
    failed(0, &order, 600);
    CHECK_TEXT(FORBIDDEN, fail(1, RETRY_REASON_SERVER_ERROR, 700));

    set_up(); /* alone; for what is always retried, and what was never sent, as well */
    start(0);
    CHECK_TEXT(FORBIDDEN, fail_order(0, RETRY_REASON_KV_NOT_MY_VBUCKET, NO_RETRY, 1));
    start(0);
    CHECK_TEXT(FORBIDDEN, fail_order(0, UNSENT, NO_RETRY, 1));
}

static void test_never_sent(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(kinds); i++) {
        retry_failure failure = failure_of(&kinds[i]);
        if (!kinds[i].unsent || kinds[i].fatal != FINE)
            continue;
        check_row("kind %u", (unsigned)i);
        set_up(); /* the timer goes on, to the ms */
        send_copies(2, 500);
        CHECK_TEXT("wait 499", failed(1, &failure, 501));
        check_learnt(&kinds[i], false);
        CHECK_TEXT("wait 1", POLL(999));
        CHECK_TEXT("send 1, wait 500", POLL(1000));

        set_up(); /* it has fired, but nobody looked */
        send_copies(2, 500);
        CHECK_TEXT("send 0, wait 500", failed(0, &failure, 1000));

        set_up(); /* there is none after the last copy */
        send_copies(4, 1500);
        CHECK_TEXT("wait", failed(0, &failure, 1600));

        set_up(); /* nor is an order to wait heard */
        send_copies(2, 500);
        failure.pushback = true;
        failure.retry_after = 7;
        CHECK_TEXT("wait 300", failed(0, &failure, 700));
    }
}

static void test_order_to_wait(void)
{
    set_up(); /* alone */
    set_up_budget(1000, 1000, 1000);
    start(0);
    CHECK_TEXT("wait 300", fail_order(0, LOCKED, 300, 100));
    CHECK_EQUAL(1000, retry_budget_balance(&budget)); /* paid when it is sent */
    CHECK_TEXT("wait 300", fail(0, LOCKED, 100));     /* nothing is on the wire to fail */
    CHECK_TEXT("wait 1", POLL(399));
    CHECK_TEXT("send 0, wait 500", POLL(400));
    CHECK_EQUAL(0, retry_budget_balance(&budget));
    CHECK_TEXT("wait", POLL(900));
    CHECK_TEXT("wait 5", fail_order(0, LOCKED, 5, 900));
    CHECK_TEXT(REFUSED, POLL(905));

    set_up(); /* shorter or longer than the timer that was set, with others on the wire */
    send_copies(3, 1000);
    CHECK_TEXT("wait 100", fail_order(0, LOCKED, 100, 1200));
    CHECK_TEXT("wait 5000", fail_order(1, LOCKED, 5000, 1250));
    CHECK_TEXT("wait 1", POLL(6249));
    CHECK_TEXT("send 0, wait", POLL(6250));

    set_up(); /* the longest */
    start(0);
    CHECK_TEXT("wait 2147483648", fail_order(0, LOCKED, NO_RETRY - 1, 1));
    CHECK_TEXT("wait 147483648", POLL(2000000001));

    set_up(); /* a timer where none was */
    hedge.delay = 0;
    hedge.latency = &latency;
    CHECK_TEXT("send 0, wait", start(0));
    CHECK_TEXT("wait 40", fail_order(0, LOCKED, 40, 1));
    CHECK_TEXT("send 0, wait", POLL(41));

    set_up(); /* where no copy is left, it is one of the timers only while others are on the wire */
    hedge.count = 1;
    send_copies(2, 500);
    CHECK_TEXT("wait 10", fail_order(0, LOCKED, 10, 600));
    CHECK_TEXT("wait", POLL(610));
    CHECK_TEXT(REFUSED, fail_order(1, LOCKED, 10, 700));
}

/* Idempotency and the deadline matter at once only when nothing is on the wire. */
static void test_order_to_wait_in_order(void)
{
    static const struct {
        bool idempotent;
        retry_ms order;
        bool other;
        const char *expected;
    } rows[] = {
        {true, 799, false, "wait 799"},
        {true, 800, false, REFUSED},
        {true, 801, false, REFUSED},
        {true, NO_RETRY - 1, false, REFUSED},
        {false, 1, false, REFUSED},
        {false, 800, false, REFUSED},
        {true, 799, true, "wait 799"},
        {true, 801, true, "wait 800"}, /* at the deadline */
        {true, NO_RETRY - 1, true, "wait 800"},
        {false, 799, true, "wait 799"},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        set_up();
        op.timeout = 1000;
        send_copies(1u + rows[i].other, 100);
        op.idempotent = rows[i].idempotent;
        check_row("row %u", (unsigned)i);
        CHECK_TEXT(rows[i].expected, fail_order(0, LOCKED, rows[i].order, 200));
    }
}

/* ---- the time of a copy -------------------------------------------------------------------- */

/* It is over as if the copy had failed; its CANCEL comes before what follows it. */
static void test_attempt_timeout(void)
{
    set_up();
    client.cut_after = 300;
    CHECK_TEXT("send 0, wait 300", start(0));
    CHECK_TEXT("wait 1", POLL(299));
    CHECK_TEXT("cancel 0, send 0, wait 300", POLL(300));
    CHECK_EQUAL(RETRY_REASON_ATTEMPT_TIMED_OUT, op.failure.reason);
    CHECK(op.failure.timeout);
    CHECK(op.ambiguous);
    CHECK_TEXT("wait 300", done(1, 300)); /* there is no such copy */
    CHECK_TEXT("SUCCESS: done", done(0, 600));

    set_up(); /* both at once: the lowest number first */
    client.cut_after = 300;
    hedge.delay = 100;
    hedge.count = 1;
    start(0);
    CHECK_TEXT("send 1, wait 200", POLL(100));
    CHECK_TEXT("cancel 0, cancel 1, " REFUSED, POLL(400));
}

/* At the deadline a retry that would have been granted is EXPIRE. */
static void test_deadline(void)
{
    set_up();
    client.strategy = NULL;
    op.timeout = 700;
    start(0);
    CHECK_TEXT("send 1, wait 200", POLL(500));
    CHECK_TEXT("cancel 0, cancel 1, EXPIRE: deadline", POLL(700));
    CHECK_TEXT("EXPIRE: deadline", POLL(700));
}

/* ---- the budget ---------------------------------------------------------------------------- */

/* What a retry after a timeout costs, whatever failed before. */
static void test_budget_pays_each_copy(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    failure.throttle = true;
    set_up();
    set_up_budget(10000, 200, 1500);
    budget.options.timeout_cost = 700;
    budget.options.throttle_cost = 5000;
    start(0);
    CHECK_TEXT("send 0, wait 500", failed(0, &failure, 1));
    CHECK_EQUAL(800, retry_budget_balance(&budget));
    CHECK_TEXT("send 0, wait 500", fail(0, USER(1, RETRY_REASON_FREE), 2)); /* free to retry */
    CHECK_EQUAL(100, retry_budget_balance(&budget));
    CHECK_TEXT(REFUSED, fail(0, RETRY_REASON_SERVER_ERROR, 3));
    CHECK_EQUAL(100, retry_budget_balance(&budget));
}

/* Of 10,000 a retry has cost 1,000; each of its further copies, so many, will cost 1,500. */
static void start_a_retry(uint8_t count)
{
    set_up();
    set_up_budget(10000, 1000, 10000);
    client.strategy = NULL;
    hedge.count = 0;
    start(0);
    fail(0, LOCKED, 0);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    hedge.count = count;
    budget.options.retry_cost = 1500;
}

/* A copy's charge is not the retry's: it stays paid when the operation is stopped. */
static void test_budget_keeps_it(void)
{
    start_a_retry(3);
    CHECK_TEXT("send 0, wait 500", POLL(1000));
    POLL(1500);
    POLL(2000);
    CHECK_EQUAL(6000, retry_budget_balance(&budget));
    CHECK_TEXT("wait 400", fail(2, UNSENT, 2100)); /* that was the copy's */
    CHECK_EQUAL(7500, retry_budget_balance(&budget));
    retry_stop(&op, AT(2200));
    CHECK_EQUAL(8500, retry_budget_balance(&budget));
    CHECK_TEXT("cancel 0, cancel 1, FAIL: cancelled", POLL(2200));
    CHECK_EQUAL(8500, retry_budget_balance(&budget));
}

/* How a copy ends: with a reason, sent or not, final or not, with an order not to retry or not. */
struct ending {
    retry_reason reason;
    bool unsent, final, stop;
};

static void end_as(unsigned copy, struct ending ending, retry_ms elapsed)
{
    retry_failure failure = check_failure_of(ending.reason);
    failure.unsent = ending.unsent;
    failure.safety = ending.final ? NO : MAYBE;
    failure.pushback = ending.stop;
    failure.retry_after = ending.stop ? NO_RETRY : 0;
    retry_ended(&op, copy, &failure, AT(elapsed));
}

#define REACHED RETRY_REASON_SERVER_ERROR
#define FINAL "FAIL: no reason to retry"

/* What was never sent costs nothing, and what reached the server keeps its price, whatever decides.
 */
static void test_budget_by_how_copies_end(void)
{
    static const struct {
        struct ending first, second; /* copy 0, then copy 1 */
        const char *expected;
        uint32_t balance;
    } rows[] = {
        {{REACHED, false, false, false}, {REACHED, false, false, false}, REFUSED, 7500},
        {{REACHED, false, false, false}, {REACHED, false, true, false}, UNSAFE, 7500},
        {{REACHED, false, false, false}, {UNSENT, true, false, false}, REFUSED, 9000},
        {{REACHED, false, false, false}, {UNSENT, true, true, false}, UNSAFE, 9000},
        {{REACHED, false, false, false}, {RETRY_REASON_NONE, true, false, false}, FINAL, 9000},
        {{UNSENT, true, false, false}, {REACHED, false, false, false}, REFUSED, 9000},
        {{UNSENT, true, false, false}, {REACHED, false, true, false}, UNSAFE, 9000},
        {{UNSENT, true, false, false}, {UNSENT, true, false, false}, REFUSED, 10000},
        {{UNSENT, true, false, false}, {UNSENT, true, true, false}, UNSAFE, 10000},
        {{UNSENT, true, false, true}, {REACHED, false, false, false}, FORBIDDEN, 9000},
        {{UNSENT, true, false, true}, {REACHED, false, true, false}, UNSAFE, 9000},
        {{UNSENT, true, false, true}, {UNSENT, true, false, false}, FORBIDDEN, 10000},
        {{REACHED, false, false, true}, {REACHED, false, false, false}, FORBIDDEN, 7500},
        {{REACHED, false, false, true}, {UNSENT, true, false, false}, FORBIDDEN, 9000},
        {{REACHED, false, false, true}, {UNSENT, true, true, false}, UNSAFE, 9000},
        {{REACHED, false, false, true}, {UNSENT, true, false, true}, FORBIDDEN, 9000},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        start_a_retry(1);
        POLL(1000);
        client.strategy = retry_fail_fast();
        check_row("row %u", (unsigned)i);
        CHECK_TEXT("send 1, wait", POLL(1500));
        CHECK_EQUAL(7500, retry_budget_balance(&budget));
        end_as(0, rows[i].first, 1600);
        end_as(1, rows[i].second, 1700);
        CHECK_TEXT(rows[i].expected, POLL(1700));
        CHECK_EQUAL(rows[i].balance, retry_budget_balance(&budget));
    }
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
        unsigned late;
        for (late = 0; late < 2; late++) {
            set_up();
            set_up_budget(rows[i].capacity, rows[i].retry_cost, rows[i].balance);
            budget.options.floor = rows[i].floor;
            budget.options.charge_failures = rows[i].charge_failures;
            start(0);
            check_row("row %u, %s", (unsigned)i, late ? "failed" : "due");
            if (late)
                CHECK_TEXT(rows[i].sent[1] ? "send 0, wait 500" : REFUSED, fail(0, LOCKED, 500));
            else
                CHECK_TEXT(rows[i].sent[0] ? "send 1, wait 500" : "wait", POLL(500));
            CHECK_EQUAL(rows[i].left[late], retry_budget_balance(&budget));
        }
    }
}

/* gRPC's: five failed copies take ten tokens to five, and no sixth is sent. */
static void test_budget_grpc(void)
{
    static const retry_budget_options grpc = RETRY_BUDGET_GRPC;
    unsigned n;
    set_up();
    hedge.count = 8;
    client.strategy = NULL;
    retry_budget_init(&budget, &grpc, AT(0));
    client.budget = &budget;
    start(0);
    for (n = 1; n < 5; n++) {
        CHECK_TEXT("send 0, wait 500", fail(0, RETRY_REASON_SERVER_ERROR, n));
        CHECK_EQUAL(10000 - n * 1000, retry_budget_balance(&budget));
    }
    CHECK_TEXT("FAIL: retry budget exhausted", fail(0, RETRY_REASON_SERVER_ERROR, 5));
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
    retry_hedge_copies(&op, NULL); /* one without a hedge */
    start(6);
    CHECK_TEXT("FAIL: retry budget exhausted", fail(0, RETRY_REASON_SERVER_ERROR, 6));
    CHECK_EQUAL(4000, retry_budget_balance(&budget));
}

/* Twenty orders not to retry leave nothing of ten tokens. */
static void test_budget_grpc_orders(void)
{
    static const retry_budget_options grpc = RETRY_BUDGET_GRPC;
    unsigned n;
    set_up();
    retry_budget_init(&budget, &grpc, AT(0));
    client.budget = &budget;
    for (n = 1; n <= 20; n++) {
        start(n);
        CHECK_TEXT(FORBIDDEN, fail_order(0, RETRY_REASON_SERVER_ERROR, NO_RETRY, n));
        CHECK_EQUAL(n < 10 ? 10000 - n * 1000 : 0, retry_budget_balance(&budget));
    }
}

/* Charged when it is heard of, by its kind, and not again: whichever strategy is asked, with an
   order, and when the deadline comes before the copy that was to follow. */
static void test_budget_charges_once(void)
{
    static const retry_strategy pending = {check_pending_after};
    retry_failure late = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    late.timeout = true;
    set_up();
    set_up_budget(10000, 1000, 10000);
    budget.options.charge_failures = true;
    budget.options.timeout_cost = 3000;
    client.strategy = &pending;
    hedge.count = 0;
    start(0);
    CHECK_TEXT("wait: strategy answers later", failed(0, &late, 1));
    CHECK_EQUAL(7000, retry_budget_balance(&budget));
    retry_answer(&op, retry_action_after(5), AT(2));
    CHECK_TEXT("wait 5: strategy grants", POLL(2));
    CHECK_EQUAL(7000, retry_budget_balance(&budget));
    CHECK_TEXT("send 0, wait", POLL(7));
    CHECK_TEXT(FORBIDDEN, fail_order(0, RETRY_REASON_SERVER_ERROR, NO_RETRY, 8));
    CHECK_EQUAL(6000, retry_budget_balance(&budget));

    hedge.count = 3;
    client.strategy = NULL;
    op.timeout = 100;
    start(10);
    CHECK_TEXT("wait 50", fail_order(0, LOCKED, 50, 20));
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
    CHECK_TEXT("EXPIRE: deadline", POLL(110));
    CHECK_EQUAL(5000, retry_budget_balance(&budget));

    op.timeout = UINT32_MAX; /* one that failed beside one that worked */
    budget.options.success_deposit = 7;
    start(200);
    CHECK_TEXT("send 0, wait 500", fail(0, RETRY_REASON_SERVER_ERROR, 201));
    CHECK_TEXT("SUCCESS: done", done(0, 202));
    CHECK_EQUAL(4007, retry_budget_balance(&budget));

    start(300); /* nor at a stop */
    CHECK_TEXT("send 0, wait 500", fail(0, RETRY_REASON_SERVER_ERROR, 301));
    retry_stop(&op, AT(302));
    CHECK_TEXT("cancel 0, FAIL: cancelled", POLL(302));
    CHECK_EQUAL(3007, retry_budget_balance(&budget));
}

/* What is not charged: a final failure, one that was never sent, and contention. */
static void test_budget_charges_no_other(void)
{
    static const struct {
        retry_reason reason;
        const char *expected;
    } rows[] = {{RETRY_REASON_NONE, "FAIL: no reason to retry"},
                {RETRY_REASON_UNKNOWN, "FAIL: unknown reason"},
                {UNSENT, REFUSED},
                {USER(1, RETRY_REASON_FREE), "send 0, wait 500"}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        set_up();
        set_up_budget(10000, 1000, 10000);
        budget.options.charge_failures = true;
        start(0);
        check_row("row %u", (unsigned)i);
        CHECK_TEXT(rows[i].expected, fail(0, rows[i].reason, 1));
        CHECK_EQUAL(10000, retry_budget_balance(&budget));
    }
}

/* What a copy cost that was never sent goes back, once; the first has cost nothing, and what
   another cost stays paid. */
static void test_budget_of_what_was_never_sent(void)
{
    set_up();
    set_up_budget(10000, 1000, 10000);
    start(0);
    POLL(500);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_TEXT("wait 500", fail(1, UNSENT, 500));
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_TEXT("send 1, wait 500", POLL(1000));
    CHECK_TEXT("send 2, wait", POLL(1500));
    CHECK_EQUAL(8000, retry_budget_balance(&budget));
    CHECK_TEXT("wait", fail(1, UNSENT, 1500));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_TEXT("wait", fail(2, UNSENT, 1500));
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    retry_budget_withdraw(&budget, 5000, AT(1500));
    CHECK_TEXT(REFUSED, fail(0, UNSENT, 1500)); /* the first */
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
    start(2000);
    POLL(2500);
    start(3000); /* what another's copies cost is not this one's */
    fail(0, UNSENT, 3000);
    CHECK_EQUAL(4000, retry_budget_balance(&budget));
}

/* It is refilled up to the instant at which the copy is to be sent. */
static void test_budget_refills(void)
{
    set_up();
    set_up_budget(9000, 1000, 0);
    budget.options.refill_per_second = 2000;
    start(0);
    CHECK_TEXT("send 1, wait 500", POLL(500));
    CHECK_TEXT("wait", fail(0, LOCKED, 999));
    CHECK_TEXT("send 0, wait 500", fail(1, LOCKED, 1000));
    CHECK_EQUAL(0, retry_budget_balance(&budget));
}

/* A client without a budget: free. A budget that was never set up pays for nothing. */
static void test_no_budget(void)
{
    set_up();
    start(0);
    CHECK_TEXT("send 1, wait 500", POLL(500));
    CHECK_TEXT("wait 500", fail(0, UNSENT, 500)); /* nobody gets back what nobody paid */
    set_up();
    client.budget = &budget;
    start(0);
    CHECK_TEXT("wait", POLL(500));
}

#define FROM ((retry_time)1000000) /* far from 0, which would be some instant between */

/* What is paid, goes back or is charged tells the budget when that is. */
static void test_budget_told_when(void)
{
    static const struct {
        retry_reason reason;
        retry_ms order;
    } rows[] = {{LOCKED, 0}, {RETRY_REASON_SOCKET_NOT_AVAILABLE, 0}};
    size_t i;
    for (i = 0; i <= CHECK_COUNT(rows); i++) {
        retry_ms elapsed = i == 0 ? 5000 : 600;
        check_row("row %u", (unsigned)i);
        set_up();
        refill_from(&budget, FROM);
        client.budget = &budget;
        retry_start(&op, NULL, FROM);
        CHECK_TEXT("send 0, wait 500", poll_at(FROM));
        CHECK_TEXT("send 1, wait 500", poll_at(FROM + 500));
        if (i != 0) {
            retry_failure failure = pushback(rows[i - 1].reason, rows[i - 1].order);
            retry_ended(&op, 1, &failure, FROM + elapsed);
        }
        poll_at(FROM + elapsed);
        refill_check(&budget, FROM, elapsed);
    }
}

/* ---- gates --------------------------------------------------------------------------------- */

/* A copy that a gate refuses, or would let wait, is one that failed, never sent: it is taken from
   those left, its charge goes back, and the timer is set as if it were sent. */
static void test_gates_refuse(void)
{
    retry_aimd limit;
    set_up();
    set_up_budget(9000, 1000, 9000);
    memset(&limit, 0, sizeof limit);
    limit.max = 1;
    retry_gates_aimd(&gates, &limit);
    client.gates = &gates;
    CHECK_TEXT("send 0, wait 500", start(0));
    CHECK_TEXT("wait 500", POLL(500));
    CHECK(retry_reason_set_has(op.reasons, RETRY_REASON_CLIENT_THROTTLED));
    CHECK_EQUAL(RETRY_REASON_NONE, op.failure.reason);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_EQUAL(1, gates.in_flight);
    limit.max = 2;
    CHECK_TEXT("send 1, wait 500", POLL(1000));
    CHECK_EQUAL(8000, retry_budget_balance(&budget));
    CHECK_EQUAL(2, gates.in_flight);
    CHECK_TEXT("wait", POLL(1500)); /* that was the last */
    CHECK_TEXT("wait", fail(0, LOCKED, 1600));
    CHECK_TEXT("SUCCESS: done", done(1, 1700));
    CHECK_EQUAL(0, gates.in_flight);
    CHECK(!op.ambiguous);
}

/* Whoever hears the end of an operation sees no copy of it in flight. */
static void test_told_first(void)
{
    enum { WORKED, FATAL, STOPPED, WAYS };
    unsigned way;
    for (way = 0; way < WAYS; way++) {
        check_row("way %u", way);
        set_up();
        retry_gates_latency(&gates, &latency);
        client.gates = &gates;
        send_copies(3, 1000);
        CHECK_EQUAL(3, gates.in_flight);
        heard_in_flight = 9;
        if (way == WORKED)
            retry_ended(&op, 1, NULL, AT(1100));
        else if (way == FATAL)
            end(1, RETRY_REASON_NONE, 1100);
        else
            retry_stop(&op, AT(1100));
        CHECK_EQUAL(1, ends);
        CHECK_EQUAL(0, heard_in_flight);
        CHECK_EQUAL(0, gates.in_flight);
    }
}

/* A breaker's refusal; with nothing on the wire the try has failed, by what failed before. */
static void test_breaker_refuses(void)
{
    retry_breaker breaker;
    set_up();
    memset(&breaker, 0, sizeof breaker);
    retry_gates_breaker(&gates, &breaker);
    client.gates = &gates;
    start(0);
    retry_breaker_set(&breaker, RETRY_BREAKER_ISOLATED, AT(400));
    CHECK_TEXT("wait 500", POLL(500));
    CHECK(retry_reason_set_has(op.reasons, RETRY_REASON_CIRCUIT_BREAKER_OPEN));
    CHECK(!retry_reason_set_has(op.reasons, RETRY_REASON_CLIENT_THROTTLED));
    CHECK_TEXT(REFUSED, fail(0, LOCKED, 600));
    CHECK_EQUAL(LOCKED, op.failure.reason);
    CHECK_EQUAL(0, gates.in_flight);
}

/* A turn that a rate would keep for a copy goes back. */
static void test_rate_refuses(void)
{
    retry_rate rate;
    retry_operation other;
    set_up();
    memset(&rate, 0, sizeof rate);
    rate.max = 1000; /* one a second */
    rate.wait = 900;
    retry_gates_rate(&gates, &rate);
    client.gates = &gates;
    CHECK_TEXT("send 0, wait 500", start(0));
    CHECK_TEXT("wait 500", POLL(500));
    memset(&other, 0, sizeof other);
    other.client = &client;
    retry_start(&other, NULL, AT(1000));
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&other, AT(1000)).what);
    CHECK_EQUAL(2, gates.in_flight);
}

/* Copies go to other nodes than those that have one. */
static void test_nodes(void)
{
    static retry_gates nodes[3];
    unsigned seen = 0, n;
    set_up();
    memset(nodes, 0, sizeof nodes);
    retry_client_nodes(&client, nodes, 3);
    retry_start(&op, NULL, AT(0));
    for (n = 0; n < 3; n++) {
        retry_step step = retry_next(&op, AT(n * 500));
        CHECK_EQUAL(RETRY_DO_SEND, step.what);
        CHECK_EQUAL(n, step.copy);
        seen |= 1u << step.node;
    }
    CHECK_EQUAL(7, seen);
    for (n = 0; n < 3; n++)
        CHECK_EQUAL(1, nodes[n].in_flight);
    CHECK_TEXT("cancel 0, cancel 2, SUCCESS: done", done(1, 1001));
    for (n = 0; n < 3; n++)
        CHECK_EQUAL(0, nodes[n].in_flight);
}

/* ---- with the request ---------------------------------------------------------------------- */

/* One attempt to the request, however many copies; the next try has all its copies again. */
static void test_one_attempt(void)
{
    retry_policy policy;
    retry_failure first = check_failure_of(RETRY_REASON_SERVER_ERROR), last = first;
    memset(&policy, 0, sizeof policy);
    policy.base.retry_after = retry_policy_after;
    policy.backoff.jitter = RETRY_JITTER_NONE;
    policy.backoff.initial = policy.backoff.max = 7;
    set_up();
    set_up_budget(10000, 1000, 10000);
    budget.options.charge_failures = true;
    client.strategy = &policy.base;
    first.code = 500;
    last.code = 502;
    send_copies(4, 1500);
    failed(0, &first, 1600);
    failed(1, &first, 1600);
    CHECK_TEXT("wait", failed(3, &first, 1600));
    CHECK_TEXT("wait 7: strategy grants", failed(2, &last, 1700));
    CHECK_EQUAL(6000, retry_budget_balance(&budget));
    CHECK_EQUAL(1, op.retries);
    CHECK_EQUAL(502, op.code);
    CHECK(op.ambiguous);
    CHECK_TEXT("send 0, wait 500", POLL(1707));
    CHECK_TEXT("send 1, wait 500", POLL(2207));
    CHECK_TEXT("send 1, wait 500", failed(1, &first, 2300));
    CHECK_TEXT("send 2, wait", POLL(2800));
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
    CHECK_TEXT("cancel 0, cancel 1, SUCCESS: done", done(2, 2900));
    CHECK_EQUAL(1, op.retries);
}

/* Those that are cancelled may have taken effect, if none of them won. */
static void test_ambiguous(void)
{
    set_up();
    send_copies(2, 500);
    CHECK_TEXT("cancel 1, FAIL: no reason to retry", fail(0, RETRY_REASON_NONE, 600));
    CHECK(op.ambiguous);
    start(1000);
    CHECK_TEXT("FAIL: no reason to retry", fail(0, RETRY_REASON_NONE, 1100));
    CHECK(!op.ambiguous);
    start(2000);
    POLL(2500);
    fail_order(0, LOCKED, NO_RETRY, 2600);
    CHECK(!op.ambiguous); /* the other's answer will tell */
    CHECK_TEXT(FORBIDDEN, fail(1, RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, 2700));
    CHECK(op.ambiguous);
    start(3000);
    POLL(3500);
    CHECK_TEXT("cancel 1, SUCCESS: done", done(0, 3600));
    CHECK(!op.ambiguous);
    start(4000);
    POLL(4500);
    retry_stop(&op, AT(4600));
    CHECK_TEXT("cancel 0, cancel 1, FAIL: cancelled", POLL(4600));
    CHECK(op.ambiguous);
}

/* Whatever was before: copies on the wire, an order, no copies left, a success, a failure. */
static void test_start_anew(void)
{
    static const char *const first[] = {"cancel 0, cancel 1, send 0, wait 500",
                                        "cancel 1, send 0, wait 500",
                                        "cancel 0, cancel 1, cancel 2, cancel 3, send 0, wait 500",
                                        "cancel 1, send 0, wait 500", "send 0, wait 500"};
    unsigned before;
    for (before = 0; before < CHECK_COUNT(first); before++) {
        retry_failure order = pushback(LOCKED, NO_RETRY);
        set_up();
        check_row("before: %u", before);
        send_copies(before == 2 ? 4 : 2, before == 2 ? 1500 : 500);
        if (before == 1)
            retry_ended(&op, 0, &order, AT(1600));
        else if (before == 3)
            retry_ended(&op, 0, NULL, AT(1600)); /* the CANCEL of the other is still due */
        else if (before == 4)
            CHECK_TEXT("cancel 1, FAIL: unknown reason", fail(0, RETRY_REASON_UNKNOWN, 1600));
        CHECK_TEXT(first[before], start(2000));
        CHECK_TEXT("send 1, wait 500", POLL(2500));
        CHECK_TEXT("send 2, wait 500", POLL(3000));
        CHECK_TEXT("send 3, wait", POLL(3500));
        CHECK_TEXT("cancel 0, cancel 1, cancel 3, SUCCESS: done", done(2, 4000));
    }
}

/* A copy that was to follow another is not owed by the next operation. */
static void test_start_anew_owes_nothing(void)
{
    set_up();
    send_copies(2, 500);
    end(0, LOCKED, 600); /* a copy is to follow at once */
    CHECK_TEXT("SUCCESS: done", done(1, 600));
    CHECK_TEXT("send 0, wait 500", start(700));
}

static void stop_it(void *context, const retry_operation *request, const retry_failure *failure)
{
    (void)context;
    (void)request;
    (void)failure;
    retry_stop(&op, AT(100));
}

/* One that its observer has stopped takes up a hedge before anybody hears of its end. */
static void test_hedge_after_a_stop(void)
{
    static const retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    set_up();
    retry_hedge_copies(&op, NULL);
    client.strategy = &policy.base;
    client.observe = stop_it;
    CHECK_TEXT("send 0, wait", start(0));
    end(0, LOCKED, 100); /* the observer hears of a retry */
    client.observe = observe;
    retry_hedge_copies(&op, &hedge);
    CHECK_TEXT("send 0, wait 500", start(200));
}

/* A hedge is taken up or left only when nothing is under way, and no CANCEL is due. */
static void test_when_to_hedge(void)
{
    set_up();
    start(0);
    retry_hedge_copies(&op, NULL);
    CHECK_TEXT("send 1, wait 500", POLL(500));
    retry_hedge_copies(&op, NULL);
    retry_stop(&op, AT(600));
    retry_hedge_copies(&op, NULL); /* it would lose the CANCELs */
    CHECK_TEXT("cancel 0, cancel 1, FAIL: cancelled", POLL(600));
    retry_hedge_copies(&op, NULL);
    CHECK_TEXT("send 0, wait", start(700));
    CHECK_TEXT("SUCCESS: done", done(0, 700));
    memset(&hedge, 0, sizeof hedge); /* one that was zeroed, and has not got all its fields yet */
    hedge.count = 3;
    retry_hedge_copies(&op, &hedge);
    CHECK_TEXT("send 0, wait", start(800));
    retry_hedge_copies(NULL, &hedge);
    retry_hedge_copies(NULL, NULL);
}

/* A fixed delay is at least twice what the gates' answers take now. */
static void test_fixed_delay_follows_the_server(void)
{
    static const struct {
        retry_ms age; /* of the answers before */
        const char *steps;
    } rows[] = {{0, "send 0, wait 500"},     {249, "send 0, wait 500"},
                {250, "send 0, wait 500"},   {251, "send 0, wait 502"},
                {400, "send 0, wait 800"},   {8000, "send 0, wait 16000"},
                {3200, "send 0, wait 13600"}};
    size_t i;
    set_up();
    client.gates = &gates;
    retry_gates_latency(&gates, &latency);
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("%lu ms", (unsigned long)rows[i].age);
        start(0);
        CHECK_TEXT("SUCCESS: done", done(0, rows[i].age));
        CHECK_TEXT(rows[i].steps, start(0));
        retry_stop(&op, AT(0));
    }
}

/* A copy that has ended by itself after all leaves no CANCEL to wait for. */
static void test_hedge_after_a_late_end(void)
{
    set_up();
    start(0);
    retry_stop(&op, AT(100));
    retry_ended(&op, 0, NULL, AT(100));
    hedge.delay = 70;
    retry_hedge_copies(&op, NULL);
    CHECK_TEXT("send 0, wait", start(200));
}

/* What an operation had that is over may be gone when it gets another. */
static void test_another_hedge(void)
{
    static retry_hedge another;
    set_up();
    another = hedge;
    start(0);
    CHECK_TEXT("send 1, wait 500", POLL(500));
    CHECK_TEXT("cancel 0, SUCCESS: done", done(1, 600));
    memset(&hedge, 0xff, sizeof hedge); /* copies that nobody can look at */
    retry_hedge_copies(&op, &another);
    CHECK_TEXT("send 0, wait 500", start(700));
    CHECK_TEXT("send 1, wait 500", POLL(1200));
}

/* Who lowers the count in the middle gets no more copies. */
static void test_lower_count(void)
{
    set_up();
    start(0);
    hedge.count = 0;
    CHECK_TEXT("wait", POLL(500));
    CHECK_TEXT("SUCCESS: done", done(0, 600));
}

/* Numbers that are not on the wire, and those that there are not, change nothing. */
static void test_foreign_ends(void)
{
    static const unsigned numbers[] = {1, 2, 3, 4, 5, 254, 255, 256, UINT_MAX};
    retry_operation before;
    size_t i;
    set_up();
    start(0);
    for (i = 0; i < CHECK_COUNT(numbers); i++) {
        memcpy(&before, &op, sizeof op);
        check_row("number %u", numbers[i]);
        end(numbers[i], LOCKED, 100);
        retry_ended(&op, numbers[i], NULL, AT(100));
        CHECK(memcmp(&before, &op, sizeof op) == 0);
        CHECK_TEXT("wait 400", POLL(100));
    }
}

int main(void)
{
    RUN(test_first_timer);
    RUN(test_none);
    RUN(test_none_of_what_is_not_permitted);
    RUN(test_latency);
    RUN(test_early_and_late);
    RUN(test_copy_that_pays);
    RUN(test_count);
    RUN(test_numbers);
    RUN(test_several_ends);
    RUN(test_timelines);
    RUN(test_pushback_texts);
    RUN(test_due);
    RUN(test_followed);
    RUN(test_no_second_ask);
    RUN(test_fatal);
    RUN(test_fatal_after_a_failure);
    RUN(test_as_alone);
    RUN(test_fatal_and_order);
    RUN(test_followed_at_once);
    RUN(test_order_not_to_retry);
    RUN(test_never_sent);
    RUN(test_order_to_wait);
    RUN(test_order_to_wait_in_order);
    RUN(test_attempt_timeout);
    RUN(test_deadline);
    RUN(test_budget_pays_each_copy);
    RUN(test_budget_keeps_it);
    RUN(test_budget_by_how_copies_end);
    RUN(test_budget_kinds);
    RUN(test_budget_grpc);
    RUN(test_budget_grpc_orders);
    RUN(test_budget_charges_once);
    RUN(test_budget_charges_no_other);
    RUN(test_budget_of_what_was_never_sent);
    RUN(test_budget_refills);
    RUN(test_no_budget);
    RUN(test_budget_told_when);
    RUN(test_gates_refuse);
    RUN(test_told_first);
    RUN(test_breaker_refuses);
    RUN(test_rate_refuses);
    RUN(test_nodes);
    RUN(test_one_attempt);
    RUN(test_ambiguous);
    RUN(test_start_anew);
    RUN(test_start_anew_owes_nothing);
    RUN(test_hedge_after_a_stop);
    RUN(test_when_to_hedge);
    RUN(test_hedge_after_a_late_end);
    RUN(test_fixed_delay_follows_the_server);
    RUN(test_another_hedge);
    RUN(test_lower_count);
    RUN(test_foreign_ends);
    return check_done();
}
