/* Fuzz target for header values: any bytes get the verdict and the delay of a naive reader of
   Retry-After, which counts days year by year, and of grpc-retry-pushback-ms. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include <string.h>

#include "replay.h"

#define UNTOUCHED 0x55555555u
#define YEARS 10000

static const char *const weekdays[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                       "Friday", "Saturday", "Sunday"};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static int32_t first_day[YEARS + 1]; /* of a year, from 1970 on */

static int32_t days_of_year(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 366 : 365;
}

static void count_days(void)
{
    int year;
    if (first_day[0] != 0)
        return;
    for (year = 1969; year >= 0; year--)
        first_day[year] = first_day[year + 1] - days_of_year(year);
    for (year = 1970; year < YEARS; year++)
        first_day[year + 1] = first_day[year] + days_of_year(year);
}

static int days_of_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month] + (month == 1 && days_of_year(year) == 366);
}

struct text {
    const char *at;
    size_t left;
};

static bool take(struct text *text, const char *word, size_t length)
{
    if (text->left < length || memcmp(text->at, word, length) != 0)
        return false;
    text->at += length;
    text->left -= length;
    return true;
}

/* Which of the names, by its first `length` bytes (0: all); -1: none. */
static int take_name(struct text *text, const char *const *names, int count, size_t length)
{
    int i;
    for (i = 0; i < count; i++)
        if (take(text, names[i], length ? length : strlen(names[i])))
            return i;
    return -1;
}

/* So many digits; -1: there are none. */
static int take_number(struct text *text, int digits)
{
    int number = 0;
    for (; digits != 0; digits--) {
        if (text->left == 0 || *text->at < '0' || *text->at > '9')
            return -1;
        number = number * 10 + (*text->at++ - '0');
        text->left--;
    }
    return number;
}

struct date {
    int year, month, day, hour, minute, second;
};

static bool take_clock(struct text *text, struct date *date)
{
    date->hour = take_number(text, 2);
    if (!take(text, ":", 1))
        return false;
    date->minute = take_number(text, 2);
    if (!take(text, ":", 1))
        return false;
    date->second = take_number(text, 2);
    return date->hour >= 0 && date->hour < 24 && date->minute >= 0 && date->minute < 60 &&
           date->second >= 0 && date->second <= 60;
}

/* Sun, 06 Nov 1994 08:49:37 GMT */
static bool take_fixdate(struct text text, struct date *date)
{
    if (take_name(&text, weekdays, 7, 3) < 0 || !take(&text, ", ", 2))
        return false;
    date->day = take_number(&text, 2);
    if (!take(&text, " ", 1) || (date->month = take_name(&text, months, 12, 0)) < 0 ||
        !take(&text, " ", 1))
        return false;
    date->year = take_number(&text, 4);
    return take(&text, " ", 1) && take_clock(&text, date) && take(&text, " GMT", 4) &&
           text.left == 0;
}

/* The latest year with these digits at most 50 years ahead. */
static int full_year(int digits, int64_t unix_seconds)
{
    int year;
    for (year = YEARS - 100 + digits; year >= 100; year -= 100)
        if (year >= 50 && (int64_t)first_day[year - 50] * 86400 <= unix_seconds)
            break;
    return year;
}

/* Sunday, 06-Nov-94 08:49:37 GMT */
static bool take_rfc850(struct text text, struct date *date, int64_t unix_seconds)
{
    if (take_name(&text, weekdays, 7, 0) < 0 || !take(&text, ", ", 2))
        return false;
    date->day = take_number(&text, 2);
    if (!take(&text, "-", 1) || (date->month = take_name(&text, months, 12, 0)) < 0 ||
        !take(&text, "-", 1))
        return false;
    date->year = take_number(&text, 2);
    if (date->year < 0)
        return false;
    date->year = full_year(date->year, unix_seconds);
    return take(&text, " ", 1) && take_clock(&text, date) && take(&text, " GMT", 4) &&
           text.left == 0;
}

/* Sun Nov  6 08:49:37 1994 */
static bool take_asctime(struct text text, struct date *date)
{
    if (take_name(&text, weekdays, 7, 3) < 0 || !take(&text, " ", 1) ||
        (date->month = take_name(&text, months, 12, 0)) < 0 || !take(&text, " ", 1))
        return false;
    date->day = take(&text, " ", 1) ? take_number(&text, 1) : take_number(&text, 2);
    if (!take(&text, " ", 1) || !take_clock(&text, date) || !take(&text, " ", 1))
        return false;
    date->year = take_number(&text, 4);
    return text.left == 0;
}

