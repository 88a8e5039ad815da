/* Ranks by integers: an unsigned integer for each float, in the order of the floats. -0 stands before 0, NaN of either
 * sign last. */
#pragma once
#include "edge.h"

/* The integers of -infinity, and of the others in turn, are those from 0 on; those of NaN with a sign come round behind
 * those without. */
#define RANK_BASE 0x7f800001u

/* Bits of a float to its key; if the sign is set, the others are inverted. */
#define DEFINE_KEYS(to, from, floats, ints, uints)                                                                     \
    static inline uints to(floats v)                                                                                   \
    {                                                                                                                  \
        return (as_##uints(v) ^ as_##uints(as_##ints(v) >> 31 & 0x7fffffff)) + RANK_BASE;                              \
    }                                                                                                                  \
    static inline floats from(uints key)                                                                               \
    {                                                                                                                  \
        const ints bits = as_##ints(key - RANK_BASE);                                                                  \
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
/* Returns the key of the sample that (x, y) stands for by the border rule. */
static inline uint key_at(PLANES_IN(src), int x, int y, int z)
{
    if (beyond_border(x, src_at.width) || beyond_border(y, src_at.height))
        return to_key(0.0f);
    return to_key(load(PLANES_ARG(src), edge(x, src_at.width), clamp_row(src_at, edge(y, src_at.height)), z));
}
#endif
