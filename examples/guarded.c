/* guarded.c: libcurl's multi interface behind gates, with hedged gets, in one thread.

   Sends GET to one URL in three phases, each of SECONDS with RATE requests a second; in the second
   one the server is in trouble. Then prints how that went.

       cc -o guarded examples/guarded.c -lcurl
       ./guarded http://localhost/ 100 4 100 3 100 8 [bare]
       make guarded          real servers that are slow, frozen, throttled and overloaded; `bare`
                             is the same client with retries alone */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATION_TIMEOUT = 5000, ATTEMPT_TIMEOUT = 1000, WELL = 100, TICK = 2 }; /* ms */
enum { COPIES = 3, IN_FLIGHT = 100, MOST = 20000, PHASES = 3 };
enum { OPEN, DONE, FAILED };
enum { FAR = 1 << 30 }; /* ms: to no end of an operation */

typedef struct copy {
    CURL *easy; /* on the wire, or NULL */
    struct operation *of;
} copy;

typedef struct operation {
    retry_operation retry;
    retry_hedge hedge;
    retry_copy further[COPIES - 1]; /* the library's part of the copies but the first */
    copy copies[COPIES];
    retry_time timer; /* when to ask the library again */
    retry_time since; /* when it began to wait for its turn */
    bool paced;       /* it does */
    uint8_t state;
    retry_ms took;
} operation;

/* What all requests to one server share. */
static retry_service service = {.limit = {.max = IN_FLIGHT},
                                .client = {.cut_after = ATTEMPT_TIMEOUT}};
static retry_client bare = {.cut_after = ATTEMPT_TIMEOUT};
static retry_breaker breaker;
static retry_throttle throttle;
static retry_rate rate = {.wait = 1000}; /* ms */
static retry_latency latency = {.quantile = RETRY_RATIO(0.9),
                                .min = 20}; /* ms; nothing sooner is late */

static const char *url;
static CURLM *multi;
static FILE *sink; /* for bodies */
static retry_time now;
static operation *operations, *oldest; /* oldest: that may not have ended */
static bool guarded;
static unsigned begun, open, phase, sent[PHASES + 1];

static bool before(retry_time a, retry_time b)
{
    return b - a - 1 < UINT32_MAX / 2; /* instants wrap */
}

/* ---- On the wire --------------------------------------------------------------------------- */

static void put_on_wire(operation *op, copy *one)
{
    one->of = op;
    one->easy = curl_easy_init();
    curl_easy_setopt(one->easy, CURLOPT_URL, url);
    curl_easy_setopt(one->easy, CURLOPT_PRIVATE, one);
    curl_easy_setopt(one->easy, CURLOPT_WRITEDATA, sink);
    curl_multi_add_handle(multi, one->easy);
    sent[phase]++;
}

static void take_off(copy *one)
{
    curl_multi_remove_handle(multi, one->easy);
    curl_easy_cleanup(one->easy);
    one->easy = NULL;
}

static retry_failure classify(CURL *easy, CURLcode code, long status)
{
    curl_off_t connected = 0; /* us until the request was about to be sent; 0: it never was */
    retry_failure failure = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    if (code == CURLE_OK)
        return retry_classify_http((int)status, 0);
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
    if (connected == 0)
        failure.reason = RETRY_REASON_SOCKET_NOT_AVAILABLE;
    return failure;
}

/* ---- Deciding ------------------------------------------------------------------------------ */

/* Whatever has happened to an operation: does what the library says. */
static void drive(operation *op)
{
    op->since = op->paced ? op->since : now;
    for (;;) {
        retry_step step = retry_next(&op->retry, now);
        switch (step.what) {
        case RETRY_DO_SEND:
            put_on_wire(op, &op->copies[step.copy]);
            break;
        case RETRY_DO_CANCEL:
            take_off(&op->copies[step.copy]);
            break;
        case RETRY_DO_WAIT:
            op->timer = now + (step.delay < FAR ? step.delay : FAR);
            op->paced = step.cause == RETRY_CAUSE_PACED;
            return;
        default:
            op->state = step.verdict == RETRY_VERDICT_SUCCESS ? DONE : FAILED;
            op->paced = false;
            op->took = now - op->retry.started;
            open--;
            return;
        }
    }
}

