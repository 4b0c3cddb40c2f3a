#!/bin/sh
# deps.sh PACKAGE...: installs with apt those Debian packages that are missing, as root or by sudo,
# and says so. If it cannot, it names them in one line and fails. On a terminal it asks before it installs
# more than the tests need, as Debian starts servers that are installed; YES=1: it never asks.
# deps.sh --lacks PACKAGE...: the same, but it never fails, and prints those that are still missing.
lacks=
[ "$1" != --lacks ] || { lacks=yes && shift; }

# Two need not be Debian's: a jsmn.h where the compiler looks, and a ps in PATH. Of all else a
# system without dpkg knows nothing: whoever compiles will see.
there() # PACKAGE
{
    case $1 in
    libjsmn-dev) echo '#include <jsmn.h>' | ${CC:-cc} -E -x c - 2> /dev/null | grep -q jsmn_parse ;;
    procps) command -v ps > /dev/null ;;
    *) ! command -v dpkg-query > /dev/null ||
        dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null | grep -qx installed ;;
    esac
}

missing() # PACKAGE...: those that are
{
    for package in "$@"; do there "$package" || printf ' %s' "$package"; done
}

# Whoever may install: root, or who has sudo and, if it asks for a password, a terminal to type it.
find_root()
{
    sudo=
    [ "$(id -u)" -ne 0 ] || return 0
    sudo=sudo
    command -v sudo > /dev/null && { sudo -n true 2> /dev/null || { [ -t 0 ] && sudo -v; }; }
}

# apt ARGUMENT...: apt-get, after another one that has the lock, which it waits for up to two minutes
apt()
{
    tries=0
    until $sudo env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get "$@" > "$log" 2>&1; do
        grep -q -e 'Could not get lock' -e 'Unable to lock' "$log" && [ $tries -lt 60 ] || return 1
        [ $tries -gt 0 ] || echo "deps: another apt is at work; waiting for it, two minutes at most" >&2
        tries=$((tries + 1))
        sleep 2
    done
}

# Whether these may be installed.
agreed() # PACKAGE...
{
    case " $* " in " libjsmn-dev " | " procps " | " libjsmn-dev procps ") return 0 ;; esac
    [ -t 0 ] && [ -t 2 ] && [ -z "${YES:-}" ] || return 0
    echo "deps: missing: $*" >&2
    printf 'deps: install them by apt? Debian starts the servers among them. (YES=1: no question) [Y/n] ' >&2
    read -r answer
    case $answer in [nN]*) return 1 ;; esac
}

install() # PACKAGE...
{
    if ! command -v apt-get > /dev/null; then
        echo "deps: missing, and no apt here to install it: $*" >&2
    elif ! find_root; then
        echo "deps: missing, and no root here to install it: $*" >&2
    elif ! agreed "$@"; then
        echo "deps: missing, and not installed: $*" >&2
    else
        echo "deps: installing $*" >&2
        log=$(mktemp) || return 1
        trap 'rm -f "$log"' EXIT
        apt update && apt install -y --no-install-recommends "$@" && return
        cat "$log" >&2
        echo "deps: apt-get could not install $*" >&2
    fi
    return 1
}

wanted=$(missing "$@")
# shellcheck disable=SC2086 # one word a package
[ -z "$wanted" ] || install $wanted || [ -n "$lacks" ] || exit 1
[ -z "$lacks" ] || missing "$@"
