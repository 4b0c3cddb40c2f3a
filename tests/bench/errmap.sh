#!/bin/sh
# errmap.sh BUILD: what it costs to parse error maps and to find in them, in instructions counted by
# callgrind and in time. With STRICT=1 it fails if a count passes its limit. BUILD holds
# bench_errmap_PEER and bench_find.
parse=$1/bench_errmap_
find=$1/bench_find
pretty=tests/data/errmap_v2.json
export LD_BIND_NOW=1 # nothing is looked up while callgrind counts
. "$(dirname "$0")/../support/limits.sh"

count() # FUNCTION EVENT COMMAND...: what callgrind counts of an event inside a function
{
    function=$1
    event=$2
    shift 2
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --branch-sim=yes \
        --toggle-collect="$function" "$@" 2>&1 > /dev/null |
        awk -v event="$event" '/Events/ { for (i = 4; i <= NF; i++) if ($i == event) at = i }
            /Collected/ { print $at }'
}

range() # COMMAND BASE: both print a time
{
    for _ in 1 2 3 4 5; do
        echo "$($1) $($2)"
    done | awk '{ x = $1 / $2; low = NR == 1 || x < low ? x : low; high = x > high ? x : high }
        END { printf "%.2f-%.2f", low, high }'
}

page() # TEXT FILE LIMIT
{
    base=$(count bench_parse Ir "${parse}jsmn" parse "$2")
    echo
    printf '%-28s instructions  to jsmn  at most  time to jsmn\n' "$1"
    printf '  %-26s %12d %8.2f\n' "bare jsmn, reads nothing" "$base" 1
    for peer in errmap cjson rapidjson json_c jansson; do
        limit=
        [ $peer = errmap ] && limit=$3
        count bench_parse Ir "$parse$peer" parse "$2" | awk -v text="$peer" -v base="$base" \
            -v limit="$limit" -v page="$1" -v measured="$measured" \
            -v time="$(range "$parse$peer time $2" "${parse}jsmn time $2")" '{
                printf "  %-26s %12d %8.2f %8s %13s\n", text, $1, $1 / base, limit, time }
                END { print text ", " page "|" $1 / base "|" limit >> measured }'
    done
}

made() # COUNT ORDER LIMIT TEXT: prints instructions for one entry of a made map
{
    count bench_parse Ir "${parse}errmap" made "$1" "$2" |
        awk -v n="$1" -v limit="$3" -v text="$4" -v measured="$measured" '{
            printf "  %-26s %12d" (limit != "" ? "%18d" : "") "\n", text, $1 / n, limit }
            END { print "one entry, " text "|" $1 / n "|" limit >> measured }'
}

echo "An error map of 83 codes into a sorted table, by gcc -O2. Instructions repeat;"
echo "times are ratios, the lowest and the highest of five."
page "4 spaces a level" $pretty 1.28
page "minified" tests/data/errmap_v2_minified.json 1.65
echo
echo "One entry of a made map      instructions           at most"
made 83 0 "" "83, ascending"
made 83 2 "" "83, shuffled"
made 65536 0 "" "65,536, ascending"
made 65536 1 "" "65,536, descending"
made 65536 2 3500 "65,536, shuffled"
echo
"${parse}errmap" stack $pretty | awk -v measured="$measured" '{
    printf "%-28s %12d %17d bytes\n", "Stack of errmap_parse", $1, 2048 }
    END { print "Stack of errmap_parse|" $1 "|" 2048 >> measured }'
echo
echo "One lookup among 83 codes    instructions  branches  mispredicted  time to first"
for how in find loop branch; do
    case $how in
    find) text="errmap_find" ;;
    loop) text="plain loop" ;;
    branch) text="halving with branches" ;;
    esac
    for event in Ir Bc Bcm; do
        count bench_find $event "$find" count $how $pretty
    done | awk -v text="$text" -v measured="$measured" \
        -v time="$(range "$find time $how $pretty" "$find time find $pretty")" '{ n[NR] = $1 / 10000 }
        END { printf "  %-26s %12.1f %9.1f %13.2f %14s\n", text, n[1], n[2], n[3], time
            print "lookup, " text "|" (NR == 3 ? n[1] : "") "|" >> measured }'
done
limits_hold
