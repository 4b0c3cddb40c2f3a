/* The life of a request: begun, granted a retry, waiting for an answer, finished, cancelled, begun
   again; where the budget's charge is at each turn; what is left of its time, and whether it may
   have happened. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"

#define START ((retry_time)-100) /* most tests run over the wrap */
#define AFTER(elapsed) check_after(START, elapsed)

static retry_action answer; /* what the strategy below says */
static unsigned asked;

static retry_action answering_after(const retry_strategy *self, const retry_operation *op,
                                    const retry_failure *failure, retry_time now)
{
    (void)self;
    (void)op;
    (void)failure;
    (void)now;
    asked++;
    return answer;
}

static const retry_strategy answering = {answering_after};

static unsigned told;
static decided told_decision;
static uint32_t told_code, told_attempts;

static void tell(void *context, const retry_operation *op, const retry_failure *failure)
{
    (void)context;
    told++;
    told_decision = decided_of(op);
    told_code = failure ? failure->code : 0;
    told_attempts = op->retries;
}

/* One client with a bucket of ten tokens, a retry for one, and one request of it. */
static retry_budget budget;
static retry_client client;
static retry_operation op;
static retry_failure failure;

static void set_up(bool charge_failures)
{
    retry_budget_options options = options_of(10000, 1000);
    options.charge_failures = charge_failures;
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    memset(&failure, 0, sizeof failure);
    retry_budget_init(&budget, &options, START);
    client.strategy = &answering;
    client.budget = &budget;
    client.observe = tell;
    op.client = &client;
    failure.reason = RETRY_REASON_KV_LOCKED;
    answer = retry_action_after(20);
    asked = told = 0;
    retry_start(&op, NULL, START);
}

static decided orchestrate(retry_time elapsed)
{
    return decide(&op, &failure, AFTER(elapsed));
}

static decided resume(retry_action action, retry_time elapsed)
{
    return decide_later(&op, action, AFTER(elapsed));
}

static bool unchanged(const retry_operation *before)
{
    return before->verdict == op.verdict && before->cause == op.cause &&
           before->delay == op.delay && before->retries == op.retries &&
           before->reasons == op.reasons && before->ambiguous == op.ambiguous &&
           before->code == op.code && before->code_since == op.code_since;
}

static void remember(retry_operation *before)
{
    memcpy(before, &op, sizeof op);
}

/* ---- actions ------------------------------------------------------------------------------- */

static void test_actions(void)
{
    CHECK_EQUAL(RETRY_ACTION_AFTER, retry_action_after(77).kind);
    CHECK_EQUAL(77, retry_action_after(77).delay);
    CHECK_EQUAL(UINT32_MAX, retry_action_after(UINT32_MAX).delay);
    CHECK_EQUAL(RETRY_ACTION_NONE, retry_action_none(RETRY_CAUSE_REFUSED).kind);
    CHECK_EQUAL(RETRY_CAUSE_REFUSED, retry_action_none(RETRY_CAUSE_REFUSED).cause);
    CHECK_EQUAL(RETRY_ACTION_PENDING, retry_action_pending().kind);
}

/* ---- begin --------------------------------------------------------------------------------- */

static void test_begin_clears(void)
{
    int context = 0;
    set_up(false);
    op.context = &context;
    op.timeout = 900;
    op.idempotent = true;
    op.strategy = &answering;
    failure.code = 5;
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(10));
    retry_start(&op, NULL, AFTER(500));
    CHECK_EQUAL(AFTER(500), op.started);
    CHECK_EQUAL(0, op.retries);
    CHECK_EQUAL(0, op.reasons);
    CHECK_EQUAL(0, op.code);
    CHECK_EQUAL(0, op.code_retries);
    CHECK_EQUAL(0, op.delay);
    CHECK(op.context == &context);
    CHECK(op.client == &client);
    CHECK(op.strategy == &answering);
    CHECK_EQUAL(900, op.timeout);
    CHECK(op.idempotent);
}

