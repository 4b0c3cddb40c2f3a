/* Every step of a request tells its budget when it is: one that refills holds afterwards what has
   come in until then, no more, and goes on from there. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/refill.h"

#define START ((retry_time)1000000)
#define LATER 5000 /* ms after START; the event that is tested */

static retry_budget budget;
static retry_client client;
static retry_request request;

/* A request that is open since START, for a minute; its budget is empty then. */
static void set_up(void)
{
    memset(&client, 0, sizeof client);
    memset(&request, 0, sizeof request);
    refill_from(&budget, START);
    client.budget = &budget;
    request.client = &client;
    request.timeout = 60000;
    retry_begin(&request, START);
}

static void begins(retry_time now)
{
    retry_request other;
    memset(&other, 0, sizeof other);
    other.client = &client;
    budget.options.request_deposit = 3;
    retry_begin(&other, now);
    CHECK_EQUAL(LATER + 3, retry_budget_balance(&budget));
    CHECK(retry_budget_withdraw(&budget, 3, now));
    CHECK_EQUAL(now, other.started);
    CHECK_EQUAL(now, other.code_since);
}

/* What it was before is cancelled. */
static void begins_again(retry_time now)
{
    retry_begin(&request, now);
    CHECK_EQUAL(now, request.code_since);
}

static void succeeds(retry_time now)
{
    CHECK(retry_succeed(&request, now));
}

static void is_cancelled(retry_time now)
{
    retry_cancel(&request, now);
}

static void is_retried(retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, now));
    CHECK_EQUAL(now, request.code_since);
}

static void is_retried_unsent(retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    CHECK_DECISION(RETRY, STRATEGY, retry_orchestrate(&request, &failure, now));
}

static void expires(retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    failure.retry_after = 60000;
    CHECK_DECISION(EXPIRE, DEADLINE, retry_orchestrate(&request, &failure, now));
}

static void always_expires(retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    client.always_interval = 60000;
    CHECK_DECISION(EXPIRE, DEADLINE, retry_orchestrate(&request, &failure, now));
}

static void is_refused(retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    request.strategy = retry_fail_fast();
    CHECK_DECISION(FAIL, REFUSED, retry_orchestrate(&request, &failure, now));
}

static void is_forbidden(retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    failure.pushback = true;
    failure.retry_after = UINT32_MAX;
    CHECK_DECISION(FAIL, PUSHBACK, retry_orchestrate(&request, &failure, now));
}

static void is_resumed(retry_time now)
{
    static const retry_strategy later = {check_pending_after};
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    request.strategy = &later;
    CHECK_DECISION(PENDING, PENDING, retry_orchestrate(&request, &failure, START));
    CHECK_DECISION(RETRY, STRATEGY, retry_resume(&request, &failure, retry_action_after(1), now));
}

static void test_budget(void)
{
    static const struct {
        const char *name;
        void (*event)(retry_time now);
    } rows[] = {
        {"begins", begins},      {"begins again", begins_again},
        {"succeeds", succeeds},  {"cancelled", is_cancelled},
        {"retried", is_retried}, {"retried, unsent", is_retried_unsent},
        {"expires", expires},    {"always retried, expires", always_expires},
        {"refused", is_refused}, {"forbidden", is_forbidden},
        {"resumed", is_resumed},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("%s", rows[i].name);
        set_up();
        rows[i].event(START + LATER);
        refill_check(&budget, START, LATER);
    }
}

int main(void)
{
    RUN(test_budget);
    return check_done();
}
