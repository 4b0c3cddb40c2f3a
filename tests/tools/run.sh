#!/bin/sh
# run.sh TITLE: TEST... [TITLE: TEST...]...: runs tests side by side, CORES of them at a time (default: all there
# are). A test is a program, or a script with its arguments; its last line is "N passed, N failed". Each title
# gets a line when the last of its tests has ended; what fails is shown whole. A test that ends without such a
# line, has checked nothing, takes over 15 minutes, or whose exit status does not fit, has failed. Lines
# "skipped, as WHY: CHECK" are gathered in a line for each WHY; WITHOUT_JSMN: tests that are skipped. The last line
# is the sum.
if [ "$1" = --one ]; then # TITLE NUMBER TEST
    # shellcheck disable=SC2086 # a word each
    case $4 in
    *.sh*) timeout --foreground 900 sh $4 ;;
    *) timeout --foreground 900 $4 ;;
    esac > "$2.$3" 2>&1
    exec echo $? "$2" "$3" "$4"
fi

folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# all TITLE: TEST...: by xargs, as a shell would keep an interrupt from what it runs in the background
all()
{
    number=0
    for word in "$@"; do
        case $word in
        *:) title=${word%:} ;;
        *)
            number=$((number + 1))
            echo >> "$folder/$title.tests"
            printf '%s\0' "$folder/$title" $number "$word" ;;
        esac
    done > "$folder/arguments"
    xargs -0 -r -n 3 -P "${CORES:-$(getconf _NPROCESSORS_ONLN)}" sh "$0" --one < "$folder/arguments"
}

# sum FILE...: of lines "N passed, N failed"
sum() { cat "$@" | awk '{ p += $1; f += $3 } END { printf "%d passed, %d failed\n", p, f; exit f || !p }'; }

skipped()
{
    {
        cat "$folder"/*.[0-9]*
        for test in ${WITHOUT_JSMN:-}; do echo "skipped, as there is no jsmn.h: $test"; done
    } | awk '/^skipped, as [^:]*: / {
            why = substr($0, 1, index($0, ": ") - 1)
            which[why] = which[why] (n[why]++ ? "; " : "") substr($0, length(why) + 3) }
        END { for (why in n) print n[why], why ": " which[why] }' | sort -n
}

report()
{
    while read -r status title number test; do
        line=$(tail -n 1 "$title.$number")
        if [ "$status" -ne 0 ] || ! echo "$line" | grep -q -x '[1-9][0-9]* passed, 0 failed'; then
            cat "$title.$number"
            echo "FAILED $test (its exit status: $status)"
            echo "$line" | grep -q -x '[0-9][0-9]* passed, [1-9][0-9]* failed' || line="0 passed, 1 failed"
        fi
        echo "$line" >> "$title.sums"
        [ "$(wc -l < "$title.sums")" -lt "$(wc -l < "$title.tests")" ] ||
            printf '%-24s %s\n' "$(basename "$title")" "$(sum "$title.sums")"
    done
    skipped
    sum "$folder"/*.sums
}
: > "$folder/none.sums"
all "$@" | report
