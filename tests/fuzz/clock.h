/* The clock of targets whose models keep instants: it does not wrap, and the gates are told its
   lower bits. */
#ifndef FUZZ_CLOCK_H
#define FUZZ_CLOCK_H

#include "bytes.h"

/* Later an idle clock may be taken for one that stepped back. */
#define DAYS_46 UINT64_C(4000000000)

BYTES_OWN uint64_t now;     /* ms */
BYTES_OWN uint64_t started; /* the first instant */
BYTES_OWN bool steady;      /* it never stepped back, nor went on for too long */

BYTES_API retry_time instant(void)
{
    return (retry_time)now;
}

BYTES_API void clock_start(void)
{
    steady = true;
    started = now = UINT64_C(0x500000000) + word();
}

BYTES_API void clock_pass(uint64_t ms, bool back)
{
    now = back ? now - ms : now + ms;
    if (back || now > started + DAYS_46)
        steady = false;
}

#endif
