/* http_curl.c: how to use retry.h with libcurl.

   Fetches a list of URLs, many at once on one thread (libcurl's multi interface). Every failed
   attempt is classified and handed to retry_orchestrate; the program obeys, and shows each decision
   and how each request ended.

       cc -o http_curl examples/http_curl.c -lcurl
       ./http_curl LIST              a file, or - for standard input. A line is URL or METHOD URL;
                                     '#' begins a comment
       ./http_curl compare [FOLDER]  a real nginx that fails by a script (http_server.h), and the
                                     same list by `curl --retry`. Logs are left in FOLDER
       ./http_curl serve [FOLDER]    that nginx alone: prints its list of URLs, until Ctrl-C

   What there is to learn about retry.h is in the first two sections: "What went wrong" (classify)
   and "Deciding" (obey). The exit status is 0 if all requests were done (compare: if both verdicts
   hold), 1 if not, 2 if it could not start, and 128 + the signal's number if interrupted. */
#define _DEFAULT_SOURCE

#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include "http_compare.h"

#include <ctype.h>
#include <curl/curl.h>
#include <strings.h>

enum {
    OPERATION_TIMEOUT = 6000, /* ms for a request with all its attempts */
    ATTEMPT_TIMEOUT = 1000,   /* ms for one of them */
    PARALLEL = 32,            /* attempts on the wire at once */
    LIST_MAX = 1000,
    LINE_SIZE = 2048
};

enum { NEW, WAITING, ON_WIRE, DONE, FAILED }; /* states of a job */

typedef struct http_job {
    retry_request request;
    retry_failure failure; /* the last one */
    retry_decision last;   /* what came of it */
    retry_time due;        /* when to try (again) */
    retry_ms waited, retry_after;
    uint8_t state;
    bool header_complete;
    unsigned line; /* of the list */
    long status;
    char method[8], url[LINE_SIZE], error[CURL_ERROR_SIZE];
} http_job;

typedef struct http_fetcher {
    retry_client client;
    retry_policy policy;
    retry_budget budget;
    CURLM *multi;
    http_job *jobs; /* LIST_MAX of them */
    size_t count, open;
    unsigned on_wire, bad_lines;
} http_fetcher;

static void give_up(const char *why)
{
    fprintf(stderr, "http_curl: %s\n", why);
    exit(2);
}

/* ---- What went wrong ----------------------------------------------------------------------- */

/* libcurl's codes that another try would only repeat. */
static bool hopeless(CURLcode code)
{
    return code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
           code == CURLE_OUT_OF_MEMORY || code == CURLE_PEER_FAILED_VERIFICATION ||
           code == CURLE_SSL_CACERT_BADFILE;
}

/* Says in retry.h's terms how an attempt failed. What matters most is whether any of the request
   was sent: if not, it is safe to try again whatever the method. */
static retry_failure classify(const http_job *job, CURL *easy, CURLcode code)
{
    retry_failure failure = {0}; /* no reason to retry */
    long sent = 0;
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent);
    if (code == CURLE_OK && job->header_complete)
        return retry_classify_http((int)job->status, job->retry_after);
    if (hopeless(code))
        return failure;
    if (sent == 0) {
        failure =
            retry_classify_stage(RETRY_STAGE_DISPATCH, code == CURLE_COULDNT_RESOLVE_HOST
                                                           ? RETRY_REASON_NODE_NOT_AVAILABLE
                                                           : RETRY_REASON_SOCKET_NOT_AVAILABLE);
    } else {
        failure = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
        if (code == CURLE_OPERATION_TIMEDOUT)
            failure.reason = RETRY_REASON_ATTEMPT_TIMED_OUT;
    }
    failure.timeout = code == CURLE_OPERATION_TIMEDOUT;
    return failure;
}

/* libcurl hands over each line of the header. A header that ends without an empty line was cut off,
   which libcurl does not count as an error. */
