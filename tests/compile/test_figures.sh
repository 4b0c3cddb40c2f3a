#!/bin/sh
# The figures in README.md and in the manuals, beside what the commands print now: make size, make bench,
# make http and make storm. What these hold limits for holds them, too. With RENEW=1 figures that differ are written anew.
# Usage: test_figures.sh BUILD, from the top folder, with what `make figures` has built there. The last
# line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
build=$1
here=$(dirname "$0")
export VALUE BEFORE AFTER ROW COLUMN SLACK # what figures.awk wants

figure() { # TEXT
    rm -f "$work/renewed"
    awk -v renewed="${RENEW:+$work/renewed}" -f "$here/figures.awk" "$1" || return 1
    [ ! -e "$work/renewed" ] || cat "$work/renewed" > "$1"
}
says() { # TEXT BEFORE VALUE AFTER [SLACK]: the number between two pieces of the text
    BEFORE=$2 VALUE=$3 AFTER=$4 SLACK=${5:-0} ROW='' COLUMN=0
    check "$1: $2 $3 $4" figure "$1"
}
cell() { # ROW COLUMN VALUE [SLACK]: the number in a table of README.md
    ROW=$1 COLUMN=$2 VALUE=$3 SLACK=${4:-0} BEFORE='' AFTER=''
    check "README.md: $1, column $2: $3" figure README.md
}

succeeds() { "$@" > "$work/$name" 2> "$work/errors" || { cat "$work/$name" "$work/errors"; false; }; }
measured() { # NAME COMMAND...: what it prints is in $work/NAME
    name=$1
    shift
    check "$*" succeeds "$@"
    check "$name: 80 columns" test "$name" = peers -o "$(grep -c '.\{81\}' "$work/$name")" -eq 0
}
measured size env STRICT=1 sh tests/tools/size.sh
measured firmware env STRICT=1 sh tests/tools/size_firmware.sh
measured bench env STRICT=1 sh tests/bench/bench.sh "$build"
measured operation env STRICT=1 sh tests/bench/operation.sh "$build"
measured errmap env STRICT=1 sh tests/bench/errmap.sh "$build"
measured http "$build/http_curl" compare "$build/figures"
measured peers "$build/peers" --data "$work"
measured storm "$build/storm" -v --data "$work/data"

# printed FILE TEXT: the first number behind the text; a struct's bytes: on a Cortex-M0, here
printed() { grep -F "  $2  " "$work/$1" | sed "s/.*[a-z)\"] \{2,\}//" | awk '{ print $1 }'; }
near() { printed "$@" | awk '{ printf "%.0f", $1 }'; }
adds() { grep -F "  $2  " "$work/$1" | awk '{ printf "%.0f", $NF }'; } # the row has it as its last number
kib() { printed size "$1" | awk -v digits="$2" '{ printf "%." digits "f", $1 / 1024 }'; }
bytes() { awk -v name="$1" -v column="$2" '$1 == name { print $column }' "$work/size"; }

# ---- make size, make bench ------------------------------------------------------------------

delay="a delay (retry_delay)"
decision="a decision (begin, orchestrate, succeed, best effort)"
says README.md "A delay alone takes " "$(printed size "$delay")" " bytes"
says README.md "\`retry_run\` " "$(printed size retry_run)" ", and all of"
says README.md "and all of retry.h " "$(printed size "all of retry.h")" "."
says README.md "A decision alone takes " \
    "$(near bench "classify, orchestrate: best effort, deadline")" " instructions" 1
says README.md "instructions, or " "$(near bench "the same, paid for by a shared budget")" \
    " with a shared budget" 1
says README.md "a delay by hand takes " \
    "$(near bench "by hand: min(cap, base << n), jitter by a multiply")" "." 1
says README.md "An operation takes " "$(bytes retry_operation 3)" " bytes of RAM"
says README.md "bytes of RAM, " "$(bytes retry_operation 2)" " on the Cortex-M0"
says retry.h "a delay alone takes about " "$(kib "$delay" 1)" " KiB"
says retry.h "a delay of a constant backoff takes " \
    "$(printed firmware "the same of a constant backoff (RETRY_STATIC)")" " bytes"
