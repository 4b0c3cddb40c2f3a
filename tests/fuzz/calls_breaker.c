/* Fuzz target for the two gates that count over a window: bytes become calls on one breaker and one
   throttle, beside models that keep every report with its instant. On a clock that goes on, each
   answer is the model's; on one that jumps, what holds of any answer. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <string.h>

#include "../support/by_hand.h"
#include "../support/reasons.h"
#include "bytes.h"
#include "clock.h"
#include "replay.h"

#define REPORTS 1000u /* that a model keeps */
#define PERMITS 4
#define DAYS_24 UINT64_C(2100000000) /* of idle time; somewhat later old reports count again */

static retry_breaker breaker;
static retry_throttle throttle;

/* What was reported, and the half in which it was: when that began. Marked are the sick, or the
   accepted. */
struct report {
    uint64_t half;
    bool marked;
};

struct window {
    struct report reports[REPORTS];
    uint32_t count;
    uint64_t half;          /* ms */
    uint64_t began, before; /* the two halves; before: 0 if there is none */
};

/* Its first half begins now; unless 31 bits of ms began anew within a window: then it is as if it
   had begun there. */
static void window_set_up(struct window *window, retry_ms length)
{
    uint64_t since_wrap = now & 0x7fffffff;
    length = length > 0x800000 ? 0x800000 : length;
    window->count = 0;
    window->half = ((uint64_t)length + 1) / 2;
    window->began = now;
    if (since_wrap < 2 * window->half)
        window->began -= since_wrap < window->half ? since_wrap : since_wrap - window->half;
    window->before = 0;
}

static void window_move(struct window *window)
{
    uint64_t passed = now - window->began;
    if (passed < window->half)
        return;
    window->before = passed < 2 * window->half ? window->began : 0;
    window->began = passed < 2 * window->half ? window->began + window->half : now;
}

static void window_add(struct window *window, bool marked)
{
    struct report *report = &window->reports[window->count++];
    window_move(window);
    report->half = window->began;
    report->marked = marked;
}

static uint32_t window_count(struct window *window, bool marked)
{
    uint32_t i, count = 0;
    window_move(window);
    for (i = 0; i < window->count; i++) {
        const struct report *report = &window->reports[i];
        count += (!marked || report->marked) &&
                 (report->half == window->began || report->half == window->before);
    }
    return count;
}

/* ---- the breaker --------------------------------------------------------------------------- */

enum { CLOSED, OPEN, HALF_OPEN, ISOLATED };

static struct {
    int state;
    uint64_t since; /* it opened, the last probe was sent, or a connection was counted */
    uint32_t changes, flight, answers, rounds, row;
    struct window window;
} model;

struct permit {
    retry_permit permit;
    uint32_t changes; /* how often the breaker had changed */
    uint64_t asked;
};

static struct permit permits[PERMITS];

static uint64_t span(retry_ms ms, uint64_t otherwise)
{
    if (ms == 0)
        return otherwise;
    return ms > 0x40000000 ? 0x40000000 : ms;
}

static uint64_t open_span(void)
{
    uint64_t open = span(breaker.open, 2000), most = span(breaker.open_max, 0);
    uint32_t i;
    for (i = 0; i < model.rounds && open < most; i++)
        open = open * 2 < most ? open * 2 : most;
    return open;
}

static void change(int state)
{
    model.state = state;
    model.changes++;
    model.flight = model.answers = 0;
    if (state == CLOSED)
        model.window.count = model.row = model.rounds = 0;
}

static void open_now(void)
{
    change(OPEN);
    model.since = now;
}

static bool is_due(void)
{
    return model.state == OPEN && now - model.since >= open_span();
}

/* Whether the model grants; it knows then of the probe. */
static bool follow_ask(bool may_probe)
{
    uint32_t most = breaker.probes ? breaker.probes : 1, flight = model.flight;
    if (model.state == CLOSED)
        return true;
    if (!may_probe || (model.state != HALF_OPEN && !is_due()))
        return false;
    if (model.state == OPEN)
        change(HALF_OPEN);
    flight = model.flight;
    if (flight + model.answers >= most) {
        if (now - model.since < span(breaker.probe_timeout, 5000))
            return false;
        flight = 0;
    }
    model.flight = flight + 1;
    model.since = now;
    return true;
}

