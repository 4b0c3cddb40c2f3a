/* snippets.h: what the pieces of code in README.md and in the manuals use and do not declare. Stands in
   front of each (snippets.awk); a piece may have variables of its own by the same names. */
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

/* Of the library. `failure` is the one that a callback fills in. */
#define clock snippet_clock /* not that of time.h */
extern retry_clock clock;
extern retry_time now;
extern retry_request request;
extern retry_client client;
extern retry_policy policy;
extern retry_failure *failure;
extern retry_decision decision, end;
extern retry_attempt attempt;
extern retry_budget budget;
extern retry_gates gates;
extern retry_latency latency;
extern retry_hedge hedge;
extern retry_hedge_policy late;
extern retry_hedge_step step;
extern retry_ms wait, timeout, delay;
extern uint32_t others;
extern errmap map;

/* Of the program. */
extern const char *host, *header, *method, *sqlstate;
extern int status;
extern bool sent, connection_lost;
bool try_it(void);
void sleep_ms(retry_ms delay);
void use_another_node(void);
void snippet(void);
