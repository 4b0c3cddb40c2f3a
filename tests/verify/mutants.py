"""Mutants of both headers: each changes the implementation in one place, and some test must notice.

All mutants of functions are compiled into one library. A mutant is a copy of its function, and the
function itself asks first whether one of its copies is to run: the environment variable MUTANT
names it. The tests, compiled once, are linked with that library; a test's exit status tells whether
it noticed. What stands outside of functions (numbers in macros and enums) is changed in a copy of
the header, which is compiled for each mutant.

Usage: mutants.py BUILD LIST TEST..., from the top folder; mutants.sh tells what the environment may
hold."""

import collections
import concurrent.futures
import glob
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

HEADERS = ("retry.h", "errmap.h")
QUICK = ("test_errmap_json", "test_errmap_maps")  # a fraction of what they do will do
# It changes what the implementation calls, so that is compiled into it.
LOCAL_TESTS = ("test_clock",)
IMPLEMENTATION_FILE = """#define ERRMAP_JSMN_HEADER "tests/support/jsmn_lies.h"
#include "tests/support/contend.h"
#include "errmap.h"
"""
# Functions are exported: the tests are linked with a shared library.
DEFINES = ["-DERRMAP_TOKENS=64", "-DERRMAP_MAX_DEPTH=32", "-D_POSIX_C_SOURCE=200809L",
           "-DRETRY_API=extern"]
IMPLEMENTATION = ["-DRETRY_IMPLEMENTATION", "-DRETRY_SYSTEM_CLOCK"]
GUARDS = ["-DRETRY_IMPLEMENTED", "-DERRMAP_IMPLEMENTED"]  # of tests that are linked with it
OTHER = ["-DRETRY_NO_ATOMICS"]
# A function's code does not depend on the others that there are.
SEPARATE = ["-O2", "-fno-ipa-icf", "-fno-ipa-cp", "-fno-ipa-sra", "-fno-ipa-ra", "-fno-ipa-pure-const",
            "-fno-ipa-modref", "-fno-partial-inlining", "-fno-inline-functions-called-once",
            "--param=large-unit-insns=100000000", "--param=inline-unit-growth=100000"]
GCC = ["gcc", "-std=c99", "-O1", "-pedantic-errors"]
CLANG = ["clang-19", "-std=c99", "-O1", "-g", "-w"]
MEMORY = ["-O0", "-fsanitize=memory"]  # optimised code does not read what nobody has written
SANITIZERS = "-fsanitize=address,undefined,integer"

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
    """A function of a header: where it is, and what its copies need."""

    QUALIFIERS = re.compile(r"\b(RETRY_API|static|inline|RETRY__(COLD|INLINE|ONCE)|ERRMAP__(APART|RARE))\b")

    def __init__(self, header, text, start, brace, end):
        self.header, self.start, self.brace, self.end = header, start, brace, end
        head = text[start:brace]
        match = re.search(r"(\w+)\(", head)
        self.name = match.group(1)
        self.result = " ".join(self.QUALIFIERS.sub("", head[:match.start()]).split())
        self.type = re.sub(r"\b(RETRY|ERRMAP)__WRAPS\b", "", self.result).strip()
        self.parameters = head[match.end():head.rindex(")")]
        plain = re.sub(r"\(\*(\w+)\)\([^)]*\)", r" \1", self.parameters)  # pointers to functions
        names = [re.findall(r"\w+", re.sub(r"\[.*\]", "", part)) for part in plain.split(",")]
        self.arguments = ", ".join(words[-1] for words in names if words != ["void"])
        self.number = 0

    @staticmethod
    def all_of(header, text):
        for match in re.finditer(r"^\{$", text, re.M):
            end = text.index("\n}\n", match.start()) + 3
            start = match.start()
            while True:  # the lines of its head
                line = text.rfind("\n", 0, start - 1) + 1
                above = text[line:start - 1]
                if not above or above.startswith(("#", "}")) or above.endswith("*/"):
                    break
                start = line
            yield Function(header, text, start, match.start(), end)


