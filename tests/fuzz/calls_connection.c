/* Fuzz target for one connection: bytes become calls with hostile values and instants, beside a
   model of gRPC's spacing. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <string.h>

#include "bytes.h"
#include "replay.h"

static retry_time now;

/* ---- the connection ------------------------------------------------------------------------ */

enum { IDLE, CONNECTING, ESTABLISHED };

static retry_connection connection;
static struct {
    int state;
    uint32_t attempts; /* since the last reset */
    uint32_t random;   /* of the last beginning */
    retry_ms spacing;  /* from `started` to the deadline */
    retry_time started, established_at;
} model;

/* ms that have passed of a span; a step back is no time, and of a span over half of the clock's
   range all but 32 s behind is time. */
static retry_ms elapsed(retry_time from, retry_ms span)
{
    retry_ms passed = now - from;
    return passed > (span > 0x7fffffff ? UINT32_MAX - 32768 : 0x80000000u) ? 0 : passed;
}

static retry_ms left(void)
{
    retry_ms passed = elapsed(model.started, model.spacing);
    return passed < model.spacing ? model.spacing - passed : 0;
}

static const retry_backoff *backoff(void)
{
    static const retry_backoff grpc = RETRY_BACKOFF_GRPC;
    return connection.backoff.initial ? &connection.backoff : &grpc;
}

/* The first spacing has no jitter. */
static retry_ms first(void)
{
    retry_ms base = retry_backoff_base(backoff(), 0);
    return base > backoff()->min ? base : backoff()->min;
}

/* MurmurHash3's last steps. */
static uint32_t mixed(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85ebca6b;
    x ^= x >> 13;
    x *= 0xc2b2ae35;
    return x ^ x >> 16;
}

/* What was established waits for a part of the first spacing at least, and for no more if it has
   lasted: then it counts from one again. A step back cannot be told from weeks. */
static void settle(void)
{
    retry_ms enough = connection.stable_after ? connection.stable_after : 10000;
    bool stood = model.state == ESTABLISHED;
    retry_ms part = (retry_ms)(((uint64_t)first() + 1) * mixed(model.random) >> 32);
    model.state = IDLE;
    if (!stood)
        return;
    if (enough == 1 || now - model.established_at >= enough) {
        model.attempts = 0;
        model.spacing = 0;
    }
    if (left() < part && model.spacing < part) {
        model.spacing = part;
        model.started = now;
    } else if (left() < part) {
        model.started = now - (model.spacing - part);
    }
}

/* The next attempt begins. */
static void climb(uint32_t random)
{
    settle();
    model.spacing = model.attempts == 0
                        ? first()
                        : retry_backoff_delay(backoff(), model.attempts, model.spacing, random);
    model.attempts++;
    model.random = random;
    model.started = now;
    model.state = CONNECTING;
}

static void call_begin(void)
{
    uint32_t most = connection.min_connect_timeout ? connection.min_connect_timeout : 20000;
    uint32_t random = hostile();
    retry_ms got = retry_connection_begin(&connection, random, now);
    climb(random);
    REQUIRE(got == (model.spacing > most ? model.spacing : most));
}

static void call_failed(void)
{
    retry_ms got = retry_connection_failed(&connection, now);
    if (model.state == IDLE && left() == 0) /* begun by nobody */
        climb(mixed(model.random ^ 0x9e3779b9));
    settle();
    REQUIRE(got == left());
    REQUIRE(got == retry_connection_wait(&connection, now));
}

static void call_established(void)
{
    retry_connection_established(&connection, now);
    if (model.state != CONNECTING)
        return;
    model.state = ESTABLISHED;
    model.established_at = now;
}

static void set_up_connection(void)
{
    static const retry_connection grpc = RETRY_CONNECTION_GRPC;
    uint8_t flags = byte();
    connection = grpc;
    if (flags & 1) {
        connection.backoff.curve = (uint8_t)below(5); /* no table, no function */
        connection.backoff.jitter = (uint8_t)below(6);
        connection.backoff.min = hostile();
        connection.backoff.initial = hostile();
        connection.backoff.max = hostile();
        connection.backoff.factor = hostile();
    }
    if (flags & 2)
        connection.min_connect_timeout = hostile();
    if (flags & 4)
        connection.stable_after = hostile();
    memset(&model, 0, sizeof model);
}

/* ---- calls --------------------------------------------------------------------------------- */

static void pass_time(void)
{
    uint8_t how = byte();
    if (how < 0xe0)
        now += hostile();
    else if (how < 0xf0)
        now -= hostile();
    else
        now += (retry_time)-1 / 4 * below(4);
}

static void call(uint8_t which)
{
    switch (which % 4) {
    case 0:
        call_begin();
        break;
    case 1:
        call_failed();
        break;
    case 2:
        call_established();
        break;
    default:
        pass_time();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes_start(data, size);
    now = chance(2) ? (retry_time)word() : (retry_time)-1 - word();
    set_up_connection();
    while (bytes_left != 0)
        call(byte());
    return 0;
}
