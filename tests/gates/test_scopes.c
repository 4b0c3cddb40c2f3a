/* A bucket for each name: who gets a slot, who keeps it, who loses it, and who shares the overflow.
 */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"
#include "../support/options.h"

#define START ((retry_time)-5000)
#define CAPACITY 20000u
#define COST 1000u
#define EXPIRE UINT32_C(10000)
#define MANY 64u

static retry_scope slots[MANY + 2]; /* the first and the last are not for the table */

/* A table of so many slots that were never used. */
static retry_scopes table_of(uint32_t count)
{
    retry_scopes scopes;
    memset(&scopes, 0, sizeof scopes);
    memset(slots, 0, sizeof slots);
    memset(&slots[0], 0x55, sizeof slots[0]);
    memset(&slots[count + 1], 0x55, sizeof slots[0]);
    scopes.options.capacity = CAPACITY;
    scopes.options.retry_cost = COST;
    scopes.slots = &slots[1];
    scopes.count = count;
    scopes.key = 1;
    return scopes;
}

static bool all_bytes_are_0x55(const void *memory, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)memory;
    size_t i;
    for (i = 0; i < length; i++) {
        if (bytes[i] != 0x55)
            return false;
    }
    return true;
}

static const retry_client *look_up(retry_scopes *scopes, const char *name, retry_time now)
{
    return retry_scope_client(scopes, name, strlen(name), now);
}

/* The same for a number as a name. */
static const retry_client *look_up_number(retry_scopes *scopes, uint32_t number)
{
    char name[24];
    snprintf(name, sizeof name, "partition-%" PRIu32, number);
    return look_up(scopes, name, START);
}

/* Takes one retry's cost, so that the slot stays its name's. */
static const retry_client *drained(const retry_client *client)
{
    CHECK(client && client->budget && retry_budget_withdraw(client->budget, COST, START));
    return client;
}

static void fill(const retry_client *client)
{
    retry_budget_deposit(client->budget, CAPACITY);
}

/* ---- what a look-up returns ---------------------------------------------------------------- */

static void test_null(void)
{
    retry_scopes scopes = table_of(4);
    CHECK(retry_scope_client(NULL, "a", 1, START) == NULL);
    CHECK(retry_scope_client(NULL, NULL, 0, START) == NULL);
    scopes.slots = NULL;
    CHECK(look_up(&scopes, "a", START) == &scopes.client);
    scopes = table_of(0);
    CHECK(look_up(&scopes, "a", START) == &scopes.client);
    CHECK(retry_scope_client(&scopes, NULL, 0, START) == &scopes.client);
}

static void observe(void *context, const retry_operation *op, const retry_failure *failure)
{
    (void)context;
    (void)op;
    (void)failure;
}

static uint32_t top(void *context)
{
    (void)context;
    return UINT32_MAX;
}

/* All of the table's client, but for the bucket, which is new. */
static void test_a_new_scope(void)
{
    retry_budget_options options = options_of(9000, 1);
    retry_scopes scopes = table_of(3);
    retry_budget overflow;
    const retry_client *client;
    retry_budget_init(&overflow, NULL, START);
    options.timeout_cost = 2;
    options.throttle_cost = 3;
    options.success_deposit = 4;
    options.request_deposit = 5;
    options.refill_per_second = 6;
    options.floor = 7;
    options.refund_last = options.charge_failures = true;
    scopes.options = options;
    scopes.client.strategy = retry_fail_fast();
    scopes.client.budget = &overflow;
    scopes.client.observe = observe;
    scopes.client.observe_context = &scopes;
    scopes.client.random = top;
    scopes.client.random_context = &overflow;
    scopes.client.always_interval = 77;
    client = look_up(&scopes, "a", START);
    CHECK(client != &scopes.client);
    CHECK(client->strategy == retry_fail_fast());
    CHECK(client->observe == observe && client->observe_context == &scopes);
    CHECK(client->random == top && client->random_context == &overflow);
    CHECK_EQUAL(77, client->always_interval);
    CHECK(client->budget && client->budget != &overflow);
    CHECK_EQUAL(9000, retry_budget_balance(client->budget));
    CHECK(same_options(&options, &client->budget->options));
    CHECK(scopes.client.budget == &overflow);
}

