/* Eight threads send operations to one server, or to several nodes, that ask and tell all gates. At
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
#define NODES 3u

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
static retry_gates nodes[NODES];
static retry_breaker breakers[NODES];
static retry_throttle throttles[NODES];
static retry_aimd limits[NODES];
static retry_rate rates[NODES];
static retry_latency latencies[NODES];
static uint32_t clock_ms, told; /* changed by all threads, atomically */
static uint64_t worked_in_all, reports_in_all[NODES];

static uint32_t choose(struct worker *worker, uint32_t limit)
{
    return (threads_choose(&worker->state) >> 8) % limit;
}

static void tell(void *context, const retry_operation *request, const retry_failure *failure)
{
    (void)context;
    (void)request;
    (void)failure;
    __atomic_fetch_add(&told, 1, __ATOMIC_RELAXED);
}

/* The instant: threads take it one after the other, and use it a little later. */
static retry_time tick(void)
{
    return __atomic_add_fetch(&clock_ms, 1, __ATOMIC_RELAXED);
}

static uint32_t in_flight(uint32_t node)
{
    return __atomic_load_n(&nodes[node].in_flight, __ATOMIC_RELAXED);
}

/* How a copy that was sent ended; it worked, it was answered, it was sick, or nobody waits for it.
 */
static void end(struct worker *worker, retry_operation *op, unsigned copy)
{
    struct counts *counts = &worker->counts;
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    uint32_t luck = choose(worker, 8);
    if (luck == 0) {
        retry_stop(op, tick());
        counts->wrong += !op->ambiguous;
        return;
    }
    counts->reports++;
    if (luck > 5) {
        counts->sick++;
        failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
        failure.timeout = true;
    }
    retry_ended(op, copy, luck < 4 ? NULL : &failure, tick());
    counts->worked += luck < 4;
}

/* Each retry costs a token, but the first if it goes elsewhere at once. The last one's comes back
   if its end was not reported. */
static void operate(struct worker *worker)
{
    struct counts *counts = &worker->counts;
    uint32_t patience = 2 + choose(worker, 20), node;
    uint64_t reports = counts->reports;
    bool free_one = false;
    retry_operation op;
    retry_step step;
    memset(&op, 0, sizeof op);
    op.client = &client;
    op.idempotent = true;
    op.timeout = 100000000;
    retry_start(&op, NULL, tick());
    while ((step = retry_next(&op, tick())).what != RETRY_DO_END) {
        if (step.what == RETRY_DO_SEND) {
            counts->sent++;
            node = in_flight(step.node);
            counts->wrong += node > AT_ONCE || node == 0 || step.node >= NODES;
            counts->wrong += step.timeout < 50000 || step.timeout > 100000000;
            end(worker, &op, step.copy);
            free_one = free_one || (op.verdict == RETRY_VERDICT_RETRY && op.delay == 0);
        } else if (step.what == RETRY_DO_WAIT && --patience == 0) {
            retry_stop(&op, tick());
        } else if (step.what == RETRY_DO_WAIT) { /* all wait at once */
            __atomic_fetch_add(&clock_ms, step.delay / THREADS, __ATOMIC_RELAXED);
        }
    }
    counts->charged += op.retries - free_one;
    counts->refunded += op.retries > free_one && counts->reports - reports <= op.retries;
    counts->decisions += op.retries + 1;
}

/* ---- a round ------------------------------------------------------------------------------- */

static void set_up_gates(uint32_t round)
{
    uint32_t i;
    memset(nodes, 0, sizeof nodes);
    memset(breakers, 0, sizeof breakers);
    memset(throttles, 0, sizeof throttles);
    memset(limits, 0, sizeof limits);
    memset(rates, 0, sizeof rates);
    memset(latencies, 0, sizeof latencies);
    for (i = 0; i < NODES; i++) {
        breakers[i].volume = round % 2 ? 3 : UINT32_MAX;
        breakers[i].window = 1u << 23;
        breakers[i].open = 20;
        breakers[i].probes = (uint8_t)(round % 4);
        throttles[i].k = RETRY_RATIO(3);
        limits[i].max = AT_ONCE;
        rates[i].max = round % 5 ? 0 : 500000;
        retry_gates_breaker(&nodes[i], &breakers[i]);
        retry_gates_throttle(&nodes[i], &throttles[i]);
        retry_gates_aimd(&nodes[i], &limits[i]);
        retry_gates_rate(&nodes[i], &rates[i]);
        retry_gates_latency(&nodes[i], &latencies[i]);
    }
}

/* In even rounds the breakers never open, in odd ones they do all the time; in every third the
   bucket runs dry; two of four have several nodes. */
static void set_up(uint32_t round)
{
    retry_budget_options options;
    memset(&options, 0, sizeof options);
    options.capacity = round % 3 == 0 ? 30 * COST : 2000 * COST;
    options.retry_cost = COST;
    options.success_deposit = SUCCESS;
    retry_budget_init(&budget, &options, 0);
    retry_budget_withdraw(&budget, 10 * COST, 0); /* below the top, where what is put in is lost */
    set_up_gates(round);
    memset(&client, 0, sizeof client);
    client.budget = &budget;
    client.observe = tell;
    client.gates = nodes;
    client.cut_after = 50000;
    if (round % 4 > 1)
        retry_client_nodes(&client, nodes, NODES);
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
    uint64_t reports = 0, sick = 0;
    uint32_t i;
    check_row("round %lu", (unsigned long)round);
    CHECK_EQUAL(0, sum.wrong);
    CHECK_EQUAL(put_in, sum.charged * COST + retry_budget_balance(&budget));
    CHECK_EQUAL(sum.decisions, told);
    for (i = 0; i < NODES; i++) {
        retry_breaker_counts counts = retry_breaker_get(&breakers[i], clock_ms);
        reports += counts.reports;
        sick += counts.sick;
        CHECK_EQUAL(0, nodes[i].in_flight);
        CHECK_RANGE(1, AT_ONCE, retry_aimd_limit(&limits[i]));
        reports_in_all[i] += counts.reports;
    }
    if (round % 2 == 0) {
        CHECK_EQUAL(sum.reports, reports);
        CHECK_EQUAL(sum.sick, sick);
    }
    worked_in_all += sum.worked;
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

static void test_operations(void)
{
    uint32_t i;
    contend.step = threads_may_wait;
    for (i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].state = threads_seed();
    }
    threads_run(work, workers, sizeof workers[0]);
    contend.step = NULL;
    CHECK_RANGE(5 * ROUNDS, UINT32_MAX, worked_in_all); /* it was not too quiet to tell */
    for (i = 0; i < NODES; i++)
        CHECK_RANGE(ROUNDS, UINT32_MAX, reports_in_all[i]);
}

int main(void)
{
    retry_seed(1);
    RUN(test_operations);
    return check_done();
}
