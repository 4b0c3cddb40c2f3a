/* The percentile of what attempts take: how good it is from the first time that it is told, how
   many it calls late, how fast it follows, what it learns from attempts that were given up or have
   failed, its settings; and each step beside a plain model. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/by_hand.h"
#include "../support/check.h"
#include "../support/shapes.h"

#define NOW ((retry_time)1000000) /* every attempt ends; the older ones began before the wrap */
#define UNKNOWN UINT32_MAX
#define LONGEST ((retry_ms)1 << 24) /* what is over it counts as it */
#define OLDEST \
    (UINT32_MAX - 32768) /* what is over it is a clock that stepped back, and counts as 0 */

/* What a promise says of 95 of 100 seeds, or of most changes, is checked of all rows together.
   Of a row four standard deviations less are enough. Fewer seeds say less: totals and times may
   then be so many times as much. */
#if CHECK_ONE_IN > 1
#define SEEDS 2u
#define ENOUGH_SEEDS 1u
#define CHANGES 1u
#define ENOUGH_CHANGES 0u
#define LEEWAY 3
#elif defined(CHECK_QUICK)
#define SEEDS 8u
#define ENOUGH_SEEDS 5u
#define CHANGES 5u
#define ENOUGH_CHANGES 1u
#define LEEWAY 2
#else
#define SEEDS 40u
#define ENOUGH_SEEDS 32u
#define CHANGES 21u
#define ENOUGH_CHANGES 7u
#define LEEWAY 1
#endif

static retry_latency latency_of(uint32_t quantile)
{
    retry_latency latency;
    memset(&latency, 0, sizeof latency);
    latency.quantile = quantile;
    return latency;
}

/* What an attempt of this age counts as. */
static retry_ms counted(retry_ms elapsed)
{
    if (elapsed > OLDEST)
        return 0;
    return elapsed < LONGEST ? elapsed : LONGEST;
}

/* Told from the first sample on. */
static retry_latency told_at_once(uint32_t quantile)
{
    retry_latency latency = latency_of(quantile);
    latency.min_samples = 1;
    return latency;
}

/* An attempt that took so long; finished false: it was given up then. */
static void sample(retry_latency *latency, retry_ms elapsed, bool finished)
{
    retry_gates gates;
    retry_time sent = check_before(NOW, elapsed);
    retry_step step;
    memset(&gates, 0, sizeof gates);
    retry_gates_latency(&gates, latency);
    if (finished)
        step = by_hand_attempt(&gates, 0, sent, NULL, NOW);
    else
        step = by_hand_give_up(&gates, sent, NOW);
    CHECK_EQUAL(RETRY_DO_SEND, step.what);
}

static void add(retry_latency *latency, retry_ms elapsed, uint32_t count)
{
    for (; count != 0; count--)
        sample(latency, elapsed, true);
}

static void give_up(retry_latency *latency, retry_ms elapsed, uint32_t count)
{
    for (; count != 0; count--)
        sample(latency, elapsed, false);
}

static void test_size(void)
{
    CHECK_EQUAL(24, sizeof(retry_latency));
}

static void test_null(void)
{
    CHECK_EQUAL(UNKNOWN, retry_latency_get(NULL));
}

/* ---- when there is an estimate ------------------------------------------------------------- */

