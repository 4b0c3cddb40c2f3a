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

# A client that has no gates either is no better than one without.
{ echo '#!/bin/sh' && echo "exec '$work/guarded' \"\$@\" bare"; } >"$work/unguarded"
chmod +x "$work/unguarded"
run open "$work/unguarded" "slow frozen"
check "without gates: exit status" ended open 1
check "without gates: both verdicts are broken" test "$(grep -c '^BROKEN' "$work/open")" -eq 2

# A client that prints these results, with gates and without, and where each promise ends.
cat >"$work/says" <<END
#!/bin/sh
printf 'phase 1\nphase 2\n'
case "\$*" in *bare) cat "$work/bare" ;; *) cat "$work/gates" ;; esac
END
chmod +x "$work/says"
# promised FAULT BROKEN GATES BARE: each "DONE SENT P99 WELL"; so many verdicts are broken
says() { echo "done $2 of 1000 sent $3 p50 1 p99 $4 p99.9 9 well $5" >"$work/$1"; }
promised() {
    # shellcheck disable=SC2086 # one word a number
    says gates $3
    # shellcheck disable=SC2086
    says bare $4
    run promise "$work/says" "$1"
    check "$1, $3 and $4: $2 broken" test "$(grep -c '^BROKEN' "$work/promise")" -eq "$2"
    check "$1, $3 and $4: exit status" ended promise "$2"
}
promised slow 0 "9 9 100 9" "9 9 200 9"
promised slow 1 "9 9 100 9" "9 9 199 9"
promised frozen 0 "9 100 9 9" "9 300 9 9"
promised frozen 1 "9 100 9 9" "9 299 9 9"
promised limited 0 "70 199 9 9" "100 200 9 9"
promised limited 1 "70 200 9 9" "100 200 9 9"
promised limited 1 "69 199 9 9" "100 200 9 9"
promised overload 0 "200 9 9 99" "100 9 9 100"
promised overload 1 "199 9 9 99" "100 9 9 100"
promised overload 1 "200 9 9 100" "100 9 9 100"
check "the tolerance is told" shows sound "at least 70 % as much"

# Interrupted: no server is left.
cp "$work/guarded" "$work/cut"
FAULTS=frozen sh "$script" "$work/cut" >"$work/cut.out" 2>&1 &
pid=$!
wait_for cut.run/frozen.out "phase 1"
kill -s TERM $pid
wait $pid
check "interrupted: exit status" test $? -eq 143
server=$(cat "$work/cut.run/server.pid")
check "interrupted: the server is gone" eventually sh -c "! kill -0 $server 2>/dev/null"

"$1" http://127.0.0.1:1/ >"$work/usage" 2>&1
check "too few arguments: exit status" test $? -eq 2

finish
