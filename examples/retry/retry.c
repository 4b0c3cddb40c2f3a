/* retry.c: a command that runs another command again until it works (`make build/retry`).
   Its options, and what --help prints, are taken from its manual page: retry.1. */
#define _GNU_SOURCE /* getopt_long, ppoll */
#define RETRY_SYSTEM_CLOCK
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "retry_options.h" /* TIMEOUT to HELP, OPTION_COUNT, _LETTERS and _ROWS, HELP_TEXT */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SEPARATORS " \t\r\n," /* of words in a text */
#define DIGITS "0123456789"

enum { TIMED_OUT = 124, UNUSABLE, NOT_RUN, NOT_FOUND }; /* exit statuses, as other tools' */

static const struct option rows[] = {OPTION_ROWS{NULL, 0, NULL, 0}};
static char *given[OPTION_COUNT]; /* arguments */
static const char *option = "";   /* "--x: " while the one of x is read */
static bool on[256], not_on[256]; /* by exit status */
static retry_clock steady;        /* the system's, but for the sleep */
static retry_operation operation; /* all tries */
static retry_policy policy;
static retry_budget budget;
static int state = -1, output = -1, slip = -1, slip_as, record = -1; /* --only-last to --stdin */
static unsigned long long taken;             /* s since 1970: the tokens were; 0: they are not */
static int terminal = -1;                    /* the one that controls us */
static bool has_terminal;                    /* the command, unless it is in the background */
static sigset_t awaited, blocked, unblocked; /* signals; the last is the mask that we found */
static pid_t command, companion;             /* 0: none; the command leads a process group */
static int status, stopped_by, typed; /* of the last try; the signal that ended us, or the group */
static uint32_t successes, in_a_row;
static regex_t wanted; /* of --until-output */

static void must(bool good, const char *what, const char *why) /* NULL: what errno says */
{
    if (good)
        return;
    fprintf(stderr, "retry: %s%s: %s\n", option, what, why ? why : strerror(errno));
    exit(UNUSABLE);
}

/* Reads a list of times, where a bare number is in seconds. Returns how many. */
static uint32_t read_times(const char *list, retry_ms *times, uint32_t most)
{
    retry_text_error error;
    uint32_t count = 0;
    for (size_t length; list; list = list[length] ? list + length + 1 : NULL) {
        char text[64];
        length = strcspn(list, ",");
        must(count < most && length < sizeof text - 2, list, "too many");
        snprintf(text, sizeof text, "%.*s%s", (int)length, list,
                 length && strspn(list, DIGITS ".") >= length ? "s" : "");
        if (!retry_parse_duration(text, strlen(text), &times[count++], &error))
            must(false, list, error.text);
    }
    return count;
}

static uint32_t read_number(const char *text, uint32_t otherwise)
{
    unsigned long long number = text ? strtoull(text, NULL, 10) : otherwise;
    must(!text || (*text && !text[strspn(text, DIGITS)] && number <= UINT32_MAX), text,
         "not a whole number");
    return (uint32_t)number;
}

static void read_statuses(const char *list, bool *into)
{
    for (char *end = ""; list && end; list = *end ? end + 1 : NULL) {
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        must(first > 0 && first <= last && last <= 255 && (!*end || *end == ','), list,
             "no statuses from 1 to 255, such as 1,75-78");
        while (first <= last)
            into[first++] = true;
    }
}

/* An option's argument, or NULL; from here on an error names the option. */
static char *argument(int letter)
{
    static const char *const names[] = {OPTION_NAMES};
    option = names[letter];
    return given[letter];
}

/* Whether the text has this key. A time's number has to have a unit: a bare one would be in ms. */
static bool check_units(const char *text, const char *key)
{
    bool there = false;
    for (size_t length; *(text += strspn(text, SEPARATORS)); text += length) {
        size_t size = strcspn(text, "=" SEPARATORS) + 1;
        char name[32];
        length = strcspn(text, SEPARATORS);
        snprintf(name, sizeof name, " %.*s", (int)size, text);
        must(size >= length || strspn(text + size, DIGITS ".") < length - size ||
                 !strstr(
                     " min= initial= max= throttled= retry-after-max= retry-after-slack= expire=",
                     name),
             text, "a number without a unit: ms, s, m or h");
        there = there || strcmp(name + 1, key) == 0;
    }
    return there;
}

