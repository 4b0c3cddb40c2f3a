/* Which map a vbucket is looked up in after not-my-vbucket, and when (RFC 0005). */
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"
#include "../support/check.h"

enum { BEGIN, REJECTED, CONFIG, STOP };

#define CURRENT ERRMAP_MAP_CURRENT
#define FORWARD ERRMAP_MAP_FAST_FORWARD

struct event {
    int kind;
    unsigned revision;
    bool has_fast_forward;
    uint8_t map; /* of the step that follows */
    retry_ms delay;
};

static const struct {
    const char *name;
    retry_ms interval;
    struct event events[10];
} rows[] = {
    {"no fast-forward map",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 7, false, CURRENT, 100},
      {REJECTED, 7, false, CURRENT, 100},
      {REJECTED, 7, false, CURRENT, 100},
      {STOP, 0, false, 0, 0}}},
    {"own interval",
     30,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 7, false, CURRENT, 30},
      {REJECTED, 7, true, FORWARD, 0},
      {REJECTED, 7, true, FORWARD, 30},
      {STOP, 0, false, 0, 0}}},
    {"fast-forward map",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 7, true, FORWARD, 0},
      {REJECTED, 7, true, FORWARD, 100},
      {REJECTED, 7, true, FORWARD, 100},
      {REJECTED, 7, true, FORWARD, 100},
      {STOP, 0, false, 0, 0}}},
    {"newer at the first rejection",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 8, true, CURRENT, 0},
      {REJECTED, 8, true, FORWARD, 0},
      {REJECTED, 8, true, FORWARD, 100},
      {STOP, 0, false, 0, 0}}},
    {"newer, no fast-forward map",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 8, false, CURRENT, 0},
      {REJECTED, 8, false, CURRENT, 100},
      {REJECTED, 9, false, CURRENT, 0},
      {REJECTED, 9, false, CURRENT, 100},
      {STOP, 0, false, 0, 0}}},
    {"newer at a rejection on the fast-forward map",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 7, true, FORWARD, 0},
      {REJECTED, 9, true, CURRENT, 0},
      {REJECTED, 9, true, FORWARD, 0},
      {REJECTED, 9, true, FORWARD, 100},
      {STOP, 0, false, 0, 0}}},
    {"newer while waiting for the current map",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 7, false, CURRENT, 100},
      {CONFIG, 8, false, CURRENT, 0},
      {REJECTED, 8, false, CURRENT, 100},
      {STOP, 0, false, 0, 0}}},
    {"newer while waiting for the fast-forward map",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 7, true, FORWARD, 0},
      {REJECTED, 7, true, FORWARD, 100},
      {CONFIG, 8, false, CURRENT, 0},
      {REJECTED, 8, true, FORWARD, 0},
      {REJECTED, 8, true, FORWARD, 100},
      {STOP, 0, false, 0, 0}}},
    {"the same or an older one while waiting",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 7, false, CURRENT, 100},
      {CONFIG, 7, false, CURRENT, 100},
      {CONFIG, 6, false, CURRENT, 100},
      {CONFIG, 0, false, CURRENT, 100},
      {CONFIG, 8, false, CURRENT, 0},
      {STOP, 0, false, 0, 0}}},
    {"the same while waiting for the fast-forward map",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 7, true, FORWARD, 0},
      {REJECTED, 7, true, FORWARD, 100},
      {CONFIG, 7, false, FORWARD, 100},
      {CONFIG, 3, false, FORWARD, 100},
      {REJECTED, 7, true, FORWARD, 100},
      {STOP, 0, false, 0, 0}}},
    {"nothing waits",
     0,
     {{BEGIN, 7, false, 0, 0},
      {CONFIG, 8, false, CURRENT, 0},
      {REJECTED, 7, true, FORWARD, 0},
      {CONFIG, 8, false, FORWARD, 0},
      {REJECTED, 8, true, CURRENT, 0},
      {CONFIG, 9, false, CURRENT, 0},
      {REJECTED, 9, true, CURRENT, 0},
      {STOP, 0, false, 0, 0}}},
    {"older at a rejection",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 3, false, CURRENT, 100},
      {REJECTED, 7, false, CURRENT, 100},
      {REJECTED, 3, true, FORWARD, 0},
      {REJECTED, 3, true, FORWARD, 100},
      {STOP, 0, false, 0, 0}}},
    /* 1.0 went on with a fast-forward map that the configuration no longer had */
    {"the fast-forward map is gone",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 7, true, FORWARD, 0},
      {REJECTED, 7, false, CURRENT, 100},
      {REJECTED, 7, false, CURRENT, 100},
      {REJECTED, 7, true, FORWARD, 0},
      {REJECTED, 7, true, FORWARD, 100},
      {REJECTED, 7, false, CURRENT, 100},
      {STOP, 0, false, 0, 0}}},
    {"the fast-forward map is gone, and a newer one comes",
     30,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 7, true, FORWARD, 0},
      {REJECTED, 7, false, CURRENT, 30},
      {CONFIG, 7, false, CURRENT, 30},
      {CONFIG, 8, false, CURRENT, 0},
      {REJECTED, 8, true, FORWARD, 0},
      {REJECTED, 9, false, CURRENT, 0},
      {REJECTED, 9, false, CURRENT, 30},
      {STOP, 0, false, 0, 0}}},
    {"begun again",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 7, true, FORWARD, 0},
      {REJECTED, 7, true, FORWARD, 100},
      {BEGIN, 7, false, 0, 0},
      {REJECTED, 7, true, FORWARD, 0},
      {BEGIN, 9, false, 0, 0},
      {CONFIG, 10, false, CURRENT, 0},
      {REJECTED, 9, false, CURRENT, 100},
      {STOP, 0, false, 0, 0}}},
    /* with an operation that does not wait a newer map counts when it has rejected */
    {"begun again while waiting",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 7, false, CURRENT, 100},
      {BEGIN, 9, false, 0, 0},
      {CONFIG, 10, false, CURRENT, 0},
      {REJECTED, 10, false, CURRENT, 0},
      {STOP, 0, false, 0, 0}}},
    {"the fast-forward map comes while waiting",
     0,
     {{BEGIN, 7, false, 0, 0},
      {REJECTED, 7, false, CURRENT, 100},
      {REJECTED, 7, true, FORWARD, 0},
      {CONFIG, 8, false, FORWARD, 0},
      {STOP, 0, false, 0, 0}}},
};

