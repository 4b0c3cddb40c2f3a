# named.awk: prints the public names that no test of their subject names, in code and not in a comment. A field
# is named as .NAME or ->NAME; a key of a text inside a string, or in tests/data; an enumerator also
# by its end, if a macro of the test's or of tests/support puts its beginning before that.
# awk -f public.awk HEADER | awk -f named.awk subjects.txt -
function note(line, pattern, before,  word) { # words that fit, each behind so many characters of it
    while (match(line, pattern)) {
        words[file, substr(line, RSTART + before, RLENGTH - before)]
        line = substr(line, RSTART + RLENGTH)
    }
}
function read_test(path,  line, comment, n, i, part) {
    file = path
    while ((getline line < ("tests/" path)) > 0) {
        if (path ~ /\.sh$/)
            sub(/(^| )#( .*)?$/, "", line)
        if (path ~ /\.[ch]$/) {
            if (comment && !sub(/^.*\*\//, "", line))
                continue
            gsub(/\/\*[^*]*\*+([^\/*][^*]*\*+)*\//, "", line)
            comment = sub(/\/\*.*/, "", line)
        }
        n = split(path ~ /\.txt$/ ? "\"" line : line, part, "\"")
        for (i = 1; i <= n; i++)
            if (i % 2 == 0)
                note(part[i], "[a-z0-9-]*[a-z0-9]", 0)
            else {
                gsub(/->/, ".", part[i])
                note(part[i], "[.][a-z_0-9]+", 0)
                note(part[i], "[A-Za-z_0-9]+(##)?", 0)
            }
        if (path ~ /\.sh$/)
            note(line, "[A-Za-z_0-9]+", 0)
    }
    close("tests/" path)
}
function names(path, name,  end, begin) {
    if (!((path) in seen)) {
        seen[path]
        read_test(path)
    }
    if (name ~ /"/)
        return (path, substr(name, 2, length(name) - 2)) in words
    if (match(name, /\./))
        return (path, substr(name, RSTART)) in words
    if ((path, name) in words)
        return 1
    for (end = name; sub(/^[A-Z0-9]+_/, "", end);) {
        begin = substr(name, 1, length(name) - length(end))
        if ((path, end) in words && ((path, begin "##") in words || ("support/check.h", begin "##") in words))
            return 1
    }
    return 0
}
BEGIN {
    FS = "\t"
    seen["support/check.h"]
    read_test("support/check.h")
}
FNR == NR {
    if (!/^#/ && match($0, /: /))
        tests[substr($0, 1, RSTART - 1)] = substr($0, RSTART + 2)
    next
}
$4 == "type" { next }
!($2 in tests) { print $1 ": " $3 ": tests/tools/subjects.txt does not say which tests are about \"" $2 "\""; next }
{
    n = split(tests[$2], path, " ")
    for (i = 1; i <= n && !names(path[i], $3); i++)
        continue
    if (i > n)
        print $1 ": " $3 ": named in no test of its subject, \"" $2 "\" (" tests[$2] ")"
}
