/* service.h: the other end of async_uv.c, simulated: a remote service and a remote policy,
   which are timers that answer later, or never. */
#ifndef ASYNC_SERVICE_H
#define ASYNC_SERVICE_H

#include "../../retry.h"

#include <stdlib.h>
#include <uv.h>

typedef struct service_call service_call;

typedef struct remote_service {
    uv_loop_t *loop;
    uint32_t seed;
    void (*answered)(uint32_t caller, int status); /* an HTTP status */
    void (*policy_answered)(uint32_t caller, retry_action action);
    service_call *calls; /* one for each caller */
} remote_service;

/* A call, or a question to the policy, under way. */
struct service_call {
    uv_timer_t timer;
    remote_service *service;
    uint32_t caller, draw;
};

/* 32 bits that depend on the seed, the caller and its attempt only, so that the order of events,
   which is the machine's, does not change what is answered. */
static inline uint32_t service_draw(const remote_service *service, uint32_t caller,
                                    uint32_t attempt, uint32_t salt)
{
    uint32_t x = service->seed + caller * 0x9e3779b9u + attempt * 0x7feb352du + salt * 0x846ca68bu;
    x = (x ^ (x >> 16)) * 0x21f0aaadu;
    x = (x ^ (x >> 15)) * 0x735a2d97u;
    return x ^ (x >> 15);
}

static inline void service_answer(uv_timer_t *timer)
{
    static const struct {
        uint32_t below; /* percent */
        int status;
    } answers[] = {{8, 429}, {18, 503}, {26, 500}, {30, 409}, {32, 404}, {100, 200}};
    const service_call *call = timer->data;
    size_t i = 0;
    while (call->draw % 100 >= answers[i].below)
        i++;
    call->service->answered(call->caller, answers[i].status);
}

static inline void service_policy_answer(uv_timer_t *timer)
{
    const service_call *call = timer->data;
    bool yes = call->draw % 4 != 0;
    call->service->policy_answered(call->caller, yes ? retry_action_after(100)
                                                     : retry_action_none(RETRY_CAUSE_REFUSED));
}

/* Answers within 50 to 750 ms; one call in 20 is lost. */
static inline void service_send(remote_service *service, uint32_t caller, uint32_t attempt)
{
    service_call *call = &service->calls[caller];
    uint32_t latency = 50 + service_draw(service, caller, attempt, 1) % 700;
    call->draw = service_draw(service, caller, attempt, 2);
    if (service_draw(service, caller, attempt, 3) % 20 != 0)
        uv_timer_start(&call->timer, service_answer, latency, 0);
}

/* Answers within 10 to 60 ms; one question in 10 is lost. */
static inline void service_ask_policy(remote_service *service, uint32_t caller, uint32_t attempt)
{
    service_call *call = &service->calls[caller];
    uint32_t latency = 10 + service_draw(service, caller, attempt, 4) % 50;
    call->draw = service_draw(service, caller, attempt, 5);
    if (service_draw(service, caller, attempt, 6) % 10 != 0)
        uv_timer_start(&call->timer, service_policy_answer, latency, 0);
}

/* False if there is no memory for so many callers. */
static inline bool service_start(remote_service *service, uint32_t callers)
{
    service->calls = calloc(callers, sizeof *service->calls);
    for (uint32_t i = 0; service->calls && i < callers; i++) {
        uv_timer_init(service->loop, &service->calls[i].timer);
        service->calls[i].timer.data = &service->calls[i];
        service->calls[i].service = service;
        service->calls[i].caller = i;
    }
    return service->calls != NULL;
}

#endif /* ASYNC_SERVICE_H */
