#!/bin/sh
# An example on a real server that is broken under it. Usage: test_served.sh PROGRAM
# The script of the same name starts, breaks and judges the server. Here: all its verdicts hold; they
# do not if the program takes everything for idempotent; and nothing is left when it is interrupted.
# Nothing here looks at the clock. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

name=${1##*/}
script=$(dirname "$0")/$name.sh

# run RUN PROGRAM [careless]: output in RUN, exit status in RUN.status
run() {
    sh "$script" "$2" ${3:-} >"$work/$1" 2>&1
    echo $? >"$work/$1.status"
}
broken() { shows "$1" "^BROKEN  ${2:-}"; }
kept() { shows "$1" "^kept    ${2:-}"; }
retried() { grep -q "^    .*$1" "$work/$name.run/out"; }
ended_as() { grep -q "^$1 $2" "$work/$name.run/out"; }
narrow() { lacks "$1" '.\{81\}'; }

# interrupt: ends a run at the first fault
interrupt() {
    cp "$1" "$work/interrupted"
    sh "$script" "$work/interrupted" >"$work/cut" 2>&1 &
    pid=$!
    wait_for cut "frozen"
    kill -s TERM $pid
    wait $pid
    echo $? >"$work/cut.status"
}
none_left() { ! kill -0 "$(cat "$work/interrupted.run/server.pid")" 2>/dev/null; }

cp "$1" "$work/$name"
run careless "$work/$name" careless &
run sound "$work/$name"
wait
interrupt "$1"

check "exit status" ended sound 0
check "some verdicts" kept sound
check "none broken" lacks sound BROKEN
check "80 columns" narrow sound
check "careless: exit status" ended careless 1
check "careless: a verdict is broken" broken careless
check "interrupted: exit status" ended cut 143
check "interrupted: the server is gone" eventually none_left

case $name in
lwip)
    check "careless: twice" broken careless "Nothing was carried out twice"
    for reason in ATTEMPT_TIMED_OUT SERVICE_RESPONSE_CODE_INDICATED; do
        check "retried by $reason" retried $reason
    done
    check "perhaps done" ended_as perhaps "add 121"
    ;;
redis)
    check "careless: twice" broken careless "None counted twice"
    for reason in SOCKET_CLOSED_WHILE_IN_FLIGHT ATTEMPT_TIMED_OUT SOCKET_NOT_AVAILABLE LOADING BUSY \
        CLUSTERDOWN TRYAGAIN; do
        check "retried by $reason" retried $reason
    done
    check "perhaps done" ended_as perhaps INCR
    ;;
mqtt)
    check "careless: twice" broken careless "The program published none twice"
    check "careless: all at once" broken careless "The fleet came back spread"
    run twins "$work/$name" twins
    check "twins: they come back ever more seldom" kept twins "When each name"
    # Where any connection counts anew they take turns as fast as they can.
    sed "s,\.\./retry\.h,$PWD/retry.h,; s/c->mosquitto = mosq/c->pace.stable_after = 1; &/" \
        examples/mqtt.c >"$work/flaps.c"
    check "without stable_after: compiles" ${CC:-cc} -o "$work/flaps" "$work/flaps.c" -lmosquitto
    run flap "$work/flaps" twins
    check "without stable_after: they do not" broken flap "When each name"
    ;;
esac

finish
