/* What a test program needs on the board that avr_simulator.c makes: what it prints goes into one
   register, and its exit status into another. Linked with --wrap=main. */
#include <avr/io.h>
#include <stdio.h>

int __real_main(void);
int __wrap_main(void);

static int put(char c, FILE *file)
{
    (void)file;
    GPIOR0 = (uint8_t)c;
    return 0;
}

int __wrap_main(void)
{
    static FILE console = FDEV_SETUP_STREAM(put, NULL, _FDEV_SETUP_WRITE);
    stdout = &console;
    GPIOR1 = (uint8_t)__real_main();
    return 0;
}
