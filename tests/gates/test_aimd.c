/* The AIMD limit: what makes it fall and rise, by how much, how often, and within what; how
   failures in a row count; and for how long attempts wait. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/by_hand.h"
#include "../support/check.h"

#define DAY ((retry_time)86400000)
#define ALL UINT32_MAX /* so many are in use that the limit may rise */

static retry_aimd aimd_of(uint32_t max)
{
    retry_aimd aimd;
    memset(&aimd, 0, sizeof aimd);
    aimd.max = aimd.initial = max;
    aimd.cooldown = 1000;
    return aimd;
}

/* An attempt that is sent whatever is known of the limit; its operation draws *drawn, if not NULL.
 */
static void send(struct by_hand *hand, retry_gates *gates, retry_aimd *aimd, uint32_t *drawn,
                 retry_time now)
{
    retry_aimd kept = *aimd;
    memset(gates, 0, sizeof *gates);
    memset(aimd, 0, sizeof *aimd);
    retry_gates_aimd(gates, aimd);
    CHECK_EQUAL(RETRY_DO_SEND, by_hand_send(hand, gates, drawn, now).what);
    *aimd = kept;
}

/* Of an attempt that began `age` ms before `now`, when no pause was known. Instants here count from
   1, as a change at 0 counts as one at 1 (test_instant_0). */
static uint32_t report(retry_aimd *aimd, const retry_failure *failure, uint32_t in_use,
                       retry_ms age, retry_time now)
{
    struct by_hand hand;
    retry_gates gates;
    now = check_after(now, 1);
    send(&hand, &gates, aimd, NULL, check_before(now, age));
    gates.in_flight = in_use;
    by_hand_end(&hand, failure, now);
    return retry_aimd_limit(aimd);
}

/* The server asks for less load. */
static uint32_t throttled(retry_aimd *aimd, retry_time now)
{
    retry_failure failure = retry_classify_http(429, 0);
    return report(aimd, &failure, ALL, 0, now);
}

static uint32_t answered(retry_aimd *aimd, uint32_t in_use, retry_time now)
{
    return report(aimd, NULL, in_use, 0, now);
}

/* So many are in use that it rises by one: not all. */
static uint32_t most_of(const retry_aimd *aimd)
{
    return retry_aimd_limit(aimd) - 1;
}

/* A limit of half of `max`, which it got from a fall at `now`; no failure is in the row. It is not
   below `initial`: it rises by one. */
static retry_aimd fallen(uint32_t max, retry_time now)
{
    retry_aimd aimd = aimd_of(max);
    throttled(&aimd, now);
    answered(&aimd, 0, now);
    aimd.initial = 1;
    return aimd;
}

static void test_null(void)
{
    CHECK_EQUAL(UINT32_MAX, retry_aimd_limit(NULL));
}

static void test_size(void)
{
    CHECK_RANGE(1, 60, sizeof(retry_aimd));
}

/* Zeroed: 20 at first, 1,000 at most, 1 at least, 1 more, a half, and no cooldown: an attempt that
   began at the last change or before it changes nothing, any other does. */
static void test_defaults(void)
{
    retry_aimd aimd = aimd_of(0);
    aimd.cooldown = 0;
    CHECK_EQUAL(20, retry_aimd_limit(&aimd));
    CHECK_EQUAL(20, answered(&aimd, 9, 0));
    CHECK_EQUAL(10, throttled(&aimd, 0));
    CHECK_EQUAL(10, retry_aimd_limit(&aimd));
    aimd.initial = 2;
    aimd.max = 2;
    CHECK_EQUAL(2, retry_aimd_limit(&aimd));
    CHECK_EQUAL(1, throttled(&aimd, 1));
    CHECK_EQUAL(1, answered(&aimd, 1, 1));
    CHECK_EQUAL(2, answered(&aimd, 1, 2));
    CHECK_EQUAL(2, answered(&aimd, 2, 3));
    CHECK_EQUAL(1, throttled(&aimd, 3));
    aimd.max = 80;
    aimd.min = 40;
    CHECK_EQUAL(40, throttled(&aimd, 4));
    CHECK_EQUAL(40, report(&aimd, NULL, ALL, 96, 100)); /* it began at 4 */
    CHECK_EQUAL(41, report(&aimd, NULL, ALL, 95, 100));
    CHECK_EQUAL(41, report(&aimd, NULL, ALL, 50, 150));
    CHECK_EQUAL(42, report(&aimd, NULL, ALL, 49, 150));
}

/* At `initial`, which is 20 by default, but within max and min. */
static void test_initial(void)
{
    static const struct {
        uint32_t initial, max, min, limit;
    } rows[] = {
        {0, 0, 0, 20},      {0, 20, 0, 20},        {0, 19, 0, 19},
        {0, 1, 0, 1},       {0, 21, 0, 20},        {0, UINT32_MAX, 0, 20},
        {1, 0, 0, 1},       {7, 0, 0, 7},          {999, 0, 0, 999},
        {1000, 0, 0, 1000}, {1001, 0, 0, 1000},    {1001, 2000, 0, 1001},
        {50, 10, 0, 10},    {UINT32_MAX, 5, 0, 5}, {UINT32_MAX, UINT32_MAX, 0, UINT32_MAX},
        {0, 0, 21, 21},     {5, 0, 8, 8},          {5, 7, 8, 7},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(rows[i].max);
        aimd.initial = rows[i].initial;
        aimd.min = rows[i].min;
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].limit, retry_aimd_limit(&aimd));
    }
}

/* It rises from there without a fall, one more a round trip, up to max, if it is in use. */
static void test_rises_from_initial(void)
{
    static const retry_time starts[] = {0, 1, 5000, 0xffff8000, 0xffffff00, 0xfffffffe};
    size_t i;
    unsigned n;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        retry_aimd aimd = aimd_of(0);
        retry_time now = starts[i];
        aimd.cooldown = 0;
        aimd.max = 30;
        check_row("from %lu", (unsigned long)now);
        CHECK_EQUAL(20, answered(&aimd, 14, now));
        CHECK_EQUAL(21, answered(&aimd, 15, now)); /* three quarters of it are in use */
        CHECK_EQUAL(21, answered(&aimd, 21, now)); /* it began at the change */
        for (n = 22; n <= 30; n++) {
            now = check_after(now, 50);
            CHECK_EQUAL(n, report(&aimd, NULL, n - 2, 49, now)); /* not all of it */
        }
        now = check_after(now, 50);
        CHECK_EQUAL(30, report(&aimd, NULL, 30, 49, now));
        CHECK_EQUAL(15, throttled(&aimd, check_after(now, 1)));
    }
}

/* Until its first fall it doubles a round trip while all of it is in use: nothing says that it is
   enough. */
static void test_doubles_until_it_falls(void)
{
    static const struct {
        uint32_t initial, increase, next;
    } rows[] = {{0, 0, 40},     {1, 0, 2},       {2, 5, 7},
                {7, 6, 14},     {500, 0, 1000},  {501, 0, 1000},
                {999, 0, 1000}, {1000, 0, 1000}, {20, UINT32_MAX, 1000}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(0);
        uint32_t limit;
        aimd.initial = rows[i].initial;
        aimd.increase = rows[i].increase;
        limit = retry_aimd_limit(&aimd);
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].next, answered(&aimd, limit, 5));
        CHECK_EQUAL(rows[i].next, answered(&aimd, ALL, 1005)); /* the cooldown is not over */
    }
}

/* While answers take half of cut_after or longer what is sent waits for its turn, perhaps: the
   limit grows by one. Without cut_after nobody knows what is slow. */
static void test_doubles_if_quick(void)
{
    static const struct {
        retry_ms cut_after, took;
        uint32_t next;
    } rows[] = {{1000, 0, 8},         {1000, 1, 8}, {1000, 499, 8}, {1000, 500, 5}, {1000, 501, 5},
                {1000, 5000, 5},      {3, 1, 5},    {4, 1, 8},      {0, 5000, 8},   {1, 1, 5},
                {UINT32_MAX, 5000, 8}};
    size_t i, n;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(0);
        struct by_hand hands[4];
        retry_gates gates;
        memset(&gates, 0, sizeof gates);
        aimd.initial = CHECK_COUNT(hands);
        aimd.cooldown = 0;
        retry_gates_aimd(&gates, &aimd);
        check_row("cut_after %lu, an answer took %lu", (unsigned long)rows[i].cut_after,
                  (unsigned long)rows[i].took);
        for (n = 0; n < CHECK_COUNT(hands); n++) {
            CHECK_EQUAL(RETRY_DO_SEND, by_hand_send(&hands[n], &gates, NULL, 1).what);
            hands[n].client.cut_after = rows[i].cut_after;
        }
        by_hand_end(&hands[0], NULL, 1 + rows[i].took);
        CHECK_EQUAL(rows[i].next, retry_aimd_limit(&aimd));
        for (n = 1; n < CHECK_COUNT(hands); n++)
            by_hand_end(&hands[n], NULL, 1 + rows[i].took);
    }
}

/* After a fall it doubles up to three quarters of where it fell from, while all of it is in use. A
   fall that comes without a rise before it does not change how far. */
