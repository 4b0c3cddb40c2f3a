#!/bin/sh
# tests/examples/test_together.sh PROGRAM: runs the simulation of examples/storm/together.c. At 60 %
# utilisation all three fleets are as promised; a table is readable, and the same for the same seed;
# one cell is shown second by second; what is not as promised says so, by the exit status too.
# The last line is "N passed, N failed", and the exit status tells the same.
. "$(dirname "$0")/../support/check.sh"

together=$1

# run FILE ARGUMENT...: its output in FILE, errors in FILE.err, exit status in FILE.status
run() {
    file=$1
    shift
    "$together" "$@" >"$work/$file" 2>"$work/$file.err"
    echo $? >"$work/$file.status"
}

says() { grep -q -e "$2" "$work/$1.err"; }
silent() { [ ! -s "$work/$1" ]; }
last() { [ "$(tail -n 1 "$work/$1")" = "$2" ]; }
plain() { ! LC_ALL=C grep -q '[[:cntrl:]]' "$work/$1"; }
narrow() { awk 'length > 105 { wide = 1 } END { exit wide }' "$work/$1"; }
count() { [ "$(grep -c -e "$2" "$work/$1")" -eq "$3" ] || { grep -e "$2" "$work/$1"; false; }; }

run all
check "60 %: exit status" ended all 0
check "60 %: as promised" last all "every cell as promised"
check "60 %: three tables" count all "^Fleet [123]: " 3
check "60 %: every subset of each" count all "^[a-z ]\{33\}\( *[0-9.]*[0-9]\| *never\)\{9\}$" 96
check "60 %: and no retries" count all "^(no retries at all)  *[0-9]" 3
check "60 %: nothing where nothing limits retries" count all "^ \{33\}\( *never\)\{7\}" 3
check "no control characters" plain all
check "a hundred columns" narrow all

set -- --fleet 2 --fault frozen --seeds 1
run first "$@"
run again "$@"
run other "$@" --seed 2
check "the same seed, the same table" cmp -s "$work/first" "$work/again"
check "another seed, another table" test "$(cmp -s "$work/first" "$work/other"; echo $?)" -eq 1
check "one fault: one column" count first "^  *frozen$" 1
check "one fault: every subset" count first "^[a-z ]\{33\} *[0-9n][0-9.never]*$" 32
if command -v script >/dev/null; then
    script -qec "$together --fleet 1 --subset none --fault lost --seeds 1" /dev/null \
        >"$work/terminal" </dev/null
    check "never is red on a terminal" grep -q "$(printf '\033')\[31m *never" "$work/terminal"
fi

run cell --utilisation 90 --fleet 2 --subset aimd,budget --fault frozen --seeds 1
check "a cell: exit status" ended cell 0
check "a cell: its name" shows cell "^{aimd,budget}, frozen: after [13]*0 s of health, seed 1"
check "a cell: before, in and after the fault" count cell "^ *-*[0-9][0-9]*  *[0-9]" 50
check "a cell: eight seconds of fault" count cell "<- fault" 8
check "a cell: nothing is done in it" shows cell "^ *-7  *[0-9]*  *0\.0 .*<- fault"
check "a cell: all is done after it" shows cell "^ *20  *[0-9]*  *100\.0 "

# A budget for as many as begin in one timeout holds on for longer than one that fits.
set -- --utilisation 90 --fleet 1 --fault refused
run fits "$@"
check "90 %: as promised" last fits "every cell as promised"
run large "$@" --in-flight 23
check "90 %, a larger budget: it is named" shows large "^not well: {budget}: refused"

run bad --within 1 --fleet 1 --seeds 1
check "within a second: exit status" ended bad 1
check "within a second: it says why" shows bad "^NOT AS PROMISED: at most 0 cells"
check "within a second: it names cells" shows bad "^not well: {[a-z,]*}: [a-z0-9]"
check "within a second: the last line" last bad "not as promised"

run help --help
check "help: exit status" ended help 0
for option in utilisation fleet subset fault seeds seed limit in-flight within help; do
    check "help: --$option" shows help "^  --$option "
done

# refused WHAT TEXT ARGUMENT...
refused() {
    what=$1
    text=$2
    shift 2
    run wrong "$@"
    check "$what: exit status" ended wrong 2
    check "$what: it says so" says wrong "$text"
    check "$what: no table" silent wrong
}

refused "unknown option" "options are .*not '--fast'" --fast 1
refused "no value" "fleet is 1, 2 or 3, not ''" --fleet
refused "no such fleet" "fleet is 1, 2 or 3, not '4'" --fleet 4
refused "no such fault" "fault is .*not 'fire'" --fault fire
refused "no such gate" "subset is of .*not 'moat'" --subset aimd,moat
refused "busier than that" "utilisation is from 1 to 95, not '96'" --utilisation 96
refused "no number" "seeds is from 1 to 100, not '1x'" --seeds 1x
refused "not at all" "within is from 1 to 30, not '0'" --within 0
refused "too many" "in-flight is from 0 to 10000, not '10001'" --in-flight 10001
refused "no seeds" "seeds is from 1 to 100, not '0'" --seeds 0

finish
