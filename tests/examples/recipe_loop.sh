#!/bin/sh
# recipes/loop on a real memcached, whose counter is the judge. Usage: recipe_loop.sh PROGRAM
. "$(dirname "$0")/server.sh"

start_memcached() { start memcached -u nobody -l 127.0.0.1 -p "$port" -U 0 -t 1 "$@"; }

# What memcached says of the counter; bash has sockets.
counter() {
    bash -c 'exec 4<>/dev/tcp/127.0.0.1/$1 && printf "get n\r\nquit\r\n" >&4 && cat <&4' - "$port" |
        tr -d '\r' | sed -n '2s/^\([0-9]*\) *$/\1/p'
}
# Whether so many requests lie unread before the frozen server, by the kernel's tables.
asked() {
    awk -v port=":$(printf %04X "$port")\$" -v least="$1" \
        '$2 ~ port && $4 == "01" && $5 !~ /:0+$/ { n++ } END { exit n < least }' /proc/net/tcp
}
start_memcached
tell "memcached runs"
run "$port" 40000
until_shown '^done' 100
freeze
tell "memcached is frozen"
until_true "not all ask" asked 4
until_shown '^perhaps' 4
tell "memcached goes on"
thaw
until_over
first=$(counter)
timed_out=$(count '^perhaps')
freeze
tell "memcached is frozen, and killed"
run "$port" 100
until_true "not all ask" asked 4
slay
until_shown SOCKET_NOT_AVAILABLE 8
tell "memcached is started again, and empty"
start_memcached
until_over
second=$(counter)
done=$(count '^done')
perhaps=$(count '^perhaps')
failed=$(count '^failed')
broke=$((perhaps - timed_out))
slay
start_memcached -b 1
freeze
tell "memcached is frozen, with room for two"
run "$port" 4
until_over
tell

verdict "The program has ended by itself, and each operation once." \
    test "$client_status:$((done + perhaps + failed))" = 0:40100
verdict "No increment that was reported done is lost." test "$((first + second))" -ge "$done"
verdict "None counted twice." test "$((first + second))" -le $((done + perhaps))
verdict "Four that timed out and four that broke are perhaps done ($timed_out and $broke)." \
    test "$((timed_out >= 4 && broke >= 4)):$((perhaps <= 16))" = 1:1
verdict "An increment whose connection never came has failed ($(count '^failed') of 4)." \
    test "$(count '^failed')" -ge 1
verdict "None has failed before ($failed)." test "$failed" -eq 0
measure <<END
Of 40100 increments $done are done, $perhaps are perhaps done, and $failed failed.
memcached was frozen, killed and started. It has counted $((first + second)).
END
exit $status
