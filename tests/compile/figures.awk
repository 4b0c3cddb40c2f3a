# figures.awk: a number in a text, beside the one that was measured. Prints what differs and exits with 1,
# or with `renewed` writes the text into that file with the number measured, and exits with 0. From the
# environment: VALUE, how far it may be off (SLACK, 0), and either what stands before and behind the number
# (BEFORE, AFTER; an empty place may be any, the end of a line included) or a cell of a table (ROW, the
# first cell's text, and COLUMN, from 1). awk -v renewed=FILE -f figures.awk TEXT
BEGIN {
    value = ENVIRON["VALUE"]
    column = ENVIRON["COLUMN"] + 1
    number = "([0-9][0-9,.]*[0-9]|[0-9])"
}
{ text = text $0 "\n" }
END {
    if (value == "") {
        print "nothing was measured for " ENVIRON["ROW"] ENVIRON["BEFORE"]
        exit 1
    }
    if (column > 1 ? !cell() : !place()) {
        print FILENAME ": no number " (column > 1 ? "in the row " ENVIRON["ROW"] : \
            "between \"" ENVIRON["BEFORE"] "\" and \"" ENVIRON["AFTER"] "\"")
        exit 1
    }
    is = substr(text, from, size)
    bare = is
    gsub(",", "", bare)
    off = bare - value
    if (off <= ENVIRON["SLACK"] + 0 && -off <= ENVIRON["SLACK"] + 0)
        exit 0
    if (renewed == "") {
        print FILENAME ": " is ", measured: " value
        exit 1
    }
    if (is ~ /,/ && length(value) > 3)
        value = substr(value, 1, length(value) - 3) "," substr(value, length(value) - 2)
    print FILENAME ": " is " is now " value
    printf "%s%s%s", substr(text, 1, from - 1), value, substr(text, from + size) > renewed
}

# Where the number is: from, size.
function place(    start, rest) {
    if (!match(text, literal(ENVIRON["BEFORE"]) number literal(ENVIRON["AFTER"])))
        return 0
    start = RSTART
    rest = substr(text, start, RLENGTH)
    match(rest, "^" literal(ENVIRON["BEFORE"]))
    from = start + RLENGTH
    match(substr(text, from), number)
    size = RLENGTH
    return 1
}

function cell(    row, cells, i) {
    row = "\n| " ENVIRON["ROW"] " |"
    from = index(text, row) + 1
    if (from == 1)
        return 0
    split(substr(text, from, index(substr(text, from), "\n") - 1), cells, "|")
    for (i = 1; i < column; i++)
        from += length(cells[i]) + 1
    if (!match(cells[column], number))
        return 0
    from += RSTART - 1
    size = RLENGTH
    return 1
}

# A pattern for a text.
function literal(words,    i, c, pattern) {
    for (i = 1; i <= length(words); i++) {
        c = substr(words, i, 1)
        pattern = pattern (c == " " ? "[ \n]+" : c ~ /[A-Za-z0-9_`"'\/:;,%=<>-]/ ? c : "[" c "]")
    }
    return pattern
}
