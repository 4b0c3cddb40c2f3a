"""Changes both headers in one place at a time, and prints the changes that no test notices.

Each is compiled into a shared library, with which the tests are linked: what they print or how they end tells
whether they noticed. What compiles to the same code is no change. A survivor gets a test, or a comment where
the code stands that says why it does not matter.

Usage: mutants.py FOLDER TEST..., from the top folder, with in the environment FUNCTION, SECTION: patterns;
those of functions and sections that fit alone ("outside" is the function of what stands in none)."""

import collections
import concurrent.futures
import glob
import os
import re
import resource
import subprocess
import sys
import tempfile

HEADERS = ("retry.h", "errmap.h")
JOBS = int(os.environ.get("CORES") or os.cpu_count() or 1)
COMPILE = ["gcc", "-std=c99", "-w", "-I.", "-D_POSIX_C_SOURCE=200809L", "-DERRMAP_TOKENS=64",
           "-DERRMAP_MAX_DEPTH=32", '-DERRMAP_JSMN_HEADER="tests/support/jsmn_lies.h"']
LIBRARY = [*COMPILE, "-O1", "-DRETRY_API=extern", "-fPIC", "-include", "tests/support/contend.h", "-x", "c"]
TEST = [*COMPILE, "-O1", "-DRETRY_API=extern", "-DRETRY_IMPLEMENTED", "-DERRMAP_IMPLEMENTED", "-DCHECK_QUICK",
        "-DCHECK_STOP"]

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/) | (?P<line>^[ \t]*\#(?:\\\n|[^\n])*) | (?P<space>\s+) |
    (?P<string>"(?:\\.|[^"\\])*") | (?P<char>'(?:\\.|[^'\\])*') |
    (?P<number>(?:0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?)[uUlL]*) | (?P<word>[A-Za-z_]\w*) |
    (?P<operator><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
    """, re.X | re.S | re.M)
Token = collections.namedtuple("Token", "kind text start end")

KEYWORDS = {"if", "else", "for", "while", "do", "switch", "case", "default", "return", "break",
            "continue", "sizeof"}
TYPE = re.compile(r"(const )?(unsigned|int|long|char|bool|size_t|uintptr_t|u?int\d+_t|time_t|"
                  r"retry_(ms|time|reason|reason_set))( (char|int|long))?$")
BINARY = {
    "+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "%": ["*"], "<<": [">>"], ">>": ["<<"],
    "&": ["|", "^"], "|": ["&"], "^": ["|", "&"], "&&": ["||"], "||": ["&&"],
    "<": ["<=", "!="], "<=": ["<", "=="], ">": [">=", "!="], ">=": [">", "=="],
    "==": ["<=", ">="], "!=": ["<", ">"],
    "+=": ["-=", "="], "-=": ["+=", "="], "*=": ["+=", "="], "|=": ["&=", "="], "&=": ["|=", "="],
    "^=": ["|=", "="], "<<=": [">>="], ">>=": ["<<="], "++": ["--"], "--": ["++"],
}
PRECEDENCE = {"?": 1, ":": 1, "||": 2, "&&": 3}


class Function:
    """A function of a header: where it is, and what changes of its body have to know."""

    QUALIFIERS = re.compile(r"\b(RETRY_API|static|inline|(RETRY|ERRMAP)__[A-Z]+)\b")

    def __init__(self, text, start, brace, end):
        self.start, self.brace, self.end = start, brace, end
        head = text[start:brace]
        match = re.search(r"(\w+)\(", head)
        self.name = match.group(1)
        self.type = " ".join(self.QUALIFIERS.sub("", head[:match.start()]).split())
        self.parameters = head[match.end():head.rindex(")")]

    @staticmethod
    def all_of(text):
        for match in re.finditer(r"^\{$", text, re.M):
            end = text.index("\n}\n", match.start()) + 3
            start = match.start()
            while True:  # the lines of its head
                line = text.rfind("\n", 0, start - 1) + 1
                above = text[line:start - 1]
                if not above or above.startswith(("#", "}")) or above.endswith("*/"):
                    break
                start = line
            yield Function(text, start, match.start(), end)


class Mutant:
    """One change: text[start:end] of a header becomes `new`."""

    def __init__(self, header, place, start, end, new):
        self.header, self.place, self.start, self.end, self.new = header, place, start, end, new

    def describe(self, text):
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        return "%s:%d: %s: %s" % (self.header, text.count("\n", 0, self.start) + 1, self.place, squeeze(
            "%s{%s => %s}%s" % (text[first:self.start], text[self.start:self.end], self.new, text[self.end:last])))


def squeeze(text):
    text = re.sub(r"/\*.*?(\*/|$)", "", text, flags=re.S)
    return " ".join(text.replace("\\\n", " ").split())


def tokens_of(text, start, end, lines=False):
    """The tokens, without comments, spaces and, unless asked for, lines of the preprocessor."""
    skipped = ("comment", "space") if lines else ("comment", "space", "line")
    return [Token(m.lastgroup, m.group(), m.start(), m.end())
            for m in TOKEN.finditer(text, start, end) if m.lastgroup not in skipped]


class Changes:
    """All changes of a run of tokens."""

    def __init__(self, text, tokens, result):
        self.text, self.tokens, self.result = text, tokens, result
        self.found, self.tables = [], []
        self.match = {}
        stack = []
        for i, token in enumerate(tokens):
            if token.kind != "operator":
                continue
            if token.text in "([{":
                stack.append(i)
            elif token.text in ")]}" and stack:
                opening = stack.pop()
                self.match[opening], self.match[i] = i, opening
        self.heads = [(i, self.match[i + 1]) for i, token in enumerate(tokens)
                      if token.text in ("for", "while") and i + 1 in self.match]

    def change(self, first, last, new):
        """The tokens first to last become `new`."""
        self.found.append((self.tokens[first].start, self.tokens[last].end, new))

    def span(self, first, last):
        return self.text[self.tokens[first].start:self.tokens[last].end]

    def is_(self, i, *texts):
        return 0 <= i < len(self.tokens) and self.tokens[i].text in texts

    def closing(self, i):
        """Where what a bracket at i opens is closed; else i."""
        return max(i, self.match.get(i, i))

    def is_cast(self, closing):
        """Whether the ")" ends a cast to a type without a pointer."""
        opening = self.match.get(closing)
        if opening is None or not self.is_(closing, ")") or not self.is_(opening, "("):
            return False
        return bool(TYPE.match(" ".join(t.text for t in self.tokens[opening + 1:closing]))) and \
            not self.is_(opening - 1, "sizeof")

    def is_implied(self, closing):
        """Whether the cast that ends there does what an assignment, argument or return does."""
        if self.is_(closing - 1, "char") and self.is_(closing - 2, "unsigned"):
            return False
        last = closing + 1
        while self.is_(last + 1, "->", ".", "(", "["):
            last = self.closing(last + 1)
            last += self.is_(last, "->", ".")
        return self.is_(self.match[closing] - 1, "=", "return", "(", ",") and \
            self.is_(self.closing(last) + 1, ";", ",", ")")

    def is_operand(self, i):
        """Whether an operand ends here."""
        if i < 0:
            return False
        token = self.tokens[i]
        if token.kind in ("number", "string", "char"):
            return True
        if token.kind == "word":
            return token.text not in KEYWORDS
        return token.text == "]" or (token.text == ")" and not self.is_cast(i))

    # ---- expressions

    def expressions(self):
        for i, token in enumerate(self.tokens):
            if token.kind == "number":
                self.numbers(i, token.text)
            elif token.kind == "char":
                self.change(i, i, "(%s + 1)" % token.text)
                self.change(i, i, "(%s - 1)" % token.text)
            elif token.kind == "string":
                self.strings(i, token.text)
            elif token.kind == "word":
                self.words(i, token.text)
            else:
                self.operators(i, token.text)

    def numbers(self, i, text):
        if "." in text:
            self.change(i, i, text + " + 0.001")
            self.change(i, i, text + " - 0.001")
            return
        digits = text.rstrip("uUlL")
        suffix = text[len(digits):]
        value = int(digits, 0)
        form = "0x%x" if digits.startswith("0x") else "%d"
        for other in {value + 1, abs(value - 1)}:
            self.change(i, i, form % other + suffix)

    def strings(self, i, text):
        places = [m.start() for m in re.finditer(r"(?<!\\)[A-Za-z0-9]", text)]
        for place in sorted({places[0], places[-1]} if places else ()):
            self.change(i, i, text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1:])

    def words(self, i, text):
        if text in ("true", "false"):
            self.change(i, i, "false" if text == "true" else "true")
        elif self.is_(i + 1, "(") or self.is_(i - 1, ".", "->"):
            return
        elif re.match(r"U?INT\d*_MAX$", text):
            self.change(i, i, "0")
            self.change(i, i, "(%s - 1)" % text)
        elif re.match(r"(RETRY|ERRMAP)_[A-Z0-9_]+$", text):
            self.change(i, i, "(%s + 1)" % text)

    def operators(self, i, text):
        if text in ("!", "~") or (text == "-" and not self.is_operand(i - 1)):
            self.change(i, i, "")
        elif text == ")" and self.is_cast(i):
            if not self.is_implied(i):
                self.change(self.match[i], i, "")
        elif text == "?":
            self.condition(*self.operand_before(i, 2))
        elif text in BINARY and (text in ("++", "--") or self.is_operand(i - 1)):
            for new in BINARY[text]:
                counting = text + new == "<!=" and any(a < i < b for a, b in self.heads)
                zero = text + new in ("!=>", "==<=") and self.is_(i + 1, "0")  # unsigned
                if not counting and not zero:
                    self.change(i, i, new)
            if text in ("&&", "||"):
                neutral = "1" if text == "&&" else "0"
                self.change(*self.operand_before(i, PRECEDENCE[text] + 1), neutral)
                self.change(*self.operand_after(i, PRECEDENCE[text] + 1), neutral)

    def ends_operand(self, i, least):
        token = self.tokens[i]
        return (token.text in (",", ";", "=", "{", "}", "return", "case", "+=", "|=") or
                PRECEDENCE.get(token.text, 9) < least)

    def operand_before(self, i, least):
        first = i
        while first > 0:
            previous = first - 1
            if self.tokens[previous].text in ("(", "[") or self.ends_operand(previous, least):
                break
            first = self.match.get(previous, previous)
        return first, i - 1

    def operand_after(self, i, least):
        last = i
        while last + 1 < len(self.tokens):
            following = last + 1
            if self.tokens[following].text in (")", "]") or self.ends_operand(following, least):
                break
            last = self.closing(following)
        return i + 1, last

    def condition(self, first, last):
        if last < first:
            return
        text = self.span(first, last)
        if text in ("0", "1"):
            return
        self.change(first, last, "1")
        self.change(first, last, "0")
        if not text.startswith("!"):
            self.change(first, last, "!(%s)" % text)

    # ---- variables

    def variables(self, function):
        """A variable in use becomes 0, if it is a number, and each other of its type that has a
        value by then."""
        types, valued = {}, {}  # by name: the type; the token from which on it has a value
        for part in function.parameters.split(","):
            self.declare(types, part)
        valued.update((name, 0) for name in types)
        declared = set()
        for i, token in enumerate(self.tokens):
            if self.is_(i - 1, "{", "}", ";") and token.text not in KEYWORDS | {"}"} and \
                    self.is_declaration(i):
                self.declarators(i, types, valued, declared)
        for i, token in enumerate(self.tokens):
            if token.text in types and self.is_(i + 1, "=") and not self.is_(i - 1, ".", "->"):
                valued[token.text] = min(i, valued.get(token.text, i))
        for i, token in enumerate(self.tokens):
            if token.text in types and i not in declared and self.is_used(i):
                kind = types[token.text].replace("const ", "")
                if TYPE.match(kind):  # of 64 bits, too, as they are shifted
                    self.change(i, i, "(%s)0" % kind)
                for other in sorted(types):
                    if other != token.text and types[other] == types[token.text] and \
                            valued.get(other, i) < i:
                        self.change(i, i, other)

    @staticmethod
    def declare(types, text):
        """What a declaration of one variable says of its type."""
        match = re.match(r"(.*?)(\w+)(\[.*\])?$", squeeze(text))
        if match and match.group(1):
            types[match.group(2)] = re.sub(r"\bstatic ", "", match.group(1)).strip() + \
                ("*" if match.group(3) else "")

    def declarators(self, i, types, valued, declared):
        first = i
        while not self.is_(i + 1, "=", ";", ",", "["):
            i += 1
        base = re.sub(r"\*", "", self.span(first, i - 1)).strip()
        while True:
            stars = "*" if self.is_(i - 1, "*") else ""
            self.declare(types, base + " " + stars + self.tokens[i].text +
                         ("[]" if self.is_(i + 1, "[") else ""))
            declared.add(i)
            if self.is_(i + 1, "="):
                valued[self.tokens[i].text] = i
            while not self.is_(i, ",", ";"):
                i = self.closing(i) + 1
            if self.is_(i, ";"):
                return
            i += 1
            while self.is_(i, "*"):
                i += 1

    def is_used(self, i):
        """Whether the variable there is read, and is all of an operand."""
        if self.is_(i - 1, ".", "->", "++", "--") or self.is_(i + 1, "(", "++", "--"):
            return False
        if self.is_(i - 1, ")") and self.is_(i - 2, "void"):  # (void)unused
            return False
        if self.is_(i - 1, "&") and not self.is_operand(i - 2):
            return False
        following = self.tokens[i + 1].text if i + 1 < len(self.tokens) else ""
        return not re.match(r"[-+*/%&|^]?=$|<<=|>>=", following)

    # ---- statements

    def statements(self):
        i = 1  # behind the function's brace
        while i < len(self.tokens):
            i = self.statement(i)

    def statement(self, i):
        """Changes the statement at i, or the head of one; returns what is next."""
        word = self.tokens[i].text
        if word in ("{", "}", ";", "else", "do"):
            return i + 1
        if word in ("case", "default"):
            while not self.is_(i, ":"):
                i += 1
            return i + 1
        if word in ("if", "while", "for", "switch"):
            closing = self.match[i + 1]
            if word == "for":
                semicolons = [k for k in range(i, closing) if self.is_(k, ";")]
                self.condition(semicolons[0] + 1, semicolons[1] - 1)
            elif word != "switch":
                self.condition(i + 2, closing - 1)
            return closing + 1
        end = i
        while not self.is_(end, ";"):
            end = self.closing(end) + 1
        if word == "return":
            self.returned(i + 1, end - 1)
        elif word == "break":
            self.change(i, end, "continue;")
            self.change(i, end, ";")
        elif word == "continue":
            self.change(i, end, "break;")
            self.change(i, end, ";")
        elif self.is_declaration(i):
            self.initialisers(i, end)
            if word == "static":
                self.tables.append((self.tokens[i].start, self.tokens[end].end))
        elif not (word == "(" and self.is_(i + 1, "void")):
            self.change(i, end, ";")
        return end + 1

    def is_declaration(self, i):
        following = self.tokens[i + 1]
        return self.tokens[i].kind == "word" and (following.kind == "word" or following.text == "*")

    def initialisers(self, i, end):
        while i < end:
            if self.is_(i, "=") and not self.is_(i + 1, "{"):
                first, last = self.operand_after(i, 0)
                if last > first or self.tokens[first].kind == "word":
                    self.change(first, last, "0")
                i = last + 1
            else:
                i = self.closing(i) + 1

    def returned(self, first, last):
        kind = self.result
        if last < first:  # return;
            self.change(first - 1, first, ";")
            return
        text = self.span(first, last)
        if kind == "bool":
            self.change(first, last, "!(%s)" % text)
        elif kind.endswith("*"):
            self.change(first, last, "0")
        elif TYPE.match(kind) or kind in ("errmap_status",):
            self.change(first, last, "0")
            self.change(first, last, "(%s) + 1" % text)
        else:
            self.change(first, last, "(%s){0}" % kind)


def seen_lines(header):
    """The lines of the implementation that a compiler sees."""
    output = run([*LIBRARY, "-D%s_IMPLEMENTATION" % header[:-2].upper(), "-E", header]).stdout
    seen, here, number = set(), False, 0
    for line in output.split("\n"):
        mark = re.match(r'# (\d+) "(?:.*/)?([^"/]*)"', line)
        if mark:
            number, here = int(mark.group(1)), mark.group(2) == header
            continue
        if here and line.strip():
            seen.add(number)
        number += 1
    return seen


def pieces(text, functions, begin):
    """What is changed, as changes and the name of their place: bodies of functions; macros and enums."""
    for function in functions:
        if function.start > begin:
            changes = Changes(text, tokens_of(text, function.brace, function.end), function.type)
            changes.expressions()
            changes.variables(function)
            changes.statements()
            yield function.name, changes
    spans = [match.span(3) for match in re.finditer(
        r"^#define (RETRY|ERRMAP)__\w+(\([\w, ]*\))? +((?:\\\n|[^\n])*)", text, re.M)]
    spans += [match.span() for match in re.finditer(r"^enum \{.*?\};", text, re.M | re.S)]
    for start, end in spans:
        if start > begin and not any(f.start <= start < f.end for f in functions):
            changes = Changes(text, [t for t in tokens_of(text, start, end) if t.text != "\\"], "")
            changes.expressions()
            yield "outside", changes


def mutants_of(header, text):
    begin = text.index("_IMPLEMENTED\n")
    seen = seen_lines(header)
    titles = [(m.start(), m.group(1)) for m in re.finditer(r"^/\* ---- (.*?) -+ \*/$", text, re.M)]
    asserts = [m.span() for m in re.finditer(r"RETRY_ASSERT\([^;]*\);", text)]
    for place, changes in pieces(text, list(Function.all_of(text)), begin):
        for start, end, new in sorted(set(changes.found)):
            section = max((t for t in titles if t[0] < start), default=(0, ""))[1]
            if (re.search(os.environ.get("FUNCTION", ""), place) and text[start:end] != new and
                    re.search(os.environ.get("SECTION", ""), section) and
                    (place == "outside" or text.count("\n", 0, start) + 1 in seen) and
                    not any(a <= start < b for a, b in asserts)):
                yield Mutant(header, place, start, end, new)


# ---- the run

def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace",
                          check=False, **options)


def fail(text):
    sys.stderr.write(text + "\n")
    sys.exit(2)


def library(folder, header, text):
    """Compiles the text of a header into a library in the folder; returns its code, or None."""
    os.makedirs(folder, exist_ok=True)
    with open("%s/%s" % (folder, header), "w") as file:
        file.write(text)
    name = "%s/%s" % (folder, header[:-2])
    done = run([*LIBRARY, "-D%s_IMPLEMENTATION" % header[:-2].upper(), "-c", name + ".h", "-o", name + ".o"])
    if done.returncode != 0:
        return None
    done = run(["gcc", "-shared", name + ".o", "-o", "%s/lib%s.so" % (folder, header[:-2])])
    return open(name + ".o", "rb").read() if done.returncode == 0 else None


def limits(seconds):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 24, 1 << 24))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Tests:
    """The tests, linked with libraries; the one that notices most of a function's changes is asked first."""

    def __init__(self, folder, names):
        self.folder, self.names, self.seconds = folder, names, {}
        self.kills = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(self.build, names))
            list(pool.map(self.measure, names))

    def build(self, name):
        source = glob.glob("tests/*/%s.c" % name)[0]
        done = run([*TEST, source, "-L" + self.folder, "-lerrmap", "-lretry", "-lm", "-lpthread", "-o",
                    "%s/%s" % (self.folder, name)])
        if done.returncode != 0:
            fail(done.stderr[:4000])

    def measure(self, name):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if self.notice(name, self.folder, 60):
            fail(name + " fails without a change")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds[name] = after.ru_utime - before.ru_utime

    def notice(self, name, folder, seconds):
        """Whether the test fails, stops or runs for ever with the libraries of the folder."""
        path = "%s:%s" % (os.path.abspath(folder), os.path.abspath(self.folder))
        try:
            return run(["%s/%s" % (self.folder, name)], env={"LD_LIBRARY_PATH": path}, timeout=60 + 10 * seconds,
                       preexec_fn=lambda: limits(seconds)).returncode != 0
        except subprocess.TimeoutExpired:
            return True

    def notices(self, mutant, folder):
        for name in sorted(self.names, key=lambda n: (-self.kills[mutant.place, n], self.seconds[n])):
            if self.notice(name, folder, 2 + int(3 * self.seconds[name])):
                self.kills[mutant.place, name] += 1
                return True
        return False


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    texts = {header: open(header).read() for header in HEADERS}
    mutants = [mutant for header in HEADERS for mutant in mutants_of(header, texts[header])]
    if not mutants:
        fail("nothing to change: no FUNCTION or SECTION fits")
    print("%d changes" % len(mutants), flush=True)
    originals = {header: library(folder, header, texts[header]) for header in HEADERS}
    tests = Tests(folder, names)

    def judge(mutant):
        text = texts[mutant.header]
        with tempfile.TemporaryDirectory(dir=folder) as own:
            code = library(own, mutant.header, text[:mutant.start] + mutant.new + text[mutant.end:])
            if code is None:
                return "do not compile"
            if code == originals[mutant.header]:
                return "compile to the same code"
            if tests.notices(mutant, own):
                return "are noticed"
        print(mutant.describe(text), flush=True)
        return "survive"

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        fates = collections.Counter(pool.map(judge, mutants))
    print(", ".join("%d %s" % (count, fate) for fate, count in fates.most_common()))


if __name__ == "__main__":
    main()
