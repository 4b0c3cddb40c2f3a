/* peers.h: how others let their clients retry, by their own defaults, beside a retry_service.

   What retry.h has in the same shape is said in its words: a policy and a budget from text, a
   breaker's numbers. The rest (limits by latency, budgets by what is under way) is here. Operations
   may take 5 s. Where a project has no timer for an attempt it may take all of that. */
#ifndef STORM_PEERS_H
#define STORM_PEERS_H

#include "together.h"

enum { PEER_TIMEOUT = 5000, PEER_FLEET = 1000 };

/* What stands before a peer's attempts. */
enum {
    PEER_PLAIN,
    PEER_OBEYS,     /* nothing; but it waits as long as a Retry-After says */
    PEER_ACTIVE_3,  /* so many retries under way */
    PEER_ACTIVE_20, /* retries under way: 20 % of the attempts under way, 3 at least */
    PEER_AT_ONCE,   /* ten attempts under way, and no more */
    PEER_GRADIENT2,
    PEER_VEGAS,
    PEER_ADAPTIVE, /* of two minutes or so: twice what was accepted, at random */
    PEER_SRE       /* the same, and retries are a tenth of the attempts */
};

typedef struct peer {
    const char *name, *policy, *budget;
    retry_ms attempt; /* ms for an attempt (0: what is left) */
    uint32_t subset;  /* gates: of a breaker the next numbers, for each node */
    uint32_t volume, ratio, window, open, probes;
    uint8_t guard;
} peer;

#define NONE "none"
#define NO_BREAKER 0, 0, 0, 0, 0, 0
#define BREAKER(volume, percent, window, open, probes) \
    CROWD_BREAKER, volume, RETRY_RATIO((percent) / 100.0), window, open, probes

