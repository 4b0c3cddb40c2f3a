#!/bin/sh
# Proves by Frama-C's WP that the functions of the headers have no run-time error (an unsigned sum that
# wraps included, but for those marked RETRY__WRAPS), that they end, and that they do what proofs/*.acsl
# says of them. Usage: prove.sh BUILD [FUNCTION...], from the top folder; functions: these alone. MACHDEPS:
# all of "x86_64 x86_32 x86_16", or some. Every function is proved by itself; its callers know no more
# of it than its contract. What would prove anything is refused, and WP's smoke tests look for the rest of
# it: contradictions in contracts and invariants, and with SMOKE=all (the default) behind each call and
# branch; SMOKE=contracts does without these. What is assumed is said at the end. prove.sh --renew counts
# the goals anew, without proving them. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
here=$(dirname "$0")
record=$here/proofs/goals.txt
renew=
[ "$1" != --renew ] || { renew=yes && set -- build; }
build=$1/prove
shift
only=$*
smoke=${SMOKE:-all}
machdeps=${MACHDEPS:-x86_64 x86_32 x86_16}
headers=${HEADERS:-retry errmap}
mkdir -p "$build/jsmn"
ln -sf /usr/include/jsmn.h "$build/jsmn/jsmn.h"
export WHY3CONFIG="$PWD/$build/why3.conf"
[ -s "$WHY3CONFIG" ] || why3 config detect > "$build/why3.log" 2>&1

for header in retry errmap; do # errmap.h includes the other
    awk -f "$here/weave.awk" "$here"/proofs/"$header"*.acsl $header.h > "$build/$header.h" || exit 1
    awk -v list=1 -f "$here/weave.awk" "$here"/proofs/"$header"*.acsl $header.h > "$build/$header.list" ||
        exit 1
    cat > "$build/$header.c" << END
#define RETRY_API extern
#define RETRY_IMPLEMENTATION
#define RETRY_NO_ATOMICS
#include "$header.h"
END
done

# Names as -wp-fct wants them, of functions that are marked "wraps" or "-".
names() { # HEADER MARK
    awk -v mark="$2" -v only="$only" 'BEGIN { n = split(only, part); for (i = 1; i <= n; i++) asked[part[i]] }
        $2 == mark && $3 == "proved" && (!n || $1 in asked) { printf "%s%s", comma, $1; comma = "," }' \
        "$build/$1.list"
}

# Those of a list "NAME,NAME..." that the header has on a machine; says which ones it has not.
present() { # HEADER MACHDEP NAMES
    echo "$3" | tr ',' '\n' | while IFS= read -r name; do
        if grep -q -w "$name" "$build/$1.$2.text"; then
            echo "$name"
        else
            echo "not on $2: $name" >&2
        fi
    done | paste -s -d , -
}

# +cast: a policy is reached through its first member, a byte through a void *; no other memory is
# read as another type than it has. -wp-no-volatile: one thread, as RETRY_NO_ATOMICS has it.
# -rte-no-pointer-call: that a pointer is a function's is proved where "calls" names the function.
flags="-rte-no-pointer-call -wp -wp-rte -wp-model Typed+cast -wp-no-volatile -wp-literals
    -wp-definitions-terminate -wp-frama-c-stdlib-terminate -wp-par $(nproc)"
provers="-wp-prover cvc4,z3 -wp-auto wp:bitshift,wp:bitrange -wp-timeout ${TIMEOUT:-10}
    -wp-fct-timeout retry__base:60 -wp-cache update -wp-cache-dir cache"