static void play(const char *name, const struct event *events, retry_ms interval, uint64_t base)
{
    errmap_nmv nmv;
    size_t i;
    memset(&nmv, 0, sizeof nmv);
    nmv.interval = interval;
    for (i = 0; events[i].kind != STOP; i++) {
        const struct event *event = &events[i];
        uint64_t revision = base + event->revision;
        errmap_nmv_step step;
        check_row("%s, event %u", name, (unsigned)i);
        if (event->kind == BEGIN) {
            errmap_nmv_begin(&nmv, revision);
            CHECK_EQUAL(interval, nmv.interval);
            continue;
        }
        step = event->kind == REJECTED
                   ? errmap_nmv_rejected(&nmv, revision, event->has_fast_forward)
                   : errmap_nmv_config(&nmv, revision);
        CHECK_EQUAL(event->map, step.map);
        CHECK_EQUAL(event->delay, step.delay);
    }
}

/* Revisions are 64 bits wide, and unsigned. */
static void test_rows(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        play(rows[i].name, rows[i].events, rows[i].interval, 0);
        play(rows[i].name, rows[i].events, rows[i].interval, UINT32_MAX - 7);
        play(rows[i].name, rows[i].events, rows[i].interval, ((uint64_t)1 << 63) - 8);
        play(rows[i].name, rows[i].events, rows[i].interval, UINT64_MAX - 20);
    }
}

static void test_low_half_is_not_enough(void)
{
    errmap_nmv nmv;
    errmap_nmv_step step;
    memset(&nmv, 0, sizeof nmv);
    errmap_nmv_begin(&nmv, ((uint64_t)1 << 32) + 5);
    step = errmap_nmv_rejected(&nmv, ((uint64_t)2 << 32) + 4, true);
    CHECK_EQUAL(CURRENT, step.map);
    CHECK_EQUAL(0, step.delay);
}

