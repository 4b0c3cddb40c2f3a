/* Several nodes: which one a copy goes to, in which order they are asked, what they say together,
   and what each keeps. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/steps.h"

#define START ((retry_time)-2000) /* the clock wraps */
#define AT(elapsed) check_after(START, (retry_time)(elapsed))
#define NODES 5u

static retry_client client;
static retry_gates nodes[NODES];
static retry_breaker breakers[NODES];
static retry_throttle throttles[NODES];
static retry_aimd limits[NODES];
static retry_rate rates[NODES];
static retry_operation op;

/* Others' copies: of clients that use one of the nodes alone. */
static retry_client alone[NODES];
static retry_operation beside[NODES];

static uint32_t drawn, draw_next; /* how many numbers were drawn, and what each is */

static uint32_t draw(void *context)
{
    (void)context;
    drawn++;
    return draw_next;
}

static retry_operation start_of(const retry_client *of, retry_ms timeout, retry_time now)
{
    retry_operation one;
    memset(&one, 0, sizeof one);
    one.client = of;
    one.timeout = timeout;
    one.idempotent = true;
    retry_start(&one, NULL, now);
    return one;
}

/* A client with so many nodes, whose operation has begun at START; attempts of 100 ms. */
static void set_up(uint32_t count)
{
    uint32_t i;
    memset(&client, 0, sizeof client);
    memset(nodes, 0, sizeof nodes);
    memset(breakers, 0, sizeof breakers);
    memset(throttles, 0, sizeof throttles);
    memset(limits, 0, sizeof limits);
    memset(rates, 0, sizeof rates);
    memset(beside, 0, sizeof beside);
    client.random = draw;
    client.cut_after = 100;
    for (i = 0; i < NODES; i++) {
        alone[i] = client;
        alone[i].gates = &nodes[i];
        alone[i].strategy = retry_fail_fast();
    }
    retry_client_nodes(&client, nodes, (uint16_t)count);
    op = start_of(&client, 100000, START);
    drawn = draw_next = 0;
}

/* A copy that somebody else has at a node; without an end. */
static void occupy(uint32_t node)
{
    beside[node] = start_of(&alone[node], UINT32_MAX, START);
    CHECK_SEND(retry_next(&beside[node], START));
}

static void isolate(uint32_t node)
{
    retry_gates_breaker(&nodes[node], &breakers[node]);
    retry_breaker_set(&breakers[node], RETRY_BREAKER_ISOLATED, START);
}

static void heal(uint32_t count)
{
    uint32_t i;
    for (i = 0; i < count; i++)
        retry_gates_breaker(&nodes[i], NULL);
}

/* The node that a new operation goes to; NODES: to none. */
static uint32_t where(void)
{
    retry_operation one = start_of(&client, 100000, START);
    retry_step step = retry_next(&one, START);
    uint32_t node = step.what == RETRY_DO_SEND ? step.node : NODES;
    if (step.what == RETRY_DO_SEND) {
        CHECK_RANGE(0, client.nodes ? client.nodes - 1u : 0, step.node);
        retry_ended(&one, 0, NULL, START);
    }
    return node;
}

/* ---- the clients --------------------------------------------------------------------------- */

static void test_no_client(void)
{
    retry_gates untouched;
    memset(&untouched, 0, sizeof untouched);
    memset(nodes, 0, sizeof nodes);
    retry_client_nodes(NULL, nodes, 3);
    retry_client_nodes(NULL, NULL, 0);
    CHECK(memcmp(&untouched, &nodes[0], sizeof untouched) == 0);
}

static void test_count(void)
{
    static const struct {
        uint16_t count;
        bool gates;
        uint16_t nodes;
    } rows[] = {{0, true, 0},  {1, true, 0},  {2, true, 2}, {5, true, 5},
                {0, false, 0}, {1, false, 0}, {5, false, 0}};
    uint32_t i, n;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        uint32_t seen = 0;
        check_row("row %lu", (unsigned long)i);
        set_up(3);
        retry_client_nodes(&client, rows[i].gates ? nodes : NULL, rows[i].count);
        CHECK_EQUAL(rows[i].nodes, client.nodes);
        CHECK(client.gates == (rows[i].gates ? nodes : NULL));
        for (n = 0; n < 300; n++) {
            draw_next = check_random();
            seen |= 1u << where();
        }
        CHECK_EQUAL(rows[i].nodes ? (1u << rows[i].nodes) - 1 : 1, seen);
        CHECK_EQUAL(rows[i].nodes ? 300 : 0, drawn);
    }
}

/* Gates without any gate count, and remember, once they were handed over. */
static void test_no_gates(void)
{
    uint32_t count;
    for (count = 0; count < 4; count++) {
        retry_failure failure = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
        retry_step step;
        check_row("%lu nodes", (unsigned long)count);
        failure.timeout = true;
        set_up(count);
        step = CHECK_SEND(retry_next(&op, START));
        CHECK_EQUAL(100, step.timeout);
        CHECK_EQUAL(1, nodes[step.node].in_flight);
        CHECK_EQUAL(1, nodes[0].in_flight + nodes[1].in_flight + nodes[2].in_flight);
        retry_ended(&op, 0, &failure, START);
        CHECK_EQUAL(0, nodes[step.node].in_flight);
        op = start_of(&alone[step.node], 100000, AT(1)); /* no more if another node is well */
        CHECK_EQUAL(count > 1 ? 100 : 200, CHECK_SEND(retry_next(&op, AT(1))).timeout);
        CHECK_EQUAL(0, nodes[(step.node + 1) % NODES].in_flight);
        op = start_of(&alone[(step.node + 1) % NODES], 100000, AT(1));
        CHECK_EQUAL(100, CHECK_SEND(retry_next(&op, AT(1))).timeout); /* each its own */
    }
}

/* A copy is told of to the node that it was sent to, whatever the client has by then. */
static void test_whose_gates(void)
{
    retry_step step;
    set_up(3);
    draw_next = UINT32_MAX;
    step = CHECK_SEND(retry_next(&op, START));
    CHECK_EQUAL(2, step.node);
    CHECK_EQUAL(1, nodes[2].in_flight);
    retry_client_nodes(&client, nodes, 1);
    retry_ended(&op, 0, NULL, START);
    CHECK_EQUAL(0, nodes[2].in_flight);
    CHECK_EQUAL(0, nodes[0].in_flight);
}

/* ---- who is ill ---------------------------------------------------------------------------- */

/* `op` sends a copy to the node: the others come after it. */
static void send_to(uint32_t node, retry_time now)
{
    uint32_t i;
    for (i = 0; i < NODES; i++)
        nodes[i].rank = i != node;
    CHECK_EQUAL(node, CHECK_SEND(retry_next(&op, now)).node);
    for (i = 0; i < NODES; i++)
        nodes[i].rank = 0;
}

/* An attempt of the client's at the node, which must not be ill; NULL: it is answered. */
static void attempt_of(uint32_t node, const retry_failure *failure, retry_ms age, retry_time now)
{
    retry_operation kept = op;
    op = start_of(&client, 100000, now);
    op.strategy = retry_fail_fast();
    send_to(node, now);
    retry_ended(&op, 0, failure, check_after(now, age));
    op = kept;
}

static void fall_ill(uint32_t node, retry_time now)
{
    const retry_failure failure = retry_classify_http(500, 0);
    attempt_of(node, &failure, 0, now);
}

/* Whether a node is ill: a new operation goes to another although the node is preferred. */
static bool is_ill(uint32_t node, retry_time now)
{
    retry_operation one = start_of(&client, 100000, now);
    uint32_t i, went;
    for (i = 0; i < NODES; i++)
        nodes[i].rank = i != node;
    went = CHECK_SEND(retry_next(&one, now)).node;
    retry_stop(&one, now); /* which tells nothing of a node */
    for (i = 0; i < NODES; i++)
        nodes[i].rank = 0;
    return went != node;
}

/* For 100 ms, doubling with each failure in a row to a second; its clock has steps of 16 ms. */
static void test_ill_for(void)
{
    static const retry_ms rows[] = {100, 200, 400, 800, 1000, 1000};
    uint32_t i, in_a_row, offset;
    for (offset = 0; offset < 17; offset++) {
        set_up(2);
        for (i = 0; i < 20; i++) {
            retry_time failed = AT(offset + 2000 * i);
            retry_ms ill = rows[i < CHECK_COUNT(rows) ? i : CHECK_COUNT(rows) - 1];
            check_row("offset %lu, failure %lu", (unsigned long)offset, (unsigned long)i);
            fall_ill(0, failed);
            CHECK(is_ill(0, failed));
            CHECK(is_ill(0, check_after(failed, ill - 1)));
            CHECK(!is_ill(0, check_after(failed, ill + 15)));
            CHECK(!is_ill(1, failed));
        }
        attempt_of(0, NULL, 0, AT(50000)); /* it answers: the next failure is the first in a row */
        for (in_a_row = 0; in_a_row < 2; in_a_row++) {
            fall_ill(0, AT(51000 + 2000 * in_a_row));
            CHECK(!is_ill(0, AT(51000 + 2000 * in_a_row + rows[in_a_row] + 15)));
        }
    }
}

