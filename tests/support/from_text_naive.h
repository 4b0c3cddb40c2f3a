/* A second opinion on policies and budgets from text for the test and the fuzz target: the words of
   the manual one after the other, by division, and sharing nothing with what it judges. Include it
   after retry.h. */
#ifndef FROM_TEXT_NAIVE_H
#define FROM_TEXT_NAIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "options.h"

#if defined(__GNUC__)
#define NAIVE_API static __attribute__((unused))
#else
#define NAIVE_API static
#endif

/* What an error says that nothing has written to. */
NAIVE_API retry_text_error naive_untouched(size_t offset)
{
    retry_text_error error;
    memset(&error, 0, sizeof error);
    error.offset = offset;
    return error;
}

/* Some bytes of the text. */
typedef struct naive_part {
    const char *text;
    size_t length;
} naive_part;

/* The part before a place in it, and the part from there on. */
NAIVE_API naive_part naive_before(naive_part part, size_t place)
{
    part.length = place;
    return part;
}

NAIVE_API naive_part naive_behind(naive_part part, size_t place)
{
    if (place != 0)
        part.text += place;
    part.length -= place;
    return part;
}

NAIVE_API bool naive_is(naive_part part, const char *word)
{
    return part.length == strlen(word) &&
           (part.length == 0 || memcmp(part.text, word, part.length) == 0);
}

/* How many of these characters the part begins with. */
NAIVE_API size_t naive_run(naive_part part, const char *characters)
{
    size_t i;
    for (i = 0; i < part.length; i++) {
        if (part.text[i] == '\0' || !strchr(characters, part.text[i]))
            break;
    }
    return i;
}

/* How many characters come before one of these. */
NAIVE_API size_t naive_until(naive_part part, const char *characters)
{
    size_t i;
    for (i = 0; i < part.length; i++) {
        if (part.text[i] != '\0' && strchr(characters, part.text[i]))
            break;
    }
    return i;
}

/* How a fraction becomes a whole number. */
typedef enum naive_rounding { NAIVE_EXACTLY, NAIVE_NEAREST, NAIVE_UP } naive_rounding;

/* The number of `decimals` places at most, times `scale`. With decimals there need be no digit
   before the point. */
NAIVE_API bool naive_scaled(naive_part part, size_t decimals, uint32_t scale,
                            naive_rounding rounding, uint64_t *number)
{
    static const char digits[] = "0123456789";
    const uint64_t billion = 1000000000;
    uint64_t whole = 0, fraction = 0, result, rest;
    size_t i, count = naive_run(part, digits);
    naive_part behind = naive_behind(part, count);
    if (count == 0 && (decimals == 0 || behind.length == 0))
        return false;
    for (i = 0; i < count; i++) {
        whole = whole * 10 + (uint64_t)(part.text[i] - '0');
        if (whole > UINT32_MAX)
            return false;
    }
    if (behind.length != 0) {
        if (behind.text[0] != '.' || behind.length == 1 || behind.length - 1 > decimals)
            return false;
        behind = naive_behind(behind, 1);
        if (naive_run(behind, digits) != behind.length)
            return false;
        for (i = 0; i < 9; i++)
            fraction = fraction * 10 + (uint64_t)(i < behind.length ? behind.text[i] - '0' : 0);
    }
    result = whole * scale + fraction * scale / billion;
    rest = fraction * scale % billion;
    if (rounding == NAIVE_UP && rest != 0)
        result++;
    if (rounding == NAIVE_NEAREST && 2 * rest >= billion)
        result++;
    *number = result;
    return rounding != NAIVE_EXACTLY || rest == 0;
}

NAIVE_API bool naive_number(naive_part part, size_t decimals, uint32_t scale,
                            naive_rounding rounding, uint32_t *number)
{
    uint64_t result;
    if (!naive_scaled(part, decimals, scale, rounding, &result) || result > UINT32_MAX)
        return false;
    *number = (uint32_t)result;
    return true;
}

