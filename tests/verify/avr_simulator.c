/* avr_simulator PROGRAM: runs an ELF file on an ATmega2560 with the 56 KB of external RAM that it
   can address. Prints what the program writes to GPIOR0, and ends with the status in GPIOR1. */
#include <simavr/sim_avr.h>
#include <simavr/sim_core.h>
#include <simavr/sim_elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPIOR0 0x3e
#define GPIOR1 0x4a

static void print(avr_t *avr, avr_io_addr_t address, uint8_t c, void *unused)
{
    (void)avr, (void)address, (void)unused;
    putchar(c);
}

static void end(avr_t *avr, avr_io_addr_t address, uint8_t status, void *unused)
{
    (void)avr, (void)address, (void)unused;
    exit(status);
}

int main(int count, char **arguments)
{
    static elf_firmware_t program;
    avr_t *avr = avr_make_mcu_by_name("atmega2560");
    if (count != 2 || !avr || elf_read_firmware(arguments[1], &program) != 0)
        return 125;
    avr->ramend = 0xffff;
    avr_init(avr);
    avr->log = LOG_ERROR;
    avr_load_firmware(avr, &program);
    avr_register_io_write(avr, GPIOR0, print, NULL);
    avr_register_io_write(avr, GPIOR1, end, NULL);
    while (avr->state == cpu_Running) {
        if (avr->sreg[S_I])
            avr_run(avr);
        else /* nothing can come between, and this is faster */
            avr->pc = avr_run_one(avr);
    }
    return 126;
}
