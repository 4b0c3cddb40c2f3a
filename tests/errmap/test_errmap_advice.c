/* What a map advises, and the strategy that waits as the server's specifications want. */
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"

#include "../support/check.h"

#define SPACE 32 /* entries */

#define INDICATED RETRY_REASON_KV_ERROR_MAP_RETRY_INDICATED

/* A map of one entry with code 0x700 and these attributes. */
static errmap map_of(errmap_entry *entry, uint32_t attributes)
{
    errmap map;
    memset(&map, 0, sizeof map);
    memset(entry, 0, sizeof *entry);
    entry->code = 0x700;
    entry->attributes = attributes;
    map.entries = entry;
    map.count = 1;
    return map;
}

static void check_nothing(errmap_advice advice)
{
    CHECK(!advice.refresh_config && !advice.reconnect && !advice.authentication);
    CHECK(!advice.special && !advice.success);
    CHECK_EQUAL(RETRY_SAFETY_MAYBE, advice.failure.safety);
    CHECK_EQUAL(RETRY_FAULT_OTHER, advice.failure.fault);
    CHECK(!advice.failure.throttle && !advice.failure.timeout);
    CHECK_EQUAL(0, advice.failure.retry_after);
}

/* Every combination of the attributes that mean something, with and without all the others. */
static void test_attributes(void)
{
    static const uint32_t telling[] = {
        ERRMAP_ATTR_RETRY_NOW, ERRMAP_ATTR_RETRY_LATER,  ERRMAP_ATTR_AUTO_RETRY,
        ERRMAP_ATTR_NO_RETRY,  ERRMAP_ATTR_RATE_LIMIT,   ERRMAP_ATTR_CONN_STATE_INVALIDATED,
        ERRMAP_ATTR_AUTH,      ERRMAP_ATTR_FETCH_CONFIG, ERRMAP_ATTR_SPECIAL_HANDLING,
    };
    uint32_t others = 0, choice;
#define COLLECT(name, text) others |= (uint32_t)ERRMAP_ATTR_##name;
    ERRMAP_ATTRIBUTES(COLLECT)
#undef COLLECT
    for (choice = 0; choice < 9; choice++)
        others &= ~telling[choice];
    for (choice = 0; choice < 1024; choice++) {
        uint32_t attributes = choice & 512 ? others : 0;
        errmap_entry entry;
        errmap map;
        errmap_advice advice;
        bool indicated;
        unsigned i;
        for (i = 0; i < 9; i++)
            attributes |= choice >> i & 1 ? telling[i] : 0;
        map = map_of(&entry, attributes);
        advice = errmap_advise(&map, 0x700);
        indicated = (choice & 7) != 0 && (choice & 8) == 0;
        check_row("attributes %lx", (unsigned long)attributes);
        CHECK(advice.entry == &entry);
        CHECK_EQUAL(indicated ? INDICATED : RETRY_REASON_NONE, advice.failure.reason);
        CHECK_EQUAL((choice & 16) != 0, advice.failure.throttle);
        CHECK_EQUAL((choice & (32 | 256)) != 0, advice.reconnect);
        CHECK_EQUAL((choice & 64) != 0, advice.authentication);
        CHECK_EQUAL((choice & 128) != 0, advice.refresh_config);
        CHECK_EQUAL((choice & 256) != 0, advice.special);
        CHECK_EQUAL((choice & 512) != 0, advice.success); /* one of the others */
        CHECK_EQUAL(0x700, advice.failure.code);
        CHECK(!advice.failure.unknown && !advice.failure.timeout);
        CHECK_EQUAL(RETRY_SAFETY_MAYBE, advice.failure.safety);
        CHECK_EQUAL(RETRY_FAULT_OTHER, advice.failure.fault);
        CHECK_EQUAL(0, advice.failure.retry_after);
    }
}

static void test_not_in_the_map(void)
{
    errmap_entry entry;
    const errmap map = map_of(&entry, ERRMAP_ATTR_RETRY_NOW);
    const errmap *const maps[] = {&map, NULL};
    size_t i;
    for (i = 0; i < 2; i++) {
        const errmap_advice advice = errmap_advise(maps[i], 0x701);
        CHECK(advice.entry == NULL);
        CHECK_EQUAL(RETRY_REASON_NONE, advice.failure.reason);
        CHECK(advice.failure.unknown);
        CHECK_EQUAL(0x701, advice.failure.code);
        check_nothing(advice);
    }
    CHECK(errmap_advise(&map, 0x10700).failure.unknown);
}

