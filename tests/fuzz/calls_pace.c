/* Fuzz target for what paces: bytes become calls on one rate, one AIMD limit and one
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
    double more = RETRY_RATIO(0.1) + (pace.calm + 1) * (double)RETRY_RATIO(0.025);
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
    retry_ms got = retry_rate_ask(&rate, instant());
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

static void call_rate_report(void)
{
    retry_failure failure;
    const retry_failure *told;
    int outcome = hostile_outcome(&failure, &told);
    retry_rate_report(&rate, told, instant());
    if (!steady || outcome == IGNORED)
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
    uint64_t cooldown = aimd.cooldown ? aimd.cooldown : 1000;
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
    rate.min = flags & 1 ? hostile() : 0;
    rate.max = chance(2) ? hostile() : 0;
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
