/* The numbers of README.md and of retry.h's manual that are defaults, presets or arithmetic: each
   line is a file, a tab, and words that it has, with the numbers as the library behaves here. For
   test_numbers.sh. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <string.h>

#define MANUAL "retry.h\t"
#define README "README.md\t"

static unsigned whole(uint32_t number)
{
    return (unsigned)number;
}

static uint32_t most(void *context)
{
    (void)context;
    return UINT32_MAX;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static unsigned default_timeout(void)
{
    retry_request request;
    memset(&request, 0, sizeof request);
    retry_begin(&request, 0);
    return whole(retry_remaining(&request, UINT32_MAX, 0) / 1000);
}

static void print_ladder(void)
{
    retry_failure failure;
    retry_request request;
    int i;
    memset(&failure, 0, sizeof failure);
    memset(&request, 0, sizeof request);
    failure.reason = RETRY_REASON_KV_NOT_MY_VBUCKET;
    retry_begin(&request, 0);
    printf(MANUAL "after");
    for (i = 0; i < 7; i++)
        printf("%s %u", i == 0 ? "" : ",", whole(retry_orchestrate(&request, &failure, 0).delay));
    puts(" ... ms");
}

/* One failed attempt of a new request: whether it is retried. */
static bool retried(retry_client *client)
{
    retry_failure failure = retry_classify_http(503, 0);
    retry_request request;
    memset(&request, 0, sizeof request);
    request.client = client;
    request.idempotent = true;
    retry_begin(&request, 0);
    return retry_orchestrate(&request, &failure, 0).verdict == RETRY_VERDICT_RETRY;
}

static void succeed(retry_client *client, retry_time now)
{
    retry_request request;
    memset(&request, 0, sizeof request);
    request.client = client;
    retry_begin(&request, now);
    retry_succeed(&request, now);
}

static unsigned until_retried(retry_client *client)
{
    unsigned successes;
    for (successes = 0; successes < 1000 && !retried(client); successes++)
        succeed(client, 0);
    return successes;
}

static void start(retry_client *client, retry_budget *budget, const retry_budget_options *options)
{
    memset(client, 0, sizeof *client);
    memset(budget, 0, sizeof *budget);
    retry_budget_init(budget, options, 0);
    client->budget = budget;
}

/* How many retries a budget pays for at first, and how many successes pay for one more, when what
   is left of the first has gone: of ten. */
static unsigned burst(const retry_budget_options *options, double *successes)
{
    retry_client client;
    retry_budget budget;
    unsigned n = 0, i;
    start(&client, &budget, options);
    while (n < 1000 && retried(&client))
        n++;
    until_retried(&client);
    for (i = 0, *successes = 0; i < 10; i++)
        *successes += until_retried(&client) / 10.0;
    return n;
}

/* What a budget has in hand, in retries, after a minute of so many successes a second. */
static unsigned in_hand(const retry_budget_options *options, unsigned rate)
{
    retry_client client;
    retry_budget budget;
    uint32_t i;
    unsigned n = 0;
    start(&client, &budget, options);
    for (i = 0; i < 60 * rate; i++)
        succeed(&client, i * 1000 / rate);
    while (n < 100000 && retry_budget_withdraw(&budget, options->retry_cost, 60000))
        n++;
    return n;
}

static unsigned attempts_of(const retry_policy *policy)
{
    retry_failure failure = retry_classify_http(503, 0);
    retry_client client;
    retry_request request;
    unsigned n = 1;
    memset(&client, 0, sizeof client);
    memset(&request, 0, sizeof request);
    client.strategy = &policy->base;
    request.client = &client;
    request.idempotent = true;
    retry_begin(&request, 0);
    while (n < 1000 && retry_orchestrate(&request, &failure, 0).verdict == RETRY_VERDICT_RETRY)
        n++;
    return n;
}

/* The longest delay in s that full jitter makes 0 of, by a draw of 15 bits. */
static unsigned no_delay(void)
{
    retry_backoff backoff = RETRY_BACKOFF_AWS;
    unsigned s = 0;
    do {
        s++;
        backoff.initial = backoff.max = (retry_ms)s * 1000;
    } while (retry_backoff_delay(&backoff, 0, 0, 0x7FFF) == 0);
    return s - 1;
}

