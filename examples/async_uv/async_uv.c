/* async_uv.c: how to use retry.h with libuv.

   10,000 operations are in flight at once on one thread. Each has one timer of its own, which says
   when to call retry_next again. A strategy asks a remote policy about throttled attempts
   (PENDING), and retry_answer takes what that answers. Conflicts have a reason of the program's
   own, for which no budget pays. Half-way a tenth of the operations is cancelled. The other end is
   simulated (service.h), so no network is needed.

       cc -o async_uv examples/async_uv/async_uv.c -luv && ./async_uv

   What there is to learn about retry.h is in the first two sections. At the end there is a table
   of how the operations ended, and verdicts (report.h). The exit status is 0 if all of them
   hold, 1 if not, 2 without memory or with arguments: there are none. */
#define _DEFAULT_SOURCE

#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "../plumbing.h"
#include "report.h"
#include "service.h"

enum {
    OPERATIONS = 10000,
    OPERATION_TIMEOUT = 2500, /* ms for an operation with all its attempts */
    ATTEMPT_TIMEOUT = 800,    /* ms for one of them while all is well */
    POLICY_TIMEOUT = 100,     /* ms until the local policy decides in place of the remote one */
    HALF_WAY = 400,           /* ms; when a tenth of the operations is cancelled */
    TICK = 100,               /* ms between two looks at the progress */
    BUDGET_TOKENS = 10000,    /* that all operations' retries are paid from */
    SEED = 2049
};

enum { ON_WIRE, ASKING, WAITING, ENDED }; /* states of an operation */

/* Two wrote at once, and this one did not get through: nothing was done, and the service is well.
 */
#define CONFLICT RETRY_REASON_USER(0, RETRY_REASON_FREE | RETRY_REASON_ALLOWS_NON_IDEMPOTENT)

typedef struct operation {
    retry_operation retry;
    uv_timer_t timer;
    uint8_t state;
} operation;

static uv_loop_t loop;
static operation *operations;
static retry_budget budget;
static remote_service other_end;
static async_report report;

/* ---- The strategy -------------------------------------------------------------------------- */

typedef struct remote_policy {
    retry_strategy base; /* first, so that a pointer to it is a pointer to the policy */
    retry_policy local;
} remote_policy;

/* Throttled attempts are the remote policy's business, all others the local one's. */
static retry_action remote_policy_after(const retry_strategy *self, const retry_operation *op,
                                        const retry_failure *failure, retry_time now)
{
    const remote_policy *policy = (const remote_policy *)(const void *)self;
    if (failure->throttle && retry_permitted(op, failure))
        return retry_action_pending();
    return retry_policy_after(&policy->local.base, op, failure, now);
}

static remote_policy strategy = {{remote_policy_after}, RETRY_POLICY_AWS_2026};

/* ---- Operations ---------------------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer);

static retry_time instant(void)
{
    return (retry_time)uv_now(&loop); /* the low half is enough */
}

static uint32_t index_of(const operation *op)
{
    return (uint32_t)(op - operations);
}

static void enter(operation *op, uint8_t state, uint64_t ms)
{
    op->state = state;
    uv_timer_start(&op->timer, on_timer, ms, 0);
}

static void finish(operation *op, retry_step end)
{
    uint8_t outcome = FAILED;
    uv_timer_stop(&op->timer);
    op->state = ENDED;
    if (end.verdict == RETRY_VERDICT_SUCCESS) {
        outcome = SUCCEEDED;
        report_succeeded(&report, index_of(op), op->retry.retries);
    } else if (end.verdict == RETRY_VERDICT_EXPIRE) {
        outcome = EXPIRED;
    } else if (end.cause == RETRY_CAUSE_CANCELLED) {
        outcome = CANCELLED;
    } else {
        report.failed_by[end.cause]++;
    }
    report_ended(&report, index_of(op), outcome, &op->retry, instant());
}

static void await(operation *op, retry_step step)
{
    if (step.cause == RETRY_CAUSE_NONE) {
        enter(op, ON_WIRE, step.delay);
    } else if (step.cause == RETRY_CAUSE_PENDING) {
        enter(op, ASKING, step.delay < POLICY_TIMEOUT ? step.delay : POLICY_TIMEOUT);
        service_ask_policy(&other_end, index_of(op), op->retry.retries);
    } else {
        enter(op, WAITING, step.delay);
    }
}

/* The library decides, and this does it. To be called whenever something has happened. */
static void drive(operation *op)
{
    for (;;) {
        retry_step step = retry_next(&op->retry, instant());
        switch (step.what) {
        case RETRY_DO_SEND:
            service_send(&other_end, index_of(op), op->retry.retries);
            break;
        case RETRY_DO_CANCEL:
            break; /* on_answer drops what comes when nothing is on the wire */
        case RETRY_DO_WAIT:
            await(op, step);
            return;
        default:
            finish(op, step);
            return;
        }
    }
}

/* The remote policy is silent; the local one answers in its place. */
static void decide_locally(operation *op)
{
    retry_time now = instant();
    report.policy_silences++;
    retry_answer(&op->retry,
                 retry_policy_after(&strategy.local.base, &op->retry, &op->retry.failure, now),
                 now);
}

static void on_timer(uv_timer_t *timer)
{
    operation *op = timer->data;
    if (op->state == ASKING)
        decide_locally(op);
    drive(op);
}

