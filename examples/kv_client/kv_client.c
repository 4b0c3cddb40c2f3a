/* kv_client.c: how to use retry.h and errmap.h in an event loop.

   A small client of the memcached binary protocol (non-blocking sockets, poll, one thread) works
   through some hundred operations, several at once, on servers that refuse, stall, change their
   mind, hang up and die. Each operation has one timer. The client does what retry_next says, and
   tells retry_ended how each copy ended. A breaker for each node keeps requests from one that does
   not answer. The key says which node that is, so the client asks the breakers itself. A get that
   is late is sent to the other node as well, under the budget that pays for retries. The
   client asks every node for its error map, which explains codes that it does not know. At the end
   it shows what happened and two verdicts, and beside the second what the same client does on the
   same servers when every operation claims to be idempotent.

       cc -o kv_client examples/kv_client/kv_client.c   (with Debian's libjsmn-dev)
       ./kv_client               two nodes of its own, which follow a script of failures (server.h)
       ./kv_client memcached     a real memcached, frozen, killed, started again and cut off
       ./kv_client careless      only the careless client (with memcached, too)
       ./kv_client verbose       (with any of these) each event, reason, code and error map

   What there is to learn about retry.h is in the first sections: "Operations" (drive, begin),
   "Copies" (copy_ended, cancel_copy), "Sending" (send_copy), "Not my vbucket" and "Connections";
   its numbers are in "Set-up"; about errmap.h in "Error maps" and "Responses". What
   the client does not decide is elsewhere: its types in client.h, what it is put through and the
   verdicts in scenario.h, the counting in report.h. The exit status is 0 if both verdicts hold, 1
   if not, 2 if it could not start, and 128 + the signal's number if it was interrupted. */
#define _DEFAULT_SOURCE

#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../../errmap.h"

#include "client.h"
#include "scenario.h"

/* ---- Operations ---------------------------------------------------------------------------- */

static void begin(kv_client *client, operation *op, retry_time now);
static void send_copy(kv_client *client, operation *op, retry_step step, retry_time now);
static void cancel_copy(kv_client *client, copy *which, retry_time now);

/* The application is told how the operation ended. */
static void finish(kv_client *client, operation *op, uint8_t outcome)
{
    retry_time now = instant_now();
    op->state = FINISHED;
    op->outcome = outcome;
    client->open--;
    report_operation(&client->report, op->kind, outcome, &op->retry, now);
    if (op->kind == GET_AND_LOCK && op->partner < client->next)
        begin(client, &client->operations[op->partner], now); /* it had to wait for this one */
}

/* What changes data and is ambiguous may have been done, and whoever asked for it has to know. */
static void ended(kv_client *client, operation *op, retry_step end)
{
    if (end.verdict == RETRY_VERDICT_SUCCESS) {
        finish(client, op, DONE);
    } else if (end.cause == RETRY_CAUSE_CANCELLED) {
        finish(client, op, CUT_OFF);
    } else if (op->retry.ambiguous && !errmap_idempotent_kv(kinds[op->kind].opcode)) {
        finish(client, op, PERHAPS_DONE);
    } else if (end.verdict == RETRY_VERDICT_EXPIRE) {
        finish(client, op, EXPIRED);
    } else {
        report_failed(&client->report, &op->retry.failure, end.cause);
        finish(client, op, FAILED);
    }
}

/* What the library has charged for the operation, or given back, since it was counted last. */
static void count_budget(kv_client *client, const operation *op)
{
    uint32_t balance = retry_budget_balance(&client->budget);
    report_budget(&client->report, op->kind, client->balance, balance);
    client->balance = balance;
}

/* Does what the library says. To be called whenever something has happened to the operation: it
   has begun, its timer fired, or one of its copies has ended. */
static void drive(kv_client *client, operation *op, retry_time now)
{
    for (;;) {
        retry_step step = retry_next(&op->retry, now);
        count_budget(client, op);
        switch (step.what) {
        case RETRY_DO_SEND:
            send_copy(client, op, step, now);
            break;
        case RETRY_DO_CANCEL:
            cancel_copy(client, &op->copies[step.copy], now);
            break;
        case RETRY_DO_WAIT:
            op->state = step.cause == RETRY_CAUSE_NONE ? ON_WIRE : WAITING;
            op->timer = now + step.delay; /* never without an end: operations have a timeout */
            return;
        default:
            ended(client, op, step);
            return;
        }
    }
}

