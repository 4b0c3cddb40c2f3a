#!/bin/sh
# poll_loop on a real memcached, whose counter is the judge. Usage: poll_loop.sh PROGRAM [careless]
. "$(dirname "$0")/server.sh"

start_memcached() { start memcached -u nobody -l 127.0.0.1 -p "$port" -U 0 -t 1; }

# What memcached says of the counter; bash has sockets.
counter() {
    bash -c 'exec 4<>/dev/tcp/127.0.0.1/$1 && printf "get n\r\nquit\r\n" >&4 && cat <&4' - "$port" |
        tr -d '\r' | sed -n '2s/^\([0-9]*\) *$/\1/p'
}
increments() { feed "$1" "ma n N0 J1 v O%d"; }
reads() { feed "$1" "mg n v O%d"; }

# Whether a request lies unread before the frozen server, by the kernel's tables.
asked() {
    awk -v port=":$(printf %04X "$port")\$" '$2 ~ port && $4 == "01" && $5 !~ /:0+$/ { n++ }
        END { exit !n }' /proc/net/tcp
}

start_memcached
begin "$port" $careless
tell "memcached runs"
increments 200
reads 50
until_ended
freeze
tell "memcached is frozen"
increments 1
reads 1
until_shown ATTEMPT_TIMED_OUT 2
tell "memcached goes on"
thaw
until_ended
first=$(counter)
freeze
tell "memcached is frozen again"
reads 1
until_true "nobody asks" asked
slay
tell "memcached is killed, asked for something"
increments 100
until_shown SOCKET_NOT_AVAILABLE 3
tell "memcached is started again, and empty"
start_memcached
until_ended
end

second=$(counter)
done=$(count '^done ma')
perhaps=$(count '^perhaps ma')
counted=$((first + second))
echo "memcached counted $first + $second = $counted; done $done, perhaps done $perhaps"
verdict "No increment that was reported done is lost." test "$counted" -ge "$done"
verdict "None counted twice, and nothing else did." test "$counted" -le $((done + perhaps))
verdict "Every read was done." test "$(count '^done mg')" -eq 52
exit $status
