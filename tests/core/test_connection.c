/* gRPC's connection backoff: attempts are spaced from start to start, and a connection that lasts
   begins again from one. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/backoffs.h"
#include "../support/check.h"

#define MIDDLE 0x80000000u
#define TOP UINT32_MAX

/* Every test runs from here, over the wrap of the clock. */
#define AT(elapsed) check_after((retry_time)-3000, (elapsed))

static uint32_t number; /* what the connections of these tests draw */

static uint32_t draw(void *context)
{
    return *(const uint32_t *)context;
}

static retry_failure failed_as(retry_reason reason, retry_ms retry_after)
{
    retry_failure failure = check_failure_of(reason);
    failure.retry_after = retry_after;
    return failure;
}

static retry_connection grpc(void)
{
    retry_connection connection = RETRY_CONNECTION_GRPC;
    connection.random = draw;
    connection.random_context = &number;
    return connection;
}

/* Begins an attempt; what is drawn from now on. */
static retry_ms begin(retry_connection *connection, uint32_t random, retry_time now)
{
    number = random;
    return retry_connection_begin(connection, now);
}

static void test_first_attempt(void)
{
    static const uint32_t randoms[] = {0, MIDDLE, TOP}; /* the first deadline has no jitter */
    size_t i;
    for (i = 0; i < CHECK_COUNT(randoms); i++) {
        retry_connection connection = grpc();
        check_row("random %u", (unsigned)i);
        CHECK_EQUAL(20000, begin(&connection, randoms[i], AT(0)));
        CHECK_EQUAL(1000, retry_connection_failed(&connection, NULL, AT(0)));
    }
}

/* The time that an attempt takes is part of the spacing. One that took all of it is followed by a
   part of the first spacing, as all of a fleet whose packets are lost fail at once. */
static void test_failing_late(void)
{
    static const struct {
        retry_ms after;
        uint32_t random;
        retry_ms sleep;
    } rows[] = {{0, 0, 1000},        {1, 0, 999},
                {700, 0, 300},       {999, 0, 1},
                {999, TOP, 1},       {1000, 0, 0},
                {1000, MIDDLE, 500}, {1000, TOP, 1000},
                {1001, MIDDLE, 500}, {20000, 0, 0},
                {20000, TOP, 1000},  {2147480000u, MIDDLE, 500},
                {4000000000u, 0, 0}, {4000000000u, TOP, 1000}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_connection connection = grpc();
        begin(&connection, rows[i].random, AT(0));
        check_row("after %lu ms, random %lu", (unsigned long)rows[i].after,
                  (unsigned long)rows[i].random);
        CHECK_EQUAL(rows[i].sleep, retry_connection_failed(&connection, NULL, AT(rows[i].after)));
        CHECK_EQUAL(rows[i].sleep, retry_connection_wait(&connection, AT(rows[i].after)));
        CHECK_EQUAL(
            0, retry_connection_wait(&connection, check_after(AT(rows[i].after), rows[i].sleep)));
    }
}

static void test_second_attempt(void)
{
    static const struct {
        uint32_t random;
        retry_ms low, high;
    } rows[] = {{0, 1280, 1281}, {MIDDLE, 1599, 1601}, {TOP, 1919, 1920}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_connection connection = grpc();
        begin(&connection, 0, AT(0));
        retry_connection_failed(&connection, NULL, AT(0));
        check_row("random %u", (unsigned)i);
        CHECK_EQUAL(20000, begin(&connection, rows[i].random, AT(1000)));
        CHECK_RANGE(rows[i].low, rows[i].high,
                    retry_connection_failed(&connection, NULL, AT(1000)));
        CHECK_RANGE(rows[i].low - 500, rows[i].high - 500,
                    retry_connection_failed(&connection, NULL, AT(1500)));
    }
}

/* The whole ladder, jitter in the middle, at its ends, and what an attempt is granted. */
static void test_ladder(void)
{
    static const retry_ms spacing[] = {1000,  1600,  2560,  4096,   6554,   10486, 16777,
                                       26844, 42950, 68719, 109951, 120000, 120000};
    static const struct {
        uint32_t random;
        unsigned percent;
    } rows[] = {{0, 80}, {MIDDLE, 100}, {TOP, 120}};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_connection connection = grpc();
        retry_time now = AT(0);
        for (j = 0; j < CHECK_COUNT(spacing); j++) {
            uint64_t expected = j == 0 ? 1000 : (uint64_t)spacing[j] * rows[i].percent / 100;
            uint64_t slack = 2 + expected / 5000;
            retry_ms timeout = begin(&connection, rows[i].random, now);
            retry_ms sleep = retry_connection_failed(&connection, NULL, now);
            check_row("random %u, attempt %u", (unsigned)i, (unsigned)j);
            CHECK_RANGE(expected - slack, expected + slack, sleep);
            CHECK_EQUAL(sleep > 20000 ? sleep : 20000, timeout);
            now = check_after(now, sleep);
        }
    }
}

/* An attempt that fails after its deadline: the next is spaced from where it begins. */
static void test_slow_attempts(void)
{
    retry_connection connection = grpc();
    begin(&connection, 0, AT(0));
    CHECK_EQUAL(0, retry_connection_failed(&connection, NULL, AT(20000)));
    CHECK_EQUAL(20000, begin(&connection, TOP, AT(20000)));
    CHECK_RANGE(1818, 1820, retry_connection_failed(&connection, NULL, AT(20100)));
}

/* 10,000 devices of a network that drops all packets: each attempt takes the 20 s that it is
   granted. All of them came in the same ms, round after round. */
