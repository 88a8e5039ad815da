/* Sampling positions along an axis, evenly spaced: noise.cl measures energies of a wavelet level at them, constant.h tests
 * pixels. */
#pragma once

#define NEAR 3 /* samples on either side of a position that noise.cl averages */

/* Returns position j of `count` on an axis of n samples. */
static inline int place(int j, int count, int n)
{
    return (long)(2 * j + 1) * n / (2 * count);
}

/* Returns true if sample i is at most NEAR samples from one of the positions. */
static inline bool near_place(int i, int count, int n)
{
    const int j = (long)i * count / n;
    bool near = false;
    for (int k = j - 1; k <= j + 1; k++)
        near = near || abs(place(k, count, n) - i) <= NEAR;
    return near;
}
