/* report.h: what the parts of the simulation have in common: numbers that are known and must be
   kept, the pictures' data, and the line that shows how far it is. */
#ifndef STORM_REPORT_H
#define STORM_REPORT_H

#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NEVER UINT32_MAX
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- Known numbers ------------------------------------------------------------------------- */

static uint32_t missed; /* numbers out of their tolerance */

/* Whether something holds that must; counts it if not. */
static bool known(bool holds)
{
    missed += !holds;
    return holds;
}

/* Whether a number is within `percent` of what is expected; counts it if not. */
static bool keeps(double number, double expected, double percent)
{
    return known(fabs(number - expected) <= expected * percent / 100);
}

static const char *verdict(bool kept)
{
    return kept ? "kept" : "MISSED";
}

/* ---- What is shown ------------------------------------------------------------------------- */

/* From here on the tables are shown, or only with -v. */
static void show(const options *chosen, bool always)
{
    static int real = -1, none = -1;
    if (chosen->verbose)
        return;
    fflush(stdout);
    if (real < 0)
        real = dup(STDOUT_FILENO), none = open("/dev/null", O_WRONLY);
    dup2(always ? real : none, STDOUT_FILENO);
}

/* ---- Numbers ------------------------------------------------------------------------------- */

/* Three digits of a percentage: 0.12, 12.3, 100. */
static const char *percent(double number, char text[16])
{
    snprintf(text, 16, "%.*f", number < 9.995 ? 2 : number < 99.95 ? 1 : 0, number);
    return text;
}

static const char *whole(uint32_t number, char text[16])
{
    snprintf(text, 16, "%" PRIu32, number);
    return number == NEVER ? "-" : text;
}

/* ---- Data ---------------------------------------------------------------------------------- */

/* A file in the data folder, or the program ends. */
static FILE *data_file(const options *chosen, const char *name)
{
    char path[1000];
    FILE *file = NULL;
    errno = ENAMETOOLONG;
    if (snprintf(path, sizeof path, "%s/%s", chosen->data, name) < (int)sizeof path)
        file = fopen(path, "w");
    if (!file)
        refuse("cannot write %s/%s: %s", chosen->data, name, strerror(errno));
    return file;
}

/* A file that is complete, or the program ends. */
static void data_done(FILE *file)
{
    bool bad = ferror(file) != 0;
    if (fclose(file) != 0 || bad)
        refuse("cannot write the data: %s", strerror(errno));
}

/* Makes a folder and those that it is in. What fails shows when a file is to be written. */
static void make_folder(const char *path)
{
    char part[1000];
    for (size_t i = 1; i < sizeof part && path[i - 1]; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        mkdir(part, 0777);
    }
}

/* ---- Progress, on standard error: on a terminal a line that changes, elsewhere many ---------- */

enum { PROGRESS_WIDTH = 78 };
static struct {
    double planned, done; /* in units of work: one client simulated for one second */
    bool shown;
} progress_work;

/* Removes the line. */
static void progress_clear(void)
{
    if (progress_work.shown)
        fprintf(stderr, "\r%*s\r", PROGRESS_WIDTH, "");
    progress_work.shown = false;
}

/* So much has been done: draws the line, on a terminal over the last one. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
progress(double units, const char *format, ...)
{
    static time_t begun, told;
    bool terminal = isatty(STDERR_FILENO) != 0;
    time_t now = time(NULL);
    double share;
    va_list arguments;
    if (begun == 0)
        begun = now;
    progress_work.done += units;
    if (!terminal && difftime(now, told) < 2)
        return;
    told = now;
    share = fmin(progress_work.done / progress_work.planned, 0.99);
    progress_clear();
    fprintf(stderr, "%.0f %%, about %.0f s left: ", 100 * share,
            difftime(now, begun) * (1 - share) / share);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    if (!terminal)
        fprintf(stderr, "\n");
    progress_work.shown = terminal;
}

#endif /* STORM_REPORT_H */
