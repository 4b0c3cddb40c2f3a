/* Eight threads share a rate and an AIMD limit: no token and no report is lost or made, a half
   second ends once, and a cooldown sees one change of a kind. Then one call interrupts another at
   each of its steps: all that threads meet once in a while. Needs POSIX threads. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "../support/contend.h"
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/by_hand.h"
#include "../support/workers.h"

#ifdef CHECK_QUICK
#define ROUNDS 200u
#else
#define ROUNDS 2000u
#endif

static retry_rate rate;
static retry_gates rate_gates; /* the rate's */
static retry_aimd aimd;
static retry_failure throttled, unsent;

/* ---- the rate's tokens --------------------------------------------------------------------- */

static void limit_to(uint32_t thousandths)
{
    memset(&rate, 0, sizeof rate);
    memset(&rate_gates, 0, sizeof rate_gates);
    retry_gates_rate(&rate_gates, &rate);
    rate.max = thousandths;
    rate.wait = 1; /* who would have to wait is refused, and takes nothing */
}

/* ms until it would let an attempt pass; 0: it did. */
static retry_ms ask(retry_time now)
{
    return by_hand_ask(&rate_gates, 0, now).delay;
}

/* The end of an attempt that was sent at that instant, too, without a limit. */
static void answer(const retry_failure *failure, retry_time now)
{
    by_hand_attempt(&rate_gates, 0, now, failure, now);
}

static void *ask_at_once(void *context)
{
    struct worker *worker = (struct worker *)context;
    unsigned i;
    for (i = 0; i < ROUNDS; i++) {
        if (ask(1000) == 0)
            worker->granted++;
        else
            worker->denied++;
    }
    return NULL;
}

/* All together get what the bucket holds. */
static void test_ask_at_once(void)
{
    limit_to(6216000); /* 777 in an eighth of a second, or one less, as time is rounded */
    run_threads(ask_at_once);
    CHECK_EQUAL(776, total.granted);
    CHECK_EQUAL(THREADS * ROUNDS - 776, total.denied);
    CHECK_EQUAL(1, ask(1000));
    CHECK_EQUAL(0, rate_gates.in_flight);
}

#define LAST (ROUNDS * 10)

/* Each thread's clock goes on by itself, so that instants come out of order, by seconds even. */
static void *ask_for_long(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t state = worker->number + 1, now = 0;
    while (now < LAST) {
        now += threads_choose(&state) % 5;
        worker->granted += ask(now < LAST ? now : LAST) == 0;
    }
    return NULL;
}

/* What the time on the latest clock makes is there to be taken, with what was there before, all of
   it and no more. */
static void test_ask_for_long(void)
{
    retry_ms wait;
    limit_to(333333);
    CHECK_EQUAL(0, ask(0));
    run_threads(ask_for_long);
    total.granted++;
    while ((wait = ask(LAST)) == 0)
        total.granted++;
    CHECK_EQUAL((LAST + 125) / 3, total.granted);
    CHECK_RANGE(1, 3, wait);
}

/* ---- the rate's reports -------------------------------------------------------------------- */

#define REPORTS (10 * ROUNDS)

/* So many answers in half a second, some of them throttled; the limit that it sets. */
static uint32_t limit_after(uint32_t accepted, uint32_t cuts)
{
    limit_to(0);
    for (; accepted != 0; accepted--)
        answer(NULL, 100000);
    for (; cuts != 0; cuts--)
        answer(&throttled, 100000);
    ask(100500);
    return retry_rate_get(&rate);
}

/* One in so many is throttled, counted over all threads. */
static uint32_t one_in;

static void *report_answers(void *context)
{
    const struct worker *worker = (const struct worker *)context;
    uint32_t i;
    threads_meet();
    for (i = worker->number; i < REPORTS * THREADS; i += THREADS)
        answer(i % one_in == 0 ? &throttled : NULL, 100000);
    return NULL;
}

static void test_no_report_is_lost(void)
{
    static const uint32_t shares[] = {2, 3, 1000};
    unsigned i;
    for (i = 0; i < CHECK_COUNT(shares); i++) {
        uint32_t all = THREADS * REPORTS, cuts = (all + shares[i] - 1) / shares[i];
        uint32_t limit = limit_after(all - cuts, cuts), less = limit_after(all - cuts - 1, cuts);
        one_in = shares[i];
        limit_to(0);
        run_threads(report_answers);
        CHECK_EQUAL(UINT32_MAX, retry_rate_get(&rate));
        ask(100500);
        check_row("one of %u throttled", (unsigned)one_in);
        CHECK_EQUAL(limit, retry_rate_get(&rate));
        CHECK(limit != less);
        CHECK_EQUAL(0, rate_gates.in_flight);
    }
}

