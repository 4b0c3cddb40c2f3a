/* Client-side throttling: the probability to the last bit, what counts as a request and as an
   accept, the window, recovery after an outage, and a plain model beside it. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#define DAY UINT32_C(86400000)
#define SLICE UINT32_C(16384) /* ms; of the default window */
#define SENT UINT32_MAX       /* a random number with which nothing is refused */
#define MOST RETRY_RATIO(0.999)

static const retry_time starts[] = {
    0,
    1,
    SLICE - 1,
    UINT32_C(0x7fffffff),
    UINT32_C(0x80000000),
    UINT32_C(0xf8000000),
    UINT32_C(0xffffffff) - 20000,
    UINT32_C(0xffffffff),
#ifndef RETRY_TIME_32
    UINT64_C(0x123456789abcdef0),
    UINT64_C(0xffffffffffffffff),
#endif
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

/* So many requests, and accepts, at once. */
static void add(retry_throttle *throttle, unsigned requests, unsigned accepts, retry_time now)
{
    for (; requests != 0; requests--)
        CHECK(retry_throttle_ask(throttle, SENT, now));
    for (; accepts != 0; accepts--)
        retry_throttle_report(throttle, NULL, now);
}

/* Whether the next is refused at this random number; nothing is counted. */
static bool refuses(const retry_throttle *throttle, uint32_t random, retry_time now)
{
    retry_throttle copy = *throttle;
    return !retry_throttle_ask(&copy, random, now);
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

/* ---- NULL, sizes, defaults ----------------------------------------------------------------- */

static void test_null(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    CHECK(retry_throttle_ask(NULL, 0, 0));
    CHECK(retry_throttle_ask(NULL, UINT32_MAX, 5));
    retry_throttle_report(NULL, NULL, 5);
    retry_throttle_report(NULL, &failure, 5);
}

static void test_sizes(void)
{
    CHECK_RANGE(0, 56, sizeof(retry_throttle));
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
    unsigned requests, accepts;
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
        check_row("%u/%u", published[i].requests, published[i].accepts);
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

static const unsigned counts[] = {0, 1, 2, 3, 7, 50, 99, 100, 101, 999, 1000};

/* Refused exactly when random / 2^32 is below the probability, for every option. */
static void test_formula(void)
{
    size_t k, most, n, a;
    for (n = 0; n < CHECK_COUNT(counts); n++) {
        for (a = 0; a < CHECK_COUNT(counts); a++) {
            retry_throttle throttle = throttle_of(0, 0, 0);
            add(&throttle, counts[n], counts[a], 0);
            for (k = 0; k < CHECK_COUNT(ks); k++) {
                for (most = 0; most < CHECK_COUNT(rejections); most++) {
                    throttle.k = ks[k].given;
                    throttle.max_rejection = rejections[most].given;
                    check_row("%u/%u, k %lu, at most %lu", counts[n], counts[a],
                              (unsigned long)ks[k].given, (unsigned long)rejections[most].given);
                    CHECK_EQUAL(formula(ks[k].used, rejections[most].used, counts[n], counts[a]),
                                threshold(&throttle, 0));
                }
            }
        }
    }
}

/* ---- what counts --------------------------------------------------------------------------- */

static void check_accept(const retry_failure *failure, bool accepted)
{
    retry_throttle throttle = throttle_of(0, 0, 0);
    add(&throttle, 10, 0, 0);
    retry_throttle_report(&throttle, failure, 0);
    CHECK_EQUAL(formula(RETRY_RATIO(2), RETRY_RATIO(0.9), 10, accepted), threshold(&throttle, 0));
}

static bool is_answered(retry_reason reason)
{
    static const retry_reason others[] = {
        RETRY_REASON_CIRCUIT_BREAKER_OPEN, RETRY_REASON_CLIENT_THROTTLED,
        RETRY_REASON_ATTEMPT_TIMED_OUT,    RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT,
        RETRY_REASON_SOCKET_NOT_AVAILABLE, RETRY_REASON_SERVICE_NOT_AVAILABLE,
        RETRY_REASON_NODE_NOT_AVAILABLE,   RETRY_REASON_SERVER_ERROR,
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(others); i++)
        if (reason == others[i])
            return false;
    return true;
}

static void test_accepts(void)
{
    retry_failure failure;
    unsigned reason;
    check_row("it worked");
    check_accept(NULL, true);
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        check_row("%s", retry_reason_name((retry_reason)reason));
        failure = check_failure_of((retry_reason)reason);
        check_accept(&failure, is_answered((retry_reason)reason));
        failure.throttle = true;
        check_accept(&failure, false);
        failure.throttle = false;
        failure.timeout = true;
        check_accept(&failure, false);
    }
    failure = retry_classify_http(429, 0);
    check_accept(&failure, false);
    failure = retry_classify_http(404, 0);
    check_accept(&failure, true);
}

/* Its own refusals are no requests: however many there are, nothing changes. */
static void test_refusals_do_not_count(void)
{
    retry_throttle throttle = throttle_of(0, 0, 0);
    uint32_t before;
    unsigned i;
    add(&throttle, 30, 5, 0);
    before = threshold(&throttle, 0);
    for (i = 0; i < 1000; i++)
        CHECK(!retry_throttle_ask(&throttle, i, 0));
    CHECK_EQUAL(before, threshold(&throttle, 0));
    CHECK(retry_throttle_ask(&throttle, before, 0));
    CHECK_EQUAL(formula(RETRY_RATIO(2), RETRY_RATIO(0.9), 31, 5), threshold(&throttle, 0));
}

/* ---- the window ---------------------------------------------------------------------------- */

static const struct {
    retry_ms window, slice; /* ms */
} windows[] = {
    {1, 1},
    {8, 1},
    {9, 2},
    {60000, 8192},
    {0, 16384}, /* 120,000 */
    {120000, 16384},
    {131072, 16384},
    {131073, 32768},
    {UINT32_C(0x800000), UINT32_C(0x100000)},
    {UINT32_MAX, UINT32_C(0x100000)},
};

/* Requests and accepts each leave by themselves, in the eighth slice after their own. */
static void test_window(void)
{
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(windows); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_throttle throttle = throttle_of(0, MOST, windows[i].window);
            retry_time slice = windows[i].slice, begin = starts[j] & ~(slice - 1);
            check_row("window %lu, start %" PRIu64, (unsigned long)windows[i].window,
                      (uint64_t)starts[j]);
            add(&throttle, 10, 0, check_after(begin, slice - 1));
            add(&throttle, 0, 1, check_after(begin, slice));
            add(&throttle, 20, 2, check_after(begin, 5 * slice));
            CHECK_EQUAL(formula(RETRY_RATIO(2), MOST, 30, 3),
                        threshold(&throttle, check_after(begin, 8 * slice - 1)));
            CHECK_EQUAL(formula(RETRY_RATIO(2), MOST, 20, 3),
                        threshold(&throttle, check_after(begin, 8 * slice)));
            CHECK_EQUAL(formula(RETRY_RATIO(2), MOST, 20, 3),
                        threshold(&throttle, check_after(begin, 9 * slice - 1)));
            CHECK_EQUAL(formula(RETRY_RATIO(2), MOST, 20, 2),
                        threshold(&throttle, check_after(begin, 9 * slice)));
            CHECK_EQUAL(0, threshold(&throttle, check_after(begin, 13 * slice)));
        }
    }
}

