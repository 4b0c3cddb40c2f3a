/* Retry-After: seconds and the three date forms of RFC 9110, cut at every byte, changed at every
   byte, and against a calendar that counts day by day; dates alone, and against the answer's own.
 */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#include <stdlib.h>

#define UNTOUCHED 77777u
#define Y1999 INT64_C(946684799) /* Fri, 31 Dec 1999 23:59:59 GMT */
#define DAY INT64_C(86400)

/* Parses a copy on the heap of exactly `length` bytes: a sanitizer sees every byte read beyond. */
static bool parse_bytes(const char *value, size_t length, int64_t now, retry_ms *delay)
{
    char *memory = (char *)malloc(length ? length : 1);
    bool parsed;
    if (!memory) {
        printf("out of memory\n");
        exit(1);
    }
    memcpy(memory, value, length);
    parsed = retry_parse_retry_after(length ? memory : memory + 1, length, now, delay);
    free(memory);
    return parsed;
}

/* The same of a date alone; false leaves *seconds alone. */
static bool parse_date(const char *value, size_t length, int64_t year_now, int64_t *seconds)
{
    const int64_t before = *seconds;
    char *memory = (char *)malloc(length ? length : 1);
    bool parsed;
    if (!memory) {
        printf("out of memory\n");
        exit(1);
    }
    memcpy(memory, value, length);
    parsed = retry_parse_http_date(length ? memory : memory + 1, length, year_now, seconds);
    free(memory);
    CHECK(parsed || *seconds == before);
    return parsed;
}

static void check_date(int64_t expected, const char *value, int64_t year_now)
{
    int64_t seconds = UNTOUCHED;
    check_row("\"%s\" at %ld", value, (long)year_now);
    CHECK(parse_date(value, strlen(value), year_now, &seconds));
    CHECK(seconds == expected);
}

static void check_parsed(retry_ms expected, const char *value, int64_t now)
{
    retry_ms delay = UNTOUCHED;
    check_row("\"%s\" at %ld", value, (long)now);
    CHECK(parse_bytes(value, strlen(value), now, &delay));
    CHECK_EQUAL(expected, delay);
}

static void check_refused(const char *value, size_t length)
{
    retry_ms delay = UNTOUCHED;
    check_row("\"%.*s\"", (int)length, value);
    CHECK(!parse_bytes(value, length, 0, &delay));
    CHECK_EQUAL(UNTOUCHED, delay);
}

static void check_no_date(const char *value, size_t length)
{
    int64_t seconds = UNTOUCHED;
    check_refused(value, length);
    CHECK(!parse_date(value, length, 0, &seconds));
}

/* ---- seconds ------------------------------------------------------------------------------- */

static void test_seconds(void)
{
    static const struct {
        const char *value;
        retry_ms expected;
    } rows[] = {
        {"120", 120000},
        {"0", 1},
        {"1", 1000},
        {"00", 1},
        {"0120", 120000},
        {"000000000000000000000000000000000000000007", 7000},
        {"4294967", 4294967000u},
        {"4294968", UINT32_MAX},
        {"9223372037", UINT32_MAX},
        {"4294967296", UINT32_MAX},
        {"4294967297", UINT32_MAX},
        {"18446744073709551616", UINT32_MAX},
        {"18446744073709551617", UINT32_MAX},
        {"99999999999999999999999999999999999999999999999999", UINT32_MAX},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_parsed(rows[i].expected, rows[i].value, 0);
        check_parsed(rows[i].expected, rows[i].value, INT64_MAX);
        check_parsed(rows[i].expected, rows[i].value, INT64_MIN);
    }
}

/* RFC 9110 has whole seconds; servers send more. Rounded up to the next ms. */
static void test_fractions(void)
{
    static const struct {
        const char *value;
        retry_ms expected;
    } rows[] = {
        {"0.503", 503},
        {"2.0", 2000},
        {"299.997", 299997},
        {"1.5", 1500},
        {"1.0001", 1001},
        {"1.00000000000000000000000000000001", 1001},
        {"1.000000000000000000000000000000000000", 1000},
        {"0.0", 1}, /* there is a header */
        {"0.0009", 1},
        {"0.001", 1},
        {"0.0011", 2},
        {"00.5", 500},
        {"9.9999", 10000},
        {" 0.25\r\n", 250},
        {"4294967.295", UINT32_MAX},
        {"4294967.294", UINT32_MAX - 1},
        {"4294967.2941", UINT32_MAX},
        {"4294967.999999", UINT32_MAX},
        {"4294967296.5", UINT32_MAX},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_parsed(rows[i].expected, rows[i].value, 0);
        check_parsed(rows[i].expected, rows[i].value, INT64_MIN); /* needs no calendar */
    }
}