/* The first failure after a new beginning is a first failure, even with the code of before. */
static void test_begin_forgets_the_code(void)
{
    static const uint32_t codes[] = {0, 5};
    size_t i;
    for (i = 0; i < CHECK_COUNT(codes); i++) {
        set_up(false);
        failure.code = codes[i];
        check_row("code %lu", (unsigned long)codes[i]);
        CHECK_DECISION(RETRY, STRATEGY, orchestrate(10));
        CHECK_DECISION(RETRY, STRATEGY, orchestrate(20));
        retry_start(&op, NULL, AFTER(500));
        CHECK_DECISION(RETRY, STRATEGY, orchestrate(510));
        CHECK_EQUAL(AFTER(510), op.code_since);
        CHECK_EQUAL(1, op.code_retries);
    }
}

/* Zero is the default, which is set, so that a log says what holds; it stays for the next time. */
static void test_begin_sets_the_timeout(void)
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
        memset(&op, 0, sizeof op);
        op.client = default_client();
        op.timeout = rows[i].set;
        check_row("timeout %lu", (unsigned long)rows[i].set);
        retry_start(&op, NULL, START);
        CHECK_EQUAL(rows[i].holds, op.timeout);
        retry_start(&op, NULL, START);
        CHECK_EQUAL(rows[i].holds, op.timeout);
    }
}

/* No delay is too long for a request without an end; the clock measures 2^31 ms. */
static void test_without_a_deadline(void)
{
    static const retry_ms delays[] = {0, 1, 75000, UINT32_MAX - 1, UINT32_MAX};
    size_t i;
    for (i = 0; i < CHECK_COUNT(delays); i++) {
        set_up(false);
        op.timeout = UINT32_MAX;
        answer = retry_action_after(delays[i]);
        check_row("delay %lu", (unsigned long)delays[i]);
        CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
        CHECK_DECISION(RETRY, STRATEGY, orchestrate(0x7fffffff));
        CHECK_EQUAL(delays[i] < 0x80000000u ? delays[i] : 0x80000000u, op.delay);
    }
}

static void test_begin_cancels_an_open_request(void)
{
    set_up(false);
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_start(&op, NULL, START);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    retry_start(&op, NULL, START);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
}

static void test_begin_after_pending(void)
{
    set_up(false);
    answer = retry_action_pending();
    CHECK_LATER(orchestrate(0));
    retry_start(&op, NULL, START);
    CHECK_DECISION(FAIL, MISUSE, resume(retry_action_after(1), 0));
    CHECK_LATER(orchestrate(0));
}

static void test_null(void)
{
    set_up(false);
    retry_start(NULL, NULL, START);
    retry_stop(NULL, START);
    CHECK_EQUAL(0, retry_left(NULL, START));
    CHECK_DECISION(FAIL, MISUSE, decide_later(NULL, retry_action_after(1), START));
}

/* ---- success ------------------------------------------------------------------------------- */

static void test_succeed(void)
{
    retry_operation before;
    set_up(false);
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, AFTER(30)));
    CHECK_EQUAL(1, op.retries);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    remember(&before);
    CHECK_EQUAL(0, retry_left(&op, AFTER(30)));
    retry_stop(&op, AFTER(30));
    CHECK(unchanged(&before));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_DECISION(FAIL, MISUSE, orchestrate(30));
    CHECK_EQUAL(2, told);
    CHECK_DECISION(SUCCESS, NONE, told_decision);
}

static void test_succeed_when_not_open(void)
{
    retry_operation zeroed;
    retry_operation before;
    memset(&zeroed, 0, sizeof zeroed);
    memset(&before, 0, sizeof before);
    CHECK_EQUAL(0, retry_left(&zeroed, START));
    CHECK(memcmp(&zeroed, &before, sizeof zeroed) == 0);
    set_up(false);
    answer = retry_action_none(RETRY_CAUSE_REFUSED);
    CHECK_DECISION(FAIL, REFUSED, orchestrate(0));
    CHECK_EQUAL(0, retry_left(&op, START));
    retry_start(&op, NULL, START);
    retry_stop(&op, START);
    CHECK_EQUAL(0, retry_left(&op, START));
    CHECK_DECISION(FAIL, CANCELLED, orchestrate(0));
}

/* ---- cancellation -------------------------------------------------------------------------- */

