#!/bin/sh
# errmap.sh BUILD: what parsing error maps costs. Instructions are counted by callgrind; times
# are ratios within one run. BUILD holds bench_errmap and bench_*.so.
bench=$1/bench_errmap

count() # FUNCTION EVENT ARGUMENT...: what callgrind counts of an event inside a function
{
    function=$1
    event=$2
    shift 2
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --branch-sim=yes \
        --toggle-collect="$function" "$bench" "$@" 2>&1 > /dev/null |
        awk -v event="$event" '/Events/ { for (i = 4; i <= NF; i++) if ($i == event) at = i }
            /Collected/ { print $at }'
}

page() # TEXT FILE LIMIT
{
    jsmn=$(count bench_jsmn Ir parse jsmn "$2")
    "$bench" times "$2" | while read -r peer time; do
        limit=
        [ "$peer" = errmap ] && limit=$3
        count "bench_$peer" Ir parse "$peer" "$2" |
            awk -v text="$1, $peer" -v limit="$limit" -v jsmn="$jsmn" -v time="$time" \
                '{ printf "  %-38s %9d %8.2f %8s %8.2f\n", text, $1, $1 / jsmn, limit, time }'
    done
}

made() # COUNT ORDER TEXT: prints instructions for one entry of a made map
{
    count bench_errmap Ir made errmap "$1" "$2" |
        awk -v n="$1" -v text="$3" '{ printf "  %-38s %9d\n", text, $1 / n }'
}

echo "An error map of 83 codes to a table  instructions  to jsmn  at most     time"
page "4 spaces a level" tests/data/errmap_v2.json 1.45
page "minified" tests/data/errmap_v2_minified.json 1.75
echo
echo "One entry of a made map              instructions"
made 83 0 "83 entries, ascending"
made 83 2 "83 entries, shuffled"
made 65536 0 "65,536 entries, ascending"
made 65536 1 "65,536 entries, descending"
made 65536 2 "65,536 entries, shuffled"
echo
"$bench" stack tests/data/errmap_v2.json |
    awk '{ printf "  %-38s %9d bytes, at most 2048\n", "stack of errmap_parse", $1 }'
echo
echo "One lookup among 83 codes      instructions  branches  mispredicted     time"
"$bench" find times tests/data/errmap_v2.json | {
    read -r loop branch
    for how in find loop branch; do
        case $how in
        find) text="errmap_find" time=1.00 ;;
        loop) text="plain loop" time=$loop ;;
        branch) text="binary search with branches" time=$branch ;;
        esac
        for event in Ir Bc Bcm; do
            count "bench_$how" $event find $how tests/data/errmap_v2.json
        done | awk -v text="$text" -v time="$time" '{ n[NR] = $1 / 10000 }
            END { printf "  %-28s %12.1f %9.1f %13.2f %8.2f\n", text, n[1], n[2], n[3], time }'
    done
}
