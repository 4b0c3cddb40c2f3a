/* server.h: a real nginx that fails by a script, for http_curl.c. It runs in the foreground as
   a child, on free ports of 127.0.0.1, with all its files in a folder of its own. Beside it stand
   what nginx cannot be: a port where nobody listens, one that never answers, and a server that
   closes in the middle of a header. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "../plumbing.h"

#include <poll.h>
#include <sys/stat.h>

/* ---- The script ---------------------------------------------------------------------------- */

enum { FRONT, LATE, DEAD, CUT, SILENT, PORTS };

typedef struct http_step {
    const char *method, *path;
    uint8_t port;
    bool ends_well; /* when whoever asks tries again where that is safe, and only there */
    const char *behaviour;
} http_step;

static const http_step script[] = {
    {"GET", "/hello", FRONT, true, "answers"},
    {"GET", "/late", LATE, true, "starts 0.6 s late"},
    {"POST", "/late", LATE, true, "starts 0.6 s late"},
    {"GET", "/hangup", FRONT, true, "resets once"},
    {"POST", "/hangup", FRONT, false, "resets once"},
    {"GET", "/stall", FRONT, true, "is silent once"},
    {"POST", "/stall", FRONT, false, "is silent once"},
    {"GET", "/busy", FRONT, true, "503, Retry-After: 1"},
    {"POST", "/busy", FRONT, false, "503, Retry-After: 1"},
    {"POST", "/drop", FRONT, false, "503, then resets"},
    {"GET", "/until", FRONT, true, "503, until <date>"},
    {"GET", "/closed", FRONT, false, "503, for an hour"},
    {"GET", "/limit?1", FRONT, true, "429 if too fast"},
    {"POST", "/limit?2", FRONT, true, "429 if too fast"},
    {"GET", "/broken", FRONT, true, "500 twice"},
    {"POST", "/broken", FRONT, false, "500 twice"},
    {"GET", "/missing", FRONT, false, "404"},
    {"GET", "/nobody", DEAD, false, "nobody listens"},
    {"GET", "/cut", CUT, false, "closes mid-header"},
};

enum {
    STEPS = sizeof script / sizeof script[0],
    LATE_MS = 600,
    DATE_SECONDS = 2,
    FOLDER_SIZE = 256
};

/* A rate limit of one request a minute for each method and path tells the first request (or, with a
   burst, the first two), which meets the fault, from the later ones: those are over the limit,
   which here means that they are answered. /limit has a rate limit as anybody would use it. */
#define NGINX_CONFIGURATION                                                          \
    "daemon off; master_process off; error_log error.log; pid nginx-%u.pid;\n"       \
    "events { worker_connections 256; }\n"                                           \
    "http {\n"                                                                       \
    "  log_format requests '$request_method $request_uri $status';\n"                \
    "  access_log access.log requests;\n"                                            \
    "  client_body_temp_path temp; proxy_temp_path temp; fastcgi_temp_path temp;\n"  \
    "  uwsgi_temp_path temp; scgi_temp_path temp;\n"                                 \
    "  reset_timedout_connection on; # 444 resets\n"                                 \
    "  limit_req_zone $request_method$uri zone=first:1m rate=1r/m;\n"                \
    "  limit_req_zone $server_name zone=limited:1m rate=2r/s;\n"                     \
    "  map $status $wait { 429 1; default ''; } # an empty header is not sent\n"     \
    "  server {\n"                                                                   \
    "    listen 127.0.0.1:%u;\n"                                                     \
    "    server_name localhost;\n"                                                   \
    "    limit_req_status 599;\n"                                                    \
    "    error_page 599 = @answer;\n"                                                \
    "    location @answer { return 200 'ok\\n'; }\n"                                 \
    "    location @hangup { return 444; }\n"                                         \
    "    location @stall  { proxy_pass http://127.0.0.1:%u; }\n"                     \
    "    location @busy   { add_header Retry-After 1 always; return 503; }\n"        \
    "    location @until  { add_header Retry-After '%s' always; return 503; }\n"     \
    "    location @broken { return 500; }\n"                                         \
    "    location /       { return 200 'ok\\n'; }\n"                                 \
    "    location /missing { return 404; }\n"                                        \
    "    location /half { # of a 404: its text does not come\n"                      \
    "      keepalive_timeout 0; proxy_method HEAD;\n"                                \
    "      proxy_pass http://127.0.0.1:$server_port/missing;\n"                      \
    "    }\n"                                                                        \
    "    location /closed { add_header Retry-After 3600 always; return 503; }\n"     \
    "    location /hangup { limit_req zone=first; try_files /none @hangup; }\n"      \
    "    location /stall  { limit_req zone=first; try_files /none @stall; }\n"       \
    "    location /busy   { limit_req zone=first; try_files /none @busy; }\n"        \
    "    location /drop {\n"                                                         \
    "      limit_req zone=first; error_page 599 = @hangup; try_files /none @busy;\n" \
    "    }\n"                                                                        \
    "    location /until  { limit_req zone=first; try_files /none @until; }\n"       \
    "    location /broken {\n"                                                       \
    "      limit_req zone=first burst=1 nodelay; try_files /none @broken;\n"         \
    "    }\n"                                                                        \
    "    location /limit {\n"                                                        \
    "      limit_req zone=limited; limit_req_status 429;\n"                          \
    "      add_header Retry-After $wait always; try_files /none @answer;\n"          \
    "    }\n"                                                                        \
    "  }\n"                                                                          \
    "}\n"

/* ---- Processes ----------------------------------------------------------------------------- */

