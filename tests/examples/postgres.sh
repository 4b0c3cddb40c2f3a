#!/bin/sh
# postgres on a real server, whose tables are the judge. Usage: postgres.sh PROGRAM [careless]
. "$(dirname "$0")/server.sh"

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || bin=$(dirname "$(command -v initdb)")

# It refuses to be root's: then it is its package's user's, in a folder that this user can reach.
as=
data=$folder/data
if [ "$(id -u)" -eq 0 ]; then
    as="setpriv --reuid=postgres --regid=postgres --clear-groups"
    data=$(mktemp -d) || exit 2
    chown postgres:postgres "$data"
    trap 'clean; rm -rf "$data"' EXIT
fi

sql() { "$bin/psql" -h 127.0.0.1 -p "$port" -U postgres -Atq "$@" postgres 2>>"$folder/psql.log"; }
answers() { "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"; }
start_postgres() {
    # shellcheck disable=SC2086 # no word, or several
    start $as "$bin/postgres" -D "$data" -p "$port" -c listen_addresses=127.0.0.1 \
        -c unix_socket_directories= -c deadlock_timeout=20ms "$@"
}
stop_immediately() {
    kill -s QUIT "$server"
    wait "$server"
    server=
}

# transfers COUNT ACCOUNTS: between the first accounts at random, the same ones in every run
transfers() {
    awk -v count="$1" -v accounts="$2" -v first="$number" 'BEGIN {
        srand(first)
        while (count-- > 0) {
            from = int(rand() * accounts)
            to = (from + 1 + int(rand() * (accounts - 1))) % accounts
            print from, to, 1 + int(rand() * 9) } }' >"$folder/transfers"
    while read -r from to amount; do
        transfer "$from" "$to" "$amount"
    done <"$folder/transfers"
}
transfer() { # FROM TO AMOUNT
    set -- "UPDATE accounts SET balance = balance" "$@"
    row="$((number + 1)), $2, $3, $4"
    give "%d $1 - $4 WHERE id = $2; $1 + $4 WHERE id = $3; INSERT INTO transfers VALUES ($row)"
}
waits_in_commit() { sql -c "SELECT 'waits' FROM pg_stat_activity WHERE wait_event = 'SyncRep'" |
    grep -q waits; }

# shellcheck disable=SC2086
$as "$bin/initdb" -D "$data" -A trust -U postgres --no-sync >"$folder/initdb.log" 2>&1 ||
    give_up "initdb has failed"
start_postgres
sql -c "CREATE TABLE accounts AS SELECT id, 1000 AS balance FROM generate_series(0, 49) AS id;
    ALTER TABLE accounts ADD PRIMARY KEY (id);
    CREATE TABLE transfers (id bigint, from_id int, to_id int, amount int);
    CREATE INDEX ON transfers (id);
    CREATE TABLE ended (how text, id bigint)"
# Two who take these in different orders, and both take their time, wait for each other.
sql -c "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(0.05); RETURN NULL; END';
    CREATE TRIGGER slowly AFTER UPDATE ON accounts FOR EACH ROW WHEN (NEW.id >= 48)
        EXECUTE FUNCTION slowly()"
clients=7
begin "host=127.0.0.1 port=$port user=postgres dbname=postgres connect_timeout=2" $careless
tell "seven clients, five accounts"
transfers 200 5
until_ended
rounds=0
until has_shown DEADLOCK_DETECTED 1 || [ $rounds -ge 20 ]; do
    rounds=$((rounds + 1))
    transfer 48 49 1
    transfer 49 48 1
    until_ended
done
transfers 400 5
until_shown '^done' 250
freeze
tell "PostgreSQL is frozen"
transfers 20 48
until_shown "ATTEMPT_TIMED_OUT\|SOCKET_NOT_AVAILABLE" 7
tell "PostgreSQL goes on"
thaw
until_ended
# A COMMIT that waits for a standby has happened, but its client is not told.
sql -c "ALTER SYSTEM SET synchronous_standby_names = 'nobody'" -c "SELECT pg_reload_conf()" >"$folder/psql.out"
tell "COMMITs are not answered"
transfers 7 48
until_true "no COMMIT waits" waits_in_commit
stop_immediately
tell "PostgreSQL is stopped"
transfers 200 5
until_shown SOCKET_NOT_AVAILABLE 20
tell "PostgreSQL is started again"
start_postgres -c synchronous_standby_names=
until_shown '^done' 700
tell "PostgreSQL is stopped at work, and started again"
stop_immediately
start_postgres -c synchronous_standby_names=
until_ended
end

grep '^\(done\|perhaps\|failed\) ' "$folder/out" | sql -c "COPY ended FROM STDIN (DELIMITER ' ')"
cat >"$folder/sums.sql" <<'END'
CREATE TEMP TABLE times AS
    SELECT how, id, (SELECT count(*) FROM transfers AS t WHERE t.id = e.id) AS times FROM ended AS e;
SELECT count(*) FILTER (WHERE times > 1),
       count(*) FILTER (WHERE how = 'done' AND times = 0),
       count(*) FILTER (WHERE how = 'failed' AND times > 0),
       (SELECT count(*) FROM transfers WHERE id NOT IN (SELECT id FROM ended)),
       (SELECT sum(balance) FROM accounts),
       (SELECT count(*) FROM accounts AS a WHERE balance <> 1000
           - (SELECT coalesce(sum(amount), 0) FROM transfers WHERE from_id = a.id)
           + (SELECT coalesce(sum(amount), 0) FROM transfers WHERE to_id = a.id)) FROM times;
END
sql -F ' ' -f "$folder/sums.sql" >"$folder/sums"
read -r twice lost denied unexplained money wrong <"$folder/sums"
echo "conflicts $(count SERIALIZATION_FAILURE), deadlocks $(count DEADLOCK_DETECTED)," \
    "lost during COMMIT $(count 'looking for')"
verdict "No transfer was made twice ($twice)." test "$twice" -eq 0
verdict "Every one that was reported done was made ($lost were not)." test "$lost" -eq 0
verdict "None that was reported failed was made ($denied)." test "$denied" -eq 0
verdict "Nothing else was made ($unexplained)." test "$unexplained" -eq 0
verdict "No money came or went, every balance is explained." test "$money:$wrong" = 50000:0
exit $status