static void test_min_samples(void)
{
    static const struct {
        uint32_t quantile, min_samples, needed;
    } rows[] = {
        {0, 0, 768},
        {0, 1, 1},
        {0, 2, 2},
        {0, 100, 100},
        {0, 767, 767},
        {0, 768, 768},
        {0, 769, 769},
        {0, 70000, 70000},
        {1, 0, 768},
        {RETRY_RATIO(0.5), 0, 768},
        {RETRY_RATIO(0.9), 0, 768},
        {RETRY_RATIO(1) - 2560, 0, 768}, /* 30 of 768, exactly */
        {RETRY_RATIO(1) - 2559, 0, 1536},
        {RETRY_RATIO(0.99), 0, 3072},
        {RETRY_RATIO(0.99), 10, 10},
        {RETRY_RATIO(0.999), 0, 49152},
        {RETRY_RATIO(1), 0, 49152},
#if CHECK_ONE_IN == 1
        {RETRY_RATIO(1) - 1, 0, 3145728},
#endif
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_latency latency = latency_of(rows[i].quantile);
        latency.min_samples = rows[i].min_samples;
        check_row("quantile %lu, min_samples %lu", (unsigned long)rows[i].quantile,
                  (unsigned long)rows[i].min_samples);
        CHECK_EQUAL(UNKNOWN, retry_latency_get(&latency));
        add(&latency, 7, rows[i].needed - 1);
        CHECK_EQUAL(UNKNOWN, retry_latency_get(&latency));
        add(&latency, 7, 1);
        CHECK(retry_latency_get(&latency) != UNKNOWN);
        add(&latency, 7, 1000);
        CHECK(retry_latency_get(&latency) != UNKNOWN);
    }
}

/* What nothing is learnt from is no sample; what counts as longer is one. */
static void test_samples_given_up(void)
{
    retry_latency latency = latency_of(0);
    latency.min_samples = 3;
    give_up(&latency, 10, 5);
    add(&latency, 10, 1);
    give_up(&latency, 9, 5);
    CHECK_EQUAL(UNKNOWN, retry_latency_get(&latency));
    give_up(&latency, 10, 1);
    CHECK_EQUAL(UNKNOWN, retry_latency_get(&latency));
    give_up(&latency, 1000, 1);
    CHECK_EQUAL(10, retry_latency_get(&latency));
}

/* Told is a 64th of an octave more than the sample, rounded down. */
static void test_first_sample(void)
{
    static const struct {
        retry_ms sample, told;
    } rows[] = {{0, 1},
                {1, 1},
                {2, 2},
                {63, 63},
                {64, 65},
                {127, 128},
                {255, 258},
                {65535, 66558},
                {65536, 66560},
                {LONGEST - 1, LONGEST + LONGEST / 64 - 2},
                {LONGEST, LONGEST + LONGEST / 64},
                {LONGEST + 1, LONGEST + LONGEST / 64},
                {OLDEST, LONGEST + LONGEST / 64},
                {OLDEST + 1, 1},
                {UINT32_MAX, 1}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_latency latency = told_at_once(0);
        add(&latency, rows[i].sample, 1);
        check_row("sample %lu", (unsigned long)rows[i].sample);
        CHECK_EQUAL(rows[i].told, retry_latency_get(&latency));
    }
}

/* It starts from the fastest of the first twelve. */
static void test_first_dozen(void)
{
    static const retry_ms samples[] = {50, 30000, 40, 41, 60, 39, 10, 500, 11, 90, 10, 70};
    static const retry_ms told[] = {50, 50, 40, 40, 40, 39, 10, 10, 10, 10, 10, 10};
    retry_latency latency = told_at_once(0);
    size_t i;
    for (i = 0; i < CHECK_COUNT(samples); i++) {
        check_row("sample %u", (unsigned)i);
        sample(&latency, samples[i], true);
        CHECK_EQUAL(told[i], retry_latency_get(&latency));
    }
    add(&latency, 1000, 1); /* 10 ms are 4.25 octaves: to 4.725, and a 64th more */
    CHECK_EQUAL(13, retry_latency_get(&latency));
}

/* ---- beside a model ------------------------------------------------------------------------ */

#define OCTAVE ((int64_t)1 << 27)
#define ONE 65536 /* a late sample, in the balance */

/* The number kept, in octaves; samples until it has learnt; then the balance of those that were
   late (its quantile each) and those that were not (twice the rest each, negative). */
struct model {
    uint32_t quantile, min_samples, enough;
    retry_ms min, max;
    int64_t level, balance;
    uint32_t samples;
};