/* Begins an operation, unless it is an unlock whose lock is still being taken, or never was. */
static void begin(kv_client *client, operation *op, retry_time now)
{
    retry_operation *retry = &op->retry;
    if (op->kind == UNLOCK) {
        const operation *lock = &client->operations[op->partner];
        if (lock->state != FINISHED)
            return;
        if (lock->outcome != DONE) {
            client->report.nothing_to_undo++;
            return;
        }
        op->cas = lock->cas;
    }
    retry->client = &client->retry;
    retry->timeout = OPERATION_TIMEOUT;
    retry->idempotent = client->careless || errmap_idempotent_kv(kinds[op->kind].opcode);
    op->hedge.latency = &client->latency;
    op->hedge.count = COPIES - 1;
    op->hedge.copies = op->further;
    if (op->kind == GET && client->scenario->nodes > 1)
        retry_hedge_copies(&op->retry, &op->hedge);
    retry_start(&op->retry, NULL, now);
    errmap_nmv_begin(&op->nmv, client->map_revision);
    client->open++;
    drive(client, op, now);
}

/* ---- Copies -------------------------------------------------------------------------------- */

/* Tells the breaker of a copy's node how the copy ended; NULL: it worked. The breaker does not
   listen if it had not granted the copy. */
static void tell_breaker(kv_client *client, copy *which, const retry_failure *failure,
                         retry_time now)
{
    retry_breaker *breaker = &client->nodes[which->node].breaker;
    which->on_wire = false;
    if (retry_breaker_report(breaker, which->permit, failure, now) &&
        retry_breaker_state(breaker, now) == RETRY_BREAKER_OPEN)
        report_breaker(&client->report, which->node);
}

/* A copy has ended; NULL: it worked. What comes of that is drive's to ask. */
static void copy_ended(kv_client *client, operation *op, copy *which, const retry_failure *failure,
                       retry_time now)
{
    tell_breaker(client, which, failure, now);
    op->retry.strategy = &client->nodes[which->node].strategy.base;
    retry_ended(&op->retry, (unsigned)(which - op->copies), failure, now);
}

/* The answer to this copy is dropped if it still comes: the copy's time is over, or another one
   has decided. */
static void cancel_copy(kv_client *client, copy *which, retry_time now)
{
    const retry_failure late = {.reason = RETRY_REASON_ATTEMPT_TIMED_OUT, .timeout = true};
    if (reached(which->timer, now)) {
        tell_breaker(client, which, &late, now);
        return;
    }
    retry_breaker_release(&client->nodes[which->node].breaker, which->permit, now);
    which->on_wire = false;
    client->report.hedges_cancelled++;
}

/* How many copies are on the wire to a node. */
static uint32_t requests_at(const kv_client *client, const node *to)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < client->next * COPIES; i++) {
        const copy *which = &client->operations[i / COPIES].copies[i % COPIES];
        sum += which->on_wire && &client->nodes[which->node] == to;
    }
    return sum;
}

/* ---- Sending ------------------------------------------------------------------------------- */

/* Appends a request to the node's output; false if there is no room. */
static bool write_request(node *to, uint8_t opcode, const char *key, uint32_t opaque, uint64_t cas)
{
    size_t room = sizeof to->output - to->output_length;
    size_t size = kv_write_request(to->output + to->output_length, room, opcode, key, opaque, cas);
    to->output_length += size;
    return size > 0;
}

/* Nothing has left the client, so that another try is safe, and no budget pays for it; but none can
   work before the next try to connect. */
static retry_failure no_connection(const node *to, retry_time now)
{
    retry_failure failure =
        retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SERVICE_RESPONSE_CODE_INDICATED);
    if (to->state == DOWN && !reached(to->timer, now))
        failure.retry_after = to->timer - now;
    return failure;
}

/* A try's first copy goes to the vbucket's owner, the second to the other node, which has a
   replica, if that can be reached. */
static node *addressee(kv_client *client, const operation *op, bool second)
{
    size_t owner = client->map[kv_vbucket(op->key)];
    node *replica = &client->nodes[client->scenario->nodes - 1 - owner];
    return second && replica->state == READY ? replica : &client->nodes[owner];
}

