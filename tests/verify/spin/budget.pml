/* Three threads withdraw from one bucket at two instants, and whoever sees time pass refills it:
   retry_budget_withdraw, with retry__budget_due, retry__budget_refill and retry__budget_expire, and of the
   bucket that it stands on retry__budget_earn, retry__budget_settle, retry__budget_add and
   retry__budget_take of retry.h. Who finds too little borrows, as in retry__budget_borrow. What the time up
   to `refilled` has made is there at the end, in the balance, in the fraction, withdrawn, expired or paid for
   what was borrowed, and none of it twice. Each ms expires once. (A thread that loses its claim leaves what
   is behind the winner's to the next call.) */
#include "swap.pml"

#define UNIT 4  /* fractions in a thousandth */
#define RATE 3  /* fractions in a ms */
#define START 6 /* thousandths */
#define KEPT 1  /* thousandths, of which none expires; what is beyond them halves in a ms */
#define LAST 3  /* ms */
#define LEAST 1 /* ms; of a step */
#define CAPACITY 9
#define BASE 3 /* thousandths; that may be owed */

byte balance = START, refilled = 0, fraction = 0;
byte taken = 0, expired = 0, aged = 0, owed = 0, lent = 0, done = 0;

proctype withdraw(byte now; byte cost)
{
    byte seen, next, sum, passed = 0, whole, paid;
    bool ok;

    seen = refilled; /* claim */
    if
    :: now >= seen + LEAST ->
        swap(refilled, seen, now, ok);
        if
        :: ok -> passed = now - seen
        :: else
        fi
    :: else
    fi;

    if
    :: passed > 0 ->
        aged = aged + passed;
        seen = balance; /* expire */
        do
        :: next = (seen > KEPT -> KEPT + ((seen - KEPT) >> passed) : seen);
           if
           :: next == seen -> break
           :: else
           fi;
           swap(balance, seen, next, ok);
           if
           :: ok -> expired = expired + seen - next; break
           :: else
           fi
        od;
        seen = fraction; /* earn */
        do
        :: sum = seen + passed * RATE;
           next = sum % UNIT;
           swap(fraction, seen, next, ok);
           if
           :: ok -> break
           :: else
           fi
        od;
        whole = sum / UNIT;
        seen = owed; /* settle */
        do
        :: paid = (seen < whole -> seen : whole);
           if
           :: paid == 0 -> break
           :: else
           fi;
           swap(owed, seen, seen - paid, ok);
           if
           :: ok -> break
           :: else
           fi
        od;
        whole = whole - paid;
        seen = balance; /* add */
        do
        :: next = (seen + whole > CAPACITY -> CAPACITY : seen + whole);
           swap(balance, seen, next, ok);
           if
           :: ok -> break
           :: else
           fi
        od
    :: else
    fi;

    seen = balance; /* take */
    do
    :: seen < cost -> goto borrow
    :: else ->
        next = seen - cost;
        swap(balance, seen, next, ok);
        if
        :: ok -> taken = taken + cost; goto out
        :: else
        fi
    od;
borrow:
    seen = owed;
    do
    :: seen + cost > BASE -> break
    :: else ->
        swap(owed, seen, seen + cost, ok);
        if
        :: ok -> lent = lent + cost; break
        :: else
        fi
    od;
out:
    assert(balance <= CAPACITY && owed <= BASE);
    done++
}

init
{
    atomic {
        run withdraw(2, 1);
        run withdraw(LAST, 2);
        run withdraw(LAST, 2)
    }
    done == 3;
    assert((balance + taken + expired + lent - owed) * UNIT + fraction == START * UNIT + RATE * refilled);
    assert(aged == refilled);
    assert(refilled == LAST || refilled == LAST - 1)
}
