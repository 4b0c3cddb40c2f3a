#!/bin/sh
# Proves by Frama-C's WP that the functions of the headers have no run-time error (an unsigned sum that
# wraps included, but for those marked RETRY__WRAPS), that they end, and that they do what proofs/*.acsl
# says of them. Usage: prove.sh BUILD [FUNCTION...], from the top folder; functions: these alone. MACHDEPS:
# all of "x86_64 x86_32 x86_16", or some. Every function is proved by itself; its callers know no more
# of it than its contract. The last line is "N passed, N failed".
. "$(dirname "$0")/../check.sh"
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
retry x86_64 1
retry x86_32 1
retry x86_16 1
END
}

for header in $headers; do
    awk -f "$here/weave.awk" "$here"/proofs/"$header"*.acsl $header.h > "$build/$header.h" || exit 1
    awk -v list=1 -f "$here/weave.awk" "$here"/proofs/"$header"*.acsl $header.h > "$build/$header.list"
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

# What a run may warn of.
cat > "$work/harmless" << 'END'
END

wp() { # HEADER MACHDEP MARK FLAG...: adds to $goals and $proved
    wp_header=$1
    wp_machdep=$2
    wp_mark=$3
    wp_names=$(names "$wp_header" "$wp_mark")
    shift 3
    [ -n "$wp_names" ] || return 0
    (cd "$build" && frama-c -machdep "gcc_$wp_machdep" -cpp-extra-args="-I. -Ijsmn" $wp_header.c "$@" \
        -rte-no-pointer-call -wp -wp-rte -wp-fct "$wp_names" -wp-model Typed+cast -wp-no-volatile -wp-literals -wp-definitions-terminate \
        -wp-prover z3,cvc4 -wp-auto wp:bitshift,wp:bitrange -wp-timeout "${TIMEOUT:-10}" \
        -wp-par "$(nproc)" -wp-cache update -wp-cache-dir cache) > "$work/log" 2>&1
    cp "$work/log" "$build/$wp_header.$wp_machdep.$wp_mark.log"
    grep -E '^\[wp\] (Goal|\[).*(Timeout|Unknown|Failed|Stepout)|[Uu]ser error|^  .* error' "$work/log" | sort -u
    wp_line=$(sed -n 's/^\[wp\] Proved goals: *\([0-9]*\) \/ \([0-9]*\)$/\1 \2/p' "$work/log")
    [ -n "$wp_line" ] || { cat "$work/log"; goals=$((goals + 1)); return; }
    proved=$((proved + ${wp_line% *}))
    goals=$((goals + ${wp_line#* }))
}

all() { [ "$goals" -gt 0 ] && [ "$goals" -eq "$proved" ]; }
for machdep in $machdeps; do
    for header in $headers; do
        goals=0
        proved=0
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