static void test_dropped_packets(void)
{
    enum { DEVICES = 10000 / CHECK_ONE_IN / CHECK_ONE_IN, ROUNDS = 6, SPAN = 10000 };
    static retry_ms due[DEVICES]; /* ms since the start of all; when its next attempt begins */
    static retry_connection connections[DEVICES];
    static uint16_t began[SPAN]; /* in each ms of a round */
    unsigned device, round, ms;
    memset(connections, 0, sizeof connections);
    memset(due, 0, sizeof due);
    retry_seed(1);
    for (round = 0; round < ROUNDS; round++) {
        unsigned most = 0;
        memset(began, 0, sizeof began);
        for (device = 0; device < DEVICES; device++) {
            retry_ms granted = retry_connection_begin(&connections[device], AT(due[device]));
            CHECK_EQUAL(20000, granted);
            CHECK(due[device] - round * UINT32_C(20000) < SPAN);
            began[due[device] - round * UINT32_C(20000)]++;
            due[device] += granted;
            due[device] += retry_connection_failed(&connections[device], NULL, AT(due[device]));
        }
        for (ms = 0; ms < SPAN; ms++)
            most = began[ms] > most ? began[ms] : most;
        check_row("round %u", round);
        if (round == 0)
            CHECK_EQUAL(DEVICES, most);
        else
            CHECK_RANGE(1, 40, most); /* 10 or less on the average */
    }
}

/* The wait after the loss of a stable connection that draws this number. */
static retry_ms drawn(retry_backoff backoff, uint32_t random)
{
    retry_connection connection = grpc();
    connection.backoff = backoff;
    begin(&connection, random, AT(0));
    retry_connection_established(&connection, AT(0));
    return retry_connection_failed(&connection, NULL, AT(0));
}

static retry_ms drawn_by_grpc(uint32_t random)
{
    return drawn(grpc().backoff, random);
}

static void test_established_resets(void)
{
    retry_connection connection = grpc();
    unsigned i;
    for (i = 0; i < 5; i++)
        begin(&connection, MIDDLE, AT(i));
    retry_connection_established(&connection, AT(100));
    CHECK_EQUAL(drawn_by_grpc(MIDDLE), retry_connection_failed(&connection, NULL, AT(500000)));
    CHECK_EQUAL(0, drawn_by_grpc(0)); /* the lowest that is drawn */
    CHECK_EQUAL(20000, begin(&connection, TOP, AT(500000)));
    CHECK_EQUAL(1000, retry_connection_failed(&connection, NULL, AT(500000)));
    CHECK_EQUAL(20000, begin(&connection, TOP, AT(501000)));
    CHECK_RANGE(1919, 1920, retry_connection_failed(&connection, NULL, AT(501000)));
}

/* A fleet whose server goes down comes back spread over the first spacing. */
static void test_fleet(void)
{
    static const struct {
        const char *name;
        retry_ms initial, min, first;
    } rows[] = {{"gRPC", 1000, 0, 1000}, {"a minute", 60000, 0, 60000}, {"least", 10, 3000, 3000}};
    enum { DEVICES = 20000, PARTS = 10 };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_backoff backoff = RETRY_BACKOFF_GRPC;
        unsigned parts[PARTS], part, device;
        backoff.initial = rows[i].initial;
        backoff.min = rows[i].min;
        memset(parts, 0, sizeof parts);
        for (device = 0; device < DEVICES; device++) {
            retry_ms wait = drawn(backoff, check_random());
            CHECK_RANGE(0, rows[i].first, wait);
            parts[(uint64_t)wait * PARTS / (rows[i].first + 1)]++;
        }
        for (part = 0; part < PARTS; part++) {
            check_row("%s, part %u", rows[i].name, part);
            CHECK_RANGE(DEVICES / PARTS * 9 / 10, DEVICES / PARTS * 11 / 10, parts[part]);
        }
    }
}

/* Without a generator of its own it draws from the library's. */
static void test_draws_by_itself(void)
{
    unsigned i;
    for (i = 0; i < 1000; i++) {
        retry_connection connection = RETRY_CONNECTION_GRPC;
        uint32_t random;
        retry_seed(i);
        random = retry_draw();
        retry_seed(i);
        retry_connection_begin(&connection, AT(0));
        retry_connection_established(&connection, AT(100));
        check_row("seed %u", i);
        CHECK_EQUAL(drawn_by_grpc(random), retry_connection_failed(&connection, NULL, AT(2000)));
    }
}

/* The ms that the next attempt is spaced by, after a second attempt that was up for `lasted`. */
static retry_ms spacing_after(retry_ms stable_after, retry_ms lasted)
{
    retry_connection connection = grpc();
    connection.stable_after = stable_after;
    begin(&connection, MIDDLE, AT(0));
    begin(&connection, MIDDLE, AT(1000));
    retry_connection_established(&connection, AT(2000));
    retry_connection_failed(&connection, NULL, check_after(AT(2000), lasted));
    begin(&connection, MIDDLE, AT(50000));
    return retry_connection_failed(&connection, NULL, AT(50000));
}

static void test_stable_after(void)
{
    static const struct {
        retry_ms stable_after, lasted;
        bool resets;
    } rows[] = {{1, 0, true},          {1, 1, true}, /* any */
                {2, 1, false},         {2, 2, true},
                {0, 0, false},         {0, 9999, false}, /* 10 s */
                {0, 10000, true},      {0, 1000000, true},
                {5000, 0, false},      {5000, 4999, false},
                {5000, 5000, true},    {5000, 5001, true},
                {5000, 1000000, true}, {UINT32_MAX, 2000000000, false}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("stable after %lu, lasted %lu", (unsigned long)rows[i].stable_after,
                  (unsigned long)rows[i].lasted);
        if (rows[i].resets)
            CHECK_EQUAL(1000, spacing_after(rows[i].stable_after, rows[i].lasted));
        else
            CHECK_RANGE(2558, 2562, spacing_after(rows[i].stable_after, rows[i].lasted));
    }
}

/* A connection that comes up and goes down again must not hammer. */
static void test_flapping(void)
{
    retry_connection connection = grpc();
    retry_time now = AT(0);
    retry_ms last = 0;
    unsigned i;
    connection.stable_after = 10000;
    for (i = 0; i < 12; i++) {
        retry_ms sleep;
        begin(&connection, MIDDLE, now);
        retry_connection_established(&connection, check_after(now, 10));
        sleep = retry_connection_failed(&connection, NULL, check_after(now, 20)) + 20;
        check_row("round %u", i);
        CHECK(sleep > last);
        last = sleep;
        now = check_after(now, sleep);
    }
    CHECK_RANGE(119900, 120100, last);
}

