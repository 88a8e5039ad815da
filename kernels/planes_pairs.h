/* Two neighbours along x, an even and an odd one: what the dual-tree transform makes complex numbers of. The file that
 * includes this sets PAIRS, how many of them a work-item handles side by side; in images it is one pair of texels.
 *
 *   pair    PAIRS even and PAIRS odd samples in their order along x
 *   single  the even or the odd ones alone */
#pragma once
#include "planes.h"

#ifdef IMAGES
typedef float8 pair;
typedef float4 single;
#define EVEN lo
#define ODD  hi
#else
#if PAIRS == 8
typedef float16 pair;
typedef float8 single;
#elif PAIRS == 2
typedef float4 pair;
typedef float2 single;
#else
typedef float2 pair;
typedef float single;
#endif
#define EVEN even
#define ODD  odd
#endif

static inline pair interleave(single even_ones, single odd_ones)
{
    pair v;
    v.EVEN = even_ones;
    v.ODD = odd_ones;
    return v;
}

/* Each even sample in the place of the odd one, and the other way round. */
static inline pair swap(pair v)
{
    return interleave(v.ODD, v.EVEN);
}

/* The weights of trees a and b, for the even and for the odd samples. */
static inline pair both_trees(float2 weights)
{
    return interleave((single)(weights.x), (single)(weights.y));
}

/* In buffers x is a multiple of the pair's size, and a row has room for it: the whole is one store. In an image of odd
 * width the last one has no partner. */
static inline void store_pair(PLANES_OUT(t), int x, int y, int z, pair value)
{
#ifdef IMAGES
    store(PLANES_ARG(t), x, y, z, value.lo);
    if (x + 1 < t_at.width)
        store(PLANES_ARG(t), x + 1, y, z, value.hi);
#else
    *(__global pair *)(t + offset(t_at, x, y, z)) = value;
#endif
}

static inline single load_single(PLANES_IN(s), int x, int y, int z)
{
#ifdef IMAGES
    return load(PLANES_ARG(s), x, y, z);
#else
    return *(__global const single *)(s + offset(s_at, x, y, z));
#endif
}

static inline void store_single(PLANES_OUT(t), int x, int y, int z, single value)
{
#ifdef IMAGES
    store(PLANES_ARG(t), x, y, z, value);
#else
    *(__global single *)(t + offset(t_at, x, y, z)) = value;
#endif
}

/* q2c: each 2x2 block [a b; c d] becomes two complex numbers, p = (a + jb) / sqrt 2, q = (d - jc) / sqrt 2; subband
 * `first` gets p - q, `second` p + q. */
static inline void store_q2c(PLANES_OUT(subbands), int first, int second, int n, int i, int z, pair top, pair bottom)
{
    const int channels = subbands_at.channels;
    const single a = top.EVEN, b = top.ODD, c = bottom.EVEN, d = bottom.ODD;
    store_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * first, z, channels), (a - d) * M_SQRT1_2_F);
    store_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * first + 1, z, channels), (b + c) * M_SQRT1_2_F);
    store_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * second, z, channels), (a + d) * M_SQRT1_2_F);
    store_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * second + 1, z, channels), (b - c) * M_SQRT1_2_F);
}

/* Two rows of quads. */
struct quads {
    pair even, odd;
};

/* c2q: P = (z0 + z1) / sqrt 2, Q = (z0 - z1) / sqrt 2; a = Re P, b = Im P, c = Im Q, d = -Re Q. */
static inline struct quads c2q(single re0, single im0, single re1, single im1)
{
    struct quads quads;
    quads.even = interleave(re0 + re1, im0 + im1) * M_SQRT1_2_F;
    quads.odd = interleave(im0 - im1, re1 - re0) * M_SQRT1_2_F;
    return quads;
}

static inline struct quads load_c2q(PLANES_IN(subbands), int first, int second, int n, int i, int z)
{
    const int channels = subbands_at.channels;
    return c2q(load_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * first, z, channels)),
               load_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * first + 1, z, channels)),
               load_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * second, z, channels)),
               load_single(PLANES_ARG(subbands), n, i, PLANE_INDEX(2 * second + 1, z, channels)));
}