/* A bucket whose tokens expire holds one retry's cost at first, if it holds as much at all. */
static void test_a_new_scope_that_expires(void)
{
    static const struct {
        uint32_t capacity, cost, first;
    } rows[] = {
        {CAPACITY, COST, COST}, {CAPACITY, 0, 0}, {COST, COST, COST}, {COST, COST + 1, COST}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_scopes scopes = table_of(1);
        const retry_client *client;
        scopes.options.capacity = rows[i].capacity;
        scopes.options.retry_cost = rows[i].cost;
        scopes.options.expire = EXPIRE;
        check_row("capacity %lu, cost %lu", (unsigned long)rows[i].capacity,
                  (unsigned long)rows[i].cost);
        client = look_up(&scopes, "a", START);
        CHECK(same_options(&scopes.options, &client->budget->options));
        CHECK_EQUAL(rows[i].first, retry_budget_balance(client->budget));
        CHECK(look_up(&scopes, "b", START) == client);
        CHECK_EQUAL(rows[i].first, retry_budget_balance(client->budget));
    }
}

/* ---- names --------------------------------------------------------------------------------- */

/* Each of these is another name than the rest, to the last byte. */
static const struct {
    const char *name;
    size_t length;
} names[] = {
    {"", 0},     {"a", 1},    {"A", 1},    {"b", 1},        {"\0", 1},   {"a\0", 2},  {"\0a", 2},
    {"a\0b", 3}, {"a\0c", 3}, {"ab", 2},   {"ba", 2},       {"aa", 2},   {"aaa", 3},  {" a", 2},
    {"a ", 2},   {"\xff", 1}, {"\x7f", 1}, {"\xff\xff", 2}, {"\x01", 1}, {"\x80", 1}, {"a\n", 2},
};

static void test_names_do_not_share(void)
{
    retry_scopes scopes = table_of(MANY);
    const retry_client *clients[CHECK_COUNT(names)];
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(names); i++) {
        check_row("name %u", (unsigned)i);
        clients[i] = retry_scope_client(&scopes, names[i].name, names[i].length, START);
        CHECK(clients[i] != &scopes.client);
        drained(clients[i]);
        for (j = 0; j < i; j++)
            CHECK(clients[i] != clients[j] && clients[i]->budget != clients[j]->budget);
    }
    for (i = 0; i < CHECK_COUNT(names); i++) {
        char copy[4];
        check_row("name %u again", (unsigned)i);
        memcpy(copy, names[i].name, names[i].length);
        CHECK(retry_scope_client(&scopes, copy, names[i].length, START) == clients[i]);
        CHECK_EQUAL(CAPACITY - COST, retry_budget_balance(clients[i]->budget));
    }
}

static void test_no_name(void)
{
    retry_scopes scopes = table_of(3);
    const retry_client *client = drained(retry_scope_client(&scopes, "x", 0, START));
    CHECK(retry_scope_client(&scopes, NULL, 0, START) == client);
    CHECK(retry_scope_client(&scopes, NULL, 12, START) == client);
    CHECK(retry_scope_client(&scopes, NULL, SIZE_MAX, START) == client);
    CHECK(retry_scope_client(&scopes, "x", 1, START) != client);
}

/* Names that were looked for because they have the same hash, or hashes that differ in their first
   or last bit alone. */
static void test_equal_hashes(void)
{
    retry_scopes scopes = table_of(1);
    const retry_client *client = drained(look_up(&scopes, "host1628650", START));
    CHECK(look_up(&scopes, "host1273383", START) == client);
    CHECK(look_up(&scopes, "host1273382", START) == &scopes.client);
    scopes = table_of(1);
    drained(look_up(&scopes, "host2942825", START));
    CHECK(look_up(&scopes, "host2380795", START) == &scopes.client);
    scopes = table_of(1);
    drained(look_up(&scopes, "host1340670", START));
    CHECK(look_up(&scopes, "host54578", START) == &scopes.client);
}