/* Whatever the map says of a status that is known without it, RFC 0049 decides; its flags are
   handed on all the same. */
static void test_classify(void)
{
    static const uint8_t opcodes[] = {0x00, 0x01, 0x50, 0x67, 0x94, 0x95, 0xbb};
    errmap_entry entry;
    errmap map = map_of(&entry, ERRMAP_ATTR_ALL);
    uint32_t status;
    size_t i;
    for (status = 0; status <= 0xffff; status = check_next(status)) {
        for (i = 0; i < CHECK_COUNT(opcodes); i++) {
            const errmap_advice alone = errmap_classify_kv(NULL, (uint16_t)status, opcodes[i]);
            const retry_failure known = alone.failure;
            errmap_advice advice;
            entry.code = (uint16_t)status;
            advice = errmap_classify_kv(&map, (uint16_t)status, opcodes[i]);
            check_row("status %lx, opcode %x", (unsigned long)status, opcodes[i]);
            CHECK(advice.entry == &entry);
            CHECK_EQUAL(status, advice.failure.code);
            CHECK_EQUAL(known.reason, advice.failure.reason);
            CHECK(!advice.failure.unknown);
            CHECK_EQUAL(known.unknown, advice.failure.throttle);
            CHECK(advice.refresh_config && advice.reconnect && advice.authentication);
            CHECK(advice.special && advice.success);
        }
    }
}

static void test_classify_by_the_map(void)
{
    errmap_entry entry;
    errmap map = map_of(&entry, ERRMAP_ATTR_TEMP | ERRMAP_ATTR_RETRY_LATER);
    errmap_advice advice;
    entry.code = 0x82;
    advice = errmap_classify_kv(&map, 0x82, 0x01);
    CHECK_EQUAL(INDICATED, advice.failure.reason);
    entry.attributes = ERRMAP_ATTR_TEMP;
    advice = errmap_classify_kv(&map, 0x82, 0x01);
    CHECK_EQUAL(RETRY_REASON_NONE, advice.failure.reason);
    CHECK(!advice.failure.unknown);
    advice = errmap_classify_kv(NULL, 0x86, 0x01);
    CHECK_EQUAL(RETRY_REASON_KV_TEMPORARY_FAILURE, advice.failure.reason);
    CHECK(advice.entry == NULL);
}

static errmap_entry spec(uint8_t strategy, retry_ms interval, retry_ms after, retry_ms ceil,
                         retry_ms max_duration)
{
    errmap_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.code = 0x700;
    entry.attributes = ERRMAP_ATTR_AUTO_RETRY;
    entry.strategy = strategy;
    entry.interval = interval;
    entry.after = after;
    entry.ceil = ceil;
    entry.max_duration = max_duration;
    return entry;
}