static struct model model_of(const retry_latency *latency)
{
    struct model model;
    memset(&model, 0, sizeof model);
    model.quantile = latency->quantile == 0       ? RETRY_RATIO(0.95)
                     : latency->quantile >= 65536 ? RETRY_RATIO(0.999)
                                                  : latency->quantile;
    model.enough = 768;
    while ((uint64_t)model.enough * (65536 - model.quantile) < (uint64_t)30 * 65536)
        model.enough *= 2;
    model.min_samples = latency->min_samples ? latency->min_samples : model.enough;
    if (model.enough < model.min_samples)
        model.enough = model.min_samples;
    model.min = latency->min ? latency->min : 1;
    model.max = latency->max ? latency->max : UINT32_MAX;
    return model;
}

static retry_ms model_bound(const struct model *model, uint64_t ms)
{
    if (ms > model->max)
        ms = model->max;
    return ms < model->min ? model->min : (retry_ms)ms;
}

static int64_t model_level(retry_ms ms)
{
    int64_t octaves = 1, power = 1;
    if (ms > LONGEST)
        ms = LONGEST;
    for (; power * 2 <= (int64_t)ms; power *= 2)
        octaves++;
    return octaves * OCTAVE + ((int64_t)ms - power) * (OCTAVE / power);
}

static retry_ms model_ms(int64_t level)
{
    int64_t octaves = level / OCTAVE;
    if (octaves == 0)
        return 0;
    return (retry_ms)((((int64_t)1 << (octaves - 1)) * (OCTAVE + level % OCTAVE)) / OCTAVE);
}

static bool model_learnt(const struct model *model)
{
    return model->samples >= model->enough;
}

static unsigned model_doublings(const struct model *model, bool late)
{
    if (!model_learnt(model))
        return model->samples < model->enough / 16  ? 4
               : model->samples < model->enough / 8 ? 3
               : model->samples < model->enough / 4 ? 2
               : model->samples < model->enough / 2 ? 1
                                                    : 0;
    if (late)
        return model->balance < 4 * ONE ? 0 : model->balance < 8 * ONE ? 1 : 2;
    return model->balance > -5 * ONE ? 0 : (unsigned)((-model->balance - 3 * ONE) / (2 * ONE));
}

static void model_step(struct model *model, bool late)
{
    int64_t step = (int64_t)(late ? model->quantile : 65536 - model->quantile) * (OCTAVE / 65536);
    step = step * (1 << model_doublings(model, late)) / 32;
    if (step > OCTAVE / 2)
        step = OCTAVE / 2;
    model->level += late ? step : -step;
}

static void model_add(struct model *model, retry_ms elapsed, bool finished)
{
    int64_t level = model_level(model_bound(model, counted(elapsed) + (finished ? 0 : 1)));
    bool late = level > model->level;
    if (!finished && (!late || model->samples == 0))
        return;
    if (model->samples >= 12)
        model_step(model, late);
    else if (model->samples == 0 || !late)
        model->level = level;
    if (model_learnt(model)) {
        int64_t twice = 2 * (int64_t)(65536 - model->quantile);
        if (late)
            model->balance = (model->balance > 0 ? model->balance : 0) + (int64_t)model->quantile;
        else
            model->balance -= twice;
        if (model->balance > 11 * ONE)
            model->balance = 11 * ONE;
        if (model->balance < -15 * ONE)
            model->balance = -15 * ONE;
    }
    model->samples++;
}

static retry_ms model_get(const struct model *model)
{
    if (model->samples < model->min_samples)
        return UNKNOWN;
    return model_bound(model, model_ms(model->level + OCTAVE / 64));
}

#if defined(CHECK_QUICK) || CHECK_ONE_IN > 1
#define MODEL_SAMPLES 3000
#else
#define MODEL_SAMPLES 20000
#endif