static const peer peers[] = {
    {"no retries", "attempts=1", NONE, 0, NO_BREAKER, PEER_PLAIN},
    {"three tries, 100 ms", "attempts=3 curve=constant initial=100ms", NONE, 1000, NO_BREAKER,
     PEER_PLAIN},
    /* aws-sdk-java-v2 2.20, RetryMode.STANDARD: no timer for an attempt */
    {"AWS standard", "aws", "aws", 0, NO_BREAKER, PEER_PLAIN},
    /* the same, ADAPTIVE_V2; its rate by retry.h's, which learns from throttled answers, too */
    {"AWS adaptive", "aws", "aws", 0, CROWD_RATE, 0, 0, 0, 0, 0, PEER_PLAIN},
    /* AWS SDKs' retry behaviour of 2026 */
    {"AWS 2026", "aws-2026", "aws-2026", 0, NO_BREAKER, PEER_OBEYS},
    /* grpc-proposal A6: its example's policy, and maxTokens 10, tokenRatio 0.1 */
    {"gRPC", "attempts=4 initial=100ms max=1s jitter=spread", "grpc", 0, NO_BREAKER, PEER_PLAIN},
    {"gRPC, 500 ms", "attempts=4 initial=100ms max=1s jitter=spread", "grpc", 500, NO_BREAKER,
     PEER_PLAIN},
    /* envoy v1.29: num_retries 1, base 25 ms, at most 250 ms, full jitter; max_retries 3; outlier
       detection: five 5xx in a row, 30 s */
    {"Envoy", "attempts=2 initial=25ms max=250ms jitter=full", NONE, 0, CROWD_BREAKER, 1000000,
     RETRY_RATIO(1), 10000, 30000, 1, PEER_ACTIVE_3},
    /* the same with retry_budget: budget_percent 20, min_retry_concurrency 3 */
    {"Envoy, 20 %", "attempts=2 initial=25ms max=250ms jitter=full", NONE, 0, CROWD_BREAKER,
     1000000, RETRY_RATIO(1), 10000, 30000, 1, PEER_ACTIVE_20},
    /* istio 1.20: two retries, 25 ms; no outlier detection by default */
    {"Istio", "attempts=3 initial=25ms max=250ms jitter=full", NONE, 0, NO_BREAKER, PEER_PLAIN},
    /* finagle 22.12, RetryBudget: 20 % of requests, 10 a second, of 10 s; requeued at once */
    {"Finagle", "attempts=25 curve=constant initial=1ms",
     "capacity=100 cost=1 request=0.2 per-second=10 expire=10s", 0, NO_BREAKER, PEER_PLAIN},
    /* tower 0.4, TpsBudget, as linkerd 2.14 has it: 20 %, 10 a second, 10 s; one retry */
    {"tower, linkerd", "attempts=2 curve=constant initial=1ms",
     "capacity=100 cost=1 request=0.2 per-second=10 expire=10s", 0, NO_BREAKER, PEER_PLAIN},
    /* Microsoft.Extensions.Http.Resilience 8.0, the standard handler: 3 retries, 2 s doubling with
       jitter; breaker: a tenth of 100 in 30 s, 5 s; 10 s for an attempt */
    {"Polly", "attempts=4 initial=2s max=30s jitter=equal", NONE, 0,
     BREAKER(100, 10, 30000, 5000, 1), PEER_OBEYS},
    {"Polly, 500 ms", "attempts=4 initial=2s max=30s jitter=equal", NONE, 500,
     BREAKER(100, 10, 30000, 5000, 1), PEER_OBEYS},
    /* resilience4j 2.1: 3 attempts, 500 ms; the last 100 calls (here: those of 10 s), a half, 60 s,
       10 probes */
    {"resilience4j", "attempts=3 curve=constant initial=500ms", NONE, 0,
     BREAKER(100, 50, 10000, 60000, 10), PEER_PLAIN},
    /* Hystrix 1.5: no retries; 1 s; 20 in 10 s, a half, 5 s; ten at once */
    {"Hystrix", "attempts=1", NONE, 1000, BREAKER(20, 50, 10000, 5000, 1), PEER_AT_ONCE},
    /* netflix concurrency-limits 0.4 */
    {"Gradient2, 3 tries", "attempts=3 curve=constant initial=100ms", NONE, 1000, NO_BREAKER,
     PEER_GRADIENT2},
    {"Vegas, 3 tries", "attempts=3 curve=constant initial=100ms", NONE, 1000, NO_BREAKER,
     PEER_VEGAS},
    /* urllib3 2.0: Retry(3), backoff_factor 0; of errors and statuses alike */
    {"urllib3", "attempts=4 curve=constant initial=1ms", NONE, 0, NO_BREAKER, PEER_OBEYS},
    /* Google, Site Reliability Engineering, chapter 21: three tries, a tenth of a client's
       requests, and throttling with K = 2 */
    {"Google SRE", "attempts=3 initial=100ms max=1s jitter=full", NONE, 1000, NO_BREAKER, PEER_SRE},
    {"bucket of 100, a tenth", "attempts=3 initial=100ms max=1s jitter=full",
     "capacity=100 cost=1 success=0.1", 1000, NO_BREAKER, PEER_PLAIN}};

enum {
    PEERS = sizeof peers / sizeof *peers,
    PEER_SERVICE = PEERS, /* README.md's client */
    PEER_ALONE,           /* its policy, and nothing that limits it */
    PEER_ORACLE,
    PEER_SETUPS,
    PEER_NONE = 0,
    PEER_THREE = 1,
    PEER_AWS = 2,
    PEER_GRPC = 5,
    PEER_POLLY = 12,
    PEER_BUCKET = PEERS - 1,
    PEER_K2 = PEER_SETUPS /* throttling alone, to be held against what is known */
};

static const char *peer_name(uint32_t setup)
{
    return setup < PEERS           ? peers[setup].name
           : setup == PEER_SERVICE ? "retry.h"
           : setup == PEER_ALONE   ? "retry.h, no limits"
                                   : "(an oracle)";
}

/* ---- Guards: what they keep of a client is in `guarded` ----------------------------------------
 */

