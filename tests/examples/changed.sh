# shellcheck shell=sh
# For tests of a script that runs an example on stand-ins, which source this: $example is the example's
# folder, $script the script. It is called as SCRIPT FOLDER; FROM= is another copy of the example.

# What a core without lock-free atomics looks like, on this one.
no_atomics="-U__GCC_ATOMIC_INT_LOCK_FREE -D__GCC_ATOMIC_INT_LOCK_FREE=1 -Wno-builtin-macro-redefined"

# run NAME VARIABLE=...: output in NAME, exit status in NAME.status
run() {
    name=$1
    shift
    env "$@" sh "$script" "$work/$name.run" > "$work/$name" 2>&1
    echo $? > "$work/$name.status"
}

# changed NAME FILE EXPRESSION VARIABLE=...: the example with one file changed by sed, run as NAME
changed() {
    copy=$work/$1.copy
    cp -r "$example" "$copy"
    sed -i "$3" "$copy/$2"
    check "$1: is changed" differs "$example/$2" "$copy/$2"
    name=$1
    shift 3
    run "$name" FROM="$copy" "$@"
}
