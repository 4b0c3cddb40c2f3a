/* Three threads report to a rate and ask it, two of them when a half second has ended:
   retry__rate_report, with retry__rate_limit, retry__rate_update and retry__store of retry.h,
   then retry__rate_take, with retry__rate_passed. One thread ends the half second, each answer counts
   once, in it or in the next, and the time up to `clock` is in the bucket once. */
#include "swap.pml"

#define BEFORE 2 /* answers in the half second */
#define END 2    /* ms; of the half second */
#define SPACING 2
#define FULL 4

byte half = 0, accepted = BEFORE, clock = 0, owed = FULL;
byte ends = 0, learnt = 0, taken = 0, done = 0;

proctype call(byte now)
{
    byte seen, next, passed = 0, rest;
    bool ok;

    seen = half; /* limit */
    if
    :: now - seen >= END ->
        swap(half, seen, seen + END, ok);
        if
        :: ok ->
            ends++;
            seen = accepted; /* collect */
            do
            :: swap(accepted, seen, 0, ok);
               if
               :: ok -> break
               :: else
               fi
            od;
            learnt = learnt + seen
        :: else
        fi
    :: else
    fi;

#ifdef BROKEN
    seen = accepted;
    accepted = seen + 1;
#else
    accepted++; /* added at once */
#endif

    seen = clock; /* passed */
    if
    :: now > seen ->
        swap(clock, seen, now, ok);
        if
        :: ok -> passed = now - seen
        :: else
        fi
    :: else
    fi;

    seen = owed; /* take */
    do
    :: rest = (seen > passed -> seen - passed : 0);
       next = (rest + SPACING <= FULL -> rest + SPACING : rest);
       swap(owed, seen, next, ok);
       if
       :: ok -> taken = taken + (next > rest); break
       :: else
       fi
    od;
    done++
}

init
{
    atomic {
        run call(END - 1);
        run call(END);
        run call(END + 1)
    }
    done == 3;
    assert(ends == 1);
    assert(learnt + accepted == BEFORE + 3);
    assert(clock == END + 1 || clock == END || clock == END - 1);
    assert(owed + clock == FULL + taken * SPACING)
}