typedef struct http_server {
    char folder[FOLDER_SIZE];
    uint16_t ports[PORTS];
    int reserved[PORTS]; /* the sockets that keep the ports */
    pid_t front, late, cut;
} http_server;

/* Starts a program as a child, but waits a while first. It ends with the status 127 if there is no
   such program. */
static inline pid_t start_later(unsigned ms, char *const arguments[])
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    child_begin(parent);
    pause_ms(ms);
    execvp(arguments[0], arguments);
    _exit(127);
}

static inline FILE *open_in(const char *folder, const char *name, const char *mode)
{
    char path[FOLDER_SIZE + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, mode);
}

/* An empty file; exits with a message if that is not possible. */
static inline FILE *open_or_exit(const char *folder, const char *name)
{
    FILE *file = open_in(folder, name, "w");
    if (file)
        return file;
    perror(folder);
    exit(2);
}

/* Makes a folder and those above it, as far as they are not there. */
static inline void make_folder(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    mkdir(path, 0777);
}

/* Writes the configuration of an nginx that listens on the port. */
static inline void configure(const http_server *server, uint16_t port, const char *name)
{
    char date[40];
    time_t until = time(NULL) + DATE_SECONDS;
    struct tm utc;
    FILE *file = open_or_exit(server->folder, name);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&until, &utc));
    fprintf(file, NGINX_CONFIGURATION, port, port, server->ports[SILENT], date);
    fclose(file);
}

/* Starts nginx after a while. Debian's stands where only root's PATH leads. */
static inline pid_t start_nginx(http_server *server, uint16_t port, unsigned ms)
{
    static char *programs[] = {"/usr/sbin/nginx", "nginx"};
    char name[32];
    char *arguments[] = {programs[access(programs[0], X_OK) != 0],
                         "-p",
                         server->folder,
                         "-e",
                         "error.log",
                         "-c",
                         name,
                         NULL};
    snprintf(name, sizeof name, "nginx-%u.conf", port);
    configure(server, port, name);
    return start_later(ms, arguments);
}

/* Waits until a child's port is open. False if the child has ended, or after 10 s. */
static inline bool wait_until_open(pid_t child, uint16_t port)
{
    for (int tries = 0; tries < 1000; tries++) {
        int fd = tcp_connect(port);
        struct pollfd writable = {fd, POLLOUT, 0};
        bool open = fd >= 0 && poll(&writable, 1, 100) == 1 && tcp_connected(fd);
        if (fd >= 0)
            close(fd);
        if (open)
            return true;
        if (child <= 0 || waitpid(child, NULL, WNOHANG) != 0)
            return false;
        pause_ms(10);
    }
    return false;
}

/* Answers everybody with half a header. Never returns. */
static inline void cut_everybody_off(int listener)
{
    static const char half[] = "HTTP/1.1 200 OK\r\nContent-Le";
    char request[1024];
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            continue;
        if (read(fd, request, sizeof request) > 0 && write(fd, half, sizeof half - 1) > 0)
            shutdown(fd, SHUT_WR);
        close(fd);
    }
}

static inline pid_t start_cutting(int listener)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        int fd = dup2(listener, 64); /* beyond what child_begin closes */
        child_begin(parent);
        cut_everybody_off(fd);
    }
    return pid;
}

/* Starts all but the late one. Exits with a message if that is not possible. */
static inline void http_server_start(http_server *server, const char *folder, const char *name)
{
    snprintf(server->folder, sizeof server->folder, "%s/%s", folder, name);
    make_folder(server->folder);
    fclose(open_or_exit(server->folder, "access.log"));
    for (int i = 0; i < PORTS; i++)
        server->reserved[i] = tcp_reserve_port(&server->ports[i]);
    listen(server->reserved[SILENT], 16);
    listen(server->reserved[CUT], 16);
    server->cut = start_cutting(server->reserved[CUT]);
    server->front = start_nginx(server, server->ports[FRONT], 0);
    if (wait_until_open(server->front, server->ports[FRONT]))
        return;
    child_kill(server->cut);
    fprintf(stderr, "cannot start nginx (Debian: nginx-light); see %s/error.log\n", server->folder);
    exit(2);
}

/* From now on the late one is late. */
static inline void http_server_start_late(http_server *server)
{
    server->late = start_nginx(server, server->ports[LATE], LATE_MS);
}

static inline void http_server_stop(http_server *server)
{
    child_kill(server->front);
    child_kill(server->late);
    child_kill(server->cut);
    for (int i = 0; i < PORTS; i++)
        close(server->reserved[i]);
}

static inline void step_url(const http_server *server, const http_step *step, char *url,
                            size_t size)
{
    snprintf(url, size, "http://127.0.0.1:%u%s", server->ports[step->port], step->path);
}

/* How often, by nginx's access log, a request may have taken effect: 429 and 503 are a server's
   word that it has not; a reset (444), a client that stopped waiting (499) and 500 are not. */
static inline unsigned http_server_effects(const http_server *server, const http_step *step)
{
    char line[256], method[16], path[64];
    unsigned status, effects = 0;
    FILE *log = open_in(server->folder, "access.log", "r");
    while (log && fgets(line, sizeof line, log)) {
        if (sscanf(line, "%15s %63s %u", method, path, &status) == 3 && status != 429 &&
            status != 503 && strcmp(method, step->method) == 0 && strcmp(path, step->path) == 0)
            effects++;
    }
    if (log)
        fclose(log);
    return effects;
}

#endif /* HTTP_SERVER_H */
