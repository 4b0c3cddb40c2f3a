#!/bin/sh
# recipes/fleet, a simulation, whose table is judged. Usage: recipe_fleet.sh PROGRAM
. "$(dirname "$0")/server.sh"

run
until_over
# value FAULT CLIENT COLUMN: from the end: done is 4, sent 3, back 2 (a number and "s") or 1 ("never")
value() { awk -v fault="$1" -v client="$2" -v column="$3" \
    '$1 == fault && index($0, "  " client " ") { sub(/ s$/, ""); print $(NF - column) }' "$folder/out"; }
back() { value "$1" "$2" 0; }
sent() { value "$1" "$2" 1; }
done_of() { value "$1" "$2" 2; }
holds() { awk "BEGIN { exit !($1) }"; }
same_second=$(sed -n 's/^1000 told .* at most \([0-9]*\) come back.*/\1/p' "$folder/out")

verdict "The program has ended by itself." test "$client_status" -eq 0
for fault in refused frozen; do
    verdict "$fault: a retry_service does more than no retries." \
        test "$(done_of $fault "a retry_service")" -gt "$(done_of $fault "no retries")"
    verdict "$fault: it sends three quarters more, or half of what nothing limits." \
        holds "$(sent $fault "a retry_service") <= 1.75 * $(sent $fault "no retries") ||
            $(sent $fault "a retry_service") <= $(sent $fault "retries, no limits") / 2"
    verdict "$fault: it is well within 1 s; retries without limits never are." \
        holds "\"$(back $fault "a retry_service")\" + 0 <= 1 && \"$(back $fault "a retry_service")\" != \"never\" &&
            \"$(back $fault "retries, no limits")\" == \"never\""
done
verdict "Those who are told to wait come back spread ($same_second of 1000 in a second)." \
    test "${same_second:-1000}" -le 100
measure <"$folder/out"
exit $status