/* A key that is 0 is drawn once. With another the names that share a slot are others. */
static void test_key(void)
{
    unsigned i, shared = 0;
    for (i = 0; i < 100; i++) {
        retry_scopes scopes = table_of(1);
        const retry_client *client;
        uint32_t key;
        scopes.key = 0;
        client = drained(look_up(&scopes, "host1628650", START));
        key = scopes.key;
        check_row("key %lu", (unsigned long)key);
        CHECK(key != 0);
        CHECK(look_up(&scopes, "host1628650", START) == client);
        CHECK_EQUAL(key, scopes.key);
        shared += look_up(&scopes, "host1273383", START) == client;
    }
    CHECK_EQUAL(0, shared);
}

/* One whose hash is 0: a slot that was never used is not taken for its own. */
static void test_a_hash_of_0(void)
{
    retry_scopes scopes = table_of(1);
    const retry_client *client;
    scopes.key = 'a'; /* which the first byte makes 0 */
    client = look_up(&scopes, "a", START);
    CHECK(client == &slots[1].client);
    CHECK_EQUAL(CAPACITY, retry_budget_balance(client->budget));
    drained(client);
    CHECK(look_up(&scopes, "a", START) == client);
    CHECK(look_up(&scopes, "b", START) == &scopes.client);
    fill(client);
    CHECK(look_up(&scopes, "b", START) == client);
    drained(client);
    CHECK(look_up(&scopes, "a", START) == &scopes.client);
}

/* ---- who gets a slot ----------------------------------------------------------------------- */

/* A full bucket is left alone while there are slots that nobody ever had. */
static void test_a_new_slot_before_a_full_one(void)
{
    uint32_t count, i;
    for (count = 1; count <= 4; count++) {
        retry_scopes scopes = table_of(count);
        const retry_client *clients[4];
        for (i = 0; i < count; i++)
            clients[i] = look_up_number(&scopes, i);
        for (i = 0; i < count; i++) {
            check_row("slot %u of %u", (unsigned)i, (unsigned)count);
            CHECK(look_up_number(&scopes, i) == clients[i]);
            CHECK(clients[i] == &slots[i + 1].client);
        }
    }
}

/* The other's bucket is full again: by what is put into it, to the last thousandth. */
static void test_a_full_bucket_is_handed_on(void)
{
    retry_scopes scopes = table_of(1);
    const retry_client *client = drained(look_up(&scopes, "a", START));
    CHECK(look_up(&scopes, "b", START) == &scopes.client);
    retry_budget_deposit(client->budget, COST - 1);
    CHECK(look_up(&scopes, "b", START) == &scopes.client);
    CHECK(look_up(&scopes, "a", START) == client);
    retry_budget_deposit(client->budget, 1);
    CHECK(look_up(&scopes, "a", START) == client);
    CHECK(look_up(&scopes, "b", START) == client);
    drained(client);
    CHECK(look_up(&scopes, "a", START) == &scopes.client);
    CHECK(look_up(&scopes, "b", START) == client);
    fill(client);
    CHECK(look_up(&scopes, "a", START) == client);
}

/* ... and by what time puts into it, as of this look-up. */
static void test_the_first_full_bucket_is_handed_on(void)
{
    retry_scopes scopes = table_of(3);
    look_up(&scopes, "a", START);
    look_up(&scopes, "b", START);
    look_up(&scopes, "c", START);
    CHECK(look_up(&scopes, "d", START) == &slots[1].client);
    drained(&slots[1].client);
    CHECK(look_up(&scopes, "e", START) == &slots[2].client);
}

