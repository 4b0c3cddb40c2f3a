/* A stand-in for FreeRTOS on the host: tasks take turns, and when all of them wait, the next tick
   comes at once. So a run of minutes takes no time, and is the same each time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "queue.h"
#include "task.h"

enum { TASKS = 8, STACK = 65536 };

struct task {
    ucontext_t context;
    TaskFunction_t code;
    void *argument;
    TickType_t since, ticks; /* waits for so many ticks since then */
};

struct queue {
    unsigned char *items;
    size_t size, length, first, count;
};

static struct task tasks[TASKS], *running;
static size_t count;
static ucontext_t scheduler;
static TickType_t now = configINITIAL_TICK_COUNT;
static unsigned long nesting, sections;

static void misuse(const char *what)
{
    fprintf(stderr, "kernel: %s\n", what);
    abort();
}

void kernel_enter(void)
{
    nesting++;
    sections++;
}

void kernel_exit(void)
{
    if (nesting-- == 0)
        misuse("no critical section to end");
}

unsigned long kernel_critical_sections(void)
{
    if (nesting != 0)
        misuse("a critical section is open");
    return sections;
}

static void begin(void)
{
    running->code(running->argument);
    misuse("a task has returned");
}

BaseType_t xTaskCreate(TaskFunction_t code, const char *name, unsigned words, void *context,
                       UBaseType_t priority, TaskHandle_t *handle)
{
    struct task *task = &tasks[count];
    (void)name, (void)words, (void)priority;
    if (count++ == TASKS || getcontext(&task->context) != 0)
        return pdFALSE;
    task->code = code;
    task->argument = context;
    task->since = now;
    task->context.uc_stack.ss_size = STACK;
    task->context.uc_stack.ss_sp = malloc(STACK);
    makecontext(&task->context, begin, 0);
    if (handle)
        *handle = task;
    return pdPASS;
}

void vTaskStartScheduler(void)
{
    for (;; now++) {
        for (running = tasks; running < tasks + count; running++) {
            if ((TickType_t)(now - running->since) >= running->ticks)
                swapcontext(&scheduler, &running->context);
        }
    }
}

void vTaskDelay(TickType_t ticks)
{
    if (nesting != 0)
        misuse("waits in a critical section");
    running->since = now;
    running->ticks = ticks;
    swapcontext(&running->context, &scheduler);
}

TickType_t xTaskGetTickCount(void)
{
    return now;
}

QueueHandle_t xQueueCreate(UBaseType_t length, UBaseType_t size)
{
    struct queue *queue = calloc(1, sizeof *queue);
    queue->items = malloc(length * size);
    queue->length = length;
    queue->size = size;
    return queue;
}

BaseType_t xQueueSend(QueueHandle_t queue, const void *item, TickType_t ticks)
{
    (void)ticks;
    if (queue->count == queue->length)
        return pdFALSE;
    memcpy(queue->items + (queue->first + queue->count++) % queue->length * queue->size, item,
           queue->size);
    return pdPASS;
}

BaseType_t xQueueReceive(QueueHandle_t queue, void *item, TickType_t ticks)
{
    const TickType_t since = now;
    while (queue->count == 0) {
        if ((TickType_t)(now - since) >= ticks)
            return pdFALSE;
        vTaskDelay(1);
    }
    memcpy(item, queue->items + queue->first * queue->size, queue->size);
    queue->first = (queue->first + 1) % queue->length;
    queue->count--;
    return pdPASS;
}
