/* Client-side throttling: the probability to the last bit, what counts as a request and as an
   accept, the window, recovery after an outage, and a plain model beside it. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/by_hand.h"
#include "../support/check.h"

#define DAY UINT32_C(86400000)
#define HOUR UINT32_C(3600000)
#define SENT UINT32_MAX /* a random number with which nothing is refused */
#define MOST RETRY_RATIO(0.999)

static const retry_time starts[] = {
    0,
    1,
    1999,
    UINT32_C(0x7ffffc17),
    UINT32_C(0x7fffffff),
    UINT32_C(0x80000000),
    UINT32_C(0x9abcdef0),
    UINT32_C(0xf8000000),
    UINT32_C(0xffffffff) - 20000,
    UINT32_C(0xffffffff),
};

static retry_throttle throttle_of(uint32_t k, uint32_t max_rejection, retry_ms window)
{
    retry_throttle throttle;
    memset(&throttle, 0, sizeof throttle);
    throttle.k = k;
    throttle.max_rejection = max_rejection;
    throttle.window = window;
    return throttle;
}

static bool ask(retry_throttle *throttle, uint32_t random, retry_time now)
{
    retry_gates gates;
    retry_step step;
    memset(&gates, 0, sizeof gates);
    retry_gates_throttle(&gates, throttle);
    step = by_hand_ask(&gates, random, now);
    if (step.what != RETRY_DO_SEND) {
        CHECK_EQUAL(RETRY_DO_END, step.what);
        CHECK_EQUAL(RETRY_VERDICT_FAIL, step.verdict);
        CHECK_EQUAL(RETRY_CAUSE_THROTTLED, step.cause);
        CHECK_EQUAL(0, step.delay);
    }
    CHECK_EQUAL(0, gates.in_flight);
    return step.what == RETRY_DO_SEND;
}

/* The end of an attempt that was let pass; NULL failure: it worked. */
static void report(retry_throttle *throttle, const retry_failure *failure, retry_time now)
{
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    retry_gates_throttle(&gates, throttle);
    CHECK_EQUAL(RETRY_DO_SEND, by_hand_attempt(&gates, SENT, now, failure, now).what);
    CHECK_EQUAL(0, gates.in_flight);
}

/* So many requests that have ended, and so many accepts among them, at once. */
static void add(retry_throttle *throttle, uint32_t requests, uint32_t accepts, retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_NODE_NOT_AVAILABLE);
    uint32_t n;
    CHECK(accepts <= requests);
    for (n = 0; n < requests; n++)
        report(throttle, n < accepts ? NULL : &failure, now);
}

/* Whether the next is refused at this random number; nothing is counted. */
static bool refuses(const retry_throttle *throttle, uint32_t random, retry_time now)
{
    retry_throttle copy = *throttle;
    return !ask(&copy, random, now);
}

/* The lowest random number that is not refused: 2^32 times the probability, rounded up. */
static uint32_t threshold(const retry_throttle *throttle, retry_time now)
{
    uint32_t low = 0, high = SENT;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (refuses(throttle, middle, now))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same, by the formula. */
static uint32_t formula(uint32_t k, uint32_t max_rejection, uint32_t requests, uint32_t accepts)
{
    uint64_t sent = (uint64_t)requests << 16, accepted = (uint64_t)k * accepts;
    uint64_t probability, most = (uint64_t)max_rejection << 16;
    if (accepted >= sent)
        return 0;
    probability = (((sent - accepted) << 16) + requests) / (requests + 1);
    return (uint32_t)(probability < most ? probability : most);
}

/* ---- sizes, defaults --------------------------------------------------------------------- */

static void test_sizes(void)
{
    CHECK_RANGE(0, 32, sizeof(retry_throttle));
}

static void test_zeroed(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        retry_throttle throttle = throttle_of(0, 0, 0);
        check_row("start %" PRIu64, (uint64_t)starts[i]);
        CHECK(!refuses(&throttle, 0, starts[i]));
        add(&throttle, 1, 0, starts[i]);
        CHECK_EQUAL(UINT32_C(1) << 31, threshold(&throttle, starts[i]));
        add(&throttle, 99, 40, starts[i]);
        CHECK_EQUAL(formula(RETRY_RATIO(2), RETRY_RATIO(0.9), 100, 40),
                    threshold(&throttle, starts[i]));
        add(&throttle, 900, 0, starts[i]); /* at most 0.9 */
        CHECK_EQUAL(RETRY_RATIO(0.9) << 16, threshold(&throttle, starts[i]));
    }
}

