#!/bin/sh
# http_easy on a real nginx, whose access log is the judge. Usage: http_easy.sh PROGRAM [careless]
. "$(dirname "$0")/server.sh"

nginx=/usr/sbin/nginx
[ -x $nginx ] || nginx=nginx

# /order: whoever uses a connection a second time has his request read, and no answer.
# /busy: the first request for a URL is refused; the rate limit tells it from the others.
cat >"$folder/nginx.conf" <<END
daemon off; master_process off; error_log error.log; pid nginx.pid;
events { worker_connections 256; }
http {
  log_format requests '\$request_method http://\$host:\$server_port\$request_uri \$status';
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
    location /order {
      if (\$connection_requests != 1) { return 444; }
      return 200 'ok\n';
    }
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

start_nginx
begin $careless
tell "nginx hangs up on reused connections"
requests 10 order
until_ended
tell "nginx is busy, and says for how long"
requests 1 busy
until_ended
freeze
tell "nginx is frozen"
feed 1 "POST http://127.0.0.1:$port/frozen?%d"
feed 1 "GET http://127.0.0.1:$port/frozen?%d"
until_shown ATTEMPT_TIMED_OUT 2
thaw
until_ended
slay
tell "nginx is killed"
requests 1 again
until_shown SOCKET_NOT_AVAILABLE 3
start_nginx
tell "nginx is back"
until_ended
end

# By the log a request may have taken effect unless nginx refused it: 444 and 499 tell nobody.
awk 'FNR == 1 { file++ }
     file == 1 && $3 != 503 { effects[$1 " " $2]++ }
     file == 2 && /^(done|perhaps|failed) / {
         sub(/:$/, "", $3); n = effects[$2 " " $3] + 0; ended[$2 " " $3] = 1
         lost += $1 == "done" && n == 0
         denied += $1 == "failed" && n > 0
         twice += $2 == "POST" && n > 1 }
     END { for (request in effects) unexplained += !(request in ended)
           print lost + 0, denied + 0, twice + 0, unexplained + 0 }' \
    "$folder/access.log" "$folder/out" >"$folder/sums"
read -r lost denied twice unexplained <"$folder/sums"
echo "nginx read $(grep -c ^POST "$folder/access.log") POSTs" \
    "of $(count '^[a-z]* POST'); $(grep -c '^POST.* 503$' "$folder/access.log") it refused"
verdict "No POST took effect twice ($twice)." test "$twice" -eq 0
verdict "What was reported done reached nginx ($lost did not)." test "$lost" -eq 0
verdict "What was reported failed did not ($denied did)." test "$denied" -eq 0
verdict "nginx's log has nothing else ($unexplained)." test "$unexplained" -eq 0
exit $status
