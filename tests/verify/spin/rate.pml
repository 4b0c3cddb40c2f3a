/* Three threads report to a rate: retry_rate_report, retry__rate_post and retry__rate_collect of
   retry.h. One at a time is at the fields that are not shared, and learns each report once, its own
   and those that were left to it. */
#include "swap.pml"

#define THREADS 3
#define REPORTS 2
#define BUSY 128 /* above what waits */

byte inbox = 0;
byte inside = 0, learnt = 0, done = 0;

proctype report()
{
    byte seen, next, i;
    bool ok;
    for (i : 1 .. REPORTS) {
        seen = inbox;
        do
        :: next = (seen == 0 -> BUSY : seen + 1);
           swap(inbox, seen, next, ok);
           if
           :: ok -> break
           :: else
           fi
        od;
        if
        :: seen != 0 /* the thread that is at others sees to it */
        :: else ->
            next = 1;
            do
            :: inside++; /* retry__rate_learn */
               assert(inside == 1);
               learnt = learnt + next;
               inside--;
               seen = inbox; /* collect */
               do
               :: next = (seen == BUSY -> 0 : BUSY);
                  swap(inbox, seen, next, ok);
                  if
                  :: ok -> break
                  :: else
                  fi
               od;
               next = seen - BUSY;
               if
               :: next == 0 -> break
               :: else
               fi
            od
        fi
    }
    done++
}

init
{
    atomic {
        run report();
        run report();
        run report()
    }
    done == THREADS;
    assert(inbox == 0);
    assert(learnt == THREADS * REPORTS)
}
