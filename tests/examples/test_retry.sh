#!/bin/sh
# The command `retry` on real commands. Usage: test_retry.sh PATH_OF_RETRY
# Nothing here looks at the clock, and no terminal is needed: script(1) makes one where it matters.
# The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

retry=$(cd "$(dirname "$1")" && pwd)/${1##*/}
root=$(cd "$(dirname "$0")/../.." && pwd)
fast="initial=1ms max=5ms"
unset TMPDIR RETRY_ATTEMPT RETRY_REASON
exec </dev/null # nothing here reads what is typed to whoever runs it

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
anew() { rm -f "$count" "$work"/ready "$work"/go; }

# program NAME: a command that counts its tries, from standard input
program() {
    { echo '#!/bin/sh' && echo "echo >>$count" && cat; } >"$work/$1"
    chmod +x "$work/$1"
}

# gone PID: not there, or a zombie that nobody has waited for
gone() { [ -n "$1" ] && case $(ps -o stat= -p "$1") in "" | Z*) ;; *) false ;; esac }

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
check "works the third time: says so" shows third.err 'try 3: status 0, done'
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
run late --timeout 1 --policy "initial=1h max=1h jitter=none" -- "$work/third"
check "a wait that does not fit: the command's status" ended late 75
check "a wait that does not fit: a last try in the time that is left" shows late.err 'try 1: status 75, again in 0\.[78]'
run quiet --quiet --policy "$fast attempts=2" -- "$work/third"
check "--quiet" lines quiet.err 0
anew
run quiet -q -n 2 -d 1ms -- "$work/third"
check "-q -n -d: a short option is its long one" lines quiet.err 0
check "-n 2: two tries" tried 2
anew

# ---- The default policy, and what changes it ----

# waits NAME: its waits in ms, a line each
waits() { sed -n 's/.*again in \([0-9]*\)\.\([0-9]*\) s$/\1\2/p' "$work/$1.err" | sed 's/^0*\(.\)/\1/'; }
run default -t 1 -- false
check "the default: a first wait of at most 1 s" test "$(waits default | sed -n 1p || echo 0)" -le 1000
run default --policy "jitter=none" -t 1.5 -- false
check "keys: the first wait stays 1 s" shows default.err "try 1: status 1, again in 1\.000 s"
run default --policy "jitter=none initial=1ms factor=1.1" -- "$work/third"
check "keys: the number of tries stays 8" ended default 0
anew
run default --policy "jitter=none initial=1ms" -- false
check "keys: 8 tries that double" test "$(waits default | tr '\n' ' ')" = "1 2 4 8 16 32 64 "
run default --policy "jitter=none attempts=3" -t 1500ms -- false
check "attempts=3: the first wait stays 1 s" shows default.err "again in 1.000 s"
run default -d 20 -t 1 --policy "jitter=none factor=2 attempts=3" -- false
check "-d 20 stays below 30 s" shows default.err "try 1: status 1, again in 0\.[78]"
run default --policy "retry-after-max=1s,jitter=none,initial=1ms,attempts=2" -- false
check "retry-after-max= is not max=" test "$(waits default)" = 1
run preset --policy "controlled" -n 3 -- false
check "a preset replaces it" test "$(waits preset | tr '\n' ' ')" = "1 10 "
run preset --policy "rfc0049 attempts=12" -- false
check "a preset's keys: its own default" test "$(waits preset | tail -n 1)" -eq 500
run first -d 40 -t 1 --policy jitter=none -- false
check "-d raises the cap" shows first.err "try 1: status 1, again in 0\.[78]"
run least -d 64ms -n 5 --max-delay 100ms -- false
check "half of each wait is not random" test "$(waits least | awk '$1 < 32 || $1 > 100' | wc -l)" -eq 0
check "--max-delay: the longest wait" test "$(waits least | wc -l)" -eq 4
run zero -d 0 -n 30 -- false
check "-d 0: no wait at all" test "$(waits zero | sort -u)" = 0
run delays --delays 1ms,3ms,0.002 -n 6 -- false
check "--delays: as they are, the last again" test "$(waits delays | tr '\n' ' ')" = "1 3 2 2 2 "
run delays --delays 1,5,30 -t 1 -- false
check "--delays: bare numbers are seconds" shows delays.err "try 1: status 1, again in 0\.[78]"
run successes --successes 3 -d 1ms -- "$work/third"
check "--successes 3: after two that fail" tried 5
check "--successes 3: works" ended successes 0
anew
program flaky <<'END'
[ $(($(wc -l <"${0%/*}/count") % 3)) -ne 0 ]
END
run successes --successes 3 -d 1ms -n 8 -- "$work/flaky"
check "--successes 3: they must be in a row" ended successes 1
check "--successes 3: tries count" tried 9
anew
run successes --successes 4 --budget 'capacity=1' -d 1ms -- true
check "--successes: costs no tokens" ended successes 0

# ---- Statuses ----

program status <<'END'
exit $1
END
for status in 1 3 63 65 78 125 128 129 131 137 140 142 255; do
    run status --policy "$fast attempts=2" -- "$work/status" $status
    check "status $status is retried" tried 2
    check "status $status is returned" ended status $status
    anew
