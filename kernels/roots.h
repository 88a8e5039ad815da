/* Square roots by Newton's iteration y' = y + y (1/2 - v y^2 / 2) for y = 1 / sqrt(v), in fma: at most 1 ulp off, and
 * the same on every device. A GPU's correctly rounded sqrt() has a branch for rare arguments; these functions have
 * none. */
#pragma once
#include "planes.h"

/* Returns 1 / sqrt(v) for a normal number v. The first guess halves the exponent and is at most 3% off. Each step
 * squares the error. */
static inline vec inverse_root(vec v)
{
    const vec half_v = 0.5f * v;
    vec y = float_from_bits(0x5f375a86 - (bits_of_float(v) >> 1));
#pragma unroll
    for (int i = 0; i < 3; i++)
        y = mad(y, mad(-(half_v * y), y, (vec)(0.5f)), y);
    return y;
}

/* Returns the square root of v >= 0. Below 2^-126 the result is too small. */
static inline vec root(vec v)
{
    const vec y = inverse_root(v), near = v * y;
    return v < INFINITY ? mad(0.5f * y, mad(-near, near, v), near) : v;
}
