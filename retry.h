#ifndef RETRY_H
#define RETRY_H

#define RETRY_VERSION_MAJOR 1
#define RETRY_VERSION_MINOR 0
#define RETRY_VERSION_PATCH 0
#define RETRY_VERSION \
    (RETRY_VERSION_MAJOR * 10000 + RETRY_VERSION_MINOR * 100 + RETRY_VERSION_PATCH)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A switch is on when it is defined as nothing (1 - - 1 is 2) or as 1; 0 would read as off. */
#ifdef RETRY_STATIC
#if (1 - RETRY_STATIC - 1) != 2 && (RETRY_STATIC + 0) != 1
#error "RETRY_STATIC is a switch: define it as nothing or as 1, or leave it undefined."
#endif
#endif
#ifdef RETRY_TIME_32
#if (1 - RETRY_TIME_32 - 1) != 2 && (RETRY_TIME_32 + 0) != 1
#error "RETRY_TIME_32 is a switch: define it as nothing or as 1, or leave it undefined."
#endif
#endif

#if !defined(RETRY_STATIC)
#define RETRY_API extern
#elif defined(__GNUC__)
#define RETRY_API static __attribute__((unused))
#else
#define RETRY_API static
#endif

/* With 32-bit instants every function that sees one, or a struct that holds one, has another
   name, so that files compiled with and without RETRY_TIME_32 do not link instead of misreading
   each other's structs. */
#ifdef RETRY_TIME_32
#define retry_begin retry_begin_time_32
#define retry_orchestrate retry_orchestrate_time_32
#define retry_resume retry_resume_time_32
#define retry_succeed retry_succeed_time_32
#define retry_cancel retry_cancel_time_32
#define retry_random retry_random_time_32
#define retry_format retry_format_time_32
#define retry_permitted retry_permitted_time_32
#define retry_policy_after retry_policy_after_time_32
#define retry_best_effort retry_best_effort_time_32
#define retry_fail_fast retry_fail_fast_time_32
#define retry_budget_init retry_budget_init_time_32
#define retry_budget_withdraw retry_budget_withdraw_time_32
#define retry_connection_begin retry_connection_begin_time_32
#define retry_connection_failed retry_connection_failed_time_32
#define retry_connection_established retry_connection_established_time_32
#define retry_run retry_run_time_32
#define retry_system_clock retry_system_clock_time_32
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version that the implementation was compiled as, to compare with RETRY_VERSION. */
RETRY_API uint32_t retry_version(void);

/* ---- Time ---------------------------------------------------------------------------------- */

typedef uint32_t retry_ms; /* a duration in milliseconds */
#ifdef RETRY_TIME_32
typedef uint32_t retry_time; /* an instant in milliseconds on the caller's monotonic clock */
#else
typedef uint64_t retry_time; /* an instant in milliseconds on the caller's monotonic clock */
#endif

/* ---- Reasons ------------------------------------------------------------------------------- */

/* Why an attempt failed: X(name, allows_non_idempotent, always_retry), as RFC 0049 has them.
   NONE, QUERY_ERROR_RETRYABLE, ATTEMPT_TIMED_OUT (the attempt's own timer ran out with the request
   on the wire) and SERVER_ERROR (a response that does not prove that nothing changed) are added. */
#define RETRY_REASONS(X)                               \
    X(NONE, false, false)                              \
    X(UNKNOWN, false, false)                           \
    X(SOCKET_NOT_AVAILABLE, true, false)               \
    X(SERVICE_NOT_AVAILABLE, true, false)              \
    X(NODE_NOT_AVAILABLE, true, false)                 \
    X(KV_NOT_MY_VBUCKET, true, true)                   \
    X(KV_COLLECTION_OUTDATED, true, true)              \
    X(KV_ERROR_MAP_RETRY_INDICATED, true, false)       \
    X(KV_LOCKED, true, false)                          \
    X(KV_TEMPORARY_FAILURE, true, false)               \
    X(KV_SYNC_WRITE_IN_PROGRESS, true, false)          \
    X(KV_SYNC_WRITE_RE_COMMIT_IN_PROGRESS, true, false) \
    X(SERVICE_RESPONSE_CODE_INDICATED, true, false)    \
    X(SOCKET_CLOSED_WHILE_IN_FLIGHT, false, false)     \
    X(CIRCUIT_BREAKER_OPEN, true, false)               \
    X(QUERY_PREPARED_STATEMENT_FAILURE, true, false)   \
    X(QUERY_INDEX_NOT_FOUND, true, false)              \
    X(ANALYTICS_TEMPORARY_FAILURE, true, false)        \
    X(SEARCH_TOO_MANY_REQUESTS, true, false)           \
    X(VIEWS_TEMPORARY_FAILURE, true, false)            \
    X(VIEWS_NO_ACTIVE_PARTITION, true, true)           \
    X(QUERY_ERROR_RETRYABLE, true, false)              \
    X(ATTEMPT_TIMED_OUT, false, false)                 \
    X(SERVER_ERROR, false, false)

