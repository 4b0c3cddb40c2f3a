/* The gates of a server, asked and told by operations: what each answers and in which order, what
   goes back, what the gates learn, and how the time of an attempt follows the server. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/door.h"
#include "../support/refill.h"
#include "../support/steps.h"

#define START ((retry_time)1000000)

static retry_policy policy;
static retry_budget budget;
static retry_client client;
static retry_client quiet; /* of others: the same gates, no budget, no retries, nobody is told */
static retry_ms op_timeout;
static retry_operation op;
static retry_gates gates;
static retry_breaker breaker;
static retry_throttle throttle;
static retry_aimd aimd;
static retry_rate rate;
static retry_latency latency;

static uint32_t drawn, draw_next; /* how many numbers were drawn, and what each is */
static uint32_t told;             /* calls of the observer, and what was so at the last one */
static decided told_decision;
static bool told_failure;

/* What a program sees of the gates when it is called: its observer, and its strategy. */
struct sight {
    uint32_t in_flight, limit, sick;
    uint8_t state;
};
static struct sight told_sight, asked_sight;

static uint32_t draw(void *context)
{
    (void)context;
    drawn++;
    return draw_next;
}

static struct sight look(void)
{
    retry_breaker copy = breaker; /* so that a look changes nothing */
    struct sight sight;
    sight.in_flight = gates.in_flight;
    sight.limit = retry_aimd_limit(&aimd);
    sight.sick = retry_breaker_get(&copy, START).sick;
    sight.state = retry_breaker_state(&copy, START);
    return sight;
}

static void tell(void *context, const retry_operation *of, const retry_failure *failure)
{
    (void)context;
    told++;
    told_decision = decided_of(of);
    told_failure = failure != NULL;
    told_sight = look();
}

/* A strategy of one's own that looks at the gates. */
static retry_action after_a_look(const retry_strategy *self, const retry_operation *of,
                                 const retry_failure *failure, retry_time now)
{
    (void)self;
    asked_sight = look();
    return retry_policy_after(&policy.base, of, failure, now);
}

static void add_all(void)
{
    retry_gates_breaker(&gates, &breaker);
    retry_gates_throttle(&gates, &throttle);
    retry_gates_aimd(&gates, &aimd);
    retry_gates_rate(&gates, &rate);
    retry_gates_latency(&gates, &latency);
}

static void remove_all(void)
{
    retry_gates_breaker(&gates, NULL);
    retry_gates_throttle(&gates, NULL);
    retry_gates_aimd(&gates, NULL);
    retry_gates_rate(&gates, NULL);
    retry_gates_latency(&gates, NULL);
}

/* An operation of the client's that begins. */
static retry_operation start(retry_time now)
{
    retry_operation one;
    memset(&one, 0, sizeof one);
    one.client = &client;
    one.timeout = op_timeout;
    one.idempotent = true;
    retry_start(&one, NULL, now);
    return one;
}

/* An operation has begun at START, of a client whose retries wait 10 ms and cost a token of ten,
   with the gates of a server, none of which is added. */
static void set_up(retry_ms timeout, retry_ms cut_after)
{
    static const retry_policy plain = RETRY_POLICY_BEST_EFFORT;
    retry_budget_options options;
    memset(&options, 0, sizeof options);
    options.capacity = 10000;
    options.retry_cost = 1000;
    retry_budget_init(&budget, &options, START);
    policy = plain;
    policy.backoff.jitter = RETRY_JITTER_NONE;
    policy.backoff.initial = 10;
    memset(&client, 0, sizeof client);
    memset(&gates, 0, sizeof gates);
    memset(&breaker, 0, sizeof breaker);
    memset(&throttle, 0, sizeof throttle);
    memset(&aimd, 0, sizeof aimd);
    memset(&rate, 0, sizeof rate);
    memset(&latency, 0, sizeof latency);
    client.random = draw;
    client.gates = &gates;
    client.cut_after = cut_after;
    quiet = client;
    quiet.strategy = retry_fail_fast();
    quiet.cut_after = 0;
    client.strategy = &policy.base;
    client.budget = &budget;
    client.observe = tell;
    op_timeout = timeout;
    op = start(START);
    drawn = draw_next = told = 0;
    memset(&told_sight, 0, sizeof told_sight);
    memset(&asked_sight, 0, sizeof asked_sight);
}

/* Somebody else's operation, without an end. */
static retry_operation other(retry_time now)
{
    retry_operation one;
    memset(&one, 0, sizeof one);
    one.client = &quiet;
    one.timeout = UINT32_MAX;
    retry_start(&one, NULL, now);
    return one;
}

/* An attempt of somebody else's that is sent at `now`, and ends so many ms later. */
static void other_ends(const retry_failure *failure, retry_ms age, retry_time now)
{
    retry_operation one = other(now);
    CHECK_SEND(retry_next(&one, now));
    retry_ended(&one, 0, failure, check_after(now, age));
    retry_stop(&one, check_after(now, age));
}

/* ms that an attempt may take that is sent now; it is stopped at once. */
static retry_ms time_given(retry_time now)
{
    retry_operation one = start(now);
    retry_step step = CHECK_SEND(retry_next(&one, now));
    retry_stop(&one, now);
    return step.timeout;
}

static retry_failure timed_out(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    failure.timeout = true;
    return failure;
}

/* The connection broke: sick, and no word of the time that was given. */
static retry_failure broken(void)
{
    return check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
}

/* ---- which gates --------------------------------------------------------------------------- */

static void test_gates_null(void)
{
    retry_operation second;
    set_up(1000, 0);
    retry_gates_breaker(NULL, &breaker);
    retry_gates_throttle(NULL, &throttle);
    retry_gates_aimd(NULL, &aimd);
    retry_gates_rate(NULL, &rate);
    retry_gates_latency(NULL, &latency);
    aimd.max = 1;
    retry_gates_aimd(&gates, &aimd);
    CHECK_SEND(retry_next(&op, START));
    second = start(START);
    CHECK_WAIT(PACED, retry_next(&second, START));
    retry_gates_aimd(&gates, NULL); /* taken out */
    CHECK_SEND(retry_next(&second, START));
    CHECK_EQUAL(2, gates.in_flight);
    retry_stop(&op, START);
    retry_stop(&second, START);
    CHECK_EQUAL(0, gates.in_flight);
}

/* Each gate, taken out while it refuses everything. */
static void test_taken_out(void)
{
    const retry_failure failure = broken();
    set_up(10000, 0);
    rate.max = 1000;
    breaker.volume = 1;
    retry_breaker_set(&breaker, RETRY_BREAKER_ISOLATED, START);
    retry_gates_breaker(&gates, &breaker);
    CHECK_END(FAIL, CIRCUIT_OPEN, retry_next(&op, START));
    retry_gates_breaker(&gates, NULL);
    other_ends(&failure, 0, START);
    retry_gates_rate(&gates, &rate);
    other_ends(&failure, 0, START);
    op = start(START);
    CHECK_END(FAIL, THROTTLED, retry_next(&op, START));
    retry_gates_rate(&gates, NULL);
    other_ends(&failure, 0, START);
    CHECK_EQUAL(0, retry_breaker_get(&breaker, START).reports); /* was not told either */
}

/* Gates to which none was added are neither asked nor told. */
static void test_none_was_added(void)
{
    const retry_failure failure = timed_out();
    retry_gates untouched;
    memset(&untouched, 0, sizeof untouched);
    set_up(100000, 100);
    CHECK_SEND(retry_next(&op, START));
    CHECK_EQUAL(0, gates.in_flight);
    retry_ended(&op, 0, &failure, START);
    CHECK_EQUAL(100, time_given(START + 1));
    CHECK(memcmp(&gates, &untouched, sizeof gates) == 0);
    add_all();
    remove_all();
    op = start(START);
    CHECK_SEND(retry_next(&op, START));
    CHECK_EQUAL(1, gates.in_flight); /* from now on it is counted, and remembered */
    retry_ended(&op, 0, &failure, START);
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(200, time_given(START + 1));
}

/* A copy keeps the gates that it was sent by. */
static void test_whose_gates(void)
{
    retry_gates elsewhere;
    retry_aimd limit;
    set_up(1000, 0);
    memset(&elsewhere, 0, sizeof elsewhere);
    memset(&limit, 0, sizeof limit);
    limit.max = 5;
    aimd.max = 5;
    retry_gates_aimd(&gates, &aimd);
    retry_gates_aimd(&elsewhere, &limit);
    client.gates = &elsewhere;
    CHECK_SEND(retry_next(&op, START));
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(1, elsewhere.in_flight);
    client.gates = &gates;
    retry_ended(&op, 0, NULL, START);
    CHECK_END(SUCCESS, NONE, retry_next(&op, START));
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(0, elsewhere.in_flight);
}

/* ---- an attempt's time --------------------------------------------------------------------- */

static void test_timeout(void)
{
    static const struct {
        retry_ms timeout, cut_after, elapsed, expected;
    } rows[] = {
        {1000, 0, 0, 1000},
        {1000, 0, 999, 1},
        {1000, 400, 0, 400},
        {1000, 400, 599, 400},
        {1000, 400, 601, 399},
        {1000, 1000, 0, 1000},
        {1000, 1001, 0, 1000},
        {1000, UINT32_MAX, 1, 999},
        {1, 1, 0, 1},
        {UINT32_MAX, 300, 5000, 300},
        {UINT32_MAX, 0, 0, UINT32_MAX},
    };
    size_t i, gated;
    for (gated = 0; gated < 2; gated++) {
        for (i = 0; i < CHECK_COUNT(rows); i++) {
            retry_step step;
            set_up(rows[i].timeout, rows[i].cut_after);
            add_all();
            if (!gated)
                client.gates = NULL;
            check_row("row %u, gated %u", (unsigned)i, (unsigned)gated);
            step = CHECK_SEND(retry_next(&op, check_after(START, rows[i].elapsed)));
            CHECK_EQUAL(rows[i].expected, step.timeout);
            CHECK_EQUAL(0, step.delay);
            CHECK_EQUAL(gated, gates.in_flight);
        }
    }
}

static void test_deadline_reached(void)
{
    static const retry_ms late[] = {1000, 1001, 0x70000000};
    size_t i;
    for (i = 0; i < CHECK_COUNT(late); i++) {
        retry_step step;
        check_row("%lu ms", (unsigned long)late[i]);
        set_up(1000, 0);
        add_all();
        step = CHECK_END(EXPIRE, DEADLINE, retry_next(&op, check_after(START, late[i])));
        CHECK_EQUAL(0, step.delay);
        CHECK_EQUAL(0, gates.in_flight);
        CHECK_EQUAL(0, drawn); /* no gate was asked */
        CHECK_EQUAL(1, told);
        CHECK_DECISION(EXPIRE, DEADLINE, told_decision);
        CHECK(!retry_succeed(&op, START)); /* finished */
    }
}

/* ---- refusals ------------------------------------------------------------------------------ */

/* Opens the breaker, of which one sick report is enough, at START, for 500 ms. */
static void open_breaker(void)
{
    const retry_failure failure = broken();
    breaker.volume = 1;
    breaker.open = 500;
    retry_gates_breaker(&gates, &breaker);
    other_ends(&failure, 0, START);
    CHECK_EQUAL(RETRY_BREAKER_OPEN, retry_breaker_state(&breaker, START));
}

/* Ten attempts of which none was accepted: the throttle refuses who draws 0. */
static void overload_throttle(void)
{
    const retry_failure failure = broken();
    uint32_t i;
    retry_gates_throttle(&gates, &throttle);
    draw_next = UINT32_MAX;
    for (i = 0; i < 10; i++)
        other_ends(&failure, 0, START);
    drawn = draw_next = 0;
}

/* Takes the one token of a rate of one a second. */
static void spend_rate(retry_ms wait)
{
    rate.max = 1000;
    rate.wait = wait;
    retry_gates_rate(&gates, &rate);
    other_ends(NULL, 0, START);
}

