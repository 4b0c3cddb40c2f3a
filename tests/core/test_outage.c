/* What becomes of programs' operations, from end to end and in simulated time: twenty at once
   through an outage of half a second, and eight that contend for one row. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"

#define START ((retry_time)-1000) /* the clock wraps within each run */
#define WORKERS_AT_MOST 20

#ifdef CHECK_QUICK
#define ROUNDS 3
#else
#define ROUNDS 20
#endif

enum { BEGIN, SEND, ANSWER, STOPPED };

/* One thread of the program, which does one operation after the other. */
struct worker {
    retry_operation op;
    uint32_t due; /* ms; when it does what comes next, */
    int next;
    unsigned operations; /* and how many operations come after this one */
    uint32_t seen;       /* the version that its transaction has read */
};

static struct worker workers[WORKERS_AT_MOST];
static uint32_t now; /* ms since START */

/* What came of the operations, and how many attempts it took. */
static struct tally {
    unsigned done, exhausted, failed, attempts;
} tally;

/* ms from `low` to `high` */
static uint32_t between(uint32_t low, uint32_t high)
{
    return low + check_random() % (high - low + 1);
}

static uint32_t seeded(void *context)
{
    (void)context;
    return check_random();
}

/* ---- the server ---------------------------------------------------------------------------- */

#define DOWN_FROM 300u
#define DOWN_UNTIL 800u

static retry_reason
    conflict; /* what a lost race is called; NONE: nobody races, there is an outage */
static retry_reason outage;
static uint32_t version; /* of the row that all write */

static bool down(void)
{
    return now >= DOWN_FROM && now < DOWN_UNTIL;
}

/* An attempt is made: how long until there is an answer. */
static uint32_t send(struct worker *worker)
{
    tally.attempts++;
    worker->seen = version;
    if (conflict != RETRY_REASON_NONE)
        return between(10, 30); /* a read, and a write of what follows from it */
    return between(1, 4);
}

/* Why the attempt failed that is answered now; NONE: it worked. */
static retry_reason answer(const struct worker *worker)
{
    if (conflict != RETRY_REASON_NONE) {
        if (worker->seen != version)
            return conflict;
        version++;
        return RETRY_REASON_NONE;
    }
    return down() ? outage : (retry_reason)RETRY_REASON_NONE;
}

/* ---- the program --------------------------------------------------------------------------- */

static void rest(struct worker *worker)
{
    worker->due = now + between(0, 9);
    worker->next = worker->operations-- > 1 ? BEGIN : STOPPED;
}

static void failed(struct worker *worker, retry_reason reason)
{
    retry_failure failure = check_failure_of(reason);
    decided decision = decide(&worker->op, &failure, check_after(START, now));
    if (decision.verdict == RETRY_VERDICT_RETRY) {
        worker->due = now + decision.delay;
        worker->next = SEND;
        return;
    }
    if (decision.cause == RETRY_CAUSE_BUDGET_EXHAUSTED)
        tally.exhausted++;
    else
        tally.failed++;
    rest(worker);
}

static void step(struct worker *worker)
{
    retry_reason reason;
    if (worker->next == BEGIN)
        retry_start(&worker->op, NULL, check_after(START, now));
    if (worker->next != ANSWER) {
        worker->due = now + send(worker);
        worker->next = ANSWER;
        return;
    }
    reason = answer(worker);
    if (reason != RETRY_REASON_NONE) {
        failed(worker, reason);
    } else {
        CHECK_DECISION(SUCCESS, NONE, decide(&worker->op, NULL, check_after(START, now)));
        tally.done++;
        rest(worker);
    }
}

/* Who is due first; NULL when all have stopped. */
static struct worker *first(unsigned count)
{
    struct worker *found = NULL;
    unsigned i;
    for (i = 0; i < count; i++)
        if (workers[i].next != STOPPED && (!found || workers[i].due < found->due))
            found = &workers[i];
    return found;
}

/* `count` workers of one client with this bucket do `operations` each, one after the other. */
static void play(unsigned count, unsigned operations, retry_ms timeout, retry_budget *budget)
{
    retry_policy policy = RETRY_POLICY_BEST_EFFORT; /* with the delays of RFC 0049 */
    retry_client client;
    struct worker *worker;
    unsigned i;
    policy.backoff.initial = 1;
    policy.backoff.max = 500;
    memset(&client, 0, sizeof client);
    client.strategy = &policy.base;
    memset(&tally, 0, sizeof tally);
    memset(workers, 0, sizeof workers);
    client.budget = budget;
    client.random = seeded;
    for (i = 0; i < count; i++) {
        workers[i].op.client = &client;
        workers[i].op.timeout = timeout;
        workers[i].operations = operations;
        workers[i].due = between(0, 9);
    }
    for (now = 0; (worker = first(count)) != NULL;) {
        now = worker->due;
        step(worker);
    }
    CHECK_EQUAL(count * operations, tally.done + tally.failed + tally.exhausted);
}

