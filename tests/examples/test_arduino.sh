#!/bin/sh
# The zip that the Arduino IDE installs: what is in it, what its sketch does on a simulated Uno, and that
# a sketch with a fault is noticed. Usage: test_arduino.sh ZIP
# Nothing here looks at the clock. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

here=$(dirname "$0")
zip=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
property() { sed -n "s/^$1=//p" "$work/sound/retry/library.properties"; }
number() { sed -n "s/^#define RETRY_VERSION_$1 //p" "$here/../../retry.h"; }
sketch=examples/Reconnect/Reconnect.ino

# run NAME ZIP: output in NAME.out, exit status in NAME.status
run() {
    sh "$here/arduino.sh" "$2" "$work/$1.run" > "$work/$1.out" 2>&1
    echo $? > "$work/$1.status"
}
# changed NAME FILE EXPRESSION: the library with one file changed by sed, run as NAME
changed() {
    mkdir "$work/$1" && cp -r "$work/sound/retry" "$work/$1"
    sed -i "$3" "$work/$1/retry/$2"
    check "$1: is changed" differs "$work/sound/retry/$2" "$work/$1/retry/$2"
    (cd "$work/$1" && zip -q -r "$work/$1.zip" retry)
    run "$1" "$work/$1.zip"
}
broken() { shows "$1.out" "^BROKEN  $2"; }

mkdir "$work/sound"
check "it is a zip" unzip -q "$zip" -d "$work/sound"
check "one folder in it" test "$(ls "$work/sound")" = retry
check "these files and no other" test "$(cd "$work/sound/retry" && find . -type f | sort | tr '\n' ' ')" = \
    "./$sketch ./library.json ./library.properties ./src/retry.c ./src/retry.h "
check "the header is the header" cmp "$here/../../retry.h" "$work/sound/retry/src/retry.h"
check "its version" test "$(property version)" = "$(number MAJOR).$(number MINOR).$(number PATCH)"
for name in name author maintainer sentence paragraph category url architectures includes; do
    check "it has its $name" test -n "$(property $name)"
done

run sound "$zip"
check "exit status" ended sound 0
check "none broken" lacks sound.out BROKEN
check "some verdicts" test "$(grep -c '^kept' "$work/sound.out")" -eq 6
check "80 columns" lacks sound.out '.\{81\}'
check "it fits an Uno, with room" test "$(sed -n 's/^flash \([0-9]*\) .*/\1/p' "$work/sound.out")" -lt 8192

changed forgets $sketch '/retry_connection_established/d'
changed wraps $sketch 's/now - since >= lasts/now >= since + lasts/'
check "forgets success: exit status" ended forgets 1
check "forgets success: back late" broken forgets "Attempts begin"
check "compares instants: exit status" ended wraps 1
check "compares instants: waits end early" broken wraps "Each wait"
changed other $sketch 's/device = 1;/device = 2;/; $a static int unused;'
check "another device: starts at another time" test \
    "$(grep start: "$work/sound.out")" != "$(grep start: "$work/other.out")"
check "a warning: exit status" ended other 1
check "a warning: noticed" broken other "The library and its example give no warning"
changed hollow src/retry.c '/define RETRY_IMPLEMENTATION/d'
check "without the code nothing is built" ended hollow 1
check "without the code: it says so" shows hollow.out "undefined reference"

finish
