#!/bin/sh
# recipes/hedge on two real nginxes, of whose answers 3 in 100 take a second; their access log is the judge.
# Usage: recipe_hedge.sh PROGRAM
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/nginx.sh"

second=$(free_port $((port + 1)))
body=$(printf '%0800d' 0)
node() { echo "server { listen 127.0.0.1:$1; location / { limit_rate \$speed; return 200 $body; }
    location /slow { access_log slow.log times; limit_rate 500; return 200 $body; } }"; }
write_configuration nginx.conf "log_format times '\$msec \$request_time \$request_uri';
    access_log access.log times; keepalive_requests 33;
    map \$connection_requests \$speed { 33 500; default 0; } # the last one on each connection
    $(node "$port") $(node "$second")"
start_nginx
bash -c 'exec 4<>/dev/tcp/127.0.0.1/$1 && printf "GET /slow HTTP/1.0\r\n\r\n" >&4 && cat <&4' - "$port" \
    >"$folder/slow.out"
run 600 "http://127.0.0.1:$port/" "http://127.0.0.1:$second/"
tell "3 in 100 answers take a second"
until_over
tell

# By nginx, of each operation: from its first copy to the first that was answered, in ms.
awk '{ begun = $1 - $2 }
     !($3 in end) { first[$3] = begun; end[$3] = $1 }
     begun < first[$3] { first[$3] = begun }
     END { for (o in end) printf "%d\n", (end[o] - first[o]) * 1000 + 0.5 }' "$folder/access.log" |
    sort -n >"$folder/took"
sent=$(grep -c . "$folder/access.log")
p99=$(sed -n 595p "$folder/took")
slow=$(awk '{ printf "%d", $2 * 1000 }' "$folder/slow.log")
verdict "Each operation was done." test "$client_status:$(count '^done'):$(grep -c . "$folder/took")" = 0:600:600
verdict "99 of 100 take a third of what a slow answer does ($p99 of $slow ms)." \
    test "${p99:-$slow}" -le $((slow / 3))
# A success earns a tenth of one, time a twentieth in a second, if the first has been sent.
seconds=$(awk 'NR == 1 { first = $1 } { last = $1 } END { printf "%d", last - first + 1 }' "$folder/access.log")
verdict "At most one copy was sent for ten operations ($sent for 600)." \
    test "$sent" -le $((600 + 61 + seconds / 20))
measure <<END
3 of 100 answers took $slow ms, and 99 % of 600 operations at most $p99 ms.
$((sent - 600)) second copies were sent; what came late was cancelled.
END
exit $status
