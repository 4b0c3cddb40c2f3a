/* Circuit breakers, and what they are told. For those who include retry.h, or a cut that has the
   breaker, and check.h before. */
#ifndef BREAKERS_H
#define BREAKERS_H

#define SECOND UINT32_C(1000)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)

/* Instants at which a breaker may be used first: 31 bits of them are kept, or all, and some of
   these are just before or behind where those wrap, or look like a clock that stepped back from 0.
 */
static const retry_time starts[] = {
    0,
    1,
    3999,
    4000,
    UINT32_C(0x00ffffff),
    UINT32_C(0x7ffffc17),
    UINT32_C(0x7fffffff),
    UINT32_C(0x80000000),
    UINT32_C(0x9abcdef0),
    UINT32_C(0xf8000000),
    UINT32_C(0xffffffff) - 100000,
    UINT32_C(0xffffffff) - 1999,
    UINT32_C(0xffffffff),
};

static retry_failure sick, answered, ignored;

static inline void set_up(void)
{
    sick = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    answered = check_failure_of(RETRY_REASON_KV_LOCKED);
    ignored = check_failure_of(RETRY_REASON_CLIENT_THROTTLED);
}

static inline retry_breaker breaker_of(uint32_t volume, uint32_t ratio, retry_ms window,
                                       retry_ms open)
{
    retry_breaker breaker;
    memset(&breaker, 0, sizeof breaker);
    breaker.volume = volume;
    breaker.ratio = ratio;
    breaker.window = window;
    breaker.open = open;
    return breaker;
}

/* `count` attempts that end this way at once; how many reports changed the state. */
static inline uint32_t attempts(retry_breaker *breaker, uint32_t count,
                                const retry_failure *failure, retry_time now)
{
    uint32_t changes = 0;
    for (; count != 0; count--) {
        retry_permit permit = retry_breaker_ask(breaker, true, now);
        changes += retry_breaker_report(breaker, permit, failure, now);
    }
    return changes;
}

/* A breaker of these numbers, opened by a single report at `now`. */
static inline retry_breaker opened(retry_ms open, retry_ms probe_timeout, retry_time now)
{
    retry_breaker breaker = breaker_of(1, 0, 0, open);
    breaker.probe_timeout = probe_timeout;
    CHECK_EQUAL(1, attempts(&breaker, 1, &sick, now));
    return breaker;
}

static inline bool granted(retry_breaker *breaker, retry_time now)
{
    return retry_breaker_ask(breaker, true, now).granted;
}

/* CHECK_STATE(OPEN, breaker, now) */
#define CHECK_STATE(state, breaker, now) \
    CHECK_EQUAL(RETRY_BREAKER_##state, retry_breaker_state((breaker), (now)))

static inline void check_counts(retry_breaker *breaker, uint32_t reports, uint32_t sick_ones,
                                retry_time now, const char *file, int line)
{
    retry_breaker_counts counts = retry_breaker_get(breaker, now);
    check_equal(reports, counts.reports, "reports", file, line);
    check_equal(sick_ones, counts.sick, "sick", file, line);
}

#define CHECK_COUNTS(reports, sick_ones, breaker, now) \
    check_counts((breaker), (reports), (sick_ones), (now), __FILE__, __LINE__)

/* How many sick reports from here on open it; `most` if none does. */
static inline uint32_t sick_to_open(const retry_breaker *breaker, uint32_t most, retry_time now)
{
    retry_breaker copy = *breaker;
    uint32_t count = 0;
    while (count < most && retry_breaker_state(&copy, now) == RETRY_BREAKER_CLOSED) {
        attempts(&copy, 1, &sick, now);
        count++;
    }
    return count;
}

enum { IGNORED, SICK, ANSWERED };

static inline const retry_failure *failure_of(uint32_t outcome)
{
    return outcome == IGNORED ? &ignored : outcome == SICK ? &sick : NULL;
}

/* In the middle of what a half began with; so it does not matter where the first one began. */
static inline retry_breaker breaker_in_time(retry_ms window, retry_time start)
{
    retry_breaker breaker = breaker_of(UINT32_MAX, 0, window, 0);
    attempts(&breaker, 1, NULL, check_before(start, 4 * UINT32_C(0x800000)));
    return breaker;
}

#define CLOSED RETRY_BREAKER_CLOSED
#define OPEN RETRY_BREAKER_OPEN
#define HALF_OPEN RETRY_BREAKER_HALF_OPEN
#define ISOLATED RETRY_BREAKER_ISOLATED

#endif