/* Established once is not established for ever: the next attempts climb again. */
static void test_established_counts_once(void)
{
    retry_connection connection = grpc();
    begin(&connection, MIDDLE, AT(0));
    retry_connection_established(&connection, AT(10));
    retry_connection_failed(&connection, NULL, AT(20));
    begin(&connection, MIDDLE, AT(1000));
    CHECK_EQUAL(1000, retry_connection_failed(&connection, NULL, AT(1000)));
    begin(&connection, MIDDLE, AT(2000));
    CHECK_RANGE(1599, 1601, retry_connection_failed(&connection, NULL, AT(2000)));
    begin(&connection, MIDDLE, AT(4000));
    CHECK_RANGE(2558, 2562, retry_connection_failed(&connection, NULL, AT(4000)));
}

/* Another backoff, and the shortest least timeout: the deadline alone. */
static void test_own_backoff(void)
{
    retry_connection connection = grpc();
    retry_backoff backoff = RETRY_BACKOFF_RFC0049; /* without jitter */
    unsigned i;
    connection.backoff = backoff;
    connection.backoff.initial = 100;
    connection.backoff.max = 1000;
    connection.backoff.factor = RETRY_RATIO(2);
    connection.min_connect_timeout = 1;
    for (i = 0; i < 6; i++) {
        retry_ms expected = i < 4 ? (retry_ms)100 << i : 1000;
        check_row("attempt %u", i);
        CHECK_EQUAL(expected, begin(&connection, 77, AT(i * 2000)));
        CHECK_EQUAL(expected - 60, retry_connection_failed(&connection, NULL, AT(i * 2000 + 60)));
    }
}

/* Zeroed it is gRPC's, but for one thing: a connection must have lasted 10 s to reset. */
static void test_zeroed(void)
{
    retry_connection preset = grpc(), zeroed;
    retry_time now = AT(0);
    unsigned i;
    preset.random = NULL;
    preset.stable_after = 10000;
    memset(&zeroed, 0, sizeof zeroed);
    for (i = 0; i < 2000; i++) {
        uint32_t seed = check_random();
        retry_ms of_preset = 0, of_zeroed = 0;
        unsigned step = (unsigned)(check_random() % 3);
        check_row("step %u", i);
        retry_seed(seed);
        if (step == 0)
            of_preset = retry_connection_begin(&preset, now);
        else if (step == 1)
            retry_connection_established(&preset, now);
        else
            of_preset = retry_connection_failed(&preset, NULL, now);
        retry_seed(seed);
        if (step == 0)
            of_zeroed = retry_connection_begin(&zeroed, now);
        else if (step == 1)
            retry_connection_established(&zeroed, now);
        else
            of_zeroed = retry_connection_failed(&zeroed, NULL, now);
        CHECK_EQUAL(of_preset, of_zeroed);
        now = check_after(now, check_random() % 15000);
    }
}

/* A field of the backoff that is 0 has gRPC's value, whatever else stands there: the spacing of the
   first attempt and of the fourth, by the lowest and the highest draw. */
static void test_zero_fields(void)
{
    const struct {
        const char *name;
        retry_backoff backoff;
        retry_ms first, low, high;
    } rows[] = {
#define BACKOFF(...) backoff_of(RETRY_CURVE_EXPONENTIAL, __VA_ARGS__)
        {"none", BACKOFF(0, 0, 0, 0, 0, 0), 1000, 3277, 4915},
        {"initial", BACKOFF(0, 0, 100, 0, 0, 0), 100, 328, 492},
        {"initial of 5 min, above the cap", BACKOFF(0, 0, 300000, 0, 0, 0), 300000, 240000, 360000},
        {"max", BACKOFF(0, 0, 0, 2000, 0, 0), 1000, 1600, 2400},
        {"max below initial", BACKOFF(0, 0, 0, 5, 0, 0), 5, 4, 6},
        {"min", BACKOFF(0, 70000, 0, 0, 0, 0), 70000, 70000, 70000},
        {"factor", BACKOFF(0, 0, 0, 0, RETRY_RATIO(2), 0), 1000, 6400, 9600},
        {"factor 1", BACKOFF(0, 0, 0, 0, RETRY_RATIO(1), 0), 1000, 800, 1200},
        {"spread", BACKOFF(0, 0, 0, 0, 0, RETRY_RATIO(0.5)), 1000, 2048, 6144},
        {"full", BACKOFF(RETRY_JITTER_FULL, 0, 0, 0, 0, 0), 1000, 0, 4096},
        {"no jitter", BACKOFF(RETRY_JITTER_NONE, 0, 0, 0, 0, 0), 1000, 4096, 4096},
#undef BACKOFF
    };
    size_t i, end;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (end = 0; end < 2; end++) {
            uint32_t random = end ? TOP : 0;
            retry_ms expected = end ? rows[i].high : rows[i].low, slack = 1 + expected / 5000;
            retry_connection connection = grpc();
            connection.backoff = rows[i].backoff;
            check_row("%s, random %lu", rows[i].name, (unsigned long)random);
            begin(&connection, random, AT(0));
            CHECK_EQUAL(rows[i].first, retry_connection_failed(&connection, NULL, AT(0)));
            begin(&connection, random, AT(0));
            begin(&connection, random, AT(0));
            begin(&connection, random, AT(0));
            CHECK_RANGE(expected < slack ? 0 : expected - slack, expected + slack,
                        retry_connection_failed(&connection, NULL, AT(0)));
        }
    }
}

/* Two clients that take a broker's session from one another: each is let in, and thrown out by the
   other's next. In 25 s they came in 3,927 times. */
static void test_two_that_kick_each_other(void)
{
    retry_connection clients[2];
    retry_ms due[2] = {0, 0};
    retry_ms now;
    int holder = -1;
    unsigned connected = 0, i;
    memset(clients, 0, sizeof clients);
    for (now = 0; now < 25000; now++) {
        for (i = 0; i < 2; i++) {
            if (due[i] != now)
                continue;
            begin(&clients[i], check_random(), AT(now));
            retry_connection_established(&clients[i], AT(now));
            connected++;
            if (holder == (int)(1 - i))
                due[1 - i] = now + retry_connection_failed(&clients[1 - i], NULL, AT(now)) + 1;
            holder = (int)i;
        }
    }
    CHECK_RANGE(4, 20, connected);
}

