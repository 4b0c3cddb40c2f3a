/* firmware.c: retry.h and errmap.h in firmware: no heap, no printf, 32-bit ticks. The board calls
   app_tick once a millisecond; nothing here waits. Policy, client and error map are constants, in
   flash; in RAM are an operation, a budget and the log.

   The same file runs on the board (board.c) and on the host (host.c), from the same scenario and
   the same seed, and decides the same there and here. */
#include "firmware.h"

#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../../errmap.h"

extern const errmap error_map; /* errmap.json, parsed by errmap_dump --c when this was built */

enum { DEVICE_ID = 0x00c0ffee }; /* from the chip's registers, were this one */

/* ---- What is retried, and how -------------------------------------------------------------- */

/* The radio runs on a small cell: a retry costs a token, one after silence, when the receiver was
   on for long, two. The cell recovers by half a token a second. */
static const retry_budget_options cell = {.capacity = RETRY_TOKENS(40),
                                          .retry_cost = RETRY_TOKENS(1),
                                          .timeout_cost = RETRY_TOKENS(2),
                                          .refill_per_second = RETRY_PER_SECOND(0.5)};

static const retry_policy policy = {
    .base = {retry_policy_after},
    .backoff = {.jitter = RETRY_JITTER_FULL, .min = 5, .initial = 40, .max = 3000},
    .throttle_backoff = {.jitter = RETRY_JITTER_EQUAL, .initial = 500, .max = 3000},
    .max_attempts = 8};

static void log_decision(void *context, const retry_operation *op, const retry_failure *failure);

static const errmap_strategy strategy = ERRMAP_STRATEGY(&error_map, &policy.base);
static retry_budget budget;
enum { ANSWER_MS = 30, NOLINK_MS = 2, DROP_MS = 20, ATTEMPT_MS = 250 };
static const retry_client client = {.strategy = &strategy.base,
                                    .budget = &budget,
                                    .observe = log_decision,
                                    .cut_after = ATTEMPT_MS};

/* ---- State --------------------------------------------------------------------------------- */

static const scenario_operation *operation, *operations_end;
static retry_operation current;
static radio_event outcome; /* of the attempt on the air */
static bool coming;         /* whether it still comes */
static retry_time heard;    /* the tick that brings it */
static uint32_t applied;    /* attempts that the gateway may have carried out */
static retry_time due;      /* the tick to ask the library again */
static retry_time now;

/* ---- Log ----------------------------------------------------------------------------------- */

typedef struct log_record {
    const char *name; /* of the operation */
    retry_time tick;
    retry_ms delay;
    uint32_t attempt; /* 1 is the first */
    uint32_t code;
    retry_reason reason;
    uint8_t verdict, cause;
} log_record;

enum { LOG_RECORDS = 80 };
static log_record log_records[LOG_RECORDS];
static uint32_t log_count; /* goes on counting when they are full */

static struct {
    uint32_t done, failed, expired, perhaps_done, reconnects, repeated;
    retry_time began;
} total;

static void log_add(const retry_failure *failure, const retry_operation *op, uint32_t attempt)
{
    const uint32_t place = log_count++;
    if (place >= LOG_RECORDS)
        return;
    log_records[place].name = operation->name;
    log_records[place].tick = now;
    log_records[place].delay = op->delay;
    log_records[place].attempt = attempt;
    log_records[place].code = failure ? failure->code : 0;
    log_records[place].reason = failure ? failure->reason : (retry_reason)RETRY_REASON_NONE;
    log_records[place].verdict = op->verdict;
    log_records[place].cause = op->cause;
}

/* The client's observer, of failures and of success. A granted retry is counted already. */
static void log_decision(void *context, const retry_operation *op, const retry_failure *failure)
{
    const uint32_t granted = op->verdict == RETRY_VERDICT_RETRY ? 1 : 0;
    (void)context;
    log_add(failure, op, op->retries + 1 - granted);
}

/* ---- Radio --------------------------------------------------------------------------------- */

