#!/bin/sh
# The libcurl example from end to end, on loopback. Usage: test_http.sh PATH_OF_HTTP_CURL
# Nothing here looks at the clock: the program's own verdicts, its exit status, what it prints and
# nginx's logs are checked. The last line is "N passed, N failed", and the exit status tells the
# same.
. "$(dirname "$0")/../support/check.sh"

program=$1
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT

# run NAME ARGUMENT...: standard input from NAME.input if there is one
run() {
    name=$1
    shift
    [ -e "$work/$name.input" ] || : >"$work/$name.input"
    "$program" "$@" >"$work/$name" 2>&1 <"$work/$name.input"
    echo $? >"$work/$name.status"
}

# sent FOLDER REQUEST: how often nginx's log has it
sent() { grep -c "^$2 " "$work/$1/access.log"; }

# joined NAME: its output, with each failure's second line behind the first, in NAME.joined
joined() {
    awk '/^            [a-z]/ { sub(/^ */, " "); line = line $0; next }
        { if (NR > 1) print line; line = $0 } END { print line }' "$work/$1" >"$work/$1.joined"
}

# A tool's column of the table: 1 retry.h, 2 and 3 curl
column() { grep -e "^$1 " "$work/compare" | cut -d '|' -f $(($2 + 1)); }

has_curl() { command -v curl >/dev/null 2>&1; }
has_nginx() { [ -x /usr/sbin/nginx ] || command -v nginx >/dev/null 2>&1; }
has_both() { has_curl && has_nginx; }

# ---- Without a server: bad input, and nobody there ----

run usage
run missing "$work/no-such-list"
run help --help
run option compare -v
run directory "$work"
run folder compare /dev/null/folder
run empty -
run two - -
run textless --policy
run policy --policy 'aws atempts=5' -
run budget --policy aws --budget 'aws,cost=1 floor=-1' -
unreachable=http://127.0.0.1:1/unreachable
echo "$unreachable" | tee "$work/once.input" "$work/poor.input" "$work/free.input" \
    >"$work/constant.input"
run once --policy attempts=1 -
run free --policy 'attempts=2 initial=1ms max=5ms' --budget none -
run poor --budget capacity=0 -
run constant --policy 'attempts=3 curve=constant jitter=none initial=7ms' -
cat >"$work/bad.input" <<'END'
# a comment, then an empty line

hello
GET http://127.0.0.1:1/ more words
FETCH http://127.0.0.1:1/
GET ftp://127.0.0.1/
POST http://127.0.0.1:1/unreachable # nobody listens on port 1
END
PATH="$work/nothing" "$program" compare "$work/nocurl.logs" >"$work/nocurl" 2>"$work/nocurl.errors"
echo $? >"$work/nocurl.status"
printf '# no request\nnonsense\n' >"$work/hollow.input"
run hollow -
run bad - &
if has_both; then
    run compare compare "$work/logs"
fi
wait

check "usage: exit status" ended usage 2
check "usage: it says so" shows usage "^usage:"
check "missing list: exit status" ended missing 2
check "missing list: it is named" shows missing "no-such-list"
check "folder that cannot be: exit status" ended folder 2
check "no curl: exit status" ended nocurl 2
check "no curl: it says so" shows nocurl.errors "^no curl to compare with"
check "no curl: no table" test ! -s "$work/nocurl"
for option in help option; do
    check "$option: exit status" ended $option 2
    check "$option: shows the usage" shows $option "^usage:"
    check "$option: nothing else" test "$(wc -l <"$work/$option")" -eq 2