/* What it asks for does not prolong it: one answer of a few would take a node away. A node that
   says it again and again its limit holds. */
static void test_ill_as_told(void)
{
    static const retry_ms told[] = {1, 5000, 3600000, UINT32_MAX};
    size_t i;
    for (i = 0; i < CHECK_COUNT(told); i++) {
        const retry_failure failure = retry_classify_http(503, told[i]);
        check_row("row %lu", (unsigned long)i);
        set_up(2);
        attempt_of(0, &failure, 0, START);
        CHECK(is_ill(0, AT(99)));
        CHECK(!is_ill(0, AT(115)));
        CHECK(!is_ill(0, check_after(AT(115), (retry_time)-131072))); /* 49 days later */
    }
}

/* What was sent before the ill time was over tells of the same trouble: a connection that breaks
   with five streams is one failure. */
static void test_ill_once(void)
{
    static const retry_ms ended[] = {10, 10, 11, 150, 400};
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
    retry_operation streams[CHECK_COUNT(ended)];
    size_t i;
    set_up(2);
    nodes[1].rank = 1;
    for (i = 0; i < CHECK_COUNT(ended); i++) {
        streams[i] = start_of(&client, 100000, START);
        CHECK_EQUAL(0, CHECK_SEND(retry_next(&streams[i], START)).node);
    }
    for (i = 0; i < CHECK_COUNT(ended); i++)
        retry_ended(&streams[i], 0, &failure, AT(ended[i]));
    CHECK(!is_ill(0, AT(400)));
    op = start_of(&client, 100000, AT(400));
    send_to(0, AT(400));
    retry_ended(&op, 0, &failure, AT(500));
    CHECK(is_ill(0, AT(699)));
    CHECK(!is_ill(0, AT(715)));
}

/* One attempt at a time tries an ill node; what becomes of it decides for all. */
static void test_one_tries(void)
{
    const retry_failure failure = retry_classify_http(500, 0);
    uint32_t good;
    for (good = 0; good < 2; good++) {
        check_row("answered %lu", (unsigned long)good);
        set_up(2);
        fall_ill(0, START);
        send_to(0, AT(116));
        CHECK(is_ill(0, AT(116)));
        CHECK(is_ill(0, AT(90000)));
        retry_ended(&op, 0, good ? NULL : &failure, AT(90000));
        CHECK_EQUAL(!good, is_ill(0, AT(90000)));
        CHECK_EQUAL(!good, is_ill(0, AT(90199)));
        CHECK(!is_ill(0, AT(90216)));
    }
}

/* Whatever ends an attempt, but a good answer. */
static void test_what_makes_ill(void)
{
    const struct {
        const char *name;
        retry_failure failure;
        bool ill;
    } rows[] = {
        {"404", retry_classify_http(404, 0), false},
        {"429", retry_classify_http(429, 0), true},
        {"500", retry_classify_http(500, 0), true},
        {"503 and when", retry_classify_http(503, 3600000), true},
        {"504", retry_classify_http(504, 0), true},
        {"refused", retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE),
         true},
        {"reset", check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT), true},
        {"a bad certificate", check_failure_of(RETRY_REASON_NONE), true},
        {"the wrong node", check_failure_of(RETRY_REASON_NODE_NOT_AVAILABLE), true},
        {"locked", check_failure_of(RETRY_REASON_KV_LOCKED), false},
        {"contention", check_failure_of(RETRY_REASON_USER(0, RETRY_REASON_FREE)), false},
        {"contention, stopped: only its code", retry_classify_http(404, 0), false},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("%s", rows[i].name);
        set_up(2);
        attempt_of(0, &rows[i].failure, 0, START);
        CHECK_EQUAL(rows[i].ill, is_ill(0, START));
        CHECK(!is_ill(1, START));
    }
    check_row("answered");
    set_up(2);
    attempt_of(0, NULL, 5000, START);
    CHECK(!is_ill(0, AT(5000)));
    check_row("timed out");
    send_to(0, AT(5000));
    CHECK_CANCEL(retry_next(&op, AT(90000)));
    CHECK(is_ill(0, AT(90000)));
}

/* Who was given up, or had less time than answers take, tells nothing of the node. */
static void test_what_makes_nobody_ill(void)
{
    retry_operation hasty;
    set_up(2);
    send_to(0, START);
    retry_stop(&op, AT(5000));
    CHECK(!is_ill(0, AT(5000)));
    client.cut_after = 10000;
    attempt_of(0, NULL, 4000, START);
    hasty = start_of(&client, 100, AT(4000));
    nodes[1].rank = 1;
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&hasty, AT(4000))).node);
    CHECK_CANCEL(retry_next(&hasty, AT(4100)));
    CHECK(!is_ill(0, AT(4100)));
}

/* A node that a program has isolated is ill for others, too, but does not fall ill again. */
static void test_isolated(void)
{
    set_up(2);
    nodes[1].rank = 1;
    isolate(0);
    CHECK_EQUAL(1, where());
    heal(1);
    CHECK(is_ill(0, START));
    isolate(0);
    CHECK(is_ill(0, AT(99)));
    CHECK(is_ill(0, AT(116))); /* it refuses */
    heal(1);
    CHECK(!is_ill(0, AT(116)));
}

/* ---- which node is asked first ------------------------------------------------------------- */

static double chi_square(const uint32_t *counts, const double *expected, uint32_t n)
{
    double sum = 0;
    uint32_t i;
    for (i = 0; i < n; i++) {
        double off = (double)counts[i] - expected[i];
        sum += off * off / expected[i];
    }
    return sum;
}

#define DRAWS (CHECK_ONE_IN == 1 ? 24000u : 2400u)

/* Of equals each comes as often as any other, and so does each after it; also beside one that is
   ill, whose neighbours have no more than the others. */
static void test_equals(void)
{
    uint32_t count, i;
    for (count = 2; count < NODES; count++) {
        uint32_t counts[NODES * NODES], n = count * (count - 1);
        double expected[NODES * NODES];
        check_row("%lu nodes", (unsigned long)count);
        memset(counts, 0, sizeof counts);
        for (i = 0; i < n; i++)
            expected[i] = (double)DRAWS / (double)n;
        for (i = 0; i < DRAWS; i++) {
            uint32_t first, second;
            set_up(count + 1);
            client.random = NULL;
            fall_ill(count, START);
            first = where();
            isolate(first);
            second = where();
            if (first < count && second < count && first != second)
                counts[first * (count - 1) + second - (second > first)]++;
        }
        /* one in 10,000 is above it */
        CHECK(chi_square(counts, expected, n) < 12 + 2.5 * (double)n);
    }
}

/* What comes first decides, whatever comes after it is like. A third node lets nothing pass. */
static void test_order_of_nodes(void)
{
    enum { BUSY = 1, RANK = 2, FAILED = 4, ILL = 8, ALL = 15 };
    const retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    uint32_t a, b, n;
    for (a = 0; a <= ALL; a++) {
        for (b = 0; b <= ALL; b++) {
            const uint32_t is[] = {a, b};
            if (a == b)
                continue;
            check_row("node 0 is %lx, node 1 %lx", (unsigned long)a, (unsigned long)b);
            set_up(3);
            isolate(2);
            for (n = 0; n < 2; n++) {
                if (is[n] & FAILED) {
                    send_to(n, START);
                    retry_ended(&op, 0, &failure, START);
                }
            }
            for (n = 0; n < 2; n++) {
                if (is[n] & ILL)
                    fall_ill(n, AT(10));
            }
            for (n = 0; n < 2; n++) {
                if (is[n] & BUSY)
                    occupy(n);
                nodes[n].rank = is[n] & RANK ? 65535 : 65534;
            }
            CHECK_EQUAL(a < b ? 0 : 1, CHECK_SEND(retry_next(&op, AT(50))).node);
        }
    }
}

/* A rank comes before how busy a node is, however busy. */
static void test_busy(void)
{
    static const uint32_t rows[][2] = {{0, 1}, {1, 2}, {16381, 16382}, {16382, 0}, {70000, 0}};
    uint32_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("%lu beside %lu", (unsigned long)rows[i][0], (unsigned long)rows[i][1]);
        set_up(2);
        nodes[0].in_flight = rows[i][0];
        nodes[1].in_flight = rows[i][1];
        CHECK_EQUAL(rows[i][0] < rows[i][1] ? 0 : 1, where());
        nodes[1].rank = 1;
        CHECK_EQUAL(0, where());
        nodes[0].rank = 65535;
        CHECK_EQUAL(1, where());
    }
}

/* Where one does not let it pass the next is asked; the primary's overflow goes to the spare. */
static void test_spare(void)
{
    retry_operation first;
    set_up(2);
    nodes[1].rank = 1;
    limits[0].max = 1;
    retry_gates_aimd(&nodes[0], &limits[0]);
    first = start_of(&client, 100000, START);
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&first, START)).node);
    CHECK_EQUAL(1, CHECK_SEND(retry_next(&op, START)).node);
    retry_ended(&first, 0, NULL, START);
    CHECK_EQUAL(0, where());
    fall_ill(0, START);
    CHECK_EQUAL(1, where());
    attempt_of(0, NULL, 0, AT(116));
    CHECK_EQUAL(0, where()); /* its first good answer brings all back */
}

