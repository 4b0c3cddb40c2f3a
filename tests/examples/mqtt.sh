#!/bin/sh
# mqtt on a real mosquitto, whose log is the judge. Usage: mqtt.sh PROGRAM [careless|twins]
# Twins are two fleets of the same names, which take each other's connections away.
. "$(dirname "$0")/server.sh"

broker=/usr/sbin/mosquitto
[ -x $broker ] || broker=mosquitto
fleet=200

cat >"$folder/mosquitto.conf" <<END
listener $port 127.0.0.1
allow_anonymous true
log_type all
log_dest file $folder/log
END
# Root's mosquitto becomes another user, who may not write here.
[ "$(id -u)" -ne 0 ] || echo "user root" >>"$folder/mosquitto.conf"
start_mosquitto() { start "$broker" -c mosquitto.conf; }
# How many were to come back in the busiest second: a busy machine brings all of them late.
busiest() {
    awk '$2 == "connected," && seen[$1]++ { print $5 }' "$1" | sort -n |
        awk '{ at[NR] = $1; while ($1 - at[first + 1] >= 1000) first++ }
            NR - first > most { most = NR - first }
            END { print most + 0 }'
}

if [ "$careless" = twins ]; then
    clients=2
    start_mosquitto
    begin "$port"
    tell "two fleets have the same names"
    until_shown lost $((6 * fleet))
    tell
    most=$(sed -n 's/^ *\(client[0-9]*\) lost.*/\1/p' "$folder/out" | sort | uniq -c | sort -n |
        awk 'END { print $1 }')
    verdict "When each name was lost 6 times on average, none was lost over 13 times ($most)." \
        test "$most" -le 13
    exit $status
fi

start_mosquitto
begin "$port" $careless
until_shown connected $fleet
tell "a fleet of $fleet stands on the broker"
feed 200 %d
until_ended
freeze
tell "the broker is frozen"
feed 20 %d
[ -z "$careless" ] || until_shown anew 20
tell "the broker goes on"
thaw
until_ended
freeze
tell "the broker is frozen again"
feed 20 %d
slay
tell "the broker is killed"
until_shown lost $fleet
tell "the broker is started again"
start_mosquitto
until_shown connected $((2 * fleet))
end

# A message that came twice is marked (d1) if it was sent again below the program.
sed -n "s|.*Received PUBLISH from [a-z0-9]* (d\([01]\), .*'fleet/\([0-9]*\)'.*|\1 \2|p" \
    "$folder/log" >"$folder/received"
lost=$(sed -n 's/^done //p' "$folder/out" | awk 'NR == FNR { has[$2] = 1; next }
    !($1 in has) { n++ } END { print n + 0 }' "$folder/received" -)
twice=$(awk '$1 == 0 && came[$2]++ { n++ } END { print n + 0 }' "$folder/received")
with=$(busiest "$folder/out")
if [ -z "$careless" ]; then
    cp "$program" "$folder/at_once"
    sh "$0" "$folder/at_once" careless >"$folder/at_once.out" 2>&1
    without=$(busiest "$folder/at_once.careless.run/out")
else
    without=$with
fi
echo "due in the busiest second: $with of $fleet clients; without spaced waits: $without"
verdict "No message that was reported done is lost ($lost)." test "$lost" -eq 0
verdict "The program published none twice ($twice)." test "$twice" -eq 0
verdict "The fleet came back spread." test "$((with * 3))" -le "$((without * 2))"
exit $status
