/* Fuzz target for the two gates that count over a window: bytes become calls on one breaker and one
   throttle, beside models that keep every report with its instant. On a clock that goes on, each
   answer is the model's; on one that jumps, what holds of any answer. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <string.h>

#include "bytes.h"
#include "clock.h"
#include "replay.h"

/* Beyond these the manual promises less: counts are halved, permits come round again. */
#define REPORTS 1000u
#define CHANGES 58u

#define PERMITS 4

static retry_breaker breaker;
static retry_throttle throttle;

/* What was reported, and when: marked are the sick, or the accepted. */
struct report {
    uint64_t slice;
    bool marked;
};

struct window {
    struct report reports[REPORTS];
    uint32_t count;
    unsigned shift;
};

/* Eighths of 2^n ms, rounded up. */
static void window_set_up(struct window *window, retry_ms length)
{
    window->count = 0;
    for (window->shift = 0; window->shift < 20 && (8u << window->shift) < length;)
        window->shift++;
}

static void window_add(struct window *window, bool marked)
{
    struct report *report = &window->reports[window->count++];
    report->slice = now >> window->shift;
    report->marked = marked;
}

static uint32_t window_count(const struct window *window, bool marked)
{
    uint32_t i, count = 0;
    for (i = 0; i < window->count; i++)
        count += (!marked || window->reports[i].marked) &&
                 (now >> window->shift) - window->reports[i].slice < 8;
    return count;
}

/* ---- the breaker --------------------------------------------------------------------------- */

enum { CLOSED, OPEN, PROBING, DUE };

static struct {
    int state;
    uint64_t since;
    uint32_t changes;
    struct window window;
} model;

struct permit {
    retry_permit permit;
    uint32_t changes; /* how often the breaker had changed */
    bool probe;
};

static struct permit permits[PERMITS];

static uint64_t span(retry_ms ms)
{
    if (ms == 0)
        return 5000;
    return ms > 0x40000000 ? 0x40000000 : ms;
}

static void change(int state, uint64_t since)
{
    model.state = state;
    model.since = since;
    model.changes++;
    if (state == CLOSED)
        model.window.count = 0;
}

/* A probe that was not reported in time has failed then. */
static void expire_probe(void)
{
    if (model.state == PROBING && now - model.since >= span(breaker.probe_timeout))
        change(OPEN, model.since + span(breaker.probe_timeout));
}

static bool probe_is_due(void)
{
    return model.state == DUE || (model.state == OPEN && now - model.since >= span(breaker.open));
}

static void call_ask(void)
{
    struct permit *kept = &permits[below(PERMITS)];
    retry_permit got = retry_breaker_ask(&breaker, true, instant());
    bool granted;
    REQUIRE(got.granted ? got.wait == 0 : got.wait <= span(breaker.open));
    if (steady) {
        expire_probe();
        granted = model.state == CLOSED || probe_is_due();
        REQUIRE(got.granted == granted);
        if (!granted)
            REQUIRE(got.wait == (model.state == OPEN ? model.since + span(breaker.open) - now : 0));
        if (granted && model.state != CLOSED)
            change(PROBING, now);
    }
    REQUIRE(retry_breaker_state(&breaker, instant()) !=
            (got.granted ? RETRY_BREAKER_OPEN : RETRY_BREAKER_CLOSED));
    kept->permit = got;
    kept->changes = model.changes;
    kept->probe = model.state == PROBING;
    REQUIRE(retry_classify_permit(got).reason ==
            (got.granted ? RETRY_REASON_NONE : RETRY_REASON_CIRCUIT_BREAKER_OPEN));
    REQUIRE(retry_classify_permit(got).retry_after == got.wait);
}

enum { IGNORED, SICK, ANSWERED };

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
    *told = failure;
    return rows[row].outcome == ANSWERED && failure->timeout ? SICK : rows[row].outcome;
}

static bool trips(void)
{
    uint64_t all = window_count(&model.window, false), sick = window_count(&model.window, true);
    uint64_t volume = breaker.volume ? breaker.volume : 20;
    uint64_t ratio = breaker.ratio ? breaker.ratio : 0x8000;
    if (ratio > 0x10000)
        ratio = 0x10000;
    return all >= (volume > 500 ? 500 : volume) && sick * 0x20000 >= (2 * ratio - 1) * all;
}

