# Weaves annotations into a copy of a header, by the names of its functions. Usage:
#     awk -f weave.awk PROOFS... HEADER > COPY
# With -v list=1 prints a line for each function of the header instead: its name; "wraps" if it is
# marked so, "tables" if its contract says so, else "-"; and "proved", "trusted" and why, or "missing".
#
# A file of proofs is made of blocks, each of which begins with one of these lines:
#     @contract FUNCTION [tables]  before its definition; tables: its const tables' contents matter
#     @loop FUNCTION N             before its Nth loop
#     @before FUNCTION TEXT        before the one line of it that contains the text
#     @global                      predicates and the like, before the function of the next @contract
#     @code                        there, too, but C: what stands for a user's function
#     @trusted FUNCTION WHY        it is not proved; a contract that it has is believed
# A block that fits nowhere is an error, and so is a @before that fits two places. Lines that begin with # and a
# space are comments.
FILENAME != ARGV[ARGC - 1] { proofs(); next }
{ source[++lines] = $0 }

function fault(where, what) {
    print where ": " what > "/dev/stderr"
    faults++
}

function proofs() {
    if (/^#( |$)/)
        return
    if (/^@/) {
        key = $1 == "@contract" || $1 == "@trusted" ? $1 " " $2 : $0
        if ($1 == "@global" || $1 == "@code")
            front = front SUBSEP (key = $1 " " FILENAME ":" FNR)
        if ($1 == "@loop")
            key = $1 " " $2 " " $3
        if (key in at)
            fault(FILENAME ":" FNR, "again: " $0)
        at[key] = FILENAME ":" FNR
        if ($1 == "@contract") {
            fronts[$2] = front
            front = ""
            if ($3 == "tables")
                tables[$2] = 1
        }
        if ($1 == "@trusted")
            why[$2] = substr($0, index($0, $2) + length($2) + 1)
        else if ($1 == "@before")
            texts[$2] = texts[$2] SUBSEP substr($0, index($0, $2) + length($2) + 1)
        else if ($1 !~ /^@(contract|loop|global|code)$/)
            fault(at[key], "what is " $1 "?")
    } else if (key != "") {
        text[key] = text[key] $0 "\n"
    } else if (NF) {
        fault(FILENAME ":" FNR, "no block begins above")
    }
}

# Prints the block with this key, as annotations of one statement each where it is in a body.
function weave(key, indent,    n, count, part) {
    if (!(key in at))
        return
    used[key] = 1
    if (key ~ /^@code/)
        printf "%s", text[key]
    else if (key ~ /^@before/) {
        count = split(text[key], part, /;\n/)
        for (n = 1; n < count; n++)
            printf "%s/*@\n%s;\n%s*/\n", indent, part[n], indent
    } else if (text[key] != "")
        printf "%s/*@\n%s%s*/\n", indent, text[key], indent
}

# A definition is what begins at the left edge, goes on to a line "{" and ends with a line "}".
function name_of(from, to,    i, head) {
    for (i = from; i < to; i++)
        head = head " " source[i]
    if (head !~ /\(/)
        return ""
    wraps = head ~ /__WRAPS/
    sub(/\(.*/, "", head)
    sub(/.*[ *]/, "", head)
    return head
}

function state_of(name) {
    if (("@trusted " name) in at) {
        used["@trusted " name] = 1
        return "trusted " why[name]
    }
    return ("@contract " name) in at ? "proved" : "missing"
}

function body(name, from,    i, n, loops, part, count, hits) {
    count = split(substr(texts[name], 2), part, SUBSEP)
    for (i = from; source[i] != "}"; i++) {
        match(source[i], /^ */)
        indent = substr(source[i], 1, RLENGTH)
        for (n = 1; n <= count; n++)
            if (index(source[i], part[n])) {
                if (++hits[n] == 1)
                    weave("@before " name " " part[n], indent)
                else
                    fault(at["@before " name " " part[n]], "fits twice")
            }
        if (source[i] ~ /^ +(for|while|do)( |$)/)
            weave("@loop " name " " ++loops, indent)
        print source[i]
    }
    return i
}

END {
    for (i = 1; i <= lines; i = next_line) {
        for (last = i; source[i] ~ /^[A-Za-z]/ && source[last] ~ /[^;{}]$/ && last < lines; )
            last++
        next_line = i + 1
        name = source[last] == "{" ? name_of(i, last) : ""
        if (name == "") {
            if (!list)
                print source[i]
            continue
        }
        if (list) {
            print name, (wraps ? "wraps" : name in tables ? "tables" : "-"), state_of(name)
            continue
        }
        state_of(name)
        count = split(substr(fronts[name], 2), keys, SUBSEP)
        for (n = 1; n <= count; n++)
            weave(keys[n], "")
        weave("@contract " name, "")
        for (; i < last; i++)
            print source[i]
        next_line = body(name, last)
    }
    for (key in at)
        if (!list && !(key in used))
            fault(at[key], "the header has no place for: " key)
    exit faults != 0
}
