/* by_hand.c: what 30 lines by hand get wrong. The same calls are made twice: by a loop as it is
   usually written, and by retry.h. The server and the clock are simulated, so that each run prints
   the same numbers. It prints README.md's table.
       cc -o by_hand examples/by_hand.c && ./by_hand */
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <errno.h>
#include <stdio.h>

/* ---- The world: a clock, and a server that is in trouble ------------------------------------- */

enum { ANSWER = 5, RETRY_AFTER = 5000, DOWN = 10000 }; /* ms */
enum { OPERATIONS = 100, A_SECOND = 100, WHILE_DOWN = DOWN / 1000 * A_SECOND };

typedef enum trouble { LOSES_ANSWERS, IS_SILENT, IS_BUSY, IS_DOWN } trouble;
typedef struct answer {
    int error; /* of errno.h; 0: there is a status */
    int status;
    retry_ms retry_after; /* ms; 0: the server does not say */
} answer;

static retry_time now; /* ms */
static trouble server;
static retry_time well_again; /* IS_BUSY, IS_DOWN: when the server works */
static bool named;            /* IS_BUSY: when that is, it has said */
static bool loses_answer;     /* LOSES_ANSWERS: of this operation, the first time */
static unsigned times;        /* how often the server has done this operation */

typedef struct counts {
    unsigned early, in_vain;       /* calls: before the time that was named; to who is down */
    unsigned done, perhaps, twice; /* operations: reported done, perhaps done; done twice */
    retry_ms longest;              /* ms of one operation */
} counts;
static counts seen;

static answer no_answer(int error, retry_ms after)
{
    now += after;
    return (answer){.error = error};
}

static answer says(int status, retry_ms retry_after)
{
    now += ANSWER;
    return (answer){.status = status, .retry_after = retry_after};
}

static bool is_well(void)
{
    return (int32_t)(now - well_again) >= 0;
}

/* A call that takes at most `timeout` ms. */
static answer call(retry_ms timeout)
{
    switch (server) {
    case LOSES_ANSWERS:
        return ++times == 1 && loses_answer ? no_answer(ECONNRESET, ANSWER) : says(200, 0);
    case IS_SILENT:
        return no_answer(ETIMEDOUT, timeout);
    case IS_BUSY: /* from the first call on */
        seen.early += named && !is_well();
        if (!named)
            well_again = now + RETRY_AFTER;
        named = true;
        return is_well() ? says(200, 0) : says(429, well_again - now);
    default:
        seen.in_vain += !is_well();
        return says(is_well() ? 200 : 503, 0);
    }
}

static void sleep_ms(void *context, retry_ms delay)
{
    (void)context;
    now += delay;
}

/* ---- By hand --------------------------------------------------------------------------------- */

static bool worth_another_try(const answer *got)
{
    if (got->error != 0) /* no connection, or no answer */
        return true;
    return got->status == 429 || got->status >= 500;
}

static bool by_hand(void)
{
    const int tries = 4;
    retry_ms delay = 100;
    for (int i = 1; i <= tries; i++) {
        answer got = call(3000);
        if (got.error == 0 && got.status < 400)
            return true;
        if (!worth_another_try(&got))
            return false;
        if (i < tries) {
            sleep_ms(NULL, delay);
            delay *= 2;
        }
    }
    return false;
}

/* ---- By retry.h ------------------------------------------------------------------------------ */

static retry_service service;

/* In a simulation each run is to draw the same; a program of yours leaves this out. */
static uint32_t draw(void *state)
{
    uint32_t *x = (uint32_t *)state;
    return *x = *x * 1664525u + 1013904223u;
}

static retry_time clock_now(void *context)
{
    (void)context;
    return now;
}

static bool attempt(void *context, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    answer got = call(step->timeout);
    (void)context, (void)op;
    *failure = got.error != 0 ? retry_classify_errno(got.error, true)
                              : retry_classify_http(got.status, got.retry_after);
    return got.error == 0 && got.status < 400;
}

/* A POST where answers are lost, else a GET. */
static retry_operation operation(void)
{
    retry_operation op = {0};
    op.timeout = server == IS_BUSY ? 10000 : 5000; /* ms */
    op.idempotent = server != LOSES_ANSWERS;
    return op;
}

static bool by_retry(void)
{
    const retry_clock clock = {clock_now, sleep_ms, NULL};
    retry_operation op = operation();
    retry_step end = retry_run(&op, &service, &clock, attempt, NULL);
    seen.perhaps += op.ambiguous;
    return end.verdict == RETRY_VERDICT_SUCCESS;
}

