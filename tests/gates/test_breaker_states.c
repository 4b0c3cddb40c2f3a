/* The three states of a circuit breaker: what closes it, its probes, and permits of another
   state. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/breakers.h"

/* ---- the three states ---------------------------------------------------------------------- */

enum { ASK, REPORT_SICK, REPORT_ANSWER, RELEASE, RESET, LOOK, SET, ASK_LATE };

/* What is done in each row; `permit` names the one that an ask is given, and that reports and
   releases hand back. */
typedef struct move {
    retry_ms at;
    uint8_t action, permit;
    bool yes;      /* an ask is granted; a report opens or closes it */
    retry_ms wait; /* of an ask */
    uint8_t state; /* afterwards; of SET the one that is set */
} move;

static void check_steps(const char *name, retry_breaker breaker, const move *steps, size_t count,
                        retry_time start)
{
    retry_permit permits[8];
    size_t i;
    memset(permits, 0, sizeof permits);
    for (i = 0; i < count; i++) {
        retry_time now = check_after(start, steps[i].at);
        retry_permit *permit = &permits[steps[i].permit];
        check_row("%s, start %" PRIu64 ", step %u", name, (uint64_t)start, (unsigned)i);
        switch (steps[i].action) {
        case ASK:
        case ASK_LATE: /* too late to be a probe */
            *permit = retry_breaker_ask(&breaker, steps[i].action == ASK, now);
            CHECK_EQUAL(steps[i].yes, permit->granted);
            CHECK_EQUAL(steps[i].wait, permit->wait);
            break;
        case REPORT_SICK:
            CHECK_EQUAL(steps[i].yes, retry_breaker_report(&breaker, *permit, &sick, now));
            break;
        case REPORT_ANSWER:
            CHECK_EQUAL(steps[i].yes,
                        retry_breaker_report(&breaker, *permit, i % 2 ? NULL : &answered, now));
            break;
        case RELEASE:
            retry_breaker_release(&breaker, *permit, now);
            break;
        case RESET:
            retry_breaker_reset(&breaker, now);
            break;
        case SET:
            retry_breaker_set(&breaker, steps[i].state, now);
            break;
        default:
            break;
        }
        CHECK_EQUAL(steps[i].state, retry_breaker_state(&breaker, now));
    }
}

