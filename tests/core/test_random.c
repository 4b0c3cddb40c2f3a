/* The built-in generator of random numbers, and its seeds. */
#define RETRY_IMPLEMENTATION
#include "../../retry.h"
#include "../support/check.h"

#define LENGTH 64u

static void draw(uint32_t seed, uint32_t numbers[LENGTH])
{
    unsigned i;
    retry_seed(seed);
    for (i = 0; i < LENGTH; i++)
        numbers[i] = retry_draw();
}

static unsigned bits(uint32_t number)
{
    unsigned count = 0;
    for (; number != 0; number >>= 1)
        count += (unsigned)(number & 1);
    return count;
}

/* Before any seed: the generator seeds itself, and what it gives is not all the same. */
static void test_unseeded(void)
{
    uint32_t first = retry_draw(), different = 0;
    unsigned i;
    for (i = 0; i < LENGTH; i++)
        different |= first ^ retry_draw();
    CHECK_RANGE(24, 32, bits(different));
    CHECK(first != 0); /* as the first of no seed is */
}

static void test_same_seed_same_sequence(void)
{
    static const uint32_t seeds[] = {0, 1, 12345, 0x80000000u, UINT32_MAX};
    uint32_t first[LENGTH], again[LENGTH];
    size_t i;
    for (i = 0; i < CHECK_COUNT(seeds); i++) {
        check_row("seed %lu", (unsigned long)seeds[i]);
        draw(seeds[i], first);
        draw(seeds[i], again);
        CHECK(memcmp(first, again, sizeof first) == 0);
    }
}

/* And the same on every machine, so that a simulation can be repeated on another. */
static void test_known_numbers(void)
{
    static const struct {
        uint32_t seed, numbers[3];
    } rows[] = {{1, {0x9941cd2d, 0x40577063, 0x23670a81}},
                {12345, {0x890717c5, 0xd498cc71, 0x4c19ed59}},
                {0x9e3779b9, {0x514e28b7, 0x96a0f96b, 0x12bc8390}}};
    size_t i, j;
    for (i = 0; i < CHECK_COUNT(rows); i++) {
        retry_seed(rows[i].seed);
        for (j = 0; j < 3; j++) {
            check_row("seed %lu, number %u", (unsigned long)rows[i].seed, (unsigned)j);
            CHECK_EQUAL(rows[i].numbers[j], retry_draw());
        }
    }
}

/* The bits in which the sequences of two seeds differ: half of them. */
static unsigned distance(const uint32_t a[LENGTH], const uint32_t b[LENGTH])
{
    unsigned i, count = 0;
    for (i = 0; i < LENGTH; i++)
        count += bits(a[i] ^ b[i]);
    return count;
}

/* How many numbers of a are also in b: none, unless one is the other shifted. */
static unsigned shared(const uint32_t a[LENGTH], const uint32_t b[LENGTH])
{
    unsigned i, j, count = 0;
    for (i = 0; i < LENGTH; i++)
        for (j = 0; j < LENGTH; j++)
            count += a[i] == b[j];
    return count;
}

static void check_unrelated(uint32_t one, uint32_t other)
{
    uint32_t a[LENGTH], b[LENGTH];
    draw(one, a);
    draw(other, b);
    check_row("seeds %lu and %lu", (unsigned long)one, (unsigned long)other);
    CHECK_RANGE(LENGTH * 16 - 160, LENGTH * 16 + 160, distance(a, b));
    CHECK_EQUAL(0, shared(a, b));
}

static void test_neighbouring_seeds(void)
{
    uint32_t seed, bit;
    for (seed = 0; seed < 200; seed++)
        check_unrelated(seed, seed + 1);
    for (seed = UINT32_MAX - 20; seed < UINT32_MAX; seed++)
        check_unrelated(seed, seed + 1);
    for (bit = 0; bit < 32; bit++)
        check_unrelated(1000, 1000 ^ ((uint32_t)1 << bit));
}

/* Devices that are seeded with their ids and draw once each: the draws fill the range. */
static void test_first_numbers_of_seeds(void)
{
    unsigned buckets[64] = {0};
    uint32_t seed;
    unsigned i;
    for (seed = 0; seed < 64000; seed++) {
        retry_seed(seed);
        buckets[retry_draw() >> 26]++;
    }
    for (i = 0; i < 64; i++) {
        check_row("bucket %u", i);
        CHECK_RANGE(840, 1160, buckets[i]); /* five standard deviations */
    }
}

/* The one seed that comes to a state of 0, which would mean that there was none. */
static void test_seed_of_zero(void)
{
    uint32_t first;
    retry_seed(UINT32_C(0x9e3779b9));
    first = retry_draw();
    CHECK(first != retry_draw());
    retry_seed(UINT32_C(0x9e3779b9));
    CHECK_EQUAL(first, retry_draw());
}

static void test_numbers_fill_the_range(void)
{
    unsigned high[64] = {0}, low[64] = {0}, ones[32] = {0};
    unsigned i, bit;
    retry_seed(2024);
    for (i = 0; i < 64000; i++) {
        uint32_t number = retry_draw();
        high[number >> 26]++;
        low[number & 63]++;
        for (bit = 0; bit < 32; bit++)
            ones[bit] += (unsigned)((number >> bit) & 1);
    }
    for (i = 0; i < 64; i++) {
        check_row("bucket %u", i);
        CHECK_RANGE(840, 1160, high[i]);
        CHECK_RANGE(840, 1160, low[i]);
        CHECK_RANGE(31300, 32700, ones[i / 2]);
    }
}

/* One number says nothing of the next. */
static void test_numbers_are_independent(void)
{
    unsigned pairs[8][8] = {{0}};
    unsigned i, j, last;
    retry_seed(7);
    last = (unsigned)(retry_draw() >> 29);
    for (i = 0; i < 64000; i++) {
        unsigned next = (unsigned)(retry_draw() >> 29);
        pairs[last][next]++;
        last = next;
    }
    for (i = 0; i < 8; i++) {
        for (j = 0; j < 8; j++) {
            check_row("%u after %u", j, i);
            CHECK_RANGE(840, 1160, pairs[i][j]);
        }
    }
}

int main(void)
{
    RUN(test_unseeded); /* first: nothing has been drawn yet */
    RUN(test_same_seed_same_sequence);
    RUN(test_known_numbers);
    RUN(test_neighbouring_seeds);
    RUN(test_first_numbers_of_seeds);
    RUN(test_seed_of_zero);
    RUN(test_numbers_fill_the_range);
    RUN(test_numbers_are_independent);
    return check_done();
}
