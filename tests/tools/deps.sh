#!/bin/sh
# deps.sh PACKAGE...: installs by apt those Debian packages that are missing, as root or by sudo, and says so. If it
# cannot, it says which, and fails. On a terminal it asks before it installs more than the tests need, as Debian
# starts servers that are installed; YES=1: it never asks.

# Two need not be Debian's: a jsmn.h where the compiler looks, and a ps in PATH. Of all else a
# system without dpkg knows nothing: whoever compiles will see.
there() # PACKAGE
{
    case $1 in
    libjsmn-dev) echo '#include <jsmn.h>' | ${CC:-cc} -E -x c - > /dev/null 2>&1 ;;
    procps) command -v ps > /dev/null ;;
    *) ! command -v dpkg-query > /dev/null ||
        dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null | grep -qx installed ;;
    esac
}

agreed() # PACKAGE...
{
    case " $* " in " libjsmn-dev " | " procps " | " libjsmn-dev procps ") return 0 ;; esac
    [ -t 0 ] && [ -t 2 ] && [ -z "${YES:-}" ] || return 0
    printf 'missing: %s\nInstall by apt? Debian starts the servers among them. (YES=1: no question) [Y/n] ' "$*" >&2
    read -r answer
    case $answer in [nN]*) return 1 ;; esac
}

# Another apt that has the lock is waited for, two minutes at most.
apt() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@" > "$log" 2>&1; }

missing=
for package in "$@"; do there "$package" || missing="$missing $package"; done
[ -n "$missing" ] || exit 0
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
# shellcheck disable=SC2086 # one word a package
if command -v apt-get > /dev/null && { [ -z "$sudo" ] || $sudo true; } 2> /dev/null && agreed $missing; then
    echo "installing$missing" >&2
    log=$(mktemp) || exit 1
    trap 'rm -f "$log"' EXIT
    apt update || cat "$log" >&2
    apt install -y --no-install-recommends $missing && exit
    cat "$log" >&2
fi
echo "missing, and not installed:$missing" >&2
exit 1
