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
trap 'clean; kill -s KILL $steady' EXIT
port=$dark
start "$nginx" -p "$folder" -e error.log -c dark.conf
requests() { grep -c . "$folder/$1.log"; }

begin "http://127.0.0.1:$first" "http://127.0.0.1:$second" "http://127.0.0.1:$dark"
tell "all is well"
feed 300 "/%d"
until_ended
until_ended
earlier=$(requests "$dark")
freeze
tell "one of three nodes is dark"
feed 80 "/%d"
until_ended
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

verdict "Everything was done, by some node." test "$(count '^done')" -eq "$number"
verdict "The dark node was hardly asked ($in_fault)." test "$in_fault" -le 10
measure <<END
One of three was dark: $(( $(count '^done') - number + 80 )) of 80 operations were done; it was asked $in_fault times.
END
exit $status