static void put_on_wire(kv_client *client, operation *op, copy *which)
{
    bool owner = which->node == client->map[kv_vbucket(op->key)];
    uint32_t number = (uint32_t)(op - client->operations);
    which->on_wire = true;
    which->opaque = number << KV_COPY_BITS | (op->opaques++ & ((1u << KV_COPY_BITS) - 1));
    write_request(&client->nodes[which->node], owner ? kinds[op->kind].opcode : KV_GET_REPLICA,
                  op->key, which->opaque, op->cas);
    client->report.hedges_sent += which->second;
}

/* Sends a copy, if there is a connection, and if the node's breaker grants it. Else it has ended
   before anything was sent. */
static void send_copy(kv_client *client, operation *op, retry_step step, retry_time now)
{
    const uint32_t attempt = op->retry.retries + 1;
    copy *next = &op->copies[step.copy];
    node *to = addressee(client, op, op->tries == attempt);
    memset(next, 0, sizeof *next);
    next->node = (uint8_t)(to - client->nodes);
    next->second = op->tries == attempt;
    next->timer = now + step.timeout;
    op->tries = attempt;
    if (to->state != READY || sizeof to->output - to->output_length < KV_REQUEST_MAX) {
        const retry_failure failure = no_connection(to, now);
        copy_ended(client, op, next, &failure, now);
        return;
    }
    next->permit = retry_breaker_ask(&to->breaker, step.timeout >= ATTEMPT_TIMEOUT, now);
    if (next->permit.granted) {
        put_on_wire(client, op, next);
    } else {
        const retry_failure refusal = retry_classify_permit(next->permit);
        client->report.breakers[next->node].refused++;
        copy_ended(client, op, next, &refusal, now);
    }
}

/* ---- Not my vbucket ------------------------------------------------------------------------ */

/* Takes the map over if it is newer. */
static void adopt_map(kv_client *client, const kv_packet *response)
{
    if (response->value_length != KV_MAP_SIZE)
        return;
    uint64_t revision = kv_number(response->value, 8);
    if (revision <= client->map_revision)
        return;
    client->map_revision = revision;
    for (size_t i = 0; i < KV_VBUCKETS; i++)
        client->map[i] = response->value[8 + i] % client->scenario->nodes;
}

/* Whether there is another try is the operation's to say, where to and when is errmap_nmv's: its
   step is handed on as an order. */
static void not_my_vbucket(kv_client *client, operation *op, copy *which, const kv_packet *response,
                           retry_time now)
{
    retry_failure failure = errmap_classify_kv(NULL, response->status, response->opcode).failure;
    adopt_map(client, response);
    failure.pushback = true;
    failure.retry_after = errmap_nmv_rejected(&op->nmv, client->map_revision, false).delay;
    copy_ended(client, op, which, &failure, now);
    drive(client, op, now);
}

/* ---- Error maps ---------------------------------------------------------------------------- */

/* Asks for XERROR and for the error map in one go. Until both answers are here nothing else is
   sent, so that no code comes before the map that explains it. HELLO carries no name: memcached
   loses its place in the stream after a command that it does not know and that has a key. Source:
   RFC 0013. */
static void negotiate(node *to)
{
    size_t room = sizeof to->output;
    size_t size = errmap_write_hello(to->output, room, NULL, 0, KV_NO_OPERATION);
    size += errmap_write_get(to->output + size, room - size, MAP_VERSION, KV_NO_OPERATION);
    to->output_length = size;
    to->state = NEGOTIATING;
}

/* Puts a newer map in the place of the one in use. It is parsed beside that, never over it: what
   is broken or older changes nothing. False if it is broken. */
static bool store_map(kv_client *client, node *from, const char *json, size_t length)
{
    const errmap *in_use = from->strategy.map;
    stored_map *spare = in_use == &from->maps[0].map ? &from->maps[1] : &from->maps[0];
    size_t number = (size_t)(from - client->nodes);
    errmap_error error;
    memcpy(spare->text, json, length);
    errmap_status status =
        errmap_parse(&spare->map, spare->text, length, spare->entries, MAP_ENTRIES, &error);
    if (status != ERRMAP_OK) {
        report_broken_map(&client->report, number, json, status, error.offset);
        return false;
    }
    from->strategy.map = errmap_newer(in_use, &spare->map);
    report_map(&client->report, number, from->strategy.map);
    return true;
}

