/* A circuit breaker beside a plain model of it. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/breakers.h"

static uint32_t choose(uint32_t count)
{
    return (uint32_t)(((uint64_t)check_random() * count) >> 32);
}

/* The same, written down without any regard to memory: all reports with their instants, on a clock
   that does not wrap. */
#define REPORTS 1024 /* more than a round has steps */
#define PERMITS 8
#define BEHIND 32768

static struct {
    retry_ms half, open, open_max, probe_timeout, slow;
    uint32_t volume, percent, in_a_row, probes;
    struct {
        uint64_t half; /* when the half began that it was counted in */
        bool sick;
    } reports[REPORTS];
    uint32_t count, row, rounds, generation, state;
    uint64_t half_began, half_before, since; /* half_before: 1 if there is none */
    uint32_t flight, answers;
} model;

struct model_permit {
    bool granted;
    uint32_t generation;
    uint64_t asked;
    retry_ms wait;
};

static uint64_t model_left(uint64_t span, uint64_t now)
{
    uint64_t most = span < BEHIND ? span : BEHIND;
    if (now >= model.since)
        return now - model.since < span ? model.since + span - now : 0;
    return model.since - now <= most ? span : 0;
}

static uint64_t model_open(void)
{
    uint64_t open = model.open;
    unsigned i;
    for (i = 0; i < model.rounds && open < model.open_max; i++)
        open = open * 2 < model.open_max ? open * 2 : model.open_max;
    return open;
}

static uint32_t model_state(uint64_t now)
{
    if (model.state == OPEN && model_left(model_open(), now) == 0)
        return HALF_OPEN;
    return model.state;
}

static void model_change(uint32_t state)
{
    model.state = state;
    model.generation++;
    model.flight = model.answers = 0;
    if (state == CLOSED)
        model.count = model.row = model.rounds = 0;
}

static struct model_permit model_ask(bool may_probe, uint64_t now)
{
    struct model_permit permit = {true, 0, 0, 0};
    permit.asked = now;
    if (model_state(now) == HALF_OPEN) {
        uint32_t flight = model.state == OPEN ? 0 : model.flight;
        bool place = flight + model.answers < model.probes;
        if (!place && model_left(model.probe_timeout, now) == 0) {
            place = true;
            flight = 0;
        }
        permit.granted = may_probe && place;
        if (permit.granted) {
            if (model.state == OPEN)
                model_change(HALF_OPEN);
            model.flight = flight + 1;
            model.since = now;
        }
    } else if (model.state != CLOSED) {
        permit.granted = false;
        permit.wait = model.state == OPEN ? (retry_ms)model_left(model_open(), now) : 0;
    }
    permit.generation = model.generation;
    return permit;
}

static void model_move(uint64_t now)
{
    uint64_t most = model.half < BEHIND ? model.half : BEHIND;
    if (now >= model.half_began && now - model.half_began < model.half)
        return;
    if (now < model.half_began && model.half_began - now <= most)
        return;
    if (now >= model.half_began && now - model.half_began < 2 * (uint64_t)model.half) {
        model.half_before = model.half_began;
        model.half_began += model.half;
        return;
    }
    model.count = 0;
    model.half_before = 1;
    model.half_began = now;
}

static void model_sum(uint32_t *all, uint32_t *bad)
{
    uint32_t i;
    *all = *bad = 0;
    for (i = 0; i < model.count; i++) {
        if (model.reports[i].half != model.half_began && model.reports[i].half != model.half_before)
            continue;
        ++*all;
        *bad += model.reports[i].sick;
    }
}

static bool model_count(bool is_sick, uint64_t now)
{
    uint32_t all, bad;
    model_move(now);
    model.reports[model.count].half = model.half_began;
    model.reports[model.count].sick = is_sick;
    model.count = model.count + 1 < REPORTS ? model.count + 1 : model.count;
    model.row = is_sick ? model.row + 1 : 0;
    model_sum(&all, &bad);
    if (!is_sick || ((all < model.volume || bad * 100 < model.percent * all) &&
                     (model.in_a_row == 0 || model.row < model.in_a_row)))
        return false;
    model_change(OPEN);
    model.since = now;
    return true;
}

static bool model_end(struct model_permit permit, uint32_t outcome, uint64_t now)
{
    uint64_t elapsed = now > permit.asked ? now - permit.asked : 0;
    if (!permit.granted || permit.generation != model.generation)
        return false;
    if (outcome == ANSWERED && model.slow != 0 && elapsed >= model.slow)
        outcome = SICK;
    if (model.state == CLOSED)
        return outcome != IGNORED && model_count(outcome == SICK, now);
    if (outcome == SICK) {
        model_change(OPEN);
        model.rounds = model.rounds < 255 ? model.rounds + 1 : 255;
        model.since = now;
        return true;
    }
    if (model.flight != 0 && elapsed < model.probe_timeout)
        model.flight--;
    model.answers += outcome == ANSWERED;
    if (model.flight + model.answers > model.probes)
        model.flight = model.probes - model.answers;
    if (model.answers < model.probes)
        return false;
    model_change(CLOSED);
    return true;
}

