/* The numbers of the pages and of retry.h's manual that are defaults, presets or arithmetic: each
   line is a file, a tab, and words that it has, with the numbers as the library behaves here. For
   test_numbers.sh. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/decide.h"
#include "../support/by_hand.h"
#include <stdio.h>
#include <string.h>

#define MANUAL "retry.h\t"
#define README "README.md\t"
#define EXAMPLES "examples/README.md\t"
#define RECIPES "examples/recipes/README.md\t"

static unsigned whole(uint32_t number)
{
    return (unsigned)number;
}

static double seconds(retry_ms ms)
{
    return ms / 1000.0;
}

static double tokens(uint32_t amount)
{
    return amount / (double)RETRY_TOKENS(1);
}

/* The name that a text has for a number; another number, and that text will not be found. */
static const char *word(double found, double expected, const char *name)
{
    static char other[4][32];
    static unsigned at;
    char *text = other[at++ % 4];
    if (found == expected)
        return name;
    snprintf(text, sizeof other[0], "(not %s) %g", name, found);
    return text;
}

static uint32_t most(void *context)
{
    (void)context;
    return UINT32_MAX;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static double default_timeout(void)
{
    retry_operation request;
    memset(&request, 0, sizeof request);
    request.client = default_client();
    retry_start(&request, NULL, 0);
    return seconds(retry_left(&request, 0));
}

static void print_ladder(void)
{
    retry_failure failure;
    retry_operation request;
    int i;
    memset(&failure, 0, sizeof failure);
    memset(&request, 0, sizeof request);
    request.client = default_client();
    failure.reason = RETRY_REASON_KV_NOT_MY_VBUCKET;
    retry_start(&request, NULL, 0);
    printf(MANUAL "after");
    for (i = 0; i < 7; i++)
        printf("%s %u", i == 0 ? "" : ",", whole(decide(&request, &failure, 0).delay));
    puts(" ... ms");
}

/* One failed attempt of a new request: whether it is retried. */
static bool retried(retry_client *client)
{
    retry_failure failure = retry_classify_http(503, 0);
    retry_operation request;
    memset(&request, 0, sizeof request);
    request.client = client;
    request.idempotent = true;
    retry_start(&request, NULL, 0);
    return decide(&request, &failure, 0).verdict == RETRY_VERDICT_RETRY;
}

static void succeed(retry_client *client, retry_time now)
{
    retry_operation request;
    memset(&request, 0, sizeof request);
    request.client = client;
    retry_start(&request, NULL, now);
    decide(&request, NULL, now);
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
    budget.options.base_per_second = 0; /* no retry waits for more */
    while (n < 1000 && retried(&client))
        n++;
    until_retried(&client);
    for (i = 0, *successes = 0; i < 10; i++)
        *successes += until_retried(&client) / 10.0;
    return n;
}

/* A service's retries of a cost in hand, after two minutes of so many successes a second. */
static unsigned in_hand(const retry_service *service, uint32_t cost, unsigned rate)
{
    retry_client client;
    retry_budget budget;
    uint32_t i;
    unsigned n = 0;
    start(&client, &budget, &service->budget.options);
    for (i = 0; i < 120 * rate; i++)
        succeed(&client, i * 1000 / rate);
    while (n < 100000 && retry_budget_withdraw(&budget, cost, 120000))
        n++;
    return n;
}

static unsigned attempts_of(const retry_policy *policy)
{
    retry_failure failure = retry_classify_http(503, 0);
    retry_client client;
    retry_operation request;
    unsigned n = 1;
    memset(&client, 0, sizeof client);
    memset(&request, 0, sizeof request);
    client.strategy = &policy->base;
    request.client = &client;
    request.idempotent = true;
    retry_start(&request, NULL, 0);
    while (n < 1000 && decide(&request, &failure, 0).verdict == RETRY_VERDICT_RETRY)
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
static double spread_order(void)
{
    retry_failure failure = retry_classify_http(503, 30000);
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_client client;
    retry_operation request;
    policy.retry_after_spread = RETRY_RATIO(0.5);
    memset(&client, 0, sizeof client);
    memset(&request, 0, sizeof request);
    client.strategy = &policy.base;
    client.random = most;
    request.client = &client;
    request.idempotent = true;
    retry_start(&request, NULL, 0);
    return seconds(decide(&request, &failure, 0).delay);
}

/* ---- Gates ----------------------------------------------------------------------------------- */

/* How many operations of a client may be in flight at once. */
static unsigned at_once(const retry_client *client)
{
    static retry_operation ops[64];
    unsigned n;
    memset(ops, 0, sizeof ops);
    for (n = 0; n < 64; n++) {
        ops[n].client = client;
        retry_start(&ops[n], NULL, 0);
        if (retry_next(&ops[n], 0).what != RETRY_DO_SEND)
            break;
    }
    return n;
}

static unsigned limit_of_service(void)
{
    static retry_service service;
    retry_service_init(&service, 0);
    return at_once(&service.client);
}

static void report(retry_breaker *breaker, bool healthy, retry_time now)
{
    const retry_failure failure = retry_classify_errno(0, true);
    retry_permit permit = retry_breaker_ask(breaker, true, now);
    retry_breaker_report(breaker, permit, healthy ? NULL : &failure, now);
}

/* How many unhealthy attempts in a row open a breaker, after so many that were healthy. */
static unsigned opens_after(retry_breaker *breaker, unsigned healthy)
{
    unsigned n;
    memset(breaker, 0, sizeof *breaker);
    for (n = 0; n < healthy; n++)
        report(breaker, true, 0);
    for (n = 0; n < 1000 && retry_breaker_state(breaker, 0) == RETRY_BREAKER_CLOSED; n++)
        report(breaker, false, 0);
    return n;
}

/* For how many ms a report of a breaker counts at most. */
static unsigned counts_for(unsigned volume)
{
    retry_time later;
    for (later = 60000; later > 0; later--) {
        retry_breaker breaker;
        unsigned n;
        memset(&breaker, 0, sizeof breaker);
        for (n = 1; n < volume; n++)
            report(&breaker, false, 0);
        report(&breaker, false, later);
        if (retry_breaker_state(&breaker, later) == RETRY_BREAKER_OPEN)
            break;
    }
    return whole(later) + 1;
}

/* ms until a breaker lets an attempt through; called again, for how long this probe, which stays
   silent, keeps its place. */
static unsigned refuses_for(retry_breaker *breaker, retry_time *now)
{
    retry_time from = *now;
    while (*now < 60000 && !retry_breaker_ask(breaker, true, *now).granted)
        ++*now;
    return whole(*now - from);
}

static uint32_t least(void *context)
{
    (void)context;
    return 0;
}

/* How many probes a half-open breaker lets through at once. */
static unsigned probes(retry_breaker *breaker)
{
    unsigned n = 0;
    retry_breaker_set(breaker, RETRY_BREAKER_HALF_OPEN, 0);
    while (n < 255 && retry_breaker_ask(breaker, true, 0).granted)
        n++;
    return n;
}

/* The share of attempts that a throttle drops at most, when all fail; *k: how many times
   what was accepted goes out before it drops any; *window: ms until it has forgotten them. */
static double drops(double *k, unsigned *window)
{
    const retry_failure failed = retry_classify_errno(0, true);
    retry_throttle throttle;
    retry_gates gates;
    retry_time now = 0;
    uint32_t drawn = 0;
    unsigned n;
    memset(&throttle, 0, sizeof throttle);
    memset(&gates, 0, sizeof gates);
    retry_gates_throttle(&gates, &throttle);
    for (n = 0; n < 100; n++)
        by_hand_attempt(&gates, 0, 0, NULL, 0);
    while (n < 1000 && by_hand_attempt(&gates, 0, 0, &failed, 0).what == RETRY_DO_SEND)
        n++;
    *k = (n - 1) / 100.0;
    for (n = 0; n < 100000; n++)
        by_hand_attempt(&gates, UINT32_MAX, 0, &failed, 0);
    while (drawn < UINT32_MAX - 65536 && by_hand_ask(&gates, drawn, 0).what != RETRY_DO_SEND)
        drawn += 65536;
    while (now < 60000 && by_hand_ask(&gates, 0, now).what != RETRY_DO_SEND)
        now++;
    *window = whole(now);
    return drawn / 4294967296.0;
}

/* How many refusals with a Retry-After of a minute hold a service's attempts, and for how many ms
   if what spreads them is drawn so. */
static unsigned held_after(unsigned *holds, retry_random_fn *random)
{
    const retry_failure failure = retry_classify_http(429, 60000);
    static retry_service service;
    retry_operation op;
    retry_step step;
    unsigned n = 0;
    memset(&service, 0, sizeof service);
    retry_service_init(&service, 0);
    memset(&step, 0, sizeof step);
    for (; n < 1000; n++) {
        memset(&op, 0, sizeof op);
        op.timeout = UINT32_MAX;
        retry_start(&op, &service, 0);
        service.client.random = least;
        step = retry_next(&op, 0);
        if (step.what != RETRY_DO_SEND)
            break;
        service.client.random = random;
        retry_ended(&op, 0, &failure, 0);
    }
    *holds = whole(step.delay) - 1; /* the limit's own wait is 1 ms at least */
    return n;
}

/* How many retries wait for a budget with nothing in it, and for how many ms the first does. */
static unsigned waiting(const retry_budget_options *options, bool timeout, retry_ms *first)
{
    const retry_failure failure = retry_classify_http(timeout ? 504 : 503, 0);
    retry_client client;
    retry_budget budget;
    unsigned n = 0;
    start(&client, &budget, options);
    retry_budget_withdraw(&budget, retry_budget_balance(&budget), 0);
    client.random = least;
    for (; n < 1000; n++) {
        retry_operation op;
        decided decision;
        memset(&op, 0, sizeof op);
        op.client = &client;
        op.idempotent = true;
        retry_start(&op, NULL, 0);
        decision = decide(&op, &failure, 0);
        if (decision.verdict != RETRY_VERDICT_RETRY)
            break;
        *first = n == 0 ? decision.delay - 1 : *first; /* its own delay is 1 ms */
    }
    return n;
}

/* ms that a retry waits whose budget holds less than half of its base. */
static retry_ms late(const retry_budget_options *options, retry_random_fn *random)
{
    static const retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    const retry_failure failure = retry_classify_http(503, 0);
    retry_client client;
    retry_budget budget;
    retry_operation op;
    start(&client, &budget, options);
    retry_budget_withdraw(&budget, retry_budget_balance(&budget) / 2 + 1, 0);
    client.strategy = &policy.base;
    client.random = random;
    memset(&op, 0, sizeof op);
    op.client = &client;
    op.idempotent = true;
    retry_start(&op, NULL, 0);
    return decide(&op, &failure, 0).delay;
}

static void start_rate(retry_rate *rate, retry_gates *gates, uint32_t max)
{
    memset(gates, 0, sizeof *gates);
    memset(rate, 0, sizeof *rate);
    rate->max = max;
    retry_gates_rate(gates, rate);
}

/* ms from a 429 until a rate has no limit any more. */
static unsigned limited_until(void)
{
    const retry_failure refused = retry_classify_http(429, 0);
    retry_gates gates;
    retry_rate rate;
    retry_time now;
    start_rate(&rate, &gates, 0);
    by_hand_attempt(&gates, 0, 0, &refused, 0);
    for (now = 0; now < 60000 && retry_rate_get(&rate) == UINT32_MAX; now++)
        by_hand_ask(&gates, 0, now + 1);
    for (; now < 60000 && retry_rate_get(&rate) != UINT32_MAX; now++)
        by_hand_ask(&gates, 0, now + 1);
    return whole(now);
}

/* The lowest limit of a rate, a second: of a server that refuses everything. */
static double lowest_rate(void)
{
    const retry_failure refused = retry_classify_http(429, 0);
    retry_gates gates;
    retry_rate rate;
    retry_time now;
    uint32_t lowest = UINT32_MAX;
    start_rate(&rate, &gates, 0);
    for (now = 0; now < 60000; now += 100) {
        by_hand_attempt(&gates, 0, now, &refused, now);
        lowest = retry_rate_get(&rate) < lowest ? retry_rate_get(&rate) : lowest;
    }
    return tokens(lowest);
}

/* How many a rate of so many a second lets pass at once. */
static unsigned burst_of(uint32_t a_second)
{
    retry_gates gates;
    retry_rate rate;
    unsigned n = 0;
    start_rate(&rate, &gates, RETRY_PER_SECOND(a_second));
    while (n < 1000 && by_hand_attempt(&gates, 0, 0, NULL, 0).what == RETRY_DO_SEND)
        n++;
    return n;
}

/* The shortest wait in ms that a rate refuses: one a second, of which one has just been sent. */
static unsigned refused_wait(void)
{
    retry_gates gates;
    retry_rate rate;
    retry_time now;
    start_rate(&rate, &gates, RETRY_PER_SECOND(1));
    by_hand_attempt(&gates, 0, 0, NULL, 0);
    for (now = 0; now < 1000; now++) {
        retry_step step = by_hand_ask(&gates, 0, now);
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
    op.client = &client;
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
    static const retry_budget_options for_best = RETRY_BUDGET_BEST_EFFORT(1),
                                      for_smithy = RETRY_BUDGET_SMITHY, for_aws = RETRY_BUDGET_AWS,
                                      for_aws_2026 = RETRY_BUDGET_AWS_2026;
    double successes;
    unsigned n = burst(&for_best, &successes);
    printf(MANUAL "BEST_EFFORT no limit %u ms doubling to %g s; to %g s, throttled %u; see\n",
           whole(best.backoff.initial), seconds(best.backoff.max),
           seconds(best.throttle_backoff.max), n);
    n = burst(&for_smithy, &successes);
    printf(MANUAL "SMITHY %u %g s doubling to %g s %u, 1 for %g successes\n", attempts_of(&smithy),
           seconds(smithy.backoff.initial), seconds(smithy.backoff.max), n, successes);
    n = burst(&for_aws, &successes);
    printf(MANUAL "AWS %u %g s doubling to %g s %u, 1 for %g successes\n", attempts_of(&aws),
           seconds(aws.backoff.initial), seconds(aws.backoff.max), n, successes);
    n = burst(&for_aws_2026, &successes);
    printf(MANUAL "AWS_2026 %u %u ms doubling to %g s; from %g s, throttled %u, 1 for %g "
                  "successes\n",
           attempts_of(&aws_2026), whole(aws_2026.backoff.initial), seconds(aws_2026.backoff.max),
           seconds(aws_2026.throttle_backoff.initial), n, successes);
    printf(MANUAL "AWS caps it at %g s (retry_after_max), AWS_2026 at %g s above the delay "
                  "(retry_after_slack).\n",
           seconds(aws.retry_after_max), seconds(aws_2026.retry_after_slack));
}

static void print_service(void)
{
    static retry_service service;
    const retry_budget_options *options = &service.budget.options;
    const retry_backoff *usual = &service.policy.backoff;
    retry_ms first = 0, after_timeout = 0;
    unsigned n, timeouts;
    retry_service_init(&service, 0);
    printf(MANUAL "service.limit.initial at first, %u, and .max at most, 1000)\n",
           limit_of_service());
    printf(MANUAL "doubles from %u ms to %g s, and to %g s after throttled answers)\n",
           whole(usual->initial), seconds(usual->max),
           seconds(service.policy.throttle_backoff.max));
    printf(MANUAL "RETRY_BUDGET_BEST_EFFORT(%u)\n",
           whole(options->capacity / (20 * RETRY_TOKENS(1))));
    printf(MANUAL "A retry costs %g tokens, after a time-out or a throttled answer %g; a success "
                  "puts %g in.\n",
           tokens(options->retry_cost), tokens(options->timeout_cost),
           tokens(options->success_deposit));
    printf(MANUAL "The base, %g token, is there at first. It does not expire, and %g a second\n",
           tokens(retry_budget_balance(&service.budget)), tokens(options->base_per_second));
    printf(MANUAL "37 %% of it are left after %g s\n", seconds(options->expire));
    printf(MANUAL "While less than half of the base is left, a retry waits %g to %g s\n",
           seconds(late(options, least)), seconds(late(options, most)));
    n = waiting(options, false, &first);
    timeouts = waiting(options, true, &after_timeout);
    printf(MANUAL "waits until the base has refilled %g tokens (%g s), or",
           tokens(options->retry_cost), seconds(first));
    printf(" %g token after a time-out (%g s)\n", tokens(options->timeout_cost),
           seconds(after_timeout));
    printf(MANUAL "%s retries wait at most, one behind the other, or %s after a time-out\n",
           word(n, 4, "Four"), word(timeouts, 1, "one"));
    printf(MANUAL "it starts with tokens for %u time-outs\n",
           whole(options->capacity / retry_aimd_limit(&service.limit) / options->timeout_cost));
    printf(MANUAL "while there are %g tokens\n", 2 * tokens(options->timeout_cost));
    printf(MANUAL "new, or idle for %.0f s\n",
           tokens(retry_budget_balance(&service.budget)) / tokens(options->base_per_second));
    printf(MANUAL "after most failures %u %u %u %u\n", in_hand(&service, options->retry_cost, 0),
           in_hand(&service, options->retry_cost, 1), in_hand(&service, options->retry_cost, 10),
           in_hand(&service, options->retry_cost, 100));
    printf(MANUAL "or throttled %u %u %u %u\n", in_hand(&service, options->timeout_cost, 0),
           in_hand(&service, options->timeout_cost, 1),
           in_hand(&service, options->timeout_cost, 10),
           in_hand(&service, options->timeout_cost, 100));
    printf(README "with all attempts and waits | %g s |\n", default_timeout());
    printf(README "The delays double from %u ms to %g s\n", whole(usual->initial),
           seconds(usual->max));
    printf(README "A *limit* lets %u attempts be in flight at first\n",
           whole(retry_aimd_limit(&service.limit)));
    printf(README
           "A retry costs %s of a token. After a time-out, or after a 429 without Retry-After, a "
           "retry costs %s token. %s successes earn one token.\n",
           word(tokens(options->retry_cost), 0.25, "a quarter"),
           word(options->throttle_cost == options->timeout_cost ? tokens(options->timeout_cost) : 0,
                1, "a whole"),
           word(1 / tokens(options->success_deposit), 10, "Ten"));
    printf(README
           "one token, which pays for %s retries. A token that was spent is back after %.0f s.\n",
           word(in_hand(&service, options->retry_cost, 0), 4, "four"),
           1 / tokens(options->base_per_second));
}

static void print_breaker(void)
{
    retry_breaker breaker;
    unsigned of_more = opens_after(&breaker, 100), n = opens_after(&breaker, 0);
    retry_time now = 0;
    unsigned refuses = refuses_for(&breaker, &now);
    unsigned counts = counts_for(n);
    const char *half = word(of_more / (100.0 + of_more), 0.5, "half");
    printf(MANUAL
           "It opens when %s of %u or more attempts within %g s were unhealthy: no answer, or a "
           "5xx. Then it refuses everything for %g s,\n",
           half, n, seconds(counts), seconds(refuses));
    printf(MANUAL "may refuse for %g s when the node is well\n", seconds(refuses));
    printf(MANUAL "If a limit lets fewer than %u attempts in %g s reach a silent server\n", n,
           seconds(counts));
    printf(MANUAL "before `ratio` may open it (default: 0: %u) */\n", n);
    printf(MANUAL "of unhealthy ones that opens it (default: 0: a %s) */\n", half);
    printf(MANUAL "ms that a report counts at most, up to 2^23 (default: 0: %u) */\n", counts);
    printf(MANUAL "ms that it refuses everything, up to 2^30 (default: 0: %u) */\n", refuses);
    printf(MANUAL "ms a silent probe keeps its place, up to 2^30 (default: 0: %u) */\n",
           refuses_for(&breaker, &now));
    printf(MANUAL "most in flight; answers that close it (default: 0: %u) */\n", probes(&breaker));
}

static void print_throttle(void)
{
    double k, dropped;
    unsigned window;
    dropped = drops(&k, &window);
    printf(MANUAL "over `k` (%g) times what is accepted\n", k);
    printf(MANUAL "drops good attempts for %g s more\n", seconds(window));
    printf(MANUAL "requests to accepts, at least 1 (default: 0: %g) */\n", k);
    printf(MANUAL "it refuses at most, up to 0.999 (default: 0: %.3g) */\n", dropped);
    printf(MANUAL "ms that a report counts at most, up to 2^23 (default: 0: %u) */\n", window);
}

static void print_limit(void)
{
    const retry_failure failure = retry_classify_errno(0, true);
    retry_aimd aimd;
    retry_time now = 0;
    uint32_t limit, before;
    memset(&aimd, 0, sizeof aimd);
    printf(MANUAL "the limit at first; above max counts as max (default: 0: %u) */\n",
           whole(retry_aimd_limit(&aimd)));
    aimd.initial = UINT32_MAX;
    printf(MANUAL "the limit at most (default: 0: %u) */\n", whole(retry_aimd_limit(&aimd)));
    aimd.max = aimd.initial = 100;
    do {
        now++;
        limit = by_hand_aimd(&aimd, &failure, UINT32_MAX, now, now);
    } while (now < 100 && limit == 100);
    printf(MANUAL "RETRY_RATIO to keep (default: 0: a %s; over\n",
           word(limit / 100.0, 0.5, "half"));
    before = limit;
    limit = by_hand_aimd(&aimd, NULL, limit, now + 1, now + 1);
    printf(MANUAL "comes back by %s a round trip\n",
           word((limit - before) / 50.0, 0.24, "a quarter"));
    aimd.initial = 1; /* from here on it grows */
    before = limit;
    now++;
    limit = by_hand_aimd(&aimd, NULL, limit - 1, now + 1, now + 1); /* not all of it is in use */
    printf(MANUAL "added when all is well (default: 0: %u) */\n", whole(limit - before));
}

static void print_floor(void)
{
    const retry_failure failure = retry_classify_errno(0, true);
    retry_aimd aimd;
    retry_gates gates;
    retry_time now;
    uint32_t limit;
    memset(&aimd, 0, sizeof aimd);
    memset(&gates, 0, sizeof gates);
    retry_gates_aimd(&gates, &aimd);
    for (now = 0; now < 50000; now += 5000)
        by_hand_attempt(&gates, UINT32_MAX, now, &failure, now);
    limit = retry_aimd_limit(&aimd);
    printf(MANUAL "above max counts as max (default: 0: %u) */\n", whole(limit));
    printf(MANUAL "Down to %s, it pauses for up to %s after a time-out\n", word(limit, 1, "one"),
           word(by_hand_ask(&gates, 0, now - 5000).delay - 1 /* its turn */, 1000, "a second"));
}

static void print_rate(void)
{
    unsigned waits = refused_wait();
    const char *eighth = word(burst_of(80) / 80.0, 0.125, "an eighth");
    printf(MANUAL "and after %g s there is none.\n", seconds(limited_until()));
    printf(MANUAL "(default: 0: %s of a second's, at least 1) */\n", eighth);
    printf(MANUAL "the lowest limit, up to `max` (default: 0: one in %g s) */\n",
           1 / lowest_rate());
    printf(MANUAL "those that would wait %u ms (`wait`) fail immediately\n", waits);
    printf(MANUAL "that waits as long is refused, up to 2^20 (default: 0: %u)\n", waits);
}

/* The bytes of the manual are those of a 64-bit machine. */
static void print_sizes(void)
{
    if (sizeof(void *) != 8)
        return;
    printf(MANUAL "circuit breaker %u \n", (unsigned)sizeof(retry_breaker));
    printf(MANUAL "AIMD limit %u \n", (unsigned)sizeof(retry_aimd));
    printf(MANUAL "throttle %u \n", (unsigned)sizeof(retry_throttle));
    printf(MANUAL "rate %u \n", (unsigned)sizeof(retry_rate));
    printf(MANUAL "latency %u \n", (unsigned)sizeof(retry_latency));
    printf(MANUAL "hedging %u \n", (unsigned)sizeof(retry_hedge));
    printf(MANUAL "%u bytes a copy;\n", (unsigned)sizeof(retry_copy));
}

static void print_gates(void)
{
    unsigned holds, longer, n;
    print_breaker();
    print_throttle();
    print_limit();
    print_floor();
    print_rate();
    held_after(&longer, most);
    n = held_after(&holds, least);
    printf(MANUAL "after %s refusals with a Retry-After in a row it holds all attempts until that "
                  "time is over, %g s at most and %s more at random.\n",
           word(n, 5, "five"), seconds(holds), word(longer / (double)holds, 1.125, "an eighth"));
    printf(MANUAL "Retry-After holds all attempts, up to 2^30 (default: 0: %u,\n", holds);
    printf(MANUAL "samples before anything is told, up to 2^30 (default: 0: %u,\n", samples(0));
    n = samples(RETRY_RATIO(0.99));
    printf(MANUAL "It has no estimate before %u attempts (%u,%03u for 99 %%).\n", samples(0),
           n / 1000, n % 1000);
}

int main(void)
{
    static retry_connection connection;
    static const retry_backoff gaps = RETRY_BACKOFF_GRPC;
    printf(MANUAL "UINT32_MAX: no end (default: 0: %g) */\n", default_timeout() * 1000);
    printf(MANUAL "that an attempt is always granted (default: 0: %u) */\n",
           whole(retry_connection_begin(&connection, 0)));
    printf(MANUAL "three attempts at each of five layers are %u calls\n", 3 * 3 * 3 * 3 * 3);
    printf(README "three attempts at each of five layers are %u calls\n", 3 * 3 * 3 * 3 * 3);
    printf(EXAMPLES "full jitter makes 0 of each delay of up to %u s\n", no_delay());
    printf(RECIPES "asked for 30 s: over 30 to %g s\n", spread_order());
    printf(MANUAL "as gRPC does: %g s, %.3g s, %.3g s ... up to %g minutes, %.0f %% more or less\n",
           seconds(retry_backoff_base(&gaps, 0)), retry_backoff_base(&gaps, 1) / 1000.0,
           retry_backoff_base(&gaps, 2) / 1000.0, seconds(gaps.max) / 60,
           retry_backoff_delay(&gaps, 0, 0, UINT32_MAX) * 100.0 / gaps.initial - 100);
    printf(README "Attempts start %g s apart at first, and %g min apart in the end\n",
           seconds(retry_backoff_base(&gaps, 0)), seconds(gaps.max) / 60);
    print_ladder();
    print_policies();
    print_service();
    print_gates();
    print_sizes();
    return 0;
}
