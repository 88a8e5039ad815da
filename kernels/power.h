/* v^e in single precision, at most 1 ulp from the exact value and the same on every device, unlike pow(). For 4096x4096 RGB
 * on two cores it takes about 30 ms, PoCL's pow() 900. pow() also takes as long to compile as the rest of the program.
 *
 *     v^e = 2^(e log2 v)
 *     log2(v) = n + log2(rest), rest in [sqrt(1/2), sqrt(2)]
 *     log2(rest) = 2 artanh(s) / ln 2, s = (rest - 1) / (rest + 1), as a power series in s
 *     2^y = 2^m * 2^z, m = y rounded, z = y - m, 2^z as a power series in z
 *
 * The logarithm is a sum of two floats, high and low, because the exponent multiplies its error.
 *
 *   REAL_LANES  number of lanes: 1, 4 or 16; defined by the file that includes this */
#pragma once
#include "exact.h"

#if REAL_LANES == 16
typedef float16 real;
typedef int16 ints;
#elif REAL_LANES == 4
typedef float4 real;
typedef int4 ints;
#else
typedef float real;
typedef int ints;
#endif

/* Returns the binary logarithm of v > 0, finite; *low is the part that does not fit into the result. */
static inline real log2_high_low(real v, real *low)
{
    /* v = 2^n * rest. Denormal numbers are scaled first. 0x3f3504f3 are the bits of sqrt(1/2), the least rest. */
    const real scaled = v < 0x1p-126f ? v * 0x1p24f : v;
    const ints exponent = (bits_of_float(scaled) - 0x3f3504f3) >> 23;
    const real rest = float_from_bits(bits_of_float(scaled) - (exponent << 23));
    const real n = to_float(exponent) - (v < 0x1p-126f ? (real)(24.0f) : (real)(0.0f));

    /* s + s_low = (rest - 1) / (rest + 1). s_low has the remainder of the division, and the rounding error of g. */
    const real f = rest - 1.0f, g = rest + 1.0f, inverse = 1.0f / g, s = f * inverse;
    const real s_low = mad(-s, rest - (g - 1.0f), mad(-s, g, f)) * inverse;
    /* high + low = n + log2(rest). 2 / ln 2 = 2.8853900f + 3.8519249e-8f; `tail` has the higher powers of s. */
    const real t = s * s;
    real series = mad(t, (real)(0.32059890f), (real)(0.41219859f));
    series = mad(t, series, (real)(0.57707802f));
    series = mad(t, series, (real)(0.96179670f));
    const real tail = s * t * series;
    const real p = s * 2.8853900f, p_low = mad(s_low, 2.8853900f, mad(s, 3.8519249e-8f, mad(s, 2.8853900f, -p)));
    const real sum = n + p, sum_low = (n - sum) + p + p_low + tail;
    const real high = sum + sum_low;
    *low = (sum - high) + sum_low;
    return high;
}

/* Returns 2^(y + y_low) for -126 <= y <= 128 and y_low near 0, as 2^m * 2^z with |z| <= 1/2. */
static inline real power_of_two(real y, real y_low)
{
    const real raised = y + 0x1.8p23f; /* the last bits are m: y, rounded to an integer */
    const real z = (y - (raised - 0x1.8p23f)) + y_low;
    real part = mad(z, (real)(1.5252734e-5f), (real)(1.5403530e-4f));
    part = mad(z, part, (real)(1.3333558e-3f));
    part = mad(z, part, (real)(9.6181291e-3f));
    part = mad(z, part, (real)(5.5504109e-2f));
    part = mad(z, part, (real)(2.4022651e-1f));
    part = mad(z, part, (real)(6.9314718e-1f));
    part = mad(z, part, (real)(1.0f));
    return float_from_bits(bits_of_float(part) + (bits_of_float(raised) << 23));
}

/* Returns v^exponent for v >= 0 and exponent > 0. Results below 2^-126 are 0; NaN stays NaN. */
static inline real power(real v, float exponent)
{
    real low;
    const real high = log2_high_low(v, &low);

    /* y + y_low = exponent * log2(v) */
    const real y = high * exponent, y_low = mad(low, exponent, mad(high, exponent, -y));
    const real clamped = y > -126.0f ? y < 128.0f ? y : (real)(128.0f) : (real)(-126.0f);
    const real result = power_of_two(clamped, y_low);
    const real bounded = y < 128.0f ? y > -126.0f ? result : (real)(0.0f) : (real)(INFINITY);
    return v > 0.0f && v < INFINITY ? bounded : v;
}
