#!/bin/sh
# Threads share what the headers let them share, and all adds up: the test programs that have threads,
# several times by two compilers, and by both thread sanitizers (COMPILERS: by one). Then spin looks at every order in
# which the steps of each protocol can come (spin/*.pml), and at the same without atomic swaps, where
# it must find a fault. Usage: stress.sh BUILD TEST..., from the top folder. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
build=$1/stress
shift
rounds=5
mkdir -p "$build"

passes() { quiet "$@" && tail -n 1 "$work/log" | grep -q '^[1-9][0-9]* passed, 0 failed$'; }
for test in "$@"; do
    for cc in ${COMPILERS:-gcc clang}; do
        check "$test, $cc" makes "$build/$test-$cc" $cc -std=c99 -O2 tests/*/"$test.c" -lm -lpthread
        round=0
        while [ $round -lt $rounds ]; do
            round=$((round + 1))
            check "$test, $cc, round $round" passes "$build/$test-$cc"
        done
        check "$test, $cc with a sanitizer" makes "$build/$test-$cc-tsan" $cc -std=c99 -O1 -g \
            -fsanitize=thread -fno-sanitize-recover=all tests/*/"$test.c" -lm -lpthread
        check "$test, $cc -fsanitize=thread" passes "$build/$test-$cc-tsan"
    done
done

# A search that was cut short, by its depth or for want of memory, proves nothing.
search() { # MODEL DEFINE...: pan's report is in $work/log
    cp tests/verify/spin/*.pml "$work" && (
        cd "$work" && rm -f pan && spin -a "$@" > log && gcc -O2 -w -DSAFETY -o pan pan.c && ./pan -m100000
    ) > "$work/log" 2>&1
}
says() { grep -q -e "$1" "$work/log"; }
holds() { search "$@" && says 'errors: 0$' && says '^Full statespace search' && ! says 'Warning' &&
    ! says 'depth too small' || { cat "$work/log"; false; }; }
refuted() { search "$@" && says 'assertion violated' && says 'errors: 1$' || { cat "$work/log"; false; }; }
models=0
for path in tests/verify/spin/*.pml; do
    file=$(basename "$path")
    [ "$file" != swap.pml ] || continue # part of the others
    models=$((models + 1))
    check "$file" holds "$file"
    printf '%-18s %9s states\n' "$file" "$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' "$work/log")"
    check "$file without atomic swaps" refuted -DBROKEN "$file"
done
check "aimd.pml, the first change" holds -DFIRST aimd.pml
check "aimd.pml, the first change without atomic swaps" refuted -DFIRST -DBROKEN aimd.pml
check "breaker.pml, two probes" holds -DPROBES=2 breaker.pml
check "nine models" test $models -eq 9
finish