static void test_null(void)
{
    errmap_nmv_step step;
    errmap_nmv_begin(NULL, 7);
    step = errmap_nmv_rejected(NULL, 7, true);
    CHECK_EQUAL(CURRENT, step.map);
    CHECK_EQUAL(0, step.delay);
    step = errmap_nmv_config(NULL, 7);
    CHECK_EQUAL(CURRENT, step.map);
    CHECK_EQUAL(0, step.delay);
}

/* A step reaches the orchestrator as an order: RFC 0005's 100 ms then take the place of RFC 0049's
   ladder, and no budget or strategy is asked. */
static void test_as_an_order(void)
{
    static const struct {
        bool has_fast_forward;
        retry_ms delay;
    } steps[] = {{false, 100}, {false, 100}, {true, 0}, {true, 100}, {false, 100}, {true, 0}};
    retry_operation op;
    const errmap_advice advice = errmap_classify_kv(NULL, 0x07, 0x00);
    retry_failure failure = advice.failure;
    errmap_nmv nmv;
    size_t i;
    memset(&op, 0, sizeof op);
    op.client = default_client();
    memset(&nmv, 0, sizeof nmv);
    op.strategy = retry_fail_fast();
    retry_start(&op, NULL, 0);
    errmap_nmv_begin(&nmv, 7);
    for (i = 0; i < CHECK_COUNT(steps); i++) {
        decided decision;
        failure.pushback = true;
        failure.retry_after = errmap_nmv_rejected(&nmv, 7, steps[i].has_fast_forward).delay;
        decision = decide(&op, &failure, 0);
        check_row("step %u", (unsigned)i);
        CHECK_DECISION(RETRY, ALWAYS, decision);
        CHECK_EQUAL(steps[i].delay, decision.delay);
    }
    failure.pushback = false; /* without the order the ladder goes on */
    CHECK_EQUAL(1000, decide(&op, &failure, 0).delay);
}

/* A server that shows a newer map each time, or that sends one during each wait: at 1 ms a round
   trip one operation of 75 s asks it 5 times, 5 of the ladder's, and once a second. */
static void test_newer_each_time(void)
{
    static const retry_ms delays[] = {0, 0, 0, 0, 0, 1, 10, 50, 100, 500, 1000, 1000};
    uint32_t i, way;
    for (way = 0; way < 3; way++) {
        errmap_nmv nmv;
        errmap_nmv_step step = {CURRENT, 0};
        memset(&nmv, 0, sizeof nmv);
        errmap_nmv_begin(&nmv, 0);
        for (i = 0; i < 300; i++) {
            retry_ms delay = i < CHECK_COUNT(delays) ? delays[i] : 1000;
            check_row("way %lu, map %lu", (unsigned long)way, (unsigned long)i);
            if (way == 1) /* between them the fast-forward map */
                errmap_nmv_rejected(&nmv, i, true);
            else if (way == 2 && step.delay == 0) /* between them a wait that a map ends */
                errmap_nmv_rejected(&nmv, i, false);
            step = way == 2 ? errmap_nmv_config(&nmv, i + 1)
                            : errmap_nmv_rejected(&nmv, i + 1, way == 1);
            CHECK_EQUAL(CURRENT, step.map);
            CHECK_EQUAL(delay, step.delay);
        }
        errmap_nmv_rejected(&nmv, i, false);
        errmap_nmv_rejected(&nmv, i, false); /* waited to the end: another row */
        check_row("way %lu, another row", (unsigned long)way);
        CHECK_EQUAL(0, errmap_nmv_rejected(&nmv, i + 1, false).delay);
    }
}

/* At 1 ms a round trip an operation of 75 s asks such a server eleven times, and once a second. */
static void test_newer_for_long(void)
{
    errmap_nmv nmv;
    uint32_t now, asked = 0;
    memset(&nmv, 0, sizeof nmv);
    errmap_nmv_begin(&nmv, 0);
    for (now = 0; now < 75000; asked++)
        now += 1 + errmap_nmv_rejected(&nmv, asked + 1, false).delay;
    CHECK_RANGE(80, 90, asked);
}

int main(void)
{
    RUN(test_rows);
    RUN(test_low_half_is_not_enough);
    RUN(test_null);
    RUN(test_as_an_order);
    RUN(test_newer_each_time);
    RUN(test_newer_for_long);
    return check_done();
}
