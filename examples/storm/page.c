/* page.c: the simulation of page.html (`make page`), compiled for wasm32 without a C library. What
   is decided in the browser is decided by retry.h, and so is what is wrong with a text that one
   types.

   Compiled natively, it simulates what its arguments say, and prints what it has counted:

       build/page busy=70 fault=3 policy="aws attempts=4" budget=aws

   With "bins" first, also the attempts and the successes of each half second (for page.sh). */
#define RETRY_NO_ATOMICS
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))

void *memset(void *to, int byte, size_t count);
void *memcpy(void *to, const void *from, size_t count);

/* The compiler may call these. */
void *memset(void *to, int byte, size_t count)
{
    unsigned char *at = to;
    while (count-- > 0)
        *at++ = (unsigned char)byte;
    return to;
}

void *memcpy(void *to, const void *from, size_t count)
{
    unsigned char *at = to;
    const unsigned char *next = from;
    while (count-- > 0)
        *at++ = *next++;
    return to;
}
#else
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define EXPORT(name)
#endif

#include "page.h"

enum { TEXT = 400 };
static char text[TEXT]; /* of a policy or a budget; then what is wrong with it */

/* Reads a policy (which 0) or a budget of `length` bytes from `text`. Returns ~0, or the offset of
   what is wrong, which `text` then explains. */
EXPORT(parse) uint32_t page_parse(uint32_t which, uint32_t length);
uint32_t page_parse(uint32_t which, uint32_t length)
{
    retry_text_error error;
    if (which == 0 ? retry_parse_policy(&policy, text, length, &error)
                   : retry_parse_budget(&budget, text, length, &error))
        return UINT32_MAX;
    for (size_t i = 0; i + 1 < TEXT && (text[i] = error.text[i]) != '\0';)
        i++;
    return (uint32_t)error.offset;
}

EXPORT(run) void page_run(void);
void page_run(void)
{
    run();
}

#ifdef __wasm__
static const char setting_names[] =
#define DESCRIBE(name, fallback, low, high, kind, about) \
#name "\t" #fallback "\t" #low "\t" #high "\t" kind "\t" about "\n"
    SETTINGS(DESCRIBE);
static const char count_names[] =
#define NAME(name) #name "\n"
    COUNTS(NAME);

/* Where the page finds things. */
EXPORT(at) const void *page_at(uint32_t what);
const void *page_at(uint32_t what)
{
    static const void *const all[] = {text, set, w.counts, w.bins, setting_names, count_names};
    return all[what];
}

#else
#define NAME_OF(name, ...) #name,
static const char *const names[] = {SETTINGS(NAME_OF) "policy", "budget"};
#define COUNT_NAME(name) #name,
static const char *const counted[] = {COUNTS(COUNT_NAME)};

/* name=value; false: there is no such name, or the text is wrong */
static bool take(const char *argument)
{
    const char *value = strchr(argument, '=');
    for (uint32_t i = 0; value && i < SETTING_COUNT + 2; i++) {
        size_t length = strlen(names[i]);
        if (length != (size_t)(value - argument) || strncmp(names[i], argument, length) != 0)
            continue;
        if (i < SETTING_COUNT)
            set[i] = (uint32_t)strtoul(value + 1, NULL, 10);
        else
            snprintf(text, TEXT, "%s", value + 1);
        return i < SETTING_COUNT ||
               page_parse(i - SETTING_COUNT, (uint32_t)strlen(text)) == UINT32_MAX;
    }
    return false;
}

/* Attempts, then operations that succeeded, of each half second: as the page draws them. */
static void print_bins(void)
{
    for (uint32_t from = 0; from < w.counts[COUNT_bins]; from += 5) {
        uint32_t sent = 0, ready = 0;
        for (uint32_t i = from; i < from + 5; i++) {
            sent += w.bins[i].sent;
            ready += w.bins[i].ready;
        }
        printf("%" PRIu32 " %" PRIu32 "\n", sent, ready);
    }
}

int main(int count, char **arguments)
{
    bool bins = count > 1 && strcmp(arguments[1], "bins") == 0;
    static const uint32_t usual[] = {
#define USUAL(name, fallback, ...) fallback,
        SETTINGS(USUAL)};
    memcpy(set, usual, sizeof set);
    (void)retry_parse_policy(&policy, "best-effort initial=100ms max=5s", 32, NULL);
    (void)retry_parse_budget(&budget, "best-effort in-flight=20", 24, NULL);
    for (int i = bins ? 2 : 1; i < count; i++) {
        if (!take(arguments[i])) {
            fprintf(stderr, "page: not a setting: %s\n", arguments[i]);
            return 2;
        }
    }
    page_run();
    for (uint32_t i = 0; i < COUNT_COUNT; i++)
        printf("%s=%" PRIu32 "%s", counted[i], w.counts[i], i + 1 < COUNT_COUNT ? " " : "\n");
    if (bins)
        print_bins();
    return w.counts[COUNT_overrun] ? 1 : 0;
}
#endif
