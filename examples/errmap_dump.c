/* Shows an error map as a person would want to see it: each code with its name, what a client does
   about it, its attributes, and the first delays that its specification asks for. Or says what is
   wrong with the map, at which line and column.

     cc examples/errmap_dump.c -o errmap_dump
     ./errmap_dump tests/data/errmap_v2.json        a table
     ./errmap_dump < map.json                  the same from standard input
     ./errmap_dump --c map.json > map.c        a const errmap named error_map, for flash

   Exit status: 0 a good map, 1 a bad one, 2 trouble. */
#define RETRY_IMPLEMENTATION
#include "../errmap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELAYS 8 /* shown of a specification */

/* ---- Input --------------------------------------------------------------------------------- */

static void give_up(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    exit(2);
}

static char *read_all(FILE *file, const char *path, size_t *length)
{
    size_t capacity = 0;
    char *text = NULL;
    *length = 0;
    do {
        char *const larger = (char *)realloc(text, capacity = capacity * 2 + 65536);
        if (!larger)
            give_up(path, "not enough memory");
        text = larger;
        *length += fread(text + *length, 1, capacity - *length, file);
    } while (*length == capacity);
    if (ferror(file))
        give_up(path, "cannot be read");
    return text;
}

/* ---- What is wrong ------------------------------------------------------------------------- */

static bool continues_character(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Lines end with a line feed; columns count characters. Both start at 1. */
static void report(const char *path, const char *text, errmap_status status, size_t offset)
{
    size_t line = 1, column = 1, i;
    for (i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            line++;
            column = 1;
        } else if (!continues_character(text[i])) {
            column++;
        }
    }
    fprintf(stderr, "%s:%lu:%lu: %s\n", path, (unsigned long)line, (unsigned long)column,
            errmap_status_text(status));
}

/* ---- As a table ---------------------------------------------------------------------------- */

enum { COLUMNS = 80, INDENT = 6, NAME_WIDTH = 24, ACTION_WIDTH = 18 };

static size_t width(const char *text)
{
    size_t characters = 0;
    for (; *text != '\0'; text++)
        characters += !continues_character(*text);
    return characters;
}

/* Prints a word behind `column`, or on a line of its own if it would not fit there. Returns the
   column behind it. */
static size_t put(const char *word, size_t column)
{
    size_t length = width(word);
    if (column + 1 + length > COLUMNS) {
        printf("\n%*s%s", INDENT, "", word);
        return INDENT + length;
    }
    printf(" %s", word);
    return column + 1 + length;
}

/* Goes on to a column, if that is not passed already. */
static size_t go_to(size_t column, size_t wanted)
{
    if (column >= wanted)
        return column;
    printf("%*s", (int)(wanted - column), "");
    return wanted;
}

/* A text of the map; control characters as dots. */
static size_t put_text(const errmap *map, errmap_text text, size_t column)
{
    char buffer[256];
    errmap_copy_text(map, text, buffer, sizeof buffer);
    for (char *c = buffer; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '.';
    }
    return put(buffer, column);
}

static const char *verdict(errmap_advice advice)
{
    if (retry_reason_always(advice.failure.reason))
        return "always retry";
    if (advice.failure.reason != RETRY_REASON_NONE)
        return "retry";
    return advice.success ? "succeed" : "fail";
}

/* What a client does, as errmap_classify_kv and retry.h have it for a read. */
static size_t put_action(errmap_advice advice, bool known, size_t column)
{
    char action[120];
    const char *const or_else = advice.special ? " or " : ", ";
    snprintf(action, sizeof action, "%s%s%s%s%s%s%s%s", verdict(advice),
             advice.failure.throttle ? ", slow down" : "",
             advice.special ? ", special handling" : "", advice.reconnect ? or_else : "",
             advice.reconnect ? "reconnect" : "", advice.authentication ? ", authenticate" : "",
             advice.refresh_config ? ", refresh configuration" : "", known ? " *" : "");
    return put(action, column);
}

static void put_attributes(uint32_t attributes, size_t column)
{
    for (uint32_t bit = 1; bit <= ERRMAP_ATTR_ALL; bit <<= 1) {
        if ((attributes & bit) != 0)
            column = put(errmap_attribute_name(bit), column);
    }
}

static void put_entry(const errmap *map, const errmap_entry *entry)
{
    const bool known = !errmap_classify_kv(NULL, entry->code, 0).failure.unknown;
    size_t column = 5;
    printf("%04x ", entry->code);
    column = go_to(put_text(map, entry->name, column), INDENT + NAME_WIDTH);
    column = put_action(errmap_classify_kv(map, entry->code, 0), known, column);
    put_attributes(entry->attributes, go_to(column, INDENT + NAME_WIDTH + ACTION_WIDTH));
}

