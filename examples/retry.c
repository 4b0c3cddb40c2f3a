/* retry.c: a command that runs another command again until it works.
       cc -o retry examples/retry.c
       ./retry --policy 'initial=1s max=30s attempts=8' --timeout 5m -- curl -f http://localhost/ */
#define _DEFAULT_SOURCE
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../retry.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* X(name, option, its argument, help) */
#define OPTIONS(X)                                                                           \
    X(POLICY, "policy", "TEXT", "when to try again (initial=1s max=1m attempts=8)")          \
    X(TIMEOUT, "timeout", "TIME", "for all tries and waits, such as 90s or 5m (none)")       \
    X(EACH, "attempt-timeout", "TIME", "for each try: SIGTERM, 5 s later SIGKILL (none)")    \
    X(ON, "on", "STATUSES", "retry these, such as 1,75-78 (not 2,64,126,127)")               \
    X(NOT_ON, "not-on", "STATUSES", "do not retry these")                                    \
    X(FROM, "retry-after-from", "TO", "where the command writes a Retry-After (file or fd)") \
    X(BUDGET, "budget", "TEXT", "tokens that pay for retries: capacity=10 (none)")           \
    X(STATE, "state", "FILE", "keeps the tokens, for all who name this file")                \
    X(LAST, "only-last", "", "show the standard output of the last try only")                \
    X(QUIET, "quiet", "", "report nothing")                                                  \
    X(HELP, "help", "", "show this")
#define NAME(name, option, argument, help) name,
#define ROW(name, option, argument, help) {option, sizeof argument > 1, NULL, name},
#define LINE(name, option, argument, help) printf("  %-26s%s\n", "--" option " " argument, help);

enum { OPTIONS(NAME) OPTION_COUNT };
enum { TIMED_OUT = 124, UNUSABLE, NOT_RUN, NOT_FOUND }; /* exit statuses, as other tools' */

static const char *given[OPTION_COUNT] = {
    [POLICY] = "initial=1s max=1m attempts=8", [BUDGET] = "none", [ON] = "1,3-63,65-125,128-255"};
static retry_clock steady;        /* the system's, but for the sleep */
static retry_operation operation; /* all tries */
static retry_budget budget;
static int state = -1;              /* --state */
static unsigned long long taken;    /* s since 1970: when its tokens were taken; 0: they are not */
static bool retried[256];           /* by exit status */
static FILE *output, *slip;         /* of the last try: --only-last, --retry-after-from */
static int slip_number = -1;        /* the descriptor by which the command has the slip */
static sigset_t awaited, unblocked; /* signals; the mask that we found */
static bool on_terminal;            /* the command is in our group, so that it may read there */
static pid_t command;               /* for kill(): its group, negative, or itself; 0: none */
static int status, stopped_by;      /* of the last try; the signal that ended us, or 0 */

static void must(bool good, const char *what, const char *why) /* NULL: what errno says */
{
    if (good)
        return;
    fprintf(stderr, "retry: %s: %s\n", what, why ? why : strerror(errno));
    exit(UNUSABLE);
}

/* Fills the bucket with the file's tokens, and those due since. Others wait until put_tokens. */
static void take_tokens(void)
{
    char text[64] = "";
    unsigned long long balance = UINT32_MAX, since = 0;
    retry_budget_options options = budget.options, found = options;
    retry_ms idle;
    if (state < 0)
        return;
    must(lockf(state, F_LOCK, 0) == 0, given[STATE], NULL);
    taken = (unsigned long long)time(NULL); /* the steady clock begins anew with the machine */
    if (pread(state, text, sizeof text - 1, 0) < 0 ||
        sscanf(text, "%llu %llu", &balance, &since) != 2 || since > taken)
        since = taken;
    found.capacity = balance < options.capacity ? (uint32_t)balance : options.capacity;
    idle = (retry_ms)(taken - since < 2000000 ? taken - since : 2000000) * 1000; /* 23 days */
    retry_budget_init(&budget, &found, steady.now(NULL) - idle);                 /* full */
    budget.options = options;
    retry_budget_withdraw(&budget, 0, steady.now(NULL)); /* refills it */
}

static void put_tokens(void)
{
    char text[40];
    unsigned long long balance = retry_budget_balance(&budget);
    int length = snprintf(text, sizeof text, "%010llu %020llu\n", balance, taken);
    if (!taken)
        return;
    must(pwrite(state, text, (size_t)length, 0) == length && lockf(state, F_ULOCK, 0) == 0,
         given[STATE], NULL);
    taken = 0;
}