/* The answers to negotiate(), HELLO's first. Without a sound map XERROR is taken back by a HELLO
   that asks for nothing. */
static void negotiated(kv_client *client, node *from, const uint8_t *packet, size_t size,
                       retry_time now)
{
    const char *json;
    size_t length;
    bool sound = false;
    if (packet[1] == KV_HELLO) {
        from->xerror = false;
        errmap_read_hello(packet, size, &from->xerror);
        return;
    }
    if (errmap_read_get(packet, size, &json, &length))
        sound = store_map(client, from, json, length);
    else
        report_no_map(&client->report, (size_t)(from - client->nodes),
                      (unsigned)kv_number(packet + 6, 2));
    if (from->xerror && !sound)
        write_request(from, KV_HELLO, "", KV_NO_OPERATION, 0);
    retry_connection_established(&from->connection, now);
    if (retry_breaker_state(&from->breaker, now) != RETRY_BREAKER_CLOSED)
        retry_breaker_reset(&from->breaker, now); /* somebody is there again */
    from->state = READY;
    client->report.connections++;
}

/* ---- Responses ----------------------------------------------------------------------------- */

static void succeeded(kv_client *client, operation *op, copy *which, const kv_packet *response,
                      retry_time now)
{
    client->report.hedges_won += which->second;
    op->cas = response->cas;
    if (op->kind == INCREMENT && response->value_length == 8)
        op->value = kv_number(response->value, 8);
    if (op->kind == READ_BACK)
        op->value = kv_decimal(response->value, response->value_length);
    copy_ended(client, op, which, NULL, now);
    client->balance = retry_budget_balance(&client->budget); /* what a success puts in is no pay */
    drive(client, op, now);
}

/* The connection is of no more use. Nothing is sent on it any more, and it is closed when the
   answers to what was sent have come, or none can come any more. */
static void drain(kv_client *client, node *of, retry_time now)
{
    if (of->state != READY)
        return;
    client->report.drained++;
    of->state = DRAINING;
    of->timer = now + ATTEMPT_TIMEOUT;
}

/* What the client knows itself it decides itself; the map of the node that answered is asked about
   any other code. Whether to retry is in advice.failure, the rest concerns the client. There are no
   credentials here, so that `authentication` takes no more than the reconnecting, and no code for
   what is `special`, which then comes to the same. */
static void rejected(kv_client *client, operation *op, copy *which, const kv_packet *response,
                     retry_time now)
{
    node *from = &client->nodes[which->node];
    const errmap *map = from->strategy.map;
    errmap_advice advice = errmap_classify_kv(map, response->status, response->opcode);
    copy_ended(client, op, which, advice.success ? NULL : &advice.failure, now);
    drive(client, op, now);
    report_advice(&client->report, map, &advice, op->state != FINISHED,
                  op->state == WAITING ? op->retry.delay : 0);
    if (advice.refresh_config)
        write_request(from, KV_GET_CONFIG, "", KV_NO_OPERATION, 0);
    if (advice.reconnect)
        drain(client, from, now);
}

static void copy_answered(kv_client *client, operation *op, copy *which, const kv_packet *response,
                          retry_time now)
{
    if (response->status == KV_SUCCESS)
        succeeded(client, op, which, response, now);
    else if (response->status == KV_NOT_MY_VBUCKET)
        not_my_vbucket(client, op, which, response, now);
    else
        rejected(client, op, which, response, now);
}

/* An answer to a copy that was given up, or has lost, is dropped: its operation has been decided
   since. */
static void answered(kv_client *client, const kv_packet *response, retry_time now)
{
    uint32_t number = response->opaque >> KV_COPY_BITS;
    operation *op = number < client->next ? &client->operations[number] : NULL;
    if (response->opcode == KV_HELLO)
        return; /* XERROR is taken back */
    if (response->opcode == KV_GET_CONFIG) {
        adopt_map(client, response);
        return;
    }
    for (size_t i = 0; op && i < COPIES; i++) {
        if (!op->copies[i].on_wire || op->copies[i].opaque != response->opaque)
            continue;
        copy_answered(client, op, &op->copies[i], response, now);
        return;
    }
    client->report.late_answers++;
}