static void test_doubles_up_to_where_it_fell(void)
{
    static const struct {
        uint32_t from, falls, next[5];
    } rows[] = {{1000, 1, {500, 750, 751, 752, 753}}, {1000, 2, {250, 500, 750, 751, 752}},
                {1000, 3, {125, 250, 500, 750, 751}}, {1000, 7, {7, 8, 10, 12, 15}},
                {100, 1, {50, 75, 76, 77, 78}},       {101, 1, {50, 76, 77, 78, 79}},
                {30, 1, {15, 18, 20, 23, 24}},        {26, 1, {13, 16, 20, 21, 22}},
                {20, 1, {10, 12, 15, 18, 20}},        {4, 2, {1, 2, 3, 4, 5}}};
    size_t i, n;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(0);
        retry_time now = 0;
        aimd.initial = rows[i].from;
        check_row("%lu, %lu falls", (unsigned long)rows[i].from, (unsigned long)rows[i].falls);
        for (n = 0; n < rows[i].falls; n++, now += 1001)
            throttled(&aimd, now);
        aimd.initial = 0;
        for (n = 0; n < CHECK_COUNT(rows[i].next); n++, now += 1001) {
            CHECK_EQUAL(rows[i].next[n], retry_aimd_limit(&aimd));
            answered(&aimd, ALL, now);
        }
    }
}

/* An answer that took twice cut_after or longer: the server is slow, perhaps not full. The limit
   doubles without end, however long answers take, until it falls again. */
static void test_late_answer(void)
{
    static const struct {
        retry_ms cut_after, took;
        uint32_t next;
    } rows[] = {{1000, 2001, 152}, {1000, 2000, 152}, {1000, 1999, 77}, {1000, 0, 77},
                {0, 2000, 77},     {1, 1, 77},        {1, 2, 152},      {UINT32_MAX, 5000, 77}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(0);
        struct by_hand hand;
        retry_gates gates;
        retry_time now = 10000;
        check_row("cut_after %lu, an answer took %lu", (unsigned long)rows[i].cut_after,
                  (unsigned long)rows[i].took);
        aimd.initial = 100;
        throttled(&aimd, 0);
        aimd.initial = 0;
        CHECK_EQUAL(75, answered(&aimd, ALL, 1001));
        CHECK_EQUAL(76, answered(&aimd, ALL, 2002));
        send(&hand, &gates, &aimd, NULL, 3004);
        hand.client.cut_after = rows[i].cut_after;
        by_hand_end(&hand, NULL, 3004 + rows[i].took);
        CHECK_EQUAL(76, retry_aimd_limit(&aimd)); /* not all of it was in use */
        send(&hand, &gates, &aimd, NULL, now - rows[i].took);
        hand.client.cut_after = rows[i].cut_after;
        gates.in_flight = 76;
        by_hand_end(&hand, NULL, now);
        CHECK_EQUAL(rows[i].next, retry_aimd_limit(&aimd));
        if (rows[i].next == 152) {
            CHECK_EQUAL(304, answered(&aimd, ALL, check_after(now, 1001)));
            CHECK_EQUAL(152, throttled(&aimd, check_after(now, 2002)));
            CHECK_EQUAL(228, answered(&aimd, ALL, check_after(now, 3003)));
            CHECK_EQUAL(229, answered(&aimd, ALL, check_after(now, 4004)));
        }
    }
}

/* From 100 to 50, then an answer that is late, without a rise: the next fall, to 25, tells anew. */
static void test_late_answer_between_falls(void)
{
    retry_aimd aimd = aimd_of(0);
    struct by_hand hand;
    retry_gates gates;
    aimd.initial = 100;
    CHECK_EQUAL(50, throttled(&aimd, 0));
    send(&hand, &gates, &aimd, NULL, 1001);
    hand.client.cut_after = 1000;
    by_hand_end(&hand, NULL, 3001);
    CHECK_EQUAL(25, throttled(&aimd, 4002));
    aimd.initial = 0;
    CHECK_EQUAL(38, answered(&aimd, ALL, 5003)); /* three quarters of 50 */
    CHECK_EQUAL(39, answered(&aimd, ALL, 6004));
}

/* From 100 to 50, up to 75 and 76, and from there to 38: now it is 57. */
static void test_falls_again(void)
{
    retry_aimd aimd = aimd_of(0);
    aimd.initial = 100;
    CHECK_EQUAL(50, throttled(&aimd, 0));
    aimd.initial = 0;
    CHECK_EQUAL(75, answered(&aimd, ALL, 1001));
    CHECK_EQUAL(76, answered(&aimd, ALL, 2002));
    CHECK_EQUAL(38, throttled(&aimd, 3003));
    CHECK_EQUAL(39, answered(&aimd, 37, 4004)); /* not all of it */
    CHECK_EQUAL(57, answered(&aimd, 39, 5005));
    CHECK_EQUAL(58, answered(&aimd, ALL, 6006));
}

static void test_starts_at_max(void)
{
    static const uint32_t maxima[] = {1, 2, 10, 1000000, UINT32_MAX - 1, UINT32_MAX};
    size_t i;
    for (i = 0; i < CHECK_COUNT(maxima); i++) {
        retry_aimd aimd = aimd_of(maxima[i]);
        check_row("max %lu", (unsigned long)maxima[i]);
        CHECK_EQUAL(maxima[i], retry_aimd_limit(&aimd));
        CHECK_EQUAL(maxima[i], answered(&aimd, ALL, 0));
        CHECK_EQUAL(maxima[i] > 1 ? maxima[i] / 2 : 1, throttled(&aimd, 0));
    }
}

/* ---- falls --------------------------------------------------------------------------------- */

static void test_fall(void)
{
    static const struct {
        uint32_t limit, min, decrease, expected;
    } rows[] = {
        {4, 0, 0, 2},
        {1, 0, 0, 1},
        {2, 0, 0, 1},
        {3, 0, 0, 1},
        {10, 0, RETRY_RATIO(0.9), 9},
        {9, 0, RETRY_RATIO(0.9), 8},
        {5, 0, RETRY_RATIO(0.1), 1},
        {5, 0, RETRY_RATIO(0.00001), 1},
        {5, 0, 1, 1},
        {1000, 0, RETRY_RATIO(0.999), 999},
        {1000, 0, RETRY_RATIO(1), 999},
        {100000, 0, RETRY_RATIO(7), 99899},
        {100000, 0, UINT32_MAX, 99899},
        {10, 0, RETRY_RATIO(0.999), 9}, /* at least one less */
        {2, 0, RETRY_RATIO(0.999), 1},
        {1, 0, RETRY_RATIO(0.999), 1},
        {10, 5, 0, 5},
        {10, 6, 0, 6},
        {10, 9, RETRY_RATIO(0.999), 9},
        {10, 10, 0, 10},
        {10, 11, 0, 10}, /* min above max counts as max */
        {10, UINT32_MAX, 0, 10},
        {65535, 0, RETRY_RATIO(0.5), 32767},
        {40001, 0, RETRY_RATIO(0.75), 30000},
        {1000001, 0, RETRY_RATIO(0.75), 750000},
        {UINT32_MAX, 0, 0, 2147483647},
        {UINT32_MAX, UINT32_MAX - 1, 0, UINT32_MAX - 1},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(rows[i].limit);
        aimd.min = rows[i].min;
        aimd.decrease = rows[i].decrease;
        check_row("%lu, at least %lu, row %u", (unsigned long)rows[i].limit,
                  (unsigned long)rows[i].min, (unsigned)i);
        CHECK_EQUAL(rows[i].expected, throttled(&aimd, 77));
        CHECK_EQUAL(rows[i].expected, retry_aimd_limit(&aimd));
    }
}

/* n per cent of a limit, where RETRY_RATIO(n / 100.0) may be half a unit short. */
static void test_ratio_may_be_short(void)
{
    static const uint32_t limits[] = {10, 20, 50, 100, 200, 300, 1000, 1700};
    uint32_t percent;
    size_t i;
    for (percent = 1; percent < 100; percent++) {
        for (i = 0; i < CHECK_COUNT(limits); i++) {
            retry_aimd aimd = aimd_of(limits[i]);
            uint32_t kept = limits[i] * percent / 100;
            aimd.decrease = RETRY_RATIO((double)percent / 100);
            check_row("%lu %% of %lu", (unsigned long)percent, (unsigned long)limits[i]);
            CHECK_EQUAL(kept ? kept : 1, throttled(&aimd, 0));
        }
    }
}

/* What falls, rises or changes nothing; and what has become of the limit when it was reported three
   times in a row. */
