/* app.c: a program outside the repository, in one file, that has found both headers. It
   prints the version that it was built with, and a decision. C and C++. */
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
    retry_request request;
    retry_decision decision;
    if (errmap_parse(&map, json, sizeof json - 1, entries, 1, NULL) != ERRMAP_OK)
        return 2;
    advice = errmap_classify_kv(&map, 0x82, 0x01);
    memset(&request, 0, sizeof request);
    request.timeout = 2500;
    retry_begin(&request, 0);
    decision = retry_orchestrate(&request, &advice.failure, 10);
    printf("%d.%d.%d %s %s\n", RETRY_VERSION_MAJOR, RETRY_VERSION_MINOR, RETRY_VERSION_PATCH,
           retry_verdict_name(decision.verdict), retry_reason_name(advice.failure.reason));
    return decision.verdict == RETRY_VERDICT_RETRY && retry_version() == RETRY_VERSION ? 0 : 1;
}
