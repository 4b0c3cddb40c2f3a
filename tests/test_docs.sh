#!/bin/sh
# The examples in README.md and the quick starts in the headers' opening comments compile as they
# stand, with warnings as errors, and run. CC names the compiler (default: cc).
cc=${CC:-cc}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0

check() # NAME SOURCE
{
    if output=$("$cc" -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow \
        -Wcast-qual -Wundef -Werror -I. "$2" -o "$dir/x" 2>&1 && "$dir/x" < /dev/null 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s:\n%s\n' "$1" "$output"
    fi
}

# The code of a header's quick start: lines indented by six, until the text goes on.
for header in retry errmap; do
    awk '/^   QUICK START$/ { on = 1; next }
         on && code && /^   [^ ]/ { exit }
         on && /^      #/ { code = 1 }
         on && code { sub(/^      /, ""); print }' "$header.h" > "$dir/$header.c"
    check "the quick start of $header.h" "$dir/$header.c"
done

# README.md: every block of C that has a main.
awk -v dir="$dir" '/^```c$/ { on = 1; n++; next }
     /^```$/ { on = 0 }
     on { print > (dir "/readme" n ".c") }' README.md
for source in "$dir"/readme*.c; do
    grep -q 'int main' "$source" && check "README.md: $(basename "$source")" "$source"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -ge 4 ]