static radio_event scripted_event(void)
{
    const uint32_t last = operation->event_count - 1;
    const uint32_t retries = current.retries;
    return operation->events[retries < last ? retries : last];
}

static void send(void)
{
    static const retry_ms ms[] = {
        [RADIO_ANSWER] = ANSWER_MS, [RADIO_NOLINK] = NOLINK_MS, [RADIO_DROP] = DROP_MS};
    outcome = scripted_event();
    if (outcome.kind != RADIO_NOLINK && outcome.status == 0)
        applied++;
    coming = outcome.kind != RADIO_STALL;
    heard = now + (coming ? ms[outcome.kind] : 0);
}

static retry_failure refused(uint16_t status)
{
    const errmap_advice advice = errmap_classify_kv(&error_map, status, operation->opcode);
    if (advice.reconnect)
        total.reconnects++; /* a real radio would join its gateway anew */
    return advice.failure;
}

/* What went wrong, in the library's terms. Silence is not here: the library watches the time. */
static retry_failure attempt_failure(void)
{
    if (outcome.kind == RADIO_NOLINK)
        return retry_classify_stage(RETRY_STAGE_DISPATCH,
                                    RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED);
    if (outcome.kind == RADIO_DROP)
        return retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    return refused(outcome.status);
}

/* ---- Operations ---------------------------------------------------------------------------- */

static void begin_operation(void)
{
    applied = 0;
    current.client = &client;
    current.idempotent = operation->idempotent;
    current.timeout = operation->timeout;
    retry_start(&current, NULL, now);
    due = now;
}

/* What failed and is not idempotent may have been done all the same: an application would look at
   the gateway's state before it asks for it anew. */
static void end_operation(uint8_t verdict)
{
    if (verdict == RETRY_VERDICT_SUCCESS)
        total.done++;
    else if (verdict == RETRY_VERDICT_EXPIRE)
        total.expired++;
    else
        total.failed++;
    if (verdict != RETRY_VERDICT_SUCCESS && current.ambiguous && !operation->idempotent)
        total.perhaps_done++;
    if (!operation->idempotent && applied > 1)
        total.repeated++;
    if (++operation != operations_end)
        begin_operation();
}

/* Does one thing that the library says. */
static void obey(retry_step step)
{
    switch (step.what) {
    case RETRY_DO_SEND:
        send();
        break;
    case RETRY_DO_CANCEL:
        coming = false;
        break;
    case RETRY_DO_WAIT:
        due = now + step.delay;
        break;
    default:
        end_operation(step.verdict);
    }
}

static void end_attempt(void)
{
    const bool done = outcome.kind == RADIO_ANSWER && outcome.status == 0;
    const retry_failure failure = attempt_failure();
    coming = false;
    due = now;
    retry_ended(&current, 0, done ? NULL : &failure, now);
}

void app_begin(const scenario_operation *operations, uint32_t count, retry_time first)
{
    now = total.began = first;
    operation = operations;
    operations_end = operations + count;
    /* Delays of this device's own, the same in each run. A device that boots at each wake seeds
       with a draw of before its sleep, or all waits are the same: ../sleep.c. */
    retry_seed(DEVICE_ID);
    retry_budget_init(&budget, &cell, now);
    begin_operation();
    app_tick(now);
}

/* Instants are only subtracted: the counter wraps. What lies more than an hour ahead is weeks ago,
   before the device slept. */
static bool reached(retry_time instant)
{
    return instant - now - 1 >= UINT32_C(3600000);
}

bool app_tick(retry_time tick)
{
    now = tick;
    if (coming && reached(heard))
        end_attempt();
    while (operation != operations_end && reached(due))
        obey(retry_next(&current, now));
    return operation != operations_end;
}

/* ---- Text and report ----------------------------------------------------------------------- */

static void put_char(text_line *line, char c)
{
    if (line->length + 1 < sizeof line->text)
        line->text[line->length++] = c;
    line->text[line->length] = '\0';
}

