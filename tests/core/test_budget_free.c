/* What costs nothing: attempts that reached nobody, whose charge pays for the next, and
   contention. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/budgets.h"
#include "../support/reasons.h"

/* ---- what reached nobody ------------------------------------------------------------------- */

/* No load came of the attempt: a retry of it is free. */
static bool is_unreached(retry_reason reason)
{
    return reason_unsent(reason) && !reason_refused(reason);
}

static retry_action answer; /* what the strategy below says */

static retry_action answering_after(const retry_strategy *self, const retry_operation *op,
                                    const retry_failure *failure, retry_time now)
{
    (void)self;
    (void)op;
    (void)failure;
    (void)now;
    return answer;
}

static const retry_strategy answering = {answering_after};

/* A bucket of one token and a request that holds it: its first retry is under way. */
static retry_budget one;
static retry_client one_client;

static retry_operation holding(bool charge_failures)
{
    retry_budget_options options = options_of(1000, 1000);
    retry_failure locked = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op;
    options.charge_failures = charge_failures;
    retry_budget_init(&one, &options, START);
    one_client = client_of(&one);
    one_client.strategy = &answering;
    answer = retry_action_after(20);
    op = begun(&one_client);
    if (!charge_failures) {
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &locked, START));
        CHECK_EQUAL(0, retry_budget_balance(&one));
    }
    return op;
}

/* The charge stays with its request, for any number of attempts that reach nobody, and pays for one
   that is sent: it comes back only if the request ends before that. */
static void test_unsent_pays_once(void)
{
    size_t i;
    unsigned tries;
    for (i = 0; i < CHECK_COUNT(unsent); i++) {
        retry_failure failure = unsent_failure(i),
                      locked = check_failure_of(RETRY_REASON_KV_LOCKED);
        retry_operation op = holding(false);
        for (tries = 0; tries < 100; tries++) {
            failure.timeout = tries & 1; /* costs nothing of its own here */
            CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
            CHECK_EQUAL(0, retry_budget_balance(&one));
        }
        CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide(&op, &locked, START));
        CHECK_EQUAL(0, retry_budget_balance(&one)); /* sent at last: it was paid for */
        op = holding(false);
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
        CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
        CHECK_EQUAL(0, retry_budget_balance(&one));
        op = holding(false);
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
        retry_stop(&op, START);
        CHECK_EQUAL(1000, retry_budget_balance(&one));
    }
}

/* Never sent is free, whatever the failure says besides, in a bucket of any kind; all else costs.
 */
static void test_unreached_is_free(void)
{
    unsigned reason, flags;
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        for (flags = 0; flags < 4; flags++) {
            retry_budget_options options = options_of(9000, 1000);
            retry_failure failure = check_failure_of((retry_reason)reason);
            retry_budget budget;
            retry_client client = client_of(&budget);
            retry_operation op = begun(NULL);
            uint32_t cost = (flags & 1) != 0 ? 4000 : (flags & 2) != 0 ? 3000 : 1000;
            options.timeout_cost = 4000;
            options.throttle_cost = 3000;
            budget = budget_of(&options, 9000);
            client.strategy = &answering;
            op.client = &client;
            failure.timeout = flags & 1;
            failure.throttle = (flags & 2) != 0;
            answer = retry_action_after(20);
            check_row("%s, %u", retry_reason_name((retry_reason)reason), flags);
            if (decide(&op, &failure, START).cause != RETRY_CAUSE_STRATEGY)
                continue;
            CHECK_EQUAL(is_unreached((retry_reason)reason) ? 9000 : 9000 - cost,
                        retry_budget_balance(&budget));
        }
    }
}

/* So that it is granted by what could pay for nothing. */
static void test_unreached_needs_no_token(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(unsent); i++) {
        retry_budget_options options = options_of(9000, 1000);
        retry_budget budgets[3];
        size_t b;
        budgets[0] = budget_of(&options, 0);
        options.floor = 5000;
        budgets[1] = budget_of(&options, 5000);
        options = options_of(0, 0);
        budgets[2] = budget_of(&options, 0);
        for (b = 0; b < CHECK_COUNT(budgets); b++) {
            retry_client client = client_of(&budgets[b]);
            uint32_t held = retry_budget_balance(&budgets[b]);
            retry_operation op = begun(&client);
            retry_failure failure = unsent_failure(i);
            if (unsent[i].is_free)
                CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
            else
                CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide(&op, &failure, START));
            CHECK_EQUAL(held, retry_budget_balance(&budgets[b]));
        }
    }
}