static void ask(struct permit *kept)
{
    bool may_probe = !chance(8);
    uint64_t left = model.state == OPEN && !is_due() ? model.since + open_span() - now : 0;
    retry_permit got = retry_breaker_ask(&breaker, may_probe, instant());
    uint8_t state = retry_breaker_state(&breaker, instant());
    REQUIRE(got.granted ? got.wait == 0 : got.wait <= 0x40000000);
    REQUIRE(got.granted ? state == CLOSED || state == HALF_OPEN : state != CLOSED);
    if (steady) {
        REQUIRE(got.wait == left);
        REQUIRE(got.granted == follow_ask(may_probe));
    }
    REQUIRE(retry_classify_permit(got).reason ==
            (got.granted ? RETRY_REASON_NONE : RETRY_REASON_CIRCUIT_BREAKER_OPEN));
    REQUIRE(retry_classify_permit(got).retry_after == got.wait + got.wait / 8);
    kept->permit = got;
    kept->changes = model.changes;
    kept->asked = now;
}

static void call_ask(void)
{
    ask(&permits[below(PERMITS)]);
}

enum { IGNORED, SICK, ANSWERED };

/* It never left this machine, by the client's fault, or there is nothing in it. */
static bool says_nothing(const retry_failure *failure)
{
    if (failure->unsent)
        return failure->fault == RETRY_FAULT_CLIENT;
    return failure->reason == RETRY_REASON_NONE && failure->fault == RETRY_FAULT_OTHER &&
           failure->code == 0 && !failure->timeout && !failure->throttle;
}

/* A failure, and what it counts for; *failure is NULL of one that worked. */
static int hostile_outcome(retry_failure *failure, const retry_failure **told)
{
    static const struct {
        retry_reason reason;
        int outcome;
    } rows[] = {
        {RETRY_REASON_NONE, ANSWERED},
        {RETRY_REASON_ATTEMPT_TIMED_OUT, SICK},
        {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, SICK},
        {RETRY_REASON_SOCKET_NOT_AVAILABLE, SICK},
        {RETRY_REASON_SERVICE_NOT_AVAILABLE, SICK},
        {RETRY_REASON_NODE_NOT_AVAILABLE, SICK},
        {RETRY_REASON_SERVER_ERROR, SICK},
        {RETRY_REASON_CIRCUIT_BREAKER_OPEN, IGNORED},
        {RETRY_REASON_CLIENT_THROTTLED, IGNORED},
        {RETRY_REASON_KV_LOCKED, ANSWERED},
        {RETRY_REASON_USER(3, 0), ANSWERED},
        {RETRY_REASON_UNKNOWN, ANSWERED},
    };
    uint8_t flags = byte();
    uint32_t row = flags % (sizeof rows / sizeof rows[0] + 4);
    *told = NULL;
    if (row >= sizeof rows / sizeof rows[0])
        return ANSWERED;
    memset(failure, 0, sizeof *failure);
    failure->reason = rows[row].reason;
    failure->timeout = (flags & 0xc0) == 0xc0;
    failure->throttle = (flags & 0x20) != 0;
    flags = byte();
    failure->unsent = (flags & 3) == 3;
    failure->fault = flags & 4    ? RETRY_FAULT_CLIENT
                     : flags & 16 ? RETRY_FAULT_SERVER
                                  : RETRY_FAULT_OTHER;
    failure->code = flags & 8 ? 404 : 0;
    *told = failure;
    if (says_nothing(failure) || rows[row].outcome == IGNORED)
        return IGNORED;
    if (failure->timeout)
        return SICK;
    if (failure->throttle && failure->fault != RETRY_FAULT_SERVER && !failure_unsent(failure))
        return ANSWERED; /* a quota */
    if (failure->reason == RETRY_REASON_USER(3, 0) && failure->fault == RETRY_FAULT_SERVER)
        return SICK;
    return rows[row].outcome == SICK ? SICK : failure->unsent ? IGNORED : ANSWERED;
}

