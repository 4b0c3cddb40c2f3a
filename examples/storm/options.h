/* options.h: what can be set about the simulation. One table names every parameter, with its
   default, its range and what it is; it reads the command line, checks it, writes --help, and heads
   the tables. */
#ifndef STORM_OPTIONS_H
#define STORM_OPTIONS_H

#include "../../retry.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define PRINTF_LIKE __attribute__((format(printf, 1, 2)))
#else
#define PRINTF_LIKE
#endif

enum { NODES_MAX = 100, LAYERS_MAX = 8, CLIENTS_QUICK = 10000 };

/* What the service does while it is out of order. */
enum { OUTAGE_REFUSED, OUTAGE_503, OUTAGE_RETRY_AFTER, OUTAGE_SILENCE, OUTAGE_SLOW, OUTAGES };
static const char *const outage_names[] = {"refused", "503", "503-retry-after", "silence", "slow"};

enum { COUNT_OF, PERCENT_OF, MS_OF, OUTAGE_OF };

/* X(field, name, kind, default, lowest, highest, what it is) */
#define PARAMETERS(X)                                                                              \
    X(clients, "clients", COUNT_OF, 100000, 10000, 1000000, "clients of the service")              \
    X(utilisation, "utilisation", PERCENT_OF, 60, 1, 95,                                           \
      "of its capacity that they use, normally")                                                   \
    X(outage, "outage", OUTAGE_OF, OUTAGE_503, 0, OUTAGES - 1,                                     \
      "refused, 503, 503-retry-after, silence or slow")                                            \
    X(length, "length", MS_OF, 10000, 1, 300000, "of the outage")                                  \
    X(failing, "failing", PERCENT_OF, 100, 1, 100, "of the requests that it befalls")              \
    X(nodes, "nodes", COUNT_OF, 10, 1, NODES_MAX, "that serve, each with a queue of its own")      \
    X(hit, "hit", PERCENT_OF, 100, 1, 100, "of the nodes that it befalls")                         \
    X(slowness, "slowness", COUNT_OF, 10, 2, 1000, "how many times slower a slow node is")         \
    X(retry_after, "retry-after", MS_OF, 5000, 1, 300000, "that 503-retry-after asks for")         \
    X(queue, "queue", MS_OF, 2000, 1, 60000, "of work that a node keeps; more is dropped")         \
    X(network, "network", MS_OF, 10, 1, 1000, "that a message takes, one way")                     \
    X(cut_after, "attempt-timeout", MS_OF, 1000, 1, 60000, "of a client, for one attempt")         \
    X(timeout, "timeout", MS_OF, 10000, 0, 300000, "of an operation, retries included; 0: none")   \
    X(patience, "patience", MS_OF, 0, 0, 300000, "after which a user leaves; 0: never")            \
    X(think, "think", MS_OF, 20000, 100, 300000, "between two operations of a client, on average") \
    X(sharing, "sharing", COUNT_OF, 1000, 1, 1000000, "clients that share a budget and gates")     \
    X(seed, "seed", COUNT_OF, 1, 0, UINT32_MAX, "another one, another course of events")

/* A policy and a budget from the command line. */
typedef struct own_layer {
    retry_policy policy;
    retry_budget_options budget;
    const char *policy_text, *budget_text;
} own_layer;

typedef struct options {
#define X(field, name, kind, fallback, low, high, about) uint32_t field;
    PARAMETERS(X)
#undef X
    own_layer own[LAYERS_MAX]; /* the outermost first */
    uint32_t own_count;
    bool quick, verbose;
    const char *data;
} options;

typedef struct parameter {
    const char *name, *about;
    size_t offset;
    uint32_t kind, fallback, low, high;
} parameter;

static const parameter parameters[] = {
#define X(field, name, kind, fallback, low, high, about) \
    {name, about, offsetof(options, field), kind, fallback, low, high},
    PARAMETERS(X)
#undef X
};

enum { PARAMETER_COUNT = sizeof parameters / sizeof *parameters };

static const char *program = "storm"; /* its name, as it was started */

/* Says what is wrong, and ends the program. */
PRINTF_LIKE static void refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n%s --help lists the options.\n", program);
    exit(2);
}

static uint32_t *parameter_field(const parameter *which, options *chosen)
{
    return (uint32_t *)(void *)((char *)chosen + which->offset);
}