/* Samples around a median that changes now and then; some hostile, some given up. */
static void check_against_model(retry_latency latency)
{
    struct model model = model_of(&latency);
    uint32_t n, median = 1 + (check_random() >> 20), hostile = 0;
    for (n = 0; n < MODEL_SAMPLES && check_faults == 0; n++) {
        uint32_t die = check_random();
        retry_ms elapsed = median / 2 + (retry_ms)(((uint64_t)check_random() * median) >> 32);
        bool finished = (die & 7) != 0;
        if (die >> 8 < (UINT32_C(1) << 24) / 1000) {
            median = 1 + (check_random() >> (8 + (check_random() & 15)));
            hostile = check_random() & 1;
        }
        if (hostile && (die & 0x70) == 0)
            elapsed = check_random() >> (check_random() & 31);
        sample(&latency, elapsed, finished);
        model_add(&model, elapsed, finished);
        CHECK_EQUAL(model_get(&model), retry_latency_get(&latency));
    }
}

static void test_against_model(void)
{
    static const uint32_t quantiles[] = {1, RETRY_RATIO(0.05), RETRY_RATIO(0.5),   RETRY_RATIO(0.9),
                                         0, RETRY_RATIO(0.99), RETRY_RATIO(0.999), 65535};
    static const uint32_t min_samples[] = {1, 0, 12, 1000};
    static const struct {
        retry_ms min, max;
    } bounds[] = {{0, 0}, {100, 1000}, {LONGEST + 1, 0}};
    size_t q, m, b;
    for (q = 0; q < CHECK_COUNT(quantiles); q++) {
        for (m = 0; m < CHECK_COUNT(min_samples); m++) {
            for (b = 0; b < (m == 0 ? CHECK_COUNT(bounds) : 1); b++) {
                retry_latency latency = latency_of(quantiles[q]);
                latency.min_samples = min_samples[m];
                latency.min = bounds[b].min;
                latency.max = bounds[b].max;
                check_row("quantile %lu, min_samples %lu, bounds %u", (unsigned long)quantiles[q],
                          (unsigned long)min_samples[m], (unsigned)b);
                check_against_model(latency);
            }
        }
    }
}

/* Long rows of the same: every step that there is, in both directions, and back. */
static void test_rows_against_model(void)
{
    static const uint32_t quantiles[] = {RETRY_RATIO(0.05), RETRY_RATIO(0.5), RETRY_RATIO(0.95)};
    static const retry_ms rows[] = {1000, LONGEST, 1, 50, 1, LONGEST};
    size_t q, i;
    uint32_t n;
    for (q = 0; q < CHECK_COUNT(quantiles); q++) {
        retry_latency latency = told_at_once(quantiles[q]);
        struct model model = model_of(&latency);
        for (i = 0; i < CHECK_COUNT(rows); i++) {
            check_row("quantile %u, row %u", (unsigned)q, (unsigned)i);
            for (n = 0; n < 2000 && check_faults == 0; n++) {
                sample(&latency, rows[i], true);
                model_add(&model, rows[i], true);
                CHECK_EQUAL(model_get(&model), retry_latency_get(&latency));
            }
        }
    }
}

/* ---- what it promises ---------------------------------------------------------------------- */

/* Within a quarter, or a ms. */
static bool is_near(retry_ms expected, retry_ms got)
{
    retry_ms slack = expected / 4 > 1 ? expected / 4 : 1;
    return got >= expected - slack && got <= expected + slack;
}

/* One operation on a service this many times slower: alone, or with a copy when it is late, and
   the loser given up when the other has answered. True if it was late. */
static bool operate(retry_latency *latency, uint32_t slower, bool hedged)
{
    retry_ms told = retry_latency_get(latency), first = shape_draw() * slower, second;
    bool late = first > told;
    if (!hedged || !late) {
        sample(latency, first, true);
        return late;
    }
    second = shape_draw() * slower;
    if (first - told <= second) {
        sample(latency, first, true);
        sample(latency, first - told, false);
    } else {
        sample(latency, second, true);
        sample(latency, told + second, false);
    }
    return late;
}

static void learn(retry_latency *latency, bool hedged)
{
    while (retry_latency_get(latency) == UNKNOWN)
        operate(latency, 1, hedged);
}

static uint32_t promised, kept; /* of all rows */

