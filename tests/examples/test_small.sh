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
check "quickstart: the first has all the time" shows quickstart '^waited 0 ms, has 5000 ms: 503$'
check "quickstart: the third works" shows quickstart '^SUCCESS (done), retries: 2$'
run custom_strategy
check "custom_strategy: a robot is refused" sh -c "sed -n '/^robot/,/^guest/p' '$work/custom_strategy' |
    grep -q 'strategy refuses'"
check "custom_strategy: contention has its name" shows custom_strategy 'reason=SEAT_TAKEN'
check "custom_strategy: two answers later" test "$(count custom_strategy 'verdict=PENDING')" -eq 2
check "custom_strategy: the last is late" shows custom_strategy 'verdict=EXPIRE delay=100ms'

finish
