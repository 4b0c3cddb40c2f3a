#!/bin/sh
# The smallest examples, which need no server. Usage: test_small.sh [FOLDER_OF_THE_PROGRAMS]
# Nothing here looks at the clock. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

run() { # PROGRAM
    "$folder/$1" >"$work/$1" 2>&1
    check "$1: exit status" test $? -eq 0
    check "$1: 80 columns" lacks "$1" '.\{81\}'
}
count() { grep -c -e "$2" "$work/$1"; }
folder=${1:-${BUILD:-build}}

run quickstart
check "quickstart: three attempts" test "$(count quickstart '^waited [0-9]* ms, has [0-9]* ms')" -eq 3
check "quickstart: the first does not wait" shows quickstart '^waited 0 ms, has [0-9]* ms: 503$'
check "quickstart: the third works" shows quickstart '^SUCCESS (done), retries: 2$'
run by_hand
says() { # WHAT BY_HAND WITH_RETRY: patterns
    check "by_hand: $1" shows by_hand "^$1 \{2,\}$2 \{2,\}$3\$"
}
says "100 POSTs, 10 answers lost" "10 done twice" "0 done twice, 10 perhaps done"
says "a silent server, timeout 5 s" "fails after 12.7 s" "fails after 5.0 s"
says "429, Retry-After: 5 s" "3 too soon, 0 done" "0 too soon, 1 done"
says "1000 GETs, server down 10 s" "3[0-9]* calls, [0-9]\{2\} done" "[0-9]\{2\} calls, [34][0-9]\{2\} done"
run custom_strategy
check "custom_strategy: a robot is refused" sh -c "sed -n '/^robot/,/^guest/p' '$work/custom_strategy' |
    grep -q 'strategy refuses'"
check "custom_strategy: contention has its name" shows custom_strategy 'reason=SEAT_TAKEN'
check "custom_strategy: answers later" shows custom_strategy 'verdict=RETRY delay=250ms'
check "custom_strategy: the last is late" shows custom_strategy 'verdict=EXPIRE delay=100ms'
run alone
# done_alone ROW LEAST...: % done of the possible, 1, 5, 10, 60 s, back after 40, 80, 95 % of each; -: not possible
done_alone() {
    row=$1
    shift
    sed -n "s/^$row  \{1,\}\([-0-9]\)/\1/p" "$work/alone" | awk -v least="$*" '
        { seen = 1; rows = split(least, of, " ")
          for (i = 1; i <= rows; i++) if (of[i] == "-" ? $i != "-" : $i == "-" || $i < of[i]) {
              print "number " i ": expected " of[i] " at least, got " $i; bad = 1 } }
        END { exit bad || !seen }'
}
check "alone: 503" done_alone "503" 98 96 0 98 94 0 98 98 0 98 98 98
check "alone: 429" done_alone "429" 0 0 0 0 0 0 0 0 0 0 0 0
check "alone: 429, Retry-After" done_alone "429, Retry-After 1 s" - - - 98 98 0 98 98 0 98 98 98
check "alone: reset" done_alone "reset" 98 96 0 98 95 0 98 98 0 98 98 98
check "alone: refused" done_alone "refused" 98 87 0 98 84 0 98 98 0 98 98 98
check "alone: silent" done_alone "silent after 100 calls" 0 0 0 98 0 0 98 0 0 0 0 0
check "alone: few are sent" sh -c "awk '/^(503|429|re|silent)/ { rows++; if (\$NF > 30) bad = 1 }
    END { exit bad || rows != 7 }' '$work/alone'"
run outage
rows() { awk 'NF >= 8 && $2 ~ /^[0-9]+$/ { rows++ } END { print rows + 0 }' "$work/outage"; }
# holds CONDITION: of each row, with its breaker if any, what is possible, done, failed, expired, sent, wait
holds() {
    awk "NF >= 8 && \$2 ~ /^[0-9]+\$/ { breaker = NF == 9; calls = \$2; possible = \$(NF - 5); done = \$(NF - 4)
        failed = \$(NF - 3); expired = \$(NF - 2); sent = \$(NF - 1); wait = \$NF; if (!($1)) { print; bad = 1 } }
        END { exit bad }" "$work/outage"
}
check "outage: a row for each" test "$(rows)" -eq 18
check "outage: each operation ends" holds \
    "(all = done * possible / 100 + failed + expired) >= 98.5 && all <= 101.5"
check "outage: few are sent" holds "sent <= 40 && sent < 10 * calls + 30"
check "outage: nobody waits for longer than allowed" holds "wait <= 5"
check "outage: with a breaker most fail, and soon" holds "!breaker || (done == 0 && sent <= 28)"
check "outage: without one some are done, if there is more than one a second" holds "breaker || calls == 1 || done > 0"
run sleep
# slept CONDITION: tries that sent before and after those in vain; of these count, first (s from the one
# to the second), long (waits over 40 s), alike (long ones that were there already), on (s of radio);
# back (s, as the last line says); readings that were sent
slept() {
    awk "/^back/ { back = \$3 } !/^ *[0-9]+:/ { next } { split(\$1, time, \":\"); at = 60 * time[1] + time[2] }
        \$2 == \"sent\" { readings += \$3; if (count) after++; else before++; next }
        { if (++count == 2) first = at - last; last = at; on += \$4; wait = \$(NF - 1) }
        wait > 40 { long++; alike += seen[wait]++ > 0 }
        END { if ($1) exit; print \"got before \" before, \"after \" after, \"count \" count, \"first \" first
            print \"long \" long, \"alike \" alike, \"on \" on, \"back \" back, \"readings \" readings
            print \"expected $1\"; exit 1 }" "$work/sleep"
}
check "sleep: a reading a minute is sent before and after" slept "before == 5 && after == 5"
check "sleep: none is lost" slept "readings == 20"
check "sleep: connections that brought an answer count anew" slept "first >= 0.9 && first <= 1.1"
check "sleep: it tries on, and connections that brought none space it" slept "count >= 15 && count <= 22"
check "sleep: each wake draws anew" slept "long >= 6 && alike <= 1"
check "sleep: the radio is on for little" slept "on > 0 && on <= 40"
check "sleep: is back within the longest wait" slept "back > 0 && back <= 77"
run nodes
check "nodes: as promised" shows nodes "All as promised\.$"
check "nodes: a row for each" test "$(count nodes '^ *[0-9]* x [0-9.]*  .* | ')" -eq $((17 * 6 + 3 * 3))
check "nodes: two bad ones" sh -c "awk '/^two are dark/ { two = 1 } / x / && two && \$4 < 80 { bad = 1 }
    END { exit bad || !two }' '$work/nodes'"

finish