/* An order to wait 30 s, spread as far as half of it. */
static unsigned spread_order(void)
{
    retry_failure failure = retry_classify_http(503, 30000);
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_client client;
    retry_request request;
    policy.retry_after_spread = RETRY_RATIO(0.5);
    memset(&client, 0, sizeof client);
    memset(&request, 0, sizeof request);
    client.strategy = &policy.base;
    client.random = most;
    request.client = &client;
    request.idempotent = true;
    retry_begin(&request, 0);
    return whole(retry_orchestrate(&request, &failure, 0).delay / 1000);
}

/* ---- Gates ----------------------------------------------------------------------------------- */

/* How many operations of a client may be in flight at once. */
static unsigned at_once(const retry_client *client)
{
    static retry_operation ops[64];
    unsigned n;
    memset(ops, 0, sizeof ops);
    for (n = 0; n < 64; n++) {
        ops[n].request.client = client;
        retry_start(&ops[n], NULL, 0);
        if (retry_next(&ops[n], 0).what != RETRY_DO_SEND)
            break;
    }
    return n;
}

static unsigned limit_by_default(void)
{
    static retry_client client;
    static retry_gates gates;
    static retry_aimd aimd;
    client.gates = &gates;
    retry_gates_aimd(&gates, &aimd);
    return at_once(&client);
}

static unsigned limit_of_service(void)
{
    static retry_service service;
    retry_service_init(&service, 0);
    return at_once(&service.client);
}

/* How many sick attempts open a breaker, and how many ms it refuses then. */
static unsigned opens_after(unsigned *refuses)
{
    retry_failure failure = retry_classify_errno(0, true);
    retry_breaker breaker;
    retry_time now;
    unsigned n = 0;
    memset(&breaker, 0, sizeof breaker);
    while (n < 1000 && retry_breaker_state(&breaker, 0) == RETRY_BREAKER_CLOSED) {
        retry_permit permit = retry_breaker_ask(&breaker, true, 0);
        retry_breaker_report(&breaker, permit, &failure, 0);
        n++;
    }
    for (now = 0; now < 60000 && retry_breaker_state(&breaker, now) == RETRY_BREAKER_OPEN; now++) {
    }
    *refuses = whole(now);
    return n;
}

/* The shortest wait in ms that a rate refuses: one a second, of which one has just been sent. */
static unsigned refused_wait(void)
{
    static retry_client client;
    static retry_gates gates;
    static retry_rate rate;
    retry_time now;
    rate.max = RETRY_PER_SECOND(1);
    client.gates = &gates;
    retry_gates_rate(&gates, &rate);
    at_once(&client);
    for (now = 0; now < 1000; now++) {
        retry_operation op;
        retry_step step;
        memset(&op, 0, sizeof op);
        op.request.client = &client;
        retry_start(&op, NULL, now);
        step = retry_next(&op, now);
        retry_stop(&op, now);
        if (step.what == RETRY_DO_WAIT)
            return whole(step.delay) + 1;
    }
    return 0;
}

