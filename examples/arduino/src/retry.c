/* The library's code, compiled once. `make arduino-zip` puts retry.h beside this file. */
#define RETRY_IMPLEMENTATION

/* An ESP8266 has no atomics: interrupts are masked for some instructions. */
#if defined(__XTENSA__) && __GCC_ATOMIC_INT_LOCK_FREE != 2
#include <stdint.h>
static inline uint32_t mask_interrupts(void)
{
    uint32_t state;
    __asm__ volatile("rsil %0, 15" : "=a"(state) : : "memory");
    return state;
}
#define RETRY_MASK() mask_interrupts()
#define RETRY_UNMASK(state) __asm__ volatile("wsr.ps %0\n\trsync" : : "a"(state) : "memory")
#endif

#include "retry.h"
