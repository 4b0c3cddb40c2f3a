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
    retry_ms asked;    /* that the server asked for */
    retry_time asked_at;
    retry_ms spacing; /* from `started` to the deadline */
    retry_time started, established_at;
} model;

static uint32_t drawn; /* by all that is drawn in a call */

static uint32_t draw(void *context)
{
    REQUIRE(context == &model);
    return drawn;
}

/* ms that have passed, but for 32 s that a clock may be behind. */
static retry_ms elapsed(retry_time from)
{
    retry_ms passed = now - from;
    return passed > UINT32_MAX - 32768 ? 0 : passed;
}

static retry_ms left(void)
{
    retry_ms passed = elapsed(model.started);
    return passed < model.spacing ? model.spacing - passed : 0;
}

/* What the clock can measure. */
static retry_ms measured(retry_ms ms)
{
    return ms < 0x80000000u ? ms : 0x80000000u;
}

/* Each field that is 0 is gRPC's; a longer first spacing is not cut. */
static retry_backoff backoff(void)
{
    static const retry_backoff grpc = RETRY_BACKOFF_GRPC;
    retry_backoff used = connection.backoff;
    used.initial = used.initial ? used.initial : grpc.initial;
    used.max = used.max ? used.max : used.initial > grpc.max ? used.initial : grpc.max;
    used.factor = used.factor ? used.factor : grpc.factor;
    used.jitter = used.jitter ? used.jitter : grpc.jitter;
    return used;
}

/* The first spacing has no jitter. */
static retry_ms first(void)
{
    const retry_backoff used = backoff();
    retry_ms base = retry_backoff_base(&used, 0);
    return measured(base > used.min ? base : used.min);
}

static retry_ms part(void)
{
    return (retry_ms)(((uint64_t)first() * drawn + drawn) >> 32);
}

/* The next begins `ms` from now, or later. */
static void defer(retry_ms ms)
{
    if (left() >= ms)
        return;
    if (model.spacing < ms)
        model.spacing = ms;
    model.started = now - (model.spacing - ms);
}

/* What was established, and what failed past its deadline, waits for a part of the first spacing at
   least, and for no more if it has lasted: then it counts from one again. */
static void settle(void)
{
    retry_ms enough = connection.stable_after ? connection.stable_after : 10000;
    bool stood = model.state == ESTABLISHED;
    if (model.state == IDLE)
        return;
    model.state = IDLE;
    if (stood && (enough == 1 || elapsed(model.established_at) >= enough)) {
        model.attempts = 0;
        model.spacing = 0;
    }
    if (stood || left() == 0)
        defer(part());
}

/* The next attempt begins. */
static void climb(void)
{
    const retry_backoff used = backoff();
    settle();
    model.spacing =
        model.attempts == 0
            ? first()
            : measured(retry_backoff_delay(&used, model.attempts, model.spacing, drawn));
    model.attempts++;
    model.started = now;
    model.asked = 0; /* it was of an attempt before */
    model.state = CONNECTING;
}

static void call_begin(void)
{
    uint32_t least = connection.min_connect_timeout ? connection.min_connect_timeout : 20000;
    uint32_t most = connection.max_connect_timeout ? connection.max_connect_timeout : UINT32_MAX;
    retry_ms got = retry_connection_begin(&connection, now);
    climb();
    least = model.spacing > least ? model.spacing : least;
    REQUIRE(got == (least < most ? least : most));
}

/* ms that are left of what the server asked for. */
static retry_ms asked_left(void)
{
    retry_ms passed = elapsed(model.asked_at);
    return passed < model.asked ? model.asked - passed : 0;
}

/* Once: a second draw would be the longer of two. */
static void hear(const retry_failure *failure)
{
    const retry_backoff used = backoff();
    uint64_t told = failure->retry_after, more = told / 4;
    uint64_t spread = told + ((more * drawn + drawn) >> 32);
    retry_ms asked = measured(spread < UINT32_MAX ? (retry_ms)spread : UINT32_MAX);
    if (told == 0 && failure->reason <= RETRY_REASON_UNKNOWN) {
        retry_ms base = retry_backoff_base(&used, 999), less = base >> 3; /* as long as any */
        if (left() < base - less)
            defer(measured(base - less + (retry_ms)(((uint64_t)less * drawn + drawn) >> 32)));
    }
    if (told > asked_left()) {
        model.asked = asked;
        model.asked_at = now;
        defer(asked);
    }
}

static void call_failed(void)
{
    retry_failure failure;
    bool known = chance(2);
    retry_ms got;
    memset(&failure, 0, sizeof failure);
    failure.reason = (retry_reason)below(4);
    failure.retry_after = chance(2) ? hostile() : 0;
    got = retry_connection_failed(&connection, known ? &failure : NULL, now);
    if (model.state == IDLE && left() == 0) /* begun by nobody */
        climb();
    settle();
    if (known)
        hear(&failure);
    REQUIRE(got == left());
    REQUIRE(got == retry_connection_wait(&connection, now));
}

static void call_skip_wait(void)
{
    retry_ms wait = left() < part() ? left() : part();
    retry_ms asked = left() < asked_left() ? left() : asked_left();
    retry_connection_skip_wait(&connection, now);
    model.attempts = 0;
    model.spacing = wait > asked ? wait : asked;
    model.started = now;
    REQUIRE(retry_connection_wait(&connection, now) == model.spacing);
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
        connection.backoff.initial = chance(4) ? 0 : hostile();
        connection.backoff.max = chance(4) ? 0 : hostile();
        connection.backoff.factor = hostile();
        connection.backoff.spread = flags & 8 ? hostile() : 0;
    }
    connection.random = draw;
    connection.random_context = &model;
    if (flags & 2)
        connection.min_connect_timeout = hostile();
    if (flags & 4)
        connection.stable_after = hostile();
    if (flags & 16)
        connection.max_connect_timeout = hostile();
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
    drawn = word();
    switch (which % 8) {
    case 0:
    case 1:
        call_begin();
        break;
    case 2:
    case 3:
        call_failed();
        break;
    case 4:
        call_established();
        break;
    case 5:
        call_skip_wait();
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