static void print_delays(const errmap_entry *entry)
{
    uint32_t retries;
    if (entry->strategy == ERRMAP_SPEC_NONE)
        return;
    printf("\n      waits");
    for (retries = 0; retries < DELAYS; retries++)
        printf(" %lu", (unsigned long)errmap_spec_delay(entry, retries));
    printf(" ... ms");
    if (entry->max_duration != 0)
        printf(", %lu ms in all", (unsigned long)entry->max_duration);
}

static void print_table(const errmap *map)
{
    uint32_t i;
    printf("version %lu, revision %lu, %lu codes\n\n", (unsigned long)map->version,
           (unsigned long)map->revision, (unsigned long)map->count);
    printf("code  %-*s %-*s attributes\n", NAME_WIDTH, "name", ACTION_WIDTH - 1, "a client will");
    for (i = 0; i < map->count; i++) {
        put_entry(map, &map->entries[i]);
        print_delays(&map->entries[i]);
        putchar('\n');
    }
    printf("\n* decided by the client, which knows the code, and not by the map\n");
}

/* ---- As C ---------------------------------------------------------------------------------- */

/* One text, still escaped as in JSON, as characters: a string literal of them all would be longer
   than compilers must take. */
static void print_characters(const errmap *map, errmap_text text, uint32_t *length)
{
    uint32_t i;
    for (i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)map->json[text.offset + i];
        printf("%s", i % 16 == 0 ? "\n    " : " ");
        if (c == '\\' || c == '\'')
            printf("'\\%c',", c);
        else if (c >= 0x7f)
            printf("'\\%03o',", c);
        else
            printf("'%c',", c);
    }
    *length += text.length;
}

static void print_place(errmap_text text, uint32_t *offset)
{
    printf(", {%lu, %lu}", text.length ? (unsigned long)*offset : 0ul, (unsigned long)text.length);
    *offset += text.length;
}

static void print_c(const errmap *map)
{
    uint32_t length = 0, offset = 0, i;
    printf("#include \"errmap.h\"\n\nstatic const char texts[] = {");
    for (i = 0; i < map->count; i++) {
        print_characters(map, map->entries[i].name, &length);
        print_characters(map, map->entries[i].desc, &length);
    }
    printf("\n    '\\0'};\n\nstatic const errmap_entry entries[] = {\n");
    for (i = 0; i < map->count; i++) {
        const errmap_entry *const entry = &map->entries[i];
        printf("    {0x%04x, %u, 0x%05lx", entry->code, entry->strategy,
               (unsigned long)entry->attributes);
        print_place(entry->name, &offset);
        print_place(entry->desc, &offset);
        printf(", %lu, %lu, %lu, %lu, 0},\n", (unsigned long)entry->after,
               (unsigned long)entry->interval, (unsigned long)entry->ceil,
               (unsigned long)entry->max_duration);
    }
    if (map->count == 0)
        printf("    {0, 0, 0, {0, 0}, {0, 0}, 0, 0, 0, 0, 0}, /* C has no empty arrays */\n");
    printf("};\n\nextern const errmap error_map;\n");
    printf("const errmap error_map = {texts, %lu, entries, %lu, %lu, %lu};\n",
           (unsigned long)length, (unsigned long)map->count, (unsigned long)map->version,
           (unsigned long)map->revision);
}

/* ---- Main ---------------------------------------------------------------------------------- */

static int dump(const char *path, const char *text, size_t length, void (*print)(const errmap *))
{
    errmap map;
    errmap_error error;
    errmap_entry *entries = NULL;
    errmap_status status = errmap_parse(&map, text, length, NULL, 0, &error);
    if (status == ERRMAP_E_CAPACITY) {
        const uint32_t count = error.needed;
        entries = (errmap_entry *)malloc(count * sizeof *entries);
        if (!entries)
            give_up(path, "not enough memory");
        status = errmap_parse(&map, text, length, entries, count, &error);
    }
    if (status == ERRMAP_OK)
        print(&map);
    else
        report(path, text, status, error.offset);
    free(entries);
    return status == ERRMAP_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    const bool as_c = argc > 1 && strcmp(argv[1], "--c") == 0;
    const char *const path = argv[1 + as_c];
    const char *const name = path ? path : "standard input";
    FILE *file = stdin;
    size_t length;
    char *text;
    int result;
    if (argc > 2 + as_c || (path && path[0] == '-')) {
        fprintf(stderr, "usage: errmap_dump [--c] [FILE]\n");
        return 2;
    }
    if (path)
        file = fopen(path, "rb");
    if (!file)
        give_up(name, "cannot be opened");
    text = read_all(file, name, &length);
    if (path)
        fclose(file);
    result = dump(name, text, length, as_c ? print_c : print_table);
    free(text);
    if (fflush(stdout) != 0 || ferror(stdout))
        give_up("standard output", "cannot be written");
    return result;
}
