#!/bin/sh
# recipes/reconnect on a real nginx, whose access log is the judge. Usage: recipe_reconnect.sh PROGRAM
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/nginx.sh"

# While the file `down` is there it closes whatever asks.
configure "log_format readings '\$msec \$status \$request_uri'; access_log access.log readings;" \
    "keepalive_requests 10000; location / { if (-f $folder/down) { return 444; } return 204; }"

flaps() { [ "$(grep -c " 444 " "$folder/access.log")" -ge "$1" ]; }
start_nginx
run "$port" 300
tell "nginx runs"
until_shown "^done" 30
slay
tell "nginx is killed"
until_shown "again in" 2
touch "$folder/down"
start_nginx
tell "nginx closes what connects"
until_true "nobody connects" flaps 2
tell "nginx is well"
rm "$folder/down"
until_over
tell

# How long after the connection before the second that was closed came, and the first that was not.
gaps=$(awk '$2 == 444 || (before && !over) { if (before) printf "%.1f ", $1 - before; before = $1 }
    $2 == 204 && before { over = 1 }' "$folder/access.log")
read -r first second rest <<END
$gaps
END
delivered=$(awk '$2 == 204 && !seen[$3]++ { n++ } END { print n + 0 }' "$folder/access.log")
verdict "The program has ended by itself, and no reading is lost." \
    test "$client_status:$delivered:$(count "^done")" = 0:300:300
# 2.6 and 4.1 s, a fifth more or less; where each counts anew 1 s.
verdict "Attempts to connect start ever further apart." \
    awk "BEGIN { exit !(${first:-0} >= 1.6 && ${second:-0} >= 2.4 && \"$rest\" == \"\") }"
measure <<END
nginx was killed, and then closed each connection: the last two attempts began
$first and $second s after the one before. $delivered of 300 readings were delivered.
END
exit $status