static void read_policy(const char *text)
{
    static retry_ms delays[64];
    char whole[4096];
    bool has_max = check_units(text, "max="), has_attempts = check_units(text, "attempts=");
    bool has_jitter = check_units(text, "jitter=");
    bool preset = *text && strcspn(text, SEPARATORS) <= strcspn(text, "=");
    int length = snprintf(whole, sizeof whole, "%s%s", preset ? "" : "smithy ", text);
    retry_ms *initial = &policy.backoff.initial, *max = &policy.backoff.max;
    retry_text_error error;
    must(length < (int)sizeof whole, text, "too long");
    if (!retry_parse_policy(&policy, whole, (size_t)length, &error))
        must(false, whole[error.offset] ? whole + error.offset : text, error.text);
    if (!preset && !has_max)
        *max = 30000;
    if (!preset && !has_jitter)
        policy.backoff.jitter = RETRY_JITTER_EQUAL;
    if (!preset && !has_attempts)
        policy.max_attempts = 8;
    policy.max_attempts = read_number(argument(ATTEMPTS), policy.max_attempts);
    read_times(argument(MAX_DELAY), max, 1);
    if (read_times(argument(DELAY), initial, 1) && !given[MAX_DELAY] && *max != 0 &&
        *max < *initial)
        *max = *initial;
    if (given[DELAY] && *initial == 0 && !given[DELAYS])
        given[DELAYS] = given[DELAY]; /* in a policy it would be 1 ms */
    if (argument(DELAYS)) {
        policy.backoff = (retry_backoff){.curve = RETRY_CURVE_TABLE, .jitter = RETRY_JITTER_NONE};
        policy.backoff.table = delays;
        policy.backoff.table_length = read_times(given[DELAYS], delays, 64);
        policy.throttle_backoff.initial = 0;
    }
}

static void block_signals(void)
{
    static const char numbers[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                   SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD, 0};
    struct sigaction action;
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&awaited);
    for (int number = 1; number < NSIG; number++) /* what nohup ignores stays ignored */
        if (strchr(numbers, number) && sigaction(number, NULL, &action) == 0 &&
            action.sa_handler != SIG_IGN)
            sigaddset(&awaited, number);
    blocked = awaited;
    sigaddset(&blocked, SIGTTOU); /* or we could not take the terminal back */
    sigprocmask(SIG_BLOCK, &blocked, &unblocked);
}

static bool holds_terminal(pid_t group)
{
    return terminal >= 0 && tcgetpgrp(terminal) == group;
}

/* The command has stopped: so do we, and all whom the terminal would have stopped, for the shell to
   see. But if it wants the terminal and we have it, it gets it. Then it goes on. */
static void stop_and_go_on(int number)
{
    bool wants = number == SIGTTIN || number == SIGTTOU;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    has_terminal = has_terminal || wants;
    if (number == SIGTSTP || (wants && !holds_terminal(getpgrp()))) {
        kill(command && holds_terminal(command) ? 0 : getpid(), number);
        sigprocmask(SIG_UNBLOCK, &one, NULL); /* here, but not where no shell could continue us */
        sigprocmask(SIG_BLOCK, &blocked, NULL);
        nanosleep(&(struct timespec){0, 50000000}, NULL); /* do not spin there */
    }
    if (command && has_terminal && holds_terminal(getpgrp()))
        tcsetpgrp(terminal, command);
    if (command)
        kill(-command, SIGCONT);
}

/* Waits for one, at most so many ms, and hands it on. */
static void wait_for_signal(retry_ms ms)
{
    int number = sigtimedwait(&awaited, NULL,
                              &(struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000});
    if (number == SIGCONT || (number == SIGTSTP && !command))
        stop_and_go_on(number);
    else if (number > 0 && number != SIGCHLD && command)
        kill(-command, number);
    if (number == SIGHUP || number == SIGINT || number == SIGQUIT || number == SIGTERM)
        stopped_by = number;
}

