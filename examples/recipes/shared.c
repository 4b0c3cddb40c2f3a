/* shared.c: processes of one machine, which share one retry budget. Starts WORKERS that send GET
   for URL?PID.NUMBER again and again, and starts another one for each that dies.
       cc -o shared examples/recipes/shared.c -lcurl
       ./shared 4 http://localhost/ */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http.h"

static retry_service service; /* each process has its own; the budget is shared */
static http_call call;

static bool attempt(void *url, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    (void)op;
    return http_get(&call, (const char *)url, step->timeout, failure);
}

/* As long as its parent lives. */
static void work(const char *base, pid_t parent)
{
    const retry_clock clock = retry_system_clock();
    char url[512];
    for (unsigned number = 0; getppid() == parent; number++) {
        retry_operation op;
        memset(&op, 0, sizeof op);
        op.timeout = 5000; /* ms */
        op.idempotent = true;
        snprintf(url, sizeof url, "%s?%ld.%u", base, (long)getpid(), number);
        retry_run(&op, &service, &clock, attempt, url);
        clock.sleep(clock.context, 20); /* other work */
    }
}

int main(int argc, char **argv)
{
    const retry_clock clock = retry_system_clock();
    int workers = argc > 2 ? atoi(argv[1]) : 0;
    pid_t parent = getpid();
    /* README: */
    const retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(20); /* operations at once */
    retry_budget *budget = (retry_budget *)mmap(NULL, sizeof *budget, PROT_READ | PROT_WRITE,
                                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (budget == MAP_FAILED)
        return 2;
    retry_budget_init(budget, &options, clock.now(clock.context)); /* once, before fork() */
    /* end */
    while (workers > 0) {
        pid_t worker = fork();
        if (worker == 0) {
            /* README: */
            /* in each process; the limit is its own, as one that is killed would keep its places */
            retry_seed((uint32_t)getpid());
            service.client.budget = budget;
            service.client.cut_after = 1000; /* ms */
            retry_service_init(&service, clock.now(clock.context));
            /* end */
            work(argv[2], parent);
            return 0;
        }
        workers -= worker > 0;
        if (workers == 0)
            workers += wait(NULL) > 0; /* for each that dies another one */
    }
}
