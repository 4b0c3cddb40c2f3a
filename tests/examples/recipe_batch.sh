#!/bin/sh
# recipes/batch on a real Redis, whose append-only file is the judge: each command has a counter of its own. Usage:
# recipe_batch.sh PROGRAM
. "$(dirname "$0")/server.sh"

cli() { redis-cli -p "$port" "$@" 2>/dev/null; }
answers() { cli PING | grep -q PONG; }
loading() { cli PING | grep -q LOADING; }
over() { has_shown '^\(done\|perhaps\|failed\) ' "$number"; }
blocked() { cli INFO clients | grep -q "^blocked_clients:1" || over; }
refused() { has_shown SOCKET_NOT_AVAILABLE 1 || over; }

# Every write is on the disk before it is answered.
start_redis() {
    start redis-server --bind 127.0.0.1 --port "$port" --dir "$folder" --save '' --appendonly yes \
        --appendfsync always --enable-debug-command local
}
go() { # ends a batch
    echo >&3
    until_ended
}
start_redis
begin "$port"
tell "all is well"
for _ in $(seq 20); do
    feed 50 "INCR n%d"
    go
done
tell "Redis refuses one command"
cli SET word text >/dev/null
feed 150 "INCR n%d"
give "INCR word %d" # two words: it has too many
feed 149 "INCR n%d"
go
# Until it has read its file it answers after every 1024 commands.
cli EVAL 'for i = 1, 4000 do redis.call("SET", "fill" .. i, i) end' 0 >/dev/null
cli CONFIG SET key-load-delay 400 >/dev/null
cli DEBUG LOADAOF >/dev/null &
reader=$!
until_true "Redis does not read its file" loading
tell "Redis reads its file"
feed 50 "INCR n%d"
go
wait $reader
cli CONFIG SET key-load-delay 0 >/dev/null
# It does what it has read, when nobody listens any more.
tell "Redis is asleep in the middle of a batch"
feed 250 "INCR n%d"
give "DEBUG SLEEP 3"
feed 249 "INCR n%d"
go
until_true "Redis does not wake up" answers
tell "Redis is killed in the middle of a batch"
feed 250 "INCR n%d"
give "BLPOP nobody 0"
feed 249 "INCR n%d"
echo >&3
until_true "Redis does not wait" blocked
slay
until_true "the program does not try again" refused
tell "Redis is started again"
start_redis
until_ended
end

slay
start_redis
# How each ended, and what its counter says: nothing if there is none.
sed -n 's/^\([a-z]*\) INCR \(n[0-9]*\)$/\1 \2/p' "$folder/out" >"$folder/ended"
sed 's/.* /GET /' "$folder/ended" | cli >"$folder/counters"
paste -d ' ' "$folder/ended" "$folder/counters" | awk '{ print $1, $3 + 0 }' | sort | uniq -c >"$folder/sums"
of() { awk -v how="$1" -v times="$2" '$2 ~ how && $3 ~ times { n += $1 } END { print n + 0 }' "$folder/sums"; }
twice=$(of . '[2-9]')
done=$(count '^done')
perhaps=$(count '^perhaps')
failed=$(count '^failed')
verdict "No command was done twice ($twice)." test "$(wc -l <"$folder/counters"):$twice" = 2347:0
verdict "Each that was reported done was done ($(of done 0) were not)." test "$(of done 0)" -eq 0
verdict "None that was reported failed was ($(of failed 1))." test "$(of failed 1)" -eq 0
verdict "Of those that are perhaps done some were ($(of perhaps 1)), some were not ($(of perhaps 0))." \
    test "$(of perhaps 1):$(of perhaps 0)" = 99:49
verdict "Only one piece of a batch is perhaps done ($perhaps of two batches)." test "$perhaps" -eq 150
verdict "Only what Redis refused has failed ($failed), not what it was too early for." \
    test "$failed:$(($(count SERVICE_NOT_AVAILABLE) > 0))" = 1:1
measure <<END
Of $number commands $done are done, $perhaps are perhaps done, and $failed failed.
Redis refused one, slept in the middle of a batch, and was killed in another.
Of the commands that are perhaps done it had done $(of perhaps 1); $twice were done twice.
END
exit $status
