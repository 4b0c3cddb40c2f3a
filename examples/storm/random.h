/* random.h: the seeded chance of storm.c. One generator serves a whole simulation, retry.h's
   jitter included, so the same seed gives the same course of events. */
#ifndef STORM_RANDOM_H
#define STORM_RANDOM_H

#if __STDC_HOSTED__
#include <math.h>
#endif
#include <stdint.h>

typedef struct dice {
    uint64_t state;
} dice;

/* 32 uniform bits; a retry_random_fn, to be handed to a retry_client. A Weyl sequence through
   MurmurHash3's 64-bit finaliser. */
static uint32_t dice_bits(void *context)
{
    dice *d = context;
    uint64_t x = d->state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
    return (uint32_t)(x >> 32);
}

#if __STDC_HOSTED__ /* in a browser there is no log() */
/* Uniform, above 0 and below 1. */
static double dice_unit(dice *d)
{
    return ((double)dice_bits(d) + 0.5) / 4294967296.0;
}

static inline double dice_exponential(dice *d, double mean)
{
    return -mean * log(dice_unit(d));
}
#endif

#endif /* STORM_RANDOM_H */
