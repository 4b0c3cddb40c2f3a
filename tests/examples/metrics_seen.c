/* metrics.c, watched from outside: what its attempts, waits and ends come to is counted a second
   time, and written to FILE as the samples that the program has to print. After it has run it
   prints them again when a request was sent 20 times, and with the breaker in each other state.
       ./metrics_seen FILE */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <stdio.h>

static retry_attempt_fn *attempt_seen;
static const retry_clock *clock_seen;
static const retry_client *client_seen;
static retry_breaker *breaker_seen;

static unsigned long started[2], resent_after[RETRY_REASON_COUNT];
static unsigned long ended[RETRY_VERDICT_COUNT][RETRY_CAUSE_COUNT];
static unsigned long resends_seen[1001], requests_seen;
static retry_ms waits_seen[1001];

static struct {
    unsigned long attempts;
    retry_ms waited;
    bool failed; /* and nobody has waited since */
    retry_reason reason;
} request_seen;

static bool seen_attempt(void *context, const retry_operation *op, const retry_step *step,
                         retry_failure *failure)
{
    bool done;
    started[request_seen.attempts > 0]++;
    if (request_seen.attempts++ > 0)
        resent_after[request_seen.reason]++;
    done = attempt_seen(context, op, step, failure);
    request_seen.failed = !done;
    request_seen.reason = failure->reason;
    return done;
}

/* The first wait after a failure is the retry's; further ones are a gate's. */
static void seen_sleep(void *context, retry_ms delay)
{
    (void)context;
    request_seen.waited += request_seen.failed ? delay : 0;
    request_seen.failed = false;
    clock_seen->sleep(clock_seen->context, delay);
}

static retry_step seen_run(retry_operation *op, const retry_service *service,
                           const retry_clock *clock, retry_attempt_fn *attempt, void *context)
{
    const retry_clock seen = {.now = clock->now, .sleep = seen_sleep, .context = clock->context};
    retry_step step;
    attempt_seen = attempt;
    clock_seen = clock;
    client_seen = client_seen ? client_seen : &service->client;
    request_seen.attempts = request_seen.waited = 0;
    request_seen.failed = false;
    step = retry_run(op, service, &seen, seen_attempt, context);
    ended[step.verdict][step.cause]++;
    resends_seen[requests_seen] = request_seen.attempts > 0 ? request_seen.attempts - 1 : 0;
    waits_seen[requests_seen++] = request_seen.waited;
    return step;
}

static void seen_breaker(retry_gates *gates, retry_breaker *breaker)
{
    breaker_seen = breaker;
    retry_gates_breaker(gates, breaker);
}

#define retry_run seen_run
#define retry_gates_breaker seen_breaker
#define main metrics
#include "../../examples/metrics.c"
#undef main

/* The server answers, but of no use. */
static bool fail(void *context, const retry_operation *op, const retry_step *step,
                 retry_failure *failure)
{
    attempt(context, op, step, failure);
    *failure = retry_classify_http(503, 0);
    return false;
}

/* More retries and longer waits than any bound. */
static void send_20_times(void)
{
    static retry_policy policy = RETRY_POLICY_BEST_EFFORT;
    const retry_client patient = {.strategy = &policy.base, .observe = count};
    const retry_clock clock = {.now = now, .sleep = sleep_for};
    retry_operation op = {.client = &patient, .timeout = UINT32_MAX};
    retry_ms waited = 0;
    policy.max_attempts = 20;
    policy.backoff.min = 200;
    op.context = &waited;
    op.idempotent = true;
    retry_run(&op, NULL, &clock, fail, NULL);
}

