/* plumbing.h: what the examples share and what has nothing to do with retrying: time, TCP on
   loopback, child processes, interrupts, and lines on a terminal. POSIX. Everything is static;
   define _DEFAULT_SOURCE before the first #include, and include it in one file of a program. */
#ifndef PLUMBING_H
#define PLUMBING_H

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* ---- Time ---------------------------------------------------------------------------------- */

/* Milliseconds on the monotonic clock, which all processes of a machine share. */
static inline uint64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* retry.h's instants are the low half of it. They wrap, so that only differences count. */
static inline uint32_t instant_now(void)
{
    return (uint32_t)clock_ms();
}

/* Whether it is time, for timers of up to a day: whatever lies further ahead is weeks ago. */
static inline bool reached(uint32_t timer, uint32_t now)
{
    return timer - now - 1 >= UINT32_C(86400000);
}

/* Sleeps for `ms` milliseconds, however often a signal interrupts. */
static inline void pause_ms(unsigned ms)
{
    struct timespec rest = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        continue;
}

/* ---- TCP on loopback ----------------------------------------------------------------------- */

/* A TCP socket that is not handed on to programs that are started; ends the program without one. */
static inline int tcp_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) {
        perror("socket");
        exit(2);
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

static inline struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* A socket bound to the port (0: any free one), or -1. It does not listen: whoever connects is
   refused. Another process may bind the same port in the same way and listen there. */
static inline int tcp_bind(uint16_t port)
{
    int fd = tcp_socket();
    int on = 1;
    struct sockaddr_in address = loopback(port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
#ifdef SO_REUSEPORT
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
#endif
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Keeps a free port for a server that comes and goes: while the socket returned is bound, nobody
   else is given the port, not even as the near end of a connection (a client that connects to a
   closed port of its own machine can otherwise meet itself). Ends the program if there is none. */
static inline int tcp_reserve_port(uint16_t *port)
{
    struct sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    int fd = tcp_bind(0);
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        perror("no free port on 127.0.0.1");
        exit(2);
    }
    *port = ntohs(address.sin_port);
    return fd;
}

/* Starts to connect, without blocking. Returns the socket, or -1 if refused at once. Writable means
   done; tcp_connected tells how it went. */
static inline int tcp_connect(uint16_t port)
{
    int fd = tcp_socket();
    int on = 1;
    struct sockaddr_in address = loopback(port);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

static inline bool tcp_connected(int fd)
{
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

/* ---- Child processes ----------------------------------------------------------------------- */

/* In a child, first of all: it leaves the terminal's Ctrl-C to its parent, closes what the parent
   had open, and on Linux dies with the parent however that ends. */
static inline void child_begin(pid_t parent)
{
    setpgid(0, 0);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent)
        _exit(0);
}

/* Kills a child and waits until it is gone. Nothing for a pid that is none. */
static inline void child_kill(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* Gives up root for good, as a server would. Done before the program is started, because a process
   that changes its user no longer dies with its parent. */
static inline void become_nobody(void)
{
    const struct passwd *nobody = geteuid() == 0 ? getpwnam("nobody") : NULL;
    if (nobody && (setgid(nobody->pw_gid) != 0 || setuid(nobody->pw_uid) != 0))
        _exit(127);
}

/* Starts a program, found in PATH, as a child. -1, with errno, if that is not possible. */
static inline pid_t child_start(char *const arguments[])
{
    int failure = 0, report[2]; /* closed by a successful exec; else it carries errno */
    pid_t parent = getpid(), pid;
    if (pipe(report) != 0 || fcntl(report[1], F_SETFD, FD_CLOEXEC) != 0 || (pid = fork()) < 0)
        return -1;
    if (pid == 0) {
        int fd = dup2(report[1], 64); /* beyond what child_begin closes */
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        become_nobody();
        child_begin(parent);
        execvp(arguments[0], arguments);
        failure = errno;
        _exit(write(fd, &failure, sizeof failure) == (ssize_t)sizeof failure ? 127 : 126);
    }
    close(report[1]);
    bool failed = read(report[0], &failure, sizeof failure) > 0;
    close(report[0]);
    if (!failed)
        return pid;
    child_kill(pid);
    errno = failure;
    return -1;
}

/* ---- Interrupts ---------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted; /* the signal that asked the program to end, or 0 */

static inline void interrupt(int signal_number)
{
    interrupted = signal_number;
}

/* From now on SIGINT and SIGTERM set `interrupted` (and end a poll), and a broken pipe is an error
   of the call that met it. */
static inline void catch_interrupts(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = interrupt;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- Lines on a terminal ------------------------------------------------------------------- */

#if defined(__GNUC__)
#define PRINTF_LIKE __attribute__((format(printf, 1, 2)))
#define PRINTF_2_LIKE __attribute__((format(printf, 2, 3)))
#else
#define PRINTF_LIKE
#define PRINTF_2_LIKE
#endif

enum { PROGRESS_WIDTH = 78 };
static bool progress_shown;

/* Removes the line of progress. */
static inline void progress_clear(void)
{
    if (progress_shown)
        fprintf(stderr, "\r%*s\r", PROGRESS_WIDTH, "");
    progress_shown = false;
}

/* Draws the line of progress, over the last one, on standard error. Nothing if that is no
   terminal. */
PRINTF_LIKE static inline void progress(const char *format, ...)
{
    char line[PROGRESS_WIDTH + 1];
    va_list arguments;
    if (!isatty(STDERR_FILENO))
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\r%-*s", PROGRESS_WIDTH, line);
    progress_shown = true;
}

/* Prints above the line of progress; bring your own newline. */
PRINTF_LIKE static inline void say(const char *format, ...)
{
    va_list arguments;
    progress_clear();
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    fflush(stdout);
}

#endif /* PLUMBING_H */
