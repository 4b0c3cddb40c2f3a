/* progress.h: the line that shows how far the simulation is, on standard error and only if that is
   a terminal. */
#ifndef STORM_PROGRESS_H
#define STORM_PROGRESS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#if defined(__GNUC__)
#define PRINTF_LIKE __attribute__((format(printf, 1, 2)))
#else
#define PRINTF_LIKE
#endif

enum { PROGRESS_WIDTH = 78 };
static bool progress_shown;

/* Removes the line. */
static void progress_clear(void)
{
    if (progress_shown)
        fprintf(stderr, "\r%*s\r", PROGRESS_WIDTH, "");
    progress_shown = false;
}

/* Draws the line, over the last one. */
PRINTF_LIKE static void progress(const char *format, ...)
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

#endif /* STORM_PROGRESS_H */
