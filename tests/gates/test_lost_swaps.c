/* Another thread comes between the reading of a shared word and its change: the outcome is that of
   one after the other, to the last byte. Here the other thread's call is made by the swap itself.
 */
#include "../support/contend.h"
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

static void (*other)(void); /* what the other thread does, once */
static unsigned swaps;      /* that pass before it does */

static void once(uint32_t *word)
{
    (void)word;
    if (swaps != 0) {
        swaps--;
        return;
    }
    contend.swap = NULL;
    other();
}

/* The next swap but `after` is preceded by `thread`. */
static void between(void (*thread)(void), unsigned after)
{
    other = thread;
    swaps = after;
    contend.swap = once;
}

/* The swap took place, and both came to the same. */
#define CHECK_SAME(expected, got)                                  \
    do {                                                           \
        CHECK(!contend.swap);                                      \
        CHECK(memcmp(&(expected), &(got), sizeof(expected)) == 0); \
    } while (0)

static retry_budget budget, budget_after;

static void start_budgets(const retry_budget_options *options)
{
    memset(&budget, 0, sizeof budget);
    memset(&budget_after, 0, sizeof budget_after);
    retry_budget_init(&budget, options, 100);
    retry_budget_init(&budget_after, options, 100);
}

static void withdraw(void)
{
    retry_budget_withdraw(&budget, 1000, 1100);
}

static void test_budget_withdrawal(void)
{
    static const retry_budget_options options = {10000, 0, 0, 0, 0, 0, 0, 0, false, false};
    start_budgets(&options);
    between(withdraw, 0);
    CHECK(retry_budget_withdraw(&budget, 2000, 1100));
    CHECK(!contend.swap);
    CHECK_EQUAL(7000, retry_budget_balance(&budget));
    between(withdraw, 0); /* then too little is left */
    CHECK(!retry_budget_withdraw(&budget, 6500, 1100));
    CHECK(!contend.swap);
    CHECK_EQUAL(6000, retry_budget_balance(&budget));
}

/* gRPC's charge is for the failure. */
static void test_budget_charge(void)
{
    static const retry_budget_options options = RETRY_BUDGET_GRPC;
    retry_client client;
    retry_request request;
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    memset(&client, 0, sizeof client);
    memset(&request, 0, sizeof request);
    start_budgets(&options);
    client.budget = &budget;
    request.client = &client;
    retry_seed(1); /* or the first swap would be the generator's */
    retry_begin(&request, 100);
    between(withdraw, 0);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, 100));
    CHECK(!contend.swap);
    CHECK_EQUAL(8000, retry_budget_balance(&budget));
}

/* Time that two threads see pay once, whatever they lose: the claim, the fraction, the balance. */
static void test_budget_refill(void)
{
    retry_budget_options options = {10000, 0, 0, 0, 0, 0, 0, 0, false, false};
    unsigned after;
    options.refill_per_second = 1500;
    for (after = 0; after < 3; after++) {
        check_row("swap %u", after);
        start_budgets(&options);
        CHECK(retry_budget_withdraw(&budget, 5000, 100));
        CHECK(retry_budget_withdraw(&budget_after, 5000, 100));
        between(withdraw, after);
        CHECK(retry_budget_withdraw(&budget, 2000, 1100));
        CHECK(retry_budget_withdraw(&budget_after, 1000, 1100));
        CHECK(retry_budget_withdraw(&budget_after, 2000, 1100));
        CHECK_SAME(budget_after, budget);
    }
}

/* Fractions of two instants, the later one's first. */
static void withdraw_later(void)
{
    retry_budget_withdraw(&budget, 0, 103);
}

static void test_budget_fraction(void)
{
    retry_budget_options options = {10000, 0, 0, 0, 0, 0, 1, 0, false, false};
    start_budgets(&options);
    CHECK(retry_budget_withdraw(&budget, 5000, 100)); /* a full one holds no fraction */
    CHECK(retry_budget_withdraw(&budget_after, 5000, 100));
    between(withdraw_later, 1);
    CHECK(retry_budget_withdraw(&budget, 0, 101));
    CHECK(retry_budget_withdraw(&budget_after, 0, 101));
    CHECK(retry_budget_withdraw(&budget_after, 0, 103));
    CHECK_SAME(budget_after, budget);
}

