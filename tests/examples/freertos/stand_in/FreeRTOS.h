/* What readings.c needs of FreeRTOS's headers, for a machine that has no FreeRTOS. kernel.c behind
   it runs the tasks, in ticks that it counts itself. */
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stddef.h>
#include <stdint.h>

#include "FreeRTOSConfig.h"

typedef long BaseType_t;
typedef unsigned long UBaseType_t;
#if configUSE_16_BIT_TICKS
typedef uint16_t TickType_t;
#else
typedef uint32_t TickType_t;
#endif

#define pdFALSE ((BaseType_t)0)
#define pdTRUE ((BaseType_t)1)
#define pdPASS pdTRUE
#define portMAX_DELAY ((TickType_t)-1)

#endif
