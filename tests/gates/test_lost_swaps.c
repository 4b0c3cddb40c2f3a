/* Another thread comes between the reading of a shared word and its change: the outcome is that of
   one after the other, to the last byte. Here the other thread's call is made by the swap itself.
 */
#include "../support/contend.h"
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/by_hand.h"
#include "../support/check.h"
#include "../support/options.h"

static void (*other)(void); /* what the other thread does, once */
static unsigned swaps;      /* that pass before it does */
static const void *shared;  /* whose swaps count; NULL: all */
static size_t shared_size;

static bool counts(const uint32_t *word)
{
    return !shared || (uintptr_t)word - (uintptr_t)shared < shared_size;
}

static void once(uint32_t *word)
{
    if (!counts(word))
        return;
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
    shared = NULL;
    contend.swap = once;
}

/* Of the swaps of this object. */
static void between_of(const void *object, size_t size, void (*thread)(void), unsigned after)
{
    between(thread, after);
    shared = object;
    shared_size = size;
}

/* Whether there were fewer swaps than that; nothing comes between any more. */
static bool too_few_swaps(void)
{
    bool too_few = contend.swap != NULL;
    contend.swap = NULL;
    return too_few;
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
    const retry_budget_options options = options_of(10000, 0);
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
    retry_operation op;
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    start_budgets(&options);
    client.budget = &budget;
    op.client = &client;
    retry_start(&op, NULL, 100);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&op, 100).what);
    between(withdraw, 0);
    retry_ended(&op, 0, &failure, 100);
    CHECK_DECISION(RETRY, STRATEGY, decided_of(&op));
    CHECK(!contend.swap);
    CHECK_EQUAL(8000, retry_budget_balance(&budget));
}

/* Of operations that wait for what refills the base: ms until the last that failed is sent. */
static retry_ms waits(retry_time now)
{
    retry_client client;
    retry_operation op;
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    client.budget = &budget;
    op.client = &client;
    op.idempotent = true;
    retry_start(&op, NULL, now);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&op, now).what);
    retry_ended(&op, 0, &failure, now);
    CHECK_DECISION(RETRY, STRATEGY, decided_of(&op));
    return op.delay;
}

static retry_time other_waits_at;

static void other_waits(void)
{
    waits(other_waits_at);
}

/* Two that wait at once wait for different tokens, and so does one that begins while they come in.
 */
static void test_budget_owed(void)
{
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(1);
    options.expire = 0;
    options.capacity = 1000;
    start_budgets(&options);
    CHECK(retry_budget_withdraw(&budget, 1000, 100));
    other_waits_at = 100;
    between_of(&budget, sizeof budget, other_waits, 0);
    CHECK_RANGE(10000, 10100, waits(100));
    CHECK(!contend.swap);
    other_waits_at = 5100; /* after two swaps: of when time was counted, and of the fraction */
    between_of(&budget, sizeof budget, other_waits, 2);
    CHECK(!retry_budget_withdraw(&budget, 1, 5100));
    CHECK(!contend.swap);
    CHECK_RANGE(15000, 15100, waits(5100)); /* 2 - 1 + 1 before it */
}

