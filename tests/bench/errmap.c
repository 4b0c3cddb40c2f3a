/* What parsing an error map costs, beside what others need for the same: codes, names and
   attributes in a table sorted by code. errmap.sh counts instructions with it and prints the
   page.

     bench_errmap parse PEER FILE         one peer once, for callgrind's --toggle-collect=bench_PEER
     bench_errmap made PEER COUNT ORDER   the same with a map made to measure
     bench_errmap find HOW FILE           10,000 lookups, for --toggle-collect=bench_find and so on
     bench_errmap times FILE              times as ratios to bare jsmn
     bench_errmap stack FILE              bytes of stack that errmap_parse and what it calls use

   A PEER that is not errmap or jsmn is a shared library, bench_PEER.so beside this program. */
#define _POSIX_C_SOURCE 200809L
#define RETRY_IMPLEMENTATION
#include "errmap_peer.h"

#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>

#include "../errmap_fixture.h"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

static errmap_entry entries[BENCH_ENTRIES];
static jsmntok_t *tokens;
static unsigned token_count;
static const char *program; /* its path */

/* ---- Peers --------------------------------------------------------------------------------- */

size_t bench_errmap(const char *text, size_t length)
{
    errmap map;
    if (errmap_parse(&map, text, length, entries, BENCH_ENTRIES, NULL) != ERRMAP_OK)
        return 0;
    return map.count;
}

/* The tokens and no more: neither checked nor read. */
size_t bench_jsmn(const char *text, size_t length)
{
    jsmn_parser parser;
    jsmn_init(&parser);
    return jsmn_parse(&parser, text, length, tokens, token_count) > 0;
}

static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "bench_errmap: %s: %s\n", what, why);
    exit(2);
}

static bench_parse_fn *find_peer(const char *name)
{
    const char *const slash = strrchr(program, '/');
    char path[512], symbol[32];
    bench_parse_fn *parse;
    void *library, *address;
    if (strcmp(name, "errmap") == 0)
        return bench_errmap;
    if (strcmp(name, "jsmn") == 0)
        return bench_jsmn;
    snprintf(path, sizeof path, "%.*s/bench_%s.so", slash ? (int)(slash - program) : 1,
             slash ? program : ".", name);
    snprintf(symbol, sizeof symbol, "bench_%s", name);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    address = library ? dlsym(library, symbol) : NULL;
    if (!address)
        give_up(path, dlerror());
    memcpy(&parse, &address, sizeof parse); /* ISO C has no cast for it */
    return parse;
}

/* ---- Finding ------------------------------------------------------------------------------- */

static const errmap_entry *plain_loop(const errmap *map, uint32_t status)
{
    uint32_t i;
    for (i = 0; i < map->count; i++) {
        if (map->entries[i].code == status)
            return &map->entries[i];
    }
    return NULL;
}

/* The same halving, with a branch where errmap_find has none. */
static const errmap_entry *branching_search(const errmap *map, uint32_t status)
{
    uint32_t low = 0, high = map->count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (map->entries[middle].code == status)
            return &map->entries[middle];
        if (map->entries[middle].code < status)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

#define LOOKUPS 10000

static uint32_t statuses[LOOKUPS];

__attribute__((noinline)) unsigned bench_find(const errmap *map)
{
    unsigned found = 0, i;
    for (i = 0; i < LOOKUPS; i++)
        found += errmap_find(map, statuses[i]) != NULL;
    return found;
}

__attribute__((noinline)) unsigned bench_loop(const errmap *map)
{
    unsigned found = 0, i;
    for (i = 0; i < LOOKUPS; i++)
        found += plain_loop(map, statuses[i]) != NULL;
    return found;
}

__attribute__((noinline)) unsigned bench_branch(const errmap *map)
{
    unsigned found = 0, i;
    for (i = 0; i < LOOKUPS; i++)
        found += branching_search(map, statuses[i]) != NULL;
    return found;
}

/* ---- Time and stack ------------------------------------------------------------------------ */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Seconds for one call: the best of many short runs, in which the others had little part. */
static double seconds(bench_parse_fn *parse, fixture f)
{
    double best = 1e9;
    int run, i;
    for (run = 0; run < 20; run++) {
        const double start = now();
        for (i = 0; i < 20; i++)
            parse(f.text, f.length);
        if ((now() - start) / 20 < best)
            best = (now() - start) / 20;
    }
    return best;
}

static double find_seconds(unsigned (*find)(const errmap *), const errmap *map)
{
    double best = 1e9;
    int run;
    for (run = 0; run < 50; run++) {
        const double start = now();
        if (find(map) > LOOKUPS)
            return 0;
        if (now() - start < best)
            best = now() - start;
    }
    return best / LOOKUPS;
}

#define STACK 65536
#define PAINT 0xa5

static fixture stack_fixture;

static void *parse_once(void *argument)
{
    if (argument)
        bench_errmap(stack_fixture.text, stack_fixture.length);
    return NULL;
}

/* Bytes of a painted stack that a thread has touched. */
static size_t stack_used(void *argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *stack = NULL;
    size_t untouched = 0;
    if (posix_memalign(&stack, 4096, STACK) != 0)
        exit(2);
    memset(stack, PAINT, STACK);
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, stack, STACK) != 0 ||
        pthread_create(&thread, &attributes, parse_once, argument) != 0)
        exit(2);
    pthread_join(thread, NULL);
    while (untouched < STACK && ((unsigned char *)stack)[untouched] == PAINT)
        untouched++;
    free(stack);
    return STACK - untouched;
}

