# by_hand_rows.awk: README.md's table out of what `make by_hand` prints. awk -f by_hand_rows.awk PRINTED
BEGIN { FS = "  +" }
NR > 1 { print "| " $1 " | " $2 " | " $3 " |" }
