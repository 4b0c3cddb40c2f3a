/* retry_run ends with MISUSE where it would hang, or claim a success that it has not seen: a clock
   that stands still or counts seconds, an operation that two threads share. */
static unsigned stops;
#ifdef RETRY_IMPLEMENTED /* by another file, which asserts nothing */
#define CHECK_STOPS(expected) ((void)(expected))
#else
#define CHECK_STOPS(expected) CHECK_EQUAL(expected, stops)
#undef RETRY_ASSERT /* and what a whole build may have chosen */
#define RETRY_ASSERT(x) ((x) ? (void)0 : (void)stops++)
#define RETRY_IMPLEMENTATION
#endif
#include "../../retry.h"
#include "../support/check.h"
#include "../support/steps.h"

/* Time in microseconds, which the clock counts by `unit`, and shows when `tick` units are over. */
static struct {
    uint64_t now, unit;
    uint32_t tick;
    uint32_t naps; /* us; a sleep ends that early; 0: it does not */
    unsigned sleeps;
    void (*other)(void); /* what another thread does meanwhile, once */
} world;

static retry_client client;
static retry_budget budget;
static retry_operation op;
static retry_clock clock_shown;
static retry_ms wait_for; /* the strategy's delay */

static retry_time shown(void *context)
{
    (void)context;
    return (retry_time)(world.now / world.unit / world.tick * world.tick);
}

static void sleeps(void *context, retry_ms delay)
{
    void (*other)(void) = world.other;
    uint64_t us = (uint64_t)delay * 1000;
    (void)context;
    world.sleeps++;
    world.now += world.naps != 0 && world.naps < us ? world.naps : us;
    world.other = NULL;
    if (other)
        other();
}

static retry_action after(const retry_strategy *self, const retry_operation *of,
                          const retry_failure *failure, retry_time now)
{
    (void)self;
    (void)of;
    (void)failure;
    (void)now;
    return retry_action_after(wait_for);
}

static void set_up(uint64_t unit, uint32_t tick)
{
    static const retry_strategy strategy = {after};
    static retry_budget_options options;
    memset(&world, 0, sizeof world);
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    options.capacity = RETRY_TOKENS(9);
    options.retry_cost = RETRY_TOKENS(1);
    retry_budget_init(&budget, &options, 0);
    world.unit = unit;
    world.tick = tick;
    clock_shown.now = shown;
    clock_shown.sleep = sleeps;
    client.strategy = &strategy;
    client.budget = &budget;
    op.client = &client;
    op.timeout = UINT32_MAX;
    wait_for = 5000;
    stops = 0;
}

static bool fails(void *context, const retry_operation *of, const retry_step *step,
                  retry_failure *failure)
{
    (void)context;
    (void)of;
    (void)step;
    *failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    return false;
}

/* The third works; until then each takes a second. */
static bool third_time(void *context, const retry_operation *of, const retry_step *step,
                       retry_failure *failure)
{
    world.now += 1000000;
    return of->retries == 2 || fails(context, of, step, failure);
}

/* ---- clocks -------------------------------------------------------------------------------- */

#define STILL UINT64_MAX /* us; a unit that is never over */

static void test_clocks(void)
{
    static const struct {
        const char *name;
        uint64_t unit; /* us */
        uint32_t tick; /* units */
        uint32_t naps; /* us */
        retry_ms delay;
        bool works;
    } rows[] = {
        {"milliseconds", 1000, 1, 0, 5000, true},
        {"milliseconds, a sleep is 1 ms", 1000, 1, 1000, 7500, true},
        {"ticks of 10 ms", 1000, 10, 0, 500, true},
        {"ticks of 16 ms, a sleep is 8 ms", 1000, 16, 8000, 10000, true},
        {"a sleep is 10 us", 1000, 1, 10, 9, true},
        {"a sleep is 250 us", 1000, 1, 250, 5000, true},
        {"seconds", 1000000, 1, 0, 5000, false},
        {"seconds, a short delay", 1000000, 1, 0, 100, false},
        {"minutes", 60000000, 1, 0, 100, false},
        {"it stands still", STILL, 1, 0, 5000, false},
        {"it stands still, 1 ms", STILL, 1, 0, 1, false},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_step end;
        set_up(rows[i].unit, rows[i].tick);
        world.naps = rows[i].naps;
        wait_for = rows[i].delay;
        end = retry_run(&op, NULL, &clock_shown, third_time, NULL);
        check_row("%s", rows[i].name);
        if (rows[i].works) {
            CHECK_END(SUCCESS, NONE, end);
            CHECK_STOPS(0);
        } else {
            CHECK_END(FAIL, MISUSE, end);
            CHECK_STOPS(1);
            CHECK_RANGE(900, 30000, world.sleeps);
            CHECK_EQUAL(9000, retry_budget_balance(&budget)); /* a retry that was not made */
            CHECK_EQUAL(0, retry_left(&op, shown(NULL)));     /* it is over */
        }
    }
}

/* 900 sleeps in a row, not in all: each that the clock sees begins anew. */
static bool tenth_time(void *context, const retry_operation *of, const retry_step *step,
                       retry_failure *failure)
{
    return of->retries == 9 || fails(context, of, step, failure);
}