static void test_clocks(void)
{
    static const retry_time idle[] = {16 * SLICE, DAY, 25 * DAY, 40 * DAY, 48 * DAY};
    static const retry_ms back[] = {1, SLICE, 8 * SLICE, DAY, UINT32_C(1) << 27};
    size_t i, j;
    for (j = 0; j < CHECK_COUNT(starts); j++) {
        for (i = 0; i < CHECK_COUNT(idle); i++) {
            retry_throttle throttle = throttle_of(0, 0, 0);
            check_row("idle %lu, start %" PRIu64, (unsigned long)idle[i], (uint64_t)starts[j]);
            add(&throttle, 100, 10, starts[j]);
            CHECK_EQUAL(0, threshold(&throttle, check_after(starts[j], idle[i])));
            add(&throttle, 10, 1, check_after(starts[j], idle[i]));
            CHECK_EQUAL(formula(RETRY_RATIO(2), RETRY_RATIO(0.9), 10, 1),
                        threshold(&throttle, check_after(starts[j], idle[i] + 7 * SLICE)));
        }
        for (i = 0; i < CHECK_COUNT(back); i++) {
            retry_throttle throttle = throttle_of(0, 0, 0);
            retry_time now = check_after(starts[j], back[i]);
            uint32_t expected = formula(RETRY_RATIO(2), RETRY_RATIO(0.9), 30, 5);
            check_row("%lu back, start %" PRIu64, (unsigned long)back[i], (uint64_t)starts[j]);
            add(&throttle, 10, 3, now);
            add(&throttle, 20, 2, starts[j]);
            CHECK_EQUAL(expected, threshold(&throttle, starts[j]));
            CHECK_EQUAL(expected, threshold(&throttle, now));
            CHECK_EQUAL(0, threshold(&throttle, check_after(now, 8 * SLICE)));
        }
    }
}

/* A busy slice may be halved, both counts alike: the probability stays what it was. */
static void test_busy_slices(void)
{
    static const uint32_t busy[] = {1000, 1001, 2047, 2048, 2049, 5000, 40000};
    size_t i;
    for (i = 0; i < CHECK_COUNT(busy); i++) {
        retry_throttle throttle = throttle_of(0, 0, 0);
        uint32_t n;
        check_row("%lu requests", (unsigned long)busy[i]);
        for (n = 0; n < busy[i]; n++) /* a quarter accepted: half is refused */
            add(&throttle, 1, n % 4 == 0, 0);
        CHECK_RANGE(2130000000u, 2150000000u, threshold(&throttle, 0));
        for (; n < 2 * busy[i] + 4; n++) /* and then all, in the next slice */
            add(&throttle, 1, 1, SLICE);
        CHECK_EQUAL(0, threshold(&throttle, SLICE));
    }
}