says retry.h "a decision with best effort about " "$(kib "$decision" 1)" ","
says retry.h "all of this file about " "$(kib "all of retry.h" 0)" "."
says retry.h "An operation takes " "$(bytes retry_operation 2)" " bytes of RAM"
says errmap.h "Parsing and finding take " "$(kib "parse an error map and find in it" 1)" " KiB"
says errmap.h "all of this file " "$(kib "all of errmap.h" 1)" " KiB"
stack() { # DEFINE: bytes that errmap_parse takes, built so
    makes "$work/stack" ${CC:-cc} -std=c99 -O2 -I. "$1" tests/bench/errmap.c tests/bench/errmap_errmap.c \
        -lpthread && "$work/stack" stack tests/data/errmap_v2.json
}
says errmap.h "A token takes " "$((($(stack -DERRMAP_TOKENS=128) - $(stack -DERRMAP_TOKENS=64)) / 64))" \
    " bytes of stack, a bracket one."
check "a bracket takes one" test \
    "$((($(stack -DERRMAP_MAX_DEPTH=160) - $(stack -DERRMAP_MAX_DEPTH=32)) / 128))" -eq 1
says errmap.h "Parsing takes at most " \
    "$(awk '/^Stack of errmap_parse/ { print int(($4 + 1023) / 1024) }' "$work/errmap")" " KB of stack"
says errmap.h "An entry takes " "$(bytes errmap_entry 3)" " bytes of RAM"

# gate ROW STRUCT SIZE-ROW BENCH-ROW WORDS: its bytes of RAM, and what it adds to an operation: bytes of
# flash, instructions. What the manual says of them stands behind the words, the instructions rounded.
gate()
{
    cell "$1" 4 "$(bytes "retry_$2" 3)"
    cell "$1" 5 "$(adds size "$3")"
    cell "$1" 6 "$(adds operation "$4")" 1
    says retry.h "$5 " "$(bytes "retry_$2" 3)" " bytes; about"
    says retry.h "$5 $(bytes "retry_$2" 3) bytes; about " "$(adds operation "$4")" " instructions" 5
}
limit="an operation, budget and AIMD limit"
service="a service: a budget and the AIMD limit"
gate "AIMD limit" aimd "$limit" "$service" "attempts over the limit are PACED;"
gate "circuit breaker" breaker "a service, circuit breaker" "a service, circuit breaker" \
    "node is well again;"
gate "client-side throttle" throttle "a service, client-side throttle" "a service, client-side throttle" \
    "would be accepted;"
gate rate rate "a service, rate" "a service, rate" "fail at once;"
says retry.h "instructions, and " "$(adds operation "a service, rate under a limit")" " under a limit" 5
gate latency latency "a service, latency" "a service, latency" "Not for reports. Costs:"
cell hedge 4 "$(bytes retry_hedge 3)"
cell hedge 5 "$(adds size "a service, hedge")"
cell hedge 6 "$(adds operation "a service, event loop, hedge sends no copy")" 1
says retry.h "$(bytes retry_hedge 3) bytes and " "$(bytes retry_copy 3)" " for each copy"
says retry.h "for each copy; about " "$(adds operation "a service, event loop, hedge sends no copy")" \
    " instructions" 5
says retry.h "instructions, and " "$(adds operation "a service, event loop, hedge sends a copy")" \
    " more for a copy" 5

takes() { # BEFORE BENCH-ROW AFTER: README.md's instructions of an operation
    says README.md "$1" "$(near operation "$2")" "$3" 1
}
takes "nothing shared takes " "nothing is shared" " instructions."
takes "With a budget it takes " "a budget" ", with"
takes "recommended client " "$service" ", and with the first five gates"
takes "the first five gates " "a service, all of these" "."
takes "One retry with the recommended client makes it " "one retry, a service" "."
says README.md "An operation takes " "$(printed size "an operation")" " bytes of flash"
says README.md "of flash, with the recommended client " "$(printed size "a service and an operation")" "."