/* Two threads seed the generator: it goes on from the seed that came last. */
static void seed_other(void)
{
    retry_seed(9);
}

static void test_seed(void)
{
    uint32_t expected;
    retry_seed(5);
    expected = retry_random(NULL);
    between(seed_other, 0);
    retry_seed(5);
    CHECK(!contend.swap);
    CHECK_EQUAL(expected, retry_random(NULL));
}

static retry_rate rate, rate_after;
static retry_failure throttled;
static unsigned depth;

static void start_rates(void)
{
    unsigned i;
    memset(&rate, 0, sizeof rate);
    throttled = check_failure_of(RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED);
    throttled.throttle = true;
    for (i = 0; i < 1000; i++)
        retry_rate_report(&rate, NULL, i * 2);
    retry_rate_report(&rate, &throttled, 2000);
    rate_after = rate;
}

static unsigned granted;

static void ask_rate(void)
{
    granted += retry_rate_ask(&rate, 2100) == 0;
}

static void test_rate_clock(void)
{
    start_rates();
    between(ask_rate, 0);
    retry_rate_ask(&rate, 2100);
    retry_rate_ask(&rate_after, 2100);
    retry_rate_ask(&rate_after, 2100);
    CHECK_SAME(rate_after, rate);

    between(ask_rate, 0); /* the clock stands: the first swap is the tokens' */
    retry_rate_ask(&rate, 2100);
    retry_rate_ask(&rate_after, 2100);
    retry_rate_ask(&rate_after, 2100);
    CHECK_SAME(rate_after, rate);
}

/* Two threads do not get more than one after the other would. */
static void test_rate_tokens(void)
{
    unsigned after, expected;
    for (after = 0; after < 2; after++) {
        check_row("swap %u", after);
        start_rates();
        CHECK_EQUAL(0, retry_rate_ask(&rate, 2050)); /* and some tokens are left */
        rate_after = rate;
        expected = retry_rate_ask(&rate_after, 2100) == 0;
        expected += retry_rate_ask(&rate_after, 2100) == 0;
        granted = 0;
        between(ask_rate, after);
        granted += retry_rate_ask(&rate, 2100) == 0;
        CHECK(!contend.swap);
        CHECK_RANGE(1, expected, granted);
    }
}

/* While a thread is at its report, a second posts, and a third while the second does. */
static void report_rate(uint32_t *word)
{
    if (*word >> 31 == 0) /* nobody is at the reports */
        return;
    if (++depth == 2)
        contend.swap = NULL;
    retry_rate_report(&rate, &throttled, 2100);
}

static void test_rate_inbox(void)
{
    unsigned i;
    start_rates();
    depth = 0;
    contend.swap = report_rate;
    retry_rate_report(&rate, &throttled, 2100);
    for (i = 0; i < 3; i++)
        retry_rate_report(&rate_after, &throttled, 2100);
    CHECK(!contend.swap);
    CHECK_EQUAL(retry_rate_get(&rate_after), retry_rate_get(&rate));
}

/* More reports come in than the inbox can count: none of them becomes a throttled one. */
static void fill_rate(uint32_t *word)
{
    if (*word >> 31 == 0)
        return;
    contend.swap = NULL;
    *word |= UINT32_C(0x00ffffff);
    retry_rate_report(&rate, NULL, 2100);
}

static void test_rate_inbox_full(void)
{
    uint32_t limit;
    start_rates();
    limit = retry_rate_get(&rate);
    contend.swap = fill_rate;
    retry_rate_report(&rate, NULL, 2100);
    CHECK(!contend.swap);
    CHECK_RANGE(limit, UINT32_MAX - 1, retry_rate_get(&rate));
}

static void flood_rate(uint32_t *word)
{
    unsigned i;
    if (*word >> 31 == 0)
        return;
    contend.swap = NULL;
    for (i = 0; i < 256; i++) /* as many as its bits could not count */
        retry_rate_report(&rate, &throttled, 2100);
}

static void test_rate_all_throttled(void)
{
    start_rates();
    contend.swap = flood_rate;
    retry_rate_report(&rate, NULL, 2100);
    CHECK(!contend.swap);
    CHECK_EQUAL(500, retry_rate_get(&rate));
    retry_rate_report(&rate, NULL, 2200); /* and it is nobody's turn any more */
    CHECK_RANGE(500, UINT32_MAX - 1, retry_rate_get(&rate));
}

