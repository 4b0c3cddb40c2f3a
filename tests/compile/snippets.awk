# snippets.awk: cuts the C out of a text: the blocks after ```c in Markdown; in a header's opening comment
# what is indented by six spaces and has lines of C. Writes into `dir`, each named after its first line:
# NAME-LINE.program.c, with NAME-LINE.out if the text says what it prints (the next plain block; in a
# manual the next lines indented by six, if "prints" stands between); NAME-LINE.part.c, which is wrapped
# in a function, unless it has functions itself, behind the declarations of snippets.h. What includes
# the header in its own way is a file as it stands.
# awk -v dir=DIR -f snippets.awk FILE
BEGIN { blank = "" }
FNR == 1 {
    header = FILENAME ~ /\.h$/
    name = FILENAME
    gsub(/[^A-Za-z0-9]/, "_", name)
}
header && /\*\// { block(); exit }
header && /^      / { push(substr($0, 7)); next }
header && /^ *$/ { if (lines) blank = blank "\n"; next }
header { block() }
header && /^   [A-Z][^a-z]*$/ { awaited = "" } # a chapter begins
header { if (/prints/) said = 1; next }

/[.]c[)]/ { recipe = 1 } # lines of that program, which is compiled
/^$/ && !open { recipe = 0 }
recipe { next }
/^```c(pp)?$/ { open = 1; next }
/^```$/ && open { open = 0; flush(); next }
/^```$/ && awaited { plain = !plain; if (!plain) output(); next }
open || plain { push($0) }
/^#/ && !open && !plain { awaited = "" }
END { block() }

function push(line) {
    if (!lines)
        first = FNR
    text = text blank line "\n"
    lines++
    blank = ""
}

# Of a manual: all of a program, or what stands between two empty lines.
function block(    n, i, parts) {
    if (said && awaited && !code(text)) {
        output()
        return
    }
    if (text ~ /int main\(/ || whole(text)) {
        flush()
        return
    }
    n = split(text, parts, "\n\n")
    for (i = 1; i <= n; i++) {
        text = parts[i]
        sub(/\n*$/, "\n", text)
        if (code(text))
            flush()
        else
            clear()
        first += gsub("\n", "\n", parts[i]) + 2
    }
    clear()
}

function code(text) {
    return text !~ /(^|\n)(-----|[0-9]+\. )/ && text ~ /(^|\n)#|[;{}]( *\/\/[^\n]*)?(\n|$)/
}

function whole(text) {
    return text ~ /#define RETRY_(IMPLEMENTATION|API)/
}

function clear() {
    text = blank = ""
    lines = 0
}

function output() {
    printf "%s", text > (dir "/" awaited ".out")
    clear()
    awaited = ""
    said = 0
}

function flush(    file, id) {
    id = name "-" first
    if (text ~ /int main\(/) {
        file = dir "/" id ".program.c"
        awaited = id
        said = 0
        printf "#line %d \"%s\"\n%s", first, FILENAME, text > file
    } else {
        awaited = ""
        file = dir "/" id ".part." (text ~ /std::|auto |static_cast|class |template/ ? "cpp" : "c")
        if (whole(text)) {
            printf "#line %d \"%s\"\n%s", first, FILENAME, text > file
            close(file)
            clear()
            return
        }
        functions = text ~ /(^|\n)(\{|static [^=;]*\) \{)/
        printf "#define OF_%s\n%s#include \"tests/compile/snippets.h\"\n", name,
            functions ? "#define FUNCTIONS\n" : "" > file
        printf "%s", functions ? "" : "void snippet(void)\n{\n" > file
        printf "#line %d \"%s\"\n%s", first, FILENAME, text > file
        printf "%s", functions ? "" : "}\n" > file
    }
    close(file)
    clear()
}
