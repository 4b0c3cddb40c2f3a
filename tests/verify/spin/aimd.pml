/* Two threads let an AIMD limit fall and one lets it rise, all by attempts that began after the last
   change: retry__aimd_claim, retry__aimd_fall and retry__aimd_rise of retry.h. There is one fall, and a rise that began before it
   does not outlive it. FIRST: it never changed before, and a rise doubles it, as
   nothing is known (0). */
#include "swap.pml"

#define AGE 5
#define NOW 10
#define INITIAL 20
#define LESS(limit) ((limit) / 2)

#ifdef FIRST
#define BEFORE INITIAL
#define MORE BEFORE
byte limit = 0, fell = 0, change = 0, known = 0; /* no instants yet */
#else
#define BEFORE 9
#define MORE 1
byte limit = BEFORE, fell = 1, change = 1, known = 1;
#endif
byte falls = 0, done = 0;

#define WITHIN(l) ((l) == 0 -> INITIAL : (l))
#define PASSED(instant) ((instant) == 0 || NOW - (instant) > AGE)

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
    bool ok;
    old = limit;
    changed = change;
    claim(fell);
    if
    :: ok ->
        swap(change, changed, NOW, ok);
        do
        :: less = LESS(WITHIN(old));
           swap(limit, old, less, ok);
           if
           :: ok -> falls++; known = 1; break
           :: else
           fi
        od
    :: else
    fi;
    done++
}

proctype rise()
{
    byte old, seen, before_it, before, after;
    bool ok;
    old = limit;
    before = WITHIN(old);
    before_it = fell;
    after = before + (known == 0 -> before : 1);
    claim(change);
    if
    :: ok -> swap(limit, old, after, ok)
    :: else
    fi;
    if
    :: ok && fell != before_it ->
        swap(limit, after, before, ok)
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
    assert(limit == LESS(BEFORE) || limit == LESS(BEFORE + MORE))
}