class Mutant:
    """One change: text[start:end] of a header becomes `new`."""

    def __init__(self, header, function, start, end, new, active=(True, True)):
        self.header, self.function = header, function
        self.start, self.end, self.new = start, end, new
        self.active = active  # whether a compiler sees it, plainly and under the other options
        self.place = function.name if function else "outside"
        self.number = 0
        self.table = False  # whether it is in a static variable, which is no code
        self.fate = self.by = None  # killed, hung, identical or survived; the test that noticed

    def describe(self, text):
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        return squeeze("%s: %s{%s => %s}%s" % (
            self.place, text[first:self.start], text[self.start:self.end], self.new,
            text[self.end:last]))


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


def active_lines(folder):
    """By header and by whether it is under the other options: the lines that a compiler sees."""
    active = {(header, other): set() for header in HEADERS for other in (False, True)}
    for other, options in ((False, []), (True, OTHER)):
        output = run([*GCC, *DEFINES, *IMPLEMENTATION, *options, "-I.", "-E", "-x", "c",
                      folder + "/implementation.c"]).stdout
        header, number = None, 0
        for line in output.split("\n"):
            mark = re.match(r'# (\d+) "(?:.*/)?([^"/]*)"', line)
            if mark:
                number = int(mark.group(1))
                header = mark.group(2) if mark.group(2) in HEADERS else None
                continue
            if header and line.strip():
                active[header, other].add(number)
            number += 1
    return active


def function_mutants(header, text, active):
    for function in Function.all_of(header, text):
        if function.start < text.index("_IMPLEMENTED\n"):
            continue
        changes = Changes(text, tokens_of(text, function.brace, function.end), function.type)
        changes.expressions()
        changes.variables(function)
        changes.statements()
        asserts = [m.span() for m in re.finditer(r"RETRY_ASSERT\(.*?\);", text)]
        for start, end, new in sorted(set(changes.found)):
            line = text.count("\n", 0, start) + 1
            seen = [line in active[header, other] for other in (False, True)]
            if any(seen) and not any(a <= start < b for a, b in asserts) and \
                    text[start:end] != new:
                mutant = Mutant(header, function, start, end, new, seen)
                mutant.table = any(a <= start < b for a, b in changes.tables)
                yield mutant


def outside_mutants(header, text, functions):
    """Of the numbers and operators of macros and enums behind the start of the implementation."""
    begin = text.index("_IMPLEMENTED\n") + len("_IMPLEMENTED\n")
    inside = [(f.start, f.end) for f in functions]
    pieces = []
    for match in re.finditer(r"^#define (RETRY|ERRMAP)__\w+(\([\w, ]*\))? +((?:\\\n|[^\n])*)", text,
                             re.M):
        if not re.search("__attribute__|static|typedef|__INLINE", match.group(3)):
            pieces.append(match.span(3))
    pieces += [m.span() for m in re.finditer(r"^enum \{.*?\};", text, re.M | re.S)]
    for start, end in pieces:
        if start < begin or any(a <= start < b for a, b in inside):
            continue
        tokens = [t for t in tokens_of(text, start, end) if t.text != "\\"]
        changes = Changes(text, tokens, "")
        changes.expressions()
        for at, to, new in sorted(set(changes.found)):
            if text[at:to] != new:
                yield Mutant(header, None, at, to, new)


def all_mutants(texts, folder):
    active = active_lines(folder)
    mutants = []
    for header in HEADERS:
        functions = list(Function.all_of(header, texts[header]))
        mutants += function_mutants(header, texts[header], active)
        mutants += outside_mutants(header, texts[header], functions)
    seen, numbers = collections.Counter(), {}
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
        key = mutant.describe(texts[mutant.header])
        seen[key] += 1
        mutant.key = key if seen[key] == 1 else "%s (%d)" % (key, seen[key])
        if mutant.function:
            mutant.function.number = numbers.setdefault(mutant.function, len(numbers) + 1)
    return mutants


# ---- builds

