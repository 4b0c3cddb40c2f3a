/* What other circuit breakers promise, as far as this one has it: gobreaker (Go), failsafe-go (Go),
   Polly (.NET), resilience4j (Java). Each row is a breaker's settings and a short story. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

/* The words of a story, each a letter or a sign, some with a number of their own:
   o x i   an attempt that is granted and answered; sick; never sent
   S       one that is granted, and answered after 5 s
   ( ) ] ~ one begins, and must be granted; the oldest under way is answered; is sick; is released
   !       one is refused
   +N      N ms go by
   *N      the word before it, N times in all
   C O H I the state must be CLOSED, OPEN, HALF_OPEN, ISOLATED
   =C ...  the state is set
   #A/B/R  A reports must be in the window, B of them sick, R of these in a row */
typedef struct story {
    const char *name;
    retry_breaker breaker;
    const char *text;
} story;

#define UNDER_WAY 16

static struct {
    retry_breaker breaker;
    retry_time now;
    retry_permit permits[UNDER_WAY];
    unsigned first, count;
    const char *at;
} play;

static retry_failure sick, unsent;

static uint32_t number(void)
{
    uint32_t value = 0;
    while (*play.at >= '0' && *play.at <= '9')
        value = value * 10 + (uint32_t)(*play.at++ - '0');
    return value;
}

static uint8_t state_of(char letter)
{
    return letter == 'C'   ? RETRY_BREAKER_CLOSED
           : letter == 'O' ? RETRY_BREAKER_OPEN
           : letter == 'H' ? RETRY_BREAKER_HALF_OPEN
                           : RETRY_BREAKER_ISOLATED;
}

static void begin(bool granted)
{
    retry_permit permit = retry_breaker_ask(&play.breaker, true, play.now);
    CHECK_EQUAL(granted, permit.granted);
    if (granted)
        play.permits[(play.first + play.count++) % UNDER_WAY] = permit;
}

static void end(const retry_failure *failure)
{
    retry_permit permit = play.permits[play.first++ % UNDER_WAY];
    play.count--;
    retry_breaker_report(&play.breaker, permit, failure, play.now);
}

/* An attempt from its beginning to its end, beside those under way. */
static void attempt(const retry_failure *failure, retry_ms took)
{
    retry_permit permit = retry_breaker_ask(&play.breaker, true, play.now);
    CHECK(permit.granted);
    play.now = check_after(play.now, took);
    retry_breaker_report(&play.breaker, permit, failure, play.now);
}

static void check_numbers(void)
{
    retry_breaker_counts counts = retry_breaker_get(&play.breaker, play.now);
    CHECK_EQUAL(number(), counts.reports);
    CHECK(*play.at++ == '/');
    CHECK_EQUAL(number(), counts.sick);
    CHECK(*play.at++ == '/');
    CHECK_EQUAL(number(), counts.in_a_row);
}

static void play_word(char word)
{
    switch (word) {
    case 'o':
        attempt(NULL, 0);
        break;
    case 'S':
        attempt(NULL, 5000);
        break;
    case 'x':
        attempt(&sick, 0);
        break;
    case 'i':
        attempt(&unsent, 0);
        break;
    case '(':
        begin(true);
        break;
    case '!':
        begin(false);
        break;
    case ')':
        end(NULL);
        break;
    case ']':
        end(&sick);
        break;
    case '~':
        play.count--;
        retry_breaker_release(&play.breaker, play.permits[play.first++ % UNDER_WAY], play.now);
        break;
    case '+':
        play.now = check_after(play.now, number());
        break;
    case '=':
        retry_breaker_set(&play.breaker, state_of(*play.at++), play.now);
        break;
    case '#':
        check_numbers();
        break;
    default:
        CHECK_EQUAL(state_of(word), retry_breaker_state(&play.breaker, play.now));
        break;
    }
}

static void play_story(const story *told, retry_time start)
{
    memset(&play, 0, sizeof play);
    play.breaker = told->breaker;
    play.now = start;
    play.at = told->text;
    while (*play.at != '\0') {
        char word = *play.at++;
        uint32_t times = 1;
        check_row("%s, start %" PRIu64 ", before \"%.12s\"", told->name, (uint64_t)start,
                  play.at - 1);
        if (word == ' ')
            continue;
        play_word(word);
        if (*play.at == '*') {
            play.at++;
            for (times = number(); times > 1; times--)
                play_word(word);
        }
        if (check_faults > 5)
            return;
    }
}