#define RUN_STEPS(breaker, steps, start) \
    check_steps(#steps, (breaker), (steps), CHECK_COUNT(steps), (start))

/* Volume 1, ratio 0.6, open 1000, probe_timeout 300. */
static const move one_probe[] = {
    {0, ASK, 0, true, 0, CLOSED},
    {0, ASK, 1, true, 0, CLOSED},
    {0, ASK_LATE, 2, true, 0, CLOSED},
    {5, RELEASE, 0, false, 0, CLOSED},
    {10, REPORT_ANSWER, 0, false, 0, CLOSED},
    {10, REPORT_SICK, 1, false, 0, CLOSED}, /* half of two */
    /* late answers from before the trip neither close it nor prolong it */
    {11, REPORT_SICK, 2, true, 0, OPEN},
    {12, REPORT_ANSWER, 0, false, 0, OPEN},
    {900, REPORT_SICK, 0, false, 0, OPEN},
    {900, RELEASE, 0, false, 0, OPEN},
    {900, ASK, 3, false, 111, OPEN},
    {900, ASK_LATE, 3, false, 111, OPEN},
    {1010, ASK, 3, false, 1, OPEN},
    /* permits that were not granted do nothing */
    {1010, REPORT_ANSWER, 3, false, 0, OPEN},
    {1010, RELEASE, 3, false, 0, OPEN},
    {1011, LOOK, 0, false, 0, HALF_OPEN},
    /* who has too little time is no probe; one probe; nothing else counts meanwhile */
    {1011, ASK_LATE, 3, false, 0, HALF_OPEN},
    {1011, ASK, 4, true, 0, HALF_OPEN},
    {1011, ASK, 3, false, 0, HALF_OPEN},
    {1011, ASK_LATE, 3, false, 0, HALF_OPEN},
    {1100, REPORT_SICK, 0, false, 0, HALF_OPEN},
    {1100, REPORT_ANSWER, 1, false, 0, HALF_OPEN},
    {1100, REPORT_ANSWER, 3, false, 0, HALF_OPEN},
    {1100, RELEASE, 3, false, 0, HALF_OPEN},
    {1100, RELEASE, 0, false, 0, HALF_OPEN},
    {1310, ASK, 3, false, 0, HALF_OPEN},
    /* it is sick: open for another second */
    {1310, REPORT_SICK, 4, true, 0, OPEN},
    {1310, ASK, 3, false, 1000, OPEN},
    {1310, REPORT_ANSWER, 4, false, 0, OPEN}, /* twice */
    {2309, ASK, 3, false, 1, OPEN},
    /* a silent probe gives its place to another after 300 ms; the answer of either closes */
    {2310, ASK, 5, true, 0, HALF_OPEN},
    {2609, ASK, 3, false, 0, HALF_OPEN},
    {2610, ASK_LATE, 3, false, 0, HALF_OPEN},
    {2610, ASK, 6, true, 0, HALF_OPEN},
    {2610, ASK, 3, false, 0, HALF_OPEN},
    {2909, ASK, 3, false, 0, HALF_OPEN},
    {3600, REPORT_ANSWER, 5, true, 0, CLOSED},
    {3600, REPORT_SICK, 6, false, 0, CLOSED},
    {3600, REPORT_SICK, 4, false, 0, CLOSED},
    {3600, RELEASE, 6, false, 0, CLOSED},
    {3600, ASK, 0, true, 0, CLOSED},
    {3600, ASK, 1, true, 0, CLOSED},
    {3601, REPORT_SICK, 0, true, 0, OPEN}, /* with nothing counted before */
    /* a probe that is released makes place for the next, at once; a silent one has no place any
     * more
     */
    {4601, ASK, 2, true, 0, HALF_OPEN},
    {4650, RELEASE, 2, false, 0, HALF_OPEN},
    {4650, ASK, 3, true, 0, HALF_OPEN},
    {4650, ASK, 4, false, 0, HALF_OPEN},
    {4950, ASK, 4, true, 0, HALF_OPEN},
    {4960, RELEASE, 3, false, 0, HALF_OPEN},
    {4960, ASK, 5, false, 0, HALF_OPEN},
    {4961, RELEASE, 4, false, 0, HALF_OPEN},
    {4961, ASK, 5, true, 0, HALF_OPEN},
    {4961, ASK, 6, false, 0, HALF_OPEN},
    /* an hour later it still counts */
    {3600000, REPORT_ANSWER, 5, true, 0, CLOSED},
    /* a reset voids all permits */
    {3600000, ASK, 1, true, 0, CLOSED},
    {3600000, RESET, 0, false, 0, CLOSED},
    {3600000, REPORT_SICK, 1, false, 0, CLOSED},
    {3600000, ASK, 2, true, 0, CLOSED},
    {3600000, RESET, 0, false, 0, CLOSED},
    {3600000, REPORT_SICK, 2, false, 0, CLOSED},
    {3600000, ASK, 2, true, 0, CLOSED},
    {3600001, REPORT_SICK, 2, true, 0, OPEN},
    {3601001, ASK, 5, true, 0, HALF_OPEN},
    {3601001, RESET, 0, false, 0, CLOSED},
    {3601002, REPORT_SICK, 5, false, 0, CLOSED},
    {3601002, RELEASE, 5, false, 0, CLOSED},
    {3601002, ASK, 6, true, 0, CLOSED},
    {3601002, REPORT_SICK, 6, true, 0, OPEN},
    {3602002, ASK, 7, true, 0, HALF_OPEN},
    {3602002, RELEASE, 7, false, 0, HALF_OPEN},
    {3602002, RESET, 0, false, 0, CLOSED},
    {3602002, ASK, 7, true, 0, CLOSED},
};

/* The published sequence: volume 1, open 50 ms, open_max 400. */
static const move doubled[] = {
    {0, ASK, 0, true, 0, CLOSED},
    {0, REPORT_SICK, 0, true, 0, OPEN},
    {0, ASK, 1, false, 50, OPEN},
    {49, ASK, 1, false, 1, OPEN},
    {50, ASK, 1, true, 0, HALF_OPEN},
    {50, ASK, 2, false, 0, HALF_OPEN},
    {50, REPORT_SICK, 1, true, 0, OPEN},
    {50, ASK, 1, false, 100, OPEN},
    {150, ASK, 1, true, 0, HALF_OPEN},
    {200, REPORT_SICK, 1, true, 0, OPEN},
    {200, ASK, 1, false, 200, OPEN},
    {400, ASK, 1, true, 0, HALF_OPEN},
    {400, REPORT_SICK, 1, true, 0, OPEN},
    {400, ASK, 1, false, 400, OPEN},
    {800, ASK, 1, true, 0, HALF_OPEN},
    {800, REPORT_SICK, 1, true, 0, OPEN},
    {800, ASK, 1, false, 400, OPEN},
    {1200, ASK, 1, true, 0, HALF_OPEN},
    {1200, REPORT_ANSWER, 1, true, 0, CLOSED},
    {1200, ASK, 1, true, 0, CLOSED},
    {1200, REPORT_SICK, 1, true, 0, OPEN},
    {1200, ASK, 1, false, 50, OPEN},
    {1250, ASK, 1, true, 0, HALF_OPEN},
    {1250, REPORT_SICK, 1, true, 0, OPEN},
    {1250, ASK, 1, false, 100, OPEN},
    {1250, SET, 0, false, 0, OPEN},
    {1250, ASK, 1, false, 50, OPEN},
    {1300, ASK, 1, true, 0, HALF_OPEN},
    {1300, REPORT_SICK, 1, true, 0, OPEN},
    {1300, ASK, 1, false, 100, OPEN},
    {1300, RESET, 0, false, 0, CLOSED},
    {1300, ASK, 1, true, 0, CLOSED},
    {1300, REPORT_SICK, 1, true, 0, OPEN},
    {1300, ASK, 1, false, 50, OPEN},
};

/* Volume 1, open 100, probe_timeout 1000, probes 3. */
static const move three_probes[] = {
    {0, ASK, 0, true, 0, CLOSED},
    {0, REPORT_SICK, 0, true, 0, OPEN},
    {100, ASK, 1, true, 0, HALF_OPEN},
    {100, ASK, 2, true, 0, HALF_OPEN},
    {100, ASK, 3, true, 0, HALF_OPEN},
    {100, ASK, 0, false, 0, HALF_OPEN},
    {110, REPORT_ANSWER, 1, false, 0, HALF_OPEN},
    {110, ASK, 0, false, 0, HALF_OPEN}, /* three in all, not one after the other */
    {120, REPORT_ANSWER, 3, false, 0, HALF_OPEN},
    {120, REPORT_ANSWER, 2, true, 0, CLOSED},
    {120, REPORT_ANSWER, 2, false, 0, CLOSED},
    /* the second of three is sick; the others come too late */
    {120, ASK, 0, true, 0, CLOSED},
    {120, REPORT_SICK, 0, true, 0, OPEN},
    {220, ASK, 1, true, 0, HALF_OPEN},
    {220, ASK, 2, true, 0, HALF_OPEN},
    {230, REPORT_ANSWER, 1, false, 0, HALF_OPEN},
    {230, ASK, 3, true, 0, HALF_OPEN},
    {240, REPORT_SICK, 2, true, 0, OPEN},
    {240, REPORT_ANSWER, 3, false, 0, OPEN},
    {240, ASK, 3, false, 100, OPEN},
    /* a place that is released goes to the next; those of the silent ones go to others, and the
       answers of all count */
    {340, ASK, 1, true, 0, HALF_OPEN},
    {340, ASK, 2, true, 0, HALF_OPEN},
    {350, ASK, 3, true, 0, HALF_OPEN},
    {360, RELEASE, 2, false, 0, HALF_OPEN},
    {360, ASK, 2, true, 0, HALF_OPEN},
    {360, ASK, 4, false, 0, HALF_OPEN},
    {1359, ASK, 4, false, 0, HALF_OPEN},
    {1360, ASK, 4, true, 0, HALF_OPEN},
    {1360, ASK, 5, true, 0, HALF_OPEN},
    {1360, ASK, 6, true, 0, HALF_OPEN},
    {1360, ASK, 7, false, 0, HALF_OPEN},
    {5000, REPORT_ANSWER, 1, false, 0, HALF_OPEN},
    {5000, REPORT_ANSWER, 4, false, 0, HALF_OPEN},
    {9000, REPORT_ANSWER, 2, true, 0, CLOSED},
    {9000, REPORT_SICK, 3, false, 0, CLOSED},
    /* after a late answer two are needed, and two are out: one that is released leaves a place */
    {9000, ASK, 0, true, 0, CLOSED},
    {9000, REPORT_SICK, 0, true, 0, OPEN},
    {9100, ASK, 1, true, 0, HALF_OPEN},
    {9600, ASK, 2, true, 0, HALF_OPEN},
    {9600, ASK, 3, true, 0, HALF_OPEN},
    {10100, REPORT_ANSWER, 1, false, 0, HALF_OPEN},
    {10100, ASK, 4, false, 0, HALF_OPEN},
    {10150, RELEASE, 2, false, 0, HALF_OPEN},
    {10150, ASK, 4, true, 0, HALF_OPEN},
    {10150, ASK, 5, false, 0, HALF_OPEN},
    {10200, REPORT_ANSWER, 3, false, 0, HALF_OPEN},
    {10200, REPORT_ANSWER, 4, true, 0, CLOSED},
};

/* Volume 1, open 100: what is set by hand. */
static const move by_hand[] = {
    {0, ASK, 0, true, 0, CLOSED},
    {0, SET, 0, false, 0, ISOLATED},
    {0, REPORT_SICK, 0, false, 0, ISOLATED},
    {0, ASK, 1, false, 0, ISOLATED},
    {1000000000, ASK, 1, false, 0, ISOLATED},
    {1000000000, SET, 0, false, 0, HALF_OPEN},
    {1000000000, REPORT_ANSWER, 0, false, 0, HALF_OPEN},
    {1000000000, ASK, 1, true, 0, HALF_OPEN},
    {1000000000, ASK, 2, false, 0, HALF_OPEN},
    {1000000000, SET, 0, false, 0, HALF_OPEN},
    {1000000000, REPORT_ANSWER, 1, false, 0, HALF_OPEN},
    {1000000000, ASK, 1, true, 0, HALF_OPEN},
    {1000000000, REPORT_ANSWER, 1, true, 0, CLOSED},
    {1000000000, SET, 0, false, 0, OPEN},
    {1000000000, ASK, 1, false, 100, OPEN},
    {1000000050, SET, 0, false, 0, OPEN},
    {1000000050, ASK, 1, false, 100, OPEN},
    {1000000150, ASK, 1, true, 0, HALF_OPEN},
    {1000000150, SET, 0, false, 0, ISOLATED},
    {1000000150, REPORT_ANSWER, 1, false, 0, ISOLATED},
    {1000000150, RESET, 0, false, 0, CLOSED},
    {1000000150, ASK, 1, true, 0, CLOSED},
    {1000000150, REPORT_SICK, 1, true, 0, OPEN},
    {1000000150, SET, 0, false, 0, CLOSED},
    {1000000150, ASK, 1, true, 0, CLOSED},
};

static void test_steps(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        retry_breaker breaker = breaker_of(1, RETRY_RATIO(0.6), 0, 1000);
        breaker.probe_timeout = 300;
        RUN_STEPS(breaker, one_probe, starts[i]);
        breaker = breaker_of(1, 0, 0, 50);
        breaker.open_max = 400;
        RUN_STEPS(breaker, doubled, starts[i]);
        breaker = breaker_of(1, 0, 0, 100);
        breaker.probe_timeout = 1000;
        breaker.probes = 3;
        RUN_STEPS(breaker, three_probes, starts[i]);
        breaker = breaker_of(1, 0, 0, 100);
        RUN_STEPS(breaker, by_hand, starts[i]);
    }
}

