/* Eight threads send operations through all that a client may have: two scopes with their budgets,
   an observer, a rate, a breaker, a throttle, a latency and an AIMD limit. At the end of each round
   every token, report, sample and decision is there, once. Needs POSIX threads. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "../support/contend.h"
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/threads.h"

#define OPERATIONS 12u /* of each thread in a round */
#define SCOPES 2u
#define COST 1000u
#define SHARE 7u     /* thousandths for each request that begins */
#define SUCCESS 30u  /* for each that works */
#define PER_MS 250u  /* thousandths of a send */
#define ROUND_MS 900 /* under a second, so that the rate's bucket never runs over */

#ifdef CHECK_QUICK
#define ROUNDS 40u
#else
#define ROUNDS 200u
#endif

/* What one thread did in a round, or all of them. */
struct counts {
    uint64_t begun[SCOPES], worked[SCOPES], charged[SCOPES], refunded[SCOPES];
    uint64_t retries, decisions; /* the ends of operations included */
    uint64_t sends;              /* what the rate let pass */
    uint64_t requests, accepts;  /* of the throttle */
    uint64_t reports, sick;      /* of the breaker */
    uint64_t samples, wrong;
};

struct worker {
    uint32_t number, state;
    struct counts counts;
};

static struct worker workers[THREADS];

static retry_scope slots[SCOPES];
static retry_scopes scopes;
static const retry_client *clients[SCOPES];
static retry_rate rate;
static retry_breaker breaker;
static retry_throttle throttle;
static retry_latency latency;
static retry_aimd aimd;
static uint32_t clock_ms, told; /* changed by all threads, atomically */

static uint32_t choose(struct worker *worker, uint32_t limit)
{
    return (threads_choose(&worker->state) >> 8) % limit;
}

static void tell(void *context, const retry_request *request, const retry_failure *failure,
                 const retry_decision *decision)
{
    (void)context;
    (void)request;
    (void)failure;
    (void)decision;
    __atomic_fetch_add(&told, 1, __ATOMIC_RELAXED);
}

/* The instant: threads take it one after the other, and use it a little later. */
static retry_time tick(void)
{
    uint32_t ms = __atomic_fetch_add(&clock_ms, 1, __ATOMIC_RELAXED);
    return ms < ROUND_MS ? ms : ROUND_MS;
}

/* ---- one operation ------------------------------------------------------------------------- */

/* How an attempt that was sent ended: it worked, it was answered, or it was sick. */
static bool send_attempt(struct worker *worker, retry_permit permit, retry_failure *failure)
{
    uint32_t luck_of_it = choose(worker, 8);
    bool worked = luck_of_it == 0;
    retry_time now = tick();
    if (luck_of_it < 4)
        failure->reason = RETRY_REASON_KV_LOCKED;
    else
        failure->reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
    retry_breaker_report(&breaker, permit, worked ? NULL : failure, now);
    retry_throttle_report(&throttle, worked ? NULL : failure, now);
    retry_rate_report(&rate, worked ? NULL : failure, now);
    retry_latency_add(&latency, 1 + luck_of_it, true);
    retry_aimd_report(&aimd, worked ? NULL : failure, 1, now);
    worker->counts.reports++;
    worker->counts.sick += luck_of_it >= 4;
    worker->counts.accepts += luck_of_it < 4;
    worker->counts.samples++;
    return worked;
}

/* Asks every gate, in the manual's order. */
static bool attempt(struct worker *worker, retry_failure *failure)
{
    retry_time now = tick();
    retry_permit permit;
    if (retry_rate_ask(&rate, now) != 0) {
        failure->reason = RETRY_REASON_CLIENT_THROTTLED;
        return false;
    }
    worker->counts.sends++;
    permit = retry_breaker_ask(&breaker, true, now);
    if (!permit.granted) {
        *failure = retry_classify_permit(permit);
        return false;
    }
    if (!retry_throttle_ask(&throttle, choose(worker, 4) << 30, now)) {
        retry_breaker_release(&breaker, permit, now);
        failure->reason = RETRY_REASON_CLIENT_THROTTLED;
        return false;
    }
    worker->counts.requests++;
    return send_attempt(worker, permit, failure);
}

