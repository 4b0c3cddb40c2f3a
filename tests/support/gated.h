/* A client with the gates of a server, none of which is added, and an operation of the client's.
   For those who include retry.h, check.h and steps.h before. */
#ifndef GATED_H
#define GATED_H

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

static inline uint32_t draw(void *context)
{
    (void)context;
    drawn++;
    return draw_next;
}

static inline struct sight look(void)
{
    retry_breaker copy = breaker; /* so that a look changes nothing */
    struct sight sight;
    sight.in_flight = gates.in_flight;
    sight.limit = retry_aimd_limit(&aimd);
    sight.sick = retry_breaker_get(&copy, START).sick;
    sight.state = retry_breaker_state(&copy, START);
    return sight;
}

static inline void tell(void *context, const retry_operation *of, const retry_failure *failure)
{
    (void)context;
    told++;
    told_decision = decided_of(of);
    told_failure = failure != NULL;
    told_sight = look();
}

static inline void add_all(void)
{
    retry_gates_breaker(&gates, &breaker);
    retry_gates_throttle(&gates, &throttle);
    retry_gates_aimd(&gates, &aimd);
    retry_gates_rate(&gates, &rate);
    retry_gates_latency(&gates, &latency);
}

static inline void remove_all(void)
{
    retry_gates_breaker(&gates, NULL);
    retry_gates_throttle(&gates, NULL);
    retry_gates_aimd(&gates, NULL);
    retry_gates_rate(&gates, NULL);
    retry_gates_latency(&gates, NULL);
}

/* An operation of the client's that begins. */
static inline retry_operation start(retry_time now)
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
static inline void set_up(retry_ms timeout, retry_ms cut_after)
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
static inline retry_operation other(retry_time now)
{
    retry_operation one;
    memset(&one, 0, sizeof one);
    one.client = &quiet;
    one.timeout = UINT32_MAX;
    retry_start(&one, NULL, now);
    return one;
}

/* An attempt of somebody else's that is sent at `now`, and ends so many ms later. */
static inline void other_ends(const retry_failure *failure, retry_ms age, retry_time now)
{
    retry_operation one = other(now);
    CHECK_SEND(retry_next(&one, now));
    retry_ended(&one, 0, failure, check_after(now, age));
    retry_stop(&one, check_after(now, age));
}

/* ms that an attempt may take that is sent now; it is stopped at once. */
static inline retry_ms time_given(retry_time now)
{
    retry_operation one = start(now);
    retry_step step = CHECK_SEND(retry_next(&one, now));
    retry_stop(&one, now);
    return step.timeout;
}

static inline retry_failure timed_out(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    failure.timeout = true;
    return failure;
}

/* The connection broke: sick, and no word of the time that was given. */
static inline retry_failure broken(void)
{
    return check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
}

/* Opens the breaker, of which one sick report is enough, at START, for 500 ms. */
static inline void open_breaker(void)
{
    const retry_failure failure = broken();
    breaker.volume = 1;
    breaker.open = 500;
    retry_gates_breaker(&gates, &breaker);
    other_ends(&failure, 0, START);
    CHECK_EQUAL(RETRY_BREAKER_OPEN, retry_breaker_state(&breaker, START));
}

/* Ten attempts of which none was accepted: the throttle refuses who draws 0. */
static inline void overload_throttle(void)
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
static inline void spend_rate(retry_ms wait)
{
    rate.max = 1000;
    rate.wait = wait;
    retry_gates_rate(&gates, &rate);
    other_ends(NULL, 0, START);
}

/* The operation waits for its retry, which was paid for. */
static inline void fail_once(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    CHECK_SEND(retry_next(&op, START));
    retry_ended(&op, 0, &failure, START);
    CHECK_EQUAL(10, CHECK_WAIT(STRATEGY, retry_next(&op, START)).delay);
    CHECK_EQUAL(9000, retry_budget_balance(&budget));
}

enum { BREAKER, THROTTLE, AIMD, RATE, GATES };

static inline void add(unsigned gate)
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
static inline void refuse_all(void)
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

#endif
