/* RETRY_MASK and RETRY_UNMASK, whatever the compiler has: what is shared is reached between them
   alone, the state that one gave the other gets, and a task that comes before a mask loses nothing.
 */
#undef RETRY_NO_ATOMICS /* and what a whole build may have chosen */
#undef RETRY_MASK
#undef RETRY_UNMASK
#include <stdint.h>
static uint32_t mask(void);
static void unmask(uint32_t state);
#define RETRY_MASK() mask()
#define RETRY_UNMASK(state) unmask(state)
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"

static uint32_t masks, unmasks, state_given, faults;
static void (*other)(void); /* what another task does, once */
static uint32_t before;     /* which mask */

static uint32_t mask(void)
{
    void (*task)(void) = other;
    if (task && before == 0) {
        other = NULL;
        task();
    } else if (task) {
        before--;
    }
    faults += masks != unmasks;
    masks++;
    state_given = ~masks; /* all 32 bits count */
    return state_given;
}

static void unmask(uint32_t state)
{
    unmasks++;
    faults += masks != unmasks || state != state_given;
}

static void between(void (*task)(void), uint32_t number)
{
    other = task;
    before = number;
}

static retry_budget budget;
static retry_service service;
static retry_operation first, second;

static void start(void)
{
    const retry_budget_options options = options_of(10000, 0);
    memset(&service, 0, sizeof service);
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    retry_budget_init(&budget, &options, 100);
    service.budget.options.capacity = 10000;
    service.budget.options.success_deposit = 100;
    retry_service_init(&service, 100);
    retry_budget_withdraw(&service.budget, 5000, 100);
    first.client = second.client = &service.client;
}

static void seed(void)
{
    retry_seed(1);
}

static void draw(void)
{
    retry_random(NULL);
}

static void withdraw(void)
{
    CHECK(retry_budget_withdraw(&budget, 1000, 100));
}

static void deposit(void)
{
    retry_budget_deposit(&budget, 1000);
}

static void begin_second(void)
{
    retry_start(&second, NULL, 100);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&second, 100).what);
}

static void operate(void)
{
    retry_start(&first, NULL, 100);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&first, 100).what);
    retry_ended(&first, 0, NULL, 200);
}

#ifndef __ARM_ARCH_6M__ /* which reads a word at once */
static void balance(void)
{
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
}
#endif

static void test_each_has_one_state(void)
{
    static void (*const calls[])(void) = {seed,   draw, withdraw, deposit, operate,
#ifndef __ARM_ARCH_6M__
                                          balance
#endif
    };
    size_t i;
    start();
    faults = 0;
    for (i = 0; i < CHECK_COUNT(calls); i++) {
        uint32_t had = masks;
        check_row("call %u", (unsigned)i);
        calls[i]();
        CHECK(masks > had);
        CHECK_EQUAL(masks, unmasks);
        CHECK_EQUAL(0, faults);
    }
}

/* Whether fewer masks came than `between` was told; nothing comes between any more. */
static bool too_few_masks(void)
{
    bool too_few = other != NULL;
    other = NULL;
    return too_few;
}

static void test_withdrawals_between(void)
{
    uint32_t number = 0;
    for (;; number++) {
        check_row("mask %u", (unsigned)number);
        start();
        between(withdraw, number);
        CHECK(retry_budget_withdraw(&budget, 2000, 100));
        if (too_few_masks())
            break;
        CHECK_EQUAL(7000, retry_budget_balance(&budget));
    }
    CHECK(number > 0);
}

static void test_operations_between(void)
{
    uint32_t number = 0;
    for (;; number++) {
        check_row("mask %u", (unsigned)number);
        start();
        between(begin_second, number);
        operate();
        if (too_few_masks())
            break;
        CHECK_EQUAL(1, service.gates.in_flight);
        retry_ended(&second, 0, NULL, 200);
        CHECK_EQUAL(0, service.gates.in_flight);
        CHECK_EQUAL(5200, retry_budget_balance(&service.budget));
    }
    CHECK(number > 3);
}

int main(void)
{
    RUN(test_each_has_one_state);
    RUN(test_withdrawals_between);
    RUN(test_operations_between);
    return check_done();
}