static const struct {
    uint8_t strategy;
    retry_ms interval, after, ceil;
    uint32_t retries;
    retry_ms delay;
} spec_delays[] = {
    {ERRMAP_SPEC_CONSTANT, 1000, 2000, 0, 0, 2000},
    {ERRMAP_SPEC_CONSTANT, 1000, 2000, 0, 1, 1000},
    {ERRMAP_SPEC_CONSTANT, 1000, 2000, 0, 3, 1000},
    {ERRMAP_SPEC_CONSTANT, 1000, 2000, 0, 15000, 1000},
    {ERRMAP_SPEC_CONSTANT, 1000, 2000, 10, 0, 2000},
    {ERRMAP_SPEC_CONSTANT, 1000, 2000, 10, 1, 1000},
    {ERRMAP_SPEC_LINEAR, 1000, 2000, 60000, 0, 2000},
    {ERRMAP_SPEC_LINEAR, 1000, 2000, 60000, 1, 1000},
    {ERRMAP_SPEC_LINEAR, 1000, 2000, 60000, 3, 3000},
    {ERRMAP_SPEC_LINEAR, 1000, 2000, 60000, 59, 59000},
    {ERRMAP_SPEC_LINEAR, 1000, 2000, 60000, 60, 60000},
    {ERRMAP_SPEC_LINEAR, 1000, 2000, 60000, 150, 60000},
    {ERRMAP_SPEC_LINEAR, 1000, 70000, 60000, 0, 70000},
    {ERRMAP_SPEC_LINEAR, 2, 50, 50, 0, 50},
    {ERRMAP_SPEC_LINEAR, 2, 50, 50, 1, 2},
    {ERRMAP_SPEC_LINEAR, 2, 50, 50, 2, 4},
    {ERRMAP_SPEC_LINEAR, 2, 50, 50, 3, 6},
    {ERRMAP_SPEC_LINEAR, 2, 50, 50, 26, 50},
    {ERRMAP_SPEC_LINEAR, 1000, 0, 0, 150, 150000},
    {ERRMAP_SPEC_LINEAR, 1000, 0, 0, UINT32_MAX, UINT32_MAX},
    {ERRMAP_SPEC_LINEAR, UINT32_MAX, 0, 0, 2, UINT32_MAX},
    {ERRMAP_SPEC_LINEAR, 100, 0, 7, 1, 7},
    {ERRMAP_SPEC_EXPONENTIAL, 2, 10, 500, 0, 10},
    {ERRMAP_SPEC_EXPONENTIAL, 2, 10, 500, 1, 2},
    {ERRMAP_SPEC_EXPONENTIAL, 2, 10, 500, 2, 4},
    {ERRMAP_SPEC_EXPONENTIAL, 2, 10, 500, 3, 8},
    {ERRMAP_SPEC_EXPONENTIAL, 2, 10, 500, 8, 256},
    {ERRMAP_SPEC_EXPONENTIAL, 2, 10, 500, 9, 500},
    {ERRMAP_SPEC_EXPONENTIAL, 2, 10, 500, UINT32_MAX, 500},
    {ERRMAP_SPEC_EXPONENTIAL, 2, 50, 200, 7, 128},
    {ERRMAP_SPEC_EXPONENTIAL, 2, 50, 200, 8, 200},
    {ERRMAP_SPEC_EXPONENTIAL, 2, 50, 200, 9, 200},
    {ERRMAP_SPEC_EXPONENTIAL, 10, 0, 0, 4, 10000},
    {ERRMAP_SPEC_EXPONENTIAL, 10, 0, 0, 9, 1000000000},
    {ERRMAP_SPEC_EXPONENTIAL, 10, 0, 0, 10, UINT32_MAX},
    {ERRMAP_SPEC_EXPONENTIAL, 1, 0, 0, 1000, 1},
    {ERRMAP_SPEC_EXPONENTIAL, 2, 0, 0, 31, 2147483648u},
    {ERRMAP_SPEC_EXPONENTIAL, 2, 0, 0, 32, UINT32_MAX},
    {ERRMAP_SPEC_EXPONENTIAL, 65535, 0, 0, 2, 4294836225u},
    /* RFC 0013 requires an interval; 1.0 took none for 1 ms, for ever */
    {ERRMAP_SPEC_CONSTANT, 0, 0, 0, 0, 0},
    {ERRMAP_SPEC_CONSTANT, 0, 5, 0, 1, 0},
    {ERRMAP_SPEC_LINEAR, 0, 5, 0, 0, 0},
    {ERRMAP_SPEC_LINEAR, 0, 5, 0, 7, 0},
    {ERRMAP_SPEC_EXPONENTIAL, 0, 5, 0, 0, 0},
    {ERRMAP_SPEC_EXPONENTIAL, 0, 5, 3, 7, 0},
    {ERRMAP_SPEC_NONE, 1000, 2000, 0, 0, 0},
    {ERRMAP_SPEC_NONE, 1000, 2000, 0, 5, 0},
    {4, 1000, 2000, 0, 5, 0},
    {255, 1000, 2000, 0, 0, 0},
};

static void test_delays(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(spec_delays); i++) {
        const errmap_entry entry = spec(spec_delays[i].strategy, spec_delays[i].interval,
                                        spec_delays[i].after, spec_delays[i].ceil, 0);
        check_row("strategy %u, interval %lu, ceil %lu, retries %lu", spec_delays[i].strategy,
                  (unsigned long)spec_delays[i].interval, (unsigned long)spec_delays[i].ceil,
                  (unsigned long)spec_delays[i].retries);
        CHECK_EQUAL(spec_delays[i].delay, errmap_spec_delay(&entry, spec_delays[i].retries));
    }
    CHECK_EQUAL(0, errmap_spec_delay(NULL, 0));
    CHECK_EQUAL(0, errmap_spec_delay(NULL, 3));
}

/* A strategy that grants exactly 77 ms, and one that is no strategy. */
static retry_action after_77(const retry_strategy *self, const retry_operation *op,
                             const retry_failure *failure, retry_time now)
{
    (void)self;
    (void)op;
    (void)failure;
    (void)now;
    return retry_action_after(77);
}