/* The operation waits for its retry, which was paid for. */
static void fail_once(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    CHECK_SEND(retry_next(&op, START));
    retry_ended(&op, 0, &failure, START);
    CHECK_EQUAL(10, CHECK_WAIT(STRATEGY, retry_next(&op, START)).delay);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
}

static void check_sight(const struct sight *expected, const struct sight *got)
{
    CHECK_EQUAL(expected->in_flight, got->in_flight);
    CHECK_EQUAL(expected->limit, got->limit);
    CHECK_EQUAL(expected->sick, got->sick);
    CHECK_EQUAL(expected->state, got->state);
}

/* What lies between the members of a step may differ. */
static void check_same_step(retry_step a, retry_step b)
{
    CHECK(a.what == b.what && a.copy == b.copy && a.verdict == b.verdict && a.cause == b.cause);
    CHECK(a.node == b.node && a.delay == b.delay && a.timeout == b.timeout);
}

/* What is so after each refusal of a retry. */
static void check_refused(uint8_t verdict, uint8_t cause, retry_ms delay, retry_step step,
                          retry_time now)
{
    retry_step again = retry_next(&op, check_after(now, 50));
    CHECK_EQUAL(RETRY_DO_END, step.what);
    CHECK_EQUAL(verdict, step.verdict);
    CHECK_EQUAL(cause, step.cause);
    CHECK_EQUAL(delay, step.delay);
    check_same_step(step, again);                      /* as often as it is asked */
    CHECK_EQUAL(10000, retry_budget_balance(&budget)); /* that retry was never made */
    CHECK_EQUAL(1, told);
    CHECK_EQUAL(verdict, told_decision.verdict);
    CHECK_EQUAL(cause, told_decision.cause);
    CHECK_EQUAL(delay, told_decision.delay);
    CHECK(!told_failure);
    CHECK_EQUAL(RETRY_REASON_KV_LOCKED, op.failure.reason); /* of the try before */
    CHECK_EQUAL(0, gates.in_flight);
    CHECK(!retry_succeed(&op, now));
}

static void test_circuit_open(void)
{
    set_up(1000, 0);
    fail_once();
    open_breaker();
    told = 0;
    check_refused(RETRY_VERDICT_FAIL, RETRY_CAUSE_CIRCUIT_OPEN, 400, retry_next(&op, START + 100),
                  START + 100);
}

/* Nobody knows when a probe is possible. */
static void test_isolated(void)
{
    set_up(1000, 0);
    fail_once();
    retry_gates_breaker(&gates, &breaker);
    retry_breaker_set(&breaker, RETRY_BREAKER_ISOLATED, START);
    told = 0;
    check_refused(RETRY_VERDICT_FAIL, RETRY_CAUSE_CIRCUIT_OPEN, 0, retry_next(&op, START + 100),
                  START + 100);
}

static void test_throttled(void)
{
    set_up(1000, 0);
    fail_once();
    overload_throttle();
    told = 0;
    check_refused(RETRY_VERDICT_FAIL, RETRY_CAUSE_THROTTLED, 0, retry_next(&op, START + 100),
                  START + 100);
    CHECK_EQUAL(1, drawn);
}

static void test_rate_refuses(void)
{
    set_up(10000, 0);
    fail_once();
    spend_rate(250);
    told = 0;
    check_refused(RETRY_VERDICT_FAIL, RETRY_CAUSE_THROTTLED, 900, retry_next(&op, START + 100),
                  START + 100);
}

/* A wait of `wait` ms is too long. */
static void test_rate_waits(void)
{
    set_up(10000, 0);
    spend_rate(900);
    CHECK_EQUAL(900, CHECK_END(FAIL, THROTTLED, retry_next(&op, START + 100)).delay);
    set_up(10000, 0);
    spend_rate(901);
    CHECK_EQUAL(900, CHECK_WAIT(PACED, retry_next(&op, START + 100)).delay);
}

/* A wait that leaves an attempt less than half of its time is an end at once. */
static void test_rate_leaves_no_time(void)
{
    set_up(1000, 0);
    fail_once();
    spend_rate(5000);
    told = 0;
    check_refused(RETRY_VERDICT_EXPIRE, RETRY_CAUSE_DEADLINE, 900, retry_next(&op, START + 100),
                  START + 100);
}

/* However long a try waits, it is drawn once whether it may be made. */
static void test_throttle_draws_once(void)
{
    retry_operation first;
    retry_time now = START;
    uint32_t i;
    set_up(1000, 0);
    overload_throttle();
    aimd.max = 1;
    draw_next = UINT32_MAX;
    first = other(START);
    CHECK_SEND(retry_next(&first, START));
    retry_gates_aimd(&gates, &aimd);
    CHECK_WAIT(PACED, retry_next(&op, now));
    draw_next = 0; /* would be refused now */
    for (i = 0; i < 10; i++)
        CHECK_WAIT(PACED, retry_next(&op, ++now));
    retry_ended(&first, 0, NULL, now);
    CHECK_SEND(retry_next(&op, now));
    retry_start(&op, NULL, now); /* another try */
    CHECK_CANCEL(retry_next(&op, now));
    CHECK_END(FAIL, THROTTLED, retry_next(&op, now));
}

/* The retry of an operation is drawn anew. */
static void test_throttle_draws_each_try(void)
{
    set_up(1000, 0);
    overload_throttle();
    draw_next = UINT32_MAX;
    fail_once();
    draw_next = 0;
    CHECK_END(FAIL, THROTTLED, retry_next(&op, START + 10));
}

/* ---- their order --------------------------------------------------------------------------- */

enum { BREAKER, THROTTLE, AIMD, RATE, GATES };

static void add(unsigned gate)
{
    if (gate == BREAKER)
        retry_gates_breaker(&gates, &breaker);
    else if (gate == THROTTLE)
        retry_gates_throttle(&gates, &throttle);
    else if (gate == AIMD)
        retry_gates_aimd(&gates, &aimd);
    else
        retry_gates_rate(&gates, &rate);
}

/* Each gate refuses at START + 10, or lets wait, by an answer of its own. */
static void refuse_all(void)
{
    retry_operation holder;
    open_breaker();
    remove_all();
    overload_throttle();
    remove_all();
    spend_rate(250);
    remove_all();
    holder = other(START);
    CHECK_SEND(retry_next(&holder, START));
    aimd.max = 1;
    drawn = 0;
}

struct all_gates {
    retry_breaker breaker;
    retry_throttle throttle;
    retry_aimd aimd;
    retry_rate rate;
};

static struct all_gates as_they_are(void)
{
    struct all_gates all;
    all.breaker = breaker;
    all.throttle = throttle;
    all.aimd = aimd;
    all.rate = rate;
    return all;
}

/* Those behind the one that refused gave nothing, so that nothing is lost. */
static void check_unasked(unsigned refused, const struct all_gates *before)
{
    CHECK(refused >= THROTTLE || memcmp(&throttle, &before->throttle, sizeof throttle) == 0);
    CHECK(refused >= AIMD || memcmp(&aimd, &before->aimd, sizeof aimd) == 0);
    CHECK(refused >= RATE || memcmp(&rate, &before->rate, sizeof rate) == 0);
}

static void test_order(void)
{
    static const struct {
        uint8_t what, cause;
        retry_ms delay;
        uint32_t drawn;
    } answers[GATES] = {
        {RETRY_DO_END, RETRY_CAUSE_CIRCUIT_OPEN, 490, 0},
        {RETRY_DO_END, RETRY_CAUSE_THROTTLED, 0, 1},
        {RETRY_DO_WAIT, RETRY_CAUSE_PACED, 1, 1},
        {RETRY_DO_END, RETRY_CAUSE_THROTTLED, 990, 0},
    };
    unsigned a, b, first;
    for (a = 0; a < GATES; a++) {
        for (b = 0; b < GATES; b++) { /* a == b: alone */
            struct all_gates before;
            retry_step step;
            check_row("gates %u and %u", a, b);
            first = a < b ? a : b;
            set_up(1000, 0);
            refuse_all();
            add(a);
            add(b);
            told = 0;
            before = as_they_are();
            step = retry_next(&op, START + 10);
            CHECK_EQUAL(answers[first].what, step.what);
            CHECK_EQUAL(answers[first].cause, step.cause);
            CHECK_EQUAL(answers[first].delay, step.delay);
            CHECK_EQUAL(answers[first].drawn, drawn);
            CHECK_EQUAL(1, gates.in_flight);
            CHECK_EQUAL(step.what == RETRY_DO_END, told); /* a wait is not told */
            if (step.what == RETRY_DO_END) {
                CHECK_EQUAL(RETRY_VERDICT_FAIL, told_decision.verdict);
                CHECK_EQUAL(answers[first].cause, told_decision.cause);
                CHECK_EQUAL(answers[first].delay, told_decision.delay);
                CHECK_EQUAL(1, told_sight.in_flight);
            }
            check_unasked(first, &before);
        }
    }
}

/* ---- waits --------------------------------------------------------------------------------- */

/* Who has least time left asks soonest. */
static void test_paced(void)
{
    static const struct {
        retry_ms timeout, elapsed, most;
    } rows[] = {
        {16000, 0, 100},   {16000, 1000, 88},    {16000, 4000, 57},
        {16000, 8000, 26}, {16000, 12000, 8},    {16000, 15000, 2},
        {16000, 15900, 2}, {UINT32_MAX, 0, 100}, {UINT32_MAX, 900000, 100},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_time now = START + rows[i].elapsed;
        retry_operation first;
        check_row("row %u", (unsigned)i);
        set_up(rows[i].timeout, 20);
        aimd.max = 1;
        retry_gates_aimd(&gates, &aimd);
        first = other(START);
        CHECK_SEND(retry_next(&first, START));
        CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&op, now)).delay);
        draw_next = UINT32_MAX;
        CHECK_EQUAL(rows[i].most, CHECK_WAIT(PACED, retry_next(&op, now)).delay);
        CHECK_EQUAL(2, drawn); /* one each time */
        CHECK_EQUAL(1, gates.in_flight);
        CHECK_EQUAL(0, told); /* no retry: not told, not counted, not paid */
        CHECK_EQUAL(0, op.retries);
        CHECK_EQUAL(10000, retry_budget_balance(&budget));
        retry_ended(&first, 0, NULL, now);
        CHECK_SEND(retry_next(&op, now)); /* sooner than it was told: it has its turn */
        CHECK_EQUAL(1, gates.in_flight);
    }
}

/* A wait that leaves an attempt less than the least of what is known is no wait: an eighth of the
   timeout, half of cut_after, twice what answers take. */
static void test_no_time_to_wait(void)
{
    static const struct {
        retry_ms timeout, cut_after, slow, elapsed;
        bool expires;
    } rows[] = {
        {1000, 0, 0, 874, false},
        {1000, 0, 0, 875, true},
        {1007, 0, 0, 881, false}, /* 125 */
        {1007, 0, 0, 882, true},
        {1000, 200, 0, 899, false},
        {1000, 200, 0, 900, true},
        {1000, 201, 0, 898, false}, /* 101 */
        {1000, 201, 0, 899, true},
        {300, 1000, 0, 262, false}, /* 37 */
        {300, 1000, 0, 263, true},
        {1000, 0, 20, 959, false},
        {1000, 0, 20, 960, true},
        {1000, 200, 20, 959, false},
        {1000, 200, 20, 960, true},
        {1000, 200, 90, 899, false},
        {1000, 200, 90, 900, true},
        {1000, 200, 1, 997, false},
        {1000, 200, 1, 998, true},
        {UINT32_MAX, 0, 0, 100000, false},
        {UINT32_MAX, 500, 0, 100000, false},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_time now = check_after(START, rows[i].elapsed);
        retry_operation first;
        retry_step step;
        check_row("row %u", (unsigned)i);
        set_up(rows[i].timeout, rows[i].cut_after);
        aimd.max = 1;
        retry_gates_aimd(&gates, &aimd);
        if (rows[i].slow != 0)
            other_ends(NULL, rows[i].slow, START);
        first = other(START);
        CHECK_SEND(retry_next(&first, START));
        step = retry_next(&op, now);
        if (rows[i].expires) {
            CHECK_END(EXPIRE, DEADLINE, step);
            CHECK_EQUAL(rows[i].timeout - rows[i].elapsed, step.delay);
        } else {
            CHECK_WAIT(PACED, step);
        }
        CHECK_EQUAL(rows[i].expires, told == 1);
        CHECK_EQUAL(1, gates.in_flight);
    }
}

