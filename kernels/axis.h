/* The borders of the dual-tree transform: an axis is mirrored, half-sample symmetric, to any distance. */
#pragma once
#include "planes.h"

/* The position in [0, n) that i stands for. Nearly always i is that already, and one reflection is the rule for the
 * rest; a division would cost more and take registers. */
static inline int reflect(int i, int n)
{
    while (i < 0 || i >= n)
        i = i < 0 ? -1 - i : n - 1 - (i - n);
    return i;
}

/* A padded axis: n samples stand at [pad, pad + n) of `length` positions; positions beside them repeat the
 * first or the last sample, and past the ends of the axis the whole is mirrored. */
struct axis {
    int n, pad, length;
};

static inline int sample_at(const struct axis axis, int i)
{
    return clamp(reflect(i, axis.length) - axis.pad, 0, axis.n - 1);
}

/* Whether positions [i, i + count) are samples themselves. */
static inline bool is_interior(const struct axis axis, int i, int count)
{
    return i >= axis.pad && i + count <= axis.pad + axis.n;
}

#if LANES == 16 && !defined(IMAGES)
/* line[i] = the sample at position x0 + i of the axis: the slow path at the left and right border, after which the same
 * vector code runs on the line. */
static inline void fill_axis(float *line, int count, PLANES_IN(s), const struct axis axis, int x0, int y, int z)
{
    for (int i = 0; i < count; i++)
        line[i] = s[offset(s_at, sample_at(axis, x0 + i), y, z)];
}
#endif