/* Settings: volume, ratio, window, open, probe_timeout, open_max, slow, in_a_row, probes. */
#define NEVER UINT32_MAX
#define BREAKER(volume, ratio, window, open, timeout, most, slow, row, probes)  \
    {                                                                           \
        volume, ratio, window, open, timeout, most, slow, row, probes, 0, 0, 0, \
        {                                                                       \
            0,                                                                  \
            {                                                                   \
                0, 0, 0, 0                                                      \
            }                                                                   \
        }                                                                       \
    }

/* clang-format off */
#define GOBREAKER BREAKER(NEVER, 0, 0, 60000, 0, 0, 0, 6, 0)
#define GOBREAKER_CUSTOM \
    BREAKER(3, RETRY_RATIO(0.6), 60000, 90000, 600000, 0, 0, 0, 3)
static const story gobreaker[] = {
    {"six in a row open it", GOBREAKER, "C x*5 C #5/5/5 o C #6/5/0 x C #7/6/1 x*4 C x O !*2"},
    {"60 s later it is half-open", GOBREAKER, "x*6 O +59000 O ! +999 O ! +1 H"},
    {"a sick probe opens it again", GOBREAKER, "x*6 +60000 H x O ! +59999 ! +1 H"},
    {"an answered probe closes it", GOBREAKER, "x*6 +60000 H o C #0/0/0"},
    {"one after the other, by two steps", GOBREAKER, "( ] ( ] ( ] ( ] ( ] C ( ) C ( ] C #7/6/1 ( ] ( ] ( ] ( ] ( ] O !"},
    {"nobody is let in beside the probe", GOBREAKER, "x*6 +60000 ( H !*5 ) C ( ( ( ) ) )"},
    {"half of ten are not 60 %", GOBREAKER_CUSTOM, "o C x o x o x o x C o x C #10/5/1"},
    {"two of three are", GOBREAKER_CUSTOM, "x o C x O #3/2/1 !"},
    {"old counts go", GOBREAKER_CUSTOM, "o x o x o x o x o x C +29999 o C #11/5/0 +60000 x C #1/1/1 o x O"},
    {"three answers close it", GOBREAKER_CUSTOM, "x*3 O +90000 H o o H ( H ! ) C #0/0/0"},
    {"three at once", GOBREAKER_CUSTOM, "x*3 +90000 (*3 !*2 ) H ) H ) C"},
    {"one sick of three opens it", GOBREAKER_CUSTOM, "x*3 +90000 o o H x O +89999 ! +1 H"},
    {"what was begun before it opened is void", GOBREAKER_CUSTOM, "(*2 x*3 O ) O ] O +90000 H"},
    {"what was begun before it closed is void", GOBREAKER_CUSTOM, "(*3 =O +90000 o*3 C #0/0/0 ]*3 C #0/0/0"},
    {"a probe of the round before is void", GOBREAKER_CUSTOM, "x*3 +90000 (*2 ] O +90000 H ) H o o H o C"},
    {"who is not sick does not open it", GOBREAKER, "o*100 C #100/0/0 i*100 C #100/0/0"},
};

