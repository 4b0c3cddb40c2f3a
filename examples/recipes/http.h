/* http.h: HTTP requests by libcurl for the recipes, and what has become of one in retry.h's words.
   Include retry.h first. It needs libcurl 7.83. */
#ifndef RECIPES_HTTP_H
#define RECIPES_HTTP_H

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct http_call {
    CURL *curl;  /* keeps its connection from request to request */
    bool other;  /* nodes can do the same: a bad certificate is this one's own (default: false) */
    bool sent;   /* or about to be */
    bool headed; /* a header came whole: libcurl takes one that was cut off for an answer */
} http_call;

static inline size_t http_on_header(char *line, size_t size, size_t count, void *call)
{
    if (size * count > 5 && memcmp(line, "HTTP/", 5) == 0) /* it begins, or another one does */
        ((http_call *)call)->headed = false;
    else if (size * count <= 2 && line[0] != ' ') /* the empty line */
        ((http_call *)call)->headed = true;
    return size * count;
}

static inline size_t http_on_body(char *data, size_t size, size_t count, void *context)
{
    (void)data; /* yours to use, once the request is done */
    (void)context;
    return size * count;
}

/* libcurl is about to send. If a connection that it reuses is dead, it would silently send again,
   even a POST. After an answer, such as a redirect, it may. */
static inline int http_on_send(void *context, char *ip, char *local, int port, int local_port)
{
    http_call *call = (http_call *)context;
    bool again = call->sent && !call->headed;
    (void)ip, (void)local, (void)port, (void)local_port;
    call->sent = true;
    call->headed = false;
    return again ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* A GET, until you set more. */
static inline void http_prepare(http_call *call, const char *url)
{
    if (!call->curl && (call->curl = curl_easy_init()) == NULL)
        abort();
    curl_easy_reset(call->curl);
    curl_easy_setopt(call->curl, CURLOPT_URL, url);
    curl_easy_setopt(call->curl, CURLOPT_HEADERFUNCTION, http_on_header);
    curl_easy_setopt(call->curl, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(call->curl, CURLOPT_WRITEFUNCTION, http_on_body);
    curl_easy_setopt(call->curl, CURLOPT_PREREQFUNCTION, http_on_send);
    curl_easy_setopt(call->curl, CURLOPT_PREREQDATA, call);
    call->sent = call->headed = false;
}

static inline bool http_may_pass(CURLcode code)
{
    /* clang-format off */
    /* Another try may help. CURLE_OK: the connection was closed within the header. */
    static const CURLcode may_pass[] = {
        CURLE_OK, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
        CURLE_OPERATION_TIMEDOUT, CURLE_SSL_CONNECT_ERROR, CURLE_GOT_NOTHING, CURLE_SEND_ERROR,
        CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP2, CURLE_HTTP2_STREAM,
        CURLE_ABORTED_BY_CALLBACK};
    /* clang-format on */
    for (size_t i = 0; i < sizeof may_pass / sizeof *may_pass; i++)
        if (may_pass[i] == code)
            return true;
    return false;
}

/* ms that the server wants waited; 0: it does not say. */
static inline retry_ms http_retry_after(CURL *curl)
{
    struct curl_header *header;
    int64_t date = time(NULL); /* or what the server's own clock shows, by which it means dates */
    retry_ms wait = 0;
    if (curl_easy_header(curl, "Date", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
        retry_parse_http_date(header->value, strlen(header->value), date, &date);
    if (curl_easy_header(curl, "Retry-After", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
        retry_parse_retry_after(header->value, strlen(header->value), date, &wait);
    return wait;
}

/* Whether the request worked. If not, why goes into *failure, which is zeroed. */
static inline bool http_ended(const http_call *call, CURLcode code, retry_failure *failure)
{
    long status = 0;
    curl_easy_getinfo(call->curl, CURLINFO_RESPONSE_CODE, &status);
    /* libcurl has returned `code`, and the server `status`: an error is one even if its text was
       cut off */
    bool answered =
        call->headed && (code == CURLE_OK || (status >= 400 && code != CURLE_COULDNT_CONNECT));
    if (answered)
        *failure = retry_classify_http((int)status, http_retry_after(call->curl));
    else if (http_may_pass(code))
        *failure = retry_classify_errno(code == CURLE_OPERATION_TIMEDOUT ? ETIMEDOUT : ECONNRESET,
                                        call->sent);
    else if (code == CURLE_PEER_FAILED_VERIFICATION && call->other)
        *failure = retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_NODE_NOT_AVAILABLE);
    else if (call->sent)
        failure->reason = RETRY_REASON_UNKNOWN; /* final, and perhaps done */
    return answered && status < 400;
}

/* A GET that takes at most so many ms. */
static inline bool http_get(http_call *call, const char *url, retry_ms timeout,
                            retry_failure *failure)
{
    http_prepare(call, url);
    curl_easy_setopt(call->curl, CURLOPT_TIMEOUT_MS, (long)timeout);
    return http_ended(call, curl_easy_perform(call->curl), failure);
}

#endif /* RECIPES_HTTP_H */
