/* Tone curves f as tables (src/image/colour/colour.h), with linear interpolation. A float's upper bits are the index: 1024
 * entries for each factor of two from 2^-24 to 2^8. So the steep begin of a gamma curve is as exact as its end. Below 2^-24
 * the curve is a line from f(0).
 *
 *     table  is_mirrored | f(0) | f(2^-24) f(2^-24 (1 + 1/1024)) ... | f(2^-23) ... | ... f(2^8)
 *
 *   lanes, ints  types of the values: 16 or 1 of them */
#pragma once
#include "exact.h"

#if LANES == 16
#define GATHER(p, i)                                                                                                   \
    (lanes)((p)[(i).s0], (p)[(i).s1], (p)[(i).s2], (p)[(i).s3], (p)[(i).s4], (p)[(i).s5], (p)[(i).s6], (p)[(i).s7],      \
            (p)[(i).s8], (p)[(i).s9], (p)[(i).sa], (p)[(i).sb], (p)[(i).sc], (p)[(i).sd], (p)[(i).se], (p)[(i).sf])
#else
#define GATHER(p, i) (p)[i]
#endif

/* Returns f(v). Values above 256 count as 256, NaN stays NaN. For v < 0 returns 2 f(0) - f(-v) if is_mirrored is 1, and f(0) if
 * it is 0. */
static inline lanes curve_lookup(__global const float *table, lanes v)
{
    const int first = 0x33800000, last = 0x437fffff; /* bits of 2^-24, and of the float below 2^8 */
    const lanes a = fabs(v);
    ints bits = bits_of_float(a);
    bits = bits < last ? bits : (ints)(last);
    const ints index = bits < first ? (ints)(1) : ((bits - first) >> 13) + 2;
    const lanes part = bits < first ? a * 0x1p24f : to_float(bits & 0x1fff) * 0x1p-13f;
    const lanes low = GATHER(table, index), high = GATHER(table + 1, index);
    const lanes value = mad(part, high - low, low), below = mad(-table[0], value - table[1], (lanes)(table[1]));
    return v < 0.0f ? below : v == v ? value : v;
}
