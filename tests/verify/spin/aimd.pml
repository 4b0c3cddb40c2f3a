/* Two threads let an AIMD limit fall and one lets it rise, all after the cooldown: retry__aimd_claim,
   retry__aimd_fall and retry__aimd_rise of retry.h. There is one fall, and a rise that began before it
   does not outlive it. FIRST: it never fell before, and rises only then. */
#include "swap.pml"

#define COOLDOWN 5
#define NOW 10
#define MAX 20
#define LESS(limit) ((limit) / 2)

#ifdef FIRST
#define BEFORE MAX
byte limit = 0, fell = 0, rose = 0; /* no instants yet */
#else
#define BEFORE 9
byte limit = BEFORE, fell = 1, rose = 1;
#endif
byte falls = 0, done = 0;

#define WITHIN(l) ((l) == 0 -> MAX : (l))
#define COOLED(instant) (NOW - (instant) > COOLDOWN)

/* retry__aimd_claim */
inline claim(instant)
{
    seen = instant;
    ok = false;
    if
    :: COOLED(seen) -> swap(instant, seen, NOW, ok)
    :: else
    fi
}

/* retry__aimd_begin */
inline begin(instant)
{
    seen = 0;
#ifdef BROKEN
    instant = NOW
#else
    swap(instant, seen, NOW, ok)
#endif
}

proctype fall()
{
    byte old, less, seen;
    bool ok, first;
    old = limit;
    first = old == 0;
    if
    :: first -> begin(fell); begin(rose); ok = true
    :: else -> claim(fell)
    fi;
    if
    :: ok ->
        do
        :: less = LESS(WITHIN(old));
           swap(limit, old, less, ok);
           if
           :: ok -> falls++; break
           :: else
           fi;
           if
           :: first -> break /* the other first one has it */
           :: else
           fi
        od
    :: else
    fi;
    done++
}

proctype rise()
{
    byte old, seen, before_it, after;
    bool ok;
    old = limit;
    if
    :: old != 0 -> /* else it is max */
        before_it = fell;
        after = old + 1;
        if
        :: COOLED(before_it) ->
            claim(rose);
            if
            :: ok -> swap(limit, old, after, ok)
            :: else
            fi;
            if
            :: ok && fell != before_it ->
                swap(limit, after, old, ok)
            :: else
            fi
        :: else
        fi
    :: else
    fi;
    done++
}

init
{
    atomic {
        run fall();
        run fall();
        run rise()
    }
    done == 3;
    assert(falls == 1);
    assert(limit == LESS(BEFORE) || limit == LESS(BEFORE + 1))
}
