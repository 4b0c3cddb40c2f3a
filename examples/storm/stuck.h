/* stuck.h: is any fleet stuck? The recommended client, a retry_service in each process, under every
   fault of crowd.h: in fleets of different sizes, before different servers, at different loads.
   Beside it the same fleet without retries, with attempts that are cut, and with attempts that may
   take all of their operation's time; and, where there is no fault, with a hedge. */
#ifndef STORM_STUCK_H
#define STORM_STUCK_H

#include "together.h"

/* What stands before the workers. */
enum { STUCK_SECOND, STUCK_ENDLESS, STUCK_503, STUCK_SERVERS };
static const char *const stuck_servers[STUCK_SERVERS] = {"second", "endless", "503"};

enum { STUCK_APART = 1000 }; /* processes: each does too little to earn tokens */
enum { STUCK_UTILISATIONS = 4, STUCK_SIZES = 3, STUCK_ROWS_MAX = 64 };
static const uint32_t stuck_utilisations[STUCK_UTILISATIONS] = {40, 60, 75, 90};
static const uint32_t stuck_sizes[STUCK_SIZES] = {1, 20, STUCK_APART};

static const char *const stuck_faults[CROWD_ALL_FAULTS + 1] = {
    "refused", "lost",  "frozen",   "503",  "429",   "costly", "slow",
    "1-of-4",  "spike", "overload", "tail", "rated", "half",   "none"};

enum {
    STUCK_FOUR_PROCESSES = 20,
    STUCK_FOUR_UTILISATION = 75,
    STUCK_HEALTH = 30000,       /* ms before the fault */
    STUCK_LENGTH = 10000,       /* ms of the fault */
    STUCK_COUNTED = 30000,      /* ms after it of which the operations are counted, too */
    STUCK_HEDGE = 100,          /* ms until a second copy follows */
    STUCK_TIMES = 3,            /* as long as without retries it may take behind an endless queue */
    STUCK_WATCHED = 40000,      /* ms after it that are watched at least */
    STUCK_WATCHED_MAX = 240000, /* ms that are watched of a fleet that is not back, at most */
    STUCK_STEP = 20000
};

/* What is compared. */
enum { STUCK_CUT, STUCK_UNCUT, STUCK_SERVICE, STUCK_HEDGED, STUCK_CLIENTS };

/* One fleet before one server at one load. */
typedef struct stuck_row {
    uint32_t processes, server, utilisation;
    uint32_t nodes; /* 1, or CROWD_NODES: all faults are those of the first */
} stuck_row;

/* What became of it under one fault: operations that began in the fault and STUCK_COUNTED after it,
   of all seeds; and the longest of ms until it was back, and of the median ms of those done. */
typedef struct stuck_cell {
    double begun, done;
    uint32_t back, median;
} stuck_cell;

typedef struct stuck_cells {
    stuck_cell of[STUCK_CLIENTS][CROWD_ALL_FAULTS + 1]; /* the last: no fault */
    bool overrun;
} stuck_cells;

typedef struct stuck_plan {
    retry_ms timeout; /* ms */
    uint32_t seed, seeds;
    uint32_t within;                        /* ms after the fault by which a fleet is to be back */
    uint32_t processes, nodes, utilisation; /* one only (0: all) */
    uint32_t server, fault;                 /* one only (STUCK_SERVERS, CROWD_ALL_FAULTS: all) */
    bool verbose;                           /* shows every load, and cells that fall behind */
} stuck_plan;

/* Without retries, with attempts as the service's: in the largest fleet each earns too little for
   them to be cut. */
static uint32_t stuck_none(const stuck_row *row)
{
    return row->processes == STUCK_APART ? STUCK_UNCUT : STUCK_CUT;
}

static crowd_set stuck_set(const stuck_plan *plan, const stuck_row *row, uint32_t client)
{
    static const uint32_t queues[STUCK_SERVERS] = {CROWD_QUEUE, CROWD_QUEUE_ENDLESS,
                                                   CROWD_QUEUE_SHORT};
    crowd_set set;
    memset(&set, 0, sizeof set);
    set.clients = row->processes;
    set.timeout = plan->timeout;
    if (client != STUCK_UNCUT)
        set.cut_after = CROWD_CUT_AFTER;
    set.utilisation = row->utilisation;
    set.length = STUCK_LENGTH;
    set.slowness = 10;
    set.queue = queues[row->server];
    set.says_full = row->server == STUCK_503;
    set.hedge = client == STUCK_HEDGED ? STUCK_HEDGE : 0;
    return set;
}

static bool stuck_wants(const stuck_plan *plan, uint32_t fault)
{
    return plan->fault == CROWD_ALL_FAULTS || plan->fault == fault;
}

/* ms after the fault from when on nobody need watch a fleet that is not back yet. */
static uint32_t stuck_limit(const stuck_plan *plan, const stuck_row *row, const stuck_cell *none)
{
    if (row->server != STUCK_ENDLESS)
        return plan->within;
    if (none->back > STUCK_WATCHED_MAX / STUCK_TIMES)
        return STUCK_WATCHED_MAX;
    return none->back * STUCK_TIMES > plan->within ? none->back * STUCK_TIMES : plan->within;
}

static bool stuck_has_service(uint32_t client)
{
    return client == STUCK_SERVICE || client == STUCK_HEDGED;
}

/* ms within which half of the operations were done. */
static uint32_t stuck_median(const crowd *c)
{
    uint32_t done = 0, ms = 0, seen = c->took[0];
    for (uint32_t i = 0; i < CROWD_TOOK; i++)
        done += c->took[i];
    while (seen * 2 < done)
        seen += c->took[++ms];
    return ms;
}