static void follow_outcome(const struct permit *permit, int outcome)
{
    expire_probe();
    if (!permit->permit.granted || permit->changes != model.changes)
        return;
    if (permit->probe) {
        change(outcome == SICK ? OPEN : outcome == ANSWERED ? CLOSED : DUE, now);
    } else if (outcome != IGNORED) {
        window_add(&model.window, outcome == SICK);
        if (outcome == SICK && trips())
            change(OPEN, now);
    }
}

static void call_report(void)
{
    const struct permit *permit = &permits[below(PERMITS)];
    retry_failure failure;
    const retry_failure *told;
    int outcome = hostile_outcome(&failure, &told);
    retry_breaker_report(&breaker, permit->permit, told, instant());
    follow_outcome(permit, outcome);
}

static void call_release(void)
{
    const struct permit *permit = &permits[below(PERMITS)];
    retry_breaker_release(&breaker, permit->permit, instant());
    follow_outcome(permit, IGNORED);
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
        permit.permit = retry_breaker_ask(&breaker, true, instant());
        expire_probe();
        if (steady)
            REQUIRE(permit.permit.granted == (model.state == CLOSED || probe_is_due()));
        if (permit.permit.granted && probe_is_due())
            change(PROBING, now);
        permit.changes = model.changes;
        permit.probe = model.state == PROBING;
        retry_breaker_report(&breaker, permit.permit, told, instant());
        follow_outcome(&permit, outcome);
    }
}

static void call_reset(void)
{
    retry_breaker_reset(&breaker, instant());
    REQUIRE(retry_breaker_state(&breaker, instant()) == RETRY_BREAKER_CLOSED);
    change(CLOSED, now);
}

static void check_state(void)
{
    uint8_t state = retry_breaker_state(&breaker, instant());
    REQUIRE(state <= RETRY_BREAKER_HALF_OPEN);
    if (!steady)
        return;
    expire_probe();
    REQUIRE(state == (model.state == CLOSED    ? RETRY_BREAKER_CLOSED
                      : model.state == PROBING ? RETRY_BREAKER_HALF_OPEN
                                               : RETRY_BREAKER_OPEN));
}

/* ---- the throttle -------------------------------------------------------------------------- */

static struct window requests; /* those that were accepted are counted once more, as marked */

static uint32_t accepted(void)
{
    return window_count(&requests, true);
}

static uint32_t sent(void)
{
    return window_count(&requests, false) - accepted();
}

static void call_throttle_ask(void)
{
    uint32_t random = word();
    uint64_t k = throttle.k ? throttle.k : 0x20000;
    uint64_t most = throttle.max_rejection ? throttle.max_rejection : 58982;
    bool got = retry_throttle_ask(&throttle, random, instant());
    if (k < 0x10000)
        k = 0x10000;
    if (most > 65470)
        most = 65470;
    if (steady) {
        uint64_t all = (uint64_t)sent() << 16, wanted = k * accepted();
        bool below_most = random < most << 16;
        bool below_excess = all > wanted && (uint64_t)random * (sent() + 1) < (all - wanted) << 16;
        REQUIRE(got == !(below_most && below_excess));
    }
    if (random >= most << 16)
        REQUIRE(got);
    if (got)
        window_add(&requests, false);
}

static void call_throttle_report(void)
{
    retry_failure failure;
    const retry_failure *told;
    int outcome = hostile_outcome(&failure, &told);
    retry_throttle_report(&throttle, told, instant());
    if (outcome == ANSWERED && !(told && told->throttle))
        window_add(&requests, true);
}

/* ---- calls --------------------------------------------------------------------------------- */

static void pass_time(void)
{
    uint8_t how = byte();
    uint64_t ms = how < 0xf0 ? hostile() : word();
    clock_pass(ms, how >= 0xf8);
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
        if (which > 0xc0)
            call_reset();
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
    uint8_t flags = byte();
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
    window_set_up(&model.window, breaker.window ? breaker.window : 60000);
    window_set_up(&requests, throttle.window ? throttle.window : 120000);
    clock_start();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes_start(data, size);
    set_up();
    while (bytes_left != 0 && model.changes < CHANGES && model.window.count < REPORTS - 1 &&
           requests.count < REPORTS - 1) {
        call(byte());
        check_state();
    }
    return 0;
}