static void test_each_delay_for_itself(void)
{
    set_up(1000, 1);
    client.budget = NULL;
    wait_for = 1;
    world.naps = 2; /* 500 sleeps, of which the clock sees the last */
    CHECK_END(SUCCESS, NONE, retry_run(&op, NULL, &clock_shown, tenth_time, NULL));
    CHECK_EQUAL(9 * 500, world.sleeps);
    CHECK_STOPS(0);
}

/* Somebody else has the limit's only place: the waits are many, and short. */
static void run_paced(uint64_t unit, uint32_t tick, retry_ms timeout)
{
    static retry_service service;
    retry_operation other;
    memset(&service, 0, sizeof service);
    memset(&other, 0, sizeof other);
    set_up(unit, tick);
    service.limit.max = 1;
    retry_service_init(&service, shown(NULL));
    retry_start(&other, &service, shown(NULL));
    CHECK_SEND(retry_next(&other, shown(NULL)));
    op.timeout = timeout;
    if (unit == STILL)
        CHECK_END(FAIL, MISUSE, retry_run(&op, &service, &clock_shown, fails, NULL));
    else
        CHECK_EQUAL(RETRY_VERDICT_EXPIRE,
                    retry_run(&op, &service, &clock_shown, fails, NULL).verdict);
    CHECK_EQUAL(1, service.gates.in_flight);
    CHECK_STOPS(unit == STILL);
}

static void test_paced(void)
{
    run_paced(1000, 1, 75000);
    CHECK(world.sleeps > 1000);
    run_paced(1000, 16, 30000); /* of many sleeps the clock sees nothing */
    run_paced(STILL, 1, 75000);
    CHECK_EQUAL(900, world.sleeps);
}

/* ---- threads that share an operation --------------------------------------------------------- */

static bool works(void *context, const retry_operation *of, const retry_step *step,
                  retry_failure *failure)
{
    (void)context;
    (void)of;
    (void)step;
    (void)failure;
    return true;
}

static void another_succeeds(void)
{
    CHECK_END(SUCCESS, NONE, retry_run(&op, NULL, &clock_shown, works, NULL));
}

static void another_sends(void)
{
    CHECK_SEND(retry_next(&op, shown(NULL)));
}

static void another_stops(void)
{
    retry_stop(&op, shown(NULL));
}

/* While it sleeps. Who only stops it is no misuse. */
static void test_shared_in_a_sleep(void)
{
    set_up(1000, 1);
    world.other = another_succeeds;
    CHECK_END(FAIL, MISUSE, retry_run(&op, NULL, &clock_shown, fails, NULL));
    CHECK_STOPS(1);
    set_up(1000, 1);
    world.other = another_sends; /* and does not come back: there is nothing to wait for */
    CHECK_END(FAIL, MISUSE, retry_run(&op, NULL, &clock_shown, fails, NULL));
    CHECK_STOPS(1);
    set_up(1000, 1);
    world.other = another_stops;
    CHECK_END(FAIL, CANCELLED, retry_run(&op, NULL, &clock_shown, fails, NULL));
    CHECK_STOPS(0);
}

/* While an attempt is out. */
static bool fails_meanwhile(void *context, const retry_operation *of, const retry_step *step,
                            retry_failure *failure)
{
    another_succeeds();
    return fails(context, of, step, failure);
}

static void test_shared_in_an_attempt(void)
{
    set_up(1000, 1);
    CHECK_END(FAIL, MISUSE, retry_run(&op, NULL, &clock_shown, fails_meanwhile, NULL));
    CHECK_STOPS(1);
}

/* ---- what an attempt or a strategy does wrong --------------------------------------------------
 */

/* `return rc;`, where 0 is good */
static bool returns_a_number(void *context, const retry_operation *of, const retry_step *step,
                             retry_failure *failure)
{
    (void)context;
    (void)of;
    (void)step;
    *failure = retry_classify_errno(0, true);
    return true;
}

static void test_true_with_a_reason(void)
{
    set_up(1000, 1);
    CHECK_END(SUCCESS, NONE, retry_run(&op, NULL, &clock_shown, returns_a_number, NULL));
    CHECK_STOPS(1);
}

static retry_action stopping(const retry_strategy *self, const retry_operation *of,
                             const retry_failure *failure, retry_time now)
{
    retry_stop(&op, now);
    return after(self, of, failure, now);
}

/* A strategy answers; it does not act. */
static void test_stop_from_a_strategy(void)
{
    static const retry_strategy strategy = {stopping};
    set_up(1000, 1);
    op.strategy = &strategy;
    op.timeout = 8000;
    CHECK_EQUAL(RETRY_VERDICT_EXPIRE, retry_run(&op, NULL, &clock_shown, fails, NULL).verdict);
    CHECK_EQUAL(1, op.retries);
    CHECK_STOPS(2);
}

int main(void)
{
    RUN(test_clocks);
    RUN(test_each_delay_for_itself);
    RUN(test_paced);
    RUN(test_shared_in_a_sleep);
    RUN(test_shared_in_an_attempt);
    RUN(test_true_with_a_reason);
    RUN(test_stop_from_a_strategy);
    return check_done();
}
