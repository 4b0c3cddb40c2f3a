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
run custom_strategy
check "custom_strategy: a robot is refused" sh -c "sed -n '/^robot/,/^guest/p' '$work/custom_strategy' |
    grep -q 'strategy refuses'"
check "custom_strategy: contention has its name" shows custom_strategy 'reason=SEAT_TAKEN'
check "custom_strategy: answers later" shows custom_strategy 'verdict=RETRY delay=250ms'
check "custom_strategy: the last is late" shows custom_strategy 'verdict=EXPIRE delay=100ms'
run outage
rows() { awk 'NF >= 7 && $2 ~ /^[0-9]+$/ { rows++ } END { print rows + 0 }' "$work/outage"; }
# holds CONDITION: of each row, with its breaker if any, done, failed, expired, sent, wait
holds() {
    awk "NF >= 7 && \$2 ~ /^[0-9]+\$/ { breaker = NF == 8; calls = \$2; done = \$(NF - 4); failed = \$(NF - 3)
        expired = \$(NF - 2); sent = \$(NF - 1); wait = \$NF; if (!($1)) { print; bad = 1 } } END { exit bad }" \
        "$work/outage"
}
check "outage: a row for each" test "$(rows)" -eq 18
check "outage: each operation ends" holds "done + failed + expired >= 99 && done + failed + expired <= 101"
check "outage: few are sent" holds "sent <= 40 && sent < 10 * calls + 30"
check "outage: nobody waits for longer than allowed" holds "wait <= 5"
check "outage: with a breaker most fail, and soon" holds "!breaker || (done == 0 && sent <= 28)"
check "outage: without one some are done, if there is more than one a second" holds "breaker || calls == 1 || done > 0"

finish