static retry_throttle throttle;

static void ask_throttle(void)
{
    CHECK(retry_throttle_ask(&throttle, UINT32_MAX, 500000));
}

/* The window moves on, over all its slices, and the request is counted: at each swap of that. Two
   requests of which none was accepted are there then: two in three are refused. */
static void test_throttle(void)
{
    unsigned after;
    for (after = 0; after < 10; after++) {
        check_row("swap %u", after);
        memset(&throttle, 0, sizeof throttle);
        CHECK(
            retry_throttle_ask(&throttle, UINT32_MAX, 100000)); /* in the slice that 500000 is in */
        between(ask_throttle, after);
        CHECK(retry_throttle_ask(&throttle, UINT32_MAX, 500000));
        CHECK(!contend.swap);
        CHECK(!retry_throttle_ask(&throttle, UINT32_C(0xaaaa0000), 500000));
        CHECK(retry_throttle_ask(&throttle, UINT32_C(0xaaab0000), 500000));
    }
}

static retry_breaker breaker, breaker_after;
static retry_permit permit;
static retry_failure sick;

static void start_breakers(void)
{
    memset(&breaker, 0, sizeof breaker);
    sick = check_failure_of(RETRY_REASON_SERVER_ERROR);
    permit = retry_breaker_ask(&breaker, true, 1000);
    retry_breaker_report(&breaker, permit, &sick, 1000);
    breaker_after = breaker;
}

static void reset_breaker(void)
{
    retry_breaker_reset(&breaker, 1000);
}

static void report_and_reset(void)
{
    retry_breaker_report(&breaker, permit, &sick, 1000);
    retry_breaker_reset(&breaker, 1000);
}

static void test_breaker(void)
{
    start_breakers();
    between(reset_breaker, 0);
    retry_breaker_reset(&breaker, 1000);
    retry_breaker_reset(&breaker_after, 1000);
    retry_breaker_reset(&breaker_after, 1000);
    CHECK_SAME(breaker_after, breaker);

    start_breakers();
    between(report_and_reset, 0); /* the permit is void before it counts */
    retry_breaker_report(&breaker, permit, &sick, 1000);
    retry_breaker_report(&breaker_after, permit, &sick, 1000);
    retry_breaker_reset(&breaker_after, 1000);
    retry_breaker_report(&breaker_after, permit, &sick, 1000);
    CHECK_SAME(breaker_after, breaker);
}

static void report_sick(void)
{
    retry_breaker_report(&breaker, permit, &sick, 1000);
}

/* Two reports on one slice both count. */
static void test_breaker_reports(void)
{
    memset(&breaker, 0, sizeof breaker);
    breaker.volume = 2;
    sick = check_failure_of(RETRY_REASON_SERVER_ERROR);
    permit = retry_breaker_ask(&breaker, true, 1000);
    between(report_sick, 0);
    retry_breaker_report(&breaker, permit, &sick, 1000);
    CHECK(!contend.swap);
    CHECK_EQUAL(RETRY_BREAKER_OPEN, retry_breaker_state(&breaker, 1000));
}

static retry_permit others;

static void ask_breaker(void)
{
    others = retry_breaker_ask(&breaker, true, 6000);
}

/* When it is time for a probe, one of two gets it: the first that swaps. */
static void test_breaker_probe(void)
{
    unsigned after;
    for (after = 0; after < 10; after++) {
        check_row("swap %u", after);
        memset(&breaker, 0, sizeof breaker);
        breaker.volume = 1;
        sick = check_failure_of(RETRY_REASON_SERVER_ERROR);
        retry_breaker_report(&breaker, retry_breaker_ask(&breaker, true, 1000), &sick, 1000);
        CHECK_EQUAL(RETRY_BREAKER_OPEN, retry_breaker_state(&breaker, 1000));
        others.granted = false;
        between(ask_breaker, after);
        permit = retry_breaker_ask(&breaker, true, 6000);
        CHECK(permit.granted != (!contend.swap && others.granted));
        contend.swap = NULL;
        CHECK_EQUAL(RETRY_BREAKER_HALF_OPEN, retry_breaker_state(&breaker, 6000));
    }
}

static retry_latency latency, latency_after;

