# alone_rows.awk: README.md's table out of what `make alone` prints: a row for each way to fail, a cell for each
# timeout: what is done if the server is back after 80 % of it. awk -f alone_rows.awk PRINTED
/^(503|429|re|silent)/ {
    cells = ""
    for (i = NF - 11; i < NF - 1; i += 3)
        cells = cells " " $i " |"
    sub(/  .*/, "")
    print "| " $0 " |" cells
}
