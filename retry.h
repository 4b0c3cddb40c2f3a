/* retry.h - decides whether, when and how often a failed operation is tried again.
   SPDX-License-Identifier: MIT

   Version 5.0.0. C99 and later, C++11 and later. No dependencies, no heap, no globals but the
   random generator's four bytes. The licence's text is at the end of this file. Define
   RETRY_IMPLEMENTATION in ONE C or C++ file before you include this. Elsewhere just include it.

   CONTENTS
      Quick start | The loop | Failures | The client | The budget | Several nodes | Gates |
      Hedging | Connections | Texts and logs | Clocks, tests, signals | Options |
      Inside a library | Firmware | C++, threads, fork | Trouble | Stability

   QUICK START
   An operation is what your program wants done, such as a request to a server. Each try is an
   attempt. Your program makes the attempts, and the library decides:

      #define _POSIX_C_SOURCE 200809L
      #define RETRY_IMPLEMENTATION
      #define RETRY_SYSTEM_CLOCK
      #include "retry.h"
      #include <stdio.h>

      static bool attempt(void *context, const retry_operation *op, const retry_step *step,
                          retry_failure *failure)
      {
          (void)context, (void)step; // what you hand to retry_run; step->timeout: ms it may take
          *failure = retry_classify_http(503, 0); // the status; 0: no Retry-After
          return op->retries == 2;        // true: it worked, here the third time
      }

      int main(void)
      {
          static retry_service service; // one for each server
          retry_operation op = {0};     // one for each operation
          retry_clock clock = retry_system_clock();
          service.client.cut_after = 1000; // ms: ten times what an answer takes when all is well
          retry_service_init(&service, clock.now(clock.context));
          op.timeout = 5000;    // ms for the operation, with all attempts and waits
          op.idempotent = true; // doing it twice does no more than doing it once
          retry_step end = retry_run(&op, &service, &clock, attempt, NULL);
          printf("%s, %s, retries: %u\n", retry_verdict_name(end.verdict),
                 retry_cause_text(end.cause), (unsigned)op.retries);
          return end.verdict == RETRY_VERDICT_SUCCESS ? 0 : 1;
      }

   It prints:

      SUCCESS, done, retries: 2

   A struct must be zero before its first use: `= {0}` and `static` do that. A field that stays 0
   has its default. All operations to one server, of all threads, share one service. Do not move a
   service after retry_service_init. An operation belongs to one thread.

   Only you know whether an operation is idempotent: a GET is, an increment is not. An operation
   that failed may still have been carried out: the server did the work, and its answer was lost.
   Then op.ambiguous is true. Report such an operation as "perhaps done", not as "failed".

   Retry at one layer only: three attempts at each of five layers are 243 calls. Some libraries send
   again by themselves: libcurl (see FAILURES), and libmosquitto (retry only its connections).

   THE LOOP
   retry_run blocks: it waits by your clock's sleep. It cannot stop an attempt that hangs: give
   step->timeout to your socket. All other functions only decide. They never sleep, read a clock,
   allocate, lock, print or do I/O, so they fit any event loop. There an operation is a struct of
   yours, with a retry_operation, a timer and this function:

      static void advance(operation *op)
      {
          for (;;) {
              retry_step step = retry_next(&op->retry, now_ms());
              op->paced = step.cause == RETRY_CAUSE_PACED;
              switch (step.what) {
              case RETRY_DO_SEND:   send_copy(op, step.copy, step.node); break;
              case RETRY_DO_CANCEL: abort_copy(op, step.copy);           break;
              case RETRY_DO_WAIT:   set_timer(op, step.delay);           return;
              default:              finished(op, step);                  return;
              }
          }
      }

   Call advance() when the timer fires, and after each of these:

      retry_start(&op->retry, &service, now_ms());       // to begin
      retry_ended(&op->retry, copy, NULL, now_ms());     // an attempt has worked
      retry_ended(&op->retry, copy, &failure, now_ms()); // an attempt has failed
      retry_stop(&op->retry, now_ms());                  // nobody waits for it any more
      retry_skip_wait(&op->retry, now_ms());             // the network is back: retry now

   A copy is one sending of the request. Its number is 0, unless you hedge. retry_next watches the
   copy's time, and counts each copy as sent. If nothing of a copy was sent (an error, or the timer
   fired), call retry_ended before the next retry_next, also within send_copy().

   When a copy is cancelled, close its connection: else a late answer is taken for the answer to the
   next request. Do not call retry_ended for this copy: the request is perhaps done.

   An attempt is in flight from when it is sent until it has ended. A WAIT is PACED if the limit or
   the rate lets no attempt begin yet. The operation asks again later. If many operations are paced,
   call advance() for the oldest of them, from your loop, when a copy has ended or was cancelled.

   Jobs from a queue: while a server is down, operations can end as fast as you begin them, and no
   budget limits first attempts. So put back a job that can be done later, and wait before the next
   job: END's `delay`, 5 s for tokens, or what the server asked for. When you take the job again,
   set op->retry.timeout to the rest of its time. retry_start clears `ambiguous`, so keep its value.

      op->perhaps_done = op->perhaps_done || op->retry.ambiguous;
      bool later = end.cause == RETRY_CAUSE_DEADLINE || end.cause == RETRY_CAUSE_BUDGET_EXHAUSTED ||
                   end.cause == RETRY_CAUSE_CIRCUIT_OPEN || end.cause == RETRY_CAUSE_THROTTLED;
      if (later && (!op->perhaps_done || op->retry.idempotent)) {
          bool known = end.delay != 0 && end.cause != RETRY_CAUSE_BUDGET_EXHAUSTED;
          retry_ms wait = known ? end.delay : 5000, asked = op->retry.failure.retry_after;
          put_back(op);
          begin_next_job_in(wait > asked ? wait : asked);
      }

   FAILURES
   A retry_failure says why an attempt failed, and whether the operation may be repeated. If nothing
   was sent, every operation may. If the request was sent, and no answer came, only an idempotent
   operation may. If there is an answer, the protocol tells. HTTP:

      op->retry.idempotent = retry_idempotent_http(method, strlen(method)); // GET, PUT ...
      retry_ms retry_after = 0; // if there is no header
      retry_parse_retry_after(value, strlen(value), (int64_t)time(NULL), &retry_after);
      failure = retry_classify_http(status, retry_after);

      HTTP status                       reason                           repeats     also
      --------------------------------  -------------------------------  ----------  --------------
      408                               SERVER_ERROR                     idempotent  timeout
      421, 425                          SERVICE_RESPONSE_CODE_INDICATED  all
      429, 529; other 4xx, Retry-After  SERVICE_RESPONSE_CODE_INDICATED  all         throttle
      503 with Retry-After              SERVER_ERROR                     idempotent  throttle
      501, 505 to 508, 510, 511         NONE, fault CLIENT               none
      all other 5xx                     SERVER_ERROR                     idempotent  504: timeout
      all others                        NONE                             none

   A 503 proves nothing, even with a Retry-After: a proxy may say 503 when its server had the
   request. If you know that your server says 503 only before it works, set failure.safety to
   RETRY_SAFETY_YES. If your server honours an Idempotency-Key, set `idempotent`. A 409 then means
   that the first attempt is still at work: give it the reason SERVICE_RESPONSE_CODE_INDICATED. An
   error status counts even if the rest of the answer was cut off.

   Without an answer use one of these. For HTTP/2's REFUSED_STREAM, and for a GOAWAY with a number
   below your stream's, use the last one with SERVICE_RESPONSE_CODE_INDICATED: nothing was read.

      failure = retry_classify_errno(errno, sent); // sent: whether any of the request was
      failure = retry_classify_errno(0, sent);     // recv returned 0: the peer closed it
      failure = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE); // sent, and lost
      failure = retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE);

   retry_classify_errno also takes what getaddrinfo returns. EAI_AGAIN is worth a retry. "Host not
   found" is final (Windows says so offline, too). libcurl sends a request again by itself, even a
   POST, when a reused connection is dead. Copy examples/recipes/http.h, which prevents that.

   gRPC: use retry_classify_grpc(status). You judge codes such as ABORTED yourself. A protocol of
   your own may use HTTP's statuses ("busy" is 429), or reasons of its own, with flags. The flag
   FREE is for contention (a lost compare-and-swap): no budget is charged, and gates count it as an
   answer. It waits as after any failure, up to 5 s. If conflicts are short, order a shorter wait:
   failure.pushback = true, failure.retry_after = retry_draw() % 50 (ms).

      #define CONFLICT RETRY_REASON_USER(0, RETRY_REASON_FREE | RETRY_REASON_ALLOWS_NON_IDEMPOTENT)
      failure.reason = CONFLICT; // gRPC's ABORTED (10): it was rolled back

   Databases and queues have answers of their own. In each row the server did nothing. Rows with
   "stop" cost no tokens: set failure.code to the answer's code. If op->code is this code already,
   and op->code_retries are enough, set nothing else: the operation fails.

      it says                                   reason                           also
      ----------------------------------------  -------------------------------  ----------------
      not yet: Redis LOADING, MASTERDOWN,       SERVICE_NOT_AVAILABLE            stage DISPATCH
      CLUSTERDOWN; PostgreSQL 57P03, 53300;
      MongoDB 91; Kafka: a coordinator loads
      wrong node: READONLY, SQLSTATE 25006,     NODE_NOT_AVAILABLE               stage DISPATCH;
      NotWritablePrimary, NOT_LEADER                                             disconnect
      go there: MOVED, ASK                      USER, ALWAYS; safety YES         stop after 5
      conflict: 40001, 40P01, badNonce          USER, as CONFLICT above          stop after a few
      too much: S3's SlowDown                   SERVICE_RESPONSE_CODE_INDICATED  throttle
      a quota is used up                        SERVICE_RESPONSE_CODE_INDICATED

   An attempt may leave something behind. A transaction may be open (MySQL's 1205 ends only the
   statement): ROLLBACK before the next attempt, or half of the transaction is committed. A late
   answer may be on a bus: flush it. A create may have worked: 409 after op->ambiguous is a success.

   A transaction: before COMMIT set safety YES, as the server rolls back what was not committed. If
   COMMIT's answer is lost or cut, or is an error that ends the session, the operation fails, and is
   ambiguous. Then look for an id that you wrote in the transaction. First wait, in time of its own,
   for a lock that the transaction took at its start (see examples/recipes/transaction.c). If the id
   is UNIQUE, do not look: set `idempotent`, and take a duplicate for done.

   THE CLIENT
   All operations to one server share a retry_client. The recommended client is in a retry_service,
   with a policy (whether and when to retry), a budget (how many retries the server can bear) and a
   limit (how many attempts at once: service.limit.initial at first, 20, and .max at most, 1000).
   Change their fields before retry_service_init. Without a service set op.client, and call
   retry_start(op, NULL, now): a zeroed client has no budget and no limit.

   Set client.cut_after (ms) to ten times what an answer takes when all is well. An attempt that
   takes longer is cut: it is cancelled, and counts as timed out. An operation that is not
   idempotent is then perhaps done. Downloads have no usual length: leave cut_after 0, and give them
   a service of their own, as they keep their places in the limit while short operations wait.

   In trouble an attempt has more time: at least twice what answers take now, and doubled after each
   round of time-outs (not at one node while another is well). A process with few operations cuts no
   attempt (see THE BUDGET); attempt_timeout always limits. What must not be cut has another client:

      static retry_client patient;
      patient = service.client, patient.cut_after = 0; // after retry_service_init
      op->retry.client = &patient;
      retry_start(&op->retry, NULL, now);

   A service's policy is BEST_EFFORT. For another policy start from a preset, with the preset's
   budget, or write a strategy (examples/custom_strategy.c):

      static const retry_policy policy = RETRY_POLICY_AWS;
      static const retry_budget_options options = RETRY_BUDGET_AWS;
      service.policy = policy, service.budget.options = options; // before retry_service_init
      service.policy.max_attempts = 5;                           // the first one included

      preset       attempts  delays, with full jitter                         retries in a burst
      -----------  --------  -----------------------------------------------  ----------------------
      BEST_EFFORT  no limit  100 ms doubling to 5 s; to 10 s, throttled       4; see THE BUDGET
      SMITHY       5         1 s doubling to 20 s                             100, 1 for 5 successes
      AWS          3         1 s doubling to 20 s                             100, 1 for 5 successes
      AWS_2026     3         50 ms doubling to 20 s; from 1 s, throttled      35, 1 for 14 successes

   Full jitter draws the wait at random from 0 to the delay, so that clients that failed together do
   not return together. A server's Retry-After is the least delay. AWS caps it at 20 s
   (retry_after_max), AWS_2026 at 5 s above the delay (retry_after_slack). Each client waits up to a
   quarter longer, at random (retry_after_spread; not with the AWS presets).

   THE BUDGET
   Retries add load just when there is too much. A retry_budget is a bucket of tokens that all
   operations to one server share. A retry that the budget cannot pay for waits, or is not made
   (FAIL, BUDGET_EXHAUSTED). A service's budget is RETRY_BUDGET_BEST_EFFORT(20), for 20 at once:

   1. A retry costs 0.25 tokens, after a time-out or a throttled answer 1; a success puts 0.1 in. A
      retry after a throttled answer with a Retry-After costs 0.25, too.
   2. The base, 1 token, is there at first. It does not expire, and 0.05 a second refill it.
   3. What successes put in beyond the base expires: 37 % of it are left after 10 s.
   4. cut_after ends an attempt only while there are 2 tokens. With fewer, only timeout and
      attempt_timeout do: else small processes send again what waits in the server's queue.
   5. If a retry reached nobody, the next one is free: so you can wait for a server to come up.
   6. While less than half of the base is left, a retry waits 5 to 7.5 s (throttled 10 to 15).
   7. A retry that cannot be paid for waits until the base has refilled 0.25 tokens (5 s), or 1
      token after a time-out (20 s), or successes have brought its price, and then for its delay.
      Four retries wait at most, one behind the other, or one after a time-out.

      retries that tokens pay for      new, or idle for 20 s  1 success a second  10/s  100/s
      -------------------------------  ---------------------  ------------------  ----  -----
      after most failures              4                      7                   43    400
      after time-outs, or throttled    1                      1                   10    100

   Three cases need another budget. If an error is as much work as an answer, a thousand processes
   with four retries each send too many: set budget.options.retry_cost to RETRY_TOKENS(1). If some
   connections hang while others work (a balancer), set timeout_cost to RETRY_TOKENS(0.25): else a
   new process waits 20 s, or fails, after its second time-out. A device with few calls takes
   RETRY_BUDGET_BEST_EFFORT(1) with `expire` 0: it starts with tokens for 20 time-outs.

   Give each server a service: with one budget for many servers, the server that is down uses up the
   retries of all. For hosts not known before there are retry_scopes. Give them a budget for the
   names without a slot (scopes.client.budget), or the retries of these names are free.

      scopes.client.budget = &budget;                                          // once
      op->retry.client = retry_scope_client(&scopes, host, strlen(host), now); // for each operation
      retry_start(&op->retry, NULL, now);

   SEVERAL NODES
   Give each node gates of its own, and the client all of them. step.node says where to send. Set
   attempt_timeout, too, as cut_after needs 2 tokens: an attempt at a dark node leaves others time.
   (But not for a thousand small processes: they would send again what waits in the server's queue.)

      static retry_gates nodes[3];
      static retry_aimd limits[3]; // one each
      retry_client_nodes(&service.client, nodes, 3);
      service.client.attempt_timeout = 1000;
      retry_service_init(&service, now); // after retry_client_nodes; adds no limit of its own
      for (int i = 0; i < 3; i++)
          retry_gates_aimd(&nodes[i], &limits[i]);
      nodes[2].rank = 1; // a spare, asked while the others are full or ill; may change at any time

   A node is ill after an attempt without a good answer: none, a 429, a 5xx that is worth a retry, a
   bad certificate. While others are well, it is left alone for 100 ms, doubled with each failure in
   a row to 1 s. Then one operation at a time, whichever comes next, tries it, until an answer makes
   it well (a 404, too). If another node answered well last, the first retry goes there immediately,
   free, unless a pushback orders a wait. Each further retry waits and pays as with one server.

   A final failure ends the operation, even if another node could do it. So say NODE_NOT_AVAILABLE
   for the faults of one node: a bad certificate, a full disk (507), an old version (501), a replica
   that is read-only. Give reads and writes a service each if a node may refuse only writes.

   GATES
   Gates are optional checks before an attempt. A program links only what it adds. A service has the
   AIMD limit; add others after retry_service_init: retry_gates_breaker(service.client.gates,
   &breaker). More gates are rarely better (see `make together`). A refusal ends the operation:
   if refused operations waited, they would all come back together.

      gate             bytes, 64-bit  instructions, x86-64  price
      ---------------  -------------  --------------------  ----------------------------------------
      circuit breaker  64             170                   may refuse for 2 s when the node is well
      AIMD limit       60             313                   attempts over the limit are PACED
      throttle         32             142                   drops good attempts for 4 s more
      rate             56             95; at its limit 157  attempts are PACED, or fail
      latency          24             111
      hedging          48             237; a copy 970       32 bytes a copy; 5 % more attempts

   CIRCUIT BREAKER (retry_gates_breaker): is it worth trying? It opens when half of 20 or more
   attempts within 8 s were unhealthy: no answer, or a 5xx. Then it refuses everything for 2 s, and
   then lets one attempt through, the probe. An answer to the probe closes the breaker. Use it when
   a server can be down for long, but not for one address of many servers: it would shut out the
   healthy servers. Several nodes need no breaker: an ill node is left alone. If a limit lets fewer
   than 20 attempts in 8 s reach a silent server, the breaker never opens: set `in_a_row` (5), too.

   AIMD LIMIT (retry_gates_aimd): how many attempts at once? Use it always, but not across
   processes, which cannot share it. It is 20 at first (`initial`). It halves when the server is in
   trouble, and comes back by a quarter a round trip. While most of it is in use it grows further,
   up to `max` (1,000). If your program needs more at the start, raise `initial` (see TROUBLE).

   Down to one, it pauses for up to a second after a time-out, a broken connection or a 5xx.
   The limit also obeys a server that blocks its callers: after five refusals with a Retry-After in
   a row it holds all attempts until that time is over, 2 s at most and an eighth more at random. If
   refused requests prolong the block, set `hold_max` to the longest block (ms; 1: no hold).

   THROTTLE (retry_gates_throttle): what would be refused anyway? When a client sends over `k` (2)
   times what is accepted, the throttle drops the rest at random (FAIL, THROTTLED). Use it when
   first attempts alone are too many: no budget limits first attempts. Do not use it for few calls.

   RATE (retry_gates_rate): how fast? Use it when the server answers 429, or states its limit: set
   `max`, or `every` for a slow limit (five an hour: 720000). Do not use it when the server fails or
   is silent. The gate learns a limit from 429s. Without 429s the limit rises, and after 12 s there
   is none. Attempts are PACED; those that would wait 250 ms (`wait`) fail immediately.

   LATENCY (retry_gates_latency): when is an answer late? The gate learns the time within which 95 %
   of the attempts are answered. Use it for hedging, one for each kind of operation. It has no
   estimate before 768 attempts (3,072 for 99 %). For metrics see examples/metrics.c.

   HEDGING
   Hedging sends a second copy of a late attempt, best to another node. The first answer wins. Only
   idempotent operations get copies. Use a budget: it stops the copies when the server is
   overloaded. A copy costs as many tokens as a retry after a time-out. advance() stays as it is.

      static retry_copy copies[1];           // one further copy, of one operation
      static retry_hedge hedge;              // one for each operation
      retry_gates_latency(&gates, &latency); // each node's gates; one static retry_latency
      hedge.latency = &latency;              // or hedge.delay (ms), if an answer takes under 20 ms
      hedge.copies = copies, hedge.count = 1;
      retry_hedge_copies(&op->retry, &hedge); // before retry_start

   CONNECTIONS
   retry_connection spaces the starts of connection attempts as gRPC does: 1 s, 1.6 s, 2.56 s ... up
   to 2 minutes, 20 % more or less. For a fleet set backoff.initial to 1,000 ms x devices / connects
   that the server bears a second. If connect() blocks, or the radio costs power, set
   max_connect_timeout. On a metered link withdraw a token of a retry_budget before each attempt.

   Call retry_connection_begin before each attempt, _established when the server answers, _failed
   when the connection failed or was lost. Hand _failed the failure: it may name a time (a 503, or
   `retry:` of server-sent events), which may be days. After a final failure (a wrong password) the
   connection waits for the longest spacing: whether to go on is up to you.

   Operations over a connection: while there is no connection, answer SEND with retry_ended and
   retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED), which
   no gate counts; on a battery begin none meanwhile. When the connection is lost, end the copies on
   the wire with retry_classify_errno(errno, true). When it is back, call retry_skip_wait for each.

   A reset or a deep sleep loses the RAM. In memory that survives keep connection.state, the last
   `now` and a retry_draw(), with a checksum over them and RETRY_VERSION (examples/sleep.c). If the
   checksum is right after the boot, put the state back, and call retry_seed with the draw: else all
   waits repeat. If the connection was open or opening (keep that, too), call _failed with the kept
   `now`: the time after it proves nothing. If the clock began anew, go on from the kept `now` and
   the ms slept. Begin when retry_connection_wait says 0. If the device hangs up within 10 s, set
   stable_after to 1, call _established at the first answer, and _failed when the device hangs up.

   TEXTS AND LOGS
   A policy can be read from a flag or a configuration file, before retry_service_init. So can
   service.budget.options. White space and commas separate words. The first word may be a preset.

      const char *text = "aws attempts=5 initial=100ms max=10s jitter=equal";
      retry_text_error error;
      if (!retry_parse_policy(&service.policy, text, strlen(text), &error))
          fprintf(stderr, "%s: %s\n", text + error.offset, error.text);

      policy    best-effort (the default) smithy aws aws-2026 grpc rfc0049 controlled
                attempts=    whole number, the first included; 0: no limit
                curve=       exponential constant controlled
                jitter=      full equal spread decorrelated none
                min= initial= max= throttled= retry-after-max= retry-after-slack=    duration
                factor= spread= retry-after-spread= (0: nothing)                     ratio
      budget    none (the default: every retry is paid) best-effort smithy aws aws-2026 grpc
                capacity= cost= timeout-cost= throttle-cost= success= request=       tokens
                per-second= base-per-second= floor=                                  tokens
                expire=                                                              duration
                refund-last= charge-failures=                                        yes no
                in-flight=   operations at once, for best-effort (1)                 whole number

   Delays after throttled answers are never shorter than others: `initial=` raises both, `max=` caps
   both. client.observe hears each decision and each end. retry_format writes a line of a log.

   CLOCKS, TESTS, SIGNALS
   The clock may wrap. If it steps back by up to 32 s, no time passes until it has caught up. If it
   steps back further, or your program pauses for weeks, waits and operations end.

   In a test the time is a variable, and `sleep` adds to it. Let client.random (connection.random)
   return 0 for the shortest delays, UINT32_MAX for the longest. If a signal should end retry_run,
   let its handler set a flag, and your clock's sleep call retry_stop.

   OPTIONS
      macro                 default      set it              what it does
      --------------------  -----------  ------------------  -------------------------------------
      RETRY_IMPLEMENTATION  not defined  in one file         compiles the code (errmap.h's, too)
      RETRY_STATIC          not defined  in every file       static functions: see INSIDE A LIBRARY
      RETRY_API             hidden       in every file       how each function is declared
      RETRY_SYSTEM_CLOCK    not defined  where it is called, adds retry_system_clock() for Windows
                                         and in that file    and POSIX (_POSIX_C_SOURCE 199309L)
      RETRY_NO_ATOMICS      not defined  in that file        shared counters for one thread only
      RETRY_MASK()          not defined  in that file        lets no other task or handler come
      RETRY_UNMASK(state)                                    between, and ends that: see FIRMWARE
      RETRY_ASSERT(x)       nothing      in that file        is given what misuse makes false

   INSIDE A LIBRARY
   A library brings its own copy of retry.h, which must not meet another copy. One file of the
   library defines RETRY_STATIC and RETRY_IMPLEMENTATION. Files that need only the types define
   RETRY_STATIC alone. Or cut out parts (delay, backoff, retry-after, connection, breaker,
   operation, names of functions or macros): make cut PARTS="delay" PREFIX=nats_ OUT=nats_retry.h.

   Without RETRY_STATIC or a cut, gcc and clang hide the functions in a shared library. If programs
   should call them, define RETRY_API in every file, before the #include, as extern
   __attribute__((visibility("default"))) or __declspec(dllexport). For another language define it
   as extern, or Rust's bindgen sees no function. retry_sizes says what to allocate.

   Do not hand on a user's 0 that means "none": here 0 is the default. No timeout is UINT32_MAX, n
   retries are max_attempts n + 1, no jitter is RETRY_JITTER_NONE, no delay is a `table` of one 0.

   FIRMWARE
   The library has no floating point at run time, no division, no clock and no lock. Compile with
   -ffunction-sections -fdata-sections and link with -Wl,--gc-sections: unused functions go. On a
   Cortex-M0 (`make size`) a delay alone takes about 0.2 KiB of flash, an operation about 3.4, one
   with a service about 7.8, and all of this file about 23. An operation takes 120 bytes of RAM.

   Call retry_seed() with the device's id, or what CONNECTIONS keeps, once a boot. To spread a
   fleet, wait retry_phase(&id, sizeof id, 30000) ms before the first connection and periodic work.

   The clock must go on while the device sleeps (or you add the ms), and must wrap at 2^32 ms. Ticks
   of 32 bits wrap so if their rate divides 1,000. Ticks of 16 bits, or of 300 or 1,024 Hz, do not:
   an operation then expires immediately, or days too late. Let one task count such ticks in 64
   bits, at least once before each wrap. At 1,024 Hz (for ticks of 16 bits: uint16_t, not uint32_t):

      static uint64_t total; // of ticks
      total += (uint32_t)(ticks() - (uint32_t)total);
      now = (retry_time)(total * 1000 / 1024);

   An interrupt's handler only wakes the operation's task, which calls retry_ended and retry_next. A
   Cortex-M0 and an AVR have no lock-free 32-bit atomics, so the library masks interrupts for some
   instructions. If one loop alone calls it, define RETRY_NO_ATOMICS instead. Tasks that share a
   service must run privileged. On other cores without atomics, and with two cores, define
   RETRY_MASK(), which yields the state to go back to, and RETRY_UNMASK(state): irq_lock() and
   irq_unlock(state) on Zephyr; FreeRTOS: examples/freertos.

   C++, THREADS, FORK
   C++: zero a struct with {} (-Wextra warns of {0}). Do not keep a service in a std::vector.
   A lambda without captures is a retry_attempt_fn (see examples/lambda.cpp). No callback may throw.

   Threads: an operation, a hedge or a connection belongs to one thread at a time. Only
   retry_scope_client needs a lock. Do not change a client, strategy or policy while threads use it.
   Several threads may call a callback at the same time. Their clocks must agree within 2 s.

   fork(): each child calls retry_seed(), or all draw the same numbers. A child needs fresh gates if
   its parent has threads. In memory mapped as MAP_SHARED processes share a budget, a breaker, a
   throttle or a rate, but no AIMD limit or retry_gates: a killed process would keep its places.

   TROUBLE
   - "undefined reference to retry_start": no file has RETRY_IMPLEMENTATION, or the function is
     hidden in a shared library. "multiple definition": two files have RETRY_IMPLEMENTATION.
   - A crash in retry_start: the operation was not zeroed. FAIL, MISUSE: retry_start or
     retry_service_init is missing, a service has moved, or a clock stands still. See RETRY_ASSERT.
   - FAIL, BUDGET_EXHAUSTED: few successes, and no time to wait for tokens, or others wait already.
   - FAIL, CIRCUIT_OPEN, always: log retry_breaker_get. Do answers take over cut_after?
   - Slower than without the library, or EXPIRE, DEADLINE with nothing sent: limit.initial or
     limit.max is below calls a second x seconds of an answer. Or some operations were never ended.

   STABILITY
   Until 6.0 the names, fields and meanings that this manual or a declaration's comment names stay.
   New fields come at a struct's end, new reasons and causes after the last: zero structs, and do
   not rely on sizes. What begins with retry__ is private. */

#undef retry_system_clock
#ifndef RETRY_H
#define RETRY_H

#define RETRY_VERSION_MAJOR 5
#define RETRY_VERSION_MINOR 0
#define RETRY_VERSION_PATCH 0
#define RETRY_VERSION \
    (RETRY_VERSION_MAJOR * UINT32_C(10000) + RETRY_VERSION_MINOR * 100 + RETRY_VERSION_PATCH)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A switch is on when it is defined as nothing (1 - - 1 is 2) or as 1; 0 would read as off. */
#define RETRY__NO_SWITCH(plus, minus) ((plus) != 1 && ((plus) != 0 || (minus) != 2))
#if defined(RETRY_STATIC) && RETRY__NO_SWITCH(RETRY_STATIC + 0, 1 - RETRY_STATIC - 1)
#error "RETRY_STATIC is a switch: define it as nothing or as 1, or leave it undefined."
#endif

#if defined(RETRY_STATIC) && defined(RETRY_API)
#error "Define RETRY_STATIC or RETRY_API, not both: a static function is not exported."
#undef RETRY_API /* no further errors */
#elif defined(RETRY_STATIC) && defined(RETRY_IMPLEMENTATION)
#define RETRY__DECLARED_STATIC
#endif

/* Hidden, so that two shared libraries with a copy each do not call each other's. */
#ifdef RETRY_STATIC
#ifdef RETRY_IMPLEMENTATION
#if defined(__GNUC__) || defined(__clang__)
#define RETRY_API static __attribute__((unused))
#else
#define RETRY_API static
#endif
#elif defined(__has_attribute)
#if __has_attribute(error)
#define RETRY_API \
    extern __attribute__((error("RETRY_STATIC: define RETRY_IMPLEMENTATION in this file, too")))
#endif
#endif
#elif !defined(RETRY_API) && defined(__GNUC__) && (defined(__ELF__) || defined(__MACH__))
#define RETRY_API extern __attribute__((visibility("hidden")))
#endif
#ifndef RETRY_API
#define RETRY_API extern
#endif

/* A result that must not be ignored. */
#if defined(__GNUC__)
#define RETRY__NO_IGNORE __attribute__((warn_unused_result))
#else
#define RETRY__NO_IGNORE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version that the implementation was compiled as, to compare with RETRY_VERSION. */
RETRY_API uint32_t retry_version(void);

/* ---- Time ---------------------------------------------------------------------------------- */

typedef uint32_t retry_ms; /* a duration in milliseconds */

/* An instant: the low 32 bits of any monotonic clock of milliseconds. It wraps after 49.7 days. */
typedef uint32_t retry_time;

/* A cast in a macro for users, whose C++ may be compiled with -Wold-style-cast. */
#ifdef __cplusplus
#define RETRY__CAST(type, x) static_cast<type>(x)
#else
#define RETRY__CAST(type, x) ((type)(x))
#endif

/* An initialiser's braces; written out in a macro they would take three lines. */
#define RETRY__INIT(...) \
    {                    \
        __VA_ARGS__      \
    }

/* ---- Random numbers ------------------------------------------------------------------------ */

/* Seeds the built-in generator. Neighbouring seeds give unrelated sequences, so firmware may pass
   its device id. Without it the generator seeds itself at its first use from an address on the
   stack: enough where addresses are randomised, not in firmware. */
RETRY_API void retry_seed(uint32_t entropy);

/* 32 uniform bits from the built-in generator. For jitter, not for secrets. */
RETRY_API uint32_t retry_draw(void);

/* ---- Reasons ------------------------------------------------------------------------------- */

/* Why an attempt failed: X(name, allows, always).
   - allows: safe to send again whatever the operation, as it was not carried out (RFC 0049).
   - always: retried without asking a strategy (RFC 0049).
   NONE: nothing to retry. UNKNOWN: never retried. ATTEMPT_TIMED_OUT: its time ran out on the wire.
   SERVER_ERROR: something may have changed. CLIENT_THROTTLED: a gate refused, not the breaker.
   A new reason comes last, whatever it is for: programs have stored the numbers. A name goes
   through one macro only: a second would replace NONE if the program has a macro of that name. */
#define RETRY_REASONS(X)                                \
    X(NONE, false, false)                               \
    X(UNKNOWN, false, false)                            \
    X(SOCKET_NOT_AVAILABLE, true, false)                \
    X(SERVICE_NOT_AVAILABLE, true, false)               \
    X(NODE_NOT_AVAILABLE, true, false)                  \
    X(SOCKET_CLOSED_WHILE_IN_FLIGHT, false, false)      \
    X(ATTEMPT_TIMED_OUT, false, false)                  \
    X(SERVICE_RESPONSE_CODE_INDICATED, true, false)     \
    X(SERVER_ERROR, false, false)                       \
    X(CIRCUIT_BREAKER_OPEN, true, false)                \
    X(CLIENT_THROTTLED, true, false)                    \
    /* Couchbase's own, which errmap.h makes: */        \
    X(KV_NOT_MY_VBUCKET, true, true)                    \
    X(KV_COLLECTION_OUTDATED, true, true)               \
    X(KV_ERROR_MAP_RETRY_INDICATED, true, false)        \
    X(KV_LOCKED, true, false)                           \
    X(KV_TEMPORARY_FAILURE, true, false)                \
    X(KV_SYNC_WRITE_IN_PROGRESS, true, false)           \
    X(KV_SYNC_WRITE_RE_COMMIT_IN_PROGRESS, true, false) \
    X(QUERY_PREPARED_STATEMENT_FAILURE, true, false)    \
    X(QUERY_INDEX_NOT_FOUND, true, false)               \
    X(QUERY_ERROR_RETRYABLE, true, false)               \
    X(ANALYTICS_TEMPORARY_FAILURE, true, false)         \
    X(SEARCH_TOO_MANY_REQUESTS, true, false)            \
    X(VIEWS_TEMPORARY_FAILURE, true, false)             \
    X(VIEWS_NO_ACTIVE_PARTITION, true, true)

typedef uint8_t retry_reason;

enum {
#define RETRY__X(name, allows, always) RETRY_REASON_##name,
    RETRY_REASONS(RETRY__X) RETRY_REASON_COUNT
#undef RETRY__X
};

enum {
    RETRY_REASON_ALLOWS_NON_IDEMPOTENT = 0x10, /* safe to send again whatever the operation */
    RETRY_REASON_ALWAYS = 0x20,                /* retried without asking a strategy */
    RETRY_REASON_FREE = 0x80 /* contention, not overload: no budget is asked or charged */
};

/* 0. If n is over 15, gcc and clang warn of the shift (clang, in an enumerator, of the sum). */
#ifdef __GNUC__
#define RETRY__OVER_15(n) (__builtin_constant_p(n) && (n) > 15)
#define RETRY__CHECK_USER(n) \
    (((__INT_MAX__ + RETRY__OVER_15(n)) & 0) | (0 << RETRY__OVER_15(n) * 64))
#else
#define RETRY__CHECK_USER(n) 0
#endif

/* An application's own reason: n 0 to 15 (elsewhere its low four bits count); flags: the three
   above, or'ed, or 0. With fault SERVER it is unhealthy: a breaker counts it, and the AIMD limit
   pauses. Names for them: retry_client.user_reasons. */
#define RETRY_REASON_USER(n, flags)                                            \
    RETRY__CAST(retry_reason, 0x40 | RETRY__CAST(retry_reason, (flags)&0xb0) | \
                                  RETRY__CAST(retry_reason, (n)&0x0f) |        \
                                  RETRY__CAST(retry_reason, RETRY__CHECK_USER(n)))

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

/* What the caller knows about whether another attempt could do harm. */
enum { RETRY_SAFETY_MAYBE, RETRY_SAFETY_YES, RETRY_SAFETY_NO };

/* Whose fault the failure is. */
enum { RETRY_FAULT_OTHER, RETRY_FAULT_CLIENT, RETRY_FAULT_SERVER };

typedef struct retry_failure {
    retry_reason reason;  /* RETRY_REASON_x or _USER (default: NONE: not retried) */
    uint8_t safety;       /* RETRY_SAFETY_x, of another attempt (default: MAYBE) */
    uint8_t fault;        /* RETRY_FAULT_x (default: OTHER) */
    bool throttle;        /* the server asked for less load (default: false) */
    bool timeout;         /* the attempt ran out of its own time (default: false) */
    bool unknown;         /* a code not known here: ask the error map (default: false) */
    bool pushback;        /* the server commands retry_after, 0 too (default: false: at least) */
    bool unsent;          /* the server has not begun: not sent, or not read (default: false) */
    retry_ms retry_after; /* ms to wait at least (default: 0: the server said nothing); with
                             pushback exactly (a connection: at least), UINT32_MAX: no retry */
    uint32_t code;        /* the protocol's status code (default: 0) */
} retry_failure;

/* ---- Client and operation ------------------------------------------------------------------ */

typedef struct retry_client retry_client;
typedef struct retry_operation retry_operation;
typedef struct retry_strategy retry_strategy;
typedef struct retry_budget retry_budget;
typedef struct retry_hedge retry_hedge;
typedef struct retry_service retry_service;
typedef struct retry_gates retry_gates;

/* X(name): what the caller does next. */
#define RETRY_VERDICTS(X)                                                                \
    X(FAIL)    /* give the original error to whoever asked */                            \
    X(RETRY)   /* wait `delay` ms, then try again */                                     \
    X(EXPIRE)  /* wait at most `delay` ms, then fail as timed out; no further attempt */ \
    X(SUCCESS) /* done */

/* X(name, text): why. */
#define RETRY_CAUSES(X)                                 \
    X(NONE, "done")                                     \
    X(ALWAYS, "always retried")                         \
    X(STRATEGY, "strategy grants")                      \
    X(DEADLINE, "deadline")                             \
    X(NOT_RETRYABLE, "no reason to retry")              \
    X(UNKNOWN_REASON, "unknown reason")                 \
    X(UNSAFE, "unsafe to repeat")                       \
    X(NOT_IDEMPOTENT, "not idempotent")                 \
    X(ATTEMPTS_EXHAUSTED, "attempts exhausted")         \
    X(BUDGET_EXHAUSTED, "retry budget exhausted")       \
    X(MAX_DURATION, "server's time limit for the code") \
    X(REFUSED, "strategy refuses")                      \
    X(PENDING, "strategy answers later")                \
    X(CANCELLED, "cancelled")                           \
    X(MISUSE, "misuse: NULL or wrong state")            \
    X(PUSHBACK, "server forbids")                       \
    X(PACED, "waits for its turn")                      \
    X(CIRCUIT_OPEN, "circuit breaker is open")          \
    X(THROTTLED, "client holds back")

enum {
#define RETRY__X(name) RETRY_VERDICT_##name,
    RETRY_VERDICTS(RETRY__X) RETRY_VERDICT_COUNT
#undef RETRY__X
};

enum {
#define RETRY__X(name, text) RETRY_CAUSE_##name,
    RETRY_CAUSES(RETRY__X) RETRY_CAUSE_COUNT
#undef RETRY__X
};

/* A strategy's answer. Any other kind than these three refuses. */
enum { RETRY_ACTION_NONE, RETRY_ACTION_AFTER, RETRY_ACTION_PENDING };

typedef struct retry_action {
    uint8_t kind;   /* RETRY_ACTION_x (default: NONE: no retry) */
    uint8_t cause;  /* RETRY_CAUSE_x; why not (default: NONE) */
    retry_ms delay; /* ms to wait before the retry (default: 0) */
} retry_action;

/* "FAIL", "RETRY" ...; "INVALID" for any other number. */
RETRY_API const char *retry_verdict_name(uint8_t verdict);

/* The cause in a few words; "invalid cause" for a number that is none. */
RETRY_API const char *retry_cause_text(uint8_t cause);

/* 32 uniform bits; rand() has fewer (examples/README.md makes 32 of them). */
typedef uint32_t retry_random_fn(void *context);

/* Told of each decision, and once of every end: op->verdict, cause and delay say which. `failure`
   is NULL for a success, for retry_stop (FAIL, CANCELLED), and where nothing was sent as a gate
   refused or the time was over. The counters include the decision already. An observer may call
   retry_stop with a pointer of the program's own, and do nothing else to the operation. */
typedef void retry_observe_fn(void *context, const retry_operation *op,
                              const retry_failure *failure);

/* Shared by any number of operations; constant after set-up. */
struct retry_client {
    const retry_strategy *strategy; /* (default: NULL: retry_best_effort()) */
    retry_budget *budget;           /* pays for strategies' retries (default: NULL: free) */
    retry_observe_fn *observe;      /* told of decisions and ends (default: NULL) */
    void *observe_context;          /* handed to observe (default: NULL) */
    retry_random_fn *random;        /* (default: NULL: the built-in generator) */
    void *random_context;           /* handed to random (default: NULL) */
    retry_ms always_interval;       /* ms; for always-retry reasons (default: 0: 1 10 50 ...) */
    retry_ms cut_after; /* ms that an attempt has when all is well, ten times what an answer takes;
                           more when the server is slow; all that is left while the budget does not
                           hold two retries after time-outs (default: 0: what is left) */
    const char *const *user_reasons; /* 16 names or NULLs, for logs (default: NULL: USER_n) */
    retry_gates *gates;              /* of the server, or of each node (default: NULL: none) */
    retry_ms attempt_timeout;        /* ms; the most for one attempt (default: 0: what is left) */
    uint16_t nodes;                  /* set by retry_client_nodes (default: 0: one) */
};

/* ms that an operation may last if it does not say; the Couchbase SDKs' number. */
#define RETRY_TIMEOUT_DEFAULT UINT32_C(75000)

/* A copy of an attempt. Zero it. */
typedef struct retry_copy {
    retry_gates *retry__gates; /* private: those that let it pass; NULL: none was asked */
    uint32_t retry__sent;      /* private: ms; when it was sent, or is to be */
    retry_ms retry__timeout;   /* private: ms that it may take */
    uint32_t retry__taken;     /* private: what a rate took for it */
    uint16_t retry__ticket;    /* private: of the breaker's permit */
    uint16_t retry__node;      /* private: where it was sent */
    uint8_t retry__state;      /* private: RETRY__COPY_x */
} retry_copy;

/* One operation with all its attempts. Zero it, set what you need of the first five, and call
   retry_start. Do not change them until END. For one thread at a time. */
struct retry_operation {
    const retry_client *client;     /* retry_start sets its service's (no default) */
    const retry_strategy *strategy; /* this operation's own (default: NULL: the client's) */
    void *context;                  /* the application's, for strategies (default: NULL) */
    retry_ms timeout; /* ms for the operation; UINT32_MAX: no end (default: 0: 75000) */
    bool idempotent;  /* sent twice it does what it does once (default: false) */
    /* Kept by the library, free to read: */
    bool ambiguous;           /* a failed attempt may have taken effect; false after a success */
    uint8_t verdict;          /* RETRY_VERDICT_x; these three: the last decision, or the end */
    uint8_t cause;            /* RETRY_CAUSE_x */
    retry_ms delay;           /* ms; of a retry, or END's */
    retry_reason_set reasons; /* every reason seen */
    uint32_t retries;         /* so far; the last may have ended before it was sent */
    retry_failure failure;    /* the last failure of a copy */
    retry_time started;       /* ms; when retry_start was called */
    uint32_t code;            /* the last failure's code */
    uint32_t code_retries;    /* since the code last changed */
    retry_time code_since;    /* ms; when it came first, without another code since */
    uint8_t retry__phase;     /* private: RETRY__NEW ..., and whether CANCELs are due */
    uint8_t retry__since_pushback; /* private: 1 + retries since the last pushback; 0: none */
    uint8_t retry__elsewhere;      /* private: RETRY__ELSEWHERE ...; 0: no */
    uint32_t retry__failed;        /* private: a bit for each node, modulo 32, that failed */
    retry_time retry__now;         /* private: ms; when it was called last */
    retry_time retry__decided;     /* private: ms; when it was decided last; a delay begins then */
    uint32_t retry__paid;          /* private: thousandths; for a retry whose end is not known */
    retry_ms retry__owes;          /* private: ms of `delay` that wait for tokens; 0: none */
    retry_hedge *retry__hedge;     /* private: further copies; NULL: none */
    retry_copy retry__copy;        /* private: number 0 */
};

/* ms that are left of the operation's timeout, for a strategy, an observer or a call within an
   attempt; UINT32_MAX: it has no end. 0 before retry_start and after END, and for NULL. */
RETRY_API retry_ms retry_left(const retry_operation *op, retry_time now);

/* 32 uniform bits from the client's generator; without one, and for NULL, from the built-in one. */
RETRY_API uint32_t retry_random(const retry_operation *op);

/* Writes one log line, without a newline: verdict, delay, reason, code (503/0x1f7), cause
   (not of a SUCCESS), retries, elapsed time and timeout (4294967295ms: none). As snprintf does, it
   writes at most `capacity` bytes, the NUL included, and returns the length of the whole line. 240
   bytes hold any line but one with long names of your own. A NULL part is left out. */
RETRY_API size_t retry_format(char *buffer, size_t capacity, const retry_operation *op,
                              const retry_failure *failure);

/* ---- Strategies ---------------------------------------------------------------------------- */

/* Retry after `delay` ms. */
RETRY_API retry_action retry_action_after(retry_ms delay);

/* No retry; `cause` (RETRY_CAUSE_x) says why. */
RETRY_API retry_action retry_action_none(uint8_t cause);

/* The answer comes later, through retry_answer. */
RETRY_API retry_action retry_action_pending(void);

/* Whether and when to retry, idempotency included (retry_permitted); the library does all else. It
   changes nothing of the operation. Make it the first member of your own struct. */
struct retry_strategy {
    retry_action (*retry_after)(const retry_strategy *self, const retry_operation *op,
                                const retry_failure *failure, retry_time now); /* (no default) */
};

/* Whether the failure lets the operation be sent again: it is idempotent, it reached nobody
   (`unsent`), the reason allows it, or safety is YES. False for NULL. */
RETRY_API bool retry_permitted(const retry_operation *op, const retry_failure *failure);

/* ---- Delay --------------------------------------------------------------------------------- */

/* x, a constant, 0 or 1e-9 to 65535.9, as 16.16 fixed point: what is not 0 is at least 2^-16. */
#ifdef __cplusplus
#define RETRY_RATIO(x) static_cast<uint32_t>((x)*65536.0 + ((x) < 8e-6 ? (x) > 0 : 0.5))
#else
#define RETRY_RATIO(x) \
    ((uint32_t)((x)*65536.0 + 0.5) + (((uint64_t)((x)*131072e4) + 9998) / 9999 == 1))
#endif

/* `initial` doubled `retries` times, at most `max` (0: no cap), in ms or finer; times what 32
   random bits draw from `low` to `high`: RETRY_RATIO, 1.9999 at most (p percent: (p * 65536 + 99) /
   100). If high is 1 no delay is over max, below low it is low. 0 only if `initial` or `low` is:
      wait = retry_delay(100, 5000, retries, 0, RETRY_RATIO(1), random); */
RETRY_API uint32_t retry_delay(uint32_t initial, uint32_t max, uint32_t retries, uint32_t low,
                               uint32_t high, uint32_t random);

/* ---- Backoff ------------------------------------------------------------------------------- */

enum {
    RETRY_CURVE_EXPONENTIAL, /* initial * factor^n */
    RETRY_CURVE_CONSTANT,    /* initial */
    RETRY_CURVE_TABLE,       /* table[n] */
    RETRY_CURVE_CUSTOM       /* custom(self, n) */
};

/* What is drawn at random for a base delay d. */
enum {
    RETRY_JITTER_DEFAULT,      /* FULL; of a connection SPREAD */
    RETRY_JITTER_FULL,         /* 0 to d */
    RETRY_JITTER_EQUAL,        /* d/2 to d */
    RETRY_JITTER_SPREAD,       /* d - spread*d to d + spread*d (gRPC) */
    RETRY_JITTER_DECORRELATED, /* initial to 3 * previous; the curve is not asked */
    RETRY_JITTER_NONE          /* d */
};

/* Any other curve, an empty TABLE and a NULL CUSTOM are EXPONENTIAL; any other jitter is NONE. */
typedef struct retry_backoff {
    uint8_t curve;         /* RETRY_CURVE_x (default: EXPONENTIAL) */
    uint8_t jitter;        /* RETRY_JITTER_x (default: FULL) */
    retry_ms min;          /* ms; no delay, jitter included, is shorter; beats max (default: 0) */
    retry_ms initial;      /* ms; the first delay, before jitter (default: 0: 1 ms) */
    retry_ms max;          /* ms; no delay but SPREAD's is longer (default: 0: no cap) */
    uint32_t factor;       /* RETRY_RATIO; below 1 counts as 1 (default: 0: 2) */
    uint32_t spread;       /* RETRY_RATIO of the delay, for SPREAD (default: 0: 0.2) */
    const retry_ms *table; /* ms, for TABLE; the last value repeats (default: NULL) */
    uint32_t table_length; /* values in table (default: 0) */
    retry_ms (*custom)(const struct retry_backoff *self, uint32_t retries); /* ms, for CUSTOM; pure:
                                it must stop nothing; `self` may be a copy (default: NULL) */
} retry_backoff;

/* The delay in ms before jitter and `min`; `retries`: so many were made already, 0 gives the first.
   Pure. The delay never falls as `retries` grows (but for TABLE and CUSTOM), and saturates.
   EXPONENTIAL is within 1 ms or 0.01 % of the exact value. At most 32 steps. 0 for NULL. */
RETRY_API retry_ms retry_backoff_base(const retry_backoff *backoff, uint32_t retries);

/* The delay in ms with jitter. `previous`: the last delay in ms, for DECORRELATED (below `initial`:
   `initial`); `random`: from 0, the low end of the range, to UINT32_MAX, the high end. Pure. 0 for
   NULL. Sources: AWS on jitter; gRPC for SPREAD.
      retry_backoff backoff = RETRY_BACKOFF_AWS;
      wait = retry_backoff_delay(&backoff, retries, 0, random); */
RETRY_API retry_ms retry_backoff_delay(const retry_backoff *backoff, uint32_t retries,
                                       retry_ms previous, uint32_t random);

/* RFC 0049's controlled backoff. */
static const retry_ms retry__controlled[6] = {1, 10, 50, 100, 500, 1000};

/* The numbers of each preset, in ms: X(curve, jitter, min, attempts, initial, initial after
   throttled answers, the longest after these if that is more, the most that a server may ask for,
   the most above the delay, the longest, factor). 0 is the default. */
#define RETRY__BEST_EFFORT(X) \
    X(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_FULL, 1, 0, 100, 100, 10000, 0, 0, 5000, 0)
#define RETRY__SMITHY(X) \
    X(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_FULL, 0, 5, 1000, 0, 0, 0, 0, 20000, 0)
#define RETRY__AWS(X) \
    X(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_FULL, 0, 3, 1000, 0, 0, 20000, 0, 20000, 0)
#define RETRY__AWS_2026(X) \
    X(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_FULL, 0, 3, 50, 1000, 0, 0, 5000, 20000, 0)
#define RETRY__GRPC(X)                                                              \
    X(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_SPREAD, 0, 0, 1000, 0, 0, 0, 0, 120000, \
      RETRY_RATIO(1.6))
#define RETRY__RFC0049(X) X(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_NONE, 0, 0, 1, 0, 0, 0, 0, 500, 0)
#define RETRY__LADDER(X) X(RETRY_CURVE_TABLE, RETRY_JITTER_NONE, 0, 0, 0, 0, 0, 0, 0, 0, 0)

/* All fields of a backoff. Braces, as this section is C89 and C++98, too. */
#define RETRY__BACKOFF_OF(curve, jitter, min, initial, max, factor, table, table_length) \
    {                                                                                    \
        curve, jitter, min, initial, max, factor, 0, table, table_length, NULL           \
    }
#define RETRY__BACKOFF(curve, jitter, min, attempts, initial, throttled, throttled_max, after_max, \
                       after_slack, max, factor)                                                   \
    RETRY__BACKOFF_OF(curve, jitter, min, initial, max, factor, NULL, 0)
#define RETRY__BACKOFF_THROTTLED(curve, jitter, min, attempts, initial, throttled, throttled_max, \
                                 after_max, after_slack, max, factor)                             \
    RETRY__BACKOFF(curve, jitter, min, 0, throttled, 0, 0, 0, 0,                                  \
                   (throttled_max) > (max) ? (throttled_max) : (max), factor)

#define RETRY_BACKOFF_DEFAULT \
    RETRY__BACKOFF(RETRY_CURVE_EXPONENTIAL, RETRY_JITTER_DEFAULT, 0, 0, 0, 0, 0, 0, 0, 0, 0)
#define RETRY_BACKOFF_BEST_EFFORT RETRY__BEST_EFFORT(RETRY__BACKOFF)
#define RETRY_BACKOFF_THROTTLED RETRY__BEST_EFFORT(RETRY__BACKOFF_THROTTLED)
#define RETRY_BACKOFF_RFC0049 RETRY__RFC0049(RETRY__BACKOFF)
#define RETRY_BACKOFF_CONTROLLED \
    RETRY__BACKOFF_OF(RETRY_CURVE_TABLE, RETRY_JITTER_NONE, 0, 0, 0, 0, retry__controlled, 6)
#define RETRY_BACKOFF_AWS RETRY__AWS(RETRY__BACKOFF)
#define RETRY_BACKOFF_AWS_2026 RETRY__AWS_2026(RETRY__BACKOFF)
#define RETRY_BACKOFF_GRPC RETRY__GRPC(RETRY__BACKOFF)

/* ---- Phase --------------------------------------------------------------------------------- */

/* An offset in ms in [0, period) for periodic work, the same on every platform for the same
   identity (`length` bytes). 0 if period is 0; NULL counts as no bytes. */
RETRY_API retry_ms retry_phase(const void *identity, size_t length, retry_ms period);

/* ---- The built-in strategy ----------------------------------------------------------------- */

/* Start from a preset: `base` has no default. */
typedef struct retry_policy {
    retry_strategy base;            /* { retry_policy_after } (no default) */
    retry_backoff backoff;          /* (default: 1 ms doubling without end) */
    retry_backoff throttle_backoff; /* after a throttled attempt (default: initial 0: backoff) */
    uint32_t max_attempts;          /* the first included (default: 0: no limit) */
    retry_ms retry_after_max;    /* ms; the most that a server may ask for (default: 0: no cap) */
    retry_ms retry_after_slack;  /* ms; the most above the computed delay (default: 0: no cap) */
    uint32_t retry_after_spread; /* RETRY_RATIO of that wait, added at random; 1, as a number:
                                    nothing (default: 0: a quarter) */
} retry_policy;

/* Answers, in this order: not permitted (NOT_IDEMPOTENT), attempts used up (ATTEMPTS_EXHAUSTED),
   else the backoff's delay, raised to what the server wants within both caps, and spread: by half
   of the time behind it at most, and not at all if a gate wants it (retry_classify_permit). The
   last retry uses the time that is left: if a delay would leave less than an attempt needs (see
   retry_next), and twice that need is left, it is drawn so that it leaves the need, and up to an
   eighth of the rest more. There may be several such last retries, one after the other. After a
   pushback to wait the curve begins anew. Only of an operation that is under way. NULL: MISUSE.
   Sources: RFC 0049, Smithy, the AWS SDKs. */
RETRY_API retry_action retry_policy_after(const retry_strategy *self, const retry_operation *op,
                                          const retry_failure *failure, retry_time now);

/* RETRY_POLICY_BEST_EFFORT for a client without a budget, in less code. No retry is put off:
   neither because tokens are few, nor as the last one. retry_policy_after takes it, too. */
RETRY_API const retry_strategy *retry_best_effort(void);

/* Refuses (REFUSED) what is not always retried; for a library's internal operations. RFC 0049. */
RETRY_API const retry_strategy *retry_fail_fast(void);

/* All fields of a policy. */
#define RETRY__POLICY_OF(after, backoff, throttle_backoff, attempts, after_max, after_slack)     \
    RETRY__INIT(RETRY__INIT(after), backoff, throttle_backoff, attempts, after_max, after_slack, \
                RETRY__SPREAD(after_max, after_slack))
/* The AWS SDKs, whose presets have a cap, spread nothing. */
#define RETRY__SPREAD(after_max, after_slack) ((after_max) != 0 || (after_slack) != 0 ? 1 : 0)
#define RETRY__POLICY(curve, jitter, min, attempts, initial, throttled, throttled_max, after_max, \
                      after_slack, max, factor)                                                   \
    RETRY__POLICY_OF(retry_policy_after,                                                          \
                     RETRY__BACKOFF(curve, jitter, min, 0, initial, 0, 0, 0, 0, max, factor),     \
                     RETRY__BACKOFF_THROTTLED(curve, jitter, min, 0, 0, throttled, throttled_max, \
                                              0, 0, max, factor),                                 \
                     attempts, after_max, after_slack)
#define RETRY_POLICY_BEST_EFFORT RETRY__BEST_EFFORT(RETRY__POLICY)
#define RETRY_POLICY_SMITHY RETRY__SMITHY(RETRY__POLICY)
#define RETRY_POLICY_AWS RETRY__AWS(RETRY__POLICY)
#define RETRY_POLICY_AWS_2026 RETRY__AWS_2026(RETRY__POLICY)

/* ---- Retry budget -------------------------------------------------------------------------- */

/* x tokens, 0 or 1e-7 to 4294967.295, in thousandths, and so many a second; constant expressions.
   What is not 0 is at least a thousandth, as 0 is a default: one token in 1,000 s. The quotient is
   1 above 0 and below half a thousandth, else not: tcc folds no comparison of doubles. */
#define RETRY_TOKENS(x)                        \
    (RETRY__CAST(uint32_t, (x)*1000.0 + 0.5) + \
     ((RETRY__CAST(uint64_t, (x)*2e7) + 9998) / 9999 == 1))
#define RETRY_PER_SECOND(x) RETRY_TOKENS(x)

/* All but `capacity` default to 0 or false. Amounts are RETRY_TOKENS: thousandths of a token. */
typedef struct retry_budget_options {
    uint32_t capacity;          /* tokens; it starts full; 0 pays for nothing (no default) */
    uint32_t retry_cost;        /* tokens for a retry (default: 0: free) */
    uint32_t timeout_cost;      /* tokens after a timeout (default: 0: retry_cost) */
    uint32_t throttle_cost;     /* tokens after a throttled attempt (default: 0: retry_cost); if it
                                   has a retry_after, retry_cost at most */
    uint32_t success_deposit;   /* tokens on a success; see refund_last (default: 0) */
    uint32_t request_deposit;   /* tokens on every retry_start, as in Finagle (default: 0) */
    uint32_t refill_per_second; /* RETRY_PER_SECOND; tokens that come in (default: 0) */
    uint32_t floor;             /* tokens; a withdrawal must leave more (default: 0: none) */
    bool refund_last;     /* after retries a success gives the last cost instead (default: false) */
    bool charge_failures; /* gRPC: each failure is charged; a retry needs more than `floor` left
                             after that (default: false) */
    retry_ms expire; /* ms; of what is held beyond the base, the dearest of the three costs, 37 %
                        are left after this time, in steps of a 64th of it. It then starts with the
                        base; who holds less than half of that waits the policy's longest delay
                        to half more (default: 0: never, and it starts full) */
    uint32_t base_per_second; /* RETRY_PER_SECOND; what refills the base, and what a retry that
                                 cannot be paid for waits for (default: 0: nothing) */
} retry_budget_options;

/* Clients and threads share it without a lock. Until retry_budget_init it pays for nothing. */
struct retry_budget {
    retry_budget_options options; /* constant after retry_budget_init */
    uint32_t retry__balance;      /* private: thousandths */
    uint32_t retry__refilled;     /* private: ms; time has been counted up to here */
    uint32_t retry__fraction;     /* private: millionths below a thousandth, 0 to 999 */
    uint32_t retry__owed;         /* private: thousandths; of what comes in next they are spent */
    uint32_t (*retry__account)(retry_budget *budget, uint8_t how, uint32_t amount,
                               const retry_operation *op); /* private */
};

/* Fills the bucket. Not while others use it. NULL options: capacity 0. Before a sleep that loses it
   call retry_budget_withdraw(budget, 0, now), and keep the balance and this `now`. After it, with a
   budget that has no `floor`: init with the kept `now`, withdraw the balance, deposit the kept. */
RETRY_API void retry_budget_init(retry_budget *budget, const retry_budget_options *options,
                                 retry_time now);

/* Refills, then takes `cost` (RETRY_TOKENS), all or nothing: it must be there, and leave more than
   a `floor` that is set. Cost 0 too; with capacity 0 nothing is paid. False: not taken, or NULL. */
RETRY_API bool retry_budget_withdraw(retry_budget *budget, uint32_t cost, retry_time now);

/* Puts `amount` (RETRY_TOKENS) in, never above the capacity. NULL: nothing happens. */
RETRY_API void retry_budget_deposit(retry_budget *budget, uint32_t amount);

/* Thousandths in the bucket as of the last call on it. NULL: 0. */
RETRY_API uint32_t retry_budget_balance(const retry_budget *budget);

#define RETRY__TOKEN 1000u /* RETRY_TOKENS(1) in whole numbers */
/* All fields of the options, in thousandths of a token; and of those that nothing expires of, in
   tokens. */
#define RETRY__BUDGET_OF(capacity, cost, timeout_cost, throttle_cost, success, floor, refund,      \
                         charge, expire, base)                                                     \
    RETRY__INIT(capacity, cost, timeout_cost, throttle_cost, success, 0, 0, floor, refund, charge, \
                expire, base)
#define RETRY__BUDGET(capacity, cost, timeout_cost, throttle_cost, success, floor, refund, charge) \
    RETRY__BUDGET_OF(RETRY_TOKENS(capacity), RETRY_TOKENS(cost), RETRY_TOKENS(timeout_cost),       \
                     RETRY_TOKENS(throttle_cost), RETRY_TOKENS(success), RETRY_TOKENS(floor),      \
                     refund, charge, 0, 0)

/* Initialisers of retry_budget_options. SMITHY gives 1 token back on every success, as its guide
   says; AWS gives back the last charge, or 1 token for a success that needed no retry. */
#define RETRY_BUDGET_SMITHY RETRY__BUDGET(500, 5, 10, 5, 1, 0, false, false)
#define RETRY_BUDGET_AWS RETRY__BUDGET(500, 5, 10, 5, 1, 0, true, false)
#define RETRY_BUDGET_AWS_2026 RETRY__BUDGET(500, 14, 14, 5, 1, 0, true, false)
#define RETRY_BUDGET_GRPC RETRY__BUDGET(10, 1, 0, 0, 0.1, 5, false, true)

/* For RETRY_POLICY_BEST_EFFORT. The base is one token, refilled in 20 s. A success puts in a tenth
   of a token, which expires after 10 s. A retry costs a quarter of a token, or a whole one after a
   time-out or a throttled answer. It holds 20 tokens for each operation in flight (saturating). */
#define RETRY_BUDGET_BEST_EFFORT(in_flight)                                                       \
    RETRY__BUDGET_OF(                                                                             \
        RETRY__CAST(uint32_t,                                                                     \
                    RETRY__CAST(uint64_t, in_flight) >> 32 != 0 ||                                \
                            RETRY__CAST(uint64_t, in_flight) * 20 * RETRY__TOKEN > UINT32_MAX     \
                        ? UINT32_MAX                                                              \
                        : RETRY__CAST(uint64_t, in_flight) * 20 * RETRY__TOKEN),                  \
        RETRY_TOKENS(0.25), RETRY_TOKENS(1), RETRY_TOKENS(1), RETRY_TOKENS(0.1), 0, false, false, \
        10000, RETRY_PER_SECOND(0.05))

/* ---- Connection ---------------------------------------------------------------------------- */

/* What changes in a connection: all that has to be kept while the RAM is lost (CONNECTIONS). */
typedef struct retry_connection_state {
    uint32_t retry__attempts;         /* private: attempts begun since the last reset */
    retry_ms retry__asked;            /* private: ms that the server asked for; 0: it did not */
    retry_time retry__asked_at;       /* private: when it did */
    retry_ms retry__spacing;          /* private: ms from this attempt's start to the next's */
    retry_time retry__started;        /* private: this attempt's start */
    retry_time retry__established_at; /* private: when SETTINGS were seen */
    uint8_t retry__state;             /* private: idle, connecting or established */
} retry_connection_state;

/* One connection's attempts, spaced start to start; zero it. A backoff's max of 0 is 120 s, or
   `initial` if that is more. Source: gRPC's connection backoff. */
typedef struct retry_connection {
    retry_backoff backoff;        /* (default: each field that is 0: RETRY_BACKOFF_GRPC's) */
    retry_ms min_connect_timeout; /* ms that an attempt is always granted (default: 0: 20000) */
    retry_ms max_connect_timeout; /* ms that it may take at most (default: 0: no limit) */
    retry_ms stable_after;        /* ms to stand before it resets; 1: any (default: 0: 10000) */
    retry_random_fn *random;      /* (default: NULL: the built-in generator) */
    void *random_context;         /* handed to random (default: NULL) */
    retry_connection_state state; /* zero it at first, and leave it alone */
} retry_connection;

/* Before each attempt: returns its connect timeout in ms, the larger of what is left to its
   deadline and min_connect_timeout, max_connect_timeout at most. The deadline is when the next
   attempt may start. NULL: 0.
      static retry_connection connection;
      timeout = retry_connection_begin(&connection, now);
      retry_connection_established(&connection, now);
      wait = retry_connection_failed(&connection, NULL, now); */
RETRY_API retry_ms retry_connection_begin(retry_connection *connection, retry_time now);

/* When an attempt fails or the connection is lost: returns the ms to sleep before the next attempt.
   After a connection that was established, and after an attempt that failed past its deadline, it
   is at least what is drawn from 0 to the first spacing; after a connection that lasted
   stable_after ms just that: a fleet spreads. Called again it returns what is left; when that is
   over, without a _begin, it counts as an attempt that began now. NULL connection: 0. `failure`
   says why, NULL nothing:
   - The server said when to come back (retry_after): the next attempt starts then, up to a quarter
   later at random, but not before the backoff lets it.
   - Else, if trying again does not help (reason UNKNOWN, or NONE, unless it is the server's fault
   or safety is YES): it starts after the longest spacing, an eighth less at random. */
RETRY_API retry_ms retry_connection_failed(retry_connection *connection,
                                           const retry_failure *failure, retry_time now);

/* The network is back: the next attempt may start after a part of the first spacing, drawn at
   random, if that is sooner, but not before a server that said when to come back. The attempts
   count from one again. NULL: nothing happens. */
RETRY_API void retry_connection_skip_wait(retry_connection *connection, retry_time now);

/* ms until the next attempt may start; changes nothing. NULL: 0. */
RETRY_API retry_ms retry_connection_wait(const retry_connection *connection, retry_time now);

/* When the connection is usable (HTTP/2: SETTINGS seen). If it lasts stable_after ms, the next
   _begin counts from one. Only the first call after a _begin counts. NULL: nothing happens. */
RETRY_API void retry_connection_established(retry_connection *connection, retry_time now);

/* Initialiser: gRPC's numbers, with which any connection resets. */
#define RETRY_CONNECTION_GRPC \
    RETRY__INIT(RETRY_BACKOFF_GRPC, 20000, 0, 1, NULL, NULL, RETRY__INIT(0, 0, 0, 0, 0, 0, 0))

/* ---- Classification and idempotency -------------------------------------------------------- */

/* Any HTTP response; `retry_after` in ms, 0 without the header. The manual's table. RFC 9110. */
RETRY_API retry_failure retry_classify_http(int http_status, retry_ms retry_after);

/* A gRPC status. UNAVAILABLE, and RESOURCE_EXHAUSTED, which is throttled: SERVER_ERROR.
   (A message that is too large is RESOURCE_EXHAUSTED, too, perhaps after the work was done.)
   DEADLINE_EXCEEDED: ATTEMPT_TIMED_OUT. CANCELLED, UNKNOWN, INTERNAL, DATA_LOSS and what is no code
   of gRPC's: UNKNOWN, which is final, and ambiguous. All others are final. For
   grpc-retry-pushback-ms there is retry_parse_pushback. Sources: gRPC's status codes, A6. */
RETRY_API retry_failure retry_classify_grpc(int status);

/* A failed call of the sockets' interface: errno; on Windows also WSAGetLastError(), or what
   GetLastError() says of an overlapped call on a socket (not of files). 0: the peer closed the
   connection (recv returned 0). Or EAI_AGAIN, if getaddrinfo returned that.
   If any of the request had been sent, nobody knows what happened to it, whatever the error. The
   reason is SOCKET_CLOSED_WHILE_IN_FLIGHT; for a time-out (the last line) ATTEMPT_TIMED_OUT. If
   nothing was sent, the failure is `unsent`. The reason is SOCKET_NOT_AVAILABLE for these errors,
   and NONE, the client's fault, for all others (EINVAL, EINTR ...):
      0 ECONNREFUSED ENETDOWN ENETUNREACH EHOSTDOWN EHOSTUNREACH ENETRESET ECONNRESET ECONNABORTED
      EPIPE EAI_AGAIN (-3 of glibc and musl; WSATRY_AGAIN)
      EMFILE ENFILE ENOBUFS ENOMEM EADDRNOTAVAIL (fault CLIENT: this machine lacks it for a while)
      ETIMEDOUT EAGAIN EWOULDBLOCK (SO_RCVTIMEO) EINPROGRESS (connect with SO_SNDTIMEO, on Linux) */
RETRY_API retry_failure retry_classify_errno(int error, bool sent);

enum { RETRY_STAGE_DISPATCH, RETRY_STAGE_IN_FLIGHT };

/* The failure of an attempt without a response. RETRY_STAGE_DISPATCH, before anything was sent: the
   reason handed in, `unsent`. Any other stage: SOCKET_CLOSED_WHILE_IN_FLIGHT. */
RETRY_API retry_failure retry_classify_stage(uint8_t stage, retry_reason dispatch_reason);

/* Whether an HTTP method (`length` bytes, case-sensitive) is idempotent, for HTTP in general; for a
   Couchbase cluster errmap_idempotent_service is stricter. Source: RFC 9110. */
RETRY_API bool retry_idempotent_http(const char *method, size_t length);

/* Reads gRPC's grpc-retry-pushback-ms (`length` bytes): sets `pushback`, and `retry_after` to the
   decimal number, 0 to 2147483647 without sign, space or unnecessary zero. Anything else, NULL and
   the empty text too, means not to retry: UINT32_MAX. False only for failure NULL. gRPC's A6. */
RETRY_API bool retry_parse_pushback(const char *value, size_t length, retry_failure *failure);

/* ---- Retry-After --------------------------------------------------------------------------- */

/* Reads a Retry-After value (`length` bytes; blanks, tabs and line ends around it do not count):
   seconds, which may have a fraction, or one of RFC 9110's three date forms. A date is measured
   from `unix_seconds`: the answer's own Date, or the wall clock; INT64_MIN: neither is known, and a
   date is false. Sets *delay in ms, rounded up: 1 for 0 and for a date that is past, as 0 means
   that there was no header; UINT32_MAX if it is too long. A two-digit year is the latest at most 50
   years ahead. The weekday need not fit. False, and *delay is left alone, for anything else.
      if (retry_parse_retry_after(value, strlen(value), time(NULL), &asked) && asked > wait)
          wait = asked; */
RETRY_API bool retry_parse_retry_after(const char *value, size_t length, int64_t unix_seconds,
                                       retry_ms *delay);

/* A date of HTTP in one of its three forms, as seconds since 1970; false, and nothing changes, for
   anything else. A year of two digits is the latest at most 50 years after two_digit_year_now. */
RETRY_API bool retry_parse_http_date(const char *value, size_t length, int64_t two_digit_year_now,
                                     int64_t *unix_seconds);

/* ---- Breaker ------------------------------------------------------------------------------- */

/* Two counts over a while that has two halves; part of a breaker and of a throttle. */
typedef struct retry__window {
    uint32_t retry__half;      /* private: when the half under way began, and which it is */
    uint32_t retry__counts[4]; /* private: of each half all, and the marked ones */
} retry__window;

/* RETRY_BREAKER_ISOLATED comes from retry_breaker_set alone. */
enum { RETRY_BREAKER_CLOSED, RETRY_BREAKER_OPEN, RETRY_BREAKER_HALF_OPEN, RETRY_BREAKER_ISOLATED };

/* Keeps attempts from a node that is unhealthy: it does not answer, or breaks. Zero it. Threads
   share it without a lock. Sources: the Couchbase SDKs, gobreaker, resilience4j, Polly. */
typedef struct retry_breaker {
    uint32_t volume;        /* reports in the window before `ratio` may open it (default: 0: 20) */
    uint32_t ratio;         /* RETRY_RATIO of unhealthy ones that opens it (default: 0: a half) */
    retry_ms window;        /* ms that a report counts at most, up to 2^23 (default: 0: 8000) */
    retry_ms open;          /* ms that it refuses everything, up to 2^30 (default: 0: 2000) */
    retry_ms probe_timeout; /* ms a silent probe keeps its place, up to 2^30 (default: 0: 5000) */
    retry_ms open_max;      /* ms; failed probes double `open`, up to it (default: 0: never) */
    retry_ms slow;          /* ms; an answer that took as long is unhealthy (default: 0: none is) */
    uint16_t in_a_row;      /* consecutive unhealthy ones open it, too (default: 0: never) */
    uint8_t probes;         /* half-open: most in flight; answers that close it (default: 0: 1) */
    uint32_t retry__state;  /* private: generation and state, or what half-open counts */
    uint32_t retry__since;  /* private: ms; when it opened or probed last; in CLOSED also when a
                               broken connection was counted last */
    uint32_t retry__in_a_row;     /* private: unhealthy reports; rounds of probes */
    retry__window retry__reports; /* private: all, and the unhealthy ones */
} retry_breaker;

/* Goes back, as it is, with the report or the release of its attempt. */
typedef struct retry_permit {
    bool granted;           /* to send */
    uint16_t retry__ticket; /* private: the state that granted it */
    retry_ms wait;          /* ms to the next probe; 0: granted, or nobody knows */
    uint32_t retry__asked;  /* private: ms; when it was granted */
} retry_permit;

/* What a breaker counts. */
typedef struct retry_breaker_counts {
    uint32_t reports;    /* in the window */
    uint32_t sick;       /* of these the unhealthy ones */
    uint32_t in_a_row;   /* unhealthy ones since the last answer; stays at 65,535 */
    uint8_t sick_probes; /* consecutive rounds of probes that failed; stays at 255 */
} retry_breaker_counts;

/* Before each attempt. CLOSED grants. OPEN refuses for `open` ms; `wait` says how many are left.
   After that it is HALF_OPEN: up to `probes` attempts are granted, and all others refused with
   `wait` 0, until the probes are answered, or silent for probe_timeout ms. ISOLATED refuses, with
   `wait` 0. `may_probe` false: the attempt has too little time left to be a probe, so only CLOSED
   grants it. NULL: granted.
      static retry_breaker breaker;
      retry_permit permit = retry_breaker_ask(&breaker, true, now);
      if (permit.granted)
          retry_breaker_report(&breaker, permit, worked ? NULL : &failure, now); */
RETRY_API retry_permit retry_breaker_ask(retry_breaker *breaker, bool may_probe, retry_time now);

/* How the attempt ended; NULL failure: it worked. True: this report opened or closed the breaker,
   which exactly one report does for each such change: log it.
   - CLOSED counts it. An unhealthy one opens the breaker if it is the `in_a_row`-th of its kind, or
     if the window holds `volume` reports of which `ratio` are, to half of the ratio's unit. All
     attempts on a connection fail when it breaks. So a failure that tells of a connection
     (SOCKET_NOT_AVAILABLE, SOCKET_CLOSED_WHILE_IN_FLIGHT, no `timeout`) counts only if its attempt
     began after the last such failure that counted.
   - HALF_OPEN: an unhealthy one opens the breaker anew. The answer that completes `probes` closes
   it, with nothing counted, however late it comes.
   - These count as released: CIRCUIT_BREAKER_OPEN, CLIENT_THROTTLED, a zeroed failure, and an
   `unsent` one with `fault` CLIENT, or with neither `timeout` nor an unhealthy reason.
   An answer `slow` ms or more after the permit was granted is unhealthy. Nothing happens if the
   breaker has changed its state since (65,536 changes look like none), for NULL and a refusal. */
RETRY_API bool retry_breaker_report(retry_breaker *breaker, retry_permit permit,
                                    const retry_failure *failure, retry_time now);

/* Instead of a report, if it was cancelled or never sent: a probe's place is free again. */
RETRY_API void retry_breaker_release(retry_breaker *breaker, retry_permit permit, retry_time now);

/* Sets the state, and forgets all reports and permits. OPEN: for `open` ms. HALF_OPEN: the next to
   ask is a probe. ISOLATED: until another is set. NULL, or no such state: nothing happens. */
RETRY_API void retry_breaker_set(retry_breaker *breaker, uint8_t state, retry_time now);

/* Sets CLOSED: after a reconnect. */
RETRY_API void retry_breaker_reset(retry_breaker *breaker, retry_time now);

/* RETRY_BREAKER_x. HALF_OPEN if the next ask would probe, or probes are in flight. NULL: CLOSED. */
RETRY_API uint8_t retry_breaker_state(const retry_breaker *breaker, retry_time now);

/* What it has counted; while it is OPEN, what it was opened for. NULL: zeros. */
RETRY_API retry_breaker_counts retry_breaker_get(retry_breaker *breaker, retry_time now);

/* A refusal as the failure of an attempt: CIRCUIT_BREAKER_OPEN; retry_after is `wait` and an eighth
   more, so that a new operation, with all its time, probes first. Granted: NONE. */
RETRY_API retry_failure retry_classify_permit(retry_permit permit);

/* Initialiser: the Couchbase SDKs' numbers. */
#define RETRY_BREAKER_COUCHBASE                                               \
    RETRY__INIT(20, RETRY_RATIO(0.5), 60000, 5000, 5000, 0, 0, 0, 0, 0, 0, 0, \
                RETRY__INIT(0, RETRY__INIT(0, 0, 0, 0)))

/* ---- Client-side throttling ---------------------------------------------------------------- */

/* Drops at random what the server would refuse anyway. Zero it. Source: Google's SRE book. */
typedef struct retry_throttle {
    uint32_t k;             /* RETRY_RATIO of requests to accepts, at least 1 (default: 0: 2) */
    uint32_t max_rejection; /* RETRY_RATIO that it refuses at most, up to 0.999 (default: 0: 0.9) */
    retry_ms window;        /* ms that a report counts at most, up to 2^23 (default: 0: 4000) */
    retry__window retry__requests; /* private: all, and the accepted ones */
} retry_throttle;

/* ---- How many at once ---------------------------------------------------------------------- */

/* A limit of attempts in flight: TCP's additive increase, multiplicative decrease. Zero it. */
typedef struct retry_aimd {
    uint32_t initial;       /* the limit at first; above max counts as max (default: 0: 20) */
    uint32_t max;           /* the limit at most (default: 0: 1000) */
    uint32_t min;           /* the limit at least; above max counts as max (default: 0: 1) */
    uint32_t increase;      /* added when all is well (default: 0: 1) */
    uint32_t decrease;      /* RETRY_RATIO to keep (default: 0: a half; over 0.999: 0.999) */
    retry_ms cooldown;      /* ms between changes, up to 2^30 (default: 0) */
    retry_ms hold_max;      /* ms; the longest that a server's Retry-After holds all attempts, up to
                               2^30 (default: 0: 2000, but over half of a timeout only if over half
                               of the last attempts failed; 1: none) */
    uint32_t retry__limit;  /* private: 0: it never changed, and is initial */
    uint32_t retry__fell;   /* private: ms; when it fell last; 0: never */
    uint32_t retry__change; /* private: ms; when it rose or fell last; 0: never */
    uint32_t retry__known;  /* private: up to this it doubles while all is in use; 0: it never
                               fell; UINT32_MAX: without end */
    uint32_t retry__in_a_row; /* private: failures in a row that may lower it; stays at 255 */
    uint32_t retry__pause;    /* private: ms; when a pause began, odd if the server's; 0: none */
    retry_ms retry__length;   /* private: ms that it lasts */
    uint32_t retry__failed;   /* private: what share of the last failed, in 65,536ths */
} retry_aimd;

/* How many may be in flight at once, `max` and `min` as they are now. NULL: UINT32_MAX. */
RETRY_API uint32_t retry_aimd_limit(const retry_aimd *aimd);

/* ---- Rate ---------------------------------------------------------------------------------- */

/* Sends no faster than the service accepts. One for each of the service's limits. Zero it. */
typedef struct retry_rate {
    uint32_t min;   /* RETRY_PER_SECOND; the lowest limit, up to `max` (default: 0: one in 2 s) */
    uint32_t max;   /* RETRY_PER_SECOND; the highest, from the start (default: 0: none) */
    retry_ms wait;  /* ms; an attempt that waits as long is refused, up to 2^20 (default: 0: 250) */
    uint32_t burst; /* RETRY_TOKENS; the sends that it saves up while idle, from 1 to what 17 min
                       bring (default: 0: an eighth of a second's, at least 1) */
    uint32_t retry__limit;     /* private: thousandths a second; 0: none but `max` */
    uint32_t retry__held;      /* private: the limit before it last rose; 0 without one */
    uint32_t retry__edge;      /* private: the limit when last some were throttled, and some not */
    uint32_t retry__half;      /* private: ms; start of the half second under way */
    uint32_t retry__accepted;  /* private: answers in it that were not throttled */
    uint32_t retry__throttled; /* private: answers in it that were */
    uint32_t retry__quiet;     /* private: consecutive half seconds in which none was */
    uint32_t retry__owed;      /* private: 4096ths of a ms; time that the bucket lacks */
    uint32_t retry__clock;     /* private: ms; until when it was filled */
    retry_ms every; /* ms from send to send, at least, up to 2^20 (17 minutes); exact where a rate's
                       thousandths are not (default: 0: as `max` says) */
} retry_rate;

/* The limit (RETRY_PER_SECOND) as the last call left it; else `max`. UINT32_MAX: none, or NULL.
   `every` is not in it. */
RETRY_API uint32_t retry_rate_get(const retry_rate *rate);

/* ---- Latency ------------------------------------------------------------------------------- */

/* A percentile of what attempts take, one for each kind of operation. Zero it; its settings are
   constant. It is within a quarter of the truth 97 times in 100, and follows a tenfold slow-down
   within 200 attempts (900 at 0.99). */
typedef struct retry_latency {
    uint32_t quantile;        /* RETRY_RATIO below 1 (default: 0: 0.95; from 1 on: 0.999) */
    uint32_t min_samples;     /* samples before anything is told, up to 2^30 (default: 0: 768,
                                 doubled until 30 are over the quantile: 3072 at 0.99) */
    retry_ms min;             /* ms; the estimate's lower bound, above all (default: 0: 1 ms) */
    retry_ms max;             /* ms; its upper bound (default: 0: none) */
    uint32_t retry__estimate; /* private: its level; 0: no answer yet */
    uint32_t retry__progress; /* private: samples; later, whether too many or too few are late */
} retry_latency;

/* The estimate in whole ms, within the bounds. What is told is 0.8 to 1.6 % more than what is kept:
   where all take the same, none is late. UINT32_MAX before min_samples, or for NULL. */
RETRY_API retry_ms retry_latency_get(const retry_latency *latency);

/* ---- The gates of a server ----------------------------------------------------------------- */

/* What the gates of one server are asked and told; private. */
struct retry__attempt;
typedef struct retry__gate {
    void *retry__self;
    const struct retry__gate_code *retry__code;
} retry__gate;

/* The gates of one server. Zero it, then add what you use; add and take out while nothing is in
   flight, and no operation is PACED. Threads share it without a lock. Their clocks agree within 2
   s; if you set a gate's `window` or a breaker's `open`, within half of the one, and within the
   other. A clock that steps back by more makes breaker and throttle forget. No breaker then says to
   wait longer than its `open`, or refuses for longer than twice that. Rate, AIMD limit and budget
   stand still until the clock has caught up, but not if it is over 32 s behind. */
struct retry_gates {
    uint32_t in_flight;       /* copies on the wire; kept by the library, free to read */
    uint32_t retry__pace;     /* private: 16 times `slow`, in ms, and the rounds, 0 to 10 */
    uint32_t retry__round;    /* private: ms; when the last round was counted */
    uint32_t retry__answered; /* private: ms; when it last answered; 0: never */
    uint32_t retry__ill;      /* private: of a node: until when, and how often it failed in a row */
    uint16_t rank;            /* of a node: those with less come before it (default: 0) */
    retry__gate retry__gates[5]; /* private: in the order in which they are asked */
    uint8_t (*retry__on_event)(struct retry__attempt *attempt,
                               uint8_t what); /* private: asks, tells */
};

/* Each adds one gate, whose code is then linked, or takes it out (NULL). NULL gates: nothing. */
RETRY_API void retry_gates_breaker(retry_gates *gates, retry_breaker *breaker);
RETRY_API void retry_gates_throttle(retry_gates *gates, retry_throttle *throttle);
RETRY_API void retry_gates_aimd(retry_gates *gates, retry_aimd *aimd);
RETRY_API void retry_gates_rate(retry_gates *gates, retry_rate *rate);
RETRY_API void retry_gates_latency(retry_gates *gates, retry_latency *latency);

/* Gives a client several nodes; the gates of node n are gates[n]. Each copy asks them in this order
   until one lets it pass: those that are not ill (or whose ill time is over, and nobody tries
   them), and have no copy of the operation; those that did not fail it; lower rank; fewer in
   flight; at random. Of more than 32 nodes 32 in a row are asked, from a random one on. If none
   lets it pass: PACED if one does, with the shortest wait, else CIRCUIT_OPEN, else what the first
   said. `count` 0 or 1, or NULL gates: one node. Only while nothing is in flight, and no operation
   is PACED. NULL client: nothing happens. */
RETRY_API void retry_client_nodes(retry_client *client, retry_gates *gates, uint16_t count);

/* ---- Operations ---------------------------------------------------------------------------- */

enum {
    RETRY_DO_SEND,   /* put a copy on the wire */
    RETRY_DO_CANCEL, /* abort a copy: its answer counts no more */
    RETRY_DO_WAIT,   /* call retry_next again in `delay` ms, or when something has happened */
    RETRY_DO_END     /* the operation is over */
};

/* What to do next. What a step does not use is 0. */
typedef struct retry_step {
    uint8_t what;    /* RETRY_DO_x */
    uint8_t copy;    /* SEND, CANCEL: which; 0, or 1 to the hedge's count */
    uint8_t verdict; /* END: RETRY_VERDICT_SUCCESS, _FAIL or _EXPIRE */
    uint8_t cause;   /* RETRY_CAUSE_x. END: why. WAIT: STRATEGY or ALWAYS: a retry's delay; PACED: a
                        gate lets it wait; PENDING: the strategy's answer; NONE: copies are out */
    uint16_t node;   /* SEND: which of the client's nodes, from 0 */
    retry_ms delay;  /* ms. WAIT: to the next call; UINT32_MAX: no timer. END: see retry_next */
    retry_ms timeout; /* SEND: ms that the copy may take; retry_next watches. UINT32_MAX: no end */
} retry_step;

/* Begins an operation by the service's client; NULL service: by op.client, as it is set. One that
   is under way is stopped first. Nothing is asked or sent yet. Without retry_service_init, or with
   neither service nor op.client: END, FAIL, MISUSE. NULL op: nothing. Observers and strategies call
   neither this nor the next two. */
RETRY_API void retry_start(retry_operation *op, const retry_service *service, retry_time now);

/* What to do next; call it until it says WAIT or END. The first that fits:
   1. A copy is due to be cancelled: CANCEL, the lowest number first.
   2. The operation is over: END, as often as you ask. NULL, or never started: FAIL, MISUSE.
   3. No attempt is under way:
      a. A strategy answers later: WAIT, PENDING, to the deadline; then END, EXPIRE.
      b. A retry's delay is not over: WAIT for the rest of it.
      c. The attempt begins, if the gates let it: SEND copy 0; else WAIT, PACED, or END.
   4. An attempt is under way:
      a. A copy's time is over: it has failed (ATTEMPT_TIMED_OUT), and is cancelled.
      b. A further copy is due (retry_hedge_copies): SEND, if it is paid for and the gates let it.
      c. WAIT, NONE, for the first of the timers.
   Each copy that is to be sent asks, in this order:
   - The deadline is reached: EXPIRE, DEADLINE.
   - The breaker: CIRCUIT_OPEN; `delay` is the ms to the next probe, 0 if nobody knows.
   - The throttle, which draws once, however often the copy waits: THROTTLED.
   - The AIMD limit: PACED for a random time, longer for those who have more time left.
   - The rate: PACED until its time has come; THROTTLED if that is `wait` or more away (`delay` ms).
   - A wait would leave less than an attempt needs: EXPIRE, DEADLINE, at once. It needs the least of
     an eighth of the timeout, half of cut_after or attempt_timeout, and twice what answers take
     now, as far as they are known; but no less than answers take now (half of the timeout at most).
   Refused, copy 0 ends the operation: FAIL with that cause, or EXPIRE. The charge of its retry goes
   back, and the observer hears of it with a NULL failure. END's `delay` is 0 but for these, for
   BUDGET_EXHAUSTED (the delay that the strategy gave) and EXPIRE (the ms that were left, or that a
   gate's wait would have taken, if that is more). A WAIT's is never 0. To call sooner does no harm.
   A retry that waits for tokens looks for them each second. */
RETRY__NO_IGNORE RETRY_API retry_step retry_next(retry_operation *op, retry_time now);

/* A copy has ended; NULL failure: it worked, and the operation is over (SUCCESS). What comes while
   the copy is on the wire counts, however late. A copy that was to be cancelled has then ended by
   itself: its CANCEL is not handed out. NULL, or a copy that is not on the wire: nothing else
   happens. A failure (with further copies the hedge says when) is decided so. Source: RFC 0049.
   1. It is recorded. If it was sent, what its retry cost is spent.
   2. Safety NO: FAIL, UNSAFE. The server forbids it: FAIL, PUSHBACK. The client's own throttle
      refused: FAIL, THROTTLED. Reason UNKNOWN, or a number that is none: FAIL, UNKNOWN_REASON.
      Reason NONE: FAIL, NOT_RETRYABLE, unless it is the server's fault or safety is YES.
   3. Some reasons are always retried (a cluster's map is changing): after `always_interval`, or
      after 1, 10, 50, 100, 500, 1000, 1000 ... ms. No strategy is asked, and no budget pays.
   4. Else the strategy is asked: FAIL with its cause, or a delay, which a pushback replaces; or it
      answers later (PENDING), and what follows is decided then. With several nodes there is no
      delay, and in 6 nothing to pay, if the first retry goes to another that answered well last.
   5. A delay that reaches the deadline: EXPIRE, DEADLINE, with what is left.
   6. The budget pays. If it cannot, the delay begins when the base has refilled retry_cost, or
      timeout_cost after a time-out, or when successes have brought the price. FAIL,
      BUDGET_EXHAUSTED if nothing refills the base, if more than a base would be owed, if the
      timeout is too short or has no end (UINT32_MAX), or after a pushback. If nobody was reached,
      what was paid for this attempt pays for the next.
   7. RETRY is counted; FAIL and EXPIRE end the operation. The observer is told last. */
RETRY_API void retry_ended(retry_operation *op, unsigned copy, const retry_failure *failure,
                           retry_time now);

/* Nobody waits for the operation any more: END, FAIL, CANCELLED, after a CANCEL for each copy on
   the wire, which make it ambiguous. The charge of a retry whose end was not reported goes
   back. An observer may call it, a strategy must not. For NULL, and for an operation that was never
   started or is over, nothing happens. */
RETRY_API void retry_stop(retry_operation *op, retry_time now);

/* The network is back: of a retry's delay (WAIT with cause STRATEGY or ALWAYS) only what the server
   asked for (retry_after) counts; if it did not ask, the retry is due now, also if it waits for
   tokens. What waits for anything else goes on waiting. NULL: nothing happens. */
RETRY_API void retry_skip_wait(retry_operation *op, retry_time now);

/* The strategy's answer, if it is PENDING: what it says now is decided, and may be PENDING again.
   Else nothing happens. Not from an observer or a strategy. */
RETRY_API void retry_answer(retry_operation *op, retry_action action, retry_time now);

/* ---- Hedging ------------------------------------------------------------------------------- */

/* Further copies of one operation. Zero it, set the first four. Source: gRPC's A6. */
struct retry_hedge {
    const retry_latency *latency; /* tells when an attempt is late (default: NULL) */
    retry_ms delay;     /* ms from copy to copy; twice what answers take now, if that is more
                           (default: 0: as latency tells; neither: none) */
    uint8_t count;      /* how many are in copies, at most 254 (default: 0) */
    retry_copy *copies; /* yours, zeroed (default: NULL: none) */
    bool (*retry__hedging)(retry_operation *op, uint8_t event, const retry_failure *failure,
                           retry_step *step); /* private: the code of hedging */
    retry_ms retry__delay; /* private: ms that the timer was set to; UINT32_MAX: none */
    uint32_t retry__since; /* private: ms; when it was set */
    uint8_t retry__unsent; /* private: copies that this attempt may still send */
    uint8_t retry__follow; /* private: failed copies that are to be followed at once */
    uint8_t retry__paid;   /* private: copies of this attempt that were paid for */
    bool retry__stopped;   /* private: an order not to retry came in this attempt */
    bool retry__reached;   /* private: a failed copy of this attempt reached somebody */
};

/* Gives an operation further copies, before retry_start: one more when no answer has come for
   `delay` ms, or as latency tells, and at once when a copy fails. The first answer wins. Only for
   idempotent operations. Each further copy costs what a retry after a timeout does. NULL hedge, or
   one without copies: none. NULL op, one under way, or a CANCEL that is due: nothing happens.
   When a copy fails, the first that fits:
   - UNSAFE, UNKNOWN_REASON, NOT_RETRYABLE, or not permitted: the attempt has failed.
   - A pushback not to retry: no more copies in this attempt.
   - Never sent, or refused by a gate: it is not followed.
   - A pushback to wait: the next copy then.
   - The next copy at once, if there is one left, the deadline is not reached, and the budget pays.
   With nothing on the wire and none to come the attempt has failed, and it is decided. A failure
   that is final decides; if there is none, a pushback not to retry does. What a copy cost that was
   never sent goes back. */
RETRY_API void retry_hedge_copies(retry_operation *op, retry_hedge *hedge);

/* ---- The recommended client ---------------------------------------------------------------- */

/* A policy, a budget and a limit for one server, and the client that uses them. Zero it, set what
   you want otherwise. It may not move after retry_service_init: zero a copy before you use it. */
struct retry_service {
    retry_client client; /* of each operation; cut_after (default: 0: what is left) */
    retry_policy policy; /* (default, if base is zero: each backoff whose initial is 0 doubles from
                            100 ms to 5 s, and to 10 s after throttled answers) */
    retry_budget budget; /* (default, if capacity is 0: RETRY_BUDGET_BEST_EFFORT(limit.initial)) */
    retry_aimd limit;    /* initial, max: attempts at once, at first and at most (20, 1000) */
    retry_gates gates;
    const retry_service *retry__at; /* private: where it was set up; it is of use only there */
};

/* Fills in what is zero, fills the bucket, and sets the client's strategy, budget and gates, those
   that are NULL; then adds the limit to client.gates. With several nodes call retry_client_nodes
   first, and give each node a limit of its own. Not while others use it. NULL: nothing happens. */
RETRY_API void retry_service_init(retry_service *service, retry_time now);

/* ---- A loop, for those who block ----------------------------------------------------------- */

/* `now` may wrap within an operation. If it steps back by at most 32 s, no time has passed. */
typedef struct retry_clock {
    retry_time (*now)(void *context);             /* ms; monotonic (no default) */
    void (*sleep)(void *context, retry_ms delay); /* for `delay` ms or less (no default) */
    void *context;                                /* handed to both (default: NULL) */
} retry_clock;

/* One attempt, which may take step->timeout ms (UINT32_MAX: as long as it likes), at step->node.
   True: done. False: it failed as it wrote into *failure (zeroed before). */
typedef bool retry_attempt_fn(void *context, const retry_operation *op, const retry_step *step,
                              retry_failure *failure);

/* Starts the operation (see retry_start), and does what retry_next says: calls `attempt`, and
   sleeps (not for 0 ms). Returns END; or WAIT, PENDING, at once, with the operation left open, if a
   strategy answers later. An attempt that worked is SUCCESS, even if somebody stopped the operation
   meanwhile. The function is never interrupted: its timeout is its own business. END, FAIL, MISUSE:
   a NULL argument (but `service` and `context`) or clock function; two threads that share an
   operation, as far as that shows; a clock that shows nothing of 900 sleeps in a row (it stands
   still, or counts seconds). */
RETRY_API retry_step retry_run(retry_operation *op, const retry_service *service,
                               const retry_clock *clock, retry_attempt_fn *attempt, void *context);

/* ---- Bindings ------------------------------------------------------------------------------ */

/* The bytes that a binding in another language allocates, aligned as malloc does, and zeroes. NULL:
   that one is not asked for. */
RETRY_API void retry_sizes(size_t *operation, size_t *service, size_t *failure);

/* ---- Scopes -------------------------------------------------------------------------------- */

/* A slot. Zero it; the library sets all of it. */
typedef struct retry_scope {
    retry_client client;  /* its name's: the table's, but for the budget */
    retry_budget budget;  /* its name's, once the slot has been used */
    uint32_t retry__hash; /* private: a hash of the name */
    uint32_t retry__seen; /* private: ms; when it was looked up last */
} retry_scope;

/* A bucket for each name: Smithy's scopes. Constant after the first look-up; slots do not move. */
typedef struct retry_scopes {
    retry_client client; /* the overflow's, with the budget that names without a slot share; each
                            slot's begins as it (default: all defaults) */
    retry_budget_options options; /* of each slot's bucket (no default for the capacity) */
    retry_scope *slots;           /* yours, zeroed (default: NULL: all names overflow) */
    uint32_t count;               /* slots (default: 0) */
    retry_ms forget; /* ms without a look-up until a name may lose its slot (default: 0: 60000) */
    uint32_t key;    /* of the hash: who does not know it cannot choose names that share a slot
                        (default: 0: drawn by retry_draw at the first look-up) */
} retry_scopes;

/* The client of a name (`length` bytes; NULL counts as none), for an operation to start with. It
   stays the same until its bucket holds what a new one does, or until nobody has looked the name up
   for `forget` ms. A name is known by a hash of 32 bits, and a new one gets the first of four slots
   that was never used, else the first whose bucket does or whose name is forgotten (the bucket is
   filled), else the overflow. For one thread at a time; its clients are for all. NULL: NULL. */
RETRY_API const retry_client *retry_scope_client(retry_scopes *scopes, const void *name,
                                                 size_t length, retry_time now);

/* ---- Policies and budgets from text -------------------------------------------------------- */

/* What is wrong with a text. */
typedef struct retry_text_error {
    size_t offset;    /* bytes before the word or value that is wrong (no default) */
    const char *text; /* in a few words; constant (no default) */
} retry_text_error;

/* Reads a policy from `length` bytes, as the manual has it; the empty text is best-effort. On
   success sets *policy. False, and only *error (may be NULL) is set: NULL, an unknown word, a
   preset that is not first, a key given twice, a wrong value, or values that make no sense. */
RETRY_API bool retry_parse_policy(retry_policy *policy, const char *text, size_t length,
                                  retry_text_error *error);

/* The same for a budget; the empty text is none: no limit. A text without a preset has to say its
   capacity. A budget that could never pay for a retry is wrong, and so is a capacity where retries
   cost nothing. "best-effort in-flight=50" is RETRY_BUDGET_BEST_EFFORT(50) (default: 1). */
RETRY_API bool retry_parse_budget(retry_budget_options *options, const char *text, size_t length,
                                  retry_text_error *error);

/* Reads a duration, such as 250, 250ms, 1.5s, 2m, 1h30m or 1d, or a header with a number of ms.
   Units are d, h, m, s, ms, us (or a micro sign and s) and ns, each smaller than the one before,
   with or without blanks between them; without a unit it is ms. A number may have nine decimals,
   and is rounded up to a whole ms. Blanks around it do not count.
   False, and only *error (may be NULL) is set: anything else, over UINT32_MAX ms, NULL. */
RETRY_API bool retry_parse_duration(const char *text, size_t length, retry_ms *duration,
                                    retry_text_error *error);

#ifdef __cplusplus
}
#endif

#endif /* RETRY_H */

#if defined(RETRY_SYSTEM_CLOCK) && !defined(RETRY__SYSTEM_CLOCK_DECLARED)
#define RETRY__SYSTEM_CLOCK_DECLARED
#if RETRY__NO_SWITCH(RETRY_SYSTEM_CLOCK + 0, 1 - RETRY_SYSTEM_CLOCK - 1)
#error "RETRY_SYSTEM_CLOCK is a switch: define it as nothing or as 1, or leave it undefined."
#endif
#ifdef __cplusplus
extern "C" {
#endif
/* A monotonic clock, and a sleep that no signal ends. While the machine sleeps, the clock goes on
   with Linux, Android, OpenBSD, macOS and Windows. With other systems it stands still, and an
   operation lasts longer by that. */
RETRY_API retry_clock retry_system_clock(void);
#ifdef __cplusplus
}
#endif
#endif

/* ============================================================================================ */
#if defined(RETRY_IMPLEMENTATION) && !defined(RETRY_IMPLEMENTED)
#define RETRY_IMPLEMENTED

#if RETRY__NO_SWITCH(RETRY_IMPLEMENTATION + 0, 1 - RETRY_IMPLEMENTATION - 1)
#error "RETRY_IMPLEMENTATION is a switch: define it as nothing or as 1, or leave it undefined."
#endif
#if defined(RETRY_STATIC) && !defined(RETRY__DECLARED_STATIC)
#error "Define RETRY_STATIC and RETRY_IMPLEMENTATION before the first inclusion of retry.h."
#endif
#if defined(RETRY_NO_ATOMICS) && RETRY__NO_SWITCH(RETRY_NO_ATOMICS + 0, 1 - RETRY_NO_ATOMICS - 1)
#error "RETRY_NO_ATOMICS is a switch: define it as nothing or as 1, or leave it undefined."
#endif

#if defined(RETRY_MASK) != defined(RETRY_UNMASK)
#error "Define both RETRY_MASK() and RETRY_UNMASK(state), or neither."
#elif defined(RETRY_MASK) && defined(RETRY_NO_ATOMICS)
#error "RETRY_NO_ATOMICS is for one thread: leave RETRY_MASK() and RETRY_UNMASK(state) undefined."
#endif

#ifndef RETRY_ASSERT
#define RETRY_ASSERT(x) ((void)0)
#endif

#if defined(_MSC_VER) && !defined(RETRY_NO_ATOMICS)
#include <intrin.h>
#endif

/* for retry_classify_errno, which knows no names where there is no such header */
#if !defined(__has_include)
#include <errno.h>
#elif __has_include(<errno.h>)
#include <errno.h>
#endif

#ifdef RETRY_SYSTEM_CLOCK
#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN /* lets winsock2.h come after it */
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <time.h>
#ifndef CLOCK_MONOTONIC
#error "RETRY_SYSTEM_CLOCK needs POSIX: define _POSIX_C_SOURCE as 200809L before any #include."
#undef RETRY_SYSTEM_CLOCK /* no further errors */
#endif
#endif
#endif

/* Unsigned arithmetic that wraps on purpose; clang's integer sanitizer stops at any other. */
#if defined(__clang__)
#define RETRY__WRAPS __attribute__((no_sanitize("integer")))
#else
#define RETRY__WRAPS
#endif

/* What compilers decide otherwise by themselves, so that an operation takes more instructions, and
   more flash. COLD seldom runs, ONCE and QUICK are small, and FAST says whether a shorter way may
   cost code. */
#if defined(__GNUC__)
#define RETRY__INLINE static __inline__ __attribute__((always_inline)) /* in C89, too */
#else
#define RETRY__INLINE static
#endif
#if defined(__OPTIMIZE_SIZE__) /* gcc and clang */
#define RETRY__COLD static
#define RETRY__ONCE static __attribute__((noinline))
#define RETRY__QUICK RETRY__ONCE
#define RETRY__FAST false
#else
#if defined(__GNUC__)
#define RETRY__COLD static __attribute__((noinline, cold))
#else
#define RETRY__COLD static
#endif
#define RETRY__ONCE static
#define RETRY__QUICK RETRY__INLINE
#define RETRY__FAST true
#endif

#ifdef __cplusplus
extern "C" {
#endif

RETRY_API uint32_t retry_version(void)
{
    return RETRY_VERSION;
}

/* ---- Arithmetic ---------------------------------------------------------------------------- */

RETRY__INLINE uint32_t retry__min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t retry__max(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t retry__or(uint32_t value, uint32_t fallback)
{
    return value ? value : fallback;
}

static uint32_t retry__narrow(uint64_t x)
{
    return (uint32_t)(x >> 32) == 0 ? (uint32_t)x : UINT32_MAX;
}

RETRY__ONCE uint32_t retry__add(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

RETRY__ONCE uint32_t retry__subtract(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

/* a * b. A Cortex-M0 multiplies 32 bits to 32; its compiler would call a helper twice the size. */
#if defined(__ARM_ARCH_6M__)
static uint64_t retry__product(uint32_t a, uint32_t b)
{
    uint32_t a_low = a & 0xffff, b_low = b & 0xffff, low = a_low * b_low;
    uint32_t middle = (a >> 16) * b_low + (low >> 16);
    uint32_t more = a_low * (b >> 16) + (middle & 0xffff);
    uint32_t high = (a >> 16) * (b >> 16) + (middle >> 16) + (more >> 16);
    return (uint64_t)high << 32 | (more << 16 | (low & 0xffff));
}
#else
static uint64_t retry__product(uint32_t a, uint32_t b)
{
    return (uint64_t)a * b;
}
#endif

static uint32_t retry__multiply(uint32_t a, uint32_t b)
{
    return retry__narrow(retry__product(a, b));
}

/* value * ratio, rounded, where ratio is 16.16. */
static uint32_t retry__scale(uint32_t value, uint32_t ratio)
{
    return retry__narrow((retry__product(value, ratio) + 0x8000) >> 16);
}

/* low for random 0, high for UINT32_MAX, linear between, without a division; low if above high. */
RETRY__QUICK uint32_t retry__pick(uint32_t low, uint32_t high, uint32_t random)
{
    return low + (uint32_t)((retry__product(random, high > low ? high - low : 0) + random) >> 32);
}

/* x / y for a y above 0, saturating; bit by bit where a core may have no divider. */
static uint32_t retry__quotient(uint64_t x, uint32_t y)
{
#if UINTPTR_MAX > UINT32_MAX
    x /= y;
    return x < UINT32_MAX ? (uint32_t)x : UINT32_MAX;
#else
    uint32_t high = (uint32_t)(x >> 32), low = (uint32_t)x, bits = 32;
    if (high >= y)
        return UINT32_MAX;
    for (; bits != 0; bits--) {
        bool carries = high >> 31 != 0;
        high = high << 1 | low >> 31;
        low <<= 1;
        if (carries || high >= y) {
            high -= y;
            low++;
        }
    }
    return low;
#endif
}

/* A clock up to this many ms behind is another thread's, and has to catch up. One further behind
   was set back, or is weeks later: time counts from it anew. */
#define RETRY__BEHIND UINT32_C(32768)
#define RETRY__LATEST (UINT32_MAX - RETRY__BEHIND)
#define RETRY__LONGEST \
    (UINT32_C(1) << 31) /* a delay that instants can measure, with room to spare */

/* ms that have passed, up to nearly all of the range. */
RETRY__QUICK RETRY__WRAPS retry_ms retry__passed(retry_time from, retry_time now)
{
    retry_ms passed = now - from;
    return passed > RETRY__LATEST ? 0 : passed;
}

/* ms that are left at `now` of a span that began at `from`. */
static retry_ms retry__left(retry_time from, retry_ms span, retry_time now)
{
    return retry__subtract(span, retry__passed(from, now));
}

/* ---- Atomics ------------------------------------------------------------------------------- */

/* Sequentially consistent: some words have a meaning only together. A core without 32-bit atomics
   that are free of locks (Cortex-M0, AVR) masks its interrupts for some instructions. */
#if defined(RETRY_NO_ATOMICS)
#define RETRY__PLAIN
#elif defined(RETRY_MASK) && defined(RETRY_UNMASK)
#define RETRY__MASK(state) state = (uint32_t)RETRY_MASK()
#define RETRY__UNMASK(state) RETRY_UNMASK(state)
#elif defined(__GNUC__) && __GCC_ATOMIC_INT_LOCK_FREE == 2 && __GCC_ATOMIC_LONG_LOCK_FREE == 2
#define RETRY__BUILTIN
#elif defined(__GNUC__) && defined(__ARM_ARCH_6M__)
#define RETRY__MASK(state) __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(state) : : "memory")
#define RETRY__UNMASK(state) __asm__ volatile("msr primask, %0" : : "r"(state) : "memory")
#elif defined(__GNUC__) && defined(__AVR__) /* 0x3f: SREG */
#define RETRY__MASK(state) __asm__ volatile("in %0, 0x3f\n\tcli" : "=r"(state) : : "memory")
#define RETRY__UNMASK(state) __asm__ volatile("out 0x3f, %0" : : "r"(state) : "memory")
#elif !defined(_MSC_VER)
#define RETRY__PLAIN
#if defined(__GNUC__) || defined(__TINYC__)
#warning "no atomics here: define RETRY_MASK and _UNMASK, or RETRY_NO_ATOMICS."
#else
#pragma message("no atomics here: define RETRY_MASK and _UNMASK, or RETRY_NO_ATOMICS.")
#endif
#endif

static uint32_t retry__load(const uint32_t *counter)
{
#if defined(RETRY__BUILTIN)
    return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
#elif defined(RETRY__MASK) && !defined(__ARM_ARCH_6M__) /* a Cortex-M0 reads a word at once */
    uint32_t state, seen;
    RETRY__MASK(state);
    seen = *(const volatile uint32_t *)counter;
    RETRY__UNMASK(state);
    return seen;
#elif defined(RETRY__PLAIN) || defined(RETRY__MASK) || defined(_M_IX86) || defined(_M_X64)
    return *(const volatile uint32_t *)counter;
#else
    return (uint32_t)_InterlockedCompareExchange((volatile long *)counter, 0, 0);
#endif
}

/* Stores `desired` if the counter still is what was `seen`. */
static bool retry__swap(uint32_t *counter, uint32_t seen, uint32_t desired)
{
#if defined(RETRY__PLAIN)
    (void)seen;
    *counter = desired;
    return true;
#elif defined(RETRY__BUILTIN)
    return __atomic_compare_exchange_n(counter, &seen, desired, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
#elif defined(RETRY__MASK)
    volatile uint32_t *word = counter;
    uint32_t state;
    bool same;
    RETRY__MASK(state);
    same = *word == seen;
    if (same)
        *word = desired;
    RETRY__UNMASK(state);
    return same;
#else
    return (uint32_t)_InterlockedCompareExchange((volatile long *)counter, (long)desired,
                                                 (long)seen) == seen;
#endif
}

/* These two return what the counter was before. This one adds, modulo 2^32. */
RETRY__WRAPS static uint32_t retry__fetch_add(uint32_t *counter, uint32_t amount)
{
#if defined(RETRY__PLAIN)
    uint32_t before = *counter;
    *counter = before + amount;
    return before;
#elif defined(RETRY__BUILTIN)
    return __atomic_fetch_add(counter, amount, __ATOMIC_SEQ_CST);
#elif defined(RETRY__MASK)
    volatile uint32_t *word = counter;
    uint32_t state, before;
    RETRY__MASK(state);
    before = *word;
    *word = before + amount;
    RETRY__UNMASK(state);
    return before;
#else
    return (uint32_t)_InterlockedExchangeAdd((volatile long *)counter, (long)amount);
#endif
}

static uint32_t retry__store(uint32_t *counter, uint32_t value)
{
#if defined(RETRY__BUILTIN)
    return __atomic_exchange_n(counter, value, __ATOMIC_SEQ_CST);
#else
    uint32_t seen;
    do {
        seen = retry__load(counter);
    } while (!retry__swap(counter, seen, value));
    return seen;
#endif
}

/* ---- Names --------------------------------------------------------------------------------- */

/* The nth of names each ended by a NUL, the last by two; "" past them. Pointers take more flash. */
static const char *retry__nth(const char *names, uint32_t index)
{
    for (; index != 0 && *names; index--) {
        while (*names++)
            continue;
    }
    return names;
}

static const char *retry__name(const char *names, uint32_t index, const char *otherwise)
{
    const char *name = retry__nth(names, index);
    return *name ? name : otherwise;
}

RETRY_API const char *retry_verdict_name(uint8_t verdict)
{
#define RETRY__X(name) #name "\0"
    static const char names[] = RETRY_VERDICTS(RETRY__X);
#undef RETRY__X
    return retry__name(names, verdict, "INVALID");
}

RETRY_API const char *retry_cause_text(uint8_t cause)
{
#define RETRY__X(name, text) text "\0"
    static const char texts[] = RETRY_CAUSES(RETRY__X);
#undef RETRY__X
    return retry__name(texts, cause, "invalid cause");
}

/* ---- Reasons ------------------------------------------------------------------------------- */

typedef char retry__reasons_fit_32_bits[RETRY_REASON_COUNT < 32 ? 1 : -1];

/* What is known of a reason, or of a failure; of an application's reason its flags. */
enum {
    RETRY__TRAIT_UNKNOWN = 0x01, /* UNKNOWN, and what is no reason: not retried */
    RETRY__TRAIT_UNSENT = 0x02,
    RETRY__TRAIT_UNHEALTHY = 0x04,
    RETRY__TRAIT_HARMLESS = 0x08, /* nothing to retry: no reason, not the server's fault */
    RETRY__TRAIT_ALLOWS = RETRY_REASON_ALLOWS_NON_IDEMPOTENT,
    RETRY__TRAIT_ALWAYS = RETRY_REASON_ALWAYS,
    RETRY__TRAIT_THROTTLED = 0x40, /* the client's own throttle refused */
    RETRY__TRAIT_BLAMELESS = 0x80,
    RETRY__TRAIT_UNSAFE = 0x100, /* this and the next come from the failure, not its reason */
    RETRY__TRAIT_STOPPED = 0x200 /* the server's order not to retry */
};

static bool retry__reason_is_user(retry_reason reason)
{
    return (reason & 0x40) != 0;
}

/* Put no load on the server, which was not there, or which a gate of the client's spared. */
#define RETRY__REASONS_UNSENT                            \
    (UINT32_C(1) << RETRY_REASON_SOCKET_NOT_AVAILABLE |  \
     UINT32_C(1) << RETRY_REASON_SERVICE_NOT_AVAILABLE | \
     UINT32_C(1) << RETRY_REASON_NODE_NOT_AVAILABLE |    \
     UINT32_C(1) << RETRY_REASON_CIRCUIT_BREAKER_OPEN |  \
     UINT32_C(1) << RETRY_REASON_CLIENT_THROTTLED)

/* The other end is unhealthy: it did not answer, or broke. */
#define RETRY__REASONS_UNHEALTHY                                 \
    (UINT32_C(1) << RETRY_REASON_SOCKET_NOT_AVAILABLE |          \
     UINT32_C(1) << RETRY_REASON_SERVICE_NOT_AVAILABLE |         \
     UINT32_C(1) << RETRY_REASON_NODE_NOT_AVAILABLE |            \
     UINT32_C(1) << RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT | \
     UINT32_C(1) << RETRY_REASON_ATTEMPT_TIMED_OUT | UINT32_C(1) << RETRY_REASON_SERVER_ERROR)

/* An unhealthy one that does not lower the AIMD limit: one poisonous request is no overload. */
#define RETRY__REASONS_BLAMELESS (UINT32_C(1) << RETRY_REASON_SERVER_ERROR)

RETRY__ONCE uint8_t retry__traits(retry_reason reason)
{
#define RETRY__X(name, allows, always)                                                        \
    (RETRY_REASON_##name == RETRY_REASON_UNKNOWN ? RETRY__TRAIT_UNKNOWN : 0) |                \
        (RETRY_REASON_##name == RETRY_REASON_NONE ? RETRY__TRAIT_HARMLESS : 0) |              \
        (RETRY_REASON_##name == RETRY_REASON_CLIENT_THROTTLED ? RETRY__TRAIT_THROTTLED : 0) | \
        ((allows) ? RETRY__TRAIT_ALLOWS : 0) | ((always) ? RETRY__TRAIT_ALWAYS : 0) |         \
        (RETRY__REASONS_UNSENT >> RETRY_REASON_##name & 1 ? RETRY__TRAIT_UNSENT : 0) |        \
        (RETRY__REASONS_UNHEALTHY >> RETRY_REASON_##name & 1 ? RETRY__TRAIT_UNHEALTHY : 0) |  \
        (RETRY__REASONS_BLAMELESS >> RETRY_REASON_##name & 1 ? RETRY__TRAIT_BLAMELESS : 0),
    /* one entry more, as gcc 12 falsely warns of an index past the end otherwise */
    static const uint8_t traits[] = {RETRY_REASONS(RETRY__X) RETRY__TRAIT_UNKNOWN};
#undef RETRY__X
    if (reason >= RETRY_REASON_COUNT)
        return retry__reason_is_user(reason)
                   ? (uint8_t)(reason & (RETRY__TRAIT_ALLOWS | RETRY__TRAIT_ALWAYS))
                   : (uint8_t)RETRY__TRAIT_UNKNOWN;
    return traits[reason];
}

RETRY_API bool retry_reason_allows_non_idempotent(retry_reason reason)
{
    return (retry__traits(reason) & RETRY_REASON_ALLOWS_NON_IDEMPOTENT) != 0;
}

RETRY_API bool retry_reason_always(retry_reason reason)
{
    return (retry__traits(reason) & RETRY_REASON_ALWAYS) != 0;
}

/* The server says: no retry. */
static bool retry__forbids(const retry_failure *failure)
{
    return failure->pushback && failure->retry_after == UINT32_MAX;
}

static uint32_t retry__failure_traits(const retry_failure *failure)
{
    uint32_t traits = retry__traits(failure->reason);
    if (failure->fault == RETRY_FAULT_SERVER)
        traits &= ~(uint32_t)RETRY__TRAIT_HARMLESS;
    if (failure->safety == RETRY_SAFETY_YES)
        traits |= RETRY__TRAIT_ALLOWS;
    if (failure->safety == RETRY_SAFETY_NO)
        traits |= RETRY__TRAIT_UNSAFE;
    if (retry__forbids(failure))
        traits |= RETRY__TRAIT_STOPPED;
    if (failure->unsent)
        traits |= RETRY__TRAIT_UNSENT;
    return traits;
}

RETRY_API const char *retry_reason_name(retry_reason reason)
{
#define RETRY__X(name, allows, always) #name "\0"
    static const char names[] = RETRY_REASONS(RETRY__X);
#undef RETRY__X
    static const char users[] = "USER_0\0USER_1\0USER_2\0USER_3\0USER_4\0USER_5\0USER_6\0USER_7\0"
                                "USER_8\0USER_9\0USER_10\0USER_11\0USER_12\0USER_13\0USER_14\0"
                                "USER_15\0";
    if (retry__reason_is_user(reason))
        return retry__nth(users, reason & 0x0f);
    return retry__name(names, reason, "INVALID");
}

/* The reason's bit: the application's 16 are the highest; 0: invalid. Small cores shift 32 bits. */
static retry_reason_set retry__reason_bit(retry_reason reason)
{
    if (reason >= RETRY_REASON_COUNT && retry__reason_is_user(reason))
        return (retry_reason_set)((uint32_t)0x10000 << (reason & 0x0f)) << 32;
    return reason < RETRY_REASON_COUNT ? (uint32_t)1 << reason : 0;
}

RETRY_API bool retry_reason_set_has(retry_reason_set set, retry_reason reason)
{
    return (set & retry__reason_bit(reason)) != 0;
}

/* ---- Random numbers ------------------------------------------------------------------------ */

#define RETRY__GOLDEN 0x9e3779b9u /* 2^32 / golden ratio: odd, its multiples spread evenly */

static uint32_t retry__random_state; /* 0: not seeded yet */

/* MurmurHash3's finaliser: a bijection in which every bit of x moves half of the result's. */
RETRY__WRAPS static uint32_t retry__mix(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

/* Adds what the state lacks: of threads that seed at once, each counts for a part. */
RETRY__WRAPS RETRY_API void retry_seed(uint32_t entropy)
{
    uint32_t seed = retry__mix(entropy ^ RETRY__GOLDEN);
    retry__fetch_add(&retry__random_state, (seed ? seed : 1) - retry__load(&retry__random_state));
}

/* A state is RETRY__GOLDEN above the last: all others come before one returns; 0 seeds anew. */
RETRY__INLINE uint32_t retry__generate(void)
{
    char here; /* its address is the seed, if there is no other */
    if (retry__load(&retry__random_state) == 0)
        retry_seed((uint32_t)(uintptr_t)&here);
    return retry__mix(retry__fetch_add(&retry__random_state, RETRY__GOLDEN));
}

RETRY_API uint32_t retry_draw(void)
{
    return retry__generate();
}

static inline uint32_t retry__draw(const retry_client *client)
{
    if (client && client->random)
        return client->random(client->random_context);
    return RETRY__FAST ? retry__generate() : retry_draw();
}

RETRY_API uint32_t retry_random(const retry_operation *op)
{
    return retry__draw(op ? op->client : NULL);
}

/* ---- Delay --------------------------------------------------------------------------------- */

static uint32_t retry__doubled(uint32_t initial, uint32_t max, uint32_t n)
{
    return n < 32 && initial <= max >> n ? initial << n : initial ? max : 0;
}

static uint32_t retry__share(uint32_t value, uint32_t ratio)
{
    uint32_t whole = ratio >> 16 ? value : 0, part = ratio >> 17 ? 0xffff : ratio & 0xffff;
    part = (value >> 16) * part + ((value & 0xffff) * part >> 16); /* 64 bits would be a call */
    return part > UINT32_MAX - whole ? UINT32_MAX : whole + part;
}

RETRY_API uint32_t retry_delay(uint32_t initial, uint32_t max, uint32_t retries, uint32_t low,
                               uint32_t high, uint32_t random)
{
    uint32_t base = retry__doubled(initial, max ? max : UINT32_MAX, retries);
    uint32_t least = retry__share(base, low), top = random >> 16;
    uint32_t most = retry__share(base, high), count = most > least ? most - least : 0, rest;
    count += count < UINT32_MAX;
    rest = retry__share(count, random & 0xffff) + ((count & 0xffff) * top & 0xffff);
    least += retry__share(count, top) + (rest >> 16); /* count * random / 2^32 */
    return least == 0 && initial != 0 && low != 0 ? 1 : least;
}

/* ---- Backoff ------------------------------------------------------------------------------- */

/* a * b of 32.32 fixed point, rounded, saturating. A sum that wrapped has less than the whole parts
   give (or, at 2^33, their 2^32 - 1, which saturates as well). */
RETRY__WRAPS static uint64_t retry__multiply_fixed(uint64_t a, uint64_t b)
{
    uint32_t a_high = (uint32_t)(a >> 32), a_low = (uint32_t)a;
    uint32_t b_high = (uint32_t)(b >> 32), b_low = (uint32_t)b;
    uint64_t whole = retry__product(a_high, b_high);
    uint64_t sum = ((retry__product(a_low, b_low) + 0x80000000u) >> 32) + (whole << 32);
    sum += retry__product(a_high, b_low) + retry__product(a_low, b_high);
    return sum >> 32 < whole ? UINT64_MAX : sum;
}

/* value * ratio^n, where ratio is 32.32, by squaring: 32 steps at most. 32 bits of fraction keep
   the error of 2^20 powers of a ratio barely above 1 under 0.01 %, and as neighbouring powers share
   their roundings the result never falls as n grows. */
static uint32_t retry__power(uint32_t value, uint64_t ratio, uint32_t n)
{
    uint64_t result = (uint64_t)value << 32;
    for (; n != 0; n >>= 1) {
        if (n & 1)
            result = retry__multiply_fixed(result, ratio);
        ratio = retry__multiply_fixed(ratio, ratio);
    }
    return retry__add((uint32_t)(result >> 32), (uint32_t)result >> 31);
}

/* The delay before the cap and jitter. */
static retry_ms retry__curve(const retry_backoff *backoff, retry_ms initial, uint32_t n)
{
    uint32_t factor = retry__or(backoff->factor, RETRY_RATIO(2));
    if (backoff->curve == RETRY_CURVE_CONSTANT)
        return initial;
    if (backoff->curve == RETRY_CURVE_TABLE && backoff->table && backoff->table_length != 0)
        return backoff->table[retry__min(n, backoff->table_length - 1)];
    if (backoff->curve == RETRY_CURVE_CUSTOM && backoff->custom)
        return backoff->custom(backoff, n);
    return retry__power(initial, (uint64_t)retry__max(factor, RETRY_RATIO(1)) << 16, n);
}

/* The delay before jitter. Doubling is a shift: all that is left of a constant backoff. */
RETRY__INLINE retry_ms retry__base(const retry_backoff *backoff, uint32_t n)
{
    retry_ms initial = retry__or(backoff->initial, 1), max = retry__or(backoff->max, UINT32_MAX);
    if (backoff->curve != RETRY_CURVE_EXPONENTIAL ||
        (backoff->factor != 0 && backoff->factor != RETRY_RATIO(2)))
        return retry__min(retry__curve(backoff, initial, n), max);
    return retry__doubled(initial, max, n);
}

RETRY_API retry_ms retry_backoff_base(const retry_backoff *backoff, uint32_t retries)
{
    return backoff ? retry__base(backoff, retries) : 0;
}

/* The longest delay before jitter: that of the 1,000th retry. (A curve of the application's own may
   loop once for each.) */
static retry_ms retry__longest(const retry_backoff *backoff)
{
    return retry_backoff_base(backoff, 999);
}

RETRY_API retry_ms retry_backoff_delay(const retry_backoff *backoff, uint32_t retries,
                                       retry_ms previous, uint32_t random)
{
    retry_ms low, high;
    if (!backoff)
        return 0;
    if (backoff->jitter == RETRY_JITTER_DECORRELATED) {
        retry_ms max = retry__or(backoff->max, UINT32_MAX);
        low = retry__min(retry__max(backoff->initial, 1), max);
        high = retry__min(retry__multiply(retry__max(previous, low), 3), max);
    } else {
        low = high = retry_backoff_base(backoff, retries);
        if (backoff->jitter <= RETRY_JITTER_FULL) {
            low = 0;
        } else if (backoff->jitter == RETRY_JITTER_EQUAL) {
            low >>= 1;
        } else if (backoff->jitter == RETRY_JITTER_SPREAD) {
            retry_ms swing = retry__scale(high, retry__or(backoff->spread, RETRY_RATIO(0.2)));
            low -= retry__min(low, swing);
            high = retry__add(high, swing);
        }
    }
    return retry__pick(retry__max(low, backoff->min), high, random);
}

/* ---- Phase --------------------------------------------------------------------------------- */

RETRY_API retry_ms retry_phase(const void *identity, size_t length, retry_ms period)
{
    const unsigned char *bytes = (const unsigned char *)identity;
    uint32_t hash = RETRY__GOLDEN;
    size_t i;
    for (i = 0; bytes && i < length; i++)
        hash = retry__mix(hash ^ bytes[i]);
    return (retry_ms)(retry__product(hash, period) >> 32);
}

/* ---- Strategies ---------------------------------------------------------------------------- */

static retry_action retry__action(uint8_t kind, uint8_t cause, retry_ms delay)
{
    retry_action action = {kind, cause, delay};
    return action;
}

RETRY_API retry_action retry_action_after(retry_ms delay)
{
    return retry__action(RETRY_ACTION_AFTER, RETRY_CAUSE_STRATEGY, delay);
}

RETRY_API retry_action retry_action_none(uint8_t cause)
{
    return retry__action(RETRY_ACTION_NONE, cause, 0);
}

RETRY_API retry_action retry_action_pending(void)
{
    return retry__action(RETRY_ACTION_PENDING, RETRY_CAUSE_PENDING, 0);
}

/* Whether an operation may be repeated after a failure with these traits. */
static bool retry__permits(const retry_operation *op, uint32_t traits)
{
    return op->idempotent || (traits & (RETRY__TRAIT_ALLOWS | RETRY__TRAIT_UNSENT)) != 0;
}

RETRY_API bool retry_permitted(const retry_operation *op, const retry_failure *failure)
{
    return op && failure && retry__permits(op, retry__failure_traits(failure));
}

/* How far a policy's curve is: it begins anew with a pushback. */
static uint32_t retry__position(const retry_operation *op)
{
    return op->retry__since_pushback ? op->retry__since_pushback - 1u : op->retries;
}

/* ms to the deadline of an operation that is under way. */
static retry_ms retry__remaining(const retry_operation *op, retry_time now)
{
    if (op->timeout == UINT32_MAX)
        return UINT32_MAX;
    return retry__left(op->started, op->timeout, now);
}

/* Whether a gate of the client's refused an attempt. */
static bool retry__is_refusal(retry_reason reason)
{
    return reason == RETRY_REASON_CIRCUIT_BREAKER_OPEN || reason == RETRY_REASON_CLIENT_THROTTLED;
}

/* A server tells a whole fleet the same: each waits longer, by `most` at most, and by half of the
   time behind the wait. */
static retry_ms retry__told(const retry_operation *op, retry_ms wait, retry_ms most,
                            uint32_t random)
{
    retry_ms behind = retry__subtract(retry__remaining(op, op->retry__now), wait);
    return retry__pick(wait, wait + retry__min(most, behind >> 1), random);
}

/* What nearly all operations ask: its constants fold, and it takes less code than retry__policy. */
static inline retry_action retry__best_effort(const retry_operation *op,
                                              const retry_failure *failure, uint32_t traits)
{
    static const retry_backoff usual = RETRY_BACKOFF_BEST_EFFORT;
    static const retry_backoff throttled = RETRY_BACKOFF_THROTTLED;
    uint32_t n = retry__position(op), random;
    retry_ms high, most;
    if (!retry__permits(op, traits))
        return retry_action_none(RETRY_CAUSE_NOT_IDEMPOTENT);
    random = retry__draw(op->client);
    high = failure->throttle ? retry__base(&throttled, n) : retry__base(&usual, n);
    high = retry__pick(usual.min, high, random);
    if (failure->retry_after > high) { /* a gate's own wait is exact */
        most = retry__is_refusal(failure->reason) ? 0 : failure->retry_after >> 2;
        high = retry__told(op, failure->retry_after, most, random);
    }
    return retry_action_after(high);
}

static retry_action retry__best_effort_after(const retry_strategy *self, const retry_operation *op,
                                             const retry_failure *failure, retry_time now)
{
    (void)self, (void)now;
    RETRY_ASSERT(op && failure && "retry_strategy.retry_after: a NULL argument");
    if (!op || !failure)
        return retry_action_none(RETRY_CAUSE_MISUSE);
    return retry__best_effort(op, failure, retry__failure_traits(failure));
}

RETRY_API const retry_strategy *retry_best_effort(void)
{
    static const retry_policy best_effort = RETRY__POLICY_OF(
        retry__best_effort_after, RETRY_BACKOFF_BEST_EFFORT, RETRY_BACKOFF_THROTTLED, 0, 0, 0);
    return &best_effort.base;
}

static retry_action retry__refuse(const retry_strategy *self, const retry_operation *op,
                                  const retry_failure *failure, retry_time now)
{
    (void)self, (void)op, (void)failure, (void)now;
    return retry_action_none(RETRY_CAUSE_REFUSED);
}

RETRY_API const retry_strategy *retry_fail_fast(void)
{
    static const retry_strategy fail_fast = {retry__refuse};
    return &fail_fast;
}

/* ---- The built-in strategy ----------------------------------------------------------------- */

/* The delay, raised to what the server wants as far as the policy lets it. */
static retry_ms retry__raise(const retry_policy *policy, const retry_operation *op,
                             const retry_failure *failure, retry_ms delay)
{
    uint32_t spread = retry__or(policy->retry_after_spread, RETRY_RATIO(0.25));
    retry_ms wanted = failure->retry_after;
    if (policy->retry_after_max != 0)
        wanted = retry__min(wanted, policy->retry_after_max);
    if (policy->retry_after_slack != 0)
        wanted = retry__min(wanted, retry__add(delay, policy->retry_after_slack));
    if (wanted <= delay)
        return delay;
    if (spread == 1 || retry__is_refusal(failure->reason)) /* a gate's own wait is exact */
        return wanted;
    return retry__told(op, wanted, retry__scale(wanted, spread), retry__draw(op->client));
}

/* The delay by any jitter. */
static retry_ms retry__jittered(const retry_backoff *backoff, const retry_operation *op)
{
    uint32_t random = backoff->jitter != RETRY_JITTER_NONE ? retry__draw(op->client) : 0;
    retry_ms previous = op->retry__since_pushback == 1 ? 0 : op->delay;
    return retry_backoff_delay(backoff, retry__position(op), previous, random);
}

/* What happens to tokens of a budget. */
enum {
    RETRY__BUDGET_GIVE,   /* they come in */
    RETRY__BUDGET_TAKE,   /* all or nothing; of one that charges failures: whether it may pay */
    RETRY__BUDGET_CHARGE, /* those that are there */
    RETRY__BUDGET_BORROW  /* those that come in next */
};

static inline retry_budget *retry__budget(const retry_operation *op)
{
    return op->client->budget;
}

/* Moves tokens of the budget of the operation's client. Returns whether they have moved: 1, also
   without a budget, or 0. BORROW returns the retry's new delay (ms; 1 at least), or 0. The call
   goes through a pointer that retry_budget_init sets, so a program without budgets links none of
   their code. */
static inline uint32_t retry__budget_move(const retry_operation *op, uint8_t how, uint32_t amount)
{
    retry_budget *budget = retry__budget(op);
    if (!budget)
        return 1;
    RETRY_ASSERT(budget->retry__account && "retry_budget_init comes first");
    return budget->retry__account ? budget->retry__account(budget, how, amount, op) : 0;
}

/* Of a bucket that expires, what does not: the cost of the dearest retry. */
RETRY__ONCE uint32_t retry__budget_base(const retry_budget_options *options)
{
    uint32_t base = retry__max(options->retry_cost, options->timeout_cost);
    return retry__min(retry__max(base, options->throttle_cost), options->capacity);
}

/* Whether the next retry is one of the last: the budget holds less than half of its base, also with
   what has come in meanwhile. What was never sent spent nothing. */
RETRY__INLINE bool retry__below_half_base(const retry_operation *op, uint32_t traits)
{
    const retry_budget *budget = retry__budget(op);
    uint32_t half;
    if (!budget || budget->options.expire == 0 || (traits & RETRY__TRAIT_UNSENT) != 0)
        return false;
    half = retry__budget_base(&budget->options) >> 1;
    if (retry__load(&budget->retry__balance) >= half)
        return false;
    retry__budget_move(op, RETRY__BUDGET_GIVE, 0); /* what has come in counts */
    return retry__load(&budget->retry__balance) < half;
}

/* ms that answers of a server, or node, take now; 0: none is known. */
static retry_ms retry__slow(const retry_gates *gates)
{
    return gates ? retry__load(&gates->retry__pace) >> 4 : 0;
}

/* ms that an attempt needs to be worth a wait: the least of what is known, but no less than answers
   take now, half of the timeout at most. With less it would be work in vain. */
static retry_ms retry__attempt_least(const retry_operation *op, const retry_gates *gates)
{
    retry_ms cut = retry__or(op->client->cut_after, UINT32_MAX), slow = retry__slow(gates), least;
    cut = retry__min(cut, retry__or(op->client->attempt_timeout, UINT32_MAX));
    least = retry__min(cut - (cut >> 1), retry__or(op->timeout >> 3, 1));
    if (slow != 0)
        least = retry__min(least, slow << 1);
    return retry__max(least, retry__min(slow, op->timeout >> 1));
}

/* A delay that leaves less than an attempt needs ends at random in the last eighth of what can be
   spared: the last retry uses the time that is left. If that is less than an attempt needs, too,
   the delay stays, and may pass the deadline. */
RETRY__COLD retry_ms retry__last_delay(const retry_operation *op, retry_ms delay, retry_ms left)
{
    retry_ms least = retry__attempt_least(op, op->retry__copy.retry__gates);
    retry_ms spare = retry__subtract(left, least);
    if (delay <= spare || spare < least)
        return delay;
    return retry__pick(spare - (spare >> 3), spare, retry__draw(op->client));
}

/* The last that a budget pays for help most when they are late: the longest delay to half more.
   Meanwhile the base refills retry_cost, so a lone operation does not run dry. */
static retry_ms retry__refill_delay(const retry_backoff *backoff, const retry_operation *op)
{
    retry_ms longest = retry__longest(backoff);
    return retry__pick(longest, retry__add(longest, longest >> 1), retry__draw(op->client));
}

RETRY__INLINE retry_action retry__policy(const retry_strategy *self, const retry_operation *op,
                                         const retry_failure *failure, uint32_t traits)
{
    const retry_policy *policy = (const retry_policy *)(const void *)self;
    const retry_backoff *backoff = &policy->backoff;
    retry_ms delay, left = retry__remaining(op, op->retry__now);
    if (!retry__permits(op, traits))
        return retry_action_none(RETRY_CAUSE_NOT_IDEMPOTENT);
    if (policy->max_attempts != 0 && op->retries >= policy->max_attempts - 1)
        return retry_action_none(RETRY_CAUSE_ATTEMPTS_EXHAUSTED);
    if (failure->throttle && policy->throttle_backoff.initial != 0)
        backoff = &policy->throttle_backoff;
    if (backoff->max != 0 && retry__below_half_base(op, traits))
        delay = retry__refill_delay(backoff, op);
    else if (RETRY__FAST && backoff->jitter <= RETRY_JITTER_FULL)
        delay = retry__pick(backoff->min, retry__base(backoff, retry__position(op)),
                            retry__draw(op->client));
    else
        delay = retry__jittered(backoff, op);
    if (delay > left >> 1) /* the last, perhaps */
        delay = retry__last_delay(op, delay, left);
    if (failure->retry_after > delay)
        delay = retry__raise(policy, op, failure, delay);
    return retry_action_after(delay);
}

RETRY_API retry_action retry_policy_after(const retry_strategy *self, const retry_operation *op,
                                          const retry_failure *failure, retry_time now)
{
    (void)now;
    RETRY_ASSERT(self && op && failure && "retry_strategy.retry_after: a NULL argument");
    if (!self || !op || !failure)
        return retry_action_none(RETRY_CAUSE_MISUSE);
    return retry__policy(self, op, failure, retry__failure_traits(failure));
}

/* ---- One decision, step by step ------------------------------------------------------------ */

/* Where an operation is. */
enum {
    RETRY__NEW,      /* never started */
    RETRY__READY,    /* an attempt begins when the gates let it */
    RETRY__DELAYED,  /* a retry's delay is not over */
    RETRY__SKIPPED,  /* of that only what the server asked for is left */
    RETRY__ASKED,    /* a strategy answers later */
    RETRY__TRYING,   /* an attempt is under way */
    RETRY__DECIDING, /* it has failed, and a strategy may be asked: nobody can stop it now */
    RETRY__ENDED,
    RETRY__PHASE = 7,
    RETRY__CANCELS = 8 /* CANCELs may be due, whatever the phase */
};

/* Of several nodes: what the one that failed leaves to others. */
enum {
    RETRY__ELSEWHERE = 1, /* the next retry goes to a node that is well */
    RETRY__DISPENSABLE    /* the same; so the failed node's attempts need no more time */
};

static uint8_t retry__phase_of(const retry_operation *op)
{
    return op ? op->retry__phase & RETRY__PHASE : (uint8_t)RETRY__NEW;
}

RETRY__ONCE void retry__set_phase(retry_operation *op, uint8_t phase)
{
    op->retry__phase = (uint8_t)((op->retry__phase & RETRY__CANCELS) | phase);
}

/* What was decided. The observer may stop the operation, so whoever calls this does no more. */
static void retry__tell(retry_operation *op, const retry_failure *failure, uint8_t verdict,
                        uint8_t cause, retry_ms delay)
{
    const retry_client *client = op->client;
    op->verdict = verdict;
    op->cause = cause;
    op->delay = delay;
    if (client->observe)
        client->observe(client->observe_context, op, failure);
}

/* The operation is over. What is paid for a retry whose end is not known goes back. */
RETRY__QUICK void retry__end(retry_operation *op, const retry_failure *failure, uint8_t verdict,
                             uint8_t cause, retry_ms delay)
{
    const retry_budget *budget = retry__budget(op);
    uint32_t back = op->retry__paid;
    retry__set_phase(op, RETRY__ENDED);
    op->retry__decided = op->retry__now;
    op->retry__paid = 0;
    if (verdict == RETRY_VERDICT_SUCCESS) {
        op->ambiguous = false;
        if (budget && (!budget->options.refund_last || op->retries == 0))
            back = budget->options.success_deposit;
    }
    retry__budget_move(op, RETRY__BUDGET_GIVE, back);
    retry__tell(op, failure, verdict, cause, delay);
}

/* Keeps a failed copy's reason, and whether it may have taken effect. Returns the traits. */
RETRY__QUICK uint32_t retry__record(retry_operation *op, const retry_failure *failure)
{
    uint32_t traits = retry__failure_traits(failure);
    op->reasons |= retry__reason_bit(failure->reason);
    if ((traits & (RETRY__TRAIT_ALLOWS | RETRY__TRAIT_HARMLESS | RETRY__TRAIT_UNSENT)) == 0)
        op->ambiguous = true;
    return traits;
}

static void retry__record_code(retry_operation *op, uint32_t code)
{
    if (op->code_retries != 0 && op->code == code)
        return;
    op->code = code;
    op->code_retries = 0;
    op->code_since = op->retry__now;
}

/* Why a failure with these traits is final; ALWAYS: it is always retried; NONE: a strategy is
   asked. UNKNOWN is never retried, as RFC 0049's text says; its pseudocode would if idempotent. */
static inline uint8_t retry__screen(uint32_t traits)
{
    if ((traits & RETRY__TRAIT_UNSAFE) != 0)
        return RETRY_CAUSE_UNSAFE;
    if ((traits & RETRY__TRAIT_STOPPED) != 0)
        return RETRY_CAUSE_PUSHBACK;
    if ((traits & RETRY__TRAIT_THROTTLED) != 0)
        return RETRY_CAUSE_THROTTLED;
    if ((traits & RETRY__TRAIT_UNKNOWN) != 0)
        return RETRY_CAUSE_UNKNOWN_REASON;
    if ((traits & RETRY__TRAIT_ALWAYS) != 0)
        return RETRY_CAUSE_ALWAYS;
    if ((traits & (RETRY__TRAIT_HARMLESS | RETRY__TRAIT_ALLOWS)) == RETRY__TRAIT_HARMLESS)
        return RETRY_CAUSE_NOT_RETRYABLE;
    return RETRY_CAUSE_NONE;
}

/* What becomes of a failure of which no strategy is asked. */
RETRY__INLINE retry_action retry__unasked(const retry_operation *op, uint8_t cause)
{
    retry_ms interval = op->client->always_interval;
    if (cause != RETRY_CAUSE_ALWAYS)
        return retry_action_none(cause);
    if (interval == 0)
        interval = retry__controlled[retry__min(op->retries, 5)];
    return retry_action_after(interval);
}

/* The operation's strategy, or the client's, or best effort. */
static retry_action retry__ask_strategy(const retry_operation *op, uint32_t traits)
{
    const retry_strategy *strategy = op->strategy ? op->strategy : op->client->strategy;
    if (!strategy)
        return retry__best_effort(op, &op->failure, traits);
    if (RETRY__FAST && strategy->retry_after == retry_policy_after)
        return retry__policy(strategy, op, &op->failure, traits);
    RETRY_ASSERT(strategy->retry_after && "retry_strategy.retry_after is not set");
    if (!strategy->retry_after)
        return retry_action_none(RETRY_CAUSE_MISUSE);
    return strategy->retry_after(strategy, op, &op->failure, op->retry__now);
}

/* A pushback replaces the delay, and restarts the curve; the retries since the last are counted. */
RETRY__COLD retry_ms retry__pushback_delay(retry_operation *op, retry_ms delay)
{
    if (op->failure.pushback) {
        op->retry__since_pushback = 1;
        return op->failure.retry_after;
    }
    if (op->retry__since_pushback != UINT8_MAX)
        op->retry__since_pushback++;
    return delay;
}

static uint32_t retry__timeout_cost(const retry_budget_options *options)
{
    return retry__or(options->timeout_cost, options->retry_cost);
}

/* A client that comes back when the server said pays as after any other failure. */
static uint32_t retry__retry_cost(const retry_budget_options *options, const retry_failure *failure)
{
    uint32_t cost = options->retry_cost;
    if (failure->timeout)
        return retry__timeout_cost(options);
    if (failure->throttle && (failure->retry_after == 0 || options->throttle_cost < cost))
        cost = retry__or(options->throttle_cost, cost);
    return cost;
}

/* An application's reason that is contention, for which nothing is paid: both in one test. */
static bool retry__is_free(retry_reason reason)
{
    return (reason & (0x40 | RETRY_REASON_FREE)) == (0x40 | RETRY_REASON_FREE);
}

/* gRPC's way: a failure that put load on the server is charged, whatever becomes of it. */
static void retry__charge(const retry_operation *op, const retry_failure *failure, uint32_t traits)
{
    const retry_budget *budget = retry__budget(op);
    if (budget && budget->options.charge_failures && (traits & RETRY__TRAIT_UNSENT) == 0 &&
        !retry__is_free(failure->reason))
        retry__budget_move(op, RETRY__BUDGET_CHARGE, retry__retry_cost(&budget->options, failure));
}

/* The operation pays for a retry what the failure before it costs, and nothing if the retry goes to
   another node. Or it borrows, and its delay is longer: after a time-out the whole price, as
   cheaper retries would keep a full server full; else retry_cost at most. False: it cannot. */
static bool retry__pay(retry_operation *op, uint32_t traits)
{
    const retry_budget *budget = retry__budget(op);
    uint32_t cost = 0;
    if (!budget || retry__is_free(op->failure.reason))
        return true;
    if (!budget->options.charge_failures && !op->retry__elsewhere) {
        if ((traits & RETRY__TRAIT_UNSENT) != 0 &&
            (op->retry__paid != 0 || !retry__is_refusal(op->failure.reason)))
            return true; /* what was paid pays for the next attempt */
        cost = retry__retry_cost(&budget->options, &op->failure);
    }
    if (retry__budget_move(op, RETRY__BUDGET_TAKE, cost) == 0) {
        retry_ms later;
        if (!op->failure.timeout)
            cost = retry__min(cost, retry__or(budget->options.retry_cost, cost));
        later = retry__budget_move(op, RETRY__BUDGET_BORROW, cost);
        if (later == 0)
            return false;
        op->retry__owes = later - op->delay;
        op->delay = later;
    }
    op->retry__paid = cost;
    return true;
}

/* What an answer, which is not PENDING, makes of the operation's failure: deadline, price, delay.
 */
static inline void retry__conclude(retry_operation *op, retry_action action, uint32_t traits)
{
    uint8_t cause = (traits & RETRY__TRAIT_ALWAYS) != 0 ? (uint8_t)RETRY_CAUSE_ALWAYS
                                                        : (uint8_t)RETRY_CAUSE_STRATEGY;
    retry_ms left = retry__remaining(op, op->retry__now), delay = action.delay;
    if (action.kind != RETRY_ACTION_AFTER) {
        retry__end(op, &op->failure, RETRY_VERDICT_FAIL, action.cause, 0);
        return;
    }
    if (op->retry__elsewhere)
        delay = 0;
    else if (op->failure.pushback || op->retry__since_pushback != 0)
        delay = retry__pushback_delay(op, delay);
    delay = retry__min(delay, RETRY__LONGEST);
    op->delay = delay;
    if (delay >= left) {
        retry__end(op, &op->failure, RETRY_VERDICT_EXPIRE, RETRY_CAUSE_DEADLINE, left);
    } else if (cause == RETRY_CAUSE_STRATEGY && !retry__pay(op, traits)) {
        retry__end(op, &op->failure, RETRY_VERDICT_FAIL, RETRY_CAUSE_BUDGET_EXHAUSTED, delay);
    } else {
        if (op->retries != UINT32_MAX) { /* code_retries is never more */
            op->retries++;
            op->code_retries++;
        }
        retry__set_phase(op, RETRY__DELAYED);
        retry__tell(op, &op->failure, RETRY_VERDICT_RETRY, cause, op->delay);
    }
}

/* The attempt that op->failure ended is decided: retry_ended's declaration has the steps. */
static void retry__decide(retry_operation *op)
{
    uint32_t traits = retry__record(op, &op->failure);
    uint8_t cause = RETRY_CAUSE_NONE;
    retry_action action;
    op->retry__decided = op->retry__now;
    retry__set_phase(op, RETRY__DECIDING);
    retry__record_code(op, op->failure.code);
    if ((traits & RETRY__TRAIT_UNSENT) == 0)
        op->retry__paid = 0;           /* the retry that it paid for has been made */
    if (traits != RETRY__TRAIT_ALLOWS) /* else, as with most, a strategy is asked */
        cause = retry__screen(traits);
    if (cause == RETRY_CAUSE_NONE)
        action = retry__ask_strategy(op, traits);
    else
        action = retry__unasked(op, cause);
    if ((cause == RETRY_CAUSE_NONE || cause == RETRY_CAUSE_PUSHBACK) && !op->retry__hedge)
        retry__charge(op, &op->failure, traits); /* a hedge charges each copy */
    if (action.kind == RETRY_ACTION_PENDING)
        retry__set_phase(op, RETRY__ASKED);
    else
        retry__conclude(op, action, traits);
}

/* ---- Log lines ----------------------------------------------------------------------------- */

typedef struct retry__writer {
    char *buffer;
    size_t capacity, length;
} retry__writer;

static void retry__write_char(retry__writer *writer, char c)
{
    if (writer->length + 1 < writer->capacity)
        writer->buffer[writer->length] = c;
    writer->length++;
}

static void retry__write(retry__writer *writer, const char *text)
{
    for (; *text; text++)
        retry__write_char(writer, *text);
}

/* In base 10, or in base 16 with two digits at least. */
static void retry__write_number(retry__writer *writer, const char *key, uint32_t x, uint32_t base)
{
    char digits[11];
    char *end = digits + sizeof digits - 1, *start = end;
    *end = '\0';
    do {
        uint32_t rest = retry__quotient(x, base);
        uint32_t digit = x - rest * base;
        *--start = (char)(digit < 10 ? '0' + digit : 'a' - 10 + digit);
        x = rest;
    } while (x != 0 || (base == 16 && start == end - 1));
    retry__write(writer, key);
    retry__write(writer, start);
}

static void retry__write_ms(retry__writer *writer, const char *key, retry_ms ms)
{
    retry__write_number(writer, key, ms, 10);
    retry__write(writer, "ms");
}

/* The application's own name for its reason, if the client has one. */
static const char *retry__reason_text(const retry_operation *op, retry_reason reason)
{
    const retry_client *client = op ? op->client : NULL;
    const char *name = NULL;
    if (client && client->user_reasons && retry__reason_is_user(reason))
        name = client->user_reasons[reason & 0x0f];
    return name ? name : retry_reason_name(reason);
}

RETRY_API size_t retry_format(char *buffer, size_t capacity, const retry_operation *op,
                              const retry_failure *failure)
{
    retry__writer writer = {buffer, buffer ? capacity : 0, 0};
    retry__write(&writer, "retry:");
    if (op) {
        retry__write(&writer, " verdict=");
        retry__write(&writer, retry_verdict_name(op->verdict));
        retry__write_ms(&writer, " delay=", op->delay);
    }
    if (failure) {
        retry__write(&writer, " reason=");
        retry__write(&writer, retry__reason_text(op, failure->reason));
        retry__write_number(&writer, " code=", failure->code, 10);
        retry__write_number(&writer, "/0x", failure->code, 16);
    }
    if (op && op->verdict != RETRY_VERDICT_SUCCESS) {
        retry__write(&writer, " cause=\"");
        retry__write(&writer, retry_cause_text(op->cause));
        retry__write_char(&writer, '"');
    }
    if (op) {
        retry__write_number(&writer, " retries=", op->retries, 10);
        retry__write_ms(&writer, " elapsed=", retry__passed(op->started, op->retry__decided));
        retry__write_ms(&writer, " timeout=", op->timeout);
    }
    if (writer.capacity != 0)
        buffer[writer.length < capacity ? writer.length : capacity - 1] = '\0';
    return writer.length;
}

/* ---- Retry budget -------------------------------------------------------------------------- */

/* `most`: the capacity, or the base where that is refilled. Returns 1, as retry__budget_move does.
 */
static uint32_t retry__budget_add(retry_budget *budget, uint32_t most, uint32_t amount)
{
    uint32_t balance, next, fraction;
    do {
        balance = retry__load(&budget->retry__balance);
        next = retry__max(retry__min(retry__add(balance, amount), most), balance);
    } while (next != balance && !retry__swap(&budget->retry__balance, balance, next));
    fraction = retry__load(&budget->retry__fraction);
    /* a full bucket holds none, unless the fraction still pays what is owed */
    if (next >= most && fraction != 0 && retry__load(&budget->retry__owed) == 0)
        retry__swap(&budget->retry__fraction, fraction, 0);
    return 1;
}

/* What is owed is paid first. Returns what is left of the amount: all, where that has saturated. */
static uint32_t retry__budget_settle(retry_budget *budget, uint32_t amount)
{
    uint32_t owed, paid;
    do {
        owed = retry__load(&budget->retry__owed);
        paid = retry__min(owed, amount);
    } while (paid != 0 && !retry__swap(&budget->retry__owed, owed, owed - paid));
    return amount == UINT32_MAX ? amount : amount - paid;
}

/* Where the quotient saturates the bucket is full, and holds no fraction. */
RETRY__WRAPS static void retry__budget_earn(retry_budget *budget, uint32_t most, uint32_t rate,
                                            retry_ms passed)
{
    uint32_t fraction, whole;
    uint64_t millionths;
    do {
        fraction = retry__load(&budget->retry__fraction);
        millionths = retry__product(rate, passed) + fraction;
        whole = retry__quotient(millionths, 1000);
    } while (!retry__swap(&budget->retry__fraction, fraction, (uint32_t)millionths - whole * 1000));
    retry__budget_add(budget, most, retry__budget_settle(budget, whole));
}

RETRY__INLINE bool retry__budget_pays(const retry_budget_options *options, uint32_t balance,
                                      uint32_t cost)
{
    if (balance < cost || options->capacity == 0)
        return false;
    return options->floor == 0 || balance - cost > options->floor;
}

/* Takes the cost, all or nothing. Returns 0 or 1, as retry__budget_move does. */
static uint32_t retry__budget_take(retry_budget *budget, uint32_t cost)
{
    uint32_t balance;
    do {
        balance = retry__load(&budget->retry__balance);
        if (!retry__budget_pays(&budget->options, balance, cost))
            return 0;
    } while (!retry__swap(&budget->retry__balance, balance, balance - cost));
    return 1;
}

RETRY_API uint32_t retry_budget_balance(const retry_budget *budget)
{
    return budget ? retry__load(&budget->retry__balance) : 0;
}

/* Whether it is there, and retry_budget_init has seen it. */
static bool retry__budget_ready(const retry_budget *budget)
{
    RETRY_ASSERT((!budget || budget->retry__account) && "retry_budget_init comes first");
    return budget && budget->retry__account;
}

RETRY_API void retry_budget_deposit(retry_budget *budget, uint32_t amount)
{
    if (retry__budget_ready(budget))
        retry__budget_add(budget, budget->options.capacity, amount);
}

/* What is beyond the base halves with each half-life that has passed. Of what remains of
   one, a share x, 1 - 0.693 x + 0.240 x^2 - 0.047 x^3 is left, which is 2^-x within 0.1 %. */
static void retry__budget_expire(retry_budget *budget, retry_ms passed)
{
    retry_ms half_life = retry__max(retry__scale(budget->options.expire, RETRY_RATIO(0.693147)), 1);
    uint32_t *held = &budget->retry__balance;
    uint32_t base = retry__budget_base(&budget->options);
    uint32_t halves = 0, x, left, balance, more, next;
    for (; passed >= half_life && halves < 32; passed -= half_life)
        halves++;
    x = retry__quotient((uint64_t)retry__min(passed, half_life) << 16, half_life);
    left = RETRY_RATIO(0.2402) - retry__scale(RETRY_RATIO(0.0471), x);
    left = RETRY_RATIO(1) - retry__scale(RETRY_RATIO(0.6931) - retry__scale(left, x), x);
    do {
        balance = retry__load(held);
        more = retry__subtract(balance, base);
        next = retry__scale(more, left);
        next = halves < 32 ? next >> halves : 0;
        if (next == more && more != 0) /* by rounding */
            next--;
        next += retry__min(balance, base);
    } while (next != balance && !retry__swap(held, balance, next));
}

/* ms that have passed, if they count: in steps of a 64th of `expire`, so rounding loses little. */
static retry_ms retry__budget_due(const retry_budget *budget, retry_time now)
{
    const retry_budget_options *options = &budget->options;
    retry_ms passed;
    if ((options->refill_per_second | options->expire | options->base_per_second) == 0)
        return 0;
    passed = retry__passed(retry__load(&budget->retry__refilled), now);
    return passed >= options->expire >> 6 ? passed : 0;
}

RETRY__COLD RETRY__WRAPS void retry__budget_refill(retry_budget *budget, retry_time now)
{
    const retry_budget_options *options = &budget->options;
    retry_ms passed = retry__budget_due(budget, now);
    uint32_t base;
    if (passed == 0 || !retry__swap(&budget->retry__refilled, now - passed, now))
        return; /* nothing is due, or another thread accounts for it */
    if (options->expire != 0)
        retry__budget_expire(budget, passed);
    if (passed > RETRY__LONGEST) /* the clock was set back, most likely: that earns nothing */
        return;
    base = retry__budget_base(options);
    if (options->base_per_second != 0 &&
        (retry__load(&budget->retry__balance) < base || retry__load(&budget->retry__owed) != 0))
        retry__budget_earn(budget, base, options->base_per_second, passed);
    if (options->refill_per_second != 0)
        retry__budget_earn(budget, options->capacity, options->refill_per_second, passed);
}

RETRY_API bool retry_budget_withdraw(retry_budget *budget, uint32_t cost, retry_time now)
{
    if (!retry__budget_ready(budget))
        return false;
    retry__budget_refill(budget, now);
    return retry__budget_take(budget, cost) != 0;
}

/* A retry that cannot be paid for waits for what refills the base, and then its delay. At most one
   base is owed. Not after a pushback, which is exact, nor without a timeout, as it would never
   end. */
RETRY__COLD retry_ms retry__budget_borrow(retry_budget *budget, uint32_t cost,
                                          const retry_operation *op)
{
    const retry_budget_options *options = &budget->options;
    retry_ms left = retry__remaining(op, op->retry__now), latest, wait, delay;
    uint32_t owed, sum;
    if (options->base_per_second == 0 || op->failure.pushback || cost == 0 || left == UINT32_MAX)
        return 0;
    latest = retry__max(op->delay, retry__last_delay(op, left, left));
    if (latest >= left)
        return 0;
    do {
        owed = retry__load(&budget->retry__owed);
        sum = retry__add(owed, cost);
        wait = retry__max(retry__quotient(retry__product(sum, 1000), options->base_per_second), 1);
        if (wait > latest || !retry__budget_pays(options, retry__budget_base(options), sum))
            return 0;
    } while (!retry__swap(&budget->retry__owed, owed, sum));
    delay = retry__add(op->delay, wait);
    return retry__min(delay > left >> 1 ? latest : delay, RETRY__LONGEST); /* the last, perhaps */
}

/* Moves tokens of a bucket that is refilled already. */
static inline uint32_t retry__budget_moved(retry_budget *budget, uint8_t how, uint32_t amount,
                                           const retry_operation *op)
{
    const retry_budget_options *options = &budget->options;
    uint32_t balance;
    if (how == RETRY__BUDGET_GIVE)
        return retry__budget_add(budget, options->capacity, amount);
    if (how == RETRY__BUDGET_TAKE && !options->charge_failures)
        return retry__budget_take(budget, amount);
    if (how == RETRY__BUDGET_TAKE)
        return retry__load(&budget->retry__balance) > options->floor;
    if (how == RETRY__BUDGET_BORROW)
        return retry__budget_borrow(budget, amount, op);
    do {
        balance = retry__load(&budget->retry__balance);
    } while (!retry__swap(&budget->retry__balance, balance, retry__subtract(balance, amount)));
    return 1;
}

RETRY__COLD uint32_t retry__budget_refill_move(retry_budget *budget, uint8_t how, uint32_t amount,
                                               const retry_operation *op)
{
    retry__budget_refill(budget, op->retry__now);
    return retry__budget_moved(budget, how, amount, op);
}

static uint32_t retry__budget_account(retry_budget *budget, uint8_t how, uint32_t amount,
                                      const retry_operation *op)
{
    if (RETRY__FAST && retry__budget_due(budget, op->retry__now) == 0)
        return retry__budget_moved(budget, how, amount, op);
    return retry__budget_refill_move(budget, how, amount, op);
}

/* What a new bucket holds: one that expires has to earn the rest. */
static uint32_t retry__budget_first(const retry_budget_options *options)
{
    return options->expire ? retry__budget_base(options) : options->capacity;
}

static void retry__budget_fill(retry_budget *budget, retry_time now)
{
    budget->retry__balance = retry__budget_first(&budget->options);
    budget->retry__refilled = now;
    budget->retry__fraction = 0;
    budget->retry__owed = 0;
    budget->retry__account = retry__budget_account;
}

RETRY_API void retry_budget_init(retry_budget *budget, const retry_budget_options *options,
                                 retry_time now)
{
    static const retry_budget_options empty =
        RETRY__BUDGET_OF(0, 0, 0, 0, 0, 0, false, false, 0, 0);
    if (!budget)
        return;
    budget->options = options ? *options : empty;
    retry__budget_fill(budget, now);
}

/* ---- Connection ---------------------------------------------------------------------------- */

enum { RETRY__IDLE, RETRY__CONNECTING, RETRY__ESTABLISHED };

RETRY__ONCE void retry__connection_backoff(const retry_connection *connection,
                                           retry_backoff *backoff)
{
    static const retry_backoff grpc = RETRY_BACKOFF_GRPC;
    *backoff = connection->backoff;
    if (backoff->jitter == RETRY_JITTER_DEFAULT)
        backoff->jitter = grpc.jitter;
    backoff->initial = retry__or(backoff->initial, grpc.initial);
    backoff->max = retry__or(backoff->max, retry__max(grpc.max, backoff->initial));
    backoff->factor = retry__or(backoff->factor, grpc.factor);
}

static uint32_t retry__connection_draw(const retry_connection *connection)
{
    return connection->random ? connection->random(connection->random_context) : retry_draw();
}

/* gRPC draws no jitter for the first. */
RETRY__ONCE retry_ms retry__connection_first(const retry_backoff *backoff)
{
    return retry__min(retry__max(retry_backoff_base(backoff, 0), backoff->min), RETRY__LONGEST);
}

/* What comes to a whole fleet at once each answers after a part of the first spacing. */
static retry_ms retry__connection_part(const retry_connection *connection)
{
    retry_backoff backoff;
    retry__connection_backoff(connection, &backoff);
    return retry__pick(0, retry__connection_first(&backoff), retry__connection_draw(connection));
}

/* The next attempt starts `wait` ms from now, or later. */
RETRY__WRAPS static void retry__connection_defer(retry_connection *connection, retry_ms wait,
                                                 retry_time now)
{
    if (retry_connection_wait(connection, now) >= wait)
        return;
    connection->state.retry__spacing = retry__max(connection->state.retry__spacing, wait);
    connection->state.retry__started = now + wait - connection->state.retry__spacing;
}

/* The end of an attempt, or of what it established: if that has lasted, the attempts count from one
   again. A loss comes to a whole fleet at once, as does the end of a timeout. */
static void retry__connection_end(retry_connection *connection, retry_time now)
{
    retry_ms enough = retry__or(connection->stable_after, 10000);
    bool stood = connection->state.retry__state == RETRY__ESTABLISHED;
    if (stood && (enough == 1 || /* any, even one of 0 ms */
                  retry__passed(connection->state.retry__established_at, now) >= enough))
        connection->state.retry__attempts = connection->state.retry__spacing = 0;
    connection->state.retry__state = RETRY__IDLE;
    if (stood || retry_connection_wait(connection, now) == 0)
        retry__connection_defer(connection, retry__connection_part(connection), now);
}

RETRY_API retry_ms retry_connection_begin(retry_connection *connection, retry_time now)
{
    retry_backoff backoff;
    retry_ms spacing;
    if (!connection)
        return 0;
    if (connection->state.retry__state != RETRY__IDLE)
        retry__connection_end(connection, now);
    retry__connection_backoff(connection, &backoff);
    if (connection->state.retry__attempts == 0)
        spacing = retry__connection_first(&backoff);
    else
        spacing = retry_backoff_delay(&backoff, connection->state.retry__attempts,
                                      connection->state.retry__spacing,
                                      retry__connection_draw(connection));
    connection->state.retry__spacing = retry__min(spacing, RETRY__LONGEST);
    connection->state.retry__attempts = retry__add(connection->state.retry__attempts, 1);
    connection->state.retry__started = now;
    connection->state.retry__asked = 0;
    connection->state.retry__state = RETRY__CONNECTING;
    return retry__min(retry__max(connection->state.retry__spacing,
                                 retry__or(connection->min_connect_timeout, 20000)),
                      retry__or(connection->max_connect_timeout, UINT32_MAX));
}

/* ms that are left of what the server asked for. */
static retry_ms retry__connection_asked(const retry_connection *connection, retry_time now)
{
    return retry__left(connection->state.retry__asked_at, connection->state.retry__asked, now);
}

/* Whether trying again does not help: a wrong password, or the server forbids it. */
static bool retry__connection_final(const retry_failure *failure)
{
    if (retry__forbids(failure))
        return true;
    if (failure->reason == RETRY_REASON_NONE)
        return failure->fault != RETRY_FAULT_SERVER && failure->safety != RETRY_SAFETY_YES;
    return failure->reason == RETRY_REASON_UNKNOWN;
}

/* What a failure says of the next start, heard once: each stream of a connection may say it. */
static void retry__connection_hear(retry_connection *connection, const retry_failure *failure,
                                   retry_time now)
{
    retry_ms told = retry__forbids(failure) ? 0 : failure->retry_after;
    retry_ms least = told, most = 0, left = UINT32_MAX, wait;
    if (told != 0) { /* by a server that tells a whole fleet the same */
        most = retry__add(told, told >> 2);
        left = retry__connection_asked(connection, now);
    } else if (retry__connection_final(failure)) {
        retry_backoff backoff;
        retry__connection_backoff(connection, &backoff);
        most = retry__longest(&backoff);
        least = most - (most >> 3);
        left = retry_connection_wait(connection, now);
    }
    if (left >= least)
        return;
    wait = retry__pick(least, most, retry__connection_draw(connection));
    wait = retry__min(wait, RETRY__LONGEST);
    if (told != 0) {
        connection->state.retry__asked = wait;
        connection->state.retry__asked_at = now;
    }
    retry__connection_defer(connection, wait, now);
}

RETRY_API retry_ms retry_connection_failed(retry_connection *connection,
                                           const retry_failure *failure, retry_time now)
{
    if (!connection)
        return 0;
    if (connection->state.retry__state == RETRY__IDLE &&
        retry_connection_wait(connection, now) == 0)
        retry_connection_begin(connection, now);
    if (connection->state.retry__state != RETRY__IDLE)
        retry__connection_end(connection, now);
    if (failure)
        retry__connection_hear(connection, failure, now);
    return retry_connection_wait(connection, now);
}

RETRY_API void retry_connection_skip_wait(retry_connection *connection, retry_time now)
{
    retry_ms wait, least;
    if (!connection)
        return;
    wait = retry_connection_wait(connection, now);
    least = retry__min(retry__connection_asked(connection, now), wait);
    connection->state.retry__attempts = 0;
    connection->state.retry__spacing =
        retry__max(least, retry__min(wait, retry__connection_part(connection)));
    connection->state.retry__started = now;
}

RETRY_API retry_ms retry_connection_wait(const retry_connection *connection, retry_time now)
{
    return connection ? retry__left(connection->state.retry__started,
                                    connection->state.retry__spacing, now)
                      : 0;
}

RETRY_API void retry_connection_established(retry_connection *connection, retry_time now)
{
    if (!connection || connection->state.retry__state != RETRY__CONNECTING)
        return;
    connection->state.retry__state = RETRY__ESTABLISHED;
    connection->state.retry__established_at = now;
}

/* ---- Scanning text ------------------------------------------------------------------------- */

static bool retry__is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

typedef struct retry__scan {
    const char *text;
    size_t left;
} retry__scan;

static void retry__scan_skip(retry__scan *scan, size_t length)
{
    scan->text += length;
    scan->left -= length;
}

/* Cuts the blanks around a text off. */
static void retry__scan_trim(retry__scan *scan)
{
    while (scan->left != 0 && retry__is_space(*scan->text))
        retry__scan_skip(scan, 1);
    while (scan->left != 0 && retry__is_space(scan->text[scan->left - 1]))
        scan->left--;
}

static bool retry__scan_literal(retry__scan *scan, char c)
{
    if (scan->left == 0 || *scan->text != c)
        return false;
    retry__scan_skip(scan, 1);
    return true;
}

static bool retry__scan_digit(retry__scan *scan, uint32_t *digit)
{
    if (scan->left == 0 || *scan->text < '0' || *scan->text > '9')
        return false;
    *digit = (uint32_t)(*scan->text - '0');
    retry__scan_skip(scan, 1);
    return true;
}

/* Digits, of which there must be one, as a number that saturates. */
static bool retry__scan_number(retry__scan *scan, uint32_t *number)
{
    uint32_t digit;
    if (!retry__scan_digit(scan, number))
        return false;
    while (retry__scan_digit(scan, &digit))
        *number = retry__add(retry__multiply(*number, 10), digit);
    return true;
}

static bool retry__in_name(char c)
{
    return (unsigned char)c > ' ' && c != ';';
}

/* One of the names, each of which stands behind a space; `index` tells which. */
static bool retry__scan_name(retry__scan *scan, const char *names, uint32_t *index)
{
    for (*index = 0; *names == ' '; ++*index) {
        size_t length = 0;
        while (retry__in_name(*++names) && length < scan->left && scan->text[length] == *names)
            length++;
        if (!retry__in_name(*names)) {
            retry__scan_skip(scan, length);
            return true;
        }
        while (retry__in_name(*names))
            names++;
        if (*names == ';') /* ends the list */
            break;
    }
    return false;
}

/* ---- Classification and idempotency -------------------------------------------------------- */

static retry_failure retry__failure(retry_reason reason, uint32_t code)
{
    retry_failure failure = {
        reason, RETRY_SAFETY_MAYBE, RETRY_FAULT_OTHER, false, false, false, false, false, 0, code};
    return failure;
}

RETRY_API retry_failure retry_classify_http(int http_status, retry_ms retry_after)
{
    retry_failure failure = retry__failure(RETRY_REASON_NONE, (uint32_t)http_status);
    bool server = http_status >= 500 && http_status <= 599;
    failure.retry_after = retry_after;
    failure.timeout = http_status == 408 || http_status == 504;
    if (http_status == 501 || (http_status >= 505 && http_status <= 511 && http_status != 509)) {
        failure.fault = RETRY_FAULT_CLIENT; /* it will never know how, and has done nothing */
    } else if (server || http_status == 408) {
        failure.reason = RETRY_REASON_SERVER_ERROR;
        failure.fault = server ? RETRY_FAULT_SERVER : RETRY_FAULT_OTHER;
        failure.throttle = http_status == 529 || (http_status == 503 && retry_after != 0);
        if (http_status == 529) /* refused */
            failure.reason = RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED;
    } else if (http_status >= 400 && http_status <= 499) {
        bool elsewhere = http_status == 421 || http_status == 425; /* or later: no load */
        failure.fault = RETRY_FAULT_CLIENT;
        failure.throttle = http_status == 429 || (retry_after != 0 && !elsewhere);
        if (failure.throttle || elsewhere)
            failure.reason = RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED;
    }
    return failure;
}

/* The numbers of <errno.h> where it knows sockets, and of Winsock; else one that no error has. */
#ifdef ECONNREFUSED
#define RETRY__POSIX(...) __VA_ARGS__
#else
#define RETRY__POSIX(...) (-32767)
#endif
#ifdef _WIN32
#define RETRY__WINSOCK(...) __VA_ARGS__
#else
#define RETRY__WINSOCK(...) (-32767)
#endif

/* No connection, or none any more; 0: recv returned 0, as the peer closed it. */
static const int retry__errors_lost[] = {
    0,
    RETRY__POSIX(ECONNREFUSED, ENETDOWN, ENETUNREACH, EHOSTUNREACH, ENETRESET, ECONNRESET,
                 ECONNABORTED, EPIPE),
    RETRY__WINSOCK(10061, 10050, 10051, 10065, 10052, 10054, 10053),
    RETRY__WINSOCK(64, 1225, 1231, 1232, 1234, 1236), /* of overlapped calls */
#ifdef EHOSTDOWN
    EHOSTDOWN,
#endif
    -3, /* EAI_AGAIN of glibc and musl; elsewhere it is a number of <errno.h>, too */
    RETRY__WINSOCK(10064, 11002)};

/* What this machine lacks for a while. */
static const int retry__errors_here[] = {
    RETRY__POSIX(EMFILE, ENFILE, ENOMEM, ENOBUFS, EADDRNOTAVAIL),
    RETRY__WINSOCK(10049, 10024, 10055, 10055, 10055)};

static const int retry__errors_timeout[] = {
    RETRY__POSIX(ETIMEDOUT, EWOULDBLOCK, EAGAIN, EINPROGRESS), RETRY__WINSOCK(10060, 10035, 121)};

static bool retry__among(const int *numbers, size_t size, int number)
{
    for (; size != 0 && *numbers != number; size -= sizeof *numbers)
        numbers++;
    return size != 0;
}

RETRY_API retry_failure retry_classify_errno(int error, bool sent)
{
    retry_failure failure = retry__failure(RETRY_REASON_NONE, (uint32_t)error);
    bool timeout = retry__among(retry__errors_timeout, sizeof retry__errors_timeout, error);
    if (sent) {
        failure.reason =
            timeout ? RETRY_REASON_ATTEMPT_TIMED_OUT : RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT;
        failure.timeout = timeout;
    } else {
        bool here = retry__among(retry__errors_here, sizeof retry__errors_here, error);
        if (here || timeout || retry__among(retry__errors_lost, sizeof retry__errors_lost, error))
            failure.reason = RETRY_REASON_SOCKET_NOT_AVAILABLE;
        if (here || failure.reason == RETRY_REASON_NONE)
            failure.fault = RETRY_FAULT_CLIENT;
        failure.unsent = true;
    }
    return failure;
}

RETRY_API retry_failure retry_classify_grpc(int status)
{
    retry_failure failure = retry__failure(RETRY_REASON_NONE, (uint32_t)status);
    if (status == 4) { /* DEADLINE_EXCEEDED */
        failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
        failure.timeout = true;
    } else if (status == 8) { /* RESOURCE_EXHAUSTED */
        failure.reason = RETRY_REASON_SERVER_ERROR;
        failure.throttle = true;
    } else if (status == 14) { /* UNAVAILABLE, of a proxy too: the server may have had it */
        failure.reason = RETRY_REASON_SERVER_ERROR;
        failure.fault = RETRY_FAULT_SERVER;
    } else if (status < 0 || status > 16 || (UINT32_C(0xa006) >> status & 1) != 0) {
        failure.reason = RETRY_REASON_UNKNOWN; /* CANCELLED, UNKNOWN, INTERNAL, DATA_LOSS */
    }
    return failure;
}

RETRY_API retry_failure retry_classify_stage(uint8_t stage, retry_reason dispatch_reason)
{
    bool sent = stage != RETRY_STAGE_DISPATCH;
    retry_failure failure = retry__failure(
        sent ? (retry_reason)RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT : dispatch_reason, 0);
    failure.unsent = !sent;
    return failure;
}

RETRY_API bool retry_idempotent_http(const char *method, size_t length)
{
    retry__scan scan = {method, length};
    uint32_t index;
    return method && retry__scan_name(&scan, " GET HEAD OPTIONS TRACE PUT DELETE", &index) &&
           scan.left == 0;
}

/* ---- Retry-After --------------------------------------------------------------------------- */

/* The six fields of a date; a month is 0 to 11. */
enum { RETRY__DAY, RETRY__MONTH, RETRY__YEAR, RETRY__HOUR, RETRY__MINUTE, RETRY__SECOND };

/* A format is a text in which %a, %A and %b stand for names as in strftime, and a % before two
   digits for a number: which field it is, and how many digits it has. */
static bool retry__scan_date(retry__scan *scan, const char *format, uint32_t *field)
{
    static const char days[] = " Mon Tue Wed Thu Fri Sat Sun";
    static const char long_days[] = " Monday Tuesday Wednesday Thursday Friday Saturday Sunday";
    static const char months[] = " Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
    bool ok = true;
    uint32_t weekday, digit; /* the weekday is told by the date already */
    for (; ok && *format; format++) {
        if (*format != '%') {
            ok = retry__scan_literal(scan, *format);
        } else if (*++format == 'a') {
            ok = retry__scan_name(scan, days, &weekday);
        } else if (*format == 'A') {
            ok = retry__scan_name(scan, long_days, &weekday);
        } else if (*format == 'b') {
            ok = retry__scan_name(scan, months, &field[RETRY__MONTH]);
        } else {
            uint32_t *number = &field[*format - '0'];
            char left = format[1];
            for (*number = 0; left != '0' && (ok = retry__scan_digit(scan, &digit)); left--)
                *number = *number * 10 + digit;
            format++;
        }
    }
    return ok && scan->left == 0;
}

/* Days from 1 March of the year -400 to the first of a month (0 to 12). Years begin in March, so
   that a leap day is their last; 979 / 32 days are a month from March on, rounded. */
static uint32_t retry__days(uint32_t year, uint32_t month)
{
    uint32_t century;
    year += month < 2 ? 399 : 400;
    month = month < 2 ? month + 10 : month - 2;
    century = (year * 5243) >> 19; /* year / 100, exact up to 43,698 */
    return year * 365 + (year >> 2) - century + (century >> 2) + ((month * 979 + 15) >> 5);
}

/* Such a day, and seconds on it, as seconds since 1970. */
static int64_t retry__unix_time(uint32_t days, uint32_t seconds)
{
    return (int64_t)(retry__product(days, 86400) + seconds) - (int64_t)865565 * 86400;
}

/* The date that was scanned as seconds since 1970; false if there is no such date. */
static bool retry__unix_seconds(const uint32_t *field, int64_t *seconds)
{
    uint32_t first = retry__days(field[RETRY__YEAR], field[RETRY__MONTH]);
    uint32_t next = retry__days(field[RETRY__YEAR], field[RETRY__MONTH] + 1);
    uint32_t minutes = field[RETRY__HOUR] * 60 + field[RETRY__MINUTE];
    if (field[RETRY__DAY] < 1 || field[RETRY__DAY] > next - first || field[RETRY__HOUR] > 23 ||
        field[RETRY__MINUTE] > 59 || field[RETRY__SECOND] > 60) /* 60: a leap second */
        return false;
    *seconds = retry__unix_time(first + field[RETRY__DAY] - 1, minutes * 60 + field[RETRY__SECOND]);
    return true;
}

/* Sets *date only if there is one. */
static bool retry__parse_date(const retry__scan *text, int64_t unix_seconds, int64_t *date)
{
    static const char formats[] = "%a, %02 %b %24 %32:%42:%52 GMT\0" /* IMF-fixdate */
                                  "%A, %02-%b-%22 %32:%42:%52 GMT\0" /* RFC 850 */
                                  "%a %b %02 %32:%42:%52 %24\0"      /* asctime */
                                  "%a %b  %01 %32:%42:%52 %24\0";
    const char *format;
    retry__scan scan;
    uint32_t field[6];
    for (format = formats; *format; format = retry__nth(format, 1)) {
        scan = *text;
        if (!retry__scan_date(&scan, format, field))
            continue;
        if (format[1] == 'A') { /* the latest year with two digits at most 50 years ahead */
            uint32_t year = field[RETRY__YEAR] + 9900;
            while (year >= 100 && retry__unix_time(retry__days(year - 50, 0), 0) > unix_seconds)
                year -= 100;
            field[RETRY__YEAR] = year;
        }
        return retry__unix_seconds(field, date);
    }
    return false;
}

/* A number of seconds with a fraction, as ms, rounded up. */
static bool retry__parse_seconds(retry__scan *scan, retry_ms *ms)
{
    uint32_t digit, seconds = 0, part = 0, unit = 100;
    bool more = false, any = retry__scan_number(scan, &seconds);
    if (any && retry__scan_literal(scan, '.')) {
        for (any = false; retry__scan_digit(scan, &digit); any = true) {
            part += digit * unit;
            more = more || (unit == 0 && digit != 0);
            unit = unit == 100 ? 10 : unit == 10;
        }
    }
    *ms = retry__add(retry__multiply(seconds, 1000), part + more);
    return any && scan->left == 0;
}

RETRY_API bool retry_parse_http_date(const char *value, size_t length, int64_t two_digit_year_now,
                                     int64_t *unix_seconds)
{
    retry__scan scan = {value, length};
    if (!value || !unix_seconds)
        return false;
    retry__scan_trim(&scan);
    return retry__parse_date(&scan, two_digit_year_now, unix_seconds);
}

RETRY_API bool retry_parse_retry_after(const char *value, size_t length, int64_t unix_seconds,
                                       retry_ms *delay)
{
    retry__scan scan = {value, length}, rest;
    retry_ms ms;
    int64_t date;
    if (!value || !delay)
        return false;
    retry__scan_trim(&scan);
    rest = scan;
    if (!retry__parse_seconds(&rest, &ms)) {
        if (unix_seconds == INT64_MIN || !retry__parse_date(&scan, unix_seconds, &date))
            return false;
        ms = 0;
        if (date - (int64_t)UINT32_MAX > unix_seconds) /* date - unix_seconds may overflow */
            ms = UINT32_MAX;
        else if (date > unix_seconds)
            ms = retry__multiply((uint32_t)(date - unix_seconds), 1000);
    }
    *delay = ms ? ms : 1;
    return true;
}

/* ---- Pushback ------------------------------------------------------------------------------ */

RETRY_API bool retry_parse_pushback(const char *value, size_t length, retry_failure *failure)
{
    retry__scan scan = {value, length};
    uint32_t delay;
    bool good = value && retry__scan_number(&scan, &delay) && scan.left == 0 &&
                delay <= INT32_MAX && (length == 1 || value[0] != '0');
    if (!failure)
        return false;
    failure->pushback = true;
    failure->retry_after = good ? delay : UINT32_MAX;
    return true;
}

/* ---- Outcomes ------------------------------------------------------------------------------ */

/* A span that a gate's field sets, with its default. */
static retry_ms retry__span(retry_ms span, retry_ms fallback)
{
    return span ? retry__min(span, UINT32_C(1) << 30) : fallback;
}

/* Whether a failed attempt put no load on a server. */
static bool retry__is_unsent(const retry_failure *failure)
{
    return failure->unsent || (retry__traits(failure->reason) & RETRY__TRAIT_UNSENT) != 0;
}

/* What an attempt counts for at a gate. */
enum {
    RETRY__UNSENT,    /* it was never sent: this and the next two are no outcome */
    RETRY__GIVEN_UP,  /* nobody waits for it any more */
    RETRY__LOST,      /* another copy was faster; but see breakers */
    RETRY__UNHEALTHY, /* the other end did not answer, or broke */
    RETRY__ANSWERED   /* somebody is there, if only to say no */
};

/* Of one that failed. */
RETRY__COLD uint8_t retry__outcome(const retry_failure *failure)
{
    if (failure->unsent
            ? failure->fault == RETRY_FAULT_CLIENT
            : failure->reason == RETRY_REASON_NONE && failure->code == 0 &&
                  failure->fault == RETRY_FAULT_OTHER && !failure->timeout && !failure->throttle)
        return RETRY__UNSENT; /* it says nothing of the other end */
    if (retry__is_refusal(failure->reason))
        return RETRY__UNSENT;
    if (failure->timeout)
        return RETRY__UNHEALTHY;
    if (failure->throttle && failure->fault != RETRY_FAULT_SERVER && !retry__is_unsent(failure))
        return RETRY__ANSWERED; /* a quota, as gRPC says */
    if ((retry__traits(failure->reason) & RETRY__TRAIT_UNHEALTHY) != 0)
        return RETRY__UNHEALTHY;
    if (retry__reason_is_user(failure->reason) && failure->fault == RETRY_FAULT_SERVER)
        return RETRY__UNHEALTHY;
    return failure->unsent ? RETRY__UNSENT : RETRY__ANSWERED;
}

/* What gates are told: the end of an attempt that they let pass; or that one which waits for an
   instant that a rate keeps will not be sent. */
enum { RETRY__ASK, RETRY__FORGET, RETRY__END };

/* What a copy is. */
enum {
    RETRY__COPY_WIRE = 1,   /* sent, and not ended */
    RETRY__COPY_CANCEL = 2, /* its CANCEL is due */
    RETRY__COPY_UNCUT = 4,  /* on the wire, with all the time left: the budget could not cut it */
    RETRY__COPY_DRAWN = 8,  /* before: a throttle has let it pass */
    RETRY__COPY_KEPT = 16   /* before: a rate keeps an instant for it */
};

/* An attempt as gates see it. Of what is not theirs they write `wait`, and what the copy keeps for
   them. */
struct retry__attempt {
    uint8_t outcome; /* RETRY__UNSENT until it has ended */
    bool drawn;      /* a throttle has let it pass when it asked before */
    retry_operation *op;
    retry_copy *copy;
    retry_gates *gates;
    const retry_failure *failure; /* NULL: none */
    retry_time now;
    retry_ms left; /* to the deadline, when it asks */
    retry_ms wait; /* until it may ask again; or what there is to know */
    retry_ms age;  /* since it was sent; 0: it was not */
};

/* An answer that does not throttle. */
static bool retry__is_good(const struct retry__attempt *attempt)
{
    const retry_failure *failure = attempt->failure;
    if (failure && failure->throttle)
        return false;
    return attempt->outcome == RETRY__ANSWERED;
}

/* ---- Rolling window ------------------------------------------------------------------------ */

/* A window has two halves: the one under way and the one before. Each has two counts: all reports,
   and the marked ones (the unhealthy, the accepted). retry__half is twice the instant at which the
   half under way began, modulo 2^32. Its lowest bit says which half that is. */
#define RETRY__WINDOW_COUNT UINT32_C(0x1fffffff) /* of a count; above it: how often emptied */

typedef struct retry__sums {
    uint32_t all, marked;
} retry__sums;

/* Empties counts, as long as *word is what was `seen`: once another thread has changed it, others
   may count there again. Emptying changes each count, so a swap that comes too late fails. */
RETRY__WRAPS static void retry__window_empty(uint32_t *counts, uint32_t n, const uint32_t *word,
                                             uint32_t seen)
{
    for (; n != 0; n--, counts++) {
        uint32_t count;
        do {
            count = retry__load(counts);
            if (retry__load(word) != seen)
                return;
        } while (
            !retry__swap(counts, count, (count + RETRY__WINDOW_COUNT + 1) & ~RETRY__WINDOW_COUNT));
    }
}

/* Goes on to the half that `now` is in, and returns its word. A clock that is a little behind
   counts in the half under way. After a window without a report, and after a greater step back, all
   counts are emptied, and a half begins at `now`. 0 is the word of a window never used. */
RETRY__COLD RETRY__WRAPS uint32_t retry__window_move(retry__window *window, uint32_t half,
                                                     retry_ms length, uint32_t now)
{
    uint32_t step = (length + 1) & ~UINT32_C(1); /* twice a half's ms, as retry__half counts */
    for (;;) {
        uint32_t passed = (now << 1) - (half & ~UINT32_C(1));
        uint32_t next = (half ^ 1) + step;
        if (passed < step || (half != 0 && 0 - passed <= retry__min(step, 2 * RETRY__BEHIND)))
            return half;
        if (passed < 2 * step) {
            retry__window_empty(&window->retry__counts[(next & 1) * 2], 2, &window->retry__half,
                                half);
        } else {
            next = (now << 1) | 1;
            retry__window_empty(window->retry__counts, 4, &window->retry__half, half);
        }
        if (retry__swap(&window->retry__half, half, next))
            return next;
        half = retry__load(&window->retry__half);
    }
}

/* Moves a window of `length` ms on to `now`; the two counts of the half under way. */
static inline RETRY__WRAPS uint32_t *retry__window_at(retry__window *window, retry_ms length,
                                                      retry_ms fallback, uint32_t now)
{
    uint32_t half = retry__load(&window->retry__half);
    length = length ? retry__min(length, UINT32_C(1) << 23) : fallback;
    if ((now << 1) - (half & ~UINT32_C(1)) >= length)
        half = retry__window_move(window, half, length, now);
    return &window->retry__counts[(half & 1) * 2];
}

/* What both halves hold. `all` is counted first and read last, so no marked one is without it. */
static retry__sums retry__window_sum(const retry__window *window)
{
    const uint32_t *counts = window->retry__counts;
    retry__sums sum;
    sum.marked = (retry__load(&counts[1]) & RETRY__WINDOW_COUNT) +
                 (retry__load(&counts[3]) & RETRY__WINDOW_COUNT);
    sum.all = (retry__load(&counts[0]) & RETRY__WINDOW_COUNT) +
              (retry__load(&counts[2]) & RETRY__WINDOW_COUNT);
    return sum;
}

/* ---- Breaker ------------------------------------------------------------------------------- */

/* The word that every change swaps. Its upper 16 bits are the generation: the ticket of permits.
   Each change of state raises it. The next 8 bits are the answers that are needed to close the
   breaker. If these are not 0 the state is HALF_OPEN, and the last 8 bits are the probes in flight.
   If they are 0, the last 8 bits are the state. So a zeroed word is CLOSED. */
#define RETRY__BREAKER_NEEDED UINT32_C(0x0000ff00)
#define RETRY__BREAKER_FLIGHT UINT32_C(0x000000ff)
#define RETRY__BREAKER_LOW UINT32_C(0x0000ffff)

/* Of retry__in_a_row: the unhealthy reports in a row, and the rounds of such probes in a row. */
#define RETRY__BREAKER_IN_A_ROW UINT32_C(0x0000ffff)
#define RETRY__BREAKER_ROUNDS UINT32_C(0x00ff0000)

/* ms that it stays open, doubled for each round of unhealthy probes. */
static retry_ms retry__breaker_open(const retry_breaker *breaker)
{
    retry_ms open = retry__span(breaker->open, 2000);
    retry_ms most = retry__min(breaker->open_max, UINT32_C(1) << 30);
    uint32_t rounds = (retry__load(&breaker->retry__in_a_row) & RETRY__BREAKER_ROUNDS) >> 16;
    for (; rounds != 0 && open < most; rounds--)
        open = retry__min(open * 2, most);
    return open;
}

/* What a call decides by: the word, and the instant of the last change, which is read first. */
typedef struct retry__breaker_view {
    uint32_t since, word;
} retry__breaker_view;

static retry__breaker_view retry__breaker_read(const retry_breaker *breaker)
{
    retry__breaker_view view;
    view.since = retry__load(&breaker->retry__since);
    view.word = retry__load(&breaker->retry__state);
    return view;
}

/* ms that are left of a span that began at `since`. If the clock is a little behind, all of it is
   left. If the clock is further behind (it stepped back, or weeks have passed), nothing is. */
RETRY__ONCE RETRY__WRAPS retry_ms retry__breaker_left(uint32_t since, retry_ms span, uint32_t now)
{
    uint32_t passed = now - since;
    if (passed < span)
        return span - passed;
    return 0 - passed <= retry__min(span, RETRY__BEHIND) ? span : 0;
}

/* The word of the next generation, in another state. */
RETRY__WRAPS static uint32_t retry__breaker_next(uint32_t word, uint32_t low)
{
    return (word & ~RETRY__BREAKER_LOW) + 0x10000 + low;
}

/* HALF_OPEN, without a probe in flight, as the lower half of the word. */
RETRY__ONCE uint32_t retry__breaker_half_open(const retry_breaker *breaker)
{
    return (breaker->probes ? breaker->probes : UINT32_C(1)) << 8;
}

/* Changes the word to `next`, at `now`. The instant is written first, so a thread that read an old
   one fails. False: another was faster; *view is what it left, perhaps at `now`. */
static bool retry__breaker_change(retry_breaker *breaker, retry__breaker_view *view, uint32_t next,
                                  uint32_t now)
{
    if (retry__swap(&breaker->retry__since, view->since, now) &&
        retry__swap(&breaker->retry__state, view->word, next))
        return true;
    *view = retry__breaker_read(breaker);
    return false;
}

/* Empties the window and the counts in a row, as long as the state is `word`. */
static void retry__breaker_empty(retry_breaker *breaker, uint32_t word)
{
    retry__window_empty(breaker->retry__reports.retry__counts, 4, &breaker->retry__state, word);
    retry__window_empty(&breaker->retry__in_a_row, 1, &breaker->retry__state, word);
}

/* Adds `step` to the part of a count that `mask` names, if there is room. A `step` of 0 empties the
   part. Once the state is not `word`, nothing happens. The count is read first: if a thread empties
   it for another state, the swap fails. Returns the part, 0 in another state. */
static uint32_t retry__breaker_add(retry_breaker *breaker, uint32_t word, uint32_t *count,
                                   uint32_t mask, uint32_t step)
{
    uint32_t seen, part, next;
    do {
        seen = retry__load(count);
        if (retry__load(&breaker->retry__state) != word)
            return 0;
        part = seen & mask;
        if (step ? part > mask - step : part == 0)
            return part;
        next = step ? seen + step : seen - part;
    } while (!retry__swap(count, seen, next));
    return next & mask;
}

/* 55 of 100 are a little less than RETRY_RATIO(0.55), which is rounded up. So half of its unit,
   2^-17, may be missing. Eighths are exact. */
static bool retry__breaker_trips(const retry_breaker *breaker, uint32_t row)
{
    retry__sums reports = retry__window_sum(&breaker->retry__reports);
    uint32_t ratio = breaker->ratio ? retry__min(breaker->ratio, RETRY_RATIO(1)) : RETRY_RATIO(0.5);
    uint32_t least = (ratio & (RETRY_RATIO(0.125) - 1)) != 0 ? ratio * 2 - 1 : ratio * 2;
    if (breaker->in_a_row != 0 && row >= breaker->in_a_row)
        return true;
    return reports.all >= retry__or(breaker->volume, 20) &&
           (uint64_t)reports.marked << 17 >= retry__product(reports.all, least);
}

/* Counts a report on a permit of CLOSED. True: that opened it. */
static bool retry__breaker_count(retry_breaker *breaker, retry__breaker_view view, bool unhealthy,
                                 uint32_t now)
{
    uint32_t *half = retry__window_at(&breaker->retry__reports, breaker->window, 8000, now);
    uint32_t row, word = view.word;
    retry__breaker_add(breaker, view.word, &half[0], RETRY__WINDOW_COUNT, 1);
    if (unhealthy)
        retry__breaker_add(breaker, view.word, &half[1], RETRY__WINDOW_COUNT, 1);
    row = retry__breaker_add(breaker, view.word, &breaker->retry__in_a_row, RETRY__BREAKER_IN_A_ROW,
                             unhealthy ? 1 : 0);
    if (!unhealthy || !retry__breaker_trips(breaker, row))
        return false;
    while (view.word == word) { /* the instant alone may change: a connection broke */
        if (retry__breaker_change(breaker, &view, retry__breaker_next(word, RETRY_BREAKER_OPEN),
                                  now))
            return true;
    }
    return false;
}

/* Whether a report on a permit of CLOSED tells of a broken connection that was counted already: the
   attempt began before `since`, when that was. An instant of 0 is none. */
static bool retry__breaker_knows(retry_breaker *breaker, retry__breaker_view *view,
                                 retry_ms elapsed, uint32_t now)
{
    if (view->since != 0 && retry__passed(view->since, now) <= elapsed)
        return true;
    if (!retry__swap(&breaker->retry__since, view->since, now))
        return true;
    view->since = now;
    return false;
}

/* The word after a probe that was answered, or that had no outcome. A probe that was silent for too
   long gives no place back: another may have it. But its answer counts. */
static uint32_t retry__breaker_after(const retry_breaker *breaker, uint32_t word, bool answered,
                                     retry_ms elapsed)
{
    uint32_t needed = (word & RETRY__BREAKER_NEEDED) >> 8;
    uint32_t flight = word & RETRY__BREAKER_FLIGHT;
    if (flight != 0 && elapsed < retry__span(breaker->probe_timeout, 5000))
        flight--;
    if (answered)
        needed--;
    if (needed == 0)
        return retry__breaker_next(word, RETRY_BREAKER_CLOSED);
    return (word & ~RETRY__BREAKER_LOW) | needed << 8 | retry__min(flight, needed);
}

/* A probe's end. True: it opened or closed the breaker. */
static bool retry__breaker_probed(retry_breaker *breaker, retry__breaker_view view,
                                  retry_ms elapsed, uint8_t outcome, uint32_t now)
{
    uint32_t ticket = view.word >> 16;
    while (view.word >> 16 == ticket && (view.word & RETRY__BREAKER_NEEDED) != 0) {
        uint32_t next;
        if (outcome == RETRY__UNHEALTHY) {
            next = retry__breaker_next(view.word, RETRY_BREAKER_OPEN);
            if (!retry__breaker_change(breaker, &view, next, now))
                continue;
            retry__breaker_add(breaker, next, &breaker->retry__in_a_row, RETRY__BREAKER_ROUNDS,
                               UINT32_C(1) << 16);
            return true;
        }
        next = retry__breaker_after(breaker, view.word, outcome == RETRY__ANSWERED, elapsed);
        if (next >> 16 != ticket)
            retry__breaker_empty(breaker, view.word);
        if (retry__swap(&breaker->retry__state, view.word, next))
            return next >> 16 != ticket;
        view = retry__breaker_read(breaker);
    }
    return false;
}

/* Whether a connection broke, with which all attempts on it fail at once. */
static bool retry__of_connection(const retry_failure *failure)
{
    return failure && !failure->timeout &&
           (failure->reason == RETRY_REASON_SOCKET_NOT_AVAILABLE ||
            failure->reason == RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
}

/* The end of an attempt `elapsed` ms after its permit. True: it opened or closed the breaker. */
static bool retry__breaker_end(retry_breaker *breaker, uint16_t ticket, retry_ms elapsed,
                               uint8_t outcome, const retry_failure *failure, uint32_t now)
{
    retry__breaker_view view = retry__breaker_read(breaker);
    if (view.word >> 16 != ticket)
        return false;
    if (outcome == RETRY__ANSWERED && breaker->slow != 0 && elapsed >= breaker->slow)
        outcome = RETRY__UNHEALTHY;
    if ((view.word & RETRY__BREAKER_LOW) != RETRY_BREAKER_CLOSED)
        return retry__breaker_probed(breaker, view, elapsed, outcome, now);
    if (outcome < RETRY__UNHEALTHY)
        return false;
    if (retry__of_connection(failure) && retry__breaker_knows(breaker, &view, elapsed, now))
        return false;
    return retry__breaker_count(breaker, view, outcome == RETRY__UNHEALTHY, now);
}

/* The word with one more probe in flight. 0, which no word is: none may be sent; in OPEN *wait says
   for how long. If all probes were silent, one takes their place: only the instant may change. */
static uint32_t retry__breaker_probe(const retry_breaker *breaker, retry__breaker_view view,
                                     uint32_t now, retry_ms *wait)
{
    uint32_t needed = (view.word & RETRY__BREAKER_NEEDED) >> 8;
    uint32_t flight = view.word & RETRY__BREAKER_FLIGHT;
    retry_ms timeout = retry__span(breaker->probe_timeout, 5000);
    *wait = 0;
    if ((view.word & RETRY__BREAKER_LOW) == RETRY_BREAKER_OPEN) {
        *wait = retry__breaker_left(view.since, retry__breaker_open(breaker), now);
        return *wait ? 0 : retry__breaker_next(view.word, retry__breaker_half_open(breaker) + 1);
    }
    if (flight < needed)
        return view.word + 1;
    if (needed == 0 /* ISOLATED */ || retry__breaker_left(view.since, timeout, now) != 0)
        return 0;
    return view.word - flight + 1;
}

RETRY_API retry_permit retry_breaker_ask(retry_breaker *breaker, bool may_probe, retry_time now)
{
    retry_permit permit = {true, 0, 0, 0};
    retry__breaker_view view;
    permit.retry__asked = now;
    if (!breaker)
        return permit;
    view = retry__breaker_read(breaker);
    while ((view.word & RETRY__BREAKER_LOW) != RETRY_BREAKER_CLOSED) {
        uint32_t next = retry__breaker_probe(breaker, view, now, &permit.wait);
        permit.granted = may_probe && next != 0;
        if (!permit.granted)
            break;
        if (retry__breaker_change(breaker, &view, next, now)) {
            view.word = next;
            break;
        }
    }
    permit.retry__ticket = (uint16_t)(view.word >> 16);
    return permit;
}

static bool retry__breaker_tell(retry_breaker *breaker, const retry_permit *permit, uint8_t outcome,
                                const retry_failure *failure, uint32_t now)
{
    return breaker && permit->granted &&
           retry__breaker_end(breaker, permit->retry__ticket,
                              retry__passed(permit->retry__asked, now), outcome, failure, now);
}

RETRY_API bool retry_breaker_report(retry_breaker *breaker, retry_permit permit,
                                    const retry_failure *failure, retry_time now)
{
    return retry__breaker_tell(breaker, &permit,
                               failure ? retry__outcome(failure) : (uint8_t)RETRY__ANSWERED,
                               failure, now);
}

RETRY_API void retry_breaker_release(retry_breaker *breaker, retry_permit permit, retry_time now)
{
    retry__breaker_tell(breaker, &permit, RETRY__UNSENT, NULL, now);
}

RETRY_API void retry_breaker_set(retry_breaker *breaker, uint8_t state, retry_time now)
{
    retry__breaker_view view;
    uint32_t next;
    if (!breaker || state > RETRY_BREAKER_ISOLATED)
        return;
    view = retry__breaker_read(breaker);
    do {
        retry__breaker_empty(breaker, view.word);
        next = retry__breaker_next(view.word, state == RETRY_BREAKER_HALF_OPEN
                                                  ? retry__breaker_half_open(breaker)
                                                  : state);
    } while (!retry__breaker_change(breaker, &view, next, now));
    retry__breaker_empty(breaker, next); /* reports on earlier permits may have come */
}

RETRY_API void retry_breaker_reset(retry_breaker *breaker, retry_time now)
{
    retry_breaker_set(breaker, RETRY_BREAKER_CLOSED, now);
}

RETRY_API uint8_t retry_breaker_state(const retry_breaker *breaker, retry_time now)
{
    retry__breaker_view view;
    uint32_t low;
    if (!breaker)
        return RETRY_BREAKER_CLOSED;
    view = retry__breaker_read(breaker);
    low = view.word & RETRY__BREAKER_LOW;
    if ((low & RETRY__BREAKER_NEEDED) != 0 ||
        (low == RETRY_BREAKER_OPEN &&
         retry__breaker_left(view.since, retry__breaker_open(breaker), now) == 0))
        return RETRY_BREAKER_HALF_OPEN;
    return (uint8_t)low;
}

RETRY_API retry_breaker_counts retry_breaker_get(retry_breaker *breaker, retry_time now)
{
    retry_breaker_counts counts = {0, 0, 0, 0};
    retry__sums reports;
    uint32_t row;
    if (!breaker)
        return counts;
    retry__window_at(&breaker->retry__reports, breaker->window, 8000, now);
    reports = retry__window_sum(&breaker->retry__reports);
    row = retry__load(&breaker->retry__in_a_row);
    counts.reports = reports.all;
    counts.sick = reports.marked;
    counts.in_a_row = row & RETRY__BREAKER_IN_A_ROW;
    counts.sick_probes = (uint8_t)((row & RETRY__BREAKER_ROUNDS) >> 16);
    return counts;
}

RETRY_API retry_failure retry_classify_permit(retry_permit permit)
{
    retry_failure failure = retry__failure(RETRY_REASON_NONE, 0);
    if (!permit.granted) {
        failure.reason = RETRY_REASON_CIRCUIT_BREAKER_OPEN;
        failure.retry_after = retry__add(permit.wait, permit.wait >> 3);
    }
    return failure;
}

/* ---- Client-side throttling ---------------------------------------------------------------- */

/* It refuses exactly when random / 2^32 is below the probability, in 16.16 and multiplied out. The
   excess has no fraction below 2^-16, so what the last shift cuts off makes no difference. */
static bool retry__throttle_ask(retry_throttle *throttle, uint32_t random, retry_time now)
{
    uint32_t k = throttle->k ? retry__max(throttle->k, RETRY_RATIO(1)) : RETRY_RATIO(2);
    uint32_t most = retry__or(throttle->max_rejection, RETRY_RATIO(0.9));
    retry__sums requests;
    uint64_t sent, accepted;
    retry__window_at(&throttle->retry__requests, throttle->window, 4000, now);
    requests = retry__window_sum(&throttle->retry__requests);
    sent = (uint64_t)requests.all << 16;
    accepted = retry__product(requests.marked, k);
    return random >> 16 >= retry__min(most, RETRY_RATIO(0.999)) || accepted >= sent ||
           sent - accepted <= retry__product(random, requests.all + 1) >> 16;
}

static void retry__throttle_report(void *gate, const struct retry__attempt *attempt)
{
    retry_throttle *throttle = (retry_throttle *)gate;
    uint32_t *half;
    if (attempt->outcome < RETRY__UNHEALTHY)
        return;
    half = retry__window_at(&throttle->retry__requests, throttle->window, 4000, attempt->now);
    retry__fetch_add(&half[0], 1);
    if (retry__is_good(attempt))
        retry__fetch_add(&half[1], 1);
}

/* ---- How many at once ---------------------------------------------------------------------- */

/* A limit within max and min as they are now. One that has not changed yet is 0. */
static uint32_t retry__aimd_within(const retry_aimd *aimd, uint32_t limit)
{
    limit = retry__or(limit, retry__or(retry__load(&aimd->initial), 20));
    limit = retry__max(limit, retry__load(&aimd->min));
    return retry__min(limit, retry__or(retry__load(&aimd->max), 1000));
}

RETRY_API uint32_t retry_aimd_limit(const retry_aimd *aimd)
{
    return aimd ? retry__aimd_within(aimd, retry__load(&aimd->retry__limit)) : UINT32_MAX;
}

/* If an instant is more than `age` ms past, or 0, it is now, by this call alone. */
static bool retry__aimd_claim(uint32_t *instant, retry_ms age, uint32_t now)
{
    uint32_t seen = retry__load(instant);
    return (seen == 0 || retry__passed(seen, now) > age) && retry__swap(instant, seen, now);
}

/* What a fall leaves: before * ratio, rounded down. RETRY_RATIO(0.9) is a little less than 0.9, and
   10 would fall to 8. So half of a ratio's unit is added first, 2^-17, but a quarter of one attempt
   at most: 1,000,000 halved is 500,000, and not 500,007. */
RETRY__ONCE uint32_t retry__aimd_less(const retry_aimd *aimd, uint32_t limit)
{
    uint32_t ratio = retry__min(retry__or(aimd->decrease, RETRY_RATIO(0.5)), RETRY_RATIO(0.999));
    uint32_t before = retry__aimd_within(aimd, limit), less;
    less = (uint32_t)((retry__product(before, ratio * 2) + retry__min(before, 0x7fff)) >> 17);
    return retry__aimd_within(aimd, retry__max(less, 1));
}

/* Of retry__known: the server was slow, perhaps not full. It doubles without end until it falls. */
#define RETRY__AIMD_SLOW UINT32_MAX

/* The first fall after a rise tells where trouble began: three quarters of that are known to be
   well. Those that follow it tell no more. */
RETRY__COLD void retry__aimd_fall(retry_aimd *aimd, retry_ms age, uint32_t now)
{
    uint32_t limit = retry__load(&aimd->retry__limit), before;
    uint32_t change = retry__load(&aimd->retry__change);
    uint32_t fell = retry__load(&aimd->retry__fell);
    if (!retry__aimd_claim(&aimd->retry__fell, age, now))
        return;
    retry__swap(&aimd->retry__change, change, now); /* unless it is later already */
    while (!retry__swap(&aimd->retry__limit, limit, retry__aimd_less(aimd, limit)))
        limit = retry__load(&aimd->retry__limit);
    before = retry__aimd_within(aimd, limit);
    if (fell == 0 || change != fell || retry__load(&aimd->retry__known) == RETRY__AIMD_SLOW)
        retry__store(&aimd->retry__known, retry__max(before - (before >> 2), 1));
}

/* Whether what is sent is worked on, and does not wait for its turn: answers take less than half of
   cut_after, which is ten times an answer, as it is advised. Or the server is slow for all. */
static bool retry__aimd_roomy(const retry_aimd *aimd, const struct retry__attempt *attempt)
{
    retry_ms cut = attempt->op->client->cut_after;
    return cut == 0 || retry__slow(attempt->gates) < cut >> 1 ||
           retry__load(&aimd->retry__known) == RETRY__AIMD_SLOW;
}

/* Below `initial` the limit was higher before: it comes back by a quarter of itself. From there on
   it needs three quarters in use, or it would be twice of what is needed when the server goes dark.
   While all of it is in use, and answers are quick, or slow for all, it doubles up to what is known
   to be well, and without end until it falls for the first time. A fall that comes between wins. At
   `min` it leaves the limit as it was, but not its instant. */
static void retry__aimd_rise(retry_aimd *aimd, const struct retry__attempt *attempt, retry_ms age,
                             uint32_t now)
{
    uint32_t limit = retry__load(&aimd->retry__limit), before = retry__aimd_within(aimd, limit);
    uint32_t in_use = retry__load(&attempt->gates->in_flight), fell, more, initial, known, after;
    if (in_use < before - (before >> 1))
        return;
    fell = retry__load(&aimd->retry__fell);
    more = retry__or(aimd->increase, 1);
    initial = retry__aimd_within(aimd, 0);
    known = retry__or(retry__load(&aimd->retry__known), UINT32_MAX);
    if (before < initial)
        more = retry__max(more, retry__min(before >> 2, initial - before));
    else if (in_use < before - (before >> 2))
        return;
    else if (in_use >= before && before < known && retry__aimd_roomy(aimd, attempt))
        more = retry__max(more, retry__min(before, known - before));
    after = retry__aimd_within(aimd, retry__add(before, more));
    if (after > before && retry__aimd_claim(&aimd->retry__change, age, now) &&
        retry__swap(&aimd->retry__limit, limit, after) && retry__load(&aimd->retry__fell) != fell)
        retry__swap(&aimd->retry__limit, after, before);
}

/* Of retry__pause: the server asked for it. It is odd then, and else even. */
#define RETRY__AIMD_HOLD UINT32_C(1)

/* ms that are left of a pause; none if it was never set, or is over. */
static retry_ms retry__aimd_pause(const retry_aimd *aimd, uint32_t since, uint32_t now)
{
    return since != 0 ? retry__left(since, retry__load(&aimd->retry__length), now) : 0;
}

static bool retry__aimd_at_min(const retry_aimd *aimd)
{
    return retry__aimd_within(aimd, retry__load(&aimd->retry__limit)) ==
           retry__aimd_within(aimd, 1);
}

/* ms that all have to wait, while a server that answers nothing is tried once in a while. */
static retry_ms retry__aimd_paused(const retry_aimd *aimd, uint32_t now)
{
    if (retry__load(&aimd->retry__in_a_row) < 3 || !retry__aimd_at_min(aimd))
        return 0;
    return retry__aimd_pause(aimd, retry__load(&aimd->retry__pause), now);
}

/* At the lowest limit all wait, for a time drawn from low to high, unless they do already. What the
   server asks for comes before a shorter pause of the limit's own. */
RETRY__COLD void retry__aimd_begin_pause(retry_aimd *aimd, uint32_t hold, retry_ms low,
                                         retry_ms high, const retry_operation *op, uint32_t now)
{
    uint32_t seen = retry__load(&aimd->retry__pause), since;
    retry_ms left, length;
    if (!retry__aimd_at_min(aimd))
        return;
    left = retry__aimd_pause(aimd, seen, now);
    length = retry__pick(low, high, retry__draw(op->client));
    if (left != 0 && ((seen & RETRY__AIMD_HOLD) >= hold || left >= length))
        return;
    since = retry__max(now & ~RETRY__AIMD_HOLD, 2) | hold; /* a hold begins 1 ms late, or not */
    if (retry__swap(&aimd->retry__pause, seen, since))
        retry__store(&aimd->retry__length, length);
}

/* A server that refuses one after the other and says until when: all wait, and an eighth more at
   random spreads a fleet's return. Then one tries. 1 ms is a header's 0, or a hold_max of none. A
   hold of more than half of the timeout would end most operations, and five refusals in a row may
   be chance: without a hold_max more than half of the last attempts must have failed. */
static void retry__aimd_hold(retry_aimd *aimd, retry_ms after, uint32_t failed,
                             const retry_operation *op, uint32_t now)
{
    retry_ms hold = retry__min(after, retry__span(aimd->hold_max, 2000));
    if (hold <= 1 || after == UINT32_MAX)
        return;
    if (aimd->hold_max == 0 && hold > op->timeout >> 1 && failed <= RETRY_RATIO(0.5))
        return;
    retry__store(&aimd->retry__limit, retry__aimd_within(aimd, 1));
    retry__aimd_begin_pause(aimd, RETRY__AIMD_HOLD, hold, hold + (hold >> 3), op, now);
}

/* Whether a failure lowers the limit by itself: the server said that it has too much to do, or ran
   out of time. A time-out of this client's own does not, unless more than half of the last failed:
   what was slow was cut too soon, perhaps. */
static bool retry__aimd_of_load(const retry_failure *failure, uint32_t failed)
{
    if (failure->throttle)
        return true;
    if (failure->reason == RETRY_REASON_ATTEMPT_TIMED_OUT)
        return failure->timeout && failed > RETRY_RATIO(0.5);
    return failure->timeout;
}

/* All others lower the limit from the third in a row on: one dark node of four is no overload. */
RETRY__COLD void retry__aimd_failed(retry_aimd *aimd, const struct retry__attempt *attempt,
                                    retry_ms age, uint32_t now)
{
    const retry_failure *failure = attempt->failure;
    uint32_t row = retry__load(&aimd->retry__in_a_row);
    uint32_t failed = retry__load(&aimd->retry__failed);
    if (!failure->throttle && !failure->timeout && failure->code != 503 &&
        (retry__traits(failure->reason) & RETRY__TRAIT_BLAMELESS) != 0)
        return;
    while (row < UINT8_MAX && !retry__swap(&aimd->retry__in_a_row, row, row + 1))
        row = retry__load(&aimd->retry__in_a_row);
    failed += (RETRY_RATIO(1) - failed) >> 4;
    retry__store(&aimd->retry__failed, failed);
    if (row >= 2 || retry__aimd_of_load(failure, failed))
        retry__aimd_fall(aimd, age, now);
    if (failure->throttle && row >= 4) /* the fifth */
        retry__aimd_hold(aimd, failure->retry_after, failed, attempt->op, now);
    if (attempt->outcome == RETRY__UNHEALTHY) { /* 100 ms doubling to a second, the upper half */
        retry_ms most = retry__max(attempt->op->timeout >> 1, 100); /* or it outlasts operations */
        retry_ms pause = retry__min(UINT32_C(100) << retry__min(row, 4), retry__min(most, 1000));
        retry__aimd_begin_pause(aimd, 0, pause >> 1, pause, attempt->op, now);
    }
}

/* Whether an answer took twice cut_after or longer: what was cut before would have been answered,
   too. So the server is slow, and time-outs may tell nothing of how much it can do. */
static bool retry__aimd_was_slow(const struct retry__attempt *attempt)
{
    retry_ms cut = attempt->op->client->cut_after;
    return cut != 0 && attempt->age >> 1 >= cut;
}

/* Learns from the end of a copy: only one that was sent after the last change, and after the
   cooldown that followed it, may change the limit. */
static void retry__aimd_report(void *gate, const struct retry__attempt *attempt)
{
    retry_aimd *aimd = (retry_aimd *)gate;
    retry_ms age = retry__max(attempt->age, retry__span(aimd->cooldown, 0));
    uint32_t now = retry__max(attempt->now, 1), known, failed; /* 0 is "never" */
    if (attempt->outcome < RETRY__UNHEALTHY)
        return;
    if (!retry__is_good(attempt)) {
        retry__aimd_failed(aimd, attempt, age, now);
        return;
    }
    known = retry__load(&aimd->retry__known);
    if (known != 0 && retry__aimd_was_slow(attempt))
        retry__swap(&aimd->retry__known, known, RETRY__AIMD_SLOW); /* unless it falls meanwhile */
    failed = retry__load(&aimd->retry__failed);
    if (failed != 0)
        retry__store(&aimd->retry__failed, failed - ((failed + 15) >> 4));
    if (retry__load(&aimd->retry__in_a_row) != 0) {
        retry__store(&aimd->retry__in_a_row, 0);
        if (retry__load(&aimd->retry__pause) & RETRY__AIMD_HOLD)
            retry__store(&aimd->retry__pause, 0);
    }
    retry__aimd_rise(aimd, attempt, age, now);
}

/* ---- Rate ---------------------------------------------------------------------------------- */

#define RETRY__RATE_MS UINT32_C(4096) /* a ms, in the units of the bucket */

/* `max` wins over `min`. */
RETRY__ONCE uint32_t retry__rate_bound(const retry_rate *rate, uint32_t limit)
{
    limit = retry__max(limit, retry__or(rate->min, 500));
    return rate->max ? retry__min(limit, rate->max) : limit;
}

/* Changes the limit after so many half seconds, the first of which holds all that was counted. */
static void retry__rate_update(retry_rate *rate, uint32_t halves)
{
    uint32_t throttled = retry__store(&rate->retry__throttled, 0);
    uint32_t accepted = retry__store(&rate->retry__accepted, 0);
    uint32_t quiet = retry__load(&rate->retry__quiet), edge = retry__load(&rate->retry__edge);
    uint32_t limit = retry__load(&rate->retry__limit), next = limit;
    static const uint32_t rises[] = {RETRY_RATIO(0.125), RETRY_RATIO(0.15), RETRY_RATIO(0.2),
                                     RETRY_RATIO(0.4),   RETRY_RATIO(0.8),  RETRY_RATIO(1)};
    if (throttled != 0) {
        if (limit == 0)
            next = rate->max ? rate->max : retry__multiply(retry__add(accepted, throttled), 2000);
        next = retry__rate_bound(rate, retry__max(next >> 1, retry__multiply(accepted, 2000)));
        if (accepted != 0 || limit == 0)
            edge = next;
        quiet = 0;
        halves--;
    } else if (accepted != 0 && next != 0) { /* at once back to where some were accepted */
        next = retry__max(next, edge);
    }
    for (; halves != 0 && next != 0; halves--) { /* gently at first, then fast */
        next = retry__add(next, retry__scale(next, rises[retry__min(quiet, 5)]));
        quiet++;
        next = quiet < 23 ? retry__rate_bound(rate, next) : 0; /* over 11.5 s after `throttled` */
    }
    retry__store(&rate->retry__quiet, quiet);
    retry__store(&rate->retry__edge, edge);
    retry__store(&rate->retry__held, limit ? retry__min(limit, next) : next);
    retry__swap(&rate->retry__limit, limit, next); /* no other thread changes it */
}

/* Whether a half second is under way: without a limit the first answer begins one. */
static bool retry__rate_counts(const retry_rate *rate)
{
    return (retry__load(&rate->retry__limit) | retry__load(&rate->retry__accepted) |
            retry__load(&rate->retry__throttled)) != 0;
}

/* The limit (0: none but `max`). One thread learns from half seconds that are over, 24 at most. */
RETRY__WRAPS static uint32_t retry__rate_limit(retry_rate *rate, uint32_t now)
{
    uint32_t half = retry__load(&rate->retry__half), halves = 0;
    retry_ms passed = retry__passed(half, now);
    for (; passed >= 500 && halves < 24; passed -= 500)
        halves++;
    if (halves != 0 && retry__rate_counts(rate) &&
        retry__swap(&rate->retry__half, half, half + halves * 500))
        retry__rate_update(rate, halves);
    return retry__load(&rate->retry__limit);
}

/* ms by which this call moves the bucket's clock. A new bucket (full, at 0) has no clock yet. */
RETRY__WRAPS static retry_ms retry__rate_passed(retry_rate *rate, uint32_t now)
{
    uint32_t seen = retry__load(&rate->retry__clock);
    retry_ms passed = retry__passed(seen, now);
    if ((seen | retry__load(&rate->retry__owed)) == 0)
        passed = now;
    return passed != 0 && retry__swap(&rate->retry__clock, seen, now) ? passed : 0;
}

/* What a full bucket holds, as time. */
static uint32_t retry__rate_depth(const retry_rate *rate, uint32_t spacing)
{
    uint32_t depth = 125 * RETRY__RATE_MS;
    if (rate->burst != 0)
        depth = retry__quotient(retry__product(rate->burst, spacing), 1000);
    return retry__max(depth, spacing);
}

/* ms from one instant to a later one; 0 if it is not later. */
RETRY__WRAPS static retry_ms retry__rate_until(retry_time from, retry_time to)
{
    retry_ms ms = to - from;
    return ms >> 31 == 0 ? ms : 0;
}

/* The time between two sends; 0: there is no limit. Once an answer was throttled, the limit does
   not rise until the half second is over. */
static uint32_t retry__rate_spacing(retry_rate *rate, uint32_t now)
{
    uint32_t limit = retry__rate_limit(rate, now), spacing = 0;
    if (retry__load(&rate->retry__throttled) != 0)
        limit = retry__load(&rate->retry__held);
    limit = retry__or(limit, rate->max);
    if (limit != 0)
        spacing = retry__quotient(retry__add(1000000 * RETRY__RATE_MS, limit >> 1), limit);
    return retry__max(spacing, retry__multiply(rate->every, RETRY__RATE_MS));
}

/* Takes a token that is there in less than `wait` ms, which is not 0. Returns the ms until it is;
   `wait` or more: none was taken. The bucket keeps what it lacks (zeroed, it is full), as time: so
   tokens that were taken in advance keep their instants when the limit changes. */
static retry_ms retry__rate_take(retry_rate *rate, uint32_t spacing, uint32_t now, retry_ms wait)
{
    uint32_t full = retry__rate_depth(rate, spacing), owed, rest;
    uint32_t most = retry__add(full, retry__multiply(wait - 1, RETRY__RATE_MS));
    uint32_t earned = retry__multiply(retry__rate_passed(rate, now), RETRY__RATE_MS);
    uint64_t after;
    do {
        owed = retry__load(&rate->retry__owed);
        rest = retry__subtract(owed, earned);
        after = (uint64_t)rest + spacing;
    } while (!retry__swap(&rate->retry__owed, owed, after <= most ? (uint32_t)after : rest));
    if (after <= full)
        return 0;
    full = (uint32_t)((after - full - 1) >> 12) + 1;
    return after <= most ? full : retry__max(full, wait);
}

/* Gives back a token that was taken for the instant `due`, and not used. That frees its own
   instant, and only if the instant is still to come, and is the last that was taken. */
RETRY__WRAPS static void retry__rate_return(retry_rate *rate, uint32_t taken, retry_time due,
                                            retry_time now)
{
    uint32_t full = retry__rate_depth(rate, taken), owed, earned, rest;
    uint32_t room = retry__multiply(retry__rate_until(now, due), RETRY__RATE_MS);
    if (room == 0)
        return;
    earned = retry__multiply(retry__rate_passed(rate, now), RETRY__RATE_MS);
    do {
        owed = retry__load(&rate->retry__owed);
        rest = retry__subtract(owed, earned);
        if (retry__subtract(rest, full) <= room)
            rest = retry__subtract(rest, taken);
    } while (!retry__swap(&rate->retry__owed, owed, rest));
}

static void retry__rate_report(void *gate, const struct retry__attempt *attempt)
{
    retry_rate *rate = (retry_rate *)gate;
    const retry_failure *failure = attempt->failure;
    const retry_copy *copy = attempt->copy;
    if ((copy->retry__state & RETRY__COPY_KEPT) != 0) /* it waits, and is not sent */
        retry__rate_return(rate, copy->retry__taken, copy->retry__sent, attempt->now);
    if (attempt->outcome < RETRY__UNHEALTHY || (failure && retry__is_unsent(failure)))
        return; /* nobody accepted it, or refused it */
    retry__rate_limit(rate, attempt->now);
    if (!retry__rate_counts(rate))
        retry__store(&rate->retry__half, attempt->now);
    retry__fetch_add(
        failure && failure->throttle ? &rate->retry__throttled : &rate->retry__accepted, 1);
}

RETRY_API uint32_t retry_rate_get(const retry_rate *rate)
{
    return rate ? retry__or(retry__or(retry__load(&rate->retry__limit), rate->max), UINT32_MAX)
                : UINT32_MAX;
}

/* ---- Latency ------------------------------------------------------------------------------- */

/* Progress counts samples until LEARNT; then, above AT_REST too many were late, below too few. */
#define RETRY__LATENCY_LEARNT (UINT32_C(1) << 30)
#define RETRY__LATENCY_AT_REST (UINT32_C(1) << 31)
#define RETRY__LATENCY_LATE (UINT32_C(1) << 16)

/* A latency's settings, with their defaults in place of zero, and when it has learnt. */
typedef struct retry__percentile {
    uint32_t quantile, above; /* RETRY_RATIO, and what is left to 1 */
    uint32_t min_samples, enough;
} retry__percentile;

static retry__percentile retry__percentile_of(const retry_latency *latency)
{
    retry__percentile percentile;
    percentile.quantile = retry__or(latency->quantile, RETRY_RATIO(0.95));
    if (percentile.quantile >= RETRY_RATIO(1))
        percentile.quantile = RETRY_RATIO(0.999);
    percentile.above = RETRY_RATIO(1) - percentile.quantile;
    percentile.enough = 768;
    while (percentile.enough * percentile.above < RETRY_RATIO(30)) /* samples that are late */
        percentile.enough <<= 1;
    percentile.min_samples =
        retry__min(retry__or(latency->min_samples, percentile.enough), RETRY__LATENCY_LEARNT);
    percentile.enough = retry__max(percentile.enough, percentile.min_samples);
    return percentile;
}

RETRY__ONCE retry_ms retry__latency_bound(const retry_latency *latency, retry_ms ms)
{
    return retry__max(retry__min(ms, retry__or(latency->max, UINT32_MAX)),
                      retry__or(latency->min, 1));
}

/* An estimate is kept as a level, its logarithm to base 2, so that a step is a share of it. Between
   powers of 2 it is a straight line. 1 ms is one octave, 2 ms are two, 3 ms two and a half. */
#define RETRY__OCTAVE (UINT32_C(1) << 27)

/* The level of 1 to 2^24 ms. */
static uint32_t retry__latency_level(retry_ms ms)
{
    uint32_t octaves = 27;
    for (; ms < RETRY__OCTAVE; ms <<= 1)
        octaves--;
    return octaves * RETRY__OCTAVE + ms; /* whose highest bit is one octave more */
}

/* The ms of a level, rounded down. */
static retry_ms retry__latency_ms(uint32_t level)
{
    return (level % RETRY__OCTAVE + RETRY__OCTAVE) >> (28 - level / RETRY__OCTAVE);
}

/* How often a step is doubled. While it learns: up to 4 times, less and less. Then only when the
   service has changed: soon, 2 times up, and 6 times down, where seldom anything is learnt. */
static uint32_t retry__latency_doublings(const retry__percentile *percentile, uint32_t progress,
                                         bool late)
{
    uint32_t doublings = 0;
    if (progress >= RETRY__LATENCY_LEARNT) {
        if (late)
            return retry__subtract(progress, RETRY__LATENCY_AT_REST) / (4 * RETRY__LATENCY_LATE);
        return retry__subtract(RETRY__LATENCY_AT_REST - 3 * RETRY__LATENCY_LATE, progress) /
               (2 * RETRY__LATENCY_LATE);
    }
    while (doublings < 4 && progress < percentile->enough >> (doublings + 1))
        doublings++;
    return doublings;
}

/* The estimate after a sample. It is the fastest of the first 12, so that a slow one leads nowhere.
   Then it goes up by quantile / 32 of an octave, and down by (1 - quantile) / 32: it rests where a
   share of `quantile` of the samples is not above it. */
static uint32_t retry__latency_move(const retry__percentile *percentile, uint32_t estimate,
                                    retry_ms sample, bool late, uint32_t progress)
{
    uint32_t step = late ? percentile->quantile : percentile->above;
    if (progress < 12)
        return late && estimate != 0 ? estimate : retry__latency_level(sample);
    step <<= 6 + retry__latency_doublings(percentile, progress, late);
    step = retry__min(step, RETRY__OCTAVE / 2); /* no sample is below one octave */
    return late ? estimate + step : estimate - step;
}

static uint32_t retry__latency_advance(const retry__percentile *percentile, uint32_t progress,
                                       bool late)
{
    if (progress < RETRY__LATENCY_LEARNT)
        return progress + 1 < percentile->enough ? progress + 1 : RETRY__LATENCY_AT_REST;
    if (late)
        return retry__min(retry__max(progress, RETRY__LATENCY_AT_REST) + percentile->quantile,
                          RETRY__LATENCY_AT_REST + 11 * RETRY__LATENCY_LATE);
    return retry__max(progress - 2 * percentile->above,
                      RETRY__LATENCY_AT_REST - 15 * RETRY__LATENCY_LATE);
}

/* Learns from an attempt that was sent, 2^24 ms (4.6 hours) at most. One without an answer was
   given up at its age: it counts as longer if it had reached the estimate; else, and before the
   first answer, nothing is learnt from it. */
static void retry__latency_report(void *gate, const struct retry__attempt *attempt)
{
    retry_latency *latency = (retry_latency *)gate;
    retry__percentile percentile = retry__percentile_of(latency);
    bool late, answered = attempt->outcome == RETRY__ANSWERED;
    retry_ms sample =
        answered ? attempt->age : retry__add(attempt->age, 1); /* it would take longer */
    uint32_t estimate, progress;
    if (attempt->outcome == RETRY__UNSENT)
        return;
    sample = retry__min(retry__latency_bound(latency, sample), UINT32_C(1) << 24);
    do {
        estimate = retry__load(&latency->retry__estimate);
        late = sample > retry__latency_ms(estimate);
        if (!answered && (estimate == 0 || !late))
            return;
        progress = retry__load(&latency->retry__progress);
    } while (!retry__swap(&latency->retry__estimate, estimate,
                          retry__latency_move(&percentile, estimate, sample, late, progress)));
    while (!retry__swap(&latency->retry__progress, progress,
                        retry__latency_advance(&percentile, progress, late)))
        progress = retry__load(&latency->retry__progress);
}

RETRY_API retry_ms retry_latency_get(const retry_latency *latency)
{
    retry__percentile percentile;
    uint32_t level;
    if (!latency)
        return UINT32_MAX;
    percentile = retry__percentile_of(latency);
    if (retry__load(&latency->retry__progress) < percentile.min_samples)
        return UINT32_MAX;
    /* a little more than is kept: where all take about as long, the estimate moves among them */
    level = retry__load(&latency->retry__estimate) + RETRY__OCTAVE / 64;
    return retry__latency_bound(latency, retry__latency_ms(level));
}

/* ---- How long answers take ----------------------------------------------------------------- */

/* What a server's gates know of it. retry__pace holds 16 times the ms that answers take now, and
   the rounds of attempts that have timed out since the last. */
#define RETRY__PACE_ROUNDS UINT32_C(15) /* of retry__pace */
#define RETRY__PACE_SLOWEST (UINT32_MAX >> 4)

/* Whether an answer ends the rounds: it came within cut_after to what was sent again after a
   time-out, so the cut has paid; or the last round was 30 s ago. Other answers prove nothing: quick
   ones come while slow ones are cut. */
RETRY__COLD bool retry__cut_paid(const struct retry__attempt *attempt)
{
    const retry_operation *op = attempt->op;
    if (!retry__is_good(attempt))
        return false;
    if (op->failure.timeout && attempt->age <= op->client->cut_after)
        return true;
    return retry__passed(retry__load(&attempt->gates->retry__round), attempt->now) > 30000;
}

/* How long answers take: up at once, down by a quarter of the difference. `age`: what an answer
   took, or how long a caller waited who gave up too soon. */
static void retry__pace_learn(const struct retry__attempt *attempt, retry_ms age)
{
    uint32_t *pace = &attempt->gates->retry__pace, seen, next;
    age = retry__max(retry__min(age, RETRY__PACE_SLOWEST), 1); /* 0: none is known */
    do {
        retry_ms slow;
        seen = retry__load(pace);
        slow = seen >> 4;
        next = (age >= slow ? age : slow - ((slow - age + 3) >> 2)) << 4;
        if ((seen & RETRY__PACE_ROUNDS) != 0 && !retry__cut_paid(attempt))
            next |= seen & RETRY__PACE_ROUNDS;
    } while (seen != next && !retry__swap(pace, seen, next));
}

/* An attempt has timed out: the next ones get twice the time. A round is counted once: a copy that
   was sent before it did not have its time. */
static RETRY__WRAPS void retry__pace_round(retry_gates *gates, retry_time sent, retry_time now)
{
    uint32_t round = retry__load(&gates->retry__round); /* first: it is swapped first */
    uint32_t rounds = retry__load(&gates->retry__pace) & RETRY__PACE_ROUNDS;
    if (rounds < 10 && (rounds == 0 || retry__passed(round, now) > retry__passed(sent, now)) &&
        retry__swap(&gates->retry__round, round, now))
        retry__fetch_add(&gates->retry__pace, 1);
}

/* ms that a copy may take with cut_after. To cut attempts while the server is slow is work in vain,
   sent again: so the time follows the answers, and doubles with each round of time-outs. */
RETRY__QUICK retry_ms retry__attempt_follows(const retry_operation *op, const retry_gates *gates)
{
    retry_ms timeout = retry__min(op->client->cut_after, op->timeout);
    uint32_t pace = gates ? retry__load(&gates->retry__pace) : 0;
    timeout = retry__max(timeout, pace >> 4 << 1);
    if ((pace & RETRY__PACE_ROUNDS) != 0)
        timeout = retry__doubled(timeout, UINT32_MAX, pace & RETRY__PACE_ROUNDS);
    return timeout;
}

/* Whether a copy had too little time to prove anything: its caller was impatient. */
static bool retry__impatient(const struct retry__attempt *attempt)
{
    const retry_client *client = attempt->op->client;
    retry_ms most = retry__or(client->cut_after, client->attempt_timeout);
    retry_ms had = attempt->copy->retry__timeout, slow = retry__slow(attempt->gates);
    if (attempt->failure->reason != RETRY_REASON_ATTEMPT_TIMED_OUT && attempt->age < had)
        return false; /* 504: somebody else's time */
    if (client->attempt_timeout != 0)
        most = retry__min(most, client->attempt_timeout);
    if (slow == 0)
        return had < most >> 3; /* cut_after is ten times an answer, as it is advised */
    return had < slow && (most == 0 || had < most - (most >> 1));
}

/* Whether a copy lost to another after a long time, with no answer of its node meanwhile. */
RETRY__QUICK bool retry__silent(const struct retry__attempt *attempt)
{
    const retry_gates *gates = attempt->gates;
    retry_ms slow = retry__slow(gates);
    retry_time answered = retry__load(&gates->retry__answered);
    return attempt->outcome == RETRY__LOST && attempt->age >= slow << 1 &&
           (answered == 0 || retry__passed(answered, attempt->now) > attempt->age);
}

/* ---- Operations ---------------------------------------------------------------------------- */

/* What a hedge is told. */
enum {
    RETRY__HEDGE_BEGIN,  /* the first copy was sent */
    RETRY__HEDGE_FAILED, /* a copy failed */
    RETRY__HEDGE_NEXT    /* true: one was due; *step: SEND, or what is left of the timer */
};

/* The copy with this number; NULL: there is none. */
static retry_copy *retry__copy_at(retry_operation *op, uint32_t number)
{
    if (number == 0)
        return &op->retry__copy;
    if (!op->retry__hedge || number > retry__min(op->retry__hedge->count, UINT8_MAX - 1))
        return NULL;
    return &op->retry__hedge->copies[number - 1];
}

/* The first copy in this state whose number is *number or more; NULL: there is none. */
RETRY__INLINE retry_copy *retry__copy_in(retry_operation *op, uint8_t state, uint32_t *number)
{
    retry_copy *copy;
    while ((copy = retry__copy_at(op, *number)) != NULL && (copy->retry__state & state) == 0)
        ++*number;
    return copy;
}

static void retry__attempt_of(struct retry__attempt *attempt, retry_operation *op, retry_copy *copy,
                              retry_gates *gates)
{
    attempt->outcome = RETRY__UNSENT;
    attempt->op = op;
    attempt->copy = copy;
    attempt->gates = gates;
    attempt->failure = NULL;
    attempt->now = op->retry__now;
    attempt->age = 0;
}

/* A copy is not sent: the instant that a rate keeps for it goes back. */
static void retry__forget(retry_operation *op, retry_copy *copy)
{
    if ((copy->retry__state & RETRY__COPY_KEPT) != 0 &&
        op->client->gates) { /* which may have been taken away */
        struct retry__attempt attempt;
        retry__attempt_of(&attempt, op, copy, op->client->gates);
        op->client->gates->retry__on_event(&attempt, RETRY__FORGET);
    }
    copy->retry__state &= (uint8_t) ~(RETRY__COPY_DRAWN | RETRY__COPY_KEPT);
}

/* Takes a copy off the wire. ANSWERED: by its failure, if it has one. */
RETRY__QUICK void retry__copy_off(retry_operation *op, retry_copy *copy, uint8_t outcome,
                                  const retry_failure *failure)
{
    if (copy->retry__gates) {
        struct retry__attempt attempt;
        retry__attempt_of(&attempt, op, copy, copy->retry__gates);
        attempt.outcome = outcome;
        attempt.failure = failure;
        attempt.age = retry__passed(copy->retry__sent, op->retry__now);
        copy->retry__gates->retry__on_event(&attempt, RETRY__END);
    }
    copy->retry__state = 0;
}

/* The same, and its CANCEL is due. */
RETRY__ONCE void retry__copy_cancel(retry_operation *op, retry_copy *copy, uint8_t outcome,
                                    const retry_failure *failure)
{
    retry__copy_off(op, copy, outcome, failure);
    copy->retry__state = RETRY__COPY_CANCEL;
    op->retry__phase |= RETRY__CANCELS;
}

/* The copies on the wire are to be cancelled. */
static void retry__cancel_copies(retry_operation *op, uint8_t outcome)
{
    retry_copy *copy;
    uint32_t n = 0;
    while ((copy = retry__copy_in(op, RETRY__COPY_WIRE, &n)) != NULL) {
        retry__copy_cancel(op, copy, outcome, NULL);
        op->ambiguous = true; /* who knows what it has done */
    }
}

/* Whether the budget holds less than two retries after timeouts, or what has expired meanwhile: not
   earned of late. A thousand such processes would send again what waits in the server's queue. */
RETRY__QUICK bool retry__below_two_timeouts(const retry_operation *op)
{
    const retry_budget *budget = op->client->budget;
    const retry_budget_options *options = &budget->options;
    uint32_t twice;
    if (options->refill_per_second != 0)
        retry__budget_move(op, RETRY__BUDGET_GIVE, 0); /* what time has brought in counts */
    twice = retry__subtract(retry__load(&budget->retry__balance), options->floor);
    if (twice >> 1 < retry__timeout_cost(options))
        return true;
    if (options->expire == 0)
        return options->capacity == 0;
    return retry__passed(retry__load(&budget->retry__refilled), op->retry__now) >= options->expire;
}

/* Gives a copy its time; `left`: what is left of the operation's. */
static retry_ms retry__copy_timeout(const retry_operation *op, retry_copy *copy, retry_ms left)
{
    const retry_client *client = op->client;
    if (client->attempt_timeout != 0)
        left = retry__min(left, client->attempt_timeout);
    if (client->cut_after == 0)
        return left;
    if (client->budget && retry__below_two_timeouts(op)) {
        copy->retry__state |= RETRY__COPY_UNCUT;
        return left;
    }
    return retry__min(left, retry__attempt_follows(op, copy->retry__gates));
}

/* Why the gates hold a copy back that has *delay ms left; *delay is then how long to wait. */
static uint8_t retry__ask_gates(retry_operation *op, retry_copy *copy, retry_gates *gates,
                                retry_ms *delay)
{
    struct retry__attempt attempt;
    uint8_t cause;
    retry__attempt_of(&attempt, op, copy, gates);
    attempt.drawn = (copy->retry__state & RETRY__COPY_DRAWN) != 0;
    attempt.left = *delay;
    attempt.wait = 0;
    cause = gates->retry__on_event(&attempt, RETRY__ASK);
    if (cause == RETRY_CAUSE_PACED &&
        retry__subtract(attempt.left, attempt.wait) < retry__attempt_least(op, attempt.gates)) {
        *delay = retry__max(*delay, attempt.wait);
        return RETRY_CAUSE_DEADLINE;
    }
    *delay = attempt.wait;
    return cause;
}

/* Asks for leave to send a copy. NONE: it is on the wire, and *step says how. Else why not, and
   step->delay how long to wait, or what there is to know. */
static uint8_t retry__ask_copy(retry_operation *op, retry_copy *copy, retry_step *step)
{
    retry_gates *gates = op->client->gates;
    retry_ms left = retry__remaining(op, op->retry__now);
    step->delay = left;
    if (left == 0)
        return RETRY_CAUSE_DEADLINE;
    copy->retry__gates = NULL;
    copy->retry__node = 0;
    if (gates && gates->retry__on_event) {
        uint8_t cause = retry__ask_gates(op, copy, gates, &step->delay);
        if (cause != RETRY_CAUSE_NONE)
            return cause;
    }
    copy->retry__sent = op->retry__now;
    copy->retry__state = RETRY__COPY_WIRE;
    copy->retry__timeout = retry__copy_timeout(op, copy, left);
    step->what = RETRY_DO_SEND;
    step->node = copy->retry__node;
    step->delay = 0;
    step->timeout = copy->retry__timeout;
    return RETRY_CAUSE_NONE;
}

/* The next attempt begins, if it may. False: the operation is over. */
static bool retry__try(retry_operation *op, retry_step *step)
{
    uint8_t cause = retry__ask_copy(op, &op->retry__copy, step);
    step->cause = RETRY_CAUSE_NONE;
    if (cause == RETRY_CAUSE_NONE) {
        op->retry__phase = RETRY__TRYING;
        op->retry__owes = 0;
        if (op->retry__hedge)
            op->retry__hedge->retry__hedging(op, RETRY__HEDGE_BEGIN, NULL, step);
    } else if (cause == RETRY_CAUSE_PACED) {
        op->retry__phase = RETRY__READY; /* a delay is over */
        step->what = RETRY_DO_WAIT;
        step->cause = RETRY_CAUSE_PACED;
    } else {
        uint8_t verdict = cause == RETRY_CAUSE_DEADLINE ? (uint8_t)RETRY_VERDICT_EXPIRE
                                                        : (uint8_t)RETRY_VERDICT_FAIL;
        retry__forget(op, &op->retry__copy);
        retry__end(op, NULL, verdict, cause, step->delay);
        return false;
    }
    return true;
}

/* While a retry waits for tokens it looks each second whether successes have brought its price.
   Then it pays as any other does, and has its own delay left. The base still pays what it owes. */
RETRY__COLD retry_ms retry__wait_for_tokens(retry_operation *op, retry_ms delay)
{
    uint32_t price = retry__retry_cost(&retry__budget(op)->options, &op->failure);
    if (retry__budget_move(op, RETRY__BUDGET_TAKE, price) == 0)
        return retry__min(delay, 1000);
    op->retry__paid = price;
    op->delay -= op->retry__owes;
    op->retry__owes = 0;
    return 1; /* and look again */
}

/* No attempt is under way: what to wait for, or the next attempt. False: the operation is over. */
static bool retry__rest(retry_operation *op, retry_step *step)
{
    if (op->retry__phase == RETRY__DELAYED || op->retry__phase == RETRY__SKIPPED) {
        retry_ms delay = op->delay, own = delay - op->retry__owes;
        if (op->retry__phase == RETRY__SKIPPED)
            delay = retry__min(delay, op->failure.retry_after);
        step->cause = op->cause;
        step->delay = retry__left(op->retry__decided, delay, op->retry__now);
        if (step->delay > own)
            step->delay = retry__wait_for_tokens(op, step->delay);
    } else if (op->retry__phase == RETRY__ASKED) {
        step->delay = retry__remaining(op, op->retry__now);
        step->cause = RETRY_CAUSE_PENDING;
        if (step->delay == 0) {
            retry__end(op, &op->failure, RETRY_VERDICT_EXPIRE, RETRY_CAUSE_DEADLINE, 0);
            return false;
        }
    }
    if (step->delay == 0)
        return retry__try(op, step);
    step->what = RETRY_DO_WAIT;
    return true;
}

/* A copy that is off the wire has failed. */
static void retry__copy_failed(retry_operation *op, const retry_failure *failure)
{
    if (op->retry__hedge) {
        op->retry__hedge->retry__hedging(op, RETRY__HEDGE_FAILED, failure, NULL);
    } else {
        op->failure = *failure;
        retry__decide(op);
    }
}

/* An attempt that was not to be cut has the time of others once the budget pays again. Returns when
   to look. */
static retry_ms retry__cut_again(retry_operation *op, retry_copy *copy)
{
    retry_ms more = retry__attempt_follows(op, copy->retry__gates);
    if (!retry__below_two_timeouts(op)) { /* tokens have come in since */
        copy->retry__state &= (uint8_t)~RETRY__COPY_UNCUT;
        copy->retry__timeout =
            retry__min(copy->retry__timeout,
                       retry__add(retry__passed(copy->retry__sent, op->retry__now), more));
    }
    return more;
}

/* The first copy whose time is over has failed: true. Else *least is what is left of the first. */
static bool retry__timed_out(retry_operation *op, retry_ms *least)
{
    retry_copy *copy;
    uint32_t n;
    for (n = 0; (copy = retry__copy_in(op, RETRY__COPY_WIRE, &n)) != NULL; n++) {
        retry_ms left;
        if ((copy->retry__state & RETRY__COPY_UNCUT) != 0)
            *least = retry__min(*least, retry__cut_again(op, copy));
        if (copy->retry__timeout == UINT32_MAX)
            continue;
        left = retry__left(copy->retry__sent, copy->retry__timeout, op->retry__now);
        if (left == 0) {
            retry_failure failure = retry__failure(RETRY_REASON_ATTEMPT_TIMED_OUT, 0);
            failure.timeout = true;
            retry__copy_cancel(op, copy, RETRY__UNHEALTHY, &failure);
            retry__copy_failed(op, &failure);
            return true;
        }
        *least = retry__min(*least, left);
    }
    return false;
}

/* The first copy that is due to be cancelled; false: there is none. */
static bool retry__cancel_next(retry_operation *op, retry_step *step)
{
    uint32_t n = 0;
    retry_copy *copy = retry__copy_in(op, RETRY__COPY_CANCEL, &n);
    if (!copy) {
        op->retry__phase &= (uint8_t)~RETRY__CANCELS;
        return false;
    }
    copy->retry__state &= (uint8_t)~RETRY__COPY_CANCEL;
    step->what = RETRY_DO_CANCEL;
    step->copy = (uint8_t)n;
    return true;
}

/* An attempt is under way: a copy that is due, or how long to wait; false: look again. */
RETRY__COLD bool retry__watch(retry_operation *op, retry_step *step)
{
    retry_ms least = UINT32_MAX;
    if (retry__timed_out(op, &least))
        return false;
    step->what = RETRY_DO_WAIT;
    step->delay = UINT32_MAX;
    if (op->retry__hedge && op->retry__hedge->retry__hedging(op, RETRY__HEDGE_NEXT, NULL, step))
        return step->what == RETRY_DO_SEND;
    step->delay = retry__min(step->delay, least);
    return true;
}

RETRY__INLINE bool retry__under_way(const retry_operation *op)
{
    return retry__phase_of(op) != RETRY__NEW && retry__phase_of(op) < RETRY__DECIDING;
}

RETRY_API retry_ms retry_left(const retry_operation *op, retry_time now)
{
    uint8_t phase = retry__phase_of(op);
    if (phase == RETRY__NEW || phase == RETRY__ENDED)
        return 0;
    return retry__remaining(op, now);
}

/* Nobody waits for an operation that is under way any more. */
RETRY__COLD void retry__abandon(retry_operation *op)
{
    retry__cancel_copies(op, RETRY__GIVEN_UP);
    retry__forget(op, &op->retry__copy);
    retry__end(op, NULL, RETRY_VERDICT_FAIL, RETRY_CAUSE_CANCELLED, 0);
}

/* One look at an operation that was started; false: look again. */
static bool retry__step_of(retry_operation *op, retry_step *step)
{
    if ((op->retry__phase & RETRY__CANCELS) != 0)
        return retry__cancel_next(op, step);
    if (op->retry__phase == RETRY__TRYING)
        return retry__watch(op, step);
    if (op->retry__phase != RETRY__ENDED)
        return retry__rest(op, step);
    step->what = RETRY_DO_END;
    step->verdict = op->verdict;
    step->cause = op->cause;
    step->delay = op->delay;
    return true;
}

static const retry_step retry__nothing = {0, 0, 0, 0, 0, 0, 0};

RETRY_API retry_step retry_next(retry_operation *op, retry_time now)
{
    retry_step step = retry__nothing;
    RETRY_ASSERT(op && "retry_next: a NULL operation");
    RETRY_ASSERT((!op || op->retry__phase != RETRY__NEW) && "retry_start comes first");
    if (!op || op->retry__phase == RETRY__NEW) {
        step.what = RETRY_DO_END;
        step.cause = RETRY_CAUSE_MISUSE;
        return step;
    }
    op->retry__now = now;
    while (!retry__step_of(op, &step))
        step = retry__nothing;
    return step;
}

RETRY_API void retry_stop(retry_operation *op, retry_time now)
{
    RETRY_ASSERT(retry__phase_of(op) != RETRY__DECIDING && "retry_stop from a strategy");
    if (!retry__under_way(op))
        return;
    op->retry__now = now;
    retry__abandon(op);
}

RETRY_API void retry_start(retry_operation *op, const retry_service *service, retry_time now)
{
    if (!op)
        return;
    op->retry__now = now;
    if (retry__under_way(op))
        retry__abandon(op);
    op->ambiguous = false;
    op->verdict = RETRY_VERDICT_FAIL;
    op->cause = RETRY_CAUSE_NONE;
    op->delay = 0;
    RETRY_ASSERT((!service || service->retry__at) && "retry_service_init comes first");
    RETRY_ASSERT((!service || !service->retry__at || service->retry__at == service) &&
                 "retry_start: the service has moved");
    RETRY_ASSERT((service || op->client) && "retry_start: neither service nor op.client");
    if (service)
        op->client = service->retry__at == service ? &service->client : NULL;
    if (!op->client) {
        op->cause = RETRY_CAUSE_MISUSE;
        retry__set_phase(op, RETRY__ENDED);
        return;
    }
    if (op->timeout == 0)
        op->timeout = RETRY_TIMEOUT_DEFAULT;
    else if (op->timeout > RETRY__LATEST - RETRY__BEHIND + 1)
        op->timeout = UINT32_MAX;
    op->reasons = 0;
    op->retries = 0;
    op->failure = retry__failure(RETRY_REASON_NONE, 0);
    op->started = now;
    op->code = 0;
    op->code_retries = 0;
    op->code_since = now;
    op->retry__since_pushback = 0;
    op->retry__elsewhere = 0;
    op->retry__failed = 0;
    op->retry__decided = now;
    op->retry__paid = 0;
    retry__set_phase(op, RETRY__READY);
    if (op->client->budget && op->client->budget->options.request_deposit != 0)
        retry__budget_move(op, RETRY__BUDGET_GIVE, op->client->budget->options.request_deposit);
}

RETRY_API void retry_skip_wait(retry_operation *op, retry_time now)
{
    (void)now; /* the delay counts from the decision */
    if (retry__phase_of(op) == RETRY__DELAYED)
        retry__set_phase(op, RETRY__SKIPPED);
}

RETRY_API void retry_ended(retry_operation *op, unsigned copy, const retry_failure *failure,
                           retry_time now)
{
    retry_copy *ended = op ? retry__copy_at(op, copy) : NULL;
    if (!ended)
        return;
    if ((ended->retry__state & RETRY__COPY_WIRE) == 0) {
        ended->retry__state &= (uint8_t)~RETRY__COPY_CANCEL;
        return;
    }
    op->retry__now = now;
    retry__copy_off(op, ended, RETRY__ANSWERED, failure);
    if (failure) {
        retry__copy_failed(op, failure);
    } else {
        if (op->retry__hedge)
            retry__cancel_copies(op, RETRY__LOST);
        retry__end(op, NULL, RETRY_VERDICT_SUCCESS, RETRY_CAUSE_NONE, 0);
    }
}

RETRY_API void retry_answer(retry_operation *op, retry_action action, retry_time now)
{
    if (retry__phase_of(op) != RETRY__ASKED || action.kind == RETRY_ACTION_PENDING)
        return;
    op->retry__now = now;
    op->retry__decided = now;
    retry__conclude(op, action, retry__failure_traits(&op->failure));
}

/* ---- The gates of a server ----------------------------------------------------------------- */

/* In the order in which they are asked; a latency is not. */
enum { RETRY__BREAKER, RETRY__THROTTLE, RETRY__AIMD, RETRY__RATE, RETRY__LATENCY, RETRY__GATES };

struct retry__gate_code {
    uint8_t (*ask)(void *gate, struct retry__attempt *attempt);     /* the cause not to send */
    void (*tell)(void *gate, const struct retry__attempt *attempt); /* once for each that passed */
};

/* Takes a place among the copies on the wire if there are fewer than `limit`. */
RETRY__INLINE bool retry__place(retry_gates *gates, uint32_t limit)
{
    uint32_t seen;
    do {
        seen = retry__load(&gates->in_flight);
        if (seen >= limit)
            return false;
    } while (!retry__swap(&gates->in_flight, seen, seen + 1));
    return true;
}

/* Gives the place back. After a misuse there may be none: the operation was copied in flight, and
   the copy gave the place back, or the gates were zeroed meanwhile. */
RETRY__ONCE void retry__give_place(retry_gates *gates)
{
    bool held = retry__fetch_add(&gates->in_flight, UINT32_MAX) != 0;
    RETRY_ASSERT(held && "retry_stop comes before you copy an operation, or zero its gates");
    if (!held)
        retry__fetch_add(&gates->in_flight, 1);
}

static void retry__tell_gate(const retry__gate *gate, const struct retry__attempt *attempt)
{
    if (gate->retry__self)
        gate->retry__code->tell(gate->retry__self, attempt);
}

/* Gives back to the gates before the one that refuses what they gave. */
RETRY__COLD void retry__gates_refused(const struct retry__attempt *attempt,
                                      const retry__gate *refuses)
{
    const retry__gate *gate = attempt->gates->retry__gates, *limit = gate + RETRY__AIMD;
    for (; gate != refuses; gate++)
        retry__tell_gate(gate, attempt);
    if (refuses > limit && limit->retry__self)
        retry__give_place(attempt->gates);
}

/* Asks the gates in turn. */
static uint8_t retry__gates_ask(struct retry__attempt *attempt)
{
    retry_gates *gates = attempt->gates;
    const retry__gate *gate = gates->retry__gates, *end = gate + RETRY__LATENCY;
    for (; gate != end; gate++) {
        uint8_t cause;
        if (!gate->retry__self)
            continue;
        cause = gate->retry__code->ask(gate->retry__self, attempt);
        if (cause != RETRY_CAUSE_NONE) {
            retry__gates_refused(attempt, gate);
            return cause;
        }
    }
    if (!gates->retry__gates[RETRY__AIMD].retry__self)
        retry__place(gates, UINT32_MAX);
    attempt->copy->retry__gates = gates;
    return RETRY_CAUSE_NONE;
}

/* Learns from an end how long answers take. If a time-out proves nothing, it is no outcome. */
static void retry__pace_ended(struct retry__attempt *attempt)
{
    const retry_failure *failure = attempt->failure;
    retry_gates *gates = attempt->gates;
    if (failure)
        attempt->outcome = retry__outcome(failure);
    if (attempt->outcome == RETRY__ANSWERED && gates->retry__gates[RETRY__BREAKER].retry__self)
        retry__store(&gates->retry__answered, attempt->now);
    if (retry__is_good(attempt))
        retry__pace_learn(attempt, retry__min(attempt->age, attempt->copy->retry__timeout));
    if (!failure || attempt->outcome != RETRY__UNHEALTHY ||
        (!failure->timeout && failure->reason != RETRY_REASON_ATTEMPT_TIMED_OUT))
        return;
    if (retry__impatient(attempt)) {
        attempt->outcome = RETRY__GIVEN_UP;
        if (retry__slow(gates) != 0) /* else a node that went dark would never count */
            retry__pace_learn(attempt, attempt->copy->retry__timeout);
    } else if (failure->timeout && attempt->op->retry__elsewhere != RETRY__DISPENSABLE) {
        retry__pace_round(gates, attempt->copy->retry__sent, attempt->now);
    }
}

/* Asks or tells the gates of one server. */
static uint8_t retry__gates_event(struct retry__attempt *attempt, uint8_t what)
{
    const retry__gate *gate = attempt->gates->retry__gates, *end = gate + RETRY__GATES;
    if (what == RETRY__ASK)
        return retry__gates_ask(attempt);
    if (what == RETRY__FORGET) {
        retry__tell_gate(gate + RETRY__RATE, attempt);
    } else {
        retry__pace_ended(attempt);
        do {
            retry__tell_gate(gate, attempt);
        } while (++gate != end);
        retry__give_place(attempt->gates);
    }
    return RETRY_CAUSE_NONE;
}

static void retry__gates_add(retry_gates *gates, uint32_t index, void *gate,
                             const struct retry__gate_code *code)
{
    if (!gates)
        return;
    gates->retry__gates[index].retry__self = gate;
    gates->retry__gates[index].retry__code = code;
    if (!gates->retry__on_event)
        gates->retry__on_event = retry__gates_event;
}

/* The first attempt may probe, and one with its whole time. Any other may just time out. */
static uint8_t retry__ask_breaker(void *gate, struct retry__attempt *attempt)
{
    const retry_operation *op = attempt->op;
    retry_ms most = op->client->cut_after;
    bool whole = most != 0 && attempt->left >= most;
    retry_permit permit =
        retry_breaker_ask((retry_breaker *)gate, op->retries == 0 || whole, attempt->now);
    attempt->copy->retry__ticket = permit.retry__ticket;
    attempt->wait = permit.wait;
    return permit.granted ? RETRY_CAUSE_NONE : RETRY_CAUSE_CIRCUIT_OPEN;
}

static void retry__tell_breaker(void *gate, const struct retry__attempt *attempt)
{
    retry__breaker_end((retry_breaker *)gate, attempt->copy->retry__ticket, attempt->age,
                       retry__silent(attempt) ? (uint8_t)RETRY__UNHEALTHY : attempt->outcome,
                       attempt->failure, attempt->now);
}

RETRY_API void retry_gates_breaker(retry_gates *gates, retry_breaker *breaker)
{
    static const struct retry__gate_code code = {retry__ask_breaker, retry__tell_breaker};
    retry__gates_add(gates, RETRY__BREAKER, breaker, &code);
}

/* An attempt that waits for a later gate has passed this one already. */
static uint8_t retry__ask_throttle(void *gate, struct retry__attempt *attempt)
{
    if (!attempt->drawn && !retry__throttle_ask((retry_throttle *)gate,
                                                retry__draw(attempt->op->client), attempt->now))
        return RETRY_CAUSE_THROTTLED;
    attempt->copy->retry__state |= RETRY__COPY_DRAWN;
    return RETRY_CAUSE_NONE;
}

RETRY_API void retry_gates_throttle(retry_gates *gates, retry_throttle *throttle)
{
    static const struct retry__gate_code code = {retry__ask_throttle, retry__throttle_report};
    retry__gates_add(gates, RETRY__THROTTLE, throttle, &code);
}

/* The least time left asks soonest: in 1 to 2 + 98 f * f ms, where f is the share that is left of
   the timeout, in sixteenths. If new operations overtook old ones, the old ones would expire. */
RETRY__COLD retry_ms retry__paced_delay(const struct retry__attempt *attempt)
{
    const retry_operation *op = attempt->op;
    uint32_t f = 16;
    if (attempt->left < op->timeout)
        f = retry__quotient((uint64_t)attempt->left << 4, op->timeout);
    return retry__pick(1, 2 + ((98 * f * f) >> 8), retry__draw(op->client));
}

static uint8_t retry__ask_aimd(void *gate, struct retry__attempt *attempt)
{
    retry_aimd *aimd = (retry_aimd *)gate;
    retry_ms pause = retry__aimd_paused(aimd, attempt->now);
    if (pause == 0 && retry__place(attempt->gates, retry_aimd_limit(aimd)))
        return RETRY_CAUSE_NONE;
    attempt->wait = pause + retry__paced_delay(attempt);
    return RETRY_CAUSE_PACED;
}

RETRY_API void retry_gates_aimd(retry_gates *gates, retry_aimd *aimd)
{
    static const struct retry__gate_code code = {retry__ask_aimd, retry__aimd_report};
    retry__gates_add(gates, RETRY__AIMD, aimd, &code);
}

/* An attempt keeps its instant while another gate makes it wait, for as long as the bucket could
   have held the token. */
RETRY__WRAPS static uint8_t retry__ask_rate(void *gate, struct retry__attempt *attempt)
{
    retry_rate *rate = (retry_rate *)gate;
    retry_copy *copy = attempt->copy;
    retry_ms wait = retry__or(rate->wait, 250);
    bool kept = (copy->retry__state & RETRY__COPY_KEPT) != 0;
    if (kept && retry__multiply(retry__rate_until(copy->retry__sent, attempt->now),
                                RETRY__RATE_MS) <= retry__rate_depth(rate, copy->retry__taken)) {
        attempt->wait = retry__rate_until(attempt->now, copy->retry__sent);
        attempt->wait = retry__min(attempt->wait, wait); /* if the clock stepped back */
    } else {
        copy->retry__state &= (uint8_t)~RETRY__COPY_KEPT;
        copy->retry__taken = retry__rate_spacing(rate, attempt->now);
        attempt->wait = copy->retry__taken != 0
                            ? retry__rate_take(rate, copy->retry__taken, attempt->now, wait)
                            : 0;
        if (attempt->wait >= wait) /* not taken */
            return RETRY_CAUSE_THROTTLED;
    }
    if (attempt->wait == 0)
        return RETRY_CAUSE_NONE;
    copy->retry__sent = attempt->now + attempt->wait; /* the instant that is kept */
    copy->retry__state |= RETRY__COPY_KEPT;
    return RETRY_CAUSE_PACED;
}

RETRY_API void retry_gates_rate(retry_gates *gates, retry_rate *rate)
{
    static const struct retry__gate_code code = {retry__ask_rate, retry__rate_report};
    retry__gates_add(gates, RETRY__RATE, rate, &code);
}

RETRY_API void retry_gates_latency(retry_gates *gates, retry_latency *latency)
{
    static const struct retry__gate_code code = {NULL, retry__latency_report};
    retry__gates_add(gates, RETRY__LATENCY, latency, &code);
}

/* ---- Several nodes ------------------------------------------------------------------------- */

/* retry__ill: failures in a row; the other bits: ms, until when. */
#define RETRY__ILL_ROW UINT32_C(15)

/* Whether a node is in a set, which has a bit for each, modulo 32. */
static bool retry__has_node(uint32_t set, uint32_t node)
{
    return (set >> (node & 31) & 1) != 0;
}

static uint32_t retry__node_bit(uint32_t node)
{
    return UINT32_C(1) << (node & 31);
}

/* Whether a node's ill time is not over at an instant. An end that is more than a minute away was
   before the clock wrapped. */
RETRY__ONCE bool retry__ill_at(uint32_t ill, retry_time instant)
{
    retry_ms left = retry__passed(instant, ill & ~RETRY__ILL_ROW);
    return ill != 0 && left != 0 && left >> 16 == 0;
}

/* A node has failed: it is ill for 100 ms, doubling with each failure in a row to a second. What
   was sent before that time was over tells of the same trouble. */
RETRY__WRAPS static void retry__node_falls_ill(const struct retry__attempt *attempt)
{
    uint32_t ill = retry__load(&attempt->gates->retry__ill), row = ill & RETRY__ILL_ROW;
    retry_ms lasts = UINT32_C(100) << row;
    if (retry__ill_at(ill, attempt->copy->retry__sent))
        return;
    if (row == 4)
        lasts = 1000;
    else
        row++;
    retry__store(&attempt->gates->retry__ill,
                 ((attempt->now + lasts + RETRY__ILL_ROW) & ~RETRY__ILL_ROW) | row);
}

/* Whether a node is ill: until its time is over, and after that while an attempt is there, which
   tries it for all others. */
RETRY__INLINE bool retry__node_ill(const retry_gates *gates, retry_time now)
{
    uint32_t ill = retry__load(&gates->retry__ill);
    return retry__ill_at(ill, now) || (ill != 0 && retry__load(&gates->in_flight) != 0);
}

/* Of the refusals of several nodes the one that counts. */
typedef struct retry__nodes_refusal {
    uint8_t cause; /* NONE: none was asked */
    retry_ms delay;
    retry_gates *gates; /* whose refusal it is */
} retry__nodes_refusal;

/* PACED counts before CIRCUIT_OPEN, the shorter wait before the longer, else the first refusal. */
static void retry__nodes_hear(retry__nodes_refusal *refusal, uint8_t cause,
                              const struct retry__attempt *attempt)
{
    retry_ms delay = attempt->wait;
    bool better = refusal->cause == RETRY_CAUSE_NONE;
    if (cause == RETRY_CAUSE_PACED || cause == RETRY_CAUSE_CIRCUIT_OPEN) {
        if (cause == refusal->cause)
            better = delay != 0 && (refusal->delay == 0 || delay < refusal->delay);
        else
            better = refusal->cause != RETRY_CAUSE_PACED;
    }
    if (better) {
        refusal->cause = cause;
        refusal->delay = delay;
        refusal->gates = attempt->gates;
    }
}

/* True: the node lets the copy pass. If it does not, its rate keeps no instant for the copy. */
static bool retry__ask_node(struct retry__attempt *attempt, uint32_t node,
                            retry__nodes_refusal *refusal)
{
    uint8_t cause;
    attempt->gates = &attempt->op->client->gates[node];
    attempt->copy->retry__node = (uint16_t)node;
    attempt->wait = 0;
    cause = retry__gates_ask(attempt);
    if (cause == RETRY_CAUSE_NONE)
        return true;
    if ((attempt->copy->retry__state & RETRY__COPY_KEPT) != 0) {
        retry__tell_gate(&attempt->gates->retry__gates[RETRY__RATE], attempt);
        attempt->copy->retry__state &= (uint8_t)~RETRY__COPY_KEPT;
    }
    if (cause == RETRY_CAUSE_CIRCUIT_OPEN && retry__load(&attempt->gates->retry__ill) == 0)
        retry__node_falls_ill(attempt); /* a program has isolated it */
    retry__nodes_hear(refusal, cause, attempt);
    return false;
}

/* A good answer cures a node. Any other end makes it ill: a final failure, too, and a copy that
   lost to one elsewhere. A copy that was given up, or had too little time, proves nothing. */
static void retry__node_learn(const struct retry__attempt *attempt)
{
    retry_gates *gates = attempt->gates;
    if (attempt->outcome == RETRY__ANSWERED)
        retry__store(&gates->retry__answered, attempt->now);
    if (retry__is_good(attempt)) {
        if (retry__load(&gates->retry__ill) != 0)
            retry__store(&gates->retry__ill, 0);
    } else if (attempt->failure ? attempt->outcome != RETRY__GIVEN_UP : retry__silent(attempt)) {
        retry__node_falls_ill(attempt);
    }
}

/* A copy of the operation failed at a node. The first retry goes at once to another that answered
   well last, if there is one, and no pushback. When all nodes have failed the operation, only the
   last one counts as failed. */
static void retry__node_failed(const struct retry__attempt *attempt)
{
    retry_operation *op = attempt->op;
    bool was_ill = retry__ill_at(retry__load(&attempt->gates->retry__ill),
                                 attempt->copy->retry__sent); /* all others were full */
    uint8_t elsewhere = op->idempotent && !was_ill ? RETRY__DISPENSABLE : RETRY__ELSEWHERE;
    uint32_t last = retry__node_bit(attempt->copy->retry__node);
    uint32_t node, nodes = op->client->nodes, failed = op->retry__failed | last;
    bool may = op->retries == 0 && !op->failure.pushback && !attempt->failure->pushback;
    for (node = 0; may && node < nodes; node++) {
        if (!retry__has_node(failed, node) && retry__load(&op->client->gates[node].retry__ill) == 0)
            break;
    }
    op->retry__elsewhere = !may || node == nodes ? 0 : elsewhere;
    if (failed == UINT32_MAX >> ((32 - retry__min(nodes, 32)) & 31))
        failed = last;
    op->retry__failed = failed;
}

/* The least key is asked first. It has the two bits of `tier` (the higher is set if the node is
   ill), then the rank, then how much is in flight there. */
RETRY__ONCE uint32_t retry__node_key(const retry_gates *gates, uint32_t tier, retry_time now)
{
    uint32_t flight = retry__min(retry__load(&gates->in_flight), 0x3ffe);
    if (retry__node_ill(gates, now))
        tier |= 2;
    return tier << 30 | (uint32_t)gates->rank << 14 | flight;
}

/* Which of `some` nodes in a row to ask next, as its distance from `first`. Nodes in `out` come
   last, those that failed the operation before them. Of equal ones one is drawn. */
static uint32_t retry__nodes_next(const struct retry__attempt *attempt, uint32_t first,
                                  uint32_t some, uint32_t refused, uint32_t out)
{
    const retry_client *client = attempt->op->client;
    uint32_t nodes = client->nodes, failed = attempt->op->retry__failed;
    uint32_t node = first, least = UINT32_MAX, count = 0, n;
    uint8_t next[32];
    next[0] = 0;
    for (n = 0; n < some; n++, node++) {
        uint32_t key;
        if (node == nodes)
            node = 0;
        if (retry__has_node(refused, n))
            continue;
        key = (retry__has_node(out, node) ? 2u : 0u) | retry__has_node(failed, node);
        key = retry__node_key(&client->gates[node], key, attempt->now);
        if (key < least)
            count = 0;
        if (key <= least) {
            least = key;
            next[count] = (uint8_t)n;
            count++;
        }
    }
    if (count == 1)
        return next[0];
    return next[retry__pick(0, count - 1, retry__draw(client))];
}

/* The nodes where a copy of the operation is, while an attempt is under way. */
static uint32_t retry__nodes_out(retry_operation *op)
{
    const retry_copy *copy;
    uint32_t out = 0, n = 0;
    if (retry__phase_of(op) != RETRY__TRYING)
        return 0;
    for (; (copy = retry__copy_in(op, RETRY__COPY_WIRE, &n)) != NULL; n++)
        out |= retry__node_bit(copy->retry__node);
    return out;
}

/* Asks the nodes, of many 32 in a row from one at random on, until one lets the copy pass. A free
   retry that goes to another node waits there for its turn, and does not come back. */
static uint8_t retry__nodes_ask(struct retry__attempt *attempt)
{
    const retry_operation *op = attempt->op;
    retry__nodes_refusal refusal = {RETRY_CAUSE_NONE, 0, NULL};
    uint32_t nodes = op->client->nodes, some = retry__min(nodes, 32);
    uint32_t first = 0, refused = 0, out = retry__nodes_out(attempt->op), i;
    if (nodes > some)
        first = retry__pick(0, nodes - 1, retry__draw(op->client));
    for (i = 0; i < some; i++) {
        uint32_t next = retry__nodes_next(attempt, first, some, refused, out);
        uint32_t node = first + next < nodes ? first + next : first + next - nodes;
        refused |= retry__node_bit(next);
        if (refusal.cause == RETRY_CAUSE_PACED && op->retry__elsewhere &&
            retry__has_node(op->retry__failed, node))
            break;
        if (retry__ask_node(attempt, node, &refusal))
            return RETRY_CAUSE_NONE;
    }
    attempt->wait = refusal.delay;
    attempt->gates = refusal.gates;
    return refusal.cause;
}

static uint8_t retry__nodes_event(struct retry__attempt *attempt, uint8_t what)
{
    bool several = attempt->op->client->nodes > 1;
    uint8_t cause;
    if (several && what == RETRY__ASK)
        return retry__nodes_ask(attempt);
    if (several && attempt->failure)
        retry__node_failed(attempt);
    cause = retry__gates_event(attempt, what);
    if (several) /* it has ended: of several nodes no rate keeps an instant to forget */
        retry__node_learn(attempt);
    return cause;
}

RETRY_API void retry_client_nodes(retry_client *client, retry_gates *gates, uint16_t count)
{
    uint32_t node;
    if (!client)
        return;
    client->gates = gates;
    client->nodes = gates && count > 1 ? count : 0;
    for (node = 0; gates && node < retry__max(count, 1); node++)
        gates[node].retry__on_event = retry__nodes_event;
}

/* ---- Hedging ------------------------------------------------------------------------------- */

/* A copy costs what a retry after a timeout does; a budget that charges failures takes nothing. */
static uint32_t retry__hedge_price(const retry_operation *op)
{
    const retry_budget *budget = retry__budget(op);
    return budget && !budget->options.charge_failures ? retry__timeout_cost(&budget->options) : 0;
}

/* What was never sent put no load on the server: a copy's charge goes back. */
static void retry__hedge_refund(retry_operation *op)
{
    if (op->retry__hedge->retry__paid == 0)
        return;
    op->retry__hedge->retry__paid--;
    retry__budget_move(op, RETRY__BUDGET_GIVE, retry__hedge_price(op));
}

/* Sets the timer to `delay` ms; UINT32_MAX: to none. */
static void retry__hedge_set(retry_hedge *hedge, retry_ms delay, retry_time now)
{
    hedge->retry__delay = delay == UINT32_MAX ? delay : retry__min(delay, RETRY__LONGEST);
    hedge->retry__since = now;
}

/* ms from copy to copy. A fixed delay grows while the server is slow, or all would get copies. */
static retry_ms retry__hedge_delay(retry_operation *op)
{
    retry_ms delay = op->retry__hedge->delay;
    const retry_copy *copy;
    uint32_t n;
    if (delay == 0)
        return retry_latency_get(op->retry__hedge->latency);
    for (n = 0; (copy = retry__copy_in(op, RETRY__COPY_WIRE, &n)) != NULL; n++) {
        if (copy->retry__gates)
            delay = retry__max(delay, retry__slow(copy->retry__gates) << 1);
    }
    return delay;
}

/* A copy was sent, or counts as sent: when the next is due. */
static void retry__hedge_sent(retry_operation *op)
{
    bool more = op->retry__hedge->retry__unsent != 0 && op->idempotent;
    retry__hedge_set(op->retry__hedge, more ? retry__hedge_delay(op) : UINT32_MAX, op->retry__now);
}

/* Whether a copy may follow `later` ms from now, if it is paid for. */
static bool retry__hedge_open(retry_operation *op, retry_ms later)
{
    const retry_hedge *hedge = op->retry__hedge;
    return !hedge->retry__stopped && hedge->retry__unsent != 0 && op->idempotent &&
           later < retry__remaining(op, op->retry__now);
}

/* The lowest of the copies that are not on the wire, and its number. NULL: all are. */
static retry_copy *retry__hedge_free(retry_operation *op, uint32_t *number)
{
    retry_copy *copy;
    for (*number = 0; (copy = retry__copy_at(op, *number)) != NULL; ++*number) {
        if ((copy->retry__state & RETRY__COPY_WIRE) == 0)
            break;
    }
    return copy;
}

/* The attempt has failed. If a copy reached the server, the retry has been made, and stays paid. */
static void retry__hedge_decide(retry_operation *op)
{
    if (op->retry__hedge->retry__reached)
        op->retry__paid = 0;
    retry__decide(op);
}

/* If nothing is on the wire, and no copy follows at once, the attempt has failed. */
static void retry__hedge_rest(retry_operation *op)
{
    uint32_t number = 0;
    if (op->retry__hedge->retry__follow == 0 && !retry__copy_in(op, RETRY__COPY_WIRE, &number))
        retry__hedge_decide(op);
}

/* A gate refused a copy, or would let it wait: it counts as one that failed, never sent. */
static void retry__hedge_refused(retry_operation *op, retry_copy *copy, uint8_t cause)
{
    const retry_failure refusal =
        retry__failure(cause == RETRY_CAUSE_CIRCUIT_OPEN ? RETRY_REASON_CIRCUIT_BREAKER_OPEN
                                                         : RETRY_REASON_CLIENT_THROTTLED,
                       0);
    retry__record(op, &refusal);
    retry__forget(op, copy);
    retry__hedge_refund(op);
    retry__hedge_rest(op);
}

/* The next copy is due. */
static void retry__hedge_due(retry_operation *op, retry_step *step)
{
    retry_hedge *hedge = op->retry__hedge;
    uint32_t number;
    uint8_t cause;
    retry_copy *copy = retry__hedge_free(op, &number);
    if (hedge->retry__follow != 0)
        hedge->retry__follow--;
    if (!copy || !retry__hedge_open(op, 0) ||
        retry__budget_move(op, RETRY__BUDGET_TAKE, retry__hedge_price(op)) == 0) {
        retry__hedge_set(hedge, UINT32_MAX, op->retry__now);
        hedge->retry__follow = 0;
        retry__hedge_rest(op);
        return;
    }
    hedge->retry__unsent--;
    hedge->retry__paid++;
    retry__hedge_sent(op);
    step->copy = (uint8_t)number;
    step->delay = 0;
    cause = retry__ask_copy(op, copy, step);
    if (cause != RETRY_CAUSE_NONE)
        retry__hedge_refused(op, copy, cause);
}

/* Whether a failure is final, whatever is on the wire. A budget that charges failures is not told
   of it. */
static bool retry__hedge_final(uint32_t traits)
{
    uint8_t cause = retry__screen(traits);
    return cause == RETRY_CAUSE_UNSAFE || cause == RETRY_CAUSE_UNKNOWN_REASON ||
           cause == RETRY_CAUSE_NOT_RETRYABLE;
}

static void retry__hedge_failed(retry_operation *op, const retry_failure *failure)
{
    retry_hedge *hedge = op->retry__hedge;
    uint32_t traits = retry__record(op, failure);
    retry_ms order = failure->pushback ? failure->retry_after : 0;
    bool is_final = retry__hedge_final(traits), unsent = (traits & RETRY__TRAIT_UNSENT) != 0;
    bool tells = !unsent || !hedge->retry__reached; /* as much as those before */
    if (is_final || (tells && !hedge->retry__stopped))
        op->failure = *failure;
    if (unsent)
        retry__hedge_refund(op);
    else
        hedge->retry__reached = true;
    if (!is_final)
        retry__charge(op, failure, traits);
    if (is_final || !retry__permits(op, traits)) {
        retry__cancel_copies(op, RETRY__GIVEN_UP);
        retry__hedge_decide(op);
        return;
    }
    if (order == UINT32_MAX) {
        hedge->retry__stopped = true;
        hedge->retry__follow = 0;
    } else if (!unsent && order == 0) {
        hedge->retry__follow++;
    } else if (!unsent) {
        retry__hedge_set(hedge, order, op->retry__now);
        if (retry__hedge_open(op, order))
            return;
    }
    retry__hedge_rest(op);
}

static bool retry__hedge_event(retry_operation *op, uint8_t event, const retry_failure *failure,
                               retry_step *step)
{
    retry_hedge *hedge = op->retry__hedge;
    if (event == RETRY__HEDGE_BEGIN) {
        hedge->retry__unsent = hedge->delay != 0 || hedge->latency
                                   ? (uint8_t)retry__min(hedge->count, UINT8_MAX - 1)
                                   : 0;
        hedge->retry__follow = 0;
        hedge->retry__paid = 0;
        hedge->retry__stopped = false;
        hedge->retry__reached = false;
        retry__hedge_sent(op);
    } else if (event == RETRY__HEDGE_FAILED) {
        retry__hedge_failed(op, failure);
    } else {
        if (hedge->retry__delay != UINT32_MAX)
            step->delay = retry__left(hedge->retry__since, hedge->retry__delay, op->retry__now);
        if (step->delay != 0 && hedge->retry__follow == 0)
            return false;
        retry__hedge_due(op, step);
    }
    return true;
}

RETRY_API void retry_hedge_copies(retry_operation *op, retry_hedge *hedge)
{
    uint32_t number = 0;
    if (!op || retry__under_way(op))
        return;
    if ((op->retry__phase & RETRY__CANCELS) != 0 && /* else the last hedge may be gone */
        retry__copy_in(op, RETRY__COPY_CANCEL, &number))
        return;
    op->retry__hedge = hedge && hedge->copies ? hedge : NULL;
    if (op->retry__hedge)
        hedge->retry__hedging = retry__hedge_event;
}

/* ---- The recommended client ---------------------------------------------------------------- */

/* A backoff whose initial is 0 has the service's; what is throttled waits no less than the rest. */
static void retry__service_policy(retry_policy *policy)
{
    static const retry_backoff best = RETRY_BACKOFF_BEST_EFFORT;
    static const retry_backoff throttled_best = RETRY_BACKOFF_THROTTLED;
    retry_backoff *usual = &policy->backoff, *throttled = &policy->throttle_backoff;
    if (policy->base.retry_after)
        return;
    policy->base.retry_after = retry_policy_after;
    if (usual->curve == RETRY_CURVE_EXPONENTIAL && usual->initial == 0) {
        usual->min = retry__or(usual->min, best.min);
        usual->initial = best.initial;
        usual->max = retry__or(usual->max, best.max);
    }
    if (throttled->curve == RETRY_CURVE_EXPONENTIAL && throttled->initial == 0) {
        *throttled = *usual;
        if (throttled->max != 0)
            throttled->max = retry__max(throttled->max, throttled_best.max);
    }
}

static void retry__service_budget(retry_budget *budget, uint32_t in_flight, retry_time now)
{
    retry_budget_options *options = &budget->options;
    if (options->capacity == 0) {
        static const retry_budget_options preset = RETRY_BUDGET_BEST_EFFORT(1);
        options->capacity = retry__multiply(preset.capacity, in_flight);
        options->retry_cost = retry__or(options->retry_cost, preset.retry_cost);
        options->timeout_cost = retry__or(options->timeout_cost, preset.timeout_cost);
        options->throttle_cost = retry__or(options->throttle_cost, preset.throttle_cost);
        options->success_deposit = retry__or(options->success_deposit, preset.success_deposit);
        options->base_per_second = retry__or(options->base_per_second, preset.base_per_second);
        options->expire = retry__or(options->expire, preset.expire);
    }
    retry__budget_fill(budget, now);
}

RETRY_API void retry_service_init(retry_service *service, retry_time now)
{
    retry_client *client;
    if (!service || (service->retry__at && service->retry__at != service))
        return; /* what a copy has points into the first */
    client = &service->client;
    retry__service_policy(&service->policy);
    retry__service_budget(&service->budget, retry_aimd_limit(&service->limit), now);
    if (!client->strategy)
        client->strategy = &service->policy.base;
    if (!client->budget)
        client->budget = &service->budget;
    if (!client->gates)
        client->gates = &service->gates;
    if (client->nodes == 0)
        retry_gates_aimd(client->gates, &service->limit);
    service->retry__at = service;
}

/* ---- A loop, for those who block ----------------------------------------------------------- */

RETRY__ONCE retry_step retry__run_end(uint8_t verdict, uint8_t cause)
{
    retry_step step = retry__nothing;
    step.what = RETRY_DO_END;
    step.verdict = verdict;
    step.cause = cause;
    return step;
}

/* One attempt; true: it worked. */
static bool retry__run_attempt(retry_operation *op, const retry_step *step,
                               retry_attempt_fn *attempt, void *context, retry_failure *failure)
{
    bool done;
    *failure = retry__failure(RETRY_REASON_NONE, 0);
    done = attempt(context, op, step, failure);
    RETRY_ASSERT((!done || failure->reason == RETRY_REASON_NONE) &&
                 "retry_run: it failed, and returned true");
    return done;
}

/* Sleeps in a row of which a clock shows nothing before it counts as standing still. One that
   counts seconds reaches this, too: in its last millisecond sleeps 1,000 times. */
#define RETRY__UNSEEN 900

/* Sleeps as a step says. False: that would never end, as the clock shows no time for the delay, or
   as nothing is to come: an attempt is out that is not this thread's. */
RETRY__INLINE bool retry__run_sleep(const retry_clock *clock, const retry_step *step,
                                    retry_time *now, uint32_t *unseen)
{
    const retry_time before = *now;
    RETRY_ASSERT(step->delay != UINT32_MAX && "retry_run: another thread uses the operation");
    if (step->delay == UINT32_MAX)
        return false;
    clock->sleep(clock->context, step->delay);
    *now = clock->now(clock->context);
    *unseen = *now == before ? *unseen + 1 : 0;
    RETRY_ASSERT(*unseen < RETRY__UNSEEN && "retry_run: the clock stands still");
    return *unseen < RETRY__UNSEEN;
}

RETRY_API retry_step retry_run(retry_operation *op, const retry_service *service,
                               const retry_clock *clock, retry_attempt_fn *attempt, void *context)
{
    retry_failure failure;
    retry_time now;
    uint32_t unseen = 0; /* sleeps in a row that the clock did not see */
    RETRY_ASSERT(op && clock && attempt && "retry_run: a NULL argument");
    RETRY_ASSERT((!clock || (clock->now && clock->sleep)) && "retry_clock: now, sleep are not set");
    if (!op || !clock || !clock->now || !clock->sleep || !attempt)
        return retry__run_end(RETRY_VERDICT_FAIL, RETRY_CAUSE_MISUSE);
    now = clock->now(clock->context);
    retry_start(op, service, now);
    for (;;) {
        retry_step step = retry_next(op, now);
        if (step.what == RETRY_DO_SEND) {
            bool done = retry__run_attempt(op, &step, attempt, context, &failure);
            now = clock->now(clock->context);
            retry_ended(op, step.copy, done ? NULL : &failure, now);
            if (done) { /* though somebody may have stopped it meanwhile */
                op->ambiguous = false;
                op->verdict = RETRY_VERDICT_SUCCESS;
                op->cause = RETRY_CAUSE_NONE;
                return retry__run_end(RETRY_VERDICT_SUCCESS, RETRY_CAUSE_NONE);
            }
        } else if (step.what == RETRY_DO_END || step.cause == RETRY_CAUSE_PENDING) {
            RETRY_ASSERT(step.verdict != RETRY_VERDICT_SUCCESS &&
                         "retry_run: another thread ended it");
            if (step.verdict == RETRY_VERDICT_SUCCESS)
                return retry__run_end(RETRY_VERDICT_FAIL, RETRY_CAUSE_MISUSE);
            return step;
        } else if (step.what == RETRY_DO_WAIT && !retry__run_sleep(clock, &step, &now, &unseen)) {
            retry_stop(op, now);
            return retry__run_end(RETRY_VERDICT_FAIL, RETRY_CAUSE_MISUSE);
        }
    }
}

/* ---- The system's clock -------------------------------------------------------------------- */

#ifdef RETRY_SYSTEM_CLOCK
static retry_time retry__system_now(void *context)
{
#if defined(_WIN32) /* GetTickCount64 goes in steps of 10 to 16 ms */
    LARGE_INTEGER frequency, count;
    uint64_t each, rest;
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&count);
    each = (uint64_t)frequency.QuadPart;
    rest = (uint64_t)count.QuadPart % each;
    (void)context;
    return (retry_time)((uint64_t)count.QuadPart / each * 1000 + rest * 1000 / each);
#else
    struct timespec now;
#ifdef CLOCK_BOOTTIME /* goes on while the machine sleeps */
    clock_gettime(CLOCK_BOOTTIME, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    (void)context;
    return (retry_time)((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
#endif
}

static void retry__system_sleep(void *context, retry_ms delay)
{
#if defined(_WIN32)      /* Sleep returns up to a tick early */
    while (delay != 0) { /* in parts that 32-bit instants can measure */
        retry_time start = retry__system_now(context), passed;
        Sleep(delay < UINT32_C(1) << 30 ? delay : UINT32_C(1) << 30);
        passed = retry__system_now(context) - start;
        delay = passed < delay ? delay - passed : 0;
    }
#else
    struct timespec left;
    left.tv_sec = (time_t)(delay / 1000);
    left.tv_nsec = (long)(delay % 1000) * 1000000;
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
#endif
    (void)context;
}

RETRY_API retry_clock retry_system_clock(void)
{
    retry_clock clock = {retry__system_now, retry__system_sleep, NULL};
    return clock;
}
#endif

/* ---- Bindings ------------------------------------------------------------------------------ */

RETRY_API void retry_sizes(size_t *operation, size_t *service, size_t *failure)
{
    if (operation)
        *operation = sizeof(retry_operation);
    if (service)
        *service = sizeof(retry_service);
    if (failure)
        *failure = sizeof(retry_failure);
}

/* ---- Scopes -------------------------------------------------------------------------------- */

/* FNV-1a with a multiplier that moves every byte into the upper bits, which pick the slot. The
   shift brings all bits of the key down to where the next byte is added. */
RETRY__WRAPS static uint32_t retry__scope_hash(const void *name, size_t length, uint32_t key)
{
    const unsigned char *bytes = (const unsigned char *)name;
    uint32_t hash = key;
    size_t i;
    for (i = 0; bytes && i < length; i++) {
        hash = (hash ^ bytes[i]) * RETRY__GOLDEN;
        hash ^= hash >> 15;
    }
    return hash;
}

/* Whether another name may have it: its bucket is as good as new, or nobody asks for its name. */
static bool retry__scope_is_free(const retry_scopes *scopes, retry_scope *slot, retry_time now)
{
    retry_ms forget = retry__or(scopes->forget, 60000);
    retry__budget_refill(&slot->budget, now);
    return retry_budget_balance(&slot->budget) == retry__budget_first(&slot->budget.options) ||
           retry__passed(slot->retry__seen, now) >= forget;
}

RETRY_API const retry_client *retry_scope_client(retry_scopes *scopes, const void *name,
                                                 size_t length, retry_time now)
{
    retry_scope *slot, *found = NULL;
    uint32_t hash, reach;
    if (!scopes)
        return NULL;
    if (!scopes->slots)
        return &scopes->client;
    if (scopes->key == 0)
        scopes->key = retry__or(retry_draw(), 1);
    hash = retry__scope_hash(name, length, scopes->key);
    reach = retry__min(scopes->count, 4); /* slots, from the one on that the hash picks */
    slot = scopes->slots + (uint32_t)(retry__product(hash, scopes->count - reach + 1) >> 32);
    for (; reach != 0; reach--, slot++) {
        if (!slot->client.budget) { /* never used: the name has none behind it either */
            slot->client = scopes->client;
            slot->client.budget = &slot->budget;
            slot->retry__hash = hash;
            retry_budget_init(&slot->budget, &scopes->options, now);
        }
        if (slot->retry__hash == hash) {
            found = slot;
            break;
        }
        if (!found && retry__scope_is_free(scopes, slot, now))
            found = slot;
    }
    if (!found)
        return &scopes->client;
    if (found->retry__hash != hash) {
        /* filled, not set up: operations may still use its client */
        retry__budget_add(&found->budget, found->budget.options.capacity,
                          retry__subtract(retry__budget_first(&scopes->options),
                                          retry_budget_balance(&found->budget)));
        retry__store(&found->budget.retry__owed, 0);
        found->retry__hash = hash;
    }
    found->retry__seen = now;
    return &found->client;
}

/* ---- Policies and budgets from text -------------------------------------------------------- */

/* Presets, X(name, its numbers); the first is the default. "aws-2026" goes before "aws". */
#define RETRY__POLICY_PRESETS(X)         \
    X("best-effort", RETRY__BEST_EFFORT) \
    X("smithy", RETRY__SMITHY)           \
    X("aws-2026", RETRY__AWS_2026)       \
    X("aws", RETRY__AWS)                 \
    X("grpc", RETRY__GRPC)               \
    X("rfc0049", RETRY__RFC0049)         \
    X("controlled", RETRY__LADDER)
#define RETRY__BUDGET_PRESETS(X)                                               \
    X("none", RETRY__BUDGET_OF(UINT32_MAX, 0, 0, 0, 0, 0, false, false, 0, 0)) \
    X("best-effort", RETRY_BUDGET_BEST_EFFORT(1))                              \
    X("smithy", RETRY_BUDGET_SMITHY)                                           \
    X("aws-2026", RETRY_BUDGET_AWS_2026)                                       \
    X("aws", RETRY_BUDGET_AWS)                                                 \
    X("grpc", RETRY_BUDGET_GRPC)

/* Keys, X(its number, name, kind of value, field). */
#define RETRY__POLICY_KEYS(X)                                        \
    X(ATTEMPTS, "attempts", WHOLE, max_attempts)                     \
    X(CURVE, "curve", CURVE, backoff.curve)                          \
    X(JITTER, "jitter", JITTER, backoff.jitter)                      \
    X(MIN, "min", DURATION, backoff.min)                             \
    X(INITIAL, "initial", DURATION, backoff.initial)                 \
    X(MAX, "max", DURATION, backoff.max)                             \
    X(FACTOR, "factor", FACTOR, backoff.factor)                      \
    X(SPREAD, "spread", RATIO, backoff.spread)                       \
    X(THROTTLED, "throttled", DURATION, throttle_backoff.initial)    \
    X(AFTER_MAX, "retry-after-max", DURATION, retry_after_max)       \
    X(AFTER_SLACK, "retry-after-slack", DURATION, retry_after_slack) \
    X(AFTER_SPREAD, "retry-after-spread", RATIO, retry_after_spread)
#define RETRY__BUDGET_KEYS(X)                                            \
    X(CAPACITY, "capacity", TOKENS, options.capacity)                    \
    X(COST, "cost", TOKENS, options.retry_cost)                          \
    X(TIMEOUT_COST, "timeout-cost", TOKENS, options.timeout_cost)        \
    X(THROTTLE_COST, "throttle-cost", TOKENS, options.throttle_cost)     \
    X(SUCCESS, "success", TOKENS, options.success_deposit)               \
    X(REQUEST, "request", TOKENS, options.request_deposit)               \
    X(PER_SECOND, "per-second", TOKENS, options.refill_per_second)       \
    X(FLOOR, "floor", TOKENS, options.floor)                             \
    X(EXPIRE, "expire", DURATION, options.expire)                        \
    X(BASE, "base-per-second", TOKENS, options.base_per_second)          \
    X(REFUND_LAST, "refund-last", BOOL, options.refund_last)             \
    X(CHARGE_FAILURES, "charge-failures", BOOL, options.charge_failures) \
    X(IN_FLIGHT, "in-flight", WHOLE, in_flight)

#define RETRY__X(key, name, kind, member) RETRY__AT_##key,
enum { RETRY__POLICY_KEYS(RETRY__X) RETRY__POLICY_KEY_COUNT };
enum { RETRY__BUDGET_KEYS(RETRY__X) RETRY__BUDGET_KEY_COUNT };
#undef RETRY__X

/* Kinds of value: numbers, then names. */
enum { RETRY__IS_WHOLE, RETRY__IS_TOKENS, RETRY__IS_RATIO, RETRY__IS_FACTOR, RETRY__IS_DURATION };
enum { RETRY__IS_CURVE = RETRY__IS_DURATION + 1, RETRY__IS_JITTER, RETRY__IS_BOOL };

/* What a preset of policies says, in a fifth of the size of RETRY_POLICY_x. */
typedef struct retry__preset {
    uint8_t curve, jitter, min, attempts;
    uint16_t initial, throttled, throttled_max, after_max, after_slack;
    uint32_t max, factor;
} retry__preset;

/* What keys set of a budget. */
typedef struct retry__budget_text {
    retry_budget_options options;
    uint32_t in_flight; /* operations at once, for best-effort's capacity */
} retry__budget_text;

/* A key's kind of value, and where in its struct the field is. */
typedef struct retry__field {
    uint8_t kind, offset;
} retry__field;

typedef char retry__answers_fit_a_byte[sizeof(bool) == 1 ? 1 : -1];

/* What is said of an unknown word, where in it presets and keys begin, and what the keys set. */
typedef struct retry__language {
    const char *unknown, *presets, *keys;
    const retry__field *fields;
} retry__language;

#define RETRY__PRESETS_ARE "unknown word; presets are"
#define RETRY__PRESET_NAME(name, ...) " " name
#define RETRY__KEY_NAME(key, name, kind, member) " " name "="

static const char retry__policy_words[] = RETRY__PRESETS_ARE RETRY__POLICY_PRESETS(
    RETRY__PRESET_NAME) "; keys are" RETRY__POLICY_KEYS(RETRY__KEY_NAME);
#define RETRY__X(key, name, kind, member) {RETRY__IS_##kind, offsetof(retry_policy, member)},
static const retry__field retry__policy_fields[] = {RETRY__POLICY_KEYS(RETRY__X)};
#undef RETRY__X
static const retry__language retry__policies = {
    retry__policy_words, retry__policy_words + sizeof RETRY__PRESETS_ARE - 1,
    retry__policy_words + sizeof retry__policy_words - sizeof(RETRY__POLICY_KEYS(RETRY__KEY_NAME)),
    retry__policy_fields};

static const char retry__budget_words[] = RETRY__PRESETS_ARE RETRY__BUDGET_PRESETS(
    RETRY__PRESET_NAME) "; keys are" RETRY__BUDGET_KEYS(RETRY__KEY_NAME);
#define RETRY__X(key, name, kind, member) {RETRY__IS_##kind, offsetof(retry__budget_text, member)},
static const retry__field retry__budget_fields[] = {RETRY__BUDGET_KEYS(RETRY__X)};
#undef RETRY__X
static const retry__language retry__budgets = {
    retry__budget_words, retry__budget_words + sizeof RETRY__PRESETS_ARE - 1,
    retry__budget_words + sizeof retry__budget_words - sizeof(RETRY__BUDGET_KEYS(RETRY__KEY_NAME)),
    retry__budget_fields};

/* Functions that read a part of a text return what is wrong with it, or NULL. */

static const char retry__null[] = "a NULL argument";
static const char retry__no_number[] = "not a number";
static const char retry__out_of_range[] = "out of range";

/* Digits, and behind a point up to so many decimals. */
static const char *retry__scan_decimal(retry__scan *scan, uint32_t decimals, uint32_t *whole,
                                       uint32_t *billionths)
{
    uint32_t digit, place;
    *billionths = *whole = 0;
    if ((decimals == 0 || scan->left == 0 || *scan->text != '.') && /* .5s */
        !retry__scan_digit(scan, whole))
        return retry__no_number;
    while (retry__scan_digit(scan, &digit)) {
        if (*whole > UINT32_MAX / 10 || *whole * 10 > UINT32_MAX - digit)
            return retry__out_of_range;
        *whole = *whole * 10 + digit;
    }
    if (decimals != 0 && retry__scan_literal(scan, '.')) {
        if (!retry__scan_digit(scan, billionths))
            return retry__no_number;
        for (place = 1; place < 9; place++) {
            if (place >= decimals || !retry__scan_digit(scan, &digit))
                digit = 0;
            *billionths = *billionths * 10 + digit;
        }
    }
    if (scan->left != 0 && (*scan->text == '.' || retry__scan_digit(scan, &digit)))
        return decimals == 0 ? "not a whole number" : "too many decimals";
    return NULL;
}

/* What is kept of a number of which `scale` is kept for 1. */
RETRY__ONCE uint64_t retry__scaled(uint32_t whole, uint32_t billionths, uint32_t scale,
                                   uint32_t round)
{
    return retry__product(whole, scale) +
           retry__quotient(retry__product(billionths, scale) + round, 1000000000);
}

/* ms of one number or more, whose units fall in size, each rounded up; a lone one has no unit. */
RETRY__INLINE const char *retry__parse_time(retry__scan *value, uint32_t *ms)
{
    static const char units[] = "units: d h m s ms us ns, each smaller than the last";
    static const char names[] = " ns us \302\265s \316\274s ms s m h d"; /* U+00B5, U+03BC */
    static const uint32_t parts[] = {1000000, 1000};                     /* of a ms */
    static const uint32_t scales[] = {1, 1000, 60000, 3600000, 86400000};
    uint32_t whole, billionths, unit, last = 9;
    uint64_t sum = 0;
    do {
        const char *fault = retry__scan_decimal(value, 9, &whole, &billionths);
        if (fault)
            return last != 9 && fault == retry__no_number ? units : fault; /* 5min */
        unit = 4;
        if ((value->left != 0 || last != 9) && !retry__scan_name(value, names, &unit))
            return units;
        if (unit == 2 || unit == 3)
            unit = 1;
        if (unit >= last)
            return units;
        sum += unit < 2 ? retry__quotient((uint64_t)whole + (billionths != 0) + parts[unit] - 1,
                                          parts[unit])
                        : retry__scaled(whole, billionths, scales[unit - 4], 999999999);
        if (sum > UINT32_MAX)
            return retry__out_of_range;
        last = unit;
        while (retry__scan_literal(value, ' '))
            continue;
    } while (value->left != 0);
    *ms = (uint32_t)sum;
    return NULL;
}

RETRY__ONCE const char *retry__parse_number(retry__scan *value, uint32_t kind, uint32_t *number)
{
    /* of each kind: decimals at most, and what is kept for 1 */
    static const uint8_t decimals[] = {0, 3, 9, 9};
    static const uint32_t scales[] = {1, 1000, 65536, 65536};
    bool is_ratio = kind == RETRY__IS_RATIO || kind == RETRY__IS_FACTOR;
    uint32_t rounding = is_ratio ? 500000000 : 999999999; /* to the nearest, or up */
    uint32_t whole, billionths;
    uint64_t scaled;
    const char *fault;
    if (kind == RETRY__IS_DURATION)
        return retry__parse_time(value, number);
    fault = retry__scan_decimal(value, decimals[kind], &whole, &billionths);
    if (fault)
        return fault;
    if (value->left != 0)
        return retry__no_number;
    scaled = retry__scaled(whole, billionths, scales[kind], rounding);
    if (scaled > UINT32_MAX)
        return retry__out_of_range;
    if (kind == RETRY__IS_FACTOR && whole == 0 && billionths != 0)
        scaled = 1; /* below 1, which is wrong, and neither 1 nor 0, the default */
    *number = (uint32_t)scaled;
    return NULL;
}

static const char *retry__parse_value(retry__scan *value, uint8_t kind, unsigned char *into)
{
#define RETRY__ONE_OF "not one of these:"
    static const char curves[] = RETRY__ONE_OF " exponential constant controlled";
    static const char jitters[] = RETRY__ONE_OF " full equal spread decorrelated none";
    static const char booleans[] = RETRY__ONE_OF " no yes";
    static const char *const names[] = {curves, jitters, booleans};
    uint32_t index;
    if (kind < RETRY__IS_CURVE)
        return retry__parse_number(value, kind, (uint32_t *)(void *)into);
    if (!retry__scan_name(value, names[kind - RETRY__IS_CURVE] + sizeof RETRY__ONE_OF - 1,
                          &index) ||
        value->left != 0)
        return names[kind - RETRY__IS_CURVE];
    *into = (uint8_t)(index + (kind == RETRY__IS_JITTER)); /* whose 0 is the default */
    return NULL;
#undef RETRY__ONE_OF
}

static bool retry__separates(char c)
{
    return retry__is_space(c) || c == ',';
}

/* Cuts the next word off the text; false if there is none. */
static bool retry__scan_word(retry__scan *text, retry__scan *word)
{
    size_t length = 0;
    while (text->left != 0 && retry__separates(*text->text))
        retry__scan_skip(text, 1);
    while (length < text->left && !retry__separates(text->text[length]))
        length++;
    word->text = text->text;
    word->left = length;
    retry__scan_skip(text, length);
    return length != 0;
}

static bool retry__is_preset(retry__scan *word, const retry__language *language, uint32_t *preset)
{
    return retry__scan_name(word, language->presets, preset) && word->left == 0;
}

/* The preset that the text begins with, which is cut off; 0 for an empty text; else `otherwise`. */
static uint32_t retry__parse_preset(retry__scan *text, const retry__language *language,
                                    uint32_t otherwise)
{
    retry__scan rest = *text, word;
    uint32_t preset;
    if (!retry__scan_word(&rest, &word))
        return 0;
    if (!retry__is_preset(&word, language, &preset))
        return otherwise;
    *text = rest;
    return preset;
}

/* Sets fields by keys; at[key] is where its value begins. What is wrong then begins the text. */
static const char *retry__parse_fields(retry__scan *text, const retry__language *language,
                                       const char **at, void *into)
{
    const char *fault = NULL;
    retry__scan word;
    uint32_t key;
    while (!fault && retry__scan_word(text, &word)) {
        const char *where = word.text;
        if (!retry__scan_name(&word, language->keys, &key)) {
            fault = retry__is_preset(&word, language, &key) ? "a preset must come first"
                                                            : language->unknown;
        } else if (at[key]) {
            fault = "key given twice";
        } else {
            const retry__field *field = &language->fields[key];
            at[key] = where = word.text;
            fault = retry__parse_value(&word, field->kind, (unsigned char *)into + field->offset);
        }
        if (fault)
            text->text = where;
    }
    return fault;
}

/* Begins to read a text into a struct; false for a NULL argument. */
RETRY__ONCE bool retry__scan_begin(retry__scan *scan, const char *text, size_t length,
                                   const void *into)
{
    scan->text = text ? text : "";
    scan->left = length;
    return into && (text || length == 0);
}

/* False if there is a fault. */
RETRY__ONCE bool retry__parsed(retry_text_error *error, size_t offset, const char *fault)
{
    if (fault && error) {
        error->offset = offset;
        error->text = fault;
    }
    return !fault;
}

/* Of two values the one that comes later in the text; NULL comes before all. */
RETRY__ONCE const char *retry__later(const char *a, const char *b)
{
    return !a || (b && b > a) ? b : a;
}

/* What makes no sense of a policy, and where. */
static const char *retry__policy_sense(const retry_policy *policy, const char *const *at,
                                       const char **where)
{
    const retry_backoff *backoff = &policy->backoff;
    retry_ms max = retry__or(backoff->max, UINT32_MAX);
    retry_ms throttled = policy->throttle_backoff.initial;
    retry_ms throttled_max = policy->throttle_backoff.max;
    bool given = at[RETRY__AT_MAX] != NULL;
    *where = retry__later(at[RETRY__AT_MIN], at[RETRY__AT_MAX]);
    if (backoff->min > max)
        return "min above max";
    *where = retry__later(at[RETRY__AT_INITIAL], at[RETRY__AT_MAX]);
    if (backoff->initial > max)
        return "initial above max";
    *where = retry__later(at[RETRY__AT_THROTTLED], at[RETRY__AT_MAX]);
    if (at[RETRY__AT_THROTTLED] && throttled_max != 0 && throttled > throttled_max)
        return given ? "throttled above max" : "throttled above max: set max=, too";
    *where = retry__later(at[RETRY__AT_THROTTLED], at[RETRY__AT_INITIAL]);
    if (at[RETRY__AT_THROTTLED] && throttled != 0 && throttled < backoff->initial)
        return "throttled below initial";
    *where = at[RETRY__AT_FACTOR];
    if (backoff->factor != 0 && backoff->factor < RETRY_RATIO(1))
        return "factor below 1";
    *where = at[RETRY__AT_SPREAD];
    if (*where && backoff->jitter != RETRY_JITTER_SPREAD)
        return "spread without jitter=spread";
    if (*where && backoff->spread == 0)
        return "a spread of 0: use jitter=none";
    return NULL;
}

static const retry__preset *retry__policy_preset(retry_policy *policy, retry__scan *text)
{
#define RETRY__PRESET(...) {__VA_ARGS__},
#define RETRY__X(name, numbers) numbers(RETRY__PRESET)
    static const retry__preset presets[] = {RETRY__POLICY_PRESETS(RETRY__X)};
#undef RETRY__X
#undef RETRY__PRESET
    static const retry_policy plain =
        RETRY__POLICY_OF(retry_policy_after, RETRY_BACKOFF_DEFAULT, RETRY_BACKOFF_DEFAULT, 0, 0, 0);
    const retry__preset *preset = &presets[retry__parse_preset(text, &retry__policies, 0)];
    *policy = plain;
    policy->backoff.curve = preset->curve;
    policy->backoff.jitter = preset->jitter;
    policy->backoff.min = preset->min;
    policy->backoff.initial = preset->initial;
    policy->backoff.max = preset->max;
    policy->backoff.factor = preset->factor;
    policy->throttle_backoff.initial = preset->throttled;
    policy->max_attempts = preset->attempts;
    policy->retry_after_max = preset->after_max;
    policy->retry_after_slack = preset->after_slack;
    policy->retry_after_spread = RETRY__SPREAD(preset->after_max, preset->after_slack);
    return preset;
}

RETRY_API bool retry_parse_policy(retry_policy *policy, const char *text, size_t length,
                                  retry_text_error *error)
{
    const char *at[RETRY__POLICY_KEY_COUNT] = {NULL}, *fault;
    retry_policy parsed;
    retry__scan scan;
    const retry__preset *preset;
    retry_ms throttled;
    if (!retry__scan_begin(&scan, text, length, policy))
        return retry__parsed(error, 0, retry__null);
    preset = retry__policy_preset(&parsed, &scan);
    fault = retry__parse_fields(&scan, &retry__policies, at, &parsed);
    if (parsed.backoff.curve == RETRY_CURVE_TABLE) { /* "controlled" */
        parsed.backoff.table = retry__controlled;
        parsed.backoff.table_length = 6;
    }
    if (!at[RETRY__AT_MAX] && parsed.backoff.max != 0) /* the preset's is for its own initial */
        parsed.backoff.max = retry__max(parsed.backoff.max, parsed.backoff.initial);
    throttled = parsed.throttle_backoff.initial;
    if (throttled != 0) { /* all else is as after other failures */
        parsed.throttle_backoff = parsed.backoff;
        parsed.throttle_backoff.initial =
            at[RETRY__AT_THROTTLED] ? throttled : retry__max(throttled, parsed.backoff.initial);
        if (preset->throttled_max != 0 && parsed.backoff.max == preset->max) /* said or not */
            parsed.throttle_backoff.max = preset->throttled_max;
    }
    if (at[RETRY__AT_AFTER_SPREAD] && parsed.retry_after_spread == 0)
        parsed.retry_after_spread = 1; /* none */
    if (!fault)
        fault = retry__policy_sense(&parsed, at, &scan.text);
    if (!fault)
        *policy = parsed;
    return retry__parsed(error, (size_t)(scan.text - text), fault);
}

/* Whether the full bucket pays for the cheapest retry. */
static bool retry__budget_ever_pays(const retry_budget_options *options)
{
    uint32_t most = options->capacity, cost = options->retry_cost;
    if ((options->success_deposit | options->request_deposit | options->refill_per_second) == 0)
        most = retry__budget_first(options);
    if (options->timeout_cost != 0)
        cost = retry__min(cost, options->timeout_cost);
    if (options->throttle_cost != 0)
        cost = retry__min(cost, options->throttle_cost);
    if (options->charge_failures)
        return retry__subtract(most, cost) > options->floor;
    return retry__budget_pays(options, most, cost);
}

/* What makes no sense of a budget, and where. */
static const char *retry__budget_sense(const retry_budget_options *options, const char *const *at,
                                       bool best_effort, const char **where)
{
    *where = at[RETRY__AT_IN_FLIGHT];
    if (*where && (!best_effort || at[RETRY__AT_CAPACITY]))
        return "in-flight is for best-effort without capacity=";
    *where = retry__later(retry__later(at[RETRY__AT_CAPACITY], at[RETRY__AT_IN_FLIGHT]),
                          retry__later(at[RETRY__AT_COST], at[RETRY__AT_FLOOR]));
    if (!retry__budget_ever_pays(options))
        return "never pays for a retry";
    if (options->capacity != UINT32_MAX &&
        (options->retry_cost | options->timeout_cost | options->throttle_cost) == 0)
        return "a capacity and no cost";
    return NULL;
}

RETRY_API bool retry_parse_budget(retry_budget_options *options, const char *text, size_t length,
                                  retry_text_error *error)
{
#define RETRY__X(name, ...) __VA_ARGS__,
    static const retry_budget_options presets[] = {
        RETRY__BUDGET_PRESETS(RETRY__X) RETRY__BUDGET(0, 1, 0, 0, 0, 0, false, false)};
#undef RETRY__X
    const uint32_t best_effort = 1, grpc = 5, own = 6;
    const char *at[RETRY__BUDGET_KEY_COUNT] = {NULL}, *fault;
    retry__budget_text parsed;
    retry_budget_options *read = &parsed.options;
    retry__scan scan;
    uint32_t preset;
    if (!retry__scan_begin(&scan, text, length, options))
        return retry__parsed(error, 0, retry__null);
    preset = retry__parse_preset(&scan, &retry__budgets, own);
    *read = presets[preset];
    parsed.in_flight = 1;
    fault = retry__parse_fields(&scan, &retry__budgets, at, &parsed);
    read->capacity = retry__multiply(read->capacity, parsed.in_flight);
    if (preset == grpc && at[RETRY__AT_CAPACITY] && !at[RETRY__AT_FLOOR])
        read->floor = read->capacity >> 1;
    if (!fault && preset == own && !at[RETRY__AT_CAPACITY])
        fault = "no preset and no capacity=";
    else if (!fault)
        fault = retry__budget_sense(read, at, preset == best_effort, &scan.text);
    if (!scan.text) /* of a fault that no word stands for */
        scan.text = text;
    if (!fault)
        *options = *read;
    return retry__parsed(error, (size_t)(scan.text - text), fault);
}

RETRY_API bool retry_parse_duration(const char *text, size_t length, retry_ms *duration,
                                    retry_text_error *error)
{
    const char *fault = retry__null;
    retry__scan scan;
    if (retry__scan_begin(&scan, text, length, duration)) {
        retry__scan_trim(&scan);
        fault = retry__parse_number(&scan, RETRY__IS_DURATION, duration);
    }
    return retry__parsed(error, 0, fault);
}

#ifdef __cplusplus
}
#endif

#endif /* RETRY_IMPLEMENTATION */

#ifndef RETRY_SYSTEM_CLOCK /* a sentence in the place of "did you mean"; undone above */
#define retry_system_clock() define_RETRY_SYSTEM_CLOCK_before_the_include_of_retry_h()
#endif

/*
   MIT License

   Copyright (c) 2026 The retry.h authors

   Permission is hereby granted, free of charge, to any person obtaining a copy of this software
   and associated documentation files (the "Software"), to deal in the Software without
   restriction, including without limitation the rights to use, copy, modify, merge, publish,
   distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
   Software is furnished to do so, subject to the following conditions:

   The above copyright notice and this permission notice shall be included in all copies or
   substantial portions of the Software.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING
   BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
   NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
   DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
   OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/
