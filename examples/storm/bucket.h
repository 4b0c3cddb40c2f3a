/* bucket.h: what a retry budget lets through at a steady failure rate, by the size of the traffic
   that shares it, and what arithmetic says of it; and how often the innermost service is called
   when each of several layers retries. */
#ifndef STORM_BUCKET_H
#define STORM_BUCKET_H

#include "random.h"
#include "report.h"
#include "schemes.h"
#include "../../tests/support/decide.h"

enum { BUCKET_CALLS = 100000, BUCKET_RETRIES = 3, BUCKET_TOLERANCE = 2 };

static const retry_budget_options bucket = {.capacity = RETRY_TOKENS(50),
                                            .retry_cost = RETRY_TOKENS(1),
                                            .success_deposit = RETRY_TOKENS(0.1)};

/* Brooker's: attempts per call that are to be reproduced. */
static const struct {
    uint32_t rate; /* % of attempts that fail */
    double with, without;
} known_loads[] = {
    {5, 1.053, 1.053}, {10, 1.099, 1.112}, {20, 1.088, 1.247}, {50, 1.053, 1.874}, {100, 1.0005, 4},
};

/* What is tried so often. */
typedef struct bucket_setting {
    retry_policy policy;
    retry_budget_options budget;
    retry_ms timeout; /* of a call (0: none) */
} bucket_setting;

static bucket_setting brooker(void)
{
    bucket_setting setting = {RETRY_POLICY_BEST_EFFORT, bucket, 0};
    setting.policy.max_attempts = BUCKET_RETRIES + 1;
    return setting;
}

/* The attempts of one call, each of which fails with a probability of `rate` percent. */
static uint32_t bucket_call(retry_operation *request, uint32_t rate, dice *chance)
{
    static const retry_failure failure = {.reason = RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED};
    uint32_t attempts = 1, now = 0;
    retry_start(request, NULL, now);
    while (dice_unit(chance) * 100 < rate) {
        decided decision = decide(request, &failure, now);
        if (decision.verdict != RETRY_VERDICT_RETRY)
            return attempts;
        now += decision.delay;
        attempts++;
    }
    decide(request, NULL, now);
    return attempts;
}

/* Attempts per call. Each bucket serves so many calls; 0: there is none. */
static double bucket_load(const bucket_setting *setting, uint32_t calls, uint32_t rate,
                          dice *chance)
{
    retry_client client = {.random = dice_bits, .random_context = chance};
    retry_operation request = {.client = &client,
                               .strategy = &setting->policy.base,
                               .timeout = setting->timeout,
                               .idempotent = true};
    retry_budget budget;
    uint32_t attempts = 0;
    client.budget = calls ? &budget : NULL;
    for (uint32_t i = 0; i < BUCKET_CALLS; i++) {
        if (calls && i % calls == 0)
            retry_budget_init(&budget, &setting->budget, 0);
        attempts += bucket_call(&request, rate, chance);
    }
    return (double)attempts / BUCKET_CALLS;
}

/* The same by arithmetic. A call is wanted p + p^2 + p^3 retries for. The bucket pays for capacity
   / cost of them once, and for deposit / cost with each success; of 1 + r attempts per call (1 + r)
   (1 - p) are successes, so r = (capacity / cost / calls + s) / (1 - s) with s = (1 - p) deposit /
   cost. */
static double bucket_predicted(uint32_t calls, uint32_t rate)
{
    double p = rate / 100.0, wanted = p + p * p + p * p * p;
    double s = (1 - p) * bucket.success_deposit / bucket.retry_cost;
    double burst = (double)bucket.capacity / bucket.retry_cost;
    return 1 + (calls ? fmin(wanted, (burst / calls + s) / (1 - s)) : wanted);
}