static void test_outcomes(void)
{
    enum { SAME, FALLS, RISES };
    static const struct {
        retry_reason reason;
        uint32_t code;
        bool throttle, timeout;
        uint8_t first, third;
    } rows[] = {
        {RETRY_REASON_ATTEMPT_TIMED_OUT, 0, false, false, SAME, FALLS},
        {RETRY_REASON_ATTEMPT_TIMED_OUT, 0, false, true, SAME, FALLS},
        {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, 0, false, false, SAME, FALLS},
        {RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, 0, false, true, FALLS, FALLS},
        {RETRY_REASON_SOCKET_NOT_AVAILABLE, 0, false, false, SAME, FALLS},
        {RETRY_REASON_SERVICE_NOT_AVAILABLE, 0, false, false, SAME, FALLS},
        {RETRY_REASON_NODE_NOT_AVAILABLE, 0, false, false, SAME, FALLS},
        {RETRY_REASON_NONE, 0, false, true, FALLS, FALLS},
        {RETRY_REASON_NONE, 0, true, false, FALLS, FALLS},
        {RETRY_REASON_KV_LOCKED, 0, true, false, FALLS, FALLS},
        {RETRY_REASON_SEARCH_TOO_MANY_REQUESTS, 0, true, false, FALLS, FALLS},
        {RETRY_REASON_SERVER_ERROR, 0, false, false, SAME, SAME},
        {RETRY_REASON_SERVER_ERROR, 500, false, false, SAME, SAME},
        {RETRY_REASON_SERVER_ERROR, 502, false, false, SAME, SAME},
        {RETRY_REASON_SERVER_ERROR, 503, false, false, SAME, FALLS},
        {RETRY_REASON_SERVER_ERROR, 504, false, false, SAME, SAME},
        {RETRY_REASON_SERVER_ERROR, 503, true, false, FALLS, FALLS},
        {RETRY_REASON_SERVER_ERROR, 0, true, false, FALLS, FALLS},
        {RETRY_REASON_SERVER_ERROR, 0, false, true, FALLS, FALLS},
        {RETRY_REASON_SERVER_ERROR, 0, true, true, FALLS, FALLS},
        {RETRY_REASON_CIRCUIT_BREAKER_OPEN, 0, false, false, SAME, SAME},
        {RETRY_REASON_CIRCUIT_BREAKER_OPEN, 503, true, true, SAME, SAME},
        {RETRY_REASON_CLIENT_THROTTLED, 0, false, false, SAME, SAME},
        {RETRY_REASON_CLIENT_THROTTLED, 503, true, true, SAME, SAME},
        {RETRY_REASON_NONE, 0, false, false, SAME, SAME}, /* it says nothing */
        {RETRY_REASON_NONE, 404, false, false, RISES, RISES},
        {RETRY_REASON_NONE, 503, false, false, RISES, RISES},
        {RETRY_REASON_UNKNOWN, 0, false, false, RISES, RISES},
        {RETRY_REASON_KV_LOCKED, 0, false, false, RISES, RISES},
        {RETRY_REASON_KV_NOT_MY_VBUCKET, 0, false, false, RISES, RISES},
        {RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED, 0, false, false, RISES, RISES},
        {RETRY_REASON_USER(3, 0), 0, false, false, RISES, RISES},
    };
    static const uint32_t limits[] = {8, 4, 9};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = fallen(16, 0), copy;
        retry_failure failure = check_failure_of(rows[i].reason);
        failure.code = rows[i].code;
        failure.throttle = rows[i].throttle;
        failure.timeout = rows[i].timeout;
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(limits[rows[i].first], report(&aimd, &failure, 7, 0, 6000));
        if (rows[i].first == SAME) { /* no cooldown either */
            copy = aimd;
            CHECK_EQUAL(9, answered(&copy, most_of(&copy), 6000));
            CHECK_EQUAL(4, throttled(&copy, 6000));
        }
        CHECK_EQUAL(limits[rows[i].first], report(&aimd, &failure, 7, 0, 6000));
        CHECK_EQUAL(limits[rows[i].third], report(&aimd, &failure, 7, 0, 6000));
        CHECK_EQUAL(limits[rows[i].third], report(&aimd, &failure, 7, 0, 6000));
        if (rows[i].third == SAME)
            CHECK_EQUAL(9, answered(&aimd, most_of(&aimd), 6000));
    }
}

/* ---- in a row ------------------------------------------------------------------------------ */

/* u: never sent; s: its connection was closed; 3: a 503; t: timed out; 4: a 429; 5: a 500; a: an
   answer; l: an answer that refuses; c: one of the client's own gates refused. */
static uint32_t event(retry_aimd *aimd, char what, retry_time now)
{
    retry_failure failure = check_failure_of(RETRY_REASON_NONE);
    switch (what) {
    case 'u':
        failure.reason = RETRY_REASON_SOCKET_NOT_AVAILABLE;
        break;
    case 's':
        failure.reason = RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT;
        break;
    case 't':
        failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
        failure.timeout = true;
        break;
    case 'l':
        failure.reason = RETRY_REASON_KV_LOCKED;
        break;
    case 'c':
        failure.reason = RETRY_REASON_CLIENT_THROTTLED;
        break;
    case '3':
        failure = retry_classify_http(503, 0);
        break;
    case '4':
        failure = retry_classify_http(429, 0);
        break;
    default:
        failure = retry_classify_http(500, 0);
    }
    return report(aimd, what == 'a' ? NULL : &failure, 0, 0, now);
}

/* What may lower the limit is counted in a row, which an answer ends that does not ask for less
   load. Of that what tells of no load (u, s, 3) lowers it from the third in the row on. However
   much time is between them. */
static void test_row(void)
{
    static const struct {
        const char *events, *falls;
    } rows[] = {
        {"uuu", "--v"},         {"sss", "--v"},       {"333", "--v"},       {"us3us3", "--vvvv"},
        {"uua", "---"},         {"uuauuu", "-----v"}, {"uuluu", "-----"},   {"uuuauu", "--v---"},
        {"uuuluuu", "--v---v"}, {"uucu", "---v"},     {"uu5u", "---v"},     {"55555", "-----"},
        {"ccccc", "-----"},     {"4uu", "v-v"},       {"tuu", "--v"},       {"ttu", "--v"},
        {"u4u", "-vv"},         {"utu", "--v"},       {"uu4uu", "--vvv"},   {"uuau4u", "----vv"},
        {"4a4", "v-v"},         {"tat", "---"},       {"talulu", "------"},
    };
    static const retry_time spacings[] = {1001, 5000, DAY};
    size_t i, j, k;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (j = 0; j < CHECK_COUNT(spacings); j++) {
            retry_aimd aimd = aimd_of(65536);
            uint32_t limit = 65536;
            for (k = 0; rows[i].events[k]; k++) {
                check_row("%s, number %u", rows[i].events, (unsigned)k);
                limit = rows[i].falls[k] == 'v' ? limit / 2 : limit;
                CHECK_EQUAL(limit,
                            event(&aimd, rows[i].events[k], ((retry_time)k + 7) * spacings[j]));
            }
        }
    }
}

/* A row has no end. */
static void test_long_row(void)
{
    retry_aimd aimd = aimd_of(1000000000);
    uint32_t limit = 1000000000;
    unsigned i;
    aimd.decrease = RETRY_RATIO(0.999);
    for (i = 0; i < 700; i++) {
        uint32_t after = event(&aimd, 'u', (retry_time)i * 1001);
        check_row("number %u", i);
        CHECK(i < 2 ? after == limit : after < limit);
        limit = after;
    }
}

/* ---- pauses -------------------------------------------------------------------------------- */

/* What a new operation is told, which draws `drawn`. */
static retry_step ask(retry_aimd *aimd, uint32_t drawn, retry_time now)
{
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    retry_gates_aimd(&gates, aimd);
    return by_hand_ask(&gates, drawn, now);
}

/* ms that it has to wait, at least. */
static retry_ms paused(retry_aimd *aimd, retry_time now)
{
    retry_step step = ask(aimd, 0, now);
    CHECK_EQUAL(step.what == RETRY_DO_WAIT ? RETRY_CAUSE_PACED : RETRY_CAUSE_NONE, step.cause);
    CHECK(step.what == RETRY_DO_WAIT || step.what == RETRY_DO_SEND);
    return step.what == RETRY_DO_WAIT ? step.delay - 1 : 0;
}

/* The end of an attempt that was sent before any pause; its operation draws `drawn`. */
static void fails(retry_aimd *aimd, const retry_failure *failure, uint32_t drawn, retry_time now)
{
    struct by_hand hand;
    retry_gates gates;
    send(&hand, &gates, aimd, &drawn, now);
    by_hand_end(&hand, failure, now);
}

/* A failure after each pause: it begins the next, of p / 2 to p ms, of which those from the third
   in the row on let everybody wait. */
static void test_pauses(void)
{
    static const retry_ms longest[] = {100, 200, 400, 800, 1000, 1000, 1000};
    static const retry_time starts[] = {0, 1, 5000, 0x7fffff00, 0xfffff000, 0xffffff00, 0xffffffff};
    static const struct {
        uint32_t drawn;
        retry_ms halves; /* of p */
    } draws[] = {{0, 1}, {UINT32_MAX, 2}};
    size_t i, j, k;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        for (j = 0; j < CHECK_COUNT(draws); j++) {
            retry_aimd aimd = aimd_of(1);
            retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
            retry_time now = starts[i];
            for (k = 0; k < CHECK_COUNT(longest); k++) {
                retry_ms pause = longest[k] * draws[j].halves / 2;
                check_row("from %lu, row %u, draw %u", (unsigned long)starts[i], (unsigned)k,
                          (unsigned)j);
                fails(&aimd, &failure, draws[j].drawn, now);
                if (k < 2) {
                    CHECK_EQUAL(0, paused(&aimd, now));
                } else {
                    CHECK_RANGE(pause - 1, pause + 2, paused(&aimd, now));
                    retry_step step = ask(&aimd, UINT32_MAX, check_after(now, 7));
                    CHECK_EQUAL(RETRY_DO_WAIT, step.what);
                    CHECK_EQUAL(RETRY_CAUSE_PACED, step.cause);
                    CHECK_RANGE(pause - 8 + 100, pause - 5 + 100, step.delay); /* and a turn */
                    CHECK_RANGE(1, 4, paused(&aimd, check_after(now, pause - 2)));
                }
                now = check_after(now, pause + 2);
                CHECK_EQUAL(0, paused(&aimd, now));
            }
        }
    }
}

/* It is at most half of the timeout of the operation that failed, but 100 ms at least: operations
   that are shorter would all end while it lasts. */