/* What was free leaves nothing to give back, and the next failure that was sent pays as ever. */
static void test_unreached_leaves_no_charge(void)
{
    retry_failure refused = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    retry_failure locked = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op = holding(false); /* of the one token */
    retry_stop(&op, START);
    CHECK(retry_budget_withdraw(&one, 600, START));
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &refused, START));
    retry_stop(&op, START);
    CHECK_EQUAL(400, retry_budget_balance(&one));
    one.options.refund_last = true;
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &refused, START));
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    CHECK_EQUAL(400, retry_budget_balance(&one));
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &refused, START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide(&op, &locked, START));
    CHECK_EQUAL(400, retry_budget_balance(&one));
}

/* Whatever is decided: refused, unsafe, forbidden, expired. */
static void test_unsent_and_refused(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(unsent); i++) {
        retry_failure failure = unsent_failure(i);
        retry_operation op = holding(false);
        answer = retry_action_none(RETRY_CAUSE_REFUSED);
        CHECK_DECISION(FAIL, REFUSED, decide(&op, &failure, START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        op = holding(false);
        op.timeout = 50;
        CHECK_DECISION(EXPIRE, DEADLINE, decide(&op, &failure, check_after(START, 40)));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        op = holding(false);
        failure.safety = RETRY_SAFETY_NO;
        CHECK_DECISION(FAIL, UNSAFE, decide(&op, &failure, START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        retry_stop(&op, START); /* only once */
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        op = holding(false);
        failure.safety = RETRY_SAFETY_MAYBE;
        failure.pushback = true;
        failure.retry_after = UINT32_MAX;
        CHECK_DECISION(FAIL, PUSHBACK, decide(&op, &failure, START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
    }
}

/* The charge stays with a request that waits for the strategy's answer, too. */
static void test_unsent_and_pending(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(unsent); i++) {
        retry_failure failure = unsent_failure(i);
        retry_operation op = holding(false);
        unsigned tries;
        answer = retry_action_pending();
        for (tries = 0; tries < 3; tries++) {
            CHECK_LATER(decide(&op, &failure, START));
            CHECK_LATER(decide_later(&op, retry_action_pending(), START));
            CHECK_DECISION(RETRY, STRATEGY, decide_later(&op, retry_action_after(1), START));
            CHECK_EQUAL(0, retry_budget_balance(&one));
        }
        CHECK_LATER(decide(&op, &failure, START));
        retry_stop(&op, START);
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        op = holding(false);
        answer = retry_action_pending();
        CHECK_LATER(decide(&op, &failure, START));
        CHECK_DECISION(FAIL, REFUSED,
                       decide_later(&op, retry_action_none(RETRY_CAUSE_REFUSED), START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        retry_stop(&op, START); /* only once */
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        op = holding(false);
        op.timeout = 50;
        answer = retry_action_pending();
        CHECK_LATER(decide(&op, &failure, START));
        CHECK_DECISION(EXPIRE, DEADLINE, decide_later(&op, retry_action_after(50), START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
    }
}

/* What was sent was paid for, however late the answer comes, and whatever it is. */
static void test_sent_and_pending(void)
{
    retry_failure locked = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op = holding(false);
    answer = retry_action_pending();
    CHECK_LATER(decide(&op, &locked, START));
    CHECK_DECISION(FAIL, REFUSED, decide_later(&op, retry_action_none(RETRY_CAUSE_REFUSED), START));
    CHECK_EQUAL(0, retry_budget_balance(&one));
    op = holding(false);
    answer = retry_action_pending();
    CHECK_LATER(decide(&op, &locked, START));
    retry_stop(&op, START);
    CHECK_EQUAL(0, retry_budget_balance(&one));
    op = holding(false);
    answer = retry_action_pending();
    CHECK_LATER(decide(&op, &locked, START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide_later(&op, retry_action_after(1), START));
    CHECK_EQUAL(0, retry_budget_balance(&one));
}

/* Neither reached a server, for the second the request's charge came back: always retried, or not.
 */
static void test_unsent_and_always(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    retry_operation op = holding(false);
    failure.unsent = true;
    CHECK_DECISION(RETRY, ALWAYS, decide(&op, &failure, START));
    CHECK_EQUAL(0, retry_budget_balance(&one));
    retry_stop(&op, START);
    CHECK_EQUAL(1000, retry_budget_balance(&one));
    op = holding(false);
    failure.unsent = false;
    CHECK_DECISION(RETRY, ALWAYS, decide(&op, &failure, START));
    retry_stop(&op, START);
    CHECK_EQUAL(0, retry_budget_balance(&one));
}

/* All other failures were sent, and keep the charge. */
static void test_unsent_are_five(void)
{
    unsigned reason;
    for (reason = 0; reason < 0x100; reason++) {
        retry_failure failure = check_failure_of((retry_reason)reason);
        retry_operation op = holding(false);
        answer = retry_action_none(RETRY_CAUSE_REFUSED);
        check_row("%s, 0x%02x", retry_reason_name((retry_reason)reason), reason);
        decide(&op, &failure, START);
        CHECK_EQUAL(reason_unsent((retry_reason)reason) ? 1000 : 0, retry_budget_balance(&one));
    }
}

/* What stays is what the last retry cost, if anything, and it pays for any other; what comes back
   is never more than fits. */
static void test_unsent_keeps_the_charge(void)
{
    retry_budget_options options = options_of(9000, 1000);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_failure refused = check_failure_of(RETRY_REASON_CIRCUIT_BREAKER_OPEN);
    retry_failure always = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    retry_budget budget;
    retry_client client = client_of(&budget);
    retry_operation op = begun(NULL);
    options.timeout_cost = 4000;
    budget = budget_of(&options, 9000);
    op.client = &client;
    failure.timeout = true;
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &refused, START));
    CHECK_EQUAL(8000, retry_budget_balance(&budget)); /* nothing was paid before */
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    CHECK_EQUAL(4000, retry_budget_balance(&budget));
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &refused, START));
    CHECK_EQUAL(4000, retry_budget_balance(&budget));
    CHECK_DECISION(RETRY, ALWAYS, decide(&op, &always, START));
    CHECK_EQUAL(4000, retry_budget_balance(&budget));
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &refused, START));
    CHECK_EQUAL(3000, retry_budget_balance(&budget)); /* the retry before this was not paid for */
    retry_budget_deposit(&budget, 5500);
    retry_stop(&op, START);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
}

/* A success after a retry that was refused at first gets the last charge, once. */
static void test_unsent_and_refund(void)
{
    retry_budget_options options = RETRY_BUDGET_AWS;
    retry_failure locked = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_failure refused = check_failure_of(RETRY_REASON_CIRCUIT_BREAKER_OPEN);
    retry_budget budget = budget_of(&options, 500000);
    retry_client client = client_of(&budget);
    retry_operation op = begun(&client);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &refused, START));
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &refused, START));
    CHECK_EQUAL(495000, retry_budget_balance(&budget));
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    CHECK_EQUAL(500000, retry_budget_balance(&budget));
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &locked, START));
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &locked, START));
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &refused, START));
    CHECK_EQUAL(490000, retry_budget_balance(&budget));
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    CHECK_EQUAL(495000, retry_budget_balance(&budget));
}