static void block_signals(void)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD};
    struct sigaction action;
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&awaited);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&awaited, numbers[i]); /* what nohup ignores stays ignored */
    sigprocmask(SIG_BLOCK, &awaited, &unblocked);
}

/* Waits for one, at most so many ms, and hands it on, unless the terminal has done so. */
static void wait_for_signal(retry_ms ms)
{
    int number = sigtimedwait(&awaited, NULL,
                              &(struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000});
    if (number < 0 || number == SIGCHLD)
        return;
    if (command && (!on_terminal || (number != SIGINT && number != SIGQUIT)))
        kill(command, number);
    if (number != SIGUSR1 && number != SIGUSR2)
        stopped_by = number;
}

static void become_command(char **words)
{
    if (output)
        dup2(fileno(output), STDOUT_FILENO);
    if (slip_number >= 0)
        dup2(fileno(slip), slip_number);
    sigprocmask(SIG_SETMASK, &unblocked, NULL);
    execvp(words[0], words);
    fprintf(stderr, "retry: %s: %s\n", words[0], strerror(errno));
    _exit(errno == ENOENT ? NOT_FOUND : NOT_RUN);
}

/* Returns the exit status, as a shell has it, or TIMED_OUT. */
static int run_command(char **words, retry_ms limit)
{
    retry_time began = steady.now(NULL);
    int raw = 0, sent = 0; /* sent: by us, at the limit */
    pid_t pid = fork();
    must(pid >= 0, words[0], NULL);
    setpgid(pid, on_terminal ? getpgrp() : 0); /* whoever is first, the command or we */
    if (pid == 0)
        become_command(words);
    command = on_terminal ? pid : -pid;
    for (bool ended = false;;) {
        ended = ended || waitpid(pid, &raw, WNOHANG) > 0;
        if (ended && (sent != SIGTERM || on_terminal || kill(command, 0) != 0))
            break; /* and so have its children */
        retry_ms age = steady.now(NULL) - began;
        if (age >= limit) {
            sent = sent ? SIGKILL : SIGTERM;
            kill(command, sent);
            limit = sent == SIGTERM ? age + 5000 : UINT32_MAX;
        }
        wait_for_signal(ended ? 50 : limit - age);
    }
    command = 0;
    return sent ? TIMED_OUT : WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
}

static bool attempt(void *words, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    char text[64] = "";
    put_tokens();
    if (output)
        fclose(output);
    if (slip)
        fclose(slip);
    output = given[LAST] ? tmpfile() : NULL;
    slip = !given[FROM] ? NULL : slip_number < 0 ? fopen(given[FROM], "w+") : tmpfile();
    must((output || !given[LAST]) && (slip || !given[FROM]), "temporary file", NULL);
    lseek(STDIN_FILENO, *(const off_t *)op->request.context, SEEK_SET);
    status = run_command(words, step->timeout);
    take_tokens();
    failure->code = (uint32_t)status;
    failure->timeout = status == TIMED_OUT;
    if (slip && fseek(slip, 0, SEEK_SET) == 0 && fgets(text, sizeof text, slip))
        failure->throttle =
            retry_parse_retry_after(text, strcspn(text, "\r\n"), time(NULL), &failure->retry_after);
    if (retried[status] && !stopped_by)
        failure->reason = RETRY_REASON_SERVER_ERROR;
    return status == 0;
}

/* The observer, who is told of every decision. */
static void report(void *context, const retry_request *request, const retry_failure *failure,
                   const retry_decision *decision)
{
    unsigned tries = request->retries + (decision->verdict != RETRY_VERDICT_RETRY);
    put_tokens();
    if (given[QUIET] || (tries == 1 && !failure))
        return;
    fprintf(stderr, "retry: %s: try %u: status %d, ", (char *)context, tries, status);
    if (decision->verdict == RETRY_VERDICT_RETRY)
        fprintf(stderr, "again in %u.%03u s\n", decision->delay / 1000, decision->delay % 1000);
    else
        fprintf(stderr, "%s\n", status ? retry_cause_text(decision->cause) : "done");
}

