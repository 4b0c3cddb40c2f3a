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

modelled() {
    for name in $(grep -o -w 'retry_[a-z_]*[a-z]' "$1" | sort -u); do
        grep -q "\<$name(" retry.h || { echo "retry.h has no $name" && return 1; }
    done
}
for model in tests/verify/spin/*.pml; do
    check "${model#tests/verify/}" modelled "$model"
done
finish