static void test_pause_of_short_operations(void)
{
    static const struct {
        retry_ms timeout, pause;
    } rows[] = {{1, 100},     {100, 100},   {199, 100},  {201, 100},
                {400, 200},   {1000, 500},  {1998, 999}, {2000, 1000},
                {2002, 1000}, {5000, 1000}, {0, 1000},   {UINT32_MAX, 1000}};
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(1);
        unsigned n;
        for (n = 0; n < 6; n++) {
            retry_time now = 5000 * n;
            uint32_t drawn = UINT32_MAX;
            struct by_hand hand;
            retry_gates gates;
            memset(&gates, 0, sizeof gates);
            retry_gates_aimd(&gates, &aimd);
            hand.op = by_hand_start(&hand.client, &gates, &drawn, now);
            retry_stop(&hand.op, now);
            hand.op.timeout = rows[i].timeout;
            retry_start(&hand.op, NULL, now);
            CHECK_EQUAL(RETRY_DO_SEND, retry_next(&hand.op, now).what);
            by_hand_end(&hand, &failure, now);
        }
        check_row("timeout %lu", (unsigned long)rows[i].timeout);
        CHECK_EQUAL(rows[i].pause, paused(&aimd, 25000));
    }
}

/* One that ends at 0 is not taken for none. */
static void test_pause_to_zero(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    const retry_time now = (retry_time)-200;
    retry_aimd aimd = aimd_of(1);
    fails(&aimd, &failure, 0, check_before(now, 2000));
    fails(&aimd, &failure, 0, check_before(now, 1000));
    fails(&aimd, &failure, 0, now);
    CHECK_RANGE(200, 202, paused(&aimd, now));
    CHECK_RANGE(1, 3, paused(&aimd, check_after(now, 199)));
    CHECK_EQUAL(0, paused(&aimd, check_after(now, 202)));
}

/* The first two pauses are there, too: they only keep nobody waiting until the third failure. A
   pause under way is not made longer. */
static void test_third_failure(void)
{
    retry_aimd aimd = aimd_of(1);
    retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    fails(&aimd, &failure, UINT32_MAX, 5000);
    CHECK_EQUAL(0, paused(&aimd, 5000));
    fails(&aimd, &failure, UINT32_MAX, 5010);
    CHECK_EQUAL(0, paused(&aimd, 5010));
    fails(&aimd, &failure, UINT32_MAX, 5020);
    CHECK_EQUAL(80, paused(&aimd, 5020));
    fails(&aimd, &failure, UINT32_MAX, 5030);
    CHECK_EQUAL(70, paused(&aimd, 5030));
    fails(&aimd, &failure, UINT32_MAX, 5099);
    CHECK_EQUAL(1, paused(&aimd, 5099));
    CHECK_EQUAL(0, paused(&aimd, 5100));
    fails(&aimd, &failure, UINT32_MAX, 5100);
    CHECK_EQUAL(1000, paused(&aimd, 5100));
}

/* An application's own reason begins one if it says that the server is at fault. */
static void test_pause_of_own_reason(void)
{
    uint8_t fault;
    for (fault = RETRY_FAULT_OTHER; fault <= RETRY_FAULT_SERVER; fault++) {
        retry_aimd aimd = aimd_of(1);
        retry_failure failure = check_failure_of(RETRY_REASON_USER(3, 0));
        unsigned i;
        check_row("fault %u", (unsigned)fault);
        failure.fault = fault;
        for (i = 0; i < 3; i++)
            fails(&aimd, &failure, UINT32_MAX, 5000 + i);
        CHECK_EQUAL(fault == RETRY_FAULT_SERVER ? 98 : 0, paused(&aimd, 5002));
    }
}

/* An answer ends the row, and so the wait; three more failures find the pause that still runs. */
static void test_answer_ends_pause(void)
{
    retry_aimd aimd = aimd_of(1);
    unsigned i;
    for (i = 0; i < 9; i++)
        event(&aimd, 'u', 5000 + 1000 * i);
    CHECK_RANGE(500, 1000, paused(&aimd, 13000));
    event(&aimd, '5', 13001);
    event(&aimd, 'c', 13001);
    event(&aimd, '4', 13001);
    CHECK_RANGE(499, 999, paused(&aimd, 13001));
    event(&aimd, 'l', 13002);
    CHECK_EQUAL(0, paused(&aimd, 13002));
    event(&aimd, 'u', 13003);
    event(&aimd, 'u', 13003);
    CHECK_EQUAL(0, paused(&aimd, 13003));
    event(&aimd, 'u', 13003);
    CHECK_RANGE(497, 997, paused(&aimd, 13003));
    event(&aimd, 'a', 13003);
    CHECK_EQUAL(0, paused(&aimd, 13003));
}

/* Who does not answer makes a pause, at the lowest limit. */
static void test_what_pauses(void)
{
    static const struct {
        char what;
        uint32_t max, min, falls; /* falls before */
        bool pauses;
    } rows[] = {
        {'u', 1, 0, 0, true},   {'s', 1, 0, 0, true},    {'3', 1, 0, 0, true},
        {'t', 1, 0, 0, true},   {'4', 1, 0, 0, false},   {'5', 1, 0, 0, false},
        {'a', 1, 0, 0, false},  {'l', 1, 0, 0, false},   {'c', 1, 0, 0, false},
        {'u', 20, 20, 0, true}, {'u', 20, 30, 0, true},  {'u', 20, 5, 2, true},
        {'t', 20, 5, 2, true},  {'u', 20, 6, 2, true},   {'u', 1000, 5, 2, false},
        {'u', 64, 0, 2, false}, {'t', 640, 0, 2, false}, {'u', 2, 2, 0, true},
    };
    size_t i;
    unsigned n;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(rows[i].max);
        aimd.min = rows[i].min;
        for (n = 0; n < rows[i].falls; n++)
            throttled(&aimd, 2000 + n * 2000);
        event(&aimd, 'a', 7000);
        for (n = 0; n < 3; n++)
            event(&aimd, rows[i].what, 8000 + n * 300);
        check_row("%c, %lu to %lu", rows[i].what, (unsigned long)rows[i].min,
                  (unsigned long)rows[i].max);
        CHECK_EQUAL(rows[i].pauses, paused(&aimd, 8600) != 0);
    }
}

/* A limit that is raised above the lowest ends the wait. */
static void test_pause_needs_min(void)
{
    retry_aimd aimd = aimd_of(8);
    unsigned n;
    aimd.min = 8;
    for (n = 0; n < 3; n++)
        event(&aimd, 'u', 8000 + n * 300);
    CHECK(paused(&aimd, 8600) != 0);
    aimd.min = 7;
    CHECK_EQUAL(0, paused(&aimd, 8600));
    aimd.min = 8;
    CHECK(paused(&aimd, 8600) != 0);
}

/* A pause that was never set is none, at no instant; and none outlives a second, also when the
   clock steps back or nobody asks for long. */
static void test_pause_and_clocks(void)
{
    static const retry_time starts[] = {0,
                                        1,
                                        500,
                                        3000000000u,
                                        (retry_time)-1,
                                        (retry_time)-500,
                                        (retry_time)-1000,
                                        0x80000000,
                                        0x7fffffff};
    static const retry_time moves[] = {1001,
                                       5000,
                                       32768,
                                       32769,
                                       3600000,
                                       2147483648u,
                                       4000000000u,
                                       (retry_time)-1001,
                                       (retry_time)-32000,
                                       (retry_time)-60000};
    static const uint32_t draws[] = {0, UINT32_MAX};
    retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_NOT_AVAILABLE);
    size_t i, j, k;
    unsigned n;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        retry_aimd never = aimd_of(1);
        for (n = 0; n < 4; n++)
            event(&never, '4', starts[i]);
        check_row("from %lu", (unsigned long)starts[i]);
        CHECK_EQUAL(0, paused(&never, starts[i]));
        CHECK_EQUAL(0, paused(&never, check_after(starts[i], 500)));
        for (j = 0; j < CHECK_COUNT(moves); j++) {
            for (k = 0; k < CHECK_COUNT(draws); k++) {
                retry_aimd aimd = aimd_of(1);
                retry_time now = starts[i];
                for (n = 0; n < 6; n++, now = check_after(now, 1000))
                    fails(&aimd, &failure, draws[k], now);
                now = check_before(now, 1000);
                check_row("from %lu, by %lu", (unsigned long)starts[i], (unsigned long)moves[j]);
                CHECK_RANGE(499, 1000, paused(&aimd, now));
                if (moves[j] >= (retry_time)-32768) /* another thread's clock */
                    CHECK_RANGE(499, 1000, paused(&aimd, check_after(now, moves[j])));
                else
                    CHECK_EQUAL(0, paused(&aimd, check_after(now, moves[j])));
            }
        }
    }
}

/* ---- a server's word to all ---------------------------------------------------------------- */

/* `row`, one event each; then a 429 that asks for `after` ms, whose operation draws `drawn`. All
   came of attempts that were sent before any pause. */
static void refuse(retry_aimd *aimd, const char *row, retry_ms after, uint32_t drawn,
                   retry_time now)
{
    retry_failure failure = retry_classify_http(429, after);
    for (; *row; row++)
        event(aimd, *row, now);
    fails(aimd, &failure, drawn, now);
}

/* ms that all have to wait for the server: one more at most, as its end is odd. */
#define CHECK_HELD(ms, aimd, now) \
    CHECK_RANGE((ms) - ((ms) > 1), (ms) + 1 - ((ms) == 0), paused((aimd), (now)))

/* The fifth failure in a row that may lower the limit, if it says until when. An answer ends the
   row; what blames nobody does not count. */
