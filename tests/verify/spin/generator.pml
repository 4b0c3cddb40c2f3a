/* Three threads draw from the built-in generator, none of which was seeded: retry__generate and retry_seed of
   retry.h, with retry__fetch_add. No number is drawn twice. A state is whose seeds it goes back to, and
   how many were drawn since. */
#define THREADS 3
#define DRAWS 2
#define SEED(thread) (16 << (thread))

byte state = 0;
bool drawn[256];
byte done = 0;

proctype draw(byte thread)
{
    byte seen, i;
    for (i : 1 .. DRAWS) {
        if
        :: state == 0 -> seen = state; state = state + SEED(thread) - seen
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
