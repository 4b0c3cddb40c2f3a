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

/* In which order a new operation asks so many nodes, as far as the draw tells. */
static void order_of(uint32_t count, uint32_t *order)
{
    uint32_t i;
    for (i = 0; i < count; i++) {
        drawn = 0;
        order[i] = where();
        CHECK_EQUAL(1, drawn); /* for all of them */
        if (order[i] < NODES)
            isolate(order[i]);
    }
    CHECK_EQUAL(NODES, where());
    heal(count);
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
        op = start_of(&alone[step.node], 100000, AT(1));
        CHECK_EQUAL(200, CHECK_SEND(retry_next(&op, AT(1))).timeout);
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

/* ---- two of the others --------------------------------------------------------------------- */

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

/* Each ordered pair comes as often as any other. */
static void test_pairs(void)
{
    uint32_t count, i;
    for (count = 2; count <= NODES; count++) {
        uint32_t counts[NODES * NODES], n = count * (count - 1);
        double expected[NODES * NODES];
        check_row("%lu nodes", (unsigned long)count);
        set_up(count);
        memset(counts, 0, sizeof counts);
        for (i = 0; i < n; i++)
            expected[i] = (double)DRAWS / (double)n;
        for (i = 0; i < DRAWS; i++) {
            uint32_t first, second;
            draw_next = check_random();
            first = where();
            isolate(first);
            second = where();
            heal(count);
            if (first < count && second < count && first != second)
                counts[first * (count - 1) + second - (second > first)]++;
        }
        /* one in 10,000 is above it */
        CHECK(chi_square(counts, expected, n) < 12 + 2.5 * (double)n);
    }
}

/* The less busy of two: the busiest of all never, the least busy as often as it is drawn. */
static void test_less_busy(void)
{
    static const double expected[] = {DRAWS * 0.4, DRAWS * 0.3, DRAWS * 0.2, DRAWS * 0.1};
    static const uint32_t rank_of[NODES] = {3, 0, 4, 1, 2}; /* copies that they have */
    uint32_t counts[NODES], i, n;
    retry_operation others[10];
    set_up(NODES);
    memset(counts, 0, sizeof counts);
    for (i = 0, n = 0; i < NODES; i++) {
        uint32_t copies;
        for (copies = 0; copies < rank_of[i]; copies++, n++) {
            others[n] = start_of(&alone[i], UINT32_MAX, START);
            CHECK_SEND(retry_next(&others[n], START));
        }
        CHECK_EQUAL(rank_of[i], nodes[i].in_flight);
    }
    for (i = 0; i < DRAWS; i++) {
        uint32_t node;
        draw_next = check_random();
        node = where();
        if (node < NODES)
            counts[rank_of[node]]++;
    }
    CHECK_EQUAL(0, counts[4]);
    CHECK(chi_square(counts, expected, 4) < 21.1);
    for (n = 0; n < 10; n++)
        retry_stop(&others[n], START);
}

/* After the two those that follow the second by number, in a circle. */
static void test_circle(void)
{
    uint32_t count, round;
    for (count = 2; count <= NODES; count++) {
        for (round = 0; round < 100; round++) {
            uint32_t order[NODES], busy[NODES], first, second, i, at;
            set_up(count);
            draw_next = check_random();
            check_row("%lu nodes, draw %08lx", (unsigned long)count, (unsigned long)draw_next);
            order_of(count, order);
            first = order[0];
            second = order[1];
            at = second;
            for (i = 2; i < count; i++) {
                do {
                    at = (at + 1) % count;
                } while (at == first);
                CHECK_EQUAL(at, order[i]);
            }
            /* the first is busier: it is the second of the two, and the circle begins there */
            occupy(first);
            order_of(count, busy);
            CHECK_EQUAL(second, busy[0]);
            CHECK_EQUAL(first, busy[1]);
            at = first;
            for (i = 2; i < count; i++) {
                do {
                    at = (at + 1) % count;
                } while (at == second);
                CHECK_EQUAL(at, busy[i]);
            }
            /* as busy as the other: who was drawn first is the first */
            occupy(second);
            order_of(count, busy);
            CHECK(memcmp(order, busy, (size_t)count * sizeof order[0]) == 0);
        }
    }
}

/* ---- those that are set apart -------------------------------------------------------------- */

/* Sends a copy of `op` to the node, as all others are isolated. */
static void send_to(uint32_t node, uint32_t count, retry_time now)
{
    uint32_t i;
    for (i = 0; i < count; i++) {
        if (i != node)
            isolate(i);
    }
    CHECK_EQUAL(node, CHECK_SEND(retry_next(&op, now)).node);
    heal(count);
}

/* The way to a next try: a failure whose retry comes 1 ms later. */
static void fail(retry_time now)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_KV_NOT_MY_VBUCKET);
    retry_ended(&op, 0, &failure, now);
}

