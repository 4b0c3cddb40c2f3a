#!/bin/sh
# The proofs and models of tests/verify fit the headers: every function and line that they name is there. Whether
# they hold, make prove and make stress say. Usage: test_verified.sh, from the top folder. The last line is
# "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

weave() { awk "$@" > "$work/woven"; }
for header in retry errmap; do
    check "proofs/$header.acsl" weave -f tests/verify/weave.awk tests/verify/proofs/$header.acsl $header.h
done
complete() { weave -v list=1 -f tests/verify/weave.awk tests/verify/proofs/errmap.acsl errmap.h &&
    ! grep ' missing$' "$work/woven"; }
check "proofs/errmap.acsl: every function is proved, or there is a reason" complete

modelled() { # MODEL: every function that it names is in retry.h
    grep -q -w 'retry_[a-z_]*[a-z]' "$1" || { echo "$1 names nothing" && return 1; }
    grep -n -o -w 'retry_[a-z_]*[a-z]' "$1" | while IFS=: read -r line name; do
        grep -q "\<$name(" retry.h || echo "$1:$line: retry.h has no $name"
    done > "$work/log"
    ! grep . "$work/log"
}
for model in tests/verify/spin/*.pml; do
    check "${model#tests/verify/}" modelled "$model"
done
finish
