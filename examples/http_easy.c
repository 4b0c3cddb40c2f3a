/* http_easy.c: libcurl's easy interface under retry_run, one request after another.

   Reads METHOD URL from each line of its input and prints how that ended: done, failed, or perhaps
   done (its answer is lost and it must not be sent twice; `./http_easy careless` sends it anyway).

       cc -o http_easy examples/http_easy.c -lcurl
       echo GET http://localhost/ | ./http_easy
       make http_easy        on a real nginx that hangs up, freezes, dies and comes back */
#define _POSIX_C_SOURCE 200809L
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

enum { OPERATION_TIMEOUT = 10000, ATTEMPT_TIMEOUT = 1000 }; /* ms */

static retry_clock steady; /* the system's */

/* No answer came: why, and had anything been sent? */
static retry_failure classify_transport(CURL *curl, CURLcode code)
{
    retry_failure failure = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    curl_off_t connected = 0; /* us until the request was about to be sent; 0: it never was */
    curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &connected);
    if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
        failure.reason = RETRY_REASON_NONE; /* trying again does not cure it */
    else if (connected == 0)
        failure.reason = RETRY_REASON_SOCKET_NOT_AVAILABLE;
    else if (code == CURLE_OPERATION_TIMEDOUT)
        failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
    failure.timeout = code == CURLE_OPERATION_TIMEDOUT;
    return failure;
}

static bool attempt(void *context, const retry_request *request, retry_ms timeout,
                    retry_failure *failure)
{
    (void)timeout;
    CURL *curl = context;
    long status = 0;
    curl_off_t retry_after = 0; /* s; libcurl reads both forms of the header */
    retry_ms left = retry_remaining(request, ATTEMPT_TIMEOUT, steady.now(steady.context));
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(left ? left : 1)); /* 0 would be no limit */
    bool header_complete = false; /* libcurl takes one that was cut off for an answer */
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &header_complete);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after);
    if (code == CURLE_OK && header_complete && status < 400)
        return true;
    if (retry_after > 3600)
        retry_after = 3600; /* nobody here waits that long */
    *failure = code == CURLE_OK && header_complete
                   ? retry_classify_http((int)status, (retry_ms)retry_after * 1000)
                   : classify_transport(curl, code);
    return false;
}

static void show(void *context, const retry_request *request, const retry_failure *failure,
                 const retry_decision *decision)
{
    char line[240];
    (void)context;
    if (!failure) /* it worked */
        return;
    retry_format(line, sizeof line, request, failure, decision);
    printf("    %s\n", line);
}

static size_t on_header(char *line, size_t size, size_t count, void *context)
{
    *(bool *)context = size * count <= 2 && line[0] != ' '; /* the empty line at its end */
    return size * count;
}

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
    (void)data; /* yours to use, once the request is done */
    (void)context;
    return size * count;
}

static void fetch(CURL *curl, const retry_client *client, bool careless, const char *method,
                  const char *url)
{
    retry_request request = {.client = client, .timeout = OPERATION_TIMEOUT};
    request.idempotent = careless || retry_idempotent_http(method, strlen(method));
    curl_easy_reset(curl); /* keeps the connections */
    curl_easy_setopt(curl, CURLOPT_URL, url);
    if (strcmp(method, "POST") == 0)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, ""); /* your data */
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_NOBODY, strcmp(method, "HEAD") == 0 ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    /* If a connection that it reuses turns out dead, libcurl sends again by itself, a POST too. */
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, request.idempotent ? 0L : 1L);
    retry_decision end = retry_run(&request, &steady, attempt, curl);
    if (end.verdict == RETRY_VERDICT_SUCCESS)
        printf("done %s %s\n", method, url);
    else
        printf("%s %s %s: %s\n", request.ambiguous ? "perhaps" : "failed", method, url,
               retry_cause_text(end.cause));
}

int main(int argc, char **argv)
{
    static const retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(1); /* in flight at once */
    retry_budget budget; /* one for each server; here all are one */
    retry_client client = {.budget = &budget, .observe = show};
    CURL *curl = curl_easy_init();
    char line[2100], method[16], url[2048];
    setvbuf(stdout, NULL, _IOLBF, 0);
    steady = retry_system_clock();
    retry_budget_init(&budget, &options, steady.now(steady.context));
    while (curl && fgets(line, sizeof line, stdin))
        if (sscanf(line, "%15s %2047s", method, url) == 2)
            fetch(curl, &client, argc > 1 && strcmp(argv[1], "careless") == 0, method, url);
    curl_easy_cleanup(curl);
    return !curl;
}
