/* Two neighbours along x, an even and an odd one: what the dual-tree transform makes complex numbers of.
 *
 *   pair    PAIRS even and PAIRS odd samples in their order along x (images: two texels)
 *   single  the even or the odd ones alone */
#pragma once
#include "planes.h"

#ifdef IMAGES
#define PAIRS 1
typedef float8 pair;
typedef float4 single;
#define EVEN(v)     ((v).lo)
#define ODD(v)      ((v).hi)
#define JOIN(e, o)  ((pair)(e, o))
#define SWAP(v)     ((pair)((v).hi, (v).lo))
#define WEIGHTS2(w) ((pair)((single)((w).x), (single)((w).y)))
#elif LANES == 16
#define PAIRS 8
typedef float16 pair;
typedef float8 single;
#define EVEN(v)     ((v).even)
#define ODD(v)      ((v).odd)
#define JOIN(e, o)                                                                                                     \
    ((pair)((e).s0, (o).s0, (e).s1, (o).s1, (e).s2, (o).s2, (e).s3, (o).s3, (e).s4, (o).s4, (e).s5, (o).s5, (e).s6,    \
            (o).s6, (e).s7, (o).s7))
#define SWAP(v)     ((v).s1032547698badcfe)
#define WEIGHTS2(w) ((w).s0101010101010101)
#elif LANES == 4
#define PAIRS 2
typedef float4 pair;
typedef float2 single;
#define EVEN(v)     ((v).even)
#define ODD(v)      ((v).odd)
#define JOIN(e, o)  ((pair)((e).x, (o).x, (e).y, (o).y))
#define SWAP(v)     ((v).yxwz)
#define WEIGHTS2(w) ((w).xyxy)
#else
#define PAIRS 1
typedef float2 pair;
typedef float single;
#define EVEN(v)     ((v).x)
#define ODD(v)      ((v).y)
#define JOIN(e, o)  ((pair)(e, o))
#define SWAP(v)     ((v).yx)
#define WEIGHTS2(w) (w)
#endif

/* Half-sample symmetric extension to any distance: the position in [0, n) that i stands for. Nearly always i is that
 * already, and one reflection is the rule for the rest; a division would cost more and take registers. */
static inline int reflect(int i, int n)
{
    while (i < 0 || i >= n)
        i = i < 0 ? -1 - i : 2 * n - 1 - i;
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
static inline bool plain(const struct axis axis, int i, int count)
{
    return i >= axis.pad && i + count <= axis.pad + axis.n;
}

static inline pair load_pair(SOURCE(s), int x, int y, int z)
{
#ifdef IMAGES
    return (pair)(load(GIVE(s), x, y, z), load(GIVE(s), x + 1, y, z));
#elif LANES == 16
    return vload16(0, s + offset(s_at, x, y, z));
#elif LANES == 4
    return *(__global const float4 *)(s + offset(s_at, x, y, z)); /* x is a multiple of 4 */
#else
    return vload2(0, s + offset(s_at, x, y, z));
#endif
}

static inline void store_pair(TARGET(t), int x, int y, int z, pair value)
{
#ifdef IMAGES
    store(GIVE(t), x, y, z, value.lo);
    store(GIVE(t), x + 1, y, z, value.hi);
#elif LANES == 16
    vstore16(value, 0, t + offset(t_at, x, y, z));
#elif LANES == 4
    *(__global float4 *)(t + offset(t_at, x, y, z)) = value;
#else
    *(__global float2 *)(t + offset(t_at, x, y, z)) = value; /* x is even: one store, not two */
#endif
}

static inline single load_single(SOURCE(s), int x, int y, int z)
{
#if LANES == 16
    return vload8(0, s + offset(s_at, x, y, z));
#elif LANES == 4
    return *(__global const float2 *)(s + offset(s_at, x, y, z));
#else
    return load(GIVE(s), x, y, z);
#endif
}

static inline void store_single(TARGET(t), int x, int y, int z, single value)
{
#if LANES == 16
    vstore8(value, 0, t + offset(t_at, x, y, z));
#elif LANES == 4
    *(__global float2 *)(t + offset(t_at, x, y, z)) = value;
#else
    store(GIVE(t), x, y, z, value);
#endif
}

#if LANES == 16
/* line[i] = the sample at position x0 + i of the axis. */
static inline void fill_axis(float *line, int count, SOURCE(s), const struct axis axis, int x0, int y, int z)
{
    for (int i = 0; i < count; i++)
        line[i] = s[offset(s_at, sample_at(axis, x0 + i), y, z)];
}
#endif

#if LANES == 1
/* window[j] = the sample at position x0 - skew + j of the axis, j < span, in registers: count, vector and skew are
 * known when this is inlined. Buffers are read in vectors of 2 or 4 floats where `skew` brings x0 to a multiple of
 * `vector` (a GPU's memory pipe counts requests, not bytes: the rows' passes of an H200 run twice as fast so). */
static inline __attribute__((always_inline)) void load_span(single *window, const int span, const int vector,
                                                              const int skew, SOURCE(s), const struct axis axis,
                                                              int x0, int y, int z)
{
    const int first = x0 - skew;
    if (!plain(axis, first, span)) {
#pragma unroll
        for (int j = 0; j < span; j++)
            window[j] = load(GIVE(s), sample_at(axis, first + j), y, z);
        return;
    }
#ifndef IMAGES
    if (((first - axis.pad) & (vector - 1)) == 0) {
        __global const float *p = s + offset(s_at, first - axis.pad, y, z);
#pragma unroll
        for (int j = 0; j < span; j += vector) {
            if (vector == 4) {
                const float4 v = *(__global const float4 *)(p + j);
                window[j] = v.x, window[j + 1] = v.y, window[j + 2] = v.z, window[j + 3] = v.w;
            } else {
                const float2 v = *(__global const float2 *)(p + j);
                window[j] = v.x, window[j + 1] = v.y;
            }
        }
        return;
    }
#endif
#pragma unroll
    for (int j = 0; j < span; j++)
        window[j] = load(GIVE(s), first - axis.pad + j, y, z);
}
#endif