/* Accepts of what an earlier slice sent, in a slice of their own. */
static void test_late_accepts(void)
{
    static const unsigned accepts[] = {500, 2048, 4096, 8192, 16384, 40000};
    size_t i;
    for (i = 0; i < CHECK_COUNT(accepts); i++) {
        retry_throttle throttle = throttle_of(0, 0, 0);
        check_row("%u accepts", accepts[i]);
        add(&throttle, 1000, 0, 0);
        add(&throttle, 0, accepts[i], SLICE);
        CHECK_EQUAL(0, threshold(&throttle, SLICE));
        CHECK_EQUAL(0, threshold(&throttle, 8 * SLICE));
    }
}

/* ---- an outage, and after ------------------------------------------------------------------ */

/* How many of the second's attempts, one each 10 ms, are sent; all or none are accepted. */
static unsigned one_second(retry_throttle *throttle, bool accepted, uint32_t *now)
{
    unsigned sent = 0, i;
    for (i = 0; i < 100; i++, *now += 10) {
        if (!retry_throttle_ask(throttle, check_random(), *now))
            continue;
        sent++;
        if (accepted)
            retry_throttle_report(throttle, NULL, *now);
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
    for (second = 0; second < 30 && sent < 50; second++)
        sent = one_second(&throttle, true, &now);
    CHECK_RANGE(50, 100, sent);
}

/* A hundred attempts a second, nothing accepted for 200 s, then everything: half passes again
   within 30 s. */
static void test_recovery(void)
{
    uint32_t start;
    for (start = 0; start < 16384; start += 1717 * CHECK_ONE_IN) {
        check_row("start %lu", (unsigned long)start);
        check_recovery(0, start, 25);
        check_recovery(RETRY_RATIO(1), start, 5);
    }
}

/* ---- a plain model ------------------------------------------------------------------------- */

#define EVENTS 1024

static struct {
    uint64_t slice[EVENTS]; /* number, of each request or accept */
    bool accept[EVENTS];
    unsigned count;
    uint64_t latest; /* slice */
} model;

static void model_add(bool accept)
{
    CHECK(model.count < EVENTS);
    if (model.count == EVENTS)
        return;
    model.slice[model.count] = model.latest;
    model.accept[model.count++] = accept;
}

static void model_sum(unsigned *requests, unsigned *accepts)
{
    unsigned i;
    *requests = *accepts = 0;
    for (i = 0; i < model.count; i++) {
        if (model.slice[i] + 8 <= model.latest)
            continue;
        *accepts += model.accept[i];
        *requests += !model.accept[i];
    }
}

static uint32_t choose(uint32_t count)
{
    return (uint32_t)(((uint64_t)check_random() * count) >> 32);
}

static void check_against_model(unsigned round)
{
    uint32_t row = choose(CHECK_COUNT(windows)), k = choose(CHECK_COUNT(ks));
    uint32_t most = choose(CHECK_COUNT(rejections)), what;
    unsigned step;
    retry_throttle throttle = throttle_of(ks[k].given, rejections[most].given, windows[row].window);
    uint64_t now = (UINT64_C(1) << 32) * 7 - choose(3) * UINT64_C(100000);
    retry_failure failure = check_failure_of(RETRY_REASON_NODE_NOT_AVAILABLE);
    memset(&model, 0, sizeof model);
    for (step = 0; step < 500; step++) {
        unsigned requests, accepts;
        what = choose(8);
        now += choose(windows[row].slice / 4 + 2);
        now += choose(200) == 0 ? choose(40 * DAY) : 0;
        now -= choose(50) == 0 ? choose(1000) : 0;
        now += windows[row].slice == 1 && (uint32_t)now == 0; /* from there no step back */
        check_row("round %u, step %u, now %" PRIu64, round, step, now);
        if (what == 0) {
            retry_throttle_report(&throttle, &failure, (retry_time)now);
            continue;
        }
        model.latest =
            now / windows[row].slice > model.latest ? now / windows[row].slice : model.latest;
        if (what < 4) {
            retry_throttle_report(&throttle, NULL, (retry_time)now);
            model_add(true);
        } else {
            uint32_t random = choose(2) ? check_random() : 0, lowest;
            model_sum(&requests, &accepts);
            lowest = formula(ks[k].used, rejections[most].used, requests, accepts);
            if (what == 4 && lowest != 0)
                random = lowest - choose(2); /* as near as can be */
            CHECK_EQUAL(random >= lowest, retry_throttle_ask(&throttle, random, (retry_time)now));
            if (random >= lowest)
                model_add(false);
        }
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
    RUN(test_null);
    RUN(test_sizes);
    RUN(test_zeroed);
    RUN(test_published);
    RUN(test_formula);
    RUN(test_accepts);
    RUN(test_refusals_do_not_count);
    RUN(test_window);
    RUN(test_clocks);
    RUN(test_busy_slices);
    RUN(test_late_accepts);
    RUN(test_recovery);
    RUN(test_model);
    return check_done();
}
