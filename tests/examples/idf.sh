#!/bin/sh
# Runs examples/idf_component/mqtt on stand-ins for ESP-IDF and esp-mqtt, as a hundred devices whose
# broker fails for 40 s, and beside it the same without retry.h: esp-mqtt's own reconnecting. Then
# compiles it for an ESP8266's core. Usage: idf.sh FOLDER, from the top folder; FROM= is another copy of
# the component. Exits with 0 if all verdicts hold.
set -u
. "$(dirname "$0")/verdict.sh"
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
from=${FROM:-examples/idf_component}
own=tests/examples/idf
devices=100
flags="-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow ${WERROR--Werror} -I. -I$own"

# fleet NAME MAIN FLAG...: all devices, in NAME.txt
fleet()
{
    name=$1
    shift
    # shellcheck disable=SC2086 # one word a flag
    ${CC:-cc} $flags -O1 "$@" "$from/retry.c" $own/world.c -o "$out/$name" || exit 2
    for device in $(seq $devices); do
        "$out/$name" "$device" || echo "not connected in the end"
    done > "$out/$name.txt"
}
busiest() # NAME: devices that knock in the same second, once the broker has failed
{
    awk '{ most = ++n[int($1 / 1000)] > most ? n[int($1 / 1000)] : most } END { print most }' "$out/$1.txt"
}
connected() { grep -c ' connected$' "$out/$1.txt"; }
knocks() { wc -l < "$out/$1.txt"; }

fleet with "$from/mqtt/main/main.c"
sed 's/disable_auto_reconnect = true/disable_auto_reconnect = false/
    s/connect_in(retry_connection_failed.*)/(void)0/' "$from/mqtt/main/main.c" > "$out/alone.c"
fleet alone "$out/alone.c"
for name in alone with; do
    echo "$name retry.h: $(connected $name) of $devices came back," \
        "$(busiest $name) at most in a second, $(knocks $name) attempts" | sed 's/^alone/without/'
done
verdict "All devices came back." test "$(connected with)" -eq $devices
verdict "They come back spread: never a quarter of them in a second." \
    test $(($(busiest with) * 4)) -lt $devices
verdict "Without retry.h they come back all at once." test "$(busiest alone)" -eq $devices

picolibc=/usr/lib/xtensa-lx106-elf/picolibc.specs
for file in retry.c mqtt/main/main.c; do
    # shellcheck disable=SC2086 # one word a flag
    xtensa-lx106-elf-gcc --specs=$picolibc $flags -mlongcalls -Os -c "$from/$file" -o "$out/xtensa.$(basename $file .c).o"
    verdict "Xtensa's gcc compiles $file." test $? -eq 0
done
exit $status
