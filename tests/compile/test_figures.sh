#!/bin/sh
# The figures in README.md and in the manuals, beside what the commands print now: make size, make bench,
# make http and make storm. With RENEW=1 those that differ are written anew.
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

measured() { # NAME COMMAND...: what it prints is in $work/NAME
    name=$1
    shift
    "$@" > "$work/$name" 2> "$work/errors"
    check "$*" test $? -eq 0
    check "$name: 80 columns" lacks "$name" '.\{81\}'
}
storm="$build/storm_simulator --quick --data $work/data"
measured size sh tests/tools/size.sh
measured bench sh tests/bench/bench.sh "$build"
measured gates sh tests/bench/gates.sh "$build"
measured errmap sh tests/bench/errmap.sh "$build"
measured http "$build/http_curl" compare "$build/figures"
measured storm $storm

# printed FILE TEXT: the first number behind the text; a struct's bytes: on a Cortex-M0, here
printed() { grep -F "  $2 " "$work/$1" | sed "s/.*[a-z)\"] \{2,\}//" | awk '{ print $1 }'; }
near() { printed "$@" | awk '{ printf "%.0f", $1 }'; }
kib() { printed size "$1" | awk -v digits="$2" '{ printf "%." digits "f", $1 / 1024 }'; }
bytes() { awk -v name="$1" -v column="$2" '$1 == name { print $column }' "$work/size"; }

# ---- make size, make bench ------------------------------------------------------------------

delay="a delay (retry_backoff_delay)"
decision="a decision (begin, orchestrate, succeed, best effort)"
says README.md "a delay alone " "$(printed size "$delay")" " bytes of flash"
says README.md "\`retry_run\` " "$(printed size retry_run)" " and all of"
says README.md "and all of retry.h " "$(printed size "all of retry.h")" "."
says README.md "A decision takes " \
    "$(near bench "classify_kv, orchestrate: best effort, deadline")" " instructions" 1
says README.md "instructions, or " "$(near bench "the same, paid for by a shared budget")" \
    " with a shared budget" 1
says README.md "a loop by hand takes " \
    "$(near bench "by hand: min(cap, base << n), jitter by a multiply")" "." 1
says README.md "An operation takes " "$(bytes retry_operation 3)" " bytes of RAM"
says README.md "bytes of RAM, " "$(bytes retry_operation 2)" " on the Cortex-M0"
says retry.h "a delay alone takes about " "$(kib "$delay" 1)" " KiB"
says retry.h "a decision with best effort about " "$(kib "$decision" 1)" ","
says retry.h "all of this file about " "$(kib "all of retry.h" 0)" "."
says retry.h "An operation takes " "$(bytes retry_operation 2)" " bytes of RAM"
says errmap.h "Parsing and finding take " "$(kib "parse an error map and find in it" 1)" " KiB"
says errmap.h "all of this file " "$(kib "all of errmap.h" 1)" " KiB"
says errmap.h "An entry takes " "$(bytes errmap_entry 3)" " bytes of RAM"

# gate ROW STRUCT SIZE-ROW BENCH-ROW WORDS: its bytes of RAM and flash, and its instructions; what the
# manual says of them stands behind the words, the instructions rounded
gate()
{
    cell "$1" 4 "$(bytes "retry_$2" 3)"
    cell "$1" 5 "$(printed size "$3")"
    cell "$1" 6 "$(near gates "$4")" 1
    says retry.h "$5 " "$(bytes "retry_$2" 3)" " bytes; about"
    says retry.h "$5 $(bytes "retry_$2" 3) bytes; about " "$(near gates "$4")" " instructions" 5
}
gate "AIMD limit" aimd "an operation, AIMD limit" "AIMD limit" "attempts over the limit are PACED;"
gate "circuit breaker" breaker "an operation, circuit breaker" "breaker: ask and report" \
    "node is well again;"
gate "client-side throttle" throttle "an operation, client-side throttle" throttle \
    "would be accepted;"
gate rate rate "an operation, rate" rate "fail at once;"
gate latency latency "an operation, latency" latency "Not for reports. Costs:"
cell hedge 4 "$(bytes retry_hedge 3)"
cell hedge 5 "$(printed size "an operation, hedge")"
cell hedge 6 "$(near gates "hedge: an operation of two copies")" 1
copy=$(($(near gates "hedge: an operation of two copies") - \
    $(near gates "hedge: an operation, no further copy")))
says retry.h "24 for each copy; about " "$copy" " instructions more for a copy" 5
says README.md "An operation alone takes " "$(printed size "an operation")" " bytes of it"
says README.md "A successful operation takes " "$(near gates "nothing is shared")" " instructions" 1
says README.md "instructions, with a service " "$(near gates "a service: budget and limit")" "." 1

# ---- make http ------------------------------------------------------------------------------

count() { sed -n "s/^$1  *\([0-9]*\) of .* \([0-9]*\) POST sent twice/\\$2/p" "$work/http"; }
says README.md "retry.h: " "$(count retry.h 1)" " done"
says README.md "retry.h: $(count retry.h 1) done, " "$(count retry.h 2)" " POSTs"
says README.md "\`--retry-connrefused\`: " "$(count "curl --retry" 1)" " done"
says README.md "\`--retry-connrefused\`: $(count "curl --retry" 1) done, " \
    "$(count "curl --retry" 2)" " POSTs"
says README.md "\`--retry-all-errors\`: " "$(count "+ all-errors" 1)" " done"
says README.md "\`--retry-all-errors\`: $(count "+ all-errors" 1) done, " \
    "$(count "+ all-errors" 2)" " sent twice"

# ---- make storm -----------------------------------------------------------------------------

bears() { # FILE SCHEME: how busy a service may be that recovers, in the first table of outages
    awk -v name="$2 " '/The outage of the options/ { on = 1 } on && /^$/ { exit }
        on && index($0, name " ") == 1 { print $(NF - 5); exit }' "$work/$1"
}
spike() { awk -v name="jitter $1 " 'index($0, name) { print $(NF - 2) }' "$work/storm"; }
says retry.h "calls without jitter, " "$(spike full)" " with FULL" 9
says retry.h "with FULL and " "$(spike decorrelated)" " with DECORRELATED" 9
finish
