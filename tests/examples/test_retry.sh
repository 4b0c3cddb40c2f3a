#!/bin/sh
# The command `retry` on real commands. Usage: test_retry.sh PATH_OF_RETRY
# Nothing here looks at the clock. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

retry=$(cd "$(dirname "$1")" && pwd)/${1##*/}
fast="best-effort initial=1ms max=5ms"

# run NAME ARGUMENT...: retry; the output is in NAME.out and NAME.err, the exit status in NAME.status
run() {
    name=$1
    shift
    "$retry" "$@" >"$work/$name.out" 2>"$work/$name.err"
    echo $? >"$work/$name.status"
}
lines() { [ "$(wc -l <"$work/$1")" -eq "$2" ]; }
is() { [ "$(cat "$work/$1")" = "$2" ]; }
count=$work/count # a command that shows how often it ran writes a line a time here
tried() { [ "$(cat "$count" 2>/dev/null | wc -l)" -eq "$1" ]; }
anew() { rm -f "$count"; }

# program NAME: a command that counts its tries, from standard input
program() {
    { echo '#!/bin/sh' && echo "echo >>$count" && cat; } >"$work/$1"
    chmod +x "$work/$1"
}

# gone PID: not there, or a zombie that nobody has waited for
gone() { [ -n "$1" ] && case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in "" | Z*) ;; *) false ;; esac }

# ---- Tries, and how they end ----

