# outage_rows.awk: examples/README.md's table out of what `make outage` prints: a row for each way to be down, with and
# without a breaker; a cell for each number of calls a second. awk -f outage_rows.awk PRINTED
BEGIN {
    how["refused"] = "it refuses"
    how["reset"] = "it resets"
    how["silent"] = "it is silent"
}
NF >= 8 && $2 ~ /^[0-9]+$/ {
    name = how[$1] (NF == 9 ? ", with a breaker" : "")
    row[name] = row[name] " " $(NF - 4) " / " $(NF - 3) " / " $(NF - 2) ", " $(NF - 1) " sent, " $NF " s |"
}
END {
    for (name in row)
        print "| " name " |" row[name]
}