static bool naive_date(const char *value, size_t length, int64_t unix_seconds, int64_t *seconds)
{
    struct text text = {value, length};
    struct date date;
    int month;
    int64_t days;
    if (!take_fixdate(text, &date) && !take_rfc850(text, &date, unix_seconds) &&
        !take_asctime(text, &date))
        return false;
    if (date.year < 0 || date.day < 1 || date.day > days_of_month(date.year, date.month))
        return false;
    days = first_day[date.year] + date.day - 1;
    for (month = 0; month < date.month; month++)
        days += days_of_month(date.year, month);
    *seconds = ((days * 24 + date.hour) * 60 + date.minute) * 60 + date.second;
    return true;
}

/* Digits alone; saturates. */
static bool naive_digits(const char *value, size_t length, uint64_t *number)
{
    size_t i;
    *number = 0;
    for (i = 0; i < length; i++) {
        if (value[i] < '0' || value[i] > '9')
            return false;
        if (*number <= UINT32_MAX)
            *number = *number * 10 + (uint64_t)(value[i] - '0');
    }
    return length != 0;
}

/* Digits, and at most one point with digits behind it, in ms, rounded up; saturates. */
static bool naive_seconds(const char *value, size_t length, uint64_t *ms)
{
    const char *point = (const char *)memchr(value, '.', length);
    size_t whole = point ? (size_t)(point - value) : length, i;
    uint64_t part = 0;
    bool more = false;
    if (!naive_digits(value, whole, ms) || (point && whole + 1 == length))
        return false;
    for (i = whole + 1; i < length; i++)
        if (value[i] < '0' || value[i] > '9')
            return false;
    for (i = whole + 1; i <= whole + 3; i++)
        part = part * 10 + (i < length ? (uint64_t)(value[i] - '0') : 0);
    for (; i < length; i++)
        more = more || value[i] != '0';
    *ms = *ms * 1000 + part + more;
    return true;
}

static bool is_blank(char c)
{
    return c != 0 && strchr(" \t\r\n", c);
}

static bool naive_retry_after(const char *value, size_t length, int64_t unix_seconds,
                              retry_ms *delay)
{
    uint64_t ms;
    int64_t date;
    while (length != 0 && is_blank(value[length - 1]))
        length--;
    while (length != 0 && is_blank(*value)) {
        value++;
        length--;
    }
    if (!naive_seconds(value, length, &ms)) {
        if (unix_seconds == INT64_MIN || /* no clock */
            !naive_date(value, length, unix_seconds, &date))
            return false;
        ms = 0;
        if (date > unix_seconds)
            ms = (uint64_t)date - (uint64_t)unix_seconds;
        ms = ms > UINT32_MAX ? UINT32_MAX : ms * 1000;
    }
    *delay = ms > UINT32_MAX ? UINT32_MAX : (retry_ms)ms;
    if (ms == 0)
        *delay = 1; /* 0 is for no header */
    return true;
}

static void check_retry_after(const char *value, size_t length, int64_t unix_seconds)
{
    retry_ms got = UNTOUCHED, expected = UNTOUCHED;
    bool ok = naive_retry_after(value, length, unix_seconds, &expected);
    REQUIRE(retry_parse_retry_after(value, length, unix_seconds, &got) == ok);
    REQUIRE(got == expected);
    REQUIRE(!retry_parse_retry_after(value, length, unix_seconds, NULL));
}

static void check_pushback(const char *value, size_t length)
{
    retry_failure got, expected;
    uint64_t number;
    bool good = naive_digits(value, length, &number) && number <= INT32_MAX &&
                (length == 1 || value[0] != '0');
    memset(&got, 0, sizeof got);
    memset(&expected, 0, sizeof expected);
    expected.pushback = true;
    expected.retry_after = good ? (retry_ms)number : UINT32_MAX;
    REQUIRE(retry_parse_pushback(value, length, &got));
    REQUIRE(got.retry_after == expected.retry_after && got.pushback);
    got.retry_after = 0;
    got.pushback = false;
    memset(&expected, 0, sizeof expected);
    REQUIRE(memcmp(&got, &expected, sizeof got) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t clocks[] = {0,          784111777,    946684789,    1774483200,
                                     4102444800, 253402300799, -62167219200, -1,
                                     INT64_MIN,  INT64_MAX};
    const char *text = (const char *)data;
    int64_t clock = 0;
    size_t i;
    count_days();
    for (i = 0; i < sizeof clocks / sizeof clocks[0]; i++)
        check_retry_after(text, size, clocks[i]);
    for (i = 0; i < size; i++) /* within 10,000 years, by the text */
        clock = (clock * 31 + data[i]) % INT64_C(320000000000);
    check_retry_after(text, size, clock - INT64_C(65000000000));
    check_pushback(text, size);
    return 0;
}