static size_t read_header(char *data, size_t size, size_t count, void *context)
{
    static const char name[] = "Retry-After:";
    http_job *job = context;
    size_t length = size * count, start = sizeof name - 1, end = length;
    job->header_complete = length <= 2;
    if (length <= start || strncasecmp(data, name, start) != 0)
        return length;
    while (start < end && isspace((unsigned char)data[start]))
        start++;
    while (end > start && isspace((unsigned char)data[end - 1]))
        end--;
    retry_parse_retry_after(data + start, end - start, time(NULL), &job->retry_after);
    return length;
}

static size_t ignore_body(char *data, size_t size, size_t count, void *context)
{
    (void)data;
    (void)context;
    return size * count;
}

/* ---- Deciding ------------------------------------------------------------------------------ */

static void close_job(http_fetcher *fetcher, http_job *job, uint8_t state)
{
    job->state = state;
    fetcher->open--;
}

/* The observer: told of every decision. */
static void print_decision(void *context, const retry_request *request,
                           const retry_failure *failure, const retry_decision *decision)
{
    const http_job *job = request->context;
    (void)context;
    printf("line %-3u %-4s %s: ", job->line, job->method, job->url);
    if (decision->verdict == RETRY_VERDICT_RETRY)
        printf("again in %u ms", decision->delay);
    else
        printf("%s", retry_cause_text(decision->cause));
    if (failure->reason != RETRY_REASON_NONE)
        printf(" (%s)", retry_reason_name(failure->reason));
    printf("\n");
}

static void obey(http_fetcher *fetcher, http_job *job, retry_time now)
{
    job->last = retry_orchestrate(&job->request, &job->failure, now);
    if (job->last.verdict == RETRY_VERDICT_RETRY) {
        job->state = WAITING;
        job->due = now + job->last.delay;
        job->waited += job->last.delay;
    } else { /* with EXPIRE it may wait until the deadline, but nobody here has use for that */
        close_job(fetcher, job, FAILED);
    }
}

static void attempt_ended(http_fetcher *fetcher, CURL *easy, CURLcode code, retry_time now)
{
    http_job *job = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&job);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &job->status);
    if (code == CURLE_OK && job->header_complete && job->status < 400) {
        retry_succeed(&job->request, now);
        close_job(fetcher, job, DONE);
    } else {
        job->failure = classify(job, easy, code);
        if (code != CURLE_OK && job->error[0] == '\0')
            snprintf(job->error, sizeof job->error, "%s", curl_easy_strerror(code));
        obey(fetcher, job, now);
    }
    curl_multi_remove_handle(fetcher->multi, easy);
    curl_easy_cleanup(easy);
    fetcher->on_wire--;
}

/* ---- Fetching ------------------------------------------------------------------------------ */

static void set_method(CURL *easy, const http_job *job)
{
    if (strcmp(job->method, "HEAD") == 0)
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    else if (strcmp(job->method, "POST") == 0)
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
    else if (strcmp(job->method, "GET") != 0)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, job->method);
    /* When a connection that libcurl used again turns out to be dead, it sends the request again on
       its own. So what must not be sent twice gets a new connection. */
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, job->request.idempotent ? 0L : 1L);
}

/* An attempt may take as long as is left of the request's time, at most. */
static long attempt_timeout(const http_job *job, retry_time now)
{
    retry_time deadline = job->request.started + job->request.timeout;
    if (now >= deadline)
        return 1;
    return deadline - now < ATTEMPT_TIMEOUT ? (long)(deadline - now) : ATTEMPT_TIMEOUT;
}

static void attempt(http_fetcher *fetcher, http_job *job, retry_time now)
{
    CURL *easy = curl_easy_init();
    if (!easy)
        give_up("curl_easy_init: out of memory");
    if (job->state == NEW)
        retry_begin(&job->request, now);
    job->state = ON_WIRE;
    job->header_complete = false;
    job->retry_after = 0;
    job->error[0] = '\0';
    curl_easy_setopt(easy, CURLOPT_URL, job->url);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, job);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, job->error);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, read_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, job);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore_body);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, attempt_timeout(job, now));
    set_method(easy, job);
    curl_multi_add_handle(fetcher->multi, easy);
    fetcher->on_wire++;
}

