/* alone.c: one operation, and nothing else. Does it use the time that it has?

       make alone

   A process starts, and calls a server that fails from then on. The server is back after 40, 80 or
   95 % of the operation's timeout. A client that knew when could do each operation: it would send
   one attempt, at that time. Counted is how many of these README.md's client does, which does not
   know. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "random.h"

#include <errno.h>
#include <stdio.h>

enum { OPERATIONS = 2000, ANSWER = 5, CUT_AFTER = 1000, RETRY_AFTER = 1000 }; /* ms */
enum { KINDS = 7, TIMEOUTS = 4, BACKS = 3 };
enum { SAYS_503, SAYS_429, SAYS_429_AFTER, RESETS, REFUSES, SILENT, SILENT_KNOWN };
#define NEVER UINT32_MAX

static const char *const kinds[KINDS] = {[SAYS_503] = "503",
                                         [SAYS_429] = "429",
                                         [SAYS_429_AFTER] = "429, Retry-After 1 s",
                                         [RESETS] = "reset",
                                         [REFUSES] = "refused",
                                         [SILENT] = "silent",
                                         [SILENT_KNOWN] = "silent after 100 calls"};
static const uint32_t timeouts[TIMEOUTS] = {1000, 5000, 10000, 60000}; /* ms */
static const uint32_t backs[BACKS] = {40, 80, 95};                     /* % of the timeout */

static dice chance = {1};

static retry_failure heard(uint32_t kind)
{
    switch (kind) {
    case SAYS_503:
        return retry_classify_http(503, 0);
    case RESETS:
        return retry_classify_errno(ECONNRESET, true);
    case REFUSES:
        return retry_classify_errno(ECONNREFUSED, false);
    default:
        return retry_classify_http(429, kind == SAYS_429_AFTER ? RETRY_AFTER : 0);
    }
}

/* A client that does as the server says, and knows when it is back. */
static bool is_possible(uint32_t kind, uint32_t timeout, uint32_t back)
{
    uint32_t allowed = kind == SAYS_429_AFTER ? ANSWER + RETRY_AFTER : 0;
    return (allowed > back ? allowed : back) + ANSWER < timeout;
}

/* Starts an operation at *now, and lets time pass until its end. Returns the attempts that it took,
   0 if it was not done. `back`: ms until the server works. */
static uint32_t run(retry_service *service, uint32_t kind, uint32_t timeout, uint32_t back,
                    uint32_t *now)
{
    retry_operation op = {0};
    const uint32_t began = *now;
    const retry_failure failure = heard(kind);
    uint32_t sent = 0, answer = NEVER; /* ms until it comes */
    bool works = false;                /* it is a good one */
    op.timeout = timeout;
    op.idempotent = true;
    retry_start(&op, service, *now);
    for (;;) {
        const retry_step step = retry_next(&op, *now);
        if (step.what == RETRY_DO_SEND) {
            sent++;
            works = *now - began >= back;
            answer = works || kind < SILENT ? ANSWER : NEVER;
        } else if (step.what == RETRY_DO_CANCEL) {
            answer = NEVER;
        } else if (step.what == RETRY_DO_END) {
            return step.verdict == RETRY_VERDICT_SUCCESS ? sent : 0;
        } else if (answer <= step.delay) {
            *now += answer;
            answer = NEVER;
            retry_ended(&op, 0, works ? NULL : &failure, *now);
        } else {
            *now += step.delay;
        }
    }
}

/* % of the operations that are done; *sent: attempts of each of these, on average. */
static double done_of(uint32_t kind, uint32_t timeout, uint32_t back, double *sent)
{
    uint32_t done = 0, all = 0;
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        retry_service service = {0};
        uint32_t now = dice_bits(&chance), attempts;
        service.client.cut_after = CUT_AFTER;
        service.client.random = dice_bits;
        service.client.random_context = &chance;
        retry_service_init(&service, now);
        for (uint32_t calls = 0; kind == SILENT_KNOWN && calls < 100; calls++)
            run(&service, kind, timeout, 0, &now);
        attempts = run(&service, kind, timeout, back, &now);
        done += attempts > 0;
        all += attempts;
    }
    *sent = done > 0 ? (double)all / done : 0;
    return 100.0 * done / OPERATIONS;
}

static void print_row(uint32_t kind)
{
    double sent = 0;
    printf("%-22s", kinds[kind]);
    for (uint32_t i = 0; i < TIMEOUTS * BACKS; i++) {
        uint32_t timeout = timeouts[i / BACKS], back = timeout / 100 * backs[i % BACKS];
        double done = done_of(kind, timeout, back, &sent);
        printf("%s", i % BACKS == 0 ? " " : "");
        if (is_possible(kind, timeout, back))
            printf(" %3.0f", done);
        else
            printf("   -");
    }
    printf("%5.0f\n", sent);
}

int main(void)
{
    printf("One operation of a new process, whose server is back after 40, 80 or 95 %% of the\n"
           "operation's timeout. Done, in %% of the possible: a client that knew when the\n"
           "server is back could do all of them (-: not even that one, as it is told to wait\n"
           "for longer). sent: attempts, with 60 s and 95 %%.\n\n"
           "timeout                         1 s          5 s         10 s         60 s\n"
           "back after, %%         ");
    for (uint32_t i = 0; i < TIMEOUTS * BACKS; i++)
        printf("%s %3u", i % BACKS == 0 ? " " : "", (unsigned)backs[i % BACKS]);
    printf(" sent\n");
    for (uint32_t kind = 0; kind < KINDS; kind++)
        print_row(kind);
    return 0;
}
