#!/bin/sh
# The libuv example from end to end. Usage: test_async.sh PATH_OF_ASYNC_UV
# Nothing here looks at the clock. The last line is "N passed, N failed", and the exit status tells
# the same.
. "$(dirname "$0")/../support/check.sh"

program=$1

shows() { grep -q -e "$1" "$work/out"; }
lacks() { ! grep -q -e "$1" "$work/out"; }

# The number at the end of the line that begins with a text.
number() { sed -n "s/^$1  *\([0-9][0-9]*\)\$/\1/p" "$work/out"; }

# parts NAME: whether the indented lines below the name's add up to its number.
parts() {
    awk -v name="$1" '
        /^[^ ]/ { inside = index($0, name) == 1; if (inside) want = $NF }
        /^  / && inside { sum += $NF }
        END { exit !(want > 0 && sum == want) }' "$work/out"
}

"$program" >"$work/out" 2>"$work/errors"
status=$?

check "exit status" test "$status" -eq 0
check "nothing on standard error" test ! -s "$work/errors"
check "three verdicts, all kept" test "$(grep -c '^kept ' "$work/out")" -eq 3
check "nothing broken" lacks BROKEN
check "10000 ended" test "$(number all)" -eq 10000
check "the outcomes add up" test $(($(number succeeded) + $(number failed) + $(number expired) + \
    $(number 'cancelled half-way'))) -eq 10000
check "a tenth was cancelled" test "$(number 'cancelled half-way')" -eq 1000
for name in succeeded failed "cancelled half-way"; do
    check "$name: the parts add up" parts "$name"
done
for text in "at first" "after 1 retry" "after 2 retries" "no reason to retry" "not idempotent" \
    "retry budget exhausted" "strategy refuses" "with an attempt on the wire" \
    "waiting for a retry"; do
    check "some: $text" shows "^  $text  *[1-9]"
done
check "some are perhaps done" shows "^Of the failed and expired [1-9][0-9]* change something"
check "conflicts are retried" shows "^After conflicts there were [1-9][0-9]* retries"
check "some expired" shows "^expired  *[1-9]"
check "the policy answered, and was silent" shows \
    "answered [1-9][0-9]* questions and was silent on [1-9][0-9]*;"
check "some answers were late" shows "^[1-9][0-9]* answers came too late"
check "memory of an operation" shows "^memory of an operation: [1-9][0-9]* bytes"
check "memory measured" shows "^measured: .*, which is [1-9][0-9]* bytes an operation"
check "80 columns" test "$(awk 'length > 80' "$work/out" | wc -l)" -eq 0

"$program" --help >"$work/out" 2>"$work/errors"
check "an argument: exit status" test $? -eq 2
check "an argument: usage" grep -q "^usage: .*async_uv" "$work/errors"
check "an argument: nothing is run" test ! -s "$work/out"

finish
