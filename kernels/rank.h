/* Ranks by integers: an unsigned integer for each float, in the order of the floats. -0 stands before 0, NaN of either
 * sign last. */
#pragma once
#include "edge.h"

/* The integers of -infinity, and of the others in turn, are those from 0 on; those of NaN with a sign come round behind
 * those without. */
#define RANK_BASE 0x7f800001u

/* Of bits, and whether their sign is set: all ones or zeros. The second is the inverse. */
#define BITS_TO_KEY(bits, sign) (((bits) ^ ((sign) & 0x7fffffffu)) + RANK_BASE)
#define KEY_TO_BITS(bits, sign) ((bits) ^ ((sign) & 0x7fffffffu))

static inline uint to_key(float v)
{
    return BITS_TO_KEY(as_uint(v), as_uint(as_int(v) >> 31));
}

static inline float from_key(uint key)
{
    const uint bits = key - RANK_BASE;
    return as_float(KEY_TO_BITS(bits, as_uint(as_int(bits) >> 31)));
}
