#!/bin/sh
# Proves by Frama-C's WP that the functions of errmap.h, and the arithmetic of retry.h that is not obvious, have no
# run-time error (an unsigned sum that wraps included, but for those marked RETRY__WRAPS), that they end, and that
# they do what proofs/*.acsl says of them. Usage: prove.sh BUILD [FUNCTION...], from the top folder; functions: these
# alone. LATER: without FUNCTION, those that are not proved now, as their goals take long. MACHDEPS: those of errmap.h,
# all of "x86_64 x86_32 x86_16", some, or none. Every function is proved by itself; its callers know no more of it than
# its contract. What would prove anything is refused, and WP's smoke tests look for the rest of it: contradictions in
# contracts and invariants, and with SMOKE=all (the default) behind each call and branch; SMOKE=contracts does without
# these. What is assumed is said at the end. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
here=$(dirname "$0")
build=$1/prove
shift
only=$*
chosen=$only
[ -z "$only" ] || LATER=
smoke=${SMOKE:-all}
mkdir -p "$build/jsmn"
ln -sf /usr/include/jsmn.h "$build/jsmn/jsmn.h"
export WHY3CONFIG="$PWD/$build/why3.conf"
[ -s "$WHY3CONFIG" ] || why3 config detect > "$build/why3.log" 2>&1

for header in retry errmap; do # errmap.h includes the other
    awk -f "$here/weave.awk" "$here/proofs/$header.acsl" $header.h > "$build/$header.h" || exit 1
    awk -v list=1 -f "$here/weave.awk" "$here/proofs/$header.acsl" $header.h > "$build/$header.list" || exit 1
    cat > "$build/$header.c" << END
#define RETRY_API extern
#define RETRY_IMPLEMENTATION
#define RETRY_NO_ATOMICS
#include "$header.h"
END
done

# Names as -wp-fct wants them, of functions that are marked "wraps", "tables" or "-"; of $chosen, unless it is empty.
names() { # HEADER MARK
    awk -v mark="$2" -v only="$chosen" -v later="${LATER:-}" 'BEGIN {
            n = split(only, part); for (i = 1; i <= n; i++) asked[part[i]]
            m = split(later, part); for (i = 1; i <= m; i++) left_out[part[i]] }
        $2 == mark && $3 == "proved" && (!n || $1 in asked) && !($1 in left_out) && !seen[$1]++ { printf "%s%s", comma, $1; comma = "," }' \
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

# +cast: a byte is reached through a void *; no other memory is read as another type than it has.
# -wp-par: all cores, whatever CORES is, as a prover is stopped by its time.
# -wp-no-volatile: one thread, as RETRY_NO_ATOMICS has it.
# -rte-no-pointer-call: that a pointer is a function's is proved where "calls" names the function.
flags="-rte-no-pointer-call -wp -wp-rte -wp-model Typed+cast -wp-no-volatile -wp-literals
    -wp-definitions-terminate -wp-frama-c-stdlib-terminate -wp-par $(nproc)"
provers="-wp-auto wp:bitshift,wp:bitrange -wp-cache update -wp-cache-dir cache"
unproved='\[\(Failed\|Timeout\|Unknown\|Stepout\)\] Goal '

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
# The functions whose goals $work/missing names. A goal is called typed_cast_FUNCTION_..., and some have one underscore
# where the function has two.
functions_of_missing() { # HEADER
    sed 's/^typed_cast_//' "$work/missing" | awk -v list="$build/$1.list" '
        function plain(name) { gsub(/__/, "_", name); return name }
        BEGIN { while ((getline line < list) > 0) {
                    split(line, word, " ")
                    if (word[3] == "proved") name[plain(word[1]) "_"] = word[1] } }
        { longest = ""
          for (n in name) if (index(plain($1), n) == 1 && length(n) > length(longest)) longest = n
          if (longest != "" && !seen[longest]++) print name[longest] }'
}
# cvc4 alone proves most, and a second prover would use up its time beside it. So what cvc4 did not prove z3 tries, and
# then both, in the functions that have such goals. Times in s; a proof takes 1.3 at most, longer on a busy machine.
prove() { # HEADER MACHDEP
    # shellcheck disable=SC2086 # one word a flag
    frama "$1" "$2" "$mark" log $provers -wp-prover cvc4 -wp-timeout 3
    tally
    sed -n "s/^\[wp\] $unproved\([^ ]*\).*/\2/p" "$log" > "$work/missing"
    for attempt in "z3 3" "cvc4,z3 8" "cvc4,z3 30"; do
        [ -s "$work/missing" ] && ! grep -q '^frama-c ended' "$log" || break
        chosen=$(functions_of_missing "$1")
        [ -n "$chosen" ] || break
        grep -L '"valid"' "$build"/cache/* | xargs -d '\n' rm -f # the cache keeps failures, too
        # shellcheck disable=SC2086
        frama "$1" "$2" "$mark" log $provers -wp-prover "${attempt% *}" -wp-timeout "${attempt#* }"
        sed -n 's/^\[wp\] .*Goal \([^ ]*\) : Valid.*/\1/p' "$log" > "$work/valid"
        mv "$work/missing" "$work/before"
        grep -v -x -F -f "$work/valid" "$work/before" > "$work/missing"
        proved=$((proved + $(wc -l < "$work/before") - $(wc -l < "$work/missing")))
    done
    chosen=$only
    sed 's/^/not proved: /' "$work/missing"
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
    grep -o -w -E 'axiom +[A-Za-z_0-9]+' "$build/$1.h" | sed 's/.* //' > "$work/axioms.$1"
    ! grep -v -x -E 'to_(8|32|64)|none|more|mask|low_(16|29)|left|right|power_(15|31|next)|quotient' "$work/axioms.$1"
}
one() { # HEADER MACHDEP
    (cd "$build" && frama-c -machdep "gcc_$2" -cpp-extra-args="-I. -Ijsmn" "$1.c" -print) \
        > "$build/$1.$2.text" 2>&1 || { tail "$build/$1.$2.text" && exit 1; }
    each prove "$1" "$2"
    echo "$1.h $2: Proved goals: $proved / $goals"
    [ -n "$only" ] && [ "$goals" -eq 0 ] || check "$1.h $2: every goal" all
}
smoke() { # HEADER MACHDEP
    each burn "$1" "$2"
    echo "$1.h $2: Passed smoke tests: $proved / $goals"
    [ -n "$only" ] && [ "$goals" -eq 0 ] || check "$1.h: no contradiction ($smoke)" all
}

known() { cat "$build"/*.list | grep -q "^$1 [^ ]* proved"; }
for name in $only ${LATER:-}; do check "$name has a contract" known "$name"; done
for header in retry errmap; do
    check "$header.h: nothing that proves anything" sound $header
    check "$header.h: no axiom but those that prove.sh lists" axioms $header
done
[ "$failed" -eq 0 ] || finish
one retry x86_64
smoke retry x86_64
machdeps=${MACHDEPS-x86_64 x86_32 x86_16}
for machdep in $machdeps; do one errmap "$machdep"; done
[ -z "$machdeps" ] || smoke errmap "${machdeps%% *}"

[ -z "${LATER:-}" ] || echo "left out: $LATER"
[ -n "$only" ] || sed -n 's/^\([^ ]*\) [^ ]* trusted /not proved: \1 /p' "$build/errmap.list"
echo "assumed: one thread, in which no swap fails; $(cat "$work"/axioms.* | wc -l) axioms of arithmetic;" \
    "$(cat "$build"/*.list | grep -c ' trusted ') functions, and what their contracts say"
finish
