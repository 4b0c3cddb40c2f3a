/* Two threads ask a breaker that is open, and report, release or forget what they were granted, while a
   third resets it: retry_breaker_ask, retry__breaker_end, retry__breaker_change and
   retry_breaker_reset of retry.h. Instants are left out: an ask of an open breaker may find it due or
   not, a probe may have run out when it is looked at. There is one probe at a time, from the grant
   until the breaker is told of its end, it has run out or the breaker is reset. */
#include "swap.pml"

#define ASKS 2

/* As retry.h has them: states that grant have even numbers, and six bits above are the generation. */
#define CLOSED 0
#define OPEN 1
#define HALF_OPEN 2
#define DUE 3
#define STATE(w) ((w) & 3)

byte word = OPEN;
byte probes = 0;
byte done = 0;

/* retry__breaker_change. Those who leave HALF_OPEN end the probe, those who enter it begin one. */
inline change(state)
{
    d_step {
        next = (seen & 252) | state;
        if
        :: (seen & 1) == 0 -> next = next + 4
        :: else
        fi
    };
    d_step {
        before = seen;
        ok = false
    };
    atomic {
        swap(word, seen, next, ok);
        if
        :: ok ->
            seen = next;
            probes = probes - (STATE(before) == HALF_OPEN -> 1 : 0) + (state == HALF_OPEN -> 1 : 0);
            assert(probes <= 1)
        :: else
        fi
    }
}

proctype attempts()
{
    byte seen, next, before, ticket, i;
    bool ok, granted;
    for (i : 1 .. ASKS) {
        seen = word; /* ask */
        granted = true;
        do
        :: STATE(seen) == CLOSED -> break
        :: STATE(seen) == OPEN || STATE(seen) == HALF_OPEN -> /* neither due nor run out */
            granted = false;
            break
        :: STATE(seen) != CLOSED ->
            change(HALF_OPEN);
            if
            :: ok -> break
            :: else
            fi
        od;
        ticket = seen;
        if
        :: !granted
        :: granted /* it is never heard of */
        :: granted -> /* report or release */
            seen = word;
            if
            :: seen != ticket
            :: seen == ticket && STATE(seen) == CLOSED -> change(OPEN)
            :: seen == ticket && STATE(seen) == HALF_OPEN ->
                if
                :: change(DUE)
                :: change(OPEN)
                :: change(CLOSED)
                fi
            :: seen == ticket && STATE(seen) == HALF_OPEN /* it has run out meanwhile */
            fi
        fi;
        d_step { /* what is not needed any more would make states differ */
            seen = 0;
            next = 0;
            before = 0;
            ticket = 0;
            ok = false;
            granted = false
        };
        assert(probes == (STATE(word) == HALF_OPEN -> 1 : 0))
    }
    done++
}

proctype reset()
{
    byte seen, next, before;
    bool ok = false;
    seen = word;
    do
    :: ok -> break
    :: else -> change(CLOSED)
    od;
    done++
}

init
{
    atomic {
        run attempts();
        run attempts();
        run reset()
    }
    done == 3
}