static void model_set(uint32_t state, uint64_t now)
{
    model_change(state);
    model.count = model.row = model.rounds = 0;
    model.since = now;
}

/* Mostly a little later, or a little back. */
static uint64_t step_time(uint64_t now)
{
    switch (choose(40)) {
    case 0:
        return now + choose(3 * DAY);
    case 1:
        return now + choose(HOUR);
    case 2:
        return now - choose(2000);
    case 3:
    case 4:
    case 5:
        return now + choose(3 * model.half);
    case 6:
    case 7:
    case 8:
        return now + model.open / 2 + choose(3);
    case 9:
        return now + model.probe_timeout - choose(3);
    default:
        return now + choose(model.half / 8 + 2);
    }
}

static retry_breaker start_model(uint64_t *now)
{
    static const retry_ms lengths[] = {7, 8, 100, 1000, 60000, UINT32_C(0x800000)};
    static const retry_ms opens[] = {1, 50, 2000, HOUR, DAY};
    retry_ms window = lengths[choose(CHECK_COUNT(lengths))];
    retry_breaker breaker;
    *now = (UINT64_C(1) << 32) * 7 - choose(100000) - choose(2) * UINT64_C(0x90000000);
    memset(&model, 0, sizeof model);
    model.half = (window + 1) / 2;
    model.half_began = *now;
    model.half_before = 1;
    model.volume = 1 + choose(12);
    model.percent = 1 + choose(100);
    model.open = opens[choose(CHECK_COUNT(opens))];
    model.open_max = choose(2) ? opens[choose(CHECK_COUNT(opens))] : 0;
    model.probe_timeout = opens[choose(CHECK_COUNT(opens))];
    model.in_a_row = choose(3) == 0 ? 1 + choose(5) : 0;
    model.slow = choose(3) == 0 ? 1 + choose(2000) : 0;
    model.probes = choose(2) ? 1 : 1 + choose(5);
    breaker =
        breaker_of(model.volume, RETRY_RATIO((double)model.percent / 100), window, model.open);
    breaker.open_max = model.open_max;
    breaker.probe_timeout = model.probe_timeout;
    breaker.in_a_row = (uint16_t)model.in_a_row;
    breaker.slow = model.slow;
    breaker.probes = (uint8_t)(model.probes == 1 ? choose(2) : model.probes);
    retry_breaker_get(&breaker, (retry_time)*now); /* so that the first half begins now */
    return breaker;
}

static void check_model(retry_breaker *breaker, uint64_t now)
{
    uint32_t all, bad;
    retry_breaker_counts counts = retry_breaker_get(breaker, (retry_time)now);
    model_move(now);
    model_sum(&all, &bad);
    CHECK_EQUAL(all, counts.reports);
    CHECK_EQUAL(bad, counts.sick);
    CHECK_EQUAL(model.row, counts.in_a_row);
    CHECK_EQUAL(model.rounds, counts.sick_probes);
}

static void check_against_model(uint32_t round)
{
    uint32_t step;
    struct model_permit expected[PERMITS];
    retry_permit permits[PERMITS];
    uint64_t now;
    retry_breaker breaker = start_model(&now);
    memset(expected, 0, sizeof expected);
    memset(permits, 0, sizeof permits);
    for (step = 0; step < 1000 && check_faults == 0; step++) {
        uint32_t slot = choose(PERMITS), outcome = choose(6), set = choose(400);
        bool may_probe = choose(6) != 0;
        now = step_time(now);
        check_row("round %" PRIu32 ", step %" PRIu32 ", now %" PRIu64, round, step, now);
        if (set < 5) {
            retry_breaker_set(&breaker, (uint8_t)(set & 3), (retry_time)now);
            model_set(set & 3, now);
        } else if (choose(2) == 0) {
            permits[slot] = retry_breaker_ask(&breaker, may_probe, (retry_time)now);
            expected[slot] = model_ask(may_probe, now);
            CHECK_EQUAL(expected[slot].granted, permits[slot].granted);
            CHECK_EQUAL(expected[slot].wait, permits[slot].wait);
        } else if (outcome == 0) {
            retry_breaker_release(&breaker, permits[slot], (retry_time)now);
            model_end(expected[slot], IGNORED, now);
        } else {
            bool changed;
            outcome = outcome == 1 ? IGNORED : outcome < 4 ? SICK : ANSWERED;
            changed =
                retry_breaker_report(&breaker, permits[slot], failure_of(outcome), (retry_time)now);
            CHECK_EQUAL(model_end(expected[slot], outcome, now), changed);
        }
        CHECK_EQUAL(model_state(now), retry_breaker_state(&breaker, (retry_time)now));
        if (choose(4) == 0)
            check_model(&breaker, now);
    }
}

static void test_model(void)
{
    uint32_t round;
#if defined(CHECK_QUICK) || CHECK_ONE_IN > 1
    uint32_t rounds = 60;
#else
    uint32_t rounds = 1000;
#endif
    for (round = 0; round < rounds && check_faults == 0; round++)
        check_against_model(round);
}

int main(void)
{
    set_up();
    RUN(test_model);
    return check_done();
}
