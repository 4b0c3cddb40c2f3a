/* Threads that count what they do: each has a worker with a number, and `total` is what all of them
   come to. */
#ifndef WORKERS_H
#define WORKERS_H

#include "threads.h"

/* What one thread did, of what its test counts; read once it has ended. */
struct worker {
    uint32_t number;
    uint64_t granted, denied, withdrawn, deposited, refunds, wrong;
};

static struct worker workers[THREADS];
static struct worker total;

/* Calls `work` in each thread with its worker, and sums up when all have ended. */
static void run_threads(void *(*work)(void *))
{
    uint32_t i;
    memset(workers, 0, sizeof workers);
    memset(&total, 0, sizeof total);
    for (i = 0; i < THREADS; i++)
        workers[i].number = i;
    threads_run(work, workers, sizeof workers[0]);
    for (i = 0; i < THREADS; i++) {
        total.granted += workers[i].granted;
        total.denied += workers[i].denied;
        total.withdrawn += workers[i].withdrawn;
        total.deposited += workers[i].deposited;
        total.refunds += workers[i].refunds;
        total.wrong += workers[i].wrong;
    }
}

#endif
