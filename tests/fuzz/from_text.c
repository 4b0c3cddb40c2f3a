/* Fuzz target for policies, budgets and durations from text: any bytes get the verdict, the offset
   and the fields of the naive reader. `make fuzz` builds it with clang's libFuzzer, and without
   clang as build/replay_from_text FILE ... */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "../support/from_text_naive.h"
#include "../support/options.h"

#include <stdio.h>
#include <stdlib.h>

#include "replay.h"

#define UNTOUCHED ((size_t)-1)

static void check_policy(const char *text, size_t length)
{
    retry_policy got, expected, before;
    retry_text_error error = naive_untouched(UNTOUCHED);
    size_t expected_offset = UNTOUCHED;
    bool ok;
    memset(&got, 0x55, sizeof got);
    expected = got;
    memcpy(&before, &got, sizeof got);
    ok = retry_parse_policy(&got, text, length, &error);
    REQUIRE(ok == naive_policy(&expected, text, length, &expected_offset));
    REQUIRE(error.offset == expected_offset && ok == !error.text);
    REQUIRE(ok ? naive_same_policy(&expected, &got) : memcmp(&before, &got, sizeof got) == 0);
}

static void check_budget(const char *text, size_t length)
{
    retry_budget_options got, expected, before;
    retry_text_error error = naive_untouched(UNTOUCHED);
    size_t expected_offset = UNTOUCHED;
    bool ok;
    memset(&got, 0x55, sizeof got);
    expected = got;
    memcpy(&before, &got, sizeof got);
    ok = retry_parse_budget(&got, text, length, &error);
    REQUIRE(ok == naive_budget(&expected, text, length, &expected_offset));
    REQUIRE(error.offset == expected_offset && ok == !error.text);
    REQUIRE(ok ? same_options(&expected, &got) : memcmp(&before, &got, sizeof got) == 0);
}

static void check_duration(const char *text, size_t length)
{
    retry_ms got = 0x55555555, expected = 0x55555555;
    retry_text_error error = naive_untouched(UNTOUCHED);
    bool ok = retry_parse_duration(text, length, &got, &error);
    naive_part part;
    part.text = text;
    part.length = length;
    REQUIRE(ok == naive_duration(part, &expected));
    REQUIRE(got == expected && ok == !error.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    check_policy(text, size);
    check_budget(text, size);
    check_duration(text, size);
    return 0;
}