/* A histogram's samples; how many are at or below each bound, of whatever unit. */
static void write_histogram(FILE *file, const char *name, const char *const *bounds,
                            const unsigned long *most, const unsigned long *values, double unit)
{
    unsigned long i, n, count, sum = 0;
    for (i = 0; i < 6; i++) {
        for (n = count = 0; n < requests_seen; n++)
            count += values[n] <= most[i];
        fprintf(file, "%s_bucket{le=\"%s\"} %lu\n", name, bounds[i], count);
    }
    for (n = 0; n < requests_seen; n++)
        sum += values[n];
    fprintf(file, "%s_bucket{le=\"+Inf\"} %lu\n", name, requests_seen);
    fprintf(file, "%s_count %lu\n%s_sum %g\n", name, requests_seen, name, (double)sum / unit);
}

static void write_histograms(FILE *file)
{
    static const char *const counts[] = {"0", "1", "2", "4", "8", "16"};
    static const unsigned long counts_most[] = {0, 1, 2, 4, 8, 16};
    static const char *const seconds[] = {"0.001", "0.01", "0.1", "0.5", "1", "2.5"};
    static const unsigned long ms_most[] = {1, 10, 100, 500, 1000, 2500};
    static unsigned long ms[1001];
    unsigned long n;
    for (n = 0; n < requests_seen; n++)
        ms[n] = waits_seen[n];
    write_histogram(file, "http_request_resend_count", counts, counts_most, resends_seen, 1);
    write_histogram(file, "grpc_client_call_retry_delay_seconds", seconds, ms_most, ms, 1000);
}

static void write_state(FILE *file, const char *name, unsigned state)
{
    bool is = retry_breaker_state(breaker_seen, simulated) == state;
    fprintf(file, "retry_breaker_state{state=\"%s\"} %d\n", name, is);
}

static void write_ends(FILE *file)
{
    unsigned verdict, cause;
    for (verdict = 0; verdict < RETRY_VERDICT_COUNT; verdict++)
        for (cause = 0; cause < RETRY_CAUSE_COUNT; cause++)
            if (ended[verdict][cause] > 0)
                fprintf(file, "retry_ends_total{verdict=\"%s\",cause=\"%s\"} %lu\n",
                        retry_verdict_name((uint8_t)verdict),
                        cause == RETRY_CAUSE_NONE ? "" : retry_cause_text((uint8_t)cause),
                        ended[verdict][cause]);
}

static void write_samples(FILE *file)
{
    const char *const attempts_seen = "grpc_client_attempt_started_total{grpc_attempt_type=";
    unsigned reason;
    fprintf(file, "%s\"original\"} %lu\n", attempts_seen, started[0]);
    fprintf(file, "%s\"retry\"} %lu\n", attempts_seen, started[1]);
    for (reason = 0; reason < RETRY_REASON_COUNT; reason++)
        if (resent_after[reason] > 0)
            fprintf(file, "retry_retries_total{reason=\"%s\"} %lu\n",
                    retry_reason_name((retry_reason)reason), resent_after[reason]);
    write_ends(file);
    write_histograms(file);
    fprintf(file, "retry_budget_balance %g\n",
            (double)retry_budget_balance(client_seen->budget) / 1000);
    write_state(file, "closed", RETRY_BREAKER_CLOSED);
    write_state(file, "open", RETRY_BREAKER_OPEN);
    write_state(file, "half_open", RETRY_BREAKER_HALF_OPEN);
    write_state(file, "isolated", RETRY_BREAKER_ISOLATED);
}

int main(int argc, char **argv)
{
    static const uint8_t states[] = {RETRY_BREAKER_OPEN, RETRY_BREAKER_HALF_OPEN,
                                     RETRY_BREAKER_ISOLATED};
    FILE *file = argc == 2 && metrics() == 0 ? fopen(argv[1], "w") : NULL;
    unsigned i;
    if (!file)
        return 2;
    write_samples(file);
    send_20_times();
    for (i = 0; i < sizeof states; i++) {
        retry_breaker_set(breaker_seen, states[i], simulated);
        print_metrics(client_seen->budget, breaker_seen, simulated);
        write_samples(file);
    }
    return fclose(file) != 0;
}
