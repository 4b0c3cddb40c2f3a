/* What time it is. Every function that is told does by one rule: an instant that lies up to 32,768
   ms ahead of now is another thread's clock, and no time has passed; every other difference has.
   And each step of a request tells its budget: one that refills holds afterwards what has come in
   until then, no more, and goes on from there. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/by_hand.h"
#include "../support/check.h"
#include "../support/refill.h"
#include "../support/steps.h"

#define START ((retry_time)1000000)
#define LATER 5000 /* ms after START; the event that is tested */

static retry_budget budget;
static retry_client client;
static retry_operation request;

/* A request that is open since START, for a minute; its budget is empty then. */
static void set_up(void)
{
    memset(&client, 0, sizeof client);
    memset(&request, 0, sizeof request);
    refill_from(&budget, START);
    client.budget = &budget;
    request.client = &client;
    request.timeout = 60000;
    retry_start(&request, NULL, START);
}

static void begins(retry_time now)
{
    retry_operation other;
    memset(&other, 0, sizeof other);
    other.client = &client;
    budget.options.request_deposit = 3;
    retry_start(&other, NULL, now);
    CHECK_EQUAL(LATER + 3, retry_budget_balance(&budget));
    CHECK(retry_budget_withdraw(&budget, 3, now));
    CHECK_EQUAL(now, other.started);
    CHECK_EQUAL(now, other.code_since);
}

/* What it was before is cancelled. */
static void begins_again(retry_time now)
{
    retry_start(&request, NULL, now);
    CHECK_EQUAL(now, request.code_since);
}

static void succeeds(retry_time now)
{
    CHECK_DECISION(SUCCESS, NONE, decide(&request, NULL, now));
}

static void is_cancelled(retry_time now)
{
    retry_stop(&request, now);
}

static void is_retried(retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    CHECK_DECISION(RETRY, STRATEGY, decide(&request, &failure, now));
    CHECK_EQUAL(now, request.code_since);
}

static void expires(retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    failure.retry_after = 60000;
    CHECK_DECISION(EXPIRE, DEADLINE, decide(&request, &failure, now));
}

static void always_expires(retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    client.always_interval = 60000;
    CHECK_DECISION(EXPIRE, DEADLINE, decide(&request, &failure, now));
}

static void is_refused(retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    request.strategy = retry_fail_fast();
    CHECK_DECISION(FAIL, REFUSED, decide(&request, &failure, now));
}

static void is_forbidden(retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    failure.pushback = true;
    failure.retry_after = UINT32_MAX;
    CHECK_DECISION(FAIL, PUSHBACK, decide(&request, &failure, now));
}

static void is_resumed(retry_time now)
{
    static const retry_strategy later = {check_pending_after};
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    request.strategy = &later;
    CHECK_LATER(decide(&request, &failure, START));
    CHECK_DECISION(RETRY, STRATEGY, decide_later(&request, retry_action_after(1), now));
}

