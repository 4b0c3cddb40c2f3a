#!/bin/sh
# The tables of tests/README.md that are made of the tree: how much is checked, and what others' libraries
# do (test_peers.c). Usage: tables.sh, from the top folder; tables.sh --renew writes them anew. CC names
# the compiler (default: cc). The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
page=tests/README.md
verify=tests/verify

row() { printf '| %s | %s | %s |\n' "$1" "$2" "$3"; }
sum() { awk -v at="$1" '{ n += $at } END { print n + 0 }'; }
figures() {
    row "what" "how" "how much"
    row --- --- ---
    row "lines, branches and conditions (MC/DC) that no test reaches" "\`make coverage\`" \
        "$(sed -n "/unreachable\" << 'END'/,/^END/p" $verify/coverage.sh | grep -c '	'), with a reason each"
    row "other machines and compilers decide the same" "\`make cross\`, \`make matrix\`" \
        "$(sed -n 's/^TARGETS = \(.*\) tcc$/\1/p' Makefile | wc -w) machines, and tcc"
    row "threads, and what they share" "\`make stress\` (TSan, Spin)" \
        "$(grep -l '^active\|^init' $verify/spin/*.pml | wc -l) models of $(cut -d ' ' -f 2 $verify/models.txt |
            sort -u | wc -l) functions"
    row "hostile bytes, calls in any order" "\`make fuzz\` (libFuzzer, AFL++)" \
        "$(ls tests/fuzz/*.c | wc -l) targets"
    row "no run-time error, an end, and what contracts promise" "\`make prove\` (Frama-C's WP)" \
        "$(grep x86_64 $verify/proofs/goals.txt | sum 4) goals on 64 bits, $(grep 'x86_64 promises' \
            $verify/proofs/goals.txt | sum 4) of them promises; assumed: one thread, in which no swap fails, and \
$(cat $verify/proofs/*.acsl | grep -c '^@trusted') functions; $(awk -f $verify/promises.awk $verify/proofs/*.acsl |
            wc -l) promise no more than to end"
    row "changes to the code that no test notices" "\`make mutants\`" \
        "$(grep -c '^[a-z_0-9]*: ' $verify/mutants.txt), with a reason each"
    row "clang-tidy, cppcheck, scan-build, gcc; MISRA C" "\`make lint\`" \
        "deviations from $(grep -c '^[0-9]' $verify/misra.txt) rules, with a reason for each"
}

# The page, with each table between its marks anew.
figures > "$work/figures"
check "test_peers.c, as a table" makes "$work/print" ${CC:-cc} -std=c99 -DPEERS_TABLE tests/gates/test_peers.c
"$work/print" > "$work/peers"
check "some rows" test "$(wc -l < "$work/peers")" -gt 50
awk -v dir="$work/" '
    /^<!-- end -->$/ { skip = 0 }
    !skip
    /^<!-- table: / { while ((getline line < (dir $3)) > 0) print line; skip = 1 }' $page > "$work/page"
check "both tables have a place" test "$(grep -c '^<!-- table: \(figures\|peers\) -->$' $page)" -eq 2
if [ "${1:-}" = --renew ]; then
    [ "$failed" -gt 0 ] || cp "$work/page" $page
    finish
fi
# Line by line, but a number that counts 20 or more may be a twentieth off: no edit has to renew it.
close() {
    awk '
        function alike(was, is,  stated, counted, before) {
            while (was != is) {
                if (!match(was, /[0-9]+/))
                    return 0
                stated = substr(was, RSTART, RLENGTH) + 0
                before = substr(was, 1, RSTART - 1)
                was = substr(was, RSTART + RLENGTH)
                if (!match(is, /[0-9]+/) || substr(is, 1, RSTART - 1) != before)
                    return 0
                counted = substr(is, RSTART, RLENGTH) + 0
                is = substr(is, RSTART + RLENGTH)
                if (counted - stated > int(stated / 20) || stated - counted > int(stated / 20))
                    return 0
            }
            return 1
        }
        FNR == NR { page[FNR] = $0; lines = FNR; next }
        !alike(page[FNR], $0) { print "< " page[FNR] "\n> " $0; wrong = 1 }
        END { exit wrong || lines != FNR }' "$1" "$2"
}
check "tests/README.md has them (make renew WHAT=tables)" close $page "$work/page"
finish
