/* Fuzz target for what paces: bytes become operations of one rate, one AIMD limit and one latency,
   each alone, beside models in real numbers. On a clock that goes on, each answer is the model's;
   on one that jumps, what holds of any answer. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <math.h>
#include <string.h>

#include "../support/by_hand.h"
#include "../support/reasons.h"
#include "bytes.h"
#include "clock.h"
#include "replay.h"

static retry_rate rate;
static retry_aimd aimd;
static retry_latency latency;

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

enum { IGNORED, SICK, BROKEN, ANSWERED };

/* A failure, and what it counts for: BROKEN is a sick one that says nothing about overload, unless
   it is a 503. */
static int hostile_outcome(retry_failure *failure, const retry_failure **told)
{
    static const struct {
        retry_reason reason;
        int outcome;
    } rows[] = {
        {RETRY_REASON_NONE, ANSWERED},
        {RETRY_REASON_ATTEMPT_TIMED_OUT, SICK},
        {RETRY_REASON_SOCKET_NOT_AVAILABLE, SICK},
        {RETRY_REASON_SERVER_ERROR, BROKEN},
        {RETRY_REASON_CIRCUIT_BREAKER_OPEN, IGNORED},
        {RETRY_REASON_CLIENT_THROTTLED, IGNORED},
        {RETRY_REASON_KV_LOCKED, ANSWERED},
    };
    uint8_t flags = byte();
    uint32_t row = flags & 15;
    *told = NULL;
    if (row >= sizeof rows / sizeof rows[0])
        return ANSWERED;
    memset(failure, 0, sizeof *failure);
    failure->reason = rows[row].reason;
    failure->timeout = (flags & 0xc0) == 0xc0;
    failure->throttle = (flags & 0x20) != 0;
    failure->code = flags & 0x10 ? 503 : 500;
    flags = byte();
    failure->unsent = (flags & 7) == 7;
    failure->retry_after = flags & 8 ? hostile() : 0;
    *told = failure;
    if (rows[row].outcome != IGNORED && failure->timeout)
        return SICK;
    if (failure->throttle && rows[row].outcome != IGNORED && !failure_unsent(failure))
        return ANSWERED; /* a quota */
    return failure->unsent && rows[row].outcome == ANSWERED ? IGNORED : rows[row].outcome;
}

/* ---- the rate ------------------------------------------------------------------------------ */

/* Limits are whole numbers of thousandths of a send a second, as the rate has them. */
static struct {
    double limit, held, good;           /* 0: none but `max`; held: before it rose */
    uint64_t half;                      /* when the half second under way began */
    uint32_t accepted, throttled, calm; /* calm: half seconds in a row */
    double lacks;                       /* ms, of the bucket */
    uint64_t filled;
} pace;

static double bound(double limit)
{
    limit = fmax(limit, rate.min ? rate.min : 500);
    return fmin(limit, rate.max ? rate.max : UINT32_MAX);
}

static void end_half_second(void)
{
    double sent = 2000.0 * pace.accepted + 2000.0 * pace.throttled;
    double last = rate.max ? rate.max : fmin(sent, UINT32_MAX);
    static const double rises[] = {RETRY_RATIO(0.125), RETRY_RATIO(0.15), RETRY_RATIO(0.2),
                                   RETRY_RATIO(0.4),   RETRY_RATIO(0.8),  RETRY_RATIO(1)};
    double more = rises[smaller(pace.calm, 5)];
    if (pace.limit > 0)
        last = pace.limit;
    if (pace.throttled != 0) {
        bool some = pace.accepted != 0 || pace.limit <= 0;
        pace.limit = bound(fmax(pace.accepted * 2000.0, floor(last / 2)));
        pace.good = some ? pace.limit : pace.good;
        pace.calm = 0;
    } else if (pace.limit > 0) {
        if (pace.accepted != 0)
            pace.limit = fmax(pace.limit, pace.good);
        pace.limit = bound(pace.limit + floor(pace.limit * more / 65536 + 0.5));
        if (++pace.calm == 23)
            pace.limit = 0;
    }
    pace.accepted = pace.throttled = 0;
    pace.half += 500;
}

