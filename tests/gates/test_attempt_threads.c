/* Eight threads send operations to one server, by attempts that ask and tell all of its gates. At
   the end of each round nothing is in flight, every token is where it belongs, and every end was
   told once. Needs POSIX threads. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include "../support/contend.h"
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/threads.h"

#define OPERATIONS 12u /* of each thread in a round */
#define COST 1000u
#define SUCCESS 30u /* for each that works */
#define AT_ONCE 5u  /* the AIMD limit's max */

#ifdef CHECK_QUICK
#define ROUNDS 40u
#else
#define ROUNDS 200u
#endif

/* What one thread did in a round, or all of them. */
struct counts {
    uint64_t worked, charged, refunded;
    uint64_t decisions;           /* that the observer was told */
    uint64_t reports, sick, sent; /* as the gates were told */
    uint64_t wrong;
};

struct worker {
    uint32_t number, state;
    struct counts counts;
};

static struct worker workers[THREADS];

static retry_client client;
static retry_budget budget;
static retry_gates gates;
static retry_breaker breaker;
static retry_throttle throttle;
static retry_aimd aimd;
static retry_rate rate;
static retry_latency latency;
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
    return __atomic_add_fetch(&clock_ms, 1, __ATOMIC_RELAXED);
}

static uint32_t in_flight(void)
{
    return __atomic_load_n(&gates.in_flight, __ATOMIC_RELAXED);
}

/* How an attempt that was sent ended; it worked, it was answered, it was sick, or nobody knows. */
static retry_decision end(struct worker *worker, retry_attempt *attempt, retry_request *request)
{
    struct counts *counts = &worker->counts;
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_decision decision;
    uint32_t luck = choose(worker, 8);
    counts->sent++;
    counts->wrong += in_flight() > AT_ONCE || in_flight() == 0;
    if (luck == 0) {
        retry_attempt_cancel(attempt, request, tick());
        counts->wrong += !request->ambiguous;
        return retry_orchestrate(request, &failure, tick());
    }
    counts->reports++;
    if (luck > 5) {
        counts->sick++;
        failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
    }
    decision = retry_attempt_end(attempt, request, luck < 4 ? NULL : &failure, tick());
    counts->worked += decision.verdict == RETRY_VERDICT_SUCCESS;
    return decision;
}

static void operate(struct worker *worker)
{
    struct counts *counts = &worker->counts;
    uint32_t patience = 2 + choose(worker, 20);
    bool paid = false;
    retry_request request;
    retry_attempt attempt;
    memset(&request, 0, sizeof request);
    memset(&attempt, 0, sizeof attempt);
    request.client = &client;
    request.idempotent = true;
    request.timeout = 100000;
    retry_begin(&request, tick());
    for (;;) {
        retry_decision decision = retry_attempt_begin(&attempt, &request, tick());
        if (decision.verdict == RETRY_VERDICT_SEND) {
            decision = end(worker, &attempt, &request);
            paid = decision.verdict == RETRY_VERDICT_RETRY;
            counts->charged += paid;
            counts->decisions++;
        } else if (decision.cause != RETRY_CAUSE_PACED) {
            counts->refunded += paid;
            counts->decisions++;
        }
        if (decision.verdict != RETRY_VERDICT_RETRY)
            break;
        if (--patience == 0) { /* nobody waits any more: what was paid for the next goes back */
            retry_attempt_cancel(&attempt, &request, tick());
            retry_cancel(&request, tick());
            counts->refunded += paid;
            counts->decisions++;
            break;
        }
    }
}

/* ---- a round ------------------------------------------------------------------------------- */

/* In even rounds the breaker never opens, in odd ones it does all the time; in every third the
   bucket runs dry. */
static void set_up(uint32_t round)
{
    retry_budget_options options;
    memset(&options, 0, sizeof options);
    options.capacity = round % 3 == 0 ? 30 * COST : 2000 * COST;
    options.retry_cost = COST;
    options.success_deposit = SUCCESS;
    retry_budget_init(&budget, &options, 0);
    retry_budget_withdraw(&budget, 10 * COST, 0); /* below the top, where what is put in is lost */
    memset(&client, 0, sizeof client);
    client.budget = &budget;
    client.observe = tell;
    client.gates = &gates;
    client.attempt_timeout = 1000;
    memset(&breaker, 0, sizeof breaker);
    breaker.volume = round % 2 ? 3 : UINT32_MAX;
    breaker.window = 1u << 23;
    breaker.open = 20;
    breaker.probes = (uint8_t)(round % 4);
    memset(&throttle, 0, sizeof throttle);
    throttle.k = RETRY_RATIO(3);
    memset(&aimd, 0, sizeof aimd);
    aimd.max = AT_ONCE;
    memset(&rate, 0, sizeof rate);
    rate.max = round % 5 ? 0 : 500000;
    memset(&latency, 0, sizeof latency);
    memset(&gates, 0, sizeof gates);
    retry_gates_breaker(&gates, &breaker);
    retry_gates_throttle(&gates, &throttle);
    retry_gates_aimd(&gates, &aimd);
    retry_gates_rate(&gates, &rate);
    retry_gates_latency(&gates, &latency);
    clock_ms = 1;
    told = 0;
}

static struct counts sum_up(void)
{
    struct counts sum;
    uint32_t i;
    memset(&sum, 0, sizeof sum);
    for (i = 0; i < THREADS; i++) {
        const struct counts *counts = &workers[i].counts;
        sum.worked += counts->worked;
        sum.charged += counts->charged;
        sum.refunded += counts->refunded;
        sum.decisions += counts->decisions;
        sum.reports += counts->reports;
        sum.sick += counts->sick;
        sum.sent += counts->sent;
        sum.wrong += counts->wrong;
    }
    return sum;
}

static void check_round(uint32_t round)
{
    struct counts sum = sum_up();
    uint64_t put_in =
        budget.options.capacity - 10 * COST + sum.worked * SUCCESS + sum.refunded * COST;
    check_row("round %lu", (unsigned long)round);
    CHECK_EQUAL(0, sum.wrong);
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(put_in, sum.charged * COST + retry_budget_balance(&budget));
    CHECK_EQUAL(sum.decisions, told);
    CHECK_RANGE(1, AT_ONCE, retry_aimd_limit(&aimd));
    if (round % 2 == 0) {
        retry_breaker_counts counts = retry_breaker_get(&breaker, clock_ms);
        CHECK_EQUAL(sum.reports, counts.reports);
        CHECK_EQUAL(sum.sick, counts.sick);
        CHECK_RANGE(1, UINT32_MAX, sum.worked);
    }
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

static void test_attempts(void)
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
    RUN(test_attempts);
    return check_done();
}
