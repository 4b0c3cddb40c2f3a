/* schemes.h: the ways of retrying that are compared, the presets of retry.h among them, and the
   operator's own behind them. */
#ifndef STORM_SCHEMES_H
#define STORM_SCHEMES_H

#include "gates.h"

/* One layer that retries. */
typedef struct scheme_layer {
    const retry_strategy *strategy;
    retry_budget_options budget; /* of a group's bucket (capacity 0: none) */
} scheme_layer;

typedef struct scheme {
    const char *name;
    scheme_layer layers[LAYERS_MAX]; /* each on top of the next */
    uint32_t depth;
    uint32_t sharing; /* clients that share a budget and gates (0: as the options say) */
    uint32_t gates;   /* GATE_x */
} scheme;

static const retry_ms at_once[] = {0};
static const retry_policy no_retry = {.base = {retry_policy_after}, .max_attempts = 1};
static const retry_policy naive = {
    .base = {retry_policy_after},
    .backoff = {.curve = RETRY_CURVE_TABLE, .table = at_once, .table_length = 1}};
static const retry_policy no_jitter = {.base = {retry_policy_after},
                                       .backoff = RETRY_BACKOFF_RFC0049};
static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
static const retry_policy aws = RETRY_POLICY_AWS;
static const retry_policy aws_2026 = RETRY_POLICY_AWS_2026;
static const retry_policy grpc = {.base = {retry_policy_after}, /* as of gRPC's own examples */
                                  .backoff = {.jitter = RETRY_JITTER_SPREAD,
                                              .initial = 100,
                                              .max = 1000,
                                              .spread = RETRY_RATIO(0.2)},
                                  .max_attempts = 4};

enum { SCHEMES_MAX = 16 };

typedef struct scheme_list {
    scheme list[SCHEMES_MAX];
    uint32_t count;
} scheme_list;

static const retry_budget_options no_budget = {.capacity = 0};
static const retry_budget_options aws_bucket = RETRY_BUDGET_AWS;
static const retry_budget_options aws_2026_bucket = RETRY_BUDGET_AWS_2026;
static const retry_budget_options grpc_bucket = RETRY_BUDGET_GRPC;

/* The budget that fits best effort: sized by the operations in flight at once when the service
   hangs, which are as many as begin within an attempt's timeout. It is the largest that helps: it
   brings the most through an outage, and a service that is 60 % busy can bear it. */
static retry_budget_options fitting_bucket(const options *set, uint32_t sharing)
{
    uint64_t begin = (uint64_t)sharing * set->cut_after;
    uint64_t in_flight = (begin + set->think - 1) / set->think;
    const retry_budget_options fitting = RETRY_BUDGET_BEST_EFFORT(in_flight);
    return fitting;
}

static scheme *scheme_add(scheme_list *to, const char *name, const retry_policy *policy,
                          const retry_budget_options *budget, uint32_t depth)
{
    scheme *added = &to->list[to->count++];
    added->name = name;
    added->depth = depth;
    for (uint32_t i = 0; i < depth; i++) {
        added->layers[i].strategy = &policy->base;
        added->layers[i].budget = *budget;
    }
    return added;
}

/* The operator's, if there is one. */
static void scheme_add_own(scheme_list *to, const options *set)
{
    scheme *added;
    if (set->own_count == 0)
        return;
    added = scheme_add(to, "yours", &set->own[0].policy, &set->own[0].budget, set->own_count);
    for (uint32_t i = 0; i < set->own_count; i++) {
        added->layers[i].strategy = &set->own[i].policy.base;
        added->layers[i].budget = set->own[i].budget;
    }
}

static scheme_list all_schemes(const options *set)
{
    const retry_budget_options shared_bucket = fitting_bucket(set, set->sharing);
    const retry_budget_options small_bucket = fitting_bucket(set, 1);
    scheme_list all = {.count = 0};
    scheme_add(&all, "no retry", &no_retry, &no_budget, 1);
    scheme_add(&all, "naive loop", &naive, &no_budget, 1);
    scheme_add(&all, "no jitter", &no_jitter, &no_budget, 1);
    scheme_add(&all, "best effort", &best_effort, &no_budget, 1);
    scheme_add(&all, "5 layers of 3", &aws_2026, &no_budget, 5);
    scheme_add(&all, "3 attempts", &aws_2026, &no_budget, 1);
    scheme_add(&all, "a budget each", &best_effort, &small_bucket, 1)->sharing = 1;
    scheme_add(&all, "a shared budget", &best_effort, &shared_bucket, 1);
    scheme_add(&all, "AWS", &aws, &aws_bucket, 1);
    scheme_add(&all, "AWS 2026", &aws_2026, &aws_2026_bucket, 1);
    scheme_add(&all, "gRPC", &grpc, &grpc_bucket, 1);
    scheme_add_own(&all, set);
    return all;
}

/* Best effort behind each of the gates. */
static scheme_list gated_schemes(const options *set)
{
    const retry_budget_options shared_bucket = fitting_bucket(set, set->sharing);
    scheme_list all = {.count = 0};
    scheme_add(&all, "no retry", &no_retry, &no_budget, 1);
    scheme_add(&all, "best effort", &best_effort, &no_budget, 1);
    scheme_add(&all, "breakers", &best_effort, &no_budget, 1)->gates = GATE_BREAKER;
    scheme_add(&all, "throttle", &best_effort, &no_budget, 1)->gates = GATE_THROTTLE;
    scheme_add(&all, "adaptive rate", &best_effort, &no_budget, 1)->gates = GATE_RATE;
    scheme_add(&all, "AIMD limit", &best_effort, &no_budget, 1)->gates = GATE_AIMD;
    scheme_add(&all, "all gates, budget", &best_effort, &shared_bucket, 1)->gates =
        GATE_RATE | GATE_BREAKER | GATE_AIMD | GATE_THROTTLE;
    scheme_add_own(&all, set);
    return all;
}

#endif /* STORM_SCHEMES_H */
