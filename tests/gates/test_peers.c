/* What others' libraries do that do the same work, each by a row: it holds here, or it differs by
   choice, and why, or it cannot be said of a C header. The rows with a function are checked, the
   others are only told. With -DPEERS_TABLE it prints them all. And what other circuit breakers
   promise, as far as this one has it: each row is a breaker's settings and a short story. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/by_hand.h"
#include "../support/check.h"
#include "../support/door.h"
#include "../support/steps.h"

/* Every row runs from here, over the wrap of the clock. */
#define AT(elapsed) check_after((retry_time)-5000, (retry_time)(elapsed))
#define MINUTE UINT32_C(60000)

/* ---- what rows share ----------------------------------------------------------------------- */

static retry_breaker breaker;
static retry_throttle throttle;
static retry_aimd aimd;
static retry_rate rate;
static retry_latency latency;
static retry_gates gates;
static retry_policy policy;
static retry_budget budget;
static retry_client client;
static retry_operation request;
static retry_operation op;
static retry_hedge hedge;
static retry_copy copies[9]; /* beside the first */
static uint32_t drawn;       /* what the client's generator draws */

static uint32_t draw(void *context)
{
    (void)context;
    return drawn;
}

/* Nothing is set; an idempotent request without an end is open. */
static void clear(void)
{
    static const retry_policy plain = RETRY_POLICY_BEST_EFFORT;
    memset(&breaker, 0, sizeof breaker);
    memset(&throttle, 0, sizeof throttle);
    memset(&aimd, 0, sizeof aimd);
    memset(&rate, 0, sizeof rate);
    memset(&latency, 0, sizeof latency);
    memset(&gates, 0, sizeof gates);
    memset(&client, 0, sizeof client);
    memset(&request, 0, sizeof request);
    memset(&hedge, 0, sizeof hedge);
    memset(&op, 0, sizeof op);
    memset(copies, 0, sizeof copies);
    policy = plain;
    policy.backoff.jitter = RETRY_JITTER_NONE;
    client.strategy = &policy.base;
    client.random = draw;
    client.gates = &gates;
    drawn = UINT32_MAX;
    request.client = &client;
    request.timeout = UINT32_MAX;
    request.idempotent = true;
    op = request;
    retry_begin(&request, AT(0));
}

/* Another operation of the same client's, which has begun. */
static retry_operation another(retry_ms at)
{
    retry_operation one;
    memset(&one, 0, sizeof one);
    one.client = &client;
    one.timeout = UINT32_MAX;
    one.idempotent = true;
    retry_start(&one, NULL, AT(at));
    return one;
}

/* One that is sent at `at`, and ends so many ms later. */
static void end_one(const retry_failure *failure, retry_ms age, retry_ms at)
{
    retry_operation one = another(at);
    CHECK_SEND(retry_next(&one, AT(at)));
    retry_ended(&one, 0, failure, AT(at + age));
    retry_stop(&one, AT(at + age));
}

static retry_failure timed_out(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    failure.timeout = true;
    return failure;
}

static void set_budget(retry_budget_options options)
{
    retry_budget_init(&budget, &options, AT(0));
    client.budget = &budget;
}

static retry_budget_options no_options(void)
{
    retry_budget_options options;
    memset(&options, 0, sizeof options);
    return options;
}

static decided fail(retry_failure failure, retry_ms at)
{
    return retry_orchestrate(&request, &failure, AT(at));
}

static decided fail_of(retry_reason reason)
{
    return fail(check_failure_of(reason), 0);
}

/* One attempt through the breaker; whether it was granted. */
static bool attempt(const retry_failure *failure, retry_ms at)
{
    const retry_permit permit = retry_breaker_ask(&breaker, true, AT(at));
    if (permit.granted)
        retry_breaker_report(&breaker, permit, failure, AT(at));
    return permit.granted;
}

static bool sick(retry_ms at)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
    return attempt(&failure, at);
}

static bool well(retry_ms at)
{
    return attempt(NULL, at);
}

static unsigned state(retry_ms at)
{
    return retry_breaker_state(&breaker, AT(at));
}

/* The delays of retries, one after the other, with the generator at the top of its range. */
static void check_delays(const retry_ms *delays, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++) {
        const decided decision = fail_of(RETRY_REASON_SERVER_ERROR);
        CHECK_EQUAL(RETRY_VERDICT_RETRY, decision.verdict);
        CHECK_EQUAL(delays[i], decision.delay);
    }
}

static retry_backoff backoff(uint8_t curve, retry_ms initial, retry_ms max)
{
    retry_backoff made;
    memset(&made, 0, sizeof made);
    made.curve = curve;
    made.initial = initial;
    made.max = max;
    return made;
}

/* How many sends the rate lets through at once. */
static uint32_t burst(retry_ms at)
{
    uint32_t count = 0;
    retry_gates_rate(&gates, &rate);
    while (count < 1000 && by_hand_ask(&gates, 0, AT(at)).what == RETRY_DO_SEND)
        count++;
    return count;
}

/* ---- breakers ------------------------------------------------------------------------------ */

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
    struct settings {
        uint32_t volume, ratio;
        retry_ms window, open, probe_timeout, open_max, slow;
        uint16_t in_a_row;
        uint8_t probes;
    } settings;
    const char *text;
} story;

static retry_breaker breaker_of(const struct settings *settings)
{
    retry_breaker made;
    memset(&made, 0, sizeof made);
    made.volume = settings->volume;
    made.ratio = settings->ratio;
    made.window = settings->window;
    made.open = settings->open;
    made.probe_timeout = settings->probe_timeout;
    made.open_max = settings->open_max;
    made.slow = settings->slow;
    made.in_a_row = settings->in_a_row;
    made.probes = settings->probes;
    return made;
}

#define UNDER_WAY 16

static struct {
    retry_breaker breaker;
    retry_time now;
    retry_permit permits[UNDER_WAY];
    unsigned first, count;
    const char *at;
} play;

static retry_failure play_sick, play_unsent;

static uint32_t play_number(void)
{
    uint32_t value = 0;
    while (*play.at >= '0' && *play.at <= '9')
        value = value * 10 + (uint32_t)(*play.at++ - '0');
    return value;
}

static uint8_t play_state_of(char letter)
{
    return letter == 'C'   ? RETRY_BREAKER_CLOSED
           : letter == 'O' ? RETRY_BREAKER_OPEN
           : letter == 'H' ? RETRY_BREAKER_HALF_OPEN
                           : RETRY_BREAKER_ISOLATED;
}

static void play_begin(bool granted)
{
    retry_permit permit = retry_breaker_ask(&play.breaker, true, play.now);
    CHECK_EQUAL(granted, permit.granted);
    if (granted)
        play.permits[(play.first + play.count++) % UNDER_WAY] = permit;
}

static void play_end(const retry_failure *failure)
{
    retry_permit permit = play.permits[play.first++ % UNDER_WAY];
    play.count--;
    retry_breaker_report(&play.breaker, permit, failure, play.now);
}

/* An attempt from its beginning to its end, beside those under way. */
static void play_attempt(const retry_failure *failure, retry_ms took)
{
    retry_permit permit = retry_breaker_ask(&play.breaker, true, play.now);
    CHECK(permit.granted);
    play.now = check_after(play.now, took);
    retry_breaker_report(&play.breaker, permit, failure, play.now);
}