enum {
    KEPT_ACTIVE,
    KEPT_RETRIES,
    KEPT_LIMIT,
    KEPT_BEST,
    KEPT_LONG,
    KEPT_SEEN,
    KEPT_REPEATED,
    KEPT_ACCEPTED,
    KEPT_AT
};

static uint8_t peer_guard; /* of the setup that is simulated */

static void peer_seen(double *kept, double took, bool done)
{
    double limit = kept[KEPT_LIMIT];
    if (peer_guard == PEER_GRADIENT2) { /* tolerance 1.5, smoothing 0.2, queue 4, 20 to 200 */
        double gradient, slope = 2.0 / 601;
        kept[KEPT_LONG] = kept[KEPT_LONG] > 0 ? kept[KEPT_LONG] * (1 - slope) + took * slope : took;
        if (kept[KEPT_LONG] / took > 2)
            kept[KEPT_LONG] *= 0.95;
        if (kept[KEPT_ACTIVE] < limit / 2)
            return;
        gradient = fmax(0.5, fmin(1, 1.5 * kept[KEPT_LONG] / took));
        kept[KEPT_LIMIT] = fmax(20, fmin(200, limit * 0.8 + 0.2 * (limit * gradient + 4)));
    } else if (peer_guard == PEER_VEGAS) { /* from 20, at most 1,000; alpha 3 and beta 6 log10 */
        double step = fmax(1, log10(limit)), queued;
        if (done && (kept[KEPT_BEST] <= 0 || took < kept[KEPT_BEST]))
            kept[KEPT_BEST] = took;
        if (++kept[KEPT_SEEN] > 30 * limit) /* a probe of the best: it may have changed */
            kept[KEPT_SEEN] = 0, kept[KEPT_BEST] = took;
        queued = kept[KEPT_BEST] > 0 ? ceil(limit * (1 - kept[KEPT_BEST] / took)) : 0;
        if (!done)
            limit -= step;
        else if (kept[KEPT_ACTIVE] * 2 < limit)
            return;
        else if (queued <= step)
            limit += 6 * step;
        else if (queued < 3 * step)
            limit += step;
        else if (queued > 6 * step)
            limit -= step;
        kept[KEPT_LIMIT] = fmax(1, fmin(1000, limit));
    }
}

/* Of what was counted a minute ago 37 % are left. */
static void peer_forget(double *kept, uint32_t now)
{
    double left = exp((kept[KEPT_AT] - now) / 60000);
    kept[KEPT_SEEN] *= left;
    kept[KEPT_REPEATED] *= left;
    kept[KEPT_ACCEPTED] *= left;
    kept[KEPT_AT] = now;
}

static bool peer_ask(crowd *c, crowd_client *client, bool retry)
{
    double *kept = client->guarded;
    bool may = true;
    switch (peer_guard) {
    case PEER_ACTIVE_3:
        may = !retry || kept[KEPT_RETRIES] < 3;
        break;
    case PEER_ACTIVE_20:
        may = !retry || kept[KEPT_RETRIES] < fmax(3, 0.2 * kept[KEPT_ACTIVE]);
        break;
    case PEER_AT_ONCE:
        may = kept[KEPT_ACTIVE] < 10;
        break;
    case PEER_GRADIENT2:
    case PEER_VEGAS:
        if (kept[KEPT_LIMIT] <= 0)
            kept[KEPT_LIMIT] = 20;
        may = kept[KEPT_ACTIVE] < kept[KEPT_LIMIT];
        break;
    case PEER_ADAPTIVE:
    case PEER_SRE:
        peer_forget(kept, c->now);
        kept[KEPT_SEEN] += 1;
        may = dice_unit(&c->chance) >=
              (kept[KEPT_SEEN] - 2 * kept[KEPT_ACCEPTED]) / (kept[KEPT_SEEN] + 1);
        if (peer_guard == PEER_SRE && retry)
            may = may && kept[KEPT_REPEATED] < 0.1 * kept[KEPT_SEEN];
        kept[KEPT_REPEATED] += may && retry;
        break;
    default:
        break;
    }
    kept[KEPT_ACTIVE] += may;
    kept[KEPT_RETRIES] += may && retry;
    return may;
}

