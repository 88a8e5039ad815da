/* Enlarging by 2^shift without interpolation: each pixel becomes a square of its like. */
#pragma once
#include "planes.h"

/* The outputs at x, a multiple of LANES, of source row y. Rows are padded to whole vectors. */
INLINE pixel repeat_samples(SOURCE(src), int x, int y, int z, int shift)
{
#ifdef IMAGES
    return load(GIVE(src), x >> shift, y, z);
#else
    if (shift == 0)
        return load(GIVE(src), x, y, z);
    __global const float *p = src + offset(src_at, x >> shift, y, z);
#if LANES == 16
    if (shift == 1)
        return vload8(0, p).s0011223344556677;
    if (shift == 2)
        return vload4(0, p).s0000111122223333;
    if (shift == 3)
        return vload2(0, p).s0000000011111111;
#else
    if (shift == 1)
        return vload2(0, p).s0011;
#endif
    return *p;
#endif
}
