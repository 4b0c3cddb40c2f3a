#!/bin/sh
# The figures in the pages and in the manuals, beside what the commands print now: make size, make bench, make http,
# make by_hand, make alone, make outage, make storm and make peers. What these hold limits for holds them, too. With
# RENEW=1 figures that differ are written anew.
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
cell() { # TEXT ROW COLUMN VALUE [SLACK]: the number in a table
    ROW=$2 COLUMN=$3 VALUE=$4 SLACK=${5:-0} BEFORE='' AFTER=''
    check "$1: $2, column $3: $4" figure "$1"
}
costs() { # ROW FLASH RAM INSTRUCTIONS: in the table of what it costs
    cell examples/README.md "$1" 2 "$2"
    cell examples/README.md "$1" 3 "$3"
    cell examples/README.md "$1" 4 "$4" 1
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
measured by_hand "$build/by_hand"
measured alone "$build/alone"
measured outage "$build/outage"
cp "$build/peers.kept/peers.tsv" "$work"
kept() { cat "$1" && return "$(cat "$1.status")"; }
measured peers kept "$build/peers.kept/printed"
measured storm "$build/storm" -v --data "$work/data"

# printed FILE TEXT: the first number behind the text; a struct's bytes: on a Cortex-M0, here
printed() { grep -F "  $2  " "$work/$1" | sed "s/.*[a-z)\"] \{2,\}//" | awk '{ print $1 }'; }
near() { printed "$@" | awk '{ printf "%.0f", $1 }'; }
adds() { grep -F "  $2  " "$work/$1" | awk '{ printf "%.0f", $NF }'; } # the row has it as its last number
kib() { printed size "$1" | awk -v digits="$2" '{ printf "%." digits "f", $1 / 1024 }'; }
bytes() { awk -v name="$1" -v column="$2" '$1 == name { print $column }' "$work/size"; }

# ---- make size, make bench ------------------------------------------------------------------

delay="a delay (retry_delay)"
client="a service and an operation"
cell examples/README.md "a delay alone (\`retry_delay\`)" 2 "$(printed size "$delay")"
cell examples/README.md "all of retry.h" 2 "$(printed size "all of retry.h")"
says examples/README.md "operation takes " "$(bytes retry_operation 2)" " bytes"
says examples/README.md "a delay by hand takes " \
    "$(near bench "by hand: min(cap, base << n), jitter by a multiply")" "." 1
says retry.h "a delay alone takes about " "$(kib "$delay" 1)" " KiB"
says retry.h "an operation about " "$(kib "an operation" 1)" ","
says retry.h "one with a service about " "$(kib "$client" 1)" ","
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
    "$((($(stack -DERRMAP_MAX_DEPTH=224) - $(stack -DERRMAP_MAX_DEPTH=96)) / 128))" -eq 1
says errmap.h "Parsing takes at most " \
    "$(awk '/^Stack of errmap_parse/ { print int(($4 + 1023) / 1024) }' "$work/errmap")" " KB of stack"
says errmap.h "An entry takes " "$(bytes errmap_entry 3)" " bytes of RAM"

# gate NAME STRUCT SIZE-ROW BENCH-ROW: what it adds to an operation, and its bytes of RAM. The manual's table has
# the bytes, which numbers.c measures, and the instructions, rounded.
gate()
{
    costs "more for a $1" "$(adds size "$3")" "$(bytes "retry_$2" 3)" "$(adds operation "$4")"
    says retry.h "$1 $(bytes "retry_$2" 3) " "$(adds operation "$4")" "" 5
}
gate breaker breaker "a service, circuit breaker" "a service, circuit breaker"
gate throttle throttle "a service, client-side throttle" "a service, client-side throttle"
gate rate rate "a service, rate" "a service, rate"
gate latency latency "a service, latency" "a service, latency"
service="a service: a budget and the AIMD limit"
limit="$(adds operation "$service")"
says retry.h "AIMD limit $(bytes retry_aimd 3) " "$limit" "" 5
says retry.h "at its limit " "$(adds operation "a service, rate under a limit")" "" 5
costs "more for hedging, no copy sent" "$(adds size "a service, hedge")" \
    $(($(bytes retry_hedge 3) + $(bytes retry_copy 3))) "$(adds operation "a service, event loop, hedge sends no copy")"
says retry.h "hedging $(bytes retry_hedge 3) " "$(adds operation "a service, event loop, hedge sends no copy")" ";" 5
says retry.h "; a copy " "$(adds operation "a service, event loop, hedge sends a copy")" "" 5

operation=$(bytes retry_operation 3)
flash=$(printed size "$client")
costs "an operation" "$(printed size "an operation")" "$operation" "$(near operation "nothing is shared")"
costs "an operation with a budget" "$(printed size "an operation, budget")" \
    $((operation + $(bytes retry_budget 3))) "$(near operation "a budget")"
costs "**an operation with a service**" "$flash" $((operation + $(bytes retry_service 3))) "$(near operation "$service")"
says examples/README.md "one retry and a service it takes " "$(near operation "one retry, a service")" "," 1
says README.md "its operations take " "$flash" " bytes of flash"
says README.md "operation takes " "$operation" " bytes of RAM,"
says README.md "of RAM, and " "$(near operation "$service")" " instructions" 1

# ---- make http ------------------------------------------------------------------------------

count() { sed -n "s/^$1  *\([0-9]*\) of .* \([0-9]*\) POST sent twice/\\$2/p" "$work/http"; }
says examples/README.md "\`make http\` sends " "$(sed -n 's/^retry.h .* of \([0-9]*\) done.*/\1/p' "$work/http")" " requests"
check "retry.h does what can be done" shows http "^kept  *Every request that can be done was done"
says examples/README.md "| curl " "$(sed -n 's/^The curls are curl \([0-9]*[.][0-9]*\).*/\1/p' "$work/http")" ","
did() { # ROW CLIENT
    cell examples/README.md "$1" 2 "$(count "$2" 1)"
    cell examples/README.md "$1" 3 "$(count "$2" 2)"
}
did retry.h retry.h
did "$(sed -n 's/^| \(curl [^|]*\) |.*/\1/p' examples/README.md)" "curl --retry"
did "the same, with \`--retry-all-errors\`" "+ all-errors"

# ---- make by_hand, make alone, make outage, make peers ---------------------------------------

# rows PAGE NAME COUNT [TABLE]: of the table of `make NAME`. RENEW=1 puts them in the place of those with the same
# first cell.
rows()
{
    awk -f "$here/${4:-$2}_rows.awk" "$work/$2" > "$work/rows"
    check "make $2 prints $3 rows" test "$(grep -c '^| ' "$work/rows")" -eq "$3"
    while read -r row; do
        if [ -n "${RENEW:-}" ]; then
            ROW=$row awk 'BEGIN { row = ENVIRON["ROW"]; split(row, is, "|") }
                { split($0, cells, "|"); print cells[2] == is[2] ? row : $0 }' "$1" > "$work/page"
            cat "$work/page" > "$1"
        fi
        check "$1: $row" grep -q -F -x -e "$row" "$1"
    done < "$work/rows"
}
rows README.md by_hand 4
rows README.md alone 7
rows examples/README.md outage 6
rows examples/README.md peers 15 harm

# ---- make storm -----------------------------------------------------------------------------

says README.md "With a budget that the " "$(cut -f 4 "$work/data/outage.tsv")" " clients of a process"
drawn() { # the picture at the top of README.md
    gnuplot -e "dir='$work/data'" examples/storm/storm.gnuplot || return 1
    [ -z "${RENEW:-}" ] || cp "$work/data/recovery.svg" examples/storm
    cmp "$work/data/recovery.svg" examples/storm/recovery.svg
}
check "examples/storm/recovery.svg" drawn

# ---- make peers -----------------------------------------------------------------------------

worse_in() { awk -f "$here/harm_rows.awk" "$work/peers" | awk -F '|' '{ n += $7 } END { print n }'; }
done_by() { sed -n "s/^$1 \{2,\}//p" "$work/peers" | awk 'NR == 1 { print $3 }'; } # setup: in all
says README.md "completed " "$(done_by "retry.h")" " %"
says README.md "standard mode " "$(done_by "AWS standard")" " %,"
says README.md "gRPC " "$(done_by gRPC)" " %,"
says README.md "three plain tries " "$(done_by "three tries, 100 ms")" " %."
says README.md "always win. In " "$(worse_in)" " of"
says README.md " of " "$(sed -n 's/^Harm: \([0-9]*\) .*/\1/p' "$work/peers")" " other worlds"
beside() {
    gnuplot -e "dir='$work'" examples/storm/peers.gnuplot || return 1
    [ -z "${RENEW:-}" ] || cp "$work/peers.svg" examples/storm
    cmp "$work/peers.svg" examples/storm/peers.svg
}
check "examples/storm/peers.svg" beside
finish
