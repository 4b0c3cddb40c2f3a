# http_rows.awk: eight rows of README.md's table out of what `make http` prints: the request, what the
# server does, and how many attempts each client made of it, and what became of them. awk -f http_rows.awk PRINTED
BEGIN {
    FS = "|"
    split("GET /hangup,POST /hangup,POST /stall,POST /busy,POST /drop,POST /broken,GET /missing,GET /cut", \
        wanted, ",")
    became["done"] = "done"
    became["fails"] = "fails"
    became["maybe"] = "\"perhaps done\""
    became["TWICE"] = "**done twice**"
    became["wrong"] = "**half of it taken for all**"
}
NF == 4 && /^(GET|POST) / {
    split($1, word, " ")
    server = substr($1, index($1, word[2]) + length(word[2]))
    gsub(/^ +| +$/, "", server)
    row[word[1] " " word[2]] = "| `" word[1] " " word[2] "` | " server " | " cell($2) " | " cell($3) " | " cell($4) " |"
}
END {
    for (i = 1; i in wanted; i++)
        print row[wanted[i]]
}

function cell(text,    part) {
    split(text, part, " ")
    return became[part[4]] ", " part[1] (part[1] == 1 ? " attempt" : " attempts")
}
