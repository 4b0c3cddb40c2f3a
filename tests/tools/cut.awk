# Cuts a header out of retry.h: the parts that are asked for and what they need, under a prefix of one's
# own. Usage: awk -v parts="delay breaker" -v prefix=nats_ -v out=nats_retry.h -f cut.awk retry.h
# With -v each=1 as well, `out` is a folder, and each part becomes a header in it: delay.h, breaker.h.
#
# The lines of retry.h between its opening comment and its licence are taken apart into paragraphs, and
# these into items: a definition, a declaration, a directive. An item that is taken brings those that
# define a name in it, and so on. Comments come with what they stand above, an #if with what is inside, a
# title with what it heads, if that is more than two paragraphs. An #undef comes with the #define of its
# paragraph, which is for that paragraph alone, or with the #error above it. The list at the end is left out.

BEGIN {
    # A part: its name, the titles of its declarations, what it is about, and calls as an example. Without
    # these a call of its first function is the example.
    part("delay", "Backoff|Random numbers", "how long to wait before the next attempt",
        "retry_backoff backoff = RETRY_BACKOFF_AWS;\n" \
        "uint32_t wait = retry_backoff_delay(&backoff, retries, 0, retry_draw());")
    part("retry-after", "Retry-After", "how long a Retry-After header asks to wait",
        "retry_ms asked_for;\n" \
        "bool asks = retry_parse_retry_after(value, length, unix_seconds, &asked_for);")
    part("connection", "Connection backoff", "when to connect again",
        "static retry_connection connection;\n" \
        "retry_ms timeout = retry_connection_begin(&connection, random, now);\n" \
        "retry_ms until_next = retry_connection_failed(&connection, now);")
    part("breaker", "Circuit breaker", "whether to send to a node that did not answer",
        "static retry_breaker breaker;\n" \
        "retry_permit permit = retry_breaker_ask(&breaker, true, now);\n" \
        "if (permit.granted)\n" \
        "    retry_breaker_report(&breaker, permit, NULL, now); // NULL: it worked")
    example["retry_system_clock"] = "#define RETRY_SYSTEM_CLOCK // before each #include of this file\n" \
        "retry_clock clock = retry_system_clock();"

    # Which names the headers of others give.
    gives["stdbool.h"] = "^(bool|true|false)$"
    gives["stddef.h"] = "^(size_t|NULL)$"
    gives["stdint.h"] = "^(u?int[0-9]+_t|uintptr_t|U?INT[0-9]+_(MAX|C))$"
    gives["errno.h"] = "^(errno|E(CONN|NET|HOST|TIMED|PIPE|INTR)[A-Z]*)$"
    gives["intrin.h"] = "^_Interlocked"
    gives["time.h"] = "^clock_gettime$"
    gives["windows.h"] = "^QueryPerformance"
}

function part(name, sections, text, use) {
    titles[name] = sections
    summary[name] = text
    example[name] = use
    known = known " " name
}

function fault(what) {
    print "cut: " what > "/dev/stderr"
    failed = 1
    exit 1
}

{ line[NR] = $0 }
/^#ifndef RETRY_H$/ { body = NR }
/^#endif \/\* RETRY_IMPLEMENTATION \*\/$/ { last = NR }
/^#define RETRY_VERSION_[MP]/ { version = version (version == "" ? "" : ".") $3 }