/* A clock that is a little behind counts as no time passed. */
static void test_clock_backward(void)
{
    retry_connection connection = grpc();
    connection.stable_after = 100;
    begin(&connection, 0, AT(5000));
    CHECK_EQUAL(1000, retry_connection_failed(&connection, NULL, AT(4000)));
    retry_connection_established(&connection, AT(5500));
    retry_connection_failed(&connection, NULL, AT(4000));
    begin(&connection, MIDDLE, AT(7000));
    CHECK_RANGE(1599, 1601, retry_connection_failed(&connection, NULL, AT(7000)));
}

/* No number of attempts brings the spacing down again. */
static void test_many_attempts(void)
{
    retry_connection connection = grpc();
    unsigned i;
    for (i = 0; i < 2000; i++) {
        begin(&connection, check_random(), AT(0));
        if (i >= 11)
            CHECK_RANGE(95900, 144000, retry_connection_failed(&connection, NULL, AT(0)));
    }
}

static void test_null(void)
{
    CHECK_EQUAL(0, retry_connection_begin(NULL, AT(0)));
    CHECK_EQUAL(0, retry_connection_failed(NULL, NULL, AT(0)));
    retry_connection_established(NULL, AT(0));
    retry_connection_skip_wait(NULL, AT(0));
}

/* ---- a connection that is lost ------------------------------------------------------------- */

#define DAY ((retry_time)86400000)
#define CLIMBED ((retry_time)2000000) /* the start of an attempt that is spaced by 120 s */

/* The eleventh attempt, which fails unless it is established. */
static retry_connection climbed(retry_ms stable_after)
{
    retry_connection connection = grpc();
    unsigned i;
    connection.stable_after = stable_after;
    for (i = 0; i < 14; i++)
        begin(&connection, MIDDLE, AT(i));
    begin(&connection, MIDDLE, AT(CLIMBED));
    return connection;
}

/* Whether the next attempts count from one again; they begin at this instant. */
static bool counts_from_one(retry_connection *connection, retry_time now)
{
    retry_ms first, second;
    begin(connection, MIDDLE, now);
    first = retry_connection_failed(connection, NULL, now);
    begin(connection, MIDDLE, now);
    second = retry_connection_failed(connection, NULL, now);
    if (first != 1000) {
        CHECK_RANGE(119900, 120100, first);
        return false;
    }
    CHECK_RANGE(1599, 1601, second);
    return true;
}

/* Established 100 ms after its start, and lost so much later; what is left of its 120 s if that was
   too early. */
static const struct {
    retry_ms stable_after;
    retry_time lasted;
    bool resets;
    retry_ms left;
} losses[] = {
    {1, 0, true, 0},
    {1, 1, true, 0},
    {1, 900, true, 0},
    {1, 119900, true, 0},
    {1, 200000, true, 0}, /* after its deadline */
    {100, 99, false, 119801},
    {100, 100, true, 0},
    {1000, 0, false, 119900},
    {1000, 999, false, 118901},
    {1000, 1000, true, 0},
    {1000, 1001, true, 0},
    {0, 9999, false, 109901},
    {0, 10000, true, 0},
    {300000, 119900, false, 0},
    {300000, 299999, false, 0},
    {300000, 300000, true, 0},
    {0, 25 * DAY, true, 0},
    {0, 40 * DAY, true, 0},
    {0, 49 * DAY, true, 0},
    {1000, 24 * DAY, true, 0},
    {1000, 25 * DAY, true, 0}, /* over half the range is not a clock that stepped back */
    {1000, 40 * DAY, true, 0},
    {1000, 49 * DAY, true, 0},
    {86400000, 25 * DAY, true, 0},
    {86400000, 49 * DAY, true, 0},
    {UINT32_MAX, 40 * DAY, false, 0},
};

static void test_lost(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(losses); i++) {
        retry_connection connection = climbed(losses[i].stable_after);
        retry_time up = check_after(AT(CLIMBED), 100);
        retry_time lost = check_after(up, losses[i].lasted);
        retry_ms sleep;
        retry_connection_established(&connection, up);
        sleep = retry_connection_failed(&connection, NULL, lost);
        check_row("stable after %lu, lasted %lu ms, slept %lu",
                  (unsigned long)losses[i].stable_after, (unsigned long)losses[i].lasted,
                  (unsigned long)sleep);
        if (losses[i].resets || (losses[i].left == 0 && losses[i].lasted < DAY))
            CHECK_EQUAL(drawn_by_grpc(MIDDLE), sleep);
        else if (losses[i].lasted < DAY)
            CHECK_RANGE(losses[i].left - (losses[i].left ? 15 : 0),
                        losses[i].left + (losses[i].left ? 15 : 0), sleep);
        CHECK_EQUAL(losses[i].resets, counts_from_one(&connection, check_after(lost, sleep)));
    }
}

/* However long it stood, in steps of an hour: it has lasted, though the clock wraps. */
static void test_stood_for_weeks(void)
{
    uint32_t hours;
    for (hours = 1; hours <= 2400; hours++) {
        retry_connection connection;
        retry_time lost = check_after(AT(10), (retry_time)((uint64_t)hours * 3600000));
        memset(&connection, 0, sizeof connection);
        connection.random = draw;
        connection.random_context = &number;
        begin(&connection, 0, AT(0));
        begin(&connection, MIDDLE, AT(0));
        retry_connection_established(&connection, AT(10));
        check_row("%u hours", (unsigned)hours);
        CHECK_EQUAL(drawn_by_grpc(MIDDLE), retry_connection_failed(&connection, NULL, lost));
        CHECK(counts_from_one(&connection, check_after(lost, 1000)));
    }
}

/* Those who do not report the loss but begin the next attempt at once: the same. */
static void test_begin_without_failed(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(losses); i++) {
        retry_connection connection = climbed(losses[i].stable_after);
        retry_time up = check_after(AT(CLIMBED), 100);
        retry_connection_established(&connection, up);
        check_row("stable after %lu, lasted %lu ms", (unsigned long)losses[i].stable_after,
                  (unsigned long)losses[i].lasted);
        CHECK_EQUAL(losses[i].resets,
                    counts_from_one(&connection, check_after(up, losses[i].lasted)));
    }
}

