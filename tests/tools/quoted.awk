# quoted.awk: prints the entries of mutants.txt whose line is no longer in the function that they name. An entry is
# FUNCTION: BEFORE{OLD => NEW}AFTER, where BEFORE OLD AFTER is a line of the code. Braces may be in it as well.
# awk -f functions.awk HEADER | awk -f quoted.awk - mutants.txt
function squeezed(text) {
    gsub(/[ \t]+/, " ", text)
    gsub(/^ | $/, "", text)
    return text
}
function quotes(text, code,  i, j, k, rest, line) { # of all ways to read the entry one fits
    for (i = 1; i <= length(text); i++)
        if (substr(text, i, 1) == "{")
            for (j = i; (k = index(substr(text, j), " => ")) > 0;) {
                j += k
                for (k = j + 3; k <= length(text); k++)
                    if (substr(text, k, 1) == "}") {
                        line = squeezed(substr(text, 1, i - 1) substr(text, i + 1, j - i - 2) substr(text, k + 1))
                        if (index(code, line))
                            return 1
                    }
            }
    return 0
}
FNR == NR { split($0, part, "\t"); code[part[1]] = code[part[1]] " " part[5]; next }
/^#/ || !NF { next }
{
    name = $0
    sub(/: .*/, "", name)
    text = substr($0, length(name) + 3)
    sub(/ \([0-9]+\)$/, "", text) # of some that are alike
    if (!(name in code))
        print FILENAME ":" FNR ": no function " name
    else if (!quotes(text, code[name]))
        print FILENAME ":" FNR ": not in " name " any more: " text
}
