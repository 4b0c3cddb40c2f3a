# Cuts a header out of retry.h: the parts that are asked for and what they need, under a prefix of one's
# own. Usage: awk -v parts="backoff breaker" -v prefix=nats_ -v out=nats_retry.h -f cut.awk retry.h
# With -v each=1 as well, `out` is a folder, and each part becomes a header in it: backoff.h, breaker.h.
#
# A part is a function, a macro, or the title of a section of declarations in small letters, or what `made_of`
# makes of several. retry.h is read in units: paragraphs, and declarations of one line. A unit that is taken
# brings those that define what its code names, and the macros and constants that its comments name. One
# function alone becomes static.

BEGIN {
    made_of["operation"] = "operations the-recommended-client retry_run retry_classify_http retry_idempotent_http " \
        "retry_classify_errno retry_system_clock retry_verdict_name retry_cause_text RETRY_BUDGET_AWS"
    known = " operation"

    # The names that a header gives.
    gives["stdbool.h"] = "bool|true|false"
    gives["stddef.h"] = "size_t|NULL|offsetof"
    gives["stdint.h"] = "u?int[0-9]+_t|uintptr_t|U?INT[0-9]+_(MAX|MIN|C)"
    gives["errno.h"] = "errno|E(CONN|NET|HOST|TIMED|PIPE|INTR)[A-Z]*"
    gives["intrin.h"] = "_Interlocked[A-Za-z]*"
    gives["time.h"] = "clock_gettime"
    gives["windows.h"] = "QueryPerformance[A-Za-z]*"
}

function fault(what) { print "cut: " what > "/dev/stderr"; exit 1 }

{ line[NR] = $0 }
/^#ifndef RETRY_H$/ { body = NR }
/^#define RETRY_IMPLEMENTED$/ { code = NR }
/^#endif \/\* RETRY_IMPLEMENTATION \*\/$/ { last = NR }
/^ *Copyright / { licence = NR }
/^#define RETRY_VERSION_[MP]/ { version = version (version == "" ? "" : ".") $3 }

# ---- Reading: a unit is known by the number of its first line ------------------------------------