static void bucket_size_table(dice *chance)
{
    static const uint32_t sizes[] = {10, 100, 1000, BUCKET_CALLS};
    const bucket_setting setting = brooker();
    printf("\n3. A bucket of 50 tokens, 1 a retry, 0.1 back for a success: attempts per call,\n"
           "   simulated and (by the arithmetic of retry.h's manual), over %d calls of\n"
           "   up to %d retries each\n\n"
           "calls to a bucket:         10            100          1,000        100,000\n"
           "attempts that fail\n",
           BUCKET_CALLS, BUCKET_RETRIES);
    for (size_t i = 0; i < COUNT(known_loads); i++) {
        printf("%11" PRIu32 " %%    ", known_loads[i].rate);
        for (size_t n = 0; n < COUNT(sizes); n++)
            printf("  %.3f (%.3f)", bucket_load(&setting, sizes[n], known_loads[i].rate, chance),
                   bucket_predicted(sizes[n], known_loads[i].rate));
        printf("\n");
    }
}

/* The operator's policy and budget; at most 10 s a call, as some would never give up. */
static bucket_setting own_bucket(const options *chosen)
{
    const own_layer *own = &chosen->own[chosen->own_count - 1];
    bucket_setting setting = {own->policy, own->budget, 10000};
    if (chosen->timeout != 0)
        setting.timeout = chosen->timeout;
    return setting;
}

static double own_load(const options *chosen, uint32_t calls, uint32_t rate, dice *chance)
{
    const bucket_setting setting = own_bucket(chosen);
    return bucket_load(&setting, setting.budget.capacity ? calls : 0, rate, chance);
}

static void own_rows(const options *chosen, dice *chance)
{
    static const uint32_t sizes[] = {10, 100, 1000, BUCKET_CALLS};
    printf("with yours\n");
    for (size_t i = 0; i < COUNT(known_loads); i++) {
        printf("%11" PRIu32 " %%    ", known_loads[i].rate);
        for (size_t n = 0; n < COUNT(sizes); n++)
            printf("%*.3f", n == 0 ? 7 : 15,
                   own_load(chosen, sizes[n], known_loads[i].rate, chance));
        printf("\n");
    }
}

static void brooker_table(dice *chance)
{
    const bucket_setting setting = brooker();
    printf("\n   The same as Brooker published it, 100,000 calls to a bucket\n\n"
           "attempts that fail      with it  expected    without  expected\n");
    for (size_t i = 0; i < COUNT(known_loads); i++) {
        double with = bucket_load(&setting, BUCKET_CALLS, known_loads[i].rate, chance);
        double without = bucket_load(&setting, 0, known_loads[i].rate, chance);
        bool kept = keeps(with, known_loads[i].with, BUCKET_TOLERANCE);
        kept = keeps(without, known_loads[i].without, BUCKET_TOLERANCE) && kept;
        printf("%11" PRIu32 " %% %17.4f %9.4f %10.4f %9.4f  %s\n", known_loads[i].rate, with,
               known_loads[i].with, without, known_loads[i].without, verdict(kept));
    }
    printf("Tolerance: %d %%.\n", BUCKET_TOLERANCE);
}

/* ---- gRPC's throttling --------------------------------------------------------------------- */

/* An operation of a client with that bucket fails: whether it is retried. */
static bool grpc_fails(retry_budget *budget)
{
    static const retry_failure down = {.reason = RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED};
    retry_client client = {.budget = budget};
    retry_operation request = {.client = &client};
    retry_start(&request, NULL, 0);
    return decide(&request, &down, 0).verdict == RETRY_VERDICT_RETRY;
}

/* Failures from a full bucket until one is not retried. */
static uint32_t grpc_forbids(retry_budget *budget)
{
    uint32_t failures = 1;
    retry_budget_init(budget, &grpc_bucket, 0);
    while (grpc_fails(budget))
        failures++;
    return failures;
}

/* Successes from an empty bucket until a failure would be retried. */
static uint32_t grpc_allows(retry_budget *budget)
{
    uint32_t successes = 0;
    retry_budget tried;
    while (retry_budget_balance(budget) != 0)
        grpc_fails(budget);
    do {
        retry_budget_deposit(budget, grpc_bucket.success_deposit);
        successes++;
        tried = *budget;
    } while (!grpc_fails(&tried));
    return successes;
}