static void operate(struct worker *worker)
{
    uint32_t scope = choose(worker, SCOPES), tries = choose(worker, 5);
    struct counts *counts = &worker->counts;
    bool paid = false;
    retry_request request;
    memset(&request, 0, sizeof request);
    request.client = clients[scope];
    request.idempotent = true;
    retry_begin(&request, tick());
    counts->begun[scope]++;
    for (;; tries--) {
        retry_failure failure = check_failure_of(RETRY_REASON_NONE);
        retry_decision decision;
        if (tries == 0) { /* nobody waits any more: what was paid for the next goes back */
            retry_cancel(&request, tick());
            counts->decisions++;
            counts->refunded[scope] += paid;
            break;
        }
        if (attempt(worker, &failure)) {
            counts->wrong += !retry_succeed(&request, tick());
            counts->decisions++;
            counts->worked[scope]++;
            break;
        }
        counts->refunded[scope] += paid && (failure.reason == RETRY_REASON_CLIENT_THROTTLED ||
                                            failure.reason == RETRY_REASON_CIRCUIT_BREAKER_OPEN);
        decision = retry_orchestrate(&request, &failure, tick());
        counts->decisions++;
        paid = decision.verdict == RETRY_VERDICT_RETRY;
        counts->wrong += !paid && decision.cause != RETRY_CAUSE_BUDGET_EXHAUSTED &&
                         decision.cause != RETRY_CAUSE_THROTTLED;
        if (!paid)
            break;
        counts->charged[scope]++;
        counts->retries++;
    }
    counts->retries -= request.attempts; /* 0 in the end, if it counted as we do */
}

/* ---- a round ------------------------------------------------------------------------------- */

/* In even rounds the breaker never opens, in odd ones it does all the time; in every third the
   buckets run dry. */
static void set_up(uint32_t round)
{
    retry_failure throttled = check_failure_of(RETRY_REASON_SEARCH_TOO_MANY_REQUESTS);
    uint32_t i;
    throttled.throttle = true;
    memset(slots, 0, sizeof slots);
    memset(&scopes, 0, sizeof scopes);
    scopes.client.observe = tell;
    scopes.options.capacity = round % 3 == 0 ? 20 * COST : 2000 * COST;
    scopes.options.retry_cost = COST;
    scopes.options.request_deposit = SHARE;
    scopes.options.success_deposit = SUCCESS;
    scopes.slots = slots;
    scopes.count = SCOPES;
    memset(&rate, 0, sizeof rate);
    rate.min = PER_MS * 1000;
    retry_rate_report(&rate, &throttled, 0); /* from now on `min` is the limit */
    memset(&breaker, 0, sizeof breaker);
    breaker.volume = round % 2 ? 3 : 500;
    breaker.ratio = RETRY_RATIO(1);
    breaker.open = 2;
    breaker.probe_timeout = 3;
    memset(&throttle, 0, sizeof throttle);
    memset(&latency, 0, sizeof latency);
    latency.min_samples = 1000;
    memset(&aimd, 0, sizeof aimd);
    aimd.max = 64;
    aimd.cooldown = UINT32_C(1) << 30;
    clock_ms = 1;
    told = 0;
    for (i = 0; i < SCOPES; i++) {
        clients[i] = retry_scope_client(&scopes, &i, sizeof i, 0);
        /* below the top, where what is put in would be lost */
        retry_budget_withdraw(clients[i]->budget, 10 * COST, 0);
    }
}

/* Whether one sick report more opens a copy of the breaker with this volume and ratio. */
static bool opens(uint64_t volume, uint32_t ratio)
{
    const retry_failure sick = check_failure_of(RETRY_REASON_SERVER_ERROR);
    retry_breaker copy = breaker;
    copy.volume = (uint32_t)volume;
    copy.ratio = ratio;
    retry_breaker_report(&copy, retry_breaker_ask(&copy, true, ROUND_MS), &sick, ROUND_MS);
    return retry_breaker_state(&copy, ROUND_MS) == RETRY_BREAKER_OPEN;
}

/* One report more or less, or one sick, would tell. */
static void check_breaker(const struct counts *sum)
{
    uint64_t all = sum->reports + 1, sick = sum->sick + 1;
    uint32_t ratio = (uint32_t)((sick << 16) / all);
    CHECK(all < 500);
    CHECK(opens(all, ratio));
    CHECK(!opens(all + 1, ratio));
    CHECK(sick == all || !opens(all, ratio + 2));
}

