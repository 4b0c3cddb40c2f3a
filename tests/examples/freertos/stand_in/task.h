#ifndef TASK_H
#define TASK_H

#include "FreeRTOS.h"

/* As some ports have them, these are statements, not expressions. */
#define taskENTER_CRITICAL() \
    do {                     \
        kernel_enter();      \
    } while (0)
#define taskEXIT_CRITICAL() \
    do {                    \
        kernel_exit();      \
    } while (0)

typedef void (*TaskFunction_t)(void *);
typedef struct task *TaskHandle_t;

void kernel_enter(void);
void kernel_exit(void);
unsigned long kernel_critical_sections(void); /* how many there were; none may be open */

BaseType_t xTaskCreate(TaskFunction_t code, const char *name, unsigned words, void *context,
                       UBaseType_t priority, TaskHandle_t *handle);
void vTaskStartScheduler(void);
void vTaskDelay(TickType_t ticks);
TickType_t xTaskGetTickCount(void);

#endif