static void check_numbers(void)
{
    retry_breaker_counts counts = retry_breaker_get(&play.breaker, play.now);
    CHECK_EQUAL(play_number(), counts.reports);
    CHECK(*play.at++ == '/');
    CHECK_EQUAL(play_number(), counts.sick);
    CHECK(*play.at++ == '/');
    CHECK_EQUAL(play_number(), counts.in_a_row);
}

static void play_word(char word)
{
    switch (word) {
    case 'o':
        play_attempt(NULL, 0);
        break;
    case 'S':
        play_attempt(NULL, 5000);
        break;
    case 'x':
        play_attempt(&play_sick, 0);
        break;
    case 'i':
        play_attempt(&play_unsent, 0);
        break;
    case '(':
        play_begin(true);
        break;
    case '!':
        play_begin(false);
        break;
    case ')':
        play_end(NULL);
        break;
    case ']':
        play_end(&play_sick);
        break;
    case '~':
        play.count--;
        retry_breaker_release(&play.breaker, play.permits[play.first++ % UNDER_WAY], play.now);
        break;
    case '+':
        play.now = check_after(play.now, play_number());
        break;
    case '=':
        retry_breaker_set(&play.breaker, play_state_of(*play.at++), play.now);
        break;
    case '#':
        check_numbers();
        break;
    default:
        CHECK_EQUAL(play_state_of(word), retry_breaker_state(&play.breaker, play.now));
        break;
    }
}

static void play_story(const story *told, retry_time start)
{
    memset(&play, 0, sizeof play);
    play.breaker = breaker_of(&told->settings);
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
            for (times = play_number(); times > 1; times--)
                play_word(word);
        }
        if (check_faults > 5)
            return;
    }
}

#define NEVER UINT32_MAX
#define BREAKER(volume, ratio, window, open, timeout, most, slow, row, probes) \
    {                                                                          \
        volume, ratio, window, open, timeout, most, slow, row, probes          \
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

static void volume_first(void)
{
    static const story told = {"", BREAKER(10, 0, 0, 0, 0, 0, 0, 0, 0), "x*9 C x O"};
    play_all(&told, 1);
}

static void at_the_ratio(void)
{
    static const story told = {"", BREAKER(100, RETRY_RATIO(0.1), 0, 0, 0, 0, 0, 0, 0),
                               "x*9 o*90 C x O"};
    play_all(&told, 1);
}

static void forgets(void)
{
    static const story told = {"", BREAKER(10, 0, 0, 0, 0, 0, 0, 0, 0), "x*9 +20000 x C"};
    play_all(&told, 1);
}

static void once_a_minute(void)
{
    static const story told = {"", BREAKER(5, 0, 0, 0, 0, 0, 0, 0, 0),
                               "x +60000 x +60000 x +60000 x +60000 x +60000 x +60000 x C"};
    play_all(&told, 1);
}

static void only_sick_opens(void)
{
    static const story told = {"", BREAKER(10, 0, 0, 0, 0, 0, 0, 0, 0), "x*5 o*5 C x O"};
    play_all(&told, 1);
}

static void slow_is_sick(void)
{
    static const story told = {"", BREAKER(1, 0, 0, 0, 0, 0, 1000, 0, 0),
                               "( +999 ) C #1/0/0 ( +1000 ) O #2/1/1"};
    play_all(&told, 1);
}

static void first_sick_probe(void)
{
    static const story told = {"", BREAKER(1, 0, 0, 0, 0, 0, 0, 0, 10), "x +2000 o H o H x O"};
    play_all(&told, 1);
}

static void three_probes(void)
{
    static const story told = {"", BREAKER(1, 0, 0, 0, 0, 0, 0, 0, 3),
                               "x +2000 (*3 ! H ) H ) H ) C"};
    play_all(&told, 1);
}

static void isolated(void)
{
    static const story told = {"", BREAKER(0, 0, 0, 0, 0, 0, 0, 0, 0),
                               "=I ! +2000 ! +2000000000 ! I =H o C =O +1999 ! +1 o"};
    play_all(&told, 1);
}

static void longer_each_time(void)
{
    static const story told = {"", BREAKER(1, 0, 0, 0, 0, 8000, 0, 0, 0),
                               "x +1999 ! +1 H x +3999 ! +1 H x +7999 ! +1 H x +7999 ! +1 H"};
    play_all(&told, 1);
}

static void one_probe(void)
{
    retry_permit probe;
    breaker.volume = 1;
    breaker.open = MINUTE;
    sick(0);
    CHECK(!well(MINUTE - 1));
    CHECK_EQUAL(1, retry_breaker_ask(&breaker, true, AT(MINUTE - 1)).wait);
    CHECK_EQUAL(RETRY_BREAKER_HALF_OPEN, state(MINUTE));
    probe = retry_breaker_ask(&breaker, true, AT(MINUTE));
    CHECK(probe.granted && !well(MINUTE));
    CHECK(retry_breaker_report(&breaker, probe, NULL, AT(MINUTE)));
    CHECK(well(MINUTE));
}

static void lost_probe(void)
{
    static const story told = {"", BREAKER(1, 0, 0, 0, 0, 0, 0, 0, 0),
                               "x +2000 ( +4999 ! +1 ( +6000000 ) C"};
    play_all(&told, 1);
}

static void late_report(void)
{
    static const story told = {"", BREAKER(1, 0, 0, 0, 0, 0, 0, 0, 0),
                               "(*2 ] O +1000 ] O +1000 o C"};
    play_all(&told, 1);
}

static void six_in_a_row(void)
{
    static const story told = {"", BREAKER(1000, 0, 0, 0, 0, 0, 0, 6, 0), "x*5 o x*5 C x O"};
    play_all(&told, 1);
}

static void answers_are_well(void)
{
    static const int statuses[] = {400, 404, 409, 429};
    retry_failure failure;
    unsigned i;
    breaker.volume = 1;
    for (i = 0; i < 100; i++) {
        failure = retry_classify_http(statuses[i % 4], 0);
        CHECK(attempt(&failure, i));
    }
    CHECK_EQUAL(0, retry_breaker_get(&breaker, AT(100)).sick);
}

static void waiters_come_later(void)
{
    breaker.volume = 1;
    sick(0);
    CHECK_EQUAL(1125,
                retry_classify_permit(retry_breaker_ask(&breaker, true, AT(1000))).retry_after);
}

/* ---- delays -------------------------------------------------------------------------------- */

static void half_more_or_less(void)
{
    static const retry_ms middle[] = {500, 750, 1125, 1688, 2531, 3797};
    retry_backoff half = backoff(RETRY_CURVE_EXPONENTIAL, 500, MINUTE);
    uint32_t n;
    half.factor = RETRY_RATIO(1.5);
    half.jitter = RETRY_JITTER_SPREAD;
    half.spread = RETRY_RATIO(0.5);
    for (n = 0; n < CHECK_COUNT(middle); n++) {
        CHECK_RANGE(middle[n] - 1, middle[n] + 1, retry_backoff_base(&half, n));
        CHECK_RANGE(middle[n] / 2 - 1, middle[n] / 2 + 1, retry_backoff_delay(&half, n, 0, 0));
        CHECK_RANGE(middle[n] * 3 / 2 - 2, middle[n] * 3 / 2 + 2,
                    retry_backoff_delay(&half, n, 0, UINT32_MAX));
    }
}

static void cap_before_jitter(void)
{
    retry_backoff half = backoff(RETRY_CURVE_EXPONENTIAL, 500, MINUTE);
    half.jitter = RETRY_JITTER_SPREAD;
    half.spread = RETRY_RATIO(0.5);
    CHECK_EQUAL(30000, retry_backoff_delay(&half, 100, 0, 0));
    CHECK_EQUAL(90000, retry_backoff_delay(&half, 100, 0, UINT32_MAX));
}

static retry_ms linear(const retry_backoff *self, uint32_t attempt)
{
    return self->initial * (attempt + 1);
}

static void linear_and_capped(void)
{
    static const retry_ms delays[] = {2000, 4000, 5000, 5000};
    policy.backoff = backoff(RETRY_CURVE_CUSTOM, 2000, 5000);
    policy.backoff.custom = linear;
    check_delays(delays, CHECK_COUNT(delays));
}

static void decorrelated(void)
{
    retry_backoff plain = backoff(RETRY_CURVE_EXPONENTIAL, 100, 10000);
    plain.jitter = RETRY_JITTER_DECORRELATED;
    CHECK_EQUAL(100, retry_backoff_delay(&plain, 3, 1000, 0));
    CHECK_EQUAL(3000, retry_backoff_delay(&plain, 3, 1000, UINT32_MAX));
    CHECK_EQUAL(10000, retry_backoff_delay(&plain, 3, 9000, UINT32_MAX));
}

static void equal_jitter(void)
{
    retry_backoff equal = backoff(RETRY_CURVE_EXPONENTIAL, 100, 10000);
    equal.jitter = RETRY_JITTER_EQUAL;
    CHECK_EQUAL(200, retry_backoff_delay(&equal, 2, 0, 0));
    CHECK_EQUAL(400, retry_backoff_delay(&equal, 2, 0, UINT32_MAX));
}

static void full_jitter_from_0(void)
{
    retry_backoff full = backoff(RETRY_CURVE_EXPONENTIAL, 100, 10000);
    full.jitter = RETRY_JITTER_FULL;
    CHECK_EQUAL(0, retry_backoff_delay(&full, 2, 0, 0));
    CHECK_EQUAL(400, retry_backoff_delay(&full, 2, 0, UINT32_MAX));
}

static void first_at_once(void)
{
    static const retry_ms table[] = {0, 200, 400, 120000};
    static const retry_ms delays[] = {0, 200, 400, 120000, 120000};
    CHECK_EQUAL(100, retry_backoff_base(&policy.backoff, 0));
    policy.backoff = backoff(RETRY_CURVE_TABLE, 1, 0);
    policy.backoff.table = table;
    policy.backoff.table_length = CHECK_COUNT(table);
    check_delays(delays, CHECK_COUNT(delays));
}

static void doubled_to_30_s(void)
{
    static const retry_ms delays[] = {1000, 2000, 4000, 8000};
    policy.backoff = backoff(RETRY_CURVE_EXPONENTIAL, 1000, 30000);
    policy.max_attempts = 5;
    CHECK_EQUAL(30000, retry_backoff_base(&policy.backoff, 5));
    check_delays(delays, CHECK_COUNT(delays));
    CHECK_DECISION(FAIL, ATTEMPTS_EXHAUSTED, fail_of(RETRY_REASON_SERVER_ERROR));
}

static void three_attempts(void)
{
    policy.max_attempts = 3;
    CHECK_DECISION(RETRY, STRATEGY, fail_of(RETRY_REASON_SERVER_ERROR));
    CHECK_DECISION(RETRY, STRATEGY, fail_of(RETRY_REASON_SERVER_ERROR));
    CHECK_DECISION(FAIL, ATTEMPTS_EXHAUSTED, fail_of(RETRY_REASON_SERVER_ERROR));
}

/* Whatever failed each time. */
static void one_count(void)
{
    policy.max_attempts = 3;
    CHECK_DECISION(RETRY, STRATEGY, fail_of(RETRY_REASON_SOCKET_NOT_AVAILABLE));
    CHECK_DECISION(RETRY, STRATEGY, fail_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT));
    CHECK_DECISION(FAIL, ATTEMPTS_EXHAUSTED, fail(retry_classify_http(500, 0), 0));
}

