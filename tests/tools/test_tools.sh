#!/bin/sh
# What installs packages, and what runs the tests without them. apt, dpkg, sudo and the user's number
# are stubs. Usage: test_tools.sh, from the top folder. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
unset MAKE MAKEFLAGS MFLAGS MAKELEVEL LACKS LEFT_OUT

# stub NAME: a program in $work/bin, from standard input
stub()
{
    mkdir -p "$work/bin"
    { echo '#!/bin/sh' && cat; } > "$work/bin/$1"
    chmod +x "$work/bin/$1"
}

# run NAME COMMAND...: output in NAME.out and NAME.err, exit status in NAME.status
run()
{
    name=$1
    shift
    PATH=$work/bin:$PATH "$@" > "$work/$name.out" 2> "$work/$name.err" < /dev/null
    echo $? > "$work/$name.status"
}
lines() { [ "$(cat "$work/$1.out" "$work/$1.err" | wc -l)" -eq "$2" ]; }
refuses() { ! "$@"; }
last() { tail -n 1 "$work/$1.out" | grep -q -e "$2"; }
deps=tests/tools/deps.sh

stub dpkg-query << 'END_STUB'
for package in "$@"; do :; done
[ -e "$0.has.$package" ] && echo installed
END_STUB
stub sudo << 'END_STUB'
exit 1
END_STUB
stub id << 'END_STUB'
echo 1000
END_STUB
stub cc << 'END_STUB'
exit 1
END_STUB
stub sleep < /dev/null
: > "$work/bin/dpkg-query.has.here"

run here sh $deps here
check "all there: nothing said" lines here 0
check "all there: exit status" ended here 0
run rootless env CC=cc sh $deps here away libjsmn-dev
check "no root: exit status" ended rootless 1
check "no root: one line" lines rootless 1
check "no root: which" shows rootless.err "no root here to install it: away libjsmn-dev\$"
run lacks sh $deps --lacks here away
check "no root, to go on without: exit status" ended lacks 0
check "no root, to go on without: which" last lacks "^ away\$"

# Root, and another apt that ends at the third look, or never, or no package of the name.
stub id << 'END_STUB'
echo 0
END_STUB
stub apt-get << 'END_STUB'
echo "$*" >> "$0.log"
[ "$1" = update ] && exit
case $(cat "$0.how") in
gone) echo "E: Unable to locate package away" && exit 100 ;;
[1-9]*) echo $(($(cat "$0.how") - 1)) > "$0.how"
    echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (apt)"
    exit 100 ;;
esac
END_STUB
echo 2 > "$work/bin/apt-get.how"
run locked sh $deps away
check "a lock: exit status" ended locked 0
check "a lock: said once" test "$(grep -c "waiting for it, two minutes" "$work/locked.err")" -eq 1
check "a lock: tried until it is free" test "$(grep -c install "$work/bin/apt-get.log")" -eq 3
echo 1000 > "$work/bin/apt-get.how"
run stuck sh $deps away
check "a lock for ever: exit status" ended stuck 1
check "a lock for ever: shows apt's words" shows stuck.err "Could not get lock"
check "a lock for ever: 60 times 2 s" test "$(cat "$work/bin/apt-get.how")" -eq 939
echo gone > "$work/bin/apt-get.how"
run gone sh $deps away
check "no such package: exit status" ended gone 1
check "no such package: it is named" shows gone.err "could not install away\$"
check "no such package: no waiting" lacks gone.err "waiting"

echo 0 > "$work/bin/apt-get.how"
run own env CC=cc sh $deps libjsmn-dev
check "the tests' own: exit status" ended own 0
check "the tests' own: installed" shows own.err "installing libjsmn-dev"

# On a terminal, where there is one: asks, but not for what the tests need.
terminal() { printf '%s' "$1" | PATH=$work/bin:$PATH script -qec "$2" /dev/null > "$work/terminal" 2>&1; }
installs() { grep -q -e "installing $1" "$work/terminal"; }
if terminal '' true; then
    terminal 'y
' "sh $deps away"
    check "a terminal: yes" installs away
    terminal 'n