/* Attempts of each thread that were sent before there was a limit. */
static struct by_hand early[THREADS][ROUNDS];

static void send_early(void)
{
    uint32_t i, round;
    for (i = 0; i < THREADS; i++)
        for (round = 0; round < ROUNDS; round++)
            by_hand_send(&early[i][round], &rate_gates, NULL, 0);
}

/* The end of one of another rate, which no other thread uses. */
static void answer_alone(retry_rate *alone, const retry_failure *failure, retry_time now)
{
    retry_rate kept = *alone;
    struct by_hand hand;
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    memset(alone, 0, sizeof *alone);
    retry_gates_rate(&gates, alone);
    by_hand_send(&hand, &gates, NULL, 0);
    *alone = kept;
    by_hand_end(&hand, failure, now);
}

/* All are at the end of a half second at once: one of them learns from it, as if it were alone. In
   every fourth round half of the answers were throttled. */
static void *end_half_seconds(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t round, i;
    retry_rate alone;
    memset(&alone, 0, sizeof alone);
    alone.wait = 1;
    for (round = 0; round < ROUNDS; round++) {
        retry_time start = (retry_time)round * 500;
        for (i = 0; i < THREADS; i++) {
            bool cut = round % 4 == 0 && i % 2 == 0;
            answer_alone(&alone, cut ? &throttled : NULL, start);
            if (i == worker->number)
                by_hand_end(&early[i][round], cut ? &throttled : NULL, start);
        }
        threads_meet();
        by_hand_rate(&alone, start + 500);
        ask(start + 500);
        threads_meet();
        worker->wrong += retry_rate_get(&rate) != retry_rate_get(&alone);
    }
    return NULL;
}

static void test_half_seconds_end_once(void)
{
    limit_to(0);
    send_early();
    CHECK_EQUAL(THREADS * ROUNDS, rate_gates.in_flight);
    run_threads(end_half_seconds);
    CHECK_EQUAL(0, total.wrong);
    CHECK_EQUAL(0, rate_gates.in_flight);
}

/* Everything at once, for the thread sanitizer, too. */
static void *mix(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t state = worker->number + 1;
    retry_time now = (retry_time)-1000;
    unsigned i;
    for (i = 0; i < 10 * ROUNDS; i++) {
        uint32_t what = threads_choose(&state), limit = retry_rate_get(&rate);
        retry_step step =
            by_hand_attempt(&rate_gates, 0, now, what % 50 == 0 ? &throttled : NULL, now);
        worker->wrong += step.delay > 2000 || limit < 500;
        worker->granted += step.what == RETRY_DO_SEND;
        worker->denied += step.cause == RETRY_CAUSE_THROTTLED;
        now = check_after(now, what % 7);
    }
    return NULL;
}

static void test_mix(void)
{
    limit_to(0);
    run_threads(mix);
    CHECK_EQUAL(0, total.wrong);
    CHECK_EQUAL(10 * ROUNDS * THREADS, total.granted + total.denied);
    CHECK(total.granted != 0 && total.denied != 0);
    CHECK_EQUAL(0, rate_gates.in_flight);
}

/* ---- the AIMD limit ------------------------------------------------------------------------ */

#define SPACING 1001u

static void aimd_of(uint32_t max, uint32_t decrease)
{
    memset(&aimd, 0, sizeof aimd);
    aimd.max = aimd.initial = max;
    aimd.decrease = decrease;
    aimd.cooldown = SPACING - 1;
}

/* The limit, which has heard of an attempt that lasted no time. Instants here count from 1. */
static uint32_t report(const retry_failure *failure, uint32_t in_use, retry_time now)
{
    return by_hand_aimd(&aimd, failure, in_use, now + 1, now + 1);
}

/* One that has fallen once, and is above `initial`: it rises by one. */
static void fallen_of(uint32_t max, uint32_t decrease)
{
    aimd_of(max, decrease);
    report(&throttled, 1, check_before(0, 2 * SPACING));
    aimd.initial = 1;
}