typedef uint16_t retry_reason;

enum {
#define RETRY__X(name, allows, always) RETRY_REASON_##name,
    RETRY_REASONS(RETRY__X)
#undef RETRY__X
    RETRY_REASON_COUNT
};

enum {
    RETRY_REASON_ALLOWS_NON_IDEMPOTENT = 0x10, /* safe to send again whatever the operation */
    RETRY_REASON_ALWAYS = 0x20                 /* retried without asking a strategy */
};

/* An application's own reason: n 0 to 15; flags: the two above, or'ed, or 0. */
#define RETRY_REASON_USER(n, flags) ((retry_reason)(0x40 | ((flags) & 0x30) | ((n) & 0x0f)))

/* Whether an operation that is not idempotent may be sent again (false for an invalid reason). */
RETRY_API bool retry_reason_allows_non_idempotent(retry_reason reason);

/* Whether the reason is retried without asking a strategy (false for an invalid reason). */
RETRY_API bool retry_reason_always(retry_reason reason);

/* "KV_LOCKED", "USER_3"; "INVALID" for what is neither of the table nor the application's. */
RETRY_API const char *retry_reason_name(retry_reason reason);

typedef uint64_t retry_reason_set; /* one bit a reason; an invalid reason has none */

/* Whether the reason is in the set. Flags of an application's reason are not compared. */
RETRY_API bool retry_reason_set_has(retry_reason_set set, retry_reason reason);

/* ---- A failed attempt ---------------------------------------------------------------------- */

/* What the caller knows about whether another try could do harm. */
enum { RETRY_SAFETY_MAYBE, RETRY_SAFETY_YES, RETRY_SAFETY_NO };

/* Whose fault the failure is. */
enum { RETRY_FAULT_OTHER, RETRY_FAULT_CLIENT, RETRY_FAULT_SERVER };

typedef struct retry_failure {
    retry_reason reason;  /* RETRY_REASON_x or RETRY_REASON_USER (default: NONE: not retried) */
    uint8_t safety;       /* RETRY_SAFETY_x: is another try safe? (default: MAYBE: the reason says) */
    uint8_t fault;        /* RETRY_FAULT_x (default: OTHER) */
    bool throttle;        /* the server asked for less load (default: false) */
    bool timeout;         /* the attempt ran out of its own time (default: false) */
    bool unknown;         /* a code the library does not know: ask the error map (default: false) */
    retry_ms retry_after; /* ms that the server wants waited at least (default: 0: it said nothing) */
    uint32_t code;        /* the protocol's status code (default: 0) */
} retry_failure;

/* ---- Client, request, decision ------------------------------------------------------------- */

typedef struct retry_client retry_client;
typedef struct retry_request retry_request;
typedef struct retry_strategy retry_strategy;
typedef struct retry_budget retry_budget;

/* X(name): what the caller does next. */
#define RETRY_VERDICTS(X)                                                          \
    X(FAIL)    /* give the original error to whoever asked */                      \
    X(RETRY)   /* wait `delay` ms, then try again */                               \
    X(EXPIRE)  /* wait at most `delay` ms, then fail as timed out; no further try */ \
    X(PENDING) /* wait for the strategy's answer and hand it to retry_resume */    \
    X(SUCCESS) /* done; from retry_run only */

