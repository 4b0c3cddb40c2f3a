/* retry_freertos.h: retry.h in FreeRTOS. Include it in the place of retry.h, in the one file with
   RETRY_IMPLEMENTATION too. Instants are ticks, converted to ms. Call it from tasks, not handlers.
 */
#ifndef RETRY_FREERTOS_H
#define RETRY_FREERTOS_H

#include <stdint.h>

#include "FreeRTOS.h"
#include "task.h"

/* Ms counted from ticks have to wrap at 2^32, so ticks need 32 bits, and a whole number of ms. An
   error here, on an array of -1 elements, means: change the kernel's configuration. */
typedef char retry_freertos_needs_ticks_of_32_bits[sizeof(TickType_t) >= 4 ? 1 : -1];
typedef char retry_freertos_needs_a_rate_that_divides_1000[1000 % configTICK_RATE_HZ == 0 ? 1 : -1];

/* A core without atomics that are free of locks, or of another compiler: what tasks share is
   changed in a critical section. On two cores this takes the kernel's lock as well. */
#if !defined(RETRY_MASK) && !defined(RETRY_NO_ATOMICS) && \
    (!defined(__GCC_ATOMIC_INT_LOCK_FREE) || __GCC_ATOMIC_INT_LOCK_FREE != 2)
static inline uint32_t retry_freertos_mask(void)
{
    taskENTER_CRITICAL();
    return 0;
}
static inline void retry_freertos_unmask(void)
{
    taskEXIT_CRITICAL();
}
#define RETRY_MASK() retry_freertos_mask()
#define RETRY_UNMASK(state) ((void)(state), retry_freertos_unmask())
#endif

#include "retry.h"

/* Ms as ticks, rounded up: for vTaskDelay and xQueueReceive. UINT32_MAX: without end. */
static inline TickType_t retry_freertos_ticks(retry_ms ms)
{
    const uint32_t tick = (uint32_t)(1000 / configTICK_RATE_HZ); /* in ms */
    return ms == UINT32_MAX ? portMAX_DELAY : (TickType_t)(ms / tick + (ms % tick != 0 ? 1 : 0));
}

static inline retry_time retry_freertos_now(void *unused)
{
    (void)unused;
    return (uint32_t)xTaskGetTickCount() * (uint32_t)(1000 / configTICK_RATE_HZ);
}

static inline void retry_freertos_sleep(void *unused, retry_ms ms)
{
    (void)unused;
    vTaskDelay(retry_freertos_ticks(ms));
}

/* For retry_run, in a task. */
static inline retry_clock retry_freertos_clock(void)
{
    retry_clock clock;
    clock.now = retry_freertos_now;
    clock.sleep = retry_freertos_sleep;
    clock.context = NULL;
    return clock;
}

#endif
