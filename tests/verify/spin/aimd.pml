/* Two threads let an AIMD limit fall and one lets it rise, all by attempts that began after the last
   change: retry__aimd_claim, retry__aimd_fall and retry__aimd_rise of retry.h. There is one fall, and a rise that began before it
   does not outlive it. FIRST: it never changed before; then there is one change, a fall or the rise. */
#include "swap.pml"

#define AGE 5
#define NOW 10
#define INITIAL 20
#define LESS(limit) ((limit) / 2)

#ifdef FIRST
#define BEFORE INITIAL
byte limit = 0, fell = 0, change = 0; /* no instants yet */
#else
#define BEFORE 9
byte limit = BEFORE, fell = 1, change = 1;
#endif
byte falls = 0, rises = 0, done = 0;

#define WITHIN(l) ((l) == 0 -> INITIAL : (l))
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
        swap(fell, seen, NOW, ok)
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
           :: first -> break
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
    :: old == 0 -> /* it is `initial` */
        seen = 0;
        swap(fell, seen, NOW, ok);
        if
        :: ok ->
            change = NOW;
            swap(limit, old, INITIAL + 1, ok);
            assert(ok);
            rises++
        :: else
        fi
    :: else ->
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
    assert(falls + rises == 1);
    assert(rises != 0 || limit == LESS(BEFORE) || limit == LESS(BEFORE + 1));
    assert(rises == 0 || limit == INITIAL + 1)
}
