/* async_uv.c: how to use retry.h with libuv.

   10,000 operations are in flight at once on one thread. Each has one timer of its own, which is by
   turns the limit of an attempt, the wait that a decision asks for, and the limit of a question to
   a remote policy. A strategy asks that policy about throttled attempts (PENDING) and its answer
   goes to retry_resume. Half-way a tenth of the operations is cancelled. The remote service and the
   policy are simulated: timers that answer later, or never.

       cc -o async_uv examples/async_uv.c -luv && ./async_uv

   What there is to learn about retry.h is in the first three sections. The exit status is 0 if all
   verdicts hold, 1 if not. */
#define _DEFAULT_SOURCE

#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <uv.h>

enum {
    OPERATIONS = 10000,
    OPERATION_TIMEOUT = 2500, /* ms for an operation with all its attempts */
    ATTEMPT_TIMEOUT = 800,    /* ms for one of them */
    POLICY_TIMEOUT = 100,     /* ms until the local policy decides instead of the remote one */
    CANCEL_AT = 600,          /* ms; when every tenth operation is cancelled */
    BUDGET_TOKENS = 16000,    /* that all operations' retries are paid from */
    SEED = 2049
};

enum { ON_WIRE, ASKING, WAITING, EXPIRING, ENDED, STATES }; /* of an operation */
enum { SUCCEEDED, FAILED, EXPIRED, CANCELLED, OUTCOMES };   /* how it ended */

typedef struct operation {
    retry_request request;
    retry_failure failure; /* the last one */
    uv_timer_t timer;
    uint8_t state, outcome, cause;
    uint8_t ends;    /* how often it ended: once, if all is well */
    uint8_t cut_off; /* the state in which it was cancelled */
} operation;

/* The other end: one timer for each operation's call or question under way. */
typedef struct call {
    uv_timer_t timer;
    uint32_t draw; /* what it will answer */
} call;

/* A second account of the budget, kept by the rules that RETRY_BUDGET_AWS states. */
typedef struct ledger {
    uint32_t balance;             /* thousandths of a token */
    uint32_t charges[OPERATIONS]; /* for the retry under way */
    uint32_t events, wrong;       /* how often the two were compared, and differed */
} ledger;

static uv_loop_t loop;
static operation *operations;
static call *calls;
static ledger book;
static retry_client client;
static retry_budget budget;
static uint32_t open_now, open_most, late_answers, policy_answers, policy_silent;

static void service_call(uint32_t index, uint32_t attempt);
static void policy_ask(uint32_t index, uint32_t attempt);

/* ---- The strategy -------------------------------------------------------------------------- */

typedef struct remote_policy {
    retry_strategy base; /* first, so that a pointer to it is a pointer to the policy */
    retry_policy local;
} remote_policy;

/* Throttled attempts are the remote policy's business, all others the local one's. */
static retry_action remote_policy_after(const retry_strategy *self, retry_request *request,
                                        const retry_failure *failure, retry_time now)
{
    const remote_policy *policy = (const remote_policy *)(const void *)self;
    if (failure->throttle && retry_permitted(request, failure))
        return retry_action_pending();
    return retry_policy_after(&policy->local.base, request, failure, now);
}

static remote_policy strategy = {{remote_policy_after}, RETRY_POLICY_AWS_2026};

/* ---- The ledger ---------------------------------------------------------------------------- */

static void ledger_compare(void)
{
    book.events++;
    book.wrong += book.balance != retry_budget_balance(&budget);
}

static void ledger_deposit(uint32_t amount)
{
    uint32_t room = budget.options.capacity - book.balance;
    book.balance += amount < room ? amount : room;
    ledger_compare();
}

/* The observer: told of every decision. */
static void ledger_decision(void *context, const retry_request *request,
                            const retry_failure *failure, const retry_decision *decision)
{
    uint32_t *charge = &book.charges[(const operation *)request->context - operations];
    uint32_t cost = failure->timeout ? 10000 : 5000;
    (void)context;
    *charge = 0; /* the retry that it was for has been made */
    if (decision->verdict == RETRY_VERDICT_RETRY) {
        book.wrong += book.balance < cost;
        book.balance -= cost;
        *charge = cost;
    }
    book.wrong += decision->cause == RETRY_CAUSE_BUDGET_EXHAUSTED && book.balance >= cost;
    ledger_compare();
}

