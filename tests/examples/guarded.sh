#!/bin/sh
# guarded on servers in trouble, with its gates and, at the same time on servers of its own, without.
# Usage: guarded.sh PROGRAM [bare]. FAULTS names those of "slow frozen limited overload" to show.
. "$(dirname "$0")/server.sh"

nginx=/usr/sbin/nginx
[ -x $nginx ] || nginx=nginx
FAULTS=${FAULTS:-slow frozen limited overload}
SLOW=${SLOW:-$(cd "$(dirname "$program")" && pwd)/slow_server}
export FAULTS SLOW

cat >"$folder/nginx.conf" <<END
daemon off; master_process off; error_log error.log; pid nginx.pid;
events { worker_connections 2048; }
http {
  access_log off;
  client_body_temp_path temp; proxy_temp_path temp; fastcgi_temp_path temp;
  uwsgi_temp_path temp; scgi_temp_path temp;
  limit_req_zone \$server_name zone=all:1m rate=100r/s;
  server {
    listen 127.0.0.1:$port backlog=4096;
    server_name localhost;
    location / { return 200 'ok\n'; }
    location @answer { return 200 'ok\n'; }
    location /limited {
      limit_req zone=all burst=10 nodelay; limit_req_status 429; limit_req_log_level info;
      try_files /none @answer;
    }
  }
}
END

begins() { grep -q "^phase $1\$" "$folder/$fault.out" || ! kill -0 "$client" 2>/dev/null; }

# load PATH PHASES...: the program, in the background
load() {
    path=$1
    shift
    "$program" "http://127.0.0.1:$port$path" "$@" $careless >"$folder/$fault.out" 2>&1 &
    client=$!
}
fault_slow() {
    start "$SLOW" "$port" 100 5 50
    load / 200 6 200 5 200 3
}
fault_frozen() {
    start "$nginx" -p "$folder" -e error.log -c nginx.conf
    load / 200 3 200 3 200 5
    until_true "the program does not begin" begins 1
    signal STOP
    until_true "the program does not go on" begins 2
    thaw
}
fault_limited() {
    start "$nginx" -p "$folder" -e error.log -c nginx.conf
    load /limited 80 3 200 6 80 4
}
fault_overload() {
    start "$SLOW" "$port" 10 50 0
    load / 120 3 240 6 120 10
}

# The other one, of the same faults.
if [ -z "$careless" ]; then
    cp "$program" "$folder/twin"
    sh "$0" "$folder/twin" bare >"$folder/twin.out" 2>&1 &
    twin=$!
    trap 'kill -s TERM $twin 2>/dev/null; clean' EXIT
fi
for fault in $FAULTS; do
    [ -n "$careless" ] || [ ! -t 2 ] || echo "$fault ..." >&2
    fault_$fault
    wait "$client" || give_up "the program has failed"
    client=
    slay
done
[ -z "$careless" ] || exit 0
wait $twin || give_up "the program without gates has failed"
trap 'clean' EXIT

# value NAME FAULT [bare]: a number of a result
value() { sed -n "s/.*$1 \([0-9]*\).*/\1/p" "$folder/${3:+twin.careless.run/}$2.out"; }
row() { # WHO FAULT [bare]
    printf '  %-9s %5d of %4d %6d %6d %6d %6d %8d.%d\n' "$1" "$(value done "$2" ${3:-})" \
        "$(value of "$2" ${3:-})" "$(value sent "$2" ${3:-})" "$(value p50 "$2" ${3:-})" \
        "$(value p99 "$2" ${3:-})" "$(value 'p99\.9' "$2" ${3:-})" \
        $(($(value well "$2" ${3:-}) / 1000)) $(($(value well "$2" ${3:-}) % 1000 / 100))
}
cat <<'END'
                    done   sent    p50    p99  p99.9  well again
                         in trouble        in ms       after, s
END
for fault in $FAULTS; do
    case $fault in
    slow) echo "5 % of the answers take 100 times as long, for ever" ;;
    frozen) echo "the server is frozen for 3 s" ;;
    limited) echo "200 a second for 6 s, of which 100 are accepted (429)" ;;
    overload) echo "120 % of what the server can do for 6 s, then 60 %" ;;
    esac
    row gates "$fault"
    row bare "$fault" bare
done

# Of what a number is without the gates: at most, or at least, so many of so many parts; or less.
at_most() { [ $(($(value "$1" "$2") * $4)) -le $(($(value "$1" "$2" bare) * $3)) ]; } # NAME FAULT PARTS OF
at_least() { [ $(($(value "$1" "$2") * $4)) -ge $(($(value "$1" "$2" bare) * $3)) ]; }
less() { [ "$(value "$1" "$2")" -lt "$(value "$1" "$2" bare)" ]; }
least=70 # percent: a busy machine serves the two unequally
for fault in $FAULTS; do
    case $fault in
    slow) verdict "Slow answers: the 99th percentile is a half or less." at_most p99 slow 1 2 ;;
    frozen) verdict "Frozen: a third or less was sent." at_most sent frozen 1 3 ;;
    limited)
        verdict "Limited: less was sent." less sent limited
        verdict "Limited: at least $least % as much was done." at_least done limited $least 100
        ;;
    overload)
        verdict "Overload: at least twice as much was done." at_least done overload 2 1
        verdict "Overload: all was well again sooner." less well overload
        ;;
    esac
done
exit $status