/* ---- the probability ----------------------------------------------------------------------- */

static const struct {
    uint32_t requests, accepts;
    uint32_t millionths; /* of a refusal at k 2 without a cap */
} published[] = {
    {0, 0, 0},         {1, 0, 500000},    {10, 0, 909091},   {100, 0, 990099},
    {100, 50, 0},      {100, 49, 19802},  {100, 40, 198020}, {100, 25, 495050},
    {100, 10, 792079}, {1000, 0, 998993}, /* 0.999001 is above the highest that can be set */
};

static void test_published(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(published); i++) {
        retry_throttle throttle = throttle_of(0, UINT32_MAX, 0);
        uint64_t got;
        check_row("%" PRIu32 "/%" PRIu32, published[i].requests, published[i].accepts);
        add(&throttle, published[i].requests, published[i].accepts, 0);
        got = (uint64_t)threshold(&throttle, 0) * 1000000 + (UINT32_C(1) << 31);
        CHECK_EQUAL(published[i].millionths, got >> 32);
    }
}

static const struct {
    uint32_t given, used;
} ks[] = {{0, RETRY_RATIO(2)},
          {1, RETRY_RATIO(1)},
          {RETRY_RATIO(0.5), RETRY_RATIO(1)},
          {RETRY_RATIO(1) - 1, RETRY_RATIO(1)},
          {RETRY_RATIO(1), RETRY_RATIO(1)},
          {RETRY_RATIO(1.1), RETRY_RATIO(1.1)},
          {RETRY_RATIO(1.5), RETRY_RATIO(1.5)},
          {RETRY_RATIO(3.3), RETRY_RATIO(3.3)},
          {UINT32_MAX, UINT32_MAX}};

static const struct {
    uint32_t given, used;
} rejections[] = {{0, RETRY_RATIO(0.9)},
                  {1, 1},
                  {RETRY_RATIO(0.5), RETRY_RATIO(0.5)},
                  {MOST - 1, MOST - 1},
                  {MOST, MOST},
                  {MOST + 1, MOST},
                  {RETRY_RATIO(1), MOST},
                  {UINT32_MAX, MOST}};

static const uint32_t counts[] = {0, 1, 2, 3, 7, 50, 99, 100, 101, 999, 1000, 70000};

/* Refused exactly when random / 2^32 is below the probability, for every option. */
static void test_formula(void)
{
    size_t k, most, n, a;
    for (n = 0; n < CHECK_COUNT(counts); n++) {
        for (a = 0; a <= n; a++) {
            retry_throttle throttle = throttle_of(0, 0, 0);
            add(&throttle, counts[n], counts[a], 0);
            for (k = 0; k < CHECK_COUNT(ks); k++) {
                for (most = 0; most < CHECK_COUNT(rejections); most++) {
                    throttle.k = ks[k].given;
                    throttle.max_rejection = rejections[most].given;
                    check_row("%lu/%lu, k %lu, at most %lu", (unsigned long)counts[n],
                              (unsigned long)counts[a], (unsigned long)ks[k].given,
                              (unsigned long)rejections[most].given);
                    CHECK_EQUAL(formula(ks[k].used, rejections[most].used, counts[n], counts[a]),
                                threshold(&throttle, 0));
                }
            }
        }
    }
}

/* ---- what counts --------------------------------------------------------------------------- */

enum { NOTHING = BY_HAND_UNSENT, REQUEST = BY_HAND_SICK, ACCEPT = BY_HAND_ANSWER };

static void check_counts_as(const retry_failure *failure, unsigned what)
{
    retry_throttle throttle = throttle_of(0, MOST, 0);
    add(&throttle, 10, 0, 0);
    report(&throttle, failure, 0);
    CHECK_EQUAL(formula(RETRY_RATIO(2), MOST, what == NOTHING ? 10 : 11, what == ACCEPT),
                threshold(&throttle, 0));
}