static void grpc_line(void)
{
    retry_budget budget;
    uint32_t forbid = grpc_forbids(&budget), allow = grpc_allows(&budget);
    bool kept = keeps(forbid, 5, 0);
    kept = keeps(allow, 61, 0) && kept;
    printf("\n   gRPC's throttling: %" PRIu32 " failures from full forbid retries, %" PRIu32
           " successes from\n   empty allow them again  %s\n",
           forbid, allow, verdict(kept));
}

/* ---- Layers -------------------------------------------------------------------------------- */

enum { LAYERS = 5, LAYERS_CALLS = 243 };

/* A layer of services: an attempt of one is a call of the next, and the last one always fails. */
typedef struct service_layer {
    const retry_client *client;
    uint32_t below;        /* layers that retry, below this one */
    uint32_t *calls;       /* of the last service */
    retry_time *simulated; /* passes only while somebody waits for a retry */
} service_layer;

static retry_time layer_now(void *context)
{
    return *(const retry_time *)context;
}

static void layer_sleep(void *context, retry_ms delay)
{
    *(retry_time *)context += delay;
}

static bool layer_attempt(void *context, const retry_operation *op, const retry_step *step,
                          retry_failure *failure)
{
    service_layer *outer = (service_layer *)context;
    service_layer inner = *outer;
    const retry_clock clock = {.now = layer_now, .sleep = layer_sleep, .context = outer->simulated};
    retry_operation inner_operation = {
        .client = outer->client, .timeout = UINT32_MAX, .idempotent = true};
    (void)op;
    (void)step;
    *failure = retry_classify_http(503, 0);
    if (outer->below == 0) {
        ++*outer->calls;
        return false;
    }
    inner.below--;
    return retry_run(&inner_operation, NULL, &clock, layer_attempt, &inner).verdict ==
           RETRY_VERDICT_SUCCESS;
}

/* Calls of a service that is down, for one operation through layers that try three times each. */
static uint32_t layer_calls(uint32_t layers)
{
    static const retry_policy policy = RETRY_POLICY_AWS;
    retry_client client = {.strategy = &policy.base};
    uint32_t calls = 0;
    retry_time simulated = 0;
    service_layer user = {&client, layers, &calls, &simulated};
    retry_failure failure;
    layer_attempt(&user, NULL, NULL, &failure);
    return calls;
}

static void layers_line(void)
{
    printf("\n   Calls of a service that is down, for one operation through one layer, two\n"
           "   layers ... that try three times each:");
    for (uint32_t layers = 1; layers < LAYERS; layers++)
        printf(" %" PRIu32 ",", layer_calls(layers));
    printf(" %" PRIu32 "  %s\n", layer_calls(LAYERS),
           verdict(keeps(layer_calls(LAYERS), LAYERS_CALLS, 0)));
}

/* ---- The part ------------------------------------------------------------------------------ */

static void bucket_data(const options *chosen, dice *chance)
{
    static const uint32_t sizes[] = {0, 10, 100, 1000, BUCKET_CALLS};
    const bucket_setting setting = brooker();
    FILE *data = data_file(chosen, "bucket.tsv");
    fprintf(data, "rate\tnone\t10\t100\t1000\t100000\tyours");
    for (uint32_t rate = 0; rate <= 100; rate += chosen->quick ? 25 : 4) {
        fprintf(data, "\n%" PRIu32, rate);
        for (size_t n = 0; n < COUNT(sizes); n++)
            fprintf(data, "\t%.4f", bucket_load(&setting, sizes[n], rate, chance));
        if (chosen->own_count)
            fprintf(data, "\t%.4f", own_load(chosen, BUCKET_CALLS, rate, chance));
        else
            fprintf(data, "\t-");
        progress(0, "bucket: failure rate %" PRIu32 " %%", rate);
    }
    progress_clear();
    fprintf(data, "\n");
    data_done(data);
}

static void bucket_part(const options *chosen)
{
    dice chance = {chosen->seed};
    bucket_size_table(&chance);
    if (chosen->own_count)
        own_rows(chosen, &chance);
    brooker_table(&chance);
    grpc_line();
    layers_line();
    bucket_data(chosen, &chance);
}

#endif /* STORM_BUCKET_H */
