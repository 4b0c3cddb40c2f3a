/* Processes of one machine share a budget, a breaker, a throttle and a rate, in memory that was
   mapped before fork(), and are killed while they use them. No more retries are sent than the one
   budget pays for, no more attempts than the one rate lets pass, and all of it stays usable. Needs
   POSIX. */
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#endif
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700
#endif
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/contend.h"

#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/by_hand.h"
#include "../support/check.h"

#define WORKERS 4u
#ifdef CHECK_QUICK
#define KILLS 10u
#else
#define KILLS 30u
#endif
#define PATIENCE 10000000u /* steps of all workers in which what is waited for has to come */

/* What is shared. */
struct shared {
    retry_budget budget;
    retry_breaker breaker;
    retry_throttle throttle;
    retry_rate rate;
};
static struct shared *shared;

/* What the workers and the test tell each other. Who is killed has counted what it began, and not
   what it had done. */
struct tally {
    uint32_t now; /* ms: one clock for all */
    uint32_t steps[WORKERS];
    uint32_t begun, done;
    uint32_t retries, deposits;
    uint32_t sick;             /* how the server is: not 0 */
    uint32_t probing;          /* not 0: whoever is let pass is silent */
    uint32_t probes, prober;   /* those, and the worker that was the last, from 1 */
    uint32_t sent, refused_at; /* by a rate, and the instant of its last refusal */
};
static struct tally *tally;