static void test_not_seconds(void)
{
    static const char *const values[] = {"",     "-1",    "+1",   "1.",    "12x",  "x12",
                                         " ",    "\r\n",  "1 2",  "0x10",  "1e3",  "1,2",
                                         "1\r2", "1\t2",  "--1",  "-",     ".",    ".5",
                                         "1:2",  "/",     ":",    "0:",    "12;",  "\"12\"",
                                         "one",  "12GMT", "-0",   "1_0",   "1\v",  "\f1",
                                         "1.5s", "1..5",  "1.5.", "1.5.2", "1. 5", "1 .5",
                                         "-1.5", "1.-5",  "1.5x", "..",    "1,5",  "1.5 2"};
    size_t i;
    for (i = 0; i < CHECK_COUNT(values); i++)
        check_refused(values[i], strlen(values[i]));
    check_refused("12", 3); /* with its zero byte */
    check_refused("\0", 1);
    check_refused("1\0"
                  "2",
                  3);
}

/* As a header's value comes out of a buffer. */
static void test_white_space(void)
{
    static const char *const around[] = {" %s",        "%s ",     "\t%s",
                                         "%s\t",       "%s\r\n",  "%s\n",
                                         " \t%s \r\n", "\r\n %s", "       %s       "};
    static const char *const values[] = {"12", "Fri, 31 Dec 1999 23:59:59 GMT",
                                         "Friday, 31-Dec-99 23:59:59 GMT",
                                         "Fri Dec 31 23:59:59 1999"};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(around); i++) {
        for (j = 0; j < CHECK_COUNT(values); j++) {
            char text[64];
            size_t before = strcspn(around[i], "%");
            memcpy(text, around[i], before);
            snprintf(text + before, sizeof text - before, "%s%s", values[j],
                     around[i] + before + 2);
            check_parsed(12000, text, Y1999 - 12);
        }
    }
}

/* ---- the three forms ----------------------------------------------------------------------- */

static const char *const same_instant[] = {
    "Fri, 31 Dec 1999 23:59:59 GMT",
    "Friday, 31-Dec-99 23:59:59 GMT",
    "Fri Dec 31 23:59:59 1999",
};

static void test_forms(void)
{
    static const struct {
        int64_t now;
        retry_ms expected;
    } rows[] = {{Y1999 - 10, 10000},
                {Y1999 - 1, 1000},
                {Y1999, 1},
                {Y1999 + 1, 1},
                {Y1999 + 1000 * DAY, 1},
                {0, UINT32_MAX},
                {Y1999 - 4294967, 4294967000u},
                {Y1999 - 4294968, UINT32_MAX}};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(same_instant); i++)
        for (j = 0; j < CHECK_COUNT(rows); j++)
            check_parsed(rows[j].expected, same_instant[i], rows[j].now);
}

static void test_real_dates(void)
{
    static const struct {
        const char *value;
        int64_t instant;
    } rows[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", INT64_C(784111777)},
        {"Sunday, 06-Nov-94 08:49:37 GMT", INT64_C(784111777)},
        {"Sun Nov  6 08:49:37 1994", INT64_C(784111777)},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Thu, 01 Jan 1970 00:00:01 GMT", 1},
        {"Wed, 31 Dec 1969 23:59:59 GMT", -1},
        {"Tue, 29 Feb 2000 12:00:00 GMT", INT64_C(951825600)},
        {"Thu, 29 Feb 2024 23:59:59 GMT", INT64_C(1709251199)},
        {"Tue, 19 Jan 2038 03:14:08 GMT", INT64_C(2147483648)},
        {"Sun, 07 Feb 2106 06:28:16 GMT", INT64_C(4294967296)},
        {"Fri, 31 Dec 9999 23:59:59 GMT", INT64_C(253402300799)},
        {"Fri Dec 31 23:59:59 9999", INT64_C(253402300799)},
        {"Mon, 01 Jan 1601 00:00:00 GMT", INT64_C(-11644473600)},
        {"Tue, 29 Feb 1600 00:00:00 GMT", INT64_C(-11670998400)},
    };
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_parsed(7000, rows[i].value, rows[i].instant - 7);
        check_parsed(1, rows[i].value, rows[i].instant);
        check_parsed(1, rows[i].value, rows[i].instant + 7);
        check_date(rows[i].instant, rows[i].value, rows[i].instant - 7);
        check_date(rows[i].instant, rows[i].value, rows[i].instant + 7);
    }
}