static bool under_way(void)
{
    return pace.limit > 0 || pace.accepted != 0 || pace.throttled != 0;
}

/* What the time before a call makes of the limit. */
static void follow_limit(void)
{
    double before = pace.limit;
    bool ended = false;
    for (; under_way() && now - pace.half >= 500; ended = true)
        end_half_second();
    if (ended)
        pace.held = before > 0 ? fmin(before, pace.limit) : pace.limit;
    REQUIRE(retry_rate_get(&rate) == (pace.limit > 0 ? pace.limit : bound(UINT32_MAX)));
}

/* ms between two sends, in the 4096ths that the rate counts in. */
static double spacing(void)
{
    double limit = pace.limit > 0 ? pace.limit : bound(UINT32_MAX);
    if (pace.limit > 0 && pace.throttled != 0)
        limit = pace.held;
    return floor(4096e6 / limit + 0.5) / 4096;
}

static void call_rate_ask(void)
{
    retry_ms got = by_hand_rate(&rate, instant());
    double full, missing;
    REQUIRE(retry_rate_get(&rate) >= smaller(rate.min ? rate.min : 500, larger(rate.max, 1)));
    if (!steady)
        return;
    follow_limit();
    if (pace.limit == 0 && rate.max == 0) {
        REQUIRE(got == 0);
        return;
    }
    full = fmax(125, spacing());
    pace.lacks = fmax(pace.lacks - (double)(now - pace.filled), 0);
    pace.filled = now;
    missing = pace.lacks + spacing() - full;
    if (missing <= 0)
        pace.lacks += spacing();
    REQUIRE(got == fmax(ceil(missing), 0));
}

/* Of an attempt that was sent before there was a limit: it takes no token now. */
static void report_rate(const retry_failure *failure)
{
    retry_rate kept = rate;
    struct by_hand hand;
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    memset(&rate, 0, sizeof rate);
    retry_gates_rate(&gates, &rate);
    REQUIRE(by_hand_send(&hand, &gates, NULL, instant()).what == RETRY_DO_SEND);
    rate = kept;
    by_hand_end(&hand, failure, instant());
}

static void call_rate_report(void)
{
    retry_failure failure;
    const retry_failure *told;
    int outcome = hostile_outcome(&failure, &told);
    report_rate(told);
    if (!steady || outcome == IGNORED ||
        (told && (told->unsent || told->reason == RETRY_REASON_SOCKET_NOT_AVAILABLE)))
        return;
    follow_limit();
    if (!under_way())
        pace.half = now;
    if (told && told->throttle)
        pace.throttled++;
    else
        pace.accepted++;
}

/* ---- the AIMD limit ------------------------------------------------------------------------ */

static struct {
    uint32_t limit;      /* as it was left; 0: it never changed */
    uint64_t fell, rose; /* 0: never */
    uint32_t known;      /* so far it doubles; 0: without end */
    uint32_t row;        /* failures in a row that may lower it */
    uint64_t pause;      /* when it began, or begins */
    retry_ms length;
    bool held;       /* the server asked for it */
    uint32_t failed; /* what share of the last failed, in 65,536ths */
} steps;

static uint32_t within(uint32_t limit)
{
    uint32_t max = aimd.max ? aimd.max : 1000, min = aimd.min ? aimd.min : 1;
    if (limit == 0)
        limit = aimd.initial ? aimd.initial : 20;
    return smaller(larger(limit, min), max);
}

/* When a change is now: instant 0 counts as 1. */
static uint64_t changed(void)
{
    return (uint32_t)now == 0 ? now + 1 : now;
}

/* For an attempt that began so long ago. */
static bool cooled(uint64_t since, retry_ms age)
{
    return since == 0 || changed() - since > larger(age, smaller(aimd.cooldown, 0x40000000));
}

/* A number from low to high. */
static uint32_t picked(uint32_t low, uint32_t high, uint32_t drawn)
{
    return low + (uint32_t)(((uint64_t)(high - low + 1) * drawn) >> 32);
}

