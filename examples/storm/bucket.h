/* bucket.h: two small measurements. What a retry budget lets through at a steady failure
   rate, and how often the innermost service is called when each of several layers retries. */
#ifndef STORM_BUCKET_H
#define STORM_BUCKET_H

#include "random.h"

#include "../../retry.h"

enum { BUCKET_CALLS = 100000 };

/* The attempts of one call, each of which fails with a probability of `rate` percent. */
static uint32_t bucket_call(retry_request *request, uint32_t rate, dice *chance)
{
    static const retry_failure failure = {.reason = RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED};
    uint32_t attempts = 1;
    retry_begin(request, 0);
    while (dice_unit(chance) * 100 < rate) {
        if (retry_orchestrate(request, &failure, 0).verdict != RETRY_VERDICT_RETRY)
            return attempts;
        attempts++;
    }
    retry_succeed(request, 0);
    return attempts;
}

/* Attempts per call, of up to 3 retries each, at a failure rate in percent. With a bucket (NULL:
   without) a retry costs 1 of 50 tokens, and a success gives back a tenth. */
static double bucket_load(const retry_budget_options *options, uint32_t rate, dice *chance)
{
    retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    retry_client client = {.random = dice_bits, .random_context = chance};
    retry_request request = {.client = &client, .strategy = &policy.base};
    retry_budget budget;
    uint32_t attempts = 0;
    policy.max_attempts = 4;
    if (options) {
        retry_budget_init(&budget, options, 0);
        client.budget = &budget;
    }
    for (uint32_t i = 0; i < BUCKET_CALLS; i++)
        attempts += bucket_call(&request, rate, chance);
    return (double)attempts / BUCKET_CALLS;
}

/* A layer of services: an attempt of one is a call of the next, and the last one always fails. */
typedef struct service_layer {
    const retry_client *client;
    uint32_t below;  /* layers that retry, below this one */
    uint32_t *calls; /* of the last service */
} service_layer;

static retry_time layer_now(void *context)
{
    (void)context;
    return 0;
}

static void layer_sleep(void *context, retry_ms delay)
{
    (void)context;
    (void)delay;
}

static bool layer_attempt(void *context, const retry_request *request, retry_failure *failure)
{
    static const retry_clock clock = {layer_now, layer_sleep, NULL};
    service_layer *outer = context;
    service_layer inner = *outer;
    retry_request inner_request = {.client = outer->client};
    (void)request;
    *failure = retry_classify_http(503, 0);
    if (outer->below == 0) {
        ++*outer->calls;
        return false;
    }
    inner.below--;
    return retry_run(&inner_request, &clock, layer_attempt, &inner).verdict ==
           RETRY_VERDICT_SUCCESS;
}

/* Calls of a service that is down, for one operation through layers that try three times each. */
static uint32_t layer_calls(uint32_t layers)
{
    static const retry_policy policy = RETRY_POLICY_AWS;
    retry_client client = {.strategy = &policy.base};
    uint32_t calls = 0;
    service_layer user = {&client, layers, &calls};
    retry_failure failure;
    layer_attempt(&user, NULL, &failure);
    return calls;
}

#endif /* STORM_BUCKET_H */
