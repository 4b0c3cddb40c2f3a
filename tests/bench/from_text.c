/* What reading a text costs: bench_from_text WHAT TEXTS reads that many. The difference between two
   runs is the work alone; count it with callgrind.

   policy     aws attempts=5 initial=100ms max=10s jitter=equal
   budget     grpc capacity=20 cost=1 success=0.25
   duration   1.5s */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint32_t sink; /* keeps the results from being optimised away */

static void run_policy(unsigned long texts)
{
    static const char text[] = "aws attempts=5 initial=100ms max=10s jitter=equal";
    retry_policy policy;
    for (; texts != 0 && retry_parse_policy(&policy, text, sizeof text - 1, NULL); texts--)
        sink = policy.max_attempts;
}

static void run_budget(unsigned long texts)
{
    static const char text[] = "grpc capacity=20 cost=1 success=0.25";
    retry_budget_options options;
    for (; texts != 0 && retry_parse_budget(&options, text, sizeof text - 1, NULL); texts--)
        sink = options.capacity;
}

static void run_duration(unsigned long texts)
{
    retry_ms duration;
    for (; texts != 0 && retry_parse_duration("1.5s", 4, &duration, NULL); texts--)
        sink = duration;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(unsigned long texts);
    } kinds[] = {{"policy", run_policy}, {"budget", run_budget}, {"duration", run_duration}};
    unsigned long texts = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    size_t i;
    for (i = 0; texts != 0 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        kinds[i].run(texts);
        return 0;
    }
    fprintf(stderr, "usage: bench_from_text policy|budget|duration TEXTS\n");
    return 2;
}