/* ---- Operations ---------------------------------------------------------------------------- */

static uint32_t index_of(const operation *op)
{
    return (uint32_t)(op - operations);
}

static void end(operation *op, uint8_t outcome, uint8_t cause)
{
    uv_timer_stop(&op->timer);
    op->state = ENDED;
    op->outcome = outcome;
    op->cause = cause;
    op->ends++;
    open_now--;
}

static void on_timer(uv_timer_t *timer);

static void enter(operation *op, uint8_t state, uint64_t ms)
{
    op->state = state;
    uv_timer_start(&op->timer, on_timer, ms, 0);
}

static void try_now(operation *op)
{
    uint64_t deadline = op->request.started + OPERATION_TIMEOUT, now = uv_now(&loop);
    uint64_t left = deadline > now ? deadline - now : 0;
    enter(op, ON_WIRE, left < ATTEMPT_TIMEOUT ? left : ATTEMPT_TIMEOUT);
    service_call(index_of(op), op->request.attempts);
}

static void obey(operation *op, retry_decision decision)
{
    switch (decision.verdict) {
    case RETRY_VERDICT_RETRY:
        enter(op, WAITING, decision.delay);
        break;
    case RETRY_VERDICT_EXPIRE:
        enter(op, EXPIRING, decision.delay);
        break;
    case RETRY_VERDICT_PENDING:
        enter(op, ASKING, POLICY_TIMEOUT);
        policy_ask(index_of(op), op->request.attempts);
        break;
    default:
        end(op, FAILED, decision.cause);
    }
}

static void attempt_failed(operation *op, retry_failure failure)
{
    op->failure = failure;
    obey(op, retry_orchestrate(&op->request, &op->failure, uv_now(&loop)));
}

static void attempt_timed_out(operation *op)
{
    retry_failure failure = {0};
    failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
    failure.timeout = true;
    attempt_failed(op, failure);
}

/* The remote policy is silent, so the local one answers in its place. */
static void decide_locally(operation *op)
{
    uint64_t now = uv_now(&loop);
    policy_silent++;
    obey(op, retry_resume(&op->request, &op->failure,
                          retry_policy_after(&strategy.local.base, &op->request, &op->failure, now),
                          now));
}

static void on_timer(uv_timer_t *timer)
{
    operation *op = timer->data;
    switch (op->state) {
    case ON_WIRE:
        attempt_timed_out(op);
        break;
    case ASKING:
        decide_locally(op);
        break;
    case WAITING:
        try_now(op);
        break;
    default:
        end(op, EXPIRED, RETRY_CAUSE_DEADLINE);
    }
}

/* The service answers; too late if the operation has been cancelled or has timed out. */
static void on_answer(operation *op, int status)
{
    if (op->state != ON_WIRE) {
        late_answers++;
    } else if (status >= 400) {
        attempt_failed(op, retry_classify_http(status, 0));
    } else {
        retry_succeed(&op->request, uv_now(&loop));
        ledger_deposit(op->request.attempts > 0 ? book.charges[index_of(op)] : 1000);
        end(op, SUCCEEDED, RETRY_CAUSE_NONE);
    }
}

static void on_policy(operation *op, retry_action action)
{
    if (op->state != ASKING) {
        late_answers++;
        return;
    }
    policy_answers++;
    obey(op, retry_resume(&op->request, &op->failure, action, uv_now(&loop)));
}

/* In whatever state it is: nothing else has to be undone. */
static void cancel(operation *op)
{
    if (op->state >= EXPIRING) /* finished, for retry.h */
        return;
    retry_cancel(&op->request, uv_now(&loop));
    ledger_deposit(book.charges[index_of(op)]);
    op->cut_off = op->state;
    end(op, CANCELLED, RETRY_CAUSE_CANCELLED);
}

static void on_half_way(uv_timer_t *timer)
{
    (void)timer;
    for (size_t i = 0; i < OPERATIONS; i += 10)
        cancel(&operations[i]);
}

/* ---- The other end, simulated -------------------------------------------------------------- */