/* ---- Connections --------------------------------------------------------------------------- */

/* The connection is lost, or was not to be had. What was on it may have been done, or not. */
static void disconnect(kv_client *client, node *lost, retry_time now)
{
    if (lost->fd >= 0)
        close(lost->fd);
    lost->fd = -1;
    lost->state = DOWN;
    lost->input_length = lost->output_length = 0;
    lost->timer = now + retry_connection_failed(&lost->connection, NULL, now);
    for (uint32_t i = 0; i < client->next * COPIES; i++) {
        const retry_failure cut = retry_classify_stage(RETRY_STAGE_IN_FLIGHT, RETRY_REASON_NONE);
        operation *op = &client->operations[i / COPIES];
        copy *which = &op->copies[i % COPIES];
        if (!which->on_wire || &client->nodes[which->node] != lost)
            continue;
        copy_ended(client, op, which, &cut, now);
        drive(client, op, now);
    }
}

static void start_connecting(kv_client *client, node *to, retry_time now)
{
    to->timer = now + retry_connection_begin(&to->connection, now);
    to->state = CONNECTING;
    to->fd = tcp_connect(to->port);
    if (to->fd < 0)
        disconnect(client, to, now);
}

/* Handles every whole response that has arrived. False if the stream makes no sense. */
static bool read_responses(kv_client *client, node *from, retry_time now)
{
    kv_packet response;
    size_t size, used = 0;
    int state;
    while ((state = kv_read(from->input + used, from->input_length - used, KV_RESPONSE, &response,
                            &size)) == KV_COMPLETE) {
        if (from->state == NEGOTIATING)
            negotiated(client, from, from->input + used, size, now);
        else
            answered(client, &response, now);
        used += size;
    }
    from->input_length -= used;
    memmove(from->input, from->input + used, from->input_length);
    return state != KV_BROKEN;
}

static void receive(kv_client *client, node *from, retry_time now)
{
    size_t room = sizeof from->input - from->input_length;
    ssize_t got = recv(from->fd, from->input + from->input_length, room, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0)
        from->input_length += (size_t)got;
    if (got <= 0 || !read_responses(client, from, now) ||
        (from->state == DRAINING && requests_at(client, from) == 0))
        disconnect(client, from, now);
}

static void send_output(kv_client *client, node *to, retry_time now)
{
    ssize_t sent = send(to->fd, to->output, to->output_length, 0);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        disconnect(client, to, now);
    if (sent <= 0)
        return;
    to->output_length -= (size_t)sent;
    memmove(to->output, to->output + sent, to->output_length);
}

static void node_ready(kv_client *client, node *of, short events, retry_time now)
{
    if (of->state == CONNECTING && tcp_connected(of->fd))
        negotiate(of);
    else if (of->state == CONNECTING)
        disconnect(client, of, now);
    else if (events & (POLLIN | POLLERR | POLLHUP))
        receive(client, of, now);
    if (of->output_length > 0)
        send_output(client, of, now);
}

static void fire_node_timer(kv_client *client, node *of, retry_time now)
{
    if (of->state == DOWN)
        start_connecting(client, of, now);
    else
        disconnect(client, of, now);
}

/* ---- Set-up -------------------------------------------------------------------------------- */

static void set_up_retry(kv_client *client)
{
    static const retry_policy best_effort = RETRY_POLICY_BEST_EFFORT;
    retry_budget_options options = RETRY_BUDGET_BEST_EFFORT(IN_FLIGHT);
    options.expire = 0; /* full at first, as half of all first tries are made to fail */
    retry_seed(1);
    retry_budget_init(&client->budget, &options, client->report.started);
    client->balance = client->report.budget_low = options.capacity;
    client->policy = best_effort;
    client->policy.backoff.initial = 8;
    client->policy.retry_after_spread = RETRY_RATIO(0.5); /* not all at once, see no_connection */
    client->retry.strategy = &client->policy.base;
    client->retry.budget = &client->budget;
    client->retry.cut_after = ATTEMPT_TIMEOUT;
    client->retry.observe = report_decision;
    client->retry.observe_context = &client->report;
    client->retry.gates = &client->gates;
    client->latency.min = HEDGE_EARLIEST;
    client->latency.min_samples = HEDGE_SAMPLES;
    retry_gates_latency(&client->gates, &client->latency);
    for (size_t i = 0; i < KINDS; i++)
        client->report.rows[i].name = kinds[i].name;
}

