/* Policies and budgets written as text, key by key, and compared. The test and the fuzz target of
   texts use it: what is written has to be read as the same. Include it after retry.h. */
#ifndef TEXTS_H
#define TEXTS_H

#include "options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TEXTS_SIZE 500 /* of a buffer for all keys */

/* What an error says that nothing has written to. */
static inline retry_text_error untouched_error(size_t offset)
{
    retry_text_error error;
    memset(&error, 0, sizeof error);
    error.offset = offset;
    return error;
}

static inline bool same_backoff(const retry_backoff *a, const retry_backoff *b)
{
    return a->curve == b->curve && a->jitter == b->jitter && a->min == b->min &&
           a->initial == b->initial && a->max == b->max && a->factor == b->factor &&
           a->spread == b->spread && a->table_length == b->table_length &&
           (a->table_length == 0 || /* each file has its own */
            memcmp(a->table, b->table, (size_t)a->table_length * sizeof *a->table) == 0) &&
           a->custom == b->custom;
}

static inline bool same_policy(const retry_policy *a, const retry_policy *b)
{
    return a->base.retry_after == b->base.retry_after && same_backoff(&a->backoff, &b->backoff) &&
           ((a->throttle_backoff.initial == 0 && b->throttle_backoff.initial == 0) || /* unused */
            same_backoff(&a->throttle_backoff, &b->throttle_backoff)) &&
           a->max_attempts == b->max_attempts && a->retry_after_max == b->retry_after_max &&
           a->retry_after_slack == b->retry_after_slack &&
           a->retry_after_spread == b->retry_after_spread;
}

/* Each appends " KEY=VALUE" to the text. */

static inline void write_word(char *text, const char *key, const char *value)
{
    const size_t length = strlen(text);
    snprintf(text + length, TEXTS_SIZE - length, " %s=%s", key, value);
}

static inline void write_whole(char *text, const char *key, uint32_t number)
{
    char value[16];
    snprintf(value, sizeof value, "%" PRIu32, number);
    write_word(text, key, value);
}

