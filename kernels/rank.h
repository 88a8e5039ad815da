/* Keys of the rank filters: unsigned integers that sort like floats. Integers compare faster, and NaN has a place in
 * their order.
 *
 *     float   -inf  ...  -0  0  ...  inf    NaN              negative NaN
 *     key        0  ...                     0xff000002 ...   0xff800001 ...
 *
 * Conversions are exact in both directions, so an output is bit for bit a sample of its window. */
#pragma once
#include "edge.h"

/* Added to the integers of DEFINE_KEYS, so that -infinity has key 0. Below -infinity are the NaN with the sign bit set; their
 * sums are negative, which as unsigned integers are the largest keys. */
#define KEY_BIAS 0x7f800001u

/* Defines the conversions of a type. Floats are sign and magnitude. Inverting the magnitude of the negative ones makes their
 * bits signed integers in the same order. */
#define DEFINE_KEYS(to, from, floats, ints, uints)                                                                     \
    static inline uints to(floats v)                                                                                   \
    {                                                                                                                  \
        return (as_##uints(v) ^ as_##uints(as_##ints(v) >> 31 & 0x7fffffff)) + KEY_BIAS;                              \
    }                                                                                                                  \
    static inline floats from(uints key)                                                                               \
    {                                                                                                                  \
        const ints bits = as_##ints(key - KEY_BIAS);                                                                  \
        return as_##floats(bits ^ (bits >> 31 & 0x7fffffff));                                                          \
    }
DEFINE_KEYS(to_key, from_key, float, int, uint)
#if LANES == 16
DEFINE_KEYS(to_keys, from_keys, float16, int16, uint16)
#elif defined(IMAGES)
DEFINE_KEYS(to_keys, from_keys, float4, int4, uint4)
#else
#define to_keys   to_key
#define from_keys from_key
#endif

#if LANES == 1 && !defined(IMAGES)
/* Returns the key of the sample at (x, y), by the border rule (edge.h). */
static inline uint key_at(PLANES_IN(src), int x, int y, int z)
{
    if (beyond_border(x, src_at.width) || beyond_border(y, src_at.height))
        return to_key(0.0f);
    return to_key(load(PLANES_ARG(src), edge(x, src_at.width), clamp_row(src_at, edge(y, src_at.height)), z));
}
#endif