static void test_cancel_gives_the_charge_back(void)
{
    set_up(false);
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    CHECK_EQUAL(8000, retry_budget_balance(&budget));
    retry_stop(&op, START);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_stop(&op, START);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_DECISION(FAIL, CANCELLED, orchestrate(0));
    CHECK_DECISION(FAIL, CANCELLED, resume(retry_action_after(1), 0));
    CHECK_EQUAL(3, told);
    CHECK_DECISION(FAIL, CANCELLED, told_decision);
}

static void test_cancel_without_a_charge(void)
{
    set_up(false);
    retry_stop(&op, START);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_DECISION(FAIL, CANCELLED, orchestrate(0));
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    failure.reason = RETRY_REASON_KV_NOT_MY_VBUCKET; /* a retry that nobody pays for */
    CHECK_DECISION(RETRY, ALWAYS, orchestrate(0));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_stop(&op, START);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
}

/* A finished request stays what it was: it is not cancelled afterwards. */
static void test_cancel_when_not_open(void)
{
    retry_operation before;
    set_up(false);
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    answer = retry_action_none(RETRY_CAUSE_REFUSED);
    CHECK_DECISION(FAIL, REFUSED, orchestrate(0));
    remember(&before);
    retry_stop(&op, AFTER(5));
    CHECK(unchanged(&before));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_DECISION(FAIL, MISUSE, orchestrate(5));
    CHECK(unchanged(&before));
}

static void test_cancel_with_charged_failures(void)
{
    set_up(true);
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    retry_stop(&op, START);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
}

/* ---- pending ------------------------------------------------------------------------------- */

static void test_pending_and_granted(void)
{
    decided decision;
    set_up(false);
    answer = retry_action_pending();
    failure.code = 9;
    decision = orchestrate(10);
    CHECK_LATER(decision);
    CHECK_EQUAL(0, op.retries);
    CHECK_EQUAL(0, op.delay);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_EQUAL(0, told);
    decision = resume(retry_action_after(33), 60);
    CHECK_DECISION(RETRY, STRATEGY, decision);
    CHECK_EQUAL(33, decision.delay);
    CHECK_EQUAL(1, op.retries);
    CHECK_EQUAL(1, op.code_retries);
    CHECK_EQUAL(AFTER(10), op.code_since);
    CHECK_EQUAL(33, op.delay);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_EQUAL(1, asked);
    CHECK_EQUAL(1, told);
    CHECK_EQUAL(RETRY_VERDICT_RETRY, told_decision.verdict);
    CHECK_EQUAL(33, told_decision.delay);
    CHECK_EQUAL(9, told_code);
    CHECK_EQUAL(1, told_attempts);
}

static void test_pending_and_refused(void)
{
    set_up(false);
    answer = retry_action_pending();
    CHECK_LATER(orchestrate(0));
    CHECK_DECISION(FAIL, ATTEMPTS_EXHAUSTED,
                   resume(retry_action_none(RETRY_CAUSE_ATTEMPTS_EXHAUSTED), 0));
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_EQUAL(1, told);
    CHECK_DECISION(FAIL, MISUSE, resume(retry_action_after(1), 0));
    CHECK_DECISION(FAIL, MISUSE, orchestrate(0));
    CHECK_EQUAL(1, told);
}

static void test_pending_and_garbage(void)
{
    retry_action garbage = retry_action_after(5);
    set_up(false);
    garbage.kind = 99;
    answer = retry_action_pending();
    CHECK_LATER(orchestrate(0));
    CHECK_EQUAL(RETRY_VERDICT_FAIL, resume(garbage, 0).verdict);
    CHECK_EQUAL(0, op.retries);
    CHECK_DECISION(FAIL, MISUSE, resume(retry_action_after(1), 0));
}

static void test_pending_again(void)
{
    unsigned i;
    set_up(false);
    answer = retry_action_pending();
    CHECK_LATER(orchestrate(0));
    for (i = 0; i < 5; i++)
        CHECK_LATER(resume(retry_action_pending(), i));
    CHECK_EQUAL(0, told);
    CHECK_EQUAL(1, asked);
    CHECK_EQUAL(0, op.retries);
    CHECK_DECISION(RETRY, STRATEGY, resume(retry_action_after(1), 5));
    CHECK_EQUAL(1, op.retries);
}