/* A place is free: for the operation that has waited longest for its turn. */
static void hand_on_place(void)
{
    operation *longest = NULL;
    for (operation *op = oldest; op < operations + begun; op++)
        if (op->paced && (!longest || before(op->since, longest->since)))
            longest = op;
    if (longest)
        drive(longest);
}

static void copy_ended(copy *one, CURLcode code)
{
    operation *op = one->of;
    long status = 0;
    curl_easy_getinfo(one->easy, CURLINFO_RESPONSE_CODE, &status);
    retry_failure failure = classify(one->easy, code, status);
    take_off(one);
    retry_ended(&op->retry, (unsigned)(one - op->copies),
                code == CURLE_OK && status < 400 ? NULL : &failure, now);
    drive(op);
    hand_on_place();
}

/* ---- The loop ------------------------------------------------------------------------------ */

static void begin(void)
{
    operation *op = &operations[begun++];
    op->retry.client = &bare; /* unless it gets a service */
    op->retry.timeout = OPERATION_TIMEOUT;
    op->retry.idempotent = true;
    op->hedge.latency = &latency;
    op->hedge.count = COPIES - 1;
    op->hedge.copies = op->further;
    retry_hedge_copies(&op->retry, guarded ? &op->hedge : NULL);
    retry_start(&op->retry, guarded ? &service : NULL, now);
    open++;
    drive(op);
}

static void fire_timers(void)
{
    while (oldest < operations + begun && oldest->state != OPEN)
        oldest++;
    for (operation *op = oldest; op < operations + begun; op++)
        if (op->state == OPEN && !before(now, op->timer))
            drive(op);
}

static void receive(void)
{
    int running, left;
    curl_multi_perform(multi, &running);
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)) != NULL;) {
        copy *one = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&one);
        copy_ended(one, message->data.result);
    }
}

static int by_time(const void *a, const void *b)
{
    retry_ms x = ((const operation *)a)->took, y = ((const operation *)b)->took;
    return (x > y) - (x < y);
}

/* Of the requests since the trouble began. `well` is how long after its end one was still late. */
static void print_result(retry_time trouble, retry_time over)
{
    operation *from = operations, *end = &operations[begun];
    size_t done = 0;
    retry_time well = over;
    while (from < end - 1 && before(from->retry.started, trouble))
        from++;
    size_t count = (size_t)(end - from);
    for (const operation *op = from; op < end; op++) {
        done += op->state == DONE;
        if (!before(op->retry.started, well) && (op->state == FAILED || op->took > WELL))
            well = op->retry.started;
    }
    qsort(from, count, sizeof *from, by_time);
    printf("done %zu of %zu sent %u p50 %u p99 %u p99.9 %u well %u\n", done, count, sent[1],
           from[count / 2].took, from[count * 99 / 100].took, from[count * 999 / 1000].took,
           (unsigned)(well - over));
}

static void set_up(void)
{
    multi = curl_multi_init();
    sink = fopen("/dev/null", "w");
    oldest = operations = calloc(MOST, sizeof *operations);
    if (!multi || !sink || !operations)
        exit(2);
    retry_service_init(&service, now);
    retry_gates_breaker(&service.gates, &breaker);
    retry_gates_throttle(&service.gates, &throttle);
    retry_gates_rate(&service.gates, &rate);
    retry_gates_latency(&service.gates, &latency);
    bare.strategy = service.client.strategy;
}

int main(int argc, char **argv)
{
    retry_time starts[PHASES + 1];
    unsigned long arrived = 0;
    if (argc < 2 + 2 * PHASES)
        return 2;
    url = argv[1];
    starts[0] = now = retry_system_clock().now(NULL);
    for (int i = 0; i < PHASES; i++)
        starts[i + 1] = starts[i] + (retry_ms)strtoul(argv[3 + 2 * i], NULL, 10) * 1000;
    guarded = argc == 2 + 2 * PHASES;
    set_up();
    while (phase < PHASES || open > 0) {
        now = retry_system_clock().now(NULL);
        for (; phase < PHASES && !before(now, starts[phase + 1]); arrived = 0) {
            printf("phase %u\n", ++phase);
            fflush(stdout);
        }
        for (; phase < PHASES && begun < MOST; arrived++) {
            if (arrived * 1000 > (now - starts[phase]) * strtoul(argv[2 + 2 * phase], NULL, 10))
                break;
            begin();
        }
        fire_timers();
        receive();
        curl_multi_poll(multi, NULL, 0, TICK, NULL);
    }
    print_result(starts[1], starts[2]);
}
