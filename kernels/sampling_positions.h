/* Evenly spaced sampling positions along an axis, at which noise.cl measures energies of a wavelet level and constant.h tests
 * pixels. */
#pragma once

#define NEAR 3 /* samples on either side of a position that noise.cl averages */

/* Returns position j of `count` on an axis of n samples. */
static inline int sampling_position(int j, int count, int n)
{
    return (long)(2 * j + 1) * n / (2 * count);
}

/* Returns true if sample i is at most NEAR samples from one of the positions. */
static inline bool is_near_position(int i, int count, int n)
{
    const int j = (long)i * count / n;
    bool near = false;
    for (int k = j - 1; k <= j + 1; k++)
        near = near || abs(sampling_position(k, count, n) - i) <= NEAR;
    return near;
}
