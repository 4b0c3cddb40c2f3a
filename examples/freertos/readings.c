/* readings.c: two FreeRTOS tasks take readings from a queue, and send them. The server may go away
   and come back: each reading is tried for up to two minutes. Both tasks share one service, and so
   its limit and its budget. `make freertos` runs it. */
#include "readings.h"

#include <string.h>

#define RETRY_IMPLEMENTATION
#include "retry_freertos.h"

#include "queue.h"

enum { SENDERS = 2, WAITING = 32, STACK_WORDS = 256, SPREAD_MS = 1000 };

static retry_service service;
static retry_operation operations[SENDERS];
static QueueHandle_t queue;
static uint32_t id;

/* No answer: it may have arrived. The server knows each reading by its number, so that sending one
   twice does no harm. */
static bool attempt(void *context, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    const uint32_t *reading = (const uint32_t *)context;
    const int status = reading_send(*reading, step->timeout);
    (void)op;
    if (status == 0)
        *failure = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_ATTEMPT_TIMED_OUT);
    else
        *failure = retry_classify_http(status, 0);
    return status == 200;
}

/* Devices that lost power together do not come back together. */
static void run(void *own)
{
    retry_operation *op = (retry_operation *)own;
    const retry_clock clock = retry_freertos_clock();
    uint32_t reading;
    clock.sleep(NULL, retry_phase(&id, sizeof id, SPREAD_MS));
    for (;;) {
        if (xQueueReceive(queue, &reading, portMAX_DELAY) != pdPASS)
            continue;
        memset(op, 0, sizeof *op);
        op->timeout = 120000;
        op->idempotent = true;
        reading_ended(reading, retry_run(op, &service, &clock, attempt, &reading).verdict ==
                                   RETRY_VERDICT_SUCCESS);
    }
}

void readings_begin(uint32_t device)
{
    uint32_t i;
    id = device;
    retry_seed(id);
    service.policy.backoff.initial = 100;
    service.policy.backoff.max = 10000;
    service.budget.options.capacity = RETRY_TOKENS(40); /* a retry costs one, and each second ... */
    service.budget.options.retry_cost = RETRY_TOKENS(1);
    service.budget.options.refill_per_second = RETRY_PER_SECOND(0.5); /* ... brings a half */
    service.client.cut_after = 1000;
    retry_service_init(&service, retry_freertos_now(NULL));
    queue = xQueueCreate(WAITING, sizeof(uint32_t));
    for (i = 0; i < SENDERS; i++)
        xTaskCreate(run, "sender", STACK_WORDS, &operations[i], 1, NULL);
}

bool readings_add(uint32_t reading)
{
    return xQueueSend(queue, &reading, 0) == pdPASS;
}
