/* Masks for a build of any test, by -include: what two cores would have, a lock that spins. It
   includes nothing, as a test comes after it that chooses what the system's headers declare. */
#ifndef SPINLOCK_H
#define SPINLOCK_H

#define RETRY_MASK() spinlock_take()
#define RETRY_UNMASK(state) spinlock_release(state)

static unsigned spinlock_owned, spinlock_state;

__attribute__((unused)) static unsigned spinlock_take(void)
{
    while (__atomic_exchange_n(&spinlock_owned, 1u, __ATOMIC_ACQUIRE) != 0)
        continue;
    spinlock_state = ~spinlock_state;
    return spinlock_state;
}

__attribute__((unused)) static void spinlock_release(unsigned state)
{
    if (state != spinlock_state)
        __builtin_trap();
    __atomic_store_n(&spinlock_owned, 0u, __ATOMIC_RELEASE);
}

#endif