static uint32_t less(uint32_t limit)
{
    return limit - (limit + 9) / 10; /* 0.9 of it */
}

/* One fall a round, and one rise: in the even rounds all have failed, in the odd ones they were
   answered. Thread 0 looks at what came out. */
static void *by_turns(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t expected = retry_aimd_limit(&aimd), round;
    for (round = 0; round < ROUNDS; round++) {
        threads_meet();
        report(round % 2 == 0 ? &throttled : NULL, UINT32_MAX, round * SPACING);
        expected = round % 2 == 0 ? less(expected) : expected + 1;
        threads_meet();
        worker->wrong += retry_aimd_limit(&aimd) != expected;
    }
    return NULL;
}

static void test_one_change_a_cooldown(void)
{
    fallen_of(30000, RETRY_RATIO(0.9));
    run_threads(by_turns);
    CHECK_EQUAL(0, total.wrong);
}

/* From a zeroed limit, where no instant means anything yet. */
static void *fall_once(void *context)
{
    (void)context;
    threads_meet();
    report(&throttled, 1, 0);
    report(NULL, UINT32_MAX, 0);
    return NULL;
}

static void test_first_fall(void)
{
    unsigned round;
    for (round = 0; round < ROUNDS / 20; round++) {
        aimd_of(100, 0);
        run_threads(fall_once);
        check_row("round %u", round);
        CHECK_EQUAL(50, retry_aimd_limit(&aimd));
    }
}

/* From a zeroed limit, one rise, which doubles it. */
static void *rise_once(void *context)
{
    (void)context;
    threads_meet();
    report(NULL, UINT32_MAX, SPACING);
    return NULL;
}

static void test_first_rise(void)
{
    unsigned round;
    for (round = 0; round < ROUNDS / 20; round++) {
        aimd_of(100, 0);
        aimd.max = 0; /* 1,000 */
        run_threads(rise_once);
        check_row("round %u", round);
        CHECK_EQUAL(200, retry_aimd_limit(&aimd));
    }
}

/* From a zeroed limit, half fail and half were answered: it falls, with or without a rise before.
 */
static void *first_of_both(void *context)
{
    const struct worker *worker = (const struct worker *)context;
    threads_meet();
    report(worker->number % 2 == 0 ? &throttled : NULL, UINT32_MAX, SPACING);
    return NULL;
}

static void test_first_change(void)
{
    unsigned round;
    for (round = 0; round < ROUNDS / 20; round++) {
        uint32_t limit;
        aimd_of(100, 0);
        aimd.max = 0;
        run_threads(first_of_both);
        limit = retry_aimd_limit(&aimd);
        check_row("round %u", round);
        CHECK(limit == 50 || limit == 100);
    }
}

/* Half of them have failed, half were answered: the limit falls, with or without a rise before. */
static void *both(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t before = retry_aimd_limit(&aimd), round;
    for (round = 0; round < ROUNDS; round++) {
        uint32_t after;
        bool fails = (worker->number + round) % 2 == 0;
        threads_meet();
        report(fails ? &throttled : NULL, before - 1, round * SPACING); /* not all of it */
        threads_meet();
        after = retry_aimd_limit(&aimd);
        worker->wrong += after != less(before) && after != less(before + 1);
        before = after;
        if (before < 30)
            break;
    }
    return NULL;
}

static void test_fall_beats_rise(void)
{
    unsigned i;
    for (i = 0; i < 20; i++) {
        fallen_of(30000, RETRY_RATIO(0.9));
        run_threads(both);
        CHECK_EQUAL(0, total.wrong);
        CHECK_RANGE(20, 30, retry_aimd_limit(&aimd));
    }
}

/* All have failed, in a row: the third and later ones make one fall, and all together one pause. */
static void *fail_in_a_row(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t round;
    for (round = 0; round < ROUNDS / 4; round++) {
        retry_time now = round * 2 * SPACING;
        struct by_hand hand;
        retry_gates gates;
        memset(&gates, 0, sizeof gates);
        retry_gates_aimd(&gates, &aimd);
        if (threads_meet()) {
            aimd_of(1000, 0);
            if (round % 2 == 0) {
                aimd.min = 500;
                report(&throttled, UINT32_MAX, now);
            }
        }
        threads_meet();
        worker->wrong += by_hand_send(&hand, &gates, NULL, now).what != RETRY_DO_SEND;
        threads_meet();
        by_hand_end(&hand, &unsent, now + SPACING);
        if (threads_meet()) {
            retry_step step = by_hand_ask(&gates, 0, now + SPACING);
            worker->wrong += retry_aimd_limit(&aimd) != 500;
            if (round % 2 == 0)
                worker->wrong +=
                    step.cause != RETRY_CAUSE_PACED || step.delay < 51 || step.delay > 1001;
            else
                worker->wrong += step.what != RETRY_DO_SEND;
        }
    }
    return NULL;
}

