#!/bin/sh
# recipes/rate on a real nginx that answers 429 to more than 20 requests a second, and takes 21 at once; its access
# log is the judge. Beside it runs the same program with a rate that is no limit. Usage: recipe_rate.sh PROGRAM
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/nginx.sh"

configure "log_format requests '\$msec \$status \$uri'; access_log access.log requests; limit_req_status 429;
    limit_req_zone \$uri zone=each:1m rate=20r/s;" "
    location / { limit_req zone=each burst=20 nodelay; try_files /none @ok; }
    location @ok { return 200; }"
start_nginx
# ask PATH ARGUMENT...: 60 times
ask() {
    path=$1
    shift
    seq 60 | sed "s|^|http://127.0.0.1:$port/$path?|" | "$program" "$@" >"$folder/$path.out" &
    client=$!
    until_over
    grep " /$path\$" "$folder/access.log" >"$folder/$path.log"
}
answers() { awk -v status="$2" '$2 == status { n++ } END { print n + 0 }' "$folder/$1.log"; }
a_second() { awk 'NR == 1 { first = $1 } $2 == 200 { n++ } END { printf "%.0f", n / ($1 - first) }' "$folder/$1.log"; }
# ms_for PATH COUNT: from the first to the last of so many
ms_for() { awk -v n="$2" 'NR == 1 { first = $1 } NR == n { printf "%.0f", ($1 - first) * 1000 }' "$folder/$1.log"; }

echo "nginx lets 20 a second through, and 21 at once"
ask kept 20 10
echo "the same without a limit"
ask without 1000000 1000
verdict "Each of 60 operations was done." test "$client_status:$(answers kept 200)" = 0:60
verdict "nginx answered 429 to none of them ($(answers kept 429); without the limit $(answers without 429))." \
    test "$(answers kept 429)" -eq 0
verdict "Without the limit it does." test "$(answers without 429)" -gt 0
# Ten that are sent evenly take a sixth of the time.
verdict "The first ten were sent at once." test "$(($(ms_for kept 10) * 8))" -lt "$(ms_for kept 60)"
measure <<END
$(answers kept 200) of 60 were done, and nginx answered 429 to $(answers kept 429); without the limit to $(answers without 429).
20 a second were allowed, and 10 at once: 60 took $(ms_for kept 60) ms, the first ten $(ms_for kept 10).
END
exit $status
