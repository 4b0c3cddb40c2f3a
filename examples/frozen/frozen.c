/* frozen.c: a thousand processes call one server, and it freezes.

   The server does 200 requests a second, and keeps all others in a queue that never ends. For five
   seconds it does nothing. Then the queue is five seconds long, and operations may take no longer:
   the server works for those who have given up. Each of the thousand clients is what a process of
   its own would be. It shares nothing with the others, and has a retry_service as README.md has
   it. All of them live in one libuv loop, with one timer for each operation. The same is done
   without retries, with attempts that are cut and with attempts that are not, and with retries that
   nothing limits; and all of it at 60 % and at 80 % busy.
   The runs go on side by side, each with a server and a loop of its own. No second machine is
   needed, and hardly any processor time.

       cc -o frozen examples/frozen/frozen.c -luv && ./frozen

   What there is to learn about retry.h is in the first section. The server is in server.h. At the
   end there is a table, and verdicts (report.h). The exit status is 0 if all of them hold, 1 if
   not, 2 if it cannot be run here, or with arguments: there are none. */
#define _DEFAULT_SOURCE

#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "../plumbing.h"
#include "report.h"
#include "server.h"

#include <poll.h>
#include <sys/resource.h> /* RLIMIT_NOFILE */

enum {
    CLIENTS = 1000,
    OPERATION_TIMEOUT = 5000, /* ms for an operation with all its attempts */
    CUT_AFTER = 1000,         /* ms of one of them, while all is well */
    SECONDS = 60,             /* in which operations begin, at a steady rate */
    FROZEN_AT = 5000,         /* ms */
    FROZEN_FOR = 5000,
    LEAST = 98, /* % of the operations that are done without retries, cut or uncut */
    SEED = 3049
};

enum { CUT_OFF, UNCUT, CARELESS, SERVICE, HOWS };
static const char *const hows[HOWS] = {"no retries, cut", "no retries, uncut", "retries, no limits",
                                       "retry_service"};
static const uint32_t loads[] = {60, 80}; /* % of what the server can do */
enum { LOADS = 2, RUNS = LOADS * HOWS };

typedef struct process { /* what a process of its own would have */
    retry_service service;
    wire wire;
} process;

typedef struct operation {
    retry_operation retry;
    process *by;
    uv_timer_t timer;
    uint32_t attempt, on_wire; /* the last one's number; 0: none is on the wire */
    uint32_t begun;            /* ms since the beginning */
} operation;

/* Each run is a process, so these are one run's own. */
static uv_loop_t loop;
static process processes[CLIENTS];
static operation *operations;
static uint32_t total, under_way, connected;
static uint64_t beginning; /* ms */
static bool frozen;
static pid_t server_pid;
static frozen_report report;
static uv_timer_t arrivals, freezes;

/* ---- Operations ---------------------------------------------------------------------------- */

static retry_time instant(void)
{
    return (retry_time)uv_now(&loop); /* the low half is enough */
}

static uint32_t elapsed(void)
{
    return (uint32_t)(uv_now(&loop) - beginning);
}

/* What README.md recommends, or some of it. */
static void set_up(retry_service *service, uint32_t how)
{
    retry_client *client = &service->client;
    client->cut_after = how == UNCUT ? 0 : CUT_AFTER;
    retry_service_init(service, instant());
    if (how == SERVICE)
        return;
    client->budget = NULL;
    client->gates = NULL;
    if (how != CARELESS)
        client->strategy = retry_fail_fast();
}

static void send_attempt(operation *op)
{
    wire_message message = {(uint32_t)(op - operations), ++op->attempt};
    int error = wire_send(&op->by->wire, message);
    report.sent++;
    report.sent_in_fault += frozen;
    op->on_wire = op->attempt;
    if (error != 0) {
        retry_failure failure = retry_classify_errno(-error, false);
        retry_ended(&op->retry, 0, &failure, instant());
    }
}

