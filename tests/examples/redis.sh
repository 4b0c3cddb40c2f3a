#!/bin/sh
# redis on a real server whose append-only file is the judge. Usage: redis.sh PROGRAM [careless]
. "$(dirname "$0")/server.sh"

cli() { redis-cli -p "$port" "$@" 2>/dev/null; }
answers() { cli PING | grep -q -e PONG -e LOADING; }

# By itself a cluster's nodes would meet 10,000 above the port, where clients have their near ends.
bus=$(free_port $((port + 2)))

# start_redis OPTION...: every write is on the disk before it is answered
start_redis() {
    start redis-server --bind 127.0.0.1 --port "$port" --cluster-port "$bus" \
        --dir "$folder" --save '' --appendonly yes --appendfsync always --busy-reply-threshold 50 "$@"
}
loaded() { cli PING | grep -q PONG; }
busy() { cli PING | grep -q BUSY; }

# Whether a request lies unread before the frozen server, by the kernel's tables.
asked() {
    awk -v port=":$(printf %04X "$port")\$" '$2 ~ port && $4 == "01" && $5 !~ /:0+$/ { n++ }
        END { exit !n }' /proc/net/tcp
}

start_redis --cluster-enabled yes
begin "$port" $careless
tell "nobody serves the cluster's slots"
feed 1 "INCR n"
until_shown CLUSTERDOWN 2
cli CLUSTER ADDSLOTSRANGE 0 16383 >/dev/null
until_ended
tell "somebody does"
feed 200 "INCR n"
feed 100 "SET key%d value"
feed 100 "GET key%d"
until_ended
# A slot whose keys move is asked for two, one of which is there.
slot=$(cli CLUSTER KEYSLOT "{moves}1")
cli SET "{moves}1" 1 >/dev/null
cli CLUSTER SETSLOT "$slot" MIGRATING "$(cli CLUSTER MYID)" >/dev/null
tell "the keys of a slot move to another node"
feed 1 "EXISTS {moves}1 {moves}2"
until_shown TRYAGAIN 2
cli CLUSTER SETSLOT "$slot" STABLE >/dev/null
until_ended
# Enough to read that it takes a second: while it loads it answers after every 1024 commands.
cli EVAL 'for i = 1, 6000 do redis.call("SET", "{fill}" .. i, i) end' 0 >/dev/null
cli EVAL 'while true do end' 0 >/dev/null &
script=$!
until_true "the script does not run" busy
tell "a script keeps Redis busy"
feed 1 "INCR n"
until_shown BUSY 2
cli SCRIPT KILL >/dev/null
wait $script
until_ended
freeze
tell "Redis is frozen"
feed 1 "INCR n"
feed 1 "GET n"
until_shown ATTEMPT_TIMED_OUT 2
tell "Redis goes on"
thaw
until_ended
freeze
tell "Redis is frozen again"
feed 1 "SET last %d"
until_true "nobody asks" asked
slay
tell "Redis is killed, asked for something"
feed 50 "INCR n"
until_shown SOCKET_NOT_AVAILABLE 3
tell "Redis is started again, and reads its file"
start_redis --key-load-delay 200
until_ended

# A second server takes over, and hands back. On whose side the port is decides who answers.
mkdir "$folder/second"
second_port=$(free_port $((port + 1)))
as_server redis-server --bind 127.0.0.1 --port "$second_port" --dir "$folder/second" --save '' \
    --replicaof 127.0.0.1 "$port" >>"$folder/second.log" 2>&1 &
client="$client $!"
second=$!
second() { redis-cli -p "$second_port" "$@" 2>/dev/null; }
in_step() { # COMMAND: the replica has all that the master has
    "$1" INFO replication | grep -q "master_link_status:up" &&
        [ "$(cli GET n)" = "$(second GET n)" ]
}
until_true "the second server does not follow" in_step second
feed 100 "INCR n"
until_ended
until_true "the second server is behind" in_step second
tell "the second server takes over"
second REPLICAOF NO ONE >/dev/null
cli REPLICAOF 127.0.0.1 "$second_port" >/dev/null
feed 20 "INCR n"
until_shown READONLY 2
until_true "the first server does not follow" in_step cli
tell "and hands back"
cli REPLICAOF NO ONE >/dev/null
until_ended
kill "$second"
client=${client% "$second"}
end

# The file is read by another server, as after a crash.
slay
start_redis
until_true "Redis does not read its file" loaded
counted=$(cli GET n)
kept=$(cli --raw KEYS 'key*' | grep -c .)
done=$(count '^done INCR')
perhaps=$(count '^perhaps INCR')
echo "Redis counted $counted; done $done, perhaps done $perhaps"
verdict "No increment that was reported done is lost." test "$counted" -ge "$done"
verdict "None counted twice, and nothing else did." test "$counted" -le $((done + perhaps))
verdict "Every key that was reported set is there." test "$kept" -ge "$(count '^done SET key')"
exit $status
