/* http_curl.c: how to use retry.h with libcurl.

   Fetches a list of URLs, many at once on one thread (libcurl's multi interface). The program does
   what retry_next says, tells retry_ended how each attempt ended, and shows each decision and how
   each request ended.

       cc -o http_curl examples/http_curl/http_curl.c -lcurl
       ./http_curl LIST              a file, or - for standard input. A line is URL or METHOD URL;
                                     '#' begins a comment
       ./http_curl compare [FOLDER]  a real nginx that fails by a script (server.h), and the
                                     same list by `curl --retry`. Logs are left in FOLDER
       ./http_curl serve [FOLDER]    that nginx alone: prints its list of URLs, until Ctrl-C

   The first two take a policy and a budget as text, before all else; retry.h's opening comment says
   what may be in them (make http ARGS="--policy 'aws attempts=5'"):

       ./http_curl --policy 'aws attempts=5 initial=100ms' --budget 'best-effort capacity=50' LIST

   What there is to learn about retry.h is in the first three sections: "What went wrong"
   (classify), "Deciding" (drive) and "From text" (read_options). The exit status is 0 if all
   requests were done (compare: if both verdicts hold), 1 if not or if there were none, 2 if it
   could not start, and 128
   + the signal's number if interrupted. */
#define _DEFAULT_SOURCE

#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "compare.h"
#include "list.h"

#include <ctype.h>

/* The limits of a request are in compare.h, since the curls have the same. */
enum {
    PARALLEL = 32, /* attempts on the wire at once; BUDGET reckons with it */
    LIST_MAX = 1000,
    TICK = 100 /* ms between two looks at the progress and at `interrupted` */
};

enum { NEW, WAITING, ON_WIRE, DONE, FAILED }; /* states of a job */

typedef struct http_job {
    retry_operation retry;
    uint8_t cause;  /* why there is no further attempt */
    retry_time due; /* when to ask the library again */
    retry_ms waited, retry_after;
    uint8_t state;
    bool header_complete;
    unsigned line; /* of the list */
    long status;
    char method[METHOD_SIZE], url[URL_SIZE], error[CURL_ERROR_SIZE];
    CURL *easy; /* the attempt on the wire, or NULL */
} http_job;

typedef struct http_fetcher {
    retry_client client;
    retry_budget budget;
    CURLM *multi;
    http_job *jobs; /* LIST_MAX of them */
    size_t count, open, on_wire;
    unsigned bad_lines;
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

/* An error is one even if its text was cut off. */
static bool is_answered(const http_job *job, CURLcode code)
{
    return job->header_complete && (code == CURLE_OK || job->status >= 400);
}

/* Says in retry.h's terms how an attempt failed. What matters most is whether any of the request
   was sent: if not, it is safe to try again whatever the method. A time-out is here the one of the
   connection; that of the attempt is the library's. */
static retry_failure classify(const http_job *job, CURLcode code)
{
    retry_failure failure = {0}; /* no reason to retry */
    long sent = 0;
    curl_easy_getinfo(job->easy, CURLINFO_REQUEST_SIZE, &sent);
    if (is_answered(job, code))
        return retry_classify_http((int)job->status, job->retry_after);
    if (hopeless(code) && sent > 0)
        failure.reason = RETRY_REASON_UNKNOWN; /* final, and perhaps done */
    if (hopeless(code))
        return failure;
    if (sent > 0)
        failure = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
    else if (code == CURLE_COULDNT_RESOLVE_HOST)
        failure = retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_NODE_NOT_AVAILABLE);
    else
        failure = retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE);
    failure.timeout = code == CURLE_OPERATION_TIMEDOUT;
    return failure;
}

/* A line of the header, the empty one at its end included. libcurl does not count a header that
   ends without that line as an error, though it was cut off. */
static size_t read_header(char *data, size_t size, size_t count, void *context)
{
    static const char name[] = "Retry-After:";
    http_job *job = context;
    size_t length = size * count, start = sizeof name - 1, end = length;
    if (length > 5 && strncmp(data, "HTTP/", 5) == 0) /* there may be several: 100, then 200 */
        job->header_complete = false;
    else if (length <= 2)
        job->header_complete = true;
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

/* ---- On the wire --------------------------------------------------------------------------- */

static void begin_transfer(http_fetcher *fetcher, http_job *job, retry_ms timeout)
{
    CURL *easy = curl_easy_init();
    if (!easy)
        give_up("curl_easy_init: out of memory");
    job->easy = easy;
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
    /* The library watches the attempt's time. That nothing was sent, only libcurl can tell. */
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(timeout / 2 + 1));
    if (strcmp(job->method, "HEAD") == 0)
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    else if (strcmp(job->method, "POST") == 0)
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
    else if (strcmp(job->method, "GET") != 0)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, job->method);
    /* When a connection that libcurl used again turns out to be dead, it sends the request again on
       its own. So what must not be sent twice gets a new connection. */
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, job->retry.idempotent ? 0L : 1L);
    curl_multi_add_handle(fetcher->multi, easy);
    fetcher->on_wire++;
}