static void finished(operation *op, bool done)
{
    uv_timer_stop(&op->timer);
    report.done += done;
    report.failed += !done;
    report.good[report_bin(op->begun)] += done;
    if (done && op->begun < REPORT_CALM) {
        report.calm++;
        report.calm_ms += elapsed() - op->begun;
    }
    if (--under_way == 0 && report.begun == total)
        uv_stop(&loop);
}

static void on_timer(uv_timer_t *timer);

/* The library decides, and this does it. To be called whenever something has happened. */
static void advance(operation *op)
{
    for (;;) {
        retry_step step = retry_next(&op->retry, instant());
        switch (step.what) {
        case RETRY_DO_SEND:
            send_attempt(op);
            break;
        case RETRY_DO_CANCEL:
            op->on_wire = 0; /* its answer may still come */
            break;
        case RETRY_DO_WAIT:
            uv_timer_start(&op->timer, on_timer, step.delay, 0);
            return;
        default:
            finished(op, step.verdict == RETRY_VERDICT_SUCCESS);
            return;
        }
    }
}

static void on_timer(uv_timer_t *timer)
{
    advance(timer->data);
}

static void on_answer(wire *from, wire_message message)
{
    operation *op = &operations[message.operation];
    (void)from;
    if (op->on_wire != message.attempt) {
        report.in_vain++;
        return;
    }
    op->on_wire = 0;
    retry_ended(&op->retry, 0, NULL, instant());
    advance(op);
}

static void begin(operation *op, process *by)
{
    uv_timer_init(&loop, &op->timer);
    op->timer.data = op;
    op->by = by;
    op->begun = elapsed();
    op->retry.timeout = OPERATION_TIMEOUT;
    op->retry.idempotent = true;
    under_way++;
    report.begun++;
    report.begun_in_fault += frozen;
    report.bins[report_bin(op->begun)]++;
    retry_start(&op->retry, &by->service, instant());
    advance(op);
}

/* ---- A run --------------------------------------------------------------------------------- */

static void run_fails(const char *what)
{
    fprintf(stderr, "frozen: %s\n", what);
    child_kill(server_pid);
    _exit(2);
}

/* Operations begin at a steady rate, each at a client drawn at random. */
static void on_arrivals(uv_timer_t *timer)
{
    uint64_t next;
    while ((next = (uint64_t)report.begun * SECONDS * 1000 / total) <= elapsed()) {
        uint32_t who = (report.begun * UINT32_C(2654435769)) >> 16;
        begin(&operations[report.begun], &processes[who % CLIENTS]);
        if (report.begun == total)
            return;
    }
    uv_timer_start(timer, on_arrivals, next - elapsed(), 0);
}

static void on_freeze(uv_timer_t *timer)
{
    frozen = !frozen;
    if (kill(server_pid, frozen ? SIGSTOP : SIGCONT) != 0)
        run_fails("the server is gone");
    if (frozen)
        uv_timer_start(timer, on_freeze, FROZEN_FOR, 0);
}

static void on_closed(wire *w)
{
    (void)w;
    run_fails("the server has closed a connection");
}

static void on_connected(uv_connect_t *connect, int status)
{
    if (status < 0)
        run_fails(uv_strerror(status));
    wire_open(connect->handle->data);
    if (++connected < CLIENTS)
        return;
    beginning = uv_now(&loop);
    uv_timer_start(&arrivals, on_arrivals, 0, 0);
    uv_timer_start(&freezes, on_freeze, FROZEN_AT, 0);
}

static void start_client(process *p, uv_connect_t *connect, const struct sockaddr_in *to,
                         uint32_t how)
{
    set_up(&p->service, how);
    wire_init(&loop, &p->wire);
    p->wire.heard = on_answer;
    p->wire.closed = on_closed;
    if (uv_tcp_connect(connect, &p->wire.tcp, (const struct sockaddr *)to, on_connected) != 0)
        run_fails("cannot connect");
}