/* X(name, text): why. */
#define RETRY_CAUSES(X)                                                      \
    X(NONE, "no cause given")                                                \
    X(ALWAYS, "the reason is always retried")                                \
    X(STRATEGY, "the strategy granted a retry")                              \
    X(DEADLINE, "the wait would reach the operation's deadline")             \
    X(NOT_RETRYABLE, "the failure gives no reason to retry")                 \
    X(UNKNOWN_REASON, "the reason is unknown")                               \
    X(UNSAFE, "another try is not safe")                                     \
    X(NOT_IDEMPOTENT, "the operation is not idempotent")                     \
    X(ATTEMPTS_EXHAUSTED, "the attempts are used up")                        \
    X(BUDGET_EXHAUSTED, "the retry budget is used up")                       \
    X(MAX_DURATION, "the server's limit on retrying this code is reached")   \
    X(REFUSED, "the strategy refused")                                       \
    X(PENDING, "the strategy answers later")                                 \
    X(CANCELLED, "the request was cancelled")                                \
    X(MISUSE, "NULL, or a request that is not begun, finished or waiting")

enum {
#define RETRY__X(name) RETRY_VERDICT_##name,
    RETRY_VERDICTS(RETRY__X)
#undef RETRY__X
    RETRY_VERDICT_COUNT
};

enum {
#define RETRY__X(name, text) RETRY_CAUSE_##name,
    RETRY_CAUSES(RETRY__X)
#undef RETRY__X
    RETRY_CAUSE_COUNT
};

typedef struct retry_decision {
    uint8_t verdict; /* RETRY_VERDICT_x (default: FAIL) */
    uint8_t cause;   /* RETRY_CAUSE_x (default: NONE) */
    retry_ms delay;  /* ms to wait, as the verdict says (default: 0) */
} retry_decision;

/* A strategy's answer. Any other kind than these three refuses. */
enum { RETRY_ACTION_NONE, RETRY_ACTION_AFTER, RETRY_ACTION_PENDING };

typedef struct retry_action {
    uint8_t kind;   /* RETRY_ACTION_x (default: NONE: no retry) */
    uint8_t cause;  /* RETRY_CAUSE_x; why not (default: NONE) */
    retry_ms delay; /* ms to wait before the retry (default: 0) */
} retry_action;

/* "FAIL", "RETRY" ...; "INVALID" for any other number. */
RETRY_API const char *retry_verdict_name(uint8_t verdict);

/* The cause as half a sentence; "invalid cause" for a number that is none. */
RETRY_API const char *retry_cause_text(uint8_t cause);

/* 32 uniform bits. */
typedef uint32_t retry_random_fn(void *context);

/* Told of a decision once it is made. The request's counters already include it. */
typedef void retry_observe_fn(void *context, const retry_request *request,
                              const retry_failure *failure, const retry_decision *decision);

/* Shared by any number of requests; constant after set-up. */
struct retry_client {
    const retry_strategy *strategy; /* (default: NULL: retry_best_effort()) */
    retry_budget *budget;           /* bucket that strategies' retries are paid from (default: NULL) */
    retry_observe_fn *observe;      /* called once per decision (default: NULL) */
    void *observe_context;          /* handed to observe (default: NULL) */
    retry_random_fn *random;        /* (default: NULL: the built-in generator) */
    void *random_context;           /* handed to random (default: NULL) */
    retry_ms always_interval;       /* ms; wait for always-retry reasons (default: 0: 1 10 50 ...) */
};

/* One operation with all its attempts. Zero it, set the first five, call retry_begin. */
struct retry_request {
    const retry_client *client;     /* (default: NULL: all defaults) */
    const retry_strategy *strategy; /* this request's own (default: NULL: the client's) */
    void *context;                  /* the application's data, for strategies and observers */
    retry_ms timeout;               /* ms for the whole operation (default: 0: none) */
    bool idempotent;                /* sent twice it does what it does once (default: false) */
    uint8_t retry__state;           /* private */
    bool retry__failed;             /* private: a failure has been recorded */
    /* Kept by the library, free to read: */
    uint32_t attempts;        /* retries so far */
    uint32_t retry__charge;   /* private: thousandths paid for the retry under way */
    retry_reason_set reasons; /* every reason seen */
    retry_time started;       /* ms; when retry_begin was called */
    uint32_t code;            /* the last failure's code */
    uint32_t code_attempts;   /* retries since the code last changed */
    retry_time code_since;    /* ms; when the code was first seen in a row */
    retry_ms last_delay;      /* ms; the delay of the last retry granted */
    retry_ms retry__elapsed;  /* private: ms from started to the last decision */
};

