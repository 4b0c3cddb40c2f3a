#!/bin/sh
# lwip against a peer, with an lwIP of its own, that freezes, dies and comes back. What the peer has
# carried out is the judge. Usage: lwip.sh PROGRAM [careless]
here=$(cd "$(dirname "$0")" && pwd)
. "$here/server.sh"

${CC:-cc} -std=c99 -O2 -isystem /usr/include/lwip "$here/lwip_peer.c" -o "$folder/peer" -llwip ||
    give_up "the peer does not compile"

# Whether the peer's end of the wire, or the program's, is there, by the kernel's tables.
bound() { grep -q ": 0100007F:$(printf %04X "$1") " /proc/net/udp; }
answers() { bound "$port"; }
while bound "$port" || bound $((port + 1)); do port=$((port + 2)); done
start_peer() { start "$folder/peer" "$port"; }

# Whether packets lie unread before the frozen peer.
asked() {
    awk -v port=":$(printf %04X "$port")\$" '$2 ~ port && $5 !~ /:0+$/ { n++ } END { exit !n }' /proc/net/udp
}

start_peer
begin "$port" $careless
tell "the peer runs"
feed 100 "add %d"
feed 20 "get %d"
until_ended
freeze
tell "the peer is frozen"
feed 1 "add %d"
feed 1 "get %d"
until_shown ATTEMPT_TIMED_OUT 1
tell "the peer goes on"
thaw
until_ended
freeze
tell "the peer is frozen again"
feed 1 "get %d"
until_true "nobody asks" asked
slay
tell "the peer is killed, asked for something"
feed 50 "add %d"
until_shown SERVICE_RESPONSE_CODE_INDICATED 3
tell "the peer is started again"
start_peer
until_ended
end

carried_out() { grep "^add" "$folder/server.log" | sort; }
done=$(count '^done add')
perhaps=$(count '^perhaps add')
carried_out >"$folder/carried_out"
grep '^done add' "$folder/out" | cut -d' ' -f2- | sort >"$folder/done"
echo "done $done, perhaps done $perhaps; carried out $(wc -l <"$folder/carried_out")"
verdict "Nothing that was reported done is lost." \
    test -z "$(sort -u "$folder/carried_out" | comm -13 - "$folder/done")"
verdict "Nothing was carried out twice." test -z "$(uniq -d "$folder/carried_out")"
verdict "Every get was done." test "$(count '^done get')" -eq 22
verdict "The program made the connection anew." test "$(count SERVICE_RESPONSE_CODE_INDICATED)" -ge 3
exit $status