/* From here on the budget is this process's alone. */
static void leave_state(const char *why)
{
    if (!stopped_by)
        fprintf(stderr, "retry: --state: %s: %s: going on without it\n", given[STATE], why);
    close(state);
    state = -1;
}

/* Fills the bucket with the file's tokens, and those due since. Others wait until put_tokens, but
   for a second at most. */
static void take_tokens(void)
{
    char text[64] = "";
    unsigned long long balance, since, now = (unsigned long long)time(NULL), idle;
    const retry_budget_options options = budget.options;
    retry_time began = steady.now(NULL);
    int end = 0;
    for (; state >= 0 && lockf(state, F_TLOCK, 0) != 0; wait_for_signal(1 + retry_draw() % 8))
        if ((errno != EACCES && errno != EAGAIN) || stopped_by || steady.now(NULL) - began >= 1000)
            leave_state(strerror(errno));
    ssize_t length = state < 0 ? 0 : pread(state, text, sizeof text - 1, 0);
    if (length != 0 &&
        (sscanf(text, "%10llu %20llu\n%n", &balance, &since, &end) != 2 || end != length))
        leave_state(length < 0 ? strerror(errno) : "these are no tokens");
    if (state < 0)
        return;
    taken = now; /* the steady clock begins anew with the machine */
    if (length == 0)
        return; /* a new file */
    idle = since < now ? (now - since) * 1000 : 0;
    idle = idle < 2000000000 ? idle : 2000000000; /* 23 days */
    budget.options.capacity = balance < options.capacity ? (uint32_t)balance : options.capacity;
    budget.options.expire = 0; /* hold them all */
    retry_budget_init(&budget, &budget.options, steady.now(NULL) - (retry_ms)idle);
    budget.options = options;
    retry_budget_withdraw(&budget, 0, steady.now(NULL)); /* refills it */
}

static void put_tokens(void)
{
    char text[40];
    int length =
        snprintf(text, sizeof text, "%010u %020llu\n", retry_budget_balance(&budget), taken);
    errno = ENOSPC; /* if it is written in part */
    if (taken && (pwrite(state, text, (size_t)length, 0) != length || lockf(state, F_ULOCK, 0)))
        leave_state(strerror(errno));
    taken = 0;
}

/* Returns a new, empty file instead of another one: at the path, or without a name (NULL). */
static int anew(int file, const char *path)
{
    const char *folder = getenv("TMPDIR");
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/retry.XXXXXX", folder && *folder ? folder : "/tmp");
    close(file);
    file =
        path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : mkostemp(name, O_CLOEXEC);
    must(file >= 0, path ? path : name, NULL);
    if (!path)
        unlink(name);
    return file;
}

/* Starts a process beside the command. On a terminal it has the signals that are typed. If it
   feeds, it hands on the record, then standard input, which it records first, and returns what to
   read. Only where it waits does a signal end it. */
static int start_companion(bool feeds)
{
    char bytes[PIPE_BUF]; /* what a pipe that is ready takes at once */
    int data[2];
    ssize_t n;
    must(pipe2(data, O_CLOEXEC) == 0 && (companion = fork()) >= 0, "pipe", NULL);
    close(data[companion ? 1 : 0]);
    if (companion)
        return data[0];
    signal(SIGTERM, SIG_DFL), signal(SIGPIPE, SIG_IGN), signal(SIGXFSZ, SIG_IGN);
    signal(SIGTSTP, SIG_IGN); /* the command may, too */
    sigemptyset(&unblocked);
    for (off_t sent = 0;;) {
        n = feeds ? pread(record, bytes, sizeof bytes, sent) : 0;
        struct pollfd one = {n > 0 ? data[1] : STDIN_FILENO, n > 0 ? POLLOUT : POLLIN, 0};
        if (ppoll(&one, feeds, NULL, &unblocked) < 0)
            continue;
        if (n > 0 && (n = write(data[1], bytes, (size_t)n)) > 0)
            sent += n;
        else if (n < 0 || (n = read(STDIN_FILENO, bytes, sizeof bytes)) < 0)
            _exit(errno != EPIPE);
        else if (n == 0)
            feeds = false, close(data[1]);
        else if (pwrite(record, bytes, (size_t)n, sent) != n)
            _exit(1);
    }
}

