# shellcheck shell=sh
# For .ci/run, which sources this: `run` runs a check and shows in one line what it checked; `settle`, the
# last call, compares how much that was with what the tree has on record, and adds up. $record is the
# record, $seen what the last whole run saw: in each line a name, a tab, and the line that was shown.
: "${record:=.ci/counts}" "${seen:=build/counts}"
begin() { rm -f "$seen" "$seen.times" && : > "$seen.part"; }
tests='$s/^[1-9][0-9]* passed, 0 failed$/&/p' # the last line

# run NAME EXPRESSION COMMAND...: sed makes one line of the output by the expression, and how long it took
# is shown with it. If the command fails, or there is no line or more than one, all of the output is
# shown, and that is the end.
run() {
    run_name=$1
    run_expression=$2
    shift 2
    run_log=$(mktemp) || exit 2
    run_start=$(date +%s)
    run_line=
    if "$@" > "$run_log" 2>&1; then run_line=$(sed -n "$run_expression" "$run_log"); fi
    if [ "$(printf '%s\n' "$run_line" | grep -c .)" -ne 1 ]; then
        cat "$run_log"
        rm -f "$run_log"
        echo "FAILED: $run_name"
        exit 1
    fi
    rm -f "$run_log"
    run_seconds=$(($(date +%s) - run_start))
    printf '%s: %s [%d s]\n' "$run_name" "$run_line" $run_seconds
    printf '%s\t%s\n' "$run_name" "$run_line" >> "$seen.part"
    printf '%6d s  %s\n' $run_seconds "$run_name" >> "$seen.times"
}

# Where the time was spent, beside each other.
slowest() {
    echo "The slowest:"
    sort -rn "$seen.times" | head -n 8
}

# A line that begins with a number counts something: no more than a twentieth less than on record, and not
# nothing; and no line is missing.
settle() {
    mv "$seen.part" "$seen" || exit 1
    awk -F '\t' '
        FILENAME == ARGV[1] { was[$1] = $2; next }
        { is[$1] = $2 }
        $2 ~ /^[0-9]+ passed, 0 failed$/ { passed += $2 + 0 }
        END {
            for (name in was)
                if (!(name in is) || is[name] * 20 < was[name] * 19) {
                    print name ": on record " was[name] ", now " (name in is ? is[name] : "nothing")
                    fell++
                }
            for (name in is)
                if (!(name in was)) {
                    print name ": not on record, now " is[name]
                    fell++
                }
            if (fell)
                print "If that is meant: .ci/run --renew"
            print passed + 0 " passed, " fell + 0 " failed"
            exit fell != 0 || !passed
        }' "$record" "$seen"
}

# The record becomes what the last run saw.
renew() { LC_ALL=C sort "$seen" > "$record"; }
