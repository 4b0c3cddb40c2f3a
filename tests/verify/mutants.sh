#!/bin/sh
# Thousands of changes to the implementation of both headers, one at a time: the tests must notice.
# Usage: mutants.sh BUILD TEST..., from the top folder, with in the environment
#     FUNCTION  those of functions whose name matches this alone ("outside": of none)
#     SAMPLE    so many of them, chosen by SEED (1)
#     ONLY      those in a file like mutants.txt
#     JOBS      how many tests run at once (one a core)
# Survivors are listed in mutants.txt with a reason; those that are not equivalent may be noticed, as
# threads meet or do not. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
build=$1/mutants
shift
python3 tests/verify/mutants.py "$build" tests/verify/mutants.txt "$work" "$@" || exit 1

none() { [ ! -s "$work/$1" ] || { cat "$work/$1"; false; }; }
enough() { read -r killed counted < "$work/share" && [ $((killed * 100)) -ge $((counted * 98)) ]; }
check "no other survives than mutants.txt lists" none unlisted
check "all that it lists exist, and survive if they are equivalent" none stale
[ -n "${FUNCTION:-}${SAMPLE:-}${ONLY:-}" ] || check "98 % of what is not equivalent is noticed" enough
finish