#define LATER 2000 /* operations that one of its seeds goes on for */

/* From the first time that it tells anything, in 95 of 100 seeds. */
static void check_promise(const struct shape *shape, uint32_t quantile, bool hedged)
{
    uint32_t seed, n, first = 0, later = 0, at_last = 0, shares = 0, late_in_all = 0;
    uint32_t asked = (uint32_t)(((uint64_t)LATER * (RETRY_RATIO(1) - quantile)) >> 16);
    for (seed = 0; seed < SEEDS; seed++) {
        retry_latency latency = latency_of(quantile);
        uint32_t late = 0;
        if (shape->first)
            sample(&latency, shape->first, true);
        learn(&latency, hedged);
        first += is_near(shape_quantile(quantile), retry_latency_get(&latency));
        for (n = 0; n < LATER; n++) {
            if (n == LATER / 8)
                later += is_near(shape_quantile(quantile), retry_latency_get(&latency));
            late += operate(&latency, 1, hedged);
        }
        at_last += is_near(shape_quantile(quantile), retry_latency_get(&latency));
        shares += 2 * late <= 3 * asked;
        late_in_all += late;
    }
    CHECK_RANGE(ENOUGH_SEEDS, SEEDS, first);
    CHECK_RANGE(ENOUGH_SEEDS, SEEDS, later);
    CHECK_RANGE(ENOUGH_SEEDS, SEEDS, at_last);
    CHECK_RANGE(ENOUGH_SEEDS, SEEDS, shares);
    CHECK_RANGE(0, (uint64_t)asked * SEEDS * 5 / 4 * LEEWAY, late_in_all);
    promised += 4 * SEEDS;
    kept += first + later + at_last + shares;
}

static void test_promises(void)
{
    size_t i, q;
    unsigned hedged;
    promised = kept = 0;
    for (i = 0; i < CHECK_COUNT(shapes); i++) {
        shape_set_up(&shapes[i]);
        for (q = 0; q < CHECK_COUNT(shape_quantiles); q++) {
            for (hedged = 0; hedged < 2 && (shapes[i].quantiles >> q & 1); hedged++) {
                check_row("%s, quantile %u%s", shapes[i].name, (unsigned)q,
                          hedged ? ", hedged" : "");
                check_promise(&shapes[i], shape_quantiles[q], hedged != 0);
            }
        }
    }
    check_row("all");
    CHECK_RANGE(promised * 95 / 100, promised, kept);
}

/* Operations until the estimate is within a quarter of one that is so many times the true one. */
static uint32_t operations_until(retry_latency *latency, uint32_t slower, bool hedged)
{
    uint32_t n;
    retry_ms expected =
        shape_quantile(latency->quantile ? latency->quantile : RETRY_RATIO(0.95)) * slower;
    for (n = 0; n < 10000 && !is_near(expected, retry_latency_get(latency)); n++)
        operate(latency, slower, hedged);
    return n;
}

/* Mostly it follows so fast a service that becomes ten times slower, and one that recovers. */
static void check_follows(uint32_t quantile, bool hedged, uint32_t rise, uint32_t fall)
{
    uint32_t n, seed, slow_in_time = 0, fast_in_time = 0;
    for (seed = 0; seed < CHANGES; seed++) {
        retry_latency latency = latency_of(quantile);
        learn(&latency, hedged);
        slow_in_time += operations_until(&latency, 10, hedged) <= rise * LEEWAY;
        for (n = 0; n < 1000; n++)
            operate(&latency, 10, hedged);
        fast_in_time += operations_until(&latency, 1, hedged) <= fall * LEEWAY;
    }
    CHECK_RANGE(ENOUGH_CHANGES, CHANGES, slow_in_time);
    CHECK_RANGE(ENOUGH_CHANGES, CHANGES, fast_in_time);
    promised += 2 * CHANGES;
    kept += slow_in_time + fast_in_time;
}

