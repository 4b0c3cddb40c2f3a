/* The program around digest.c where that is compiled with DIGEST_BARE, without a C library. */
#include <stdint.h>
#include <stdio.h>

uint32_t digest(uint32_t *decisions);

int main(void)
{
    uint32_t decisions, sum = digest(&decisions);
    printf("digest %08lx of %lu numbers\n", (unsigned long)sum, (unsigned long)decisions);
    return 0;
}