static void twenty_attempts(void)
{
    unsigned i;
    policy.max_attempts = 20;
    for (i = 1; i < 20; i++)
        CHECK_DECISION(RETRY, STRATEGY, fail_of(RETRY_REASON_SERVER_ERROR));
    CHECK_DECISION(FAIL, ATTEMPTS_EXHAUSTED, fail_of(RETRY_REASON_SERVER_ERROR));
}

static void no_time_left(void)
{
    request.timeout = 15 * MINUTE;
    retry_begin(&request, AT(0));
    policy.backoff = backoff(RETRY_CURVE_CONSTANT, MINUTE, 0);
    CHECK_EQUAL(RETRY_VERDICT_RETRY,
                fail(check_failure_of(RETRY_REASON_SERVER_ERROR), 13 * MINUTE).verdict);
    CHECK_DECISION(EXPIRE, DEADLINE,
                   fail(check_failure_of(RETRY_REASON_SERVER_ERROR), 14 * MINUTE + 1));
}

static void default_end(void)
{
    request.timeout = 0;
    retry_begin(&request, AT(0));
    CHECK_EQUAL(75000, request.timeout);
}

static void permanent(void)
{
    CHECK_DECISION(FAIL, NOT_RETRYABLE, fail_of(RETRY_REASON_NONE));
}

static void ordered_wait(void)
{
    retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    policy.backoff = backoff(RETRY_CURVE_EXPONENTIAL, 100, 0);
    CHECK_EQUAL(100, fail(failure, 0).delay);
    CHECK_EQUAL(200, fail(failure, 0).delay);
    failure.pushback = true;
    failure.retry_after = 7;
    CHECK_EQUAL(7, fail(failure, 0).delay);
    failure.pushback = false;
    failure.retry_after = 0;
    CHECK_EQUAL(100, fail(failure, 0).delay);
}

static void retry_after_is_least(void)
{
    policy.backoff = backoff(RETRY_CURVE_CONSTANT, 4000, 0);
    policy.throttle_backoff = policy.backoff;
    CHECK_EQUAL(9000, fail(retry_classify_http(503, 9000), 0).delay);
    CHECK_EQUAL(4000, fail(retry_classify_http(503, 1000), 0).delay);
}

static void past_is_at_once(void)
{
    retry_ms delay = 0;
    CHECK(retry_parse_retry_after("0", 1, 0, &delay));
    CHECK_EQUAL(1, delay);
    CHECK(retry_parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 29, 1000000000, &delay));
    CHECK_EQUAL(1, delay);
}

static void capped_by_6_hours(void)
{
    policy.retry_after_max = 6 * 60 * MINUTE;
    CHECK_EQUAL(6 * 60 * MINUTE, fail(retry_classify_http(503, 60 * 60 * MINUTE), 0).delay);
}

static void five_s_more(void)
{
    static const retry_policy aws = RETRY_POLICY_AWS_2026;
    static const struct {
        retry_ms asked, waited;
    } rows[] = {{1500, 1500}, {0, 50}, {10, 50}, {10000, 5050}};
    retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    size_t i;
    policy = aws;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        failure.retry_after = rows[i].asked;
        retry_begin(&request, AT(0));
        CHECK_EQUAL(rows[i].waited, fail(failure, 0).delay);
    }
}

static void twenty_s_at_most(void)
{
    static const retry_policy aws = RETRY_POLICY_AWS;
    retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    policy = aws;
    failure.retry_after = 30000;
    CHECK_EQUAL(20000, fail(failure, 0).delay);
}

