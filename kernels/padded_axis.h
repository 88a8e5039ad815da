/* The border rule of the dual-tree transform: half-sample symmetric extension, mirrored as often as needed.
 *
 *     sample      c b a | a b c d e | e d c ...
 *     index      -3-2-1 | 0 1 2 3 4 | 5 6 7 */
#pragma once
#include "planes.h"

/* Returns the index in [0, n) that i mirrors to. Nearly always i is inside, or one reflection is enough: a division would
 * take longer and more registers. */
static inline int reflect(int i, int n)
{
    while (i < 0 || i >= n)
        i = i < 0 ? -1 - i : n - 1 - (i - n);
    return i;
}

/* A padded axis: n samples at positions [pad, pad + n) of `length` positions. The padding repeats the first and the
 * last sample. Beyond the ends the padded axis is mirrored. */
struct padded_axis {
    int n, pad, length;
};

/* Returns the index of the sample at position i of the axis. */
static inline int padded_index(const struct padded_axis axis, int i)
{
    return clamp(reflect(i, axis.length) - axis.pad, 0, axis.n - 1);
}

/* Returns true if positions [i, i + count) are samples, neither padding nor mirrored. */
static inline bool is_interior(const struct padded_axis axis, int i, int count)
{
    return i >= axis.pad && i + count <= axis.pad + axis.n;
}

#if LANES == 16 && !defined(IMAGES)
/* Sets line[i] to the sample at position x0 + i of the axis. Filters read the source directly; only for vecs at the left and
 * right border the same code reads such a line instead. */
static inline void fill_axis(float *line, int count, PLANES_IN(s), const struct padded_axis axis, int x0, int y, int z)
{
    for (int i = 0; i < count; i++)
        line[i] = s[offset(s_at, padded_index(axis, x0 + i), y, z)];
}
#endif
