#!/bin/sh
# recipes/transaction on a real PostgreSQL, whose tables are the judge. Usage: recipe_transaction.sh PROGRAM
. "$(dirname "$0")/server.sh"

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || bin=$(dirname "$(command -v initdb)")

not_as_root postgres
sql() { "$bin/psql" -h 127.0.0.1 -p "$port" -U postgres -Atq "$@" postgres 2>>"$folder/psql.log"; }
answers() { "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"; }
start_postgres() {
    # shellcheck disable=SC2086 # no word, or several
    start $as "$bin/postgres" -D "$data" -p "$port" -c listen_addresses=127.0.0.1 \
        -c unix_socket_directories= -c deadlock_timeout=20ms -c enable_seqscan=off "$@"
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
waits() { # EVENTS: what sessions wait for
    [ "$(sql -c "SELECT string_agg(wait_event, ' ' ORDER BY wait_event) FROM pg_stat_activity
        WHERE wait_event IN ('PgSleep', 'SyncRep')")" = "$1" ]
}
is_looked_up() { # or has ended without that
    [ "$(sql -c "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'")" -gt 0 ] ||
        has_shown '^\(done\|perhaps\|failed\) ' "$number"
}
standby() { # NAME: who has to have what is committed
    sql -c "ALTER SYSTEM SET synchronous_standby_names = '$1'" -c "SELECT pg_reload_conf()" \
        >"$folder/psql.out"
}

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
        'BEGIN PERFORM pg_sleep(0.25); RETURN NULL; END';
    CREATE TRIGGER slowly AFTER UPDATE ON accounts FOR EACH ROW WHEN (NEW.id >= 48)
        EXECUTE FUNCTION slowly()"
# A COMMIT that takes very long has not happened.
sql -c "CREATE FUNCTION for_ever() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(3600); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER for_ever AFTER INSERT ON transfers DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.amount = 99) EXECUTE FUNCTION for_ever()"
# This one is in conflict whenever it is tried.
sql -c "CREATE FUNCTION conflict() RETURNS void LANGUAGE plpgsql AS
        'BEGIN RAISE SQLSTATE ''40001''; END'"
at="host=127.0.0.1 port=$port user=postgres dbname"
# A session that asks for one snapshot for all may not see what was committed meanwhile.
clients=7
begin "$at=postgres options='-c default_transaction_isolation=serializable'"
tell "seven clients, five accounts"
transfers 200 5
until_ended
rounds=0
until grep -q "deadlock detected" "$folder/server.log" || [ $rounds -ge 20 ]; do
    rounds=$((rounds + 1))
    transfer 48 49 1
    transfer 49 48 1
    until_ended
done
transfers 400 5
until_ended
# A COMMIT that waits for a standby has happened, but its client is not told.
standby nobody
tell "a COMMIT is answered late"
transfer 14 15 1
until_true "nobody looks it up" is_looked_up
standby ''
until_ended
# All of them take their time before their COMMIT.
for from in 1 2 3 4 5 6 7; do transfer $from 48 1; done
until_true "nobody takes his time" waits PgSleep
freeze
tell "PostgreSQL is frozen"
transfers 20 48
(until_shown SOCKET_NOT_AVAILABLE 7) 2>"$folder/given_up"
tell "PostgreSQL goes on"
thaw
until_ended
early=$(count '^failed')
standby nobody
tell "COMMITs are not answered"
for from in 0 2 4 6 8; do transfer $from $((from + 1)) 1; done
transfer 12 13 99
until_true "no six COMMITs wait" waits "PgSleep$(printf ' SyncRep%.0s' 1 2 3 4 5)"
stop_immediately
tell "PostgreSQL is stopped"
transfers 200 5
until_shown SOCKET_NOT_AVAILABLE 20
tell "PostgreSQL is started again"
start_postgres -c synchronous_standby_names=
until_shown '^\(done\|failed\)' 700
tell "PostgreSQL is stopped at work, and started again"
stop_immediately
start_postgres -c synchronous_standby_names=
until_ended
end
echo "0 SELECT conflict()" | "$program" "$at=postgres" >"$folder/endless"
echo "0 SELECT 1" | "$program" "$at=nobodys" >"$folder/nobodys" 2>&1
nobodys=$?

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
lost_commits=$(count "looks it up")
verdict "All COMMITs that were lost ($lost_commits) were looked up, some in vain ($(count '^failed'))." \
    test "$((lost_commits > 6)):$(count '^perhaps')" = 1:0
verdict "Who connects to a frozen server gives up in time." test ! -s "$folder/given_up"
verdict "What is in conflict without end fails." \
    test "$(grep -c 40001 "$folder/endless"):$(tail -n 1 "$folder/endless")" = "21:failed 0"
verdict "A database that is not there is said at once." \
    test "$nobodys:$(grep -c 'does not exist' "$folder/nobodys")" = 2:1
verdict "What was lost before its COMMIT is done ($early failed)." test "$early" -eq 0
logged() { grep -c "ERROR:  $1" "$folder/server.log"; }
echo "conflicts $(logged "could not serialize"), deadlocks $(logged deadlock)"
verdict "No transfer was made twice ($twice)." test "$twice" -eq 0
verdict "Every one that was reported done was made ($lost were not)." test "$lost" -eq 0
verdict "None that was reported failed was made ($denied)." test "$denied" -eq 0
verdict "Nothing else was made ($unexplained)." test "$unexplained" -eq 0
verdict "No money came or went, every balance is explained." test "$money:$wrong" = 50000:0
measure <<END
$(count '^done') of $number transactions are done, $twice of them twice.
PostgreSQL was frozen once, and stopped twice. $lost_commits COMMITs were lost, and
looked up: $((lost_commits - $(count '^failed'))) had been done, $(count '^failed') had not. $(count '^perhaps') are perhaps done.
END
exit $status
