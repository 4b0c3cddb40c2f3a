#!/bin/sh
# What programs that read programs say of both headers, and the layout of all C files. Usage: lint.sh,
# from the top folder. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

cat > "$work/all.c" << 'END'
#define RETRY_IMPLEMENTATION
#define RETRY_SYSTEM_CLOCK
#include "errmap.h"
END
posix=-D_POSIX_C_SOURCE=200809L
silent() { # COMMAND...: succeeds and says nothing
    "$@" > "$work/log" 2>&1 && [ ! -s "$work/log" ] || { cat "$work/log"; false; }
}

# All that clang-tidy has in these groups, but for:
checks="-*,bugprone-*,cert-*,clang-analyzer-*,misc-*,performance-*,portability-*,readability-*"
checks="$checks,-readability-braces-around-statements" # a single statement stands below its if
checks="$checks,-readability-magic-numbers"            # a comment gives their source
checks="$checks,-readability-identifier-length"        # a, b, x and i where there is no more to say
checks="$checks,-readability-isolate-declaration"      # low, high of one span
checks="$checks,-readability-uppercase-literal-suffix" # 1u
checks="$checks,-readability-non-const-parameter"      # it does not see that a builtin swaps
checks="$checks,-readability-function-cognitive-complexity" # it counts a table's conditional values
checks="$checks,-bugprone-easily-swappable-parameters" # most are ms
checks="$checks,-bugprone-implicit-widening-of-multiplication-result" # a half of a count, or nothing
tidy() { # FLAG...: its messages; how many it does not show goes elsewhere
    clang-tidy --quiet --warnings-as-errors='*' --header-filter='(retry|errmap)[.]h' \
        -checks="$checks" "$work/all.c" -- $posix -I. "$@" 2> "$work/counts"
}
for flags in -std=c99 "-std=c99 -DRETRY_STATIC -DRETRY_NO_ATOMICS"; do
    check "clang-tidy $flags" silent tidy $flags
done

check "gcc -fanalyzer" silent gcc -std=c99 -O2 -fanalyzer -Werror $posix -I. -c "$work/all.c" -o "$work/all.o" # -O0: 3 min

# clang's analyzer starts from functions of headers only when it is told to. What it says, and why there is no
# fault: that alone, and each once.
cat > "$work/false" << 'END'
variable 'buffer') results in a null pointer	without a buffer its capacity is 0
1st function call argument is an uninitialized value	each format of a date sets every field
left operand of '+' is a garbage value	likewise
overflows the destination buffer	a character is copied only if it fits with all before it
END
more=
for checker in core.BoolAssignment core.CastSize core.CastToStruct core.IdenticalExpr core.PointerSub \
    core.SizeofPtr core.TestAfterDivZero deadcode.UnreachableCode security.ArrayBoundV2 \
    security.ReturnPtrRange unix.cstring.BufferOverlap unix.cstring.OutOfBounds; do
    more="$more -enable-checker alpha.$checker"
done
analyze() {
    scan-build -analyze-headers -o "$work" --use-cc=gcc $more -enable-checker optin.performance.Padding \
        -enable-checker optin.portability.UnixAPI sh -c \
        "\$CC -std=c99 $posix -I. -c $work/all.c -o $work/all.o" > "$work/log" 2>&1
    grep ' warning: ' "$work/log" > "$work/found"
    grep -q 'Analysis run complete' "$work/log"
}
sound() { [ "$(wc -l < "$work/found")" -eq "$(wc -l < "$work/false")" ] || { cat "$work/found"; false; }; }
check "scan-build" analyze
check "scan-build: no fault" sound
while IFS='	' read -r pattern reason; do
    check "scan-build: still says $pattern ($reason)" grep -q -F -e "$pattern" "$work/found"
done < "$work/false"

# cppcheck reads the preprocessed text, but for:
except="--suppress=unusedStructMember --suppress=shadowFunction" # of the system's headers, too
except="$except --suppress=variableScope"     # C89's place for declarations, as in the whole file
except="$except --suppress=redundantContinue" # the body of a loop whose condition does the work
except="$except --suppress=badBitmaskCheck --suppress=knownConditionTrueFalse" # tables from macros
except="$except --suppress=duplicateExpression" # likewise: reasons compared with themselves
for flags in "" -DRETRY_STATIC -DRETRY_NO_ATOMICS; do
    check "the text for cppcheck $flags" makes "$work/text.c" gcc -std=c99 $posix -E -P -I. $flags "$work/all.c"
    check "cppcheck $flags" silent cppcheck --enable=warning,style,performance,portability \
        --inconclusive --std=c99 --quiet --error-exitcode=1 $except "$work/text.c"
done

check "MISRA (misra.sh)" quiet sh tests/verify/misra.sh
check "shell scripts" quiet shellcheck -S error .ci/run tests/*/*.sh

for file in retry.h errmap.h tests/*/*.[ch] examples/*.[ch] examples/*.cpp \
    examples/*/*.[ch]; do
    [ ! -f "$file" ] || check "layout of $file" silent clang-format --dry-run -Werror "$file"
done
finish
