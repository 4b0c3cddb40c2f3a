/* What a scope's look-up costs: bench_scopes WHAT LOOKUPS makes that many. The difference between
   two runs is the work alone; count it with callgrind.

   first      a name of 18 bytes, which has the first slot that is looked at
   overflow   a name of 18 bytes that finds no slot: four are looked at, twice */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "service/eu-north-1";

static const retry_client *volatile sink; /* keeps the results from being optimised away */

/* A table in which every slot is of a name that has drawn from its bucket. */
static void look_up(uint32_t count, const char *holders, unsigned long lookups)
{
    static retry_scope slots[4];
    retry_scopes scopes;
    unsigned long i;
    memset(&scopes, 0, sizeof scopes);
    scopes.options.capacity = 20000;
    scopes.slots = slots;
    scopes.count = count;
    for (i = 0; i < count; i++) {
        const retry_client *client = retry_scope_client(&scopes, holders + i, sizeof name - 1, 0);
        retry_budget_withdraw(client->budget, 1000, 0);
    }
    for (i = 0; i < lookups; i++)
        sink = retry_scope_client(&scopes, name, sizeof name - 1, (retry_time)i);
}

static void run_first(unsigned long lookups)
{
    look_up(1, name, lookups);
}

static void run_overflow(unsigned long lookups)
{
    look_up(4, "abcdefghijklmnopqrstuvwxyz", lookups);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(unsigned long lookups);
    } kinds[] = {{"first", run_first}, {"overflow", run_overflow}};
    unsigned long lookups = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    size_t i;
    for (i = 0; lookups != 0 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) != 0)
            continue;
        kinds[i].run(lookups);
        return 0;
    }
    fprintf(stderr, "usage: bench_scopes first|overflow LOOKUPS\n");
    return 2;
}