/* Seeds the built-in generator. Neighbouring seeds give unrelated sequences, so firmware may pass
   its device id. Without it the generator seeds itself at its first use from the request's address
   and start: enough where addresses are randomised, not in firmware. */
RETRY_API void retry_seed(uint32_t entropy);

/* Opens a request at `now`, with the configuration it has. An open one is cancelled first. */
RETRY_API void retry_begin(retry_request *request, retry_time now);

/* Decides a failed attempt: the header's opening comment has the steps, RETRY_CAUSES the causes.
   A NULL argument, a strategy without a function, and a request that is not begun, finished or
   waiting for retry_resume give FAIL, MISUSE (after retry_cancel FAIL, CANCELLED) and change
   nothing. Source: RFC 0049. */
RETRY_API retry_decision retry_orchestrate(retry_request *request, const retry_failure *failure,
                                           retry_time now);

/* Goes on where PENDING left off, with the strategy's answer (which may be pending again) and the
   failure that was being decided. FAIL, MISUSE (or CANCELLED) if the request waits for none. */
RETRY_API retry_decision retry_resume(retry_request *request, const retry_failure *failure,
                                      retry_action action, retry_time now);

/* Finishes a request that worked and does the budget's bookkeeping. False, and nothing changes, if
   it is not open. */
RETRY_API bool retry_succeed(retry_request *request, retry_time now);

/* Finishes a request that nobody waits for any more. The charge of a granted retry that has not
   been followed by a failure or a success goes back. Changes nothing if it is not open. */
RETRY_API void retry_cancel(retry_request *request, retry_time now);

/* 32 uniform bits from the request's client, for strategies of one's own. */
RETRY_API uint32_t retry_random(const retry_request *request);

/* Writes one log line: verdict, delay, reason, hexadecimal code, cause, attempts, elapsed time and
   timeout, as of the last decision. At most `capacity` bytes, always terminated (unless capacity
   is 0). Returns the length of the whole line; a NULL part is left out. */
RETRY_API size_t retry_format(char *buffer, size_t capacity, const retry_request *request,
                              const retry_failure *failure, const retry_decision *decision);

/* ---- Strategies ---------------------------------------------------------------------------- */

/* Retry after `delay` ms. */
RETRY_API retry_action retry_action_after(retry_ms delay);

/* No retry; `cause` (RETRY_CAUSE_x) says why. */
RETRY_API retry_action retry_action_none(uint8_t cause);

/* The answer comes later, through retry_resume. */
RETRY_API retry_action retry_action_pending(void);

/* Whether and when to retry; nothing else. Budget, deadline, counting and telling are not a
   strategy's business. Embed it as the first member of your own struct. */
struct retry_strategy {
    retry_action (*retry_after)(const retry_strategy *self, retry_request *request,
                                const retry_failure *failure, retry_time now); /* (no default) */
};

/* Whether the failure lets the operation be sent again: it is idempotent, the reason allows it, or
   safety is YES; never when safety is NO. False for NULL. */
RETRY_API bool retry_permitted(const retry_request *request, const retry_failure *failure);

/* ---- Backoff ------------------------------------------------------------------------------- */

/* x, 0 to 65535.9, as unsigned 16.16 fixed point; a constant expression, for initialisers. */
#define RETRY_RATIO(x) ((uint32_t)((x)*65536.0 + 0.5))

enum {
    RETRY_CURVE_EXPONENTIAL, /* initial * factor^n */
    RETRY_CURVE_CONSTANT,    /* initial */
    RETRY_CURVE_LINEAR,      /* initial * (n + 1) */
    RETRY_CURVE_POWER,       /* initial^n */
    RETRY_CURVE_CONTROLLED,  /* 1 10 50 100 500 1000 1000 ... (RFC 0049) */
    RETRY_CURVE_TABLE,       /* table[n] */
    RETRY_CURVE_CUSTOM       /* custom(self, n) */
};