/* While it waits, the operation takes an answer or a stop, and nothing else. */
static void test_pending_waits(void)
{
    retry_operation before;
    set_up(false);
    answer = retry_action_pending();
    CHECK_LATER(orchestrate(0));
    remember(&before);
    CHECK_DECISION(FAIL, MISUSE, orchestrate(5));
    CHECK(unchanged(&before));
    CHECK_EQUAL(0, told);
    CHECK_DECISION(RETRY, STRATEGY, resume(retry_action_after(1), 5));
}

static void test_pending_and_cancelled(void)
{
    set_up(false);
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    answer = retry_action_pending();
    CHECK_LATER(orchestrate(0));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    retry_stop(&op, START); /* the charge of before was used: a failure followed */
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_DECISION(FAIL, CANCELLED, resume(retry_action_after(1), 0));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
}

static void test_resume_without_pending(void)
{
    retry_operation before;
    set_up(false);
    remember(&before);
    CHECK_DECISION(FAIL, MISUSE, resume(retry_action_after(1), 0));
    CHECK_DECISION(FAIL, MISUSE, resume(retry_action_pending(), 0));
    CHECK(unchanged(&before));
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    remember(&before);
    CHECK_DECISION(FAIL, MISUSE, resume(retry_action_after(1), 0));
    CHECK(unchanged(&before));
    CHECK_EQUAL(1, told);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
}

/* The answer that was waited for goes the way of any other. */
static void test_resume_without_budget(void)
{
    decided decision;
    set_up(false);
    answer = retry_action_pending();
    CHECK_LATER(orchestrate(0));
    CHECK(retry_budget_withdraw(&budget, 9500, START));
    decision = resume(retry_action_after(5000), 0);
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decision);
    CHECK_EQUAL(5000, decision.delay);
    CHECK_EQUAL(500, retry_budget_balance(&budget));
}

static void test_resume_past_the_deadline(void)
{
    decided decision;
    set_up(false);
    op.timeout = 1000;
    answer = retry_action_pending();
    CHECK_LATER(orchestrate(0));
    decision = resume(retry_action_after(300), 900);
    CHECK_DECISION(EXPIRE, DEADLINE, decision);
    CHECK_EQUAL(100, decision.delay);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
    CHECK_DECISION(FAIL, MISUSE, resume(retry_action_after(1), 900));
}

static void test_resume_charges_by_kind(void)
{
    set_up(false);
    budget.options.timeout_cost = 3000;
    failure.timeout = true;
    answer = retry_action_pending();
    CHECK_LATER(orchestrate(0));
    CHECK_DECISION(RETRY, STRATEGY, resume(retry_action_after(1), 0));
    CHECK_EQUAL(7000, retry_budget_balance(&budget));
}

/* A failure that is charged for itself is charged when it is recorded, not again on the answer. */
static void test_pending_is_charged_once(void)
{
    set_up(true);
    answer = retry_action_pending();
    CHECK_LATER(orchestrate(0));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_LATER(resume(retry_action_pending(), 0));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_DECISION(RETRY, STRATEGY, resume(retry_action_after(1), 0));
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
    CHECK_LATER(orchestrate(0));
    CHECK_DECISION(FAIL, REFUSED, resume(retry_action_none(RETRY_CAUSE_REFUSED), 0));
    CHECK_EQUAL(8000, retry_budget_balance(&budget));
}

/* A client without a budget is what a caller asks for by name; none at all is a mistake. */
static void test_without_a_client(void)
{
    retry_step step;
    memset(&op, 0, sizeof op);
    told = 0;
    retry_start(&op, NULL, START);
    step = retry_next(&op, START);
    CHECK_EQUAL(RETRY_DO_END, step.what);
    CHECK_EQUAL(RETRY_VERDICT_FAIL, step.verdict);
    CHECK_EQUAL(RETRY_CAUSE_MISUSE, step.cause);
    CHECK_EQUAL(0, told);
}

/* ---- what is left -------------------------------------------------------------------------- */

