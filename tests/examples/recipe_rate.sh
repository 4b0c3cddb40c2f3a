#!/bin/sh
# recipes/rate on a real nginx that answers 429 to more than 50 requests a second, whose access log is the judge.
# Usage: recipe_rate.sh PROGRAM
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/nginx.sh"

configure "log_format requests '\$msec \$status \$uri'; access_log access.log requests; limit_req_status 429;
    limit_req_zone \$server_port zone=strict:1m rate=50r/s; limit_req_zone \$server_port zone=bursts:1m rate=50r/s;" "
    location /strict { limit_req zone=strict; try_files /none @ok; }
    location /bursts { limit_req zone=bursts burst=20 nodelay; try_files /none @ok; }
    location @ok { return 200; }"
start_nginx
# ask PATH ARGUMENT...: 150 times
ask() {
    path=$1
    shift
    seq 150 | sed "s|^|http://127.0.0.1:$port/$path?|" | "$program" "$@" >"$folder/$path.out" &
    client=$!
    until_over
    grep " /$path\$" "$folder/access.log" >"$folder/$path.log"
}
answers() { awk -v status="$2" '$2 == status { n++ } END { print n + 0 }' "$folder/$1.log"; }
ms_for_twenty() { awk 'NR == 1 { first = $1 } NR == 20 { printf "%.0f", ($1 - first) * 1000 }' "$folder/$1.log"; }
a_second() { awk 'NR == 1 { first = $1 } $2 == 200 { n++ } END { printf "%.0f", n / ($1 - first) }' "$folder/$1.log"; }

echo "nginx lets 50 a second through, and no more than one in 20 ms"
ask strict 45 1
echo "nginx lets 50 a second through, and 21 at once"
ask bursts 50 20
for path in strict bursts; do
    verdict "$path: each of 150 operations was done." test "$client_status:$(answers $path 200)" = 0:150
    verdict "$path: nginx answered 429 to at most one in twenty ($(answers $path 429))." \
        test "$(answers $path 429)" -le 8
done
verdict "bursts: the first 20 were sent at once." test "$(ms_for_twenty bursts)" -lt $(($(ms_for_twenty strict) / 2))
measure <<END
of 150   limit               nginx answered 429   done a second
45, 1    no two in 20 ms     $(answers strict 429)                    $(a_second strict)
50, 20   a burst of 21       $(answers bursts 429)                    $(a_second bursts)
END
exit $status
