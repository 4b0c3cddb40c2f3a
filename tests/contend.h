/* Makes compare-and-swaps lose. Included before the implementation; what `contend` names is called
   with the word before each swap, and does there what another thread would. */
#ifndef CONTEND_H
#define CONTEND_H

#include <stdint.h>

typedef void contend_fn(uint32_t *word);

/* Weak, as the implementation may be in another file. */
__attribute__((weak)) contend_fn *contend;

static inline void contend_now(uint32_t *word)
{
    if (contend)
        contend(word);
}

/* Its own name is not replaced again. */
#define __atomic_compare_exchange_n(word, expected, desired, weak, success, failure) \
    (contend_now(word),                                                              \
     __atomic_compare_exchange_n(word, expected, desired, weak, success, failure))

#endif