enum { MANY = 40 };

/* Of more than 32 nodes 32 in a row are asked, from one at random on. */
static void test_many_nodes(void)
{
    static retry_gates many[MANY];
    static retry_breaker isolated[MANY];
    uint32_t i, n, found = 0, counts[MANY];
    double expected[MANY];
    set_up(0);
    memset(many, 0, sizeof many);
    memset(counts, 0, sizeof counts);
    client.random = NULL;
    retry_client_nodes(&client, many, MANY);
    for (i = 0; i < DRAWS; i++) {
        uint32_t node = 0;
        op = start_of(&client, 100000, START);
        node = CHECK_SEND(retry_next(&op, START)).node;
        counts[node % MANY]++;
        retry_ended(&op, 0, NULL, START);
    }
    for (n = 0; n < MANY; n++)
        expected[n] = (double)DRAWS / (double)MANY;
    CHECK(chi_square(counts, expected, MANY) < 12 + 2.5 * (double)MANY);
    for (n = 0; n < MANY; n++) {
        retry_gates_breaker(&many[n], &isolated[n]);
        retry_breaker_set(&isolated[n], n == 35 ? RETRY_BREAKER_CLOSED : RETRY_BREAKER_ISOLATED,
                          START);
    }
    for (i = 0; i < 1000; i++) {
        retry_step step;
        op = start_of(&client, 100000, START);
        step = retry_next(&op, START);
        CHECK(step.what == RETRY_DO_END || step.node == 35);
        found += step.what == RETRY_DO_SEND;
        retry_ended(&op, 0, NULL, START);
    }
    CHECK_RANGE(1000 * 32 / MANY - 60, 1000 * 32 / MANY + 60, found);
    client.random = draw;
    retry_breaker_set(&isolated[35], RETRY_BREAKER_ISOLATED, START);
    for (n = 0; n < MANY; n++) {
        check_row("node %lu, of 32 from 0 on", (unsigned long)n);
        retry_breaker_reset(&isolated[n], START);
        op = start_of(&client, 100000, START);
        CHECK_EQUAL(n < 32 ? RETRY_DO_SEND : RETRY_DO_END, retry_next(&op, START).what);
        retry_breaker_set(&isolated[n], RETRY_BREAKER_ISOLATED, START);
    }
}

/* ---- elsewhere at once --------------------------------------------------------------------- */

/* A failure whose retry waits by itself. */
static void fail(retry_time now)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_ended(&op, 0, &failure, now);
}

static retry_action after_500(const retry_strategy *self, const retry_operation *of,
                              const retry_failure *failure, retry_time now)
{
    (void)self;
    (void)of;
    (void)failure;
    (void)now;
    return retry_action_after(500);
}

/* The first retry goes to a node that is well, at once and for nothing. The second waits, and pays
   as for one server. */
static void test_elsewhere(void)
{
    static const retry_strategy own = {after_500};
    const struct {
        const char *name;
        retry_failure failure;
        uint32_t cost; /* of the second */
        const retry_strategy *strategy;
    } rows[] = {
        {"500", retry_classify_http(500, 0), 250, NULL},
        {"429", retry_classify_http(429, 0), 1000, NULL},
        {"429 and when", retry_classify_http(429, 2000), 250, NULL},
        {"503 and when", retry_classify_http(503, 3600000), 250, NULL},
        {"504", retry_classify_http(504, 0), 1000, NULL},
        {"reset", check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT), 250, NULL},
        {"refused", retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE),
         0, NULL},
        {"the wrong node", check_failure_of(RETRY_REASON_NODE_NOT_AVAILABLE), 0, NULL},
        {"locked", check_failure_of(RETRY_REASON_KV_LOCKED), 250, NULL},
        {"always", check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET), 0, NULL},
        {"contention", check_failure_of(RETRY_REASON_USER(0, RETRY_REASON_FREE)), 0, NULL},
        {"a strategy of one's own", check_failure_of(RETRY_REASON_KV_LOCKED), 250, &own},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        const retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(20);
        retry_budget budget;
        uint32_t failed, balance;
        check_row("%s", rows[i].name);
        set_up(3);
        retry_budget_init(&budget, &options, START);
        client.budget = &budget;
        op = start_of(&client, 7000000, START);
        op.strategy = rows[i].strategy;
        balance = retry_budget_balance(&budget);
        failed = 1u << CHECK_SEND(retry_next(&op, START)).node;
        retry_ended(&op, 0, &rows[i].failure, START);
        CHECK_EQUAL(RETRY_VERDICT_RETRY, op.verdict);
        CHECK_EQUAL(0, op.delay);
        CHECK_EQUAL(balance, retry_budget_balance(&budget));
        failed |= 1u << CHECK_SEND(retry_next(&op, START)).node;
        retry_ended(&op, 0, &rows[i].failure, START);
        CHECK(op.delay != 0);
        CHECK_EQUAL(balance - rows[i].cost, retry_budget_balance(&budget));
        failed |= 1u << CHECK_SEND(retry_next(&op, check_after(START, op.delay))).node;
        CHECK_EQUAL(7, failed); /* each time to another */
        retry_stop(&op, check_after(START, op.delay));
    }
}

/* A time-out, too; and a Retry-After of the node that failed may be longer than the time that is
   left. */
static void test_elsewhere_in_time(void)
{
    const retry_failure later = retry_classify_http(503, 200000);
    set_up(2);
    send_to(1, START);
    CHECK_CANCEL(retry_next(&op, AT(100)));
    CHECK_EQUAL(0, nodes[1].in_flight);
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&op, AT(100))).node);
    retry_ended(&op, 0, &later, AT(100));
    CHECK_END(EXPIRE, DEADLINE, retry_next(&op, AT(100)));
    set_up(2);
    CHECK_SEND(retry_next(&op, START));
    retry_ended(&op, 0, &later, START);
    CHECK_SEND(retry_next(&op, START));
}

static void attempt_final(retry_time now)
{
    const retry_failure final = check_failure_of(RETRY_REASON_UNKNOWN);
    retry_ended(&op, 0, &final, now);
}

/* No other node is well: it has failed this operation, or another one since it answered last; or
   there is none. Or the server ordered a delay. */
static void test_not_elsewhere(void)
{
    const retry_failure failure = retry_classify_http(500, 0);
    retry_failure ordered = failure;
    uint32_t answered;
    ordered.pushback = true;
    ordered.retry_after = 300;
    for (answered = 0; answered < 2; answered++) {
        check_row("answered %lu", (unsigned long)answered);
        set_up(2);
        fall_ill(1, START);
        if (answered)
            attempt_of(1, NULL, 0, AT(200));
        op = start_of(&client, 100000, AT(50000)); /* it is ill no more */
        send_to(0, AT(50000));
        retry_ended(&op, 0, &failure, AT(50000));
        CHECK_EQUAL(answered, op.delay == 0);
    }
    check_row("none but the one that failed, and is well");
    set_up(2);
    fall_ill(1, START);
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&op, START)).node);
    fail(START);
    CHECK(op.delay != 0);
    check_row("an operation that is used again, with one node");
    set_up(2);
    CHECK_SEND(retry_next(&op, START));
    fail(START);
    CHECK_EQUAL(0, op.delay);
    op.client = &alone[0];
    op.strategy = retry_best_effort();
    retry_start(&op, NULL, START);
    CHECK_SEND(retry_next(&op, START));
    fail(START);
    CHECK(op.delay != 0);
    check_row("one node");
    set_up(1);
    CHECK_SEND(retry_next(&op, START));
    retry_ended(&op, 0, &failure, START);
    CHECK(op.delay != 0);
    check_row("ordered");
    set_up(2);
    CHECK_SEND(retry_next(&op, START));
    retry_ended(&op, 0, &ordered, START);
    CHECK_EQUAL(300, op.delay);
    check_row("final");
    set_up(2);
    CHECK_SEND(retry_next(&op, START));
    attempt_final(START);
    CHECK_END(FAIL, UNKNOWN_REASON, retry_next(&op, START));
}

/* It needs no token; but where failures are charged they are, and below its floor a budget pays
   for nothing. */
