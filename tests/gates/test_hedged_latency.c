/* Hedging by a latency, in a closed loop on a virtual clock: eight workers do what retry_next says,
   as programs do it. A second copy is sent when the first is late, and when one is answered the
   other is cancelled. How many are hedged, and what becomes of the slowest operations. With an
   argument it prints a table instead. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"
#include "../support/shapes.h"

#include <stdlib.h>

#define WORKERS 8u
#define COPIES 2u
#define NEVER UINT64_MAX

#if defined(CHECK_QUICK) || CHECK_ONE_IN > 1
#define OPERATIONS 4000u
#else
#define OPERATIONS 20000u
#endif

struct worker {
    retry_operation op;
    retry_hedge hedge;
    retry_copy further;
    uint64_t ends[COPIES], timer, began; /* ends: NEVER: not on the wire */
};

static struct {
    retry_latency latency;
    retry_gates gates;
    retry_client client;
    retry_budget budget;
    bool hedges;
    struct worker workers[WORKERS];
    uint64_t now;
    uint32_t slower; /* the service takes so many times longer */
    uint32_t begun, done, hedged, wins;
    retry_ms took[OPERATIONS];
} world;

static void send_copy(struct worker *worker, const retry_step *step)
{
    CHECK(step->copy < COPIES && worker->ends[step->copy] == NEVER);
    CHECK_EQUAL(0, step->node);
    CHECK_EQUAL(UINT32_MAX, step->timeout);
    worker->ends[step->copy] = world.now + (uint64_t)shape_draw() * world.slower;
    world.begun += step->copy == 0;
    world.hedged += step->copy;
}

static void cancel_copy(struct worker *worker, const retry_step *step)
{
    CHECK(step->copy < COPIES && worker->ends[step->copy] != NEVER);
    worker->ends[step->copy] = NEVER;
}

static void set_timer(struct worker *worker, const retry_step *step)
{
    CHECK_EQUAL(RETRY_CAUSE_NONE, step->cause);
    CHECK(step->delay != 0);
    worker->timer = step->delay == UINT32_MAX ? NEVER : world.now + step->delay;
}

static void finished(const struct worker *worker, const retry_step *step)
{
    CHECK_EQUAL(RETRY_DO_END, step->what);
    CHECK_EQUAL(RETRY_VERDICT_SUCCESS, step->verdict);
    CHECK_EQUAL(RETRY_CAUSE_NONE, step->cause);
    CHECK(!worker->op.ambiguous);
    if (world.done < OPERATIONS)
        world.took[world.done] = (retry_ms)(world.now - worker->began);
    world.done++;
}

static void begin(struct worker *worker)
{
    memset(worker, 0, sizeof *worker);
    worker->op.client = &world.client;
    worker->op.idempotent = true;
    worker->op.timeout = UINT32_MAX;
    worker->hedge.latency = world.hedges ? &world.latency : NULL;
    worker->hedge.count = COPIES - 1;
    worker->hedge.copies = &worker->further;
    worker->began = world.now;
    worker->ends[0] = worker->ends[1] = NEVER;
    retry_hedge_copies(&worker->op, &worker->hedge);
    retry_start(&worker->op, NULL, (retry_time)world.now);
}

/* Does what there is to do; after an operation comes the next. */
static void drive(struct worker *worker)
{
    for (;;) {
        retry_step step = retry_next(&worker->op, (retry_time)world.now);
        switch (step.what) {
        case RETRY_DO_SEND:
            send_copy(worker, &step);
            break;
        case RETRY_DO_CANCEL:
            cancel_copy(worker, &step);
            break;
        case RETRY_DO_WAIT:
            set_timer(worker, &step);
            return;
        default:
            finished(worker, &step);
            begin(worker);
            break;
        }
    }
}

static void answer(struct worker *worker, unsigned copy)
{
    worker->ends[copy] = NEVER;
    world.wins += copy;
    retry_ended(&worker->op, copy, NULL, (retry_time)world.now);
}

/* What happens next to a worker, and when: a copy is answered, or (COPIES) its timer fires. */
static unsigned next_of(const struct worker *worker, uint64_t *at)
{
    unsigned next = COPIES, copy;
    *at = worker->timer;
    for (copy = 0; copy < COPIES; copy++) {
        if (worker->ends[copy] <= *at) {
            *at = worker->ends[copy];
            next = copy;
        }
    }
    return next;
}

static void step(void)
{
    struct worker *worker = world.workers;
    uint64_t at, soonest = NEVER;
    unsigned i, next;
    for (i = 0; i < WORKERS; i++) {
        next_of(&world.workers[i], &at);
        if (at < soonest) {
            soonest = at;
            worker = &world.workers[i];
        }
    }
    world.now = soonest;
    next = next_of(worker, &at);
    if (next != COPIES)
        answer(worker, next);
    drive(worker);
}

static void operate(uint32_t count)
{
    world.begun = world.done = world.hedged = world.wins = 0;
    while (world.done < count)
        step();
}

