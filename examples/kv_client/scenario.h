/* scenario.h: what kv_client.c is put through: the plan of its operations, the nodes' processes and
   what is done to them, the line of progress, and the verdicts at the end. */
#ifndef KV_SCENARIO_H
#define KV_SCENARIO_H

#include "client.h"

#define UNKNOWN UINT32_MAX

/* The client's. */
static void disconnect(kv_client *client, node *lost, retry_time now);
static uint32_t requests_at(const kv_client *client, const node *to);

/* ---- The plan ------------------------------------------------------------------------------ */

static const scenario scripted = {
    .server = "two nodes that follow a script",
    .nodes = 2,
    .pattern = {SET, GET, INCREMENT, GET_AND_LOCK, GET, SET, ADD, GET, UNLOCK, GET},
    .events = {{30, 0, START}, {50, 1, START}, {300, 1, FREEZE}, {480, 1, KILL}, {540, 1, START}}};

/* What a frozen process has in its sockets it does when it thaws, though nobody hears of it. */
static const scenario memcached = {
    .server = "a memcached that is killed and cut off",
    .nodes = 1,
    .pattern = {SET, GET, INCREMENT, INCREMENT, GET, SET, ADD, GET, INCREMENT, GET},
    .events = {{10, 0, START},
               {220, 0, FREEZE},
               {240, 0, KILL},
               {300, 0, START},
               {420, 0, FREEZE},
               {440, 0, CUT},
               {440, 0, THAW}}};

/* Counters and new keys are an operation's own, so that their values tell what was done to them.
   The documents of a burst are its own as well: its second set meets the lock on one of them. */
static void plan_operation(kv_client *client, uint32_t number)
{
    operation *op = &client->operations[number];
    uint32_t burst = number / BURST, place = number % BURST;
    op->kind = client->scenario->pattern[place];
    if (op->kind == INCREMENT)
        snprintf(op->key, sizeof op->key, "counter-%" PRIu32, number);
    else if (op->kind == ADD)
        snprintf(op->key, sizeof op->key, "new-%" PRIu32, number);
    else if (op->kind == GET || place == 0)
        snprintf(op->key, sizeof op->key, "item-%" PRIu32, burst);
    else
        snprintf(op->key, sizeof op->key, "document-%" PRIu32, burst);
    if (op->kind == GET_AND_LOCK)
        op->partner = number + LOCK_HELD;
    if (op->kind == UNLOCK)
        op->partner = number - LOCK_HELD;
    if (client->cluster && (place == 0 || op->kind == GET_AND_LOCK))
        kv_cluster_put(client->cluster, op->key, "first value");
}

/* A server that cannot be asked what it did is asked for its counters when all is over. */
static void plan_read_back(kv_client *client)
{
    for (uint32_t i = 0; i < OPERATIONS && client->count < KV_OPERATIONS; i++) {
        if (client->operations[i].kind != INCREMENT)
            continue;
        operation *op = &client->operations[client->count];
        op->kind = READ_BACK;
        memcpy(op->key, client->operations[i].key, sizeof op->key);
        client->operations[i].partner = client->count++;
    }
}

/* ---- The nodes' processes ------------------------------------------------------------------ */

static void start_process(kv_client *client, node *of)
{
    char port[8];
    char *arguments[] = {"memcached", "-u", "nobody", "-l", "127.0.0.1",
                         "-p",        port, "-U",     "0",  NULL};
    snprintf(port, sizeof port, "%u", (unsigned)of->port);
    if (client->cluster)
        of->process = kv_serve(client->cluster, (uint8_t)(of - client->nodes), of->port);
    else
        of->process = child_start(arguments);
    if (of->process > 0)
        return;
    progress_clear();
    fprintf(stderr, "cannot start %s: %s%s\n", of->name, strerror(errno),
            client->cluster ? "" : " (is memcached installed? the demo runs without it, too)");
    exit(2);
}

static void act(kv_client *client, const event *what)
{
    static const char *const texts[] = {"", "started", "frozen", "cut off", "thawed", "killed"};
    node *of = &client->nodes[what->node];
    uint32_t requests = requests_at(client, of);
    if (what->action == START)
        start_process(client, of);
    else if (what->action == FREEZE)
        kill(of->process, SIGSTOP);
    else if (what->action == CUT)
        disconnect(client, of, instant_now());
    else if (what->action == THAW)
        kill(of->process, SIGCONT);
    else
        child_kill(of->process);
    if (what->action == CUT || what->action == KILL)
        tell(&client->report, "%s is %s, requests on the wire: %" PRIu32, of->name,
             texts[what->action], requests);
    else
        tell(&client->report, "%s is %s", of->name, texts[what->action]);
}

