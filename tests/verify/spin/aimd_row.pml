/* Three failures that say nothing of load come at once, where the limit is one above `min`: retry__aimd_report
   and retry__aimd_begin_pause of retry.h, with retry__aimd_pause. Each failure has a number of its own in the row, so
   the third one alone lowers the limit. Then one pause begins. An answer that comes between ends the row:
   then there may be no third one. */
#include "swap.pml"

#define FAILURES 3
#define NOW 10
#define MIN 1

byte row = 0, limit = MIN + 1, pause;
byte falls = 0, pauses = 0, done = 0;
bool answered;

proctype failure()
{
    byte number, seen;
    bool ok;
    number = row;
    do
    :: swap(row, number, number + 1, ok);
       if
       :: ok -> break
       :: else
       fi
    od;
    if
    :: number >= 2 -> /* aimd.pml has the steps of a fall */
        falls++;
        limit = MIN
    :: else
    fi;

    seen = pause; /* rest */
    if
    :: limit == MIN ->
        if
        :: pause <= NOW -> /* never set, or over */
            swap(pause, seen, NOW + 1, ok);
            if
            :: ok -> pauses++
            :: else
            fi
        :: else
        fi
    :: else
    fi;
    done++
}

proctype answer()
{
    if
    :: row != 0 -> row = 0
    :: else
    fi;
    done++
}

init
{
    atomic {
        if
        :: pause = 0 /* never set */
        :: pause = 1 /* over */
        fi;
        if
        :: answered = true; run answer()
        :: answered = false; done++
        fi;
        run failure();
        run failure();
        run failure()
    }
    done == FAILURES + 1;
    assert(row <= FAILURES);
    assert(falls <= 1 && pauses == falls);
    assert(answered || (falls == 1 && row == FAILURES))
}