/* In all units. */
static inline void write_duration(char *text, const char *key, retry_ms ms)
{
    char value[48];
    snprintf(value, sizeof value,
             "%" PRIu32 "d%" PRIu32 "h%" PRIu32 "m%" PRIu32 "s%" PRIu32 "ms0us", ms / 86400000,
             ms / 3600000 % 24, ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
    write_word(text, key, value);
}

static inline void write_ratio(char *text, const char *key, uint32_t ratio)
{
    char value[24];
    snprintf(value, sizeof value, "%" PRIu32 ".%09" PRIu32, ratio >> 16,
             (uint32_t)((uint64_t)(ratio & 0xffff) * 1000000000 >> 16));
    write_word(text, key, value);
}

static inline void write_tokens(char *text, const char *key, uint32_t tokens)
{
    char value[16];
    snprintf(value, sizeof value, "%" PRIu32 ".%03" PRIu32, tokens / 1000, tokens % 1000);
    write_word(text, key, value);
}

/* All but what throttled attempts have of their own. */
static inline void write_policy(char *text, const retry_policy *policy)
{
    static const char *const curves[] = {"exponential", "constant"};
    static const char *const jitters[] = {"", "full", "equal", "spread", "decorrelated", "none"};
    const retry_backoff *backoff = &policy->backoff;
    strcpy(text, "smithy");
    write_whole(text, "attempts", policy->max_attempts);
    write_word(text, "curve", backoff->table ? "controlled" : curves[backoff->curve]);
    write_word(text, "jitter", jitters[backoff->jitter]);
    write_duration(text, "min", backoff->min);
    write_duration(text, "initial", backoff->initial);
    write_duration(text, "max", backoff->max);
    write_ratio(text, "factor", backoff->factor);
    if (backoff->spread != 0)
        write_ratio(text, "spread", backoff->spread);
    write_duration(text, "retry-after-max", policy->retry_after_max);
    write_duration(text, "retry-after-slack", policy->retry_after_slack);
    if (policy->retry_after_spread != 0) /* 1: nothing, which is 0 in a text */
        write_ratio(text, "retry-after-spread",
                    policy->retry_after_spread == 1 ? 0 : policy->retry_after_spread);
}

static inline void write_budget(char *text, const retry_budget_options *options)
{
    strcpy(text, "none");
    write_tokens(text, "capacity", options->capacity);
    write_tokens(text, "cost", options->retry_cost);
    write_tokens(text, "timeout-cost", options->timeout_cost);
    write_tokens(text, "throttle-cost", options->throttle_cost);
    write_tokens(text, "success", options->success_deposit);
    write_tokens(text, "request", options->request_deposit);
    write_tokens(text, "per-second", options->refill_per_second);
    write_tokens(text, "floor", options->floor);
    write_duration(text, "expire", options->expire);
    write_tokens(text, "base-per-second", options->base_per_second);
    write_word(text, "refund-last", options->refund_last ? "yes" : "no");
    write_word(text, "charge-failures", options->charge_failures ? "yes" : "no");
}

/* ---- what holds of every text that is accepted --------------------------------------------- */

/* Written as text, it is read as the same; what throttled attempts have of their own apart. */
static inline bool policy_reads_back(const retry_policy *policy)
{
    char text[TEXTS_SIZE];
    retry_policy plain = *policy, read;
    plain.throttle_backoff.initial = 0;
    write_policy(text, &plain);
    return retry_parse_policy(&read, text, strlen(text), NULL) && same_policy(&plain, &read);
}

static inline bool budget_reads_back(const retry_budget_options *options)
{
    char text[TEXTS_SIZE];
    retry_budget_options read;
    write_budget(text, options);
    return retry_parse_budget(&read, text, strlen(text), NULL) && same_options(options, &read);
}

static inline bool duration_reads_back(retry_ms duration)
{
    char text[TEXTS_SIZE] = "";
    retry_ms read;
    write_duration(text, "", duration);
    return retry_parse_duration(text + 2, strlen(text + 2), &read, NULL) && duration == read;
}

/* The delays of throttled attempts are the others', but that they begin and may end later. */
static inline bool policy_makes_sense(const retry_policy *policy)
{
    const retry_backoff *backoff = &policy->backoff;
    retry_backoff throttled = policy->throttle_backoff;
    const bool later = throttled.initial >= backoff->initial && throttled.max >= backoff->max;
    const bool unused = throttled.initial == 0;
    throttled.initial = backoff->initial;
    throttled.max = backoff->max;
    return (backoff->max == 0 ||
            (backoff->min <= backoff->max && backoff->initial <= backoff->max)) &&
           (backoff->factor == 0 || backoff->factor >= RETRY_RATIO(1)) &&
           (backoff->spread == 0 || backoff->jitter == RETRY_JITTER_SPREAD) &&
           (unused || (later && same_backoff(backoff, &throttled)));
}

/* Whether the bucket, when it is as full as it ever is, pays for a retry after such a failure. */
static inline bool budget_pays(const retry_budget_options *options, bool timeout, bool throttle)
{
    retry_budget_options full = *options;
    retry_budget budget;
    retry_client client;
    retry_operation op;
    retry_failure failure;
    if (full.success_deposit != 0 || full.request_deposit != 0 || full.refill_per_second != 0)
        full.expire = 0; /* what comes in fills it */
    full.base_per_second = 0;
    retry_budget_init(&budget, &full, 0);
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    memset(&failure, 0, sizeof failure);
    client.budget = &budget;
    op.client = &client;
    failure.reason = RETRY_REASON_KV_LOCKED;
    failure.timeout = timeout;
    failure.throttle = throttle;
    retry_start(&op, NULL, 0);
    if (retry_next(&op, 0).what != RETRY_DO_SEND)
        return false;
    retry_ended(&op, 0, &failure, 0);
    return retry_next(&op, 0).what != RETRY_DO_END;
}

static inline bool budget_ever_pays(const retry_budget_options *options)
{
    return budget_pays(options, false, false) || budget_pays(options, true, false) ||
           budget_pays(options, false, true);
}

#endif
