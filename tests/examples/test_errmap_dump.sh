#!/bin/sh
# errmap_dump from end to end: test_errmap_dump.sh [PATH_OF_ERRMAP_DUMP], from the top folder. What it
# prints as C is compiled with CC and read back.
set -u

dump=${1:-${BUILD:-build}/errmap_dump}
cc=${CC:-cc}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# run STATUS ARGUMENT...: input from $work/in, output in $work/out and $work/errors
run() {
    wanted=$1
    shift
    "$dump" "$@" <"$work/in" >"$work/out" 2>"$work/errors"
    [ $? -eq "$wanted" ]
}

# check NAME COMMAND...
check() {
    name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $name"
        head -n 5 "$work/out" "$work/errors"
    fi
}

shows() { grep -q -e "$1" "$work/out"; }
says() { grep -q -F -x -e "$1" "$work/errors"; }

: >"$work/in"
check "the table" run 0 tests/data/errmap_v2.json
check "the head" shows '^version 2, revision 9, 83 codes$'
check "a code of the map" shows '^000c  EWOULD_THROTTLE  *retry, slow down  .*rate-limit$'
check "a code of the client" shows '^0086  ETMPFAIL  *retry \*  *temp retry-now$'
check "a success" shows '^0000  SUCCESS  *succeed \*  *success$'
check "80 columns" test "$(awk 'length > 80' "$work/out" | wc -l)" -eq 0
check "specifications" run 0 tests/data/errmap_retry.json
check "the delays" shows '^ *waits 10 10 20 30 40 50 60 70 \.\.\. ms, 1500 ms in all$'
cp tests/data/errmap_v1.json "$work/in"
check "standard input" run 0
check "its table" shows '^version 1, revision 4, 38 codes$'

printf '{\n  "version": 1,\n  "rev\303\244\303\266": x' >"$work/in"
check "a bad byte" run 1
check "its place" says "standard input:3:12: the text is not JSON in UTF-8"
printf '{"version":1,\n"revision":2}' >"$work/in"
check "a missing key" run 1
check "the brace" says "standard input:2:13: the text is no error map"
: >"$work/in"
check "nothing" run 1
check "the end" says "standard input:1:1: the text is not JSON in UTF-8"
check "no such file" run 2 "$work/none"
check "its name" says "$work/none: cannot be opened"
check "a wrong option" run 2 --what
check "too many arguments" run 2 a b

cat >"$work/user.c" <<'END'
#define RETRY_IMPLEMENTATION
#include "errmap.h"
#include <stdio.h>
extern const errmap error_map;
int main(void)
{
    char text[200];
    errmap_copy_text(&error_map, errmap_find(&error_map, 0x86)->desc, text, sizeof text);
    printf("%s\n", text);
    errmap_copy_text(&error_map, errmap_find(&error_map, 0x01)->name, text, sizeof text);
    printf("%s, %u codes\n", text, (unsigned)error_map.count);
    return 0;
}
END
check "as C" run 0 --c tests/data/errmap_v2.json
cp "$work/out" "$work/map.c"
check "compiles" $cc -std=c99 -Wall -Wextra -Wpedantic ${WERROR--Werror} -I. "$work/user.c" "$work/map.c" \
    -o "$work/user"
"$work/user" >"$work/out"
check "the text" shows '^The node cannot do this at the moment, but expects to soon$'
check "the name" shows '^KEY_ENOENT, 83 codes$'
printf '{"version":1,"revision":1,"errors":{}}' >"$work/in"
check "an empty map as C" run 0 --c
cp "$work/out" "$work/map.c"
check "compiles too" $cc -std=c99 -Wall -Wextra -Wpedantic ${WERROR--Werror} -I. -c "$work/map.c" -o "$work/map.o"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
