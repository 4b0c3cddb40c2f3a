#!/bin/sh
# The KV client from end to end. Usage: test_demo.sh [PATH_OF_KV_CLIENT]
# Nothing here looks at the clock: the program's own verdicts, its exit status and what it prints
# are checked. The last line is "N passed, N failed", and the exit status tells the same.
. "$(dirname "$0")/../support/check.sh"

client=${1:-${BUILD:-build}/kv_client}

# run NAME ARGUMENT...: in the background, output in NAME, exit status in NAME.status
run() {
    name=$1
    shift
    ("$client" "$@" >"$work/$name" 2>&1; echo $? >"$work/$name.status") &
}

# Two nodes, the careless client and two nodes of its own: listed in RUN.children.
five_children() { # RUN
    ps -A -o ppid= -o pid= | awk -v parent="$pid" '
        { of[$2] = $1 }
        END { for (p in of) if (of[p] == parent || of[of[p]] == parent) print p }' \
        >"$work/$1.children"
    [ "$(wc -l <"$work/$1.children")" -eq 5 ]
}

# interrupt SIGNAL: begins a run, ends it once all nodes run, and lists what is left of them.
interrupt() {
    "$client" verbose >"$work/$1" 2>&1 &
    pid=$!
    wait_for "$1" "node 2 is started"
    ! there ps || eventually five_children "$1"
    kill -s "$1" "$pid"
    wait "$pid"
    echo $? >"$work/$1.status"
}

none_left() { # RUN
    while read -r child; do
        ! kill -0 "$child" 2>/dev/null || return 1
    done <"$work/$1.children"
}

# While the machine is busy a fault may befall nobody; it does in another run.
every_fault() {
    never='^  [a-z].\{41\}  *0  *0$'
    lacks scripted "$never" && return
    run again verbose
    wait
    lacks again "$never"
}

narrow() { [ "$(awk 'length > 80' "$work/$1" | wc -l)" -eq 0 ]; }

run scripted verbose
run brief
run careless careless verbose
if there memcached; then
    run memcached memcached verbose
    run careless_memcached memcached careless verbose
fi
interrupt INT
interrupt TERM
(PATH=/nonexistent; "$client" memcached) >"$work/missing" 2>&1
echo $? >"$work/missing.status"
"$client" no-such-mode >"$work/usage" 2>&1
echo $? >"$work/usage.status"
wait

check "scripted: exit status" ended scripted 0
check "scripted: in time" shows scripted "^kept    No operation ran past"
check "scripted: once" shows scripted "^kept    No operation that is not idempotent"
check "scripted: nothing broken" lacks scripted BROKEN
check "scripted: no control characters" lacks scripted "[[:cntrl:]]"
for reason in SERVICE_RESPONSE_CODE_INDICATED KV_NOT_MY_VBUCKET KV_LOCKED KV_TEMPORARY_FAILURE \
    SOCKET_CLOSED_WHILE_IN_FLIGHT ATTEMPT_TIMED_OUT CIRCUIT_BREAKER_OPEN; do
    check "scripted: retries by $reason" shows scripted "^  $reason  *[1-9]"
done
check "scripted: every fault happened" every_fault
check "scripted: an unknown code fails" shows scripted "0x7ff0.* [1-9]"
# begun, first try, after retries, perhaps done, expired, failed: none is 0
check "scripted: every way to end" shows scripted "^all\(  *[1-9][0-9]*\)\{6\} "
check "scripted: perhaps done, and some were" shows scripted \
    "Of [1-9][0-9]* reported as perhaps done [1-9][0-9]* were; of [1-9]"
check "scripted: failed, and none was done" shows scripted " as failed 0 were\$"