/* Whether a line that the last try has printed is wanted. The file is opened anew, as its position
   is that of all that still write there. */
static bool has_printed(void)
{
    char name[40], *line = NULL;
    size_t size = 0;
    bool found = false;
    snprintf(name, sizeof name, "/proc/self/fd/%d", output);
    FILE *file = fopen(name, "re");
    must(file != NULL, "its output", NULL);
    for (ssize_t n; !found && (n = getline(&line, &size, file)) > 0;) {
        line[line[n - 1] == '\n' ? n - 1 : n] = '\0';
        found = regexec(&wanted, line, 0, NULL, 0) == 0;
    }
    free(line);
    fclose(file);
    return found;
}

/* Until the command has ended, and with it its group, unless it has worked. What is there too long
   gets SIGTERM, and 5 s later SIGKILL. True: the command was. */
static bool watch_command(bool is_hook, retry_ms limit, int *raw)
{
    retry_time began = steady.now(NULL);
    bool late = false;
    int changed, sent = 0;
    for (*raw = -1;;) {
        retry_ms age = steady.now(NULL) - began;
        for (pid_t child; (child = waitpid(-1, &changed, WNOHANG | WUNTRACED)) > 0;) {
            int number = WIFSIGNALED(changed) ? WTERMSIG(changed) : 0;
            if (WIFSTOPPED(changed) && terminal >= 0 && WSTOPSIG(changed) != SIGSTOP)
                stop_and_go_on(WSTOPSIG(changed));
            if (WIFSTOPPED(changed))
                continue;
            if (has_terminal && !stopped_by &&
                (number == SIGINT || number == SIGQUIT || number == SIGHUP))
                typed = stopped_by = number;
            if (child == command && changed == 0 && given[UNTIL_OUTPUT] && !is_hook &&
                !has_printed())
                changed = W_EXITCODE(1, 0);
            if (child == command)
                *raw = changed, limit = sent ? limit : age;
            if (child == companion)
                companion = 0, must(WEXITSTATUS(changed) == 0, "--stdin", "cannot be recorded");
        }
        if (*raw >= 0 && companion)
            kill(companion, SIGTERM), kill(companion, SIGCONT);
        else if (*raw >= 0 && ((*raw == 0 && !late) || sent == SIGKILL || kill(-command, 0) != 0))
            return late;
        if (age >= limit && (*raw != 0 || late)) {
            late = late || *raw < 0;
            sent = sent ? SIGKILL : SIGTERM;
            limit = sent == SIGTERM ? age + 5000 : UINT32_MAX;
            kill(-command, sent), kill(-command, SIGCONT);
        }
        wait_for_signal(*raw >= 0 ? 10 : limit - age);
    }
}

/* Returns the exit status, as a shell has it, or TIMED_OUT. A hook reads nothing, and writes to
   standard error. */
static int run_command(char **words, bool is_hook, retry_ms limit)
{
    int raw, input = is_hook ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    bool late;
    has_terminal = isatty(STDIN_FILENO) && !is_hook && holds_terminal(getpgrp());
    if (!is_hook && (has_terminal || given[STDIN]))
        input = start_companion(given[STDIN]);
    must((command = fork()) >= 0, words[0], NULL);
    setpgid(command, command); /* whoever is first, the command or we */
    if (companion)
        setpgid(companion, command);
    if (command == 0) {
        if (has_terminal)
            tcsetpgrp(terminal, getpid());
        if (is_hook || given[STDIN])
            dup2(input, STDIN_FILENO);
        if (is_hook || output >= 0)
            dup2(is_hook ? STDERR_FILENO : output, STDOUT_FILENO);
        if (slip_as >= 0 && !is_hook)
            dup2(slip, slip_as);
        sigprocmask(SIG_SETMASK, &unblocked, NULL);
        execvp(words[0], words);
        fprintf(stderr, "retry: %s: %s%s\n", words[0], strerror(errno),
                words[1] || !strpbrk(words[0], " |<>;&") ? "" : "; for a shell line: sh -c");
        _exit(errno == ENOENT ? NOT_FOUND : NOT_RUN);
    }
    close(input);
    late = watch_command(is_hook, limit, &raw);
    if (holds_terminal(command))
        tcsetpgrp(terminal, getpgrp());
    command = 0;
    if (late)
        return TIMED_OUT;
    return WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
}

