/* The component's code, compiled once. A chip without atomics (ESP32-C2 and C3) has a lock of
   ESP-IDF's for what tasks share. */
#define RETRY_IMPLEMENTATION

#if !defined(__GCC_ATOMIC_INT_LOCK_FREE) || __GCC_ATOMIC_INT_LOCK_FREE != 2
#include "freertos/FreeRTOS.h"
#include <stdint.h>
static portMUX_TYPE lock = portMUX_INITIALIZER_UNLOCKED;
static inline uint32_t mask(void)
{
    portENTER_CRITICAL_SAFE(&lock);
    return 0;
}
static inline void unmask(void)
{
    portEXIT_CRITICAL_SAFE(&lock);
}
#define RETRY_MASK() mask()
#define RETRY_UNMASK(state) ((void)(state), unmask())
#endif

#include "retry.h"