/* The rate gives each who waits an instant of its own, one after the other. */
static void test_rate_keeps_an_instant(void)
{
    static const struct {
        uint8_t what, cause;
        retry_ms delay;
    } rows[] = {
        {RETRY_DO_SEND, RETRY_CAUSE_NONE, 0},       {RETRY_DO_SEND, RETRY_CAUSE_NONE, 0},
        {RETRY_DO_WAIT, RETRY_CAUSE_PACED, 25},     {RETRY_DO_WAIT, RETRY_CAUSE_PACED, 75},
        {RETRY_DO_WAIT, RETRY_CAUSE_PACED, 125},    {RETRY_DO_WAIT, RETRY_CAUSE_PACED, 175},
        {RETRY_DO_WAIT, RETRY_CAUSE_PACED, 225},    {RETRY_DO_END, RETRY_CAUSE_THROTTLED, 275},
        {RETRY_DO_END, RETRY_CAUSE_THROTTLED, 275},
    };
    static retry_operation ops[CHECK_COUNT(rows)];
    size_t i;
    set_up(10000, 0);
    rate.max = 20000; /* one each 50 ms, and two and a half at once */
    retry_gates_rate(&gates, &rate);
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_step step;
        check_row("operation %u", (unsigned)i);
        ops[i] = start(START);
        step = retry_next(&ops[i], START);
        CHECK_EQUAL(rows[i].what, step.what);
        CHECK_EQUAL(rows[i].cause, step.cause);
        CHECK_EQUAL(rows[i].delay, step.delay);
    }
    CHECK_EQUAL(2, gates.in_flight);
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("operation %u", (unsigned)i);
        if (rows[i].what == RETRY_DO_WAIT) { /* whoever it is, its instant has come */
            CHECK_WAIT(PACED, retry_next(&ops[i], START + rows[i].delay - 1));
            CHECK_SEND(retry_next(&ops[i], START + rows[i].delay));
        }
    }
    CHECK_EQUAL(7, gates.in_flight);
}

/* Who does not come leaves its instant to the next. */
static void test_rate_takes_back(void)
{
    enum { STOPPED, CANCELLED, STARTED, REFUSED, KEPT, WAYS };
    unsigned way;
    for (way = 0; way < WAYS; way++) {
        retry_operation next;
        retry_step step;
        check_row("way %u", way);
        set_up(10000, 0);
        spend_rate(5000);
        CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
        if (way == STOPPED) {
            retry_stop(&op, START);
        } else if (way == CANCELLED) {
            retry_cancel(&op, START);
            CHECK_END(FAIL, CANCELLED, retry_next(&op, START));
        } else if (way == STARTED) {
            retry_start(&op, NULL, START);
        } else if (way == REFUSED) {
            retry_breaker_set(&breaker, RETRY_BREAKER_ISOLATED, START);
            retry_gates_breaker(&gates, &breaker);
            CHECK_END(FAIL, CIRCUIT_OPEN, retry_next(&op, START));
            retry_gates_breaker(&gates, NULL);
        }
        CHECK(!op.ambiguous);
        next = start(START);
        step = CHECK_WAIT(PACED, retry_next(&next, START));
        CHECK_EQUAL(way == KEPT ? 2000 : 1000, step.delay);
    }
}

/* An instant that is kept comes nearer; who asks too early waits for what is left. */
static void test_rate_instant_comes_nearer(void)
{
    set_up(10000, 0);
    spend_rate(5000);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
    CHECK_EQUAL(600, CHECK_WAIT(PACED, retry_next(&op, START + 400)).delay);
    CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&op, START + 999)).delay);
    CHECK_SEND(retry_next(&op, START + 1000));
}

/* A retry whose delay is over waits for its instant alone. */
static void test_rate_keeps_a_retrys_instant(void)
{
    set_up(10000, 0);
    fail_once();
    spend_rate(5000);
    CHECK_EQUAL(990, CHECK_WAIT(PACED, retry_next(&op, START + 10)).delay);
    CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&op, START + 999)).delay);
    CHECK_SEND(retry_next(&op, START + 1000));
}

/* While the limit makes its attempt wait an instant is kept for as long as the bucket could have
   held it, here 125 ms. Then the attempt takes another. */
static void test_rate_keeps_an_instant_for(void)
{
    static const struct {
        retry_ms late, next;
    } rows[] = {{0, 125}, {124, 1}, {125, 0}, {126, 125}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_operation next;
        retry_time now = START + 125 + rows[i].late;
        check_row("%lu ms late", (unsigned long)rows[i].late);
        set_up(10000, 0);
        rate.max = 8000;
        rate.wait = 5000;
        retry_gates_rate(&gates, &rate);
        other_ends(NULL, 0, START);
        CHECK_EQUAL(125, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
        aimd.max = gates.in_flight = 1; /* somebody else's */
        retry_gates_aimd(&gates, &aimd);
        CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&op, now)).delay);
        gates.in_flight = 0;
        aimd.max = 2;
        CHECK_SEND(retry_next(&op, now));
        next = start(now);
        CHECK_EQUAL(rows[i].next, retry_next(&next, now).delay);
    }
}

/* A limit before the rate takes the place back while the rate makes wait; the rate keeps its
   instant while the limit does. */
static void test_limit_and_rate(void)
{
    retry_operation holder, next;
    set_up(10000, 0);
    spend_rate(5000);
    aimd.max = 1;
    retry_gates_aimd(&gates, &aimd);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_EQUAL(600, CHECK_WAIT(PACED, retry_next(&op, START + 400)).delay);
    retry_gates_rate(&gates, NULL);
    holder = other(START + 400);
    CHECK_SEND(retry_next(&holder, START + 400));
    retry_gates_rate(&gates, &rate);
    CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&op, START + 1000)).delay);
    retry_ended(&holder, 0, NULL, START + 1100);
    CHECK_SEND(retry_next(&op, START + 1100));
    CHECK_EQUAL(1, gates.in_flight);
    retry_ended(&op, 0, NULL, START + 1100);
    next = start(START + 1100);
    CHECK_EQUAL(900, CHECK_WAIT(PACED, retry_next(&next, START + 1100)).delay); /* charged once */
}

/* Turns that pass while the limit makes their attempts wait are not saved up: all have one at
   START, when answers come at once. Then they take a second; for three seconds the limit is 5. No
   second has more than the rate and a bucket. */
static void test_turns_do_not_pile_up(void)
{
    enum { MOST = 1000 / CHECK_ONE_IN }; /* more has no room in 64 KB */
    static retry_operation ops[MOST];
    static retry_time due[MOST], sent[MOST];
    uint32_t begun = 0, in_all = 0, first = 0, waiting = 0, i;
    retry_time now;
    set_up(60000, 0);
    client.strategy = retry_fail_fast();
    aimd.max = 5;
    rate.max = 50000;
    rate.wait = 60000;
    retry_gates_aimd(&gates, &aimd);
    retry_gates_rate(&gates, &rate);
    for (now = START; now < START + 8000; now++) {
        if (now == START + 3000)
            aimd.max = 1000;
        for (; begun < MOST; begun++) {
            due[begun] = now;
            ops[begun] = start(now);
        }
        for (i = 0; i < begun; i++) {
            retry_step step;
            if (due[i] != now)
                continue;
            step = retry_next(&ops[i], now);
            due[i] = step.what == RETRY_DO_WAIT ? now + step.delay : now - 1;
            if (step.what == RETRY_DO_SEND) {
                retry_ended(&ops[i], 0, NULL, now); /* as far as it knows */
                if (now == START)
                    continue;
                gates.in_flight++;
                sent[in_all++] = now;
            }
        }
        while (in_all != 0 && first < in_all && sent[first] + 1000 <= now) {
            gates.in_flight--;
            first++;
        }
        waiting = in_all - first; /* sent within a second */
        check_row("at %u ms", (unsigned)(now - START));
        CHECK_RANGE(0, 50 + 7, waiting);
    }
    CHECK_RANGE(MOST < 250 ? 150 : 250, 280, in_all);
    CHECK_EQUAL(in_all - first, gates.in_flight);
}

/* A turn that is given back is what was taken, at whatever limit. It frees its own instant only,
   and that if it is the last, and to come. */
static void test_turns_given_back(void)
{
    static const struct {
        uint32_t burst;
        unsigned stopped;
        retry_ms at, next;
    } rows[] = {
        /* turns at 15, 35 and 55 ms */
        {0, 2, 0, 55},
        {0, 1, 0, 75},
        {0, 0, 0, 75},
        {0, 3, 0, 75},
        {0, 0, 40, 35},
        {0, 2, 40, 15},
        {0, 2, 55, 20},
        {0, 2, 56, 19},
        /* turns at 20, 40 and 60 ms */
        {1000, 2, 0, 60},
        {1000, 1, 0, 80},
        {1000, 0, 0, 80},
        {1000, 3, 0, 80},
        {1000, 2, 50, 10},
        {1000, 0, 50, 30},
        {2000, 2, 0, 60},
        {2000, 1, 0, 80},
        {2000, 0, 0, 80},
    };
    size_t i;
    retry_operation next;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_operation turns[3];
        retry_time now = check_after(START, rows[i].at);
        unsigned n;
        check_row("row %u", (unsigned)i);
        set_up(60000, 0);
        rate.max = 50000;
        rate.wait = 1000;
        rate.burst = rows[i].burst;
        retry_gates_rate(&gates, &rate);
        for (next = start(START); retry_next(&next, START).what == RETRY_DO_SEND;)
            next = start(START);
        turns[0] = next;
        for (n = 1; n < 3; n++) {
            turns[n] = start(START);
            CHECK_WAIT(PACED, retry_next(&turns[n], START));
        }
        if (rows[i].stopped < 3)
            retry_stop(&turns[rows[i].stopped], now);
        next = start(now);
        CHECK_EQUAL(rows[i].next, CHECK_WAIT(PACED, retry_next(&next, now)).delay);
    }
    set_up(60000, 0);
    rate.max = 1000;
    rate.wait = 5000;
    retry_gates_rate(&gates, &rate);
    CHECK_SEND(retry_next(&op, START));
    next = start(START);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&next, START)).delay);
    rate.max = 100000;
    retry_stop(&next, START);
    next = start(START);
    CHECK_EQUAL(1000 + 10 - 125, CHECK_WAIT(PACED, retry_next(&next, START)).delay);
}

/* However many are stopped, and whenever, those who are left do not bunch. Their turns are gone:
   here, where few live to theirs, nearly all. */
static void test_stops_do_not_bunch(void)
{
    enum { WAITING = 64 };
    static retry_operation ops[WAITING];
    static retry_time due[WAITING], sent[8000 / CHECK_ONE_IN];
    uint32_t burst, in_all, first, i;
    retry_time now;
    for (burst = 0; burst < 3000; burst += 1000) {
        set_up(60000, 0);
        client.strategy = retry_fail_fast();
        rate.max = 50000;
        rate.wait = 250;
        rate.burst = burst;
        retry_gates_rate(&gates, &rate);
        memset(ops, 0, sizeof ops);
        memset(due, 0, sizeof due);
        in_all = first = 0;
        for (now = START; now < START + 8000; now++) {
            uint32_t stops = check_random() % 3;
            for (; stops != 0; stops--) {
                i = check_random() % WAITING;
                retry_stop(&ops[i], now);
                due[i] = 0;
            }
            for (i = 0; i < WAITING; i++) {
                retry_step step;
                if (due[i] == 0 && check_random() % 8 == 0) {
                    ops[i] = start(now);
                    due[i] = now;
                }
                if (due[i] != now)
                    continue;
                step = retry_next(&ops[i], now);
                due[i] = step.what == RETRY_DO_WAIT ? now + step.delay : 0;
                if (step.what == RETRY_DO_SEND) {
                    retry_ended(&ops[i], 0, NULL, now);
                    sent[in_all++] = now;
                }
            }
            while (first < in_all && now - sent[first] >= 100)
                first++;
            check_row("burst %u, at %u ms", (unsigned)burst, (unsigned)(now - START));
            CHECK_RANGE(0, 5 + (burst ? burst / 1000 : 7), in_all - first);
        }
        CHECK_RANGE(10, 410, in_all);
    }
}

