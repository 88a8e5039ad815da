/* Places of a level at which energies are counted, evenly spread along an axis. */
#pragma once

#define NEAR 3 /* samples beside a place that count, too */

/* Place j of `count` on an axis of n samples. */
static inline int place(int j, int count, int n)
{
    return (long)(2 * j + 1) * n / (2 * count);
}

/* Whether sample i is one of a place or its neighbours. */
static inline bool near_place(int i, int count, int n)
{
    const int j = (long)i * count / n;
    bool near = false;
    for (int k = j - 1; k <= j + 1; k++)
        near = near || abs(place(k, count, n) - i) <= NEAR;
    return near;
}
