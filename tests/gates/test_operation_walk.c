/* Operations under random calls, right and wrong: what holds of any order of them, as
   tests/fuzz/operation_walk.h has it. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#define REQUIRE(condition) CHECK(condition)
#include "../fuzz/operation_walk.h"

#ifdef CHECK_QUICK
#define OPERATIONS 10000
#else
#define OPERATIONS 200000
#endif

static uint8_t walk_bytes[1024];

static void test_walk(void)
{
    unsigned long rounds, i;
    walk_ends = 0;
    for (rounds = 0; walk_ends < OPERATIONS / CHECK_ONE_IN && check_faults == 0; rounds++) {
        for (i = 0; i < sizeof walk_bytes; i++)
            walk_bytes[i] = (uint8_t)(check_random() >> 24);
        check_row("walk %lu", rounds);
        walk_through(walk_bytes, sizeof walk_bytes);
    }
}

int main(void)
{
    RUN(test_walk);
    return check_done();
}
