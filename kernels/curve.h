/* Tone curves f as tables (src/image/colour/colour.h), with linear interpolation. A float's upper bits are the index: 1024
 * entries for each factor of two from 2^-24 to 2^16. So the steep start of a gamma curve is as exact as its end. Below 2^-24
 * the curve is a line from f(0).
 *
 *     table  is_mirrored | f(0) | f(2^-24) f(2^-24 (1 + 1/1024)) ... | f(2^-23) ... | ... f(2^16)
 *
 * is_mirrored: 1 if the curve of negative values is the mirror image, 2 f(0) - f(-v); 0 if it is f(0).
 *
 *   lanes  type of the values (raster.h); `ints` has an integer for each of them */
#pragma once
#include "exact.h"

/* gather_pairs() loads p[i] and p[i + 1] of each lane, on CPUs in one access. For single floats LLVM uses the gathers of
 * AVX-512, with which 4096x4096 RGB took 94 ms instead of 57 on one core of a Zen 5. */
#if LANES == 16
typedef int16 ints;

struct __attribute__((packed)) pair {
    float2 both;
};
#define PAIR(i) (((__global const struct pair *)(p + (i)))->both)

static inline void gather_pairs(__global const float *p, ints i, lanes *low, lanes *high)
{
    const lanes a = (lanes)(PAIR(i.s0), PAIR(i.s1), PAIR(i.s2), PAIR(i.s3), PAIR(i.s4), PAIR(i.s5), PAIR(i.s6), PAIR(i.s7));
    const lanes b = (lanes)(PAIR(i.s8), PAIR(i.s9), PAIR(i.sa), PAIR(i.sb), PAIR(i.sc), PAIR(i.sd), PAIR(i.se), PAIR(i.sf));
    *low = (lanes)(a.even, b.even);
    *high = (lanes)(a.odd, b.odd);
}
#else
typedef int ints;

static inline void gather_pairs(__global const float *p, ints i, lanes *low, lanes *high)
{
    *low = p[i];
    *high = p[i + 1];
}
#endif

/* Returns f(v). Values above 2^16 count as 2^16; infinity stays infinity if f rises between the last two entries. NaN stays NaN. */
static inline lanes curve_lookup(__global const float *table, lanes v)
{
    const int first = 0x33800000, last = 0x477fffff; /* bits of 2^-24, and of the float below 2^16 */
    const lanes a = fabs(v);
    ints bits = bits_of_float(a);
    bits = bits < last ? bits : (ints)(last);
    const ints index = max((bits - first) >> 13, (ints)(-1)) + 2;
    const lanes fraction = bits < first ? a * 0x1p24f : to_float(bits & 0x1fff) * 0x1p-13f; /* of the way to the next entry */
    lanes low, high;
    gather_pairs(table, index, &low, &high);
    const lanes inside = mad(fraction, high - low, low), value = ((a == INFINITY) & (high > low)) ? a : inside;
    const lanes below = mad(-table[0], value - table[1], (lanes)(table[1]));
    return v < 0.0f ? below : v == v ? value : v;
}
