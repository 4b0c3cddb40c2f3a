#!/bin/sh
# How errmap.h behaves as a file among others: beside a user's own jsmn.h, included in any order, with
# bad settings, and in what it leaves behind. Run from the top folder: tests/compile/test_beside_jsmn.sh DIR
# Compilers from CC and CXX, their options from CFLAGS and CXXFLAGS.
set -u

out=${1:-build/units}
cc=${CC:-cc}
cxx=${CXX:-c++}
cflags="-std=c99 ${CFLAGS:--O0}"
cxxflags="-std=c++11 ${CXXFLAGS:--O0}"
passed=0
failed=0
rm -rf "$out" # nothing old is linked or looked into
mkdir -p "$out" || exit 2

fail() {
    failed=$((failed + 1))
    echo "FAILED: $1"
}

pass() {
    passed=$((passed + 1))
}

# compile LANGUAGE OUTPUT SOURCE OPTION...: c or c++
compile() {
    language=$1 output=$2 source=$3
    shift 3
    if [ "$language" = c ]; then
        $cc -x c $cflags "$@" -I. -c "$source" -o "$output"
    else
        $cxx -x c++ $cxxflags "$@" -I. -c "$source" -o "$output"
    fi
}

# unit LANGUAGE NAME OPTION...: the object of that name, which several programs have, is there
unit() {
    language=$1 object=$2
    shift 2
    [ -e "$object" ] || compile "$language" "$object" tests/compile/beside_jsmn.c "$@"
}

# Two units with a jsmn.h of their own, one before errmap.h and one after it, in one program.
# beside LANGUAGE LANGUAGE MACROS-OF-FIRST MACROS-OF-SECOND
beside() {
    what="a jsmn.h before ($1:$3) and after ($2:$4)"
    first= second=
    for macro in $3; do first="$first -DJSMN_$macro -DWITH_$macro"; done
    for macro in $4; do second="$second -DJSMN_$macro -DWITH_$macro"; done
    one=$out/$(echo "first $1 $3" | tr ' ' -).o
    other=$out/$(echo "second $2 $4" | tr ' ' -).o
    if unit "$1" "$one" -DBEFORE -DWITH_MAIN -DUNIT=unit $first &&
        unit "$2" "$other" -DAFTER -DUNIT=other_unit $second &&
        $cxx $cxxflags "$one" "$other" -o "$out/beside" && "$out/beside"; then
        pass
    else
        fail "$what"
    fi
}

for languages in "c c" "c++ c++" "c c++"; do
    for layout in "" "STRICT" "PARENT_LINKS" "STRICT PARENT_LINKS"; do
        beside $languages "STATIC $layout" "STATIC"
        beside $languages "STATIC" "STATIC $layout"
        beside $languages "STATIC HEADER $layout" "STATIC HEADER $layout"
        beside $languages "$layout" "HEADER $layout"
        beside $languages "HEADER $layout" "$layout"
    done
done

# compiles NAME: the C on standard input, as C and as C++
compiles() {
    cat >"$out/source.c"
    if compile c "$out/source.o" "$out/source.c" && compile c++ "$out/source.o" "$out/source.c"; then
        pass
    else
        fail "$1"
    fi
}

compiles "declarations, then the implementation" <<'END'
#include "errmap.h"
#include "errmap.h"
#define RETRY_IMPLEMENTATION
#include "errmap.h"
#include "retry.h"
#include "errmap.h"
END
compiles "retry.h alone first" <<'END'
#include "retry.h"
#define RETRY_IMPLEMENTATION
#include "errmap.h"
#include "errmap.h"
END
compiles "the implementation of retry.h first" <<'END'
#define RETRY_IMPLEMENTATION
#include "retry.h"
#include "errmap.h"
END
compiles "the implementation of errmap.h alone" <<'END'
#define ERRMAP_IMPLEMENTATION
#include "errmap.h"
#include "errmap.h"
END
compiles "the implementation of errmap.h, then of retry.h" <<'END'
#define ERRMAP_IMPLEMENTATION
#include "errmap.h"
#define RETRY_IMPLEMENTATION
#include "errmap.h"
END
compiles "static, with everything set" <<'END'
#define RETRY_STATIC 1
#define RETRY_IMPLEMENTATION
#define ERRMAP_IMPLEMENTATION
#define ERRMAP_TOKENS 8
#define ERRMAP_MAX_DEPTH 255
#define ERRMAP_JSMN_HEADER <jsmn.h>
#include "errmap.h"
END

# A jsmn.h that is not the system's meets every warning that the user has set.
jsmn=$(printf '#include <jsmn.h>\n' | $cc -x c -E - | sed -n 's/.*"\(.*jsmn\.h\)".*/\1/p' | head -n 1)
cp "$jsmn" "$out/own_jsmn.h"
printf '#define ERRMAP_IMPLEMENTATION\n#include "errmap.h"\n' >"$out/source.c"
if compile c "$out/source.o" "$out/source.c" ${WERROR--Werror} -Wall -Wextra -Wconversion \
    -Wsign-conversion -Wshadow -Wundef -I"$out" '-DERRMAP_JSMN_HEADER="own_jsmn.h"'; then
    pass
else
    fail "a jsmn.h that is not the system's"
fi

# The types alone, of what is static in another file.
printf '#define RETRY_STATIC\n#include "errmap.h"\n' >"$out/source.c"
for language in c c++; do
    if compile $language "$out/source.o" "$out/source.c" ${WERROR--Werror} -Wall -Wextra -Wredundant-decls; then
        pass
    else
        fail "types alone, $language"
    fi
done

