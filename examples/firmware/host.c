/* host.c: the firmware's application on the host, with a tick that costs no time.
       host scenario.txt       runs the scenario and prints what was decided
       host --c scenario.txt   prints it as a C table, for the board
   A line with an error is named and left out, and the exit status is 1. */
#include "firmware.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 256 };

static const struct {
    const char *name;
    uint8_t opcode;
} requests[] = {{"get", 0x00},  {"set", 0x01},    {"increment", 0x05},
                {"lock", 0x94}, {"unlock", 0x95}, {"lookup", 0xd0}};

static scenario_operation operations[SCENARIO_OPERATIONS];
static uint32_t operation_count;

/* ---- Reading ------------------------------------------------------------------------------- */

typedef struct scenario_reader {
    const char *path;
    unsigned long line;
    unsigned long errors;
} scenario_reader;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
refuse(scenario_reader *reader, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s:%lu: ", reader->path, reader->line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    reader->errors++;
    return false;
}

static bool read_number(const char *word, int base, unsigned long most, unsigned long *number)
{
    char *end;
    if (word[0] == '\0' || !strchr("0123456789abcdefABCDEF", word[0]))
        return false; /* strtoul would pass a sign or a blank */
    errno = 0;
    *number = strtoul(word, &end, base);
    return *end == '\0' && errno == 0 && *number <= most;
}

static bool read_request(const char *word, scenario_operation *operation)
{
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        if (strcmp(requests[i].name, word) == 0) {
            operation->name = requests[i].name;
            operation->opcode = requests[i].opcode;
            return true;
        }
    }
    return false;
}

static bool read_event(const char *word, radio_event *event)
{
    static const char *const names[] = {[RADIO_ANSWER] = "ok",
                                        [RADIO_NOLINK] = "nolink",
                                        [RADIO_DROP] = "drop",
                                        [RADIO_STALL] = "stall"};
    unsigned long status;
    event->status = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        event->kind = (uint8_t)i;
        if (strcmp(names[i], word) == 0)
            return true;
    }
    event->kind = RADIO_ANSWER;
    if (strncmp(word, "0x", 2) != 0 || !read_number(word + 2, 16, 0xffff, &status))
        return false;
    event->status = (uint16_t)status;
    return strlen(word) <= 6;
}

static bool read_events(scenario_reader *reader, scenario_operation *operation)
{
    const char *word;
    while ((word = strtok(NULL, " \t")) != NULL) {
        if (operation->event_count == SCENARIO_EVENTS)
            return refuse(reader, "more than %d events", SCENARIO_EVENTS);
        if (!read_event(word, &operation->events[operation->event_count++]))
            return refuse(reader, "\"%s\" is no event: ok nolink drop stall or 0x86", word);
    }
    return operation->event_count != 0 || refuse(reader, "no events");
}

static bool read_operation(scenario_reader *reader, const char *word, scenario_operation *operation)
{
    unsigned long timeout;
    if (!read_request(word, operation))
        return refuse(reader, "\"%s\" is no operation", word);
    word = strtok(NULL, " \t");
    if (!word || (strcmp(word, "idempotent") != 0 && strcmp(word, "once") != 0))
        return refuse(reader, "\"%s\" is neither idempotent nor once", word ? word : "");
    operation->idempotent = strcmp(word, "idempotent") == 0;
    word = strtok(NULL, " \t");
    if (!word || !read_number(word, 10, 60000, &timeout) || timeout == 0)
        return refuse(reader, "\"%s\" is no timeout: 1 to 60000 ms", word ? word : "");
    operation->timeout = (retry_ms)timeout;
    return read_events(reader, operation);
}

static void read_line(scenario_reader *reader, char *line)
{
    scenario_operation operation;
    const char *word;
    line[strcspn(line, "\r\n#")] = '\0';
    word = strtok(line, " \t");
    if (!word)
        return;
    memset(&operation, 0, sizeof operation);
    if (!read_operation(reader, word, &operation))
        return;
    if (operation_count == SCENARIO_OPERATIONS)
        refuse(reader, "more than %d operations", SCENARIO_OPERATIONS);
    else
        operations[operation_count++] = operation;
}

/* One line without its end. False if it had a NUL, or was too long: then the rest is skipped. */
static bool get_line(FILE *file, char *line)
{
    bool fits = true;
    size_t length = 0;
    int c;
    while ((c = getc(file)) != EOF && c != '\n') {
        if (length + 1 < LINE_SIZE && c != '\0')
            line[length++] = (char)c;
        else
            fits = false;
    }
    line[length] = '\0';
    return fits;
}

static void read_scenario(scenario_reader *reader, FILE *file)
{
    char line[LINE_SIZE];
    int c;
    while ((c = getc(file)) != EOF) {
        ungetc(c, file);
        reader->line++;
        if (get_line(file, line))
            read_line(reader, line);
        else
            refuse(reader, "over %d bytes, or with a NUL", LINE_SIZE - 1);
    }
    if (ferror(file))
        refuse(reader, "%s", strerror(errno));
    if (operation_count == 0)
        refuse(reader, "no operation");
}

/* ---- Running and printing ------------------------------------------------------------------ */

static void print_table(void)
{
    printf("/* Made from the scenario's text by host --c. */\n"
           "static const scenario_operation scenario[] = {\n");
    for (uint32_t i = 0; i < operation_count; i++) {
        const scenario_operation *operation = &operations[i];
        printf("    {\"%s\", 0x%02x, %s, %lu, %lu, {", operation->name, operation->opcode,
               operation->idempotent ? "true" : "false", (unsigned long)operation->timeout,
               (unsigned long)operation->event_count);
        for (uint32_t j = 0; j < operation->event_count; j++)
            printf("%s{%u, 0x%04x}", j == 0 ? "" : ", ", operation->events[j].kind,
                   operation->events[j].status);
        printf("}},\n");
    }
    printf("};\n");
}

static void write_line(const char *line)
{
    puts(line);
}

static bool run(void)
{
    retry_time now = APP_FIRST_TICK;
    app_begin(operations, operation_count, now);
    while (app_tick(++now))
        continue;
    return app_report(write_line);
}

int main(int count, char **arguments)
{
    const bool as_table = count == 3 && strcmp(arguments[1], "--c") == 0;
    scenario_reader reader = {NULL, 0, 0};
    FILE *file;
    bool sound = true;
    if (count != 2 && !as_table) {
        fprintf(stderr, "usage: %s [--c] SCENARIO\n", arguments[0]);
        return 2;
    }
    reader.path = arguments[count - 1];
    file = fopen(reader.path, "r");
    if (!file) {
        fprintf(stderr, "%s: %s\n", reader.path, strerror(errno));
        return 2;
    }
    read_scenario(&reader, file);
    fclose(file);
    if (as_table)
        print_table();
    else if (operation_count != 0)
        sound = run();
    return reader.errors == 0 && sound && fflush(stdout) == 0 ? 0 : 1;
}