/* A fault strikes a healthy fleet, which is watched until it is back, or `most` ms are over. */
static void stuck_strike(crowd *c, uint32_t fault, uint32_t most, stuck_cell *cell)
{
    double before = together_share(c, c->now - 20000, c->now - c->set->timeout);
    uint32_t watched = STUCK_WATCHED, back, median;
    crowd_strike(c, fault);
    crowd_run(c, c->to + watched + c->set->timeout);
    while ((back = together_back(c, before, watched)) == TOGETHER_NEVER && watched < most) {
        watched += STUCK_STEP;
        crowd_run(c, c->to + watched + c->set->timeout);
    }
    cell->begun += together_begun(c, c->from, c->to + STUCK_COUNTED);
    cell->done += together_done(c, c->from, c->to + STUCK_COUNTED);
    cell->back = back > cell->back ? back : cell->back;
    median = stuck_median(c);
    cell->median = median > cell->median ? median : cell->median;
}

/* All faults that one fleet can meet, of one server or of one of four. */
static void stuck_crowd(stuck_cells *cells, const stuck_plan *plan, const stuck_row *row,
                        uint32_t client, bool four, uint32_t seed)
{
    crowd *c = &together_now;
    const crowd_set set = stuck_set(plan, row, client);
    crowd_begin_anew(c, &set, stuck_has_service(client) ? CROWD_SERVICE : CROWD_NO_RETRY, four,
                     seed);
    crowd_run(c, STUCK_HEALTH);
    crowd_copy(&together_saved, c);
    for (uint32_t fault = 0; fault <= CROWD_ALL_FAULTS; fault++) {
        uint32_t most = STUCK_WATCHED_MAX;
        bool of_four = row->nodes > 1 || fault == CROWD_ONE_OF_FOUR;
        if (of_four != four || !stuck_wants(plan, fault) ||
            (client == STUCK_HEDGED && fault != CROWD_WELL))
            continue;
        if (stuck_has_service(client) || row->server != STUCK_ENDLESS)
            most = stuck_limit(plan, row, &cells->of[stuck_none(row)][fault]);
        stuck_strike(c, fault, most, &cells->of[client][fault]);
        cells->overrun |= c->overrun;
        crowd_copy(c, &together_saved);
    }
}

static void stuck_fill(stuck_cells *cells, const stuck_plan *plan, const stuck_row *row)
{
    memset(cells, 0, sizeof *cells);
    for (uint32_t seed = plan->seed; seed < plan->seed + plan->seeds; seed++) {
        for (uint32_t client = 0; client < STUCK_CLIENTS; client++) {
            if (row->nodes == 1 && plan->fault != CROWD_ONE_OF_FOUR)
                stuck_crowd(cells, plan, row, client, false, seed);
            if (row->nodes > 1 || stuck_wants(plan, CROWD_ONE_OF_FOUR))
                stuck_crowd(cells, plan, row, client, true, seed);
        }
    }
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static void stuck_add_row(const stuck_plan *plan, stuck_row row, stuck_row rows[STUCK_ROWS_MAX],
                          uint32_t *count)
{
    if ((plan->processes == 0 || plan->processes == row.processes) &&
        (plan->nodes == 0 || plan->nodes == row.nodes) &&
        (plan->server == STUCK_SERVERS || plan->server == row.server))
        rows[(*count)++] = row;
}

/* Returns how many. */
static uint32_t stuck_rows(const stuck_plan *plan, stuck_row rows[STUCK_ROWS_MAX])
{
    uint32_t count = 0, loads = plan->utilisation ? 1 : STUCK_UTILISATIONS;
    uint32_t four = plan->utilisation ? plan->utilisation : STUCK_FOUR_UTILISATION;
    for (uint32_t i = 0; i < STUCK_SIZES * STUCK_SERVERS * loads; i++) {
        uint32_t load = plan->utilisation ? plan->utilisation : stuck_utilisations[i % loads];
        uint32_t server = i / loads % STUCK_SERVERS;
        const stuck_row row = {stuck_sizes[i / loads / STUCK_SERVERS], server, load, 1};
        stuck_add_row(plan, row, rows, &count);
    }
    for (uint32_t server = 0; server < STUCK_SERVERS; server++) {
        const stuck_row row = {STUCK_FOUR_PROCESSES, server, four, CROWD_NODES};
        stuck_add_row(plan, row, rows, &count);
    }
    return count;
}

/* ---- Sums ---------------------------------------------------------------------------------- */

static double stuck_share(const stuck_cell *cell)
{
    return cell->begun > 0 ? cell->done / cell->begun : 0;
}

typedef struct stuck_sum {
    double done;    /* %, the mean over the faults */
    uint32_t stuck; /* cells */
    uint32_t back;  /* ms, the longest */
} stuck_sum;

static stuck_sum stuck_sum_up(const stuck_plan *plan, const stuck_cell cells[CROWD_ALL_FAULTS + 1])
{
    stuck_sum sum = {0, 0, 0};
    uint32_t faults = 0;
    for (uint32_t fault = 0; fault < CROWD_ALL_FAULTS; fault++) {
        if (!stuck_wants(plan, fault))
            continue;
        faults++;
        sum.done += 100 * stuck_share(&cells[fault]);
        sum.stuck += cells[fault].back > plan->within;
        sum.back = cells[fault].back > sum.back ? cells[fault].back : sum.back;
    }
    sum.done /= faults;
    return sum;
}

#endif /* STORM_STUCK_H */