/* floor(limit * decrease), where half a unit of the ratio does no harm; less by one at least. */
static void require_fall(uint32_t before, uint32_t after)
{
    uint64_t ratio = aimd.decrease ? aimd.decrease : 0x8000, low, high;
    if (ratio > 65470)
        ratio = 65470;
    low = ((uint64_t)before * ratio) >> 16;
    high = ((uint64_t)before * (2 * ratio + 1)) >> 17;
    if (high >= before)
        high = before - 1;
    if (low > high)
        low = high;
    REQUIRE(after >= within(larger((uint32_t)low, 1)) &&
            after <= within(larger((uint32_t)high, 1)));
    REQUIRE(after < before || after == within(1));
}

/* A fall from there: the first since a rise tells how far it may double. */
static void learn(uint32_t before)
{
    if (steps.fell == 0 || steps.rose > steps.fell)
        steps.known = larger(before - before / 4, 1);
}

static void follow_fall(uint32_t before, uint32_t after, retry_ms age)
{
    if (!cooled(steps.fell, age)) {
        REQUIRE(after == before);
        return;
    }
    require_fall(before, after);
    learn(before);
    steps.limit = after;
    steps.fell = changed();
}

static void follow_rise(uint32_t before, uint32_t after, uint32_t in_use, retry_ms age)
{
    bool back = before < within(0); /* below `initial` */
    uint32_t known = steps.known ? steps.known : UINT32_MAX, most = 0, expected;
    uint64_t more;
    if (back)
        most = smaller(before / 4, within(0) - before);
    else if (in_use >= before && before < known)
        most = smaller(before, known - before);
    more = larger(aimd.increase ? aimd.increase : 1, most);
    expected = within((uint32_t)(before + more > UINT32_MAX ? UINT32_MAX : before + more));
    if (expected <= before || in_use < before - before / (back ? 2 : 4) ||
        !cooled(steps.fell, age) || !cooled(steps.rose, age)) {
        REQUIRE(after == before);
        return;
    }
    REQUIRE(after == expected);
    steps.limit = after;
    steps.rose = changed();
}

/* ms that a server may hold back all. */
static retry_ms hold_max(void)
{
    return aimd.hold_max ? smaller(aimd.hold_max, 1u << 30) : 2000;
}

/* ms that are left of a pause. */
static retry_ms pause_left(void)
{
    uint64_t passed = now > steps.pause ? now - steps.pause : 0;
    return passed < steps.length ? steps.length - (retry_ms)passed : 0;
}

/* One that is the limit's own begins at an even instant, one that the server asked for at an odd
   one, and takes the place of a shorter one of the limit's. */
static void follow_pause(retry_ms low, retry_ms high, bool held, uint32_t drawn)
{
    retry_ms length = picked(low, high, drawn), left = pause_left();
    if (left != 0 && (steps.held || !held || left >= length))
        return;
    steps.pause = now - now % 2;
    if ((uint32_t)steps.pause < 2)
        steps.pause += 2;
    steps.pause += held;
    steps.length = length;
    steps.held = held;
}

/* Whether it lowers the limit by itself: a time-out of the client's own only if most of the last
   failed. */
static bool lowers(const retry_failure *failure)
{
    bool own = failure->reason == RETRY_REASON_ATTEMPT_TIMED_OUT;
    return failure->throttle || (failure->timeout && (!own || steps.failed > 32768));
}

/* What may lower the limit: at the lowest a sick one may begin a pause, too, and the fifth in a row
   one that the server asks for. */
static void follow_failure(uint32_t before, uint32_t after, const retry_failure *failure,
                           bool is_sick, retry_ms age, uint32_t drawn)
{
    retry_ms pause = smaller(100u << smaller(steps.row, 4), 1000);
    retry_ms hold = smaller(failure->retry_after, hold_max());
    bool holds = failure->throttle && ++steps.row >= 5 && failure->retry_after > 1 &&
                 failure->retry_after != UINT32_MAX && aimd.hold_max != 1;
    steps.row += !failure->throttle;
    steps.failed += (65536 - steps.failed) / 16;
    if (holds) {
        REQUIRE(after == within(1));
        if (cooled(steps.fell, age)) {
            learn(before);
            steps.fell = changed();
        }
        steps.limit = after;
        follow_pause(hold, hold + hold / 8, true, drawn);
    } else if (lowers(failure) || steps.row >= 3) {
        follow_fall(before, after, age);
    } else {
        REQUIRE(after == before);
    }
    if (is_sick && after == within(1))
        follow_pause(pause / 2, pause, false, drawn);
}