static void end_transfer(http_fetcher *fetcher, http_job *job)
{
    curl_multi_remove_handle(fetcher->multi, job->easy);
    curl_easy_cleanup(job->easy);
    job->easy = NULL;
    fetcher->on_wire--;
}

/* ---- Deciding ------------------------------------------------------------------------------ */

/* A URL's path, or the URL if it has none. */
static const char *path_of(const char *url)
{
    const char *host = strstr(url, "://");
    const char *path = host ? strchr(host + 3, '/') : NULL;
    return path ? path : url;
}

/* The observer: told of every decision. */
static void print_decision(void *context, const retry_operation *op, const retry_failure *failure)
{
    http_job *job = op->context;
    (void)context;
    if (!failure) /* it worked */
        return;
    if (op->verdict == RETRY_VERDICT_RETRY)
        job->waited += op->delay;
    say("line %-3u %-4s %.10s: ", job->line, job->method, path_of(job->url));
    if (op->verdict == RETRY_VERDICT_RETRY)
        say("again in %u ms", op->delay);
    else
        say("%s", retry_cause_text(op->cause));
    if (failure->code != 0)
        say(" (%u %s)", failure->code, retry_reason_name(failure->reason));
    else if (failure->reason != RETRY_REASON_NONE)
        say(" (%s)", retry_reason_name(failure->reason));
    say("\n");
}

/* Does what the library says. To be called when a job begins, when its time has come, and when its
   attempt has ended. */
static void drive(http_fetcher *fetcher, http_job *job, retry_time now)
{
    for (;;) {
        retry_step step = retry_next(&job->retry, now);
        switch (step.what) {
        case RETRY_DO_SEND:
            begin_transfer(fetcher, job, step.timeout);
            break;
        case RETRY_DO_CANCEL: /* it had no answer in time */
            end_transfer(fetcher, job);
            snprintf(job->error, sizeof job->error, "No answer in time");
            break;
        case RETRY_DO_WAIT:
            job->state = step.cause == RETRY_CAUSE_NONE ? ON_WIRE : WAITING;
            job->due = now + step.delay;
            return;
        default:
            job->state = step.verdict == RETRY_VERDICT_SUCCESS ? DONE : FAILED;
            job->cause = step.cause;
            fetcher->open--;
            return;
        }
    }
}

static void end_attempt(http_fetcher *fetcher, http_job *job, CURLcode code, retry_time now)
{
    curl_easy_getinfo(job->easy, CURLINFO_RESPONSE_CODE, &job->status);
    const bool done = is_answered(job, code) && job->status < 400;
    const retry_failure failure = classify(job, code);
    if (job->error[0] == '\0')
        snprintf(job->error, sizeof job->error, "%s",
                 code == CURLE_OK ? "Header was cut off" : curl_easy_strerror(code));
    end_transfer(fetcher, job);
    retry_ended(&job->retry, 0, done ? NULL : &failure, now);
    drive(fetcher, job, now);
}

/* ---- From text ------------------------------------------------------------------------------ */

static retry_policy policy;
static retry_budget_options budget_options;

/* Points at the word that is wrong. */
static bool refuse(const char *option, const char *text, retry_text_error error)
{
    fprintf(stderr, "http_curl: %s is wrong at offset %zu:\n    %s\n    %*s^ %s\n", option,
            error.offset, text, (int)error.offset, "", error.text);
    return false;
}

static bool read_policy(const char *text)
{
    retry_text_error error;
    return retry_parse_policy(&policy, text, strlen(text), &error) ||
           refuse("--policy", text, error);
}

static bool read_budget(const char *text)
{
    retry_text_error error;
    return retry_parse_budget(&budget_options, text, strlen(text), &error) ||
           refuse("--budget", text, error);
}

/* Takes the options off the front of the arguments and returns the rest; NULL if one is wrong. */
static char **read_options(char **argument)
{
    bool good = read_policy(POLICY) && read_budget(BUDGET);
    for (; good && argument[0] && argument[1]; argument += 2) {
        if (strcmp(argument[0], "--policy") == 0)
            good = read_policy(argument[1]);
        else if (strcmp(argument[0], "--budget") == 0)
            good = read_budget(argument[1]);
        else
            break;
    }
    return good ? argument : NULL;
}

