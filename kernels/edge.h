/* The border rule: what stands for samples beyond the image.
 *
 *   -DEDGE=n  0 clamp, 1 mirror (half-sample symmetric), 2 wrap, 3 zero; the launch gives it to files that include this */
#pragma once
#include "planes.h"

#ifndef EDGE
#define EDGE 0
#endif

/* The sample that stands for index i of an axis of n samples. Under EDGE 3 the caller asks outside() first. */
static inline int edge(int i, int n)
{
#if EDGE == 1
    const uint period = 2 * (uint)n, k = (uint)(i < 0 ? -1 - i : i) % period; /* 2^31 is no int */
    return k < (uint)n ? k : period - 1 - k;
#elif EDGE == 2
    i %= n;
    return i < 0 ? i + n : i;
#else
    return clamp(i, 0, n - 1);
#endif
}

/* True where the sample is zero by the border rule. */
static inline bool beyond_border(int i, int n)
{
    return EDGE == 3 && (i < 0 || i >= n);
}

/* The row that y stands for by the border rule; zero where it says so. A work-item of several rows may ask for
 * rows that are not held, on behalf of output rows past the subband's end, which it will not store. */
static inline vec load_row(PLANES_IN(s), int x, int y, int z)
{
    return beyond_border(y, s_at.height) ? (vec)(0.0f)
                                    : load(PLANES_ARG(s), x, clamp_row(s_at, edge(y, s_at.height)), z);
}

#if LANES == 16
/* line[i] = the sample that x0 + i stands for: the slow path at the left and right border, after which the same vector code
 * runs on the line. One loop: a copy of what is inside, with loops beside it, takes the compiler twice as long. */
static inline void fill_line(float *line, int count, PLANES_IN(s), int x0, int y, int z)
{
    for (int i = 0; i < count; i++)
        line[i] = beyond_border(x0 + i, s_at.width) ? 0.0f : s[offset(s_at, edge(x0 + i, s_at.width), y, z)];
}

/* The pixel from x on, any part of which may lie beyond the border. */
static inline vec load_vec(PLANES_IN(s), int x, int y, int z)
{
    float line[LANES];
    fill_line(line, LANES, PLANES_ARG(s), x, y, z);
    return VLOAD(line);
}
#else
/* The sample (texel) that x stands for by the border rule. */
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
/* The pixel from x on, any part of which may lie beyond the border. */
static inline vec load_vec(PLANES_IN(s), int x, int y, int z)
{
    return (vec)(load_column(PLANES_ARG(s), x, y, z), load_column(PLANES_ARG(s), x + 1, y, z), load_column(PLANES_ARG(s), x + 2, y, z),
                   load_column(PLANES_ARG(s), x + 3, y, z));
}
#endif
#endif