/* Time that two threads see pay once, whatever they lose: the claim, the fraction, the balance. */
static void test_budget_refill(void)
{
    retry_budget_options options = options_of(10000, 0);
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

/* So does what comes in below a base: 1,000 of the 8,000 that are missing. */
static void test_budget_base(void)
{
    retry_budget_options options = options_of(20000, 9000);
    unsigned after;
    options.expire = options.base_per_second = 1000;
    for (after = 0; after < 3; after++) {
        check_row("swap %u", after);
        start_budgets(&options);
        CHECK(retry_budget_withdraw(&budget, 8000, 100));
        between(withdraw, after);
        CHECK(retry_budget_withdraw(&budget, 0, 1100));
        CHECK(!contend.swap);
        CHECK_EQUAL(1000, retry_budget_balance(&budget));
    }
}

static void deposit(void)
{
    retry_budget_deposit(&budget, 5000);
}

/* What another deposits beyond the base meanwhile is not taken for a base that is full. */
static void test_budget_base_and_deposit(void)
{
    retry_budget_options options = options_of(20000, 2000);
    options.expire = options.base_per_second = 1000;
    start_budgets(&options);
    CHECK(retry_budget_withdraw(&budget, 2000, 100));
    between(deposit, 2); /* the claim, the fraction, the balance */
    CHECK(retry_budget_withdraw(&budget, 0, 1100));
    CHECK(!contend.swap);
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
}

/* Tokens expire once, and no withdrawal is lost: of 50 beyond the first one a 2.718th is left, or
   of the 49 that another leaves. */
static void test_budget_expires(void)
{
    retry_budget_options options = options_of(100000, 1000);
    unsigned after;
    options.expire = 1000;
    for (after = 0; after < 3; after++) {
        check_row("swap %u", after);
        start_budgets(&options);
        retry_budget_deposit(&budget, 50000);
        between(withdraw, after);
        CHECK(retry_budget_withdraw(&budget, 2000, 1100));
        CHECK(!contend.swap);
        CHECK_RANGE(16350 + (after == 1) * 600, 16450 + (after == 1) * 650,
                    retry_budget_balance(&budget));
    }
}

/* Fractions of two instants, the later one's first. */
static void withdraw_later(void)
{
    retry_budget_withdraw(&budget, 0, 103);
}

static void test_budget_fraction(void)
{
    retry_budget_options options = options_of(10000, 0);
    options.refill_per_second = 1;
    start_budgets(&options);
    CHECK(retry_budget_withdraw(&budget, 5000, 100)); /* a full one holds no fraction */
    CHECK(retry_budget_withdraw(&budget_after, 5000, 100));
    between(withdraw_later, 1);
    CHECK(retry_budget_withdraw(&budget, 0, 101));
    CHECK(retry_budget_withdraw(&budget_after, 0, 101));
    CHECK(retry_budget_withdraw(&budget_after, 0, 103));
    CHECK_SAME(budget_after, budget);
}

static retry_rate rate, rate_after;
static retry_gates rate_gates;
static unsigned granted;

static void between_rate(void (*thread)(void), unsigned after)
{
    between_of(&rate, sizeof rate, thread, after);
}

/* Whoever would have to wait is refused, and takes nothing. */
static void start_rate(uint32_t max)
{
    memset(&rate, 0, sizeof rate);
    memset(&rate_gates, 0, sizeof rate_gates);
    retry_gates_rate(&rate_gates, &rate);
    rate.max = max;
    rate.wait = 1;
    granted = 0;
}

/* A limit of 100 a second, and an empty bucket at 2000. */
static void start_rates(void)
{
    start_rate(100000);
    while (by_hand_rate(&rate, 2000) == 0)
        continue;
    rate_after = rate;
}

static void ask_rate(void)
{
    granted += by_hand_ask(&rate_gates, 0, 2006).what == RETRY_DO_SEND;
}

/* Time that two threads see pays once, and for one token. */
static void test_rate_tokens(void)
{
    unsigned after;
    for (after = 0; after < 2; after++) {
        check_row("swap %u", after);
        start_rates();
        between_rate(ask_rate, after);
        ask_rate();
        CHECK_EQUAL(1, granted);
        CHECK_EQUAL(0, by_hand_rate(&rate_after, 2006));
        CHECK_EQUAL(9, by_hand_rate(&rate_after, 2006));
        CHECK_SAME(rate_after, rate);
        CHECK_EQUAL(0, rate_gates.in_flight);
    }
}

static struct by_hand paced[2];
static unsigned waiting, given_back;

static void wait_for_rate(void)
{
    granted += by_hand_send(&paced[waiting++], &rate_gates, NULL, 2000).delay;
}

static void return_to_rate(void)
{
    retry_stop(&paced[given_back++ % 2].op, 2000);
}

/* Tokens that are taken in advance, and are given back: the earlier one first, whose instant is
   gone then, and the later. */
static void test_rate_instants(void)
{
    unsigned first;
    for (first = 0; first < 2; first++) {
        check_row("first %u", first);
        start_rates();
        rate.wait = waiting = 0;
        between_rate(wait_for_rate, 0);
        wait_for_rate();
        CHECK(!contend.swap);
        CHECK_EQUAL(2, waiting);
        CHECK_EQUAL(5 + 15, granted);
        given_back = first;
        between_rate(return_to_rate, 0);
        return_to_rate();
        CHECK(!contend.swap);
        granted = waiting = 0;
        between_rate(wait_for_rate, 0);
        wait_for_rate();
        CHECK_EQUAL(first == 0 ? 15 + 25 : 5 + 15, granted);
    }
}

/* Attempts that were sent before there was a limit. */
static struct by_hand early[43];
static unsigned ended;

static void report_rate(const retry_failure *failure, retry_time now)
{
    by_hand_end(&early[ended++], failure, now);
}

static void end_half_second(void)
{
    by_hand_rate(&rate, 2500);
}

static void report_half_second(void)
{
    report_rate(NULL, 2500);
}

/* A half second ends, at each swap of that: once, with all that was counted. Another's answer then
   is of the one or of the next. */
static void test_rate_half_second(void)
{
    retry_failure failure = retry_classify_http(429, 0);
    unsigned after, answers, i;
    for (after = 0; after < 12; after++) {
        bool answer = after % 2 == 0;
        check_row("swap %u", after / 2);
        start_rate(0);
        for (i = 0; i < CHECK_COUNT(early); i++)
            by_hand_send(&early[i], &rate_gates, NULL, 2000);
        ended = 0;
        for (i = 0; i < 20; i++)
            report_rate(NULL, 2000 + i);
        report_rate(&failure, 2100);
        between_rate(answer ? report_half_second : end_half_second, after / 2);
        end_half_second();
        CHECK(!contend.swap);
        answers = retry_rate_get(&rate) / 2000;
        CHECK_RANGE(20, 20 + answer, answers);
        for (i = 0; i < 20; i++)
            report_rate(NULL, 2600);
        report_rate(&failure, 2700);
        by_hand_rate(&rate, 3000);
        CHECK_EQUAL(40 + answer, answers + retry_rate_get(&rate) / 2000);
    }
}

static retry_throttle throttle;
static retry_gates throttle_gates;
static retry_failure throttled;
static retry_time throttle_now;

/* An attempt that was sent when the window was as it is. */
static void report_throttle(void)
{
    by_hand_attempt(&throttle_gates, UINT32_MAX, throttle_now, &throttled, throttle_now);
}

/* What a new attempt is told that draws this. */
static bool throttle_refuses(uint32_t drawn, retry_time now)
{
    return by_hand_ask(&throttle_gates, drawn, now).cause == RETRY_CAUSE_THROTTLED;
}

/* The window goes on to another half, or begins anew, and the request is counted: another thread
   does the same at each swap of that. None of the two requests is lost, and none that is too old
   stays; with n of which none was accepted n in n + 1 are refused. */
static void test_throttle(void)
{
    static const struct {
        retry_time later;
        uint32_t refused; /* of 2^32, rounded up */
    } rows[] = {
        {2000, UINT32_C(0xcccccccd)}, /* four in five: two of before are in the window still */
        {400000, UINT32_C(0xaaaaaaab)},
    };
    unsigned row, after;
    throttled = check_failure_of(RETRY_REASON_SERVER_ERROR);
    for (row = 0; row < CHECK_COUNT(rows); row++) {
        for (after = 0; after < 8; after++) {
            check_row("%lu ms later, swap %u", (unsigned long)rows[row].later, after);
            memset(&throttle, 0, sizeof throttle);
            memset(&throttle_gates, 0, sizeof throttle_gates);
            retry_gates_throttle(&throttle_gates, &throttle);
            throttle_now = 100000;
            report_throttle();
            report_throttle();
            throttle_now += rows[row].later;
            between_of(&throttle, sizeof throttle, report_throttle, after);
            report_throttle();
            if (too_few_swaps())
                report_throttle();
            CHECK(throttle_refuses(rows[row].refused - 1, throttle_now + 1999));
            CHECK(!throttle_refuses(rows[row].refused, throttle_now + 1999));
        }
    }
}

static retry_breaker breaker;
static retry_permit permit, others;
static retry_failure sick;
static unsigned changes; /* that reports told of */

static void report(retry_permit with, const retry_failure *failure, retry_time now)
{
    changes += retry_breaker_report(&breaker, with, failure, now);
}

#define CHECK_BREAKER(state, reports_, sick_, now)                                \
    do {                                                                          \
        retry_breaker_counts counts_ = retry_breaker_get(&breaker, (now));        \
        CHECK_EQUAL((reports_), counts_.reports);                                 \
        CHECK_EQUAL((sick_), counts_.sick);                                       \
        CHECK_EQUAL((sick_), counts_.in_a_row);                                   \
        CHECK_EQUAL(RETRY_BREAKER_##state, retry_breaker_state(&breaker, (now))); \
    } while (0)

static void start_breaker(uint32_t volume)
{
    memset(&breaker, 0, sizeof breaker);
    breaker.volume = volume;
    sick = check_failure_of(RETRY_REASON_SERVER_ERROR);
    permit = others = retry_breaker_ask(&breaker, true, 1000);
    changes = 0;
}

static void report_sick(void)
{
    report(others, &sick, 1000);
}

/* Two reports both count; the one that completes the volume, or the row, opens it, and one is told
   so. */
static void test_breaker_reports(void)
{
    unsigned after;
    for (after = 0; after < 12; after++) {
        check_row("swap %u", after);
        start_breaker(4);
        report_sick();
        between(report_sick, after);
        report(permit, &sick, 1000);
        if (too_few_swaps())
            report_sick();
        CHECK_EQUAL(0, changes);
        CHECK_BREAKER(CLOSED, 3, 3, 1000);
        between(report_sick, after);
        report(permit, &sick, 1000);
        too_few_swaps();
        CHECK_EQUAL(1, changes);
        CHECK_EQUAL(RETRY_BREAKER_OPEN, retry_breaker_state(&breaker, 1000));
        start_breaker(UINT32_MAX);
        breaker.in_a_row = 2;
        between(report_sick, after);
        report(permit, &sick, 1000);
        if (too_few_swaps())
            report_sick();
        CHECK_EQUAL(1, changes);
    }
}

static void break_other(void)
{
    const retry_failure lost = check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
    report(others, &lost, 1000);
}

/* Two streams of a connection that broke: one of them counts, whoever is first. */
static void test_breaker_connection(void)
{
    const retry_failure lost = check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
    unsigned after;
    for (after = 0; after < 6; after++) {
        check_row("swap %u", after);
        start_breaker(UINT32_MAX);
        between(break_other, after);
        report(permit, &lost, 1000);
        if (too_few_swaps())
            break_other();
        CHECK_BREAKER(CLOSED, 1, 1, 1000);
    }
}

/* An answer between a sick one's steps ends the row, before it or after it. */
static void report_answer(void)
{
    report(others, NULL, 1000);
}

static void test_breaker_row(void)
{
    unsigned after;
    for (after = 0; after < 4; after++) {
        start_breaker(UINT32_MAX);
        report_sick();
        between(report_answer, after);
        report(permit, &sick, 1000);
        check_row("swap %u", after);
        CHECK_EQUAL(after < 3 ? 1 : 2, retry_breaker_get(&breaker, 1000).in_a_row);
        too_few_swaps();
        start_breaker(UINT32_MAX);
        report_sick();
        between(report_sick, after);
        report(permit, NULL, 1000);
        CHECK_EQUAL(0, retry_breaker_get(&breaker, 1000).in_a_row);
        too_few_swaps();
    }
}

static void reset_and_report(void)
{
    retry_breaker_reset(&breaker, 1000);
    report(retry_breaker_ask(&breaker, true, 1000), &sick, 1000);
}

/* A report whose breaker is reset between its steps counts nothing for the new state. */
static void test_breaker_report_and_reset(void)
{
    unsigned after;
    for (after = 0; after < 4; after++) {
        check_row("swap %u", after);
        start_breaker(UINT32_MAX);
        report_sick();
        between(reset_and_report, after);
        report(permit, &sick, 1000);
        CHECK_EQUAL(after == 3, too_few_swaps());
        if (after < 3)
            CHECK_BREAKER(CLOSED, 1, 1, 1000);
    }
}

/* A reset between the steps of another: all permits are void, and only what came after both counts.
 */
static void test_breaker_resets(void)
{
    unsigned after;
    for (after = 0; after < 14; after++) {
        check_row("swap %u", after);
        start_breaker(UINT32_MAX);
        report_sick();
        between(reset_and_report, after);
        retry_breaker_reset(&breaker, 1000);
        too_few_swaps();
        CHECK_RANGE(0, 1, retry_breaker_get(&breaker, 1000).reports);
        retry_breaker_reset(&breaker, 1000);
        CHECK_BREAKER(CLOSED, 0, 0, 1000);
        report(permit, &sick, 1000);
        CHECK_BREAKER(CLOSED, 0, 0, 1000);
    }
}

/* It was opened, and two probes are under way. */
static void start_probes(void)
{
    start_breaker(1);
    report_sick();
    breaker.probes = 2;
    permit = retry_breaker_ask(&breaker, true, 3000);
    others = retry_breaker_ask(&breaker, true, 3000);
    CHECK(permit.granted && others.granted);
    changes = 0;
}

static void close_and_report(void)
{
    report(others, NULL, 3000);
    if (retry_breaker_state(&breaker, 3000) != RETRY_BREAKER_CLOSED)
        return;
    breaker.volume = 9;
    report(retry_breaker_ask(&breaker, true, 3000), NULL, 3000);
    report(retry_breaker_ask(&breaker, true, 3000), &sick, 3000);
}

/* Another probe's answer closes it between the steps of one that would: it is empty then, once, and
   what is reported afterwards stays. */
static void test_breaker_closes(void)
{
    unsigned after;
    for (after = 0; after < 9; after++) {
        check_row("swap %u", after);
        start_probes();
        report(permit, NULL, 3000); /* a probe's second report counts as another's */
        CHECK_EQUAL(0, changes);
        between(close_and_report, after);
        report(permit, NULL, 3000);
        CHECK_EQUAL(1, changes);
        if (!too_few_swaps()) {
            retry_breaker_counts counts = retry_breaker_get(&breaker, 3000);
            CHECK_EQUAL(2, counts.reports);
            CHECK_EQUAL(1, counts.sick);
            CHECK_EQUAL(1, counts.in_a_row);
        }
        CHECK_EQUAL(RETRY_BREAKER_CLOSED, retry_breaker_state(&breaker, 3000));
    }
}

static void report_sick_probe(void)
{
    report(others, &sick, 3000);
}

/* Two probes are sick: it opens once, and doubles once. */
static void test_breaker_sick_probes(void)
{
    unsigned after;
    for (after = 0; after < 4; after++) {
        check_row("swap %u", after);
        start_probes();
        breaker.open_max = 100000;
        between(report_sick_probe, after);
        report(permit, &sick, 3000);
        too_few_swaps();
        CHECK_EQUAL(1, changes);
        CHECK_EQUAL(1, retry_breaker_get(&breaker, 3000).sick_probes);
        CHECK_EQUAL(4000, retry_breaker_ask(&breaker, true, 3000).wait);
    }
}

static retry_time ask_at;

static void ask_breaker(void)
{
    others = retry_breaker_ask(&breaker, true, ask_at);
}

/* When it is time for a probe, or for another in the place of a silent one, one of two gets it. */
static void test_breaker_probe(void)
{
    unsigned after, silent;
    for (silent = 0; silent < 2; silent++) {
        for (after = 0; after < 3; after++) {
            check_row("swap %u, %u silent", after, silent);
            start_breaker(1);
            report_sick();
            ask_at = 3000;
            if (silent) {
                CHECK(retry_breaker_ask(&breaker, true, ask_at).granted);
                ask_at += 5000;
            }
            others.granted = false;
            between(ask_breaker, after);
            permit = retry_breaker_ask(&breaker, true, ask_at);
            CHECK(permit.granted != (!too_few_swaps() && others.granted));
            CHECK_EQUAL(RETRY_BREAKER_HALF_OPEN, retry_breaker_state(&breaker, ask_at));
            CHECK(!retry_breaker_ask(&breaker, true, ask_at).granted);
        }
    }
}

static retry_latency latency, latency_after;

static void add_to(retry_latency *to, retry_ms elapsed)
{
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    retry_gates_latency(&gates, to);
    by_hand_attempt(&gates, 0, 1000, NULL, 1000 + elapsed);
}

static void add_latency(void)
{
    add_to(&latency, 700);
}

static void between_latency(unsigned after)
{
    between_of(&latency, sizeof latency, add_latency, after);
}

static void test_latency(void)
{
    unsigned i;
    memset(&latency, 0, sizeof latency);
    for (i = 0; i < 768; i++)
        add_to(&latency, 20);
    latency_after = latency;
    between_latency(0); /* the estimate */
    add_to(&latency, 40);
    add_to(&latency_after, 700);
    add_to(&latency_after, 40);
    CHECK_SAME(latency_after, latency);

    between_latency(1); /* the progress */
    add_to(&latency, 40);
    add_to(&latency_after, 40);
    add_to(&latency_after, 700);
    CHECK_SAME(latency_after, latency);
}

static retry_aimd aimd;
static retry_failure overload;

static void between_aimd(void (*thread)(void), unsigned after)
{
    between_of(&aimd, sizeof aimd, thread, after);
}

/* The limit, which has heard of an attempt that lasted no time. */
static uint32_t report_aimd(const retry_failure *failure, retry_time now)
{
    return by_hand_aimd(&aimd, failure, UINT32_MAX, now, now);
}

static void new_aimd(uint32_t max)
{
    overload = retry_classify_http(429, 0);
    sick = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    memset(&aimd, 0, sizeof aimd);
    aimd.max = aimd.initial = max;
    aimd.cooldown = 1000;
}

static void start_aimd(uint32_t limit)
{
    new_aimd(4);
    CHECK_EQUAL(2, report_aimd(&overload, 100));
    if (limit == 1)
        CHECK_EQUAL(1, report_aimd(&overload, 6000));
}

static void fall(void)
{
    report_aimd(&overload, 20000);
}

static void rise(void)
{
    report_aimd(NULL, 20000);
}

/* The last step of a rise by two that had looked at the instants before the fall set its own: right
   before the fall changes the limit. */
static void finish_rise(uint32_t *word)
{
    if (*word == retry_aimd_limit(&aimd)) {
        contend.swap = NULL;
        *word += 2;
    }
}

/* A rise gives way to a fall that comes between, at `min` too, and to another rise. */
static void test_aimd(void)
{
    unsigned after;
    for (after = 0; after < 4; after++) {
        check_row("swap %u", after);
        start_aimd(1);
        between_aimd(fall, after);
        CHECK_EQUAL(1, report_aimd(NULL, 20000));
        CHECK(!contend.swap);
        CHECK_EQUAL(1, report_aimd(NULL, 21000)); /* the fall began a cooldown */
        CHECK_EQUAL(2, report_aimd(NULL, 21001));
        start_aimd(2);
        between_aimd(fall, after);
        CHECK_EQUAL(1, report_aimd(NULL, 20000));
        CHECK(!contend.swap);
        start_aimd(2);
        between_aimd(rise, after);
        CHECK_EQUAL(3, report_aimd(NULL, 20000));
        CHECK(!contend.swap);
    }
}

/* A fall takes from what it finds in the end; the first one leaves it to the other first one, and
   so does every other. */
static void test_aimd_falls(void)
{
    unsigned after;
    new_aimd(2000);
    CHECK_EQUAL(1000, report_aimd(&overload, 100));
    contend.swap = finish_rise;
    CHECK_EQUAL(501, report_aimd(&overload, 20000)); /* of 1002, not of 1000 */
    CHECK(!contend.swap);
    for (after = 0; after < 4; after++) {
        check_row("swap %u", after);
        new_aimd(8);
        between_aimd(fall, after);
        CHECK_EQUAL(4, report_aimd(&overload, 20000));
        CHECK(!contend.swap);
        new_aimd(8);
        CHECK_EQUAL(4, report_aimd(&overload, 100));
        between_aimd(fall, after);
        CHECK_EQUAL(2, report_aimd(&overload, 20000));
        CHECK(!contend.swap);
    }
}

static void fall_at_0(void)
{
    report_aimd(&overload, 0);
}

/* Of two first changes one is made: at instant 0, too, where both find what was never set. */
static void test_aimd_first(void)
{
    unsigned after;
    for (after = 0; after < 5; after++) {
        check_row("swap %u", after);
        new_aimd(8);
        between_aimd(fall_at_0, after);
        report_aimd(&overload, 0);
        CHECK(!contend.swap);
        CHECK_EQUAL(4, retry_aimd_limit(&aimd));
    }
    for (after = 0; after < 2; after++) {
        check_row("rise, swap %u", after);
        new_aimd(8);
        aimd.max = 100;
        between_aimd(rise, after);
        CHECK_EQUAL(16, report_aimd(NULL, 20000)); /* it has doubled */
        CHECK(!contend.swap);
    }
}

static void fail_unsent(void)
{
    report_aimd(&sick, 20000);
}

/* Of failures in a row none is lost: the first and the second come at once, or the second and the
   third. */
static void test_aimd_row(void)
{
    unsigned after;
    new_aimd(100);
    between_aimd(fail_unsent, 0);
    CHECK_EQUAL(100, report_aimd(&sick, 20000));
    CHECK(!contend.swap);
    CHECK_EQUAL(50, report_aimd(&sick, 20000));
    for (after = 0; after < 4; after++) {
        check_row("swap %u", after);
        new_aimd(100);
        CHECK_EQUAL(100, report_aimd(&sick, 100));
        between_aimd(fail_unsent, after);
        report_aimd(&sick, 20000);
        if (too_few_swaps())
            fail_unsent();
        CHECK_EQUAL(50, retry_aimd_limit(&aimd));
    }
}

/* An attempt that was sent before a pause, and draws this. */
static void fail_drawing(uint32_t drawn)
{
    struct by_hand hand;
    retry_gates gates;
    uint32_t draws = drawn;
    memset(&gates, 0, sizeof gates);
    retry_gates_aimd(&gates, &aimd);
    by_hand_send(&hand, &gates, &draws, 19000);
    by_hand_end(&hand, &sick, 20000);
}

static void fail_drawing_most(void)
{
    fail_drawing(UINT32_MAX);
}

/* The third and the fourth in the row come at once, and draw 200 and 800 ms, or 400 twice. The
   pause is that of the one or of the other; one that was begun is not made another. */
static void test_aimd_pause(void)
{
    unsigned after;
    for (after = 0; after < 7; after++) {
        retry_gates gates;
        retry_step step;
        new_aimd(1);
        report_aimd(&sick, 100);
        report_aimd(&sick, 6000);
        between_aimd(fail_drawing_most, after);
        fail_drawing(0);
        CHECK(!contend.swap);
        memset(&gates, 0, sizeof gates);
        retry_gates_aimd(&gates, &aimd);
        step = by_hand_ask(&gates, 0, 20000);
        check_row("swap %u", after);
        CHECK_EQUAL(RETRY_CAUSE_PACED, step.cause);
        CHECK_EQUAL(after == 0 ? 400 + 1 : 800 + 1, step.delay);
        CHECK_EQUAL(1, retry_aimd_limit(&aimd));
    }
}

static retry_gates server;
static struct by_hand on_server[3];
static retry_step steps[CHECK_COUNT(on_server)];

static void send_to_server(unsigned which)
{
    struct by_hand *hand = &on_server[which];
    hand->op = by_hand_start(&hand->client, &server, NULL, 2000);
    hand->client.cut_after = which < 2 ? 400 : 100;
    steps[which] = retry_next(&hand->op, 2000);
}

static void send_other(void)
{
    send_to_server(1);
}

/* Of two that ask for a place at once each has its own. */
static void test_places(void)
{
    unsigned max;
    for (max = 1; max <= 2; max++) {
        check_row("max %u", max);
        new_aimd(max);
        memset(&server, 0, sizeof server);
        retry_gates_aimd(&server, &aimd);
        between_of(&server.in_flight, sizeof server.in_flight, send_other, 0);
        send_to_server(0);
        CHECK(!contend.swap);
        CHECK_EQUAL(RETRY_DO_SEND, steps[1].what);
        CHECK_EQUAL(max == 2 ? RETRY_DO_SEND : RETRY_DO_WAIT, steps[0].what);
        CHECK_EQUAL(max, server.in_flight);
    }
}

static const retry_failure *server_failure; /* of every attempt */
static retry_ms other_age;

static void end_other(void)
{
    retry_ended(&on_server[1].op, 0, server_failure, 2000 + other_age);
}

/* The time of the attempt after two that end at once: the other's end comes before the swap. */
static retry_ms time_after(retry_ms age, retry_ms other_one, unsigned after)
{
    retry_latency latency_of_server;
    memset(&server, 0, sizeof server);
    memset(&latency_of_server, 0, sizeof latency_of_server);
    retry_gates_latency(&server, &latency_of_server);
    send_to_server(0);
    send_to_server(1);
    other_age = other_one;
    between_of(&server, sizeof server, end_other, after);
    retry_ended(&on_server[0].op, 0, server_failure, 2000 + age);
    if (too_few_swaps())
        end_other();
    send_to_server(2);
    return steps[2].timeout;
}

/* What both taught is kept: the slower answer, or a quarter of the way down from it; and a round of
   time-outs is counted once. */
static void test_attempt_time(void)
{
    retry_failure timed_out = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    timed_out.timeout = true;
    server_failure = NULL;
    CHECK_EQUAL(600, time_after(300, 200, 0));
    CHECK_EQUAL(550, time_after(200, 300, 0));
    CHECK_EQUAL(550, time_after(300, 200, 1));
    server_failure = &timed_out;
    CHECK_EQUAL(200, time_after(100, 100, 0));
    CHECK_EQUAL(200, time_after(100, 100, 1));
}

int main(void)
{
    RUN(test_budget_withdrawal);
    RUN(test_budget_charge);
    RUN(test_budget_owed);
    RUN(test_budget_refill);
    RUN(test_budget_base);
    RUN(test_budget_base_and_deposit);
    RUN(test_budget_expires);
    RUN(test_budget_fraction);
    RUN(test_rate_tokens);
    RUN(test_rate_instants);
    RUN(test_rate_half_second);
    RUN(test_throttle);
    RUN(test_breaker_reports);
    RUN(test_breaker_connection);
    RUN(test_breaker_row);
    RUN(test_breaker_report_and_reset);
    RUN(test_breaker_resets);
    RUN(test_breaker_closes);
    RUN(test_breaker_sick_probes);
    RUN(test_breaker_probe);
    RUN(test_latency);
    RUN(test_aimd);
    RUN(test_aimd_falls);
    RUN(test_aimd_first);
    RUN(test_aimd_row);
    RUN(test_aimd_pause);
    RUN(test_places);
    RUN(test_attempt_time);
    return check_done();
}
