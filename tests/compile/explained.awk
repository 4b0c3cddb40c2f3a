# explained.awk: prints the public names of names.txt that nothing explains. Explained is what a comment
# names in full, what is declared below a comment or on a line with one, and a row of a table X(NAME, ...).
# How many rows a table has, and the numbers of a version, need no words.
# awk -f explained.awk NAMES HEADER...
FNR == 1 && FILENAME !~ /\.h$/ { list = 1 }
FNR == 1 && FILENAME ~ /\.h$/ { list = inside = ended = over = 0 }
list { if ($2 ~ /_/ && $2 !~ /_(COUNT|IMPLEMENTED|VERSION_M..OR|VERSION_PATCH|VERSION)$/) wanted[$2]; next }
/^#if.*defined\(RETRY_IMPLEMENTATION\)/ { over = 1 }
over { next }
{
    commented = inside || ended || /\/\*/ # this line has a comment, or follows one
    if (match($0, /X\([A-Z0-9_]+/))
        row[substr($0, RSTART + 2, RLENGTH - 2)]
    if (commented) {
        line = $0
        while (match(line, /(RETRY|ERRMAP|retry|errmap)_[A-Za-z0-9_]+/)) {
            explained[substr(line, RSTART, RLENGTH)]
            line = substr(line, RSTART + RLENGTH)
        }
    }
    ended = /\*\/ *$/ && /^ *[^ ]/ && (inside || /^\/\*/)
    if (/\/\*/)
        inside = 1
    if (/\*\//)
        inside = 0
}
END {
    for (name in wanted) {
        short = name
        sub(/^(RETRY_(REASON|VERDICT|CAUSE)|ERRMAP_(ATTR|SPEC)|ERRMAP)_/, "", short)
        if (!(name in explained) && !(short != name && short in row))
            print name | "sort"
    }
}