/* What is drawn at random for a base delay d. */
enum {
    RETRY_JITTER_NONE,        /* d */
    RETRY_JITTER_FULL,        /* 0 to d */
    RETRY_JITTER_EQUAL,       /* d/2 to d */
    RETRY_JITTER_SPREAD,      /* d - spread*d to d + spread*d (gRPC) */
    RETRY_JITTER_DECORRELATED /* initial to 3 * previous; the curve is not asked */
};

/* A curve or a jitter outside its range, a TABLE of no length and a CUSTOM without a function count
   as EXPONENTIAL, or as no jitter. */
typedef struct retry_backoff {
    uint8_t curve;          /* RETRY_CURVE_x (default: EXPONENTIAL) */
    uint8_t jitter;         /* RETRY_JITTER_x (default: NONE) */
    retry_ms min;           /* ms; no delay is shorter, jitter included (default: 0) */
    retry_ms initial;       /* ms; the first delay, before jitter (default: 0: 1 ms) */
    retry_ms max;           /* ms; no delay is longer, SPREAD's excepted (default: 0: no cap) */
    uint32_t factor;        /* RETRY_RATIO; below 1 counts as 1 (default: 0: 2) */
    uint32_t spread;        /* RETRY_RATIO of the delay, for SPREAD (default: 0) */
    const retry_ms *table;  /* ms, for TABLE; the last value repeats (default: NULL) */
    uint32_t table_length;  /* values in table (default: 0) */
    retry_ms (*custom)(const struct retry_backoff *self, uint32_t attempt); /* ms (default: NULL) */
} retry_backoff;

/* The delay in ms before jitter; `attempt` is the number of retries already made, so 0 gives the
   first. Pure. Never falls as `attempt` grows (but for TABLE and CUSTOM), at most 32 steps of a
   loop, EXPONENTIAL within 1 ms or 0.01 % of the real number. Saturates; `min` is not applied; 0
   for NULL. */
RETRY_API retry_ms retry_backoff_base(const retry_backoff *backoff, uint32_t attempt);

/* The delay in ms with jitter. `previous`: the last delay, in ms, for DECORRELATED (below `initial`
   counts as `initial`); `random`: 0 gives the low end of the range, UINT32_MAX the high end, linear
   between. Pure. 0 for NULL. Sources: AWS on jitter; gRPC for SPREAD. */
RETRY_API retry_ms retry_backoff_delay(const retry_backoff *backoff, uint32_t attempt,
                                       retry_ms previous, uint32_t random);

/* An offset in ms in [0, period) for periodic work, the same on every platform for the same
   identity (`length` bytes). 0 if period is 0; NULL counts as no bytes. */
RETRY_API retry_ms retry_phase(const void *identity, size_t length, retry_ms period);

/* Initialisers. */
#define RETRY__BACKOFF(curve, jitter, min, initial, max, factor, spread) \
    {                                                                    \
        curve, jitter, min, initial, max, factor, spread, NULL, 0, NULL  \
    }
#define RETRY_BACKOFF_DEFAULT \
    RETRY__BACKOFF(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_NONE, 0, 0, 0, 0, 0)
#define RETRY_BACKOFF_BEST_EFFORT \
    RETRY__BACKOFF(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_FULL, 1, 1, 500, 0, 0)
#define RETRY_BACKOFF_RFC0049 \
    RETRY__BACKOFF(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_NONE, 0, 1, 500, 0, 0)
#define RETRY_BACKOFF_CONTROLLED \
    RETRY__BACKOFF(RETRY_CURVE_CONTROLLED, RETRY_JITTER_NONE, 0, 0, 0, 0, 0)
#define RETRY_BACKOFF_AWS \
    RETRY__BACKOFF(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_FULL, 0, 1000, 20000, 0, 0)
#define RETRY_BACKOFF_AWS_2026 \
    RETRY__BACKOFF(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_FULL, 0, 50, 20000, 0, 0)
#define RETRY_BACKOFF_GRPC                                                                \
    RETRY__BACKOFF(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_SPREAD, 0, 1000, 120000,         \
                   RETRY_RATIO(1.6), RETRY_RATIO(0.2))

