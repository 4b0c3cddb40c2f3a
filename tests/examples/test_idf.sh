#!/bin/sh
# The component for ESP-IDF and its example for esp-mqtt, on stand-ins; the masks of chips without
# atomics; library.json. Usage: test_idf.sh
# Nothing here looks at the clock. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

example=examples/idf_component
script=tests/examples/idf.sh
own=tests/examples/idf
. tests/examples/changed.sh

number() { sed -n "s/^#define RETRY_VERSION_$1 //p" retry.h; }
version=$(number MAJOR).$(number MINOR).$(number PATCH)
broken() { shows "$1" "^BROKEN  $2"; }

run sound
check "exit status" ended sound 0
check "five verdicts" test "$(grep -c '^kept' "$work/sound")" -eq 5
check "80 columns" lacks sound '.\{81\}'
changed silent mqtt/main/main.c '/id == MQTT_EVENT_DISCONNECTED/,+1d'
check "does not come back: noticed" broken silent "All devices came back"
changed eager mqtt/main/main.c 's/connect_in(retry_connection_failed(.*));/connect_in(10000);/; s/SPREAD_MS);/1);/'
check "all at once: noticed" broken eager "They come back spread"
changed other mqtt/main/main.c 's/esp_mqtt_client_init/esp_mqtt_client_begin/'
check "a name that is not there: noticed" ended other 2

# ---- Chips without atomics --------------------------------------------------------------------

cat > "$work/draws.c" << 'END'
#include "freertos/FreeRTOS.h"
#include "retry.h"
#include <stdio.h>
static unsigned depth, entered;
void kernel_locked(const portMUX_TYPE *mux) { depth = mux->depth, entered = mux->entered; }
int main(void)
{
    for (int i = 0; i < 100; i++)
        retry_random(NULL);
    printf("%u %u\n", entered, depth);
}
END
draws() { # FLAG...: how often the lock was taken for 100 draws, and how deep it is
    ${CC:-cc} -std=c11 -I. -I$own "$@" "${retry_c:-$example/retry.c}" "$work/draws.c" -o "$work/draws" && "$work/draws"
}
match() { echo "$1" | grep -q -e "$2"; }
check "with atomics: no lock" test "$(draws)" = "0 0"
# shellcheck disable=SC2086 # one word a flag
check "without: the lock is taken, and let go" match "$(draws $no_atomics)" "^[1-9][0-9][0-9] 0$"
sed '/portEXIT_CRITICAL_SAFE/d' $example/retry.c > "$work/held.c"
# shellcheck disable=SC2086
check "a lock that is kept: noticed" match "$(retry_c=$work/held.c draws $no_atomics)" "^[1-9].* [1-9]"

uses() { xtensa-lx106-elf-nm "$work/$1" | grep -q "U kernel_locked"; }
check "an ESP8266's core has no atomics: the lock" uses sound.run/xtensa.retry.o
check "the Arduino library for it: compiles" quiet xtensa-lx106-elf-gcc \
    --specs=/usr/lib/xtensa-lx106-elf/picolibc.specs -std=c11 -Os -Wall -Wextra ${WERROR--Werror} -I. \
    -c examples/arduino/src/retry.c -o "$work/arduino.o"
xtensa-lx106-elf-objdump -d "$work/arduino.o" > "$work/arduino.s"
check "the Arduino library for it: masks interrupts" shows arduino.s "rsil.*15"
check "the Arduino library for it: unmasks them" shows arduino.s "wsr.ps"

# ---- What the component's and the library's files say ---------------------------------------------

check "idf_component.yml: the version" grep -q "^version: \"$version\"$" $example/idf_component.yml
# What make arduino-zip packs, from its own folder, as PlatformIO builds it.
mkdir "$work/library" && cp -r examples/arduino/* "$work/library" && cp retry.h "$work/library/src"
field() {
    python3 -c 'import json, sys; print(eval("json.load(open(sys.argv[1]))" + sys.argv[2]))' \
        "$work/library/library.json" "$1"
}
include=$work/library/$(field '["build"]["includeDir"]')
check "library.json: the version" test "$(field '["version"]')" = "$version"
check "library.json: the header" test -f "$include/$(field '["headers"]')"
printf '#include <retry.h>\nint main(void) { return retry_version() == RETRY_VERSION ? 0 : 1; }\n' > "$work/app.c"
check "library.json: builds as it says" quiet ${CC:-cc} -I"$include" "$work/app.c" \
    "$work/library/$(field '["build"]["srcDir"]')"/*.c -o "$work/app"
check "library.json: runs" "$work/app"

# CMake reads both projects, with a stand-in for what ESP-IDF brings.
cmake_reads() { # FOLDER: prints the folder in which retry.h is looked for
    cat > "$work/component.cmake" << 'END'
function(idf_component_register)
  cmake_parse_arguments(own "" "" "SRCS;INCLUDE_DIRS;REQUIRES" ${ARGN})
  get_filename_component(folder ${CMAKE_CURRENT_LIST_DIR}/${own_INCLUDE_DIRS} ABSOLUTE)
  message(STATUS "${own_SRCS} with ${folder}")
endfunction()
set(CMAKE_CURRENT_LIST_DIR ${FOLDER})
include(${FOLDER}/CMakeLists.txt)
END
    cmake -DFOLDER="$1" -P "$work/component.cmake" | sed -n 's/^-- retry.c with //p'
}
check "in the repository: retry.h of its top" test "$(cmake_reads "$PWD/$example")" = "$PWD"
mkdir "$work/retry" && cp $example/*.* retry.h "$work/retry"
check "copied: retry.h beside it" test "$(cmake_reads "$work/retry")" = "$work/retry"

finish