/* As many probes as are asked for, up to 255: one more is refused, and it takes all their answers.
 */
static void test_many_probes(void)
{
    static const uint8_t probes[] = {0, 1, 2, 10, 15, 16, 127, 128, 254, 255};
    retry_permit permits[255];
    size_t i;
    for (i = 0; i < CHECK_COUNT(probes); i++) {
        retry_breaker breaker = opened(100, 0, 0);
        uint32_t count = probes[i] ? probes[i] : 1, n;
        check_row("%u probes", (unsigned)probes[i]);
        breaker.probes = probes[i];
        for (n = 0; n < count; n++) {
            permits[n] = retry_breaker_ask(&breaker, true, 100);
            CHECK(permits[n].granted);
        }
        CHECK(!granted(&breaker, 100));
        CHECK(!granted(&breaker, 5099));
        for (n = 0; n < count; n++) {
            CHECK_STATE(HALF_OPEN, &breaker, 200);
            CHECK_EQUAL(n + 1 == count, retry_breaker_report(&breaker, permits[n], NULL, 200));
            CHECK_EQUAL(n + 1 == count, granted(&breaker, 200));
        }
        CHECK_STATE(CLOSED, &breaker, 200);
        CHECK_COUNTS(0, 0, &breaker, 200);
    }
}