/* ---- The built-in strategy ----------------------------------------------------------------- */

/* Start from a preset: `base` has no default. */
typedef struct retry_policy {
    retry_strategy base;            /* { retry_policy_after } (no default) */
    retry_backoff backoff;          /* (default: 1 ms doubling without end, no jitter) */
    retry_backoff throttle_backoff; /* after a throttled attempt (default: initial 0: backoff) */
    uint32_t max_attempts;          /* the first included (default: 0: no limit) */
    retry_ms retry_after_max;       /* ms; the most that a server may ask for (default: 0: no cap) */
    retry_ms retry_after_slack;     /* ms; the most above the computed delay (default: 0: no cap) */
    uint32_t retry_after_spread;    /* RETRY_RATIO of it, added at random, so that all do not
                                       return at once (default: 0) */
} retry_policy;

/* Answers, in this order: not permitted (NOT_IDEMPOTENT), attempts used up (ATTEMPTS_EXHAUSTED),
   else the backoff's delay, raised to what the server wants within both caps. NULL: MISUSE. */
RETRY_API retry_action retry_policy_after(const retry_strategy *self, retry_request *request,
                                          const retry_failure *failure, retry_time now);

/* RETRY_POLICY_BEST_EFFORT (RFC 0049). */
RETRY_API const retry_strategy *retry_best_effort(void);

/* Refuses everything (REFUSED) that is not always retried; for a library's internal requests, as
   RFC 0049 demands. */
RETRY_API const retry_strategy *retry_fail_fast(void);

/* Initialisers. */
#define RETRY__POLICY(backoff, throttle_backoff, attempts, after_max, after_slack)             \
    {                                                                                          \
        {retry_policy_after}, backoff, throttle_backoff, attempts, after_max, after_slack, 0   \
    }
#define RETRY_POLICY_BEST_EFFORT \
    RETRY__POLICY(RETRY_BACKOFF_BEST_EFFORT, RETRY_BACKOFF_DEFAULT, 0, 0, 0)
#define RETRY_POLICY_SMITHY RETRY__POLICY(RETRY_BACKOFF_AWS, RETRY_BACKOFF_DEFAULT, 5, 0, 0)
#define RETRY_POLICY_AWS RETRY__POLICY(RETRY_BACKOFF_AWS, RETRY_BACKOFF_DEFAULT, 3, 20000, 0)
#define RETRY_POLICY_AWS_2026 \
    RETRY__POLICY(RETRY_BACKOFF_AWS_2026, RETRY_BACKOFF_AWS, 3, 0, 5000)

/* ---- Retry budget -------------------------------------------------------------------------- */

/* All but `capacity` default to 0 or false. Amounts are thousandths of a token. */
typedef struct retry_budget_options {
    uint32_t capacity;          /* thousandths; it starts full; 0 pays for nothing (no default) */
    uint32_t retry_cost;        /* thousandths for a retry (default: 0: free) */
    uint32_t timeout_cost;      /* thousandths after a timeout (default: 0: retry_cost) */
    uint32_t throttle_cost;     /* thousandths after a throttled attempt (default: 0: retry_cost) */
    uint32_t success_deposit;   /* thousandths on a success; with refund_last only on one that
                                   needed no retry (default: 0) */
    uint32_t request_deposit;   /* thousandths on every retry_begin: a share of the traffic, as in
                                   Finagle and Envoy (default: 0) */
    uint32_t refill_per_second; /* thousandths a second, so that retries go on at a fixed rate when
                                   the bucket is empty (default: 0) */
    uint32_t floor;             /* thousandths; a withdrawal must leave more (default: 0: it may
                                   empty the bucket) */
    bool refund_last;           /* a success after retries gets back what its last retry cost
                                   (default: false) */
    bool charge_failures;       /* gRPC: the charge is for the failure, whatever is decided; a
                                   retry needs a balance above `floor` after it (default: false) */
} retry_budget_options;

/* Shared by any number of requests, clients and threads, without a lock. */
struct retry_budget {
    retry_budget_options options; /* constant after retry_budget_init */
    uint32_t retry__balance;      /* private: thousandths */
    uint32_t retry__refilled;     /* private: ms, modulo 2^32; refilled up to here */
    uint32_t retry__fraction;     /* private: millionths below a thousandth, 0 to 999 */
};

