# shellcheck shell=sh
# For the scripts that break a real server under an example, which source this: a server on a free
# port of 127.0.0.1, a program that is fed with operations, and verdicts. Each is called as
# NAME.sh PROGRAM [careless], keeps its files in PROGRAM.run, and exits with 0 if all verdicts hold.
# Faults wait for the program's progress, never for a time. What was started is stopped by its id,
# however the script ends.
set -u
. "$(dirname "$0")/verdict.sh"
. "$(dirname "$0")/../support/eventually.sh"

program=$1
careless=${2:-}
folder=$program${careless:+.careless}.run
rm -rf "$folder"
mkdir -p "$folder" || exit 2
folder=$(cd "$folder" && pwd)
server=
client=
trap 'clean' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 2' PIPE

give_up() {
    echo "$1; see $folder" >&2
    exit 2
}

# ---- The server ----------------------------------------------------------------------------

# Whether anybody listens on the port, by the kernel's tables.
listens() {
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
        grep -q ":$(printf %04X "$port") 0*:0000 0A"
}

# Below the ports that are lent to the near ends of connections: a client can meet itself there.
free_port() { # PORT: from there on
    next=$1
    while port=$next listens; do next=$((next + 1)); done
    echo "$next"
}
port=$(free_port $((10000 + $$ * 7 % 20000)))

# What a script may define anew: whether the server is ready.
answers() { listens; }

# until_true WHAT COMMAND...: at most a minute
until_true() {
    what=$1
    shift
    eventually "$@" || give_up "$what"
}
up_or_gone() { answers || ! kill -0 "$server" 2>/dev/null; }

# What is fed to the program is not the server's to keep open.
as_server() {
    exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
    cd "$folder" && exec setsid setpriv --pdeathsig KILL "$@"
}

# What a server that refuses to be root's runs as, and where it keeps its data.
as=
data=$folder/data

# not_as_root USER: root's server is this user's, in a folder that the user can reach
not_as_root() {
    [ "$(id -u)" -eq 0 ] || return 0
    group=$(id -g -n "$1")
    as="setpriv --reuid=$1 --regid=$group --clear-groups"
    data=$(mktemp -d) || exit 2
    chown "$1:$group" "$data"
    trap 'clean; rm -rf "$data"' EXIT
}

# start COMMAND...: the server, in the folder; waits until it answers
start() {
    as_server "$@" >>"$folder/server.log" 2>&1 &
    server=$!
    echo $server >"$folder/server.pid"
    until_true "$1 does not answer" up_or_gone
    kill -0 "$server" 2>/dev/null || give_up "$1 has not started"
}

# The server and its children, as PostgreSQL has them.
family() { echo "$server" && ps -A -o ppid= -o pid= | awk -v of="$server" '$1 == of { print $2 }'; }

# signal NAME: to all of them
signal() {
    # shellcheck disable=SC2046 # one word a process
    [ -z "$server" ] || kill -s "$1" $(family) 2>/dev/null
}

# A stop takes effect when the first thread sees it; until then others go on serving.
frozen() { for pid in $(family); do ps -L -o stat= -p "$pid"; done | { ! grep -q -v '^[TZ]'; }; }
freeze() {
    signal STOP
    until_true "the server does not freeze" frozen
}
thaw() { signal CONT; }
slay() {
    signal KILL
    wait "$server" 2>/dev/null
    server=
}

clean() {
    # shellcheck disable=SC2086 # a word each
    [ -z "$client" ] || { kill -s KILL $client && wait $client; } 2>/dev/null
    slay
}

# ---- The program ---------------------------------------------------------------------------

# begin ARGUMENT...: the program, or so many of them, up to seven; they are fed by turns, and what
# they print is in out
: >"$folder/out"
number=0
clients=1
begin() {
    for fd in $(seq 3 $((2 + clients))); do
        mkfifo "$folder/operations.$fd"
        stdbuf -oL "$program" "$@" <"$folder/operations.$fd" >>"$folder/out" 2>&1 &
        client="$client $!"
        eval "exec $fd>\"\$folder/operations.\$fd\""
    done
}

# run ARGUMENT...: the program, which is not fed; what it prints is in out
run() {
    stdbuf -oL "$program" "$@" >>"$folder/out" 2>&1 &
    client=$!
}
# Waits until it ends.
until_over() {
    client_status=0
    wait "$client" || client_status=$?
    client=
}

# give FORMAT: to the next one; %d is the operation's number
give() {
    number=$((number + 1))
    # shellcheck disable=SC2059 # the format is the caller's
    printf "$1\n" "$number" >&$((3 + number % clients))
}

# feed COUNT FORMAT: so many operations
feed() {
    left=$1
    while [ "$left" -gt 0 ]; do
        left=$((left - 1))
        give "$2"
    done
}

count() { grep -c -e "$1" "$folder/out"; }
has_shown() { [ "$(count "$1")" -ge "$2" ] || ! kill -0 $client 2>/dev/null; }

# Waits until the program has shown so many lines with a text.
until_shown() { until_true "the program does not show $2 of '$1'" has_shown "$1" "$2"; }

# Waits until every operation that was fed has ended.
until_ended() { until_shown '^\(done\|perhaps\|failed\) ' "$number"; }

# tell WHAT: what begins. How many operations ended meanwhile stands behind it when it is over.
phase=
tell() {
    [ -n "${before:-}" ] || printf '%-45s %s\n' "meanwhile:" "operations that end:"
    now="$(count '^done ') $(count '^perhaps ') $(count '^failed ')"
    [ -z "$phase" ] || echo "$now $before" |
        awk '{ printf "%4d done %2d perhaps %2d failed\n", $1 - $4, $2 - $5, $3 - $6 }'
    phase=$*
    before=$now
    [ -z "$phase" ] || printf '%-45s ' "$phase"
}

# The end of the input, and of the program.
end() {
    until_ended
    exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
    client_status=0
    for id in $client; do wait "$id" || client_status=$?; done
    client=
    tell
    verdict "The program has ended by itself, and each operation once." \
        test "$client_status:$(count '^\(done\|perhaps\|failed\) ')" = "0:$number"
}

# From standard input: what README.md says of this run (tests/verify/recipes.sh).
measure() { tee "$folder/measured" | sed '1s/^/\n/'; }
