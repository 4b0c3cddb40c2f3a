# shellcheck shell=sh
# For scripts that wait, which source this.

# eventually COMMAND...: within a minute
eventually() {
    tries=0
    until "$@"; do
        [ $tries -lt 1200 ] || return 1
        tries=$((tries + 1))
        sleep 0.05
    done
}
