/* Ranks by integers: an unsigned integer for each float, in the order of the floats. -0 stands before 0, NaN of either
 * sign last. */
#pragma once
#include "edge.h"

/* The integers of -infinity, and of the others in turn, are those from 0 on; those of NaN with a sign come round behind
 * those without. */
#define RANK_BASE 0x7f800001u

/* Bits of a float to its key; where the sign is set, the others are inverted. */
static inline uint to_key(float v)
{
    return (as_uint(v) ^ as_uint(as_int(v) >> 31 & 0x7fffffff)) + RANK_BASE;
}

static inline float from_key(uint key)
{
    const int bits = as_int(key - RANK_BASE);
    return as_float(bits ^ (bits >> 31 & 0x7fffffff));
}
