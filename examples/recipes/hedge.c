/* hedge.c: a second copy of a late attempt, to another node, in a loop of libcurl's multi
   interface. Sends COUNT times GET, one after another, and prints how each ended.
       cc -o hedge examples/recipes/hedge.c -lcurl
       ./hedge 1000 http://localhost:8001/ http://localhost:8002/ */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <stdio.h>
#include <stdlib.h>

#include "http.h"

enum { NODES = 2 };
static retry_service service; /* one for both nodes */
static retry_gates nodes[NODES];
static retry_aimd limits[NODES];
static http_call calls[2]; /* of each copy */
static CURLM *multi;
static char **urls; /* of the nodes */

static retry_time now(void)
{
    return retry_system_clock().now(NULL);
}

/* Waits until something happens, for at most so long. */
static void wait_for_answers(retry_operation *op, retry_ms delay)
{
    int count;
    curl_multi_poll(multi, NULL, 0, delay > INT32_MAX ? INT32_MAX : (int)delay, NULL);
    curl_multi_perform(multi, &count);
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &count)) != NULL;) {
        unsigned copy = message->easy_handle == calls[0].curl ? 0 : 1;
        CURLcode code = message->data.result; /* lost with the handle */
        retry_failure failure;
        memset(&failure, 0, sizeof failure);
        curl_multi_remove_handle(multi, calls[copy].curl);
        bool done = http_ended(&calls[copy], code, &failure);
        retry_ended(op, copy, done ? NULL : &failure, now());
    }
}

static bool get(int number)
{
    char url[512];
    retry_operation op;
    memset(&op, 0, sizeof op);
    op.timeout = 5000; /* ms */
    /* README: */
    op.idempotent = true; /* only such operations are sent twice */
    retry_copy copies[1]; /* the second one; both of these for each operation */
    retry_hedge hedge;
    memset(copies, 0, sizeof copies);
    memset(&hedge, 0, sizeof hedge);
    hedge.copies = copies;
    hedge.count = 1;
    hedge.delay = 50; /* ms; within this 95 of 100 answers arrive */
    retry_hedge_copies(&op, &hedge);
    retry_start(&op, &service, now());
    /* end */
    for (;;) {
        retry_step step = retry_next(&op, now());
        switch (step.what) {
        case RETRY_DO_SEND: /* step.copy is 0 or 1, each has a handle of its own */
            snprintf(url, sizeof url, "%s?%d", urls[step.node], number);
            http_prepare(&calls[step.copy], url);
            curl_multi_add_handle(multi, calls[step.copy].curl);
            break;
        case RETRY_DO_CANCEL: /* the other copy has won, or its time is over */
            curl_multi_remove_handle(multi, calls[step.copy].curl);
            break;
        case RETRY_DO_WAIT:
            wait_for_answers(&op, step.delay); /* calls retry_ended with the copy's number */
            break;
        default:
            return step.verdict == RETRY_VERDICT_SUCCESS;
        }
    }
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 0;
    if (argc != 2 + NODES)
        return 2;
    urls = argv + 2;
    multi = curl_multi_init();
    service.client.cut_after = 1000; /* ms */
    retry_client_nodes(&service.client, nodes, NODES);
    retry_service_init(&service, now());
    for (int i = 0; i < NODES; i++)
        retry_gates_aimd(&nodes[i], &limits[i]);
    for (int i = 0; i < count; i++)
        printf("%s %d\n", get(i) ? "done" : "failed", i);
}
