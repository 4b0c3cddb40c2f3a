/* A shared budget against the same bucket behind a mutex, with one thread and with two: the time
   of a withdrawal and a deposit, as ratios in one run. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 2000000
#define TRIES 5 /* the fastest counts */

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
    double best = 0;
    int try, i;
    for (try = 0; try < TRIES; try++) {
        struct timespec begin, end;
        pthread_t id[2];
        double ns;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (i = 0; i < threads; i++)
            pthread_create(&id[i], NULL, work, NULL);
        for (i = 0; i < threads; i++)
            pthread_join(id[i], NULL);
        clock_gettime(CLOCK_MONOTONIC, &end);
        ns = ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
             ROUNDS;
        if (try == 0 || ns < best)
            best = ns;
    }
    return best;
}

int main(void)
{
    static const retry_budget_options options = RETRY_BUDGET_AWS;
    double one, one_mutex, two, two_mutex;
    retry_budget_init(&budget, &options, 0);
    one = measure(lock_free, 1);
    one_mutex = measure(with_mutex, 1);
    two = measure(lock_free, 2);
    two_mutex = measure(with_mutex, 2);
    printf("A shared budget, withdraw and deposit           ns  to a mutex\n");
    printf("  one thread                                %6.1f        %.2f\n", one, one / one_mutex);
    printf("  two threads                               %6.1f        %.2f\n", two, two / two_mutex);
    return retry_budget_balance(&budget) == 500000 ? 0 : 1;
}