static uint32_t get(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void set(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

static uint32_t count(uint32_t *word)
{
    return __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
}

static void rest(void)
{
    const struct timespec moment = {0, 20000};
    nanosleep(&moment, NULL);
}

/* ---- workers ------------------------------------------------------------------------------- */

static pid_t parent, workers[WORKERS];
static void (*work)(void); /* a step of each */
static uint32_t kills;     /* since the last start_all */
static uint32_t self;      /* in a worker: its number */
static uint32_t luck;      /* in a worker: what it does next */

static uint32_t choose(void)
{
    luck = (uint32_t)((uint64_t)luck * 48271u % 2147483647u);
    return luck;
}

/* Before a step that another process can see, this one may lose the processor, and its life. */
static void may_wait(void)
{
    if (choose() % 64 == 0)
        sched_yield();
}

/* No worker outlives the test. */
static void check_parent(void)
{
    if (getppid() != parent)
        _exit(1);
}

static void start_worker(uint32_t number)
{
    uint32_t seed = check_random() % 2147483646u + 1;
    fflush(stdout);
    workers[number] = fork();
    if (workers[number] < 0) {
        printf("no process\n");
        exit(1);
    }
    if (workers[number] != 0)
        return;
    self = number;
    luck = seed;
    contend.step = may_wait;
    for (;;) {
        work();
        count(&tally->steps[number]);
        check_parent();
    }
}

static void kill_worker(uint32_t number)
{
    int status = 0;
    kill(workers[number], SIGKILL);
    CHECK(waitpid(workers[number], &status, 0) == workers[number]);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* and not of a fault */
    kills++;
}

static void start_all(void (*step)(void))
{
    uint32_t i;
    work = step;
    kills = 0;
    for (i = 0; i < WORKERS; i++)
        start_worker(i);
}

static void stop_all(void)
{
    uint32_t i;
    for (i = 0; i < WORKERS; i++)
        kill_worker(i);
}

static void kill_one(void)
{
    uint32_t number = check_random() % WORKERS;
    kill_worker(number);
    start_worker(number);
}

/* A moment of the test, in which no worker may end by itself. */
static void watch(void)
{
    rest();
    if (waitpid(-1, NULL, WNOHANG) != 0) {
        printf("a worker has ended\n");
        exit(1);
    }
}

static uint32_t steps(void)
{
    uint32_t i, sum = 0;
    for (i = 0; i < WORKERS; i++)
        sum += get(&tally->steps[i]);
    return sum;
}

/* Until the workers have taken so many steps, all together. */
static void let_work(uint32_t more)
{
    uint32_t first = steps();
    while (steps() - first < more)
        watch();
}

/* Until each worker has begun and ended a step, or is silent for as long. */
static void settle(void)
{
    uint32_t i, first;
    for (i = 0; i < WORKERS; i++) {
        first = get(&tally->steps[i]);
        while (get(&tally->steps[i]) - first < 2)
            watch();
    }
}

/* ---- the budget ---------------------------------------------------------------------------- */

/* One request works, or fails and is to be sent again. Each retry is counted after it was paid
   for, and each deposit before it is made. */
static void use_budget(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_KV_LOCKED);
    retry_client client;
    retry_operation op;
    memset(&client, 0, sizeof client);
    memset(&op, 0, sizeof op);
    client.budget = &shared->budget;
    op.client = &client;
    retry_start(&op, NULL, get(&tally->now));
    if (choose() % 2 == 0) {
        count(&tally->deposits);
        decide(&op, NULL, get(&tally->now));
    } else if (decide(&op, &failure, get(&tally->now)).verdict == RETRY_VERDICT_RETRY) {
        count(&tally->retries);
    }
}

/* No more is spent than was put in, or is there. Who was killed may have lost one retry, and what
   was about to come in. */
static void test_budget(void)
{
    static const uint32_t refills[] = {0, 1000, 777777};
    size_t i;
    uint32_t n;
    for (i = 0; i < CHECK_COUNT(refills); i++) {
        retry_budget_options options;
        uint64_t in, spent;
        check_row("refill of %lu", (unsigned long)refills[i]);
        memset(&options, 0, sizeof options);
        memset(tally, 0, sizeof *tally);
        options.capacity = UINT32_C(2000000000);
        options.retry_cost = 1000;
        options.success_deposit = 100;
        options.refill_per_second = refills[i];
        retry_budget_init(&shared->budget, &options, 0);
        CHECK(retry_budget_withdraw(&shared->budget, options.capacity - 100000, 0));
        start_all(use_budget);
        for (n = 0; n < KILLS; n++) {
            let_work(1 + check_random() % 250);
            kill_one();
            set(&tally->now, get(&tally->now) + check_random() % 100);
        }
        stop_all();
        in = 100000 + (uint64_t)get(&tally->deposits) * 100 +
             (uint64_t)get(&tally->now) * refills[i] / 1000;
        spent = (uint64_t)get(&tally->retries) * 1000 + retry_budget_balance(&shared->budget);
        CHECK_RANGE(refills[i] == 0 ? in - kills * 1000 : 0, in, spent);
        CHECK_RANGE(100, UINT32_MAX, get(&tally->retries)); /* it was not too quiet to tell */
    }
}

/* One base for all: it comes in once, however many processes see the time pass, and is there again
   for whoever comes after those that died. */
static void test_base(void)
{
    static const uint32_t bases[] = {RETRY_PER_SECOND(0.05), RETRY_PER_SECOND(40)};
    size_t i;
    uint32_t n;
    for (i = 0; i < CHECK_COUNT(bases); i++) {
        retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(1);
        uint64_t in;
        check_row("base of %lu", (unsigned long)bases[i]);
        memset(tally, 0, sizeof *tally);
        options.base_per_second = bases[i];
        options.success_deposit = 0; /* so that all of it is the base's */
        retry_budget_init(&shared->budget, &options, 0);
        start_all(use_budget);
        for (n = 0; n < 5 * KILLS; n++) {
            let_work(1 + check_random() % 250);
            if (n % 5 == 0)
                kill_one();
            set(&tally->now, get(&tally->now) + check_random() % 400);
        }
        stop_all();
        in = 1000 + (uint64_t)get(&tally->now) * bases[i] / 1000;
        CHECK_RANGE(4, in / 250 + 4, /* a base may be owed */
                    get(&tally->retries) + retry_budget_balance(&shared->budget) / 250);
        if (bases[i] != RETRY_PER_SECOND(0.05))
            CHECK_RANGE(50, UINT32_MAX, get(&tally->retries));
        /* Who comes after them, when what is owed and a base have come in, has that, and no more.
         */
        set(&tally->now, get(&tally->now) + 40000);
        CHECK(!retry_budget_withdraw(&shared->budget, 1001, get(&tally->now)));
        CHECK(retry_budget_withdraw(&shared->budget, 1000, get(&tally->now)));
        CHECK(!retry_budget_withdraw(&shared->budget, 1, get(&tally->now)));
    }
}

/* ---- the breaker --------------------------------------------------------------------------- */

/* One attempt, if the breaker grants it. While the test is probing it is silent. */
static void use_breaker(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
    retry_time now = get(&tally->now);
    retry_permit permit = retry_breaker_ask(&shared->breaker, true, now);
    if (!permit.granted) {
        may_wait();
        return;
    }
    count(&tally->begun);
    if (get(&tally->probing) != 0) {
        count(&tally->probes);
        set(&tally->prober, self + 1);
        for (; get(&tally->probing) != 0; check_parent()) {
            count(&tally->steps[self]);
            rest();
        }
    }
    retry_breaker_report(&shared->breaker, permit, get(&tally->sick) ? &failure : NULL, now);
    count(&tally->done);
}

/* Until the breaker's state is this one, while the time goes on. */
static bool await_state(uint8_t state, retry_ms pace)
{
    uint32_t first = steps();
    while (retry_breaker_state(&shared->breaker, get(&tally->now)) != state) {
        if (steps() - first > PATIENCE)
            return false;
        watch();
        set(&tally->now, get(&tally->now) + pace);
    }
    return true;
}

/* The worker that is the probe number `probes`, from 1; 0: nobody is. */
static uint32_t await_probe(uint32_t probes)
{
    uint32_t first = steps(), prober = 0;
    while (get(&tally->probes) < probes || (prober = get(&tally->prober)) == 0) {
        if (steps() - first > PATIENCE)
            return 0;
        watch();
    }
    return prober;
}

/* The server is sick, and well again; the first probe dies. */
static void open_and_close(void)
{
    retry_breaker *breaker = &shared->breaker;
    uint32_t begun, prober;
    set(&tally->sick, 1);
    CHECK(await_state(RETRY_BREAKER_OPEN, 10));
    settle();
    begun = get(&tally->begun);
    settle();
    CHECK_EQUAL(begun, get(&tally->begun)); /* refused in all processes */
    set(&tally->probes, 0);
    set(&tally->prober, 0);
    set(&tally->probing, 1);
    set(&tally->now, get(&tally->now) + retry_breaker_ask(breaker, false, get(&tally->now)).wait);
    prober = await_probe(1);
    CHECK(prober != 0);
    if (prober == 0)
        return;
    settle();
    CHECK_EQUAL(1, get(&tally->probes)); /* of all processes */
    set(&tally->prober, 0);
    kill_worker(prober - 1);
    start_worker(prober - 1);
    set(&tally->now, get(&tally->now) + 999);
    settle();
    CHECK_EQUAL(1, get(&tally->probes)); /* its place is not free yet */
    set(&tally->now, get(&tally->now) + 1);
    CHECK(await_probe(2) != 0);
    set(&tally->sick, 0);
    set(&tally->probing, 0);
    CHECK(await_state(RETRY_BREAKER_CLOSED, 0));
    begun = get(&tally->begun);
    settle();
    CHECK(get(&tally->begun) - begun >= WORKERS);
}

static void set_up_breaker(uint32_t volume)
{
    memset(tally, 0, sizeof *tally);
    memset(&shared->breaker, 0, sizeof shared->breaker);
    shared->breaker.volume = volume;
    shared->breaker.open = 200;
    shared->breaker.probe_timeout = 1000;
}

/* However those who use it die, it opens for all, lets one probe through, and closes. */
static void test_breaker(void)
{
    uint32_t round, n;
    set_up_breaker(10);
    start_all(use_breaker);
    for (round = 0; round < KILLS / 4 && check_faults == 0; round++) {
        check_row("round %lu", (unsigned long)round);
        open_and_close();
        set(&tally->probing, 0);
        for (n = 0; n < 8; n++) {
            set(&tally->sick, check_random() % 2);
            set(&tally->now, get(&tally->now) + check_random() % 300);
            let_work(1 + check_random() % 100);
            kill_one();
        }
    }
    stop_all();
}

/* Each report is counted once, whoever makes it. */
static void test_breaker_counts(void)
{
    retry_breaker_counts counts;
    uint32_t n;
    set_up_breaker(UINT32_MAX);
    set(&tally->sick, 1);
    start_all(use_breaker);
    for (n = 0; n < KILLS; n++) {
        let_work(1 + check_random() % 250);
        kill_one();
    }
    stop_all();
    counts = retry_breaker_get(&shared->breaker, get(&tally->now));
    CHECK_RANGE(get(&tally->done), get(&tally->begun), counts.reports);
    CHECK_RANGE(get(&tally->done), counts.reports, counts.sick);
    CHECK_RANGE(100, UINT32_MAX, get(&tally->done));
}

/* ---- the throttle -------------------------------------------------------------------------- */

#define REPORTS 800u /* more would come too near to the most that are refused */

static void use_throttle(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
    retry_gates gates;
    if (get(&tally->begun) >= REPORTS || count(&tally->begun) >= REPORTS) {
        rest();
        return;
    }
    memset(&gates, 0, sizeof gates);
    retry_gates_throttle(&gates, &shared->throttle);
    by_hand_attempt(&gates, UINT32_MAX, get(&tally->now), &failure, get(&tally->now));
    count(&tally->done);
}

/* How many reports it has counted, of which none was accepted: n / (n + 1) are refused. */
static uint32_t reports_counted(void)
{
    uint64_t low = 0, high = UINT32_MAX; /* the least number drawn that is let pass */
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    retry_gates_throttle(&gates, &shared->throttle);
    while (low < high) {
        uint32_t middle = (uint32_t)((low + high) / 2);
        if (by_hand_ask(&gates, middle, get(&tally->now)).what == RETRY_DO_SEND)
            high = middle;
        else
            low = (uint64_t)middle + 1;
    }
    high = (UINT64_C(1) << 32) - low;
    return (uint32_t)(((UINT64_C(1) << 32) + high / 2) / high - 1);
}

static void test_throttle(void)
{
    uint32_t round;
    memset(tally, 0, sizeof *tally);
    memset(&shared->throttle, 0, sizeof shared->throttle);
    shared->throttle.max_rejection = RETRY_RATIO(0.999);
    for (round = 0; round < KILLS / 6; round++) {
        check_row("round %lu", (unsigned long)round);
        set(&tally->begun, 0);
        set(&tally->done, 0);
        CHECK_EQUAL(0, reports_counted()); /* those of before are forgotten */
        start_all(use_throttle);
        while (get(&tally->begun) < REPORTS) {
            let_work(1 + check_random() % 40);
            kill_one();
        }
        settle();
        stop_all();
        CHECK_RANGE(get(&tally->done), REPORTS, reports_counted());
        CHECK_RANGE(REPORTS / 2, REPORTS, get(&tally->done));
        set(&tally->now, get(&tally->now) + 8000);
    }
}

/* ---- the rate ------------------------------------------------------------------------------ */

/* Each that is let pass is counted afterwards. */
static void use_rate(void)
{
    retry_time now = get(&tally->now);
    retry_gates gates;
    memset(&gates, 0, sizeof gates);
    retry_gates_rate(&gates, &shared->rate);
    if (by_hand_attempt(&gates, 0, now, NULL, now).what == RETRY_DO_SEND)
        count(&tally->sent);
    else
        set(&tally->refused_at, now);
}

/* A thousand a second, and an eighth of that at once. Each ms ends when a worker was refused in
   it; who was killed may have lost one, and the ms. */
static void test_rate(void)
{
    uint32_t ms, first, most;
    memset(tally, 0, sizeof *tally);
    memset(&shared->rate, 0, sizeof shared->rate);
    shared->rate.max = 1000 * 1000;
    shared->rate.wait = 1;
    set(&tally->now, 1);
    start_all(use_rate);
    for (ms = 1; ms <= KILLS * 10 && check_faults == 0; ms++) {
        set(&tally->now, ms);
        if (ms % 10 == 0)
            kill_one();
        for (first = steps(); get(&tally->refused_at) != ms && check_faults == 0; watch())
            CHECK(steps() - first < PATIENCE);
    }
    stop_all();
    most = 125 + KILLS * 10;
    CHECK_RANGE(most - 1 - 2 * kills, most, get(&tally->sent));
}

/* Memory that children share. */
static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        printf("no memory to share\n");
        exit(1);
    }
    return memory;
}

int main(void)
{
    shared = (struct shared *)map(sizeof *shared);
    tally = (struct tally *)map(sizeof *tally);
    parent = getpid();
    RUN(test_budget);
    RUN(test_base);
    RUN(test_breaker);
    RUN(test_breaker_counts);
    RUN(test_throttle);
    RUN(test_rate);
    return check_done();
}
