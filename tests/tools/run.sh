#!/bin/sh
# Runs test programs and scripts, each of which ends with a line "N passed, N failed", and adds up. What
# fails is shown whole. One that ends without such a line, has checked nothing, or ends with a status that
# does not fit the line, counts as a failure. The sum is the last line, unless something was LEFT_OUT for
# want of the packages in LACKS: then the last lines say what, and how to install them.
passed=0
failed=0
for test in "$@"; do
    [ ! -t 1 ] || printf '%-44s \r' "$test"
    case $test in
    *.sh*) output=$(sh $test 2>&1) ;; # with its arguments
    *) output=$("$test" 2>&1) ;;
    esac
    status=$?
    line=$(printf '%s\n' "$output" | tail -n 1)
    p=$(printf '%s\n' "$line" | sed -n 's/^\([0-9][0-9]*\) passed, [0-9][0-9]* failed$/\1/p')
    f=$(printf '%s\n' "$line" | sed -n 's/^[0-9][0-9]* passed, \([0-9][0-9]*\) failed$/\1/p')
    if [ -z "$p" ] || [ "$p$f" = 00 ] || { [ "$f" -eq 0 ] && [ "$status" -ne 0 ]; }; then
        p=0
        f=1
        line="ended with status $status, and as its last line: $line"
    fi
    [ "$f" -eq 0 ] || printf '%s\n' "$output"
    printf '%-44s %s\n' "$test" "$line"
    passed=$((passed + p))
    failed=$((failed + f))
done
left_out=$(echo ${LEFT_OUT:-})
echo "$passed passed, $failed failed"
if [ -n "$left_out" ]; then
    echo "Left out: $left_out. They need packages that this installs:"
    echo "sudo apt-get install $(echo ${LACKS:-})" | fold -s -w 76 | sed 's/^/    /; $!s/$/\\/'
fi
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
