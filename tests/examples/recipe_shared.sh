#!/bin/sh
# recipes/shared on a real nginx that answers 503 for a while, whose access log is the judge; workers are killed
# meanwhile. Usage: recipe_shared.sh PROGRAM
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/nginx.sh"

configure "log_format requests '\$status \$request_uri \$msec'; access_log access.log requests;" \
    "keepalive_requests 1000000; location / { if (-f $folder/down) { return 503; } return 200; }"
logged() { grep -c "^$1" "$folder/access.log"; }
answered() { [ "$(logged "$1")" -ge "$2" ] || ! kill -0 $client 2>/dev/null; }
workers() { ps -A -o ppid= -o pid= | awk -v of="$client" '$1 == of { print $2 }'; }
kills=0
kill_workers() { # COUNT: one after the other, when nginx has answered 503 again
    left=$1
    while [ "$left" -gt 0 ]; do
        until_true "nobody asks" answered 503 $(($(logged 503) + 1))
        pid=$(workers | sed -n "$((left % 4 + 1))p")
        [ -z "$pid" ] || ! kill -s KILL "$pid" || kills=$((kills + 1))
        left=$((left - 1))
    done
}
retries() { # FILE: what nginx was sent more than once
    awk '{ n += seen[$2]++ > 0 } END { print n + 0 }' "$1"
}

touch "$folder/down"
start_nginx
run 4 "http://127.0.0.1:$port/"
echo "nginx answers 503 from the beginning, and workers are killed"
kill_workers 30
cp "$folder/access.log" "$folder/first.log"
rm "$folder/down"
echo "nginx is well"
until_true "nothing is done" answered 200 500
touch "$folder/down"
echo "nginx answers 503 again, and workers are killed"
kill_workers 30
verdict "The program goes on." kill -0 $client
kill -s KILL $(workers) $client
client=

# A bucket holds four retries at first, and again after 20 s; a success earns 0.4 of one.
allowed() { # FILE: retries at most, by what nginx has done and by its clock
    awk 'NR == 1 { first = $3 } $1 == 200 { done++ } { last = $3 }
         END { printf "%d", 4 + 0.4 * done + 0.2 * (last - first) + 0.001 }' "$1"
}
done=$(logged 200)
first=$(retries "$folder/first.log")
all=$(retries "$folder/access.log")
most=$(allowed "$folder/access.log")
verdict "Before anything was done it paid for four, and one in 5 s ($first)." \
    test "$first" -le "$(allowed "$folder/first.log")"
verdict "Then for four more for ten that were done ($all, at most $most)." test "$all" -le "$most"
verdict "There were some." test "$all" -gt 4
measure <<END
$kills workers were killed: $all retries were sent; the one budget allows $most.
While nginx answered 503, before the first of $done operations was done, $first were.
END
exit $status