/* ---- Many calls at once: by retry.h they share a service, so their times are interleaved ----- */

typedef struct job {
    retry_operation op;
    retry_time due; /* when to look at it again */
    bool sent, works, over;
} job;

static void advance(job *j)
{
    const retry_failure failure = retry_classify_http(503, 0);
    if (j->sent)
        retry_ended(&j->op, 0, j->works ? NULL : &failure, now);
    j->sent = false;
    for (;;) {
        retry_step step = retry_next(&j->op, now);
        if (step.what == RETRY_DO_WAIT) {
            j->due = now + (j->sent ? ANSWER : step.delay);
            return;
        }
        if (step.what == RETRY_DO_END) {
            seen.done += step.verdict == RETRY_VERDICT_SUCCESS;
            j->over = true;
            return;
        }
        j->sent = step.what == RETRY_DO_SEND; /* or CANCEL: its time is over */
        j->works = is_well();
        seen.in_vain += j->sent && !j->works;
    }
}

static void many_by_retry(void)
{
    static job jobs[WHILE_DOWN];
    uint32_t begun = 0, over = 0;
    for (; over < WHILE_DOWN; now++) {
        if (begun < WHILE_DOWN && now % (1000 / A_SECOND) == 0) {
            job *j = &jobs[begun++];
            j->op = operation();
            retry_start(&j->op, &service, now);
            j->due = now;
        }
        over = 0;
        for (uint32_t i = 0; i < begun; i++) {
            if (!jobs[i].over && (int32_t)(now - jobs[i].due) >= 0)
                advance(&jobs[i]);
            over += jobs[i].over;
        }
    }
}

/* By hand nothing is shared: each runs alone, from its own beginning. */
static void many_by_hand(void)
{
    for (uint32_t i = 0; i < WHILE_DOWN; i++) {
        now = i * (1000 / A_SECOND);
        seen.done += by_hand();
    }
}

/* ---- What comes of it ------------------------------------------------------------------------ */

static void one_after_the_other(bool (*run)(void), uint32_t operations)
{
    for (uint32_t i = 0; i < operations; i++) {
        retry_time began = now;
        times = 0;
        loses_answer = i % 10 == 0;
        seen.done += run();
        seen.twice += times > 1;
        if (now - began > seen.longest)
            seen.longest = now - began;
    }
}

static counts count(trouble of, bool (*run)(void))
{
    static uint32_t chance;
    seen = (counts){0};
    server = of;
    now = 0;
    well_again = DOWN;
    named = false;
    service = (retry_service){0};
    service.client.cut_after = 1000; /* ms */
    service.client.random = draw;
    service.client.random_context = &chance;
    retry_service_init(&service, now);
    if (of != IS_DOWN)
        one_after_the_other(run, of == LOSES_ANSWERS ? OPERATIONS : 1);
    else if (run == by_hand)
        many_by_hand();
    else
        many_by_retry();
    return seen;
}

static void row(const char *what, const char *hand, const char *retry)
{
    printf("%-28s  %-19s  %s\n", what, hand, retry);
}

int main(void)
{
    char hand[80], retry[80];
    counts h, r;
    row("what happens", "by hand", "with retry.h");

    h = count(LOSES_ANSWERS, by_hand), r = count(LOSES_ANSWERS, by_retry);
    snprintf(hand, sizeof hand, "%u done twice", h.twice);
    snprintf(retry, sizeof retry, "%u done twice, %u perhaps done", r.twice, r.perhaps);
    row("100 POSTs, 10 answers lost", hand, retry);

    h = count(IS_SILENT, by_hand), r = count(IS_SILENT, by_retry);
    snprintf(hand, sizeof hand, "fails after %.1f s", h.longest / 1000.0);
    snprintf(retry, sizeof retry, "fails after %.1f s", r.longest / 1000.0);
    row("a silent server, timeout 5 s", hand, retry);

    h = count(IS_BUSY, by_hand), r = count(IS_BUSY, by_retry);
    snprintf(hand, sizeof hand, "%u too soon, %u done", h.early, h.done);
    snprintf(retry, sizeof retry, "%u too soon, %u done", r.early, r.done);
    row("429, Retry-After: 5 s", hand, retry);

    h = count(IS_DOWN, by_hand), r = count(IS_DOWN, by_retry);
    snprintf(hand, sizeof hand, "%u calls, %u done", h.in_vain, h.done);
    snprintf(retry, sizeof retry, "%u calls, %u done", r.in_vain, r.done);
    row("1000 GETs, server down 10 s", hand, retry);
    return 0;
}
