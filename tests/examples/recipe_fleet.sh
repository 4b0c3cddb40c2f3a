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
own="a retry_service, cut"
for fault in refused frozen; do
    verdict "$fault: a retry_service does no less than any other." holds \
        "$(done_of $fault "$own") >= $(done_of $fault "no retries") &&
            $(done_of $fault "$own") >= $(done_of $fault "retries, never cut")"
    verdict "$fault: it is well within 2 s; retries that are cut never are." \
        holds "\"$(back $fault "$own")\" + 0 <= 2 && \"$(back $fault "$own")\" != \"never\" &&
            \"$(back $fault "retries, cut")\" == \"never\""
done
verdict "It sends less than what nothing limits; frozen: at most a third." \
    holds "$(sent refused "$own") < $(sent refused "retries, cut") &&
        $(sent frozen "$own") <= $(sent frozen "retries, cut") / 3"
verdict "frozen: it sends no more than no retries." \
    holds "$(sent frozen "$own") <= $(sent frozen "no retries")"
verdict "Those who are told to wait come back spread ($same_second of 1000 in a second)." \
    test "${same_second:-1000}" -le 100
{
    echo "Well $(back refused "$own") s after a fault; without limits $(back refused "retries, cut")."
    cat "$folder/out"
} | measure
exit $status
