#!/bin/sh
# recipes/nodes on three real nginxes, one of which freezes; their access logs are the judge. Usage:
# recipe_nodes.sh PROGRAM
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/nginx.sh"

first=$port
second=$(free_port $((port + 1)))
dark=$(free_port $((second + 1)))
log="log_format requests '\$request_uri \$status';"
node() { # PORT: a server's block
    echo "server { listen 127.0.0.1:$1; access_log $1.log requests; location / { return 200; } }"
}
write_configuration steady.conf "$log $(node "$first") $(node "$second")"
write_configuration dark.conf "$log $(node "$dark")"
start "$nginx" -p "$folder" -e error.log -c steady.conf
steady=$server
trap 'clean; server=$steady; slay' EXIT
port=$dark
start "$nginx" -p "$folder" -e error.log -c dark.conf
requests() { grep -c . "$folder/$1.log"; }

begin "http://127.0.0.1:$first" "http://127.0.0.1:$second" "http://127.0.0.1:$dark"
tell "all is well"
feed 300 "/%d"
until_ended
until_ended
earlier=$(requests "$dark")
before_fault=$number
freeze
tell "one of three nodes is dark"
feed 80 "/%d"
until_ended
after_fault=$number
tell "it is well again"
thaw
asks() { # meanwhile operations go on
    feed 20 "/%d"
    until_ended
    [ "$(requests "$dark")" -gt $((earlier + in_fault + 5)) ]
}
# What it reads now was sent while it was dark.
in_fault=-4
until_true "it is not asked any more" asks
in_fault=$(($(requests "$dark") - earlier))
until_true "it is not asked any more" asks
end

hardly=$(awk -F '[/ ]' -v from="$before_fault" -v to="$after_fault" '$2 > from && $2 <= to { n++ }
    END { print n + 0 }' "$folder/$dark.log")
of_three=$(($(count '^done') - number + 80))
rm "$folder"/operations.*
begin "http://127.0.0.1:$dark" "http://127.0.0.1:$first" "http://127.0.0.1:$second" spare
tell "one is the primary, two are spares"
feed 1 "/%d"
until_ended
earlier=$(requests "$first")
feed 100 "/%d"
until_ended
idle=$(($(requests "$first") - earlier))
tell "the primary is dark"
freeze
feed 40 "/%d"
until_ended
busy=$(($(requests "$first") - earlier - idle))
tell "it is well again"
thaw
in_fault=0
earlier=$(requests "$dark")
until_true "the primary is not asked any more" asks
end

verdict "Everything was done, by some node." test "$(count '^done')" -eq "$number"
verdict "The dark node was hardly asked ($hardly)." test "$hardly" -le 10
verdict "The spare was not asked while the primary was well ($idle)." test "$idle" -eq 0
verdict "The spare was asked for nearly all while the primary was dark ($busy)." test "$busy" -ge 35
measure <<END
One of three was dark: $of_three of 80 operations done; attempts at the dark node: $hardly.
The spare was asked $idle times for 100 operations while the primary was well, and
$busy times for 40 operations while the primary was dark.
END
exit $status