/* 32 bits that depend on the operation and its attempt only, so that the order of events, which is
   the machine's, does not change what is answered. */
static uint32_t draw(uint32_t index, uint32_t attempt, uint32_t salt)
{
    uint32_t x = SEED + index * 0x9e3779b9u + attempt * 0x7feb352du + salt * 0x846ca68bu;
    x = (x ^ (x >> 16)) * 0x21f0aaadu;
    x = (x ^ (x >> 15)) * 0x735a2d97u;
    return x ^ (x >> 15);
}

static void service_answer(uv_timer_t *timer)
{
    static const struct {
        uint32_t below; /* percent */
        int status;
    } answers[] = {{8, 429}, {20, 503}, {30, 500}, {32, 404}, {100, 200}};
    const call *call_here = timer->data;
    size_t i = 0;
    while (call_here->draw % 100 >= answers[i].below)
        i++;
    on_answer(&operations[call_here - calls], answers[i].status);
}

/* Answers within 50 to 750 ms; one call in 20 is lost. */
static void service_call(uint32_t index, uint32_t attempt)
{
    uint32_t latency = 50 + draw(index, attempt, 1) % 700;
    calls[index].draw = draw(index, attempt, 2);
    if (draw(index, attempt, 3) % 20 != 0)
        uv_timer_start(&calls[index].timer, service_answer, latency, 0);
}

static void policy_answer(uv_timer_t *timer)
{
    const call *call_here = timer->data;
    bool yes = call_here->draw % 4 != 0;
    on_policy(&operations[call_here - calls],
              yes ? retry_action_after(100) : retry_action_none(RETRY_CAUSE_REFUSED));
}

/* Answers within 10 to 60 ms; one question in 10 is lost. */
static void policy_ask(uint32_t index, uint32_t attempt)
{
    uint32_t latency = 10 + draw(index, attempt, 4) % 50;
    calls[index].draw = draw(index, attempt, 5);
    if (draw(index, attempt, 6) % 10 != 0)
        uv_timer_start(&calls[index].timer, policy_answer, latency, 0);
}

/* ---- The report ---------------------------------------------------------------------------- */

enum { RETRIES_MAX = 8 };

static uint32_t count_outcome(uint8_t outcome)
{
    uint32_t count = 0;
    for (size_t i = 0; i < OPERATIONS; i++)
        count += operations[i].outcome == outcome;
    return count;
}

static void print_line(const char *text, uint32_t count)
{
    if (count > 0)
        printf("  %-34s %6" PRIu32 "\n", text, count);
}

static void print_succeeded(void)
{
    uint32_t after[RETRIES_MAX] = {0};
    char text[40];
    for (size_t i = 0; i < OPERATIONS; i++) {
        uint32_t retries = operations[i].request.attempts;
        if (operations[i].outcome == SUCCEEDED)
            after[retries < RETRIES_MAX ? retries : RETRIES_MAX - 1]++;
    }
    printf("%-36s %6" PRIu32 "\n", "succeeded", count_outcome(SUCCEEDED));
    print_line("at first", after[0]);
    for (unsigned n = 1; n < RETRIES_MAX; n++) {
        snprintf(text, sizeof text, "after %u %s", n, n == 1 ? "retry" : "retries");
        print_line(text, after[n]);
    }
}

static void print_others(void)
{
    static const char *const states[] = {"with the request on the wire", "asking the remote policy",
                                         "waiting for a retry"};
    uint32_t causes[RETRY_CAUSE_COUNT] = {0}, cut_off[STATES] = {0};
    for (size_t i = 0; i < OPERATIONS; i++) {
        causes[operations[i].cause] += operations[i].outcome == FAILED;
        cut_off[operations[i].cut_off] += operations[i].outcome == CANCELLED;
    }
    printf("%-36s %6" PRIu32 "\n", "failed", count_outcome(FAILED));
    for (uint8_t cause = 0; cause < RETRY_CAUSE_COUNT; cause++)
        print_line(retry_cause_text(cause), causes[cause]);
    printf("%-36s %6" PRIu32 "\n", "expired", count_outcome(EXPIRED));
    printf("%-36s %6" PRIu32 "\n", "cancelled half-way", count_outcome(CANCELLED));
    for (size_t state = ON_WIRE; state <= WAITING; state++)
        print_line(states[state], cut_off[state]);
}