/* What is left after a reset goes by like any other spacing, however often it is asked for. */
static void test_failed_twice(void)
{
    retry_connection connection = climbed(1);
    retry_ms wait = drawn_by_grpc(MIDDLE);
    CHECK_RANGE(10, 990, wait);
    retry_connection_established(&connection, AT(CLIMBED + 100));
    CHECK_EQUAL(wait, retry_connection_failed(&connection, NULL, AT(CLIMBED + 300)));
    CHECK_EQUAL(wait, retry_connection_failed(&connection, NULL, AT(CLIMBED + 300)));
    CHECK_EQUAL(1, retry_connection_failed(&connection, NULL, AT(CLIMBED + 299 + wait)));
    CHECK_EQUAL(0, retry_connection_wait(&connection, AT(CLIMBED + 300 + wait)));
    CHECK(counts_from_one(&connection, AT(CLIMBED + 300 + wait)));
    connection = climbed(0);
    CHECK_RANGE(119900, 120000, retry_connection_failed(&connection, NULL, AT(CLIMBED)));
    CHECK_RANGE(119890, 119990, retry_connection_failed(&connection, NULL, AT(CLIMBED + 10)));
    CHECK(!counts_from_one(&connection, AT(CLIMBED + 120000)));
}

static void check_ignored(retry_connection *connection, retry_time now)
{
    retry_connection before;
    memcpy(&before, connection, sizeof before);
    retry_connection_established(connection, now);
    CHECK(memcmp(&before, connection, sizeof before) == 0);
}

/* A callback that comes after the attempt was given up must not reset what it did not bring. */
static void test_established_late(void)
{
    retry_connection connection = climbed(0);
    retry_ms sleep = retry_connection_failed(&connection, NULL, AT(CLIMBED + 20000));
    check_ignored(&connection, AT(CLIMBED + 20001));
    CHECK_EQUAL(sleep - 1, retry_connection_failed(&connection, NULL, AT(CLIMBED + 20001)));
    CHECK(!counts_from_one(&connection, AT(CLIMBED + 130000)));
    connection = grpc();
    check_ignored(&connection, AT(0)); /* never begun */
    CHECK_EQUAL(0, retry_connection_wait(&connection, AT(0)));
    CHECK(counts_from_one(&connection, AT(0)));
}

/* Who never calls _begin waits longer and longer all the same; as long as a wait is not over, the
   same loss may be told more than once. */
static void test_never_begun(void)
{
    retry_connection connection = grpc();
    retry_time now = AT(0);
    retry_ms sleep, last = 0;
    unsigned i;
    number = MIDDLE;
    for (i = 0; i < 30; i++) {
        check_row("loss %u", i);
        sleep = retry_connection_failed(&connection, NULL, now);
        CHECK(i != 0 || sleep == 1000);
        CHECK(sleep > last || sleep >= 96000);
        CHECK_EQUAL(sleep - 1, retry_connection_failed(&connection, NULL, check_after(now, 1)));
        CHECK_EQUAL(1, retry_connection_failed(&connection, NULL, check_after(now, sleep - 1)));
        now = check_after(now, sleep + i % 3);
        last = sleep;
    }
}

/* After connections that were established for less than they need to count from one again, a fleet
   spreads over the first spacing at least, and the curve goes on. */
static void test_fleet_of_short_connections(void)
{
    enum { FLEET = 2000 };
    static const retry_ms lasted[] = {0, 500, 1000, 3000, 9999};
    size_t i;
    unsigned device;
    for (i = 0; i < CHECK_COUNT(lasted); i++) {
        uint32_t quarters[4] = {0, 0, 0, 0}, rest = 0;
        for (device = 0; device < FLEET; device++) {
            retry_connection connection;
            retry_ms sleep;
            retry_time lost = check_after(AT(0), lasted[i]);
            memset(&connection, 0, sizeof connection);
            connection.random = draw;
            connection.random_context = &number;
            begin(&connection, check_random(), AT(0));
            retry_connection_established(&connection, AT(0));
            sleep = retry_connection_failed(&connection, NULL, lost);
            CHECK_EQUAL(sleep, retry_connection_wait(&connection, lost));
            CHECK_RANGE(0, 1000, sleep);
            if (lasted[i] <= 1000 && sleep == 1000 - lasted[i])
                rest++;
            else
                quarters[sleep == 1000 ? 3 : sleep / 250]++;
            begin(&connection, MIDDLE, check_after(lost, sleep));
            CHECK_RANGE(1599, 1601,
                        retry_connection_failed(&connection, NULL, check_after(lost, sleep)));
        }
        check_row("lasted %u ms", (unsigned)lasted[i]);
        if (lasted[i] == 0) {
            CHECK_EQUAL(FLEET, rest);
        } else if (lasted[i] == 500) {
            CHECK_RANGE(900, 1100, rest);
            CHECK_RANGE(420, 580, quarters[2]);
            CHECK_RANGE(420, 580, quarters[3]);
        } else {
            unsigned quarter;
            for (quarter = 0; quarter < 4; quarter++)
                CHECK_RANGE(420, 580, quarters[quarter]);
        }
    }
}

/* Another backoff's `previous` delay is the spacing, and not what was drawn. */
static void test_short_connections_climb(void)
{
    retry_connection connection = grpc();
    retry_time now = AT(0);
    unsigned i;
    connection.backoff =
        backoff_of(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_DECORRELATED, 0, 1000, 20000, 0, 0);
    connection.stable_after = 60000;
    for (i = 0; i < 6; i++) {
        check_row("connection %u", i);
        begin(&connection, UINT32_MAX, now);
        retry_connection_established(&connection, now);
        now = check_after(now, 30000);
        CHECK_RANGE(0, 1000, retry_connection_failed(&connection, NULL, now));
    }
    begin(&connection, UINT32_MAX, now);
    CHECK_EQUAL(20000, retry_connection_failed(&connection, NULL, now));
}

