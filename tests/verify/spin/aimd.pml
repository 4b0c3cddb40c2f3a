/* Two threads let an AIMD limit fall and one lets it rise, all by attempts that began after the last
   change: retry__aimd_claim, retry__aimd_fall and retry__aimd_rise of retry.h. There is one fall, and a rise that began before it
   does not outlive it. FIRST: it never fell before, and rises only then. */
#include "swap.pml"

#define AGE 5
#define NOW 10
#define MAX 20
#define LESS(limit) ((limit) / 2)

#ifdef FIRST
#define BEFORE MAX
byte limit = 0, fell = 0, change = 0; /* no instants yet */
#else
#define BEFORE 9
byte limit = BEFORE, fell = 1, change = 1;
#endif
byte falls = 0, done = 0;

#define WITHIN(l) ((l) == 0 -> MAX : (l))
#define PASSED(instant) (NOW - (instant) > AGE)

/* retry__aimd_claim */
inline claim(instant)
{
    seen = instant;
    ok = false;
    if
    :: PASSED(seen) -> swap(instant, seen, NOW, ok)
    :: else
    fi
}

proctype fall()
{
    byte old, less, seen, changed;
    bool ok, first;
    old = limit;
    first = old == 0;
    changed = (first -> 0 : change);
    if
    :: first ->
        seen = 0;
        swap(fell, seen, NOW, ok);
        ok = true
    :: else -> claim(fell)
    fi;
    if
    :: ok ->
        swap(change, changed, NOW, ok);
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
        claim(change);
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
