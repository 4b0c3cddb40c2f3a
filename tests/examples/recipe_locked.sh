#!/bin/sh
# recipes/locked on a real MariaDB, whose tables are the judge. Usage: recipe_locked.sh PROGRAM
. "$(dirname "$0")/server.sh"

not_as_root nobody
db() { mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -P "$port" -u root "$@" 2>>"$folder/mariadb.log"; }
sql() { db -N -B bank -e "$1"; }
answers() { db -e "SELECT 1" >/dev/null; }
start_mariadb() {
    # shellcheck disable=SC2086 # no word, or several
    start $as /usr/sbin/mariadbd --no-defaults --datadir="$data" --port="$port" --bind-address=127.0.0.1 \
        --socket="$data/socket" --pid-file="$data/pid" --innodb-buffer-pool-size=16M --innodb-use-native-aio=0
}
refused() { has_shown "    20[0-9][0-9]" 2 || has_shown '^\(done\|perhaps\|failed\) ' "$number"; }
transfer() { # FROM TO: always the first one first
    set -- "$1" "$2" "UPDATE accounts SET balance = balance"
    give "%d $3 - 1 WHERE id = $1; $3 + 1 WHERE id = $2; INSERT INTO transfers VALUES ($((number + 1)), $1, $2)"
}

# On a busy machine it fails now and then, and leaves files that are in its way.
install_mariadb() {
    # shellcheck disable=SC2086
    $as mariadb-install-db --no-defaults --datadir="$data" --auth-root-authentication-method=normal \
        --skip-test-db --innodb-use-native-aio=0 --innodb-log-file-size=8M >"$folder/install.log" 2>&1
}
install_mariadb || { rm -rf "${data:?}"/* && install_mariadb; } ||
    give_up "mariadb-install-db has failed: $(tail -n 5 "$folder/install.log")"
start_mariadb
db -e "CREATE DATABASE bank; USE bank;
    CREATE TABLE accounts (id INT PRIMARY KEY, balance INT) ENGINE = InnoDB;
    INSERT INTO accounts SELECT seq, 1000 FROM seq_0_to_9;
    CREATE TABLE transfers (id INT, from_id INT, to_id INT) ENGINE = InnoDB"
begin "$port" bank
tell "all is well"
for from in 0 1 2 3 4 5 6 7 8; do transfer $from $((from + 1)); done
until_ended
# Another session locks an account, until it is told to go on.
mkfifo "$folder/other"
db -N -B --unbuffered bank <"$folder/other" >"$folder/locked" &
other=$!
exec 8>"$folder/other"
echo "START TRANSACTION; SELECT id FROM accounts WHERE id = 9 FOR UPDATE;" >&8
until_true "the other session does not lock" grep -q -s 9 "$folder/locked"
tell "another session locks an account"
for from in 0 1 2 3 4; do transfer $from 9; done
until_shown "    1205" 2
tell "it goes on"
echo "COMMIT;" >&8
exec 8>&-
wait $other
until_ended
slay
tell "MariaDB is killed, and started again"
transfer 5 9
until_true "the program does not try again" refused
start_mariadb
until_ended
end

timeouts=$(count '^    1205')
twice=$(sql "SELECT COUNT(*) - COUNT(DISTINCT id) FROM transfers")
made=$(sql "SELECT COUNT(*) FROM transfers")
money=$(sql "SELECT SUM(balance) FROM accounts")
wrong=$(sql "SELECT COUNT(*) FROM accounts AS a WHERE balance <> 1000
    - (SELECT COUNT(*) FROM transfers WHERE from_id = a.id) + (SELECT COUNT(*) FROM transfers WHERE to_id = a.id)")
verdict "Each transaction is done ($made of $number)." test "$(count '^done'):$made" = "$number:$number"
verdict "No transfer was made twice ($twice)." test "$twice" -eq 0
verdict "No money came or went, every balance is explained." test "$money:$wrong" = 10000:0
measure <<END
$(count '^done') of $number transactions are done, $twice of them twice, and no money is lost.
MariaDB said 1205 $timeouts times, and was killed once.
END
exit $status