static void test_elsewhere_and_budgets(void)
{
    const retry_failure failure = retry_classify_http(500, 0);
    const struct {
        uint32_t capacity, floor;
        bool charge, goes;
        uint32_t left;
    } rows[] = {
        {0, 0, false, false, 0},        {1000, 0, false, true, 1000},
        {1000, 500, false, true, 1000}, {1000, 1000, false, false, 1000},
        {2000, 0, true, true, 1000},    {2000, 1000, true, false, 1000},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_budget_options options;
        retry_budget budget;
        check_row("row %u", (unsigned)i);
        memset(&options, 0, sizeof options);
        options.capacity = rows[i].capacity;
        options.floor = rows[i].floor;
        options.retry_cost = 1000;
        options.charge_failures = rows[i].charge;
        set_up(2);
        retry_budget_init(&budget, &options, START);
        client.budget = &budget;
        CHECK_SEND(retry_next(&op, START));
        retry_ended(&op, 0, &failure, START);
        CHECK_EQUAL(rows[i].goes, op.verdict == RETRY_VERDICT_RETRY);
        CHECK_EQUAL(rows[i].left, retry_budget_balance(&budget));
        retry_stop(&op, START);
        CHECK_EQUAL(rows[i].left, retry_budget_balance(&budget)); /* nothing comes back */
    }
}

/* A strategy that answers later does not hold it back longer. */
static retry_action pending(const retry_strategy *self, const retry_operation *of,
                            const retry_failure *failure, retry_time now)
{
    (void)self;
    (void)of;
    (void)failure;
    (void)now;
    return retry_action_pending();
}

static void test_elsewhere_later(void)
{
    static const retry_strategy later = {pending};
    set_up(2);
    op.strategy = &later;
    CHECK_SEND(retry_next(&op, START));
    fail(START);
    CHECK_WAIT(PENDING, retry_next(&op, START));
    retry_answer(&op, retry_action_after(500), AT(10));
    CHECK_SEND(retry_next(&op, AT(10)));
    fail(AT(10));
    retry_answer(&op, retry_action_after(500), AT(20));
    CHECK_EQUAL(500, CHECK_WAIT(STRATEGY, retry_next(&op, AT(20))).delay);
}

/* Where there is no place it waits for one: it does not come back to the node that failed. Isolated
   nodes are well for one operation, as nobody knows better. */
static void test_elsewhere_is_full(void)
{
    const retry_failure failure = retry_classify_http(500, 0);
    set_up(2);
    send_to(0, START);
    limits[1].max = 1;
    retry_gates_aimd(&nodes[1], &limits[1]);
    occupy(1);
    retry_ended(&op, 0, &failure, START);
    CHECK_WAIT(PACED, retry_next(&op, START));
    CHECK_WAIT(PACED, retry_next(&op, AT(2000)));
    CHECK_EQUAL(0, nodes[0].in_flight);
    retry_ended(&beside[1], 0, NULL, AT(2000));
    CHECK_EQUAL(1, CHECK_SEND(retry_next(&op, AT(2000))).node);
    retry_ended(&op, 0, &failure, AT(2000));
    occupy(1);
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&op, AT(9000))).node); /* later to any */
    set_up(3); /* two have failed it, and the third is full: to one of the two */
    send_to(0, START);
    fail(START);
    nodes[2].rank = 1;
    CHECK_EQUAL(1, CHECK_SEND(retry_next(&op, START)).node);
    fail(START);
    limits[2].max = 1;
    retry_gates_aimd(&nodes[2], &limits[2]);
    occupy(2);
    CHECK_SEND(retry_next(&op, AT(9000)));
    set_up(2);
    nodes[1].rank = 1;
    isolate(1);
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&op, START)).node);
    retry_ended(&op, 0, &failure, START);
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&op, START)).node);
    retry_ended(&op, 0, NULL, START);
    op = start_of(&client, 100000, START);
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&op, START)).node);
    retry_ended(&op, 0, &failure, START);
    CHECK(op.delay != 0);
}

/* When all have failed an operation the last is asked last once more; a new one begins anew. */
static void test_rounds(void)
{
    uint32_t i, last;
    set_up(2);
    client.cut_after = 0;
    last = CHECK_SEND(retry_next(&op, START)).node;
    for (i = 1; i < 20; i++) {
        fail(AT(2000 * i));
        last = 1 - last;
        CHECK_EQUAL(last, CHECK_SEND(retry_next(&op, AT(2000 * i + 1900))).node);
    }
    for (i = 0; i < 3; i++) {
        retry_ended(&op, 0, NULL, AT(50000));
        retry_start(&op, NULL, AT(50000));
        send_to(last, AT(50000));
        fail(AT(50000));
        retry_stop(&op, AT(50000));
    }
}

/* `op` begins anew, with so many further copies, one each 10 ms. */
static void begin_hedged(uint8_t count)
{
    static retry_copy copies[5];
    static retry_hedge hedge;
    memset(copies, 0, sizeof copies);
    memset(&hedge, 0, sizeof hedge);
    hedge.delay = 10;
    hedge.count = count;
    hedge.copies = copies;
    retry_stop(&op, START);
    CHECK_END(FAIL, CANCELLED, retry_next(&op, START));
    retry_hedge_copies(&op, &hedge);
    retry_start(&op, NULL, START);
}

/* Copies of one operation go to different nodes, as long as there are some. */
static void test_hedges(void)
{
    uint32_t seen = 0, i, round;
    for (round = 0; round < 50; round++) {
        check_row("round %lu", (unsigned long)round);
        set_up(4);
        client.cut_after = 1000;
        begin_hedged(5);
        seen = 0;
        for (i = 0; i < 4; i++) {
            retry_step step;
            draw_next = check_random();
            step = CHECK_SEND(retry_next(&op, AT(10 * i)));
            CHECK_EQUAL(i, step.copy);
            CHECK_EQUAL(0, seen & 1u << step.node);
            seen |= 1u << step.node;
        }
        CHECK_SEND(retry_next(&op, AT(40))); /* each has one: any will do */
        for (i = 0; i < 4; i++)
            isolate(i);
        CHECK_WAIT(NONE, retry_next(&op, AT(50))); /* refused by all four */
        CHECK_EQUAL(5, nodes[0].in_flight + nodes[1].in_flight + nodes[2].in_flight +
                           nodes[3].in_flight);
        retry_ended(&op, 0, NULL, AT(60));
        for (i = 0; i < 4; i++)
            CHECK_EQUAL(0, nodes[i].in_flight);
        for (i = 1; i < 5; i++)
            CHECK_CANCEL(retry_next(&op, AT(60)));
        CHECK_END(SUCCESS, NONE, retry_next(&op, AT(60)));
    }
}

/* Also if another comes before it. */
static void test_hedge_of_a_spare(void)
{
    set_up(2);
    nodes[1].rank = 1;
    begin_hedged(1);
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&op, START)).node);
    CHECK_EQUAL(1, CHECK_SEND(retry_next(&op, AT(10))).node);
}

/* One that failed the operation comes before one where a copy of it is, whatever the rank. */
static void test_failed_before_out(void)
{
    set_up(2);
    nodes[1].rank = 1;
    begin_hedged(2);
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&op, START)).node);
    CHECK_EQUAL(1, CHECK_SEND(retry_next(&op, AT(10))).node);
    nodes[0].rank = 1;
    nodes[1].rank = 0;
    fail(AT(15));
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&op, AT(15))).node);
}

/* An order to the operation stands, also if another copy fails after it. */
static void test_ordered_before(void)
{
    retry_failure ordered = retry_classify_http(500, 0);
    const retry_failure refused =
        retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE);
    ordered.pushback = true;
    ordered.retry_after = 3000;
    set_up(3);
    begin_hedged(1);
    CHECK_SEND(retry_next(&op, START));
    CHECK_SEND(retry_next(&op, AT(10)));
    retry_ended(&op, 0, &ordered, AT(20));
    retry_ended(&op, 1, &refused, AT(30));
    CHECK_EQUAL(3000, op.delay);
}

/* The copy that follows one that failed goes neither to its node nor to those of the others. */
static void test_follows_elsewhere(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    uint32_t round;
    for (round = 0; round < 50; round++) {
        uint32_t used;
        check_row("round %lu", (unsigned long)round);
        set_up(3);
        begin_hedged(2);
        draw_next = check_random();
        used = 1u << CHECK_SEND(retry_next(&op, START)).node;
        used |= 1u << CHECK_SEND(retry_next(&op, AT(10))).node;
        retry_ended(&op, 0, &failure, AT(15));
        CHECK_EQUAL(7u & ~used, 1u << CHECK_SEND(retry_next(&op, AT(15))).node);
        retry_stop(&op, AT(15));
    }
}

/* ---- what they say together ---------------------------------------------------------------- */

enum { OPEN_300, OPEN_400, ISOLATED, FULL, RATE_PACED, RATE_SPENT, THROTTLED, KINDS };

/* Makes a node answer in one way; each has a copy on the wire, so that none is less busy. */
static void prepare(uint32_t node, unsigned kind)
{
    const retry_failure sick = check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
    uint32_t i;
    if (kind == OPEN_300 || kind == OPEN_400) {
        breakers[node].open = kind == OPEN_300 ? 300 : 400;
        retry_gates_breaker(&nodes[node], &breakers[node]);
        retry_breaker_set(&breakers[node], RETRY_BREAKER_OPEN, START);
    } else if (kind == ISOLATED) {
        isolate(node);
    } else if (kind == FULL) {
        limits[node].max = 1;
        retry_gates_aimd(&nodes[node], &limits[node]);
    } else if (kind == THROTTLED) {
        retry_gates_throttle(&nodes[node], &throttles[node]);
        for (i = 0; i < 10; i++) {
            retry_operation one = start_of(&alone[node], UINT32_MAX, START);
            draw_next = UINT32_MAX;
            CHECK_SEND(retry_next(&one, START));
            retry_ended(&one, 0, &sick, START);
        }
        draw_next = 0;
    } else {
        retry_operation one;
        rates[node].max = 1000;
        rates[node].wait = kind == RATE_PACED ? 5000 : 250;
        retry_gates_rate(&nodes[node], &rates[node]);
        one = start_of(&alone[node], UINT32_MAX, START);
        CHECK_SEND(retry_next(&one, START));
        retry_ended(&one, 0, NULL, START);
    }
}

