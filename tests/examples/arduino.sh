#!/bin/sh
# Installs the library's zip as the Arduino IDE does, builds its example for an Uno, runs that in
# simavr, and judges what comes out of the serial port. Usage: arduino.sh ZIP FOLDER; the files are
# kept in the folder. Times are the simulated board's. Exits with 0 if all verdicts hold.
set -u
. "$(dirname "$0")/verdict.sh"
zip=$1
mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 2
hardware=/usr/share/arduino/hardware

rm -rf "$out/libraries" "$out/build"
mkdir -p "$out/libraries" "$out/build" "$out/tools" || exit 2
unzip -q "$zip" -d "$out/libraries" || exit 2

# Debian's avr-gcc 5.4 does not define DECIMAL_DIG in C++, which the core's WString.cpp needs.
arduino-builder -compile -logger=human -warnings all -fqbn arduino:avr:uno \
    -hardware $hardware -hardware /usr/share/arduino-builder -tools "$out/tools" \
    -libraries "$out/libraries" -build-path "$out/build" -prefs=runtime.tools.avr-gcc.path=/usr \
    -prefs=compiler.cpp.extra_flags=-DDECIMAL_DIG=__DECIMAL_DIG__ \
    "$out/libraries/retry/examples/Reconnect/Reconnect.ino" > "$out/build.log" 2>&1 ||
    { cat "$out/build.log" && exit 1; }
verdict "The library and its example give no warning." \
    test -z "$(grep -e "$out/libraries" -e Reconnect "$out/build.log")"
sed -n -e 's/^Sketch uses \([0-9]*\) bytes.*Maximum is \([0-9]*\) .*/flash \1 bytes of \2/p' \
    -e 's/^Global variables use \([0-9]*\) bytes.*Maximum is \([0-9]*\) .*/RAM \1 bytes of \2/p' \
    "$out/build.log"

program=$out/build/Reconnect.ino.elf
address() { avr-nm "$program" | awk -v name="$1" '$3 == name { print $1 }'; }
${CC:-cc} -std=c99 -O2 "$(dirname "$0")/arduino_board.c" -o "$out/board" -lsimavr || exit 2
# millis() wraps after 4 s.
"$out/board" "$program" "$(address main)" "$(address timer0_millis)" 4294963296 \
    "n n n n y20000 n - n" > "$out/serial" || exit 1
cat "$out/serial"

# Each line of the serial port has its time, and words: "start: wait 5", "connect?", "connected".
judge() { awk "$1"'
    END { exit (bad || !seen) }' "$out/serial"; }
due='due != "" { late = $1 - due; due = ""; seen++; if (late < -5 || late > 5) bad = 1 }
    $(NF - 1) == "wait" { due = $1 + $NF }'
spaced='$2 == "start:" || $2 == "lost:" { spacing = 1000; last = "" }
    $2 == "connect?" && last != "" { took = $1 - last
        if (!late) { seen++; if (took < 0.79 * spacing || took > 1.21 * spacing) bad = 1 }
        spacing *= 1.6 }
    $2 == "connect?" { last = $1; late = 0 }
    $2 == "no" { late = 1 } # that attempt took longer than the spacing'
verdict "Each wait lasts as long as the library says." judge "$due"
verdict "Attempts begin 1 s, 1.6 s, 2.56 s ... apart, 20 % more or less." judge "$spaced"
verdict "After a connection of 20 s the device is back within a second." \
    judge '$2 == "lost:" { seen++; if ($NF > 1000) bad = 1 }'
verdict "An attempt that nobody answers ends after 20 s." \
    judge '$2 == "connect?" { at = $1 } $2 == "no" { seen++; late = $1 - at - 20000
        if (late < -5 || late > 5) bad = 1 }'
verdict "millis() wrapped meanwhile." judge '/ the end: / { seen++; if ($NF > 100000) bad = 1 }'
exit $status
