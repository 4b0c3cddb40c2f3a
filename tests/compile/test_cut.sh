#!/bin/sh
# What `make cut` writes: each part is made of lines of retry.h, keeps to its limit of lines, gives no warning,
# and passes its unit tests in the place of retry.h; cuts with prefixes of their own link beside retry.h.
# CC names the compiler of the tests (default: cc).
. "$(dirname "$0")/../support/check.sh"
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef ${WERROR--Werror}"
unset MAKEFLAGS MAKELEVEL PREFIX

cut() { awk -v parts="$1" -v prefix="$2" -v out="$3" -f tests/tools/cut.awk retry.h; } # PARTS PREFIX OUT
finds_none() { ! "$@"; } # COMMAND...
at_most() { [ "$1" -le "$2" ] || { echo "$1, at most $2"; return 1; }; }
compiles() # FILE FLAG...
{
    file=$1
    shift
    # shellcheck disable=SC2086 # one word a flag
    quiet ${CC:-cc} -std=c99 $warnings "$@" -I"$work" -fsyntax-only "$file"
}

# Below its head a cut has lines of retry.h, blanks, and what stops another cut. Private names have lost an
# underscore, and may have one at the end; a function alone is static.
lines_are_of_retry_h() # FILE
{
    for file in retry.h "$1"; do
        sed -E 's/(retry|RETRY)__/\1_/g; s/((retry|RETRY)_[A-Za-z0-9_]*)_\>/\1/g; s/RETRY_API /static /' "$file" > "$work/$(basename "$file").plain"
    done
    awk 'FNR == NR { there[$0]; next }
        /RETRY_CUT_|^#error "Another cut |^#endif$/ { next }
        body && NF && !($0 in there) { print; wrong = 1 }
        /\*\/$/ { body = 1 }
        END { exit wrong }' "$work/retry.h.plain" "$work/$(basename "$1").plain"
}

# Public names in comments that are not in the code, but for beginnings as RETRY_CURVE_x. The head is left out.
names_what_is_there() # PATTERN FILE...: of names that match
{
    pattern=$1
    shift
    awk -v pattern="$pattern" '
    function judge(    n, k, name, there, stem, other, found) {
        n = split(words[0], name, /[^A-Za-z0-9_]+/)
        for (k = 1; k <= n; k++)
            there[name[k]] = 1
        n = split(words[1], name, /[^A-Za-z0-9_]+/)
        for (k = 1; k <= n; k++) {
            found = name[k] !~ pattern || name[k] in there || !(substr(name[k], match(name[k], pattern)) in public)
            for (stem = name[k]; !found && sub(/[^_]+_?$/, "", stem); )
                found = stem in there # in full, or pasted together
            if (!found && sub(/_x$/, "_", name[k]))
                for (other in there)
                    found = found || index(other, name[k]) == 1
            if (!found) {
                print before ": a comment names " name[k]
                wrong = 1
            }
        }
        words[0] = words[1] = body = comment = ""
    }
    FNR == NR { n = split($0, word, /[^A-Za-z0-9_]+/); for (k = 1; k <= n; k++) public[word[k]]; next }
    FNR == 1 { judge(); before = FILENAME }
    !body { body = /\*\/$/; next }
    {
        for (text = $0; text != ""; text = at ? substr(text, at + 2) : "") {
            at = index(text, comment ? "*/" : "/*")
            words[comment + 0] = words[comment + 0] " " (at ? substr(text, 1, at - 1) : text)
            if (at)
                comment = !comment
        }
    }
    END { judge(); exit wrong }' retry.h "$@"
}

has_no_dead_function() # FILE
{
    awk '{ sub(/\/\*.*\*\//, "") }
        /^(static|RETRY_).*retry_[a-z_0-9]+\(/ && /[,)]$/ {
            name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name); defined[name] = $0 }
        { n = split($0, word, /[^A-Za-z0-9_]+/); for (k = 1; k <= n; k++) seen[word[k]]++ }
        END { for (name in defined) if (seen[name] < 2) { print FILENAME ": nothing uses " name; exit 1 } }' "$1"
}

