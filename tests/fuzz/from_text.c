/* Fuzz target for policies, budgets and durations from text: what is accepted makes sense and,
   written as text, is read as the same; what is refused is wrong within the text, and changes
   nothing. `make fuzz` builds it with clang's libFuzzer, and without clang as
   build/replay_from_text FILE ...
   */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "../support/texts.h"

#include "replay.h"

#define UNTOUCHED ((size_t)-1)

static void check_error(bool ok, const retry_text_error *error, size_t length)
{
    REQUIRE(ok ? error->offset == UNTOUCHED && !error->text
               : error->offset <= length && error->text);
}

static void check_policy(const char *text, size_t length)
{
    retry_policy got, before;
    retry_text_error error = untouched_error(UNTOUCHED);
    bool ok;
    memset(&got, 0x55, sizeof got);
    memcpy(&before, &got, sizeof got);
    ok = retry_parse_policy(&got, text, length, &error);
    check_error(ok, &error, length);
    REQUIRE(ok ? policy_makes_sense(&got) && policy_reads_back(&got)
               : memcmp(&before, &got, sizeof got) == 0);
}

static void check_budget(const char *text, size_t length)
{
    retry_budget_options got, before;
    retry_text_error error = untouched_error(UNTOUCHED);
    bool ok;
    memset(&got, 0x55, sizeof got);
    memcpy(&before, &got, sizeof got);
    ok = retry_parse_budget(&got, text, length, &error);
    check_error(ok, &error, length);
    REQUIRE(ok ? budget_ever_pays(&got) && budget_reads_back(&got)
               : memcmp(&before, &got, sizeof got) == 0);
}

static void check_duration(const char *text, size_t length)
{
    retry_ms got = 0x55555555;
    retry_text_error error = untouched_error(UNTOUCHED);
    bool ok = retry_parse_duration(text, length, &got, &error);
    check_error(ok, &error, length);
    REQUIRE(ok ? duration_reads_back(got) : got == 0x55555555);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    check_policy(text, size);
    check_budget(text, size);
    check_duration(text, size);
    return 0;
}