static void aws_delays(void)
{
    static const retry_backoff aws = RETRY_BACKOFF_AWS;
    uint32_t n;
    for (n = 0; n < 9; n++) {
        CHECK_EQUAL(0, retry_backoff_delay(&aws, n, 0, 0));
        CHECK_EQUAL(n < 5 ? 1000u << n : 20000, retry_backoff_delay(&aws, n, 0, UINT32_MAX));
    }
}

static void connections(void)
{
    retry_connection connection = RETRY_CONNECTION_GRPC;
    connection.random = draw;
    drawn = 0x80000000u;
    CHECK_EQUAL(20000, retry_connection_begin(&connection, AT(0)));
    CHECK_EQUAL(1000, retry_connection_failed(&connection, NULL, AT(0)));
    CHECK_EQUAL(20000, retry_connection_begin(&connection, AT(1000)));
    CHECK_RANGE(1599, 1601, retry_connection_failed(&connection, NULL, AT(1000)));
}

static void unstable_connection(void)
{
    retry_connection connection;
    memset(&connection, 0, sizeof connection);
    connection.random = draw;
    drawn = 0x80000000u;
    retry_connection_begin(&connection, AT(0));
    retry_connection_established(&connection, AT(10));
    CHECK_EQUAL(980, retry_connection_failed(&connection, NULL, AT(20)));
    retry_connection_begin(&connection, AT(1000));
    retry_connection_established(&connection, AT(1010));
    CHECK_RANGE(1579, 1581, retry_connection_failed(&connection, NULL, AT(1020)));
}

/* ---- what is retried ----------------------------------------------------------------------- */

static void not_idempotent(void)
{
    request.idempotent = false;
    CHECK_DECISION(FAIL, NOT_IDEMPOTENT, fail_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT));
}

static void by_where_it_failed(void)
{
    request.idempotent = false;
    CHECK_DECISION(RETRY, STRATEGY, fail_of(RETRY_REASON_SOCKET_NOT_AVAILABLE));
    not_idempotent();
}

static void methods(void)
{
    static const char *const names[] = {"GET",    "HEAD", "OPTIONS", "TRACE",   "PUT",
                                        "DELETE", "POST", "PATCH",   "CONNECT", "get"};
    size_t i;
    for (i = 0; i < CHECK_COUNT(names); i++)
        CHECK_EQUAL(i < 6, retry_idempotent_http(names[i], strlen(names[i])));
}

static void with_retry_after(void)
{
    static const int statuses[] = {413, 429, 503};
    size_t i;
    for (i = 0; i < CHECK_COUNT(statuses); i++)
        CHECK(5000 <= fail(retry_classify_http(statuses[i], 5000), 0).delay);
    CHECK_EQUAL(RETRY_VERDICT_FAIL, fail(retry_classify_http(413, 0), 0).verdict);
}

/* A proxy says 503 with it of a server that had the request. */
static void refused_by_whom(void)
{
    request.idempotent = false;
    CHECK_DECISION(RETRY, STRATEGY, fail(retry_classify_http(429, 5000), 0));
    CHECK_DECISION(FAIL, NOT_IDEMPOTENT, fail(retry_classify_http(503, 5000), 0));
}

static void server_errors(void)
{
    static const int statuses[] = {500, 502, 503, 504, 520, 599, 429};
    size_t i;
    for (i = 0; i < CHECK_COUNT(statuses); i++)
        CHECK_DECISION(RETRY, STRATEGY, fail(retry_classify_http(statuses[i], 0), 0));
    CHECK_EQUAL(RETRY_VERDICT_FAIL, fail(retry_classify_http(501, 0), 0).verdict);
}

static void no_other_version(void)
{
    static const int statuses[] = {505, 506, 507, 508, 510, 511, 600, 999};
    size_t i;
    for (i = 0; i < CHECK_COUNT(statuses); i++)
        CHECK_EQUAL(RETRY_VERDICT_FAIL, fail(retry_classify_http(statuses[i], 0), 0).verdict);
}

static void never_sent_counts(void)
{
    retry_budget_options options = no_options();
    options.capacity = 2000;
    options.retry_cost = 1000;
    set_budget(options);
    policy.backoff.initial = 10;
    CHECK_EQUAL(
        10, fail(retry_classify_stage(RETRY_STAGE_DISPATCH, RETRY_REASON_SOCKET_NOT_AVAILABLE), 0)
                .delay);
    CHECK_EQUAL(1, request.retries);
    CHECK_EQUAL(2000, retry_budget_balance(&budget));
    CHECK_DECISION(RETRY, STRATEGY, fail_of(RETRY_REASON_SERVER_ERROR));
    CHECK_EQUAL(1000, retry_budget_balance(&budget));
}

/* ---- budgets ------------------------------------------------------------------------------- */

static void grpc_budget(void)
{
    static const retry_budget_options grpc = RETRY_BUDGET_GRPC;
    unsigned i;
    set_budget(grpc);
    for (i = 0; i < 4; i++) {
        retry_begin(&request, AT(0));
        CHECK_DECISION(RETRY, STRATEGY, fail_of(RETRY_REASON_SERVER_ERROR));
    }
    retry_begin(&request, AT(0));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_of(RETRY_REASON_SERVER_ERROR));
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
}

static void grpc_successes(void)
{
    static const retry_budget_options grpc = RETRY_BUDGET_GRPC;
    unsigned i;
    set_budget(grpc);
    for (i = 0; i < 20; i++) {
        retry_begin(&request, AT(0));
        fail_of(RETRY_REASON_SERVER_ERROR);
    }
    CHECK_EQUAL(0, retry_budget_balance(&budget));
    for (i = 0; i < 60; i++) {
        retry_begin(&request, AT(0));
        retry_succeed(&request, AT(0));
    }
    retry_begin(&request, AT(0));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_of(RETRY_REASON_SERVER_ERROR));
    for (i = 0; i < 11; i++) {
        retry_begin(&request, AT(0));
        retry_succeed(&request, AT(0));
    }
    retry_begin(&request, AT(0));
    CHECK_DECISION(RETRY, STRATEGY, fail_of(RETRY_REASON_SERVER_ERROR));
}

static void share_of_requests(void)
{
    retry_budget_options options = no_options();
    unsigned i;
    options.capacity = 1000;
    options.retry_cost = 1000;
    options.request_deposit = 200;
    set_budget(options);
    CHECK(retry_budget_withdraw(&budget, 1000, AT(0)));
    for (i = 0; i < 5; i++) {
        CHECK(!retry_budget_withdraw(&budget, 1000, AT(0)));
        retry_begin(&request, AT(0));
    }
    CHECK(retry_budget_withdraw(&budget, 1000, AT(0)));
}

static void ten_a_second(void)
{
    retry_budget_options options = no_options();
    options.capacity = 10000;
    options.retry_cost = 1000;
    options.refill_per_second = 10000;
    set_budget(options);
    CHECK(retry_budget_withdraw(&budget, 10000, AT(0)));
    CHECK(!retry_budget_withdraw(&budget, 1000, AT(99)));
    CHECK(retry_budget_withdraw(&budget, 1000, AT(100)));
}

static void empty_budget(void)
{
    set_budget(no_options());
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_of(RETRY_REASON_SERVER_ERROR));
}