/* What was sent has used its token, whatever becomes of it. */
static void test_rate_after_stop(void)
{
    retry_operation next;
    set_up(10000, 0);
    rate.max = 1000;
    rate.wait = 5000;
    retry_gates_rate(&gates, &rate);
    CHECK_SEND(retry_next(&op, START));
    retry_stop(&op, START);
    next = start(START);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&next, START)).delay);
    CHECK_SEND(retry_next(&next, START + 1000));
    retry_stop(&next, START + 1000);
    next = start(START + 1000);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&next, START + 1000)).delay);
}

/* A turn is forgotten with the gates that kept it. */
static void test_gates_gone_with_a_turn(void)
{
    retry_operation next;
    set_up(10000, 0);
    rate.max = 1000;
    rate.wait = 5000;
    retry_gates_rate(&gates, &rate);
    CHECK_SEND(retry_next(&op, START));
    retry_ended(&op, 0, NULL, START);
    next = start(START);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&next, START)).delay);
    retry_client_nodes(&client, NULL, 0);
    retry_stop(&next, START);
    CHECK_END(FAIL, CANCELLED, retry_next(&next, START));
    CHECK_EQUAL(0, gates.in_flight);
}

/* Who has passed a throttle is sent when the gates behind it have gone. */
static void test_gates_gone_with_a_draw(void)
{
    set_up(10000, 0);
    retry_gates_throttle(&gates, &throttle);
    aimd.max = gates.in_flight = 1;
    retry_gates_aimd(&gates, &aimd);
    CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
    CHECK_EQUAL(2, drawn); /* the throttle's, and the turn's */
    retry_client_nodes(&client, NULL, 0);
    CHECK_SEND(retry_next(&op, START + 1));
    CHECK_WAIT(NONE, retry_next(&op, START + 1));
    retry_ended(&op, 0, NULL, START + 2);
    CHECK_END(SUCCESS, NONE, retry_next(&op, START + 2));
}

/* A probe that a later gate refuses, or lets wait, leaves its place to another. */
static void test_probe_given_back(void)
{
    static const struct {
        unsigned gate;
        retry_ms wait; /* the rate's */
        uint8_t what, cause;
        retry_ms delay;
    } rows[] = {
        {THROTTLE, 0, RETRY_DO_END, RETRY_CAUSE_THROTTLED, 0},
        {AIMD, 0, RETRY_DO_WAIT, RETRY_CAUSE_PACED, 1},
        {RATE, 250, RETRY_DO_END, RETRY_CAUSE_THROTTLED, 500},
        {RATE, 5000, RETRY_DO_WAIT, RETRY_CAUSE_PACED, 500},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_operation next;
        retry_step step;
        unsigned n;
        check_row("row %u", (unsigned)i);
        set_up(10000, 0);
        refuse_all();
        rate.wait = rows[i].wait;
        retry_gates_breaker(&gates, &breaker);
        add(rows[i].gate);
        step = retry_next(&op, START + 500);
        CHECK_EQUAL(rows[i].what, step.what);
        CHECK_EQUAL(rows[i].cause, step.cause);
        CHECK_EQUAL(rows[i].delay, step.delay);
        CHECK_EQUAL(1, gates.in_flight); /* who held its place before */
        remove_all();
        retry_gates_breaker(&gates, &breaker);
        next = start(START + 500);
        CHECK_SEND(retry_next(&next, START + 500));
        CHECK_EQUAL(2, gates.in_flight);
        for (n = 0; n < 3; n++) { /* one probe at a time: who was refused has no place to leave */
            op = start(START + 500);
            CHECK_END(FAIL, CIRCUIT_OPEN, retry_next(&op, START + 500));
            retry_stop(&op, START + 500);
        }
        CHECK_EQUAL(2, gates.in_flight);
    }
}

/* ---- what the gates are told --------------------------------------------------------------- */

/* The way of an operation that works the third time. */
static void test_operation(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_KV_TEMPORARY_FAILURE);
    retry_step step;
    retry_time now = START;
    uint32_t tries = 0;
    set_up(1000, 300);
    aimd.max = 4;
    add_all();
    while ((step = retry_next(&op, now)).what != RETRY_DO_END && tries < 9) {
        if (step.what == RETRY_DO_SEND) {
            CHECK_EQUAL(300, step.timeout);
            CHECK_EQUAL(1, gates.in_flight);
            CHECK_EQUAL(300, CHECK_WAIT(NONE, retry_next(&op, now)).delay);
            now += 7;
            retry_ended(&op, 0, ++tries < 3 ? &failure : NULL, now);
            CHECK_EQUAL(0, gates.in_flight);
        } else {
            CHECK_WAIT(STRATEGY, step);
            now += step.delay;
        }
    }
    CHECK_END(SUCCESS, NONE, step);
    CHECK_EQUAL(3, tries);
    CHECK_EQUAL(2, op.retries);
    CHECK_EQUAL(3, retry_breaker_get(&breaker, now).reports);
    CHECK_EQUAL(0, retry_breaker_get(&breaker, now).sick);
}

/* The gates are told before the request decides, however a copy ends: the strategy and the observer
   see what it has changed. The copy that works is a probe. */
static void test_told_first(void)
{
    enum { WORKED, FAILED, TIMED_OUT, STOPPED, STARTED };
    static const struct {
        const char *name;
        struct sight sight; /* in flight, limit, sick, state */
        uint8_t verdict, cause;
        bool asked; /* the strategy was */
    } rows[] = {
        {"worked", {0, 4, 0, RETRY_BREAKER_CLOSED}, RETRY_VERDICT_SUCCESS, 0, false},
        {"failed", {0, 2, 1, RETRY_BREAKER_OPEN}, RETRY_VERDICT_RETRY, RETRY_CAUSE_STRATEGY, true},
        {"timed out",
         {0, 2, 1, RETRY_BREAKER_OPEN},
         RETRY_VERDICT_RETRY,
         RETRY_CAUSE_STRATEGY,
         true},
        {"stopped",
         {0, 4, 0, RETRY_BREAKER_CLOSED},
         RETRY_VERDICT_FAIL,
         RETRY_CAUSE_CANCELLED,
         false},
        {"started anew",
         {0, 4, 0, RETRY_BREAKER_CLOSED},
         RETRY_VERDICT_FAIL,
         RETRY_CAUSE_CANCELLED,
         false},
    };
    static const retry_strategy looks = {after_a_look};
    const retry_failure failure = timed_out();
    unsigned i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_time now = START + 300;
        check_row("%s", rows[i].name);
        set_up(10000, 300);
        client.strategy = &looks;
        if (i == WORKED) {
            open_breaker();
            now = START + 500;
        }
        breaker.volume = 1;
        aimd.max = 4;
        add_all();
        op = start(now - 300);
        CHECK_SEND(retry_next(&op, i == WORKED ? now : now - 300));
        CHECK_EQUAL(1, gates.in_flight);
        told = 0;
        if (i == TIMED_OUT)
            CHECK_CANCEL(retry_next(&op, now));
        else if (i == STOPPED)
            retry_stop(&op, now);
        else if (i == STARTED)
            retry_start(&op, NULL, now);
        else
            retry_ended(&op, 0, i == WORKED ? NULL : &failure, now);
        CHECK_EQUAL(1, told);
        CHECK_EQUAL(rows[i].verdict, told_decision.verdict);
        CHECK_EQUAL(rows[i].cause, told_decision.cause);
        CHECK_EQUAL(rows[i].asked, told_failure);
        check_sight(&rows[i].sight, &told_sight);
        if (rows[i].asked)
            check_sight(&rows[i].sight, &asked_sight);
    }
}

/* A copy whose time is over is sick, and told once, even if it ends by itself before its CANCEL. */
static void test_timed_out(void)
{
    unsigned late;
    for (late = 0; late < 2; late++) {
        check_row("late %u", late);
        set_up(1000, 300);
        breaker.volume = 100;
        add_all();
        CHECK_SEND(retry_next(&op, START));
        CHECK_EQUAL(1, CHECK_WAIT(NONE, retry_next(&op, START + 299)).delay);
        CHECK_EQUAL(1, gates.in_flight);
        CHECK_CANCEL(retry_next(&op, START + 300));
        CHECK_EQUAL(0, gates.in_flight);
        CHECK_EQUAL(RETRY_REASON_ATTEMPT_TIMED_OUT, op.failure.reason);
        CHECK(op.failure.timeout);
        if (late)
            retry_ended(&op, 0, NULL, START + 300);
        CHECK_WAIT(STRATEGY, retry_next(&op, START + 300));
        CHECK_EQUAL(1, retry_breaker_get(&breaker, START).reports);
        CHECK_EQUAL(1, retry_breaker_get(&breaker, START).sick);
    }
}

/* What comes while the copy is on the wire counts, however late. */
static void test_late_answer(void)
{
    set_up(1000, 300);
    breaker.volume = 1;
    add_all();
    CHECK_SEND(retry_next(&op, START));
    retry_ended(&op, 0, NULL, START + 5000);
    CHECK_END(SUCCESS, NONE, retry_next(&op, START + 5000));
    CHECK_EQUAL(1, retry_breaker_get(&breaker, START + 5000).reports);
    CHECK_EQUAL(0, retry_breaker_get(&breaker, START + 5000).sick);
    CHECK_EQUAL(0, gates.in_flight);
}

/* Thirty operations that are stopped: no gate has seen an outcome. */
static void test_stop(void)
{
    uint32_t i;
    set_up(10000, 500);
    breaker.volume = 1;
    aimd.max = 8;
    draw_next = 0; /* the throttle would refuse */
    add_all();
    for (i = 0; i < 30; i++) {
        op = start(START);
        CHECK_SEND(retry_next(&op, START));
        CHECK_EQUAL(1, gates.in_flight);
        retry_stop(&op, START + 100);
        CHECK_EQUAL(0, gates.in_flight); /* before the CANCEL is handed out */
        CHECK(op.ambiguous);
        CHECK_CANCEL(retry_next(&op, START + 100));
        CHECK_END(FAIL, CANCELLED, retry_next(&op, START + 100));
    }
    CHECK_EQUAL(0, retry_breaker_get(&breaker, START).reports);
    CHECK_EQUAL(8, retry_aimd_limit(&aimd));
    CHECK_EQUAL(UINT32_MAX, retry_rate_get(&rate));
    CHECK_EQUAL(500, time_given(START + 100));
}

/* A probe that is stopped leaves its place to another. */
static void test_stop_probe(void)
{
    retry_operation next;
    set_up(10000, 500);
    open_breaker();
    CHECK_SEND(retry_next(&op, START + 500));
    next = start(START + 500);
    CHECK_END(FAIL, CIRCUIT_OPEN, retry_next(&next, START + 500));
    retry_stop(&op, START + 500);
    next = start(START + 500);
    CHECK_SEND(retry_next(&next, START + 500));
    retry_ended(&next, 0, NULL, START + 501);
    CHECK_EQUAL(RETRY_BREAKER_CLOSED, retry_breaker_state(&breaker, START + 501));
}

/* A request that somebody cancels is as one that is stopped. */
static void test_cancelled(void)
{
    set_up(10000, 500);
    breaker.volume = 1;
    add_all();
    CHECK_SEND(retry_next(&op, START));
    retry_cancel(&op, START);
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_CANCEL(retry_next(&op, START + 100));
    CHECK_EQUAL(0, gates.in_flight);
    CHECK_END(FAIL, CANCELLED, retry_next(&op, START + 100));
    CHECK_EQUAL(0, retry_breaker_get(&breaker, START).reports);
}

