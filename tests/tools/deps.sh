#!/bin/sh
# deps.sh PACKAGE...: installs with apt those Debian packages that are missing, as root or by sudo,
# and says so. On a system without apt it only names them.
if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
    echo "deps: no apt here; this needs what Debian calls: $*" >&2
    exit 0
fi
missing=
for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null | grep -qx installed ||
        missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "deps: installing$missing"
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 # one word a package
if $sudo apt-get update > "$log" 2>&1 && $sudo env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $missing > "$log" 2>&1; then
    exit 0
fi
cat "$log" >&2
echo "deps: apt-get could not install$missing" >&2
exit 1
