# shellcheck shell=sh
# Verdicts of a script that runs an example, which sources this; it exits with $status.

status=0

# verdict TEXT COMMAND...: kept if the command succeeds
verdict() {
    text=$1
    shift
    if "$@"; then
        echo "kept    $text"
    else
        echo "BROKEN  $text"
        status=1
    fi
}