/* An answer that took too long is sick: from when the attempt was sent. */
static void test_slow_answers(void)
{
    static const struct {
        retry_ms took;
        uint8_t state;
    } rows[] = {{99, RETRY_BREAKER_CLOSED}, {100, RETRY_BREAKER_OPEN}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("%u ms", (unsigned)rows[i].took);
        set_up(1000, 0);
        breaker.volume = 1;
        breaker.slow = 100;
        retry_gates_breaker(&gates, &breaker);
        other_ends(NULL, rows[i].took, START);
        CHECK_EQUAL(rows[i].state, retry_breaker_state(&breaker, START + rows[i].took));
    }
}

/* And not from when it began to wait. */
static void test_slow_after_a_wait(void)
{
    set_up(10000, 0);
    breaker.volume = 1;
    breaker.slow = 100;
    retry_gates_breaker(&gates, &breaker);
    spend_rate(5000);
    CHECK_WAIT(PACED, retry_next(&op, START));
    CHECK_SEND(retry_next(&op, START + 1000));
    retry_ended(&op, 0, NULL, START + 1099);
    CHECK_EQUAL(2, retry_breaker_get(&breaker, START + 1099).reports);
    CHECK_EQUAL(RETRY_BREAKER_CLOSED, retry_breaker_state(&breaker, START + 1099));
}

/* Ten attempts in flight that all time out: one fall. */
static void test_one_fall(void)
{
    const retry_failure failure = timed_out();
    static retry_operation ops[10];
    uint32_t i;
    set_up(10000, 500);
    aimd.max = 10;
    retry_gates_aimd(&gates, &aimd);
    for (i = 0; i < 10; i++) {
        ops[i] = start(START);
        CHECK_SEND(retry_next(&ops[i], START));
    }
    CHECK_EQUAL(10, gates.in_flight);
    for (i = 0; i < 10; i++)
        retry_ended(&ops[i], 0, &failure, START + 500 + i * 700);
    CHECK_EQUAL(5, retry_aimd_limit(&aimd));
    CHECK_EQUAL(0, gates.in_flight);
    other_ends(&failure, 1, START + 7000); /* it began after the fall */
    CHECK_EQUAL(2, retry_aimd_limit(&aimd));
}

/* A change a round trip. */
static void test_one_rise(void)
{
    const retry_failure failure = timed_out();
    static retry_operation ops[5];
    uint32_t i, round;
    retry_time now = START;
    set_up(UINT32_MAX, 500);
    aimd.max = 10;
    retry_gates_aimd(&gates, &aimd);
    other_ends(&failure, 0, START);
    CHECK_EQUAL(5, retry_aimd_limit(&aimd));
    for (round = 0; round < 5; round++) {
        check_row("round %lu", (unsigned long)round);
        now += 10;
        for (i = 0; i < 5; i++) {
            ops[i] = start(now);
            CHECK_SEND(retry_next(&ops[i], now));
        }
        for (i = 0; i < 5; i++)
            retry_ended(&ops[i], 0, NULL, ++now);
        CHECK_EQUAL(6 + round < 10 ? 6 + round : 10, retry_aimd_limit(&aimd));
    }
}

/* An attempt that ran out of less time than its node's answers take, and than half of cut_after, is
   no evidence for any gate; where no answer is known, of less than an eighth of cut_after. If
   attempt_timeout is less than that, it counts. */
static void test_impatient(void)
{
    static const struct {
        retry_ms cut_after, attempt_timeout, slow, had;
        bool evidence;
    } rows[] = {
        {800, 0, 0, 99, false},      {800, 0, 0, 100, true},     {807, 0, 0, 99, false},
        {807, 0, 0, 100, true},      {800, 400, 0, 49, false},   {800, 400, 0, 50, true},
        {400, 800, 0, 49, false},    {400, 800, 0, 50, true},    {0, 400, 0, 49, false},
        {0, 400, 0, 50, true},       {0, 0, 0, 1, true},         {7, 0, 0, 1, true},
        {800, 0, 300, 99, false},    {800, 0, 300, 299, false},  {800, 0, 300, 300, true},
        {800, 0, 10, 9, false},      {800, 0, 10, 10, true},     {800, 0, 500, 399, false},
        {800, 0, 500, 400, true},    {801, 0, 500, 400, false},  {801, 0, 500, 401, true},
        {800, 400, 500, 199, false}, {800, 400, 500, 200, true}, {0, 400, 500, 199, false},
        {0, 400, 500, 200, true},    {0, 0, 300, 299, false},    {0, 0, 300, 300, true},
    };
    static const struct {
        retry_reason reason;
        bool timeout, out_of_time;
    } kinds[] = {{RETRY_REASON_ATTEMPT_TIMED_OUT, true, true},
                 {RETRY_REASON_ATTEMPT_TIMED_OUT, false, true},
                 {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, false, false},
                 {RETRY_REASON_SOCKET_NOT_AVAILABLE, false, false},
                 {RETRY_REASON_SERVER_ERROR, false, false},
                 {RETRY_REASON_SERVER_ERROR, true, false}, /* 504: somebody else's time */
                 {RETRY_REASON_SERVER_ERROR, true, true}}; /* as its own was over */
    size_t i, k;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (k = 0; k < CHECK_COUNT(kinds); k++) {
            retry_failure failure = check_failure_of(kinds[k].reason);
            bool told_gates = rows[i].evidence || !kinds[k].out_of_time;
            uint32_t before = rows[i].slow != 0;
            retry_time now = START;
            check_row("row %u, kind %u", (unsigned)i, (unsigned)k);
            set_up(rows[i].had, rows[i].cut_after);
            client.attempt_timeout = rows[i].attempt_timeout;
            failure.timeout = kinds[k].timeout;
            aimd.max = 8;
            breaker.in_a_row = 1;
            retry_gates_aimd(&gates, &aimd);
            retry_gates_breaker(&gates, &breaker);
            if (rows[i].slow != 0)
                other_ends(NULL, rows[i].slow, START);
            CHECK_EQUAL(rows[i].had, CHECK_SEND(retry_next(&op, START)).timeout);
            if (kinds[k].reason == RETRY_REASON_SERVER_ERROR && kinds[k].out_of_time)
                now += rows[i].had;
            retry_ended(&op, 0, &failure, now); /* else its time is not over */
            CHECK_EQUAL(told_gates && kinds[k].timeout ? 4 : 8, retry_aimd_limit(&aimd));
            CHECK_EQUAL(told_gates ? RETRY_BREAKER_OPEN : RETRY_BREAKER_CLOSED,
                        retry_breaker_state(&breaker, now));
            CHECK_EQUAL(before + told_gates, retry_breaker_get(&breaker, now).reports);
            CHECK_EQUAL(0, gates.in_flight);
        }
    }
}

/* The same when retry_next finds that its time is over; and no round is counted. */
static void test_impatient_times_out(void)
{
    static const struct {
        retry_ms elapsed;
        uint32_t reports;
        retry_ms given;
    } rows[] = {{938, 1, 1000}, {939, 0, 500}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        set_up(1000, 500);
        breaker.volume = 100;
        retry_gates_breaker(&gates, &breaker);
        CHECK_SEND(retry_next(&op, START + rows[i].elapsed));
        CHECK_CANCEL(retry_next(&op, START + 1000));
        CHECK_END(EXPIRE, DEADLINE, retry_next(&op, START + 1000));
        CHECK_EQUAL(rows[i].reports, retry_breaker_get(&breaker, START + 1000).reports);
        CHECK_EQUAL(0, gates.in_flight);
        op_timeout = 100000;
        CHECK_EQUAL(rows[i].given, time_given(START + 1000));
    }
}

/* Who has 20 ms of a second is not impatient with a node that answers in less than 1 ms. */
static void test_fast_node(void)
{
    unsigned i;
    set_up(20, 1000);
    aimd.max = 20;
    breaker.in_a_row = 5;
    retry_gates_aimd(&gates, &aimd);
    retry_gates_breaker(&gates, &breaker);
    other_ends(NULL, 0, START);
    for (i = 0; i < 5; i++) {
        op = start(START + 20 * i);
        CHECK_SEND(retry_next(&op, START + 20 * i));
        CHECK_CANCEL(retry_next(&op, START + 20 * i + 20));
    }
    CHECK_EQUAL(RETRY_BREAKER_OPEN, retry_breaker_state(&breaker, START + 100));
    CHECK(retry_aimd_limit(&aimd) < 20);
}

/* Five operations of 20 ms in a row against a node that answers in 100: the breaker stays closed,
   the limit stays at 20, and nobody's time or wait grows. */
static void test_five_impatient_callers(void)
{
    unsigned known, i;
    for (known = 0; known < 2; known++) {
        retry_time now = START;
        check_row("known %u", known);
        set_up(20, 1000);
        aimd.max = 20;
        breaker.in_a_row = 5;
        add_all();
        if (known)
            other_ends(NULL, 100, now);
        for (i = 0; i < 5; i++, now += 20) {
            op = start(now);
            CHECK_SEND(retry_next(&op, now));
            CHECK_CANCEL(retry_next(&op, now + 20));
            CHECK_END(EXPIRE, DEADLINE, retry_next(&op, now + 20));
        }
        CHECK_EQUAL(RETRY_BREAKER_CLOSED, retry_breaker_state(&breaker, now));
        CHECK_EQUAL(known, retry_breaker_get(&breaker, now).reports);
        CHECK_EQUAL(20, retry_aimd_limit(&aimd));
        op_timeout = 5000;
        CHECK_EQUAL(1000, time_given(now));
    }
}

/* One that works is an answer, however little time it had. */
static void test_short_attempt_works(void)
{
    const retry_failure failure = timed_out();
    retry_operation beside;
    set_up(1000, 500);
    aimd.max = 8;
    retry_gates_aimd(&gates, &aimd);
    other_ends(&failure, 1, START);
    CHECK_EQUAL(4, retry_aimd_limit(&aimd));
    CHECK_SEND(retry_next(&op, START + 900));
    retry_ended(&op, 0, NULL, START + 950);
    CHECK_EQUAL(4, retry_aimd_limit(&aimd)); /* one of four in use: no reason to rise */
    beside = other(START + 960);
    CHECK_SEND(retry_next(&beside, START + 960));
    op = start(START + 60);
    CHECK_SEND(retry_next(&op, START + 960));
    retry_ended(&op, 0, NULL, START + 970);
    CHECK_EQUAL(5, retry_aimd_limit(&aimd));
    CHECK_EQUAL(1, gates.in_flight);
}

/* An attempt may be the probe if it is the operation's first, or has all of its time. */
static void test_who_may_probe(void)
{
    static const struct {
        retry_ms timeout, cut_after, elapsed;
        bool retried, probes;
    } rows[] = {
        {9000, 500, 700, false, true},      {9000, 500, 8900, false, true},
        {9000, 500, 700, true, true},       {9000, 500, 8500, true, true},
        {9000, 500, 8501, true, false},     {9000, 0, 700, true, false},
        {9000, 0, 8999, false, true},       {9000, 9000, 700, true, false},
        {UINT32_MAX, 500, 700, true, true},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        const retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
        retry_time now = START + rows[i].elapsed;
        retry_step step;
        check_row("row %u", (unsigned)i);
        set_up(rows[i].timeout, rows[i].cut_after);
        if (rows[i].retried) {
            CHECK_SEND(retry_next(&op, START));
            retry_ended(&op, 0, &failure, START);
        }
        open_breaker();
        step = retry_next(&op, now);
        if (rows[i].probes) {
            CHECK_SEND(step);
        } else {
            CHECK_END(FAIL, CIRCUIT_OPEN, step);
            CHECK_EQUAL(0, step.delay);
        }
    }
}