static void test_fail_in_a_row(void)
{
    run_threads(fail_in_a_row);
    CHECK_EQUAL(0, total.wrong);
}

/* ---- interrupted --------------------------------------------------------------------------- */

static void (*interruption)(void); /* what happens at the last of so many steps */
static uint32_t steps;             /* 0: never */

static void step(void)
{
    if (steps != 0 && --steps == 0)
        interruption();
}

/* Repeats a work with the other work at its first step, its second, and so on to its last. */
static void interrupt(void (*begin)(void), void (*work)(void), void (*other)(void),
                      void (*verify)(void))
{
    uint32_t at;
    contend.step = step;
    for (at = 1;; at++) {
        begin();
        interruption = other;
        steps = at;
        work();
        if (steps != 0)
            break;
        check_row("at step %lu", (unsigned long)at);
        verify();
    }
    contend.step = NULL;
    steps = 0;
    CHECK_RANGE(3, 1000, at);
}

/* The first two answers of all, each of which begins the half second if it is alone. */
static void begin_nothing(void)
{
    limit_to(0);
}

static void first_answer(void)
{
    answer(NULL, 100000);
}

static void verify_first_answers(void)
{
    answer(&throttled, 100000);
    ask(100500);
    CHECK_EQUAL(2 * 2000, retry_rate_get(&rate));
}

static uint32_t answers;

/* One answer and one throttled one, in a half second that ends at 500; three are out. */
static void begin_answers(void)
{
    uint32_t i;
    limit_to(0);
    for (i = 0; i < 3; i++)
        by_hand_send(&early[0][i], &rate_gates, NULL, 0);
    answers = 0;
    answer(NULL, 0);
    answer(&throttled, 0);
}

static void one_answer(void)
{
    by_hand_end(&early[0][answers++], NULL, 500);
}

/* Each of three answers counts in the one half second or in the next, which has a throttled one. */
static void verify_answers(void)
{
    uint32_t counted = retry_rate_get(&rate);
    by_hand_end(&early[0][2], &throttled, 999);
    ask(1000);
    CHECK_EQUAL(3 * 2000, counted + retry_rate_get(&rate));
}

static void end_it(void)
{
    ask(500);
}

static void verify_ended(void)
{
    CHECK_EQUAL(2000, retry_rate_get(&rate));
    end_it();
    CHECK_EQUAL(2000, retry_rate_get(&rate));
    ask(1000);
    CHECK_EQUAL(2250, retry_rate_get(&rate));
}

/* One that is held up for a whole half second may learn of less than there was, or the other. */
static void end_both(void)
{
    ask(1000);
}

static void verify_both(void)
{
    CHECK_RANGE(1000, 2250, retry_rate_get(&rate));
}

static void test_interrupted_reports(void)
{
    interrupt(begin_nothing, first_answer, first_answer, verify_first_answers);
    interrupt(begin_answers, one_answer, one_answer, verify_answers);
    interrupt(begin_answers, end_it, end_it, verify_ended);
    interrupt(begin_answers, end_it, end_both, verify_both);
}

static uint32_t granted;

/* 80 a second, and none is left at 0. */
static void begin_tokens(void)
{
    limit_to(80000);
    while (ask(0) == 0)
        continue;
    granted = 0;
}

/* 4 tokens are there, and 3 more for the interruption, whose clock is ahead. */
static void some_tokens(void)
{
    unsigned i;
    for (i = 0; i < 4; i++)
        granted += ask(50) == 0;
}

static void last_tokens(void)
{
    granted += ask(90) == 0;
}

static void verify_tokens(void)
{
    while (ask(90) == 0)
        granted++;
    CHECK_EQUAL(7, granted);
}