static const struct {
    retry_ms timeout;
    retry_time elapsed;
    retry_ms left;
} remains[] = {
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

static void test_remaining(void)
{
    static const retry_time starts[] = {0, 5000, (retry_time)-1, (retry_time)-100,
                                        (retry_time)-1 >> 1};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(remains); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_operation before;
            set_up(false);
            op.timeout = remains[i].timeout;
            retry_start(&op, NULL, starts[j]);
            remember(&before);
            check_row("row %u, start %u", (unsigned)i, (unsigned)j);
            CHECK_EQUAL(remains[i].left,
                        retry_left(&op, check_after(starts[j], remains[i].elapsed)));
            CHECK(unchanged(&before));
        }
    }
}

/* It agrees with the deadline of a decision: a delay of what is left expires, one less does not. */
static void test_remaining_is_the_deadline(void)
{
    unsigned i;
    for (i = 0; i < 2000; i++) {
        retry_ms elapsed = check_random() % 1100, left;
        set_up(false);
        op.timeout = 1000;
        left = retry_left(&op, AFTER(elapsed));
        check_row("%lu ms passed", (unsigned long)elapsed);
        if (left > 0) {
            answer = retry_action_after(left - 1);
            CHECK_DECISION(RETRY, STRATEGY, orchestrate(elapsed));
        }
        answer = retry_action_after(left);
        CHECK_EQUAL(left, orchestrate(elapsed).delay);
        CHECK_EQUAL(RETRY_VERDICT_EXPIRE, told_decision.verdict);
    }
}

/* ---- may it have happened? ----------------------------------------------------------------- */

/* The rule as it is written: not safe, and a reason that neither allows it nor is a NONE without
   the server's fault. */
static bool may_have_happened(const retry_failure *f)
{
    if (f->safety == RETRY_SAFETY_YES)
        return false;
    if (retry_reason_allows_non_idempotent(f->reason))
        return false;
    return !(f->reason == RETRY_REASON_NONE && f->fault != RETRY_FAULT_SERVER);
}

static void test_ambiguous(void)
{
    unsigned reason, safety, fault;
    set_up(false);
    client.observe = NULL;
    for (reason = 0; reason < 0x200; reason++) {
        for (safety = 0; safety < 5; safety++) {
            for (fault = 0; fault < 5; fault++) {
                retry_start(&op, NULL, START);
                failure.reason = (retry_reason)reason;
                failure.safety = (uint8_t)safety;
                failure.fault = (uint8_t)fault;
                check_row("reason 0x%02x, safety %u, fault %u", reason, safety, fault);
                CHECK(!op.ambiguous);
                decide(&op, &failure, START);
                CHECK_EQUAL(may_have_happened(&failure), op.ambiguous);
            }
        }
    }
}

/* The reasons of the table that leave it open, by name; no other. */
static void test_ambiguous_reasons(void)
{
    static const retry_reason open[] = {RETRY_REASON_UNKNOWN,
                                        RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT,
                                        RETRY_REASON_ATTEMPT_TIMED_OUT, RETRY_REASON_SERVER_ERROR};
    unsigned reason, found = 0;
    size_t i;
    set_up(false);
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++) {
        bool expected = false;
        for (i = 0; i < CHECK_COUNT(open); i++)
            expected = expected || open[i] == reason;
        failure.reason = (retry_reason)reason;
        retry_start(&op, NULL, START);
        orchestrate(0);
        check_row("%s", retry_reason_name((retry_reason)reason));
        CHECK_EQUAL(expected, op.ambiguous);
        found += op.ambiguous;
    }
    CHECK_EQUAL(CHECK_COUNT(open), found);
}