static void deposits_fade(void)
{
    retry_budget_options options = no_options();
    unsigned i;
    options.capacity = 50000;
    options.retry_cost = 1000;
    options.request_deposit = 200;
    options.expire = 10000;
    set_budget(options);
    CHECK_EQUAL(1000, retry_budget_balance(&budget));
    for (i = 0; i < 1000; i++)
        retry_begin(&request, AT(0));
    CHECK_EQUAL(50000, retry_budget_balance(&budget));
    retry_begin(&request, AT(10000));
    CHECK_RANGE(1000 + 49000 * 36 / 100, 1200 + 49000 * 38 / 100, retry_budget_balance(&budget));
    retry_begin(&request, AT(MINUTE));
    CHECK_RANGE(1200, 1400, retry_budget_balance(&budget)); /* one retry is left, at least */
}

static void aws_quota(void)
{
    static const retry_budget_options aws = RETRY_BUDGET_AWS;
    const retry_failure timeout = timed_out();
    set_budget(aws);
    fail_of(RETRY_REASON_SERVER_ERROR);
    CHECK_EQUAL(495000, retry_budget_balance(&budget));
    fail(timeout, 0);
    CHECK_EQUAL(485000, retry_budget_balance(&budget));
    retry_succeed(&request, AT(0));
    CHECK_EQUAL(495000, retry_budget_balance(&budget));
    retry_begin(&request, AT(0));
    retry_succeed(&request, AT(0));
    CHECK_EQUAL(496000, retry_budget_balance(&budget));
}

static void first_is_free(void)
{
    set_budget(no_options());
    retry_start(&op, NULL, AT(0));
    CHECK_SEND(retry_next(&op, AT(0)));
    retry_ended(&op, 0, NULL, AT(0));
    CHECK_END(SUCCESS, NONE, retry_next(&op, AT(0)));
}

static void denied_changes_nothing(void)
{
    retry_budget_options aws = RETRY_BUDGET_AWS;
    aws.capacity = 8000;
    set_budget(aws);
    fail_of(RETRY_REASON_SERVER_ERROR);
    CHECK_EQUAL(3000, retry_budget_balance(&budget));
    CHECK_DECISION(FAIL, BUDGET_EXHAUSTED, fail_of(RETRY_REASON_SERVER_ERROR));
    CHECK_EQUAL(3000, retry_budget_balance(&budget));
}

static void partitions(void)
{
    static retry_scope slots[8];
    static retry_scopes scopes;
    const retry_client *a, *b;
    memset(slots, 0, sizeof slots);
    memset(&scopes, 0, sizeof scopes);
    scopes.slots = slots;
    scopes.count = CHECK_COUNT(slots);
    scopes.options.capacity = 1000;
    a = retry_scope_client(&scopes, "a", 1, AT(0));
    b = retry_scope_client(&scopes, "b", 1, AT(0));
    CHECK(retry_budget_withdraw(a->budget, 1000, AT(0)));
    CHECK(!retry_budget_withdraw(a->budget, 1000, AT(0)));
    CHECK(retry_budget_withdraw(b->budget, 1000, AT(0)));
    CHECK(retry_scope_client(&scopes, "a", 1, AT(0)) == a);
}

/* ---- hedges -------------------------------------------------------------------------------- */

/* The operation begins, with so many further copies. */
static void start_hedged(uint8_t count, retry_ms delay)
{
    hedge.count = count;
    hedge.delay = delay;
    hedge.copies = copies;
    retry_hedge_copies(&op, &hedge);
    retry_start(&op, NULL, AT(0));
    CHECK_EQUAL(0, CHECK_SEND(retry_next(&op, AT(0))).copy);
}

static void hedge_timeline(void)
{
    unsigned i;
    start_hedged(3, 500);
    for (i = 1; i < 4; i++) {
        CHECK_EQUAL(1, CHECK_WAIT(NONE, retry_next(&op, AT(500 * i - 1))).delay);
        CHECK_EQUAL(i, CHECK_SEND(retry_next(&op, AT(500 * i))).copy);
    }
    CHECK_EQUAL(UINT32_MAX, CHECK_WAIT(NONE, retry_next(&op, AT(2000))).delay);
    retry_ended(&op, 2, NULL, AT(2000));
    for (i = 0; i < 4; i++) {
        if (i != 2)
            CHECK_EQUAL(i, CHECK_CANCEL(retry_next(&op, AT(2000))).copy);
    }
    CHECK_END(SUCCESS, NONE, retry_next(&op, AT(2000)));
}

static void next_at_once(void)
{
    const retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    start_hedged(2, 2000);
    CHECK_EQUAL(1900, CHECK_WAIT(NONE, retry_next(&op, AT(100))).delay);
    retry_ended(&op, 0, &failure, AT(100));
    CHECK_SEND(retry_next(&op, AT(100)));
    CHECK_EQUAL(2000, CHECK_WAIT(NONE, retry_next(&op, AT(100))).delay);
}

static void hedges_are_charged(void)
{
    static const retry_budget_options grpc = RETRY_BUDGET_GRPC;
    const retry_failure failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
    retry_step step;
    unsigned sent = 1;
    set_budget(grpc);
    start_hedged(9, 500);
    retry_ended(&op, 0, &failure, AT(0));
    while ((step = retry_next(&op, AT(0))).what == RETRY_DO_SEND) {
        sent++;
        retry_ended(&op, step.copy, &failure, AT(0));
    }
    CHECK_END(FAIL, BUDGET_EXHAUSTED, step);
    CHECK_EQUAL(5, sent);
    CHECK_EQUAL(5000, retry_budget_balance(&budget));
}

static void hedge_when_it_knows(void)
{
    uint32_t i;
    hedge.latency = &latency;
    start_hedged(1, 0);
    CHECK_EQUAL(UINT32_MAX, CHECK_WAIT(NONE, retry_next(&op, AT(0))).delay);
    retry_ended(&op, 0, NULL, AT(0));
    retry_gates_latency(&gates, &latency);
    for (i = 0; i < 5000; i++)
        end_one(NULL, 50 + check_random() % 100, 0);
    start_hedged(1, 0);
    CHECK_RANGE(140, 160, CHECK_WAIT(NONE, retry_next(&op, AT(0))).delay);
}

static void idempotent_hedges(void)
{
    op.idempotent = false;
    start_hedged(1, 500);
    CHECK_EQUAL(UINT32_MAX, CHECK_WAIT(NONE, retry_next(&op, AT(500))).delay);
}

static void pushbacks(void)
{
    static const struct {
        const char *text;
        retry_ms order;
    } rows[] = {{"0", 0}, {"123", 123}, {"-1", UINT32_MAX}, {"", UINT32_MAX}, {"1.5", UINT32_MAX}};
    retry_failure failure;
    decided decision;
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        failure = check_failure_of(RETRY_REASON_SERVER_ERROR);
        CHECK(retry_parse_pushback(rows[i].text, strlen(rows[i].text), &failure));
        CHECK_EQUAL(rows[i].order, failure.retry_after);
        retry_begin(&request, AT(0));
        decision = fail(failure, 0);
        CHECK_EQUAL(rows[i].order == UINT32_MAX ? RETRY_VERDICT_FAIL : RETRY_VERDICT_RETRY,
                    decision.verdict);
    }
}

/* ---- how many, how fast -------------------------------------------------------------------- */