static void test_interrupted_asks(void)
{
    interrupt(begin_tokens, some_tokens, last_tokens, verify_tokens);
}

static void begin_fall(void)
{
    aimd_of(1000, 0);
    report(&throttled, 1, 0);
    aimd.initial = 1;
}

static void begin_first_fall(void)
{
    aimd_of(1000, 0);
}

static void fall(void)
{
    report(&throttled, 1, SPACING);
}

static void rise(void) /* by one */
{
    report(NULL, 499, SPACING);
}

static void verify_second_fall(void)
{
    CHECK_EQUAL(250, retry_aimd_limit(&aimd)); /* of 500 and of 501 */
}

static void verify_first_fall(void)
{
    CHECK_EQUAL(500, retry_aimd_limit(&aimd));
}

/* For as long as a cooldown the first fall gets nowhere, while others fall twice. */
static void first_fall(void)
{
    report(&throttled, 1, 1);
}

static void fall_twice(void)
{
    report(&throttled, 1, 1);
    report(&throttled, 1, 1 + SPACING);
}

static void verify_no_third_fall(void)
{
    CHECK_EQUAL(250, report(&throttled, 1, 2 + SPACING));
    CHECK_EQUAL(250, report(NULL, UINT32_MAX, 2 + SPACING));
}

/* Two have failed in a row; the next fall is due. */
static void begin_row(void)
{
    begin_fall();
    report(NULL, 0, 0);
    report(&unsent, 1, 0);
    report(&unsent, 1, 0);
}

static void third_failure(void)
{
    report(&unsent, 1, SPACING);
}

static void end_row(void)
{
    report(NULL, 0, SPACING);
}

/* None of the two was lost: it fell once. */
static void verify_row(void)
{
    CHECK_EQUAL(250, retry_aimd_limit(&aimd));
    CHECK_EQUAL(250, report(NULL, 0, SPACING));
    report(&unsent, 1, 3 * SPACING);
    CHECK_EQUAL(250, report(&unsent, 1, 3 * SPACING));
    CHECK_EQUAL(125, report(&unsent, 1, 3 * SPACING));
}

/* Of a row that was ended at that time one failure may be left. */
static void verify_ended_row(void)
{
    uint32_t limit = retry_aimd_limit(&aimd);
    CHECK(limit == 500 || limit == 250);
    CHECK_EQUAL(limit, report(&unsent, 1, 3 * SPACING));
    report(&unsent, 1, 3 * SPACING);
    CHECK_EQUAL(limit / 2, report(&unsent, 1, 3 * SPACING));
}

static void begin_at_min(void)
{
    aimd_of(2, 0);
    report(&throttled, 1, 0);
}

static void verify_at_min(void)
{
    CHECK_EQUAL(1, retry_aimd_limit(&aimd));
    CHECK_EQUAL(1, report(NULL, 1, 2 * SPACING - 1));
    CHECK_EQUAL(2, report(NULL, 1, 2 * SPACING));
}

static void test_interrupted_limit(void)
{
    interrupt(begin_fall, fall, rise, verify_second_fall);
    interrupt(begin_fall, rise, fall, verify_second_fall);
    interrupt(begin_fall, fall, fall, verify_second_fall);
    interrupt(begin_first_fall, fall, fall, verify_first_fall);
    interrupt(begin_first_fall, first_fall, fall_twice, verify_no_third_fall);
    interrupt(begin_row, third_failure, third_failure, verify_row);
    interrupt(begin_row, third_failure, end_row, verify_ended_row);
    interrupt(begin_row, end_row, third_failure, verify_ended_row);
    interrupt(begin_at_min, rise, fall, verify_at_min);
    interrupt(begin_at_min, fall, rise, verify_at_min);
}

int main(void)
{
    throttled = retry_classify_http(429, 0);
    unsent = retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE);
    RUN(test_ask_at_once);
    RUN(test_ask_for_long);
    RUN(test_no_report_is_lost);
    RUN(test_half_seconds_end_once);
    RUN(test_mix);
    RUN(test_one_change_a_cooldown);
    RUN(test_first_fall);
    RUN(test_first_rise);
    RUN(test_first_change);
    RUN(test_fall_beats_rise);
    RUN(test_fail_in_a_row);
    RUN(test_interrupted_asks);
    RUN(test_interrupted_reports);
    RUN(test_interrupted_limit);
    return check_done();
}