# The test of a cut that is in the place of retry.h: its guards keep the header itself out.
passes() # PARTS TEST
{
    rm -rf "$work/tested" && mkdir "$work/tested" && cut "$1" retry_ "$work/tested/retry.h" || return
    printf '#define RETRY_IMPLEMENTATION\n#include "retry.h"\n#ifndef RETRY_H\n%s\n#endif\n' \
        "#define RETRY_H
#define RETRY_IMPLEMENTED" > "$work/tested/first.h"
    # shellcheck disable=SC2086 # one word a flag
    makes "$work/tested/test" ${CC:-cc} -std=c99 -O1 -DCHECK_QUICK -DCHECK_ONE_IN=4 $warnings -include "$work/tested/first.h" \
        "tests/$2.c" -lm && "$work/tested/test" > "$work/log" || { tail -n 20 "$work/log"; return 1; }
}

# The examples of its comments, as the body of a function.
example() # FILE PREFIX
{
    printf '#include "%s"\n#include <string.h>\n#include <time.h>\n' "$1"
    echo 'extern uint32_t wait, timeout, retries, random, now, asked; extern const char *value; extern int worked;'
    ! grep -q "^} $2retry_failure;" "$1" || echo "extern $2retry_failure failure;"
    echo 'void example(void); void example(void) {'
    awk '/^\/\*/ { on = 1 } on && /^      / { print substr($0, 1, match($0, /( \*\/)?$/) - 1) } /\*\/$/ { on = 0 }' "$1"
    echo '}'
}

# ---- Every function by itself, meanwhile ---------------------------------------------------------------