/* ---- Fetching ------------------------------------------------------------------------------ */

static bool is_open(const http_job *job)
{
    return job->state == WAITING || job->state == ON_WIRE;
}

/* Whether there is something to do for a job. No attempt begins while PARALLEL are on the wire. */
static bool is_due(const http_fetcher *fetcher, const http_job *job, retry_time now)
{
    if (job->state != ON_WIRE && fetcher->on_wire >= PARALLEL)
        return false;
    return job->state == NEW || (is_open(job) && reached(job->due, now));
}

/* Does what is due. Returns the ms until the next. */
static int drive_due(http_fetcher *fetcher, retry_time now)
{
    retry_ms wait = TICK;
    for (size_t i = 0; i < fetcher->count; i++) {
        http_job *job = &fetcher->jobs[i];
        if (is_due(fetcher, job, now)) {
            if (job->state == NEW)
                retry_start(&job->retry, NULL, now);
            drive(fetcher, job, now);
        }
        if (is_open(job) && !reached(job->due, now) && job->due - now < wait)
            wait = job->due - now;
    }
    return (int)wait;
}

static void fetch(http_fetcher *fetcher)
{
    retry_time started = instant_now();
    fetcher->open = fetcher->count;
    while (fetcher->open > 0 && !interrupted) {
        progress("%4.1f s  %zu of %zu open, %zu on the wire",
                 (double)(instant_now() - started) / 1000, fetcher->open, fetcher->count,
                 fetcher->on_wire);
        int wait = drive_due(fetcher, instant_now()), running, left;
        CURLMsg *message;
        curl_multi_perform(fetcher->multi, &running);
        while ((message = curl_multi_info_read(fetcher->multi, &left)) != NULL) {
            http_job *job = NULL;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&job);
            end_attempt(fetcher, job, message->data.result, instant_now());
            wait = 0;
        }
        curl_multi_poll(fetcher->multi, NULL, 0, wait, NULL);
    }
    progress_clear();
}

/* ---- The list ------------------------------------------------------------------------------ */

static http_job *add_job(http_fetcher *fetcher, unsigned line, const char *method, const char *url)
{
    http_job *job = &fetcher->jobs[fetcher->count++];
    snprintf(job->method, sizeof job->method, "%s", method);
    snprintf(job->url, sizeof job->url, "%s", url);
    job->line = line;
    job->retry.client = &fetcher->client;
    job->retry.context = job;
    job->retry.timeout = OPERATION_TIMEOUT;
    job->retry.idempotent = retry_idempotent_http(method, strlen(method));
    return job;
}

/* Reads all lines; those that are wrong are named and left out. False, with errno, if the list
   cannot be read to its end. */
static bool read_list(http_fetcher *fetcher, FILE *list)
{
    char *text = NULL;
    size_t size = 0;
    ssize_t length;
    http_line line;
    for (unsigned number = 1; (length = getline(&text, &size, list)) >= 0; number++) {
        const char *wrong = parse_line(text, (size_t)length, &line);
        if (!wrong && line.url && fetcher->count == LIST_MAX)
            wrong = "too many requests";
        if (wrong) {
            printf("line %u: %s; it is left out\n", number, wrong);
            fetcher->bad_lines++;
        } else if (line.url) {
            add_job(fetcher, number, line.method, line.url);
        }
    }
    free(text);
    return !ferror(list);
}

/* ---- Running ------------------------------------------------------------------------------- */

/* All retries are paid from one budget, so that a dead server is not hammered. */
static void fetcher_init(http_fetcher *fetcher)
{
    memset(fetcher, 0, sizeof *fetcher);
    retry_budget_init(&fetcher->budget, &budget_options, instant_now());
    fetcher->client.strategy = &policy.base;
    fetcher->client.budget = &fetcher->budget;
    fetcher->client.observe = print_decision;
    fetcher->client.cut_after = ATTEMPT_TIMEOUT;
    fetcher->jobs = calloc(LIST_MAX, sizeof *fetcher->jobs);
    if (!fetcher->jobs || curl_global_init(CURL_GLOBAL_ALL) != 0 ||
        (fetcher->multi = curl_multi_init()) == NULL)
        give_up("out of memory");
}