/* Begins the attempts that are due. Returns the ms until the next. */
static int attempt_due(http_fetcher *fetcher, retry_time now)
{
    retry_time wait = ATTEMPT_TIMEOUT;
    for (size_t i = 0; i < fetcher->count && fetcher->on_wire < PARALLEL; i++) {
        http_job *job = &fetcher->jobs[i];
        if (job->state == NEW || (job->state == WAITING && job->due <= now))
            attempt(fetcher, job, now);
        else if (job->state == WAITING && job->due - now < wait)
            wait = job->due - now;
    }
    return (int)wait;
}

static void fetch(http_fetcher *fetcher)
{
    fetcher->open = fetcher->count;
    while (fetcher->open > 0 && !interrupted) {
        int wait = attempt_due(fetcher, clock_ms()), running, left;
        CURLMsg *message;
        curl_multi_perform(fetcher->multi, &running);
        while ((message = curl_multi_info_read(fetcher->multi, &left)) != NULL) {
            attempt_ended(fetcher, message->easy_handle, message->data.result, clock_ms());
            wait = 0;
        }
        curl_multi_poll(fetcher->multi, NULL, 0, wait, NULL);
    }
}

/* ---- The list ------------------------------------------------------------------------------ */

static bool is_method(const char *word)
{
    static const char *const methods[] = {"GET",    "HEAD", "OPTIONS", "PUT",
                                          "DELETE", "POST", "PATCH"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (strcmp(word, methods[i]) == 0)
            return true;
    }
    return false;
}

static bool is_url(const char *word)
{
    CURLU *url = curl_url();
    bool good = (strncasecmp(word, "http://", 7) == 0 || strncasecmp(word, "https://", 8) == 0) &&
                curl_url_set(url, CURLUPART_URL, word, 0) == CURLUE_OK;
    curl_url_cleanup(url);
    return good;
}

static void add_job(http_fetcher *fetcher, unsigned line, const char *method, const char *url)
{
    http_job *job = &fetcher->jobs[fetcher->count++];
    snprintf(job->method, sizeof job->method, "%s", method);
    snprintf(job->url, sizeof job->url, "%s", url);
    job->line = line;
    job->request.client = &fetcher->client;
    job->request.context = job;
    job->request.timeout = OPERATION_TIMEOUT;
    job->request.idempotent = retry_idempotent_http(method, strlen(method));
}

/* Takes a line apart and adds its job, if it holds one. Returns what is wrong with it, or NULL. */
static const char *read_line(http_fetcher *fetcher, unsigned line, char *text)
{
    char *rest = NULL, *words[3] = {NULL, NULL, NULL};
    size_t count = 0;
    if (strlen(text) == LINE_SIZE - 1 && text[LINE_SIZE - 2] != '\n')
        return "too long";
    for (char *word = strtok_r(text, " \t\r\n", &rest); word && *word != '#' && count < 3;
         word = strtok_r(NULL, " \t\r\n", &rest))
        words[count++] = word;
    if (count == 0)
        return NULL;
    if (count > 2)
        return "more than METHOD URL";
    if (count == 2 && !is_method(words[0]))
        return "no method that is known here";
    if (!is_url(words[count - 1]))
        return "no http:// or https:// URL";
    if (fetcher->count == LIST_MAX)
        return "too many requests";
    add_job(fetcher, line, count == 2 ? words[0] : "GET", words[count - 1]);
    return NULL;
}

static void read_list(http_fetcher *fetcher, FILE *list)
{
    char text[LINE_SIZE];
    unsigned line = 0;
    while (fgets(text, sizeof text, list)) {
        bool whole = strchr(text, '\n') != NULL;
        const char *wrong = read_line(fetcher, ++line, text);
        if (wrong) {
            printf("line %u: %s; it is left out\n", line, wrong);
            fetcher->bad_lines++;
        }
        for (int c = 0; !whole && c != '\n' && c != EOF;)
            c = getc(list);
    }
}

/* ---- Running ------------------------------------------------------------------------------- */

/* The policy: attempts after 50, 100 ... 1000 ms or up to half less, later if the server asks for
   it. All retries are paid from one budget, so that a dead server is not hammered. */
