#!/bin/sh
# The tables of tests/README.md: how much is checked, in rounded numbers, which must be true of what the
# last run on record counted (.ci/counts) and of the lists in the tree; and what others' libraries do, which
# test_peers.c prints. Usage: tables.sh, from the top folder; tables.sh --renew writes the second anew. CC
# names the compiler (default: cc). The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
page=tests/README.md
verify=tests/verify

counted() { awk -F '\t' -v name="$1" '$1 == name { print $2 + 0 }' .ci/counts; }
listed() { grep "$1" $verify/proofs/goals.txt | awk '{ n += $4 } END { print n + 0 }'; }

# number ROW BEFORE AFTER: the number between two pieces of the row, or of the paragraph, that has ROW in it
number() {
    tr '\n' '~' < $page | sed 's/\([^|~]\)~\([^|~]\)/\1 \2/g' | tr '~' '\n' | grep -F "$1" |
        sed -n "s/.*$2 \([0-9][0-9,]*\) $3.*/\1/p" | tr -d ,
}
over() { # ROW AFTER COUNT: "over N AFTER" is true
    check "$1: over $(number "$1" over "$2") $2: $3" test "$(number "$1" over "$2")" -lt "$3"
}
fewer() { # ROW AFTER COUNT: "fewer than N AFTER" is true
    check "$1: fewer than $(number "$1" "ewer than" "$2") $2: $3" test "$(number "$1" "ewer than" "$2")" -gt "$3"
}
over "\`make test\`" "checks hold" "$(counted tests)"
over "\`make cross\`" "checks hold" "$(counted "other machines")"
over "\`make matrix\`" "checks hold" "$(counted "every compiler, standard and option")"
over "\`make stress\`" "checks hold" "$(counted threads)"
over "\`make fuzz\`" "checks hold" "$(counted fuzzing)"
over "| errmap.h: over" "goals proved" "$(counted proofs)"
over "of both headers" goals "$(listed x86_64)"
over "of both headers" postconditions "$(listed "x86_64 promises")"
fewer "\`make mutants\`" "" "$(grep -c '^[a-z_0-9]*: ' $verify/mutants.txt)"
over "\`make lint\`" "checks hold" "$(counted lint)"
fewer "\`make lint\`" "rules of MISRA" "$(grep -c '^[0-9]' $verify/misra.txt)"
fewer "trusted functions" "trusted functions" "$(cat $verify/proofs/*.acsl | grep -c '^@trusted')"
fewer "no postcondition" "functions have no" "$(awk -f $verify/promises.awk $verify/proofs/*.acsl | wc -l)"
emulated=$(sed -n 's/^targets="\([^"]*\)".*/\1/p' .ci/run)
check ".ci/run has machines" test -n "$emulated"
for target in $emulated; do
    check "make cross in .ci/run: $target" grep -q -w "\`make cross\` | .* on .*$target" $page
done

# The page, with the second table between its marks anew.
check "test_peers.c, as a table" makes "$work/print" ${CC:-cc} -std=c99 -DPEERS_TABLE tests/gates/test_peers.c
"$work/print" > "$work/peers"
check "some rows" test "$(wc -l < "$work/peers")" -gt 50
awk -v dir="$work/" '
    /^<!-- end -->$/ { skip = 0 }
    !skip
    /^<!-- table: / { while ((getline line < (dir $3)) > 0) print line; skip = 1 }' $page > "$work/page"
check "the table has a place" test "$(grep -c '^<!-- table: peers -->$' $page)" -eq 1
if [ "${1:-}" = --renew ]; then
    [ "$failed" -gt 0 ] || cp "$work/page" $page
    finish
fi
check "tests/README.md has them (make renew WHAT=tables)" diff $page "$work/page"
finish
