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
rm -r "${work:?}/bin"

run help make help
check "help: 80 columns" lacks help.out ".\{81\}"

# Without a terminal only the command is seen; its status passes through.
run alive sh tests/tools/alive.sh sh -c 'echo said; exit 3'
check "alive: exit status" ended alive 3
check "alive: output" lines alive 1

# What is left out is said, and the run does not pass.
run part make run-check BUILD="$work/build" LACKS=libjsmn-dev TESTS="test_nmv test_errmap_json" WERROR=
check "left out: no full pass" ended part 2
check "left out: the rest has passed" last part "^[1-9][0-9]* passed, 0 failed\$"
check "left out: which, and why" shows part.out "^left out, for want of libjsmn-dev: errmap.h\$"
run whole make run-check BUILD="$work/build" TESTS=test_nmv WERROR=
check "nothing left out: exit status" ended whole 0
check "nothing left out: nothing said" lacks whole.out "left out"

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

# What is not built anew is not there.
touch "$work/old"
check "what cannot be built" refuses makes "$work/old" sh -c "exit 1"
check "its old file" refuses test -e "$work/old"
touch "$work/old"
check "a command that builds nothing" refuses makes "$work/old" true
check "a command that builds" makes "$work/new" sh -c 'touch "$1"'
finish
