/* A shared budget against the same bucket behind a mutex, with one thread and with two that do
   nothing else: the time of a withdrawal and a deposit. Times vary, so the range is printed that
   most tries span; both sides of a ratio are measured in the same try. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 1000000
#define TRIES 11 /* the lowest and the highest two are left out */

static retry_budget budget;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile uint32_t balance = 500000;

static void *lock_free(void *unused)
{
    int i;
    for (i = 0; i < ROUNDS; i++) {
        if (retry_budget_withdraw(&budget, 5000, 0))
            retry_budget_deposit(&budget, 5000);
    }
    return unused;
}

static void *with_mutex(void *unused)
{
    int i;
    for (i = 0; i < ROUNDS; i++) {
        bool paid;
        pthread_mutex_lock(&mutex);
        paid = balance >= 5000;
        if (paid)
            balance -= 5000;
        pthread_mutex_unlock(&mutex);
        if (!paid)
            continue;
        pthread_mutex_lock(&mutex);
        balance += 5000;
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

/* Nanoseconds for a round of one thread when so many run. */
static double measure(void *(*work)(void *), int threads)
{
    struct timespec begin, end;
    pthread_t id[2];
    int i;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (i = 0; i < threads; i++)
        pthread_create(&id[i], NULL, work, NULL);
    for (i = 0; i < threads; i++)
        pthread_join(id[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
           ROUNDS;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void row(const char *text, int threads)
{
    double ns[TRIES], ratio[TRIES];
    int try;
    for (try = 0; try < TRIES; try++) {
        ns[try] = measure(lock_free, threads);
        ratio[try] = ns[try] / measure(with_mutex, threads);
    }
    qsort(ns, TRIES, sizeof ns[0], ascending);
    qsort(ratio, TRIES, sizeof ratio[0], ascending);
    printf("  %-38s %6.0f to %-6.0f     %.1f to %.1f\n", text, ns[2], ns[TRIES - 3], ratio[2],
           ratio[TRIES - 3]);
}

int main(void)
{
    static const retry_budget_options options = RETRY_BUDGET_AWS;
    retry_budget_init(&budget, &options, 0);
    printf("A shared budget, withdraw and deposit     ns, varying   to a mutex, varying\n");
    row("one thread", 1);
    row("two threads that do nothing else", 2);
    return retry_budget_balance(&budget) == 500000 ? 0 : 1;
}