/* It changes nothing, whatever the state. */
static void test_wait(void)
{
    retry_connection connection = grpc(), before;
    CHECK_EQUAL(0, retry_connection_wait(NULL, AT(0)));
    CHECK_EQUAL(0, retry_connection_wait(&connection, AT(0)));
    begin(&connection, MIDDLE, AT(0));
    memcpy(&before, &connection, sizeof before);
    CHECK_EQUAL(1000, retry_connection_wait(&connection, AT(0)));
    CHECK_EQUAL(1, retry_connection_wait(&connection, AT(999)));
    CHECK_EQUAL(0, retry_connection_wait(&connection, AT(1000)));
    CHECK_EQUAL(1000,
                retry_connection_wait(&connection, AT(0) - 7)); /* a clock that stepped back */
    CHECK(memcmp(&before, &connection, sizeof before) == 0);
    retry_connection_established(&connection, AT(10));
    memcpy(&before, &connection, sizeof before);
    CHECK_EQUAL(300, retry_connection_wait(&connection, AT(700)));
    CHECK(memcmp(&before, &connection, sizeof before) == 0);
}

/* Only the first counts: a second does not make the connection younger. */
static void test_established_twice(void)
{
    retry_connection connection = climbed(5000);
    retry_connection_established(&connection, AT(CLIMBED + 100));
    check_ignored(&connection, AT(CLIMBED + 4000));
    CHECK_EQUAL(drawn_by_grpc(MIDDLE),
                retry_connection_failed(&connection, NULL, AT(CLIMBED + 5100)));
    check_ignored(&connection, AT(CLIMBED + 5100)); /* nor does one after the loss */
    CHECK(counts_from_one(&connection, AT(CLIMBED + 5100)));
}

/* Lost before its clock says it was there: no time has passed. A clock that is more than 32,768 ms
   behind cannot be told from one that is weeks ahead, and a connection may well stand for weeks. */
static void test_lost_with_a_clock_backward(void)
{
    retry_connection connection = climbed(1000);
    retry_connection_established(&connection, AT(CLIMBED + 100));
    CHECK_RANGE(119900, 120100, retry_connection_failed(&connection, NULL, AT(CLIMBED - 7)));
    CHECK(!counts_from_one(&connection, AT(CLIMBED)));
    connection = climbed(1000);
    retry_connection_established(&connection, AT(CLIMBED + 100));
    CHECK_RANGE(119900, 120100,
                retry_connection_failed(&connection, NULL, AT(CLIMBED + 100 - 32768)));
    connection = climbed(1000);
    retry_connection_established(&connection, AT(CLIMBED + 100));
    CHECK_EQUAL(drawn_by_grpc(MIDDLE),
                retry_connection_failed(&connection, NULL, AT(CLIMBED + 100 - 32769)));
    CHECK(counts_from_one(&connection, AT(CLIMBED)));
    connection = climbed(1); /* any resets */
    retry_connection_established(&connection, AT(CLIMBED + 100));
    CHECK_EQUAL(drawn_by_grpc(MIDDLE), retry_connection_failed(&connection, NULL, AT(CLIMBED - 7)));
    CHECK(counts_from_one(&connection, AT(CLIMBED)));
}

/* A least delay holds for the first spacing, too. */
static void test_first_spacing_with_a_least_delay(void)
{
    retry_connection connection = grpc();
    connection.backoff.min = 3000;
    CHECK_EQUAL(20000, begin(&connection, TOP, AT(0)));
    CHECK_EQUAL(3000, retry_connection_failed(&connection, NULL, AT(0)));
}

/* ---- the network is back ------------------------------------------------------------------- */

/* After a part of the first spacing, if that is sooner, and not before a server that asked for
   more; the attempts count from one. */
static void test_skip_wait(void)
{
    static const uint32_t randoms[] = {0, MIDDLE, TOP};
    static const struct {
        const char *name;
        retry_ms told, passed; /* ms; since the connection failed */
        retry_ms waits[3];
    } rows[] = {
        {"120 s", 0, 0, {0, 500, 1000}},
        {"10 ms are left", 0, 119990, {0, 10, 10}},
        {"nothing is left", 0, 120000, {0, 0, 0}},
        {"less was asked for", 700, 0, {700, 700, 1000}},
        {"less was asked for, and is over", 700, 701, {0, 500, 1000}},
        {"more was asked for", 600000, 0, {600000, 600000, 600000}},
        {"more was asked for, a while ago", 600000, 599000, {1000, 1000, 1000}},
        {"more was asked for, and is over", 600000, 600000, {0, 0, 0}},
    };
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (j = 0; j < CHECK_COUNT(randoms); j++) {
            retry_connection connection = climbed(0);
            retry_failure failure = failed_as(RETRY_REASON_SERVER_ERROR, rows[i].told);
            retry_time now = AT(CLIMBED + rows[i].passed);
            number = 0;
            retry_connection_failed(&connection, &failure, AT(CLIMBED));
            retry_connection_failed(&connection, NULL, AT(CLIMBED)); /* forgets nothing */
            number = randoms[j];
            retry_connection_skip_wait(&connection, now);
            retry_connection_skip_wait(&connection, now);
            check_row("%s, random %u", rows[i].name, (unsigned)j);
            CHECK_RANGE(rows[i].waits[j] - (rows[i].waits[j] != 0), rows[i].waits[j] + 1,
                        retry_connection_wait(&connection, now));
            CHECK(counts_from_one(&connection, check_after(now, rows[i].waits[j] + 1)));
        }
    }
}

/* Who was told two times waits for the later one. */
static void test_told_twice(void)
{
    const retry_failure hour = failed_as(RETRY_REASON_SERVER_ERROR, 3600000);
    const retry_failure second = failed_as(RETRY_REASON_SERVER_ERROR, 1000);
    retry_connection connection = climbed(0);
    number = 0;
    retry_connection_failed(&connection, &hour, AT(CLIMBED));
    CHECK_EQUAL(3600000, retry_connection_failed(&connection, &second, AT(CLIMBED)));
    retry_connection_skip_wait(&connection, AT(CLIMBED));
    CHECK_EQUAL(3600000, retry_connection_wait(&connection, AT(CLIMBED)));
}

