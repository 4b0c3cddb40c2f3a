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

enum { OPERATION_TIMEOUT = 2000, ATTEMPT_TIMEOUT = 500, WELL = 100, TICK = 2 }; /* ms */
enum { COPIES = 3, IN_FLIGHT = 100, MOST = 20000, PHASES = 3 };
enum { WAITING, ON_WIRE, DONE, FAILED };
#define NEVER UINT64_MAX

typedef struct copy {
    retry_attempt attempt;
    CURL *easy; /* on the wire, or NULL */
    struct operation *of;
} copy;

typedef struct operation {
    retry_request request;
    retry_hedge hedge;     /* of the try under way: when to send which copy of it */
    copy copies[COPIES];   /* of the try under way */
    retry_failure failure; /* the last one of a copy that was sent */
    retry_time timer;      /* when to try, or to send another copy */
    retry_ms took;
    uint8_t state;
} operation;

/* What all requests to one server share. */
static retry_budget budget;
static retry_breaker breaker;
static retry_throttle throttle;
static retry_aimd aimd = {.max = IN_FLIGHT};
static retry_rate rate;
static retry_latency latency = {.quantile = RETRY_RATIO(0.9)};
static retry_gates gates;
static retry_client client = {.attempt_timeout = ATTEMPT_TIMEOUT};
static retry_hedge_policy hedging = {.max_attempts = COPIES};

static const char *url;
static CURLM *multi;
static FILE *sink; /* for bodies */
static retry_time now;
static operation *operations;
static unsigned begun, open, phase, sent[PHASES + 1];

/* ---- On the wire --------------------------------------------------------------------------- */

static void put_on_wire(operation *op, copy *one)
{
    one->of = op;
    one->easy = curl_easy_init();
    curl_easy_setopt(one->easy, CURLOPT_URL, url);
    curl_easy_setopt(one->easy, CURLOPT_PRIVATE, one);
    curl_easy_setopt(one->easy, CURLOPT_WRITEDATA, sink);
    curl_easy_setopt(one->easy, CURLOPT_TIMEOUT_MS, (long)one->attempt.timeout);
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
    failure.timeout = code == CURLE_OPERATION_TIMEDOUT;
    return failure;
}

/* ---- Deciding ------------------------------------------------------------------------------ */

/* What the library says to a try or its end: a wait for a turn (PACED) is one for a retry. */
static void obey(operation *op, retry_decision decision)
{
    op->timer = now + decision.delay;
    op->state = WAITING;
    if (decision.verdict == RETRY_VERDICT_RETRY)
        return;
    op->state = decision.verdict == RETRY_VERDICT_SUCCESS ? DONE : FAILED;
    op->took = (retry_ms)(now - op->request.started);
    op->timer = NEVER;
    open--;
}

/* The first copy of a try. */
static void begin_try(operation *op)
{
    retry_decision answer = retry_attempt_begin(&op->copies[0].attempt, &op->request, now);
    if (answer.verdict != RETRY_VERDICT_SEND) {
        obey(op, answer);
        return;
    }
    retry_ms late = retry_hedge_begin(&op->hedge, &op->request, now).delay;
    op->timer = late < UINT32_MAX ? now + late : NEVER;
    op->state = ON_WIRE;
    put_on_wire(op, &op->copies[0]);
}

static void cancel_copies(operation *op)
{
    for (copy *one = op->copies; one < op->copies + COPIES; one++) {
        if (!one->easy)
            continue;
        take_off(one);
        retry_attempt_cancel(&one->attempt, NULL, now);
    }
}

/* What the hedge says: a further copy goes through the gates, too, but does not wait for its turn.
 */
static void obey_hedge(operation *op, retry_hedge_step step)
{
    static const retry_failure refused = {.reason = RETRY_REASON_CLIENT_THROTTLED};
    copy *one = op->copies;
    op->timer = step.delay < UINT32_MAX ? now + step.delay : NEVER;
    if (step.action == RETRY_HEDGE_FAIL) {
        cancel_copies(op);
        obey(op, retry_orchestrate(&op->request, &op->failure, now));
    }
    if (step.action != RETRY_HEDGE_SEND)
        return;
    while (one->easy)
        one++;
    if (retry_attempt_ask(&one->attempt, &op->request, now).verdict == RETRY_VERDICT_SEND) {
        put_on_wire(op, one);
        return;
    }
    retry_attempt_cancel(&one->attempt, NULL, now);
    obey_hedge(op, retry_hedge_failed(&op->hedge, &op->request, &refused, now)); /* no SEND */
}

