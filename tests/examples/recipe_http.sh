#!/bin/sh
# recipes/http on a real nginx that remembers keys; what nginx has carried out is the judge. Usage:
# recipe_http.sh PROGRAM
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/nginx.sh"

# More ports: one with a certificate that nobody has signed, one that carries out what it is told,
# one that does so and then takes its time, longer than the proxy before it waits, and one that makes
# folders.
secure=$(free_port $((port + 1)))
orders=$(free_port $((secure + 1)))
late=$(free_port $((orders + 1)))
folders=$(free_port $((late + 1)))
mkdir -p "$folder/made/create/there"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -keyout "$folder/key.pem" \
    -out "$folder/certificate.pem" >"$folder/openssl.log" 2>&1 || give_up "openssl has failed"

# The first request for a URL meets a fault, which the rate limit tells from the others. /order: it is
# carried out, and its connection closed. What has a key that nginx knows is answered, not carried out.
write_configuration nginx.conf "
  log_format requests '\$msec \$request_method \$request_uri \$status';
  log_format orders '\$request_method \$request_uri \$http_idempotency_key';
  access_log access.log requests;
  limit_req_zone \$request_uri zone=first:1m rate=1r/m;
  limit_req_status 599;
  proxy_cache_path keys keys_zone=keys:1m;
  map \$http_idempotency_key \$keyless { '' 1; default 0; }
  proxy_cache keys; proxy_cache_key \$http_idempotency_key; proxy_cache_methods POST;
  proxy_cache_valid 200 1h; proxy_cache_bypass \$keyless; proxy_no_cache \$keyless;
  proxy_method \$request_method; proxy_ignore_client_abort on;
  server {
    listen 127.0.0.1:$port;
    error_page 599 = @carry_out;
    location / { proxy_pass http://127.0.0.1:$orders; }
    location @carry_out { proxy_pass http://127.0.0.1:$orders; }
    location /carry_out {
      internal; proxy_pass_request_body off; proxy_set_header Content-Length '';
      proxy_pass http://127.0.0.1:$orders\$request_uri;
    }
    location @close { return 444; }
    location /order { limit_req zone=first; auth_request /carry_out; try_files /none @close; }
    location /create {
      limit_req zone=first; error_page 599 = @make; auth_request /make; try_files /none @close;
    }
    location @make { proxy_pass http://127.0.0.1:$folders; }
    location /make { internal; proxy_pass http://127.0.0.1:$folders\$request_uri; }
    location /late {
      proxy_pass http://127.0.0.1:$late; proxy_read_timeout 300ms; error_page 504 = @sorry;
    }
    location @sorry { add_header Retry-After 1 always; return 503; }
    location @busy { add_header Retry-After 1 always; return 503; }
    location /busy { limit_req zone=first; try_files /none @busy; }
    location @moved { return 307 /moved?\$args; }
    location /moved { limit_req zone=first; try_files /none @moved; }
    location /told { add_header Retry-After 1 always; return 429 wait; }
    location /header {
      internal; proxy_cache off; proxy_method HEAD; keepalive_timeout 0;
      proxy_pass http://127.0.0.1:$port/told;
    }
    location /cut_off { limit_req zone=first; try_files /none /header; }
    location /far { add_header Retry-After 57600 always; return 429; }
    location @conflict { return 409; }
    location /conflict { limit_req zone=first; try_files /none @conflict; }
  }
  map \$status \$created { 201 1; default 0; }
  limit_req_zone \$server_port zone=late:1m rate=1r/m;
  server {
    listen 127.0.0.1:$late;
    location @late { limit_req zone=late burst=1000; try_files /none =204; }
    location / { auth_request /carry_out; try_files /none @late; }
    location /carry_out {
      internal; proxy_pass_request_body off; proxy_set_header Content-Length '';
      proxy_pass http://127.0.0.1:$orders\$request_uri;
    }
  }
  server {
    listen 127.0.0.1:$orders;
    access_log orders.log orders;
    location / { return 200 'ok\n'; }
  }
  server {
    listen 127.0.0.1:$folders;
    access_log orders.log orders if=\$created;
    root made; dav_methods MKCOL; error_page 405 @exists;
    location @exists { return 409; }
    location / { }
  }
  server {
    listen 127.0.0.1:$secure ssl;
    ssl_certificate certificate.pem; ssl_certificate_key key.pem;
  }"
requests() { # COUNT METHOD PATH
    feed "$1" "$2 http://127.0.0.1:$port/$3?%d"
    until_ended
}
keyed() { # COUNT PATH: each has a key of its own
    for _ in $(seq "$1"); do give "POST http://127.0.0.1:$port/$2?%d key$((number + 1))"; done
}

start_nginx
begin
tell "all is well"
requests 100 GET well
requests 1 GET late
tell "nginx closes connections, all is done"
requests 10 GET order
requests 10 POST order
keyed 5 order-with-key
until_ended
feed 5 "MKCOL http://127.0.0.1:$port/create/%d/"
until_ended
give "MKCOL http://127.0.0.1:$folders/create/there/"
until_ended
tell "nginx does not wait for its backend"
requests 5 POST late
tell "nginx is busy, and says for how long"
requests 2 GET busy
requests 2 POST busy
requests 1 GET far
tell "its answer is cut off behind the header"
requests 2 POST cut_off
tell "nginx sends elsewhere"
requests 5 GET moved
requests 5 POST moved
tell "another request with the same key is at work"
keyed 1 conflict
requests 1 POST conflict
tell "nobody has signed nginx's certificate"
feed 1 "GET https://127.0.0.1:$secure/signed?%d"
until_ended
freeze
tell "nginx is frozen"
feed 1 "POST http://127.0.0.1:$port/frozen?%d"
feed 1 "GET http://127.0.0.1:$port/frozen?%d"
keyed 1 frozen
until_shown "ATTEMPT_TIMED_OUT\|SOCKET_NOT_AVAILABLE" 2
tell "nginx goes on"
thaw
until_ended
slay
tell "nginx is killed"
feed 1 "GET http://127.0.0.1:$port/again?%d"
feed 1 "POST http://127.0.0.1:$port/again?%d"
until_shown SOCKET_NOT_AVAILABLE 3
tell "nginx is started again"
start_nginx
until_ended
end
slay
echo "GET http://127.0.0.1:$port/term" | "$program" >"$folder/told" &
client=$!
until_true "the program does not wait" grep -q -s SOCKET_NOT "$folder/told"
kill -s TERM $client
until_over 2>/dev/null

# Of each operation: how often it was carried out, and how it ended.
awk '{ sub(/:.*/, "", $4); sub(/^https?:[/][/][^/]*/, "", $3) }
     FILENAME ~ /orders/ { times[$1 " " $2]++ }
     FILENAME !~ /orders/ && /^(done|perhaps|failed) / { ended[$2 " " $3] = $1 }
     END { for (o in ended) print ended[o], times[o] + 0, o
           for (o in times) if (!(o in ended)) print "unknown", times[o], o }' \
    "$folder/orders.log" "$folder/out" >"$folder/sums"
operations() { awk -v like="$1" '$0 ~ like { n++ } END { print n + 0 }' "$folder/sums"; }
twice=$(operations '^[a-z]* ([2-9]|..+) POST')
lost=$(operations '^done 0')
denied=$(operations '^failed [1-9]')
verdict "No POST was carried out twice ($twice)." test "$twice" -eq 0
verdict "Everything that was reported done was carried out ($lost was not)." test "$lost" -eq 0
verdict "Nothing that was reported failed was ($denied)." test "$denied" -eq 0
verdict "nginx has carried out nothing else." test "$(operations '^unknown')" -eq 0
verdict "Each POST that was done and not answered is perhaps done." \
    test "$(operations '^perhaps 1 POST .(order|late)[?]')" -eq 15
verdict "A POST with a key is done." test "$(operations '^done 1 POST .order-with-key')" -eq 5
made=$(find "$folder/made/create" -name '[0-9]*' | grep -c .)
verdict "What was created and not answered is done; what was there before is not." \
    test "$made:$(count '^done MKCOL'):$(count '^failed MKCOL')" = 5:5:1
gaps() { awk '$3 ~ /busy|cut_off/ { if ($3 in at) print ($1 - at[$3] >= 0.99); at[$3] = $1 }' "$folder/access.log"; }
verdict "Who was told to wait a second did so." test "$(gaps | tr -d '\n')" = 1111
verdict "Who is told that by half an answer knows that nothing was done." \
    test "$(operations '^done 1 POST .cut_off')" -eq 2
verdict "Who is sent elsewhere goes there." test "$(operations '^done 1 [A-Z]* .moved')" -eq 10
verdict "Who was told to wait for 16 h says so." test "$(count 'try again in 57600 s')" -eq 1
verdict "SIGTERM ends a wait, and the operation is reported." \
    test "$client_status:$(tail -n 1 "$folder/told" | cut -d ' ' -f 1)" = 143:failed
of() { operations "^$1 . $2"; }
measure <<END
nginx did what it was asked for, and then closed the connection, or answered
503 for a late backend: $(of done "GET .order") of 10 GETs are done, $(of perhaps "POST .(order|late)[?]") of 15 POSTs are perhaps done,
$(of done "POST .order-with") of 5 POSTs with a key are done, and $(of done "MKCOL .create") of 5 creates. $twice POSTs were done twice.
END
exit $status
