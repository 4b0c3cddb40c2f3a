# sentences.awk: prints FILE:LINE, the number of words and the text of every sentence that has more than
# `most` of them (30). Of Markdown files, and of the manual in a header's opening comment; code, tables,
# headings and addresses are left out. awk -f sentences.awk FILE...
BEGIN { most = most ? most : 30 }
FNR == 1 {
    flush()
    header = FILENAME ~ /\.h$/
    fence = over = 0
}
header && /\*\// && !over { sub(/\*\/.*/, ""); add(kept($0)); flush(); over = 1 }
over { next }
header { add(kept($0)); next }
/^```/ { flush(); fence = !fence; next }
fence { next }
/^(#|\||!|    )/ || /^\[[^]]*\]: / { flush(); next }
{ add($0) }
END { flush() }

# What is prose of a manual's line: not what is indented by six or more, unless it is a list's.
function kept(line) {
    if (line ~ /^ *([0-9]+[.][0-9]*|-) /)
        list = 1
    else if (line !~ /^      /)
        list = 0
    if (line ~ /^   [A-Z][^a-z]*$/ || (line ~ /^      / && !list))
        return ""
    return line
}

function add(line) {
    if (line ~ /^ *$/ || line ~ /^ *([0-9]+[.][0-9]*|-) /)
        flush()
    if (line ~ /^ *$/)
        return
    sub(/^ *([0-9]+[.][0-9]*|-) /, "", line)
    sub(/^\/\*/, "", line)
    gsub(/`[^`]*`/, "Code", line)
    gsub(/\]\([^)]*\)/, "]", line)
    if (text == "") {
        file = FILENAME
        from = FNR
    }
    gsub(/ +/, " ", line)
    text = text " " line
}

function flush(    n, i, sentences) {
    gsub(/e\.g\. |i\.e\. |etc\. |vs\. /, "", text)
    gsub(/[.!?][)"*]* /, "&\n", text)
    n = split(text, sentences, "\n")
    for (i = 1; i <= n; i++)
        measure(sentences[i])
    text = ""
}

function measure(sentence,    n, i, words, count) {
    n = split(sentence, words, / +/)
    for (i = 1; i <= n; i++)
        if (words[i] ~ /[A-Za-z0-9]/)
            count++
    if (count > most)
        printf "%s:%d: %d words:%s\n", file, from, count, sentence
}