static void copy_ended(operation *op, copy *one, CURLcode code)
{
    long status = 0;
    curl_easy_getinfo(one->easy, CURLINFO_RESPONSE_CODE, &status);
    retry_failure failure = classify(one->easy, code, status);
    bool done = code == CURLE_OK && status < 400;
    retry_hedge_step step;
    take_off(one);
    retry_attempt_report(&one->attempt, done ? NULL : &failure, now);
    if (done) {
        retry_hedge_won(&op->hedge);
        cancel_copies(op);
        retry_succeed(&op->request, now);
        obey(op, (retry_decision){.verdict = RETRY_VERDICT_SUCCESS});
        return;
    }
    op->failure = failure;
    step = retry_hedge_failed(&op->hedge, &op->request, &failure, now);
    if (failure.throttle) /* whoever asks for less load gets no further copy */
        step.action = RETRY_HEDGE_FAIL;
    obey_hedge(op, step);
}

/* ---- The loop ------------------------------------------------------------------------------ */

static void begin(void)
{
    operation *op = &operations[begun++];
    op->request.client = &client;
    op->request.timeout = OPERATION_TIMEOUT;
    op->request.idempotent = true;
    op->hedge.policy = &hedging;
    retry_begin(&op->request, now);
    open++;
    begin_try(op);
}

static void fire_timers(void)
{
    static unsigned first; /* that may not have ended */
    while (first < begun && operations[first].state >= DONE)
        first++;
    for (operation *op = &operations[first]; op < &operations[begun]; op++) {
        if (op->timer <= now && op->state == WAITING)
            begin_try(op);
        else if (op->timer <= now)
            obey_hedge(op, retry_hedge_due(&op->hedge, &op->request, now));
    }
}

static void receive(void)
{
    int running, left;
    curl_multi_perform(multi, &running);
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)) != NULL;) {
        copy *one = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&one);
        copy_ended(one->of, one, message->data.result);
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
    while (from < end - 1 && from->request.started < trouble)
        from++;
    size_t count = (size_t)(end - from);
    for (const operation *op = from; op < end; op++) {
        done += op->state == DONE;
        if (op->request.started >= well && (op->state == FAILED || op->took > WELL))
            well = op->request.started;
    }
    qsort(from, count, sizeof *from, by_time);
    printf("done %zu of %zu sent %u p50 %u p99 %u p99.9 %u well %u\n", done, count, sent[1],
           from[count / 2].took, from[count * 99 / 100].took, from[count * 999 / 1000].took,
           (unsigned)(well - over));
}

static void set_up(bool bare)
{
    static const retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(IN_FLIGHT);
    multi = curl_multi_init();
    sink = fopen("/dev/null", "w");
    operations = calloc(MOST, sizeof *operations);
    if (!multi || !sink || !operations)
        exit(2);
    if (bare)
        return;
    retry_budget_init(&budget, &options, now);
    retry_gates_breaker(&gates, &breaker);
    retry_gates_throttle(&gates, &throttle);
    retry_gates_aimd(&gates, &aimd);
    retry_gates_rate(&gates, &rate);
    retry_gates_latency(&gates, &latency);
    client.budget = &budget;
    client.gates = &gates;
    hedging.latency = &latency;
}

int main(int argc, char **argv)
{
    retry_time starts[PHASES + 1], arrived = 0;
    if (argc < 2 + 2 * PHASES)
        return 2;
    url = argv[1];
    starts[0] = now = retry_system_clock().now(NULL);
    for (int i = 0; i < PHASES; i++)
        starts[i + 1] = starts[i] + strtoul(argv[3 + 2 * i], NULL, 10) * 1000;
    set_up(argc > 2 + 2 * PHASES);
    while (phase < PHASES || open > 0) {
        now = retry_system_clock().now(NULL);
        for (; phase < PHASES && now >= starts[phase + 1]; arrived = 0) {
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
