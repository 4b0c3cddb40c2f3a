#!/bin/sh
# Writes page.html: page.html.in, where a line @FILE@ stands for that file, and @WASM@ for page.c as
# browsers run it. The compiler's version is named, so that every machine writes the same bytes.
# Usage: page.sh FILE
set -e
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086 # one word a warning
clang-14 --target=wasm32 -std=c99 -O2 ${WARNINGS:-} -ffreestanding -nostdlib -Wl,--no-entry \
    -Wl,--strip-all -o "$work/page.wasm" "$here/page.c"
base64 -w 0 "$work/page.wasm" > "$work/base64"
awk -v here="$here/" -v wasm="$work/base64" '
    function show(line, at, text) {
        if ((at = index(line, "@WASM@")) && (getline text < wasm) > 0)
            line = substr(line, 1, at - 1) text substr(line, at + 6)
        print line
    }
    /^@.*@$/ { file = here substr($0, 2, length($0) - 2)
               while ((getline line < file) > 0) show(line)
               next }
    { show($0) }' "$here/page.html.in" > "$1"