static void set_up_nodes(kv_client *client)
{
    static const retry_connection loopback_connection = {
        .backoff = {.initial = 40, .max = 320}, .min_connect_timeout = 250, .stable_after = 100};
    static const retry_breaker breaker = {.volume = 6,
                                          .ratio = RETRY_RATIO(0.75),
                                          .window = 512,
                                          .open = 250,
                                          .probe_timeout = ATTEMPT_TIMEOUT};
    for (uint8_t i = 0; i < client->scenario->nodes; i++) {
        node *of = &client->nodes[i];
        of->connection = loopback_connection;
        of->breaker = breaker;
        of->strategy = (errmap_strategy)ERRMAP_STRATEGY(NULL, &client->policy.base);
        of->fd = -1;
        of->reserved = tcp_reserve_port(&of->port);
        of->timer = client->report.started;
        if (client->cluster)
            snprintf(of->name, sizeof of->name, "node %d", i + 1);
        else
            snprintf(of->name, sizeof of->name, "memcached");
        client->report.maps[i].node = of->name;
    }
    for (uint8_t i = 0; i < KV_VBUCKETS; i++)
        client->map[i] = i % client->scenario->nodes;
    client->map_revision = 1;
}

static void set_up(kv_client *client)
{
    bool real = client->scenario == &memcached;
    client->cluster = real ? NULL : kv_cluster_new();
    if (!real && !client->cluster) {
        perror("no memory to share");
        exit(2);
    }
    client->report.started = client->next_burst = instant_now();
    client->count = OPERATIONS;
    set_up_retry(client);
    set_up_nodes(client);
    for (uint32_t i = 0; i < OPERATIONS; i++)
        plan_operation(client, i);
    if (real)
        plan_read_back(client);
}

static void shut_down(kv_client *client)
{
    for (size_t i = 0; i < client->scenario->nodes; i++) {
        child_kill(client->nodes[i].process);
        close(client->nodes[i].reserved);
        if (client->nodes[i].fd >= 0)
            close(client->nodes[i].fd);
    }
}

/* ---- The event loop ------------------------------------------------------------------------ */

/* The read back waits until all else is over. */
static bool burst_waits(const kv_client *client)
{
    return client->next == client->count || (client->next == OPERATIONS && client->open > 0);
}

static void begin_burst(kv_client *client, retry_time now)
{
    if (burst_waits(client) || !reached(client->next_burst, now))
        return;
    act_on_nodes(client);
    client->next_burst = now + (client->next < OPERATIONS ? BURST_INTERVAL : 1);
    for (uint32_t i = 0; i < BURST && client->next < client->count; i++)
        begin(client, &client->operations[client->next++], now);
}

static retry_time earlier(retry_time a, retry_time b)
{
    return reached(a, b) ? a : b;
}

static bool under_way(const operation *op)
{
    return op->state == WAITING || op->state == ON_WIRE;
}

static void fire_timers(kv_client *client, retry_time now)
{
    for (uint32_t i = 0; i < client->next; i++) {
        if (under_way(&client->operations[i]) && reached(client->operations[i].timer, now))
            drive(client, &client->operations[i], now);
    }
    for (size_t i = 0; i < client->scenario->nodes; i++) {
        if (client->nodes[i].state != READY && reached(client->nodes[i].timer, now))
            fire_node_timer(client, &client->nodes[i], now);
    }
}

static retry_time next_timer(const kv_client *client, retry_time now)
{
    retry_time next = now + TICK;
    if (!burst_waits(client))
        next = earlier(next, client->next_burst);
    for (uint32_t i = 0; i < client->next; i++) {
        if (under_way(&client->operations[i]))
            next = earlier(next, client->operations[i].timer);
    }
    for (size_t i = 0; i < client->scenario->nodes; i++) {
        if (client->nodes[i].state != READY)
            next = earlier(next, client->nodes[i].timer);
    }
    return next;
}