/* Numbers with units that fall in size, each rounded up, or one without a unit. */
NAIVE_API bool naive_duration(naive_part part, retry_ms *duration)
{
    static const struct {
        const char *name;
        uint32_t ms; /* 0: a thousandth */
    } units[] = {{"d", UINT32_C(86400000)},
                 {"h", UINT32_C(3600000)},
                 {"m", UINT32_C(60000)},
                 {"s", 1000},
                 {"ms", 1},
                 {"us", 0}};
    const size_t count = sizeof units / sizeof units[0];
    uint64_t sum = 0, number;
    size_t next = 0;
    part = naive_behind(part, naive_run(part, " \t\r\n"));
    while (part.length != 0 && naive_run(naive_behind(part, part.length - 1), " \t\r\n") == 1)
        part = naive_before(part, part.length - 1);
    if (naive_run(part, "0123456789.") == part.length)
        return naive_number(part, 9, 1, NAIVE_UP, duration);
    while (part.length != 0) {
        const size_t digits = naive_run(part, "0123456789.");
        const naive_part unit = naive_behind(part, digits);
        const size_t letters = naive_until(unit, "0123456789.");
        while (next < count && !naive_is(naive_before(unit, letters), units[next].name))
            next++;
        if (next == count || !naive_scaled(naive_before(part, digits), 9,
                                           units[next].ms ? units[next].ms : 1, NAIVE_UP, &number))
            return false;
        sum += units[next].ms ? number : (number + 999) / 1000;
        if (sum > UINT32_MAX)
            return false;
        part = naive_behind(unit, letters);
        next++;
    }
    *duration = (retry_ms)sum;
    return true;
}

/* The place of a word among others, which end with NULL. */
NAIVE_API bool naive_choice(naive_part part, const char *const *words, uint8_t *choice)
{
    uint8_t i;
    for (i = 0; words[i]; i++) {
        if (naive_is(part, words[i])) {
            *choice = i;
            return true;
        }
    }
    return false;
}

NAIVE_API bool naive_answer(naive_part part, bool *answer)
{
    if (!naive_is(part, "yes") && !naive_is(part, "no"))
        return false;
    *answer = naive_is(part, "yes");
    return true;
}

/* What the two texts differ in. */
typedef struct naive_subject {
    bool (*preset)(void *subject, naive_part name);
    int (*key)(naive_part key); /* its number, below 32; -1: no key */
    bool (*set)(void *subject, int key, naive_part value);
} naive_subject;

/* What the words were: whether there was a preset, and where each key's value begins (0: not
   given). */
typedef struct naive_words_seen {
    bool preset;
    char name[16]; /* of the preset */
    size_t values[32], count;
} naive_words_seen;

/* Goes through the words. False: *offset is where the text is wrong. */
NAIVE_API bool naive_words(const naive_subject *rules, void *subject, const char *text,
                           size_t length, naive_words_seen *seen, size_t *offset)
{
    naive_part rest;
    bool first;
    memset(seen, 0, sizeof *seen);
    rest.text = text;
    rest.length = length;
    for (first = true;; first = false) {
        naive_part word;
        size_t equals;
        int key;
        rest = naive_behind(rest, naive_run(rest, " \t\r\n,"));
        if (rest.length == 0)
            return true;
        word = naive_before(rest, naive_until(rest, " \t\r\n,"));
        rest = naive_behind(rest, word.length);
        seen->count++;
        if (first && rules->preset(subject, word)) {
            seen->preset = true;
            memcpy(seen->name, word.text, word.length);
            continue;
        }
        equals = naive_until(word, "=");
        key = equals == word.length ? -1 : rules->key(naive_before(word, equals));
        if (key < 0 || seen->values[key] != 0) {
            *offset = (size_t)(word.text - text);
            return false;
        }
        word = naive_behind(word, equals + 1);
        seen->values[key] = (size_t)(word.text - text);
        if (!rules->set(subject, key, word)) {
            *offset = (size_t)(word.text - text);
            return false;
        }
    }
}

/* ---- policies ------------------------------------------------------------------------------ */

static bool naive_policy_preset(void *subject, naive_part name)
{
    static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT, smithy = RETRY_POLICY_SMITHY;
    static const retry_policy aws = RETRY_POLICY_AWS, aws_2026 = RETRY_POLICY_AWS_2026;
    static const retry_backoff grpc = RETRY_BACKOFF_GRPC, rfc0049 = RETRY_BACKOFF_RFC0049;
    static const retry_backoff controlled = RETRY_BACKOFF_CONTROLLED, none = RETRY_BACKOFF_DEFAULT;
    retry_policy *policy = (retry_policy *)subject;
    retry_policy plain = RETRY_POLICY_BEST_EFFORT;
    bool known = true;
    plain.throttle_backoff = none;
    if (naive_is(name, "grpc"))
        plain.backoff = grpc;
    else if (naive_is(name, "rfc0049"))
        plain.backoff = rfc0049;
    else if (naive_is(name, "controlled"))
        plain.backoff = controlled;
    else if (naive_is(name, "smithy"))
        plain = smithy;
    else if (naive_is(name, "aws"))
        plain = aws;
    else if (naive_is(name, "aws-2026"))
        plain = aws_2026;
    else if (naive_is(name, "best-effort"))
        plain = best_effort;
    else
        known = false;
    if (known)
        *policy = plain;
    return known;
}