/* ---- an outage ----------------------------------------------------------------------------- */

static const char *const presets[] = {
    "20 for each of 20", "BEST_EFFORT", "SMITHY", "AWS", "AWS_2026", "GRPC",
};

static retry_budget_options options_of_preset(size_t preset)
{
    static const retry_budget_options options[] = {RETRY_BUDGET_BEST_EFFORT(20),
                                                   RETRY_BUDGET_SMITHY, RETRY_BUDGET_AWS,
                                                   RETRY_BUDGET_AWS_2026, RETRY_BUDGET_GRPC};
    retry_budget_options twenty = options_of(400000, 1000);
    twenty.success_deposit = 100;
    return preset == 0 ? twenty : options[preset - 1];
}

#define OPERATIONS 100u

/* Through the outage with best effort, under one preset; the operations that its budget failed. */
static unsigned pass(size_t preset, retry_reason reason)
{
    const retry_budget_options options = options_of_preset(preset);
    unsigned round, exhausted = 0;
    for (round = 0; round < ROUNDS; round++) {
        retry_budget budget;
        retry_budget_init(&budget, &options, START);
        conflict = RETRY_REASON_NONE;
        outage = reason;
        check_row("%s, %s, round %u", presets[preset], retry_reason_name(reason), round);
        play(WORKERS_AT_MOST, OPERATIONS, 2500, &budget);
        CHECK_EQUAL(0, tally.failed); /* 2.5 s are enough for all */
        exhausted += tally.exhausted;
        if (tally.exhausted != 0)
            continue;
        CHECK(now > DOWN_UNTIL); /* each of the twenty was held up, and not busily */
        CHECK_RANGE(WORKERS_AT_MOST * (OPERATIONS + 5), WORKERS_AT_MOST * (OPERATIONS + 20),
                    tally.attempts);
    }
    return exhausted;
}

/* Answered with temporary failure: four retries in hand, and what was earned in the 0.3 s before,
   are enough. */
static void test_temporary_failure(void)
{
    CHECK_EQUAL(0, pass(0, RETRY_REASON_KV_TEMPORARY_FAILURE));
    CHECK_EQUAL(0, pass(1, RETRY_REASON_KV_TEMPORARY_FAILURE));
}

/* The presets of the SDKs are made for three attempts: as empty as they are after a tenth of a
   second, they fail operations that need not fail. (And so this model can.) */
static void test_temporary_failure_without_a_budget_that_fits(void)
{
    size_t i;
    for (i = 2; i < CHECK_COUNT(presets); i++)
        CHECK(pass(i, RETRY_REASON_KV_TEMPORARY_FAILURE) > ROUNDS);
}

/* The connection is refused: nothing was sent, so every preset will do. */
static void test_refused_connections(void)
{
    static const retry_reason reasons[] = {RETRY_REASON_SOCKET_NOT_AVAILABLE,
                                           RETRY_REASON_SERVICE_NOT_AVAILABLE,
                                           RETRY_REASON_NODE_NOT_AVAILABLE};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(presets); i++)
        for (j = 0; j < CHECK_COUNT(reasons); j++)
            CHECK_EQUAL(0, pass(i, reasons[j]));
}

/* ---- contention ---------------------------------------------------------------------------- */

#define CLIENTS 8u
#define TRANSACTIONS 400u

/* Optimistic writes of one row, under RETRY_BUDGET_SMITHY: how much is left in the bucket. */
static uint32_t contend(unsigned flags)
{
    static const retry_budget_options options = RETRY_BUDGET_SMITHY;
    retry_budget budget;
    retry_budget_init(&budget, &options, START);
    conflict = RETRY_REASON_USER(0, RETRY_REASON_ALLOWS_NON_IDEMPOTENT | flags);
    play(CLIENTS, TRANSACTIONS, 0, &budget);
    CHECK_EQUAL(0, tally.failed);
    return retry_budget_balance(&budget);
}

static void test_contention(void)
{
    CHECK_EQUAL(500000, contend(RETRY_REASON_FREE));
    CHECK_EQUAL(0, tally.exhausted);
    CHECK_EQUAL(CLIENTS * TRANSACTIONS, tally.done);
    CHECK(tally.attempts > CLIENTS * TRANSACTIONS * 3 / 2); /* it is contention */
}

/* Without the flag a conflict costs as much as an outage. (And so this model can fail.) */
static void test_contention_that_is_paid_for(void)
{
    CHECK(contend(0) < 100000);
    CHECK(tally.exhausted > 50);
}

int main(void)
{
    RUN(test_temporary_failure);
    RUN(test_temporary_failure_without_a_budget_that_fits);
    RUN(test_refused_connections);
    RUN(test_contention);
    RUN(test_contention_that_is_paid_for);
    return check_done();
}