/* A signal has ended us between two tries. */
static bool stop_here(void)
{
    take_tokens();
    status = 128 + stopped_by;
    retry_stop(&operation, steady.now(NULL));
    return false;
}

static bool attempt(void *words, const retry_operation *op, const retry_step *step,
                    retry_failure *failure)
{
    char *path = slip_as < 0 ? given[RETRY_AFTER_FROM] : NULL, number[12], after[64] = "";
    put_tokens();
    if (stopped_by)
        return stop_here();
    if (given[ONLY_LAST])
        output = anew(output, NULL);
    if (given[RETRY_AFTER_FROM])
        slip = anew(slip, path);
    snprintf(number, sizeof number, "%u", op->retries + 1);
    setenv("RETRY_ATTEMPT", number, 1);
    status = run_command(words, false, step->timeout);
    take_tokens();
    in_a_row = status ? 0 : in_a_row + 1;
    failure->timeout = status == TIMED_OUT;
    if (path) /* the command may have put another file there */
        close(slip), slip = open(path, O_RDONLY);
    if (pread(slip, after, sizeof after - 1, 0) > 0)
        failure->throttle = retry_parse_retry_after(after, strcspn(after, "\r\n"), time(NULL),
                                                    &failure->retry_after);
    if (status == 0) /* not often enough: once more, for nothing */
        failure->reason = RETRY_REASON_USER(0, RETRY_REASON_ALWAYS);
    else if (on[status] && !not_on[status] && !stopped_by)
        failure->reason = RETRY_REASON_SERVER_ERROR;
    return status == 0 && (in_a_row >= successes || stopped_by);
}

/* The observer, who is told of every decision. */
static void report(void *words, const retry_operation *op, const retry_failure *failure)
{
    static char sh[] = "sh", c[] = "-c";
    bool again = op->verdict == RETRY_VERDICT_RETRY;
    char number[12], reason[64], next[32], *hook = given[again ? ON_RETRY : ON_FAILURE];
    unsigned tries = op->retries + (failure && !again);
    const char *end = status ? retry_cause_text(op->cause) : "done";
    retry_ms each = op->client->cut_after, limit = each ? each : UINT32_MAX;
    retry_ms left = retry_left(op, steady.now(NULL));
    put_tokens();
    snprintf(number, sizeof number, "%u", tries += op->verdict == RETRY_VERDICT_SUCCESS);
    snprintf(next, sizeof next, "again in %.3f s", op->delay / 1000.0);
    snprintf(reason, sizeof reason, status == TIMED_OUT ? "timed out" : "status %d", status);
    setenv("RETRY_ATTEMPT", number, 1);
    setenv("RETRY_REASON", reason, 1);
    if (!given[QUIET] && (tries > 1 || status))
        fprintf(stderr, "retry: %s: try %s: %s, %s\n", *(char **)words, number, reason,
                again ? next : end);
    if (hook && status && !stopped_by)
        run_command((char *[]){sh, c, hook, NULL}, true, again && left < limit ? left : limit);
}

/* The clock's sleep, which a signal ends. */
static void sleep_for(void *context, retry_ms delay)
{
    retry_time began = steady.now(context);
    for (retry_ms age; !stopped_by && (age = steady.now(context) - began) < delay;)
        wait_for_signal(delay - age);
    if (stopped_by)
        stop_here();
}