#define FAILSAFE(volume, ratio, row) BREAKER(volume, ratio, 0, 1000, 0, 0, 0, row, 0)
static const story failsafe_go[] = {
    {"the first sick one opens the simplest", FAILSAFE(1, 0, 0), "C x O !"},
    {"three in a row", FAILSAFE(NEVER, 0, 3), "x o x x C x O"},
    {"two of three", FAILSAFE(3, RETRY_RATIO(2 / 3.0), 0), "x o C x O"},
    {"one of two, and the counts are there to be told", FAILSAFE(2, 0, 0), "o x O #2/1/1"},
    {"half is less than three of four", FAILSAFE(4, RETRY_RATIO(0.75), 0), "o x o x o x o x o x o x C o x o x o x C"},
    {"one after the other is not two in a row", FAILSAFE(NEVER, 0, 2), "o x o x o x o x o x o x C"},
    {"an answer leaves it closed", FAILSAFE(1, 0, 0), "o C o C"},
    {"counts", FAILSAFE(NEVER, 0, 0), "o x o x o x o #7/3/0 x o o o x #12/5/1"},
    {"opened by hand it refuses", FAILSAFE(1, 0, 0), "=O O !"},
    {"opened by hand it waits", FAILSAFE(1, 0, 0), "=O +999 O ! +1 H ( H )"},
    {"half-open by hand: sick", FAILSAFE(1, 0, 0), "=H H x O"},
    {"half-open by hand: answered", FAILSAFE(1, 0, 0), "=H H o C"},
    {"closed by hand", FAILSAFE(1, 0, 0), "x O =C C o C"},
    {"three successes close it", BREAKER(1, 0, 0, 1000, 0, 0, 0, 0, 3), "=H o H o H o C"},
    {"one sick after two answers opens it", BREAKER(1, 0, 0, 1000, 0, 0, 0, 2, 3), "=H o o H x O"},
    {"no more than three at once", BREAKER(1, 0, 0, 1000, 0, 0, 0, 0, 3), "=H (*3 !*5"},
    {"by time: what is older than the period does not count", BREAKER(2, RETRY_RATIO(0.6), 200, 1, 0, 0, 0, 0, 0), "x +210 x o +50 C x O"},
    {"by time: 50 % of three", BREAKER(3, 0, 200, 1, 0, 0, 0, 0, 0), "x o C +210 x o +50 o C x O +1 H x O +1 H o C"},
    {"a retry that it rejects is no execution", FAILSAFE(NEVER, 0, 3), "x*3 O !*4 #3/3/3"},
};

#define POLLY BREAKER(4, RETRY_RATIO(0.5), 10000, 30000, 30000, 0, 0, 0, 0)
static const story polly[] = {
    {"too few to say", POLLY, "x*3 C"},
    {"the fourth of four", POLLY, "x*4 O !"},
    {"half of four", POLLY, "o o x C x O"},
    {"a quarter of four, and more", POLLY, "o o o x C x x O"},
    {"a third", POLLY, "o o x C o o x C o o x C o o x C"},
    {"an answer in the end does not open it", POLLY, "x x x C o C x O"},
    {"what it does not handle does not count", POLLY, "i*10 C #0/0/0 x*3 C"},
    {"spread over the duration", POLLY, "x +2000 x +1000 x +1000 C x O"},
    {"older than the duration", POLLY, "x*3 +10000 x C x*2 C x O"},
    {"a new duration begins with nothing", POLLY, "o*9 x*4 C +20000 x*3 C x O"},
    {"in both halves", POLLY, "o x +4900 x C +200 x O"},
    {"thirty seconds", POLLY, "x*4 O +29999 O ! +1 H ("},
    {"one at first", POLLY, "x*4 +30000 ( H !*3"},
    {"one for each break, if the first says nothing", POLLY, "x*4 +30000 ( +29999 ! +1 ( H ! +30000 ( !"},
    {"it works: closed", POLLY, "x*4 +30000 o C #0/0/0 x*3 C x O"},
    {"it fails: open for the same time", POLLY, "x*4 +30000 x O +29999 ! +1 H o C"},
    {"late news of before does not prolong it", POLLY, "(*2 x*4 O +15000 ]*2 O +14999 ! +1 H"},
    {"isolated", POLLY, "C =I I ! =C C o"},
    {"isolated it stays, for all time", POLLY, "=I +30000 I ! +2000000000 I !"},
    {"isolated, though one was under way", POLLY, "( =I ) I !"},
    {"closed by hand, though it was opened by itself", POLLY, "x*4 O =C C o x x C"},
    {"isolated, closed, and broken again", POLLY, "=I =C x*4 O"},
    {"throughput 10, 10 %: 0 of 10", BREAKER(10, RETRY_RATIO(0.1), 0, 0, 0, 0, 0, 0, 0), "o*9 C o C"},
    {"throughput 10, 10 %: 1 of 10", BREAKER(10, RETRY_RATIO(0.1), 0, 0, 0, 0, 0, 0, 0), "o*9 x O"},
    {"throughput 10, 10 %: 1 of 11", BREAKER(10, RETRY_RATIO(0.1), 0, 0, 0, 0, 0, 0, 0), "o*10 x C"},
    {"throughput 10, 10 %: 2 of 11", BREAKER(10, RETRY_RATIO(0.1), 0, 0, 0, 0, 0, 0, 0), "o*9 C +1 x O"},
    {"throughput 10, 10 %: 1 of 9", BREAKER(10, RETRY_RATIO(0.1), 0, 0, 0, 0, 0, 0, 0), "o*8 x C"},
};

