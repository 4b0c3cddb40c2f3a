/* Budgets, and operations that pay from them. For those who include retry.h, or a cut that has the
   budget, check.h before. */
#ifndef BUDGETS_H
#define BUDGETS_H

#include "options.h"

#define START ((retry_time)-5000)
#define TOO_MUCH UINT32_MAX /* a withdrawal that is denied refills and takes nothing */

#define DAY UINT32_C(86400000)

/* A bucket that holds `balance`, whatever its floor says. */
static inline retry_budget budget_of(const retry_budget_options *options, uint32_t balance)
{
    retry_budget_options without = *options;
    retry_budget budget;
    without.floor = 0;
    retry_budget_init(&budget, &without, START);
    retry_budget_withdraw(&budget, options->capacity - balance, START);
    budget.options = *options;
    return budget;
}

#ifdef RETRY_CAUSES
static inline retry_client client_of(retry_budget *budget)
{
    retry_client client;
    memset(&client, 0, sizeof client);
    client.budget = budget;
    return client;
}

static inline retry_operation begun(const retry_client *client)
{
    retry_operation op;
    memset(&op, 0, sizeof op);
    op.client = client ? client : default_client();
    retry_start(&op, NULL, START);
    return op;
}

static inline decided fail_once(const retry_client *client, retry_reason reason)
{
    retry_operation op = begun(client);
    retry_failure failure = check_failure_of(reason);
    return decide(&op, &failure, START);
}

/* Beside CLIENT_THROTTLED, which is final: an attempt that a gate of the application's refused, one
   of which the reason says that no server was there, and one that failed before it was sent, for
   whatever reason. */
static const struct unsent {
    retry_reason reason;
    bool unsent;
    bool is_free; /* a retry of it costs nothing of its own */
} unsent[] = {
    {RETRY_REASON_SOCKET_NOT_AVAILABLE, false, true},
    {RETRY_REASON_SERVICE_NOT_AVAILABLE, false, true},
    {RETRY_REASON_NODE_NOT_AVAILABLE, false, true},
    {RETRY_REASON_CIRCUIT_BREAKER_OPEN, false, false},
    {RETRY_REASON_SOCKET_NOT_AVAILABLE, true, true},
    {RETRY_REASON_SERVER_ERROR, true, true},
    {RETRY_REASON_KV_LOCKED, true, true},
    {RETRY_REASON_USER(3, RETRY_REASON_ALLOWS_NON_IDEMPOTENT), true, true}, /* an empty pool */
};

static inline retry_failure unsent_failure(size_t row)
{
    retry_failure failure = check_failure_of(unsent[row].reason);
    failure.unsent = unsent[row].unsent;
    check_row("%s, unsent %d", retry_reason_name(unsent[row].reason), unsent[row].unsent);
    return failure;
}
#endif

#endif