static const char *const not_dates[] = {
    "Fri, 31 Foo 1999 23:59:59 GMT",
    "Foo, 31 Dec 1999 23:59:59 GMT",
    "Fri, 32 Dec 1999 23:59:59 GMT",
    "Fri, 00 Dec 1999 23:59:59 GMT",
    "Fri, 31 Nov 1999 23:59:59 GMT",
    "Fri, 30 Feb 2000 23:59:59 GMT",
    "Fri, 29 Feb 1999 23:59:59 GMT",
    "Fri, 29 Feb 1900 23:59:59 GMT",
    "Fri, 29 Feb 2100 23:59:59 GMT",
    "Fri, 31 Dec 1999 24:00:00 GMT",
    "Fri, 31 Dec 1999 23:60:59 GMT",
    "Fri, 31 Dec 1999 23:59:61 GMT",
    "Fri, 31 Dec 1999 23:59:99 GMT",
    "Fri, 31 Dec 1999 23:59:59 UTC",
    "Fri, 31 Dec 1999 23:59:59 gmt",
    "Fri, 31 Dec 1999 23:59:59",
    "Fri, 31 Dec 1999 23:59:59 GMT ,",
    ", Fri, 31 Dec 1999 23:59:59 GMT",
    "Fri, 31 Dec 1999 23:59:59  GMT",
    "Fri,  31 Dec 1999 23:59:59 GMT",
    "Fri, 1 Dec 1999 23:59:59 GMT",
    "Fri, 31 Dec 99 23:59:59 GMT",
    "Fri, 31 Dec 19999 23:59:59 GMT",
    "Fri, 31-Dec-1999 23:59:59 GMT",
    "Fri, 31 Dec 1999 23.59.59 GMT",
    "Fri, 31 Dec 1999 3:59:59 GMT",
    "Fri; 31 Dec 1999 23:59:59 GMT",
    "Fri,31 Dec 1999 23:59:59 GMT",
    "fri, 31 dec 1999 23:59:59 GMT",
    "Fri, 31 DEC 1999 23:59:59 GMT",
    "Fri, 31 Dec -999 23:59:59 GMT",
    "Fri, -1 Dec 1999 23:59:59 GMT",
    "Fri, +1 Dec 1999 23:59:59 GMT",
    "Fri, 31 December 1999 23:59:59 GMT",
    "Friday, 31 Dec 1999 23:59:59 GMT",
    "Fri, 31-Dec-99 23:59:59 GMT",
    "Friday, 31-Dec-1999 23:59:59 GMT",
    "Friday, 31-Dec-9 23:59:59 GMT",
    "Friday, 31-Foo-99 23:59:59 GMT",
    "Friday 31-Dec-99 23:59:59 GMT",
    "Frixay, 31-Dec-99 23:59:59 GMT",
    "Friday, 31-Dec-99 23:59:59",
    "Friday, 32-Dec-99 23:59:59 GMT",
    "Friday, 31-Dec-99 24:59:59 GMT",
    "Fridayy, 31-Dec-99 23:59:59 GMT",
    "Friday, 31/Dec/99 23:59:59 GMT",
    "Fri Dec 31 23:59:59 99",
    "Fri Dec 31 23:59:59 1999 GMT",
    "Fri Dec 6 23:59:59 1999",
    "Fri Dec  0 23:59:59 1999",
    "Fri Dec 32 23:59:59 1999",
    "Fri Foo 31 23:59:59 1999",
    "Fri, Dec 31 23:59:59 1999",
    "Fri Dec 31 24:59:59 1999",
    "Friday Dec 31 23:59:59 1999",
    "Fri Dec 31 23:59:59 19990",
    "Fri",
    "Fri, ",
    ", 31 Dec 1999 23:59:59 GMT",
    "Fri, 31  1999 23:59:59 GMT",
    " Dec 31 23:59:59 1999",
    ", 31-Dec-99 23:59:59 GMT",
    "GMT",
    "Friday",
};