static void two_at_once(void)
{
    retry_operation ops[3];
    size_t i;
    aimd.max = aimd.min = 2;
    retry_gates_aimd(&gates, &aimd);
    for (i = 0; i < CHECK_COUNT(ops); i++)
        ops[i] = another(0);
    CHECK_SEND(retry_next(&ops[0], AT(0)));
    CHECK_SEND(retry_next(&ops[1], AT(0)));
    CHECK_EQUAL(100, CHECK_WAIT(PACED, retry_next(&ops[2], AT(0))).delay);
    retry_ended(&ops[0], 0, NULL, AT(0));
    CHECK_SEND(retry_next(&ops[2], AT(0)));
}

static void tenth_less(void)
{
    const retry_failure timeout = timed_out();
    static const uint32_t limits[] = {36, 32, 28, 25, 22, 20, 20};
    size_t i;
    aimd.max = 40;
    aimd.min = 20;
    aimd.decrease = RETRY_RATIO(0.9);
    retry_gates_aimd(&gates, &aimd);
    for (i = 0; i < CHECK_COUNT(limits); i++) {
        end_one(&timeout, 1, (retry_ms)(2000 * i));
        CHECK_EQUAL(limits[i], retry_aimd_limit(&aimd));
    }
}

static void rises_when_used(void)
{
    const retry_failure timeout = timed_out();
    retry_operation ops[5];
    size_t i;
    aimd.max = 20;
    retry_gates_aimd(&gates, &aimd);
    end_one(&timeout, 1, 0);
    CHECK_EQUAL(10, retry_aimd_limit(&aimd));
    for (i = 0; i < CHECK_COUNT(ops); i++) {
        ops[i] = another(2000);
        CHECK_SEND(retry_next(&ops[i], AT(2000)));
        if (i == 3) { /* four of ten in use */
            retry_ended(&ops[0], 0, NULL, AT(2001));
            CHECK_EQUAL(10, retry_aimd_limit(&aimd));
            retry_start(&ops[0], NULL, AT(2000));
            CHECK_SEND(retry_next(&ops[0], AT(2000)));
        }
    }
    retry_ended(&ops[0], 0, NULL, AT(2001));
    CHECK_EQUAL(11, retry_aimd_limit(&aimd));
}

static void one_fall(void)
{
    const retry_failure timeout = timed_out();
    retry_operation ops[8];
    size_t i;
    aimd.max = 8;
    retry_gates_aimd(&gates, &aimd);
    for (i = 0; i < CHECK_COUNT(ops); i++) {
        ops[i] = another(0);
        CHECK_SEND(retry_next(&ops[i], AT(0)));
    }
    for (i = 0; i < CHECK_COUNT(ops); i++)
        retry_ended(&ops[i], 0, &timeout, AT(1000 + i));
    CHECK_EQUAL(4, retry_aimd_limit(&aimd));
}

static void third_in_a_row(void)
{
    const retry_failure broken = check_failure_of(RETRY_REASON_SOCKET_CLOSED_WHILE_IN_FLIGHT);
    static const uint32_t limits[] = {8, 8, 4, 2};
    size_t i;
    aimd.max = 8;
    retry_gates_aimd(&gates, &aimd);
    for (i = 0; i < CHECK_COUNT(limits); i++) {
        end_one(&broken, 1, (retry_ms)(2000 * i));
        CHECK_EQUAL(limits[i], retry_aimd_limit(&aimd));
    }
}

static void ignored(void)
{
    aimd.max = 8;
    retry_gates_aimd(&gates, &aimd);
    retry_start(&op, NULL, AT(0));
    CHECK_SEND(retry_next(&op, AT(0)));
    retry_stop(&op, AT(1000));
    CHECK_EQUAL(8, retry_aimd_limit(&aimd));
    CHECK_EQUAL(0, gates.in_flight);
}

static void starts_at_max(void)
{
    aimd.max = 200;
    aimd.min = 20;
    CHECK_EQUAL(200, retry_aimd_limit(&aimd));
}

static void no_double_burst(void)
{
    uint32_t sent = 0, edge;
    retry_ms at;
    rate.max = 100000; /* 100 a second */
    CHECK_RANGE(12, 13, burst(0));
    for (at = 0; at < 10000; at++)
        sent += burst(at);
    CHECK_RANGE(980, 1020, sent);
    edge = burst(12000) + burst(12001);
    CHECK_RANGE(12, 14, edge);
}

static void smooth(void)
{
    retry_ms at;
    rate.max = RETRY_PER_SECOND(100);
    rate.burst = RETRY_TOKENS(1);
    for (at = 0; at < 1000; at++)
        CHECK_EQUAL(at % 10 == 0, burst(at));
}

static void half_second(void)
{
    const retry_failure throttled = retry_classify_http(429, 0);
    retry_ms at;
    retry_gates_rate(&gates, &rate);
    for (at = 0; at < 500; at += 10) {
        end_one(NULL, 0, at);
        end_one(&throttled, 0, at);
    }
    CHECK_EQUAL(UINT32_MAX, retry_rate_get(&rate));
    end_one(NULL, 0, 500);
    CHECK_EQUAL(100000, retry_rate_get(&rate));
}

static void says_how_long(void)
{
    rate.max = 8000; /* 8 a second */
    CHECK_EQUAL(1, burst(0));
    CHECK_EQUAL(125, CHECK_WAIT(PACED, by_hand_ask(&gates, 0, AT(0))).delay);
    CHECK_SEND(by_hand_ask(&gates, 0, AT(125)));
}

/* ---- nodes --------------------------------------------------------------------------------- */

static retry_gates nodes[3];

static void set_nodes(uint16_t count)
{
    memset(nodes, 0, sizeof nodes);
    retry_client_nodes(&client, nodes, count);
}

static void other_nodes(void)
{
    unsigned i;
    set_nodes(2);
    retry_gates_breaker(&nodes[1], &breaker);
    retry_breaker_set(&breaker, RETRY_BREAKER_OPEN, AT(0));
    for (i = 0; i < 100; i++) {
        retry_operation one = another(0);
        drawn = check_random();
        CHECK_EQUAL(0, CHECK_SEND(retry_next(&one, AT(0))).node);
    }
    retry_gates_breaker(&nodes[1], NULL);
    op = another(0);
    CHECK_EQUAL(1, CHECK_SEND(retry_next(&op, AT(0))).node);
}

static void less_of_two(void)
{
    retry_operation ops[60];
    unsigned i;
    set_nodes(3);
    for (i = 0; i < CHECK_COUNT(ops); i++) {
        drawn = check_random();
        ops[i] = another(0);
        CHECK_SEND(retry_next(&ops[i], AT(0)));
    }
    for (i = 0; i < 3; i++) /* at random each would have 16 to 24 in two of three cases */
        CHECK_RANGE(19, 21, nodes[i].in_flight);
}

/* ---- the rows ------------------------------------------------------------------------------ */

enum { HOLDS, DIFFERS, UNSAID };

