#!/bin/sh
# Proves by Frama-C's WP that the functions of the headers have no run-time error (an unsigned sum that
# wraps included, but for those marked RETRY__WRAPS), that they end, and that they do what proofs/*.acsl
# says of them. Usage: prove.sh BUILD [FUNCTION...], from the top folder; functions: these alone. MACHDEPS:
# all of "x86_64 x86_32 x86_16", or some. Every function is proved by itself; its callers know no more
# of it than its contract. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
here=$(dirname "$0")
build=$1/prove
shift
only=$*
machdeps=${MACHDEPS:-x86_64 x86_32 x86_16}
headers=${HEADERS:-retry errmap}
mkdir -p "$build/jsmn"
ln -sf /usr/include/jsmn.h "$build/jsmn/jsmn.h"
export WHY3CONFIG="$PWD/$build/why3.conf"
[ -s "$WHY3CONFIG" ] || why3 config detect > "$build/why3.log" 2>&1

# Fewer goals than these are no proof: header, machdep, goals.
least() { # HEADER MACHDEP
    awk -v header="$1" -v machdep="$2" '$1 == header && $2 == machdep { print $3 }' << 'END'
retry x86_64 4258
retry x86_32 4257
retry x86_16 4257
errmap x86_64 1583
errmap x86_32 1512
errmap x86_16 1513
END
}

for header in retry errmap; do # errmap.h includes the other
    awk -f "$here/weave.awk" "$here"/proofs/"$header"*.acsl $header.h > "$build/$header.h" || exit 1
    awk -v list=1 -f "$here/weave.awk" "$here"/proofs/"$header"*.acsl $header.h > "$build/$header.list" ||
        exit 1
    cat > "$build/$header.c" << END
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
    -wp-definitions-terminate -wp-frama-c-stdlib-terminate -wp-prover cvc4,z3 -wp-auto wp:bitshift,wp:bitrange
    -wp-timeout ${TIMEOUT:-10} -wp-fct-timeout retry__base:60 -wp-par $(nproc) -wp-cache update -wp-cache-dir cache"
wp() { # HEADER MACHDEP MARK FLAG...: adds to $goals and $proved
    log=$build/$1.$2.$3.log
    names=$(names "$1" "$3")
    [ -z "$names" ] || names=$(present "$1" "$2" "$names")
    [ -n "$names" ] || return 0
    file=$1.c
    machdep_flag=gcc_$2
    shift 3
    (cd "$build" && frama-c -machdep "$machdep_flag" -cpp-extra-args="-I. -Ijsmn" $file $flags "$@" \
        -wp-fct "$names") > "$log" 2>&1 || echo "frama-c ended with status $?" >> "$log"
    sed -n 's/^\[wp\] \[\(Failed\|Timeout\|Unknown\|Stepout\)\] Goal /not proved: /p' "$log"
    line=$(sed -n 's/^\[wp\] Proved goals: *\([0-9]*\) \/ \([0-9]*\)$/\1 \2/p' "$log")
    ! grep '^frama-c ended with status' "$log" || line=
    [ -n "$line" ] || { grep -v -E '^\[(wp|rte)|^  Missing' "$log" | tail; line="0 1"; }
    proved=$((proved + ${line% *}))
    goals=$((goals + ${line#* }))
}

all() { [ "$goals" -gt 0 ] && [ "$goals" -eq "$proved" ]; }
for machdep in $machdeps; do
    for header in $headers; do
        goals=0
        proved=0
        (cd "$build" && frama-c -machdep "gcc_$machdep" -cpp-extra-args="-I. -Ijsmn" "$header.c" -print) \
            > "$build/$header.$machdep.text" 2>&1
        wp $header $machdep - -wp-no-init-const -warn-unsigned-overflow
        wp $header $machdep tables -warn-unsigned-overflow
        wp $header $machdep wraps -wp-no-init-const
        echo "$header.h $machdep: Proved goals: $proved / $goals"
        check "$header.h $machdep: every goal" all
        [ -n "$only" ] || check "$header.h $machdep: as many as there were" \
            test "$goals" -ge "$(least $header $machdep)"
    done
done
if [ -z "$only" ]; then
    for header in $headers; do
        missing() { ! grep ' missing$' "$build/$header.list"; }
        check "$header.h: every function is proved, or there is a reason" missing
        sed -n 's/^\([^ ]*\) [^ ]* trusted /not proved: \1 /p' "$build/$header.list"
    done
fi
finish