# refuses NAME OPTION: an #error with a sentence
refuses() {
    printf '#define RETRY_IMPLEMENTATION\n#include "errmap.h"\n' >"$out/source.c"
    if compile c "$out/source.o" "$out/source.c" "$2" 2>"$out/messages"; then
        fail "$1 was accepted"
    elif grep -q 'error.*ERRMAP_[A-Z_]* must be a number' "$out/messages"; then
        pass
    else
        fail "$1 gave no sentence"
    fi
}

refuses "a window of 7 tokens" -DERRMAP_TOKENS=7
refuses "a window of 4097 tokens" -DERRMAP_TOKENS=4097
refuses "a window of nothing" -DERRMAP_TOKENS=
refuses "a depth of 3" -DERRMAP_MAX_DEPTH=3
refuses "a depth of 256" -DERRMAP_MAX_DEPTH=256

# says NAME SENTENCE: the C on standard input is refused with it
says() {
    cat >"$out/source.c"
    if compile c "$out/source.o" "$out/source.c" 2>"$out/messages"; then
        fail "$1 was accepted"
    elif grep -q "error.*$2" "$out/messages"; then
        pass
    else
        fail "$1 gave no sentence"
    fi
}

says "an implementation of 0" "ERRMAP_IMPLEMENTATION is a switch" <<'END'
#define ERRMAP_IMPLEMENTATION 0
#include "errmap.h"
END
says "a late RETRY_STATIC" "before the first inclusion" <<'END'
#include "errmap.h"
#define RETRY_STATIC
#define ERRMAP_IMPLEMENTATION
#include "errmap.h"
END
says "errmap.h's implementation alone, though static" "RETRY_IMPLEMENTATION before the first" <<'END'
#define RETRY_STATIC
#define ERRMAP_IMPLEMENTATION
#include "errmap.h"
END
says "another header for jsmn.h" "jsmn 1.1.0" <<'END'
#define ERRMAP_IMPLEMENTATION
#define ERRMAP_JSMN_HEADER <stddef.h>
#include "errmap.h"
END

# Declared first, implemented by a second inclusion of errmap.h alone.
cat >"$out/late.c" <<'END'
#include "errmap.h"
#define RETRY_IMPLEMENTATION
#include "errmap.h"
int main(void)
{
    return errmap_classify_kv(NULL, 0x86, 0).failure.reason != RETRY_REASON_KV_TEMPORARY_FAILURE;
}
END
if compile c "$out/late.o" "$out/late.c" && $cc $cflags "$out/late.o" -o "$out/late" &&
    "$out/late"; then
    pass
else
    fail "the implementation of both by a second inclusion"
fi

# Each implementation in a file of its own, used from a third.
printf '#define RETRY_IMPLEMENTATION\n#include "retry.h"\n' >"$out/retry.c"
printf '#define ERRMAP_IMPLEMENTATION\n#include "errmap.h"\n' >"$out/errmap.c"
cat >"$out/user.c" <<'END'
#include "errmap.h"
static errmap_strategy strategy = ERRMAP_STRATEGY(NULL, NULL);
int main(void)
{
    errmap_advice advice = errmap_classify_kv(NULL, 0x86, 0);
    retry_client client = {0};
    retry_operation op = {0};
    op.client = &client;
    op.strategy = &strategy.base;
    retry_start(&op, NULL, 0);
    if (retry_next(&op, 0).what != RETRY_DO_SEND)
        return 2;
    retry_ended(&op, 0, &advice.failure, 0);
    return op.verdict == RETRY_VERDICT_RETRY ? 0 : 1;
}
END
if compile c "$out/retry.o" "$out/retry.c" && compile c "$out/errmap.o" "$out/errmap.c" &&
    compile c "$out/user.o" "$out/user.c" &&
    $cc $cflags "$out/user.o" "$out/retry.o" "$out/errmap.o" -o "$out/user" && "$out/user"; then
    pass
else
    fail "three files"
fi

# What the implementation needs, and what it leaves behind.
compile c "$out/errmap.o" "$out/errmap.c" -O2 && pass || fail "the implementation of errmap.h alone"
needed=$(nm -u "$out/errmap.o" | awk '{print $2}' |
    grep -v -e '^retry_' -e '^memcpy$' -e '^memset$' -e '^_GLOBAL_OFFSET_TABLE_$' \
        -e '^__asan' -e '^__ubsan')
[ -z "$needed" ] && pass || fail "needed besides retry.h, memcpy and memset: $needed"
seen=$(nm -g --defined-only "$out/errmap.o" | awk '{print $3}' | grep -v '^errmap_[a-z]')
[ -z "$seen" ] && pass || fail "seen by the linker: $seen"
data=$(nm -f sysv "$out/errmap.o" | # a constant with an address in it is not written after it is loaded
    awk -F '|' '$3 ~ /[BbCDd]/ && $7 !~ /rel\.ro/ {print $1}' | grep -v -e asan -e ubsan)
[ -z "$data" ] && pass || fail "data that can change: $data"
static=$({ compile c "$out/static.o" "$out/errmap.c" -DRETRY_STATIC -DRETRY_IMPLEMENTATION &&
    nm -g --defined-only "$out/static.o"; } || echo "it does not compile")
[ -z "$static" ] && pass || fail "seen by the linker though static: $static"
$cc -x c -std=c99 -I. -dM -E "$out/errmap.c" >"$out/macros" && grep -q 'define ERRMAP_H' "$out/macros" &&
    pass || fail "the macros of errmap.h"
left=$(grep -e 'define ERRMAP__' -e 'define JSMN' -e 'define jsmn' "$out/macros")
[ -z "$left" ] && pass || fail "macros left behind: $left"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