/* Whatever else the failure says, and whatever is decided. */
static void test_ambiguous_whatever_is_decided(void)
{
    set_up(false);
    failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    CHECK(op.ambiguous);
    retry_start(&op, NULL, START);
    failure.pushback = true;
    failure.retry_after = UINT32_MAX;
    CHECK_DECISION(FAIL, PUSHBACK, orchestrate(0));
    CHECK(op.ambiguous);
    retry_start(&op, NULL, START);
    failure.pushback = false;
    failure.safety = RETRY_SAFETY_NO;
    CHECK_DECISION(FAIL, UNSAFE, orchestrate(0));
    CHECK(op.ambiguous);
    retry_start(&op, NULL, START);
    failure.safety = RETRY_SAFETY_MAYBE;
    op.strategy = retry_best_effort();
    CHECK_DECISION(FAIL, NOT_IDEMPOTENT, orchestrate(0));
    CHECK(op.ambiguous);
    retry_start(&op, NULL, START);
    op.idempotent = true;
    op.timeout = 10;
    CHECK_DECISION(EXPIRE, DEADLINE, orchestrate(10));
    CHECK(op.ambiguous);
    retry_start(&op, NULL, START);
    op.timeout = UINT32_MAX;
    CHECK(retry_budget_withdraw(&budget, retry_budget_balance(&budget), START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, orchestrate(0));
    CHECK(op.ambiguous);
}

/* Some failed attempt, not the last: it stays until the request succeeds or begins anew. */
static void test_ambiguous_stays(void)
{
    set_up(false);
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    CHECK(!op.ambiguous);
    failure.reason = RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT;
    answer = retry_action_pending();
    CHECK_LATER(orchestrate(0));
    CHECK(op.ambiguous);
    CHECK_DECISION(RETRY, STRATEGY, resume(retry_action_after(1), 0));
    CHECK(op.ambiguous);
    failure.reason = RETRY_REASON_NONE;
    CHECK_DECISION(FAIL, NOT_RETRYABLE, orchestrate(0));
    CHECK(op.ambiguous);
    retry_start(&op, NULL, START);
    CHECK(!op.ambiguous);
    failure.reason = RETRY_REASON_SERVER_ERROR;
    answer = retry_action_after(1);
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    CHECK(op.ambiguous);
    CHECK_EQUAL(0, retry_left(NULL, START));
    CHECK_DECISION(SUCCESS, NONE, decide(&op, NULL, START));
    CHECK(!op.ambiguous); /* what was perhaps done is now done */
}

/* Nor does an attempt count that is on the wire when the request is cancelled, or a misuse. */
static void test_ambiguous_not_by_cancel(void)
{
    set_up(false);
    retry_stop(&op, START);
    CHECK(!op.ambiguous);
    failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
    CHECK_DECISION(FAIL, CANCELLED, orchestrate(0));
    CHECK(!op.ambiguous);
    retry_start(&op, NULL, START);
    failure.reason = RETRY_REASON_KV_LOCKED;
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    retry_stop(&op, START);
    CHECK(!op.ambiguous);
    retry_start(&op, NULL, START);
    failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
    CHECK_DECISION(RETRY, STRATEGY, orchestrate(0));
    retry_stop(&op, START);
    CHECK(op.ambiguous);
}

int main(void)
{
    RUN(test_actions);
    RUN(test_begin_clears);
    RUN(test_begin_forgets_the_code);
    RUN(test_begin_sets_the_timeout);
    RUN(test_without_a_deadline);
    RUN(test_begin_cancels_an_open_request);
    RUN(test_begin_after_pending);
    RUN(test_null);
    RUN(test_succeed);
    RUN(test_succeed_when_not_open);
    RUN(test_cancel_gives_the_charge_back);
    RUN(test_cancel_without_a_charge);
    RUN(test_cancel_when_not_open);
    RUN(test_cancel_with_charged_failures);
    RUN(test_pending_and_granted);
    RUN(test_pending_and_refused);
    RUN(test_pending_and_garbage);
    RUN(test_pending_again);
    RUN(test_pending_waits);
    RUN(test_pending_and_cancelled);
    RUN(test_resume_without_pending);
    RUN(test_resume_without_budget);
    RUN(test_resume_past_the_deadline);
    RUN(test_resume_charges_by_kind);
    RUN(test_pending_is_charged_once);
    RUN(test_without_a_client);
    RUN(test_remaining);
    RUN(test_remaining_is_the_deadline);
    RUN(test_ambiguous);
    RUN(test_ambiguous_reasons);
    RUN(test_ambiguous_whatever_is_decided);
    RUN(test_ambiguous_stays);
    RUN(test_ambiguous_not_by_cancel);
    return check_done();
}
