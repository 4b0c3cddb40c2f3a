#!/bin/sh
# The figures in README.md are those that the commands print, in rows with the same words: bytes by
# make size, instructions by make bench (to the nearest, give or take one), and what make http counts.
# Usage: test_figures.sh BUILD, from the top folder, with bench_decision and http_curl there. The last
# line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
build=$1

measured() { # NAME COMMAND...: what it prints is in $work/NAME
    name=$1
    shift
    check "$*" "$@" > "$work/$name"
}
measured size sh tests/tools/size.sh
measured bench sh tests/bench/bench.sh "$build"
measured gates sh tests/bench/gates.sh "$build"
measured errmap sh tests/bench/errmap.sh "$build"
measured http "$build/http_curl" compare "$build/figures"

# claimed TEXT [COLUMN]: the number in README.md's row of the text
claimed() { awk -v start="| $1 |" 'index($0, start) == 1' README.md | cut -d '|' -f "${2:-3}" | tr -d ' ,`'; }
# printed FILE TEXT: the first number behind the text
printed() { grep -F "  $2 " "$work/$1" | sed "s/.*[a-z)\"] \{2,\}//" | awk '{ print $1 }'; }
same() # FILE TEXT
{
    awk -v claimed="$(claimed "$2")" -v printed="$(printed "$1" "$2")" -v slack="$3" 'BEGIN {
        off = claimed - printed
        if (claimed != "" && printed != "" && off <= slack && -off <= slack) exit 0
        printf "README.md: %s, printed: %s\n", claimed, printed
        exit 1 }'
}

# rows FILE FROM TO: README.md's first column between two texts, the first row left out
rows() { awk -v from="$2" -v to="$3" 'index($0, from) { on = 1; next } index($0, to) { on = 0 }
    on && /^\| [^-]/' README.md | cut -d '|' -f 2 | sed 's/^ //; s/ $//'; }

rows size "| | bytes of flash" "| | instructions" > "$work/rows"
check "rows of make size" test "$(wc -l < "$work/rows")" -eq 5
while read -r text; do check "size: $text" same size "$text" 0; done < "$work/rows"
rows bench "| | instructions" "A request takes" > "$work/rows"
check "rows of make bench" test "$(wc -l < "$work/rows")" -eq 6
grep -v "^errmap" "$work/rows" > "$work/decisions"
while read -r text; do check "bench: $text" same bench "$text" 1; done < "$work/decisions"
ratio() # WHICH: of the first or second page, with two decimals
{
    got=$(awk '$1 == "errmap" { print $3 }' "$work/errmap" | sed -n "$2p")
    is=$(claimed "errmap, $1: times the instructions of bare jsmn")
    [ "$is" = "$got" ] || { echo "README.md: $is, printed: $got"; false; }
}
check "bench: errmap, pretty" ratio pretty 1
check "bench: errmap, minified" ratio minified 2

gate() # NAME STRUCT SIZE-ROW BENCH-ROW: its bytes of RAM and flash and its instructions
{
    is="$(claimed "$1" 5) $(claimed "$1" 6) $(claimed "$1" 7)"
    got="$(awk -v name="retry_$2" '$1 == name { print $3 }' "$work/size") $(printed size "$3")"
    got="$got $(printed gates "$4" | awk '{ printf "%.0f", $1 }')"
    [ "$is" = "$got" ] || { echo "README.md: $is, printed: $got"; false; }
}
for row in rate:rate breaker:"circuit breaker" throttle:"client-side throttle"; do
    check "gate: ${row#*:}" gate "${row#*:}" "${row%%:*}" "${row#*:}" "${row%%:*}: ask and report"
done
check "gate: latency" gate latency latency latency "latency: add"
check "gate: hedge" gate "hedge, with a decision" hedge "hedge, with a decision" "hedge: begin, one due, won"
check "gate: AIMD limit" gate "AIMD limit" aimd "AIMD limit" "AIMD limit: report"
check "gate: scope" gate scope scope "scope, with its budget" "scope: look up a name of 18 bytes"
check "gate: text" gate "policy from a text" none "policy from a text, with the strategy" \
    "policy from a text of 49 bytes"

structs=$(awk '$1 == "retry_request" { print $3 " bytes of RAM on a 64-bit machine and " $2 }' "$work/size")
check "a request's bytes: $structs" grep -q "takes $structs on" README.md
ram=$(awk '/all of retry.h/ { print $NF }' "$work/size")
check "the generator's bytes: $ram" grep -q "generator's $ram bytes" README.md

# In the manuals, whose lines are broken anywhere, in KiB.
kib() { awk -v bytes="$(printed size "$1")" "BEGIN { printf \"%.$2f\", bytes / 1024 }"; }
manual() { tr -s ' \n' ' ' < "$1" | grep -q -F "$2"; }
delay=$(kib "a delay (retry_backoff_delay)" 1)
decision=$(kib "a decision (begin, orchestrate, succeed, best effort)" 1)
check "retry.h's manual" manual retry.h "alone takes about $delay KiB of flash, a decision with best \
effort about $decision, all of this file about $(kib "all of retry.h" 0);"
parse=$(kib "parse an error map and find in it" 1)
check "errmap.h's manual" manual errmap.h "finding take $parse KiB of Cortex-M0 flash (\`make size\`), \
all of this file $(kib "all of errmap.h" 1) KiB"

http() # COLUMN-OF-THE-TABLE TOOL: done and sent twice, as README.md has them
{
    is="$(claimed "$1" 3) $(claimed "$1" 4)"
    got=$(sed -n "s/^$2  *\([0-9]*\) of .* \([0-9]*\) POST sent twice/\1 \2/p" "$work/http")
    [ "$is" = "$got" ] || { echo "README.md: $is, printed: $got"; false; }
}
check "http: retry.h" http "retry.h" "retry.h"
check "http: curl" http "\`curl --retry --retry-connrefused\`" "curl --retry"
check "http: curl, all errors" http "\`curl --retry --retry-all-errors\`" "+ all-errors"
for name in size bench gates errmap http; do
    check "$name: 80 columns" lacks $name '.\{81\}'
done

finish