/* Before a failure there is no wait to skip, and none begins. */
static void test_skip_no_wait(void)
{
    retry_connection connection = grpc();
    number = TOP;
    retry_connection_skip_wait(&connection, AT(5));
    CHECK_EQUAL(0, retry_connection_wait(&connection, AT(5)));
    CHECK_EQUAL(20000, begin(&connection, MIDDLE, AT(5)));
    retry_connection_skip_wait(&connection, AT(905));
    CHECK_EQUAL(100, retry_connection_failed(&connection, NULL, AT(905)));
}

/* Of a connection that stands the state stays. */
static void test_skip_wait_of_one_that_stands(void)
{
    retry_connection connection = climbed(5000);
    retry_connection_established(&connection, AT(CLIMBED + 100));
    retry_connection_skip_wait(&connection, AT(CLIMBED + 200));
    number = TOP;
    CHECK_EQUAL(1000, retry_connection_failed(&connection, NULL, AT(CLIMBED + 5100)));
    CHECK(counts_from_one(&connection, AT(CLIMBED + 6100)));
}

/* ---- a delay that the server tells --------------------------------------------------------- */

/* What is left of the second spacing, 1,600 ms, and what the server wants: the larger. */
static void test_retry_after(void)
{
    retry_failure told;
    static const struct {
        retry_ms wanted, wait;
    } rows[] = {{0, 1600},
                {1, 1600},
                {1599, 1600},
                {1601, 1601},
                {30000, 30000},
                {600000, 600000},
                {0x7fffffff, 0x7fffffff},
                {0x80000000u, 0x80000000u},
                {0x80000001u, 0x80000000u},
                {4294935000u, 0x80000000u},
                {UINT32_MAX, 0x80000000u}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_connection connection = grpc();
        begin(&connection, MIDDLE, AT(0));
        begin(&connection, MIDDLE, AT(1000));
        told = failed_as(RETRY_REASON_SERVER_ERROR, rows[i].wanted);
        check_row("%lu ms", (unsigned long)rows[i].wanted);
        number = 0;
        CHECK_RANGE(rows[i].wait - 1, rows[i].wait + 1,
                    retry_connection_failed(&connection, &told, AT(1000)));
        CHECK_RANGE(rows[i].wait - 1, rows[i].wait + 1,
                    retry_connection_failed(&connection, NULL, AT(1000)));
        CHECK_RANGE(1, 3, retry_connection_wait(&connection, AT(1000 + rows[i].wait - 2)));
        CHECK_EQUAL(0, retry_connection_wait(&connection, AT(1000 + rows[i].wait + 1)));
        begin(&connection, MIDDLE,
              AT(1000 + rows[i].wait + 1)); /* the curve goes on, and it is told once */
        CHECK_RANGE(2558, 2562,
                    retry_connection_failed(&connection, NULL, AT(1000 + rows[i].wait + 1)));
    }
}

/* Of a connection that stands: retry: of server-sent events. It holds for the next loss alone. */
static void test_retry_after_of_one_that_stands(void)
{
    retry_connection connection = climbed(1);
    const retry_failure told = failed_as(RETRY_REASON_SERVER_ERROR, 3000);
    retry_connection_established(&connection, AT(CLIMBED + 100));
    number = 0;
    CHECK_EQUAL(3000, retry_connection_failed(&connection, &told, AT(CLIMBED + 90000)));
    CHECK_EQUAL(2000, retry_connection_failed(&connection, NULL, AT(CLIMBED + 91000)));
    CHECK(counts_from_one(&connection, AT(CLIMBED + 93000)));
}

/* Who never calls _begin. */
static void test_retry_after_out_of_turn(void)
{
    const retry_failure told = failed_as(RETRY_REASON_SERVER_ERROR, 30000);
    retry_connection connection = grpc();
    number = 0;
    CHECK_EQUAL(30000, retry_connection_failed(&connection, &told, AT(0)));
}

/* It is spread by a quarter at most, also for who skips the wait, and never shorter. */
static void test_retry_after_is_spread(void)
{
    static const struct {
        retry_ms told;
        uint32_t random;
        retry_ms wait;
    } rows[] = {{30000, 0, 30000},
                {30000, MIDDLE, 33750},
                {30000, TOP, 37500},
                {0x7fffffff, TOP, 0x80000000u},
                {UINT32_MAX, TOP, 0x80000000u}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_connection connection = grpc();
        const retry_failure told = failed_as(RETRY_REASON_SERVER_ERROR, rows[i].told);
        check_row("%lu, random %lu", (unsigned long)rows[i].told, (unsigned long)rows[i].random);
        begin(&connection, MIDDLE, AT(0));
        number = rows[i].random;
        CHECK_EQUAL(rows[i].wait, retry_connection_failed(&connection, &told, AT(0)));
        retry_connection_skip_wait(&connection, AT(0));
        CHECK_EQUAL(rows[i].wait, retry_connection_wait(&connection, AT(0)));
    }
}

/* What each stream of one connection says is heard once: the first draw counts, not the longest. A
   server that asks again later, for longer, is heard. */
static void test_heard_once(void)
{
    const struct {
        retry_failure failure;
        retry_ms wait;
    } rows[] = {{failed_as(RETRY_REASON_SERVER_ERROR, 30000), 30000},
                {failed_as(RETRY_REASON_NONE, 0), 105000}};
    const retry_failure longer = failed_as(RETRY_REASON_SERVER_ERROR, 120001);
    size_t i, stream;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_connection connection = grpc();
        check_row("row %lu", (unsigned long)i);
        begin(&connection, MIDDLE, AT(0));
        number = 0;
        CHECK_EQUAL(rows[i].wait, retry_connection_failed(&connection, &rows[i].failure, AT(0)));
        number = TOP;
        for (stream = 0; stream < 5; stream++)
            CHECK_EQUAL(rows[i].wait,
                        retry_connection_failed(&connection, &rows[i].failure, AT(0)));
        number = 0;
        CHECK_EQUAL(120001, retry_connection_failed(&connection, &longer, AT(0)));
        begin(&connection, 0, AT(130000)); /* forgets it */
        number = TOP;
        CHECK_EQUAL(37500, retry_connection_failed(&connection, &rows[0].failure, AT(130000)));
        retry_connection_skip_wait(&connection, AT(130000));
        CHECK_EQUAL(37500, retry_connection_wait(&connection, AT(130000)));
    }
}