static void test_a_refilled_bucket_is_handed_on(void)
{
    retry_scopes scopes = table_of(1);
    const retry_client *client;
    scopes.options.refill_per_second = 100; /* so the cost of a retry takes 10 s */
    client = drained(look_up(&scopes, "a", START));
    CHECK(look_up(&scopes, "b", check_after(START, 9999)) == &scopes.client);
    CHECK(look_up(&scopes, "a", check_after(START, 9999)) == client);
    CHECK(look_up(&scopes, "b", check_after(START, 10000)) == client);
    CHECK(retry_budget_withdraw(client->budget, COST, check_after(START, 10000)));
    CHECK(look_up(&scopes, "a", check_after(START, 19999)) == &scopes.client);
    CHECK(look_up(&scopes, "a", check_after(START, 20000)) == client);
}

/* One whose tokens expire is as good as new when it holds exactly what a new one holds: neither
   less nor more. */
static void test_a_bucket_that_expires_is_handed_on(void)
{
    retry_scopes scopes = table_of(1);
    const retry_client *client;
    scopes.options.expire = EXPIRE;
    scopes.forget = UINT32_MAX;
    client = drained(look_up(&scopes, "a", START));
    CHECK_EQUAL(0, retry_budget_balance(client->budget));
    CHECK(look_up(&scopes, "b", START) == &scopes.client);
    retry_budget_deposit(client->budget, COST - 1);
    CHECK(look_up(&scopes, "b", START) == &scopes.client);
    retry_budget_deposit(client->budget, 2);
    CHECK(look_up(&scopes, "b", START) == &scopes.client);
    CHECK(retry_budget_withdraw(client->budget, 1, START));
    CHECK(look_up(&scopes, "b", START) == client);
    CHECK_EQUAL(COST, retry_budget_balance(client->budget));
    fill(client);
    CHECK_EQUAL(CAPACITY, retry_budget_balance(client->budget));
    CHECK(look_up(&scopes, "a", START) == &scopes.client);
    CHECK(look_up(&scopes, "a", check_after(START, EXPIRE)) == &scopes.client);
    CHECK(look_up(&scopes, "a", check_after(START, 20 * EXPIRE)) == client);
    CHECK_EQUAL(COST, retry_budget_balance(client->budget));
    CHECK(look_up(&scopes, "b", check_after(START, 20 * EXPIRE)) == client);
    CHECK_EQUAL(COST, retry_budget_balance(client->budget));
}

/* A service's budget for each name: the base is there at first and comes back by itself, 0.05
   tokens a second, up to itself: then the slot is as good as new. */
static void test_a_base_is_handed_on(void)
{
    static const retry_budget_options best_effort = RETRY_BUDGET_BEST_EFFORT(1);
    static const struct {
        uint32_t spent;
        retry_ms back;
    } rows[] = {{RETRY_TOKENS(0.25), 5000}, {RETRY_TOKENS(0.5), 10000}, {RETRY_TOKENS(1), 20000}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_ms early;
        for (early = 0; early <= 20; early += 20) {
            retry_time later = check_after(START, rows[i].back - early);
            retry_scopes scopes = table_of(1);
            const retry_client *client;
            scopes.options = best_effort;
            scopes.forget = UINT32_MAX;
            check_row("%lu spent, %lu ms early", (unsigned long)rows[i].spent,
                      (unsigned long)early);
            client = look_up(&scopes, "a", START);
            CHECK_EQUAL(RETRY_TOKENS(1), retry_budget_balance(client->budget));
            CHECK(retry_budget_withdraw(client->budget, rows[i].spent, START));
            CHECK(look_up(&scopes, "b", later) == (early != 0 ? &scopes.client : client));
            CHECK_EQUAL(RETRY_TOKENS(1) - early / 20, retry_budget_balance(client->budget));
            later = check_after(START, 1000000); /* no further */
            CHECK(look_up(&scopes, "a", later) == client);
            CHECK(!retry_budget_withdraw(client->budget, RETRY_TOKENS(1) + 1, later));
            CHECK_EQUAL(RETRY_TOKENS(1), retry_budget_balance(client->budget));
        }
    }
}

