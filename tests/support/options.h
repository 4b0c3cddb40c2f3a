/* Options of budgets. Include it after retry.h. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <string.h>

/* These, and all else by default. */
static inline retry_budget_options options_of(uint32_t capacity, uint32_t retry_cost)
{
    retry_budget_options options;
    memset(&options, 0, sizeof options);
    options.capacity = capacity;
    options.retry_cost = retry_cost;
    return options;
}

static inline bool same_options(const retry_budget_options *a, const retry_budget_options *b)
{
    return a->capacity == b->capacity && a->retry_cost == b->retry_cost &&
           a->timeout_cost == b->timeout_cost && a->throttle_cost == b->throttle_cost &&
           a->success_deposit == b->success_deposit && a->request_deposit == b->request_deposit &&
           a->refill_per_second == b->refill_per_second && a->floor == b->floor &&
           a->refund_last == b->refund_last && a->charge_failures == b->charge_failures &&
           a->expire == b->expire && a->base_per_second == b->base_per_second;
}

#endif