/* All are silent, again and again: `probes` of them every probe_timeout ms, never more. */
static void test_silent_probes(void)
{
    retry_breaker breaker = opened(100, 1000, 0);
    retry_permit first;
    uint32_t now;
    uint32_t count = 0;
    memset(&first, 0, sizeof first);
    breaker.probes = 4;
    for (now = 100; now < 100 + 10 * SECOND; now++) {
        retry_permit permit = retry_breaker_ask(&breaker, true, now);
        count += permit.granted;
        first = count == 1 ? permit : first;
        CHECK_RANGE(0, 4 * ((now - 100) / 1000 + 1), count);
    }
    CHECK_RANGE(36, 40, count);
    retry_breaker_release(&breaker, first, now); /* it has no place to give back */
    CHECK(!granted(&breaker, now - 1));
    CHECK(retry_breaker_report(&breaker, first, &sick, now));
    CHECK_STATE(OPEN, &breaker, now);
    CHECK_EQUAL(1, retry_breaker_get(&breaker, now).sick_probes);
}

/* Without a probe_timeout an answer after 5 s gives no place back: others may have it. */
static void test_default_probe_timeout(void)
{
    static const struct {
        retry_time elapsed;
        bool granted;
    } steps[] = {{4999, true}, {5000, false}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(steps); i++) {
        retry_breaker breaker = opened(100, 0, 0);
        retry_permit first, second;
        breaker.probes = 3;
        first = retry_breaker_ask(&breaker, true, 100);
        second = retry_breaker_ask(&breaker, true, 1100);
        check_row("after %lu ms", (unsigned long)steps[i].elapsed);
        CHECK(first.granted && second.granted);
        CHECK(!retry_breaker_report(&breaker, first, NULL, 100 + steps[i].elapsed));
        CHECK_EQUAL(steps[i].granted, granted(&breaker, 100 + steps[i].elapsed));
    }
}