static void test_follows(void)
{
    static const struct shape heavy = {"lognormal, sigma 1.5", 100, 0, 1.5, 0, 1, 0, ALL};
    static const uint32_t rise[] = {150, 200, 300, 1000}, fall[] = {400, 1000, 400, 1000};
    size_t i, q;
    unsigned hedged;
    promised = kept = 0;
    for (i = 0; i <= CHECK_COUNT(shapes); i++) {
        const struct shape *shape = i < CHECK_COUNT(shapes) ? &shapes[i] : &heavy;
        shape_set_up(shape);
        for (q = 0; q < CHECK_COUNT(shape_quantiles); q++) {
            for (hedged = 0; hedged < 2 && (shape->quantiles >> q & 1); hedged++) {
                check_row("%s, quantile %u%s", shape->name, (unsigned)q, hedged ? ", hedged" : "");
                check_follows(shape_quantiles[q], hedged != 0, rise[q], fall[q]);
            }
        }
    }
    check_row("all");
    CHECK_RANGE(promised * 9 / 10, promised, kept);
}

/* Copies that are cancelled as soon as they are late are added as given up: no survivor bias.
   Without them the estimate would sink to half of what it should be. */
static void test_no_survivor_bias(void)
{
    retry_latency all = latency_of(0), survivors = latency_of(0);
    uint32_t n;
    shape_set_up(&shapes[8]);
    for (n = 0; n < 10000; n++) {
        retry_ms took = shape_draw();
        retry_ms late = retry_latency_get(&all);
        if (took <= late)
            sample(&all, took, true);
        else
            sample(&all, late, false);
        if (took <= retry_latency_get(&survivors))
            sample(&survivors, took, true);
    }
    CHECK(is_near(2276, retry_latency_get(&all)));
    CHECK_RANGE(0, 1200, retry_latency_get(&survivors)); /* the test would find it */
}

/* Where all take the same, what is told is that or up to 5 % more, and none is late. */
static void test_constants(void)
{
    static const retry_ms constants[] = {1,   2,    3,     7,       10,      63,         64,
                                         100, 1000, 12345, 1677721, 9999999, LONGEST - 1};
    static const uint32_t starts[] = {0, 1, 1000, LONGEST};
    size_t c, s;
    uint32_t n;
    for (c = 0; c < CHECK_COUNT(constants); c++) {
        for (s = 0; s < CHECK_COUNT(starts); s++) {
            retry_latency latency = latency_of(0);
            check_row("%lu after %lu", (unsigned long)constants[c], (unsigned long)starts[s]);
            if (starts[s] != 0)
                add(&latency, starts[s], 1);
            add(&latency, constants[c], 768);
            for (n = 0; n < 100; n++) {
                CHECK_RANGE(constants[c], constants[c] + constants[c] / 20,
                            retry_latency_get(&latency));
                add(&latency, constants[c], 1);
            }
        }
    }
}

/* A server that does not answer any more raises it too, and all is given up. */
static void test_rise_by_giving_up(void)
{
    retry_latency latency = latency_of(0);
    add(&latency, 100, 1000);
    give_up(&latency, 1000, 400);
    CHECK_RANGE(1000, 1150, retry_latency_get(&latency)); /* what is longer is not known */
}

/* ---- given up ------------------------------------------------------------------------------ */

/* 524288 ms are 20 octaves: told is 532480; a step up from there, a quarter of an octave so early,
   makes 663552 of it. */
static void test_given_up(void)
{
    static const struct {
        retry_ms age, told;
    } rows[] = {{0, 532480},          {524287, 532480},      {524288, 663552},
                {524289, 663552},     {LONGEST - 1, 663552}, {OLDEST, 663552},
                {OLDEST + 1, 532480}, {UINT32_MAX, 532480}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_latency latency = told_at_once(RETRY_RATIO(0.5));
        check_row("given up after %lu", (unsigned long)rows[i].age);
        give_up(&latency, rows[i].age, 3); /* before the first answer */
        CHECK_EQUAL(UNKNOWN, retry_latency_get(&latency));
        add(&latency, 524288, 12);
        give_up(&latency, rows[i].age, 1);
        CHECK_EQUAL(rows[i].told, retry_latency_get(&latency));
    }
}