# The code of a line: no comments, no strings. `commented` says whether a comment goes on.
function code(text,    at, bare) {
    for (bare = ""; text != ""; ) {
        if (commented) {
            at = index(text, "*/")
            if (!at)
                return bare
            text = substr(text, at + 2)
            commented = 0
        } else if (match(text, /\/\*|"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/)) {
            bare = bare substr(text, 1, RSTART - 1)
            if (substr(text, RSTART, 2) == "/*")
                commented = 1
            else
                bare = bare "\"\""
            text = substr(text, RSTART + (commented ? 2 : RLENGTH))
        } else {
            bare = bare text
            text = ""
        }
    }
    return bare
}

function count(text, character) { return gsub(character, "", text) }

# What an item defines, and what it names.
function study(item, text,    depth, enum, before, token, after) {
    enum = text ~ /^enum/
    while (match(text, /[A-Za-z_][A-Za-z0-9_]*/)) {
        before = before substr(text, 1, RSTART - 1)
        token = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        depth += count(before, "[{(]") - count(before, "[})]")
        after = substr(text, match(text, /[^ ]/), 2)
        gsub(/ /, "", before)
        if (token ~ /^(retry|RETRY)_/ && after == "##") {
            if (enum)
                family[token] = family[token] " " item
            else
                names[item] = names[item] " " token "## "
        } else {
            names[item] = names[item] " " token " "
            if (token ~ /^(retry|RETRY)_/ && ((depth == 0 && after ~ /^[(;={[]/) ||
                (enum && depth == 1 && after ~ /^[,=}]/ && before ~ /[{,)]$/)))
                define(token, item)
        }
        before = ""
    }
}

function define(token, item) {
    defined[token] = defined[token] " " item
    defines[item] = defines[item] " " token
}

# Begins an item of a kind with line i.
function begin(kind, paragraph) {
    kinds[++items] = kind
    first[items] = i
    of[items] = paragraph
    section[items] = heading
    chain[items] = chains
    if (match(substr(chains, length(outside) + 1), /^\/[0-9]+/))
        outermost[items] = outside substr(chains, length(outside) + 1, RLENGTH)
    if (kind == "comment")
        remark = items
    else
        above[items] = remark
}

# Follows the #ifs: `under` are the conditions of a line, in its branch; an #else's is "?". Notes under
# which an item names private functions, and under which it stands.
function follow(bare, notes,    name) {
    if (bare ~ /^#(el|endif)/)
        sub(/\n[^\n]*$/, "", under)
    if (bare ~ /^#el/)
        under = under "\n?"
    sub(/ +$/, "", bare)
    if (bare ~ /^#if/)
        under = under "\n" bare
    if (!(items in stands))
        stands[items] = under
    for (; notes && match(bare, /retry__[a-z_0-9]+/); bare = substr(bare, RSTART + RLENGTH)) {
        name = substr(bare, RSTART, RLENGTH)
        if ((items, name) in uses)
            uses[items, name] = shared(uses[items, name], under)
        else
            uses[items, name] = under
    }
}

# The conditions that two begin with.
function shared(one, other,    n, k, a, b, all) {
    n = split(one, a, "\n")
    split(other, b, "\n")
    for (k = 2; k <= n && a[k] == b[k] && a[k] != "?"; k++)
        all = all "\n" a[k]
    return all
}

# Sets the conditions under which a private function has a use: it and the comment above it go into these
# #ifs, or compilers would warn. What uses it comes later, and has its own conditions by then.
function set_needs(    m, n, name, under, found) {
    for (m = items; m >= 1; m--) {
        name = substr(defines[m], 2)
        if (!(m in taken) || line[first[m]] !~ /^(static|RETRY__)/ || name !~ /^retry__[a-z_0-9]+$/ ||
            index(line[ends[m]], "}") != 1 || index(line[first[m]], name "(") == 0)
            continue
        found = 0
        for (n = 1; n <= items; n++)
            if (n != m && (n in taken) && ((n, name) in uses)) {
                under = needs[n] == "" ? uses[n, name] : stands[n] needs[n]
                needs[m] = found++ ? shared(needs[m], under) : under
            }
        if (index(needs[m] "\n", stands[m] "\n") == 1)
            needs[m] = substr(needs[m], length(stands[m]) + 1)
        else
            needs[m] = ""
        if (needs[m] != "" && above[m] == m - 1)
            needs[m - 1] = needs[m]
    }
}

# Takes a paragraph, the lines `from` to `to`, apart into items.
function take_apart(from, to,    bare, depth, open, goes_on, text, kind, word) {
    for (i = from; i <= to; i++) {
        bare = code(line[i])
        depth += count(bare, "[{(]") - count(bare, "[})]")
    }
    remark = 0
    outside = chains
    if (depth || line[from] ~ /^\/\* ---- .* -+ \*\/$/) {
        heading = depth ? 0 : items + 1
        i = from
        begin(depth ? "frame" : "title", from)
        ends[items] = to
        return
    }
    for (i = from; i <= to; i++) {
        goes_on = open || commented
        bare = code(line[i])
        if (!goes_on) {
            text = ""
            kind = bare ~ /^ *$/ ? "comment" : "code"
            if (match(bare, /^#[a-z]+/))
                kind = substr(bare, 2, RLENGTH - 1)
            if (bare ~ /^extern "" \{|^\}/) {
                kind = "extern"
                depth -= count(bare, "[{(]") - count(bare, "[})]")
            }
            if (kind ~ /^if/)
                chains = chains "/" (++chain_count)
            begin(kind, from)
            if (kind == "endif")
                sub(/\/[0-9]+$/, "", chains)
        }
        ends[items] = i
        if (bare !~ /^#undef/ || kind == "undef")
            text = text " " bare
        depth += count(bare, "[{(]") - count(bare, "[})]")
        follow(bare, kind ~ /^(code|define)$/)
        open = kind == "code" ? depth != 0 || bare !~ /[;}] *$/ : kind != "comment" && line[i] ~ /\\$/
        if (open || commented && i < to)
            continue
        if (kind == "define") {
            match(text, /define [A-Za-z_0-9]+/)
            word = substr(text, RSTART + 7, RLENGTH - 7)
            define(word, items)
            study(items, "(" substr(text, RSTART + RLENGTH))
        } else if (kind == "code") {
            sub(/^ +/, "", text)
            study(items, text)
            for (; match(text, /#define [A-Za-z0-9_]+/); text = substr(text, RSTART + RLENGTH))
                gsub(" " substr(text, RSTART + 8, RLENGTH - 8) " ", "", names[items])
        } else if (kind == "undef") {
            for (word = items; --word && of[word] == from; )
                if (kinds[word] == "error" && chain[word] == chains || kinds[word] == "define" && text ~ defines[word] " *$")
                    partner[items] = word
            local[partner[items]] = kinds[partner[items]] == "define"
        } else if (kind != "comment") {
            names[items] = text
        }
    }
}

# What must come along with a name: the items that define it, or what it is pasted together with.
function owners(name,    stem, all) {
    if (name in defined)
        return defined[name]
    stem = name
    if (!sub(/##$/, "", stem))
        for (; stem ~ /^RETRY_.*_/ && !(stem in family); )
            sub(/[^_]*_?$/, "", stem)
    if (stem in family)
        return family[stem]
    if (name ~ /##$/)
        for (name in defined)
            if (index(name, stem) == 1)
                all = all defined[name]
    return all
}

function take(list,    word, n, k) {
    n = split(list, word, " ")
    for (k = 1; k <= n; k++)
        if (!(word[k] in taken)) {
            taken[word[k]] = 1
            queue[++queued] = word[k]
        }
}

function take_names(list, item,    word, owner, n, k, m) {
    n = split(list, word, /[^A-Za-z0-9_#]+/)
    for (k = 1; k <= n; k++) {
        used[word[k]] = 1
        if (word[k] ~ /^(retry|RETRY)_/)
            for (m = split(owners(word[k]), owner, " "); m >= 1; m--)
                if (!local[owner[m]] || of[owner[m]] == of[item])
                    take(owner[m])
    }
}

# Takes what the items in the queue name, and what those name.
function take_queue(    item, n) {
    while (reached < queued) {
        item = queue[++reached]
        take_names(names[item] " " defines[item], item)
        for (n = 1; n <= items; n++)
            if (controls(n) && index(chain[item] "/", chain[n] "/") == 1)
                take_names(names[n], n)
    }
}

# Whether an item is something by itself.
function solid(item) { return kinds[item] ~ /^(code|define|include)$/ }

function controls(item) { return kinds[item] ~ /^(if|ifdef|ifndef|elif|else|endif)$/ }

# Takes what is declared under these titles; the first item of it, 0 if there is none.
function take_sections(list,    word, n, k, m, found) {
    n = split(list, word, "|")
    for (k = 1; k <= n; k++)
        for (m = 1; m <= items && line[first[m]] !~ /^\/\* ====/; m++)
            if (index(line[first[section[m]]], "/* ---- " word[k] " --") == 1 && defines[m] ~ / [^_]+(_[^_]+)*( |$)/) {
                take(m)
                if (!found || k == 1 && line[first[found]] !~ /^RETRY_API /)
                    found = m
            }
    return found
}

# Whether something that is taken stands inside of this #if.
function holds(path,    m) {
    for (m = 1; m <= items; m++)
        if ((m in taken) && index(chain[m] "/", path "/") == 1 && (solid(m) || kinds[m] ~ /^(err|warn|prag|ext)/))
            return 1
    return 0
}

# What goes along with what is taken.
function take_rest(    m, word, k, paragraph) {
    for (m = 1; m <= items; m++) {
        split(line[first[m]], word, /[ <>"]+/)
        for (k in used)
            if (kinds[m] == "include" && (word[2] in gives) && k ~ gives[word[2]])
                take(m)
    }
    for (m = 1; m <= items; m++)
        if ((kinds[m] ~ /^(error|warning|pragma|extern)$/ || kinds[m] == "define" && defines[m] !~ /RETRY_/) &&
            outermost[m] != "" && holds(outermost[m]))
            take(m)
    take_queue()
    for (m = 1; m <= items; m++)
        if ((m in partner) && (partner[m] in taken))
            take(m)
    for (m = 1; m <= items; m++)
        if (kinds[m] == "frame" || controls(m) && holds(chain[m]))
            take(m)
    for (m = 1; m <= items; m++)
        if (m in taken) {
            if (line[first[above[m]]] !~ /^\/\* =/)
                take(above[m])
            heads[section[m]] += of[m] != paragraph
            paragraph = of[m]
        }
    for (m in heads)
        if (heads[m] > 2)
            take(m)
}

# The text with its names under the prefix. Fields, parameters and the like keep theirs.
function rename(text,    all, name) {
    while (prefix != "retry_" && match(text, /[A-Za-z_][A-Za-z0-9_]*/)) {
        name = substr(text, RSTART, RLENGTH)
        name = (name ~ /^RETRY_/ ? toupper(prefix) : name ~ /^retry_/ && name in defined ? prefix : "") name
        all = all substr(text, 1, RSTART - 1) name
        text = substr(text, RSTART + RLENGTH)
    }
    return all text
}

# A call of a function as its declaration has it.
function call_of(item,    k, n, text, result, argument, name) {
    for (k = first[item]; k <= ends[item]; k++)
        text = text " " line[k]
    sub(/^ *RETRY_API /, "", text)
    match(text, /[a-z_0-9]+\(/)
    name = substr(text, RSTART, RLENGTH - 1)
    result = text ~ /^void [^*]/ ? "" : substr(text, 1, RSTART - 1) "result = "
    gsub(/^[^(]*\(|\);.*/, "", text)
    n = split(text, argument, ",")
    text = ""
    for (k = 1; k <= n; k++) {
        sub(/.*[ *]/, "", argument[k])
        if (argument[k] != "void")
            text = text (k > 1 ? ", " : "") argument[k]
    }
    return result name "(" text ");"
}

function say(text) { print text > out }

# Writes a cut. What another one took is forgotten.
function write(parts, to,    n, k, m, list, paragraph, under) {
    split("", taken)
    split("", used)
    split("", heads)
    split("", needs)
    split("", opens)
    queued = reached = 0
    n = split(parts, list, " ")
    for (k = 1; k <= n; k++) {
        if (list[k] in titles)
            opens[k] = take_sections(titles[list[k]])
        else if (list[k] in defined && line[first[m = substr(defined[list[k]], 2) + 0]] ~ /^RETRY_API /)
            take(opens[k] = m)
        if (!opens[k])
            fault("retry.h has no " list[k] ": PARTS takes" known ", and functions, as retry_phase")
    }
    take_queue()
    take_rest()
    set_needs()
    out = to
    head(parts)
    for (m = 1; m <= items; m++)
        if (m in taken) {
            if (needs[m] != under)
                for (k = gsub(/\n/, "", under); k; k--)
                    say("#endif")
            if (paragraph && of[m] != paragraph)
                say("")
            paragraph = of[m]
            if (needs[m] != under && needs[m] != "")
                say(rename(substr(needs[m], 2)))
            under = needs[m]
            for (k = first[m]; k <= ends[m]; k++)
                guard(parts, line[k])
        }
    close(out)
}

# Says a line, and with those of the include guard what stops another cut with this prefix.
function guard(parts, text,    mark) {
    mark = "RETRY__CUT_" toupper(parts)
    gsub(/[^A-Z0-9_]+/, "_", mark)
    if (text ~ /^#endif \/\* RETRY_H /) {
        say(rename("#elif !defined(" mark ")"))
        say("#error \"Another cut has the prefix " prefix ", too: cut all parts at once, or use two prefixes.\"")
    }
    put(rename(text))
    if (text == "#define RETRY_H")
        say(rename("#define " mark))
}

# Says a line, its names renamed. A comment that has outgrown the lines of retry.h is filled anew. One behind
# code becomes a line, which clang-format breaks.
function put(text,    behind) {
    behind = text !~ /^ *\/\*/ && text ~ /[*]\/$/ # the end of one is whole as it stands
    if (prefix != "retry_" && text !~ /[*]\/./ && (remains != "" || text ~ /\/\*/ && !behind)) {
        remains = remains (remains == "" ? "" : "\n") text
        if (text !~ /[*]\/$/)
            return
        text = fill(remains)
        remains = ""
    }
    say(text)
}

# The comment that is `text` in lines of at most 100 columns. An item of a list begins a line.
function fill(text,    n, k, m, words, outgrown, row, word, hang, all, now) {
    n = split(text, row, "\n")
    if (row[1] !~ /^ *\/\*/) {
        gsub(/\n */, " ", text)
        k = index(text, "/*")
        match(text, /^ */)
        if (k < 70)
            return text
        now = substr(text, 1, k - 1) # too long for a comment behind it
        sub(/ +$/, "", now)
        return substr(text, 1, RLENGTH) substr(text, k) "\n" now
    }
    for (k = 1; k <= n; k++)
        outgrown = outgrown || length(row[k]) > 100
    if (!outgrown)
        return text
    for (k = 1; k <= n; k++) {
        match(row[k], /^ */)
        if (k == 1 || row[k] ~ /^ *- / || RLENGTH != hang) {
            all = all now (k > 1 ? "\n" : "")
            now = substr(row[k], 1, RLENGTH)
            hang = RLENGTH + (k == 1 ? 3 : row[k] ~ /^ *- / ? 2 : 0)
        } else {
            now = now " "
        }
        sub(/ \*\/$/, "\001*/", row[k])
        words = split(row[k], word, " ")
        for (m = 1; m <= words; m++) {
            if (length(now) + length(word[m]) > 100) {
                sub(/ $/, "", now)
                all = all now "\n"
                now = sprintf("%" hang "s", "")
            }
            now = now word[m] (m < words ? " " : "")
        }
    }
    gsub(/\001/, " ", now)
    return all now
}

function head(parts,    n, k, m, list, use, words, text) {
    n = split(parts, list, " ")
    for (k = 1; k <= n; k++) {
        words = words (k > 1 ? ";\n   " : "") (list[k] in summary ? summary[list[k]] : list[k] "()")
        text = example[list[k]] != "" ? example[list[k]] : call_of(opens[k])
        gsub(/\n/, "\n      ", text)
        use = use "\n      " text
    }
    text = out
    sub(/.*\//, "", text)
    say("/* " text " - " rename(words))
    say("   SPDX-License-Identifier: MIT")
    say("   Cut from retry.h " version " by")
    say("      make cut PARTS=\"" parts "\" PREFIX=" prefix " OUT=" out)
    say("   Define " rename("RETRY_IMPLEMENTATION") " before one #include of this file. An example:" rename(use) "\n")
    for (m = last + 1; m <= NR && line[m] !~ /^ *Copyright/; )
        m++
    for (; m <= NR; m++)
        say(line[m])
    say("")
}

END {
    if (failed)
        exit 1
    if (prefix == "")
        fault("PREFIX is missing: nats_ makes nats_retry_backoff of retry_backoff; retry_ leaves the names")
    if (prefix !~ /^[A-Za-z_][A-Za-z0-9_]*_$/)
        fault("PREFIX=" prefix " does not begin names: a C identifier that ends in _ does, as nats_")
    if (out !~ /[^\/]$/ || out == FILENAME)
        fault("OUT must be the file to write, as OUT=nats_retry.h")
    for (m = body; m <= last; m = to + 2) {
        for (to = m; to < last && line[to + 1] != ""; )
            to++
        take_apart(m, to)
    }
    n = split(parts, list, " ")
    if (!n)
        fault("PARTS is missing: it takes" known ", and functions")
    if (!each)
        write(parts, out)
    folder = out
    for (k = 1; each && k <= n; k++)
        write(list[k], folder "/" list[k] ".h")
}
