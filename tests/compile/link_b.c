/* The other file of link_a.c: its own implementation as RETRY_STATIC, asked from there. */
#define RETRY_IMPLEMENTATION
#define RETRY_STATIC
#include "../../retry.h"
#include "../../retry.h"
#include "../support/decide.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
uint32_t link_b_version(void);
size_t link_b_size(void);
const char *link_b_name(retry_reason reason);
retry_ms link_b_delay(const retry_backoff *backoff, uint32_t attempt, uint32_t random);
retry_reason link_b_classify(int status);
void link_b_begin(retry_operation *request, retry_time now);
decided link_b_orchestrate(retry_operation *request, const retry_failure *failure, retry_time now);
bool link_b_withdraw(retry_budget *budget, uint32_t cost, retry_time now);
retry_step link_b_next(retry_operation *op, retry_time now);
void link_b_service(retry_service *service, retry_time now);
const retry_strategy *link_b_best_effort(void);
uint32_t link_b_first_random(uint32_t seed);
#ifdef __cplusplus
}
#endif

uint32_t link_b_version(void)
{
    return retry_version();
}

size_t link_b_size(void)
{
    return sizeof(retry_operation) + sizeof(retry_service);
}

const char *link_b_name(retry_reason reason)
{
    return retry_reason_name(reason);
}

retry_ms link_b_delay(const retry_backoff *backoff, uint32_t attempt, uint32_t random)
{
    return retry_backoff_delay(backoff, attempt, 0, random);
}

retry_reason link_b_classify(int status)
{
    return retry_classify_grpc(status).reason;
}

void link_b_begin(retry_operation *request, retry_time now)
{
    retry_start(request, NULL, now);
}

decided link_b_orchestrate(retry_operation *request, const retry_failure *failure, retry_time now)
{
    return decide(request, failure, now);
}

bool link_b_withdraw(retry_budget *budget, uint32_t cost, retry_time now)
{
    return retry_budget_withdraw(budget, cost, now);
}

retry_step link_b_next(retry_operation *op, retry_time now)
{
    return retry_next(op, now);
}

void link_b_service(retry_service *service, retry_time now)
{
    retry_service_init(service, now);
}

const retry_strategy *link_b_best_effort(void)
{
    return retry_best_effort();
}

uint32_t link_b_first_random(uint32_t seed)
{
    retry_operation request;
    memset(&request, 0, sizeof request);
    retry_seed(seed);
    return retry_random(&request);
}