void text_put(text_line *line, const char *words)
{
    for (; *words; words++)
        put_char(line, *words);
}

void text_decimal(text_line *line, uint32_t x)
{
    uint32_t unit = 1;
    while (x / unit >= 10)
        unit *= 10;
    for (; unit != 0; unit /= 10)
        put_char(line, (char)('0' + x / unit % 10));
}

void text_hex(text_line *line, uint32_t x, uint32_t digits)
{
    while (digits-- != 0)
        put_char(line, "0123456789abcdef"[(x >> (4 * digits)) & 15]);
}

void text_column(text_line *line, uint32_t column)
{
    do
        put_char(line, ' ');
    while (line->length < column);
}

static void put_failure(text_line *line, const log_record *record)
{
    if (record->reason == RETRY_REASON_NONE && record->code == 0)
        return; /* it worked, or was not tried */
    text_put(line, retry_reason_name(record->reason));
    if (record->code != 0) {
        text_put(line, " 0x");
        text_hex(line, record->code, 4);
    }
}

/* In fewer words than the library's, so that a line of the log fits into 80 columns. */
static const char *cause_words(uint8_t cause)
{
    switch (cause) {
    case RETRY_CAUSE_NOT_RETRYABLE:
        return "not retryable";
    case RETRY_CAUSE_ATTEMPTS_EXHAUSTED:
        return "attempts used up";
    case RETRY_CAUSE_BUDGET_EXHAUSTED:
        return "budget used up";
    case RETRY_CAUSE_MAX_DURATION:
        return "map's time limit";
    default:
        return retry_cause_text(cause);
    }
}

/* The cause of a failure only: of all else the rest of the line says enough. */
static void put_decision(text_line *line, const log_record *record)
{
    text_put(line, retry_verdict_name(record->verdict));
    if (record->verdict == RETRY_VERDICT_RETRY || record->verdict == RETRY_VERDICT_EXPIRE) {
        text_put(line, " in ");
        text_decimal(line, record->delay);
        text_put(line, " ms");
    }
    if (record->verdict == RETRY_VERDICT_FAIL) {
        text_put(line, ", ");
        text_put(line, cause_words(record->cause));
    }
}

static void write_record(void (*write)(const char *line), const log_record *record)
{
    text_line line = {"", 0};
    text_hex(&line, record->tick, 8);
    text_column(&line, 9);
    text_put(&line, record->name);
    text_column(&line, 19);
    text_decimal(&line, record->attempt);
    text_column(&line, 22);
    put_failure(&line, record);
    text_column(&line, 58);
    put_decision(&line, record);
    write(line.text);
}

static void put_total(text_line *line, uint32_t count, const char *words)
{
    text_decimal(line, count);
    text_put(line, words);
}

static void write_summary(void (*write)(const char *line))
{
    text_line line = {"", 0};
    put_total(&line, log_count, " decisions and successes; operations: ");
    put_total(&line, total.done, " done, ");
    put_total(&line, total.failed, " failed, ");
    put_total(&line, total.expired, " expired");
    write(line.text);
    line.length = 0;
    put_total(&line, total.perhaps_done, " failed or expired, and perhaps done");
    write(line.text);
    line.length = 0;
    put_total(&line, total.reconnects, " times told to join anew; ");
    put_total(&line, total.repeated, " not idempotent and perhaps done twice");
    write(line.text);
    line.length = 0;
    text_put(&line, "ticks from ");
    text_hex(&line, total.began, 8);
    text_put(&line, " to ");
    text_hex(&line, now, 8);
    write(line.text);
}

uint32_t app_log_size(void)
{
    return sizeof log_records;
}

bool app_report(void (*write)(const char *line))
{
    const uint32_t kept = log_count < LOG_RECORDS ? log_count : LOG_RECORDS;
    write("tick     operation try what went wrong                     decision");
    for (uint32_t i = 0; i < kept; i++)
        write_record(write, &log_records[i]);
    write_summary(write);
    return kept == log_count && total.repeated == 0;
}