/* Of an attempt that was sent when there was room, and no pause. */
static void report_aimd(const retry_failure *failure, uint32_t in_use, retry_ms age, uint32_t drawn)
{
    retry_aimd kept = aimd;
    struct by_hand hand;
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    memset(&aimd, 0, sizeof aimd);
    retry_gates_aimd(&gates, &aimd);
    REQUIRE(by_hand_send(&hand, &gates, &drawn, (retry_time)(now - age)).what == RETRY_DO_SEND);
    aimd = kept;
    gates.in_flight = in_use;
    by_hand_end(&hand, failure, instant());
}

static void call_aimd_report(void)
{
    retry_failure failure;
    const retry_failure *told;
    int outcome = hostile_outcome(&failure, &told);
    uint32_t in_use = chance(2) ? UINT32_MAX : hostile(), before = retry_aimd_limit(&aimd), after;
    uint32_t drawn = chance(2) ? word() : 0;
    retry_ms age = chance(2) ? hostile() : 0;
    report_aimd(told, in_use, age, drawn);
    after = retry_aimd_limit(&aimd);
    REQUIRE(after == within(after));
    if (!steady)
        return;
    REQUIRE(before == within(steps.limit));
    if (age > UINT32_MAX - 32768) /* a clock that stepped back */
        age = 0;
    if (outcome == IGNORED) {
        REQUIRE(after == before);
    } else if (outcome == ANSWERED && !(told && told->throttle)) {
        follow_rise(before, after, in_use, age);
        if (steps.row != 0 && steps.held)
            steps.length = 0;
        steps.row = 0;
        steps.failed -= (steps.failed + 15) / 16;
    } else if (outcome == BROKEN && !told->throttle && told->code != 503) {
        REQUIRE(after == before);
    } else {
        follow_failure(before, after, told, outcome != ANSWERED, age, drawn);
    }
}

/* An attempt without an end, beside so many that are out. */
static void call_aimd_ask(void)
{
    uint32_t out = chance(2) ? 0 : hostile(), drawn = chance(2) ? word() : 0;
    uint32_t limit = retry_aimd_limit(&aimd);
    retry_ms pause = 0;
    retry_gates gates;
    retry_step step;
    memset(&gates, 0, sizeof gates);
    retry_gates_aimd(&gates, &aimd);
    gates.in_flight = out;
    step = by_hand_ask(&gates, drawn, instant());
    REQUIRE(gates.in_flight == out && retry_aimd_limit(&aimd) == limit);
    if (step.what == RETRY_DO_WAIT)
        REQUIRE(step.cause == RETRY_CAUSE_PACED && step.delay != 0 &&
                step.delay <= larger(hold_max() + hold_max() / 8, 1000) + 101);
    else
        REQUIRE(step.what == RETRY_DO_SEND && out < limit);
    if (!steady)
        return;
    if (steps.row >= 3 && limit == within(1))
        pause = pause_left();
    REQUIRE(step.what == (pause != 0 || out >= limit ? RETRY_DO_WAIT : RETRY_DO_SEND));
    if (step.what == RETRY_DO_WAIT)
        REQUIRE(step.delay == pause + picked(1, 100, drawn));
}

static void call_aimd_change(void)
{
    if (chance(2))
        aimd.max = hostile();
    else
        aimd.min = hostile();
    REQUIRE(retry_aimd_limit(&aimd) == within(retry_aimd_limit(&aimd)));
}

/* ---- the latency --------------------------------------------------------------------------- */

static uint32_t samples, finished;

static retry_ms bounded(retry_ms ms)
{
    retry_ms least = latency.min ? latency.min : 1;
    if (latency.max && ms > latency.max)
        ms = latency.max;
    return larger(ms, least);
}

