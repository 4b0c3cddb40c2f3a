# shellcheck shell=sh
# Limits for tools that measure, which source this. For each row a tool writes "row|measured|limit" into
# the file $measured; without a limit the last is empty. The last call is `limits_hold`: it names each
# row that is over its limit, or was not measured, and fails with STRICT=1 if there is one. $dir is a
# folder for the tool's files.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
measured=$dir/measured

limits_hold() {
    awk -F '|' '
        !($2 > 0) { print "REFUSED " $1 ": not measured"; next }
        $3 != "" && $2 > $3 + 0 { print "REFUSED " $1 ": " $2 ", at most " $3 }
        END { if (!NR) print "REFUSED all: nothing was measured" }' "$measured" > "$dir/refused"
    cat "$dir/refused"
    [ -z "${STRICT:-}" ] || [ ! -s "$dir/refused" ]
}
