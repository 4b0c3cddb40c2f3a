/* Two threads are granted attempts by a breaker, which counts their reports, opens and closes; a third may set
   it to CLOSED: retry__breaker_add, retry__breaker_count, retry__breaker_probed, retry__breaker_empty and
   retry_breaker_set of retry.h. When it closes nothing is counted, and then each report on a permit of that
   state, and no other; those that come while it is set may be lost. Instants are left out: an open breaker may
   find it time for a probe or not. */
#include "swap.pml"

#define ASKS 2

/* The word: the generation, and the state. */
#define CLOSED 0
#define OPEN 1
#define HALF_OPEN 2
#define GENERATION(w) ((w) >> 2)
#define STATE(w) ((w) & 3)
#define NEXT(w, state) (((GENERATION(w) + 1) << 2) + (state))

/* A count: the number in the lowest bits, above it how often it was emptied; retry.h keeps 3 bits of that, as
   nobody is held up so often. */
#define NUMBER(c) ((c) & 7)
#define EMPTIED(c) (((c) + 8) & 248)

byte word = CLOSED;
byte count = 0;
byte counted = 0; /* reports to the present state, by the word's last change */
bool was_set = false;
byte done = 0;

inline change(state)
{
    atomic {
        swap(word, view, NEXT(view, state), ok);
        if
        :: ok ->
            counted = 0;
            assert(was_set || state != CLOSED || NUMBER(count) == 0)
        :: else
        fi
    }
}

inline clear(held)
{
    seen = count;
    do
    :: word != held -> break
    :: else ->
        swap(count, seen, EMPTIED(seen), ok);
        if
        :: ok -> break
        :: else
        fi
    od
}

/* A report on a permit of CLOSED. A sick one may open the breaker. */
inline add()
{
    seen = count;
    do
    :: word != view -> break
    :: else ->
        atomic {
            swap(count, seen, seen + 1, ok);
            if
            :: ok -> counted = counted + (word == view -> 1 : 0)
            :: else
            fi
        };
        if
        :: ok -> break
        :: else
        fi
    od;
    if
    :: skip
    :: change(OPEN)
    fi
}

inline report()
{
    view = word;
    do
    :: GENERATION(view) != ticket -> break
    :: GENERATION(view) == ticket && STATE(view) == CLOSED -> add(); break
    :: else ->
        if
        :: change(OPEN)
        :: clear(view); change(CLOSED)
        fi;
        if
        :: ok -> break
        :: else
        fi
    od
}

proctype attempts()
{
    byte view, seen, ticket, i;
    bool ok;
    for (i : 1 .. ASKS) {
        view = word;
        do
        :: STATE(view) != OPEN -> break /* counts, or is the second probe */
        :: else ->
            change(HALF_OPEN);
            if
            :: ok -> view = NEXT(view, HALF_OPEN)
            :: else
            fi
        od;
        ticket = GENERATION(view);
        report();
        skip; /* a loop may not end before a d_step */
        d_step { /* what is not needed any more would make states differ */
            view = 0;
            seen = 0;
            ticket = 0;
            ok = false
        }
    }
    done++
}

proctype set()
{
    byte view, seen;
    bool ok;
    if
    :: skip
    :: was_set = true;
        view = word;
        do
        :: clear(view);
            change(CLOSED);
            if
            :: ok -> break
            :: else
            fi
        od;
        clear(NEXT(view, CLOSED))
    fi;
    done++
}

init
{
    atomic {
        run attempts();
        run attempts();
        run set()
    }
    done == 3;
    assert(STATE(word) != CLOSED || NUMBER(count) <= counted);
    assert(STATE(word) != CLOSED || was_set || NUMBER(count) == counted)
}