/* How many attempts a latency has to see before it has an estimate. */
static unsigned samples(uint32_t quantile)
{
    retry_client client;
    retry_gates gates;
    retry_latency latency;
    retry_operation op;
    unsigned n = 0;
    memset(&client, 0, sizeof client);
    memset(&gates, 0, sizeof gates);
    memset(&latency, 0, sizeof latency);
    memset(&op, 0, sizeof op);
    latency.quantile = quantile;
    retry_gates_latency(&gates, &latency);
    client.gates = &gates;
    op.request.client = &client;
    while (n < 100000 && retry_latency_get(&latency) == UINT32_MAX) {
        retry_start(&op, NULL, 0);
        if (retry_next(&op, 0).what != RETRY_DO_SEND)
            break;
        retry_ended(&op, 0, NULL, 10);
        n++;
    }
    return n;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static void print_policies(void)
{
    static const retry_policy best = RETRY_POLICY_BEST_EFFORT, smithy = RETRY_POLICY_SMITHY,
                              aws = RETRY_POLICY_AWS, aws_2026 = RETRY_POLICY_AWS_2026;
    printf(MANUAL "BEST_EFFORT no limit %u to %u ms doubling, full jitter; %u ms to %u s when "
                  "throttled\n",
           whole(best.backoff.initial), whole(best.backoff.max),
           whole(best.throttle_backoff.initial), whole(best.throttle_backoff.max / 1000));
    printf(MANUAL "SMITHY %u %u s doubling to %u s, full jitter\n", attempts_of(&smithy),
           whole(smithy.backoff.initial / 1000), whole(smithy.backoff.max / 1000));
    printf(MANUAL "AWS %u the same; a server may ask for %u s at most\n", attempts_of(&aws),
           whole(aws.retry_after_max / 1000));
    printf(MANUAL "AWS_2026 %u %u ms doubling to %u s, full jitter; from %u s when throttled; a "
                  "server may ask for %u s more\n",
           attempts_of(&aws_2026), whole(aws_2026.backoff.initial),
           whole(aws_2026.backoff.max / 1000), whole(aws_2026.throttle_backoff.initial / 1000),
           whole(aws_2026.retry_after_slack / 1000));
}

static void print_budgets(void)
{
    static const retry_budget_options best = RETRY_BUDGET_BEST_EFFORT(1),
                                      many = RETRY_BUDGET_BEST_EFFORT(1000),
                                      smithy = RETRY_BUDGET_SMITHY, aws = RETRY_BUDGET_AWS,
                                      aws_2026 = RETRY_BUDGET_AWS_2026, grpc = RETRY_BUDGET_GRPC;
    double successes;
    unsigned n = burst(&best, &successes);
    printf(MANUAL "BEST_EFFORT(n) BEST_EFFORT %u, at most %u n 1 for %g successes\n", n,
           whole(best.capacity / best.retry_cost), successes);
    n = burst(&smithy, &successes);
    printf(MANUAL "SMITHY, AWS SMITHY, AWS %u 1 for %g successes\n", n, successes);
    n = burst(&aws, &successes);
    printf(MANUAL "SMITHY, AWS SMITHY, AWS %u 1 for %g successes\n", n, successes);
    n = burst(&aws_2026, &successes);
    printf(MANUAL "AWS_2026 AWS_2026 %u 1 for %g successes\n", n, successes);
    printf(MANUAL "GRPC gRPC's A6 %u while\n", burst(&grpc, &successes));
    n = (in_hand(&many, 400) + 5) / 10 * 10;
    printf(MANUAL "One process with 400 operations a second has %u,%03u retries in hand.\n",
           n / 1000, n % 1000);
}

static void print_gates(void)
{
    unsigned refuses;
    unsigned n = opens_after(&refuses);
    printf(MANUAL "It opens when half of %u or more attempts within 8 s were sick. Then it refuses "
                  "everything for %u s,\n",
           n, refuses / 1000);
    printf(MANUAL "attempts at once no AIMD limit `max`: %u; in a retry_service %u\n",
           limit_by_default(), limit_of_service());
    printf(MANUAL "those that would wait %u ms (`wait`) fail at once\n", refused_wait());
    n = samples(RETRY_RATIO(0.99));
    printf(MANUAL "It has no estimate before %u attempts (%u,%03u for 99 %%).\n", samples(0),
           n / 1000, n % 1000);
}

int main(void)
{
    static const retry_connection connection = RETRY_CONNECTION_GRPC;
    const retry_backoff *spacing = &connection.backoff;
    static const retry_backoff zero;
    printf(MANUAL "request.timeout %u s ms, waits included; UINT32_MAX: no limit\n",
           default_timeout());
    printf(MANUAL "request.timeout = UINT32_MAX %u s\n", default_timeout());
    printf(MANUAL "a table of one 0 `initial`: %u ms\n", whole(retry_backoff_base(&zero, 0)));
    printf(MANUAL "three attempts at each of five layers are %u calls\n", 3 * 3 * 3 * 3 * 3);
    printf(README "Three attempts at each of five layers are %u calls\n", 3 * 3 * 3 * 3 * 3);
    printf(MANUAL "full jitter makes 0 of each delay of up to %u s\n", no_delay());
    printf(README "asked for 30 s: over 30 to %u s\n", spread_order());
    printf(MANUAL "as gRPC does: %u s, %.3g s, %.3g s ... up to %u minutes, %.0f %% more or less\n",
           whole(retry_backoff_base(spacing, 0) / 1000), retry_backoff_base(spacing, 1) / 1000.0,
           retry_backoff_base(spacing, 2) / 1000.0, whole(spacing->max / 60000),
           retry_backoff_delay(spacing, 1, 0, UINT32_MAX) * 100.0 / retry_backoff_base(spacing, 1) -
               100);
    printf(README "Attempts start %u s apart at first, and %u min apart in the end\n",
           whole(retry_backoff_base(spacing, 0) / 1000), whole(spacing->max / 60000));
    print_ladder();
    print_policies();
    print_budgets();
    print_gates();
    return 0;
}