/* A bucket begins to be refilled when its slot is first used. */
static void test_the_refill_begins_with_the_slot(void)
{
    retry_scopes scopes = table_of(1);
    const retry_client *client;
    scopes.options.refill_per_second = 1000;
    client = look_up(&scopes, "a", check_after(START, 100000));
    CHECK(retry_budget_withdraw(client->budget, CAPACITY, check_after(START, 100000)));
    CHECK(!retry_budget_withdraw(client->budget, COST, check_after(START, 100999)));
    CHECK(retry_budget_withdraw(client->budget, COST, check_after(START, 101000)));
}

/* Any of the slots that a name may be in will do. */
static void test_every_slot_is_handed_on(void)
{
    uint32_t count, i;
    for (count = 1; count <= 4; count++) {
        for (i = 0; i < count; i++) {
            retry_scopes scopes = table_of(count);
            uint32_t j;
            for (j = 0; j < count; j++)
                drained(look_up_number(&scopes, j));
            check_row("slot %u of %u", (unsigned)i, (unsigned)count);
            CHECK(look_up(&scopes, "b", START) == &scopes.client);
            fill(&slots[i + 1].client);
            CHECK(look_up(&scopes, "b", START) == &slots[i + 1].client);
            CHECK(look_up(&scopes, "b", START) == &slots[i + 1].client);
        }
    }
}

/* Only the name changes: who kept the client pays into, and from, its successor's bucket. */
static void test_a_kept_client_goes_on(void)
{
    static const retry_strategy *strategy;
    retry_scopes scopes = table_of(1);
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    const retry_client *client;
    retry_operation op;
    strategy = retry_best_effort();
    scopes.client.strategy = strategy;
    memset(&op, 0, sizeof op);
    op.client = client = look_up(&scopes, "a", START);
    retry_start(&op, NULL, START);
    CHECK_DECISION(RETRY, STRATEGY, decide(&op, &failure, START));
    CHECK_EQUAL(CAPACITY - COST, retry_budget_balance(client->budget));
    fill(client);
    CHECK(look_up(&scopes, "b", START) == client);
    CHECK(retry_budget_withdraw(client->budget, CAPACITY - 1, START));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, decide(&op, &failure, START));
    CHECK_EQUAL(1, retry_budget_balance(client->budget));
    CHECK(client->strategy == strategy);
}

/* Every bucket is full, so no name keeps a slot; no retry is paid for either. */
static void test_capacity_0(void)
{
    retry_scopes scopes = table_of(1);
    const retry_client *client;
    scopes.options.capacity = 0;
    client = look_up(&scopes, "a", START);
    CHECK(client == &slots[1].client);
    CHECK(look_up(&scopes, "a", START) == client);
    CHECK(look_up(&scopes, "b", START) == client);
    CHECK(look_up(&scopes, "a", START) == client);
    CHECK(!retry_budget_withdraw(client->budget, 0, START));
}

/* ---- who is forgotten ---------------------------------------------------------------------- */

/* A name that nobody looks up for so long loses its slot, whose bucket is filled, but to another
   name alone. */
static void test_forgotten(void)
{
    static const struct {
        retry_ms forget, holds;
    } rows[] = {{0, 60000}, {1, 1}, {5000, 5000}, {60000, 60000}, {3600000, 3600000}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_scopes scopes = table_of(1);
        const retry_client *client = &slots[1].client;
        retry_time later = check_after(START, rows[i].holds);
        scopes.forget = rows[i].forget;
        check_row("forget %lu", (unsigned long)rows[i].forget);
        drained(look_up(&scopes, "a", START));
        CHECK(look_up(&scopes, "b", check_after(START, rows[i].holds - 1)) == &scopes.client);
        CHECK(look_up(&scopes, "a", later) == client); /* its own again, as it was, */
        CHECK_EQUAL(CAPACITY - COST, retry_budget_balance(client->budget));
        CHECK(look_up(&scopes, "b", check_after(later, rows[i].holds - 1)) == &scopes.client);
        CHECK(look_up(&scopes, "b", check_after(later, rows[i].holds)) == client); /* and lost */
        CHECK_EQUAL(CAPACITY, retry_budget_balance(client->budget));
        drained(client);
        CHECK(look_up(&scopes, "a", check_after(later, rows[i].holds)) == &scopes.client);
    }
}