/* The clock's sleep, which a signal ends. */
static void sleep_for(void *context, retry_ms delay)
{
    bool show = isatty(STDERR_FILENO) && !given[QUIET];
    retry_time began = steady.now(context);
    for (retry_ms age; !stopped_by && (age = steady.now(context) - began) < delay;) {
        if (show)
            fprintf(stderr, "\rretry: again in %u s \033[K", (delay - age - 1) / 1000 + 1);
        wait_for_signal((delay - age - 1) % 1000 + 1);
    }
    if (show)
        fputs("\r\033[K", stderr);
    if (stopped_by) {
        take_tokens();
        status = 128 + stopped_by;
        retry_stop(&operation, steady.now(context));
    }
}

static void set_retried(const char *list, bool value)
{
    for (char *end = ""; list && end; list = *end ? end + 1 : NULL) {
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        must(first > 0 && first <= last && last <= 255 && (!*end || *end == ','), list,
             "no statuses from 1 to 255, such as 1,75-78");
        while (first <= last)
            retried[first++] = value;
    }
}

/* Returns the command's words. */
static char **read_options(int count, char **words, retry_policy *policy, retry_ms *each)
{
    static const struct option rows[] = {OPTIONS(ROW){NULL, 0, NULL, 0}};
    retry_text_error error;
    for (int option; (option = getopt_long(count, words, "+", rows, NULL)) != -1;) {
        must(option != '?', "see", "retry --help");
        given[option] = optarg ? optarg : "";
    }
    if (given[HELP]) {
        puts("usage: retry [OPTION...] [--] COMMAND [ARGUMENT...]\n"
             "Runs a command until it works. Exits with the command's last status: 124 if its\n"
             "time was up, 128 + N if signal N ended it. 125: retry itself has failed.");
        OPTIONS(LINE)
        puts("Standard input that is no terminal is first read to its end; each try gets it.");
        exit(0);
    }
    must(optind < count, "no command", "see retry --help");
    if (!retry_parse_policy(policy, given[POLICY], strlen(given[POLICY]), &error))
        must(false, given[POLICY] + (given[POLICY][error.offset] ? error.offset : 0), error.text);
    if (!retry_parse_budget(&budget.options, given[BUDGET], strlen(given[BUDGET]), &error))
        must(false, given[BUDGET] + (given[BUDGET][error.offset] ? error.offset : 0), error.text);
    for (int i = TIMEOUT; i <= EACH; i++)
        if (given[i] &&
            !retry_parse_duration(given[i], strlen(given[i]),
                                  i == EACH ? each : &operation.request.timeout, &error))
            must(false, rows[i].name, error.text);
    if (given[STATE] && (state = open(given[STATE], O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
        must(false, given[STATE], NULL);
    if (given[FROM] && given[FROM][strspn(given[FROM], "0123456789")] == '\0')
        slip_number = atoi(given[FROM]);
    set_retried(given[ON], true);
    set_retried(given[NOT_ON], false);
    return words + optind;
}

int main(int count, char **words)
{
    retry_policy policy;
    retry_client client = {.strategy = &policy.base, .budget = &budget, .observe = report};
    off_t input = lseek(STDIN_FILENO, 0, SEEK_CUR);
    on_terminal = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
    operation.request = (retry_request){.client = &client, .context = &input, .idempotent = true};
    words = read_options(count, words, &policy, &client.attempt_timeout);
    client.attempt_timeout_max = client.attempt_timeout; /* the last try that is paid has no more */
    if (!operation.request.timeout)
        operation.request.timeout = UINT32_MAX;
    client.observe_context = words[0];
    steady = retry_system_clock();
    steady.sleep = sleep_for;
    retry_budget_init(&budget, &budget.options, steady.now(NULL));
    if (input < 0 && !isatty(STDIN_FILENO)) { /* it can be read once: keep it */
        FILE *kept = tmpfile();
        for (int c; kept && (c = getchar()) != EOF;)
            putc(c, kept);
        must(kept && fflush(kept) == 0, "standard input", NULL);
        dup2(fileno(kept), STDIN_FILENO);
        input = 0;
    }
    block_signals();
    take_tokens();
    retry_run(&operation, &steady, attempt, words);
    put_tokens();
    if (output && fseek(output, 0, SEEK_SET) == 0)
        for (int c; (c = getc(output)) != EOF;)
            putchar(c);
    must(fflush(stdout) == 0, "standard output", NULL);
    if (stopped_by == 0 || status != 128 + stopped_by)
        return status;
    sigprocmask(SIG_SETMASK, &unblocked, NULL);
    return raise(stopped_by);
}