SUPPORT = """#ifndef MUTANTS_H
#define MUTANTS_H
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
static int mutants_number, mutants_function;
static unsigned char mutants_reached[%d];
/* Which mutant runs, and that it neither runs for ever nor fills the machine. */
__attribute__((constructor)) static void mutants_begin(void)
{
    const char *number = getenv("MUTANT"), *function = getenv("MUTANT_FUNCTION");
    const char *limit = getenv("MUTANT_MS");
    if (number && function) {
        mutants_number = atoi(number);
        mutants_function = atoi(function);
    }
    if (limit) {
        struct itimerval timer = {{0, 0}, {atoi(limit) / 1000, atoi(limit) %% 1000 * 1000}};
        struct rlimit core = {0, 0}, file = {1 << 24, 1 << 24};
        setitimer(ITIMER_PROF, &timer, NULL);
        setrlimit(RLIMIT_CORE, &core);
        setrlimit(RLIMIT_FSIZE, &file);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
        {
            struct rlimit memory = {1 << 30, 1 << 30};
            setrlimit(RLIMIT_AS, &memory);
        }
#endif
    }
}
__attribute__((destructor)) static void mutants_end(void)
{
    const char *path = getenv("MUTANTS_REACHED");
    FILE *file = path ? fopen(path, "wb") : NULL;
    if (file) {
        fwrite(mutants_reached, 1, sizeof mutants_reached, file);
        fclose(file);
    }
}
#ifdef MUTANTS_APART
#define MUTANTS_HERE(function) 0
#else
#define MUTANTS_HERE(function) (mutants_reached[function] = 1, mutants_function == (function))
#endif
#endif
"""


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          errors="replace", check=False, **options)