/* A forgotten name's bucket holds what a new one does, at least. */
static void test_forgotten_that_expires(void)
{
    static const struct {
        uint32_t left, least;
    } rows[] = {{0, COST}, {1, COST}, {COST - 1, COST}, {COST + 1, COST}, {CAPACITY, COST}};
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_scopes scopes = table_of(1);
        const retry_client *client;
        uint32_t kept;
        scopes.options.expire = 3600000; /* so that little goes in the second */
        scopes.forget = 1000;
        check_row("%lu left", (unsigned long)rows[i].left);
        client = drained(look_up(&scopes, "a", START));
        retry_budget_deposit(client->budget, rows[i].left);
        CHECK(look_up(&scopes, "b", check_after(START, 999)) == &scopes.client);
        kept = retry_budget_balance(client->budget);
        CHECK(look_up(&scopes, "b", check_after(START, 1000)) == client);
        CHECK_EQUAL(kept < rows[i].least ? rows[i].least : kept,
                    retry_budget_balance(client->budget));
    }
}

/* Never, if so much is said. */
static void test_never_forgotten(void)
{
    retry_scopes scopes = table_of(1);
    scopes.forget = UINT32_MAX;
    drained(look_up(&scopes, "a", START));
    CHECK(look_up(&scopes, "b", check_after(START, 2000000000)) == &scopes.client);
    CHECK(look_up(&scopes, "b", check_after(START, 4294900000u)) == &scopes.client);
}

/* A clock that steps back a little forgets nobody. */
static void test_not_forgotten_by_a_step_back(void)
{
    retry_scopes scopes = table_of(1);
    scopes.forget = 1;
    drained(look_up(&scopes, "a", check_after(START, 30000)));
    CHECK(look_up(&scopes, "b", check_after(START, 29999)) == &scopes.client);
    CHECK(look_up(&scopes, "b", START) == &scopes.client);
    CHECK(look_up(&scopes, "b", check_after(START, 30001)) == &slots[1].client);
}

/* A table that nobody used for weeks refuses nobody, however often its clock has wrapped. */
static void test_idle_for_weeks(void)
{
    uint32_t hours;
    for (hours = 1; hours <= 2400; hours++) {
        retry_scopes scopes = table_of(1);
        drained(look_up(&scopes, "a", START));
        check_row("%u hours", (unsigned)hours);
        CHECK(look_up(&scopes, "b", check_after(START, (retry_time)((uint64_t)hours * 3600000))) ==
              &slots[1].client);
    }
}

/* Requests of a crowd of hosts for a minute, then of forty, one of them down: each draws on its
   bucket, which fills by what works. How many look-ups of a hundred overflow, from a minute later
   on. */
static uint32_t overflow_of(uint32_t refill_per_second, retry_ms expire)
{
    static const uint32_t CROWD = 500, STAY = 40, MINUTE = 60000;
    retry_scopes scopes = table_of(MANY);
    uint32_t ms, lost = 0, all = 0;
    scopes.options.success_deposit = 100;
    scopes.options.refill_per_second = refill_per_second;
    scopes.options.expire = expire;
    for (ms = 0; ms < 5 * MINUTE; ms += 5) {
        retry_time now = check_after(START, ms);
        uint32_t host = check_random() % (ms < MINUTE ? CROWD : STAY);
        bool down = host == 0 || (ms < MINUTE && check_random() % 4 == 0);
        char name[24];
        const retry_client *client;
        snprintf(name, sizeof name, "host-%" PRIu32, host);
        client = look_up(&scopes, name, now);
        if (ms >= 2 * MINUTE) {
            all++;
            lost += client == &scopes.client;
        }
        if (client == &scopes.client)
            continue;
        if (down)
            retry_budget_withdraw(client->budget, COST, now);
        else
            retry_budget_deposit(client->budget, 100);
    }
    return lost * 100 / all;
}