static retry_failure classify(int status)
{
    retry_failure conflict = {.reason = CONFLICT};
    return status == 409 ? conflict : retry_classify_http(status, 0);
}

/* The service answers: too late, if the operation was cancelled. */
static void on_answer(uint32_t index, int status)
{
    operation *op = &operations[index];
    retry_failure failure = classify(status);
    if (op->state != ON_WIRE) {
        report.late_answers++;
        return;
    }
    retry_ended(&op->retry, 0, status < 400 ? NULL : &failure, instant());
    drive(op);
}

static void on_policy(uint32_t index, retry_action action)
{
    operation *op = &operations[index];
    if (op->state != ASKING) {
        report.late_answers++;
        return;
    }
    report.policy_answers++;
    retry_answer(&op->retry, action, instant());
    drive(op);
}

static void cancel(operation *op)
{
    retry_stop(&op->retry, instant());
    report_cancelled(&report, index_of(op), op->state);
    drive(op);
}

/* Cancels every third operation, in whatever state it is, until it was a tenth of all. */
static void on_half_way(uv_timer_t *timer)
{
    size_t left = OPERATIONS / 10;
    (void)timer;
    for (size_t i = 0; i < OPERATIONS && left > 0; i += 3) {
        if (operations[i].state == ENDED)
            continue;
        cancel(&operations[i]);
        left--;
    }
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    progress("%" PRIu32 " of %d operations open", report.open, OPERATIONS);
}

/* ---- Running ------------------------------------------------------------------------------- */

/* The observer: told of every decision. */
static void on_decision(void *context, const retry_operation *op, const retry_failure *failure)
{
    if (failure) /* else it worked, or was cancelled */
        report_decision(context, index_of(op->context), op, failure);
}

static void begin(operation *op, const retry_client *client)
{
    uv_timer_init(&loop, &op->timer);
    op->timer.data = op;
    op->retry.client = client;
    op->retry.context = op;
    op->retry.timeout = OPERATION_TIMEOUT;
    op->retry.idempotent = index_of(op) % 4 != 0;
    retry_start(&op->retry, NULL, instant());
    report_begun(&report);
    drive(op);
}

static void set_up(retry_client *client)
{
    retry_budget_options options = RETRY_BUDGET_AWS_2026; /* as the policy */
    options.capacity = RETRY_TOKENS(BUDGET_TOKENS);
    retry_seed(SEED);
    retry_budget_init(&budget, &options, instant());
    strategy.local.max_attempts = 6;
    client->strategy = &strategy.base;
    client->budget = &budget;
    client->cut_after = ATTEMPT_TIMEOUT;
    client->observe = on_decision;
    client->observe_context = &report;
    other_end.loop = &loop;
    other_end.seed = SEED;
    other_end.answered = on_answer;
    other_end.policy_answered = on_policy;
    if (report_start(&report, OPERATIONS, &budget) && service_start(&other_end, OPERATIONS) &&
        (operations = calloc(OPERATIONS, sizeof *operations)) != NULL)
        return;
    fprintf(stderr, "async_uv: out of memory\n");
    exit(2);
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    uv_close(handle, NULL);
}

/* False if a handle is still in use, which would be a mistake. */
static bool clean_up(void)
{
    uv_walk(&loop, close_handle, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    free(operations);
    free(other_end.calls);
    free(report.accounts);
    return uv_loop_close(&loop) == 0;
}

int main(int count, char **arguments)
{
    static const char *const states[REPORT_STATES] = {
        "with an attempt on the wire", "asking the remote policy", "waiting for a retry"};
    retry_client client = {0};
    uv_timer_t half_way, tick;
    bool kept;
    if (count > 1) {
        fprintf(stderr, "usage: %s (without arguments)\n", arguments[0]);
        return 2;
    }
    uv_loop_init(&loop);
    set_up(&client);
    for (size_t i = 0; i < OPERATIONS; i++)
        begin(&operations[i], &client);
    uv_timer_init(&loop, &half_way);
    uv_timer_start(&half_way, on_half_way, HALF_WAY, 0);
    uv_timer_init(&loop, &tick);
    uv_timer_start(&tick, on_tick, 0, TICK);
    uv_unref((uv_handle_t *)&tick); /* it alone does not keep the loop running */
    uv_run(&loop, UV_RUN_DEFAULT);  /* until no timer runs: every operation has a deadline */
    progress_clear();
    printf("%d operations on one thread; the longest took %" PRIu32 " ms (timeout: %d ms)\n",
           OPERATIONS, report.longest, OPERATION_TIMEOUT);
    print_outcomes(&report, states);
    printf("\nOf the failed and expired %" PRIu32 " change something and are perhaps done.\n"
           "After conflicts there were %" PRIu32 " retries, which were free of charge.\n",
           report.perhaps_done, report.free_retries);
    printf("The remote policy answered %" PRIu32 " questions and was silent on %" PRIu32
           ";\n%" PRIu32 " answers came too late.\n",
           report.policy_answers, report.policy_silences, report.late_answers);
    print_memory(&report, sizeof(operation), sizeof(uv_timer_t), sizeof(service_call));
    kept = judge(&report);
    return clean_up() && kept ? 0 : 1;
}