static void test_not_dates(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(not_dates); i++)
        check_no_date(not_dates[i], strlen(not_dates[i]));
}

/* RFC 9110 lets a minute have a 61st second. */
static void test_leap_second(void)
{
    static const char value[] = "Sat, 31 Dec 2016 23:59:60 GMT";
    retry_ms delay = UNTOUCHED;
    CHECK(parse_bytes(value, strlen(value), INT64_C(1483228799) - 5, &delay));
    CHECK_RANGE(5000, 6000, delay);
}

/* No beginning of a date is a date. */
static void test_truncated(void)
{
    size_t i, length;
    for (i = 0; i < CHECK_COUNT(same_instant); i++) {
        size_t whole = strlen(same_instant[i]);
        for (length = 0; length < whole; length++)
            check_no_date(same_instant[i], length);
        check_no_date(same_instant[i], whole + 1); /* with its zero byte */
    }
}

/* A changed byte gives nothing or another date: past, whole seconds or too long. Only a number may
   have got a fraction. */
static void test_changed(void)
{
    static const char *const values[] = {
        "Fri, 31 Dec 1999 23:59:59 GMT", "Friday, 31-Dec-99 23:59:59 GMT",
        "Fri Dec 31 23:59:59 1999", "Sun Nov  6 08:49:37 1994", "4294967"};
    size_t i, at;
    unsigned byte, parsed;
    for (i = 0; i < CHECK_COUNT(values); i++) {
        size_t length = strlen(values[i]);
        parsed = 0;
        for (at = 0; at < length; at++) {
            for (byte = 0; byte <= UINT8_MAX; byte++) {
                char changed[40];
                retry_ms delay = UNTOUCHED;
                bool ok;
                memcpy(changed, values[i], length);
                changed[at] = (char)byte;
                ok = parse_bytes(changed, length, Y1999 - 2000000, &delay);
                check_row("\"%.*s\"", (int)length, changed);
                CHECK(ok ? delay == 1 || (delay % 1000 == 0 && delay != 0) || delay == UINT32_MAX ||
                               (byte == '.' && length == 7)
                         : delay == UNTOUCHED);
                parsed += ok;
            }
        }
        check_row("\"%s\"", values[i]);
        CHECK_RANGE(length, length * 13, parsed); /* itself at every place, and some others */
    }
}

/* ---- the calendar -------------------------------------------------------------------------- */

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 1 && is_leap(year) ? 29 : days[month];
}

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char *const weekdays[] = {"Thursday", "Friday",  "Saturday", "Sunday",
                                       "Monday",   "Tuesday", "Wednesday"};

static void check_day(int year, int month, int day, int64_t instant)
{
    char text[48];
    size_t weekday = (size_t)(((instant / DAY) % 7 + 7) % 7);
    snprintf(text, sizeof text, "%.3s, %02d %s %04d 00:00:00 GMT", weekdays[weekday], day,
             months[month], year);
    check_parsed(5000, text, instant - 5);
    snprintf(text, sizeof text, "%.3s %s %2d 00:00:00 %04d", weekdays[weekday], months[month], day,
             year);
    check_parsed(5000, text, instant - 5);
    if (year < 1970 || year > 2069)
        return;
    snprintf(text, sizeof text, "%s, %02d-%s-%02d 00:00:00 GMT", weekdays[weekday], day,
             months[month], year % 100);
    check_parsed(5000, text, instant - 5);
}

/* Every day from 1890 to 2110, of the years to 2500 the ends of the months, then only of February,
   where the centuries differ. */
static bool is_checked(int year, int month, int day)
{
    bool end = day == 1 || day == days_in(year, month);
    if (year % CHECK_ONE_IN != 0)
        return false;
    return year < 2110 || (end && year < 2500) || (end && (month == 1 || month == 2));
}