static void test_failed_last(void)
{
    uint32_t failed, i;
    for (failed = 0; failed < 3; failed++) {
        uint32_t seen = 0, others = 0;
        check_row("node %lu", (unsigned long)failed);
        set_up(3);
        client.always_interval = 1;
        for (i = 0; i < 3; i++) { /* all others are busier */
            if (i != failed)
                occupy(i);
        }
        for (i = 0; i < 100; i++) {
            retry_step step;
            op = start_of(&client, 100000, AT(i * 10));
            send_to(failed, 3, AT(i * 10));
            fail(AT(i * 10));
            draw_next = check_random();
            drawn = 0;
            step = CHECK_SEND(retry_next(&op, AT(i * 10 + 1)));
            CHECK(step.node != failed);
            CHECK_EQUAL(1, drawn);
            seen |= 1u << step.node;
            retry_ended(&op, 0, NULL, AT(i * 10 + 1));
            others += where() == failed; /* as it is the least busy */
        }
        CHECK_EQUAL(7u & ~(1u << failed), seen);
        CHECK_RANGE(50, 80, others);
    }
}

/* It is asked when all others refuse; only of the last failure, and only of this operation. */
static void test_failed_is_asked_last(void)
{
    set_up(3);
    client.always_interval = 1;
    send_to(1, 3, START);
    fail(START);
    isolate(0);
    isolate(2);
    drawn = 0;
    CHECK_EQUAL(1, CHECK_SEND(retry_next(&op, AT(1))).node);
    CHECK_EQUAL(1, drawn); /* for the two others, none for the one */
    heal(3);
    fail(AT(1));
    send_to(2, 3, AT(2)); /* 0 and 1 are isolated */
    fail(AT(2));
    isolate(0);
    CHECK_EQUAL(1, CHECK_SEND(retry_next(&op, AT(3))).node); /* 2 is set apart, 1 no more */
    fail(AT(3));
    heal(3);
    isolate(0);
    isolate(2);
    retry_start(&op, NULL, AT(4));
    draw_next = 0;
    drawn = 0;
    CHECK_EQUAL(1, CHECK_SEND(retry_next(&op, AT(4))).node);
    CHECK_EQUAL(1, drawn); /* of three: a new operation sets none apart */
}

/* With two nodes one is left each time: nothing is drawn. */
static void test_two_nodes(void)
{
    retry_step step;
    uint32_t i, last;
    set_up(2);
    client.always_interval = 1;
    last = CHECK_SEND(retry_next(&op, START)).node;
    CHECK_EQUAL(1, drawn);
    for (i = 1; i < 20; i++) {
        fail(AT(2 * i));
        step = CHECK_SEND(retry_next(&op, AT(2 * i + 1)));
        CHECK_EQUAL(1 - last, step.node);
        last = step.node;
    }
    isolate(1 - last);
    fail(AT(100));
    CHECK_EQUAL(last, CHECK_SEND(retry_next(&op, AT(101))).node);
    CHECK_EQUAL(1, drawn);
}