static bool refuses(uint32_t k, uint64_t random)
{
    retry_throttle copy = throttle;
    copy.k = k;
    copy.max_rejection = RETRY_RATIO(0.999);
    return !retry_throttle_ask(&copy, (uint32_t)random, ROUND_MS);
}

/* It refuses below (requests - k * accepts) / (requests + 1), for two k. */
static void check_throttle(const struct counts *sum)
{
    uint32_t k;
    for (k = 1; k <= 2; k++) {
        uint64_t wanted = sum->accepts * k, all = sum->requests, lowest = 0;
        if (all > wanted)
            lowest = (((all - wanted) << 32) + all) / (all + 1);
        check_row("k %u, %u requests, %u accepts", k, (unsigned)all, (unsigned)sum->accepts);
        CHECK(lowest == 0 || refuses(k << 16, lowest - 1));
        CHECK(!refuses(k << 16, lowest));
    }
}

static bool known(uint64_t samples)
{
    retry_latency copy = latency;
    copy.min_samples = (uint32_t)samples;
    return retry_latency_get(&copy) != UINT32_MAX;
}

static struct counts sum_up(void)
{
    struct counts sum;
    uint32_t i, j;
    memset(&sum, 0, sizeof sum);
    for (i = 0; i < THREADS; i++) {
        const struct counts *counts = &workers[i].counts;
        for (j = 0; j < SCOPES; j++) {
            sum.begun[j] += counts->begun[j];
            sum.worked[j] += counts->worked[j];
            sum.charged[j] += counts->charged[j];
            sum.refunded[j] += counts->refunded[j];
        }
        sum.retries += counts->retries;
        sum.decisions += counts->decisions;
        sum.sends += counts->sends;
        sum.requests += counts->requests;
        sum.accepts += counts->accepts;
        sum.reports += counts->reports;
        sum.sick += counts->sick;
        sum.samples += counts->samples;
        sum.wrong += counts->wrong;
    }
    return sum;
}

static void check_budgets(const struct counts *sum)
{
    uint32_t i;
    for (i = 0; i < SCOPES; i++) {
        uint64_t made = scopes.options.capacity - 10 * COST + sum->begun[i] * SHARE +
                        sum->worked[i] * SUCCESS + sum->refunded[i] * COST;
        check_row("scope %u", i);
        CHECK_EQUAL(made, sum->charged[i] * COST + retry_budget_balance(clients[i]->budget));
    }
}

static void check_round(uint32_t round)
{
    struct counts sum = sum_up();
    check_budgets(&sum);
    check_throttle(&sum);
    check_row("round %u", round);
    CHECK_EQUAL(0, sum.wrong);
    CHECK_EQUAL(0, sum.retries);
    CHECK_EQUAL(sum.decisions, told);
    CHECK_EQUAL(THREADS * OPERATIONS, sum.begun[0] + sum.begun[1]);
    if (round % 2 == 0)
        check_breaker(&sum);
    CHECK(known(sum.samples) && !known(sum.samples + 1));
    CHECK_EQUAL(sum.sick ? 32 : 64, retry_aimd_limit(&aimd));
    while (retry_rate_ask(&rate, ROUND_MS) == 0)
        sum.sends++;
    CHECK_EQUAL(PER_MS * ROUND_MS / 1000, sum.sends);
}

static void *work(void *context)
{
    struct worker *worker = (struct worker *)context;
    uint32_t round, i;
    threads_luck = worker->number;
    for (round = 0; round < ROUNDS; round++) {
        if (threads_meet())
            set_up(round);
        memset(&worker->counts, 0, sizeof worker->counts);
        threads_meet();
        for (i = 0; i < OPERATIONS; i++)
            operate(worker);
        if (threads_meet())
            check_round(round);
    }
    return NULL;
}

static void test_client(void)
{
    uint32_t i;
    contend.step = threads_may_wait;
    for (i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].state = i + 1;
    }
    threads_run(work, workers, sizeof workers[0]);
    contend.step = NULL;
}

int main(void)
{
    retry_seed(1);
    RUN(test_client);
    return check_done();
}
