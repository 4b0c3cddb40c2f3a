#!/bin/sh
# What `make cut` writes: each part, made of lines of retry.h and of nothing else, compiles without a
# warning, passes its unit tests in the place of retry.h, and keeps to its limits of lines and bytes; cuts
# with prefixes of their own link beside retry.h. CC names the compiler of the tests (default: cc).
. "$(dirname "$0")/../support/check.sh"
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef ${WERROR--Werror}"

cut() { awk -v parts="$1" -v prefix="$2" -v out="$3" -f tests/tools/cut.awk retry.h; } # PARTS PREFIX OUT
unit() # FOLDER NAME [PREFIX]: $work/FOLDER/NAME.c, the implementation of the folder's header
{
    printf '#define %sRETRY_IMPLEMENTATION\n#include "%s"\n' "${3:-}" \
        "$(basename "$work/$1/"*.h)" > "$work/$1/$2.c"
}

# Below its head all lines are retry.h's, in their order; blanks and what stops another cut do not count.
lines_are_of_retry_h()
{
    awk 'FNR == NR { if (NF) line[++n] = $0; next }
        /RETRY__CUT_|^#error "Another cut / { next }
        body && NF { while (++at <= n && line[at] != $0) continue; if (at > n) { print FILENAME ": " $0; exit 1 } }
        $0 == "*/" { body = 1 }' retry.h "$1"
}

# Names in comments that are not in the code, but for RETRY_CURVE_x and the like. The head is left out.
names_what_is_there()
{
    awk '
    BEGIN { comment = 0 }
    !body { body = $0 == "*/"; next }
    {
        for (text = $0; text != ""; text = at ? substr(text, at + 2) : "") {
            at = index(text, comment ? "*/" : "/*")
            words[comment] = words[comment] " " (at ? substr(text, 1, at - 1) : text)
            if (at)
                comment = !comment
        }
    }
    END {
        n = split(words[0], name, /[^A-Za-z0-9_]+/)
        for (k = 1; k <= n; k++)
            there[name[k]] = 1
        n = split(words[1], name, /[^A-Za-z0-9_]+/)
        for (k = 1; k <= n; k++) {
            if (name[k] !~ /^(retry|RETRY)_/ || (name[k] in there))
                continue
            found = 0
            for (other in there)
                found += name[k] ~ /_x$/ && index(other, substr(name[k], 1, length(name[k]) - 1)) == 1
            if (!found) {
                print FILENAME ": a comment names " name[k]
                wrong = 1
            }
        }
        exit wrong
    }' "$1"
}

# The macros and the private functions that it defines are used.
has_nothing_dead()
{
    awk '
    { sub(/\/\*.*\*\//, "") }
    /^#define RETRY__/ { sub(/\(.*/, "", $2); defined[$2] = 1 }
    /^(static|RETRY__).*retry__[a-z_0-9]+\(/ && /[,)]$/ {
        name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name); defined[name] = 1
    }
    !/^#undef/ { n = split($0, word, /[^A-Za-z0-9_]+/); for (k = 1; k <= n; k++) seen[word[k]]++ }
    END {
        for (name in defined)
            if (seen[name] < 2) {
                print FILENAME ": nothing uses " name
                wrong = 1
            }
        exit wrong
    }' "$1"
}

compiles() # FOLDER COMPILER LANGUAGE [FLAGS]
{
    # shellcheck disable=SC2086 # one word a flag
    quiet $2 -x $3 $warnings ${4:-} -fsyntax-only "$work/$1/unit.c"
}
there() { command -v "$1" > "$work/log"; }
languages() # STANDARD...: "c -std=X" or "c++ -std=X" of each, for what is installed
{
    for std in "$@"; do
        case $std in *++*) set -- c++ g++ clang++ ;; *) set -- c gcc clang ;; esac
        for compiler in "$2" "$3"; do
            ! there "$compiler" || echo "$compiler|$1 -std=$std"
        done
    done
}

# The test in the place of retry.h: its guards keep the header itself out.
passes() # FOLDER TEST
{
    sed 's/#include ".*/#include "retry.h"/' "$work/$1/unit.c" > "$work/$1/first.h"
    # shellcheck disable=SC2086 # one word a flag
    makes "$work/$1/test" ${CC:-cc} -std=c99 -O1 $warnings -include "$work/$1/first.h" \
        "tests/$2.c" -lm && "$work/$1/test" > "$work/log" || { tail -n 20 "$work/log"; return 1; }
}
text_bytes() # FOLDER
{
    quiet gcc -std=c99 -O2 -c "$work/$1/unit.c" -o "$work/$1/unit.o" || return
    size -A "$work/$1/unit.o" | awk '/^\.text/ { sum += $2 } END { print sum + 0 }'
}
at_most() { [ "$1" -le "$2" ] || { echo "$1, at most $2"; return 1; }; }

