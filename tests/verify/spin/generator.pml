/* Three threads draw from the built-in generator, none of which was seeded: retry_draw and
   retry__seed_itself of retry.h, with retry__store. No number is drawn twice. A state is whose seed
   it goes back to, and how many were drawn since. */
#define THREADS 3
#define DRAWS 2
#define SEED(thread) (((thread) + 1) * 16)

byte state = 0;
bool drawn[80];
byte done = 0;

proctype draw(byte thread)
{
    byte seen, i;
    for (i : 1 .. DRAWS) {
        if
        :: state == 0 -> state = SEED(thread) /* retry__store */
        :: else
        fi;
#ifdef BROKEN
        seen = state;
        state = seen + 1;
#else
        atomic { seen = state; state = seen + 1 } /* retry__fetch_add */
#endif
        atomic {
            assert(!drawn[seen]);
            drawn[seen] = true
        }
    }
    done++
}

init
{
    atomic {
        run draw(0);
        run draw(1);
        run draw(2)
    }
    done == THREADS
}