/* A copy whose time is over has failed, too. */
static void test_timed_out(void)
{
    set_up(3);
    send_to(2, 3, START);
    CHECK_CANCEL(retry_next(&op, AT(100)));
    CHECK_EQUAL(0, nodes[2].in_flight);
    CHECK_WAIT(STRATEGY, retry_next(&op, AT(100)));
    isolate(0);
    CHECK_EQUAL(1, CHECK_SEND(retry_next(&op, AT(2000))).node);
    retry_stop(&op, AT(2000));
}

/* Copies of one operation go to different nodes, as long as there are some. */
static void test_hedges(void)
{
    enum { COPIES = 5 };
    retry_copy copies[COPIES];
    retry_hedge hedge;
    uint32_t seen = 0, i, round;
    for (round = 0; round < 50; round++) {
        check_row("round %lu", (unsigned long)round);
        set_up(4);
        client.cut_after = 1000;
        memset(copies, 0, sizeof copies);
        memset(&hedge, 0, sizeof hedge);
        hedge.delay = 10;
        hedge.count = COPIES;
        hedge.copies = copies;
        retry_stop(&op, START);
        CHECK_END(FAIL, CANCELLED, retry_next(&op, START));
        retry_hedge_copies(&op, &hedge);
        retry_start(&op, NULL, START);
        seen = 0;
        for (i = 0; i < 4; i++) {
            retry_step step;
            draw_next = check_random();
            drawn = 0;
            step = CHECK_SEND(retry_next(&op, AT(10 * i)));
            CHECK_EQUAL(i, step.copy);
            CHECK_EQUAL(0, seen & 1u << step.node);
            CHECK_EQUAL(i < 3, drawn); /* the last is the only one left */
            seen |= 1u << step.node;
        }
        drawn = 0;
        CHECK_SEND(retry_next(&op, AT(40))); /* all are set apart: one draw among them */
        CHECK_EQUAL(1, drawn);
        for (i = 0; i < 4; i++)
            isolate(i);
        drawn = 0;
        CHECK_WAIT(NONE, retry_next(&op, AT(50))); /* refused by all four */
        CHECK_EQUAL(1, drawn);
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

/* The copy that follows one that failed goes neither to its node nor to those of the others. */
static void test_follows_elsewhere(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_copy copies[2];
    retry_hedge hedge;
    uint32_t round;
    memset(&hedge, 0, sizeof hedge);
    hedge.delay = 10;
    hedge.count = 2;
    hedge.copies = copies;
    for (round = 0; round < 50; round++) {
        uint32_t used;
        check_row("round %lu", (unsigned long)round);
        set_up(3);
        memset(copies, 0, sizeof copies);
        memset(&op, 0, sizeof op);
        op.client = &client;
        op.idempotent = true;
        retry_hedge_copies(&op, &hedge);
        retry_start(&op, NULL, START);
        draw_next = check_random();
        used = 1u << CHECK_SEND(retry_next(&op, START)).node;
        used |= 1u << CHECK_SEND(retry_next(&op, AT(10))).node;
        retry_ended(&op, 0, &failure, AT(15));
        CHECK_EQUAL(7u & ~used, 1u << CHECK_SEND(retry_next(&op, AT(15))).node);
        retry_stop(&op, AT(15));
    }
}

/* Two on the wire, and two others: one draw for each round, if both are asked. */
static void test_two_rounds(void)
{
    retry_copy copies[2];
    retry_hedge hedge;
    uint32_t used = 0, i, kept;
    for (kept = 0; kept < 2; kept++) {
        retry_step step;
        set_up(4);
        client.cut_after = 1000;
        memset(copies, 0, sizeof copies);
        memset(&hedge, 0, sizeof hedge);
        hedge.delay = 10;
        hedge.count = 2;
        hedge.copies = copies;
        memset(&op, 0, sizeof op);
        op.client = &client;
        op.idempotent = true;
        retry_hedge_copies(&op, &hedge);
        retry_start(&op, NULL, START);
        used = 1u << CHECK_SEND(retry_next(&op, START)).node;
        used |= 1u << CHECK_SEND(retry_next(&op, AT(10))).node;
        for (i = 0; i < 4; i++) {
            if ((used & 1u << i) == 0)
                isolate(i);
        }
        draw_next = kept ? UINT32_MAX : 0;
        drawn = 0;
        step = CHECK_SEND(retry_next(&op, AT(20)));
        CHECK(used & 1u << step.node);
        CHECK_EQUAL(2, drawn);
        CHECK_EQUAL(2, nodes[step.node].in_flight);
        retry_stop(&op, AT(20));
        CHECK_EQUAL(0, nodes[step.node].in_flight);
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
            if (gates[a].kind == OPEN_300) /* one draw for the nodes, none for a throttle */
                CHECK_EQUAL(1, drawn);
        }
    }
}

/* If none says PACED or CIRCUIT_OPEN, the one that was asked first. */
static void test_first_answer(void)
{
    uint32_t seen = 0, draws;
    for (draws = 0; draws < 40; draws++) {
        uint32_t order[2], n;
        set_up(2);
        draw_next = check_random() >> 1; /* a throttle would refuse it */
        n = draw_next;
        check_row("draw %08lx", (unsigned long)draw_next);
        occupy(0);
        occupy(1);
        order_of(2, order);
        prepare(0, THROTTLED);
        prepare(1, RATE_SPENT);
        draw_next = n;
        check_answer(RETRY_DO_END, RETRY_CAUSE_THROTTLED, order[0] == 0 ? 0 : 1000,
                     retry_next(&op, START));
        seen |= 1u << order[0];
    }
    CHECK(seen & 1);
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
            client.always_interval = 1;
            send_to(failed, 3, START);
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

/* Each node is asked once: one draw for the choice, and one for each throttle. */
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
        CHECK_EQUAL(1 + count, drawn);
    }
}

