/* One gate alone, by operations that use nothing else: for tests of a gate's own rules. Each call
   is an operation of its own, which fails fast and has no end. Include it after retry.h. */
#ifndef BY_HAND_H
#define BY_HAND_H

#include "reasons.h"

#include <string.h>

static inline uint32_t by_hand_random(void *drawn)
{
    return *(const uint32_t *)drawn;
}

/* Every number that the operation draws is *drawn; NULL: by the library's own generator. */
static inline retry_operation by_hand_start(retry_client *client, retry_gates *gates,
                                            uint32_t *drawn, retry_time now)
{
    retry_operation op;
    memset(client, 0, sizeof *client);
    memset(&op, 0, sizeof op);
    client->gates = gates;
    client->strategy = retry_fail_fast();
    client->random = drawn ? by_hand_random : NULL;
    client->random_context = drawn;
    op.client = client;
    op.timeout = UINT32_MAX;
    retry_start(&op, NULL, now);
    return op;
}

/* What the gates say; the attempt is not made, so what they gave goes back. */
static inline retry_step by_hand_ask(retry_gates *gates, uint32_t drawn, retry_time now)
{
    retry_client client;
    retry_operation op = by_hand_start(&client, gates, &drawn, now);
    retry_step step = retry_next(&op, now);
    retry_stop(&op, now);
    return step;
}

/* What the gates say at `sent`. An attempt that they let pass is made, and ends at `now`; NULL
   failure: it worked. */
static inline retry_step by_hand_attempt(retry_gates *gates, uint32_t drawn, retry_time sent,
                                         const retry_failure *failure, retry_time now)
{
    retry_client client;
    retry_operation op = by_hand_start(&client, gates, &drawn, sent);
    retry_step step = retry_next(&op, sent);
    if (step.what == RETRY_DO_SEND)
        retry_ended(&op, 0, failure, now);
    retry_stop(&op, now);
    return step;
}

/* An attempt that nobody waits for any more at `now`. */
static inline retry_step by_hand_give_up(retry_gates *gates, retry_time sent, retry_time now)
{
    retry_client client;
    retry_operation op = by_hand_start(&client, gates, NULL, sent);
    retry_step step = retry_next(&op, sent);
    retry_stop(&op, now);
    return step;
}

/* An attempt that is sent now and ends later. It stays where it is until then. */
struct by_hand {
    retry_client client;
    retry_operation op;
};

/* What the gates say. */
static inline retry_step by_hand_send(struct by_hand *hand, retry_gates *gates, uint32_t *drawn,
                                      retry_time now)
{
    hand->op = by_hand_start(&hand->client, gates, drawn, now);
    return retry_next(&hand->op, now);
}

/* NULL failure: it worked. Who was not sent gives up. */
static inline void by_hand_end(struct by_hand *hand, const retry_failure *failure, retry_time now)
{
    retry_ended(&hand->op, 0, failure, now);
    retry_stop(&hand->op, now);
}

/* An AIMD limit hears at `now` of an attempt that was sent at `sent`, while so many are in use, the
   attempt included: each call has gates of its own. Returns the limit. */
static inline uint32_t by_hand_aimd(retry_aimd *aimd, const retry_failure *failure, uint32_t in_use,
                                    retry_time sent, retry_time now)
{
    struct by_hand hand;
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    retry_gates_aimd(&gates, aimd);
    by_hand_send(&hand, &gates, NULL, sent);
    gates.in_flight = in_use;
    by_hand_end(&hand, failure, now);
    return retry_aimd_limit(aimd);
}

/* ms until a rate would let an attempt pass, if its `wait` is 1; 0: it has, and takes a token. */
static inline retry_ms by_hand_rate(retry_rate *rate, retry_time now)
{
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    retry_gates_rate(&gates, rate);
    return by_hand_ask(&gates, 0, now).delay;
}

/* What a report counts for at a gate, by its reason alone. */
enum {
    BY_HAND_UNSENT = REASON_NOTHING,
    BY_HAND_SICK = REASON_SICK,
    BY_HAND_ANSWER = REASON_ANSWER
};

static inline unsigned by_hand_outcome(retry_reason reason)
{
    return reason_row_of(reason).gates;
}

#endif