static const char *const naive_policy_keys[] = {"attempts",
                                                "curve",
                                                "jitter",
                                                "min",
                                                "initial",
                                                "max",
                                                "factor",
                                                "spread",
                                                "throttled",
                                                "retry-after-max",
                                                "retry-after-slack",
                                                "retry-after-spread",
                                                NULL};

static int naive_policy_key(naive_part key)
{
    uint8_t number;
    return naive_choice(key, naive_policy_keys, &number) ? number : -1;
}

/* What is nearly 0 is not the default, and what is nearly 1 is below it. */
static bool naive_factor(naive_part value, uint32_t *factor)
{
    if (!naive_number(value, 9, 65536, NAIVE_NEAREST, factor))
        return false;
    if (naive_run(value, "0") == naive_until(value, ".") && naive_run(value, "0.") != value.length)
        *factor = 1;
    return true;
}

static bool naive_curve(naive_part value, retry_backoff *backoff)
{
    static const char *const curves[] = {"exponential", "constant", "controlled", NULL};
    static const retry_backoff controlled = RETRY_BACKOFF_CONTROLLED, none = RETRY_BACKOFF_DEFAULT;
    uint8_t curve;
    if (!naive_choice(value, curves, &curve))
        return false;
    backoff->curve = curve == 2 ? controlled.curve : curve;
    backoff->table = curve == 2 ? controlled.table : none.table;
    backoff->table_length = curve == 2 ? controlled.table_length : none.table_length;
    return true;
}

static bool naive_policy_set(void *subject, int key, naive_part value)
{
    static const char *const jitters[] = {"", /* the default has no word */
                                          "full", "equal", "spread", "decorrelated", "none", NULL};
    retry_policy *policy = (retry_policy *)subject;
    switch (key) {
    case 0:
        return naive_number(value, 0, 1, NAIVE_EXACTLY, &policy->max_attempts);
    case 1:
        return naive_curve(value, &policy->backoff);
    case 2:
        return value.length != 0 && naive_choice(value, jitters, &policy->backoff.jitter);
    case 3:
        return naive_duration(value, &policy->backoff.min);
    case 4:
        return naive_duration(value, &policy->backoff.initial);
    case 5:
        return naive_duration(value, &policy->backoff.max);
    case 6:
        return naive_factor(value, &policy->backoff.factor);
    case 7:
        return naive_number(value, 9, 65536, NAIVE_NEAREST, &policy->backoff.spread);
    case 8:
        return naive_duration(value, &policy->throttle_backoff.initial);
    case 9:
        return naive_duration(value, &policy->retry_after_max);
    case 10:
        return naive_duration(value, &policy->retry_after_slack);
    default:
        return naive_number(value, 9, 65536, NAIVE_NEAREST, &policy->retry_after_spread);
    }
}

/* The numbers of the keys that say min, initial, max, factor, spread and throttled. */
enum { NAIVE_MIN = 3, NAIVE_INITIAL, NAIVE_MAX, NAIVE_FACTOR, NAIVE_SPREAD, NAIVE_THROTTLED };

/* Whether the policy makes sense; else *offset is the last of the values that do not go together.
 */
static bool naive_policy_sense(const retry_policy *policy, const naive_words_seen *seen,
                               size_t *offset)
{
    const size_t *values = seen->values;
    const retry_backoff *backoff = &policy->backoff;
    const retry_ms throttled = policy->throttle_backoff.initial;
    bool capped = backoff->max != 0;
    size_t with = values[NAIVE_MAX];
    if (capped && backoff->min > backoff->max) {
        *offset = values[NAIVE_MIN] > with ? values[NAIVE_MIN] : with;
    } else if (capped && backoff->initial > backoff->max) {
        *offset = values[NAIVE_INITIAL] > with ? values[NAIVE_INITIAL] : with;
    } else if (values[NAIVE_THROTTLED] != 0 && policy->throttle_backoff.max != 0 &&
               throttled > policy->throttle_backoff.max) {
        *offset = values[NAIVE_THROTTLED] > with ? values[NAIVE_THROTTLED] : with;
    } else if (values[NAIVE_THROTTLED] != 0 && throttled != 0 && throttled < backoff->initial) {
        with = values[NAIVE_INITIAL];
        *offset = values[NAIVE_THROTTLED] > with ? values[NAIVE_THROTTLED] : with;
    } else if (backoff->factor >= 1 && backoff->factor <= 65535) {
        *offset = values[NAIVE_FACTOR];
    } else if (values[NAIVE_SPREAD] != 0 &&
               (backoff->jitter != RETRY_JITTER_SPREAD || backoff->spread == 0)) {
        *offset = values[NAIVE_SPREAD];
    } else {
        return true;
    }
    return false;
}

