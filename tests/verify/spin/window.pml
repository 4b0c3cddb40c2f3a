/* Two threads count in a window whose half under way has ended, or which nobody has used for long:
   retry__window_at, retry__window_move and retry__window_empty of retry.h. Their clocks differ a little. In
   the end each report is there, and of what was there before only the half that the window still holds.
   No thread is held up for a whole window. */
#include "swap.pml"

#define REPORTERS 2
#define REPORTS 2
#define HALF 4  /* ms */
#define BEGAN 8 /* when the half under way began */
#define IDLE (4 * HALF)

/* A count: the number in the lowest bits, above it how often it was emptied. */
#define NUMBER(c) ((c) & 15)
#define EMPTIED(c) (((c) + 16) & 112)

short half = BEGAN * 2; /* the instant twice, and which half it is */
byte counts[2];
byte done = 0;
bool idle;

inline clear(which)
{
    count = counts[which];
    do
    :: half != seen -> break
    :: half == seen ->
        swap(counts[which], count, EMPTIED(count), ok);
        if
        :: ok -> break
        :: else
        fi
    od
}

/* `seen` is the half that `now` is in. */
inline move()
{
    seen = half;
    do
    :: now - (seen >> 1) < HALF -> break /* under way, or the clock is behind */
    :: else ->
        if
        :: now - (seen >> 1) < 2 * HALF ->
            next = (seen ^ 1) + 2 * HALF;
            clear(next & 1)
        :: else ->
            next = now * 2 | 1;
            clear(0);
            clear(1)
        fi;
        swap(half, seen, next, ok);
        if
        :: ok -> seen = next; break
        :: else
        fi
    od
}

proctype reporter()
{
    short seen, next;
    byte now, count, i;
    bool ok;
    for (i : 1 .. REPORTS) {
        if
        :: now = BEGAN + HALF - 1
        :: now = BEGAN + HALF
        :: now = BEGAN + HALF + 1
        fi;
        if
        :: idle -> now = now + IDLE
        :: else
        fi;
        move();
        count = counts[seen & 1];
        do
        :: swap(counts[seen & 1], count, count + 1, ok);
            if
            :: ok -> break
            :: else
            fi
        od;
        skip; /* a loop may not end before a d_step */
        d_step { /* what is not needed any more would make states differ */
            seen = 0;
            next = 0;
            now = 0;
            count = 0;
            ok = false
        }
    }
    done++
}

init
{
    short seen, next;
    byte now, count;
    bool ok;
    atomic {
        counts[0] = 1;
        counts[1] = 2;
        if
        :: idle = false
        :: idle = true
        fi;
        run reporter();
        run reporter()
    }
    done == REPORTERS;
    now = BEGAN + HALF + 1 + (idle -> IDLE : 0);
    move();
    assert(NUMBER(counts[0]) + NUMBER(counts[1]) == REPORTERS * REPORTS + (idle -> 0 : 1))
}
