/* Fuzz target for what paces: bytes become calls on one adaptive rate, one AIMD limit and one
   latency, beside models in real numbers. On a clock that goes on, each answer is the model's; on
   one that jumps, what holds of any answer. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <math.h>
#include <string.h>

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

/* A failure, and what it counts for: BROKEN is a sick one that says nothing about overload. */
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
    *told = failure;
    return rows[row].outcome != IGNORED && failure->timeout ? SICK : rows[row].outcome;
}

/* ---- the rate ------------------------------------------------------------------------------ */

static struct {
    bool begun;
    uint64_t half;         /* of a second, in which the last one ended */
    double count;          /* responses since */
    double measured, peak; /* a second */
    double since;          /* s, when it was cut */
    uint32_t limit;        /* thousandths a second, as told; 0: none */
    uint64_t tokens;       /* millionths */
    uint64_t filled;
} pace;

static uint64_t half_second(void)
{
    return (now >> 32) * UINT64_C(8589935) + (now & UINT32_MAX) / 500;
}

static uint64_t capacity(void)
{
    return (uint64_t)smaller(larger(pace.limit, 1000), 4294967) * 1000;
}

static void fill(void)
{
    uint64_t passed = now - pace.filled;
    pace.filled = now;
    pace.tokens += passed > UINT32_MAX / larger(pace.limit, 1) ? UINT32_MAX : passed * pace.limit;
    if (pace.tokens > capacity())
        pace.tokens = capacity();
}

static void call_rate_ask(void)
{
    retry_ms got = retry_rate_ask(&rate, instant());
    uint32_t limit = pace.limit ? pace.limit : 1;
    REQUIRE(got <= (1000000 + limit - 1) / limit);
    if (pace.limit == 0)
        REQUIRE(got == 0);
    if (pace.limit == 0 || !steady)
        return;
    fill();
    if (pace.tokens >= 1000000) {
        REQUIRE(got == 0);
        pace.tokens -= 1000000;
    } else {
        REQUIRE(got == (1000000 - pace.tokens + limit - 1) / limit);
    }
}

static void measure(void)
{
    uint64_t half = half_second();
    if (!pace.begun) {
        pace.begun = true;
        pace.half = half;
        pace.filled = now;
    }
    pace.count += 1;
    if (half == pace.half)
        return;
    pace.measured = 0.8 * pace.count * 2 / (double)(half - pace.half) + 0.2 * pace.measured;
    pace.count = 0;
    pace.half = half;
}

/* Within 0.2 % and 0.01 a second of what the curve asks for, which is between these two. */
static void require_limit(double low, double high)
{
    double least = rate.min ? rate.min / 1000.0 : 0.5, got = pace.limit / 1000.0;
    REQUIRE(got >= least - 0.001);
    REQUIRE(got >= fmin(fmax(low, least), 2e6) * 0.998 - 0.011);
    REQUIRE(got <= fmax(high, least) * 1.002 + 0.011);
}

static void follow_throttled(double before)
{
    pace.peak = before > 0 ? fmin(before, pace.measured) : pace.measured;
    pace.since = (double)now / 1000;
    require_limit(0.7 * pace.peak, 0.7 * pace.peak);
}

static double curve(double since, double peak)
{
    double x = since - cbrt(fmax(peak, 0) * 0.75);
    return fmin(pace.peak + 0.4 * x * x * x, 2 * pace.measured);
}

/* The curve is steep far from where it was cut: 0.0005 a second more or less in the peak, and half
   a ms in time, are allowed for. */
static void follow_answer(void)
{
    double since = (double)now / 1000 - pace.since;
    require_limit(curve(since - 0.0005, pace.peak * 1.001 + 0.0005),
                  curve(since + 0.0005, pace.peak * 0.999 - 0.0005));
}