static void check_answer(uint8_t what, uint8_t cause, retry_ms delay, retry_step step)
{
    CHECK_EQUAL(what, step.what);
    CHECK_EQUAL(cause, step.cause);
    CHECK_EQUAL(delay, step.delay);
}

static void test_answers(void)
{
    static const struct {
        unsigned kinds[3];
        uint8_t what, cause;
        retry_ms delay;
    } rows[] = {
        {{OPEN_400, OPEN_300, OPEN_400}, RETRY_DO_END, RETRY_CAUSE_CIRCUIT_OPEN, 300},
        {{OPEN_400, ISOLATED, ISOLATED}, RETRY_DO_END, RETRY_CAUSE_CIRCUIT_OPEN, 400},
        {{ISOLATED, ISOLATED, ISOLATED}, RETRY_DO_END, RETRY_CAUSE_CIRCUIT_OPEN, 0},
        {{THROTTLED, THROTTLED, ISOLATED}, RETRY_DO_END, RETRY_CAUSE_CIRCUIT_OPEN, 0},
        {{THROTTLED, RATE_SPENT, OPEN_300}, RETRY_DO_END, RETRY_CAUSE_CIRCUIT_OPEN, 300},
        {{THROTTLED, THROTTLED, THROTTLED}, RETRY_DO_END, RETRY_CAUSE_THROTTLED, 0},
        {{RATE_SPENT, RATE_SPENT, RATE_SPENT}, RETRY_DO_END, RETRY_CAUSE_THROTTLED, 1000},
        {{RATE_PACED, RATE_PACED, RATE_PACED}, RETRY_DO_WAIT, RETRY_CAUSE_PACED, 1000},
        {{RATE_PACED, FULL, RATE_PACED}, RETRY_DO_WAIT, RETRY_CAUSE_PACED, 1},
        {{RATE_PACED, OPEN_300, ISOLATED}, RETRY_DO_WAIT, RETRY_CAUSE_PACED, 1000},
        {{RATE_PACED, THROTTLED, OPEN_400}, RETRY_DO_WAIT, RETRY_CAUSE_PACED, 1000},
        {{FULL, THROTTLED, ISOLATED}, RETRY_DO_WAIT, RETRY_CAUSE_PACED, 1},
    };
    static const uint32_t draws[] = {0, 0x5000ffff, 0x6000, 0x60006000, 0xb0000000, 0x90000};
    uint32_t i, turn, n, k;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (turn = 0; turn < 3; turn++) {
            for (k = 0; k < CHECK_COUNT(draws); k++) {
                check_row("row %lu, turned by %lu, draw %08lx", (unsigned long)i,
                          (unsigned long)turn, (unsigned long)draws[k]);
                set_up(3);
                for (n = 0; n < 3; n++)
                    occupy(n);
                for (n = 0; n < 3; n++)
                    prepare(n, rows[i].kinds[(n + turn) % 3]);
                draw_next = draws[k] & 0xfff0ffff; /* low enough for the throttle to refuse */
                if (rows[i].cause == RETRY_CAUSE_PACED)
                    draw_next = 0; /* and for the shortest turn */
                check_answer(rows[i].what, rows[i].cause, rows[i].delay, retry_next(&op, START));
                for (n = 0; n < 3; n++)
                    CHECK_EQUAL(1, nodes[n].in_flight);
            }
        }
    }
}

static void take_out(uint32_t node)
{
    retry_gates_breaker(&nodes[node], NULL);
    retry_gates_throttle(&nodes[node], NULL);
    retry_gates_aimd(&nodes[node], NULL);
    retry_gates_rate(&nodes[node], NULL);
}

static void put_in(uint32_t node, unsigned kind)
{
    if (kind == OPEN_300)
        retry_gates_breaker(&nodes[node], &breakers[node]);
    else if (kind == THROTTLED)
        retry_gates_throttle(&nodes[node], &throttles[node]);
    else if (kind == FULL)
        retry_gates_aimd(&nodes[node], &limits[node]);
    else
        retry_gates_rate(&nodes[node], &rates[node]);
}

/* Of each pair of gates the one before answers, at every node. */
static void test_order(void)
{
    static const struct {
        unsigned kind;
        uint8_t what, cause;
        retry_ms delay;
    } gates[] = {
        {OPEN_300, RETRY_DO_END, RETRY_CAUSE_CIRCUIT_OPEN, 300},
        {THROTTLED, RETRY_DO_END, RETRY_CAUSE_THROTTLED, 0},
        {FULL, RETRY_DO_WAIT, RETRY_CAUSE_PACED, 1},
        {RATE_SPENT, RETRY_DO_END, RETRY_CAUSE_THROTTLED, 1000},
    };
    uint32_t a, b, n;
    for (a = 0; a < CHECK_COUNT(gates); a++) {
        for (b = a + 1; b < CHECK_COUNT(gates); b++) {
            check_row("gates %lu and %lu", (unsigned long)a, (unsigned long)b);
            set_up(3);
            for (n = 0; n < 3; n++)
                occupy(n);
            for (n = 0; n < 3; n++) {
                prepare(n, gates[a].kind);
                take_out(n); /* so that it does not stand in the other's way */
                prepare(n, gates[b].kind);
                put_in(n, gates[a].kind);
            }
            draw_next = drawn = 0;
            check_answer(gates[a].what, gates[a].cause, gates[a].delay, retry_next(&op, START));
            for (n = 0; n < 3; n++)
                CHECK_EQUAL(1, nodes[n].in_flight);
            if (gates[a].kind == OPEN_300) /* of three nodes and of two, none for a throttle */
                CHECK_EQUAL(2, drawn);
        }
    }
}

/* If none says PACED or CIRCUIT_OPEN, the one that was asked first. */
static void test_first_answer(void)
{
    uint32_t first;
    for (first = 0; first < 2; first++) {
        check_row("node %lu first", (unsigned long)first);
        set_up(2);
        occupy(0);
        occupy(1);
        prepare(0, THROTTLED);
        prepare(1, RATE_SPENT);
        nodes[1 - first].rank = 1;
        check_answer(RETRY_DO_END, RETRY_CAUSE_THROTTLED, first == 0 ? 0 : 1000,
                     retry_next(&op, START));
    }
}

/* The node that failed last is asked last, and its answer counts as any other. */
static void test_answer_of_the_last(void)
{
    static const struct {
        unsigned failed, others;
        uint8_t what, cause;
        retry_ms delay;
    } rows[] = {
        {OPEN_300, OPEN_400, RETRY_DO_END, RETRY_CAUSE_CIRCUIT_OPEN, 298},
        {OPEN_400, OPEN_300, RETRY_DO_END, RETRY_CAUSE_CIRCUIT_OPEN, 298},
        {OPEN_300, RATE_PACED, RETRY_DO_WAIT, RETRY_CAUSE_PACED, 998},
        {RATE_PACED, ISOLATED, RETRY_DO_WAIT, RETRY_CAUSE_PACED, 998},
        {FULL, THROTTLED, RETRY_DO_WAIT, RETRY_CAUSE_PACED, 1},
        {RATE_SPENT, THROTTLED, RETRY_DO_END, RETRY_CAUSE_THROTTLED, 0},
        {THROTTLED, RATE_SPENT, RETRY_DO_END, RETRY_CAUSE_THROTTLED, 998},
    };
    uint32_t i, failed, n;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (failed = 0; failed < 3; failed++) {
            check_row("row %lu, node %lu", (unsigned long)i, (unsigned long)failed);
            set_up(3);
            send_to(failed, START);
            fail(START);
            for (n = 0; n < 3; n++)
                occupy(n);
            for (n = 0; n < 3; n++)
                prepare(n, n == failed ? rows[i].failed : rows[i].others);
            draw_next = 0;
            check_answer(rows[i].what, rows[i].cause, rows[i].delay, retry_next(&op, AT(2)));
        }
    }
}

/* A wait that leaves too little time is an end, if it is the smallest. */
static void test_no_time_to_wait(void)
{
    retry_operation one;
    set_up(2);
    client.cut_after = 0;
    occupy(0);
    occupy(1);
    prepare(0, RATE_PACED);
    prepare(1, RATE_PACED);
    one = start_of(&client, 1001, START); /* an answer takes 1 ms, and twice that is too little */
    CHECK_EQUAL(1001, CHECK_END(EXPIRE, DEADLINE, retry_next(&one, START)).delay);
    one = start_of(&client, 1002, START);
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&one, START)).delay);
    retry_stop(&one, START);
    retry_gates_rate(&nodes[1], NULL);
    prepare(1, FULL);
    one = start_of(&client, 1001, START);
    CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&one, START)).delay);
}