# ---- make http ------------------------------------------------------------------------------

count() { sed -n "s/^$1  *\([0-9]*\) of .* \([0-9]*\) POST sent twice/\\$2/p" "$work/http"; }
says README.md "\`make http\` sends " "$(sed -n 's/^retry.h .* of \([0-9]*\) done.*/\1/p' "$work/http")" " requests"
check "retry.h does what can be done" shows http "^kept  *Every request that can be done was done"
says README.md "of which " "$(count retry.h 1)" " can succeed"
# README.md's table: these rows, which RENEW=1 puts in the place of those with the same request.
awk -f "$here/http_rows.awk" "$work/http" > "$work/rows"
check "make http prints eight rows" test "$(grep -c '^| .[GP]' "$work/rows")" -eq 8
while read -r row; do
    if [ -n "${RENEW:-}" ]; then
        ROW=$row awk 'BEGIN { row = ENVIRON["ROW"]; split(row, is, "|") }
            { split($0, cells, "|"); print cells[2] == is[2] ? row : $0 }' README.md > "$work/page"
        cat "$work/page" > README.md
    fi
    check "README.md: $row" grep -q -F -x -e "$row" README.md
done < "$work/rows"
says README.md " curl " "$(sed -n 's/^The curls are curl \([0-9]*[.][0-9]*\).*/\1/p' "$work/http")" " with"
says README.md "retry.h: " "$(count retry.h 1)" " done"
says README.md "retry.h: $(count retry.h 1) done, " "$(count retry.h 2)" " POSTs"
says README.md "\`--retry-connrefused\`: " "$(count "curl --retry" 1)" " done"
says README.md "\`--retry-connrefused\`: $(count "curl --retry" 1) done, " \
    "$(count "curl --retry" 2)" " POSTs"
says README.md "\`--retry-all-errors\`: " "$(count "+ all-errors" 1)" " done"
says README.md "\`--retry-all-errors\`: $(count "+ all-errors" 1) done, " \
    "$(count "+ all-errors" 2)" " sent twice"

# ---- make storm -----------------------------------------------------------------------------

spike() { awk -v name="jitter $1 " 'index($0, name) { print $(NF - 2) }' "$work/storm"; }
says retry.h "When " "$(spike none)" " clients have failed"
says retry.h "see " "$(spike none)" " calls without jitter"
says retry.h "calls without jitter, " "$(spike full)" " with FULL"
says retry.h "with FULL and " "$(spike decorrelated)" " with DECORRELATED"
says README.md "A budget that " "$(cut -f 4 "$work/data/outage.tsv")" " clients of one"
drawn() { # the picture at the top of README.md
    gnuplot -e "dir='$work/data'" examples/storm/storm.gnuplot || return 1
    [ -z "${RENEW:-}" ] || cp "$work/data/recovery.svg" examples/storm
    cmp "$work/data/recovery.svg" examples/storm/recovery.svg
}
check "examples/storm/recovery.svg" drawn

# ---- make peers -----------------------------------------------------------------------------

done_by() { sed -n "s/^$1 \{2,\}//p" "$work/peers" | awk 'NR == 1 { print $3 }'; } # setup: in all
says README.md "by retry.h " "$(done_by "retry.h")" " %"
says README.md "standard mode " "$(done_by "AWS standard")" ","
says README.md "gRPC " "$(done_by gRPC)" ","
says README.md "three tries " "$(done_by "three tries, 100 ms")" "."
beside() {
    gnuplot -e "dir='$work'" examples/storm/peers.gnuplot || return 1
    [ -z "${RENEW:-}" ] || cp "$work/peers.svg" examples/storm
    cmp "$work/peers.svg" examples/storm/peers.svg
}
check "examples/storm/peers.svg" beside
finish
