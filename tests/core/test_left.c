/* What is left of an operation's time: retry_left. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#define START ((retry_time)5000)

static retry_action answer; /* what the strategy below says */

static retry_action answering_after(const retry_strategy *self, const retry_operation *op,
                                    const retry_failure *failure, retry_time now)
{
    (void)self, (void)op, (void)failure, (void)now;
    return answer;
}

static const retry_strategy answering = {answering_after};

static retry_operation op;
static retry_failure failure;

static void set_up(void)
{
    memset(&op, 0, sizeof op);
    op.client = default_client();
    op.strategy = &answering;
    failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_start(&op, NULL, START);
}

static void test_null(void)
{
    CHECK_EQUAL(0, retry_left(NULL, START));
}

/* 0 before retry_start and after END. */
static void test_not_under_way(void)
{
    retry_operation zeroed;
    memset(&zeroed, 0, sizeof zeroed);
    CHECK_EQUAL(0, retry_left(&zeroed, START));
    set_up();
    CHECK_EQUAL(RETRY_TIMEOUT_DEFAULT, retry_left(&op, START));
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    CHECK_EQUAL(0, retry_left(&op, START));
    set_up();
    retry_stop(&op, START);
    CHECK_EQUAL(0, retry_left(&op, START));
}

/* Zero is the default, which is set, so that a log says what holds; it stays for the next time. */
static void test_timeout(void)
{
    static const struct {
        retry_ms set, holds;
    } rows[] = {{0, 75000},
                {1, 1},
                {75000, 75000},
                {0xffff0000u, 0xffff0000u},
                {0xffff0001u, UINT32_MAX}, /* more than the clock can measure */
                {UINT32_MAX - 1, UINT32_MAX},
                {UINT32_MAX, UINT32_MAX}};
    size_t i;
    CHECK_EQUAL(75000, RETRY_TIMEOUT_DEFAULT);
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        set_up();
        op.timeout = rows[i].set;
        check_row("timeout %lu", (unsigned long)rows[i].set);
        retry_start(&op, NULL, START);
        CHECK_EQUAL(rows[i].holds, op.timeout);
        retry_start(&op, NULL, START);
        CHECK_EQUAL(rows[i].holds, op.timeout);
    }
}

static const struct {
    retry_ms timeout;
    retry_time elapsed;
    retry_ms left;
} rows[] = {
    {UINT32_MAX, 0, UINT32_MAX}, /* neither bounds it */
    {UINT32_MAX, 2000000000, UINT32_MAX},
    {0, 0, RETRY_TIMEOUT_DEFAULT},
    {0, 74999, 1},
    {0, 75000, 0},
    {2500, 0, 2500},
    {2500, 1, 2499},
    {2500, 2499, 1},
    {2500, 2500, 0},
    {2500, 2501, 0},
    {2500, 0x7fffffff, 0},
    {2500, 0x80000000u, 0},
    {2500, 0x80000001u, 0}, /* over half the range, too: 25 to 49 days */
    {2500, 4233600000u, 0},
    {1, 0, 1},
    {1, 1, 0},
    {0xffff0000u, 0, 0xffff0000u}, /* the longest */
    {0xffff0000u, 1000, 0xffff0000u - 1000},
    {0xffff0000u, 0xfffeffffu, 1},
    {0xffff0000u, 0xffff0000u, 0},
    {0xffff0001u, 0xffff0001u, UINT32_MAX}, /* no end */
    {UINT32_MAX - 1, 1000, UINT32_MAX},
    {0x80000001u, 0x80000000u, 1},
    {0x90000000u, 0x8fffffffu, 1},
    {2500, UINT32_MAX, 2500}, /* a clock that is behind */
    {2500, UINT32_MAX - 32767, 2500},
    {2500, UINT32_MAX - 32768, 0}, /* too far: it was set back */
    {0x90000000u, UINT32_MAX - 32767, 0x90000000u},
    {0x90000000u, UINT32_MAX - 32768, 0},
};

static void test_left(void)
{
    static const retry_time starts[] = {0, 5000, (retry_time)-1, (retry_time)-100,
                                        (retry_time)-1 >> 1};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_operation before;
            set_up();
            op.timeout = rows[i].timeout;
            retry_start(&op, NULL, starts[j]);
            memcpy(&before, &op, sizeof op);
            check_row("row %u, start %u", (unsigned)i, (unsigned)j);
            CHECK_EQUAL(rows[i].left, retry_left(&op, check_after(starts[j], rows[i].elapsed)));
            CHECK(memcmp(&before, &op, sizeof op) == 0);
        }
    }
}

/* It agrees with the deadline of a decision: a delay of what is left expires, one less does not. */
static void test_left_is_the_deadline(void)
{
    unsigned i;
    for (i = 0; i < 2000; i++) {
        retry_ms elapsed = check_random() % 1100, left;
        decided expired;
        set_up();
        op.timeout = 1000;
        left = retry_left(&op, START + elapsed);
        check_row("%lu ms passed", (unsigned long)elapsed);
        if (left > 0) {
            answer = retry_action_after(left - 1);
            CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START + elapsed));
        }
        answer = retry_action_after(left);
        expired = decide(&op, &failure, START + elapsed);
        CHECK_DECISION(EXPIRE, DEADLINE, expired);
        CHECK_EQUAL(left, expired.delay);
    }
}

int main(void)
{
    RUN(test_null);
    RUN(test_not_under_way);
    RUN(test_timeout);
    RUN(test_left);
    RUN(test_left_is_the_deadline);
    return check_done();
}