static void act_on_nodes(kv_client *client)
{
    const event *events = client->scenario->events;
    while (events[client->next_event].action != NO_EVENT &&
           events[client->next_event].operation <= client->next)
        act(client, &events[client->next_event++]);
}

static void draw_progress(kv_client *client, retry_time now)
{
    char nodes[64] = "";
    size_t used = 0;
    if (now - client->drawn < TICK)
        return;
    client->drawn = now;
    for (size_t i = 0; i < client->scenario->nodes; i++) {
        const node *of = &client->nodes[i];
        used += (size_t)snprintf(nodes + used, sizeof nodes - used, "  %s %s", of->name,
                                 of->state == READY ? "up" : "--");
    }
    progress("%6.2f s  %4" PRIu32 " of %" PRIu32 " done  %3" PRIu32 " open  %4" PRIu32 " retries%s",
             seconds_since_start(&client->report), client->next - client->open, client->count,
             client->open, client->report.retries, nodes);
}

/* ---- The verdicts -------------------------------------------------------------------------- */

/* How often the operation was applied: by the server's own count, or by the value of a counter that
   no other operation touches. -1: that cannot be told. */
static int times_applied(const kv_client *client, const operation *op)
{
    if (client->cluster)
        return client->cluster->applied[op - client->operations];
    const operation *read_back = &client->operations[op->partner];
    if (read_back->state == FINISHED && read_back->outcome == DONE)
        return (int)read_back->value;
    return op->outcome == DONE ? (int)op->value : -1;
}

/* Of memcached's values only counters tell how often they were changed. */
static bool leaves_traces(const kv_client *client, const operation *op)
{
    if (client->cluster)
        return !errmap_idempotent_kv(kinds[op->kind].opcode);
    return op->kind == INCREMENT;
}

static applications count_applications(const kv_client *client)
{
    applications sum = {0, 0, 0, 0, 0, 0, 0};
    for (uint32_t i = 0; i < client->next; i++) {
        const operation *op = &client->operations[i];
        if (op->state != FINISHED || !leaves_traces(client, op))
            continue;
        int times = times_applied(client, op);
        sum.known += times >= 0;
        sum.unknown += times < 0;
        sum.twice += times > 1;
        if (op->outcome == PERHAPS_DONE) {
            sum.perhaps++;
            sum.perhaps_really += times > 0;
        } else if (op->outcome == EXPIRED || op->outcome == FAILED) {
            sum.failed++;
            sum.failed_really += times > 0;
        }
    }
    return sum;
}

static void print_details(const kv_client *client)
{
    print_reasons(&client->report);
    print_failures(&client->report);
    print_codes(&client->report);
    print_maps(&client->report);
    if (client->cluster)
        kv_print_faults(client->cluster);
    printf("\nbudget: %.0f tokens, never below %.1f, %.1f at the end\n",
           (double)client->budget.options.capacity / 1000, (double)client->report.budget_low / 1000,
           (double)retry_budget_balance(&client->budget) / 1000);
    printf("connections made: %" PRIu32 ", given up on an error map's advice: %" PRIu32 "\n",
           client->report.connections, client->report.drained);
    print_gates(&client->report);
}

/* True if both verdicts hold. `careless`: how many operations the careless client had applied
   twice. */
static bool report(const kv_client *client, uint32_t careless)
{
    const kv_report *counted = &client->report;
    applications sum = count_applications(client);
    print_classes(counted);
    if (counted->verbose)
        print_details(client);
    printf("\n");
    bool in_time = judge_overrun(counted, QUANTUM);
    bool once =
        judge_applications(&sum, client->cluster ? "Counted by the server" : "By the counters");
    if (careless != UNKNOWN)
        printf("        The same client and servers without the rules: %" PRIu32
               " applied twice.\n",
               careless);
    printf("saved   %" PRIu32 " operations: they worked when they were tried again.\n",
           saved(counted));
    return in_time && once;
}

/* A number that a child may set. */
static uint32_t *shared_number(uint32_t number)
{
    uint32_t *place =
        mmap(NULL, sizeof *place, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) {
        perror("no memory to share");
        exit(2);
    }
    *place = number;
    return place;
}

#endif /* KV_SCENARIO_H */