/* A parameter's value as it is written: 1000, 60%, 500ms, 10s, 503. */
static const char *parameter_text(const parameter *which, uint32_t value, char text[20])
{
    bool seconds = value >= 1000 && value % 1000 == 0;
    if (which->kind == OUTAGE_OF)
        return outage_names[value];
    if (which->kind == MS_OF)
        snprintf(text, 20, "%" PRIu32 "%s", seconds ? value / 1000 : value, seconds ? "s" : "ms");
    else
        snprintf(text, 20, "%" PRIu32 "%s", value, which->kind == PERCENT_OF ? "%" : "");
    return text;
}

/* Digits, and a % behind them if there may be one. */
static bool parse_count(const char *text, bool percent, uint32_t *value)
{
    uint64_t result = 0;
    const char *digit = text;
    for (; *digit >= '0' && *digit <= '9' && result <= UINT32_MAX; digit++)
        result = result * 10 + (uint64_t)(*digit - '0');
    *value = (uint32_t)result;
    return digit != text && result <= UINT32_MAX &&
           (*digit == '\0' || (percent && strcmp(digit, "%") == 0));
}

/* A time with its unit: 5 alone might be meant as seconds. */
static bool parse_time(const char *text, uint32_t *value)
{
    bool bare = strspn(text, "0123456789.") == strlen(text) && strcmp(text, "0") != 0;
    return !bare && retry_parse_duration(text, strlen(text), value, NULL);
}

static bool parse_outage(const char *text, uint32_t *value)
{
    for (*value = 0; *value < OUTAGES; ++*value) {
        if (strcmp(text, outage_names[*value]) == 0)
            return true;
    }
    return false;
}

static void read_parameter(const parameter *which, const char *text, options *chosen)
{
    char low[20], high[20];
    uint32_t value = 0;
    bool good;
    if (which->kind == OUTAGE_OF)
        good = parse_outage(text, &value);
    else if (which->kind == MS_OF)
        good = parse_time(text, &value);
    else
        good = parse_count(text, which->kind == PERCENT_OF, &value);
    if (!good && which->kind == OUTAGE_OF)
        refuse("--%s is %s, not '%s'", which->name, which->about, text);
    if (!good || value < which->low || value > which->high)
        refuse("--%s is from %s to %s%s, not '%s'", which->name,
               parameter_text(which, which->low, low), parameter_text(which, which->high, high),
               which->kind == MS_OF ? ", with its unit" : "", text);
    *parameter_field(which, chosen) = value;
}

/* --policy adds a layer, within those there are; --budget belongs to the last one, and without any
   policy to best effort. */
static void read_own(const char *option, const char *text, options *chosen)
{
    bool policy = strcmp(option, "--policy") == 0;
    size_t length = strlen(text);
    retry_text_error error;
    own_layer *layer;
    if (policy || chosen->own_count == 0) {
        if (chosen->own_count == LAYERS_MAX)
            refuse("at most %d layers", LAYERS_MAX);
        layer = &chosen->own[chosen->own_count++];
        layer->policy_text = "best-effort";
        layer->budget_text = "none";
        retry_parse_policy(&layer->policy, "", 0, NULL);
        retry_parse_budget(&layer->budget, "", 0, NULL);
    }
    layer = &chosen->own[chosen->own_count - 1];
    if (policy ? !retry_parse_policy(&layer->policy, text, length, &error)
               : !retry_parse_budget(&layer->budget, text, length, &error))
        refuse("%s: cannot read '%s', from '%s' on: %s", option, text, text + error.offset,
               error.text);
    *(policy ? &layer->policy_text : &layer->budget_text) = text;
}

static void print_option(const char *name, const char *value, const char *about)
{
    char both[40];
    snprintf(both, sizeof both, "--%s %s", name, value);
    printf("  %-30s %s\n", both, about);
}

/* What may stand in a text: the end of what the parser says of one it cannot read. */
static void print_words(const char *what, const char *list)
{
    size_t column = (size_t)printf("\n%s:", what);
    for (size_t length; *list != '\0'; list += length + (list[length] != '\0')) {
        length = strcspn(list, " ");
        if (column + length > 78)
            column = (size_t)printf("\n ") - 1;
        column += (size_t)printf(" %.*s", (int)length, list);
    }
    printf("\n");
}

