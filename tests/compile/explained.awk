# explained.awk: prints the public names (public.awk's) that nothing explains. Explained is a name in a
# comment, in full or by its beginning (RETRY_BUDGET_x, or RETRY_BUDGET_ above a table); what stands below
# a comment without an empty line between; what has one on its line; a row of a table X(NAME, ...). How
# many rows a table has, and the numbers of a version, need no words.
# awk -f explained.awk NAMES HEADER...
FNR == 1 && FILENAME !~ /\.h$/ { list = 1 }
FNR == 1 && FILENAME ~ /\.h$/ { list = inside = ended = over = 0 }
list {
    split($0, part, "\t")
    if (part[3] ~ /^[A-Za-z0-9]+_[A-Za-z0-9_]+$/ &&
        part[3] !~ /_(COUNT|IMPLEMENTED|VERSION_M..OR|VERSION_PATCH|VERSION)$/)
        wanted[part[3]]
    next
}
/^#if.*defined\(RETRY_IMPLEMENTATION\)/ { over = 1 }
over { next }
{
    below = /^ *$/ ? 0 : below # a comment, which explains what follows
    if (match($0, /X\([A-Z0-9_]+/))
        row[substr($0, RSTART + 2, RLENGTH - 2)]
    if (inside || below || /\/\*/) {
        line = $0
        while (match(line, /(RETRY|ERRMAP|retry|errmap)_[A-Za-z0-9_]+/)) {
            word = substr(line, RSTART, RLENGTH)
            explained[word]
            if (sub(/_x?$/, "_", word))
                beginning[word]
            line = substr(line, RSTART + RLENGTH)
        }
    }
    if (/\/\*/)
        inside = 1
    if (/\*\//) {
        below = inside && !/;.*\/\*/
        inside = 0
    }
}
END {
    for (name in wanted) {
        short = name
        sub(/^(RETRY_(REASON|VERDICT|CAUSE)|ERRMAP_(ATTR|SPEC)|ERRMAP)_/, "", short)
        known = name in explained || (short != name && short in row)
        for (i = length(name); i > 6 && !known; i--)
            known = substr(name, 1, i) in beginning
        if (!known)
            print name | "sort"
    }
}
