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
verdict "refused: a retry_service does more than no retries." \
    test "$(done_of refused "a retry_service")" -gt "$(done_of refused "no retries")"
verdict "frozen: it does no less, and sends no more." \
    holds "$(done_of frozen "a retry_service") >= $(done_of frozen "no retries") &&
        $(sent frozen "a retry_service") <= $(sent frozen "no retries")"
verdict "frozen: it sends at most a third of what nothing limits." \
    holds "$(sent frozen "a retry_service") <= $(sent frozen "retries, no limits") / 3"
verdict "refused: it sends less, too." \
    holds "$(sent refused "a retry_service") < $(sent refused "retries, no limits")"
for fault in refused frozen; do
    verdict "$fault: it is well within 1 s; retries without limits never are." \
        holds "\"$(back $fault "a retry_service")\" + 0 <= 1 && \"$(back $fault "a retry_service")\" != \"never\" &&
            \"$(back $fault "retries, no limits")\" == \"never\""
done
verdict "Those who are told to wait come back spread ($same_second of 1000 in a second)." \
    test "${same_second:-1000}" -le 100
measure <"$folder/out"
exit $status
