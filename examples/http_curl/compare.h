/* compare.h: the list of http_curl.c, done by the command line tool curl too, and the table
   that shows both. */
#ifndef HTTP_COMPARE_H
#define HTTP_COMPARE_H

#include "server.h"

/* The limits of a request, for retry.h and for curl. */
enum {
    OPERATION_TIMEOUT = 6000, /* ms with all its attempts */
    ATTEMPT_TIMEOUT = 1000,   /* ms for one of them */
    CURL_RETRIES = 6          /* as many as POLICY grants */
};
#define POLICY "best-effort attempts=7 initial=50ms max=1s jitter=equal"
/* 20 for each of PARALLEL. They do not expire, so the budget is full at first: a program that has
   just started has earned nothing yet. */
#define BUDGET "best-effort capacity=640 expire=0"

typedef struct http_result {
    unsigned tries, effects; /* effects: how often the request may have taken effect */
    unsigned waited;         /* ms between tries */
    bool done, perhaps_done;
} http_result;

enum { TOOLS = 3 };

/* One who works through the script, on a server of its own. */
typedef struct http_tool {
    const char *name, *folder;
    char *flag; /* for curl; NULL: none */
    http_server server;
    http_result results[STEPS];
    pid_t processes[STEPS];
} http_tool;

/* ---- The command line tool ----------------------------------------------------------------- */

typedef struct curl_options {
    char version[32], attempt[12], retries[12], operation[12]; /* times in s, as curl has them */
} curl_options;

/* The same limits as for retry.h, as far as curl has them. False if there is no curl. */
static inline bool curl_find(curl_options *options)
{
    FILE *version = popen("curl -q --version 2>/dev/null", "r");
    bool found = version && fscanf(version, "curl %31s", options->version) == 1;
    if (version)
        pclose(version);
    snprintf(options->attempt, sizeof options->attempt, "%d", ATTEMPT_TIMEOUT / 1000);
    snprintf(options->retries, sizeof options->retries, "%d", CURL_RETRIES);
    snprintf(options->operation, sizeof options->operation, "%d", OPERATION_TIMEOUT / 1000);
    return found;
}

/* Starts a curl for each step; what it says goes into a file. */
static inline void curl_start(http_tool *tool, curl_options *options)
{
    for (size_t i = 0; i < STEPS; i++) {
        char url[128], said[FOLDER_SIZE + 32];
        char *arguments[] = {"curl",
                             "-q",
                             "--no-progress-meter",
                             "--output",
                             "/dev/null",
                             "--stderr",
                             said,
                             url,
                             "--request",
                             (char *)(uintptr_t)script[i].method,
                             "--fail",
                             "--max-time",
                             options->attempt,
                             "--retry",
                             options->retries,
                             "--retry-max-time",
                             options->operation,
                             "--retry-connrefused",
                             tool->flag,
                             NULL};
        step_url(&tool->server, &script[i], url, sizeof url);
        snprintf(said, sizeof said, "%s/curl-%zu.txt", tool->server.folder, i);
        tool->processes[i] = start_later(0, arguments);
    }
}

/* Reads what a curl said: "... Will retry in 2 seconds. 1 retries left." */
static inline void curl_read(const http_tool *tool, size_t i, http_result *result)
{
    char line[512], name[32];
    FILE *said;
    snprintf(name, sizeof name, "curl-%zu.txt", i);
    said = open_in(tool->server.folder, name, "r");
    while (said && fgets(line, sizeof line, said)) {
        const char *wait = strstr(line, "Will retry in ");
        if (!wait)
            continue;
        result->tries++;
        result->waited += 1000 * (unsigned)strtoul(wait + strlen("Will retry in "), NULL, 10);
    }
    if (said)
        fclose(said);
}

/* A child's status when it has ended; until then the line of progress moves. */
static inline int curl_wait(const http_tool *tool, size_t i)
{
    int status = 0;
    for (unsigned ticks = 0; waitpid(tool->processes[i], &status, WNOHANG) == 0; ticks++) {
        if (interrupted)
            kill(tool->processes[i], SIGTERM);
        progress("%s: waiting for request %zu of %u%.*s", tool->name, i + 1, (unsigned)STEPS,
                 (int)(ticks / 10 % 4), "...");
        pause_ms(20);
    }
    progress_clear();
    return status;
}

/* Waits for the curls, which end by their own limits, and reads how they fared. */
static inline void curl_finish(http_tool *tool)
{
    for (size_t i = 0; i < STEPS; i++) {
        http_result *result = &tool->results[i];
        int status = curl_wait(tool, i);
        result->done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        result->tries = 1;
        curl_read(tool, i, result);
    }
}

/* ---- The table ----------------------------------------------------------------------------- */

/* Whether a request that is not idempotent may have taken effect more than once. */
static inline bool sent_twice(size_t i, const http_result *result)
{
    return strcmp(script[i].method, "POST") == 0 && result->effects > 1;
}

/* "wrong": an answer where there was none. "maybe": it failed, and is perhaps done, as only retry.h
   says. */
static inline const char *result_text(size_t i, const http_result *result)
{
    if (sent_twice(i, result))
        return "TWICE";
    if (result->done && script[i].port == CUT)
        return "wrong";
    if (result->perhaps_done)
        return "maybe";
    return result->done ? "done" : "fails";
}

