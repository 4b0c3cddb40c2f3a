/* Fuzz target for one operation's way through a bucket's maps: bytes become calls with hostile
   values, beside a model of RFC 0005. */
#define RETRY_IMPLEMENTATION
#include "../../errmap.h"

#include <string.h>

#include "bytes.h"
#include "replay.h"

static errmap_nmv nmv;
static struct {
    errmap_nmv_step step;
    uint64_t revision; /* that it was tried on, or that the fast-forward map was first used at */
    bool waiting;
    unsigned newer; /* maps in a row */
} way;

static uint64_t hostile_revision(void)
{
    uint8_t which = byte();
    return which < 0xf0 ? which % 8 : UINT64_MAX - which % 4;
}

static void go(uint8_t map, retry_ms delay, bool waiting)
{
    way.step.map = map;
    way.step.delay = delay;
    way.waiting = waiting;
}

static void go_newer(uint64_t revision)
{
    static const retry_ms ladder[] = {1, 10, 50, 100, 500, 1000};
    unsigned rung = way.newer > 10 ? 5 : way.newer - 5;
    bool waits = way.newer >= 5;
    way.revision = revision;
    way.newer++;
    go(ERRMAP_MAP_CURRENT, waits ? ladder[rung] : 0, waits);
}

static void require_step(errmap_nmv_step got)
{
    REQUIRE(got.map == way.step.map && got.delay == way.step.delay);
}

static void call_begin(void)
{
    way.revision = hostile_revision();
    way.newer = 0;
    errmap_nmv_begin(&nmv, way.revision);
    go(ERRMAP_MAP_CURRENT, 0, false);
}

static void call_rejected(void)
{
    uint64_t revision = hostile_revision();
    bool forward = chance(2);
    errmap_nmv_step got = errmap_nmv_rejected(&nmv, revision, forward);
    if (revision > way.revision) {
        go_newer(revision);
    } else if (!forward) {
        way.newer = way.waiting ? 0 : way.newer;
        go(ERRMAP_MAP_CURRENT, nmv.interval ? nmv.interval : 100, true);
    } else if (way.step.map == ERRMAP_MAP_CURRENT) {
        go(ERRMAP_MAP_FAST_FORWARD, 0, false);
    } else {
        way.newer = way.waiting ? 0 : way.newer;
        go(ERRMAP_MAP_FAST_FORWARD, nmv.interval ? nmv.interval : 100, true);
    }
    require_step(got);
}

static void call_config(void)
{
    uint64_t revision = hostile_revision();
    errmap_nmv_step got = errmap_nmv_config(&nmv, revision);
    if (way.waiting && revision > way.revision)
        go_newer(revision);
    require_step(got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes_start(data, size);
    memset(&nmv, 0, sizeof nmv);
    nmv.interval = hostile();
    call_begin();
    while (bytes_left != 0) {
        uint8_t which = byte();
        if (which > 0xf0)
            call_begin();
        else if (which % 2 == 0)
            call_rejected();
        else
            call_config();
    }
    return 0;
}