static void test_budget(void)
{
    static const struct {
        const char *name;
        void (*event)(retry_time now);
    } rows[] = {
        {"begins", begins},
        {"begins again", begins_again},
        {"succeeds", succeeds},
        {"cancelled", is_cancelled},
        {"retried", is_retried},
        {"expires", expires},
        {"always retried, expires", always_expires},
        {"refused", is_refused},
        {"forbidden", is_forbidden},
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

/* ---- each function, in each state ------------------------------------------------------------ */

/* What is told of here happened at `start`; the function is called at `now`, when so many ms have
   passed by the rule. Delays and spans are 1,000 ms, timeouts a minute, unless said. */
struct moment {
    retry_time start, now;
    retry_ms passed;
};

static retry_operation op;
static retry_failure failure;
static retry_gates gates;

static retry_ms less(retry_ms span, retry_ms passed)
{
    return span > passed ? span - passed : 0;
}

static retry_action asks_for_a_second(const retry_strategy *self, const retry_operation *r,
                                      const retry_failure *f, retry_time now)
{
    (void)self;
    (void)r;
    (void)f;
    (void)now;
    return retry_action_after(1000);
}

static const retry_strategy a_second = {asks_for_a_second};
static const retry_strategy later = {check_pending_after};

static void begin_at(retry_time start, retry_ms timeout, const retry_strategy *strategy)
{
    memset(&client, 0, sizeof client);
    memset(&request, 0, sizeof request);
    failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    request.client = &client;
    request.strategy = strategy;
    request.timeout = timeout;
    retry_start(&request, NULL, start);
}

static void check_second(decided decision, retry_ms passed)
{
    if (passed < 59000) {
        CHECK_EQUAL(RETRY_VERDICT_RETRY, decision.verdict);
        CHECK_EQUAL(1000, decision.delay);
    } else {
        CHECK_DECISION(EXPIRE, DEADLINE, decision);
        CHECK_EQUAL(less(60000, passed), decision.delay);
    }
}

static void remaining(struct moment at)
{
    static const retry_ms timeouts[] = {1, 1000, 60000, 0x80000000u, 0xffff0000u};
    size_t i;
    for (i = 0; i < CHECK_COUNT(timeouts); i++) {
        begin_at(at.start, timeouts[i], &a_second);
        CHECK_EQUAL(less(timeouts[i], at.passed), retry_left(&request, at.now));
        begin_at(at.start, timeouts[i], &later);
        CHECK_LATER(decide(&request, &failure, at.start));
        CHECK_EQUAL(less(timeouts[i], at.passed), retry_left(&request, at.now));
    }
    begin_at(at.start, 0xffff0001u, &a_second);
    CHECK_EQUAL(UINT32_MAX, retry_left(&request, at.now));
}

static void decides(struct moment at)
{
    begin_at(at.start, 60000, &a_second);
    check_second(decide(&request, &failure, at.now), at.passed);
    CHECK_EQUAL(at.now, request.code_since);
    begin_at(at.start, 60000, &a_second);
    CHECK_DECISION(RETRY, STRATEGY, decide(&request, &failure, at.start));
    check_second(decide(&request, &failure, at.now), at.passed);
    CHECK_EQUAL(at.start, request.code_since);
    begin_at(at.start, 60000, &a_second);
    client.always_interval = 1000;
    failure.reason = RETRY_REASON_KV_NOT_MY_VBUCKET;
    check_second(decide(&request, &failure, at.now), at.passed);
}

static void resumes(struct moment at)
{
    begin_at(at.start, 60000, &later);
    CHECK_LATER(decide(&request, &failure, at.start));
    check_second(decide_later(&request, retry_action_after(1000), at.now), at.passed);
}

/* What a log says of an end. */
static void check_logged(retry_ms passed)
{
    char line[240], part[40];
    snprintf(part, sizeof part, " elapsed=%" PRIu32 "ms ", passed);
    retry_format(line, sizeof line, &request, NULL);
    CHECK(strstr(line, part) != NULL);
}

static void ends(struct moment at)
{
    begin_at(at.start, 60000, &a_second);
    CHECK_DECISION(SUCCESS, NONE, decide(&request, NULL, at.now));
    check_logged(at.passed);
    begin_at(at.start, 60000, &a_second);
    retry_stop(&request, at.now);
    check_logged(at.passed);
    begin_at(at.start, 60000, &a_second);
    retry_start(&request, NULL, at.now);
    CHECK_EQUAL(60000, retry_left(&request, at.now));
}

/* A thousandth a ms, up to 100,000 tokens; none by a clock that was set back, which looks as if it
   had gone on by weeks. */
static void refills(struct moment at)
{
    const retry_ms most = at.passed > UINT32_C(1) << 31 ? 0 : 100000000;
    refill_from(&budget, at.start);
    CHECK(retry_budget_withdraw(&budget, 0, at.now));
    CHECK_EQUAL(at.passed < most ? at.passed : most, retry_budget_balance(&budget));
}

/* In steps of a 64th of 10 s; what has expired after 32 half-lives is all. */
static void expires_and_has_a_base(struct moment at)
{
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(1);
    retry_budget_init(&budget, &options, at.start);
    CHECK(retry_budget_withdraw(&budget, 1000, at.start));
    CHECK(retry_budget_withdraw(&budget, 0, at.now));
    CHECK_EQUAL(at.passed < 156 || at.passed > UINT32_C(1) << 31 ? 0
                : at.passed < 20000                              ? at.passed / 20
                                                                 : 1000,
                retry_budget_balance(&budget));
    retry_budget_init(&budget, &options, at.start);
    retry_budget_deposit(&budget, 19000);
    CHECK(retry_budget_withdraw(&budget, 0, at.now));
    if (at.passed < 156)
        CHECK_EQUAL(20000, retry_budget_balance(&budget));
    else if (at.passed > UINT32_C(32) * 6932)
        CHECK_EQUAL(1000, retry_budget_balance(&budget));
    else
        CHECK_RANGE(1000, 19999, retry_budget_balance(&budget));
}

/* ---- connections */

static uint32_t middle(void *context)
{
    (void)context;
    return 0x80000000u;
}

/* An attempt that began then; half of the 1,000 ms of its spacing is what is drawn. */
static retry_connection connecting(retry_time start)
{
    retry_connection connection = RETRY_CONNECTION_GRPC;
    connection.random = middle;
    connection.stable_after = 10000;
    CHECK_EQUAL(20000, retry_connection_begin(&connection, start));
    return connection;
}

static void connects(struct moment at)
{
    retry_connection connection = connecting(at.start);
    CHECK_EQUAL(less(1000, at.passed), retry_connection_wait(&connection, at.now));
    CHECK_EQUAL(at.passed < 1000 ? 1000 - at.passed : 500,
                retry_connection_failed(&connection, NULL, at.now));
    connection = connecting(at.start);
    CHECK_EQUAL(1000, retry_connection_failed(&connection, NULL, at.start));
    CHECK_EQUAL(less(1000, at.passed), retry_connection_wait(&connection, at.now));
    retry_connection_begin(&connection, at.now); /* the second */
    CHECK_RANGE(1599, 1601, retry_connection_wait(&connection, at.now));
}

static void stands(struct moment at)
{
    retry_connection connection = connecting(at.start);
    retry_connection_established(&connection, at.start);
    CHECK_EQUAL(at.passed < 500 ? 1000 - at.passed : 500,
                retry_connection_failed(&connection, NULL, at.now));
    retry_connection_begin(&connection, at.now); /* the first again, if it stood for 10 s */
    if (at.passed >= 10000)
        CHECK_EQUAL(1000, retry_connection_failed(&connection, NULL, at.now));
    else
        CHECK_RANGE(1599, 1601, retry_connection_failed(&connection, NULL, at.now));
    connection = connecting(at.start);
    retry_connection_established(&connection, at.now); /* 10 s from now on */
    CHECK_EQUAL(500, retry_connection_failed(&connection, NULL, check_after(at.now, 10000)));
}

static void is_told_to_wait(struct moment at)
{
    retry_connection connection = connecting(at.start);
    retry_failure told = retry_classify_http(503, UINT32_MAX);
    CHECK_EQUAL(0x80000000u, retry_connection_failed(&connection, &told, at.start));
    CHECK_EQUAL(less(0x80000000u, at.passed), retry_connection_wait(&connection, at.now));
    retry_connection_skip_wait(&connection, at.now); /* the server has the last word */
    CHECK_EQUAL(less(0x80000000u, at.passed), retry_connection_wait(&connection, at.now));
}

/* ---- operations */

/* Started then, and its first attempt sent, if it is to be. */
static void start_at(retry_time start, retry_ms timeout, const retry_strategy *strategy, bool sent)
{
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    client.always_interval = 1000;
    op.client = &client;
    op.strategy = strategy;
    op.timeout = timeout;
    retry_start(&op, NULL, start);
    if (sent)
        CHECK_SEND(retry_next(&op, start));
}

static void check_deadline(retry_step step, retry_ms passed)
{
    if (passed >= 60000)
        CHECK_END(EXPIRE, DEADLINE, step);
    else
        CHECK_EQUAL(60000 - passed, CHECK_SEND(step).timeout);
}

static void starts(struct moment at)
{
    start_at(at.start, 60000, &a_second, false);
    check_deadline(retry_next(&op, at.now), at.passed);
    start_at(at.start, 60000, &a_second, true);
    retry_start(&op, NULL, at.now); /* what was under way is stopped */
    CHECK_CANCEL(retry_next(&op, at.now));
    CHECK_EQUAL(60000, CHECK_SEND(retry_next(&op, at.now)).timeout);
}

static void is_on_the_wire(struct moment at)
{
    start_at(at.start, 60000, &a_second, true);
    if (at.passed < 60000)
        CHECK_EQUAL(60000 - at.passed, CHECK_WAIT(NONE, retry_next(&op, at.now)).delay);
    else
        CHECK_CANCEL(retry_next(&op, at.now));
    start_at(at.start, UINT32_MAX, &a_second, false);
    client.attempt_timeout = 1000;
    CHECK_SEND(retry_next(&op, at.start));
    if (at.passed < 1000)
        CHECK_EQUAL(1000 - at.passed, CHECK_WAIT(NONE, retry_next(&op, at.now)).delay);
    else
        CHECK_CANCEL(retry_next(&op, at.now));
    start_at(at.start, UINT32_MAX, &a_second, true);
    CHECK_EQUAL(UINT32_MAX, CHECK_WAIT(NONE, retry_next(&op, at.now)).delay);
    retry_ended(&op, 0, NULL, at.now); /* however late */
    CHECK_END(SUCCESS, NONE, retry_next(&op, at.now));
    start_at(at.start, 60000, &a_second, true);
    retry_ended(&op, 0, &failure, at.now);
    if (at.passed < 59000)
        CHECK_EQUAL(1000, CHECK_WAIT(STRATEGY, retry_next(&op, at.now)).delay);
    else
        CHECK_EQUAL(less(60000, at.passed),
                    CHECK_END(EXPIRE, DEADLINE, retry_next(&op, at.now)).delay);
    start_at(at.start, 60000, &a_second, true);
    retry_stop(&op, at.now);
    CHECK_CANCEL(retry_next(&op, at.now));
    CHECK_END(FAIL, CANCELLED, retry_next(&op, at.now));
}

static void waits(struct moment at)
{
    static const retry_reason reasons[] = {RETRY_REASON_KV_LOCKED, RETRY_REASON_KV_NOT_MY_VBUCKET};
    size_t i;
    for (i = 0; i < CHECK_COUNT(reasons); i++) {
        retry_step step;
        start_at(at.start, 60000, &a_second, true);
        failure.reason = reasons[i];
        retry_ended(&op, 0, &failure, at.start);
        step = retry_next(&op, at.now);
        if (at.passed < 1000) {
            CHECK_EQUAL(RETRY_DO_WAIT, step.what);
            CHECK_EQUAL(1000 - at.passed, step.delay);
        } else {
            check_deadline(step, at.passed);
        }
        start_at(at.start, 60000, &a_second, true);
        failure.reason = reasons[i];
        retry_ended(&op, 0, &failure, at.start);
        retry_skip_wait(&op, at.now);
        check_deadline(retry_next(&op, at.now), at.passed);
    }
}

static void waits_for_an_answer(struct moment at)
{
    start_at(at.start, 60000, &later, true);
    retry_ended(&op, 0, &failure, at.start);
    if (at.passed < 60000)
        CHECK_EQUAL(60000 - at.passed, CHECK_WAIT(PENDING, retry_next(&op, at.now)).delay);
    else
        CHECK_END(EXPIRE, DEADLINE, retry_next(&op, at.now));
    start_at(at.start, 60000, &later, true);
    retry_ended(&op, 0, &failure, at.start);
    retry_answer(&op, retry_action_after(1000), at.now);
    if (at.passed < 59000)
        CHECK_EQUAL(1000, CHECK_WAIT(STRATEGY, retry_next(&op, at.now)).delay);
    else
        CHECK_END(EXPIRE, DEADLINE, retry_next(&op, at.now));
}

static void waits_for_its_turn(struct moment at)
{
    static retry_aimd limit;
    memset(&limit, 0, sizeof limit);
    memset(&gates, 0, sizeof gates);
    limit.max = 1;
    retry_gates_aimd(&gates, &limit);
    start_at(at.start, 60000, &a_second, false);
    client.gates = &gates;
    gates.in_flight = 1;
    CHECK_WAIT(PACED, retry_next(&op, at.start));
    if (at.passed < 60000 - 60000 / 8)
        CHECK_RANGE(1, 100, CHECK_WAIT(PACED, retry_next(&op, at.now)).delay);
    else
        CHECK_END(EXPIRE, DEADLINE, retry_next(&op, at.now));
}

/* A second copy; and after a server's order, which is the longest delay that there is. */
static void hedges(struct moment at)
{
    static retry_copy copies[1];
    static retry_hedge hedge;
    retry_step step;
    unsigned ordered;
    for (ordered = 0; ordered < 2; ordered++) {
        retry_ms delay = ordered ? 0x80000000u : 1000;
        start_at(at.start, UINT32_MAX, &a_second, true);
        retry_stop(&op, at.start);
        CHECK_CANCEL(retry_next(&op, at.start));
        memset(copies, 0, sizeof copies);
        memset(&hedge, 0, sizeof hedge);
        hedge.count = 1;
        hedge.copies = copies;
        hedge.delay = 1000;
        retry_hedge_copies(&op, &hedge);
        op.idempotent = true;
        retry_start(&op, NULL, at.start);
        CHECK_SEND(retry_next(&op, at.start));
        if (ordered) {
            failure.pushback = true;
            failure.retry_after = UINT32_MAX - 1;
            retry_ended(&op, 0, &failure, at.start);
        }
        step = retry_next(&op, at.now);
        if (at.passed < delay)
            CHECK_EQUAL(delay - at.passed, CHECK_WAIT(NONE, step).delay);
        else
            CHECK_EQUAL(!ordered, CHECK_SEND(step).copy);
    }
}

/* ---- gates and scopes */

/* Open for 50 s; a probe is silent for 50 s; reports count for 100 s at most. */
static void breaks(struct moment at)
{
    static retry_breaker breaker;
    retry_permit permit;
    retry_breaker_counts counts;
    uint32_t passed_in_round =
        at.passed & 0x7fffffffu; /* after which a window's instants go round */
    memset(&breaker, 0, sizeof breaker);
    breaker.open = breaker.probe_timeout = 50000;
    breaker.window = 100000;
    retry_breaker_set(&breaker, RETRY_BREAKER_OPEN, at.start);
    CHECK_EQUAL(at.passed < 50000 ? RETRY_BREAKER_OPEN : RETRY_BREAKER_HALF_OPEN,
                retry_breaker_state(&breaker, at.now));
    permit = retry_breaker_ask(&breaker, true, at.now);
    CHECK_EQUAL(at.passed >= 50000, permit.granted);
    CHECK_EQUAL(less(50000, at.passed), permit.wait);
    retry_breaker_set(&breaker, RETRY_BREAKER_HALF_OPEN, at.start);
    CHECK(retry_breaker_ask(&breaker, true, at.start).granted);
    CHECK_EQUAL(at.passed >= 50000, retry_breaker_ask(&breaker, true, at.now).granted);
    retry_breaker_set(&breaker, RETRY_BREAKER_OPEN, at.now);
    CHECK_EQUAL(50000, retry_breaker_ask(&breaker, true, at.now).wait);
    retry_breaker_reset(&breaker, at.now);
    CHECK(retry_breaker_ask(&breaker, false, at.now).granted);
    retry_breaker_reset(&breaker, at.start);
    permit = retry_breaker_ask(&breaker, true, at.start);
    CHECK(!retry_breaker_report(&breaker, permit, NULL, at.start));
    counts = retry_breaker_get(&breaker, at.now);
    if ((at.start & 0x7fffffffu) != 0) /* else the window's word is that of one never used */
        CHECK_EQUAL(passed_in_round < 100000 || passed_in_round > 0x7fffffffu - 32768,
                    counts.reports);
    breaker.slow = 1000; /* an answer that took as long is sick */
    retry_breaker_release(&breaker, permit, at.now);
    retry_breaker_report(&breaker, permit, NULL, at.now);
    CHECK_EQUAL(at.passed >= 1000, retry_breaker_get(&breaker, at.now).in_a_row);
}

/* The same of an operation that asks it. */
static void asks_a_breaker(struct moment at)
{
    static retry_breaker breaker;
    retry_step step;
    memset(&breaker, 0, sizeof breaker);
    memset(&gates, 0, sizeof gates);
    breaker.open = 50000;
    retry_gates_breaker(&gates, &breaker);
    retry_breaker_set(&breaker, RETRY_BREAKER_OPEN, at.start);
    step = by_hand_ask(&gates, 0, at.now);
    if (at.passed < 50000)
        CHECK_EQUAL(50000 - at.passed, CHECK_END(FAIL, CIRCUIT_OPEN, step).delay);
    else
        CHECK_SEND(step);
}

/* One a second. */
static void asks_a_rate(struct moment at)
{
    static retry_rate rate;
    retry_step step;
    memset(&rate, 0, sizeof rate);
    memset(&gates, 0, sizeof gates);
    rate.max = RETRY_PER_SECOND(1);
    rate.wait = 5000;
    retry_gates_rate(&gates, &rate);
    CHECK_SEND(by_hand_attempt(&gates, 0, at.start, NULL, at.start));
    step = by_hand_ask(&gates, 0, at.now);
    if (at.passed < 1000)
        CHECK_RANGE(1000 - at.passed, 1001 - at.passed, CHECK_WAIT(PACED, step).delay);
    else
        CHECK_SEND(step);
}

/* Falls once in 50 s, however many fail. A fall at instant 0 counts as one at 1. */
static void falls(struct moment at)
{
    static retry_aimd limit;
    retry_failure late = retry_classify_errno(0, true);
    if (at.start == 0)
        at.start++, at.now = check_after(at.now, 1);
    memset(&limit, 0, sizeof limit);
    memset(&gates, 0, sizeof gates);
    limit.max = 16;
    limit.cooldown = 50000;
    late.timeout = true;
    retry_gates_aimd(&gates, &limit);
    by_hand_attempt(&gates, 0, at.start, &late, at.start);
    CHECK_EQUAL(8, retry_aimd_limit(&limit));
    by_hand_attempt(&gates, 0, at.now, &late, at.now);
    CHECK_EQUAL(at.passed > 50000 ? 4 : 8, retry_aimd_limit(&limit));
}

/* A name that nobody has looked up for a minute loses its slot. */
static void forgets(struct moment at)
{
    static retry_scopes scopes;
    static retry_scope slot;
    const retry_client *found;
    memset(&scopes, 0, sizeof scopes);
    memset(&slot, 0, sizeof slot);
    scopes.options.capacity = 10000;
    scopes.slots = &slot;
    scopes.count = 1;
    found = retry_scope_client(&scopes, "a", 1, at.start);
    CHECK(found == &slot.client);
    CHECK(retry_budget_withdraw(&slot.budget, 1000, at.start));
    found = retry_scope_client(&scopes, "b", 1, at.now);
    CHECK_EQUAL(at.passed >= 60000, found == &slot.client);
}

/* Its bucket begins at `now`. */
static void is_initialised(struct moment at)
{
    static retry_service service;
    memset(&service, 0, sizeof service);
    retry_service_init(&service, at.now);
    CHECK(retry_budget_withdraw(&service.budget, 1000, at.now));
    CHECK(retry_budget_withdraw(&service.budget, 0, check_after(at.now, 20000)));
    CHECK_EQUAL(1000, retry_budget_balance(&service.budget));
}

static void test_each_function(void)
{
    static const struct {
        const char *name;
        void (*check)(struct moment at);
    } rows[] = {
        {"remaining", remaining},
        {"decides", decides},
        {"resumes", resumes},
        {"ends", ends},
        {"refills", refills},
        {"expires and has a base", expires_and_has_a_base},
        {"connects", connects},
        {"stands", stands},
        {"is told to wait", is_told_to_wait},
        {"starts", starts},
        {"is on the wire", is_on_the_wire},
        {"waits", waits},
        {"waits for an answer", waits_for_an_answer},
        {"waits for its turn", waits_for_its_turn},
        {"hedges", hedges},
        {"breaks", breaks},
        {"asks a breaker", asks_a_breaker},
        {"asks a rate", asks_a_rate},
        {"falls", falls},
        {"forgets", forgets},
        {"is initialised", is_initialised},
    };
    static const retry_time starts_at[] = {0, 1000000, 0x80000000u, (retry_time)-1};
    static const uint32_t differences[] = {
        0,           1,           32768,       32769,
        0x7fffffffu, 0x80000000u, 0x80000001u, UINT32_MAX - 32768,
        UINT32_MAX,  156,         999,         1000,
        59999,       60000,       2160000000u, 4233600000u /* 25 and 49 days */};
    size_t i, j, k;
    unsigned back;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (j = 0; j < CHECK_COUNT(starts_at); j++) {
            for (k = 0; k < 2 * CHECK_COUNT(differences); k++) {
                struct moment at;
                uint32_t ahead = differences[k / 2];
                back = k % 2;
                if (back)
                    ahead = check_before(0, ahead);
                at.start = starts_at[j];
                at.now = check_after(at.start, ahead);
                at.passed = ahead > UINT32_MAX - 32768 ? 0 : ahead;
                check_row("%s, from %lu, %s %lu", rows[i].name, (unsigned long)at.start,
                          back ? "back" : "forth", (unsigned long)differences[k / 2]);
                rows[i].check(at);
            }
        }
    }
}

/* ---- weeks ------------------------------------------------------------------------------------
 */

#define HOUR UINT32_C(3600000)

/* An operation of a minute that is asked anew after the machine has slept for 25 to 49 days: 3.0
   let it wait for 90 s more, until day 49. */
static void test_asked_anew(void)
{
    uint32_t hours;
    for (hours = 25 * 24; hours <= 49 * 24; hours++) {
        start_at(START, 60000, &a_second, true);
        retry_ended(&op, 0, &failure, START);
        check_row("%u hours", (unsigned)hours);
        CHECK_END(EXPIRE, DEADLINE, retry_next(&op, check_after(START, hours * HOUR)));
    }
}

/* A Retry-After of 4,294,935 s, which never ended: what the clock measures is 2^31 ms. */
static void test_longest_retry_after(void)
{
    static const retry_ms longest = 0x80000000u;
    retry_ms retry_after = 0;
    start_at(START, UINT32_MAX, NULL, true);
    CHECK(retry_parse_retry_after("4294935", 7, 0, &retry_after));
    CHECK_EQUAL(4294935000u, retry_after);
    failure = retry_classify_http(429, retry_after);
    retry_ended(&op, 0, &failure, START);
    CHECK_EQUAL(4294935000u, op.failure.retry_after); /* the server's own number */
    CHECK_EQUAL(longest, CHECK_WAIT(STRATEGY, retry_next(&op, START)).delay);
    CHECK_EQUAL(1, CHECK_WAIT(STRATEGY, retry_next(&op, check_after(START, longest - 1))).delay);
    CHECK_SEND(retry_next(&op, check_after(START, longest)));
}

int main(void)
{
    RUN(test_budget);
    RUN(test_each_function);
    RUN(test_asked_anew);
    RUN(test_longest_retry_after);
    return check_done();
}