def spent():
    """Seconds of a core that children have taken."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def source(test):
    """Where a test lies: its room does not matter."""
    found = glob.glob("tests/*/" + test + ".c")
    return found[0] if found else fail("mutants.py: no test " + test)


def copy_support(folder):
    """What the implementation includes, for a copy of it."""
    shutil.copytree("tests/support", folder + "/tests/support", dirs_exist_ok=True)


def fail(text):
    sys.stderr.write(text + "\n")
    sys.exit(2)


class Build:
    """A library of mutants, and the tests that are linked with it."""

    def __init__(self, name, folder, texts, tests, compiler, options):
        self.name, self.folder, self.texts = name, folder + "/" + name, texts
        self.tests, self.compiler, self.options = tests, compiler, options
        self.quick = QUICK if compiler is GCC else tests
        self.base = {}     # ms of a core that a test takes
        self.reached = {}  # the functions that it calls
        copy_support(self.folder)
        for test in LOCAL_TESTS:
            path = source(test)
            os.makedirs(os.path.dirname(self.folder + "/" + path), exist_ok=True)
            shutil.copy(path, self.folder + "/" + path)
        with open(self.folder + "/implementation.c", "w") as file:
            file.write(IMPLEMENTATION_FILE)

    def write(self, mutants, attributes="noinline"):
        """The headers with these mutants of functions in them; returns whose the lines are."""
        with open(self.folder + "/mutants.h", "w") as file:
            file.write(SUPPORT % 1000)
        lines = {}
        for header in HEADERS:
            own = collections.defaultdict(list)
            for mutant in mutants:
                if mutant.header == header:
                    own[mutant.function].append(mutant)
            text, pieces, at = self.texts[header], [], 0
            begin = text.index("_IMPLEMENTED\n") + len("_IMPLEMENTED\n")
            pieces.append(text[:begin] + '#include "mutants.h"\n')
            at, count = begin, text.count("\n", 0, begin) + 1
            for function in sorted(own, key=lambda f: f.start):
                pieces.append(text[at:function.start])
                count += pieces[-1].count("\n")
                for mutant in own[function]:
                    body = (text[function.brace:mutant.start] + mutant.new +
                            text[mutant.end:function.end])
                    pieces.append("static __attribute__((%s)) %s %s__%d(%s)\n%s" % (
                        attributes, function.result, function.name, mutant.number,
                        function.parameters, body))
                    size = pieces[-1].count("\n")
                    for line in range(count + 1, count + size + 1):
                        lines[header, line] = mutant
                    count += size
                pieces.append(self.dispatcher(function, own[function]))
                pieces.append(text[function.start:function.brace])
                pieces.append("{ if (MUTANTS_HERE(%d)) { %s%s__mutants(%s); %s}\n" % (
                    function.number, "" if function.type == "void" else "return ",
                    function.name, function.arguments,
                    "return; " if function.type == "void" else ""))
                pieces.append(text[function.brace + 2:function.end])
                count += sum(piece.count("\n") for piece in pieces[-4:])
                at = function.end
            pieces.append(text[at:])
            with open(self.folder + "/" + header, "w") as file:
                file.write("".join(pieces))
        return lines

    @staticmethod
    def dispatcher(function, mutants):
        call = "%s__%%d(%s);" % (function.name, function.arguments)
        if function.type == "void":
            cases = "".join("case %d: %s break;\n" % (m.number, call % m.number) for m in mutants)
            return "static void %s__mutants(%s)\n{ switch (mutants_number) {\n%s} }\n" % (
                function.name, function.parameters, cases)
        cases = "".join("case %d: return %s\n" % (m.number, call % m.number) for m in mutants)
        return ("static __attribute__((noinline)) %s %s__mutants(%s)\n"
                "{ switch (mutants_number) {\n%sdefault: abort(); } }\n" % (
                    function.result, function.name, function.parameters, cases))

    def library(self, mutants):
        """Compiles the mutants; returns those that compile."""
        mutants = list(mutants)
        for _ in range(9):
            lines = self.write(mutants)
            done = run([*self.compiler, *self.options, *DEFINES, *IMPLEMENTATION, "-I" + self.folder,
                        "-fPIC", "-shared", "-fmax-errors=0" if self.compiler is GCC else
                        "-ferror-limit=0", self.folder + "/implementation.c",
                        "-o", self.folder + "/libmutants.so"])
            if done.returncode == 0:
                return mutants
            bad = set()
            for match in re.finditer(r"^[^ ]*?(\w+\.h):(\d+):\d+: (?:fatal )?error", done.stderr,
                                     re.M):
                bad.add(lines.get((match.group(1), int(match.group(2)))))
            bad.discard(None)
            if not bad:
                fail(done.stderr[:4000])
            mutants = [m for m in mutants if m not in bad]
        return fail("mutants.py: what does not compile has no end")

    def compile_tests(self):
        jobs = []
        for test in self.tests:
            flags = ["-w", "-DCHECK_STOP", *self.options, *DEFINES, *["-DCHECK_QUICK"] * (test in self.quick)]
            if self.options is OTHER and re.search("threads|processes|swaps", test):
                continue
            if self.options is MEMORY and test in QUICK:  # minutes
                continue
            if test in LOCAL_TESTS:
                jobs.append([*self.compiler, *flags, self.folder + "/" + source(test)])
            else:
                jobs.append([*self.compiler, *flags, *GUARDS, source(test),
                             "-L" + self.folder, "-Wl,-rpath," + os.path.abspath(self.folder),
                             "-lmutants"])
            jobs[-1] += ["-o", self.folder + "/" + test, "-lm", "-lpthread"]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            for done in pool.map(run, jobs):
                if done.returncode != 0:
                    fail(done.stderr[:4000])

    def trial(self):
        """Runs each test without a mutant: how long does it take, and what does it call?"""
        self.compile_tests()
        for test in self.tests:
            if not os.path.exists(self.folder + "/" + test):
                continue
            path = self.folder + "/reached"
            began = spent()
            done = run([self.folder + "/" + test], env={"MUTANTS_REACHED": path})
            self.base[test] = (spent() - began) * 1000
            if done.returncode != 0 or not re.search(r"\d passed, 0 failed$", done.stdout.strip()):
                fail("%s without a mutant (%s):\n%s%s" % (test, self.name, done.stdout,
                                                          done.stderr))
            with open(path, "rb") as file:
                self.reached[test] = {i for i, byte in enumerate(file.read()) if byte}
            os.remove(path)

    def noticed(self, test, mutant, folder=None):
        """Whether a test notices a mutant: None, "killed" or "hung"."""
        environment = {"MUTANT_MS": str(int(self.base[test] * 4 + 200)),
                       "UBSAN_OPTIONS": "halt_on_error=1", "ASAN_OPTIONS": "detect_leaks=0"}
        if mutant.function:
            environment["MUTANT"] = str(mutant.number)
            environment["MUTANT_FUNCTION"] = str(mutant.function.number)
        if folder:
            environment["LD_LIBRARY_PATH"] = folder
        with subprocess.Popen([self.folder + "/" + test], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            try:
                status = process.wait(timeout=self.base[test] / 50 + 20)
            except subprocess.TimeoutExpired:
                process.kill()
                return "hung"
        if status == 0:
            return None
        return "hung" if status == -signal.SIGPROF else "killed"


# ---- the run

JOBS = int(os.environ.get("JOBS") or os.cpu_count() or 1)


class Run:
    """Judges mutants, a few at once."""

    def __init__(self, folder, texts, tests, listed):
        self.folder, self.texts, self.tests, self.listed = folder, texts, tests, listed
        self.kills = collections.Counter()
        self.lock = threading.Lock()
        self.began = time.monotonic()

    def say(self, text):
        print("%4d s  %s" % (time.monotonic() - self.began, text), flush=True)

    def each(self, work, mutants):
        """Calls work(mutant) for all of them."""
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            for done, _ in enumerate(pool.map(work, mutants), 1):
                if done % 500 == 0:
                    self.say("%d of %d" % (done, len(mutants)))

    def order(self, build, mutant):
        """The tests that reach a mutant: those first that noticed most of its function's."""
        tests = [test for test in build.base
                 if not mutant.function or mutant.function.number in build.reached[test]]
        return sorted(tests, key=lambda test: (-self.kills[mutant.place, test], "thread" in test,
                                               build.base[test]))

    def judge(self, build, mutant, folder=None):
        mutant.fate = "survived"
        if not mutant.active[build.options is OTHER]:
            return
        for test in self.order(build, mutant):
            fate = build.noticed(test, mutant, folder)
            if fate and mutant.key in self.listed:  # a fault of a loaded machine does not repeat
                fate = build.noticed(test, mutant, folder) and build.noticed(test, mutant, folder)
            if fate:
                with self.lock:
                    self.kills[mutant.place, test] += 1
                mutant.fate, mutant.by = fate, test
                return
        with open(build.folder + ".survivors", "a") as file:
            file.write(mutant.key + "\n")

    def alone(self, build, mutant):
        """A mutant outside of functions, in a copy of the headers."""
        path = self.copy(mutant)
        done = run([*build.compiler, "-O0", *build.options, *DEFINES, *IMPLEMENTATION, "-I" + path,
                    "-fPIC", "-shared", path + "/implementation.c", "-o", path + "/libmutants.so"])
        if done.returncode == 0:
            self.judge(build, mutant, path)
        shutil.rmtree(path)

    def copy(self, mutant):
        path = "%s/alone/%d" % (self.folder, mutant.number)
        copy_support(path)
        shutil.copy(self.folder + "/implementation.c", path + "/implementation.c")
        for header in HEADERS:
            text = self.texts[header]
            if header == mutant.header:
                text = text[:mutant.start] + mutant.new + text[mutant.end:]
            with open(path + "/" + header, "w") as file:
                file.write(text)
        return path

    def round(self, name, compiler, options, mutants):
        """Lets the tests, built in one way, look for mutants; returns those that compile."""
        build = Build(name, self.folder, self.texts, self.tests, compiler, options)
        inner = build.library([m for m in mutants if m.function])
        build.trial()
        self.each(lambda mutant: self.judge(build, mutant), inner)
        outer = [m for m in mutants if not m.function]
        if outer:
            build.library([])
            self.each(lambda mutant: self.alone(build, mutant), outer)
        mutants = inner + [m for m in outer if m.fate]
        self.say("%d of %d survive %s, whose %d tests take %d ms" % (
            len(surviving(mutants)), len(mutants), name, len(build.base),
            sum(build.base.values())))
        return mutants

    def listings(self, path, options):
        """The assembly of each function, free of numbers that compilers only count up."""
        with open(path + "/implementation.c", "w") as file:
            file.write('#include "errmap.h"\n')
        text = run(["gcc", "-std=c99", *SEPARATE, "-w", "-S", *DEFINES, *IMPLEMENTATION, *options,
                    "-DMUTANTS_APART", "-I" + path, path + "/implementation.c", "-o", "-"]).stdout
        strings = dict(re.findall(r'^(\.LC\d+):\n\s*\.string\t(.*)$', text, re.M))
        found = {}
        for match in re.finditer(r"^(\w+):\n(.*?)^\t\.size\t\1,", text, re.M | re.S):
            body = re.sub(r"^\t\.(cfi|p2align|loc|type|section|text).*\n", "", match.group(2),
                          flags=re.M)
            body = re.sub(r"\.LC\d+", lambda m: strings.get(m.group(), m.group()), body)
            labels = {}
            body = re.sub(r"\.L[A-Z]*\d+",
                          lambda m: labels.setdefault(m.group(), ".%d" % len(labels)), body)
            found[match.group(1)] = re.sub(r"\b([a-z_]\w*)\.\d+\b", r"\1", body)
        return found

    def identical(self, mutants):
        """Sets apart those that compile to what their function does."""
        inner = [m for m in mutants if m.function and not m.table]
        originals = {}
        for mutant in inner:
            function = mutant.function
            originals.setdefault(function, Mutant(mutant.header, function, function.end - 2,
                                                  function.end - 2, ""))
        for number, mutant in enumerate(originals.values()):
            mutant.number = 100000 + number
        same = set(inner)
        for name, options in (("same", []), ("same_other", OTHER)):
            build = Build(name, self.folder, self.texts, [], GCC, options)
            build.write(inner + list(originals.values()), "used, noinline, noclone")
            found = self.listings(build.folder, options)
            for mutant in inner:
                original = originals[mutant.function]
                copies = [found.get("%s__%d" % (m.place, m.number)) for m in (mutant, original)]
                if not all(copies):
                    fail("no code of " + mutant.key)
                if copies[0] != copies[1]:
                    same.discard(mutant)
        for mutant in same:
            mutant.fate = "identical"
        self.say("%d of %d compile to the same code" % (len(same), len(mutants)))