static void test_hold_from_the_fifth(void)
{
    static const struct {
        const char *row;
        bool holds;
    } rows[] = {
        {"", false},         {"444", false},      {"4444", true},    {"44444", true},
        {"uuuu", true},      {"3333", true},      {"tttt", true},    {"ssss", true},
        {"u3t4", true},      {"444a", false},     {"4444a", false},  {"4444l", false},
        {"4444a444", false}, {"4444a4444", true}, {"5555", false},   {"cccc", false},
        {"4445", false},     {"444c", false},     {"45c4544", true}, {"444454c", true},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(65536);
        check_row("%s", rows[i].row);
        refuse(&aimd, rows[i].row, 1500, 0, 5000);
        CHECK_HELD(rows[i].holds ? 1500u : 0, &aimd, 5000);
        CHECK_EQUAL(rows[i].holds, retry_aimd_limit(&aimd) == 1); /* else it was halved, once */
    }
}

/* What says that the server asked for less, and until when. */
static void test_hold_by_whom(void)
{
    static const struct {
        int status;
        retry_ms after;
        bool holds;
    } rows[] = {
        {429, 2, true},  {429, 0, false}, {429, UINT32_MAX, false}, {429, UINT32_MAX - 1, true},
        {503, 2, true},  {503, 0, false}, {529, 2, true},           {403, 2, true},
        {500, 2, false}, {404, 0, false}, {408, 2, false},          {429, 1, false}, /* "0" */
        {503, 1, false}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(65536);
        retry_failure failure = retry_classify_http(rows[i].status, rows[i].after);
        retry_ms hold = rows[i].after < 2000 ? rows[i].after : 2000;
        check_row("%d, %lu ms", rows[i].status, (unsigned long)rows[i].after);
        refuse(&aimd, "444", 0, 0, 5000);
        fails(&aimd, &failure, 0, 5000);
        CHECK_HELD(rows[i].holds ? hold : 0, &aimd, 5000);
    }
    {
        retry_aimd aimd = aimd_of(65536);
        retry_failure failure = retry_classify_grpc(8); /* by its pushback */
        check_row("gRPC");
        CHECK(retry_parse_pushback("700", 3, &failure));
        refuse(&aimd, "444", 0, 0, 5000);
        fails(&aimd, &failure, 0, 5000);
        CHECK_HELD(700u, &aimd, 5000);
    }
}

/* Five refusals in a row may be chance. A hold of over half of the timeout would end all
   operations, so more than half of the last attempts have to have failed: eleven, or if hold_max is
   set five. */
static void test_hold_by_chance(void)
{
    static const struct {
        retry_ms timeout, after, hold_max;
        unsigned holds; /* from which refusal on */
    } rows[] = {{2000, 1000, 0, 5},  {1999, 1000, 0, 11},   {1000, 1000, 0, 11},
                {1000, 500, 0, 5},   {1000, 501, 0, 11},    {4000, 9000, 0, 5},
                {3999, 9000, 0, 11}, {1000, 1000, 2000, 5}, {3999, 9000, 9000, 5}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(65536);
        retry_failure failure = retry_classify_http(429, rows[i].after);
        uint32_t drawn = 0;
        unsigned n;
        aimd.hold_max = rows[i].hold_max;
        for (n = 1; n <= 11; n++) {
            struct by_hand hand;
            retry_gates gates;
            send(&hand, &gates, &aimd, &drawn, 5000);
            hand.op.timeout = rows[i].timeout;
            by_hand_end(&hand, &failure, 5000);
            check_row("row %u, refusal %u", (unsigned)i, n);
            CHECK_EQUAL(n >= rows[i].holds, paused(&aimd, 5000) != 0);
            if (paused(&aimd, 5000) != 0)
                break;
        }
    }
}

/* hold_max ms at most, and up to an eighth more at random. */
static void test_hold_max(void)
{
    static const struct {
        retry_ms max, after, least, most;
    } rows[] = {
        {0, 1, 0, 0}, /* a header that says 0, or an instant that is past */
        {0, 800, 800, 900},
        {0, 2000, 2000, 2250},
        {0, 30000, 2000, 2250},
        {1, 30000, 0, 0}, /* it does not hold */
        {2, 30000, 2, 2},
        {500, 30000, 500, 562},
        {60000, 30000, 30000, 33750},
        {60000, 90000, 60000, 67500},
        {UINT32_C(1) << 30, 0x7fffffff, UINT32_C(1) << 30, (UINT32_C(1) << 30) / 8 * 9},
        {UINT32_MAX, 0x7fffffff, UINT32_C(1) << 30, (UINT32_C(1) << 30) / 8 * 9},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd least = aimd_of(65536), most = aimd_of(65536);
        least.hold_max = most.hold_max = rows[i].max;
        check_row("%lu, %lu ms", (unsigned long)rows[i].max, (unsigned long)rows[i].after);
        refuse(&least, "4444", rows[i].after, 0, 5000);
        refuse(&most, "4444", rows[i].after, UINT32_MAX, 5000);
        CHECK_HELD(rows[i].least, &least, 5000);
        CHECK_HELD(rows[i].most, &most, 5000);
    }
}

/* Not even a pause of the limit's own that is shorter than what the server asks for keeps it from
   that; and while it lasts nothing makes it longer. */
static void test_hold_is_not_prolonged(void)
{
    static const char *const more[] = {"4", "u", "t", "3", "44444", "uuuuu", "c5"};
    retry_aimd aimd;
    retry_ms own;
    size_t i;
    aimd = aimd_of(1);
    for (i = 0; i < 4; i++)
        event(&aimd, 'u', 5000 + 1000 * (retry_time)i);
    CHECK_RANGE(399, 801, paused(&aimd, 8000));
    refuse(&aimd, "", 1500, 0, 8000);
    CHECK_HELD(1500u, &aimd, 8000);
    aimd = aimd_of(1); /* but one that is longer stays */
    for (i = 0; i < 4; i++)
        event(&aimd, 'u', 5000 + 1000 * (retry_time)i);
    own = paused(&aimd, 8000);
    refuse(&aimd, "", 300, 0, 8000);
    CHECK_EQUAL(own, paused(&aimd, 8000));
    refuse(&aimd, "", 300, 0, check_after(8000, own - 200));
    CHECK_HELD(300u, &aimd, check_after(8000, own - 200));
    for (i = 0; i < CHECK_COUNT(more); i++) {
        aimd = aimd_of(65536);
        refuse(&aimd, "4444", 1500, 0, 5000);
        check_row("%s", more[i]);
        refuse(&aimd, more[i], 2000, UINT32_MAX, 5700);
        CHECK_HELD(800u, &aimd, 5700);
        refuse(&aimd, more[i], 2000, UINT32_MAX, 6499);
        CHECK_HELD(1u, &aimd, 6499);
        CHECK_EQUAL(0, paused(&aimd, 6502));
    }
}

/* Then one at a time goes out. Refused again, all wait anew; what says nothing of when leaves the
   limit's own pause. */
static void test_hold_anew(void)
{
    struct by_hand first, second;
    retry_failure refused = retry_classify_http(429, 1500), silent = retry_classify_http(429, 0);
    retry_aimd aimd = aimd_of(20);
    retry_gates gates;
    uint32_t drawn = 0;
    memset(&gates, 0, sizeof gates);
    retry_gates_aimd(&gates, &aimd);
    refuse(&aimd, "4444", 1500, 0, 5000);
    CHECK_EQUAL(1, retry_aimd_limit(&aimd));
    CHECK_EQUAL(RETRY_DO_WAIT, by_hand_send(&first, &gates, &drawn, 6499).what);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&first.op, 6502).what);
    CHECK_EQUAL(RETRY_DO_WAIT, by_hand_send(&second, &gates, &drawn, 6502).what);
    by_hand_end(&first, &refused, 6600);
    CHECK_HELD(1500u, &aimd, 6600);
    CHECK_EQUAL(RETRY_DO_SEND, retry_next(&second.op, 8102).what);
    by_hand_end(&second, &silent, 8200);
    CHECK_EQUAL(0, paused(&aimd, 8200));
    CHECK_EQUAL(1, retry_aimd_limit(&aimd));
}

/* Of one with a min of 5, five at a time. */
static void test_hold_falls_to_min(void)
{
    retry_aimd aimd = aimd_of(20);
    aimd.min = 5;
    refuse(&aimd, "4444", 1500, 0, 5000);
    CHECK_EQUAL(5, retry_aimd_limit(&aimd));
    CHECK_HELD(1500u, &aimd, 5000);
}

/* A good answer ends it, to whatever attempt, and for good: the next failures find nothing of it,
   and it takes five again. */
static void test_answer_ends_hold(void)
{
    static const struct {
        char what;
        bool ends;
    } rows[] = {{'a', true}, {'l', true}, {'4', false}, {'5', false}, {'c', false}, {'u', false}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(65536);
        aimd.hold_max = 30000;
        refuse(&aimd, "4444", 30000, 0, 5000);
        event(&aimd, rows[i].what, 6000);
        check_row("%c", rows[i].what);
        CHECK_HELD(rows[i].ends ? 0 : 29000u, &aimd, 6000);
        if (!rows[i].ends)
            continue;
        refuse(&aimd, "444", 30000, 0, 6000);
        CHECK_EQUAL(0, paused(&aimd, 6000));
        refuse(&aimd, "", 30000, 0, 6000);
        CHECK_HELD(30000u, &aimd, 6000);
    }
}

/* At any instant, over the wrap, and where its end is 0; a clock that was set back waits no longer
   than it may, and days later there is nothing. */
