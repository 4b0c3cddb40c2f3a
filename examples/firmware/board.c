/* board.c: the firmware's application on a Cortex-M, here ARM's MPS2 board as QEMU has it: vector
   table, SysTick as the clock, sleep between its ticks, and semihosting, by which a debugger (or
   QEMU) prints for a program. Start-up code, memcpy and memset come from picolibc. */
#include "firmware.h"

#include <semihost.h>

#include "scenario_table.h" /* made from scenario.txt */

/* ---- What the linker knows ----------------------------------------------------------------- */

extern char __data_start[], __data_source[], __data_source_end[], __bss_end[];
extern char __stack[], __heap_end[]; /* the stack's two ends: no heap lies below it */
void _start(void);

/* ---- Interrupts ---------------------------------------------------------------------------- */

enum { CPU_HZ = 25000000, TICK_HZ = 1000 };

static volatile uint32_t ticks = APP_FIRST_TICK;

static void on_tick(void)
{
    ticks = ticks + 1;
}

static void on_fault(void)
{
    sys_semihost_exit_extended(3);
}

typedef union vector {
    void *stack;
    void (*handler)(void);
} vector;

/* The name and the section are those that picolibc's linker script puts first into flash. */
__attribute__((used, section(".text.init.enter"))) const vector __interrupt_vector[16] = {
    [0] = {.stack = __stack},    [1] = {.handler = _start},    [2] = {.handler = on_fault},
    [3] = {.handler = on_fault}, [4] = {.handler = on_fault},  [5] = {.handler = on_fault},
    [6] = {.handler = on_fault}, [11] = {.handler = on_fault}, [14] = {.handler = on_fault},
    [15] = {.handler = on_tick}};

static void start_ticking(void)
{
    volatile uint32_t *const systick = (volatile uint32_t *)0xe000e010;
    systick[1] = CPU_HZ / TICK_HZ - 1; /* reload */
    systick[2] = 0;                    /* current value */
    systick[0] = 7;                    /* processor clock, interrupt, on */
}

/* Should the tick come just before the sleep, the next one ends it: app_tick makes up for it. */
static void await_tick(retry_time seen)
{
    while (ticks == seen)
        __asm__ volatile("wfi");
}

/* ---- Memory -------------------------------------------------------------------------------- */

enum { PAINT = 0x5a5a5a5a };

static uint32_t *stack_bottom(void)
{
    return (uint32_t *)(void *)__heap_end;
}

/* Paints what the stack has not reached yet, to see later how deep it went. */
static void paint_stack(void)
{
    volatile uint32_t here = PAINT;
    const uintptr_t end = (uintptr_t)&here - 64; /* this function's own frame, and some */
    for (uint32_t *word = stack_bottom(); (uintptr_t)word < end; word++)
        *word = here;
}

static uint32_t stack_used(void)
{
    const uint32_t *word = stack_bottom();
    while ((uintptr_t)word < (uintptr_t)__stack && *word == PAINT)
        word++;
    return (uint32_t)((uintptr_t)__stack - (uintptr_t)word);
}

static uint32_t distance(const char *from, const char *to)
{
    return (uint32_t)((uintptr_t)to - (uintptr_t)from);
}

/* ---- Output -------------------------------------------------------------------------------- */

static int console;

static void write_line(const char *line)
{
    uint32_t length = 0;
    while (line[length] != '\0')
        length++;
    sys_semihost_write(console, line, length);
    sys_semihost_write(console, "\n", 1);
}

static void put_bytes(text_line *line, const char *words, uint32_t bytes)
{
    text_put(line, words);
    text_decimal(line, bytes);
}

/* In bytes: what the linker laid out, what the stack reached, and what each further operation in
   flight, or further budget, would take. */
static void write_memory(void)
{
    text_line line = {"", 0};
    put_bytes(&line, "memory: flash ",
              distance((const char *)__interrupt_vector, __data_source_end));
    put_bytes(&line, ", RAM ", distance(__data_start, __bss_end));
    put_bytes(&line, " (log ", app_log_size());
    put_bytes(&line, "), stack ", stack_used());
    put_bytes(&line, "; operation ", sizeof(retry_operation));
    put_bytes(&line, ", budget ", sizeof(retry_budget));
    write_line(line.text);
}

int main(void)
{
    const uint32_t count = sizeof scenario / sizeof scenario[0];
    retry_time now = APP_FIRST_TICK;
    bool sound;
    paint_stack();
    start_ticking();
    app_begin(scenario, count, now);
    do {
        await_tick(now);
        now++; /* by one, however many have passed: no tick is left out, so nothing depends on
                  how fast the processor is */
    } while (app_tick(now));
    console = sys_semihost_open(":tt", SH_OPEN_W);
    sound = app_report(write_line);
    write_memory();
    return sound ? 0 : 1;
}
