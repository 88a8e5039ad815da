/* The border rule of filters: the value of a sample at a position outside the image. If beyond_border() is true, the sample is
 * 0. Otherwise it is the image's sample at the index that edge() returns.
 *
 *   -DEDGE=n  0 clamp    a a a | a b c | c c c
 *             1 mirror   c b a | a b c | c b a    (half-sample symmetric)
 *             2 wrap     a b c | a b c | a b c
 *             3 zero     0 0 0 | a b c | 0 0 0
 *
 * The host adds -DEDGE to the options of programs that include this file (src/device/launch.c). */
#pragma once
#include "planes.h"

#ifndef EDGE
#define EDGE 0
#endif

/* Returns the index of the sample that the border rule repeats at position i: in [0, n), and i itself if that is inside. */
static inline int edge(int i, int n)
{
#if EDGE == 1
    const uint period = 2 * (uint)n, k = (uint)(i < 0 ? -1 - i : i) % period; /* unsigned: 2 n may be 2^31 */
    return k < (uint)n ? k : period - 1 - k;
#elif EDGE == 2
    i %= n;
    return i < 0 ? i + n : i;
#else
    return clamp(i, 0, n - 1);
#endif
}

/* Returns true if position i is beyond the border and the border rule is zero. */
static inline bool beyond_border(int i, int n)
{
    return EDGE == 3 && (i < 0 || i >= n);
}

/* Loads the vec at (x, y), with the border rule along y. If the row is not in memory, loads the nearest row in memory. This
 * happens for outputs after the end of a slice, which are computed but not stored. */
static inline vec load_edge_y(PLANES_IN(s), int x, int y, int z)
{
    return beyond_border(y, s_at.height) ? (vec)(0.0f) : load(PLANES_ARG(s), x, clamp_row(s_at, edge(y, s_at.height)), z);
}

#if LANES == 16
/* Sets line[i] to the sample at column x0 + i of row y, for i < count, with the border rule along x. Filters read vecs near the
 * left and right border from such a line and all others from the source, with the same code. A separate loop for the samples
 * inside the image, without the border rule, doubled the compilation time. */
static inline void fill_line(float *line, int count, PLANES_IN(s), int x0, int y, int z)
{
    for (int i = 0; i < count; i++)
        line[i] = beyond_border(x0 + i, s_at.width) ? 0.0f : s[offset(s_at, edge(x0 + i, s_at.width), y, z)];
}

/* Loads the vec at (x, y), with the border rule along x for each of its samples. */
static inline vec load_vec_edge_x(PLANES_IN(s), int x, int y, int z)
{
    float line[LANES];
    fill_line(line, LANES, PLANES_ARG(s), x, y, z);
    return VLOAD(line);
}
#elif defined(IMAGES)
/* Loads the texel at (x, y), with the border rule along x. */
static inline vec load_edge_x(PLANES_IN(s), int x, int y, int z)
{
    return beyond_border(x, s_at.width) ? (vec)(0.0f) : load(PLANES_ARG(s), edge(x, s_at.width), y, z);
}
#define load_vec_edge_x load_edge_x
#else
/* Loads the sample at (x, y), with the border rule along x. */
static inline float load_edge_x(PLANES_IN(s), int x, int y, int z)
{
    return beyond_border(x, s_at.width) ? 0.0f : s[offset(s_at, edge(x, s_at.width), y, z)];
}

#if LANES == 4
/* Loads the vec at (x, y), with the border rule along x for each of its samples. */
static inline vec load_vec_edge_x(PLANES_IN(s), int x, int y, int z)
{
    return (vec)(load_edge_x(PLANES_ARG(s), x, y, z), load_edge_x(PLANES_ARG(s), x + 1, y, z),
                 load_edge_x(PLANES_ARG(s), x + 2, y, z), load_edge_x(PLANES_ARG(s), x + 3, y, z));
}
#endif
#endif