static uint16_t start_server(void)
{
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    pid_t parent = getpid();
    int fd = tcp_bind(0);
    if (fd < 0 || listen(fd, CLIENTS) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0 || (server_pid = fork()) < 0)
        run_fails("cannot start a server");
    if (server_pid == 0) {
        fd = dup2(fd, 64); /* beyond what child_begin closes */
        child_begin(parent);
        server_run(fd, CLIENTS);
    }
    close(fd);
    return ntohs(address.sin_port);
}

/* The sockets of all clients, and some more. */
static void need_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < CLIENTS + 100) {
        files.rlim_cur = CLIENTS + 100;
        if (setrlimit(RLIMIT_NOFILE, &files) != 0)
            run_fails("it needs 1,100 file descriptors: ulimit -n 1100");
    }
}

static uint32_t operations_at(uint32_t load)
{
    return SERVER_RATE * load / 100 * SECONDS;
}

/* In a process of its own. */
static void run(uint32_t load, uint32_t how, int result)
{
    static uv_connect_t connects[CLIENTS];
    struct sockaddr_in to;
    signal(SIGPIPE, SIG_IGN);
    need_files();
    to = loopback(start_server());
    retry_seed(SEED + load + how);
    total = operations_at(load);
    operations = calloc(total, sizeof *operations);
    if (!operations || uv_loop_init(&loop) != 0)
        run_fails("out of memory");
    uv_timer_init(&loop, &arrivals);
    uv_timer_init(&loop, &freezes);
    for (uint32_t i = 0; i < CLIENTS; i++)
        start_client(&processes[i], &connects[i], &to, how);
    uv_run(&loop, UV_RUN_DEFAULT);
    for (uint32_t i = 0; i < CLIENTS; i++)
        report.in_flight += processes[i].service.gates.in_flight;
    child_kill(server_pid);
    _exit(write(result, &report, sizeof report) == (ssize_t)sizeof report ? 0 : 2);
}

/* ---- All runs ------------------------------------------------------------------------------ */

static struct {
    pid_t pid;
    int result; /* the report is read from it */
} runs[RUNS];
static frozen_report reports[RUNS]; /* of each load, in the order of hows */

static void start_run(uint32_t index)
{
    pid_t parent = getpid();
    int ends[2];
    if (pipe(ends) != 0 || (runs[index].pid = fork()) < 0) {
        perror("frozen");
        exit(2);
    }
    if (runs[index].pid == 0) {
        int result = dup2(ends[1], 65); /* beyond what child_begin closes */
        child_begin(parent);
        run(loads[index / HOWS], index % HOWS, result);
    }
    close(ends[1]);
    runs[index].result = ends[0];
}

/* False: a run has failed, or somebody interrupts. */
static bool await_run(uint32_t index, uint64_t since)
{
    struct pollfd result = {runs[index].result, POLLIN, 0};
    ssize_t got;
    while (!interrupted && poll(&result, 1, 500) == 0)
        progress("%d s of %d", (int)((clock_ms() - since) / 1000), SECONDS + 5);
    got = interrupted ? 0 : read(result.fd, &reports[index], sizeof reports[index]);
    child_kill(runs[index].pid);
    return got == (ssize_t)sizeof reports[index];
}

static void run_all(void)
{
    bool fine = true;
    uint64_t since = clock_ms();
    for (uint32_t i = 0; i < RUNS; i++)
        start_run(i);
    for (uint32_t i = 0; i < RUNS; i++)
        fine = await_run(i, since) && fine;
    progress_clear();
    if (!fine)
        exit(2);
}

static uint32_t back_of(const frozen_report *of)
{
    return report_back(of, (FROZEN_AT + FROZEN_FOR) / REPORT_BIN, SECONDS * 1000 / REPORT_BIN);
}

