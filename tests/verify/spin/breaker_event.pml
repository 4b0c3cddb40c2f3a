/* Two threads tell a breaker that is closed that the connections of their attempts broke; a third opens it for
   another reason, while time goes on: retry__breaker_knows, retry__breaker_count, retry__breaker_change and
   retry_breaker_ask of retry.h. All attempts on a connection fail when it breaks: this is one event, and counts
   once. The breaker keeps the instant of the last event, or of its last probe. A failure does not count if
   its attempt began no later than that instant, or if another thread wrote an instant after the attempt began. Every
   other failure counts. A thread may act on an instant long after it has read it. There are two bounds:
   - A thread opens the breaker in two steps. The first may write an instant that is older than the last event's.
     The event may count again before the second step, which ends the state in which it did.
   - The clock of one thread may be 1 ms ahead. Then an event may count a second time, by an attempt that began
     1 ms after the event was counted, as the two clocks have it.
   A count is one step here; breaker_counts.pml has all of them. An open breaker is in breaker.pml. */
#include "swap.pml"

#define EVENTS 2 /* connections that break */
#define ROW 2    /* failures that open it */
#define FIRST 2  /* the first instant; 0 is none */
#define LAST 3   /* the last one */

/* The word. */
#define CLOSED 0
#define OPEN 1

#define PASSED(from, to) ((to) < (from) -> 0 : (to) - (from))
#define CLOCK (now + (me == 0 -> ahead : 0))

byte word = CLOSED;
byte since = 0;
byte now = FIRST;
byte ahead = 0;       /* ms, of the first thread's clock */
byte connection = 0;  /* each takes the place of one that broke */
byte told[EVENTS];    /* the instant at which each event was to be counted; 0: it was not */
bool opening = false; /* the instant of the opening was written; the word follows */
bool alone[2];        /* no instant was written since this thread's attempt began */
byte row = 0;

inline look()
{
    view_since = since;
    view = word
}

inline write_since()
{
    swap(since, view_since, at, ok);
    if
    :: ok ->
        alone[0] = false;
        alone[1] = false
    :: else
    fi
}

inline open()
{
    atomic {
        write_since();
        opening = opening || (ok && word == CLOSED)
    };
    if
    :: ok -> swap(word, view, OPEN, ok)
    :: else
    fi;
    if
    :: ok
    :: else -> look()
    fi
}

inline knows()
{
    atomic {
        known = view_since != 0 && PASSED(view_since, at) <= at - asked;
        assert(!known || asked <= view_since);
        if
        :: known
        :: else ->
            write_since();
            known = !ok;
            assert(ok || !alone[me])
        fi;
        if
        :: known || word != CLOSED
        :: else ->
            assert(told[on] == 0 || opening || (ahead == 1 && asked == told[on] + 1));
            told[on] = at
        fi;
        if
        :: known
        :: else -> view_since = at
        fi
    }
}

/* While it opens the breaker the instant alone may change: a connection broke. */
inline count()
{
    atomic {
        row = row + (word == CLOSED -> 1 : 0);
        trips = word == CLOSED && row >= ROW
    };
    do
    :: !trips || view != CLOSED -> break
    :: else ->
        open();
        if
        :: ok -> break
        :: else
        fi
    od;
    assert(!trips || word == OPEN)
}

proctype attempt(byte me)
{
    byte view, view_since, at, asked, on;
    bool ok, known, trips;
end_refused:
    atomic {
        word == CLOSED && connection < EVENTS;
        asked = CLOCK;
        on = connection;
        alone[me] = true
    };
    atomic {
        connection > on;
        at = CLOCK
    };
    look();
    if
    :: view == CLOSED ->
        knows();
        if
        :: known
        :: else -> count()
        fi
    :: else
    fi;
    skip; /* a choice may not end before a d_step */
    d_step { /* what is not needed any more would make states differ */
        alone[me] = false;
        view = 0;
        view_since = 0;
        at = 0;
        asked = 0;
        on = 0;
        ok = false;
        known = false;
        trips = false
    }
}

/* Its failure tells of no connection. */
proctype other()
{
    byte view, view_since, at;
    bool ok, trips;
    at = now;
    look();
    if
    :: view == CLOSED -> count()
    :: else
    fi
}

proctype world()
{
    do
    :: now < LAST -> now++
    :: connection < EVENTS -> connection++
    :: now == LAST && connection == EVENTS -> break
    od
}

init
{
    atomic {
        if
        :: ahead = 0
        :: ahead = 1
        fi;
        if
        :: since = 0
        :: since = FIRST
        fi;
        run attempt(0);
        run attempt(1);
        if
        :: run other()
        :: skip
        fi;
        run world()
    }
}