/* Fills the bucket. Not while others use it. NULL options: capacity 0. */
RETRY_API void retry_budget_init(retry_budget *budget, const retry_budget_options *options,
                                 retry_time now);

/* Refills, then takes `cost` thousandths if they are there and leave more than `floor`: all or
   nothing. Cost 0 succeeds except with capacity 0 or a balance not above `floor`. NULL: false. */
RETRY_API bool retry_budget_withdraw(retry_budget *budget, uint32_t cost, retry_time now);

/* Puts `amount` thousandths in, never above the capacity. */
RETRY_API void retry_budget_deposit(retry_budget *budget, uint32_t amount);

/* Thousandths in the bucket as of the last call on it. NULL: 0. */
RETRY_API uint32_t retry_budget_balance(const retry_budget *budget);

/* Initialisers of retry_budget_options. SMITHY gives 1 token back on every success, as its guide
   says; AWS gives back the last charge, or 1 token for a success that needed no retry. */
#define RETRY_BUDGET_SMITHY {500000, 5000, 10000, 5000, 1000, 0, 0, 0, false, false}
#define RETRY_BUDGET_AWS {500000, 5000, 10000, 5000, 1000, 0, 0, 0, true, false}
#define RETRY_BUDGET_AWS_2026 {500000, 14000, 14000, 5000, 1000, 0, 0, 0, true, false}
#define RETRY_BUDGET_GRPC {10000, 1000, 0, 0, 100, 0, 0, 5000, false, true}

/* ---- Connection backoff -------------------------------------------------------------------- */

/* One connection's attempts, spaced start to start. Source: gRPC's connection backoff. */
typedef struct retry_connection {
    retry_backoff backoff;             /* (default: 1 ms doubling without end, no jitter) */
    retry_ms min_connect_timeout;      /* ms that an attempt is always granted (default: 0) */
    retry_ms stable_after;             /* ms that a connection must last to reset (default: 0) */
    uint32_t retry__attempts;          /* private: attempts begun since the last reset */
    retry_ms retry__spacing;           /* private: ms from this attempt's start to the next's */
    retry_time retry__started;         /* private: this attempt's start */
    retry_time retry__established_at;  /* private: when SETTINGS were seen */
    bool retry__established;           /* private: the connection is up */
} retry_connection;

/* Before each attempt: returns its connect timeout in ms, the larger of what is left to its
   deadline and min_connect_timeout. The deadline is when the next attempt may start. NULL: 0. */
RETRY_API retry_ms retry_connection_begin(retry_connection *connection, uint32_t random,
                                          retry_time now);

/* When an attempt fails or the connection is lost: returns the ms to sleep before the next attempt,
   0 once the deadline has passed. NULL: 0. */
RETRY_API retry_ms retry_connection_failed(retry_connection *connection, retry_time now);

/* When the connection is usable (for HTTP/2: SETTINGS seen). Once it has lasted stable_after ms,
   the next _begin after its loss counts from one again. */
RETRY_API void retry_connection_established(retry_connection *connection, retry_time now);

#define RETRY_CONNECTION_GRPC                      \
    {                                              \
        RETRY_BACKOFF_GRPC, 20000, 0, 0, 0, 0, 0, false \
    }

/* ---- Not-my-vbucket ------------------------------------------------------------------------ */

enum { RETRY_MAP_CURRENT, RETRY_MAP_FAST_FORWARD };

typedef struct retry_nmv_step {
    uint8_t map;    /* RETRY_MAP_x to look the vbucket up in */
    retry_ms delay; /* ms to wait before that */
} retry_nmv_step;

/* One operation's way through the bucket's maps. Source: RFC 0005. */
typedef struct retry_nmv {
    retry_ms interval;          /* ms between tries on the same map (default: 0: 100 ms) */
    retry_nmv_step retry__step; /* private: the step under way */
    uint64_t retry__revision;   /* private: of the current map when its turn or the fast-forward
                                   map's began */
    bool retry__waiting;        /* private: the step under way is a wait */
} retry_nmv;

/* Starts with the current map at `revision`. */
RETRY_API void retry_nmv_begin(retry_nmv *nmv, uint64_t revision);