/* What is known: as of min_samples samples. */
static retry_ms known(void)
{
    retry_latency copy = latency;
    copy.min_samples = 1;
    return retry_latency_get(&copy);
}

/* An attempt that took so long; else it was given up then. */
static void add_latency(retry_ms elapsed, bool done)
{
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    retry_gates_latency(&gates, &latency);
    if (done)
        by_hand_attempt(&gates, 0, (retry_time)(now - elapsed), NULL, instant());
    else
        by_hand_give_up(&gates, (retry_time)(now - elapsed), instant());
}

/* What is told moves towards the sample, if it moves: by half an octave at most, but that it falls
   to the fastest of the first twelve. */
static void call_latency_add(void)
{
    retry_ms elapsed = chance(4) ? hostile() : below(64), before = known(), after;
    bool done = !chance(4);
    add_latency(elapsed, done);
    if (elapsed > UINT32_MAX - 32768) /* a clock that stepped back */
        elapsed = 0;
    samples++;
    finished += done;
    if (samples < latency.min_samples)
        REQUIRE(retry_latency_get(&latency) == UINT32_MAX);
    after = known();
    if (finished >= latency.min_samples)
        REQUIRE(retry_latency_get(&latency) == after);
    if (finished == 0) {
        REQUIRE(after == UINT32_MAX);
        return;
    }
    REQUIRE(after == bounded(after) && after != UINT32_MAX);
    elapsed = bounded(smaller(elapsed, 1u << 24));
    if (before == UINT32_MAX) {
        REQUIRE(after >= elapsed && after <= elapsed + elapsed / 64);
        return;
    }
    REQUIRE(after <= before + before / 2 + 2);
    REQUIRE(finished <= 12 || after + after / 2 + 2 >= before);
    if (!done || elapsed > before)
        REQUIRE(after >= before);
    if (elapsed + elapsed / 32 + 2 < before)
        REQUIRE(done ? after <= before : after == before);
}

/* ---- calls --------------------------------------------------------------------------------- */

static void pass_time(void)
{
    uint8_t how = byte();
    uint64_t ms = how < 0x80 ? how : how < 0xf4 ? hostile() & 0xffff : word();
    clock_pass(ms, how >= 0xfc);
}

static void call(uint8_t which)
{
    uint32_t i;
    switch (which % 16) {
    case 0:
    case 1:
    case 2:
        call_rate_ask();
        break;
    case 3:
    case 4:
    case 5:
        call_rate_report();
        break;
    case 6:
    case 7:
    case 8:
        call_aimd_report();
        break;
    case 9:
        call_aimd_change();
        break;
    case 12:
        call_aimd_ask();
        break;
    case 10:
    case 11:
        for (i = below(64); i != 0; i--)
            call_latency_add();
        break;
    default:
        pass_time();
    }
}

static void set_up(void)
{
    uint8_t flags = byte();
    memset(&rate, 0, sizeof rate);
    memset(&aimd, 0, sizeof aimd);
    memset(&latency, 0, sizeof latency);
    memset(&pace, 0, sizeof pace);
    memset(&steps, 0, sizeof steps);
    samples = finished = 0;
    rate.min = flags & 1 ? hostile() : 0;
    rate.max = chance(2) ? hostile() : 0;
    rate.wait = 1; /* who would have to wait is refused, and takes nothing */
    aimd.max = flags & 2 ? hostile() : 10;
    aimd.initial = chance(2) ? hostile() : 0;
    aimd.min = flags & 4 ? hostile() : 0;
    aimd.increase = flags & 8 ? hostile() : 0;
    aimd.decrease = flags & 8 ? hostile() : 0;
    aimd.cooldown = flags & 16 ? hostile() : 0;
    aimd.hold_max = chance(2) ? hostile() : 0;
    latency.quantile = flags & 32 ? hostile() : 0;
    latency.min_samples = 1 + below(9);
    latency.min = flags & 64 ? hostile() >> 1 : 0; /* its highest tells nothing from not known */
    latency.max = flags & 128 ? hostile() : 0;
    clock_start();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes_start(data, size);
    set_up();
    while (bytes_left != 0)
        call(byte());
    return 0;
}