# As a header that needs no other, with the macros and constants that its comments name. gcc tells of functions
# that nothing uses only if it writes code.
functions=$(awk '/^#define RETRY_IMPLEMENTED/ { exit }
    match($0, /^RETRY_API .*retry_[a-z_0-9]+\(/) { sub(/\(.*/, ""); sub(/.*[ *]/, ""); print }' retry.h)
each_alone()
{
    awk -v each=1 -v parts="$(echo "$functions" | tr '\n' ' ')" -v prefix=own_ -v out="$work/each" \
        -f tests/tools/cut.awk retry.h || return
    for function in $functions; do
        printf '#define OWN_RETRY_SYSTEM_CLOCK\n#define OWN_RETRY_IMPLEMENTATION\n#include "%s.h"\n%s\n' "$function" \
            "typedef void (*function)(void); function use(void); function use(void) { return (function)own_$function; }" \
            > "$work/each/$function.c"
    done
    # shellcheck disable=SC2086
    (cd "$work/each" && ${CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L $warnings -S ./*.c)
}
mkdir "$work/each"
each_alone > "$work/each.log" 2>&1 &
each=$!

longest=abcdefghijklmno_ # 16 characters
check "delay, a long prefix" quiet make -s cut PARTS=delay PREFIX=$longest OUT="$work/long.h"
check_with clang-format "delay, a long prefix: lines" at_most "$(wc -l < "$work/long.h")" 60
check "a function with an attribute" cut retry_next nats_ "$work/next.h"
check "a function with an attribute: it is there" grep -q ' nats_retry_next(' "$work/next.h"
rm -f "$work/long.h" "$work/next.h"

# ---- Each part: lines at most, its unit tests, and what those call beside it --------------------------

cat > "$work/parts" << 'END'
delay 60 core delay
backoff 420 core backoff
retry-after 380 core retry_after
connection 850 core connection
breaker 970 gates breaker,breaker_clocks,breaker_model,breaker_states,breaker_window retry_classify_errno retry_classify_stage retry_classify_grpc
operation 3300 core operation,left,skip_wait retry-budget client-and-operation strategies
END
mkdir "$work/own"
while read -r part most_lines folder subjects more; do
    mkdir "$work/$part"
    header=$work/$part/retry.h
    check "$part" cut "$part" retry_ "$header"
    check "$part: lines of retry.h" lines_are_of_retry_h "$header"
    check "$part: comments" names_what_is_there '(retry|RETRY)_' "$header"
    check "$part: nothing dead" has_no_dead_function "$header"
    check "$part: lines" at_most "$(wc -l < "$header")" "$most_lines"
    check "$part: no name with two underscores" finds_none grep -n '[A-Za-z0-9]__[A-Za-z0-9#]' "$header"
    for subject in $(echo "$subjects" | tr , ' '); do
        check "$part: test_$subject" passes "$part $more" "$folder/test_$subject"
    done

    own=$(printf %.4s_ "$part")
    OWN=$(echo "$own" | tr a-z A-Z)
    header=$work/own/${own}retry.h
    check "$part, own prefix" quiet make -s cut PARTS="$part" PREFIX="$own" OUT="$header"
    check "$part, own prefix: lines" at_most "$(wc -l < "$header")" "$most_lines"
    check_with clang-format "$part, own prefix: columns" [ "$(wc -L < "$header")" -le 110 ]
    if [ "$part" != operation ]; then # its comments have lists instead
        example "$header" "$own" > "$work/$part/example.c"
        check "$part: its examples" compiles "$work/$part/example.c"
    fi
    if [ "$part" = delay ]; then
        printf '#include "%s"\nuint32_t use(uint32_t n, uint32_t random);\nuint32_t use(uint32_t n, uint32_t random)\n{\n%s\n}\n' \
            "$header" "    return dela_retry_delay(1, 60, n, DELA_RETRY_RATIO(0.8), DELA_RETRY_RATIO(1.2), random);"
    else
        printf '#define %sRETRY_IMPLEMENTATION\n#include "%s"\n' "$OWN" "$header"
    fi > "$work/$part/unit.c"
    for switch in STATIC NO_ATOMICS; do
        [ "$part" = delay ] || check "$part, $switch" compiles "$work/$part/unit.c" "-D${OWN}RETRY_$switch"
    done
    cat "$work/$part/unit.c" >> "$work/all.c"
done < "$work/parts"

# README.md's first program, and the manual's presets, need no more than `operation`.
takes() # PROGRAM
{
    # shellcheck disable=SC2086
    makes "$work/program" ${CC:-cc} -std=c99 $warnings -I"$work" "$1" && "$work/program" > "$work/log"
}
sed 's/"\.\.\/retry\.h"/"operation\/retry.h"/' examples/quickstart.c > "$work/quickstart.c"
cat > "$work/presets.c" << 'END'
#define RETRY_IMPLEMENTATION
#include "operation/retry.h"
int main(void)
{
    static const retry_policy policies[] = {RETRY_POLICY_SMITHY, RETRY_POLICY_AWS, RETRY_POLICY_AWS_2026};
    static const retry_budget_options options[] = {RETRY_BUDGET_SMITHY, RETRY_BUDGET_AWS, RETRY_BUDGET_AWS_2026};
    return policies[0].max_attempts != 5 || options[0].capacity != RETRY_TOKENS(500);
}
END
check "operation: README's first program" takes "$work/quickstart.c"
check "operation: presets, each with its budget" takes "$work/presets.c"

# ---- All of them in one file, in each language and beside retry.h -------------------------------------

cat "$work/delay/unit.c" "$work/backoff/unit.c" > "$work/old.c"
standards() # COMPILER LANGUAGE FILE NAME STANDARD...
{
    compiler=$1 language=$2 file=$3 name=$4
    shift 4
    there "$compiler" || { skip "there is no $compiler" "$name, $*"; return; }
    for std in "$@"; do
        # shellcheck disable=SC2086 # one word a flag
        check "$name, $compiler $std" quiet $compiler -x $language -std=$std $warnings -fsyntax-only "$file"
    done
}
for compiler in gcc clang; do
    standards $compiler c "$work/old.c" "delay, backoff" c89 gnu89
    standards $compiler c "$work/all.c" "all parts" c99 c11 c17
done
for compiler in g++ clang++; do
    standards $compiler c++ "$work/old.c" "delay, backoff" c++98
    standards $compiler c++ "$work/all.c" "all parts" c++11 c++14 c++17 c++20
done

# shellcheck disable=SC2086 # one word a flag
check "all parts: an object" quiet ${CC:-cc} -std=c99 $warnings -c "$work/all.c" -o "$work/all.o"
names() { nm -g --defined-only "$work/all.o" | grep -v -E ' (use|(back|retr|conn|brea|oper)_retry_[a-z_]*)$'; }
check "all parts: names" finds_none names
cat "$work/all.c" - > "$work/main.c" << 'END'
#define RETRY_IMPLEMENTATION
#include "retry.h"
int main(void)
{
    retry_seed(1);
    conn_retry_seed(1); /* the generators are not one */
    return retry_draw() != conn_retry_draw() || retry_draw() != conn_retry_draw();
}
END
# shellcheck disable=SC2086
check "all parts beside retry.h" makes "$work/main" ${CC:-cc} -std=c99 $warnings -I. "$work/main.c"
check "all parts beside retry.h run" "$work/main"

# More warnings than the project itself wants: a library that takes a part may want them.
everything="-Weverything -Wno-padded -Wno-unsafe-buffer-usage -Wno-unknown-warning-option -Werror"
for clang in clang-19 clang; do
    # shellcheck disable=SC2086
    check_with $clang "all parts, $clang -Weverything" quiet $clang -std=c99 $everything -fsyntax-only "$work/all.c"
    # shellcheck disable=SC2086
    check_with $clang "delay, $clang -Weverything, C++" quiet $clang -x c++ $everything -fsyntax-only "$work/delay/unit.c"
done
check_with clang-tidy "all parts, clang-tidy" quiet clang-tidy --quiet --warnings-as-errors='*' "$work/all.c" -- -std=c99

# ---- Several parts, and functions ---------------------------------------------------------------------

several() # PARTS
{
    rm -rf "$work/some" && mkdir "$work/some"
    cut "$1" retry_ "$work/some/retry.h" || return
    printf '#define RETRY_IMPLEMENTATION\n#include "some/retry.h"\n' > "$work/some.c"
    compiles "$work/some.c" -DRETRY_SYSTEM_CLOCK -D_POSIX_C_SOURCE=200809L &&
        lines_are_of_retry_h "$work/some/retry.h"
}
for parts in "delay retry-after connection breaker" "delay RETRY_BUDGET_AWS" "retry_classify_grpc retry_reason_name" "retry_run retry_system_clock"; do
    check "$parts" several "$parts"
done

check "functions: enough" [ "$(echo "$functions" | grep -c .)" -ge 70 ]
each_compiled() { wait $each || { tail -n 20 "$work/each.log"; false; }; }
check "functions, each alone" each_compiled
check "functions: comments" names_what_is_there 'RETRY_' "$work"/each/*.h

# Two cuts with one prefix stop the compiler, but not the same one twice.
both() # FIRST SECOND: of the parts with the prefix retry_
{
    printf '#include "%s/retry.h"\n#include "%s/retry.h"\n' "$1" "$2" > "$work/both.c"
    ${CC:-cc} -std=c99 -fsyntax-only "$work/both.c" > "$work/log" 2>&1
}
check "a cut twice" both backoff backoff
check "backoff, then connection" finds_none both backoff connection
check "... says why" grep -q 'Another cut has the prefix retry_' "$work/log"

# ---- Programs that take a cut, in ten lines of their own at most ----------------------------------------

adopts() # NAME PART PREFIX LANGUAGE STANDARD
{
    make -s cut PARTS="$2" PREFIX="$3" OUT="$work/$3retry.h" > "$work/log" || return
    lines=$(awk '/own: [*]/ { on = 1; next } /[*] end [*]/ { on = 0 } on' "tests/compile/adopt_$1.c" | wc -l)
    [ "$lines" -gt 0 ] && at_most "$lines" 10 || return
    # shellcheck disable=SC2086
    makes "$work/adopt" ${CC:-cc} -x $4 -std=$5 $warnings -I"$work" "tests/compile/adopt_$1.c" && "$work/adopt"
}
adopted_in() # LANGUAGE STANDARD
{
    check "an updater, $1" adopts updater delay upd_ "$@"
    check "an exporter, $1" adopts exporter backoff exp_ "$@"
    check "a device, $1" adopts device connection dev_ "$@"
}
adopted_in c c99
if ${CC:-cc} -x c++ -fsyntax-only /dev/null 2> "$work/log"; then
    adopted_in c++ c++11
else
    skip "${CC:-cc} compiles no C++" "an updater, an exporter and a device in C++"
fi

# ---- What is given ------------------------------------------------------------------------------------

# However long the names are, the head holds them, and not the folder.
prefix=some_library_of_ours_
header=$work/own/${prefix}for_connections_that_break_in_the_middle_of_the_night_and_come_back_later.h
check "long names" quiet make -s cut PARTS="delay retry-after connection" PREFIX=$prefix OUT="$header"
printf '#define SOME_LIBRARY_OF_OURS_RETRY_IMPLEMENTATION\n#include "%s"\n' "$header" > "$work/long.c"
check "long names: compiles" compiles "$work/long.c"
head -n 30 "$header" > "$work/head"
check "long names: no folder" finds_none grep -q "$work" "$work/head"
check_with clang-format "long names: columns" [ "$(wc -L < "$work/head")" -le 110 ]
check "long names: the licence" grep -q -x '/[*] SPDX-License-Identifier: MIT' "$work/head"

mkdir "$work/bin"
for program in awk cat dirname env find getconf grep ls make mkdir sed sh; do
    there $program && ln -s "$(command -v $program)" "$work/bin/$program"
done
check "without clang-format" quiet env PATH="$work/bin" make -s cut PARTS=backoff PREFIX=bare_ OUT="$work/bare.h"
check "without clang-format: says so" grep -q "clang-format" "$work/log"
printf '#define BARE_RETRY_IMPLEMENTATION\n#include "bare.h"\n' > "$work/bare.c"
check "without clang-format: compiles" compiles "$work/bare.c"

# What is wrong is said in a line, and nothing is written.
refuses() # TEXT VARIABLE...: of make
{
    text=$1
    shift
    ! make -s cut "$@" > "$work/log" 2>&1 && grep -q "^cut: .*$text" "$work/log" && [ ! -e "$work/refused.h" ]
}
out=OUT=$work/refused.h
check "no part" refuses 'has no part "": PARTS takes .*delay backoff' PREFIX=a_ "$out"
check "unknown part" refuses 'has no part "brake": PARTS takes' PARTS="delay brake" PREFIX=a_ "$out"
private=$(sed -n 's/^static .*\(retry__[a-z]*\)(.*/\1/p' retry.h | head -n 1)
check "private function" refuses "has no part \"$private\"" PARTS="$private" PREFIX=a_ "$out"
check "private macro" refuses 'has no part "RETRY__BUDGET"' PARTS=RETRY__BUDGET PREFIX=a_ "$out"
check "no prefix" refuses "PREFIX is missing" PARTS=delay "$out"
for prefix in a 9_ a-b_; do
    check "PREFIX=$prefix" refuses "PREFIX=$prefix does not begin names" PARTS=delay PREFIX=$prefix "$out"
done
for prefix in _ _az_ __ az__ a__z_; do
    check "PREFIX=$prefix" refuses "PREFIX=$prefix makes reserved names" PARTS=delay PREFIX=$prefix "$out"
done
printf 'AZ_INLINE int32_t az_retry_calc_delay(int32_t attempt,\n    int32_t delay);\n' > "$work/policy.h"
check "a prefix that others have, too" cut delay az_ "$work/other.h" && rm -f "$work/other.h"
printf 'AZ_INLINE int32_t az_retry_delay(int32_t attempt,\n    int32_t delay);\n' >> "$work/policy.h"
check "a prefix that is taken" refuses "PREFIX=az_ is taken: policy.h" PARTS=delay PREFIX=az_ "$out"
printf 'int main(void)\n{\n    return (int)bz_retry_delay(1, 2, 3, 4, 5, 6);\n}\n' > "$work/user.c"
check "a prefix that is used" cut delay bz_ "$work/used.h"
check "a cut that is renewed" cut delay bz_ "$work/used.h"
check "no file" refuses "OUT must be" PARTS=delay PREFIX=a_
check "retry.h as the file" refuses "OUT must be" PARTS=delay PREFIX=a_ OUT=retry.h
finish