def surviving(mutants):
    return [m for m in mutants if m.fate == "survived"]


def selected(mutants):
    function, sample = os.environ.get("FUNCTION"), os.environ.get("SAMPLE")
    only = os.environ.get("ONLY")
    if only:
        with open(only) as file:
            keys = set(file.read().split("\n"))
        mutants = [m for m in mutants if m.key in keys]
    if function:
        mutants = [m for m in mutants if re.search(function, m.place)]
    if sample and int(sample) < len(mutants):
        chosen = random.Random(int(os.environ.get("SEED") or 1)).sample(mutants, int(sample))
        mutants = sorted(chosen, key=lambda m: m.number)
    return mutants


def read_list(path):
    """Of each entry, whether it is equivalent."""
    listed, reason = {}, None
    with open(path) as file:
        for line in file.read().split("\n"):
            if line.startswith("#"):
                reason = reason or line[1:].strip()
            elif not line:
                reason = None
            elif not reason:
                fail("%s: no reason for %s" % (path, line))
            else:
                listed[line] = not reason.startswith("Not equivalent")
    return listed


def main():
    folder, list_path, results = sys.argv[1:4]
    listed = read_list(list_path)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    texts = {header: open(header).read() for header in HEADERS}
    with open(folder + "/implementation.c", "w") as file:
        file.write(IMPLEMENTATION_FILE)
    every = all_mutants(texts, folder)
    chosen = selected(every)
    print("%d changes of %d" % (len(chosen), len(every)))
    if not chosen:
        fail("nothing to change")
    state = Run(folder, texts, sys.argv[4:], listed)
    hidden = [m for m in chosen if not m.active[False]]
    seen = Build("hidden", folder, texts, [], GCC, OTHER).library(hidden)
    mutants = [m for m in chosen if m in seen or m.active[False]]
    mutants = state.round("plain", GCC, [], mutants)
    state.identical([m for m in surviving(mutants) if m.key not in listed])
    for name, compiler, options in (("other", GCC, OTHER), ("sanitized", CLANG, [SANITIZERS]),
                                    ("memory", CLANG, MEMORY)):
        unlisted = [m for m in surviving(mutants) if m.key not in listed]
        if unlisted:
            state.round(name, compiler, options, unlisted)
    report(results, listed, chosen, mutants, {m.key for m in every})


def report(results, listed, chosen, mutants, keys):
    fates = collections.Counter(m.fate for m in mutants)
    alive = [m.key for m in surviving(mutants)]
    ran = {m.key for m in chosen}
    killed = fates["killed"] + fates["hung"]
    counted = len(mutants) - fates["identical"]
    equivalent = sum(listed.get(key, False) for key in alive)
    print("%d changes do not compile, %d compile to the same code; of %d others" % (
        len(chosen) - len(mutants), fates["identical"], counted))
    print("%d are noticed (%d of them run for ever), %.1f %%;" % (
        killed, fates["hung"], 100 * killed / max(1, counted)))
    print("%d are equivalent; of the rest %.1f %% are noticed" % (
        equivalent, 100 * killed / max(1, counted - equivalent)))
    for name, lines in (
            ("unlisted", [key for key in alive if key not in listed]),
            ("stale", [key for key in listed if key not in keys or
                       (key in ran and key not in alive and listed[key])]),
            ("share", ["%d %d" % (killed, counted - equivalent)])):
        with open(results + "/" + name, "w") as file:
            file.write("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main()