static void test_hold_and_clocks(void)
{
    static const retry_time starts[] = {0,
                                        1,
                                        5000,
                                        0x7fffff00,
                                        (retry_time)-1,
                                        (retry_time)-1499,
                                        (retry_time)-1500,
                                        (retry_time)-1501};
    static const retry_ms back[] = {1, 500, 700, 2000, 32768, 32769, 3600000};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        retry_aimd aimd = aimd_of(65536);
        refuse(&aimd, "4444", 1500, 0, starts[i]);
        check_row("from %lu", (unsigned long)starts[i]);
        CHECK_RANGE(1499, 1503, paused(&aimd, starts[i]));
        CHECK_RANGE(1, 5, paused(&aimd, check_after(starts[i], 1498)));
        CHECK_EQUAL(0, paused(&aimd, check_after(starts[i], 1504)));
        CHECK_EQUAL(0, paused(&aimd, check_after(starts[i], DAY)));
        for (j = 0; j < CHECK_COUNT(back); j++)
            CHECK_RANGE(0, 2251, paused(&aimd, check_before(starts[i], back[j])));
        CHECK_RANGE(1499, 1503, paused(&aimd, check_before(starts[i], 32000)));
        CHECK_EQUAL(0, paused(&aimd, check_before(starts[i], 40000)));
    }
}

/* ---- whose turn ---------------------------------------------------------------------------- */

/* Who waits for the limit asks again after 1 to 2 + 98 f * f ms, where f is the share of the
   timeout that is left. */
static void test_turn(void)
{
    static const retry_ms timeouts[] = {10, 1000, 5000, 77777, 0x80000000u};
    size_t i;
    uint32_t of;
    for (i = 0; i < CHECK_COUNT(timeouts); i++) {
        for (of = 1; of <= 100; of++) {
            retry_ms left = (retry_ms)((uint64_t)timeouts[i] * of / 100);
            double f = (double)left / (double)timeouts[i], less = f > 1.0 / 16 ? f - 1.0 / 16 : 0;
            uint32_t drawn[2] = {0, UINT32_MAX};
            retry_ms delays[2];
            unsigned n;
            for (n = 0; n < 2; n++) {
                struct by_hand first, second;
                retry_aimd aimd = aimd_of(1);
                retry_gates gates;
                retry_step step;
                memset(&gates, 0, sizeof gates);
                retry_gates_aimd(&gates, &aimd);
                CHECK_EQUAL(RETRY_DO_SEND, by_hand_send(&first, &gates, NULL, 9000).what);
                second.op = by_hand_start(&second.client, &gates, &drawn[n], 9000);
                second.client.cut_after = 1; /* or its deadline would be too near */
                second.op.timeout = timeouts[i];
                retry_start(&second.op, NULL, 9000);
                step = retry_next(&second.op, check_after(9000, timeouts[i] - left));
                check_row("%lu of %lu ms left", (unsigned long)left, (unsigned long)timeouts[i]);
                delays[n] = step.delay;
                if (step.what == RETRY_DO_WAIT)
                    CHECK_EQUAL(RETRY_CAUSE_PACED, step.cause);
                else /* so little is left */
                    CHECK(step.cause == RETRY_CAUSE_DEADLINE && left <= 100);
            }
            if (left <= 100)
                continue;
            CHECK_EQUAL(1, delays[0]);
            CHECK_RANGE((uint32_t)(2 + 98 * less * less), (uint32_t)(2 + 98 * f * f), delays[1]);
        }
    }
}

/* Any number between, each as often; and one without an end has all of its time left. */
static void test_turns_without_end(void)
{
    struct by_hand first;
    retry_aimd aimd = aimd_of(1);
    retry_gates gates;
    uint32_t i;
    memset(&gates, 0, sizeof gates);
    retry_gates_aimd(&gates, &aimd);
    CHECK_EQUAL(RETRY_DO_SEND, by_hand_send(&first, &gates, NULL, 0).what);
    for (i = 0; i < 100; i++) {
        retry_step step = by_hand_ask(&gates, (uint32_t)((((uint64_t)i << 32) + 0x80000000u) / 100),
                                      i * 40000000);
        check_row("draw %lu %%", (unsigned long)i);
        CHECK_EQUAL(RETRY_DO_WAIT, step.what);
        CHECK_EQUAL(RETRY_CAUSE_PACED, step.cause);
        CHECK_EQUAL(1 + i, step.delay);
    }
}

static struct by_hand hands[21];

/* As many are on the wire as the limit says, and no more; and who waits may ask sooner. */
static void test_places(void)
{
    static const uint32_t limits[] = {1, 2, 3, 20};
    size_t i;
    uint32_t n;
    for (i = 0; i < CHECK_COUNT(limits); i++) {
        retry_aimd aimd = aimd_of(limits[i]);
        retry_gates gates;
        memset(&gates, 0, sizeof gates);
        retry_gates_aimd(&gates, &aimd);
        check_row("limit %lu", (unsigned long)limits[i]);
        for (n = 0; n <= limits[i]; n++)
            CHECK_EQUAL(n < limits[i] ? RETRY_DO_SEND : RETRY_DO_WAIT,
                        by_hand_send(&hands[n], &gates, NULL, 5000).what);
        CHECK_EQUAL(limits[i], gates.in_flight);
        CHECK_EQUAL(RETRY_DO_WAIT, retry_next(&hands[n - 1].op, 5000).what);
        by_hand_end(&hands[0], NULL, 5000);
        CHECK_EQUAL(RETRY_DO_SEND, retry_next(&hands[n - 1].op, 5000).what);
        CHECK_EQUAL(limits[i], gates.in_flight);
        for (n = 1; n <= limits[i]; n++)
            by_hand_end(&hands[n], NULL, 5000);
        CHECK_EQUAL(0, gates.in_flight);
    }
}

/* ---- rises --------------------------------------------------------------------------------- */

static void test_rise(void)
{
    static const struct {
        uint32_t max, limit, increase, expected;
    } rows[] = {
        {10, 2, 0, 3},
        {10, 2, 1, 3},
        {10, 2, 5, 7},
        {10, 2, 8, 10},
        {10, 2, 9, 10},
        {10, 2, UINT32_MAX, 10},
        {10, 9, 0, 10},
        {5, 5, 0, 5},
        {5, 5, 3, 5},
        {UINT32_MAX, UINT32_MAX - 1, 0, UINT32_MAX},
        {UINT32_MAX, UINT32_MAX - 1, UINT32_MAX, UINT32_MAX},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(rows[i].limit);
        aimd.min = rows[i].limit;
        CHECK_EQUAL(rows[i].limit, throttled(&aimd, 0));
        aimd.max = rows[i].max;
        aimd.increase = rows[i].increase;
        check_row("%lu of at most %lu", (unsigned long)rows[i].limit, (unsigned long)rows[i].max);
        CHECK_EQUAL(rows[i].expected, answered(&aimd, rows[i].limit, 1001));
        CHECK_EQUAL(rows[i].expected, retry_aimd_limit(&aimd));
    }
}

/* Half of the limit at least has to be in use, the attempt itself included. */
static void test_in_use(void)
{
    static const struct {
        uint32_t limit, in_use;
        bool rises;
    } rows[] = {
        {1, 0, false},
        {1, 1, true},
        {2, 0, false},
        {2, 1, true},
        {3, 1, false},
        {3, 2, true},
        {8, 3, false},
        {8, 4, true},
        {8, 5, true},
        {8, 8, true},
        {8, 100, true},
        {8, 0x80000004u, true},
        {8, UINT32_MAX, true},
        {9, 4, false},
        {9, 5, true},
        {0xfffffffeu, 0x7ffffffeu, false},
        {0xfffffffeu, 0x7fffffffu, true},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(rows[i].limit);
        aimd.min = rows[i].limit;
        throttled(&aimd, 0);
        aimd.max = aimd.initial = UINT32_MAX;
        check_row("%lu of %lu in use", (unsigned long)rows[i].in_use, (unsigned long)rows[i].limit);
        CHECK_EQUAL(rows[i].rises, answered(&aimd, rows[i].in_use, 1001) > rows[i].limit);
    }
}

/* Below `initial` it comes back by a quarter of itself a round trip, no further, at least by
   `increase`; from there on it grows by `increase`. */
static void test_comes_back(void)
{
    static const struct {
        uint32_t limit, initial, increase, next;
    } rows[] = {
        {1, 20, 0, 2},         {3, 20, 0, 4},        {4, 20, 0, 5},   {7, 20, 0, 8},
        {8, 20, 0, 10},        {19, 20, 0, 20},      {20, 20, 0, 21}, {21, 20, 0, 22},
        {400, 500, 0, 500},    {8, 20, 2, 10},       {8, 20, 3, 11},  {4, 20, 9, 13},
        {8, 8, 3, 11},         {19, 20, 3, 22},      {18, 20, 0, 20}, {600, 4000, 0, 750},
        {1000, 4000, 0, 1000}, {999, 4000, 0, 1000},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(rows[i].limit);
        aimd.min = rows[i].limit;
        throttled(&aimd, 0);
        aimd.min = 0;
        aimd.max = 0; /* 1,000 */
        aimd.initial = rows[i].initial;
        aimd.increase = rows[i].increase;
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].limit, retry_aimd_limit(&aimd));
        CHECK_EQUAL(rows[i].next, answered(&aimd, ALL, 1001));
        CHECK_EQUAL(rows[i].next, answered(&aimd, ALL, 1001)); /* once a round trip */
    }
}

/* From `initial` on it rises while three quarters are in use: it is not to be twice of what is
   needed when the server goes dark. */
static void test_in_use_above_initial(void)
{
    static const struct {
        uint32_t limit, in_use;
        bool rises;
    } rows[] = {{1, 0, false}, {1, 1, true}, {8, 5, false},   {8, 6, true},
                {9, 6, false}, {9, 7, true}, {20, 14, false}, {20, 15, true}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(rows[i].limit);
        aimd.max = UINT32_MAX;
        check_row("%lu of %lu in use", (unsigned long)rows[i].in_use, (unsigned long)rows[i].limit);
        CHECK_EQUAL(rows[i].limit + rows[i].rises, answered(&aimd, rows[i].in_use, 1001));
    }
}