/* Whether a wait is worth it, the node tells that lets it wait. That one never answered: less than
   an eighth of the timeout is too little. The other, which is asked before or after it, answers in
   1 ms. */
static void test_whose_time_counts(void)
{
    uint32_t fast;
    for (fast = 0; fast < 2; fast++) {
        check_row("node %lu answers fast", (unsigned long)fast);
        set_up(2);
        client.cut_after = 0;
        op = start_of(&alone[fast], UINT32_MAX, START);
        CHECK_SEND(retry_next(&op, START));
        retry_ended(&op, 0, NULL, AT(1));
        occupy(0);
        occupy(1);
        isolate(fast);
        prepare(1 - fast, FULL);
        op = start_of(&client, 800, START);
        CHECK_EQUAL(1, CHECK_WAIT(PACED, retry_next(&op, AT(699))).delay);
        CHECK_END(EXPIRE, DEADLINE, retry_next(&op, AT(700)));
    }
}

/* ---- what a node keeps --------------------------------------------------------------------- */

/* A node that makes wait keeps no turn; the only one of a client does. */
static void test_no_turn_is_kept(void)
{
    uint32_t count, i;
    for (count = 1; count < 4; count++) {
        retry_operation next;
        check_row("%lu nodes", (unsigned long)count);
        set_up(count);
        for (i = 0; i < count; i++)
            prepare(i, RATE_PACED);
        for (i = 0; i < 3; i++)
            CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
        next = start_of(&client, 100000, START);
        CHECK_EQUAL(count == 1 ? 2000 : 1000, CHECK_WAIT(PACED, retry_next(&next, START)).delay);
        if (count > 1) /* nothing is given back that was not taken */
            retry_stop(&op, START);
        for (i = 0; i < count; i++) {
            retry_operation other = start_of(&alone[i], 100000, START);
            CHECK_EQUAL(count == 1 ? 3000 : 1000,
                        CHECK_WAIT(PACED, retry_next(&other, START)).delay);
        }
    }
}

/* Nor does it keep the place of a probe, or one among those in flight. */
static void test_no_probe_is_kept(void)
{
    retry_operation other;
    uint32_t i;
    set_up(2);
    for (i = 0; i < 2; i++) {
        prepare(i, RATE_PACED);
        limits[i].max = 1;
        retry_gates_aimd(&nodes[i], &limits[i]);
        retry_gates_breaker(&nodes[i], &breakers[i]);
        retry_breaker_set(&breakers[i], RETRY_BREAKER_HALF_OPEN, START);
    }
    CHECK_EQUAL(1000, CHECK_WAIT(PACED, retry_next(&op, START)).delay);
    for (i = 0; i < 2; i++) {
        CHECK_EQUAL(0, nodes[i].in_flight);
        retry_gates_rate(&nodes[i], NULL);
        other = start_of(&alone[i], 100000, START);
        CHECK_SEND(retry_next(&other, START));
    }
}

/* Who has passed a throttle in this try is not drawn again while it waits, at any node. */
static void test_throttle_draws_once(void)
{
    uint32_t i;
    set_up(2);
    for (i = 0; i < 2; i++) {
        occupy(i);
        prepare(i, THROTTLED);
        limits[i].max = 1;
        retry_gates_aimd(&nodes[i], &limits[i]);
    }
    draw_next = UINT32_MAX;
    CHECK_WAIT(PACED, retry_next(&op, START));
    draw_next = 0; /* would be refused now */
    for (i = 0; i < 5; i++)
        CHECK_WAIT(PACED, retry_next(&op, START));
    retry_ended(&beside[0], 0, NULL, START);
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&op, START)).node);
    retry_start(&op, NULL, START); /* another try is drawn */
    CHECK_CANCEL(retry_next(&op, START));
    CHECK_END(FAIL, THROTTLED, retry_next(&op, START));
}

/* The throttle of a node whose limit lets it wait does not speak for the next node's. */
static void test_throttle_of_each_node(void)
{
    set_up(2);
    occupy(0);
    prepare(1, THROTTLED);
    draw_next = UINT32_MAX;
    occupy(1);
    retry_gates_throttle(&nodes[0], &throttles[0]);
    limits[0].max = 1;
    retry_gates_aimd(&nodes[0], &limits[0]);
    draw_next = 0; /* node 0 first; it passes a throttle that has refused nothing, and no other */
    CHECK_WAIT(PACED, retry_next(&op, START));
    CHECK_EQUAL(1, nodes[1].in_flight);
}

/* Each node is asked once: a draw for each choice, as they are equal, and one for each throttle. */
static void test_asked_once(void)
{
    uint32_t count, i;
    for (count = 2; count <= NODES; count++) {
        check_row("%lu nodes", (unsigned long)count);
        set_up(count);
        for (i = 0; i < count; i++)
            prepare(i, THROTTLED);
        drawn = 0;
        CHECK_END(FAIL, THROTTLED, retry_next(&op, START));
        CHECK_EQUAL(count - 1 + count, drawn);
    }
}

/* Each node has an attempt's time of its own, for whoever sends to it. */
static void test_pace_of_each(void)
{
    static const retry_ms given[] = {200, 600, 100};
    uint32_t i;
    set_up(3);
    client.cut_after = 400;
    send_to(1, START);
    retry_ended(&op, 0, NULL, AT(300));
    client.cut_after = 100;
    op = start_of(&alone[0], 100000, AT(300));
    CHECK_SEND(retry_next(&op, AT(300)));
    CHECK_CANCEL(retry_next(&op, AT(400)));
    for (i = 0; i < 3; i++) {
        retry_operation one = start_of(&alone[i], 100000, AT(500));
        CHECK_EQUAL(given[i], CHECK_SEND(retry_next(&one, AT(500))).timeout);
        retry_stop(&one, AT(600));
        op = start_of(&client, 100000, AT(600)); /* when none is ill */
        send_to(i, AT(600));
        CHECK_EQUAL(given[i], CHECK_WAIT(NONE, retry_next(&op, AT(600))).delay);
    }
}

/* What a copy at the node may take. */
static retry_ms time_at(uint32_t node, retry_time now)
{
    retry_operation one = start_of(&alone[node], 100000, now);
    retry_ms timeout = CHECK_SEND(retry_next(&one, now)).timeout;
    retry_stop(&one, now);
    return timeout;
}

/* An attempt at a node that does not answer has no more time while another node is well: its
   operation has it there. */
static void test_no_more_time_at_a_dark_node(void)
{
    uint32_t i;
    set_up(2);
    nodes[1].rank = 1;
    for (i = 0; i < 5; i++) {
        retry_time now = AT(5000 * i);
        retry_step step;
        op = start_of(&client, 100000, now);
        step = CHECK_SEND(retry_next(&op, now));
        CHECK_EQUAL(0, step.node);
        CHECK_EQUAL(100, step.timeout);
        CHECK_CANCEL(retry_next(&op, check_after(now, 100)));
        CHECK_EQUAL(1, CHECK_SEND(retry_next(&op, check_after(now, 100))).node);
        if (i < 4)
            retry_ended(&op, 0, NULL, check_after(now, 101));
    }
    CHECK_CANCEL(retry_next(&op, AT(20200))); /* none is well: they may be slow */
    CHECK_EQUAL(100, time_at(0, AT(21000)));
    CHECK_EQUAL(200, time_at(1, AT(21000)));
}

/* It has if the operation cannot be repeated, or if it was ill already, as the others were full. */
static void test_more_time_if_it_is_needed(void)
{
    const retry_failure failure = retry_classify_http(500, 0);
    set_up(2);
    op.idempotent = false;
    send_to(0, START);
    CHECK_CANCEL(retry_next(&op, AT(100)));
    CHECK_END(FAIL, NOT_IDEMPOTENT, retry_next(&op, AT(100)));
    CHECK_EQUAL(200, time_at(0, AT(1000)));
    set_up(2);
    attempt_of(0, &failure, 0, START);
    limits[1].max = 1;
    retry_gates_aimd(&nodes[1], &limits[1]);
    occupy(1);
    op = start_of(&client, 100000, AT(50));
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&op, AT(50))).node);
    CHECK_CANCEL(retry_next(&op, AT(150)));
    CHECK_EQUAL(200, time_at(0, AT(1000)));
}

/* A node that is at its limit loses nothing: the copy goes to another. */
static void test_spill(void)
{
    enum { EACH = 3 };
    retry_operation ops[3 * EACH + 1];
    uint32_t i;
    set_up(3);
    for (i = 0; i < 3; i++) {
        limits[i].max = EACH;
        retry_gates_aimd(&nodes[i], &limits[i]);
    }
    for (i = 0; i < 3 * EACH; i++) {
        draw_next = check_random();
        ops[i] = start_of(&client, 100000, START);
        CHECK_SEND(retry_next(&ops[i], START));
    }
    for (i = 0; i < 3; i++)
        CHECK_EQUAL(EACH, nodes[i].in_flight);
    ops[i] = start_of(&client, 100000, START);
    CHECK_WAIT(PACED, retry_next(&ops[i], START));
}