static void test_a_crowd_that_leaves(void)
{
    CHECK_RANGE(0, 10, overflow_of(0, 0)); /* one host that stays has 2.5 of 100 */
    CHECK_RANGE(0, 10, overflow_of(1000, 0));
    CHECK_RANGE(0, 10, overflow_of(0, EXPIRE));
}

/* ---- tables -------------------------------------------------------------------------------- */

/* The slot that a client is of, counted from 1; 0 for the overflow. */
static uint32_t slot_of(const retry_scopes *scopes, const retry_client *client)
{
    uint32_t i;
    if (client == &scopes->client)
        return 0;
    for (i = 1; i <= scopes->count && client != &slots[i].client; i++)
        continue;
    CHECK_RANGE(1, scopes->count, i);
    CHECK(client->budget == &slots[i].budget);
    return i;
}

/* 1,000 drained names over a table of any size: those in slots stay drained, all others share the
   overflow, and no slot is left over. */
static void check_drained_names(uint32_t count)
{
    enum { NAMES = 1000 };
    static uint8_t held[NAMES];
    retry_scopes scopes = table_of(count);
    uint32_t i, used = 0, overflows = 0;
    check_row("%u slots", (unsigned)count);
    for (i = 0; i < NAMES; i++) {
        const retry_client *client = look_up_number(&scopes, i);
        held[i] = (uint8_t)slot_of(&scopes, client);
        if (held[i] != 0) {
            drained(client);
            used++;
        }
    }
    CHECK_EQUAL(count, used);
    for (i = 0; i < NAMES; i++) {
        const retry_client *client = look_up_number(&scopes, i);
        CHECK_EQUAL(held[i], slot_of(&scopes, client));
        overflows += client == &scopes.client;
        if (held[i] != 0)
            CHECK_EQUAL(CAPACITY - COST, retry_budget_balance(client->budget));
    }
    CHECK_EQUAL(NAMES - count, overflows);
    CHECK(all_bytes_are_0x55(&slots[0], sizeof slots[0]));
    CHECK(all_bytes_are_0x55(&slots[count + 1], sizeof slots[0]));
}

static void test_tables_of_any_size(void)
{
    uint32_t count;
    for (count = 0; count <= MANY; count++)
        check_drained_names(count);
}

/* Four names find a slot in a table of at least four whatever they are; in a larger one some name
   overflows while there are slots that it did not look at. */
static void test_four_are_looked_at(void)
{
    uint32_t count, round, i;
    for (count = 4; count <= MANY; count++) {
        uint32_t fewest = count;
        check_row("%u slots", (unsigned)count);
        for (round = 0; round < 20; round++) {
            retry_scopes scopes = table_of(count);
            for (i = 0; i < count; i++) {
                const retry_client *client = look_up_number(&scopes, round * 1000 + i);
                if (client == &scopes.client)
                    break;
                drained(client);
            }
            fewest = i < fewest ? i : fewest;
        }
        CHECK_RANGE(4, count == 4 ? 4 : count - 1, fewest);
    }
}

/* Names come and go, buckets drain and fill: one that is not as a new one stays its name's, and no
   name's is told to another. */