static void test_every_day(void)
{
    int64_t instant = INT64_C(-2524521600); /* 1 January 1890 */
    int year, month, day;
    for (year = 1890; year < 10000; year++)
        for (month = 0; month < 12; month++)
            for (day = 1; day <= days_in(year, month); day++, instant += DAY)
                if (is_checked(year, month, day))
                    check_day(year, month, day, instant);
    CHECK_EQUAL(INT64_C(253402300800), instant); /* 1 January 10000 */
}

/* ---- two digits for a year ----------------------------------------------------------------- */

/* 1 July of a year at noon */
static int64_t middle_of(int year)
{
    int64_t instant = 181 * DAY + DAY / 2;
    int y;
    for (y = 1970; y < year; y++)
        instant += is_leap(y) ? 366 * DAY : 365 * DAY;
    return instant + (is_leap(year) ? DAY : 0);
}

/* The year is at most 50 years after that of the clock, and as late as that allows. */
static void test_two_digit_years(void)
{
    static const int clocks[] = {1970, 1999, 2000, 2024, 2049, 2050, 2051, 2099};
    size_t i;
    int digits;
    for (i = 0; i < CHECK_COUNT(clocks); i++) {
        for (digits = 0; digits < 100; digits++) {
            int latest = clocks[i] + 50;
            int year = latest - ((latest - digits) % 100 + 100) % 100;
            char text[48];
            retry_ms delay = UNTOUCHED;
            bool future = year > clocks[i];
            snprintf(text, sizeof text, "Friday, 01-Jan-%02d 00:00:00 GMT", digits);
            check_row("%s in %d", text, clocks[i]);
            CHECK(parse_bytes(text, strlen(text), middle_of(clocks[i]), &delay));
            CHECK_EQUAL(future ? UINT32_MAX : 1, delay);
        }
    }
}

/* Around the turn of a century, to the second: of the year that is told, and of the clock's. */
static void test_two_digit_turn(void)
{
    check_parsed(1, "Saturday, 01-Jan-50 00:00:00 GMT", Y1999);              /* 1950 */
    check_parsed(UINT32_MAX, "Saturday, 01-Jan-50 00:00:00 GMT", Y1999 + 1); /* 2050 */
    check_parsed(1000, "Saturday, 01-Jan-00 00:00:00 GMT", Y1999);
    check_parsed(1, "Friday, 31-Dec-99 23:59:59 GMT", Y1999 + 1);
    check_parsed(2000, "Friday, 31-Dec-99 23:59:59 GMT", Y1999 - 2);
}

/* ---- extremes ------------------------------------------------------------------------------ */

static void test_extreme_clocks(void)
{
    retry_ms delay = UNTOUCHED;
    check_parsed(UINT32_MAX, same_instant[0], INT64_MIN + 1);
    check_parsed(UINT32_MAX, same_instant[2], INT64_MIN + 1);
    check_parsed(1, same_instant[0], INT64_MAX);
    check_parsed(1, same_instant[2], INT64_MAX);
    check_parsed(1, "Sat, 01 Jan 0000 00:00:00 GMT", INT64_MAX);
    check_parsed(UINT32_MAX, "Fri, 31 Dec 9999 23:59:59 GMT", INT64_MIN + 1);
    check_parsed(1, "Sat, 01 Jan 0000 00:00:00 GMT", 0);
    /* in the year 20 there is no century to go back to but the first */
    check_parsed(1, "Saturday, 01-Jan-00 00:00:00 GMT", INT64_C(-61522934400));
    check_parsed(UINT32_MAX, "Saturday, 01-Jan-99 00:00:00 GMT", INT64_C(-61522934400));
    /* no such clock is right, but it must do no harm */
    parse_bytes(same_instant[1], strlen(same_instant[1]), INT64_MIN + 1, &delay);
    parse_bytes(same_instant[1], strlen(same_instant[1]), INT64_MAX, &delay);
    CHECK(delay == 1 || delay == UINT32_MAX);
}

/* A device without a calendar knows no date; a number of seconds it knows. */
static void test_no_calendar(void)
{
    retry_ms delay = UNTOUCHED;
    size_t i;
    for (i = 0; i < CHECK_COUNT(same_instant); i++) {
        check_row("%s", same_instant[i]);
        CHECK(!parse_bytes(same_instant[i], strlen(same_instant[i]), INT64_MIN, &delay));
        CHECK_EQUAL(UNTOUCHED, delay);
    }
    check_parsed(120000, "120", INT64_MIN);
}

