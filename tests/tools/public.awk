# public.awk: prints what is public in a header, each in a line: the header, the title of its section, the
# name, and "type" if it is one, separated by tabs. Fields are STRUCT.NAME, keys and words of texts "NAME"; switches
# and other macros of a user's, which the code asks for, are of the section "Options".
# awk -f public.awk HEADER
function found(name, of, kind) {
    of = of == "" ? title : of
    if (name !~ /__/ && name !~ /^[A-Z]+_H$/ && !(name in seen)) {
        seen[name]
        print FILENAME "\t" of "\t" name "\t" kind
    }
}
function all(line, pattern,  name) { # names in a line that fit
    while (match(line, pattern)) {
        name = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        found(name)
    }
}
function fields(line,  i, n, part) { # what a line of a struct declares
    gsub(/\([^()]*\)$/, "", line)           # the parameters of a function that is pointed to
    gsub(/\[[^]]*\]|[()*]/, " ", line)
    n = split(line, part, ",")
    for (i = 1; i <= n; i++) {
        gsub(/ +$/, "", part[i])
        sub(/.* /, "", part[i])
        found(owner "." part[i])
    }
}
FNR == 1 { title = "Version" }
/^#ifndef [A-Z]+_H$/ { begun = 1 }
/^\/\* =====/ { over = 1 }
/^#endif \/\* [A-Z]+_H/ { title = "Options" }
/^\/\* ---- / {
    title = $0
    gsub(/^\/\* ---- | -+ \*\/$/, "", title)
}
!begun { next }
{
    line = $0
    if (comment && !sub(/^.*\*\//, "", line))
        next
    gsub(/\/\*[^*]*\*+([^\/*][^*]*\*+)*\//, "", line)
    comment = sub(/\/\*.*/, "", line)
    gsub(/^ +| +$/, "", line)
}
line ~ /^#(el)?if/ {
    rest = line
    while (match(rest, /(RETRY|ERRMAP)_[A-Z0-9_]+/)) {
        name = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        if (name !~ /_(IMPLEMENTED|VERSION_MAJOR)$/)
            found(name, "Options")
    }
}
over && title ~ /from text$/ && line ~ /^X\(.*"[a-z0-9-]+"/ {
    match(line, /"[a-z0-9-]+"/)
    found(substr(line, RSTART, RLENGTH))
}
over && title ~ /from text$/ && match(line, /"( [a-z0-9-]+)+"/) { # words of which a key takes one
    n = split(substr(line, RSTART + 2, RLENGTH - 3), part, " ")
    for (i = 1; i <= n; i++)
        found("\"" part[i] "\"")
}
over { next }
line ~ /^#define [A-Z0-9]+_[A-Z0-9_]+S\(X\)/ { table = substr(line, 9, index(line, "(") - 9) }
table != "" && match(line, /^X\([A-Z0-9_]+/) { rows[table] = rows[table] " " substr(line, 3, RLENGTH - 2) }
line !~ /\\$/ { table = "" }
line ~ /^#define (RETRY|ERRMAP)__X\(.*##name/ { # its next line says of which table
    prefix = line
    sub(/##name.*/, "", prefix)
    sub(/.* /, "", prefix)
    next
}
prefix != "" {
    n = split(rows[substr(line, 1, index(line, "(") - 1)], row, " ")
    for (i = 1; i <= n; i++)
        found(prefix row[i])
    prefix = ""
    all(substr(line, index(line, ")") + 1), "(RETRY|ERRMAP)_[A-Z0-9_]+")
    next
}
line ~ /^#define / { split(line, part, /[ (]/); found(part[2]); next }
line ~ /^#/ { next }
match(line, /^(typedef )?struct [a-z_]+ \{$/) {
    owner = line
    sub(/.*struct /, "", owner)
    sub(/ \{$/, "", owner)
    found(owner, "", "type")
    declared = ""
    next
}
line ~ /^\}/ { owner = ""; listed = 0 }
owner != "" {
    declared = declared " " line
    if (line ~ /;$/) {
        sub(/;$/, "", declared)
        fields(declared)
        declared = ""
    }
    next
}
line ~ /^(__extension__ )?enum \{/ { listed = 1 }
listed { all(line, "(RETRY|ERRMAP)_[A-Z0-9_]+") }
line ~ /\};?$/ { listed = 0 }
match(line, /^typedef .*[ *](retry|errmap)_[a-z_]+[;(]/) {
    name = substr(line, 1, RLENGTH - 1)
    sub(/.*[ *]/, "", name)
    found(name, "", "type")
    next
}
match(line, /^RETRY_API .*[a-z]\(/) {
    name = line
    sub(/\(.*/, "", name)
    gsub(/.*[ *]/, "", name)
    found(name)
}