/* Whatever runs longer than 2^24 ms is given up there at last, and is not late. */
static void test_given_up_at_the_longest(void)
{
    retry_latency latency = told_at_once(0);
    add(&latency, LONGEST, 12);
    give_up(&latency, LONGEST - 1, 1000);
    give_up(&latency, OLDEST, 1000);
    CHECK_EQUAL(LONGEST + LONGEST / 64, retry_latency_get(&latency));
}

/* ---- failures ------------------------------------------------------------------------------ */

enum { NOTHING = BY_HAND_UNSENT, GIVEN_UP = BY_HAND_SICK, ANSWER = BY_HAND_ANSWER };

/* A failure after `age` ms, beside what it is to count as. */
static void check_failure(const retry_failure *failure, retry_ms age, unsigned what)
{
    retry_latency got = told_at_once(0), expected;
    retry_gates gates;
    add(&got, 1000, 12);
    expected = got;
    memset(&gates, 0, sizeof gates);
    retry_gates_latency(&gates, &got);
    CHECK_EQUAL(RETRY_DO_SEND,
                by_hand_attempt(&gates, 0, check_before(NOW, age), failure, NOW).what);
    if (what != NOTHING)
        sample(&expected, age, what == ANSWER);
    CHECK_EQUAL(retry_latency_get(&expected), retry_latency_get(&got));
}

/* Only an answer tells how long it takes; what was never sent says nothing. */
static void test_failures(void)
{
    static const retry_ms ages[] = {10, 100000};
    unsigned reason;
    size_t i;
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        for (i = 0; i < CHECK_COUNT(ages); i++) {
            retry_failure failure = check_failure_of((retry_reason)reason);
            unsigned what = by_hand_outcome((retry_reason)reason);
            check_row("%s after %lu", retry_reason_name((retry_reason)reason),
                      (unsigned long)ages[i]);
            check_failure(&failure, ages[i], what);
            failure.throttle =
                true; /* a quota is an answer, but of a server that says it is sick */
            failure.fault = RETRY_FAULT_SERVER;
            check_failure(&failure, ages[i], reason == RETRY_REASON_NONE ? (unsigned)ANSWER : what);
            failure.fault = RETRY_FAULT_OTHER;
            if (reason == RETRY_REASON_NONE ||
                (what == GIVEN_UP &&
                 (reason_row_of((retry_reason)reason).budget & REASON_BACK) == 0))
                what = ANSWER;
            check_failure(&failure, ages[i], what);
            failure.timeout = true;
            check_failure(&failure, ages[i], what == ANSWER ? (unsigned)GIVEN_UP : what);
        }
    }
}

/* ---- settings ------------------------------------------------------------------------------ */

static void test_bounds(void)
{
    static const struct {
        retry_ms min, max, sample, told;
    } rows[] = {
        {0, 0, 0, 1},
        {0, 0, 1, 1},
        {5, 0, 4, 5},
        {5, 0, 5, 5},
        {5, 0, 6, 6},
        {0, 5, 4, 4},
        {0, 5, 5, 5},
        {0, 5, 6, 5},
        {0, 5, 0, 1},
        {5, 5, 0, 5},
        {5, 5, 9, 5},
        {9, 5, 0, 9}, /* min wins */
        {9, 5, 7, 9},
        {9, 5, 100, 9},
        {2, 1, 0, 2},
        {0, 1, OLDEST, 1},
        {0, LONGEST, OLDEST, LONGEST},
        {LONGEST * 2, 0, 3, LONGEST * 2},
        {LONGEST * 2, 3, 5, LONGEST * 2},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_latency latency = told_at_once(0);
        latency.min = rows[i].min;
        latency.max = rows[i].max;
        check_row("%lu in %lu to %lu", (unsigned long)rows[i].sample, (unsigned long)rows[i].min,
                  (unsigned long)rows[i].max);
        add(&latency, rows[i].sample, 1);
        CHECK_EQUAL(rows[i].told, retry_latency_get(&latency));
        add(&latency, rows[i].sample, 2000);
        CHECK_EQUAL(rows[i].told, retry_latency_get(&latency));
        give_up(&latency, rows[i].sample, rows[i].sample == rows[i].told); /* counts as longer */
        CHECK(rows[i].max == 0 || retry_latency_get(&latency) <= rows[i].max ||
              rows[i].min > rows[i].max);
    }
}