static void test_what_counts(void)
{
    retry_failure failure;
    unsigned reason;
    check_row("it worked");
    check_counts_as(NULL, ACCEPT);
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        unsigned what = by_hand_outcome((retry_reason)reason);
        check_row("%s", retry_reason_name((retry_reason)reason));
        failure = check_failure_of((retry_reason)reason);
        check_counts_as(&failure, what);
        if (reason == RETRY_REASON_NONE)
            what = ACCEPT; /* with more it says something */
        failure.throttle = true;
        check_counts_as(&failure, what == ACCEPT ? (unsigned)REQUEST : what);
        failure.throttle = false;
        failure.timeout = true;
        check_counts_as(&failure, what == ACCEPT ? (unsigned)REQUEST : what);
    }
    failure = retry_classify_http(429, 0);
    check_counts_as(&failure, REQUEST);
    failure = retry_classify_http(404, 0);
    check_counts_as(&failure, ACCEPT);
}

/* To ask counts nothing, whatever the answer: neither a refusal nor an attempt under way is a
   request. */
static void test_asking_does_not_count(void)
{
    retry_throttle throttle = throttle_of(0, 0, 0);
    uint32_t before;
    unsigned i;
    add(&throttle, 30, 5, 0);
    before = threshold(&throttle, 0);
    for (i = 0; i < 1000; i++) {
        CHECK(!ask(&throttle, i, 0));
        CHECK(ask(&throttle, before, 0));
    }
    CHECK_EQUAL(before, threshold(&throttle, 0));
    report(&throttle, NULL, 0);
    CHECK_EQUAL(formula(RETRY_RATIO(2), RETRY_RATIO(0.9), 31, 6), threshold(&throttle, 0));
}

/* ---- the window ---------------------------------------------------------------------------- */

static const struct {
    retry_ms window, half; /* ms */
} windows[] = {
    {0, 2000},
    {1, 1},
    {2, 1},
    {999, 500},
    {1000, 500},
    {4000, 2000},
    {120000, 60000},
    {UINT32_C(0x800000), UINT32_C(0x400000)},
    {UINT32_MAX, UINT32_C(0x400000)},
};

/* Requests and accepts leave with the half that they were counted in. */
static void test_window(void)
{
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(windows); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_throttle throttle = throttle_of(0, MOST, windows[i].window);
            retry_time half = windows[i].half, begin = check_after(starts[j], DAY);
            check_row("window %lu, start %" PRIu64, (unsigned long)windows[i].window,
                      (uint64_t)starts[j]);
            add(&throttle, 1, 0, starts[j]); /* long ago: the first half begins with the next */
            add(&throttle, 10, 0, begin);
            add(&throttle, 5, 1, check_after(begin, half - 1));
            add(&throttle, 20, 2, check_after(begin, half));
            CHECK_EQUAL(formula(RETRY_RATIO(2), MOST, 35, 3),
                        threshold(&throttle, check_after(begin, 2 * half - 1)));
            CHECK_EQUAL(formula(RETRY_RATIO(2), MOST, 20, 2),
                        threshold(&throttle, check_after(begin, 2 * half)));
            CHECK_EQUAL(formula(RETRY_RATIO(2), MOST, 20, 2),
                        threshold(&throttle, check_after(begin, 3 * half - 1)));
            CHECK_EQUAL(0, threshold(&throttle, check_after(begin, 3 * half)));
        }
    }
}

/* An attempt counts in the half in which it ends, also where nobody has asked in that half. */
static void test_end_in_the_next_half(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_NODE_NOT_AVAILABLE);
    size_t i;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        retry_throttle throttle = throttle_of(0, 0, 0);
        retry_gates gates;
        retry_time start = starts[i];
        memset(&gates, 0, sizeof gates);
        retry_gates_throttle(&gates, &throttle);
        add(&throttle, 1, 1, start);
        CHECK_EQUAL(RETRY_DO_SEND, by_hand_attempt(&gates, SENT, check_after(start, 1999), &failure,
                                                   check_after(start, 2000))
                                       .what);
        /* the first half is over, the second is not */
        CHECK_EQUAL(true, refuses(&throttle, 0, check_after(start, 4000)));
    }
}

/* After any idle time, up to 100 days in steps of an hour, nothing of before counts; a thread whose
   clock is a little behind counts with the others; one further behind stepped back. */