# frama HEADER MACHDEP MARK NAME FLAG...: Frama-C's WP on the functions with this mark; what it says is in
# $log, which is empty if there are no such functions
frama() {
    log=$build/$1.$2.$3.$4
    : > "$log"
    names=$(names "$1" "$3")
    [ -z "$names" ] || names=$(present "$1" "$2" "$names")
    [ -n "$names" ] || return 0
    case $3 in
    tables) marked=-warn-unsigned-overflow ;;
    wraps) marked=-wp-no-init-const ;;
    *) marked="-wp-no-init-const -warn-unsigned-overflow" ;;
    esac
    frama_file=$1.c frama_machdep=gcc_$2
    shift 4
    # shellcheck disable=SC2086 # one word a flag
    (cd "$build" && frama-c -machdep "$frama_machdep" -cpp-extra-args="-I. -Ijsmn" $frama_file $flags \
        $marked "$@" -wp-fct "$names") > "$log" 2>&1 || echo "frama-c ended with status $?" >> "$log"
}
# tally: adds what $log says to $goals and $proved
tally() {
    [ -s "$log" ] && ! grep -q '^.wp. Warning: No goal generated' "$log" || return 0
    proved_here=$(sed -n 's/^\[wp\] Proved goals: *\([0-9]*\) \/ \([0-9]*\)$/\1 \2/p' "$log")
    if [ -z "$proved_here" ] || grep '^frama-c ended with status' "$log"; then
        grep -v -E '^\[(wp|rte)|^  Missing' "$log" | tail
        proved_here="0 1"
    fi
    proved=$((proved + ${proved_here% *}))
    goals=$((goals + ${proved_here#* }))
}
# each COMMAND...: for every mark, in which $mark is; sets $goals and $proved
each() {
    goals=0
    proved=0
    for mark in - tables wraps; do "$@"; done
}

# How many goals there are of each kind, so that it shows when a contract promises less.
kinds() { # HEADER MACHDEP
    cat "$build/$1.$2."*".$goal_log" | sed -n 's/^\[wp\] \(\[[^]]*\] \)\{0,1\}Goal \([^ ]*\) .*/\2/p' | awk -v of="$1 $2" '
        function kind() {
            if (/_assert_rte_/) return "run-time"
            if (/_ensures/) return "promises"
            if (/_call_.*_requires|_call_point_/) return "calls"
            if (/_loop_invariant|_assert/) return "invariants"
            if (/assigns/) return "assigns"
            return /_variant|_terminates|_decreases|_exits/ ? "ends" : "others"
        }
        { count[kind()]++ }
        END { for (k in count) print of, k, count[k] }' | sort
}
no_fewer() { # HEADER MACHDEP: than on record
    kinds "$1" "$2" | awk -v of="$1 $2 " '
        FNR == NR { is[$3] = $4; next }
        index($0, of) != 1 { next }
        { found = 1 }
        is[$3] < $4 { print $0 " on record, now " is[$3] + 0; fewer = 1 }
        END { exit fewer || !found }' - "$record"
}

prove() { # HEADER MACHDEP
    # shellcheck disable=SC2086 # one word a flag
    frama "$1" "$2" "$mark" log $provers
    tally
    sed -n 's/^\[wp\] \[\(Failed\|Timeout\|Unknown\|Stepout\)\] Goal /not proved: /p' "$log"
}
count() { # HEADER MACHDEP
    frama "$1" "$2" "$mark" count -wp-prover none
    ! grep '^frama-c ended with status' "$log" || exit 1
}

# A smoke test is passed if the prover does not get from what is assumed there to \false. One machine
# will do: the contracts are the same on all.
no_goals=-@requires,-@ensures,-@exits,-@assigns,-@invariant,-@variant,-@assert,-@terminates,-@lemma
burn() { # HEADER MACHDEP
    # shellcheck disable=SC2046 # one word a flag
    frama "$1" "$2" "$mark" smoke -wp-smoke-tests -wp-prop=$no_goals -wp-prover z3 -wp-smoke-timeout 1 \
        $([ "$smoke" = all ] || echo -wp-no-smoke-dead-code -wp-no-smoke-dead-call \
            -wp-no-smoke-dead-assumes)
    tally
    sed -n '/Smoke-test/{/\[Passed\]/!p;}' "$log"
}

all() { [ "$goals" -gt 0 ] && [ "$goals" -eq "$proved" ]; }
sound() { # HEADER: nothing in its annotations would prove anything, or promises nothing by its words
    awk '/\/\*@/ { on = 1 } on; /\*\// { on = 0 }' "$build/$1.h" > "$work/annotations"
    ! grep -n -w -E 'admit|.*\\false|(ensures|invariant|requires|assert)[^;]*\\true' "$work/annotations" |
        grep -v 'exits *\\false'
}
axioms() { # HEADER: those that are listed here, which are facts of C's arithmetic
    grep -o -w -E 'axiom +[A-Za-z_0-9]+' "$build/$1.h" | sed 's/.* //' | sort > "$work/axioms.$1"
    ! grep -v -x -E 'to_(8|32|64)|none|more|mask|low_(8|16|32)|left(_32)?|right|power_(15|31|next)|odd|middle_8|high_(1|7|16)|from_31|rounds_8|count_29|emptied_3' \
        "$work/axioms.$1"
}

missing() { ! grep ' missing$' "$build/$1.list"; }
for header in retry errmap; do
    check "$header.h: every function is proved, or there is a reason" missing $header
    check "$header.h: nothing that proves anything" sound $header
    check "$header.h: no axiom but those that prove.sh lists" axioms $header
done
[ "$failed" -eq 0 ] || finish

: > "$work/kinds"
smoking=${machdeps%% *}
for machdep in $machdeps; do
    for header in $headers; do
        (cd "$build" && frama-c -machdep "gcc_$machdep" -cpp-extra-args="-I. -Ijsmn" "$header.c" -print) \
            > "$build/$header.$machdep.text" 2>&1 || { tail "$build/$header.$machdep.text" && exit 1; }
        rm -f "$build/$header.$machdep".*.log
        if [ -n "$renew" ]; then
            goal_log=count
            each count "$header" "$machdep"
            kinds "$header" "$machdep" >> "$work/kinds"
            continue
        fi
        goal_log=log
        each prove "$header" "$machdep"
        echo "$header.h $machdep: Proved goals: $proved / $goals"
        check "$header.h $machdep: every goal" all
        [ -n "$only" ] ||
            check "$header.h $machdep: as many of each kind as on record (make renew WHAT=prove)" no_fewer "$header" "$machdep"
        if [ "$machdep" = "$smoking" ]; then
            each burn "$header" "$machdep"
            echo "$header.h $machdep: Passed smoke tests: $proved / $goals"
            check "$header.h: no contradiction ($smoke)" all
        fi
    done
done
if [ -n "$renew" ]; then
    check "goals of every kind" test "$(wc -l < "$work/kinds")" -ge 36
    [ "$failed" -gt 0 ] || cp "$work/kinds" "$record"
    finish
fi

# What is assumed.
if [ -z "$only" ]; then
    for header in $headers; do
        sed -n 's/^\([^ ]*\) [^ ]* trusted /not proved: \1 /p' "$build/$header.list"
    done
    awk -f "$here/promises.awk" "$here"/proofs/*.acsl | sort > "$build/promise-nothing"
    echo "no promise but an end without a run-time error, $(wc -l < "$build/promise-nothing") functions:" \
        "$(paste -s -d ' ' "$build/promise-nothing")"
    echo "assumed: one thread, in which no swap fails; $(cat "$work"/axioms.* | wc -l) axioms of arithmetic;" \
        "$(cat "$build"/*.list | grep -c ' trusted ') functions, named above, and what their contracts say"
fi
finish
