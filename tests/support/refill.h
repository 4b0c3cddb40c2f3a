/* A budget that tells the time: it is empty at an instant and gets a thousandth each ms, of which
   nothing takes any. For those who include retry.h and check.h before. */
#ifndef REFILL_H
#define REFILL_H

static void refill_from(retry_budget *budget, retry_time start)
{
    retry_budget_options options;
    memset(&options, 0, sizeof options);
    options.capacity = 100000000;
    options.refill_per_second = 1000;
    retry_budget_init(budget, &options, start);
    CHECK(retry_budget_withdraw(budget, options.capacity, start));
    CHECK_EQUAL(0, retry_budget_balance(budget));
}

/* It was last told that `elapsed` ms have passed, and goes on from there. */
static void refill_check(retry_budget *budget, retry_time start, retry_ms elapsed)
{
    CHECK_EQUAL(elapsed, retry_budget_balance(budget));
    CHECK(retry_budget_withdraw(budget, 0, start + elapsed + 1000));
    CHECK_EQUAL(elapsed + 1000, retry_budget_balance(budget));
}

#endif /* REFILL_H */