static void test_clocks(void)
{
    static const retry_ms back[] = {1, 500, 1999, 2000};
    static const retry_ms far_back[] = {2001, 4000, 32768, 32769, HOUR};
    size_t i, j;
    uint32_t hours;
    for (j = 0; j < CHECK_COUNT(starts); j++) {
        for (hours = 1; hours <= 2400; hours += hours < 24 ? 1 : 1 + 9 * (CHECK_ONE_IN > 1)) {
            retry_throttle throttle = throttle_of(0, 0, 0);
            retry_time now = check_after(starts[j], (retry_time)((uint64_t)hours * HOUR));
            check_row("idle for %lu h, start %" PRIu64, (unsigned long)hours, (uint64_t)starts[j]);
            add(&throttle, 100, 10, starts[j]);
            CHECK(!refuses(&throttle, 0, now));
            add(&throttle, 10, 1, now);
            CHECK_EQUAL(formula(RETRY_RATIO(2), RETRY_RATIO(0.9), 10, 1),
                        threshold(&throttle, check_after(now, 2000)));
        }
        for (i = 0; i < CHECK_COUNT(back); i++) {
            retry_throttle throttle = throttle_of(0, 0, 0);
            retry_time now = check_after(starts[j], DAY);
            uint32_t expected = formula(RETRY_RATIO(2), RETRY_RATIO(0.9), 30, 5);
            check_row("%lu back, start %" PRIu64, (unsigned long)back[i], (uint64_t)starts[j]);
            add(&throttle, 1, 0, starts[j]);
            add(&throttle, 10, 3, now);
            add(&throttle, 20, 2, check_after(starts[j], DAY - back[i]));
            CHECK_EQUAL(expected, threshold(&throttle, check_after(starts[j], DAY - back[i])));
            CHECK_EQUAL(expected, threshold(&throttle, now));
            CHECK_EQUAL(0, threshold(&throttle, check_after(now, 4000)));
        }
        for (i = 0; i < CHECK_COUNT(far_back); i++) {
            retry_throttle throttle = throttle_of(0, 0, 0);
            retry_time now = check_after(starts[j], DAY), before = check_before(now, far_back[i]);
            check_row("%lu back, start %" PRIu64, (unsigned long)far_back[i], (uint64_t)starts[j]);
            add(&throttle, 1, 0, starts[j]);
            add(&throttle, 100, 0, now);
            CHECK_EQUAL(0, threshold(&throttle, before));
            add(&throttle, 20, 2, before);
            CHECK_EQUAL(formula(RETRY_RATIO(2), RETRY_RATIO(0.9), 20, 2),
                        threshold(&throttle, before));
        }
    }
}

/* However many there are, each counts: a hundred thousand a second for the longest window. */
static void test_many(void)
{
    retry_throttle throttle = throttle_of(0, MOST, UINT32_MAX);
    uint32_t n, many = 200000 / CHECK_ONE_IN;
    for (n = 0; n < many; n++)
        add(&throttle, 1, n % 4 == 0, n / 100);
    CHECK_EQUAL(formula(RETRY_RATIO(2), MOST, many, (many + 3) / 4),
                threshold(&throttle, many / 100));
}

/* ---- an outage, and after ------------------------------------------------------------------ */

/* How many of the second's attempts, one each 10 ms, are sent; all or none are accepted. */
static unsigned one_second(retry_throttle *throttle, bool accepted, uint32_t *now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    unsigned sent = 0, i;
    for (i = 0; i < 100; i++, *now += 10) {
        if (!ask(throttle, check_random(), *now))
            continue;
        sent++;
        report(throttle, accepted ? NULL : &failure, *now);
    }
    return sent;
}

static void check_recovery(uint32_t max_rejection, uint32_t start, unsigned most_in_outage)
{
    retry_throttle throttle = throttle_of(0, max_rejection, 0);
    uint32_t now = start;
    unsigned second, sent = 0;
    for (second = 0; second < 200; second++)
        sent = one_second(&throttle, false, &now);
    CHECK_RANGE(0, most_in_outage, sent);
    for (second = 0; second < 5 && sent < 50; second++)
        sent = one_second(&throttle, true, &now);
    CHECK_RANGE(50, 100, sent);
}

/* A hundred attempts a second, nothing accepted for 200 s, then everything: half passes again
   within 5 s. */
static void test_recovery(void)
{
    uint32_t start;
    for (start = 0; start < 4000; start += 171 * CHECK_ONE_IN) {
        check_row("start %lu", (unsigned long)start);
        check_recovery(0, start, 25);
        check_recovery(RETRY_RATIO(1), start, 20);
    }
}

/* ---- a plain model ------------------------------------------------------------------------- */

#define EVENTS 1024
#define BEHIND 32768

static struct {
    uint64_t half[EVENTS]; /* when the half began that each was counted in */
    bool accept[EVENTS];
    unsigned count;
    uint64_t length, began, before; /* of the halves; before: 1 if there is none */
    bool odd;                       /* every other half is */
} model;