static const retry_strategy seventy_seven = {after_77};
static const retry_strategy hollow = {NULL};

static retry_failure failure_of(retry_reason reason, uint32_t code)
{
    retry_failure failure;
    memset(&failure, 0, sizeof failure);
    failure.reason = reason;
    failure.code = code;
    return failure;
}

/* A request under way with its own strategy. */
static retry_operation begin(const errmap_strategy *strategy, retry_time now)
{
    retry_operation op;
    memset(&op, 0, sizeof op);
    op.client = default_client();
    op.strategy = &strategy->base;
    retry_start(&op, NULL, now);
    return op;
}

static void test_strategy_follows_the_specification(void)
{
    static const retry_ms delays[] = {10, 2, 4, 8, 16, 32, 64, 128, 256, 500, 500};
    const errmap_entry entry = spec(ERRMAP_SPEC_EXPONENTIAL, 2, 10, 500, 0);
    errmap map;
    errmap_strategy strategy = ERRMAP_STRATEGY(&map, &seventy_seven);
    const retry_failure failure = failure_of(INDICATED, 0x700);
    retry_operation op;
    retry_time now = 5;
    size_t i;
    memset(&map, 0, sizeof map);
    map.entries = &entry;
    map.count = 1;
    op = begin(&strategy, now);
    for (i = 0; i < CHECK_COUNT(delays); i++) {
        const decided decision = decide(&op, &failure, now);
        check_row("retry %u", (unsigned)i);
        CHECK_EQUAL(RETRY_VERDICT_RETRY, decision.verdict);
        CHECK_EQUAL(RETRY_CAUSE_STRATEGY, decision.cause);
        CHECK_EQUAL(delays[i], decision.delay);
        now += decision.delay;
    }
}

/* Another code counts anew, and so does the first when it comes back. */
static void test_strategy_counts_by_code(void)
{
    static const struct {
        uint32_t code;
        retry_ms delay;
    } steps[] = {{0x700, 50}, {0x700, 2}, {0x700, 4},  {0x701, 9}, {0x701, 7},
                 {0x700, 50}, {0x700, 2}, {0x702, 77}, {0x700, 50}};
    errmap_entry entries[2];
    errmap map;
    errmap_strategy strategy = ERRMAP_STRATEGY(&map, &seventy_seven);
    retry_operation op;
    size_t i;
    entries[0] = spec(ERRMAP_SPEC_LINEAR, 2, 50, 50, 0);
    entries[1] = spec(ERRMAP_SPEC_CONSTANT, 7, 9, 0, 0);
    entries[1].code = 0x701;
    memset(&map, 0, sizeof map);
    map.entries = entries;
    map.count = 2;
    op = begin(&strategy, 0);
    for (i = 0; i < CHECK_COUNT(steps); i++) {
        const retry_failure failure = failure_of(INDICATED, steps[i].code);
        check_row("step %u", (unsigned)i);
        CHECK_EQUAL(steps[i].delay, decide(&op, &failure, 0).delay);
    }
}

static void test_max_duration(void)
{
    static const struct {
        retry_ms max_duration;
        retry_time last; /* when a retry is asked for whose delay is 100 */
        bool granted;
    } rows[] = {{0, 1000000, true},  {1000, 899, true},   {1000, 900, false}, {1000, 901, false},
                {1000, 1000, false}, {1000, 5000, false}, {101, 0, true},     {100, 0, false}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        const errmap_entry entry = spec(ERRMAP_SPEC_CONSTANT, 100, 100, 0, rows[i].max_duration);
        const retry_failure failure = failure_of(INDICATED, 0x700);
        const retry_time start = (retry_time)-500; /* so that it wraps on the way */
        errmap map;
        errmap_strategy strategy = ERRMAP_STRATEGY(&map, NULL);
        retry_operation op;
        decided decision;
        memset(&map, 0, sizeof map);
        map.entries = &entry;
        map.count = 1;
        op = begin(&strategy, start);
        op.timeout = UINT32_MAX;
        if (rows[i].last != 0)
            decide(&op, &failure, start);
        decision = decide(&op, &failure, check_after(start, rows[i].last));
        check_row("max %lu, at %lu", (unsigned long)rows[i].max_duration,
                  (unsigned long)rows[i].last);
        CHECK_EQUAL(rows[i].granted ? RETRY_VERDICT_RETRY : RETRY_VERDICT_FAIL, decision.verdict);
        CHECK_EQUAL(rows[i].granted ? RETRY_CAUSE_STRATEGY : RETRY_CAUSE_MAX_DURATION,
                    decision.cause);
    }
}

