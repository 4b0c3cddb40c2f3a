/* A clock of ticks that are no milliseconds, made as the manual says (FIRMWARE): it wraps at 2^32
   ms, wherever the counter of ticks does. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

static uint32_t counter;           /* goes round after 2^32 ticks, or */
static uint32_t last = UINT32_MAX; /* behind this one */
static uint64_t total;             /* of ticks */
static uint32_t hz;

/* The manual's `now`, for any frequency. */
static retry_time now_ms(void)
{
    total += check_before(counter, (uint32_t)total) & last;
    return (retry_time)(total * 1000 / hz);
}

/* The wrong one. */
static retry_time converted(void)
{
    return (retry_time)((uint64_t)counter * 1000 / hz);
}

static const uint32_t frequencies[] = {100, 300, 1000, 1024, 32768, 1000000};

/* However often, and however seldom, it is asked within a round of the counter. */
static void test_every_round(void)
{
    static const uint32_t steps[] = {1, 1000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    size_t i, j;
    unsigned n;
    for (i = 0; i < CHECK_COUNT(frequencies); i++) {
        for (j = 0; j < CHECK_COUNT(steps); j++) {
            uint64_t ticks = last - 20;
            check_row("%lu Hz, steps of %lu, up to %lu", (unsigned long)frequencies[i],
                      (unsigned long)(steps[j] & last), (unsigned long)last);
            hz = frequencies[i];
            total = 0;
            for (n = 0; n < 50; n++) {
                counter = (uint32_t)(ticks & last);
                CHECK_EQUAL((ticks * 1000 / hz) & UINT32_MAX, now_ms());
                ticks += steps[j] & last;
            }
        }
    }
}

static void test_16_bits(void)
{
    last = UINT16_MAX;
    test_every_round();
    last = UINT32_MAX;
}

/* A request of 10 s while the counter goes round: begun 4 s before, asked for 4 s behind. */
static void test_request(void)
{
    static const struct {
        uint32_t hz;
        retry_ms left, wrong; /* what is left, by the right clock and by the wrong one */
    } rows[] = {
        {1000, 2000, 2000}, {100, 2000, 2000}, /* a tick is so many ms */
        {1024, 2000, 0},    {60, 2000, 0},     /* expires at once */
        {300, 2000, 0},     {32768, 2000, 0},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_operation op, wrong;
        check_row("%lu Hz", (unsigned long)rows[i].hz);
        hz = rows[i].hz;
        total = 0;
        memset(&op, 0, sizeof op);
        op.client = default_client();
        op.timeout = 10000;
        wrong = op;
        counter = check_before(0, 4 * hz);
        retry_start(&op, NULL, now_ms());
        retry_start(&wrong, NULL, converted());
        counter = 4 * hz;
        CHECK_RANGE(rows[i].left - 1, rows[i].left + 1, retry_left(&op, now_ms()));
        CHECK_EQUAL(rows[i].wrong, retry_left(&wrong, converted()));
    }
}

int main(void)
{
    RUN(test_every_round);
    RUN(test_16_bits);
    RUN(test_request);
    return check_done();
}