done
check "two lists: exit status" ended two 2
check "two lists: shows the usage" shows two "^usage:"
check "policy without a text: shows the usage" shows textless "^usage:"
check "wrong policy: exit status" ended policy 2
check "wrong policy: where" shows policy "^http_curl: --policy is wrong at offset 4:"
check "wrong policy: points there and says why" shows policy "^        ^ unknown word; presets are best"
check "wrong policy: nothing else" test "$(wc -l <"$work/policy")" -eq 3
check "wrong budget: exit status" ended budget 2
check "wrong budget: where, the value" shows budget "^http_curl: --budget is wrong at offset 17:"
check "no retries: one attempt" shows once "^line 1 .*attempts exhausted (SOCKET_NOT_AVAILABLE)"
check "no retries: exit status" ended once 1
check "a constant delay" test "$(grep -c "again in 7 ms" "$work/constant")" -eq 2
check "a constant delay: then no more" shows constant "^line 1 .*attempts exhausted"
check "no budget" shows free "^line 1 .*attempts exhausted (SOCKET_NOT_AVAILABLE)"
check "a budget that never pays: exit status" ended poor 2
check "a budget that never pays: it says so" shows poor "^             ^ never pays for a retry\$"
check "directory: exit status" ended directory 1
check "directory: it is named" shows directory "^$work: "
check "directory: nothing is fetched" lacks directory "requests done"
check "empty list: exit status" ended empty 1
check "empty list: it says so" shows empty "nothing to do"
check "nothing but bad lines: exit status" ended hollow 1
check "nothing but bad lines: it says so" shows hollow "nothing to do"
check "nothing but bad lines: they are named" shows hollow "^line 2: .*left out"
check "bad list: exit status" ended bad 1
for line in 3 4 5 6; do
    check "bad list: line $line is named" shows bad "^line $line: .*left out"
done
check "bad list: comments and empty lines are not" lacks bad "^line [12]:"
check "bad list: the rest is done" shows bad "^line 7 .*again in .*SOCKET_NOT_AVAILABLE"
joined bad
check "bad list: why it failed" shows bad.joined "^ *7 POST .*unreachable .*FAILED attempts exhausted: "
check "bad list: 80 columns" lacks bad ".\{81\}"
check "bad list: the sum" shows bad "^0 of 1 requests done, 4 lines left out"

if ! has_both; then
    echo "nginx or curl is not installed: the rest is left out"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
fi

# ---- retry.h and curl on the script ----

check "compare: exit status" ended compare 0
check "compare: both kept" test "$(grep -c '^kept ' "$work/compare")" -eq 2
check "compare: nothing broken" lacks compare BROKEN
grep -v "^Logs are in " "$work/compare" >"$work/lines"
check "compare: lines of up to 80 columns" lacks lines ".\{81\}"
check "compare: no control characters" lacks compare "[[:cntrl:]]"
for reason in SOCKET_NOT_AVAILABLE SOCKET_CLOSED_WHILE_IN_FLIGHT ATTEMPT_TIMED_OUT \
    SERVICE_RESPONSE_CODE_INDICATED SERVER_ERROR; do
    check "compare: retries by $reason" shows compare "again in .*$reason)"
done
check "compare: 503 is named" shows compare "busy: again in .*(503 SERVER_ERROR"
check "compare: 429 is named" shows compare "limit.*again in .*(429 SERVICE"
check "compare: 404 is named" shows compare "missing: no reason to retry (404 NONE)"
for request in "GET  /hello" "GET  /late" "POST /late" "GET  /hangup" "GET  /stall" "GET  /busy" \
    "GET  /until" "GET  /limit?1" "POST /limit?2" "GET  /broken"; do
    check "retry.h: $request is done" test "$(column "$request" 1 | grep -c "done")" -eq 1
done
check "Retry-After in seconds" shows compare "busy: again in 1[0-2][0-9][0-9] ms"
check "Retry-After as a date" shows compare "until: again in"
check "Retry-After too late" shows compare "closed: deadline"
for path in /hangup /stall /busy /drop /broken; do
    check "retry.h: POST $path was sent once" test "$(sent logs/retry.h "POST $path")" -eq 1
    check "retry.h: POST $path is perhaps done" test \
        "$(column "POST $path" 1 | grep -c "maybe")" -eq 1