static void fetcher_init(http_fetcher *fetcher)
{
    static const retry_policy policy = RETRY_POLICY_AWS_2026;
    static const retry_budget_options budget = RETRY_BUDGET_AWS;
    memset(fetcher, 0, sizeof *fetcher);
    fetcher->policy = policy;
    fetcher->policy.backoff.jitter = RETRY_JITTER_EQUAL;
    fetcher->policy.backoff.max = 1000;
    fetcher->policy.retry_after_slack = 0;
    fetcher->policy.max_attempts = 7;
    retry_budget_init(&fetcher->budget, &budget, clock_ms());
    fetcher->client.strategy = &fetcher->policy.base;
    fetcher->client.budget = &fetcher->budget;
    fetcher->client.observe = print_decision;
    fetcher->jobs = calloc(LIST_MAX, sizeof *fetcher->jobs);
    if (!fetcher->jobs || curl_global_init(CURL_GLOBAL_ALL) != 0 ||
        (fetcher->multi = curl_multi_init()) == NULL)
        give_up("out of memory");
}

static void fetcher_free(http_fetcher *fetcher)
{
    curl_multi_cleanup(fetcher->multi);
    curl_global_cleanup();
    free(fetcher->jobs);
}

/* Shows how each request ended; returns how many were done. */
static size_t print_jobs(const http_fetcher *fetcher)
{
    size_t done = 0;
    printf("\n%4s %-7s %-40s %5s %9s  %s\n", "line", "", "request", "tries", "waited", "result");
    for (size_t i = 0; i < fetcher->count; i++) {
        const http_job *job = &fetcher->jobs[i];
        printf("%4u %-7s %-40s %5u %6u ms  ", job->line, job->method, job->url,
               job->state == NEW ? 0 : job->request.attempts + 1, job->waited);
        if (job->state == DONE)
            printf("HTTP %ld\n", job->status);
        else if (job->state != FAILED)
            printf("interrupted\n");
        else if (job->failure.code != 0)
            printf("FAILED: HTTP %u, %s\n", job->failure.code, retry_cause_text(job->last.cause));
        else
            printf("FAILED: %s, %s\n", job->error, retry_cause_text(job->last.cause));
        done += job->state == DONE;
    }
    printf("%zu of %zu requests done", done, fetcher->count);
    if (fetcher->bad_lines > 0)
        printf(", %u lines left out", fetcher->bad_lines);
    printf("\n");
    return done;
}

static int fetch_list(const char *name)
{
    FILE *list = strcmp(name, "-") == 0 ? stdin : fopen(name, "r");
    http_fetcher fetcher;
    bool good;
    if (!list) {
        perror(name);
        return 2;
    }
    fetcher_init(&fetcher);
    read_list(&fetcher, list);
    fclose(list);
    fetch(&fetcher);
    good = print_jobs(&fetcher) == fetcher.count && fetcher.bad_lines == 0;
    fetcher_free(&fetcher);
    return good ? 0 : 1;
}

/* Works through the script with retry.h. */
static void fetch_script(http_tool *tool)
{
    http_fetcher fetcher;
    fetcher_init(&fetcher);
    for (size_t i = 0; i < STEPS; i++) {
        char url[128];
        step_url(&tool->server, &script[i], url, sizeof url);
        add_job(&fetcher, (unsigned)i + 1, script[i].method, url);
    }
    fetch(&fetcher);
    for (size_t i = 0; i < STEPS; i++) {
        tool->results[i].tries = fetcher.jobs[i].request.attempts + 1;
        tool->results[i].waited = fetcher.jobs[i].waited;
        tool->results[i].done = fetcher.jobs[i].state == DONE;
    }
    fetcher_free(&fetcher);
}

int main(int argc, char **argv)
{
    const char *folder = argc == 3 ? argv[2] : "build/http";
    int status = 2;
    catch_interrupts();
    if (argc < 2 || argc > 3)
        fprintf(stderr, "usage: http_curl LIST | - | compare [FOLDER] | serve [FOLDER]\n");
    else if (strcmp(argv[1], "compare") == 0)
        status = compare(folder, fetch_script);
    else if (strcmp(argv[1], "serve") == 0)
        status = serve(folder);
    else if (argc == 2)
        status = fetch_list(argv[1]);
    return interrupted ? 128 + (int)interrupted : status;
}
