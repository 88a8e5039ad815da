/* Square roots of pixels by Newton's iteration in fma: off by at most 1 ulp, the same on every device, and without the branch that a GPU's
 * correctly rounded sqrt() has for what is rare. */
#pragma once
#include "planes.h"

#if defined(IMAGES) || LANES == 4
#define VEC_BITS(v) as_int4(v)
#define BITS_VEC(v) as_float4(v)
#elif LANES == 16
#define VEC_BITS(v) as_int16(v)
#define BITS_VEC(v) as_float16(v)
#else
#define VEC_BITS(v) as_int(v)
#define BITS_VEC(v) as_float(v)
#endif

/* 1 / sqrt(v), for v that is a normal number. It begins with half of the exponent, off by 3% at most; each step squares the error. */
static inline vec inverse_root(vec v)
{
    const vec half_v = 0.5f * v;
    vec y = BITS_VEC(0x5f375a86 - (VEC_BITS(v) >> 1));
#pragma unroll
    for (int i = 0; i < 3; i++)
        y = mad(y, mad(-(half_v * y), y, (vec)(0.5f)), y);
    return y;
}

/* The square root of v >= 0; below 2^-126 it is too small. */
static inline vec root(vec v)
{
    const vec y = inverse_root(v), near = v * y;
    return v < INFINITY ? mad(0.5f * y, mad(-near, near, v), near) : v;
}
