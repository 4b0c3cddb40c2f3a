/* outage.c: your server is down for ten seconds. What do your callers see?

       make outage

   One process with README.md's client calls a server once, 10 times or 100 times a second. For ten
   seconds the server refuses connections, resets them, or is silent. Counted are the operations
   that begin meanwhile, of ten outages; with the client as it is, and with a breaker. The world is
   crowd.h's. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "crowd.h"

enum { OUTAGES = 10, LENGTH = 10000, HEALTH = 60000, TIMEOUT = 5000 }; /* ms */
enum { DOWNS = 3, RATES = 3, WITH = 2 };

static const struct {
    const char *name;
    uint32_t fault;
} downs[DOWNS] = {{"refused", CROWD_REFUSED}, {"reset", CROWD_RESET}, {"silent", CROWD_LOST}};
static const uint32_t rates[RATES] = {1, 10, 100}; /* calls a second */

static void add_with_breaker(crowd *c, crowd_client *client)
{
    client->to[0].breaker.in_a_row = 3; /* for who calls less than 20 times in 8 s */
    retry_service_init(&client->service, c->now);
    retry_gates_breaker(client->service.client.gates, &client->to[0].breaker);
}

static void add_up(crowd_met *sum, const crowd_met *one)
{
    sum->begun += one->begun;
    sum->done += one->done;
    sum->expired += one->expired;
    sum->possible += one->possible;
    sum->sent += one->sent;
    sum->longest = one->longest > sum->longest ? one->longest : sum->longest;
}

/* Each way to be down strikes the same healthy process. */
static void strike(uint32_t calls, bool breaker, uint32_t seed, crowd_met met[DOWNS])
{
    static crowd world, healthy;
    crowd_set set = {
        .clients = 1, .gap = 1000 / calls, .timeout = TIMEOUT, .cut_after = CROWD_CUT_AFTER};
    set.length = LENGTH;
    set.queue = CROWD_QUEUE;
    set.add = breaker ? add_with_breaker : NULL;
    crowd_begin_anew(&world, &set, CROWD_SERVICE, false, seed);
    crowd_run(&world, HEALTH);
    crowd_copy(&healthy, &world);
    for (uint32_t down = 0; down < DOWNS; down++, crowd_copy(&world, &healthy)) {
        crowd_strike(&world, downs[down].fault);
        crowd_run(&world, world.to + TIMEOUT);
        add_up(&met[down], &world.met);
    }
}

static void print_row(uint32_t down, uint32_t calls, bool breaker, const crowd_met *met)
{
    double each = 100.0 / met->begun;
    printf("%-8s %5u  %-8s %8.0f %5.0f %7.0f %8.0f %6.0f %6.1f\n", downs[down].name,
           (unsigned)calls, breaker ? "breaker" : "", met->possible * each,
           100.0 * met->done / met->possible, (met->begun - met->done - met->expired) * each,
           met->expired * each, (double)met->sent / OUTAGES, met->longest / 1000.0);
}

int main(void)
{
    static crowd_met met[RATES][WITH][DOWNS];
    printf("A server is down for %d s. Of the operations that begin meanwhile, of %d s each:\n\n"
           "  calls     a second\n"
           "  possible  begun so late that their time suffices for an attempt after it: %%\n"
           "            of them\n"
           "  done      %% of the possible\n"
           "  failed (no more retries), expired (no time was left): %% of all\n"
           "  sent      attempts while it is down\n"
           "  wait      s that a caller waited at most\n\n"
           "down     calls  with     possible  done  failed  expired   sent   wait\n",
           LENGTH / 1000, TIMEOUT / 1000);
    for (uint32_t i = 0; i < RATES * WITH * OUTAGES; i++)
        strike(rates[i / WITH / OUTAGES], i / OUTAGES % WITH, 1 + i % OUTAGES,
               met[i / WITH / OUTAGES][i / OUTAGES % WITH]);
    for (uint32_t i = 0; i < DOWNS * RATES * WITH; i++)
        print_row(i / WITH / RATES, rates[i / WITH % RATES], i % WITH,
                  &met[i / WITH % RATES][i % WITH][i / WITH / RATES]);
    return 0;
}
