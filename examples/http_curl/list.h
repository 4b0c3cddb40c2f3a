/* list.h: reads the list of http_curl.c. A line is URL or METHOD URL; white space separates,
   and a word that begins with '#' begins a comment. */
#ifndef HTTP_LIST_H
#define HTTP_LIST_H

#include <curl/curl.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { METHOD_SIZE = 8, URL_SIZE = 2048 };

typedef struct http_line {
    const char *method, *url; /* NULL: an empty line, or a comment */
} http_line;

static inline bool is_method(const char *word)
{
    static const char *const methods[] = {"GET",  "HEAD",   "OPTIONS", "PUT",
                                          "POST", "DELETE", "PATCH"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (strcmp(word, methods[i]) == 0)
            return true;
    }
    return false;
}

static inline bool is_url(const char *word)
{
    CURLU *url = curl_url();
    bool good = (strncasecmp(word, "http://", 7) == 0 || strncasecmp(word, "https://", 8) == 0) &&
                strlen(word) < URL_SIZE && curl_url_set(url, CURLUPART_URL, word, 0) == CURLUE_OK;
    curl_url_cleanup(url);
    return good;
}

/* Takes a text apart, in place. Returns what is wrong with it, or NULL. */
static inline const char *parse_line(char *text, size_t length, http_line *line)
{
    static const char space[] = " \t\r\n";
    char *rest = NULL, *words[3] = {NULL, NULL, NULL};
    size_t count = 0;
    line->method = line->url = NULL;
    if (strlen(text) != length)
        return "a NUL in it";
    for (char *word = strtok_r(text, space, &rest); word && *word != '#' && count < 3;
         word = strtok_r(NULL, space, &rest))
        words[count++] = word;
    if (count == 0)
        return NULL;
    if (count > 2)
        return "more than METHOD URL";
    if (count == 2 && !is_method(words[0]))
        return "no method of GET HEAD OPTIONS PUT POST DELETE PATCH";
    if (!is_url(words[count - 1]))
        return "no good http:// or https:// URL";
    line->method = count == 2 ? words[0] : "GET";
    line->url = words[count - 1];
    return NULL;
}

#endif /* HTTP_LIST_H */