' "sh $deps away"
    check "a terminal: no" refuses installs away
    check "a terminal: it asks" shows terminal "install them by apt?"
    check "a terminal: says what it lacks" shows terminal "and not installed: away"
    terminal '' "YES=1 sh $deps away"
    check "a terminal: YES=1" installs away
    check "a terminal: no question then" lacks terminal "install them by apt?"
    terminal '' "CC=cc sh $deps libjsmn-dev"
    check "a terminal: no question about the tests' own" installs libjsmn-dev
fi
rm -r "${work:?}/bin"

run help make help
check "help: 80 columns" lacks help.out ".\{81\}"

# Without a terminal only the command is seen; its status passes through.
run alive sh tests/tools/alive.sh sh -c 'echo said; exit 3'
check "alive: exit status" ended alive 3
check "alive: output" lines alive 1

# What is left out is said last, so that the last line is not that of a full pass.
run part make run-check BUILD="$work/build" LACKS=libjsmn-dev TESTS="test_phase test_errmap_json" WERROR=
check "left out: the rest has passed" ended part 0
check "left out: the rest is counted" shows part.out "^[1-9][0-9]* passed, 0 failed\$"
check "left out: which" shows part.out "^Left out: errmap.h. They need packages"
check "left out: how to install them comes last" last part "^ *sudo apt-get install libjsmn-dev\$"
run whole make run-check BUILD="$work/build" TESTS=test_phase WERROR=
check "nothing left out: exit status" ended whole 0
check "nothing left out: nothing said" lacks whole.out "Left out"

# WERROR= reaches what the scripts compile. One place wants an error where a macro must warn.
exported() # WANTED ARGUMENT...: what make hands on
{
    wanted=$1
    shift
    run exported make -s --eval='exported:; @echo "[$$WERROR]"' exported "$@"
    check "make $*: WERROR" test "$(cat "$work/exported.out")" = "[$wanted]"
}
exported -Werror
exported "" WERROR=
stub lenient << 'END_STUB'
case " $* " in *" -Werror "*) echo "a warning of a compiler that is too new" >&2 && exit 1 ;; esac
exec cc "$@"
END_STUB
for script in "switches.sh" "snippets.sh c"; do
    run lenient env CC=lenient WERROR= COMPILERS= sh tests/compile/test_$script
    check "WERROR=: $script" ended lenient 0
    run lenient env CC=lenient WERROR=-Werror COMPILERS= sh tests/compile/test_$script
    check "without it: $script" ended lenient 1
done
fixed() { grep -e '-Werror' tests/compile/*.sh tests/tools/[!t]*.sh tests/install/*.sh tests/examples/*.sh; }
check "no other script has a -Werror of its own" test "$(fixed | grep -c -v 'WERROR--Werror')" -eq 1

# A test counts only if it says at its end that it has checked something, and nothing failed.
ends() # NAME STATUS LINE...: a test that prints these lines
{
    test=$work/$1.sh
    status=$2
    shift 2
    printf '%s\n' "$@" | sed 's/.*/echo "&"/' > "$test"
    echo "exit $status" >> "$test"
}
ends sound 0 "3 passed, 0 failed"
run sound sh tests/tools/run.sh "$work/sound.sh"
check "a sound test: exit status" ended sound 0
while IFS=: read -r status first second; do
    ends unsound "$status" "$first" "$second"
    run unsound sh tests/tools/run.sh "$work/unsound.sh"
    check "unsound ($status, $first, $second): exit status" ended unsound 1
    check "unsound ($status, $first, $second): counted" last unsound "^[03] passed, 1 failed\$"
done << 'END_OF_TESTS'
0:3 passed, 0 failed:and then some more
0:3 passed, 0 failed:0 passed, 0 failed
1:nothing:3 passed, 0 failed
0:nothing:3 passed, 1 failed
END_OF_TESTS