/* A budget that charges failures does not charge it, whatever is decided; it still grants nothing
   at its floor. */
static void test_unsent_is_no_charged_failure(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(unsent); i++) {
        retry_failure failure = unsent_failure(i);
        retry_operation op = holding(true);
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
        answer = retry_action_pending();
        CHECK_LATER(decide(&op, &failure, START));
        CHECK_DECISION(RETRY, STRATEGY, decide_later(&op, retry_action_after(1), START));
        answer = retry_action_none(RETRY_CAUSE_REFUSED);
        CHECK_DECISION(FAIL, REFUSED, decide(&op, &failure, START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
        one.options.floor = 1000;
        answer = retry_action_after(1);
        retry_start(&op, NULL, START);
        CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide(&op, &failure, START));
        CHECK_EQUAL(1000, retry_budget_balance(&one));
    }
}

/* ---- contention, which no budget is asked about -------------------------------------------- */

#define CONFLICT RETRY_REASON_USER(7, RETRY_REASON_ALLOWS_NON_IDEMPOTENT | RETRY_REASON_FREE)

static void test_free_needs_no_budget(void)
{
    retry_budget_options grpc = RETRY_BUDGET_GRPC;
    retry_budget budgets[4];
    retry_failure conflict = check_failure_of(CONFLICT);
    retry_failure always = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    retry_failure locked = check_failure_of(RETRY_REASON_KV_LOCKED);
    size_t i;
    retry_budget_options options = options_of(9000, 1000);
    budgets[0] = budget_of(&options, 0);
    options.capacity = 0;
    budgets[1] = budget_of(&options, 0);
    budgets[2] = budget_of(&grpc, 5000); /* at its floor */
    budgets[3] = budget_of(&grpc, 0);
    for (i = 0; i < CHECK_COUNT(budgets); i++) {
        retry_client client = client_of(&budgets[i]);
        retry_operation op = begun(&client);
        uint32_t balance = retry_budget_balance(&budgets[i]);
        client.strategy = &answering;
        check_row("budget %u", (unsigned)i);
        answer = retry_action_after(3);
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &conflict, START));
        CHECK_DECISION(RETRY, ALWAYS, decide(&op, &always, START));
        CHECK_DECISION(RETRY, STRATEGY, decide(&op, &conflict, START));
        answer = retry_action_pending();
        CHECK_LATER(decide(&op, &conflict, START));
        CHECK_DECISION(RETRY, STRATEGY, decide_later(&op, retry_action_after(1), START));
        CHECK_EQUAL(balance, retry_budget_balance(&budgets[i]));
        answer = retry_action_after(3);
        CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide(&op, &locked, START));
    }
}

