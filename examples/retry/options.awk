# Makes from retry's manual page what retry.c includes: its options, and the text of --help.
# In the page an option's second line, and each line below `.\" in --help`, are in that text, too.
function plain(line) {
    gsub(/\\f[A-Z]/, "", line)
    gsub(/\\-/, "-", line)
    sub(/\.$/, "", line)
    return line
}
function show(line) {
    gsub(/\\/, "\\\\", line)
    gsub(/"/, "\\\"", line)
    help = help "    \"" line "\\n\"\n"
}
/^\.SH/ { in_options = $2 == "OPTIONS" }
wanted { show(plain($0)) }
{ wanted = /^\.\\" in --help/ }
in_options && head { show(sprintf("%-29s%s", "  " head, plain($0))) }
{ head = "" }
in_options && after_tp {
    head = plain($0)
    letter = head ~ /^--/ ? "" : substr(head, 2, 1)
    if (!letter)
        head = "    " head
    match(head, /--[a-z-]+/)
    name = substr(head, RSTART + 2, RLENGTH - 2)
    argument = length(head) > RSTART + RLENGTH
    id = toupper(name)
    gsub(/-/, "_", id)
    ids = ids "    " id " = " (letter ? "'" letter "'" : 256 + count++) ",\n"
    rows = rows "    {\"" name "\", " argument ", NULL, " id "}, \\\n"
    names = names "    [" id "] = \"--" name ": \", \\\n"
    letters = letters (letter ? letter (argument ? ":" : "") : "")
}
{ after_tp = /^\.TP/ }
END {
    printf "/* Made from retry.1 by options.awk. */\n"
    printf "enum {\n%s    OPTION_COUNT = %d\n};\n", ids, 256 + count
    printf "#define OPTION_LETTERS \"+%s\"\n", letters
    printf "#define OPTION_NAMES \\\n%s\n", names
    printf "#define OPTION_ROWS \\\n%s\n#define HELP_TEXT \\\n%s", rows, gensub_(help)
}
function gensub_(text) {
    gsub(/\n    "/, " \\\n    \"", text)
    sub(/\\n"\n$/, "\"\n", text)
    return text
}