static inline void print_row(size_t i, const http_tool *tools)
{
    printf("%-5s%-9s%-20s", script[i].method, script[i].path, script[i].behaviour);
    for (size_t t = 0; t < TOOLS; t++) {
        const http_result *result = &tools[t].results[i];
        printf("|%2u %3.1f s %-5s", result->tries, result->waited / 1000.0, result_text(i, result));
    }
    printf("\n");
}

static inline void print_sums(const http_tool *tool)
{
    unsigned done = 0, tries = 0, twice = 0;
    double waited = 0;
    for (size_t i = 0; i < STEPS; i++) {
        const http_result *result = &tool->results[i];
        twice += sent_twice(i, result);
        done += strcmp(result_text(i, result), "done") == 0;
        tries += result->tries;
        waited += result->waited / 1000.0;
    }
    printf("%-13s %2u of %u done, %2u tries, %4.1f s waited in all, %u POST sent twice\n",
           tool->name, done, (unsigned)STEPS, tries, waited, twice);
}

static inline void print_comparison(const http_tool *tools)
{
    printf("\n%-34s", "");
    for (size_t t = 0; t < TOOLS; t++)
        printf("| %-13s", tools[t].name);
    printf("\n%-14s%-20s", "request", "what the server does");
    for (size_t t = 0; t < TOOLS; t++)
        printf("|tries, waited ");
    printf("\n");
    for (size_t i = 0; i < STEPS; i++)
        print_row(i, tools);
    printf("\nTWICE: a POST was sent again though it may have taken effect.\n"
           "wrong: half a header was taken for an answer.\n"
           "maybe: it failed, and was reported as perhaps done.\n\n");
    for (size_t t = 0; t < TOOLS; t++)
        print_sums(&tools[t]);
}

/* How the curls were run. */
static inline void print_options(const curl_options *options, const http_tool *last)
{
    printf("\nThe curls are curl %s with the options\n", options->version);
    printf("--fail --max-time %s --retry %s --retry-max-time %s --retry-connrefused\n",
           options->attempt, options->retries, options->operation);
    printf("and, in the column \"%s\", %s too.\n", last->name, last->flag);
}

/* The verdicts on retry.h's column. */
static inline bool judge(const http_tool *tool)
{
    unsigned twice = 0, otherwise = 0;
    for (size_t i = 0; i < STEPS; i++) {
        twice += sent_twice(i, &tool->results[i]);
        otherwise += tool->results[i].done != script[i].ends_well;
    }
    printf("\n%s  No POST that may have taken effect was sent again.\n",
           twice == 0 ? "kept  " : "BROKEN");
    printf("%s  Every request that can be done was done, and no other.\n",
           otherwise == 0 ? "kept  " : "BROKEN");
    return twice == 0 && otherwise == 0;
}

/* ---- Running ------------------------------------------------------------------------------- */

/* All three at the same time, each on its own server. */
static inline int compare(const char *folder, void (*fetch_script)(http_tool *))
{
    static curl_options options;
    static char all_errors[] = "--retry-all-errors";
    static http_tool tools[TOOLS] = {
        {.name = "retry.h", .folder = "retry.h"},
        {.name = "curl --retry", .folder = "curl"},
        {.name = "+ all-errors", .folder = "curl-all-errors", .flag = all_errors}};
    if (!curl_find(&options)) {
        fprintf(stderr, "no curl to compare with (Debian: curl)\n");
        return 2;
    }
    setenv("no_proxy", "*", 1);
    for (size_t t = 0; t < TOOLS; t++)
        http_server_start(&tools[t].server, folder, tools[t].folder);
    for (size_t t = 0; t < TOOLS; t++)
        http_server_start_late(&tools[t].server);
    for (size_t t = 1; t < TOOLS; t++)
        curl_start(&tools[t], &options);
    printf("retry.h decides:\n");
    fetch_script(&tools[0]);
    for (size_t t = 1; t < TOOLS; t++)
        curl_finish(&tools[t]);
    for (size_t t = 0; t < TOOLS; t++) {
        http_server_stop(&tools[t].server);
        for (size_t i = 0; i < STEPS; i++)
            tools[t].results[i].effects = http_server_effects(&tools[t].server, &script[i]);
    }
    if (interrupted)
        return 1;
    print_comparison(tools);
    print_options(&options, &tools[TOOLS - 1]);
    printf("Logs are in %s.\n", folder);
    return judge(&tools[0]) ? 0 : 1;
}

/* The server alone, and its list, for clients of other kinds. */
static inline int serve(const char *folder)
{
    http_server server;
    memset(&server, 0, sizeof server);
    http_server_start(&server, folder, "serve");
    http_server_start_late(&server);
    for (size_t i = 0; i < STEPS; i++) {
        char url[128];
        step_url(&server, &script[i], url, sizeof url);
        printf("%-4s %-40s # %s\n", script[i].method, url, script[i].behaviour);
    }
    printf("# until Ctrl-C\n");
    fflush(stdout);
    while (!interrupted)
        pause_ms(100);
    http_server_stop(&server);
    return 0;
}

#endif /* HTTP_COMPARE_H */