NAIVE_API bool naive_policy(retry_policy *policy, const char *text, size_t length, size_t *offset)
{
    static const naive_subject rules = {naive_policy_preset, naive_policy_key, naive_policy_set};
    static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
    static const retry_backoff none = RETRY_BACKOFF_DEFAULT;
    naive_words_seen seen;
    retry_policy built = best_effort;
    if (!naive_words(&rules, &built, text, length, &seen, offset))
        return false;
    if (seen.values[NAIVE_MAX] == 0 && built.backoff.max != 0 &&
        built.backoff.initial > built.backoff.max)
        built.backoff.max = built.backoff.initial;
    if (built.throttle_backoff.initial != 0) { /* all else as for other attempts, but the cap of */
        const retry_ms initial = built.throttle_backoff.initial; /* best effort, said or not */
        const bool own = built.throttle_backoff.max == 10000 && built.backoff.max == 5000;
        built.throttle_backoff = built.backoff;
        if (seen.values[NAIVE_THROTTLED] != 0 || initial > built.backoff.initial)
            built.throttle_backoff.initial = initial;
        if (own)
            built.throttle_backoff.max = 10000;
    } else {
        built.throttle_backoff = none;
    }
    if (!naive_policy_sense(&built, &seen, offset))
        return false;
    *policy = built;
    return true;
}

NAIVE_API bool naive_same_backoff(const retry_backoff *a, const retry_backoff *b)
{
    return a->curve == b->curve && a->jitter == b->jitter && a->min == b->min &&
           a->initial == b->initial && a->max == b->max && a->factor == b->factor &&
           a->spread == b->spread && a->table_length == b->table_length &&
           (a->table_length == 0 || /* each file has its own */
            memcmp(a->table, b->table, (size_t)a->table_length * sizeof *a->table) == 0) &&
           a->custom == b->custom;
}

NAIVE_API bool naive_same_policy(const retry_policy *a, const retry_policy *b)
{
    return a->base.retry_after == b->base.retry_after &&
           naive_same_backoff(&a->backoff, &b->backoff) &&
           ((a->throttle_backoff.initial == 0 && b->throttle_backoff.initial == 0) || /* unused */
            naive_same_backoff(&a->throttle_backoff, &b->throttle_backoff)) &&
           a->max_attempts == b->max_attempts && a->retry_after_max == b->retry_after_max &&
           a->retry_after_slack == b->retry_after_slack &&
           a->retry_after_spread == b->retry_after_spread;
}

/* ---- budgets ------------------------------------------------------------------------------- */

typedef struct naive_budget_built {
    retry_budget_options options;
    uint32_t in_flight;
} naive_budget_built;

static bool naive_budget_preset(void *subject, naive_part name)
{
    const retry_budget_options none = options_of(UINT32_MAX, 0);
    static const retry_budget_options best_effort = RETRY_BUDGET_BEST_EFFORT(1);
    static const retry_budget_options smithy = RETRY_BUDGET_SMITHY, aws = RETRY_BUDGET_AWS;
    static const retry_budget_options aws_2026 = RETRY_BUDGET_AWS_2026, grpc = RETRY_BUDGET_GRPC;
    const retry_budget_options *preset = NULL;
    if (naive_is(name, "none"))
        preset = &none;
    if (naive_is(name, "best-effort"))
        preset = &best_effort;
    if (naive_is(name, "smithy"))
        preset = &smithy;
    if (naive_is(name, "aws"))
        preset = &aws;
    if (naive_is(name, "aws-2026"))
        preset = &aws_2026;
    if (naive_is(name, "grpc"))
        preset = &grpc;
    if (preset)
        ((naive_budget_built *)subject)->options = *preset;
    return preset != NULL;
}

