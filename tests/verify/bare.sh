#!/bin/sh
# `make quickstart` and `make test` on a new Debian that has gcc, libc6-dev and make: from a tarball of HEAD, in a
# folder with a space in its name, first as a user who may not install packages, then as root. Usage: bare.sh, from
# the top folder of a clone; as root, or with sudo. The new Debian is in memory (1 GB) that only these processes see:
# nothing is left when they end, or are ended. It is skipped where nothing may be mounted, and where the server of
# packages that this machine's apt names does not answer. The last line is "N passed, N failed".
set -u

if [ "${1:-}" != --inside ]; then # --inside SUITE MIRROR
    [ "$(id -u)" -eq 0 ] || exec sudo env CORES="${CORES:-}" sh "$0"
    unshare --mount --pid --fork true || { echo "skipped, as nothing may be mounted here" && exit; }
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
        "Codename: $suite" 'Component: main' | head -n 1)
    git -c safe.directory='*' archive HEAD | setpriv --pdeathsig KILL \
        unshare --mount --pid --fork --kill-child sh "$0" --inside "$suite" "${mirror%/}" &
    inside=$!
    trap 'kill -KILL $inside; exit 130' HUP INT TERM # at once: a trap does not wait for the background
    wait $inside
    exit
fi

suite=$2
mirror=$3
mount -t tmpfs none /tmp && unset TMPDIR || exit
. tests/support/check.sh
cat > "$work/retry.tar"
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy
if ! quiet /usr/lib/apt/apt-helper download-file "$mirror/dists/$suite/InRelease" "$work/InRelease"; then
    echo "skipped, as no server of packages answers ($mirror, $suite)"
    exit
fi

debian=/tmp/debian # not in $work, which is removed: /proc is mounted in it
quiet debootstrap --variant=minbase --include=gcc,libc6-dev,make "$suite" "$debian" "$mirror" || exit
mount -t proc proc "$debian/proc" || exit

bare() { # USER MAKE-ARGUMENT...: make, by this user of the new Debian
    user=$1
    shift
    chroot --userspec="$user" "$debian" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ ${CORES:+"CORES=$CORES"} \
        ${http_proxy:+"http_proxy=$http_proxy"} make --no-print-directory -C "/srv/folder of $user" "$@" < /dev/null
}
last_is() { tail -n 1 "$work/log" | grep -q -x -e "$1"; }
finds_no_compiler() { ! bare "$1" CC=none test > "$work/log" 2>&1 && grep -q '^There is no C compiler' "$work/log"; }
skips_jsmn() { grep -q '^[0-9]* skipped, as there is no jsmn.h' "$work/log"; }
finds_jsmn() { ! skips_jsmn; }

for user in nobody root; do
    folder="$debian/srv/folder of $user"
    mkdir "$folder" && tar -x -f "$work/retry.tar" -C "$folder" && chown -R "$user" "$folder"
    check "$user: no compiler" finds_no_compiler $user
    check "$user: make quickstart" quiet bare $user quickstart
    check "$user: it ran" last_is 'SUCCESS (done), retries: 2'
    check "$user: make test" quiet bare $user test
    check "$user: all passed" last_is '[1-9][0-9]* passed, 0 failed'
    if [ $user = root ]; then check "root: jsmn.h" finds_jsmn; else check "$user: no jsmn.h" skips_jsmn; fi
    grep -e skipped -e passed "$work/log"
done
finish
