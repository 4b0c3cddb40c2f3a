/* nodes.c: several nodes that can do the same, one of which goes dark. Reads PATHs, one in a line,
   and prints how each GET ended. With "spare" the first is the primary, and the others are spares.
       cc -o nodes examples/recipes/nodes.c -lcurl
       echo / | ./nodes http://localhost:8001 http://localhost:8002 http://localhost:8003 [spare] */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <stdio.h>
#include <stdlib.h>

#include "http.h"

enum { NODES = 3 };
static retry_service service; /* one for all nodes */
static char **urls;           /* of the nodes */
static http_call calls[NODES];

static bool attempt(void *path, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    char url[512];
    (void)op;
    snprintf(url, sizeof url, "%s%s", urls[step->node], (const char *)path);
    return http_get(&calls[step->node], url, step->timeout, failure);
}

int main(int argc, char **argv)
{
    const retry_clock clock = retry_system_clock();
    char path[256];
    bool spare = argc == 2 + NODES;
    if (argc != 1 + NODES && !spare)
        return 2;
    urls = argv + 1;
    service.client.cut_after = 1000; /* ms */
    /* README: */
    static retry_gates nodes[NODES];       /* one for each node */
    static retry_aimd limits[NODES];       /* as these */
    service.client.attempt_timeout = 1000; /* ms; leaves time to ask another node */
    retry_client_nodes(&service.client, nodes, NODES);
    retry_service_init(&service, clock.now(clock.context));
    for (uint16_t i = 0; i < NODES; i++) {
        retry_gates_aimd(&nodes[i], &limits[i]);
        nodes[i].rank = spare ? i : 0; /* a primary and spares, or all share */
    }
    /* in the callback: step->node says where to send */
    /* end */
    for (int i = 0; i < NODES; i++)
        calls[i].other = true;
    while (scanf("%255s", path) == 1) {
        retry_operation op;
        memset(&op, 0, sizeof op);
        op.timeout = 5000; /* ms */
        op.idempotent = true;
        retry_step end = retry_run(&op, &service, &clock, attempt, path);
        printf("%s %s\n", end.verdict == RETRY_VERDICT_SUCCESS ? "done" : "failed", path);
    }
}
