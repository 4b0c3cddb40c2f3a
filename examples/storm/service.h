/* service.h: a service of some nodes, each of which works off a queue, first come first served, at
   a fixed rate; and what goes wrong with it. A full queue drops what comes. Work that nobody waits
   for any more is done all the same, which is why a storm can outlast its cause. */
#ifndef STORM_SERVICE_H
#define STORM_SERVICE_H

#include "random.h"
#include "report.h"

enum { FAILS_AT = 10000 }; /* ms */

/* What a client hears; LOST: nothing. */
enum { REPLY_DONE, REPLY_REFUSED, REPLY_503, REPLY_LOST };

typedef struct reply {
    uint32_t at; /* ms; when the service sends it (NEVER: lost) */
    uint8_t what;
    bool worked; /* the service has spent its time on it */
} reply;

typedef struct service {
    const options *set;
    uint32_t works_at;              /* ms; the outage's end */
    uint32_t hit;                   /* nodes that it befalls */
    uint64_t work;                  /* ns of a node, for one attempt */
    uint64_t busy_until[NODES_MAX]; /* ns; when the queue will be worked off */
} service;

/* `clients` use so much of it as the options say, as long as nobody retries. */
static void service_begin(service *s, const options *set, uint32_t clients)
{
    memset(s, 0, sizeof *s);
    s->set = set;
    s->works_at = FAILS_AT + set->length;
    s->hit = (set->nodes * set->hit + 99) / 100;
    s->work = (uint64_t)set->think * 10000 * set->utilisation * set->nodes / clients;
}

static bool service_is_out(const service *s, uint32_t node, uint64_t at)
{
    return at >= FAILS_AT && at < s->works_at && node < s->hit;
}

/* An attempt reaches a node at `now`. What becomes of it is known at once, as the queue is in
   order. */
static reply service_take(service *s, uint32_t node, uint32_t now, dice *chance)
{
    static const reply lost = {NEVER, REPLY_LOST, false};
    uint64_t nanoseconds = (uint64_t)now * 1000000;
    uint64_t begin = s->busy_until[node] > nanoseconds ? s->busy_until[node] : nanoseconds;
    uint32_t outage = s->set->outage;
    bool unlucky = s->set->failing >= 100 || dice_unit(chance) * 100 < s->set->failing;
    bool out = unlucky && service_is_out(s, node, now);
    reply answer = {now, REPLY_REFUSED, false};
    if (out && outage == OUTAGE_REFUSED)
        return answer;
    if ((out && outage == OUTAGE_SILENCE) || begin - nanoseconds > s->set->queue * 1000000ull)
        return lost;
    s->busy_until[node] = begin + s->work * (out && outage == OUTAGE_SLOW ? s->set->slowness : 1);
    answer.at = (uint32_t)(s->busy_until[node] / 1000000) + 1;
    answer.worked = true;
    out = unlucky && service_is_out(s, node, answer.at);
    answer.what =
        out && (outage == OUTAGE_503 || outage == OUTAGE_RETRY_AFTER) ? REPLY_503 : REPLY_DONE;
    return answer;
}

/* What retry.h is told of a reply that is no success. */
static retry_failure service_failure(const service *s, uint8_t what)
{
    static const retry_failure late = {.reason = RETRY_REASON_ATTEMPT_TIMED_OUT, .timeout = true};
    bool says_when = s->set->outage == OUTAGE_RETRY_AFTER;
    if (what == REPLY_REFUSED)
        return retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_NODE_NOT_AVAILABLE);
    if (what == REPLY_503)
        return retry_classify_http(503, says_when ? s->set->retry_after : 0);
    return late;
}

#endif /* STORM_SERVICE_H */
