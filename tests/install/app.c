/* app.c: a program outside the repository, in one file, that has found both headers. It
   prints the version that it was built with, and what an operation does next. C and C++. */
#define RETRY_IMPLEMENTATION
#include "retry.h"
#include "errmap.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
    const char json[] =
        "{\"version\":2,\"revision\":1,\"errors\":{\"82\":{\"attrs\":[\"retry-now\"]}}}";
    errmap map;
    errmap_entry entries[1];
    errmap_advice advice;
    retry_client client;
    retry_operation op;
    retry_step step;
    if (errmap_parse(&map, json, sizeof json - 1, entries, 1, NULL) != ERRMAP_OK)
        return 2;
    advice = errmap_classify_kv(&map, 0x82, 0x01);
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    op.client = &client;
    op.timeout = 2500;
    retry_start(&op, NULL, 0);
    if (retry_next(&op, 0).what != RETRY_DO_SEND)
        return 2;
    retry_ended(&op, 0, &advice.failure, 10);
    step = retry_next(&op, 10);
    printf("%d.%d.%d %s %s\n", RETRY_VERSION_MAJOR, RETRY_VERSION_MINOR, RETRY_VERSION_PATCH,
           step.what == RETRY_DO_WAIT ? "waits after" : "ends after",
           retry_reason_name(advice.failure.reason));
    return step.what == RETRY_DO_WAIT && retry_version() == RETRY_VERSION ? 0 : 1;
}