/* Hedged by this quantile; 0: not at all. Until the latency tells something nothing counts. */
static void start(uint32_t quantile)
{
    retry_budget_options a_fifth = options_of(20000, 1000);
    unsigned i;
    memset(&world, 0, sizeof world);
    world.slower = 1;
    world.latency.quantile = quantile;
    world.hedges = quantile != 0;
    a_fifth.request_deposit = 200;
    retry_budget_init(&world.budget, &a_fifth, 0);
    retry_gates_latency(&world.gates, &world.latency);
    world.client.gates = &world.gates;
    world.client.budget = &world.budget;
    for (i = 0; i < WORKERS; i++) {
        begin(&world.workers[i]);
        drive(&world.workers[i]);
    }
    while (retry_latency_get(&world.latency) == UINT32_MAX)
        operate(100);
}

static int compare(const void *a, const void *b)
{
    retry_ms x = *(const retry_ms *)a, y = *(const retry_ms *)b;
    return (x > y) - (x < y);
}

/* What so many of 1,000 operations did not take longer than. */
static retry_ms took(unsigned per_mille)
{
    return world.took[(uint32_t)((uint64_t)OPERATIONS * per_mille / 1000)];
}

static void run(uint32_t quantile)
{
    start(quantile);
    operate(OPERATIONS);
    qsort(world.took, OPERATIONS, sizeof world.took[0], compare);
}

static uint32_t hedged_per_mille(void)
{
    return (uint32_t)((uint64_t)world.hedged * 1000 / world.begun);
}

/* Second copies under way. */
static uint32_t second_copies(void)
{
    uint32_t count = 0;
    unsigned i;
    for (i = 0; i < WORKERS; i++)
        count += world.workers[i].ends[1] != NEVER;
    return count;
}

/* What is hedged by a quantile is what is asked for, whatever the shape, and helps where there is a
   tail: at most so many per cent of the 99 % without hedges. Five standard deviations fit below. */
static const struct {
    unsigned shape; /* of shapes */
    uint32_t quantile, at_most;
} rows[] = {
    {1, RETRY_RATIO(0.95), 101}, /* constant */
    {4, RETRY_RATIO(0.95), 101}, /* uniform */
    {5, RETRY_RATIO(0.95), 101}, {6, RETRY_RATIO(0.95), 101},
    {7, RETRY_RATIO(0.95), 110}, /* lognormal */
    {8, RETRY_RATIO(0.95), 105}, {9, RETRY_RATIO(0.9), 80},
    {9, RETRY_RATIO(0.95), 85},  {9, RETRY_RATIO(0.99), 125},
    {11, RETRY_RATIO(0.9), 90},                              /* 3 of 10 ten times slower */
    {11, RETRY_RATIO(0.95), 90}, {12, RETRY_RATIO(0.9), 10}, /* 5 of 100 a hundred times */
};

static void test_share_and_tail(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_ms without;
        uint32_t asked = (1000 * (RETRY_RATIO(1) - rows[i].quantile)) >> 16;
        shape_set_up(&shapes[rows[i].shape]);
        without = shape_quantile(RETRY_RATIO(0.99));
        run(0);
        CHECK_EQUAL(0, world.hedged);
        run(rows[i].quantile);
        check_row("%s, quantile %lu", shapes[rows[i].shape].name, (unsigned long)rows[i].quantile);
        CHECK_RANGE(shapes[rows[i].shape].sigma > 0 ? asked / 2 : 0, asked * 3 / 2 + 2,
                    hedged_per_mille());
        CHECK_RANGE(0, (uint64_t)without * rows[i].at_most / 100, took(990));
        CHECK(world.wins <= world.hedged);
        CHECK_EQUAL(WORKERS + second_copies(), world.gates.in_flight);
    }
}

/* A whole service that becomes ten times slower is soon late no more: what is hedged meanwhile is a
   part of what its budget pays for. */
static void test_slow_down(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        if (rows[i].quantile != RETRY_RATIO(0.95))
            continue;
        shape_set_up(&shapes[rows[i].shape]);
        start(rows[i].quantile);
        world.slower = 10;
        operate(1000);
        check_row("%s", shapes[rows[i].shape].name);
        CHECK_RANGE(0, 150, hedged_per_mille());
        operate(1000);
        CHECK_RANGE(0, 75, hedged_per_mille());
    }
}

static void print_table(void)
{
    size_t i;
    printf("%-34s quantile  hedged, %%    99 %%, ms without\n", "attempts");
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_ms without;
        shape_set_up(&shapes[rows[i].shape]);
        without = shape_quantile(RETRY_RATIO(0.99));
        run(0);
        run(rows[i].quantile);
        printf("%-34s %8.2f %10.1f %10lu %7lu\n", shapes[rows[i].shape].name,
               rows[i].quantile / 65536.0, hedged_per_mille() / 10.0, (unsigned long)took(990),
               (unsigned long)without);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        print_table();
        return 0;
    }
    RUN(test_share_and_tail);
    RUN(test_slow_down);
    return check_done();
}
