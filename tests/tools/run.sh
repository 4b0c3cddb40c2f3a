#!/bin/sh
# Runs test programs and scripts side by side, CORES of them at a time (default: all there are). Each
# ends with a line "N passed, N failed": shows these in order, and adds up. What fails is shown whole. One
# that ends without such a line, has checked nothing, or ends with a status that does not fit the line,
# counts as a failure. Before the sum it says which took the longest, if that was a second or more. The
# sum is the last line, unless something was LEFT_OUT for want of the packages in LACKS: then the last
# lines say what, and how to install them.
# run.sh --one FOLDER NUMBER TEST: one of them, for itself.
if [ "$1" = --one ]; then
    result=$2/$3
    begun=$(date +%s.%N)
    case $4 in
    *.sh*) sh $4 ;; # with its arguments
    *) "$4" ;;
    esac > "$result.output" 2>&1
    echo $? > "$result.status"
    echo "$begun $(date +%s.%N) $4" > "$result.time"
    exec echo "$3"
fi

folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# all TEST...: by xargs, as a shell would keep an interrupt from what it runs in the background
all()
{
    for test in "$@"; do
        number=$((${number:-0} + 1))
        printf '%s\0' $number "$test"
    done | xargs -0 -n 2 -P "${CORES:-$(getconf _NPROCESSORS_ONLN)}" sh "$0" --one "$folder"
}

show() # TEST NUMBER
{
    line=$(tail -n 1 "$folder/$2.output")
    status=$(cat "$folder/$2.status")
    p=$(printf '%s\n' "$line" | sed -n 's/^\([0-9][0-9]*\) passed, [0-9][0-9]* failed$/\1/p')
    f=$(printf '%s\n' "$line" | sed -n 's/^[0-9][0-9]* passed, \([0-9][0-9]*\) failed$/\1/p')
    if [ -z "$p" ] || [ "$p$f" = 00 ] || { [ "$f" -eq 0 ] && [ "$status" -ne 0 ]; }; then
        p=0
        f=1
        line="ended with status $status, and as its last line: $line"
    fi
    [ "$f" -eq 0 ] || cat "$folder/$2.output"
    printf '%-44s %s\n' "$1" "$line"
    passed=$((passed + p))
    failed=$((failed + f))
}

slowest()
{
    cat "$folder"/*.time | awk '$2 - $1 >= 1 {
        seconds = $2 - $1
        sub(/^[^ ]* [^ ]* /, "")
        printf "%6.1f s  %s\n", seconds, $0 }' | sort -rn | head -n 5 > "$folder/slowest"
    [ ! -s "$folder/slowest" ] || { echo "The slowest:" && cat "$folder/slowest"; }
}

report() # TEST...: the numbers of those that have ended come in, in any order
{
    passed=0
    failed=0
    number=0
    for test in "$@"; do
        number=$((number + 1))
        [ ! -t 1 ] || printf '%-44s \r' "$test"
        until [ -e "$folder/$number.time" ]; do read -r ended || break; done
        show "$test" $number
    done
    slowest
    left_out=$(echo ${LEFT_OUT:-})
    echo "$passed passed, $failed failed"
    if [ -n "$left_out" ]; then
        echo "Left out: $left_out. They need packages that this installs:"
        echo "sudo apt-get install $(echo ${LACKS:-})" | fold -s -w 76 | sed 's/^/    /; $!s/$/\\/'
    fi
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

all "$@" | report "$@"
