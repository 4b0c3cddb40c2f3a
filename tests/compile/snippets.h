/* snippets.h: what the pieces of code in README.md and in the manuals use and do not declare.
   Stands in front of each (snippets.awk); a piece may have variables of its own by the same names.
 */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __cplusplus
#include <exception>
#endif

#include "errmap.h"

/* Of the library. */
#define clock snippet_clock /* not that of time.h */
extern retry_clock clock;
extern retry_time now;
extern retry_ms wait, timeout, delay, retry_after;
extern retry_client client;
extern retry_policy policy;
extern retry_budget budget;
extern retry_budget_options options;
extern retry_gates gates, other_node;
extern retry_aimd limit;
extern retry_breaker breaker;
extern retry_throttle throttle;
extern retry_rate rate;
extern retry_latency latency;
extern retry_connection connection;
extern retry_request request;
extern retry_attempt attempt;
extern retry_decision answer, decision, end;
extern retry_hedge hedge;
extern retry_hedge_policy late;
#ifdef OF_README_md
extern retry_failure *failure; /* which a callback fills in */
#else
extern retry_failure failure;
#endif
extern errmap map;
extern errmap_advice advice;

/* Of the program. */
typedef struct operation {
    retry_request request;
    retry_attempt attempt;
} operation;
#ifndef FUNCTIONS /* in a piece that defines none itself */
extern retry_hedge_step step;
void do_step(operation *op, retry_decision decision);
#define step(op, decision) do_step(op, decision) /* the function, beside the variable */
#endif
extern operation *op;
extern const char *header, *host, *method, *sqlstate, *text, *value;
extern int status;
extern uint32_t others, retries;
extern bool commit_was_sent, connection_lost, sent, timed_out;
retry_time now_ms(void);
bool is_robot(void *context);
bool try_it(void);
void done(operation *op);
void failed(operation *op, const char *why, bool perhaps_done);
void log_line(const char *line);
void look_for_the_transaction(void);
void send_it(operation *op, retry_ms timeout);
void sleep_ms(retry_ms delay);
void start_timer(operation *op, retry_ms delay);
void use_another_node(void);
void snippet(void);