static void fetcher_free(http_fetcher *fetcher)
{
    for (size_t i = 0; i < fetcher->count; i++) {
        if (fetcher->jobs[i].easy) /* it was interrupted */
            end_transfer(fetcher, &fetcher->jobs[i]);
    }
    curl_multi_cleanup(fetcher->multi);
    curl_global_cleanup();
    free(fetcher->jobs);
}

/* What failed may have been done all the same; whoever only reads need not care. */
static bool perhaps_done(const http_job *job)
{
    bool reads = strcmp(job->method, "GET") == 0 || strcmp(job->method, "HEAD") == 0;
    return job->state == FAILED && job->retry.ambiguous && !reads;
}

enum { COLUMNS = 80, URL_WIDTH = 44, INDENT = 12 };

/* Why a request failed, on a line of its own. */
static void print_failure(const http_job *job)
{
    const char *cause = retry_cause_text(job->cause);
    const char *perhaps = perhaps_done(job) ? ", perhaps done" : "";
    int room = COLUMNS - INDENT - (int)(strlen(cause) + strlen(perhaps)) - 2;
    printf("%*s%s%s: ", INDENT, "", cause, perhaps);
    if (job->retry.failure.code != 0)
        printf("HTTP %u\n", job->retry.failure.code);
    else
        printf("%.*s\n", room, job->error);
}

static void print_job(const http_job *job)
{
    bool fits = strlen(job->url) <= URL_WIDTH;
    printf("%4u %-7s%-*.*s%s", job->line, job->method, fits ? URL_WIDTH : 0,
           fits ? URL_WIDTH : URL_WIDTH - 3, job->url, fits ? "" : "...");
    printf(" %2u %6u ms  ", job->state == NEW ? 0 : job->retry.retries + 1, job->waited);
    if (job->state == DONE)
        printf("HTTP %ld\n", job->status);
    else
        printf("%s\n", job->state == FAILED ? "FAILED" : "interrupted");
    if (job->state == FAILED)
        print_failure(job);
}

/* Shows how each request ended; returns how many were done. */
static size_t print_jobs(const http_fetcher *fetcher)
{
    size_t done = 0;
    printf("\n%4s %-7s%-*s %s %6s  %s\n", "line", "", URL_WIDTH - 3, "request", "tries", "waited",
           " result");
    for (size_t i = 0; i < fetcher->count; i++) {
        print_job(&fetcher->jobs[i]);
        done += fetcher->jobs[i].state == DONE;
    }
    printf("%zu of %zu requests done", done, fetcher->count);
    if (fetcher->bad_lines > 0)
        printf(", %u lines left out", fetcher->bad_lines);
    printf("\n");
    return done;
}

/* Whether all was done that the list asks for. */
static bool work_through(http_fetcher *fetcher, FILE *list, const char *name)
{
    if (!read_list(fetcher, list)) {
        perror(name);
        return false;
    }
    if (fetcher->count == 0) {
        fprintf(stderr, "%s: nothing to do\n", name);
        return false;
    }
    fetch(fetcher);
    return print_jobs(fetcher) == fetcher->count && fetcher->bad_lines == 0;
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
    good = work_through(&fetcher, list, name);
    fetcher_free(&fetcher);
    fclose(list);
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
        tool->results[i].tries = fetcher.jobs[i].retry.retries + 1;
        tool->results[i].waited = fetcher.jobs[i].waited;
        tool->results[i].done = fetcher.jobs[i].state == DONE;
        tool->results[i].perhaps_done = perhaps_done(&fetcher.jobs[i]);
    }
    fetcher_free(&fetcher);
}

static bool is_option(const char *argument)
{
    return argument && argument[0] == '-' && argument[1] != '\0'; /* "-" is standard input */
}

/* What is left of the arguments when the options are read: what to do, and perhaps a folder. */
static int run(char **arguments)
{
    const char *what = arguments[0], *folder = what ? arguments[1] : NULL;
    bool sound = what && !is_option(what) && !is_option(folder) && !(folder && arguments[2]);
    if (sound && strcmp(what, "compare") == 0)
        return compare(folder ? folder : "build/http", fetch_script);
    if (sound && strcmp(what, "serve") == 0)
        return serve(folder ? folder : "build/http");
    if (sound && !folder)
        return fetch_list(what);
    fprintf(stderr, "usage: http_curl [--policy TEXT] [--budget TEXT]\n"
                    "                 LIST | - | compare [FOLDER] | serve [FOLDER]\n");
    return 2;
}

int main(int argc, char **argv)
{
    char **arguments = argc > 0 ? read_options(argv + 1) : NULL;
    int status = 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    catch_interrupts();
    if (arguments)
        status = run(arguments);
    return interrupted ? 128 + (int)interrupted : status;
}