static const struct row {
    const char *peer, *what;
    unsigned kind;
    const char *why; /* as it differs, or cannot be said */
    void (*check)(void);
} rows[] = {
    {"resilience4j", "counts for nothing before minimumNumberOfCalls", HOLDS, "", volume_first},
    {"resilience4j", "opens at failureRateThreshold, not only above it", HOLDS, "", at_the_ratio},
    {"resilience4j", "a TIME_BASED window forgets", HOLDS, "", forgets},
    {"resilience4j", "a COUNT_BASED window: the last 100 calls", DIFFERS,
     "at a call a minute it would remember two hours", once_a_minute},
    {"resilience4j", "a success may open it, as the call that completes the minimum", DIFFERS,
     "an answer is no reason to stop asking: only a sick report opens", only_sick_opens},
    {"resilience4j", "slow calls have a rate of their own", DIFFERS,
     "an answer that comes too late is worth no more than none: one count", slow_is_sick},
    {"resilience4j", "half-open, the rate of all permitted calls decides", DIFFERS,
     "one sick probe is evidence enough", first_sick_probe},
    {"resilience4j", "permittedNumberOfCallsInHalfOpenState", HOLDS, "", three_probes},
    {"resilience4j", "FORCED_OPEN, and transitions by hand", HOLDS, "", isolated},
    {"resilience4j", "waits that grow while it stays sick", HOLDS, "", longer_each_time},
    {"resilience4j", "IntervalFunction: exponential, half of it random", HOLDS, "",
     half_more_or_less},
    {"resilience4j", "caps after the jitter, so that all wait the cap in the end", DIFFERS,
     "the cap before it, as cenkalti/backoff and gRPC: whoever waits long is spread, too",
     cap_before_jitter},
    {"resilience4j", "a rate of permits a period, all at once", DIFFERS,
     "twice as many would come at a period's edge", no_double_burst},
    {"resilience4j", "recordExceptions by class", UNSAID,
     "C has no exceptions: your classification decides", NULL},

    {"Polly", "FailureRatio of MinimumThroughput, judged at failures only", HOLDS, "",
     at_the_ratio},
    {"Polly", "one test call after BreakDuration", HOLDS, "", one_probe},
    {"Polly", "a test call that never ends keeps it half-open (version 8)", DIFFERS,
     "its place goes to another, so that a lost answer shuts out nobody", lost_probe},
    {"Polly", "Isolate and Close by hand", HOLDS, "", isolated},
    {"Polly", "what fails after it opened prolongs nothing", HOLDS, "", late_report},
    {"Polly", "constant, linear and capped delays", HOLDS, "", linear_and_capped},
    {"Polly", "UseJitter: a smoothed decorrelated formula", DIFFERS,
     "AWS's own, whose bounds can be said: initial to 3 times the last", decorrelated},
    {"Polly", "a hedge after Delay, or at once after a failure", HOLDS, "", next_at_once},
    {"Polly", "handles every exception, whatever the operation", DIFFERS,
     "a POST may have been done", not_idempotent},
    {"Polly", "strategies nest in any order", UNSAID,
     "gates have one order, in which nothing that one gave is lost when a later one refuses", NULL},

    {"gobreaker", "opens at the sixth failure in a row, which a success interrupts", HOLDS, "",
     six_in_a_row},
    {"gobreaker", "MaxRequests half-open, and as many successes close", HOLDS, "", three_probes},
    {"gobreaker", "a failure half-open opens it again", HOLDS, "", first_sick_probe},
    {"gobreaker", "results of an earlier generation do not count", HOLDS, "", late_report},
    {"gobreaker", "counts for ever unless there is an Interval", DIFFERS,
     "what was sick yesterday says nothing", forgets},
    {"gobreaker", "every error counts", DIFFERS, "a node that says no is there", answers_are_well},
    {"gobreaker", "a panic counts as a failure", UNSAID, "C has none", NULL},

    {"failsafe-go", "WithFailureThreshold: so many in a row", HOLDS, "", six_in_a_row},
    {"failsafe-go", "WithFailureThresholdRatio: 3 of the last 5", DIFFERS,
     "as for resilience4j's COUNT_BASED", once_a_minute},
    {"failsafe-go", "WithFailureRateThreshold: rate, executions, period", HOLDS, "", at_the_ratio},
    {"failsafe-go", "WithSuccessThresholdRatio: some may fail half-open", DIFFERS,
     "one sick probe is evidence enough", first_sick_probe},
    {"failsafe-go", "RemainingDelay", HOLDS, "", one_probe},
    {"failsafe-go", "Open, HalfOpen and Close by hand", HOLDS, "", isolated},
    {"failsafe-go", "three executions", HOLDS, "", three_attempts},
    {"failsafe-go", "a hedge after a quantile of what was seen", HOLDS, "", hedge_when_it_knows},
    {"failsafe-go", "a smooth rate limiter: one after the other", HOLDS, "", smooth},
    {"failsafe-go", "a bursty rate limiter: all of a period at once", DIFFERS,
     "`burst` is a bucket: twice as many would come at a period's edge", no_double_burst},
    {"failsafe-go", "fallbacks and caches", UNSAID, "what to answer instead is your program's",
     NULL},

    {"gRPC", "retry throttling: five failures from full forbid retries", HOLDS, "", grpc_budget},
    {"gRPC", "61 successes allow them again", HOLDS, "", grpc_successes},
    {"gRPC", "pushback: exact, and what cannot be read forbids", HOLDS, "", pushbacks},
    {"gRPC", "after pushback the curve begins anew", HOLDS, "", ordered_wait},
    {"gRPC", "hedges 500 ms apart, three to cancel", HOLDS, "", hedge_timeline},
    {"gRPC", "failed copies are charged", HOLDS, "", hedges_are_charged},
    {"gRPC", "connection backoff: starts 1 s, 1.6 s ... apart, 20 s to connect", HOLDS, "",
     connections},
    {"gRPC", "maxAttempts is 5 at most", DIFFERS, "the operator's number holds", twenty_attempts},
    {"gRPC", "what was never sent is repeated once, uncounted and unpaid", DIFFERS,
     "unpaid each time, but counted, and after a delay", never_sent_counts},
    {"gRPC", "any connection resets the backoff", DIFFERS,
     "two clients that throw each other out would never pause (RETRY_CONNECTION_GRPC does as gRPC)",
     unstable_connection},
    {"gRPC", "committed once headers have arrived", UNSAID,
     "your program knows when an answer has begun", NULL},

    {"Finagle", "a fifth of the requests pays for retries", HOLDS, "", share_of_requests},
    {"Finagle", "a minimum of retries a second", HOLDS, "", ten_a_second},
    {"Finagle", "the empty budget", HOLDS, "", empty_budget},
    {"Finagle", "deposits expire after ten seconds", DIFFERS,
     "what is held fades: 37 % of it is left after `expire` ms, and one retry at least",
     deposits_fade},
    {"Finagle", "equal jitter", HOLDS, "", equal_jitter},
    {"Finagle", "decorrelated jitter, from the last delay on", DIFFERS,
     "from `initial` on, as AWS has it: a delay may be shorter than the last", decorrelated},
    {"Finagle", "five failures in a row mark a node dead", HOLDS, "", six_in_a_row},
    {"Finagle", "one request tries whether it is back", HOLDS, "", one_probe},
    {"Finagle", "how long it is dead is random", DIFFERS,
     "who waits comes an eighth later, so that a new operation with all its time probes",
     waiters_come_later},
    {"Finagle", "load goes to other nodes", HOLDS, "", other_nodes},
    {"Finagle", "P2C: the node with less load of two at random", HOLDS, "", less_of_two},

    {"tower", "TpsBudget: empty refuses, one deposit pays one", HOLDS, "", share_of_requests},
    {"tower", "its reserve of so many a second", HOLDS, "", ten_a_second},
    {"tower", "deposits expire", DIFFERS, "as for Finagle", deposits_fade},
    {"tower", "jitter comes on top of the delay", DIFFERS,
     "from 0 on spreads best; equal jitter has a floor", full_jitter_from_0},
    {"tower", "ConcurrencyLimit", HOLDS, "", two_at_once},
    {"tower", "RateLimit: so many a period", DIFFERS, "as for resilience4j", no_double_burst},
    {"tower", "no hedges before there are enough data", HOLDS, "", hedge_when_it_knows},
    {"tower", "no hedge of what cannot be cloned", HOLDS, "", idempotent_hedges},
    {"tower", "Balance: the less busy of two at random", HOLDS, "", less_of_two},
    {"tower", "poll_ready, as back-pressure", UNSAID, "there are no tasks here", NULL},

    {"botocore", "quota: 500, 5 a retry, 10 after a timeout; what comes back", HOLDS, "",
     aws_quota},
    {"botocore", "random below 1, 2, 4 ... 20 s", HOLDS, "", aws_delays},
    {"botocore", "2.1: x-amz-retry-after adds 5 s at most", HOLDS, "", five_s_more},
    {"botocore", "500, 502, 503 and 504 are transient", HOLDS, "", server_errors},
    {"botocore", "adaptive mode: CUBIC", DIFFERS, "what half a second accepted loses less goodput",
     half_second},
    {"botocore", "a POST is repeated like a GET", DIFFERS, "it may have been done", not_idempotent},
    {"botocore", "errors by the service's model", UNSAID, "your program has the model", NULL},

    {"smithy-rs", "the first attempt needs no token", HOLDS, "", first_is_free},
    {"smithy-rs", "a charge that is denied changes nothing", HOLDS, "", denied_changes_nothing},
    {"smithy-rs", "three attempts", HOLDS, "", three_attempts},
    {"smithy-rs", "retry-after up to the longest delay", HOLDS, "", twenty_s_at_most},
    {"smithy-rs", "before 2.1 retry-after replaces the delay, if shorter, too", DIFFERS,
     "it is the least that a server wants", retry_after_is_least},
    {"smithy-rs", "retry partitions", HOLDS, "", partitions},
    {"smithy-rs", "its rate limiter sleeps within the call", DIFFERS,
     "nothing sleeps here: it says how long", says_how_long},
    {"smithy-rs", "ReconnectMode", UNSAID, "connections are your program's", NULL},

    {"urllib3", "the six methods that are retried", HOLDS, "", methods},
    {"urllib3", "413, 429 and 503 with Retry-After", HOLDS, "", with_retry_after},
    {"urllib3", "503 with Retry-After is of the six methods alone", HOLDS, "", refused_by_whom},
    {"urllib3", "Retry-After of six hours at most", HOLDS, "", capped_by_6_hours},
    {"urllib3", "connect errors for any method, read errors for those", HOLDS, "",
     by_where_it_failed},
    {"urllib3", "a 5xx is final unless it is listed", DIFFERS,
     "RFC 9110: the server is aware that it has erred", server_errors},
    {"urllib3", "the first retry comes at once", DIFFERS,
     "so do everybody's (a TABLE that begins with 0 does it)", first_at_once},
    {"urllib3", "a date that is past is no wait", DIFFERS,
     "1 ms, as 0 means that there was no header", past_is_at_once},
    {"urllib3", "counts of connect, read, status and redirect", DIFFERS,
     "one count, one deadline, one budget", one_count},
    {"urllib3", "redirects", UNSAID, "another request is your program's", NULL},

    {"go-retryablehttp", "5xx, but not 501, and 429", HOLDS, "", server_errors},
    {"go-retryablehttp", "505 to 511 and whatever is above 599 are repeated", DIFFERS,
     "the server does not know how, nor will it the next time; the others are no statuses",
     no_other_version},
    {"go-retryablehttp", "1 s, doubled up to 30 s; five attempts", HOLDS, "", doubled_to_30_s},
    {"go-retryablehttp", "Retry-After replaces the delay, if shorter, too", DIFFERS,
     "it is the least that a server wants", retry_after_is_least},
    {"go-retryablehttp", "a POST is repeated like a GET", DIFFERS, "it may have been done",
     not_idempotent},
    {"go-retryablehttp", "bad certificates, too many redirects are final", UNSAID,
     "your program says NONE of them, as examples/recipes/http.h does", NULL},

    {"cenkalti/backoff", "0.5 s times 1.5, half of it random", HOLDS, "", half_more_or_less},
    {"cenkalti/backoff", "60 s at most, before the jitter", HOLDS, "", cap_before_jitter},
    {"cenkalti/backoff", "MaxElapsedTime ends at once if the next wait would pass it", HOLDS, "",
     no_time_left},
    {"cenkalti/backoff", "Permanent", HOLDS, "", permanent},
    {"cenkalti/backoff", "RetryAfter: exact, and begins anew", HOLDS, "", ordered_wait},
    {"cenkalti/backoff", "WithMaxRetries", HOLDS, "", three_attempts},
    {"cenkalti/backoff", "ends after 15 minutes by default", DIFFERS,
     "75 s, as the Couchbase SDKs: who waits is gone by then", default_end},
    {"cenkalti/backoff", "Ticker", UNSAID, "your program has the timers", NULL},

    {"Netflix's limits", "a tenth less after a drop, minLimit at least", HOLDS, "", tenth_less},
    {"Netflix's limits", "one more only if half is in use; a timeout is a drop", HOLDS, "",
     rises_when_used},
    {"Netflix's limits", "onIgnore", HOLDS, "", ignored},
    {"Netflix's limits", "every drop lowers it", DIFFERS,
     "one fall a round trip: the others began before it", one_fall},
    {"Netflix's limits", "a connection that breaks is a drop", DIFFERS,
     "the third in a row is: one dark node of four is no overload", third_in_a_row},
    {"Netflix's limits", "starts at 20, between a minLimit of 20 and a maxLimit of 200", DIFFERS,
     "starts at `max`: a client that begins is no sign of overload", starts_at_max},
    {"Netflix's limits", "refuses at the limit", DIFFERS, "waits up to 100 ms, and asks again",
     two_at_once},
    {"Netflix's limits", "Vegas and Gradient, by latency", UNSAID,
     "a slow answer and a queue look alike to a client: failures alone lower the limit", NULL},
};

