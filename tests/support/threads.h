/* The threads of a test: THREADS of them do the same work, each with a worker of its own. Needs
   POSIX threads, and _POSIX_C_SOURCE 200809L before the first header. */
#ifndef THREADS_H
#define THREADS_H

#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define THREADS 8u

static pthread_barrier_t threads_barrier;

/* All threads wait here for each other. True in one of them, which may then do what the others must
   not see half done, until they meet again. */
CHECK_API bool threads_meet(void)
{
    return pthread_barrier_wait(&threads_barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
}

static __thread uint32_t threads_luck __attribute__((unused)); /* may be set, to differ */

/* For contend.step: before a step that another thread can see, this one may lose the processor, so
   that what would need hours to go wrong goes wrong at once. */
CHECK_API void threads_may_wait(void)
{
    threads_luck = (uint32_t)(((uint64_t)threads_luck * 48271u + 11u) % 2147483647u);
    if (threads_luck % 512 == 0)
        sched_yield();
}

/* Of a generator below; for the thread that starts the others. */
CHECK_API uint32_t threads_seed(void)
{
    return 1 + check_random() % 2147483646u;
}

/* A generator of each thread's own, for what it does next; `state` is not 0. */
CHECK_API uint32_t threads_choose(uint32_t *state)
{
    *state = (uint32_t)((uint64_t)*state * 48271u % 2147483647u);
    return *state;
}

/* Calls `work` in each thread with its worker, of an array whose elements have `size` bytes, and
   returns when all have ended. */
CHECK_API void threads_run(void *(*work)(void *), void *workers, size_t size)
{
    pthread_t threads[THREADS];
    uint32_t i;
    pthread_barrier_init(&threads_barrier, NULL, THREADS);
    for (i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, (char *)workers + i * size) != 0) {
            printf("no thread\n");
            exit(1);
        }
    }
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&threads_barrier);
}

#endif
