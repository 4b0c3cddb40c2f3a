#!/bin/sh
# operation.sh BUILD: instructions of whole operations, with each gate and without, and of a scope and a
# text. Counted by callgrind as the difference of two runs, so they do not vary. "adds" is what a row has
# more than the one that it is compared with. With STRICT=1 it fails if a count passes its limit.
build=$1
. "$(dirname "$0")/../support/limits.sh"

# What it is | at most | bench_PROGRAM and what it does | what it is compared with, which stands above
rows() {
    cat << 'END'
nothing is shared                                |  281 | operation
a budget                                         |  380 | operation budget | operation
a service: a budget and the AIMD limit           |  700 | operation service | operation budget
a service, circuit breaker                       |  866 | operation service breaker | operation service
a service, client-side throttle                  |  837 | operation service throttle | operation service
a service, rate                                  |  790 | operation service rate | operation service
a service, rate under a limit                    |  848 | operation service paced | operation service
a service, latency                               |  804 | operation service latency | operation service
a service, all of these                          | 1220 | operation service breaker throttle rate latency | operation service
a budget, four nodes with a limit each           | 1040 | operation nodes | operation budget
a service, event loop                            |  826 | operation service loop | operation service
a service, event loop, hedge sends no copy       | 1114 | operation service hedge | operation service loop
a service, event loop, hedge sends a copy        | 2186 | operation service copy | operation service hedge
one retry, nothing is shared                     |  800 | operation retry | operation
one retry, a service                             | 1850 | operation service retry | operation service
scope: look up a name of 18 bytes                |  240 | scopes first
policy from a text of 49 bytes                   | 3340 | from_text policy
END
}

count() { # PROGRAM ARGUMENT...: the instructions that it executes
    program=$1
    shift
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$build/bench_$program" "$@" 2>&1 \
        > /dev/null | awk '/Collected/ { print $NF }'
}

rows | while IFS='|' read -r text limit what base; do
    # shellcheck disable=SC2086 # one word an argument
    echo "$text|$limit|$what|$base|$(count $what 1000)|$(count $what 2000)"
done | awk -F ' *[|] *' -v measured="$measured" '
    BEGIN { print "\nOne operation, scope or text (gcc -O2)             instructions  at most    adds" }
    { each[$3] = ($6 - $5) / 1000
      adds = $4 == "" ? "" : sprintf("%8.1f", each[$3] - each[$4])
      printf "  %-50s %10.1f %8s%s\n", $1, each[$3], $2, adds
      print $1 "|" ($4 == "" || $4 in each ? each[$3] : "") "|" $2 >> measured }
    END { print "" }'
limits_hold
