/* The border rule of filters: the value of samples beyond the image.
 *
 *   -DEDGE=n  0 clamp    a a a | a b c | c c c
 *             1 mirror   c b a | a b c | c b a    (half-sample symmetric)
 *             2 wrap     a b c | a b c | a b c
 *             3 zero     0 0 0 | a b c | 0 0 0
 *
 * The launch defines EDGE for files that include this one. */
#pragma once
#include "planes.h"

#ifndef EDGE
#define EDGE 0
#endif

/* Returns the index in [0, n) for index i of an axis of n samples. Under EDGE 3 the caller first checks
 * beyond_border(). */
static inline int edge(int i, int n)
{
#if EDGE == 1
    const uint period = 2 * (uint)n, k = (uint)(i < 0 ? -1 - i : i) % period; /* 2^31 does not fit into an int */
    return k < (uint)n ? k : period - 1 - k;
#elif EDGE == 2
    i %= n;
    return i < 0 ? i + n : i;
#else
    return clamp(i, 0, n - 1);
#endif
}

/* Returns true if the sample at i is zero by the border rule. */
static inline bool beyond_border(int i, int n)
{
    return EDGE == 3 && (i < 0 || i >= n);
}

/* Loads a vec of row y, with the border rule along y. Rows that are not in memory are clamped: a work-item of several
 * rows may request them for output rows past the slice, which it does not store. */
static inline vec load_row(PLANES_IN(s), int x, int y, int z)
{
    return beyond_border(y, s_at.height) ? (vec)(0.0f)
                                    : load(PLANES_ARG(s), x, clamp_row(s_at, edge(y, s_at.height)), z);
}

#if LANES == 16
/* Sets line[i] to the sample at x0 + i, with the border rule. This is the slow path at the left and right border; the
 * vector code that follows is the same for both. It is one loop: with a copy of the inner part between loops for the
 * borders, compilation takes twice as long. */
static inline void fill_line(float *line, int count, PLANES_IN(s), int x0, int y, int z)
{
    for (int i = 0; i < count; i++)
        line[i] = beyond_border(x0 + i, s_at.width) ? 0.0f : s[offset(s_at, edge(x0 + i, s_at.width), y, z)];
}

/* Loads the vec at x, any part of which may be beyond the border. */
static inline vec load_vec(PLANES_IN(s), int x, int y, int z)
{
    float line[LANES];
    fill_line(line, LANES, PLANES_ARG(s), x, y, z);
    return VLOAD(line);
}
#else
/* Loads the sample (texel) at x, with the border rule along x. */
#ifdef IMAGES
static inline vec load_column(PLANES_IN(s), int x, int y, int z)
{
    return beyond_border(x, s_at.width) ? (vec)(0.0f) : load(PLANES_ARG(s), edge(x, s_at.width), y, z);
}
#else
static inline float load_column(PLANES_IN(s), int x, int y, int z)
{
    return beyond_border(x, s_at.width) ? 0.0f : s[offset(s_at, edge(x, s_at.width), y, z)];
}
#endif

#ifdef IMAGES
#define load_vec load_column
#elif LANES == 4
/* Loads the vec at x, any part of which may be beyond the border. */
static inline vec load_vec(PLANES_IN(s), int x, int y, int z)
{
    return (vec)(load_column(PLANES_ARG(s), x, y, z), load_column(PLANES_ARG(s), x + 1, y, z), load_column(PLANES_ARG(s), x + 2, y, z),
                   load_column(PLANES_ARG(s), x + 3, y, z));
}
#endif
#endif