/* Whoever begins anew is asked for nothing: the network's return is not held up. */
static void test_begin_forgets_what_was_asked(void)
{
    const retry_failure told = failed_as(RETRY_REASON_SERVER_ERROR, 600000);
    retry_connection connection = grpc();
    begin(&connection, MIDDLE, AT(0));
    number = 0;
    retry_connection_failed(&connection, &told, AT(0));
    begin(&connection, MIDDLE, AT(1000)); /* too soon, by hand */
    retry_connection_failed(&connection, NULL, AT(1000));
    number = TOP;
    retry_connection_skip_wait(&connection, AT(1000));
    CHECK_RANGE(999, 1000, retry_connection_wait(&connection, AT(1000)));
}

/* ---- why it failed ------------------------------------------------------------------------- */

/* What is final waits the longest spacing at once, 20 % more or less. */
static void test_causes(void)
{
    const retry_failure down = failed_as(RETRY_REASON_SERVER_ERROR, 0);
    const retry_failure refused = failed_as(RETRY_REASON_SOCKET_NOT_AVAILABLE, 0);
    const retry_failure lost = failed_as(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, 0);
    const retry_failure wrong_password = failed_as(RETRY_REASON_NONE, 0);
    const retry_failure asked = failed_as(RETRY_REASON_NONE, 9000);
    const retry_failure unknown = failed_as(RETRY_REASON_UNKNOWN, 0);
    retry_failure never = failed_as(RETRY_REASON_SERVER_ERROR, UINT32_MAX);
    retry_failure of_server = failed_as(RETRY_REASON_NONE, 0), safe = of_server;
    const struct {
        const char *name;
        const retry_failure *failure;
        retry_ms least, most;
    } rows[] = {
        {"nothing is known", NULL, 1000, 1000},
        {"503", &down, 1000, 1000},
        {"refused", &refused, 1000, 1000},
        {"lost", &lost, 1000, 1000},
        {"a wrong password", &wrong_password, 105000, 120000},
        {"a wrong password, and a time", &asked, 9000, 11250},
        {"unknown", &unknown, 105000, 120000},
        {"the server forbids it", &never, 105000, 120000},
        {"none, the server's fault", &of_server, 1000, 1000},
        {"none, and safe", &safe, 1000, 1000},
    };
    size_t i;
    never.pushback = true;
    of_server.fault = RETRY_FAULT_SERVER;
    safe.safety = RETRY_SAFETY_YES;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_connection connection = grpc();
        connection.random = NULL;
        retry_connection_begin(&connection, AT(0));
        check_row("%s", rows[i].name);
        CHECK_RANGE(rows[i].least, rows[i].most,
                    retry_connection_failed(&connection, rows[i].failure, AT(0)));
    }
}

/* The longest spacing of a curve of one's own; the network's return skips it. */
static void test_final_by_own_backoff(void)
{
    const retry_failure final = failed_as(RETRY_REASON_NONE, 0);
    retry_connection connection = grpc();
    connection.backoff.jitter = RETRY_JITTER_NONE;
    connection.backoff.initial = 500;
    connection.backoff.max = 60000;
    retry_connection_begin(&connection, AT(0));
    number = MIDDLE;
    CHECK_EQUAL(56250, retry_connection_failed(&connection, &final, AT(0)));
    CHECK_EQUAL(55250, retry_connection_failed(&connection, NULL, AT(1000)));
    number = TOP;
    retry_connection_skip_wait(&connection, AT(2000));
    CHECK_EQUAL(500, retry_connection_wait(&connection, AT(2000)));
}

static void test_max_connect_timeout(void)
{
    static const struct {
        retry_ms min, max, expected;
    } rows[] = {{0, 0, 20000},     {0, 1500, 1500},     {0, 30000, 20000},
                {30000, 0, 30000}, {30000, 1500, 1500}, {1, 0, 1000},
                {1, 1, 1},         {1, 1000, 1000},     {UINT32_MAX, 0, UINT32_MAX}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_connection connection = grpc();
        connection.min_connect_timeout = rows[i].min;
        connection.max_connect_timeout = rows[i].max;
        check_row("%lu to %lu", (unsigned long)rows[i].min, (unsigned long)rows[i].max);
        CHECK_EQUAL(rows[i].expected, retry_connection_begin(&connection, AT(0)));
    }
}

int main(void)
{
    RUN(test_first_attempt);
    RUN(test_failing_late);
    RUN(test_second_attempt);
    RUN(test_ladder);
    RUN(test_slow_attempts);
    RUN(test_dropped_packets);
    RUN(test_established_resets);
    RUN(test_fleet);
    RUN(test_draws_by_itself);
    RUN(test_stable_after);
    RUN(test_flapping);
    RUN(test_established_counts_once);
    RUN(test_own_backoff);
    RUN(test_zeroed);
    RUN(test_zero_fields);
    RUN(test_two_that_kick_each_other);
    RUN(test_clock_backward);
    RUN(test_many_attempts);
    RUN(test_null);
    RUN(test_lost);
    RUN(test_stood_for_weeks);
    RUN(test_begin_without_failed);
    RUN(test_failed_twice);
    RUN(test_established_late);
    RUN(test_never_begun);
    RUN(test_fleet_of_short_connections);
    RUN(test_short_connections_climb);
    RUN(test_wait);
    RUN(test_established_twice);
    RUN(test_lost_with_a_clock_backward);
    RUN(test_first_spacing_with_a_least_delay);
    RUN(test_skip_wait);
    RUN(test_told_twice);
    RUN(test_skip_no_wait);
    RUN(test_skip_wait_of_one_that_stands);
    RUN(test_retry_after);
    RUN(test_retry_after_of_one_that_stands);
    RUN(test_retry_after_out_of_turn);
    RUN(test_retry_after_is_spread);
    RUN(test_heard_once);
    RUN(test_begin_forgets_what_was_asked);
    RUN(test_causes);
    RUN(test_final_by_own_backoff);
    RUN(test_max_connect_timeout);
    return check_done();
}