/* ---- dates alone --------------------------------------------------------------------------- */

static void test_http_date(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(same_instant); i++) {
        char padded[64];
        check_date(Y1999, same_instant[i], Y1999 - 50 * 365 * DAY);
        check_date(Y1999, same_instant[i], Y1999 + 49 * 365 * DAY);
        snprintf(padded, sizeof padded, " %s\r\n", same_instant[i]);
        check_date(Y1999, padded, 0);
    }
    check_date(INT64_C(-62167219200), "Sat, 01 Jan 0000 00:00:00 GMT", 0);
    check_date(INT64_C(253402300799), "Fri, 31 Dec 9999 23:59:59 GMT", 0);
    check_date(INT64_C(253402300799), "Fri, 31 Dec 9999 23:59:59 GMT", INT64_MAX);
    check_date(0, "Thu, 01 Jan 1970 00:00:00 GMT", INT64_MIN);
    check_date(INT64_C(2524608000), "Saturday, 01-Jan-50 00:00:00 GMT", Y1999 + 1);
    check_date(INT64_C(-631152000), "Saturday, 01-Jan-50 00:00:00 GMT", Y1999);
    check_no_date("", 0);
    check_row("a number is no date");
    {
        int64_t seconds = UNTOUCHED;
        CHECK(!parse_date("784111777", 9, 0, &seconds));
        CHECK(!parse_date("0", 1, 0, &seconds));
        CHECK(!retry_parse_http_date(NULL, 0, 0, &seconds));
        CHECK(!retry_parse_http_date(NULL, 29, 0, &seconds));
        CHECK(seconds == UNTOUCHED);
        CHECK(!retry_parse_http_date(same_instant[0], strlen(same_instant[0]), 0, NULL));
    }
}

/* The server's own clock tells how long: the client's may be at 1970, a day fast or a minute slow.
 */
static void test_against_the_answers_date(void)
{
    static const struct {
        const char *date, *retry_after;
        retry_ms expected;
    } rows[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:07 GMT", 30000},
        {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:50:07 GMT", 30000},
        {"Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:50:07 GMT", 30000},
        {"Sunday, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-94 08:50:07 GMT", 30000},
        {"Fri, 31 Dec 1999 23:59:59 GMT", "Saturday, 01-Jan-00 00:00:00 GMT", 1000},
        {"Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 1999 23:59:59 GMT", 1},
        {"Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 1999 23:59:58 GMT", 1},
        {"Fri, 31 Dec 1999 23:59:59 GMT", "120", 120000},
    };
    static const int64_t clocks[] = {0, INT64_MIN, INT64_MAX, Y1999 - 60, Y1999 + DAY};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        for (j = 0; j < CHECK_COUNT(clocks); j++) {
            int64_t date = clocks[j];
            check_row("%s, clock %u", rows[i].retry_after, (unsigned)j);
            CHECK(parse_date(rows[i].date, strlen(rows[i].date), clocks[j], &date));
            check_parsed(rows[i].expected, rows[i].retry_after, date);
        }
    }
}

static void test_null(void)
{
    retry_ms delay = UNTOUCHED;
    CHECK(!retry_parse_retry_after(NULL, 0, 0, &delay));
    CHECK(!retry_parse_retry_after(NULL, 1, 0, &delay));
    CHECK_EQUAL(UNTOUCHED, delay);
    CHECK(!retry_parse_retry_after("5", 1, 0, NULL));
}

int main(void)
{
    RUN(test_seconds);
    RUN(test_fractions);
    RUN(test_not_seconds);
    RUN(test_white_space);
    RUN(test_forms);
    RUN(test_real_dates);
    RUN(test_not_dates);
    RUN(test_leap_second);
    RUN(test_truncated);
    RUN(test_changed);
    RUN(test_every_day);
    RUN(test_two_digit_years);
    RUN(test_two_digit_turn);
    RUN(test_extreme_clocks);
    RUN(test_no_calendar);
    RUN(test_http_date);
    RUN(test_against_the_answers_date);
    RUN(test_null);
    return check_done();
}
