/* Comes between a thread's steps. Included before the implementation; contend.swap is called with
   the word before each swap, and does there what another thread would; contend.step is called
   before each step that another thread can see, a swap or a load. */
#ifndef CONTEND_H
#define CONTEND_H

#include <stdint.h>

struct contend {
    void (*swap)(uint32_t *word);
    void (*step)(void);
};

/* Weak, as the implementation may be in another file. */
__attribute__((weak)) struct contend contend;

static inline void contend_load(void)
{
    if (contend.step)
        contend.step();
}

static inline void contend_swap(uint32_t *word)
{
    contend_load();
    if (contend.swap)
        contend.swap(word);
}

/* Their own names are not replaced again. */
#define __atomic_load_n(word, order) (contend_load(), __atomic_load_n(word, order))
#define __atomic_compare_exchange_n(word, expected, desired, weak, success, failure) \
    (contend_swap(word),                                                             \
     __atomic_compare_exchange_n(word, expected, desired, weak, success, failure))
#define __atomic_exchange_n(word, value, order) \
    (contend_swap(word), __atomic_exchange_n(word, value, order))

#endif
