/* What parsing an error map costs: a program for each parser, bench_errmap_PEER, which is this file
   and errmap_PEER.c. errmap.sh counts instructions with them and prints the page.

     bench_errmap_PEER parse FILE           once, for callgrind's --toggle-collect=bench_parse
     bench_errmap_errmap made COUNT ORDER   the same with a map made to measure
     bench_errmap_PEER time FILE            nanoseconds
     bench_errmap_PEER stack FILE           bytes of stack that bench_parse and what it calls use */
#define _POSIX_C_SOURCE 200809L
#include "../support/errmap_fixture.h"
#include "errmap_peer.h"

#include <pthread.h>
#include <time.h>

static void give_up(const char *why)
{
    fprintf(stderr, "bench_errmap: %s\n", why);
    exit(2);
}

static int run_parse(fixture f)
{
    if (bench_parse(f.text, f.length) == 0)
        give_up("cannot parse it");
    return 0;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* One call: the best of many short runs, in which other programs had little part. */
static int run_time(fixture f)
{
    double best = 1e18;
    int run, i;
    for (run = 0; run < 50; run++) {
        const double start = now();
        for (i = 0; i < 10; i++)
            bench_parse(f.text, f.length);
        if ((now() - start) / 10 < best)
            best = (now() - start) / 10;
    }
    printf("%.0f\n", best);
    return 0;
}

#define STACK 65536
#define PAINT 0xa5

static fixture stack_fixture;

static void *parse_once(void *argument)
{
    if (argument)
        bench_parse(stack_fixture.text, stack_fixture.length);
    return NULL;
}

/* Bytes of a painted stack that a thread has touched. */
static size_t stack_used(void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *stack = NULL;
    size_t untouched = 0;
    if (posix_memalign(&stack, 4096, STACK) != 0)
        give_up("no memory");
    memset(stack, PAINT, STACK);
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, stack, STACK) != 0 ||
        pthread_create(&thread, &attributes, parse_once, argument) != 0)
        give_up("no thread");
    pthread_join(thread, NULL);
    while (untouched < STACK && ((unsigned char *)stack)[untouched] == PAINT)
        untouched++;
    free(stack);
    return STACK - untouched;
}

static int run_stack(fixture f)
{
    size_t idle, used;
    stack_fixture = f;
    idle = stack_used(NULL);
    used = stack_used(&stack_fixture);
    printf("%lu\n", (unsigned long)(used > idle ? used - idle : 0));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "parse") == 0)
        return run_parse(fixture_load(argv[2]));
    if (argc == 4 && strcmp(argv[1], "made") == 0)
        return run_parse(
            fixture_make((uint32_t)strtoul(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10)));
    if (argc == 3 && strcmp(argv[1], "time") == 0)
        return run_time(fixture_load(argv[2]));
    if (argc == 3 && strcmp(argv[1], "stack") == 0)
        return run_stack(fixture_load(argv[2]));
    fprintf(stderr,
            "usage: bench_errmap_PEER parse FILE | made COUNT ORDER | time FILE | stack FILE\n");
    return 2;
}