/* The number kept does not go beyond the bounds either: after any time there it comes back as from
   the bound itself. */
static void test_bounds_of_the_number_kept(void)
{
    retry_latency latency = latency_of(0);
    latency.max = 50;
    add(&latency, 1000, 5000);
    give_up(&latency, 1000, 5000);
    CHECK_EQUAL(50, retry_latency_get(&latency));
    add(&latency, 10, 200);
    CHECK_RANGE(10, 11, retry_latency_get(&latency));

    latency = latency_of(0);
    latency.min = 20;
    add(&latency, 1, 5000);
    CHECK_EQUAL(20, retry_latency_get(&latency));
    add(&latency, 100, 60);
    CHECK_RANGE(100, 120, retry_latency_get(&latency));
}

/* The estimate is not pulled up to `min` by attempts that were given up before. */
static void test_given_up_below_min(void)
{
    retry_latency latency = told_at_once(0);
    latency.min = 100;
    add(&latency, 5, 12);
    give_up(&latency, 98, 1000);
    CHECK_EQUAL(101, retry_latency_get(&latency));
    give_up(&latency, 100, 1);
    CHECK(retry_latency_get(&latency) > 101);
}

/* Two settings that mean the same tell the same at every step. */
static void check_same(retry_latency a, retry_latency b)
{
    uint32_t n;
    for (n = 0; n < 3000; n++) {
        retry_ms elapsed = check_random() >> (check_random() & 31);
        bool finished = (check_random() & 3) != 0;
        sample(&a, elapsed, finished);
        sample(&b, counted(elapsed), finished);
        CHECK_EQUAL(retry_latency_get(&a), retry_latency_get(&b));
    }
}

static retry_latency bounded(uint32_t quantile, uint32_t min_samples, retry_ms min, retry_ms max)
{
    retry_latency latency = latency_of(quantile);
    latency.min_samples = min_samples;
    latency.min = min;
    latency.max = max;
    return latency;
}

static void test_defaults(void)
{
    const struct {
        retry_latency a, b;
    } rows[] = {
        {bounded(0, 0, 0, 0), bounded(RETRY_RATIO(0.95), 768, 1, UINT32_MAX)},
        {bounded(RETRY_RATIO(1), 1, 0, 0), bounded(RETRY_RATIO(0.999), 1, 0, 0)},
        {bounded(RETRY_RATIO(1) + 1, 1, 0, 0), bounded(RETRY_RATIO(0.999), 1, 0, 0)},
        {bounded(UINT32_MAX, 1, 0, 0), bounded(RETRY_RATIO(0.999), 1, 0, 0)},
        {bounded(0, 7, 9, 5), bounded(RETRY_RATIO(0.95), 7, 9, 9)},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        check_same(rows[i].a, rows[i].b);
    }
}

int main(void)
{
    RUN(test_size);
    RUN(test_null);
    RUN(test_min_samples);
    RUN(test_samples_given_up);
    RUN(test_first_sample);
    RUN(test_first_dozen);
    RUN(test_against_model);
    RUN(test_rows_against_model);
    RUN(test_promises);
    RUN(test_follows);
    RUN(test_no_survivor_bias);
    RUN(test_constants);
    RUN(test_rise_by_giving_up);
    RUN(test_given_up);
    RUN(test_given_up_at_the_longest);
    RUN(test_failures);
    RUN(test_bounds);
    RUN(test_bounds_of_the_number_kept);
    RUN(test_given_up_below_min);
    RUN(test_defaults);
    return check_done();
}
