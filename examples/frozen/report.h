/* report.h: what frozen.c counts in each run, the table that is printed at the end, and the
   verdicts. */
#ifndef FROZEN_REPORT_H
#define FROZEN_REPORT_H

#include "../plumbing.h"

#include <inttypes.h>

enum {
    REPORT_BIN = 500,  /* ms; operations that begin in them are counted together */
    REPORT_WINDOW = 4, /* bins of which 95 % have to be done */
    REPORT_BINS = 256,
    REPORT_CALM = 4000 /* ms from the beginning, in which all is well */
};
#define REPORT_NEVER UINT32_MAX

/* Of one run. It goes through a pipe, in one piece. */
typedef struct frozen_report {
    uint32_t begun, done, failed; /* operations */
    uint32_t begun_in_fault, sent_in_fault;
    uint32_t sent;              /* attempts */
    uint32_t in_vain;           /* answers that nobody waited for any more */
    uint32_t in_flight;         /* attempts that all gates together hold in the end */
    uint32_t calm, calm_ms;     /* operations begun in REPORT_CALM and done; ms that they took */
    uint16_t bins[REPORT_BINS]; /* operations that begin in each ... */
    uint16_t good[REPORT_BINS]; /* ... and how many of those are done */
} frozen_report;

static inline uint32_t report_bin(uint32_t ms)
{
    return ms / REPORT_BIN < REPORT_BINS ? ms / REPORT_BIN : REPORT_BINS - 1;
}

/* Whether 95 % are done of what begins in the window from this bin on. */
static inline bool report_is_well(const frozen_report *report, uint32_t from)
{
    uint32_t begun = 0, done = 0;
    for (uint32_t bin = from; bin < from + REPORT_WINDOW; bin++) {
        begun += report->bins[bin];
        done += report->good[bin];
    }
    return done * 100 >= begun * 95;
}

/* ms after the bin `thawed` from when on all is well, up to the bin `end`. */
static inline uint32_t report_back(const frozen_report *report, uint32_t thawed, uint32_t end)
{
    uint32_t from = end - REPORT_WINDOW;
    if (!report_is_well(report, from))
        return REPORT_NEVER;
    while (from > thawed && report_is_well(report, from - 1))
        from--;
    return (from - thawed) * REPORT_BIN;
}

PRINTF_2_LIKE static inline bool verdict(bool kept, const char *format, ...)
{
    va_list arguments;
    printf("%s  ", kept ? "kept  " : "BROKEN");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    return kept;
}

#endif /* FROZEN_REPORT_H */