/* A time-out of this client's own lowers the limit as the third in a row, or if more than half of
   the last failed. What is slow may just be cut too soon: one time-out in three leaves the limit,
   two in three lower it. A 504 and a 429 lower it at once, as the server says so. */
static void test_share_of_timeouts(void)
{
    static const struct {
        const char *what; /* again and again, 64 in all */
        bool same;
    } rows[] = {{"a", true},    {"aat", true},  {"aaatt", true}, {"att", false},
                {"ttt", false}, {"aa4", false}, {"aas", true},   {"ass", true}};
    size_t i;
    unsigned n;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_aimd aimd = aimd_of(64);
        for (n = 0; n < 64; n++)
            event(&aimd, rows[i].what[n % strlen(rows[i].what)], 2000 * n);
        check_row("%s", rows[i].what);
        CHECK_EQUAL(rows[i].same, retry_aimd_limit(&aimd) == 64);
        CHECK(rows[i].same || retry_aimd_limit(&aimd) < 20);
    }
}

/* Once a fault is over the share is forgotten: it takes as many answers as failures. */
static void test_share_is_forgotten(void)
{
    retry_aimd aimd = aimd_of(64);
    unsigned n;
    for (n = 0; n < 100; n++)
        event(&aimd, 't', 2000 * n);
    CHECK_EQUAL(1, retry_aimd_limit(&aimd));
    aimd.min = 64;
    event(&aimd, 'a', 2000 * n++);
    aimd.min = 0;
    CHECK_EQUAL(2, answered(&aimd, ALL, 2000 * n++));
    CHECK_EQUAL(1, event(&aimd, 't', 2000 * n++)); /* most of the last failed */
    while (n < 116)
        answered(&aimd, ALL, 2000 * n++);
    CHECK_EQUAL(27, event(&aimd, 't', 2000 * n++)); /* and now fewer than half */
}

/* The same by operations that are out. */
static void test_out_on_the_wire(void)
{
    uint32_t out, n;
    for (out = 1; out <= 20; out++) {
        retry_aimd aimd = aimd_of(20);
        retry_gates gates;
        memset(&gates, 0, sizeof gates);
        retry_gates_aimd(&gates, &aimd);
        aimd.min = 19;
        throttled(&aimd, 1000);
        aimd.min = 0;
        for (n = 0; n < out && n < 19; n++)
            CHECK_EQUAL(RETRY_DO_SEND, by_hand_send(&hands[n], &gates, NULL, 2001).what);
        by_hand_end(&hands[0], NULL, 2002);
        check_row("%lu out", (unsigned long)out);
        CHECK_EQUAL(out >= 10 ? 20 : 19, retry_aimd_limit(&aimd));
    }
}

/* ---- cooldowns ----------------------------------------------------------------------------- */

/* An attempt that lasted longer than the cooldown has a longer one. */
static void test_cooldown(void)
{
    static const struct {
        retry_ms cooldown, age, applied;
    } rows[] = {{0, 0, 0},
                {0, 1, 1},
                {0, 1000, 1000},
                {0, 1073741825, 1073741825},
                {1, 0, 1},
                {1000, 0, 1000},
                {1000, 999, 1000},
                {1000, 1001, 1001},
                {1000, 86400000, 86400000},
                {86400000, 0, 86400000},
                {1073741824, 0, 1073741824},
                {1073741825, 0, 1073741824},
                {UINT32_MAX, 5, 1073741824},
                {UINT32_MAX, 1073741900, 1073741900}};
    static const retry_time starts[] = {0, 1, 0x80000000, 0xfffffff0, (retry_time)-1000};
    const retry_failure failure = retry_classify_http(429, 0);
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time now = starts[j], over = check_after(now, rows[i].applied);
            retry_ms age = rows[i].age;
            retry_aimd aimd = aimd_of(80);
            aimd.cooldown = rows[i].cooldown;
            check_row("cooldown %lu, age %lu, from %" PRIu64, (unsigned long)rows[i].cooldown,
                      (unsigned long)age, (uint64_t)now);
            CHECK_EQUAL(40, report(&aimd, &failure, ALL, age, now));
            aimd.initial = 1; /* it rises by one */
            CHECK_EQUAL(40, report(&aimd, &failure, ALL, age, now));
            CHECK_EQUAL(40, report(&aimd, NULL, most_of(&aimd), age, now));
            CHECK_EQUAL(40, report(&aimd, &failure, ALL, age, over));
            CHECK_EQUAL(40, report(&aimd, NULL, most_of(&aimd), age, over));
            now = check_after(over, 1);
            CHECK_EQUAL(41, report(&aimd, NULL, most_of(&aimd), age, now)); /* since the fall */
            CHECK_EQUAL(41, report(&aimd, NULL, most_of(&aimd), age, now));
            CHECK_EQUAL(20, report(&aimd, &failure, ALL, age, now)); /* no rise keeps it */
            over = check_after(now, rows[i].applied);
            CHECK_EQUAL(20, report(&aimd, NULL, most_of(&aimd), age, over));
            now = check_after(over, 1);
            CHECK_EQUAL(21, report(&aimd, NULL, most_of(&aimd), age, now));
            over = check_after(now, rows[i].applied);
            CHECK_EQUAL(21, report(&aimd, NULL, most_of(&aimd), age, over)); /* since the rise */
            CHECK_EQUAL(22, report(&aimd, NULL, most_of(&aimd), age, check_after(over, 1)));
        }
    }
}

/* An instant over half the range is not taken for one long past before there is any. */
static void test_first_fall_late(void)
{
    const retry_time late = 3000000000u;
    retry_aimd aimd = aimd_of(100);
    CHECK_EQUAL(100, answered(&aimd, ALL, late));
    CHECK_EQUAL(50, throttled(&aimd, late));
    CHECK_EQUAL(50, throttled(&aimd, late + 1000));
    CHECK_EQUAL(25, throttled(&aimd, late + 1001));
}

/* A change at instant 0 counts as one at 1: an attempt that began then changes nothing yet. */
static void test_instant_0(void)
{
    retry_aimd aimd = aimd_of(16);
    aimd.cooldown = 0;
    CHECK_EQUAL(8, throttled(&aimd, UINT32_MAX)); /* `report` adds 1 */
    CHECK_EQUAL(8, throttled(&aimd, UINT32_MAX));
    CHECK_EQUAL(8, throttled(&aimd, 0));
    CHECK_EQUAL(4, throttled(&aimd, 1));
    aimd = aimd_of(16);
    aimd.initial = 2;
    CHECK_EQUAL(4, answered(&aimd, ALL, UINT32_MAX));
    CHECK_EQUAL(4, answered(&aimd, ALL, 1000));
    CHECK_EQUAL(8, answered(&aimd, ALL, 1001));
}

/* The published sequence: 8 to 9 on an answer, then a failure at once: 4. */
static void test_fall_after_rise(void)
{
    retry_aimd aimd = fallen(16, 0);
    aimd.max = 10;
    CHECK_EQUAL(8, retry_aimd_limit(&aimd));
    CHECK_EQUAL(9, answered(&aimd, most_of(&aimd), 1001));
    CHECK_EQUAL(4, throttled(&aimd, 1001));
    CHECK_EQUAL(4, answered(&aimd, most_of(&aimd), 2001));
    CHECK_EQUAL(5, answered(&aimd, most_of(&aimd), 2002));
}

/* At the lowest it counts as a fall all the same; at the highest nothing counts as a rise. */
static void test_at_the_bounds(void)
{
    retry_aimd aimd = fallen(2, 0);
    CHECK_EQUAL(1, throttled(&aimd, 1001));
    CHECK_EQUAL(1, answered(&aimd, 1, 1002));
    CHECK_EQUAL(1, answered(&aimd, 1, 2001));
    CHECK_EQUAL(2, answered(&aimd, 1, 2002));
    CHECK_EQUAL(2, answered(&aimd, 2, 3003));
    aimd.max = 3;
    CHECK_EQUAL(3, answered(&aimd, 2, 3003));

    aimd = aimd_of(1); /* the first fall of all at the lowest */
    CHECK_EQUAL(1, throttled(&aimd, 0));
    aimd.max = 9;
    CHECK_EQUAL(1, answered(&aimd, 1, 1000));
    CHECK_EQUAL(2, answered(&aimd, 1, 1001));
}

/* ---- bounds that change -------------------------------------------------------------------- */

static void test_bounds_change(void)
{
    retry_aimd aimd = fallen(16, 0);
    aimd.max = 5;
    CHECK_EQUAL(5, retry_aimd_limit(&aimd));
    CHECK_EQUAL(5, answered(&aimd, 5, 100));
    aimd.max = 20;
    CHECK_EQUAL(8, retry_aimd_limit(&aimd));
    aimd.min = 12;
    CHECK_EQUAL(12, retry_aimd_limit(&aimd));
    aimd.min = 30;
    CHECK_EQUAL(20, retry_aimd_limit(&aimd));
    aimd.min = 0;
    aimd.max = 0;
    CHECK_EQUAL(8, retry_aimd_limit(&aimd));
    aimd.max = 6; /* a fall counts from what the limit reads */
    CHECK_EQUAL(3, throttled(&aimd, 6000));
    aimd.min = 5; /* and so does a rise */
    CHECK_EQUAL(6, answered(&aimd, 5, 12000));
    aimd.min = 0;
    CHECK_EQUAL(6, retry_aimd_limit(&aimd));

    aimd =
        fallen(16, 0); /* three quarters of what the limit reads are in use, or it does not rise */
    aimd.min = 12;
    CHECK_EQUAL(12, answered(&aimd, 8, 2000));
    CHECK_EQUAL(13, answered(&aimd, 9, 4000));
    aimd.min = aimd.max = 15; /* and what cannot rise leaves it as it was */
    CHECK_EQUAL(15, answered(&aimd, ALL, 6000));
    aimd.min = 0;
    CHECK_EQUAL(13, retry_aimd_limit(&aimd));
    aimd.increase = 10; /* a rise is cut at what max is then */
    CHECK_EQUAL(15, answered(&aimd, ALL, 8000));
    aimd.max = 100;
    CHECK_EQUAL(15, retry_aimd_limit(&aimd));

    aimd = aimd_of(4); /* before the first change it is initial and max, whatever those are */
    aimd.max = 7;
    CHECK_EQUAL(4, retry_aimd_limit(&aimd));
    aimd.initial = 9;
    CHECK_EQUAL(7, retry_aimd_limit(&aimd));
    CHECK_EQUAL(3, throttled(&aimd, 0));
}