static void every_row_is_checked_or_reasoned(void)
{
    size_t i;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        check_row("%s: %s", rows[i].peer, rows[i].what);
        CHECK_EQUAL(rows[i].kind == UNSAID, rows[i].check == NULL);
        CHECK_EQUAL(rows[i].kind == HOLDS, rows[i].why[0] == '\0');
    }
}

/* The stories of each library, beside its rows. */
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

static const struct row *running;

static void one(void)
{
    check_row("%s: %s", running->peer, running->what);
    clear();
    running->check();
}

int main(void)
{
    size_t i;
#ifdef PEERS_TABLE
    static const char *const kinds[] = {"the same", "differs: ", "does not apply: "};
    puts("| library | what it does | here |\n| --- | --- | --- |");
    for (i = 0; i < CHECK_COUNT(rows); i++)
        printf("| %s | %s | %s%s |\n", rows[i].peer, rows[i].what, kinds[rows[i].kind],
               rows[i].why);
#endif
    play_sick = check_failure_of(RETRY_REASON_ATTEMPT_TIMED_OUT);
    play_unsent = check_failure_of(RETRY_REASON_CLIENT_THROTTLED);
    RUN(every_row_is_checked_or_reasoned);
    RUN(test_gobreaker);
    RUN(test_failsafe_go);
    RUN(test_polly);
    RUN(test_resilience4j);
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        running = &rows[i];
        if (running->check)
            check_run(one, running->what);
    }
    return check_done();
}