static void call_rate_report(void)
{
    retry_failure failure;
    const retry_failure *told;
    int outcome = hostile_outcome(&failure, &told);
    uint32_t before = pace.limit, after;
    retry_rate_report(&rate, told, instant());
    after = retry_rate_get(&rate);
    if (outcome == IGNORED) {
        REQUIRE(after == (before ? before : UINT32_MAX));
        return;
    }
    measure();
    if (before == 0 && !(told && told->throttle)) {
        REQUIRE(after == UINT32_MAX);
        return;
    }
    REQUIRE(after != UINT32_MAX);
    fill();
    pace.limit = after;
    if (pace.tokens > capacity())
        pace.tokens = capacity();
    if (!steady)
        REQUIRE(after >= (rate.min ? rate.min : 500));
    else if (told && told->throttle)
        follow_throttled(before / 1000.0);
    else
        follow_answer();
}

/* ---- the AIMD limit ------------------------------------------------------------------------ */

static struct {
    uint32_t limit; /* as it was left; 0: it never fell */
    uint64_t fell, rose;
} steps;

static uint32_t within(uint32_t limit)
{
    uint32_t max = aimd.max ? aimd.max : 2, min = aimd.min ? aimd.min : 1;
    return limit == 0 ? max : smaller(larger(limit, min), max);
}

static bool cooled(uint64_t since)
{
    uint64_t cooldown = aimd.cooldown ? aimd.cooldown : 5000;
    return now - since > (cooldown > 0x40000000 ? 0x40000000 : cooldown);
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

static void follow_fall(uint32_t before, uint32_t after)
{
    if (steps.limit != 0 && !cooled(steps.fell)) {
        REQUIRE(after == before);
        return;
    }
    require_fall(before, after);
    if (steps.limit == 0)
        steps.rose = now;
    steps.limit = after;
    steps.fell = now;
}

static void follow_rise(uint32_t before, uint32_t after, uint32_t in_use)
{
    uint64_t more = (uint64_t)before + (aimd.increase ? aimd.increase : 1);
    uint32_t expected = within(more > UINT32_MAX ? UINT32_MAX : (uint32_t)more);
    if (steps.limit == 0 || expected <= before || (uint64_t)2 * in_use < before ||
        !cooled(steps.fell) || !cooled(steps.rose)) {
        REQUIRE(after == before);
        return;
    }
    REQUIRE(after == expected);
    steps.limit = after;
    steps.rose = now;
}

static void call_aimd_report(void)
{
    retry_failure failure;
    const retry_failure *told;
    int outcome = hostile_outcome(&failure, &told);
    uint32_t in_use = chance(2) ? UINT32_MAX : hostile(), before = retry_aimd_limit(&aimd);
    uint32_t after = retry_aimd_report(&aimd, told, in_use, instant());
    REQUIRE(after == retry_aimd_limit(&aimd));
    REQUIRE(after == within(after));
    if (!steady)
        return;
    REQUIRE(before == within(steps.limit));
    if (outcome == IGNORED)
        REQUIRE(after == before);
    else if (outcome == SICK || (told && told->throttle))
        follow_fall(before, after);
    else if (outcome == ANSWERED)
        follow_rise(before, after, in_use);
    else
        REQUIRE(after == before);
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

/* What is told moves towards the sample, if it moves: by half an octave at most, but that it falls
   to the fastest of the first twelve. */
static void call_latency_add(void)
{
    retry_ms elapsed = chance(4) ? hostile() : below(64), before = known(), after;
    bool done = !chance(4);
    retry_latency_add(&latency, elapsed, done);
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
    rate.min = flags & 1 ? hostile() >> 1 : 0; /* likewise */
    aimd.max = flags & 2 ? hostile() : 10;
    aimd.min = flags & 4 ? hostile() : 0;
    aimd.increase = flags & 8 ? hostile() : 0;
    aimd.decrease = flags & 8 ? hostile() : 0;
    aimd.cooldown = flags & 16 ? hostile() : 0;
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