# row CODE CAME RETRIED FAILED WAIT ASKED RECONNECT: in the table of what only the error maps know
row() { shows scripted "^  0x$1 [A-Z_0-9]*  *$2  *$3  *$4  *$5 ms  *$6  *$7\$"; }
some="[1-9][0-9]*"
check "hedges: sent, and some won" shows scripted "^hedges: $some sent, $some won; copies "
check "hedges: those who lost are dropped" shows scripted "copies cancelled: $some, late answers: $some\$"
check "breakers: one opened and refused" shows scripted "^breakers, .* node [12] $some, $some"
check "breakers: it is told when" shows scripted "'s breaker opens\$"
check "error map: first of node 1" shows scripted "node 1: error map version 2, revision 4,"
check "error map: newer, on reconnect" shows scripted "node 1: error map version 2, revision 5,"
check "error map: broken" shows scripted "node 2: error map refused, the text is not JSON"
check "error map: broken, where" shows scripted "(line 10, offset $some); going on without"
check "error map: told once" test "$(grep -c "map refused" "$work/scripted")" -eq 1
check "error map: sound after a restart" shows scripted "node 2: error map version 2, revision 7,"
# version, revision, entries, taken, known, broken, none
check "error map: of node 1" shows scripted "^  node 1  *2  *5  *10  *2  *$some  *0  *0\$"
check "error map: of node 2" shows scripted "^  node 2  *2  *7  *10  *1  *[0-9]*  *$some  *0\$"
check "error map: XERROR taken back" shows scripted "take XERROR back  *0  *$some\$"
check "error map: old codes instead" shows scripted "0x86 for want of a map  *0  *$some\$"
check "error map: no new ones" lacks scripted "^  code 0x0c,"
check "error map: not in this node's" shows scripted "0x84 for want of a map  *$some "
check "error map: nothing unexplained" lacks scripted "^  code 0x[0-9a-f]*, unknown"
check "error map: retry later" row 000c "$some" "$some" "[0-9]*" "$some" 0 0
check "error map: fetch config" row 000d "$some" "$some" 0 "[0-9]*" "$some" 0
check "error map: config asked" shows scripted "asked for the config.*[1-9]"
check "error map: reconnected" shows scripted "given up on an error map's advice: $some\$"
check "error map: reconnect" row 001f "$some" 0 "$some" 0 0 "$some"
check "error map: special" row 0026 "$some" 0 "$some" 0 0 "$some"
check "error map: no retry" row 0028 "$some" 0 "$some" 0 0 0
check "error map: constant interval" row fff0 "$some" "$some" 1 20 0 0
check "error map: linear interval" row fff1 "$some" "$some" 0 25 0 0
check "error map: max-duration" \
    shows scripted "MAP_RETRY_INDICATED  *1  server's time limit"
check "error map: retries" shows scripted "^  KV_ERROR_MAP_RETRY_INDICATED  *$some\$"

check "brief: exit status" ended brief 0
check "brief: both kept" test "$(grep -c '^kept' "$work/brief")" -eq 2
check "brief: the classes" shows brief "^all\(  *[1-9][0-9]*\)\{6\} "
check "brief: what was saved" shows brief "^saved   [1-9][0-9]* operations"
check "brief: what happens without the rules" shows brief "without the rules: [1-9][0-9]* applied twice"
check "brief: little else" test "$(grep -c . "$work/brief")" -le 18
for run in brief scripted careless; do
    check "$run: 80 columns" narrow $run
done

check "careless: exit status" ended careless 1
check "careless: applied twice" shows careless "^BROKEN  No operation that is not idempotent"
check "careless: in time all the same" shows careless "^kept    No operation ran past"

if there memcached; then
    check "memcached: exit status" ended memcached 0
    check "memcached: 80 columns" narrow memcached
    check "memcached: both kept" test "$(grep -c '^kept' "$work/memcached")" -eq 2
    check "memcached: no error map" shows memcached "no error map (status 0x81); going on"
    check "memcached: on without" shows memcached "^  memcached  *-  *-  *-  *0  *0  *0  *[1-9]"
    check "memcached: killed" shows memcached "killed, requests on the wire: [1-9]"
    check "memcached: some are perhaps done" \
        shows memcached "^increment\(  *[0-9]*\)\{3\}  *[1-9]"
    check "memcached: and some were" \
        shows memcached "Of [1-9][0-9]* reported as perhaps done [1-9][0-9]* were; of"
    check "memcached, careless: exit status" ended careless_memcached 1
    check "memcached, careless: applied twice" shows careless_memcached "^BROKEN  No operation that"
else
    skip "there is no memcached" "kv_client memcached"
fi

check "INT: exit status" ended INT 130
check "TERM: exit status" ended TERM 143
for signal in INT TERM; do
    check "$signal: the table so far" shows $signal "^all  *[1-9]"
    check_with ps "$signal: there were five children" test "$(wc -l <"$work/$signal.children")" -eq 5
    check_with ps "$signal: no child left" eventually none_left $signal
done

check "no memcached: exit status" ended missing 2
check "no memcached: it says so" shows missing "cannot start memcached"
check "usage: exit status" ended usage 2
check "usage: it says so" shows usage "^usage:"

finish