/* Not-my-vbucket on the map of the last step: `revision` is the newest known, `has_fast_forward`
   whether the bucket's configuration has such a map. Newer revision: the current map at once. Else
   from the current map the fast-forward map at once, if there is one; else the same after
   `interval`. NULL: the current map at once. */
RETRY_API retry_nmv_step retry_nmv_rejected(retry_nmv *nmv, uint64_t revision,
                                            bool has_fast_forward);

/* A map came while waiting: a newer revision means the current map at once. Else, or when nothing
   waits, nothing changes; returns the step under way. */
RETRY_API retry_nmv_step retry_nmv_config(retry_nmv *nmv, uint64_t revision);

/* ---- Classification and idempotency -------------------------------------------------------- */

enum { RETRY_STAGE_DISPATCH, RETRY_STAGE_IN_FLIGHT };

/* A memcached binary response. A status that is neither retried nor known sets `unknown`. */
RETRY_API retry_failure retry_classify_kv(uint16_t status, uint8_t opcode);

/* A query error: its code, message (`length` bytes) and the server's own `retry` flag. */
RETRY_API retry_failure retry_classify_query(uint32_t code, const char *message, size_t length,
                                             bool retry_flag);

/* An analytics error code. */
RETRY_API retry_failure retry_classify_analytics(uint32_t code);

/* A search response. Only RFC 0049's list is retried. */
RETRY_API retry_failure retry_classify_search(int http_status);

/* A views response with its body (`length` bytes). Only RFC 0049's list is retried. */
RETRY_API retry_failure retry_classify_views(int http_status, const char *body, size_t length);

/* Any HTTP response; `retry_after` in ms, 0 without the header. Source: RFC 9110. */
RETRY_API retry_failure retry_classify_http(int http_status, retry_ms retry_after);

/* A failure without a response. RETRY_STAGE_DISPATCH, before anything was sent: the reason handed
   in. Any other stage counts as RETRY_STAGE_IN_FLIGHT: SOCKET_CLOSED_WHILE_IN_FLIGHT. */
RETRY_API retry_failure retry_classify_stage(uint8_t stage, retry_reason dispatch_reason);

/* Whether a memcached opcode, or an HTTP method (`length` bytes, case-sensitive), is idempotent. */
RETRY_API bool retry_idempotent_kv(uint8_t opcode);
RETRY_API bool retry_idempotent_http(const char *method, size_t length);

/* Reads a Retry-After value (`length` bytes without surrounding white space): delta-seconds or one
   of RFC 9110's three HTTP-date forms, against `unix_seconds`, the wall clock. Sets *delay in ms: 0
   for a date that is past, UINT32_MAX if it is too long. A two-digit year is the latest with those
   digits at most 50 years ahead. False, and *delay is left alone, for anything else. */
RETRY_API bool retry_parse_retry_after(const char *value, size_t length, int64_t unix_seconds,
                                       retry_ms *delay);

/* ---- A loop, for those who block ----------------------------------------------------------- */

typedef struct retry_clock {
    retry_time (*now)(void *context);              /* monotonic, ms (no default) */
    void (*sleep)(void *context, retry_ms delay);  /* (no default) */
    void *context;                                 /* handed to both (default: NULL) */
} retry_clock;

/* One attempt. True: done. False: it failed as it wrote into *failure (zeroed before). */
typedef bool retry_attempt_fn(void *context, const retry_request *request,
                              retry_failure *failure);

/* Begins the request, makes the attempts, sleeps between them and at an EXPIRE, and returns the
   last decision: SUCCESS, FAIL or EXPIRE; PENDING, at once and with the request left open, if a
   strategy answers later. A NULL argument or clock function (`context` may be): FAIL, MISUSE. */
RETRY_API retry_decision retry_run(retry_request *request, const retry_clock *clock,
                                   retry_attempt_fn *attempt, void *context);

#ifdef RETRY_SYSTEM_CLOCK
/* The system's monotonic clock and an uninterrupted sleep (POSIX, Windows). */
RETRY_API retry_clock retry_system_clock(void);
#endif

#ifdef __cplusplus
}
#endif

#endif /* RETRY_H */
