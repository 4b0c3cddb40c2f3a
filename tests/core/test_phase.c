/* The offset of periodic work: in its range, the same everywhere, spread over the period. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

static void test_phase_range(void)
{
    static const retry_ms periods[] = {1, 2, 3, 1000, 60000, 86400000, UINT32_MAX};
    size_t i;
    uint32_t id;
    CHECK_EQUAL(0, retry_phase("sensor", 6, 0));
    for (i = 0; i < CHECK_COUNT(periods); i++) {
        for (id = 0; id < 500; id++) {
            check_row("period %lu, identity %u", (unsigned long)periods[i], (unsigned)id);
            CHECK_RANGE(0, periods[i] - 1, retry_phase(&id, sizeof id, periods[i]));
        }
    }
}

static void test_phase_identity(void)
{
    char copy[] = "sensor-17";
    CHECK_EQUAL(retry_phase("sensor-17", 9, 60000), retry_phase(copy, 9, 60000));
    CHECK(retry_phase("sensor-17", 9, UINT32_MAX) != retry_phase("sensor-17", 8, UINT32_MAX));
    CHECK(retry_phase("a\0b", 3, UINT32_MAX) != retry_phase("a\0c", 3, UINT32_MAX));
    CHECK(retry_phase("\0", 1, UINT32_MAX) != retry_phase("\0\0", 2, UINT32_MAX));
    CHECK_EQUAL(retry_phase("", 0, 60000), retry_phase(NULL, 0, 60000));
    CHECK_EQUAL(retry_phase("", 0, 60000), retry_phase(NULL, 12, 60000));
}

/* The same on every platform, and in every version: a device keeps its place. */
static void test_phase_is_pinned(void)
{
    static const struct {
        const char *identity;
        size_t length;
        retry_ms period, expected;
    } rows[] = {
        {"", 0, 60000, 37082},
        {"a", 1, 60000, 38422},
        {"sensor-17", 9, 60000, 46322},
        {"device-00001", 12, 86400000, 68483985},
        {"device-00002", 12, 86400000, 28009242},
        {"0123456789abcdef0123456789abcdef", 32, UINT32_MAX, 2218010759u},
        {"\0\x1b\xff\x80", 4, 1000, 430},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("row %u", (unsigned)i);
        CHECK_EQUAL(rows[i].expected,
                    retry_phase(rows[i].identity, rows[i].length, rows[i].period));
    }
}

/* Identities that are counted up, as serial numbers are, fill the period evenly. */
static void test_phase_spreads(void)
{
    unsigned buckets[10] = {0};
    unsigned id, i;
    for (id = 0; id < 10000; id++) {
        char name[24];
        int length = snprintf(name, sizeof name, "device-%05u", id);
        retry_ms phase = retry_phase(name, (size_t)length, 60000);
        CHECK_RANGE(0, 59999, phase);
        if (phase < 60000)
            buckets[phase / 6000]++;
    }
    for (i = 0; i < 10; i++) {
        check_row("tenth %u", i);
        CHECK_RANGE(850, 1150, buckets[i]);
    }
}

int main(void)
{
    RUN(test_phase_range);
    RUN(test_phase_identity);
    RUN(test_phase_is_pinned);
    RUN(test_phase_spreads);
    return check_done();
}