static void add_latency(void)
{
    retry_latency_add(&latency, 700, true);
}

static void test_latency(void)
{
    memset(&latency, 0, sizeof latency);
    retry_latency_add(&latency, 20, true);
    latency_after = latency;
    between(add_latency, 0); /* the estimate */
    retry_latency_add(&latency, 40, true);
    retry_latency_add(&latency_after, 700, true);
    retry_latency_add(&latency_after, 40, true);
    CHECK_SAME(latency_after, latency);

    between(add_latency, 1); /* the count of samples */
    retry_latency_add(&latency, 40, true);
    retry_latency_add(&latency_after, 40, true);
    retry_latency_add(&latency_after, 700, true);
    CHECK_SAME(latency_after, latency);
}

static retry_aimd aimd;
static unsigned swaps_before_rise;

static void start_aimd(uint32_t limit)
{
    sick = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    memset(&aimd, 0, sizeof aimd);
    aimd.max = 4;
    CHECK_EQUAL(2, retry_aimd_report(&aimd, &sick, 4, 100));
    if (limit == 1)
        CHECK_EQUAL(1, retry_aimd_report(&aimd, &sick, 4, 6000));
}

static void fall(void)
{
    retry_aimd_report(&aimd, &sick, 4, 20000);
}

static void rise(void)
{
    retry_aimd_report(&aimd, NULL, 4, 20000);
}

/* The last step of a rise that had looked at the instants before the fall set its own. */
static void finish_rise(uint32_t *limit)
{
    if (swaps_before_rise != 0) {
        swaps_before_rise--;
        return;
    }
    contend.swap = NULL;
    ++*limit;
}

static void between_rise(unsigned after)
{
    swaps_before_rise = after;
    contend.swap = finish_rise;
}

/* A rise gives way to a fall that comes between, at `min` too, and to another rise. */
static void test_aimd(void)
{
    start_aimd(1);
    between(fall, 1);
    CHECK_EQUAL(1, retry_aimd_report(&aimd, NULL, 4, 20000));
    CHECK(!contend.swap);
    CHECK_EQUAL(1, retry_aimd_report(&aimd, NULL, 4, 25000)); /* the fall began a cooldown */
    CHECK_EQUAL(2, retry_aimd_report(&aimd, NULL, 4, 25001));
    start_aimd(2);
    between(fall, 1);
    CHECK_EQUAL(1, retry_aimd_report(&aimd, NULL, 4, 20000));
    CHECK(!contend.swap);
    start_aimd(2);
    between(rise, 0);
    CHECK_EQUAL(3, retry_aimd_report(&aimd, NULL, 4, 20000));
    CHECK(!contend.swap);
}

/* A fall takes from what it finds in the end; the first one leaves it to the other first one. */
static void test_aimd_falls(void)
{
    start_aimd(2);
    between_rise(1);
    CHECK_EQUAL(1, retry_aimd_report(&aimd, &sick, 4, 20000)); /* of 3, not of 2 */
    CHECK(!contend.swap);
    memset(&aimd, 0, sizeof aimd);
    aimd.max = 8;
    between(fall, 2);
    CHECK_EQUAL(4, retry_aimd_report(&aimd, &sick, 8, 20000));
    CHECK(!contend.swap);
}

static void seed(void)
{
    retry_seed(1);
}

/* The later seed counts. */
static void test_seeds(void)
{
    uint32_t first;
    retry_seed(2);
    first = retry_random(NULL);
    between(seed, 0);
    retry_seed(2);
    CHECK(!contend.swap);
    CHECK_EQUAL(first, retry_random(NULL));
}

int main(void)
{
    RUN(test_budget_withdrawal);
    RUN(test_budget_charge);
    RUN(test_budget_refill);
    RUN(test_budget_fraction);
    RUN(test_seed);
    RUN(test_rate_clock);
    RUN(test_rate_tokens);
    RUN(test_rate_inbox);
    RUN(test_rate_inbox_full);
    RUN(test_rate_all_throttled);
    RUN(test_throttle);
    RUN(test_breaker);
    RUN(test_breaker_reports);
    RUN(test_breaker_probe);
    RUN(test_latency);
    RUN(test_aimd);
    RUN(test_aimd_falls);
    RUN(test_seeds);
    return check_done();
}
