/* What is around readings.c when it is tried: a server that is gone for 6 s, a task that measures,
   and a judge. On a real kernel and on the stand-in. Prints what was sent when, in ms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "FreeRTOS.h"
#include "readings.h"
#include "task.h"

enum { READINGS = 30, EVERY_MS = 200, GONE_AT = 1500, BACK_AT = 7500, ANSWER_MS = 30, LINES = 120 };

static struct line {
    uint32_t at, reading;
    int status;
} lines[LINES];
static volatile uint32_t written, ended, done;
static uint8_t came[READINGS];

static uint32_t now_ms(void)
{
    return (uint32_t)(xTaskGetTickCount() - configINITIAL_TICK_COUNT) * (1000u / TICK_RATE);
}

static void note(uint32_t reading, int status)
{
    taskENTER_CRITICAL();
    if (written < LINES) {
        lines[written].at = now_ms();
        lines[written].reading = reading;
        lines[written++].status = status;
    }
    taskEXIT_CRITICAL();
}

static void wait(uint32_t ms)
{
    vTaskDelay((TickType_t)((ms * TICK_RATE + 999) / 1000));
}

/* While the server is gone, half of what is sent is refused by a proxy, at once. */
int reading_send(uint32_t reading, uint32_t timeout)
{
    const uint32_t now = now_ms();
    const bool gone = now >= GONE_AT && now < BACK_AT;
    const int status = !gone ? 200 : reading % 2 ? 503 : 0;
    wait(status == 0 ? timeout : ANSWER_MS);
    if (!gone)
        came[reading]++;
    note(reading, status);
    return status;
}

void reading_ended(uint32_t reading, bool was_done)
{
    (void)reading;
    taskENTER_CRITICAL();
    ended++;
    done += was_done ? 1 : 0;
    taskEXIT_CRITICAL();
}

static int judge(void)
{
    uint32_t i, once = 0;
    for (i = 0; i < written; i++)
        printf("%6lu reading %2lu: %d\n", (unsigned long)lines[i].at,
               (unsigned long)lines[i].reading, lines[i].status);
    for (i = 0; i < READINGS; i++)
        once += came[i] == 1 ? 1 : 0;
    printf("%d readings: %lu done, %lu came once, %lu attempts; now %lu ms\n", READINGS,
           (unsigned long)done, (unsigned long)once, (unsigned long)written,
           (unsigned long)now_ms());
#ifdef STAND_IN
    printf("critical sections: %lu\n", kernel_critical_sections());
#endif
    return done == READINGS && once == READINGS && written > READINGS ? 0 : 1;
}

static void measure(void *unused)
{
    uint32_t i;
    (void)unused;
    for (i = 0; i < READINGS; i++) {
        if (!readings_add(i))
            exit(2);
        wait(EVERY_MS);
    }
    while (ended < READINGS)
        wait(EVERY_MS);
    exit(judge());
}

int main(void)
{
    readings_begin(1);
    xTaskCreate(measure, "measure", 512, NULL, 1, NULL);
    vTaskStartScheduler();
    return 3;
}
