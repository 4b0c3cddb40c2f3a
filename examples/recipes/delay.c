/* delay.c: only the delay, in a loop of one's own: it asks for a URL until it is answered.
       cc -o delay examples/recipes/delay.c -lcurl
       ./delay http://localhost/ */
#define _POSIX_C_SOURCE 200809L
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static CURL *curl;

static size_t ignore(char *data, size_t size, size_t count, void *context)
{
    (void)data;
    (void)context;
    return size * count;
}

static bool try_it(void)
{
    return curl_easy_perform(curl) == CURLE_OK;
}

static void sleep_ms(uint32_t delay)
{
    struct timespec rest = {(time_t)(delay / 1000), (long)(delay % 1000) * 1000000};
    printf("again in %u ms\n", (unsigned)delay);
    fflush(stdout);
    nanosleep(&rest, NULL);
}

int main(int argc, char **argv)
{
    curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, argc > 1 ? argv[1] : "http://localhost/");
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L); /* 503 ... */
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 1000L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
    /* README: */
    /* 100 ms doubling to 5 s, of which at least half; where you poll, draw once and keep it */
    for (uint32_t retries = 0; !try_it(); retries++)
        sleep_ms(retry_delay(100, 5000, retries, RETRY_RATIO(0.5), RETRY_RATIO(1), retry_draw()));
    /* end */
    printf("done\n");
    curl_easy_cleanup(curl);
}
