/* http.c: calls an HTTP API by libcurl. Reads METHOD URL from each line of its input, or METHOD URL
   KEY for a server that knows Idempotency-Key, and prints how that ended: done, failed, or perhaps
   done. MKCOL creates what has a name of its own. After SIGTERM it ends what is under way at its
   next wait, and says how that ended, too.
       cc -o http examples/recipes/http.c -lcurl
       echo GET http://localhost/ | ./http */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "http.h"

static retry_service service; /* one for each server; here all are one */
static retry_operation *under_way;
static http_call call;
static bool creates;  /* what nobody else creates: a 409 says that it is there */
static sigset_t term; /* SIGTERM, which waits while an operation is under way */

/* The clock's sleep: SIGTERM ends it, and the operation. */
static void sleep_unless_told(void *context, retry_ms delay)
{
    struct timespec rest = {(time_t)(delay / 1000), (long)(delay % 1000) * 1000000};
    (void)context;
    if (sigtimedwait(&term, NULL, &rest) != SIGTERM)
        return;
    retry_stop(under_way, retry_system_clock().now(NULL));
    raise(SIGTERM); /* when nothing is under way any more */
}

static bool attempt(void *key, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    call.sent = call.headed = false;
    curl_easy_setopt(call.curl, CURLOPT_TIMEOUT_MS, (long)step->timeout);
    /* README: */
    if (http_ended(&call, curl_easy_perform(call.curl), failure)) /* in the callback */
        return true;
    if (creates && failure->code == 409 && op->ambiguous) /* an attempt before has worked */
        return true;
    /* end */
    if (failure->code == 409 && key) /* the same key is still at work: ask again */
        failure->reason = RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED;
    printf("    %s\n", retry_reason_name(failure->reason));
    return false;
}

static const char *send_request(const char *method, char *key)
{
    retry_clock clock = retry_system_clock();
    clock.sleep = sleep_unless_told;
    retry_operation op;
    memset(&op, 0, sizeof op);
    under_way = &op;
    creates = strcmp(method, "MKCOL") == 0;
    op.timeout = 10000; /* ms */
    /* README: */
    op.idempotent = key || creates || retry_idempotent_http(method, strlen(method)); /* GET, PUT */
    retry_step end = retry_run(&op, &service, &clock, attempt, key);
    if (end.verdict == RETRY_VERDICT_SUCCESS)
        return "done";
    /* end */
    if (end.verdict == RETRY_VERDICT_EXPIRE && op.failure.retry_after != 0) /* later than that */
        printf("    try again in %u s\n", (unsigned)(op.failure.retry_after / 1000));
    /* README: */
    return op.ambiguous ? "perhaps" : "failed";
    /* end */
}

int main(void)
{
    char line[2200], method[16], url[2048], key[64], header[96];
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    service.client.cut_after = 1000; /* ms */
    retry_service_init(&service, retry_system_clock().now(NULL));
    while (fgets(line, sizeof line, stdin)) {
        int words = sscanf(line, "%15s %2047s %63s", method, url, key);
        if (words < 2)
            continue;
        http_prepare(&call, url);
        curl_easy_setopt(call.curl, CURLOPT_CUSTOMREQUEST, method);
        curl_easy_setopt(call.curl, CURLOPT_FOLLOWLOCATION, 1L);
        if (strcmp(method, "POST") == 0)
            curl_easy_setopt(call.curl, CURLOPT_POSTFIELDS, ""); /* your data */
        snprintf(header, sizeof header, "Idempotency-Key: %s", words > 2 ? key : "");
        struct curl_slist *headers = words > 2 ? curl_slist_append(NULL, header) : NULL;
        curl_easy_setopt(call.curl, CURLOPT_HTTPHEADER, headers);
        sigprocmask(SIG_BLOCK, &term, NULL);
        printf("%s %s %s\n", send_request(method, words > 2 ? key : NULL), method, url);
        sigprocmask(SIG_UNBLOCK, &term, NULL);
        curl_slist_free_all(headers);
    }
    curl_easy_cleanup(call.curl);
}
