/* rate.c: keeps to a server's rate limit, which answers 429 to what is above it. Reads URLs, one in
   a line, and prints how each GET ended.
       cc -o rate examples/recipes/rate.c -lcurl
       echo http://localhost/ | ./rate 50 1     so many a second, so many at once */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <stdio.h>
#include <stdlib.h>

#include "http.h"

static retry_service service; /* one for each server */
static http_call call;

static bool attempt(void *url, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    (void)op;
    return http_get(&call, (const char *)url, step->timeout, failure);
}

int main(int argc, char **argv)
{
    const retry_clock clock = retry_system_clock();
    int per_second = argc > 1 ? atoi(argv[1]) : 50, burst = argc > 2 ? atoi(argv[2]) : 1;
    char url[512];
    service.client.cut_after = 1000; /* ms */
    /* README: */
    static retry_rate rate; /* one for each limit */
    rate.max = RETRY_PER_SECOND(per_second);
    rate.burst = RETRY_TOKENS(burst); /* so many at once, after a rest */
    rate.wait = 1000;                 /* ms; what would have to wait longer fails at once */
    retry_service_init(&service, clock.now(clock.context));
    retry_gates_rate(service.client.gates, &rate);
    /* end */
    while (scanf("%511s", url) == 1) {
        retry_operation op;
        memset(&op, 0, sizeof op);
        op.timeout = 10000; /* ms */
        op.idempotent = true;
        retry_step end = retry_run(&op, &service, &clock, attempt, url);
        printf("%s %s\n", end.verdict == RETRY_VERDICT_SUCCESS ? "done" : "failed", url);
    }
}
