/* The clock of retry_freertos.h at TICK_RATE, 100 if it is not set. */
#define RETRY_IMPLEMENTATION
#include "retry_freertos.h"
#include "../../support/check.h"

enum { TICK_MS = 1000 / TICK_RATE };

static TickType_t ticks, delayed;

TickType_t xTaskGetTickCount(void)
{
    return ticks;
}

void vTaskDelay(TickType_t count)
{
    delayed = count;
}

void kernel_enter(void)
{
}
void kernel_exit(void)
{
}

static void test_waits(void)
{
    const retry_clock clock = retry_freertos_clock();
    uint32_t i;
    CHECK_EQUAL(0, retry_freertos_ticks(0));
    for (i = 1; i < 50; i++) {
        CHECK_EQUAL(i, retry_freertos_ticks(i * TICK_MS));
        CHECK_EQUAL(i, retry_freertos_ticks((i - 1) * TICK_MS + 1));
        CHECK_EQUAL(i + 1, retry_freertos_ticks(i * TICK_MS + 1));
    }
    CHECK_EQUAL((UINT32_MAX - 1) / TICK_MS + (TICK_MS > 1 ? 1 : 0),
                retry_freertos_ticks(UINT32_MAX - 1));
    CHECK_EQUAL(portMAX_DELAY, retry_freertos_ticks(UINT32_MAX));
    clock.sleep(clock.context, 3 * TICK_MS + 1);
    CHECK_EQUAL(4, delayed);
}

/* However long the device has run, a tick is TICK_MS, where ticks and where ms wrap. */
static void test_instants(void)
{
    static const TickType_t starts[] = {0, UINT32_MAX - 5, UINT32_MAX / TICK_MS - 5};
    const retry_clock clock = retry_freertos_clock();
    uint32_t i, passed;
    for (i = 0; i < CHECK_COUNT(starts); i++) {
        retry_time start;
        ticks = starts[i];
        start = clock.now(clock.context);
        for (passed = 0; passed < 20; passed++, ticks++)
            CHECK_EQUAL(passed * TICK_MS, clock.now(clock.context) - start);
    }
}

int main(void)
{
    RUN(test_waits);
    RUN(test_instants);
    return check_done();
}