# Side by side, but shown in order; which took the longest comes before the sum.
{
    echo "for _ in 1 2 3 4 5 6 7 8; do [ -e '$work/met' ] || env -i PATH=/usr/bin:/bin sleep 1; done"
    echo "[ -e '$work/met' ] && env -i PATH=/usr/bin:/bin sleep 1 && echo '1 passed, 0 failed'"
} > "$work/slow.sh"
echo "touch '$work/met' && echo '2 passed, 0 failed'" > "$work/fast.sh"
run beside env CORES=2 sh tests/tools/run.sh "$work/slow.sh" "$work/fast.sh"
check "side by side: exit status" ended beside 0
check "side by side: the first is shown first" sh -c "head -n 1 '$work/beside.out' | grep -q slow"
check "side by side: the slowest" shows beside.out "^ *[1-9][0-9]*[.][0-9] s  $work/slow.sh\$"
check "side by side: no other" test "$(grep -c " s  " "$work/beside.out")" -eq 1
check "side by side: the sum" last beside "^3 passed, 0 failed\$"

# .ci/run's checks: a line that says what was checked, and no more than a twentieth less of it than on record.
record=$work/record
seen=$work/seen
tab=$(printf '\t')
sum='$s/^[1-9][0-9]* passed, 0 failed$/&/p'
counted() { sh -c ". tests/tools/counted.sh; $1" "$@"; }
one() # EXPRESSION STATUS LINE...: one check
{
    expression=$1
    shift
    ends checked "$@"
    run part counted 'begin; run a "$1" sh "$2"' "$expression" "$work/checked.sh"
}
export record seen
one "$sum" 0 "some words" "3 passed, 0 failed"
check "the last line: exit status" ended part 0
check "the last line: shown" last part "^a: 3 passed, 0 failed \[[0-9]* s\]\$"
for other in "1 passed, 1 failed" "0 passed, 0 failed" "done"; do
    one "$sum" 0 "3 passed, 0 failed" "$other"
    check "another last line, $other: exit status" ended part 1
    check "another last line, $other: all of it is shown" shows part.out "^$other\$"
done
one "$sum" 1 "3 passed, 0 failed"
check "a command that fails: exit status" ended part 1
printf '     7 s  a\n    30 s  b\n' > "$seen.times"
run slow counted slowest
check "the slowest check is first" shows slow.out "^ *30 s  b\$"
check "and another behind it" last slow "^ *7 s  a\$"
one 's/fits/&/p' 0 "this fits" "this, too, fits"
check "two lines that fit: exit status" ended part 1
settled() # STATUS RECORD SEEN: names and lines, separated by slashes
{
    printf '%s\n' "$2" | tr '/' '\n' > "$record"
    printf '%s\n' "$3" | tr '/' '\n' > "$seen.part"
    run settled counted settle
    check "$2, then $3: exit status" ended settled "$1"
}
settled 0 "a${tab}3 passed, 0 failed/b${tab}words" "a${tab}4 passed, 0 failed/b${tab}other words"
check "nothing fell: the sum" last settled "^4 passed, 0 failed\$"
settled 1 "a${tab}3 passed, 0 failed" "a${tab}2 passed, 0 failed"
check "a count fell: it is named" shows settled.out "^a: on record 3 passed"
settled 0 "a${tab}3 passed, 0 failed/b${tab}20 of 20 goals" "a${tab}3 passed, 0 failed/b${tab}19 of 19 goals"
settled 1 "a${tab}3 passed, 0 failed/b${tab}20 of 20 goals" "a${tab}3 passed, 0 failed/b${tab}18 of 18 goals"
settled 1 "a${tab}3 passed, 0 failed/b${tab}words" "a${tab}0 passed, 0 failed/b${tab}words"
settled 1 "a${tab}3 passed, 0 failed/b${tab}words" "a${tab}3 passed, 0 failed"
settled 1 "a${tab}3 passed, 0 failed" "a${tab}3 passed, 0 failed/b${tab}words"
check "not on record: it is named" shows settled.out "^b: not on record"
settled 1 "" "a${tab}3 passed, 0 failed"
check "the last run: on record" counted renew
settled 0 "$(cat "$record")" "a${tab}3 passed, 0 failed"
check "no whole run: nothing to put on record" counted 'begin; ! renew 2> "$seen.err"'

# What is not built anew is not there.
touch "$work/old"
check "what cannot be built" refuses makes "$work/old" sh -c "exit 1"
check "its old file" refuses test -e "$work/old"
touch "$work/old"
check "a command that builds nothing" refuses makes "$work/old" true
check "a command that builds" makes "$work/new" sh -c 'touch "$1"'
finish