/* ---- clocks -------------------------------------------------------------------------------- */

/* Up to 32 s behind the last change no time has passed until the clock has caught up. */
static void test_step_back(void)
{
    static const retry_ms behind[] = {1, 1001, 20000, 31767};
    static const retry_time starts[] = {300000000, 0, 5000, (retry_time)-5000};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(behind); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time start = starts[j];
            retry_time back = check_after(start, (retry_time)-1 - behind[i] + 1);
            retry_aimd aimd = fallen(16, start);
            check_row("%lu ms behind %" PRIu64, (unsigned long)behind[i], (uint64_t)start);
            CHECK_EQUAL(8, throttled(&aimd, back));
            CHECK_EQUAL(8, answered(&aimd, most_of(&aimd), back));
            CHECK_EQUAL(8, throttled(&aimd, check_after(start, 1000)));
            CHECK_EQUAL(9, answered(&aimd, most_of(&aimd), check_after(start, 1001)));
            CHECK_EQUAL(9, answered(&aimd, most_of(&aimd), back));
            CHECK_EQUAL(4, throttled(&aimd, check_after(start, 1001)));
        }
    }
}

/* Further behind it was set back: time has passed. */
static void test_set_back(void)
{
    static const retry_ms behind[] = {32769, 40000, 134217728, 2147483648u};
    size_t i;
    for (i = 0; i < CHECK_COUNT(behind); i++) {
        retry_time start = 3000000000u, back = start - behind[i];
        retry_aimd aimd = fallen(16, start);
        check_row("%lu ms behind", (unsigned long)behind[i]);
        CHECK_EQUAL(9, answered(&aimd, most_of(&aimd), back));
        CHECK_EQUAL(4, throttled(&aimd, back));
        CHECK_EQUAL(4, answered(&aimd, most_of(&aimd), check_after(back, 1000)));
        CHECK_EQUAL(5, answered(&aimd, most_of(&aimd), check_after(back, 1001)));
    }
}

/* However long nobody asked: the first call decides as after a cooldown. */
static void test_idle(void)
{
    static const retry_time starts[] = {0, 12345678, 0x80000000, 0xfffffff0, (retry_time)-5000};
    unsigned hours;
    size_t j;
    for (hours = 1; hours <= 2400; hours++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_time later = check_after(starts[j], (retry_time)((uint64_t)hours * 3600000));
            retry_aimd aimd = fallen(16, starts[j]);
            check_row("%u hours from %" PRIu64, hours, (uint64_t)starts[j]);
            CHECK_EQUAL(9, answered(&aimd, most_of(&aimd), later));
            CHECK_EQUAL(4, throttled(&aimd, later));
            aimd = fallen(16, starts[j]);
            CHECK_EQUAL(4, throttled(&aimd, later));
            CHECK_EQUAL(4, answered(&aimd, most_of(&aimd), later));
        }
    }
}

/* A rise comes soon after all has failed for months. */
static void test_fails_for_long(void)
{
    uint64_t passed;
    retry_aimd aimd = fallen(16, 0), copy;
    retry_time now = 0;
    CHECK_EQUAL(9, answered(&aimd, most_of(&aimd), check_after(now, 1001)));
    for (passed = 0; passed < 130 * (uint64_t)DAY; passed += DAY / 2) {
        now = check_after(now, DAY / 2);
        check_row("%" PRIu64 " ms", passed);
        throttled(&aimd, now);
        copy = aimd;
        CHECK(retry_aimd_limit(&aimd) < answered(&copy, ALL, check_after(now, 1001)));
    }
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* The rules in 64 bits; -1: never. */
struct model {
    int64_t fell, changed;
    uint32_t limit, row;
};

enum { WELL, ASKS_FOR_LESS, UNSENT, OUTCOMES };

static void model_report(struct model *model, const retry_aimd *aimd, uint32_t outcome,
                         uint32_t in_use, int64_t age, int64_t now)
{
    uint32_t limit = model->limit;
    int64_t spacing = age > aimd->cooldown ? age : aimd->cooldown;
    bool may_fall = model->fell < 0 || now - model->fell > spacing;
    bool may_rise = model->changed >= 0 && now - model->changed > spacing;
    model->row = outcome == WELL ? 0 : model->row + 1;
    if (outcome != WELL) {
        if (!may_fall || (outcome == UNSENT && model->row < 3))
            return;
        limit = (uint32_t)((uint64_t)limit * aimd->decrease / 65536);
        limit = limit < model->limit ? limit : model->limit - 1;
        model->limit = limit > aimd->min ? limit : aimd->min;
        model->fell = model->changed = now;
    } else if (may_rise && 2 * (uint64_t)in_use >= limit && limit < aimd->max) {
        limit += limit / 4 > aimd->increase ? limit / 4 : aimd->increase; /* below initial */
        model->limit = limit < aimd->max ? limit : aimd->max;
        model->changed = now;
    }
}

static void test_random_walk(void)
{
    static const uint32_t failures[] = {2, 10, 100}; /* one in so many fails */
    static const retry_time starts[] = {0, (retry_time)-1000000};
    retry_failure told[OUTCOMES];
    size_t i, j;
    unsigned step;
    told[ASKS_FOR_LESS] = retry_classify_http(429, 0);
    told[UNSENT] = check_failure_of(RETRY_REASON_NODE_NOT_AVAILABLE);
    for (i = 0; i < CHECK_COUNT(failures); i++) {
        for (j = 0; j < CHECK_COUNT(starts); j++) {
            retry_aimd aimd = aimd_of(60);
            struct model model = {-1, -1, 60, 0};
            int64_t passed = 0;
            aimd.min = 3;
            aimd.increase = 4;
            aimd.decrease = RETRY_RATIO(0.75);
            aimd.cooldown = 300;
            for (step = 0; step < 20000; step++) {
                uint32_t outcome = check_random() % failures[i] != 0 ? (uint32_t)WELL
                                   : check_random() % 2 != 0         ? (uint32_t)ASKS_FOR_LESS
                                                                     : (uint32_t)UNSENT;
                uint32_t in_use = check_random() % 61, age = check_random() % 600;
                retry_time now;
                passed += check_random() % 200;
                now = check_after(starts[j], (retry_time)passed);
                model_report(&model, &aimd, outcome, in_use, age, passed);
                check_row("one of %lu fails, step %u", (unsigned long)failures[i], step);
                CHECK_EQUAL(model.limit, report(&aimd, outcome == WELL ? NULL : &told[outcome],
                                                in_use, age, now));
            }
        }
    }
}

int main(void)
{
    RUN(test_null);
    RUN(test_size);
    RUN(test_defaults);
    RUN(test_initial);
    RUN(test_rises_from_initial);
    RUN(test_doubles_until_it_falls);
    RUN(test_doubles_if_quick);
    RUN(test_doubles_up_to_where_it_fell);
    RUN(test_late_answer);
    RUN(test_late_answer_between_falls);
    RUN(test_falls_again);
    RUN(test_starts_at_max);
    RUN(test_fall);
    RUN(test_ratio_may_be_short);
    RUN(test_outcomes);
    RUN(test_row);
    RUN(test_long_row);
    RUN(test_pauses);
    RUN(test_pause_of_short_operations);
    RUN(test_pause_to_zero);
    RUN(test_third_failure);
    RUN(test_pause_of_own_reason);
    RUN(test_answer_ends_pause);
    RUN(test_what_pauses);
    RUN(test_pause_needs_min);
    RUN(test_pause_and_clocks);
    RUN(test_hold_from_the_fifth);
    RUN(test_hold_by_whom);
    RUN(test_hold_by_chance);
    RUN(test_hold_max);
    RUN(test_hold_is_not_prolonged);
    RUN(test_hold_anew);
    RUN(test_hold_falls_to_min);
    RUN(test_answer_ends_hold);
    RUN(test_hold_and_clocks);
    RUN(test_turn);
    RUN(test_turns_without_end);
    RUN(test_places);
    RUN(test_rise);
    RUN(test_in_use);
    RUN(test_comes_back);
    RUN(test_in_use_above_initial);
    RUN(test_share_of_timeouts);
    RUN(test_share_is_forgotten);
    RUN(test_out_on_the_wire);
    RUN(test_cooldown);
    RUN(test_first_fall_late);
    RUN(test_instant_0);
    RUN(test_fall_after_rise);
    RUN(test_at_the_bounds);
    RUN(test_bounds_change);
    RUN(test_step_back);
    RUN(test_set_back);
    RUN(test_idle);
    RUN(test_fails_for_long);
    RUN(test_random_walk);
    return check_done();
}