/* Each change is told once and counts begin anew, also where the number of changes wraps. */
static void test_every_change(void)
{
    retry_breaker breaker = breaker_of(1, 0, 0, 1);
    uint32_t i;
    retry_breaker_reset(&breaker, 0); /* three changes a round: the 65,536th is one that closes */
    for (i = 0; i < 22000; i++) {
        CHECK_EQUAL(1, attempts(&breaker, 1, &sick, i));
        CHECK_EQUAL(1, attempts(&breaker, 1, NULL, i + 1));
        CHECK_COUNTS(0, 0, &breaker, i + 1);
    }
}

/* What is counted, and what a sick round of probes leaves. */
static void test_get(void)
{
    retry_breaker breaker = breaker_of(4, 0, 0, 100);
    retry_breaker_counts counts;
    unsigned i;
    attempts(&breaker, 2, NULL, 0);
    attempts(&breaker, 2, &sick, 0);
    counts = retry_breaker_get(&breaker, 10); /* it stays to be read while it is open */
    CHECK_EQUAL(4, counts.reports);
    CHECK_EQUAL(2, counts.sick);
    CHECK_EQUAL(2, counts.in_a_row);
    CHECK_EQUAL(0, counts.sick_probes);
    for (i = 1; i < 300; i++) {
        CHECK_EQUAL(1, attempts(&breaker, 1, &sick, i * 100));
        CHECK_EQUAL(i < 255 ? i : 255, retry_breaker_get(&breaker, i * 100).sick_probes);
    }
    CHECK_EQUAL(1, attempts(&breaker, 1, NULL, i * 100));
    counts = retry_breaker_get(&breaker, i * 100);
    CHECK_EQUAL(0, counts.reports + counts.sick + counts.in_a_row + counts.sick_probes);
    attempts(&breaker, 3, &sick, i * 100);
    CHECK_EQUAL(3, retry_breaker_get(&breaker, i * 100).in_a_row);
    retry_breaker_reset(&breaker, i * 100);
    counts = retry_breaker_get(&breaker, i * 100);
    CHECK_EQUAL(0, counts.reports + counts.sick + counts.in_a_row + counts.sick_probes);
}

