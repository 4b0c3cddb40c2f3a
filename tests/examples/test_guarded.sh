#!/bin/sh
# guarded.c on servers in trouble, which its script starts and judges. Usage: test_guarded.sh PROGRAM
# The figures of a run are compared with those of the same run without gates, never with the clock.
# The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

script=$(dirname "$0")/guarded.sh
cp "$1" "$work/guarded"
cp "$(dirname "$1")/slow_server" "$work"

# run NAME PROGRAM [FAULTS]: output in NAME, exit status in NAME.status
run() {
    FAULTS=${3:-} sh "$script" "$2" >"$work/$1" 2>&1
    echo $? >"$work/$1.status"
}

run sound "$work/guarded"
check "exit status" ended sound 0
check "six verdicts" test "$(grep -c '^kept ' "$work/sound")" -eq 6
check "none broken" lacks sound BROKEN
check "four faults, each with and without" test "$(grep -c ' of ' "$work/sound")" -ge 8
check "80 columns" lacks sound '.\{81\}'
[ "$failed" -eq 0 ] || cat "$work/sound"

# A client that has no gates either is no better than one without.
{ echo '#!/bin/sh' && echo "exec '$work/guarded' \"\$@\" bare"; } >"$work/unguarded"
chmod +x "$work/unguarded"
run open "$work/unguarded" "slow frozen"
check "without gates: exit status" ended open 1
check "without gates: both verdicts are broken" test "$(grep -c '^BROKEN' "$work/open")" -eq 2

# Interrupted: no server is left.
cp "$work/guarded" "$work/cut"
FAULTS=frozen sh "$script" "$work/cut" >"$work/cut.out" 2>&1 &
pid=$!
wait_for cut.run/frozen.out "phase 1"
kill -s TERM $pid
wait $pid
check "interrupted: exit status" test $? -eq 143
server=$(cat "$work/cut.run/server.pid")
check "interrupted: the server is gone" sh -c "! kill -0 $server 2>/dev/null"

"$1" http://127.0.0.1:1/ >"$work/usage" 2>&1
check "too few arguments: exit status" test $? -eq 2

finish