/* Only answers tell how long one takes: connections refused within 1 ms do not. */
static void test_latency_of_answers(void)
{
    const retry_failure refused = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    const retry_failure busy = check_failure_of(RETRY_REASON_KV_TEMPORARY_FAILURE);
    retry_time now = START;
    uint32_t i;
    set_up(UINT32_MAX, 0);
    latency.min_samples = 1;
    latency.quantile = RETRY_RATIO(0.5); /* most are refused */
    retry_gates_latency(&gates, &latency);
    for (i = 0; i < 4000; i++) {
        if (i % 4 != 0)
            other_ends(&refused, 1, now);
        else
            other_ends(i % 8 ? &busy : NULL, 100, now);
        now += 100;
    }
    CHECK_RANGE(80, 125, retry_latency_get(&latency));
}

/* One given up early, one that was never sent, and one that waits for its turn, teach nothing. */
static void test_latency_of_no_answers(void)
{
    const retry_failure unsent = check_failure_of(RETRY_REASON_CLIENT_THROTTLED);
    retry_latency before;
    uint32_t i;
    set_up(UINT32_MAX, 0);
    retry_gates_latency(&gates, &latency);
    for (i = 0; i < 1000; i++)
        other_ends(NULL, 100, START);
    CHECK_RANGE(90, 110, retry_latency_get(&latency));
    before = latency;
    rate.max = 1000;
    rate.wait = 5000;
    retry_gates_rate(&gates, &rate);
    CHECK_SEND(retry_next(&op, START));
    retry_stop(&op, START + 10);
    CHECK(memcmp(&before, &latency, sizeof before) == 0);
    op = start(START + 10);
    CHECK_WAIT(PACED, retry_next(&op, START + 10));
    CHECK_WAIT(PACED, retry_next(&op, START + 900));
    CHECK_SEND(retry_next(&op, START + 1000));
    CHECK(memcmp(&before, &latency, sizeof before) == 0);
    retry_ended(&op, 0, &unsent, START + 1900);
    CHECK(memcmp(&before, &latency, sizeof before) == 0);
    op = start(START + 2000);
    CHECK_SEND(retry_next(&op, START + 2000));
    retry_stop(&op, START + 2900); /* late: so much it does tell */
    CHECK(memcmp(&before, &latency, sizeof before) != 0);
    before = latency;
    op_timeout = 1000;
    client.cut_after = 500;
    op = start(START + 3000);
    CHECK_SEND(retry_next(&op, START + 3800)); /* with 200 ms of 500; so does one that timed out */
    CHECK_CANCEL(retry_next(&op, START + 4000));
    CHECK(memcmp(&before, &latency, sizeof before) != 0);
}

/* ---- the time of an attempt follows the server --------------------------------------------- */

/* What attempts teach one after the other, and the time that the next one has. */
static void test_slow(void)
{
    static const struct {
        retry_ms age, given; /* of the attempt; to the next one */
    } rows[] = {
        {40, 100},    {50, 100},     {51, 102},       {300, 600}, {100, 500},
        {249, 498},   {249, 498},    {248, 496},      {0, 372},   {186, 372},
        {0, 278},     {0, 208},      {0, 156},        {0, 116},   {0, 100},
        {2000, 4000}, {9999, 19998}, {99999, 100000}, /* at most what is left */
    };
    size_t i;
    set_up(100000, 100);
    add_all();
    CHECK_EQUAL(100, time_given(START));
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        other_ends(NULL, rows[i].age, START);
        CHECK_EQUAL(rows[i].given, time_given(START));
    }
}

/* A copy's answer after the clock was behind has taken no time. After one that was set back it has
   taken all of the copy's, and no more. */
static void test_slow_and_the_clock(void)
{
    static const retry_ms steps[] = {1, 1000, 32768, 32769, 60000, 86400000, UINT32_C(1) << 30};
    size_t i;
    for (i = 0; i < CHECK_COUNT(steps); i++) {
        bool set_back = steps[i] > 32768;
        retry_operation one;
        check_row("%lu ms back", (unsigned long)steps[i]);
        set_up(UINT32_MAX, 100);
        add_all();
        latency.min_samples = 1;
        other_ends(NULL, 100, START);
        one = start(START);
        CHECK_EQUAL(200, CHECK_SEND(retry_next(&one, START)).timeout);
        retry_ended(&one, 0, NULL, check_before(START, steps[i]));
        CHECK_EQUAL(set_back ? 400 : 150, time_given(START));
        CHECK_RANGE(1, 100 + set_back, retry_latency_get(&latency));
    }
}

/* An answer that comes late, or is told late, teaches at most the time that its copy had: not that
   its program was suspended for eight hours. */
static void test_slow_of_late_answers(void)
{
    static const struct {
        retry_ms cut_after, attempt_timeout, age, given;
    } rows[] = {{100, 0, 100, 200},        {100, 0, 101, 200},      {100, 0, 28800000, 200},
                {100, 0, 0x80000000, 200}, {0, 300, 28800000, 600}, {0, 0, 28800000, 5000},
                {0, 0, 700, 1400},         {100, 60, 28800000, 120}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        set_up(2500, rows[i].cut_after);
        client.attempt_timeout = rows[i].attempt_timeout;
        retry_gates_latency(&gates, &latency);
        CHECK_SEND(retry_next(&op, START));
        retry_ended(&op, 0, NULL, START + rows[i].age);
        client.cut_after = 100;
        client.attempt_timeout = 0;
        op_timeout = 100000;
        CHECK_EQUAL(rows[i].given, time_given(START + rows[i].age));
    }
}

/* Which reports are answers, and which are rounds. Before each: 300 ms, and one round. */
static void test_slow_of_failures(void)
{
    static const struct {
        retry_reason reason;
        bool throttle, timeout;
        retry_ms given;
    } rows[] = {
        {RETRY_REASON_CLIENT_THROTTLED, false, true, 1200},
        {RETRY_REASON_CIRCUIT_BREAKER_OPEN, true, true, 1200},
        {RETRY_REASON_KV_TEMPORARY_FAILURE, false, false, 500},
        {RETRY_REASON_KV_LOCKED, false, false, 500},
        {RETRY_REASON_NONE, false, false, 1200}, /* it says nothing */
        {RETRY_REASON_UNKNOWN, false, false, 500},
        {RETRY_REASON_KV_TEMPORARY_FAILURE, true, false, 1200},
        {RETRY_REASON_SERVER_ERROR, false, false, 1200},
        {RETRY_REASON_SOCKET_NOT_AVAILABLE, false, false, 1200},
        {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, false, false, 1200},
        {RETRY_REASON_CLIENT_THROTTLED, false, false, 1200},
        {RETRY_REASON_ATTEMPT_TIMED_OUT, false, false, 1200},
        {RETRY_REASON_ATTEMPT_TIMED_OUT, false, true, 2400},
        {RETRY_REASON_SERVER_ERROR, false, true, 2400},
        {RETRY_REASON_KV_LOCKED, true, true, 2400},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        const retry_failure late = timed_out();
        retry_failure failure = check_failure_of(rows[i].reason);
        check_row("row %u", (unsigned)i);
        set_up(100000, 100);
        retry_gates_latency(&gates, &latency);
        other_ends(NULL, 300, START);
        other_ends(&late, 100, START);
        CHECK_EQUAL(1200, time_given(START + 100));
        failure.throttle = rows[i].throttle;
        failure.timeout = rows[i].timeout;
        other_ends(&failure, 100, START + 200);
        CHECK_EQUAL(rows[i].given, time_given(START + 300));
    }
}

/* At most ten rounds; an answer ends them all. */
static void test_rounds(void)
{
    const retry_failure failure = timed_out();
    retry_time now = START;
    uint32_t i;
    set_up(100000, 10);
    retry_gates_latency(&gates, &latency);
    for (i = 0; i < 13; i++) {
        check_row("%lu rounds", (unsigned long)i);
        CHECK_EQUAL(10u << (i < 10 ? i : 10), time_given(now));
        other_ends(&failure, 5, now);
        now += 10;
    }
    other_ends(NULL, 4, now);
    CHECK_EQUAL(10, time_given(now));
    other_ends(&failure, 5, now);
    CHECK_EQUAL(20, time_given(now)); /* and they begin anew */
}

/* A round is counted once for all that were sent before it was. */
static void test_rounds_once(void)
{
    static const struct {
        retry_ms sent; /* ms after START; the round is counted at 100 */
        retry_ms given;
    } rows[] = {{0, 200}, {99, 200}, {100, 200}, {101, 400}};
    const retry_failure failure = timed_out();
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        static retry_operation ops[5];
        size_t n;
        check_row("sent at %lu", (unsigned long)rows[i].sent);
        set_up(100000, 100);
        retry_gates_latency(&gates, &latency);
        CHECK_SEND(retry_next(&op, START));
        if (rows[i].sent > 100)
            CHECK_CANCEL(retry_next(&op, START + 100));
        for (n = 0; n < CHECK_COUNT(ops); n++) {
            ops[n] = start(START + rows[i].sent);
            CHECK_SEND(retry_next(&ops[n], START + rows[i].sent));
        }
        if (rows[i].sent <= 100)
            CHECK_CANCEL(retry_next(&op, START + 100));
        CHECK_EQUAL(200, time_given(START + 100));
        for (n = 0; n < CHECK_COUNT(ops); n++)
            retry_ended(&ops[n], 0, &failure, START + 300 + (retry_ms)n);
        CHECK_EQUAL(rows[i].given, time_given(START + 310));
    }
}

/* After an answer a copy that was sent before it may count: there is no round. */
static void test_rounds_after_an_answer(void)
{
    const retry_failure failure = timed_out();
    retry_operation old;
    set_up(100000, 100);
    retry_gates_latency(&gates, &latency);
    old = other(START);
    CHECK_SEND(retry_next(&old, START));
    other_ends(&failure, 20, START);
    CHECK_EQUAL(200, time_given(START + 20));
    other_ends(NULL, 5, START + 20);
    CHECK_EQUAL(100, time_given(START + 25));
    retry_ended(&old, 0, &failure, START + 30);
    CHECK_EQUAL(200, time_given(START + 30));
}

/* An answer that took as long as what is known, or as little as can be, ends the rounds, too. */
static void test_rounds_end(void)
{
    static const struct {
        retry_ms first, age, given; /* an answer or 0 for none; the one after a round */
    } rows[] = {{0, 0, 10},  {0, 1, 10},   {0, 16, 32},    {0, 20, 40},
                {0, 31, 62}, {20, 20, 40}, {300, 300, 600}};
    const retry_failure failure = timed_out();
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        set_up(100000, 10);
        retry_gates_latency(&gates, &latency);
        if (rows[i].first != 0)
            other_ends(NULL, rows[i].first, START);
        other_ends(&failure, 5, START);
        CHECK_EQUAL(2 * (rows[i].first > 5 ? 2 * rows[i].first : 10), time_given(START + 400));
        other_ends(NULL, rows[i].age, START + 400);
        CHECK_EQUAL(rows[i].given, time_given(START + 800));
    }
}

/* Answers of a few ms. */
static void test_slow_of_few_ms(void)
{
    static const struct {
        retry_ms first, second, given;
    } rows[] = {{1, 2, 4}, {2, 1, 2}, {2, 0, 2}, {1, 0, 2}, {4, 2, 6}, {1, 1, 2}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        set_up(1000, 1);
        retry_gates_latency(&gates, &latency);
        other_ends(NULL, rows[i].first, START);
        other_ends(NULL, rows[i].second, START);
        CHECK_EQUAL(rows[i].given, time_given(START));
    }
}

/* Three days are the slowest that is kept. */
static void test_slow_of_days(void)
{
    static const struct {
        retry_ms age, given;
    } rows[] = {{0x0ffffffe, 0x1ffffffc},
                {0x0fffffff, 0x1ffffffe},
                {0x10000000, 0x1ffffffe},
                {0x10000001, 0x1ffffffe},
                {0x20000000, 0x1ffffffe}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        set_up(UINT32_MAX, 100);
        retry_gates_latency(&gates, &latency);
        other_ends(NULL, rows[i].age, START);
        CHECK_EQUAL(rows[i].given, time_given(START + rows[i].age));
    }
}

/* The next round is counted however long after the last, but for the 32,768 ms that the clock may
   be behind: what was sent then looks as if it had been before. */