/* No state: nothing happens. */
static void test_set_misuse(void)
{
    retry_breaker breaker = breaker_of(1, 0, 0, 100);
    retry_permit permit = retry_breaker_ask(&breaker, true, 0);
    unsigned state;
    for (state = RETRY_BREAKER_ISOLATED + 1; state < 256; state++)
        retry_breaker_set(&breaker, (uint8_t)state, 0);
    CHECK_STATE(CLOSED, &breaker, 0);
    CHECK(retry_breaker_report(&breaker, permit, &sick, 0));
}

/* After a trip the window is empty again only once it has closed: what was sick before the trip is
   not held against the node a second time. */
static void test_closes_empty(void)
{
    retry_breaker breaker = breaker_of(0, 0, 0, 10);
    attempts(&breaker, 20, &sick, 0);
    CHECK_STATE(OPEN, &breaker, 0);
    attempts(&breaker, 1, NULL, 10);
    CHECK_EQUAL(20, sick_to_open(&breaker, 30, 10)); /* the probe's answer does not count either */
    attempts(&breaker, 19, &sick, 10);
    retry_breaker_reset(&breaker, 11);
    CHECK_EQUAL(20, sick_to_open(&breaker, 30, 11));
}

static const retry_ms spans[] = {1,
                                 2,
                                 255,
                                 256,
                                 5000,
                                 65536,
                                 HOUR,
                                 UINT32_C(0x1000001),
                                 UINT32_C(0x8000000),
                                 UINT32_C(0x3fffffff),
                                 UINT32_C(0x40000000),
                                 UINT32_C(0x40000001),
                                 UINT32_C(0x80000000),
                                 UINT32_MAX};

static void check_spans(retry_ms open, retry_ms probe_timeout, retry_time start)
{
    retry_ms most = UINT32_C(0x40000000);
    retry_ms opens = open < most ? open : most;
    retry_ms waits = probe_timeout < most ? probe_timeout : most;
    retry_breaker breaker = opened(open, probe_timeout, start);
    retry_time probed = check_after(start, opens), again = check_after(probed, waits);
    CHECK_EQUAL(opens, retry_breaker_ask(&breaker, true, start).wait);
    CHECK_EQUAL(opens - opens / 2,
                retry_breaker_ask(&breaker, true, check_after(start, opens / 2)).wait);
    CHECK_EQUAL(1, retry_breaker_ask(&breaker, true, check_after(start, opens - 1)).wait);
    CHECK_STATE(OPEN, &breaker, check_after(start, opens - 1));
    CHECK_STATE(HALF_OPEN, &breaker, probed);
    CHECK(granted(&breaker, probed));
    CHECK(!granted(&breaker, check_after(probed, waits - 1)));
    CHECK(granted(&breaker, again));
    CHECK(!granted(&breaker, again));
}

/* `open` and `probe_timeout` to the millisecond, up to their limit. */
static void test_spans(void)
{
    size_t i, j, k;
    for (i = 0; i < CHECK_COUNT(spans); i++) {
        for (j = 0; j < CHECK_COUNT(spans); j++) {
            for (k = 0; k < CHECK_COUNT(starts); k++) {
                check_row("open %lu, probe_timeout %lu, start %" PRIu64, (unsigned long)spans[i],
                          (unsigned long)spans[j], (uint64_t)starts[k]);
                check_spans(spans[i], spans[j], starts[k]);
            }
        }
    }
}

static const struct {
    retry_ms open, open_max;
    retry_ms last; /* what the sick rounds of probes come to, doubling */
} doublings[] = {
    {0, 0, 2000},
    {50, 0, 50},
    {50, 49, 50},
    {50, 50, 50},
    {50, 51, 51},
    {50, 99, 99},
    {50, 400, 400},
    {0, 300000, 300000},
    {1, UINT32_MAX, UINT32_C(0x40000000)},
    {3, UINT32_C(0x40000000), UINT32_C(0x40000000)},
    {UINT32_C(0x3fffffff), UINT32_MAX, UINT32_C(0x40000000)},
    {UINT32_MAX, 1, UINT32_C(0x40000000)},
    {UINT32_MAX, UINT32_MAX, UINT32_C(0x40000000)},
};