# Code has 110 columns under a prefix, comments that begin a line have 100. The line that cut it may be long.
comments_fit()
{
    awk '/make cut PARTS=/ { next }
        length > 110 { print FILENAME ":" FNR ": " length " columns"; wrong = 1 }
        body && /^ *\/\*/ { inside = 1 }
        $0 == "*/" { body = 1 }
        inside && length > 100 { print FILENAME ":" FNR ": a comment of " length " columns"; wrong = 1 }
        /\*\// { inside = 0 }
        END { exit wrong }' "$1"
}

# The example of the head, as the body of a function.
example()
{
    printf '#include "%s"\n#include <stddef.h>\n' "$(basename "$1")"
    echo 'extern uint32_t retries, random, now; extern const char *value; extern size_t length;'
    echo 'extern int64_t unix_seconds; void example(void); void example(void) {'
    sed -n '/ An example:$/,/^$/s/^      //p' "$1"
    echo '{} }' # what an if of it does
}

c="c99 c11 c17 c++11 c++14 c++17 c++20"
parts() # each: name, lines at most, bytes of .text at most, standards, tests
{
    cat << END
delay|470|1500|gnu89 c++98 $c|core/test_backoff core/test_random
retry-after|350|1800|$c|core/test_retry_after
connection|515|2000|$c|core/test_connection
breaker|850|3300|$c|gates/test_breaker
END
}
parts > "$work/parts"
while IFS='|' read -r part most_lines most_bytes standards tests; do
    mkdir "$work/$part" "$work/own-$part"
    check "$part" cut "$part" retry_ "$work/$part/retry.h"
    unit "$part" unit
    check "$part: lines of retry.h" lines_are_of_retry_h "$work/$part/retry.h"
    check "$part: comments" names_what_is_there "$work/$part/retry.h"
    check "$part: nothing dead" has_nothing_dead "$work/$part/retry.h"
    check "$part: lines" at_most "$(wc -l < "$work/$part/retry.h")" "$most_lines"
    # shellcheck disable=SC2086 # one word a standard
    languages $standards > "$work/languages"
    check "$part: a compiler is there" test -s "$work/languages"
    while IFS='|' read -r compiler language; do
        check "$part, $compiler $language" compiles "$part" "$compiler" "$language"
    done < "$work/languages"
    for switch in -DRETRY_STATIC -DRETRY_NO_ATOMICS; do
        check "$part, $switch" compiles "$part" "${CC:-cc}" "c -std=c99" $switch
    done
    for test in $tests; do
        check "$part: $test" passes "$part" "$test"
    done
    case $(gcc -dumpmachine 2> "$work/log") in
    x86_64*) check "$part: bytes" at_most "$(text_bytes "$part")" "$most_bytes" ;;
    esac

    own=$(printf %.4s "$part")
    check "$part, own prefix" cut "$part" "${own}_" "$work/own-$part/own_$own.h"
    example "$work/own-$part/own_$own.h" > "$work/own-$part/example.c"
    # shellcheck disable=SC2086
    check "$part: the example" quiet ${CC:-cc} -std=c99 -Wall -Wno-unused ${WERROR--Werror} -fsyntax-only \
        "$work/own-$part/example.c"
    if there clang-format; then
        check "$part, own prefix: make cut" quiet env -u MAKEFLAGS -u MAKELEVEL make -s cut PARTS="$part" \
            PREFIX="${own}_" OUT="$work/own-$part/own_$own.h"
        check "$part, own prefix: comments" comments_fit "$work/own-$part/own_$own.h"
        check "$part, own prefix: lines" at_most "$(wc -l < "$work/own-$part/own_$own.h")" "$most_lines"
    fi
    unit "own-$part" "$own" "$(echo "${own}_" | tr a-z A-Z)"
    check "$part, own prefix: compiles" quiet ${CC:-cc} -std=c99 $warnings -c "$work/own-$part/$own.c" \
        -o "$work/$own.o"
    names() { ! nm -g --defined-only "$work/$own.o" | grep -v " ${own}_retry_"; }
    check "$part, own prefix: names" names