function read_units(    i, unit, title, open, text) {
    title = "-"
    for (i = body; i <= last; i++) {
        if (line[i] ~ /^\/\* ---- /) {
            title = tolower(line[i])
            gsub(/[^a-z]+/, "-", title)
            gsub(/^-|-$/, "", title)
            known = known (i < code ? " " title : "")
        } else if (line[i] != "") {
            part_of[unit = i] = title
            text = open = ""
            for (;; i++) { # a paragraph goes on in an #if that it opens
                text = text line[i] "\n"
                open += (line[i] ~ /^#if/) - (line[i] ~ /^#endif/)
                if (line[i] ~ /^#define RETRY_(H|IMPLEMENTED)$/ ||
                    open <= 0 && (line[i] ~ /^(typedef|(RETRY__NO_IGNORE )?RETRY_API) [^{]*;/ || line[i + 1] == ""))
                    break
            }
            ends[unit] = i
            study(unit, text)
        }
    }
}

function define(name, unit) {
    if (index(words[unit], "undef " name " ") == 0) # else it is this unit's alone
        defined[name] = defined[name] " " unit
}

# What a unit defines, and what it names; NAME## is what is pasted together, or NAME_x in a comment.
function study(unit, text,    at, to, n, k, row, name, remarks, enum) {
    while ((at = index(text, "/*"))) {
        to = at + index(substr(text, at), "*/")
        remarks = remarks " " substr(text, at, to - at)
        text = substr(text, 1, at - 1) substr(text, to + 1)
    }
    gsub(/"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/, "", text)
    words[unit] = text
    gsub(/[^A-Za-z0-9_]+/, " ", words[unit])
    n = split(text, row, "\n")
    for (k = 1; k <= n; k++)
        if (match(row[k], /^#define [A-Z]+_[A-Z0-9_]+/) ||
            row[k] ~ /^[A-Za-z}]/ && match(row[k], /(retry|RETRY)_[A-Za-z0-9_]+ ?[[(;={]/)) {
            name = substr(row[k], RSTART, RLENGTH)
            gsub(/^#define | ?[[(;={]$/, "", name)
            define(name, unit)
            if (row[k] ~ /^(RETRY__NO_IGNORE )?RETRY_API / && unit < code)
                declares[unit] = name
        }
    enum = text ~ /(^|\n)enum/
    for (; match(text, /[A-Za-z_][A-Za-z0-9_]*(##)?/); text = substr(text, RSTART + RLENGTH)) {
        name = substr(text, RSTART, RLENGTH)
        if (name !~ /^(retry|RETRY)_/)
            continue
        seen[name]
        names[unit] = names[unit] " " name
        if (enum && (name ~ /##$/ || substr(text, RSTART + RLENGTH) ~ /^ *[,=}\n]/))
            define(name, unit)
    }
    for (; match(remarks, /RETRY_[A-Z0-9][A-Za-z0-9_]*/); remarks = substr(remarks, RSTART + RLENGTH)) {
        name = substr(remarks, RSTART, RLENGTH)
        sub(/_x$/, "_##", name)
        names[unit] = names[unit] " " name
    }
}

# ---- Taking -------------------------------------------------------------------------------------

# The units that must come along with a name.
function owners(name,    stem, other, all) {
    stem = name
    if (sub(/##$/, "", stem))
        for (other in defined)
            if (index(other, stem) == 1)
                all = all defined[other]
    if (all == "" && name in defined)
        return defined[name]
    while (all == "" && sub(/[^_]+_?$/, "", stem))
        if ((stem "##") in defined)
            all = defined[stem "##"]
    return all
}

function take(list,    n, k, i, unit, name) {
    n = split(list, unit, " ")
    for (k = 1; k <= n; k++)
        if (!(unit[k] in taken)) {
            taken[unit[k]]
            for (i = split(names[unit[k]], name, " "); i; i--)
                if (name[i] != "RETRY_API")
                    take(owners(name[i]))
        }
}

# Whether a line includes a header of which nothing is used.
function idle(text) { return text ~ /^#include </ && !(substr(text, 11, length(text) - 11) in needed) }

function in_full(parts,    n, k, part, all) {
    n = split(parts, part, " ")
    for (k = 1; k <= n; k++)
        all = all " " (part[k] in made_of ? made_of[part[k]] : part[k])
    return all
}

# Chooses the units of a cut. `alone` is the declaration of its only function.
function choose(parts,    n, k, unit, part, found, header) {
    split("", taken)
    n = split(in_full(parts), part, " ")
    for (k = 1; k <= n || k == 1; k++) {
        found = 0
        for (unit in part_of)
            if (unit + 0 < code && (part_of[unit] == part[k] || (unit in declares) && declares[unit] == part[k] ||
                part[k] ~ /^RETRY_[A-Z]/ && index(defined[part[k]] " ", " " unit " ")))
                take(found = unit)
        if (!found)
            fault("retry.h has no part \"" part[k] "\": PARTS takes" known \
                ", functions, as retry_phase, and macros, as RETRY_BUDGET_AWS")
    }
    n = alone = 0
    for (unit in declares)
        if (unit in taken)
            alone = n++ == 0 && line[unit] ~ /^\/\*/ ? unit : 0 # what begins otherwise is in an #if
    if (!alone)
        take(defined["RETRY_API"])
    split("", needed)
    for (header in gives)
        for (unit in taken)
            if (words[unit] ~ "(^| )(" gives[header] ") ")
                needed[header]
    for (unit in ends)
        for (k = unit + 0; k <= ends[unit]; k++)
            if (line[k] ~ /^#include </ && !idle(line[k]))
                take(unit)
}

# ---- Writing ------------------------------------------------------------------------------------

# The text with its names under the prefix, but for fields, parameters and the like. A private name
# loses one of its underscores, and ends in one where that is another's name.
function rename(text,    all, name, own) {
    if (alone)
        sub(/RETRY_API /, "static ", text)
    for (; match(text, /[A-Za-z_][A-Za-z0-9_]*/); text = substr(text, RSTART + RLENGTH)) {
        own = name = substr(text, RSTART, RLENGTH)
        all = all substr(text, 1, RSTART - 1)
        if (name ~ /^(retry|RETRY)_/) {
            if (sub(/__/, "_", own) && (own in seen))
                own = own "_"
            if (prefix != "retry_" && (name ~ /^RETRY/ || name in defined))
                own = (name ~ /^RETRY/ ? toupper(prefix) : prefix) own
        }
        all = all own
    }
    return all text
}

function say(text) { print text > file }

# Says a unit without the line above the implementation, and without idle includes. A function alone has no
# declaration: its comment stands above the code.
function say_unit(unit,    k) {
    if (begun && line[unit - 1] == "")
        say("")
    begun = 1
    if (alone && index(defined[declares[alone]] " ", " " unit " "))
        for (k = alone + 0; line[k] !~ /^RETRY_API /; k++)
            say(rename(line[k]))
    for (k = unit; k <= ends[unit]; k++)
        if (line[k] !~ /^\/\* ===/ && !idle(line[k]))
            say(rename(line[k]))
}

function write(parts, to,    unit, k, name, mark) {
    choose(parts)
    name = file = to
    sub(/.*\//, "", name)
    say("/* SPDX-License-Identifier: MIT")
    for (k = licence; line[k] != "*/"; k++)
        say(line[k])
    say("\n   Cut from retry.h " version ": make cut PARTS=" (parts ~ / / ? "\"" parts "\"" : parts) " PREFIX=" prefix \
        " OUT=" name (alone ? "" : ". Define " rename("RETRY_IMPLEMENTATION") " before one #include of it; the manual is in retry.h.") " */\n")
    mark = "RETRY__CUT_" toupper(parts)
    gsub(/[^A-Z0-9]+/, "_", mark)
    mark = rename(mark)
    if (alone)
        say("#ifndef " mark "\n#define " mark)
    begun = 0
    for (unit = body; unit <= last; unit++) {
        if (!alone && line[unit] ~ /^#endif \/\* RETRY_H/)
            say("\n#elif !defined(" mark ")\n#error \"Another cut has the prefix " prefix \
                ", too: cut all parts at once, or use two prefixes.\"")
        if ((unit in taken) ? unit != alone : !alone && (line[unit] ~ /^#ifndef RETRY_H$|^\/\* ===/ ||
            (unit in ends) && (line[unit] ~ /^#endif/ || line[unit + 1] ~ /^(extern "C" \{|\})$/)))
            say_unit(unit) # guards and extern "C" stand by themselves
        if (!alone && unit == body)
            say("#define " mark)
    }
    if (alone)
        say("#endif")
    close(file)
}

# Whether the cut gives this name, which has the prefix.
function given(name,    k, n, unit) {
    name = substr(name, length(prefix) + 1)
    n = split(defined[name] defined[substr(name, 1, 6) "_" substr(name, 7)], unit, " ")
    for (k = 1; k <= n; k++)
        if (unit[k] in taken)
            return 1
    return 0
}

# Stops if another file in the folder has functions of the cut's names.
function look_around(parts,    folder, list, name, text) {
    choose(parts)
    folder = out
    sub(/[^\/]*$/, "", folder)
    list = "ls -p '" (folder == "" ? "." : folder) "' 2> /dev/null"
    while ((list | getline name) > 0)
        while (name ~ /\.[ch][a-z+]*$/ && folder name != out && (getline text < (folder name)) > 0)
            if (text ~ ("^[A-Za-z_][A-Za-z0-9_ *]*[ *]" prefix "retry_[a-z0-9_]*[(]") &&
                match(text, prefix "retry_[a-z0-9_]*[(]") && given(substr(text, RSTART, RLENGTH - 1)))
                fault("PREFIX=" prefix " is taken: " name " has " text)
}

END {
    if (prefix == "")
        fault("PREFIX is missing: nats_ makes nats_retry_delay of retry_delay; retry_ leaves the names")
    if (prefix ~ /^_|__/)
        fault("PREFIX=" prefix " makes reserved names: those that begin with _ or have a __ are the compiler's")
    if (prefix !~ /^[A-Za-z][A-Za-z0-9_]*_$/)
        fault("PREFIX=" prefix " does not begin names: a C identifier that ends in _ does, as nats_")
    if (out !~ /[^\/]$/ || out == FILENAME)
        fault("OUT must be the file to write, as OUT=nats_retry.h")
    read_units()
    if (!each)
        look_around(parts)
    n = each ? split(parts, list, " ") : 1
    for (k = 1; k <= n; k++)
        write(each ? list[k] : parts, out (each ? "/" list[k] ".h" : ""))
}