static void test_rounds_far_apart(void)
{
    static const struct {
        uint32_t sent; /* ms after the last round */
        retry_ms given;
    } rows[] = {{1, 400},
                {0x40000000, 400},
                {0x40000001, 400},
                {0x80000001, 400},
                {UINT32_MAX - 32768 - 50, 400},
                {UINT32_MAX - 32767 - 50, 200}};
    const retry_failure failure = timed_out();
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_time sent = check_after(START + 50, rows[i].sent);
        check_row("row %u", (unsigned)i);
        set_up(100000, 100);
        retry_gates_latency(&gates, &latency);
        other_ends(&failure, 50, START);
        CHECK_EQUAL(200, time_given(START + 50));
        other_ends(&failure, 50, sent);
        CHECK_EQUAL(rows[i].given, time_given(check_after(sent, 50)));
    }
}

/* What bounds it: what is left, the request's own timeout, attempt_timeout, and a budget that
   pays for nothing that could follow. Each after an answer of 150 ms and two rounds. */
static void test_bounds(void)
{
    static const struct {
        retry_ms timeout, cut_after, max;
        uint32_t balance, floor, refill;
        retry_ms expected;
    } rows[] = {
        {9000, 100, 0, 10000, 0, 0, 1200},       {9000, 200, 0, 10000, 0, 0, 1200},
        {9000, 400, 0, 10000, 0, 0, 1600},       {1000, 100, 0, 10000, 0, 0, 1000},
        {9000, 100, 1199, 10000, 0, 0, 1199},    {9000, 100, 1201, 10000, 0, 0, 1200},
        {9000, 100, 100, 10000, 0, 0, 100}, /* fixed */
        {9000, 100, 50, 10000, 0, 0, 50},        {9000, 0, 0, 10000, 0, 0, 9000},
        {9000, 0, 700, 10000, 0, 0, 700},        {600, 0, 700, 10000, 0, 0, 600},
        {9000, 100, 0, 2000, 0, 0, 1200}, /* two retries */
        {9000, 100, 0, 1999, 0, 0, 9000}, /* one */
        {9000, 100, 700, 1999, 0, 0, 700},       {9000, 100, 0, 1999, 0, 1, 1200},
        {9000, 100, 0, 7000, 5000, 0, 1200},     {9000, 100, 0, 6999, 5000, 0, 9000},
        {9000, 100, 0, 10, 5000, 0, 9000},       {UINT32_MAX, 100, 0, 1999, 0, 0, UINT32_MAX},
        {UINT32_MAX, 100, 0, 10000, 0, 0, 1200},
    };
    const retry_failure failure = timed_out();
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options;
        check_row("row %u", (unsigned)i);
        set_up(rows[i].timeout, rows[i].cut_after);
        retry_gates_latency(&gates, &latency);
        memset(&options, 0, sizeof options);
        options.capacity = 10000;
        options.retry_cost = 1000;
        retry_budget_init(&budget, &options, START);
        CHECK(retry_budget_withdraw(&budget, 10000 - rows[i].balance, START));
        budget.options.floor = rows[i].floor;
        budget.options.refill_per_second = rows[i].refill;
        other_ends(NULL, 150, START);
        other_ends(&failure, 10, START);
        other_ends(&failure, 10, START + 20);
        client.attempt_timeout = rows[i].max;
        CHECK_EQUAL(rows[i].expected, time_given(START + 30));
    }
}

/* A request that has less than cut_after starts from what it has. */
static void test_short_request(void)
{
    const retry_failure failure = timed_out();
    set_up(80, 100);
    retry_gates_latency(&gates, &latency);
    other_ends(&failure, 10, START);
    CHECK_EQUAL(80, time_given(START));
    op_timeout = 160;
    CHECK_EQUAL(160, time_given(START));
    op_timeout = 300;
    CHECK_EQUAL(200, time_given(START));
}

/* ---- a server that answers nothing --------------------------------------------------------- */

/* Failures that say nothing of load lower the limit from the third in a row on. */
static void test_third_in_a_row(void)
{
    static const struct {
        retry_reason reason;
        uint32_t code;
        bool throttle, timeout;
        uint32_t limits[4]; /* after each of three; after the third if an answer came before it */
    } rows[] = {
        {RETRY_REASON_SERVER_ERROR, 503, false, false, {8, 8, 4, 8}},
        {RETRY_REASON_SERVER_ERROR, 500, false, false, {8, 8, 8, 8}},
        {RETRY_REASON_SOCKET_NOT_AVAILABLE, 0, false, false, {8, 8, 4, 8}},
        {RETRY_REASON_NODE_NOT_AVAILABLE, 0, false, false, {8, 8, 4, 8}},
        {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, 0, false, false, {8, 8, 4, 8}},
        {RETRY_REASON_ATTEMPT_TIMED_OUT, 0, false, true, {4, 2, 1, 1}},
        {RETRY_REASON_KV_TEMPORARY_FAILURE, 0, true, false, {4, 2, 1, 1}},
        {RETRY_REASON_KV_TEMPORARY_FAILURE, 0, false, false, {8, 8, 8, 8}},
    };
    size_t i;
    uint32_t n;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_failure failure = check_failure_of(rows[i].reason);
        failure.code = rows[i].code;
        failure.throttle = rows[i].throttle;
        failure.timeout = rows[i].timeout;
        check_row("row %u", (unsigned)i);
        set_up(100000, 100);
        aimd.max = 8;
        retry_gates_aimd(&gates, &aimd);
        for (n = 0; n < 3; n++) {
            other_ends(&failure, 1, START + 2000 * n);
            CHECK_EQUAL(rows[i].limits[n], retry_aimd_limit(&aimd));
        }
        set_up(100000, 100);
        aimd.max = 8;
        retry_gates_aimd(&gates, &aimd);
        other_ends(&failure, 1, START);
        other_ends(&failure, 1, START + 2000);
        other_ends(NULL, 1, START + 4000); /* the row ends; one of so many: no reason to rise */
        other_ends(&failure, 1, START + 6000);
        CHECK_EQUAL(rows[i].limits[3], retry_aimd_limit(&aimd));
    }
}

/* Who asks in a pause waits for its end, and for a turn. */
static void test_pause(void)
{
    static const retry_ms pauses[] = {100, 200, 400, 800, 1000, 1000};
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    retry_time now = START;
    uint32_t i, high;
    for (high = 0; high < 2; high++) {
        set_up(UINT32_MAX, 100);
        aimd.max = 1; /* at its least from the start */
        retry_gates_aimd(&gates, &aimd);
        for (i = 0; i < CHECK_COUNT(pauses); i++) {
            retry_ms pause = high ? pauses[i] : pauses[i] / 2, turn = high ? 100 : 1;
            check_row("failure %lu, high %lu", (unsigned long)i, (unsigned long)high);
            draw_next = high ? UINT32_MAX : 0;
            other_ends(&failure, 0, now);
            op = start(now);
            if (i < 2) { /* the third in a row is the first that counts */
                CHECK_SEND(retry_next(&op, now));
                retry_stop(&op, now);
            } else {
                drawn = 0;
                CHECK_EQUAL(pause + turn, CHECK_WAIT(PACED, retry_next(&op, now)).delay);
                CHECK_EQUAL(1, drawn);
                CHECK_EQUAL(1 + turn, CHECK_WAIT(PACED, retry_next(&op, now + pause - 1)).delay);
                CHECK_SEND(retry_next(&op, now + pause));
                retry_stop(&op, now + pause);
            }
            now += pause;
        }
    }
}

/* A pause ends with an answer, or when the limit is above its least; a failure does not end it. */
static void test_pause_ends(void)
{
    enum { ANSWERED, LOWERED, SICK, ENDS };
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    unsigned end;
    for (end = 0; end < ENDS; end++) {
        retry_operation early;
        uint32_t i;
        check_row("end %u", end);
        set_up(UINT32_MAX, 100);
        aimd.max = aimd.min = 2;
        retry_gates_aimd(&gates, &aimd);
        early = other(START);
        CHECK_SEND(retry_next(&early, START));
        for (i = 0; i < 3; i++)
            other_ends(&failure, 0, START + 500 * i);
        draw_next = 0;
        CHECK_WAIT(PACED, retry_next(&op, START + 1000));
        CHECK_EQUAL(1, gates.in_flight);
        if (end == ANSWERED)
            retry_ended(&early, 0, NULL, START + 1000);
        else if (end == SICK)
            retry_ended(&early, 0, &failure, START + 1000);
        else
            aimd.min = 1;
        if (end == SICK)
            CHECK_WAIT(PACED, retry_next(&op, START + 1000));
        else
            CHECK_SEND(retry_next(&op, START + 1000));
    }
}

/* It begins when the limit is at its least, which the failure itself may have lowered. */
static void test_pause_begins(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    uint32_t i;
    set_up(UINT32_MAX, 100);
    aimd.max = 2;
    retry_gates_aimd(&gates, &aimd);
    draw_next = UINT32_MAX;
    for (i = 0; i < 3; i++) {
        CHECK_EQUAL(2, retry_aimd_limit(&aimd));
        other_ends(&failure, 1, START + 10 * i);
    }
    CHECK_EQUAL(1, retry_aimd_limit(&aimd));
    CHECK_RANGE(499, 500, CHECK_WAIT(PACED, retry_next(&op, START + 21)).delay);
}

/* Who is throttled is answered: nobody has to pause. */
static void test_no_pause(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_TEMPORARY_FAILURE);
    uint32_t i;
    failure.throttle = true;
    set_up(UINT32_MAX, 100);
    aimd.max = 1;
    retry_gates_aimd(&gates, &aimd);
    draw_next = UINT32_MAX;
    for (i = 0; i < 5; i++)
        other_ends(&failure, 1, START + 10 * i);
    CHECK_SEND(retry_next(&op, START + 50));
}

/* A pause that runs is not lengthened by who was sent before it. */
static void test_pause_runs(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    retry_operation early;
    uint32_t i;
    set_up(UINT32_MAX, 100);
    aimd.max = aimd.min = 2;
    retry_gates_aimd(&gates, &aimd);
    draw_next = UINT32_MAX;
    early = other(START);
    CHECK_SEND(retry_next(&early, START));
    for (i = 0; i < 3; i++)
        other_ends(&failure, 0, START + 500 * i); /* until START + 1400 */
    retry_ended(&early, 0, &failure, START + 1300);
    CHECK_EQUAL(150, CHECK_WAIT(PACED, retry_next(&op, START + 1350)).delay);
    CHECK_SEND(retry_next(&op, START + 1400));
}

/* A wait for the end of a pause that leaves too little time is an end at once; `delay` is what was
   left, or the wait, if that is longer. */
static void test_pause_and_deadline(void)
{
    static const struct {
        retry_ms timeout, delay; /* 0: it waits */
    } rows[] = {{700, 0},   {572, 0},   {571, 0}, {570, 570}, {501, 501},
                {500, 500}, {499, 500}, {8, 500}, {7, 500},   {1, 500}};
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    size_t i;
    uint32_t n;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("%lu ms", (unsigned long)rows[i].timeout);
        set_up(rows[i].timeout, 0);
        aimd.max = 1;
        retry_gates_aimd(&gates, &aimd);
        draw_next = UINT32_MAX;
        for (n = 0; n < 3; n++)
            other_ends(&failure, 0, START + 500 * n);
        op = start(START + 1000);
        if (rows[i].delay == 0)
            CHECK_EQUAL(500, CHECK_WAIT(PACED, retry_next(&op, START + 1000)).delay);
        else
            CHECK_EQUAL(rows[i].delay,
                        CHECK_END(EXPIRE, DEADLINE, retry_next(&op, START + 1000)).delay);
    }
}

/* The same while a server holds all back: who has time waits, who has not hears at once how long it
   would have been. Others of its attempts that are out go on. */