/* What lies up to 32,768 ms back is another thread's clock, and no time; any other difference has
   passed. No max_duration is above 2^31 ms. */
static void test_max_duration_and_the_clock(void)
{
    static const struct {
        retry_ms max_duration;
        uint32_t passed; /* from the first failure with the code, by the clock */
        bool granted;    /* a delay of 100 */
    } rows[] = {
        {101, 0, true},
        {101, 1, false},
        {101, (uint32_t)-1, true},
        {101, (uint32_t)-1000, true},
        {101, (uint32_t)-32768, true},
        {1000, (uint32_t)-32769, false},
        {1000, 0x7fffffff, false},
        {1000, 0x80000000u, false},
        {1000, 0x80000001u, false},
        {0x7fffffff, 0x7fffffff - 101, true},
        {0x7fffffff, 0x7fffffff - 100, false},
        {UINT32_MAX, 0x80000000u - 101, true},
        {UINT32_MAX, 0x80000000u - 100, false},
        {UINT32_MAX, (uint32_t)-32769, false},
        {UINT32_MAX, (uint32_t)-32768, true},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        const errmap_entry entry = spec(ERRMAP_SPEC_CONSTANT, 100, 100, 0, rows[i].max_duration);
        const retry_failure failure = failure_of(INDICATED, 0x700);
        errmap map;
        errmap_strategy strategy = ERRMAP_STRATEGY(&map, NULL);
        retry_operation op;
        retry_action action;
        memset(&map, 0, sizeof map);
        map.entries = &entry;
        map.count = 1;
        op = begin(&strategy, 10000);
        decide(&op, &failure, 10000);
        action = errmap_strategy_after(&strategy.base, &op, &failure,
                                       check_after(10000, rows[i].passed));
        check_row("max %lu, after %lu", (unsigned long)rows[i].max_duration,
                  (unsigned long)rows[i].passed);
        CHECK_EQUAL(rows[i].granted ? RETRY_ACTION_AFTER : RETRY_ACTION_NONE, action.kind);
        CHECK_EQUAL(rows[i].granted ? RETRY_CAUSE_STRATEGY : RETRY_CAUSE_MAX_DURATION,
                    action.cause);
    }
}

/* max_duration counts from the first failure with the code, not from the request's start. */
static void test_max_duration_by_code(void)
{
    const errmap_entry entry = spec(ERRMAP_SPEC_CONSTANT, 100, 100, 0, 1000);
    const retry_failure failure = failure_of(INDICATED, 0x700);
    const retry_failure other = failure_of(INDICATED, 0x701);
    errmap map;
    errmap_strategy strategy = ERRMAP_STRATEGY(&map, &seventy_seven);
    retry_operation op;
    memset(&map, 0, sizeof map);
    map.entries = &entry;
    map.count = 1;
    op = begin(&strategy, 0);
    CHECK_EQUAL(100, decide(&op, &failure, 0).delay);
    CHECK_EQUAL(77, decide(&op, &other, 850).delay);
    CHECK_EQUAL(100, decide(&op, &failure, 3000).delay);
    CHECK_EQUAL(100, decide(&op, &failure, 3899).delay);
    CHECK_EQUAL(RETRY_CAUSE_MAX_DURATION, decide(&op, &failure, 3900).cause);
}