static void test_doubling(void)
{
    size_t i;
    unsigned round;
    for (i = 0; i < CHECK_COUNT(doublings); i++) {
        retry_breaker breaker = opened(doublings[i].open, 0, 0);
        retry_time now = 0;
        retry_ms opens = doublings[i].open ? doublings[i].open : 2000;
        breaker.open_max = doublings[i].open_max;
        opens = opens < UINT32_C(0x40000000) ? opens : UINT32_C(0x40000000);
        for (round = 0; round < 300; round++) {
            check_row("open %lu, open_max %lu, round %u", (unsigned long)doublings[i].open,
                      (unsigned long)doublings[i].open_max, round);
            CHECK_EQUAL(opens, retry_breaker_ask(&breaker, true, now).wait);
            now = check_after(now, opens);
            CHECK_EQUAL(1, attempts(&breaker, 1, &sick, now));
            opens = opens * 2 < doublings[i].last ? opens * 2 : doublings[i].last;
        }
        now = check_after(now, opens);
        CHECK_EQUAL(1, attempts(&breaker, 1, NULL, now));
        CHECK_EQUAL(1, attempts(&breaker, 1, &sick, now));
        CHECK_RANGE(1, doublings[i].open ? doublings[i].open : 2000,
                    retry_breaker_ask(&breaker, true, now).wait);
    }
}

/* ---- permits ------------------------------------------------------------------------------- */

/* A permit of another state is void: nothing that is done with it has an effect. */
static void check_void(const retry_breaker *breaker, retry_permit permit, retry_time now)
{
    retry_breaker copy = *breaker;
    CHECK(!retry_breaker_report(&copy, permit, NULL, now));
    CHECK(!retry_breaker_report(&copy, permit, &sick, now));
    retry_breaker_release(&copy, permit, now);
    CHECK(memcmp(breaker, &copy, sizeof copy) == 0);
}

#define CHANGES (65535 / CHECK_ONE_IN)

static void test_void_permits(void)
{
    retry_breaker breaker = breaker_of(1, 0, 0, 1);
    retry_permit first = retry_breaker_ask(&breaker, true, 0), probe;
    uint32_t i;
    for (i = 1; i <= CHANGES; i++) {
        check_row("reset %lu", (unsigned long)i);
        retry_breaker_reset(&breaker, 0); /* all at the same instant */
        check_void(&breaker, first, 0);
    }
    breaker = breaker_of(1, 0, 0, 1);
    first = retry_breaker_ask(&breaker, true, 0);
    for (i = 1; i <= CHANGES / 3; i++) { /* opens, is probed, closes */
        check_row("opened and closed %lu", (unsigned long)i);
        attempts(&breaker, 1, &sick, i);
        check_void(&breaker, first, i);
        check_void(&breaker, first, i + 1);
        probe = retry_breaker_ask(&breaker, true, i + 1);
        check_void(&breaker, first, i + 1);
        retry_breaker_report(&breaker, probe, NULL, i + 1);
        check_void(&breaker, first, i + 1);
        check_void(&breaker, probe, i + 1);
    }
    breaker = opened(1, 0, 0);
    probe = retry_breaker_ask(&breaker, true, 1);
    retry_breaker_report(&breaker, probe, &sick, 1);
    for (i = 1; i <= CHANGES / 2; i++) { /* the probe is sick: opens anew */
        retry_permit next = retry_breaker_ask(&breaker, true, i + 1);
        check_row("opened anew %lu", (unsigned long)i);
        CHECK(next.granted);
        check_void(&breaker, probe, i + 1);
        CHECK(retry_breaker_report(&breaker, next, &sick, i + 1));
        check_void(&breaker, probe, i + 1);
        check_void(&breaker, next, i + 1);
    }
    breaker = breaker_of(1, 0, 0, 1);
    first = retry_breaker_ask(&breaker, true, 0);
    for (i = 1; i <= 65535; i++)
        retry_breaker_reset(&breaker, 0);
    retry_breaker_set(&breaker, RETRY_BREAKER_OPEN, 0);
    check_row("its number has come round");
    check_void(&breaker, first, 1);
}

int main(void)
{
    set_up();
    RUN(test_steps);
    RUN(test_many_probes);
    RUN(test_silent_probes);
    RUN(test_default_probe_timeout);
    RUN(test_every_change);
    RUN(test_get);
    RUN(test_set_misuse);
    RUN(test_closes_empty);
    RUN(test_spans);
    RUN(test_doubling);
    RUN(test_void_permits);
    return check_done();
}
