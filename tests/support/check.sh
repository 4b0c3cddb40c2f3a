# shellcheck shell=sh
# Checks for the test scripts, which source this: a folder for their files, counted checks, and
# `finish`, the last call, which prints "N passed, N failed" and exits accordingly.
set -u
. "$(dirname "$0")/../support/eventually.sh"

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
passed=0
failed=0

# check NAME COMMAND...: the command succeeds
check() {
    check_name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $check_name"
    fi
}

there() { command -v "$1" > /dev/null; }

# skip WHY NAME: a check that cannot be made here
skip() { echo "skipped, as $1: $2"; }

# check_with TOOL NAME COMMAND...: a check that is skipped without the tool
check_with() {
    check_tool=$1
    shift
    if there "$check_tool"; then check "$@"; else skip "there is no $check_tool" "$1"; fi
}

quiet() { # COMMAND...: shows what it said only if it fails
    "$@" > "$work/log" 2>&1 || { tail -n 60 "$work/log"; false; }
}

# makes FILE COMMAND...: the command makes the file, by "-o FILE" at its end. An old one goes first, so
# that nothing is run that was not built just now.
makes() {
    makes_file=$1
    shift
    rm -f "$makes_file"
    quiet "$@" -o "$makes_file" && [ -e "$makes_file" ]
}

# Of a run whose output is in the file $work/NAME and whose exit status in NAME.status; shown if it fails:
shows() { grep -q -e "$2" "$work/$1" || show "$1"; }
lacks() { [ -e "$work/$1" ] && ! grep -e "$2" "$work/$1"; } # only the lines that it has
ended() { [ "$(cat "$work/$1.status")" -eq "$2" ] || show "$1"; }
show() {
    tail -n 60 "$work/$1" "$work/$1".[os]* 2>/dev/null
    false
}

differs() { ! cmp -s "$1" "$2"; } # FILE FILE

no_process() { ! ps -A -o args= | grep -v grep | grep -q -F -e "$1"; } # TEXT: in no arguments

wait_for() { eventually grep -qs -e "$2" "$work/$1"; } # FILE TEXT: the file shows it

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    exit
}