/* Nor does a budget that charges failures charge it, whatever is decided. */
static void test_free_is_no_charged_failure(void)
{
    retry_failure conflict = check_failure_of(CONFLICT);
    retry_operation op = holding(true);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &conflict, START));
    answer = retry_action_pending();
    CHECK_LATER(decide(&op, &conflict, START));
    CHECK_LATER(decide_later(&op, retry_action_pending(), START));
    CHECK_DECISION(FAIL, REFUSED, decide_later(&op, retry_action_none(RETRY_CAUSE_REFUSED), START));
    retry_start(&op, NULL, START);
    answer = retry_action_none(RETRY_CAUSE_REFUSED);
    CHECK_DECISION(FAIL, REFUSED, decide(&op, &conflict, START));
    retry_start(&op, NULL, START);
    op.timeout = 10;
    answer = retry_action_after(20);
    CHECK_DECISION(EXPIRE, DEADLINE, decide(&op, &conflict, START));
    CHECK_EQUAL(1000, retry_budget_balance(&one));
}

/* It was sent: the charge of the retry that it ended is spent, and nothing else is to come back. */
static void test_free_gives_nothing_back(void)
{
    retry_failure conflict = check_failure_of(CONFLICT);
    retry_operation op = holding(false);
    one.options.refund_last = true;
    one.options.success_deposit = 300;
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &conflict, START));
    CHECK_EQUAL(0, retry_budget_balance(&one));
    retry_stop(&op, START);
    CHECK_EQUAL(0, retry_budget_balance(&one));
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &conflict, START));
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START)); /* its last retry cost nothing */
    CHECK_EQUAL(0, retry_budget_balance(&one));
    one.options.refund_last = false;
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &conflict, START));
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    CHECK_EQUAL(300, retry_budget_balance(&one));
}

/* The flag buys a retry from the budget and nothing else. */
static void test_free_grants_nothing(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_USER(7, RETRY_REASON_FREE));
    retry_operation op = begun(NULL);
    CHECK_DECISION(FAIL, NOT_IDEMPOTENT, decide(&op, &failure, START));
    retry_start(&op, NULL, START);
    op.idempotent = true;
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    op.strategy = retry_fail_fast();
    CHECK_DECISION(FAIL, REFUSED, decide(&op, &failure, START));
    retry_start(&op, NULL, START);
    failure.reason = RETRY_REASON_USER(7, RETRY_REASON_FREE | RETRY_REASON_ALWAYS);
    CHECK_DECISION(RETRY, ALWAYS, decide(&op, &failure, START));
}

int main(void)
{
    RUN(test_unsent_pays_once);
    RUN(test_unreached_is_free);
    RUN(test_unreached_needs_no_token);
    RUN(test_unreached_leaves_no_charge);
    RUN(test_unsent_and_refused);
    RUN(test_unsent_and_pending);
    RUN(test_sent_and_pending);
    RUN(test_unsent_and_always);
    RUN(test_unsent_are_five);
    RUN(test_unsent_keeps_the_charge);
    RUN(test_unsent_and_refund);
    RUN(test_unsent_is_no_charged_failure);
    RUN(test_free_needs_no_budget);
    RUN(test_free_is_no_charged_failure);
    RUN(test_free_gives_nothing_back);
    RUN(test_free_grants_nothing);
    return check_done();
}
