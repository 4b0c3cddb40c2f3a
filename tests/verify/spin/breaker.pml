/* Two threads ask a breaker that is open, and report or forget what they were granted, while time goes on: retry_breaker_ask, retry__breaker_probe, retry__breaker_change and retry__breaker_probed of
   retry.h. There are no more probes than there may be, and another takes the place of a silent one once only,
   and when that has been silent for long enough: the word may stay as it is then, and the instant tells the
   two threads apart. The threads' clocks differ by 1 ms. Releases are left out: one that comes between the two
   steps of a thread that takes a silent one's place, with another ask, lets one probe more be sent. */
#include "swap.pml"

#ifndef PROBES
#define PROBES 1
#endif
#define ASKS 2
#define SPAN 2 /* ms that it is open, and after which a probe is silent */
#define TIME 4 /* the last instant */
#define NONE 255

/* The word: the generation, the answers that it takes to close (not 0: HALF_OPEN), and the probes in flight
   or the state. */
#define CLOSED 0
#define OPEN 1
#define GENERATION(w) ((w) >> 4)
#define LOW(w) ((w) & 15)
#define NEEDED(w) (((w) >> 2) & 3)
#define FLIGHT(w) ((w) & 3)
#define NEXT(w, low) (((GENERATION(w) + 1) << 4) + (low))

byte word = OPEN;
byte since = 0;
byte now = SPAN;      /* it is time for a probe */
byte at[2] = NONE;    /* the instant that each thread goes by */
byte probes = 0;      /* in flight, and not silent for so long that another took their place */
byte granted_at = 0;  /* the last of them */
byte done = 0;

inline look()
{
    view_since = since;
    view = word
}

/* What is true, whatever the words say, once the word has changed; `probe`: by the grant of one. */
inline follow(after)
{
    if
    :: GENERATION(view) != GENERATION(after) -> probes = 0
    :: else
    fi;
    if
    :: probe && NEEDED(view) != 0 && FLIGHT(view) == NEEDED(view) -> /* in a silent one's place */
        assert(at[me] - granted_at >= SPAN - 1);
        probes = 0
    :: else
    fi;
    if
    :: probe -> probes++; granted_at = at[me]
    :: else
    fi;
    assert(!probe || probes <= NEEDED(after))
}

inline change(next_)
{
    swap(since, view_since, at[me], ok);
    if
    :: ok ->
        atomic {
            swap(word, view, next_, ok);
            if
            :: ok -> follow(next_)
            :: else
            fi
        }
    :: else
    fi;
    if
    :: ok -> view = next_
    :: else -> look()
    fi
}

/* The word with one more probe; 0: none may be sent. */
inline more_probes()
{
    d_step {
        next = 0;
        if
        :: LOW(view) == OPEN && at[me] - view_since >= SPAN -> next = NEXT(view, PROBES << 2) + 1
        :: NEEDED(view) != 0 && FLIGHT(view) < NEEDED(view) -> next = view + 1
        :: NEEDED(view) != 0 && FLIGHT(view) >= NEEDED(view) && at[me] - view_since >= SPAN ->
            next = view - FLIGHT(view) + 1
        :: else
        fi
    }
}

inline ask()
{
    at[me] = now;
    asked = now;
    probe = true;
    look();
    do
    :: LOW(view) == CLOSED -> granted = true; break
    :: else ->
        more_probes();
        if
        :: next == 0 -> break
        :: else -> change(next)
        fi;
        if
        :: ok -> granted = true; break
        :: else
        fi
    od;
    probe = false;
    ticket = GENERATION(view)
}

inline answer()
{
    d_step {
        next = NEEDED(view) - 1;
        flight = FLIGHT(view) - (FLIGHT(view) != 0 && at[me] - asked < SPAN -> 1 : 0);
        if
        :: flight > next -> flight = next
        :: else
        fi;
        if
        :: next == 0 -> next = NEXT(view, CLOSED)
        :: else -> next = (GENERATION(view) << 4) + (next << 2) + flight
        fi
    };
    atomic {
        swap(word, view, next, ok);
        if
        :: ok ->
            follow(next);
            probes = (probes > FLIGHT(next) -> FLIGHT(next) : probes)
        :: else
        fi
    };
    if
    :: ok
    :: else -> look()
    fi
}

inline report()
{
    at[me] = now;
    look();
    if
    :: sick = false
    :: sick = true
    fi;
    do
    :: GENERATION(view) != ticket -> break
    :: GENERATION(view) == ticket && LOW(view) == CLOSED ->
        if
        :: sick -> change(NEXT(view, OPEN))
        :: else
        fi;
        break
    :: else ->
        if
        :: sick -> change(NEXT(view, OPEN))
        :: else -> answer()
        fi;
        if
        :: ok -> break
        :: else
        fi
    od
}

proctype attempts(byte me)
{
    byte view, view_since, next, ticket, asked, flight, i;
    bool ok, granted, probe, sick;
    for (i : 1 .. ASKS) {
        ask();
        if
        :: skip /* not granted, or never heard of */
        :: granted -> report()
        fi;
        skip; /* a loop may not end before a d_step */
        d_step { /* what is not needed any more would make states differ */
            view = 0;
            view_since = 0;
            next = 0;
            ticket = 0;
            at[me] = NONE;
            asked = 0;
            flight = 0;
            sick = false;
            ok = false;
            granted = false
        }
    }
    done++
}

proctype clock()
{
    do
    :: now < TIME && at[0] >= now && at[1] >= now -> now++
    :: break
    od
}

init
{
    atomic {
        run attempts(0);
        run attempts(1);
        run clock()
    }
    done == 2
}