/* Each node has an attempt's time of its own, for whoever sends to it. */
static void test_pace_of_each(void)
{
    static const retry_ms given[] = {200, 600, 100};
    uint32_t i;
    set_up(3);
    client.always_interval = 1;
    client.cut_after = 400;
    send_to(1, 3, START);
    retry_ended(&op, 0, NULL, AT(300));
    client.cut_after = 100;
    op = start_of(&client, 100000, AT(300));
    send_to(0, 3, AT(300));
    CHECK_CANCEL(retry_next(&op, AT(400)));
    for (i = 0; i < 3; i++) {
        retry_operation one = start_of(&alone[i], 100000, AT(500));
        CHECK_EQUAL(given[i], CHECK_SEND(retry_next(&one, AT(500))).timeout);
        op = start_of(&client, 100000, AT(500));
        send_to(i, 3, AT(500));
        CHECK_EQUAL(given[i], CHECK_WAIT(NONE, retry_next(&op, AT(500))).delay);
    }
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
            CHECK_EQUAL(1 + 10, reached);
            CHECK_RANGE(9, 13, refused);
            CHECK_EQUAL(0, retry_budget_balance(&budget));
        }
    }
}

/* Both ports are closed: nothing is paid, and what was paid before comes back with the end. */
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
    draw_next = UINT32_MAX;
    client.cut_after = 50000;
    retry_start(&op, NULL, now);
    CHECK_EQUAL(1, CHECK_SEND(retry_next(&op, now)).node);
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
    RUN(test_pairs);
    RUN(test_less_busy);
    RUN(test_circle);
    RUN(test_failed_last);
    RUN(test_failed_is_asked_last);
    RUN(test_two_nodes);
    RUN(test_timed_out);
    RUN(test_hedges);
    RUN(test_follows_elsewhere);
    RUN(test_two_rounds);
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
    RUN(test_spill);
    RUN(test_token_pays_for_one);
    RUN(test_none_was_reached);
    RUN(test_losers);
    RUN(test_no_losers);
    RUN(test_dark_node);
    RUN(test_held_node);
    RUN(test_random_walk);
    return check_done();
}