done
for status in 2 64 126 127 130 141; do
    run status --policy "$fast attempts=2" -- "$work/status" $status
    check "status $status is final" tried 1
    check "status $status says so" shows status.err "try 1: status $status, no reason to retry"
    anew
done
for pair in 1:2 2:1 74:1 75:2 78:2 79:1; do
    run on --on 1,75-78 --policy "$fast attempts=2" -- "$work/status" ${pair%:*}
    check "--on 1,75-78: status ${pair%:*}" tried ${pair#*:}
    anew
    run on --on 75-78 --on 1 --policy "$fast attempts=2" -- "$work/status" ${pair%:*}
    check "--on 75-78 --on 1: status ${pair%:*}" tried ${pair#*:}
    anew
done
for pair in 1:2 5:1 6:1 7:2 2:1; do
    run not --not-on 5 --not-on 6 --policy "$fast attempts=2" -- "$work/status" ${pair%:*}
    check "--not-on 5 --not-on 6: status ${pair%:*}" tried ${pair#*:}
    anew
done
"$retry" -d 1ms -- sh -c "echo >>'$count'; exec yes" 2>/dev/null | head -n 1 >/dev/null
check "SIGPIPE: the reader has gone, one try" tried 1
anew
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
run hang --attempt-timeout 2 --policy "$fast attempts=2" -- "$work/hang"
check "hangs: 124" ended hang 124
check "hangs: tried again" tried 2
check "hangs: SIGTERM each time" lines told 2
check "hangs: says so" shows hang.err "try 1: timed out, again in"
anew
run hang -t 2 --policy "$fast" -- "$work/hang"
check "hangs for good: 124" ended hang 124
check "hangs for good: why" shows hang.err "timed out, deadline"
check "hangs for good: one try" tried 1
anew
run bare -t 5 -- sh -c 'sleep 0.2; exit 0'
check "--timeout 5 is not 5 ms" ended bare 0
run bare --attempt-timeout 5 -- sh -c 'sleep 0.2; exit 0'
check "--attempt-timeout 5 is not 5 ms" ended bare 0
run not124 --attempt-timeout 2 --on 1 --policy "$fast attempts=2" -- "$work/hang"
check "hangs, but 124 is not to be retried" tried 1
anew
run last_token --attempt-timeout 1s --timeout 60s --budget capacity=1 --policy "$fast" -- "$work/hang"
check "hangs, and no token is left: the last try has no more time" tried 2
check "hangs, and no token is left: why" shows last_token.err "try 2: timed out, retry budget exhausted"
anew
# A child that hangs while its parent has ended goes with it, and one that will not go is killed.
program family <<'END'
sh -c 'trap "" TERM; echo $$ >>"$1"; while :; do sleep 0.1; done' - "${0%/*}/pids" &
wait
END
run family --attempt-timeout 2s --policy "$fast attempts=1" -- "$work/family"
check "its children: 124" ended family 124
check "its children: none is left" gone "$(cat "$work/pids")"
anew
# Tries do not overlap: whoever begins finds the worker of the try before gone.
program overlap <<'END'
for pid in $(cat "${0%/*}/workers" 2>/dev/null); do
    ! kill -0 "$pid" 2>/dev/null || echo "$pid" >>"${0%/*}/overlapped"
done
sleep 1000 &
echo $! >>"${0%/*}/workers"
[ -z "$1" ] || wait
exit 1
END
run overlap -n 3 -d 1ms -- "$work/overlap"
check "a worker that a failed try has left is ended" test ! -e "$work/overlapped"
run overlap -n 3 -d 1ms --attempt-timeout 2 -- "$work/overlap" wait
check "a worker of a try whose time is up is ended" test ! -e "$work/overlapped"
check "six workers in all" lines workers 6
anew
run daemon -- sh -c "sleep 1000 >/dev/null 2>&1 & echo \$! >'$work/daemon'"
check "a daemon that works is left alone" kill -0 "$(cat "$work/daemon")"
kill "$(cat "$work/daemon")"
run session -n 2 -d 1ms -- setsid "$work/status" 3
check "setsid: what it forks is not seen" ended session 0
wait_for count ''
anew
run session -n 2 -d 1ms -- setsid -w "$work/status" 3
check "setsid -w: its status is" tried 2
anew

# ---- Input and output ----

echo "some input" >"$work/some"
"$retry" -qn 3 -d 1ms -- sh -c 'read -r line; echo $line; exit 1' <<'END' >"$work/untouched.out"
one
two
three
END
check "standard input: each try reads on" is untouched.out "$(printf 'one\ntwo\nthree')"
printf 'one\ntwo\n' | { "$retry" -- true; cat; } >"$work/untouched.out"
check "standard input: what no try has read is there afterwards" is untouched.out "$(printf 'one\ntwo')"
cat "$work/some" | "$retry" --stdin --policy "$fast attempts=3" -- sh -c 'cat; exit 1' >"$work/pipe.out" 2>/dev/null
check "--stdin: each try reads it" is pipe.out "$(cat "$work/some" "$work/some" "$work/some")"
seq 100000 >"$work/much"
cat "$work/much" | "$retry" --stdin -qn 3 -d 1ms -- sh -c 'cksum; exit 1' >"$work/much.out"
check "--stdin: much" is much.out "$(for _ in 1 2 3; do cksum <"$work/much"; done)"
{
    read -r first
    "$retry" --stdin -qn 2 -d 1ms -- sh -c 'cksum; exit 1'
} <"$work/much" >"$work/offset.out"
check "--stdin: a file that was begun, from there on" is offset.out \
    "$(for _ in 1 2; do tail -n +2 "$work/much" | cksum; done)"
# Each try takes one line more than the last before it fails: what was read is played again.
cat "$work/much" | "$retry" --stdin -qn 4 -d 1ms -- sh -c '
    head -n $((RETRY_ATTEMPT * 20000)) | tail -n 1
    [ $RETRY_ATTEMPT -eq 4 ]' >"$work/further.out"
check "--stdin: each try gets further" is further.out "$(printf '20000\n40000\n60000\n80000')"
# It stays open, as under ssh and in CI: the command begins, and its timeout counts.
mkfifo "$work/open"
"$retry" --stdin -qn 2 -d 1ms --attempt-timeout 1 -- sh -c "echo >>'$count'; cat" <"$work/open" >"$work/open.out" &
pid=$!
exec 8>"$work/open"
echo live >&8
wait $pid
echo $? >"$work/open.status"
exec 8>&-
check "--stdin that stays open: its time is up" ended open 124
check "--stdin that stays open: two tries" tried 2
check "--stdin that stays open: each has read it" is open.out "$(printf 'live\nlive')"
anew
# A try reads what is there, and the next one that again, and then what comes.
"$retry" --stdin -qn 2 -d 1ms -- sh -c "read -r a; echo first \$a; echo >'$work/go'; [ \$RETRY_ATTEMPT = 2 ] &&
    read -r b && echo then \$b" <"$work/open" >"$work/live.out" &
pid=$!
exec 8>"$work/open"
echo 1 >&8
wait_for go ''
echo 2 >&8
exec 8>&-
wait $pid
check "--stdin: played again, then live" is live.out "$(printf 'first 1\nfirst 1\nthen 2')"
anew
"$retry" --stdin -- sh -c 'exec <&-; exit 0' <"$work/much"
check "--stdin: who does not read is not waited for" test $? -eq 0
yes | "$retry" --stdin -qn 2 -d 1ms -- head -n 1 >"$work/yes.out"
check "--stdin without an end" is yes.out y
(ulimit -f 1 && cat "$work/much" | "$retry" --stdin -- cat >/dev/null 2>"$work/record.err")
check "--stdin that cannot be recorded: 125" test $? -eq 125
check "--stdin that cannot be recorded: says so" shows record.err "--stdin: cannot be recorded"
mkdir "$work/folder"
TMPDIR=$work/folder run folder --stdin -- sh -c "ls '$work/folder'" <"$work/some"
check "--stdin: the record has no name" is folder.out ""
TMPDIR=$work/none run folder --stdin -- true <"$work/some"
check "--stdin: the record is in TMPDIR" shows folder.err "$work/none/retry"

run last --only-last --policy "$fast attempts=8" -- sh -c 'echo "$(echo >>'"$count"')$(wc -l <'"$count"')"; [ "$(wc -l <'"$count"')" = 3 ]'
check "--only-last: of three" is last.out 3
anew
run last --only-last --policy "$fast attempts=2" -- sh -c 'echo x; exit 1'
check "--only-last: the last that fails, too" is last.out x
run last -n 3 -d 1ms -- sh -c 'echo x; exit 1'
check "not --only-last: all" lines last.out 3
"$retry" -- sh -c "echo begun; while [ ! -e '$work/go' ]; do sleep 0.05; done" >"$work/streamed" &
wait_for streamed begun
check "not --only-last: it is streamed" shows streamed begun
: >"$work/go"
wait $!
anew
if [ -w /dev/full ]; then
    "$retry" --only-last -- echo x >/dev/full 2>"$work/last.err"
    check "--only-last: a full disk" test $? -eq 125
    check "--only-last: a full disk, in words" shows last.err "standard output: No space"
fi
"$retry" --only-last -- "$work/third" >&- 2>"$work/last.err"
check "--only-last: output is closed, 125" test $? -eq 125
check "--only-last: output is closed, in words" shows last.err "^retry: --only-last: standard output: closed"
"$retry" --only-last -- "$work/third" 1</dev/null 2>"$work/last.err"
check "--only-last: output cannot be written" test $? -eq 125
check "--only-last: nothing was run" tried 0

# ---- Until it prints ----

program prints <<'END'
printf 'before\ntry %s' "$(wc -l <"${0%/*}/count")"
END
run until --policy "$fast attempts=8" --until-output '^try [3-9]$' -- "$work/prints"
check "--until-output: its status" ended until 0
check "--until-output: three tries" tried 3
check "--until-output: the last one's output" is until.out "before
try 3"
check "--until-output: the tries before" shows until.err 'try 2: status 1, again in'
anew
run until --policy "$fast attempts=2" --until-output 'before.try' -- "$work/prints"
check "--until-output: within a line, status 1" ended until 1
check "--until-output: within a line, two tries" tried 2
check "--until-output: the last one's output, too" is until.out "before
try 2"
anew
run until --policy "$fast attempts=3" --until-output before -- sh -c 'echo before; exit 3'
check "--until-output: who prints it and fails has failed" ended until 3
run until --policy "$fast" --until-output '' -- "$work/prints"
check "--until-output: an empty pattern is in each line" tried 1
anew
run until --policy "$fast attempts=2" --until-output '' -- true
check "--until-output: there is no line" ended until 1
run until --policy "$fast attempts=2" --until-output 'tried' --on-retry 'echo tried' -- "$work/prints"
check "--until-output: what a hook prints is not its output" ended until 1
anew
run until --policy "$fast attempts=2" --until-output 'x' -- sh -c "sleep 1000 & echo \$! >>$work/left; echo y"
check "--until-output: what did not print it leaves nothing" gone "$(head -n 1 "$work/left")"
run until --policy "$fast attempts=9" --on 75 --until-output x -- "$work/prints"
check "--until-output: status 1 may be final" tried 1
anew
run until --policy "$fast" --until-output '^ready$' -- printf 'a\0b\nready\n'
check "--until-output: behind a NUL" ended until 0
"$retry" --until-output x -- "$work/prints" >&- 2>"$work/until.err"
check "--until-output: output is closed" shows until.err "standard output: closed"

# ---- Environment, hooks ----

run variables -n 3 -d 1ms -- sh -c 'echo "$RETRY_ATTEMPT: $RETRY_REASON"; exit $((RETRY_ATTEMPT + 2))'
check "RETRY_ATTEMPT and RETRY_REASON" is variables.out "$(printf '1: \n2: status 3\n3: status 4')"
run variables -n 2 -d 1ms --attempt-timeout 1 -- sh -c 'echo "$RETRY_REASON"; sleep 1000'
check "RETRY_REASON after a timeout" is variables.out "$(printf '\ntimed out')"
run inner -- "$retry" -d 1ms -- sh -c 'echo $RETRY_ATTEMPT; [ $RETRY_ATTEMPT = 2 ]'
check "one in another: each its own" is inner.out "$(printf '1\n2')"
run hooks -n 3 -d 1ms --on-retry 'echo "again $RETRY_ATTEMPT, $RETRY_REASON"' \
    --on-failure 'echo "over $RETRY_ATTEMPT, $RETRY_REASON"; exit 9' -- sh -c 'cat; exit 5' <"$work/some"
check "hooks: in this order" is hooks.err "$(sed 's/in [0-9.]* s/in x/' "$work/hooks.err" >"$work/h"
    mv "$work/h" "$work/hooks.err"
    echo "retry: sh: try 1: status 5, again in x
again 1, status 5
retry: sh: try 2: status 5, again in x
again 2, status 5
retry: sh: try 3: status 5, attempts exhausted
over 3, status 5")"
check "hooks: standard output is the command's" is hooks.out "some input"
check "hooks: the status is the command's" ended hooks 5
run hooks --on-retry 'cat' --on-failure 'echo never' -- true <"$work/some"
check "hooks: not for what works" is hooks.err ""
"$retry" -qn 2 -d 1ms --on-retry cat -- sh -c 'cat; exit 1' <"$work/some" >"$work/hooks.out"
check "hooks: they do not read the command's input" is hooks.out "some input"
run hooks -n 2 -d 1ms --attempt-timeout 0.5 --on-retry 'sleep 1000' -- false
check "hooks: one that hangs is ended" shows hooks.err "try 2: status 1, attempts exhausted"

# ---- Retry-After ----

run slip --retry-after-from 3 -t 1 --policy "$fast attempts=2" -- sh -c 'echo 2 >&3; exit 1' 3>/dev/null
check "a descriptor: 2 s do not fit into 1 s" shows slip.err 'try 1: status 1, deadline'
run slip --retry-after-from 1 -t 1 --policy "$fast attempts=2" -- sh -c 'echo 2; exit 1'
check "its standard output" shows slip.err 'try 1: status 1, deadline'
run slip --retry-after-from "$work/after" -t 1 --policy "$fast" -- sh -c "echo 2 >$work/after; exit 1"
check "a file: 2 s do not fit into 1 s" shows slip.err 'try 1: status 1, deadline'
run slip --retry-after-from "$work/after" -t 1 --policy "$fast" -- \
    sh -c "echo 2 >$work/after2; mv $work/after2 $work/after; exit 1"
check "a file that is moved there" shows slip.err 'try 1: status 1, deadline'
run slip --retry-after-from "$work/after" -t 1h --policy "$fast attempts=2" -- \
    sh -c "[ ! -s $work/after ] && echo nonsense >$work/after; exit 1"
check "a file: what the try before left is gone" shows slip.err 'try 2: status 1, attempts'
check "a file: nonsense is none" test "$(waits slip)" -le 1
run slip --retry-after-from 3 -t 1m --policy "$fast" -- \
    sh -c "LC_ALL=C date -u -d '+1 hour' '+%a, %d %b %Y %H:%M:%S GMT' >&3; exit 1" 3>/dev/null
check "a date in an hour" shows slip.err 'try 1: status 1, deadline'
run slip --retry-after-from 3 --policy "$fast attempts=2 retry-after-max=7ms" -- sh -c 'echo 30 >&3; exit 1' 3>/dev/null
check "the policy's cap holds, but for a quarter at random" test "$(waits slip)" -ge 7 -a "$(waits slip)" -le 9

# ---- Tokens ----

run bucket --budget 'capacity=3' --policy "$fast attempts=9" -- false
check "a bucket of three: four tries" lines bucket.err 4
check "a bucket of three: why" shows bucket.err 'try 4: status 1, retry budget exhausted'
program fails <<'END'
exit 1
END
many="$fast attempts=0"
fleet() { # COMMAND: twenty at once
    pids=
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        "$retry" --budget "$budget" --state "$work/state" --policy "$many" -- "$@" 2>>"$work/fleet.err" &
        pids="$pids $!"
    done
}
joined() { for pid in $pids; do wait $pid; done; } 2>/dev/null
budget=capacity=10
fleet "$work/fails"
joined
check "twenty at once: ten retries in all" tried 30
check "twenty at once: none waits for ever" test "$(grep -c "retry budget exhausted" "$work/fleet.err")" -eq 20
anew
fleet "$work/fails"
joined
check "twenty more: the bucket is empty still" tried 20
anew
budget="capacity=10 success=0.5"
fleet true
joined
run earned --budget "$budget" --state "$work/state" --policy "$many" -- "$work/fails"
check "twenty that worked fill it again" tried 11
anew
# Ten of twenty are killed. Each may take one token along that it has paid with, and no more.
rm "$work/state"
budget=capacity=200
many="jitter=none initial=50ms max=50ms attempts=0"
fleet sh -c "[ \$RETRY_ATTEMPT = 1 ] || echo >>'$count'; exit 1"
wait_for count ''
for pid in $(echo $pids | cut -d ' ' -f 1-10); do kill -s KILL $pid; done
check "kill -9: it hit all ten" test $? -eq 0
joined
many="$fast attempts=0"
made=$(wc -l <"$count")
check "kill -9: the bucket is empty at the end" shows state '^0000000000 '
check "kill -9: never a retry too many ($made)" test "$made" -le 200
check "kill -9: of those killed one each at most is lost ($made)" test "$made" -ge 190
anew
# What the clock brings in: a bucket that was empty an hour ago.
holds() { printf '%010d %020d\n' "$1" "$2" >"$work/state"; }
holds 0 $(($(date +%s) - 3600))
run refill --budget 'capacity=10 per-second=0.001' --state "$work/state" --policy "$many" -- "$work/fails"
check "an hour at one in 1000 s: three" tried 4
anew
holds 0 $(($(date +%s) + 3600))
run future --budget 'capacity=10 per-second=0.001' --state "$work/state" --policy "$many" -- "$work/fails"
check "a clock that was set back brings nothing in" tried 1
anew
holds 5000 "$(date +%s)"
run expire --budget 'best-effort expire=1h' --state "$work/state" --policy "$many" -- "$work/fails"
check "tokens that expire: those of the file, not a new bucket's" tried 21
anew
rm "$work/state"
run expire --budget 'best-effort' --state "$work/state" --policy "$many" -- "$work/fails"
check "tokens that expire: a new bucket has one, for four retries" tried 5
anew
for floor in 0 1000 5000; do
    holds $floor "$(date +%s)"
    run grpc --budget 'grpc' --state "$work/state" --policy "$many" -- "$work/fails"
    check "gRPC's bucket, below its floor: $floor" tried 1
    anew
done

# ---- A state file that is of no use: one warning, and a bucket of one's own ----

# alone NAME TEXT: it was warned once, and made the retries of a bucket of two
alone() {
    check "$1: warned once" test "$(grep -c '^retry: --state: .*: going on without it$' "$work/$1.err")" -eq 1
    check "$1: says why" shows "$1.err" "^retry: --state: .*: $2: going on"
    check "$1: goes on" tried 3
    check "$1: its status" ended "$1" 1
    anew
}
echo "what is this" >"$work/state"
run damaged --budget 'capacity=2' --state "$work/state" --policy "$many" -- "$work/fails"
alone damaged "these are no tokens"
check "damaged: it is left as it is" is state "what is this"
run nowhere --budget 'capacity=2' --state "$work/none/state" --policy "$many" -- "$work/fails"
alone nowhere "No such file.*"
run directory --budget 'capacity=2' --state "$work/folder" --policy "$many" -- "$work/fails"
alone directory "Is a directory"
if [ -w /dev/full ]; then
    run full --budget 'capacity=2' --state /dev/full --policy "$many" -- "$work/fails"
    alone full "these are no tokens"
fi
# A disk without a free byte, seen by nobody else: root may mount one, others in a namespace of theirs.
for unshare in "unshare -m" "unshare -rm"; do
    $unshare sh -c "mount -t tmpfs none '$work/folder'" 2>/dev/null && break || unshare=
done
if [ -n "$unshare" ]; then
    cat >"$work/disk.sh" <<END
mount -t tmpfs -o size=4k none '$work/folder' && cat /dev/zero >'$work/folder/fill' 2>/dev/null
exec '$retry' --budget capacity=2 --state '$work/folder/state' --policy '$many' -- '$work/fails'
END
    $unshare sh "$work/disk.sh" >/dev/null 2>"$work/disk.err"
    echo $? >"$work/disk.status"
    alone disk "No space left.*"
else
    echo "a full disk: left out, as nothing may be mounted here"
fi
cat >"$work/lock.c" <<'END'
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words) /* locks a file and runs a command */
{
    return count < 3 || lockf(open(words[1], O_RDWR), F_LOCK, 0) || system(words[2]);
}
END
: >"$work/state"
check "a program that locks" makes "$work/lock" ${CC:-cc} "$work/lock.c"
cat >"$work/locked.sh" <<END
'$retry' --budget capacity=2 --state '$work/state' --policy '$many' -- '$work/fails' 2>'$work/locked.err'
echo \$? >'$work/locked.status'
END
"$work/lock" "$work/state" "sh '$work/locked.sh'"
alone locked "Resource temporarily unavailable"
cat >"$work/signalled.sh" <<END
'$retry' --budget capacity=2 --state '$work/state' -- '$work/fails' 2>'$work/signalled.err' &
pid=\$!
kill -s TERM \$pid
wait \$pid
echo \$? >'$work/signalled.status'
END
"$work/lock" "$work/state" "sh '$work/signalled.sh'" 2>/dev/null
check "a signal ends the wait for the lock" ended signalled 143
check "a signal ends the wait for the lock: no try" tried 0

# ---- Closed descriptors ----

rm -f "$work/state"
for closed in '<&-' '>&-' '2>&-' '<&- >&-' '>&- 2>&-' '<&- >&- 2>&-'; do
    (eval "exec $closed" && exec "$retry" --budget capacity=5 --state "$work/state" --policy "$fast attempts=2" -- \
        sh -c 'echo output; echo error >&2; cat; exit 1') >>"$work/closed.out" 2>>"$work/closed.err"
    check "closed $closed: its status" test $? -eq 1
    check "closed $closed: the state file has its tokens" sh -c "grep -qx '[0-9]\{10\} [0-9]\{20\}' '$work/state' &&
        [ \$(wc -c <'$work/state') -eq 32 ]"
    rm "$work/state"
done

# ---- Signals ----

program patient <<'END'
trap 'echo told >>"${0%/*}/traps"; exit 7' TERM
trap 'echo one >>"${0%/*}/traps"' USR1
echo ready >>"${0%/*}/ready"
while :; do sleep 0.05; done
END
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
"$retry" --policy "initial=1h max=1h jitter=none" --on-failure 'echo hook' -- "$work/fails" 2>"$work/wait.err" &
pid=$!
wait_for wait.err "again in 3600.000 s"
kill -s TERM $pid
{ wait $pid; } 2>/dev/null
echo $? >"$work/wait.status"
check "a signal ends the wait" ended wait 143
check "a signal ends the wait: says so" shows wait.err "try 1: status 143, cancelled"
check "a signal ends the wait: no further try" tried 1
check "a signal ends the wait: no --on-failure" lacks wait.err hook
anew
"$retry" -d 1ms --on-retry "echo ready >'$work/ready'; sleep 1000" -- "$work/fails" 2>"$work/hook.err" &
pid=$!
wait_for ready ready
kill -s TERM $pid
{ wait $pid; } 2>/dev/null
echo $? >"$work/hook.status"
check "a signal ends a hook" ended hook 143
check "a signal ends a hook: no further try" tried 1
anew
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

# on_terminal NAME: runs the script NAME.sh there; standard input is typed; what is seen is in NAME.
# (Who runs the tests in the background has SIGINT ignored, which no shell can undo.)
on_terminal() {
    timeout 60 script -qec "env --default-signal sh '$work/$1.sh'" /dev/null >"$work/$1" 2>&1
}
program typed <<'END'
trap 'echo told >>"${0%/*}/interrupts"; exit 9' INT
echo ready >>"${0%/*}/ready"
while :; do sleep 0.05; done
END
cat >"$work/interrupted.sh" <<END
trap : INT
'$retry' --policy '$fast' -- '$work/typed'
echo \$? >'$work/interrupted.status'
END
{
    wait_for ready ready
    printf '\003'
    wait_for interrupts told
} | on_terminal interrupted
check "^C: the command is told once" lines interrupts 1
check "^C: its status" ended interrupted 9
check "^C: no further try" tried 1
anew
# A command that does not handle it ends, and so does the script that runs retry.
program sleeper <<'END'
echo $$ $PPID >>"${0%/*}/ready"
sleep 1000
END
cat >"$work/script.sh" <<END
'$retry' --policy '$fast' -- '$work/sleeper'
echo survived
END
{
    wait_for ready .
    printf '\003'
} | on_terminal script
check "^C in a script: one try" tried 1
check "^C in a script: it ends with the command" lacks script survived
anew
sed 's/ -- / -- /; s/$/ <\/dev\/null/; 2s/ <.*//' "$work/script.sh" >"$work/redirected.sh"
{
    wait_for ready .
    printf '\003'
} | on_terminal redirected
check "^C, input from a file: one try" tried 1
check "^C, input from a file: the script ends, too" lacks redirected survived
anew
cat >"$work/between.sh" <<END
'$retry' --policy 'initial=1h max=1h jitter=none' -- '$work/status' 3
echo survived
END
{
    wait_for between "again in"
    printf '\003'
} | on_terminal between
check "^C between two tries: one try" tried 1
check "^C between two tries: it ends" lacks between survived
anew
cat >"$work/reads.sh" <<END
'$retry' --policy '$fast attempts=2' -- sh -c 'read -r line; echo \$line is read; exit 1'
'$retry' --policy '$fast attempts=1' -- sh -c 'read -r line </dev/tty; echo \$line is read' </dev/null
'$retry' --stdin --policy '$fast attempts=2' -- sh -c 'read -r line; echo \$line is read again; exit 1'
END
printf 'one\ntwo\nthree\nfour\n' | on_terminal reads
check "a terminal: the first try reads" shows reads "one is read"
check "a terminal: the second reads on" shows reads "two is read"
check "a terminal: as /dev/tty, too" shows reads "three is read"
check "a terminal: --stdin" test "$(grep -c "four is read again" "$work/reads")" -eq 2
cat >"$work/group.sh" <<END
'$retry' -n 3 -d 1ms --attempt-timeout 2 -- '$work/overlap' wait
echo \$? >'$work/group.status'
END
rm "$work/workers"
on_terminal group </dev/null
check "a terminal: three workers, each ended with its try" lines workers 3
check "a terminal: none overlaps" test ! -e "$work/overlapped"
check "a terminal: 124" ended group 124
anew
# ^Z stops the command and retry; fg goes on with both.
program stopped <<'END'
echo $$ >"${0%/*}/ready"
while [ ! -e "${0%/*}/go" ]; do sleep 0.05; done
END
cat >"$work/job.sh" <<END
set -m
'$retry' --policy '$fast' -- '$work/stopped'
echo \$? >'$work/job.stopped'
ps -o stat= -p "\$(cat '$work/ready')" >'$work/job.stat'
: >'$work/go'
fg >/dev/null
echo \$? >'$work/job.status'
END
{
    wait_for ready .
    printf '\032'
    wait_for job.status .
} | on_terminal job
check "^Z: the shell sees it stopped" is job.stopped 148
check "^Z: the command is stopped" shows job.stat '^T'
check "fg: it goes on, and works" ended job 0
check "fg: it was one try" tried 1
anew
# In the background it goes on without the terminal, until it wants it, as any other command does.
cat >"$work/background.sh" <<END
set -m
'$retry' --policy '$fast' -- sh -c 'echo ready >"$work/ready"; read -r line; echo \$line is read' &
while [ ! -e '$work/ready' ]; do sleep 0.05; done
while ps -o stat= -p \$! | grep -v '^T' >/dev/null; do sleep 0.05; done
fg >/dev/null
echo \$? >'$work/background.status'
END
printf 'typed\n' | on_terminal background
check "&, fg: it reads" shows background "typed is read"
check "&, fg: it works" ended background 0
anew
# The terminal goes: its command does, and is not tried again.
cat >"$work/closing.sh" <<END
'$retry' --policy '$fast' -- '$work/sleeper'
END
{ on_terminal closing; } <"$work/open" 2>/dev/null &
exec 8>"$work/open"
wait_for ready .
kill -s KILL $(ps -eo pid=,args= | awk -v file="$work/closing.sh" '/[s]cript -qec/ && index($0, file) { print $1 }')
exec 8>&-
wait
check "a terminal that is closed: the command is gone" eventually gone "$(cut -d ' ' -f 1 "$work/ready")"
check "a terminal that is closed: so is retry" eventually gone "$(cut -d ' ' -f 2 "$work/ready")"
check "a terminal that is closed: one try" tried 1
anew

# ---- Help and errors ----

run help --help
check "--help: 0" ended help 0
check "--help: 80 columns" lacks help.out '.\{81\}'
check "--help: 40 lines" test "$(wc -l <"$work/help.out")" -le 40
check "--help: examples first" sh -c "sed '/--timeout TIME/q' '$work/help.out' | grep -q '^  retry .*curl'"
options="timeout attempts delay delays attempt-timeout successes until-output on not-on stdin only-last on-retry on-failure policy
    budget state retry-after-from quiet version max-delay help"
for option in $options; do check "--help: --$option" shows help.out "^  .*--$option "; done
check "--help: no other option" test "$(grep -c '^  .. *--\|^  -., --' "$work/help.out")" -eq "$(echo $options | wc -w)"
run version --version
check "--version" sh -c "sed -n 's/^#define RETRY_VERSION_[MP][A-Z]* //p' '$root/retry.h' | paste -s -d . |
    sed 's/^/retry /' | cmp -s - '$work/version.out'"
run line "a | b"
check "a shell line: 127" ended line 127
check "a shell line: says how" shows line.err "for a shell line: sh -c$"
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
wrong "^retry: --until-output: (: no extended regular expression$" --until-output '(' -- "$work/fails"
wrong "^retry: --retry-after-from: 1: --until-output looks there" --until-output x --retry-after-from 1 -- "$work/fails"
wrong "^retry: --policy: atempts=3: unknown word" --policy "aws atempts=3" -- "$work/fails"
wrong "^retry: --policy: atempts=3: unknown word" --policy "atempts=3" -- "$work/fails"
wrong "^retry: --policy: aws: a preset must come first" --policy "attempts=3 aws" -- "$work/fails"
wrong "^retry: --policy: 30s: initial above max" --policy "initial=40s max=30s" -- "$work/fails"
wrong "^retry: --budget: x: not a number" --budget "cost=1 capacity=x" -- "$work/fails"
wrong "^retry: --policy: initial=: not a number" --policy "initial=" -- "$work/fails"
wrong "^retry: --budget: cost=1: no preset and no capacity" --budget "cost=1" -- "$work/fails"
for key in initial min max throttled retry-after-max retry-after-slack; do
    wrong "^retry: --policy: $key=100.*: .*unit: ms, s, m or h" --policy "attempts=2 $key=100, jitter=none" -- "$work/fails"
done
wrong "^retry: --budget: expire=1.5: .*unit" --budget "capacity=2 expire=1.5" -- "$work/fails"
for time in "" 1x -1 1y . 1,2; do
    wrong "^retry: --timeout: .*: \(not a number\|units: d h m s.*\|too many\)$" --timeout "$time" -- "$work/fails"
    wrong "^retry: --delay: " -d "$time" -- "$work/fails"
    wrong "^retry: --attempt-timeout: " --attempt-timeout "$time" -- "$work/fails"
done
wrong "^retry: --delays: " --delays "1,,2" -- "$work/fails"
for number in "" x -1 1.5 4294967296; do
    wrong "^retry: --attempts: .*not a whole number" -n "$number" -- "$work/fails"
    wrong "^retry: --successes: .*not a whole number" --successes "$number" -- "$work/fails"
done
for list in "" 0 256 1, ,1 5-3 1-256 x 1-x 1x 1--2; do
    wrong "^retry: --on: .*no statuses" --on "$list" -- "$work/fails"
    wrong "^retry: --not-on: .*no statuses" --not-on "$list" -- "$work/fails"
done
wrong "^retry: --retry-after-from: 9: Bad file descriptor" --retry-after-from 9 -- "$work/fails"
wrong "^retry: --retry-after-from: 99999999: Bad file" --retry-after-from 99999999 -- "$work/fails"
wrong "^retry: --state: .*: it needs --budget" --state "$work/state" -- "$work/fails"

# ---- Manual page, completion, installation ----

unset MAKE MAKEFLAGS MFLAGS MAKELEVEL DESTDIR PREFIX
check "make install-retry" quiet make -s -C "$root" install-retry PREFIX=/usr DESTDIR="$work/stage"
check "installed: these files" test "$(cd "$work/stage" && find . -type f | sort | tr '\n' ' ')" = \
    "./usr/bin/retry ./usr/share/bash-completion/completions/retry ./usr/share/man/man1/retry.1 "
check "installed: it runs" "$work/stage/usr/bin/retry" true
page=$work/stage/usr/share/man/man1/retry.1
check "manual page: its version" grep -q '^\.TH RETRY 1 "" "retry [0-9.]*" ' "$page"
if command -v man >/dev/null; then
    MANWIDTH=80 man --warnings -l "$page" >"$work/page" 2>"$work/page.err"
    check "manual page: no warnings" test ! -s "$work/page.err"
    for option in $options; do
        check "manual page: --$option" grep -q -e "^ *\(-., \)\?--$option" "$work/page"
    done
    for word in "EXIT STATUS" RETRY_ATTEMPT "retry setsid" "Debian has a package" kadwanev joshdk minfrin; do
        check "manual page: $word" shows page "$word"
    done
else
    echo "the manual page: left out, as there is no man here"
fi
# completes RESULT WORD...: what bash makes of the last word
completes() {
    expected=$1
    shift
    is_result=$(PATH=$work/stage/usr/bin:$PATH bash --norc -c '. "$1" && shift && COMP_WORDS=(retry "$@") &&
        COMP_CWORD=$# && _retry && printf "%s" "${COMPREPLY[*]}"' - \
        "$work/stage/usr/share/bash-completion/completions/retry" "$@")
    [ "$is_result" = "$expected" ] || { echo "got: $is_result"; false; }
}
if command -v bash >/dev/null; then
    check "completion: an option" completes --attempt-timeout --attempt-
    check "completion: two" completes "--delay --delays" --del
    check "completion: a short one" completes -n -n
    check "completion: behind an option's argument" completes --successes --delay 5 -q --suc
    check "completion: behind a short option's argument" completes --successes -n 5 --suc
    check "completion: the command" completes "$(echo $(bash -c 'compgen -c mkfif'))" -n 5 --stdin mkfif
    check "completion: none for the command's own options" completes "" -q ls --attempt-
    check "completion: none for an argument" completes "" --policy --att
fi

check "make uninstall" quiet make -s -C "$root" uninstall PREFIX=/usr DESTDIR="$work/stage"
check "uninstalled: no file stays" test -z "$(find "$work/stage" -type f)"
finish
