/* http_easy.c: libcurl's easy interface under retry_run, one request after another.

   Reads METHOD URL from each line of its input and prints how that ended: done, failed, or perhaps
   done (its answer is lost and it must not be sent twice; `./http_easy careless` sends it anyway).
   METHOD URL KEY sends an Idempotency-Key, for servers that know it: then a POST may be repeated.

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
#include <time.h>

enum { OPERATION_TIMEOUT = 10000, ATTEMPT_TIMEOUT = 1000 }; /* ms */

/* No answer came. Anything but a fault of the network another try does not cure: a bad certificate,
   a wrong URL ... */
static retry_failure classify_transport(CURL *curl, CURLcode code)
{
    static const CURLcode network[] = {CURLE_COULDNT_RESOLVE_PROXY,
                                       CURLE_COULDNT_RESOLVE_HOST,
                                       CURLE_COULDNT_CONNECT,
                                       CURLE_OPERATION_TIMEDOUT,
                                       CURLE_SSL_CONNECT_ERROR,
                                       CURLE_GOT_NOTHING,
                                       CURLE_SEND_ERROR,
                                       CURLE_RECV_ERROR,
                                       CURLE_PARTIAL_FILE,
                                       CURLE_HTTP2,
                                       CURLE_HTTP2_STREAM,
                                       CURLE_OK};
    retry_failure failure = {.timeout = code == CURLE_OPERATION_TIMEDOUT, .code = code};
    curl_off_t sent = 0; /* us until the request was about to be sent; 0: it never was */
    curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &sent);
    for (size_t i = 0; i < sizeof network / sizeof *network; i++)
        if (code == network[i])
            failure.reason = sent == 0         ? RETRY_REASON_SOCKET_NOT_AVAILABLE
                             : failure.timeout ? RETRY_REASON_ATTEMPT_TIMED_OUT
                                               : RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT;
    return failure;
}

/* ms that the server wants waited at least, by the headers that are in use; 0: it does not say. */
static retry_ms wanted_wait(CURL *curl)
{
    static const char *const in_ms[] = {"retry-after-ms", "x-ms-retry-after-ms",
                                        "x-amz-retry-after"};
    struct curl_header *header;
    retry_ms wait = 0;
    for (size_t i = 0; i < sizeof in_ms / sizeof *in_ms; i++)
        if (curl_easy_header(curl, in_ms[i], 0, CURLH_HEADER, -1, &header) == CURLHE_OK &&
            retry_parse_duration(header->value, strlen(header->value), &wait, NULL))
            return wait;
    if (curl_easy_header(curl, "retry-after", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
        retry_parse_retry_after(header->value, strlen(header->value), time(NULL), &wait);
    return wait;
}

static bool attempt(void *curl, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    long status = 0;
    bool header_complete = false; /* libcurl takes one that was cut off for an answer */
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)step->timeout);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &header_complete);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK || !header_complete)
        *failure = classify_transport(curl, code);
    else if (status >= 400)
        *failure = retry_classify_http((int)status, wanted_wait(curl));
    if (status == 409 && op->request.context) /* the same key is still at work: ask again */
        failure->reason = RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED;
    return code == CURLE_OK && header_complete && status < 400;
}

static void show(void *context, const retry_request *request, const retry_failure *failure,
                 const retry_decision *decision)
{
    char line[240];
    (void)context;
    if (failure && retry_format(line, sizeof line, request, failure, decision) > 0)
        printf("    %s\n", line);
}

/* One for each server; here all are one. */
static retry_service service = {.limit = {.max = 1}, /* one at a time */
                                .budget = {.options = RETRY_BUDGET_BEST_EFFORT(1)},
                                .client = {.observe = show, .attempt_timeout = ATTEMPT_TIMEOUT}};

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

static void fetch(CURL *curl, bool careless, const char *method, const char *url, char *key)
{
    char line[128];
    retry_operation op = {.request = {.client = &service.client, .timeout = OPERATION_TIMEOUT}};
    op.request.idempotent = careless || key || retry_idempotent_http(method, strlen(method));
    op.request.context = key;
    curl_easy_reset(curl); /* keeps the connections */
    curl_easy_setopt(curl, CURLOPT_URL, url);
    if (strcmp(method, "POST") == 0)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, ""); /* your data */
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_NOBODY, strcmp(method, "HEAD") == 0 ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    snprintf(line, sizeof line, "Idempotency-Key: %s", key ? key : "");
    struct curl_slist *headers = key ? curl_slist_append(NULL, line) : NULL;
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    /* If a connection that it reuses turns out dead, libcurl sends again by itself, a POST too. */
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, op.request.idempotent ? 0L : 1L);
    retry_clock clock = retry_system_clock();
    retry_step end = retry_run(&op, &clock, attempt, curl);
    curl_slist_free_all(headers);
    if (end.verdict == RETRY_VERDICT_SUCCESS)
        printf("done %s %s\n", method, url);
    else
        printf("%s %s %s: %s\n", op.request.ambiguous ? "perhaps" : "failed", method, url,
               retry_cause_text(end.cause));
}

int main(int argc, char **argv)
{
    CURL *curl = curl_easy_init();
    char line[2200], method[16], url[2048], key[64];
    bool careless = argc > 1 && strcmp(argv[1], "careless") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    service.budget.options.expire = 0; /* never: a single process may save its tokens */
    retry_service_init(&service, retry_system_clock().now(NULL));
    while (curl && fgets(line, sizeof line, stdin)) {
        int words = sscanf(line, "%15s %2047s %63s", method, url, key);
        if (words >= 2)
            fetch(curl, careless, method, url, words > 2 ? key : NULL);
    }
    curl_easy_cleanup(curl);
    return !curl;
}