done < "$work/parts"

# All of them beside retry.h; the generators are not one.
cat > "$work/main.c" << 'END'
#define RETRY_IMPLEMENTATION
#include "retry.h"
#include "own-delay/own_dela.h"
int main(void)
{
    retry_seed(1);
    dela_retry_seed(1);
    return retry_draw() != dela_retry_draw() || retry_draw() != dela_retry_draw();
}
END
# shellcheck disable=SC2086
check "cuts beside retry.h" makes "$work/main" ${CC:-cc} -std=c99 $warnings -I. -I"$work" "$work/main.c" \
    "$work"/*.o
check "cuts beside retry.h run" "$work/main"

# Several parts, and functions by their names.
for parts in "delay retry-after connection breaker" retry_idempotent_http retry_phase \
    "retry_classify_grpc retry_reason_name" retry_budget_withdraw retry_parse_duration retry_run \
    "retry_run retry_system_clock"; do
    rm -rf "$work/some" && mkdir "$work/some"
    check "$parts" cut "$parts" retry_ "$work/some/retry.h"
    unit some unit
    check "$parts: compiles" compiles some "${CC:-cc}" "c -std=c99" \
        "-DRETRY_SYSTEM_CLOCK -D_POSIX_C_SOURCE=200809L"
    check "$parts: lines of retry.h" lines_are_of_retry_h "$work/some/retry.h"
done

# Every public function by itself, as a header that needs no other. gcc tells of functions that nothing
# uses only if it writes code.
mkdir "$work/each"
functions=$(awk '/^#define RETRY_IMPLEMENTED/ { exit }
    match($0, /^RETRY_API .*retry_[a-z_0-9]+\(/) { sub(/\(.*/, ""); sub(/.*[ *]/, ""); print }' retry.h)
check "functions" [ "$(echo "$functions" | grep -c .)" -ge 70 ]
check "functions, each alone" awk -v each=1 -v parts="$(echo "$functions" | tr '\n' ' ')" -v prefix=own_ \
    -v out="$work/each" -f tests/tools/cut.awk retry.h
for function in $functions; do
    printf '#define OWN_RETRY_SYSTEM_CLOCK\n#define OWN_RETRY_IMPLEMENTATION\n#include "%s.h"\n%s\n' "$function" \
        "typedef void (*any)(void); any use(void); any use(void) { return (any)own_$function; }" > "$work/each/$function.c"
done
declares_it() # FUNCTION: what calls it finds it
{
    # shellcheck disable=SC2086
    quiet ${CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L $warnings -S "$work/each/$1.c" -o "$work/each/$1.s"
}
for function in $functions; do
    check "$function alone" declares_it "$function"
done

# Two cuts with one prefix stop the compiler, but not the same one twice.
both() # FIRST SECOND: of the parts with the prefix retry_
{
    printf '#include "%s/retry.h"\n#include "%s/retry.h"\n' "$1" "$2" > "$work/both.c"
    ${CC:-cc} -std=c99 -fsyntax-only "$work/both.c" > "$work/log" 2>&1
}
check "a cut twice" both delay delay
for second in retry-after connection; do
    check "delay, then $second" eval "! both delay $second && grep -q 'Another cut has the prefix retry_' $work/log"
done

# What is wrong is said in a line, and nothing is written.
refuses() # TEXT VARIABLE...: of make
{
    text=$1
    shift
    ! env -u MAKEFLAGS -u MAKELEVEL -u PREFIX make -s cut "$@" > "$work/log" 2>&1 &&
        grep -q "^cut: .*$text" "$work/log" && [ ! -e "$work/refused.h" ]
}
out=OUT=$work/refused.h
check "no part" refuses "PARTS is missing: it takes delay" PREFIX=a_ "$out"
check "unknown part" refuses "has no brake: PARTS takes delay" PARTS="delay brake" PREFIX=a_ "$out"
check "private function" refuses "has no retry__min" PARTS=retry__min PREFIX=a_ "$out"
check "no prefix" refuses "PREFIX is missing" PARTS=delay "$out"
for prefix in a 9_ a-b_ _; do
    check "PREFIX=$prefix" refuses "PREFIX=$prefix does not begin names" PARTS=delay PREFIX=$prefix "$out"
done
check "no file" refuses "OUT must be" PARTS=delay PREFIX=a_
check "retry.h as the file" refuses "OUT must be" PARTS=delay PREFIX=a_ OUT=retry.h
finish