static void peer_told(crowd *c, crowd_client *client, bool retry, bool done, uint32_t took)
{
    double *kept = client->guarded;
    (void)c;
    peer_seen(kept, took > 0 ? took : 1, done);
    kept[KEPT_ACCEPTED] += done;
    kept[KEPT_ACTIVE] -= 1;
    kept[KEPT_RETRIES] -= retry;
}

static const crowd_guard peer_guards = {peer_ask, peer_told};

/* ---- Clients ------------------------------------------------------------------------------- */

static uint32_t peer_now;   /* the setup that is simulated */
static uint32_t peer_other; /* the setup of every other process, where fleets are mixed */
static retry_policy peer_policy, peer_other_policy;
static retry_budget_options peer_budget;

static void peer_parse(const peer *as, retry_policy *into)
{
    retry_text_error error = {.offset = 0};
    const char *policy = as->policy, *budget = as->budget;
    if (!retry_parse_policy(into, policy, strlen(policy), &error) ||
        !retry_parse_budget(&peer_budget, budget, strlen(budget), &error)) {
        fprintf(stderr, "%s: %s\n", as->name, error.text);
        exit(2);
    }
}

static void peer_add_as(crowd *c, crowd_client *client, const peer *as, retry_policy *policy)
{
    retry_client *with = &client->service.client;
    peer_parse(as, policy);
    with->cut_after = with->attempt_timeout = as->attempt;
    with->strategy = &policy->base;
    with->gates = client->gates;
    if (c->nodes > 1)
        retry_client_nodes(with, client->gates, (uint16_t)c->nodes);
    for (uint32_t node = 0; node < c->nodes; node++) {
        retry_breaker *breaker = &client->to[node].breaker;
        breaker->volume = as->volume;
        breaker->ratio = as->ratio;
        breaker->window = as->window;
        breaker->open = as->open;
        breaker->probes = (uint8_t)as->probes;
        if (as->volume >= 1000000) /* outlier detection: in a row, and never the only server */
            breaker->in_a_row = 5;
        if (as->volume < 1000000 || c->nodes > 1)
            crowd_add_gates(&client->gates[node], &client->to[node], as->subset, 0);
    }
    if (strcmp(as->budget, NONE) != 0) {
        retry_budget_init(&client->service.budget, &peer_budget, c->now);
        with->budget = &client->service.budget;
    }
}

static void peer_add(crowd *c, crowd_client *client)
{
    static const peer oracle = {
        "", "attempts=20 curve=constant initial=1ms", NONE, 1000, NO_BREAKER, PEER_PLAIN};
    static const peer k2 = {"", "attempts=1", NONE, 0, NO_BREAKER, PEER_ADAPTIVE};
    static const peer alone = {
        "", "initial=100ms max=5s jitter=full", NONE, 1000, NO_BREAKER, PEER_OBEYS};
    const peer *as = peer_now == PEER_ORACLE  ? &oracle
                     : peer_now == PEER_K2    ? &k2
                     : peer_now == PEER_ALONE ? &alone
                                              : &peers[peer_now];
    peer_guard = as->guard;
    peer_add_as(c, client, as, &peer_policy);
}

static void peer_add_other(crowd *c, crowd_client *client)
{
    peer_add_as(c, client, &peers[peer_other], &peer_other_policy);
}

static void peer_set(crowd_set *set, uint32_t setup)
{
    peer_now = setup;
    set->timeout = PEER_TIMEOUT;
    if (setup == PEER_SERVICE) /* as README.md has it */
        set->cut_after = CROWD_CUT_AFTER;
    set->add = setup == PEER_SERVICE ? NULL : peer_add;
    set->guard = setup == PEER_K2 || (setup < PEERS && peers[setup].guard > PEER_OBEYS)
                     ? &peer_guards
                     : NULL;
    set->deaf = setup < PEERS && peers[setup].guard != PEER_OBEYS;
    set->oracle = setup == PEER_ORACLE;
}

#endif /* STORM_PEERS_H */
