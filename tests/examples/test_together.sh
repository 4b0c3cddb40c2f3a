#!/bin/sh
# tests/examples/test_together.sh PROGRAM: runs the simulation of examples/storm/together.c. At 60 %
# utilisation all fleets are as promised; a table is readable, and the same for the same seed; one
# cell is shown second by second; what is not as promised says so, by the exit status too. Of the
# fleets of recommended clients a few are tried.
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

run all --part gates -v --seeds 1
check "60 %: exit status" ended all 0
check "60 %: as promised" last all "every cell as promised"
check "60 %: four tables" count all "^Fleet [1234]: " 4
check "60 %: four servers are busier" count all "four servers; 75 % utilisation$" 1
check "60 %: every subset of each" count all "^[a-z (,)]\{33\}\( *[0-9.]*[0-9]\| *never\)\{9\}$" 132
check "60 %: and no retries" count all "^(no retries at all)  *[0-9]" 4
check "60 %: four servers: all cells are well" count all "^0 of 288 cells are not well" 1
check "60 %: what to take" count all "^Take aimd and budget together" 1
check "60 %: the answer first" test "$(sed -n 1p "$work/all")" = \
    "Take aimd and budget together, as a retry_service has them."
check "60 %: no fleets" count all "^Is any fleet stuck" 0
check "60 %: no end to the storm where nothing limits retries" count all "^(retries, no gate) .* never  *never .* never$" 3
check "no control characters" plain all
check "a hundred columns" narrow all

run few
check "without -v: as promised" last few "every cell as promised"
check "without -v: at most 60 lines" test "$(wc -l < "$work/few")" -le 60
check "without -v: what four retries in hand cost" shows few \
    "^1000 processes, endless, 90 % busy, do [1-9][0-9] %; with a retry_cost of 1 token 8[0-9], without retries 7"
check "without -v: three rows a fleet" count few "^\(([a-z, ]*)\|  *aimd  *budget\)  *[0-9n]" 12

set -- --fleet 2 --fault frozen --seeds 1 -v
run first "$@"
run again "$@"
run other "$@" --seed 2
check "the same seed, the same table" cmp -s "$work/first" "$work/again"
check "another seed, another table" test "$(cmp -s "$work/first" "$work/other"; echo $?)" -eq 1
check "one fault: one column" count first "^  *frozen$" 1
check "one fault: every subset" count first "^[a-z ]\{33\} *[0-9n][0-9.never]*$" 31
if command -v script >/dev/null; then
    script -qec "$together --fleet 2 --subset none --fault lost --seeds 1" /dev/null \
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

run busy -v --utilisation 90 --fleet 1 --fault refused
check "90 %: as promised" last busy "every cell as promised"
check "90 %: none is named" count busy "^not well: " 0

run bad --within 1 --fleet 3 --seeds 1
check "within a second: exit status" ended bad 1
check "within a second: it says why" shows bad "^NOT AS PROMISED: no cells but those of {} and {rate}"
check "within a second: it names cells" shows bad "^not well: {[a-z,]*}: [a-z0-9]"
check "within a second: the last line" last bad "not as promised"

# A row: processes, server, busy; three times done, stuck, back.
share="[0-9]*\.[0-9]"
row="\( *$share\)\{3\}\( *[0-9][0-9]*\)\{3\}\( *$share\| *never\)\{3\}$"

run fleets --utilisation 75 --processes 20
check "fleets: exit status" ended fleets 0
check "fleets: as promised" last fleets "every cell as promised"
check "fleets: no gates" count fleets "^Fleet " 0
check "fleets: a row for each server" count fleets "^   20     \(second\|endless\|503\)  *75 $row" 3
check "fleets: and with four nodes" count fleets "^   20 x 4 \(second\|endless\|503\)  *75 $row" 3
check "fleets: none is stuck" count fleets "^   20.* 75\( *$share\)\{3\} *0 " 6
check "fleets: without a fault the median is no later" shows fleets \
    "^Without a fault, at worst: the median takes 1[01][0-9] % of"
check "fleets: a hedge is measured, too" shows fleets "^with a hedge of 100 ms [1-9][0-9]* %, and [01]\.[0-9] %"
check "fleets: what to take" count fleets "^Take a retry_service" 1
for column in server busy done stuck back; do
    check "fleets: $column is explained" count fleets "^  $column  *[a-z0-9%]" 1
done
check "fleets: no control characters" plain fleets
check "fleets: a hundred columns" narrow fleets

set -- --processes 1000 --server endless --utilisation 90
run apart "$@"
check "1,000 processes: a row" count apart "^ 1000     endless  *90 $row" 1
check "1,000 processes: without retries some are stuck" shows apart " [1-9] *[1-9][ 0-9.]*$"
check "1,000 processes: enough memory" count apart "ran out of memory" 0
run again "$@"
check "1,000 processes: the same seed, the same table" cmp -s "$work/apart" "$work/again"

run soon --within 1 --processes 20 --server 503 --utilisation 90 --nodes 1
check "back within a second: exit status" ended soon 1
check "back within a second: it names cells" shows soon "^  not back: 20 503 90 [a-z0-9]*, $share s without"
check "back within a second: it says why" shows soon "^NOT AS PROMISED: every fleet is back"
check "back within a second: the last line" last soon "not as promised"

run course --processes 20 --nodes 1 --server 503 --utilisation 75 --fault frozen
check "one fleet, one fault: its name" shows course "^a retry_service in each process, frozen: after 30 s"
check "one fleet, one fault: ten seconds of it" count course "<- fault" 10
check "one fleet, one fault: few are sent in it" shows course "^ *-2  *[0-9]* .* [0-9][0-9]  *20 .*<- fault"
check "one fleet, one fault: all is done after it" shows course "^ *20  *[0-9]*  *100\.0 "

run other --processes 20 --server second --utilisation 60 --nodes 1 --timeout 2000
check "other times: nothing is promised" shows other "^Promised is only what holds for operations of 5 s"

run help --help
check "help: exit status" ended help 0
for option in part utilisation fault seeds seed fleet subset limit in-flight within processes \
    nodes server timeout help; do
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
refused "no value" "fleet is 1, 2, 3 or 4, not ''" --fleet
refused "no such fleet" "fleet is 1, 2, 3 or 4, not '5'" --fleet 5
refused "no such fault" "fault is .*not 'fire'" --fault fire
refused "no such gate" "subset is of .*not 'moat'" --subset aimd,moat
refused "busier than that" "utilisation is from 1 to 95, not '96'" --utilisation 96
refused "no number" "seeds is from 1 to 100, not '1x'" --seeds 1x
refused "not at all" "within is from 1 to 30, not '0'" --within 0
refused "too many" "in-flight is from 0 to 10000, not '10001'" --in-flight 10001
refused "no fault of theirs" "gates meet the first nine faults, not 'tail'" --part gates --fault tail
refused "no such part" "part is .*not 'none'" --part none
refused "no such size" "processes is 1, 20, 1000 or all, not '3'" --processes 3
refused "no such server" "server is second, .*not 'third'" --server third
refused "no seeds" "seeds is from 1 to 100, not '0'" --seeds 0

finish
