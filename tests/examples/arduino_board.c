/* arduino_board PROGRAM MAIN CLOCK MS ANSWERS: runs an Arduino sketch's ELF file on an ATmega328P
   at 16 MHz, and is the person at the Serial Monitor. Prints each line that the sketch writes, with
   the board's time in ms before it. ANSWERS are what to answer to the lines "connect?" in turn: n
   refuses, - says nothing, yMS accepts and breaks the connection MS later. When it has none left
   the run ends. Before main, at the address MAIN, the counter of millis(), at CLOCK, is set to MS.
 */
#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <simavr/sim_time.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HZ = 16000000, ANSWER_MS = 100, LINE = 100, RUN_S = 600 };

static avr_t *avr;
static avr_irq_t *input;
static uint32_t clock_at;
static char *answers; /* what is left of them */
static char line[LINE];
static size_t length;

static avr_cycle_count_t after_ms(unsigned ms)
{
    return avr_usec_to_cycles(avr, ms * 1000u);
}

static avr_cycle_count_t type(avr_t *board, avr_cycle_count_t when, void *key)
{
    (void)board, (void)when;
    avr_raise_irq(input, *(const uint8_t *)key);
    return 0;
}

static void end(void)
{
    uint32_t now;
    memcpy(&now, avr->data + clock_at, sizeof now);
    printf("%7lu the end: millis() is %lu\n", (unsigned long)(avr->cycle / (HZ / 1000)),
           (unsigned long)now);
    exit(0);
}

static void answer(void)
{
    static uint8_t accept = 'y', refuse = 'n', cut = 'x';
    const char *next = strtok(answers, " ");
    answers = NULL;
    if (!next)
        end();
    if (*next == 'y') {
        avr_cycle_timer_register(avr, after_ms(ANSWER_MS), type, &accept);
        avr_cycle_timer_register(avr, after_ms(ANSWER_MS + (unsigned)atoi(next + 1)), type, &cut);
    } else if (*next == 'n') {
        avr_cycle_timer_register(avr, after_ms(ANSWER_MS), type, &refuse);
    }
}

static void hear(avr_irq_t *irq, uint32_t byte, void *unused)
{
    (void)irq, (void)unused;
    if (byte != '\n' && length < LINE - 1) {
        if (byte != '\r')
            line[length++] = (char)byte;
        return;
    }
    line[length] = '\0';
    length = 0;
    printf("%7lu %s\n", (unsigned long)(avr->cycle / (HZ / 1000)), line);
    if (strcmp(line, "connect?") == 0)
        answer();
}

static void say_nothing(avr_t *board, const int level, const char *format, va_list list)
{
    (void)board, (void)level, (void)format, (void)list;
}

static void connect_serial(void)
{
    uint32_t flags = 0;
    avr_ioctl(avr, AVR_IOCTL_UART_GET_FLAGS('0'), &flags);
    flags &= ~(uint32_t)(AVR_UART_FLAG_STDIO | AVR_UART_FLAG_POLL_SLEEP);
    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    input = avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), hear,
                            NULL);
}

int main(int count, char **arguments)
{
    static elf_firmware_t program;
    uint32_t start, ms;
    avr_global_logger_set(say_nothing);
    avr = avr_make_mcu_by_name("atmega328p");
    if (count != 6 || !avr || elf_read_firmware(arguments[1], &program) != 0)
        return 125;
    program.frequency = HZ;
    avr_init(avr);
    avr_load_firmware(avr, &program);
    connect_serial();
    start = (uint32_t)strtoul(arguments[2], NULL, 16);
    clock_at = (uint32_t)strtoul(arguments[3], NULL, 16) & 0xffff; /* data has 0x800000 added */
    ms = (uint32_t)strtoul(arguments[4], NULL, 10);
    answers = arguments[5];
    while (avr->state == cpu_Running && avr->pc != start)
        avr_run(avr);
    memcpy(avr->data + clock_at, &ms, sizeof ms);
    while (avr->state == cpu_Running && avr->cycle / HZ < RUN_S)
        avr_run(avr);
    return 126;
}