/* ---- Commands ------------------------------------------------------------------------------ */

static fixture load(const char *path)
{
    const fixture f = fixture_load(path);
    token_count = (unsigned)f.length + 1;
    tokens = (jsmntok_t *)fixture_allocate(token_count * sizeof *tokens);
    return f;
}

/* Prints the length, for figures per byte. */
static int run_parse(const char *name, fixture f)
{
    if (find_peer(name)(f.text, f.length) == 0)
        give_up(name, "cannot parse it");
    printf("%lu\n", (unsigned long)f.length);
    return 0;
}

static int run_find(const char *how, fixture f)
{
    uint32_t random = 1;
    errmap map;
    size_t i;
    if (errmap_parse(&map, f.text, f.length, entries, BENCH_ENTRIES, NULL) != ERRMAP_OK)
        give_up(how, "cannot parse the map");
    for (i = 0; i < LOOKUPS; i++)
        statuses[i] = entries[fixture_random(&random) % map.count].code;
    if (strcmp(how, "times") == 0) {
        const double find = find_seconds(bench_find, &map);
        printf("%.2f %.2f\n", find_seconds(bench_loop, &map) / find,
               find_seconds(bench_branch, &map) / find);
        return 0;
    }
    if (strcmp(how, "loop") == 0)
        return bench_loop(&map) != LOOKUPS;
    return (strcmp(how, "branch") == 0 ? bench_branch(&map) : bench_find(&map)) != LOOKUPS;
}

static int run_times(fixture f)
{
    static const char *const names[] = {"jsmn",    "errmap", "cjson",
                                        "jansson", "json_c", "rapidjson"};
    const double jsmn = seconds(bench_jsmn, f);
    size_t i;
    for (i = 0; i < sizeof names / sizeof names[0]; i++)
        printf("%s %.2f\n", names[i], seconds(find_peer(names[i]), f) / jsmn);
    return 0;
}

static int run_stack(fixture f)
{
    size_t idle, used;
    stack_fixture = f;
    idle = stack_used(NULL);
    used = stack_used(&stack_fixture);
    printf("%lu\n", (unsigned long)(used > idle ? used - idle : 0));
    return 0;
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 4 && strcmp(argv[1], "parse") == 0)
        return run_parse(argv[2], load(argv[3]));
    if (argc == 5 && strcmp(argv[1], "made") == 0)
        return run_parse(argv[2], fixture_make((uint32_t)strtoul(argv[3], NULL, 10),
                                               (int)strtol(argv[4], NULL, 10)));
    if (argc == 4 && strcmp(argv[1], "find") == 0)
        return run_find(argv[2], load(argv[3]));
    if (argc == 3 && strcmp(argv[1], "times") == 0)
        return run_times(load(argv[2]));
    if (argc == 3 && strcmp(argv[1], "stack") == 0)
        return run_stack(load(argv[2]));
    fprintf(stderr,
            "usage: bench_errmap parse PEER FILE | made PEER COUNT ORDER | find HOW FILE |\n"
            "       times FILE | stack FILE\n");
    return 2;
}