static void print_row(uint32_t load, const char *how, const frozen_report *r)
{
    char back[16] = "never";
    if (back_of(r) != REPORT_NEVER)
        snprintf(back, sizeof back, "%.1f", back_of(r) / 1000.0);
    printf("%3" PRIu32 "  %-18s %5" PRIu32 " %5" PRIu32 " %5.1f %6s %8.2f %6" PRIu32 " %7" PRIu32
           " %5" PRIu32 "\n",
           load, how, r->begun, r->done, 100.0 * r->done / r->begun, back,
           (double)r->sent_in_fault / r->begun_in_fault, r->sent, r->in_vain,
           r->calm ? r->calm_ms / r->calm : 0);
}

static void print_table(void)
{
    printf("A server does %d requests a second. All others wait in one queue without an\n"
           "end, and it works on for those who have given up. It is frozen for %d s.\n"
           "%d processes, which share nothing, call it: operations begin for %d s, and\n"
           "may take %d s.\n\n"
           "  busy      %% of the server, while all is well\n"
           "  begun     operations\n"
           "  done      of these, and %% of these; \"uncut\" lets attempts take all the time\n"
           "  back      s after the fault until 95 %% are done again\n"
           "  in fault  attempts sent while the server was frozen, for each operation begun\n"
           "  sent      attempts\n"
           "  in vain   answers for which nobody waited any more\n"
           "  calm      ms that an operation takes before the fault\n\n"
           "busy                    begun  done     %%   back in fault   sent in vain  calm\n",
           SERVER_RATE, FROZEN_FOR / 1000, CLIENTS, SECONDS, OPERATION_TIMEOUT / 1000);
    for (uint32_t i = 0; i < RUNS; i++)
        print_row(loads[i / HOWS], hows[i % HOWS], &reports[i]);
    printf("\n");
}

static bool judge_all(void)
{
    uint32_t ended = 0, in_flight = 0;
    bool kept;
    for (uint32_t i = 0; i < RUNS; i++) {
        const frozen_report *r = &reports[i];
        ended += r->done + r->failed == r->begun && r->begun == operations_at(loads[i / HOWS]);
        in_flight += r->in_flight;
    }
    kept = verdict(ended == RUNS, "Every operation ended, and only once.");
    kept &= verdict(in_flight == 0, "In the end the gates count nothing as in flight.");
    return kept;
}

/* The bounds leave room for a busy machine. */
static bool judge_load(uint32_t load, const frozen_report of[HOWS])
{
    const frozen_report *cut = &of[CUT_OFF], *uncut = &of[UNCUT], *with = &of[SERVICE];
    uint32_t most = cut->done > uncut->done ? cut->done : uncut->done;
    bool kept = verdict(back_of(&of[CARELESS]) == REPORT_NEVER,
                        "%" PRIu32 " %%: retries without limits never let it come back.", load);
    kept &= verdict(back_of(with) <= back_of(uncut) + 1000,
                    "%" PRIu32 " %%: with the service it does, as soon as without retries.", load);
    kept &= verdict(with->done * 100 >= most * LEAST,
                    "%" PRIu32 " %%: at least %d %% are done of what no retries do, cut or uncut.",
                    load, LEAST);
    kept &= verdict(with->sent_in_fault <= with->begun_in_fault * 2,
                    "%" PRIu32 " %%: in the fault at most two attempts are sent for an operation.",
                    load);
    kept &= verdict(with->calm >= cut->calm, "%" PRIu32 " %%: before the fault no fewer are done.",
                    load);
    return kept;
}

int main(int count, char **arguments)
{
    bool kept;
    if (count > 1) {
        fprintf(stderr, "usage: %s (without arguments)\n", arguments[0]);
        return 2;
    }
    catch_interrupts();
    run_all();
    print_table();
    kept = judge_all();
    for (uint32_t i = 0; i < LOADS; i++)
        kept &= judge_load(loads[i], &reports[i * HOWS]);
    return kept ? 0 : 1;
}