#define RESILIENCE BREAKER(5, RETRY_RATIO(0.5), 60000, 5000, 600000, 0, 4000, 0, 4)
static const story resilience4j[] = {
    {"refused when open", RESILIENCE, "=O !"},
    {"refused when forced open", RESILIENCE, "=I !"},
    {"forced open for good", RESILIENCE, "=I ! +6000 ! I"},
    {"released permissions come back", RESILIENCE, "=O =H (*4 !*2 ~ ( !"},
    {"four calls when half-open", RESILIENCE, "#0/0/0 =O =H H (*4 !*2 =O =H (*4 !*2"},
    {"60 % of five", RESILIENCE, "( C x x x C #3/3/3 o C #4/3/0 x O #5/4/1 !"},
    {"60 % slow", RESILIENCE, "S C S C x C o C S O #5/4/1"},
    {"slow by a hair", BREAKER(1, 0, 0, 0, 0, 0, 5000, 0, 0), "S O"},
    {"not quite slow", BREAKER(1, 0, 0, 0, 0, 0, 5001, 0, 0), "S C #1/0/0"},
    {"half-open after the wait", RESILIENCE, "=O ! +3000 O ! +3000 ( H"},
    {"the wait doubles", BREAKER(5, 0, 0, 5000, 0, 80000, 0, 0, 0), "=O +5000 x O +9999 ! +1 x O +19999 ! +1 x +39999 ! +1 H x +79999 ! +1 x +79999 ! +1 o C"},
    {"a slow probe opens it", RESILIENCE, "=O =H o H S O"},
    {"four good ones close it", RESILIENCE, "=O =H o H o H o H o C #0/0/0 o #1/0/0"},
    {"a reset forgets", RESILIENCE, "o x #2/1/1 =C C #0/0/0"},
    {"a reset closes", RESILIENCE, "=O =C C"},
    {"what is ignored gives its place back", RESILIENCE, "=O =H o H o H o H i H #0/0/0 o C"},
    {"only what is ignored", RESILIENCE, "=O =H i*9 H (*4 !"},
    {"closed to closed", RESILIENCE, "o*2 #2/0/0 =C #0/0/0"},
    {"from closed to half-open", RESILIENCE, "=H H (*4 !"},
    {"a window by time forgets second by second", BREAKER(5, RETRY_RATIO(0.9), 5000, 5000, 0, 0, 0, 0, 0), "x +1000 x +1000 o #3/2/0 +5000 #0/0/0"},
};
/* clang-format on */

static const retry_time starts[] = {
    0, 12345, UINT32_C(0x7fffff00), UINT32_C(0x9abcdef0), UINT32_C(0xfffff000),
};

static void play_all(const story *stories, size_t count)
{
    size_t i, j;
    for (i = 0; i < count; i++)
        for (j = 0; j < CHECK_COUNT(starts); j++)
            play_story(&stories[i], starts[j]);
}

static void test_gobreaker(void)
{
    play_all(gobreaker, CHECK_COUNT(gobreaker));
}

static void test_failsafe_go(void)
{
    play_all(failsafe_go, CHECK_COUNT(failsafe_go));
}

static void test_polly(void)
{
    play_all(polly, CHECK_COUNT(polly));
}

static void test_resilience4j(void)
{
    play_all(resilience4j, CHECK_COUNT(resilience4j));
}

int main(void)
{
    sick = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    unsent = check_failure_of(RETRY_REASON_CLIENT_THROTTLED);
    RUN(test_gobreaker);
    RUN(test_failsafe_go);
    RUN(test_polly);
    RUN(test_resilience4j);
    return check_done();
}