/* An even half that begins at 0 is taken for a window never used: no clock is behind it. */
static bool model_behind(uint64_t now)
{
    uint64_t most = model.length < BEHIND ? model.length : BEHIND;
    bool never_used = !model.odd && (model.began & 0x7fffffff) == 0;
    return now < model.began && !never_used && model.began - now <= most;
}

static void model_move(uint64_t now)
{
    if (model_behind(now) || (now >= model.began && now - model.began < model.length))
        return;
    if (now >= model.began && now - model.began < 2 * model.length) {
        model.before = model.began;
        model.began += model.length;
        model.odd = !model.odd;
        return;
    }
    model.count = 0;
    model.before = 1;
    model.began = now;
    model.odd = true;
}

static void model_add(bool accept)
{
    CHECK(model.count < EVENTS);
    if (model.count == EVENTS)
        return;
    model.half[model.count] = model.began;
    model.accept[model.count++] = accept;
}

static void model_sum(uint32_t *requests, uint32_t *accepts)
{
    unsigned i;
    *requests = *accepts = 0;
    for (i = 0; i < model.count; i++) {
        if (model.half[i] != model.began && model.half[i] != model.before)
            continue;
        ++*requests;
        *accepts += model.accept[i];
    }
}

static uint32_t choose(uint32_t count)
{
    return (uint32_t)(((uint64_t)check_random() * count) >> 32);
}

static void model_ask(const retry_throttle *throttle, uint32_t k, uint32_t most, uint64_t now)
{
    uint32_t requests, accepts;
    uint32_t random = choose(2) ? check_random() : 0, lowest;
    retry_throttle copy = *throttle;
    model_sum(&requests, &accepts);
    lowest = formula(k, most, requests, accepts);
    if (choose(4) == 0 && lowest != 0)
        random = lowest - choose(2); /* as near as can be */
    CHECK_EQUAL(random >= lowest, ask(&copy, random, (retry_time)now));
}

static void check_against_model(unsigned round)
{
    uint32_t row = choose(CHECK_COUNT(windows)), k = choose(CHECK_COUNT(ks));
    uint32_t most = choose(CHECK_COUNT(rejections));
    unsigned step;
    retry_throttle throttle = throttle_of(ks[k].given, rejections[most].given, windows[row].window);
    uint64_t now = (UINT64_C(1) << 32) * 7 - choose(3) * UINT64_C(100000);
    retry_failure failure = check_failure_of(RETRY_REASON_NODE_NOT_AVAILABLE);
    retry_failure refused = check_failure_of(RETRY_REASON_CLIENT_THROTTLED);
    memset(&model, 0, sizeof model);
    model.length = windows[row].half;
    report(&throttle, NULL, (retry_time)(now - DAY)); /* the first half is to begin */
    for (step = 0; step < 500; step++) {
        now += choose(windows[row].half / 4 + 2);
        now += choose(200) == 0 ? choose(20 * DAY) : 0;
        now -= choose(50) == 0 ? choose(1000) : 0;
        check_row("round %u, step %u, now %" PRIu64, round, step, now);
        model_move(now);
        switch (choose(8)) {
        case 0:
            report(&throttle, &refused, (retry_time)now);
            ask(&throttle, 0, (retry_time)now);
            break;
        case 1:
        case 2:
            report(&throttle, NULL, (retry_time)now);
            model_add(true);
            break;
        case 3:
        case 4:
            report(&throttle, &failure, (retry_time)now);
            model_add(false);
            break;
        default:
            ask(&throttle, SENT, (retry_time)now);
            break;
        }
        model_ask(&throttle, ks[k].used, rejections[most].used, now);
        if (check_faults != 0)
            return;
    }
}

static void test_model(void)
{
    unsigned round;
#ifdef CHECK_QUICK
    unsigned rounds = 60;
#else
    unsigned rounds = 600;
#endif
    for (round = 0; round < rounds && check_faults == 0; round++)
        check_against_model(round);
}

int main(void)
{
    RUN(test_sizes);
    RUN(test_zeroed);
    RUN(test_published);
    RUN(test_formula);
    RUN(test_what_counts);
    RUN(test_asking_does_not_count);
    RUN(test_window);
    RUN(test_end_in_the_next_half);
    RUN(test_clocks);
    RUN(test_many);
    RUN(test_recovery);
    RUN(test_model);
    return check_done();
}
