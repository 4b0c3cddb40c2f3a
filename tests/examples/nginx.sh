# shellcheck shell=sh
# For scripts on nginx, which source this after server.sh: nginx in one process, in $folder.

nginx=/usr/sbin/nginx
[ -x $nginx ] || nginx=nginx

# write_configuration FILE HTTP: what stands in its http block
write_configuration() {
    cat >"$folder/$1" <<END
daemon off; master_process off; error_log error.log; pid $1.pid;
events { worker_connections 1024; }
http {
  client_body_temp_path temp; proxy_temp_path temp; fastcgi_temp_path temp;
  uwsgi_temp_path temp; scgi_temp_path temp;
  $2
}
END
}
# configure HTTP SERVER: one server on $port
configure() {
    write_configuration nginx.conf "$1
  server { listen 127.0.0.1:$port; $2 }"
}
start_nginx() { start "$nginx" -p "$folder" -e error.log -c nginx.conf; }