static void read_options(retry_client *client, bool has_output)
{
    char *text, *to = given[RETRY_AFTER_FROM];
    retry_text_error error;
    retry_ms *timeout = &operation.timeout, *each = &client->cut_after;
    read_policy((text = argument(POLICY)) ? text : "");
    check_units(text = argument(BUDGET) ? given[BUDGET] : "", "");
    if (!retry_parse_budget(&budget.options, text, strlen(text), &error))
        must(false, text[error.offset] ? text + error.offset : text, error.text);
    read_times(argument(TIMEOUT), timeout, 1);
    *timeout = *timeout ? *timeout : UINT32_MAX;
    read_times(argument(ATTEMPT_TIMEOUT), each, 1);
    client->attempt_timeout = *each; /* the last one that is paid for has no more */
    client->always_interval = retry_backoff_base(&policy.backoff, 0);
    successes = read_number(argument(SUCCESSES), 1);
    if (argument(UNTIL_OUTPUT)) {
        must(regcomp(&wanted, given[UNTIL_OUTPUT], REG_EXTENDED | REG_NOSUB) == 0,
             given[UNTIL_OUTPUT], "no extended regular expression");
        given[ONLY_LAST] = given[UNTIL_OUTPUT];
    }
    must(!argument(ONLY_LAST) || has_output, "standard output", "closed");
    must(!argument(STATE) || given[BUDGET], given[STATE], "it needs --budget, too");
    argument(RETRY_AFTER_FROM);
    slip_as = to && *to && !to[strspn(to, DIGITS)] ? (int)read_number(to, 0) : -1;
    must(slip_as < 0 || fcntl(slip_as, F_GETFD) >= 0, to, NULL);
    must(slip_as != STDOUT_FILENO || !given[UNTIL_OUTPUT], to, "--until-output looks there");
    option = "";
    if (given[STATE] && (state = open(given[STATE], O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
        leave_state(strerror(errno));
    record = given[STDIN] ? anew(-1, NULL) : -1;
    terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
}

int main(int count, char **words)
{
    retry_client client = {.strategy = &policy.base, .budget = &budget, .observe = report};
    int letter, flags = fcntl(STDOUT_FILENO, F_GETFL);
    char bytes[4096];
    while ((letter = open("/dev/null", O_RDWR)) <= STDERR_FILENO) /* or ours would become these */
        must(letter >= 0, "/dev/null", NULL);
    close(letter);
    read_statuses("1,3-63,65-125,128,129,131-140,142-255", on);
    while ((letter = getopt_long(count, words, OPTION_LETTERS, rows, NULL)) != -1) {
        must(letter != '?', "see", "retry --help");
        if (letter == ON && !given[ON])
            memset(on, false, sizeof on);
        given[letter] = optarg ? optarg : words[0];
        if (letter == ON || letter == NOT_ON)
            read_statuses(argument(letter), letter == ON ? on : not_on);
        option = "";
    }
    if (given[HELP])
        return puts(HELP_TEXT) < 0;
    if (given[VERSION])
        return printf("retry %d.%d.%d\n", RETRY_VERSION_MAJOR, RETRY_VERSION_MINOR,
                      RETRY_VERSION_PATCH) < 0;
    must(optind < count, "no command", "see retry --help");
    read_options(&client, flags >= 0 && (flags & O_ACCMODE) != O_RDONLY);
    operation.client = &client;
    operation.idempotent = true;
    client.observe_context = words += optind;
    steady = retry_system_clock();
    steady.sleep = sleep_for;
    retry_budget_init(&budget, &budget.options, steady.now(NULL));
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* an init may leave what a try left as zombies */
    block_signals();
    take_tokens();
    setenv("RETRY_REASON", "", 1);
    retry_run(&operation, NULL, &steady, attempt, words);
    put_tokens();
    for (ssize_t n, at = 0; output >= 0 && (n = pread(output, bytes, sizeof bytes, at)) > 0;
         at += n)
        must(write(STDOUT_FILENO, bytes, (size_t)n) == n, "standard output", NULL);
    if (stopped_by)
        kill(typed ? 0 : getpid(), stopped_by); /* typed: our group has not heard of it */
    if (status == 128 + stopped_by)
        sigprocmask(SIG_SETMASK, &unblocked, NULL);
    return status;
}
