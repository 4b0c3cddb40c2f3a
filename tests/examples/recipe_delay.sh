#!/bin/sh
# recipes/delay on a real nginx that is out of order, whose access log is the judge. Usage: recipe_delay.sh PROGRAM
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/nginx.sh"

configure "log_format times '\$msec \$status'; access_log access.log times;" \
    "location / { if (-f $folder/down) { return 503; } return 200; }"

asked() { [ "$(grep -c . "$folder/access.log")" -ge "$1" ] || ! kill -0 $client 2>/dev/null; }
touch "$folder/down"
start_nginx
run "http://127.0.0.1:$port/"
tell "nginx is out of order"
until_true "nobody asks" asked 8
rm "$folder/down"
tell "nginx is well"
until_over
tell

# The least that it waits is half of 100 ms, doubled with each request.
awk 'NR > 1 { printf "%.1f ", $1 - before; if ($1 - before < least - 0.002) soon++ }
     { before = $1; least = NR == 1 ? 0.05 : least * 2 < 2.5 ? least * 2 : 2.5 }
     END { print soon + 0 }' "$folder/access.log" >"$folder/gaps"
asked=$(grep -c . "$folder/access.log")
verdict "The loop lasts as long as the outage does." \
    test "$client_status:$(tail -n 1 "$folder/access.log" | cut -d ' ' -f 2)" = 0:200
verdict "No wait was shorter than half of what it doubles to." \
    test "$(awk '{ print $NF }' "$folder/gaps")" -eq 0
measure <<END
nginx answered 503 for $(awk 'NR == 1 { at = $1 } { end = $1 } END { printf "%.0f", end - at }' "$folder/access.log") s. It was asked $asked times, after waits of (s)
$(sed 's/ [0-9]*$//' "$folder/gaps")
END
exit $status
