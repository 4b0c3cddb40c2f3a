# harm_rows.awk: examples/README.md's table out of what `make peers` prints: a row for each kind of worlds.
# awk -f harm_rows.awk PRINTED
/^Harm: / { on = 1 }
/^worse: / { on = 0 }
on && /^[A-Za-z0-9].* [0-9]+$/ {
    kind = $0
    sub(/ +[0-9]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9]+ +[0-9]+$/, "", kind)
    print "| " kind " | " $(NF - 5) " | " $(NF - 4) " | " $(NF - 3) " | " $(NF - 2) " | " $(NF - 1) " | " $NF " |"
}