static bool trips(void)
{
    uint64_t all = window_count(&model.window, false), sick = window_count(&model.window, true);
    uint64_t ratio = breaker.ratio ? breaker.ratio : 0x8000;
    if (ratio > 0x10000)
        ratio = 0x10000;
    if (breaker.in_a_row != 0 && model.row >= breaker.in_a_row)
        return true;
    return all >= (breaker.volume ? breaker.volume : 20) &&
           sick * 0x20000 >= (2 * ratio - (ratio % 0x2000 != 0)) * all;
}

static bool follow_probe(int outcome, uint64_t elapsed)
{
    uint32_t most = breaker.probes ? breaker.probes : 1;
    if (outcome == SICK) {
        uint32_t rounds = model.rounds;
        open_now();
        model.rounds = rounds < 255 ? rounds + 1 : rounds;
        return true;
    }
    if (model.flight != 0 && elapsed < span(breaker.probe_timeout, 5000))
        model.flight--;
    model.answers += outcome == ANSWERED;
    if (model.flight + model.answers > most)
        model.flight = most - model.answers;
    if (model.answers < most)
        return false;
    change(CLOSED);
    return true;
}

/* Whether all attempts on one connection fail so. */
static bool of_connection(const retry_failure *told)
{
    return told && !told->timeout &&
           (told->reason == RETRY_REASON_SOCKET_NOT_AVAILABLE ||
            told->reason == RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
}

/* Whether the model changes its state. */
static bool follow_outcome(const struct permit *permit, const retry_failure *told, int outcome)
{
    uint64_t elapsed = now - permit->asked;
    if (!permit->permit.granted || permit->changes != model.changes)
        return false;
    if (outcome == ANSWERED && breaker.slow != 0 && elapsed >= breaker.slow)
        outcome = SICK;
    if (model.state == HALF_OPEN)
        return follow_probe(outcome, elapsed);
    if (outcome == IGNORED)
        return false;
    if (of_connection(told)) {
        if ((retry_time)model.since != 0 && permit->asked <= model.since)
            return false;
        model.since = now;
    }
    window_add(&model.window, outcome == SICK);
    model.row = outcome == SICK ? model.row + 1 : 0;
    if (outcome != SICK || !trips())
        return false;
    open_now();
    return true;
}

static void report(const struct permit *permit, const retry_failure *told, int outcome)
{
    bool got = retry_breaker_report(&breaker, permit->permit, told, instant());
    if (steady)
        REQUIRE(got == follow_outcome(permit, told, outcome));
}

static void call_report(void)
{
    const struct permit *permit = &permits[below(PERMITS)];
    retry_failure failure;
    const retry_failure *told;
    int outcome = hostile_outcome(&failure, &told);
    report(permit, told, outcome);
}

static void call_release(void)
{
    const struct permit *permit = &permits[below(PERMITS)];
    retry_breaker_release(&breaker, permit->permit, instant());
    if (steady)
        follow_outcome(permit, NULL, IGNORED);
}

/* Many attempts in one ms, as far as they are granted. */
static void call_burst(void)
{
    uint32_t count = below(32);
    retry_failure failure;
    const retry_failure *told;
    int outcome = hostile_outcome(&failure, &told);
    for (; count != 0 && model.window.count < REPORTS - 1; count--) {
        struct permit permit;
        ask(&permit);
        report(&permit, told, outcome);
    }
}

static void call_set(uint8_t state)
{
    retry_breaker_set(&breaker, state, instant());
    REQUIRE(retry_breaker_state(&breaker, instant()) == state);
    change(state);
    model.window.count = model.row = model.rounds = 0;
    model.since = now;
}

static void check_breaker(void)
{
    uint8_t state = retry_breaker_state(&breaker, instant());
    retry_breaker_counts counts = retry_breaker_get(&breaker, instant());
    REQUIRE(state <= ISOLATED);
    REQUIRE(counts.sick <= counts.reports);
    if (!steady)
        return;
    REQUIRE(state == (is_due() ? HALF_OPEN : model.state));
    REQUIRE(counts.reports == window_count(&model.window, false));
    REQUIRE(counts.sick == window_count(&model.window, true));
    REQUIRE(counts.in_a_row == model.row);
    REQUIRE(counts.sick_probes == model.rounds);
}

/* ---- the throttle -------------------------------------------------------------------------- */

static struct window requests; /* marked are those that were accepted */

static bool asked_of_throttle(uint32_t random)
{
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    retry_gates_throttle(&gates, &throttle);
    return by_hand_ask(&gates, random, instant()).what == RETRY_DO_SEND;
}

static void call_throttle_ask(void)
{
    uint32_t random = word();
    uint64_t k = throttle.k ? throttle.k : 0x20000;
    uint64_t most = throttle.max_rejection ? throttle.max_rejection : 58982;
    bool got = asked_of_throttle(random);
    if (k < 0x10000)
        k = 0x10000;
    if (most > 65470)
        most = 65470;
    if (steady) {
        uint64_t sent = window_count(&requests, false);
        uint64_t all = sent << 16, wanted = k * window_count(&requests, true);
        bool below_most = random < most << 16;
        bool below_excess = all > wanted && (uint64_t)random * (sent + 1) < (all - wanted) << 16;
        REQUIRE(got == !(below_most && below_excess));
    }
    if (random >= most << 16)
        REQUIRE(got);
}

static void call_throttle_report(void)
{
    retry_failure failure;
    const retry_failure *told;
    int outcome = hostile_outcome(&failure, &told);
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    retry_gates_throttle(&gates, &throttle);
    window_move(&requests); /* the ask does, also where nothing is counted */
    REQUIRE(by_hand_attempt(&gates, UINT32_MAX, instant(), told, instant()).what == RETRY_DO_SEND);
    if (outcome != IGNORED)
        window_add(&requests, outcome == ANSWERED && !(told && told->throttle));
}

/* ---- calls --------------------------------------------------------------------------------- */

static void pass_time(void)
{
    uint8_t how = byte();
    uint64_t ms = how < 0xf0 ? hostile() : word();
    clock_pass(ms, how >= 0xf8);
    if (now - started > DAYS_24)
        steady = false;
}

static void call(uint8_t which)
{
    switch (which % 16) {
    case 0:
    case 1:
        call_report();
        break;
    case 2:
        call_release();
        break;
    case 3:
        call_burst();
        break;
    case 4:
        if (which > 0xa0)
            call_set((which >> 4) & 3);
        break;
    case 5:
    case 6:
        call_throttle_ask();
        break;
    case 7:
        call_throttle_report();
        break;
    case 8:
    case 9:
    case 10:
    case 11:
        pass_time();
        break;
    default:
        call_ask();
    }
}

static void set_up(void)
{
    uint8_t flags = byte(), more = byte();
    memset(&breaker, 0, sizeof breaker);
    memset(&throttle, 0, sizeof throttle);
    memset(&model, 0, sizeof model);
    memset(permits, 0, sizeof permits);
    breaker.volume = flags & 1 ? hostile() : 1 + below(8);
    breaker.ratio = flags & 2 ? hostile() : 0;
    breaker.window = flags & 4 ? hostile() : 0;
    breaker.open = flags & 8 ? hostile() : below(16);
    breaker.probe_timeout = flags & 8 ? hostile() : below(16);
    throttle.k = flags & 16 ? hostile() : 0;
    throttle.max_rejection = flags & 32 ? hostile() : 0;
    throttle.window = flags & 64 ? hostile() : 0;
    breaker.open_max = more & 1 ? hostile() : 0;
    breaker.slow = more & 2 ? hostile() : 0;
    breaker.in_a_row = more & 4 ? (uint16_t)hostile() : 0;
    breaker.probes = more & 8 ? byte() : (more >> 4) & 3;
    clock_start();
    window_set_up(&model.window, breaker.window ? breaker.window : 8000);
    window_set_up(&requests, throttle.window ? throttle.window : 4000);
    retry_breaker_get(&breaker, instant());
    asked_of_throttle(0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes_start(data, size);
    set_up();
    while (bytes_left != 0 && model.window.count < REPORTS - 1 && requests.count < REPORTS - 1) {
        call(byte());
        check_breaker();
    }
    return 0;
}