/* KB of memory that the process has had at most. */
static long memory_most(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void print_memory(long before)
{
    long grown = memory_most() - before;
    printf(
        "\nmemory of an operation: %zu bytes (retry_request %zu, uv_timer_t %zu, the rest %zu)\n",
        sizeof(operation), sizeof(retry_request), sizeof(uv_timer_t),
        sizeof(operation) - sizeof(retry_request) - sizeof(uv_timer_t));
    printf("measured: maximum RSS grew by %ld KB, %ld bytes an operation, of which %zu are the\n"
           "simulated service's and %zu the ledger's\n",
           grown, grown * 1024 / OPERATIONS, sizeof(call), sizeof book.charges[0]);
}

static bool verdict(bool kept, const char *text)
{
    printf("%s  %s\n", kept ? "kept  " : "BROKEN", text);
    return kept;
}

static bool judge(void)
{
    uint32_t once = 0;
    bool kept;
    for (size_t i = 0; i < OPERATIONS; i++)
        once += operations[i].state == ENDED && operations[i].ends == 1;
    printf("\n");
    kept = verdict(open_most == OPERATIONS, "All operations were in flight at the same time.");
    kept &= verdict(once == OPERATIONS && open_now == 0,
                    "Each operation ended once, and none was forgotten.");
    kept &= verdict(book.wrong == 0 && book.events >= OPERATIONS,
                    "The budget's balance was after every event what its rules say.");
    printf("        %" PRIu32 " of %" PRIu32 " operations; %" PRIu32
           " events; %.1f of %d tokens left\n",
           once, (uint32_t)OPERATIONS, book.events, retry_budget_balance(&budget) / 1000.0,
           BUDGET_TOKENS);
    return kept;
}

/* ---- Running ------------------------------------------------------------------------------- */

static void begin(size_t i)
{
    operation *op = &operations[i];
    uv_timer_init(&loop, &op->timer);
    uv_timer_init(&loop, &calls[i].timer);
    op->timer.data = op;
    calls[i].timer.data = &calls[i];
    op->request.client = &client;
    op->request.context = op;
    op->request.timeout = OPERATION_TIMEOUT;
    op->request.idempotent = i % 4 != 0;
    open_now++;
    if (open_now > open_most)
        open_most = open_now;
    retry_begin(&op->request, uv_now(&loop));
    try_now(op);
}

static void set_up(void)
{
    retry_budget_options options = RETRY_BUDGET_AWS;
    options.capacity = BUDGET_TOKENS * 1000;
    strategy.local.max_attempts = 6;
    retry_seed(SEED);
    retry_budget_init(&budget, &options, uv_now(&loop));
    book.balance = options.capacity;
    client.strategy = &strategy.base;
    client.budget = &budget;
    client.observe = ledger_decision;
    operations = calloc(OPERATIONS, sizeof *operations);
    calls = calloc(OPERATIONS, sizeof *calls);
    if (!operations || !calls) {
        fprintf(stderr, "async_uv: out of memory\n");
        exit(2);
    }
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    uv_close(handle, NULL);
}

int main(void)
{
    uv_timer_t half_way;
    long before = memory_most();
    bool kept;
    uv_loop_init(&loop);
    set_up();
    for (size_t i = 0; i < OPERATIONS; i++)
        begin(i);
    uv_timer_init(&loop, &half_way);
    uv_timer_start(&half_way, on_half_way, CANCEL_AT, 0);
    uv_run(&loop, UV_RUN_DEFAULT); /* until no timer runs: each operation has a deadline */
    printf("%d operations on one thread, ended after %" PRIu64 " ms\n\n", OPERATIONS,
           uv_now(&loop) - operations[0].request.started);
    print_succeeded();
    print_others();
    printf("\nthe remote policy answered %" PRIu32 " times and was silent %" PRIu32
           " times; %" PRIu32 " answers came too late\n",
           policy_answers, policy_silent, late_answers);
    print_memory(before);
    kept = judge();
    uv_walk(&loop, close_handle, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    kept &= uv_loop_close(&loop) == 0;
    free(operations);
    free(calls);
    return kept ? 0 : 1;
}