static const char *const naive_budget_keys[] = {
    "capacity",   "cost",  "timeout-cost", "throttle-cost",   "success",     "request",
    "per-second", "floor", "expire",       "base-per-second", "refund-last", "charge-failures",
    "in-flight",  NULL};

static int naive_budget_key(naive_part key)
{
    uint8_t number;
    return naive_choice(key, naive_budget_keys, &number) ? number : -1;
}

static bool naive_budget_set(void *subject, int key, naive_part value)
{
    naive_budget_built *built = (naive_budget_built *)subject;
    retry_budget_options *options = &built->options;
    uint32_t *const tokens[] = {&options->capacity,          &options->retry_cost,
                                &options->timeout_cost,      &options->throttle_cost,
                                &options->success_deposit,   &options->request_deposit,
                                &options->refill_per_second, &options->floor};
    if (key == 8)
        return naive_duration(value, &options->expire);
    if (key == 9)
        return naive_number(value, 3, 1000, NAIVE_EXACTLY, &options->base_per_second);
    if (key == 10)
        return naive_answer(value, &options->refund_last);
    if (key == 11)
        return naive_answer(value, &options->charge_failures);
    if (key == 12)
        return naive_number(value, 0, 1, NAIVE_EXACTLY, &built->in_flight);
    return naive_number(value, 3, 1000, NAIVE_EXACTLY, tokens[key]);
}

/* The key's numbers; the capacity's is 0, the cost's 1. */
enum { NAIVE_FLOOR = 7, NAIVE_IN_FLIGHT = 12 };

/* Whether the bucket pays for a retry of some kind when it holds the most that it ever does: with
   nothing that comes in, one that expires holds what it began with, the dearest retry's cost. */
static bool naive_ever_pays(const retry_budget_options *options)
{
    const bool earns = options->success_deposit != 0 || options->request_deposit != 0 ||
                       options->refill_per_second != 0;
    uint32_t most = options->capacity;
    const uint32_t costs[] = {
        options->retry_cost, options->timeout_cost ? options->timeout_cost : options->retry_cost,
        options->throttle_cost ? options->throttle_cost : options->retry_cost};
    size_t i;
    uint32_t dearest = 0;
    for (i = 0; i < 3; i++)
        dearest = costs[i] > dearest ? costs[i] : dearest;
    if (options->expire != 0 && !earns && dearest < most)
        most = dearest;
    for (i = 0; i < 3; i++) {
        uint64_t needed = (uint64_t)costs[i] + options->floor;
        if (options->charge_failures || options->floor != 0)
            needed++; /* more has to be left than the floor */
        if (most != 0 && most >= needed)
            return true;
    }
    return false;
}

NAIVE_API bool naive_budget(retry_budget_options *options, const char *text, size_t length,
                            size_t *offset)
{
    static const naive_subject rules = {naive_budget_preset, naive_budget_key, naive_budget_set};
    const retry_budget_options none = options_of(UINT32_MAX, 0);
    static const size_t keys[] = {0, 1, NAIVE_FLOOR, NAIVE_IN_FLIGHT};
    naive_budget_built whole = {options_of(0, 1000), 1};
    retry_budget_options built;
    naive_words_seen seen;
    size_t last = 0, i;
    bool free_of_charge;
    if (!naive_words(&rules, &whole, text, length, &seen, offset))
        return false;
    built = seen.count == 0 ? none : whole.options;
    if (strcmp(seen.name, "grpc") == 0 && seen.values[0] != 0 && seen.values[NAIVE_FLOOR] == 0)
        built.floor = built.capacity / 2;
    if (seen.count != 0 && !seen.preset && seen.values[0] == 0) {
        *offset = length;
        return false;
    }
    if (seen.values[NAIVE_IN_FLIGHT] != 0) {
        const uint64_t capacity = (uint64_t)whole.in_flight * 20000;
        built.capacity = capacity > UINT32_MAX ? UINT32_MAX : (uint32_t)capacity;
        *offset = seen.values[NAIVE_IN_FLIGHT];
        if (strcmp(seen.name, "best-effort") != 0 || seen.values[0] != 0)
            return false;
    }
    for (i = 0; i < sizeof keys / sizeof keys[0]; i++)
        last = seen.values[keys[i]] > last ? seen.values[keys[i]] : last;
    free_of_charge = built.retry_cost == 0 && built.timeout_cost == 0 && built.throttle_cost == 0;
    if (!naive_ever_pays(&built) || (built.capacity != UINT32_MAX && free_of_charge)) {
        *offset = last;
        return false;
    }
    *options = built;
    return true;
}

#endif