static void check_random_walk(retry_ms expire)
{
    enum { NAMES = 40, COUNT = 7, STEPS = 20000 };
    retry_scopes scopes = table_of(COUNT);
    const retry_client *owned[NAMES];
    uint32_t step, i, first = expire ? COST : CAPACITY;
    scopes.options.expire = expire;
    memset(owned, 0, sizeof owned);
    for (step = 0; step < STEPS; step++) {
        uint32_t number = check_random() % NAMES;
        const retry_client *client = look_up_number(&scopes, number);
        check_row("expire %lu, step %u, name %u", (unsigned long)expire, (unsigned)step,
                  (unsigned)number);
        if (owned[number])
            CHECK(client == owned[number]);
        if (client == &scopes.client)
            continue;
        for (i = 0; i < NAMES; i++)
            CHECK(i == number || owned[i] != client);
        if (!owned[number])
            CHECK_EQUAL(first, retry_budget_balance(client->budget));
        if (check_random() % 4 != 0)
            retry_budget_withdraw(client->budget, check_random() % CAPACITY, START);
        else
            retry_budget_deposit(client->budget, check_random() % (2 * CAPACITY));
        if (check_random() % 8 == 0) { /* as a new one's */
            retry_budget_withdraw(client->budget, retry_budget_balance(client->budget), START);
            retry_budget_deposit(client->budget, first);
        }
        owned[number] = retry_budget_balance(client->budget) == first ? NULL : client;
    }
}

static void test_random_walk(void)
{
    check_random_walk(0);
    check_random_walk(EXPIRE);
}

/* ---- requests ------------------------------------------------------------------------------ */

/* How many retries a request of this client is granted before its bucket is empty. */
static uint32_t retries_of(const retry_client *client)
{
    retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_operation op;
    memset(&op, 0, sizeof op);
    op.client = client;
    retry_start(&op, NULL, START);
    while (op.retries < 100 && decide(&op, &failure, START).verdict == RETRY_VERDICT_RETRY)
        continue;
    return op.retries;
}

static void test_a_name_pays_for_itself(void)
{
    retry_scopes scopes = table_of(4);
    CHECK_EQUAL(20, retries_of(look_up(&scopes, "a", START)));
    CHECK_EQUAL(0, retries_of(look_up(&scopes, "a", START)));
    CHECK_EQUAL(20, retries_of(look_up(&scopes, "b", START)));
    CHECK_EQUAL(0, retries_of(look_up(&scopes, "a", START)));
}

/* The overflow pays from the table's own budget, or nothing if it has none. */
static void test_the_overflow(void)
{
    retry_budget_options options;
    retry_budget budget;
    retry_scopes scopes = table_of(0);
    CHECK_EQUAL(100, retries_of(look_up(&scopes, "a", START)));
    memset(&options, 0, sizeof options);
    options.capacity = 3000;
    options.retry_cost = 1000;
    retry_budget_init(&budget, &options, START);
    scopes.client.budget = &budget;
    CHECK_EQUAL(3, retries_of(look_up(&scopes, "a", START)));
    CHECK_EQUAL(0, retries_of(look_up(&scopes, "b", START)));
}

int main(void)
{
    RUN(test_null);
    RUN(test_a_new_scope);
    RUN(test_a_new_scope_that_expires);
    RUN(test_names_do_not_share);
    RUN(test_no_name);
    RUN(test_equal_hashes);
    RUN(test_a_hash_of_0);
    RUN(test_key);
    RUN(test_a_new_slot_before_a_full_one);
    RUN(test_a_full_bucket_is_handed_on);
    RUN(test_the_first_full_bucket_is_handed_on);
    RUN(test_a_refilled_bucket_is_handed_on);
    RUN(test_a_bucket_that_expires_is_handed_on);
    RUN(test_a_base_is_handed_on);
    RUN(test_the_refill_begins_with_the_slot);
    RUN(test_every_slot_is_handed_on);
    RUN(test_a_kept_client_goes_on);
    RUN(test_capacity_0);
    RUN(test_forgotten);
    RUN(test_forgotten_that_expires);
    RUN(test_never_forgotten);
    RUN(test_not_forgotten_by_a_step_back);
    RUN(test_idle_for_weeks);
    RUN(test_a_crowd_that_leaves);
    RUN(test_tables_of_any_size);
    RUN(test_four_are_looked_at);
    RUN(test_random_walk);
    RUN(test_a_name_pays_for_itself);
    RUN(test_the_overflow);
    return check_done();
}