static short wanted(const node *of)
{
    if (of->state == CONNECTING)
        return POLLOUT;
    return (short)(of->output_length > 0 ? POLLIN | POLLOUT : POLLIN);
}

/* Sleeps until a socket is ready or a timer fires, and handles the sockets. */
static void wait_for_sockets(kv_client *client)
{
    struct pollfd sockets[KV_NODES];
    size_t count = client->scenario->nodes;
    for (size_t i = 0; i < count; i++) {
        sockets[i].fd = client->nodes[i].fd;
        sockets[i].events = wanted(&client->nodes[i]);
        sockets[i].revents = 0;
    }
    retry_time before = instant_now();
    retry_time next = next_timer(client, before);
    int ready = poll(sockets, count, reached(next, before) ? 0 : (int)(next - before));
    retry_time now = instant_now();
    if (reached(next, now) && now - next > client->report.late_wakeup)
        client->report.late_wakeup = now - next;
    for (size_t i = 0; ready > 0 && i < count; i++) {
        if (sockets[i].revents != 0)
            node_ready(client, &client->nodes[i], sockets[i].revents, now);
    }
}

static void run(kv_client *client)
{
    while (!interrupted && (client->next < client->count || client->open > 0)) {
        retry_time now = instant_now();
        begin_burst(client, now);
        fire_timers(client, now);
        draw_progress(client, now);
        wait_for_sockets(client);
    }
    progress_clear();
}

/* After an interruption nobody waits for what is still open. */
static void cut_off(kv_client *client)
{
    if (interrupted)
        say("\n%6.2f s  interrupted\n", seconds_since_start(&client->report));
    for (uint32_t i = 0; i < client->next; i++) {
        if (!under_way(&client->operations[i]))
            continue;
        retry_stop(&client->operations[i].retry, instant_now());
        drive(client, &client->operations[i], instant_now());
    }
}

/* ---- The demo ------------------------------------------------------------------------------ */

/* The whole scenario, with the servers' beginning and end. */
static void play(kv_client *client)
{
    set_up(client);
    run(client);
    cut_off(client);
    shut_down(client);
}

/* Plays the same scenario without the rules, in a process of its own that nobody hears of but by
   its result: how many operations were applied twice. */
static pid_t play_carelessly(kv_client *client, uint32_t *twice)
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    child_begin(parent);
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        _exit(2);
    client->careless = true;
    play(client);
    if (!interrupted)
        *twice = count_applications(client).twice;
    exit(0);
}

/* Waits for that process, or ends it if the program is to end. */
static void finish_careless(pid_t process)
{
    if (process > 0 && interrupted)
        kill(process, SIGTERM);
    while (process > 0 && waitpid(process, NULL, 0) < 0 && errno == EINTR)
        kill(process, SIGTERM);
}

/* False if an argument makes no sense. */
static bool read_arguments(kv_client *client, char **arguments)
{
    client->scenario = &scripted;
    for (; *arguments; arguments++) {
        if (strcmp(*arguments, "memcached") == 0)
            client->scenario = &memcached;
        else if (strcmp(*arguments, "careless") == 0)
            client->careless = true;
        else if (strcmp(*arguments, "verbose") == 0)
            client->report.verbose = true;
        else if (strcmp(*arguments, "scripted") != 0)
            return false;
    }
    return true;
}

int main(int count, char **arguments)
{
    static kv_client client;
    uint32_t *twice = shared_number(UNKNOWN);
    pid_t careless = 0;
    if (count < 1 || !read_arguments(&client, arguments + 1)) {
        fprintf(stderr, "usage: kv_client [scripted | memcached] [careless] [verbose]\n");
        return 2;
    }
    catch_interrupts();
    printf("%d operations, of %.1f s at most, on %s%s.\n", (int)OPERATIONS,
           OPERATION_TIMEOUT / 1000.0, client.scenario->server,
           client.careless ? ".\nAll claim to be idempotent, which most are not" : "");
    printf("All begin but unlocks whose lock failed.\n");
    fflush(stdout);
    if (!client.careless)
        careless = play_carelessly(&client, twice);
    play(&client);
    finish_careless(careless);
    bool kept = report(&client, *twice);
    return !kept ? 1 : interrupted ? 128 + (int)interrupted : 0;
}