/* ---- what a node did not do ---------------------------------------------------------------- */

/* One node answers 500, the other's port is closed: a token pays for one attempt that is sent,
   however often the other is tried between, and with further copies, too. */
static void test_token_pays_for_one(void)
{
    retry_failure failures[2];
    unsigned count, round;
    failures[0] = retry_classify_http(500, 0);
    failures[1] = retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE);
    for (count = 0; count < 3; count++) {
        for (round = 0; round < 20; round++) {
            retry_budget_options options;
            retry_budget budget;
            retry_hedge hedge;
            retry_copy copies[2];
            retry_step step;
            retry_time now = START;
            unsigned reached = 0, refused = 0;
            memset(&options, 0, sizeof options);
            memset(&hedge, 0, sizeof hedge);
            memset(copies, 0, sizeof copies);
            set_up(2);
            options.capacity = 10000;
            options.retry_cost = 1000;
            retry_budget_init(&budget, &options, now);
            client.budget = &budget;
            hedge.count = (uint8_t)count;
            hedge.delay = 50;
            hedge.copies = copies;
            retry_stop(&op, now);
            if (count != 0)
                retry_hedge_copies(&op, &hedge);
            op.timeout = UINT32_MAX;
            retry_start(&op, NULL, now);
            check_row("%u copies, round %u", count, round);
            for (;;) {
                draw_next = check_random();
                step = retry_next(&op, now);
                if (step.what == RETRY_DO_END)
                    break;
                if (step.what == RETRY_DO_SEND) {
                    reached += step.node == 0;
                    refused += step.node == 1;
                    retry_ended(&op, step.copy, &failures[step.node], now);
                } else {
                    now = check_after(now, step.delay);
                }
            }
            CHECK_EQUAL(RETRY_CAUSE_BUDGET_EXHAUSTED, step.cause);
            CHECK_RANGE(1 + 10, 1 + 10 + (count == 0), reached); /* the first elsewhere is free */
            CHECK_RANGE(1, 30, refused);
            CHECK_EQUAL(0, retry_budget_balance(&budget));
        }
    }
}

/* Both ports are closed: nothing is paid, and what was paid before comes back with the end. Both
   have failed others already. */
static void test_none_was_reached(void)
{
    const retry_failure failed = retry_classify_http(500, 0);
    const retry_failure refused =
        retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE);
    retry_budget_options options;
    retry_budget budget;
    retry_time now = START;
    unsigned i;
    memset(&options, 0, sizeof options);
    set_up(2);
    options.capacity = 10000;
    options.retry_cost = 1000;
    retry_budget_init(&budget, &options, now);
    client.budget = &budget;
    for (i = 0; i < 2; i++)
        fall_ill(i, now);
    for (i = 0; i < 100; i++) {
        retry_step step = retry_next(&op, now);
        if (step.what == RETRY_DO_SEND)
            retry_ended(&op, 0, i == 0 ? &failed : &refused, now);
        else
            now = check_after(now, step.delay);
        CHECK_EQUAL(9000, retry_budget_balance(&budget));
    }
    retry_stop(&op, now);
    CHECK_EQUAL(10000, retry_budget_balance(&budget));
}

/* An operation whose first copy goes to node 1, and whose second, 10 ms later, to node 0. */
static void send_two(retry_time now)
{
    static retry_hedge hedge;
    static retry_copy copies[1];
    memset(&hedge, 0, sizeof hedge);
    memset(copies, 0, sizeof copies);
    hedge.count = 1;
    hedge.delay = 10;
    hedge.copies = copies;
    memset(&op, 0, sizeof op);
    op.client = &client;
    op.timeout = 100000;
    op.idempotent = true;
    retry_hedge_copies(&op, &hedge);
    client.cut_after = 50000;
    retry_start(&op, NULL, now);
    send_to(1, now);
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&op, check_after(now, 10))).node);
}

/* The first wins; the second is cancelled. */
static void win(retry_time now)
{
    retry_ended(&op, 0, NULL, now);
    CHECK_EQUAL(1, CHECK_CANCEL(retry_next(&op, now)).copy);
    CHECK_END(SUCCESS, NONE, retry_next(&op, now));
}

/* Somebody else's attempt at a node. */
static void attempt_at(uint32_t node, const retry_failure *failure, retry_ms age, retry_time now)
{
    retry_operation one = start_of(&alone[node], UINT32_MAX, now);
    alone[node].cut_after = 0;
    CHECK_SEND(retry_next(&one, now));
    retry_ended(&one, 0, failure, check_after(now, age));
    retry_stop(&one, check_after(now, age));
}

/* A copy that lost is sick for its node's breaker, and for no other gate, if it was out for twice
   what the node's answers take, and the node answered nothing meanwhile. */
static void test_losers(void)
{
    enum { NOTHING, WORKED, REFUSED, BROKE };
    static const struct {
        retry_ms slow, age; /* of the node's answers, 0: it never answered; of the copy */
        unsigned meanwhile;
        bool sick;
    } rows[] = {
        {0, 0, NOTHING, true},       {0, 5000, NOTHING, true},   {100, 199, NOTHING, false},
        {100, 200, NOTHING, true},   {100, 5000, NOTHING, true}, {100, 5000, WORKED, false},
        {100, 5000, REFUSED, false}, {100, 5000, BROKE, true},   {0, 5000, REFUSED, false},
        {0, 5000, WORKED, false},    {0, 5000, BROKE, true},
    };
    const retry_failure refused = retry_classify_http(429, 0), broke = retry_classify_http(500, 0);
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_time now = AT(1000), end = check_after(now, rows[i].age);
        uint32_t reports, sick;
        check_row("row %u", (unsigned)i);
        set_up(2);
        retry_gates_breaker(&nodes[0], &breakers[0]);
        retry_gates_breaker(&nodes[1], &breakers[1]);
        limits[0].max = 8;
        retry_gates_aimd(&nodes[0], &limits[0]);
        retry_gates_throttle(&nodes[0], &throttles[0]);
        if (rows[i].slow != 0)
            attempt_at(0, NULL, rows[i].slow, START);
        send_two(check_before(now, 10));
        if (rows[i].meanwhile != NOTHING)
            attempt_at(0,
                       rows[i].meanwhile == WORKED    ? NULL
                       : rows[i].meanwhile == REFUSED ? &refused
                                                      : &broke,
                       0, check_after(now, 1));
        reports = retry_breaker_get(&breakers[0], end).reports;
        sick = retry_breaker_get(&breakers[0], end).sick;
        win(end);
        CHECK_EQUAL(reports + rows[i].sick, retry_breaker_get(&breakers[0], end).reports);
        CHECK_EQUAL(sick + rows[i].sick, retry_breaker_get(&breakers[0], end).sick);
        CHECK_EQUAL(0, retry_breaker_get(&breakers[1], end).sick);
        CHECK_EQUAL(rows[i].meanwhile == REFUSED ? 4 : 8, retry_aimd_limit(&limits[0]));
        CHECK_EQUAL(0, nodes[0].in_flight);
    }
}

/* Nor does it need a breaker to make its node ill. */
static void test_losers_are_ill(void)
{
    unsigned meanwhile;
    for (meanwhile = 0; meanwhile < 2; meanwhile++) {
        check_row("answered meanwhile %u", meanwhile);
        set_up(2);
        attempt_of(0, NULL, 100, START);
        send_two(AT(200));
        if (meanwhile)
            attempt_of(0, NULL, 0, AT(300));
        CHECK(!is_ill(0, AT(400)));
        win(AT(5000));
        CHECK_EQUAL(!meanwhile, is_ill(0, AT(5000)));
        CHECK(!is_ill(1, AT(5000)));
    }
}

/* One that was given up with its operation is none. */
static void test_no_losers(void)
{
    const retry_failure final = check_failure_of(RETRY_REASON_UNKNOWN);
    unsigned stopped;
    for (stopped = 0; stopped < 2; stopped++) {
        set_up(2);
        retry_gates_breaker(&nodes[0], &breakers[0]);
        send_two(START);
        if (stopped)
            retry_stop(&op, AT(5000));
        else
            retry_ended(&op, 0, &final, AT(5000));
        CHECK_EQUAL(0, retry_breaker_get(&breakers[0], AT(5000)).reports);
    }
}

/* Of two nodes one is dark. 2,000 operations, which are answered in 20 ms, and hedged after 40:
   their breaker keeps nearly all away from it, with further copies as without. */
