/* One of two files that both hold the implementation as RETRY_STATIC: linked with link_b.c
   they do not clash, and they give the same answers. This one includes the header again and again.
 */
#define RETRY_STATIC
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../../retry.h"
#undef RETRY_IMPLEMENTATION
#include "../../retry.h"
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

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

static void test_same_answers(void)
{
    static const retry_backoff backoff = RETRY_BACKOFF_GRPC;
    unsigned i;
    CHECK_EQUAL(retry_version(), link_b_version());
    CHECK_EQUAL(sizeof(retry_operation) + sizeof(retry_service), link_b_size());
    for (i = 0; i < 256; i++) {
        check_row("%u", i);
        CHECK_TEXT(retry_reason_name((retry_reason)i), link_b_name((retry_reason)i));
        CHECK_EQUAL(retry_backoff_delay(&backoff, i, 0, i << 24),
                    link_b_delay(&backoff, i, i << 24));
        CHECK_EQUAL(retry_classify_grpc((int)i).reason, link_b_classify((int)i));
    }
}

/* Structs go from one file to the other, and strategies of either are asked by both. */
static void test_shared_structs(void)
{
    static const retry_budget_options options = RETRY_BUDGET_AWS;
    retry_budget budget;
    retry_client client;
    retry_operation request;
    retry_failure failure = check_failure_of(RETRY_REASON_KV_TEMPORARY_FAILURE);
    memset(&client, 0, sizeof client);
    memset(&request, 0, sizeof request);
    retry_budget_init(&budget, &options, 0);
    client.strategy = link_b_best_effort();
    client.budget = &budget;
    request.client = &client;
    link_b_begin(&request, 100);
    CHECK_DECISION(RETRY, STRATEGY, decide(&request, &failure, 100));
    client.strategy = retry_best_effort();
    CHECK_DECISION(RETRY, STRATEGY, link_b_orchestrate(&request, &failure, 200));
    CHECK_EQUAL(2, request.retries);
    CHECK_EQUAL(490000, retry_budget_balance(&budget));
    CHECK(link_b_withdraw(&budget, 490000, 200));
    CHECK(!retry_budget_withdraw(&budget, 1, 200));
}

/* An operation of a service that the other file set up goes back and forth. */
static void test_shared_operation(void)
{
    static retry_service service; /* zero */
    retry_operation op;
    retry_failure failure = check_failure_of(RETRY_REASON_KV_TEMPORARY_FAILURE);
    retry_step step;
    memset(&op, 0, sizeof op);
    service.limit.max = 1;
    link_b_service(&service, 0);
    op.client = &service.client;
    retry_start(&op, NULL, 100);
    CHECK_EQUAL(RETRY_DO_SEND, link_b_next(&op, 100).what);
    CHECK_EQUAL(1, service.gates.in_flight);
    retry_ended(&op, 0, &failure, 110);
    CHECK_EQUAL(750, retry_budget_balance(&service.budget));
    step = link_b_next(&op, 110);
    CHECK_EQUAL(RETRY_DO_WAIT, step.what);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&op, 110 + step.delay).what);
    retry_stop(&op, 120 + step.delay);
    CHECK_EQUAL(RETRY_DO_CANCEL, link_b_next(&op, 120 + step.delay).what);
    CHECK_EQUAL(RETRY_CAUSE_CANCELLED, link_b_next(&op, 120 + step.delay).cause);
    CHECK_EQUAL(0, service.gates.in_flight);
    CHECK_RANGE(1000, 1000 + 50, retry_budget_balance(&service.budget)); /* 0.05 a second */
}

/* Each has a generator of its own: seeding one leaves the other alone, the same seed is the same.
 */
static void test_generators(void)
{
    retry_operation request;
    uint32_t first, second;
    memset(&request, 0, sizeof request);
    retry_seed(5);
    first = retry_random(&request);
    second = retry_random(&request);
    retry_seed(5);
    CHECK_EQUAL(first, link_b_first_random(5));
    CHECK_EQUAL(first, retry_random(&request));
    link_b_first_random(77);
    CHECK_EQUAL(second, retry_random(&request));
}

int main(void)
{
    RUN(test_same_answers);
    RUN(test_shared_structs);
    RUN(test_shared_operation);
    RUN(test_generators);
    return check_done();
}
