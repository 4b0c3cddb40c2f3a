/* What the fuzz targets share. Built with FUZZ_REPLAY a target runs without a fuzzer: each file
   named on the command line goes in whole, then cut at every length, then with every byte changed
   in some ways. With clang's -fsanitize=fuzzer it runs on its own. */
#ifndef FUZZ_REPLAY_H
#define FUZZ_REPLAY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)                                                      \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                            \
        }                                                                       \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef FUZZ_REPLAY

#include "../support/errmap_fixture.h"

static void replay(const char *text, size_t length)
{
    const fixture f = fixture_copy(text, length);
    LLVMFuzzerTestOneInput((const uint8_t *)f.text, length);
    fixture_free(f);
}

static unsigned long replay_file(const char *path)
{
    static const unsigned char changes[] = {0x01, 0x02, 0x08, 0x20, 0x80, 0xff};
    const fixture f = fixture_load(path);
    unsigned long runs = 0;
    size_t i, change;
    for (i = 0; i <= f.length; i++, runs++)
        replay(f.text, i);
    for (i = 0; i < f.length; i++) {
        for (change = 0; change < sizeof changes; change++, runs++) {
            f.text[i] = (char)((unsigned char)f.text[i] ^ changes[change]);
            replay(f.text, f.length);
            f.text[i] = (char)((unsigned char)f.text[i] ^ changes[change]);
        }
    }
    fixture_free(f);
    return runs;
}

int main(int argc, char **argv)
{
    unsigned long runs = 0;
    int i;
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE ...\n", argv[0]);
        return 2;
    }
    for (i = 1; i < argc; i++)
        runs += replay_file(argv[i]);
    printf("%lu inputs, no fault\n", runs);
    return 0;
}

#endif /* FUZZ_REPLAY */

#endif
