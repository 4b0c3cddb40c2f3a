/* Random numbers for a request: its client's own, or the built-in generator's. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

static unsigned bits(uint32_t number)
{
    unsigned count = 0;
    for (; number != 0; number >>= 1)
        count += (unsigned)(number & 1);
    return count;
}

static uint32_t counting(void *context)
{
    return ++*(uint32_t *)context;
}

/* A request whose client counts what is drawn, up from the state. */
static retry_operation counted(retry_client *client, uint32_t *state)
{
    retry_operation op;
    memset(client, 0, sizeof *client);
    memset(&op, 0, sizeof op);
    client->random = counting;
    client->random_context = state;
    op.client = client;
    retry_start(&op, NULL, 0);
    return op;
}

static void test_client_random(void)
{
    uint32_t state = 40;
    retry_client client;
    retry_operation op = counted(&client, &state);
    CHECK_EQUAL(40, state);
    CHECK_EQUAL(41, retry_random(&op));
    CHECK_EQUAL(42, retry_random(&op));
}

/* Every decision of the built-in strategy draws from the client's. */
static void test_client_random_jitters(void)
{
    uint32_t state = UINT32_MAX - 1;
    retry_client client;
    retry_operation op = counted(&client, &state);
    const retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    op.retries = 20;
    CHECK_EQUAL(5000, decide(&op, &failure, 0).delay);
    CHECK_EQUAL(UINT32_MAX, state);
}

/* Without jitter there is nothing to draw. */
static void test_no_jitter_draws_nothing(void)
{
    static retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    uint32_t state = 7;
    retry_client client;
    retry_operation op = counted(&client, &state);
    const retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    policy.backoff.jitter = RETRY_JITTER_NONE;
    client.strategy = &policy.base;
    CHECK_EQUAL(100, decide(&op, &failure, 0).delay);
    CHECK_EQUAL(7, state);
}

static void test_null(void)
{
    retry_operation zeroed;
    unsigned i;
    uint32_t first, different = 0;
    memset(&zeroed, 0, sizeof zeroed);
    retry_seed(5);
    first = retry_draw();
    retry_seed(5);
    CHECK_EQUAL(first, retry_random(NULL));
    retry_seed(5);
    CHECK_EQUAL(first, retry_random(&zeroed));
    for (i = 0; i < 64; i++)
        different |= retry_random(&zeroed) ^ retry_random(&zeroed);
    CHECK_RANGE(24, 32, bits(different));
}

int main(void)
{
    RUN(test_client_random);
    RUN(test_client_random_jitters);
    RUN(test_no_jitter_draws_nothing);
    RUN(test_null);
    return check_done();
}