static void test_hold_and_deadline(void)
{
    static const struct {
        retry_ms hold_max, timeout, wait, delay; /* delay 0: it waits */
    } rows[] = {
        {0, 5000, 2001, 0},       {0, 2300, 2001, 0},
        {0, 2200, 0, 2200},       {0, 1900, 0, 2001},
        {30000, 60000, 30001, 0}, {30000, 5000, 0, 30001},
        {30000, 31000, 0, 31000}, {90000, 5000, 0, 57601},
        {1, 5000, 0, 0},          {90000, UINT32_MAX, 57601, 0},
    };
    const retry_failure refused = retry_classify_http(429, 57600);
    size_t i;
    uint32_t n;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_step step;
        check_row("hold_max %lu, %lu ms", (unsigned long)rows[i].hold_max,
                  (unsigned long)rows[i].timeout);
        set_up(rows[i].timeout, 0);
        aimd.max = 8;
        aimd.hold_max = rows[i].hold_max;
        retry_gates_aimd(&gates, &aimd);
        draw_next = 0;
        for (n = 0; n < 5; n++)
            other_ends(&refused, 0, START);
        op = start(START);
        step = retry_next(&op, START);
        if (rows[i].delay != 0) {
            CHECK_END(EXPIRE, DEADLINE, step);
            CHECK_RANGE(rows[i].delay, rows[i].delay + 1, step.delay);
            CHECK_EQUAL(1, told);
        } else if (rows[i].wait != 0) {
            CHECK_WAIT(PACED, step);
            CHECK_RANGE(rows[i].wait, rows[i].wait + 1, step.delay);
            retry_skip_wait(&op, START + 1); /* the network is not what it waits for */
            CHECK_RANGE(step.delay - 1, step.delay,
                        CHECK_WAIT(PACED, retry_next(&op, START + 1)).delay);
            CHECK_SEND(retry_next(&op, START + step.delay + 1));
        } else {
            CHECK_SEND(step);
        }
    }
}

/* Who waits for its turn at a rate has it then, and no sooner. */
static void test_skip_wait_of_a_turn(void)
{
    set_up(60000, 0);
    spend_rate(5000);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
    retry_skip_wait(&op, START + 10);
    CHECK_EQUAL(990, CHECK_WAIT(PACED, retry_next(&op, START + 10)).delay);
    CHECK_SEND(retry_next(&op, START + 1000));
}

/* ---- the loop ------------------------------------------------------------------------------ */

static retry_time run_now;

static retry_time now_of_run(void *context)
{
    (void)context;
    return run_now;
}

static void sleep_in_run(void *context, retry_ms delay)
{
    (void)context;
    run_now = check_after(run_now, delay);
}

static retry_ms handed[4];
static uint32_t hands;

static bool third_time(void *context, const retry_operation *one, const retry_step *step,
                       retry_failure *failure)
{
    (void)context;
    CHECK(one == &op);
    CHECK_EQUAL(1, gates.in_flight);
    handed[hands++ & 3] = step->timeout;
    failure->reason = RETRY_REASON_KV_LOCKED;
    return hands == 3;
}

static void test_run_is_gated(void)
{
    static const retry_clock clock = {now_of_run, sleep_in_run, NULL};
    retry_operation holder;
    set_up(1000, 400);
    retry_gates_latency(&gates, &latency);
    run_now = START;
    hands = 0;
    CHECK_END(SUCCESS, NONE, retry_run(&op, NULL, &clock, third_time, NULL));
    CHECK_EQUAL(3, hands);
    CHECK_EQUAL(400, handed[0]);
    CHECK_EQUAL(400, handed[2]);
    CHECK_EQUAL(0, gates.in_flight);
    open_breaker();
    run_now = START;
    CHECK_EQUAL(
        500, CHECK_END(FAIL, CIRCUIT_OPEN, retry_run(&op, NULL, &clock, third_time, NULL)).delay);
    CHECK_EQUAL(3, hands);
    retry_gates_breaker(&gates, NULL);
    overload_throttle();
    CHECK_END(FAIL, THROTTLED, retry_run(&op, NULL, &clock, third_time, NULL));
    CHECK_EQUAL(3, hands);
    retry_gates_throttle(&gates, NULL);
    aimd.max = 1;
    retry_gates_aimd(&gates, &aimd);
    holder = other(START); /* of somebody who never comes back */
    CHECK_SEND(retry_next(&holder, START));
    run_now = START;
    CHECK_END(EXPIRE, DEADLINE, retry_run(&op, NULL, &clock, third_time, NULL));
    CHECK_EQUAL(3, hands);
    CHECK_EQUAL(1, gates.in_flight);
    CHECK_RANGE(START + 898, START + 999, run_now); /* less than two answers of 1 ms are left */
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* What ends an operation tells its budget when that was. */
static void test_budget_told_when(void)
{
    set_up(60000, 0);
    refill_from(&budget, START);
    CHECK_SEND(retry_next(&op, START));
    retry_ended(&op, 0, NULL, START + 5000);
    CHECK_END(SUCCESS, NONE, retry_next(&op, START + 5000));
    refill_check(&budget, START, 5000);

    set_up(60000, 0);
    open_breaker();
    refill_from(&budget, START);
    CHECK_END(FAIL, CIRCUIT_OPEN, retry_next(&op, START + 300));
    refill_check(&budget, START, 300);
}

/* Does what retry_next says until it says WAIT or END; whether a copy is on the wire then. */
static bool poll(retry_operation *one, bool sending, retry_time now)
{
    retry_step step;
    while ((step = retry_next(one, now)).what < RETRY_DO_WAIT) {
        CHECK_EQUAL(sending, step.what == RETRY_DO_CANCEL);
        CHECK_EQUAL(0, step.copy);
        sending = step.what == RETRY_DO_SEND;
        if (sending)
            CHECK_RANGE(1, 2000, step.timeout);
    }
    CHECK(step.what == RETRY_DO_END || step.delay != 0);
    CHECK(!sending || step.what == RETRY_DO_WAIT);
    return sending;
}

/* Whatever is called in whatever order: in_flight is what is in flight, and nothing leaks. */
static void test_random_walk(void)
{
    enum { SLOTS = 12, STEPS = 30000 };
    static const retry_reason reasons[] = {
        RETRY_REASON_ATTEMPT_TIMED_OUT, RETRY_REASON_KV_LOCKED, RETRY_REASON_SOCKET_NOT_AVAILABLE,
        RETRY_REASON_SERVER_ERROR, RETRY_REASON_CLIENT_THROTTLED};
    static retry_operation ops[SLOTS];
    bool sending[SLOTS];
    retry_time now = START;
    uint32_t step, i, in_flight = 0, subset = 0, most = 0;
    set_up(2000, 500);
    client.random = NULL;
    client.observe = NULL;
    aimd.max = 6;
    breaker.volume = 5;
    breaker.open = 200;
    retry_gates_latency(&gates, &latency);
    memset(sending, 0, sizeof sending);
    for (i = 0; i < SLOTS; i++)
        ops[i] = start(now);
    for (step = 0; step < STEPS; step++) {
        retry_failure failure = check_failure_of(reasons[check_random() % CHECK_COUNT(reasons)]);
        bool well = check_random() % 3 != 0;
        i = check_random() % SLOTS;
        failure.throttle = check_random() % 8 == 0;
        failure.timeout = failure.reason == RETRY_REASON_ATTEMPT_TIMED_OUT;
        now = check_after(now, check_random() % 30);
        check_row("step %lu, gates %lu", (unsigned long)step, (unsigned long)subset);
        if (step % 1000 == 0) { /* at rest, so that the gates may change */
            for (i = 0; i < SLOTS; i++) {
                retry_stop(&ops[i], now);
                sending[i] = poll(&ops[i], sending[i], now);
                CHECK(!sending[i]);
            }
            CHECK_EQUAL(0, gates.in_flight);
            in_flight = 0;
            i = 0;
            subset = check_random() % 32;
            retry_gates_breaker(&gates, subset & 1 ? &breaker : NULL);
            retry_gates_throttle(&gates, subset & 2 ? &throttle : NULL);
            retry_gates_aimd(&gates, subset & 4 ? &aimd : NULL);
            retry_gates_rate(&gates, subset & 8 ? &rate : NULL);
            retry_gates_latency(&gates, subset & 16 ? &latency : NULL);
        }
        in_flight -= sending[i];
        switch (check_random() % 12) {
        case 0:
            retry_stop(&ops[i], now);
            break;
        case 1:
            retry_cancel(&ops[i], now);
            break;
        case 2:
            retry_start(&ops[i], NULL, now);
            break;
        case 3:
        case 4:
        case 5:
            retry_ended(&ops[i], 0, well ? NULL : &failure, now);
            sending[i] = false;
            break;
        default:
            if (retry_left(&ops[i], now) == 0 && !sending[i])
                retry_start(&ops[i], NULL, now);
            break;
        }
        sending[i] = poll(&ops[i], sending[i], now);
        in_flight += sending[i];
        most = in_flight > most ? in_flight : most;
        CHECK_EQUAL(in_flight, gates.in_flight);
        if (subset & 4)
            CHECK_RANGE(0, 6, gates.in_flight);
    }
    CHECK_RANGE(7, SLOTS, most); /* it was not too quiet to tell */
    for (i = 0; i < SLOTS; i++)
        retry_stop(&ops[i], now);
    CHECK_EQUAL(0, gates.in_flight);
}

int main(void)
{
    RUN(test_gates_null);
    RUN(test_taken_out);
    RUN(test_none_was_added);
    RUN(test_whose_gates);
    RUN(test_timeout);
    RUN(test_deadline_reached);
    RUN(test_circuit_open);
    RUN(test_isolated);
    RUN(test_throttled);
    RUN(test_rate_refuses);
    RUN(test_rate_waits);
    RUN(test_rate_leaves_no_time);
    RUN(test_throttle_draws_once);
    RUN(test_throttle_draws_each_try);
    RUN(test_order);
    RUN(test_paced);
    RUN(test_no_time_to_wait);
    RUN(test_rate_keeps_an_instant);
    RUN(test_rate_takes_back);
    RUN(test_turns_do_not_pile_up);
    RUN(test_turns_given_back);
    RUN(test_stops_do_not_bunch);
    RUN(test_rate_instant_comes_nearer);
    RUN(test_rate_keeps_a_retrys_instant);
    RUN(test_rate_keeps_an_instant_for);
    RUN(test_limit_and_rate);
    RUN(test_rate_after_stop);
    RUN(test_gates_gone_with_a_turn);
    RUN(test_gates_gone_with_a_draw);
    RUN(test_probe_given_back);
    RUN(test_operation);
    RUN(test_told_first);
    RUN(test_timed_out);
    RUN(test_late_answer);
    RUN(test_stop);
    RUN(test_stop_probe);
    RUN(test_cancelled);
    RUN(test_slow_answers);
    RUN(test_slow_after_a_wait);
    RUN(test_one_fall);
    RUN(test_one_rise);
    RUN(test_impatient);
    RUN(test_impatient_times_out);
    RUN(test_five_impatient_callers);
    RUN(test_fast_node);
    RUN(test_short_attempt_works);
    RUN(test_who_may_probe);
    RUN(test_latency_of_answers);
    RUN(test_latency_of_no_answers);
    RUN(test_slow);
    RUN(test_slow_and_the_clock);
    RUN(test_slow_of_late_answers);
    RUN(test_slow_of_failures);
    RUN(test_slow_of_few_ms);
    RUN(test_slow_of_days);
    RUN(test_rounds);
    RUN(test_rounds_once);
    RUN(test_rounds_after_an_answer);
    RUN(test_rounds_end);
    RUN(test_rounds_far_apart);
    RUN(test_bounds);
    RUN(test_short_request);
    RUN(test_third_in_a_row);
    RUN(test_pause);
    RUN(test_pause_ends);
    RUN(test_pause_begins);
    RUN(test_no_pause);
    RUN(test_pause_runs);
    RUN(test_pause_and_deadline);
    RUN(test_hold_and_deadline);
    RUN(test_skip_wait_of_a_turn);
    RUN(test_run_is_gated);
    RUN(test_budget_told_when);
    RUN(test_random_walk);
    return check_done();
}
