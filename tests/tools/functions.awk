# functions.awk: prints of each function that a header defines, separated by tabs: its name, the title of its
# section, its first and its last line, and its code in one line, without comments, with one space where
# there was any. What stands outside of functions follows, in one line by the name "outside".
# awk -f functions.awk HEADER
function squeezed(text) {
    gsub(/[ \t]+/, " ", text)
    gsub(/^ | $/, "", text)
    return text
}
/^\/\* (---- .* -+|>>[a-z]+) \*\/$/ {
    title = $0
    gsub(/^\/\* (---- )?|( -+)? \*\/$/, "", title)
}
{
    code = $0
    if (comment && !sub(/^.*\*\//, "", code))
        code = ""
    else {
        gsub(/\/\*[^*]*\*+([^\/*][^*]*\*+)*\//, "", code)
        comment = sub(/\/\*.*/, "", code)
    }
    sub(/\\$/, "", code)
}
/^\{$/ {
    inside = 1
    match(head, /[a-z_0-9]+\(/)
    name = substr(head, RSTART, RLENGTH - 1)
}
{ text = text " " code }
inside && /^\}$/ {
    printf "%s\t%s\t%d\t%d\t%s\n", name, title, first, FNR, squeezed(head " " text)
    inside = 0
    head = text = ""
}
!inside && (code !~ /^[A-Za-z ]/ || /\\$/ || /;$/ || goes_on) { # no line of a function's head
    outside = outside " " head " " text
    head = text = ""
}
!inside && text != "" {
    if (head == "")
        first = FNR
    head = head text
    text = ""
}
{ goes_on = !inside && /\\$/ }
END { printf "outside\t\t0\t0\t%s\n", squeezed(outside " " head) }