static void test_dark_node(void)
{
    unsigned hedged, i;
    for (hedged = 0; hedged < 2; hedged++) {
        static retry_hedge hedge;
        static retry_copy copies[1];
        unsigned dark = 0, done = 0;
        retry_time now = START;
        set_up(2);
        client.random = NULL;
        client.cut_after = 200;
        client.attempt_timeout = 500;
        for (i = 0; i < 2; i++) {
            breakers[i].in_a_row = 5;
            retry_gates_breaker(&nodes[i], &breakers[i]);
        }
        memset(&hedge, 0, sizeof hedge);
        memset(copies, 0, sizeof copies);
        hedge.count = 1;
        hedge.delay = 40;
        hedge.copies = copies;
        memset(&op, 0, sizeof op);
        op.client = &client;
        op.timeout = 2000;
        op.idempotent = true;
        if (hedged)
            retry_hedge_copies(&op, &hedge);
        for (i = 0; i < 2000; i++) {
            unsigned answers = 2; /* the copy that is answered; 2: none */
            retry_time at = now;
            retry_start(&op, NULL, now);
            for (;;) {
                retry_step step = retry_next(&op, now);
                if (step.what == RETRY_DO_END) {
                    done += step.verdict == RETRY_VERDICT_SUCCESS;
                    break;
                }
                if (step.what == RETRY_DO_SEND) {
                    dark += step.node == 0;
                    if (step.node == 1) {
                        answers = step.copy;
                        at = check_after(now, 20);
                    }
                } else if (step.what == RETRY_DO_WAIT && answers != 2) {
                    now = at;
                    retry_ended(&op, answers, NULL, now);
                    answers = 2;
                } else if (step.what == RETRY_DO_WAIT) {
                    now = check_after(now, step.delay);
                }
            }
        }
        check_row("hedged %u: %u to the dark one", hedged, dark);
        CHECK_RANGE(5, 60, dark);
        CHECK_RANGE(1990, 2000, done);
    }
}

/* While one node's server holds back all, the others are asked. */
static void test_held_node(void)
{
    const retry_failure refused = retry_classify_http(429, 30000);
    unsigned i;
    set_up(2);
    for (i = 0; i < 2; i++) {
        limits[i].max = 8;
        limits[i].hold_max = 30000;
        retry_gates_aimd(&nodes[i], &limits[i]);
    }
    for (i = 0; i < 5; i++)
        attempt_at(0, &refused, 0, START);
    for (i = 0; i < 50; i++) {
        retry_operation one = start_of(&client, 5000, AT(i * 100));
        draw_next = check_random();
        CHECK_EQUAL(1, CHECK_SEND(retry_next(&one, AT(i * 100))).node);
        retry_ended(&one, 0, NULL, AT(i * 100 + 20));
    }
    limits[1].max = 1;
    occupy(1);
    op = start_of(&client, 5000, AT(6000));
    draw_next = 0;
    CHECK_EQUAL(1,
                CHECK_WAIT(PACED, retry_next(&op, AT(6000))).delay); /* for a turn at the other */
}

/* ---- all of it ----------------------------------------------------------------------------- */

enum { SLOTS = 10, FURTHER = 2 };

static retry_operation ops[SLOTS];
static retry_hedge hedges[SLOTS];
static retry_copy further[SLOTS][FURTHER];
static uint32_t sent_to[SLOTS][FURTHER + 1]; /* 1 + node, of each copy on the wire */

/* Does what retry_next says until it says WAIT or END. */
static void poll(uint32_t slot, retry_time now)
{
    retry_step step;
    while ((step = retry_next(&ops[slot], now)).what < RETRY_DO_WAIT) {
        CHECK_RANGE(0, FURTHER, step.copy);
        CHECK_EQUAL(step.what == RETRY_DO_SEND, sent_to[slot][step.copy] == 0);
        sent_to[slot][step.copy] = step.what == RETRY_DO_SEND ? 1u + step.node : 0;
    }
    CHECK(step.what == RETRY_DO_END || step.delay != 0);
}

/* Whatever is called in whatever order: each node counts the copies that it has. */
static void test_random_walk(void)
{
    static const retry_reason reasons[] = {
        RETRY_REASON_ATTEMPT_TIMED_OUT, RETRY_REASON_KV_LOCKED, RETRY_REASON_SOCKET_NOT_AVAILABLE,
        RETRY_REASON_SERVER_ERROR, RETRY_REASON_KV_NOT_MY_VBUCKET};
    retry_time now = START;
    uint32_t step, i, k, total = 0;
    set_up(4);
    client.random = NULL;
    for (i = 0; i < 4; i++) {
        limits[i].max = 4;
        breakers[i].volume = 4;
        breakers[i].open = 150;
        rates[i].max = 40000;
        retry_gates_aimd(&nodes[i], &limits[i]);
        if (i & 1)
            retry_gates_breaker(&nodes[i], &breakers[i]);
        if (i & 2)
            retry_gates_rate(&nodes[i], &rates[i]);
        retry_gates_throttle(&nodes[i], &throttles[i]);
    }
    memset(sent_to, 0, sizeof sent_to);
    memset(further, 0, sizeof further);
    memset(hedges, 0, sizeof hedges);
    memset(ops, 0, sizeof ops);
    for (i = 0; i < SLOTS; i++) {
        ops[i].client = &client;
        ops[i].timeout = 2000;
        ops[i].idempotent = true;
        hedges[i].delay = 40;
        hedges[i].count = FURTHER;
        hedges[i].copies = further[i];
        if (i % 2)
            retry_hedge_copies(&ops[i], &hedges[i]);
        retry_start(&ops[i], NULL, now);
    }
    for (step = 0; step < 20000 / CHECK_ONE_IN; step++) {
        retry_failure failure = check_failure_of(reasons[check_random() % CHECK_COUNT(reasons)]);
        uint32_t in_flight[4] = {0, 0, 0, 0};
        check_row("step %lu", (unsigned long)step);
        failure.timeout = failure.reason == RETRY_REASON_ATTEMPT_TIMED_OUT;
        i = check_random() % SLOTS;
        k = check_random() % (FURTHER + 2);
        now = check_after(now, check_random() % 30);
        switch (check_random() % 12) {
        case 0:
            retry_stop(&ops[i], now);
            break;
        case 1:
            retry_start(&ops[i], NULL, now);
            break;
        case 2:
        case 3:
        case 4:
        case 5:
            retry_ended(&ops[i], (unsigned)k, check_random() % 3 ? NULL : &failure, now);
            if (k <= FURTHER)
                sent_to[i][k] = 0;
            break;
        default:
            if (retry_left(&ops[i], now) == 0)
                retry_start(&ops[i], NULL, now);
            break;
        }
        poll(i, now);
        for (i = 0; i < SLOTS; i++) {
            for (k = 0; k <= FURTHER; k++) {
                if (sent_to[i][k] != 0)
                    in_flight[sent_to[i][k] - 1]++;
            }
        }
        for (k = 0; k < 4; k++) {
            CHECK_EQUAL(in_flight[k], nodes[k].in_flight);
            CHECK_RANGE(0, 4, in_flight[k]);
            total += in_flight[k];
        }
    }
    CHECK_RANGE(2 * step, 16 * step, total); /* it was not too quiet to tell */
    for (i = 0; i < SLOTS; i++) {
        retry_stop(&ops[i], now);
        poll(i, now);
    }
    for (k = 0; k < 4; k++)
        CHECK_EQUAL(0, nodes[k].in_flight);
}

int main(void)
{
    RUN(test_no_client);
    RUN(test_count);
    RUN(test_no_gates);
    RUN(test_whose_gates);
    RUN(test_ill_for);
    RUN(test_ill_as_told);
    RUN(test_ill_once);
    RUN(test_one_tries);
    RUN(test_what_makes_ill);
    RUN(test_what_makes_nobody_ill);
    RUN(test_isolated);
    RUN(test_equals);
    RUN(test_order_of_nodes);
    RUN(test_busy);
    RUN(test_spare);
    RUN(test_many_nodes);
    RUN(test_elsewhere);
    RUN(test_elsewhere_in_time);
    RUN(test_not_elsewhere);
    RUN(test_elsewhere_and_budgets);
    RUN(test_elsewhere_later);
    RUN(test_elsewhere_is_full);
    RUN(test_rounds);
    RUN(test_hedges);
    RUN(test_hedge_of_a_spare);
    RUN(test_failed_before_out);
    RUN(test_ordered_before);
    RUN(test_follows_elsewhere);
    RUN(test_answers);
    RUN(test_order);
    RUN(test_first_answer);
    RUN(test_answer_of_the_last);
    RUN(test_no_time_to_wait);
    RUN(test_whose_time_counts);
    RUN(test_no_turn_is_kept);
    RUN(test_no_probe_is_kept);
    RUN(test_throttle_draws_once);
    RUN(test_throttle_of_each_node);
    RUN(test_asked_once);
    RUN(test_pace_of_each);
    RUN(test_no_more_time_at_a_dark_node);
    RUN(test_more_time_if_it_is_needed);
    RUN(test_spill);
    RUN(test_token_pays_for_one);
    RUN(test_none_was_reached);
    RUN(test_losers);
    RUN(test_losers_are_ill);
    RUN(test_no_losers);
    RUN(test_dark_node);
    RUN(test_held_node);
    RUN(test_random_walk);
    return check_done();
}
