/* fleet.c: a thousand processes that share nothing, and call one server, which fails for ten
   seconds. All of it is simulated (examples/storm/crowd.h). Prints what became of them, of some
   that do not retry, and of some that retry by the same policy, and nothing limits them.
       cc -o fleet examples/recipes/fleet.c -lm
       ./fleet */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "../storm/crowd.h"

enum { PROCESSES = 1000, HEALTH = 30000, LENGTH = 10000, WATCHED = 40000 }; /* ms */

/* What each process does when it starts. */
static void set_up(retry_service *service, retry_time now)
{
    /* README: */
    /* in each process: as ever, and for servers that say when to come back */
    service->client.cut_after = 1000;                      /* ms */
    service->policy.retry_after_spread = RETRY_RATIO(0.5); /* asked for 30 s: over 30 to 45 s */
    retry_service_init(service, now);
    /* end */
}

/* Of the operations that began from ... to: those done, and all of them. */
static unsigned begun_in(const crowd *c, uint32_t from, uint32_t to, unsigned *done)
{
    unsigned begun = 0;
    *done = 0;
    for (uint32_t bin = from / CROWD_BIN; bin < to / CROWD_BIN; bin++) {
        begun += c->bins[bin].begun;
        *done += c->bins[bin].done;
    }
    return begun;
}

static void fail(crowd *fleet, const char *name, uint32_t fault)
{
    unsigned begun, done, sent = 0;
    char after[16];
    crowd_strike(fleet, fault);
    crowd_run(fleet, fleet->to + WATCHED + 2000 + fleet->set->timeout);
    uint32_t end = fleet->to + WATCHED, back = end;
    while (back > fleet->to &&
           begun_in(fleet, back - CROWD_BIN, back + 1800, &done) * 19 <= done * 20)
        back -= CROWD_BIN; /* of each two seconds from here on 95 % were done */
    for (uint32_t bin = fleet->from / CROWD_BIN; bin < fleet->to / CROWD_BIN; bin++)
        sent += fleet->bins[bin].sent;
    begun = begun_in(fleet, fleet->from, end, &done);
    snprintf(after, sizeof after, back == end ? "never" : "%.1f s", (back - fleet->to) / 1000.0);
    printf("%-8s %-20s %6u %6u %8u %8s\n", fault == CROWD_REFUSED ? "refused" : "frozen", name,
           begun, done, sent, after);
}

/* The server does 200 operations a second, and is asked for 60 % of that. All have one policy. */
static void simulate(const char *name, uint32_t subset, retry_ms cut_after)
{
    static crowd fleet, healthy;
    static retry_service one;
    crowd_set set = {.clients = PROCESSES, .timeout = 5000, .cut_after = cut_after};
    set_up(&one, 0);
    set.strategy = one.client.strategy;
    set.utilisation = 60;
    set.length = LENGTH;
    set.queue = CROWD_QUEUE;
    crowd_begin_anew(&fleet, &set, subset, false, 1);
    for (uint32_t i = 0; subset == CROWD_SERVICE && i < PROCESSES; i++) {
        retry_service *service = &fleet.clients[i].service;
        memset(service, 0, sizeof *service);
        service->client.random = dice_bits;
        service->client.random_context = &fleet.chance;
        set_up(service, 0);
    }
    crowd_run(&fleet, HEALTH);
    crowd_copy(&healthy, &fleet);
    fail(&fleet, name, CROWD_REFUSED);
    crowd_copy(&fleet, &healthy);
    fail(&fleet, name, CROWD_FROZEN);
}

/* How many come back within the same second when all are told to wait for 30. */
static unsigned told_to_wait(void)
{
    static const retry_failure busy = {.reason = RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED,
                                       .throttle = true,
                                       .retry_after = 30000};
    static retry_service services[PROCESSES];
    static unsigned seconds[100];
    unsigned most = 0;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        retry_operation op = {.idempotent = true};
        set_up(&services[i], 0);
        retry_start(&op, &services[i], 0);
        if (retry_next(&op, 0).what == RETRY_DO_SEND)
            retry_ended(&op, 0, &busy, 0);
        unsigned *second = &seconds[retry_next(&op, 0).delay / 1000 % 100];
        most = ++*second > most ? *second : most;
    }
    return most;
}

int main(void)
{
    retry_seed(1); /* the same figures each time */
    printf("fault    processes with        begun   done  sent in      back\n"
           "                                            the fault    after\n");
    simulate("no retries", CROWD_NO_RETRY, 1000);
    simulate("retries, never cut", 0, 0);
    simulate("retries, cut", 0, 1000);
    simulate("a retry_service, cut", CROWD_SERVICE, 1000);
    printf("%d told to wait 30 s: at most %u come back in the same second\n", PROCESSES,
           told_to_wait());
}