static void print_languages(void)
{
    retry_policy policy;
    retry_budget_options budget;
    retry_text_error error;
    retry_parse_policy(&policy, "?", 1, &error);
    print_words("A policy", strchr(error.text, ';') + 2);
    retry_parse_budget(&budget, "?", 1, &error);
    print_words("A budget", strchr(error.text, ';') + 2);
}

/* Every option with its default. */
static void help(void)
{
    char text[20], value[24];
    printf("usage: %s [--policy TEXT] [--budget TEXT] [OPTION]...\n"
           "What retrying does to a service, simulated with retry.h. A policy and a budget\n"
           "of your own, in the form that retry_parse_policy and retry_parse_budget read,\n"
           "stand in every table and picture beside the presets. A second --policy is a\n"
           "layer within the first; a --budget is that of the --policy before it.\n\n"
           "Options, with their defaults:\n",
           program);
    for (size_t i = 0; i < PARAMETER_COUNT; i++) {
        const parameter *which = &parameters[i];
        snprintf(value, sizeof value, "%s", parameter_text(which, which->fallback, text));
        print_option(which->name, value, which->about);
    }
    print_option("data", "build/plots", "folder for the pictures' data");
    print_option("quick", "", "fewer clients, points and runs");
    printf("  %-30s %s\n", "-v", "all tables");
    print_option("help", "", "this");
    print_languages();
    printf("\nA time has a unit: 500ms, 1.5s, 2m. A 503 costs the service as much as an answer\n"
           "that is good. The same options and seed give the same bytes. The exit status is\n"
           "1 if a number that is known misses its tolerance, and 2 if an option or folder\n"
           "is no good.\n");
    exit(0);
}

/* The parameters in use, one after the other; where one differs, its default in brackets. */
static void print_parameters(const options *chosen)
{
    options copy = *chosen;
    size_t column = 0;
    for (size_t i = 0; i < PARAMETER_COUNT; i++) {
        const parameter *which = &parameters[i];
        uint32_t value = *parameter_field(which, &copy);
        char text[20], fallback[20], word[80];
        size_t length = (size_t)snprintf(word, sizeof word, "%s %s", which->name,
                                         parameter_text(which, value, text));
        if (value != which->fallback)
            length += (size_t)snprintf(word + length, sizeof word - length, " (default %s)",
                                       parameter_text(which, which->fallback, fallback));
        if (column + length > 76)
            column = 0;
        printf("%s%s", i == 0 ? "" : column == 0 ? ",\n" : ", ", word);
        column += length + 2;
    }
    printf("\n");
}

static void read_option(const char *option, const char *value, options *chosen)
{
    for (size_t i = 0; i < PARAMETER_COUNT; i++) {
        if (strncmp(option, "--", 2) == 0 && strcmp(option + 2, parameters[i].name) == 0) {
            read_parameter(&parameters[i], value ? value : "", chosen);
            return;
        }
    }
    if (strcmp(option, "--policy") != 0 && strcmp(option, "--budget") != 0 &&
        strcmp(option, "--data") != 0)
        refuse("unknown option '%s'", option);
    if (!value)
        refuse("%s wants a %s", option, strcmp(option, "--data") == 0 ? "folder" : "text");
    if (strcmp(option, "--data") != 0)
        read_own(option, value, chosen);
    else if (*value == '\0')
        refuse("--data wants a folder");
    else
        chosen->data = value;
}

static options read_options(char *const *argument)
{
    options chosen = {.data = "build/plots"};
    bool clients = false; /* said how many, --quick or not */
    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        *parameter_field(&parameters[i], &chosen) = parameters[i].fallback;
    for (; *argument; argument++) {
        if (strcmp(*argument, "--help") == 0)
            help();
        if (strcmp(*argument, "-v") == 0) {
            chosen.verbose = true;
            continue;
        }
        if (strcmp(*argument, "--quick") == 0) {
            chosen.quick = true;
            continue;
        }
        clients = clients || strcmp(*argument, "--clients") == 0;
        read_option(argument[0], argument[1], &chosen);
        argument++;
    }
    if (chosen.quick && !clients)
        chosen.clients = CLIENTS_QUICK;
    return chosen;
}

#endif /* STORM_OPTIONS_H */
