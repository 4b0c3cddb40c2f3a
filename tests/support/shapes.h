/* Distributions of how long an attempt takes, as tables from which it is drawn and of which every
   quantile is known. For those who include retry.h and check.h before. */
#ifndef SHAPES_H
#define SHAPES_H

#include <math.h>

#define SHAPE_POINTS 1000

/* A distribution as its value at evenly spaced points, the smallest first. */
static retry_ms shape_points[SHAPE_POINTS];

/* Its shape: constant, uniform from `low` to `high`, or lognormal around `low`; a share of it
   `times` slower. */
struct shape {
    const char *name;
    retry_ms low, high;
    double sigma; /* 0: not lognormal */
    unsigned slower, times;
    retry_ms first;     /* a sample before all others (0: none) */
    unsigned quantiles; /* of shape_quantiles, those that count */
};

/* Bits of the quantiles. */
enum { Q50 = 1, Q90 = 2, Q95 = 4, Q99 = 8, ALL = 15 };

static const struct shape shapes[] = {
    {"constant, 1 ms", 1, 1, 0, 0, 1, 0, ALL},
    {"constant, 120 ms", 120, 120, 0, 0, 1, 0, ALL},
    {"constant, after 1 ms", 120, 120, 0, 0, 1, 1, ALL},
    {"constant, after 30 s", 120, 120, 0, 0, 1, 30000, ALL},
    {"uniform, 1 to 100 ms", 1, 100, 0, 0, 1, 0, ALL},
    {"uniform, 1190 to 1210 ms", 1190, 1210, 0, 0, 1, 0, ALL},
    {"uniform, 1100 to 1300 ms", 1100, 1300, 0, 0, 1, 0, ALL},
    {"lognormal, sigma 0.25", 10, 0, 0.25, 0, 1, 0, ALL},
    {"lognormal, sigma 0.5", 1000, 0, 0.5, 0, 1, 30000, ALL},
    {"lognormal, sigma 1", 100, 0, 1, 0, 1, 0, ALL},
    {"lognormal, sigma 1, 50 s", 50000, 0, 1, 0, 1, 0, Q95},
    {"3 of 10 ten times slower", 10, 0, 0.5, 300, 10, 0, ALL},
    {"5 of 100 a hundred times slower", 10, 0, 0.5, 50, 100, 0, Q50 | Q90 | Q99},
};

static const uint32_t shape_quantiles[] = {RETRY_RATIO(0.5), RETRY_RATIO(0.9), RETRY_RATIO(0.95),
                                           RETRY_RATIO(0.99)};

/* The normal distribution's value that a part p of it, up to a half, is below: Abramowitz and
   Stegun, 26.2.23, within 0.00045. */
CHECK_API double shape_normal(double p)
{
    double t = sqrt(-2 * log(p));
    double above = 2.515517 + t * (0.802853 + t * 0.010328);
    return above / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
}

/* Of `count` values that are evenly likely, the one at `i`. */
CHECK_API retry_ms shape_value(const struct shape *shape, unsigned i, unsigned count)
{
    double p = (i + 0.5) / count;
    double low = (double)shape->low, high = (double)shape->high;
    if (shape->sigma > 0)
        low *= exp(shape->sigma * (p < 0.5 ? shape_normal(p) : -shape_normal(1 - p)));
    else
        low += p * (high - low);
    return low < 1 ? 1 : (retry_ms)(low + 0.5);
}

/* All that follows is of this shape. */
CHECK_API void shape_set_up(const struct shape *shape)
{
    unsigned i, fast = SHAPE_POINTS - shape->slower;
    for (i = 0; i < fast; i++)
        shape_points[i] = shape_value(shape, i, fast);
    for (; i < SHAPE_POINTS; i++)
        shape_points[i] = shape_value(shape, i - fast, shape->slower) * shape->times;
    for (i = 1; i < SHAPE_POINTS; i++) { /* the slow ones may begin among the fast */
        unsigned j;
        for (j = i; j > 0 && shape_points[j] < shape_points[j - 1]; j--) {
            retry_ms point = shape_points[j];
            shape_points[j] = shape_points[j - 1];
            shape_points[j - 1] = point;
        }
    }
}

/* How long an attempt takes. */
CHECK_API retry_ms shape_draw(void)
{
    return shape_points[((uint64_t)check_random() * SHAPE_POINTS) >> 32];
}

/* What so many do not take longer than. */
CHECK_API retry_ms shape_quantile(uint32_t quantile)
{
    return shape_points[((uint64_t)quantile * SHAPE_POINTS) >> 16];
}

#endif
