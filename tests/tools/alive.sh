#!/bin/sh
# alive.sh COMMAND...: runs it. On a terminal, while it is silent, the seconds count below its last
# line. The exit status is the command's.
[ -t 1 ] && [ -t 2 ] || exec "$@"
erase=$(printf '\r\033[K')
seconds=0
while sleep 1; do
    seconds=$((seconds + 1))
    printf '%s%3d s' "$erase" $seconds >&2
done &
ticker=$!
trap 'kill $ticker 2> /dev/null; printf "%s" "$erase" >&2' EXIT
trap 'exit 130' INT TERM
exec 9>&1
status=$({
    {
        "$@" 8>&- 9>&-
        echo $? >&8
    } | while IFS= read -r line; do printf '%s%s\n' "$erase" "$line" >&9; done
} 8>&1)
exit "$status"
