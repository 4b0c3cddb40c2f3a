/* snippets.h: what the pieces of code in README.md and in the manuals use and do not declare.
   Stands in front of each (snippets.awk); a piece may have variables of its own by the same names.
 */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#include <errno.h>
#include <limits.h>
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
extern retry_ms wait, timeout, delay, retry_after, cap;
extern retry_client client;
extern retry_policy policy;
extern retry_backoff backoff;
extern retry_budget budget;
extern retry_budget_options options;
extern retry_gates gates;
extern retry_aimd limit;
extern retry_breaker breaker;
extern retry_throttle throttle;
extern retry_rate rate;
extern retry_latency latency;
extern retry_connection connection;
extern retry_operation request;
extern retry_scopes scopes;
extern retry_service service;
extern retry_step end;
extern retry_failure failure;
extern errmap map;
extern errmap_advice advice;
extern errmap_nmv nmv;

/* Of the program. */
typedef struct operation {
    retry_operation retry;
    bool paced, perhaps_done;
} operation;
extern operation *op;
extern unsigned copy;
#ifndef FUNCTIONS
void advance(operation *op);
#endif
extern const char *header, *host, *method, *sqlstate, *text, *value;
extern int status;
extern uint32_t retries;
#ifdef OF_errmap_h
extern const char *message, *body;
extern errmap_nmv_step step;
extern int http_status;
extern size_t length;
extern uint8_t opcode;
extern uint32_t code;
extern uint64_t revision;
extern bool has_fast_forward, read_only, retry_flag;
#endif
extern bool commit_was_sent, connection_lost, sent, timed_out;
retry_time now_ms(void);
uint32_t ticks(void);
extern uint32_t device;
bool is_robot(void *context);
bool try_it(void);
void abort_copy(operation *op, unsigned copy);
void begin_next_job_in(retry_ms delay);
void finished(operation *op, retry_step step);
void log_line(const char *line);
void put_back(operation *op);
void look_for_the_transaction(void);
void send_copy(operation *op, unsigned copy, unsigned node);
void set_timer(operation *op, retry_ms delay);
void sleep_ms(retry_ms delay);
void use_another_node(void);
void snippet(void);
