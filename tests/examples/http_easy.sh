#!/bin/sh
# http_easy on a real nginx, whose access log is the judge. Usage: http_easy.sh PROGRAM [careless]
. "$(dirname "$0")/server.sh"

nginx=/usr/sbin/nginx
[ -x $nginx ] || nginx=nginx

# A certificate that nobody has signed, on a second port.
secure=$((port + 1))
while port=$secure listens; do secure=$((secure + 1)); done
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -keyout "$folder/key.pem" \
    -out "$folder/certificate.pem" >"$folder/openssl.log" 2>&1 || give_up "openssl has failed"

# /order: whoever uses a connection a second time has his request read, and no answer.
# /busy, /soon and /conflict: the first request for a URL is refused; the rate limit tells it from
# the others.
cat >"$folder/nginx.conf" <<END
daemon off; master_process off; error_log error.log; pid nginx.pid;
events { worker_connections 256; }
http {
  log_format requests '\$request_method http://\$host:\$server_port\$request_uri \$status \$http_idempotency_key';
  access_log access.log requests;
  client_body_temp_path temp; proxy_temp_path temp; fastcgi_temp_path temp;
  uwsgi_temp_path temp; scgi_temp_path temp;
  limit_req_zone \$request_uri zone=first:1m rate=1r/m;
  server {
    listen 127.0.0.1:$port;
    limit_req_status 599;
    error_page 599 = @answer;
    location / { return 200 'ok\n'; }
    location @answer { return 200 'ok\n'; }
    location @busy { add_header Retry-After 1 always; return 503; }
    location /busy { limit_req zone=first; try_files /none @busy; }
    location @soon { add_header Retry-After-Ms 321 always; return 503; }
    location /soon { limit_req zone=first; try_files /none @soon; }
    location @conflict { return 409; }
    location /conflict { limit_req zone=first; try_files /none @conflict; }
    location /order {
      if (\$connection_requests != 1) { return 444; }
      return 200 'ok\n';
    }
  }
  server {
    listen 127.0.0.1:$secure ssl;
    ssl_certificate certificate.pem; ssl_certificate_key key.pem;
  }
}
END
start_nginx() { start "$nginx" -p "$folder" -e error.log -c nginx.conf; }
requests() { # COUNT PATH: of both kinds, by turns
    for _ in $(seq "$1"); do
        feed 1 "GET http://127.0.0.1:$port/$2?%d"
        feed 1 "POST http://127.0.0.1:$port/$2?%d"
    done
}
keyed() { give "POST http://127.0.0.1:$port/$1?%d key$((number + 1))"; } # PATH

start_nginx
begin $careless
tell "nginx hangs up on reused connections"
requests 10 order
until_ended
for _ in 1 2 3 4 5; do keyed order; done
until_ended
tell "nginx is busy, and says for how long"
requests 1 busy
requests 1 soon
until_ended
tell "another request with the same key is at work"
keyed conflict
feed 1 "POST http://127.0.0.1:$port/conflict?%d"
until_ended
tell "nobody has signed nginx's certificate"
feed 1 "GET https://127.0.0.1:$secure/signed?%d"
until_ended
freeze
tell "nginx is frozen"
feed 1 "POST http://127.0.0.1:$port/frozen?%d"
feed 1 "GET http://127.0.0.1:$port/frozen?%d"
keyed frozen
until_shown ATTEMPT_TIMED_OUT 2
tell "nginx goes on"
thaw
until_ended
slay
tell "nginx is killed"
requests 1 again
until_shown SOCKET_NOT_AVAILABLE 3
tell "nginx is started again"
start_nginx
until_ended
end

# By the log a request may have taken effect unless nginx refused it: 444 and 499 tell nobody. A
# server that knows keys takes a request with the same key for the same one.
awk 'FNR == 1 { file++ }
     file == 1 && ($2 in key) && key[$2] != $4 { mixed++ }
     file == 1 { repeated += $4 ~ /^key/ && ($2 in key); key[$2] = $4 }
     file == 1 && $3 != 503 && $3 != 409 && !($4 ~ /^key/ && seen[$2 " " $4]++) { effects[$1 " " $2]++ }
     file == 2 && /^(done|perhaps|failed) / {
         sub(/:$/, "", $3); n = effects[$2 " " $3] + 0; ended[$2 " " $3] = 1
         lost += $1 == "done" && n == 0
         denied += $1 == "failed" && n > 0
         twice += $2 == "POST" && n > 1 }
     END { for (request in effects) unexplained += !(request in ended)
           print lost + 0, denied + 0, twice + 0, unexplained + 0, repeated + 0, mixed + 0 }' \
    "$folder/access.log" "$folder/out" >"$folder/sums"
read -r lost denied twice unexplained repeated mixed <"$folder/sums"
echo "nginx read $(grep -c ^POST "$folder/access.log") POSTs" \
    "for $(count '^[a-z]* POST') operations, and refused $(grep -c '^POST.* 503 ' "$folder/access.log") of them"
verdict "No POST took effect twice ($twice)." test "$twice" -eq 0
verdict "Everything that was reported done reached nginx ($lost did not)." test "$lost" -eq 0
verdict "Nothing that was reported failed reached it ($denied did)." test "$denied" -eq 0
verdict "$repeated POSTs with a key were sent again, with the same key." \
    test "$((repeated > 2)):$mixed" = 1:0
verdict "nginx's log has nothing else ($unexplained)." test "$unexplained" -eq 0
exit $status
