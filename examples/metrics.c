/* metrics.c: an observer that counts, and prints what it counted as Prometheus text. The names are
   those of gRPC's A96 and of OpenTelemetry, where they have one; as an attribute of a span
   http.resend_count is op.retries. The server and the clock are simulated.

       cc -o metrics examples/metrics.c && ./metrics
       make metrics          promtool reads it */
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <stdio.h>

enum { BOUNDS = 6 };
typedef struct histogram {
    const char *name, *help;
    double bounds[BOUNDS], sum;
    unsigned long counts[BOUNDS + 1];
} histogram;

/* What is counted. Several threads need atomic counters here. */
static unsigned long attempts[2];                                  /* first ones, and retries */
static unsigned long retries[RETRY_REASON_COUNT];                  /* by the failure's reason */
static unsigned long ends[RETRY_VERDICT_COUNT][RETRY_CAUSE_COUNT]; /* of requests */
static histogram resends = {.name = "http_request_resend_count",
                            .help = "How often one operation was tried again.",
                            .bounds = {0, 1, 2, 4, 8, 16}};
static histogram delays = {.name = "grpc_client_call_retry_delay_seconds",
                           .help = "How long one operation waited between its attempts.",
                           .bounds = {0.001, 0.01, 0.1, 0.5, 1, 2.5}};

static void record(histogram *h, double value)
{
    int i = 0;
    while (i < BOUNDS && value > h->bounds[i])
        i++;
    h->counts[i]++;
    h->sum += value;
}

/* The observer is told of every decision, and once of every end. The operation's own context holds
   what belongs to one operation: here the ms that it has waited. */
static void count(void *context, const retry_operation *op, const retry_failure *failure)
{
    retry_ms *waited = op->context;
    (void)context;
    if (op->verdict == RETRY_VERDICT_RETRY) {
        *waited += op->delay;
    } else {
        bool unsent = !failure && op->verdict != RETRY_VERDICT_SUCCESS; /* a gate refused */
        ends[op->verdict][op->cause]++;
        record(&resends, op->retries - (unsent && op->retries > 0));
        record(&delays, *waited / 1000.0);
    }
}

/* ---- As text ------------------------------------------------------------------------------- */

static void head(const char *name, const char *type, const char *help)
{
    printf("# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_histogram(const histogram *h)
{
    unsigned long sum = 0;
    head(h->name, "histogram", h->help);
    for (int i = 0; i < BOUNDS; i++)
        printf("%s_bucket{le=\"%g\"} %lu\n", h->name, h->bounds[i], sum += h->counts[i]);
    sum += h->counts[BOUNDS];
    printf("%s_bucket{le=\"+Inf\"} %lu\n", h->name, sum);
    printf("%s_sum %g\n%s_count %lu\n", h->name, h->sum, h->name, sum);
}

static void print_metrics(const retry_budget *budget, const retry_breaker *breaker, retry_time now)
{
    static const char *const states[] = {"closed", "open", "half_open", "isolated"};
    head("grpc_client_attempt_started_total", "counter", "Attempts that were sent.");
    printf("grpc_client_attempt_started_total{grpc_attempt_type=\"original\"} %lu\n", attempts[0]);
    printf("grpc_client_attempt_started_total{grpc_attempt_type=\"retry\"} %lu\n", attempts[1]);
    head("retry_retries_total", "counter", "Retries, by what went wrong before.");
    for (int reason = 0; reason < RETRY_REASON_COUNT; reason++)
        if (retries[reason] > 0)
            printf("retry_retries_total{reason=\"%s\"} %lu\n",
                   retry_reason_name((retry_reason)reason), retries[reason]);
    head("retry_ends_total", "counter", "Requests that have ended, by how and why.");
    for (int verdict = 0; verdict < RETRY_VERDICT_COUNT; verdict++)
        for (int cause = 0; cause < RETRY_CAUSE_COUNT; cause++)
            if (ends[verdict][cause] > 0) /* a success has no cause */
                printf("retry_ends_total{verdict=\"%s\",cause=\"%s\"} %lu\n",
                       retry_verdict_name((uint8_t)verdict),
                       cause == RETRY_CAUSE_NONE ? "" : retry_cause_text((uint8_t)cause),
                       ends[verdict][cause]);
    print_histogram(&resends);
    print_histogram(&delays);
    head("retry_budget_balance", "gauge", "Tokens left for retries.");
    printf("retry_budget_balance %g\n", retry_budget_balance(budget) / 1000.0);
    head("retry_breaker_state", "gauge", "1 for the state that the circuit breaker is in.");
    for (uint8_t state = 0; state < sizeof states / sizeof *states; state++)
        printf("retry_breaker_state{state=\"%s\"} %d\n", states[state],
               retry_breaker_state(breaker, now) == state);
}

/* ---- What is observed ---------------------------------------------------------------------- */

static retry_time simulated;

static retry_time now(void *context)
{
    (void)context;
    return simulated;
}

static void sleep_for(void *context, retry_ms delay)
{
    (void)context;
    simulated += delay;
}

/* The server is busy now and then, breaks now and then, and is down for 10 s. */
static bool attempt(void *context, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    bool again = op->retries > 0;
    unsigned long sent = ++attempts[again];
    bool down = simulated >= 30000 && simulated < 40000;
    (void)context;
    if (again && op->failure.reason < RETRY_REASON_COUNT)
        retries[op->failure.reason]++;
    simulated += step->timeout < 10 ? step->timeout : 10;
    if (down)
        *failure = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    else if (sent % 10 == 0)
        *failure = retry_classify_http(429, 0);
    else if (sent % 10 == 5)
        *failure = retry_classify_http(500, 0);
    return failure->reason == RETRY_REASON_NONE;
}

int main(void)
{
    static retry_service service = {.limit = {.max = 1}}; /* at once */
    static retry_breaker breaker = {.in_a_row = 5};       /* one at a time: few reports */
    const retry_clock clock = {.now = now, .sleep = sleep_for};
    service.client.observe = count;
    service.client.cut_after = 1000; /* ms */
    retry_service_init(&service, simulated);
    retry_gates_breaker(&service.gates, &breaker);
    retry_seed(7); /* the same numbers each time */
    for (int i = 0; i < 1000; i++) {
        retry_ms waited = 0;
        retry_operation op = {.timeout = 5000};
        op.context = &waited;
        op.idempotent = i % 4 > 0;
        retry_run(&op, &service, &clock, attempt, NULL);
        simulated += 90;
    }
    print_metrics(&service.budget, &breaker, simulated);
    return 0;
}
