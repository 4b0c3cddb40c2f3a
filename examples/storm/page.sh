#!/bin/sh
# Writes page.html: page.html.in, where a line @FILE@ stands for that file, @WASM@ for page.c as
# browsers run it, and @FIRST@ for what comes of the three clients that are shown first. The compiler's
# version is named, so that every machine writes the same bytes.
# Usage: page.sh FILE
set -e
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086 # one word a warning
clang-14 --target=wasm32 -std=c99 -O2 ${WARNINGS:-} -ffreestanding -nostdlib -Wl,--no-entry \
    -Wl,--strip-all -o "$work/page.wasm" "$here/page.c"
base64 -w 0 "$work/page.wasm" > "$work/WASM"
clang-14 -std=c99 -O2 -o "$work/page" "$here/page.c"
first() { # SETTING...: a client's counts and bins
    "$work/page" bins "$@" | awk 'NR == 1 { gsub("=", ":"); gsub(" ", ","); counts = $0 }
        NR > 1 { attempts = attempts "," $1; successes = successes "," $2 }
        END { printf "{%s,attempts:[%s],successes:[%s]}", counts, substr(attempts, 2), substr(successes, 2) }' |
        sed 's/bin:[0-9]*,bins:[0-9]*/bin:500,bins:120/'
}
plain="budget=none fixed=1 limit=0 choose=0" # what page.js calls NONE, and PLAIN
# shellcheck disable=SC2086 # one word a setting
printf '%s,%s,%s' "$(first policy=attempts=1 $plain)" \
    "$(first policy="attempts=4 curve=constant initial=100ms jitter=none" $plain)" "$(first)" > "$work/FIRST"
awk -v here="$here/" -v work="$work/" '
    function show(line, name, at, text) {
        if (match(line, "@(WASM|FIRST)@")) {
            name = work substr(line, RSTART + 1, RLENGTH - 2)
            getline text < name
            line = substr(line, 1, RSTART - 1) text substr(line, RSTART + RLENGTH)
        }
        print line
    }
    /^@.*@$/ { file = here substr($0, 2, length($0) - 2)
               while ((getline line < file) > 0) show(line)
               next }
    { show($0) }' "$here/page.html.in" > "$1"