static void test_fallback(void)
{
    const errmap_entry entry = spec(ERRMAP_SPEC_CONSTANT, 100, 100, 0, 0);
    const errmap_entry bare = spec(ERRMAP_SPEC_NONE, 100, 100, 0, 0);
    const errmap_entry foreign = spec(9, 100, 100, 0, 0);
    const errmap_entry hasty = spec(ERRMAP_SPEC_CONSTANT, 0, 100, 0, 50); /* no interval */
    errmap map;
    errmap_strategy strategy = ERRMAP_STRATEGY(&map, &seventy_seven);
    retry_failure failure = failure_of(RETRY_REASON_KV_TEMPORARY_FAILURE, 0x700);
    retry_operation op = begin(&strategy, 0);
    memset(&map, 0, sizeof map);
    map.entries = &entry;
    map.count = 1;
    CHECK_EQUAL(77, decide(&op, &failure, 0).delay);
    failure.reason = RETRY_REASON_SOCKET_NOT_AVAILABLE;
    CHECK_EQUAL(77, decide(&op, &failure, 0).delay);
    failure = failure_of(INDICATED, 0x701);
    CHECK_EQUAL(77, decide(&op, &failure, 0).delay);
    failure.code = 0x700;
    CHECK_EQUAL(100, decide(&op, &failure, 0).delay);
    failure.code = 0x10700;
    CHECK_EQUAL(77, decide(&op, &failure, 0).delay);
    failure.code = 0x700;
    map.entries = &bare;
    CHECK_EQUAL(77, decide(&op, &failure, 0).delay);
    map.entries = &foreign;
    CHECK_EQUAL(77, decide(&op, &failure, 0).delay);
    map.entries = &hasty;
    CHECK_EQUAL(77, decide(&op, &failure, 0).delay);
    strategy.map = NULL;
    CHECK_EQUAL(77, decide(&op, &failure, 0).delay);
    strategy.fallback = NULL;
    CHECK_RANGE(1, 5000, decide(&op, &failure, 0).delay);
    strategy.fallback = &hollow;
    CHECK_EQUAL(RETRY_CAUSE_MISUSE, decide(&op, &failure, 0).cause);
}

static void test_not_permitted(void)
{
    const errmap_entry entry = spec(ERRMAP_SPEC_CONSTANT, 100, 100, 0, 0);
    errmap map;
    errmap_strategy strategy = ERRMAP_STRATEGY(&map, &seventy_seven);
    retry_failure failure = failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT, 0x700);
    retry_operation op = begin(&strategy, 0);
    decided decision;
    memset(&map, 0, sizeof map);
    map.entries = &entry;
    map.count = 1;
    decision = decide(&op, &failure, 0);
    CHECK_EQUAL(RETRY_VERDICT_FAIL, decision.verdict);
    CHECK_EQUAL(RETRY_CAUSE_NOT_IDEMPOTENT, decision.cause);
    op.idempotent = true;
    retry_start(&op, NULL, 0);
    CHECK_EQUAL(77, decide(&op, &failure, 0).delay);
    failure.reason = INDICATED;
    CHECK_EQUAL(100, decide(&op, &failure, 0).delay);
}

/* The request's own timeout holds as ever. */
static void test_deadline(void)
{
    const errmap_entry entry = spec(ERRMAP_SPEC_CONSTANT, 1000, 2000, 0, 0);
    errmap map;
    errmap_strategy strategy = ERRMAP_STRATEGY(&map, NULL);
    const retry_failure failure = failure_of(INDICATED, 0x700);
    retry_operation op;
    decided decision;
    memset(&map, 0, sizeof map);
    map.entries = &entry;
    map.count = 1;
    memset(&op, 0, sizeof op);
    op.client = default_client();
    op.strategy = &strategy.base;
    op.timeout = 2500;
    retry_start(&op, NULL, 0);
    CHECK_EQUAL(2000, decide(&op, &failure, 0).delay);
    decision = decide(&op, &failure, 2000);
    CHECK_EQUAL(RETRY_VERDICT_EXPIRE, decision.verdict);
    CHECK_EQUAL(500, decision.delay);
}

static void test_misuse(void)
{
    errmap_strategy strategy = ERRMAP_STRATEGY(NULL, NULL);
    retry_operation op = begin(&strategy, 0);
    const retry_failure failure = failure_of(INDICATED, 0x700);
    CHECK_EQUAL(RETRY_CAUSE_MISUSE, errmap_strategy_after(NULL, &op, &failure, 0).cause);
    CHECK_EQUAL(RETRY_CAUSE_MISUSE, errmap_strategy_after(&strategy.base, NULL, &failure, 0).cause);
    CHECK_EQUAL(RETRY_CAUSE_MISUSE, errmap_strategy_after(&strategy.base, &op, NULL, 0).cause);
    CHECK_EQUAL(RETRY_ACTION_NONE, errmap_strategy_after(&strategy.base, &op, NULL, 0).kind);
}

int main(void)
{
    RUN(test_attributes);
    RUN(test_not_in_the_map);
    RUN(test_classify);
    RUN(test_classify_by_the_map);
    RUN(test_delays);
    RUN(test_strategy_follows_the_specification);
    RUN(test_strategy_counts_by_code);
    RUN(test_max_duration);
    RUN(test_max_duration_and_the_clock);
    RUN(test_max_duration_by_code);
    RUN(test_fallback);
    RUN(test_not_permitted);
    RUN(test_deadline);
    RUN(test_misuse);
    return check_done();
}