run fail --policy "$fast attempts=4" -- false
check "false: its status" ended fail 1
check "false: a line a try" lines fail.err 4
check "false: the first line" shows fail.err '^retry: false: try 1: status 1, again in 0\.00[0-9] s$'
check "false: why it gave up" shows fail.err '^retry: false: try 4: status 1, attempts exhausted$'
run once -- true
check "true: its status" ended once 0
check "true: silent" lines once.err 0
program third <<'END'
[ "$(wc -l <"${0%/*}/count")" -ge 3 ] && echo done || exit 75
END
run third --policy "$fast attempts=8" -- "$work/third"
check "works the third time: its status" ended third 0
check "works the third time: three tries" tried 3
check "works the third time: its output" is third.out "done"
check "works the third time: the tries before" shows third.err 'try 2: status 75, again in'
anew
run dashless --policy "$fast attempts=2" "$work/third" --policy
check "without --: the command's options are its own" tried 2
check "without --: its status" ended dashless 75
anew

program killed <<'END'
kill -s KILL $$
END
run killed --policy "$fast attempts=2" -- "$work/killed"
check "killed: as a shell has it" ended killed 137
check "killed: tried again" tried 2
anew
run late --timeout 1m --policy "initial=1h max=1h jitter=none" -- "$work/third"
check "a wait that does not fit: the command's status" ended late 75
check "a wait that does not fit: why" shows late.err 'try 1: status 75, deadline'
run quiet --quiet --policy "$fast attempts=2" -- "$work/third"
check "--quiet" lines quiet.err 0
anew

# ---- Statuses ----

program status <<'END'
exit $1
END
for status in 1 3 63 65 78 125 128 255; do
    run status --policy "$fast attempts=2" -- "$work/status" $status
    check "status $status is retried" tried 2
    check "status $status is returned" ended status $status
    anew
done
for status in 2 64 126 127; do
    run status --policy "$fast attempts=2" -- "$work/status" $status
    check "status $status is final" tried 1
    check "status $status says so" shows status.err "try 1: status $status, no reason to retry"
    anew
done
for pair in 1:2 2:1 74:1 75:2 78:2 79:1; do
    run on --on 1,75-78 --policy "$fast attempts=2" -- "$work/status" ${pair%:*}
    check "--on 1,75-78: status ${pair%:*}" tried ${pair#*:}
    anew
done
for pair in 1:2 5:1 6:1 7:2 2:1; do
    run not --not-on 5-6 --policy "$fast attempts=2" -- "$work/status" ${pair%:*}
    check "--not-on 5-6: status ${pair%:*}" tried ${pair#*:}
    anew
done
run missing --policy "$fast attempts=3" -- "$work/nobody"
check "no such command: 127" ended missing 127
check "no such command: says so" shows missing.err "nobody: No such file"
: >"$work/plain"
run plain --policy "$fast attempts=3" -- "$work/plain"
check "cannot be run: 126" ended plain 126
check "neither is retried" test "$(cat "$work/missing.err" "$work/plain.err" | grep -c "again")" -eq 0

# ---- Time ----

program hang <<'END'
trap 'echo told >>"${0%/*}/told"; exit 0' TERM
while :; do sleep 0.05; done
END
run hang --attempt-timeout 1s --policy "$fast attempts=2" -- "$work/hang"
check "hangs: 124" ended hang 124
check "hangs: tried again" tried 2
check "hangs: SIGTERM each time" lines told 2
anew
run hang --timeout 1s --policy "$fast" -- "$work/hang"
check "hangs for good: 124" ended hang 124
check "hangs for good: why" shows hang.err "status 124, deadline"
check "hangs for good: one try" tried 1
anew
run not124 --attempt-timeout 1s --on 1 --policy "$fast attempts=2" -- "$work/hang"
check "hangs, but 124 is not to be retried" tried 1
anew
run last_token --attempt-timeout 200ms --timeout 20s --budget capacity=1 --policy "$fast" -- "$work/hang"
check "hangs, and no token is left: the last try has no more time" tried 2
check "hangs, and no token is left: why" shows last_token.err "try 2: status 124, retry budget exhausted"
anew
# A child that hangs while its parent has ended goes with it, and one that will not go is killed.
program family <<'END'
sh -c 'trap "" TERM; echo $$ >>"$1"; while :; do sleep 0.1; done' - "${0%/*}/pids" &
wait
END
run family --attempt-timeout 1s --policy "$fast attempts=1" -- "$work/family"
check "its children: 124" ended family 124
check "its children: none is left" gone "$(cat "$work/pids")"
anew

# ---- Input and output ----

echo "some input" >"$work/some"
"$retry" --policy "$fast attempts=3" -- sh -c 'cat; exit 1' <"$work/some" >"$work/file.out" 2>/dev/null
check "a file: each try reads it" is file.out "$(cat "$work/some" "$work/some" "$work/some")"
cat "$work/some" | "$retry" --policy "$fast attempts=3" -- sh -c 'cat; exit 1' >"$work/pipe.out" 2>/dev/null
check "a pipe: each try reads it" is pipe.out "$(cat "$work/some" "$work/some" "$work/some")"
seq 100000 >"$work/much"
{
    read -r first
    "$retry" --policy "$fast attempts=2" -- sh -c 'cksum; exit 1' 2>/dev/null
} <"$work/much" >"$work/offset.out"
check "a file that was begun: from there on" is offset.out \
    "$(for _ in 1 2; do tail -n +2 "$work/much" | cksum; done)"
cat "$work/much" | "$retry" --policy "$fast attempts=2" -- sh -c 'cksum; exit 1' >"$work/much.out" 2>/dev/null
check "much in a pipe" is much.out "$(for _ in 1 2; do cksum <"$work/much"; done)"
run closed --policy "$fast attempts=2" -- sh -c 'cat; exit 1' <&-
check "no input at all" ended closed 1
run last --only-last --policy "$fast attempts=8" -- sh -c 'echo "$(echo >>'"$count"')$(wc -l <'"$count"')"; [ "$(wc -l <'"$count"')" = 3 ]'
check "--only-last: of three" is last.out 3
anew
run last --only-last --policy "$fast attempts=2" -- sh -c 'echo x; exit 1'
check "--only-last: the last that fails, too" is last.out x
check "not --only-last: all" sh -c '[ "$("$1" --quiet --policy "$2 attempts=3" -- sh -c "echo x; exit 1" |
    wc -l)" -eq 3 ]' - "$retry" "$fast"

# ---- Retry-After ----

wait_of() { sed -n '1s/.*again in \([0-9.]*\) s$/\1/p' "$work/$1.err"; }
run slip --retry-after-from 3 --timeout 1s --policy "$fast attempts=2" -- sh -c 'echo 2 >&3; exit 1'
check "a descriptor: 2 s do not fit into 1 s" shows slip.err 'try 1: status 1, deadline'
run slip --retry-after-from "$work/after" --timeout 1s --policy "$fast" -- sh -c "echo 2 >$work/after; exit 1"
check "a file: 2 s do not fit into 1 s" shows slip.err 'try 1: status 1, deadline'
run slip --retry-after-from "$work/after" --timeout 1h --policy "$fast attempts=2" -- \
    sh -c "[ ! -s $work/after ] && echo nonsense >$work/after; exit 1"
check "a file: what the try before left is gone" shows slip.err 'try 2: status 1, attempts'
check "a file: nonsense is none" test "$(wait_of slip | cut -c 1-4)" = 0.00
run slip --retry-after-from 3 --timeout 1m --policy "$fast" -- \
    sh -c "LC_ALL=C date -u -d '+1 hour' '+%a, %d %b %Y %H:%M:%S GMT' >&3; exit 1"
check "a date in an hour" shows slip.err 'try 1: status 1, deadline'
run slip --retry-after-from 3 --policy "$fast attempts=2 retry-after-max=7ms" -- sh -c 'echo 30 >&3; exit 1'
check "the policy's cap holds" test "$(wait_of slip)" = 0.007

# ---- Tokens ----

run bucket --budget 'capacity=3' --policy "$fast attempts=9" -- false
check "a bucket of three: four tries" lines bucket.err 4
check "a bucket of three: why" shows bucket.err 'try 4: status 1, retry budget exhausted'
program fails <<'END'
exit 1
END
fleet() { # COMMAND: twenty at once
    pids=
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        "$retry" --budget "$budget" --state "$work/state" --policy "$fast" -- "$1" 2>>"$work/fleet.err" &
        pids="$pids $!"
    done
    for pid in $pids; do wait $pid; done
}
budget=capacity=10
fleet "$work/fails"
check "twenty at once: ten retries in all" tried 30
check "twenty at once: none waits for ever" test "$(grep -c "retry budget exhausted" "$work/fleet.err")" -eq 20
anew
fleet "$work/fails"
check "twenty more: the bucket is empty still" tried 20
anew
budget="capacity=10 success=0.5"
fleet true
run earned --budget "$budget" --state "$work/state" --policy "$fast" -- "$work/fails"
check "twenty that worked fill it again" tried 11
anew
# What the clock brings in: a bucket that was empty an hour ago.
echo "0000000000 $(($(date +%s) - 3600))" >"$work/state"
run refill --budget 'capacity=10 per-second=0.001' --state "$work/state" --policy "$fast" -- "$work/fails"
check "an hour at one in 1000 s: three" tried 4
anew
echo "0000000000 $(($(date +%s) + 3600))" >"$work/state"
run future --budget 'capacity=10 per-second=0.001' --state "$work/state" --policy "$fast" -- "$work/fails"
check "a clock that was set back brings nothing in" tried 1
anew
echo "what is this" >"$work/state"
run damaged --budget 'capacity=2' --state "$work/state" --policy "$fast" -- "$work/fails"
check "a damaged file is a full bucket" tried 3
anew
for floor in 0 1000 5000; do
    echo "$floor $(date +%s)" >"$work/state"
    run grpc --budget 'grpc' --state "$work/state" --policy "$fast" -- "$work/fails"
    check "gRPC's bucket, below its floor: $floor" tried 1
    anew
done
run nowhere --budget 'capacity=2' --state "$work/none/state" -- "$work/fails"
check "no such folder: 125" ended nowhere 125
check "no such folder: says so" shows nowhere.err "^retry: $work/none/state: No such file"
check "no such folder: nothing is run" tried 0

# ---- Signals ----

program patient <<'END'
trap 'echo told >>"${0%/*}/traps"; exit 7' TERM
trap 'echo one >>"${0%/*}/traps"' USR1
echo ready >>"${0%/*}/ready"
while :; do sleep 0.05; done
END
: >"$work/ready"
"$retry" --policy "$fast" -- "$work/patient" 2>"$work/patient.err" &
pid=$!
wait_for ready ready
kill -s USR1 $pid
wait_for traps one
kill -s TERM $pid
wait $pid
echo $? >"$work/patient.status"
check "signals: SIGUSR1 and SIGTERM are handed on" is traps "$(printf 'one\ntold')"
check "signals: the command's own status" ended patient 7
check "signals: no further try" tried 1
anew
"$retry" --policy "initial=1h max=1h jitter=none" -- "$work/fails" 2>"$work/wait.err" &
pid=$!
wait_for wait.err "again in 3600.000 s"
kill -s TERM $pid
{ wait $pid; } 2>/dev/null
echo $? >"$work/wait.status"
check "a signal ends the wait" ended wait 143
check "a signal ends the wait: says so" shows wait.err "try 2: status 143, cancelled"
check "a signal ends the wait: no further try" tried 1
anew
: >"$work/ready"
sh -c 'trap "" HUP; exec "$@"' - "$retry" --policy "$fast" -- "$work/patient" 2>"$work/nohup.err" &
pid=$!
wait_for ready ready
kill -s HUP $pid
kill -s TERM $pid
wait $pid
echo $? >"$work/nohup.status"
check "nohup: SIGHUP stays ignored" ended nohup 7
anew

# ---- A terminal, which script(1) makes ----

# on_terminal NAME COMMAND: standard input is typed; what is seen is in NAME
# (SIGINT reaches it even if whoever runs the tests ignores that, as a shell does in the background).
# The shell writes the status down: script(1) at times says 0, if the terminal is closed before its last
# process has ended.
on_terminal() {
    script -qec "trap : INT; env --default-signal=INT $2; echo \$? >'$work/$1.status'" /dev/null \
        >"$work/$1" 2>&1
}
on_terminal countdown "$retry --policy 'initial=1s jitter=none max=1s attempts=2' -- $work/fails" </dev/null
check "a terminal: the wait is counted down" shows countdown 'again in 1 s'
check "a terminal: the last line" shows countdown 'try 2: status 1, attempts exhausted'
anew
program typed <<'END'
trap 'echo told >>"${0%/*}/interrupts"; exit 9' INT
echo ready >>"${0%/*}/ready"
for i in $(seq 400); do sleep 0.05; done
END
: >"$work/ready"
{
    wait_for ready ready
    printf '\003'
    wait_for interrupts told
} | on_terminal interrupted "$retry --policy '$fast' -- $work/typed"
check "Ctrl-C: the command is told once" lines interrupts 1
check "Ctrl-C: its status" ended interrupted 9
check "Ctrl-C: no further try" tried 1
anew
on_terminal reads "$retry --policy '$fast attempts=2' -- sh -c 'read -r line; echo \$line is read; exit 1'" <<'END'
one
two
END
check "a terminal: the first try reads" shows reads "one is read"
check "a terminal: the second reads on" shows reads "two is read"

# ---- Help and errors ----

run help --help
check "--help: 0" ended help 0
check "--help: 80 columns" lacks help.out '.\{81\}'
for option in policy timeout attempt-timeout on not-on retry-after-from budget state only-last quiet help; do
    check "--help: --$option" shows help.out "^  --$option"
done
wrong() { # TEXT ARGUMENT...
    text=$1
    shift
    run wrong "$@"
    check "$*: 125" ended wrong 125
    check "$*: says so" shows wrong.err "$text"
    check "$*: nothing is run" tried 0
}
wrong "see.*--help" --what -- "$work/fails"
wrong "no command" --policy aws
wrong "atempts=3" --policy "aws atempts=3" -- "$work/fails"
wrong "^retry: x: not a number" --budget "cost=1 capacity=x" -- "$work/fails"
wrong "^retry: initial=: not a number" --policy "initial=" -- "$work/fails"
wrong "^retry: cost=1: no preset and no capacity" --budget "cost=1" -- "$work/fails"
for time in "" 1x -1 1d; do
    wrong "^retry: timeout: \(not a number\|unknown unit\)" --timeout "$time" -- "$work/fails"
    wrong "^retry: attempt-timeout: \(not a number\|unknown unit\)" --attempt-timeout "$time" -- "$work/fails"
done
for list in "" 0 256 1, ,1 5-3 1-256 x 1-x 1x 1--2; do
    wrong "no statuses" --on "$list" -- "$work/fails"
    wrong "no statuses" --not-on "$list" -- "$work/fails"
done

finish