done
check "retry.h: no other is" test "$(cut -d '|' -f 2 "$work/compare" | grep -c " maybe")" -eq 5
check "404 is not retried" shows compare "missing: no reason to retry"
check "retry.h: POST /late arrived once" test "$(sent logs/retry.h 'POST /late')" -eq 1
check "retry.h: half a header is no answer" shows compare "cut: again in .*IN_FLIGHT"
check "retry.h: the sum" shows compare "^retry.h  *10 of 19 done, .* 0 POST sent twice"
check "curl: the sum" shows compare "^curl --retry  *10 of 19 done, .* 2 POST sent twice"
check "curl, all errors: the sum" shows compare \
    "^+ all-errors  *11 of 19 done, .* 4 POST sent twice"
check "curl: POST /late is done" test "$(column 'POST /late' 2 | grep -c "done")" -eq 1
check "curl: GET /hangup fails" test "$(column 'GET  /hangup' 2 | grep -c "fails")" -eq 1
for path in /stall /broken; do
    check "curl: POST $path is sent twice" test "$(column "POST $path" 2 | grep -c TWICE)" -eq 1
done
for path in /hangup /stall /drop /broken; do
    check "curl, all errors: POST $path is sent twice" test \
        "$(column "POST $path" 3 | grep -c TWICE)" -eq 1
done
check "curl: POST /broken was sent thrice" test "$(sent logs/curl 'POST /broken')" -eq 3
version=$(curl -q --version | sed -n 's/^curl \([^ ]*\).*/\1/p')
check "curl: its version is shown" shows compare "^The curls are curl $version "
check "curl: the options are shown" shows compare \
    "--retry 6 --retry-max-time 6 --retry-connrefused"
check "compare: nothing left running" eventually no_process "$work/logs"

# ---- A list, on the server alone ----

"$program" serve "$work/serve" >"$work/served" 2>&1 &
server=$!
wait_for served "until Ctrl-C"
url=$(sed -n 's,^GET  *\(http:[^ ]*\)/hello .*,\1,p' "$work/served")
cut=$(sed -n 's,^GET  *\(http:[^ ]*/cut\) .*,\1,p' "$work/served")
cat >"$work/good.input" <<END
$url/hello
HEAD $url/hello # a comment
PUT	$url/busy
DELETE $url/hello
END
run good - &
good=$!
cat >"$work/mixed.input" <<END
nonsense
$cut
POST $url/broken
$url/hello
http://127.0.0.1:1/unreachable
POST $url/half
END
run mixed "$work/mixed.input"
wait "$good"
kill -s INT "$server"
wait "$server"
echo $? >"$work/served.status"
server=

check "good list: exit status" ended good 0
check "good list: all done" shows good "^4 of 4 requests done$"
check "good list: PUT after a 503" shows good "^ *3 PUT .*  2 .*HTTP 200"
check "mixed list: exit status" ended mixed 1
check "mixed list: garbage is named" shows mixed "^line 1: "
joined mixed
check "mixed list: 80 columns" lacks mixed ".\{81\}"
check "mixed list: closed mid-header" shows mixed.joined "^ *2 GET .*FAILED .*: Header was cut off"
check "mixed list: 500 on POST" shows mixed.joined "^ *3 POST .* 1 .*FAILED not idempotent, perhaps done: HTTP 500"
check "mixed list: the rest is done" shows mixed "^ *4 GET .*HTTP 200"
check "mixed list: unreachable" shows mixed.joined "^ *5 GET .*FAILED .*connect"
check "mixed list: 404 without its text" shows mixed.joined "^ *6 POST .* 1 .*FAILED no reason to retry: HTTP 404"
check "mixed list: the sum" shows mixed "^1 of 5 requests done, 1 lines left out"
check "serve: exit status" ended served 130
check "serve: nothing left running" eventually no_process "$work/serve"

# ---- Interrupted ----

"$program" compare "$work/interrupted" >"$work/cut" 2>&1 &
server=$!
wait_for cut "again in"
kill -s TERM "$server"
wait "$server"
echo $? >"$work/cut.status"
server=
check "interrupted: exit status" ended cut 143
check "interrupted: nothing left running" eventually no_process "$work/interrupted"

finish
